"""The arrays that kernels of a mechanism take and give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.algorithms.analytic_jacobian import coordinate_count
from dalembert.model import Mechanism
from dalembert.model.tree import branches, coordinate_branches, element_branches
from dalembert.quantities import Quantity, nonzeros, sizes
from dalembert.tracing.program import Port

if TYPE_CHECKING:  # imported when a device is asked for
    from dalembert.cuda.warps import Parts


def ports(
    m: Mechanism, spec: Quantity, options: dict[str, Any], wrenches: Sequence[str], parameters: Sequence[str]
) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """The inputs and the outputs of a quantity.

    Args:
        m: the mechanism.
        spec: the quantity.
        options: its options.
        wrenches: names of the frames on which external wrenches act.
        parameters: names of the numbers that stay inputs.
    """
    letters = sizes(m, spec, options)
    own = {"q": m.nq}
    if "xdd" in spec.inputs:
        own["xdd"] = coordinate_count(options["coordinates"])
    if "factors" in spec.inputs:
        own["factors"] = len(nonzeros(m))
    inputs = [Port(name, (own.get(name, m.nv),)) for name in spec.inputs]
    if spec.loads and wrenches:
        inputs.append(Port("wrenches", (len(wrenches), 6)))
    if parameters:
        inputs.append(Port("parameters", (len(parameters),)))
    outputs = [Port(name, tuple(letters.get(d, d) for d in shape)) for name, shape in spec.outputs.items()]
    return tuple(inputs), tuple(outputs)


def parts(
    mechanism: Mechanism, inputs: Sequence[Port], outputs: Sequence[Port], wrenches: Sequence[str]
) -> Parts | None:
    """The branches of the mechanism that the elements of the arrays belong to, if there are several.

    Args:
        mechanism: the mechanism.
        inputs: of a kernel.
        outputs: of the kernel.
        wrenches: names of the frames on which external wrenches act.
    """
    from dalembert.cuda.warps import Parts

    tree = mechanism.tree
    q, v = coordinate_branches(tree)
    if len({*v} - {0}) < 2:
        return None
    links = (*branches(tree), 0)  # the world comes last: its index is -1
    loaded = [links[tree.carriers[mechanism.frame(name).body][0]] for name in wrenches]
    sparse = tuple(v[row] for row, _ in nonzeros(mechanism))
    own = {"q": q, "wrenches": tuple(branch for branch in loaded for _ in range(6))}

    def of(port: Port) -> tuple[int, ...]:
        if port.name == "parameters":
            return (0,) * port.size  # a change of one may concern all
        if port.shape == (len(sparse),):
            return sparse
        return own[port.name] if port.name in own else element_branches(v, port.shape)

    return Parts(tuple(map(of, inputs)), tuple(map(of, outputs)))

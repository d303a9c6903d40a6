"""Long quantities divided for devices: into programs that follow each other, and among the branches of a mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dalembert.dynamics.quantity import Setting, nonzeros
from dalembert.dynamics.stages import STAGES
from dalembert.model.tree import branches, coordinate_branches, element_branches
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    from dalembert.cuda.stages import Stage
    from dalembert.cuda.warps import Parts
    from dalembert.dynamics.facade import Dynamics


def stages_of(dynamics: Dynamics, quantity: str) -> Callable[[], list[Stage]] | None:
    """A quantity of a tree as programs that follow each other, if it is worth dividing."""
    if quantity not in STAGES:
        return None

    def build() -> list[Stage]:
        from dalembert.cuda.stages import Stage
        from dalembert.tracing.trace import trace

        found = []
        for step in STAGES[quantity]:
            spec = step.quantity
            if step.columns:  # as it was written down: matrices side by side share what they read
                bare = Setting(dynamics.mechanism)
                inputs, outputs = spec.ports(bare, {}, 0, 0)
                shapes = {port.name: port.shape for port in inputs}
                names = [port.name for port in outputs]
                column = trace(lambda *x, f=spec.compute, s=bare: f(s, *x), shapes, step.name, names)
                found.append(Stage(column, step.gives, columns=dynamics.mechanism.nv))
                continue
            program = dynamics.recipe(step.name, spec, {})()
            found.append(Stage(program, step.gives, parts_of(dynamics, *dynamics.ports(spec, {}))))
        return found

    return build


def parts_of(dynamics: Dynamics, inputs: Sequence[Port], outputs: Sequence[Port]) -> Parts | None:
    """The branches of the mechanism that the elements of the arrays belong to, if there are several that nothing but
    the trunk connects.
    """
    from dalembert.cuda.warps import Parts

    tree = dynamics.mechanism.tree
    q, v = coordinate_branches(tree)
    if len({*v} - {0}) < 2 or any(port.name == "t" for port in inputs):
        return None
    links = (*branches(tree), 0)  # the world comes last: its index is -1
    loaded = [links[tree.carriers[dynamics.mechanism.frame(name).body][0]] for name in dynamics.wrenches]
    sparse = tuple(v[row] for row, _ in nonzeros(dynamics.mechanism))
    own = {"q": q, "wrenches": tuple(branch for branch in loaded for _ in range(6))}

    def of(port: Port) -> tuple[int, ...]:
        if port.name == "parameters":
            return (0,) * port.size  # a change of one may concern all
        if port.shape == (len(sparse),):
            return sparse
        return own[port.name] if port.name in own else element_branches(v, port.shape)

    return Parts(tuple(map(of, inputs)), tuple(map(of, outputs)))

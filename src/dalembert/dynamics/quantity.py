"""What a quantity is, the mechanism it is computed of, and the arrays that its kernel takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.analytic_jacobian import coordinate_count
from dalembert.algorithms.choose import choose
from dalembert.algorithms.economy import economical
from dalembert.algorithms.joint_forces import JointForces, joint_forces
from dalembert.algorithms.loads import Loads, loads_on_links
from dalembert.cached import cached_property
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots
from dalembert.constraints.rows import ConstraintSet
from dalembert.constraints.state import State
from dalembert.contact.rows import ContactSet
from dalembert.errors import ArgumentError
from dalembert.kinematics import check_axes
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import expect, shown
from dalembert.tracing.program import Port


@dataclass(frozen=True)
class Solver:
    """How constrained accelerations are found.

    Args:
        method: ``"multipliers"`` or ``"projection"``.
        pivots: chooses independent rows and velocities; called only where accelerations are traced.
        regularisation: added to the diagonal of the matrix of the multipliers.
        stabilisation: frequency with which violations of the constraints decay, rad/s (Baumgarte); 0 for none.
    """

    method: str = "multipliers"
    pivots: Callable[[], Pivots] | None = None
    regularisation: Scalar = 0
    stabilisation: Scalar = 0


@dataclass(frozen=True, eq=False)
class Setting:
    """A mechanism, and all that acts on it, ready for evaluation over one kind of scalar.

    Args:
        mechanism: the mechanism; its symbols already replaced by scalars of that kind.
        include: names of the joint terms to include.
        options: further options of the quantity: ``frame``, ``axes``, ``point``, ``coordinates``, ``damping``; and
            ``algorithm`` if one was asked for by name.
        wrenches: frame name -> six scalars.
        derivative: directional derivatives of traced scalars, a function of (expressions, variables, directions).
        form: brings the tree into the form that algorithms work on; by default into economical frames with regrouped
            masses, or, if an algorithm was asked for by name, none: it works on the tree as described.
        rows: the constraints that hold; those of the mechanism by default.
        elements: the force elements that act; none by default.
        parameters: the scalars that have replaced the symbols of the mechanism; None if nothing was replaced.
        touching: the contacts, limits and dry friction that act; the contacts of the mechanism by default.
        solver: how constrained accelerations are found.
        law: of contact.
        varied: the scalars of the input ``parameters``: those of the symbols, and of numbers with an address.
    """

    mechanism: Mechanism
    include: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    derivative: Callable[..., Array] | None = None
    form: Callable[[Tree], Tree] | None = None
    rows: ConstraintSet | None = None
    elements: ForceSet | None = None
    parameters: Any = None
    solver: Solver = Solver()
    touching: ContactSet | None = None
    law: str = "rigid"
    varied: Any = ()

    @property
    def nv(self) -> int:
        return self.mechanism.nv

    @cached_property
    def tree(self) -> Tree:
        """The tree that algorithms work on."""
        described = self.mechanism.tree
        if self.form is not None:
            return self.form(described)
        return described if "algorithm" in self.options else economical(described)

    @cached_property
    def loads(self) -> Loads:
        return loads_on_links(self.mechanism, self.wrenches, self.tree)

    @cached_property
    def joints(self) -> JointForces:
        return joint_forces(self.mechanism, self.include)

    @cached_property
    def constraints(self) -> ConstraintSet:
        return ConstraintSet(self.mechanism) if self.rows is None else self.rows

    @cached_property
    def forces(self) -> ForceSet:
        return ForceSet(self.mechanism, ()) if self.elements is None else self.elements

    @cached_property
    def contacts(self) -> ContactSet:
        return ContactSet(self.mechanism) if self.touching is None else self.touching

    def state(self, q: Array, v: Array | None = None, t: Scalar = 0) -> State:
        """The mechanism at a state, as constraints and force elements see it."""
        return State(self.mechanism, q, v, t, self.tree, self.parameters)


@dataclass(frozen=True)
class Quantity:
    """How to compute one quantity.

    Args:
        inputs: names among q, v, a, tau, xdd, multipliers, impulses, h, t; the step h and time come last. Others have
            nv entries, such as the changes dq, dv and the references v_ref, a_ref.
        outputs: output name -> shape, in which letters stand for sizes: ``"n"`` for nv, ``"2n"`` for twice that,
            ``"nn"`` for its square, ``"p"`` for the number of inertial parameters, ``"m"`` for that of coordinates,
            ``"rows"`` for that of constraint rows, ``"elements"`` for that of force elements, ``"points"`` for that of
            points of contact, ``"contact rows"`` for that of their rows, ``"parameters"`` for that of parameters.
        compute: function of a setting and the inputs.
        doc: one sentence, shown by ``help``.
        loads: whether external wrenches enter.
        options: option names with their defaults; ``...`` marks a required one.
        algorithms: what may be asked for by name instead of the algorithm that needs the fewest operations.
        rivals: which algorithms may need the fewest, each with the most velocities of a mechanism for which it does.
        solves: whether constrained accelerations are found on the way, so that the choice of rows matters.
    """

    inputs: tuple[str, ...]
    outputs: Mapping[str, tuple[Any, ...]]
    compute: Callable[..., Any]
    doc: str
    loads: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    algorithms: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rivals: Mapping[str, int] = field(default_factory=dict)
    solves: bool = False

    def ports(
        self, setting: Setting, options: Mapping[str, Any], wrenches: int, parameters: int
    ) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """The inputs, in the order q, v, a or tau, wrenches, h, t, parameters, and the outputs.

        Args:
            setting: the mechanism, untraced.
            options: of the quantity, defaults filled in.
            wrenches: how many frames have external wrenches.
            parameters: how many numbers stay inputs.
        """
        m = setting.mechanism
        own: dict[str, int] = {"q": m.nq}
        if "xdd" in self.inputs:
            own["xdd"] = coordinate_count(options["coordinates"])
        if "factors" in self.inputs:
            own["factors"] = len(nonzeros(m))
        if "multipliers" in self.inputs:
            own["multipliers"] = setting.constraints.count
        if "impulses" in self.inputs:
            own["impulses"] = setting.contacts.count
        inputs = [Port(name, (own.get(name, m.nv),)) for name in self.inputs if name not in ("h", "t")]
        if self.loads and wrenches:
            inputs.append(Port("wrenches", (wrenches, 6)))
        inputs += [Port(name, ()) for name in ("h", "t") if name in self.inputs]
        if parameters:
            inputs.append(Port("parameters", (parameters,)))
        letters = self._sizes(setting, options) | {"parameters": parameters}
        outputs = [Port(name, tuple(letters.get(d, d) for d in shape)) for name, shape in self.outputs.items()]
        return tuple(inputs), tuple(outputs)

    def _sizes(self, setting: Setting, options: Mapping[str, Any]) -> dict[Any, int]:
        m, n = setting.mechanism, setting.nv
        letters: dict[Any, int] = {
            "n": n, "2n": 2 * n, "nn": n * n, "packed": n * (n + 1) // 2, "p": 10 * len(m.bodies),
            "joints": len(m.joints), "links": len(m.tree.links), "constraints": len(m.constraints),
        }  # fmt: skip
        used = {d for shape in self.outputs.values() for d in shape}
        if "nonzeros" in used:
            letters["nonzeros"] = len(nonzeros(m))
        if "all nonzeros" in used:
            letters["all nonzeros"] = len(nonzeros(m, both_halves=True))
        if "m" in used:
            letters["m"] = coordinate_count(options["coordinates"])
        if "rows" in used:
            letters["rows"] = setting.constraints.count
        if "nq" in used:
            letters["nq"] = m.nq
        if used & {"points", "contact rows"}:
            letters |= {"points": len(setting.contacts.points), "contact rows": setting.contacts.count}
        if "elements" in used:
            letters["elements"] = len(setting.forces.names)
        return letters

    def chosen(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options, defaults filled in; what makes no sense is refused.

        Args:
            name: of the quantity, for messages.
            given: what the caller gave.
        """
        given = dict(given)
        algorithm = given.pop("algorithm", None) if self.algorithms else None
        unknown = [option for option in given if option not in self.options]
        if unknown:
            takes = ", ".join((*self.options, *(["algorithm"] if self.algorithms else []))) or "none"
            setting = unknown[0] in ("include", "constraints", "elements", "device")
            hint = (
                f"; {unknown[0]} is a setting of all kernels: Dynamics(mechanism, {unknown[0]}=...)" if setting else ""
            )
            raise ArgumentError(f"{name} has no option {unknown[0]!r}; it takes {takes}{hint}")
        chosen = {**self.options, **given}
        missing = [option for option, value in chosen.items() if value is ...]
        if missing:
            raise ArgumentError(f"{name} needs the option {missing[0]!r}, e.g. {name}(..., {missing[0]}='tool')")
        if "point" in chosen:
            point = _finite(chosen["point"])
            if point is None or point.shape != (3,):
                raise ArgumentError(f"{name}: point is {shown(chosen['point'])}; it must be three finite numbers")
            chosen["point"] = tuple(point.tolist())
        if "axes" in chosen:
            check_axes(chosen["axes"], f"{name}: axes =")
        damping = _finite(chosen.get("damping", 0))
        if damping is None or damping.shape != () or damping < 0:
            given_damping = shown(chosen["damping"])
            raise ArgumentError(f"{name}: damping = {given_damping}; it must be a finite number that is not negative")
        if "coordinates" in chosen:
            expect(chosen["coordinates"], str, f"{name}, coordinates")
        if algorithm is not None:
            choose(algorithm, self.algorithms)
            chosen["algorithm"] = algorithm
        return chosen


def direct(algorithm: Callable[..., Array]) -> Callable[..., Array]:
    """An algorithm of the mechanism as it is described, and of the options of the quantity, as a ``compute``.

    Args:
        algorithm: a function of a mechanism, the inputs, and the options by name.
    """
    return lambda s, *state: algorithm(s.mechanism, *state, **s.options)


def nonzeros(mechanism: Mechanism, both_halves: bool = False) -> list[tuple[int, int]]:
    """Row and column of the entries of the inertia matrix that can be different from zero, row by row.

    Args:
        both_halves: of the whole matrix, as for derivatives of inverse dynamics, not only of its lower half.
    """
    support, n = mechanism.tree.support, mechanism.nv
    return [(r, c) for r in range(n) for c in range(n if both_halves else r + 1) if support[r, c]]


def _finite(x: Any) -> np.ndarray | None:
    """Finite real numbers as an array, None if there is anything else."""
    try:
        array = np.asarray(x)
        array = array.astype(float if array.dtype.kind in "iufO" else object)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype != object and np.isfinite(array).all() else None

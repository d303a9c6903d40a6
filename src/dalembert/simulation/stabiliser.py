"""How states stay on the constraints of a mechanism while it is integrated: projection, or violations that decay."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.constraints.closure import mirrored, restored
from dalembert.constraints.rank import NEAR_SINGULAR, UNDECIDED_DIRECTION
from dalembert.constraints.scaling import row_units
from dalembert.constraints.solve import restored_velocity, solve
from dalembert.constraints.vicinity import least_sizes
from dalembert.constraints.violation import DRIFT_LIMIT, violation
from dalembert.contact.rows import limited_joints
from dalembert.dynamics import KernelTable, dynamics_of
from dalembert.errors import ArgumentError, SimulationWarning, SingularityError
from dalembert.kinematics.manifold import normalise_in_place, quaternion_places
from dalembert.labels import names_of
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import real_array, shown
from dalembert.model.names import as_names
from dalembert.model.record import fingerprint
from dalembert.model.state_space import StateSpace
from dalembert.simulation.state import as_position

DRIFTS = {
    "projection": "after every step the state is brought back, to rounding",
    "baumgarte": "violations of positions act on accelerations like a damped spring",
    "ggl": "positions and velocities go back separately, the former by multipliers of their own",
}
"""Ways to keep states on the constraints, by name."""


def frequencies(drift: str | None, stabilisation: float) -> tuple[float, float]:
    """Of Baumgarte's method and of relaxation (Gear, Gupta and Leimkuhler), rad/s; zero for the ways not chosen.

    Args:
        drift: one of :data:`DRIFTS`, or None: projection, or with a frequency Baumgarte's method.
        stabilisation: the frequency, rad/s, that the others than projection need.
    """
    frequency = real_array(stabilisation, "stabilisation")
    if frequency.ndim:
        raise ArgumentError(f"stabilisation = {shown(stabilisation)}; it is one frequency, rad/s")
    stabilisation = float(frequency)
    if drift is None:
        drift = "baumgarte" if stabilisation else "projection"
    if not isinstance(drift, str) or drift not in DRIFTS:
        raise ArgumentError(f"drift = {shown(drift)}; choose one of {', '.join(DRIFTS)}")
    if drift == "projection":
        if stabilisation:
            raise ArgumentError("projection needs no stabilisation frequency; leave out stabilisation or drift")
        return 0.0, 0.0
    if not 0 < stabilisation < float("inf"):
        raise ArgumentError(f"drift = {drift!r} needs a positive frequency, rad/s; stabilisation = {stabilisation}")
    return (float(stabilisation), 0.0) if drift == "baumgarte" else (0.0, float(stabilisation))


def warn_unused(name: str) -> None:
    """Warn whoever called ``simulate`` or ``rollout`` that there are no constraints to keep."""
    warnings.warn(
        f"{name!r} has no constraints, so that drift and stabilisation do nothing; they belong to mechanisms with "
        "closed loops, rolling or given motions",
        SimulationWarning,
        stacklevel=4,
    )


def warn_locked(name: str) -> None:
    """Warn whoever called ``simulate`` or ``rollout`` that the constraints leave nothing that could move."""
    warnings.warn(
        f"the constraints of {name!r} leave no degree of freedom: it stands still. Dynamics(mechanism)."
        "analyse(q) says which rows do that, and its reactions are the forces of the structure",
        SimulationWarning,
        stacklevel=4,
    )


LOOSE = 1e-2
"""Part of their length by which loops may be open that are not closed after every step; those are by DRIFT_LIMIT."""


class Stabiliser:
    """Keeps the states of a mechanism on its constraints, if it has any.

    Args:
        relaxation: frequency, rad/s, with which positions and velocities go back to the constraints, each for
            themselves (Gear, Gupta and Leimkuhler); 0 for another way.
    """

    def __init__(self, dynamics: Any, relaxation: float = 0.0):
        self.dynamics, self.relaxation = dynamics, relaxation
        self.mechanism: Mechanism = dynamics.mechanism
        self.made: dict[Any, Any] = {}
        self._turns = bool(quaternion_places(self.tree))

    @property
    def tree(self) -> Tree:
        """Layout of q and v."""
        return self.mechanism.tree

    @property
    def has_loops(self) -> bool:
        """Whether there are constraints."""
        return self.dynamics.constraints.count > 0

    @property
    def has_speeds(self) -> bool:
        """Whether velocities are speeds of their own, of which the rates of positions are functions."""
        return isinstance(self.mechanism, StateSpace) and bool(self.mechanism.speeds)

    @property
    def projects(self) -> bool:
        """Whether states are brought back to the constraints after every step."""
        return self.has_loops and self.dynamics.stabilisation == 0 and not self.relaxation

    def with_parameters(self, values: np.ndarray | None) -> Stabiliser:
        """The same with numbers for parameters wherever NumPy works.

        Args:
            values: in the order of ``dynamics.parameter_names``, (..., k), the first of many being used; or None.
        """
        if self.dynamics.is_tree or values is None:
            return self
        found = Stabiliser(self.dynamics.with_parameters(values.reshape(-1, values.shape[-1])[0]), self.relaxation)
        own = found.dynamics
        chosen = own.pivots, own.positional, found.has_loops and found._units
        found.made = self.made.setdefault(("made", repr(chosen)), {})  # programs have symbols, not numbers
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "made": {}}

    def digest(self, *what: object) -> str:
        """A name for something that this system and ``what`` determine.

        Args:
            what: nested tuples of numbers, texts and expressions.
        """
        own = self.dynamics
        touching = own.contacts.count > 0 and own.law != "compliant"  # whose springs are among the forces
        keys: list[Any] = [own.key("contact_step" if touching else "forward_dynamics"), self.relaxation]
        if self.has_loops:
            keys.append(self._units)
        return hashlib.sha256(fingerprint((keys, what)).encode()).hexdigest()

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state brought back: quaternions to unit length, positions and velocities to the constraints.

        The very same object comes back if there is nothing to do.

        Args:
            x: [q; v].
        """
        if self.projects:
            return self.closed(t, x)
        if not self._turns:
            return x
        x = x.copy()
        normalise_in_place(self.tree, x[: self.mechanism.nq])
        return x

    def closed(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state on the constraints, however drift is treated.

        Args:
            x: [q; v].
        """
        nq = self.mechanism.nq
        x = x.copy()
        if np.isfinite(x).all():  # else of a motion that has ended
            normalise_in_place(self.tree, x[:nq])
            x[:nq] = restored(self.dynamics, t, x[:nq])
            x[nq:] = restored_velocity(self.dynamics, t, x[:nq], x[nq:])
        return x

    @property
    def _part(self) -> float:
        """The part of their length by which loops may be open after a step."""
        return DRIFT_LIMIT if self.projects else LOOSE

    @property
    def _units(self) -> list[float]:
        """The numbers among the units of rows, on which programs depend."""
        return [self.dynamics.scaling.length, *self.dynamics.scaling.own.tolist()]

    def openings(self, mechanism: Mechanism | None = None) -> list[Any]:
        """By how much each row on positions may be off after a step, m or rad.

        Args:
            mechanism: the same with other scalars in the place of its symbols.
        """
        own, (length, *units) = self.dynamics, self._units
        return [self._part * x for x in row_units(mechanism or own.numbers, own.constraints, units, length)]

    def open_loop(self, t: float, q: np.ndarray) -> str:
        """What is open by how much after a step; empty if nothing is."""
        if not self.has_loops:
            return ""
        phi = np.where(self.dynamics.constraints.holonomic, self.dynamics.evaluate("positions", q, t)[0], 0.0)
        allowed = np.array(self.openings(), dtype=float)
        k = int(np.argmax(np.abs(phi) / allowed))
        if abs(phi[k]) <= allowed[k]:
            return ""
        return f"the constraint {self.dynamics.rows[k].constraint!r} is violated by {abs(phi[k]):.3g} m or rad"

    def infeasible(self, t: float, q: np.ndarray, moment: float) -> str:
        """What to say if a moment later no position satisfies the constraints: given motions ask for too much.

        Args:
            moment: s.
        """
        if not (self.has_loops and np.isfinite(q).all()):
            return ""
        if not self.dynamics.constraints.rheonomic:
            return ""
        try:
            self.dynamics.assemble(q, t + moment)
        except SingularityError:
            return (
                ". A moment later nothing near satisfies the constraints: a given motion asks for more than the loops "
                "can reach; Dynamics(mechanism).assemble(q, t) shows how much is missing"
            )
        return ""

    def check_start(self, t: float, q: np.ndarray, v: np.ndarray, parameters: np.ndarray | None = None) -> None:
        """Raise an error that names the constraint which initial states violate; warn if nothing can move.

        Args:
            parameters: values of the symbols, (..., k), if there are any.
        """
        wrong = self.violation(t, q, v, parameters, ("q0", "v0")) or self.dynamics.open_loops(q, t, parameters, "q0")
        if wrong:
            raise ArgumentError(wrong)
        own = self.dynamics if self.has_loops else None
        first = q.reshape(-1, q.shape[-1])[:1]
        turned = mirrored(own, first[0], t, ("frames",)) if own is not None and len(first) else []
        if turned:
            raise ArgumentError(
                f"q0: the frames of {', '.join(map(repr, turned))} are half a turn apart, where the rows of the "
                "constraint vanish, too; find what is meant with Dynamics(mechanism).assemble(q0)"
            )
        if own is not None and len(own.pivots.rows) == self.mechanism.nv and not own.constraints.rheonomic:
            warn_locked(self.mechanism.name)

    def violation(
        self, t: float, q: np.ndarray, v: np.ndarray, parameters: np.ndarray | None, names: tuple[str, str]
    ) -> str:
        """Which constraint states violate, by how much and what to do; empty if there is none.

        Args:
            parameters: values of the symbols, (..., k), if there are any.
            names: what positions and velocities are called.
        """
        if not self.has_loops:
            return ""
        options: dict[str, Any] = {} if parameters is None else {"parameters": parameters}
        return violation(self.dynamics, q, v, t, names, **options)

    def is_near_singular(self, t: float, q: np.ndarray) -> bool:
        """Whether a singular configuration of the constraints is near."""
        if not (self.has_loops and np.isfinite(q).all()):
            return False
        size = float(least_sizes(self.dynamics, q[None], np.array([t]))[0])
        return size < NEAR_SINGULAR * self.dynamics.usual_size

    def acceleration_anywhere(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        """Constrained accelerations also where the rows that kernels keep lose rank: along directions that are about to
        be lost nothing is demanded, so that a motion goes straight on.

        Args:
            wrenches: external wrenches, if the dynamics has any.
        """
        own = self.dynamics
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of a motion that is about to end
                M, f, G, gamma = own.evaluate("terms", q, v, tau, t, wrenches=wrenches)
                damping = UNDECIDED_DIRECTION * own.usual_size
                return solve(M, G, f, gamma, known=own.known(q, t), damping=damping).a
        except (SingularityError, np.linalg.LinAlgError):
            return np.full(self.mechanism.nv, np.nan)


class Movable(Protocol):
    """Equations of motion, however they were written: they know their dynamics."""

    @property
    def moving(self) -> KernelTable:
        """Their dynamics, made once."""


Moving = Mechanism | KernelTable | Movable
"""What can be simulated: a mechanism, or equations of motion of any origin; and what was made of either."""


def movable(given: Any) -> Any:
    """The dynamics of equations of motion; everything else as it is.

    Args:
        given: what a user wants to move.
    """
    return given if isinstance(given, (Mechanism, KernelTable)) else getattr(given, "moving", given)


def stabilised(
    moving: Moving | Stabiliser,
    include: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    constraints: Sequence[str] | str = "all",
    elements: Sequence[str] | str = "all",
    parameters: Any = None,
    reference: Any = None,
    drift: str | None = None,
    stabilisation: float = 0.0,
    limits: Sequence[str] | str | None = None,
    law: str | None = None,
) -> Stabiliser:
    """The dynamics of a mechanism, or dynamics made before, if they fit what is asked for, with the drift they allow.

    Args:
        moving: a mechanism, equations of motion, or the dynamics of either.
        include: joint terms to include.
        wrenches: frames on which wrenches act.
        constraints: which constraints hold, or ``"all"``.
        elements: which force elements act, or ``"all"``.
        parameters: as a user gives them; those by address become inputs of the kernels.
        reference: positions, as a user gives them, near which constraints are examined.
        drift: one of :data:`DRIFTS`, or None: projection, or with a frequency Baumgarte.
        stabilisation: the frequency, rad/s, that the others than projection need.
        limits: joints whose ranges end in stops, or ``"all"``; none by default.
        law: of contact, or None for that of the given dynamics, and rigid for a mechanism.
    """
    if isinstance(moving, Stabiliser):
        return moving
    moving = movable(moving)
    include = as_names("include", include)
    baumgarte, relaxation = frequencies(drift, stabilisation)
    if isinstance(moving, KernelTable):
        _check_fit(moving, include, wrenches, constraints, elements)
        if law is not None and law != moving.law:
            raise ArgumentError(
                f"law = {law!r}, but the given Dynamics was made with law = {moving.law!r}; say it there only",
                argument="law",
            )
        if limits is not None and limited_joints(moving.mechanism, limits) != moving.limits:
            raise ArgumentError(
                f"limits = {limits!r}, but the given Dynamics was made with limits = {moving.limits}; say it there "
                "only",
                argument="limits",
            )
        if (drift is not None or baumgarte) and moving.rows and baumgarte != moving.stabilisation:
            raise ArgumentError(
                f"the given Dynamics was made with stabilisation = {moving.stabilisation}; make it with the "
                "frequency of Baumgarte's method and leave out drift and stabilisation here, or without for the "
                "other methods"
            )
        dynamics = moving
    elif isinstance(moving, Mechanism):
        addresses = [x for x in names_of(parameters) if "." in x]
        near = None
        if moving.constraints or moving.forces:
            starts = as_position(moving, reference, batch=True).reshape(-1, moving.nq)
            near = starts[0] if len(starts) else None
        dynamics = dynamics_of(
            moving, constraints=constraints, elements=elements, include=include, wrenches=wrenches, reference=near,
            stabilisation=baumgarte, parameters=addresses, limits=() if limits is None else limits,
            law="rigid" if law is None else law,
        )  # fmt: skip
    else:
        raise ArgumentError(
            f"got {type(moving).__name__}; give a Mechanism (dalembert.load(...)), Equations (derive, "
            "from_lagrangian, from_sympy) or the Dynamics of either"
        )
    system: Stabiliser = dynamics.remembered(Stabiliser, relaxation)
    if (baumgarte or relaxation) and not system.has_loops:
        warn_unused(system.mechanism.name)
    if system.mechanism.nv == 0:
        raise ArgumentError(f"{system.mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    return system


def _check_fit(
    made: KernelTable,
    include: Sequence[str],
    wrenches: Sequence[str],
    constraints: Sequence[str] | str,
    elements: Sequence[str] | str,
) -> None:
    """Refuse what contradicts the way in which dynamics were made."""
    own = {
        "include": (tuple(include) or "all", made.include),
        "constraints": (constraints, tuple(made.constraints.info)),
        "elements": (elements, made.elements.chosen),
    }
    for name, (asked, there) in own.items():
        if not (isinstance(asked, str) and asked == "all") and set(as_names(name, asked)) != set(there):
            raise ArgumentError(
                f"{name} = {asked}, but the given dynamics was made with {name} = {there}; say it there only"
            )
    if made.device != "cpu":
        raise ArgumentError(
            f"simulation runs on the processor; the given Dynamics is for {made.device!r}: give one made with "
            "device='cpu', or the mechanism; rollout(..., device='cuda') runs there"
        )
    missing = [name for name in wrenches if name not in made.wrenches]
    if missing:
        raise ArgumentError(
            f"a wrench acts on {missing[0]!r}, but the given Dynamics was made with wrenches = {made.wrenches};"
            " name the frame there too"
        )

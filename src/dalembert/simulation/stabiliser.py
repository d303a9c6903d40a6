"""How states stay on the constraints of a mechanism while it is integrated: projection, or violations that decay."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from dalembert.constraints.closure import mirrored, restored
from dalembert.constraints.rank import LOST, NEAR
from dalembert.constraints.scaling import row_units
from dalembert.constraints.solve import restored_velocity
from dalembert.constraints.vicinity import least_sizes
from dalembert.constraints.violation import DRIFT, violation
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import normalise_in_place, quaternion_places
from dalembert.model import Mechanism, Tree
from dalembert.model.record import fingerprint
from dalembert.simulation.drift import tell_locked

LOOSE = 1e-2
"""Part of their length by which loops may be open that are not closed after every step; those are by DRIFT."""


class Stabiliser:
    """Keeps the states of a mechanism on its constraints, if it has any.

    Args:
        dynamics: of the mechanism.
        relaxation: frequency, rad/s, with which positions and velocities go back to the constraints, each for
            themselves (Gear, Gupta and Leimkuhler); 0 for another way.
    """

    def __init__(self, dynamics: Dynamics, relaxation: float = 0.0):
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
        keys: list[Any] = [self.dynamics.kernel("forward_dynamics").key, self.relaxation]
        if self.has_loops:
            keys.append(self._units)
        return hashlib.sha256(fingerprint((keys, what)).encode()).hexdigest()

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state brought back: quaternions to unit length, positions and velocities to the constraints.

        The very same object comes back if there is nothing to do.

        Args:
            t: time.
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
        """The state on the constraints, however drift is held.

        Args:
            t: time.
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
        return DRIFT if self.projects else LOOSE

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
        """What is open by how much after a step; empty if nothing is.

        Args:
            t: time.
            q: positions.
        """
        if not self.has_loops:
            return ""
        phi = np.where(self.dynamics.constraints.holonomic, self.dynamics.evaluate("positions", q, t)[0], 0.0)
        allowed = np.array(self.openings(), dtype=float)
        k = int(np.argmax(np.abs(phi) / allowed))
        if abs(phi[k]) <= allowed[k]:
            return ""
        return f"the constraint {self.dynamics.rows[k].constraint!r} is off by {abs(phi[k]):.3g} m or rad"

    def beyond_reach(self, t: float, q: np.ndarray, moment: float) -> str:
        """What to say if a moment later no position satisfies the constraints: given motions ask for too much.

        Args:
            t: time.
            q: positions.
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
                "can reach; Dynamics(mechanism).assemble(q, t) tells how much is missing"
            )
        return ""

    def check_start(self, t: float, q: np.ndarray, v: np.ndarray, parameters: np.ndarray | None = None) -> None:
        """Raise an error that names the constraint which initial states violate; warn if nothing can move.

        Args:
            t: time.
            q: positions, (..., nq).
            v: velocities, (..., nv).
            parameters: values of the symbols, (..., k), if there are any.
        """
        wrong = self.violation(t, q, v, parameters, ("q0", "v0"))
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
            tell_locked(self.mechanism.name)

    def violation(
        self, t: float, q: np.ndarray, v: np.ndarray, parameters: np.ndarray | None, names: tuple[str, str]
    ) -> str:
        """Which constraint states violate, by how much and what to do; empty if there is none.

        Args:
            t: time.
            q: positions, (..., nq).
            v: velocities, (..., nv).
            parameters: values of the symbols, (..., k), if there are any.
            names: what positions and velocities are called.
        """
        if not self.has_loops:
            return ""
        options: dict[str, Any] = {} if parameters is None else {"parameters": parameters}
        return violation(self.dynamics, q, v, t, names, **options)

    def is_near_singular(self, t: float, q: np.ndarray) -> bool:
        """Whether a singular configuration of the constraints is near.

        Args:
            t: time.
            q: positions.
        """
        if not (self.has_loops and np.isfinite(q).all()):
            return False
        size = float(least_sizes(self.dynamics, q[None], np.array([t]))[0])
        return size < NEAR * self.dynamics.usual_size

    def acceleration_anywhere(
        self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray, wrenches: np.ndarray | None = None
    ) -> np.ndarray:
        """Constrained accelerations also where the rows that kernels keep lose rank: along directions that are about to
        be lost nothing is demanded, so that a motion goes straight on.

        Args:
            t: time.
            q: positions.
            v: velocities.
            tau: generalised forces.
            wrenches: external wrenches, if the dynamics has any.
        """
        own = self.dynamics
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of a motion that is about to end
                return own.solve(q, v, tau, t, wrenches=wrenches, damping=LOST * own.usual_size).a
        except (SingularityError, np.linalg.LinAlgError):
            return np.full(self.mechanism.nv, np.nan)

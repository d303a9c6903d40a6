"""What moves: a tree, or a mechanism with closed loops and force elements, behind one interface for everything here."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.constraints.assembly import mirrored
from dalembert.constraints.consistency import DRIFT, limits, violation
from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.opening import has_length, openings
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.kinematics.manifold import moved, normalise_in_place, quaternion_places
from dalembert.model import Mechanism, Tree
from dalembert.simulation.drift import tell_locked

ROUNDING, TINY, MOST = 1e-14, 1e-9, 6
"""Residual of a constraint, m or rad, that is as good as zero, of small mechanisms by its gradient, down to a tiny one;
steps of Newton's method to get there.
"""

LOST, NONE = 1e-4, 1e-9
"""Singular values less than this part of the least at the reference, or of the largest, are those of directions that
are lost: close to where branches of the motion cross, y = e / x off one of them and y' = e x'/x^2 would be errors only.
"""


LOOSE = 1e-2
"""Part of their length by which loops may be open that are not closed after every step; those are by DRIFT."""


class System:
    """A mechanism that can be simulated.

    Args:
        dynamics: of its tree; knows parameters and frames on which wrenches act.
        constrained: its dynamics with constraints and force elements, if it has any.
        relaxation: frequency, rad/s, with which positions and velocities go back to the constraints, each for
            themselves (Gear, Gupta and Leimkuhler); 0 for another way.
    """

    def __init__(self, dynamics: Dynamics, constrained: ConstrainedDynamics | None = None, relaxation: float = 0.0):
        self.dynamics, self.constrained, self.relaxation = dynamics, constrained, relaxation
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
        return self.constrained is not None and self.constrained.constraints.count > 0

    @property
    def projects(self) -> bool:
        """Whether states are brought back to the constraints after every step."""
        own = self.constrained
        return own is not None and self.has_loops and own.stabilisation == 0 and not self.relaxation

    def given_parameters(self, given: Any) -> Any:
        """The values a user gives, or those with which the ConstrainedDynamics was made.

        Args:
            given: as for ``simulate``, or None.
        """
        if given is None and self.constrained is not None and self.constrained.parameters.size:
            return self.constrained.parameters
        return given

    def with_parameters(self, values: np.ndarray | None) -> System:
        """The same system with numbers for its symbols wherever NumPy works.

        Args:
            values: in the order of ``dynamics.parameter_names``, (..., k), the first of many being used; or None.
        """
        if self.constrained is None or values is None:
            return self
        if self.dynamics.parameter_names != tuple(s.name for s in self.mechanism.symbols):
            raise UnsupportedError(
                "parameters by address of a mechanism with constraints or force elements: turn them into symbols first,"
                " with dalembert.symbolise"
            )
        old, first = self.constrained, values.reshape(-1, values.shape[-1])[0]
        constrained = ConstrainedDynamics(
            self.mechanism, forces=old.forces.names, include=old.include, method=old.method,
            independent=old.independent, reference=old.reference, regularisation=old.regularisation,
            stabilisation=old.stabilisation, parameters=first.tolist(), optimise=old.optimise,
        )  # fmt: skip
        found = System(self.dynamics, constrained, self.relaxation)
        chosen = constrained.pivots, constrained.positional, found.has_loops and found.laws.tolist()
        found.made = self.made.setdefault(("made", repr(chosen)), {})  # programs have symbols, not numbers
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "made": {}}

    def digest(self, *what: object) -> str:
        """A name for something that this system and ``what`` determine.

        Args:
            what: anything with a faithful ``repr``.
        """
        keys: list[Any] = [self.dynamics.kernel("forward_dynamics").key, self.relaxation]
        if self.constrained is not None:
            keys += [self.constrained.kernel("forward_dynamics").key, self.has_loops and self.laws.tolist()]
        return hashlib.sha256(repr((keys, what)).encode()).hexdigest()

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
        """The state on the constraints, however drift is held, by Newton's method of least displacement: quadratic, as
        the state is close. Then the velocities.

        Args:
            t: time.
            x: [q; v].
        """
        assert self.constrained is not None
        nq, on_positions = self.mechanism.nq, self.constrained.constraints.holonomic
        x = x.copy()
        if not np.isfinite(x).all():  # of a motion that has ended
            return x
        normalise_in_place(self.tree, x[:nq])
        before = np.inf
        for _ in range(MOST):
            phi, G = self.constrained.evaluate("positions", x[:nq], t)
            phi, G = phi[on_positions], G[on_positions]
            worst = float(np.abs(phi / np.clip(np.abs(G).max(axis=1, initial=0.0), TINY, 1.0)).max(initial=0.0))
            if worst < ROUNDING or not worst < before:  # as close as rounding allows
                break
            before = worst
            step = _shortest(G, -phi, self.constrained.positional.rank, self._lost[0])
            x[:nq] = moved(self.mechanism.tree, x[:nq], step)
        _, G, rate, _ = self.constrained.evaluate("constraints", x[:nq], x[nq:], t)
        x[nq:] += _shortest(G, rate - G @ x[nq:], self.constrained.pivots.rank, self._lost[1])
        return x

    @cached_property
    def _lost(self) -> tuple[float, float]:
        """Below which part of the largest singular value directions are lost, of positions and of velocities."""
        assert self.constrained is not None
        own, on_positions = self.constrained, self.constrained.constraints.holonomic
        G = own.evaluate("positions", np.asarray(own.reference, dtype=float), 0.0)[1]
        found = []
        for part, rank in ((G[on_positions], own.positional.rank), (G, own.pivots.rank)):
            size = np.linalg.svd(part, compute_uv=False) if rank and np.isfinite(part).all() else np.zeros(1)
            found.append(max(NONE, LOST * float(size[rank - 1] / size[0])) if size[0] > 0 else NONE)
        return found[0], found[1]

    @cached_property
    def laws(self) -> np.ndarray:
        """By how much each row may be off that has no length, a user's or one on a joint: (m,), m or rad, a user's in
        its own unit, which its gradient tells; as far as it likes where the reference has no gradient. Powers of ten,
        so that mechanisms of about the same size share programs.
        """
        assert self.constrained is not None
        own = self.constrained
        G = own.evaluate("positions", np.asarray(own.reference, dtype=float), 0.0)[1]
        known, steep = np.isfinite(G).all(axis=1), np.ones(len(G))
        for item in self.mechanism.constraints:
            rows = own.constraints.slice(item.name)
            known[rows] &= not has_length(item)
            if not item.has_ends:
                steep[rows] = np.abs(G[rows]).max(axis=1, initial=1.0)
        found = np.round(np.log10(limits(own, np.where(known[:, None], G, 0.0), self._part) * steep))
        return np.where(known, 10.0**found, np.inf)

    @property
    def _part(self) -> float:
        """The part of their length by which loops may be open after a step."""
        return DRIFT if self.projects else LOOSE

    def openings(self, q: Any, mechanism: Mechanism | None = None) -> list[Any]:
        """By how much each row on positions may be off after a step, m or rad.

        Args:
            q: positions, of any scalars.
            mechanism: the same with other scalars in the place of its symbols.
        """
        assert self.constrained is not None
        own = self.constrained
        return openings(mechanism or own.numbers, own.constraints.info, q, self.laws.tolist(), self._part)

    def open_loop(self, t: float, q: np.ndarray) -> str:
        """What is open by how much after a step; empty if nothing is.

        Args:
            t: time.
            q: positions.
        """
        if not self.has_loops:
            return ""
        assert self.constrained is not None
        phi = np.where(self.constrained.constraints.holonomic, self.constrained.evaluate("positions", q, t)[0], 0.0)
        allowed = np.array(self.openings(q), dtype=float)
        k = int(np.argmax(np.abs(phi) / allowed))
        if abs(phi[k]) <= allowed[k]:
            return ""
        return f"the constraint {self.constrained.rows[k].constraint!r} is off by {abs(phi[k]):.3g} m or rad"

    def beyond_reach(self, t: float, q: np.ndarray, moment: float) -> str:
        """What to say if a moment later no position satisfies the constraints: given motions ask for too much.

        Args:
            t: time.
            q: positions.
            moment: s.
        """
        if not (self.has_loops and np.isfinite(q).all()):
            return ""
        assert self.constrained is not None
        if not self.constrained.constraints.rheonomic:
            return ""
        try:
            self.constrained.assemble(q, t + moment)
        except SingularityError:
            return (
                ". A moment later nothing near satisfies the constraints: a given motion asks for more than the loops "
                "can reach; ConstrainedDynamics(mechanism).assemble(q, t) tells how much is missing"
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
        own = self.constrained if self.has_loops else None
        first = q.reshape(-1, q.shape[-1])[:1]
        turned = mirrored(own, first[0], t, ("turn about x",)) if own is not None and len(first) else []
        if turned:
            raise ArgumentError(
                f"q0: the frames of {', '.join(map(repr, turned))} are half a turn apart, where the rows of the "
                "constraint vanish, too; find what is meant with ConstrainedDynamics(mechanism).assemble(q0)"
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
        assert self.constrained is not None
        options: dict[str, Any] = {} if parameters is None else {"parameters": parameters}
        return violation(self.constrained, q, v, t, names, **options)

    def acceleration_anywhere(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Constrained accelerations also where the rows that kernels keep lose rank.

        Args:
            t: time.
            q: positions.
            v: velocities.
            tau: generalised forces, external wrenches included.
        """
        assert self.constrained is not None
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # of a motion that is about to end
                return self.constrained.solve(q, v, tau, t).a
        except (SingularityError, np.linalg.LinAlgError):
            return np.full(self.mechanism.nv, np.nan)


def _shortest(G: np.ndarray, b: np.ndarray, rank: int, lost: float) -> np.ndarray:
    """The shortest x with G x = b, in the sense of least squares; of singular values no more than the rank count, and
    none below a part of the largest.
    """
    if not np.isfinite(G).all():  # of a motion that is about to end
        return np.full(G.shape[1], np.nan)
    U, size, Vt = np.linalg.svd(G, full_matrices=False)
    kept = int((size[:rank] > lost * size.max(initial=0.0)).sum())
    return np.asarray(Vt[:kept].T @ ((U[:, :kept].T @ b) / size[:kept]))

"""All constraints of a mechanism as rows: phi(q, t) = 0, G v = rate, G a = gamma.

A constraint on positions gives all three; one on velocities only (rolling, a user's A v = b) has phi = 0 throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.cached import cached_property
from dalembert.constraints.joint_rows import coupling_row, motion_row
from dalembert.constraints.loops import LOOP_ROWS, RowKind, assemble, loop_entries, without_half_turns
from dalembert.constraints.rolling import ROLLING_ROWS, rolling_entries
from dalembert.constraints.state import State
from dalembert.constraints.user import position_program, time_program, velocity_program
from dalembert.errors import ArgumentError, ModelError
from dalembert.kinematics.relative import Pair
from dalembert.model import Mechanism
from dalembert.model.constraint import Constraint
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Program


@dataclass(frozen=True)
class Row:
    """What one row is.

    Args:
        constraint: name of the constraint.
        meaning: what the row says.
        holonomic: true if it is a constraint on positions.
        unit: ``"length"``, ``"angle"``, or ``"own"`` for users' laws, of which nobody knows.
    """

    constraint: str
    meaning: str
    holonomic: bool
    unit: str = "own"

    def __str__(self) -> str:
        return f"{self.constraint} ({self.meaning})"


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of one constraint, or of several, at one state.

    Args:
        phi: residuals of positions, m; zero for rows that constrain velocities only.
        G: Jacobian with respect to the velocities, m x nv.
        rate: right side of G v = rate, m.
        gamma: right side of G a = gamma, m; None if velocities are not known.
        pair: the relative motion behind it, if any.
        P: m x 6, per [d'; w] of that motion: P^T times the multipliers is the wrench [force; moment] on the frame
            that is looked at, at its origin, in the axes of the frame that looks.
    """

    phi: Array
    G: Array
    rate: Array
    gamma: Array | None
    pair: Pair | None = None
    P: Array | None = None


class ConstraintSet:
    """The constraints of a mechanism, ready for evaluation over any scalar.

    Args:
        mechanism: the mechanism; users' functions in it are traced and differentiated here, once.
    """

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.programs: dict[str, Program] = {}
        self.info: dict[str, tuple[Row, ...]] = {}
        for item in mechanism.constraints:
            self._prepare(item)

    def _prepare(self, item: Constraint) -> None:
        if item.has_ends and not item.on_joints:
            bodies = {self.mechanism.frame(end).body for end in (item.a, item.b)}
            if len(bodies) == 1:
                raise ModelError(
                    f"constraint {item.name!r} joins {item.a!r} with {item.b!r}, which are on the same body: it holds "
                    "always or never. Name two bodies that can move"
                )
        if item.kind == "position":
            self.programs[item.name] = position_program(self.mechanism, item.name, item.function)
        elif item.kind == "velocity":
            self.programs[item.name] = velocity_program(self.mechanism, item.name, item.function)
        elif item.kind == "motion" and item.function is not None:
            self.programs[item.name] = time_program(self.mechanism, item.name, item.function)
        if item.on_joints:
            joint = getattr(item, item.ends[-1])
            unit = "length" if self.mechanism.joint(joint).kind == "prismatic" else "angle"
            kinds: tuple[RowKind, ...] = (RowKind(f"position of {joint}", unit),)
        elif item.has_ends:
            kinds = (LOOP_ROWS | ROLLING_ROWS)[item.kind]
        else:
            count = self.programs[item.name].outputs[0].shape[0]
            kinds = tuple(RowKind(f"row {k}", "own", item.kind != "velocity") for k in range(count))
        self.info[item.name] = tuple(Row(item.name, kind.meaning, kind.holonomic, kind.unit) for kind in kinds)

    def together(self, sizes: np.ndarray) -> np.ndarray:
        """For every row the largest of those measured in the same unit in the same constraint; users' rows count alone.

        Args:
            sizes: one per row, (m,).
        """
        kinds = [(row.constraint, k if row.unit == "own" else row.unit) for k, row in enumerate(self.rows)]
        return np.array([max(x for x, other in zip(sizes, kinds) if other == kind) for kind in kinds])

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """What every row is, in order."""
        return tuple(row for item in self.mechanism.constraints for row in self.info[item.name])

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def holonomic(self) -> Array:
        """Boolean, one per row: true for constraints on positions."""
        return np.array([row.holonomic for row in self.rows], dtype=bool)

    @cached_property
    def rheonomic(self) -> bool:
        """True if some constraint may depend on time explicitly."""
        return any(item.kind == "motion" or not item.has_ends for item in self.mechanism.constraints)

    @cached_property
    def timed(self) -> Array:
        """Boolean, one per row: true for motions and for users' constraints that depend on time."""
        found = []
        for item in self.mechanism.constraints:
            program = self.programs.get(item.name)
            read = program is not None and any(
                node.op == "input" and program.inputs[node.args[0]].name == "t" for node in program.nodes
            )
            found += [read or item.kind == "motion"] * len(self.info[item.name])
        return np.array(found, dtype=bool)

    def slice(self, constraint: str) -> slice:
        """Where the rows of a constraint lie.

        Args:
            constraint: its name.
        """
        at = 0
        for item in self.mechanism.constraints:
            size = len(self.info[item.name])
            if item.name == constraint:
                return slice(at, at + size)
            at += size
        known = ", ".join(self.info) or "none"
        raise ArgumentError(f"{self.mechanism.name!r} has no constraint {constraint!r}; it has {known}")

    def each(self, state: State) -> list[Rows]:
        """The rows of every constraint by itself.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        return [self._evaluate(item, state) for item in state.mechanism.constraints]

    def at(self, state: State) -> Rows:
        """All rows, one below the other.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        parts = self.each(state)
        nv = state.mechanism.nv
        return Rows(
            _joined([part.phi for part in parts]),
            _joined([part.G for part in parts], (0, nv)),
            _joined([part.rate for part in parts]),
            _joined([part.gamma for part in parts]) if state.is_moving else None,
        )

    def closing(self, state: State) -> tuple[Array, Array]:
        """phi and G for assembly: zero only where closures are the right way round.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers; velocities do not matter.
        """
        state = State(state.mechanism, state.q, None, state.t, state.tree, state.parameters)
        residuals, gradients = [], []
        for item in state.mechanism.constraints:
            if item.kind in LOOP_ROWS:
                pair = state.pair(item)
                entries = without_half_turns(item.kind, pair, loop_entries(item.kind, pair, item.value))
                phi, _, G, _ = assemble(pair, entries)
            else:
                rows = self._evaluate(item, state)
                phi, G = rows.phi, rows.G
            residuals.append(phi)
            gradients.append(G)
        return _joined(residuals), _joined(gradients, (0, state.mechanism.nv))

    def _evaluate(self, item: Constraint, state: State) -> Rows:
        program = self.programs.get(item.name)
        if item.on_joints:
            row = motion_row(item, state, program) if item.kind == "motion" else coupling_row(item, state)
            return Rows(*(None if x is None else arrays.stack([x]) for x in row))  # type: ignore[arg-type]
        if not item.has_ends:
            assert program is not None
            found = inline(program, state.arguments(program))
            return Rows(found["phi"], found["G"], found["rate"], found["gamma"] if state.is_moving else None)
        if item.kind in ROLLING_ROWS:
            pair = state.pair(item, swapped=True)
            entries = rolling_entries(item, pair)
        else:
            pair = state.pair(item)
            entries = loop_entries(item.kind, pair, item.value)
        phi, P, G, gamma = assemble(pair, entries)
        return Rows(phi, G, arrays.zeros(len(phi)), gamma, pair, P)


def _joined(parts: list[Any], empty: tuple[int, ...] = (0,)) -> Array:
    if not parts:
        return np.zeros(empty)
    return np.concatenate([np.asarray(part) for part in parts])


def constraint_rows(mechanism: Mechanism, q: Any, v: Any = None, t: Scalar = 0) -> Rows:
    """All constraints of a mechanism at one state, over any scalar.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv; without them gamma is None.
        t: time, s.
    """
    return ConstraintSet(mechanism).at(State(mechanism, q, v, t))

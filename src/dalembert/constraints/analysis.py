"""What the constraints of a mechanism leave free, and where they repeat or contradict each other, in words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.closure import check_gradients
from dalembert.constraints.pivots import find_pivots
from dalembert.constraints.rank import RANK_TOLERANCE, Decomposition
from dalembert.constraints.rows import Row
from dalembert.constraints.vicinity import ranks_nearby
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.checks import expect_real
from dalembert.model.names import named_positions, named_velocities

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

NAMED_SHARE = 1e-6
"""Shares of a dependence or of a motion below this are not named."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """A row that says nothing new.

    Args:
        others: rows from which it follows, with the factor of each; empty if it vanishes by itself.
        contradiction: how far its right side misses what the others demand; zero if they agree.
        level: where they disagree, ``"velocities"`` or, if those agree, ``"accelerations"``; empty if they do not.
    """

    row: Row
    others: tuple[tuple[Row, float], ...]
    contradiction: float
    level: str = ""

    def __str__(self) -> str:
        if self.others:
            said = f"{self.row} follows from {', '.join(str(other) for other, _ in self.others)}"
        else:
            said = f"{self.row} holds whatever moves"
        against = "it" if len(self.others) < 2 else "them"
        return said + (f", but contradicts {against} by {self.contradiction:.3g} in {self.level}" if self.level else "")


@dataclass(frozen=True, eq=False)
class Analysis:
    """The constraints at one position.

    Args:
        velocities: number of velocities of the tree.
        rows: number of constraint rows.
        rank: how many of them are independent here.
        usual_rank: the largest rank at assembled positions nearby.
        degrees_of_freedom: velocities minus rank: independent speeds.
        position_freedoms: the same for the constraints on positions only; larger where something rolls.
        dependences: redundant rows, and why.
        freedoms: one motion (velocity, share) list per degree of freedom.
        residual: largest residual of each constraint on positions.
        kernel_rank: the rank kernels work with, that of positions around the system's reference; None if there are no
            kernels: positions cannot be assembled, rows contradict each other, independent speeds are not independent.
    """

    velocities: int
    rows: int
    rank: int
    usual_rank: int
    degrees_of_freedom: int
    position_freedoms: int
    dependences: tuple[Dependence, ...]
    freedoms: tuple[tuple[tuple[str, float], ...], ...]
    residual: dict[str, float]
    kernel_rank: int | None = None

    @property
    def is_singular(self) -> bool:
        """True if the rank is lower here than nearby."""
        return self.rank < self.usual_rank

    @property
    def is_consistent(self) -> bool:
        """False if redundant rows contradict each other in velocities or in accelerations.

        ``residual`` shows open positions. What rows demand at other times is not looked at.
        """
        return not any(d.level for d in self.dependences)

    def __str__(self) -> str:
        lines = [
            f"{self.velocities} velocities, {_counted(self.rows, 'constraint row')} of rank {self.rank}: "
            f"{_counted(self.degrees_of_freedom, 'degree')} of freedom"
            + (f", {self.position_freedoms} of position" if self.position_freedoms != self.degrees_of_freedom else "")
        ]
        if self.is_singular:
            lines.append(
                f"singular position: nearby the rank is {self.usual_rank}; here "
                f"{_counted(self.usual_rank - self.rank, 'more motion')} "
                f"{'is' if self.usual_rank - self.rank == 1 else 'are'} possible to first order"
            )
        for k, motion in enumerate(self.freedoms):
            lines.append(f"free motion {k + 1}: " + ", ".join(f"{name} {share:+.3g}" for name, share in motion))
        lines += [f"redundant: {dependence}" for dependence in self.dependences]
        open_ones = {name: x for name, x in self.residual.items() if x > 1e-9}
        lines += [f"not closed: {name} by {x:.3g}" for name, x in open_ones.items()]
        if self.kernel_rank not in (None, self.usual_rank) and not open_ones:
            lines.append(
                f"kernels work with rank {self.kernel_rank}, that of positions around the reference, and fail here: "
                "make a system with this position as its reference="
            )
        return "\n".join(lines)


def analyse(
    system: Constrained,
    q: Any,
    t: float = 0.0,
    *,
    v: Any = None,
    tolerance: float = RANK_TOLERANCE,
    neighbours: int = 4,
) -> Analysis:
    """Degrees of freedom, redundancy, contradictions and singularity at a position.

    What rows demand of accelerations is compared at given velocities, or else at the smallest that satisfy them - but
    not at a singular position, from which not every velocity leads on.

    Args:
        q: positions, assembled.
        v: velocities that satisfy the constraints, for what is demanded of accelerations.
        tolerance: below this part of the largest, singular values count as zero.
        neighbours: at how many assembled positions nearby the usual rank is looked for.
    """
    mechanism = system.mechanism
    q, t = named_positions(mechanism, q, "analyse, q", system.reference), expect_real(t, "analyse, t")
    if q.shape != (mechanism.nq,):
        raise ArgumentError(f"analyse looks at one position: q has shape {q.shape}, must be ({mechanism.nq},)")
    if not np.isfinite(q).all():
        raise ArgumentError(f"analyse: q = {q} is not finite")
    still = np.zeros(mechanism.nv)
    v = None if v is None else named_velocities(mechanism, v, "analyse, v")
    phi, G, rate, _ = system.evaluate("constraints", q, still, t)
    if v is not None and v.shape != still.shape:
        raise ArgumentError(f"analyse looks at one state: v has shape {v.shape}, must be ({mechanism.nv},)")
    check_gradients(system, G, t)
    _check_values(system, phi, rate, t)
    rows = Decomposition.of(system.scaling.dimensionless(G), tolerance=tolerance)
    null, rank = system.scaling.velocities[:, None] * rows.null_space, int(rows.rank)
    on_positions = Decomposition.of(system.scaling.dimensionless(G)[system.constraints.holonomic], tolerance=tolerance)
    names = system.velocity_names()
    freedoms = []
    pivots = find_pivots(G[None], np.abs(G) > 0, tolerance=tolerance)
    if null.shape[1] and len(pivots.independent) == null.shape[1]:
        null = null @ np.linalg.inv(null[list(pivots.independent)])  # one independent velocity each, if possible
    for motion in null.T:
        motion = motion / np.abs(motion).max()
        freedoms.append(tuple((name, float(x)) for name, x in zip(names, motion) if abs(x) > NAMED_SHARE))
    residual = {
        name: float(np.abs(phi[system.constraints.slice(name)]).max(initial=0.0)) for name in system.constraints.info
    }
    usual_rank = max([rank, *ranks_nearby(system, q, t, tolerance, neighbours)])
    sides = {"velocities": rate}
    moving = Decomposition.of(G, tolerance=tolerance).solve(rate) if v is None else np.asarray(v, dtype=float)
    if np.allclose(G @ moving, rate, rtol=0, atol=RANK_TOLERANCE * (1 + np.abs(rate).max(initial=0.0))) and (
        v is not None or rank == usual_rank
    ):
        sides["accelerations"] = system.evaluate("constraints", q, moving, t)[3]
    return Analysis(
        velocities=mechanism.nv,
        rows=len(G),
        rank=rank,
        usual_rank=usual_rank,
        degrees_of_freedom=mechanism.nv - rank,
        position_freedoms=mechanism.nv - int(on_positions.rank),
        dependences=tuple(_dependences(system, G, sides, pivots.rows, pivots.redundant)),
        freedoms=tuple(freedoms),
        residual=residual,
        kernel_rank=_kernel_rank(system),
    )


def _check_values(system: Constrained, phi: np.ndarray, rate: np.ndarray, t: float) -> None:
    """An error where a constraint has a gradient but no value, as a user's function that returns NaN."""
    known = np.isfinite(phi) & np.isfinite(rate)
    lost = dict.fromkeys(row.constraint for row, is_known in zip(system.rows, known) if not is_known)
    if lost:
        raise SingularityError(
            f"{system.mechanism.name!r}: at this position and t = {t:g} s constraint {', '.join(map(repr, lost))} is "
            "not a finite number, so nothing can be said of it; look at its function, or at a position in its domain"
        )


def _kernel_rank(system: Constrained) -> int | None:
    with suppress(SingularityError, ArgumentError):
        return system.pivots.rank
    return None


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _dependences(
    system: Constrained,
    G: np.ndarray,
    sides: dict[str, np.ndarray],
    kept: tuple[int, ...],
    redundant: tuple[int, ...],
) -> list[Dependence]:
    found = []
    rows = system.rows
    base = Decomposition.of(G[list(kept)])
    for k in redundant:
        factors = base.solve_transposed(G[k])
        others = tuple((rows[i], float(x)) for i, x in zip(kept, factors) if abs(x) > NAMED_SHARE)
        missed = {}
        for level, side in sides.items():
            miss = float(abs(side[k] - factors @ side[list(kept)]))
            if miss > RANK_TOLERANCE * (1 + np.abs(side).max()):
                missed[level] = miss
        level = next(iter(missed), "")
        found.append(Dependence(rows[k], others, missed.get(level, 0.0), level))
    return found

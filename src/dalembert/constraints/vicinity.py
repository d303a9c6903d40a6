"""Assembled positions around a position, and the rank of the constraints at each: what is usual there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.closure import RESTARTS, assemble, check_gradients
from dalembert.constraints.rank import GAP, RANK_TOLERANCE, Decomposition, extreme_sizes
from dalembert.errors import SingularityError
from dalembert.kinematics.manifold import moved

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

NEIGHBOUR_RATIO = 6.0
"""Positions with a joint kept this many times farther away than it was moved are no neighbours."""

FARTHEST_NEIGHBOUR = 1.6
"""How far from a position its neighbours are sought at most, in units of the coordinates."""

TIMES = (0.0, 0.37, 1.0, 3.1)
"""When constraints that depend on time are sampled and compared, s. Kernels check the rows they leave out themselves,
at all times."""

Sample = tuple[np.ndarray, float]
"""Assembled positions, and when."""


def decomposed(
    system: Constrained, q: np.ndarray, t: float, tolerance: float = RANK_TOLERANCE, positional: bool = False
) -> Decomposition:
    """The rows at a position, without units.

    Args:
        tolerance: below this part of the largest, singular values count as zero.
        positional: whether only rows on positions count.
    """
    G = system.evaluate("positions", q, t)[1]
    check_gradients(system, G, t)
    rows = system.scaling.comparable(G)
    return Decomposition.of(rows[system.constraints.holonomic] if positional else rows, tolerance=tolerance)


def neighbours(
    system: Constrained, q: np.ndarray, t: float, tolerance: float = RANK_TOLERANCE, count: int = 4
) -> list[tuple[np.ndarray, int]]:
    """Assembled positions close to a position and the rank at each, as many as are found.

    Where the rank is another than at the position itself, assembly modes of different mobility may meet there, and most
    starts may lead to one of them: more are tried, until there are enough of the greatest rank, which rows have beside
    the constraints. Where such a bifurcation is near, most starts lead to it, and ranks there are not clear: every
    other start lies along a motion that rows allow, with the joint kept that moves most; and all lie farther and
    farther away. Ranks that are not clear are given only where none is.

    Args:
        tolerance: as for :func:`decomposed`.
        count: how many starts to try; more, where ranks differ or are not clear.
    """
    rng = np.random.default_rng(0)
    here, most = decomposed(system, q, t, tolerance).rank, 0
    along, far = _allowed(system, q, t), 0.05
    owners = {k: [link.joint] for link in system.mechanism.tree.links for k in range(link.v, link.v + link.nv)}
    clear: list[tuple[np.ndarray, int]] = []
    doubtful: list[tuple[np.ndarray, int]] = []
    for k in range(8 * count):
        if k and k % count == 0 and not clear:
            far = min(2 * far, FARTHEST_NEIGHBOUR)
        step = rng.normal(size=system.mechanism.nv)
        held: list[str] = []
        if k % 2:
            step = along @ step
            held = owners[int(np.abs(step).argmax())] if step.any() else []
        start = moved(system.mechanism.tree, q, far * step * system.scaling.velocities)
        try:
            found = assemble(system, start, t, held, restarts=0)
            if held and _apart(system, found, q) > NEIGHBOUR_RATIO * far:
                continue  # loops close elsewhere with that joint held
            rows = decomposed(system, found, t, tolerance)
            (clear if rows.is_clear else doubtful).append((found, int(rows.rank)))
        except SingularityError:
            pass
        with suppress(SingularityError):  # laws of velocities need not exist beside the constraints
            most = most or int(decomposed(system, start, t, tolerance).rank)
        enough = len(clear) >= count or (clear and k + 1 - len(doubtful) >= count)
        if enough and (all(there == here for _, there in clear) or sum(there == most for _, there in clear) >= count):
            break
    return clear or doubtful


def _apart(system: Constrained, a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two positions, rad or lengths of the mechanism."""
    return float(np.abs((a - b) / system.scaling.positions).max(initial=0.0))


def _allowed(system: Constrained, q: np.ndarray, t: float) -> np.ndarray:
    """The matrix that takes displacements, in units of the velocities, to those that rows allow.

    Velocities that no row contains lead nowhere: a cart does not move a loop that stands on it.
    """
    G = system.scaling.dimensionless(system.evaluate("positions", q, t)[1])
    rows = Decomposition.of(G, tolerance=GAP[1])
    within = np.abs(G).max(axis=0, initial=0.0) > RANK_TOLERANCE * np.abs(G).max(initial=0.0)
    across = np.eye(G.shape[1]) - rows.row_basis.T @ rows.row_basis
    allowed = np.where(within, rows.columns, 0.0)[:, None] * across
    return np.asarray(allowed / (np.abs(allowed).max(initial=0.0) or 1.0))


def ranks_nearby(
    system: Constrained, q: np.ndarray, t: float, tolerance: float = RANK_TOLERANCE, count: int = 4
) -> list[int]:
    """Ranks at the :func:`neighbours` of a position, whose arguments these are."""
    return [there for _, there in neighbours(system, q, t, tolerance, count)]


def samples(system: Constrained, count: int = 4, spread: float = 0.3) -> list[Sample]:
    """Assembled positions around the reference, the reference itself (assembled) first if that is possible.

    Singular ones are left out: rows that vanish or depend on each other there are not redundant elsewhere. So are those
    whose rank is not clear.

    Args:
        spread: standard deviation of the random starts, rad or lengths of the mechanism, at least metres.
    """
    if not system.constraints.count:
        return [(np.asarray(system.reference, dtype=float), 0.0)]
    rng = np.random.default_rng(0)
    times = TIMES if system.constraints.rheonomic else TIMES[:1]
    found: list[Sample] = []
    failure: Exception | None = None
    nv = system.mechanism.nv
    for k in range(6 * count):
        step = rng.normal(size=nv) * spread * system.scaling.velocities if k else np.zeros(nv)
        t = times[k % len(times)]
        try:
            start = moved(system.mechanism.tree, np.array(system.reference), step)
            q = assemble(system, start, t, restarts=0 if k else RESTARTS)
            if decomposed(system, q, t).is_clear or not found:  # an error where there are no gradients
                found.append((q, t))
        except SingularityError as error:
            failure = failure or error
        if len(found) == count:
            break
    if not found:
        raise SingularityError(
            str(failure), argument="reference", remedy="give {setting}, positions near an assembly"
        ) from failure
    return _regular(system, found, times)[:count]


def _regular(system: Constrained, found: list[Sample], times: Sequence[float]) -> list[Sample]:
    """The samples of the rank that rows usually have around the first, the reference, and others like these."""
    ranks, clear = [int(decomposed(system, q, t).rank) for q, t in found], decomposed(system, *found[0]).is_clear
    if clear and len(found) > 1 and ranks[0] == max(ranks):
        return [sample for sample, here in zip(found, ranks) if here == ranks[0]]
    # Is the reference singular, or are the others of another kind?
    near = [(q, t, there) for t in times for q, there in neighbours(system, found[0][0], t)]
    known = [(q, t, there) for q, t, there in near if decomposed(system, q, t).is_clear]
    if not known and max((there for *_, there in near), default=0) > ranks[0] and clear:
        if ranks[0] == max(ranks):
            raise SingularityError(
                f"the reference of {system.mechanism.name!r} seems to be a singular position, and around it none was "
                "found where it is clear which rows are independent",
                argument="reference",
                remedy="give {setting}, positions away from it",
            )
        known = [(q, t, here) for (q, t), here in zip(found, ranks) if here == max(ranks)]
    if not clear and (known or len(found) > 1):  # what seems independent at the reference need not be
        found, ranks = found[1:], ranks[1:]
        usual = max((there for *_, there in known), default=max(ranks, default=0))
    else:
        known = known if clear else near  # nothing is clear where some lengths are far smaller than others
        usual = max([ranks[0], *(there for *_, there in known)])
    kept = [sample for sample, here in zip(found, ranks) if here >= usual]
    return [*kept, *((q, t) for q, t, there in known if there == usual)]


def usual_size(system: Constrained) -> float:
    """The least singular value that counts relative to the largest, where it is largest around the reference."""
    sizes = least_sizes(system, np.array([q for q, _ in system.samples]), np.array([t for _, t in system.samples]))
    return float(sizes.max(initial=0.0))


def least_sizes(system: Constrained, q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """How far positions are from singular ones: the least singular value of the rows without units that should not
    vanish, relative to the largest, (k,); 0 where there are no gradients, as of a disc that lies flat.

    Args:
        q: positions, (k, nq).
        t: times, s, (k,).
    """
    G = system.scaling.dimensionless(system.evaluate("positions", q, t)[1])
    least, most = extreme_sizes(G, system.pivots.rank)
    return np.asarray(least / most)

"""The rank of constraints at assembled positions, and at those beside them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.assembly import assemble
from dalembert.constraints.descent import check_gradients, position_units, units
from dalembert.constraints.opening import closure_length, has_length
from dalembert.constraints.pivots import column_scale
from dalembert.constraints.rolling import ROLLING_ROWS
from dalembert.errors import SingularityError
from dalembert.kinematics.manifold import moved

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

UNCLEAR = (1e-11, 1e-4)
"""Singular values, of the largest, that tell neither rank nor the want of it."""

NEAR = 6.0
"""Positions with a joint held this many times farther away than it was moved are no neighbours."""

FARTHEST = 1.6
"""How far from a position its neighbours are sought at most, rad or lengths of the mechanism."""


def rank(system: ConstrainedKernels, q: np.ndarray, t: float, tolerance: float = 1e-8) -> int:
    """How many rows of the constraints are independent at a position.

    Args:
        system: the constrained mechanism.
        q: positions.
        t: time, s.
        tolerance: below this fraction of the largest, singular values count as zero.
    """
    return int((_sizes(system, q, t) > tolerance).sum())


def is_clear(system: ConstrainedKernels, q: np.ndarray, t: float, positional: bool = False) -> bool:
    """Whether the rank at assembled positions is one, and not what rounding has left.

    Where two ways of closing meet, positions are found to the square root of the tolerance only, and rows that depend
    on each other there seem not to.

    Args:
        system: the constrained mechanism.
        q: positions.
        t: time, s.
        positional: whether only rows on positions count.
    """
    size = _sizes(system, q, t, positional)
    return not ((size > UNCLEAR[0]) & (size < UNCLEAR[1])).any()


def _sizes(system: ConstrainedKernels, q: np.ndarray, t: float, positional: bool = False) -> np.ndarray:
    """Singular values of the rows, the largest being one."""
    G = system.evaluate("positions", q, t)[1]
    check_gradients(system, G, t)
    rows = _comparable(system, G)
    size = np.linalg.svd(rows[system.constraints.holonomic] if positional else rows, compute_uv=False)
    return np.asarray(size / (size.max(initial=0.0) or 1.0))


def _comparable(system: ConstrainedKernels, G: np.ndarray) -> np.ndarray:
    """Rows and columns without units: loops of millimetres count as much as angles, and as loops of metres; so do
    wheels of millimetres under vehicles of metres.
    """
    lengths = np.ones(len(G))
    for item in system.numbers.constraints:
        if has_length(item):
            radius = max(map(abs, (item.value, *item.coefficients))) if item.kind in ROLLING_ROWS else 0.0
            length = radius or closure_length(system.numbers, item)
            lengths[system.constraints.slice(item.name)] = min(1.0, float(length))
    G = G / np.where([row.is_length for row in system.rows], lengths, 1.0)[:, None]
    before = system.constraints.together(np.abs(G).max(axis=1, initial=0.0))
    G = G * column_scale(G)
    after = system.constraints.together(np.abs(G).max(axis=1, initial=0.0))
    # Columns are smaller now because of some rows; others count as before: a slide that is held, beside a small loop.
    return np.asarray(G * np.where(after > 0, np.minimum(before, 1.0) / np.where(after > 0, after, 1.0), 1.0)[:, None])


def neighbours(
    system: ConstrainedKernels, q: np.ndarray, t: float, tolerance: float = 1e-8, count: int = 4
) -> list[tuple[np.ndarray, int]]:
    """Assembled positions close to a position and the rank at each, as many as are found.

    Where the rank is another than at the position itself, ways of closing may meet there that leave different freedoms,
    and most starts may lead to one of them: more are tried, until there are enough of the greatest rank, which rows
    have beside the constraints. Where such a crossing is near, most starts lead to it, and ranks there are not clear:
    every other start lies along a motion that rows allow, and the joint that moves most is held there; and all lie
    farther and farther away. Ranks that are not clear are told only where none is.

    Args:
        system: the constrained mechanism.
        q: positions.
        t: time, s.
        tolerance: as for :func:`rank`.
        count: how many starts to try; more, where ranks differ or are not clear.
    """
    rng = np.random.default_rng(0)
    here, most = rank(system, q, t, tolerance), 0
    along, far = _allowed(system, q, t), 0.05
    owners = {k: [link.joint] for link in system.mechanism.tree.links for k in range(link.v, link.v + link.nv)}
    clear: list[tuple[np.ndarray, int]] = []
    doubtful: list[tuple[np.ndarray, int]] = []
    for k in range(8 * count):
        if k and k % count == 0 and not clear:
            far = min(2 * far, FARTHEST)
        step = rng.normal(size=system.mechanism.nv)
        held: list[str] = []
        if k % 2:
            step = along @ step
            held = owners[int(np.abs(step).argmax())] if step.any() else []
        start = moved(system.mechanism.tree, q, far * step * units(system))
        try:
            found = assemble(system, start, t, held, restarts=0)
            if held and _apart(system, found, q) > NEAR * far:
                continue  # loops close elsewhere with that joint held
            (clear if is_clear(system, found, t) else doubtful).append((found, rank(system, found, t, tolerance)))
        except SingularityError:
            pass
        with suppress(SingularityError):  # laws of velocities need not exist beside the constraints
            most = most or rank(system, start, t, tolerance)
        enough = len(clear) >= count or (clear and k + 1 - len(doubtful) >= count)
        if enough and (all(there == here for _, there in clear) or sum(there == most for _, there in clear) >= count):
            break
    return clear or doubtful


def _apart(system: ConstrainedKernels, a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference of two positions, rad or lengths of the mechanism."""
    return float(np.abs((a - b) / position_units(system)).max(initial=0.0))


def _allowed(system: ConstrainedKernels, q: np.ndarray, t: float) -> np.ndarray:
    """The matrix that takes displacements, in :func:`~dalembert.constraints.descent.units`, to allowed ones.

    Velocities that no row contains lead nowhere: a cart does not move a loop that stands on it.
    """
    G = system.evaluate("positions", q, t)[1] * units(system)
    scale = column_scale(G)
    size, Vt = np.linalg.svd(G * scale)[1:]
    rows = Vt[: int((size > UNCLEAR[1] * size.max(initial=0.0)).sum())]
    within = np.abs(G).max(axis=0, initial=0.0) > 1e-9 * np.abs(G).max(initial=0.0)
    allowed = np.where(within, scale, 0.0)[:, None] * (np.eye(len(scale)) - rows.T @ rows)
    return np.asarray(allowed / (np.abs(allowed).max(initial=0.0) or 1.0))


def ranks_nearby(
    system: ConstrainedKernels, q: np.ndarray, t: float, tolerance: float = 1e-8, count: int = 4
) -> list[int]:
    """Ranks at the :func:`neighbours` of a position, whose arguments these are."""
    return [there for _, there in neighbours(system, q, t, tolerance, count)]

"""Where gradients of constraints jump along a motion: they are others behind a position than before it.

A rolling disc that falls flat goes through such a position. Bisection tells a jump from a fast turn: of a turn less and
less is left as the interval shrinks, of a jump all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

TURN, HALVINGS, SMALL = 0.5, 10, 1e-9
"""Where an entry of G changes from a state to the next by more than this part of its size, so many halvings look for a
jump. Entries below the last part of the largest are rounding.
"""

WHIRL = 10.0
"""Steps that go so far, rad or m, do not tell what was in between."""


def turns(G: np.ndarray, ways: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Between which states a jump may be: the first of both, the row that changes most, and the sizes of its entries.

    Entries are measured by the largest of their rows and columns, the less of both: rows have units, and so do
    velocities.

    Args:
        G: gradients of constraints at states one after the other, (k, m, nv).
        ways: how far it is from each state to the next at most, (k - 1,), rad or m.
    """
    size = np.where(np.isfinite(G), np.abs(G), 0.0).max(axis=0)
    size = np.minimum(size.max(axis=1, keepdims=True), size.max(axis=0))
    size = np.maximum(size, max(SMALL * size.max(), np.finfo(float).tiny))
    changes = (np.abs(np.diff(G, axis=0)) / size).max(axis=2)  # by row; NaN where there is no G
    for k in np.flatnonzero((changes > TURN).any(axis=1) & (ways < WHIRL)).tolist():
        row = int(np.nanargmax(changes[k]))
        yield k, row, size[row]


def jump(gradients: Callable[[np.ndarray], np.ndarray], row: int, size: np.ndarray) -> float | None:
    """On which part of the way a row of G jumps; None if less and less changes in the half where most does.

    Args:
        gradients: G at parts of the way, (k,).
        row: which row.
        size: of its entries.
    """
    low, high = 0.0, 1.0
    begin, end = gradients(np.array([low, high]))[:, row] / size
    changes = [np.abs(end - begin).max()]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        there = gradients(np.array([middle]))[0, row] / size
        left, right = np.abs(there - begin).max(), np.abs(end - there).max()
        changes.append(max(left, right))
        if changes[-1] < changes[0] / 4:
            return None
        low, high, begin, end = (low, middle, begin, there) if left > right else (middle, high, there, end)
    return (low + high) / 2 if changes[-1] > changes[HALVINGS // 2] / 4 else None

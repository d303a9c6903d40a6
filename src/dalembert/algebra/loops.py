"""One loop, over any scalar: a step taken several times, that carries arrays along, goes over rows, and emits rows.

    (x,), (X,) = scan(step, (x,), over=(U,), held=(h,))

Over numbers, symbols and exact fields this is a plain Python loop. Traced scalars bring their own: their graph records
the step once, and rows stay in memory, so that a program of a thousand steps is as long as that of one.

    x, r = repeat(sweep, (x, r), count=30, held=(A,))       nothing to go over, nothing emitted
    (X,) = for_each(solve, (B,), held=(L,))                 nothing carried
    (w,), (F,) = along(outward, (w,), (R, qd))              one step for each row
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.scalar import is_traced
from dalembert.errors import ArgumentError


def scan(
    body: Callable[..., Any],
    carried: Sequence[Any],
    over: Sequence[Any] = (),
    held: Sequence[Any] = (),
    steps: Any = None,
    every: int = 1,
    hold: int = 1,
    most: int | None = None,
) -> tuple[tuple, tuple]:
    """A step taken several times.

    Args:
        body: one step: called with the carried arrays, a row of each array to go over, then the held arrays. It returns
            a tuple of the carried arrays, of the same shapes, and a tuple of what is emitted, of shapes that are the
            same at every step; and, if it likes, whether to stop after this step. It must do the same at every step:
            what it depends on must be carried, gone over, held or constant.
        carried: arrays, or scalars, that the step changes.
        over: arrays of which each step is given the next row.
        held: arrays, or scalars, that every step reads.
        steps: how many steps; by default as many as there are rows. It may be a traced scalar, a whole number: none are
            taken if it is not positive.
        every: rows are emitted after so many steps.
        hold: each row serves so many steps.
        most: how many steps there may be at most; needed if the number of steps is traced and there are no rows.

    Returns:
        The carried arrays after the last step, and the arrays emitted, with ``most // every`` rows (``steps // every``,
        if ``most`` is not given and the number of steps is known). Rows that are not reached are zero.
    """
    every, hold = _whole("scan", "every", every, 1), _whole("scan", "hold", hold, 1)
    now, given, still = tuple(carried), tuple(over), tuple(held)
    rows = {len(array) for array in given}
    if len(rows) > 1:
        raise ArgumentError(f"scan: the arrays to go over have {sorted(rows)} rows; needed are as many of each")
    available = rows.pop() * hold if rows else None
    unknown = hasattr(steps, "scanned")
    taken = None if unknown else available if steps is None else _whole("scan", "steps", steps, 0)
    if most is not None:
        capacity = _whole("scan", "most", most, 0)
    elif taken is not None:
        capacity = taken
    elif available is not None:
        capacity = available
    else:
        raise ArgumentError(
            "scan: the number of steps is traced and there are no rows to go over; give most=, the largest number"
            if unknown
            else "scan: how many steps? Give steps=, or arrays to go over"
        )
    if taken is not None and taken > capacity:
        raise ArgumentError(f"scan: steps = {taken} are more than most = {capacity}")
    if available is not None and capacity > available:
        raise ArgumentError(f"scan: {capacity} steps need {-(-capacity // hold)} rows, there are {available // hold}")
    traced = _traced((*now, *given, *still), steps)
    limit = steps if unknown else taken if taken != capacity else None
    step = lambda old, own, fixed: _checked(body(*old, *own, *fixed), old)  # noqa: E731
    if traced is not None and capacity:
        return traced.scanned(step, capacity, now, given, still, every, hold, limit)
    made: list[tuple] = []
    new: tuple | None = None
    for s in range(taken or 0):
        now, new, stop = _checked(body(*now, *(array[s // hold] for array in given), *still), now)
        traced = _traced((*now, *new, stop), None) if s == 0 else None
        if traced is not None:  # captured by the step
            return traced.scanned(step, capacity, tuple(carried), given, still, every, hold, limit)
        if (s + 1) % every == 0:
            made.append(new)
        if stop:
            break
    if new is None and available != 0:  # to know the shapes of what no step has emitted
        _, new, _ = _checked(body(*now, *(array[0] for array in given), *still), now)
    return now, _stacked(made, new or (), capacity // every)


def repeat(body: Callable[..., Sequence[Any]], carried: Sequence[Any], count: int, held: Sequence[Any] = ()) -> tuple:
    """The carried arrays after ``count`` steps.

    Args:
        body: one step: called with the carried arrays, then the held ones; returns the carried arrays, of the same
            shapes. It must do the same at every step: what it depends on must be carried, held or constant.
        carried: arrays, or scalars, that the step changes.
        count: number of steps.
        held: arrays, or scalars, that every step reads.
    """
    steps = _whole("repeat", "count", count, 0)
    return scan(lambda *given: (body(*given), ()), carried, (), held, steps)[0] if steps else tuple(carried)


def for_each(body: Callable[..., Sequence[Any]], given: Sequence[Any], held: Sequence[Any] = ()) -> tuple:
    """A function of each row of some arrays, with a row for each in what it returns.

        (X,) = for_each(solve, (B,), held=(L,))     # X[k] = solve(B[k], L)

    Args:
        body: called with a row of each of the given arrays, then the held ones; returns arrays, of the same shapes for
            all rows. It must do the same for every row.
        given: arrays with as many rows as each other.
        held: arrays, or scalars, that are the same for all rows.
    """
    return scan(lambda *own: ((), tuple(body(*own))), (), given, held)[1]


def along(
    body: Callable[..., Any], carried: Sequence[Any], given: Sequence[Any], held: Sequence[Any] = ()
) -> tuple[tuple, tuple]:
    """A step for each row of some arrays, which takes what the one before left: as along the links of a chain.

    Args:
        body: one step: called with the carried arrays, a row of each of the given ones, then the held ones; returns a
            tuple of the carried arrays, of the same shapes, and a tuple of what it has made.
        carried: arrays, or scalars, that the step changes.
        given: arrays with as many rows as each other, at least one.
        held: arrays, or scalars, that every step reads.

    Returns:
        The carried arrays after the last step, and what was made, with a row for each step.
    """
    return scan(body, carried, given, held)


def read_at(array: Any, index: Any) -> Any:
    """The element of an array at an index that may be computed: the nearest there is, or the first one for a NaN.

    Args:
        array: of scalars; the index counts its rows, of which each is an element if it has one dimension.
        index: a whole number, of which a fraction is cut off.
    """
    found = np.asarray(array)
    if not len(found):
        raise ArgumentError("read_at: the array is empty")
    if hasattr(index, "read_from"):
        columns = found.reshape(len(found), -1).T
        elements = [index.read_from(column) for column in columns]
        return arrays.asarray(elements).reshape(found.shape[1:]) if found.ndim > 1 else elements[0]
    real = float(getattr(index, "real", index))
    return found[int(min(real, len(found) - 1)) if real > 0 else 0]


def write_at(array: Any, index: Any, number: Any) -> Any:
    """A copy of an array of one dimension with another element at an index that may be computed; see :func:`read_at`.

    Args:
        array: of scalars.
        index: a whole number, of which a fraction is cut off.
        number: the new element.
    """
    found = np.asarray(array)
    if found.ndim != 1 or not len(found):
        raise ArgumentError(f"write_at: the array has shape {found.shape}; needed is one dimension, not empty")
    traced = _traced((found, number, index), None)
    if traced is not None:
        return traced.written_to(found, index, number)
    real = float(getattr(index, "real", index))
    changed = arrays.asarray(found.tolist())
    place = int(min(real, len(found) - 1)) if real > 0 else 0
    return arrays.asarray([number if k == place else x for k, x in enumerate(changed)])


def _whole(function: str, name: str, given: Any, least: int) -> int:
    try:
        found = operator.index(given)
    except TypeError:
        raise ArgumentError(f"{function}: {name} is {given!r}; needed is a whole number, known beforehand") from None
    if found < least:
        raise ArgumentError(f"{function}: {name} is {found}; needed is at least {least}")
    return found


def _traced(given: Iterable[Any], steps: Any) -> Any:
    """A traced scalar among some arrays, or None."""
    if hasattr(steps, "scanned"):
        return steps
    for array in given:
        found = np.asarray(array)
        if found.dtype == object:
            for x in found.flat:
                if is_traced(x):
                    return x
    return None


def _stacked(made: list[tuple], like: tuple, rows: int) -> tuple:
    """What was emitted, row by row, and zeros for the rows that were not reached."""
    missing = [tuple(np.zeros(np.shape(x), dtype=int)[()] for x in like)] * (rows - len(made))
    columns = zip(*made, *missing) if rows else ([] for _ in like)
    return tuple(arrays.stack(column) if rows else np.zeros((0, *np.shape(x))) for column, x in zip(columns, like))


def _checked(made: Any, carried: tuple) -> tuple[tuple, tuple, Any]:
    """What a step returned: the carried arrays, as many as before and of the same shapes; what it emits; whether to
    stop."""
    if not isinstance(made, (tuple, list)) or len(made) not in (2, 3):
        raise ArgumentError(
            f"the step of a loop returned {_described(made)}; needed is a tuple of the carried arrays and one of "
            "what it emits"
        )
    ends, new, *stop = made
    if not isinstance(ends, (tuple, list)) or len(ends) != len(carried):
        raise ArgumentError(
            f"the step of a loop returned {_described(ends)}; needed is a tuple of the {len(carried)} carried arrays"
        )
    if not isinstance(new, (tuple, list)):
        raise ArgumentError(f"the step of a loop emits {_described(new)}; needed is a tuple, () for nothing")
    for number, (old, now) in enumerate(zip(carried, ends)):
        if np.shape(old) != np.shape(now):
            raise ArgumentError(
                f"the step of a loop makes carried array {number} of shape {np.shape(now)} out of shape "
                f"{np.shape(old)}; shapes must stay the same"
            )
    return tuple(ends), tuple(new), stop[0] if stop else False


def _described(made: Any) -> str:
    return f"{len(made)} values" if isinstance(made, (tuple, list)) else f"a {type(made).__name__}"

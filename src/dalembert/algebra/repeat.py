"""A step applied a fixed number of times, a function applied to every row of an array, and both, over any scalar.

    x, r = repeat(sweep, (x, r), count=30, held=(A,))
    (X,) = for_each(solve, (B,), held=(L,))
    (w,), (F,) = along(outward, (w,), (R, qd))

Over numbers, symbols and exact fields this is a plain Python loop. Traced scalars bring their own: their graph records
the step once and how often it is applied, so that the program of thirty sweeps is as long as that of one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.errors import ArgumentError


def repeat(body: Callable[..., Sequence[Any]], carried: Sequence[Any], count: int, held: Sequence[Any] = ()) -> tuple:
    """The carried arrays after ``count`` steps.

    Args:
        body: one step: called with the carried arrays, then the held ones; gives the carried arrays, of the same
            shapes. It must do the same at every step: what it depends on must be carried, held or constant.
        carried: arrays, or scalars, that the step changes.
        count: number of steps.
        held: arrays, or scalars, that every step reads.
    """
    try:
        steps = operator.index(count)
    except TypeError:
        raise ArgumentError(
            f"repeat: count is {count!r}; needed is a whole number of steps, known beforehand"
        ) from None
    if steps < 0:
        raise ArgumentError(f"repeat: count is {steps}; a number of steps is not negative")
    now, still = tuple(carried), tuple(held)
    traced = _traced((*now, *still))
    for k in range(steps):
        if traced is not None:
            return traced.repeated(lambda old, same, _: (step_once(body, old, same), ()), steps - k, now, still)[0]
        now = step_once(body, now, still)
        traced = _traced(now) if k == 0 else None  # captured by the step
    return now


def for_each(body: Callable[..., Sequence[Any]], given: Sequence[Any], held: Sequence[Any] = ()) -> tuple:
    """A function of each row of some arrays, with a row for each in what it gives.

        (X,) = for_each(solve, (B,), held=(L,))     # X[k] = solve(B[k], L)

    Args:
        body: called with a row of each of the given arrays, then the held ones; gives arrays, of the same shapes for
            all rows. It must do the same for every row.
        given: arrays with as many rows as each other.
        held: arrays, or scalars, that are the same for all rows.
    """
    counts = {len(array) for array in given}
    if len(counts) != 1:
        raise ArgumentError(f"for_each: the given arrays have {sorted(counts)} rows; needed are as many of each")
    (count,) = counts
    traced, rows = _traced((*given, *held)), []
    for k in range(count):
        if traced is not None:
            row = lambda _, still, own: ((), tuple(body(*own, *still)))  # noqa: E731
            return traced.repeated(row, count, (), tuple(held), tuple(given))[1]
        rows.append(body(*(array[k] for array in given), *held))
        traced = _traced(rows[0]) if k == 0 else None  # captured by the body
    return tuple(arrays.stack(made) for made in zip(*rows))


def along(body: Callable[..., Any], carried: Sequence[Any], given: Sequence[Any]) -> tuple[tuple, tuple]:
    """A step for each row of some arrays, which takes what the one before left: as along the links of a chain.

    Args:
        body: one step: called with the carried arrays, then a row of each of the given ones; gives a tuple of the
            carried arrays, of the same shapes, and a tuple of what it has made.
        carried: arrays, or scalars, that the step changes.
        given: arrays with as many rows as each other, at least one.

    Returns:
        The carried arrays after the last step, and what was made, with a row for each step.
    """
    (count,) = {len(array) for array in given}
    now, rows = tuple(carried), []
    traced = _traced((*now, *given))
    for k in range(count):
        if traced is not None:
            return traced.repeated(lambda old, _, own: body(*old, *own), count, tuple(carried), (), tuple(given))
        now, made = body(*now, *(array[k] for array in given))
        rows.append(made)
        traced = _traced((*now, *made)) if k == 0 else None  # captured by the body
    return tuple(now), tuple(arrays.stack(column) for column in zip(*rows))


def _traced(given: Iterable[Any]) -> Any:
    """A traced scalar among the elements of arrays, or None."""
    for array in given:
        found = np.asarray(array)
        if found.dtype == object:
            for x in found.flat:
                if hasattr(x, "repeated"):
                    return x
    return None


def step_once(body: Callable[..., Sequence[Any]], carried: tuple, held: tuple) -> tuple:
    """The carried arrays after one step, checked: as many as before, of the same shapes.

    Args:
        body: see :func:`repeat`.
        carried: the arrays before.
        held: what the step reads.
    """
    made = body(*carried, *held)
    if not isinstance(made, (tuple, list)) or len(made) != len(carried):
        got = f"{len(made)} values" if isinstance(made, (tuple, list)) else f"a {type(made).__name__}"
        raise ArgumentError(f"repeat: the step gives {got}; needed is a tuple of the {len(carried)} carried arrays")
    for number, (old, new) in enumerate(zip(carried, made)):
        if np.shape(old) != np.shape(new):
            raise ArgumentError(
                f"repeat: the step makes carried array {number} of shape {np.shape(new)} out of shape {np.shape(old)}; "
                "shapes must stay the same"
            )
    return tuple(made)

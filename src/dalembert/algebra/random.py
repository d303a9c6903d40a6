"""Random numbers that are a function of a key: in kernels, and equally on plain numbers.

    noise = normal((seed, world, step), (3,))

There is no state. The same key gives the same numbers, whatever the batch size, the number of threads, the device and
the language; another key gives others. A key is a whole number, or up to six of them, such as a seed, the number of a
world, that of a step, and what the numbers are for; each from 0 to 2**32 - 1, in kernels that compute in single
precision to 2**24. Missing ones count as another key than zeros. Uniform, normal and whole numbers of one key have
nothing to do with each other, but one of these functions called twice with one key gives the same numbers twice.

The generator is Threefry with four words of 32 bits and twenty rounds, see :mod:`dalembert.threefry`. Whole numbers and
uniform ones are the same to the bit everywhere; in single precision a uniform number is that of double precision,
rounded. Normal ones are made of uniform ones with + - * / and square roots alone, and so differ between languages and
processors by a few roundings at most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.comparisons import less, select
from dalembert.algebra.scalar import is_number, is_traced
from dalembert.errors import ArgumentError
from dalembert.threefry import draw

LONGEST_KEY = 6

MOST = 2**24
"""The largest limit of whole numbers: single precision knows all below."""


# ----------------------------------------------------------------------------------------------------------- for users


def uniform(key: Any, shape: int | Sequence[int] = ()) -> Any:
    """Numbers from 0 to 1, without 1, equally likely: multiples of 2**-48.

    Args:
        key: a whole number or a sequence of up to six, which may be traced; or a sequence of arrays of numbers, which
            gives a batch of the shape of these.
        shape: of what one key gives.
    """
    shape = _shape("uniform", shape)
    return _shaped(_uniform(_blocks("uniform", 0, key, MOST, 2 * math.prod(shape))), shape)


def normal(key: Any, shape: int | Sequence[int] = ()) -> Any:
    """Numbers with the normal distribution of mean 0 and variance 1, by the transform of Box and Muller.

    Args:
        key: a whole number or a sequence of up to six, which may be traced; or a sequence of arrays of numbers, which
            gives a batch of the shape of these.
        shape: of what one key gives.
    """
    shape = _shape("normal", shape)
    count = math.prod(shape)
    flat = _uniform(_blocks("normal", 1, key, MOST, 4 * -(-count // 2)))
    size = np.sqrt(2 * _minus_log(flat[..., ::2] + 2.0**-49))
    x, y = _on_circle(flat[..., 1::2])
    pairs = np.stack([size * x, size * y], axis=-1)
    return _shaped(pairs.reshape((*pairs.shape[:-2], 2 * pairs.shape[-2]))[..., :count], shape)


def integers(key: Any, limit: Any, shape: int | Sequence[int] = ()) -> Any:
    """Whole numbers from 0 to ``limit - 1``. Their probabilities differ by less than ``limit / 2**32`` of themselves.

    Args:
        key: a whole number or a sequence of up to six, which may be traced; or a sequence of arrays of numbers, which
            gives a batch of the shape of these.
        limit: a whole number from 1 to 2**24; it may be traced.
        shape: of what one key gives.
    """
    shape = _shape("integers", shape)
    if not is_traced(limit) and not (is_number(limit) and 1 <= limit <= MOST and limit % 1 == 0):
        raise ArgumentError(f"integers: limit is {limit!r}; needed is a whole number from 1 to 2**24")
    found = _blocks("integers", 2, key, limit, math.prod(shape))
    return _shaped(found if found.dtype == object else found.astype(np.int64), shape)


def _shape(function: str, shape: Any) -> tuple[int, ...]:
    found = (shape,) if isinstance(shape, (int, np.integer)) else shape
    if not isinstance(found, (tuple, list)) or not all(isinstance(n, (int, np.integer)) and n >= 0 for n in found):
        raise ArgumentError(f"{function}: shape is {shape!r}; needed are whole numbers, such as (3,)")
    return tuple(int(n) for n in found)


def _shaped(flat: Any, shape: tuple[int, ...]) -> Any:
    return flat.reshape((*flat.shape[:-1], *shape))[()]


def _blocks(function: str, kind: int, key: Any, limit: Any, count: int) -> Any:
    """Random numbers below a limit, as a last dimension of an array.

    Args:
        kind: what they are for.
        count: how many.
    """
    words = _key(function, key)
    tag = 8 * kind + len(words)
    words = words + [0] * (LONGEST_KEY - len(words))
    blocks = -(-count // 4)
    traced = next((x for x in (*words, limit) if is_traced(x)), None)
    if traced is not None:
        found = [x for k in range(blocks) for x in traced.random([*words[:3], tag, *words[3:], k], limit)]
        return arrays.asarray(found)[:count]
    batch = np.broadcast_arrays(*(np.asarray(x, dtype=float)[..., None] for x in words), np.arange(blocks))
    rows = np.stack(draw([*batch[:3], tag, *batch[3:]], limit), axis=-1)
    return rows.reshape((*rows.shape[:-2], 4 * blocks))[..., :count]


def _key(function: str, key: Any) -> list[Any]:
    several = isinstance(key, (tuple, list, range)) or (isinstance(key, np.ndarray) and key.ndim > 0)
    words = list(key) if several else [key]
    if not 1 <= len(words) <= LONGEST_KEY:
        raise ArgumentError(f"{function}: the key has {len(words)} numbers; needed are 1 to {LONGEST_KEY}")
    for x in words:
        if is_traced(x):
            continue
        numbers = np.asarray(x)
        whole = numbers.dtype.kind in "iufb" and bool(np.all((numbers >= 0) & (numbers < 2**32) & (numbers % 1 == 0)))
        if not whole:
            raise ArgumentError(
                f"{function}: the key contains {x!r}; needed are whole numbers from 0 to 2**32 - 1. Larger ones can be "
                "divided into several: (seed % 2**32, seed // 2**32)"
            )
    if any(map(is_traced, words)) and any(np.ndim(x) for x in words if not is_traced(x)):
        raise ArgumentError(f"{function}: a key with traced scalars has no arrays; draw for each element")
    return words


def _uniform(halves: Any) -> Any:
    """Of whole numbers below 2**24, two for each. A number that single precision rounds to one keeps its first half."""
    high, low = halves[..., ::2], halves[..., 1::2]
    whole = (high + low / 2**24) / 2**24
    return _where_less(whole, 1, whole, high / 2**24)


def _where_less(x: Any, bound: float, yes: Any, no: Any) -> Any:
    return select(less(x, bound), yes, no) if x.dtype == object else np.where(x < bound, yes, no)


LOGARITHM = tuple(2 / (2 * k + 1) for k in range(11))
"""Of ``log((1 + s) / (1 - s)) / s`` in powers of ``s**2``; ``s`` is at most 0.172."""

SINE = tuple((-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(9))
"""Of ``sin(pi g) / g`` in powers of ``g**2``; ``g`` is at most a quarter."""

COSINE = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(9))
"""Of ``cos(pi g)`` in powers of ``g**2``."""


def _polynomial(coefficients: Sequence[float], x: Any) -> Any:
    found = coefficients[-1]
    for c in coefficients[-2::-1]:
        found = found * x + c
    return found


def _minus_log(x: Any) -> Any:
    """``-log(x)`` of numbers from 2**-49 to 1."""
    shift = 0 * x
    for bits in (32, 16, 8, 4, 2, 1):
        x, shift = _where_less(x, 2.0**-bits, x * 2**bits, x), _where_less(x, 2.0**-bits, shift + bits, shift)
    root = math.sqrt(0.5)
    x, shift = _where_less(x, root, 2 * x, x), _where_less(x, root, shift + 1, shift)
    s = (x - 1) / (x + 1)
    return shift * math.log(2) - s * _polynomial(LOGARITHM, s * s)


def _on_circle(x: Any) -> tuple[Any, Any]:
    """Points on the unit circle, of numbers from 0 to 1: half a circle by the double angle, the other by a sign."""
    g = _where_less(x, 0.5, x - 0.25, x - 0.75)
    sine, cosine = g * _polynomial(SINE, g * g), _polynomial(COSINE, g * g)
    along, across = (cosine - sine) * (cosine + sine), 2 * sine * cosine
    return _where_less(x, 0.5, along, -along), _where_less(x, 0.5, across, -across)

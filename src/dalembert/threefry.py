"""Threefry, the generator of random bits: a function of a key and a counter, of additions, rotations and exclusive ors.

With four words of 32 bits and twenty rounds: Salmon, Moraes, Dror and Shaw, *Parallel random numbers: as easy as 1, 2,
3*, 2011. What every language prints, and what :mod:`dalembert.algebra.random` makes numbers of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
"""By how many bits the two words of a round are rotated; after eight rounds from the beginning."""

PARITY = 0x1BD11BDA
"""What all words of the key are added to, bit by bit, for the fifth."""

ROUNDS = 20


def schedule() -> Iterator[tuple[int, ...]]:
    """What happens to the four words after the key was added the first time: ``(a, b, r)`` adds word b to word a and
    rotates b by r bits to the left before it takes the exclusive or of both; ``(s,)`` adds the key for the s-th time,
    beginning with its word s modulo 5, and s to the last word."""
    for k in range(ROUNDS):
        first, second = ((0, 1), (2, 3)) if k % 2 == 0 else ((0, 3), (2, 1))
        one, two = ROTATIONS[k % len(ROTATIONS)]
        yield (*first, one)
        yield (*second, two)
        if k % 4 == 3:
            yield (k // 4 + 1,)


def threefry(key: Sequence[Any], counter: Sequence[Any]) -> list[Any]:
    """A block of random bits.

    Args:
        key: four words of 32 bits, or arrays of them, as ``int64``.
        counter: four more.

    Returns:
        Four words.
    """
    mask = 0xFFFFFFFF
    keys = [*key, PARITY ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = [(a + b) & mask for a, b in zip(counter, key)]
    for step in schedule():
        if len(step) == 1:
            x = [(w + keys[(step[0] + k) % 5] + (step[0] if k == 3 else 0)) & mask for k, w in enumerate(x)]
        else:
            a, b, r = step
            x[a] = (x[a] + x[b]) & mask
            x[b] = ((x[b] << r | x[b] >> (32 - r)) & mask) ^ x[a]
    return x


def draw(words: Sequence[Any], limit: Any) -> list[Any]:
    """Four random whole numbers below a limit: ``word * limit / 2**32``, rounded down, of a block of :func:`threefry`.

    Args:
        words: key and counter, as floating-point numbers or arrays of them. Fractions are cut off; below zero and NaN
            counts as zero, beyond 2**32 as 2**32 - 1.
        limit: a number like these.
    """
    *given, below = (_word(x) for x in (*words, limit))
    return [
        (((x >> 16) * below + ((x & 0xFFFF) * below >> 16)) >> 16).astype(float) for x in threefry(given[:4], given[4:])
    ]


def _word(x: Any) -> Any:
    real = np.real(x)
    return np.where(real > 0, np.minimum(real, 0xFFFFFFFF), 0).astype(np.int64)

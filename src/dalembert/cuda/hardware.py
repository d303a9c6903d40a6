"""What a card has, as far as the shape of a kernel depends on it.

Numbers are those of cards of compute capability 9.0; where others have less, callers say how much.
"""

from __future__ import annotations

WARP = 32
"""Threads that go together."""

WIDTH = {"double": 8, "float": 4}
"""Bytes of a number."""

LIVE = {"double": 125, "float": 235}
"""Values that fit the 255 registers of a thread besides addresses."""

SHARED = 227 * 1024
"""Bytes of shared memory of a multiprocessor that blocks can use."""

RESERVED = 1024
"""Bytes of it that the system takes for each block."""

PLAIN = 48 * 1024
"""Bytes of shared memory that a block may have without asking."""

SMALL = 64 * 1024
"""Bytes of shared memory that a block can have on every card that CUDA supports."""

"""Every number that decides what machine code is made of a program, and at what expense.

Code that fits the instruction caches is worth the compiler's time. Code far beyond them waits for memory whatever the
compiler does, and grows so long that its time is what users wait for. ``benchmarks/compilation.py`` measures both for
the robots of ``example-robot-data``; operations below are those of machine code, a fused multiply-add being one.
"""

from __future__ import annotations

CHUNK_OPERATIONS = 250
"""The largest number of operations compiled as one function; larger ones gain nothing and take longer to compile."""

GROUP_CALLS = 128
"""The largest number of steps called by one function: LLVM's time grows with the square of it."""

RELOAD_OPERATIONS = 40
"""Operations after which a number is read from the scratch again instead of being held in a register."""

DIRECT_ELEMENTS = 256
"""Elements of an array of the caller up to which it is moved to the scratch as a whole, even if it is used by computed
index or row by row; of larger ones rows are then read, and written, where they are."""

MOST_BYTES = 1 << 31
"""Bytes of scratch beyond which a program is refused."""

STACK_BYTES = 1 << 16
"""Bytes of scratch that are taken from the stack; more come from the heap."""

MODULE_OPERATIONS = 20_000
"""Operations compiled as one module. LLVM keeps some 5 KB for each until its module is finished, so that derivatives of
humanoids would take a gigabyte; a chain of modules takes what one does."""

FULL_OPTIMIZATION = 15_000
"""Operations up to which LLVM optimises as it does by default. Beyond, it does not order instructions once more after
registers are assigned: that takes a quarter of its time, and derivatives of forward dynamics of Talos (75,000
operations) run as fast without."""

COMPILED_OPERATIONS = 150_000
"""Operations up to which straight-line code is compiled; more are worked through as a table.

A table is there at once, where a second compiles 20,000 operations. What fits the caches runs half as fast as a table
(derivatives of forward dynamics of Talos, 75,000 operations: 15 instead of 8 us a state), what waits for memory faster
(second derivatives of Talos, 200,000: 247 instead of 298 us a state)."""

SELDOM_OPERATIONS, SELDOM = 50_000, 4
"""Straight-line code of more operations than the first is a table, too, if loops beside it execute the second times as
many: it then takes a small part of the time."""

WINDOW_OPERATIONS = 8_000
"""Operations of a table that may change places so that many of one kind follow each other: with 2,000 and 32,000 it is
a tenth slower."""


def optimization(operations: int) -> int:
    """LLVM's level of optimisation for a program.

    Args:
        operations: of which code is made; those of a loop once, those in tables not.
    """
    return 2 if operations <= FULL_OPTIMIZATION else 1


def is_rolled(operations: int, executed: int) -> bool:
    """Whether straight-line operations become a table instead of code.

    Args:
        operations: how many they are.
        executed: how many are executed with those of loops beside them.
    """
    return operations > COMPILED_OPERATIONS or (operations > SELDOM_OPERATIONS and SELDOM * operations < executed)

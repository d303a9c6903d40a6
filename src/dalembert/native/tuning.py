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

STACK_BYTES = 1 << 16
"""Bytes of scratch that are taken from the stack; more come from the heap."""

MODULE_OPERATIONS = 20_000
"""Operations compiled as one module. LLVM keeps some 5 KB for each until its module is finished, so that derivatives of
humanoids would take a gigabyte; a chain of modules takes what one does."""

FULL_OPTIMIZATION = 15_000
"""Operations up to which LLVM optimises as it does by default. Beyond, it does not order instructions once more after
registers are assigned: that takes a quarter of its time, and derivatives of forward dynamics of Talos (75,000
operations) run as fast without."""

SOME_OPTIMIZATION = 200_000
"""Operations up to which LLVM optimises at all. Beyond, each instruction is translated by itself, in a third of the
time: second derivatives of Talos (220,000 operations) wait for memory and run but 4 % longer. Derivatives of forward
dynamics would be a quarter slower."""


def optimization(operations: int) -> int:
    """LLVM's level of optimisation for a program.

    Args:
        operations: of which code is made; those of a loop once.
    """
    return 2 if operations <= FULL_OPTIMIZATION else 1 if operations <= SOME_OPTIMIZATION else 0

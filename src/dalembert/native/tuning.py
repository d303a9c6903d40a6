"""Every number that decides what machine code is made of a program, and at what expense.

Code that fits the instruction caches is worth the compiler's time. Code far beyond them waits for memory whatever the
compiler does, and grows so long that its time is what users wait for. Times below are of processor time on an AMD EPYC
of the fifth generation; ``benchmarks/compilation.py`` prints them for the robots of ``example-robot-data``.
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
"""Operations up to which LLVM optimises as it does by default. Beyond, it does not schedule instructions once more after
registers are assigned, which took a quarter of its time: of derivatives of forward dynamics of Talos (100,000
operations) 2.4 s instead of 3.2 s, and they run as fast (4.49 and 4.46 us)."""

SOME_OPTIMIZATION = 200_000
"""Operations up to which LLVM optimises at all. Beyond, each instruction is translated by itself: second derivatives of
Talos (280,000 operations, fused 220,000) take 4.7 s instead of 8.2 s to compile and 85 us instead of 82 to run. Derivatives of forward
dynamics of Talos would be a quarter slower."""


def optimization(operations: int) -> int:
    """LLVM's level of optimisation for a program.

    Args:
        operations: of which code is made; those of a loop once.
    """
    return 2 if operations <= FULL_OPTIMIZATION else 1 if operations <= SOME_OPTIMIZATION else 0

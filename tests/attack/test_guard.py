"""Machine code between pages of memory that may not be touched: a sample of what guard.py runs in full."""

import ctypes
import faulthandler
import os
import signal
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork and mprotect")

if sys.platform == "linux":
    import guard

CASES = [
    ("pendulum", "gravity", "float64", False),
    ("pendulum", "gravity", "float32", True),
    ("satellite", "inverse_dynamics", "float32", False),
    ("satellite", "mass_matrix", "float64", True),
    ("demo_arm", "forward_dynamics", "float64", True),
    ("four_bar", "terms", "float32", False),
    ("touching", "contact_points", "float64", False),
    ("satellite", "rollout/semi-implicit-euler", "float64", True),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_no_kernel_reads_or_writes_beyond_its_arrays(case):
    word, calls, said = guard.outcome(case)
    assert word == "right" and calls, said


def ended(work):
    """The signal that ends a process that does something."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()  # the end is expected, and needs no report
        signal.alarm(20)
        work()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


@pytest.mark.parametrize("at_end", [True, False])
@pytest.mark.parametrize("size", [8, 4096, 5000])
def test_a_byte_beyond_the_fence_ends_the_process(size, at_end):
    array = guard.Fence().array(np.zeros(size, np.uint8), at_end)
    start = array.ctypes.data
    assert ended(lambda: ctypes.memset(start, 1, size)) == 0
    beyond = start + size if at_end else start - 1
    assert ended(lambda: ctypes.memset(beyond, 1, 1)) == signal.SIGSEGV
    assert ended(lambda: ctypes.string_at(beyond, 1)) == signal.SIGSEGV


def test_scratch_is_fenced_but_for_a_byte():
    fence = guard.Fence()
    memory, begin = fence.block(640 + 64 - 1, True)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + begin
    scratch = (address + 63) // 64 * 64  # as generated code finds it
    assert ended(lambda: ctypes.memset(scratch, 1, 640)) == 0
    assert ended(lambda: ctypes.memset(scratch, 1, 642)) == signal.SIGSEGV

"""Machine code of every kind of kernel, run once with forbidden memory on both sides of every array.

    python tests/attack/guard.py                  every quantity of every kind of mechanism, single and double
    python tests/attack/guard.py --mechanisms demo_arm --tasks mass_matrix

Arrays end where a page begins that no one may touch, or begin where one ends, and so does scratch memory, which is all
taken from the heap here. A read or write beyond an end ends the process at once; so each kernel has one of its own.
Counts of states are those at which loops change: none, one, around the width of vectors, several blocks. The calls are
those of single states, of batches, bound ones, those into given outputs, and those of threads; answers are compared
with those from ordinary memory to the bit.
"""

from __future__ import annotations

import argparse
import ctypes
import mmap
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dalembert as da
from dalembert.dynamics.catalogue import (
    CONSTRAINT_QUANTITIES,
    CONTACT_QUANTITIES,
    QUANTITIES,
    TASK_QUANTITIES,
    quantity_of,
)
from dalembert.errors import DalembertError
from dalembert.native.llvm import engine, loop
from dalembert.simulation import STEPPERS

PAGE = mmap.PAGESIZE
COUNTS = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 67)
"""States of a batch: around the widths of vectors, 2 to 16, and their multiples."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Fence:
    """Blocks of memory between pages that may not be touched, for the life of the process."""

    def __init__(self) -> None:
        self.kept: list[mmap.mmap] = []
        self.scratch: dict[int, mmap.mmap] = {}

    def block(self, size: int, at_end: bool) -> tuple[mmap.mmap, int]:
        """Memory of that size, and where in it the block begins: flush with its end, or with its beginning."""
        pages = -(-max(size, 1) // PAGE)
        memory = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for forbidden in (start, start + (pages + 1) * PAGE):
            if _libc.mprotect(forbidden, PAGE, 0):
                raise OSError(ctypes.get_errno(), "mprotect")
        return memory, PAGE + (pages * PAGE - size if at_end else 0)

    def array(self, like: np.ndarray, at_end: bool) -> np.ndarray:
        """A copy of an array, fenced in."""
        memory, begin = self.block(like.nbytes, at_end)
        self.kept.append(memory)
        fenced = np.frombuffer(memory, like.dtype, like.size, begin).reshape(like.shape)
        fenced[...] = like
        return fenced

    def take_heap(self) -> None:
        """Give generated code scratch memory that ends at a forbidden page, but for the one byte of alignment.

        It asks for 64 bytes more than it needs and begins at a multiple of 64.
        """
        word = ctypes.c_size_t

        def allocate(size: int) -> int:
            memory, begin = self.block(size - 1, True)
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + begin
            self.scratch[address] = memory
            return address

        def release(address: int) -> None:
            if self.scratch.pop(address, None) is None:
                os.write(2, b"memory is given back that was not taken\n")
                os.abort()

        self.functions = ctypes.CFUNCTYPE(word, word)(allocate), ctypes.CFUNCTYPE(None, word)(release)
        for name, function in zip(("malloc", "free"), self.functions):
            engine.define_symbol(name, ctypes.cast(function, ctypes.c_void_p).value or 0)
        loop.STACK_BYTES = 0


def check_quantity(mechanism: da.Mechanism, name: str, dtype: str, heap: bool) -> int:
    """All calls of one kernel; returns how many."""
    fence = Fence()
    if heap:
        fence.take_heap()
    quantity = quantity_of(name, bool(mechanism.constraints), False)
    assert quantity is not None
    options: dict[str, Any] = {"frame": mechanism.bodies[-1].name} if "frame" in quantity.options else {}
    kernel = da.Dynamics(mechanism).kernel(name, **options)
    rng = np.random.default_rng(0)
    most = max(COUNTS)
    q, v, a = mechanism.random_state(rng, batch=(most,))
    given = {"q": q, "v": v, "a": a, "tau": a, "h": np.full(most, 1e-3)}
    inputs = [
        given[port.name] if port.name in given else rng.normal(size=(most, *port.shape)) for port in kernel.inputs
    ]
    inputs = [x.astype(dtype) for x in inputs]
    calls = 0

    def equal(found: Any, wanted: Any, what: str) -> None:
        nonlocal calls
        calls += 1
        for y, z in zip(as_tuple(found), as_tuple(wanted), strict=True):
            if not np.array_equal(y, z, equal_nan=True):
                raise AssertionError(f"{what}: other numbers than in ordinary memory")

    for at_end in (True, False):
        for count in COUNTS:
            plain = [x[:count].copy() for x in inputs]
            wanted = kernel(*plain, threads=1)
            fenced = [fence.array(x, at_end) for x in plain]
            equal(kernel(*fenced, threads=1), wanted, f"{count} states")
            out = tuple(fence.array(np.zeros_like(y), at_end) for y in as_tuple(wanted))
            given_out = out if isinstance(wanted, tuple) else out[0]
            kernel(*fenced, out=given_out, threads=1)
            equal(out, wanted, f"{count} states, out=")
            if not heap:  # the functions above are Python's, one thread at a time
                kernel(*fenced, out=given_out, threads=2)
                equal(out, wanted, f"{count} states, threads")
        alone = [fence.array(x[3], at_end) for x in inputs]
        wanted = kernel(*(x[3] for x in inputs))
        equal(kernel(*alone), wanted, "a single state")
        out = tuple(fence.array(np.zeros_like(y), at_end) for y in as_tuple(wanted))
        kernel.bind(*alone, out=out if isinstance(wanted, tuple) else out[0])()
        equal(out, wanted, "a bound call")
    many = [np.concatenate([x] * 30) for x in inputs]  # several blocks for every thread
    if not heap:
        equal(kernel(*(fence.array(x, True) for x in many), threads=2), kernel(*many, threads=1), "blocks of threads")
    return calls


def check_motion(mechanism: da.Mechanism, method: str, dtype: str, heap: bool) -> int:
    """A recurrence, called as rollouts call it."""
    from dalembert.native.recurrence import Recurrence

    fence = Fence()
    if heap:
        fence.take_heap()
    run, calls = Recurrence.run, 0

    def fenced_run(self: Recurrence, *groups: Any, **options: Any) -> Any:
        """Every array of the call fenced in; what is written is copied back."""
        nonlocal calls
        calls += 1
        pairs: list[tuple[np.ndarray, np.ndarray]] = []

        def fenced(x: Any) -> Any:
            if isinstance(x, np.ndarray) and x.flags.c_contiguous:
                pairs.append((x, fence.array(x, calls % 2 == 1)))
                return pairs[-1][1]
            return type(x)(map(fenced, x)) if isinstance(x, (list, tuple)) else x

        found = run(self, *map(fenced, groups), **{name: fenced(x) for name, x in options.items()})
        for x, y in pairs:
            if x.flags.writeable:
                x[...] = y
        return found

    dynamics = da.Dynamics(mechanism, dtype=dtype)
    for count in (1, 3, 17):
        q, v, _ = mechanism.random_state(np.random.default_rng(0), batch=(count,))
        if mechanism.constraints:
            q, v = np.tile(dynamics.assemble(mechanism.neutral), (count, 1)), 0 * v
        wanted = da.rollout(dynamics, q, v, 4, 1e-4, method=method, record=True, threads=1)
        Recurrence.run = fenced_run  # type: ignore[method-assign]
        for _ in range(2):
            found = da.rollout(dynamics, q, v, 4, 1e-4, method=method, record=True, threads=1)
            if not np.array_equal(found.final_q, wanted.final_q, equal_nan=True):
                raise AssertionError(f"{count} motions: other numbers than in ordinary memory")
        Recurrence.run = run  # type: ignore[method-assign]
    if not calls:
        raise AssertionError("no recurrence was called")
    return calls


def as_tuple(found: Any) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else (np.asarray(found),)


def satellite() -> da.Mechanism:
    """Floats, has a spherical, a prismatic and a helical joint: every kind of coordinate."""
    bodies = [da.Body(name, da.Inertia.box(1.0 + k, (0.3, 0.2, 0.1), (0.1, 0, 0.2))) for k, name in enumerate("abcd")]
    at = da.Transform.from_translation((0.1, 0.2, 0))
    joints = [
        da.Joint("base", "free", "world", "a"), da.Joint("ball", "spherical", "a", "b", at),
        da.Joint("rail", "prismatic", "a", "c", axis=(0.6, 0.8, 0)),
        da.Joint("screw", "helical", "b", "d", axis=(0, 0, 1), pitch=0.1),
    ]  # fmt: skip
    return da.Mechanism("satellite", bodies, joints)


def touching() -> da.Mechanism:
    """Contacts of rigid shapes with the ground."""
    shapes = [da.Shape.sphere(0.3)], [da.Shape.box(0.2, 0.1, 0.1)]
    bodies = [da.Body(name, da.Inertia.box(1.0, (0.3, 0.2, 0.1)), collisions=s) for name, s in zip("ab", shapes)]
    joints = [da.Joint("base", "free", "world", "a"), da.Joint("arm", "revolute", "a", "b", axis=(0, 1, 0))]
    return da.contacts(da.Mechanism("touching", bodies, joints), 0.5).mechanism


def mechanisms() -> dict[str, Callable[[], da.Mechanism]]:
    """Small and large, fixed and floating, in chains, trees and loops."""
    found: dict[str, Callable[[], da.Mechanism]] = {
        "pendulum": lambda: da.load("double_pendulum", parameters="default"),
        "demo_arm": lambda: da.load("demo_arm"),
        "satellite": satellite,
        "touching": touching,
        "tree": lambda: large(12),
        "four_bar": lambda: da.load("four_bar", parameters="default"),
    }
    return found


def large(count: int) -> da.Mechanism:
    """A tree of many joints: its scratch does not fit into registers."""
    rng = np.random.default_rng(0)
    axes = rng.normal(size=(count, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    bodies = [da.Body(f"b{k}", da.Inertia.box(1.0, (0.3, 0.2, 0.1), rng.normal(size=3) / 10)) for k in range(count)]
    joints = [
        da.Joint(
            f"j{k}", "revolute", f"b{(k - 1) // 2}" if k else "world", f"b{k}",
            da.Transform.from_translation(rng.normal(size=3) / 5), axis=axes[k],
        )
        for k in range(count)
    ]  # fmt: skip
    return da.Mechanism("tree", bodies, joints)


def cases(names: list[str], tasks: list[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Every kind of kernel once, with scratch from the stack or from the heap."""
    for number, task in enumerate(tasks):
        for place, name in enumerate(names):
            if (task in CONTACT_QUANTITIES) != (name == "touching") or (
                task in CONSTRAINT_QUANTITIES and name == "tree"
            ):
                continue
            dtype = ("float64", "float32")[(number + place) % 2]
            yield name, task, dtype, (number + place) % 4 >= 2


def check(name: str, task: str, dtype: str, heap: bool) -> int:
    """One case; returns the number of calls."""
    warnings.simplefilter("ignore")
    mechanism = mechanisms()[name]()
    if task.startswith("rollout/"):
        return check_motion(mechanism, task.partition("/")[2], dtype, heap)
    return check_quantity(mechanism, task, dtype, heap)


TASKS = [
    *QUANTITIES, *TASK_QUANTITIES, *CONSTRAINT_QUANTITIES, *CONTACT_QUANTITIES,
    *(f"rollout/{method}" for method in STEPPERS),
]  # fmt: skip


def outcome(case: tuple[str, str, str, bool], limit: float = 300) -> tuple[str, int, str]:
    """What becomes of a case in a process of its own: a word, the number of calls, and what was said.

    Args:
        case: one of :func:`cases`.
        limit: seconds of processor time.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 10))
        signal.alarm(30 * int(limit))  # what waits for ever
        said = ""
        status = 3
        try:
            said, status = str(check(*case)), 0
        except DalembertError as error:
            said, status = f"{type(error).__name__}: {error}", 2
        except BaseException:
            said, status = traceback.format_exc(), 1
        finally:
            os.write(write, said.encode()[-60000:])
            os._exit(status)
    os.close(write)
    with open(read, encoding="utf-8", errors="replace") as pipe:
        said = pipe.read()
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        number = os.WTERMSIG(ended)
        long = number in (signal.SIGALRM, signal.SIGXCPU)
        return ("TOO LONG" if long else "ABORT"), 0, signal.Signals(number).name
    word = {0: "right", 2: "refused"}.get(os.WEXITSTATUS(ended), "WRONG")
    return word, int(said) if word == "right" else 0, said


def run(
    names: list[str], tasks: list[str], seconds: float = float("inf"), seed: int | None = None
) -> tuple[str, list[str]]:
    """Figures in a line, and what went wrong."""
    end, count, calls, bad = time.monotonic() + seconds, Counter[str](), 0, []
    chosen = list(cases(names, tasks))
    if seed is not None:
        random.Random(seed).shuffle(chosen)
    for case in chosen:
        if time.monotonic() > end:
            break
        word, number, said = outcome(case)
        count[word] += 1
        calls += number
        if word.isupper():
            bad.append(f"{word} {' '.join(map(str, case))}: {said.strip().splitlines()[-1] if said else ''}")
            print(bad[-1], flush=True)
    words = ", ".join(f"{number} {word}" for word, number in sorted(count.items()))
    return f"{count.total()} kernels between forbidden pages, {calls} calls: {words}", bad


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanisms", nargs="*", default=list(mechanisms()))
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=None, help="for an order of chance")
    options = parser.parse_args()
    figures, bad = run(options.mechanisms, options.tasks, options.seconds, options.seed)
    print(figures)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())

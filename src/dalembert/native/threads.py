"""Large batches on all cores.

The states are divided among threads, which run at the same time because compiled loops do not hold the interpreter
lock. Unless a call says how many, the environment variable ``DALEMBERT_THREADS`` does; by default it
is the number of cores this process may use.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_pool: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def default_threads() -> int:
    """Number of threads for large batches."""
    setting = os.environ.get("DALEMBERT_THREADS")
    if setting:
        try:
            count = int(setting)
        except ValueError:
            count = 0
        if count < 1:
            raise ArgumentError(
                f"the environment variable DALEMBERT_THREADS is {setting!r}; it must be a positive integer"
            )
        return count
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _forget() -> None:
    """A forked child has inherited a pool without its threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):  # before the lock is first taken: a child may be forked meanwhile
    os.register_at_fork(after_in_child=_forget)


def _get_pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="dalembert")
        return _pool


def spread(
    loop: Callable[..., object],
    arrays: Sequence[np.ndarray],
    results: Sequence[np.ndarray],
    batch: tuple[int, ...],
    threads: int,
    least: int,
) -> None:
    """Divide a batch among threads, along its longest dimension, in a few pieces for each.

    Args:
        loop: called with pieces of the arrays, and with those of the results as ``out``.
        arrays: the inputs; all of them have the dimensions of the batch first.
        results: the outputs, likewise.
        threads: number of threads to use.
        least: number of states that are worth a piece, about.
    """
    axis = batch.index(max(batch))
    pieces = max(2, min(4 * threads, batch[axis], 2 * math.prod(batch) // least))
    cuts = [batch[axis] * k // pieces for k in range(pieces + 1)]

    def job(start: int, stop: int) -> Callable[[], object]:
        part = (*(slice(None),) * axis, slice(start, stop))
        return lambda: loop(*(x[part] for x in arrays), out=tuple(y[part] for y in results))

    run_all([job(start, stop) for start, stop in pairwise(cuts)], threads)


def run_all(jobs: list[Callable[[], object]], threads: int) -> None:
    """Run jobs, this thread being one of those that work. Returns or raises only when none is running any more.

    Args:
        jobs: what to run, in any order.
        threads: number of threads to use.
    """
    queue: Iterator[Callable[[], object]] = iter(jobs)
    changed = threading.Condition()
    helping, over = 0, False
    failures: list[BaseException] = []

    def work() -> None:
        while True:
            with changed:
                job = next(queue, None)
            if job is None:
                return
            job()

    def assist() -> None:
        nonlocal helping
        with changed:
            if over:
                return
            helping += 1
        try:
            work()
        except BaseException as failure:
            failures.append(failure)
        finally:
            with changed:
                helping -= 1
                changed.notify_all()

    # While a script ends, its own threads may still call, but no new ones start: this one then does it all.
    with contextlib.suppress(RuntimeError):
        for _ in range(min(threads, len(jobs)) - 1):
            _get_pool().submit(assist)
    try:
        work()
    finally:
        with changed:
            over = True
            for _ in queue:  # after an error or an interrupt, start nothing more
                pass
            changed.wait_for(lambda: not helping)
    if failures:
        raise failures[0]

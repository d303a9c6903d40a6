"""Large batches on all cores.

The states are divided among threads, which run at the same time because compiled loops do not hold the interpreter
lock. How many, unless a call says otherwise, is told by the environment variable ``DALEMBERT_THREADS``; by default it
is the number of cores this process may use.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ..errors import ArgumentError

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


def _get_pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="dalembert")
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_forget)
        return _pool


def run_all(jobs: list[Callable[[], object]], threads: int) -> None:
    """Run jobs, this thread being one of those that work. Returns or raises only when none is running any more.

    Args:
        jobs: what to run, in any order.
        threads: number of threads to use.
    """
    from concurrent.futures import wait

    queue: Iterator[Callable[[], object]] = iter(jobs)
    guard = threading.Lock()

    def work() -> None:
        while True:
            with guard:
                job = next(queue, None)
            if job is None:
                return
            job()

    helpers = [_get_pool().submit(work) for _ in range(min(threads, len(jobs)) - 1)]
    try:
        work()
    finally:
        with guard:
            for _ in queue:  # after an error or an interrupt, start nothing more
                pass
        wait(helpers)
    for helper in helpers:
        helper.result()

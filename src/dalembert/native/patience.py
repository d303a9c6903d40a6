"""A sign of life while code is made for longer than two seconds.

On a terminal it is a line on standard error, which says what is being made and, in the end, how long it took; elsewhere
the same goes to the log ``dalembert.compilation``, level INFO.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds of silence before the first sign."""

_announced = threading.local()


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Work that may take long. Within other such work it is silent: that has a sign of its own.

    Args:
        what: name of the work, such as "kernel mass_matrix".
    """
    if getattr(_announced, "inside", False):
        yield
        return
    _announced.inside = True
    begin = time.perf_counter()
    timer = threading.Timer(PATIENCE, _say, [f"dalembert: compiling {what} ..."])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _announced.inside = False
        if (took := time.perf_counter() - begin) > PATIENCE:
            _say(f"dalembert: compiled {what} in {took:.1f} s")


def _say(line: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)
    else:
        logging.getLogger("dalembert.compilation").info(line)

"""One lock for everything that traces or compiles.

LLVM is asked by one thread at a time. A fork waits for the lock: a child made in the middle of a compilation would
inherit a lock that nobody releases, and a compiler in disorder.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.RLock()
_known_to_forks = False


@contextmanager
def compiling() -> Iterator[None]:
    """Nobody else traces or compiles, and no process is forked, within this context; it may be entered repeatedly."""
    global _known_to_forks
    with _lock:
        if not _known_to_forks and hasattr(os, "register_at_fork"):
            _known_to_forks = True
            os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
        yield

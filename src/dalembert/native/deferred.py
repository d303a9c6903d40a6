"""Programs that are made when they are first needed, and the lock under which everything is traced and compiled.

Only one thread at a time calls LLVM. A fork waits for the lock: a child made in the middle of a compilation would
inherit a lock that nobody releases, and a compiler in disorder.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dalembert.errors import CompilerError
from dalembert.native.patience import announced
from dalembert.tracing.program import Program

_lock = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@contextmanager
def compiling() -> Iterator[None]:
    """No other thread traces or compiles, and no process is forked, within this context, which may be nested."""
    with _lock:
        yield


class Deferred:
    """A program, or a function that makes it, which is called once.

    Args:
        owner: whose program it is, for the message.
        given: the program or the function.
        check: raises if the program does not fit its owner; called as soon as there is one.
    """

    def __init__(
        self,
        owner: str,
        given: Program | Callable[[], Program],
        check: Callable[[Program], None] = lambda program: None,
    ):
        self.owner, self._given, self._check = owner, given, check
        if isinstance(given, Program):
            check(given)
        elif not callable(given):
            raise CompilerError(f"{owner} is given a {type(given).__name__} instead of a program or a function")

    def get(self) -> Program:
        """The program."""
        with compiling():
            if not isinstance(self._given, Program):
                with announced(self.owner), uncollected():
                    made = self._given()
                if not isinstance(made, Program):
                    raise CompilerError(f"the function of {self.owner} gives a {type(made).__name__}, not a program")
                self._check(made)
                self._given = made
            return self._given


@contextmanager
def uncollected() -> Iterator[None]:
    """Python's search for cycles of garbage rests within this context.

    Tracing, and planning what becomes code, make hundreds of thousands of small objects, all of them in use; looking
    through them again and again takes up to a third of the time. LLVM is left alone: what it leaves behind is better
    cleared away at once.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()

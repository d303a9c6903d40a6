"""A line that shows how far long work has come: on standard error, only on a terminal, only if it is long."""

from __future__ import annotations

import sys
import time
from types import TracebackType

PATIENCE = 1.0
"""Seconds of silence before the first sign."""

INTERVAL = 0.1
"""Seconds between signs."""


class Progress:
    """Context manager around the work.

    Args:
        what: name of the work.
        show: true always, false never, None on a terminal only.
    """

    def __init__(self, what: str, show: bool | None = None):
        self.what = what
        self.shown = sys.stderr.isatty() if show is None else bool(show)
        self._begin = time.perf_counter()
        self._next = self._begin + PATIENCE
        self._length = 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._length:
            sys.stderr.write("\r" + " " * self._length + "\r")
            sys.stderr.flush()

    def update(self, fraction: float, note: str = "") -> None:
        """Say how much is done.

        Args:
            fraction: of the work, 0 to 1.
            note: a few words more.
        """
        if not self.shown:
            return
        now = time.perf_counter()
        if now < self._next:
            return
        self._next = now + INTERVAL
        elapsed = now - self._begin
        left = f", {elapsed * (1 - fraction) / fraction:.0f} s left" if fraction > 0 else ""
        full = round(20 * min(max(fraction, 0), 1))
        line = (
            f"{self.what} [{'#' * full}{'.' * (20 - full)}] {100 * fraction:3.0f} %{left}{'  ' + note if note else ''}"
        )
        sys.stderr.write("\r" + line.ljust(self._length))
        sys.stderr.flush()
        self._length = max(self._length, len(line))

"""What commands write: text, tables and JSON; colour only where somebody looks at it."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from dalembert.text.layout import filled, printable

STYLES = {"bold": "1", "dim": "2", "good": "32", "bad": "1;31", "warning": "33", "title": "1;36"}
"""ANSI codes."""

LOOKALIKES = str.maketrans({"└": "`", "├": "|", "│": "|", "─": "-", "…": "~", "±": "+/-"})
"""Signs of our own -> what stands for them where the encoding does not have them."""


class Cell(NamedTuple):
    """A cell of a table with a style of its own."""

    text: str
    style: str = ""


class Terminal:
    """Standard output and standard error.

    Text may come from files and arguments: control characters in it are shown instead of obeyed, and characters that
    the encoding does not have are escaped, or replaced by others that look like them.
    """

    def __init__(self) -> None:
        # Python has None for a stream that was closed before it started, as by ``>&-``; nobody reads what goes there.
        self.out, self.err = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
        self._working = False

    def say(self, text: str = "", style: str = "") -> None:
        """A line, or several, on standard output."""
        self._write(self.out, text, style)

    def title(self, text: str) -> None:
        """The heading of a section, after an empty line."""
        self.say()
        self.say(text, "title")

    def warn(self, text: str) -> None:
        """A line on standard error."""
        self._write(self.err, f"warning: {text}", "warning")

    def error(self, text: str) -> None:
        """A message on standard error."""
        self._write(self.err, f"error: {text}", "bad")

    def progress(self, text: str = "") -> None:
        """What is being worked on, overwritten by what comes next; only on a terminal."""
        if (text or self._working) and _is_terminal(self.err):
            self._working = bool(text)
            self.err.write(f"\r\x1b[K{_fitting(self.err, text)[:79]}")
            self.err.flush()

    def json(self, data: Any) -> None:
        """Data for machines; numbers that JSON does not have become null."""
        self.say(json.dumps(_plain(data), indent=2, allow_nan=False))

    def table(self, titles: Sequence[str], rows: Iterable[Sequence[str | Cell]], left: int = 1) -> None:
        """Aligned columns, without those that are empty in all rows, and without titles if none is given.

        Args:
            titles: one for each column.
            left: how many columns, from the first one on, hold text and are aligned left; the others hold numbers.
        """
        lines = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
        used = [k for k in range(len(titles)) if any(line[k].text for line in lines)]
        if not used:
            return
        left = sum(k < left for k in used)
        if any(titles):
            lines.insert(0, [Cell(title, "bold") for title in titles])
        shown = [
            [Cell(_fitting(self.out, line[k].text).replace("\n", " "), line[k].style) for k in used] for line in lines
        ]
        self.progress()
        for line, cells in zip(shown, filled([[cell.text for cell in line] for line in shown], left)):
            coloured = [
                room.replace(text, self._styled(self.out, text, style)) if text else room
                for room, (text, style) in zip(cells, line)
            ]
            self.out.write(("  " + "  ".join(coloured)).rstrip() + "\n")

    def flush(self) -> None:
        """Write what is still held back."""
        self.progress()
        self.out.flush()
        self.err.flush()

    def _write(self, stream: TextIO, text: str, style: str) -> None:
        self.progress()
        lines = _fitting(stream, text).split("\n")
        stream.write("".join(self._styled(stream, line, style) + "\n" for line in lines))

    def _styled(self, stream: TextIO, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text and _has_colour(stream) else text


def _fitting(stream: TextIO, text: str) -> str:
    """The text as the stream can show it."""
    shown, encoding = printable(text, keep="\n"), getattr(stream, "encoding", None) or "utf-8"
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        shown = shown.translate(LOOKALIKES).encode(encoding, "backslashreplace").decode(encoding)
    return shown


def duration(seconds: float) -> str:
    """A duration with three digits and a unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def _has_colour(stream: TextIO) -> bool:
    return _is_terminal(stream) and not os.environ.get("NO_COLOR")


def _plain(data: Any) -> Any:
    """Data in the types of JSON; symbols as text."""
    if data is None or isinstance(data, (bool, str)):
        return data
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if hasattr(data, "tolist"):  # NumPy
        return _plain(data.tolist())
    if isinstance(data, Iterable):
        return [_plain(item) for item in data]
    if isinstance(data, int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    return str(data)

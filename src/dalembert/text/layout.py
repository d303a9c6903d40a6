"""Tables and paragraphs of a page of text: what fits, what is shortened, what is wrapped."""

from __future__ import annotations

import shutil
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

WIDTH = 120
"""Columns of characters a table may take."""

NARROWEST_PAGE = 40
"""Narrower terminals break lines themselves."""

NARROWEST = 6
"""Columns that are too wide for the page are not shortened beyond this."""

MATRIX = 10
"""Columns of numbers at most."""

TEXT = 48
"""Characters at least for a column of sentences."""


def page_width() -> int:
    """Columns a table may take here: those of the terminal, if there is one and it is narrower than the page."""
    return min(WIDTH, max(NARROWEST_PAGE, shutil.get_terminal_size((WIDTH, 24)).columns))


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words: ``1 body``, ``2 bodies``, ``0 joints``.

    Args:
        number: how many there are.
        one: what a single one is called.
        many: what several are called; with an s if left out.
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def filled(rows: Sequence[Sequence[str]], left: int) -> list[list[str]]:
    """The cells of a table, filled with blanks to the width of their columns.

    Args:
        left: how many columns, from the first one on, hold text and are aligned left; the others hold numbers.
    """
    widths = [max(map(text_width, column)) for column in zip(*rows)]
    return [[_padded(cell, width, k >= left) for k, (cell, width) in enumerate(zip(row, widths))] for row in rows]


def aligned(rows: Sequence[Sequence[str]], left: int = 1, indent: str = "") -> list[str]:
    """Lines of a table, its columns two blanks apart.

    Args:
        left: how many columns, from the first one on, are aligned left.
        indent: what every line begins with.
    """
    return [(indent + "  ".join(row)).rstrip() for row in filled(rows, left)]


def columns(titles: Sequence[str], rows: Sequence[Sequence[str]], page: int = WIDTH) -> list[str]:
    """Aligned columns without the empty ones; the widest are shortened until a line fits the page."""
    used = [k for k in range(len(titles)) if any(row[k] for row in rows)]
    cells = [[printable(row[k]) for k in used] for row in ([*titles], *rows)]
    widths = [max(text_width(row[k]) for row in cells) for k in range(len(used))]
    while sum(widths) + 2 * (len(widths) - 1) > page and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    lines = aligned([[shortened(cell, width) for cell, width in zip(row, widths)] for row in cells], len(used))
    return [lines[0], "-" * min(page, sum(widths) + 2 * (len(widths) - 1)), *lines[1:]]


def matrix_lines(name: str, matrix: Any, rows: Sequence[str], titles: Sequence[str]) -> list[str]:
    """A matrix of numbers with names of its rows and columns; of one that no page holds, how large it is."""
    if len(titles) > MATRIX:
        return [f"{name}: {len(rows)} rows, {len(titles)} columns"]
    return columns((name, *titles), [(row, *(f"{x:.5g}" for x in line)) for row, line in zip(rows, matrix)])


def columns_with_text(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Aligned columns, the last of which holds sentences: they are wrapped, never shortened."""
    front = columns(titles[:-1], [row[:-1] for row in rows], WIDTH - TEXT - 2)
    left = max(map(text_width, front)) + 2
    texts = [[titles[-1]], None, *(wrapped(printable(row[-1]), rest="", page=WIDTH - left) or [""] for row in rows)]
    right = max(text_width(line) for text in texts if text for line in text)
    lines = []
    for line, text in zip(front, texts):
        if text is None:
            lines.append("-" * (left + right))
            continue
        lines.append(line + " " * (left - text_width(line)) + text[0])
        lines += (" " * left + rest for rest in text[1:])
    return [line.rstrip() for line in lines]


def _padded(cell: str, width: int, right: bool) -> str:
    blanks = " " * (width - text_width(cell))
    return blanks + cell if right else cell + blanks


def shortened(cell: str, width: int) -> str:
    """A text that fits into ``width`` columns: its middle gives way to a dot-dot-dot, its leading blanks stay."""
    if text_width(cell) <= width:
        return cell
    word = cell.lstrip(" ")
    indent = " " * min(len(cell) - len(word), max(0, width - NARROWEST))
    room = width - len(indent) - 1
    tail = word[len(word) - room // 2 :] if room > 1 else ""
    head = word[: room - len(tail)]
    while head and text_width(head) + text_width(tail) > room:
        head, tail = head[:-1], tail[1:]
    return f"{indent}{head}…{tail}"


def text_width(cell: str) -> int:
    """Columns a terminal uses: wide East Asian characters take two, combining marks none."""
    if cell.isascii():
        return len(cell)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def printable(text: str, keep: str = "") -> str:
    """A text whose characters all show; control characters, and those that turn the direction of reading, as escapes.

    Args:
        keep: control characters that stay as they are, such as new lines.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def wrapped(sentence: str, first: str = "", rest: str = "  ", page: int = WIDTH) -> list[str]:
    """Lines of a sentence."""
    return textwrap.wrap(sentence, page, initial_indent=first, subsequent_indent=rest)

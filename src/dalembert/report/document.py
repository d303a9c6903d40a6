"""A document as plain data: what the report says, without a word about HTML, LaTeX or Markdown.

Text may come from anybody's file and means nothing but itself; the writers escape it. Mathematics is LaTeX that was
made by :mod:`dalembert.typesetting.notation` or is our own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dalembert.formulations.citations import CITATIONS
from dalembert.report.drawing import Drawing


@dataclass(frozen=True)
class Math:
    """Mathematics within a line, or in a cell of a table.

    Args:
        latex: the formula.
    """

    latex: str


@dataclass(frozen=True)
class Code:
    """Something to be typed.

    Args:
        text: as it is typed.
    """

    text: str


@dataclass(frozen=True)
class Cite:
    """A reference to the list of sources.

    Args:
        key: one of :data:`dalembert.formulations.citations.CITATIONS`.
    """

    key: str


Inline = str | Math | Code | Cite
Line = tuple[Inline, ...]


@dataclass(frozen=True)
class Heading:
    """Starts a section (level 1) or a subsection (level 2).

    Args:
        text: the headline.
        level: 1 or 2.
    """

    text: str
    level: int = 1


@dataclass(frozen=True)
class Paragraph:
    """Running text.

    Args:
        parts: text, mathematics and references, one after the other.
        kind: ``plain``, ``note`` for small print, ``good`` or ``bad`` for a verdict.
    """

    parts: Line
    kind: str = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list.

    Args:
        items: each a line.
    """

    items: tuple[Line, ...]


@dataclass(frozen=True)
class Table:
    """A table.

    Args:
        head: titles of the columns.
        rows: cells, as many as titles.
        caption: what it shows.
        numbers: columns to be set flush right.
    """

    head: tuple[Line, ...]
    rows: tuple[tuple[Line, ...], ...]
    caption: str = ""
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Display:
    """Displayed mathematics, one or many lines, aligned between left and right.

    Args:
        rows: pairs of LaTeX; the right one begins with the relation, if there is one.
    """

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sequence:
    """Many short definitions, one after the other.

    Args:
        rows: pairs of LaTeX; the right one begins with the relation.
    """

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """A drawing.

    Args:
        drawing: lines, circles and labels.
        caption: what it shows.
        outline: the same in words, one line per item, for media without pictures.
    """

    drawing: Drawing
    caption: Line
    outline: tuple[str, ...] = ()


@dataclass(frozen=True)
class References:
    """The list of sources.

    Args:
        keys: of :data:`dalembert.formulations.citations.CITATIONS`, in order.
    """

    keys: tuple[str, ...]


Block = Heading | Paragraph | Bullets | Table | Display | Sequence | Figure | References


@dataclass(frozen=True)
class Document:
    """A whole document.

    Args:
        title: headline.
        subtitle: one line below.
        blocks: everything else, in order.
    """

    title: str
    subtitle: str
    blocks: tuple[Block, ...]


_KEY = re.compile(rf"\b({'|'.join(CITATIONS)})\b")


def cited(text: str) -> Line:
    """Text in which the short names of sources become references.

    Args:
        text: plain text, such as ``PARSA (35)``.
    """
    return tuple(Cite(part) if part in CITATIONS else part for part in _KEY.split(text) if part)


def table(
    head: Collection[Inline], rows: Iterable[Collection[Inline | Line]], caption: str = "", numbers: Iterable[int] = ()
) -> Table:
    """A table without the columns that are empty.

    Args:
        head: titles.
        rows: cells, each one inline or a line of them.
        caption: what it shows.
        numbers: columns to be set flush right.
    """
    titles = tuple(head)
    lines = [[cell if isinstance(cell, tuple) else (cell,) for cell in row] for row in rows]
    used = [k for k in range(len(titles)) if any(any(row[k]) for row in lines)]
    right = frozenset(used.index(k) for k in numbers if k in used)
    return Table(tuple((titles[k],) for k in used), tuple(tuple(row[k] for k in used) for row in lines), caption, right)


def listed(items: Iterable[Inline]) -> Line:
    """Items with commas between.

    Args:
        items: what to list.
    """
    return tuple(part for k, item in enumerate(items) for part in ((", ", item) if k else (item,)))


def numbered(blocks: Iterable[Block]) -> Iterator[tuple[Block, int]]:
    """Blocks with their number: of a section, of a displayed equation; 0 for everything else.

    Args:
        blocks: of a document.
    """
    sections = displays = 0
    for block in blocks:
        if isinstance(block, Heading) and block.level == 1:
            sections += 1
            yield block, sections
        elif isinstance(block, Display):
            displays += 1
            yield block, displays
        else:
            yield block, 0

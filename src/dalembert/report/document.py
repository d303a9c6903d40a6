"""A document as plain data, and what all formats have in common.

The data say nothing of HTML, LaTeX or Markdown; a ``Writer`` has one method for every block and part of a line.

Text may come from any file and is only text; the writers escape it. Mathematics is LaTeX that was
made by :mod:`dalembert.typesetting.notation` or is our own.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dalembert.formulations.equations import CITATIONS
from dalembert.report.drawing import Drawing


@dataclass(frozen=True)
class Math:
    """Mathematics within a line, or in a cell of a table."""

    latex: str


@dataclass(frozen=True)
class Code:
    """Something to be typed."""

    text: str


@dataclass(frozen=True)
class Cite:
    """A reference to the list of sources.

    Args:
        key: one of :data:`dalembert.formulations.equations.CITATIONS`.
    """

    key: str


Inline = str | Math | Code | Cite
Line = tuple[Inline, ...]


@dataclass(frozen=True)
class Heading:
    """Starts a section (level 1) or a subsection (level 2).

    Args:
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
        outline: the same in words, one line per item, for media without pictures.
    """

    drawing: Drawing
    caption: Line
    outline: tuple[str, ...] = ()


@dataclass(frozen=True)
class References:
    """The list of sources.

    Args:
        keys: of :data:`dalembert.formulations.equations.CITATIONS`, in order.
    """

    keys: tuple[str, ...]


Block = Heading | Paragraph | Bullets | Table | Display | Sequence | Figure | References


@dataclass(frozen=True)
class Document:
    """A whole document.

    Args:
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
        rows: cells, each one inline or a line of them.
        numbers: columns to be set flush right.
    """
    titles = tuple(head)
    lines = [[cell if isinstance(cell, tuple) else (cell,) for cell in row] for row in rows]
    used = [k for k in range(len(titles)) if any(any(row[k]) for row in lines)]
    right = frozenset(used.index(k) for k in numbers if k in used)
    return Table(tuple((titles[k],) for k in used), tuple(tuple(row[k] for k in used) for row in lines), caption, right)


def listed(items: Iterable[Inline]) -> Line:
    """Items with commas between."""
    return tuple(part for k, item in enumerate(items) for part in ((", ", item) if k else (item,)))


def numbered(blocks: Iterable[Block]) -> Iterator[tuple[Block, int]]:
    """Blocks with their number: of a section, of a displayed equation; 0 for everything else."""
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


# ------------------------------------------------------------------------------------------------------------- writers


Pairs = tuple[tuple[str, str], ...]
"""Mathematics on several lines: left and right side of each."""


class Writer(ABC):
    """Writes the blocks of a document in one format; text is escaped by :meth:`text`, and only there."""

    def blocks(self, document: Document) -> Iterator[str]:
        """All blocks, in order."""
        for block, number in numbered(document.blocks):
            yield self._block(block, number)

    def _block(self, block: Block, number: int) -> str:
        match block:
            case Heading(text, level):
                return self.heading(self.text(text), level, number)
            case Paragraph():
                return self.paragraph(block)
            case Bullets(items):
                return self.bullets([self.line(item) for item in items])
            case Table():
                return self.table(block)
            case Display(rows):
                return self.display(rows, number)
            case Sequence(rows):
                return self.sequence(rows)
            case Figure():
                return self.figure(block)
            case References(keys):
                return self.references([(key, self.text(CITATIONS[key])) for key in keys])

    def line(self, line: Line) -> str:
        """Text, mathematics and references, one after the other."""
        return "".join(self._inline(part) for part in line)

    def _inline(self, part: Inline) -> str:
        match part:
            case Math(latex):
                return self.math(latex)
            case Code(text):
                return self.code(text)
            case Cite(key):
                return self.cite(key)
        return self.text(part)

    @abstractmethod
    def text(self, text: str) -> str:
        """Text from anywhere, escaped."""

    @abstractmethod
    def math(self, latex: str) -> str:
        """A formula within a line."""

    @abstractmethod
    def code(self, text: str) -> str:
        """Something to be typed; not escaped yet."""

    @abstractmethod
    def cite(self, key: str) -> str:
        """A reference to the list of sources."""

    @abstractmethod
    def heading(self, text: str, level: int, number: int) -> str:
        """Of a section (level 1, numbered) or a subsection; the text is escaped already."""

    @abstractmethod
    def paragraph(self, paragraph: Paragraph) -> str:
        """Running text."""

    @abstractmethod
    def bullets(self, items: list[str]) -> str:
        """A list of lines that are written already."""

    @abstractmethod
    def table(self, table: Table) -> str:
        """A table."""

    @abstractmethod
    def display(self, rows: Pairs, number: int) -> str:
        """A numbered formula on lines of its own."""

    @abstractmethod
    def sequence(self, rows: Pairs) -> str:
        """Many short definitions."""

    @abstractmethod
    def figure(self, figure: Figure) -> str:
        """A drawing with its caption."""

    @abstractmethod
    def references(self, entries: list[tuple[str, str]]) -> str:
        """The list of sources: key and escaped text."""

"""What all formats of a document have in common: every block and every part of a line is written by one method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from dalembert.report import document as parts
from dalembert.report.document import Document, Figure, Line, Paragraph, Table, numbered

Pairs = tuple[tuple[str, str], ...]
"""Mathematics on several lines: left and right side of each."""


class Writer(ABC):
    """Writes the blocks of a document in one format; text is escaped by :meth:`text`, and only there."""

    def blocks(self, document: Document) -> Iterator[str]:
        """All blocks, in order.

        Args:
            document: what it says.
        """
        for block, number in numbered(document.blocks):
            yield self._block(block, number)

    def _block(self, block: parts.Block, number: int) -> str:
        match block:
            case parts.Heading(text, level):
                return self.heading(self.text(text), level, number)
            case Paragraph():
                return self.paragraph(block)
            case parts.Bullets(items):
                return self.bullets([self.line(item) for item in items])
            case Table():
                return self.table(block)
            case parts.Display(rows):
                return self.display(rows, number)
            case parts.Sequence(rows):
                return self.sequence(rows)
            case Figure():
                return self.figure(block)
            case parts.References(keys):
                return self.references([(key, self.text(parts.CITATIONS[key])) for key in keys])

    def line(self, line: Line) -> str:
        """Text, mathematics and references, one after the other.

        Args:
            line: the parts.
        """
        return "".join(self._inline(part) for part in line)

    def _inline(self, part: parts.Inline) -> str:
        match part:
            case parts.Math(latex):
                return self.math(latex)
            case parts.Code(text):
                return self.code(text)
            case parts.Cite(key):
                return self.cite(key)
        return self.text(part)

    @abstractmethod
    def text(self, text: str) -> str:
        """Anybody's text, escaped."""

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

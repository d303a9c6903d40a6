"""Tables that terminals and notebooks show, each in its way."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dalembert.text.layout import columns, columns_with_text, printable


@dataclass(frozen=True)
class TextTable:
    """Rows of text under titles; columns without any entry are left out.

    Args:
        sentences: whether the last column holds sentences, which are wrapped and never shortened.
    """

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    sentences: bool = False

    @classmethod
    def of(cls, titles: Sequence[str], rows: Iterable[Sequence[str]], sentences: bool = False) -> TextTable:
        """The table of any sequences.

        Args:
            sentences: see the class.
        """
        return cls(tuple(titles), tuple(tuple(row) for row in rows), sentences)

    def lines(self) -> list[str]:
        """Lines of a page of text."""
        return (columns_with_text if self.sentences else columns)(self.titles, self.rows)

    def html(self) -> str:
        """A table of a page."""
        used = [k for k in range(len(self.titles)) if any(row[k] for row in self.rows)]
        head = "".join(_cell("th", self.titles[k]) for k in used)
        body = "".join(f"<tr>{''.join(_cell('td', row[k]) for k in used)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(tag: str, text: str) -> str:
    word = printable(text.lstrip(" "))
    indent = f";padding-left:{0.5 + 0.6 * (len(text) - len(text.lstrip(' '))):.1f}em" if text[:1] == " " else ""
    return f'<{tag} style="text-align:left{indent}">{html.escape(word)}</{tag}>'


def as_html(parts: Iterable[str | TextTable]) -> str:
    """Sentences and tables, one below the other, for a notebook.

    Args:
        parts: plain text and tables.
    """
    return "\n".join(part.html() if isinstance(part, TextTable) else paragraph(part) for part in parts)


def paragraph(text: str) -> str:
    """A paragraph of a page.

    Args:
        text: plain text, whose lines are kept.
    """
    lines = "<br/>".join(html.escape(printable(line)) for line in text.splitlines())
    return f'<p style="margin:0.3em 0">{lines}</p>'


def folded(summary: str, inside: str) -> str:
    """Something that a click unfolds.

    Args:
        summary: plain text that is always shown.
        inside: HTML.
    """
    return f'<details><summary style="cursor:pointer">{html.escape(printable(summary))}</summary>{inside}</details>'

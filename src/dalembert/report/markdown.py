"""A document as Markdown with formulas between dollar signs, as notebooks and code hosts show them."""

from __future__ import annotations

from dalembert.report.document import Document, Figure, Pairs, Paragraph, Table, Writer
from dalembert.text.layout import printable
from dalembert.typesetting.escape import markdown_text


def to_markdown(document: Document) -> str:
    """The whole file."""
    blocks = MarkdownWriter().blocks(document)
    return "\n\n".join([f"# {markdown_text(document.title)}", markdown_text(document.subtitle), *blocks]) + "\n"


class MarkdownWriter(Writer):
    """Blocks as Markdown."""

    def text(self, text: str) -> str:
        return markdown_text(text)

    def math(self, latex: str) -> str:
        return f"${latex}$"

    def code(self, text: str) -> str:
        fence = "``" if "`" in text else "`"
        return f"{fence}{printable(text)}{fence}"

    def cite(self, key: str) -> str:
        return f"[{key}]"

    def heading(self, text: str, level: int, number: int) -> str:
        return f"## {number}. {text}" if level == 1 else f"### {text}"

    def paragraph(self, paragraph: Paragraph) -> str:
        line = self.line(paragraph.parts)
        return f"**{line}**" if paragraph.kind in ("good", "bad") else line

    def bullets(self, items: list[str]) -> str:
        return "\n".join(f"- {item}" for item in items)

    def table(self, table: Table) -> str:
        rule = ["---:" if k in table.numbers else "---" for k in range(len(table.head))]
        lines = [[self.line(cell) for cell in row] for row in (table.head, *table.rows)]
        caption = f"{markdown_text(table.caption)}\n\n" if table.caption else ""
        return caption + "\n".join(f"| {' | '.join(row)} |" for row in (lines[0], rule, *lines[1:]))

    def display(self, rows: Pairs, number: int) -> str:
        tag = rf" \tag{{{number}}}" if number else ""
        if len(rows) == 1:
            return f"$$\n{' '.join(rows[0]).strip()}{tag}\n$$"
        lines = " \\\\\n".join(f"{left} & {right}" for left, right in rows)
        return f"$$\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}{tag}\n$$"

    def sequence(self, rows: Pairs) -> str:
        return self.display(rows, 0)

    def figure(self, figure: Figure) -> str:
        return "\n".join(f"    {printable(line)}" for line in figure.outline)

    def references(self, entries: list[tuple[str, str]]) -> str:
        return "\n".join(f"- **{key}** {text}" for key, text in entries)

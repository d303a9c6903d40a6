"""A document as Markdown with formulas between dollar signs, as notebooks and code hosts show them."""

from __future__ import annotations

from dalembert.formulations.citations import CITATIONS
from dalembert.report.document import (
    Bullets,
    Cite,
    Code,
    Display,
    Document,
    Figure,
    Heading,
    Line,
    Math,
    Paragraph,
    References,
    Sequence,
    Table,
    numbered,
)
from dalembert.report.escape import markdown_text, printable


def to_markdown(document: Document) -> str:
    """The whole file.

    Args:
        document: what it says.
    """
    blocks = [_block(block, number) for block, number in numbered(document.blocks)]
    return "\n\n".join([f"# {markdown_text(document.title)}", markdown_text(document.subtitle), *blocks]) + "\n"


def _block(block: object, number: int) -> str:
    match block:
        case Heading(text, 1):
            return f"## {number}. {markdown_text(text)}"
        case Heading(text, _):
            return f"### {markdown_text(text)}"
        case Paragraph(parts, kind):
            return f"**{_line(parts)}**" if kind in ("good", "bad") else _line(parts)
        case Bullets(items):
            return "\n".join(f"- {_line(item)}" for item in items)
        case Table():
            return _table(block)
        case Display(rows):
            return _display(rows, number)
        case Sequence(rows):
            return _display(rows, 0)
        case Figure(_, caption, outline):
            tree = "\n".join(f"    {printable(line)}" for line in outline)
            return f"{tree}\n\n{_line(caption)}"
        case References(keys):
            return "\n".join(f"- **{key}** {markdown_text(CITATIONS[key])}" for key in keys)
    raise AssertionError(f"a block has no Markdown form: {block!r}")


def _display(rows: tuple[tuple[str, str], ...], number: int) -> str:
    tag = rf" \tag{{{number}}}" if number else ""
    if len(rows) == 1:
        return f"$$\n{' '.join(rows[0]).strip()}{tag}\n$$"
    lines = " \\\\\n".join(f"{left} & {right}" for left, right in rows)
    return f"$$\n\\begin{{aligned}}\n{lines}\n\\end{{aligned}}{tag}\n$$"


def _table(table: Table) -> str:
    rule = ["---:" if k in table.numbers else "---" for k in range(len(table.head))]
    rows = [[_line(line) for line in table.head], rule, *([_line(line) for line in row] for row in table.rows)]
    caption = f"{markdown_text(table.caption)}\n\n" if table.caption else ""
    return caption + "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _line(line: Line) -> str:
    return "".join(_inline(part) for part in line)


def _inline(part: object) -> str:
    match part:
        case Math(latex):
            return f"${latex}$"
        case Code(text):
            fence = "``" if "`" in text else "`"
            return f"{fence}{printable(text)}{fence}"
        case Cite(key):
            return f"[{key}]"
    return markdown_text(str(part))

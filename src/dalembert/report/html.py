"""A document as one self-contained HTML page: MathML, an inline style sheet, no scripts, no network."""

from __future__ import annotations

from importlib import resources

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
from dalembert.report.drawing import to_svg
from dalembert.report.escape import html_text
from dalembert.report.mathml import display, inline

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy: even if something slipped through, nothing may run or be fetched."""


def to_html(document: Document) -> str:
    """The whole page.

    Args:
        document: what it says.
    """
    style = resources.files("dalembert.report").joinpath("style.css").read_text(encoding="utf-8")
    title = html_text(document.title)
    body = [f"<header><h1>{title}</h1>", f'<p class="subtitle">{html_text(document.subtitle)}</p></header>']
    body.append(_contents(document))
    body += [_block(block, number) for block, number in numbered(document.blocks)]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8"/>',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<title>{title}</title>",
            f"<style>\n{style}</style></head>",
            "<body><main>",
            *body,
            "</main></body></html>\n",
        ]
    )


def _contents(document: Document) -> str:
    entries = [
        f'<li><a href="#section-{number}">{html_text(block.text)}</a></li>'
        for block, number in numbered(document.blocks)
        if isinstance(block, Heading) and block.level == 1
    ]
    return f'<nav aria-label="Contents"><ol>{"".join(entries)}</ol></nav>'


def _block(block: object, number: int) -> str:
    match block:
        case Heading(text, 1):
            return f'<h2 id="section-{number}"><span class="number">{number}</span> {html_text(text)}</h2>'
        case Heading(text, _):
            return f"<h3>{html_text(text)}</h3>"
        case Paragraph(parts, kind):
            return f'<p class="{kind}">{_line(parts)}</p>'
        case Bullets(items):
            return f"<ul>{''.join(f'<li>{_line(item)}</li>' for item in items)}</ul>"
        case Table():
            return _table(block)
        case Display(rows):
            tag = f'<span class="tag">({number})</span>' if number else ""
            return f'<div class="equation"><div class="scroll" tabindex="0">{display(rows)}</div>{tag}</div>'
        case Sequence(rows):
            lines = (f"<li>{inline(' '.join(row))}</li>" for row in rows)
            return '<ul class="sequence">' + "".join(lines) + "</ul>"
        case Figure(drawing, caption):
            words = "".join(part for part in caption if isinstance(part, str))
            return f"<figure>{to_svg(drawing, words)}<figcaption>{_line(caption)}</figcaption></figure>"
        case References(keys):
            entries = (f'<li id="{key}"><b>[{key}]</b> {html_text(CITATIONS[key])}</li>' for key in keys)
            return f'<ul class="references">{"".join(entries)}</ul>'
    raise AssertionError(f"a block has no HTML form: {block!r}")


def _table(table: Table) -> str:
    def cell(tag: str, column: int, line: Line, more: str = "") -> str:
        kind = ' class="number"' if column in table.numbers else ""
        return f"<{tag}{more}{kind}>{_line(line)}</{tag}>"

    head = "".join(cell("th", k, line, ' scope="col"') for k, line in enumerate(table.head))
    rows = ("".join(cell("td", k, line) for k, line in enumerate(row)) for row in table.rows)
    caption = f"<figcaption>{html_text(table.caption)}</figcaption>" if table.caption else ""
    lines = "\n".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f'<figure class="table">{caption}<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{lines}\n</tbody></table></div></figure>"
    )


def _line(line: Line) -> str:
    return "".join(_inline(part) for part in line)


def _inline(part: object) -> str:
    match part:
        case Math(latex):
            return inline(latex)
        case Code(text):
            return f"<code>{html_text(text)}</code>"
        case Cite(key):
            return f'<a class="cite" href="#{key}">{key}</a>'
    return html_text(str(part))

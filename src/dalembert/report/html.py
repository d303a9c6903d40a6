"""A document as one self-contained HTML page: MathML, an inline style sheet, no scripts, no network."""

from __future__ import annotations

from importlib import resources

from dalembert.report.document import Document, Figure, Heading, Line, Pairs, Paragraph, Table, Writer, numbered
from dalembert.report.drawing import to_svg
from dalembert.typesetting.escape import html_text
from dalembert.typesetting.mathml import inline, lines

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Content security policy: even if something slipped through, nothing may run or be fetched."""


def to_html(document: Document) -> str:
    """The whole page."""
    style = resources.files("dalembert.report").joinpath("style.css").read_text(encoding="utf-8")
    title = html_text(document.title)
    body = [f"<header><h1>{title}</h1>", f'<p class="subtitle">{html_text(document.subtitle)}</p></header>']
    body.append(_contents(document))
    body += HtmlWriter().blocks(document)
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


class HtmlWriter(Writer):
    """Blocks as HTML."""

    def text(self, text: str) -> str:
        return html_text(text)

    def math(self, latex: str) -> str:
        return inline(latex)

    def code(self, text: str) -> str:
        return f"<code>{html_text(text)}</code>"

    def cite(self, key: str) -> str:
        return f'<a class="cite" href="#{key}">{key}</a>'

    def heading(self, text: str, level: int, number: int) -> str:
        if level > 1:
            return f"<h3>{text}</h3>"
        return f'<h2 id="section-{number}"><span class="number">{number}</span> {text}</h2>'

    def paragraph(self, paragraph: Paragraph) -> str:
        return f'<p class="{paragraph.kind}">{self.line(paragraph.parts)}</p>'

    def bullets(self, items: list[str]) -> str:
        return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"

    def table(self, table: Table) -> str:
        def cell(tag: str, column: int, line: Line, more: str = "") -> str:
            kind = ' class="number"' if column in table.numbers else ""
            return f"<{tag}{more}{kind}>{self.line(line)}</{tag}>"

        head = "".join(cell("th", k, line, ' scope="col"') for k, line in enumerate(table.head))
        rows = ("".join(cell("td", k, line) for k, line in enumerate(row)) for row in table.rows)
        caption = f"<figcaption>{html_text(table.caption)}</figcaption>" if table.caption else ""
        body = "\n".join(f"<tr>{row}</tr>" for row in rows)
        return (
            f'<figure class="table">{caption}<div class="scroll" tabindex="0"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>\n{body}\n</tbody></table></div></figure>"
        )

    def display(self, rows: Pairs, number: int) -> str:
        tag = f'<span class="tag">({number})</span>' if number else ""
        return f'<div class="equation"><div class="scroll" tabindex="0">{lines(rows)}</div>{tag}</div>'

    def sequence(self, rows: Pairs) -> str:
        items = (f"<li>{inline(' '.join(row))}</li>" for row in rows)
        return '<ul class="sequence">' + "".join(items) + "</ul>"

    def figure(self, figure: Figure) -> str:
        words = "".join(part for part in figure.caption if isinstance(part, str))
        return f"<figure>{to_svg(figure.drawing, words)}<figcaption>{self.line(figure.caption)}</figcaption></figure>"

    def references(self, entries: list[tuple[str, str]]) -> str:
        items = (f'<li id="{key}"><b>[{key}]</b> {text}</li>' for key, text in entries)
        return f'<ul class="references">{"".join(items)}</ul>'

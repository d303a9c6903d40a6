"""A document as LaTeX: class article and the package amsmath, nothing else."""

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
from dalembert.report.drawing import to_picture
from dalembert.report.escape import latex_text

PREAMBLE = r"""\documentclass[10pt,a4paper,fleqn]{article}
\usepackage{amsmath}
\allowdisplaybreaks[3]
\setcounter{MaxMatrixCols}{60}
\setlength{\textwidth}{170mm}
\setlength{\oddsidemargin}{-5mm}
\setlength{\evensidemargin}{-5mm}
\setlength{\textheight}{240mm}
\setlength{\topmargin}{-15mm}
\setlength{\parindent}{0pt}
\setlength{\parskip}{4pt}
\setlength{\mathindent}{5mm}
\sloppy
"""

NARROW = 28
"""Letters of a cell beyond which a column of a table breaks its lines."""


def to_latex(document: Document) -> str:
    """The whole file.

    Args:
        document: what it says.
    """
    lines = [
        PREAMBLE + rf"\title{{{latex_text(document.title)}\\[4pt]\large {latex_text(document.subtitle)}}}",
        r"\author{}\date{}",
        r"\begin{document}",
        r"\maketitle",
        *(_block(block, number) for block, number in numbered(document.blocks)),
        "\\end{document}\n",
    ]
    return "\n\n".join(lines)


def _block(block: object, number: int) -> str:
    match block:
        case Heading(text, 1):
            return rf"\section{{{latex_text(text)}}}"
        case Heading(text, _):
            return rf"\subsection*{{{latex_text(text)}}}"
        case Paragraph(parts, kind):
            return {"note": "{\\small %s\\par}", "good": "\\textbf{%s}", "bad": "\\textbf{%s}"}.get(kind, "%s") % _line(
                parts
            )
        case Bullets(items):
            entries = "\n".join(rf"\item {{}}{_line(item)}" for item in items)
            return f"\\begin{{itemize}}\n{entries}\n\\end{{itemize}}"
        case Table():
            return _table(block)
        case Display(rows):
            lines = [f"{left} & {right}" for left, right in rows]
            lines[-1] += rf" \tag{{{number}}}" if number else ""
            return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"
        case Sequence(rows):
            return "\\begin{align*}\n" + " \\\\\n".join(" & ".join(row) for row in rows) + "\n\\end{align*}"
        case Figure(drawing, caption):
            return (
                "\\begin{center}\n\\setlength{\\unitlength}{0.62pt}\n"
                f"{to_picture(drawing)}\n\n{{\\small {_line(caption)}}}\n\\end{{center}}"
            )
        case References(keys):
            entries = "\n".join(rf"\item[{{[{key}]}}] {latex_text(CITATIONS[key])}" for key in keys)
            return f"\\begin{{description}}\n{entries}\n\\end{{description}}"
    raise AssertionError(f"a block has no LaTeX form: {block!r}")


def _table(table: Table) -> str:
    cells = [[_line(line) for line in row] for row in table.rows]
    wide = [k for k in range(len(table.head)) if any(_letters(row[k]) > NARROW for row in table.rows)]
    share = 0.9 * (1 - 0.12 * (len(table.head) - len(wide))) / max(1, len(wide))
    columns = (
        rf"p{{{max(share, 0.15):.2f}\linewidth}}" if k in wide else "r" if k in table.numbers else "l"
        for k in range(len(table.head))
    )
    head = " & ".join(rf"\textbf{{{_line(line)}}}" for line in table.head)
    body = " \\\\\n".join("{}" + " & ".join(row) for row in cells)  # a bracket after \\\\ would be an option
    caption = rf"{{\small {latex_text(table.caption)}}}\\[2pt]" + "\n" if table.caption else ""
    return (
        f"\\begin{{center}}\\small\n{caption}\\begin{{tabular}}{{{''.join(columns)}}}\n{head} \\\\ \\hline\n"
        f"{body} \\\\\n\\end{{tabular}}\n\\end{{center}}"
    )


def _letters(line: Line) -> int:
    return sum(len(part) for part in line if isinstance(part, str))


def _line(line: Line) -> str:
    return "".join(_inline(part) for part in line)


def _inline(part: object) -> str:
    match part:
        case Math(latex):
            return f"${latex}$"
        case Code(text):
            return rf"\texttt{{{latex_text(text)}}}"
        case Cite(key):
            return key
    return latex_text(str(part))

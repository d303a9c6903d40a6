"""A document as LaTeX: class article and the packages amsmath and graphicx, which every installation has."""

from __future__ import annotations

from dalembert.report.document import Document, Figure, Line, Math, Pairs, Paragraph, Table, Writer
from dalembert.report.drawing import to_picture
from dalembert.typesetting.escape import latex_text
from dalembert.typesetting.layout import width

PREAMBLE = r"""\documentclass[10pt,a4paper,fleqn]{article}
\usepackage{amsmath}
\usepackage{graphicx}
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
% Tables that are wider than the line are made smaller.
\newsavebox{\tablebox}
\newenvironment{fitted}{\begin{lrbox}{\tablebox}}{\end{lrbox}\ifdim\wd\tablebox>\linewidth
  \resizebox{\linewidth}{!}{\usebox{\tablebox}}\else\usebox{\tablebox}\fi}
"""

NARROW = 28
"""Letters of a cell beyond which a column of a table breaks its lines."""

LETTERS, GAP = 92, 2.5
"""Letters of a table that fit in a line, and the room between two columns."""


def to_latex(document: Document) -> str:
    """The whole file."""
    lines = [
        PREAMBLE + rf"\title{{{latex_text(document.title)}\\[4pt]\large {latex_text(document.subtitle)}}}",
        r"\author{}\date{}",
        r"\begin{document}",
        r"\maketitle",
        *LatexWriter().blocks(document),
        "\\end{document}\n",
    ]
    return "\n\n".join(lines)


KINDS = {"note": "{\\small %s\\par}", "good": "\\textbf{%s}", "bad": "\\textbf{%s}"}
"""How paragraphs that are not plain are set."""


class LatexWriter(Writer):
    """Blocks as LaTeX."""

    def text(self, text: str) -> str:
        return latex_text(text)

    def math(self, latex: str) -> str:
        return f"${latex}$"

    def code(self, text: str) -> str:
        return rf"\texttt{{{latex_text(text)}}}"

    def cite(self, key: str) -> str:
        return f"[{key}]"

    def heading(self, text: str, level: int, number: int) -> str:
        return rf"\section{{{text}}}" if level == 1 else rf"\subsection*{{{text}}}"

    def paragraph(self, paragraph: Paragraph) -> str:
        return KINDS.get(paragraph.kind, "%s") % self.line(paragraph.parts)

    def bullets(self, items: list[str]) -> str:
        entries = "\n".join(rf"\item {{}}{item}" for item in items)
        return f"\\begin{{itemize}}\n{entries}\n\\end{{itemize}}"

    def table(self, table: Table) -> str:
        cells = [[self.line(line) for line in row] for row in table.rows]
        wide = [k for k in range(len(table.head)) if any(_letters(row[k]) > NARROW for row in table.rows)]
        narrow = [k for k in range(len(table.head)) if k not in wide]
        taken = sum(max(map(_room, (table.head[k], *(row[k] for row in table.rows)))) + GAP for k in narrow)
        share = (1 - (taken + GAP * len(wide)) / LETTERS) / max(1, len(wide))
        columns = (
            rf"p{{{max(share, 0.15):.2f}\linewidth}}" if k in wide else "r" if k in table.numbers else "l"
            for k in range(len(table.head))
        )
        head = " & ".join(rf"\textbf{{{self.line(line)}}}" for line in table.head)
        body = " \\\\\n".join("{}" + " & ".join(row) for row in cells)  # a bracket after \\ would be an option
        caption = rf"{{\small {latex_text(table.caption)}}}\\[2pt]" + "\n" if table.caption else ""
        return (
            f"\\begin{{center}}\\small\n{caption}\\begin{{fitted}}\\begin{{tabular}}{{{''.join(columns)}}}\n"
            f"{head} \\\\ \\hline\n{body} \\\\\n\\end{{tabular}}\\end{{fitted}}\n\\end{{center}}"
        )

    def display(self, rows: Pairs, number: int) -> str:
        lines = [f"{left} & {right}" for left, right in rows]
        lines[-1] += rf" \tag{{{number}}}" if number else ""
        return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"

    def sequence(self, rows: Pairs) -> str:
        return self.display(rows, 0)

    def figure(self, figure: Figure) -> str:
        return (
            "\\begin{center}\n\\setlength{\\unitlength}{0.62pt}\n"
            f"{to_picture(figure.drawing)}\n\n{{\\small {self.line(figure.caption)}}}\n\\end{{center}}"
        )

    def references(self, entries: list[tuple[str, str]]) -> str:
        lines = "\n".join(rf"\item[{{[{key}]}}] {text}" for key, text in entries)
        return f"\\begin{{description}}\n{lines}\n\\end{{description}}"


def _letters(line: Line) -> int:
    return sum(len(part) for part in line if isinstance(part, str))


def _room(line: Line) -> float:
    return _letters(line) + sum(width(part.latex) for part in line if isinstance(part, Math))

"""Text from anywhere made harmless for each kind of document."""

from __future__ import annotations

import html
import re
import unicodedata

from dalembert.text.layout import printable

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\^{}", "~": r"\~{}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\ensuremath{|}",
    '"': "''", "`": r"\`{}", "…": r"\ldots{}", "–": "--", "’": "'", "−": r"\ensuremath{-}", "·": r"\ensuremath{\cdot}",
    "²": r"\ensuremath{^2}", "×": r"\ensuremath{\times}",
}  # fmt: skip

_ACCENTS = {
    0x300: r"\`", 0x301: r"\'", 0x302: r"\^", 0x303: r"\~", 0x304: r"\=", 0x306: r"\u", 0x307: r"\.", 0x308: r"\"",
    0x30A: r"\r", 0x30B: r"\H", 0x30C: r"\v", 0x327: r"\c",
}  # fmt: skip

_MARKDOWN = re.compile(r"([\\`*_{}\[\]#|~$])")


def html_text(text: str) -> str:
    """Plain text for HTML, also within attributes."""
    return html.escape(printable(text), quote=True)


def latex_text(text: str) -> str:
    """Plain text for LaTeX; letters that pdflatex does not know are given by their number."""
    return "".join(_latex_letter(c) for c in printable(text))


def _latex_letter(c: str) -> str:
    if c in _LATEX:
        return _LATEX[c]
    if c.isascii():
        return c
    letter, *marks = list(unicodedata.normalize("NFD", c))
    if letter.isascii() and letter.isalpha() and len(marks) == 1 and ord(marks[0]) in _ACCENTS:
        return f"{_ACCENTS[ord(marks[0])]}{{{letter}}}"
    return rf"\texttt{{U+{ord(c):04X}}}"


def markdown_text(text: str) -> str:
    """Plain text for Markdown, also within a cell of a table."""
    escaped = _MARKDOWN.sub(r"\\\1", printable(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

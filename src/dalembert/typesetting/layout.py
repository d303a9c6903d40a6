"""How mathematics is laid out on a page: as a matrix if it fits, entry by entry if not, long sums on several lines."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.typesetting.notation import Notation

WIDTH = 70
"""Letters a line of mathematics may have."""

WIDEST = 90
"""Letters a line may have if there is no place to break it."""

MOST_LINES = 14
"""Lines that one quantity may take."""

LONGEST = 5_000
"""Characters of LaTeX beyond which a closed form is of no use."""

Rows = list[tuple[str, str]]

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[{}^_&]|.", re.DOTALL)
_MATRIX = re.compile(r"(\\begin\{bmatrix\}(?:(?!\\begin\{bmatrix\}).)*?\\end\{bmatrix\})", re.DOTALL)
"""Matrices without others in them, which split() keeps."""

_SILENT = {
    r"\mathrm",
    r"\text",
    r"\displaystyle",
    r"\dot",
    r"\ddot",
    r"\operatorname",
    r"\,",
    r"\;",
}
_WORDS = {r"\sin", r"\cos", r"\tan", r"\exp", r"\log", r"\begin", r"\end", r"\min", r"\max"}
_RAISED, _BRACKET = 0.7, 0.6


def width(latex: str) -> float:
    """Roughly how many letters wide a formula is; matrices count as the sum of their columns."""
    total = 0.0
    for piece in _MATRIX.split(latex):
        if not piece.startswith(r"\begin{bmatrix}"):
            tokens = _TOKEN.findall(piece)
            total += _measure(tokens, 0, len(tokens))
            continue
        inner = piece.removeprefix(r"\begin{bmatrix}").removesuffix(r"\end{bmatrix}")
        rows = [row.split("&") for row in inner.split(r"\\")]
        total += _matrix_width([cell for row in rows for cell in row], len(rows[0]))
    return total


def _measure(tokens: Sequence[str], start: int, stop: int) -> float:
    total, k, scale = 0.0, start, 1.0
    while k < stop:
        token = tokens[k]
        if token == r"\frac":
            middle = _after_group(tokens, k + 1)
            end = _after_group(tokens, middle)
            total += max(_measure(tokens, k + 1, middle), _measure(tokens, middle, end))
            k, scale = end, 1.0
            continue
        if token in "_^":
            scale = _RAISED
        elif token == "{":
            end = _after_group(tokens, k)
            total += scale * _measure(tokens, k + 1, end - 1)
            k, scale = end, 1.0
            continue
        elif token in _WORDS:
            total += len(token)
        elif token in (r"\left", r"\right"):
            total += _BRACKET  # the space that browsers leave beside brackets that grow
        elif token not in _SILENT and token not in "}& \n":
            total += scale * (2.0 if token in "+-=" else 1.0)
            scale = 1.0
        k += 1
    return total


def _after_group(tokens: Sequence[str], k: int) -> int:
    """Where the token or braced group that starts at k ends."""
    if k >= len(tokens) or tokens[k] != "{":
        return min(k + 1, len(tokens))
    depth = 0
    for end in range(k, len(tokens)):
        depth += (tokens[end] == "{") - (tokens[end] == "}")
        if depth == 0:
            return end + 1
    return len(tokens)


def sum_rows(left: str, terms: Sequence[str], relation: str = "= ", most: float = WIDTH) -> Rows:
    """A sum on as many lines as it needs; further lines begin with their sign.

    Args:
        left: left-hand side.
        terms: LaTeX of the terms, a minus in front where there is one.
        relation: between the sides.
        most: letters a line may have.
    """
    lines = [""]
    room = most - width(left)
    for term in terms or ["0"]:
        signed = _signed(term)
        if lines[-1] and width(lines[-1]) + width(signed) > room:
            lines.append("")
        first = not lines[-1] and len(lines) == 1
        lines[-1] += term if first else signed if lines[-1] else signed.lstrip()
    return [(left, relation + lines[0]), *(("", rf"\quad {{}}{line}") for line in lines[1:])]


def _signed(term: str) -> str:
    return f" - {term[1:].lstrip()}" if term.startswith("-") else f" + {term}"


def entry_name(symbol: str, place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """What an entry of a vector or matrix is called.

    Args:
        symbol: of the whole, LaTeX.
        place: counted from zero.
    """
    if not place:
        return symbol
    comma = "," if max(shape) > 9 else ""
    index = comma.join(str(k + 1) for k in place)
    simple = re.fullmatch(r"\\?[A-Za-z]+(\^\*)?", symbol)
    return f"{symbol}_{{{index}}}" if simple else rf"\left({symbol}\right)_{{{index}}}"


def array_rows(symbol: str, entries: Sequence[Any], shape: tuple[int, ...], notation: Notation) -> Rows:
    """An array of expressions: as a matrix if that fits the page, otherwise by its entries that are not zero.

    Args:
        symbol: what it is called, LaTeX.
        shape: () for a scalar.
    """
    if shape == ():
        return sum_rows(symbol, notation.terms(entries[0]))
    texts = [notation.latex(x) for x in entries]
    if all(text == "0" for text in texts):
        return [(symbol, "= 0")]
    rows, columns = (*shape, 1)[:2]
    if len(shape) <= 2 and _matrix_width(texts, columns) + width(symbol) <= WIDTH:
        return [(symbol, "= " + matrix(texts, rows, columns))]
    size = math.isqrt(columns)
    by_blocks = len(shape) == 2 and size > 1 and size**2 == columns
    blocks = _block_rows(symbol, texts, columns, size) if by_blocks else []
    return blocks or entry_rows(symbol, entries, shape, notation)


def _block_rows(symbol: str, texts: Sequence[str], columns: int, size: int) -> Rows:
    """A wide matrix, of n^2 columns, as n blocks of n columns each; nothing if these do not fit either."""
    rows = len(texts) // columns
    names = [entry_name(symbol, (k,), (size,)) for k in range(size)]
    parts = [
        [texts[r * columns + k * size + c] for r in range(rows) for c in range(size)] for k in range(columns // size)
    ]
    if any(_matrix_width(part, size) + width(name) > WIDEST for name, part in zip(names, parts)):
        return []
    whole = (symbol, "= " + matrix(names, 1, size))
    zero = all(text == "0" for part in parts for text in part)
    groups: list[Rows] = [
        [(name, "= 0" if all(text == "0" for text in part) else f"= {matrix(part, rows, size)}")]
        for name, part in zip(names, parts)
    ]
    return [(symbol, "= 0")] if zero else [whole, *side_by_side(groups)]


def side_by_side(groups: Sequence[Rows], gap: str = r", \quad ") -> Rows:
    """Quantities that take one line each, as many on a line as fit; all others on lines of their own.

    Args:
        groups: the lines of each quantity.
        gap: between two of them, LaTeX.
    """
    found: Rows = []
    room = 0.0
    for rows in groups:
        wide = width(" ".join(rows[0])) + 3 if len(rows) == 1 else WIDTH
        if found and wide <= room:
            left, right = found[-1]
            found[-1] = left, right + gap + " ".join(rows[0])
            room -= wide
        else:
            found += rows
            room = WIDTH - wide
    return found


def entry_rows(symbol: str, entries: Sequence[Any], shape: tuple[int, ...], notation: Notation) -> Rows:
    """The entries that are not zero, one after the other; one triangle where they are symmetric.

    Args:
        symbol: what the array is called, LaTeX.
    """
    places = list(np.ndindex(shape))
    by_place = dict(zip(places, entries))
    square = len(shape) >= 2 and shape[-2] == shape[-1]
    symmetric = square and all(by_place[place] == by_place[mirrored(place)] for place in places)
    lines: Rows = []
    for place in places:
        if by_place[place] == 0 or (symmetric and place[-2] > place[-1]):
            continue
        left = entry_name(symbol, place, shape)
        if symmetric and place[-2] < place[-1]:
            left += f" = {entry_name(symbol, mirrored(place), shape)}"
        lines += sum_rows(left, notation.terms(by_place[place]))
    return lines or [(symbol, "= 0")]


def mirrored(place: tuple[int, ...]) -> tuple[int, ...]:
    """The place with its last two indices exchanged."""
    return (*place[:-2], place[-1], place[-2])


def matrix(texts: Sequence[str], rows: int, columns: int) -> str:
    """A matrix in brackets.

    Args:
        texts: LaTeX of the entries, row by row.
        rows: how many.
        columns: how many.
    """
    lines = [" & ".join(texts[r * columns : (r + 1) * columns]) for r in range(rows)]
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"


def _matrix_width(texts: Sequence[str], columns: int) -> float:
    return sum(max(width(text) for text in texts[c::columns]) + 2 for c in range(columns)) + 2


def split_formula(latex: str) -> Rows:
    """A general formula; its parts, separated by ``\\quad``, on lines of their own if they are too wide together."""
    parts = re.split(r",?\s*\\q?quad\s*", latex) if width(latex) > WIDTH * 0.8 else [latex]
    return [("", part.strip()) for part in parts if part.strip()]

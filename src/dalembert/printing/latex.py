"""Programs as LaTeX: aligned equations, one for each named intermediate value and each element of a result."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from dalembert.printing.names import identifier
from dalembert.printing.statements import ATOM, PRODUCT, SUM, FunctionBody, NoArrays, Text, bracket
from dalembert.tracing.loops import unrolled
from dalembert.tracing.program import Program

_LETTERS = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi
    psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
_GREEK = frozenset(_LETTERS.split())


def to_latex(program: Program, longest: int = 120, entries: Mapping[str, Sequence[str]] | None = None) -> str:
    """An ``align*`` environment (package amsmath) that defines every output.

    Labels name intermediate values, others are called t with a number. Underscores in names start indices, the
    names of Greek letters become letters: ``omega_3_0`` prints as an omega with the index 3,0.

    Args:
        longest: longest right-hand side in characters of source, before parts of it get names.
        entries: for some inputs, what their entries are called; others have the input's name and an index.
    """
    program = unrolled(program)
    symbols, named = _Symbols(), entries or {}
    inputs = [
        [symbols.new(name) for name in named[port.name]] if port.name in named else symbols.array(port.name, port.shape)
        for port in program.inputs
    ]
    outputs = [
        symbols.array(f"{p.name}_out" if p.name in (given.name for given in program.inputs) else p.name, p.shape)
        for p in program.outputs
    ]
    body = FunctionBody(program, _Latex(longest), symbols, lambda port, element: inputs[port][element])
    rows = [f"{s.name} &= {s.source}" for s in body.statements]
    for elements, row in zip(outputs, program.results):
        rows += [f"{element} &= {body.text(k).source}" for element, k in zip(elements, row)]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}\n"


def symbol(name: str, *indices: int) -> str:
    """A name as mathematics; only letters, digits and underscores of it are used."""
    head, *rest = identifier(name).split("_")
    letters, digits = re.fullmatch(r"(.*?)(\d*)", head).groups()  # type: ignore[union-attr]
    if letters in _GREEK:
        text = f"\\{letters}"
    else:
        text = letters if len(letters) == 1 else f"\\mathrm{{{letters}}}"
    below = [f"\\{part}" if part in _GREEK else part for part in (digits, *rest) if part]
    below = [
        part if part.startswith("\\") or part.isdigit() or len(part) == 1 else f"\\mathrm{{{part}}}" for part in below
    ]
    below += [str(int(k)) for k in indices]
    return f"{text}_{{{','.join(below)}}}" if below else text


class _Symbols:
    """Gives out different symbols, by the method of ``Names`` that is needed and one for whole arrays."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def new(self, wish: str, *indices: int) -> str:
        name, number = symbol(wish, *indices), 1
        while name in self._taken:
            number += 1
            name = f"{symbol(wish, *indices)}^{{({number})}}"
        self._taken.add(name)
        return name

    def scope(self) -> _Symbols:
        inner = _Symbols()
        inner._taken |= self._taken
        return inner

    def array(self, wish: str, shape: tuple[int, ...]) -> list[str]:
        return [self.new(wish, *indices) for indices in np.ndindex(shape)]


class _Latex(NoArrays):
    """How operations are written."""

    pairs = False

    def __init__(self, longest: int):
        self.longest = longest

    def named(self, op: str) -> bool:
        return False

    def wants_names(self, op: str) -> bool:
        return False

    def number(self, value: float) -> Text:
        if not math.isfinite(value):
            source = r"\mathrm{NaN}" if math.isnan(value) else r"\infty" if value > 0 else r"-\infty"
            return Text(source, SUM if source.startswith("-") else ATOM)
        text = repr(value)
        mantissa, _, exponent = text.partition("e")
        mantissa = mantissa.removesuffix(".0")
        if not exponent:
            return Text(mantissa, SUM if value < 0 else ATOM)
        return Text(f"{mantissa} \\cdot 10^{{{int(exponent)}}}", SUM if value < 0 else PRODUCT)

    def operation(self, op: str, args: list[Text]) -> Text:
        plain = [a.source for a in args]
        if op == "neg":
            return Text(f"-{bracket(args[0], PRODUCT)}", SUM)
        if op in ("add", "sub"):
            return Text(f"{bracket(args[0], SUM)} {'+' if op == 'add' else '-'} {bracket(args[1], PRODUCT)}", SUM)
        if op == "mul":
            if args[0] == args[1]:
                simple = args[0].level == ATOM and "^" not in plain[0]
                return Text(f"{plain[0] if simple else f'({plain[0]})'}^{{2}}")
            dot = " \\cdot " if re.match(r"[\d(]", bracket(args[1], PRODUCT)) else " \\, "
            return Text(f"{bracket(args[0], PRODUCT)}{dot}{bracket(args[1], PRODUCT)}", PRODUCT)
        if op == "div":
            return Text(f"\\frac{{{plain[0]}}}{{{plain[1]}}}", PRODUCT)
        if op == "select":
            condition, yes, no = plain
            cases = f"{yes} & \\text{{if }} {condition} \\\\ {no} & \\text{{otherwise}}"
            return Text(f"\\begin{{cases}} {cases} \\end{{cases}}")
        return Text(_TEMPLATES[op] % tuple(plain), PRODUCT if op in _FUNCTIONS else ATOM)


_FUNCTIONS = frozenset({"sin", "cos", "tan", "exp", "log"})

_TEMPLATES = {
    "sqrt": r"\sqrt{%s}", "sin": r"\sin(%s)", "cos": r"\cos(%s)", "tan": r"\tan(%s)",
    "exp": r"\exp(%s)", "log": r"\log(%s)", "atan2": r"\operatorname{atan2}(%s, %s)", "abs": r"\left|%s\right|",
    "min": r"\min(%s, %s)", "max": r"\max(%s, %s)",
    "lt": "(%s < %s)", "le": r"(%s \le %s)", "eq": "(%s = %s)",
    "and": r"(%s \land %s)", "or": r"(%s \lor %s)", "not": r"\lnot %s",
}  # fmt: skip

"""What coordinates and velocities are called when equations are written down."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from dalembert.model import Mechanism

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip

SPELLINGS = (
    {"\N{SCRIPT SMALL L}": "ell", "\N{MICRO SIGN}": "mu"}
    | {unicodedata.lookup(f"GREEK {name} SYMBOL"): f"var{name.lower()}" for name in ("THETA", "PHI")}
    | {chr(ord("\N{SUBSCRIPT ZERO}") + digit): str(digit) for digit in range(10)}
    | {
        unicodedata.lookup(f"GREEK {case} LETTER {word.replace('lambda', 'lamda')}"): spelling
        for word in GREEK
        for case, spelling in (("SMALL", word), ("CAPITAL", word.capitalize()))
    }
)
"""Letters that are typed as such, and the words that TeX has for them."""

READABLE = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK)})(?:_?[0-9a-z]{{1,2}})?")
"""A letter, Latin or Greek, with at most two characters of index: ``q1``, ``theta_12``, ``x``, ``d2``."""

_NOT_GREEK = rf"(?!(?:{'|'.join([*GREEK, *map(str.capitalize, GREEK)])})(?:\d|$))"
_RUN_TOGETHER = re.compile(_NOT_GREEK + r"([A-Za-z])([A-Za-z]?\d+[a-z]{0,2}|[A-Za-z]|[xyz]{2})")
_ACCENTED = re.compile(r"([A-Za-z][A-Za-z0-9]*?)(?:(?<=[A-Za-z0-9]d)_)?(d{0,3}dot|bar)(\d+|_\w+)?")
_WORD = re.compile(r"(?<![A-Za-z0-9\\])[A-Za-z][A-Za-z0-9]+")

SEVERAL = {
    "planar": (("x", "y", "psi"), ("xdot", "ydot", "psidot")),
    "spherical": (("epsilon1", "epsilon2", "epsilon3", "eta"), ("omega_x", "omega_y", "omega_z")),
    "free": (
        ("x", "y", "z", "epsilon1", "epsilon2", "epsilon3", "eta"),
        ("v_x", "v_y", "v_z", "omega_x", "omega_y", "omega_z"),
    ),
}
"""Names for the coordinates and velocities of joints of several degrees of freedom."""


def rate_name(name: str, rates: int = 1) -> str:
    """The name of a time derivative: ``theta1`` becomes ``thetadot1``, which LaTeX shows as a dot over theta.

    Args:
        name: name of the coordinate.
        rates: how often it is differentiated.
    """
    stem, index = _stem_and_index(name)
    dots = f"{'d' * (rates - 1)}dot"
    if stem.endswith("d") and len(stem) > 1:  # bddot would be the second rate of b
        return f"{stem[0]}{dots}_d{index}" if len(stem) == 2 and "_" not in index else f"{stem}_{dots}{index}"
    return f"{stem}{dots}{index}"


def barred(name: str) -> str:
    """Another name, which LaTeX shows with a bar: ``theta1`` becomes ``thetabar1``.

    Args:
        name: of a symbol.
    """
    if "\\" in name or "{" in name:
        return rf"\bar{{{name}}}"
    stem, index = _stem_and_index(name)
    return f"{stem}bar{index}"


def _stem_and_index(name: str) -> tuple[str, str]:
    numbered, low = r"([^\W\d_]+?)(\d+|[\u2080-\u2089]+)", r"([^\W_]+)(_\w+)"
    parts = re.fullmatch(numbered, name) or re.fullmatch(low, name)
    return (parts[1], parts[2]) if parts else (name, "")


def coordinate_names(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """Names of all coordinates and of all velocities.

    Joints of one degree of freedom lend their own name if it reads as a mathematical symbol (``theta1``, ``d2``),
    otherwise coordinates are numbered ``q1``, ``q2``, ...; joints of several degrees have names of their own, with the
    number of the joint where another one has them too.

    Args:
        mechanism: the mechanism.
    """
    joints = [joint for joint in mechanism.joints if joint.nq]
    single = [joint.name for joint in joints if joint.nq == 1]
    readable = all(READABLE.fullmatch(name) for name in single)
    lent = {name for own in single for name in (own, rate_name(own))} if readable else set()
    kinds = Counter(joint.kind for joint in joints)
    # Free joints share names with planar and with spherical ones: beside one of them all are numbered together.
    series = {kind: "free" if kinds["free"] else kind for kind in SEVERAL}
    sizes = Counter(series[joint.kind] for joint in joints if joint.kind in SEVERAL)
    q_names: list[str] = []
    v_names: list[str] = []
    seen: Counter[str] = Counter()
    for joint in joints:
        if joint.kind in SEVERAL:
            own = series[joint.kind]
            seen[own] += 1
            in_q, in_v = SEVERAL[joint.kind]
            suffix = f"_{seen[own]}" if sizes[own] > 1 or lent.intersection((*in_q, *in_v)) else ""
            q_names += [name + suffix for name in in_q]
            v_names += [name + suffix for name in in_v]
        elif joint.nq == 1 and readable:
            q_names.append(joint.name)
            v_names.append(rate_name(joint.name))
        else:
            numbers = range(len(v_names) + 1, len(v_names) + joint.nq + 1)
            q_names += [f"q{k}" for k in numbers]
            v_names += [f"qdot{k}" for k in numbers]
    return q_names, v_names


def distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Identifiers for programs, with underscores added where they are taken already.

    Args:
        names: what is wanted.
        taken: what is not available.
    """
    return _renamed(names, taken, "{}_".format)


def unlike(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of symbols, with bars where they are taken already, which print shows.

    Args:
        names: what is wanted.
        taken: what is not available.
    """
    return _renamed(names, taken, barred)


def _renamed(names: Iterable[str], taken: Iterable[str], other: Callable[[str], str]) -> list[str]:
    used = set(taken)
    result = []
    for name in names:
        while name in used:
            name = other(name)
        used.add(name)
        result.append(name)
    return result


def identifier(name: str) -> str:
    """A name that a program can use for a symbol of any spelling.

    Args:
        name: for example ``m_1``, ``\\theta`` or ``I_{zz}``.
    """
    plain = re.sub(r"\W+", "_", name).strip("_") or "parameter"
    return f"p_{plain}" if plain[0].isdigit() else plain


def spelled(name: str) -> str:
    """The name with Greek letters and low digits, where they are typed as such, in words that TeX has: ``theta1``.

    Args:
        name: of any spelling.
    """
    words = "".join(SPELLINGS.get(x, x) for x in name)
    return words if words.isascii() else name


def symbol_latex(symbol: Any) -> str:
    """LaTeX of a symbol: ``mr`` and ``I1x`` get an index, ``mass`` stands upright; letters side by side are a product.

    Rates are spelt as what they are the rate of, with dots on its letter: ``thdot1`` like ``th1``.

    Args:
        symbol: of SymPy. Names that are LaTeX already stay as they are.
    """
    import sympy

    name = spelled(symbol.name)
    if rate := rate_of(name):
        plain, accent = rate
        return accented(symbol_latex(sympy.Symbol(plain)), accent)
    if parts := _RUN_TOGETHER.fullmatch(name):
        return f"{parts[1]}_{{{parts[2]}}}"
    text = sympy.latex(sympy.Symbol(name))
    if "\\" in name or "{" in name:
        return text
    stem = re.split("[_^]", text, maxsplit=1)[0]
    return _WORD.sub(r"\\mathrm{\g<0>}", stem) + text[len(stem) :]


def rate_of(name: str) -> tuple[str, str] | None:
    """What a name is the rate (or the other, with a bar) of, and the accent that says so in TeX, if it is one.

    Args:
        name: in words, for example ``thetadot1``.
    """
    parts = _ACCENTED.fullmatch(name)
    return (parts[1] + (parts[3] or ""), parts[2]) if parts else None


def accented(latex: str, accent: str) -> str:
    """LaTeX of a symbol with an accent on its letter, the index apart.

    Args:
        latex: of the symbol.
        accent: of TeX, for example ``dot``.
    """
    letter = re.split(r"(?<!\\)[_^]", latex, maxsplit=1)[0]
    return rf"\{accent}{{{letter}}}{latex[len(letter) :]}"


def look(latex: str) -> str:
    """What tells symbols apart in print: LaTeX without white space and empty groups.

    Args:
        latex: of a symbol.
    """
    return re.sub(r"[_^]?\{\s*\}|\s", "", latex)


def verbatim(name: str, taken: Iterable[str] = ()) -> str:
    """LaTeX of a name letter by letter, upright, for names that do not read as mathematics or look like another one.

    Args:
        name: of any spelling; what is neither letter nor digit is an underscore.
        taken: LaTeX that is not available.
    """
    words = re.findall(r"[A-Za-z0-9]+", identifier(spelled(name))) or ["symbol"]
    plain, number = r"\_".join(words)[:24].rstrip("\\_"), 1
    if re.fullmatch(r"\w+_", name):
        plain += r"\_"
    fresh = rf"\mathrm{{{plain}}}"
    while fresh in taken:
        number += 1
        fresh = rf"\mathrm{{{plain}\_{number}}}"
    return fresh


class Print:
    """LaTeX of the symbols of one derivation, no two of which look alike.

    Symbols are written as mathematics; one that would then look like another before it (``m_1`` like ``m1``) is
    written letter by letter.
    """

    def __init__(self) -> None:
        self._written: dict[str, str] = {}
        self._looks: set[str] = set()

    def symbol(self, symbol: Any) -> str:
        """LaTeX of a symbol; asked again, it is the same.

        Args:
            symbol: of SymPy.
        """
        if symbol.name not in self._written:
            plain, accent = rate_of(spelled(symbol.name)) or ("", "")
            # A coordinate that is written letter by letter lends that to its rates.
            text = accented(self._written[plain], accent) if plain in self._written else symbol_latex(symbol)
            if look(text) in self._looks:
                text = verbatim(symbol.name, self._looks)
            self._written[symbol.name] = text
            self._looks.add(look(text))
        return self._written[symbol.name]

    def expression(self, expression: Any) -> str:
        """LaTeX of an expression or a matrix, in which no symbol reads as a product of others.

        Args:
            expression: of SymPy.
        """
        import sympy

        symbols = sorted(expression.free_symbols, key=str)
        return sympy.latex(expression, symbol_names={x: self.symbol(x) for x in symbols})


def expression_latex(expression: Any) -> str:
    """LaTeX of an expression or a matrix, in which no symbol reads as a product of others.

    Args:
        expression: of SymPy.
    """
    return Print().expression(expression)

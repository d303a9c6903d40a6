"""What coordinates and velocities are called when equations are written down."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
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
    parts = re.fullmatch(r"([^\W\d_]+?)((?:_?\d+|[\u2080-\u2089]+|_\w+)?)", name)
    stem, index = parts.groups() if parts else (name, "")
    return f"{stem}{'d' * (rates - 1)}dot{index}"


def coordinate_names(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """Names of all coordinates and of all velocities.

    Joints of one degree of freedom lend their own name if it reads as a mathematical symbol (``theta1``, ``d2``),
    otherwise coordinates are numbered ``q1``, ``q2``, ...; joints of several degrees have names of their own.

    Args:
        mechanism: the mechanism.
    """
    joints = [joint for joint in mechanism.joints if joint.nq]
    single = [joint.name for joint in joints if joint.nq == 1]
    readable = all(READABLE.fullmatch(name) for name in single)
    kinds = Counter(joint.kind for joint in joints)
    q_names: list[str] = []
    v_names: list[str] = []
    seen: Counter[str] = Counter()
    for joint in joints:
        if joint.kind in SEVERAL:
            seen[joint.kind] += 1
            suffix = f"_{seen[joint.kind]}" if kinds[joint.kind] > 1 else ""
            in_q, in_v = SEVERAL[joint.kind]
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
    """The names, with underscores added where they are taken already.

    Args:
        names: what is wanted.
        taken: what is not available.
    """
    used = set(taken)
    result = []
    for name in names:
        while name in used:
            name += "_"
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

    Args:
        symbol: of SymPy. Names that are LaTeX already stay as they are.
    """
    import sympy

    name = spelled(symbol.name)
    if parts := _RUN_TOGETHER.fullmatch(name):
        return f"{parts[1]}_{{{parts[2]}}}"
    text = sympy.latex(sympy.Symbol(name))
    if "\\" in name or "{" in name:
        return text
    stem = re.split("[_^]", text, maxsplit=1)[0]
    return _WORD.sub(r"\\mathrm{\g<0>}", stem) + text[len(stem) :]


def expression_latex(expression: Any) -> str:
    """LaTeX of an expression or a matrix, in which no symbol reads as a product of others.

    Args:
        expression: of SymPy.
    """
    import sympy

    return sympy.latex(expression, symbol_names={x: symbol_latex(x) for x in expression.free_symbols})

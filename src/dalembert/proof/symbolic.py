"""The same by hand's means: algorithms of a small mechanism run on SymPy's symbols, and their differences cancel.

No field, no chance and no code of ours but the algorithms: what is left of a difference of two results is expanded,
sums of angles are taken apart, squares of sines become 1 - cos^2, and it must be 0. Expressions grow fast; two or three
joints take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.proof.claims import Omission

MOST_JOINTS = 3
"""Velocities up to which expressions are expanded in seconds."""


LARGEST_DENOMINATOR = 1000
"""Of the fractions that floating-point numbers stand for, such as 0.333... for the third of a uniform rod."""


@dataclass(frozen=True)
class SymbolicRow:
    """One identity.

    Args:
        who: the algorithm on the left side.
        against: the one on the right side.
        remainder: what is left of the first entry that differs, as text; nothing where they are identical.
    """

    quantity: str
    who: str
    against: str
    remainder: str = ""

    @property
    def holds(self) -> bool:
        """Whether nothing is left."""
        return not self.remainder


@dataclass(frozen=True)
class SymbolicProof:
    """The outcome of :func:`prove_symbolically`.

    Args:
        subject: name of the mechanism.
        rows: all identities.
        omitted: what was left out, and why.
    """

    subject: str
    rows: tuple[SymbolicRow, ...]
    omitted: tuple[Omission, ...] = ()

    @property
    def ok(self) -> bool:
        """True if every identity holds."""
        return all(row.holds for row in self.rows)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        good = sum(row.holds for row in self.rows)
        verdict = "all identical as formulas" if self.ok else f"{len(self.rows) - good} are not"
        lines = [f"{self.subject}: {len(self.rows)} identities of symbolic expressions, {verdict}", ""]
        for row in self.rows:
            lines.append(f"{row.quantity} by {row.who} = {row.against}" + ((row.holds and ": 0 is left") or ""))
            if not row.holds:
                lines.append(f"    left: {row.remainder}")
        lines += [f"left out: {omission.what}: {omission.why}" for omission in self.omitted]
        return "\n".join(lines)


def prove_symbolically(mechanism: Mechanism) -> SymbolicProof:
    """Prove in SymPy that all algorithms of inverse dynamics, and of the inertia matrix, are the same for a mechanism.

    Its symbols stay symbols, its numbers are what they are and must be exact: this is about one mechanism, where
    :func:`prove` is about all of a topology.

    Args:
        mechanism: of at most three velocities, without quaternions; constraints and force elements play no part.
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"prove_symbolically takes a Mechanism, got {type(mechanism).__name__}")
    if mechanism.nv > MOST_JOINTS or mechanism.nv != mechanism.nq or mechanism.nv == 0:
        raise ArgumentError(
            f"{mechanism.name!r} has {mechanism.nv} velocities and {mechanism.nq} coordinates; expressions are "
            f"expanded for one to {MOST_JOINTS} velocities that are the rates of coordinates. prove() takes mechanisms "
            "of any size"
        )
    rows: list[SymbolicRow] = []
    omitted: list[Omission] = []
    for item in _compared(mechanism):
        if isinstance(item, SymbolicRow):
            rows.append(item)
        else:
            omitted.append(item)
    return SymbolicProof(mechanism.name, tuple(rows), tuple(omitted))


def _compared(mechanism: Mechanism) -> Iterator[SymbolicRow | Omission]:
    import sympy

    n, tree = mechanism.nv, mechanism.tree
    taken = {str(x) for x in mechanism.symbols}
    letters = [[_free(f"{x}{k}", taken) for k in range(1, n + 1)] for x in "qva"]
    q, v, a = (np.array([sympy.Symbol(x, real=True) for x in names], dtype=object) for names in letters)
    families: list[tuple[str, dict[str, Callable[..., Any]], tuple[Any, ...], str]] = [
        ("inverse dynamics", dict(INVERSE_DYNAMICS), (q, v, a, None), "newton-euler"),
        ("inertia matrix", dict(INERTIA_MATRIX), (q,), "column-method"),
    ]
    for quantity, table, arguments, against in families:
        reference = table[against](tree, *arguments)
        reference = _exactly(reference, mechanism)
        for name, algorithm in table.items():
            if name == against:
                continue
            try:
                found = partial(algorithm, tree)(*arguments)
            except UnsupportedError as error:
                yield Omission(name, str(error))
                continue
            yield SymbolicRow(quantity, name, against, _left(_exactly(found, mechanism), reference, q))


def _free(name: str, taken: set[str]) -> str:
    return _free(f"{name}_", taken) if name in taken else name


def _exactly(values: Any, mechanism: Mechanism) -> list[Any]:
    """Entries with fractions in the place of floating-point numbers, or an error for those that are none."""
    import sympy

    entries = [sympy.sympify(x, strict=True) for x in np.asarray(values, dtype=object).flat]
    fractions = {}
    for x in {x for entry in entries for x in entry.atoms(sympy.Float)}:
        fraction = Fraction(float(x)).limit_denominator(LARGEST_DENOMINATOR)
        if abs(float(x) - fraction) > 4 * np.finfo(float).eps * abs(x):  # a few roundings
            raise ArgumentError(
                f"{mechanism.name!r} has numbers that are rounded, such as {float(x):.6g}; differences of these do not "
                "cancel. Give symbols or fractions in their place, or use prove()"
            )
        fractions[x] = sympy.Rational(fraction.numerator, fraction.denominator)
    return [entry.xreplace(fractions) for entry in entries]


def _left(found: list[Any], reference: list[Any], q: np.ndarray) -> str:
    """The first difference that does not vanish, as text."""
    for x, y in zip(found, reference):
        difference = reduced(x - y, q)
        if difference != 0:
            return str(difference)
    return ""


def reduced(expression: Any, q: np.ndarray) -> Any:
    """An expression in sines and cosines in a form that is zero only if the expression is.

    Args:
        expression: a rational function of sines and cosines of sums of coordinates, and of other symbols.
    """
    import sympy

    found = sympy.expand(sympy.expand_trig(sympy.sympify(expression, strict=True)))
    if any(power.exp.is_negative and power.base.is_Add for power in found.atoms(sympy.Pow)):
        found = sympy.expand(sympy.numer(sympy.together(found)))
    for x in q:
        S, C = sympy.Dummy("s"), sympy.Dummy("c")
        found = found.subs({sympy.sin(x): S, sympy.cos(x): C})
        if found.has(S):
            terms = sympy.Poly(found, S).as_dict()
            found = sum(
                (factor * S ** (power % 2) * (1 - C**2) ** (power // 2) for (power,), factor in terms.items()),
                sympy.Integer(0),
            )
        found = sympy.expand(found).subs({S: sympy.sin(x), C: sympy.cos(x)})
    return found

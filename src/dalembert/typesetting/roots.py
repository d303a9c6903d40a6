"""Square roots and quotients of polynomials that come out even, and sums of squares: what lengths of springs are."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dalembert.typesetting.polynomials import BITS, BYTE, Coefficient, Polynomial

MOST_TERMS = 60
"""Terms of a polynomial up to which a root is looked for."""


def quotient(p: Polynomial, divisor: Polynomial) -> Polynomial | None:
    """p / divisor if that is a polynomial, None otherwise.

    Args:
        p: any polynomial; the relations between its generators are not used.
        divisor: not zero.
    """
    lead = max(divisor)  # integers order monomials lexicographically, which products respect
    found: Polynomial = {}
    rest = dict(p)
    while rest:
        top = max(rest)
        step = _monomial_quotient(top, lead)
        if step is None:
            return None
        c = _whole(Fraction(rest[top]) / divisor[lead])
        found[step] = c
        _subtract(rest, step, c, divisor)
    return found


def square_root(p: Polynomial) -> Polynomial | None:
    """s with s s = p as polynomials and a positive leading coefficient, or None.

    Args:
        p: not zero; the relations between its generators are not used.
    """
    if len(p) > MOST_TERMS:
        return None
    top = max(p)
    half, number = _half(top), _number_root(p[top])
    if half is None or number is None:
        return None
    root: Polynomial = {half: number}
    rest = {mono: c for mono, c in p.items() if mono != top}
    while rest:
        step = _monomial_quotient(max(rest), half)
        if step is None or step >= min(root) or len(root) > len(p):
            return None
        c = _whole(Fraction(rest[max(rest)]) / (2 * number))
        _subtract(rest, step, 2 * c, root)  # (s + t)^2 - s^2 = 2 s t + t^2
        _subtract(rest, step, c, {step: c})
        root[step] = c
    return root


def squares(p: Polynomial) -> list[tuple[Polynomial, Polynomial]] | None:
    """The parts of p that have no product in common, each with its root; None if one of them is no square.

    x1^2 - 2 x1 x2 + x2^2 + y^2 has the parts (x1 - x2)^2 and y^2.

    Args:
        p: any polynomial.
    """
    if len(p) > MOST_TERMS:
        return None
    pure = {half: {half} for mono in p if (half := _half(mono)) is not None}
    mixed: list[tuple[int, int]] = []
    for mono in p:
        if _half(mono) is None:
            factors = [(a, b) for a in pure for b in pure if a < b and a + b == mono]
            if len(factors) != 1:
                return None
            mixed.append((mono, factors[0][0]))
            one, other = (pure[x] for x in factors[0])
            if one is not other:
                one |= other
                for member in other:
                    pure[member] = one
    parts = []
    for group in {id(group): group for group in pure.values()}.values():
        part = {2 * a: p[2 * a] for a in group} | {mono: p[mono] for mono, a in mixed if a in group}
        root = square_root(part)
        if root is None:
            return None
        parts.append((part, root))
    return parts


def _subtract(p: Polynomial, mono: int, c: Coefficient, r: Polynomial) -> None:
    """p - c mono r, in place."""
    for other, x in r.items():
        left = p.get(mono + other, 0) - c * x
        if left:
            p[mono + other] = left
        else:
            p.pop(mono + other, None)


def _monomial_quotient(a: int, b: int) -> int | None:
    shift = 0
    while b >> shift:
        if a >> shift & BYTE < b >> shift & BYTE:
            return None
        shift += BITS
    return a - b


def _half(mono: int) -> int | None:
    """The monomial whose square this is."""
    odd, shift = False, 0
    while mono >> shift:
        odd |= bool(mono >> shift & 1)
        shift += BITS
    return None if odd else mono >> 1


def _number_root(c: Coefficient) -> Coefficient | None:
    c = Fraction(c)
    if c <= 0:
        return None
    above, below = isqrt(c.numerator), isqrt(c.denominator)
    return _whole(Fraction(above, below)) if above**2 == c.numerator and below**2 == c.denominator else None


def _whole(c: Fraction) -> Coefficient:
    return c.numerator if c.denominator == 1 else c

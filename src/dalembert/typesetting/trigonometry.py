"""The shortest way to write a polynomial in sines and cosines, among those a textbook would use.

Candidates are made from the canonical form (no squares of sines): Pythagoras backwards, sums of angles contracted,
sums and differences of angles as new angles, and the Fourier form. The one with the fewest terms, then the fewest
factors, wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from dalembert.typesetting.polynomials import BITS, BYTE, Algebra, Angle, Coefficient, Polynomial, normal

Factor = tuple[str, Angle]
Form = tuple[tuple[Factor, int], ...]
"""A product of powers of sines and cosines: ((("cos", angle), exponent), ...), sorted."""
Terms = dict[Form, Coefficient]

LARGEST = 24
"""Polynomials with more terms than this are only cleaned up by Pythagoras."""


def shortest(algebra: Algebra, p: Polynomial, memo: dict[tuple, Terms]) -> Terms:
    """The shortest known form of a polynomial in sines and cosines only.

    Args:
        algebra: where its generators live.
        p: the polynomial, in canonical form.
        memo: answers given before.
    """
    key = tuple(sorted(p.items()))
    if key not in memo:
        memo[key] = min(_candidates(algebra, p), key=_length) if len(p) > 1 else _terms(algebra, p)
    return memo[key]


def _candidates(algebra: Algebra, p: Polynomial) -> Iterator[Terms]:
    yield _terms(algebra, pythagoras(algebra, p))
    if len(p) > LARGEST:
        return
    yield contracted(_terms(algebra, pythagoras(algebra, p)))
    yield contracted(_terms(algebra, p))
    yield fourier(_terms(algebra, p))
    angles = _angles(algebra, p)
    if len(angles) > 1:
        yield from (fourier(_terms(algebra, p), angle) for angle in angles)
    best, q = len(p), p
    for _ in range(3):  # one new angle after the other, as long as it pays
        better = min(_with_new_angle(algebra, q), key=len, default=q)
        if len(better) > best:
            break
        best, q = len(better), better
        tidy = _terms(algebra, pythagoras(algebra, q))
        yield tidy
        yield contracted(tidy)
        if len(q) == 1:
            break


def pythagoras(algebra: Algebra, p: Polynomial) -> Polynomial:
    """A X - A X cos^2 becomes A X sin^2, and the like, until nothing gets shorter."""
    p = dict(p)
    pairs = [(1 << BITS * s, 1 << BITS * c) for s, c in (algebra.angles[angle] for angle in _angles(algebra, p))]
    changed = True
    while changed:
        changed = False
        for mono in sorted(p):
            for s, c in pairs:
                if p.get(mono) is None:
                    break
                a = p[mono]
                if mono + 2 * c in p and p[mono + 2 * c] == -a:  # 1 - cos^2
                    parts, result = (mono, mono + 2 * c), mono + 2 * s
                elif mono + 2 * s in p and p[mono + 2 * s] == -a:  # 1 - sin^2
                    parts, result = (mono, mono + 2 * s), mono + 2 * c
                elif _has_square(mono, s) and p.get(mono - 2 * s + 2 * c) == a:  # sin^2 + cos^2
                    parts, result = (mono, mono - 2 * s + 2 * c), mono - 2 * s
                else:
                    continue
                algebra.spend(1)
                for part in parts:
                    del p[part]
                total = p.get(result, 0) + a
                p.pop(result, None)
                if total:
                    p[result] = total
                changed = True
    return p


def _has_square(mono: int, unit: int) -> bool:
    return mono & (unit * (BYTE - 1)) != 0


def _with_new_angle(algebra: Algebra, p: Polynomial) -> Iterator[Polynomial]:
    """p written in angles a and a + b, or a and b - a, instead of a and b."""
    for first, second in combinations(_angles(algebra, p), 2):
        for old, kept in ((second, first), (first, second)):
            for sign in (1, -1):
                total = dict(old)
                for atom, k in kept:
                    total[atom] = total.get(atom, 0) + sign * k
                new, flip = normal(total)
                if not new or new == kept:
                    continue
                # old = new -+ kept
                s_n, c_n = _waves(algebra, new)
                s_k, c_k = _waves(algebra, kept)
                s_n = algebra.scale(s_n, flip)
                sine = algebra.add(algebra.multiply(s_n, c_k), algebra.multiply(c_n, s_k), -sign)
                cosine = algebra.add(algebra.multiply(c_n, c_k), algebra.multiply(s_n, s_k), sign)
                s_o, c_o = algebra.sine_cosine(old)
                yield algebra.substituted(p, {s_o: sine, c_o: cosine})


def _waves(algebra: Algebra, angle: Angle) -> tuple[Polynomial, Polynomial]:
    s, c = algebra.sine_cosine(angle)
    return {1 << BITS * s: 1}, {1 << BITS * c: 1}


def _angles(algebra: Algebra, p: Polynomial) -> list[Angle]:
    present = 0
    for mono in p:
        present |= mono
    return [angle for angle, (s, c) in algebra.angles.items() if present & (BYTE << BITS * s | BYTE << BITS * c)]


def contracted(terms: Terms) -> Terms:
    """cos a cos b - sin a sin b becomes cos(a + b), and the like, until nothing gets shorter."""
    terms = dict(terms)
    while step := _contraction(terms):
        removed, added = step
        for form in removed:
            del terms[form]
        for form, c in added.items():
            total = terms.get(form, 0) + c
            terms.pop(form, None)
            if total:
                terms[form] = total
    return terms


def _contraction(terms: Terms) -> tuple[tuple[Form, Form], Terms] | None:
    for form in sorted(terms):
        factors = dict(form)
        for one, two in combinations(sorted(factors), 2):
            (f, a), (g, b) = one, two
            if a == b:
                continue
            partner = _changed(factors, {one: -1, two: -1, (_other(f), a): 1, (_other(g), b): 1})
            ratio = Fraction(terms[partner]) / terms[form] if partner in terms and partner != form else 0
            if abs(ratio) != 1:
                continue
            rest = _changed(factors, {one: -1, two: -1})
            sign = 1
            if f == g:  # cc + r ss = cos(a - r b);  ss + r cc = r cos(a - r b)
                combined, flip = _combined(a, b, -1 if ratio > 0 else 1)
                sign = 1 if f == "cos" or ratio > 0 else -1
                kind = "cos"
            else:  # sc + r cs = sin(a + r b);  cs + r sc = r sin(a + r b)
                combined, flip = _combined(a, b, 1 if ratio > 0 else -1)
                sign = flip if f == "sin" or ratio > 0 else -flip
                kind = "sin"
            if not combined:
                continue
            new = _changed(dict(rest), {(kind, combined): 1})
            return (form, partner), {new: sign * terms[form]}
    return None


def fourier(terms: Terms, only: Angle | None = None) -> Terms:
    """The same as a sum of single sines and cosines of combined angles.

    Args:
        terms: what to write so.
        only: the angle whose powers become multiples; the others stay as they are. All by default.
    """
    total: Terms = {}
    for form, coefficient in terms.items():
        if sum(e for _, e in form) > 8:
            return terms
        rest = {factor: e for factor, e in form if only is not None and factor[1] != only}
        waves: dict[tuple[str, Angle], Coefficient] = {("cos", ()): coefficient}
        for (kind, angle), exponent in form:
            if (kind, angle) not in rest:
                for _ in range(exponent):
                    waves = _times_wave(waves, kind, angle)
        for wave, c in waves.items():
            key = _changed(rest, {wave: 1} if wave[1] else {})
            total[key] = total.get(key, 0) + c
    return {form: c for form, c in total.items() if c}


def _times_wave(waves: dict[tuple[str, Angle], Coefficient], kind: str, angle: Angle) -> dict:
    """Product to sum: the waves times one more sine or cosine."""
    result: dict[tuple[str, Angle], Coefficient] = {}
    for (f, a), c in waves.items():
        half = Fraction(c, 2)
        for sign in (1, -1):  # of the angle that is added
            combined, flip = _combined(a, angle, sign)
            match f, kind:
                case "cos", "cos":
                    g, x = "cos", half
                case "sin", "sin":
                    g, x = "cos", -sign * half
                case "sin", "cos":
                    g, x = "sin", flip * half
                case _:
                    g, x = "sin", sign * flip * half
            if g == "cos" or combined:
                result[g, combined] = result.get((g, combined), 0) + x
    return {wave: c for wave, c in result.items() if c}


def _combined(a: Angle, b: Angle, sign: int) -> tuple[Angle, int]:
    total = dict(a)
    for atom, k in b:
        total[atom] = total.get(atom, 0) + sign * k
    return normal(total)


def _changed(factors: dict[Factor, int], changes: dict[Factor, int]) -> Form:
    result = dict(factors)
    for factor, change in changes.items():
        result[factor] = result.get(factor, 0) + change
    return tuple(sorted((factor, e) for factor, e in result.items() if e))


def _other(kind: str) -> str:
    return "sin" if kind == "cos" else "cos"


def _terms(algebra: Algebra, p: Polynomial) -> Terms:
    return {tuple(sorted((algebra.generators[k], e) for k, e in algebra.exponents(mono))): c for mono, c in p.items()}


def _length(terms: Terms) -> tuple[int, int, int, list]:
    factors = sum(e for form in terms for _, e in form)
    spread = sum(abs(k) for form in terms for (_, angle), _ in form for _, k in angle)
    return len(terms), factors, spread, sorted(terms)

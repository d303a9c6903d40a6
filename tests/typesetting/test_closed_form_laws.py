"""Closed forms as laws: they equal the program they were made of, they are exact, short, and bounded in work."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra.scalar import atan2, cos, exp, sin, sqrt, tan
from dalembert.algebra.transform import Transform
from dalembert.errors import UnsupportedError
from dalembert.formats import load
from dalembert.formulations import derive
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace
from dalembert.typesetting.closed_form import closed_forms
from dalembert.typesetting.polynomials import Algebra, Swell, quotient, square_root
from dalembert.typesetting.trigonometry import contracted, fourier, pythagoras, shortest

A, B, C = sympy.symbols("a b c")


def closed(function) -> sympy.Expr:
    program = trace(lambda q: [function(*q)], {"q": (3,)}, "f")
    return closed_forms(program, {"q": [A, B, C]})[0][0]


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda a, b, c: sin(a) * cos(b) + cos(a) * sin(b), sympy.sin(A + B)),
        (lambda a, b, c: cos(a) * cos(b) + sin(a) * sin(b), sympy.cos(A - B)),
        (lambda a, b, c: (cos(a) * cos(b)) ** 2 + (cos(a) * sin(b)) ** 2, sympy.cos(A) ** 2),
        (lambda a, b, c: b - b * cos(a) ** 2 + c * cos(a) ** 2, B * sympy.sin(A) ** 2 + C * sympy.cos(A) ** 2),
        (lambda a, b, c: (sin(a) * cos(b) + cos(a) * sin(b)) ** 2, sympy.sin(A + B) ** 2),
        (lambda a, b, c: sin(a + b) * cos(c) + cos(a + b) * sin(c), sympy.sin(A + B + C)),
        (lambda a, b, c: cos(a) ** 2 - sin(a) ** 2, sympy.cos(2 * A)),
        (lambda a, b, c: sin(3 * a) * cos(b) ** 2, sympy.sin(3 * A) * sympy.cos(B) ** 2),
        (lambda a, b, c: tan(a) * cos(a), sympy.sin(A)),
        (lambda a, b, c: b + b * (cos(a) / sin(a)) ** 2, B / sympy.sin(A) ** 2),
        (lambda a, b, c: b + b * (sin(a) / cos(a)) ** 2, B / sympy.cos(A) ** 2),
        (lambda a, b, c: (a * sin(a) + a * b) / a, sympy.sin(A) + B),
        (lambda a, b, c: sqrt(a) * sqrt(a), A),
        (lambda a, b, c: a / 3 + a / 6, A / 2),
        (lambda a, b, c: math.sqrt(0.5) * a * math.sqrt(0.5), A / 2),
        (lambda a, b, c: 9.81 * a, 9.81 * A),
        (lambda a, b, c: math.pi * a / 4, sympy.pi * A / 4),
        (lambda a, b, c: b * sin(a) - sin(a) * b, sympy.Integer(0)),
        (lambda a, b, c: exp(a) * exp(a), sympy.exp(A) ** 2),
        (lambda a, b, c: 1 / (cos(a) ** 2 + sin(a) ** 2), sympy.Integer(1)),
        (lambda a, b, c: 1 / (a + 1 / (b + c)), (B + C) / (A * (B + C) + 1)),
        (lambda a, b, c: a / (b * cos(a)) * cos(a) * b, A),
        (lambda a, b, c: sqrt((a - b) * (a - b) + c * c), sympy.sqrt((A - B) ** 2 + C**2)),
        (lambda a, b, c: sqrt(a * a), sympy.Abs(A)),
        (lambda a, b, c: a / sqrt(a * a), sympy.sign(A)),
        (lambda a, b, c: (b - a) / sqrt((b - a) * (b - a)), sympy.sign(B - A)),
        (lambda a, b, c: (sqrt(4 * a * a) - c) * a / sqrt(a * a), 2 * A - C * sympy.sign(A)),
        (lambda a, b, c: (a * a - b * b) / (a - b), A + B),
        (lambda a, b, c: atan2(2 * sin(a), 2 * cos(a)), sympy.atan2(sympy.sin(A), sympy.cos(A))),
    ],
)
def test_textbook_shapes(function, expected):
    found = closed(function)
    assert found == expected or sympy.expand(sympy.fraction(sympy.together(found - expected))[0]) == 0
    assert sympy.count_ops(found) <= sympy.count_ops(expected) + 1


def expressions() -> st.SearchStrategy:
    """Random functions of three scalars, built from the operations of kinematics."""
    leaf = st.sampled_from(
        [lambda a, b, c: a, lambda a, b, c: b, lambda a, b, c: c, lambda a, b, c: 0.5, lambda a, b, c: 2]
    )

    def unary(f, g):
        return lambda a, b, c: f(g(a, b, c))

    def binary(op, f, g):
        return lambda a, b, c: op(f(a, b, c), g(a, b, c))

    operators = st.sampled_from([lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y])
    waves = st.sampled_from([sin, cos])
    angle = st.sampled_from(
        [lambda a, b, c: a, lambda a, b, c: b, lambda a, b, c: a + b, lambda a, b, c: a - 2 * b, lambda a, b, c: c / 2]
    )
    length = st.sampled_from(
        [lambda x: sqrt(x * x), lambda x: sqrt(x * x + 1), lambda x: (x + 3) / sqrt((x + 3) * (x + 3))]
    )
    base = st.one_of(leaf, st.builds(unary, waves, angle), st.builds(unary, length, angle))
    return st.recursive(base, lambda inner: st.builds(binary, operators, inner, inner), max_leaves=8)


@settings(max_examples=60)
@given(expressions())
def test_closed_form_equals_the_program(function):
    program = trace(lambda q: [function(*q) * 1 + q[0] * 0], {"q": (3,)}, "f")
    expression = closed_forms(program, {"q": [A, B, C]})[0][0]
    at = np.array([0.7, -1.3, 0.4])
    exact = evaluate(program, [at])["result"][0]
    found = float(expression.subs(dict(zip((A, B, C), at))))
    # A few dozen roundings of numbers of order one to a hundred.
    assert found == pytest.approx(exact, rel=1e-11, abs=1e-11)


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 2)),
        min_size=1,
        max_size=6,
    )
)
def test_every_candidate_form_is_the_same_function(terms):
    algebra = Algebra()
    s1, c1 = algebra.sine_cosine(((0, 1),))
    s2, c2 = algebra.sine_cosine(((1, 1),))
    p = algebra.reduce({i << 8 * s1 | j << 8 * c1 | k << 8 * s2 | l << 8 * c2: x for x, i, j, k, l in terms})
    if not p:
        return
    at = (0.9, -0.4)

    def value(form_terms) -> float:
        total = 0.0
        for form, coefficient in form_terms.items():
            factor = float(coefficient)
            for (kind, angle), exponent in form:
                argument = sum(at[atom] * k for atom, k in angle)
                factor *= getattr(math, kind)(argument) ** exponent
            total += factor
        return total

    from dalembert.typesetting.trigonometry import _terms

    plain = _terms(algebra, p)
    reference = value(plain)
    merged = _terms(algebra, pythagoras(algebra, p))
    best = shortest(algebra, p, {})
    for other in (merged, contracted(plain), contracted(merged), fourier(plain), fourier(plain, ((0, 1),)), best):
        assert value(other) == pytest.approx(reference, abs=1e-9)
    assert len(best) <= min(len(plain), len(merged))


def test_work_is_bounded_and_the_error_says_what_to_do():
    def swelling(q):
        x = q[0]
        for _ in range(40):
            x = sin(x * q[1] + q[2]) * (x + q[0]) + cos(x)
        return [x]

    program = trace(swelling, {"q": (3,)}, "f")
    with pytest.raises(Swell):
        closed_forms(program, {"q": [A, B, C]}, budget=200_000)
    algebra = Algebra(budget=200_000)
    many = dict.fromkeys(range(1000), 1)
    with pytest.raises(Swell):  # a million products are refused before the first of them is made
        algebra.multiply(many, many)
    assert algebra.left == 200_000 - 1000 * 1000 - 1
    scope = Scope()
    q = scope.input("q", ["a", "b", "c"])
    quantity = DerivedQuantity(scope, "monster", "x", swelling(q))
    with pytest.raises(UnsupportedError, match="intermediates"):
        quantity.sympy()
    definitions, result = quantity.intermediates()
    assert len(definitions) == 39 and result.shape == (1, 1)
    assert "aligned" in quantity.latex()
    assert "operations" in str(quantity)


def test_a_root_is_found_exactly_where_there_is_one():
    """Random polynomials: the square has a root, which is the polynomial up to its sign; one more term has none."""
    rng = np.random.default_rng(4)
    for _ in range(200):
        p = {
            int(sum(int(e) << 8 * k for k, e in enumerate(rng.integers(0, 4, 3)))): 1 + int(rng.integers(5))
            for _ in "ab"
        }
        p |= {int(rng.integers(1, 4)) << 24: -3}
        square: dict = {}
        for (a, x), (b, y) in itertools.product(p.items(), p.items()):
            square[a + b] = square.get(a + b, 0) + x * y
        square = {mono: c for mono, c in square.items() if c}
        root = square_root(square)
        assert root == p or root == {mono: -c for mono, c in p.items()}
        assert quotient(square, p) == p
        assert square_root(square | {max(square) + 1: 1}) is None
        assert quotient(square | {1 << 40: 1}, p) is None


def test_the_unit_length_of_a_quaternion_is_used():
    p, e = sympy.symbols("p1:4"), sympy.Symbol("e")
    program = trace(lambda q: [(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]) * q[0]], {"q": (4,)}, "f")
    assert closed_forms(program, {"q": [*p, e]}, units=[[*p, e]])[0][0] == p[0]
    assert closed_forms(program, {"q": [*p, e]})[0][0] != p[0]


@pytest.mark.parametrize(
    "value, shown",
    [
        (9.81, "9.81*a"), (784 / 75, "784*a/75"), (1 / 3, "a/3"), (0.1 + 0.2, "3*a/10"),
        (0.9 * 0.4 * 0.7 * 100, "126*a/5"),
        (1e-3, "0.001*a"), (2.0, "2*a"), (1.0, "a"), (0.0123, "0.0123*a"), (math.e, "2.71828182845905*a"),
    ],
)  # fmt: skip
def test_numbers_read_as_they_were_written(value, shown):
    """A few roundings away from a simple fraction is that fraction; short decimals stay decimals."""
    assert str(closed(lambda a, b, c: value * a)) == shown


def test_signs_of_symbols_that_are_positive_are_not_written():
    length = sympy.Symbol("l", positive=True)
    program = trace(lambda q: [sqrt(q[0] * q[0] * q[1] * q[1])], {"q": (2,)}, "f")
    assert closed_forms(program, {"q": [length, A]})[0][0] == length * sympy.Abs(A)


def test_large_exponents_swell_instead_of_overflowing():
    def power(q):
        x = q[0]
        for _ in range(9):
            x = x * x
        return [x]

    with pytest.raises(Swell):
        closed_forms(trace(power, {"q": (3,)}, "f"), {"q": [A, B, C]})


def test_floats_keep_their_digits_where_they_have_no_common_factor():
    """The greatest common factor of floats is a power of two; taken out, it leaves integers of sixteen digits."""
    steps = derive(load("rrr"), "newton-euler").steps()
    closed = [x for q in steps[0].quantities if q.is_simplified for x in np.ravel(q.sympy())]
    integers = {abs(int(n)) for x in closed for n in x.atoms(sympy.Integer)}
    assert len(closed) > 10 and max(integers) < 10**6


@pytest.mark.parametrize("length", [0.3, 0.17, 0.002])
def test_no_decimal_is_made_of_a_whole_number(length):
    """Beside a decimal a symbol keeps its 1, and gets no factor of hundreds: a + 0.09 b."""
    for symbol in ("l", "M", "I"):
        M = derive(load("cart_pole")).substitute({symbol: length}).sympy("mass_matrix")
        assert all(0 < abs(x) < 1 for x in M.atoms(sympy.Float))
        assert all(abs(x) <= 2 for x in M.atoms(sympy.Integer))


@settings(max_examples=12)
@given(st.lists(st.floats(0.1, 1.4), min_size=3, max_size=3), st.floats(0.05, 0.9))
def test_what_rounding_leaves_of_zero_is_not_written(angles, length):
    """An arm askew in all ways: gravity has no moment about a vertical axis, and no coefficient is a residue."""
    turns = [Transform.from_rpy_xyz([*angles[:k], *[0] * (3 - k)], [length, 0, 0.3]) for k in range(3)]
    matter = Inertia(1.5, [0.1, 0.02, 0.03], np.diag([0.1, 0.15, 0.2]))
    arm = Mechanism(
        "askew",
        (Body("a", matter), Body("b", matter)),
        (Joint("j1", "revolute", WORLD, "a", turns[0]), Joint("j2", "revolute", "a", "b", turns[2])),
    )
    for method in ("lagrange", "newton-euler"):
        gravity = derive(arm, method).gravity
        if not gravity.is_simplified:
            continue  # more odd numbers than any textbook has
        first, second = gravity.sympy()
        assert first == 0
        q = {x: 0.3 + k for k, x in enumerate(gravity.scope.symbols["q"])}
        expected = gravity.evaluate({"q": list(q.values())})
        assert abs(float(second.subs(q)) - expected[1]) < 1e-13
        sizes = [abs(float(term.as_coeff_Mul()[0])) for term in sympy.Add.make_args(second)]
        assert min(sizes) > 1e-15 * max(sizes)


def test_numbers_stay_exact_where_all_have_an_exact_form():
    assert closed(lambda a, b, c: math.sqrt(0.5) * a + 1e-20 * sin(b)).coeff(sympy.sin(B)) != 0
    assert closed(lambda a, b, c: math.sqrt(2) * a) == sympy.sqrt(2) * A


@pytest.mark.parametrize("share", [sympy.Rational(2, 5), sympy.Rational(784, 75), sympy.sqrt(2) / 3, sympy.pi / 7])
def test_exact_numbers_stay_exact_however_they_are_written(share):
    """As they stand and as named intermediates, too, where what is too long for a textbook ends up."""
    m, r = sympy.symbols("m r", positive=True)
    matter = Inertia(m, [0, 0, 0], share * m * r**2 * sympy.eye(3))
    ball = Mechanism("ball", (Body("b", matter),), (Joint("f", "spherical", WORLD, "b"),))
    M = derive(ball, "kane").mass_matrix
    definitions, written_out = M.intermediates()
    for symbol, value in definitions[::-1]:
        written_out = written_out.subs(symbol, value)
    for form in (M.sympy(), M.sympy(simplify=False), written_out):
        assert form[0, 0] == share * m * r**2


def test_numbers_stay_decimals_where_one_of_them_is_not_exact():
    M = derive(load("cart_pole")).substitute({"l": math.e, "m": 0.4}).mass_matrix
    for form in (M.sympy(simplify=False), M.intermediates()[1]):
        assert sympy.Float(0.4) in form.atoms(sympy.Float)

"""Expressions: what they mean, and that nothing hostile gets through or takes long."""

import contextlib
import math
import time

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import FormatError
from dalembert.model.expression import evaluate, evaluate_exact, names

m3, l3, x, y = sp.symbols("m3 l3 x y", real=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi/2", math.pi / 2), ("-0.5*sin(pi/6)", -0.25), ("2**3**2", 512), ("-2**2", -4), ("(-2)**2", 4),
        ("2**-1", 0.5),
        ("1 - 2 - 3", -4), ("8/4/2", 1), ("--1", 1), ("sqrt(2)**2", 2), ("exp(0)", 1), ("tan(pi/4)", 1),
        (".5e1 + 1.", 6), ("cos(pi/2)", 0), ("sin(pi)", 0), ("2*(3 + 4)*5", 70), ("1e-3", 0.001),
        ("abs(-3/2)", 1.5), ("log(exp(2))", 2), ("atan2(1, -1)", 3 * math.pi / 4), ("atan2(-2, 0)", -math.pi / 2),
        ("asin(1)", math.pi / 2), ("acos(-1)", math.pi), ("atan(-1)", -math.pi / 4), ("π/2", math.pi / 2),
        ("-2*𝜋", -2 * math.pi), ("atan2(sin(2), cos(2))", 2), ("sinh(log(2))", 0.75), ("cosh(log(2))", 1.25),
        ("tanh(log(2))", 0.6), ("asinh(3/4)", math.log(2)), ("acosh(5/4)", math.log(2)), ("atanh(3/5)", math.log(2)),
    ],
)  # fmt: skip
def test_numbers(text, value):
    assert evaluate(text) == pytest.approx(value, abs=1e-15, rel=1e-15)
    assert float(evaluate_exact(text)) == pytest.approx(value, abs=1e-15, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pi/2", sp.pi / 2), ("m3*l3", m3 * l3), ("1/3", sp.Rational(1, 3)), ("0.5*x", x / 2), ("x - x", 0),
        ("sin(x)**2 + y/x", sp.sin(x) ** 2 + y / x), ("sqrt(2)*x", sp.sqrt(2) * x), ("4/2", 2),
        ("-x**2/(1 + y)", -(x**2) / (1 + y)), ("cos(pi/6)", sp.sqrt(3) / 2), ("0.25", 0.25),
        ("abs(x)*π", sp.Abs(x) * sp.pi), ("log(x)", sp.log(x)),
        ("atan2(y, x)", sp.atan2(y, x)), ("atan2(1, 1)", sp.pi / 4),
    ],
)  # fmt: skip
def test_exact_values(text, value):
    assert evaluate_exact(text) == value


def test_kinds_of_exact_results():
    assert type(evaluate_exact("6/3")) is int
    assert type(evaluate_exact("0.1 + 0.2")) is float
    assert evaluate_exact("1/3").is_Rational
    assert evaluate_exact("x").is_real


def test_names_are_what_is_not_known():
    assert names("m3*l3 + sin(pi*x) - 2e3") == {"m3", "l3", "x"}
    assert evaluate("m*l**2", {"m": 2, "l": 3}) == 18
    with pytest.raises(FormatError, match="'k', which has no value; known are l, m"):
        evaluate("k*m", {"m": 2, "l": 3})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"), ("  ", "empty"), ("1+", "ends too early"), ("(1", "closing parenthesis"), ("1)", "unexpected"),
        ("2 m", "unexpected 'm'"), ("2^3", "powers are written"), ("sin x", "parentheses"),
        ("gamma(1)", "functions are"), ("cosh(800)", "reasonable size"), ("acosh(1/2)", "not a real number"),
        ("atanh(1)", "not a real number"),
        ("nan", "not a number"), ("inf", "not a number"), ("1/0", "divides by zero"), ("1/(1-1)", "divides by zero"),
        ("sqrt(-1)", "not a real number"), ("(-8)**(1/3)", "negative number"), ("0**-1", "divides by zero"),
        ("tan(pi/2)", "divides by zero"), ("1e61", "exceeds"), ("a.b", "no meaning"), ("x[0]", "no meaning"),
        ("__import__('os')", "no meaning"), ("__import__(x)", "functions are"),
        ("1_000", "unexpected"), ("0x10", "unexpected"), ("x;y", "no meaning"),
        ("sin(1e7)", "no longer knows the angle"), ("log(0)", "not a real number"), ("log(-1)", "not a real number"),
        ("asin(2)", "not a real number"), ("atan2(0, 0)", "no direction"),
        ("atan2(1)", "gives atan2 1 argument; it takes 2"),
        ("abs(1, 2)", "gives abs 2 arguments"), ("1,5", "decimals come after a point"), ("2π", "a product is written"),
        ("90°", "radians"), ("30deg", "radians"), ("2*45 degrees", "radians"),
        ("atan2(1, 2", "closing parenthesis"), ("log()", "unexpected"),
    ],
)  # fmt: skip
def test_errors(text, message):
    for function in (lambda t: evaluate(t, {"x": 1, "y": 1, "m": 1}), evaluate_exact):
        with pytest.raises(FormatError, match=message.replace("(", r"\(")):
            function(text)


@pytest.mark.parametrize("text", ["1/(x - x)", "sqrt(-x**2)", "x**y", "2**x", "(x - x)**-1"])
def test_errors_among_symbols(text):
    with pytest.raises(FormatError):
        evaluate_exact(text)


HOSTILE = [
    "9**9**9**9", "(" * 500 + "1" + ")" * 500, "-" * 900 + "1", "x" * 2000, "((9**64)**64)**64", "1e-400000000",
    "(1+1/9**60)**64**1", "exp(exp(exp(9)))", "sin(" * 60 + "x" + ")" * 60, "sqrt(9**60+1)", "((x**64)**64)**64",
    "*".join(f"(x{k}+1)" for k in range(100)), "+".join(f"sin(x{k})" for k in range(90)), "**2" * 300, "2" + "**2" * 49,
    "sqrt(" * 49 + "2" + ")" * 49, "cos(pi/" + "9" * 900 + ")", "1/" * 499 + "3", "9" * 999,
    "log(" + "9" * 50 + "/7**20)", "log(" * 49 + "x" + ")" * 49, "atan2(9**60, 7**70)", "abs(" * 49 + "x" + ")" * 49,
    "acos(1/" + "9" * 55 + ")", "atan2(" * 45 + "x" + ", y)" * 45, "log(log(log(9**9)))",
    "exp(log(" * 20 + "2" + "))" * 20, "cosh(" * 49 + "x" + ")" * 49, "tanh(" * 49 + "1" + ")" * 49,
    "sinh(atanh(acosh(" * 12 + "x" + ")))" * 12, "sinh(acosh(" + "9" * 50 + "))",
    "+".join(f"x{k}" for k in range(2500)), "sin(" * 40 + "-".join(f"x{k}" for k in range(2000)) + ")" * 40,
    "+".join(f"1/{k}" for k in range(2, 2500)), "*".join(["x"] * 9999), "+".join(["7**64/9**64"] * 1500),
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_input_ends_quickly(text):
    start = time.process_time()
    for function in (evaluate, evaluate_exact):
        with contextlib.suppress(FormatError):
            function(text)
    assert time.process_time() - start < 2


ATOMS = st.sampled_from(["1", "2.5", "pi", "x", "y", "(", ")", "+", "-", "*", "/", "**", "sin (", "sqrt (", "3"])


@given(st.lists(ATOMS, max_size=12).map(" ".join))
def test_where_both_evaluations_answer_they_agree(text):
    values = {"x": 0.7, "y": -1.3}
    try:
        exact, number = evaluate_exact(text), evaluate(text, values)
    except FormatError:
        return
    substituted = sp.sympify(exact).subs({sp.Symbol(name, real=True): value for name, value in values.items()})
    assert number == pytest.approx(float(substituted.evalf(30)), rel=1e-9, abs=1e-9)


def test_pi_may_be_written_in_greek():
    assert evaluate("π/2") == evaluate("pi/2")
    assert evaluate_exact("2*π") == evaluate_exact("2*pi")
    assert names("π*m") == {"m"}


@pytest.mark.parametrize(
    "term", ["{0}*a{1}*b{2}/{3}", "-{0}*sin(a{1})*(b{2} + {3})", "a{1}**{2}/({3} + b{2}) - {0}/{3}"]
)
def test_long_sums_are_the_sums_of_their_terms(term):
    """Read at once or one by one; what welding makes of symbols has thousands of characters."""
    terms = [term.format(i + 1, i % 5, i % 3, 2 + i % 7) for i in range(400)]
    whole = evaluate_exact(" + ".join(terms))
    assert whole == sp.Add(*map(evaluate_exact, terms))
    values = {symbol: 0.3 + k / 10 for k, symbol in enumerate(sorted(whole.free_symbols, key=str))}
    number = evaluate(" + ".join(terms), {symbol.name: value for symbol, value in values.items()})
    assert number == pytest.approx(float(whole.subs(values)), rel=1e-9)


def test_what_would_take_the_square_of_the_time_is_refused():
    factors = "*".join(f"x{k}" for k in range(101))
    with pytest.raises(FormatError, match="more than 100 factors"):
        evaluate_exact(factors)
    with pytest.raises(FormatError, match="longer than 20000 characters"):
        evaluate_exact("+".join(["x"] * 10_001))

"""Layout keeps what it is given: all terms, all entries, within the page; closed forms have the right values."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
import report_cases as cases
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.formulations import derive
from dalembert.report import document
from dalembert.report.forms import COLUMN, Forms, definitions, narrowed, without_residues
from dalembert.report.layout import WIDTH, array_rows, entry_rows, sum_rows, width
from dalembert.report.markdown import to_markdown
from dalembert.tracing.sympy import to_sympy_steps
from dalembert.typesetting.notation import Notation

x, y, theta, theta1 = sympy.symbols("x y theta theta1")

TERMS = st.lists(st.sampled_from(["a", "-b", r"\frac{a}{b}", r"l_{3} \cos q_{2}", "-2 x^{2}"]), min_size=1, max_size=60)


@given(TERMS)
def test_lines_hold_all_terms_in_order_and_fit_the_page(terms):
    rows = sum_rows("K", terms)
    joined = " ".join(right for _, right in rows).removeprefix("= ").replace(r"\quad {}", "")
    expected = terms[0] + "".join(f" - {t[1:]}" if t.startswith("-") else f" + {t}" for t in terms[1:])
    assert joined.replace(" ", "") == expected.replace(" ", "")
    assert [left for left, _ in rows] == ["K"] + [""] * (len(rows) - 1)
    assert all(width(right) <= WIDTH + 4 for _, right in rows)


@given(st.lists(st.sampled_from(["a", "b_{1}", r"\dot{q}", r"\sin q"]), max_size=8), st.text("abc{}", max_size=3))
def test_width_adds_up(parts, rest):
    assert width("".join(f"{{{part}}}" for part in parts)) == pytest.approx(sum(map(width, parts)))
    assert width(rest) >= 0


def test_width_of_a_fraction_is_that_of_its_wider_half():
    assert width(r"\frac{a + b + c}{2}") == width("a + b + c")
    assert width("a_{1}") < width("a1")


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 2**16 - 1))
def test_entries_are_all_there_once(rows, columns, pattern):
    entries = [x if pattern >> k & 1 else sympy.Integer(0) for k in range(rows * columns)]
    matrix = np.array(entries, dtype=object).reshape(rows, columns)
    listed = entry_rows("A", entries, (rows, columns), Notation())
    named = re.findall(r"A_\{(\d)(\d)\}", " ".join(left for left, _ in listed))
    expected = {
        (str(i + 1), str(j + 1)) for i, j in itertools.product(range(rows), range(columns)) if matrix[i, j] != 0
    }
    assert set(named) == expected
    assert len(named) == len(expected)


def test_small_arrays_are_matrices_and_wide_ones_are_not():
    notation = Notation()
    ((_, small),) = array_rows("M", [x, y, y, x], (2, 2), notation)
    assert "bmatrix" in small
    wide = sum(sympy.symbols("a0:30"))
    assert all("bmatrix" not in right for _, right in array_rows("M", [wide, y, y, wide], (2, 2), notation))
    assert array_rows("M", [sympy.Integer(0)] * 4, (2, 2), notation) == [("M", "= 0")]


def test_sines_of_single_symbols_have_no_brackets_unless_a_factor_follows():
    notation = Notation()
    assert notation.latex(x * sympy.sin(theta1)) == r"x \sin \theta_{1}"
    assert notation.latex(sympy.sin(theta) ** 2 + y) == r"y + \sin^{2} \theta"
    assert r"\left(" in notation.latex(sympy.sin(theta + x))
    for factor in (x + y, sympy.Symbol("zz")):  # the argument must end where it ends
        shown = notation.latex(sympy.Mul(sympy.sin(theta), factor, evaluate=False))
        assert r"\sin \theta" not in shown or shown.endswith(r"\sin \theta")


@pytest.mark.parametrize(
    ("value", "symbolic", "numeric"),
    [(0.5, r"\frac{1}{2}", "0.5"), (1 / 12, r"\frac{1}{12}", "0.0833333"), (0.4318, "0.4318", "0.4318")],
)
def test_fractions_are_kept_where_symbols_are(value, symbolic, numeric):
    assert Notation().latex(sympy.Float(value)) == symbolic
    assert Notation(decimal=True).latex(sympy.Float(value)) == numeric


def test_velocities_get_another_dot():
    notation = Notation(rates={"a1": "q1", "a2": "thetadot2", "a3": "omega_x", "a4": "a3"})
    shown = (r"\dot{q}_{1}", r"\ddot{\theta}_{2}", r"\dot{\omega}_{x}", r"\ddot{\omega}_{x}")
    assert tuple(notation.latex(sympy.Symbol(f"a{k}")) for k in range(1, 5)) == shown


@pytest.mark.parametrize("name", ["double_pendulum", "stacker", "rp_arm", "cart_pole"])
@pytest.mark.parametrize("method", ["lagrange", "kane", "newton-euler"])
def test_what_is_shown_is_what_is_computed(name, method):
    """Closed forms, at random values, equal the numbers of the derivation to rounding errors."""
    equations = derive(da.load(name), method)
    forms = Forms(equations, Notation())
    rng = np.random.default_rng(1)
    symbols = equations.scope.symbols
    values = {port: rng.uniform(0.5, 1.5, len(group)) for port, group in symbols.items()}
    numbers = {s: v for port, group in symbols.items() for s, v in zip(group, values[port])}
    parameters = set(equations.scope.parameters)
    inputs = {port: float(v[0]) if port in parameters else v for port, v in values.items()}
    for part in ("mass_matrix", "coriolis", "gravity"):
        quantity = equations[part]
        shown = forms.closed(quantity)
        assert shown is not None
        mine = np.array([float(sympy.sympify(entry).subs(numbers)) for entry in shown]).reshape(quantity.shape)
        needed = {port.name: inputs[port.name] for port in quantity.program.inputs}
        np.testing.assert_allclose(mine, quantity.evaluate(needed), rtol=1e-12, atol=1e-12)


def test_sums_within_wide_terms_get_names_that_keep_the_value():
    """Everything fits its column, names are defined before they are used, and numbers come out the same."""
    equations = derive(cases.four_bar_by_constraint(), "kane")
    parts = {name: equations[name] for name in ("mass_matrix", "coriolis", "gravity")}
    symbols = equations.scope.symbols
    named, outputs = to_sympy_steps(equations.scope.program({k: x.values for k, x in parts.items()}, "all"), symbols)
    short, entries = narrowed(named, {name: list(outputs[name]) for name in parts}, Notation())
    assert len(short) > len(named)
    known = dict(zip((*symbols["q"], *symbols["u"]), (0.7, -0.9, 1.3, 0.4)))
    for symbol, value in short:
        known[symbol] = float(value.subs(known))
    exact = equations.evaluate([0.7, -0.9, 1.3], [0.4])
    for name, row in entries.items():
        mine = [float(x.subs(known)) for x in row]
        np.testing.assert_allclose(mine, exact[name].ravel(), rtol=1e-11)  # the loop is not closed: nothing cancels
    rows, results = definitions(equations, parts, Notation(decimal=True))
    assert all(width(left + right) <= COLUMN + width("= ") for left, right in rows)
    assert all(width(left + right) <= WIDTH + width("= ") for left, right in results)


def test_names_of_values_leave_the_symbols_of_the_user_alone():
    term = (x + y) * (x + 2 * y) * (x + 3 * y) * (x + 4 * y) * (x + 5 * y)
    x0, x1 = sympy.symbols("x0 x1")
    short, entries = narrowed([], {"f": [term.subs({x: x0, y: x1})]}, Notation())
    assert {str(symbol) for symbol, _ in short}.isdisjoint({"x0", "x1"})
    value = entries["f"][0]
    for symbol, definition in reversed(short):
        value = value.subs(symbol, definition)
    assert sympy.expand(value - term.subs({x: x0, y: x1})) == 0


@pytest.mark.parametrize("method", ["newton-euler", "lagrange", "kane"])
def test_an_arm_in_numbers_shows_no_rounding_and_keeps_its_values(method):
    """Twists that are no fractions of a turn: nothing cancels exactly, and coefficients have no common factor."""
    arm = da.load("rrr")
    text = to_markdown(document(arm, method, agreement=False)).split("## 3", 1)[1]
    assert not re.search(r"10\^\{-1[4-9]\}", text) and not re.search(r"(?<![\d.])\d{7,}", text)
    assert not re.search(r"(?<![\d.])\d+\.0(?![\d.])", text) and r"\sqrt" not in text
    equations = derive(arm, method)
    forms, state = Forms(equations, Notation(decimal=True)), ([0.3, -0.7, 1.1], [0.5, -0.4, 0.9])
    numbers = dict(zip((*equations.scope.symbols["q"], *equations.scope.symbols["v"]), (*state[0], *state[1])))
    exact = equations.evaluate(*state)
    for name in ("mass_matrix", "coriolis", "gravity"):
        if (entries := forms.closed(equations[name])) is not None:
            mine = np.array([float(x.subs(numbers)) for x in entries])
            np.testing.assert_allclose(mine, exact[name].ravel(), atol=1e-11 * np.abs(exact[name]).max())


def test_what_rounding_leaves_is_dropped_wherever_it_stands():
    tiny = sympy.Float(3e-17)
    given = [2 * x * (y + tiny * theta) + tiny * y, tiny * x, tiny * (x + y), sympy.Float(1e-9) * x, sympy.Integer(0)]
    assert without_residues(given) == [2 * x * y, 0, 0, sympy.Float(1e-9) * x, 0]
    assert without_residues([tiny * x, tiny * y]) == [tiny * x, tiny * y]  # nothing to compare with
    assert without_residues([]) == []

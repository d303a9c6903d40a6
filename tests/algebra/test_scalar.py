"""Elementary functions and small-array helpers answer alike for every kind of scalar."""

from __future__ import annotations

import cmath
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from algebra_cases import arrays, close, count, derivative, size
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.algebra.arrays import asarray, exact, product, stack
from dalembert.algebra.scalar import atan2, select
from dalembert.errors import ArgumentError
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

FUNCTIONS = ["sin", "cos", "tan", "sqrt", "exp", "log"]
x = sympy.Symbol("x")


class Foreign:
    """A scalar of an unknown kind, which answers by its own methods."""

    def __getattr__(self, name):
        return lambda *arguments: (name, *arguments)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(value=st.floats(0.01, 20))
def test_elementary_functions_ask_the_right_library(name, value):
    function = getattr(scalar, name)
    assert function(value) == function(np.float64(value)) == getattr(math, name)(value)
    assert function(complex(value, 1)) == getattr(cmath, name)(complex(value, 1))
    assert close(function(complex(value, 0)), function(value), max(1, abs(function(value))))
    assert function(x) == getattr(sympy, name)(x)
    assert function(Foreign()) == (name,)


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"])
@given(part=st.floats(-0.999, 0.999))
def test_hyperbolic_and_inverse_functions_agree_over_every_kind_of_scalar(name, part):
    """Traced scalars compute them by identities: absolute roundings of one, and relative ones of what is large."""
    function = getattr(scalar, name)
    value = {"acosh": 1 + abs(part), "asin": part, "acos": part, "atanh": part}.get(name, 20 * part)
    expected = getattr(math, name)(value)
    assert function(value) == function(np.float64(value)) == expected
    assert close(function(complex(value, 0)), expected, max(1, abs(expected)))
    assert function(x) == getattr(sympy, name)(x)
    kernel = trace(lambda a: function(a), {"a": ()}, name=name)
    numpys = getattr(np, name.replace("a", "arc", 1) if name[0] == "a" else name)
    by_numpy = trace(lambda a: numpys(a), {"a": (1,)}, name=name)
    # near the ends of their ranges the inverse functions multiply the rounding of 1 - part by 1/(1 - part) < 1000
    (answer,), (answers,) = evaluate(kernel, [value]).values(), evaluate(by_numpy, [[value]]).values()
    assert close(answer, expected, max(1, abs(expected)), 4000 if name == "atanh" else 100)
    assert answers[0] == answer


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh", "asinh", "atan"])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e4, -1e4, 1e8])
def test_traced_hyperbolic_functions_have_the_slopes_of_sympy_at_rest_and_where_exponentials_overflow(name, value):
    def slope(a):
        return forward([getattr(scalar, name)(a)], [a])[0, 0]

    program = trace(slope, {"a": ()}, name=name)
    with np.errstate(over="ignore"):
        (answer,) = evaluate(program, [value]).values()
    expected = {
        "sinh": scalar.cosh, "cosh": scalar.sinh, "tanh": lambda a: 1 / scalar.cosh(a) ** 2 if abs(a) < 350 else 0,
        "asinh": lambda a: 1 / math.sqrt(1 + a * a), "atan": lambda a: 1 / (1 + a * a),
    }[name](value)  # fmt: skip
    assert answer == pytest.approx(expected, rel=1e-8 if name == "asinh" else 1e-14, abs=1e-15)


def test_out_of_domain_is_not_a_number_and_too_large_is_infinite():
    assert math.isnan(scalar.acosh(0.5)) and math.isnan(scalar.atanh(2.0)) and math.isnan(scalar.asin(-2.0))
    assert scalar.sinh(-1e4) == -math.inf and scalar.sinh(1e4) == scalar.cosh(-1e4) == math.inf
    assert math.isnan(scalar.sqrt(-1.0))
    assert math.isnan(scalar.log(-1.0))
    assert math.isnan(scalar.sin(math.inf))
    assert scalar.exp(1e4) == math.inf


@pytest.mark.parametrize("name", ["log", "sqrt", "asin", "acos", "acosh", "atanh"])
@pytest.mark.parametrize("x", [0, -1.0, 1, np.float64(0), Fraction(1), math.inf])
def test_at_the_end_of_its_domain_a_function_of_numbers_says_what_numpy_says(name, x):
    known = getattr(np, "arc" + name[1:] if name.startswith("a") else name)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(getattr(scalar, name)(x), known(float(x)), rtol=1e-15)


@given(st.floats(-10, 10), st.floats(-10, 10))
def test_atan2_is_an_angle_with_the_right_derivative(b, a):
    assert atan2(b, a) == math.atan2(b, a)
    squared = a * a + b * b
    if squared > 1e-3:
        assert close(derivative(lambda t: atan2(t, complex(a)), b), a / squared, 1 / math.sqrt(squared))
        assert close(derivative(lambda t: atan2(complex(b), t), a), -b / squared, 1 / math.sqrt(squared))


def test_atan2_and_select_pass_symbols_and_foreign_scalars_on():
    assert atan2(x, 1) == sympy.atan2(x, 1)
    assert atan2(1, x) == sympy.atan2(1, x)
    assert select(True, 1, 2) == 1
    assert select(np.False_, 1, 2) == 2
    assert select(x < 0, 1, 2).subs(x, -1) == 1
    assert select(x < 0, 1, 2).subs(x, 1) == 2
    assert select(Foreign(), 1, 2) == ("select", 1, 2)


def test_absolute_is_analytic():
    assert scalar.absolute(-2.5) == 2.5
    assert scalar.absolute(complex(-2, 1e-20)) == complex(2, -1e-20)
    assert scalar.absolute(x) == sympy.Abs(x)


def test_kinds_are_told_apart():
    assert all(scalar.is_number(n) for n in (1, 1.0, 1j, np.float64(1), np.int64(1)))
    assert not scalar.is_number(x)
    assert scalar.is_sympy(x)
    assert scalar.is_symbolic(np.array([1, x]))
    assert not scalar.is_symbolic(np.ones(3))
    assert scalar.is_zero(0)
    assert scalar.is_zero(0.0)
    assert scalar.is_zero(sympy.Integer(0))
    assert not scalar.is_zero(x)
    assert not scalar.is_zero(1e-300)


def test_arrays_have_the_simplest_fitting_dtype():
    assert asarray([1, 2]).dtype == np.float64
    assert asarray([1, 2j]).dtype == np.complex128
    assert asarray(np.ones(2, np.float32)).dtype == np.float64
    mixed = stack([np.array([1, 2]), [x, 0]])
    assert mixed.dtype == object
    assert mixed.tolist() == [[1, 2], [x, 0]]
    with pytest.raises(ArgumentError, match="<U1"):
        asarray(np.array(["a"]))


def test_exact_turns_integral_floats_into_integers_and_nothing_else():
    entries = exact([1.0, -0.0, 0.5, x, 1j, math.nan, math.inf, 3]).tolist()
    assert entries[:5] == [1, 0, 0.5, x, 1j]
    assert [type(e) for e in entries[:3]] == [int, int, float]
    assert math.isnan(entries[5])
    assert entries[6] == math.inf
    assert entries[7] == 3


@given(arrays(3, 4), arrays(4, 2), arrays(4))
def test_product_of_objects_is_the_product_of_numbers(a, b, v):
    assert close(product(a.astype(object), b).astype(float), a @ b, size(a, b))
    assert close(product(a, v.astype(object)).astype(float), a @ v, size(a, v))
    assert np.array_equal(product(a, b), a @ b)


def test_product_with_zeros_and_ones_is_free_and_exact():
    r = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    assert product(r, np.array([x, 1, 0.5], dtype=object)).tolist() == [x, -0.5, 1]
    assert count(lambda v: product(np.eye(3), v), np.ones(3)) == {}


def test_elementary_functions_take_fractions_and_arrays_without_dimensions_and_refuse_the_rest():
    assert scalar.sin(Fraction(1, 2)) == scalar.sin(np.array(0.5)) == math.sin(0.5)
    for wrong in (None, "x", [1.0], np.ones(2), {}):
        with pytest.raises(ArgumentError, match="sin takes one scalar"):
            scalar.sin(wrong)
    half, one = Fraction(1, 2), np.array(1.0)
    assert scalar.atan2(half, 1) == scalar.atan2(1, 2) == scalar.atan2(half, one) == math.atan2(1, 2)
    assert scalar.atan2(half, 1j) == scalar.atan2(0.5, 1j) and scalar.constant(half) == 0.5
    with pytest.raises(ArgumentError, match="atan2 takes one scalar"):
        scalar.atan2("x", 1)
    assert math.isnan(scalar.sin(10**400)) and scalar.exp(1000) == math.inf and scalar.sqrt(10**400) == math.inf
    assert cmath.isnan(scalar.log(0j)) and cmath.isnan(scalar.exp(complex(1000, 1)))

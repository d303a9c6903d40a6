"""Minimum, maximum and selection mean the same for every kind of scalar, entry by entry."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

PAIRS = ((scalar.minimum, np.minimum), (scalar.maximum, np.maximum))
NUMBERS = st.floats(width=32) | st.integers(-5, 5)


@given(NUMBERS, NUMBERS)
def test_extremes_of_numbers_are_those_of_numpy_for_every_kind_of_scalar(a, b):
    for ours, numpys in PAIRS:
        expected = numpys(float(a), float(b))
        program = trace(lambda x, y, f=ours: [f(x, y), f(x, b), f(a, y)], {"x": (), "y": ()}, outputs="z")
        found = [ours(a, b), ours(np.float64(a), b), ours(a + 0j, b).real, *evaluate(program, [a, b])["z"]]
        if not math.isnan(expected):
            found.append(float(ours(sympy.sympify(a), b)))
        np.testing.assert_array_equal(np.array(found, dtype=float), expected)


def test_extremes_of_arrays_go_by_entries_and_are_broadcast():
    numbers = np.random.default_rng(0).normal(size=(3, 4))
    for ours, numpys in PAIRS:
        np.testing.assert_array_equal(ours(numbers, 0), numpys(numbers, 0))
        np.testing.assert_array_equal(ours(numbers, numbers[0]), numpys(numbers, numbers[0]))
        assert ours(numbers, 0).dtype == float
        program = trace(lambda x, f=ours: f(f(x, 0), x[0]), {"x": (3, 4)}, outputs="z")
        np.testing.assert_array_equal(evaluate(program, [numbers])["z"], numpys(numpys(numbers, 0), numbers[0]))


def test_extremes_of_fractions_stay_fractions_and_steps_keep_their_slope():
    assert scalar.minimum(Fraction(1, 3), Fraction(1, 2)) == Fraction(1, 3)
    assert scalar.maximum(2 + 1e-20j, 1) == 2 + 1e-20j
    assert scalar.minimum(2 + 1e-20j, 1) == 1
    x = sympy.Symbol("x", real=True)
    assert scalar.maximum(x, 0) == sympy.Max(0, x)


@pytest.mark.parametrize("wrong", [None, "a", [1.0]])
def test_what_is_no_scalar_is_refused(wrong):
    for ours, _ in PAIRS:
        for pair in ((wrong, 1.0), (1.0, wrong)):
            with pytest.raises(ArgumentError, match=type(wrong).__name__):
                ours(*pair)


def test_a_number_or_a_traced_scalar_is_no_condition():
    for condition in (1, 0.5, None, np.array([True])):
        with pytest.raises(ArgumentError, match=f"not by {type(condition).__name__}"):
            scalar.select(condition, 1, 2)
    with pytest.raises(ArgumentError, match="such as x < y, not by Expr"):
        trace(lambda x: scalar.select(x, 1, 2), {"x": ()})

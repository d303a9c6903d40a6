"""Comparisons and choices mean the same for numbers, symbols and traced scalars, entry by entry."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.proof.field import Field
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace


def everything(x, y):
    """All functions, of arrays and scalars, as numbers."""
    lower, same = da.less(x, y), da.equal(x, y[0])
    conditions = [
        lower, da.less_equal(x, y), same, da.logical_and(lower, same), da.logical_or(lower, da.less(1.5, x)),
        da.logical_not(lower), da.less(x[0], y), da.less(np.float64(0.5), x),
    ]  # fmt: skip
    chosen = [da.select(c, x, 2 * y) for c in conditions]
    return np.array([*chosen, da.clip(x, -1, y), da.minimum(x, y), da.maximum(x, 0.5)], dtype=object)


def test_numbers_arrays_and_traced_scalars_agree():
    rng = np.random.default_rng(0)
    x, y = rng.integers(-2, 3, (2, 6)).astype(float)
    expected = everything(x, y).astype(float)
    np.testing.assert_array_equal(expected[0], np.where(x < y, x, 2 * y))
    np.testing.assert_array_equal(expected[3], np.where((x < y) & (x == y[0]), x, 2 * y))
    np.testing.assert_array_equal(expected[-3], np.clip(x, -1, y))
    program = trace(everything, {"x": (6,), "y": (6,)}, outputs="z")
    np.testing.assert_array_equal(evaluate(program, [x, y])["z"], expected)


def test_one_condition_chooses_between_arrays():
    """As in a reset: the state of the beginning where an episode ends."""
    reset = trace(lambda h, q, p: da.select(da.less(h, 0.2), q, p), {"h": (), "q": (2, 3), "p": (3,)}, outputs="z")
    q, p = np.arange(6.0).reshape(2, 3), np.full(3, 7.0)
    for h, wanted in ((0.1, q), (0.3, np.broadcast_to(p, (2, 3)))):
        np.testing.assert_array_equal(da.select(da.less(h, 0.2), q, p), wanted)
        np.testing.assert_array_equal(evaluate(reset, [h, q, p])["z"], wanted)


def test_numbers_give_bools_of_numpy_and_python():
    assert da.less(1, 2) is True and da.equal(1.0, 1) is True and da.logical_not(False) is True
    found = da.less([1, 2, 3], 2)
    assert found.dtype == bool and found.tolist() == [True, False, False]
    assert da.less(1 + 1j, 2) is True and da.equal(1 + 1e-30j, 1) is True
    assert da.less(Fraction(1, 3), Fraction(1, 2)) is True


def test_symbols_and_exact_numbers():
    x = sympy.Symbol("x", real=True)
    piece = da.select(da.logical_or(da.less(x, 0), da.equal(x, 3)), -x, x)
    assert [piece.subs(x, value) for value in (-2, 2, 3)] == [2, 2, -3]
    element = Field(None).element()
    assert da.equal(element, element) is True and da.select(da.equal(element, 0), 1, 2) == 2
    with pytest.raises(ArgumentError, match="have no order"):
        da.less(element, 1)


def test_what_is_no_condition_is_refused():
    with pytest.raises(ArgumentError, match="takes comparisons"):
        da.logical_and(1.0, True)
    with pytest.raises(ArgumentError, match="select chooses by a comparison"):
        da.select(np.array([1.0, 2.0]), 1, 2)

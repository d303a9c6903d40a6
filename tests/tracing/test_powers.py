"""Powers whose exponent is known only when the program runs are those of C."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import TracingError
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

BASE = np.array([0, 0, 0, -4, -4, -4, -4, 2, 2, -2, -2, 3.0, 1, -1, -1, 0.5])
EXPONENT = np.array([0, 2, -1, -4, 3, 0, 0.5, 0.3, -2, 1 / 3, 101, 0, 1e6, 1e6, 1e6 + 1, -700.0])


def power(a, b):
    return a**b


def test_powers_are_those_of_c():
    with np.errstate(all="ignore"):
        wanted = np.power(BASE, EXPONENT)
        evaluated = [
            evaluate(trace(power, {"a": (), "b": ()}), [np.array(a), np.array(b)])["result"]
            for a, b in zip(BASE, EXPONENT)
        ]
    compiled = da.kernel(power, {"a": (), "b": ()})
    np.testing.assert_allclose(compiled(BASE, EXPONENT), wanted, rtol=1e-12)
    np.testing.assert_allclose(np.ravel(evaluated), wanted, rtol=1e-12)
    small = np.abs(EXPONENT) <= 101
    single = compiled(BASE[small].astype(np.float32), EXPONENT[small].astype(np.float32))
    np.testing.assert_allclose(single, wanted[small], rtol=1e-4)


def test_powers_of_sympy_and_of_numbers_are_those_of_c():
    a, b = sympy.symbols("a b")
    with np.errstate(divide="ignore"):
        wanted = np.power(BASE[:6], EXPONENT[:6])
    np.testing.assert_allclose(da.kernel(a**b, [a, b])(BASE[:6], EXPONENT[:6]), wanted)
    of_numbers = da.kernel(lambda b: [2.0**b, (-2.0) ** b, 0.0**b], {"b": ()})
    np.testing.assert_allclose(of_numbers(np.array([3.0, 0.0])), [[8, -8, 0], [1, 1, 1]], rtol=1e-14)


def test_powers_of_negative_numbers_have_slopes():
    _, slope, by_exponent = da.kernel(power, {"a": (), "b": ()}, wrt=("a", "b"))(
        np.array([2.0, -2.0]), np.array([3.0, 3.0])
    )
    np.testing.assert_allclose(slope, [12, 12])
    assert by_exponent[0] == pytest.approx(8 * np.log(2))


@pytest.mark.parametrize("function", [np.linalg.solve, lambda A, b: np.linalg.inv(A) @ b])
def test_linear_algebra_of_numpy_is_refused_with_what_to_do(function):
    with pytest.raises(TracingError, match=r"takes numbers only, .* da\.linalg solves"):
        da.kernel(lambda A, b: function(A, b), {"A": (2, 2), "b": (2,)})

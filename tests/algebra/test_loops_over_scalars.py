"""Laws of a repeated step: it is the step after the step, over every scalar."""

import numpy as np
import pytest
import sympy

from dalembert.algebra.loops import repeat
from dalembert.errors import ArgumentError


def heron(x, a):
    return ((x + a / x) / 2,)


def test_repeated_steps_are_steps_one_after_the_other():
    a = np.array([2.0, 3.0])
    by_hand = np.ones(2)
    for _ in range(6):
        (by_hand,) = heron(by_hand, a)
    (found,) = repeat(heron, (np.ones(2),), 6, (a,))
    assert np.array_equal(found, by_hand)
    assert np.allclose(found, np.sqrt(a), rtol=1e-15)


def test_no_step_changes_nothing_and_symbols_stay_exact():
    x = np.array([1.0, 2.0])
    assert repeat(heron, (x,), 0, (x,))[0] is x
    (found,) = repeat(heron, (sympy.Integer(1),), 3, (sympy.Integer(2),))
    assert found == sympy.Rational(577, 408)


@pytest.mark.parametrize("count", [-1, 2.5, "3", None])
def test_a_wrong_count_is_refused(count):
    with pytest.raises(ArgumentError, match="count"):
        repeat(heron, (1.0,), count, (2.0,))


def test_steps_keep_number_and_shapes():
    with pytest.raises(ArgumentError, match="2 values"):
        repeat(lambda x: (x, x), (1.0,), 2)
    with pytest.raises(ArgumentError, match="shape"):
        repeat(lambda x: (np.zeros(3),), (np.zeros(2),), 2)
    with pytest.raises(ArgumentError, match="tuple"):
        repeat(lambda x: x, (np.zeros(2),), 2)

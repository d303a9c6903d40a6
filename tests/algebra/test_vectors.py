"""Vector and tensor operators do what their definitions say, at the stated cost."""

from __future__ import annotations

import numpy as np
import pytest
from algebra_cases import arrays, close, count, size, tensors, vector_pairs, vectors
from hypothesis import given

from dalembert.algebra.vectors import (
    cross,
    dot,
    double_dot,
    dual,
    dyad,
    left_dual,
    norm,
    norm_frobenius,
    trace,
    undual,
    unit,
    vect,
)
from dalembert.errors import ArgumentError, SingularityError


@given(vector_pairs)
def test_products_agree_with_numpy(pair):
    u, v = pair
    scale = size(u, v)
    assert close(cross(u, v), np.cross(u, v), scale)
    assert close(dot(u, v), u @ v, scale)
    assert close(dyad(u, v), np.outer(u, v), scale)
    assert close(norm(u), np.linalg.norm(u), np.linalg.norm(u))


@given(arrays(4, 4), arrays(4, 4))
def test_trace_double_dot_and_norm_work_for_any_size(t, s):
    assert close(trace(t), np.trace(t), np.linalg.norm(t))
    assert close(double_dot(t, s), np.trace(t @ s), size(t, s))
    assert close(norm_frobenius(t), np.linalg.norm(t), np.linalg.norm(t))


@given(vectors, tensors)
def test_vect_and_undual_invert_dual(u, t):
    assert np.array_equal(vect(dual(u)), u)
    assert np.array_equal(undual(dual(u)), u)
    assert np.array_equal(left_dual(u), -dual(u))
    assert close(dual(vect(t)), (t - t.T) / 2, np.linalg.norm(t))


@given(vectors)
def test_unit_has_length_one_and_keeps_the_direction(u):
    if not np.any(u):
        with pytest.raises(SingularityError, match="no direction"):
            unit(u)
    else:
        e = unit(u)
        assert close(norm(e), 1)
        assert close(cross(e, u), 0, np.linalg.norm(u))
        assert dot(e, u) > 0


@pytest.mark.parametrize("tiny_or_huge", [1e-300, 1e300])
def test_unit_survives_extreme_lengths(tiny_or_huge):
    assert close(unit(np.array([3, 0, -4]) * tiny_or_huge), [0.6, 0, -0.8])


def test_a_vector_of_wrong_length_is_refused_by_its_shape():
    with pytest.raises(ArgumentError, match=r"3 scalars.*\(2,\)"):
        cross([1, 2], [1, 2, 3])
    with pytest.raises(ArgumentError, match=r"\(3, 1\)"):
        dual(np.zeros((3, 1)))


def test_costs():
    u, v = np.arange(3.0), np.arange(3.0)
    t = np.ones((3, 3))
    assert count(cross, u, v) == {"mul": 6, "add": 3}
    assert count(dot, u, v) == {"mul": 3, "add": 2}
    assert count(dyad, u, v) == {"mul": 9}
    assert count(dual, u) == {}
    assert count(undual, t) == {}
    assert count(trace, t) == {"add": 2}
    assert count(double_dot, t, t) == {"mul": 9, "add": 8}

"""Hessians: derivatives of Jacobians, accelerations, and the composition rules of relative motion.

Tolerance: complex steps lose nothing; 1e-11 of the largest entry or of one.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, by_position, difference, drawn, seeds
from hypothesis import given

import dalembert as da
from dalembert.algebra.vectors import dual
from dalembert.algorithms.hessians import hessian, relative_motion
from dalembert.errors import ArgumentError
from dalembert.formulations.relative_motion import FrameMatrices, at_point, composed
from dalembert.kinematics import jacobian, jacobian_rate, motion, pose

POINT = np.array([0.3, -0.2, 0.5])


def khang(derivative: np.ndarray) -> np.ndarray:
    """(3, n, n) with the coordinate last, as a matrix in Khang's order."""
    return derivative.reshape(3, -1)


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_hessians_are_derivatives_of_jacobians(mix, seed):
    mechanism, q, _, _ = drawn(mix, seed)
    if not mechanism.nv:
        return
    R = pose(mechanism, q, "tool").rotation
    for part in (0, 1):
        for axes in ("world", "body"):

            def J(q, k=part, axes=axes):
                return jacobian(mechanism, q, "tool", point=POINT, axes=axes)[k]

            expected = khang(by_position(mechanism, J, q))
            found = hessian(mechanism, q, "tool", point=POINT, axes=axes, starred=False)[part]
            assert difference(found, expected, 1.0) < 1e-11
        starred = hessian(mechanism, q, "tool", point=POINT, axes="body")[part]
        assert difference(starred, R.T @ hessian(mechanism, q, "tool", point=POINT)[part], 1.0) < 1e-11


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_hessians_give_accelerations(mix, seed):
    """a = J_T qdd + H_T (qd x qd), in world axes and, starred, in the axes of the frame."""
    mechanism, q, v, a = drawn(mix, seed)
    pairs = np.kron(v, v)
    for axes in ("world", "body"):
        found = motion(mechanism, q, v, a, "tool", point=POINT, axes=axes)
        JR, JT = jacobian(mechanism, q, "tool", point=POINT, axes=axes)
        HR, HT = hessian(mechanism, q, "tool", point=POINT, axes=axes)
        scale = 1 + np.abs(v).max(initial=0) ** 2
        assert difference(JR @ a + HR @ pairs, found.angular_acceleration, scale) < 1e-11
        assert difference(JT @ a + HT @ pairs, found.linear_acceleration, scale) < 1e-11
    HR, HT = hessian(mechanism, q, "tool", point=POINT)
    E = np.eye(mechanism.nv)
    JRd, JTd = jacobian_rate(mechanism, q, v, "tool", point=POINT)
    turn = np.kron(E, v[:, None]) if mechanism.nv else np.zeros((0, 0))
    assert difference(HR @ turn, JRd, 1.0) < 1e-11 and difference(HT @ turn, JTd, 1.0) < 1e-11  # (8)


@pytest.mark.parametrize("mix", ["revolute", "revolute-prismatic", "helical", "spherical", "floating", "mimic"])
@given(seed=seeds)
def test_relative_motion(mix, seed):
    """Seen from any frame: the derivatives of the pose in that frame."""
    mechanism, q, _, _ = drawn(mix, seed)
    n = mechanism.nv
    reference = mechanism.bodies[(seed // 7) % len(mechanism.bodies)].name

    def seen(q):
        return pose(mechanism, q, reference).inverse() @ pose(mechanism, q, "tool")

    found = relative_motion(mechanism, q, "tool", reference, point=POINT)
    if not n:
        return
    R = seen(q).rotation
    dp = by_position(mechanism, lambda q: seen(q).apply(POINT), q)
    dR = by_position(mechanism, lambda q: seen(q).rotation, q)
    turning = [[(dR[..., k] @ R.T)[i] for k in range(n)] for i in ((2, 1), (0, 2), (1, 0))]
    assert difference(found.J_T, dp, 1.0) < 1e-11
    assert difference(found.J_R, turning, 1.0) < 1e-11

    def J(q):
        place, moving = pose(mechanism, q, reference), pose(mechanism, q, "tool")
        (bR, bT), (cR, cT) = jacobian(mechanism, q, reference), jacobian(mechanism, q, "tool", point=POINT)
        d = moving.apply(POINT) - place.translation
        return np.concatenate([place.rotation.T @ (cR - bR), place.rotation.T @ (cT - bT + dual(d) @ bR)])

    assert difference(np.concatenate([found.J_R, found.J_T]), J(q), 1.0) < 1e-11
    slopes = by_position(mechanism, J, q)
    assert difference(found.H_R, khang(slopes[:3]), 1.0) < 1e-11
    assert difference(found.H_T, khang(slopes[3:]), 1.0) < 1e-11


@given(seed=seeds)
def test_composition_of_motions(seed):
    """(77)-(79), (86)-(88): exact for Jacobians, and for Hessians in products with (qd x qd)."""
    mechanism, q, v, _ = drawn("revolute-prismatic", seed)
    middle = mechanism.bodies[len(mechanism.bodies) // 2].name
    place, relative = pose(mechanism, q, middle), relative_motion(mechanism, q, "tool", middle)
    d = pose(mechanism, q, "tool").translation - place.translation
    outer = FrameMatrices(*reversed(jacobian(mechanism, q, middle)), *reversed(hessian(mechanism, q, middle)))
    inner = FrameMatrices(relative.J_T, relative.J_R, relative.H_T, relative.H_R).rotated(place.rotation)
    found = composed(outer, inner, d)
    JR, JT = jacobian(mechanism, q, "tool")
    HR, HT = hessian(mechanism, q, "tool")
    assert difference(found.J_R, JR, 1.0) < 1e-11 and difference(found.J_T, JT, 1.0) < 1e-11
    pairs, scale = np.kron(v, v), 1 + np.abs(v).max(initial=0) ** 2
    assert difference(found.H_R @ pairs, HR @ pairs, scale) < 1e-11
    assert difference(found.H_T @ pairs, HT @ pairs, scale) < 1e-11
    JTG, HTG = at_point(found, pose(mechanism, q, "tool").rotation @ POINT)
    assert difference(JTG, jacobian(mechanism, q, "tool", point=POINT)[1], 1.0) < 1e-11
    assert difference(HTG @ pairs, hessian(mechanism, q, "tool", point=POINT)[1] @ pairs, scale) < 1e-11


def test_stacker_of_nguyen():
    """(102)-(105), with the corrections of the printed matrices."""
    stacker = da.load("stacker")
    a3 = 3.0
    numeric = da.substitute(stacker, {s: a3 if s.name == "a3" else 1.0 for s in stacker.symbols})
    q, _, _ = numeric.random_state(np.random.default_rng(0))
    tip = f"{numeric.bodies[-1].name}_dh"
    HR, HT = hessian(numeric, q, tip)
    JR, JT = jacobian(numeric, q, tip)
    c2, s2, c3, s3 = np.cos(q[1]), np.sin(q[1]), np.cos(q[2]), np.sin(q[2])
    expected_J = [[0, -a3 * s2 * c3, -a3 * c2 * s3], [0, 0, -a3 * c3], [1, a3 * c2 * c3, -a3 * s2 * s3]]
    np.testing.assert_allclose(JT, expected_J, atol=1e-14)
    np.testing.assert_allclose(JR, [[0, 0, s2], [0, -1, 0], [0, 0, -c2]], atol=1e-14)
    expected_H = a3 * np.array(
        [[0, 0, 0, 0, -c2 * c3, s2 * s3, 0, s2 * s3, -c2 * c3], [0, 0, 0, 0, 0, 0, 0, 0, s3],
         [0, 0, 0, 0, -s2 * c3, -c2 * s3, 0, -c2 * s3, -s2 * c3]]
    )  # fmt: skip
    np.testing.assert_allclose(HT, expected_H, atol=1e-14)
    expected_R = np.zeros((3, 9))
    expected_R[:, 7] = [c2, 0, s2]
    np.testing.assert_allclose(HR, expected_R, atol=1e-14)


def test_wrong_axes_are_refused():
    mechanism, q, _, _ = drawn("revolute", 5)
    with pytest.raises(ArgumentError, match="'world' or 'body'"):
        hessian(mechanism, q, "tool", axes="tool")

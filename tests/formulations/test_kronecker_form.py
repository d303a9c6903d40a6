"""NGUYEN: Hessians give accelerations, relative motions compose, starred forms are what body axes need."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings

from dalembert.algebra.kronecker import kron
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError
from dalembert.formulations import KroneckerFrame, MovingBodies, MovingBodyFormula, derive
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.relative_motion import FrameMatrices, at_point, composed
from dalembert.kinematics import jacobian, motion
from dalembert.model import Body, Inertia, Joint, Mechanism
from dalembert.tracing.evaluate import evaluate
from random_mechanisms import mechanisms, random_mechanism

KINDS = ("revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free")


def numbers(system, q, **arrays) -> dict[str, np.ndarray]:
    program = system.scope.program({name: np.array(a, dtype=object) for name, a in arrays.items()}, "numbers")
    return evaluate(program, {port.name: q for port in program.inputs})


def matrices(system, q, name) -> tuple[FrameMatrices, np.ndarray, np.ndarray]:
    frame = KroneckerFrame(system, name)
    found = numbers(
        system, q, J_T=frame.J_T, J_R=frame.J_R, H_T=frame.H_T, H_R=frame.H_R, R=frame.rotation, p=frame.position
    )
    return FrameMatrices(*(found[k] for k in ("J_T", "J_R", "H_T", "H_R"))), found["R"], found["p"]


@settings(max_examples=10)
@given(mechanisms(1, 4, kinds=KINDS))
def test_hessians_give_accelerations_in_both_axes(mechanism):
    q, v, a = mechanism.random_state(np.random.default_rng(2))
    system = system_of(mechanism)
    frame = KroneckerFrame(system, "tool")
    point = np.array([0.1, -0.2, 0.3])
    J_G, H_G = frame.at_point(point)
    found = numbers(
        system, q, J_T=frame.J_T, J_R=frame.J_R, H_T=frame.H_T, H_R=frame.H_R, own_T=frame.J_T_own, own_R=frame.J_R_own,
        star=frame.H_T_star, own_H=frame.H_R_own, J_G=J_G, H_G=H_G,
    )  # fmt: skip
    vv = kron(v, v)
    world, body = motion(mechanism, q, v, a, "tool"), motion(mechanism, q, v, a, "tool", axes="body")
    G = motion(mechanism, q, v, a, "tool", point=point)
    close = {"rtol": 1e-9, "atol": 1e-11}
    np.testing.assert_allclose(
        found["J_T"] @ a + found["H_T"] @ vv, np.asarray(world.linear_acceleration, float), **close
    )
    np.testing.assert_allclose(
        found["J_R"] @ a + found["H_R"] @ vv, np.asarray(world.angular_acceleration, float), **close
    )
    np.testing.assert_allclose(
        found["own_T"] @ a + found["star"] @ vv, np.asarray(body.linear_acceleration, float), **close
    )
    np.testing.assert_allclose(
        found["own_R"] @ a + found["own_H"] @ vv, np.asarray(body.angular_acceleration, float), **close
    )
    np.testing.assert_allclose(found["J_G"] @ a + found["H_G"] @ vv, np.asarray(G.linear_acceleration, float), **close)
    J_R, J_T = jacobian(mechanism, q, "tool")
    np.testing.assert_allclose(found["J_R"], np.asarray(J_R, float), atol=1e-12)
    np.testing.assert_allclose(found["J_T"], np.asarray(J_T, float), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_relative_motions_compose(seed):
    """(77)-(79), (86)-(88) in the axes of a; (89), (90) in the axes of c; all on pairs of velocities."""
    mechanism = random_mechanism(seed, 5, kinds=("revolute", "prismatic"), branching=0.0)
    rng = np.random.default_rng(seed)
    q, v, _ = mechanism.random_state(rng)
    vv = kron(v, v)
    system = system_of(mechanism)
    outer, R_b, p_b = matrices(system, q, "b2")
    whole, R_c, p_c = matrices(system, q, "b5")
    # Motion of c relative to b: the same mechanism with the first two joints held.
    relative = _relative(mechanism, q, "b2", "b5")
    in_a = relative.rotated(R_b)
    found = composed(outer, in_a, p_c - p_b)
    np.testing.assert_allclose(found.J_T, whole.J_T, atol=1e-12)
    np.testing.assert_allclose(found.J_R, whole.J_R, atol=1e-12)
    np.testing.assert_allclose(found.H_T @ vv, whole.H_T @ vv, atol=1e-11)
    np.testing.assert_allclose(found.H_R @ vv, whole.H_R @ vv, atol=1e-11)
    assert np.abs(found.H_T - whole.H_T).max() > 1e-3  # the matrices themselves differ
    point = rng.normal(size=3)
    J, H = at_point(found, R_c @ point)
    frame = KroneckerFrame(system, "b5")
    J_G, H_G = frame.at_point(point)
    exact = numbers(system, q, J=J_G, H=H_G)
    np.testing.assert_allclose(J, exact["J"], atol=1e-12)
    np.testing.assert_allclose(H @ vv, exact["H"] @ vv, atol=1e-11)
    in_c = composed(outer.rotated(R_c.T), relative.rotated(R_c.T @ R_b), R_c.T @ (p_c - p_b))
    np.testing.assert_allclose(in_c.H_T @ vv, R_c.T @ whole.H_T @ vv, atol=1e-11)
    np.testing.assert_allclose(in_c.H_R @ vv, R_c.T @ whole.H_R @ vv, atol=1e-11)


def _relative(mechanism, q, base: str, tip: str) -> FrameMatrices:
    """Matrices of tip seen from base, in the axes of base, over all coordinates of the mechanism."""
    from dalembert.model.operations import subtree

    first = next(joint for joint in mechanism.joints if joint.parent == base)
    part = subtree(mechanism, first.child)
    n, inner = mechanism.nv, part.nv
    found, _, _ = matrices(system_of(part), q[n - inner :], tip)
    J_T, J_R = np.zeros((3, n)), np.zeros((3, n))
    H_T, H_R = np.zeros((3, n, n)), np.zeros((3, n, n))
    J_T[:, n - inner :], J_R[:, n - inner :] = found.J_T, found.J_R
    H_T[:, n - inner :, n - inner :] = found.H_T.reshape(3, inner, inner)
    H_R[:, n - inner :, n - inner :] = found.H_R.reshape(3, inner, inner)
    return FrameMatrices(J_T, J_R, H_T.reshape(3, -1), H_R.reshape(3, -1))


@settings(max_examples=8)
@given(mechanisms(1, 3, kinds=("spherical", "revolute"), floating=True))
def test_with_quaternions_the_star_matrix_is_projected(mechanism):
    """C*(q) is free of velocities, and C* (v x v) are the Coriolis forces that Kane finds; unit quaternions only."""
    q, v, _ = mechanism.random_state(np.random.default_rng(3))
    mine, other = derive(mechanism, "kronecker"), derive(mechanism, "kane")
    star = mine["coriolis_star"].evaluate({"q": q})
    reference = np.broadcast_to(other.coriolis.evaluate({"q": q, "v": v}), v.shape)
    scale = np.abs(other.mass_matrix.evaluate({"q": q})).max() * np.abs(v).max() ** 2
    np.testing.assert_allclose(star @ kron(v, v), reference, rtol=1e-10, atol=1e-12 * scale)
    assert "coriolis_matrix_nguyen" not in mine.extras
    assert "FORBES" in mine.cite() or not any(joint.kind in ("spherical", "free") for joint in mechanism.joints)


def test_a_frame_is_had_from_a_mechanism_or_from_formulas():
    """A bob on a rod, as a mechanism and by a formula: the same acceleration J a + H (v x v)."""
    q, bob = sympy.Symbol("q1"), Inertia(1, center=[0, 0, 0])
    hinge = Joint("swing", "revolute", "world", "rod", axis=[0, -1, 0])
    tip = Joint("weld", "fixed", "rod", "bob", placement=Transform.from_translation([2, 0, 0]))
    pendulum = Mechanism("pendulum", [Body("rod"), Body("bob", bob)], [hinge, tip])
    place = [2 * sympy.cos(q), 0, 2 * sympy.sin(q)]
    formulas = MovingBodies("pendulum", [q], [MovingBodyFormula("bob", 1, place)])
    for subject in (pendulum, formulas):
        J, H, *_ = (part.sympy() for part in KroneckerFrame(subject, "bob").quantities())
        assert sympy.Matrix(place).diff(q) == J and sympy.Matrix(place).diff(q, 2) == H
    with pytest.raises(ArgumentError, match="takes a Mechanism or MovingBodies, got int"):
        KroneckerFrame(3, "bob")  # type: ignore[arg-type]

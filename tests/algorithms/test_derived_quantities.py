"""Kernels of the derived quantities say what the algorithms say on plain numbers, and obey their laws.

Tolerance: kernels work on economical trees and after passes that reorder sums: 1e-10 of the largest entry.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import by_position, by_velocity, difference

import dalembert as da
from dalembert.algorithms.analytic_jacobian import analytic_jacobian_rates, frame_coordinates
from dalembert.algorithms.cartesian import cartesian_dynamics, cartesian_inverse_dynamics, cartesian_linearization
from dalembert.algorithms.centroidal import centroidal, centroidal_matrix_rate
from dalembert.algorithms.hessians import hessian, relative_motion
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.regressor import (
    kinetic_energy_regressor,
    parameter_vector,
    potential_energy_regressor,
    regressor,
)
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.dynamics import ALL_QUANTITIES, QUANTITIES, TASK_QUANTITIES
from dalembert.errors import ArgumentError, SingularityError
from random_mechanisms import random_mechanism

BATCH = 3


@pytest.fixture(scope="module")
def tree():
    """A branching mechanism with a spherical and a prismatic joint, and its kernels."""
    mechanism = random_mechanism(11, 4, kinds=["revolute", "spherical", "prismatic", "revolute"], branching=0.4)
    return mechanism, da.Dynamics(mechanism), mechanism.random_state(np.random.default_rng(0), (BATCH,))


@pytest.fixture(scope="module")
def arm():
    """Five revolute joints in a row: redundant for a position, too few for a pose."""
    mechanism = random_mechanism(3, 5, kinds=["revolute"], branching=0, massless=0, drives=True)
    return mechanism, da.Dynamics(mechanism), mechanism.random_state(np.random.default_rng(1), (BATCH,))


def agree(kernel_result, function, *state):
    """A kernel on a batch against a function of one state."""
    results = kernel_result if isinstance(kernel_result, tuple) else (kernel_result,)
    for row in range(BATCH):
        expected = function(*(x[row] for x in state))
        expected = expected if isinstance(expected, tuple) else (expected,)
        for found, value in zip(results, expected):
            assert difference(np.asarray(found)[row], value, 1.0) < 1e-10


def test_regressors(tree):
    mechanism, dynamics, (q, v, a) = tree
    agree(dynamics.regressor(q, v, a), lambda *s: regressor(mechanism, *s), q, v, a)
    agree(dynamics.kinetic_energy_regressor(q, v), lambda *s: kinetic_energy_regressor(mechanism, *s), q, v)
    agree(dynamics.potential_energy_regressor(q), lambda q: potential_energy_regressor(mechanism, q), q)
    pi = parameter_vector(mechanism)
    assert difference(dynamics.regressor(q, v, a) @ pi, dynamics.inverse_dynamics(q, v, a)) < 1e-10


def test_momenta_and_matrices(tree):
    mechanism, dynamics, (q, v, _) = tree

    def expected(q, v):
        found = centroidal(mechanism, q, v)
        return found.matrix, found.bias, found.center, found.inertia

    agree(dynamics.centroidal(q, v), expected, q, v)
    agree(dynamics.parsa_coriolis(q, v), lambda *s: parsa_coriolis(mechanism, *s), q, v)
    M = dynamics.mass_matrix(q)
    assert difference(dynamics.generalised_momentum(q, v), np.einsum("bij,bj->bi", M, v)) < 1e-10
    identity = np.broadcast_to(np.eye(mechanism.nv), M.shape)
    assert difference(dynamics.mass_matrix_inverse(q) @ M, identity) < 1e-9


def test_rate_of_the_centroidal_matrix(tree):
    mechanism, dynamics, (q, v, _) = tree
    agree(dynamics.centroidal_matrix_rate(q, v), lambda *s: centroidal_matrix_rate(mechanism, *s), q, v)


def test_motion_relative_to_a_moving_frame(tree):
    mechanism, dynamics, (q, *_) = tree
    for reference in ("world", mechanism.bodies[0].name):

        def seen(q, reference=reference):
            found = relative_motion(mechanism, q, "tool", reference)
            return np.concatenate([found.J_T, found.J_R]), np.concatenate([found.H_T, found.H_R])

        agree(dynamics.relative_motion(q, frame="tool", reference=reference), seen, q)
    J, H = dynamics.relative_motion(q, frame="tool")
    assert difference(J, dynamics.jacobian(q, frame="tool")) < 1e-12
    assert difference(H, dynamics.hessian(q, frame="tool")) < 1e-12
    turning = dynamics.hessian(q, frame="tool", axes="body", starred=False)
    agree(turning, lambda q: np.concatenate(hessian(mechanism, q, "tool", axes="body", starred=False)[::-1]), q)


def test_second_derivatives_of_inverse_dynamics(tree):
    """Against complex steps of P, V and D; along tangent vectors, so a quaternion has three."""
    mechanism, dynamics, (q, v, a) = tree

    def part(name, q, v, a):
        return getattr(sensitivity(mechanism.tree, q, v, a), name)

    def expected(q, v, a):
        return (
            by_position(mechanism, lambda q: part("P", q, v, a), q),
            by_position(mechanism, lambda q: part("V", q, v, a), q),
            by_velocity(lambda v: part("V", q, v, a), v),
            by_position(mechanism, lambda q: part("D", q, v, a), q),
        )

    agree(dynamics.inverse_dynamics_hessian(q, v, a), expected, q, v, a)


def test_second_derivatives_are_symmetric_without_quaternions(arm):
    _, dynamics, (q, v, a) = arm
    dqdq, _, dvdv, dadq = dynamics.inverse_dynamics_hessian(q, v, a)
    for X in (dqdq, dvdv):
        assert difference(X, X.swapaxes(-1, -2)) < 1e-10
    assert difference(dadq, dadq.swapaxes(-2, -3)) < 1e-10  # D is symmetric


def test_quantities_of_a_frame(tree):
    mechanism, dynamics, (q, v, a) = tree
    options = {"frame": "tool", "point": (0.1, 0.2, -0.3)}

    def stacked(q):
        angular, linear = hessian(mechanism, q, **options)
        return np.concatenate([linear, angular])

    agree(dynamics.hessian(q, **options), stacked, q)
    for coordinates in ("ZYX", "quaternion"):
        named = {**options, "coordinates": coordinates}
        kernels = (
            dynamics.analytic_jacobian(q, **named),
            dynamics.analytic_jacobian_rate(q, v, **named),
            dynamics.analytic_jacobian_second_rate(q, v, a, **named),
        )
        agree(kernels, lambda *s, o=named: tuple(analytic_jacobian_rates(mechanism, *s, **o)), q, v, a)
        x = dynamics.frame_coordinates(q, **named)
        agree(x, lambda q, o=named: frame_coordinates(mechanism, q, **o), q)


def test_dynamics_along_a_frame(arm):
    mechanism, dynamics, (q, v, a) = arm
    place = {"frame": "tool", "coordinates": "position"}
    for options in (place, {**place, "damping": 0.1}):

        def dynamics_of(q, v, o=options):
            found = cartesian_dynamics(mechanism, q, v, **o)
            return found.inertia, found.coriolis, found.gravity, found.inverse

        agree(dynamics.cartesian_dynamics(q, v, **options), dynamics_of, q, v)
        found = dynamics.cartesian_linearization(q, v, a, **options)
        agree(found, lambda *s, o=options: tuple(cartesian_linearization(mechanism, *s, **o)), q, v, a)
        xdd = a[:, :3]
        found = dynamics.cartesian_inverse_dynamics(q, v, xdd, **options)
        agree(found, lambda *s, o=options: cartesian_inverse_dynamics(mechanism, *s, **o), q, v, xdd)


def test_joint_terms_enter_by_name(arm):
    mechanism, dynamics, (q, v, a) = arm
    driven = da.Dynamics(mechanism, include=("armature", "damping"))
    M = driven.mass_matrix(q)
    assert difference(driven.mass_matrix_inverse(q) @ M, np.broadcast_to(np.eye(5), M.shape)) < 1e-9
    assert difference(driven.generalised_momentum(q, v), np.einsum("bij,bj->bi", M, v)) < 1e-10
    inertia, _, _, inverse = driven.cartesian_dynamics(q, v, frame="tool", coordinates="position")
    assert difference(inertia, inverse.swapaxes(-1, -2) @ M @ inverse) < 1e-8
    D, _, _ = driven.cartesian_linearization(q, v, a, frame="tool", coordinates="position")
    assert difference(D, M @ inverse) < 1e-8
    drift = driven.analytic_jacobian_rate(q, v, frame="tool", coordinates="position")
    xdd = a[:, :3]
    resolved = np.einsum("bij,bj->bi", inverse, xdd - np.einsum("bij,bj->bi", drift, v))
    found = driven.cartesian_inverse_dynamics(q, v, xdd, frame="tool", coordinates="position")
    assert difference(found, driven.inverse_dynamics(q, v, resolved)) < 1e-8
    assert difference(M, dynamics.mass_matrix(q)) > 1e-3


def test_every_algorithm_is_a_kernel_with_a_cost(arm):
    """Asked for by name it works on the mechanism as it is described: the same results for more operations."""
    mechanism, _, (q, v, a) = arm
    wrenches = np.ones((1, 6))
    dynamics = da.Dynamics(mechanism, include=("armature", "damping"), wrenches=["tool"])
    for quantity, last in (("inverse_dynamics", a), ("mass_matrix", None), ("forward_dynamics", a)):
        state = (q,) if last is None else (q, v, last, wrenches)
        expected, least = getattr(dynamics, quantity)(*state), dynamics.cost(quantity).operations
        for name in QUANTITIES[quantity].algorithms:
            if name == "uicker-kahn" and mechanism.nv > 3:
                continue  # its n^4 terms take long to compile
            found = dynamics.kernel(quantity, algorithm=name)(*state)
            assert difference(found, expected) < 1e-9, name
            assert dynamics.cost(quantity, algorithm=name).operations >= least, name
    with pytest.raises(ArgumentError, match="there is no algorithm 'rnea'; choose one of hollerbach-4x4"):
        dynamics.kernel("inverse_dynamics", algorithm="rnea")
    with pytest.raises(ArgumentError, match="potential_energy has no option 'algorithm'; it takes none"):
        dynamics.kernel("potential_energy", algorithm="newton-euler")


def test_frames_with_too_few_joints_are_refused_before_anything_is_compiled():
    """Joints of another arm do not help, nor does one whose axis meets the frame; damping makes all of it exist."""
    arm = da.load("puma560")
    short = da.lock(arm, {joint.name: 0.0 for joint in [j for j in arm.joints if j.nv][:2]})
    both = da.Dynamics(da.attach(arm, short, to="world", prefix="other_"))
    hand = arm.bodies[-1].name
    assert both.mechanism.nv == 10
    assert np.isfinite(both.cartesian_dynamics(np.full(10, 0.3), np.ones(10), frame=hand)[0]).all()
    with pytest.raises(SingularityError, match=r"at most 4 of its 6 coordinates .*'position'"):
        both.kernel("cartesian_dynamics", frame=f"other_{hand}")(np.ones(10), np.ones(10))
    assert both.kernel("cartesian_dynamics", frame=f"other_{hand}", damping=0.1).program
    elbow = da.Dynamics(da.load("rrr"))
    with pytest.raises(SingularityError, match=r"at most 2 of its 3 coordinates independently, at any position; pass"):
        elbow.kernel("cartesian_dynamics", frame="link3", coordinates="position")(np.ones(3), np.ones(3))


def test_names_options_and_limits():
    assert not set(QUANTITIES) & set(TASK_QUANTITIES) and {*QUANTITIES, *TASK_QUANTITIES} == set(ALL_QUANTITIES)
    dynamics = da.Dynamics(random_mechanism(0, 3, kinds=["revolute"], branching=0))
    q = v = np.zeros(3)
    with pytest.raises(SingularityError, match="too few for 6"):
        dynamics.cartesian_dynamics(q, v, frame="tool")
    with pytest.raises(ArgumentError, match="choose one of position, twist"):
        dynamics.analytic_jacobian(q, frame="tool", coordinates="euler")
    with pytest.raises(ArgumentError, match="finite number that is not negative"):
        dynamics.cartesian_dynamics(q, v, frame="tool", damping=-1)
    with pytest.raises(ArgumentError, match=r"needs the option 'frame'"):
        dynamics.hessian(q)
    inertia, *_ = dynamics.cartesian_dynamics(q, v, frame="tool", damping=0.1)  # damped, even this exists
    assert inertia.shape == (6, 6)

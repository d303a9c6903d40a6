"""Mechanisms of any size: laws that must not depend on whether a length is a millimetre or a thousand kilometres."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism

at = Transform.from_translation
SIZES = (1e-3, 1.0, 1e3, 1e6)


def slider_crank(size: float) -> Mechanism:
    """A crank, a rod on a universal joint and a slider beside the plane of the crank."""
    bodies = tuple(
        Body(name, Inertia.box(1.0, (0.5 * size, 0.1 * size, 0.1 * size))) for name in ("crank", "rod", "slide")
    )
    joints = (
        Joint("drive", "revolute", WORLD, "crank", axis=[0, 1, 0]),
        Joint("knee", "universal", "crank", "rod", at([size, 0, 0]), axis=[0, 1, 0], axis2=[0, 0, 1]),
        Joint("rail", "prismatic", WORLD, "slide", at([0, 0.2 * size, 0]), axis=[1, 0, 0]),
    )
    pin = Constraint("pin", "spherical", "rod", "slide", at([2 * size, 0, 0]))
    return Mechanism("slider-crank", bodies, joints, constraints=(pin,))


def hexagon(size: float) -> Mechanism:
    """Bricard's trihedral linkage: six equal bars, neighbouring axes normal; one row too many, which one changes."""
    turns = [(-1) ** k * np.pi / 2 for k in range(6)]
    bodies, joints, parent = [], [], WORLD
    for k in range(5):
        bodies.append(Body(f"bar{k}", Inertia(1.0, [size / 2, 0, 0], np.diag([0.01, 0.1, 0.1]) * size**2)))
        place = Transform.identity() if k == 0 else Transform.from_rpy_xyz([turns[k - 1], 0, 0], [size, 0, 0])
        joints.append(Joint(f"j{k}", "revolute", parent, f"bar{k}", place))
        parent = f"bar{k}"
    end = Transform.from_rpy_xyz([turns[4], 0, 0], [size, 0, 0])
    ground = Transform.from_rpy_xyz([turns[5], 0, 0], [size, 0, 0]).inverse()
    loop = Constraint("loop", "revolute", parent, WORLD, end, ground)
    return Mechanism("hexagon", tuple(bodies), tuple(joints), constraints=(loop,))


@pytest.mark.parametrize("size", SIZES[1:])
def test_large_mechanisms_are_assembled_like_those_of_a_metre(size):
    """Steps, starts and residuals are measured by the longest distance; 1e-14 of it is some ten roundings."""
    small, large = (Dynamics(slider_crank(x)) for x in (1.0, size))
    q = large.assemble([1.0, 0.7, 0.1, 0.0])
    assert np.abs(large.residual(q)["pin"]).max() < 1e-14 * size
    assert np.allclose(q / [1, 1, 1, size], small.assemble([1.0, 0.7, 0.1, 0.0]), rtol=0, atol=1e-9)
    modes = large.assembly_modes(q, keep=["drive"], starts=20)
    assert len(modes) == len(small.assembly_modes(q / [1, 1, 1, size], keep=["drive"], starts=20)) > 1
    assert large.analyse(q).degrees_of_freedom == 1


@pytest.mark.parametrize("size", SIZES)
def test_projected_velocities_are_nearest_in_kinetic_energy(size):
    """M (v - v0) has no part along motions that the constraints allow - lengths and angles alike."""
    rng = np.random.default_rng(3)
    bodies = tuple(
        Body(name, Inertia(2.0, rng.normal(size=3) * size, np.diag([0.2, 0.3, 0.4]) * size**2)) for name in "ab"
    )
    joints = (Joint("free", "free", WORLD, "a"), Joint("turn", "revolute", "a", "b", at([size, 0, 0]), axis=[0, 1, 0]))
    plane = Constraint("plane", "point-on-plane", WORLD, "b", placement_b=at([0.3 * size, 0.4 * size, 0]))
    system = Dynamics(Mechanism("pair", bodies, joints, constraints=(plane,)))
    unit = np.array([size] * 3 + [1.0] * 4)
    q = system.assemble([0, 0, 0, 0.1, 0.2, 0.3, 0.9, 0.4])
    guess = rng.normal(size=7) * unit
    v = system.project_velocity(q, guess)
    G, M = (
        system.evaluate("positions", q, 0.0)[1] * unit / size,
        system.evaluate("mass_matrix", q) * unit * unit[:, None],
    )
    allowed = np.linalg.svd(G)[2][1:].T
    assert np.abs(allowed.T @ M @ ((v - guess) / unit)).max() < 1e-7 * np.abs(M).max()
    assert np.abs(G @ (v / unit)).max() < 1e-12


@pytest.mark.parametrize("size", SIZES[:3])
@pytest.mark.parametrize("method", ["multipliers", "projection"])
def test_kernels_of_loops_with_a_changing_redundancy_do_not_mind_the_size(size, method):
    """Rows of lengths and rows of angles differ by the square of the size in G M^-1 G^T."""
    q = np.array([2.1, 2.1, 2.1, 2.1, 2.1]) * [1, -1, 1, -1, 1]
    system = Dynamics(hexagon(size), method=method, reference=q)
    q = system.assemble(q)
    v = system.project_velocity(q, np.full(5, np.sqrt(9.81 / size)))
    tau = np.array([1.0, -2.0, 0.5, 1.5, 1.0]) * size
    expected = system.solve(q, v, tau).a
    assert system.pivots.varying
    assert np.abs(system.forward_dynamics(q, v, tau) - expected).max() < 1e-8 * np.abs(expected).max()


def locked() -> Mechanism:
    """A ball on two joints that rolls on the ground: three rows, two velocities, no motion left."""
    bodies = (Body("arm", Inertia.box(1.0, (1, 0.1, 0.1))), Body("ball", Inertia.sphere(1.0, 0.5)))
    joints = (
        Joint("first", "revolute", WORLD, "arm", Transform.from_rpy_xyz([0.4, 0.3, 0], [0, 0, 0.5])),
        Joint("second", "revolute", "arm", "ball", Transform.from_rpy_xyz([0.2, 0.9, 0], [0, 0, 0])),
    )
    rolls = Constraint("rolls", "rolling-sphere", "ball", WORLD, at([0.3, 0.1, 0.0]), value=0.5)
    return Mechanism(
        "locked", bodies, joints, constraints=(rolls,), forces=(Force("drive", "joint-force", "first", value=1e4),)
    )


@pytest.mark.parametrize("method", ["multipliers", "projection"])
def test_what_rounding_leaves_of_velocities_is_no_contradiction(method):
    """A mechanism that its constraints lock does not accelerate, whatever the last digit of its velocities."""
    for k in range(4):
        system = Dynamics(locked(), elements="all", method=method, reference=[0.3 * k, 0.2])
        q = system.assemble()
        assert system.analyse(q).degrees_of_freedom == 0
        a = system.forward_dynamics(q, [1e-16, -3e-16], [0.0, 0.0])
        assert np.abs(a).max() < 1e-6


def test_accelerations_of_every_method_are_accepted_by_inverse_dynamics():
    """Large forces on a locked mechanism leave the rounding of the accelerations they would cause."""
    system = Dynamics(locked(), elements="all", reference=[0.3, 0.2])
    q = system.assemble()
    for method in ("multipliers", "projection", "udwadia-kalaba"):
        a = system.solve(q, [0, 0], [1e6, -1e6], method=method).a
        assert np.abs(system.drive_forces(q, [0, 0], a, actuated=["first"]).tau).max() == 0

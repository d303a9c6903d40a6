"""Linearization against differences of the constrained flow itself: given motions, rolling, rotations, users' rules.

A state is moved along one independent coordinate or speed; all dependent ones follow by Newton's method and by the rows
on velocities. Central differences with step 1e-4 leave 1e-8 of third derivatives and 1e-12 / 1e-4 of rounding: 1e-6.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from constraint_cases import relative

from dalembert.algebra import scalar
from dalembert.algebra.quaternions import quaternion_star
from dalembert.algebra.transform import Transform
from dalembert.constraints.classical import (
    BICYCLE_UPRIGHT,
    chaplygin_sleigh,
    flyball_governor,
    four_bar,
    rolling_disc,
    whipple_bicycle,
)
from dalembert.control import equilibrium
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning, SingularityError
from dalembert.formats import load
from dalembert.kinematics.manifold import moved
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from random_mechanisms import random_mechanism

STEP = 1e-4


def difference(mechanism, q, other):
    """The tangent vector that leads from q to another position."""
    step = np.zeros(mechanism.nv)
    for link in mechanism.tree.links:
        one, two = link.position(q), link.position(other)
        if link.kind == "spherical":
            turn = quaternion_star(np.array([*-one[:3], one[3]]), two)
            turn = turn * np.sign(turn[3])
            size = np.linalg.norm(turn[:3])
            step[link.v : link.v + 3] = turn[:3] * (2 * np.arctan2(size, turn[3]) / size if size else 2.0)
        else:
            step[link.v] = two[0] - one[0]
    return step


class Flow:
    """States near a nominal one by independent coordinates, and how these change."""

    def __init__(self, system, q, v, tau, t):
        self.system, self.q, self.v, self.tau, self.t = system, q, v, tau, t
        self.linear = system.linear_model(q, v, tau, t)
        names = system.velocity_names()
        self.y = [names.index(name) for name in self.linear.positions]
        self.u = [names.index(name) for name in self.linear.speeds]

    def state(self, dy, du):
        """Positions and velocities on the constraints, displaced by dy and du in the independent ones."""
        m, rows = self.system.mechanism, self.system.constraints.holonomic
        dependent = np.setdiff1d(np.arange(m.nv), self.y)
        step = np.zeros(m.nv)
        step[self.y] = dy
        for _ in range(12):
            phi, G = self.system.evaluate("positions", moved(m.tree, self.q, step), self.t)
            if not rows.any() or np.abs(phi[rows]).max() < 1e-14:
                break
            step[dependent] -= np.linalg.lstsq(G[rows][:, dependent], phi[rows], rcond=1e-9)[0]
        q = moved(m.tree, self.q, step)
        _, G, rate, _ = self.system.evaluate("constraints", q, self.v, self.t)
        v, dependent = np.zeros(m.nv), np.setdiff1d(np.arange(m.nv), self.u)
        v[self.u] = self.v[self.u] + du
        v[dependent] = np.linalg.lstsq(G[:, dependent], rate - G[:, self.u] @ v[self.u], rcond=1e-9)[0]
        return q, v

    def rate(self, dy, du, dtau=0.0):
        """How the deviation from the nominal motion grows: of positions by following both a little way."""
        m = self.system.mechanism
        q, v = self.state(dy, du)
        h = 1e-4
        ahead, back = (
            difference(m, moved(m.tree, self.q, s * h * self.v), moved(m.tree, q, s * h * v))[self.y] for s in (1, -1)
        )
        a = self.system.solve(q, v, self.tau + dtau, self.t).a
        return np.concatenate([(ahead - back) / (2 * h), a[self.u]])

    def check(self):
        ny, nu = len(self.y), len(self.u)
        zero_y, zero_u = np.zeros(ny), np.zeros(nu)
        A = np.zeros((ny + nu, ny + nu))
        for k in range(ny + nu):
            unit = np.eye(ny + nu)[k] * STEP
            A[:, k] = (self.rate(unit[:ny], unit[ny:]) - self.rate(-unit[:ny], -unit[ny:])) / (2 * STEP)
        scale = max(1.0, np.abs(A).max())
        assert relative(self.linear.A, A, scale) < 1e-6
        B = [(self.rate(zero_y, zero_u, e) - self.rate(zero_y, zero_u, -e)) / 2 for e in np.eye(len(self.tau))]
        assert relative(self.linear.B, np.array(B).T, max(1.0, np.abs(B).max())) < 1e-8
        return A


def consistent(system, q, v, t):
    _, G, rate, _ = system.evaluate("constraints", q, v, t)
    return v - np.linalg.pinv(G, rcond=1e-9) @ (G @ v - rate)


def spinning_pair():
    """Two bodies on ball joints, joined by a rule of the user's own that changes with time."""
    tree = random_mechanism(5, 3, kinds=("spherical", "revolute"), massless=0.0)
    rule = Constraint("own", "velocity", function=lambda q, v, t: v[0] + scalar.sin(t) * v[2] + q[1] * v[1] - t * t)
    assert any(joint.kind == "spherical" for joint in tree.joints)
    return tree.replace(constraints=(rule,))


def driven_four_bar():
    """A crank that would have one freedom, whose ground pivot moves: a rule on positions with time in it."""
    bars = four_bar()
    a, b, c, d = 1.0, 2.5, 2.0, 3.0
    cos, sin = scalar.cos, scalar.sin

    def closed(q, t):
        shift = d + scalar.sin(t) / 4
        return [
            a * cos(q[0]) + b * cos(q[0] + q[1]) - shift - c * cos(q[2]),
            a * sin(q[0]) + b * sin(q[0] + q[1]) - c * sin(q[2]) - t * t / 10,
        ]

    return bars.replace(constraints=(Constraint("moving pin", "position", function=closed),))


CASES = {
    "rheonomic closure": (driven_four_bar(), [1.0, -0.5, 1.7], [1.5, 0, 0], 0.7),
    "governor at given speed": (flyball_governor(), [0.0, 0.5, 0.5, -1.0, -1.0, 1.0], [8.0, 0.3, 0, 0, 0, 0], 0.0),
    "rolling disc": (rolling_disc(angles=True), [0, 0, 0.5, 0.4, 0.3, 0.2], [1, 0, 0, 0.7, 0.2, 5], 0.0),
    "sleigh": (chaplygin_sleigh(), [0.1, 0.2, 0.3], [1.0, 0.3, 1.2], 0.0),
    "quaternions and a rule of time": (spinning_pair(), None, None, 0.4),
    "bicycle upright": (whipple_bicycle(), BICYCLE_UPRIGHT, [4.6, 0, 0, 0, 0, 0, 4.6 / 0.3, 0, 4.6 / 0.35], 0.0),
    "bicycle leaning and steering": (
        whipple_bicycle(), np.array(BICYCLE_UPRIGHT) + [0, 0, 0, 0.3, 0.15, 0, 0, 0.1, 0],
        [4, 0, 0, 0, 0.1, 0, 14, 0.2, 12], 0.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_linearization_is_the_derivative_of_the_constrained_flow(name):
    mechanism, q, v, t = CASES[name]
    rng = np.random.default_rng(1)
    some, speeds, _ = mechanism.random_state(rng)
    system = Dynamics(mechanism, reference=some if q is None else q)
    q = system.assemble(some if q is None else np.array(q, dtype=float), t)
    v = consistent(system, q, np.array(speeds if v is None else v, dtype=float), t)
    tau = rng.normal(size=mechanism.nv)
    A = Flow(system, q, v, tau, t).check()
    assert np.abs(A).max() > 0.1


def test_a_batch_along_a_motion_is_the_states_one_by_one():
    mechanism, q, v, _ = CASES["rheonomic closure"]
    system = Dynamics(mechanism, reference=q)
    times = np.array([0.0, 0.3, 0.7])
    states = np.array([system.assemble(q, t, keep=["crank"]) for t in times])
    speeds = np.array([consistent(system, x, np.array(v, dtype=float), t) for x, t in zip(states, times)])
    along = system.linear_model(states, speeds, np.zeros(3), times, positions=["crank"], speeds=["crank"])
    for k, t in enumerate(times):
        one = system.linear_model(states[k], speeds[k], np.zeros(3), t, positions=["crank"], speeds=["crank"])
        np.testing.assert_allclose(along.A[k], one.A, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("off", "words"), [((0.1, 0), "q violates .*assemble"), ((0, 1), "v violates .*project")])
def test_states_off_the_constraints_have_no_linear_model(off, words):
    system = Dynamics(load("four_bar", parameters="default"), reference=[1.0, -0.7, 1.6])
    q = system.assemble(keep=["drive"])
    with pytest.raises(ArgumentError, match=f"linear_model: {words}"):
        system.linear_model(q + [0, off[0], 0], [off[1], 0, 0], np.zeros(3))


def test_times_of_given_motions_are_told_with_what_they_violate():
    turning = Constraint("motor", "motion", "drive", coefficients=(1.0, 2.0))
    system = Dynamics(load("four_bar", parameters="default").replace(constraints=(turning,)))
    with pytest.raises(ArgumentError, match=r"'motor' by 6 m or rad at t = 3 s.*assemble\(q, t\)"):
        system.linear_model([1.0, 0, 0], [2.0, 0, 0], np.zeros(3), 3.0)


def test_beside_a_singular_position_there_is_a_right_model_or_none():
    """A governor at rest hangs with straight arms, which is a singular position. Symmetric swings of its arms have the
    frequency sqrt(g (m + M) / (m l)): both balls, and the sleeve, sink by the same angle squared. Closer to it than
    rows can be told apart there is no linear model; nor is there at the equilibrium, found from afar.
    """
    length, ball, sleeve = 0.2, 0.5, 2.0
    bodies = [
        Body("left", Inertia.point(ball, [length, 0, 0])),
        Body("right", Inertia.point(ball, [-length, 0, 0])),
        Body("sleeve", Inertia.point(sleeve)),
    ]
    joints = [
        Joint("first", "revolute", WORLD, "left", axis=[0, 1, 0]),
        Joint("second", "revolute", WORLD, "right", axis=[0, -1, 0]),
        Joint("slide", "prismatic", WORLD, "sleeve", axis=[0, 0, -1]),
    ]
    rods = [
        Constraint(f"rod {name}", "distance", name, "sleeve", Transform.from_translation([x, 0, 0]), value=length)
        for name, x in (("left", length), ("right", -length))
    ]
    governor = Mechanism("governor", bodies, joints, constraints=rods)
    system, rest = Dynamics(governor, reference=[0.9, 0.9, 0.31]), np.zeros(3)
    right = np.sqrt(9.81 * (ball + sleeve) / (ball * length))
    answers = 0
    for d in 10.0 ** np.arange(-12, -2, 0.5):
        try:
            found = system.linear_model([np.pi / 2 - d, np.pi / 2 - d, 2 * length * np.cos(d)], rest, rest)
        except SingularityError as error:
            assert "singular" in str(error) and d < 1e-6
            continue
        answers += 1
        np.testing.assert_allclose(np.abs(found.poles.imag), [right, right], rtol=1e-2)
    assert answers > 5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # where it is not found exactly
        hanging = equilibrium(system, system.assemble([0.9, 0.9, 0.31]))
    assert np.abs(hanging.q - [np.pi / 2, np.pi / 2, 2 * length]).max() < 1e-6
    with pytest.raises(SingularityError, match="the position is singular"):
        system.linear_model(hanging.q, rest, rest)

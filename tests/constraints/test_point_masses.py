"""A ball that rolls on a plate that is moved, in a field of gravity, against point masses under a dense system.

Six points on the axes of its second moment are a rigid body, also in a field that is quadratic in space: forces and
moments are exact then. Their places are written here; Jacobians are complex steps, second derivatives differences of
those, extrapolated.
"""

import numpy as np
import pytest
import sympy

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism

AXES = np.array([[0, 0, 1.0], [0, 1, 0], [1, 0, 0]])
MOUNT = Transform.from_rpy_xyz([0.3, 0.1, -0.2], [0.1, 0.2, 0.3])
THICKNESS, PLATE_MASS = 0.1, 2.0
CENTERS = np.array([[0.1, -0.2, 0.05], [0.03, 0.02, -0.04]])
PLATE = [[0.05, 0.01, 0], [0.01, 0.06, 0.01], [0, 0.01, 0.08]]
BALL = [[0.03, 0.005, 0.002], [0.005, 0.025, 0], [0.002, 0, 0.02]]
TENSORS = np.array([PLATE, BALL])
"""That of the ball for one kilogram."""

NEAR = np.array([0.05, 0.1, 0.3, 0.2, 0.7, 0.1, 0.2, 0.3])


def field(p, t, mass, sin):
    x, y, z = p
    k = 3 * mass / 10
    return [k * x * y - 3 * z * z / 10 + sin(t), x * x / 2 - k * y * z - 1, k * z * z - 7 * x * y / 10 + x / 5 - 10]


def rolling_on_a_moved_plate(mass, radius):
    x, y, z, t, tilt = sympy.symbols("x y z t tilt")
    joints = [
        Joint("tilt", "revolute", WORLD, "hinge", MOUNT, axis=[0, 1, 0]),
        Joint("lift", "prismatic", "hinge", "plate", axis=[0, 0, 1]),
    ]
    bodies = [Body("hinge", Inertia(0.0)), Body("plate", Inertia(PLATE_MASS, CENTERS[0], TENSORS[0]))]
    kinds = [("prismatic", axis) for axis in np.eye(3)] + [("revolute", axis) for axis in AXES]
    for k, (kind, axis) in enumerate(kinds):
        last = k == len(kinds) - 1
        joints.append(Joint(f"b{k}", kind, f"link{k - 1}" if k else WORLD, "ball" if last else f"link{k}", axis=axis))
        own = Inertia(mass, CENTERS[1], [[mass * float(x) for x in row] for row in TENSORS[1]])
        bodies.append(Body("ball", own) if last else Body(f"link{k}", Inertia(0.0)))
    constraints = [
        Constraint("tilting", "position", function=[tilt - radius * sympy.sin(mass * t)]),
        Constraint("lifting", "motion", "lift", function=sympy.cos(mass * t) / 10),
        Constraint(
            "rolling", "rolling-sphere", "ball", "plate", placement_b=Transform.from_translation([0, 0, THICKNESS]),
            value=radius,
        ),
    ]  # fmt: skip
    forces = [Force("field", "gravity-field", function=field((x, y, z), t, mass, sympy.sin))]
    return Mechanism("moved", bodies, joints, constraints=constraints, forces=forces, gravity=[0, 0, 0])


def turned(axis, angle):
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def poses(q):
    plate = np.asarray(MOUNT.rotation, dtype=float) @ turned([0, 1, 0], q[0])
    origin = np.asarray(MOUNT.translation, dtype=float) + plate[:, 2] * q[1]
    return (plate, origin), (turned(AXES[0], q[5]) @ turned(AXES[1], q[6]) @ turned(AXES[2], q[7]), q[2:5])


def points(q):
    """Six of each body; a sixth of its mass belongs to each."""
    found = []
    for (rotation, origin), center, tensor, mass in zip(poses(q), CENTERS, TENSORS, (PLATE_MASS, 1.0)):
        sizes, axes = np.linalg.eigh(np.trace(tensor) / 2 * np.eye(3) - tensor)
        for size, axis in zip(sizes, axes.T):
            found += [origin + rotation @ (center + sign * np.sqrt(3 * size / mass) * axis) for sign in (1, -1)]
    return np.concatenate(found)


def rate(function):
    return np.imag(function(1e-30j)) / 1e-30


def gradient(function, q):
    return np.stack([rate(lambda e: function(q + e * unit)) for unit in np.eye(len(q))], axis=-1)  # noqa: B023


def second(function):
    """Of a function of one scalar, at zero, to some 1e-11."""

    def difference(h):
        return (rate(lambda e: function(h + e)) - rate(lambda e: function(e - h))) / (2 * h)

    a, b, c = (difference(h) for h in (2e-3, 1e-3, 5e-4))
    return (16 * (4 * c - b) - (4 * b - a)) / 45


def on_positions(q, t, mass, radius):
    (plate, origin), (_, ball) = poses(q)
    height = plate[:, 2] @ (ball - origin) - THICKNESS - radius
    return np.array([q[0] - radius * np.sin(mass * t), q[1] - np.cos(mass * t) / 10, height])


def slip(q, radius):
    """Rows of two: velocity of the ball's point that touches, less that of the plate's, along axes of the plate."""
    (plate, _), (_, ball) = poses(q)
    spin, swing = np.zeros((8, 3), q.dtype), np.zeros((8, 3), q.dtype)
    first = turned(AXES[0], q[5])
    spin[5:] = AXES[0], first @ AXES[1], first @ turned(AXES[1], q[6]) @ AXES[2]
    swing[0] = plate[:, 1]
    touch = ball - radius * plate[:, 2]
    velocity = np.cross(spin, touch - ball) - np.cross(swing, touch - np.asarray(MOUNT.translation, dtype=float))
    velocity[2:5] += np.eye(3)
    velocity[1] -= plate[:, 2]
    return (velocity @ plate[:, :2]).T


def expected(q, v, tau, t, mass, radius):
    weights = np.repeat([PLATE_MASS / 6, mass / 6], 18)
    J = gradient(points, q)
    pull = np.concatenate([field(p, t, mass, np.sin) for p in points(q).reshape(-1, 3)])
    f = tau + J.T @ (weights * (pull - second(lambda s: points(q + s * v))))
    G = np.vstack([gradient(lambda x: on_positions(x, t, mass, radius), q), slip(q, radius)])
    drift = second(lambda s: on_positions(q + s * v, t + s, mass, radius))
    gamma = -np.concatenate([drift, rate(lambda e: slip(q + e * v, radius) @ v)])
    system = np.block([[J.T @ (weights[:, None] * J), -G.T], [G, np.zeros((5, 5))]])
    return np.linalg.solve(system, np.concatenate([f, gamma]))[:8]


@pytest.mark.parametrize("method", ["multipliers", "projection"])
def test_rolling_given_motions_fields_and_batches_of_parameters_together(method):
    mechanism = rolling_on_a_moved_plate(*sympy.symbols("mass radius", positive=True))
    rng, states = np.random.default_rng(5), []
    for _ in range(6):
        t, numbers = rng.uniform(0, 6), {"mass": rng.uniform(0.8, 2.0), "radius": rng.uniform(0.15, 0.35)}
        own = Dynamics(mechanism, elements="all", parameters=numbers, reference=NEAR, method=method)
        q = own.assemble(NEAR + 0.3 * rng.normal(size=8), t)
        v, tau = own.project_velocity(q, rng.normal(size=8), t), rng.normal(size=8)
        states.append((q, v, tau, t, [numbers[name] for name in own.parameter_names]))
        right = expected(q, v, tau, t, **numbers)
        assert np.abs(own.solve(q, v, tau, t).a - right).max() < 1e-9 * np.abs(right).max()
        states[-1] += (right,)
    q, v, tau, t, parameters, right = (np.array(part) for part in zip(*states))
    found = own.forward_dynamics(q, v, tau, t, parameters=parameters)
    assert np.abs(found - right).max() < 1e-9 * np.abs(right).max()

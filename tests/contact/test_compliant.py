"""The compliant law: closed forms, dissipation, exact derivatives, the same motion by every method.

Tolerances: those of the integrators, 1e-9 per step, unless something else is said.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import dalembert as da
from contact.scenes import TILT, G, ball, block
from dalembert.constraints.state import State
from dalembert.contact.compliant import SLIP_SPEED, CompliantSet
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Body, Contact, Inertia, Joint, Mechanism, Shape

SOFT = {"stiffness": 2e4, "damping": 0.5}
EVERYTHING = {"torsional": 0.02, "rolling": 0.01, **SOFT}


def soft(mechanism: Mechanism, **options) -> Dynamics:
    return Dynamics(mechanism, law="compliant", **options)


def at(z: float, x: float = 0.0) -> list[float]:
    return [x, 0, z, 0, 0, 0, 1]


def test_a_ball_rests_at_the_depth_of_its_weight():
    dyn = soft(ball(**SOFT))
    assert np.abs(dyn.forward_dynamics(at(0.1 - G / 2e4), np.zeros(6), np.zeros(6), 0.0)).max() < 1e-9
    motion = da.simulate(ball(stiffness=2e4, damping=20), at(0.1), t=0.5, law="compliant")
    assert abs(motion.q[-1, 2] - (0.1 - G / 2e4)) < 1e-8  # what is left of the bouncing
    four = block(**SOFT)
    assert np.abs(soft(four).forward_dynamics(at(0.05 - 2 * G / 8e4), np.zeros(6), np.zeros(6), 0.0)).max() < 1e-9


@pytest.mark.parametrize("speed", [0.1, 1.0])
def test_a_ball_leaves_as_hunt_and_crossley_say(speed):
    """Without gravity m v dv = -k x (1 + c v) dx, so that c v - ln(1 + c v) is the same before and after."""
    c = 0.3
    free = ball(stiffness=1e4, damping=c).replace(gravity=np.zeros(3))
    motion = da.simulate(free, at(0.1 + 1e-9), [0, 0, -speed, 0, 0, 0], t=0.2, law="compliant")
    expected = brentq(lambda v: (-c * v - np.log(1 - c * v)) - (c * speed - np.log(1 + c * speed)), 1e-9, speed)
    assert abs(motion.v[-1, 2] - expected) < 1e-6  # steps over the beginning of the contact, where the force has a kink
    assert abs(expected / speed - (1 - 2 / 3 * c * speed)) < (c * speed) ** 2  # their approximation


def test_a_block_slides_down_an_incline_as_coulomb_says_and_creeps_where_he_would_hold_it():
    scene = block(damping=5.0, stiffness=2e5)
    dyn = soft(scene, parameters=TILT)
    steep, flat, mu = 0.7, 0.3, 0.5

    def slid(angle):
        values = {"gravity.x": G * np.sin(angle), "gravity.y": 0.0, "gravity.z": -G * np.cos(angle),
                  "touch.friction": mu, "touch.restitution": 0.0}  # fmt: skip
        depth = 2 * G * np.cos(angle) / (4 * 2e5)
        return da.simulate(dyn, at(0.05 - depth), [0.0] * 6, np.linspace(0, 1.0, 11), method="Radau", parameters=values)

    motion = slid(steep)
    expected = G * (np.sin(steep) - mu * np.cos(steep))
    assert abs((motion.v[-1, 0] - motion.v[5, 0]) / 0.5 - expected) < 1e-4  # friction is short of mu by (s/v)^2/2
    share = np.tan(flat) / mu
    creep = SLIP_SPEED * share / np.sqrt(1 - share**2)
    assert abs(slid(flat).v[-1, 0] - creep) < 1e-5 * SLIP_SPEED + 1e-7


def states(mechanism: Mechanism, count: int):
    """Random states in which points are pressed in, or just not."""
    rng = np.random.default_rng(3)
    q, v, _ = mechanism.random_state(rng, count)
    q[:, :2] *= 0.1
    q[:, 2] = (0.08 if mechanism.name == "ball" else 0.04) + 0.04 * rng.random(count)
    q[:, 3:6] *= 0.02
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q, v


@pytest.mark.parametrize("scene", [ball(**EVERYTHING), block(**EVERYTHING)], ids=["ball", "block"])
def test_contacts_never_give_energy(scene):
    """Power of the contact plus the rate of k d^2 / 2, at states pressed in and not: never above zero."""
    forces = CompliantSet(scene)
    pressed = 0
    for q, v in zip(*states(scene, 40)):
        state = State(scene, q, v)
        h = 1e-30
        slope = State(scene, q.astype(complex) + 1j * h * velocity_of(scene, q, v), v)
        stored = forces.energy(slope).imag / h
        power = forces.generalised(state) @ v + stored
        assert power <= 1e-9 * max(1, abs(stored))
        pressed += forces.energy(state) > 0
    assert 5 < pressed < 40


def velocity_of(scene: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    from dalembert.kinematics.manifold import position_rate

    return np.asarray(position_rate(scene.tree, q, v), dtype=float)


@pytest.mark.parametrize("scene", [ball(**EVERYTHING), block(**EVERYTHING)], ids=["ball", "block"])
def test_derivatives_are_those_of_the_complex_step(scene):
    """State matrices of the compiled kernels against a complex step through the same law on numbers."""
    dyn, forces = soft(scene), CompliantSet(scene)
    h = 1e-30
    for q, v in zip(*states(scene, 6)):
        ours = dyn.linear_model(q, v, np.zeros(6)).A
        M = dyn.mass_matrix(q)
        for k in range(6):
            step = np.zeros(6)
            step[k] = 1
            bumped = State(scene, q.astype(complex), v + 1j * h * step)
            gradient = np.linalg.solve(M, forces.generalised(bumped).imag / h)
            smooth = np.linalg.solve(M, bias_slope(scene, q, v, step, h))
            np.testing.assert_allclose(ours[6:, 6 + k], gradient - smooth, rtol=1e-8, atol=1e-7 * np.abs(ours).max())


def bias_slope(scene, q, v, step, h):
    from dalembert.algorithms.inverse_dynamics import newton_euler

    return np.asarray(newton_euler(scene.tree, q, v + 1j * h * step, np.zeros(6)), dtype=complex).imag / h


def test_every_method_moves_it_alike():
    scene = ball(**SOFT)
    v0 = [0.5, 0, 0, 0, 3.0, 1.0]
    exact = da.simulate(scene, at(0.11), v0, t=0.1, law="compliant", rtol=1e-12, atol=1e-12)
    for method in ("Radau", "LSODA"):
        other = da.simulate(scene, at(0.11), v0, t=0.1, law="compliant", method=method)
        np.testing.assert_allclose(other.q[-1], exact.q[-1], atol=1e-6)
    assert exact.contacts is None or len(exact.contacts.names) == 1
    for method in ("rk4", "lie-rk4", "semi-implicit-euler"):
        rolled = da.rollout(scene, at(0.11), v0, 20000, 5e-6, law="compliant", method=method, record=False)
        np.testing.assert_allclose(rolled.final_q, exact.q[-1], atol=1e-6 if "rk4" in method else 1e-4)


def test_joints_transmit_what_the_contact_does_not():
    """A free body's joint transmits nothing; the action on the body and the generalised force are one."""
    dyn = soft(block(**EVERYTHING))
    for q, v in zip(*states(dyn.mechanism, 4)):
        (found,) = dyn.reactions(q, v, np.zeros(6)).values()
        assert np.abs([*found.force, *found.moment]).max() < 1e-8


def test_two_bodies_push_each_other_alike():
    """Two balls in the air: momentum stays, and energy falls."""
    bodies = tuple(Body(name, Inertia.sphere(1, 0.1), collisions=(Shape.sphere(0.1),)) for name in "ab")
    joints = tuple(Joint(f"j{name}", "free", "world", name) for name in "ab")
    pair = da.contacts(Mechanism("two", bodies, joints, gravity=np.zeros(3)), 0.4, ground=None, pairs="all", **SOFT)
    start = [0, 0, 0, 0, 0, 0, 1, 0.201, 0.05, 0, 0, 0, 0, 1]
    motion = da.simulate(pair.mechanism, start, [1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0], t=0.1, law="compliant")
    momentum = motion.v[:, :3] + motion.v[:, 6:9]
    np.testing.assert_allclose(momentum, np.tile([1, 0, 0], (len(motion.t), 1)), atol=1e-9)
    energy = motion.energy
    assert energy[-1] < energy[0] - 1e-3 and np.diff(energy).max() < 1e-9
    assert abs(motion.v[-1, 6]) > 0.1


def test_numbers_are_inputs_where_that_is_asked_for():
    dyn = soft(ball(**SOFT), parameters=["touch.stiffness", "touch.friction"])
    k = np.array([1e4, 2e4])
    values = np.stack([k, np.full(2, 0.3)], axis=-1)
    a = dyn.forward_dynamics(at(0.099), np.zeros(6), np.zeros(6), 0.0, values)
    np.testing.assert_allclose(a[:, 2], k * 0.001 - G, rtol=1e-9)
    assert dyn.element_forces(at(0.099), np.zeros(6), 0.0, values).shape == (2, 1, 6)
    named = ball(stiffness=sp.Symbol("k"), damping=sp.Symbol("c"))
    found = CompliantSet(named).generalised(State(named, at(0.099), [0, 0, 0, 0, 0, 0]))
    assert sp.simplify(found[2] - sp.Rational(1, 1000) * sp.Symbol("k")).subs({"k": 1.0, "c": 0.5}) == pytest.approx(0)


def test_what_the_law_cannot_do_is_said():
    with pytest.raises(ArgumentError, match="needs the stiffness of 'touch'"):
        soft(ball())
    with pytest.raises(ArgumentError, match="say it there only"):
        da.simulate(soft(ball(**SOFT)), at(0.1), t=0.1, law="rigid")
    with pytest.raises(UnsupportedError, match="contact_step is that of rigid ones"):
        soft(ball(**SOFT)).kernel("contact_step")
    with pytest.raises(da.errors.ModelError, match="slip_speed of 0 makes friction jump"):
        Contact("c", "b", shape_a=Shape.sphere(1), friction=1, slip_speed=0)
    arm = Mechanism(
        "arm", (Body("b", Inertia.sphere(1, 0.1, center=[0, 0, 1])),),
        (Joint("j", "revolute", "world", "b", axis=[0, 1, 0], limits=da.Limits(-1, 1)),),
    )  # fmt: skip
    with pytest.raises(UnsupportedError, match="joint-stop"):
        soft(arm, limits="all")

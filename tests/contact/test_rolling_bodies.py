"""Bodies that roll on a rough ground against the constraints of rolling, and the friction of spin and roll."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dalembert as da
from contact.scenes import G, ball
from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.constraints.classical import rattleback, rolling_disc
from dalembert.dynamics import Dynamics
from dalembert.model import WORLD, Contact, Mechanism, Shape

ROUGH = 1e3
"""A coefficient of friction beyond all need."""

THIN = 1e-7
"""Thickness of a cylinder that stands for a disc, m: both of its rims touch, as one."""


def stone() -> tuple[Mechanism, Mechanism, np.ndarray, np.ndarray]:
    """A rattleback as Kane and Levinson (1982) spun it: with the constraint, with a contact, and a state."""
    rolls = rattleback()
    q = rolls.neutral
    turn = rotation_from_rpy(np.radians(0.5), np.radians(0.5), 0)
    q[3:], q[2] = quaternion_from_rotation(turn), 0.02
    contact = Contact("touch", "stone", WORLD, Shape("ellipsoid", (0.2, 0.03, 0.02)), friction=ROUGH)
    return (
        rolls,
        rolls.replace(constraints=(), contacts=(contact,)),
        q,
        np.concatenate([np.zeros(3), turn.T[:, 2] * -5]),
    )


def coin() -> tuple[Mechanism, Mechanism, np.ndarray, np.ndarray]:
    """A disc that leans and rolls in a curve."""
    rolls = rolling_disc(2.0, 0.3)
    q = rolls.neutral
    turn = rotation_from_rpy(np.pi / 2 - 0.25, 0, 0)
    q[3:], q[2] = quaternion_from_rotation(turn), 0.3 * math.cos(0.25)
    contact = Contact("touch", "disc", WORLD, Shape("cylinder", (0.3, THIN)), friction=ROUGH)
    return rolls, rolls.replace(constraints=(), contacts=(contact,)), q, np.array([0, 0, 0, 0, 0, -8.0])


@pytest.mark.parametrize("case", [stone, coin], ids=["rattleback", "disc"])
def test_what_rolls_on_a_rough_ground_moves_as_under_the_constraint_of_rolling(case):
    """From event to event to the tolerance of both; in steps to first order."""
    rolls, touches, q, v = case()
    system = Dynamics(rolls, reference=q)
    q = system.assemble(q)
    rows = system.evaluate("positions", q, 0.0)[1]
    v[:3] = -np.linalg.solve(rows[:, :3], rows[:, 3:] @ v[3:])  # no slip, the turning kept
    end = 0.1
    exact = da.simulate(system, q, v, end, rtol=1e-11, atol=1e-13)
    events = da.simulate(touches, q, v, end, method="event-driven")
    assert np.abs(events.v[-1] - exact.v[-1]).max() < 1e-6 * np.abs(v).max()
    assert (events.contacts.mode.max(axis=1) == 1).all()
    steps = [da.rollout(touches, q, v, round(end / h), h, sweeps=60, record=False) for h in (1e-4, 1e-5)]
    off = [np.abs(found.final_v - exact.v[-1]).max() for found in steps]
    assert off[1] < 1e-3 * np.abs(v).max() and off[1] < 0.11 * off[0]


def test_torsional_friction_stops_a_spin_after_its_time():
    """I w' = -mu_t m g: a ball that spins about the vertical rests after 2/5 r^2 w / (mu_t g), and stays."""
    w, torsional = 4.0, 0.005
    motion = da.simulate(ball(torsional=torsional), [0, 0, 0.1, 0, 0, 0, 1], [0, 0, 0, 0, 0, w], 0.5)
    stops = 0.4 * 0.1**2 * w / (torsional * G)
    before, after = motion.t < stops - 2e-3, motion.t > stops + 2e-3
    np.testing.assert_allclose(motion.v[before, 5], w - torsional * G / (0.4 * 0.1**2) * motion.t[before], atol=1e-9)
    assert np.abs(motion.v[after]).max() < 1e-12
    np.testing.assert_allclose(motion.contacts.moments[1, 0], [-torsional * G, 0, 0], rtol=1e-9)
    np.testing.assert_allclose(motion.contacts.friction_loss[-1], 0.4 * 0.1**2 * w**2 / 2, rtol=1e-6)


def test_rolling_friction_slows_a_ball_down():
    """7/5 m r a = mu_r m g: a ball that rolls without slip loses 5/7 mu_r g / r of its speed each second, and stops."""
    speed, rolling = 0.5, 0.01
    motion = da.simulate(
        ball(rolling=rolling, friction=0.5), [0, 0, 0.1, 0, 0, 0, 1], [speed, 0, 0, 0, speed / 0.1, 0], 1.5, sweeps=60
    )
    slows = 5 / 7 * rolling * G / 0.1
    rolls = motion.t < speed / slows - 2e-3
    np.testing.assert_allclose(motion.v[rolls, 0], speed - slows * motion.t[rolls], atol=1e-6)
    assert np.abs(motion.v[motion.t > speed / slows + 5e-3]).max() < 1e-9
    lost = 0.7 * speed**2  # m v^2/2 + I w^2/2
    np.testing.assert_allclose(motion.contacts.friction_loss[-1], lost, rtol=5e-3)

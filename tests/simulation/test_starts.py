"""A start outside the ranges of its joints is told: once, by name, with value and range, and what to do."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.model.states import position_ranges
from dalembert.planning import drive_limits

ARM = da.load("demo_arm")
TOLD = (
    r"turn at 229\.2 degrees, range -170\.2 to 170\.2; lift at -171\.9 degrees, range -120\.3 to 131\.8; begin within"
)


def told(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(item.message) for item in found if issubclass(item.category, ModelWarning)]


@pytest.mark.parametrize(
    "call",
    [
        lambda q: da.simulate(ARM, q, t=0.01),
        lambda q: da.simulate(da.Dynamics(ARM), q, t=0.01, method="rk4"),
        lambda q: da.rollout(ARM, np.tile(q, (3, 1)) * np.array([[0.1], [1.0], [0.2]]), None, 2),
        lambda q: da.view(ARM, q=q, to="here.html"),
    ],
)
def test_a_start_outside_the_ranges_is_told_once(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = [2.0, 1.0, 0.5, 0, 0, 0]
    assert told(lambda: call(np.array(inside))) == []
    with pytest.warns(ModelWarning, match=TOLD):
        call(np.array([4.0, -3.0, 0.5, 0, 0, 0]))
    assert len(told(lambda: call(np.array([4.0, -3.0, 0.5, 0, 0, 0])))) == 1


def test_lengths_and_long_lists_are_told_in_short():
    limits = da.Limits(lower=0.1, upper=0.2)
    joints = [da.Joint(f"j{k}", "prismatic", f"b{k - 1}" if k else "world", f"b{k}", limits=limits) for k in range(6)]
    rail = da.Mechanism("rail", [da.Body(f"b{k}", da.Inertia.sphere(1, 0.1)) for k in range(6)], joints)
    with pytest.warns(ModelWarning, match=r"j0 at 0 m, range 0\.1 to 0\.2; .*; and 2 more; begin"):
        da.simulate(rail, t=0.01)


def test_equations_and_joints_without_ranges_have_nothing_to_tell():
    equations = da.derive(da.load("double_pendulum", parameters="default"))
    assert told(lambda: da.simulate(equations, [9.0, 9.0], t=0.01)) == []
    assert told(lambda: da.simulate(da.load("puma560"), np.full(6, 9.0), t=0.01)) == []


def test_a_follower_restricts_the_joint_it_follows():
    body = da.Body("a", da.Inertia.sphere(1, 0.1))
    lead = da.Joint("lead", "revolute", "world", "a", limits=da.Limits(lower=-1, upper=1))
    follow = da.Joint(
        "follow", "revolute", "a", "b", limits=da.Limits(lower=-1, upper=1), mimic=da.Mimic("lead", -4.0, 0.2)
    )
    pair = da.Mechanism("pair", [body, body.replace(name="b")], [lead, follow])
    lower, upper = position_ranges(pair)
    assert [lower[0], upper[0]] == pytest.approx([-0.2, 0.3])
    assert np.array_equal(drive_limits(pair).lower, lower) and np.isinf(drive_limits(pair, ranges=False).upper).all()

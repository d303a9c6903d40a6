"""Constraints that change with time: rows are chosen for all times; those left out are watched while kernels run."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.algebra import scalar
from dalembert.dynamics import Dynamics
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism

METHODS = pytest.mark.parametrize("method", ["multipliers", "projection"])
FORCE = np.array([3.0, 5.0])


def beads(*constraints: Constraint) -> Mechanism:
    """Two beads of 1 kg on straight wires of their own."""
    return Mechanism(
        "beads",
        (Body("a", Inertia.point(1.0)), Body("b", Inertia.point(1.0))),
        (Joint("ja", "prismatic", WORLD, "a", axis=[1, 0, 0]), Joint("jb", "prismatic", WORLD, "b", axis=[0, 1, 0])),
        constraints=constraints,
    )


@METHODS
@pytest.mark.parametrize("when", [0.0, 1.0])
def test_rows_that_depend_on_each_other_at_one_moment_count_at_all_others(method, when):
    """v_a = 0 and v_a + (t - t0) v_b = 0: at t0, which is sampled, they say the same; at any other time both beads
    are held."""
    rule = Constraint("rule", "velocity", function=lambda q, v, t: [v[0], v[0] + (t - when) * v[1]])
    system = Dynamics(beads(rule), method=method)
    for t in (0.3, 2.0, 7.0):
        a, lam = system.evaluate("multipliers", np.zeros(2), np.zeros(2), FORCE, t)
        assert a == pytest.approx(np.zeros(2), abs=1e-14)
        # M a = 0 = force + G^T lam, two equations for two multipliers
        assert lam[1] * (t - when) == pytest.approx(-FORCE[1]) and lam[0] + lam[1] == pytest.approx(-FORCE[0])


@METHODS
def test_motions_that_a_coupling_demands_anyway_do_not_contradict_it(method):
    """a = t, b = a^2 and b = t^2: the three agree along the motion, though not away from it."""
    rules = (
        Constraint("curve", "coupling", "ja", "jb", coefficients=(0, 0, 1)),
        Constraint("along", "motion", "ja", coefficients=(0, 1)),
        Constraint("up", "motion", "jb", coefficients=(0, 0, 1)),
    )
    system = Dynamics(beads(*rules), method=method)
    for t in (0.0, 1.0, 6.0):
        a = system.forward_dynamics([t, t * t], [1.0, 2 * t], FORCE, t)
        assert a == pytest.approx([0.0, 2.0], abs=1e-9)


@METHODS
def test_motions_that_part_late_give_no_numbers_from_then_on(method):
    """They agree until t = 5 s, later than anything that is sampled."""
    rules = (
        Constraint("first", "motion", "ja", coefficients=(0, 1)),
        Constraint("second", "motion", "ja", function=lambda t: t + scalar.select(t < 5, 0, (t - 5) ** 2)),
    )
    system = Dynamics(beads(*rules), method=method)
    assert system.forward_dynamics([4.0, 0.0], [1.0, 0.0], FORCE, 4.0) == pytest.approx([0.0, 5.0])
    assert np.isnan(system.forward_dynamics([6.0, 0.0], [1.0, 0.0], FORCE, 6.0)).all()


@METHODS
def test_motions_told_in_two_ways_agree_in_single_precision_too(method):
    """sin 3t and 3 sin t - 4 sin^3 t: their second derivatives pass through zero, where rounding is all there is."""
    rules = (
        Constraint("first", "motion", "ja", function=lambda t: scalar.sin(3 * t)),
        Constraint("second", "motion", "ja", function=lambda t: 3 * scalar.sin(t) - 4 * scalar.sin(t) ** 3),
    )
    system = Dynamics(beads(*rules), method=method)
    t = np.linspace(0.1, 6.0, 200, dtype=np.float32)
    q, v = np.stack([np.sin(3 * t), t], axis=-1), np.stack([3 * np.cos(3 * t), t], axis=-1)
    a = system.forward_dynamics(q, v, np.ones_like(q), t)
    assert a.dtype == np.float32
    np.testing.assert_allclose(a, np.stack([-9 * np.sin(3 * t), np.ones_like(t)], axis=-1), atol=1e-4)


def test_what_cannot_move_has_no_accelerations_but_a_weight():
    lump = Mechanism("lump", (Body("a", Inertia.point(2.0)),), (Joint("weld", "fixed", WORLD, "a"),))
    system, nothing = Dynamics(lump), np.zeros(0)
    assert system.forward_dynamics(nothing, nothing, nothing).shape == (0,)
    assert system.analyse(nothing).degrees_of_freedom == 0
    assert system.reactions(nothing, nothing, nothing)["weld"].force == pytest.approx([0, 0, 2 * 9.81], rel=1e-3)

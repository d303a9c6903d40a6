"""After every fixed step loops are closed to a small part of their own length, or the motion has ended."""

import warnings

import numpy as np
import pytest
import sympy

from dalembert.algebra.transform import Transform
from dalembert.constraints.classical.spatial import bricard
from dalembert.constraints.violation import violation
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationWarning
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.simulation import SimulationError, rollout, simulate

WAYS = [{}, {"drift": "baumgarte", "stabilisation": 50.0}, {"drift": "ggl", "stabilisation": 50.0}]
"""To hold loops closed."""

METHODS = ["rk4", "semi-implicit-euler", "lie-rk4"]


def press(rod, size=1.0, away=0.0):
    """Crank of 0.1, slide 0.05 above it, times the size; turned with 6 rad/s. Short rods jam at the dead point."""
    at = Transform.from_translation
    inertia = Inertia(1.0, [size / 20, 0, 0], np.diag([1e-5, 1e-3, 1e-3]) * size**2)
    joints = [
        Joint("drive", "revolute", WORLD, "crank", at([away, 0, 0]), axis=[0, 1, 0]),
        Joint("slide", "prismatic", WORLD, "piston", at([away, 0, size / 20]), axis=[1, 0, 0]),
    ]
    rules = [
        Constraint("rod", "distance", "crank", "piston", placement_a=at([size / 10, 0, 0]), value=rod * size),
        Constraint("motor", "motion", "drive", coefficients=(0, 6)),
    ]
    return Mechanism("press", [Body("crank", inertia), Body("piston", Inertia(2.0))], joints, constraints=rules)


def started(rod, size=1.0, away=0.0):
    system = Dynamics(press(rod, size, away), reference=[0, (0.1 + rod) * size])
    q = system.assemble()
    return system, q, system.project_velocity(q, [6.0, 0])


JAM, LATE = np.arcsin(0.8) / 6, 9e-3
"""s, of the press with a rod of 0.13; how late that may be noticed. It would have to grow by 0.36 m/s from then on, and
2.8 mm are a hundredth of its loop, which is as far as those may open that are not projected: within 8 ms.
"""


@pytest.mark.parametrize("sizes", [[1.0, 1e-3, 1e-5, 1e3], [1e-5, 1.0]])
@pytest.mark.parametrize("method", METHODS)
def test_motions_of_a_batch_end_by_their_own_size_not_by_that_of_the_first(method, sizes):
    size = sympy.Symbol("L", positive=True)
    starts = [started(0.13, x)[1:] for x in sizes]
    q, v = (np.array([start[k] for start in starts]) for k in (0, 1))
    with pytest.warns(SimulationWarning, match=f"{len(sizes)} of {len(sizes)} motions did not stay finite"):
        found = rollout(press(0.13, size), q, v, 500, 1e-3, method=method, parameters={"L": sizes})
    last = np.isfinite(found.q).all(axis=-1).sum(axis=1) - 1
    assert np.ptp(last) <= 1  # a rounding error more or less
    assert (np.abs(last * 1e-3 - JAM) < 3e-3).all()
    for k, x in enumerate(sizes):
        times = np.arange(last[k] + 1) * 1e-3
        off = [started(0.13, x)[0].residual(at, t)["rod"] for at, t in zip(found.q[k, : last[k] + 1][-3:], times[-3:])]
        assert np.abs(off).max() < 1e-3 * x


@pytest.mark.parametrize("away", [0.0, 2e4])
@pytest.mark.parametrize("way", WAYS, ids=["projection", "baumgarte", "ggl"])
@pytest.mark.parametrize("method", METHODS)
def test_however_loops_are_held_closed_they_end_where_they_cannot_be_and_not_elsewhere(method, way, away):
    _, q, v = started(0.13, 1.0, away)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("default", category=SimulationWarning)
        with pytest.warns(SimulationWarning, match="did not stay finite"):
            found = rollout(press(0.13, 1.0, away), q, v, 500, 1e-3, method=method, **way)
        assert abs(np.isfinite(found.q).all(axis=1).sum() * 1e-3 - JAM) < LATE
        with pytest.raises(SimulationError, match="a given motion asks for more than the loops can reach") as told:
            simulate(press(0.13, 1.0, away), q, v, 0.5, method=method, **way)
        assert abs(told.value.time - JAM) < LATE
        warnings.simplefilter("error")
        _, q, v = started(0.155, 1.0, away)
        assert rollout(press(0.155, 1.0, away), q, v, 1000, 1e-3, method=method, **way).finite


@pytest.mark.parametrize("speed, step", [(0.5, 0.05), (0.5, 5e-3), (3.0, 0.02)])
@pytest.mark.parametrize("method", METHODS)
def test_loops_whose_redundant_rows_change_end_as_well(method, speed, step):
    """Hinges of Bricard's linkage reach 2 pi / 3; there three turn by cos b = -cos a / (1 + cos a) and three by a."""
    a = 1.8
    b = np.arccos(-np.cos(a) / (1 + np.cos(a)))
    motor = Constraint("motor", "motion", "hinge1", coefficients=(a, speed))
    system = Dynamics(bricard().replace(constraints=(*bricard().constraints, motor)), reference=[a, b, a, b, a])
    assert system.positional.varying
    q = system.assemble()
    jam = (2 * np.pi / 3 - a) / speed
    with pytest.warns(SimulationWarning, match="did not stay finite"):
        found = rollout(system, q, system.project_velocity(q, np.zeros(5)), int(3 * jam / step), step, method=method)
    good = np.isfinite(found.q).all(axis=1).sum()
    assert jam - 2 * step < (good - 1) * step < jam + step
    assert max(np.abs(x).max() for x in system.residual(found.q[good - 1], (good - 1) * step).values()) < 1e-6


def test_rules_that_say_the_same_until_they_contradict_each_other_end_batches_as_well():
    """Of two that repeat each other only one is projected to."""
    a, t = sympy.symbols("a t")
    late = t + (t / 400) ** 4  # so slowly that accelerations agree
    rules = [Constraint("first", "position", function=[a - t]), Constraint("second", "position", function=[a - late])]
    arm = Body("arm", Inertia(1.0, [0.5, 0, 0], np.eye(3) / 10))
    machine = Mechanism("machine", [arm], [Joint("a", "revolute", WORLD, "arm")], constraints=rules)
    with pytest.warns(SimulationWarning, match="did not stay finite"):
        found = rollout(machine, [0.0], [1.0], 1000, 0.1)
    opens = 400 * 1e-3**0.25  # where the difference is 1e-3 rad
    assert abs(np.isfinite(found.q).sum() * 0.1 - opens) < 0.2


@pytest.mark.parametrize("size", [0.05, 1.0, 10.0])
def test_states_of_single_precision_are_starts_to_its_digits(size):
    """Batches on a device go on from where others of single precision ended: many turns away, closed to rounding."""
    at = lambda x: Transform.from_translation(np.array([x * size, 0.0, 0.0]))  # noqa: E731
    bodies = [Body(name, Inertia(1.0, [size / 5, 0, 0], np.eye(3) * size**2 / 50)) for name in ("one", "two", "three")]
    joints = [
        Joint("a", "continuous", WORLD, "one", axis=[0, 1, 0]),
        Joint("b", "continuous", "one", "two", at(0.4), axis=[0, 1, 0]),
        Joint("d", "continuous", WORLD, "three", at(1.0), axis=[0, 1, 0]),
    ]
    pin = Constraint("pin", "spherical", "two", "three", at(0.9), at(0.7))
    system = Dynamics(Mechanism("linkage", bodies, joints, constraints=[pin]), reference=[1.0, -0.7, 1.6])
    turns = 2 * np.pi * np.outer([0, 1, 10, 100], [1, -1, 0])
    q = np.array([system.assemble([angle, -0.7, 1.6], keep=["a"]) for angle in np.linspace(0.5, 2, 20)])
    v = np.array([system.project_velocity(at, [30.0, 0, 0], keep=["a"]) for at in q])
    for turn in turns:
        states = (q + turn).astype(np.float32), v.astype(np.float32)
        assert violation(system, *states, 0.0, ("q", "v")) == ""
        for k, wrong in enumerate((states[0] + np.float32(2e-3), states[0])):
            moving = states[1] + np.float32(0.1 * k)
            assert violation(system, wrong, moving, 0.0, ("q", "v")).startswith("qv"[k] + " violates")
    assert violation(system, (q + turns[-1]).astype(np.float32).astype(float), v, 0.0, ("q", "v")) or size < 1


@pytest.mark.parametrize("way", WAYS, ids=["projection", "baumgarte", "ggl"])
@pytest.mark.parametrize("length, unit", [(1.0, 1.0), (1e3, 1.0), (1.0, 1e6), (1e3, 1e3)])
def test_laws_of_users_end_no_motion_by_their_unit(length, unit, way):
    """A bead on a ring, by x^2 + z^2 = R^2 in any unit: it swings, and ends where it is driven out of the ring."""
    bodies = [Body("cart", Inertia(0.1)), Body("bead", Inertia.point(1.0))]
    joints = [
        Joint("x", "prismatic", WORLD, "cart", axis=[1, 0, 0]),
        Joint("z", "prismatic", "cart", "bead", axis=[0, 0, 1]),
    ]
    x, z, t = sympy.symbols("x z t")
    ring = Constraint("ring", "position", function=unit * (x**2 + z**2 - length**2))
    q, pace = np.array([0.6, -0.8]) * length, np.sqrt(length)
    way = {**way, "stabilisation": 20 / pace} if way else way
    swings = Mechanism("ring", bodies, joints, constraints=[ring])
    system = Dynamics(swings, reference=q)
    motion = simulate(swings, q, np.zeros(2), 2 * pace, method="rk4", step=0.01 * pace, **way)
    assert np.abs(system.residual(motion.q)["ring"]).max() < 1e-3 * unit * length**2
    assert np.ptp(motion.energy) < 1e-3 * 9.81 * length
    driver = Constraint("driver", "position", function=x - length * (sympy.Rational(3, 5) + t))
    driven = Mechanism("driven", bodies, joints, constraints=[ring, driver])
    v = np.array([1.0, 0.75]) * length
    with pytest.raises(SimulationError, match="is violated by") as told:
        simulate(driven, q, v, 1.0, method="rk4", step=1e-3, **{**way, **({"stabilisation": 20.0} if way else {})})
    assert 0.39 < told.value.time < 0.45  # it leaves the ring at 0.4 s; 1e-2 R^2 outside at 0.405 s, if held stiffly

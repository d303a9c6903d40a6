"""Loops at positions where their constraints lose rank: nothing goes on from there without a word.

Two four-bars side by side whose rods stay parallel are a pendulum of one coordinate, 3 x'' = -3.5 g cos x; where all
rods lie on one line, x = 0 and x = -pi, two more motions become possible.
"""

import dataclasses
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import Symbol

from dalembert.constraints.classical import four_bar, parallel_four_bars, slider_crank
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationWarning
from dalembert.model import Constraint
from dalembert.simulation import Event, SimulationError, rollout, simulate, singularity
from dalembert.simulation.singularity import RankWatch
from dalembert.simulation.stabiliser import stabilised

PARALLEL = np.array([1.0, -1, 1, -1, 1])
UPRIGHT = PARALLEL * np.pi / 2


def pendulum(x, speed, duration, count=2):
    """The coordinate at the end, and when it passed a line; of so many four-bars in a row, rods of 1 kg and 1 m."""
    inertia, pull = (count + 1) / 3 + count, 9.81 * ((count + 1) / 2 + count)

    def flat(t, y):
        return np.sin(y[0])

    found = solve_ivp(
        lambda t, y: [y[1], -pull * np.cos(y[0]) / inertia], (0, duration), [x, speed], "DOP853", rtol=1e-12,
        atol=1e-12, events=flat,
    )  # fmt: skip
    return found.y[0, -1], found.t_events[0]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "DOP853"},
        {"method": "RK45", "rtol": 1e-5, "atol": 1e-5},
        {"method": "LSODA"},
        {"method": "rk4", "step": 0.01},
        {"method": "rk4", "step": 2e-4},  # by the compiled loop
        {"control": lambda t, q, v: np.zeros(5), "hold": 0.02},
    ],
    ids=["DOP853", "loose RK45", "LSODA", "rk4", "compiled rk4", "held control"],
)
def test_passing_a_singular_position_is_told(options):
    with pytest.warns(SimulationWarning, match=r"at t = 0\.7143\d* s the motion passes a singular position"):
        motion = simulate(parallel_four_bars(2), UPRIGHT, -PARALLEL, 1.0, **options)
    assert np.abs(np.array(motion.info["singular"]) - pendulum(np.pi / 2, -1.0, 1.0)[1]).max() < 1e-4


@pytest.mark.parametrize("adaptive", [False, True])
def test_only_motions_of_fixed_steps_are_advised_to_take_an_adaptive_method(adaptive):
    watch = RankWatch(stabilised(Dynamics(parallel_four_bars(2), reference=UPRIGHT)))
    watch.times = [0.5]
    with pytest.warns(SimulationWarning, match="passes a singular position") as told:
        watch.warn(0.0, adaptive)
    assert ("methods go straight on" in str(told[0].message)) == (not adaptive)


def test_a_slider_crank_with_equal_lengths_is_singular_where_the_slide_is_at_the_pivot():
    """At right angles of the crank, that is, where crank and rod coincide; and only there."""
    system = Dynamics(slider_crank(1.0, 1.0, 2.0), reference=[0.5, -1.0, 1.75])
    q = system.assemble([0.5, -1.0, 1.75], keep=["crank"])
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        motion = simulate(system, q, system.project_velocity(q, [5.0, 0, 0], keep=["crank"]), 3.0)
    there = motion(np.array(motion.info["singular"])).q[:, 0]
    assert np.abs(np.cos(there)).max() < 1e-4
    assert len(there) == np.count_nonzero(np.diff(np.sign(np.cos(motion.q[:, 0])))) > 2


CHANGE_POINTS = [((1.0, 2.5, 2.0), 1.5), ((1.0, 2.0, 1.0), 2.0), ((1.0, 1.0, 2.0), 2.0)]
"""Four-bars that can lie flat: one with rocking branches, parallelogram and antiparallelogram, a kite."""


def four_bar_turning(lengths, ground):
    system = Dynamics(four_bar(lengths, ground), reference=[1.0, -0.5, 1.2])
    q = system.assemble([1.0, -0.5, 1.2], keep=["crank"])
    return system, q, system.project_velocity(q, [8.0, 0, 0], keep=["crank"])


@pytest.mark.parametrize("lengths, ground", CHANGE_POINTS)
@pytest.mark.parametrize(
    "options, tolerance",
    [({}, 1e-6), ({"method": "RK45"}, 1e-6), ({"method": "LSODA"}, 1e-5), ({"rtol": 1e-12, "atol": 1e-12}, 1e-8),
     ({"control": np.zeros(3), "hold": 0.02}, 1e-6)],
    ids=["DOP853", "RK45", "LSODA", "tight", "held"],
)  # fmt: skip
def test_adaptive_methods_go_straight_on_where_branches_cross(lengths, ground, options, tolerance):
    """Energy stays to the tolerance of the method times some hundred steps, and slow ones arrive there, too."""
    system, q, v = four_bar_turning(lengths, ground)
    with pytest.warns(SimulationWarning, match="passes a singular position.*It goes straight on"):
        motion = simulate(system.mechanism, q, v, 3.0, **options)
    assert len(motion.info["singular"]) > 3
    energy = motion.energy
    assert np.abs(energy - energy[0]).max() < tolerance * energy[0]
    with pytest.warns(SimulationWarning):
        other = simulate(system, q, v, 3.0, method="RK45", rtol=1e-11, atol=1e-11)
    assert np.abs(motion.q[-1] - other.q[-1]).max() < 30 * tolerance


@pytest.mark.filterwarnings("ignore::dalembert.errors.SimulationWarning")
def test_states_beside_the_constraints_end_at_a_singular_position_with_an_error():
    system, q, v = four_bar_turning(*CHANGE_POINTS[0])
    with pytest.raises(SimulationError, match="This is a singular position"):
        simulate(system.mechanism, q, v, 3.0, drift="ggl", stabilisation=20.0)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "BDF", "LSODA"])
def test_every_adaptive_method_stays_on_the_branch_on_which_it_came(method):
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(parallel_four_bars(2), UPRIGHT, -4 * PARALLEL, 4.0, method=method, rtol=1e-7, atol=1e-7)
    assert np.abs(motion.q - motion.q[:, :1] * PARALLEL).max() < 1e-5
    assert len(motion.info["singular"]) == len(pendulum(np.pi / 2, -4.0, 4.0)[1]) > 3


@pytest.mark.parametrize(
    "method, tolerance, error",
    [("DOP853", 1e-9, 1e-6), ("RK45", 1e-9, 2e-6), ("Radau", 1e-8, 1e-6), ("BDF", 1e-10, 1e-5), ("LSODA", 1e-9, 1e-5)],
)
def test_the_double_four_bar_of_the_benchmark_library_stays_right_for_ten_seconds(method, tolerance, error):
    """Ten singular positions; BDF needs a tighter tolerance, with 1e-9 it is wrong by 1.3e-5 rad."""
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(
            parallel_four_bars(2), UPRIGHT, -PARALLEL, 10.0, method=method, rtol=tolerance, atol=tolerance
        )
    exact, times = pendulum(np.pi / 2, -1.0, 10.0)
    assert np.abs(motion.q[-1] - exact * PARALLEL).max() < error
    assert len(motion.info["singular"]) == len(times) == 10


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("start", [1e-3, 3e-3, 5e-3, 7e-3, 0.01, 0.02, 0.025, 0.03, 0.1])
def test_motions_that_turn_back_close_to_a_singular_position_stay_on_their_branch(count, start):
    """Released that much above flat, rods pass slowly, come back, and turn at the same height, between two crossings.

    Less than 1e-4 of the way, 0.1 rad, is left to the highest term of a step over a crossing; its error is less.
    """
    signs = PARALLEL[: 2 * count + 1]
    system = Dynamics(parallel_four_bars(count), reference=UPRIGHT[: 2 * count + 1])
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        motion = simulate(system, start * signs, t=6.0)
    assert np.abs(motion.q - motion.q[:, :1] * signs).max() < 1e-5
    assert np.abs(motion.q[-1] - pendulum(start, 0.0, 6.0, count)[0] * signs).max() < 5e-5


@pytest.mark.parametrize("start", [1e-3, 2e-3, 5e-3])
def test_starts_that_are_assembled_close_to_a_crossing_stay_on_their_branch(start):
    """Though rounding puts them beside it, by some 1e-14; links that are no longer parallel differ by radians."""
    system = Dynamics(four_bar((1.0, 2.0, 1.0), 2.0), reference=[1.0, -1, 1])
    q = system.assemble([start, -start / 2, start], keep=["crank"])
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(system, q, t=4.0)
    assert np.abs(motion.q - motion.q[:, :1] * [1, -1, 1]).max() < 1e-6


@pytest.mark.parametrize("lengths, ground", CHANGE_POINTS)
@pytest.mark.parametrize("error", [1e-3, 1e-6])
def test_a_motion_beside_a_singular_position_turns(lengths, ground, error):
    """With a coupler a little too long branches do not cross; the motion changes from one to the other, with energy."""
    system, q, v = four_bar_turning((lengths[0], lengths[1], lengths[2] + error), ground)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)
        motion = simulate(system, q, v, 2.0)
        other = simulate(system, q, v, 2.0, rtol=1e-11, atol=1e-11)
    energy = motion.energy
    assert np.abs(energy - energy[0]).max() < 1e-6 * energy[0]
    assert np.abs(motion.q[-1] - other.q[-1]).max() < 1e-5


def test_the_state_is_known_between_the_sides_of_a_crossing():
    """By a polynomial there, as good as the steps; events are found on it."""
    level = Event(lambda t, q, v: q[0] - 1e-4, name="level")
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(parallel_four_bars(2), UPRIGHT, -PARALLEL, 1.0, events=level)
    (found,) = motion.events
    t = np.linspace(motion.info["singular"][0] - 0.01, motion.info["singular"][0] + 0.02, 31)
    between = motion(t)
    exact = solve_ivp(
        lambda t, y: [y[1], -3.5 * 9.81 * np.cos(y[0]) / 3], (0, 1), [np.pi / 2, -1.0], "DOP853", t_eval=t, rtol=1e-12,
        atol=1e-12,
    )  # fmt: skip
    assert np.abs(between.q - exact.y[0][:, None] * PARALLEL).max() < 1e-7
    assert abs(found.q[0] - 1e-4) < 1e-9 and abs(motion(np.array([found.t])).q[0, 0] - 1e-4) < 1e-9


@pytest.mark.parametrize("level", [0.0, 1e-8, -1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize(
    "options", [{}, {"method": "LSODA"}, {"method": "BDF"}, {"method": "rk4"}], ids=["DOP853", "LSODA", "BDF", "rk4"]
)  # fmt: skip
def test_counting_turns_at_a_crossing_does_not_disturb_the_motion(level, options):
    """Events find states there of which velocities are known, too, as well as anywhere."""
    crossing = Event(lambda t, q, v: q[0] - level, name="turn")
    t = np.linspace(0, 1.0, 21)
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        plain = simulate(parallel_four_bars(2), UPRIGHT, -PARALLEL, t, **options)
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        counted = simulate(parallel_four_bars(2), UPRIGHT, -PARALLEL, t, events=crossing, **options)
    assert np.array_equal(plain.q, counted.q) and np.array_equal(plain.v, counted.v)
    (found,) = counted.events
    speed = -np.sqrt(1 + 2 * 3.5 * 9.81 * (1 - np.sin(level)) / 3)  # by energy: 3 x''= -3.5 g cos x
    if "method" not in options or options["method"] != "rk4":
        assert np.abs(found.v - speed * PARALLEL).max() < 1e-5
        assert np.abs(counted(counted.info["singular"][0]).v - counted(found.t).v).max() < 1e-3


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("start, speed", [(1.0, -2.0), (0.05, 0.0)])
def test_mechanisms_of_every_size_stay_on_their_branch(size, start, speed):
    """Loops close to rounding of their own size: what is left of a gap is the more of an angle the smaller they are."""
    linkage, signs = four_bar((size, 2 * size, size), 2 * size), np.array([1.0, -1, 1])
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(linkage, start * signs, speed / np.sqrt(size) * signs, 2 * np.sqrt(size))
    assert np.abs(motion.q - motion.q[:, :1] * signs).max() < 1e-8
    assert np.ptp(motion.energy) < 1e-6 * motion.kinetic_energy.max()


METHODS_THAT_PASS = pytest.mark.parametrize(
    "options", [{}, {"method": "LSODA"}, {"method": "Radau"}], ids=["DOP853", "LSODA", "Radau"]
)  # fmt: skip


@METHODS_THAT_PASS
@pytest.mark.parametrize("level", [0.0, 1e-8, -1e-6, 1e-3])
@pytest.mark.parametrize("factor", [1.0, 0.5, -1.0])
def test_a_reset_in_a_crossing_goes_on_along_the_new_velocity(options, level, factor):
    """By energy, the height at the end gives the speed; LSODA makes some 1e-7."""
    system = Dynamics(parallel_four_bars(2), reference=UPRIGHT)
    reset = Event(lambda t, q, v: q[0] - level, reset=lambda t, q, v: (q, factor * v), direction=-1)
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(system, UPRIGHT, -PARALLEL, 1.0, events=reset, **options)
    (found,), (after,) = motion.events, motion.discontinuities
    assert np.abs(after.v - factor * found.v).max() < 1e-7
    assert np.abs(motion.q - motion.q[:, :1] * PARALLEL).max() < 1e-8
    x, speed = motion.q[-1, 0], np.sqrt(after.v[0] ** 2 + 7 * 9.81 / 3 * (np.sin(level) - np.sin(motion.q[-1, 0])))
    assert abs(abs(motion.v[-1, 0]) - speed) < 1e-6 and np.sign(x - level) == -np.sign(factor)


@METHODS_THAT_PASS
@pytest.mark.parametrize("period", [0.5, 0.1, 1 / 300])
def test_a_held_control_may_change_in_the_middle_of_a_crossing(options, period):
    """Without weight, at 2 rad/s, flat after 0.5 s; then a torque about the first rod brakes, 3 x'' = 5 N m.

    LSODA, begun anew 270 times, makes some 1e-7.
    """
    flat = dataclasses.replace(parallel_four_bars(2), gravity=np.zeros(3))
    torque = 5.0
    with pytest.warns(SimulationWarning, match="It goes straight on"):
        motion = simulate(
            flat, PARALLEL, -2 * PARALLEL, [0, 0.4, 0.5, 0.502, 0.6, 0.9], hold=period, **options,
            control=lambda t, q, v: torque * (t > 0.5 - period / 2) * np.eye(5)[0],
        )  # fmt: skip
    late = np.maximum(motion.t - 0.5, 0)
    x, speed = 1 - 2 * motion.t + torque / 6 * late**2, -2 + torque / 3 * late
    assert np.abs(motion.q - x[:, None] * PARALLEL).max() < 1e-6
    assert np.abs(motion.v - speed[:, None] * PARALLEL).max() < 3e-6


@METHODS_THAT_PASS
@pytest.mark.parametrize("tangent, clear", [([1.0, -1, 1], True), ([1.0, -3, -3], True), ([2.0, -4, -2], False)])
def test_the_velocity_chooses_among_the_branches_of_a_singular_start(options, tangent, clear):
    """Those of a parallelogram and an antiparallelogram; velocities that belong to neither are told, or an error."""
    linkage = four_bar((1.0, 2.0, 1.0), 2.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            motion = simulate(linkage, np.zeros(3), tangent, 0.5, **options)
        except SimulationError as error:
            assert not clear and "behind a singular configuration" in str(error)
            return
    (message,) = (str(each.message) for each in told if each.category is SimulationWarning)
    assert clear == ("v0 chooses among them" in message)
    if clear:
        assert np.ptp(motion.energy) < 1e-5
        assert (abs(motion.q[-1, 0] + motion.q[-1, 1]) < 1e-6) == (tangent[1] == -1)


@pytest.mark.parametrize("step", [1e-3, 1.3e-2])
def test_every_passage_of_a_long_motion_is_told_although_few_states_are_decomposed(step, monkeypatch):
    """By the compiled loop; as often as the reduced equation passes, and when all states are decomposed as well."""
    system, duration = Dynamics(parallel_four_bars(2), reference=UPRIGHT), 3500 * step
    t = np.linspace(0, duration, 3501)
    found = []
    for block in (16, 1):
        monkeypatch.setattr(singularity, "BLOCK", block)
        with pytest.warns(SimulationWarning, match="passes a singular position"):
            motion = simulate(system, UPRIGHT, -6 * PARALLEL, t, method="rk4", step=step)
        found.append(np.array(motion.info["singular"]))
    assert len(found[0]) == len(found[1]) > 2 and np.abs(found[0] - found[1]).max() < 1e-9
    if step == 1e-3:
        exact = pendulum(np.pi / 2, -6.0, duration)[1]
        assert len(exact) == len(found[0]) and np.abs(exact - found[0]).max() < 1e-3


def test_steps_without_length_are_no_steps():
    """LSODA makes them; slopes would be divided by zero."""
    system = Dynamics(parallel_four_bars(2), reference=UPRIGHT)
    watch = RankWatch(stabilised(system))
    times = np.repeat(np.linspace(0, 1, 41), 2)
    watch.start(0.0, np.concatenate([PARALLEL * 0.51, -PARALLEL]))
    for t in times:
        watch.add(float(t), np.concatenate([PARALLEL * (0.51 - t), -PARALLEL]))
    watch.finish()
    assert len(watch.times) == 1
    assert abs(watch.times[0] - 0.51) < 1e-4


@pytest.mark.parametrize("duration", [0.72, 0.7144])
def test_the_last_step_is_examined_too(duration):
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        simulate(parallel_four_bars(2), UPRIGHT, -PARALLEL, duration)


@pytest.mark.exact_start
def test_a_singular_start_is_told_and_all_constraints_act_afterwards():
    with pytest.warns(SimulationWarning, match="q0 is a singular position"):
        motion = simulate(parallel_four_bars(2), np.zeros(5), -PARALLEL, 0.3)
    assert motion.info["singular"] == (0.0,)
    assert np.abs(motion.q[-1] - PARALLEL * pendulum(0.0, -1.0, 0.3)[0]).max() < 1e-6
    with pytest.raises(SimulationError, match=r"This is a singular position.*Start a little beside it"):
        simulate(parallel_four_bars(2), np.zeros(5), -PARALLEL, 4.0, method="rk4")


@pytest.mark.filterwarnings("ignore::dalembert.errors.SimulationWarning")
@pytest.mark.parametrize("step", [7e-4, 1.3e-3, 3e-3])
def test_fixed_steps_that_fail_in_a_crossing_say_so(step):
    """Whatever numbers came after it; no body is without mass."""
    linkage = four_bar((1.0, 2.0, 1.0), 2.0)
    drive = Constraint("drive", "motion", "crank", function=1 - Symbol("t"))
    driven = dataclasses.replace(linkage, constraints=(*linkage.constraints, drive))
    start = np.array([1.0, -1, 1])
    with pytest.raises(SimulationError, match=r"a singular position.*Adaptive methods go straight on") as caught:
        simulate(driven, start, -start, np.linspace(0, 2, 201), method="rk4", step=step)
    assert "without mass" not in str(caught.value)


@pytest.mark.exact_start
@pytest.mark.parametrize("singular", [0, 1])
def test_of_a_batch_only_the_motion_from_a_singular_start_is_lost(singular):
    starts = np.stack([UPRIGHT, UPRIGHT])
    starts[singular] = 0
    with pytest.warns(SimulationWarning, match=r"1 of 2 motions did not stay finite.*lose rank at a singular position"):
        found = rollout(parallel_four_bars(2), starts, -PARALLEL, 300, 1e-3)
    assert found.finite.tolist() == [k != singular for k in range(2)]
    assert np.abs(found.final_q[1 - singular] - PARALLEL * pendulum(np.pi / 2, -1.0, 0.3)[0]).max() < 1e-8


@pytest.mark.exact_start
def test_one_motion_of_a_batch_tells_the_singular_positions_it_passed():
    starts = PARALLEL * np.array([[np.pi / 2], [1.2], [2.9]])
    found = rollout(parallel_four_bars(2), starts, -PARALLEL, 1000, 1e-3, every=5)
    for k, x in enumerate(starts[:, 0]):
        exact = pendulum(x, -1.0, 1.0)[1]
        times = found.trajectory(k).info["singular"]
        assert len(times) == len(exact) and np.abs(np.array(times) - exact).max() < 1e-4
    with pytest.warns(SimulationWarning, match="did not stay finite"):
        lost = rollout(parallel_four_bars(2), np.zeros(5), -PARALLEL, 300, 1e-3)
    assert lost.trajectory().info["singular"] == ()


@pytest.mark.parametrize(
    "mechanism, near, joint",
    [(four_bar(), [1.0, -0.5, 1.7], "crank"), (slider_crank(0.3, 1.0, 2.0), [0.5, -0.6, 1.2], "crank")],
)
def test_usual_motions_are_not_called_singular(mechanism, near, joint):
    system = Dynamics(mechanism, reference=near)
    q = system.assemble(near, keep=[joint])
    v = system.project_velocity(q, np.eye(mechanism.nv)[0] * 3, keep=[joint])
    there = Event(lambda t, q, v: q[0] - 1.5, reset=lambda t, q, v: (q, -v))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        for options in ({}, {"method": "rk4"}, {"events": there}, {"method": "LSODA", "rtol": 1e-6, "atol": 1e-6}):
            assert simulate(system, q, v, 4.0, **options).info["singular"] == ()


def test_rows_that_vanish_at_a_singular_reference_are_not_redundant():
    """The choice of rows does not depend on whether the reference happens to be singular."""
    for reference in (np.zeros(5), UPRIGHT):
        pivots = Dynamics(parallel_four_bars(2), reference=reference).pivots
        assert pivots.redundant == () and len(pivots.independent) == 1

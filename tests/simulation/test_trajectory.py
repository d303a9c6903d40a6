"""Trajectories: parts, times between samples, quantities, files."""

import csv
import importlib.util
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from motion_cases import double_pendulum, pendulum

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, FormatError, MissingExtraError, ModelWarning
from dalembert.formats import load
from dalembert.model import Body, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.names import position_names, velocity_names
from dalembert.simulation import Event, joint_stop, load_trajectory, rollout, simulate
from random_mechanisms import random_mechanism


@pytest.fixture(scope="module")
def motion():
    mechanism = random_mechanism(1, 3, kinds=("revolute", "spherical"), floating=True)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    return simulate(mechanism, q, v, np.linspace(0, 1, 21), control=np.linspace(0, 1, mechanism.nv))


def test_parts_by_joint_name(motion):
    m = motion.mechanism
    for joint in m.joints:
        history = motion[joint.name]
        assert np.array_equal(np.atleast_2d(history.q.T).T, motion.q[:, m.q_slice(joint.name)])
        assert np.array_equal(np.atleast_2d(history.tau.T).T, motion.tau[:, m.v_slice(joint.name)])
    with pytest.raises(ArgumentError, match="no joint"):
        motion["shoulder"]


def gears(**limits):
    """A rod that drives another one by gears, twice as fast."""
    rod = Inertia(1.0, [0.1, 0, -0.3], np.diag([0.02, 0.02, 0.02]))
    place = Transform.from_translation(np.array([0, 0, -0.6]))
    joints = (
        Joint("lead", "continuous", "world", "a", axis=[0, 1, 0]),
        Joint("follow", "revolute", "a", "b", place, [0, 1, 0], mimic=Mimic("lead", 2.0, 0.1), **limits),
    )
    return Mechanism("gears", (Body("a", rod), Body("b", rod)), joints)


def test_a_joint_that_follows_has_its_own_motion_and_stops():
    """Position 2 q + 0.1, as the angle between the bodies says; its stop at 0.3 stops the leader at 0.1."""
    mechanism = gears(limits=Limits(-0.5, 0.3))
    stops = joint_stop(mechanism, "follow", restitution=0.5)
    motion = simulate(mechanism, {"lead": 0.0}, {"lead": 1.0}, 0.4, events=stops)
    assert abs(motion.events[0].q[0] - 0.1) < 1e-12 and motion.q.max() < 0.1 + 1e-9
    before, after = motion.v[np.flatnonzero(np.diff(motion.t) == 0)[0] + np.array([0, 1]), 0]
    assert abs(after + before / 2) < 1e-9
    R, S = (motion.quantity("pose", frame=name)[0] for name in "ab")
    turned = np.swapaxes(R, 1, 2) @ S
    assert np.abs(motion["follow"].q - np.arctan2(turned[:, 0, 2], turned[:, 0, 0])).max() < 1e-12
    assert np.abs(motion["follow", 0.05].v - 2 * motion["lead", 0.05].v) < 1e-12
    for wrong in (
        lambda: simulate(mechanism, {"follow": 0.1}),
        lambda: rollout(mechanism, None, None, 5, control=[1.0], actuated=["follow"]),
    ):
        with pytest.raises(ArgumentError, match="that joint follows 'lead'"):
            wrong()


def test_joints_at_times(motion):
    name = motion.mechanism.joints[-1].name
    times = np.array([0.31, 0.55])
    found, state = motion[name, times], motion(times)
    part = motion.mechanism.v_slice(name)
    assert np.array_equal(np.atleast_2d(found.v.T).T, state.v[:, part])
    assert np.array_equal(np.atleast_1d(motion[name, 0.31].v), state.v[0, part])
    assert np.abs(np.atleast_2d(found.tau.T).T - motion.tau[0, part]).max() < 1e-15  # it is constant
    with pytest.raises(ArgumentError, match="outside the trajectory"):
        motion[name, 7.0]
    with pytest.raises(ArgumentError, match="t is 'soon'"):
        motion("soon")


def test_samples_and_slices(motion):
    assert np.array_equal(motion[motion.t > 0.5].q, motion.q[motion.t > 0.5])
    assert len(motion[5:10]) == 5
    assert np.array_equal(motion[5:10].q, motion.q[5:10])
    assert np.array_equal(motion[-1].v, motion.v[-1])
    assert [state.t for state in motion] == motion.t.tolist()


def test_states_between_samples_agree_at_samples_and_have_their_shape(motion):
    state = motion(motion.t)
    assert np.abs(state.q - motion.q).max() < 1e-12
    assert motion(0.123).q.shape == (motion.mechanism.nq,)
    assert motion(np.full((2, 3), 0.5)).v.shape == (2, 3, motion.mechanism.nv)
    with pytest.raises(ArgumentError, match="outside the trajectory"):
        motion(1.1)


def test_cubic_interpolation_is_of_fourth_order():
    errors = []
    exact = simulate(pendulum(), [1.0], None, 1.0, rtol=1e-12, atol=1e-12)
    t = np.linspace(0, 1, 101)
    for n in (20, 40):
        coarse = simulate(pendulum(), [1.0], None, 1.0, method="rk4", step=1 / n)
        errors.append(np.abs(coarse(t).q - exact(t).q).max())
    assert np.log2(errors[0] / errors[1]) > 3.7


ROWS = 5 * np.random.default_rng(0).normal(size=(10, 1))


def held_rows(t, q, v):
    return [ROWS[min(int((t - 2.0) / 0.1 + 1e-9), 9), 0], 0]


def test_velocities_between_samples_know_where_a_held_control_changed():
    """Accelerations jump there; the cubics of each side have their own, and stay of fourth order."""
    cart = load("cart_pole", parameters="default")
    exact = simulate(cart, [0, 0.3], None, [2.0, 3.0], control=held_rows, hold=0.1, rtol=1e-12, atol=1e-12)
    t, errors = np.linspace(0, 1, 501), []
    for every in (20, 10):
        many = rollout(cart, [0, 0.3], None, 1000, 1e-3, control=ROWS, actuated=["rail"], hold=100, every=every)
        errors.append(np.abs(many.trajectory()(t).v - exact(2.0 + t).v).max())
    assert np.log2(errors[0] / errors[1]) > 3.7
    assert errors[1] < 1e-5


@pytest.mark.parametrize("samples", [11, 16, 38, 98, 101])
@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-3}, {"dense": False}], ids=["own", "rk4", "bare"])
def test_a_held_control_is_known_between_samples(tmp_path, samples, options):
    """Its steps at any time, and its work, wherever samples lie in its periods; from files and of parts, too."""
    cart = load("cart_pole", parameters="default")
    motion = simulate(cart, [0, 0.3], None, np.linspace(2, 3, samples), control=held_rows, hold=0.1, **options)
    motion.to_npz(tmp_path / "held.npz")
    back, gained = load_trajectory(tmp_path / "held.npz", cart), motion.energy - motion.energy[0]
    coarse = 1e-7 if not options else 3e-2 / samples  # of the integrator; cubics know no jump inside of them
    assert np.abs(motion.work - gained).max() < coarse * np.ptp(gained)
    assert np.abs(back.work - gained).max() < 3e-2 / samples * np.ptp(gained)
    part = motion[3:].work
    assert np.abs(part - (motion.work[3:] - motion.work[3])).max() < 1e-9 * np.ptp(gained)
    assert motion[:0].work.shape == (0,) and motion[2:3].work.tolist() == [0.0]
    times = np.random.default_rng(1).uniform(2.0, 3.0, 50)
    assert np.array_equal(back["rail", times].tau, [held_rows(t, 0, 0)[0] for t in times])
    assert back["rail", float(times[0])].tau == held_rows(times[0], 0, 0)[0]


def test_work_of_a_held_control_on_quaternions_is_of_fourth_order():
    bob = Body("bob", Inertia(1.0, [0, 0, -1.0], np.diag([0.1, 0.12, 0.1])))
    ball = Mechanism("ball", [bob], [Joint("ball", "spherical", "world", "bob")])
    errors = []
    for samples in (43, 85):
        motion = simulate(ball, None, [1.0, 2, 3], np.linspace(0, 1, samples), control=lambda t, q, v: -2 * v, hold=0.1)
        gained = motion.energy - motion.energy[0]
        assert np.abs(gained - motion.work).max() < 1e-8 * np.ptp(gained)  # integrated at the steps of the motion
        errors.append(np.abs(gained - replace(motion, worked=None).work).max() / np.ptp(gained))  # and of samples alone
    assert np.log2(errors[0] / errors[1]) > 3
    assert errors[1] < 1e-5


@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-3}], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("hold", [None, 0.07, 0.13])
def test_jumps_between_chosen_times_are_known(tmp_path, options, hold):
    """A mass under constant force that is set back when it comes to a place: parabolas between jumps, exactly."""
    rail = Joint("rail", "prismatic", "world", "block", axis=[1, 0, 0])
    block = Mechanism("block", [Body("block", Inertia(2.0))], [rail])
    back = Event(lambda t, q, v: q[0] - 0.5, direction=1, reset=lambda t, q, v: (q - 0.4, v / 2), name="back")

    def motion(samples):
        return simulate(block, [0.0], [1.0], samples, control=lambda t, q, v: [3.0], hold=hold, events=back, **options)

    own, chosen = motion(2.0), motion(np.linspace(0, 2, 21))
    assert len(own.discontinuities) == len(own.events) == len(chosen.discontinuities) > 2
    assert len(chosen) == 21
    chosen.to_npz(tmp_path / "jumps.npz")
    read = load_trajectory(tmp_path / "jumps.npz", block)
    times = np.random.default_rng(2).uniform(0, 2, 200)
    for found in (chosen, read):
        assert max(np.abs(x - y).max() for x, y in zip(found(times)[1:], own(times)[1:])) < 1e-8
        assert np.abs(found.work[-1] - own.work[-1]) < 1e-8
    assert [x.t for x in chosen[5:].discontinuities] == [x.t for x in chosen.discontinuities if x.t >= chosen.t[5]]


@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 1e-2}], ids=["adaptive", "fixed"])
@pytest.mark.parametrize("samples", [0.5, [0.0, 0.5]], ids=["own", "chosen"])
def test_a_motion_that_ends_with_jumps_ends_after_them(options, samples):
    """Also where several come at once."""
    kick = Event(lambda t, q, v: (t - 0.5) + 1e-17, reset=lambda t, q, v: (q, v + 1.0))  # it passes zero at the end
    motion = simulate(pendulum(), [0.3], None, samples, events=[kick, kick], **options)
    state, before = motion(0.5), simulate(pendulum(), [0.3], None, samples, **options)(0.5)
    assert len(motion.discontinuities) == 2
    assert np.array_equal(state.v, motion.v[-1])
    assert abs(state.q - before.q) < 1e-12 and abs(state.v - before.v - 2) < 1e-9


def test_quantities_are_those_of_the_states(motion):
    rotation, position = motion.quantity("pose", frame="tool")
    assert rotation.shape == (21, 3, 3)
    assert position.shape == (21, 3)
    torque = motion.quantity("inverse_dynamics")
    assert np.abs(torque - motion.tau).max() < 1e-9 * np.abs(torque).max() + 1e-9
    speed = motion.quantity("velocity", frame="tool")[:, :3]
    t = motion.t[5:-5]
    h = 1e-4
    ahead = [motion.dynamics.pose(motion(t + s * h).q, frame="tool")[1] for s in (-2, -1, 1, 2)]
    slope = (ahead[0] - 8 * ahead[1] + 8 * ahead[2] - ahead[3]) / (12 * h)
    assert np.abs(slope - speed[5:-5]).max() < 1e-6


def test_accelerations_are_derivatives_of_velocities(motion):
    t, h = motion.t[3:-3], 1e-4
    slope = (motion(t + h).v - motion(t - h).v) / (2 * h)
    assert np.abs(slope - motion.a[3:-3]).max() < 1e-3 * np.abs(motion.a).max()


def test_npz_round_trip(motion, tmp_path):
    path = tmp_path / "motion.npz"
    motion.to_npz(path)
    back = load_trajectory(path, motion.mechanism)
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(back, name), getattr(motion, name))
    assert np.abs(back(0.512).q - motion(0.512).q).max() < 1e-2
    with pytest.raises(FormatError, match="belongs to the mechanism"):
        load_trajectory(path, pendulum())
    (tmp_path / "other.npz").write_bytes(b"PK nonsense")
    with pytest.raises(FormatError, match="no trajectory"):
        load_trajectory(tmp_path / "other.npz", pendulum())
    with pytest.raises(FormatError, match="this is a folder"):
        load_trajectory(tmp_path, pendulum())


def test_events_stay_with_their_motion(tmp_path):
    """In an archive, and in parts of it that reach over them."""
    path, crossing = tmp_path / "motion.npz", Event(lambda t, q, v: q[0], name="bottom")
    motion = simulate(pendulum(), [1.0], None, np.linspace(0, 5, 101), events=crossing)
    assert len(motion.events) > 2
    for kept in (motion, motion[::7], motion[:0]):
        kept.to_npz(path)
        back = load_trajectory(path, pendulum())
        assert [event.name for event in back.events] == [event.name for event in kept.events]
        for here, there in zip(kept.events, back.events):
            assert all(np.array_equal(a, b) for a, b in zip(here[1:], there[1:]))
    middle = motion[(motion.t > 1) & (motion.t < 4)]
    inside = [event.t for event in motion.events if middle.t[0] <= event.t <= middle.t[-1]]
    assert [event.t for event in middle.events] == inside and 0 < len(inside) < len(motion.events)
    assert motion[:0].events == ()


def test_an_archive_keeps_the_values_of_parameters(tmp_path):
    """Of symbols, in loops too, and by address; a mechanism without those parameters is not the one that moved."""
    path, arm, linkage = tmp_path / "motion.npz", load("demo_arm"), load("four_bar")
    values = {"g": 9.81, "l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.7, "m1": 0.4, "m2": 0.9, "m3": 0.7}
    start = Dynamics(linkage, parameters=values).assemble([1.0, -0.7, 1.6], keep=["drive"])
    closed = simulate(linkage, start, None, np.linspace(0, 0.2, 11), parameters=values)
    closed.to_npz(path)
    for given in (linkage, Dynamics(linkage, parameters={**values, "m2": 9.0})):
        assert np.array_equal(load_trajectory(path, given).energy, closed.energy)
    heavy = Dynamics(arm, parameters=["upper_arm.mass"])
    moved = simulate(heavy, None, None, np.linspace(0, 0.2, 11), parameters=[3.0])
    moved.to_npz(path)
    assert np.array_equal(load_trajectory(path, heavy).energy, moved.energy)
    with pytest.raises(FormatError, match=r"computed with the parameters \['upper_arm.mass'\], but 'demo_arm'"):
        load_trajectory(path, arm)


def test_a_motion_of_another_mechanism_is_told(motion, tmp_path):
    """Names agree; a single number that does not changes energies and forces."""
    path, moved = tmp_path / "motion.npz", motion.mechanism
    motion.to_npz(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_trajectory(path, pickle.loads(pickle.dumps(moved)))
        load_trajectory(path, Dynamics(moved))
    body = moved.bodies[-1]
    heavier = body.replace(inertia=Inertia(body.inertia.mass * 2, body.inertia.center, body.inertia.tensor))
    with pytest.warns(ModelWarning, match="is not .* as it is given"):
        back = load_trajectory(path, moved.replace(bodies=(*moved.bodies[:-1], heavier)))
    assert np.abs(back.energy - motion.energy).max() > 0


def test_csv_keeps_every_digit(motion, tmp_path):
    path = tmp_path / "motion.csv"
    motion.to_csv(path)
    with open(path, newline="") as file:
        header, *rows = list(csv.reader(file))
    m = motion.mechanism
    names = [f"q.{n}" for n in position_names(m)] + [f"{k}.{n}" for k in ("v", "tau") for n in velocity_names(m)]
    assert header == ["t", *names]
    assert np.array_equal(np.array(rows, dtype=float), np.hstack([motion.t[:, None], motion.q, motion.v, motion.tau]))


def test_tables_of_other_packages_or_how_to_get_them(motion):
    for package, make in (("pandas", motion.to_pandas), ("xarray", motion.to_xarray)):
        try:
            __import__(package)
        except ImportError:
            with pytest.raises(MissingExtraError, match=package):
                make()
        else:
            assert make() is not None


def test_plot(motion, tmp_path):
    pytest.importorskip("matplotlib")
    figure = motion.plot()
    figure.savefig(tmp_path / "motion.png")
    one = simulate(double_pendulum(), [1, 1], None, 1.0).plot("first")
    assert [line.get_label() for line in one.axes[0].lines] == ["first"]
    for wrong in (["first"], 3):
        with pytest.raises(ArgumentError, match="is no name; name them one by one"):
            motion.plot(wrong)


def test_pictures_show_the_history_of_a_joint_whichever_it_is(motion):
    """Of one degree, of several, and of one that follows another: the same numbers as by its name."""
    pytest.importorskip("matplotlib")
    bodies = [Body(name, Inertia.point(1.0, [0.1, 0.2, 0.3])) for name in ("first", "second")]
    leader = Joint("leader", "revolute", "world", "first", axis=[1, 0, 0])
    follower = Joint("follower", "prismatic", "first", "second", mimic=Mimic("leader", -2.0, 0.3))
    geared = simulate(Mechanism("geared", bodies, [leader, follower]), [0.4], [1.0], 0.5, control=[0.1])
    for moved in (geared, motion):
        for joint in moved.mechanism.joints:
            figure, history = moved.plot(joint.name, points=1), moved[joint.name]
            for axis, values in zip(figure.axes, history[1:]):
                drawn = np.array([line.get_ydata() for line in axis.lines]).T
                assert np.array_equal(drawn, values.reshape(drawn.shape))
                assert all(line.get_label().startswith(joint.name) for line in axis.lines)
    assert [axis.get_ylabel() for axis in geared.plot("follower").axes[:3]] == ["q (m)", "v (m/s)", "tau (N)"]


def test_pickle(motion):
    again = pickle.loads(pickle.dumps(motion))
    assert np.array_equal(again.q, motion.q)
    assert np.abs(again(0.3).q - motion(0.3).q).max() == 0


def test_names_of_coordinates():
    body = load("free_body", parameters="default")
    (joint,) = (j.name for j in body.joints)
    assert position_names(body)[-1] == f"{joint}.qw"
    assert velocity_names(body)[0] == f"{joint}.vx"
    assert len(position_names(body)) == body.nq
    assert len(velocity_names(body)) == body.nv


def test_a_held_control_is_drawn_in_steps():
    """Nothing is drawn that did not act."""
    pytest.importorskip("matplotlib")
    cart = load("cart_pole", parameters="default")
    motion = simulate(cart, [0, 0.3], None, np.linspace(2, 3, 16), control=held_rows, hold=0.1)
    t, tau = motion.plot("rail").axes[2].lines[0].get_data()
    assert len(t) > 600
    assert np.array_equal(tau[:-1], [held_rows(s, 0, 0)[0] for s in t[:-1]])


def test_nothing_cannot_be_drawn(motion):
    pytest.importorskip("matplotlib")
    with pytest.raises(ArgumentError, match="empty"):
        motion[motion.t > 1e9].plot()


def test_parts_without_samples_or_out_of_order_say_what_they_cannot_tell(motion):
    nothing, back = motion[motion.t > 1e9], motion[::-1]
    with pytest.raises(ArgumentError, match="is empty"):
        nothing(0.5)
    assert nothing.work.shape == nothing.energy.shape == (0,) and np.array_equal(back.energy, motion.energy[::-1])
    with pytest.raises(ArgumentError, match="order of time"):
        back.work  # noqa: B018


def test_tables_contain_the_wrenches_that_acted(tmp_path):
    wrench = [1.0, 2, 3, 0.1, 0.2, 0.3]
    motion = simulate(load("demo_arm"), t=0.1, wrenches={"flange": lambda t, q, v: np.array(wrench) * (1 + t)})
    motion.to_csv(tmp_path / "pushed.csv")
    names = (tmp_path / "pushed.csv").read_text().splitlines()[0].split(",")
    table = np.loadtxt(tmp_path / "pushed.csv", delimiter=",", skiprows=1)
    assert names[-6:] == [f"wrench.flange.{kind} {axis}" for kind in ("force", "moment") for axis in "xyz"]
    assert np.array_equal(table[:, -6:], np.outer(1 + motion.t, wrench))
    if importlib.util.find_spec("xarray"):
        found = motion.to_xarray()["wrenches"].sel(frame="flange", component="force z")
        assert np.array_equal(found, 3 * (1 + motion.t))

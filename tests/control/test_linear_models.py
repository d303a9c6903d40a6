"""Linear models, equilibria and regulators."""

import pickle
import sys
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad_vec, solve_ivp
from scipy.linalg import expm
from scipy.signal import StateSpace, lsim
from scipy.special import ellipj, ellipk

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.control import LinearModel, equilibrium, linearize, lqr, state_feedback, tracking_lqr
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError, SingularityError, UnsupportedError
from dalembert.formats import load
from dalembert.kinematics import manifold
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.model.force import Force
from dalembert.model.names import velocity_names
from dalembert.model.operations import with_gravity
from dalembert.simulation import joint_stop, simulate
from random_mechanisms import random_mechanism


def cart():
    return load("cart_pole", parameters="default")


def test_linear_model_predicts_small_motions():
    """Of a tree with quaternions, moving, under constant forces: the deviation of a perturbed simulation."""
    mechanism = random_mechanism(3, 3, kinds=("revolute", "spherical"), floating=True)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    dynamics = Dynamics(mechanism)
    tau = dynamics.bias(q, v)
    model = linearize(dynamics, q, v, tau)
    x = np.random.default_rng(1).normal(size=2 * mechanism.nv)
    e, t = 1e-5, 1e-3  # the model holds at one state, so t is short: errors are of order e^2, and e t^2 from its change
    tree, n = mechanism.tree, mechanism.nv
    ends = []
    for s in (e, -e):
        start = manifold.displaced(tree, q, s * x[:n])
        ends.append(simulate(dynamics, start, v + s * x[n:], [0, t], control=tau, rtol=1e-12, atol=1e-12))
    moved = manifold.difference(tree, ends[1].q[-1], ends[0].q[-1]) / (2 * e)
    speed = (ends[0].v[-1] - ends[1].v[-1]) / (2 * e)
    found = (np.concatenate([moved, speed]) - x) / t
    assert np.abs(found - model.A @ x).max() < 5e-3 * np.abs(model.A @ x).max()


def test_a_joint_that_moves_no_mass_has_no_linear_model():
    empty = Mechanism("empty", [Body("link")], [Joint("hinge", "revolute", "world", "link", axis=[0, 0, 1])])
    with pytest.raises(SingularityError, match="mass matrix is singular"):
        linearize(empty)


def test_scipy_object_simulates_the_falling_pole():
    model = linearize(cart(), actuated=["rail"], outputs=["hinge"])
    system = model.to_scipy()
    assert isinstance(system, StateSpace)
    assert model.inputs == ("rail",)
    assert model.outputs == ("hinge",)
    t = np.linspace(0, 0.5, 51)
    _, y, _ = lsim(system, np.full(51, 1e-4), t)
    motion = simulate(cart(), None, None, t, control=[1e-4, 0])
    assert np.abs(y - motion.q[:, 1]).max() < 1e-4 * np.abs(motion.q[:, 1]).max()


def test_python_control_object_or_how_to_get_it():
    model = linearize(cart(), actuated=["rail"])
    try:
        from control import ss  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtraError, match="control"):
            model.to_control()
    else:
        assert model.to_control().nstates == 4


def test_python_control_gets_names_that_it_allows(monkeypatch):
    """It refuses dots, which the coordinates of balls and floating bases have."""

    def ss(*matrices, **names):
        assert not any("." in name for given in names.values() for name in given)
        assert {part: len(given) for part, given in names.items()} == {"states": 12, "inputs": 6, "outputs": 12}
        return matrices

    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(ss=ss))
    model = linearize(load("free_body", parameters="default"))
    assert all(np.array_equal(given, getattr(model, name)) for given, name in zip(model.to_control(), "ABCD"))

    def kept(*matrices, states, inputs, outputs):
        labels = {"state_labels": states, "input_labels": inputs, "output_labels": outputs}
        return SimpleNamespace(**dict(zip("ABCD", matrices)), **labels, dt=0)

    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(ss=kept))
    back = LinearModel.from_control(model.to_control(), like=model)
    assert (back.states, back.inputs, back.outputs) == (model.states, model.inputs, model.outputs)
    assert "." not in "".join(LinearModel.from_control(model.to_control()).states)


def test_discrete_model_is_the_integral_of_the_continuous_one():
    model = linearize(cart(), actuated=["rail"])
    for period in (1e-3, 0.02, 0.3):
        A, B = model.discrete(period)
        assert np.abs(A - expm(model.A * period)).max() < 1e-12 * np.abs(A).max()
        exact, _ = quad_vec(lambda s: expm(model.A * s) @ model.B, 0, period)
        assert np.abs(B - exact).max() < 1e-8 * np.abs(B).max()


def test_loops_have_models_of_independent_coordinates():
    """A pendulum held by a spring, as constrained dynamics: w^2 = g/l + k/(m l^2)."""
    bob = Mechanism(
        "pendulum", (Body("bob", Inertia.point(1.3, [0, 0, -0.7])),),
        (Joint("hinge", "continuous", "world", "bob", axis=[0, 1, 0]),),
        forces=(Force("spring", "joint-spring", "hinge", stiffness=5.0),),
    )  # fmt: skip
    model = linearize(Dynamics(bob, elements="all"))
    w = np.sqrt(9.81 / 0.7 + 5.0 / (1.3 * 0.49))
    assert np.abs(np.sort(model.poles.imag) - [-w, w]).max() < 1e-9
    np.testing.assert_allclose(linearize(bob).A, model.A)


# ----------------------------------------------------------------------------------------------------------- equilibria


def test_pole_stands_or_hangs():
    for guess, angle, stable in ((0.4, 0.0, False), (2.6, np.pi, True)):
        found = equilibrium(cart(), [0.0, guess], actuated=["rail"], keep=["rail"])
        assert abs(found.q[1] - angle) < 1e-9
        assert found.stable is stable
        assert np.abs(found.tau).max() < 1e-9


@pytest.mark.parametrize("seed", [0, 7])
def test_actuated_trees_are_held_where_they_are(seed):
    mechanism = random_mechanism(seed, 3, kinds=("revolute", "prismatic", "spherical", "universal"))
    q, _, _ = mechanism.random_state(np.random.default_rng(seed))
    joints = [joint.name for joint in mechanism.joints if joint.nv]
    if not joints:
        return
    dynamics = Dynamics(mechanism)
    found = equilibrium(dynamics, q, actuated=joints)
    assert np.abs(found.q - q).max() < 1e-12
    still = np.zeros(mechanism.nv)
    assert np.abs(dynamics.forward_dynamics(q, still, found.tau)).max() < 1e-8


def test_steady_rotation_lifts_a_pendulum():
    """On a turntable at the rate w, cos theta = g/(w^2 l)."""
    length, w = 0.7, 5.0
    bodies = (Body("table", Inertia.cylinder(2.0, 0.3, 0.1)), Body("bob", Inertia.point(1.0, [0, 0, -length])))
    joints = (
        Joint("turn", "continuous", "world", "table"),
        Joint("swing", "continuous", "table", "bob", axis=[0, 1, 0]),
    )
    mechanism = Mechanism("governor", bodies, joints)
    found = equilibrium(mechanism, [0.0, 1.0], [w, 0.0], keep=["turn"], actuated=["turn"])
    assert abs(np.cos(found.q[1]) - 9.81 / (w * w * length)) < 1e-9


@pytest.mark.parametrize("stiffness", [50.0, 0.05])
def test_spring_holds_a_mass_at_its_stretch(stiffness):
    """However far that is: one of 0.05 N/m by 392 m."""
    rail = Mechanism(
        "hanging", (Body("m", Inertia.point(2.0)),), (Joint("rail", "prismatic", "world", "m"),),
        forces=(Force("spring", "spring", "world", "m", Transform.from_translation(np.array([0.0, 0.0, 3.0])),
                      stiffness=stiffness, rest=1.0),),
    )  # fmt: skip
    found = equilibrium(Dynamics(rail, elements="all"), [1.0])
    assert abs((3.0 - found.q[0] - 1.0) * stiffness - 2.0 * 9.81) < 1e-6


@pytest.mark.parametrize("metre", [1.0, 1e3, 1e-3])
def test_a_chain_in_cartesian_coordinates_hangs_as_links_do(metre):
    """Its weights do not vary with position, only the directions of its links do; every link pulls as hard sideways."""
    masses, length, span = (1.0, 2.0, 0.5), 0.5 * metre, 1.4 * metre
    bodies, joints = [], []
    for k, mass in enumerate(masses):
        bodies += [Body(f"slide{k}", Inertia(0.0)), Body(f"bead{k}", Inertia.point(mass))]
        joints.append(Joint(f"x{k}", "prismatic", "world", f"slide{k}", axis=[1, 0, 0]))
        joints.append(Joint(f"z{k}", "prismatic", f"slide{k}", f"bead{k}"))
    ends = ["world", *(f"bead{k}" for k in range(3)), "world"]
    wall = Transform.from_translation(np.array([span, 0.0, 0.0]))
    links = [
        Constraint(f"link{k}", "distance", a, b, value=length, **({"placement_b": wall} if k == 3 else {}))
        for k, (a, b) in enumerate(pairwise(ends))
    ]
    gravity = np.array([0, 0, -9.81 * metre])
    chain = Dynamics(Mechanism("chain", bodies, joints, constraints=links, gravity=gravity))
    hanging = chain.assemble(metre * np.array([0.3, -0.4, 0.7, -0.5, 1.1, -0.4]))
    found = equilibrium(chain, hanging)
    assert max(np.abs(gap).max() for gap in chain.residual(found.q).values()) < 1e-10 * metre
    steps = np.diff(np.vstack([[0, 0], found.q.reshape(3, 2), [span, 0]]), axis=0)
    slopes = steps[:, 1] / steps[:, 0]
    sideways = np.diff(slopes) / np.array(masses)  # g / horizontal pull, the same at every bead
    assert np.abs(sideways - sideways[0]).max() < 1e-8 * abs(sideways[0])
    assert np.abs(found.q - hanging).max() > 1e-2 * metre


def test_no_equilibrium_is_told():
    with pytest.raises(SingularityError, match="no equilibrium found"):
        equilibrium(cart(), [0.0, 0.5], keep=["hinge"])


def test_an_equilibrium_keeps_the_constraints():
    """Motors and multipliers balance any force, so balance alone says nothing about a loop that is open or moves."""
    loop = Dynamics(load("four_bar", parameters="default"))
    found = equilibrium(loop, [1.0, -0.7, 1.6], keep=["drive"], actuated=["drive"])
    assert np.abs(loop.residual(found.q)["pin"]).max() < 1e-12
    assert np.abs(loop.forward_dynamics(found.q, np.zeros(3), found.tau)).max() < 1e-9
    shared = equilibrium(loop, [1.0, -0.7, 1.6], keep=["drive"], actuated=["drive", "pivot"])
    drives = loop.drive_forces(shared.q, np.zeros(3), np.zeros(3), actuated=["drive", "pivot"])
    assert drives.surplus == 1 and np.abs(shared.tau - drives.tau).max() < 1e-9
    with pytest.raises(SingularityError, match="constraint 'pin' does not allow the positions"):
        equilibrium(loop, [1.0, 1.0, 1.0], keep=["drive", "knee", "pivot"], actuated=["drive"])
    with pytest.raises(SingularityError, match="constraint 'pin' does not allow the velocities"):
        equilibrium(loop, found.q, [1.0, 0.0, 0.0], keep=["drive"], actuated=["drive"])
    turning = loop.project_velocity(found.q, [1.0, 0.0, 0.0], keep=["drive"])
    with pytest.raises(SingularityError, match="constraint 'pin' does not allow the steady motion"):
        equilibrium(loop, found.q, turning, keep=["drive"], actuated=["drive"])
    driven = loop.mechanism.replace(constraints=[Constraint("motor", "motion", "drive", coefficients=(1, 2))])
    with pytest.raises(SingularityError, match=r"'motor' does not allow the velocities, by 2\. .*changes with"):
        equilibrium(Dynamics(driven), [1.0, -1.5, -1.0])


def test_where_a_force_is_infinite_there_is_neither_a_linear_model_nor_an_equilibrium():
    """The neutral position of a satellite is the attracting point, and easily asked for by leaving the position out."""
    probe = Mechanism(
        "probe",
        [Body("hull", Inertia.box(1.0, (1.0, 2.0, 3.0)))],
        [Joint("free", "free", WORLD, "hull")],
        forces=[Force("earth", "attraction", value=4e14)],
        gravity=[0, 0, 0],
    )
    system = Dynamics(probe, elements="all")
    for ask in (linearize, equilibrium):
        with pytest.raises(SingularityError, match="attracting point"):
            ask(system)
    assert np.isfinite(linearize(system, {"free": [7e6, 0, 0, 0, 0, 0, 1]}).A).all()


# ----------------------------------------------------------------------------------------------------------- regulators


def test_regulator_satisfies_riccati_and_balances_the_pole():
    model = linearize(cart(), actuated=["rail"])
    Q, R = np.diag([1.0, 10.0, 1.0, 1.0]), np.array([[0.1]])
    found = lqr(model, np.diag(Q), [0.1])
    A, B, S = model.A, model.B, found.S
    assert np.abs(A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T @ S) + Q).max() < 1e-8 * np.abs(S).max()
    assert found.poles.real.max() < 0
    control = state_feedback(cart(), found.K, [0, 0], actuated=["rail"])
    motion = simulate(cart(), [0.2, 0.3], None, 10.0, control=control)
    assert np.abs(motion.q[-1]).max() < 1e-3
    # the cost of a small deviation is x^T S x
    x = 1e-3 * np.array([1.0, -1.0, 0.5, 0.0])
    small = simulate(cart(), x[:2], x[2:], np.linspace(0, 20, 4001), control=control)
    states = np.hstack([small.q, small.v])
    rates = np.einsum("ti,ij,tj->t", states, Q, states) + 0.1 * small.tau[:, 0] ** 2
    assert abs(np.trapezoid(rates, small.t) - x @ S @ x) < 1e-3 * (x @ S @ x)


def test_sampled_regulator_balances_with_its_period():
    model = linearize(cart(), actuated=["rail"])
    found = lqr(model, [1, 10, 1, 1], [0.1], period=0.05)
    assert np.abs(found.poles).max() < 1
    control = state_feedback(cart(), found.K, [0, 0], actuated=["rail"])
    motion = simulate(cart(), [0.1, 0.1], None, 8.0, control=control, hold=0.05)
    assert np.abs(motion.q[-1]).max() < 1e-2


def test_what_cannot_be_controlled_is_named():
    two = Mechanism(
        "two", (Body("a", Inertia.point(1, [0, 0, 1])), Body("b", Inertia.point(1, [0, 0, 0.5]))),
        tuple(Joint(name, "continuous", "world", body, axis=[0, 1, 0]) for name, body in (("j", "a"), ("k", "b"))),
    )  # fmt: skip
    model = linearize(two, actuated=["j"])
    assert np.abs(np.sort(model.uncontrollable().real) - np.array([-1, 1]) * np.sqrt(9.81 / 0.5)).max() < 1e-6
    with pytest.raises(SingularityError, match="no input moves"):
        lqr(model, np.ones(4), [1.0])
    with pytest.raises(SingularityError, match=r"eigenvalues 0 \(4 times\)\. Actuate"):
        lqr(linearize(with_gravity(two, [0, 0, 0]), actuated=["j"]), np.ones(4), [1.0])
    with pytest.raises(ArgumentError, match="R must be positive"):
        lqr(model, np.ones(4), [0.0])
    with pytest.raises(ArgumentError, match="no actuated velocity 'x'"):
        linearize(two, actuated=["x"])


def test_tracking_regulator_brings_a_disturbed_motion_back():
    """Along a swing of a double pendulum, and for a free body, whose attitude is a quaternion."""
    for mechanism, nudge in (
        (load("double_pendulum", parameters="default"), 0.1),
        (random_mechanism(1, 1, floating=True, gravity=(0, 0, 0)), 0.05),
    ):
        dynamics = Dynamics(mechanism)
        q, v, _ = mechanism.random_state(np.random.default_rng(2))
        n = mechanism.nv
        plan = simulate(
            dynamics, q, v, np.linspace(0, 1.5, 151), control=lambda t, q, v, n=n: 0.3 * np.sin(np.arange(n) + t)
        )
        follower = tracking_lqr(plan, np.repeat([100.0, 1.0], n), np.full(n, 1e-2), points=101)
        start = manifold.displaced(mechanism.tree, q, np.full(n, nudge))
        followed = simulate(dynamics, start, v, plan.t, control=follower, rtol=1e-6, atol=1e-6)
        error = [np.abs(manifold.difference(mechanism.tree, a, b)).max() for a, b in zip(plan.q, followed.q)]
        assert error[0] > 0.9 * nudge
        assert error[-1] < 1e-3 * nudge


def test_tracking_regulator_at_rest_is_the_stationary_one():
    still = simulate(cart(), [0, np.pi], None, np.linspace(0, 30, 61))
    weights = [1.0, 10.0, 1.0, 1.0], [0.1, 0.2]
    follower = tracking_lqr(still, *weights)
    held = lqr(linearize(cart(), [0, np.pi]), *weights)
    assert np.abs(follower.gain(0.0) - held.K).max() < 1e-8 * np.abs(held.K).max()
    assert np.abs(follower.S[0] - held.S).max() < 1e-8 * np.abs(held.S).max()


def along(model, Q, R, end):
    """S at time 0 from [X; Y]' = [[A, -B R^-1 B^T], [-Q, -A^T]] [X; Y], S = Y X^-1, for a model (A, B)(t)."""
    n = len(Q)

    def flow(t, z):
        A, B = model(t)
        H = np.block([[A, -B @ np.linalg.solve(R, B.T)], [-Q, -A.T]])
        return (H @ z.reshape(2 * n, n)).ravel()

    z = np.vstack([np.eye(n), Q]).ravel()
    X, Y = np.split(solve_ivp(flow, (end, 0), z, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1].reshape(2 * n, n), 2)
    return Y @ np.linalg.inv(X)


@pytest.mark.parametrize(
    "samples", [1.5, np.linspace(0, 1.5, 12), np.linspace(0, 1.5, 501)], ids=["own", "few", "many"]
)
def test_cost_to_go_along_a_swing_in_closed_form(samples):
    """A = [[0, 1], [-g/l cos(theta), 0]] with theta by elliptic functions; whatever samples and gains are kept."""
    length, mass = 0.7, 1.3
    k, w = np.sin(1.25), np.sqrt(9.81 / length)
    bob = Body("bob", Inertia.point(mass, [0, 0, -length]))
    rod = Mechanism("rod", (bob,), (Joint("hinge", "continuous", "world", "bob", axis=[0, 1, 0]),))

    def model(t):
        half = k * ellipj(w * t + ellipk(k * k), k * k)[0]  # sin(theta/2)
        return np.array([[0, 1], [-w * w * (1 - 2 * half**2), 0]]), np.array([[0], [1 / (mass * length**2)]])

    Q, R = np.diag([10.0, 1.0]), np.array([[0.5]])
    exact = along(model, Q, R, 1.5)
    follower = tracking_lqr(simulate(rod, [2.5], None, samples), Q, R, points=11)
    assert np.abs(follower.S[0] - exact).max() < 1e-8 * np.abs(exact).max()
    for begin in (0.2, 0.77, 1.43, 1.499):
        S = along(lambda t, begin=begin: model(begin + t), Q, R, 1.5 - begin)
        gain = np.linalg.solve(R, model(begin)[1].T @ S)
        assert np.abs(follower.gain(begin) - gain).max() < 1e-7 * np.abs(gain).max()
    assert np.array_equal(pickle.loads(pickle.dumps(follower)).gain(0.4), follower.gain(0.4))  # to workers of a sweep
    assert np.array_equal(follower.gain(2.0), follower.K[-1])


@pytest.mark.parametrize("samples", [1.5, np.linspace(0, 1.5, 12)], ids=["own", "few"])
def test_cost_to_go_knows_the_control_between_samples(samples):
    """Of two links on a given motion, whose linear model depends on the torques."""
    dynamics = Dynamics(load("double_pendulum", parameters="default"))

    def wanted(t):
        s, c = np.sin([2 * t, 3 * t + 1]), np.cos([2 * t, 3 * t + 1])
        return s, np.array([2, 3]) * c, -np.array([4, 9]) * s

    def torque(t):
        return dynamics.inverse_dynamics(*wanted(t))

    Q, R = np.diag([10.0, 10, 1, 1]), np.diag([20.0, 10.0])  # gentle: X grows with the decay of the closed loop
    exact = along(lambda t: dynamics.linearize(*wanted(t)[:2], torque(t)), Q, R, 1.5)
    plan = simulate(dynamics, *wanted(0)[:2], samples, control=lambda t, q, v: torque(t))
    follower = tracking_lqr(plan, Q, R, points=11)
    assert np.abs(follower.S[0] - exact).max() < 1e-7 * np.abs(exact).max()
    one = tracking_lqr(plan, Q, R[:1, :1], actuated=velocity_names(dynamics.mechanism)[:1])
    for t in (0.0, 0.01, 0.777, 1.5):
        q, v, _ = wanted(t)
        for found in (follower(t, q, v), one(t, q, v)):
            assert np.abs(found - torque(t)).max() < 1e-6  # derivatives of the integrator's interpolants


@pytest.mark.parametrize(("begin", "scale"), [(0.0, 1.0), (86400.0, 1.0), (0.0, 1e-4)])
@pytest.mark.parametrize("hold", [None, 0.02])
def test_tracking_knows_forces_that_change_faster_than_the_linear_model(begin, scale, hold):
    """Of a mass on a rail the model is constant; forces of a plan are its control at all times, also where it steps."""
    rail = Joint("rail", "prismatic", "world", "block", axis=[1, 0, 0])
    block = Mechanism("block", (Body("block", Inertia(2.0)),), (rail,))
    force = lambda t, q, v: [np.sin(300 * (t - begin) / scale)]  # noqa: E731
    t = begin + scale * np.linspace(0, 1, 101)
    options = {"max_step": 1e-3 * scale, "atol": 1e-9 * scale**2}
    plan = simulate(block, None, None, t, control=force, hold=None if hold is None else hold * scale, **options)
    follower = tracking_lqr(plan, [1.0, 1.0], [1.0])
    times = np.append(t, t[:-1] + 0.0037 * scale)
    exact = np.append(plan.tau[:, 0], plan["rail", times[len(t) :]].tau if hold else force(times[len(t) :], 0, 0)[0])
    assert np.abs(follower.forces(times)[:, 0] - exact).max() < 1e-5
    assert np.abs(follower.forces(float(times[3])) - exact[3]).max() < 1e-5


@pytest.mark.parametrize("samples", [0.5, np.linspace(0, 0.5, 6)], ids=["own", "chosen"])
def test_a_motion_with_impacts_has_no_linear_model(samples):
    pole = load("double_pendulum", parameters="default")
    stops = joint_stop(pole, "elbow", lower=-0.3, upper=0.3)
    bouncing = simulate(pole, [1.0, 0.0], None, samples, events=stops)
    assert bouncing.events
    with pytest.raises(UnsupportedError, match="an event changed the state at t = "):
        tracking_lqr(bouncing, np.ones(4), np.ones(2))
    before = bouncing[bouncing.t < bouncing.events[0].t]
    assert tracking_lqr(before, np.ones(4), np.ones(2)).t[-1] == before.t[-1]


def test_tracking_with_one_motor_catches_a_cart_pole():
    """A motion of the cart with the pole near upright, its only motor at the rail; then disturbed."""
    upright = linearize(cart(), actuated=["rail"])
    held = lqr(upright, [10, 10, 1, 1], [0.1])
    plan = simulate(cart(), [0.4, 0.1], None, 3.0, control=state_feedback(cart(), held.K, [0, 0], actuated=["rail"]))
    tracker = tracking_lqr(plan, [10, 10, 1, 1], [0.1], final=held.S, actuated=["rail"])
    assert tracker.K.shape[1:] == (1, 4)
    motion = simulate(cart(), [0.3, 0.25], None, 3.0, control=tracker)
    assert not motion.tau[:, 1].any()
    assert np.abs(motion.q[-1] - plan.q[-1]).max() < 1e-2
    with pytest.raises(ArgumentError, match="no actuated velocity 'wheel'"):
        tracking_lqr(plan, [1, 1, 1, 1], [1], actuated=["wheel"])


def inverted_loop():
    """A parallelogram that stands on its cranks, unstable; one motor at the first of them."""
    up = Inertia(0.5, [0, 0, 0.3], np.diag([0.01, 0.01, 1e-3]))
    at = lambda x, z: Transform.from_translation(np.array([x, 0.0, z]))  # noqa: E731
    turned = Transform.from_rotation(np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))
    bodies = (Body("left", up), Body("right", up), Body("bar", Inertia(1.0, [0.2, 0, 0], np.diag([1e-3, 0.02, 0.02]))))
    joints = (
        Joint("a", "continuous", "world", "left", axis=[0, 1, 0]),
        Joint("b", "continuous", "left", "bar", placement=at(0, 0.6), axis=[0, 1, 0]),
        Joint("c", "continuous", "world", "right", placement=at(0.4, 0), axis=[0, 1, 0]),
    )
    pin = Constraint("pin", "revolute", "bar", "right", at(0.4, 0) @ turned, at(0, 0.6) @ turned)
    return Dynamics(Mechanism("parallelogram", bodies, joints, constraints=(pin,)))


def test_a_loop_is_balanced_by_its_independent_states():
    system = inverted_loop()
    model = linearize(system, actuated=["a"])
    assert model.poles[0].real > 1
    regulator = lqr(model, [10.0, 1.0], [1.0])
    control = state_feedback(system, regulator.K, [0, 0, 0], actuated=["a"], states=model.states)
    q = system.assemble([0.2, 0, 0], keep=["a"])
    motion = simulate(system, q, None, 5.0, control=control)
    assert np.abs(motion.q[-1]).max() < 1e-2
    with pytest.raises(ArgumentError, match=r"expected \(3, 6\)"):
        state_feedback(system, regulator.K, [0, 0, 0])
    with pytest.raises(UnsupportedError, match="knows trees only"):
        tracking_lqr(motion, np.ones(6), np.ones(3))


def test_what_belongs_to_given_dynamics_is_said_there():
    system = inverted_loop()
    for run in (linearize, equilibrium):
        with pytest.raises(ArgumentError, match="has no parameters"):
            run(system, parameters={"g": 9.81})
    with pytest.raises(ArgumentError, match="was made with"):
        linearize(Dynamics(cart()), include=["damping"])
    with pytest.raises(ArgumentError, match="no actuated velocity 'motor'"):
        state_feedback(cart(), np.zeros((1, 4)), [0, 0], actuated=["motor"])
    with pytest.raises(ArgumentError, match="tau has shape"):
        state_feedback(cart(), np.zeros((2, 4)), [0, 0], tau=[1.0])


@pytest.mark.parametrize("period", [None, 0.02])
@pytest.mark.parametrize("Q", [[0, 10, 1, 1], [0, 10, 0, 0], [0, 0, 0, 0]])
def test_a_cart_whose_place_costs_nothing_has_no_regulator_that_holds_it(Q, period):
    with pytest.raises(SingularityError, match="Give every mode that does not decay a weight"):
        lqr(linearize(cart(), actuated=["rail"]), Q, 0.1, period=period)


def test_regulators_are_those_of_python_control():
    pytest.importorskip("control.statefbk")  # this folder, too, can be imported as "control"
    import control

    model = linearize(cart(), actuated=["rail"])
    Q, R = np.diag([10.0, 10, 1, 1]), np.array([[0.1]])
    A, B = model.discrete(0.02)
    for (K, S, poles), mine in (
        (control.lqr(model.to_control(), Q, R), lqr(model, Q, R)),
        (control.dlqr(A, B, Q, R), lqr(model, Q, R, period=0.02)),
    ):
        assert np.abs(mine.K - K).max() < 1e-8 * np.abs(K).max()
        assert np.abs(mine.S - S).max() < 1e-8 * np.abs(S).max()
        assert np.abs(np.sort_complex(mine.poles) - np.sort_complex(poles)).max() < 1e-6


def test_models_go_to_python_control_and_back():
    pytest.importorskip("control.statefbk")
    import control

    model = linearize(cart(), actuated=["rail"], outputs=["hinge", "rail rate"])
    system = model.to_control()
    back = LinearModel.from_control(system)
    assert (back.states, back.inputs, back.outputs) == (model.states, model.inputs, model.outputs)
    assert all(np.array_equal(getattr(back, name), getattr(model, name)) for name in "ABCD")
    lagged = LinearModel.from_control(control.ss(system * control.tf([1], [0.1, 1])))  # a motor that lags
    assert np.abs(lagged.poles + 10).min() < 1e-9
    with pytest.raises(ArgumentError, match="the system is sampled"):
        LinearModel.from_control(control.c2d(system, 0.01))


def test_a_model_comes_from_whatever_has_its_matrices_and_names():
    names = {"state_labels": ["x", "v"], "input_labels": ["u"], "output_labels": ["x"]}
    matrices = {"A": [[0, 1], [0, 0]], "B": [[0], [1]], "C": [[1, 0]], "D": [[0]]}
    model = LinearModel.from_control(SimpleNamespace(**matrices, **names, dt=0))
    assert model.states == ("x", "v") and model.inputs == ("u",)
    assert np.abs(lqr(model, [1, 0], 1).K - [1, np.sqrt(2)]).max() < 1e-12  # of a double integrator
    for wrong in (SimpleNamespace(**matrices, **names, dt=0.1), SimpleNamespace(**names), None):
        with pytest.raises(ArgumentError, match=r"sampled|give a state-space system"):
            LinearModel.from_control(wrong)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: linearize("cart_pole"), "got str; give a Mechanism"),
        (lambda: equilibrium("cart_pole"), "got str; give a Mechanism"),
        (lambda: state_feedback("cart_pole", np.zeros((2, 4)), [0, 0]), "got str; give a Mechanism"),
        (lambda: linearize(cart(), actuated="rail"), r"actuated = 'rail': a list of names is needed, \['rail'\]"),
        (lambda: equilibrium(cart(), keep="rail"), "keep = 'rail': a list"),
        (lambda: lqr(cart(), np.eye(4), [1]), "give a LinearModel"),
        (lambda: lqr(linearize(cart()), "large", [1, 1]), "Q: expected real numbers, got 'large'"),
        (lambda: lqr(linearize(cart()), np.full((4, 4), np.nan), [1, 1]), "finite"),
        (lambda: lqr(linearize(cart()), np.eye(4), [1, 0]), "R must be positive definite; its least eigenvalue is 0"),
        (lambda: lqr(linearize(cart()), np.eye(4), [1, 1], period="ms"), "period.*'ms'"),
        (lambda: lqr(linearize(cart()), np.eye(4), [1, 1], period=1e9), "unstable modes overflow"),
    ],
)
def test_bad_input_is_refused_by_name(run, message):
    with pytest.raises(ArgumentError, match=message):
        run()


@pytest.mark.parametrize("names", [{"actuated": ["rail", "rail"]}, {"outputs": ["hinge", "rail", "hinge"]}])
def test_nothing_is_named_twice(names):
    with pytest.raises(ArgumentError, match="is named twice"):
        linearize(load("cart_pole", parameters="default"), **names)


def crane_and_clock(mass: float, length: float) -> Mechanism:
    """A load on a rope under a trolley, and beside it a pendulum that nothing of the crane moves."""
    down, aside = Transform.from_translation([0, 0, -length]), Transform.from_translation([0, 3 * length, 0])
    ball = Inertia.sphere(mass, length / 10)
    bodies = (
        Body("trolley", ball),
        Body("rope"),
        Body("load", ball),
        Body("clock", ball.replace(center=[0, 0, -length])),
    )
    joints = (
        Joint("rail", "prismatic", "world", "trolley", axis=[1, 0, 0]),
        Joint("swing", "revolute", "trolley", "rope", axis=[0, 1, 0]),
        Joint("hoist", "prismatic", "rope", "load", down, axis=[0, 0, -1]),
        Joint("tick", "revolute", "world", "clock", aside, axis=[0, 1, 0]),
    )
    return Mechanism("crane", bodies, joints)


@pytest.mark.parametrize(("mass", "length"), [(1e-9, 1e-5), (1.0, 1.0), (1e6, 50.0)])
def test_what_inputs_move_does_not_depend_on_size(mass, length):
    machine = crane_and_clock(mass, length)
    assert not len(linearize(machine).uncontrollable())
    assert not len(linearize(machine, actuated=["rail", "hoist", "tick"]).uncontrollable())
    model = linearize(machine, actuated=["rail", "hoist"])
    period = model.A[model.states.index("tick rate"), model.states.index("tick")]
    assert np.allclose(np.sort(model.uncontrollable().imag), np.array([-1, 1]) * np.sqrt(-period), rtol=1e-6)
    size, weight = np.array([length, 1, length, 1]), mass * 9.81 * np.array([1, 1, length])
    Q = 1 / np.concatenate([size**2, size**2 * 9.81 / length])  # every state and input in its own unit
    assert lqr(linearize(machine, actuated=["rail", "hoist", "tick"]), Q, 1 / weight**2).poles.real.max() < 0


def test_a_linear_model_is_told_in_one_line():
    assert repr(linearize(crane_and_clock(1.0, 1.0), actuated=["rail"])) == (
        "<LinearModel: 8 states, 1 input, 8 outputs>"
    )


@pytest.mark.parametrize("kind", ["planar", "cylindrical", "spherical"])
def test_states_of_a_constrained_system_are_named_like_its_inputs_and_those_of_a_feedback(kind):
    """A body on a joint of several parts, one point in an inclined plane: what linearize names, a feedback knows."""
    one = Inertia(1.0, [0.1, 0.2, 0.3], np.diag([0.2, 0.3, 0.4]))
    point = Transform.from_translation(np.array([0.5, 0.4, 0.3]))
    inclined = Transform.from_rotation(np.array([[2.0, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3)
    plane = Constraint("plane", "point-on-plane", "world", "plate", point @ inclined, point @ inclined)
    mechanism = Mechanism("tied", (Body("plate", one),), (Joint("p", kind, "world", "plate"),), constraints=(plane,))
    system = Dynamics(mechanism)
    q = system.assemble()
    model = linearize(system, q, np.zeros(mechanism.nv))
    assert len(model.states) == 2 * (mechanism.nv - 1) and {name.removesuffix(" rate") for name in model.states} <= set(
        model.inputs
    )
    K = np.ones((len(model.inputs), len(model.states)))
    away = system.assemble(q + 0.1 * np.arange(len(q)))
    own = system.linear_model(q, np.zeros(mechanism.nv), np.zeros(mechanism.nv)).states
    laws = [
        state_feedback(of, K, q, states=states)
        for of, states in ((mechanism, model.states), (system, model.states), (system, own))
    ]
    assert np.abs(laws[0](0.0, q, np.zeros(mechanism.nv))).max() < 1e-9
    first, *others = (law(0.0, away, np.ones(mechanism.nv)) for law in laws)
    assert np.abs(first).max() > 1e-3 and all(np.array_equal(first, other) for other in others)


def test_a_hovering_body_is_trimmed_by_some_or_all_motors_of_its_joint():
    """One lift carries two bodies, the lower hanging; the same motors are inputs of the linear model."""
    hull, load_ = Inertia(2.0, [0, 0, 0], np.diag([0.02, 0.02, 0.04])), Inertia(0.5, [0, 0, -0.4], np.eye(3) / 1000)
    drone = Mechanism(
        "drone",
        [Body("hull", hull), Body("load", load_)],
        [Joint("base", "free", WORLD, "hull"), Joint("sling", "universal", "hull", "load", axis2=[1, 0, 0])],
    )
    lift = np.zeros(drone.nv)
    lift[2] = 2.5 * 9.81
    for motors in (["base.vz"], ["base"], ["base", "sling.angle2"]):
        found = equilibrium(drone, actuated=motors)
        assert np.abs(found.tau - lift).max() < 1e-9
        inputs = linearize(drone, found.q, None, found.tau, actuated=motors).inputs
        assert inputs[0] == ("base.vz" if motors == ["base.vz"] else "base.vx") and len(inputs) in (1, 6, 7)
    with pytest.raises(ArgumentError, match=r"'base\.vz' is named twice"):
        linearize(drone, actuated=["base", "base.vz"])


def test_modes_that_no_input_moves_are_told_as_numbers_that_they_are():
    """Real eigenvalues without imaginary parts, twofold ones once, pairs as pairs."""
    A = np.zeros((6, 6))
    A[0, 0], A[1, 1] = 2.0, 2.0
    A[2:4, 2:4] = [[0.5, -3.0], [3.0, 0.5]]
    A[4, 5] = 1.0
    states = tuple("abcdef")
    model = LinearModel(A, np.eye(6)[:, 5:], np.eye(6), np.zeros((6, 1)), states, ("u",), states)
    with pytest.raises(SingularityError, match=r"eigenvalues 2 \(2 times\), 0\.5\+3j, 0\.5-3j\. Actuate"):
        lqr(model, 1.0, 1.0)


@pytest.mark.parametrize("name", ["demo_arm", "puma560", "rrr"])
def test_drives_of_all_joints_move_all_modes_wherever_joints_do_not_feel_gravity(name):
    """The weight is felt by some joints only by rounding errors; from these no scale may be taken."""
    arm = load(name, parameters="default") if name == "rrr" else load(name)
    chance = np.random.default_rng(5)
    for bent in (0.0, 0.4, 1.0):
        q = arm.neutral + chance.uniform(-1, 1, arm.nq) * (chance.random(arm.nq) < bent)
        model = linearize(arm, q)
        units = np.tile(10.0 ** chance.uniform(-2, 2, arm.nv), 2)
        scaled = replace(model, A=model.A * units / units[:, None], B=model.B / units[:, None])
        assert not len(model.uncontrollable()) and not len(scaled.uncontrollable())


def test_steady_motions_whose_forces_cancel_are_equilibria():
    """A free body that spins about a principal axis, and a skate that glides straight ahead at an angle: what is left
    is rounding of inertia times velocities squared, and is measured by these.
    """
    axes = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    tensor = axes @ np.diag([1.0, 2.0, 2.5]) @ axes.T
    body = da.Body("body", da.Inertia(10.0, [0, 0, 0], (tensor + tensor.T) / 2))
    spinning = da.Mechanism("satellite", [body], [da.Joint("free", "free", "world", "body")], gravity=[0, 0, 0])
    v = np.concatenate([np.zeros(3), 0.7 * axes[:, 2]])
    assert da.control.equilibrium(da.Dynamics(spinning), v=v).residual < 1e-14
    deck = da.Body("deck", da.Inertia(10.0, [0.4, 0, 0], np.diag([0.5, 0.8, 1.0])))
    edge = da.Constraint("edge", "skate", "deck")
    skate = da.Mechanism("skate", [deck], [da.Joint("ice", "planar", "world", "deck")], constraints=[edge])
    system = da.Dynamics(skate)
    for yaw in (0.1, 0.3, 0.5, 1.1):
        q = [0, 0, yaw]
        found = da.control.equilibrium(system, q, system.project_velocity(q, [np.cos(yaw), np.sin(yaw), 0]))
        assert found.residual < 1e-12

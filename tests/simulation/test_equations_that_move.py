"""Equations of any origin go wherever a mechanism goes, and move as the mechanism does."""

import pickle
import zipfile

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import KanesMethod, LagrangesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

import dalembert as da
from dalembert import control
from dalembert.algebra import scalar
from dalembert.errors import ArgumentError, FormatError, UnsupportedError
from dalembert.simulation import RolloutTask, load_trajectory

CART = {"M": 1.3, "m": 0.4, "l": 0.6, "g": 9.81}
BAR = {"g": 9.81, "l0": 0.4, "l1": 0.1, "l2": 0.35, "l3": 0.3, "m1": 1.0, "m2": 1.5, "m3": 0.8}


@pytest.fixture(scope="module")
def cart_by_sympy():
    """A cart that a force F pushes, with a pendulum; speeds of Kane that are the rates of the coordinates."""
    x, u, force = dynamicsymbols("x u F")
    theta, w = dynamicsymbols("theta w")
    M, m, l, g = sympy.symbols("M m l g")
    ground, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(ground, 0)
    cart = origin.locatenew("C", x * ground.x)
    cart.set_vel(ground, u * ground.x)
    rod = ground.orientnew("B", "axis", (theta, ground.z))
    rod.set_ang_vel(ground, w * ground.z)
    bob = cart.locatenew("P", -l * rod.y)
    bob.v2pt_theory(cart, ground, rod)
    kane = KanesMethod(ground, q_ind=[x, theta], u_ind=[u, w], kd_eqs=[x.diff() - u, theta.diff() - w])
    kane.kanes_equations([Particle("c", cart, M), Particle("p", bob, m)], [(cart, force * ground.x),
                                                                          (bob, -m * g * ground.y)])  # fmt: skip
    return da.from_sympy(kane, "cart")


def kapitza(amplitude: float = 0.01):
    """A pendulum whose pivot shakes up and down: time enters explicitly."""
    theta, rate, t, l, g, omega = sympy.symbols("theta thetadot t l g Omega")
    across = l * sympy.cos(theta) * rate
    up = -amplitude * omega * sympy.sin(omega * t) + l * sympy.sin(theta) * rate
    height = amplitude * sympy.cos(omega * t) - l * sympy.cos(theta)
    return da.from_lagrangian((across**2 + up**2) / 2 - g * height, [theta], [rate], t=t, name="kapitza")


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_equations_move_as_their_mechanism_does(method):
    """Same digits up to the tolerance of the integrator, 1e-9 a step; parameters by name."""
    arm = da.load("double_pendulum")
    values = {s.name: 1.0 for s in arm.symbols}
    theirs = da.simulate(arm, [0.3, 0.5], t=1.0, parameters=values)
    ours = da.simulate(da.derive(arm, method), [0.3, 0.5], t=1.0, parameters=values)
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.energy, theirs.energy[0], rtol=0, atol=1e-8)
    assert ours["elbow"].v[-1] == pytest.approx(theirs["elbow"].v[-1], abs=1e-7)


def test_a_free_body_keeps_its_quaternion_and_its_linear_model():
    values = {"Ixx": 1.0, "Ixy": 0.1, "Ixz": 0.05, "Iyy": 1.5, "Iyz": -0.1, "Izz": 2.0,
              "cx": 0.1, "cy": 0.05, "cz": -0.1, "g": 9.81, "m": 2.0}  # fmt: skip
    body = da.substitute(da.load("free_body"), values)
    equations, v0 = da.derive(body, "lagrange"), [1, 0, 0, 0.1, 2, 0.1]
    ours, theirs = (da.simulate(x, None, v0, t=0.5) for x in (equations, body))
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=1e-8)
    assert abs(np.linalg.norm(ours.q[:, 3:], axis=1) - 1).max() < 1e-15
    A, B = (control.linearize(x, None, v0) for x in (equations, body))
    np.testing.assert_allclose(A.A, B.A, atol=1e-13)
    np.testing.assert_allclose(A.B, B.B, atol=1e-13)


def test_speeds_of_a_closed_loop_are_its_velocities():
    """Kane eliminates the loop: one speed, three coordinates, and the bodies are still there to be looked at."""
    bar = da.load("four_bar")
    with_numbers = da.Dynamics(bar, parameters=BAR)
    q0 = with_numbers.assemble([0.7, 0.2, 0.3])
    v0 = with_numbers.project_velocity(q0, {bar.joints[0].name: 1.0}, keep=[bar.joints[0].name])
    equations = da.derive(bar, "kane", reference=q0)
    theirs = da.simulate(with_numbers, q0, v0, t=0.5)
    ours = da.simulate(equations, q0, v0[:1], t=0.5, parameters=BAR)
    assert ours.v.shape[1] == 1 and equations.velocities == ("u1",)
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.qdot[-1], theirs.v[-1], rtol=0, atol=1e-7)
    np.testing.assert_allclose(ours.energy, theirs.energy[0], rtol=0, atol=1e-8)
    steps = da.rollout(equations, q0, v0[:1], 500, 1e-3, parameters=BAR)
    np.testing.assert_allclose(steps.final_q, theirs.q[-1], rtol=0, atol=1e-7)
    between = steps.trajectory()(0.1234)
    np.testing.assert_allclose(between.q, ours(0.1234).q, atol=1e-7)
    with pytest.raises(UnsupportedError, match="rk4"):
        da.rollout(equations, q0, v0[:1], 5, 1e-3, parameters=BAR, method="lie-rk4")


def test_a_motion_of_equations_is_shown_with_its_bodies(tmp_path):
    arm = da.load("rp_arm")
    motion = da.simulate(da.derive(arm, "kane"), t=0.1, parameters={s.name: 1.0 for s in arm.symbols})
    page = motion.view(tmp_path / "page.html").read_text()
    assert "rp_arm" in page and '"motion"' in page
    assert len(motion.plot().axes) == 4


def test_inputs_are_those_of_the_equations(cart_by_sympy):
    """A force that pushes is what the control gives; two integrators and numpy's own solution agree."""
    dynamics = cart_by_sympy.dynamics()
    assert dynamics.input_names == ("F",) and dynamics.velocity_names() == ("x", "theta")
    q0, t = [0.0, 0.4], 1.0
    motion = da.simulate(cart_by_sympy, q0, t=t, parameters=CART, control=lambda t, q, v: [np.sin(3 * t)])
    many = da.rollout(cart_by_sympy, [q0, [0, 0.2]], None, 1000, 1e-3, parameters=CART,
                      control=lambda t, q, v: [scalar.sin(3 * t)])  # fmt: skip
    np.testing.assert_allclose(many.final_q[0], motion.q[-1], atol=1e-9)
    np.testing.assert_allclose(many.trajectory(0).tau[-1], np.sin(3 * t))
    held = da.rollout(cart_by_sympy, q0, None, 10, 1e-3, parameters=CART, control=[2.0], actuated=["F"])
    assert held.final_v[0] > 0
    # by hand, for point masses: the pendulum hangs below the cart
    q, v, tau = np.array([0.1, 0.7]), np.array([0.3, -1.1]), 2.0
    M, m, l, g = CART["M"], CART["m"], CART["l"], CART["g"]
    s, c = np.sin(q[1]), np.cos(q[1])
    mass = np.array([[M + m, m * l * c], [m * l * c, m * l * l]])
    force = np.array([tau + m * l * s * v[1] ** 2, -m * g * l * s])
    given = [CART[name] for name in dynamics.parameter_names]
    np.testing.assert_allclose(dynamics.forward_dynamics(q, v, [tau], given), np.linalg.solve(mass, force), rtol=1e-13)
    assert motion.power[0] == pytest.approx(0) and np.isfinite(motion.work[-1])


def test_a_regulator_of_a_sympy_model_keeps_the_pendulum_up(cart_by_sympy):
    model = control.linearize(cart_by_sympy, [0, np.pi], parameters=CART)
    assert model.inputs == ("F",) and len(model.states) == 4
    gains = control.lqr(model, [1, 1, 0.1, 0.1], [0.1]).K
    law = control.state_feedback(cart_by_sympy, gains, [0, np.pi])
    motion = da.simulate(cart_by_sympy, [0.1, np.pi - 0.2], t=8.0, control=law, parameters=CART)
    np.testing.assert_allclose(motion.q[-1], [0, np.pi], atol=5e-3)


def test_a_linear_model_is_the_slope_of_the_motion(cart_by_sympy):
    """Complex step of accelerations against the traced derivative, to rounding."""
    dynamics = cart_by_sympy.dynamics()
    given = np.array([CART[name] for name in dynamics.parameter_names])
    q, v, tau, h = np.array([0.1, 0.7]), np.array([0.3, -1.1]), np.array([0.5]), 1e-40
    A, B = dynamics.linearize(q, v, tau, given)
    solved = cart_by_sympy.accelerations()
    values = {str(s): CART[str(s)] for s in cart_by_sympy.parameters}
    for k in range(2):
        step = np.zeros(2, complex)
        step[k] = 1j * h
        for column, state in ((k, {"q": q + step, "v": v}), (2 + k, {"q": q, "v": v + step})):
            slope = solved.evaluate({**state, "tau": tau, **values}).imag / h
            np.testing.assert_allclose(A[2:, column], slope, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(B[:2], 0)


def test_equations_that_contain_time_are_integrated_with_it():
    """Kapitza's pendulum: the shaken upright pendulum stays up (a^2 Omega^2 > 2 g l), the quiet one falls."""
    equations, values = kapitza(), {"l": 0.1, "g": 9.81, "Omega": 300.0}
    assert equations.dynamics().takes_time
    shaken = da.simulate(equations, [3.0], t=1.0, parameters=values)
    fixed = da.simulate(equations, [3.0], t=1.0, parameters=values, method="rk4", step=1e-4)
    many = da.rollout(equations, [[3.0], [2.9]], None, 10_000, 1e-4, parameters=values)
    np.testing.assert_allclose(fixed.q[-1], shaken.q[-1], atol=1e-5)
    np.testing.assert_allclose(many.final_q[0], shaken.q[-1], atol=1e-5)
    assert np.abs(shaken.q - np.pi).max() < 0.3
    quiet = da.simulate(equations, [3.0], t=1.0, parameters={**values, "Omega": 0.0},
                        events=da.Event(lambda t, q, v: q[0] - 2.0, stop=True))  # fmt: skip
    assert quiet.status.startswith("stopped")


def test_two_equations_that_differ_in_one_number_never_share_a_kernel():
    """Everything the same but one amplitude: keys, motions, rollouts and fingerprints of sweeps differ."""
    one, other = kapitza(0.01), kapitza(0.011)
    values = {"l": 0.1, "g": 9.81, "Omega": 300.0}
    keys = [{name: x.dynamics().key(name) for name in ("forward_dynamics", "linearize", "bias")} for x in (one, other)]
    assert all(keys[0][name] != keys[1][name] for name in keys[0])
    assert keys[0] == {name: kapitza(0.01).dynamics().key(name) for name in keys[0]}
    ends = [da.simulate(x, [3.0], t=0.05, parameters=values).q[-1, 0] for x in (one, other)]
    steps = [da.rollout(x, [3.0], None, 500, 1e-4, parameters=values).final_q[0] for x in (one, other)]
    assert abs(ends[0] - ends[1]) > 1e-4
    np.testing.assert_allclose(steps, ends, atol=1e-6)
    assert one.moving.digest != other.moving.digest
    tasks = [RolloutTask(x, 10, 1e-3, parameters=values) for x in (one, other)]
    assert tasks[0].identity({}) != tasks[1].identity({})


def test_keys_follow_the_order_of_parameters():
    """The same program with two symbols exchanged has another kernel, or values would go to the wrong ones."""
    x, v, a, b = sympy.symbols("x xdot a b")
    first, second = (da.from_lagrangian(v**2 / 2 - p * x - r * x**2, [x], [v]) for p, r in ((a, b), (b, a)))
    values = {"a": 1.0, "b": 3.0}
    ends = [da.simulate(e, [0.2], t=0.5, parameters=values).q[-1, 0] for e in (first, second)]
    swapped = da.simulate(second, [0.2], t=0.5, parameters={"a": 3.0, "b": 1.0}).q[-1, 0]
    assert abs(ends[0] - ends[1]) > 1e-2 and swapped == pytest.approx(ends[0], abs=1e-12)


def test_equations_are_swept_saved_compiled_and_pickled(tmp_path, cart_by_sympy):
    task = RolloutTask(cart_by_sympy, 100, 1e-3, parameters={k: CART[k] for k in ("M", "m", "g")}, record=False)
    points = da.grid({"q.theta": [0.2, 0.4], "l": [0.5, 0.6, 0.7]})
    swept = da.sweep(task, points, tmp_path / "sweep")
    alone = da.rollout(cart_by_sympy, [0, 0.4], None, 100, 1e-3, parameters=CART).final_q
    np.testing.assert_allclose(swept["q"][1, 1], alone, rtol=1e-14)
    motion = da.simulate(cart_by_sympy.compile(), [0, 0.4], t=0.1, parameters=CART)
    np.testing.assert_allclose(motion.q[-1], alone, atol=1e-9)
    motion.to_npz(tmp_path / "motion.npz")
    again = da.simulation.load_trajectory(tmp_path / "motion.npz", cart_by_sympy)
    np.testing.assert_array_equal(again.q, motion.q)
    revived = pickle.loads(pickle.dumps(cart_by_sympy.dynamics()))
    np.testing.assert_allclose(da.simulate(revived, [0, 0.4], t=0.1, parameters=CART).q[-1], alone, atol=1e-9)
    assert "forward_dynamics_kernel" in revived.export("forward_dynamics", "cuda")


def test_equilibria_and_laws_of_equations():
    cart = da.load("cart_pole")
    values = {s.name: 1.0 for s in cart.symbols}
    driven = da.derive(cart, actuated=["rail"])
    found = control.equilibrium(driven, [0, 3.1], parameters=values, actuated=["rail"])
    np.testing.assert_allclose(found.q[1], np.pi, atol=1e-12)
    assert found.tau.shape == (1,)
    assert driven.dynamics().input_names == ("rail",)
    law = control.gravity_compensation(da.derive(cart))
    given = [values[name] for name in da.derive(cart).dynamics().parameter_names]
    np.testing.assert_allclose(law([0, 0.3], given), da.Dynamics(cart, parameters=values).gravity([0, 0.3]))
    with pytest.raises(ArgumentError, match="inputs act on the rates"):
        control.gravity_compensation(driven)


def test_verify_holds_equations_against_laws_and_their_mechanism(cart_by_sympy):
    for equations in (da.derive(da.load("rp_arm"), "kane"), cart_by_sympy, kapitza()):
        found = da.verify(equations)
        assert found.ok and any(row.quantity == "accelerations" for row in found.rows)
    r, theta = dynamicsymbols("r theta")
    m, k, l = sympy.symbols("m k l")
    energy = m * (r.diff() ** 2 + r**2 * theta.diff() ** 2) / 2 - k * (r - l) ** 2 / 2
    spring = LagrangesMethod(energy, [r, theta], frame=ReferenceFrame("N"))
    spring.form_lagranges_equations()
    assert da.verify(da.from_sympy(spring)).ok


def test_what_cannot_move_says_why(cart_by_sympy):
    bar = da.load("four_bar")
    with pytest.raises(UnsupportedError, match="kane"):
        da.simulate(da.derive(bar, "lagrange"), parameters=BAR)
    with pytest.raises(ArgumentError, match="without a finite value"):
        da.simulate(cart_by_sympy, t=0.1)
    with pytest.raises(UnsupportedError, match="in the place of theta1"):
        da.simulate(da.derive(da.load("rp_arm")).substitute({"theta1": 0.1}), t=0.1)
    with pytest.raises(UnsupportedError, match="they give"):
        cart_by_sympy.dynamics().kernel("coriolis_matrix")
    with pytest.raises(ArgumentError, match="Equations"):
        da.simulate(3)


def test_equations_of_a_loop_refuse_positions_in_which_it_is_open():
    """They hold on closed loops only, and would go on from an open one in silence."""
    model = da.load("four_bar")
    values = {"g": 9.81, "l0": 1.0, "l1": 0.3, "l2": 0.9, "l3": 0.8, "m1": 1.0, "m2": 1.0, "m3": 1.0}
    closed = da.Dynamics(model, parameters=values).assemble([1.0, -0.7, 1.6])
    equations = da.derive(model, "kane", reference=closed.tolist())
    for moving, known in ((equations, values), (equations.substitute(values), None)):
        assert da.simulate(moving, closed, None, 0.1, parameters=known).status == "finished"
        da.rollout(moving, closed, None, steps=3, parameters=known)
        for start in ([1.0, 0, 0], {"drive": 1.0}, None):
            with pytest.raises(ArgumentError, match="q0 violates the constraint 'pin'"):
                da.simulate(moving, start, None, 0.1, parameters=known)
        with pytest.raises(ArgumentError, match="q0 violates the constraint 'pin'"):
            da.rollout(moving, [1.0, 0, 0], None, steps=3, parameters=known)
        with pytest.raises(ArgumentError, match="linearize: q violates the constraint 'pin'"):
            control.linearize(moving, [1.0, 0, 0], parameters=known)


def test_inputs_that_are_fewer_than_velocities_are_drawn_stored_and_exported(tmp_path):
    model, values = da.load("cart_pole"), {"g": 9.81, "l": 0.5, "I": 0.01, "M": 1.0, "m": 0.2}
    pytest.importorskip("matplotlib")
    da.simulate(da.derive(model, "kane", actuated=[]), [0, 0.1], None, 0.1, parameters=values).plot()
    equations = da.derive(model, "kane", actuated=["rail"])
    da.simulate(equations, [0, 0.1], None, 0.1, parameters=values).to_npz(tmp_path / "t.npz")
    da.view(equations, tmp_path / "t.npz", to=tmp_path / "t.html")
    with pytest.raises(FormatError, match="had 1 inputs, and 'cart_pole' as it is given has 2; give what moved"):
        load_trajectory(tmp_path / "t.npz", model)
    equations.dynamics(parameters=values).fmu(tmp_path / "cart.fmu", 2, binary=False)
    with zipfile.ZipFile(tmp_path / "cart.fmu") as unit:
        described = unit.read("modelDescription.xml").decode()
    assert 'name="tau.rail"' in described and "tau.hinge" not in described
    first, second = sympy.symbols("qdot1 qdot2")
    speeds = da.derive(model, "kane", speeds=[first + second, second])
    with pytest.raises(UnsupportedError, match="derive them without speeds"):
        speeds.dynamics(parameters=values).fmu(tmp_path / "u.fmu", 2, binary=False)


def test_hints_for_inputs_that_a_dynamics_was_not_made_with_name_the_way():
    arm = da.load("demo_arm")
    q, v, a = arm.random_state(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"no input wrenches; name the frames first: Dynamics\(mechanism, wrenches"):
        da.Dynamics(arm).inverse_dynamics(q, v, a, wrenches={"flange": np.zeros(6)})
    with pytest.raises(ArgumentError, match=r"name the numbers that vary first: Dynamics\(mechanism, parameters"):
        da.Dynamics(arm).gravity(q, parameters={"flange.mass": 1.0})
    with pytest.raises(ArgumentError, match=r"got Equations; those of equations are equations.dynamics"):
        da.Dynamics(da.derive(da.load("cart_pole")))


def ball_by_sympy(factor: int):
    """A point thrown upwards, whose speeds are its velocity or a part of it."""
    x, y, vx, vy, force = dynamicsymbols("x y vx vy F")
    m, g = sympy.symbols("m g")
    ground, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(ground, 0)
    ball = origin.locatenew("P", x * ground.x + y * ground.y)
    ball.set_vel(ground, factor * vx * ground.x + vy * ground.y)
    kane = KanesMethod(ground, q_ind=[x, y], u_ind=[vx, vy], kd_eqs=[x.diff() - factor * vx, y.diff() - vy])
    kane.kanes_equations([Particle("p", ball, m)], [(ball, force * ground.x - m * g * ground.y)])
    return da.from_sympy(kane, "ball")


@pytest.mark.parametrize("factor", [1, 2])
def test_velocities_of_equations_are_given_by_their_names(factor):
    ball, values = ball_by_sympy(factor), {"m": 2.0, "g": 10.0}
    motion = da.simulate(ball, None, {"vx": 0.1, "vy": 3.0}, t=0.5, parameters=values)
    np.testing.assert_allclose(motion.q[-1], [0.05 * factor, 1.5 - 1.25], atol=1e-9)
    with pytest.raises(ArgumentError, match=r"'ball' has no (velocity|speed) 'wy'; it has vx, vy"):
        da.simulate(ball, None, {"wy": 1.0}, t=0.5, parameters=values)


def test_a_velocity_that_is_given_by_both_of_its_names_is_refused():
    ball, values = ball_by_sympy(1), {"m": 2.0, "g": 10.0}
    motion = da.simulate(ball, None, {"x": 0.1}, t=0.5, parameters=values)
    np.testing.assert_allclose(motion.q[-1], [0.05, -1.25], atol=1e-9)
    with pytest.raises(ArgumentError, match="given twice"):
        da.simulate(ball, None, {"x": 0.1, "vx": 0.1}, t=0.5, parameters=values)

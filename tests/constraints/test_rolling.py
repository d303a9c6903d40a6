"""Rolling and skating against closed forms and the bicycle benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import relative, simulated
from scipy.optimize import brentq

from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.algebra.transform import Transform
from dalembert.constraints.classical import BICYCLE_UPRIGHT, chaplygin_sleigh, rattleback, rolling_disc, whipple_bicycle
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism

G = 9.81


# ---------------------------------------------------------------------------------------------- rolling disc


def upright_disc(spin, radius=0.5):
    """Axle along y: the disc rolls along x."""
    half = np.sqrt(0.5)
    q = np.array([0, 0, radius, -half, 0, 0, half])  # z of the disc turned to y
    v = np.array([spin * radius, 0, 0, 0, 0, spin])
    return q, v


def test_a_disc_that_lies_flat_is_told_to_have_no_direction_to_roll():
    disc = rolling_disc()
    upright, v = upright_disc(1.0)
    flat = disc.neutral  # its axle points up exactly
    system = Dynamics(disc, reference=upright)
    for attempt in (
        lambda: system.assemble(flat),
        lambda: system.project_velocity(flat, v),
        lambda: system.analyse(flat),
        lambda: system.linear_model(flat, 0 * v, 0 * v),
    ):
        with pytest.raises(SingularityError, match="is not defined"):
            attempt()
    assert np.isfinite(system.assemble(upright)).all()


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 3.0])
def test_a_rolling_disc_is_stable_above_its_critical_speed(factor):
    """Tilt x of a thin disc that rolls straight: A (A + m r^2) x'' + [C (C + m r^2) w^2 - A m g r] x = 0, A and C the
    moments about a diameter and the axle, so that w^2 > g / 3r is stable (Routh, Advanced Part of Rigid Dynamics,
    1905; Neimark and Fufaev 1972). Eigenvalues to rounding; zero ones come in large groups, whose
    rounding errors appear by a root: only the pair is compared.
    """
    m, r = 1.0, 0.5
    A, C = m * r * r / 4, m * r * r / 2
    spin = factor * np.sqrt(G / (3 * r))
    q, v = np.array([0, 0, r, 0, 0, 0]), np.array([spin * r, 0, 0, 0, 0, spin])
    system = Dynamics(rolling_disc(m, r, angles=True), reference=q)
    report = system.analyse(q)
    assert (report.degrees_of_freedom, report.position_freedoms) == (3, 5)
    rates = system.evaluate("constraints", q, v, 0.0)
    assert np.abs(rates[1] @ v - rates[2]).max() < 1e-14
    assert np.abs(system.forward_dynamics(q, v, np.zeros(6))).max() < 1e-12 * spin**2
    values = system.linear_model(q, v, np.zeros(6)).poles
    square = (A * m * G * r - C * (C + m * r * r) * spin**2) / (A * (A + m * r * r))
    pair = np.array([1, -1]) * np.sqrt(complex(square))
    for x in pair:
        assert np.abs(values - x).min() < 1e-7 * abs(x)
    assert (values.real.max() > 1e-3) == (factor < 1)


def test_a_disc_in_steady_circular_motion():
    """A disc at constant tilt whose centre goes round a circle: the motion satisfies the equations, so accelerations
    seen from the turning frame vanish and energy is kept over many turns.
    """
    r = 0.5
    q, v = upright_disc(6.0, r)
    tilt = 0.3
    q[3:] = [np.sin(-np.pi / 4 + tilt / 2), 0, 0, np.cos(-np.pi / 4 + tilt / 2)]
    q[2] = r * np.cos(tilt)
    system = Dynamics(rolling_disc(1.0, r), reference=q)
    v = system.project_velocity(q, v)
    path, positions, speeds = simulated(system, q, v, 5.0)
    energies = system.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-8 * energies[0]
    phi, Gm, rate, _ = system.evaluate("constraints", positions, speeds, 0.0)
    slip = np.einsum("kij,kj->ki", Gm, speeds) - rate
    assert np.abs(phi).max() < 1e-8 and np.abs(slip).max() < 1e-8
    assert path.status == 0


# ---------------------------------------------------------------------------------------------- Chaplygin sleigh


def test_chaplygin_sleigh_against_its_closed_form():
    """With speed u along the edge and turning rate w: u' = a w^2, w' = -m a u w / (I + m a^2). Both follow the ellipse
    m u^2 + (I + m a^2) w^2 = 2 E: with k^2 = m a^2 / (I + m a^2), w = w0 / cosh, u = (w0 a / k) tanh of k w0 (t - t0)
    (Neimark and Fufaev 1972). Integration at 1e-11 leaves less than 1e-9.
    """
    m, moment, a = 2.0, 0.5, 0.4
    system = Dynamics(chaplygin_sleigh(m, moment, a))
    top, k = 1.5, np.sqrt(m * a * a / (moment + m * a * a))

    def exact(t):
        s = k * top * (t - 2.0)
        return top / np.cosh(s), top * a / k * np.tanh(s)

    w0, u0 = exact(0.0)
    q = np.array([0.1, -0.2, 0.7])
    v = np.array([u0 * np.cos(0.7), u0 * np.sin(0.7), w0])
    path, positions, speeds = simulated(system, q, v, 6.0, 1e-11, t_eval=np.linspace(0, 6, 40))
    w, u = exact(path.t)
    along = speeds[:, 0] * np.cos(positions[:, 2]) + speeds[:, 1] * np.sin(positions[:, 2])
    assert np.abs(speeds[:, 2] - w).max() < 1e-9
    assert np.abs(along - u).max() < 1e-9
    assert along[0] < 0 < along[-1]  # it turns round to carry its mass in front


def spun_rattleback(spin):
    """Tilted by half a degree about both axes and spun about the vertical, as Kane and Levinson did."""
    mechanism = rattleback()
    q = mechanism.neutral
    turn = rotation_from_rpy(np.radians(0.5), np.radians(0.5), 0)
    q[3:] = quaternion_from_rotation(turn)
    q[2] = 0.02
    system = Dynamics(mechanism, reference=q)
    q = system.assemble(q)
    v = np.zeros(6)
    v[3:] = turn.T @ [0, 0, spin]
    rows = system.evaluate("positions", q, 0.0)[1]
    v[:3] = -np.linalg.solve(rows[:, :3], rows[:, 3:] @ v[3:])
    return system, q, v


def about_vertical(positions, speeds):
    x, y, z, w = positions[:, 3:].T
    vertical = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)
    return np.sum(vertical * speeds[:, 3:], axis=1)


def test_a_rattleback_reverses_its_spin():
    """Kane and Levinson 1982, without friction: spun at -5 rad/s it wobbles, stops and turns the other way at nearly
    the same speed; at +5 rad/s it keeps turning for as long. Energy is kept, so the reversal is not a numerical leak.
    """
    system, q, v = spun_rattleback(-5.0)
    path, positions, speeds = simulated(system, q, v, 9.0, 1e-8)
    spin = about_vertical(positions, speeds)
    energies = system.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-4 * energies[0]
    assert spin[0] == pytest.approx(-5.0) and spin[path.t > 7.0].min() > 3.0
    other, q, v = spun_rattleback(5.0)
    _, positions, speeds = simulated(other, q, v, 4.0, 1e-8)
    assert about_vertical(positions, speeds).min() > 3.0


def test_a_sphere_rolls_down_a_slope():
    """a = 5/7 g sin(slope) for a solid sphere; the friction needed is 2/7 m g sin."""
    slope, m, r = 0.3, 2.0, 0.25
    ball = Body("ball", Inertia(m, [0, 0, 0], 0.4 * m * r * r * np.eye(3)))
    ramp = Transform.from_rpy_xyz([0, slope, 0], [0, 0, 0])
    contact = Constraint("contact", "rolling-sphere", "ball", WORLD, placement_b=ramp, value=r)
    mechanism = Mechanism("ball", [ball], [Joint("free", "free", WORLD, "ball")], constraints=[contact])
    q = mechanism.neutral
    q[:3] = ramp.rotate([0.4, 0.1, r])
    system = Dynamics(mechanism, reference=q)
    a, force = system.kernel("multipliers")(q, np.zeros(6), np.zeros(6), 0.0)
    assert relative(ramp.rotation.T @ a[:3], [5 / 7 * G * np.sin(slope), 0, 0]) < 1e-12
    assert relative(force, [-2 / 7 * m * G * np.sin(slope), 0, m * G * np.cos(slope)]) < 1e-12


def test_a_cart_with_steered_wheels_has_one_freedom_and_turns_about_its_pole():
    """Kinematic bicycle: rear and front wheel upright on a planar frame, steering angle s: yaw rate = u tan(s) / L."""
    L, r = 1.2, 0.2
    disc = Inertia(1.0, [0, 0, 0], np.diag([0.01, 0.01, 0.02]))
    axle = Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])
    bodies = [Body("frame", Inertia.box(10, [1, 0.5, 0.2])), Body("fork", Inertia.box(1, [0.1, 0.1, 0.1]))]
    bodies += [Body("rear", disc), Body("front", disc)]
    joints = [
        Joint("base", "planar", WORLD, "frame", Transform.from_translation([0, 0, r])),
        Joint("steer", "revolute", "frame", "fork", Transform.from_translation([L, 0, 0])),
        Joint("rear_axle", "continuous", "frame", "rear", axle),
        Joint("front_axle", "continuous", "fork", "front", axle),
    ]
    wheels = [Constraint(f"{w}_wheel", "rolling-wheel", w, WORLD, value=r) for w in ("rear", "front")]
    mechanism = Mechanism("cart", bodies, joints, constraints=wheels)
    steer = 0.4
    q = np.zeros(mechanism.nq)
    q[mechanism.q_slice("steer")] = steer
    system = Dynamics(mechanism, reference=q)
    assert system.analyse(q).degrees_of_freedom == 2  # drive and steer
    v = system.project_velocity(q, [1.0, 0, 0, 0, 0, 0], keep=["steer"])
    speed = v[0]
    assert relative(v[2], speed * np.tan(steer) / L) < 1e-12
    assert relative(np.abs(v[mechanism.v_slice("rear_axle")]), [speed / r]) < 1e-12
    assert relative(np.abs(v[mechanism.v_slice("front_axle")]), [speed / np.cos(steer) / r]) < 1e-12


# ---------------------------------------------------------------------------------------------- bicycle

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0.0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0.0, 76.59734589573222], [0.0, 2.65431523794604]])
"""Meijaard, Papadopoulos, Ruina and Schwab 2007, section 5(c): M q'' + v C1 q' + (g K0 + v^2 K2) q = f of lean and
steer, with 14 digits."""


@pytest.fixture(scope="module")
def bicycle():
    return Dynamics(whipple_bicycle(), reference=BICYCLE_UPRIGHT)


def riding(speed):
    q, v = np.array(BICYCLE_UPRIGHT), np.zeros(9)
    v[0], v[6], v[8] = speed, speed / 0.3, speed / 0.35
    return q, v


def lean_and_steer(bicycle, speed):
    """M, and the matrices of q' and q, of the reduced linearization."""
    q, v = riding(speed)
    linear = bicycle.linear_model(
        q,
        v,
        np.zeros(9),
        positions=["x", "y", "yaw", "rear", "front", "lean", "steer"],
        speeds=["rear", "lean", "steer"],
    )
    lean, steer = linear.states.index("lean"), linear.states.index("steer")
    slow, fast = [lean, steer], [linear.states.index("lean rate"), linear.states.index("steer rate")]
    mass = (linear.speed_map.T @ bicycle.evaluate("mass_matrix", q) @ linear.speed_map)[1:, 1:]
    return linear, mass, -mass @ linear.A[np.ix_(fast, fast)], -mass @ linear.A[np.ix_(fast, slow)]


def test_bicycle_matrices_of_the_benchmark(bicycle):
    """Entries are sums of products of 27 parameters; ours come from the full nonlinear model of nine velocities and
    six constraints by derivatives, elimination and least squares, and still agree in every printed digit.
    Stiffnesses at speed grow with its square, and so do their roundings, a few of them in a row.
    """
    assert bicycle.analyse(BICYCLE_UPRIGHT).degrees_of_freedom == 3
    assert bicycle.analyse(BICYCLE_UPRIGHT).position_freedoms == 7
    _, mass, _, still = lean_and_steer(bicycle, 0.0)
    assert np.abs(mass - M).max() < 2e-13
    assert np.abs(still / G - K0).max() < 2e-13
    for speed in (1.0, 4.6):
        _, _, damping, stiffness = lean_and_steer(bicycle, speed)
        assert np.abs(damping / speed - C1).max() < 2e-13
        rounding = np.finfo(float).eps * np.abs(stiffness).max()
        assert np.abs(stiffness - (G * K0 + speed**2 * K2)).max() < 16 * rounding


def test_bicycle_eigenvalues_over_speed(bicycle):
    """Table 2 of the benchmark: capsize, castering and weave. Differences of about 1e-10 come from the matrices."""
    published = {
        0: [5.53094371765393, 3.13164324790656, -3.13164324790656, -5.53094371765393],
        5: [-0.32286642900409, -14.07838969279822, -0.77534188219585 + 4.46486771378823j],
        10: [0.16105338653172, -24.62459635017404, -3.72016840437287 + 10.90681139476287j],
    }
    for speed, expected in published.items():
        values = lean_and_steer(bicycle, float(speed))[0].poles
        for x in expected:
            assert np.abs(values - x).min() < 1e-9, (speed, x)


def test_bicycle_weave_and_capsize_speed(bicycle):
    """4.29238253634111 and 6.02426201538837 m/s, where the largest real part changes its sign."""

    def weave(speed):
        values = bicycle.linear_model(*riding(speed), np.zeros(9)).poles
        return values[np.abs(values.imag) > 1].real.max()

    def capsize(speed):
        values = bicycle.linear_model(*riding(speed), np.zeros(9)).poles
        slow = values[(np.abs(values.imag) < 1e-6) & (np.abs(values) < 3)].real
        return slow[np.abs(slow).argmax()]

    assert abs(brentq(weave, 4.0, 4.6, xtol=1e-12) - 4.29238253634111) < 1e-9
    assert abs(brentq(capsize, 5.9, 6.2, xtol=1e-12) - 6.02426201538837) < 1e-7


def test_the_nonlinear_bicycle_balances_itself_between_these_speeds(bicycle):
    """At 4.6 m/s a push of 0.5 rad/s in lean decays (Meijaard et al. 2007, figure 4); energy is kept."""
    q, v = riding(4.6)
    v[4] = 0.5
    v = bicycle.project_velocity(q, v)
    path, positions, speeds = simulated(bicycle, q, v, 5.0, 1e-9)
    assert path.status == 0
    energies = bicycle.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-6 * energies[0]
    assert np.abs(positions[:, 4]).max() > 0.05
    assert np.abs(speeds[-1, 4]) < 0.05 and np.abs(positions[-1, 4]) < 0.03
    assert speeds[-1, 6] > speeds[0, 6]  # the energy of the wobble makes it faster

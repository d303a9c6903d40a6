"""Simulated motions against closed forms and against arithmetic with many digits."""

import math

import mpmath
import numpy as np
import pytest
from motion_cases import GRAVITY, MOMENTS, by, double_pendulum, pendulum, swing, top
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from dalembert.algebra.attitude import DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.dynamics import Dynamics
from dalembert.simulation import ADAPTIVE, STEPPERS, simulate

TOLERANCE = {  # ten seconds, six swings; with rtol 1e-9 a step the errors of a thousand steps add up to 1e-6
    **dict.fromkeys(ADAPTIVE, 1e-5),
    "DOP853": 1e-7,
    "semi-implicit-euler": 1e-1, "rk4": 1e-8, "lie-rk4": 1e-8, "variational": 1e-4,
}  # fmt: skip


@pytest.mark.parametrize("method", [*ADAPTIVE, *STEPPERS])
def test_pendulum_follows_elliptic_functions(method):
    t = np.linspace(0, 10, 51) if method in ADAPTIVE else np.linspace(0, 3, 16)
    motion = simulate(pendulum(), [2.5], None, t, **by(method, 2e-3))
    angle, speed = swing(t, 2.5)
    assert np.abs(motion.q[:, 0] - angle).max() < TOLERANCE[method]
    assert np.abs(motion.v[:, 0] - speed).max() < 10 * TOLERANCE[method]


def test_dense_output_of_the_pendulum_is_as_good_as_its_steps():
    motion = simulate(pendulum(), [2.5], None, 5.0)
    t = np.linspace(0, 5, 333)
    angle, speed = swing(t, 2.5)
    assert len(motion) < 200  # so most of these times lie between steps
    assert np.abs(motion(t).q[:, 0] - angle).max() < 1e-7
    assert np.abs(motion(t).v[:, 0] - speed).max() < 1e-6


def extrapolated(flow, y, steps, length):
    """Gragg's modified midpoint rule, extrapolated to order 20."""
    counts = [2 * k for k in range(1, 11)]
    for _ in range(steps):
        rows = []
        for n in counts:
            h = length / n
            before, now = y, [a + h * b for a, b in zip(y, flow(y))]
            for _ in range(n - 1):
                before, now = now, [a + 2 * h * b for a, b in zip(before, flow(now))]
            rows.append([(a + b + h * c) / 2 for a, b, c in zip(before, now, flow(now))])
        for j in range(1, len(rows)):
            for i in range(len(rows) - 1, j - 1, -1):
                ratio = mpmath.mpf(counts[i] ** 2) / counts[i - j] ** 2 - 1
                rows[i] = [a + (a - b) / ratio for a, b in zip(rows[i], rows[i - 1])]
        y = rows[-1]
    return y


def test_chaotic_double_pendulum_agrees_with_thirty_digits():
    """Equations written down by hand, in arithmetic of 30 digits; so high up it is chaotic from the start."""

    def flow(y):  # absolute angles a, b of unit masses on unit rods
        a, b, w, u = y
        c, s = mpmath.cos(a - b), mpmath.sin(a - b)
        r1, r2 = -u * u * s - 2 * g * mpmath.sin(a), w * w * s - g * mpmath.sin(b)
        determinant = 2 - c * c
        return [w, u, (r1 - c * r2) / determinant, (2 * r2 - c * r1) / determinant]

    with mpmath.workdps(30):
        g = mpmath.mpf(GRAVITY)
        start = [mpmath.mpf(2), mpmath.mpf(3.5), mpmath.mpf(0), mpmath.mpf(0)]
        coarse, fine = (extrapolated(flow, start, n, mpmath.mpf(3) / n) for n in (150, 200))
        assert max(abs(x - y) for x, y in zip(coarse, fine)) < 1e-13
        a, b, w, u = (float(x) for x in fine)
    # Angles here are relative. Errors of 1e-13 a step grow by a factor of some 1e2 in these three seconds.
    motion = simulate(double_pendulum(), [2.0, 1.5], None, 3.0, rtol=1e-13, atol=1e-13)
    assert np.abs(motion.q[-1] - [a, b - a]).max() < 1e-8
    assert np.abs(motion.v[-1] - [w, u - w]).max() < 1e-7
    assert np.ptp(motion.energy) < 1e-10
    near = simulate(double_pendulum(), [2.0 + 1e-9, 1.5], None, 3.0, rtol=1e-13, atol=1e-13)
    assert np.abs(near.q[-1] - motion.q[-1]).max() > 1e-7  # it is chaotic indeed


def rotations(motion):
    return motion.quantity("pose", frame="top")[0]


TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def started(form, gravity, omega=(3.0, 0.4, 2.0), options=TIGHT):
    """The same top in some parameterisation, turned away from the singularities of all of them."""
    mechanism = top(form, gravity)
    attitude = EulerAngles("ZYX")
    R = attitude.rotation([0.3, 0.5, 0.7])
    if form == "quaternion":
        q, v = quaternion_from_rotation(R), np.array(omega)
    else:
        angles = EulerAngles(form.upper())
        q = angles.from_rotation(R)
        v = angles.Gamma(q) @ np.array(omega)
    return simulate(mechanism, q, v, np.linspace(0, 2, 41), **options)


@pytest.mark.parametrize("gravity", [0.0, GRAVITY], ids=["free of torque", "heavy"])
def test_top_is_the_same_in_quaternion_and_all_euler_forms(gravity):
    reference = rotations(started("quaternion", gravity))
    for form in ("zyx", "xyz", "zxz", "yxy"):
        # near gimbal lock rounding is amplified; the motion keeps the worst factor below some hundred
        assert np.abs(rotations(started(form, gravity)) - reference).max() < 1e-7, form
    for method in ("lie-rk4", "rk4"):
        assert np.abs(rotations(started("quaternion", gravity, options=by(method, 5e-4))) - reference).max() < 1e-8


@pytest.mark.parametrize("gravity", [0.0, GRAVITY], ids=["free of torque", "heavy"])
@pytest.mark.parametrize(
    "attitude", [DirectionCosines(), Quaternion(), ModifiedRodrigues(), EulerAngles("ZXZ"), EulerAngles("XYZ")], ids=str
)
def test_top_agrees_with_euler_equations_in_every_parameterisation(attitude, gravity):
    """Euler's equations and the rates of each parameterisation, integrated side by side, against the mechanism."""
    motion = started("quaternion", gravity)
    inertia = np.asarray(Dynamics(motion.mechanism).mass_matrix(motion.q[0]))
    arm = motion.mechanism.bodies[-1].inertia.center
    weight = motion.mechanism.mass * np.array([0, 0, -gravity])
    start = attitude.from_rotation(rotations(motion)[0])

    def flow(_, y):
        w, R = y[-3:], attitude.rotation(y[:-3])
        torque = np.cross(arm, R.T @ weight) - np.cross(w, inertia @ w)
        return np.concatenate([attitude.Gamma(y[:-3]) @ w, np.linalg.solve(inertia, torque)])

    found = solve_ivp(flow, (0, 2), [*start, *motion.v[0]], "DOP853", motion.t, rtol=1e-12, atol=1e-12).y.T
    assert np.abs(found[:, -3:] - motion.v).max() < 1e-8
    assert np.abs([attitude.rotation(y[:-3]) for y in found] - rotations(motion)).max() < 1e-8


def test_torque_free_body_follows_jacobis_solution():
    """w = (a cn, b sn, c dn) for spins about principal axes through the centre of mass (Landau, Lifschitz, 37)."""
    mechanism = top("quaternion", 0.0, center=0.0)
    I1, I2, I3 = MOMENTS
    start = np.array([1.0, 0.0, 3.0])
    E2, M2 = (MOMENTS * start**2).sum(), ((MOMENTS * start) ** 2).sum()
    assert M2 > E2 * I2
    rate = math.sqrt((I3 - I2) * (M2 - E2 * I1) / (I1 * I2 * I3))
    m = (I2 - I1) * (E2 * I3 - M2) / ((I3 - I2) * (M2 - E2 * I1))
    t = np.linspace(0, 8, 81)
    sn, cn, dn, _ = ellipj(rate * t, m)
    exact = np.stack(
        [
            math.sqrt((E2 * I3 - M2) / (I1 * (I3 - I1))) * cn,
            math.sqrt((E2 * I3 - M2) / (I2 * (I3 - I2))) * sn,
            math.sqrt((M2 - E2 * I1) / (I3 * (I3 - I1))) * dn,
        ],
        axis=1,
    )
    motion = simulate(mechanism, None, start, t, rtol=1e-11, atol=1e-11)
    assert np.abs(motion.v - exact).max() < 1e-8

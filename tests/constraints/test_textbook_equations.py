"""Classical constrained systems against equations written down by hand from the literature, without our kinematics."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from constraint_cases import relative, simulated
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.constraints.classical import (
    ANDREWS_START,
    BICYCLE_UPRIGHT,
    andrews,
    bricard,
    rattleback,
    spatial_slider_crank,
    whipple_bicycle,
)
from dalembert.dynamics import Dynamics

# ---------------------------------------------------------------------------------------------- Andrews

D, DA, E, EA, RR, RA, SS, SA, SB, SC, SD = (
    0.028,
    0.0115,
    0.02,
    0.01421,
    0.007,
    0.00092,
    0.035,
    0.01874,
    0.01043,
    0.018,
    0.02,
)
TA, TB, U, UA, UB, ZF, ZT, FA, L0, C0, MOTOR = (
    0.02308,
    0.00916,
    0.04,
    0.01228,
    0.00449,
    0.02,
    0.04,
    0.01421,
    0.07785,
    4530,
    0.033,
)
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
M1, M2, M3, M4, M5, M6, M7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
I1, I2, I3, I4, I5, I6, I7 = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5


def closures(x):
    """g of Hairer and Wanner, (VII.7.5); x = beta, theta, gamma, phi, delta, omega, epsilon."""
    b, th, g, p, d, o, e = x
    px, py = RR * np.cos(b) - D * np.cos(b + th), RR * np.sin(b) - D * np.sin(b + th)
    return np.array([
        px - SS * np.sin(g) - XB, py + SS * np.cos(g) - YB,
        px - E * np.sin(p + d) - ZT * np.cos(d) - XA, py + E * np.cos(p + d) - ZT * np.sin(d) - YA,
        px - ZF * np.cos(o + e) - U * np.sin(e) - XA, py - ZF * np.sin(o + e) + U * np.cos(e) - YA,
    ])  # fmt: skip


def slopes(x):
    """The Jacobian of the closures, by complex steps."""
    return np.stack([closures(x + 1e-30j * unit).imag / 1e-30 for unit in np.eye(7)], axis=1)


def squeezed(x, v):
    """Accelerations by their M and f, (VII.7.6) and (VII.7.7), and the closures twice differentiated."""
    _, th, g, p, _, o, _ = x
    db, dth, _, dp, dd, do, de = v
    M = np.zeros((7, 7))
    M[0, 0] = M1 * RA**2 + M2 * (RR**2 - 2 * DA * RR * np.cos(th) + DA**2) + I1 + I2
    M[0, 1] = M[1, 0] = M2 * (DA**2 - DA * RR * np.cos(th)) + I2
    M[1, 1] = M2 * DA**2 + I2
    M[2, 2] = M3 * (SA**2 + SB**2) + I3
    M[3, 3] = M4 * (E - EA) ** 2 + I4
    M[3, 4] = M[4, 3] = M4 * ((E - EA) ** 2 + ZT * (E - EA) * np.sin(p)) + I4
    M[4, 4] = M4 * (ZT**2 + 2 * ZT * (E - EA) * np.sin(p) + (E - EA) ** 2) + M5 * (TA**2 + TB**2) + I4 + I5
    M[5, 5] = M6 * (ZF - FA) ** 2 + I6
    M[5, 6] = M[6, 5] = M6 * ((ZF - FA) ** 2 - U * (ZF - FA) * np.sin(o)) + I6
    M[6, 6] = M6 * ((ZF - FA) ** 2 - 2 * U * (ZF - FA) * np.sin(o) + U**2) + M7 * (UA**2 + UB**2) + I6 + I7
    xd, yd = SD * np.cos(g) + SC * np.sin(g) + XB, SD * np.sin(g) - SC * np.cos(g) + YB
    length = np.hypot(xd - XC, yd - YC)
    pull = -C0 * (length - L0) / length
    fx, fy = pull * (xd - XC), pull * (yd - YC)
    f = np.array([
        MOTOR - M2 * DA * RR * dth * (dth + 2 * db) * np.sin(th), M2 * DA * RR * db**2 * np.sin(th),
        fx * (SC * np.cos(g) - SD * np.sin(g)) + fy * (SD * np.cos(g) + SC * np.sin(g)),
        M4 * ZT * (E - EA) * dd**2 * np.cos(p), -M4 * ZT * (E - EA) * dp * (dp + 2 * dd) * np.cos(p),
        -M6 * U * (ZF - FA) * de**2 * np.cos(o), M6 * U * (ZF - FA) * do * (do + 2 * de) * np.cos(o),
    ])  # fmt: skip
    G, h = slopes(x), 1e-6
    bent = (slopes(x + h * v / 1e3) - slopes(x - h * v / 1e3)) @ v / (2 * h / 1e3)
    whole = np.block([[M, G.T], [G, np.zeros((6, 6))]])
    return np.linalg.solve(whole, np.concatenate([f, -bent]))[:7]


def test_andrews_accelerations_are_those_of_hairer_and_wanner():
    """Along the motion, at seven states; the second derivative of the closures by differences leaves 1e-7."""
    mechanism = andrews()
    order = [("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon").index(j.name) for j in mechanism.joints]
    system = Dynamics(mechanism, elements="all", reference=ANDREWS_START)
    _, positions, speeds = simulated(system, np.array(ANDREWS_START), np.zeros(7), 0.03, t_eval=np.linspace(0, 0.03, 7))
    for q, v in zip(positions, speeds):
        x, u = np.zeros(7), np.zeros(7)
        x[order], u[order] = q, v
        assert np.abs(closures(x)).max() < 1e-10
        assert relative(system.forward_dynamics(q, v, np.zeros(7)), squeezed(x, u)[order]) < 1e-6


def test_andrews_differs_from_the_published_state_by_a_picosecond():
    """Two integrators and two methods agree to 2e-11 rad at 0.03 s. The published values (Test Set for IVP Solvers,
    release 2.4, PSIDE at 1e-14) are those of a moment 1.005e-12 s later, in all seven angles: nine digits agree,
    and what is left is phase, a hundred times more than what our integrations leave."""
    mechanism = andrews()
    names = [joint.name for joint in mechanism.joints]
    published = {
        "beta": (0.1581077119629904e2, 0.1139920302151208e4), "theta": (-0.1575637105984298e2, -0.1424379294994111e4),
        "gamma": (0.4082224013073101e-1, 0.1103291221937134e2), "phi": (-0.5347301163226948, 0.1929337464421385e2),
        "delta": (0.5244099658805304, 0.5735699284790808), "omega": (0.5347301163226948, -0.1929337464421385e2),
        "epsilon": (0.1048080741042263e1, 0.3231791658026955),
    }  # fmt: skip
    angle, rate = np.array([published[name] for name in names]).T
    found = []
    for method, integrator, tolerance in (("multipliers", "DOP853", 1e-13), ("projection", "RK45", 1e-12)):
        system = Dynamics(
            mechanism, elements="all", reference=ANDREWS_START, method=method,
            independent=["beta"] if method == "projection" else None,
        )  # fmt: skip
        kernel = system.kernel("forward_dynamics")
        found.append(solve_ivp(
            lambda t, x, kernel=kernel: np.concatenate([x[7:], kernel(x[:7], x[7:], np.zeros(7), t)]),
            (0, 0.03), np.concatenate([ANDREWS_START, np.zeros(7)]), integrator, rtol=tolerance, atol=tolerance,
        ).y[:7, -1])  # fmt: skip
    assert np.abs(found[0] - found[1]).max() < 2e-11
    assert np.abs(angle - found[0] - 1.005e-12 * rate).max() < 2e-12


# ---------------------------------------------------------------------------------------------- Bricard


def hinge_screws(t, p):
    """Axes of the six hinges as screws [direction; moment], from the proportions of the linkage: unit rods, twists of
    right angles in turn, hinge angles t, p, t, p, t, p (Chen, You and Tarnai 2005)."""
    R, o, found = np.eye(3), np.zeros(3), []
    for k in range(6):
        found.append(np.concatenate([R[:, 2], np.cross(o, R[:, 2])]))
        angle, twist = (t, p)[k % 2], (1, -1)[k % 2]
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        tilt = np.array([[1, 0, 0], [0, 0, -twist], [0, twist, 0]])
        R = R @ turn
        o = o + R[:, 0]
        R = R @ tilt
    return np.array(found), R, o


def test_bricard_has_six_screws_of_rank_five_everywhere():
    """Six hinges on a closed chain of six bodies: 6 velocities, 6 equations; one mobility means rank five, so exactly
    one equation is redundant - of the five rows that close the tree, rank four. Hinge angles from the closed form."""
    system = Dynamics(bricard(), reference=np.full(5, np.pi / 2))
    seen = 0
    for t in (1.6, 1.75, 1.9, 2.05):
        p = np.arccos(-np.cos(t) / (1 + np.cos(t)))
        for second in (p, -p):
            screws, R, o = hinge_screws(t, second)
            if np.abs(R - np.eye(3)).max() + np.abs(o).max() > 1e-9:
                continue
            seen += 1
            size = np.linalg.svd(screws)[1]
            assert size[4] > 1e-2 and size[5] < 1e-12
            q = np.array([t, second, t, second, t])
            assert np.abs(system.residual(q)["hinge6"]).max() < 1e-12
            report = system.analyse(q)
            assert (report.rank, report.degrees_of_freedom, len(report.dependences)) == (4, 1, 1)
            assert not report.is_singular
    assert seen >= 4


# ---------------------------------------------------------------------------------------------- rattleback


def test_rattleback_follows_the_equations_of_rolling_in_body_axes():
    """M' = M x w + m r' x (w x r) + m g r x n, n' = n x w, with M = I w + m r x (w x r) the angular momentum about the
    point of contact, r from there to the centre of mass negated, n the vertical (Borisov and Mamaev 2003). Through the
    wobble small differences grow a hundredfold: 1e-4 rad/s after integrations at 1e-9.
    """
    m, g, axes = 1.0, 9.81, np.array([0.2, 0.03, 0.02])
    tensor = np.array([[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])
    center = np.array([0, 0, -0.01])

    def contact(n):
        return -(axes**2) * n / np.sqrt(np.sum((axes * n) ** 2)) - center  # from the centre of mass

    def moment_of(r):
        return tensor + m * (r @ r * np.eye(3) - np.outer(r, r))

    def rate(t, x):
        n, M = x[:3], x[3:]
        r = contact(n)
        w = np.linalg.solve(moment_of(r), M)
        dn = np.cross(n, w)
        dr = np.imag(contact(n + 1e-30j * dn)) / 1e-30
        return np.concatenate([dn, np.cross(M, w) + m * np.cross(dr, np.cross(w, r)) + m * g * np.cross(r, n)])

    mechanism = rattleback()
    q = mechanism.neutral
    q[3:] = np.array([0.004, 0.004, 0.0, np.sqrt(1 - 2 * 0.004**2)])
    q[2] = 0.02
    system = Dynamics(mechanism, reference=q)
    q = system.assemble(q, keep=[])
    n = np.asarray(rotation_from_quaternion(q[3:]), dtype=float)[2]
    w = -5.0 * n
    rows = system.evaluate("positions", q, 0.0)[1]
    v = np.concatenate([-np.linalg.solve(rows[:, :3], rows[:, 3:] @ w), w])
    path, _, speeds = simulated(system, q, v, 2.0, 1e-9, t_eval=np.linspace(0, 2, 21))
    theirs = solve_ivp(
        rate, (0, 2.0), np.concatenate([n, moment_of(contact(n)) @ w]), "DOP853", rtol=1e-9, atol=1e-11, t_eval=path.t
    ).y.T
    spins = np.array([np.linalg.solve(moment_of(contact(x[:3])), x[3:]) for x in theirs])
    assert np.abs(speeds[:, 3:] - spins).max() < 1e-4
    assert np.ptp(spins[:, 2]) > 2.0


# ---------------------------------------------------------------------------------------------- slider-crank in space


def test_spatial_slider_crank_against_its_one_coordinate():
    """E(x, x') = J(x) x'^2 / 2 + V(x) gives x'' = -(J' x'^2 / 2 + V') / J. Points by Pythagoras; how it turns about
    the line between its ends is decided by the cross, which keeps y of the rod normal to z."""
    system = Dynamics(spatial_slider_crank(), reference=[0, 0, 0, 0, 1, 0.2])

    def places(x):
        pin = np.array([0 * x, 0.1 + 0.08 * np.cos(x), 0.12 + 0.08 * np.sin(x)])
        slider = np.array([np.sqrt(0.09 - pin[1] ** 2 - pin[2] ** 2), 0 * x, 0 * x])
        along = (slider - pin) / 0.3
        across = np.array([-along[1], along[0], 0 * x]) / np.sqrt(along[0] ** 2 + along[1] ** 2)  # normal to z and rod
        return pin, slider, np.stack([along, across, np.cross(along, across)], axis=1)

    def energies(x):
        """J and V; velocities per x' by complex steps."""
        h = 1e-30
        pin, slider, R = (np.real(part) for part in places(x + 0j))
        dpin, dslider, dR = (np.imag(part) / h for part in places(x + 1j * h))
        skew = R.T @ dR
        turning = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
        middle, dmiddle = (pin + slider) / 2, (dpin + dslider) / 2
        J = 0.12 * 0.04**2 + 1e-4 + 0.5 * dmiddle @ dmiddle + 2.0 * dslider @ dslider
        J += turning @ (np.array([4e-4, 4e-3, 4e-3]) * turning)
        return J, 9.81 * (0.12 * (0.12 + 0.04 * np.sin(x)) + 0.5 * middle[2])

    for x, u in ((0.3, 6.0), (1.4, -3.0), (2.9, 10.0), (5.0, 1.0)):
        q = system.assemble(np.array([x, 0, 0, 0, 1, 0.2]), keep=["crank"])
        v = system.project_velocity(q, [u, 0, 0, 0, 0], keep=["crank"])
        h = 1e-4
        up, down, far, back = (np.array(energies(x + s * h)) for s in (1, -1, 2, -2))
        slope = (8 * (up - down) - (far - back)) / (12 * h)
        expected = -(slope[0] * u * u / 2 + slope[1]) / energies(x)[0]
        assert system.forward_dynamics(q, v, np.zeros(5))[0] == pytest.approx(expected, rel=1e-7)


# ---------------------------------------------------------------------------------------------- bicycle


def test_bicycle_speeds_to_all_printed_digits():
    """Weave, capsize and bifurcation of the benchmark (Meijaard et al. 2007, table 2) from the lean and steer matrices
    of our linearization; 14 digits are printed, eigenvalues near a crossing lose one or two."""
    bicycle = Dynamics(whipple_bicycle(), reference=BICYCLE_UPRIGHT)
    q = np.array(BICYCLE_UPRIGHT)

    def matrices(speed):
        v = np.array([speed, 0, 0, 0, 0, 0, speed / 0.3, 0, speed / 0.35])
        names = ["x", "y", "yaw", "rear", "front", "lean", "steer"]
        linear = bicycle.linear_model(q, v, np.zeros(9), positions=names, speeds=["rear", "lean", "steer"])
        slow = [linear.states.index(x) for x in ("lean", "steer")]
        fast = [linear.states.index(f"{x} rate") for x in ("lean", "steer")]
        return linear.A[np.ix_(fast, slow)], linear.A[np.ix_(fast, fast)]

    def values(speed):
        K, C = matrices(speed)
        return np.linalg.eigvals(np.block([[np.zeros((2, 2)), np.eye(2)], [K, C]]))

    def weave(speed):
        found = values(speed)
        return found[np.abs(found.imag) > 1].real.max()

    assert abs(brentq(weave, 4.0, 4.6, xtol=1e-14) - 4.29238253634111) < 1e-12
    assert abs(brentq(lambda s: np.linalg.det(matrices(s)[0]), 5.9, 6.2, xtol=1e-14) - 6.02426201538837) < 1e-12
    pair = sorted(values(0.68428307889246).real)[-2:]  # a double root: half of the digits
    assert np.abs(np.array(pair) - 3.78290405129320).max() < 1e-5


def test_a_scotch_yoke_of_letters_and_numbers_agrees_by_all_routes_whatever_the_letters():
    """M = J + m r^2 sin(theta)^2, and x = r cos(theta). Beside moments 0.01 no body has the J that is tried."""
    turned = da.Transform.from_rotation([[0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # the slot is the yz plane of the yoke
    J, m, r = sympy.symbols("J m r", positive=True)
    yoke = da.Mechanism(
        "yoke",
        (
            da.Body("wheel", da.Inertia(1.0, [0, 0, 0], [[0.01, 0, 0], [0, 0.01, 0], [0, 0, J]])),
            da.Body("yoke", da.Inertia(m, [0, 0, 0], np.zeros((3, 3)))),
        ),
        (
            da.Joint("theta", "continuous", "world", "wheel", axis=[0, 0, 1]),
            da.Joint("x", "prismatic", "world", "yoke", axis=[1, 0, 0]),
        ),
        constraints=(
            da.Constraint("slot", "point-on-plane", "yoke", "wheel", turned, da.Transform.from_translation([r, 0, 0])),
        ),
    )
    theta = sympy.Symbol("theta")
    (found,) = da.derive(yoke, "kane").sympy("mass_matrix")
    assert sympy.simplify(found - (J + m * r**2 * sympy.sin(theta) ** 2)) == 0
    assert da.verify(yoke).ok

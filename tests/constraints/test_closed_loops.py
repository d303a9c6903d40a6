"""Closed loops against closed forms and published solutions.

Where the closed form is a Lagrangian of one coordinate, L = I(x) x'^2 / 2 - V(x), the acceleration is
(Q - I' x'^2 / 2 - V') / I: no constraint and no recursion enters. Accelerations then agree to rounding, amplified by
divisions that stay of order one away from dead centres: 1e-10.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy as sp
from constraint_cases import relative
from scipy.integrate import solve_ivp

from dalembert.algebra.transform import Transform
from dalembert.constraints.classical import (
    ANDREWS_START,
    andrews,
    bricard,
    flyball_governor,
    four_bar,
    parallel_four_bars,
    slider_crank,
    spatial_slider_crank,
)
from dalembert.constraints.closure import assembly_modes
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.kinematics import position_rate
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism

G = 9.81


def one_coordinate(points, angles, gravity_axis=1):
    """Acceleration of a planar linkage from its closed-form geometry.

    Args:
        points: (mass, x, y) of every centre of mass as expressions of x.
        angles: (moment, angle) of every body.
    """
    x, xd, Q = sp.symbols("x xd Q")
    inertia = sum(m * (sp.diff(px, x) ** 2 + sp.diff(py, x) ** 2) for m, px, py in points)
    inertia += sum(moment * sp.diff(angle, x) ** 2 for moment, angle in angles)
    V = sum(m * G * py for m, _, py in points)
    acceleration = (Q - sp.diff(inertia, x) * xd**2 / 2 - sp.diff(V, x)) / inertia
    return sp.lambdify((x, xd, Q), acceleration)


X = sp.Symbol("x")


def test_slider_crank_against_its_closed_form():
    r, l, slider = 0.3, 1.0, 2.0
    tilt = -sp.asin(r * sp.sin(X) / l)  # of the rod
    end = r * sp.cos(X) + l * sp.cos(tilt)
    points = [
        (r, r * sp.cos(X) / 2, r * sp.sin(X) / 2),
        (l, r * sp.cos(X) + l * sp.cos(tilt) / 2, r * sp.sin(X) + l * sp.sin(tilt) / 2),
        (slider, end, 0 * X),
    ]
    exact = one_coordinate(points, [(r**3 / 12, X), (l**3 / 12, tilt)])
    position = sp.lambdify(X, end)
    speed = sp.lambdify(X, sp.diff(end, X))
    system = Dynamics(slider_crank(r, l, slider), reference=[0.5, -0.6, 1.2])
    for angle in np.linspace(0, 2 * np.pi, 9):
        start = [angle, -angle - np.arcsin(r * np.sin(angle)), r * np.cos(angle) + 0.9]
        q = system.assemble(start, keep=["crank"])
        v = system.project_velocity(q, [1.7, 0, 0], keep=["crank"])
        assert abs(q[2] - position(angle)) < 1e-12
        assert abs(v[2] - 1.7 * speed(angle)) < 1e-12
        a = system.forward_dynamics(q, v, [0.4, 0, 0])
        assert relative(a[0], exact(angle, 1.7, 0.4)) < 1e-10


def four_bar_geometry(a, b, c, g, branch=1):
    """Ends of the coupler by the intersection of two circles."""
    px, py = a * sp.cos(X), a * sp.sin(X)
    d = sp.sqrt((g - px) ** 2 + py**2)
    ux, uy = (g - px) / d, -py / d
    f = (b * b - c * c + d * d) / (2 * d)
    h = branch * sp.sqrt(b * b - f * f)
    return px, py, px + f * ux - h * uy, py + f * uy + h * ux


@cache
def four_bar_closed_form(a, b, c, g):
    px, py, cx, cy = four_bar_geometry(a, b, c, g)
    coupler, rocker = sp.atan2(cy - py, cx - px), sp.atan2(cy, cx - g)
    points = [(a, px / 2, py / 2), (b, (px + cx) / 2, (py + cy) / 2), (c, (g + cx) / 2, cy / 2)]
    exact = one_coordinate(points, [(a**3 / 12, X), (b**3 / 12, coupler), (c**3 / 12, rocker)])
    return exact, sp.lambdify(X, (coupler, rocker))


@pytest.mark.parametrize("kind", ["point-on-line", "revolute", "spherical"])
def test_four_bar_against_its_closed_form(kind):
    a, b, c, g = 1.0, 2.5, 2.0, 3.0
    exact, angle_of = four_bar_closed_form(a, b, c, g)
    system = Dynamics(four_bar((a, b, c), g, kind), reference=[1.0, -0.5, 1.7])
    for angle in np.linspace(0.2, 6.1, 8):
        one, two = angle_of(angle)
        q = system.assemble([angle, one - angle + 0.1, two - 0.1], keep=["crank"])
        turns = (q - [angle, one - angle, two]) / (2 * np.pi)
        assert np.abs(turns - np.round(turns)).max() < 1e-12
        v = system.project_velocity(q, [-0.8, 0, 0], keep=["crank"])
        a_found = system.forward_dynamics(q, v, [3.0, 0, 0])
        assert relative(a_found[0], exact(angle, -0.8, 3.0)) < 1e-10


def test_both_assembly_modes_of_the_four_bar_are_reached():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    modes = assembly_modes(system, [1.0, -0.5, 1.7], keep=["crank"], starts=30)
    heights = sorted(float(2.0 * np.sin(q[2])) for q in modes)
    expected = []
    for branch in (1, -1):
        cy = four_bar_geometry(1.0, 2.5, 2.0, 3.0, branch)[3]
        expected.append(float(cy.subs(X, 1.0)))
    assert relative(heights, sorted(expected)) < 1e-10


def test_a_continuum_of_assemblies_is_no_list_of_modes():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    with pytest.raises(ArgumentError, match=r"no isolated points: 1 freedom is left\. Hold more joints"):
        system.assembly_modes([1.0, -0.5, 1.7], starts=5)
    free = Dynamics(four_bar().replace(constraints=()))
    with pytest.raises(ArgumentError, match="3 freedoms are left"):
        free.assembly_modes(starts=3)
    assert len(free.assembly_modes(keep=["crank", "coupler", "rocker"], starts=3)) == 1


@pytest.mark.parametrize("size", [1e-5, 1e-3, 1.0, 1e3])
def test_a_dead_centre_is_one_mode_and_beside_it_there_are_two(size):
    """Links 2, 1.5 and 1 on a ground of 3, the crank held: stretched where cos = (4 + 9 - 2.5^2) / 12. There the other
    angles are found to the root of what assembly leaves; 1e-3 rad of the crank before it, modes are 0.1 rad apart.
    """
    linkage = four_bar(tuple(size * x for x in (2.0, 1.5, 1.0)), 3.0 * size)
    system = Dynamics(linkage, reference=[0.5, -0.2, 1.7])
    dead = float(np.arccos((4 + 9 - 2.5**2) / 12))
    for angle, count in ((dead, 1), (dead - 1e-3, 2)):
        assert len(system.assembly_modes([angle, -0.5, 1.7], keep=["crank"])) == count


def test_assemblies_that_can_move_are_left_out_of_the_modes():
    """Points a and b at distance 1 from (0, 0) and (1, 0), and c at distance 1 from a and b: with a and b on opposite
    sides of the axis c is at (0, 0) or (1, 0), four ways; where they coincide, it moves on a circle, as Peaucellier's
    linkage has it.
    """
    bodies, joints = [], []
    for name in "abc":
        bodies += [Body(f"rail {name}", Inertia(1.0)), Body(name, Inertia(1.0))]
        joints.append(Joint(f"{name}x", "prismatic", WORLD, f"rail {name}", axis=[1, 0, 0]))
        joints.append(Joint(f"{name}y", "prismatic", f"rail {name}", name, axis=[0, 1, 0]))
    one = Transform.from_translation([1.0, 0, 0])
    rods = [
        Constraint(f"{name}{k}", "distance", WORLD, name, place, value=1.0)
        for name in "ab"
        for k, place in enumerate((Transform.identity(), one))
    ]
    rods += [Constraint(f"{name}c", "distance", name, "c", value=1.0) for name in "ab"]
    points = Mechanism("points", bodies, joints, constraints=rods)
    system = Dynamics(points, reference=[0.4, 0.8, 0.5, -0.9, 0.1, 0.1])
    with pytest.warns(ModelWarning, match="are left out, for joints that are not held can move there, 'c"):
        modes = system.assembly_modes()
    found = sorted((round(q[1], 6), round(q[3], 6), abs(round(q[4], 6)), abs(round(q[5], 6))) for q in modes)
    h = round(np.sqrt(3) / 2, 6)
    assert found == [(-h, h, 0, 0), (-h, h, 1, 0), (h, -h, 0, 0), (h, -h, 1, 0)]


def test_parallel_four_bars_pass_their_singular_positions():
    """Gonzalez et al. 2006: started upright at 1 rad/s, all rods stay parallel: a pendulum of one coordinate,
    3 x'' = -3.5 g cos x. Rods on one line are singular: rank 2 instead of 4.

    The step of 5 ms never hits such a position exactly; constraints are projected every tenth step, which keeps
    rounding from choosing another branch. Fourth order at that step leaves 1e-7 in ten seconds and ten crossings.
    """
    mechanism = parallel_four_bars(2)
    h = np.pi / 2
    upright, speeds = np.array([h, -h, h, -h, h]), np.array([-1.0, 1, -1, 1, -1])
    system = Dynamics(mechanism, reference=upright + [-0.4, 0.4, -0.4, 0.4, -0.4])
    flat = system.analyse(np.zeros(5))
    assert (flat.rank, flat.usual_rank, flat.degrees_of_freedom) == (2, 4, 3)
    assert "2 more motions are possible" in str(flat)
    assert system.analyse(upright).degrees_of_freedom == 1

    pendulum = solve_ivp(
        lambda t, x: [x[1], -3.5 * G * np.cos(x[0]) / 3], (0, 10), [h, -1.0], "DOP853", rtol=1e-12, atol=1e-12,
        dense_output=True,
    )  # fmt: skip
    kernel, none = system.kernel("forward_dynamics"), np.zeros(5)

    def rate(x):
        return np.concatenate([x[5:], kernel(x[:5], x[5:], none, 0.0)])

    x, dt, worst = np.concatenate([upright, speeds]), 5e-3, 0.0
    for i in range(2000):
        k1 = rate(x)
        k2 = rate(x + dt / 2 * k1)
        k3 = rate(x + dt / 2 * k2)
        x = x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + dt * k3))
        if i % 10 == 9 and abs(np.sin(x[0])) > 0.3:
            q = system.assemble(x[:5])
            x = np.concatenate([q, system.project_velocity(q, x[5:])])
        worst = max(worst, abs(x[0] - pendulum.sol((i + 1) * dt)[0]))
    assert x[0] < h - 8 * np.pi  # four turns and more
    assert worst < 1e-6


def test_andrews_squeezing_mechanism():
    """Initial accelerations and forces, and the state at 0.03 s, of the Test Set for IVP Solvers (release 2.4, Mazzia
    and Magherini, problem Andrews; computed with PSIDE at 1e-14). Ours is an integration at 1e-12 of the differential
    equation, whose solution turns 2.5 times and multiplies errors by about 1e3: 1e-8 for angles.
    """
    mechanism = andrews()
    q = np.array(ANDREWS_START)
    still = np.zeros(7)
    system = Dynamics(mechanism, elements="all", reference=q)
    a, _ = system.kernel("multipliers")(q, still, still, 0.0)
    assert relative(a[:2], [14222.4439199541138705911625887, -10666.8329399655854029433719415]) < 1e-13
    assert np.abs(a[2:]).max() < 1e-9
    pin = system.reactions(q, still, still, axes="world")["K3-K2"]
    assert relative(pin.force, [-98.5668703962410896, 6.12268834425566266, 0]) < 1e-12
    assert pin.unique.all()

    published = {
        "beta": 0.1581077119629904e2, "theta": -0.1575637105984298e2, "gamma": 0.4082224013073101e-1,
        "phi": -0.5347301163226948, "delta": 0.5244099658805304, "omega": 0.5347301163226948,
        "epsilon": 0.1048080741042263e1,
    }  # fmt: skip
    rates = {
        "beta": 0.1139920302151208e4, "theta": -0.1424379294994111e4, "gamma": 0.1103291221937134e2,
        "phi": 0.1929337464421385e2, "delta": 0.5735699284790808, "omega": -0.1929337464421385e2,
        "epsilon": 0.3231791658026955,
    }  # fmt: skip
    order = [joint.name for joint in mechanism.joints]
    for method in ("multipliers", "projection"):
        chosen = Dynamics(
            mechanism,
            elements="all",
            reference=q,
            method=method,
            independent=["beta"] if method == "projection" else None,
        )
        kernel = chosen.kernel("forward_dynamics")
        found = solve_ivp(
            lambda t, x: np.concatenate([x[7:], kernel(x[:7], x[7:], still, t)]),  # noqa: B023
            (0, 0.03), np.concatenate([q, still]), "DOP853", rtol=1e-12, atol=1e-12,
        ).y[:, -1]  # fmt: skip
        assert np.abs(found[:7] - [published[name] for name in order]).max() < 1e-8
        assert relative(found[7:], [rates[name] for name in order]) < 1e-8


def test_spatial_slider_crank():
    """Slider by Pythagoras: x = sqrt(l^2 - (crank pin off the line of the slider)^2); energy over a wide swing.

    The energy drifts by the integration error only: 1e-10 per step bound gives about 1e-8.
    """
    mechanism = spatial_slider_crank()
    reference = mechanism.neutral
    reference[-1] = 0.2
    system = Dynamics(mechanism, reference=reference)
    report = system.analyse(system.assemble())
    assert report.degrees_of_freedom == 1 and not report.dependences
    for angle in np.linspace(0, 6, 7):
        q = system.assemble(np.array([angle, 0, 0, 0, 1, 0.2]), keep=["crank"])
        pin = np.array([0.1 + 0.08 * np.cos(angle), 0.12 + 0.08 * np.sin(angle)])
        assert abs(q[-1] - np.sqrt(0.3**2 - pin @ pin)) < 1e-12
        v = system.project_velocity(q, [6.0, 0, 0, 0, 0], keep=["crank"])
        pin_rate = 0.08 * 6.0 * np.array([-np.sin(angle), np.cos(angle)])
        assert abs(v[-1] + pin @ pin_rate / q[-1]) < 1e-12
    kernel = system.kernel("forward_dynamics")

    def rate(t, x):
        return np.concatenate([position_rate(mechanism.tree, x[:6], x[6:]), kernel(x[:6], x[6:], np.zeros(5), t)])

    path = solve_ivp(rate, (0, 2.0), np.concatenate([q, v]), "DOP853", rtol=1e-11, atol=1e-11)
    energies = system.kernel("energy")(path.y[:6].T.copy(), path.y[6:].T.copy(), 0.0)
    assert np.ptp(path.y[0]) > 3.0
    assert np.ptp(energies) < 1e-8 * np.abs(energies).max()
    assert np.abs(system.evaluate("positions", path.y[:6, -1].copy(), 0.0)[0]).max() < 1e-8


def test_bricard_moves_although_counting_says_it_cannot():
    """Five rows on five velocities, one of them redundant: one degree of freedom (Chen, You and Tarnai 2005)."""
    mechanism = bricard()
    system = Dynamics(mechanism, reference=np.full(5, np.pi / 2))
    q = system.assemble()
    report = system.analyse(q)
    assert (report.velocities, report.rows, report.rank, report.degrees_of_freedom) == (5, 5, 4, 1)
    assert not report.is_singular and report.is_consistent and len(report.dependences) == 1
    found = system.solve(q, np.zeros(5), np.zeros(5))
    assert not found.unique.all()

    kernel = system.kernel("forward_dynamics")
    path = solve_ivp(
        lambda t, x: np.concatenate([x[5:], kernel(x[:5], x[5:], np.zeros(5), t)]), (0, 3.0),
        np.concatenate([q, np.zeros(5)]), "DOP853", rtol=1e-11, atol=1e-11,
    )  # fmt: skip
    positions, speeds = path.y[:5].T.copy(), path.y[5:].T.copy()
    assert np.ptp(positions[:, 0]) > 1.0
    assert np.abs(positions[:, 0] - positions[:, 2]).max() < 1e-8  # threefold symmetry is kept,
    assert np.abs(positions[:, 1] - positions[:, 3]).max() < 1e-8
    t, p = np.cos(positions[:, 0]), np.cos(positions[:, 1])
    assert np.abs(t + p + t * p).max() < 1e-8  # and the closed form
    assert np.abs(system.evaluate("positions", positions, 0.0)[0]).max() < 1e-8  # the redundant row as well
    energies = system.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-8 * np.abs(mechanism.mass * G)


def test_flyball_governor():
    """Watt: balls m at angle x, sleeve M, arms l, spindle w. Equilibrium cos x = (m + M) g / (m l w^2) and small
    oscillations p^2 = w^2 m sin^2 x / (m + 2 M sin^2 x): from L of the one coordinate, e.g. Timoshenko and Young,
    Advanced Dynamics (1948). The massless lower arms have 1e-6 kg here, which shifts both by about 1e-6.
    """
    w, m, M, l = 8.0, 2.0, 3.0, 0.6
    system = Dynamics(flyball_governor(w, m, M, l), reference=[0, 0.8, -1.6, 0.8, -1.6, 0.8])
    x = np.arccos((m + M) * G / (m * l * w**2))
    q = system.assemble([0, x, -2 * x, x, -2 * x, 2 * l * np.cos(x)], keep=["left"])
    v = system.project_velocity(q, np.zeros(6), keep=["left"])
    assert relative(v, [w, 0, 0, 0, 0, 0]) < 1e-12
    none = np.zeros(6)
    a = system.forward_dynamics(q, v, none)
    assert np.abs(a).max() < 1e-4
    linear = system.linear_model(q, v, none, positions=["left"], speeds=["left"])
    p = w * np.sin(x) * np.sqrt(m / (m + 2 * M * np.sin(x) ** 2))
    assert relative(sorted(linear.poles.imag), [-p, p]) < 1e-5
    assert np.abs(linear.poles.real).max() < 1e-6

"""Constrained accelerations by every route agree, satisfy the constraints, and obey d'Alembert's principle.

Tolerances: accelerations lose what the condition of the constrained inertia matrix takes; states are kept away from
singular positions, where it stays below about 1e4, hence 1e-9.
"""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy
from constraint_cases import relative
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.constraints import State, constraint_rows
from dalembert.constraints.classical import (
    ANDREWS_START,
    BICYCLE_UPRIGHT,
    andrews,
    bricard,
    four_bar,
    whipple_bicycle,
)
from dalembert.constraints.closure import assemble
from dalembert.constraints.pivots import find_pivots
from dalembert.constraints.solve import METHODS, project_velocity, solve
from dalembert.dynamics import Dynamics
from dalembert.dynamics.constrained import Setting, dynamics, terms
from dalembert.errors import ArgumentError, ModelError, SingularityError
from dalembert.formulations import derive
from dalembert.kinematics import pose
from dalembert.kinematics.manifold import moved
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.model.parameters import symbolise
from random_mechanisms import random_mechanism, random_transform

seeds = st.integers(0, 10_000)


def closed_loop(seed):
    """A random tree of ten or so velocities that is closed, at its neutral position, by a random constraint."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "spherical", "universal"]
    tree = random_mechanism(rng, 6, kinds=kinds, massless=0.0, branching=0.5, floating=bool(seed % 3 == 0))
    q, _, _ = tree.random_state(rng)
    kind = str(rng.choice(["spherical", "revolute", "point-on-plane", "distance", "universal", "prismatic"]))
    a, b = ("b6", WORLD) if rng.random() < 0.5 else ("b6", "b2")
    here = random_transform(rng, 0.3)
    turn = Transform.from_rpy_xyz([0, np.pi / 2, 0], [0, 0, 0]) if kind == "universal" else Transform.identity()
    there = pose(tree, q, b).inverse() @ pose(tree, q, a) @ here @ turn
    if kind == "distance":
        there = Transform(there.rotation, there.translation + [0.6, 0.0, 0.8])
    value = 1.0 if kind == "distance" else 0
    return tree.replace(constraints=(Constraint("loop", kind, a, b, here, there, value=value),)), q


@settings(max_examples=40)
@given(seed=seeds)
def test_every_route_gives_the_same_motion(seed):
    """On plain floats, without a compiler: three numeric routes and two straight-line ones."""
    mechanism, q = closed_loop(seed)
    rng = np.random.default_rng(seed)
    G = constraint_rows(mechanism, q).G
    size = np.linalg.svd(G)[1]
    rank = int((size > 1e-9 * size.max(initial=1e-300)).sum())
    assume(size.max(initial=0) > 1e-3 and size[rank - 1] > 0.05 * size[0])
    v = rng.normal(size=mechanism.nv)
    v -= np.linalg.pinv(G, rcond=1e-9) @ (G @ v)
    tau = rng.normal(size=mechanism.nv) * 5
    setting = Setting(mechanism)
    M, f, G, gamma = terms(setting, q, v, tau, 0)
    reference = solve(M, G, f, gamma)
    scale = np.abs(reference.a).max()
    for method in METHODS:
        assert relative(solve(M, G, f, gamma, method).a, reference.a, scale) < 1e-8, method
    assert np.abs(G @ reference.a - gamma).max() < 1e-8 * (scale + np.abs(gamma).max())
    # d'Alembert: what is missing to the free motion does no work on any velocity the constraints allow.
    missing = inverse_dynamics(mechanism, q, v, reference.a) - tau
    assert relative(missing, G.T @ reference.multipliers, np.abs(tau).max()) < 1e-8
    pivots = find_pivots(G[None], np.abs(G) > 0)
    assert len(pivots.order) == rank
    for method in ("multipliers", "projection"):
        a, lam = dynamics(setting, q, v, tau, 0, method, pivots, 0, True)
        assert relative(a, reference.a, scale) < 1e-7
        assert relative(G.T @ lam, G.T @ reference.multipliers, np.abs(tau).max()) < 1e-6


@pytest.mark.parametrize("make", [four_bar, andrews, whipple_bicycle])
@pytest.mark.parametrize("method", ["multipliers", "projection"])
def test_kernels_agree_with_singular_values_on_batches(make, method):
    mechanism = make()
    starts = {"four-bar": [1.0, -0.5, 1.7], "Andrews": ANDREWS_START, "Whipple bicycle": BICYCLE_UPRIGHT}
    reference = np.array(starts[mechanism.name])
    system = Dynamics(mechanism, elements="all", reference=reference, method=method)
    rng = np.random.default_rng(0)
    states = []
    for _ in range(12):
        q = assemble(system, moved(mechanism.tree, reference, 0.1 * rng.normal(size=mechanism.nv)))
        states.append((q, project_velocity(system, q, rng.normal(size=mechanism.nv))))
    q, v = (np.array(x).reshape(3, 4, -1) for x in zip(*states))
    tau = rng.normal(size=v.shape) * 0.01
    expected = system.solve(q, v, tau)
    a, lam = system.kernel("multipliers")(q, v, tau, 0.0)
    for k in np.ndindex(3, 4):
        assert relative(a[k], expected.a[k]) < 1e-8
        assert relative(lam[k], expected.multipliers[k]) < 1e-7
    assert relative(system.forward_dynamics(q, v, tau), a) < 1e-12


def test_floats_without_a_compiler_give_the_same():
    mechanism = four_bar()
    system = Dynamics(mechanism, reference=[1.0, -0.5, 1.7])
    q = system.assemble()
    v = system.project_velocity(q, [1.0, 0, 0], keep=["crank"])
    tau = np.array([1.0, 2.0, 3.0])
    setting = Setting(mechanism, rows=system.constraints, elements=system.elements)
    for method in ("multipliers", "projection"):
        a, _ = dynamics(setting, q, v, tau, 0.0, method, system.pivots, 0, True)
        assert relative(a, system.forward_dynamics(q, v, tau)) < 1e-12


# ---------------------------------------------------------------------------------------------- redundancy


def test_redundant_rows_leave_accelerations_unique_and_say_which_multipliers_are_not():
    planar, spatial = four_bar(), four_bar(kind="revolute")
    few, many = (Dynamics(m, reference=[1.0, -0.5, 1.7]) for m in (planar, spatial))
    q = few.assemble()
    v = few.project_velocity(q, [2.0, 0, 0])
    tau = np.array([3.0, 0, 0])
    one, two = few.solve(q, v, tau), many.solve(q, v, tau)
    assert relative(two.a, one.a) < 1e-12
    assert one.rank == two.rank == 2
    assert one.unique.tolist() == [True, True]
    assert two.unique.tolist() == [True, True, False, False, False]
    assert relative(many.forward_dynamics(q, v, tau), one.a) < 1e-12
    assert many.pivots.redundant == (2, 3, 4)


def test_the_same_constraint_twice_shares_the_force():
    mechanism = four_bar()
    (pin,) = mechanism.constraints
    twice = mechanism.replace(constraints=(pin, pin.replace(name="again")))
    one, two = (Dynamics(m, reference=[1.0, -0.5, 1.7]) for m in (mechanism, twice))
    q = one.assemble()
    v, tau = one.project_velocity(q, [2.0, 0, 0]), np.array([3.0, 0, 0])
    single, double = one.solve(q, v, tau), two.solve(q, v, tau, method="multipliers")
    assert relative(double.a, single.a) < 1e-12
    assert relative(double.multipliers, np.tile(single.multipliers, 2) / 2) < 1e-11  # least norm: half each
    assert not double.unique.any()
    with np.errstate(all="ignore"):
        assert relative(two.forward_dynamics(q, v, tau), single.a) < 1e-11


def test_a_kernel_says_so_by_nan_or_infinity_where_rank_drops_and_regularisation_bounds_it():
    """A parallelogram with all bars on one line: its two closures have rank one there."""
    flat = four_bar((1.0, 3.0, 1.0), 3.0)
    system = Dynamics(flat, reference=[1.0, -1.0, 1.0])
    soft = Dynamics(flat, reference=[1.0, -1.0, 1.0], regularisation=1e-9)
    q, still, tau = np.zeros(3), np.zeros(3), np.array([1.0, 0, 0])
    found = system.solve(q, still, tau)
    assert found.rank == 1
    with np.errstate(all="ignore"):
        hard = system.forward_dynamics(q, still, tau)
    assert not np.isfinite(hard).all() or np.abs(hard).max() > 1e6 or relative(hard, found.a) < 1e-3
    assert relative(soft.forward_dynamics(q, still, tau), found.a) < 1e-5


# ---------------------------------------------------------------------------------------------- given motions


def test_a_joint_that_follows_a_function_of_time_needs_the_torque_of_inverse_dynamics():
    """Rheonomic terms: a driven pendulum on a driven arm against inverse dynamics of the whole motion."""
    arm = random_mechanism(3, 3, kinds=["revolute"], branching=0.0, massless=0.0)
    driven = arm.replace(
        constraints=[
            Constraint("drive", "motion", "j1", function=lambda t: scalar.sin(3 * t)),
            Constraint("ramp", "motion", "j2", coefficients=(0.1, 0.2, 0.3)),
        ]
    )
    system = Dynamics(driven, reference=[0.0, 0.1, 0.0])
    t = 0.4
    q = system.assemble([0, 0, 0.7], t, keep=["j3"])
    assert relative(q, [np.sin(1.2), 0.1 + 0.08 + 0.048, 0.7]) < 1e-12
    v = system.project_velocity(q, [0, 0, -1.3], t, keep=["j3"])
    assert relative(v, [3 * np.cos(1.2), 0.2 + 0.24, -1.3]) < 1e-12
    tau = np.array([0.0, 0.0, 0.5])
    a, lam = system.kernel("multipliers")(q, v, tau, t)
    assert relative(a[:2], [-9 * np.sin(1.2), 0.6]) < 1e-12
    expected = inverse_dynamics(arm, q, v, a)
    assert relative(expected, [lam[0], lam[1], 0.5]) < 1e-10


def test_stabilisation_pulls_violations_back():
    mechanism = four_bar()
    system = Dynamics(mechanism, reference=[1.0, -0.5, 1.7], stabilisation=20.0)
    q = system.assemble() + [0, 0.01, 0]
    v = np.array([0.1, 0.2, 0.3])
    a = system.forward_dynamics(q, v, np.zeros(3))
    rows = constraint_rows(mechanism, q, v)
    expected = rows.gamma - 40 * (rows.G @ v - rows.rate) - 400 * rows.phi
    assert relative(rows.G @ a, expected) < 1e-10


# ---------------------------------------------------------------------------------------------- arguments


def test_force_elements_act_unless_others_are_named():
    mechanism = andrews()
    assert Dynamics(mechanism).elements.names == ("spring", "motor")
    with pytest.raises(ArgumentError, match="no force element 'sprong'"):
        Dynamics(mechanism, elements=["sprong"])
    assert Dynamics(mechanism, elements=["motor"]).elements.names == ("motor",)


def test_any_velocities_of_one_joint_may_be_the_independent_ones_if_they_determine_the_others():
    """A skate is told by its turning and either velocity of its middle, which is no joint's alone; so is its linear
    model, by names of velocities or of the whole joint. The names are those that messages propose.
    """
    skate = Mechanism(
        "skate",
        [Body("blade", Inertia.box(2.0, (0.3, 0.02, 0.1)))],
        [Joint("ice", "planar", "world", "blade")],
        constraints=[Constraint("edge", "skate", "blade", "world")],
    )
    q, tau = np.array([0.1, 0.2, 0.7]), np.array([1.0, -2.0, 0.3])
    free = Dynamics(skate, reference=q)
    v = free.project_velocity(q, [1.0, 0.5, 2.0])
    for chosen in (["ice.x", "ice.angle"], ["ice.y", "ice.angle"]):
        twice = [*chosen, chosen[0]]
        assert Dynamics(skate, reference=q, method="projection", independent=twice).pivots.complete
        system = Dynamics(skate, reference=q, method="projection", independent=chosen)
        assert relative(system.forward_dynamics(q, v, tau), free.solve(q, v, tau).a) < 1e-12
        linear = system.linear_model(q, v, tau, positions=["ice", "ice.x"], speeds=chosen)
        assert linear.positions == ("ice.x", "ice.y", "ice.angle") and linear.speeds == tuple(chosen)
    drives = free.drive_forces(q, v, free.solve(q, v, tau).a, actuated=["ice.x", "ice.angle"])
    assert drives.tau[1] == 0 and relative(free.solve(q, v, drives.tau).a, free.solve(q, v, tau).a) < 1e-12
    with pytest.raises(ArgumentError, match=r"ice\.x would be driven twice"):
        free.drive_forces(q, v, free.solve(q, v, tau).a, actuated=["ice.x", "ice"])
    for chosen in (["ice.x", "ice.angle"], ["xdot", "ice.angle"]):
        assert len(derive(skate, "kane", independent=chosen).velocities) == 2
    with pytest.raises(ArgumentError, match=r"2 independent velocities under its constraints; got \['ice.x'\]"):
        derive(skate, "kane", independent="ice.x")
    with pytest.raises(ArgumentError, match=r"it has xdot, ydot, psidot, ice\.x, ice\.y, ice\.angle"):
        derive(skate, "kane", independent=["ice.z"])
    short = Dynamics(skate, reference=q, method="projection", independent=["ice.x"])
    with pytest.raises(ArgumentError, match=r"2 velocities are needed, for example ice\.") as caught:
        _ = short.pivots
    proposed = str(caught.value).split("for example ")[1].split(", ")
    _ = Dynamics(skate, reference=q, method="projection", independent=proposed).pivots
    with pytest.raises(ArgumentError, match=r"speeds: 'skate' has no joint 'rink'.*ice.x, ice.y, ice.angle"):
        free.linear_model(q, v, tau, speeds=["rink"])


def test_independent_speeds_that_are_not_enough_are_refused():
    system = Dynamics(
        whipple_bicycle(), reference=[0, 0, 0.3, 0, 0, 0, 0, 0, 0], method="projection", independent=["lean", "x"]
    )
    with pytest.raises(ArgumentError, match="3 velocities are needed"):
        _ = system.pivots
    many = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7], method="projection", independent=["crank", "rocker"])
    with pytest.raises(ArgumentError, match="1 velocities are needed"):
        _ = many.pivots
    with pytest.raises(ArgumentError, match="'multipliers' has no independent speeds"):
        Dynamics(four_bar(), independent=["crank"])
    with pytest.raises(ArgumentError, match="no joint 'crink'"):
        Dynamics(four_bar(), method="projection", independent=["crink"])
    with pytest.raises(ArgumentError, match="'multipliers' or 'projection'"):
        Dynamics(four_bar(), method="magic")
    with pytest.raises(ArgumentError, match="no quantity 'biass'"):
        Dynamics(four_bar()).kernel("biass")


def test_masses_that_only_the_constraints_make_regular():
    """A massless rod between two bodies: M is singular, the projected matrix is not."""
    mechanism = four_bar().replace(strict=False)
    light = mechanism.replace(
        bodies=tuple(b.replace(inertia=Inertia()) if b.name == "rocker_bar" else b for b in mechanism.bodies)
    )
    system = Dynamics(light, reference=[1.0, -0.5, 1.7], method="projection", independent=["crank"])
    q = system.assemble()
    v = system.project_velocity(q, [1.0, 0, 0], keep=["crank"])
    found = system.solve(q, v, np.zeros(3))
    assert relative(system.forward_dynamics(q, v, np.zeros(3)), found.a) < 1e-10
    with pytest.raises(SingularityError, match="regular inertia matrix"):
        system.solve(q, v, np.zeros(3), method="udwadia-kalaba")


def test_symbols_are_inputs():
    mechanism = four_bar()
    symbolic = symbolise(mechanism, {"coupler_bar.mass": sympy.Symbol("m")})
    one = Dynamics(mechanism, reference=[1.0, -0.5, 1.7])
    two = Dynamics(symbolic, reference=[1.0, -0.5, 1.7], parameters={"m": 2.5})
    q = one.assemble()
    v, tau = one.project_velocity(q, [1.0, 0, 0]), np.array([1.0, 0, 0])
    assert relative(two.forward_dynamics(q, v, tau), one.forward_dynamics(q, v, tau)) < 1e-11
    heavier = two.forward_dynamics(q, v, tau, 0.0, [5.0])
    assert relative(heavier, one.forward_dynamics(q, v, tau)) > 1e-3


def test_values_of_symbols_come_by_name():
    symbolic = symbolise(four_bar(), {"coupler_bar.mass": sympy.Symbol("m"), "crank_bar.mass": sympy.Symbol("k")})
    ordered = [{"m": 2.5, "k": 1.5}[symbol.name] for symbol in symbolic.symbols]
    named = Dynamics(symbolic, reference=[1.0, -0.5, 1.7], parameters={"m": 2.5, "k": 1.5})
    assert named.parameter_values.tolist() == ordered
    assert named.parameter_names == Dynamics(symbolic, constraints=(), elements=()).parameter_names
    rest = named.reference, np.zeros(3), np.zeros(3)
    assert np.array_equal(named.forward_dynamics(*rest, parameters=ordered), named.forward_dynamics(*rest))
    with pytest.raises(ArgumentError, match=r"takes 4 inputs here, got 5; values of parameters .* in the order"):
        named.evaluate("forward_dynamics", *rest, 0.0, ordered)
    assert np.isnan(Dynamics(symbolic).parameter_values).all()
    with pytest.raises(ArgumentError, match="has the symbols k; give their values"):
        Dynamics(symbolic, parameters={"m": 1.0}).assemble()
    for wrong, words in (
        ([1.0], "expected a text"),
        ({"m": 1.0, "k": 2.0, "g": 3.0}, "has no symbol 'g'"),
        ({"m": "heavy", "k": 2.0}, "expected real numbers"),
    ):
        with pytest.raises(ArgumentError, match=words):
            Dynamics(symbolic, parameters=wrong)


@pytest.mark.parametrize("symbols", [{}, {"coupler_bar.mass": sympy.Symbol("m")}])
def test_states_of_single_precision_are_computed_in_it(symbols):
    """Time and parameters that were not given with the state do not decide the precision."""
    mechanism = symbolise(four_bar(), symbols) if symbols else four_bar()
    system = Dynamics(mechanism, reference=[1.0, -0.5, 1.7], parameters={str(x): 2.5 for x in symbols.values()})
    q = system.assemble()
    v = system.project_velocity(q, [1.0, 0, 0])
    exact = system.forward_dynamics(q, v, np.zeros(3))
    single = system.forward_dynamics(*(x.astype(np.float32) for x in (q, v, np.zeros(3))))
    assert exact.dtype == np.float64 and single.dtype == np.float32
    assert relative(single, exact) < 1e-4


def test_state_checks_shapes():
    with pytest.raises(ArgumentError, match=r"q has shape \(2,\).*needs \(3,\)"):
        State(four_bar(), [0, 0])
    with pytest.raises(ArgumentError, match="takes a Mechanism"):
        Dynamics("robot.urdf")  # type: ignore[arg-type]


def test_costs_and_source_code():
    """Eliminating velocities takes fewer operations than eliminating accelerations where few are independent."""
    costs = {}
    for method in ("multipliers", "projection"):
        chosen = {"independent": ["theta"]} if method == "projection" else {}
        system = Dynamics(andrews(), elements="all", reference=ANDREWS_START, method=method, **chosen)
        costs[method] = system.cost("forward_dynamics")
        assert "forward_dynamics" in system.export("forward_dynamics", "c")
        assert "void mine(" in system.export("forward_dynamics", "c", name="mine")
    assert costs["projection"].multiplications < costs["multipliers"].multiplications < 500


def test_projection_gives_nan_rather_than_wrong_numbers_where_a_row_left_out_matters():
    """Two rows say h = x - z^2 = 0, times cos z and times sin z: either is redundant, and either vanishes somewhere."""
    x, z = sympy.symbols("x z")
    slides = [
        Joint("x", "prismatic", WORLD, "a", axis=[1, 0, 0]),
        Joint("z", "prismatic", "a", "b", axis=[0, 0, 1]),
    ]
    rows = [(x - z**2) * sympy.cos(z), (x - z**2) * sympy.sin(z)]
    mechanism = Mechanism(
        "wire",
        [Body("a", Inertia(1.0)), Body("b", Inertia(2.0))],
        slides,
        constraints=[Constraint("wire", "position", function=rows)],
    )
    system = Dynamics(mechanism, method="projection", reference=[0.64, 0.8])
    assert system.pivots.varying and len(system.pivots.redundant) == 1
    near = np.concatenate([-np.logspace(-1, -17, 33), [0.0], np.logspace(-17, -1, 33)])
    offset = np.pi / 2 if system.pivots.redundant == (1,) else 0.0
    where = offset + near
    q = np.stack([where**2, where], axis=-1)
    v = np.stack([2 * where, np.ones_like(where)], axis=-1)
    # On the wire x'' = 2 z'^2 + 2 z z''; masses 3 along x and 2 along z: 3 x'' 2 z + 2 z'' + 2 g = 0.
    z_acc = -(2 * 9.81 + 3 * 2 * where * 2) / (2 + 3 * 4 * where**2)
    expected = np.stack([2 + 2 * where * z_acc, z_acc], axis=-1)
    found = system.forward_dynamics(q, v, np.zeros(2))
    good = np.isfinite(found).all(axis=-1)
    assert good[:12].all() and good[-12:].all() and not good[33]
    assert np.abs(found[good] - expected[good]).max() < 1e-5
    everywhere = system.solve(q, v, np.zeros(2)).a
    assert np.abs(everywhere - expected).max() < 1e-6


def test_there_is_no_linearization_at_a_singular_position():
    """A parallelogram laid flat: it may go on as one or as its mirror image, which no matrix can say."""
    lengths = {"g": 9.81, "l0": 1, "l1": 0.5, "l2": 1, "l3": 0.5, "m1": 1, "m2": 1, "m3": 1}
    system = Dynamics(da.load("four_bar", parameters=lengths), reference=[1.0, -1.0, 1.0])
    assert system.linear_model([1.0, -1.0, 1.0], np.zeros(3), np.zeros(3)).A.shape == (2, 2)
    with pytest.raises(SingularityError, match="no linearization"):
        system.linear_model(np.zeros(3), np.zeros(3), np.zeros(3))


def test_a_joint_drives_once():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    q = system.assemble([1.0, -0.5, 1.7], keep=["crank"])
    a = system.forward_dynamics(q, np.zeros(3), np.zeros(3))
    with pytest.raises(ArgumentError, match="'crank' is named twice"):
        system.drive_forces(q, np.zeros(3), a, actuated=["crank", "crank"])


def test_what_is_linear_piece_by_piece_is_not_linear():
    """|v| and max(v, 0) have no second derivative, and are no rows of a matrix either."""
    body = da.Body("b", da.Inertia.box(1.0, (1, 1, 1)))
    plane = da.Mechanism("plane", [body], [da.Joint("p", "planar", "world", "b")])
    (xd, yd, _) = da.coordinate_symbols(plane)[1]
    for law in (abs(xd) - yd, lambda q, v, t: v[0].maximum(0) - v[1]):
        with pytest.raises(ModelError, match=r"p_dot_0.* is not linear"):
            Dynamics(plane.replace(constraints=[da.Constraint("law", "velocity", function=law)]))
    rates = [sympy.Symbol(name) for name in da.derive(plane, "kane").velocities]
    with pytest.raises(ArgumentError, match="not linear"):
        da.derive(plane, "kane", pfaffian=[sympy.Abs(rates[0]) - rates[1]])


def test_laws_of_the_wrong_kind_are_refused():
    """A velocity law without velocities, and functions of other arguments than those of their kind."""
    body = da.Body("b", da.Inertia.box(1.0, (1, 1, 1)))
    plane = da.Mechanism("plane", [body], [da.Joint("p", "planar", "world", "b")])
    x = da.coordinate_symbols(plane)[0][0]
    laws = (
        ("velocity", x**2, "no velocity occurs"),
        ("velocity", lambda q, v, t: q[0], "no velocity occurs"),
        ("velocity", lambda q, t: q[0], r"arguments \(q, v, t\)"),
        ("position", lambda q: q[0], r"arguments \(q, t\)"),
    )
    for kind, law, said in laws:
        with pytest.raises(ModelError, match=said):
            Dynamics(plane.replace(constraints=[da.Constraint("law", kind, function=law)]))


@pytest.mark.parametrize("scale", [1e-8, 1e6, 1e9])
@pytest.mark.parametrize("method", METHODS)
def test_units_of_mass_do_not_matter_to_redundant_loops(method, scale):
    """Under its own weight a mechanism of other masses moves the same."""
    bars = four_bar(kind="revolute")  # three rows too many
    masses = {
        address: value * scale
        for address, value in da.parameters(bars).items()
        if ".mass" in address or ".inertia." in address
    }
    plain, scaled = (Dynamics(each, reference=[1.0, -0.5, 1.7]) for each in (bars, symbolise(bars, masses)))
    q = plain.assemble()
    v = plain.project_velocity(q, [1.0, 0, 0])
    expected, found = (each.solve(q, v, np.zeros(3), method=method) for each in (plain, scaled))
    np.testing.assert_allclose(found.a, expected.a, rtol=1e-10)
    np.testing.assert_allclose(found.multipliers, scale * expected.multipliers, rtol=1e-8, atol=1e-9 * scale)


@pytest.mark.parametrize("method", METHODS)
def test_every_route_counts_the_rank_that_the_tolerance_says(method):
    """Rows (1, 0) and (1, 1e-6): two, or one and the mean of what both demand."""
    G, gamma = np.array([[1.0, 0.0], [1.0, 1e-6]]), np.array([0.0, 1e-6])
    two, one = (solve(np.eye(2), G, np.zeros(2), gamma, method, tolerance) for tolerance in (1e-9, 1e-4))
    assert (two.rank, one.rank) == (2, 1)
    assert two.a == pytest.approx([0, 1], abs=1e-9) and one.a == pytest.approx([5e-7, 0], abs=1e-12)


def test_drives_share_a_freedom_though_there_are_no_more_of_them_than_freedoms():
    """Two of three beads are geared together and both driven; the third needs nothing as long as it stays."""
    beads = Mechanism(
        "beads",
        tuple(Body(f"b{k}", Inertia.point(1e-14)) for k in range(3)),
        tuple(Joint(f"j{k}", "prismatic", WORLD, f"b{k}", axis=np.eye(3)[k]) for k in range(3)),
        constraints=(Constraint("gear", "coupling", "j0", "j1", coefficients=(0, 1)),),
        gravity=np.zeros(3),
    )
    system, still = Dynamics(beads), np.zeros(3)
    found = system.drive_forces(still, still, [1.0, 1.0, 0.0], actuated=["j0", "j1"])
    assert found.surplus == 1 and "least" in found.criterion
    np.testing.assert_allclose(found.tau, [1e-14, 1e-14, 0.0], rtol=1e-12)
    with pytest.raises(SingularityError, match=r"mainly the motion of j2$"):  # however small the force it lacks
        system.drive_forces(still, still, [1.0, 1.0, 5.0], actuated=["j0", "j1"])


@settings(max_examples=6)
@given(seed=seeds)
def test_free_accelerations_projected_are_those_of_the_constrained_mechanism(seed):
    """Gauss's principle of least constraint; and what is to be kept is kept."""
    mechanism, q = closed_loop(seed)
    system = Dynamics(mechanism, reference=q)
    rng = np.random.default_rng(seed)
    assume(np.linalg.svd(system.evaluate("positions", q, 0.0)[1])[1].min() > 1e-2)
    v, tau = system.project_velocity(q, rng.normal(size=mechanism.nv)), rng.normal(size=mechanism.nv)
    M, f, G, gamma = system.evaluate("terms", q, v, tau, 0.0)
    a = system.project_acceleration(q, v, np.linalg.solve(M, f))
    assert relative(a, system.solve(q, v, tau).a) < 1e-6  # a billionth of M holds what moves no mass
    most = np.abs(system.project_acceleration(q, v, np.zeros(mechanism.nv))).max()
    name = mechanism.joints[int(rng.integers(len(mechanism.joints)))].name
    try:
        kept = system.project_acceleration(q, v, {name: 2.0}, keep=[name])
    except (SingularityError, ArgumentError):  # the loop holds this joint, or it has several velocities
        return
    assert (kept[mechanism.v_slice(name)] == 2).all()
    assert np.abs(G @ kept - gamma).max() < 1e-7 * (1 + most + np.abs(kept).max())


def test_drives_of_a_motion_that_is_known_at_samples():
    """Differences of velocities miss the constraints by h^2; drives are off by no more than that."""
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    h, times = 2e-3, np.linspace(0, 0.4, 201)
    q, v, at = [], [], np.array([1.0, -0.5, 1.7])
    for t in times:
        at = system.assemble([1 + 0.5 * np.sin(2 * t), *at[1:]], keep=["crank"])
        q.append(at)
        v.append(system.project_velocity(at, [np.cos(2 * t), 0, 0], keep=["crank"]))
    rough = np.gradient(v, h, axis=0)[1:-1]
    q, v = np.array(q)[1:-1], np.array(v)[1:-1]
    crank = -2 * np.sin(2 * times[1:-1])
    exact = [system.project_acceleration(x, y, [z, 0, 0], keep=["crank"]) for x, y, z in zip(q, v, crank)]
    found, sure = (system.drive_forces(q, v, a, actuated=["crank"]) for a in (rough, np.array(exact)))
    assert 1e-9 < relative(rough, np.array(exact)) < 1e-4  # refused until here
    assert relative(found.tau, sure.tau) < 1e-4 and relative(found.multipliers, sure.multipliers) < 1e-4
    with pytest.raises(ArgumentError, match="project_acceleration: v violates"):
        system.project_acceleration(q[0], {"crank": 1.0}, np.zeros(3))
    coarse = np.gradient(v[::5], 5 * h, axis=0)[1:-1]
    often = system.drive_forces(q[::5][1:-1], v[::5][1:-1], coarse, actuated=["crank"])
    assert relative(often.tau, sure.tau[::5][1:-1]) < 1e-2  # 25 times h^2
    with pytest.raises(ArgumentError, match=r"violate .* project_acceleration"):
        system.drive_forces(q[0], v[0], rough[0] + [0, 1, 0], actuated=["crank"])


def test_accelerations_of_a_fast_joint_excuse_none_of_the_others():
    """A motor at 1000 rad/s^2 with a gear of 100 to 1: a loop that was forgotten is no hundredth of that."""
    bar = four_bar()
    rotor = Body("rotor", Inertia(0.02, tensor=np.eye(3) * 1e-6))
    gear = Constraint("gear", "coupling", "motor", "crank", coefficients=(0, 0.01))
    motor = Joint("motor", "revolute", WORLD, "rotor")
    geared = bar.replace(bodies=(*bar.bodies, rotor), joints=(*bar.joints, motor), constraints=(*bar.constraints, gear))
    guess = [1.0, -0.5, 1.7, 100.0]
    system = Dynamics(geared, reference=guess)
    q = system.assemble(guess, keep=["crank"])
    v = system.project_velocity(q, {"motor": 100.0}, keep=["motor"])
    a = system.project_acceleration(q, v, {"motor": 1000.0}, keep=["motor"])
    assert system.drive_forces(q, v, a * (1 + 1e-4), actuated=["motor"]).surplus == 0
    for forgotten in ([10.0, 0, 0, 1000], [0.0, 0, 0, 1000]):
        with pytest.raises(ArgumentError, match="violate the constraints"):
            system.drive_forces(q, v, forgotten, actuated=["motor"])


@pytest.mark.parametrize("length, mass", [(1e-4, 1e-9), (1e-3, 1e-6), (1.0, 1e9), (1e3, 1e9)])
def test_every_route_has_its_digits_whatever_the_units(length, mass):
    """Inertia matrices mix kg and kg m^2."""
    ball = Mechanism(
        "ball",
        [Body("ball", Inertia(mass, [0.3 * length, 0, 0], np.diag([1, 2, 2.5]) * mass * length**2))],
        [Joint("ball", "free", WORLD, "ball")],
        constraints=[Constraint("ground", "rolling-sphere", "ball", WORLD, value=length)],
    )
    system = Dynamics(ball)
    q = system.assemble([0, 0, length, 0.8, 0.6, 0, 0])
    v = system.project_velocity(q, {"ball": [0, 0, 0, 1.0, -2.0, 0.5]})
    first, *others = (system.solve(q, v, np.zeros(6), method=method).a for method in METHODS)
    for other in others:
        assert relative(other[:3], first[:3]) < 1e-10 and relative(other[3:], first[3:]) < 1e-10


@pytest.mark.parametrize("decades", [0, 6, 12, 18])
def test_projection_has_its_digits_however_inertias_differ(decades):
    """Against fifty digits, errors in units of energy. The last digits of numbers change these solutions by up to
    2e-12; of what is left for rounding, null vectors that mix heavy and light velocities would need 1e-3.
    """
    rng = np.random.default_rng(decades)
    for _ in range(10):
        n, m = 6, 3
        L = rng.normal(size=(n, n)) + 3 * np.eye(n)
        unit = 10 ** rng.uniform(-decades / 4, decades / 4, size=n)
        M = L @ L.T * np.outer(unit, unit)
        G = np.where(rng.random((m, n)) < 0.6, rng.normal(size=(m, n)), 0) + np.eye(m, n)
        f, gamma = unit * rng.normal(size=n), G @ (rng.normal(size=n) / unit)
        with mpmath.workdps(50):
            system = np.block([[M, -G.T], [G, np.zeros((m, m))]])
            exact = mpmath.lu_solve(mpmath.matrix(system.tolist()), mpmath.matrix([*f, *gamma]))
        right = np.array([float(x) for x in exact[:n]])
        assert relative(unit * solve(M, G, f, gamma).a, unit * right) < 1e-9


def test_redundant_rows_of_rounded_states_stay_redundant():
    """Off the constraints they seem to be independent, and would leave nothing that moves."""
    system = Dynamics(bricard())
    q = system.assemble()
    v = system.project_velocity(q, np.eye(5)[0], keep=[system.mechanism.joints[0].name])
    tau = 2 * np.eye(5)[0]
    a = system.solve(q, v, tau).a
    drive = system.mechanism.joints[0].name
    for digits in (4, 6, 8, 10):
        rough = [np.round(x, digits) for x in (q, v, a)]
        assert relative(system.drive_forces(*rough, actuated=[drive]).tau, tau) < 100 * 10.0**-digits
        for method in METHODS:
            assert relative(system.solve(*rough[:2], tau, method=method).a, a) < 100 * 10.0**-digits


def test_accelerations_that_vanish_are_found():
    """Three equal rods turn their beam at constant speed: rows are redundant, and what they say cancels."""
    rods = [Body(f"rod{k}", Inertia(1.0, [0.2, 0, 0], np.eye(3) / 50)) for k in range(3)]
    at = lambda x: Transform.from_translation(np.array([x, 0.0, 0.0]))  # noqa: E731
    joints = [Joint(f"j{k}", "revolute", WORLD, f"rod{k}", at(0.5 * k), axis=[0, 1, 0]) for k in range(3)]
    beam = Body("beam", Inertia(1.0, [0.5, 0, 0], np.eye(3) / 20))
    hinge = Joint("b", "revolute", "rod0", "beam", at(0.4), axis=[0, 1, 0])
    pins = [Constraint(f"p{k}", "spherical", "beam", f"rod{k}", at(0.5 * k), at(0.4)) for k in (1, 2)]
    row = Mechanism("row", [*rods, beam], [*joints, hinge], constraints=pins)
    system = Dynamics(row, reference=[0.3, 0.3, 0.3, -0.3])
    q = system.assemble(keep=["j0"])
    v = system.project_velocity(q, {"j0": 1.0}, keep=["j0"])
    for keep in ([], ["j0"]):
        assert np.abs(system.project_acceleration(q, v, np.zeros(4), keep=keep)).max() < 1e-12


def test_udwadia_and_kalaba_refuse_every_singular_inertia_matrix():
    rng = np.random.default_rng(4)
    for n in rng.integers(2, 7, size=40):
        J = rng.normal(size=(n - 1, n))
        with pytest.raises(SingularityError, match="regular inertia matrix"):
            solve(J.T @ J, rng.normal(size=(1, n)), np.zeros(n), np.zeros(1), "udwadia-kalaba")

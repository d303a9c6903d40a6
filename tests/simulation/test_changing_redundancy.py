"""Rows that repeat each other in changing ways move a mechanism as those do that are needed."""

import warnings

import numpy as np
import pytest
import sympy

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationWarning
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.simulation import SimulationError, rollout, simulate

CRANK, COUPLER, ROCKER, GROUND = 0.5, 1.2, 0.9, 1.0

METHODS = [
    ({}, 1e-6),
    ({"rtol": 1e-12, "atol": 1e-12}, 1e-8),
    ({"method": "RK45", "rtol": 1e-6, "atol": 1e-6}, 1e-2),
    ({"method": "rk4", "step": 2e-3}, 1e-3),
    ({"method": "rk4", "step": 5e-4}, 1e-5),  # by the compiled loop
    ({"drift": "ggl", "stabilisation": 10.0}, 1e-5),
    ({"stabilisation": 10.0}, 1e-5),
]
"""And how much they may differ: some ten times the error that either has alone."""


def wire(rows):
    """A bead on z^2 = x; two rows say it times cos z and times sin z, and each vanishes somewhere."""
    x, z = sympy.symbols("x z")
    gap = x - z**2
    joints = [
        Joint("x", "prismatic", WORLD, "a", axis=[1, 0, 0]),
        Joint("z", "prismatic", "a", "b", axis=[0, 0, 1]),
    ]
    told = {1: [gap], 2: [gap * sympy.cos(z), gap * sympy.sin(z)]}[rows]
    on_wire = Constraint("wire", "position", function=told)
    return Mechanism("wire", [Body("a", Inertia(1.0)), Body("b", Inertia(2.0))], joints, constraints=[on_wire])


def turned(rows):
    """A planar four-bar on a body that turns in space; its gap in axes of that body, 2 rows, or of the world, 3."""

    def bar(mass, length):
        moment = mass * length**2 / 12
        return Inertia(mass, np.array([length / 2, 0, 0]), np.diag([moment / 100, moment, moment]))

    def gap(q, t):
        (w, x, y, z), a, b, r = q[:4], q[4], q[4] + q[5], q[6]
        across = CRANK * scalar.cos(a) + COUPLER * scalar.cos(b) - GROUND - ROCKER * scalar.cos(r)
        up = CRANK * scalar.sin(a) + COUPLER * scalar.sin(b) - ROCKER * scalar.sin(r)
        if rows == 2:
            return [across, up]
        turn = [(1 - 2 * (y * y + z * z), 2 * (x * y - w * z)), (2 * (x * y + w * z), 1 - 2 * (x * x + z * z))]
        turn.append((2 * (x * z - w * y), 2 * (y * z + w * x)))
        return [c * across + s * up for c, s in turn]

    at = Transform.from_translation
    bodies = [
        Body("frame", Inertia(2.0, np.array([0.1, 0.2, 0]), np.diag([0.3, 0.4, 0.5]))),
        Body("crank_bar", bar(1.0, CRANK)),
        Body("coupler_bar", bar(2.0, COUPLER)),
        Body("rocker_bar", bar(1.5, ROCKER)),
    ]
    joints = [
        Joint("ball", "spherical", WORLD, "frame"),
        Joint("crank", "revolute", "frame", "crank_bar"),
        Joint("coupler", "revolute", "crank_bar", "coupler_bar", at([CRANK, 0, 0])),
        Joint("rocker", "revolute", "frame", "rocker_bar", at([GROUND, 0, 0])),
    ]
    return Mechanism("turned", bodies, joints, constraints=[Constraint("pin", "position", function=gap)])


CASES = {
    "wire": (wire, (1, 2), [0.64, 0.8], [0.0, 0.0]),
    "turned": (turned, (2, 3), [1.0, 0, 0, 0, 1.0, -0.5, 1.2], [0.5, 0.7, -1.0, 6.0, 0, 0]),
}


@pytest.mark.parametrize("options, tolerance", METHODS, ids=[" ".join(map(str, o.values())) for o, _ in METHODS])
@pytest.mark.parametrize("case", CASES)
def test_redundant_rows_change_no_motion(case, options, tolerance):
    make, (few, many), near, velocities = CASES[case]
    system = Dynamics(make(few), reference=near)
    assert Dynamics(make(many), reference=near).pivots.varying
    q = system.assemble(near)
    v = system.project_velocity(q, velocities)
    plain, redundant = (simulate(make(rows), q, v, 2.0, **options) for rows in (few, many))
    assert np.abs(plain.q[-1] - redundant.q[-1]).max() < tolerance


def test_nor_that_of_a_batch():
    make, (few, many), near, velocities = CASES["turned"]
    system = Dynamics(make(few), reference=near)
    q = system.assemble(near)
    v = system.project_velocity(q, velocities)
    plain, redundant = (rollout(make(rows), np.stack([q, q]), v, 1000, 1e-3) for rows in (few, many))
    assert np.abs(plain.final_q - redundant.final_q).max() < 1e-5


@pytest.mark.parametrize("options", [{}, {"method": "rk4", "step": 5e-4}, {"drift": "ggl", "stabilisation": 20.0}])
def test_a_law_of_velocities_that_says_the_same_leaves_positions_on_theirs(options):
    """Whichever of the two rows is kept for accelerations."""
    z, x_dot, z_dot = sympy.symbols("z x_dot z_dot")
    plain = wire(1)
    for again in (0.1, 10):
        law = Constraint("again", "velocity", function=[again * (x_dot - 2 * z * z_dot)])
        for constraints in ((law, *plain.constraints), (*plain.constraints, law)):
            with warnings.catch_warnings():
                warnings.simplefilter("error", SimulationWarning)
                motion = simulate(plain.replace(constraints=constraints), [0.64, 0.8], [0, 0], 2.0, **options)
            assert np.abs(motion.q[:, 0] - motion.q[:, 1] ** 2).max() < 1e-8


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "rk4"}, {"drift": "ggl", "stabilisation": 20.0}, {"stabilisation": 20.0}],
    ids=["projection", "rk4", "ggl", "Baumgarte"],
)
@pytest.mark.parametrize("kind", ["position", "velocity"])
def test_rules_that_begin_to_contradict_each_other_late_are_told(options, kind):
    """By so little that kernels go on; the moment is that at which they differ by some 1e-6. Equal ones are not."""

    def machine(error):
        bodies = [Body("one", Inertia(1.0, [0.5, 0, 0], np.eye(3) / 10)), Body("two", Inertia(1.0, [0.5, 0, 0]))]
        joints = [Joint("a", "revolute", WORLD, "one"), Joint("b", "revolute", "one", "two")]
        a, t = sympy.symbols("a_dot t" if kind == "velocity" else "a t")
        rule = sympy.sin(t)
        late = rule + error * (1 + sympy.tanh(4 * (t - 5)))
        rules = [Constraint("first", kind, function=[a - rule]), Constraint("second", kind, function=[a - late])]
        return Mechanism("machine", bodies, joints, constraints=rules)

    v = [float(kind == "position"), 0.0]
    with pytest.warns(SimulationWarning, match=r"from t = 4\.[0-9]* s on .*'first', 'second' contradict each other"):
        simulate(machine(1e-4), [0, 0], v, 6.0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        simulate(machine(0), [0, 0], v, 6.0, **options)


@pytest.mark.parametrize("options", [{}, {"method": "rk4"}], ids=["DOP853", "rk4"])
def test_rows_that_are_redundant_only_near_the_start_are_told_where_they_matter(options):
    """Beyond z = 2 the second row holds y, too, which a force pushes."""

    def rows(q, t):
        x, z, y = q
        gap, beyond = x - z * z, scalar.maximum(0, z - 2)
        return [gap * scalar.cos(z), gap * scalar.sin(z) + beyond**3 * y]

    slides = [("x", WORLD, "a", [1, 0, 0]), ("z", "a", "b", [0, 0, 1]), ("y", "b", "c", [0, 1, 0])]
    joints = [Joint(name, "prismatic", parent, child, axis=axis) for name, parent, child, axis in slides]
    bodies = [Body(name, Inertia(1.0)) for name in "abc"]
    mechanism = Mechanism("held", bodies, joints, constraints=[Constraint("wire", "position", function=rows)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        simulate(
            mechanism, [0.64, 0.8, 0], [4.8, 3, 0], 0.2, control=lambda t, q, v: np.array([200.0, 0, 5]), **options
        )
    told = "'wire' contradict each other.*redundant only near the start"  # and fixed steps end where the row is open
    with pytest.raises(SimulationError, match=told) if options else pytest.warns(SimulationWarning, match=told):
        simulate(
            mechanism, [0.64, 0.8, 0], [4.8, 3, 0], 1.0, control=lambda t, q, v: np.array([200.0, 0, 5]), **options
        )

"""The default kernel: no algorithm that can be asked for by name has fewer operations, and results do not change."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.economy import FORMS
from dalembert.algorithms.economy.cheapest import CANDIDATES
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.selection import (
    CLOSE_OPERATIONS,
    CONTEST_VELOCITIES,
    MANY_VELOCITIES,
    Combination,
    Plan,
    contest,
    plans,
)
from dalembert.costs.tables import generic_arm
from dalembert.dynamics import QUANTITIES
from dalembert.errors import TracingError, UnsupportedError
from dalembert.model import Body, Inertia, Joint, Mechanism
from dalembert.tracing import trace
from dalembert.tracing.cost import cost, operation_count
from dalembert.tracing.graph import Graph
from random_mechanisms import random_mechanism

FAMILIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
PACKAGED = (
    "cart_pole", "demo_arm", "double_pendulum", "four_bar", "free_body", "puma560", "rp_arm", "rpr", "rrr", "stacker",
)  # fmt: skip
SLOW = {"uicker-kahn": 2, "orthogonal-complement": 4, "waters": 4, "kane-silver": 4, "hollerbach-4x4": 4}
"""Velocities beyond which these take seconds to trace; they are several times as long as others there."""


def packaged() -> list[tuple[str, Mechanism]]:
    found = [(name, da.load(name)) for name in PACKAGED]
    numeric = [(f"{name}, numeric", da.load(name, parameters="default")) for name, m in found if m.symbols]
    return [*found, *numeric]


def small_trees() -> list[tuple[str, Mechanism]]:
    """All kinds of joints; some on a free base."""
    fixed = [(f"tree {k}", random_mechanism(k, 1 + k % 3, branching=0.4)) for k in range(20, 30)]
    oblique = Joint("slide", "prismatic", "world", "cart", axis=np.array([0.6, 0.64, 0.48]))
    body = Inertia(2, [0.1, 0.2, 0.3], np.array([[0.3, 0.02, 0.03], [0.02, 0.4, 0.01], [0.03, 0.01, 0.5]]))
    cart = Mechanism("cart", [Body("cart", body)], [oblique])
    turned = Transform.from_rpy_xyz((np.pi / 2, 0, 0), (0, 0.5, 0))
    hinge, flight = Joint("hinge", "revolute", "world", "table"), Joint("flight", "free", "table", "top", turned)
    top = Mechanism("top", [Body("table", body), Body("top", body)], [hinge, flight])
    flat = Inertia(2, [0.1, 0, 0.3], np.diag([0.3, 0.4, 0.5]))
    rails = [Joint("x", "prismatic", "world", "x", axis=[1, 0, 0]), Joint("y", "prismatic", "x", "y", axis=[0, 1, 0])]
    plotter = Mechanism("plotter", [Body(name, flat) for name in "xyz"], [*rails, Joint("z", "revolute", "y", "z")])
    return [
        *fixed,
        ("oblique slide", cart),
        ("head that turns upon two rails", plotter),
        ("free body seen from a turntable, of which passes save most", top),
        ("tree of which passes save much", random_mechanism(74, 3, branching=0.6)),
        *((f"free tree {k}", random_mechanism(k, k, floating=True)) for k in (1, 2)),
    ]


def named_counts(dyn: da.Dynamics, quantity: str) -> dict[str, int]:
    counts = {}
    for name in QUANTITIES[quantity].algorithms:
        if dyn.mechanism.nv <= SLOW.get(name, CONTEST_VELOCITIES):
            try:
                counts[name] = dyn.cost(quantity, algorithm=name).operations
            except UnsupportedError:
                continue
    return counts


def test_every_packaged_robot_is_here():
    folder = Path(da.__file__).parent / "formats" / "robots"
    assert set(PACKAGED) == {path.stem for path in folder.iterdir() if path.suffix in (".toml", ".urdf", ".xml")}


ROBOTS = dict([*packaged(), *small_trees()])


@pytest.mark.parametrize("name", ROBOTS)
def test_no_algorithm_by_name_has_fewer_operations(name):
    dyn = da.Dynamics(ROBOTS[name], constraints=(), elements=())
    for quantity in FAMILIES:
        counts = named_counts(dyn, quantity)
        assert dyn.cost(quantity).operations <= min(counts.values()), (quantity, counts)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_other_half_of_the_inertia_matrix_costs_nothing(name):
    dyn = da.Dynamics(ROBOTS[name], constraints=(), elements=())
    halves = ("mass_matrix", "mass_matrix_packed", "mass_matrix_nonzeros")
    assert len({dyn.cost(quantity).operations for quantity in halves}) == 1


def test_momentum_takes_no_detour_over_regrouped_masses():
    """p = ((m1 l1^2 + I1 + I2 + m2 d^2) v1, m2 v2): six multiplications and three additions if nothing is moved."""
    assert da.Dynamics(da.load("rp_arm")).cost("generalised_momentum").operations == 9


def test_the_inverse_takes_the_shortest_inertia_matrix():
    """Beyond the inertia matrix it costs the same whichever algorithm gives that."""
    mechanism = ROBOTS["tree of which passes save much"]
    said = da.Dynamics(mechanism).algorithms()
    assert said["mass_matrix_inverse"].split(":")[0] == said["mass_matrix"].split(":")[0] == "generalized-links"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["demo_arm", "stacker, numeric", "tree 23", "tree 28", "free tree 2"])
def test_operations_of_bias_and_inertia_matrix_add_up_in_forward_dynamics(name, form):
    """So that two algorithms need not be written together if each has been written beside another one."""
    mechanism = ROBOTS[name]
    tree = FORMS[form].make(mechanism.tree)
    counts = {}
    for plan in plans(QUANTITIES["forward_dynamics"].rivals, mechanism.nv):
        if plan.form == form and plan.parts:
            forces, inertia = INVERSE_DYNAMICS[plan.parts[0]], INERTIA_MATRIX[plan.parts[1]]
            solve = partial(factor_and_solve, tree, forces=forces, inertia=inertia)
            inputs = {"q": (mechanism.nq,), "v": (mechanism.nv,), "tau": (mechanism.nv,)}
            program = trace(lambda q, v, tau, solve=solve: solve(q, v, tau), inputs)
            assert operation_count(program) == cost(program).operations
            counts[plan.parts] = operation_count(program)
    assert len(counts) == 6
    for (forces, inertia), operations in counts.items():
        for other_forces, other in counts:
            assert operations + counts[other_forces, other] == counts[forces, other] + counts[other_forces, inertia]


def test_what_is_said_is_what_is_used():
    """The algorithm that is named, on the form that is named, has the operations that are named."""
    dyn = da.Dynamics(da.load("rp_arm"))
    said = dyn.algorithms()
    for quantity in FAMILIES:
        assert f": {dyn.cost(quantity).operations} operations" in said[quantity]
        assert "as it is described" in said[quantity] or "regrouped masses" in said[quantity]
    assert dyn.cost("inverse_dynamics").operations == 24  # 33 with augmented links
    assert "before passes" in da.Dynamics(generic_arm(MANY_VELOCITIES + 1)).algorithms()["inverse_dynamics"]


def test_results_do_not_depend_on_who_wins():
    """On mechanisms with every kind of joint; 1e-11 relative, since sums are ordered differently."""
    for seed in (20, 23, 25, 28):
        mechanism = random_mechanism(seed, 3, floating=seed % 2 == 1)
        q, v, a = mechanism.random_state(np.random.default_rng(seed))
        dyn = da.Dynamics(mechanism)
        want = inverse_dynamics(mechanism, q, v, a)
        scale = np.abs(want).max() + 1
        np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a), want, rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(dyn.bias(q, v) + dyn.mass_matrix(q) @ a, want, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(dyn.forward_dynamics(q, v, want), a, rtol=0, atol=1e-8 * (np.abs(a).max() + 1))


class Written:
    """A stand-in for a program."""

    def __init__(self, plan: Plan, operations: int):
        self.nodes, self.operations = plan, operations


def run(counts: dict[Plan, int], savings: dict[Plan, int] | None = None):
    """The outcome of a contest with given operations, and which plans were written."""
    written: list[Plan] = []

    def write(plan, form):
        written.append(plan)
        if plan not in counts:
            raise UnsupportedError("not for this mechanism")
        return Written(plan, counts[plan])

    def improve(program):
        return Written(program.nodes, program.operations - (savings or {}).get(program.nodes, 0))

    return contest(plans({"one": 9, "two": 9, "three": 2}, 5), write, improve, lambda p: p.operations), written


def test_the_winner_is_found_after_passes():
    one, two = Plan("one", "economical"), Plan("two", "economical")
    outcome, _ = run({one: 100, two: 104}, {two: 5})
    assert outcome.plan == two and outcome.operations == 99 and outcome.others == {"one": "100"}
    far = 100 + CLOSE_OPERATIONS + 1
    outcome, _ = run({one: 100, two: far}, {two: 70})
    assert outcome.plan == one and outcome.others == {"two": f"{far} before passes"}


def test_the_hopeless_are_not_tried_again():
    first = {Plan("one", "economical"): 100, Plan("two", "economical"): 300}
    _, written = run({**first, Plan("one", "regrouped"): 101, Plan("one", "described"): 250})
    assert [p for p in written if p.algorithm == "two"] == [Plan("two", "economical")]
    _, written = run({Plan("one", form): 100 for form in ("economical", "regrouped", "described")})
    assert Plan("two", "described") in written and not any(p.algorithm == "three" for p in written)


def test_what_is_known_beforehand_is_not_written():
    """Of two algorithms that use two others each, the last combination is the sum; written only if that comes close."""
    names = [Combination("solve", forces, inertia) for forces in ("one", "two") for inertia in ("three", "four")]
    for more, last in ((CLOSE_OPERATIONS - 5, True), (CLOSE_OPERATIONS, False)):
        operations = dict(zip(names, (100, 103, 100 + more, 103 + more)))
        written = []

        def write(plan, form, written=written, operations=operations):
            written.append(plan)
            return Written(plan, operations[plan.algorithm])

        outcome = contest([Plan(n, "economical") for n in names], write, lambda p: p, lambda p: p.operations)
        assert outcome.operations == 100 and (len(written) == 4) == last


def test_fewer_candidates_are_written_for_many_velocities():
    rivals = {"one": MANY_VELOCITIES, "two": CONTEST_VELOCITIES}
    assert plans(rivals, CONTEST_VELOCITIES + 1) == [Plan("one", "economical")]
    assert plans(rivals, MANY_VELOCITIES + 1) == []


def balls(branches: int, levels: int, length: object, trunk: bool = False) -> Mechanism:
    """Branches of ball joints, on the ground or on a turning trunk; more than 16 velocities."""
    body = Inertia(1, [0.1, 0.2, 0.3], np.array([[0.3, 0.02, 0.03], [0.02, 0.4, 0.01], [0.03, 0.01, 0.5]]))
    bodies, joints = [], []
    if trunk:
        bodies, joints = [Body("trunk", body)], [Joint("turn", "revolute", "world", "trunk")]
    for b in range(branches):
        for level in range(levels):
            name, inner = f"ball {b} {level}", f"ball {b} {level - 1}" if level else "trunk" if trunk else "world"
            at = [0.1 * b, 0, 0] if inner == "world" else [0.1 * b, 0, length]
            bodies.append(Body(name, body))
            joints.append(Joint(f"joint of {name}", "spherical", inner, name, Transform(np.eye(3), at)))
    return Mechanism("balls", bodies, joints)


LENGTH = sympy.Symbol("L", positive=True)


@pytest.mark.parametrize(
    "branching",
    [(3, 2, LENGTH), (2, 3, LENGTH), (3, 2, LENGTH, True), (6, 1, LENGTH, True), (6, 1, 0.5, True)],
    ids=str,
)
def test_many_velocities_and_symbols_lose_little_against_algorithms_by_name(branching):
    """Programs in other frames are not written there: a few operations in a hundred, 1.3 at most on these."""
    dyn = da.Dynamics(balls(*branching))
    assert dyn.mechanism.nv > CONTEST_VELOCITIES
    for quantity, names in (("forward_dynamics", FORWARD_DYNAMICS), ("inverse_dynamics", CANDIDATES)):
        shortest = min(dyn.cost(quantity, algorithm=name).operations for name in names)
        assert dyn.cost(quantity).operations <= 1.03 * shortest, quantity


def test_a_slip_in_an_algorithm_is_no_candidate_that_does_not_suit():
    x = Graph().input("x")
    with pytest.raises(TracingError, match="not known while tracing"):
        contest([Plan("one", "economical")], lambda plan, form: x == 0, improve=list, count=len)


def test_if_no_candidate_suits_the_reason_is_told():
    with pytest.raises(UnsupportedError, match="not for this mechanism"):
        run({})
    mass = sympy.gamma(sympy.Symbol("x", real=True))
    bob = Body("bob", Inertia(mass, [0, 0, 0.1], np.eye(3)))
    pendulum = Mechanism("pendulum", [bob], [Joint("hinge", "revolute", "world", "bob")])
    for name in FAMILIES:
        with pytest.raises(UnsupportedError, match="gamma"):
            da.Dynamics(pendulum).cost(name)

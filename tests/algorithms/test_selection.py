"""Selection: names that exist, reasons that say something, and for forward dynamics the cheaper algorithm."""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from dalembert.algorithms.base_parameters import base_parameters
from dalembert.algorithms.choose import choose
from dalembert.algorithms.economy import economical, regroup
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.selection import select_algorithm, select_forward_dynamics
from dalembert.costs.tables import count_algorithm, generic_arm
from dalembert.errors import ArgumentError
from random_mechanisms import random_mechanism


def test_every_choice_exists_and_has_a_reason():
    for mechanism in (da.load("puma560"), random_mechanism(1, 5), da.load("free_body")):
        chosen = select_algorithm(mechanism)
        assert chosen["inverse_dynamics"].algorithm in INVERSE_DYNAMICS
        assert chosen["mass_matrix"].algorithm in INERTIA_MATRIX
        assert chosen["forward_dynamics"].algorithm in FORWARD_DYNAMICS
        assert all(len(choice.reason) > 20 and str(choice).startswith(name) for name, choice in chosen.items())
        assert set(da.Dynamics(mechanism).algorithms()) == set(chosen)


def test_reasons_depend_on_the_mechanism():
    symbolic = da.from_dh([{"a": sympy.Symbol("a"), "mass": 1.0, "inertia": [1.0, 1.0, 1.0]}] * 2)
    assert "symbolic geometry" in select_algorithm(symbolic)["inverse_dynamics"].reason
    assert "economical frames" in select_algorithm(generic_arm(2))["inverse_dynamics"].reason
    mimic = random_mechanism(5, 5, kinds=["revolute"], mimic=1.0)
    assert "mimic" in select_algorithm(mimic)["forward_dynamics"].reason
    spherical = random_mechanism(5, 3, kinds=["spherical"])
    assert "spherical" in select_algorithm(spherical)["coriolis_matrix"].reason


def test_paths_are_those_of_the_tree_though_a_mimic_joint_couples_its_branches():
    def told(mechanism):
        return select_algorithm(mechanism)["mass_matrix"].reason.partition(";")[0]

    sliding = """
    [[body]]
    name = "{0}"
    mass = 1.0
    [[joint]]
    name = "slide of {0}"
    kind = "prismatic"
    parent = "world"
    child = "{0}"
    """
    hand = "".join(map(sliding.format, ("thumb", "left", "right")))
    free, coupled = da.read_toml(hand), da.read_toml(hand + 'mimic = { joint = "slide of left" }')
    assert (free.nv, coupled.nv) == (3, 2)
    assert told(free) == told(coupled) == "0 pairs of joints on paths of at most 1"


def test_symbolic_geometry_is_counted_with_regrouped_masses():
    a, b = sympy.symbols("a b", positive=True)
    rows = [{"a": a, "alpha": b, "mass": 1.0, "center": [0.1, 0.2, 0.3], "inertia": [1.0, 2.0, 3.0]}] * 3
    arm = da.from_dh(rows)
    choice = select_algorithm(arm)["forward_dynamics"]
    assert (choice.algorithm, choice.reason) == select_forward_dynamics(regroup(arm.tree))


CHAINS = {f"arm of {n}": lambda n=n: generic_arm(n) for n in (1, 2, 6, 12, 14, 18)}
TREES = {
    "floating with legs": lambda: random_mechanism(3, 9, kinds=["revolute"], floating=True, branching=0.5),
    "balls": lambda: random_mechanism(3, 5, kinds=["spherical"], branching=0.2),
}


@pytest.mark.parametrize("name", [*CHAINS, *TREES])
def test_the_chosen_forward_dynamics_is_the_cheaper_one(name):
    """Within a tenth, where the two are close."""
    tree = economical({**CHAINS, **TREES}[name]().tree)
    counts = {algorithm: sum(count_algorithm(f, tree, "qva")) for algorithm, f in FORWARD_DYNAMICS.items()}
    chosen, _ = select_forward_dynamics(tree)
    assert counts[chosen] <= 1.1 * min(counts.values())


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ArgumentError, match="'rnea'; choose one of one, two"):
        choose("rnea", {"one": 1, "two": 2})


KERNELS = {
    "sliding and turning": lambda: random_mechanism(308, 6, kinds=["revolute", "prismatic"], branching=0.3),
    "sliding on a free base": lambda: random_mechanism(307, 5, kinds=["prismatic"], floating=True, branching=0.3),
    "screws and planes": lambda: random_mechanism(310, 3, kinds=["planar", "helical"], branching=0.3),
    "a screw on a free base": lambda: random_mechanism(305, 3, floating=True, branching=0.3),
    "turning": lambda: random_mechanism(312, 5, kinds=["revolute"], branching=0.3),
}


@pytest.mark.parametrize("name", KERNELS)
def test_no_algorithm_by_name_is_cheaper_than_the_kernel(name):
    dyn = da.Dynamics(KERNELS[name]())
    for quantity, algorithms in (
        ("inverse_dynamics", ("newton-euler", "tensor", "augmented-links")),
        ("mass_matrix", ("generalized-links", "two-sided")),
        ("forward_dynamics", FORWARD_DYNAMICS),
    ):
        named = [dyn.cost(quantity, algorithm=algorithm).operations for algorithm in algorithms]
        assert dyn.cost(quantity).operations <= min(named), quantity


def test_sliding_joints_prefer_the_tensor_form():
    dyn = da.Dynamics(KERNELS["sliding and turning"]())
    assert dyn.algorithms()["inverse_dynamics"].startswith("tensor")
    assert da.Dynamics(generic_arm(6)).algorithms()["inverse_dynamics"].startswith("augmented-links")


def test_what_is_no_mechanism_or_no_parameters_is_answered_in_a_sentence():
    with pytest.raises(ArgumentError, match="select_algorithm: expected a Mechanism"):
        select_algorithm("puma560")
    with pytest.raises(ArgumentError, match="all standard parameters are needed"):
        base_parameters(generic_arm(1)).values([1, 2])

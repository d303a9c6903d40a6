"""Numbers that count: as a traced program does but for shared and unused terms; and the choices made with them."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.economy import economical, reframe, regroup
from dalembert.algorithms.economy.cheapest import operations
from dalembert.algorithms.economy.frames import is_numeric
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_links
from dalembert.algorithms.inertia_matrix.two_sided import twists_reach, two_sided
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.sensitivity import axes_reach, sensitivity
from dalembert.algorithms.tally import OperationCounter, Tally, in_numbers, positions, vector
from dalembert.costs.tables import TWISTS, count_algorithm, generic_arm
from dalembert.formats.catalogue import example_robot_data
from dalembert.formats.urdf import read_urdf
from random_mechanisms import random_mechanism


def test_operations_that_a_program_would_not_contain_are_free():
    count = OperationCounter()
    x, zero, one = Tally(2.5, count), Tally(0, count), Tally(1, count)
    results = [x + 0, 0 + x, x - zero, zero + x, x * 1, -1 * x, x * one, zero * x, 0 * x, -x, x.sin(), x.cos()]
    assert count.operations == 0
    assert [r.value for r in results[:6]] == [2.5, 2.5, 2.5, 2.5, 2.5, -2.5]
    results = [x + x, x - 1, 3 - x, x * x, 2 * x, 1 / x, x / 4]
    assert count.operations == 7
    assert [r.value for r in results] == [5, 1.5, 0.5, 6.25, 5, 0.4, 0.625]


def test_products_cost_what_their_definitions_say():
    count = OperationCounter()
    u, w = vector(3, count), vector(3, count, 5)
    cross(u, w)
    assert count.operations == 9
    dot(u, w)
    assert count.operations == 14


@pytest.mark.parametrize("twist", TWISTS)
def test_counts_follow_those_of_traced_programs(twist):
    """Shared and unused terms make up a few per cent."""
    for way in (regroup, lambda t: regroup(reframe(t))):
        tree = way(generic_arm(6, twist).tree)
        exact = sum(count_algorithm(augmented_links, tree, "qva"))
        assert exact <= operations(tree)["augmented-links"] <= 1.15 * exact


def test_values_are_those_of_plain_numbers():
    mechanism = random_mechanism(4, 5)
    count, tree = OperationCounter(), mechanism.tree
    state = positions(tree, count), vector(tree.nv, count, 3), vector(tree.nv, count, 9)
    plain = (np.array([x.value for x in part]) for part in state)
    found = np.array([float(getattr(x, "value", x)) for x in augmented_links(tree, *state)])
    np.testing.assert_allclose(found, augmented_links(tree, *plain), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_economical_trees_cost_no_more_than_others():
    """Inverse dynamics, on robots whose files have good frames, nearly good ones, and bad ones."""
    robots = example_robot_data()
    for name in ("panda", "xarm7", "solo12", "kinova"):
        if name in robots:
            tree = read_urdf(robots[name]).tree
            counts = {way: sum(count_algorithm(augmented_links, way(tree), "qva")) for way in (economical, regroup)}
            assert counts[economical] <= counts[regroup] < sum(count_algorithm(augmented_links, tree, "qva"))


@pytest.mark.parametrize("n", [3, 5, 8])
@pytest.mark.parametrize("twist", TWISTS)
def test_meeting_half_way_costs_no_more_than_going_all_the_way(twist, n):
    tree = economical(generic_arm(n, twist).tree)
    assert sum(count_algorithm(two_sided, tree, "q")) <= sum(count_algorithm(generalized_links, tree, "q"))
    reached = twists_reach(tree)
    assert reached[0] and reached[1] == (n > 3) and not reached[-1]


@pytest.mark.parametrize("seed", range(8))
def test_where_axes_meet_wrenches_is_what_costs_least(seed):
    """One pass over the tree counts what running the algorithm with each of the choices would."""
    tree = economical(random_mechanism(seed, 6 + seed).tree)
    farthest = twists_reach(tree)
    depths = [len(chain) for chain in tree.ancestors]
    choices = [tuple(r and d <= limit for d, r in zip(depths, farthest)) for limit in range(1, max(depths) + 1)]

    def counted(reached):
        count = OperationCounter()
        v, a = vector(tree.nv, count, 100), vector(tree.nv, count, 200)
        sensitivity(in_numbers(tree), positions(tree, count), v, a, reached=reached)
        return count.operations

    counts = [counted(reached) for reached in choices]
    assert axes_reach(tree) == (choices[counts.index(min(counts))] if any(farthest) else farthest)


def test_symbols_among_masses_and_geometry():
    m, a = sympy.symbols("m a", positive=True)
    light = da.from_dh([{"a": 0.3, "mass": m, "center": [0.1, 0, 0], "inertia": [1, 1, 1]}] * 2)
    assert all(link.moments.first.dtype != object for link in in_numbers(light.tree).links)
    assert min(operations(economical(light.tree)).values()) > 0
    symbolic = da.from_dh([{"a": a, "mass": 1, "center": [0.1, 0, 0], "inertia": [1, 1, 1]}] * 3)
    assert is_numeric(in_numbers(symbolic.tree)) and twists_reach(symbolic.tree) == (True, False, False)
    assert len(economical(symbolic.tree).links) == 3


def test_the_same_symbol_is_the_same_number_and_different_ones_differ():
    """So that what cancels in a program cancels here, and nothing else does; zeros and ones of turns stay."""
    a, b, angle = sympy.symbols("a b angle", positive=True)
    arm = da.from_dh([{"a": a, "d": b, "alpha": angle, "mass": 1, "center": [a, 0, b], "inertia": [1, 1, 1]}] * 2)
    first, second = in_numbers(arm.tree).links
    np.testing.assert_array_equal(first.placement.translation, second.placement.translation)
    assert len({*first.placement.translation} - {0}) >= 2
    for link, written in zip((first, second), arm.tree.links):
        for number, entry in zip(link.placement.rotation.flat, written.placement.rotation.flat):
            assert number == entry if entry in (0, 1, -1) else number not in (0, 1, -1)

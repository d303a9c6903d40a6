"""Passes change no value - proved in rational arithmetic, where regrouping rounds nothing - and never cost
more."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import looped_programs
from dalembert.errors import ArgumentError
from dalembert.tracing.cost import Cost, cost, max_live, mean_excess, weight
from dalembert.tracing.derivatives import jacobian
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.passes import (
    absorb_signs,
    chunk,
    factor,
    optimise,
    rebuild,
    reduce_strength,
    schedule,
    share,
)
from dalembert.tracing.passes.regroup import to_nary, to_program
from dalembert.tracing.program import PREDICATES
from dalembert.tracing.trace import label, trace
from random_programs import exact, random_program

PASSES = {
    "rebuild": rebuild, "n-ary and back": lambda p: to_program(to_nary(p)), "factor": factor, "share": share,
    "reduce_strength": reduce_strength, "absorb_signs": absorb_signs, "schedule": schedule,
    "optimise 0": lambda p: optimise(p, 0), "optimise 1": lambda p: optimise(p, 1),
    "optimise 2": lambda p: optimise(p, 2), "keeping labels": lambda p: optimise(p, 2, keep_labels=True),
}  # fmt: skip
SEEDS = st.integers(0, 2**32)


def links(n):
    """A serial chain of rotations: shaped like the programs this compiler is for."""

    def function(q, v):
        velocity, force, forces = np.zeros(3, dtype=int), np.zeros(3, dtype=int), []
        rotations = []
        for k in range(n):
            c, s = np.cos(q[k]), np.sin(q[k])
            turn = np.array([[c, -s, 0], [s * 0.6, c * 0.6, -0.8], [s * 0.8, c * 0.8, 0.6]], dtype=object)
            velocity = turn.T @ velocity + np.array([0.1, 0.3, v[k]], dtype=object)
            rotations.append(turn)
            inertia = np.diag([1.5, 2.5, 0.7]) + 0.1
            forces.append(np.cross(velocity, inertia @ velocity) + velocity * (k + 1))
        torques = []
        for k in reversed(range(n)):
            force = forces[k] + (rotations[k + 1] @ force if k + 1 < n else 0)
            torques.append(force[2])
        return np.array(torques[::-1], dtype=object)

    return function


@pytest.fixture(scope="module")
def chain():
    return trace(links(7), {"q": (7,), "v": (7,)}, name="chain")


@pytest.fixture(scope="module")
def slopes():
    return trace(lambda q, v: jacobian(links(4)(q, v), q), {"q": (4,), "v": (4,)}, name="slopes")


def check_order(program):
    for k, node in enumerate(program.nodes):
        assert node.op in ("input", "const") or all(a < k for a in node.args)


@pytest.mark.parametrize("name", PASSES)
@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_values_are_exactly_preserved(name, seed):
    program = random_program(seed)
    new = PASSES[name](program)
    check_order(new)
    assert (new.inputs, new.outputs, new.name) == (program.inputs, program.outputs, program.name)
    for point in range(3):
        assert exact(program, point) == exact(new, point)


@pytest.mark.parametrize("name", PASSES)
@given(st.integers(2, 5), st.lists(st.sampled_from([1, -1, 2, -0.5]), min_size=5, max_size=5))
@settings(max_examples=10, deadline=None)
def test_values_that_vanish_only_once_factors_are_taken_out_may_be_used_often(name, uses, scales):
    def function(a, c, s, p):
        known = p * c
        zero = c * (p * s) - s * known  # c p is found in the first product only when s has been taken out of both
        return np.array([known, sum(k * zero * x for k, x in zip(scales, a[:uses])) + a[0] * a[1]], dtype=object)

    program = trace(function, {"a": (5,), "c": (), "s": (), "p": ()}, name="zero")
    assert exact(program) == exact(PASSES[name](program))


@pytest.mark.parametrize("name", PASSES)
def test_floating_point_results_agree(name, chain, slopes):
    rng = np.random.default_rng(0)
    for program in (chain, slopes):
        point = {port.name: rng.normal(size=(20, *port.shape)) for port in program.inputs}
        before = evaluate(program, point)["result"]
        after = evaluate(PASSES[name](program), point)["result"]
        if name in ("rebuild", "absorb_signs", "schedule", "optimise 0"):
            np.testing.assert_array_equal(before, after)  # the same operations: the same bits
        else:
            # A few hundred roundings that cancel at most slightly: the entries of one state have similar size.
            np.testing.assert_allclose(before, after, rtol=1e-13, atol=1e-13 * np.abs(before).max())


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_optimised_programs_never_cost_more(seed):
    program = random_program(seed)
    for level in (0, 1, 2):
        new = optimise(program, level)
        assert weight(new) <= weight(program)
        assert weight(new, fused=False) <= weight(program, fused=False)
        assert new.digest == optimise(program, level).digest


def test_optimising_pays(chain, slopes):
    for program in (chain, slopes):
        before, after = cost(program), cost(optimise(program, 2))
        assert after.operations <= before.operations
        assert after.operations - after.fused < 0.95 * (before.operations - before.fused)
        assert after.live < before.live


def counted(function, inputs, *passes):
    program = trace(function, inputs)
    for rewrite in passes:
        program = rewrite(program)
    c = cost(program)
    return c.multiplications, c.additions, c.divisions


def test_common_factors_are_taken_out():
    inputs = {"x": (6,)}
    assert counted(lambda x: x[0] * x[1] + x[0] * x[2], inputs, factor) == (1, 1, 0)
    assert counted(lambda x: sum(x[0] * x[k] for k in range(1, 6)), inputs, factor) == (1, 4, 0)
    assert counted(lambda x: x[0] * x[1] - x[2] * x[0] + x[3] * x[4], inputs, factor) == (2, 2, 0)
    assert counted(lambda x: x[0] * x[1] * x[2] + x[0] * x[3] * x[2], inputs, factor) == (2, 1, 0)
    assert counted(lambda x: 0.3 * x[0] - 0.3 * x[1] + 0.3 * x[2], inputs, factor) == (1, 2, 0)
    assert counted(lambda x: 0.3 * x[0] + 0.3 * (x[1] * x[2]) + x[3], inputs, factor) == (2, 2, 0)
    # Nothing is gained where the product is needed anyway.

    def both(x):
        return [x[0] * x[1] + x[0] * x[2], x[0] * x[1], x[0] * x[2]]

    assert counted(both, inputs, factor) == (2, 1, 0)


def test_equal_terms_and_constants_are_collected():
    inputs = {"x": (3,)}
    assert counted(lambda x: (x[0] + x[1]) + (x[0] - x[1]), inputs, factor) == (0, 1, 0)  # doubling is an addition
    assert counted(lambda x: (x[0] + 1) + (x[1] + 2) - 3, inputs, factor) == (0, 1, 0)
    assert counted(lambda x: (x[0] * 3) * (x[1] * 4) + x[0] * x[1], inputs, factor) == (2, 0, 0)


def test_common_parts_are_shared():
    inputs = {"x": (6,)}

    def sums(x):
        return [x[0] + x[1] + x[2], x[3] + x[1] + x[0], x[4] - x[0] - x[1]]

    assert counted(sums, inputs) == (0, 6, 0)
    assert counted(sums, inputs, share) == (0, 4, 0)

    def products(x):
        return [x[0] * x[1] * x[2], x[3] * (x[2] * x[0]), x[5] * x[0] * x[4] * x[2]]

    assert counted(products, inputs, share) == (5, 0, 0)

    def powers(x):
        return [x[0] * x[0] * x[0] * x[0] * x[1], x[2] * x[0] * x[0]]

    assert counted(powers, inputs, share) == (4, 0, 0)


def test_divisions_are_saved():
    inputs = {"x": (4,)}
    assert counted(lambda x: [x[0] / x[3], x[1] / x[3], x[2] / x[3]], inputs, reduce_strength) == (3, 0, 1)
    assert counted(lambda x: x[0] / x[1] / x[2], inputs, reduce_strength) == (1, 0, 1)
    assert counted(lambda x: x[0] / (x[1] / x[2]), inputs, reduce_strength) == (1, 0, 1)
    assert counted(lambda x: x[0] * (1 / x[1]), inputs, reduce_strength) == (0, 0, 1)
    assert counted(lambda x: x[0] / x[1] + x[2] / x[1], inputs, optimise) == (1, 1, 1)


def test_signs_are_absorbed():
    program = trace(lambda x: [-(x[0] - x[1]), -(2 * x[0]), -(x[1] + 3), -1 / x[0]], {"x": (2,)})
    assert sum(node.op == "neg" for node in program.nodes) == 4
    assert not any(node.op == "neg" for node in absorb_signs(program).nodes)


def test_sums_are_arranged_for_fused_multiply_adds():
    program = trace(lambda x: (x[0] * x[1] + x[2] * x[3]) + (x[4] * x[5] + x[1]), {"x": (6,)})
    assert cost(program).fused == 2
    assert cost(factor(program)).fused == 3


def test_scheduling_keeps_few_values_live():
    # All products first, then all sums: the worst order. One product at a time is enough.
    def function(x):
        products = [a * b for a, b in zip(x, np.roll(x, 1))]
        return sum(products)

    program = trace(function, {"x": (50,)})
    assert max_live(program.nodes) == 50
    assert max_live(schedule(program).nodes) <= 2


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_scheduling_is_never_worse_than_the_order_it_got(seed):
    program = random_program(seed)
    # The product of a fused multiply-add is put next to its sum, where for one moment it is live itself.
    assert max_live(schedule(program).nodes) <= max_live(program.nodes) + 1


@given(SEEDS, st.integers(1, 40), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_pieces_can_be_executed_through_their_workspace(seed, size, near):
    program = random_program(seed)
    chunks = chunk(program, size, near)
    assert chunks.pieces[0].start == 0 and chunks.pieces[-1].stop == len(program.nodes)
    workspace = [None] * chunks.slots
    computed = set()
    for piece, following in zip(chunks.pieces, [*chunks.pieces[1:], None]):
        assert following is None or piece.stop == following.start
        have = {node for node in piece.loads if workspace[piece.loads[node]] == node}
        assert have == set(piece.loads)  # nobody has overwritten a slot that is still needed
        for k in range(piece.start, piece.stop):
            op, args, _ = program.nodes[k]
            if op not in ("input", "const"):
                for a in args:
                    known = a in have or program.nodes[a].op in ("input", "const")
                    assert known or piece.start <= a < k
            computed.add(k)
        for node, slot in piece.stores.items():
            assert program.nodes[node].op not in PREDICATES
            workspace[slot] = node
    assert len(computed) == len(program.nodes)


def test_mean_excess_is_what_the_largest_one_bounds(slopes):
    most, length = max_live(slopes.nodes), len(slopes.nodes)
    found = [mean_excess(slopes.nodes, room) for room in range(most + 1)]
    assert found[most] == 0
    assert 0 < found[most - 1] * length <= length
    assert all(0 <= few - more <= 1 for few, more in pairwise(found))  # room for one more saves one at most


def test_fast_memory_is_used_as_far_as_it_goes(slopes):
    program = schedule(slopes)
    plain = chunk(program, 100)
    needed = plain.slots

    def near_accesses(near):
        pieces = chunk(program, 100, near).pieces
        return sum(slot < near for piece in pieces for slot in (*piece.loads.values(), *piece.stores.values()))

    every = sum(len(piece.loads) + len(piece.stores) for piece in plain.pieces)
    found = [near_accesses(near) for near in (0, needed // 4, needed // 2, needed)]
    assert found[0] == 0 and found[-1] == every
    assert found == sorted(set(found))
    assert found[1] > every * 0.25  # those used best are there: a quarter of the room takes more than its share


def test_loops_are_pieces_of_their_own_beside_fast_memory():
    program = optimise(looped_programs.wanderer())
    pieces = chunk(program, 5, 3).pieces
    loops = [k for k, node in enumerate(program.nodes) if node.op == "loop"]
    assert loops and {piece.start for piece in pieces} >= set(loops)
    for piece in pieces:
        inside = [program.nodes[k].op in ("loop", "element") for k in range(piece.start, piece.stop)]
        assert all(inside) if inside[0] else not any(inside)


def test_pieces_have_the_size_asked_for(slopes):
    chunks = chunk(schedule(slopes), 100)
    assert all(piece.stop - piece.start <= 100 for piece in chunks.pieces)
    assert chunks.slots <= cost(schedule(slopes)).live
    with pytest.raises(ArgumentError, match="size"):
        chunk(slopes, 0)


def test_labels_can_be_kept():
    def function(x):
        inner = label(x[0] * x[1], "inner")
        return inner + x[0] * x[2]

    program = trace(function, {"x": (3,)})
    assert "inner" in optimise(program, 2, keep_labels=True).labels.values()
    assert cost(optimise(program, 2)).multiplications == 1


def test_level_is_checked(chain):
    with pytest.raises(ArgumentError, match="level"):
        optimise(chain, 3)


def test_cost_counts_everything():
    def function(x):
        s, c = np.sin(x[0]), np.cos(x[0])
        return [s * c + x[1] / x[2] - np.sin(x[1]), (x[0] < x[1]).select(x[0].minimum(2), -np.exp(x[2])), x[2].sqrt()]

    c = cost(trace(function, {"x": (3,)}))
    expected = Cost(
        multiplications=1, additions=2, divisions=1, square_roots=1, sines=2, cosines=1, sincos_pairs=1,
        other_functions=1, comparisons=3, fused=1, live=c.live,
    )  # fmt: skip
    assert c == expected
    assert c.operations == 12
    assert (c + c).additions == 4 and (c + c).live == c.live
    assert str(c).startswith("1 multiplications, 2 additions (1 fused), 1 divisions, 1 square roots, 2 sines")

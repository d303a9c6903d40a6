"""A program divided among cooperating warps computes what it computed before, whatever the parts."""

from __future__ import annotations

import math
import shutil
import subprocess
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.cuda.split import output_groups, part_of, restricted
from dalembert.cuda.tuning import PIECE_NODES, WHOLE_NODES
from dalembert.cuda.warp_plan import plan_warps
from dalembert.cuda.warps import (
    PHASES,
    Division,
    Parts,
    divide_by_parts,
    divide_by_results,
    exchanged_values,
    gathered,
    slices,
)
from dalembert.tracing.cost import max_live
from dalembert.tracing.evaluate import interpret
from dalembert.tracing.program import Node, Port, Program
from dalembert.tracing.trace import trace
from random_mechanisms import random_mechanism, walker
from random_programs import EXACT, _number, exact, random_program


def drawn(program: Program) -> list[list[int]]:
    """The numbers with which ``exact`` computes, too."""
    draw = np.random.default_rng(0)
    return [[int(k) for k in draw.integers(0, 2**61 - 1, port.size)] for port in program.inputs]


def together(program: Program, division: Division, inputs: list[list[int]]) -> list[list[object]]:
    """What the workers deliver, phase after phase; within a phase nobody sees what others have exchanged."""
    results: list[list[object]] = [[None] * len(row) for row in program.results]
    exchanged: list[object] = [None] * division.slots
    kept: dict[int, dict[int, object]] = {w: {} for w in range(division.size)}
    for phase in range(PHASES):
        sent: dict[int, object] = {}
        for worker, phases in enumerate(division.phases):
            own = phases[phase]
            if own is None:
                continue
            values = interpret(own, [*inputs, list(exchanged), kept[worker]], EXACT, _number)
            for row, place in zip(own.results, (*results, sent, kept[worker])):
                for element, k in enumerate(row):
                    if k >= 0:
                        assert values[k] is not None
                        place[element] = values[k]
        for slot, value in sent.items():
            exchanged[slot] = value
    return results


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 4))
def test_divided_by_parts_a_program_computes_the_same(seed, count, most):
    program = random_program(seed, 80)
    rng = np.random.default_rng(seed)
    parts = Parts(
        tuple(tuple(rng.integers(0, count + 1, port.size).tolist()) for port in program.inputs),
        tuple(tuple(rng.integers(0, count + 1, port.size).tolist()) for port in program.outputs),
    )
    inputs = drawn(program)
    division = divide_by_parts(program, parts, most)
    assert division.size <= most
    assert division.slots == exchanged_values(program, parts, most)
    assert together(program, division, inputs) == exact(program)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_a_program_divided_by_results_computes_the_same(seed, most):
    """Also of some of the outputs only; each value is delivered by one worker, and nobody waits."""
    program = random_program(seed, 80)
    inputs = drawn(program)
    for part in (program, restricted(program, (1,))):
        division = divide_by_results(part, most)
        assert division.size <= most
        assert division.slots == 0
        right = exact(program)
        for row, own, known in zip(together(part, division, inputs), part.results, right):
            assert row == [x if k >= 0 else None for x, k in zip(known, own)]
        owners = {}
        for worker, (own, *rest) in enumerate(division.phases):
            assert rest == [None] * (PHASES - 1)
            for row, mine in zip(part.results, own.results):
                for k, here in zip(row, mine):
                    assert here < 0 or owners.setdefault(k, worker) == worker


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_slices_compute_every_value_once(seed, count):
    program = random_program(seed, 80)
    inputs = drawn(program)
    different = len({k for row in program.results for k in row})
    parts = [part_of(program, run) for run in slices(program, count)]
    assert len(parts) <= count
    owners: dict[int, int] = {}
    for number, part in enumerate(parts):
        values = interpret(part, inputs, EXACT, _number)
        for row, whole, known in zip(part.results, program.results, exact(program)):
            for k, same, right in zip(row, whole, known):
                if k >= 0:
                    assert values[k] == right
                    assert owners.setdefault(same, number) == number
    assert len(owners) == different


@given(st.integers(0, 10**6), st.lists(st.integers(1, 12), min_size=1, max_size=3))
def test_slices_follow_the_largest_index(seed, shape):
    """Relative to the lengths of the axes; an element before another in this order is in no later slice."""
    results = np.random.default_rng(seed).permutation(math.prod(shape))  # each has a value of its own
    nodes = tuple(Node("input", (0, k)) for k in range(results.size))
    port = Port("x", (results.size,))
    program = Program("p", (port,), (Port("y", tuple(shape)),), nodes, (tuple(results.tolist()),), {})
    rank = [max(Fraction(i, n) for i, n in zip(index, shape)) for index in np.ndindex(*shape)]
    runs = slices(program, 3)
    assert sorted(e for run in runs for _, e in run) == list(range(results.size))
    for before, after in pairwise(runs):
        assert max(rank[e] for _, e in before) < min(rank[e] for _, e in after)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_output_groups_compute_every_element_once(seed, live):
    program = random_program(seed, 80)
    inputs = drawn(program)
    found: list[list[object]] = [[None] * len(row) for row in program.results]
    for ports, parts in output_groups(program, live):
        for part in parts:
            values = interpret(part, inputs, EXACT, _number)
            for p, row in enumerate(part.results):
                for e, k in enumerate(row):
                    if k >= 0:
                        assert p in ports
                        assert found[p][e] is None
                        found[p][e] = values[k]
    assert found == exact(program)


def test_what_waits_is_weighed_against_what_is_done_twice():
    """Cartesian dynamics has four outputs that all need the inverse of the inertia: it is not computed four times."""
    program = da.Dynamics(da.load("demo_arm")).program("cartesian_dynamics", frame="flange")
    live = max_live(program.nodes)
    assert [len(parts) for _, parts in output_groups(program, live - 5)] == [1]


def test_a_division_leaves_out_what_is_not_wanted():
    program = random_program(3, 60)
    part = restricted(program, (1,))
    parts = Parts(((1, 2, 1, 2), (0, 1, 2, 0)), tuple((0,) * port.size for port in program.outputs))
    inputs = drawn(program)
    found = together(program, divide_by_parts(part, parts), inputs)
    assert found[1] == exact(program)[1]
    assert all(x is None for x in (*found[0], *found[2]))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_regrouped_sums_are_the_same_with_as_many_operations(seed, count):
    program = random_program(seed, 80)
    needs = [int(k) for k in np.random.default_rng(seed).integers(0, 2**count, len(program.nodes))]
    found = gathered(program, needs)
    assert exact(found) == exact(program)
    assert len(list(found.operations())) == len(list(program.operations()))


def test_a_sum_over_branches_hands_on_one_value_of_each():
    def work(q):
        return sum(q[k] * q[(k + 4) % 8] * q[k] for k in range(8))

    program = trace(work, {"q": (8,)})
    division = divide_by_parts(program, Parts(((1, 2, 1, 2, 1, 2, 1, 2),), ((0,),)), most=3)
    assert division.slots <= 2


@pytest.fixture(scope="module")
def dynamics():
    return da.Dynamics(walker(), device="cuda")


def test_legs_share_the_work(dynamics):
    """What each of four workers has to do is near a quarter, and hardly anything is exchanged."""
    for quantity, most in (("inverse_dynamics", 60), ("forward_dynamics", 220)):
        kernel = dynamics.kernel(quantity)
        division = divide_by_parts(kernel.program, dynamics.parts(kernel.inputs, kernel.outputs))
        assert division is not None
        assert division.size == 4
        assert division.slots < most
        assert division.longest < 0.45 * sum(1 for _ in kernel.program.operations())


@pytest.mark.parametrize("quantity", ["mass_matrix", "coriolis_matrix"])
def test_a_chain_has_no_branches_but_its_matrices_can_be_divided(quantity):
    """Each of four workers has less than half of it; what crosses from row to row would make each do nearly all."""
    dynamics = da.Dynamics(random_mechanism(0, 16, branching=0.0, kinds=("revolute",)))
    kernel = dynamics.kernel(quantity)
    assert dynamics.parts(kernel.inputs, kernel.outputs) is None
    division = divide_by_results(kernel.program)
    work = [sum(1 for _ in phases[0].operations()) for phases in division.phases]
    assert len(work) == 4
    assert max(work) < 0.5 * sum(1 for _ in kernel.program.operations())
    assert max(work) < 1.2 * min(work)


def test_idle_workers_meet_the_others_at_every_barrier(dynamics, monkeypatch):
    """A block hangs if one of its warps waits where another never comes."""

    def fewer(program, parts, **options):
        return divide_by_parts(program, parts, most=4 if program.results[0][0] >= 0 else 2, **options)

    monkeypatch.setattr("dalembert.cuda.warp_plan.divide_by_parts", fewer)
    source = dynamics.kernel("inverse_dynamics_derivatives").source().source
    for group in (0, 1):  # one for each matrix, the second with two workers less
        workers = [source.split(f"_worker{group}_{k}(")[1].split("\n}\n")[0] for k in range(4)]
        barriers = {text.count("__syncthreads()") for text in workers}
        assert len(barriers) == 1
        assert barriers != {0}


def matrices(q):
    """Two wide matrices of few operations, and two numbers that share all of their work."""
    size, total = 18, q[0]
    for k in range(30):
        total = total * q[k % 4]
    rows = [[q[i % 4] * (i + 1) + q[j % 4] * (size * j + k) for j in range(size)] for k in (1, 2) for i in range(size)]
    return np.array(rows[:size]), np.array(rows[size:]), np.array([total + q[1], total + q[2]])


def test_cooperating_warps_are_weighed_against_one_thread_that_computes_everything():
    """The work on two numbers cannot be shared; still no thread should write the matrices, each state's far apart."""
    program = trace(matrices, {"q": (4,)}, outputs=("first", "second", "numbers"))
    layout, _ = plan_warps(program, "double", None, None, 100_000)
    assert [group.ports for group in layout.groups] == [(0,), (1,), (2,)]


def test_what_has_no_room_is_not_put_in_order(monkeypatch):
    """Ordering takes nearly all of the time, and most arrangements of large matrices are refused for lack of room."""
    ordered = []
    for module in ("split", "warps"):
        monkeypatch.setattr(f"dalembert.cuda.{module}.schedule", ordered.append)
    dynamics = da.Dynamics(walker(12, 3))
    kernel = dynamics.kernel("mass_matrix")
    parts = dynamics.parts(kernel.inputs, kernel.outputs)
    assert plan_warps(kernel.program, "double", parts, None, 30_000) is None
    assert not ordered


def compiled(made, folder):
    (folder / "warps.cu").write_text(made.source)
    command = ["nvcc", "-cubin", "-arch=sm_90", "-Werror", "all-warnings", "-o", "warps.bin", "warps.cu"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("quantity", ["forward_dynamics", "mass_matrix"])
def test_kernels_of_cooperating_warps_compile(dynamics, quantity, dtype, tmp_path):
    made = dynamics.kernel(quantity).source(dtype)
    assert "_worker0_3(" in made.source
    compiled(made, tmp_path)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
def test_kernels_of_warps_divided_by_results_compile(tmp_path):
    chain = random_mechanism(0, 16, branching=0.0, kinds=("revolute",))
    made = da.Dynamics(chain, device="cuda").kernel("mass_matrix").source()
    assert "_worker0_3(" in made.source
    compiled(made, tmp_path)


def test_a_vast_program_is_printed_in_pieces_that_compilers_can_take():
    kernel = da.Dynamics(walker(6, 8), device="cuda").kernel("forward_dynamics_derivatives")
    assert len(kernel.program.nodes) > WHOLE_NODES
    functions = kernel.source().source.split("\nstatic __device__ __noinline__ ")[1:]
    assert len(functions) >= WHOLE_NODES / PIECE_NODES
    assert max(text.count("\n") for text in functions[:-1]) < 2 * PIECE_NODES  # statements, results, values handed on

"""Laws of loops in programs: what a loop ends with is what its steps, one after the other, end with."""

import numpy as np
import pytest

import looped_programs
from dalembert.algebra.loops import along, for_each, repeat
from dalembert.errors import ArgumentError
from dalembert.formulations.scope import without_unused_inputs
from dalembert.native.kernel import Kernel
from dalembert.native.recurrence import Recurrence
from dalembert.tracing import Port, cost, trace
from dalembert.tracing.cost import operation_count, weight
from dalembert.tracing.derivatives import differentiate, jacobians
from dalembert.tracing.evaluate import evaluate, inline
from dalembert.tracing.loops import UNROLLED_OPERATIONS, unrolled
from dalembert.tracing.passes import optimise, rebuild
from dalembert.tracing.trace import retrace
from looped_programs import ROWS, SIZE, SWEEPS, mixtures, problems, scannings, solve, sweep, wanderings


@pytest.fixture(scope="module")
def solver():
    return looped_programs.solver()


@pytest.fixture(scope="module")
def wanderer():
    return looped_programs.wanderer()


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def kernel(program, dtype=None):
    return Kernel(program.name, program.inputs, program.outputs, program, dtype=dtype)


def test_a_loop_is_traced_once_and_does_what_numbers_do(solver):
    assert len(solver.loops) == 1 and solver.loops[0].count == SWEEPS
    assert len(solver.nodes) < 3 * SIZE**2
    A, b = problems()
    assert np.allclose(evaluate(solver, (A, b))["result"], solve(A, b), rtol=1e-14, atol=1e-15)


def test_short_loops_are_written_out():
    program = trace(lambda x: repeat(lambda x: (x * x + 1,), (x,), 20), {"x": ()})
    assert not program.loops and program.executed <= UNROLLED_OPERATIONS
    assert trace(lambda x: repeat(lambda x: (np.sin(x) * x,), (x,), 500), {"x": ()}).loops


@pytest.fixture(scope="module")
def mixer():
    return looped_programs.mixer()


@pytest.fixture(scope="module")
def scanner():
    return looped_programs.scanner()


ARGUMENTS = {"solver": problems, "wanderer": wanderings, "mixer": mixtures, "scanner": scannings}


@pytest.mark.parametrize("which", ARGUMENTS)
def test_passes_keep_what_a_loop_computes(which, request):
    program = request.getfixturevalue(which)
    given = ARGUMENTS[which]((5,))
    want = evaluate(program if which == "scanner" else unrolled(program), given)  # formulas have no indices
    for changed in (program, rebuild(program), optimise(program), optimise(program, 2)):
        assert changed.loops
        found = evaluate(changed, given)
        for name, y in want.items():
            assert np.allclose(found[name], y, rtol=1e-12, atol=1e-12)
    assert rebuild(program).digest == program.digest
    assert optimise(rebuild(program)).digest == optimise(program).digest


def test_costs_count_every_step(solver, wanderer):
    (outer,) = wanderer.loops
    (inner,) = outer.step.loops
    assert cost(wanderer).sines == 15 * 40 * cost(inner.step).sines == 600
    assert cost(wanderer).cosines == 15 * 3
    for program in (solver, wanderer):
        long = unrolled(program)  # where some zeros fold away
        assert not long.loops
        assert 0.7 * operation_count(program) < operation_count(long) <= operation_count(program)
        assert 0.7 * weight(program) < weight(long) <= weight(program)
        assert cost(program).operations == operation_count(program) <= program.executed


def test_what_does_not_change_is_computed_once(wanderer):
    """Neither w^2 nor a division by 1 + w^2 is repeated, that by k is; what stays as it was is not carried."""
    (outer,) = wanderer.loops
    (inner,) = outer.step.loops
    assert inner.step.inputs[0].size == 5  # three positions, the counter, and what is zero in the first step only
    assert [node.op for node in (*outer.step.nodes, *inner.step.nodes)].count("div") == 1


def test_the_digest_sees_the_step_and_the_count():
    def program(count, factor):
        return trace(lambda x: repeat(lambda x: (np.sin(x) * factor,), (x,), count), {"x": ()}, "f")

    digests = {program(count, factor).digest for count in (300, 301) for factor in (0.5, 0.6)}
    assert len(digests) == 4
    assert program(300, 0.5).digest in digests


def test_programs_with_loops_compose(solver):
    A, b = problems()
    again = trace(lambda A, b: inline(solver, (A, b * 2))["result"], {"A": (SIZE, SIZE), "b": (SIZE,)})
    assert len(again.loops) == 1
    assert np.allclose(evaluate(again, (A, b))["result"], solve(A, 2 * b), rtol=1e-14, atol=1e-15)
    graph, _ = retrace(again)
    assert len(graph.loops) == 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("which", ["wanderer", "mixer", "scanner"])
def test_machine_code_repeats_steps(which, solver, dtype, request):
    program = request.getfixturevalue(which)
    given = ARGUMENTS[which]((37,), dtype)
    want = evaluate(program, given)
    scale = np.finfo(dtype).eps / np.finfo(np.float64).eps
    for name, found in zip(want, kernel(optimise(program), dtype)(*given)):
        assert found.dtype == dtype
        assert np.allclose(found, want[name], rtol=1e-11 * scale, atol=1e-11 * scale)
    given = tuple(x.astype(dtype) for x in problems((21,)))
    found = kernel(optimise(solver), dtype)(*given)
    assert np.allclose(found, evaluate(solver, given)["result"], rtol=1e-13 * scale, atol=1e-13 * scale)
    assert np.array_equal(found[4], kernel(optimise(solver), dtype)(*(x[4] for x in given)))  # alone as in a batch


def test_rows_are_traced_once_and_give_what_they_give_alone(mixer):
    outer, last = mixer.loops
    assert (outer.count, last.count, last.carried, last.widths, last.made) == (7, ROWS, 0, [3, ROWS], [1, 4])
    assert outer.step.loops[0].count == ROWS
    found = evaluate(mixer, mixtures(()))
    assert [y.shape for y in found.values()] == [(ROWS,), (ROWS, 4)]
    B = np.arange(12.0).reshape(4, 3)
    first, second = for_each(lambda b, k, w: (b * w, b[0] - k), (B, np.arange(4)), (2.0,))
    assert np.array_equal(first, 2 * B) and np.array_equal(second, B[:, 0] - np.arange(4))
    with pytest.raises(ArgumentError, match="rows"):
        for_each(lambda b, k: (b,), (B, np.arange(3)))


def test_inputs_that_a_loop_reads_row_by_row_are_used():
    def total(unused, x, scale):
        (y,), _ = along(lambda y, row: ((y * scale + row.sin() * row,), ()), (0.0,), (x,))
        return y

    program = trace(total, {"unused": (3,), "x": (150,), "scale": ()}, "total")
    assert program.loops and program.elements_read == {*((1, k) for k in range(150)), (2, 0)}
    small = without_unused_inputs(program)
    assert [port.name for port in small.inputs] == ["x", "scale"]
    x = np.random.default_rng(0).normal(size=150)
    assert evaluate(small, (x, 0.5))["result"] == evaluate(program, (np.zeros(3), x, 0.5))["result"] != 0


def test_nan_in_one_state_stays_there(solver):
    A, b = problems((20,))
    b[7, 2] = np.nan
    found = kernel(optimise(solver))(A, b)
    assert np.isnan(found[7]).any() and np.isfinite(np.delete(found, 7, axis=0)).all()


def test_a_recurrence_may_repeat_steps_within_its_steps():
    def step(x, A, u):
        return repeat(sweep, (x,), SWEEPS, (A, u + 0.1 * x))[0]

    ports = [Port("x", (SIZE,)), Port("A", (SIZE, SIZE)), Port("u", (SIZE,))]
    program = optimise(trace(step, {port.name: port.shape for port in ports}, "step", outputs=("x",)))
    assert program.loops
    recurrence = Recurrence("step", ports[:1], ports[1:2], ports[2:], program)
    A, u = problems((13, 4))
    A = np.ascontiguousarray(A[:, 0])
    x, final = np.zeros((13, SIZE)), np.empty((13, SIZE))
    recurrence.run([x], [A], [u], [final], [None], 4)
    for s in range(4):
        x = evaluate(program, (x, A, u[:, s]))["x"]
    assert np.allclose(final, x, rtol=1e-13, atol=1e-14)


# ---------------------------------------------------------------------------------------------------------- derivatives


def small_sweeps(A, b):
    """Few rows, so that all derivatives are quick; a bound that some rows reach, and a value that is no more needed."""

    def step(x, k, b, A):
        x = x.copy()
        for i in range(3):
            x[i] = ((b[i] - sum(A[i, j] * x[j] for j in range(3) if j != i)) / A[i, i]).minimum(0.3 + k)
        return x, 0.9 * k * b[0].sin()

    x, k = repeat(step, (b * 0.5, 0.1), 15, (b, A))
    (rows,) = for_each(lambda row, x: (row @ x * row[0],), (np.concatenate([A] * 15),), (x,))
    return np.array([*x, k, *rows[:4]], dtype=object) * b[1], rows[44]


SMALL = {"A": (3, 3), "b": (3,)}


@pytest.fixture(scope="module")
def swept():
    program = trace(small_sweeps, SMALL, "swept", outputs=("y", "z"))
    assert len(program.loops) == 2
    rng = np.random.default_rng(5)
    return program, [3 * np.eye(3) + rng.uniform(-1, 1, (3, 3)), rng.uniform(-1, 1, 3)]


def by_complex_step(program, given, output, input):
    columns = []
    for k in range(given[input].size):
        arguments = [x.astype(complex) for x in given]
        arguments[input].flat[k] += 1e-30j
        columns.append(np.imag(evaluate(program, arguments)[output]) / 1e-30)
    return np.moveaxis(np.array(columns), 0, -1).reshape(np.shape(columns[0]) + given[input].shape)


@pytest.mark.parametrize("mode", ["forward", "reverse", "auto"])
@pytest.mark.parametrize("output", ["y", "z"])
def test_first_derivatives_pass_through_loops(swept, mode, output):
    program, given = swept
    for place, input in enumerate(SMALL):
        slopes = differentiate(program, output, input, mode)
        assert slopes.loops
        (found,) = evaluate(slopes, given).values()
        want = by_complex_step(program, given, output, place)
        assert np.allclose(found, want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("first", ["forward", "reverse"])
@pytest.mark.parametrize("second", ["forward", "reverse"])
def test_second_derivatives_pass_through_loops(swept, first, second):
    program, given = swept
    slopes = differentiate(program, "z", "b", first, "slope")
    curvature = differentiate(slopes, "slope", "A", second)
    (found,) = evaluate(optimise(curvature), given).values()
    assert np.allclose(found, by_complex_step(slopes, given, "slope", 0), rtol=1e-12, atol=1e-13)


def test_derivatives_through_loops_in_loops_as_machine_code(mixer, wanderer):
    for program, given in ((mixer, mixtures(())), (wanderer, wanderings(()))):
        found = kernel(optimise(jacobians(program, ["x", "w"])))(*given)
        unlooped = evaluate(jacobians(unrolled(program), ["x", "w"]), given)
        for y, want in zip(found, unlooped.values()):
            assert np.allclose(y, want, rtol=1e-10, atol=1e-10)


def test_tangents_are_carried_only_where_they_reach(swept):
    """The last carried value does not depend on A, so it has no tangents by it."""
    slopes = differentiate(swept[0], "y", "A", "forward")
    assert max(loop.carried for loop in slopes.loops) == 4 + 3 * 9

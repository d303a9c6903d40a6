"""Laws of loops: a compiled scan does what the same Python loop does, for every number of steps, lane by lane."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.loops import along, read_at, scan, write_at
from dalembert.cuda.source import to_cuda
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.native.kernel import Kernel
from dalembert.printing.casadi import to_casadi
from dalembert.printing.latex import to_latex
from dalembert.tracing import trace
from dalembert.tracing.derivatives import differentiate
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.passes import optimise

H = 0.01


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def kernel(function, inputs, **options):
    program = optimise(trace(function, inputs, "scanned"))
    return Kernel(program.name, program.inputs, program.outputs, program, **options)


def pendulum(x, u, gain):
    """One step; what is emitted are the angle before and the torque."""
    torque = u[0] - gain * x[1] + 0.1 * u[1]
    v = x[1] + H * (torque - 9.81 * np.sin(x[0]))
    return (np.array([x[0] + H * v, v], dtype=getattr(x, "dtype", float)),), (np.array([x[0], torque]), torque * torque)


def swings(U, x, gain, **options):
    return scan(pendulum, (x,), (U,), (gain,), **options)


def in_python(U, x, gain, **options):
    (x,), (rows, squares) = swings(U, x, gain, **options)
    return x, rows, squares


ROWS = 150  # more numbers than the scratch of a kernel takes over as a whole
SHAPES = {"U": (ROWS, 2), "x": (2,), "gain": ()}


def arguments(batch=(), seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, ROWS, 2)), rng.normal(size=(*batch, 2)), rng.uniform(0, 1, batch)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"every": 7},
        {"hold": 3, "steps": 410},
        {"steps": 140, "every": 1, "most": 150},
        {"steps": 50, "every": 4},
        {"steps": 33, "most": 55},
    ],
)
def test_a_compiled_scan_is_the_python_loop(options):
    def traced(U, x, gain):
        (x,), emitted = swings(U, x, gain, **options)
        return x, *emitted

    compiled = kernel(traced, SHAPES)
    assert len(compiled.program.loops) == 1 and len(compiled.program.nodes) < 60
    given = arguments((11,))
    found = compiled(*given)
    for k in range(11):
        wanted = in_python(*(x[k] for x in given), **options)
        alone = compiled(*(x[k] for x in given))
        for y, one, right in zip(found, alone, wanted):
            assert np.array_equal(y[k], one)  # the same bits alone as in a batch
            assert np.allclose(one, right, rtol=1e-13, atol=1e-13)  # sums and products fused
    for y, right in zip(found, evaluate(compiled.program, given).values()):
        assert np.allclose(y, right, rtol=1e-13, atol=1e-13)


def test_the_number_of_steps_is_an_input_and_lanes_stop_by_themselves():
    def traced(U, x, gain, n):
        (x,), emitted = swings(U, x, gain, steps=n)
        return x, *emitted

    compiled = kernel(traced, SHAPES | {"n": ()})
    given = arguments((9,))
    counts = np.array([0, 1, 2, 150, 149, 7, -3, 1000, np.nan])
    found = compiled(*given, counts)
    assert all(np.isfinite(y).all() for y in found)
    for k, n in enumerate(np.clip(np.nan_to_num(counts), 0, ROWS).astype(int)):
        wanted = in_python(*(x[k] for x in given), steps=int(n), most=ROWS)
        for y, right in zip(found, wanted):
            assert np.allclose(y[k], right, rtol=1e-13, atol=1e-13)
    for y, right in zip(compiled(*given, 12), compiled(*given, np.full(9, 12))):
        assert np.array_equal(y, right)


def collatz(n, count):
    """Until one is reached; a number of steps nobody knows before."""
    half = 0.5 * n
    whole = read_at(np.array([0.0, 1.0]), 2 * (half - read_at(np.arange(2000.0), half)))
    odd = whole > 0.5
    new = odd.select(3 * n + 1, half) if hasattr(odd, "select") else (3 * n + 1 if odd else half)
    return (new, count + 1), (), new <= 1


def test_a_lane_that_stops_keeps_its_state():
    def steps(n):
        (n, count), () = scan(collatz, (n, 0.0), steps=1000)
        return n, count

    compiled = kernel(steps, {"n": ()})
    found = compiled(np.arange(2.0, 20.0))
    assert (found[0] == 1).all()
    assert found[1].tolist() == [steps(float(n))[1] for n in range(2, 20)]
    assert steps(6.0)[1] == 8


def test_scans_nest_and_arrays_are_read_where_they_lie():
    def inner(y, row, A):
        return (0.5 * y + read_at(A[:, 1], row[0]) * 0.1 + row[1].sin(),), ()

    def outer(x, rows, A):
        (x,), () = scan(inner, (x,), (rows,), (A,))
        return (x,), (x * x,)

    def traced(x, T, A):
        return scan(outer, (x,), (T,), (A,))[1][0]

    shapes = {"x": (), "T": (12, 70, 2), "A": (9, 3)}
    program = optimise(trace(traced, shapes, "nested"))
    (loop,) = program.loops
    assert len(loop.step.loops) == 1 and len(program.nodes) < 40
    rng = np.random.default_rng(1)
    x, A = rng.normal(size=5), rng.normal(size=(5, 9, 3))
    T = np.concatenate([rng.integers(-2, 12, (5, 12, 70, 1)).astype(float), rng.normal(size=(5, 12, 70, 1))], -1)
    found = kernel(traced, shapes)(x, T, A)
    for k in range(5):
        y, wanted = x[k], []
        for rows in T[k]:
            for index, angle in rows:
                y = 0.5 * y + A[k, min(max(int(index), 0), 8), 1] * 0.1 + np.sin(angle)
            wanted.append(y * y)
        assert np.allclose(found[k], wanted, rtol=1e-12, atol=1e-13)
    assert np.allclose(found, evaluate(program, (x, T, A))["result"], rtol=1e-12, atol=1e-13)


def test_arrays_are_carried_and_written_by_computed_index():
    def count(histogram, sample):
        return (write_at(histogram, sample, read_at(histogram, sample) + 1),), (read_at(histogram, 2 + 0 * sample),)

    def traced(samples):
        (histogram,), (before,) = scan(count, (np.zeros(6),), (samples,))
        return histogram, before

    samples = np.random.default_rng(2).integers(-1, 8, (13, 400)).astype(float)
    compiled = kernel(traced, {"samples": (400,)})
    assert compiled.program.loops[0].stores == 1
    found, before = compiled(samples)
    for row, own, rising in zip(samples, found, before):
        wanted = np.bincount(np.clip(row, 0, 5).astype(int), minlength=6)
        assert np.array_equal(own, wanted)
        assert np.array_equal(rising, np.concatenate([[0], np.cumsum(row == 2)[:-1]]))
    first = traced(samples[0])
    assert np.array_equal(first[0], found[0]) and np.array_equal(first[1], before[0])


def test_arrays_that_are_carried_keep_their_elements_once_a_lane_has_stopped():
    """Each step costs as much as what it writes, however long the array is."""

    def fill(array, k, x):
        array = write_at(array, k, x * k)
        return (write_at(array, k + 300, read_at(array, k)), k + 1, 1.5 * x), (), da.less(500, x)

    def traced(x, n):
        (array, k, x), () = scan(fill, (np.zeros(600), 0.0, x), steps=n, most=200)
        return array, k

    compiled = kernel(traced, {"x": (), "n": ()})
    assert compiled.program.loops[0].step.executed < 30
    x, n = np.array([1.0, 0.01, 3.0, 1e-9, 0.1]), np.array([40.0, 3, 0, 200, 100])
    found, counts = compiled(x, n)
    for k in range(5):
        (wanted, taken, _), () = scan(fill, (np.zeros(600), 0.0, x[k]), steps=int(n[k]), most=200)
        assert counts[k] == taken and np.allclose(found[k], wanted, rtol=1e-14)


def test_programs_do_not_grow_with_the_horizon():
    def traced(U, x, gain):
        (x,), emitted = swings(U, x, gain)
        (total,), (sums,) = along(lambda s, row: ((s + row[0] * row[1],), (s,)), (0.0,), (emitted[0][::-1],))
        return total, *emitted, sums

    programs = [optimise(trace(traced, SHAPES | {"U": (n, 2)})) for n in (200, 2000)]
    assert [len(program.loops) for program in programs] == [2, 2]
    assert len({len(program.nodes) for program in programs}) == 1


def by_complex_step(program, given, number):
    shift = [np.asarray(x).astype(complex) for x in given]
    wanted = np.empty(shift[number].shape)
    for place in np.ndindex(wanted.shape):
        moved = [x.copy() for x in shift]
        moved[number][place] += 1e-30j
        wanted[place] = evaluate(program, moved)["result"].imag / 1e-30
    return wanted


def cost(U, x, gain):
    (x,), (rows, squares) = swings(U[:40], x, gain)
    return x @ x + sum(squares) + rows[7, 0] * read_at(U[:, 1], 3 + rows[0, 0] * 0)


def held_and_seldom(U, x, gain):
    (x,), (rows, squares) = swings(U[::-1], x, gain, hold=3, every=4, steps=115)
    return x @ x + sum(squares * np.arange(28)) + rows[3, 1]


def stopping(U, x, gain):
    def step(x, u, gain):
        (y,), made = pendulum(x, u, gain)
        return (y,), made, y[0] > 2

    (x,), (rows, squares) = scan(step, (x,), (U,), (gain,), steps=100 * gain + 1, most=120, every=2)
    return x @ x + sum(squares) + rows[5, 0]


def histogram(U, x, gain):
    def step(table, s, u):
        slot = 3 + 2 * u[0]
        new = read_at(table, slot) * gain + u[1] * s
        return (write_at(table, slot, new), s + new * 0.1), (new,)

    (table, s), (news,) = scan(step, (np.array([0.1, 0.2, 0.3, x[0], x[1], 0.4]), 0.5), (U,))
    return table @ table + s + news @ news


def looked_up(U, x, gain):
    """The same array row by row and by computed index."""

    def step(x, u, U):
        return (x * (0.97 + 0.03 * gain) + 0.1 * read_at(U[:, 1], 70 + 30 * x[0]) * np.array([u[0], 1.0]),), ()

    (x,), () = scan(step, (x,), (U,), (U,))
    return x @ x


def nested(U, x, gain):
    def outer(x, rows, gain):
        (x,), (inner, squares) = scan(pendulum, (x,), (rows,), (gain,))
        return (x,), (inner, squares[0] * x[0])

    (x,), (rows, squares) = scan(outer, (x,), (U.reshape(3, 50, 2),), (gain,))
    return x @ x + sum(squares) + rows[2, 7, 1] + rows[1, 0, 0] * rows[0, 3, 1]


@pytest.mark.parametrize("function", [cost, held_and_seldom, stopping, histogram, looked_up, nested])
@pytest.mark.parametrize("checkpoints", [False, True])
def test_derivatives_pass_through_scans(function, checkpoints, monkeypatch):
    if checkpoints:
        monkeypatch.setattr("dalembert.tracing.derivatives.CHECKPOINT_NUMBERS", 50)
    program = trace(function, SHAPES, "cost")
    assert program.loops
    given = arguments()
    for number, name in enumerate(SHAPES):
        wanted = by_complex_step(program, given, number)
        assert np.abs(wanted).max() > 1e-6
        for mode in ("forward", "reverse"):
            if mode == "forward" and (name == "U" or checkpoints):
                continue  # three hundred directions
            slopes = differentiate(program, "result", name, mode)
            (found,) = evaluate(slopes, given).values()
            assert np.allclose(found, wanted, rtol=1e-11, atol=1e-12), (name, mode)
            found = Kernel("slopes", slopes.inputs, slopes.outputs, optimise(slopes))(*given)
            assert np.allclose(found, wanted, rtol=1e-11, atol=1e-12), (name, mode)


def test_checkpoints_need_little_memory():
    def long(x, u):
        (x,), () = scan(lambda x, u: ((x + 0.0001 * np.array([x[1], u - x[0].sin()]),), ()), (x,), (), (u,), 100_000)
        return x[0]

    program = optimise(differentiate(trace(long, {"x": (2,), "u": ()}), "result", "u", "reverse"))
    sizes = [size for step in (program, *(loop.step for loop in program.loops)) for size in step.array_sizes.values()]
    assert 500 < max(sizes) < 1000 and len(program.nodes) < 100
    slope = Kernel("slope", program.inputs, program.outputs, program)(np.array([0.3, 0.1]), 0.2)
    h = 1e-6
    forward = kernel(long, {"x": (2,), "u": ()})
    wanted = (forward(np.array([0.3, 0.1]), 0.2 + h) - forward(np.array([0.3, 0.1]), 0.2 - h)) / (2 * h)
    assert abs(slope - wanted) < 1e-7 * abs(wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_arrays_of_any_layout_are_read_and_written_where_they_are(dtype):
    def traced(U, x, gain):
        (x,), emitted = swings(U[::-1], x, gain)
        return x, *emitted

    compiled = kernel(traced, SHAPES, dtype=dtype)
    U, x, gain = (a.astype(dtype) for a in arguments((13,)))
    right = compiled(U, x, gain)
    spread = np.zeros((13, 2, 2 * ROWS), dtype).transpose(0, 2, 1)
    spread[:, ::2] = U
    for given in (spread[:, ::2], np.asfortranarray(U), np.ascontiguousarray(U.transpose(1, 2, 0)).transpose(2, 0, 1)):
        out = tuple(np.full((2, *y.shape), np.nan, dtype).swapaxes(0, 1)[:, 0] for y in right)
        for y, z in zip(right, compiled(given, x, gain, out=out)):
            assert np.array_equal(y, z)
    for y, z in zip(right, compiled(U[4], x, gain)):
        assert np.array_equal(y[4], z[4])
    both = U.copy()
    found = compiled(both, x, gain, out=(None, both, None))  # what is read last is written first
    assert np.array_equal(found[1], right[1]) and found[1] is both
    bound = compiled.bind(U, x, gain)
    bound()
    assert all(np.array_equal(y, z) for y, z in zip(bound.outputs, right))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"over": (np.zeros((3, 2)), np.zeros(4))}, "rows"),
        ({}, "how many steps"),
        ({"steps": -1}, "at least 0"),
        ({"steps": 2.5}, "whole number"),
        ({"steps": 9, "over": (np.zeros(4),)}, "9 steps need 9 rows"),
        ({"steps": 4, "hold": 0}, "at least 1"),
        ({"steps": 4, "most": 3}, "more than most"),
    ],
)
def test_wrong_arguments_are_refused(arguments, match):
    with pytest.raises(ArgumentError, match=match):
        scan(lambda x, *rows: ((x,), ()), (1.0,), **arguments)


def test_arrays_that_do_not_fit_are_refused_with_their_size(monkeypatch):
    def traced(x):
        (x,), (way,) = scan(lambda x: ((x + x.sin(),), (x,)), (x,), steps=70_000)
        return scan(lambda s, y: ((s + y * y.cos(),), ()), (0.0,), (way,))[0][0]

    monkeypatch.setattr("dalembert.native.llvm.loop.MOST_BYTES", 100_000)
    with pytest.raises(UnsupportedError, match=r"0\.0 GB for"):
        kernel(traced, {"x": ()})(0.5)
    with pytest.raises(UnsupportedError, match=r"70,000 numbers .* room for 65,536"):
        to_cuda(trace(traced, {"x": ()}))


def test_a_traced_number_of_steps_needs_a_bound():
    with pytest.raises(ArgumentError, match="most="):
        trace(lambda n: scan(lambda x: ((x,), ()), (1.0,), steps=n)[0], {"n": ()})
    with pytest.raises(ArgumentError, match="emits a float"):
        scan(lambda x: ((x,), 1.0), (1.0,), steps=2)


def test_scan_is_public():
    assert da.scan is scan and da.read_at is read_at and da.write_at is write_at and da.along is along


def test_symbols_and_fractions_take_the_same_steps():
    def logistic(x, r):
        return (r * x * (1 - x),), (x * x,)

    def exactly(x, rates):
        return scan(logistic, (x,), (rates,))

    rates = [Fraction(7, 2), Fraction(3), Fraction(5, 3), 2]
    (x,), (squares,) = exactly(Fraction(1, 3), rates)
    assert isinstance(x, Fraction)
    s = sympy.Symbol("s")
    (y,), (found,) = exactly(s, [sympy.Rational(r) for r in rates])
    assert y.subs(s, sympy.Rational(1, 3)) == sympy.Rational(x)
    assert [sympy.Rational(z) for z in squares] == [z.subs(s, sympy.Rational(1, 3)) for z in found]
    assert read_at(squares, Fraction(5, 2)) == squares[2]


def test_casadi_takes_every_step_and_refuses_computed_indices():
    casadi = pytest.importorskip("casadi")
    program = trace(held_and_seldom, SHAPES | {"U": (ROWS, 2)}, "cost")
    function = to_casadi(program)
    given = arguments()
    found = float(function(*(casadi.DM(x) for x in given)))
    assert abs(found - evaluate(program, given)["result"]) < 1e-12
    with pytest.raises(UnsupportedError, match="computed index"):
        to_casadi(trace(histogram, SHAPES, "histogram"))
    with pytest.raises(UnsupportedError, match="computed index"):
        to_latex(trace(histogram, SHAPES, "histogram"))


def test_kernels_in_loops_over_nodes_are_as_long_as_one():
    rod = da.Inertia.box(1, (0.1, 0.1, 1), (0, 0, -0.5))
    down, names = da.Transform.from_translation((0, 0, -1)), ["world", *"abcd"]
    joints = [
        da.Joint(
            f"j{k}", "revolute", names[k], names[k + 1], down if k else da.Transform.identity(), axis=np.eye(3)[k % 2]
        )
        for k in range(4)
    ]
    arm = da.Dynamics(da.Mechanism("arm", [da.Body(name, rod) for name in names[1:]], joints))
    derivatives = arm.kernel("forward_dynamics_derivatives")

    def linearised(*rows):
        return da.for_each(lambda *row: tuple(derivatives(*row)), rows)

    one = len(to_cuda(arm.program("forward_dynamics_derivatives")).source)
    made = [
        optimise(trace(linearised, {p.name: (nodes, *p.shape) for p in derivatives.inputs}, f"nodes_{nodes}"))
        for nodes in (10, 40, 400)
    ]
    lengths = [len(to_cuda(program).source) for program in made]
    assert (
        max(lengths) < 1.2 * one and max(lengths) - min(lengths) < 0.15 * one
    )  # small arrays pass through fast memory
    assert all(len(program.nodes) == len(made[0].nodes) for program in made)
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(3, 10, *p.shape)) for p in derivatives.inputs]
    for found, right in zip(Kernel("nodes", made[0].inputs, made[0].outputs, made[0])(*rows), derivatives(*rows)):
        assert np.allclose(found, right, rtol=1e-13, atol=1e-13)


def test_threads_and_pieces_of_a_batch_do_not_change_bits():
    compiled = kernel(lambda U, x, gain: swings(U, x, gain)[0][0], SHAPES)
    given = arguments((523,))
    whole = compiled(*given, threads=1)
    assert np.array_equal(whole, compiled(*given, threads=3))
    pieces = [compiled(*(x[a : a + 59] for x in given)) for a in range(0, 523, 59)]
    assert np.array_equal(whole, np.concatenate(pieces))


def test_a_run_in_pieces_ends_with_the_same_bits():
    whole, half = (kernel(lambda U, x, gain: swings(U, x, gain)[0][0], SHAPES | {"U": (n, 2)}) for n in (150, 75))
    U, x, gain = arguments((21,))
    assert np.array_equal(whole(U, x, gain), half(U[:, 75:], half(U[:, :75], x, gain), gain))

"""A kernel behaves like a ufunc, says what is wrong with a call, and has quicker ways that give the same numbers."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

from dalembert.errors import ArgumentError, CompilerError
from dalembert.native import calls as calls_module
from dalembert.native import kernel as kernel_module
from dalembert.native import threads as threads_module
from dalembert.native.kernel import Kernel
from dalembert.native.llvm.module import Source
from dalembert.native.threads import default_threads, run_all
from dalembert.tracing.program import Port
from llvm_programs import Builder, copy_program, random_inputs, random_program


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def make(program, **options):
    return Kernel(program.name, program.inputs, program.outputs, program, **options)


def arm(**options):
    """q (3), v (3), t () -> tau (3), energy (): small, with all kinds of ports."""
    b = Builder()
    q, v, (t,) = b.inputs((3,), (3,), ())
    b.ports = (Port("q", (3,)), Port("v", (3,)), Port("t", ()))
    tau = [b("add", b("mul", b("sin", q[k]), v[k]), b("mul", t, v[(k + 1) % 3])) for k in range(3)]
    energy = b("add", b("mul", v[0], v[0]), b("cos", q[2]))
    program = b.program(((3,), tau), ((), [energy]), name="arm")
    return make(program, **options)


def expected(q, v, t):
    tau = np.sin(q) * v + np.asarray(t)[..., None] * np.roll(v, -1, -1)
    return tau, v[..., 0] * v[..., 0] + np.cos(q[..., 2])


def agree(found, wanted, tolerance=1e-15):
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * (1 + np.abs(b).max(initial=0)))


def states(*batch, dtype=np.float64):
    rng = np.random.default_rng(len(batch))
    return rng.normal(size=(*batch, 3)).astype(dtype), rng.normal(size=(*batch, 3)).astype(dtype), dtype(0.5)


def test_single_states_batches_lists_and_names_agree():
    run = arm()
    q, v, t = states()
    wanted = expected(q, v, t)
    agree(run(q, v, np.array(0.5)), wanted)  # the quick way
    agree(run(q, v, t), wanted)
    agree(run(q.tolist(), tuple(v), 0.5), wanted)
    agree(run(q, t=0.5, v=v), wanted)
    agree(run(t=0.5, q=q, v=v), wanted)
    q, v, t = states(4, 5)
    agree(run(q, v, t), expected(q, v, t))
    agree(run(q, v[0, 0], np.arange(5.0)), expected(q, np.broadcast_to(v[0, 0], q.shape), np.arange(5.0)))


def test_it_is_a_real_ufunc():
    ufunc = arm(doc="An arm.").ufunc
    assert isinstance(ufunc, np.ufunc)
    assert ufunc.signature == "(3),(3),()->(3),()"
    assert (ufunc.__name__, ufunc.nin, ufunc.nout, ufunc.types) == ("arm", 3, 2, ["fff->ff", "ddd->dd"])
    assert "An arm." in ufunc.__doc__
    q, v, t = states(6)
    agree(ufunc(q.T, v.T, t, axes=[(0,), (0,), (), (0,), ()]), (expected(q, v, t)[0].T, expected(q, v, t)[1]))
    agree(arm()(q.T, v.T, t, axes=[(0,), (0,), (), (0,), ()]), (expected(q, v, t)[0].T, expected(q, v, t)[1]))


def test_scalars_come_back_as_numpy_gives_them():
    run = arm()
    q, v, _ = states()
    for found in (run(q, v, np.array(0.5)), run(q, v, 0.5), run.ufunc(q, v, 0.5)):
        assert type(found) is tuple
        assert type(found[1]) is np.float64
        assert type(found[0]) is np.ndarray


def test_out_is_written_and_returned():
    run = arm()
    for batch in ((), (7,), (3, 4)):
        q, v, t = states(*batch)
        tau, energy = np.empty((*batch, 3)), np.empty(batch)
        found = run(q, v, t, out=(tau, energy))
        assert found[0] is tau
        assert found[1] is energy
        agree(found, expected(q, v, t))
        half = run(q, v, t, out=(None, energy))
        assert half[1] is energy
        agree(half, expected(q, v, t))
    single = np.empty(3, np.float32)
    run(*states(), out=(single, None))  # rounded on the way
    np.testing.assert_allclose(single, expected(*states())[0].astype(np.float32), rtol=1e-6)


def test_precision_follows_the_inputs():
    run = arm()
    q, v, t = states(5)
    small = q.astype(np.float32), v.astype(np.float32)
    assert run(*small, np.float32(0.5))[0].dtype == np.float32
    assert run(*small, 0.5)[0].dtype == np.float32  # a Python number has no precision of its own
    assert run(small[0], v, t)[0].dtype == np.float64
    assert run(np.ones((5, 3), int), v, t)[0].dtype == np.float64
    assert run(*small, 0.5, dtype=np.float64)[0].dtype == np.float64
    assert run(q, v, t, dtype=np.float32)[0].dtype == np.float32
    agree(run(*small, 0.5), expected(q, v, t), 4e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_precision_only(dtype):
    run = arm(dtype=dtype)
    for given in (np.float64, np.float32, int):
        q, v, t = states(4)
        found = run((q * 3).astype(given), (v * 3).astype(given), t)
        assert found[0].dtype == dtype
        wanted = expected((q * 3).astype(given).astype(float), (v * 3).astype(given).astype(float), t)
        agree(found, wanted, 4e-7 if dtype == np.float32 else 1e-15)
    assert run.ufunc.ntypes == 1


def test_the_plain_ufunc_has_both_precisions():
    run = arm()
    q, v, t = states(9, dtype=np.float32)
    first = run.ufunc(q, v, t)
    assert first[0].dtype == np.float32
    agree(first, expected(q, v, t), 4e-7)
    agree(run(q, v, t), first, 0)
    agree(run.compiled.ufunc(None, streamed=True)(q, v, t), first, 0)
    assert run.ufunc(*states(9))[0].dtype == np.float64


def test_a_precision_that_cannot_be_compiled_is_an_error(monkeypatch):
    """Of the call, or of asking for the ufunc; not a line on the screen and wrong numbers."""
    run = arm()
    run(*states(4))
    load = kernel_module.load_program

    def broken(program, dtype, *rest):
        if dtype == np.float32:
            raise CompilerError("no single precision today")
        return load(program, dtype, *rest)

    monkeypatch.setattr(kernel_module, "load_program", broken)
    for call in (lambda: run.ufunc, lambda: run(*states(4, dtype=np.float32)), lambda: run(*states(4), dtype="f4")):
        with pytest.raises(CompilerError, match="no single precision today"):
            call()
    agree(run(*states(4)), expected(*states(4)))


@pytest.mark.parametrize("dtype", [None, np.float64, np.float32])
@pytest.mark.parametrize("number", [1, 0.5, np.float64(0.5), -(2**60)])
def test_python_numbers_take_the_quick_call(dtype, number):
    run = arm(dtype=dtype)
    q, v, _ = states(dtype=dtype or np.float64)
    run(q, v, np.array(0.5, dtype))
    quick = run.compiled.quick
    assert quick is None or quick(*run._without_numbers((q, v, number))) is not NotImplemented
    wanted = run(q, v, np.array(number, dtype or np.float64))
    for found in (run(q, v, number), run(q, v, number, threads=1)):
        assert [y.tobytes() for y in found] == [y.tobytes() for y in wanted]
        assert [type(y) for y in found] == [type(y) for y in wanted]
    with pytest.raises((ArgumentError, OverflowError)):
        run(q, v, 10**400)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(4), np.zeros(3), 0.0), r"arm\(q, v, t\): q has shape \(4,\), expected \(\.\.\., 3\)"),
        ((np.zeros(3), np.zeros((5, 2)), 0.0), r"v has shape \(5, 2\)"),
        ((np.zeros(3), 1.0, 0.0), r"v has shape \(\), expected \(\.\.\., 3\)"),
        ((np.zeros((2, 3)), np.zeros((4, 3)), 0.0), r"broadcast together: q \(2,\), v \(4,\), t \(\)"),
        ((np.zeros(3), np.zeros(3)), r"missing t"),
        ((np.zeros(3), np.zeros(3), 0.0, 0.0), r"takes 3 inputs, got 4"),
        (({"crank": 1.0}, np.zeros(3), 0.0), r"q is a dict, expected an array \(\.\.\., 3\)$"),
        ((np.zeros(3, complex), np.zeros(3), 0.0), r"q has dtype complex128, expected real numbers"),
        ((["a", "b", "c"], np.zeros(3), 0.0), r"q has dtype <U1"),
        ((np.zeros(3), np.zeros(3), None), r"t has dtype object"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        arm()(*arguments)


def test_errors_add_the_hints_of_those_who_made_the_kernel():
    kernel = arm()
    kernel.arguments.hints.update(mapping="joints have indices", t="pass the time")
    with pytest.raises(ArgumentError, match=r"q is a dict.*; joints have indices"):
        kernel({"crank": 1.0}, np.zeros(3), 0.0)
    with pytest.raises(ArgumentError, match="missing t; pass the time"):
        kernel(np.zeros(3), np.zeros(3))


def test_wrong_outputs_are_named():
    run, (q, v, t) = arm(), states(5)
    for out, message in [
        ((np.empty((4, 3)), None), r"broadcast together: .*out for y0 \(4,\)"),
        ((np.empty((5, 2)), None), r"out for y0 has shape \(5, 2\)"),
        ((np.empty((5, 3)),), r"a tuple of 2 arrays \(y0, y1\), got 1"),
        (np.empty((5, 3)), r"a tuple of 2 arrays"),
        (([[1]], None), r"out for y0 is a list"),
        ((np.empty((5, 3), int), None), r"casting rule"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            run(q, v, t, out=out)
    with pytest.raises(ArgumentError, match="out for y0 has batch shape"):
        run(*states(2, 5), out=(np.empty((5, 3)), None))
    read_only = np.empty((5, 3))
    read_only.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        run(q, v, t, out=(read_only, None))
    with pytest.raises(ArgumentError, match="q is given twice"):
        run(q, v, t, q=q)
    with pytest.raises(ArgumentError, match=r"arm\(q, v, t\) has no input speed"):
        run(q, v, t, speed=2)
    with pytest.raises(ArgumentError, match=r"missing t, and has no input time"):
        run(q, v, time=t)
    with pytest.raises(ArgumentError, match=r"arm: .*core dimension"):
        run(q, v, t, axes=[(0,), (0,), (), (0,), ()])
    with pytest.raises(ArgumentError, match="has no input where"):  # NumPy's ufuncs with a signature have no such mask
        run(q, v, t, where=np.ones(5, bool))
    with pytest.raises(ArgumentError, match="dtype = 'double double'"):
        run(q, v, t, dtype="double double")


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="long doubles are doubles here")
def test_longer_numbers_are_shortened_only_if_that_is_said():
    run, (q, v, t) = arm(), states(5)
    with pytest.raises(ArgumentError, match=r"q has dtype .*, longer than float64; convert it with astype\(float\)"):
        run(q.astype(np.longdouble), v, t)
    agree(run(q.astype(np.longdouble), v, t, dtype=float), run(q, v, t), 0)


def test_kernels_that_make_no_sense_are_refused():
    program = copy_program((2,))
    with pytest.raises(ArgumentError, match="at least one"):
        Kernel("none", (), program.outputs, program)
    with pytest.raises(ArgumentError, match="same name"):
        Kernel("twins", (Port("x", ()), Port("x", ())), program.outputs, program)
    with pytest.raises(ArgumentError, match="differ in inputs"):
        Kernel("other", (Port("x", (3,)),), program.outputs, program)
    with pytest.raises(ArgumentError, match="differ in inputs"):
        Kernel("late", (Port("x", (3,)),), program.outputs, lambda: program)(np.zeros(3))

    for dtype in ("foo", int, np.float16):
        with pytest.raises(ArgumentError, match=r"choose numpy\.float64, numpy\.float32 or None"):
            Kernel("copy", program.inputs, program.outputs, program, dtype=dtype)
    with pytest.raises(CompilerError, match="given a NoneType instead of a program"):
        Kernel("copy", program.inputs, program.outputs, None)
    with pytest.raises(CompilerError, match="gives a int, not a program"):
        Kernel("copy", program.inputs, program.outputs, lambda: 3)(np.zeros(2))
    many = Builder()
    x = many.inputs(*((),) * 70)
    with pytest.raises(ArgumentError, match="71 inputs and outputs, NumPy allows 64; gather some"):
        make(many.program(((), x[0])))(*range(70))


@pytest.mark.parametrize("name", ["two\nlines", "zero\0", 'a"b', "é"])
def test_any_name_compiles(name):
    program = copy_program((2,), name=name)
    np.testing.assert_array_equal(make(program)([1.0, 2.0]), [1.0, 2.0])


def test_zero_sized_ports():
    b = Builder()
    q, _ = b.inputs((2,), (0,))
    program = b.program(((2,), q[::-1]), ((0, 2), []), name="passive")
    run = make(program)
    for batch in ((), (5,), (0,), (2, 3)):
        x = np.random.default_rng(0).normal(size=(*batch, 2))
        y, nothing = run(x, np.zeros((*batch, 0)))
        np.testing.assert_array_equal(y, x[..., ::-1])
        assert nothing.shape == (*batch, 0, 2)
    assert run(np.zeros((4, 2)), np.zeros((7, 4, 0)))[0].shape == (7, 4, 2)
    with pytest.raises(ArgumentError, match=r"x1 has shape \(5, 1\), expected \(..., 0\)"):
        run(np.zeros((5, 2)), np.zeros((5, 1)))
    everything = Builder()
    (q,) = everything.inputs((0,))
    assert make(everything.program(((0,), [])))(np.zeros((6, 0))).shape == (6, 0)


def test_bound_calls_see_changes_in_place():
    run = arm()
    for batch in ((), (1,), (19,), (4, 5)):
        q, v, _ = states(*batch)
        t = np.array(0.5)
        bound = run.bind(q, v, t)
        assert bound() is None
        agree(bound.outputs, expected(q, v, t))
        q += 1
        t[()] = -2
        bound()
        agree(bound.outputs, run(q, v, t), 0)
        assert bound.inputs[0] is q
    strided = np.random.default_rng(0).normal(size=(8, 6))
    bound = run.bind(strided[::2, ::-2], t=np.zeros(4), v=strided[1::2, :3])
    bound()
    agree(bound.outputs, expected(strided[::2, ::-2], strided[1::2, :3], np.zeros(4)))
    single = [x.astype(np.float32) for x in states(3)]
    bound = run.bind(single[0], single[1], np.zeros((), np.float32))
    bound()
    assert bound.outputs[0].dtype == np.float32
    assert "arm(q[3], v[3], t)" in repr(bound)


def test_functions_in_machine_code_keep_their_definition_alive():
    """Python reads it when the function goes; where that was after this package, the memory belonged to others."""
    run = arm()
    q, v, _ = states()
    run(q, v, np.array(0.5))
    for call in (run._quick, run.bind(q, v, np.array(0.5)).__call__):
        assert any(isinstance(x, calls_module._MethodDef) for x in gc.get_referents(call.__self__))


def test_copies_of_bound_calls_are_bound_to_the_copies_of_the_arrays():
    run, (q, v, _) = arm(), states(5)
    t = np.array(0.5)
    bound = run.bind(q, v, t)
    for again in (copy.deepcopy(bound), pickle.loads(pickle.dumps(bound))):
        again.inputs[0][:] += 1
        again()
        agree(again.outputs, run(q + 1, v, t), 0)
    bound()
    agree(bound.outputs, run(q, v, t), 0)
    same = copy.copy(bound)
    q += 1
    same()
    agree(bound.outputs, run(q, v, t), 0)


def test_bound_outputs_may_be_given_and_be_the_input():
    program = copy_program((3,))
    x = np.arange(12.0).reshape(4, 3)
    bound = make(program).bind(x, out=x)
    bound()
    np.testing.assert_array_equal(x, np.arange(12.0).reshape(4, 3))
    assert bound.outputs[0] is x


def test_what_cannot_be_bound_is_refused():
    run, (q, v, _) = arm(), states(4)
    t = np.zeros(())
    for arguments, message in [
        ((q.tolist(), v, t), "q is a list; bind keeps the memory"),
        ((q, v.astype(np.float32), t), "v has dtype float32"),
        ((q, v, 0.5), "t is a float"),
        ((q[:, :2], v, t), r"q has shape \(4, 2\)"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            run.bind(*arguments)
    with pytest.raises(ArgumentError, match="overlap"):
        run.bind(q, v, t, out=(q[::-1], None))
    room = np.zeros((4, 3))
    for energy in (room[:, 0], room[:, 1], room.T[2]):
        with pytest.raises(ArgumentError, match="share memory"):
            run.bind(q, v, t, out=(room, energy))
    with pytest.raises(ArgumentError, match=r"tuple of 2 arrays .*, got a list"):
        run.bind(q, v, t, out=[room, None])
    twins = make(random_program(0, shapes=((3,),), outs=((3,), (3,))))
    with pytest.raises(ArgumentError, match="share memory"):
        twins.bind(q, out=(room[:], room[:]))
    with pytest.raises(ArgumentError, match="no input speed"):
        run.bind(q, v, t, speed=1)
    with pytest.raises(ArgumentError, match="one stride"):
        run.bind(np.zeros((4, 6, 3))[:, :5], np.zeros((4, 5, 3)), t)
    frozen = np.zeros((4, 3))
    frozen.flags.writeable = False
    with pytest.raises(ArgumentError, match="read-only"):
        run.bind(q, v, t, out=(frozen, None))
    unaligned = np.frombuffer(bytes(1 + 12 * 8), np.float64, 12, 1).reshape(4, 3)
    with pytest.raises(ArgumentError, match="aligned: False"):
        run.bind(unaligned, v, t)


def test_calls_leak_no_references():
    run = arm()
    q, v, _ = states()
    t = np.array(0.5)
    bound = run.bind(q, v, t)
    calls = [lambda: run(q, v, t), lambda: run(q, v, 0.5), bound]
    watched = [None, NotImplemented, np.dtype(np.float64), np.ndarray, q, v, t, bound.outputs[0]]
    for call in calls:
        call()
        gc.collect()
        before = [sys.getrefcount(x) for x in watched]
        for _ in range(1000):
            call()
        after = [sys.getrefcount(x) for x in watched]
        assert all(abs(a - b) < 100 for a, b in zip(before, after)), (before, after)


def test_results_are_freed():
    run = arm()
    q, v, _ = states()
    alive = weakref.ref(run(q, v, np.array(0.5))[0])
    assert alive() is None
    program = copy_program((3,))
    x = np.zeros(3)
    bound = make(program).bind(x)
    output = weakref.ref(bound.outputs[0])
    bound()
    del bound
    gc.collect()
    assert output() is None


def test_kernels_are_freed_with_their_code():
    for _ in range(20):
        run = make(copy_program((3,)))
        run(np.zeros(3))
        run(np.zeros((2, 3), np.float32))
        run.bind(np.zeros(3))()
        watched = [weakref.ref(run), weakref.ref(run.compiled), weakref.ref(run.compiled.code(np.dtype(np.float64)))]
        del run
        gc.collect()
        assert [w() for w in watched] == [None] * 3


def test_a_ufunc_outlives_its_kernel():
    run = arm()
    ufunc, call = run.ufunc, run.bind(*states()[:2], np.zeros(())).__call__
    del run
    gc.collect()
    q, v, t = states(50)
    agree(ufunc(q, v, t), expected(q, v, t))
    agree(ufunc(*states(50, dtype=np.float32)), expected(q, v, t), 4e-7)  # not compiled before
    call()


def test_kernels_are_compiled_once_by_many_threads(monkeypatch):
    made = []
    program = random_program(21, size=200)
    run = Kernel("once", program.inputs, program.outputs, lambda: made.append(1) or program)
    inputs = random_inputs(program, (3,))
    results: list = []
    crowd = [threading.Thread(target=lambda: results.append(run(*inputs))) for _ in range(8)]
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    assert made == [1]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads", [2, 3, 16, None])
def test_threads_change_nothing(threads, monkeypatch):
    monkeypatch.setattr("dalembert.native.kernel.THREADED_NANOSECONDS", 100.0)  # so that small batches are divided
    run = make(random_program(31, size=120))
    for batch in ((1000,), (3, 333), (333, 3), (50, 1, 7)):
        inputs = random_inputs(run.program, batch, 1)
        inputs[1] = inputs[1][0]  # broadcast
        alone = run(*inputs, threads=1)
        out = tuple(np.empty_like(y) for y in alone)
        for found in (run(*inputs, threads=threads), run(*inputs, threads=threads, out=out)):
            for a, b in zip(alone, found):
                np.testing.assert_array_equal(a, b)
        assert found[0] is out[0]
    small = [x.astype(np.float32) for x in inputs]
    for a, b in zip(run(*small, threads=1), run(*small, threads=threads)):
        np.testing.assert_array_equal(a, b)


def test_threads_and_overlapping_arrays(monkeypatch):
    monkeypatch.setattr("dalembert.native.kernel.THREADED_NANOSECONDS", 100.0)
    run = make(copy_program((3,)))
    x = np.random.default_rng(0).normal(size=(5000, 3))
    for out in (x[::-1], x):
        wanted = x.copy()
        run(x, out=out, threads=4)
        np.testing.assert_array_equal(out, wanted)
    both = np.random.default_rng(0).normal(size=(5000, 6))
    run(both[:, :3], out=both[:, 3:], threads=4)
    np.testing.assert_array_equal(both[:, :3], both[:, 3:])


def test_number_of_threads_by_environment(monkeypatch):
    monkeypatch.setenv("DALEMBERT_THREADS", "3")
    assert default_threads() == 3
    monkeypatch.setenv("DALEMBERT_THREADS", "many")
    with pytest.raises(ArgumentError, match="DALEMBERT_THREADS is 'many'"):
        default_threads()
    monkeypatch.delenv("DALEMBERT_THREADS")
    assert default_threads() >= 1


def test_an_error_in_one_thread_is_raised_after_all_have_stopped():
    running = []

    def job(k):
        def work():
            running.append(k)
            if k == 3:
                raise ValueError("three")
            running.remove(k)

        return work

    with pytest.raises(ValueError, match="three"):
        run_all([job(k) for k in range(50)], 4)
    assert running == [3]
    assert threads_module._get_pool() is threads_module._get_pool()


def test_pickle_and_copy():
    run = arm(dtype=np.float64, doc="An arm.")
    q, v, t = states(5)
    wanted = run(q, v, t)
    twin = pickle.loads(pickle.dumps(run))
    assert (twin.name, twin.inputs, twin.dtype, twin.doc) == (run.name, run.inputs, run.dtype, run.doc)
    agree(twin(q, v, t), wanted, 0)
    run.arguments.hints["t"] = "pass the time"
    with pytest.raises(ArgumentError, match="missing t; pass the time"):
        pickle.loads(pickle.dumps(run))(q, v)
    lazy = Kernel("arm", run.inputs, run.outputs, lambda: run.program)
    agree(pickle.loads(pickle.dumps(lazy))(q, v, t), wanted, 0)
    assert copy.deepcopy(run) is run
    assert copy.copy(run) is run


def test_masked_entries_and_ragged_lists_are_refused():
    q, v, t = np.ones((4, 3)), np.ones(3), 0.0
    with pytest.raises(ArgumentError, match=r"q has masked entries; pass q\.filled"):
        arm()(np.ma.masked_array(q, mask=np.eye(4, 3)), v, t)
    with pytest.raises(ArgumentError, match="q is no array of numbers"):
        arm()([[1], [1, 2]], v, t)
    with pytest.raises(ArgumentError, match=r"q has dtype object.*astype\(float\)"):
        arm()(q.astype(object), v, t)


def test_masked_arrays_without_a_masked_entry_are_left_to_numpy():
    q, v, t = states(4)
    masked = np.ma.masked_array(q, mask=q > 10)
    found = arm()(masked, v, t)
    assert isinstance(found[0], np.ma.MaskedArray)
    agree(found, expected(q, v, t))


def test_it_can_be_looked_at():
    run = arm()
    assert repr(run) == "<kernel arm(q[3], v[3], t) -> y0[3], y1>"
    assert "define void @loop" in run.ir
    assert "loop:" in run.assembly
    assert run.signature == "(3),(3),()->(3),()"


def test_failures_of_the_compiler_are_reported(monkeypatch):
    monkeypatch.setenv("DALEMBERT_CACHE", "off")
    monkeypatch.setattr("dalembert.native.load.module_source", lambda *args: Source(iter(["this is no code"]), 2))
    with pytest.raises(CompilerError, match="not valid LLVM IR"):
        arm()(*states())

"""Kernels in other processes: forked, spawned, and under Dask."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from dalembert.errors import ArgumentError
from dalembert.native.kernel import Kernel
from llvm_programs import random_inputs, random_program


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def kernel():
    program = random_program(51, size=100, shapes=((5,), (5,)), outs=((5,), (2, 3)))
    return Kernel("random", program.inputs, program.outputs, program)


def _call(run, inputs, queue, threads=None):
    queue.put([y.tobytes() for y in run(*inputs, threads=threads)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("used", [False, True])
def test_other_processes_get_the_same(method, used, monkeypatch):
    if method == "fork" and (sys.platform == "win32" or sys.platform == "darwin"):
        pytest.skip("fork is not for this system")
    monkeypatch.setattr("dalembert.native.kernel.THREADED_NANOSECONDS", 100.0)
    run = kernel()
    inputs = random_inputs(run.program, (4000,))
    wanted = [y.tobytes() for y in run(*inputs, threads=2)] if used else None  # threads do not survive a fork
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=_call, args=(run, inputs, queue, 2))
    process.start()
    found = queue.get(timeout=60)
    process.join()
    assert process.exitcode == 0
    assert found == (wanted or [y.tobytes() for y in run(*inputs, threads=1)])


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="fork is not for this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python 3.12 and later warn of forks beside threads
def test_a_fork_waits_for_a_compilation_in_another_thread():
    """Otherwise the child would wait for a lock that nobody in it releases."""
    begun, program = threading.Event(), kernel().program

    def slow():
        begun.set()
        time.sleep(0.5)
        return program

    run = Kernel("random", program.inputs, program.outputs, slow)
    inputs = random_inputs(program, (5,))
    thread = threading.Thread(target=run, args=inputs)
    thread.start()
    begun.wait()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_call, args=(run, inputs, queue))
    process.start()
    found = queue.get(timeout=20)
    process.join()
    thread.join()
    assert found == [y.tobytes() for y in run(*inputs)]


LAST_CALLS = """
import atexit, sys, threading, time
import numpy as np
from dalembert.tracing import trace
from dalembert.native.kernel import Kernel

program = trace(lambda x: x * x, {"x": (3,)}, "square", outputs="y")
square, states = Kernel("square", program.inputs, program.outputs, program), np.full((500_000, 3), 2.0)
if "used" in sys.argv:
    square(states, threads=2)

def call():
    print((square(states, threads=2) == 4).all())

def call_late():
    threading.main_thread().join()
    time.sleep(0.1)
    call()

atexit.register(call)
threading.Thread(target=call_late).start()
"""


@pytest.mark.parametrize("used", ["used", "unused"])
def test_large_batches_in_threads_that_outlive_the_script_and_at_exit(used):
    """Python starts no more threads then; the calling one does the work."""
    ended = subprocess.run([sys.executable, "-c", LAST_CALLS, used], capture_output=True, text=True, timeout=60)
    assert (ended.stdout.split(), ended.stderr) == (["True", "True"], "")


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_dask_apply_gufunc(cluster):
    da = pytest.importorskip("dask.array")
    run = kernel()
    inputs = random_inputs(run.program, (600,))
    arrays = [da.from_array(x, chunks=(250, -1)) for x in inputs]
    first, second = da.apply_gufunc(
        run, "(n),(n)->(n),(i,j)", *arrays, output_sizes={"i": 2, "j": 3}, output_dtypes=(float, float)
    )
    for found, wanted in zip((first, second), run(*inputs)):
        np.testing.assert_array_equal(found.compute(), wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_called_on_dask_arrays(dtype):
    da = pytest.importorskip("dask.array")
    run = kernel()
    inputs = [x.astype(dtype) for x in random_inputs(run.program, (60,))]
    for chunks in ((25, -1), (60, 2)):  # the second cuts the core dimension
        lazy = [da.from_array(inputs[0], chunks=chunks), inputs[1]]
        for found, wanted in zip(run(*lazy), run(*inputs), strict=True):
            assert isinstance(found, da.Array)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found.compute(), wanted)
    with pytest.raises(ArgumentError, match=r"apply_gufunc\(kernel, '\(i0_0\),\(i1_0\)->"):
        run(*lazy, out=(np.zeros((60, 5)), np.zeros((60, 2, 3))))


def test_dask_map_blocks(cluster):
    da = pytest.importorskip("dask.array")
    run = kernel()
    inputs = random_inputs(run.program, (600,))
    arrays = [da.from_array(x, chunks=(200, -1)) for x in inputs]
    found = da.map_blocks(lambda a, b: run(a, b)[0], *arrays, dtype=float, chunks=(200, 5))
    np.testing.assert_array_equal(found.compute(), run(*inputs)[0])


def test_dask_futures(cluster):
    run = kernel()
    inputs = random_inputs(run.program, (10,))
    np.testing.assert_array_equal(cluster.submit(run, *inputs).result()[1], run(*inputs)[1])


def test_dask_knows_equal_kernels():
    tokenize = pytest.importorskip("dask.base").tokenize
    assert tokenize(kernel()) == tokenize(kernel())
    other = random_program(52, shapes=((5,), (5,)), outs=((5,), (2, 3)))
    assert tokenize(kernel()) != tokenize(Kernel("random", other.inputs, other.outputs, other))

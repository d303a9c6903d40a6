"""The stepping loop as CUDA: it compiles without a warning, and says what it does."""

import platform
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from contact import scenes
from dalembert.algebra import scalar
from dalembert.cuda.launch import REALS, block_shape
from dalembert.cuda.recurrence import CudaRecurrence, stepper_source
from dalembert.cuda.tuning import NEAR_BYTES, SMALL_SHARED_BYTES, WARP
from dalembert.errors import ArgumentError
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.steppers.rigid_contact import RigidContact
from dalembert.simulation.stepping import recurrence
from dalembert.tracing.evaluate import evaluate
from emulated_cuda import EmulatedSteps
from random_mechanisms import walker

needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


def pushed(t, q, v, gains):
    return [gains[0] * q[0] + scalar.sin(t), 0]


def loop(driven):
    """Steps of a cart-pole: with driven controls, or with a policy, gains and a summary."""
    system = stabilised(da.Dynamics(da.load("cart_pole", parameters="default")))
    if driven:
        return recurrence(system, "rk4", [0], None, 0, False, {})
    highest = {"highest": ("max", lambda t, q, v: q[1])}
    return recurrence(system, "semi-implicit-euler", None, pushed, 1, False, highest)


@needs_nvcc
@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("driven", [True, False])
def test_compiles(tmp_path, real, driven):
    made = loop(driven)
    source = tmp_path / "steps.cu"
    source.write_text(stepper_source(made.program, made.state, made.held, made.driven, real).source)
    command = ["nvcc", "-c", "-Werror", "all-warnings", str(source), "-o", str(tmp_path / "steps.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_arrays_are_parameters_of_the_kernel():
    made = loop(False)
    source = stepper_source(made.program, made.state, made.held, made.driven)
    head = source.source[source.source.index(f" {source.kernel}(") :].partition(")\n{")[0]
    for name in ("q", "v", "summary", "h", "gains", "final_q", "record_summary"):
        assert f"*{name}," in head
    with pytest.raises(ArgumentError, match="real"):
        stepper_source(made.program, made.state, made.held, made.driven, "half")


def touching():
    """Steps of a block on its corners: its sweeps are a loop."""
    system = stabilised(da.Dynamics(scenes.block()))
    made = recurrence(system, "semi-implicit-euler", None, None, 0, False, {}, RigidContact(10, False))
    assert made.program.loops
    return made


def after(made, states, h, steps):
    """States after some steps, by the interpreter."""
    for _ in range(steps):
        found = evaluate(
            made.program, {**dict(zip((p.name for p in made.state), states)), "h": np.full(len(states[0]), h)}
        )
        states = [found[port.name] for port in made.state]
    return states


@pytest.mark.skipif(
    shutil.which("g++") is None or platform.machine() != "x86_64", reason="needs g++ with instructions of x86"
)
@pytest.mark.parametrize(
    ("dtype", "longest", "near", "close"),
    [(np.float64, 0, 0, 1e-11), (np.float64, 60, 0, 1e-11), (np.float64, 60, 7, 1e-11), (np.float32, 200, 40, 1e-3)],
)
def test_says_what_the_interpreter_does_wherever_values_wait(tmp_path, longest, dtype, near, close):
    """Trajectories neither depend on where values wait nor on how many threads a block has."""
    made, count = touching(), 150
    source = stepper_source(
        made.program, made.state, made.held, made.driven, REALS[np.dtype(dtype)], threads=64, longest=longest, near=near
    )
    assert source.shared == near * 64 * np.dtype(dtype).itemsize
    assert ("__noinline__" in source.source) == (longest > 0)
    assert ("__shared__" in source.source) == (longest > 0 and near > 0)
    rng = np.random.default_rng(0)
    q = np.zeros((count, 7))
    q[:, 2], q[:, 3:] = 0.06, [1, 0, 0, 0]
    first = [q, rng.normal(size=(count, 6)) * 0.3, *(np.zeros((count, *port.shape)) for port in made.state[2:])]
    steps = EmulatedSteps(source, made, dtype, tmp_path)
    found = steps(first, 2e-3, 4, blocks=2, threads=64)
    for ours, exact in zip(found, after(made, first, 2e-3, 4)):
        assert np.abs(ours - exact).max() <= close * max(1, np.abs(exact).max())
    for blocks, threads in ((3, 32), (5, 32)):
        again = steps(first, 2e-3, 4, blocks=blocks, threads=threads)
        assert all((x == y).all() for x, y in zip(found, again))


def test_many_waiting_values_use_shared_memory_and_few_do_not():
    system = stabilised(da.Dynamics(walker(legs=6, joints=6)))
    made = recurrence(system, "rk4", None, None, 0, False, {})
    steps = CudaRecurrence(made.name, made.state, made.held, made.driven, made.program)
    for dtype in (np.float64, np.float32):
        source = steps.source(dtype)
        assert "__shared__" in source.source and source.shared == NEAR_BYTES // 2048 * 2048
        small = steps.source(dtype, SMALL_SHARED_BYTES)  # of a card that has little
        assert "__shared__" in small.source and small.shared == SMALL_SHARED_BYTES
    made = loop(True)
    few = CudaRecurrence(made.name, made.state, made.held, made.driven, made.program).source(np.float64)
    assert few.shared == 0 and "__noinline__" not in few.source


@pytest.mark.parametrize("blocks", [1, 7, 132, 264])
@pytest.mark.parametrize("most", [32, 256])
def test_blocks_share_trajectories_evenly(blocks, most):
    for n in (1, 31, 33, 4095, 4096, 16384, 33793, 65536, 262144, 1_000_001):
        grid, threads = block_shape(n, most, blocks)
        assert threads % WARP == 0 and 0 < threads <= most and 0 < grid <= blocks
        rounds = -(-n // (grid * threads))
        assert rounds == -(-n // (blocks * most))  # no more than full blocks would need
        assert (grid - 1) * threads < n  # every block has something to do
        if n >= WARP * blocks:
            assert grid > blocks * 0.45  # nearly all, whole warps permitting

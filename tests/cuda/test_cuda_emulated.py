"""Kernels for a card, carried out on the processor thread by thread, agree with those of the processor."""

import platform
import shutil

import numpy as np
import pytest

import dalembert as da
import looped_programs
from dalembert.cuda.source import to_cuda
from dalembert.cuda.tuning import SHARED_BYTES
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.graph import Graph
from dalembert.tracing.passes import optimise
from dalembert.tracing.trace import program_of
from emulated_cuda import Emulated, guarded
from random_mechanisms import random_mechanism, walker

pytestmark = pytest.mark.skipif(
    shutil.which("g++") is None or platform.machine() != "x86_64" or platform.system() != "Linux",
    reason="needs g++ and fibers of Linux",
)

CASES = {
    "tree": (lambda: random_mechanism(3, 5, floating=True, branching=0.5), "inverse_dynamics", {}),
    "wide": (lambda: random_mechanism(4, 6, mimic=0.4), "mass_matrix", {}),
    "groups": (
        lambda: random_mechanism(5, 4, kinds=("revolute", "spherical")), "sensitivities", {"wrenches": ("tool",)}
    ),
    "warps": (lambda: walker(legs=4, joints=3), "forward_dynamics", {}),
    "warps, wide": (lambda: walker(legs=4, joints=2), "coriolis_matrix", {"parameters": ("base.mass",)}),
    "warps, by results": (
        lambda: random_mechanism(6, 10, branching=0.0, kinds=("revolute",)), "inverse_dynamics_derivatives", {},
    ),
}  # fmt: skip


PIECES = {
    "narrow": (lambda: random_mechanism(7, 6), "forward_dynamics", {}),
    "groups": CASES["groups"],
}


@pytest.mark.parametrize("real", ["double", "float"])
@pytest.mark.parametrize("name", CASES)
def test_emulated_kernels_agree(name, real, tmp_path):
    """Whole tiles and parts of one, arrays off alignment, inputs that all states share; nothing around is written.

    Tolerances are those of the precision times the condition of the matrices, of 1e3 here.
    """
    source = agree(*CASES[name], real, tmp_path)
    assert ("_worker0" in source) == name.startswith("warps")


@pytest.mark.parametrize("name", PIECES)
def test_emulated_pieces_agree(name, tmp_path, monkeypatch):
    """Programs that do not fit the registers pass values on from function to function, and stage no inputs."""
    limits = {"ONE_GROUP_VALUES": {"double": 30}, "SPILLING_VALUES": {"double": 20}, "SPILLING_NODES": 300}
    for constant, value in {**limits, "PIECE_NODES": 150}.items():
        monkeypatch.setattr(f"dalembert.cuda.source.{constant}", value)
    source = agree(*PIECES[name], "double", tmp_path)
    assert "_part2(" in source
    assert ("_go" in source) == (name == "groups")
    assert "s_q" not in source


@pytest.mark.parametrize(("real", "room"), [("double", 36_000), ("float", 18_000)])
def test_emulated_slices_agree(real, room, tmp_path):
    """A matrix of more different values than a block has room for is computed in several groups."""
    chain = (lambda: random_mechanism(8, 20, branching=0.0, kinds=("revolute",)), "mass_matrix", {})
    source = agree(*chain, real, tmp_path, room)
    assert "_worker1_" in source


def test_emulated_light_results_agree(tmp_path):
    """Of a wide matrix with few operations the work need not be shared: it is written in whole lines all the same."""
    floating = random_mechanism(9, 30, floating=True, branching=0.0, kinds=("revolute",))
    frame = {"frame": floating.bodies[-1].name}
    source = agree(lambda: floating, "jacobian", {}, "double", tmp_path, 80_000, frame)
    assert "_worker0_" in source


def agree(make, quantity, options, real, tmp_path, room=SHARED_BYTES, of=None):
    """Check the kernel of a quantity; its source."""
    mechanism, dtype = make(), np.dtype("float64" if real == "double" else "float32")
    dynamics = da.Dynamics(mechanism, **options)
    kernel = dynamics.kernel(quantity, **(of or {}))
    source = to_cuda(kernel.program, real, parts=dynamics.parts(kernel.inputs, kernel.outputs), room=room)
    assert source.shared <= room
    emulated = Emulated(source, len(kernel.inputs) + len(kernel.outputs), real, tmp_path)
    rng = np.random.default_rng(0)
    for count, shared, shift in ((1, 0, 0), (source.states, 0, 0), (2 * source.states + 33, 1, 0), (67, 2, 1)):
        q, v, a = mechanism.random_state(rng, (count,))
        known = {"q": q, "v": v, "a": a, "tau": a, "wrenches": rng.normal(size=(count, len(dynamics.wrenches), 6))}
        known["parameters"] = np.tile(dynamics.parameter_values, (count, 1))
        inputs = []
        for k, port in enumerate(kernel.inputs):
            x = known[port.name][: 1 if shared >> k & 1 else None]
            inputs.append(guarded(len(x), port.shape, dtype, shift)[0])
            inputs[-1][...] = x
        outputs = [guarded(count, port.shape, dtype, shift) for port in kernel.outputs]
        emulated(inputs, [y for y, _ in outputs], shared, count)
        exact = kernel(*(x.astype(float) for x in inputs))
        for (found, whole), right in zip(outputs, exact if isinstance(exact, tuple) else (exact,)):
            assert np.abs(found - right).max() <= 1e3 * np.finfo(dtype).eps * np.abs(right).max()
            assert np.isnan(whole).sum() == 64
    return source.source


LOOPED = [("wanderer", "wanderings"), ("scanner", "scannings"), ("slopes", "steep"), ("drawer", "drawings")]


@pytest.mark.parametrize(("which", "arguments"), LOOPED)
@pytest.mark.parametrize("real", ["double", "float"])
def test_emulated_loops_agree(real, which, arguments, tmp_path):
    program, arrays = optimise(getattr(looped_programs, which)()), getattr(looped_programs, arguments)((45,))
    dtype = np.dtype("float64" if real == "double" else "float32")
    outputs = [guarded(45, port.shape, dtype)[0] for port in program.outputs]
    source = to_cuda(program, real)
    Emulated(source, len(arrays) + len(outputs), real, tmp_path)([x.astype(dtype) for x in arrays], outputs, 0, 45)
    for found, right in zip(outputs, evaluate(program, arrays).values()):
        assert np.abs(found - right).max() < 1e4 * np.finfo(dtype).eps * max(
            1, np.abs(right).max()
        )  # of six hundred contracting steps


def test_emulated_slices_of_large_matrices_agree(tmp_path):
    """Slices find their places in matrices of more elements than short numbers count."""
    size, states = 190, 40
    graph = Graph()
    x = graph.input("x", (2,))
    matrix = np.zeros((size, size), dtype=object)
    matrix[np.arange(size), np.arange(size)] = [x[0] * k + x[1] for k in range(1, size + 1)]
    source = to_cuda(program_of(graph, {"y": matrix}, "wide"), room=40_000)
    assert "_worker1_" in source.source
    given = np.random.default_rng(0).normal(size=(states, 2))
    found, _ = guarded(states, (size, size), np.dtype(float))
    Emulated(source, 2, "double", tmp_path)([given], [found], 0, states)
    right = given[:, :1] * np.arange(1, size + 1) + given[:, 1:]
    assert np.allclose(found, right[:, :, None] * np.eye(size), rtol=1e-14, atol=0)

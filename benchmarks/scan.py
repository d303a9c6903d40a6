"""Loops over nodes of a trajectory: the code does not grow with the horizon.

    python benchmarks/scan.py                length of the CUDA source, and the time that nvcc takes for it
    python benchmarks/scan.py --run          on a GPU: check against the processor, and time

The program linearises the forward dynamics of a Panda along a trajectory: for every node its derivatives by q, v and
torque, emitted row by row. One node alone is the kernel of the derivatives.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.cuda.source import to_cuda
from dalembert.tracing.passes import optimise
from dalembert.tracing.trace import trace

NODES = (10, 40, 400)


def linearised(dynamics: da.Dynamics, nodes: int):
    """The program of all nodes."""
    derivatives = dynamics.kernel("forward_dynamics_derivatives")
    shapes = {port.name: (nodes, *port.shape) for port in derivatives.inputs}
    names = tuple(port.name for port in derivatives.outputs)

    def along(*rows):
        return da.for_each(lambda *row: tuple(derivatives(*row)), rows)

    return optimise(trace(along, shapes, f"linearised_{nodes}", names))


def compiled(source: str) -> float:
    """Seconds that nvcc takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(source)
        start = time.perf_counter()
        subprocess.run(["nvcc", "-arch=sm_90", "-cubin", "-o", str(path.with_suffix(".cubin")), str(path)], check=True)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args()
    dynamics = da.Dynamics(da.lock(da.load("panda"), {"panda_finger_joint1": 0.0}))
    one = dynamics.program("forward_dynamics_derivatives")
    text = to_cuda(one).source
    print(f"one node: {len(text):,} characters, nvcc {compiled(text):.1f} s")
    for nodes in NODES:
        start = time.perf_counter()
        program = linearised(dynamics, nodes)
        traced = time.perf_counter() - start
        source = to_cuda(program).source
        print(
            f"{nodes} nodes: {len(source):,} characters, {len(source) / len(text):.2f} of one node; "
            f"traced in {traced:.1f} s, nvcc {compiled(source):.1f} s"
        )
        if options.run:
            run(dynamics, program, nodes)


def run(dynamics: da.Dynamics, program, nodes: int, batch: int = 4096) -> None:
    """Check against the processor, and time, on a GPU."""
    import cupy

    rng = np.random.default_rng(0)
    given = [rng.uniform(-1, 1, (batch, *port.shape)) for port in program.inputs]
    kernel = da.kernel(program, device="cuda", optimise=0)
    arrays = [cupy.asarray(x) for x in given]
    found = kernel(*arrays)
    right = dynamics.kernel("forward_dynamics_derivatives")(*(x[:64] for x in given))
    error = max(
        float(np.abs(cupy.asnumpy(y)[:64] - z).max() / np.abs(z).max()) for y, z in zip(found, right, strict=True)
    )
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    for _ in range(10):
        kernel(*arrays, out=tuple(found))
    cupy.cuda.Device().synchronize()
    spent = (time.perf_counter() - start) / 10
    print(f"    {batch * nodes / spent:.3g} nodes a second, largest relative error {error:.1e}")


if __name__ == "__main__":
    main()

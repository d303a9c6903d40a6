"""What the compiled loop costs, apart from any mechanics: loads and stores, arithmetic, calls, compilation.

Every time is the best of several runs, of code whose answers were checked against plain NumPy first. Run it on a quiet
machine: ``python benchmarks/native.py [transfer] [arithmetic] [calls] [threads] [compile]``.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

from dalembert.native.kernel import Kernel
from dalembert.native.llvm.engine import object_code
from dalembert.native.llvm.module import module_text
from dalembert.native.llvm.target import Target
from dalembert.tracing.program import Node, Port, Program


def best(call: Callable[[], object], seconds: float = 0.4, inner: int = 1) -> float:
    """The least time of one call, in nanoseconds, after a first one that is not counted."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(inner):
            call()
        times.append((time.perf_counter() - start) / inner)
    return min(times) * 1e9


def arm_like(products: int = 370, sums: int = 340, joints: int = 7, outputs: int = 7, seed: int = 0) -> Program:
    """A program of the size and kind of inverse dynamics: rotations by joint angles, linear maps, sums of products."""
    rng = random.Random(seed)
    nodes: list[Node] = []

    def node(op: str, *args: int, value: float = 0.0) -> int:
        nodes.append(Node(op, args, value))
        return len(nodes) - 1

    q, v, a = ([node("input", port, k) for k in range(joints)] for port in range(3))
    turns = [(node("cos", x), node("sin", x)) for x in q]
    live, muls, adds = [*v, *a], 0, 0  # values at hand; each is used before it is dropped
    while muls < products or adds < sums:
        j, k = rng.sample(range(len(live)), 2)
        x, y = live[j], live[k]
        if rng.random() < 0.4 and muls + 4 <= products:  # a rotation
            c, s = rng.choice(turns)
            live[j] = node("sub", node("mul", x, c), node("mul", y, s))
            live[k] = node("add", node("mul", x, s), node("mul", y, c))
            muls, adds = muls + 4, adds + 2
        elif rng.random() < 0.6 and muls + 2 <= products:  # a linear map
            one, two = (node("const", value=rng.uniform(-1, 1)) for _ in range(2))
            live[j] = node("add", node("mul", x, one), node("mul", y, two))
            muls, adds = muls + 2, adds + 1
        else:
            live[j] = node(rng.choice(["add", "sub"]), x, y)
            adds += 1
    while len(live) > outputs:
        live.append(node("add", live.pop(0), live.pop(0)))
    results = (*live, *rng.choices([k for k, n in enumerate(nodes) if n.op in ("add", "sub")], k=outputs - len(live)))
    ports = tuple(Port(name, (joints,)) for name in "qva")
    return Program("arm_like", ports, (Port("y", (outputs,)),), tuple(nodes), (results,), {})


def plain(program: Program, *inputs: np.ndarray) -> np.ndarray:
    """The program by plain NumPy."""
    functions = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "sin": np.sin, "cos": np.cos}
    values: list = []
    for op, args, value in program.nodes:
        if op == "input":
            values.append(inputs[args[0]][:, args[1]])
        else:
            values.append(value if op == "const" else functions[op](*(values[k] for k in args)))
    return np.stack([values[k] for k in program.results[0]], -1)


def make(program: Program, **options) -> Kernel:
    return Kernel(program.name, program.inputs, program.outputs, program, **options)


def copy(size: int, outputs: int) -> Program:
    nodes = tuple(Node("input", (0, k)) for k in range(size))
    result = tuple(k % size for k in range(outputs))
    return Program("copy", (Port("x", (size,)),), (Port("y", (outputs,)),), nodes, (result,), {})


def transfer() -> None:
    print("moving numbers only, ns per state: rows (N, n), columns (n, N).T, every second row; float64 | float32")
    for size, outputs in ((7, 7), (21, 7), (7, 49), (7, 98)):
        run = make(copy(size, outputs))
        line = f"  {size:3d} in {outputs:3d} out "
        for dtype in (np.float64, np.float32):
            for layout in ("rows", "columns", "strided"):
                x = np.random.default_rng(0).normal(size=(10_000, size)).astype(dtype)
                out = np.empty((10_000, outputs), dtype)
                if layout == "columns":
                    x, out = x.T.copy().T, out.T.copy().T
                elif layout == "strided":
                    x, out = np.repeat(x, 2, 1)[:, ::2], np.repeat(out, 2, 1)[:, ::2]
                run.ufunc(x, out=out)
                assert (out == x[:, np.arange(outputs) % size]).all()
                line += f"{best(lambda run=run, x=x, out=out: run.ufunc(x, out=out)) / 10_000:8.2f}"
            line += "   |" if dtype is np.float64 else ""
        print(line)


def arithmetic() -> None:
    print("370 products, 340 sums, 7 sines and cosines, 21 inputs, one thread, ns per state: out= given | made")
    for outputs in (7, 49, 98):
        program = arm_like(outputs=outputs)
        for dtype in (np.float64, np.float32):
            run = make(program)
            for count in (10_000, 1_000_000):
                inputs = np.random.default_rng(1).normal(size=(3, count, 7)).astype(dtype)
                found, wanted = run(*inputs[:, :1000]), plain(program, *inputs[:, :1000].astype(float))
                assert abs(found - wanted).max() < 1e3 * np.finfo(dtype).eps * abs(wanted).max()
                out = np.full((count, outputs), 0, dtype)
                given = best(lambda run=run, x=inputs, out=out: run(*x, out=out, threads=1), 1.0) / count
                through = best(lambda run=run, x=inputs, out=out: run.ufunc(*x, out=out), 1.0) / count
                made = best(lambda run=run, x=inputs: run(*x, threads=1), 1.0) / count
                print(
                    f"  {outputs:3d} outputs {np.dtype(dtype).name} N = {count:8d} {given:8.2f} | {made:8.2f}"
                    f"   (always through the caches: {through:.2f})"
                )


def calls() -> None:
    program = arm_like()
    run = make(program)
    q, v, a = np.random.default_rng(2).normal(size=(3, 7))
    wanted = plain(program, q[None], v[None], a[None])[0]
    assert abs(run(q, v, a) - wanted).max() < 1e-12 * abs(wanted).max()
    bound = run.bind(q, v, a)
    bound()
    assert (bound.outputs[0] == run(q, v, a)).all()
    print("one state, us per call")
    print(f"  kernel(q, v, a) {best(lambda: run(q, v, a), inner=1000) / 1e3:8.3f}")
    print(f"  kernel.ufunc    {best(lambda: run.ufunc(q, v, a), inner=1000) / 1e3:8.3f}")
    print(f"  bound()         {best(bound, inner=1000) / 1e3:8.3f}")
    batch = [np.repeat(x[None], 10, 0) for x in (q, v, a)]
    print(f"  ten states      {best(lambda: run(*batch), inner=1000) / 1e3:8.3f}")


def threads() -> None:
    program = arm_like()
    run = make(program)
    inputs = np.random.default_rng(3).normal(size=(3, 1_000_000, 7))
    out = np.empty((1_000_000, 7))
    alone = run(*inputs, threads=1)
    print("a million states, by number of threads")
    base = best(lambda: run(*inputs, out=out, threads=1), 2.0)
    for count in (1, 2, 4, 8):
        if count > (os.cpu_count() or 1):
            break
        time_ = best(lambda count=count: run(*inputs, out=out, threads=count), 2.0)
        assert (out == alone).all()
        print(f"  {count:2d} threads {time_ / 1e6:7.2f} ns per state, {base / time_:.2f} times as fast")


def compile_() -> None:
    print("compilation, by number of operations")
    target = Target.host()
    for size in (1_000, 10_000, 50_000, 100_000):
        program = arm_like(size // 2, size // 2, outputs=60)
        operations = sum(1 for _ in program.operations())
        start = time.perf_counter()
        text = module_text(program, target=target)
        middle = time.perf_counter()
        code = object_code(text, target)
        end = time.perf_counter()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(  # of the whole process
            f"  {operations:7d} operations: text {middle - start:6.2f} s, code {end - middle:6.2f} s,"
            f" {(end - start) / operations * 1e3:.3f} ms each; {len(code) / 1e6:.2f} MB; peak memory {memory:.0f} MB"
        )


if __name__ == "__main__":
    parts = {"transfer": transfer, "arithmetic": arithmetic, "calls": calls, "threads": threads, "compile": compile_}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        for name, part in parts.items():
            if len(sys.argv) == 1 or name in sys.argv[1:]:
                part()

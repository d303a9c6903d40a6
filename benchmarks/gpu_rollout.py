"""Whole trajectories on a CUDA device beside the same rollout on all cores of the processor of the same machine.

    python benchmarks/gpu_rollout.py [--robots cart_pole panda] [--batch 10000 100000 1000000] [--steps 1000]

Initial states are on the device and results stay there. A time is that of the whole call of ``rollout``, checks of its
arguments included, until the device has finished; the best of three. ``final`` keeps final states only, ``every 10th``
also every tenth state, ``controls`` final states under controls that differ for each trajectory and step. A time is
kept only if the final states agree with those of the processor in float64: the median over 256 trajectories, from the
first to the last, of the largest difference, as some motions are chaotic. The processor gets a batch that keeps it busy
for half a second or more, final states only; both sides are told in steps of single trajectories per second.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any

import cupy as cp
import numpy as np

import dalembert as da
from dalembert.simulation import rollout
from gpu import mechanism

METHODS = ("rk4", "semi-implicit-euler")
CHECKED = 256
DIFFERENT = 4096
LIMIT = {np.float64: 1e-8, np.float32: 5e-2}
MEMORY = 60e9


def best(run: Any, repeat: int = 3) -> float:
    times = []
    for _ in range(repeat):
        cp.cuda.Device().synchronize()
        start = time.perf_counter()
        run()
        cp.cuda.Device().synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


def start(m: da.Mechanism, batch: int) -> list[np.ndarray]:
    """Random states; the same few over and over, since drawing millions takes longer than computing them."""
    few = m.random_state(np.random.default_rng(0), (DIFFERENT,))[:2]
    return [np.tile(x, (-(-batch // len(x)), 1))[:batch] for x in few]


def processor_time(dynamics: da.Dynamics, steps: int, h: float, method: str) -> float | None:
    """Seconds per step of a trajectory on all cores, or None without llvmlite."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        return None
    batch = 4096
    while True:
        q, v = start(dynamics.mechanism, batch)
        rollout(dynamics, q[:64], v[:64], steps, h, method=method, record=False)
        t = best(lambda: rollout(dynamics, q, v, steps, h, method=method, record=False), 2)  # noqa: B023
        if t > 0.5 or batch > 2**19:
            return t / (batch * steps)
        batch *= 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=["cart_pole", "panda"])
    parser.add_argument("--batch", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--step", type=float, default=1e-3)
    parser.add_argument("--json")
    options = parser.parse_args()
    steps, h = options.steps, options.step
    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{card}; processor: {os.cpu_count()} cores; dalembert {da.__version__}, CuPy {cp.__version__}")
    print(f"{steps} steps of {h} s")
    print(f"{'mechanism':12}{'method':22}{'type':9}{'kept':12}{'batch':>9}{'ms':>10}{'G steps/s':>11}"
          f"{'processor':>11}{'ratio':>7}   agrees to")  # fmt: skip
    rows = []
    for name in options.robots:
        m = da.load("cart_pole", parameters="default") if name == "cart_pole" else mechanism(name)
        for method in METHODS:
            for dtype in (np.float32, np.float64):
                dynamics = da.Dynamics(m, optimise=2, dtype=dtype)
                host = processor_time(dynamics, steps, h, method)
                exact = None
                if host is not None:
                    q, v = (x.astype(dtype) for x in start(m, DIFFERENT))
                    exact = rollout(da.Dynamics(m, optimise=2), q, v, steps, h, method=method, record=False).final_q
                for batch in options.batch:
                    given = [cp.asarray(x, dtype) for x in start(m, batch)]
                    places = np.linspace(0, batch - 1, min(batch, CHECKED)).astype(int)
                    for kept in ("final", "every 10th", "controls"):
                        width = np.dtype(dtype).itemsize
                        size = {"final": 0, "every 10th": (m.nq + m.nv) * steps / 10, "controls": m.nv * steps}[kept]
                        if size * width * batch > MEMORY:
                            print(f"{m.name:12}{method:22}{dtype.__name__:9}{kept:12}{batch:9}  left out: over 60 GB")
                            continue
                        more: dict[str, Any] = {"record": kept == "every 10th", "every": 10}
                        if kept == "controls":
                            more["control"] = cp.zeros((batch, steps, m.nv), dtype)

                        def run(more: dict[str, Any] = more) -> Any:
                            return rollout(dynamics, *given, steps, h, method=method, device="cuda", **more)  # noqa: B023

                        found = cp.asnumpy(run().final_q[cp.asarray(places)]).astype(float)
                        error = None
                        if exact is not None:
                            error = float(np.median(np.abs(found - exact[places % DIFFERENT]).max(axis=1)))
                        if error is not None and not error < LIMIT[dtype]:
                            raise SystemExit(
                                f"{m.name} {method} {dtype.__name__}: differs by {error:.0e}; no time kept"
                            )
                        t = best(run)
                        rate = batch * steps / t / 1e9
                        against = f"{1 / host / 1e9:11.4f}{rate * host * 1e9:6.0f}x" if host else " " * 18
                        print(f"{m.name:12}{method:22}{dtype.__name__:9}{kept:12}{batch:9}{t * 1e3:10.2f}{rate:11.2f}"
                              f"{against}   {'' if error is None else f'{error:.0e}'}", flush=True)  # fmt: skip
                        rows.append({"mechanism": m.name, "method": method, "type": dtype.__name__, "kept": kept,
                                     "batch": batch, "seconds": t, "processor": host, "error": error})  # fmt: skip
                        more.clear()  # frees the controls
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"card": card, "steps": steps, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

"""Speed of the CUDA kernels, every cell checked against the float64 interpreter before and after it is timed.

    python benchmarks/gpu.py [--robots panda talos_reduced chain-16] [--batch 4096 1048576 16777216] [--json out.json]

Times are device-resident, by CUDA events around eight calls in a row, median of several; up to 1048576 states with
``kernel.bind``, since Python takes 10 to 30 us for a call. ``host`` adds the copies from and to pageable host memory,
the best of three calls after one to warm up. ``of copy`` is the memory traffic a state needs at least - each input read
once, each output written once - over the bandwidth of a device-to-device copy measured in the same run. ``XLA`` is our
own straight-line program under ``jax.jit`` on the same card, in float32, if it is not too long to be compiled; ``frax``
a JAX library with its own algorithms on the same robot, its derivatives by JAX; in float32 JAX multiplies matrices with
about three digits unless it is told otherwise, so ``digits`` is frax told to use all of them. All are measured at
1048576 states where they are installed, in rows of calls too, and checked first, to the same limits as our kernels.
Quantities of a frame are those of the body that the last joint moves.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import cupy as cp
import numpy as np

import dalembert as da
from chains import chain_mechanism
from dalembert.dynamics import ALL_QUANTITIES
from dalembert.tracing.trace import evaluate
from gpu_peers import CALLS, LIMIT, frax, xla

QUANTITIES = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives", "bias", "coriolis_matrix", "pose", "jacobian", "cartesian_dynamics",
)  # fmt: skip
CHECKED = 256


def mechanism(name: str) -> da.Mechanism:
    """A robot by name or file; the Panda without its fingers, walking robots with a free base; ``chain-N``."""
    if name.startswith("chain-"):
        return chain_mechanism(int(name.removeprefix("chain-")))
    warnings.simplefilter("ignore", da.errors.ModelWarning)
    free = any(walker in name for walker in ("talos", "anymal", "centauro", "g1", "tiago_dual"))
    m = da.load(name, base="free") if free else da.load(name)
    return da.lock(m, {"panda_finger_joint1": 0.0}) if any(j.name == "panda_finger_joint1" for j in m.joints) else m


def seconds(run: Any, repeat: int = 20, calls: int = CALLS) -> float:
    """Seconds of one call of several in a row, so that the card does not wait for Python; median."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeat):
        start, stop = cp.cuda.Event(), cp.cuda.Event()
        start.record()
        for _ in range(calls):
            run()
        stop.record()
        stop.synchronize()
        times.append(cp.cuda.get_elapsed_time(start, stop) / calls)
    return float(np.median(times)) * 1e-3


def copy_bandwidth() -> float:
    x = cp.zeros(2**28, dtype=np.float32)
    y = cp.empty_like(x)
    return 2 * x.nbytes / seconds(lambda: cp.copyto(y, x))


def occupancy(kernel: Any, dtype: Any) -> tuple[str, str]:
    """Registers and bytes of local memory of a thread, and how the work is divided."""
    launch = kernel._get(0, np.dtype(dtype))
    if not hasattr(launch, "function"):
        return "         ", "stages"
    shape = "warps" if launch.source.states != launch.source.threads else ""
    return f"{launch.function.num_regs:3} {launch.function.local_size_bytes:5}", shape


def several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def worst(results: Any, places: Any, exact: list[np.ndarray]) -> float:
    """The largest difference over the largest number, of some states; NaN if there is one."""
    found = [cp.asnumpy(y[places]).astype(float) for y in several(results)]
    return float(np.max([np.abs(y - e).max() / np.abs(e).max() for y, e in zip(found, exact, strict=True)]))


def ratio(other: float | None, t: float, decimals: int = 0) -> str:
    return f"{f'{other / t:.{decimals}f}x' if other else '':>7}"


def host_seconds(kernel: Any, inputs: list[Any], repeat: int = 3) -> float:
    """Of a call whose arguments come from pageable memory of the host, and whose results go there."""
    arrays, times = [cp.asnumpy(x) for x in inputs], []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        found = kernel(*(cp.asarray(x) for x in arrays))
        _ = [cp.asnumpy(y) for y in several(found)]
        times.append(time.perf_counter() - start)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=["panda"])
    parser.add_argument("--batch", nargs="+", type=int, default=[1024, 4096, 65536, 2**20, 2**24])
    parser.add_argument("--quantities", nargs="+", default=list(QUANTITIES))
    parser.add_argument("--optimise", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    card = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    bandwidth = copy_bandwidth()
    print(f"{card}: copy {bandwidth / 1e12:.2f} TB/s; dalembert {da.__version__}, CuPy {cp.__version__}")
    print(f"{'robot':12}{'quantity':30}{'type':8}{'batch':>9}{'us':>10}{'G/s':>8}{'of copy':>9}{'host us':>10}"
          f"{'XLA':>7}{'frax':>7}{'digits':>7}   regs local; checked to")  # fmt: skip
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    for name in options.robots:
        m = mechanism(name)
        name = m.name.split("_")[0]
        end = [body.name for joint, body in zip(m.joints, m.bodies, strict=True) if joint.nv][-1]
        dynamics = da.Dynamics(m, device="cuda", optimise=options.optimise)
        for quantity in options.quantities:
            of = {"frame": end} if "frame" in ALL_QUANTITIES[quantity].options else {}
            kernel, program = dynamics.kernel(quantity, **of), dynamics.program(quantity, **of)
            numbers = sum(p.size for p in (*kernel.inputs, *kernel.outputs))
            for dtype in (np.float32, np.float64):
                width = np.dtype(dtype).itemsize
                for batch in options.batch:
                    if numbers * width * batch > 40e9:
                        print(f"{name:12}{quantity:30}{dtype.__name__:8}{batch:9}  left out: over 40 GB of arrays")
                        continue
                    q, v, a = (cp.asarray(x, dtype=dtype) for x in state(m, batch))
                    given = {"q": q, "v": v, "a": a, "tau": a}
                    args = [given[p.name] for p in kernel.inputs]
                    places = cp.asarray(np.linspace(0, batch - 1, min(batch, CHECKED)).astype(int))  # the last one too
                    few = {p.name: cp.asnumpy(given[p.name][places]).astype(float) for p in kernel.inputs}
                    exact = list(evaluate(program, few).values())
                    out = kernel(*args)
                    before, limit = worst(out, places, exact), LIMIT[np.dtype(dtype)]
                    short = batch <= 2**20  # Python would be slower than the card: launched as a graph
                    run = kernel.bind(*args, out=out) if short else (lambda: kernel(*args, out=out))  # noqa: B023
                    for y in several(out):
                        y[...] = np.nan  # what is checked afterwards is what was timed
                    t = seconds(run)
                    after = worst(out, places, exact)
                    if not (before < limit and after < limit):
                        cell = f"{name} {quantity} {dtype.__name__} {batch}"
                        wrong.append(f"{cell}: differs by {before:.0e}, {after:.0e}")
                        print(f"{wrong[-1]}; no time is kept", flush=True)
                        continue
                    host = host_seconds(kernel, args) if batch <= 2**20 else None
                    single, peers = dtype == np.float32, batch == 2**20
                    peer = xla(program, args, places, exact) if peers and single else None
                    others: dict[str, float | None] = {}
                    for digits in ("default", "highest") if single else ("default",):
                        offers = peers and m.nq == m.nv
                        others[digits] = frax(m, quantity, args, places, exact, digits) if offers else None
                    used, how = occupancy(kernel, dtype)
                    fraction = numbers * width * batch / t / bandwidth
                    print(
                        f"{name:12}{quantity:30}{dtype.__name__:8}{batch:9}{t * 1e6:10.1f}{batch / t / 1e9:8.3f}"
                        f"{fraction:9.1%}{f'{host * 1e6:.0f}' if host else '':>10}"
                        f"{ratio(peer, t, 1)}{ratio(others['default'], t)}{ratio(others.get('highest'), t)}"
                        f"   {used} {after:.0e}  {how}",
                        flush=True,
                    )
                    row = {"robot": name, "quantity": quantity, "type": dtype.__name__, "batch": batch, "seconds": t}
                    rows.append({**row, "of_copy": fraction, "host": host, "xla": peer, "frax": others})
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"card": card, "copy": bandwidth, "rows": rows}, file, indent=1)
    if wrong:
        raise SystemExit("\n".join(["wrong results:", *wrong]))


def state(m: da.Mechanism, batch: int) -> list[np.ndarray]:
    """Random states; the same 4096 over and over, since drawing millions takes longer than computing them."""
    few = m.random_state(np.random.default_rng(0), (min(batch, 4096),))
    return [np.tile(x, (-(-batch // len(x)), 1))[:batch] for x in few]


if __name__ == "__main__":
    main()

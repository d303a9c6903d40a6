"""Speed of the CPU kernels beside Pinocchio, every cell checked before it is timed.

    python benchmarks/cpu.py                                  the whole table
    python benchmarks/cpu.py --robots panda --batch 10000     one robot
    python benchmarks/cpu.py --json out.json

Both sides run on one thread, in the same process, on the same states in the layout (N, n) that users have (Pinocchio:
its own column layout), into arrays that exist already. Pinocchio's batch functions are used where it has them, its
Python call in a loop where it has not. A time is the best of several runs of the whole batch. Ratios below one, where
we lose, are printed like all others and marked.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import dalembert as da
from peers import Robot, robot

QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def best(run: Callable[[], Any], seconds: float = 1.0) -> float:
    """Shortest of as many runs as fit into the given time, three at least, after one to warm up."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def check(r: Robot, dyn: da.Dynamics, quantity: str) -> float:
    """Worst relative difference to Pinocchio over a few states; derivatives along random directions."""
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(5):
        q, v, a = r.mechanism.random_state(rng)
        tau = da.algorithms.inverse_dynamics(r.mechanism, q, v, a)
        if quantity == "inverse_dynamics":
            ours, theirs = dyn.inverse_dynamics(q, v, a), peer_tau(r, q, v, a)
        elif quantity == "forward_dynamics":
            ours, theirs = dyn.forward_dynamics(q, v, tau), peer_a(r, q, v, tau)
        elif quantity == "mass_matrix":
            ours = dyn.mass_matrix(q) @ a
            still = np.zeros_like(v)
            theirs = peer_tau(r, q, still, a) - peer_tau(r, q, still, still)
        else:
            inverse = quantity.startswith("inverse")
            third = a if inverse else tau
            f = peer_tau if inverse else peer_a
            parts = dyn.kernel(quantity)(q, v, third)
            dq, dv = rng.normal(size=(2, r.mechanism.nv))
            ours = parts[0] @ dq + parts[1] @ dv
            theirs = central_difference(lambda e: f(r, moved(r, q, e * dq), v + e * dv, third))  # noqa: B023
        worst = max(worst, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
    return worst


def peer_tau(r: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    c = r.convention
    return c.from_tau(c.q(q), pin.rnea(r.model, r.data, c.q(q), c.v(q, v), c.a(q, v, a)))


def peer_a(r: Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    c = r.convention
    return c.from_a(c.q(q), c.v(q, v), pin.aba(r.model, r.data, c.q(q), c.v(q, v), c.tau(q, tau)))


def central_difference(f: Callable[[float], np.ndarray], h: float = 1e-4) -> np.ndarray:
    """Fourth order, so that a step far above rounding is accurate."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def moved(r: Robot, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """q displaced along a tangent vector."""
    from dalembert.algebra.quaternions import quaternion_exp, quaternion_star

    q = q.copy()
    for link in r.mechanism.tree.links:
        if link.kind == "spherical":
            turn = quaternion_exp(d[link.v : link.v + 3])
            q[link.q : link.q + 4] = quaternion_star(q[link.q : link.q + 4], turn)
        else:
            q[link.q] += d[link.v]
    return q


TOLERANCE = {"inverse_dynamics": 1e-9, "mass_matrix": 1e-9, "forward_dynamics": 1e-7}
"""Rounding for values (forward dynamics amplifies it by the condition of the inertia matrix); derivatives are compared
with fourth-order differences at 1e-4, good to about 1e-8 of the largest entry times that condition: 1e-5."""


def ours(dyn: da.Dynamics, quantity: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    kernel = dyn.kernel(quantity)
    given = {"q": q, "v": v, "a": a, "tau": a}
    args = [given[port.name] for port in kernel.inputs]
    out = kernel(*args, threads=1)
    return best(lambda: kernel(*args, threads=1, out=out)) / len(q)


def peer(r: Robot, quantity: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> float:
    c, model, data = r.convention, r.model, r.data
    few = {"inverse_dynamics": 10_000, "forward_dynamics": 10_000}.get(quantity, 1000)
    q, v, a = q[:few], v[:few], a[:few]
    Q, V, A = (np.asfortranarray(x.T) for x in (c.q(q), c.v(q, v), c.a(q, v, a)))
    N = Q.shape[1]
    if quantity in ("inverse_dynamics", "forward_dynamics"):
        pool, out = pin.ModelPool(model, 1), np.asfortranarray(np.zeros_like(A))
        batch = pin.rneaInParallel if quantity == "inverse_dynamics" else pin.abaInParallel
        return best(lambda: batch(1, pool, Q, V, A, out)) / N
    rows = list(zip(Q.T.copy(), V.T.copy(), A.T.copy()))
    if quantity == "mass_matrix":
        run = lambda: [pin.crba(model, data, x) for x, _, _ in rows]  # noqa: E731
    else:
        one = pin.computeRNEADerivatives if quantity.startswith("inverse") else pin.computeABADerivatives
        run = lambda: [one(model, data, x, y, z) for x, y, z in rows]  # noqa: E731
    return best(run) / N


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=["ur5", "panda", "anymal", "talos", "chain-8", "chain-32"])
    parser.add_argument("--batch", nargs="+", type=int, default=[10_000, 1_000_000])
    parser.add_argument("--quantities", nargs="+", default=list(QUANTITIES))
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    print(f"{processor()}, one thread; dalembert {da.__version__}, Pinocchio {pin.__version__}, float64")
    print(
        f"{'robot':14}{'quantity':32}{'batch':>9}{'ours':>10}{'Pinocchio':>11}{'ratio':>8}   ns per state; checked to"
    )
    rows = []
    for name in options.robots:
        r = robot(name)
        dyn = da.Dynamics(r.mechanism)
        for quantity in options.quantities:
            error = check(r, dyn, quantity)
            if not error < TOLERANCE.get(quantity, 1e-5):
                raise SystemExit(f"{r.name}, {quantity}: differs from Pinocchio by {error:.1e}; no time is kept")
            for batch in options.batch:
                size = sum(p.size for p in (*dyn.kernel(quantity).inputs, *dyn.kernel(quantity).outputs)) * 8 * batch
                if size > 4e9:
                    print(f"{r.name:14}{quantity:32}{batch:9}  left out: {size / 1e9:.0f} GB of arrays")
                    continue
                q, v, a = r.mechanism.random_state(np.random.default_rng(0), (batch,))
                mine, theirs = ours(dyn, quantity, q, v, a), peer(r, quantity, q, v, a)
                ratio = theirs / mine
                lost = "  SLOWER" if ratio < 1 else ""
                print(
                    f"{r.name:14}{quantity:32}{batch:9}{mine * 1e9:10.1f}{theirs * 1e9:11.1f}{ratio:8.1f}"
                    f"   {error:.0e}{lost}",
                    flush=True,
                )
                rows.append({"robot": r.name, "quantity": quantity, "batch": batch, "ours": mine, "pinocchio": theirs})
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

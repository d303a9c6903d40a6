"""Speed of the CPU kernels beside Pinocchio, every cell checked before it is timed.

    python benchmarks/cpu.py                                  everything
    python benchmarks/cpu.py throughput threads               some sections
    python benchmarks/cpu.py throughput --robots panda --batch 10000
    python benchmarks/cpu.py --json out.json

Sections: throughput (batches on one thread), threads (two of them), calls (one state at a time), chains (cost by number
of joints), start (first result; all kernels of a humanoid), memory (of the compiler), peers (CasADi, adam, frax).

Both sides run on one thread, in the same process, on the same states in the layout (N, n) that users have (Pinocchio:
its own column layout), into arrays that exist already. Pinocchio's batch functions are used where it has them, its
Python call in a loop where it has not, on at most 10,000 states whatever the batch is here.
A time is the best of several runs of the whole batch, in processor time
(elapsed time where several threads work). The column "writing" is the part of ours that NumPy takes to fill the arrays
of the results with a number, "computing" the part that as many operations take if all their values stay in registers:
where either is near one, no code for this program could be much faster. Ratios below one, where we lose, are printed
like all others and marked.
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
import starts
import symbolic_peers
from dalembert.native.llvm.plan import make_plan
from peers import Robot, robot

QUANTITIES = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives",
)


def best(run: Callable[[], Any], seconds: float = 0.5, clock: Callable[[], float] = time.process_time) -> float:
    """Shortest of as many runs as fit into the given time, three at least, after one to warm up.

    Args:
        run: what to time.
        seconds: how long to go on.
        clock: processor time, which other processes disturb little, unless several threads share the work.
    """
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = clock()
        run()
        times.append(clock() - start)
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


def ours(dyn: da.Dynamics, quantity: str, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[float, float]:
    """Seconds per state, and those that NumPy takes to fill the arrays of the results with a number."""
    kernel = dyn.kernel(quantity)
    given = {"q": q, "v": v, "a": a, "tau": a}
    args = [given[port.name] for port in kernel.inputs]
    out = kernel(*args, threads=1)
    arrays = out if isinstance(out, tuple) else (out,)
    time_of_one = best(lambda: kernel(*args, threads=1, out=out)) / len(q)
    return time_of_one, best(lambda: [array.fill(1.0) for array in arrays], 0.2) / len(q)


def peak() -> float:
    """Operations a second on one thread, fused ones counted once, of code whose values stay in registers."""

    def sums(x: Any) -> Any:
        rows = [0.1 * k + x for k in range(12)]  # so many that none waits for another
        for _ in range(400):
            rows = [row * x + other for row, other in zip(rows, [*rows[1:], rows[0]])]
        return sum(rows[1:], rows[0])

    kernel = da.kernel(sums, {"x": ()})
    x = np.full(4096, 0.5)
    return best(lambda: kernel(x, threads=1)) ** -1 * len(x) * make_plan(kernel.program).operations


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


def throughput(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Batches on one thread, beside Pinocchio."""
    print(
        f"{'robot':14}{'quantity':32}{'batch':>9}{'ours':>10}{'Pinocchio':>11}{'ratio':>8}{'writing':>9}{'computing':>11}"
        "   ns per state; checked to"
    )
    rows = []
    rate = peak()
    for name in options.robots:
        r = robot(name)
        dyn = da.Dynamics(r.mechanism)
        for quantity in options.quantities:
            least = make_plan(dyn.kernel(quantity).program).operations / rate
            error = check(r, dyn, quantity)
            if not error < TOLERANCE.get(quantity, 1e-5):
                raise SystemExit(f"{r.name}, {quantity}: differs from Pinocchio by {error:.1e}; no time is kept")
            theirs = None
            for batch in options.batch:
                size = sum(p.size for p in (*dyn.kernel(quantity).inputs, *dyn.kernel(quantity).outputs)) * 8 * batch
                if size > 4e9:
                    print(f"{r.name:14}{quantity:32}{batch:9}  left out: {size / 1e9:.0f} GB of arrays")
                    continue
                q, v, a = r.mechanism.random_state(np.random.default_rng(0), (batch,))
                mine, writing = ours(dyn, quantity, q, v, a)
                theirs = theirs or peer(r, quantity, q, v, a)  # once, on at most 10,000 states
                ratio = theirs / mine
                lost = "  SLOWER" if ratio < 1 else ""
                print(
                    f"{r.name:14}{quantity:32}{batch:9}{mine * 1e9:10.1f}{theirs * 1e9:11.1f}{ratio:8.1f}"
                    f"{writing / mine:9.0%}{least / mine:11.0%}   {error:.0e}{lost}",
                    flush=True,
                )
                rows.append({"robot": r.name, "quantity": quantity, "batch": batch, "ours": mine, "pinocchio": theirs})
    return rows


def threads(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Two threads against one, and without the zeros of a tree, which are stored for nothing."""
    print("\ntwo threads against one (aim 1.8), ns per state")
    rows = []
    for name in ("panda", "anymal", "talos"):
        r = robot(name)
        dyn = da.Dynamics(r.mechanism)
        for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "mass_matrix_nonzeros"):
            kernel = dyn.kernel(quantity)
            batch = min(1_000_000, int(1e9 / 8 / sum(p.size for p in (*kernel.inputs, *kernel.outputs))))
            q, v, a = r.mechanism.random_state(np.random.default_rng(0), (batch,))
            args = [{"q": q, "v": v, "a": a, "tau": a}[port.name] for port in kernel.inputs]
            out = kernel(*args)
            one, two = (
                best(lambda count=count: kernel(*args, threads=count, out=out), 1.0, time.perf_counter) / batch  # noqa: B023
                for count in (1, 2)
            )
            print(f"{r.name:14}{quantity:32}{batch:9}{one * 1e9:10.1f}{two * 1e9:11.1f}{one / two:8.2f}", flush=True)
            rows.append({"robot": r.name, "quantity": quantity, "batch": batch, "one": one, "two": two})
    return rows


def calls(options: argparse.Namespace) -> dict[str, float]:
    """One state at a time: Panda, inverse dynamics."""
    r = robot("panda")
    kernel = da.Dynamics(r.mechanism).inverse_dynamics
    q, v, a = r.mechanism.random_state(np.random.default_rng(0))
    np.testing.assert_allclose(kernel(q, v, a), peer_tau(r, q, v, a), rtol=1e-9, atol=1e-9)
    bound = kernel.bind(q, v, a)
    bound()
    np.testing.assert_array_equal(bound.outputs[0], kernel(q, v, a))

    def per_call(call: Callable[[], Any]) -> float:
        return best(lambda: [call() for _ in range(1000)]) / 1000

    times = {
        "kernel(q, v, a)": per_call(lambda: kernel(q, v, a)),
        "bound()": per_call(bound),
        "pinocchio.rnea": per_call(lambda: pin.rnea(r.model, r.data, q, v, a)),
    }
    print("\none state, Panda, inverse dynamics, microseconds per call (aims: no more than Pinocchio; bound 0.3)")
    for name, seconds in times.items():
        print(f"  {name:20}{seconds * 1e6:8.3f}")
    return times


def chains(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Cost per joint of inverse dynamics on random chains."""
    print("\nrandom chains, inverse dynamics, 10000 states, ns per state")
    print(f"{'joints':>8}{'operations':>12}{'per joint':>11}{'ours':>10}{'per joint':>11}{'Pinocchio':>11}{'ratio':>8}")
    rows = []
    for n in (2, 4, 8, 16, 32, 64, 128):
        r = robot(f"chain-{n}")
        dyn = da.Dynamics(r.mechanism)
        error = check(r, dyn, "inverse_dynamics")
        if not error < 1e-9:
            raise SystemExit(f"{r.name}: differs from Pinocchio by {error:.1e}; no time is kept")
        q, v, a = r.mechanism.random_state(np.random.default_rng(0), (10_000,))
        mine, theirs = ours(dyn, "inverse_dynamics", q, v, a)[0], peer(r, "inverse_dynamics", q, v, a)
        cost = dyn.cost("inverse_dynamics")
        count = cost.multiplications + cost.additions
        lost = "  SLOWER" if theirs < mine else ""
        print(
            f"{n:8}{count:12}{count / n:11.0f}{mine * 1e9:10.1f}{mine * 1e9 / n:11.2f}{theirs * 1e9:11.1f}"
            f"{theirs / mine:8.1f}{lost}",
            flush=True,
        )
        rows.append({"joints": n, "operations": count, "ours": mine, "pinocchio": theirs})
    each = {row["joints"]: row["ours"] / row["joints"] for row in rows if row["joints"] >= 8}
    print(f"cost per joint from 8 to 128 joints within a factor {max(each.values()) / min(each.values()):.1f} (aim 4)")
    return rows


SECTIONS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "throughput": throughput,
    "threads": threads,
    "calls": calls,
    "chains": chains,
    "start": lambda options: starts.start(),
    "memory": lambda options: starts.memory(),
    "peers": lambda options: symbolic_peers.run(options.robots),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--robots", nargs="+", default=["ur5", "panda", "anymal", "talos"])
    parser.add_argument("--batch", nargs="+", type=int, default=[10_000, 1_000_000])
    parser.add_argument("--quantities", nargs="+", default=list(QUANTITIES))
    parser.add_argument("--json", help="also write the tables to this file")
    options = parser.parse_args()
    if unknown := set(options.sections) - SECTIONS.keys():
        parser.error(f"no section {', '.join(sorted(unknown))}; choose of {', '.join(SECTIONS)}")
    print(f"{processor()}, one thread; dalembert {da.__version__}, Pinocchio {pin.__version__}, float64")
    tables = {name: SECTIONS[name](options) for name in options.sections or SECTIONS}
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), **tables}, file, indent=1)


if __name__ == "__main__":
    main()

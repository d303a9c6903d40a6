"""What economical frames, regrouped masses and better algorithms are worth: counts and times, before and after.

Before: Algorithm 5.5, Algorithm 6.2 and D, V, P on the mechanism's own frames and masses. After: the default kernels.
Both are traced and compiled the same way; a time is kept only if the two agree. One thread, nanoseconds a state.

    python benchmarks/economy.py [robot ...]
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as da
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_links
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.cost_tables import count, generic_arm
from dalembert.native.kernel import Kernel
from dalembert.tracing.passes import optimise
from dalembert.tracing.trace import trace

BATCH = 4096


def before(mechanism: da.Mechanism) -> dict[str, tuple[str, Callable[..., Any]]]:
    """Quantity -> its inputs, and the algorithm as the source prints it."""
    tree = mechanism.tree

    def derivatives(q: Any, v: Any, a: Any) -> tuple[Any, Any]:
        found = sensitivity(tree, q, v, a)
        return found.P, found.V

    return {
        "inverse_dynamics": ("qva", lambda q, v, a: augmented_links(tree, q, v, a)),
        "mass_matrix": ("q", lambda q: generalized_links(tree, q)),
        "inverse_dynamics_derivatives": ("qva", derivatives),
    }


def best(call: Callable[[], Any], seconds: float = 0.3) -> float:
    """Least time of a call, in nanoseconds a state."""
    call()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times) * 1e9 / BATCH


def compare(mechanism: da.Mechanism) -> None:
    dynamics = da.Dynamics(mechanism)
    q, v, a = mechanism.random_state(np.random.default_rng(0), (BATCH,))
    given = {"q": q, "v": v, "a": a}
    print(f"{mechanism.name}, {mechanism.nv} velocities")
    for name, (inputs, function) in before(mechanism).items():
        state = [given[x] for x in inputs]
        old = optimise(trace(function, {x: given[x].shape[1:] for x in inputs}, name), 1)
        old_kernel, new_kernel = Kernel(name, old.inputs, old.outputs, old), dynamics.kernel(name)
        pairs = zip(_parts(old_kernel(*state)), _parts(new_kernel(*state)))
        error = max(np.abs(x - y).max() / np.abs(x).max() for x, y in pairs)
        if not error < 1e-9:
            print(f"  {name:30} the two differ by {error:.1e}: no time")
            continue
        times = [best(lambda k=k, s=state: k(*s, threads=1)) for k in (old_kernel, new_kernel)]
        counts = f"{count(old)!s:>14} -> {count(new_kernel.program)!s:>14}"
        print(f"  {name:30} {counts}   {times[0]:8.1f} -> {times[1]:8.1f} ns  ({times[0] / times[1]:.2f} times)")


def _parts(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore", da.errors.ModelWarning)
    robots = [da.load(name) for name in names]
    for mechanism in robots or [generic_arm(6), da.load("puma560"), da.load("panda"), da.load("solo12")]:
        compare(mechanism)


if __name__ == "__main__":
    main(sys.argv[1:])

"""How long until the first number, how cost grows with the number of joints, how much memory the compiler takes.

Each measurement is a fresh process with its own cache folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from peers import robot

DEFAULT = (
    "inverse_dynamics", "bias", "gravity", "mass_matrix", "coriolis_matrix", "forward_dynamics",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "kinetic_energy", "potential_energy",
    "center_of_mass",
)  # fmt: skip
"""Kernels of plain dynamics, derivatives included."""


def _child(task: str, argument: str, cache: str) -> dict[str, float]:
    """Run a task of this file in a fresh process."""
    environment = {**os.environ, "DALEMBERT_CACHE": cache}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed packages have their byte code
    command = [sys.executable, str(Path(__file__)), task, argument]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def _first(name: str) -> dict[str, float]:
    """Seconds from after the imports to the first inverse dynamics, file reading included."""
    robot("chain-2")  # imports what reads models, on both sides
    start = time.perf_counter()
    r = robot(name)
    loaded = time.perf_counter()
    import dalembert as da

    state = r.mechanism.random_state(np.random.default_rng(0))
    again = time.perf_counter()
    da.Dynamics(r.mechanism).inverse_dynamics(*state)
    return {"model": loaded - start, "kernel": time.perf_counter() - again}


def _kernels(name: str) -> dict[str, float]:
    """Seconds until each default kernel has given its first result."""
    import dalembert as da

    r = robot(name)
    q, v, a = r.mechanism.random_state(np.random.default_rng(0))
    given = {"q": q, "v": v, "a": a, "tau": a}
    dyn = da.Dynamics(r.mechanism)
    times = {}
    for quantity in DEFAULT:
        start = time.perf_counter()
        kernel = dyn.kernel(quantity)
        kernel(*(given[port.name] for port in kernel.inputs))
        times[quantity] = time.perf_counter() - start
    return times


def _memory(name: str) -> dict[str, float]:
    """Peak memory of a process that compiles inverse and forward dynamics and the inertia matrix, before and after."""
    import dalembert as da

    r = robot(name)
    q, v, a = r.mechanism.random_state(np.random.default_rng(0))
    dyn = da.Dynamics(r.mechanism)
    before = _peak()
    start = time.perf_counter()
    dyn.inverse_dynamics(q, v, a)
    dyn.mass_matrix(q)
    dyn.forward_dynamics(q, v, a)
    seconds = time.perf_counter() - start
    return {"before": before, "after": _peak(), "s": seconds}


def _peak() -> float:
    """Most memory this process has had, MB; what ``getrusage`` tells counts that of the parent."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))


def start() -> dict[str, Any]:
    """Print the time until the first result, with an empty and with a filled cache."""
    print("\nfirst result after import, seconds: reading the model on both sides, then tracing and compiling")
    rows = {}
    for name in ("panda", "talos"):
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = cold, warm = _child("first", name, folder), _child("first", name, folder)
        for label, found in (("cold", cold), ("warm", warm)):
            print(f"  {name:8}{label:6} model {found['model']:6.3f}   inverse dynamics {found['kernel']:6.3f}")
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = _child("kernels", "talos", folder), _child("kernels", "talos", folder)
    rows["kernels"] = (cold, warm)
    slow = sorted(cold, key=lambda quantity: -cold[quantity])[:3]
    print(f"  talos, {len(cold)} kernels: cold {sum(cold.values()):.1f} s (aim 30), warm {sum(warm.values()):.2f} s;")
    print("    slowest: " + ", ".join(f"{quantity} {cold[quantity]:.1f} s" for quantity in slow))
    return rows


def memory() -> dict[str, float]:
    """Print the memory that compiling for a chain of 128 joints takes."""
    with tempfile.TemporaryDirectory() as folder:
        found = _child("memory", "chain-128", folder)
    print(
        f"\nchain of 128: inverse dynamics, inertia matrix, forward dynamics compiled in {found['s']:.1f} s; "
        f"peak memory {found['after']:.0f} MB (aim 1000), {found['before']:.0f} MB before"
    )
    return found


if __name__ == "__main__":
    print(json.dumps({"first": _first, "kernels": _kernels, "memory": _memory}[sys.argv[1]](sys.argv[2])))

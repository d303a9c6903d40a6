"""Bridges to CasADi: instructions of forward dynamics, ours and adam's; kernels beside CasADi's map.

    PYTHONPATH=benchmarks python benchmarks/bridges.py

Needs ``pip install 'dalembert[bench]'``; without adam its cells are left out. Every answer is compared before
anything is timed. One thread.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi
import numpy as np

import dalembert as da
from peers import Robot, robot

STATES = 10_000
GRAVITY = np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])


def adam_forward(r: Robot) -> Any:
    """Forward dynamics by adam, as a function of SX of q, v and tau of the joints; a free base at rest at the origin.

    adam has every base free; an arm on the ground is M^-1 (tau - bias) of its joints.
    """
    from adam.casadi import KinDynComputations

    n = r.mechanism.nv - 6 * r.floating
    joints = [joint.name for joint in r.mechanism.joints if joint.kind not in ("free", "fixed")]
    with tempfile.TemporaryDirectory() as folder:  # without fixed joints and locked ones, of which adam has no idea
        path = Path(folder) / "robot.urdf"
        merged = da.merge_fixed(r.mechanism)
        da.write_urdf(da.with_base(merged, "fixed") if r.floating else merged, path)
        computations = KinDynComputations(str(path), joints, gravity=GRAVITY)
    q, v, tau = (casadi.SX.sym(letter, n) for letter in ("q", "v", "tau"))
    here, still = casadi.SX.eye(4), casadi.SX.zeros(6)
    if r.floating:
        a = computations.aba(here, q, still, v, tau)
    else:
        M = computations.mass_matrix(here, q)[6:, 6:]
        bias = computations.bias_force(here, q, still, v)[6:]
        a = casadi.ldl_solve(tau - bias, *casadi.ldl(M))
    return casadi.Function("adam", [q, v, tau], [casadi.densify(a)], ["q", "v", "tau"], ["a"], {"cse": True})


def our_forward(r: Robot) -> Any:
    """The same by us: with a free base at rest at the origin."""
    whole = da.Dynamics(r.mechanism).casadi("forward_dynamics")
    if not r.floating:
        return whole
    n = r.mechanism.nv - 6
    q, v, tau = (casadi.SX.sym(letter, n) for letter in ("q", "v", "tau"))
    neutral, still = casadi.SX(r.mechanism.neutral[:7]), casadi.SX.zeros(6)
    a = whole(casadi.vertcat(neutral, q), casadi.vertcat(still, v), casadi.vertcat(still, tau))
    return casadi.Function("ours", [q, v, tau], [a], ["q", "v", "tau"], ["a"])


def best(call: Callable[[], Any]) -> float:
    """Shortest processor time of five calls, seconds."""
    call()
    times = []
    for _ in range(5):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def compare(name: str) -> None:
    r = robot(name)
    rng = np.random.default_rng(0)
    ours = our_forward(r)
    n = ours.size1_in(0)
    states = [rng.uniform(-1, 1, (STATES, n)) for _ in range(3)]
    given = [casadi.DM(x.T) for x in states]
    functions = {"ours": ours}
    try:
        functions["adam"] = adam_forward(r)
    except Exception as error:  # not installed, or at odds with the versions that are
        print(f"{r.name:12} adam does not run: {type(error).__name__}: {str(error)[:70]}")
    wanted = np.asarray(ours.map(STATES)(*given)).T
    print(
        f"{r.name:12} whole state: {da.Dynamics(r.mechanism).casadi('forward_dynamics').n_instructions()} instructions"
    )
    for label, function in functions.items():
        mapped = function.map(STATES, "serial")
        found = np.asarray(mapped(*given)).T
        off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        start = time.process_time()
        kernel = da.from_casadi(function)
        made = kernel(*states, threads=1)
        compiled = time.process_time() - start
        off = max(off, float(np.abs(made - found).max() / np.abs(found).max()))
        if not off < 1e-8:
            print(f"{r.name:12} {label:6} differs by {off:.0e}; nothing is timed")
            continue
        theirs, here = best(lambda mapped=mapped: mapped(*given)), best(lambda k=kernel: k(*states, threads=1))
        count = function.n_instructions()
        lost = "  SLOWER" if here > theirs else ""
        late = "  MORE THAN 5" if compiled / count * 1e4 > 5 else ""
        print(
            f"{r.name:12} {label:6}{count:7} instructions   map {theirs / STATES * 1e9:9.0f} ns   from_casadi "
            f"{here / STATES * 1e9:8.0f} ns   ratio {theirs / here:6.1f}{lost}   compiled in {compiled:.2f} s, "
            f"{compiled / count * 1e4:.1f} s per 10,000 instructions{late}; agrees to {off:.0e}",
            flush=True,
        )
    if "adam" in functions and functions["adam"].n_instructions() < ours.n_instructions():
        print(f"{r.name:12} LOST: adam has fewer instructions")


def main() -> None:
    warnings.simplefilter("ignore")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        print(f"forward dynamics, {STATES} states, one core; a free base at rest at the origin")
        for name in ("panda", "anymal"):
            compare(name)
    finally:
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    main()

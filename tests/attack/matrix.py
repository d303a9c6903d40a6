"""All robots of example-robot-data x all quantities and motions x precisions x single, batch, threads: every cell runs.

    python tests/attack/matrix.py                         ten minutes of it, in an order of chance
    python tests/attack/matrix.py --seconds 0             all of it (hours)
    python tests/attack/matrix.py --robots tiago_dual --tasks rollout/rk4

Each cell has a process of its own, so that an abort of the interpreter is seen, and the rest goes on. Its checks:
answers are finite; a batch gives to the bit what single states give, and threads what a batch gives; single precision
agrees with double; inverse dynamics, bias, gravity, mass matrix, forward dynamics and the first step of a motion agree
with Pinocchio, if it is installed. What an error of the library refuses counts as refused.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from dalembert.dynamics import QUANTITIES, TASK_QUANTITIES
from dalembert.errors import DalembertError
from dalembert.formats.catalogue import example_robot_data
from dalembert.simulation import STEPPERS

SINGLE = 2e-3
"""Allowed difference of single precision, of the largest entry: 6e-8 times the condition of what is solved, up to 1e4.
What solves with the mass matrix gets an allowance by its own condition instead."""

PEER = 1e-8
"""Allowed difference from Pinocchio, of the largest entry, times the condition over 1e4 where a system is solved."""

SOLVING = {"forward_dynamics", "forward_dynamics_derivatives", "linearize", "mass_matrix_inverse"}
SOLVING |= {name for name in TASK_QUANTITIES if name.startswith("cartesian")}

ROBOTS = {name: path for name, path in example_robot_data().items() if "/" in name}
TASKS = [*QUANTITIES, *TASK_QUANTITIES, *(f"rollout/{method}" for method in STEPPERS)]
BASES = ("fixed", "free")
COUNT = 37
"""States of a batch: no multiple of any width of vectors."""


class Wrong(Exception):
    """An answer that should not be."""


def cells(robots: list[str], tasks: list[str], seed: int) -> list[tuple[str, str, str]]:
    """All combinations, in an order of chance that visits large and small ones alike."""
    found = [(robot, base, task) for robot in robots for base in BASES for task in tasks]
    random.Random(seed).shuffle(found)
    return found


def check(robot: str, base: str, task: str) -> None:
    """One cell; raises if anything is wrong."""
    warnings.simplefilter("ignore")
    mechanism = da.load(str(ROBOTS[robot]), **({"base": "free"} if base == "free" else {}))
    if task.startswith("rollout/"):
        check_motion(robot, mechanism, task.partition("/")[2])
    else:
        check_quantity(robot, mechanism, task)


def check_quantity(robot: str, mechanism: da.Mechanism, name: str) -> None:
    """A kernel in both precisions, of single states, batches and with threads."""
    dynamics = da.Dynamics(mechanism)
    quantity = QUANTITIES.get(name) or TASK_QUANTITIES[name]
    frame = {"frame": mechanism.bodies[-1].name} if "frame" in quantity.options else {}
    kernel = dynamics.kernel(name, **frame)
    rng = np.random.default_rng(0)
    q, v, a = mechanism.random_state(rng, batch=(COUNT,))
    given = {"q": q, "v": v, "a": a, "tau": a}
    inputs = [
        given[port.name] if port.name in given else rng.normal(size=(COUNT, *port.shape)) for port in kernel.inputs
    ]
    condition = worst_condition(dynamics, q) if name in SOLVING else 1.0
    whole = as_tuple(kernel(*inputs, threads=1))
    if condition < 1 / np.finfo(float).eps:  # a massless hand has no acceleration
        finite(whole, "a batch")
    same(as_tuple(kernel(*(x[5] for x in inputs))), tuple(y[5] for y in whole), "a single state")
    many = [np.concatenate([x] * 40) for x in inputs]
    for y, z in zip(as_tuple(kernel(*many, threads=2)), whole):
        same((y[-COUNT:],), (z,), "threads")
    rounded = [x.astype(np.float32) for x in inputs]
    short = as_tuple(kernel(*rounded, threads=1))
    same(as_tuple(kernel(*(x[5] for x in rounded))), tuple(y[5] for y in short), "a single float32")
    if condition * np.finfo(np.float32).eps < SINGLE:
        close(short, as_tuple(kernel(*(x.astype(float) for x in rounded), threads=1)), SINGLE, "float32")
    expected = peer(robot, mechanism, dynamics)
    if condition * PEER < 1e4 and expected is not None and name in (computed := expected(q[5], v[5], a[5])):
        close((whole[0][5],), (computed[name],), PEER * max(1.0, condition / 1e4), "Pinocchio")


def worst_condition(dynamics: da.Dynamics, q: np.ndarray) -> float:
    """Of the mass matrices at some positions; infinite if one is not positive definite."""
    values = np.linalg.eigvalsh(dynamics.mass_matrix(q)) if dynamics.mechanism.nv else np.ones((1, 1))
    return float((values[:, -1] / values[:, 0]).max()) if values.min() > 0 else np.inf


def check_motion(robot: str, mechanism: da.Mechanism, method: str) -> None:
    """A short rollout in both precisions, one and many, with one thread and two."""
    dynamics, h = da.Dynamics(mechanism), 1e-4
    q, v, _ = mechanism.random_state(np.random.default_rng(0), batch=(COUNT,))
    condition = worst_condition(dynamics, q)
    whole = da.rollout(dynamics, q, v, 5, h, method=method, threads=1)
    if condition < 1 / np.finfo(float).eps:
        finite((whole.final_q, whole.final_v), "a batch")
    alone = da.rollout(dynamics, q[5], v[5], 5, h, method=method, threads=1)
    same((alone.final_q, alone.final_v), (whole.final_q[5], whole.final_v[5]), "a single motion")
    many = da.rollout(dynamics, np.concatenate([q] * 8), np.concatenate([v] * 8), 5, h, method=method, threads=2)
    same((many.final_q[-COUNT:], many.final_v[-COUNT:]), (whole.final_q, whole.final_v), "threads")
    try:
        short = da.rollout(da.Dynamics(mechanism, dtype="float32"), q, v, 5, h, method=method, threads=1)
        if condition * np.finfo(np.float32).eps < SINGLE:
            close((short.final_q,), (whole.final_q,), SINGLE, "float32")
    except DalembertError:  # single precision is not offered everywhere
        pass
    expected = peer(robot, mechanism, dynamics)
    if expected is not None and condition * PEER < 1e4:
        rate = expected(q[5], v[5], np.zeros(mechanism.nv)).get("forward_dynamics")
        if rate is not None:
            step = da.rollout(dynamics, q[5], v[5], 1, 1e-6, method=method, threads=1)
            found = (step.final_v - v[5]) / 1e-6
            if np.abs(found - rate).max() > 1e-3 * max(1.0, np.abs(rate).max(), np.abs(v[5]).max() ** 2):
                raise Wrong(f"the first step is {np.abs(found - rate).max():.3g} m/s^2 off from Pinocchio's")


def peer(robot: str, mechanism: da.Mechanism, dynamics: da.Dynamics) -> Callable[..., dict[str, np.ndarray]] | None:
    """What Pinocchio computes, by name of the quantity; None without it, and where it sees another mechanism."""
    try:
        import pinocchio

        from dalembert.comparison.pinocchio import PinocchioPeer, read
    except ImportError:
        return None
    if any(joint.mimic is not None for joint in mechanism.joints) or not mechanism.nv:
        return None
    free = mechanism.joints[0].kind == "free"
    try:
        model = read(ROBOTS[robot], free)
    except (ValueError, RuntimeError):  # it cannot read the file
        return None
    model.armature[:] = 0
    other = PinocchioPeer(mechanism, model)
    assert pinocchio

    def computed(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
        zero = np.zeros(mechanism.nv)
        return {
            "inverse_dynamics": other.inverse_dynamics(q, v, a), "gravity": other.inverse_dynamics(q, zero, zero),
            "bias": other.inverse_dynamics(q, v, zero), "mass_matrix": other.mass_matrix(q),
            "forward_dynamics": other.forward_dynamics(q, v, a),
        }  # fmt: skip

    return computed


def as_tuple(found: Any) -> tuple[np.ndarray, ...]:
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else (np.asarray(found),)


def finite(found: tuple[np.ndarray, ...], what: str) -> None:
    if not all(np.isfinite(y).all() for y in found):
        raise Wrong(f"{what}: not finite")


def same(found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], what: str) -> None:
    for y, z in zip(found, expected, strict=True):
        if not np.array_equal(y, z, equal_nan=True):
            raise Wrong(f"{what}: {np.abs(y - z).max():.3g} off from a batch, of {np.abs(z).max():.3g}")


def close(found: tuple[np.ndarray, ...], expected: tuple[np.ndarray, ...], allowed: float, what: str) -> None:
    for y, z in zip(found, expected, strict=True):
        scale = max(np.abs(z).max(initial=0.0), 1e-9)
        wrong = np.abs(y - z).max(initial=0.0) / scale
        if not wrong <= allowed:
            raise Wrong(f"{what}: {wrong:.3g} off, allowed {allowed:.3g}")


def outcome(cell: tuple[str, str, str], limit: float, log: Path, left: float = 3600) -> str:
    """What becomes of a cell, in a process of its own, within a limit of processor time; "cut off" after so many
    seconds."""
    child = os.fork()
    if child == 0:
        status = 3
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 10))
        signal.alarm(int(left) + 1)
        with open(log, "w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            try:
                check(*cell)
                status = 0
            except DalembertError as error:
                print(f"{type(error).__name__}: {error}", flush=True)
                status = 2
            except Wrong as error:
                print(error, flush=True)
                status = 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
    _, ended = os.waitpid(child, 0)
    if os.WIFSIGNALED(ended):
        return {signal.SIGXCPU: "TOO LONG", signal.SIGALRM: "cut off"}.get(os.WTERMSIG(ended), "ABORT")
    return {0: "right", 1: "WRONG", 2: "refused"}.get(os.WEXITSTATUS(ended), "RAW")


def run(
    chosen: list[tuple[str, str, str]], seconds: float, limit: float
) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    """Cells with their outcomes and what they said, until the time is over."""
    end = time.monotonic() + (seconds or float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        for cell in chosen:
            left = end - time.monotonic()
            if left <= 0:
                return
            found = outcome(cell, limit, log, left)
            yield cell, found, log.read_text(errors="replace").strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="how long; 0 for all of it")
    parser.add_argument("--limit", type=float, default=600, help="seconds of processor time for a cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--robots", nargs="*", default=None)
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    robots = [name for name in ROBOTS if options.robots is None or name.rpartition("/")[2] in options.robots]
    chosen = cells(robots, options.tasks, options.seed)
    count, bad = Counter[str](), []
    for cell, found, said in run(chosen, options.seconds, options.limit):
        count[found] += 1
        if found.isupper():
            bad.append([*cell, found, said])
            print(f"{found:8s} {' '.join(cell)}: {said.splitlines()[-1] if said else ''}", flush=True)
    figures = ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    print(f"{count.total()} of {len(chosen)} cells of {len(robots)} robots: {figures}")
    if options.json:
        options.json.write_text(json.dumps({"count": count, "of": len(chosen), "bad": bad}, indent=1))
    return bool(bad)


if __name__ == "__main__":
    raise SystemExit(main())

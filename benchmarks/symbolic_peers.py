"""CasADi with generated C, and two libraries under JAX, beside our kernels: fixed-base arms, one processor core.

Needs ``pip install casadi adam-robotics frax jax`` and a C compiler; what does not run is named and left out (adam 0.5
asks for JAX 0.6 at most). Each answer is compared with Pinocchio's before it is timed.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

import dalembert as da
from peers import Robot, robot

ARMS = ("ur5", "panda")
GRAVITY = np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])

Call = tuple[Callable[[], Any], Callable[[Any], np.ndarray]]
"""Evaluates a batch that is already where the library wants it; makes a NumPy array of the result."""


def run(names: list[str], batch: int = 10_000) -> list[dict[str, Any]]:
    """Print a table; one core only, whatever the libraries would like.

    Args:
        names: of robots; those with a fixed base are taken.
        batch: number of states.
    """
    warnings.simplefilter("ignore")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    print(f"\ncompiled peers on one core, {batch} states: ns per state, seconds until the first result")
    rows = []
    try:
        for name in names:
            if name in ARMS:
                rows += list(_of_robot(name, batch))
    finally:
        os.sched_setaffinity(0, cores)
    return rows


def _of_robot(name: str, batch: int) -> Iterator[dict[str, Any]]:
    r = robot(name)
    q, v, a = r.mechanism.random_state(np.random.default_rng(0), (batch,))
    for quantity in ("inverse_dynamics", "mass_matrix"):
        kernel = da.Dynamics(r.mechanism).kernel(quantity)
        ours = _best(lambda kernel=kernel: kernel(*(q, v, a)[: len(kernel.inputs)], threads=1)) / batch
        for peer, make in (("CasADi (adam), C", _casadi), ("adam, JAX", _adam_jax), ("frax, JAX", _frax)):
            start = time.perf_counter()
            try:
                call, to_numpy = make(r, quantity, (q, v, a))
                found = to_numpy(call())
            except Exception as error:  # not installed, or at odds with the versions that are
                print(f"{r.name:14}{quantity:20}{peer:18} does not run: {type(error).__name__}: {str(error)[:70]}")
                continue
            first = time.perf_counter() - start
            off = _difference(r, quantity, q[:20], v[:20], a[:20], found[:20])
            if not off < 1e-9:
                print(f"{r.name:14}{quantity:20}{peer:18} differs from Pinocchio by {off:.0e}; no time is kept")
                continue
            theirs = _best(call) / batch
            lost = "  SLOWER" if theirs < ours else ""
            print(
                f"{r.name:14}{quantity:20}{peer:18}{theirs * 1e9:9.1f}{first:8.2f} s   ours {ours * 1e9:8.1f}"
                f"   ratio {theirs / ours:7.1f}{lost}",
                flush=True,
            )
            yield {"robot": r.name, "quantity": quantity, "peer": peer, "ours": ours, "theirs": theirs, "first": first}


def _best(call: Callable[[], Any]) -> float:
    call()
    times = []
    for _ in range(5):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def _difference(r: Robot, quantity: str, q: np.ndarray, v: np.ndarray, a: np.ndarray, found: np.ndarray) -> float:
    """Worst difference to Pinocchio, relative to the largest number."""
    if quantity == "inverse_dynamics":
        wanted = np.array([pin.rnea(r.model, r.data, *state) for state in zip(q, v, a)])
    else:
        upper = [np.triu(pin.crba(r.model, r.data, x)) for x in q]
        wanted = np.array([U + np.triu(U, 1).T for U in upper])
    return float(np.abs(found - wanted).max() / np.abs(wanted).max())


def _urdf(r: Robot) -> str:
    """The robot without fixed joints, as a file: not every peer can lock joints or reads every robot's own file."""
    path = Path(tempfile.mkdtemp()) / "arm.urdf"
    da.write_urdf(da.merge_fixed(r.mechanism), path)
    return str(path)


def _joints(r: Robot) -> list[str]:
    return [joint.name for joint in r.mechanism.joints if joint.kind != "fixed"]


def _casadi(r: Robot, quantity: str, states: tuple[np.ndarray, ...]) -> Call:
    """The expressions of adam, compiled by the C compiler, mapped over the batch."""
    import casadi
    from adam.casadi import KinDynComputations

    n, joints, batch = r.mechanism.nv, _joints(r), len(states[0])
    computations = KinDynComputations(_urdf(r), joints, gravity=GRAVITY)
    q, v, a = (casadi.SX.sym(letter, len(joints)) for letter in "qva")
    still, here = casadi.SX.zeros(6), casadi.SX.eye(4)
    M = computations.mass_matrix(here, q)[6 : 6 + n, 6:]
    bias = computations.bias_force(here, q, still, v)[6 : 6 + n]
    result = M[:, :n] if quantity == "mass_matrix" else M @ a + bias
    function = casadi.Function("f", [q, v, a], [casadi.densify(result)], {"cse": True})
    with tempfile.TemporaryDirectory() as folder:
        generator = casadi.CodeGenerator("f.c")
        generator.add(function)
        generator.generate(folder + "/")
        library = Path(folder) / "f.so"
        options = ["-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC"]
        subprocess.run(["cc", *options, str(Path(folder) / "f.c"), "-lm", "-o", str(library)], check=True)
        mapped = casadi.external("f", str(library)).map(batch, "serial")
    given = [casadi.DM(x.T) for x in states]
    shape = (n, batch, n) if quantity == "mass_matrix" else (n, batch)
    return lambda: mapped(*given), lambda found: np.moveaxis(np.asarray(found).reshape(shape), 1, 0)


def _adam_jax(r: Robot, quantity: str, states: tuple[np.ndarray, ...]) -> Call:
    from adam.jax import KinDynComputations

    n = r.mechanism.nv
    computations = KinDynComputations(_urdf(r), _joints(r), gravity=GRAVITY)
    here, still = np.eye(4), np.zeros(6)

    def one(q: Any, v: Any, a: Any) -> Any:
        M = computations.mass_matrix(here, q)[6 : 6 + n, 6:]
        return M[:, :n] if quantity == "mass_matrix" else M @ a + computations.bias_force(here, q, still, v)[6 : 6 + n]

    return _under_jax(one, states)


def _frax(r: Robot, quantity: str, states: tuple[np.ndarray, ...]) -> Call:
    from frax import Robot as FraxRobot

    n, model = r.mechanism.nv, FraxRobot(_urdf(r))
    lift = np.array([0.0, 0.0, 9.81, 0.0, 0.0, 0.0])

    def one(q: Any, v: Any, a: Any) -> Any:
        return model.crba(q)[:n, :n] if quantity == "mass_matrix" else model.rnea(q, v, a, lift, None)[:n]

    return _under_jax(one, states)


def _under_jax(one: Callable[..., Any], states: tuple[np.ndarray, ...]) -> Call:
    import jax

    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(jax.vmap(one))
    given = [jax.numpy.asarray(x) for x in states]
    return lambda: compiled(*given).block_until_ready(), np.asarray

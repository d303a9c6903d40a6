"""Robots on their feet on a CUDA device, beside MuJoCo Warp and MJX; called by contact.py --gpu.

Kernels of all cells are compiled first, each in a process of its own, side by side: CuPy, Warp and JAX keep what they
compile. Only then is anything timed, one thing after the other. Needs no compiler of ours for processors: what is read
and checked on the host is evaluated by the interpreter. Cells for which no time is left are named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

import contact
import dalembert as da

CELLS = (
    ("go2", "float32", 4), ("go2", "float32", 10), ("talos", "float32", 10), ("g1", "float32", 10),
    ("go2", "float64", 10), ("go2", "float64", 4), ("talos", "float64", 10), ("g1", "float64", 10),
)  # fmt: skip
"""Robot, precision, sweeps; what matters most first."""

PEERS = (("warp", 65536), ("mjx", 16384), ("warp", 4096), ("mjx", 4096))

AIMS = {
    ("go2", "float32", 4096): 200, ("go2", "float32", 65536): 1000, ("go2", "float64", 65536): 200,
    ("talos", "float32", 65536): 150, ("g1", "float32", 65536): 150,
}  # fmt: skip
"""Million steps a second that were aimed at."""

FASTER = {"warp": 50, "mjx": 300}
"""How many times as fast as a peer was aimed at."""

HERE = os.path.dirname(os.path.abspath(__file__))

PER_RUN = 0.4
"""Seconds that a timed run should take, at most 1000 steps."""


def ours(name: str, dtype: str, sweeps: int, batches: list[int]) -> list[dict[str, Any]]:
    """Answers and nanoseconds per step of one world, for every size of a batch."""
    import cupy

    scene, found = contact.SCENES[name](), []
    dynamics, control = da.Dynamics(scene.mechanism, include=("armature",)), scene.control

    def run(q: Any, v: Any, steps: int, lift: bool = False) -> Any:
        done = da.rollout(
            dynamics, q, v, steps, contact.STEP, control=control, sweeps=sweeps, record=False, device="cuda", lift=lift
        )
        cupy.cuda.Device().synchronize()
        return done

    for worlds in batches:
        start = cupy.asarray(scene.start(worlds), dtype)
        still = cupy.zeros((worlds, scene.mechanism.nv), dtype)
        run(start, still, 1, True)  # compiles, or finds what is compiled
        began = time.perf_counter()
        settled = run(start, still, contact.SETTLE, True)
        steps = int(np.clip(PER_RUN * contact.SETTLE / (time.perf_counter() - began), 20, 1000))
        q, v = settled.final_q, settled.final_v
        last = run(q, v, steps)
        seconds = contact.best(lambda: run(q, v, steps), time.perf_counter)  # noqa: B023
        answers = contact.read(scene, dynamics, last, cupy)
        one = run(q[:64], v[:64], 1)
        error = contact.error_of_a_step(scene, dynamics, sweeps, (q[:64], v[:64]), one, cupy.asnumpy)
        cell = {"robot": name, "dtype": dtype, "sweeps": sweeps, "worlds": worlds, "error": error, **answers}
        cell |= {"ns": seconds / worlds / steps * 1e9, "steps": steps}
        cell["kept"] = cell["finite"] and error < (1e-9 if dtype == "float64" else 3e-2)
        print(contact.line(f"{dtype}, {sweeps} sweeps", cell))
        million, aim = 1e3 / cell["ns"], AIMS.get((name, dtype, worlds))
        print(
            f"    {worlds:6d} worlds: {million:8.1f} million steps a second{contact.missed(million, aim)}"
            f"{'' if cell['kept'] else '  not kept'}",
            flush=True,
        )
        found.append(cell)
    return found


def same_bits(name: str, dtype: str) -> dict[str, Any]:
    """Whether results depend on the run, on the batch, or on worlds that are lost."""
    import cupy

    scene = contact.SCENES[name]()
    dynamics = da.Dynamics(scene.mechanism, include=("armature",))
    control = scene.control
    q, v = cupy.asarray(scene.start(300), dtype), cupy.zeros((300, scene.mechanism.nv), dtype)

    def run(q: Any, v: Any) -> Any:
        return da.rollout(
            dynamics, q, v, 200, contact.STEP, control=control, sweeps=10, record=False, device="cuda", lift=True
        )  # fmt: skip

    return contact.same_bits(run, q, v, 1e30 if dtype == "float32" else 1e200)


def peer(name: str, worlds: int, once: bool, limit: float) -> dict[str, Any]:
    """What a peer printed; with ``error`` why it did not run."""
    command = [sys.executable, os.path.join(HERE, "contact_gpu_peers.py"), name, str(worlds), *["once"] * once]
    try:
        run = subprocess.run(command, cwd=HERE, capture_output=True, text=True, timeout=limit, check=True)
        return dict(json.loads(run.stdout.splitlines()[-1]))
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {limit:.0f} s"}
    except (subprocess.SubprocessError, json.JSONDecodeError, IndexError) as error:
        return {"error": "".join((getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1:])}


def prepared(limit: float) -> None:
    """Compile the kernels of all cells, at most so many seconds long."""
    began = time.perf_counter()
    own = {cell: [sys.executable, os.path.abspath(__file__), *map(str, cell)] for cell in CELLS}
    others = {
        cell: [sys.executable, os.path.join(HERE, "contact_gpu_peers.py"), cell[0], str(cell[1]), "once"]
        for cell in (("warp", 4096), *(x for x in PEERS if x[0] == "mjx"))
    }
    jobs = {
        cell: subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for cell, command in (own | others).items()
    }
    for cell, job in jobs.items():
        try:
            told = job.communicate(timeout=max(1.0, limit - (time.perf_counter() - began)))[0].split()
        except subprocess.TimeoutExpired:
            job.kill()
            print(f"  {' '.join(map(str, cell))}: not compiled after {limit:.0f} s", flush=True)
            continue
        if cell in own:
            print(f"  {' '.join(map(str, cell))} sweeps: {told[-1] if told else 'failed'} s", flush=True)


def compile_one(name: str, dtype: str, sweeps: int) -> float:
    """Seconds until the first step of a process, of which nothing was kept."""
    import cupy

    scene = contact.SCENES[name]()
    dynamics = da.Dynamics(scene.mechanism, include=("armature",))
    began = time.perf_counter()
    da.rollout(
        dynamics, cupy.asarray(scene.start(64), dtype), cupy.zeros((64, scene.mechanism.nv), dtype), 1, contact.STEP,
        control=scene.control, sweeps=sweeps, record=False, device="cuda", lift=True,
    )  # fmt: skip
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began


def everything(batches: list[int], limit: float) -> list[dict[str, Any]]:
    """All cells for which there is time.

    Args:
        limit: seconds for all of it.
    """
    import cupy

    began = time.perf_counter()

    def left() -> float:
        return limit - (time.perf_counter() - began)

    card = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{card}; dalembert {da.__version__}, CuPy {cupy.__version__}, NumPy {np.__version__}")
    print("compiled, all at once, each in a process of its own:", flush=True)
    prepared(0.45 * limit)
    found: list[dict[str, Any]] = []
    for k, (name, dtype, sweeps) in enumerate(CELLS):
        if k == 4:
            found += beside_peers(found, left)
        most = max(batches) if name == "go2" else 65536
        if left() < 10:
            print(f"{name}, {dtype}, {sweeps} sweeps: no time left")
            continue
        print(f"{name}, {dtype}, {sweeps} sweeps")
        found += ours(name, dtype, sweeps, [x for x in batches if x <= most])
    for dtype in ("float32", "float64"):
        if left() > 10:
            cell = same_bits("go2", dtype)
            print(f"go2, {dtype}: {contact.told_of_bits(cell)}", flush=True)
            found.append({"robot": "go2", "dtype": dtype, **cell})
    return found


def beside_peers(found: list[dict[str, Any]], left: Any) -> list[dict[str, Any]]:
    """MuJoCo Warp and MJX with the quadruped, float32, and how many times as fast ours is with as many worlds."""
    cells = []
    print("go2, float32, peers; ours with 10 sweeps and as many worlds")
    for name, worlds in PEERS:
        if left() < 60:
            print(f"  {name}, {worlds} worlds: no time left")
            continue
        cell = peer(name, worlds, False, min(120.0, left() - 30))
        if "error" in cell:
            print(f"  {name}, {worlds} worlds: does not run here: {cell['error']}", flush=True)
            continue
        own = [x for x in found if x["robot"] == "go2" and x["worlds"] == worlds and x["sweeps"] == 10 and x["kept"]]
        ratio = cell["ns"] / own[0]["ns"] if own else float("nan")
        print(
            f"  {name}, {worlds} worlds: {1e3 / cell['ns']:.2f} million steps a second, height {cell['height']:.3f} m; "
            f"ours is {ratio:.0f} times as fast{contact.missed(ratio, FASTER[name])}",
            flush=True,
        )
        cells.append({"robot": "go2", "peer": name, **cell, "ratio": ratio})
    return cells


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(f"{compile_one(sys.argv[1], sys.argv[2], int(sys.argv[3])):.1f}")

"""What first calls cost: seconds, machine code and memory of the compiler, for every kernel of every robot.

    python benchmarks/compilation.py                      every robot of example-robot-data, and random chains
    python benchmarks/compilation.py talos_reduced chain-64 --quantities mass_matrix forward_dynamics

Each kernel is made and called once by a process of its own with an empty cache. Seconds are those of the processor, so
that what else the machine does counts little. Memory is the most that the process has had beyond what it began with:
the program and its compiler, without Python and the libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import dalembert as da
from chains import chain_mechanism
from dalembert.dynamics.catalogue import ALL_QUANTITIES
from dalembert.errors import DalembertError, ModelWarning
from dalembert.formats.catalogue import example_robot_data

FIXED = ("ur", "panda", "kinova", "xarm", "z1", "so_arm", "allegro_hand", "double_pendulum", "asr_twodof", "finger_edu")
"""Folders of robots that are bolted down; all others move freely."""

AIM_SECONDS, AIM_HESSIAN_SECONDS, AIM_MEGABYTES = 10, 30, 300
"""What no kernel should take more than."""

CHAINS = tuple(f"chain-{n}" for n in (8, 16, 32, 64, 128))


def robots() -> list[str]:
    """Every robot once, by folder and file."""
    return [name for name in sorted(example_robot_data()) if "/" in name]


def mechanism(name: str) -> da.Mechanism:
    """A robot of the collection, with the base it has in use, or a random chain."""
    if name.startswith("chain-"):
        return chain_mechanism(int(name.split("-")[1]))
    known = example_robot_data()
    path = known[name]
    folder = next((key for key in known if "/" in key and known[key] == path), name).split("/")[0]
    return da.load(path, base="fixed" if folder in FIXED else "free")


def first_call(robot: da.Mechanism, quantity: str) -> dict[str, float]:
    """What making a kernel takes and calling it once, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            found: dict[str, Any] = _measure(robot, quantity)
        except DalembertError as error:
            found = {"error": str(error)}
        except BaseException as error:
            found = {"error": f"{type(error).__name__}: {error}", "bug": True}
        with os.fdopen(write, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else {"error": "the process ended", "bug": True}


def _measure(robot: da.Mechanism, quantity: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DALEMBERT_CACHE"] = folder
        memory = _status("VmRSS")
        begin, wall = time.process_time(), time.perf_counter()
        dyn = da.Dynamics(robot)
        options: dict[str, Any] = {}
        if "frame" in ALL_QUANTITIES[quantity].options:
            options["frame"] = robot.bodies[-1].name
        if quantity == "relative_motion":
            options["reference"] = robot.bodies[0].name
        kernel = dyn.kernel(quantity, **options)
        traced = kernel.program.executed
        middle = time.process_time()
        q, v, a = robot.random_state(np.random.default_rng(0))
        rng = np.random.default_rng(1)
        given = {"q": q, "v": v, "a": a, "tau": a}
        kernel(*(given.get(port.name, rng.normal(size=port.shape)) for port in kernel.inputs))
        end = time.process_time()
        return {
            "operations": traced,
            "trace": middle - begin,
            "compile": end - middle,
            "wall": time.perf_counter() - wall,
            "code": sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 1e6,
            "memory": _status("VmHWM") - memory,
        }


def _status(entry: str) -> float:
    """Memory of this process in MB; ``getrusage`` would count that of the parent."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(entry))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robots", nargs="*", default=[*robots(), *CHAINS])
    parser.add_argument("--quantities", nargs="+", default=list(ALL_QUANTITIES))
    given = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    print(f"{'robot':44}{'nv':>4}  {'quantity':38}{'operations':>11}{'trace':>7}{'compile':>8}{'code MB':>9}{'MB':>6}")
    worst: dict[str, tuple[float, str]] = {}
    late = []
    for name in given.robots:
        robot = mechanism(name)
        if not robot.nv:
            continue
        for quantity in given.quantities:
            found = first_call(robot, quantity)
            label = f"{name:44}{robot.nv:4d}  {quantity:38}"
            if "error" in found:
                if "bug" in found:
                    print(f"{label} {found['error']}"[:160])
                continue
            seconds = found["trace"] + found["compile"]
            limit = AIM_HESSIAN_SECONDS if quantity == "inverse_dynamics_hessian" else AIM_SECONDS
            mark = f"  > {limit} s" if seconds > limit else ""
            if mark:
                late.append(f"{name} {quantity}: {seconds:.1f} s")
            for entry, value in (("seconds", seconds), ("code", found["code"]), ("memory", found["memory"])):
                worst[entry] = max(worst.get(entry, (0.0, "")), (value, f"{name} {quantity}"))
            print(
                f"{label}{found['operations']:11d}{found['trace']:7.2f}{found['compile']:8.2f}"
                f"{found['code']:9.2f}{found['memory']:6.0f}{mark}",
                flush=True,
            )
    for entry, (value, label) in worst.items():
        print(f"most {entry}: {value:.1f}, {label}")
    print(f"{len(late)} kernels take longer than they should" + (": " + "; ".join(late) if late else ""))


if __name__ == "__main__":
    sys.exit(main())

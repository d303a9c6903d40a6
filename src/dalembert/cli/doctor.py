"""Report on the installation: versions, processor, cache, graphics card, optional packages and how to get them.

A small kernel is compiled and its answer checked; the exit code is 1 if that fails. Put the output into bug reports.

examples:
  dalembert doctor
  dalembert doctor --json
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import dalembert
from dalembert.cli.options import add_common
from dalembert.cli.terminal import Cell, Terminal, duration

SUMMARY = "report on the installation"

REQUIRED = ("numpy", "scipy", "sympy", "llvmlite")
OPTIONAL = {
    "mujoco": ("MuJoCo, for compare and for what only it reads of MJCF", "pip install 'dalembert[mjcf]'"),
    "pin": ("Pinocchio, for verify, bench and compare", "pip install 'dalembert[peers]'"),
    "drake": ("Drake, for compare", "pip install 'dalembert[drake]'"),
    "example-robot-data": ("seventy robots by name", "pip install 'dalembert[peers]'"),
    "robot_descriptions": ("more robots by name, downloaded when used", "pip install robot_descriptions"),
    "imageio": ("films as GIF", "pip install 'dalembert[video]'"),
    "imageio-ffmpeg": ("films as MP4 and WebM", "pip install 'dalembert[video]'"),
    "viser": ("the live view", "pip install 'dalembert[live]'"),
    "matplotlib": ("pictures", "pip install 'dalembert[plot]'"),
    "latex2mathml": ("reports and equations in HTML", "pip install 'dalembert[report]'"),
    "pandas": ("trajectories as tables", "pip install 'dalembert[tables]'"),
    "pyarrow": ("trajectories and sweeps as Parquet", "pip install 'dalembert[tables]'"),
    "xarray": ("trajectories as labelled arrays", "pip install 'dalembert[tables]'"),
    "zarr": ("results of sweeps in chunks", "pip install 'dalembert[tables]'"),
    "distributed": ("sweeps on a Dask cluster", "pip install 'dalembert[cluster]'"),
    "control": ("linear models for python-control", "pip install 'dalembert[control]'"),
    "torch": ("gradients for PyTorch", "pip install 'dalembert[torch]'"),
    "jax": ("gradients for JAX", "pip install 'dalembert[jax]'"),
    "casadi": ("functions of CasADi, both ways", "pip install 'dalembert[casadi]'"),
    "xacro": ("xacro files", "pip install 'dalembert[xacro]'"),
    "fmpy": ("validation and simulation of FMUs", "pip install 'dalembert[fmi]'"),
    "ziglang": ("a C compiler, for binaries of FMUs", "pip install 'dalembert[fmi]'"),
    "mcap": ("logs of robots, for identify", "pip install 'dalembert[logs]'"),
    "mcap-ros2-support": ("ROS 2 messages in such logs", "pip install 'dalembert[logs]'"),
    "cupy": ("kernels on CUDA devices", "pip install 'dalembert[cuda]'"),
}
"""Distribution -> what it is for, and how to get it."""

FEATURES = ("avx", "avx2", "fma", "avx512f", "neon", "sve")
"""Of the processor's features, those that matter for speed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    terminal.progress("looking around ...")
    report: dict[str, Any] = {
        "versions": _versions(),
        "processor": _processor(),
        "cache": _cache(),
        "gpu": _gpus(),
        "optional": _optional(),
        "compiler": _compile(),
    }
    sound = bool(report["compiler"]["works"]) and all(report["versions"][name] for name in REQUIRED)
    if options.json:
        terminal.json(report | {"sound": sound})
        return 0 if sound else 1
    for title, facts in report.items():
        if title not in ("optional", "gpu"):
            terminal.title(title)
            terminal.table(("", ""), [(name.replace("_", " "), _text(value)) for name, value in facts.items()], left=2)
    terminal.title("graphics cards")
    for line in report["gpu"] or ["none found by nvidia-smi; kernels run on the CPU, `export --language cuda` works"]:
        terminal.say(f"  {line}")
    terminal.title("optional packages")
    rows = [
        (name, Cell(found["version"], "good") if found["version"] else Cell(found["how"], "dim"), found["purpose"])
        for name, found in report["optional"].items()
    ]
    terminal.table(("", "", ""), rows, left=3)
    terminal.say()
    if not sound:
        terminal.say("Something is wrong; see above.", "bad")
    elif report["cache"].get("writable", True) is not True:
        terminal.say("All works, but slowly: kernels cannot be kept for the next process; see cache.", "warning")
    else:
        terminal.say("All is well.", "good")
    return 0 if sound else 1


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else "missing" if value is None else str(value)


def _version(distribution: str) -> str | None:
    wheels = {"cupy": ("cupy", "cupy-cuda12x", "cupy-cuda13x")}.get(distribution, (distribution,))
    for name in wheels:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def _versions() -> dict[str, str | None]:
    found: dict[str, str | None] = {
        "dalembert": dalembert.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}",
        "system": platform.platform(),
    }
    found |= {name: _version(name) for name in REQUIRED}
    if found["llvmlite"]:
        import llvmlite.binding as llvm

        found["llvm"] = ".".join(map(str, llvm.llvm_version_info))
    return found


def _processor() -> dict[str, Any]:
    from dalembert.native.llvm.target import Target
    from dalembert.native.threads import default_threads

    target = Target.host()
    features = target.features.split(",")
    return {
        "name": target.cpu,
        "architecture": target.triple,
        "features": [name for name in FEATURES if f"+{name}" in features],
        "states_at_once": f"{target.lanes('float64').width} in float64, {target.lanes('float32').width} in float32",
        "cores": os.cpu_count(),
        "threads": default_threads(),
    }


def _cache() -> dict[str, Any]:
    from dalembert.native.cache import default_cache

    folder = default_cache().folder
    if folder is None:
        return {"folder": "off: kernels are compiled anew in every process", "set_by": "DALEMBERT_CACHE"}
    sizes = []
    if folder.is_dir():
        for entry in os.scandir(folder):
            try:
                sizes.append(entry.stat(follow_symlinks=False).st_size)
            except OSError:  # removed by another process meanwhile
                continue
    return {
        "folder": str(folder),
        "set_by": "DALEMBERT_CACHE" if os.environ.get("DALEMBERT_CACHE") else "default; DALEMBERT_CACHE changes it",
        "entries": len(sizes),
        "size": f"{sum(sizes) / 1e6:.1f} MB",
        "writable": _writable(folder),
    }


def _writable(folder: Path) -> bool | str:
    """True if files can be made there, else why not and what helps."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        return f"no, {error.strerror}: kernels are compiled anew in every process; set DALEMBERT_CACHE"


def _gpus() -> list[str]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    query = [tool, "--query-gpu=name,memory.total,driver_version,compute_cap", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return [f"nvidia-smi does not answer: {error}"]
    return [line.strip() for line in answer.splitlines() if line.strip()]


def _optional() -> dict[str, dict[str, str | None]]:
    return {
        name: {"version": _version(name), "purpose": purpose, "how": how} for name, (purpose, how) in OPTIONAL.items()
    }


def _compile() -> dict[str, Any]:
    """Compile a small kernel afresh and compare its answers with NumPy's."""
    import numpy as np

    from dalembert.errors import CompilerError
    from dalembert.native.kernel import Kernel
    from dalembert.tracing.trace import trace

    start = time.perf_counter()
    program = trace(lambda x, y: x.sin() * y + (x * x + 1).sqrt(), {"x": (), "y": ()}, "doctor", "z")
    try:
        kernel = Kernel("doctor", program.inputs, program.outputs, program)
        x = np.linspace(-3.0, 3.0, 101)
        off = np.abs(kernel(x, 2.0) - (np.sin(x) * 2.0 + np.sqrt(x * x + 1))).max()
    except (CompilerError, OSError, RuntimeError) as error:
        return {"works": False, "problem": str(error)}
    took = duration(time.perf_counter() - start)
    return {"works": bool(off < 1e-14), "first_kernel": took, "difference_to_NumPy": f"{off:.0e}"}

"""Room that exported C takes on a microcontroller: the estimate of ``max_code=`` beside what Clang makes of it.

    pip install ziglang example-robot-data
    python benchmarks/code_size.py

Sizes are those of code and constants of the function of one state, Cortex-M4 (float) and Cortex-M7 (double), -Os. Each
source is first compiled for this machine, run, and compared with the kernel.
"""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.formats.catalogue import example_robot_data
from dalembert.printing.code_size import code_size

ROBOTS = {"rp_arm": None, "demo_arm": None, "panda": None, "talos_reduced": "free", "g1_29dof_rev_1_0": "free"}
"""Name -> base."""

QUANTITIES = (
    ("inverse_dynamics", {}),
    ("inverse_dynamics", {"algorithm": "newton-euler-loops"}),
    ("mass_matrix", {}),
    ("forward_dynamics", {}),
)
PROCESSORS = {"float32": "cortex_m4", "float64": "cortex_m7"}
MATH = "".join(
    f"{kind} {name}{suffix}({', '.join([kind] * count)});\n"
    for kind, suffix in (("double", ""), ("float", "f"))
    for name, count in {**dict.fromkeys(("sin", "cos", "tan", "sqrt", "exp", "log", "fabs"), 1), "atan2": 2}.items()
)


def compiler() -> list[str]:
    """Zig's Clang, which knows every processor; from PyPI."""
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", "-w", "-Os"]


def size_of(source: str, processor: str, folder: Path) -> int:
    """Bytes of the sections of an object that are loaded, without the batch function."""
    (folder / "math.h").write_text(MATH)
    body = source.index("#include <math.h>")
    begin = source.rindex("void ", body, source.index("_batch(const", body))
    (folder / "x.c").write_text(source[:begin])
    target = ["-target", "thumb-freestanding-eabihf", f"-mcpu={processor}", f"-I{folder}"]
    subprocess.run([*compiler(), *target, "-c", folder / "x.c", "-o", folder / "x.o"], check=True)
    image = (folder / "x.o").read_bytes()
    (start,) = struct.unpack_from("<I", image, 32)
    step, count = struct.unpack_from("<HH", image, 46)
    sections = [struct.unpack_from("<IIIIII", image, start + k * step) for k in range(count)]
    return sum(size for _, kind, flags, _, _, size in sections if flags & 2 and kind == 1)


def error_of(source: str, kernel, state, folder: Path) -> float:
    """How far the source, compiled for this machine, is from the kernel, relative to its largest result."""
    (folder / "y.c").write_text(source)
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-shared", "-fPIC", folder / "y.c", "-o", folder / "y.so", "-lm"], check=True
    )
    library = ctypes.CDLL(str(folder / "y.so"))
    real = np.float32 if kernel.dtype == "float32" else np.float64
    given = [np.ascontiguousarray(x, dtype=real) for x in state]
    right = np.asarray(kernel(*given))
    found = np.zeros(right.shape, dtype=real)
    getattr(library, kernel.name)(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, found)))
    return float(np.abs(found - right).max() / np.abs(right).max())


def mechanism(name: str) -> da.Mechanism:
    known = {path.stem: path for path in example_robot_data().values()}
    model = da.load(known.get(name, name), **({"base": ROBOTS[name]} if ROBOTS[name] else {}))
    return da.substitute(model, dict.fromkeys(model.symbols, 1.0)) if model.symbols else model


def main() -> None:
    print(f"{'robot':16} {'type':8} {'quantity':53} {'estimate':>9} {'compiled':>9} {'ratio':>6}  {'error':>7}")
    for name in ROBOTS:
        try:
            model = mechanism(name)
        except da.errors.DalembertError as problem:
            print(f"{name}: left out, {problem}")
            continue
        q, v, a = model.random_state(np.random.default_rng(0))
        for dtype, processor in PROCESSORS.items():
            dynamics = da.Dynamics(model, dtype=dtype)
            for quantity, options in QUANTITIES:
                kernel = dynamics.kernel(quantity, **options)
                source = dynamics.export(quantity, "c", **options)
                state = {"mass_matrix": (q,)}.get(quantity, (q, v, a))
                with tempfile.TemporaryDirectory() as scratch:
                    error = error_of(source, kernel, state, Path(scratch))
                with tempfile.TemporaryDirectory() as scratch:
                    size = size_of(source, processor, Path(scratch))
                guess = code_size(kernel.program, "float" if dtype == "float32" else "double")
                title = " ".join([quantity, *options.values()])
                figures = f"{guess:9} {size:9} {guess / size:6.2f}  {error:7.0e}"
                print(f"{name:16} {dtype:8} {title:53} {figures}", flush=True)


if __name__ == "__main__":
    main()

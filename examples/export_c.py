"""Inverse dynamics as plain C, for a microcontroller: written, compiled, called, compared.

The exported function has no loops, no memory of its own and nothing but <math.h>. Where a C compiler is installed it is
compiled and called through ctypes; the results agree with the kernel to rounding.
"""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import dalembert as da
from _pictures import save

arm = da.load("demo_arm")
dynamics = da.Dynamics(arm)
folder = Path(tempfile.mkdtemp())
source = folder / "inverse_dynamics.c"
text = dynamics.export("inverse_dynamics", "c", source)
header = source.with_suffix(".h").read_text()
prototype = next(line for line in header.splitlines() if line.startswith("void"))
print(f"{len(text.splitlines())} lines of C;  {prototype}")
print(dynamics.cost("inverse_dynamics"))

compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
q, v, a = arm.random_state(np.random.default_rng(0), (100,))
expected, found = dynamics.inverse_dynamics(q, v, a), None
if compiler is None:
    print("no C compiler here; the source is complete all the same")
else:
    library = folder / "library.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True, timeout=120)
    function = ctypes.CDLL(str(library)).inverse_dynamics
    found = np.empty_like(expected)
    for k in range(len(q)):
        arguments = [x[k].ctypes.data_as(ctypes.c_void_p) for x in (q, v, a, found)]
        function(*arguments)
    difference = np.abs(found - expected).max()
    print(f"largest difference from the kernel: {difference:.1e} N m")
    assert difference < 1e-11


def draw(figure):
    figure.text(0.02, 0.97, "\n".join(text.splitlines()[:34]), family="monospace", fontsize=7, va="top")


save("export_c", draw, size=(8, 5))

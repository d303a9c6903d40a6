"""Exported C for small processors: loops over tables, the size that is told, and the bound that is kept.

Compiled sizes are those of this machine's compiler; the estimate is made for another processor, so a factor of two.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.cli import main
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism
from dalembert.printing.code_size import code_size, shown_size
from random_mechanisms import random_mechanism

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")


def hexapod() -> Mechanism:
    """Six equal legs of five links on a floating body."""
    rng = np.random.default_rng(3)
    bodies, joints = [Body("trunk", Inertia.box(5.0, (0.4, 0.3, 0.1)))], [Joint("base", "free", WORLD, "trunk")]
    for leg in range(6):
        inner = "trunk"
        for k in range(5):
            name = f"leg{leg}.{k}"
            inertia = Inertia.box(1.0, (0.1, 0.2, 0.3), center=rng.normal(size=3))
            bodies.append(Body(name, inertia))
            axis, at = rng.normal(size=3), Transform.from_translation(rng.normal(size=3))
            axis /= np.linalg.norm(axis)
            joints.append(Joint(f"{name}.hinge", "revolute", inner, name, at, axis=axis))
            inner = name
    return Mechanism("hexapod", bodies, joints)


def compiled(source: str, folder, kernel, *state):
    """What the C of a kernel makes of a state, and the bytes of its code and constants."""
    (folder / "x.c").write_text(source)
    run = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Os"]
    subprocess.run([*run, "-shared", "-fPIC", "-o", folder / "x.so", folder / "x.c", "-lm"], check=True)
    function = getattr(ctypes.CDLL(str(folder / "x.so")), kernel.name)
    real = np.dtype(kernel.dtype or "float64")
    given = [np.ascontiguousarray(x, dtype=real) for x in state]
    result = np.zeros(kernel.outputs[0].shape, dtype=real)
    function(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*given, result)))
    return result


@needs_compiler
@pytest.mark.parametrize("model", [hexapod(), random_mechanism(5, 12, mimic=0.3), da.load("demo_arm")])
@pytest.mark.parametrize(("dtype", "close"), [("float64", 1e-12), ("float32", 3e-5)])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "bias", "gravity"])
def test_loops_in_c_compute_what_the_kernel_does(model, quantity, dtype, close, tmp_path):
    dynamics = da.Dynamics(model, dtype=dtype)
    kernel = dynamics.kernel(quantity)
    state = model.random_state(np.random.default_rng(1))[: len(kernel.inputs)]
    source = dynamics.export(quantity, "c", algorithm="newton-euler-loops")
    found = compiled(source, tmp_path, kernel, *state)
    right = np.asarray(da.Dynamics(model).kernel(quantity)(*state))
    assert np.abs(found - right).max() <= close * np.abs(right).max()


def test_equal_legs_share_one_step_out_and_one_back():
    source = da.Dynamics(hexapod()).export("inverse_dynamics", "c", algorithm="newton-euler-loops")
    steps = re.findall(r"^static void (inverse_dynamics_step\w*)\(", source, re.MULTILINE)
    assert len(steps) == 2
    assert all(len(re.findall(rf"^ +{name}\(", source, re.MULTILINE)) == 6 for name in steps)
    assert source.count("static const double") <= 6 * (5 + 2)  # what a leg has of each kind of numbers, out and back


def test_what_is_too_long_written_out_becomes_loops_and_what_does_not_fit_is_refused():
    model = hexapod()
    dynamics = da.Dynamics(model, dtype="float32")
    long, short = (
        code_size(dynamics.program("inverse_dynamics", **options), "float")
        for options in ({}, {"algorithm": "newton-euler-loops"})
    )
    assert short < long / 2
    assert "_step" not in dynamics.export("inverse_dynamics", "c", max_code=long)
    looped = dynamics.export("inverse_dynamics", "c", max_code=long - 1)
    assert "_step" in looped and f"About {shown_size(short)} of code" in re.sub(r"[\s*]+", " ", looped)
    with pytest.raises(ArgumentError, match=rf"written out, {re.escape(shown_size(short))} in loops, and 1 kB"):
        dynamics.export("inverse_dynamics", "c", max_code=1000)
    with pytest.raises(ArgumentError, match="with dtype='float32' it is about half as long"):
        da.Dynamics(model).export("mass_matrix", "c", max_code=1000)
    for wrong in (0, -5, 1.5, "16k", True):
        with pytest.raises(ArgumentError, match="number of bytes"):
            dynamics.export("gravity", "c", max_code=wrong)
    with pytest.raises(ArgumentError, match="'c' only"):
        dynamics.export("gravity", "python", max_code=1000)


@needs_compiler
@pytest.mark.skipif(shutil.which("size") is None, reason="needs the program size")
@pytest.mark.parametrize("options", [{}, {"algorithm": "newton-euler-loops"}])
def test_the_estimate_is_near_what_a_compiler_makes(options, tmp_path):
    dynamics = da.Dynamics(hexapod(), dtype="float32")
    source = dynamics.export("inverse_dynamics", "c", **options)
    (tmp_path / "x.c").write_text(source)
    subprocess.run(["cc", "-std=c99", "-Os", "-c", "-o", tmp_path / "x.o", tmp_path / "x.c"], check=True)
    found = subprocess.run(["size", tmp_path / "x.o"], capture_output=True, text=True, check=True).stdout
    text, data = map(int, found.splitlines()[1].split()[:2])
    assert 0.5 < (text + data) / code_size(dynamics.program("inverse_dynamics", **options), "float") < 2


def test_the_command_line_takes_bytes_and_kilobytes(tmp_path, capsys):
    to = str(tmp_path) + "/"
    assert main(["export", "demo_arm", "inverse_dynamics", "--single", "--max-code", "16k", "--to", to]) == 0
    assert "on a Cortex-M" in (tmp_path / "inverse_dynamics.c").read_text()
    assert main(["export", "demo_arm", "inverse_dynamics", "--single", "--max-code", "200", "--to", to]) != 0
    assert "written out" in capsys.readouterr().err
    assert main(["export", "demo_arm", "inverse_dynamics", "--max-code", "many"]) != 0
    assert "16k" in capsys.readouterr().err

"""What a unit refuses, and what it says of itself; asked of the binary, without an importer."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dalembert as da
from dalembert.errors import ModelWarning
from dalembert.fmi import compiler

SCRIPT = """
import ctypes, sys
from ctypes import c_double, c_void_p, c_int, c_char_p, byref
path, version, token, time, step = sys.argv[1:]
unit = ctypes.CDLL(path)
start, made = c_double(), c_void_p
if version == "2":
    unit.fmi2Instantiate.restype = made
    calls = (c_void_p * 5)()
    c = c_void_p(unit.fmi2Instantiate(b"x", 1, token.encode(), b"", calls, 0, 0))
    unit.fmi2SetupExperiment(c, 0, c_double(0), c_double(0), 0, c_double(0))
    unit.fmi2EnterInitializationMode(c)
    unit.fmi2ExitInitializationMode(c)
    print(unit.fmi2DoStep(c, c_double(float(time)), c_double(float(step)), 0))
else:
    unit.fmi3InstantiateCoSimulation.restype = made
    c = c_void_p(unit.fmi3InstantiateCoSimulation(b"x", token.encode(), b"", *[0] * 4, None, c_void_p(0), *[None] * 3))
    unit.fmi3EnterInitializationMode(c, 0, c_double(0), c_double(0), 0, c_double(0))
    unit.fmi3ExitInitializationMode(c)
    flags = (ctypes.c_bool * 3)()
    at = [byref(flags, k) for k in range(3)]
    print(unit.fmi3DoStep(c, c_double(float(time)), c_double(float(step)), 0, *at, byref(start)))
"""
OK, DISCARD, ERROR = 0, 2, 3


@pytest.fixture(scope="module")
def binaries(tmp_path_factory):
    folder, found = tmp_path_factory.mktemp("units"), {}
    dynamics = da.Dynamics(da.load("double_pendulum", parameters="default"))
    for version in (2, 3):
        path = folder / f"{version}.fmu"
        dynamics.fmu(path, version, q=[0.5, -0.3])
        with zipfile.ZipFile(path) as file:
            file.extractall(folder / str(version))
        text = (folder / str(version) / "modelDescription.xml").read_text(encoding="utf-8")
        token = text.split('guid="' if version == 2 else 'instantiationToken="')[1].split('"')[0]
        (library,) = (x for x in (folder / str(version) / "binaries").rglob("*") if x.is_file())
        found[version] = (library, token)
    return found


@pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("time", "step", "status"),
    [
        ("0", "0.01", OK), ("0", "inf", ERROR), ("0", "nan", ERROR), ("inf", "1", ERROR), ("nan", "1", ERROR),
        ("0", "-1", ERROR), ("1e308", "1.7e308", ERROR), ("0", "1e300", DISCARD), ("1e17", "1e5", DISCARD),
    ],
)  # fmt: skip
def test_a_step_that_never_ends_is_refused(binaries, version, time, step, status):
    call = [sys.executable, "-c", SCRIPT, str(binaries[version][0]), str(version), binaries[version][1], time, step]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(status), done.stderr


@pytest.mark.parametrize("version", [2, 3])
def test_a_unit_says_that_contacts_do_not_act(tmp_path: Path, version):
    ball = da.Shape.sphere(0.1)
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(ball,))
    contact = da.Contact("touch", "ball", "world", friction=0.5, shape_a=ball, shape_b=da.Ground.plane())
    scene = da.Mechanism("drop", (body,), (da.Joint("base", "free", "world", "ball"),), contacts=(contact,))
    with pytest.warns(ModelWarning, match="contacts .touch., which Dynamics.fmu leaves out"):
        da.Dynamics(scene).fmu(tmp_path / "drop.fmu", version, binary=False)
    with zipfile.ZipFile(tmp_path / "drop.fmu") as file:
        text = file.read("modelDescription.xml").decode()
    assert 'description="rigid multibody system drop; contacts do not act: touch"' in text

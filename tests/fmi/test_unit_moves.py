"""Units move as `simulate` does, asked of their binaries without an importer, so that this is tried everywhere."""

from __future__ import annotations

import ctypes
import zipfile
from ctypes import byref, c_double, c_int, c_uint, c_void_p
from xml.etree import ElementTree

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra.scalar import sin
from dalembert.fmi import compiler

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")


class Unit:
    """A unit of FMI 2 for co-simulation."""

    def __init__(self, path, folder, tolerance: float):
        with zipfile.ZipFile(path) as file:
            file.extractall(folder)
        root = ElementTree.parse(folder / "modelDescription.xml").getroot()
        self.place = {x.get("name"): int(x.get("valueReference")) for x in root.iter("ScalarVariable")}
        (library,) = (x for x in (folder / "binaries").rglob("*") if x.is_file())
        self.library = ctypes.CDLL(str(library))
        self.library.fmi2Instantiate.restype = c_void_p
        self.calls = (c_void_p * 5)()
        made = self.library.fmi2Instantiate(b"x", 1, root.get("guid").encode(), b"", self.calls, 0, 0)
        self.unit = c_void_p(made)
        self.do("SetupExperiment", 1, c_double(tolerance), c_double(0), 0, c_double(0))
        self.do("EnterInitializationMode")
        self.do("ExitInitializationMode")

    def do(self, name: str, *arguments) -> None:
        status = getattr(self.library, f"fmi2{name}")(self.unit, *arguments)
        assert status == 0, f"{name}: {status}"

    def get(self, names) -> np.ndarray:
        places, values = (c_uint * len(names))(*(self.place[x] for x in names)), (c_double * len(names))()
        self.do("GetReal", places, c_int(len(names)), byref(values))
        return np.array(values)

    def set(self, name: str, value: float) -> None:
        self.do("SetReal", (c_uint * 1)(self.place[name]), c_int(1), (c_double * 1)(value))


def four_bar() -> da.Dynamics:
    """A loop under a motor force of time, and a spring."""
    plain = da.load("four_bar", parameters="default")
    forces = [
        da.Force("coil", "joint-spring", "pivot", stiffness=2.0, damping=0.1, rest=1.2),
        da.Force("motor", "joint-force", "drive", function=lambda t: 0.5 * sin(3 * t)),
    ]
    return da.Dynamics(plain.replace(forces=forces), reference=[1.0, -0.7, 1.6])


def satellite() -> da.Dynamics:
    hull = da.Body("hull", da.Inertia(3.0, [0.01, 0, 0.02], np.diag([0.2, 0.3, 0.4])))
    wheel = da.Body("wheel", da.Inertia(0.5, [0, 0, 0.1], np.diag([0.01, 0.01, 0.02])))
    axle = da.Joint("axle", "revolute", "hull", "wheel", axis=[0, 0, 1], damping=0.3)
    mechanism = da.Mechanism("satellite", [hull, wheel], [da.Joint("base", "free", "world", "hull"), axle])
    return da.Dynamics(mechanism, include=["damping"])


@pytest.mark.parametrize("made", [four_bar, satellite])
def test_a_unit_moves_as_simulate_does_under_forces_of_time_and_inputs(made, tmp_path):
    dynamics = made()
    m = dynamics.mechanism
    q = dynamics.assemble() if m.constraints else m.neutral
    v = dynamics.project_velocity(q, 0.5 * np.ones(m.nv)) if m.constraints else np.linspace(0.1, 2, m.nv)
    dynamics.fmu(tmp_path / "unit.fmu", 2, q=q, v=v)
    unit = Unit(tmp_path / "unit.fmu", tmp_path / "unit", 1e-10)
    states = [name for name in unit.place if name.startswith(("q.", "v."))]
    push = np.zeros(m.nv)
    push[-1] = 0.2
    force = [name for name in unit.place if name.startswith("tau.")][-1]
    unit.set(force, 0.2)
    times = np.linspace(0, 1.0, 11)
    motion = da.simulate(dynamics, q, v, times, control=push, rtol=1e-11, atol=1e-11)
    for t, step, wanted in zip(times[:-1], np.diff(times), np.hstack([motion.q, motion.v])[1:]):
        unit.do("DoStep", c_double(t), c_double(step), c_int(0))
        np.testing.assert_allclose(unit.get(states), wanted, atol=1e-6)


def test_a_unit_closes_what_drifted_open(tmp_path):
    """Over ten seconds, at a coarse tolerance, both the loop and its velocities."""
    dynamics = four_bar()
    q = dynamics.assemble()
    dynamics.fmu(tmp_path / "unit.fmu", 2, q=q, v=dynamics.project_velocity(q, [0.5, 0, 0]))
    unit = Unit(tmp_path / "unit.fmu", tmp_path / "unit", 1e-4)
    for k in range(100):
        unit.do("DoStep", c_double(0.1 * k), c_double(0.1), c_int(0))
    positions, speeds = (unit.get([n for n in unit.place if n.startswith(f"{x}.")]) for x in "qv")
    phi, G = dynamics.evaluate("positions", positions, 10.0)
    assert np.abs(phi).max() < 1e-6 and np.abs(G @ speeds).max() < 1e-6

"""Functional mock-up units: FMPy finds them valid, loads them, and they move as `simulate` does."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ArgumentError, CompilerError, ModelWarning
from dalembert.fmi import archive, compiler
from dalembert.fmi.unit import exponents, legal_names
from dalembert.model.operations import with_gravity

fmpy = pytest.importorskip("fmpy")
from fmpy.validation import validate_fmu  # noqa: E402

pytestmark = pytest.mark.skipif(compiler.find_compiler() is None, reason="no C compiler")

FOUR_BAR = [1.0, -0.7, 1.6]


@cache
def double_pendulum() -> da.Dynamics:
    mechanism = da.load("double_pendulum", parameters="default")
    masses = [address for address in da.parameters(mechanism) if address.endswith(".mass")]
    return da.Dynamics(mechanism, parameters=masses, wrenches=[mechanism.bodies[-1].name])


@cache
def four_bar() -> da.Dynamics:
    """With a spring that acts on a joint, and time in it: a motor force."""
    plain = da.load("four_bar", parameters="default")
    t = sympy.Symbol("t")
    forces = [
        da.Force("coil", "joint-spring", "pivot", stiffness=2.0, damping=0.1, rest=1.2),
        da.Force("motor", "joint-force", "drive", function=0.5 * sympy.sin(3 * t)),
    ]
    return da.Dynamics(plain.replace(forces=forces), reference=FOUR_BAR)


@cache
def satellite() -> da.Dynamics:
    """A free body with a wheel on a joint."""
    hull = da.Body("hull", da.Inertia(3.0, [0.01, 0, 0.02], np.diag([0.2, 0.3, 0.4])))
    wheel = da.Body("wheel", da.Inertia(0.5, [0, 0, 0.1], np.diag([0.01, 0.01, 0.02])))
    joints = [
        da.Joint("base", "free", "world", "hull"),
        da.Joint("axle", "revolute", "hull", "wheel", axis=[0, 0, 1]),
    ]
    return da.Dynamics(da.Mechanism("satellite", [hull, wheel], joints))


@cache
def units(name: str, version: int) -> Path:
    """The file of a unit, made once."""
    folder = Path(TEMPORARY[0])
    path = folder / f"{name}_{version}.fmu"
    dynamics = {"double_pendulum": double_pendulum, "four_bar": four_bar, "satellite": satellite}[name]()
    outputs = {
        "double_pendulum": ["kinetic_energy", "forward_dynamics", "jacobian"],
        "four_bar": ["energy"],
        "satellite": [],
    }[name]
    frame = dynamics.mechanism.bodies[-1].name
    chosen = [(x, {"frame": frame}) if x == "jacobian" else x for x in outputs]
    start = {
        "double_pendulum": {"q": [0.5, -0.3], "v": [0.2, 0.4]},
        "four_bar": {"q": FOUR_BAR, "v": {"drive": 0.5}},
        "satellite": {"v": [0.1, 0.2, 0.3, 2.0, 0.3, -1.0, 5.0]},
    }[name]
    dynamics.fmu(path, version, outputs=chosen, **start)
    return path


TEMPORARY: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    TEMPORARY[:] = [str(tmp_path_factory.mktemp("units"))]


NAMES = ("double_pendulum", "four_bar", "satellite")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_units_are_valid_and_small(name, version):
    path = units(name, version)
    assert validate_fmu(str(path)) == []
    assert path.stat().st_size < 200_000
    names = zipfile.ZipFile(path).namelist()
    assert any(inside.startswith("binaries/") for inside in names)
    assert ("sources/buildDescription.xml" in names) == (version == 3)


def simulated(path: Path, kind: str, stop: float, **options):
    """Times and states of a motion by FMPy."""
    # CVode controls the error of each step: after a second it is several thousand times the tolerance, at 1e-11 1.1e-8.
    step = {"step_size": 0.05} if kind == "CoSimulation" else {}
    options = {
        "relative_tolerance": 1e-12 if kind == "ModelExchange" else 1e-11,
        "output_interval": 0.05,
        "stop_time": stop,
        **step,
        **options,
    }
    record = fmpy.simulate_fmu(str(path), fmi_type=kind, validate=False, **options)
    states = [name for name in record.dtype.names if name.startswith(("q.", "v."))]
    return record, record["time"], np.stack([record[name] for name in states], axis=-1)


START = {
    "double_pendulum": lambda d: ([0.5, -0.3], [0.2, 0.4]),
    "four_bar": lambda d: (q := d.assemble(FOUR_BAR), d.project_velocity(q, [0.5, 0, 0])),
    "satellite": lambda d: (None, [0.1, 0.2, 0.3, 2.0, 0.3, -1.0, 5.0]),
}


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
@pytest.mark.parametrize(
    ("name", "version"), [("double_pendulum", 2), ("four_bar", 2), ("four_bar", 3), ("satellite", 3)]
)
def test_units_move_as_simulate_does(name, version, kind):
    dynamics = {"double_pendulum": double_pendulum, "four_bar": four_bar, "satellite": satellite}[name]()
    _, times, states = simulated(units(name, version), kind, 1.0)
    q, v = START[name](dynamics)
    free = da.Dynamics(dynamics.mechanism, reference=dynamics.reference)
    motion = da.simulate(free, q, v, times, rtol=1e-12, atol=1e-12)
    expected = np.hstack([motion.q, motion.v])
    np.testing.assert_allclose(states, expected, rtol=0, atol=1e-8)


def test_panda_under_torque_in_both_versions(tmp_path):
    panda = da.load("panda") if "panda" in da.robots() else da.load("demo_arm")
    dynamics = da.Dynamics(panda)
    q = 0.1 * np.arange(1, panda.nq + 1)
    tau = dynamics.gravity(q) + 0.1
    path = tmp_path / "panda.fmu"
    dynamics.fmu(path, 3, q=q, outputs=[("pose", {"frame": panda.bodies[-1].name})])
    assert validate_fmu(str(path)) == []
    assert path.stat().st_size < 200_000
    names = [joint.name for joint in panda.joints if joint.nv]
    start = {f"tau.{name}": x for name, x in zip(names, tau)}
    _, times, states = simulated(path, "CoSimulation", 0.5, start_values=start)
    motion = da.simulate(dynamics, q, None, times, control=tau, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(states, np.hstack([motion.q, motion.v]), rtol=0, atol=1e-8)
    dynamics.fmu(path, 2, q=q)
    assert validate_fmu(str(path)) == []
    _, _, again = simulated(path, "CoSimulation", 0.5, start_values=start)
    np.testing.assert_array_equal(again, states)


class Loaded:
    """A unit of FMI 2 for model exchange, called function by function."""

    def __init__(self, path: Path):
        from fmpy.fmi2 import FMU2Model

        self.description = fmpy.read_model_description(str(path))
        self.folder = fmpy.extract(str(path))
        self.fmu = FMU2Model(
            guid=self.description.guid, unzipDirectory=self.folder,
            modelIdentifier=self.description.modelExchange.modelIdentifier,
        )  # fmt: skip
        self.fmu.instantiate()
        self.fmu.setupExperiment()
        self.fmu.enterInitializationMode()
        self.place = {variable.name: variable.valueReference for variable in self.description.modelVariables}

    def begin(self):
        self.fmu.exitInitializationMode()

    def set(self, values: dict[str, float]) -> None:
        self.fmu.setReal([self.place[name] for name in values], list(values.values()))

    def get(self, names) -> np.ndarray:
        return np.array(self.fmu.getReal([self.place[name] for name in names]))

    def along(self, unknowns, known: str) -> np.ndarray:
        return np.array(
            self.fmu.getDirectionalDerivative([self.place[x] for x in unknowns], [self.place[known]], [1.0])
        )

    def close(self):
        self.fmu.freeInstance()
        shutil.rmtree(self.folder)


@pytest.fixture
def pendulum():
    loaded = Loaded(units("double_pendulum", 2))
    yield loaded
    loaded.close()


RATES = ["der(v.shoulder)", "der(v.elbow)"]
STATE = {"q.shoulder": 0.4, "q.elbow": -0.9, "v.shoulder": 1.1, "v.elbow": 0.3, "tau.shoulder": 0.7, "tau.elbow": -0.2}


def test_values_are_those_of_kernels(pendulum):
    dynamics = double_pendulum()
    body = dynamics.mechanism.bodies[-1].name
    load = {f"wrench.{body}.{part}": x for part, x in zip(("fx", "fy", "fz", "mx", "my", "mz"), np.arange(1.0, 7))}
    masses = dict(zip(dynamics.parameter_names, (1.3, 0.8)))
    pendulum.set({**STATE, **load, **masses})
    pendulum.begin()
    q, v, tau = np.array(list(STATE.values())).reshape(3, 2)
    wrenches, parameters = [list(load.values())], list(masses.values())
    a = dynamics.forward_dynamics(q, v, tau, wrenches, parameters)
    np.testing.assert_allclose(pendulum.get(RATES), a, rtol=1e-12)
    np.testing.assert_allclose(pendulum.get(["forward_dynamics[1]", "forward_dynamics[2]"]), a, rtol=1e-12)
    np.testing.assert_allclose(
        pendulum.get(["kinetic_energy"])[0], dynamics.kinetic_energy(q, v, parameters), rtol=1e-12
    )
    J = dynamics.jacobian(q, parameters=parameters, frame=body)
    found = pendulum.get([f"jacobian.{body}[{r},{c}]" for r in range(1, 7) for c in (1, 2)])
    np.testing.assert_allclose(found.reshape(6, 2), J, atol=1e-12)


def test_directional_derivatives_are_those_of_kernels(pendulum):
    dynamics = double_pendulum()
    pendulum.set(STATE)
    pendulum.begin()
    q, v, tau = np.array(list(STATE.values())).reshape(3, 2)
    slopes = dynamics.forward_dynamics_derivatives(q, v, tau, np.zeros((1, 6)), dynamics.parameter_values)
    for slope, letter in zip(slopes, ("q", "v", "tau")):
        for column, joint in enumerate(("shoulder", "elbow")):
            np.testing.assert_allclose(pendulum.along(RATES, f"{letter}.{joint}"), slope[:, column], rtol=1e-10)
    np.testing.assert_array_equal(pendulum.along(["der(q.elbow)", "q.elbow"], "v.elbow"), [1, 0])
    h = 1e-6
    address = dynamics.parameter_names[1]
    slope = pendulum.along(RATES, address)
    middle = dynamics.parameter_values[1]
    sides = []
    for value in (middle + h, middle - h):
        pendulum.set({address: value})
        sides.append(pendulum.get(RATES))
    np.testing.assert_allclose(slope, (sides[0] - sides[1]) / (2 * h), rtol=1e-7)


def test_a_state_is_kept_and_restored(pendulum):
    pendulum.set(STATE)
    pendulum.begin()
    before = pendulum.get(RATES)
    kept = pendulum.fmu.getFMUState()
    bytes_of_it = pendulum.fmu.serializeFMUstate(kept)
    pendulum.set({"q.elbow": 2.0})
    assert abs(pendulum.get(RATES) - before).max() > 0.1
    pendulum.fmu.setFMUState(kept)
    np.testing.assert_array_equal(pendulum.get(RATES), before)
    pendulum.set({"q.elbow": 2.0})
    pendulum.fmu.setFMUState(pendulum.fmu.deSerializeFMUstate(bytes_of_it))
    np.testing.assert_array_equal(pendulum.get(RATES), before)
    pendulum.fmu.freeFMUState(kept)


def test_what_cannot_be_done_is_an_error(pendulum):
    with pytest.raises(Exception, match="fmi2SetReal"):
        pendulum.fmu.setReal([pendulum.place["der(v.elbow)"]], [1.0])
    with pytest.raises(Exception, match="fmi2GetReal"):
        pendulum.fmu.getReal([100_000])
    with pytest.raises(Exception, match="fmi2GetInteger"):
        pendulum.fmu.getInteger([0])


def test_open_loops_are_closed_in_the_beginning_or_refused():
    loaded = Loaded(units("four_bar", 2))
    try:
        names = [f"q.{joint}" for joint in ("drive", "knee", "pivot")]
        loaded.set({"q.drive": loaded.get(names)[0] + 0.1})
        loaded.begin()
        assert abs(four_bar().residual(loaded.get(names))["pin"]).max() < 1e-11
        speeds = loaded.get([f"v.{joint}" for joint in ("drive", "knee", "pivot")])
        _, G, rate, _ = four_bar().evaluate("constraints", loaded.get(names), speeds)
        np.testing.assert_allclose(G @ speeds, rate, atol=1e-11)
    finally:
        loaded.close()
    loaded = Loaded(units("four_bar", 2))
    try:
        loaded.set({"q.drive": np.nan})
        with pytest.raises(Exception, match="fmi2ExitInitializationMode"):
            loaded.begin()
    finally:
        loaded.close()


def test_drift_of_model_exchange_asks_for_an_event_that_ends_it():
    loaded = Loaded(units("four_bar", 2))
    try:
        loaded.begin()
        names = [f"q.{joint}" for joint in ("drive", "knee", "pivot")]
        start = loaded.get(names)
        loaded.set({"q.knee": start[1] + 1e-5})
        assert loaded.fmu.completedIntegratorStep()[0]
        loaded.fmu.enterEventMode()
        assert loaded.fmu.newDiscreteStates()[3]  # states have changed
        assert not loaded.fmu.completedIntegratorStep()[0]
        assert abs(four_bar().residual(loaded.get(names))["pin"]).max() < 1e-11
    finally:
        loaded.close()


def test_the_length_of_a_quaternion_does_not_matter():
    loaded = Loaded(units("satellite", 2))
    try:
        loaded.begin()
        rates = [name for name in loaded.place if name.startswith("der(v.")]
        quaternion = [f"q.base.q{x}" for x in "xyzw"]
        before = loaded.get(rates)
        loaded.set(dict(zip(quaternion, 1.5 * loaded.get(quaternion))))
        np.testing.assert_allclose(loaded.get(rates), before, rtol=1e-12, atol=1e-12)
        eta, change = loaded.get(quaternion), loaded.get([f"der({name})" for name in quaternion])
        assert abs(eta @ change) < 1e-14  # the length stays as it is
    finally:
        loaded.close()


def test_a_motion_that_leaves_the_finite_numbers_stops_with_a_reason(tmp_path):
    """A stone falls into a pole of its force field."""
    slider = da.Mechanism(
        "fall",
        [da.Body("stone", da.Inertia.point(1.0))],
        [da.Joint("x", "prismatic", "world", "stone", axis=[0, 0, 1])],
        forces=[da.Force("wall", "user", function=lambda q, v, t: [1 / (q[0] + 1.0) ** 3 * -1])],
    )
    path = tmp_path / "fall.fmu"
    da.Dynamics(slider).fmu(path, 3)
    with pytest.raises(Exception, match="fmi3DoStep"):
        simulated(path, "CoSimulation", 5.0)


def test_the_sources_alone_compile_without_a_warning(tmp_path):
    for version in (2, 3):
        with zipfile.ZipFile(units("four_bar", version)) as file:
            file.extractall(tmp_path / str(version))
        folder = tmp_path / str(version) / "sources"
        if version == 3:
            root = ElementTree.parse(folder / "buildDescription.xml").getroot()
            sources = [x.attrib["name"] for x in root.iter("SourceFile")]
        else:
            root = ElementTree.parse(folder.parent / "modelDescription.xml").getroot()
            sources = [x.attrib["name"] for x in next(root.iter("SourceFiles"))]
        call = [*compiler.find_compiler(), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-c", *sources]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        prefixed = subprocess.run(
            [*compiler.find_compiler(), "-std=c99", f"-DFMI{version}_FUNCTION_PREFIX=mine_", "-E", f"fmi{version}.c"],
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip
        assert f"mine_fmi{version}GetVersion" in prefixed.stdout


def test_the_same_unit_is_the_same_file(tmp_path):
    files = [tmp_path / f"{k}.fmu" for k in range(2)]
    for path in files:
        double_pendulum().fmu(path, 3, binary=False)
    assert files[0].read_bytes() == files[1].read_bytes()
    double_pendulum().fmu(files[1], 3, binary=False, q=[0.1, 0])
    assert files[0].read_bytes() != files[1].read_bytes()


# ------------------------------------------------------------------------------------------------- names, units, errors


def test_units_of_parameters_are_written(tmp_path):
    mechanism = four_bar().mechanism
    path = tmp_path / "units.fmu"
    addresses = ["coil.stiffness", "crank.mass", "crank.inertia.zz", "drive.damping", "gravity.y", "pivot.placement.x"]
    da.Dynamics(mechanism, parameters=addresses, reference=FOUR_BAR).fmu(path, 3, binary=False)
    description = fmpy.read_model_description(str(path))
    found = {v.name: v.unit for v in description.modelVariables if v.causality == "parameter"}
    assert list(found.values()) == ["N.m/rad", "kg", "kg.m2", "N.m.s/rad", "m/s2", "m"]
    assert exponents("N.m.s/rad") == {"kg": 1, "m": 2, "s": -1, "rad": -1}


def test_strange_names_are_changed_and_listed(tmp_path):
    body = da.Body("left arm", da.Inertia(1.0, [0, 0, -0.5], np.diag([0.1, 0.1, 0.1])))
    joint = da.Joint("Gelenk-1 <α>", "revolute", "world", "left arm", axis=[0, 1, 0])
    mechanism = da.Mechanism("1 & only", [body], [joint])
    path = tmp_path / "strange.fmu"
    with pytest.warns(ModelWarning, match=re.escape("'q.Gelenk-1 <α>' -> 'q.Gelenk_1____'")):
        da.Dynamics(mechanism).fmu(path, 2)
    assert validate_fmu(str(path)) == []
    description = fmpy.read_model_description(str(path))
    assert description.modelName == "1 & only"
    assert description.coSimulation.modelIdentifier == "x1_only"


def test_names_stay_different_when_they_are_changed():
    legal, changed = legal_names(["a b", "a_b", "a-b", "x[1,2]", "π[1]", "der(q)".replace("(", ".").replace(")", "")])
    assert len(set(legal)) == len(legal)
    assert legal[1] == "a_b"
    assert legal[3] == "x[1,2]"
    assert legal[4] == "_[1]"
    assert len(changed) == 3


def test_symbols_without_values_are_named(tmp_path):
    with pytest.raises(ArgumentError, match="g, l1, l2, m1, m2"):
        da.Dynamics(da.load("double_pendulum")).fmu(tmp_path / "a.fmu")


def test_bad_requests(tmp_path):
    dynamics = double_pendulum()
    with pytest.raises(ArgumentError, match="versions 2 and 3"):
        dynamics.fmu(tmp_path / "a.fmu", 1)
    with pytest.raises(ArgumentError, match=r"ends in \.fmu"):
        dynamics.fmu(tmp_path / "a.zip")
    with pytest.raises(ArgumentError, match="no quantity"):
        dynamics.fmu(tmp_path / "a.fmu", outputs=["kinetic_enrgy"])
    with pytest.raises(ArgumentError, match="xdd"):
        arm = da.Dynamics(da.load("demo_arm"))
        arm.fmu(tmp_path / "a.fmu", outputs=[("cartesian_inverse_dynamics", {"frame": "flange"})])
    with pytest.raises(ArgumentError, match="list of quantities"):
        dynamics.fmu(tmp_path / "a.fmu", outputs="kinetic_energy")
    with pytest.raises(ArgumentError, match="shape"):
        dynamics.fmu(tmp_path / "a.fmu", q=[1.0])
    with pytest.raises(ArgumentError, match="called 'kinetic_energy'"):
        dynamics.fmu(tmp_path / "a.fmu", outputs=["kinetic_energy", "kinetic_energy"])
    with pytest.raises(ArgumentError, match="cannot be written"):
        dynamics.fmu(tmp_path / "nowhere" / "a.fmu", binary=False)
    rigid = da.Mechanism("rock", [da.Body("rock", da.Inertia.point(1.0))], [da.Joint("j", "fixed", "world", "rock")])
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        da.Dynamics(rigid).fmu(tmp_path / "a.fmu")


def test_without_a_compiler_there_are_sources_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "find_compiler", lambda: None)
    path = tmp_path / "a.fmu"
    with pytest.warns(ModelWarning, match="ziglang"):
        double_pendulum().fmu(path)
    assert not any(name.startswith("binaries") for name in zipfile.ZipFile(path).namelist())
    with pytest.raises(CompilerError, match="no C compiler"):
        double_pendulum().fmu(path, binary=True)


def test_a_compiler_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "find_compiler", lambda: ["false"])
    with pytest.raises(CompilerError, match="binary=False"):
        double_pendulum().fmu(tmp_path / "a.fmu")


def test_gravity_of_the_file_is_that_of_the_unit(tmp_path):
    """A unit is made of the mechanism as it is: on the moon things fall slowly."""
    stone = da.Mechanism(
        "stone",
        [da.Body("stone", da.Inertia.point(2.0))],
        [da.Joint("z", "prismatic", "world", "stone", axis=[0, 0, 1])],
    )
    path = tmp_path / "moon.fmu"
    da.Dynamics(with_gravity(stone, [0, 0, -1.62])).fmu(path, 2)
    _, times, states = simulated(path, "CoSimulation", 1.0)
    np.testing.assert_allclose(states[:, 0], -0.81 * times**2, atol=1e-12)

"""Every example in the help of a command runs as it is printed."""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shlex
import shutil

import numpy as np
import pytest
from cli_helpers import run

import dalembert as da
from dalembert.cli.application import COMMANDS, OVERVIEW
from dalembert.cli.options import source_of

LEFT_OUT = {
    "dalembert view panda --live --hold": "runs until somebody ends it",
    "dalembert view panda - --live": "reads states for ever",
    "dalembert verify panda.urdf": "derives the equations of a whole arm by every method, for a minute",
    "dalembert verify talos.urdf --base free --states 2": "likewise, of a humanoid",
}
"""Examples that are not run, each with the reason."""

NEEDS = {"--with pinocchio": "pinocchio", "--with mujoco": "mujoco", "--with drake": "pydrake", ".mcap": "mcap"}
NEEDS |= {
    ".parquet": "pyarrow",
    ".png": "matplotlib",
    ".svg": "matplotlib",
    ".gif": "imageio",
    " panda.urdf": "pinocchio",
}
NEEDS |= {" go2": "pinocchio", " talos.urdf": "pinocchio", "ur5_robot": "pinocchio", "--plot": "matplotlib"}
"""Parts of command lines and what must be installed for them; the big robots come with Pinocchio."""


def examples():
    """Command lines of all helps, without what a shell does with their output."""
    found = []
    for text in [OVERVIEW, *((module.__doc__ or "") for module in COMMANDS)]:
        for line in text.splitlines():
            if match := re.match(r'  (?:eval "\$\(|robot_log \| )?(dalembert .*)', line):
                found.append(re.split(r"\s{2,}|\)\"| \| | > ", match[1])[0])
    return list(dict.fromkeys(found))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The files that examples name: robots, motions and measurements of the reader."""
    folder = tmp_path_factory.mktemp("files")
    arm = da.load("demo_arm")
    plain = arm.replace(joints=[joint.replace(damping=0.0, friction=0.0) for joint in arm.joints])
    for name in ("my_robot", "old", "new", "a", "b", "arm", "my_arm"):
        da.write_urdf(plain, folder / f"{name}.urdf")
    for name, joint in (("a", "elbow"), ("b", "joint2")):
        text = (folder / f"{name}.urdf").read_text(encoding="utf-8")
        (folder / f"{name}.urdf").write_text(text.replace('"lift"', f'"{joint}"'), encoding="utf-8")
    for name, robot in (("panda", "panda"), ("talos", "talos_reduced")):
        with contextlib.suppress(Exception):  # they are there if Pinocchio is
            shutil.copy(source_of(robot), folder / f"{name}.urdf")
    ball = da.Shape.sphere(0.1)
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(ball,))
    da.write_toml(da.Mechanism("ball", (body,), (da.Joint("base", "free", "world", "ball"),)), folder / "ball.toml")
    da.simulate(da.load("double_pendulum", parameters="default"), [1.0, 0.5], t=0.2).to_npz(folder / "swing.npz")
    da.simulate(plain, t=np.linspace(0, 0.2, 11)).to_csv(folder / "motion.csv")
    t, w = np.linspace(0, 5, 1001), np.array([1.3, 2.9, 4.7])
    size = np.random.default_rng(0).uniform(0.2, 0.5, (3, arm.nq))
    q, v, a = np.sin(np.outer(t, w)) @ size, np.cos(np.outer(t, w)) * w @ size, -np.sin(np.outer(t, w)) * w**2 @ size
    tau = np.asarray(da.Dynamics(plain).inverse_dynamics(q, v, a))
    joints = [joint.name for joint in arm.joints if joint.nv]
    recorded(folder / "run1.csv", t, q, tau, [f"{letter}.{name}" for letter in ("q", "tau") for name in joints])
    numbered = [f"{name}_{k + 1}" for name in ("pos", "current") for k in range(arm.nv)]
    recorded(folder / "numbered.csv", 1000 * t, np.degrees(q), tau, numbered)
    return folder


def recorded(path, t, q, tau, names):
    np.savetxt(path, np.column_stack([t, q, tau]), delimiter=",", header=",".join(["t", *names]), comments="")


def particular(line, files, folder):
    """Files of one example that are not those of the others by the same name."""
    replaced = {}
    if "pos_{number}" in line:
        replaced["run1.csv"] = files / "numbered.csv"
    if "panda.json" in line and "--to" not in line:
        small = da.load("rp_arm", parameters="default")
        da.write_urdf(small, folder / "small.urdf")
        da.prove(small).write(folder / "small.json")
        replaced |= {"panda.json": folder / "small.json", "other.urdf": folder / "small.urdf"}
    if "panda.xml" in line:
        import mujoco

        spec = mujoco.MjSpec.from_file(str(files / "my_robot.urdf"))
        spec.compile()
        (folder / "arm.xml").write_text(spec.to_xml(), encoding="utf-8")
        replaced |= {"panda.urdf": files / "my_robot.urdf", "panda.xml": folder / "arm.xml"}
    return replaced


def missing(line):
    return [name for part, name in NEEDS.items() if part in line and importlib.util.find_spec(name) is None]


EXAMPLES = examples()
LONG = re.compile(
    r"dalembert (verify|bench|cost|demo|view|compare (go2|talos)|simulate (go2|panda)|.*(--plot|--page|--to))"
)


def test_what_is_left_out_exists():
    assert set(LEFT_OUT) <= set(EXAMPLES)
    assert len(EXAMPLES) > 80


@pytest.fixture
def runs(files, tmp_path, monkeypatch, capsys):
    def check(line):
        if line in LEFT_OUT or missing(line):
            pytest.skip(LEFT_OUT.get(line) or f"needs {missing(line)}")
        (tmp_path / "here").mkdir()
        given = {file.name: file for file in files.iterdir()} | particular(line, files, tmp_path)
        for name, file in given.items():
            (tmp_path / "here" / name).symlink_to(file)
        monkeypatch.chdir(tmp_path / "here")
        monkeypatch.setattr("webbrowser.open", lambda *_, **__: True)
        outcome = run(capsys, *shlex.split(line)[1:])
        assert outcome.code == 0, outcome.err + outcome.out[-500:]
        assert "outside the range" not in outcome.err

    return check


@pytest.mark.parametrize("line", [line for line in EXAMPLES if not LONG.match(line)])
def test_an_example_runs(line, runs):
    runs(line)


@pytest.mark.parametrize("line", [line for line in EXAMPLES if LONG.match(line)])
def test_a_long_example_runs(line, runs):
    runs(line)

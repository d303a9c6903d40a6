"""`dalembert compare` explains the first difference, to people and to machines."""

from __future__ import annotations

import re

import pytest
from cli_helpers import run

import dalembert as da
from dalembert.formats.catalogue import packaged


@pytest.fixture
def files(tmp_path):
    arm = da.load("demo_arm")
    heavy = arm.replace(
        bodies=tuple(
            body.replace(inertia=body.inertia.replace(mass=2 * body.inertia.mass)) if body.name == "upper_arm" else body
            for body in arm.bodies
        )
    )
    paths = [tmp_path / "light.urdf", tmp_path / "heavy.urdf"]
    for mechanism, path in zip((arm, heavy), paths):
        da.write_urdf(mechanism, path)
    return [str(path) for path in paths]


def test_two_files(capsys, files):
    same = run(capsys, "compare", files[0], files[0])
    assert same.code == 0 and "they agree" in same.out
    other = run(capsys, "compare", *files)
    assert other.code == 1 and "First difference, mass:" in other.out and "kg here and" in other.out
    data = run(capsys, "compare", *files, "--json")
    assert data.code == 1 and data.json["differences"][0]["topic"] == "mass" and not data.json["agrees"]


@pytest.mark.parametrize("library", ["pinocchio", "mujoco", "drake"])
def test_another_library_reads_the_file(capsys, library, files):
    pytest.importorskip({"drake": "pydrake"}.get(library, library))
    terms = () if library == "pinocchio" else ("--include", "damping")
    assert run(capsys, "compare", files[0], "--with", library, *terms).code == 0
    outcome = run(capsys, "compare", *files, "--with", library, *terms)
    assert outcome.code == 1 and "First difference, mass:" in outcome.out


def test_a_model_of_our_own_format_is_handed_over(capsys):
    pytest.importorskip("pinocchio")
    outcome = run(capsys, "compare", "cart_pole", "--with", "pinocchio")
    assert outcome.code == 0, outcome.out + outcome.err


def test_what_another_library_cannot_be_given_is_not_sent_back_to_toml(capsys, tmp_path):
    ball = da.Joint("ball", "spherical", "world", "bob")
    da.write_toml(da.Mechanism("m", (da.Body("bob", da.Inertia.sphere(1.0, 0.1)),), (ball,)), tmp_path / "ball.toml")
    for model in (str(tmp_path / "ball.toml"), "four_bar"):
        outcome = run(capsys, "compare", model, "--with", "mujoco")
        assert outcome.code == 2 and "write TOML" not in outcome.err and "a second file" in outcome.err


def test_wrong_arguments(capsys, files):
    nothing = run(capsys, "compare", files[0])
    assert nothing.code == 2 and "nothing to compare with" in nothing.err
    assert "HERE=THERE" in run(capsys, "compare", *files, "--joint", "elbow").err
    assert run(capsys, "compare", files[0], "/no/such/file.urdf").code == 2


def test_symbols_of_both_take_the_values_of_their_files(capsys, tmp_path):
    assert run(capsys, "compare", "double_pendulum", "double_pendulum").code == 0
    assert run(capsys, "compare", "double_pendulum", "double_pendulum", "--set", "m1=3").code == 0
    other = tmp_path / "heavier.toml"
    text = packaged()["double_pendulum"].read_text()
    other.write_text(re.sub(r"(?m)^m1 *=.*$", "m1 = 7.0", text))
    outcome = run(capsys, "compare", "double_pendulum", str(other))
    assert outcome.code == 1 and "7 kg" in outcome.out

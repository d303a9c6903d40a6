"""Flags that draw, and the tree as text."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from cli_helpers import run

import dalembert as da


@pytest.mark.parametrize(
    "arguments",
    [
        ("cost", "demo_arm", "--quantity", "mass_matrix", "--algorithms", "--plot"),
        ("verify", "demo_arm", "--quick", "--plot"),
        ("show", "demo_arm", "--graph"),
    ],
)
def test_pictures_are_not_blank(capsys, tmp_path, arguments):
    image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "picture.png"
    assert run(capsys, *arguments, str(path)).code == 0
    assert np.ptp(image.imread(path)[..., :3]) > 0.3


def test_the_tree_as_a_drawing_needs_no_matplotlib(capsys, tmp_path, monkeypatch):
    monkeypatch.delitem(sys.modules, "dalembert.simulation.notebook_figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    path = tmp_path / "tree.svg"
    assert run(capsys, "show", "demo_arm", "--graph", str(path)).code == 0
    assert path.read_text(encoding="utf-8").startswith("<svg")
    missing = run(capsys, "show", "demo_arm", "--graph", str(tmp_path / "tree.png"))
    assert missing.code == 2 and "pip install 'dalembert[plot]'" in missing.err and "Traceback" not in missing.err


@pytest.mark.parametrize("command", ["cost", "linearize", "show", "simulate", "verify"])
def test_matplotlib_is_asked_for_before_anything_is_computed(capsys, tmp_path, monkeypatch, command):
    monkeypatch.setattr("dalembert.cli.options.find_spec", lambda name: None)
    flag = "--graph" if command == "show" else "--plot"
    outcome = run(capsys, command, "not_even_a_model.urdf", flag, str(tmp_path / "picture.png"))
    assert outcome.code == 2 and "pip install 'dalembert[plot]'" in outcome.err


def test_the_tree_as_text(capsys):
    outcome = run(capsys, "show", "four_bar", "--tree")
    lines = outcome.out.splitlines()
    assert lines[0] == "world" and len(lines) == 1 + len(da.load("four_bar").bodies)
    assert lines[1].startswith("├─ crank") and lines[2].startswith("│  └─ coupler") and lines[3].startswith("└─ rocker")


def test_quantities_along_coordinates_of_a_frame(capsys):
    data = run(capsys, "cost", "demo_arm", "--quantity", "analytic_jacobian", "--json").json
    position = run(
        capsys, "cost", "demo_arm", "--quantity", "analytic_jacobian", "--coordinates", "position", "--json"
    ).json
    counts = [d["compiled"]["analytic_jacobian"]["operations"] for d in (data, position)]
    assert counts[0] > counts[1] > 0
    source = run(capsys, "export", "demo_arm", "frame_coordinates", "--frame", "flange")
    assert source.code == 0 and "frame_coordinates(const double *q, double *x)" in source.out

"""Every example and story runs as a script, in short form, checks itself, and leaves a picture, or a document, in
``out/``.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
NEEDS = {"casadi_swing_up": "casadi"}
"""Examples that are about an optional package."""
EXAMPLES = sorted(
    path
    for path in (ROOT / "examples").glob("*.py")
    if not path.name.startswith("_") and importlib.util.find_spec(NEEDS.get(path.stem, "numpy"))
)
PLOTS = importlib.util.find_spec("matplotlib") is not None
STORIES = sorted((ROOT / "examples" / "stories").glob("*.py")) if PLOTS else []
"""What eight users do from beginning to end; each file stands alone, and draws."""


def test_there_are_examples():
    assert len(EXAMPLES) >= 20
    assert len(STORIES) == (8 if PLOTS else 0)


@pytest.mark.parametrize("path", EXAMPLES + STORIES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    """In a folder of its own, with warnings of its own making as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path)],
        cwd=tmp_path, env={**os.environ, "DALEMBERT_SHORT": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    assert done.stdout.strip()
    left = sorted((tmp_path / "out").glob("*"))
    if draws(path) and not PLOTS:
        assert "dalembert[plot]" in done.stdout
        assert left == []
    elif draws(path):
        assert left == [tmp_path / "out" / f"{path.stem}.png"]
        assert is_drawn(left[0])
    else:
        assert left
        assert all(document.stat().st_size > 1000 for document in left)


@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if "sys.argv" in path.read_text()], ids=lambda path: path.stem
)
@pytest.mark.parametrize("robot", ["cart_pole", "four_bar", "free_body"])
def test_an_example_that_takes_a_robot_takes_letters_loops_and_floating_ones(path, robot, tmp_path):
    done = subprocess.run(
        [sys.executable, str(path), robot],
        cwd=tmp_path, env={**os.environ, "DALEMBERT_SHORT": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def draws(path: Path) -> bool:
    """Whether an example makes a picture; others write documents."""
    return path in STORIES or "from _pictures import" in path.read_text(encoding="utf-8")


def is_drawn(picture: Path) -> bool:
    """Whether a picture exists and is not all of one colour."""
    from matplotlib.image import imread

    return float(np.ptp(imread(picture)[..., :3])) > 0.3


@pytest.mark.parametrize("path", EXAMPLES + STORIES, ids=lambda path: path.stem)
def test_example_is_told_and_checks_itself(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = ast.get_docstring(tree) or ""
    headline, _, rest = told.partition("\n")
    assert headline.endswith((".", "?", "!")) or "." in headline
    assert len(rest.split()) > 10, "say what it shows"
    if not draws(path):
        return
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree)), "an example checks what it claims"
    if path in STORIES:
        return
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "save"]
    assert [call.args[0].value for call in calls] == [path.stem]

"""Every example runs as a script, in short form, checks itself, and leaves a picture that shows something."""

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
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith("_"))
PLOTS = importlib.util.find_spec("matplotlib") is not None


def test_there_are_examples():
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path, tmp_path):
    """In a folder of its own, with warnings of its own making as errors."""
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path)],
        cwd=tmp_path, env={**os.environ, "DALEMBERT_SHORT": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr == ""
    assert done.stdout.strip()
    picture = tmp_path / "out" / f"{path.stem}.png"
    if PLOTS:
        assert is_drawn(picture)
    else:
        assert "dalembert[plot]" in done.stdout
        assert not picture.exists()


def is_drawn(picture: Path) -> bool:
    """Whether a picture exists and is not all of one colour."""
    from matplotlib.image import imread

    return float(np.ptp(imread(picture)[..., :3])) > 0.3


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_told_and_checks_itself(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    told = ast.get_docstring(tree) or ""
    headline, _, rest = told.partition("\n")
    assert headline.endswith((".", "?", "!")) or "." in headline
    assert len(rest.split()) > 10, "say what it shows"
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree)), "an example checks what it claims"
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "save"]
    assert [call.args[0].value for call in calls] == [path.stem]

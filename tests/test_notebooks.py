"""Notebooks run from top to bottom as plain Python, without Jupyter, and are kept without output."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import dalembert as da

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(path: Path, kind: str) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == kind]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 8


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(cells(path, "code"), 1):
        exec(compile(source, f"{path.name}, cell {number}", "exec"), names)  # our own text
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_teaches_and_checks_and_holds_no_output(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    words = sum(len(text.split()) for text in cells(path, "markdown"))
    asserts = sum(isinstance(n, ast.Assert) for text in cells(path, "code") for n in ast.walk(ast.parse(text)))
    assert words > 200 and asserts >= 5


def test_what_a_cell_ends_with_is_shown_as_its_table():
    """Names of mechanisms may be anything, and are text in the page."""
    rod = da.Mechanism(
        "<b>", [da.Body("rod", da.Inertia.sphere(1.0, 0.1))], [da.Joint("j", "revolute", "world", "rod")]
    )
    for shown in (rod, da.verify(rod, states=1), da.compare(rod, rod)):
        page = shown._repr_html_()
        assert "&lt;b&gt;" in page and "<b>" not in page and "<table>" in page

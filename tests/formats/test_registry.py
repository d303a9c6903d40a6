"""A format is one file and one entry: everything else about it is read from the registry."""

import ast
import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

import dalembert
from dalembert.errors import ArgumentError, FormatError
from dalembert.formats import load, registry, write_toml
from dalembert.formats.registry import FORMATS, SUFFIXES, Format, described, format_of

SOURCE = Path(dalembert.__file__).parent


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_every_entry_names_functions_that_are_there(format):
    assert next(iter(inspect.signature(format.read).parameters)) == "source"
    assert "strict" in format.options
    if format.writer:
        arm = load("demo_arm")
        assert format.read(format.write(arm)).bodies == arm.bodies
    else:
        with pytest.raises(FormatError, match="not written; URDF and TOML are"):
            format.write  # noqa: B018


def test_a_new_format_is_one_entry(monkeypatch, tmp_path):
    def read_names(source, twice=False):
        """A chain of bodies, one name on a line."""
        text = (TOML + source.read_text()) * (1 + twice)
        return load(text)

    TOML = write_toml(load("rrr"))
    module = ModuleType("another_format")
    module.read_names = read_names
    monkeypatch.setitem(sys.modules, "another_format", module)
    monkeypatch.setattr(registry, "FORMATS", (*FORMATS, Format("Names", (".names",), "another_format:read_names")))
    path = tmp_path / "robot.names"
    path.write_text("# nothing more\n")
    assert format_of(path).name == "Names" and "Names (.names)" in described()
    assert load(path) == load("rrr")
    with pytest.raises(ArgumentError, match="read_names has no option 'twic'; did you mean 'twice'"):
        load(path, twic=True)


def test_suffixes_stand_in_the_registry_only():
    found = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in SUFFIXES and id(node) not in parts:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}")
    assert {place.partition(":")[0] for place in found} == {"formats/registry.py"}, found

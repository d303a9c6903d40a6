"""The package as a whole: who may import whom, what an import loads, documentation, and what the wheel holds."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dalembert
from quick import REPEATED, SLOW

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "dalembert"

# ------------------------------------------------------------------------------------------------- direction of imports

KNOWS: dict[str, set[str]] = {
    "labels": {"text"},
    "text": set(),
    "algebra": set(),
    "tracing": set(),
    "native": {"tracing"},
    "printing": {"tracing"},
    "fmi": {"tracing", "printing"},
    "cuda": {"tracing", "native", "printing"},
    "export": {"tracing", "native", "printing", "cuda"},
    "kernels": {"tracing", "native", "cuda"},
    "model": {"algebra", "tracing"},
    "formats": {"model", "algebra"},
    "conventions": {"model", "algebra"},
    "kinematics": {"model", "algebra"},
    "algorithms": {"kinematics", "model", "algebra"},
    "constraints": {"algorithms", "kinematics", "model", "algebra", "tracing", "native", "export"},
    "contact": {
        "constraints", "algorithms", "kinematics", "model", "algebra", "tracing", "native", "export",
    },
    "dynamics": {
        "contact", "constraints", "algorithms", "kinematics", "model", "algebra", "tracing", "native", "printing",
        "cuda", "export", "fmi",
    },
    "typesetting": {"tracing", "model", "algebra"},
    "formulations": {
        "dynamics", "contact", "constraints", "algorithms", "kinematics", "model", "algebra", "tracing", "native",
        "export", "typesetting",
    },
}  # fmt: skip
"""Room -> rooms it may import, besides itself and the bottom."""

BOTTOM = {"cached", "errors", "files", "installation", "labels", "services", "text", "threefry"}
"""Known to all."""

BESIDE: dict[str, set[str]] = {
    "simulation": set(),
    "control": {"simulation"},
    "identification": {"simulation"},
    "pictures": {"simulation"},
    "planning": {"simulation"},
    "comparison": set(),
    "autodiff": {"simulation"},
    "proof": set(),
    "costs": set(),
    "report": set(),
    "viewer": {"report", "simulation"},
}
"""Room on top -> other rooms on top that it may import, besides all those of :data:`KNOWS`."""

TOP = {"cli", "__main__"}
"""These may import everything and are imported by nobody else."""


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "dalembert"


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Modules of the package that a file imports, anywhere in it, with line numbers; type-checking ones too."""
    package = ["dalembert", *path.relative_to(SOURCE).parts[:-1]]
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            bare = module == "dalembert"
            names = [f"{module}.{alias.name}" for alias in node.names] if bare else [module]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.split(".")[0] == "dalembert")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_imports_point_one_way():
    wrong = []
    for path in files():
        place = path.relative_to(SOURCE)
        own = place.parts[0].removesuffix(".py")
        if own in TOP or own == "__init__":
            continue
        for module, line in imports(path):
            room = room_of(module)
            if room not in allowed(own):
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {own} must not know {room}")
    assert wrong == []


def allowed(room: str) -> set[str]:
    """Rooms that a room may import. Those on top may also ask the package for its version."""
    above = KNOWS[room] if room in KNOWS else {*KNOWS, *BESIDE[room], "dalembert"}
    return {room, *BOTTOM} | above


def test_every_room_has_its_place_in_the_house():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in files()} - {"__init__"}
    assert rooms == {*KNOWS, *BESIDE, *TOP, *BOTTOM}


def test_every_room_is_in_the_table_of_contributing():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    bottom = re.search(r"All know (.+)\.$", text, re.MULTILINE)
    named = [room for cell in (*cells, bottom[1]) for room in re.findall(r"`(\w+)`", cell)]
    assert sorted(named) == sorted({*KNOWS, *BESIDE, *TOP, *BOTTOM} - {"__main__"})
    ranks = {room: number for number, cell in enumerate(cells) for room in re.findall(r"`(\w+)`", cell)}
    assert all(ranks[other] <= ranks[room] for room, others in KNOWS.items() if room in ranks for other in others)


def test_the_checker_sees_imports_of_every_form(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path)
    path = tmp_path / "algebra" / "deep" / "file.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import dalembert.model.joint\nfrom dalembert import cli\nfrom ...formats import load\nfrom .. import x\n"
        "def f():\n    from dalembert.dynamics import Dynamics\nimport numpy\n"
    )
    rooms = sorted(room_of(module) for module, _ in imports(path))
    assert rooms == ["algebra", "cli", "dynamics", "formats", "model"]


def test_no_star_imports_and_no_evaluation_of_strings():
    wrong = []
    for path in files():
        for node in ast.walk(parsed(path)):
            star = isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
            call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
            if star or call:
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def test_private_names_stay_in_their_module():
    wrong = []
    for path in files():
        for node in ast.walk(parsed(path)):
            own = isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("dalembert"))
            if own and any(alias.name.startswith("_") for alias in node.names):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []


def test_no_two_classes_have_one_name():
    """A name in a traceback, a type or a search leads to one class."""
    homes: dict[str, list[str]] = {}
    for path in files():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.name)
def test_benchmarks_import_what_there_is(path):
    """They need peers and quiet machines, so nobody runs them here; what they import of ours must be there."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "dalembert":
            module = importlib.import_module(node.module or "")
            for name in node.names:
                if not hasattr(module, name.name):
                    importlib.import_module(f"{node.module}.{name.name}")


# ------------------------------------------------------------------------------------------------ what an import loads


def fresh(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    outcome = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    return outcome.stdout.strip()


HEAVY = ("sympy", "scipy", "llvmlite", "mujoco", "pinocchio", "matplotlib", "dask", "cupy", "casadi")


def test_import_loads_nothing_heavy():
    code = f"import dalembert, sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert fresh(code) == "[]"


def test_import_of_every_public_name_loads_nothing_heavy():
    """llvmlite may come with kernels; everything else only when it is used."""
    code = (
        "import dalembert as da, sys\n"
        "for name in da.__all__: getattr(da, name)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules and name != 'llvmlite'])"
    )
    assert fresh(code) == "[]"


def test_operations_on_a_mechanism_load_no_more():
    """A thread that loads a module holds a lock of Python's, which a process forked meanwhile inherits."""
    code = (
        "import dalembert as da, sys\n"
        "arm = da.with_gravity(da.load('demo_arm'), (0, 0, -3))\n"
        f"print([name for name in {(*HEAVY, 'numpy.ma')!r} if name in sys.modules])"
    )
    assert fresh(code) == "[]"


def test_import_is_quick():
    """Under 0.2 s beyond NumPy; the best of several, because the machine may be busy."""
    clock = "import time, numpy\nstart = time.perf_counter()\nimport dalembert as da\n"
    tail = "print(time.perf_counter() - start)"
    best = min(float(fresh(clock + tail)) for _ in range(3))
    used = min(float(fresh(f"{clock}da.load, da.Mechanism, da.Dynamics\n{tail}")) for _ in range(3))
    print(f"beyond NumPy: import dalembert {best:.3f} s; with load, Mechanism and Dynamics {used:.3f} s")
    assert best < 0.2


def test_public_names_are_all_there():
    assert sorted(dalembert.__all__) == sorted(set(dalembert.__all__))
    for name in dalembert.__all__:
        assert getattr(dalembert, name) is not None
    assert set(dalembert.__all__) <= set(dir(dalembert))
    with pytest.raises(AttributeError, match="no_such_name"):
        dalembert.no_such_name  # noqa: B018


def test_star_import_gives_what_is_public():
    assert fresh("from dalembert import *; print(Mechanism.__name__, load.__name__)") == "Mechanism load"


# ------------------------------------------------------------------------------------------------------- documentation

DOCUMENTED_ROOMS = (
    "algebra", "model", "formats", "kinematics", "algorithms", "comparison", "control", "identification", "pictures",
    "planning", "report", "viewer",
)  # fmt: skip
"""Rooms in which every function and class has a docstring; arguments are documented where the public sees them."""

OBVIOUS = {
    "A", "B", "C", "D", "E", "I", "M", "R", "S", "T", "a", "angle", "args", "armature", "axis", "cls", "equations",
    "eta", "forms", "frame", "kappa", "kwargs", "loads", "matrix", "mechanism", "n", "name", "notation", "omega",
    "path", "q", "quaternion", "self", "system", "t", "tau", "tensor", "text", "tree", "u", "v", "vector", "w",
    "wrenches", "x", "y", "z",
}  # fmt: skip
"""Arguments whose meaning is that of the whole notation, or stands in the first sentence of a docstring."""


def public_functions() -> Iterator[tuple[str, Any, bool]]:
    """Public names of the package and of every room, and all functions and classes of the documented rooms; and
    whether they are public."""
    for name in dalembert.__all__:
        value = getattr(dalembert, name)
        if not inspect.ismodule(value):
            yield f"dalembert.{name}", value, True
    for room in (info.name for info in pkgutil.iter_modules(dalembert.__path__) if info.ispkg):
        package = importlib.import_module(f"dalembert.{room}")
        for name in getattr(package, "__all__", ()):
            value = getattr(package, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{room}.{name}", value, True
    for room in DOCUMENTED_ROOMS:
        package = importlib.import_module(f"dalembert.{room}")
        inside = pkgutil.walk_packages(getattr(package, "__path__", ()), f"dalembert.{room}.")
        for module in (package, *(importlib.import_module(info.name) for info in inside)):
            for name, value in vars(module).items():
                own = getattr(value, "__module__", None) == module.__name__ and not name.startswith("_")
                if own and (inspect.isfunction(value) or inspect.isclass(value)):
                    yield f"{module.__name__}.{name}", value, False


def methods(value: Any) -> Iterator[tuple[str, Any]]:
    """Public methods that a class defines itself."""
    for name, member in vars(value).items():
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not name.startswith("_") and inspect.isfunction(function):
            yield name, function


def undocumented(name: str, value: Any, arguments: bool = True) -> Iterator[str]:
    """What is missing in the documentation of a function or class."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value):  # arguments may be documented by a base class
        text = (
            "\n".join([text, *(inspect.cleandoc(base.__doc__ or "") for base in value.__mro__[1:-1])]) if text else ""
        )
    if not text:
        yield f"{name}: no docstring"
        return
    try:
        parameters = list(inspect.signature(value).parameters) if arguments else []
    except (TypeError, ValueError):
        return
    unclear = [p for p in parameters if p not in OBVIOUS and not p.startswith("_")]
    section = text.partition("Args:")[2]
    if section:
        documented = set(re.findall(r"^\s*\*{0,2}(\w+)[^\n:]*:", section, re.MULTILINE))
        yield from (f"{name}: argument {p!r} is not in Args" for p in unclear if p not in documented)
    elif len(unclear) > 1 and not all(re.search(rf"\b{re.escape(p)}\b", text) for p in unclear):
        yield f"{name}: {', '.join(unclear)} have no Args section"


def missing_documentation() -> list[str]:
    """Of public names with their methods, and of all functions and classes of the documented rooms."""
    found: dict[str, None] = {}
    for name, value, public in public_functions():
        missing = list(undocumented(name, value, public))
        if inspect.isclass(value) and name.count(".") == 1:
            for method, function in methods(value):
                missing += undocumented(f"{name}.{method}", function)
        found.update(dict.fromkeys(missing))
    return list(found)


GAPS: set[str] = set()
"""What is known to be missing; to be emptied, never to grow."""


def test_public_functions_are_documented():
    assert set(missing_documentation()) <= GAPS


def test_the_checker_finds_what_is_missing():
    def bare(length, width): ...

    def partial(length, width):
        """A rectangle.

        Args:
            length: along x, m.
        """

    def full(length, width):
        """A rectangle of a length and a width."""

    assert list(undocumented("f", bare)) == ["f: no docstring"]
    assert list(undocumented("f", partial)) == ["f: argument 'width' is not in Args"]
    assert list(undocumented("f", full)) == []


def test_every_module_says_what_it_is_about():
    assert [str(path) for path in files() if not ast.get_docstring(parsed(path))] == []


# --------------------------------------------------------------------------------------------------------------- wheel


def test_version_is_the_one_of_the_project():
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|a\d+|b\d+|rc\d+)?", dalembert.__version__)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["hatch"]["version"]["path"] == "src/dalembert/__init__.py"


def test_types_are_shipped():
    assert (SOURCE / "py.typed").exists()


def test_type_checkers_know_every_name_and_no_other():
    module = ast.parse((SOURCE / "__init__.py").read_text(encoding="utf-8"))
    blocks = {ast.unparse(node.test): node.body for node in module.body if isinstance(node, ast.If)}
    seen = {alias.name for node in blocks["TYPE_CHECKING"] for alias in node.names}
    assert seen == {*dalembert._HOMES, *dalembert._ROOMS}
    assert [node.name for node in blocks["not TYPE_CHECKING"]] == ["__getattr__"]  # which would answer to any name


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="needs hatchling to build a wheel")
def test_the_wheel_holds_code_types_and_robots(tmp_path):
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        str(ROOT),
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(tmp_path),
    ]
    subprocess.run([*command, "--quiet"], check=True, timeout=300, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"dalembert-{dalembert.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.startswith("dalembert/")}
        entry_points = archive.read(f"dalembert-{dalembert.__version__}.dist-info/entry_points.txt").decode()
    tracked = {path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    wanted = {f"dalembert/{path.relative_to(SOURCE).as_posix()}" for path in tracked if not _hidden(path)}
    assert {name for name in wanted if name.endswith((".py", ".toml", ".urdf", "py.typed"))} <= held
    assert "dalembert = dalembert.cli:main" in entry_points


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(SOURCE).parts)


# ---------------------------------------------------------------------------------------------------------- slow tests


def test_tests_that_are_listed_as_slow_exist():
    listed = {*REPEATED, *(address for addresses in SLOW.values() for address in addresses)}
    absent = []
    for address in sorted(listed):
        file, _, name = address.partition("::")
        text = (ROOT / file).read_text(encoding="utf-8") if (ROOT / file).is_file() else ""
        if not text or (name and f"def {name.rpartition('::')[2]}(" not in text):
            absent.append(address)
    assert absent == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("symbolize", "symbolise"),
        ("verfy", "verify"),
        ("linearise", "control.linearize"),
        ("normalize", "Mechanism.normalise"),
        ("forward_dynamic", "Dynamics.forward_dynamics"),
    ],
)
def test_misspelt_names_are_met_with_the_one_that_exists(name, words):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean {words}"):
        getattr(dalembert, name)


def test_names_that_the_package_points_to_exist():
    example = dalembert.Dynamics(dalembert.load("double_pendulum"))  # quantities are attributes of an instance
    for place in dalembert._ELSEWHERE.values():
        if place.startswith("Dynamics."):
            assert hasattr(example, place.removeprefix("Dynamics.")), place
            continue
        found = dalembert
        for part in place.split(",")[0].split("."):
            assert hasattr(found, part), place
            found = getattr(found, part)


def test_nothing_is_suggested_for_what_resembles_nothing():
    with pytest.raises(AttributeError, match=r"no attribute 'xyzzy'$"):
        _ = dalembert.xyzzy


def test_methods_of_dynamics_are_suggested_beside_quantities():
    dynamics = dalembert.Dynamics(dalembert.load("double_pendulum"))
    for name, meant in (
        ("assemblys", "assemblies"),
        ("linearise", "linearize"),
        ("project_velocities", "project_velocity"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; did you mean '{meant}'"):
            getattr(dynamics, name)

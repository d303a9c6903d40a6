"""Without any extra everything else works, and each extra's absence is told in one line that says how to get it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
BRINGS = {"pinocchio": "pin", "cupy": "cupy-cuda12x"}
"""Import -> distribution, where they are called differently."""


def test_nothing_breaks_without_extras():
    """In a process that refuses to import any of them."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "extras_probe.py"), "--block"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0
    assert done.stdout.count("pip install") >= 12


def test_extras_that_are_hinted_at_exist_and_bring_the_package():
    wrong, seen = [], 0
    for path in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "MissingExtraError":
                values = [a.value if isinstance(a, ast.Constant) else None for a in node.args]
                package, extra = values[0], values[1]
                if extra is None:
                    continue
                seen += 1
                held = [re.split(r"[<>=\[]", item)[0] for item in EXTRAS.get(extra, ())]
                if extra not in EXTRAS or (package and BRINGS.get(package, package) not in held):
                    wrong.append(f"{path.name}:{node.lineno}: {package} by [{extra}]")
    assert wrong == [] and seen >= 8


def test_comparison_readers_name_extras_that_bring_their_library():
    from dalembert.comparison.compare import EXTRAS as NAMED

    for library, extra in NAMED.items():
        held = " ".join(EXTRAS[extra])
        assert BRINGS.get(library, library) in held


def test_an_import_raises_no_warning_and_ships_types():
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci" / "facts.py")], capture_output=True, text=True, timeout=120, check=True
    )
    print(done.stdout)
    assert "types shipped, no warnings" in done.stdout


def test_doctor_knows_every_optional_package():
    from dalembert.cli.doctor import OPTIONAL

    brought = {
        re.split(r"[<>=\[]", item)[0]
        for name, held in EXTRAS.items()
        if name not in ("test", "docs", "bench")  # for those who work in the repository
        for item in held
    }
    assert {"cupy" if name.startswith("cupy") else name for name in brought} <= set(OPTIONAL)
    hinted = {extra for _, how in OPTIONAL.values() for extra in re.findall(r"dalembert\[(\w+)\]", how)}
    assert hinted <= set(EXTRAS)

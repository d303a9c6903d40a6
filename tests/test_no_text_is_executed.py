"""Text that a caller gives is a name, a path or a formula; no public function ever runs it as a program."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import signal
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError

ARM = da.load("demo_arm")
CART = da.load("cart_pole")
SAMPLES = {
    "mechanism": ARM, "dynamics": ARM, "model": ARM, "other": ARM, "equations": None, "q": ARM.neutral,
    "v": np.zeros(ARM.nv), "a": np.zeros(ARM.nv), "tau": np.zeros(ARM.nv), "t": 0.1, "frame": "flange",
    "body": "flange", "joint": "turn", "rng": np.random.default_rng(0), "open": False, "symbol": None,
}  # fmt: skip
"""Good values by the name of the argument; any other argument without a default gets the text, too."""

PLAIN = re.compile(r"(bool|int|float|complex|None|[\s|'\"])*")
"""Annotations of arguments that are no text, nor anything that contains some."""

SECONDS = 20


def public():
    """Name and object of every public callable of the package: functions, classes, and makers that classes have."""
    rooms = [m.name for m in pkgutil.iter_modules(da.__path__) if not m.name.startswith("_") and m.name != "cli"]
    found = {}
    for room in ["", *rooms]:
        module = importlib.import_module(f"dalembert.{room}".rstrip("."))
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
                continue
            found.setdefault(id(value), (f"{module.__name__}.{name}", value))
            for maker in vars(value) if inspect.isclass(value) else ():
                kind = inspect.getattr_static(value, maker)
                if not maker.startswith("_") and isinstance(kind, (classmethod, staticmethod)):
                    found.setdefault(id(kind), (f"{module.__name__}.{name}.{maker}", getattr(value, maker)))
    return dict(found.values())


CALLABLES = public()


QUICKLY = {"dalembert.viewer.picture": {"size": (16, 12)}, "dalembert.viewer.film": {"size": (16, 12)}}
"""Arguments with which a callable takes less time."""


def attacks(name, text):
    """Arguments of calls: in each the text, or a container of it, stands in the place of one argument."""
    function = CALLABLES[name]
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    arguments = [a for a in arguments if a.kind in (a.POSITIONAL_OR_KEYWORD, a.KEYWORD_ONLY)]
    good = {a.name: SAMPLES.get(a.name, text) for a in arguments if a.default is a.empty or a.name in SAMPLES}
    good |= QUICKLY.get(name, {})
    for argument in arguments:
        if argument.annotation is not argument.empty and PLAIN.fullmatch(str(argument.annotation)):
            continue
        for value in (text, [text], {"m": text}):
            yield {**good, argument.name: value}


def survives(function, keywords):
    """Whether a call ends in time, however it ends."""
    ended = threading.Event()

    def late(*_):
        if not ended.is_set():
            raise TimeoutError("still busy")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**keywords)
    except TimeoutError:
        return False
    except Exception:  # how wrong arguments are answered is asked elsewhere
        return True
    finally:
        ended.set()
        signal.alarm(0)
    return True


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """A file that exists if the text was executed; what calls write goes beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_, **__: False)
    return tmp_path / "executed"


def test_the_search_finds_the_callables_of_every_room():
    assert {"dalembert.Ground.formula", "dalembert.load", "dalembert.Dynamics"} <= set(CALLABLES)
    assert len({name.split(".")[1] for name in CALLABLES}) > 60


@pytest.mark.parametrize("name", CALLABLES)
def test_no_public_function_executes_text(name, marker):
    text = f"__import__('pathlib').Path({str(marker)!r}).touch()"
    for keywords in attacks(name, text):
        assert survives(CALLABLES[name], keywords), keywords
        assert not marker.exists(), f"{name} executed its text: {keywords}"


HOSTILE = (
    "__import__('os').system('true')", "x.__class__", "().__class__.__base__", "lambda: 0", "9**9**9", "[x, y]",
    "exec('1')", "x if y else 1", "x; y", "'x'*9", "f'{x}'", "x := 1",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_ground_reads_arithmetic_only(text):
    assert survives(da.Ground.formula, {"height": text})
    with pytest.raises(DalembertError):
        da.Ground.formula(text)


def test_a_ground_is_the_one_its_text_says():
    ground = da.Ground.formula("h*sin(x) + y**2/4")
    assert ground.names == ("h",)
    assert str(ground.function.expressions[0]) == "h*sin(x) + y**2/4"
    with pytest.raises(DalembertError, match="a number or a SymPy expression"):
        da.model.formula.Formula("x")


def test_sympy_reads_no_text_anywhere_in_the_package():
    """SymPy executes text that it is asked to read; with ``strict`` it refuses text."""
    for path in Path(da.__file__).parent.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        for call in re.findall(r"sympify\(.*", source):
            assert "strict=True" in call, f"{path}: {call}"
        assert not re.search(r"\b(parse_expr|sympy\.S\(|sympy\.N\()|(?<![\w.])(eval|exec)\(", source), path

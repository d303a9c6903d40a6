"""A text that identifies the content of a record, the same in every process: functions by what they do, not where."""

from __future__ import annotations

import contextlib
import dis
import pickle
from types import CodeType, FunctionType
from typing import Any

EXACT = 2**53
"""Integers up to this are floats too."""


def fingerprint(value: Any, above: tuple[Any, ...] = ()) -> str:
    """The text of a value; of a function its code, constants, defaults and what it refers to outside.

    Args:
        value: nested tuples of numbers, texts, expressions and functions, as :func:`~dalembert.model.record.content`
            gives them.
        above: functions that are being described; one that refers to itself is not described again.
    """
    if isinstance(value, (tuple, list)):
        return f"({', '.join(fingerprint(x, above) for x in value)})"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(fingerprint(x, above) for x in value))}}}"
    if isinstance(value, FunctionType):
        if any(value is function for function in above):
            return "itself"
        defaults = (value.__defaults__, sorted((value.__kwdefaults__ or {}).items()))
        around = [(name, _plain(item)) for name, item in outside(value).items()]
        return f"function{fingerprint((code_of(value.__code__), defaults, around), (*above, value))}"
    if type(value) is int and abs(value) <= EXACT:
        value = float(value)  # 2 and 2.0 are equal, and files may make one of the other
    if type(value) is float and value == 0:
        return "0.0"  # -0.0 too; a file may leave it out
    if callable(value):
        return f"{type(value).__module__}.{type(value).__qualname__}:{_pickled(value)}"
    return repr(value)


def outside(function: FunctionType) -> dict[str, Any]:
    """The variables around a function that it and the functions inside it use; not those that it assigns itself.

    Args:
        function: of Python.
    """
    found: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # a variable that has no value yet
            found[name] = cell.cell_contents
    used, assigned = _names(function.__code__)
    found |= {name: function.__globals__[name] for name in used if name in function.__globals__}
    return {name: value for name, value in sorted(found.items()) if name not in assigned}


def code_of(code: CodeType) -> tuple[Any, ...]:
    """Instructions and constants; those of inner functions too, instead of their places in memory.

    Args:
        code: of a function.
    """
    constants = [code_of(item) if isinstance(item, CodeType) else _constant(item) for item in code.co_consts]
    return code.co_code.hex(), code.co_names, constants


def _constant(value: Any) -> str:
    """A constant of a function; a set is written in an order of its own in every process."""
    return f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, frozenset) else repr(value)


def _names(code: CodeType) -> tuple[set[str], set[str]]:
    """Global names that code and the functions inside it use, and outer variables that they assign."""
    used, assigned = set(), set()
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            used.add(step.argval)
        elif step.opname in ("STORE_GLOBAL", "STORE_DEREF"):
            assigned.add(step.argval)
    for item in code.co_consts:
        if isinstance(item, CodeType):
            inner = _names(item)
            used, assigned = used | inner[0], assigned | inner[1]
    return used, assigned


def _plain(value: Any) -> Any:
    """Numbers, texts and functions as they are, modules and classes by name, anything else as its pickle."""
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    if isinstance(value, FunctionType):  # one of a library by its name; a user's own, which may change, by content
        return value if value.__module__ == "__main__" or value.__closure__ else f"{value.__module__}.{value.__name__}"
    return getattr(value, "__name__", None) or _pickled(value)


def _pickled(value: Any) -> str:
    try:
        return pickle.dumps(value, protocol=4).hex()
    except Exception:  # a class of the user's choosing may fail in any way; then nothing better is known
        return repr(value)

"""A text that identifies the content of a record, the same in every process: functions by what they do, not where."""

from __future__ import annotations

import pickle
from types import CodeType, FunctionType
from typing import Any


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
    if isinstance(value, CodeType):
        parts = (value.co_code.hex(), value.co_names, value.co_varnames, value.co_freevars, value.co_consts)
        return f"code{fingerprint(parts, above)}"
    if isinstance(value, FunctionType):
        if any(value is function for function in above):
            return "itself"
        return f"function{fingerprint(_outside(value), (*above, value))}"
    if callable(value):
        return f"{type(value).__module__}.{type(value).__qualname__}:{_pickled(value)}"
    return repr(value)


def _outside(function: FunctionType) -> tuple[Any, ...]:
    """The code of a function, its defaults, and the variables around it."""
    closed = []
    for cell in function.__closure__ or ():
        try:
            closed.append(_plain(cell.cell_contents))
        except ValueError:  # not assigned yet
            continue
    names = [name for name in function.__code__.co_names if name in function.__globals__]
    around = [(name, _plain(function.__globals__[name])) for name in names]
    defaults = (function.__defaults__, sorted((function.__kwdefaults__ or {}).items()))
    return function.__code__, defaults, closed, around


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

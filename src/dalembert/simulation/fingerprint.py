"""Names for what tasks compute, by which an interrupted sweep recognises its own results in another process.

A function counts by its compiled code, its defaults, and what it refers to outside: numbers, strings, arrays, tuples of
these, functions, mechanisms and their dynamics. Whatever else it refers to counts by its type only, and a variable that
it assigns itself not at all: a sweep whose results depend on those needs a key.
"""

from __future__ import annotations

import functools
import hashlib
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.model import Mechanism
from dalembert.model.record import code_of, outside

SIMPLE = (type(None), bool, int, float, complex, str, bytes, np.generic)


def fingerprint(*values: Any) -> str:
    """A digest of options and functions, the same in every process.

    Args:
        values: numbers, strings, arrays, mechanisms, functions; lists, tuples and dicts of these.
    """
    return hashlib.sha256(repr([_told(value, True, ()) for value in values]).encode()).hexdigest()


def _told(value: Any, inside: bool, above: tuple[int, ...]) -> Any:
    """A description with a faithful ``repr``.

    Args:
        value: of what.
        inside: look into lists and dicts.
        above: functions that are being described, by id; they may refer to themselves.
    """
    if isinstance(value, SIMPLE):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, tuple) or (inside and isinstance(value, list)):
        return type(value).__name__, [_told(item, inside, above) for item in value]
    if inside and isinstance(value, dict):
        return "dict", sorted((repr(name), _told(item, inside, above)) for name, item in value.items())
    if isinstance(value, Mechanism):
        return "mechanism", value.digest
    if isinstance(value, Dynamics):
        return "dynamics", value.kernel("forward_dynamics").key
    if isinstance(value, functools.partial):
        return "partial", _told((value.func, value.args), True, above), _told(dict(value.keywords), True, above)
    if isinstance(value, MethodType):
        return "method", _told(value.__func__, inside, above), _told(value.__self__, inside, above)
    if isinstance(value, FunctionType):
        return _function(value, above)
    if isinstance(value, (ModuleType, BuiltinFunctionType, type, np.ufunc)):
        return getattr(value, "__module__", ""), value.__name__
    return f"{type(value).__module__}.{type(value).__qualname__}", str(getattr(value, "key", ""))


def _function(function: FunctionType, above: tuple[int, ...]) -> Any:
    if id(function) in above:
        return "itself"
    above = (*above, id(function))
    return (
        function.__qualname__,
        code_of(function.__code__),
        _told((function.__defaults__, sorted((function.__kwdefaults__ or {}).items())), True, above),
        [(name, _told(value, False, above)) for name, value in outside(function).items()],
    )

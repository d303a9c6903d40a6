"""Arguments of the wrong type, answered in a sentence instead of by whatever Python trips over."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_traced
from dalembert.errors import ArgumentError, DalembertError
from dalembert.files import write_text as write_whole
from dalembert.labels import unlabelled
from dalembert.text.suggest import near

HINTS = {"Mechanism": "a Mechanism (dalembert.load(...) makes one)", "str": "a text", "Mapping": "a mapping"}


def shown(value: Any) -> str:
    """A value for a message: its type, and the value itself if it is short."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else type(value).__name__


def expect(value: Any, kind: type, what: str, error: type[DalembertError] = ArgumentError) -> Any:
    """The value itself if it is of a kind, else an error that says what was expected.

    Args:
        value: what the caller gave.
        kind: the class it must belong to.
        what: the argument, for the message: ``"lock, positions"``.
    """
    if isinstance(value, kind):
        return value
    wanted = HINTS.get(kind.__name__, f"a {kind.__name__}")
    raise error(f"{{argument}}: expected {wanted}, got {shown(value)}", argument=what)


def expect_choice(value: Any, choices: Iterable[str], what: str, error: type[DalembertError] = ArgumentError) -> str:
    """One of several words."""
    choices = tuple(choices)
    if isinstance(value, str) and value in choices:
        return value
    meant = near(value, choices)
    if meant and len(choices) > 3:
        raise error(f"{what} {shown(value)}; did you mean {meant[0]!r}? There are {', '.join(choices)}")
    listed = " or ".join(map(repr, choices)) if len(choices) < 4 else f"one of {', '.join(choices)}"
    raise error(f"{what} {shown(value)}; choose {listed}")


def expect_items(value: Any, kind: type, what: str, error: type[DalembertError] = ArgumentError) -> tuple[Any, ...]:
    """A tuple of things of one kind, out of any iterable of them but a text or a mapping."""
    scalar = isinstance(value, np.ndarray) and not value.ndim  # iterable by its type only
    if scalar or isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        of = "" if kind is object else f" of {kind.__name__}"
        raise error(f"{{argument}}: expected a sequence{of}, got {shown(value)}", argument=what)
    return tuple(expect(item, kind, f"{what}, item {k}", error) for k, item in enumerate(value))


def expect_names(value: Any, what: str) -> tuple[str, ...]:
    """One name or several, as a tuple; a single one is not taken for its letters."""
    return (value,) if isinstance(value, str) else expect_items(value, str, what)


def expect_real(value: Any, what: str, low: float = -math.inf) -> float:
    """A finite number."""
    array = real_array(value, what)
    if array.shape or not np.isfinite(array) or array < low:
        floor = f" not below {low:g}" if low > -math.inf else ""
        raise ArgumentError(f"{{argument}}: expected one finite number{floor}, got {shown(value)}", argument=what)
    return float(array)


def expect_whole(value: Any, what: str, low: int = 0, high: int = 2**31) -> int:
    """A whole number."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
    if not whole or not low <= value <= high:
        raise ArgumentError(
            f"{{argument}}: expected a whole number from {low} to {high}, got {shown(value)}", argument=what
        )
    return int(value)


def real_array(value: Any, what: str) -> np.ndarray:
    """Numbers as an array of floats, any shape; what has labels is refused, because nothing is known of names here.

    Args:
        value: what the caller gave: numbers, nested sequences of them, arrays.
        what: the argument, for the message.
    """
    value = unlabelled(value, what)
    try:
        array = np.asarray(value)
        kind = array.dtype.kind
        if kind in "biuf" or (kind == "O" and not any(x is None or isinstance(x, (str, bytes)) for x in array.flat)):
            return array.astype(float)
    except (TypeError, ValueError, OverflowError):
        pass
    except RuntimeError as error:  # tensors that record derivatives
        raise ArgumentError(f"{{argument}}: no array of numbers: {error}", argument=what) from error
    if hasattr(value, "__cuda_array_interface__"):
        raise ArgumentError(
            "{argument} is on a CUDA device; Dynamics and rollout take device='cuda', all others a copy of it",
            argument=what,
        )
    raise ArgumentError(f"{{argument}}: expected real numbers, got {shown(value)}", argument=what)


def scalar_array(value: Any, what: str) -> np.ndarray:
    """The same for kernels, which take traced scalars as well: an array that holds some keeps them.

    Args:
        value: see :func:`real_array`.
        what: see :func:`real_array`.
    """
    array = np.array(value, dtype=object)
    return array if any(map(is_traced, array.flat)) else real_array(value, what)


def expect_path(value: Any, what: str) -> Path:
    """A path."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentError(f"{{argument}}: expected a path, got {shown(value)}", argument=what)
    return Path(os.fsdecode(value))


def write_text(path: Any, text: str, what: str) -> None:
    """Write a file, whole or not at all, or say why it cannot be written."""
    try:
        write_whole(expect_path(path, what), text)
    except (OSError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{{argument}}: cannot write {shown(path)}: {error}", argument=what) from error

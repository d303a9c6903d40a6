"""Frozen records whose fields may be small arrays of numbers or symbols."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arguments import unrolled
from dalembert.errors import ModelError
from dalembert.model.checks import shown


def frozen_array(value: Any, shape: tuple[int, ...], what: str) -> np.ndarray:
    """``value`` as a read-only array of scalars of the given shape, or a ModelError that names ``what``.

    SymPy writes vectors as matrices of one column, which are vectors here too.
    """
    try:
        array = np.array(arrays.asarray(unrolled(value) if len(shape) == 1 else value))
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{what}: expected {_shape_words(shape)}, got {shown(value)}") from error
    if array.shape != shape:
        got = f"an array of shape {array.shape}" if array.ndim else shown(value)
        raise ModelError(f"{what}: expected {_shape_words(shape)}, got {got}")
    if array.dtype == complex:
        raise ModelError(f"{what}: expected real numbers, got {value!r}")
    if array.dtype == object:
        for index, x in np.ndenumerate(array):
            array[index] = check_scalar(x, what)
        if all(scalar.is_number(x) for x in array.flat):
            array = array.astype(float)
    array.setflags(write=False)
    return array


def check_scalar(x: Any, what: str) -> Any:
    """``x`` itself if it is a real number or a symbol, else a ModelError that names ``what``."""
    if isinstance(x, (bool, str, bytes)) or x is None:
        raise ModelError(f"{what}: expected a number or a symbol, got {shown(x)}")
    if scalar.is_number(x):
        if isinstance(x, (complex, np.complexfloating)):
            raise ModelError(f"{what}: expected a real number, got {x!r}")
        if isinstance(x, int) and x.bit_length() > 1000:
            raise ModelError(
                f"{what}: expected a number that a float can hold, got an integer of {x.bit_length()} bits"
            )
        return x.item() if isinstance(x, np.number) else x
    if scalar.is_sympy(x):
        from sympy import I

        if getattr(x, "is_commutative", None) is not True or x.has(I):
            raise ModelError(f"{what}: expected a real number or a symbol, got {shown(x)}")
        return exact_number(x)
    if isinstance(x, numbers.Number):  # a Fraction or a Decimal, which not every float can be multiplied with
        return float(x)  # type: ignore[arg-type]
    if all(hasattr(x, name) for name in ("__add__", "__mul__", "__neg__")) and not isinstance(x, (np.ndarray, type)):
        return x  # a traced scalar
    raise ModelError(f"{what}: expected a number or a symbol, got {shown(x)}")


def exact_number(x: Any) -> Any:
    """SymPy floats and integers as Python numbers; everything else, exact constants included, as it is."""
    if getattr(x, "is_Float", False):
        return float(x)
    if getattr(x, "is_Integer", False):
        return int(x)
    return x


def _shape_words(shape: tuple[int, ...]) -> str:
    return {(3,): "three numbers", (3, 3): "a 3 x 3 matrix"}.get(shape, f"an array of shape {shape}")


def content(value: Any) -> Any:
    """A hashable image of a field: arrays become nested tuples, records their own content."""
    if isinstance(value, np.ndarray):
        entries = value.ravel()
        return ("array", value.shape, tuple(map(exact_number, entries) if value.dtype == object else entries.tolist()))
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return tuple(content(x) for x in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (type(value).__name__, *(content(getattr(value, f.name)) for f in fields if f.compare))
    return value


class Record:
    """Base of the model's dataclasses: equality, hash, pickling and ``replace`` that understand arrays."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and scalar.same(content(self), content(other))

    def __hash__(self) -> int:
        return hash(content(self))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor, which makes arrays read-only again."""
        return type(self), tuple(getattr(self, f.name) for f in dataclasses.fields(self))  # type: ignore[arg-type]

    def replace(self, **changes: Any) -> Any:
        """A copy with the given fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

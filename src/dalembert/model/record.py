"""Frozen records whose fields may be small arrays of numbers or symbols: equality, kinds, scalars, fingerprints."""

from __future__ import annotations

import cmath
import dataclasses
import numbers
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
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


UNLESS_DEFAULT = {"content": "unless default"}
"""Metadata of a field that says nothing at its default: records without it keep their content and digest."""


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
        fields = [f for f in dataclasses.fields(value) if f.compare and not _says_nothing(value, f)]
        return (type(value).__name__, *(content(getattr(value, f.name)) for f in fields))
    return value


def _says_nothing(record: Any, entry: Any) -> bool:
    return entry.metadata == UNLESS_DEFAULT and scalar.same(getattr(record, entry.name), entry.default)


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


@dataclasses.dataclass(frozen=True)
class Kind:
    """What one kind of constraint or force element is, and which fields it has; all others stay at their default.

    Args:
        ends: those of ``a`` and ``b`` that it acts on.
        on: what the ends are, ``"frames"``, which have placements, or ``"joints"``.
        needs: fields that must be given.
        may: fields that may be given.
    """

    meaning: str
    ends: tuple[str, ...] = ("a", "b")
    on: str = "frames"
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()

    @property
    def placements(self) -> tuple[str, ...]:
        """The fields that place its ends."""
        return tuple(f"placement_{end}" for end in self.ends) if self.on == "frames" else ()

    def check(self, record: Any, where: str) -> None:
        """Raise a ModelError for a field that is missing, or that the kind has no use for and might be believed to act.

        Args:
            record: what has the fields, among them its ``kind``.
            where: which it is, for the message.
        """
        used = {"name", "kind", *self.ends, *self.placements, *self.needs, *self.may}
        for entry in dataclasses.fields(record):
            given = getattr(record, entry.name)
            absent = scalar.same(given, _default(entry)) or (entry.name in ("a", "b") and given in ("", "world"))
            if entry.name not in used and not absent:
                raise ModelError(
                    f"a {record.kind} {_noun(record)} does not use {entry.name}, got {given!r}", where=where
                )
            if entry.name in self.needs and absent:
                raise ModelError(f"a {record.kind} {_noun(record)} needs a {entry.name}", where=where)


def _noun(record: Any) -> str:
    return type(record).__name__.lower()


def _default(entry: Any) -> Any:
    return entry.default if entry.default_factory is dataclasses.MISSING else entry.default_factory()


# ----------------------------------------------------------------------- numbers, exact constants and expressions alike


def is_finite(x: Scalar) -> bool:
    """False for infinity and NaN, and for an expression in which one of them stands."""
    if scalar.is_number(x):
        return cmath.isfinite(x)
    if scalar.is_sympy(x):
        from sympy import S

        return not x.has(S.NaN, S.Infinity, S.NegativeInfinity, S.ComplexInfinity)
    return True


def is_negative(x: Scalar) -> bool:
    """True for a negative number and for an expression that is negative whatever its symbols are."""
    return bool(x < 0) if scalar.is_number(x) else getattr(x, "is_negative", None) is True


def floats(values: Array) -> Array | None:
    """The values of an array of finite numbers and exact constants; None if a symbol, infinity or NaN is among them."""
    if values.dtype == object:
        if not all(scalar.is_number(x) or getattr(x, "is_number", False) is True for x in values.flat):
            return None
        values = values.astype(float)
    return values if np.isfinite(values).all() else None


# --------------------------------------------------------------------------------------------------------- fingerprints


EXACT = 2**53
"""Integers up to this are floats too."""


def fingerprint(value: Any) -> str:
    """A text that no other value has. Functions all have the same: whoever has some adds what they compute, see
    :func:`~dalembert.model.user_function.function_digest`.

    Args:
        value: nested tuples, lists and dicts of numbers, texts, arrays, expressions and functions, as
            :func:`~dalembert.model.record.content` gives them.
    """
    if isinstance(value, (tuple, list)):
        return f"({', '.join(fingerprint(x) for x in value)})"
    if isinstance(value, dict):
        return f"dict{fingerprint(sorted(value.items(), key=lambda item: str(item[0])))}"
    if isinstance(value, np.ndarray):
        return fingerprint(content(value))
    if scalar.is_sympy(value):
        from sympy import srepr

        return srepr(value)  # unlike its text, it has the kinds of symbols and all digits of numbers
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(fingerprint(x) for x in value))}}}"
    if type(value) is int and abs(value) <= EXACT:
        value = float(value)  # 2 and 2.0 are equal, and files may make one of the other
    if type(value) is float and value == 0:
        return "0.0"  # -0.0 too; a file may leave it out
    if callable(value):
        return "function"
    return repr(value)

"""Points of a sweep: grids and samples."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import expect, shown


class Points:
    """Named quantities at many points.

    Args:
        values: by name, those along an axis of a grid, or one for each sample, (N, ...). They are copied.
        combined: whether all combinations are meant.
    """

    def __init__(self, values: Mapping[str, Any], combined: bool):
        self.values = {str(name): _values(str(name), value) for name, value in values.items()}
        self.combined = combined
        if not self.values:
            raise ArgumentError("there are no points: name at least one quantity")
        for name, value in self.values.items():
            if value.ndim == 0 or len(value) == 0:
                raise ArgumentError(f"{name!r} has shape {value.shape}; give values along its first dimension")
        lengths = {name: len(value) for name, value in self.values.items()}
        if not combined and len(set(lengths.values())) > 1:
            raise ArgumentError(f"samples differ in number: {lengths}")
        self.shape = tuple(lengths.values()) if combined else (next(iter(lengths.values())),)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def piece(self, begin: int, end: int) -> dict[str, np.ndarray]:
        """Copies of the points from ``begin`` to ``end`` by name, the last axis of a grid running fastest.

        Args:
            begin: number of the first point.
            end: number after the last one.
        """
        if not self.combined:
            return {name: value[begin:end].copy() for name, value in self.values.items()}
        where = np.unravel_index(np.arange(begin, end), self.shape)
        return {name: value[k] for (name, value), k in zip(self.values.items(), where)}

    @property
    def digest(self) -> str:
        """A name for exactly these points."""
        h = hashlib.sha256(repr((self.combined, [(n, v.shape, str(v.dtype)) for n, v in self.values.items()])).encode())
        for value in self.values.values():
            h.update(np.ascontiguousarray(value).tobytes())
        return h.hexdigest()

    def __repr__(self) -> str:
        kind = "grid" if self.combined else "samples"
        return f"<{kind} of {len(self)} points: {', '.join(f'{n} {v.shape}' for n, v in self.values.items())}>"


def _named(given: Any, what: str) -> Mapping[str, Any]:
    return {} if given is None else expect(given, Mapping, what)


def _values(name: str, given: Any) -> np.ndarray:
    try:
        found = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name!r} = {shown(given)}: {error}") from error
    if found.dtype.hasobject:  # which another process could not recognise
        raise ArgumentError(f"{name!r} = {shown(given)}; give numbers or texts")
    found = found.copy()
    found.setflags(write=False)
    return found


def grid(axes: Mapping[str, Any] | None = None, **more: Any) -> Points:
    """All combinations of values along axes.

    Args:
        axes: by name, the values (or arrays, such as whole initial states) along an axis, (N, ...).
        more: the same by keyword.
    """
    return Points({**_named(axes, "axes"), **more}, True)


def samples(values: Mapping[str, Any] | None = None, **more: Any) -> Points:
    """Points one by one.

    Args:
        values: by name, one value (or array) for each sample, (N, ...).
        more: the same by keyword.
    """
    return Points({**_named(values, "values"), **more}, False)

"""Arrays whose entries have labels: tables, series, labelled and structured arrays. Labels win over positions.

They are recognised by what they have, so that nobody imports their libraries: structured arrays of NumPy, DataFrame and
Series of pandas, DataFrame of Polars, Table of PyArrow, DataArray of xarray. Labels are used whatever their order; an
unknown, missing or repeated one is an error. Whole numbers that count upwards (0, 1, 2, or 3, 4, 5 of a part of a
table) name nothing: such data are positions. Whole numbers in another order are an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.text.suggest import hint

Found = list[tuple[str, Any]]
"""For every axis of an array its own name, if it has one, and its labels, or None."""


@dataclass(frozen=True)
class NamedAxis:
    """What the entries along an axis are called.

    Args:
        names: in order.
        words: what xarray's dimension may be called that holds them, where its entries have no labels.
        prefix: before a name in tables of several quantities, ``q`` of ``q.elbow``.
        remarks: by label that is no name why it is none.
    """

    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    prefix: str = ""
    remarks: Mapping[str, str] = field(default_factory=dict)

    def bare(self, labels: Any) -> list[str]:
        """Labels as texts, without the prefix."""
        texts = [str(label) for label in _list(labels)]
        before = f"{self.prefix}."
        return [text if text in self.names else text.removeprefix(before) for text in texts] if self.prefix else texts

    def order(self, labels: Any, what: str) -> list[int] | None:
        """Where the entries stand in order of the names; None if they are in order, or have no names."""
        if labels is None or _counts_up(labels):
            return None
        texts = self.bare(labels)
        for text, label in zip(texts, _list(labels)):
            if text in self.remarks:
                raise ArgumentError(f"{{argument}}: {text!r} {self.remarks[text]}", argument=what)
            if text not in self.names:
                raise ArgumentError(
                    f"{{argument}}: the label {label!r} is not one of its names{hint(text, self.names, 'they are')}",
                    argument=what,
                    remedy="entries are taken by position if an array without labels is given, as .to_numpy() makes it",
                )
        if twice := [text for text in texts if texts.count(text) > 1]:
            raise ArgumentError(f"{{argument}}: the label {twice[0]!r} is there twice", argument=what)
        if missing := [name for name in self.names if name not in texts]:
            raise ArgumentError(
                f"{{argument}} has labels, but none is {', '.join(map(repr, missing))}", argument=what,
                remedy="a table names all entries; a dict may leave out those that have a default",
            )  # fmt: skip
        return None if texts == list(self.names) else [texts.index(name) for name in self.names]


def has_names(x: Any) -> bool:
    """Whether entries may be addressed by name: a mapping, or an array that has labels."""
    if type(x) is np.ndarray:
        return x.dtype.names is not None
    return isinstance(x, Mapping) or _axes(x) is not None


def names_of(x: Any) -> tuple[str, ...]:
    """Keys of a mapping, or labels of the last axis of a table; empty for anything else."""
    if isinstance(x, Mapping):
        return tuple(map(str, x))
    found = _axes(x)
    return tuple(map(str, _list(found[-1][1]))) if found and _has_texts(found[-1][1]) else ()


def as_mapping(x: Any) -> Any:
    """A labelled row as a dict, anything else as it is."""
    found = None if isinstance(x, Mapping) else _axes(x)
    if found is None or not _has_texts(found[-1][1]):
        return x
    labels, values = _list(found[-1][1]), _array(x, "the values")
    if len(set(map(str, labels))) < len(labels) or values.ndim != 1:
        raise ArgumentError("expected one row of values with a name each, got a table or repeated names")
    return dict(zip(labels, values.tolist()))


def arranged(x: Any, axes: Sequence[NamedAxis], what: str) -> Any:
    """An array with its last axes in the order of their names; ``x`` itself if it is of a kind that has no labels.

    An axis is found by its labels wherever it stands, else by the name of its dimension, else it is the last.

    Args:
        x: what the caller gave.
        axes: the last ones, in order.
        what: the argument, for errors.
    """
    found = _axes(x)
    if found is None:
        return x
    array = _array(x, what)
    if array.ndim < len(axes):
        return array  # whoever asked says which shape is needed
    places = [_place(found, axis, what) for axis in axes]
    left = [k for k in range(array.ndim) if k not in places]
    for k in reversed(range(len(axes))):
        if places[k] is None:
            places[k] = left.pop()
    whole = np.moveaxis(array, [k for k in places if k is not None], range(-len(axes), 0))
    for k, (axis, place) in enumerate(zip(axes, places), -len(axes)):
        labels = found[place or 0][1]
        if _has_texts(labels) or whole.shape[k] == len(axis.names):
            order = axis.order(labels, what)
            whole = whole if order is None else np.take(whole, order, axis=k)
    return whole


def unlabelled(x: Any, what: str) -> Any:
    """An array where entries have no names; raises for one that gives them some.

    Args:
        x: what the caller gave.
        what: the argument, for errors.
    """
    found = _axes(x)
    if found is None:
        return x
    for _, labels in found:
        if _has_texts(labels):
            some = _list(labels)
            raise ArgumentError(
                f"{{argument}} has the labels {', '.join(map(repr, some[:6]))}{', ...' * (len(some) > 6)}, but its "
                "entries are taken by position here", argument=what, remedy="put them in order and give .to_numpy()",
            )  # fmt: skip
    return _array(x, what)


def _axes(x: Any) -> Found | None:
    """Names and labels of the axes; None for an array, or anything else, without."""
    if isinstance(x, np.ndarray):
        return None if x.dtype.names is None else [*[("", None)] * x.ndim, ("", x.dtype.names)]
    kind = type(x)  # which tells a table's own attributes from its columns
    if not hasattr(kind, "__array__"):
        return None
    if isinstance(dims := getattr(x, "dims", None) if hasattr(kind, "dims") else None, tuple):
        coords = getattr(x, "coords", {})
        return [(str(dim), coords[dim].values if dim in coords else None) for dim in dims]
    rows = getattr(x, "index", None) if hasattr(kind, "index") else None
    rows = None if callable(rows) else rows
    for attribute in ("column_names", "columns"):
        if hasattr(kind, attribute):
            return [("", rows), ("", getattr(x, attribute))]
    return None if rows is None else [("", rows)]


def _array(x: Any, what: str) -> np.ndarray:
    try:
        array = x if isinstance(x, np.ndarray) else np.asarray(x)
        if array.dtype.names is None:
            return array
        stack = np.ma.stack if isinstance(array, np.ma.MaskedArray) else np.stack
        return stack([array[name] for name in array.dtype.names], axis=-1)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{{argument}}: no array of numbers: {error}", argument=what) from error


def _place(found: Found, axis: NamedAxis, what: str) -> int | None:
    """Which axis of an array it is, by its labels or else by its name."""
    known = [k for k, (_, labels) in enumerate(found) if _has_texts(labels) and {*axis.bare(labels)} & {*axis.names}]
    if len(known) > 1:
        raise ArgumentError("{argument}: two axes are labelled with names of entries; label one", argument=what)
    if not known:
        known = [k for k, (name, _) in enumerate(found) if name.lower().removesuffix("s") in axis.words]
    return known[0] if len(known) == 1 else None


def _list(labels: Any) -> list[Any]:
    return labels.tolist() if hasattr(labels, "tolist") else list(labels)


def _has_texts(labels: Any) -> bool:
    """Whether labels are names, not numbers or times."""
    if labels is None or getattr(getattr(labels, "dtype", None), "kind", "O") in "biufcmM":
        return False
    return any(isinstance(x, (str, tuple)) or hasattr(x, "free_symbols") for x in _list(labels))


def _counts_up(labels: Any) -> bool:
    values = np.asarray(labels)
    return values.dtype.kind in "iu" and bool((np.diff(values) == 1).all())

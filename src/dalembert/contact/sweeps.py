"""Sweeps of a solver over all contacts, as one loop over any scalar. What each of them reads is collected once."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, TypeVar

from dalembert.algebra import arrays, scalar
from dalembert.algebra.loops import repeat
from dalembert.algebra.scalar import Scalar


class Swept(Protocol):
    """A problem that is solved in sweeps."""

    @property
    def HELD(self) -> tuple[str, ...]:
        """Names of the attributes that a sweep reads."""
        ...

    def swept(self, now: list[Scalar]) -> list[Scalar]:
        """The impulses after one sweep."""
        ...


P = TypeVar("P", bound=Swept)


def after_sweeps(problem: Swept, start: list[Scalar], sweeps: int, method: str = "swept") -> list[Scalar]:
    """The impulses after so many sweeps.

    Args:
        start: the impulses to begin with.
        method: of the problem, that makes one of them.
    """
    held: list[Scalar] = []

    def collected(x: Scalar) -> Scalar:
        held.append(x)
        return x

    _holding(problem, collected)

    def sweep(p: Any, values: Any) -> tuple[Any]:
        still = iter(values.tolist())
        return (arrays.asarray(getattr(_holding(problem, lambda _: next(still)), method)(list(p))),)

    (found,) = repeat(sweep, (arrays.asarray(start),), sweeps, (arrays.asarray(held),))
    return list(found)


def _holding(problem: P, function: Callable[[Scalar], Scalar]) -> P:
    """The same problem with a function of every scalar that a sweep reads and that is no number."""
    made = copy(problem)
    for name in problem.HELD:
        setattr(made, name, _mapped(getattr(problem, name), function))
    return made


def _mapped(item: Any, function: Callable[[Scalar], Scalar]) -> Any:
    """A nested structure of scalars with a function of those that are no numbers."""
    if isinstance(item, dict):
        return {key: _mapped(value, function) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return type(item)(_mapped(value, function) for value in item)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        fields = {f.name: _mapped(getattr(item, f.name), function) for f in dataclasses.fields(item)}
        return dataclasses.replace(item, **fields)
    return item if item is None or scalar.is_number(item) else function(item)

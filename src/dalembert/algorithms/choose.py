"""An algorithm by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.errors import ArgumentError


def choose(name: str, table: Mapping[str, Any]) -> Any:
    """The algorithm of that name, or an error that lists the names.

    Args:
        name: what the caller asked for.
        table: name -> algorithm.
    """
    if not isinstance(name, str) or name not in table:
        raise ArgumentError(f"there is no algorithm {name!r}; choose one of {', '.join(table)}")
    return table[name]

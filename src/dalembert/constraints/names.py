"""Names that users give: one, or several."""

from __future__ import annotations

from collections.abc import Iterable


def as_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Several names as a tuple; a single one is not taken for its letters.

    Args:
        names: one name, or several.
    """
    return (names,) if isinstance(names, str) else tuple(names)

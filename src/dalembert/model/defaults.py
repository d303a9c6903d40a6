"""Default values of symbols: kept as a note of the mechanism, so that they are printed with it and travel with it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism

DEFAULT_VALUES = "default values of the symbols: "
"""How a note begins that lists symbols, ``name = value``, with commas between them."""


def listed(values: Mapping[str, float]) -> str:
    """``name = value``, with commas between them, all digits told.

    Args:
        values: by name.
    """
    return ", ".join(f"{name} = {value!r}" for name, value in values.items())


def is_default_note(note: str) -> bool:
    """True for a note that lists default values, be it of a mechanism that was attached.

    Args:
        note: one note.
    """
    return DEFAULT_VALUES in note


def default_values(mechanism: Mechanism) -> dict[str, float]:
    """The default values that the notes of a mechanism list, by name; a name with two different ones has none.

    Args:
        mechanism: the mechanism.
    """
    found: dict[str, set[float]] = {}
    for note in filter(is_default_note, mechanism.notes):
        for item in note.partition(DEFAULT_VALUES)[2].split(", "):
            name, _, value = item.partition(" = ")
            with contextlib.suppress(ValueError):  # a note that somebody wrote by hand
                found.setdefault(name, set()).add(float(value))
    return {name: min(values) for name, values in found.items() if len(values) == 1}


def with_current_notes(mechanism: Mechanism, before: Mechanism) -> Mechanism:
    """A mechanism without the default values of symbols that have gone.

    Args:
        mechanism: the result of an operation.
        before: what it was made from.
    """
    gone = {symbol.name for symbol in before.symbols} - {symbol.name for symbol in mechanism.symbols}
    notes = []
    for note in mechanism.notes:
        head, mark, items = note.partition(DEFAULT_VALUES)
        kept = [item for item in items.split(", ") if item.partition(" = ")[0] not in gone]
        if kept:
            notes.append(head + mark + ", ".join(kept))
    return mechanism if tuple(notes) == mechanism.notes else mechanism.replace(notes=tuple(notes))

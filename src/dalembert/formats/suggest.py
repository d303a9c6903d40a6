"""Unknown names are errors that suggest the known one that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dalembert.errors import FormatError


def hint(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'mass'?`` or the list of what is known.

    Args:
        name: what was written.
        known: what could have been meant.
    """
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    return f"; known are {', '.join(known)}" if known else ""


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise FormatError for the first key of a table that is not known.

    Args:
        table: the keys that were written.
        known: the keys that have a meaning.
        where: which table it is, for the message.
    """
    known = tuple(known)
    for key in table:
        if key not in known:
            raise FormatError(f"{where}: unknown key {key!r}{hint(str(key), known)}")

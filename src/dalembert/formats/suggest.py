"""Unknown names are errors that suggest the known one that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dalembert.errors import FormatError

MANY = 16
"""A message lists no more names than this."""


def hint(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'mass'?`` or, if nothing is near, what is known (the first few of many)."""
    known = sorted(known)
    close = near(name, known)
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    more = f", ... ({len(known)} in all)" if len(known) > MANY else ""
    return f"; known are {', '.join(known[:MANY])}{more}" if known else ""


def near(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that were probably meant: those that contain it, then the closest; case is ignored."""
    words = sorted(known, key=len)
    wanted, plain = name.lower(), [word.lower() for word in words]
    close = [word for word in plain if len(wanted) > 2 and wanted in word]
    close = list(dict.fromkeys([*close, *difflib.get_close_matches(wanted, plain, n=3)]))
    return [words[plain.index(word)] for word in close[:3]]


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise FormatError for the first key of a table that is not known."""
    known = tuple(known)
    for key in table:
        if key not in known:
            found = hint(str(key), known)
            # A guess may be wrong, and the right key look quite different.
            more = f" Known are {', '.join(sorted(known))}" if found.endswith("?") and len(known) <= MANY else ""
            raise FormatError(f"{where}: unknown key {key!r}{found}{more}")

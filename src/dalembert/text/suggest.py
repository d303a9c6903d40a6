"""Did you mean ...? Unknown names are errors that suggest the known one that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from dalembert.errors import FormatError

MOST_LISTED = 16
"""A message lists no more names than this."""

ALIKE = 0.6
"""Similarity from which on a word may be a misspelling of another, difflib's own usual limit."""


def near(name: Any, known: Iterable[str], alike: float = ALIKE) -> list[str]:
    """Up to three known names that were probably meant: those with this one in them, then the closest; case is ignored.

    Args:
        name: what was written; nothing is near to what is no text.
        known: what could have been meant.
        alike: least similarity, between 0 and 1; larger where a wrong suggestion does harm.
    """
    if not isinstance(name, str):
        return []
    words = sorted(known, key=len)
    wanted, plain = name.lower(), [word.lower() for word in words]
    close = [word for word in plain if len(wanted) > 2 and wanted in word]
    close = list(dict.fromkeys([*close, *difflib.get_close_matches(wanted, plain, n=3, cutoff=alike)]))
    return [words[plain.index(word)] for word in close[:3]]


def hint(name: Any, known: Iterable[str], otherwise: str = "known are") -> str:
    """``; did you mean 'mass'?`` or, if nothing is near, what is known (the first few of many).

    Args:
        name: what was written.
        known: what could have been meant.
        otherwise: words before the list of what is known.
    """
    known = list(known)
    if close := near(name, known):
        return f"; did you mean {' or '.join(map(repr, close))}?"
    more = f", ... ({len(known)} in all)" if len(known) > MOST_LISTED else ""
    return f"; {otherwise} {', '.join(known[:MOST_LISTED])}{more}" if known else ""


def check_keys(table: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise FormatError for the first key of a table that is not known.

    Args:
        table: the keys that were written.
        known: the keys that have a meaning.
        where: which table it is, for the message.
    """
    known = sorted(known)
    for key in table:
        if key not in known:
            found = hint(str(key), known)
            # A guess may be wrong, and the right key look quite different.
            more = f" Known are {', '.join(known)}" if found.endswith("?") and len(known) <= MOST_LISTED else ""
            raise FormatError(f"{where}: unknown key {key!r}{found}{more}")

"""What readers share: all problems of a file at once, and angles that were probably meant in degrees.

A reader goes on with a stand-in after each problem, and raises them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

from dalembert.errors import FormatError

Part = TypeVar("Part")
Default = TypeVar("Default")


class Problems:
    """What a reader could not make sense of so far."""

    def __init__(self) -> None:
        self.found: list[FormatError] = []

    def __bool__(self) -> bool:
        return bool(self.found)

    def attempt(self, make: Callable[[], Part], instead: Default) -> Part | Default:
        """What ``make`` returns; if it raises a FormatError, that is kept and ``instead`` returned.

        Args:
            make: reads one part of the file.
            instead: lets the reader go on; never reaches the user, because :meth:`raise_all` comes first.
        """
        try:
            return make()
        except FormatError as error:
            self.found.append(error)
            return instead

    def raise_all(self) -> None:
        """Raise one FormatError with all problems, one per line of text, in the order of the file."""
        if not self.found:
            return
        distinct = {str(error): error for error in self.found}  # the same wrong word may have been met twice
        first, *rest = sorted(distinct.values(), key=lambda error: error.line or 0)
        raise FormatError("\n".join([first.message, *map(str, rest)]), first.file, first.line) from first


def together(makes: Iterable[Callable[[], Part]]) -> list[Part]:
    """What each of several functions returns; if some raise a FormatError, one with all their problems."""
    problems = Problems()
    parts: list[Any] = [problems.attempt(make, None) for make in makes]
    problems.raise_all()
    return parts


def kept(instead: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a method of something with a ``document``: leave its FormatError to the problems of that."""

    def decorate(access: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(access)
        def checked(self: Any, *args: Any, **options: Any) -> Any:
            return self.document.problems.attempt(lambda: access(self, *args, **options), instead)

        return checked

    return decorate


TURN = 6.2832
"""A full turn, rounded up as in a file."""

RADIANS = "angles are in radians; was it meant in degrees?"

_DEGREES = {0.0, *map(float, range(15, 361, 15))}


def look_like_degrees(lower: float, upper: float) -> bool:
    """True for a range whose ends are seldom meant to be radians."""
    return abs(lower) in _DEGREES and abs(upper) in _DEGREES and (lower, upper) != (0, 0)

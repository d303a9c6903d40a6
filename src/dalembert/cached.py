"""What is computed once: properties, and facts that functions find of an object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

Found = TypeVar("Found")

if TYPE_CHECKING:  # type checkers know that class as a property
    from functools import cached_property
else:

    class cached_property(functools.cached_property):
        """A property computed when first asked for and then kept in the instance, without a lock.

        That of Python 3.11 holds a lock of the class meanwhile, which a process forked at that moment inherits and
        nobody in it releases. Threads that ask at the same time may each compute the value; all of them get the first.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            kept = instance.__dict__
            if self.attrname not in kept:
                kept.setdefault(self.attrname, self.func(instance))
            return kept[self.attrname]


def kept(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """A function of one object that never changes, whose answer is computed once and kept in that object.

    Args:
        function: its answer is shared, so that nobody may change it.
    """
    name = f"_{function.__module__}_{function.__qualname__}".replace(".", "_")  # PyTorch wants no dots

    @functools.wraps(function)
    def answer(of: Any) -> Found:
        known = of.__dict__
        if name not in known:
            known.setdefault(name, function(of))
        found: Found = known[name]
        return found

    return answer

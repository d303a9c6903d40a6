"""What lower rooms ask of upper ones by name, without knowing them: pictures for notebooks, meshes of files.

The package itself says who provides what, in its ``__init__``; nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PROVIDERS: dict[str, str] = {}


def provide(service: str, place: str) -> None:
    """Say who provides something.

    Args:
        service: what it is, such as ``"thumbnail"``.
        place: ``"package.module:function"``.
    """
    _PROVIDERS[service] = place


def ask(service: str, *given: Any, **named: Any) -> Any:
    """What a provider answers.

    Args:
        service: what is wanted, one of those that were provided.
        given: for the provider, and by name the others.
    """
    module, _, function = _PROVIDERS[service].partition(":")
    return getattr(import_module(module), function)(*given, **named)

"""Contacts: geometry, rows, laws of contact and friction, and the solvers of both.

Names are imported when first used, so that what needs geometry only does not load the readers of meshes.
"""

from typing import TYPE_CHECKING, Any

_HOMES = {"ContactSelection": "selection", "LeftOut": "selection", "contacts": "selection"}

if TYPE_CHECKING:
    from dalembert.contact.selection import ContactSelection, LeftOut, contacts

__all__ = ["ContactSelection", "LeftOut", "contacts"]

if not TYPE_CHECKING:  # with it, type checkers would take every misspelt name for one of ours

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'dalembert.contact' has no attribute {name!r}")
        globals()[name] = value = getattr(import_module(f"dalembert.contact.{_HOMES[name]}"), name)
        return value

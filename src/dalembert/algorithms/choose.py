"""An algorithm by its name, and refusals of algorithms that are limited by their nature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model.tree import Tree


def choose(name: str, table: Mapping[str, Any]) -> Any:
    """The algorithm of that name, or an error that lists the names.

    Args:
        name: what the caller asked for.
        table: name -> algorithm.
    """
    if not isinstance(name, str) or name not in table:
        raise ArgumentError(f"there is no algorithm {name!r}; choose one of {', '.join(table)}")
    return table[name]


def refuse_mimic_joints(tree: Tree, algorithm: str, instead: str) -> None:
    """An error if some joint follows another one, for algorithms that need independent joints.

    Args:
        algorithm: what the caller asked for, for the message.
        instead: what to use, in words.
    """
    seen: dict[int, str] = {}
    for link in tree.links:
        if link.v in seen:
            raise UnsupportedError(
                f"{algorithm} needs independent joints, but joint {link.joint!r} and joint {seen[link.v]!r} share one "
                f"coordinate (mimic): use {instead}"
            )
        seen[link.v] = link.joint


def refuse_quaternions(tree: Tree, algorithm: str, instead: str) -> None:
    """An error if some joint has a quaternion, for algorithms that differentiate by coordinates.

    Args:
        algorithm: what the caller asked for, for the message.
        instead: what to use, in words.
    """
    for link in tree.links:
        if link.kind == "spherical":
            raise UnsupportedError(
                f"{algorithm} needs coordinates whose rates are the velocities, but joint {link.joint!r} turns by a "
                f"quaternion, as all spherical and free joints do: use {instead}"
            )

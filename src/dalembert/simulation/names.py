"""Names of single coordinates and velocities: the joint's own, with a suffix where a joint has several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import shown


def as_names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; a lone string, whose letters would be taken for names, is refused.

    Args:
        what: the argument, for the error.
        given: the names.
    """
    if isinstance(given, (str, Mapping)) or not _all_texts(given):
        wanted = [given] if isinstance(given, str) else "['name', ...]"
        raise ArgumentError(f"{what} = {shown(given)}: a list of names is needed, {wanted}")
    return tuple(given)


def _all_texts(given: Any) -> bool:
    try:
        return isinstance(given, Iterable) and all(isinstance(name, str) for name in given)
    except TypeError:  # an array without dimensions
        return False


_Q = {
    "cylindrical": ("angle", "distance"),
    "universal": ("angle1", "angle2"),
    "planar": ("x", "y", "angle"),
    "spherical": ("qx", "qy", "qz", "qw"),
    "free": ("x", "y", "z", "qx", "qy", "qz", "qw"),
}
_V = {**_Q, "spherical": ("wx", "wy", "wz"), "free": ("vx", "vy", "vz", "wx", "wy", "wz")}


def position_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of q: ``elbow``, ``base.x``, ``base.qw``.

    Args:
        mechanism: the mechanism.
    """
    return _names(mechanism, _Q)


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of v and tau: ``elbow``, ``base.vx``, ``base.wz``.

    Args:
        mechanism: the mechanism.
    """
    return _names(mechanism, _V)


def _names(mechanism: Mechanism, suffixes: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    names: list[str] = []
    for joint in mechanism.joints:
        if joint.nq:
            own = suffixes.get(joint.kind)
            names += [joint.name] if own is None else [f"{joint.name}.{suffix}" for suffix in own]
    return tuple(names)


_METRES = ("distance", "x", "y", "z", "vx", "vy", "vz")
_QUATERNION = ("qx", "qy", "qz", "qw")


def position_units(mechanism: Mechanism) -> tuple[str, ...]:
    """``rad``, ``m`` or ``quaternion`` for every entry of q.

    Args:
        mechanism: the mechanism.
    """
    return _units(mechanism, _Q)


def velocity_units(mechanism: Mechanism) -> tuple[str, ...]:
    """``rad`` or ``m`` for every entry of v: of what it is a rate.

    Args:
        mechanism: the mechanism.
    """
    return _units(mechanism, _V)


def _units(mechanism: Mechanism, suffixes: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    units: list[str] = []
    for joint in mechanism.joints:
        for part in (
            suffixes.get(joint.kind, ("distance" if joint.kind == "prismatic" else "angle",)) if joint.nq else ()
        ):
            units.append("m" if part in _METRES else "quaternion" if part in _QUATERNION else "rad")
    return tuple(units)

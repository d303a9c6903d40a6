"""Names of single coordinates and velocities: the joint's own, with a suffix where a joint has several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dalembert.errors import ArgumentError
from dalembert.model import Joint, Mechanism
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
    return tuple(name for joint in mechanism.joints if joint.nq for name, _ in _coordinates(joint, suffixes))


_METRES = ("distance", "x", "y", "z", "vx", "vy", "vz")
_QUATERNION = ("qx", "qy", "qz", "qw")


def position_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every position of a joint, also of one that follows another, and ``rad``, ``m`` or ``quaternion``.

    Args:
        joint: the joint.
    """
    return _coordinates(joint, _Q)


def velocity_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every velocity of a joint, also of one that follows another, and ``rad`` or ``m``, of which it is a
    rate.

    Args:
        joint: the joint.
    """
    return _coordinates(joint, _V)


def _coordinates(joint: Joint, suffixes: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    own = suffixes.get(joint.kind)
    if own is None:
        return [(joint.name, "m" if joint.kind == "prismatic" else "rad")]
    units = ("m" if part in _METRES else "quaternion" if part in _QUATERNION else "rad" for part in own)
    return [(f"{joint.name}.{part}", unit) for part, unit in zip(own, units)]

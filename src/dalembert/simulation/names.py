"""Names of single coordinates and velocities: the joint's own, with a suffix where a joint has several."""

from __future__ import annotations

from dalembert.model import Mechanism

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

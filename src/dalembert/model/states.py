"""Positions of a mechanism as points of a manifold, any number at once: displaced, compared, interpolated.

A tangent vector has nv entries, like a velocity. Along the quaternion of a spherical or free joint it is a rotation
vector in child axes, q' = q (*) exp(d); along every other coordinate it is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.quaternions import unit_in_place
from dalembert.algebra.scalar import constant
from dalembert.cached import kept
from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array
from dalembert.model.mechanism import Mechanism
from dalembert.model.names import named_positions, named_velocities, position_names, velocity_names

UNIT_SLACK = 1e-6
"""How far from 1 the length of a given quaternion may be."""


RANGED = ("revolute", "prismatic", "helical")
"""Kinds of joints that have a range."""


@kept
def position_ranges(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest positions, nq each, infinite where there is none.

    A joint that follows another one restricts the one it follows.

    Args:
        mechanism: the mechanism.
    """
    lower, upper = np.full(mechanism.nq, -np.inf), np.full(mechanism.nq, np.inf)
    for joint in mechanism.joints:
        if joint.kind not in RANGED:
            continue
        gain: Any = 1.0
        offset: Any = 0.0
        own = joint.name
        if joint.mimic is not None:
            own = joint.mimic.joint
            gain, offset = constant(joint.mimic.multiplier), constant(joint.mimic.offset)
        if gain and offset is not None:
            place = mechanism.q_slice(own)
            ends = np.sort((np.array([joint.limits.lower, joint.limits.upper]) - offset) / gain)
            lower[place], upper[place] = np.maximum(lower[place], ends[0]), np.minimum(upper[place], ends[1])
    lower.setflags(write=False)
    upper.setflags(write=False)
    return lower, upper


def integrate(mechanism: Mechanism, q: Any, v: Any, duration: Any = 1.0) -> np.ndarray:
    """See :meth:`~dalembert.model.Mechanism.integrate`."""
    q, v = _position(mechanism, q, "integrate, q"), _velocity(mechanism, v, "integrate, v")
    d = v * real_array(duration, "integrate, duration")[..., None]
    batch = _together("integrate", q, d)
    q, d = np.broadcast_to(q, (*batch, mechanism.nq)), np.broadcast_to(d, (*batch, mechanism.nv))
    found = np.empty((*batch, mechanism.nq))
    for of_q, of_v in _plain(mechanism):
        found[..., of_q] = q[..., of_q] + d[..., of_v]
    for k, n in _quaternions(mechanism):
        found[..., k : k + 4] = _product(q[..., k : k + 4], _exp(d[..., n : n + 3]))
    return unit_in_place(found, [k for k, _ in _quaternions(mechanism)])


def difference(mechanism: Mechanism, q0: Any, q1: Any) -> np.ndarray:
    """See :meth:`~dalembert.model.Mechanism.difference`."""
    q0, q1 = _position(mechanism, q0, "difference, q0"), _position(mechanism, q1, "difference, q1")
    batch = _together("difference", q0, q1)
    found = np.empty((*batch, mechanism.nv))
    for of_q, of_v in _plain(mechanism):
        found[..., of_v] = q1[..., of_q] - q0[..., of_q]
    for k, n in _quaternions(mechanism):
        back = q0[..., k : k + 4] * np.array([-1.0, -1.0, -1.0, 1.0])
        found[..., n : n + 3] = _log(_product(back, q1[..., k : k + 4]))
    return found


def interpolate(mechanism: Mechanism, q0: Any, q1: Any, fraction: Any) -> np.ndarray:
    """See :meth:`~dalembert.model.Mechanism.interpolate`."""
    return integrate(mechanism, q0, difference(mechanism, q0, q1), fraction)


def _plain(mechanism: Mechanism) -> list[tuple[slice, slice]]:
    """Where coordinates that are added lie in q and in v, joint by joint."""
    found = []
    for joint in mechanism.joints:
        if joint.nq and joint.kind != "spherical":
            q, v = mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)
            count = 3 if joint.kind == "free" else joint.nq
            found.append((slice(q.start, q.start + count), slice(v.start, v.start + count)))
    return found


def _quaternions(mechanism: Mechanism) -> list[tuple[int, int]]:
    """For every quaternion its first index in q and that of its angular velocity in v."""
    turning = [joint.name for joint in mechanism.joints if joint.nq and joint.kind in ("spherical", "free")]
    return [(mechanism.q_slice(name).stop - 4, mechanism.v_slice(name).stop - 3) for name in turning]


def _position(mechanism: Mechanism, given: Any, what: str) -> np.ndarray:
    q = _checked(mechanism, named_positions(mechanism, given, what), what, position_names(mechanism))
    for k, _ in _quaternions(mechanism):
        worst = float(np.abs(np.linalg.norm(q[..., k : k + 4], axis=-1) - 1).max(initial=0))
        if not worst <= UNIT_SLACK:
            raise ArgumentError(
                f"{what}[{k}:{k + 4}] must be a unit quaternion [x, y, z, w], scalar last; its length is off by "
                f"{worst:.3g}. Mechanism.normalise(q) mends it"
            )
    return q


def _velocity(mechanism: Mechanism, given: Any, what: str) -> np.ndarray:
    return _checked(mechanism, named_velocities(mechanism, given, what), what, velocity_names(mechanism))


def _checked(mechanism: Mechanism, found: np.ndarray, what: str, names: tuple[str, ...]) -> np.ndarray:
    if found.shape[-1:] != (len(names),):
        raise ArgumentError(
            f"{what} has shape {found.shape}, but {mechanism.name!r} needs (..., {len(names)}): "
            f"{', '.join(names[:8])}{', ...' if len(names) > 8 else ''}"
        )
    return found


def _together(what: str, *vectors: np.ndarray) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(x.shape[:-1] for x in vectors))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in vectors)
        raise ArgumentError(f"{what}: the batch dimensions do not fit together: {shapes}") from None


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The Hamilton product, scalar last."""
    u, s, v, t = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = s * v + t * u + np.cross(u, v)
    return np.concatenate([vector, s * t - (u * v).sum(axis=-1, keepdims=True)], axis=-1)


def _exp(d: np.ndarray) -> np.ndarray:
    """Unit quaternions of rotation vectors; sinc is exact at zero."""
    half = np.linalg.norm(d, axis=-1, keepdims=True) / 2
    return np.concatenate([np.sinc(half / np.pi) * d / 2, np.cos(half)], axis=-1)


def _log(eta: np.ndarray) -> np.ndarray:
    """Rotation vectors, of length at most pi, of unit quaternions; those of opposite sign have the same one."""
    eta = np.where(eta[..., 3:] < 0, -eta, eta)
    vector, scalar = eta[..., :3], eta[..., 3:]
    sine = np.linalg.norm(vector, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(sine, scalar)
    # angle / sine is 2 + O(sine^2) near zero, where sine may be below what divides
    return vector * np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 1e-150)

"""Constant turns of frames, without what rounding leaves of zeros and right angles."""

from __future__ import annotations

import math

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import rotation_x

TINY = 1e-14
"""Entries of unit vectors below this are rounding errors of exact zeros."""


def unit_or_any(x: Array, z: Array) -> Array:
    """The unit vector across z along x, which lies across but for rounding; any if there is nothing of x."""
    length = np.linalg.norm(x)
    e = x / length if length > TINY else np.eye(3)[int(np.argmin(np.abs(z)))]
    across = e - (e @ z) * z  # rounding errors of a short x have become large
    return across / np.linalg.norm(across)


def triad(x: Array, z: Array) -> Array:
    """The rotation matrix with columns x, z x x and z, of unit vectors at right angles."""
    return clean(np.stack([x, np.cross(z, x), z], axis=1))


def clean(R: Array) -> Array:
    """Rounding errors of zeros removed, and of ones: of a column's only element.

    Beside a sine of 1e-6 the cosine stays 1 - 5e-13, or the matrix would turn no more but stretch.
    """
    R = np.where(np.abs(R) < TINY, 0.0, R)
    alone = (R != 0) & (np.count_nonzero(R, axis=0) == 1)
    return np.where(alone, np.sign(R), R)


def is_right(angle: float) -> bool:
    """True for multiples of 90 degrees."""
    return abs(angle / (math.pi / 2) - round(angle / (math.pi / 2))) < TINY


def rotation_z(angle: float) -> Array:
    """Matrix of a turn about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def zxz(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rz(gamma) Rx(alpha) Rz(psi); as many as possible zero, multiples of 90 degrees exact."""
    sine = math.hypot(R[2, 0], R[2, 1])
    if sine < TINY:  # z stays or turns over: one angle about z is enough
        alpha = 0.0 if R[2, 2] > 0 else math.pi
        psi = math.atan2(R[1, 0], R[0, 0]) if R[2, 2] > 0 else math.atan2(-R[1, 0], R[0, 0])
        return 0.0, alpha, exact(psi)
    gamma, alpha = math.atan2(R[0, 2], -R[1, 2]), math.atan2(sine, R[2, 2])
    if abs(abs(gamma) - math.pi) < TINY:  # Rz(pi) Rx(a) Rz(psi) = Rx(-a) Rz(psi + pi)
        gamma, alpha = 0.0, -alpha
    gamma, alpha = exact(gamma), exact(alpha)
    # psi from what is left: near alpha = 0 and pi only the sum or difference of gamma and psi is well determined.
    left = rotation_x(alpha).T @ rotation_z(gamma).T @ R
    return gamma, alpha, exact(math.atan2(left[1, 0], left[0, 0]))


def exact(angle: float) -> float:
    """The angle, a multiple of 90 degrees without its rounding."""
    quarter = math.pi / 2
    return round(angle / quarter) * quarter if is_right(angle) else angle

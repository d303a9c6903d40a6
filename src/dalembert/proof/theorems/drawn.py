"""What theorems are about: random vectors, tensors and attitudes of a field, and how they depend on time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array, product
from dalembert.algebra.attitude import Attitude, DirectionCosines, EulerAngles, Quaternion
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.proof.field import Dual, along, slopes


def vector(field: Any, size: int = 3) -> Array:
    """A random vector."""
    return np.array([field.element() for _ in range(size)], dtype=object)


def matrix(field: Any, rows: int = 3, columns: int = 3) -> Array:
    """A random matrix."""
    return np.array([[field.element() for _ in range(columns)] for _ in range(rows)], dtype=object)


def symmetric(field: Any) -> Array:
    """A random symmetric tensor."""
    M = matrix(field)
    return M + M.T


def products(first: Array, *others: Array) -> Array:
    """The matrix product of several factors, from the left."""
    for other in others:
        first = product(first, other)
    return first


def values(x: Array) -> Array:
    """What dual numbers are dual numbers of."""
    return np.array([entry.a for entry in x.flat], dtype=object).reshape(x.shape)


def history(x: Array, rate: Array, second: Array) -> Array:
    """Dual numbers of dual numbers: ``slopes`` gives the first derivative in time, ``slopes`` of it the second."""
    return np.array([Dual(Dual(a, b), Dual(b, c)) for a, b, c in zip(x, rate, second)], dtype=object)


def by_columns(of: Callable[[Array], Array], q: Array) -> Array:
    """The derivative of a vector by q, column by column."""
    units = np.eye(len(q), dtype=int).tolist()
    return np.array([slopes(of(along(q, unit))) for unit in units], dtype=object).T


def attitudes(field: Any) -> list[tuple[Attitude, Array]]:
    """Parameterisations of attitude with admissible parameters."""
    cosines = rotation_from_quaternion(field.unit(4)).T.ravel()
    first, second = (np.array([field.angle() for _ in range(3)], dtype=object) for _ in range(2))
    return [
        (Quaternion(), field.unit(4)),
        (DirectionCosines(), cosines),
        (EulerAngles("321"), first),
        (EulerAngles("313"), second),
    ]

"""Attitude of a rigid body by any set of parameters, behind one small interface (FORBES).

``C_ba = dcm(q)`` maps inertial (a) to body (b) components, so ``Cdot = -w~ C`` with w the angular velocity
in body axes. Parameters q may be more than three; then they obey ``Phi(q) = 0``. The rates obey ``S qdot =
w``, ``qdot = Gamma w`` and ``Xi qdot = 0``, with ``Xi = dPhi/dq``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from dalembert.algebra.arguments import Matrix, Vector, components, rotation_matrix
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.euler import (
    euler_from_rotation,
    euler_rate_inverse,
    euler_rate_matrix,
    rotation_from_euler,
)
from dalembert.algebra.quaternions import quaternion_from_rotation, rotation_from_quaternion
from dalembert.algebra.scalar import Scalar, constant
from dalembert.algebra.vectors import cross, dot
from dalembert.errors import SingularityError


class Attitude(ABC):
    """A parameterisation of attitude.

    The laws every one satisfies, for admissible q and any constant vector s (FORBES):
    ``S Gamma = 1``, ``Xi Gamma = 0``, ``(Sdot - dw/dq) Gamma = -w~`` with qdot held fixed in dw/dq,
    ``d(C^T s)/dq Gamma = -C^T s~`` and ``d(C s)/dq Gamma = (C s)~``.
    """

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    nq: int
    """Number of parameters."""

    @abstractmethod
    def dcm(self, q: Vector) -> Array:
        """Direction cosine matrix ``C_ba``, inertial to body components.

        Args:
            q: the parameters.
        """

    @abstractmethod
    def S(self, q: Vector) -> Array:
        """The 3 x nq matrix of ``w = S qdot``, w in body axes.

        Args:
            q: the parameters.
        """

    @abstractmethod
    def Gamma(self, q: Vector) -> Array:
        """The nq x 3 matrix of ``qdot = Gamma w``, w in body axes.

        Args:
            q: the parameters.
        """

    def Xi(self, q: Vector) -> Array | None:
        """The Jacobian of the constraints, or None if the parameters are independent.

        Args:
            q: the parameters.
        """
        return None

    def constraints(self, q: Vector) -> Array:
        """``Phi(q)``, zero for admissible parameters; empty if they are independent.

        Args:
            q: the parameters.
        """
        return asarray([])

    @abstractmethod
    def from_rotation(self, rotation: Matrix) -> Array:
        """Parameters of a rotation matrix; numbers and exact constants are checked to be one.

        Args:
            rotation: body to inertial components, ``C_ba^T``.
        """

    def rotation(self, q: Vector) -> Array:
        """Rotation matrix ``C_ba^T``, body to inertial components.

        Args:
            q: the parameters.
        """
        return self.dcm(q).T


class DirectionCosines(Attitude):
    """The nine direction cosines ``q = [c1; c2; c3]``, where ``ci^T`` is row i of ``C_ba``. Never singular."""

    nq = 9

    def dcm(self, q: Vector) -> Array:
        c1, c2, c3 = _rows(q)
        return asarray([c1, c2, c3])

    def S(self, q: Vector) -> Array:
        c1, c2, c3 = _rows(q)
        o = [0, 0, 0]
        return asarray([o + c3 + o, o + o + c1, c2 + o + o])

    def Gamma(self, q: Vector) -> Array:
        c1, c2, c3 = _rows(q)
        blocks = zip(c1, c2, c3)
        rows = [(0, -z, y, z, 0, -x, -y, x, 0) for x, y, z in blocks]
        return asarray([list(row[k : k + 3]) for k in (0, 3, 6) for row in rows])

    def Xi(self, q: Vector) -> Array:
        (x1, y1, z1), (x2, y2, z2), _ = _rows(q)
        o = [0, 0, 0]
        return asarray(
            [
                [2 * x1, 2 * y1, 2 * z1] + o + o,
                o + [2 * x2, 2 * y2, 2 * z2] + o,
                [x2, y2, z2] + [x1, y1, z1] + o,
                [0, z2, -y2] + [0, -z1, y1] + [-1, 0, 0],
                [-z2, 0, x2] + [z1, 0, -x1] + [0, -1, 0],
                [y2, -x2, 0] + [-y1, x1, 0] + [0, 0, -1],
            ]
        )

    def constraints(self, q: Vector) -> Array:
        c1, c2, c3 = _rows(q)
        normal = cross(c1, c2).tolist()
        return asarray([dot(c1, c1) - 1, dot(c2, c2) - 1, dot(c1, c2), *(n - c for n, c in zip(normal, c3))])

    def from_rotation(self, rotation: Matrix) -> Array:
        return rotation_matrix(rotation).T.ravel()


class Quaternion(Attitude):
    """The Euler parameters ``q = [eps; eta]``, scalar last. Never singular; q and -q are the same attitude."""

    nq = 4

    def dcm(self, q: Vector) -> Array:
        return rotation_from_quaternion(components(q, "q", 4)).T

    def S(self, q: Vector) -> Array:
        x, y, z, w = (2 * e for e in components(q, "q", 4))
        return asarray([[w, z, -y, -x], [-z, w, x, -y], [y, -x, w, -z]])

    def Gamma(self, q: Vector) -> Array:
        x, y, z, w = (e / 2 for e in components(q, "q", 4))
        return asarray([[w, -z, y], [z, w, -x], [-y, x, w], [-x, -y, -z]])

    def Xi(self, q: Vector) -> Array:
        return asarray([[2 * e for e in components(q, "q", 4)]])

    def constraints(self, q: Vector) -> Array:
        x, y, z, w = components(q, "q", 4)
        return asarray([x * x + y * y + z * z + w * w - 1])

    def from_rotation(self, rotation: Matrix) -> Array:
        return quaternion_from_rotation(rotation)


class EulerAngles(Attitude):
    """Three angles of turning about moving axes, in the order of the sequence. Singular at gimbal lock.

    FORBES' 3-2-1 angles ``[phi, theta, psi]`` are the sequence ``"321"`` with the order of the entries
    reversed.

    Args:
        sequence: one of the twelve of :mod:`dalembert.algebra.euler`, for example ``"ZYX"`` or ``"321"``.
    """

    nq = 3

    def __init__(self, sequence: str):
        rotation_from_euler(sequence, (0, 0, 0))  # an unknown sequence is refused here, not at first use
        self.sequence = sequence

    def dcm(self, q: Vector) -> Array:
        return rotation_from_euler(self.sequence, components(q, "q")).T

    def S(self, q: Vector) -> Array:
        return euler_rate_matrix(self.sequence, components(q, "q"))

    def Gamma(self, q: Vector) -> Array:
        return euler_rate_inverse(self.sequence, components(q, "q"))

    def from_rotation(self, rotation: Matrix) -> Array:
        return euler_from_rotation(self.sequence, rotation)

    def __repr__(self) -> str:
        return f"EulerAngles({self.sequence!r})"


class ModifiedRodrigues(Attitude):
    """Modified Rodrigues parameters ``p = u tan(angle/4)``. Three rational parameters, singular only at a full turn.

    ``shadow(p)`` is the other set of the same attitude; changing over when ``p.p > 1`` keeps away from the
    singularity for ever.
    """

    nq = 3

    def dcm(self, q: Vector) -> Array:
        # C = 1 + (8 p~ p~ - 4 (1 - p.p) p~) / (1 + p.p)^2
        x, y, z = components(q, "q")
        xx, yy, zz = x * x, y * y, z * z
        squared = xx + yy + zz
        root = 1 / _denominator([x, y, z])
        scale = 8 * root * root
        turn = scale * (1 - squared) / 2
        a, b, c = turn * x, turn * y, turn * z
        xy, xz, yz = scale * x * y, scale * x * z, scale * y * z
        return asarray(
            [
                [1 - scale * (yy + zz), xy + c, xz - b],
                [xy - c, 1 - scale * (xx + zz), yz + a],
                [xz + b, yz - a, 1 - scale * (xx + yy)],
            ]
        )

    def S(self, q: Vector) -> Array:
        # Gamma Gamma^T = ((1 + p.p)/4)^2 1, so S is a multiple of the transpose.
        scale = 4 / _denominator(components(q, "q"))
        return (scale * scale) * self.Gamma(q).T

    def Gamma(self, q: Vector) -> Array:
        # Gamma = ((1 - p.p) 1 + 2 p~ + 2 p p^T) / 4
        x, y, z = components(q, "q")
        diagonal = (1 - dot([x, y, z], [x, y, z])) / 4
        xy, xz, yz = x * y, x * z, y * z
        return asarray(
            [
                [diagonal + x * x / 2, (xy - z) / 2, (xz + y) / 2],
                [(xy + z) / 2, diagonal + y * y / 2, (yz - x) / 2],
                [(xz - y) / 2, (yz + x) / 2, diagonal + z * z / 2],
            ]
        )

    def from_rotation(self, rotation: Matrix) -> Array:
        """The set with ``p.p <= 1``; of symbols as :func:`quaternion_from_rotation`, all rotations but half turns.

        Args:
            rotation: body to inertial components, ``C_ba^T``.
        """
        *vector, scalar = quaternion_from_rotation(rotation).tolist()
        return asarray([x / (1 + scalar) for x in vector])

    @staticmethod
    def shadow(p: Vector) -> Array:
        """The other parameters of the same attitude, ``-p / p.p``.

        Args:
            p: the parameters; the identity, p = 0, has no shadow and raises ``SingularityError``.
        """
        entries = components(p, "p")
        squared = dot(entries, entries)
        if constant(squared) == 0:
            raise SingularityError("the shadow of p = 0 (no rotation) is the full turn, which is at infinity")
        return asarray([-x / squared for x in entries])


def _denominator(p: list[Scalar]) -> Scalar:
    """``1 + p.p``, which no real parameters bring to zero."""
    x, y, z = p
    sum_of_squares = 1 + (x * x + y * y + z * z)
    value = constant(sum_of_squares)
    if value == 0:
        raise SingularityError(f"the complex parameters {p} with p.p = -1 belong to no rotation")
    if value is not None and abs(value) == math.inf:
        raise SingularityError(
            f"the modified Rodrigues parameters {p} are too long to be squared, which only full turns are; change to "
            "the shadow set while p.p is moderate"
        )
    return sum_of_squares


def _rows(q: Vector) -> tuple[list, list, list]:
    entries = components(q, "q", 9)
    return entries[0:3], entries[3:6], entries[6:9]

"""Inertia of a rigid body in tensor form: pseudo-inertia, parallel axes, rates, momentum and torque tensors.

THESIS section 4.3. ``I = Int (r.r 1 - r r^T) dm`` is the inertia tensor, ``J = Int r r^T dm`` the
pseudo-inertia, both about one point and in one set of axes; w and wd are in the same axes. Symmetric
tensors are read from their upper triangle. ``Om`` is
:func:`dalembert.algebra.tensors.angular_acceleration_tensor`.
"""

from __future__ import annotations

from dalembert.algebra.arguments import (
    Matrix,
    Vector,
    array,
    components,
    exact_tensor,
    scalar_argument,
    tensor,
)
from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dual


def symmetric_matrix(xx: Scalar, yy: Scalar, zz: Scalar, xy: Scalar, xz: Scalar, yz: Scalar) -> Array:
    """The symmetric tensor with the given entries.

    For an inertia tensor ``xy`` is the entry ``I_12 = -Int x y dm``, the sign of URDF and of the source
    documents.

    Args:
        xx: entry 11.
        yy: entry 22.
        zz: entry 33.
        xy: entry 12.
        xz: entry 13.
        yz: entry 23.
    """
    return array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], "the entries", (3, 3))


def pseudo_inertia(inertia: Matrix) -> Array:
    """Pseudo-inertia ``J = 1/2 tr(I) 1 - I`` of an ``inertia`` tensor. (4.3.6)"""
    xx, yy, zz, xy, xz, yz = _upper(exact_tensor(inertia, "inertia"))
    return symmetric_matrix((yy + zz - xx) / 2, (xx + zz - yy) / 2, (xx + yy - zz) / 2, -xy, -xz, -yz)


def inertia_from_pseudo(pseudo: Matrix) -> Array:
    """Inertia tensor ``I = tr(J) 1 - J`` of a ``pseudo`` inertia. (4.3.7)"""
    xx, yy, zz, xy, xz, yz = _upper(tensor(pseudo, "pseudo"))
    return symmetric_matrix(yy + zz, xx + zz, xx + yy, -xy, -xz, -yz)


def parallel_axes(inertia: Matrix, mass: Scalar, r: Vector) -> Array:
    """Inertia about o of a body with inertia ``I_c`` about its centre of mass: ``I_c - m r~ r~``. (4.3.9)

    With ``-mass`` it goes back from o to the centre of mass.

    Args:
        inertia: inertia tensor about the centre of mass.
        mass: mass of the body.
        r: vector between o and the centre of mass; its sign does not matter.
    """
    xx, yy, zz, xy, xz, yz = _upper(tensor(inertia, "inertia"))
    mxx, myy, mzz, mxy, mxz, myz = _scaled_dyad(mass, r)
    return symmetric_matrix(xx + (myy + mzz), yy + (mxx + mzz), zz + (mxx + myy), xy - mxy, xz - mxz, yz - myz)


def parallel_axes_pseudo(pseudo: Matrix, mass: Scalar, r: Vector) -> Array:
    """Pseudo-inertia about o of a body with ``J_c`` about its centre of mass: ``J_c + m r r^T``. (Theorem 4.3)

    Args:
        pseudo: pseudo-inertia tensor about the centre of mass.
        mass: mass of the body; negative to go back.
        r: vector between o and the centre of mass; its sign does not matter.
    """
    return symmetric_matrix(*(a + b for a, b in zip(_upper(tensor(pseudo, "pseudo")), _scaled_dyad(mass, r))))


def inertia_rate(w: Vector, inertia: Matrix) -> Array:
    """``Idot = w~ I - I w~`` in non-rotating axes; the same law gives Jdot from J. (4.3.17), (4.3.19)

    Args:
        w: angular velocity of the body.
        inertia: inertia or pseudo-inertia tensor, in the axes of w.
    """
    half = product(dual(components(w, "w")), tensor(inertia, "inertia"))
    return half + half.T


def angular_momentum(inertia: Matrix, w: Vector) -> Array:
    """``L = I w`` about the point of the inertia tensor. (4.3.22)

    Args:
        inertia: inertia tensor about the centre of mass, or about a point fixed in body and space.
        w: angular velocity.
    """
    return product(tensor(inertia, "inertia"), asarray(components(w, "w")))


def momentum_tensor(pseudo: Matrix, w: Vector) -> Array:
    """Angular momentum tensor ``L~ = J w~ - (J w~)^T``. (Theorem 4.4, (4.3.30))

    Args:
        pseudo: pseudo-inertia tensor.
        w: angular velocity.
    """
    half = product(tensor(pseudo, "pseudo"), dual(components(w, "w")))
    return half - half.T


def euler_torque(inertia: Matrix, w: Vector, wd: Vector) -> Array:
    """Torque in vector form, ``M = I wd + w x I w``. (4.3.35)

    Args:
        inertia: inertia tensor about the centre of mass, or about a point fixed in body and space.
        w: angular velocity.
        wd: angular acceleration.
    """
    inertia, w, wd = tensor(inertia, "inertia"), components(w, "w"), components(wd, "wd")
    return angular_momentum(inertia, wd) + cross(w, angular_momentum(inertia, w))


def torque_tensor(om: Matrix, pseudo: Matrix) -> Array:
    """Torque tensor ``M~ = Om J - (Om J)^T``. (Theorem 4.5, (4.3.42))

    Args:
        om: angular acceleration tensor.
        pseudo: pseudo-inertia tensor about the same point and in the same axes.
    """
    half = product(tensor(om, "om"), tensor(pseudo, "pseudo"))
    return half - half.T


def torque_from_tensor(om: Matrix, pseudo: Matrix, w: Vector | None = None) -> Array:
    """The vector of :func:`torque_tensor`, written out: 15 M, 15 A against 24 M, 18 A of :func:`euler_torque`.

    Args:
        om: angular acceleration tensor.
        pseudo: pseudo-inertia tensor; its upper triangle is read.
        w: the angular velocity that ``om`` was made of, if at hand. Differences of diagonal entries of ``om`` are then
            differences of its squares, and a diagonal entry that nothing else needs is never formed.
    """
    (om11, om12, om13), (om21, om22, om23), (om31, om32, om33) = tensor(om, "om").tolist()
    j11, j22, j33, j12, j13, j23 = _upper(tensor(pseudo, "pseudo"))
    if w is None:
        d32, d13, d21 = om33 - om22, om11 - om33, om22 - om11
    else:
        w11, w22, w33 = (x * x for x in components(w, "w"))
        d32, d13, d21 = w33 - w22, w11 - w33, w22 - w11
    return asarray(
        [
            om31 * j12 - om21 * j13 + d32 * j23 + om32 * j22 - om23 * j33,
            om12 * j23 - om32 * j12 + d13 * j13 + om13 * j33 - om31 * j11,
            om23 * j13 - om13 * j23 + d21 * j12 + om21 * j11 - om12 * j22,
        ]
    )


def _upper(t: Array) -> tuple[Scalar, ...]:
    """Entries xx, yy, zz, xy, xz, yz of a symmetric tensor."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = t.tolist()
    return xx, yy, zz, xy, xz, yz


def _scaled_dyad(mass: Scalar, r: Vector) -> tuple[Scalar, ...]:
    """Entries xx, yy, zz, xy, xz, yz of ``m r r^T``. 9 multiplications"""
    x, y, z = components(r, "r")
    mass = scalar_argument(mass, "mass")
    mx, my, mz = mass * x, mass * y, mass * z
    return mx * x, my * y, mz * z, mx * y, mx * z, my * z

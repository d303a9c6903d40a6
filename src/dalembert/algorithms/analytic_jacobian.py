"""Coordinates of a frame and their derivatives: analytic Jacobians with first and second time derivatives.

x = [position of a point; attitude] as a function of q; with J = dx/dq along tangent vectors xdot = J v, so

    xdd = J a + Jdot v,      d xd = Jdot dq + J dv        (THESIS (7.4.8)-(7.4.10), which need just this Jacobian)

Attitude by Euler angles phi obeys S(phi) phidot = w in body axes, hence with the rotational Jacobian J_R in body axes

    S J_phi = J_R ,   S J_phi' = J_R' - S' J_phi ,   S J_phi'' = J_R'' - S'' J_phi - 2 S' J_phi' ;

by a quaternion eta, etadot = Gamma(eta) w with Gamma linear in eta.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.attitude import Quaternion
from dalembert.algebra.euler import EULER_SEQUENCES, euler_from_rotation, euler_rate_inverse, euler_rate_matrix
from dalembert.algebra.quaternions import quaternion_from_rotation, quaternion_star
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError
from dalembert.kinematics import checked, checked_point, frame_on_link
from dalembert.model import Mechanism
from dalembert.model.checks import expect

COORDINATES = {
    "position": "three coordinates of the point",
    "twist": "no coordinates but velocities: of the point and angular velocity, world axes; the geometric Jacobian",
    "quaternion": "the point, and the quaternion x, y, z, w of the frame",
} | {sequence: f"the point, and Euler angles {sequence}" for sequence in EULER_SEQUENCES}
"""What a frame's motion may be described by; Euler sequences also as digits, such as ``"321"``."""


def coordinate_count(coordinates: str) -> int:
    """Number of rows of the Jacobian: 3, 6 or 7.

    Args:
        coordinates: one of :data:`COORDINATES`.
    """
    name = coordinates.translate(str.maketrans("123", "XYZ")) if isinstance(coordinates, str) else coordinates
    if name not in COORDINATES:
        raise ArgumentError(
            f"{{setting}}: choose one of {', '.join(COORDINATES)}", argument="coordinates", value=coordinates
        )
    return {"position": 3, "quaternion": 7}.get(name, 6)


class JacobianRates(NamedTuple):
    """A Jacobian and its time derivatives, linear rows first.

    Args:
        Jd: its first time derivative.
        Jdd: its second time derivative.
    """

    J: Array
    Jd: Array
    Jdd: Array


def frame_coordinates(
    mechanism: Mechanism, q: Any, frame: str, *, coordinates: str = "ZYX", point: Any = (0, 0, 0)
) -> Array:
    """x(q): position of the point in the world, then the attitude of the frame.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        frame: name of a frame or body.
        coordinates: one of :data:`COORDINATES` except ``"twist"``, which has no coordinates.
        point: the point, components in the frame.
    """
    rows = coordinate_count(coordinates)
    if coordinates == "twist":
        raise ArgumentError("a twist has no coordinates; choose Euler angles, 'quaternion' or 'position'")
    (q,) = checked(mechanism, q=q)
    _, placed, p = _path(mechanism, q, frame, point)
    if rows == 3:
        return p
    if coordinates == "quaternion":
        return arrays.asarray([*p, *frame_quaternion(mechanism, q, frame)])
    return arrays.asarray([*p, *euler_from_rotation(coordinates, placed.rotation)])


def frame_quaternion(mechanism: Mechanism, q: Any, frame: str) -> Array:
    """Unit quaternion of a frame in the world, multiplied up along the chain: smooth in q, with no choice of sign.

    Args:
        mechanism: the mechanism; placements must be numeric.
    """
    (q,) = checked(mechanism, q=q)
    carrier, at = frame_on_link(mechanism, frame)
    eta = quaternion_from_rotation(at.rotation)
    while carrier >= 0:
        link = mechanism.tree.links[carrier]
        if link.kind == "spherical":
            eta = quaternion_star(link.position(q), eta)
        elif link.rotates:
            half = link.position(q)[0] / 2
            turn = [*(scalar.sin(half) * x for x in link.axis), scalar.cos(half)]
            eta = quaternion_star(arrays.asarray(turn), eta)
        eta = quaternion_star(quaternion_from_rotation(link.placement.rotation), eta)
        carrier = link.parent
    return eta


def analytic_jacobian(
    mechanism: Mechanism, q: Any, frame: str, *, coordinates: str = "ZYX", point: Any = (0, 0, 0)
) -> Array:
    """J with xdot = J v.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        frame: name of a frame or body.
        coordinates: one of :data:`COORDINATES`.
        point: the point, components in the frame.
    """
    still = arrays.zeros(expect(mechanism, Mechanism, "mechanism").nv)
    return analytic_jacobian_rates(mechanism, q, still, still, frame, coordinates=coordinates, point=point).J


def analytic_jacobian_rates(
    mechanism: Mechanism, q: Any, v: Any, a: Any, frame: str, *, coordinates: str = "ZYX", point: Any = (0, 0, 0)
) -> JacobianRates:
    """J, Jdot and Jddot along the motion with velocities v and accelerations a.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv; only Jddot depends on them.
        frame: name of a frame or body.
        coordinates: one of :data:`COORDINATES`; Euler angles raise ``SingularityError`` at gimbal lock.
        point: the point, components in the frame.
    """
    rows = coordinate_count(coordinates)
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    angular, linear, R = _geometric(mechanism, q, v, a, frame, point)
    if rows == 3:
        return JacobianRates(*linear)
    if coordinates == "twist":
        turning: tuple[Array, ...] = angular
    elif coordinates == "quaternion":
        turning = _quaternion_rates(frame_quaternion(mechanism, q, frame), _in_body_axes(R, angular, v, a), v, a)
    else:
        turning = _euler_rates(coordinates, euler_from_rotation(coordinates, R), _in_body_axes(R, angular, v, a), v, a)
    return JacobianRates(*(arrays.stack([*upper, *lower]) for upper, lower in zip(linear, turning)))


class _Joint(NamedTuple):
    """One link of the chain in world axes: origin, its derivatives, and the angular velocity of the link."""

    link: Any
    W: Array
    o: Array
    od: Array
    odd: Array
    w: Array
    wd: Array


def _path(mechanism: Mechanism, q: Array, frame: str, point: Any) -> tuple[list[Transform], Transform, Array]:
    """Poses of the links from the base to the frame, the frame's pose, and the point in the world."""
    carrier, at = frame_on_link(mechanism, frame)
    tree = mechanism.tree
    placed, places = Transform.identity(), []
    for i in reversed(tree.ancestors[carrier]) if carrier >= 0 else ():
        placed = placed @ Transform(tree.links[i].rotation(q), tree.links[i].translation(q))
        places.append(placed)
    placed = placed @ at
    return places, placed, placed.apply(checked_point(point))


def _geometric(
    mechanism: Mechanism, q: Array, v: Array, a: Array, frame: str, point: Any
) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
    """(J_R, J_R', J_R''), (J_T, J_T', J_T'') in world axes, and the frame's rotation."""
    tree, n = mechanism.tree, mechanism.nv
    carrier, _ = frame_on_link(mechanism, frame)
    places, placed, p = _path(mechanism, q, frame, point)
    zero = arrays.zeros(3)
    o, od, odd, w, wd = zero, zero, zero, zero, zero
    chain = []
    for i, place in zip(reversed(tree.ancestors[carrier]) if carrier >= 0 else (), places):
        link, W = tree.links[i], place.rotation
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(W, product(link.Zw, rate)), product(W, product(link.Zv, rate))
        arm = place.translation - o
        odd = odd + cross(wd, arm) + cross(w, cross(w, arm) + 2 * slide) + product(W, product(link.Zv, acceleration))
        od = od + cross(w, arm) + slide
        wd = wd + cross(w, turn) + product(W, product(link.Zw, acceleration))
        w = w + turn
        o = place.translation
        chain.append(_Joint(link, W, o, od, odd, w, wd))
    pd, pdd = od + cross(w, p - o), odd + cross(wd, p - o) + cross(w, cross(w, p - o))
    angular, linear = ([[zero] * n for _ in range(3)] for _ in range(2))
    for joint in chain:
        for k in range(joint.link.nv):
            columns = _column(joint, k, p - joint.o, pd - joint.od, pdd - joint.odd)
            for parts, order_columns in ((angular, columns[0]), (linear, columns[1])):
                for order, column in enumerate(order_columns):
                    at = joint.link.v + k
                    parts[order][at] = parts[order][at] + joint.link.gain * column
    stacked = [tuple(arrays.stack(columns).reshape(n, 3).T for columns in parts) for parts in (angular, linear)]
    return stacked[0], stacked[1], placed.rotation


def _column(joint: _Joint, k: int, r: Array, rd: Array, rdd: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Column k of a joint with two derivatives: of J_R, and of J_T with the arm r from the joint to the point."""
    zw, zv = product(joint.W, joint.link.Zw[:, k]), product(joint.W, joint.link.Zv[:, k])
    zwd, zvd = cross(joint.w, zw), cross(joint.w, zv)  # constant in the link, so they turn with it
    zwdd, zvdd = cross(joint.wd, zw) + cross(joint.w, zwd), cross(joint.wd, zv) + cross(joint.w, zvd)
    moved = (
        cross(zw, r) + zv,
        cross(zwd, r) + cross(zw, rd) + zvd,
        cross(zwdd, r) + 2 * cross(zwd, rd) + cross(zw, rdd) + zvdd,
    )
    return (zw, zwd, zwdd), moved


def _in_body_axes(R: Array, angular: tuple[Array, ...], v: Array, a: Array) -> tuple[Array, Array, Array]:
    """R^T J_R and its derivatives: d/dt (R^T x) = R^T (xdot - w x x)."""
    J, Jd, Jdd = angular
    w, wd = product(J, v), product(J, a) + product(Jd, v)
    first = Jd - _turned(w, J)
    second = Jdd - 2 * _turned(w, Jd) - _turned(wd, J) + _turned(w, _turned(w, J))
    return product(R.T, J), product(R.T, first), product(R.T, second)


def _turned(w: Array, J: Array) -> Array:
    return arrays.stack([cross(w, column) for column in J.T]).reshape(J.shape[1], 3).T


def _quaternion_rates(eta: Array, J_R: tuple[Array, ...], v: Array, a: Array) -> tuple[Array, Array, Array]:
    G = Quaternion().Gamma
    J = product(G(eta), J_R[0])
    etad = product(J, v)
    Jd = product(G(etad), J_R[0]) + product(G(eta), J_R[1])
    etadd = product(J, a) + product(Jd, v)
    Jdd = product(G(etadd), J_R[0]) + 2 * product(G(etad), J_R[1]) + product(G(eta), J_R[2])
    return J, Jd, Jdd


def _euler_rates(
    sequence: str, angles: Array, J_R: tuple[Array, ...], v: Array, a: Array
) -> tuple[Array, Array, Array]:
    S, inverse = euler_rate_matrix(sequence, angles), euler_rate_inverse(sequence, angles)
    J = product(inverse, J_R[0])
    rates = product(J, v)
    # The body sees its three axes of turning s1, s2, s3 turn backwards with the turns that come after them.
    s1, s2, s3 = S.T
    none = arrays.zeros(3)
    after_1, after_2 = rates[1] * s2 + rates[2] * s3, rates[2] * s3
    s1d, s2d = -cross(after_1, s1), -cross(after_2, s2)
    Sd = arrays.stack([s1d, s2d, none]).T
    Jd = product(inverse, J_R[1] - product(Sd, J))
    accelerations = product(J, a) + product(Jd, v)
    after_1d = accelerations[1] * s2 + rates[1] * s2d + accelerations[2] * s3
    after_2d = accelerations[2] * s3
    Sdd = arrays.stack([-cross(after_1d, s1) - cross(after_1, s1d), -cross(after_2d, s2) - cross(after_2, s2d), none]).T
    Jdd = product(inverse, J_R[2] - product(Sdd, J) - 2 * product(Sd, Jd))
    return J, Jd, Jdd

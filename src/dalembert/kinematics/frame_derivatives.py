"""Derivatives of a frame's velocity and acceleration by positions, velocities and accelerations.

Lemmas C-5, C-7 and C-11 of the THESIS, Theorem 1 and Corollary 1 of PARSA, for trees and all elementary joints. A small
dq of one joint displaces all that is beyond it as a rigid body, together with its motion relative to the joint's inner
link. With the inner link's velocity w_p, acceleration alpha_p, both fields taken at the frame's point p, and what is
relative to it (w_r = w - w_p, v_r, alpha_r, a_r with the Coriolis part taken off), a joint with axis zw and column
t = zw x (p - o) + zv of J_T gives

    dw/dq = zw x w_r                      dalpha/dq = w_p x (zw x w_r) + zw x alpha_r
    dv/dq = w_p x t + zw x v_r            da/dq = alpha_p x t + w_p x (w_p x t) + 2 w_p x (zw x v_r) + zw x a_r .

By velocities, da/dv = dv/dq + Jdot, because Jdot v is quadratic in v; by accelerations both have the Jacobian.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.kinematics.frames import (
    check_axes,
    checked,
    checked_point,
    frame_on_link,
    jacobian,
    jacobian_rate,
    pose,
)
from dalembert.model import Mechanism


class VelocityDerivatives(NamedTuple):
    """How a frame's velocity changes; angular and linear part one under the other, [linear; angular], 6 x nv.

    Args:
        by_q: along tangent vectors.
        by_v: the Jacobian.
    """

    by_q: Array
    by_v: Array


class AccelerationDerivatives(NamedTuple):
    """How a frame's acceleration changes; [linear; angular], 6 x nv.

    Args:
        by_q: along tangent vectors.
        by_v: by velocities.
        by_a: the Jacobian.
    """

    by_q: Array
    by_v: Array
    by_a: Array


def velocity_derivatives(
    mechanism: Mechanism, q: Any, v: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> VelocityDerivatives:
    """Derivatives of the velocity of a frame's point and of its angular velocity.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        frame: name of a frame or body.
        point: the point, components in the frame.
        axes: ``"world"`` or ``"body"``: of the components that are differentiated.
    """
    q, v = checked(mechanism, q=q, v=v)
    by_q, _ = _by_position(mechanism, q, v, arrays.zeros(mechanism.nv), frame, point, axes)
    angular, linear = jacobian(mechanism, q, frame, point=point, axes=axes)
    return VelocityDerivatives(by_q, arrays.stack([*linear, *angular]))


def acceleration_derivatives(
    mechanism: Mechanism, q: Any, v: Any, a: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> AccelerationDerivatives:
    """Derivatives of the acceleration of a frame's point and of its angular acceleration, without gravity.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        frame: name of a frame or body.
        point: the point, components in the frame.
        axes: ``"world"`` or ``"body"``: of the components that are differentiated.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    _, by_q = _by_position(mechanism, q, v, a, frame, point, axes)
    # Components along the axes of the frame: R^T (Jdot v) is quadratic in v as well, so R^T may be taken outside.
    rest, _ = _by_position(mechanism, q, v, arrays.zeros(mechanism.nv), frame, point, "world")
    rates = jacobian_rate(mechanism, q, v, frame, point=point)
    by_v = rest + arrays.stack([*rates[1], *rates[0]])
    if axes == "body":
        by_v = _turned_back(mechanism, q, frame, by_v)
    angular, linear = jacobian(mechanism, q, frame, point=point, axes=axes)
    return AccelerationDerivatives(by_q, by_v, arrays.stack([*linear, *angular]))


def _turned_back(mechanism: Mechanism, q: Array, frame: str, J: Array) -> Array:
    R = pose(mechanism, q, frame).rotation
    return arrays.stack([*product(R.T, J[:3]), *product(R.T, J[3:])])


def _by_position(
    mechanism: Mechanism, q: Array, v: Array, a: Array, frame: str, point: Any, axes: str
) -> tuple[Array, Array]:
    """Derivatives of velocity and acceleration along tangent vectors, [linear; angular], 6 x nv each."""
    check_axes(axes)
    tree = mechanism.tree
    carrier, at = frame_on_link(mechanism, frame)
    none = arrays.zeros(3)
    placed = Transform.identity()
    o = w = alpha = od = odd = none
    inner = []  # of every joint on the way out: the link, its axes in the world, origin, and the inner link's motion
    for i in reversed(tree.ancestors[carrier]) if carrier >= 0 else ():
        link = tree.links[i]
        placed = placed @ Transform(link.rotation(q), link.translation(q))
        W = placed.rotation
        Zw, Zv = product(W, link.Zw), product(W, link.Zv)
        inner.append((link, Zw, Zv, placed.translation, (o, w, alpha, od, odd)))
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide, arm = product(Zw, rate), product(Zv, rate), placed.translation - o
        odd = odd + cross(alpha, arm) + cross(w, cross(w, arm) + 2 * slide) + product(Zv, acceleration)
        od = od + cross(w, arm) + slide
        alpha = alpha + cross(w, turn) + product(Zw, acceleration)
        w, o = w + turn, placed.translation
    end = placed @ at
    p = end.apply(checked_point(point))
    arm = p - o
    velocity, acceleration = od + cross(w, arm), odd + cross(alpha, arm) + cross(w, cross(w, arm))
    columns = [(arrays.zeros(6), arrays.zeros(6))] * tree.nv
    for link, Zw, Zv, here, (o_p, w_p, alpha_p, od_p, odd_p) in inner:
        arm = p - o_p
        swing = cross(w_p, arm)
        w_r, v_r = w - w_p, velocity - od_p - swing
        alpha_r = alpha - alpha_p - cross(w_p, w_r)
        a_r = acceleration - odd_p - cross(alpha_p, arm) - cross(w_p, swing) - 2 * cross(w_p, v_r)
        for k in range(link.nv):
            zw = Zw[:, k]
            t = cross(zw, p - here) + Zv[:, k]
            dw_r, dv_r = cross(zw, w_r), cross(zw, v_r)
            dw, dv = dw_r, cross(w_p, t) + dv_r
            dalpha = cross(w_p, dw_r) + cross(zw, alpha_r)
            da = cross(alpha_p, t) + cross(w_p, cross(w_p, t) + 2 * dv_r) + cross(zw, a_r)
            if axes == "body":  # d (R^T x) = R^T (dx - zw x x)
                dw, dv = dw - cross(zw, w), dv - cross(zw, velocity)
                dalpha, da = dalpha - cross(zw, alpha), da - cross(zw, acceleration)
            before = columns[link.v + k]
            new = (arrays.asarray([*dv, *dw]), arrays.asarray([*da, *dalpha]))
            columns[link.v + k] = before[0] + link.gain * new[0], before[1] + link.gain * new[1]
    found = [arrays.stack([pair[part] for pair in columns]).reshape(tree.nv, 6).T for part in (0, 1)]
    if axes == "body":
        R = end.rotation
        found = [arrays.stack([*product(R.T, X[:3]), *product(R.T, X[3:])]) for X in found]
    return found[0], found[1]

"""Hessians of a frame: how its Jacobians change with the position (NGUYEN 3.2, 3.3), by recursion along the chain.

Let zw_j be the rotation axis of velocity j in world axes and t_j = zw_j x (p - o_j) + zv_j its column of J_T. Joint k
turns everything beyond it and leaves the rest where it is, so

    dJ_R,j/dq_k = zw_k x zw_j   if k lies inside j, else 0
    dJ_T,j/dq_k = zw_k x t_j    if k lies inside j, else zw_j x t_k

and no differentiation is needed: 6 multiplications for every pair. Hessians are matrices in Khang's order, 3 x n^2,
with column j n + k the derivative of column j by q_k, so that

    acceleration = J_T a + H_T (v (x) v),     angular acceleration = J_R a + H_R (v (x) v).

Derivatives by q are along tangent vectors: a quaternion has three.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.kinematics import check_axes, checked, checked_point, frame_on_link
from dalembert.model import Mechanism
from dalembert.model.checks import expect


class FrameDerivatives(NamedTuple):
    """First and second derivatives of a frame's pose, all in one set of axes.

    Args:
        J_R: rotational Jacobian, 3 x n.
        J_T: translational Jacobian of the point, 3 x n.
        H_R: rotational Hessian, 3 x n^2.
        H_T: translational Hessian of the point, 3 x n^2: H_TG of NGUYEN if the point is a centre of mass G.
    """

    J_R: Array
    J_T: Array
    H_R: Array
    H_T: Array


def hessian(
    mechanism: Mechanism, q: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world", starred: bool = True
) -> tuple[Array, Array]:
    """(H_R, H_T) of a frame's rotation and of a point fixed in it, 3 x n^2 each.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        frame: name of a frame or body.
        point: the point, components in the frame.
        axes: ``"world"``, or ``"body"`` for the axes of the frame.
        starred: with body axes, A H (58), (65), which gives accelerations in these axes; if false, the derivative of
            the Jacobian in body axes, which differs because the axes turn.
    """
    expect(starred, bool, "starred")
    world, placed, _ = _in_world(mechanism, q, frame, point)
    if axes == "world":
        return world.H_R, world.H_T
    check_axes(axes)
    found = world if starred else _seen_from_turning_axes(world, world.J_R)
    return product(placed.rotation.T, found.H_R), product(placed.rotation.T, found.H_T)


def relative_motion(
    mechanism: Mechanism, q: Any, frame: str, reference: str, *, point: Any = (0, 0, 0)
) -> FrameDerivatives:
    """Jacobians and Hessians of a frame as seen from another moving frame, in the axes of that one.

    The compositions (77), (78), (86)-(88) solved for the relative motion. These are the derivatives themselves; the
    equations of the source hold only in products with (v (x) v).

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        frame: name of the frame or body that is observed.
        reference: name of the frame or body from which it is observed.
        point: the observed point, components in ``frame``.
    """
    c, _, p = _in_world(mechanism, q, frame, point)
    b, placed, o = _in_world(mechanism, q, reference, (0, 0, 0))
    n, d = mechanism.nv, p - o
    J_R, J_T = c.J_R - b.J_R, c.J_T - b.J_T - _crossed(b.J_R, d)  # (78), (77)
    H_R, H_T = [], []
    for j in range(n):
        for k in range(n):
            at, moved = j * n + k, c.J_T[:, k] - b.J_T[:, k]
            H_R.append(c.H_R[:, at] - b.H_R[:, at])
            H_T.append(c.H_T[:, at] - b.H_T[:, at] - cross(b.H_R[:, at], d) - cross(b.J_R[:, j], moved))
    seen = FrameDerivatives(J_R, J_T, _columns(H_R, n * n), _columns(H_T, n * n))
    return FrameDerivatives(*(product(placed.rotation.T, x) for x in _seen_from_turning_axes(seen, b.J_R)))


def _in_world(mechanism: Mechanism, q: Any, frame: str, point: Any) -> tuple[FrameDerivatives, Transform, Array]:
    """Everything in world axes, the frame's pose, and the point in the world."""
    (q,) = checked(mechanism, q=q)
    tree, n = mechanism.tree, mechanism.nv
    carrier, at = frame_on_link(mechanism, frame)
    chain = list(reversed(tree.ancestors[carrier])) if carrier >= 0 else []
    placed = Transform.identity()
    places = []
    for i in chain:
        placed = placed @ Transform(tree.links[i].rotation(q), tree.links[i].translation(q))
        places.append(placed)
    placed = placed @ at
    p = placed.apply(checked_point(point))
    joints: list[list[tuple[int, Scalar, Array, Array]]] = []  # for each link: velocity, gain, zw, t
    for i, place in zip(chain, places):
        link = tree.links[i]
        own = []
        for k in range(link.nv):
            zw, zv = product(place.rotation, link.Zw[:, k]), product(place.rotation, link.Zv[:, k])
            own.append((link.v + k, link.gain, zw, cross(zw, p - place.translation) + zv if link.rotates else zv))
        joints.append(own)
    nothing = arrays.zeros(3)
    J_R, J_T, H_R, H_T = ([nothing] * (n * size) for size in (1, 1, n, n))
    for position, own in enumerate(joints):
        for j, gain, zw, t in own:
            J_R[j], J_T[j] = J_R[j] + gain * zw, J_T[j] + gain * t
            for inner in joints[: position + 1]:
                for k, inner_gain, zw_k, _ in inner:
                    both = gain * inner_gain
                    turned, swept = both * cross(zw_k, zw), both * cross(zw_k, t)
                    H_R[j * n + k] = H_R[j * n + k] + turned
                    H_T[j * n + k] = H_T[j * n + k] + swept
                    if inner is not own:  # the outer joint moves the point on which the inner one acts
                        H_T[k * n + j] = H_T[k * n + j] + swept
    return FrameDerivatives(_columns(J_R, n), _columns(J_T, n), _columns(H_R, n * n), _columns(H_T, n * n)), placed, p


def _seen_from_turning_axes(x: FrameDerivatives, turning: Array) -> FrameDerivatives:
    """Derivatives of R^T J instead of J, still to be multiplied by R^T: column (j, k) loses J_R,k x J_j."""
    n = turning.shape[1]
    H_R, H_T = (
        [H[:, j * n + k] - cross(turning[:, k], J[:, j]) for j in range(n) for k in range(n)]
        for H, J in ((x.H_R, x.J_R), (x.H_T, x.J_T))
    )
    return FrameDerivatives(x.J_R, x.J_T, _columns(H_R, n * n), _columns(H_T, n * n))


def _crossed(J: Array, d: Array) -> Array:
    """Each column of J times d."""
    return _columns([cross(column, d) for column in J.T], J.shape[1])


def _columns(columns: list[Array], count: int) -> Array:
    return arrays.stack(columns).reshape(count, 3).T

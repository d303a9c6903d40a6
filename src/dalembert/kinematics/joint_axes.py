"""Joint axes with their rates, as the sensitivities of inverse dynamics read them, carried outwards along the tree.

Along dq the axes of a joint are fixed in the parent (otherwise v would change), along dv in the child; for a single
axis that is the same. A step outwards turns eight vectors, of which a single axis has six different ones.
"""

from __future__ import annotations

from typing import NamedTuple

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.vectors import cross
from dalembert.kinematics.step import Step
from dalembert.model.tree import Link


class Axis(NamedTuple):
    """A joint axis with its rates, at some link's origin and in its joint frame.

    At the joint itself zv, drift and lift are the translation axis, twice its rate, and its second rate with the lift
    sdd x zw of the link; at an origin further out they gain what turning about the axis does there.

    Args:
        zw: rotation axis.
        zdw: its rate along dq, fixed in the parent.
        zdw_child: its rate along dv, fixed in the child; for a single axis the same.
        zdw_other: zdw, or zdw_child if child axes are wanted throughout.
        zddw: its second rate.
        zv: velocity of the origin per unit of the joint's speed.
        drift: twice the rate of that.
        lift: its second rate, with the lift of the link.
    """

    zw: Array
    zdw: Array
    zdw_child: Array
    zdw_other: Array
    zddw: Array
    zv: Array
    drift: Array
    lift: Array

    @property
    def zdw_both(self) -> Array:
        """The sum of both rates, which enters the derivative along dv."""
        return self.zdw_child + self.zdw_other


def own_axes(
    link: Link, w: Array, wd: Array, w_parent: Array, wd_parent: Array, sdd: Array, child_axes: bool
) -> list[Axis]:
    """The axes of a link's own joint; everything in the moved joint frame.

    The angular acceleration tensor of the parent applied to an axis z is wd_p x z + w_p x (w_p x z); for a joint of one
    axis the link's own serves as well.

    Args:
        w: its angular velocity.
        w_parent: angular velocity of the parent.
        sdd: acceleration of the link's origin.
        child_axes: take the axes of spherical joints as fixed in the child throughout.
    """
    none = arrays.zeros(3)
    axes = []
    for k in range(link.nv):
        zw, zv = link.axes_w[:, k], link.axes_v[:, k]
        if link.kind == "spherical":
            zdw, zdw_child = cross(w_parent, zw), cross(w, zw)
            zddw = cross(wd_parent, zw) + cross(w_parent, zdw)
        elif link.rotates:
            zdw = zdw_child = cross(w, zw)
            zddw = cross(wd, zw) + cross(w, zdw)
        else:
            zdw = zdw_child = zddw = none
        zdv = cross(w, zv) if link.translates else none
        zddv = cross(wd, zv) + cross(w, zdv) if link.translates else none
        lift = cross(sdd, zw) + zddv
        axes.append(Axis(zw, zdw, zdw_child, zdw_child if child_axes else zdw, zddw, zv, zdv + zdv, lift))
    return axes


def moved_outward(axis: Axis, inner: Step, outer: Step, twice_sd: Array) -> Axis:
    """An axis as seen from the next link out, in its moved joint frame.

    Args:
        axis: the axis, in the moved joint frame of the inner link.
        inner: step of the inner link.
        twice_sd: twice the rate of the vector between their origins, in the inner link's axes.
    """
    at = Axis(*(inner.to_link(x) for x in axis))
    at = at._replace(
        zv=at.zv + cross(at.zw, outer.s),
        drift=at.drift + cross(at.zdw_both, outer.s) + cross(at.zw, twice_sd),
        lift=at.lift + cross(at.zddw, outer.s) + cross(at.zdw, twice_sd),
    )
    return Axis(*(outer.to_joint(x) for x in at))

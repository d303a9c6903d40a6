"""Rolling without slipping, and skates: constraints on velocities.

A convex body about the origin of frame a touches the plane z = 0 of frame b at the point where its normal points down.
For an ellipsoid with semi-axes S along its own axes (a disc is one with S = (r, r, 0)) and the plane's normal n in its
axes, that point is

    x = -S^2 n / s,    s = sqrt(n . S^2 n),      rho = R x   in the plane's axes,

at height s below the centre. Rolling demands that the body's point of contact rests on the plane: d' + w x rho = 0,
three rows. The third is the derivative of ``d_z - s = 0``; the other two have no integral. Multipliers are the force
of the plane on the body at the contact, in the plane's axes.
"""

from __future__ import annotations

from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot, dual
from dalembert.constraints.loops import NOTHING, Entry, RowKind
from dalembert.kinematics.relative import Pair
from dalembert.model.constraint import Constraint

SLIP = (RowKind("slip along x", "length", False), RowKind("slip along y", "length", False))
CONTACT = (*SLIP, RowKind("height", "length"))

ROLLING_ROWS: dict[str, tuple[RowKind, ...]] = {
    "rolling-disc": CONTACT,
    "rolling-sphere": CONTACT,
    "rolling-ellipsoid": CONTACT,
    "rolling-wheel": SLIP,
    "skate": (RowKind("side slip", "length", False),),
}
"""The rows of each kind."""


def rolling_entries(item: Constraint, pair: Pair) -> list[Entry]:
    """The entries of a rolling constraint or skate.

    Args:
        pair: the body's frame as seen from the plane's.
    """
    r = item.value
    match item.kind:
        case "skate":
            return [_skate(pair)]
        case "rolling-disc":
            return _ellipsoid(pair, (r, r, 0))
        case "rolling-ellipsoid":
            return _ellipsoid(pair, item.coefficients)
    return _round(pair, r)[: len(ROLLING_ROWS[item.kind])]


def _round(pair: Pair, r: Scalar) -> list[Entry]:
    """The contact stays below the centre: rho is constant."""
    return _contact(pair, arrays.asarray([0, 0, -r]), NOTHING, pair.offset[2] - r)


def _ellipsoid(pair: Pair, semi_axes: Any) -> list[Entry]:
    R, n = pair.rotation, pair.rotation[2]
    squares = arrays.asarray([x * x for x in semi_axes])
    Sn = squares * n
    s = scalar.sqrt(dot(n, Sn))
    rho = product(R, -Sn / s)
    travel = None
    if pair.state.is_moving:
        # n' = n x w in body axes; the point of contact moves through the body by x'.
        rate = cross(n, product(R.T, pair.turning))
        x_rate = (Sn * (dot(Sn, rate) / (s * s)) - squares * rate) / s
        travel = cross(pair.turning, rho) + product(R, x_rate)
    return _contact(pair, rho, travel, pair.offset[2] - s)


def _contact(pair: Pair, rho: Array, travel: Any, height: Scalar) -> list[Entry]:
    """d' + w x rho = 0; its rate is d'' + w' x rho + w x rho'."""
    angular = -dual(rho)
    quadratic: Any = (None, None, None)
    if pair.state.is_moving:
        quadratic = cross(pair.turning, travel)
    linear = arrays.identity(3)
    return [Entry(height if i == 2 else 0, linear[i], angular[i], quadratic[i]) for i in range(3)]


def _skate(pair: Pair) -> Entry:
    """(R e_y) . d' = 0."""
    edge = pair.rotation[:, 1]
    quadratic = dot(cross(pair.turning, edge), pair.velocity) if pair.state.is_moving else None
    return Entry(0, edge, NOTHING, quadratic)

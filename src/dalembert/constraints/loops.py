"""Closed loops: what a joint of each type demands of the relative motion of its two frames.

With offset d and rotation R of frame b in frame a, every closure consists of entries of three sorts,

    d_i,     R_ij = e_i . b_j     (b_j = R e_j, so R_ij' = w . (b_j x e_i)),     (d.d - L^2) / 2L,

each a function phi with phi' = P [d'; w] and phi'' = P [d''; w'] + quadratic. The rows of P are unit vectors or nearly
so, hence multipliers are forces and moments in N and N m: of frame b's origin, in the axes of frame a.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.kinematics.relative import Pair


class RowKind(NamedTuple):
    """What a row says, what it is measured in (``"length"``, ``"angle"`` or ``"own"``), and whether it has an integral:
    a constraint on positions."""

    meaning: str
    unit: str
    holonomic: bool = True


LINE = (RowKind("offset x", "length"), RowKind("offset y", "length"))
OFFSET = RowKind("offset z", "length")
POINT = (*LINE, OFFSET)
TILT = (RowKind("tilt about y", "angle"), RowKind("tilt about x", "angle"))
TURN = (RowKind("turn about x", "angle"), RowKind("turn about y", "angle"), RowKind("turn about z", "angle"))

LOOP_ROWS: dict[str, tuple[RowKind, ...]] = {
    "weld": (*POINT, *TURN),
    "spherical": POINT,
    "revolute": (*POINT, *TILT),
    "prismatic": (*LINE, *TURN),
    "cylindrical": (*LINE, *TILT),
    "universal": (*POINT, RowKind("angle of the axes", "angle")),
    "distance": (RowKind("distance", "length"),),
    "point-on-line": LINE,
    "point-on-plane": (OFFSET,),
}
"""The rows of each kind of loop closure."""

HALF_TURNS: dict[str, str] = {"weld": "frames", "prismatic": "frames", "revolute": "axes", "cylindrical": "axes"}
"""What may be half a turn apart although the rows of a closure vanish, because sines do: its frames, or its axes z."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One scalar function of a relative motion.

    Args:
        linear: derivative per d'.
        angular: derivative per w.
        quadratic: what is left of its second derivative for d'' = w' = 0; None if velocities are not known.
    """

    phi: Scalar
    linear: Any
    angular: Any
    quadratic: Scalar | None


NOTHING = (0, 0, 0)


def loop_entries(kind: str, pair: Pair, value: Scalar = 0) -> list[Entry]:
    """The entries of a loop closure.

    Args:
        kind: one of :data:`LOOP_ROWS`.
        pair: frame b as seen from frame a.
        value: the distance, for ``distance``.
    """
    match kind:
        case "weld":
            return [*_offsets(pair, 3), *_attitude(pair)]
        case "spherical":
            return _offsets(pair, 3)
        case "revolute":
            return [*_offsets(pair, 3), *_parallel(pair)]
        case "prismatic":
            return [*_offsets(pair, 2), *_attitude(pair)]
        case "cylindrical":
            return [*_offsets(pair, 2), *_parallel(pair)]
        case "universal":
            return [*_offsets(pair, 3), _cosine(pair, 2, 2)]
        case "distance":
            return [_distance(pair, value)]
        case "point-on-line":
            return _offsets(pair, 2)
    return [_offset(pair, 2)]  # point-on-plane


def _offset(pair: Pair, i: int) -> Entry:
    return Entry(pair.offset[i], [int(k == i) for k in range(3)], NOTHING, 0)


def _offsets(pair: Pair, count: int) -> list[Entry]:
    return [_offset(pair, i) for i in range(count)]


def _cosine(pair: Pair, i: int, j: int) -> Entry:
    """R_ij, the cosine between axis i of a and axis j of b."""
    e, b = arrays.identity(3)[i], pair.rotation[:, j]
    quadratic = None
    if pair.state.is_moving:
        quadratic = cross(pair.turning, cross(pair.turning, b))[i]
    return Entry(b[i], NOTHING, cross(b, e), quadratic)


def _parallel(pair: Pair) -> list[Entry]:
    """z of b has no components along x and y of a."""
    return [_cosine(pair, 0, 2), _cosine(pair, 1, 2)]


def _attitude(pair: Pair) -> list[Entry]:
    """The vector of the rotation (3.3.27), half of R_kj - R_jk: zero without rotation."""
    entries = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        plus, minus = _cosine(pair, k, j), _cosine(pair, j, k)
        quadratic = None
        if plus.quadratic is not None and minus.quadratic is not None:
            quadratic = (plus.quadratic - minus.quadratic) / 2
        entries.append(Entry((plus.phi - minus.phi) / 2, NOTHING, (plus.angular - minus.angular) / 2, quadratic))
    return entries


def without_half_turns(kind: str, pair: Pair, entries: list[Entry]) -> list[Entry]:
    """The same closure with 2 sin(x/2) in the place of sin(x), for tilts and turns by the angle x.

    Sines vanish after half a turn too; these do not, so what is assembled with them is closed the right way round.
    With c = cos(x), sin(x) / cos(x/2) = 2 sin(x/2) and 1 / cos(x/2) = sqrt(2 / (1 + c)). Just at half a turn they are
    not defined. Good for positions only: second derivatives are left out.

    Args:
        pair: frame b as seen from frame a.
        entries: what :func:`loop_entries` says.
    """
    if kind not in HALF_TURNS:
        return entries
    axes = (2,) if HALF_TURNS[kind] == "axes" else (0, 1, 2)
    diagonal = [_cosine(pair, i, i) for i in axes]
    c, slope = diagonal[0].phi, diagonal[0].angular
    if len(diagonal) > 1:  # trace R = 1 + 2 c
        c = (diagonal[0].phi + diagonal[1].phi + diagonal[2].phi - 1) / 2
        slope = (diagonal[0].angular + diagonal[1].angular + diagonal[2].angular) / 2
    factor = scalar.sqrt(2 / (1 + c))
    found = []
    for row, entry in zip(LOOP_ROWS[kind], entries):
        if row.unit == "angle":
            phi = entry.phi * factor
            entry = Entry(phi, NOTHING, entry.angular * factor - phi / (2 * (1 + c)) * slope, None)
        found.append(entry)
    return found


def _distance(pair: Pair, length: Scalar) -> Entry:
    """(d.d - L^2) / 2L: no square root, and the multiplier is still the force along the rod."""
    d = pair.offset
    quadratic = dot(pair.velocity, pair.velocity) / length if pair.state.is_moving else None
    return Entry((dot(d, d) - length * length) / (2 * length), d / length, NOTHING, quadratic)


def assemble(pair: Pair, entries: list[Entry]) -> tuple[Array, Array, Array, Array | None]:
    """(phi, P, G, gamma) of entries: P is m x 6, G = P [Jd; Jw], gamma = -(P drift + quadratic).

    Args:
        pair: the relative motion.
    """
    phi = arrays.asarray([entry.phi for entry in entries])
    P = arrays.asarray([[*entry.linear, *entry.angular] for entry in entries])
    Jd, Jw = pair.jacobians
    G = product(P[:, :3], Jd) + product(P[:, 3:], Jw)
    if not pair.state.is_moving:
        return phi, P, G, None
    gamma = -(product(P, pair.drift) + arrays.asarray([entry.quadratic for entry in entries]))
    return phi, P, G, gamma

"""Where spheres, capsules and boxes of two bodies touch, over any scalar and without branches.

A law of a pair takes both shapes with their poses and gives (gap, normal from the second to the first, point of the
first, point of the second) for every point, in world axes.

    sphere-sphere, sphere-capsule, capsule-capsule, sphere-box: 1 point, the nearest
    capsule-box: 2 points, which are the ends of the part that lies over a face, one of them the nearest
    box-box: 4 points; see boxes.py
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import dot
from dalembert.contact.boxes import box_box
from dalembert.contact.choices import Touching, above, clamped, direction, smallest, span
from dalembert.model import Shape


def _spheres(a: Array, r_a: Scalar, b: Array, r_b: Scalar) -> Touching:
    """Two spheres; if their centres coincide the normal is z."""
    normal, distance = direction(a - b, arrays.asarray([0, 0, 1]))
    return distance - r_a - r_b, normal, a - r_a * normal, b + r_b * normal


def _axis(shape: Shape, at: Transform) -> tuple[Array, Array]:
    """Start and whole length of the axis of a capsule."""
    whole = at.rotation[:, 2] * shape.size[1]
    return at.translation - whole / 2, whole


def sphere_sphere(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """The nearest points of two spheres."""
    return [_spheres(at_a.translation, a.size[0], at_b.translation, b.size[0])]


def sphere_capsule(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """A sphere and the nearest sphere inside a capsule."""
    start, whole = _axis(b, at_b)
    share = clamped(dot(at_a.translation - start, whole) / dot(whole, whole), 0, 1)
    return [_spheres(at_a.translation, a.size[0], start + share * whole, b.size[0])]


def capsule_capsule(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """The nearest spheres inside two capsules; in the middle of the common part where these are parallel.

    After Ericson, Real-Time Collision Detection (2005), section 5.1.9: nearest points of two segments.
    """
    (p, u), (q, w) = _axis(a, at_a), _axis(b, at_b)
    r = p - q
    uu, ww, uw, ur, wr = dot(u, u), dot(w, w), dot(u, w), dot(u, r), dot(w, r)
    first, last = clamped(-ur / uu, 0, 1), clamped((uw - ur) / uu, 0, 1)  # nearest to start and end of b
    det = uu * ww - uw * uw
    crossed = above(det, 1e-12 * uu * ww)
    s = scalar.select(crossed, clamped((uw * wr - ur * ww) / scalar.select(crossed, det, 1), 0, 1), (first + last) / 2)
    t = (uw * s + wr) / ww
    before, beyond = above(0, t), above(t, 1)
    s = scalar.select(before, first, scalar.select(beyond, last, s))
    return [_spheres(p + s * u, a.size[0], q + clamped(t, 0, 1) * w, b.size[0])]


# ---------------------------------------------------------------------------------------------------------------- boxes


def _halves(box: Shape) -> list[Scalar]:
    return [edge / 2 for edge in box.size]


def nearest_on_box(point: Array, halves: list[Scalar]) -> tuple[Scalar, Array, Array]:
    """Signed distance, outward normal and nearest point of the surface of a box, in its axes.

    Args:
        point: in the axes of the box, from its centre.
        halves: half of its edges.
    """
    held = arrays.asarray([clamped(x, -h, h) for x, h in zip(point, halves)])
    away = point - held
    square = dot(away, away)
    outside = above(square, 0)
    depths = [h - scalar.absolute(x) for x, h in zip(point, halves)]
    signs = [scalar.select(above(0, x), -1, 1) for x in point]
    faces = smallest(depths)
    depth = scalar.minimum(scalar.minimum(depths[0], depths[1]), depths[2])
    length = scalar.sqrt(square)
    divisor = scalar.select(outside, length, 1)
    normal = arrays.asarray([scalar.select(outside, x / divisor, f * s) for x, f, s in zip(away, faces, signs)])
    distance = scalar.select(outside, length, -depth)
    return distance, normal, point - distance * normal


def _ball_on_box(centre: Array, radius: Scalar, box: Shape, at: Transform) -> Touching:
    """A sphere, given in the axes of a box, on that box."""
    distance, normal, point = nearest_on_box(centre, _halves(box))
    n = at.rotate(normal)
    return distance - radius, n, at.apply(centre) - radius * n, at.apply(point)


def sphere_box(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """A sphere and the nearest point of a box; its centre leaves a box through the nearest face."""
    centre = arrays.product(at_b.rotation.T, at_a.translation - at_b.translation)
    return [_ball_on_box(centre, a.size[0], b, at_b)]


def capsule_box(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """Two spheres of a capsule on a box: the ends of the part over the face it is nearest to, with the nearest one."""
    start, whole = _axis(a, at_a)
    p, u = (arrays.product(at_b.rotation.T, x) for x in (start - at_b.translation, whole))
    halves = _halves(b)
    near = _nearest_share(p, u, halves)
    _, normal, _ = nearest_on_box(p + near * u, halves)
    # The part of the axis between the planes through four sides, for each pair of opposite faces.
    face = smallest([-scalar.absolute(n) for n in normal])
    spans = [span(p[k], u[k], halves[k]) for k in range(3)]
    ends = []
    for i, j in ((1, 2), (0, 2), (0, 1)):
        begin = scalar.maximum(scalar.maximum(spans[i][0], spans[j][0]), 0)
        end = scalar.minimum(scalar.minimum(spans[i][1], spans[j][1]), 1)
        over = above(end, begin)
        far = scalar.select(above(near, 0.5), 0, 1)  # where nothing lies over the face, the other end
        ends.append((scalar.select(over, begin, far), scalar.select(over, end, far)))
    begin, end = (sum(f * x for f, x in zip(face, options)) for options in zip(*ends))
    low, high = scalar.minimum(near, begin), scalar.maximum(near, end)
    return [_ball_on_box(p + share * u, a.size[0], b, at_b) for share in (low, high)]


def _nearest_share(p: Array, u: Array, halves: list[Scalar]) -> Scalar:
    """The share s of p + s u, 0 .. 1, at which a segment is nearest to a box.

    Half the derivative of the squared distance, g(s) = u . (p + s u - held), grows with s and is linear between the
    shares at which the segment crosses the planes of the faces. Between the last of these at which g is negative and
    the first at which it is positive lies the zero.
    """
    shares: list[Scalar] = [0, 1]
    for x, d, h in zip(p, u, halves):
        moving = above(scalar.absolute(d), 0)
        divisor = scalar.select(moving, d, 1)
        shares += [clamped(scalar.select(moving, (side - x) / divisor, 0), 0, 1) for side in (-h, h)]

    def slope(s: Scalar) -> Scalar:
        point = p + s * u
        return dot(u, arrays.asarray([x - clamped(x, -h, h) for x, h in zip(point, halves)]))

    low: Scalar = 0
    high: Scalar = 1
    slopes = [slope(s) for s in shares]
    g_low, g_high = slopes[0], slopes[1]
    for s, g in zip(shares[2:], slopes[2:]):
        take = above(0, g) & above(s, low)
        low, g_low = scalar.select(take, s, low), scalar.select(take, g, g_low)
        take = above(g, 0) & above(high, s)
        high, g_high = scalar.select(take, s, high), scalar.select(take, g, g_high)
    rise = g_high - g_low
    there = above(rise, 0)
    crossing = low - g_low * (high - low) / scalar.select(there, rise, 1)
    # At an end with the wrong sign the end itself is nearest; without any slope the whole lies over a face.
    inside = scalar.select(there, crossing, (low + high) / 2)
    return scalar.select(above(g_low, 0), 0, scalar.select(above(0, g_high), 1, clamped(inside, 0, 1)))


PAIRS: dict[tuple[str, str], Callable[[Shape, Transform, Shape, Transform], list[Touching]]] = {
    ("sphere", "sphere"): sphere_sphere,
    ("sphere", "capsule"): sphere_capsule,
    ("capsule", "capsule"): capsule_capsule,
    ("sphere", "box"): sphere_box,
    ("capsule", "box"): capsule_box,
    ("box", "box"): box_box,
}
"""Law of every pair of kinds; also used with the kinds exchanged."""

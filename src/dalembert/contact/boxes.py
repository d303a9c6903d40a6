"""Where two boxes touch, over any scalar and without branches: four points of a face, or one of two edges.

The axis of least penetration is one of 15: three normals of faces of either box and nine cross products of their edges
(S. Gottschalk, M. Lin, D. Manocha, OBBTree, 1996). The gap along it has the sign of the distance, and is never more.

Where it is the normal of a face, the face of the other box that looks at it most is clipped to its rectangle. Of what
is left, which has up to eight corners, the four that lie farthest out in four directions are the points. Where it is
that of two edges, one point is where they are nearest. A point that is not needed, or met twice, lies open: its gap is
as large as both boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dot
from dalembert.contact.choices import Touching, above, clamped, smallest, span
from dalembert.model import Shape

PARALLEL = 1e-6
"""Squared sine of the angle below which two edges have no axis of their own: the faces' will do."""

PREFERENCE = 1e-6
"""Of the smallest edge: an axis of edges must be better by this much, so that a face at rest on a face stays one; and a
corner beside a face must lie this much lower than all points on it."""

TURNED = 0.7
"""Slope of the four directions: along no side and no diagonal of a square, so that no two corners are equally far."""

OUTSIDE = 1e3
"""Taken off the distance of points that lie outside, in sizes of the face: these count only if there are no others."""


def box_box(a: Shape, at_a: Transform, b: Shape, at_b: Transform) -> list[Touching]:
    """Four points of two boxes: gap, normal from b to a, point of a, point of b, all in the world."""
    halves_a, halves_b = ([edge / 2 for edge in box.size] for box in (a, b))
    # All in the axes of a, from its centre.
    R = product(at_a.rotation.T, at_b.rotation)
    t = product(at_a.rotation.T, at_b.translation - at_a.translation)
    face = _best_face(R, t, halves_a, halves_b)
    edge = _best_edge(R, t, halves_a, halves_b)
    least = scalar.minimum(*(_least(halves) for halves in (halves_a, halves_b)))
    crossed = above(edge.separation, face.separation + 2 * PREFERENCE * least)
    far = sum(halves_a) + sum(halves_b)
    found: list[Touching] = []
    for k, (gap, normal, on_a, on_b) in enumerate(_face_points(face, R, t, halves_a, halves_b, far)):
        if k == 0:
            gap = scalar.select(crossed, edge.separation, gap)
            normal, on_a, on_b = (
                _choose(crossed, x, y) for x, y in ((edge.normal, normal), (edge.point_a, on_a), (edge.point_b, on_b))
            )
        else:
            gap = scalar.select(crossed, far, gap)
            normal = _choose(crossed, edge.normal, normal)
            on_a = _choose(crossed, on_b + far * normal, on_a)
        found.append((gap, at_a.rotate(normal), at_a.apply(on_a), at_a.apply(on_b)))
    return found


def _least(values: list[Scalar]) -> Scalar:
    return scalar.minimum(scalar.minimum(values[0], values[1]), values[2])


def _choose(condition: Any, one: Array, two: Array) -> Array:
    return arrays.asarray([scalar.select(condition, x, y) for x, y in zip(one, two)])


# ----------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True, eq=False)
class _Face:
    """The best of six faces.

    Args:
        separation: of the boxes along its normal, m; negative where they overlap.
        of_b: whether it belongs to the second box.
        which: 1 for its axis among those of its box, 0 for the others.
        sign: of the normal that looks at the other box, along that axis.
    """

    separation: Scalar
    of_b: Any
    which: list[Scalar]
    sign: Scalar


def _best_face(R: Array, t: Array, a: list[Scalar], b: list[Scalar]) -> _Face:
    other = product(R.T, t)
    on_a = [scalar.absolute(t[i]) - a[i] - sum(scalar.absolute(R[i, j]) * b[j] for j in range(3)) for i in range(3)]
    on_b = [scalar.absolute(other[j]) - b[j] - sum(scalar.absolute(R[i, j]) * a[i] for i in range(3)) for j in range(3)]
    best_a, best_b = (smallest([-x for x in values]) for values in (on_a, on_b))
    value_a, value_b = (sum(w * x for w, x in zip(w3, x3)) for w3, x3 in ((best_a, on_a), (best_b, on_b)))
    of_b = above(value_b, value_a)
    signs = [[scalar.select(above(0, side * x), -1, 1) for x in offset] for side, offset in ((1, t), (-1, other))]
    sign_a, sign_b = (sum(w * x for w, x in zip(*two)) for two in ((best_a, signs[0]), (best_b, signs[1])))
    return _Face(
        scalar.select(of_b, value_b, value_a),
        of_b,
        [scalar.select(of_b, y, x) for x, y in zip(best_a, best_b)],
        scalar.select(of_b, sign_b, sign_a),
    )


@dataclass(frozen=True, eq=False)
class _Edges:
    """The best of nine pairs of edges: separation, normal from b to a, and the nearest points."""

    separation: Scalar
    normal: Array
    point_a: Array
    point_b: Array


def _best_edge(R: Array, t: Array, a: list[Scalar], b: list[Scalar]) -> _Edges:
    separation: Scalar = -sum(a) - sum(b)
    along_a, along_b = arrays.asarray([1, 0, 0]), R[:, 0]
    reach_a, reach_b, normal = a[0], b[0], arrays.asarray([0, 0, 1])
    unit = arrays.identity(3)
    for i in range(3):
        for j in range(3):
            square = 1 - R[i, j] * R[i, j]
            there = above(square, PARALLEL)
            axis = cross(unit[i], R[:, j]) / scalar.sqrt(scalar.select(there, square, 1))
            away = dot(t, axis)
            width = sum(a[k] * scalar.absolute(axis[k]) for k in range(3) if k != i)
            width = width + sum(b[k] * scalar.absolute(dot(axis, R[:, k])) for k in range(3) if k != j)
            value = scalar.select(there, scalar.absolute(away) - width, -sum(a) - sum(b))
            better = above(value, separation)
            separation = scalar.select(better, value, separation)
            normal = _choose(better, axis * scalar.select(above(0, away), 1, -1), normal)
            along_a, along_b = _choose(better, unit[i], along_a), _choose(better, R[:, j], along_b)
            reach_a, reach_b = scalar.select(better, a[i], reach_a), scalar.select(better, b[j], reach_b)
    # The edge of each box that lies farthest towards the other one: its middle, then the nearest points of both lines.
    p = arrays.asarray([-a[k] * _side(normal[k], along_a[k]) for k in range(3)])
    q = t + sum(b[k] * _side(dot(normal, R[:, k]), dot(along_b, R[:, k])) * R[:, k] for k in range(3))
    r, c = q - p, dot(along_a, along_b)
    det = scalar.maximum(1 - c * c, PARALLEL)
    x, y = dot(along_a, r), dot(along_b, r)
    s = clamped((x - c * y) / det, -reach_a, reach_a)
    u = clamped((c * x - y) / det, -reach_b, reach_b)
    return _Edges(separation, normal, p + s * along_a, q + u * along_b)


def _side(x: Scalar, along: Scalar) -> Scalar:
    """The sign of x, or 0 for the direction of the edge itself."""
    return scalar.select(above(scalar.absolute(along), 0.5), 0, scalar.select(above(0, x), -1, 1))


# ---------------------------------------------------------------------------------------------------------------- faces


def _face_points(face: _Face, R: Array, t: Array, a: list[Scalar], b: list[Scalar], far: Scalar) -> list[Touching]:
    """Four points on the best face, in the axes of a."""
    unit, of_b = arrays.identity(3), face.of_b
    # The box with that face, and the other one: centre, axes as columns, halves of edges.
    centre, other_centre = _choose(of_b, t, 0 * t), _choose(of_b, 0 * t, t)
    axes = [_choose(of_b, R[:, k], unit[:, k]) for k in range(3)]
    others = [_choose(of_b, unit[:, k], R[:, k]) for k in range(3)]
    sizes = [scalar.select(of_b, y, x) for x, y in zip(a, b)]
    other_sizes = [scalar.select(of_b, x, y) for x, y in zip(a, b)]
    u, v, w = (_pick(face.which, axes, shift) for shift in (1, 2, 0))
    hu, hv, hw = (sum(x * sizes[(k + shift) % 3] for k, x in enumerate(face.which)) for shift in (1, 2, 0))
    out = face.sign * w
    # The other box's face that looks at it most, with half of its edges.
    towards = [dot(out, axis) for axis in others]
    most = smallest([-scalar.absolute(x) for x in towards])
    looks = sum(m * x for m, x in zip(most, towards))
    turn = scalar.select(above(looks, 0), -1, 1)
    middle = other_centre - centre + turn * sum(m * h * x for m, h, x in zip(most, other_sizes, others))
    edges = [
        sum(m * other_sizes[(k + shift) % 3] * others[(k + shift) % 3] for k, m in enumerate(most)) for shift in (1, 2)
    ]
    # From here on x, y along u, v of the face and the gap z above it.
    q, e, f = (arrays.asarray([dot(u, x), dot(v, x), dot(out, x)]) for x in (middle, *edges))
    q = q - arrays.asarray([0, 0, hw])
    chosen = _farthest(_candidates(q, e, f, hu, hv), hu, hv)
    # The lowest corner of the other box may lie beside the face: it counts, so that no overlap is missed.
    lowest = _lowest([q + i * e + j * f for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
    lowest = arrays.asarray([clamped(lowest[0], -hu, hu), clamped(lowest[1], -hv, hv), lowest[2]])
    missed = above(_lowest(chosen)[2], lowest[2] + PREFERENCE * scalar.minimum(hu, hv))
    chosen[0] = _choose(missed, lowest, chosen[0])
    found: list[Touching] = []
    for k, (x, y, z) in enumerate(chosen):
        twice = False
        for i, j, _ in chosen[:k]:
            near = above(1e-12 * (hu * hu + hv * hv), (x - i) * (x - i) + (y - j) * (y - j))
            twice = near if twice is False else twice | near
        gap = z if twice is False else scalar.select(twice, far, z)
        theirs = centre + x * u + y * v + (hw + gap) * out
        own = centre + x * u + y * v + hw * out
        found.append((gap, _choose(of_b, out, -out), _choose(of_b, theirs, own), _choose(of_b, own, theirs)))
    return found


def _lowest(places: list[Array]) -> Array:
    """The place of the smallest gap."""
    found = places[0]
    for place in places[1:]:
        found = _choose(above(found[2], place[2]), place, found)
    return found


def _pick(which: list[Scalar], vectors: list[Array], shift: int) -> Array:
    """The vector that lies ``shift`` places after the marked one."""
    return sum((x * vectors[(k + shift) % 3] for k, x in enumerate(which)), arrays.zeros(3))


Candidate = tuple[Array, Any]
"""A place (x, y, gap), and whether it lies on both faces."""


def _candidates(q: Array, e: Array, f: Array, hu: Scalar, hv: Scalar) -> list[Candidate]:
    """Corners that the overlap of a rectangle |x| <= hu, |y| <= hv with a parallelogram q +- e +- f may have."""
    corners = [q + i * e + j * f for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
    found: list[Candidate] = []
    for start, end in zip(corners, [*corners[1:], corners[0]]):
        along = end - start
        (low_x, high_x), (low_y, high_y) = (span(start[k], along[k], half) for k, half in ((0, hu), (1, hv)))
        low = scalar.maximum(scalar.maximum(low_x, low_y), 0)
        high = scalar.minimum(scalar.minimum(high_x, high_y), 1)
        inside = above(high, low)
        # An edge outside gives its corner, which counts if there is nothing else.
        found.append((start + scalar.select(inside, low, 0) * along, inside))
        found.append((start + scalar.select(inside, high, 0) * along, inside))
    det = e[0] * f[1] - e[1] * f[0]
    for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        x, y = i * hu - q[0], j * hv - q[1]
        p, r = (x * f[1] - y * f[0]) / det, (e[0] * y - e[1] * x) / det
        inside = above(1, scalar.absolute(p)) & above(1, scalar.absolute(r))
        found.append((arrays.asarray([i * hu, j * hv, q[2] + p * e[2] + r * f[2]]), inside))
    return found


def _farthest(candidates: list[Candidate], hu: Scalar, hv: Scalar) -> list[Array]:
    """In each of four directions the candidate that lies farthest out."""
    chosen = []
    for i, j in ((1, TURNED), (-TURNED, 1), (-1, -TURNED), (TURNED, -1)):
        best, found = None, candidates[0][0]
        for k, (place, inside) in enumerate(candidates):
            reach = i * place[0] / hu + j * place[1] / hv
            # What is outside must lose against all inside, and corners of the face that are outside against all else.
            reach = reach - scalar.select(inside, 0, OUTSIDE if k < 8 else OUTSIDE**2)
            better = best is None or above(reach, best)
            found = place if best is None else _choose(better, place, found)
            best = reach if best is None else scalar.select(better, reach, best)
        chosen.append(found)
    return chosen

"""Where two shapes touch, over any scalar: a fixed number of points for each pair, without branches.

A point has a gap, a normal and a place on either body. The normal leads from b to a, and
``gap = normal . (point_a - point_b)``; a negative gap is a depth. All in world axes, metres.

    shape      points on each surface of a ground
    sphere     1, its lowest
    capsule    2, the lowest of both ends; on curved ground a third, halfway
    ellipsoid  1, its lowest
    cylinder   6, three on either rim, one of them the lowest
    box        8, its corners
    points     all of them; of a mesh the vertices of its convex hull

A ground has one surface, half-spaces as many as planes. A plane is met exactly. On a formula the foot of a point is
found by Newton's method; of a height field the tangent plane above or below the point counts. Where the lowest point is
meant, "down" is against the normal there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, sqrt
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dot
from dalembert.contact.choices import direction
from dalembert.contact.pairs import PAIRS
from dalembert.contact.surfaces import Surfaces
from dalembert.errors import UnsupportedError
from dalembert.model import Contact, Ground, Shape

COS_120, SIN_120 = -0.5, 0.8660254037844386


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """Where two shapes touch, or are nearest.

    Args:
        gap: distance, m; negative where the shapes overlap.
        normal: unit vector from b to a, world axes.
        point_a: of the shape of a, m, world axes.
        point_b: of the shape of b, m, world axes.
    """

    gap: Scalar
    normal: Array
    point_a: Array
    point_b: Array


def contact_points(contact: Contact, pose_a: Transform, pose_b: Transform) -> list[ContactPoint]:
    """The points of a contact, always as many and in the same order.

    Args:
        contact: the pair of shapes.
        pose_a: of the body or frame ``contact.a``, in the world.
        pose_b: of the body or frame ``contact.b``, in the world.
    """
    shape, other = contact.shape_a, contact.shape_b
    at, on = pose_a @ shape.placement, pose_b @ other.placement
    if isinstance(other, Ground):
        return list(_on_ground(shape, at, Surfaces(other, on)))
    kinds = shape.kind, other.kind
    if kinds in PAIRS:
        return [ContactPoint(*entry) for entry in PAIRS[kinds](shape, at, other, on)]
    if kinds[::-1] in PAIRS:
        turned = PAIRS[kinds[::-1]](other, on, shape, at)
        return [ContactPoint(gap, -normal, mine, theirs) for gap, normal, theirs, mine in turned]
    raise no_pair(contact.name, shape.kind, other.kind)


def is_supported(shape: Shape, other: Shape | Ground) -> bool:
    """True if the points of these two kinds of shapes are known."""
    kinds = shape.kind, getattr(other, "kind", "")
    return isinstance(other, Ground) or kinds in PAIRS or kinds[::-1] in PAIRS


def no_pair(name: str, first: str, second: str) -> UnsupportedError:
    """That two kinds of shapes have no points, and what would serve."""
    others = [kind for kind in (first, second) if kind not in ("sphere", "capsule", "box")]
    remedy = {
        "mesh": "capsules or boxes along it",
        "points": "a sphere at each of its points",
        "cylinder": "a capsule of the same radius",
        "ellipsoid": "a sphere or a capsule inside it",
    }
    serve = " and ".join(f"{remedy.get(kind, 'a capsule')} for the {kind}" for kind in dict.fromkeys(others))
    return UnsupportedError(
        f"contact {name!r}: between two bodies only spheres, capsules and boxes touch, and this is a {first} with a "
        f"{second}; give {serve}"
    )


# ---------------------------------------------------------------------------------------------------- shapes on ground


def _on_ground(shape: Shape, at: Transform, surfaces: Surfaces) -> Iterator[ContactPoint]:
    for k in range(surfaces.count):
        for centre, radius in probes(shape, at, partial(surfaces.normal, k), surfaces.curved):
            foot, normal = surfaces.foot(k, centre)
            gap = dot(normal, centre - foot) - radius
            lowest = centre - radius * normal
            yield ContactPoint(gap, normal, lowest, lowest - gap * normal)


def probes(
    shape: Shape, at: Transform, normal: Callable[[Array], Array], curved: bool
) -> Iterator[tuple[Array, Scalar]]:
    """Centres and radii of the small spheres by which a shape touches a surface; points have none, 0.

    Args:
        at: its pose in the world.
        normal: of the surface near a point of the world.
        curved: whether the surface is no plane.
    """
    centre = at.translation
    if shape.kind == "sphere":
        yield centre, shape.size[0]
    elif shape.kind == "capsule":
        radius, length = shape.size
        arm = at.rotation[:, 2] * (length / 2)
        for middle in (centre - arm, centre + arm, *([centre] if curved else [])):
            yield middle, radius
    elif shape.kind == "ellipsoid":
        point = _lowest(shape, at, normal(centre))
        yield (_lowest(shape, at, normal(point)) if curved else point), 0
    elif shape.kind == "cylinder":
        radius, length = shape.size
        axis, aside = at.rotation[:, 2], at.rotation[:, 0]
        for end in (-length / 2, length / 2):
            disc = centre + axis * end
            n = normal(disc)
            down, _ = direction(axis * dot(n, axis) - n, aside)
            across = cross(axis, down)
            for cosine, sine in ((1, 0), (COS_120, SIN_120), (COS_120, -SIN_120)):
                yield disc + radius * (cosine * down + sine * across), 0
    elif shape.kind == "box":
        x, y, z = (at.rotation[:, k] * (shape.size[k] / 2) for k in range(3))
        for signs in ((a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)):
            yield centre + signs[0] * x + signs[1] * y + signs[2] * z, 0
    else:
        for vertex in shape.vertices:
            yield at.apply(arrays.asarray(vertex)), 0


def _lowest(shape: Shape, at: Transform, normal: Array) -> Array:
    """The point of an ellipsoid with the outward normal -n: c - R D^2 R^T n / sqrt(n . R D^2 R^T n)."""
    inside = arrays.product(at.rotation.T, normal)
    scaled = arrays.asarray([s * s * n for s, n in zip(shape.size, inside)])
    return at.translation - at.rotate(scaled) / sqrt(dot(inside, scaled))


def point_names(contact: Contact) -> tuple[str, ...]:
    """What the points of a contact are called: as the contact if there is one, else numbered, ``name[0]``."""
    count = len(contact_points(contact, Transform.identity(), Transform.identity()))
    return (contact.name,) if count == 1 else tuple(f"{contact.name}[{k}]" for k in range(count))

"""Whether a step is short enough to see what is in the way: how far bodies move in it, over how thin they are.

Rigid contacts look ahead along the normal that they have at the beginning of a step. Nothing passes through a plane,
however fast it is. But two bodies that approach each other by more than their thickness in one step meet the plane
between them, be they side by side or not; a soft contact, which acts where bodies overlap, may miss the other side
altogether; and on curved ground bumps shorter than a step are not there.
"""

from __future__ import annotations

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Scalar
from dalembert.contact.choices import above
from dalembert.contact.rows import ContactSet, RowsNow
from dalembert.model import Contact, Ground, Shape


def thickness(shape: Shape) -> Scalar | None:
    """The least extent of a shape, m; None for points, which have none.

    Args:
        shape: the shape.
    """
    if shape.kind in ("sphere", "capsule"):
        return 2 * shape.size[0]
    if shape.kind == "cylinder":
        return scalar.minimum(2 * shape.size[0], shape.size[1])
    if shape.kind in ("box", "ellipsoid"):
        a, b, c = shape.size
        least = scalar.minimum(scalar.minimum(a, b), c)
        return least if shape.kind == "box" else 2 * least
    return None


def thinnest(contact: Contact) -> Scalar | None:
    """How far its bodies may move in a step, m; None if any step will do: on planes.

    Args:
        contact: the pair.
    """
    other = contact.shape_b
    if isinstance(other, Ground):
        if other.kind == "height-field":
            return max(other.spacing)
        return thickness(contact.shape_a) if other.kind == "formula" else None
    both = [x for x in (thickness(contact.shape_a), thickness(other)) if x is not None]
    return sum(both) / len(both) if both else None


def longest_stride(layout: ContactSet, rows: RowsNow, u: list[Scalar], h: Scalar) -> tuple[Scalar, Scalar]:
    """The longest way of a point that comes within reach in a step, over :func:`thinnest`, and its speed, m/s.

    Args:
        layout: what the rows are.
        rows: at this state.
        u: velocities along the rows.
        h: length of the step, s.
    """
    longest: Scalar = 0
    fastest: Scalar = 0
    for point, now in zip(layout.points, rows.points):
        size = thinnest(now.contact)
        if size is None:
            continue
        speed = scalar.maximum(-u[point.normal], 0)
        if isinstance(now.contact.shape_b, Ground):  # what it runs over counts, too
            along = next((disk for disk, kind in point.disks if kind == "friction"), ())
            square = sum(u[k] * u[k] for k in (point.normal, *along))
            moves = above(square, 0)
            speed = scalar.select(moves, scalar.sqrt(scalar.select(moves, square, 1)), 0)
        stride = scalar.select(above(h * speed, now.gap), h * speed / size, 0)
        longer = above(stride, longest)
        longest, fastest = scalar.select(longer, stride, longest), scalar.select(longer, speed, fastest)
    return longest, fastest

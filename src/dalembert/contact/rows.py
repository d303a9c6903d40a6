"""Contacts, joint limits and dry friction in joints as rows on velocities, u = J v, over any scalar.

    contact      normal: u >= b, impulse >= 0, their product 0                          m/s, N s
                 tangent 1, tangent 2: within a disk of radius friction * normal        m/s, N s
                 spin, if there is torsional friction: within torsional * normal        rad/s, N m s
                 roll 1, roll 2, if there is rolling friction: within rolling * normal  rad/s, N m s
    limit        between the ends of a joint's range, u >= b_lower and u <= b_upper     m/s or rad/s, N s or N m s
    friction     of a joint: within friction * h                                        m/s or rad/s, N s or N m s

The velocity of a contact is that of body a relative to b at the point of contact, in the axes (normal, tangent 1,
tangent 2); the impulse acts on a, and its opposite on b. Equalities - closed loops, rolling, given motions - are
rows, too, but those of :mod:`dalembert.constraints.rows`: they hold exactly and are eliminated before these are solved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.constraints.state import State
from dalembert.contact.carriers import ENTRIES, Carriers, carried
from dalembert.contact.geometry import contact_points, is_supported, no_pair, point_names
from dalembert.contact.pairs import above
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics.relative import Pair
from dalembert.model import WORLD, Contact, Mechanism
from dalembert.model.joint import plane_axes
from dalembert.model.names import as_names, velocity_names


@dataclass(frozen=True)
class ContactRow:
    """What one row is.

    Args:
        name: of the point, or of the joint.
        meaning: ``normal``, ``tangent 1``, ``tangent 2``, ``spin``, ``roll 1``, ``roll 2``, ``limit`` or ``friction``.
        unit: of its velocity, ``"length"`` or ``"angle"`` per second; its impulse is in N s or N m s.
        law: ``"unilateral"``, ``"cone"``, ``"range"`` or ``"dry"``.
    """

    name: str
    meaning: str
    unit: str
    law: str

    def __str__(self) -> str:
        return f"{self.name} ({self.meaning})"


@dataclass(frozen=True)
class PointRows:
    """Where the rows of one point of contact lie.

    Args:
        contact: name of the contact that it belongs to.
        normal: number of the row.
        disks: for tangents, spin and roll their rows, and the coefficient of the contact that bounds them.
    """

    name: str
    contact: str
    normal: int
    disks: tuple[tuple[tuple[int, ...], str], ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """All of them."""
        return (self.normal, *(row for disk, _ in self.disks for row in disk))


@dataclass(frozen=True, eq=False)
class PointState:
    """One point of contact at one state.

    Args:
        gap: distance, m; a negative one is a depth.
        contact: the numbers of its law.
        position: in the world, m; None unless it was asked for.
        axes: normal, tangent 1 and tangent 2 as rows, world axes; None unless they were asked for.
    """

    gap: Scalar
    contact: Contact
    position: Array | None = None
    axes: Array | None = None


@dataclass(frozen=True, eq=False)
class RowsNow:
    """All rows at one state.

    Args:
        J: one list of nv scalars per row; zeros are integers where the tree says so.
        points: gap and contact of every point.
        limits: for every limited joint its distances to the lower and the upper end, m or rad.
        dry: for every joint with dry friction the largest force, N or N m.
        carriers: fewer velocities of which the rows are combinations.
    """

    J: list[list[Scalar]]
    points: list[PointState]
    limits: list[tuple[Scalar, Scalar]]
    dry: list[Scalar]
    carriers: Carriers


class ContactSet:
    """The contacts of a mechanism, with limits and dry friction of its joints, ready for evaluation over any scalar.

    Args:
        contacts: names of the contacts that act, or ``"all"``.
        limits: names of the joints whose ranges end in stops, ``"all"``, or none.
        friction: whether the joints have their dry friction.
        varied: addresses of numbers that stay inputs, such as ``"foot.torsional"``: they have rows even if they are
            zero now.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        contacts: Sequence[str] | str = "all",
        limits: Sequence[str] | str = (),
        friction: bool = False,
        varied: Sequence[str] = (),
    ):
        self.mechanism, self._varied = mechanism, frozenset(varied)
        self.names = chosen_contacts(mechanism, contacts)
        self.limited = limited_joints(mechanism, limits)
        dry = joint_forces(mechanism, ("friction",)).friction if friction else None
        rough = {
            k
            for joint in mechanism.joints
            if f"{joint.name}.friction" in self._varied
            for k in range(mechanism.nv)[mechanism.v_slice(joint.name)]
        }
        rough |= {k for k, x in enumerate(() if dry is None else dry) if not scalar.is_zero(x)}
        self.dry = tuple(sorted(rough)) if friction else ()
        self.rows: tuple[ContactRow, ...] = ()
        self.points: tuple[PointRows, ...] = ()
        for item in self._items(mechanism):
            self._add_contact(item)
        names = velocity_names(mechanism)
        self.runs = self._runs()
        self.limit_rows = tuple(
            self._add(ContactRow(joint, "limit", _unit(mechanism, mechanism.v_slice(joint).start), "range"))
            for joint in self.limited
        )
        self.dry_rows = tuple(self._add(ContactRow(names[k], "friction", _unit(mechanism, k), "dry")) for k in self.dry)

    def _items(self, mechanism: Mechanism) -> list[Contact]:
        return [item for item in mechanism.contacts if item.name in self.names]

    def _runs(self) -> tuple[tuple[int, ...], ...]:
        """Points between the same two bodies, one after the other, that have more rows than a twist has entries."""
        bodies = {item.name: (item.a, item.b) for item in self._items(self.mechanism)}
        runs = (tuple(run) for _, run in groupby(range(len(self.points)), lambda k: bodies[self.points[k].contact]))
        return tuple(run for run in runs if sum(len(self.points[k].rows) for k in run) > ENTRIES)

    def _add(self, row: ContactRow) -> int:
        self.rows += (row,)
        return len(self.rows) - 1

    def _add_contact(self, item: Contact) -> None:
        if not is_supported(item.shape_a, item.shape_b):
            raise no_pair(item.name, item.shape_a.kind, getattr(item.shape_b, "kind", ""))
        for name in point_names(item):
            normal = self._add(ContactRow(name, "normal", "length", "unilateral"))
            disks: list[tuple[tuple[int, ...], str]] = []
            for coefficient, unit, meanings in (
                ("friction", "length", ("tangent 1", "tangent 2")),
                ("torsional", "angle", ("spin",)),
                ("rolling", "angle", ("roll 1", "roll 2")),
            ):
                if f"{item.name}.{coefficient}" in self._varied or not scalar.is_zero(getattr(item, coefficient)):
                    rows = tuple(self._add(ContactRow(name, meaning, unit, "cone")) for meaning in meanings)
                    disks.append((rows, coefficient))
            self.points += (PointRows(name, item.name, normal, tuple(disks)),)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def at(self, state: State, placed: bool = False, halfway: bool = False) -> RowsNow:
        """All rows at a state.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
            placed: also give positions and axes of the points in the world.
            halfway: points on the world, too, lie halfway between both surfaces, and not on the body.
        """
        nv = state.mechanism.nv
        J: list[list[Scalar]] = [[0] * nv for _ in self.rows]
        points: list[PointState] = []
        twists: list[list[list[Scalar]]] = []
        shares: dict[int, list[Scalar]] = {}
        for item in self._items(state.mechanism):
            own = self.points[len(points) :]
            found, twist = self._contact_at(item, state, J, shares, own, placed, halfway)
            points += found
            twists += [twist] * len(found)
        limits = []
        for row, joint in zip(self.limit_rows, self.limited):
            x, k, gain = state.coordinate(joint)
            J[row][k] = gain
            ends = state.mechanism.joint(joint).limits
            limits.append((x - ends.lower, ends.upper - x))
        dry = []
        if self.dry:
            largest = joint_forces(state.mechanism, ("friction",)).friction
            for row, k in zip(self.dry_rows, self.dry):
                J[row][k] = 1
                dry.append(0 if largest is None else largest[k])
        together = [
            (twists[run[0]], {row: shares[row] for k in run for row in self.points[k].rows}) for run in self.runs
        ]
        return RowsNow(J, points, limits, dry, carried(J, together))

    def _contact_at(
        self, item: Contact, state: State, J: list[list[Scalar]], shares: dict[int, list[Scalar]],
        places: Sequence[PointRows], placed: bool, halfway: bool,
    ) -> tuple[list[PointState], list[list[Scalar]]]:  # fmt: skip
        """The points of a contact, and the twist of its bodies at the origin of the first; fills J and shares."""
        a, b = state.place(item.a), state.place(item.b)
        pair = Pair(state, b, a)  # seen from the last link that carries both, which is the world for a ground
        at_b, at_a = (Transform(chain.rotation, chain.position) for chain in (pair.a, pair.b))
        common = _common(state, a, b) if placed else None
        found = []
        for point, rows in zip(contact_points(item, at_a, at_b), places):
            axes = contact_axes(point.normal, fixed=item.b == WORLD)
            on_body = item.b == WORLD and not halfway
            place = point.point_a if on_body else (point.point_a + point.point_b) / 2
            arm = place - at_a.translation
            for row, turns, axis in zip(rows.rows, self._turns(rows), _axes_of(rows, axes)):
                shares[row] = [0, 0, 0, *axis] if turns else [*axis, *cross(arm, axis)]
            for k, turn, move in _relative(pair, place):
                slide = arrays.product(axes, arrays.asarray(move))
                J[rows.normal][k] = slide[0]
                for disk, coefficient in rows.disks:
                    if coefficient == "friction":
                        J[disk[0]][k], J[disk[1]][k] = slide[1], slide[2]
                    else:
                        spin, *roll = arrays.product(axes, arrays.asarray(turn))
                        for row, value in zip(disk, (spin,) if coefficient == "torsional" else roll):
                            J[row][k] = value
            if common is None:
                found.append(PointState(point.gap, item))
            else:
                world = arrays.stack([common.rotate(axis) for axis in axes])
                found.append(PointState(point.gap, item, common.apply(place), world))
        twist: list[list[Scalar]] = [[0] * state.mechanism.nv for _ in range(ENTRIES)]
        for k, turn, move in _relative(pair, at_a.translation):
            for j, x in enumerate((*move, *turn)):
                twist[j][k] = x
        return found, twist

    def _turns(self, rows: PointRows) -> list[bool]:
        """Of the rows of a point which are angles."""
        return [self.rows[row].unit == "angle" for row in rows.rows]


def _axes_of(rows: PointRows, axes: Array) -> list[Array]:
    """Of each row of a point the axis along which, or about which, it measures."""
    about = {"friction": [axes[1], axes[2]], "torsional": [axes[0]], "rolling": [axes[1], axes[2]]}
    return [axes[0], *(axis for _, coefficient in rows.disks for axis in about[coefficient])]


def _relative(pair: Pair, place: Array) -> Iterator[tuple[int, Array, Array]]:
    """By velocity how it turns and moves what is at a place, relative to what the other body has there."""
    moving, still = pair.b.columns(place), pair.a.columns(place)
    for k in {*moving, *still}:
        if k not in still:
            turn, move = moving[k]
        elif k not in moving:
            turn, move = -still[k][0], -still[k][1]
        else:
            turn, move = moving[k][0] - still[k][0], moving[k][1] - still[k][1]
        yield k, turn, move


def contact_axes(normal: Array, fixed: bool = False) -> Array:
    """Normal, tangent 1 and tangent 2 as rows, a right-handed frame that changes smoothly but where z passes zero.

    Args:
        normal: a unit vector.
        fixed: it stands still; if it consists of numbers, the tangents are those of a planar joint: x, y for z.
    """
    if fixed and all(scalar.is_number(x) and not isinstance(x, complex) for x in normal):
        normal = normal.astype(float)
        return arrays.stack([normal, *plane_axes(normal)])
    return _duff(normal)


def _duff(normal: Array) -> Array:
    """T. Duff and others, Building an orthonormal basis, revisited, J. Comput. Graph. Tech. 6, 2017."""
    x, y, z = normal
    sign = scalar.select(above(0, z), -1, 1)
    a = -1 / (sign + z)
    b = x * y * a
    first = arrays.asarray([1 + sign * x * x * a, sign * b, -sign * x])
    return arrays.stack([normal, first, cross(normal, first)])


def _common(state: State, a: Any, b: Any) -> Transform:
    """The frame of the last link that carries both places, in the world."""
    ancestors = state.tree.ancestors
    inner, outer = (ancestors[place[0]] if place[0] >= 0 else () for place in (a, b))
    shared = [i for i in inner if i in set(outer)]
    if not shared:
        return Transform.identity()
    pair = Pair(state, state.place(WORLD), (shared[0], Transform.identity()))
    return Transform(pair.rotation, pair.offset)


def _unit(mechanism: Mechanism, k: int) -> str:
    """Unit of a velocity."""
    for link in mechanism.tree.links:
        if link.v <= k < link.v + link.nv:
            return "angle" if link.rotates else "length"
    return "angle"


def chosen_contacts(mechanism: Mechanism, contacts: Sequence[str] | str) -> tuple[str, ...]:
    """Names of contacts, in the order of the mechanism; an error for one that there is not.

    Args:
        contacts: those that may close, or ``"all"``.
    """
    known = [item.name for item in mechanism.contacts]
    if isinstance(contacts, str) and contacts == "all":
        return tuple(known)
    names = as_names("contacts", contacts)
    for name in names:
        if name not in known:
            has = ", ".join(known) or "none"
            raise ArgumentError(f"{mechanism.name!r} has no contact {name!r}; it has {has}", argument="contacts")
    return tuple(name for name in known if name in names)


def limited_joints(mechanism: Mechanism, limits: Sequence[str] | str) -> tuple[str, ...]:
    """Names of joints of one degree with at least one finite end; an error for others.

    Args:
        limits: those whose ranges end in stops, or ``"all"``.
    """
    ranged = [
        joint.name
        for joint in mechanism.joints
        if joint.kind in ("revolute", "prismatic", "helical")
        and (joint.limits.lower > -float("inf") or joint.limits.upper < float("inf"))
    ]
    if isinstance(limits, str) and limits == "all":
        return tuple(name for name in ranged if mechanism.joint(name).mimic is None)
    names = as_names("limits", limits)
    for name in names:
        joint = mechanism.joint(name)
        if name not in ranged:
            raise ArgumentError(
                f"limits: joint {name!r} ({joint.kind}) has no range that could end; those with one are "
                f"{', '.join(ranged) or 'none'}",
                argument="limits",
            )
        if joint.mimic is not None:
            raise UnsupportedError(f"limits: joint {name!r} follows {joint.mimic.joint!r}; limit that one")
    return tuple(names)

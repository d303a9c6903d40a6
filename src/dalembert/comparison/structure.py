"""What explains different results: joints, axes, placements, masses, gravity, drives, frames - in the order of cause.

Both sides are looked at in the neutral position, in world axes. A joint that stands elsewhere carries everything behind
it along; of the bodies behind it only what does not depend on the place is compared.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.comparison.difference import TOPICS, Difference
from dalembert.comparison.peer import Drive, Peer, View
from dalembert.kinematics import frame_on_link, poses
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.joint import rotation_about


class Structure:
    """Two models in the neutral position.

    Args:
        there: the other model.
        include: terms of the joints that enter our forces.
        tolerance: allowed relative difference.
    """

    def __init__(self, mechanism: Mechanism, here: Peer, there: Peer, include: Collection[str], tolerance: float):
        self.mechanism, self.here, self.there = mechanism, here, there
        self.include, self.tolerance = tuple(include), tolerance
        q = np.asarray(mechanism.neutral, dtype=float)
        self.ours, self.theirs = here.views(q), there.views(q)
        self.joints = [joint for joint in mechanism.joints if joint.name in self.ours and joint.name in self.theirs]
        self.rotations = {name: np.asarray(at.rotation, dtype=float) for name, at in poses(mechanism, q).items()}
        points = [view.center for view in (*self.ours.values(), *self.theirs.values())]
        points += [c.point for name in self.ours for c in self._columns(self.ours, mechanism.joint(name))]
        self.length = max([1e-3, *(float(np.linalg.norm(point)) for point in points)])

    def differences(self) -> list[Difference]:
        """All differences, causes before effects."""
        found: list[Difference] = []
        displaced: set[str] = set()
        for joint in self.joints:
            if self._carrier(joint) in displaced:
                displaced.add(joint.name)
                found += self._inside(joint)
                continue
            geometry = list(self._geometry(joint)) or list(self._zero(joint))
            if geometry:
                displaced.add(joint.name)
            found += geometry
            found += self._inside(joint) if geometry else self._matter(joint)
        found += self._gravity()
        found += drive_differences(self.joints, self.here, self.there, self.include, self.tolerance)
        found += range_differences(self.joints, self.here, self.there)
        found += frame_differences(self.here, self.there, displaced, self.tolerance, self.length)
        found += spring_differences(self.here, self.there, self.tolerance)
        for where, what in self.there.extras():
            advice = "Springs and the like are force elements here; leave them out there, or simulate with both"
            found.append(Difference("other forces", where, f"{self.there.name} has {what} ({where})", advice))
        return sorted(found, key=lambda item: TOPICS.index(item.topic))

    # ---------------------------------------------------------------------------------------------------------- joints

    def _carrier(self, joint: Joint) -> str | None:
        """The next moving joint towards the ground."""
        by_child = {other.child: other for other in self.mechanism.joints}
        above = by_child.get(joint.parent)
        while above is not None and above.kind == "fixed":
            above = by_child.get(above.parent)
        return above.name if above else None

    def _columns(self, views: Mapping[str, View], joint: Joint) -> list[Column]:
        """What a joint adds to the motion of what carries it, which moves too where one of both follows the other."""
        own, carrier = self.mechanism.v_slice(joint.name), self._carrier(joint)
        below = views[carrier].jacobian[:, own] if carrier is not None and carrier in views else 0
        return columns(views[joint.name].jacobian[:, own] - below)

    def _geometry(self, joint: Joint) -> Iterator[Difference]:
        ours, theirs = self.ours[joint.name], self.theirs[joint.name]
        chains = [self._chain(view, joint) for view in (ours, theirs)]
        if chains[0] != chains[1]:
            here, there = (", ".join(chain) or "nothing" for chain in chains)
            text = f"joint {joint.name!r} hangs on {here} here, on {there} in {self.there.name}"
            yield Difference("topology", joint.name, text)
            return
        for a, b in zip(self._columns(self.ours, joint), self._columns(self.theirs, joint)):
            item = self._one_column(joint, a, b)
            if item is not None:
                yield item
                return

    def _one_column(self, joint: Joint, a: Column, b: Column) -> Difference | None:
        name, other = joint.name, self.there.name
        if joint.mimic is not None and (a.kind == b.kind or not b.rate):
            along, across = float(a.axis @ b.axis), float(np.linalg.norm(np.cross(a.axis, b.axis)))
            ours = float(joint.mimic.multiplier)
            theirs = ours * along * b.rate / a.rate
            if across <= math.sqrt(3) * self.tolerance and abs(ours - theirs) > self.tolerance * abs(ours):
                text = f"joint {name!r} moves {ours:g} times as far as {joint.mimic.joint!r} here and {theirs:g} times"
                return Difference("mimic", name, f"{text} in {other}, seen along the axis here")
        if a.kind != b.kind:
            text = f"joint {name!r} {a.kind} its axis here, but {b.kind} it in {other}"
            return Difference("joint type", name, text)
        angle = math.atan2(float(np.linalg.norm(np.cross(a.axis, b.axis))), float(a.axis @ b.axis))
        if angle > math.sqrt(3) * self.tolerance:
            how = "the opposite way" if math.pi - angle < 1e-6 else f"{math.degrees(angle):.3g} degrees away"
            text = (
                f"joint {name!r} {a.kind} {_vector(a.axis)} here and {_vector(b.axis)} in {other}, {how} (world axes)"
            )
            advice = "Positions, velocities and forces of this joint have the other sign there" if how[0] == "t" else ""
            return Difference("joint axis", name, text, advice)
        if abs(a.pitch - b.pitch) > self.tolerance * self.length:
            text = f"the screw {name!r} advances {a.pitch:g} m/rad here and {b.pitch:g} m/rad in {other}"
            return Difference("joint type", name, text, "Some files give the pitch per turn")
        gap = float(np.linalg.norm(a.point - b.point))
        if gap > self.tolerance * self.length:
            text = (
                f"the axis of joint {name!r} passes {gap:.3g} m away from where it is here: through {_vector(a.point)} "
                f"here, through {_vector(b.point)} in {other} (in the world at the neutral position)"
            )
            return Difference("placement", name, text)
        return None

    def _chain(self, view: View, joint: Joint) -> list[str]:
        """Other joints that move the body."""
        own = self.mechanism.v_slice(joint.name)
        moving = np.linalg.norm(view.jacobian, axis=0) > 1e-9
        names = []
        for other in self.mechanism.joints:
            at = self.mechanism.v_slice(other.name)
            if other.nv and at != own and moving[at].any():
                names.append(repr(other.name))
        return names

    def _zero(self, joint: Joint) -> Iterator[Difference]:
        """Whether the body behind a joint stands turned, or pushed, along the joint's own freedom."""
        if joint.mimic is None and self.mechanism.joint(joint.name).nv != 1:
            return
        children = [j for j in self.joints if self._carrier(j) == joint.name]
        (axis,) = self._columns(self.ours, joint)
        pairs = [(self.ours[joint.name].center, self.theirs[joint.name].center, True)]
        if not (self.ours[joint.name].mass and self.theirs[joint.name].mass):
            pairs = []
        for child in children:
            both = zip(self._columns(self.ours, child), self._columns(self.theirs, child))
            for a, b in both:
                if a.kind != b.kind:
                    return
                pairs.append((a.axis, b.axis, False))
                if a.turns and (axis.turns or abs(axis.axis @ a.axis) < 1 - 1e-9):  # else it slides along itself
                    pairs.append((carried_point(axis, a), carried_point(axis, b), True))
        back = zero_shift(axis, pairs, self.tolerance, self.length)
        if back and not children and self._stands(joint.child):
            return  # nothing but the centre of mass is elsewhere
        if back:
            unit = "rad" if axis.turns else "m"
            if joint.mimic is not None:
                ours = float(joint.mimic.offset)
                theirs = ours - math.copysign(back, back * float(joint.mimic.multiplier))  # the column has its sign
                text = (
                    f"where {joint.mimic.joint!r} is at zero, joint {joint.name!r} is at {ours:.6g} {unit} here and at "
                )
                yield Difference("mimic", joint.name, f"{text}{theirs:.6g} {unit} in {self.there.name}")
                return
            text = (
                f"joint {joint.name!r} has its zero elsewhere: position 0 in {self.there.name} is position {-back:.6g} "
                f"{unit} here"
            )
            yield Difference(
                "zero position", joint.name, text, "Positions of this joint here are those there plus this"
            )

    def _stands(self, body: str) -> bool:
        """Whether both sides know a body by name and have its frame in the same place."""
        q = np.asarray(self.mechanism.neutral, dtype=float)
        ours, theirs = self.here.frames(q), self.there.frames(q)
        if body not in ours or body not in theirs:
            return False
        far, turned = gap(ours[body], theirs[body])
        return far <= self.tolerance * self.length and turned <= math.sqrt(3) * self.tolerance

    # ---------------------------------------------------------------------------------------------------------- bodies

    def _body(self, joint: Joint) -> str:
        return f"body {joint.child!r} (behind joint {joint.name!r}, with all that is welded to it)"

    def _mass(self, joint: Joint) -> Iterator[Difference]:
        a, b = self.ours[joint.name].mass, self.theirs[joint.name].mass
        if abs(a - b) > self.tolerance * max(a, b):
            text = f"{self._body(joint)} has {a:.6g} kg here and {b:.6g} kg in {self.there.name}"
            massless = any(not self.mechanism.body(name).inertia.mass for name in self._welded(joint))
            yield Difference("mass", joint.child, text, self.there.mass_hint if massless else "")

    def _welded(self, joint: Joint) -> list[str]:
        """The bodies that move as one behind a joint."""
        found = [joint.child]
        for name in found:
            found += [other.child for other in self.mechanism.joints if other.kind == "fixed" and other.parent == name]
        return found

    def _inside(self, joint: Joint) -> Iterator[Difference]:
        """What does not depend on where a body stands."""
        yield from self._mass(joint)
        moments = [np.linalg.eigvalsh(view[joint.name].tensor) for view in (self.ours, self.theirs)]
        size = self._size(self.ours[joint.name], self.theirs[joint.name])
        if np.abs(moments[0] - moments[1]).max() > self.tolerance * size:
            text = (
                f"the principal moments of {self._body(joint)} are {_vector(moments[0])} here and "
                f"{_vector(moments[1])} kg m^2 in {self.there.name}"
            )
            yield Difference("inertia tensor", joint.child, text)

    def _matter(self, joint: Joint) -> Iterator[Difference]:
        ours, theirs = self.ours[joint.name], self.theirs[joint.name]
        yield from self._mass(joint)
        if ours.mass and theirs.mass and np.linalg.norm(ours.center - theirs.center) > self.tolerance * self.length:
            R = self.rotations[joint.child]
            text = (
                f"the centre of mass of {self._body(joint)} is at {_vector(ours.center)} here and at "
                f"{_vector(theirs.center)} in {self.there.name} (in the world at the neutral position): it is off by "
                f"{_vector(R.T @ (theirs.center - ours.center))} m in the axes of the body"
            )
            yield Difference("centre of mass", joint.child, text)
        if np.abs(ours.tensor - theirs.tensor).max() > self.tolerance * self._size(ours, theirs):
            text, advice = self._tensors(joint, ours, theirs)
            yield Difference("inertia tensor", joint.child, text, advice)

    def _size(self, ours: View, theirs: View) -> float:
        """What counts as one in a tensor; that of a point mass is only as small as rounding makes it."""
        entries = [float(np.abs(view.tensor).max()) for view in (ours, theirs)]
        return max(*entries, 1e-6 * max(ours.mass, theirs.mass) * self.length**2, 1e-300)

    def _tensors(self, joint: Joint, ours: View, theirs: View) -> tuple[str, str]:
        R = self.rotations[joint.child]
        a, b = R.T @ ours.tensor @ R, R.T @ theirs.tensor @ R
        i, j = np.unravel_index(int(np.abs(a - b).argmax()), a.shape)
        entry = "I" + "xyz"[min(i, j)] + "xyz"[max(i, j)]
        text = (
            f"the inertia tensor of {self._body(joint)} about its centre of mass differs most in {entry}: "
            f"{a[i, j]:.6g} here, {b[i, j]:.6g} kg m^2 in {self.there.name} (axes of the body here)"
        )
        least, middle, most = np.linalg.eigvalsh(a)
        if least < 0 or least + middle < most * (1 - 1e-9):
            hint = f"No real body has the tensor given here: principal moments {_vector((least, middle, most))}"
            return text, f"{hint}, one above the sum of the others. Some readers replace such a tensor"
        products, tiny = a - np.diag(np.diag(a)), 1e-9 * np.abs(a).max()
        if np.abs(products).max() > tiny and np.allclose(products, np.diag(np.diag(b)) - b, rtol=1e-6, atol=tiny):
            return (
                text,
                "The off-diagonal entries have opposite signs: products of inertia were taken for tensor entries",
            )
        r = ours.center - np.asarray(
            poses(self.mechanism, self.mechanism.neutral)[joint.child].translation, dtype=float
        )
        parallel = ours.mass * (r @ r * np.eye(3) - np.outer(r, r))
        if np.allclose(ours.tensor + parallel, theirs.tensor, rtol=1e-6):
            return (
                text,
                f"The tensor in {self.there.name} is the one about the origin of the body, not its centre of mass",
            )
        return text, ""

    # --------------------------------------------------------------------------------------------------------- gravity

    def _gravity(self) -> Iterator[Difference]:
        a, b = self.here.gravity, self.there.gravity
        if np.abs(a - b).max() > self.tolerance * max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-300):
            text = f"gravity is {_vector(a)} m/s^2 here and {_vector(b)} m/s^2 in {self.there.name}"
            theirs = [float(x) for x in b]
            yield Difference("gravity", "", text, "{setting} gives it theirs", "gravity", theirs)


def _vector(values: Any) -> str:
    return "(" + ", ".join(f"{0.0 if abs(x) < 1e-12 else x:.6g}" for x in np.asarray(values, dtype=float)) + ")"


# ----------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True, eq=False)
class Column:
    """One freedom of a joint: a rotation, translation or screw along a line in the world.

    Args:
        kind: ``turns about``, ``slides along`` or ``screws along``.
        axis: unit vector.
        point: of the line, nearest to the origin; the origin for a translation.
        pitch: advance per radian.
        rate: motion per unit of the coordinate; one, but for a joint that follows another.
    """

    kind: str
    axis: Array
    point: Array
    pitch: float = 0
    rate: float = 1

    @property
    def turns(self) -> bool:
        """False for a translation."""
        return self.kind != "slides along"


def columns(jacobian: Array) -> list[Column]:
    """The freedoms behind columns [angular velocity; velocity of the point at the origin].

    Args:
        jacobian: 6 x any.
    """
    found = []
    for column in np.asarray(jacobian, dtype=float).T:
        w, v = column[:3], column[3:]
        size = float(np.linalg.norm(w))
        if size < 1e-9:
            length = float(np.linalg.norm(v))
            found.append(Column("slides along", v / length if length else v, np.zeros(3), rate=length))
            continue
        pitch = float(w @ v) / size**2
        kind = "screws along" if abs(pitch) > 1e-9 else "turns about"
        found.append(Column(kind, w / size, np.cross(w, v) / size**2, pitch, size))
    return found


def turned(axis: Column, amount: float, vector: Array, is_point: bool) -> Array:
    """A point or direction moved along a freedom.

    Args:
        amount: angle or distance.
        vector: what is moved, in the world.
        is_point: true for a point, false for a direction.
    """
    if not axis.turns:
        return vector + amount * axis.axis if is_point else vector
    R = np.asarray(rotation_about(axis.axis, amount), dtype=float)
    if not is_point:
        return R @ vector
    return axis.point + R @ (vector - axis.point) + axis.pitch * amount * axis.axis


def carried_point(freedom: Column, line: Column) -> Array:
    """The point of an axis that stays the same one while a joint below carries the axis along."""
    if freedom.turns:  # the foot of a point that does not move
        return line.point + line.axis * (line.axis @ (freedom.point - line.point))
    along = freedom.axis
    across = line.axis - along * (along @ line.axis)  # where the line meets a plane that slides in itself
    size = float(across @ across)
    return line.point - line.axis * (across @ line.point) / size if size > 1e-12 else line.point


def zero_shift(
    axis: Column, pairs: Sequence[tuple[Array, Array, bool]], tolerance: float, length: float
) -> float | None:
    """How far the other side must be moved along a freedom for all to coincide; None if it does, or never does.

    Args:
        pairs: points (true) and directions (false) here and there.
        tolerance: what coincides, relative.
        length: the size of the mechanism, m.
    """

    def off(amount: float) -> float:
        moved = ((a, turned(axis, amount, b, point), point) for a, b, point in pairs)
        return max((float(np.linalg.norm(a - b)) / (length if point else 1) for a, b, point in moved), default=0.0)

    if off(0.0) <= tolerance:
        return None
    if axis.turns:
        sine = cosine = 0.0
        for a, b, point in pairs:
            size = length if point else 1
            a, b = ((x - axis.point * point) / size for x in (a, b))
            a, b = (x - axis.axis * (axis.axis @ x) for x in (a, b))
            sine, cosine = sine + float(axis.axis @ np.cross(b, a)), cosine + float(a @ b)
        amount = math.atan2(sine, cosine)
    else:
        gaps = [float(axis.axis @ (a - b)) for a, b, point in pairs if point]
        amount = gaps[0] if gaps else 0.0
    return amount if off(amount) <= 10 * tolerance and abs(amount) > tolerance else None


# --------------------------------------------------------------------------------------------------------------- drives


UNITS = {"armature": ("kg m^2", "kg"), "damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N")}
"""Of what acts in a joint that turns, and in one that slides."""


def drive_differences(
    joints: Sequence[Joint], here: Peer, there: Peer, include: Collection[str], tolerance: float
) -> Iterator[Difference]:
    """Terms that enter the forces on one side only, or with another size; also data that both sides keep."""
    for name in UNITS:
        for joint in joints:
            a, b = _drive(here.drives(), joint, name), _drive(there.drives(), joint, name)
            ours = a if name in include else 0.0
            theirs = b if name in there.includes else 0.0
            alike = abs(a - b) <= tolerance * max(a, b)
            unit = UNITS[name][joint.kind == "prismatic"]
            text = f"the {name} of joint {joint.name!r} is {a:g} here and {b:g} {unit} in {there.name}"
            if abs(ours - theirs) <= tolerance * max(ours, theirs):
                if name in there.keeps and not alike:
                    asked = there.is_mechanism or name in there.includes
                    when = "forces only if asked for" if asked else "no force that is compared"
                    yield Difference(name, joint.name, f"{text}; it enters {when}")
            elif not ours and name not in include and alike:
                text = f"{there.name} adds the {name} of joint {joint.name!r}, {b:g} {unit}; here it enters only if "
                yield Difference(name, joint.name, f"{text}asked for", "Ask with {setting}", "include", [name])
            elif not theirs and name not in there.includes:
                text = f"the {name} of joint {joint.name!r}, {a:g} {unit}, enters here, but never in {there.name}"
                yield Difference(name, joint.name, text, "Leave out {setting}", "include", [name])
            elif name not in include:
                yield Difference(name, joint.name, f"{text}, where it always enters; here it enters only if asked for")
            else:
                yield Difference(name, joint.name, text)


def spring_differences(here: Peer, there: Peer, tolerance: float) -> Iterator[Difference]:
    """Springs on joints that one side has, or with other numbers, where both sides count them."""
    ours, theirs = here.springs() or {}, there.springs() or {}
    for joint in dict.fromkeys([*ours, *theirs]):
        if joint not in ours or joint not in theirs:
            side, spring = ("here", ours[joint]) if joint in ours else (f"in {there.name}", theirs[joint])
            text = f"joint {joint!r} has a spring of stiffness {spring.stiffness:g} {side} only"
            yield Difference("other forces", joint, text)
        elif not np.allclose(ours[joint], theirs[joint], rtol=tolerance, atol=tolerance):
            a, b = (
                "stiffness {:g}, rest {:g}, damping {:g}".format(*spring) for spring in (ours[joint], theirs[joint])
            )
            text = f"the spring of joint {joint!r} has {a} here and {b} in {there.name}"
            yield Difference("other forces", joint, text)


def range_differences(joints: Sequence[Joint], here: Peer, there: Peer) -> Iterator[Difference]:
    """Ranges of joints, where the other side is a description too; no force depends on them."""
    ours, theirs = here.ranges(), there.ranges()
    for joint in joints:
        a, b = ours.get(joint.name), theirs.get(joint.name)
        if a is not None and b is not None and not np.allclose(a, b, rtol=1e-9, atol=1e-12):
            text = f"joint {joint.name!r} ranges from {a[0]:g} to {a[1]:g} here and from {b[0]:g} to {b[1]:g} in "
            yield Difference("limits", joint.name, f"{text}{there.name}; no force depends on it")


def _drive(drives: Mapping[str, Drive], joint: Joint, name: str) -> float:
    return float(getattr(drives.get(joint.name, Drive()), name))


# --------------------------------------------------------------------------------------------------------------- frames


def frame_differences(
    here: Peer, there: Peer, displaced: Collection[str], tolerance: float, length: float
) -> Iterator[Difference]:
    """Every frame that stands elsewhere, or moves with another body.

    A displaced joint carries its frames along; they are compared in the frame of the body behind it.

    Args:
        there: the other model.
        displaced: joints here behind which nothing stands in its place.
        tolerance: allowed relative difference.
        length: what counts as one, m.
    """
    mechanism = here.mechanism
    positions = [np.asarray(mechanism.neutral, dtype=float), mechanism.random_state(np.random.default_rng(0))[0]]
    ground = {WORLD: Transform.identity()}  # which is called otherwise in some libraries
    ours, theirs = ([{**side.frames(q), **ground} for q in positions] for side in (here, there))
    for name in ours[0]:
        if name == WORLD or name not in theirs[0]:
            continue
        joint = _carrier(mechanism, name)
        base = mechanism.joint(joint).child if joint in displaced else WORLD
        if base == name or any(base not in side[0] for side in (ours, theirs)):
            continue
        gaps = [gap(a[base].inverse() @ a[name], b[base].inverse() @ b[name]) for a, b in zip(ours, theirs)]
        far, turned = gaps[0][0] > tolerance * length, gaps[0][1] > math.sqrt(3) * tolerance
        if far or turned:
            how = [f"stands {gaps[0][0]:.3g} m away"] if far else []
            how += [f"is turned by {math.degrees(gaps[0][1]):.3g} degrees"] if turned else []
            how_far = " and ".join(how)
        elif gaps[1][0] > tolerance * length or gaps[1][1] > math.sqrt(3) * tolerance:
            how_far = "stands in the same place at the neutral position, but moves with another body"
        else:
            continue
        what = "the frame of body" if any(body.name == name for body in mechanism.bodies) else "the frame"
        carrier = f"what joint {joint!r} moves" if joint else "the ground"
        text = f"{what} {name!r}, fixed to {carrier}, {how_far} in {there.name}; no force depends on it"
        yield Difference("frames", name, text)


def frame_remarks(here: Peer, there: Peer) -> list[str]:
    """Which bodies and frames here have no counterpart of their name; readers often join bodies that are welded."""
    q = np.asarray(here.mechanism.neutral, dtype=float)
    known = there.frames(q)
    missing = [repr(name) for name in here.frames(q) if name != WORLD and name not in known]
    if not missing:
        return []
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return [f"no body or frame there is called {', '.join(missing[:5])}{more}; where these stand was not compared"]


def _carrier(mechanism: Mechanism, frame: str) -> str:
    """The joint that moves a frame; empty for the ground."""
    link, _ = frame_on_link(mechanism, frame)
    return mechanism.tree.links[link].joint if link >= 0 else ""


def gap(a: Transform, b: Transform) -> tuple[float, float]:
    """Distance, m, and angle, rad, between two poses."""
    R: Array = np.asarray(a.rotation, dtype=float).T @ np.asarray(b.rotation, dtype=float)
    twice_sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = math.atan2(float(twice_sine), float(np.trace(R)) - 1)
    return float(np.linalg.norm(np.asarray(a.translation - b.translation, dtype=float))), angle

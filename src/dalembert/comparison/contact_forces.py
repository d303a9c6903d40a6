"""The question: which forces does another library find at the same contacts, and what makes them different?

Both sides are asked at one state, at rest by default, with everything that may touch just touching. Forces are summed
over the points of every pair of bodies, because libraries put different points under the same box. Where the law is
another one, the other library is asked again with one cause after the other taken away - pyramid, margin, softness,
creep - so that every newton of the difference has a name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.formulations.contact_laws import NEAR, settled, touching
from dalembert.formulations.derive import positions_of
from dalembert.model import WORLD, Mechanism
from dalembert.model.names import named_velocities
from dalembert.text.layout import aligned

STEP = 2e-3
"""Of the step in which both sides find forces, where the other one names none, s."""

TOUCH = 1e-12
"""Depth at which forces are compared, m: where depths are taken away it makes no force worth mentioning."""

HARD = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""The hardest solimp that MuJoCo allows."""

EXACT = 1e-6
"""Relative difference of forces that are those of the same law."""

SMALL = 0.01
"""Of the largest force: what may be left when all causes are taken away."""

Pair = tuple[str, str]
"""The bodies of a contact, as the links that carry them are called: by their joints, or the world."""

Forces = Mapping[Pair, Array]
"""Sum of the forces on the first body of every pair, world axes, N."""


@dataclass(frozen=True)
class AnswerStage:
    """What the other library answers after one more cause of a difference is taken away.

    Args:
        cause: one word; empty for its answer as it is.
        text: what the cause is, in one clause.
        forces: what it finds then.
        points: how many points it presses at.
    """

    cause: str
    text: str
    forces: Forces
    points: int


@dataclass(frozen=True)
class ContactAnswer:
    """Everything that a library says about the contacts of a state.

    Args:
        stages: as it is, then with one cause after the other taken away, towards the rigid law.
        same_law: its forces by a law that is known here by another name, and that name.
        hardened: for its last stage the name of such a law, and the mechanism with the numbers of that stage: what then
            separates it from the rigid law is the law itself.
        creep: speed at which sticking contacts slip there for ever, m/s.
        remarks: what took no part.
    """

    stages: tuple[AnswerStage, ...]
    same_law: tuple[str, Forces] | None = None
    hardened: tuple[str, Mechanism] | None = None
    creep: float | None = None
    remarks: tuple[str, ...] = ()


def hardened(mechanism: Mechanism, h: float) -> tuple[str, Mechanism]:
    """The convex law at its hardest: velocities are stopped within one step, softness is the least that MuJoCo allows.

    Args:
        mechanism: with contacts.
    """
    items = [item.replace(solref=(2 * h, 1.0), solimp=HARD) for item in mechanism.contacts]
    return "convex", mechanism.replace(contacts=items)


class Touches(Protocol):
    """A peer that finds contact forces."""

    def contact_answer(self, problem: TouchingState) -> ContactAnswer:
        """Its forces at the contacts of a problem."""


class TouchingState:
    """Contacts of a mechanism at one state, as all sides are asked for them.

    Args:
        mechanism: numeric, with contacts.
        include: terms of the joints that enter here.
    """

    def __init__(self, mechanism: Mechanism, q: Array, v: Array, h: float, include: Collection[str] = ()):
        self.mechanism, self.q, self.v, self.h = mechanism, q, v, h
        self.include = tuple(name for name in include if name != "friction")
        self.dynamics = Dynamics(mechanism, include=self.include)

    @property
    def active(self) -> list[int]:
        """Numbers of the points that touch."""
        return [k for k, gap in enumerate(self.dynamics.contact_points(self.q)[0]) if gap <= NEAR]

    def link(self, name: str) -> str:
        """The joint that moves a body or frame; the world if nothing does."""
        body = self.mechanism.frame(name).body
        while body != WORLD:
            joint = next(j for j in self.mechanism.joints if j.child == body)
            if joint.nv:
                return joint.name
            body = joint.parent
        return WORLD

    def pair(self, k: int) -> Pair:
        """The links that touch at a point."""
        item = self.mechanism.contact(self.dynamics.contacts.points[k].contact)
        return self.link(item.a), self.link(item.b)

    def forces(self, law: str, sweeps: int = 500, other: Mechanism | None = None) -> tuple[dict[Pair, Array], float]:
        """Forces by one of our laws, and the residual of the solver, m/s.

        Args:
            law: ``rigid`` or ``convex``.
            other: the mechanism with other numbers of its contacts.
        """
        dyn = self.dynamics
        if law != "rigid" or other is not None:
            dyn = Dynamics(other or self.mechanism, law=law, include=self.include)
        still = np.zeros(self.mechanism.nv)
        _, p, residual, _ = settled(dyn, self.q, self.v, still, self.h, sweeps)
        axes = dyn.contact_points(self.q)[2]
        found: dict[Pair, Array] = {}
        for k, point in enumerate(dyn.contacts.points):
            disk = next((rows for rows, kind in point.disks if kind == "friction"), ())
            rows = [point.normal, *disk]
            force = axes[k, : len(rows)].T @ p[rows] / self.h
            found[self.pair(k)] = found.get(self.pair(k), np.zeros(3)) + force
        return found, residual


@dataclass(frozen=True)
class ContactComparison:
    """Forces of contact on both sides; printed it explains their difference.

    Args:
        library: what was compared with.
        forces: for every pair of bodies that touches the force on the first, here and there, N, world axes.
        causes: cause, what it is, and how much of the force changes with it at most, N.
        left: what no cause explains, N.
        same_law: a law of ours that is the other library's, and the relative difference of its forces.
        creep: speed at which sticking contacts slip there, m/s.
        points: how many points press here, and there.
        remarks: what took no part.
    """

    library: str
    h: float
    forces: Mapping[Pair, tuple[Array, Array]]
    causes: tuple[tuple[str, str, float], ...]
    left: float
    same_law: tuple[str, float] | None
    creep: float | None
    points: tuple[int, int]
    remarks: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """The largest difference of a force, N."""
        return max((float(np.linalg.norm(a - b)) for a, b in self.forces.values()), default=0.0)

    @property
    def largest(self) -> float:
        """The largest force on either side, N."""
        return max((float(np.linalg.norm(x)) for both in self.forces.values() for x in both), default=0.0)

    @property
    def explained(self) -> bool:
        """True if the forces agree, or if what makes them different has a name: what is left is small, or the other
        library's own law is known here and gives the same."""
        if self.same_law is not None and self.same_law[1] <= EXACT:
            return True
        return self.left <= SMALL * self.largest

    def lines(self) -> list[str]:
        """As text."""
        found = [
            f"Contact forces at a state that touches, in a step of {self.h:g} s; points that press: "
            f"{self.points[0]} here, {self.points[1]} there:"
        ]
        head = ("on", "by", "here fx, fy, fz (N)", f"{self.library} fx, fy, fz (N)")
        rows = [head, *((a, b, _written(x), _written(y)) for (a, b), (x, y) in self.forces.items())]
        found += aligned(rows, left=4, indent="  ")
        found += ["", f"The largest difference is {self.difference:.3g} N."]
        if self.causes:
            found[-1] += f" What {self.library} does otherwise, and how much of a force goes with it:"
            found += aligned([(name, text, f"{x:.3g} N") for name, text, x in self.causes], left=2, indent="  ")
            found += [f"Left without a name: {self.left:.3g} N."]
        if self.same_law is not None:
            law, error = self.same_law
            found += [f"By law={law!r} here, which is the same law, forces differ by {error:.1e} of the largest."]
        if self.creep is not None:
            found += [f"What sticks creeps there, at up to {self.creep:.2g} m/s; here it does not move."]
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything in the types of JSON."""
        return {
            "library": self.library,
            "step": self.h,
            "forces": [
                {"on": a, "by": b, "here": x.tolist(), "there": y.tolist()} for (a, b), (x, y) in self.forces.items()
            ],
            "causes": [{"cause": name, "text": text, "newtons": x} for name, text, x in self.causes],
            "left": self.left,
            "same_law": None if self.same_law is None else {"law": self.same_law[0], "error": self.same_law[1]},
            "creep": self.creep,
            "explained": self.explained,
            "points": list(self.points),
            "remarks": list(self.remarks),
        }


def compared(
    mechanism: Mechanism, peer: Touches, library: str, h: float, q: Any = None, v: Any = None,
    include: Collection[str] = (),
) -> ContactComparison:  # fmt: skip
    """Contact forces on both sides.

    Args:
        mechanism: numeric, with contacts.
        peer: who is asked.
        q: positions; by default the neutral ones within the ranges of the joints.
        v: velocities, at rest by default.
        include: terms of the joints that enter here.
    """
    start = within_ranges(mechanism) if q is None else positions_of(mechanism, q, "q")
    speed = np.zeros(mechanism.nv) if v is None else _velocities(mechanism, v)
    at = touching(Dynamics(mechanism), start, -TOUCH, TOUCH / 2)  # MuJoCo's contacts act from the first overlap on
    problem = TouchingState(mechanism, at, speed, h, include)
    if not problem.active:
        raise ArgumentError(
            "compare, q: nothing touches near these positions; give others, at which something does", argument="q"
        )
    ours, residual = problem.forces("rigid")
    answer = peer.contact_answer(problem)
    first = answer.stages[0]
    pairs = [key for key in ours if np.linalg.norm(ours[key]) > 0 or key in first.forces]
    pairs += [key for key in first.forces if key not in ours]
    none = np.zeros(3)
    forces = {key: (ours.get(key, none), np.asarray(first.forces.get(key, none))) for key in pairs}
    causes: tuple[tuple[str, str, float], ...] = tuple(
        (after.cause, after.text, _apart(before.forces, after.forces))
        for before, after in zip(answer.stages, answer.stages[1:])
    )
    last = answer.stages[-1].forces
    left = _apart(ours, last)
    if answer.hardened is not None:
        law, other = answer.hardened
        mine, _ = problem.forces(law, other=other)
        left = _apart(mine, last)
        text = "what slides is pushed apart by friction times slip, and what sticks gives way a little"
        causes += ((law, text, _apart(mine, ours)),)
    least = 1e-9 * max([float(np.linalg.norm(x)) for both in forces.values() for x in both], default=0.0)
    causes = tuple(cause for cause in causes if cause[2] > least)
    same = None
    if answer.same_law is not None:
        law, theirs = answer.same_law
        mine, _ = problem.forces(law)
        size = max([float(np.linalg.norm(x)) for x in (*mine.values(), *theirs.values())], default=0.0)
        same = law, _apart(mine, theirs) / size if size else 0.0
    remarks = list(answer.remarks)
    if residual > 1e-6:
        remarks.append(f"contact forces here violate the law by {residual:.1e} m/s")
    pressing = len([k for k in problem.active if np.linalg.norm(ours[problem.pair(k)]) > 0])
    return ContactComparison(
        library, h, forces, causes, left, same, answer.creep, (pressing, first.points), tuple(remarks),
    )  # fmt: skip


def _velocities(mechanism: Mechanism, given: Any) -> Array:
    v = named_velocities(mechanism, given, "v", batch=False)
    if v.shape != (mechanism.nv,):
        raise ArgumentError(
            f"{{argument}} has shape {v.shape}, but {mechanism.name!r} needs ({mechanism.nv},)", argument="v"
        )
    return v


def within_ranges(mechanism: Mechanism) -> Array:
    """The neutral position with every joint moved to the nearest end of its range where it lies outside."""
    q = np.array(mechanism.neutral, dtype=float)
    for joint in mechanism.joints:
        if joint.nq == 1 and joint.kind != "continuous" and joint.limits.lower <= joint.limits.upper:
            k = mechanism.q_slice(joint.name).start
            q[k] = np.clip(q[k], joint.limits.lower, joint.limits.upper)
    return q


def _apart(one: Forces, two: Forces) -> float:
    none = np.zeros(3)
    return max((float(np.linalg.norm(one.get(k, none) - two.get(k, none))) for k in {*one, *two}), default=0.0)


def _written(force: Array) -> str:
    return "  ".join(f"{x:.5g}" for x in np.where(np.abs(force) < 1e-9, 0.0, force))

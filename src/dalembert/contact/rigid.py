"""The law of rigid contact at the level of velocities: Signorini, Coulomb with the exact cone, Newton's restitution.

A step takes the velocities v over the free ones v* = v + h a to v+ = v* + M^-1 J^T p with impulses p (N s) such that,
with u = J v, u* = J v*, u+ = J v+,

    normal       0 <= u+ - b   and   0 <= p   and   p (u+ - b) = 0
    tangents     |p_t| <= mu p_n,   and p_t = -mu p_n u+_t / |u+_t| where u+_t is not zero      (spin and roll alike)
    limit        the same as normal at either end of the range
    dry          |p| <= f h,   and p = -f h sign(u+) where u+ is not zero

after J. J. Moreau (1988) and M. Jean (1999). Equalities G v+ = G v* hold exactly: they are eliminated from the Delassus
matrix A = J M^-1 J^T. What is left is solved by block Gauss-Seidel, a fixed number of sweeps from the impulses of the
last step. How well is said by the natural map, in m/s and in N s (:class:`RigidStep`).

**The bound b.** Apart, b = -gap/h: who would be through the surface at the end of the step lands on it instead, without
penetration. Where restitution e would bring a rebound, contact begins with the first position that is not apart; with
velocities read as those of half a step ago, as semi-implicit Euler's are, u- = (u + u*)/2 and

    b = -e u- + (u* - u)/2,

so that e = 1 keeps the energy of a bouncing ball for ever, and a rebound smaller than what the forces of one step
undo is none. A depth d is taken away by b = min(0.2 d/h, the velocity by which forces press in one step), and at least
by 10 d per second: never so fast that bodies part, so that nothing hops, and nothing creeps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import TreeFactors, factor
from dalembert.constraints.known_rank import dot, solve_of_rank
from dalembert.contact.pairs import above
from dalembert.contact.rows import ContactSet, RowsNow
from dalembert.contact.sweeps import after_sweeps

PUSH_PART = 0.2
"""Of a depth, taken away in one step while forces press the bodies together."""

PUSH_RATE = 10.0
"""Of a depth, 1/s, where they do not: slow enough to give no velocity worth mentioning."""

NEVER = -1e30
"""A bound that no velocity reaches."""

SMALL = 1e-13
"""What is added to 2 x 2 blocks relative to their trace: a mechanism that moves in a plane has a zero in it."""

OPEN, STICKS, SLIDES = 0, 1, 2
"""Modes of a contact."""


@dataclass(frozen=True, eq=False)
class RigidStep:
    """What one step of the rigid law gives.

    Args:
        v: velocities after the step.
        impulses: one per row, N s or N m s; the warm start of the next step.
        residual: the largest violation of the law, m/s; of rows on angles rad/s (spin and roll by their coefficients).
        impulse_residual: the same in N s.
        normal_velocity: u+ along the normal of every point, m/s.
        slip: u+ along both tangents of every point, m/s, (points, 2).
        mode: of every point :data:`OPEN`, :data:`STICKS` or :data:`SLIDES`.
        friction_loss: energy that friction took away in this step, J, dry friction of joints included.
        impact_loss: energy that impacts took away, J.
        push_work: energy that taking away depths brought in, J.
        problem: what was solved, where derivatives need it.
    """

    v: Array
    impulses: Array
    residual: Scalar
    impulse_residual: Scalar
    normal_velocity: Array
    slip: Array
    mode: Array
    friction_loss: Scalar
    impact_loss: Scalar
    push_work: Scalar
    problem: ContactProblem | None = None


@dataclass(frozen=True, eq=False)
class Equalities:
    """Rows that hold exactly: G v+ = G v*.

    Args:
        G: rows, (m, nv).
        rank: how many are independent; all by default.
        sizes: typical diagonal entries of G M^-1 G^T; for ranks below m.
        independent: which rows were independent once; for ranks below m.
    """

    G: Array
    rank: int | None = None
    sizes: Sequence[float] = ()
    independent: Sequence[int] = ()

    def solve(self, S: list[list[Scalar]], columns: list[list[Scalar]]) -> list[list[Scalar]]:
        """S^-1 times columns."""
        m = len(S)
        if self.rank is None or self.rank == m:
            factors = factor(arrays.asarray(S).reshape(m, m), range(-1, m - 1))
            return [list(factors.solve(arrays.asarray(column))) for column in columns]
        return [solve_of_rank(S, column, self.rank, self.sizes, self.independent) for column in columns]


class Delassus:
    """J M^-1 J^T of rows under equalities, and what impulses along the rows do to velocities.

    Args:
        factors: of the inertia matrix.
        J: the rows, lists of nv scalars.
        equalities: what holds exactly, if there is anything.
    """

    def __init__(self, factors: TreeFactors, J: list[list[Scalar]], equalities: Equalities | None = None):
        self.factors, self.equalities = factors, equalities
        self._inner = [list(factors.inwards(arrays.asarray(row))) for row in J]
        scaled = [_scaled(y, factors) for y in self._inner]
        A: list[list[Scalar]] = [[0] * len(J) for _ in J]
        for i in range(len(J)):
            for j in range(i, len(J)):
                A[i][j] = A[j][i] = dot(scaled[i], self._inner[j])
        if equalities is not None and len(equalities.G):
            self._held = [list(factors.inwards(row)) for row in equalities.G]
            held = [_scaled(y, factors) for y in self._held]
            S = [[dot(x, y) for y in self._held] for x in held]
            B = [[dot(x, y) for x in held] for y in self._inner]  # rows: G M^-1 J_i^T
            self._answers = equalities.solve(S, B)
            for i in range(len(J)):
                for j in range(i, len(J)):
                    A[i][j] = A[j][i] = A[i][j] - dot(B[i], self._answers[j])
        else:
            self._held, self._answers = [], []
        self.A = A

    def push(self, impulses: Sequence[Scalar]) -> Array:
        """The change of the velocities by impulses along the rows, nv."""
        n = len(self.factors.reciprocals)
        total: list[Scalar] = [dot([y[k] for y in self._inner], list(impulses)) for k in range(n)]
        for k, row in enumerate(self._held):
            answer = dot([x[k] for x in self._answers], list(impulses))
            total = [t - answer * y for t, y in zip(total, row)]
        return self.factors.outwards(arrays.asarray(_scaled(total, self.factors)))


def _scaled(y: Sequence[Scalar], factors: TreeFactors) -> list[Scalar]:
    return [x if scalar.is_zero(x) else x * r for x, r in zip(y, factors.reciprocals)]


def _times(rows: list[list[Scalar]], v: Array) -> list[Scalar]:
    return [dot(row, list(v)) for row in rows]


def rigid_step(
    layout: ContactSet,
    rows: RowsNow,
    factors: TreeFactors,
    v: Array,
    free: Array,
    impulses: Array,
    h: Scalar,
    sweeps: int,
    equalities: Equalities | None = None,
) -> RigidStep:
    """Velocities after a step with contacts.

    Args:
        layout: what the rows are.
        rows: the rows at the position before the step.
        factors: of the inertia matrix there.
        v: velocities before the step.
        free: velocities after it without contacts.
        impulses: of the last step, one per row: where the sweeps begin.
        h: length of the step, s.
        sweeps: how many.
        equalities: rows that hold exactly.
    """
    delassus = Delassus(factors, rows.J, equalities)
    before, without = _times(rows.J, v), _times(rows.J, free)
    problem = ContactProblem(layout, rows, delassus.A, before, without, h)
    p = problem.solved(impulses, sweeps)
    gained = [dot(row, p) for row in delassus.A]
    after = [x + y for x, y in zip(without, gained)]
    residual, impulse_residual = problem.residuals(p, after)
    losses = problem.losses(p, before, after)
    normals = [point.normal for point in layout.points]
    tangents = [next((rows for rows, kind in point.disks if kind == "friction"), ()) for point in layout.points]
    slip = [[after[t[0]], after[t[1]]] if t else [0, 0] for t in tangents]
    return RigidStep(
        free + delassus.push(p),
        arrays.asarray(p),
        residual,
        impulse_residual,
        arrays.asarray([after[k] for k in normals]),
        arrays.asarray(slip).reshape(len(normals), 2),
        arrays.asarray(problem.modes(p, after)),
        *losses,
        problem,
    )


class ContactProblem:
    """Bounds, coefficients and local inverses of every block of rows, and what is done with them.

    Args:
        layout: what the rows are.
        rows: at this state.
        A: the Delassus matrix.
        before: J v.
        without: J v*.
        h: length of the step.
    """

    def __init__(
        self, layout: ContactSet, rows: RowsNow, A: list[list[Scalar]], before: list[Scalar],
        without: list[Scalar], h: Scalar,
    ):  # fmt: skip
        self.layout, self.A, self.before, self.without = layout, A, before, without
        self.empty = [scalar.is_zero(A[k][k]) for k in range(layout.count)]
        self.steps = [0 if nothing else 1 / A[k][k] for k, nothing in enumerate(self.empty)]
        self.bounds: dict[int, Scalar] = {}
        self.pushes: dict[int, Scalar] = {}
        self.coefficients: dict[int, Scalar] = {}  # by first row of a disk
        self.disks: list[tuple[int, tuple[int, ...]]] = []  # row of the normal, rows of the disk
        self.discs: dict[int, tuple[Scalar, ...]] = {}  # entries of the inverse, and the step of gradients
        for point, now in zip(layout.points, rows.points):
            k = point.normal
            if self.empty[k]:
                continue
            self.pushes[k], self.bounds[k] = bound(now.gap, before[k], without[k], now.contact.restitution, h)
            for disk, coefficient in point.disks:
                disk = tuple(row for row in disk if not self.empty[row])
                if disk:
                    self.disks.append((k, disk))
                    self.coefficients[disk[0]] = getattr(now.contact, coefficient)
        for _, disk in self.disks:
            self.discs[disk[0]] = _local(A, disk)
        self.ranges = {
            k: (bound(lower, before[k], without[k], 0, h), bound(upper, -before[k], -without[k], 0, h))
            for k, (lower, upper) in zip(layout.limit_rows, rows.limits)
            if not self.empty[k]
        }
        self.dry = {k: h * f for k, f in zip(layout.dry_rows, rows.dry) if not self.empty[k]}

    HELD = ("A", "without", "steps", "bounds", "coefficients", "discs", "ranges", "dry")
    """What a sweep reads."""

    def solved(self, start: Array, sweeps: int) -> list[Scalar]:
        """The impulses after so many sweeps."""
        return after_sweeps(self, [0 if nothing else x for nothing, x in zip(self.empty, start)], sweeps)

    def swept(self, now: list[Scalar]) -> list[Scalar]:
        """The impulses after one sweep."""
        for k in self.bounds:
            now[k] = self._normal(k, now[k], self._velocity(k, now))
            for normal, disk in self.disks:
                if normal == k:
                    for row, value in zip(disk, self._disk(normal, disk, now)):
                        now[row] = value
        for k, ((_, lower), (_, upper)) in self.ranges.items():
            now[k] = self._range(k, now[k], self._velocity(k, now), lower, upper)
        for k, most in self.dry.items():
            now[k] = _clamped(now[k] - self._velocity(k, now) * self.steps[k], most)
        return now

    def _velocity(self, k: int, p: list[Scalar]) -> Scalar:
        return self.without[k] + dot(self.A[k], p)

    def _normal(self, k: int, p: Scalar, u: Scalar) -> Scalar:
        return scalar.maximum(p - (u - self.bounds[k]) * self.steps[k], 0)

    def _range(self, k: int, p: Scalar, u: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
        raised = scalar.maximum(p - (u - lower) * self.steps[k], 0) if _reached(lower) else 0
        lowered = scalar.minimum(p - (u + upper) * self.steps[k], 0) if _reached(upper) else 0
        return raised + lowered

    def _disk(self, normal: int, disk: tuple[int, ...], p: list[Scalar]) -> list[Scalar]:
        """Of the rows of a disk: those that stop it, if they lie inside; else a step downhill, cut at the edge."""
        radius = self.coefficients[disk[0]] * p[normal]
        u = [self._velocity(k, p) for k in disk]
        if len(disk) == 1:
            return [_clamped(p[disk[0]] - u[0] * self.steps[disk[0]], radius)]
        xx, xy, yy, _ = self.discs[disk[0]]
        first, second = (p[k] for k in disk)
        stop = first - (xx * u[0] + xy * u[1]), second - (xy * u[0] + yy * u[1])
        inside = above(radius * radius, stop[0] * stop[0] + stop[1] * stop[1])
        edge = self._downhill(disk, [first, second], u, radius)
        return [scalar.select(inside, x, y) for x, y in zip(stop, edge)]

    def _downhill(self, disk: tuple[int, ...], p: list[Scalar], u: list[Scalar], radius: Scalar) -> list[Scalar]:
        """p - step u, brought back to the disk; the same step along both, so that friction opposes the slip exactly."""
        if len(disk) == 1:
            return [_clamped(p[0] - u[0] * self.steps[disk[0]], radius)]
        step = self.discs[disk[0]][3]
        moved = [x - y * step for x, y in zip(p, u)]
        square = moved[0] * moved[0] + moved[1] * moved[1]
        outside = above(square, radius * radius)
        share = scalar.select(outside, radius / scalar.sqrt(scalar.select(outside, square, 1)), 1)
        return [x * share for x in moved]

    # ------------------------------------------------------------------------------------------------- what was found

    def residuals(self, p: list[Scalar], u: list[Scalar]) -> tuple[Scalar, Scalar]:
        """The natural map p - projection(p - step u), over the step in m/s and itself in N s: the largest of either."""
        fast: Scalar = 0
        strong: Scalar = 0

        def note(change: Scalar, step: Scalar, size: Scalar = 1) -> None:
            nonlocal fast, strong
            fast = scalar.maximum(fast, change / step * size)
            strong = scalar.maximum(strong, change if scalar.is_one(size) else change / size)

        for k in self.bounds:
            note(scalar.absolute(p[k] - self._normal(k, p[k], u[k])), self.steps[k])
        kinds = {rows[0]: self.layout.rows[rows[0]].unit for _, rows in self.disks}
        for normal, disk in self.disks:
            radius = self.coefficients[disk[0]] * p[normal]
            own = [p[k] for k in disk]
            back = self._downhill(disk, own, [u[k] for k in disk], radius)
            size = self.coefficients[disk[0]] if kinds[disk[0]] == "angle" else 1
            step = self.discs[disk[0]][3] if len(disk) == 2 else self.steps[disk[0]]
            square: Scalar = sum((x - y) * (x - y) for x, y in zip(own, back))
            note(_root(square), step, size)
        for k, ((_, lower), (_, upper)) in self.ranges.items():
            note(scalar.absolute(p[k] - self._range(k, p[k], u[k], lower, upper)), self.steps[k])
        for k, most in self.dry.items():
            note(scalar.absolute(p[k] - _clamped(p[k] - u[k] * self.steps[k], most)), self.steps[k])
        return fast, strong

    def modes(self, p: list[Scalar], u: list[Scalar]) -> list[Scalar]:
        """Open where nothing presses; sliding where friction is at its limit, if there is slip at all."""
        found: list[Scalar] = []
        for point in self.layout.points:
            tangents = next((rows for rows, kind in point.disks if kind == "friction"), ())
            tangents = tuple(k for k in tangents if not self.empty[k])
            pressed = above(p[point.normal], 0)
            if not tangents:
                found.append(scalar.select(pressed, SLIDES, OPEN) if point.normal in self.bounds else OPEN)
                continue
            limit = self.coefficients[tangents[0]] * p[point.normal]
            size = sum(p[k] * p[k] for k in tangents)
            sticks = above(limit * limit * (1 - 1e-9), size)
            found.append(scalar.select(pressed, scalar.select(sticks, STICKS, SLIDES), OPEN))
        return found

    def losses(self, p: list[Scalar], before: list[Scalar], after: list[Scalar]) -> tuple[Scalar, Scalar, Scalar]:
        """Friction, impacts, and what taking away depths brought in: p times the mean of both velocities."""
        mean = [(x + y) / 2 for x, y in zip(before, after)]
        friction: Scalar = 0
        for _, disk in self.disks:
            friction = friction - dot([p[k] for k in disk], [mean[k] for k in disk])
        for k in self.dry:
            friction = friction - p[k] * mean[k]
        impact: Scalar = 0
        push: Scalar = 0
        pairs = [(k, p[k], self.pushes[k]) for k in self.bounds]
        for k, ((back, _), (forth, _)) in self.ranges.items():
            pairs += [(k, scalar.maximum(p[k], 0), back), (k, scalar.minimum(p[k], 0), -forth)]
        for k, impulse, pushed in pairs:
            work = impulse * pushed / 2
            impact = impact - (impulse * mean[k] - work)
            push = push + work
        return friction, impact, push


def bound(gap: Scalar, u: Scalar, free: Scalar, restitution: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """The part of the bound on a normal velocity that takes away a depth, and the bound; see the head of this file.

    Args:
        gap: m or rad; infinite where there is no end to reach.
        u: normal velocity before the step.
        free: after it without contacts.
        restitution: Newton's coefficient.
        h: length of the step.
    """
    if scalar.is_number(gap) and gap == float("inf"):
        return 0, NEVER
    touching = gap.real <= 0 if scalar.is_number(gap) else gap <= 0
    depth = scalar.maximum(-gap, 0)
    press = scalar.maximum(u - free, 0)
    push = scalar.maximum(
        scalar.minimum(depth * (PUSH_PART / h), press), depth * scalar.minimum(PUSH_PART / h, PUSH_RATE)
    )
    held = push
    landing = -gap / h
    if not scalar.is_zero(restitution):
        rebound = -restitution * (u + free) / 2 + (free - u) / 2
        bounces = above(rebound, 0)
        held = scalar.maximum(push, rebound)
        push = scalar.select(bounces, 0, push)
        landing = scalar.select(bounces, NEVER, landing)
    return push, scalar.select(touching, held, landing)


def _reached(end: Scalar) -> bool:
    return not (scalar.is_number(end) and end == NEVER)


def _clamped(x: Scalar, most: Scalar) -> Scalar:
    return scalar.maximum(scalar.minimum(x, most), -most)


def _root(square: Scalar) -> Scalar:
    """The root, with derivative zero at zero."""
    there = above(square, 0)
    return scalar.select(there, scalar.sqrt(scalar.select(there, square, 1)), 0)


def _local(A: list[list[Scalar]], disk: tuple[int, ...]) -> tuple[Scalar, ...]:
    """Of a 2 x 2 block the entries xx, xy, yy of its inverse, and one over its larger eigenvalue."""
    if len(disk) == 1:
        return ()
    i, j = disk
    a, b, c = A[i][i], A[i][j], A[j][j]
    small = SMALL * (a + c)
    a, c = a + small, c + small
    det = a * c - b * b
    half = (a - c) / 2
    largest = (a + c) / 2 + _root(half * half + b * b)
    return c / det, -b / det, a / det, 1 / largest


__all__ = ["OPEN", "SLIDES", "STICKS", "ContactProblem", "Delassus", "Equalities", "RigidStep", "bound", "rigid_step"]

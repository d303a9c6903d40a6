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
from dalembert.cached import cached_property
from dalembert.constraints.known_rank import dot, solve_of_rank
from dalembert.contact.carriers import Carriers
from dalembert.contact.choices import above
from dalembert.contact.cones import NEVER, ConeProblem
from dalembert.contact.following import Twisting
from dalembert.contact.rows import ContactSet, RowsNow
from dalembert.contact.strides import longest_stride

PUSH_PART = 0.2
"""Of a depth, taken away in one step while forces press the bodies together."""

PUSH_RATE = 10.0
"""Of a depth, 1/s, where they do not: slow enough to give no velocity worth mentioning."""

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
        friction_loss: energy that friction took away in this step, J, dry friction of joints included; never negative.
        impact_loss: energy that impacts took away, J.
        push_work: energy that taking away depths brought in, J.
        stride: the longest way in this step over the thickness of what could be missed, and its speed, m/s; see
            :mod:`dalembert.contact.strides`.
        problem: what was solved, where derivatives need it.
        delassus: of its rows.
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
    stride: tuple[Scalar, Scalar]
    problem: ContactProblem | None = None
    delassus: Delassus | None = None


@dataclass(frozen=True, eq=False)
class Equalities:
    """Rows that hold exactly: G v+ = G v*.

    Args:
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
        carriers: the rows.
        equalities: what holds exactly, if there is anything.

    Attributes:
        inner: C M^-1 C^T of the carriers.
        sizes: of every row what its mobility would be of size without the equalities; None where there are none.
    """

    def __init__(self, factors: TreeFactors, carriers: Carriers, equalities: Equalities | None = None):
        self.factors, self.carriers, self.equalities = factors, carriers, equalities
        self._inwards = [list(factors.inwards(arrays.asarray(row))) for row in carriers.C]
        scaled = [_scaled(y, factors) for y in self._inwards]
        count = len(scaled)
        inner: list[list[Scalar]] = [[0] * count for _ in scaled]
        for i in range(count):
            for j in range(i, count):
                inner[i][j] = inner[j][i] = dot(scaled[i], self._inwards[j])
        self.sizes: list[Scalar] | None = None
        if equalities is not None and len(equalities.G):
            self.sizes = [sum((x * x * inner[c][c] for c, x in share.items()), 0) for share in carriers.shares]
            self._held = [list(factors.inwards(row)) for row in equalities.G]
            held = [_scaled(y, factors) for y in self._held]
            S = [[dot(x, y) for y in self._held] for x in held]
            B = [[dot(x, y) for x in held] for y in self._inwards]  # rows: G M^-1 C_i^T
            self._answers = equalities.solve(S, B)
            for i in range(count):
                for j in range(i, count):
                    inner[i][j] = inner[j][i] = inner[i][j] - dot(B[i], self._answers[j])
        else:
            self._held, self._answers = [], []
        self.inner = inner

    @cached_property
    def answers(self) -> list[list[Scalar]]:
        """C M^-1 J^T: of every row what its impulse does to the carriers."""
        found = []
        for share in self.carriers.shares:
            parts = list(share.values())
            found.append([dot(parts, [line[c] for c in share]) for line in self.inner])
        return found

    @cached_property
    def A(self) -> list[list[Scalar]]:
        """J M^-1 J^T."""
        shares = self.carriers.shares
        A: list[list[Scalar]] = [[0] * len(shares) for _ in shares]
        for i, share in enumerate(shares):
            for j in range(i, len(shares)):
                A[i][j] = A[j][i] = dot(list(share.values()), [self.answers[j][c] for c in share])
        return A

    def along_rows(self, v: Array) -> list[Scalar]:
        """J v."""
        return self.carriers.along_rows(self.of_carriers(v))

    def of_carriers(self, v: Array) -> list[Scalar]:
        """C v."""
        return [dot(row, list(v)) for row in self.carriers.C]

    def gained(self, impulses: Sequence[Scalar]) -> list[Scalar]:
        """A p."""
        together = self.carriers.gathered(impulses)
        return self.carriers.along_rows([dot(row, together) for row in self.inner])

    def push(self, impulses: Sequence[Scalar]) -> Array:
        """The change of the velocities by impulses along the rows, nv."""
        return self.push_carriers(self.carriers.gathered(impulses))

    def push_carriers(self, together: list[Scalar]) -> Array:
        """The same by impulses along the carriers."""
        n = len(self.factors.reciprocals)
        total: list[Scalar] = [dot([y[k] for y in self._inwards], together) for k in range(n)]
        for k, row in enumerate(self._held):
            answer = dot([x[k] for x in self._answers], together)
            total = [t - answer * y for t, y in zip(total, row)]
        return self.factors.outwards(arrays.asarray(_scaled(total, self.factors)))


def _scaled(y: Sequence[Scalar], factors: TreeFactors) -> list[Scalar]:
    return [x if scalar.is_zero(x) else x * r for x, r in zip(y, factors.reciprocals)]


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
    solver: str = "gauss-seidel",
) -> RigidStep:
    """Velocities after a step with contacts.

    Args:
        layout: what the rows are.
        rows: the rows at the position before the step.
        factors: of the inertia matrix there.
        v: velocities before the step.
        free: velocities after it without contacts.
        impulses: of the last step, one per row: where the sweeps begin.
        equalities: rows that hold exactly.
        solver: one of :data:`~dalembert.contact.cones.SOLVERS`.
    """
    delassus = Delassus(factors, rows.carriers, equalities)
    before, without = delassus.along_rows(v), delassus.along_rows(free)
    twisting = Twisting.of(rows.carriers, delassus.inner, delassus.of_carriers(free), delassus.answers)
    problem = ContactProblem(layout, rows, delassus.A, before, without, h, twisting, delassus.sizes)
    p = problem.solved(impulses, sweeps, solver)
    p, gained = problem.without_gain(p, delassus.gained(p))
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
        longest_stride(layout, rows, before, h),
        problem,
        delassus,
    )


class ContactProblem(ConeProblem):
    """The problem of a step: what the velocities along the rows before it, and after it without contacts, ask for.

    Args:
        layout: what the rows are.
        rows: at this state.
        A: the Delassus matrix.
        before: J v.
        without: J v*.
        twisting, sizes: see :class:`~dalembert.contact.cones.ConeProblem`.
    """

    def __init__(
        self, layout: ContactSet, rows: RowsNow, A: list[list[Scalar]], before: list[Scalar],
        without: list[Scalar], h: Scalar, twisting: Twisting | None = None, sizes: Sequence[Scalar] | None = None,
    ):  # fmt: skip
        self.layout, self.before = layout, before
        self.pushes: dict[int, Scalar] = {}
        bounds: dict[int, Scalar] = {}
        disks: list[tuple[int, tuple[int, ...], Scalar]] = []
        for point, now in zip(layout.points, rows.points):
            k = point.normal
            self.pushes[k], bounds[k] = bound(now.gap, before[k], without[k], now.contact.restitution, h)
            disks += [(k, disk, getattr(now.contact, coefficient)) for disk, coefficient in point.disks]
        ranges = {
            k: (bound(lower, before[k], without[k], 0, h), bound(upper, -before[k], -without[k], 0, h))
            for k, (lower, upper) in zip(layout.limit_rows, rows.limits)
        }
        dry = {k: h * f for k, f in zip(layout.dry_rows, rows.dry)}
        angles = {k for k, row in enumerate(layout.rows) if row.unit == "angle"}
        ends = {k: (lower[1], upper[1]) for k, (lower, upper) in ranges.items()}
        super().__init__(A, without, bounds, disks, ends, dry, angles, twisting, sizes)
        self.ended = {k: (lower[0], upper[0]) for k, (lower, upper) in ranges.items() if not self.empty[k]}

    def modes(self, p: list[Scalar], u: list[Scalar]) -> list[Scalar]:
        """Open where nothing presses; sliding where friction is at its limit, if there is slip at all."""
        found: list[Scalar] = []
        straight = {normal: disk for normal, disk in self.disks if disk[0] not in self.angles}
        for point in self.layout.points:
            tangents = straight.get(point.normal, ())
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
        """Friction, impacts, and what taking away depths brought in: p times the mean of both velocities.

        An impact may turn the slip round, and friction then seems to give energy back; together they never do, and that
        share belongs to the impact.
        """
        mean = [(x + y) / 2 for x, y in zip(before, after)]
        friction: Scalar = 0
        for _, disk in self.disks:
            friction = friction - dot([p[k] for k in disk], [mean[k] for k in disk])
        for k in self.dry:
            friction = friction - p[k] * mean[k]
        impact: Scalar = 0
        push: Scalar = 0
        pairs = [(k, p[k], self.pushes[k]) for k in self.bounds]
        for k, (back, forth) in self.ended.items():
            pairs += [(k, scalar.maximum(p[k], 0), back), (k, scalar.minimum(p[k], 0), -forth)]
        for k, impulse, pushed in pairs:
            work = impulse * pushed / 2
            impact = impact - (impulse * mean[k] - work)
            push = push + work
        back = scalar.minimum(friction, 0)
        return friction - back, impact + back, push


def bound(gap: Scalar, u: Scalar, free: Scalar, restitution: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """The part of the bound on a normal velocity that takes away a depth, and the bound; see the head of this file.

    Args:
        gap: m or rad; infinite where there is no end to reach.
        u: normal velocity before the step.
        free: after it without contacts.
        restitution: Newton's coefficient.
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


__all__ = ["OPEN", "SLIDES", "STICKS", "ContactProblem", "Delassus", "Equalities", "RigidStep", "bound", "rigid_step"]

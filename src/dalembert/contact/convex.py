"""MuJoCo's soft law of contact: forces that minimise a convex function, so that there is one answer, quickly found.

With u = J v before the step, u* = J v* after it without contacts and the Delassus matrix A, the impulses p minimise

    p (A + R) p / 2 + p (u* - u - h a)        where p_n >= 0 and (sum of (p_j / mu_j)^2)^(1/2) <= p_n,

a is the acceleration that a row asks for, and R how soft it is (E. Todorov, Convex and analytically-invertible dynamics
with contacts and constraints, ICRA 2014; the names are those of MuJoCo's documentation):

    a = -b u - k d g          d = impedance of the gap g, from solimp = (d0, dwidth, width, midpoint, power)
    R = w (1 - d) / d         k = 1 / (dwidth timeconst dampratio)^2,  b = 2 / (dwidth timeconst), from solref

w is the inverse inertia that both bodies show at the neutral position. Tangents, spin and roll have k = 0 and the
softness R_n mu^2 / mu_j^2. A contact acts from the first overlap on; the joint's stops and its dry friction have
MuJoCo's default solref and solimp. What sticks creeps, by design: (R p)_j is never zero.

Solved by block Gauss-Seidel: each contact takes a step downhill and is brought back to its cone. Closed loops, rolling
and given motions hold exactly here, whereas MuJoCo's are soft, too; its pyramidal cones are not offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, is_number
from dalembert.algebra.transform import Transform
from dalembert.algorithms.triangular import TreeFactors
from dalembert.constraints.known_rank import dot
from dalembert.constraints.state import State
from dalembert.contact.cones import SMALL, islands, without_gain
from dalembert.contact.pairs import above
from dalembert.contact.rigid import OPEN, SLIDES, STICKS, Delassus, Equalities, RigidStep
from dalembert.contact.rows import ContactSet, RowsNow
from dalembert.contact.strides import longest_stride
from dalembert.contact.sweeps import after_sweeps
from dalembert.errors import UnsupportedError
from dalembert.kinematics.relative import Pair
from dalembert.model import WORLD, Mechanism
from dalembert.model.contact import SOLIMP, SOLREF

LEAST_IMPEDANCE, MOST_IMPEDANCE = 0.0001, 0.9999
"""Between these MuJoCo keeps impedances."""


@dataclass(frozen=True, eq=False)
class Weights:
    """Inverse inertias that MuJoCo scales softness with.

    Args:
        points: of every contact, by name: against translation, 1/kg, and against rotation, 1/(kg m^2).
        velocities: of every velocity, for stops and dry friction.
    """

    points: dict[str, tuple[Scalar, Scalar]]
    velocities: list[Scalar]


def inverse_weights(layout: ContactSet, neutral: State, factors: TreeFactors) -> Weights:
    """The inverse inertias at the neutral position: means over three axes of J M^-1 J^T at centres of mass.

    Args:
        neutral: the mechanism at its neutral position.
        factors: of its inertia matrix there.
    """
    n = len(factors.reciprocals)
    mechanism = neutral.mechanism
    found: dict[str, tuple[Scalar, Scalar]] = {}

    def of(name: str) -> tuple[Scalar, Scalar]:
        body = mechanism.frame(name).body
        if body not in found:
            found[body] = _body_weights(mechanism, neutral, factors, body)
        return found[body]

    points = {}
    for item in mechanism.contacts:
        if item.name in layout.names:
            (move, turn), (other_move, other_turn) = of(item.a), of(item.b)
            points[item.name] = move + other_move, turn + other_turn
    velocities: list[Scalar] = [0] * n
    for k in {*(x for joint in layout.limited for x in _places(mechanism, joint)), *layout.dry}:
        unit = arrays.asarray([1 if i == k else 0 for i in range(n)])
        velocities[k] = factors.solve(unit)[k]
    return Weights(points, velocities)


def _places(mechanism: Mechanism, joint: str) -> range:
    slot = mechanism.v_slice(joint)
    return range(slot.start, slot.stop)


def _body_weights(mechanism: Mechanism, neutral: State, factors: TreeFactors, body: str) -> tuple[Scalar, Scalar]:
    link, at = neutral.place(body)
    if link < 0:
        return 0, 0
    centre = mechanism.body(body).inertia.center
    pair = Pair(neutral, neutral.place(WORLD), (link, at @ Transform.from_translation(centre)))
    columns = pair.b.columns(pair.b.position)
    n = len(factors.reciprocals)
    sums: list[Scalar] = []
    for part in (1, 0):
        total: Scalar = 0
        for axis in range(3):
            row = arrays.asarray([columns[k][part][axis] if k in columns else 0 for k in range(n)])
            inner = factors.inwards(row)
            total = total + dot([y * r for y, r in zip(inner, factors.reciprocals)], list(inner))
        sums.append(total / 3)
    return sums[0], sums[1]


def impedance(solimp: Sequence[Scalar], gap: Scalar) -> Scalar:
    """How much of the asked acceleration is had, 0 .. 1, by the size of a gap or depth.

    Args:
        solimp: d0, dwidth, width, midpoint, power.
        gap: m.
    """
    least, most, width, middle, power = solimp
    least, most = (_held(x, LEAST_IMPEDANCE, MOST_IMPEDANCE) for x in (least, most))
    if is_number(width) and width <= 1e-15:
        return (least + most) / 2
    x = scalar.minimum(scalar.absolute(gap) / width, 1)
    if is_number(power) and power == 1:
        y = x
    else:
        if not is_number(power) or power < 1:
            raise UnsupportedError(f"the power of solimp is a number from 1 on, not {power}")
        rising = _power(x, power) / _power(middle, power - 1)
        falling = 1 - _power(1 - x, power) / _power(1 - middle, power - 1)
        y = scalar.select(above(x, middle), falling, rising)
    return _held(least + y * (most - least), LEAST_IMPEDANCE, MOST_IMPEDANCE)


def _held(x: Scalar, low: float, high: float) -> Scalar:
    return scalar.minimum(scalar.maximum(x, low), high)


def _power(x: Scalar, p: float) -> Scalar:
    """x^p for x not below 0."""
    if float(p).is_integer() and p <= 8:
        made: Scalar = 1
        for _ in range(int(p)):
            made = made * x
        return made
    there = above(x, 0)
    return scalar.select(there, scalar.exp(p * scalar.log(scalar.select(there, x, 1))), 0)


def stiffness_and_damping(solref: Sequence[Scalar], most: Scalar, h: Scalar) -> tuple[Scalar, Scalar]:
    """k, 1/s^2, and b, 1/s, of a row; time constants below two steps are lengthened, as MuJoCo does.

    Args:
        solref: time constant (s) and damping ratio; or, both negative, -stiffness and -damping.
        most: dwidth of its solimp.
    """
    first, second = solref
    most = _held(most, LEAST_IMPEDANCE, MOST_IMPEDANCE)
    if is_number(first) and first <= 0:
        return -first / (most * most), -second / most
    constant = scalar.maximum(first, 2 * h)
    return 1 / _power(most * constant * second, 2), 2 / (most * constant)


@dataclass(frozen=True, eq=False)
class _Cone:
    """One block of rows.

    Args:
        rows: of a contact, the normal first; of a stop or of dry friction its only one.
        scales: 1 and the coefficients of friction: impulses divided by them lie in the round cone.
        softness: R of every row.
        wanted: h a of every row.
        active: 1 or 0.
        step: one over a bound of the largest eigenvalue of the scaled block.
        least: of a single row, the least impulse.
        most: of a single row, the largest one.
    """

    rows: tuple[int, ...]
    scales: tuple[Scalar, ...]
    softness: tuple[Scalar, ...]
    wanted: tuple[Scalar, ...]
    active: Scalar
    step: Scalar
    least: Scalar | None = 0
    most: Scalar | None = None

    def brought_back(self, y: list[Scalar]) -> list[Scalar]:
        """The nearest scaled impulses that are allowed."""
        if len(y) == 1:
            x = y[0]
            x = x if self.least is None else scalar.maximum(x, self.least)
            x = x if self.most is None else scalar.minimum(x, self.most)
            return [self.active * x]
        normal, *tangents = y
        square: Scalar = sum(x * x for x in tangents)
        there = above(square, 0)
        size = scalar.select(there, scalar.sqrt(scalar.select(there, square, 1)), 0)
        outside = above(size, normal)
        edge = scalar.maximum((normal + size) / 2, 0)
        share = scalar.select(outside, edge / scalar.select(there, size, 1), 1)
        back = [scalar.select(outside, edge, normal), *(share * x for x in tangents)]
        return [self.active * x for x in back]


def convex_step(
    layout: ContactSet,
    rows: RowsNow,
    factors: TreeFactors,
    v: Array,
    free: Array,
    impulses: Array,
    h: Scalar,
    sweeps: int,
    weights: Weights,
    equalities: Equalities | None = None,
) -> RigidStep:
    """Velocities after a step with soft contacts.

    Args:
        layout: what the rows are.
        rows: the rows at the position before the step, at the middle between both surfaces.
        factors: of the inertia matrix there.
        v: velocities before the step.
        free: velocities after it without contacts.
        impulses: of the last step, one per row: where the sweeps begin.
        weights: inverse inertias at the neutral position.
        equalities: rows that hold exactly.
    """
    delassus = Delassus(factors, rows.carriers, equalities)
    before, without = delassus.along_rows(v), delassus.along_rows(free)
    problem = _SoftProblem(layout, rows, delassus.A, before, without, h, weights)
    p = problem.solved(impulses, sweeps)
    p, gained = problem.without_gain(p, delassus.gained(p))
    after = [x + y for x, y in zip(without, gained)]
    residual, impulse_residual = problem.residuals(p)
    mean = [(x + y) / 2 for x, y in zip(before, after)]
    pressing = [*(cone.rows[0] for cone in problem.cones[: len(layout.points)]), *layout.limit_rows]
    rubbing = [k for k in range(layout.count) if k not in pressing]
    slip = [[after[t[0]], after[t[1]]] if len(t) > 1 else [0, 0] for t in map(_tangents, layout.points)]
    return RigidStep(
        free + delassus.push(p),
        arrays.asarray(p),
        residual,
        impulse_residual,
        arrays.asarray([after[point.normal] for point in layout.points]),
        arrays.asarray(slip).reshape(len(layout.points), 2),
        arrays.asarray(problem.modes(p)),
        -dot([p[k] for k in rubbing], [mean[k] for k in rubbing]),
        -dot([p[k] for k in pressing], [mean[k] for k in pressing]),
        0,
        longest_stride(layout, rows, before, h),
    )


def _tangents(point: Any) -> tuple[int, ...]:
    return next((rows for rows, kind in point.disks if kind == "friction"), ())


class _SoftProblem:
    """The blocks of a step, and what is done with them."""

    def __init__(
        self, layout: ContactSet, rows: RowsNow, A: list[list[Scalar]], before: list[Scalar],
        without: list[Scalar], h: Scalar, weights: Weights,
    ):  # fmt: skip
        self.layout, self.A = layout, A
        self.change = [x - y for x, y in zip(without, before)]
        self.cones = [
            self._contact(point, now, before, h, weights.points[point.contact])
            for point, now in zip(layout.points, rows.points)
        ]
        k, b = stiffness_and_damping(SOLREF, SOLIMP[1], h)
        for row, joint, (lower, upper) in zip(layout.limit_rows, layout.limited, rows.limits):
            w = weights.velocities[_places(layout.mechanism, joint)[0]]
            for gap, sign in ((lower, 1), (upper, -1)):
                if is_number(gap) and gap == float("inf"):
                    continue
                d = impedance(SOLIMP, gap)
                wanted = h * (-b * before[row] - sign * k * d * gap)
                reached = scalar.select(above(0, gap), 1, 0)
                ends: tuple[Scalar | None, Scalar | None] = (0, None) if sign > 0 else (None, 0)
                self.cones.append(self._single(row, w * (1 - d) / d, wanted, reached, *ends))
        d = impedance(SOLIMP, 0)
        for row, place, most in zip(layout.dry_rows, layout.dry, rows.dry):
            softness = weights.velocities[place] * (1 - d) / d
            self.cones.append(self._single(row, softness, -h * b * before[row], 1, -h * most, h * most))

    def _contact(self, point: Any, now: Any, before: list[Scalar], h: Scalar, weights: tuple[Scalar, Scalar]) -> _Cone:
        item = now.contact
        d = impedance(item.solimp, now.gap)
        k, b = stiffness_and_damping(item.solref, item.solimp[1], h)
        hard = weights[0] * (1 - d) / d
        rows, scales, softness = [point.normal], [1], [hard]
        first: Scalar | None = None
        for disk, coefficient in point.disks:
            mu = getattr(item, coefficient)
            first = mu if first is None else first
            for row in disk:
                rows.append(row)
                scales.append(mu)
                softness.append(hard if coefficient == "friction" else hard * first * first / (mu * mu))
        wanted = [h * (-b * before[row]) for row in rows]
        wanted[0] = wanted[0] - h * k * d * now.gap
        block = [
            [
                scales[i] * scales[j] * (self.A[rows[i]][rows[j]] + (softness[i] if i == j else 0))
                for j in range(len(rows))
            ]
            for i in range(len(rows))
        ]
        bound: Scalar = 0
        for line in block:  # of the largest eigenvalue, by Gershgorin
            bound = scalar.maximum(bound, sum(scalar.absolute(x) for x in line))
        pushes = above(block[0][0], SMALL * bound)  # neither its body nor its softness need give way
        active = scalar.select(above(0, now.gap), scalar.select(pushes, 1, 0), 0)
        step = 1 / scalar.select(pushes, bound, 1)
        return _Cone(tuple(rows), tuple(scales), tuple(softness), tuple(wanted), active, step)

    def _single(
        self, row: int, softness: Scalar, wanted: Scalar, active: Scalar, least: Scalar | None, most: Scalar | None
    ) -> _Cone:
        step = 1 / (self.A[row][row] + softness)
        return _Cone((row,), (1,), (softness,), (wanted,), active, step, least, most)

    def _downhill(self, cone: _Cone, own: list[Scalar], p: list[Scalar]) -> list[Scalar]:
        """The scaled impulses of a block after a step downhill.

        Args:
            own: its impulses, which for the two stops of one joint are parts of one row.
        """
        moved = []
        for k, x, scale, soft, wanted in zip(cone.rows, own, cone.scales, cone.softness, cone.wanted):
            slope = dot(self.A[k], p) + soft * x + self.change[k] - wanted
            moved.append(x / scale - cone.step * scale * slope)
        return [scale * y for scale, y in zip(cone.scales, cone.brought_back(moved))]

    def _own(self, cone: _Cone, p: list[Scalar]) -> list[Scalar]:
        """Of the row of a joint with two stops either block has its own sign."""
        if len(cone.rows) > 1 or (cone.least is not None and cone.most is not None):
            return [p[k] for k in cone.rows]
        part = scalar.maximum if cone.least is not None else scalar.minimum
        return [part(p[cone.rows[0]], 0)]

    def without_gain(self, p: list[Scalar], gained: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Impulses for which the function is not larger than without any, and A p of these.

        Args:
            p: impulses after the last sweep.
            gained: A p.
        """
        worth, moved = [0] * len(p), [x * y for x, y in zip(p, gained)]
        for cone in self.cones:
            for k, x, soft, wanted in zip(cone.rows, self._own(cone, p), cone.softness, cone.wanted):
                worth[k] = worth[k] + x * (wanted - self.change[k])
                moved[k] = moved[k] + soft * x * x
        return without_gain(p, gained, worth, moved, islands(self.A, [cone.rows for cone in self.cones]))

    HELD = ("A", "change", "cones")
    """What a sweep reads."""

    def solved(self, start: Array, sweeps: int) -> list[Scalar]:
        """The impulses after so many sweeps."""
        return after_sweeps(self, list(start), sweeps)

    def swept(self, now: list[Scalar]) -> list[Scalar]:
        """The impulses after one sweep."""
        for cone in self.cones:
            own = self._own(cone, now)
            for k, old, new in zip(cone.rows, own, self._downhill(cone, own, now)):
                now[k] = now[k] - old + new
        return now

    def residuals(self, p: list[Scalar]) -> tuple[Scalar, Scalar]:
        """The natural map p - projection(p - step slope), over the step in m/s and itself in N s: the largest."""
        fast: Scalar = 0
        strong: Scalar = 0
        for cone in self.cones:
            own = self._own(cone, p)
            pairs = zip(own, self._downhill(cone, own, p), cone.scales)
            square: Scalar = sum(((x - y) / scale) ** 2 for x, y, scale in pairs)
            there = above(square, 0)
            change = scalar.select(there, scalar.sqrt(scalar.select(there, square, 1)), 0)
            strong = scalar.maximum(strong, change)
            fast = scalar.maximum(fast, change / cone.step)
        return fast, strong

    def modes(self, p: list[Scalar]) -> list[Scalar]:
        """Open where nothing presses; sliding where impulses lie on the cone."""
        found = []
        for cone in self.cones[: len(self.layout.points)]:
            normal, *tangents = (p[k] / scale for k, scale in zip(cone.rows, cone.scales))
            inside = above(normal * normal * (1 - 1e-9), sum(x * x for x in tangents))
            pressed = above(normal, 0)
            found.append(scalar.select(pressed, scalar.select(inside, STICKS, SLIDES) if tangents else SLIDES, OPEN))
        return found

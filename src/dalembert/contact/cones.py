"""Impulses of unilateral rows, friction disks, stops and dry friction, over any scalar: the problem and two solvers.

With velocities u = w + A p along the rows, A the Delassus matrix and w what there is without impulses,

    unilateral   0 <= u - b   and   0 <= p   and   p (u - b) = 0
    disk         |p_t| <= mu p_n,   and p_t = -mu p_n u_t / |u_t| where u_t is not zero
    range        the same as unilateral at either end
    dry          |p| <= f,   and p = -f sign(u) where u is not zero

``gauss-seidel`` goes from block to block and satisfies each law in its turn. It is cheap, and slow where the problem
is ill-conditioned: heavy bodies on light feet, long chains of contacts, more points than a body needs.

``newton`` takes after every sweep two semi-smooth Newton steps (P. Alart and A. Curnier, A mixed formulation
for frictional contact problems prone to Newton like solution methods, Comput. Methods Appl. Mech. Eng. 92, 1991): the
equations of the modes that the projections show, linearised and solved for all impulses at once. They are taken
where they violate the law less than the sweep does, so that nothing is lost where they lead astray. Near the solution
its error falls by orders of magnitude in every step, whatever the condition; impulses that are not unique stay near
those it began with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.loops import for_each
from dalembert.algebra.scalar import Scalar
from dalembert.constraints.known_rank import dot
from dalembert.contact.choices import above
from dalembert.contact.following import ByRows, ByTwists, Twisting
from dalembert.contact.sweeps import after_sweeps

NEVER = -1e30
"""A bound that no velocity reaches."""

SMALL, HELD_SMALL = 1e-13, 1e-11
"""Of the mobility of a whole point: below it a row is idle, since nothing but rounding moves along it; the second where
equalities take the rest away.
"""

GAIN = 1e-9
"""Of the energy that impulses move: a gain below it is rounding."""

PROXIMAL = 1e-4, 1e-1, 0.1, 1e-6, 1e-12
"""Added to the diagonal in Newton's steps, relative to it: at first, the most, the factor after a step that
was taken, that after one that was not, and the least.

Of impulses that are not unique the least change is taken; it costs a factor of this over the smallest eigenvalue. Large
ones go safely where several points share a force, small ones quickly where the problem is ill-conditioned.
"""

REACH = 1e9
"""How many times the velocities of a problem an impulse may be worth by itself: rounding would decide about more. Rows
that contradict each other, such as two ends of a seesaw that both sank in, lead Newton's steps there.
"""

SOLVERS = {
    "gauss-seidel": "block Gauss-Seidel: the law of one block after the other",
    "newton": "after every sweep of it a step of the semi-smooth Newton method; for ill-conditioned problems",
}
"""Names of the solvers."""

UNROLLED = 12
"""Up to so many rows elimination is written out; beyond, a loop takes a few rows out of all that follow."""

AT_ONCE = 6
"""Rows that such a loop takes out: each reads and writes what is left of the matrix once."""


class ConeProblem:
    """Rows with laws, and local inverses of their blocks.

    A row may be idle: a slider along x cannot move along the normal of a floor, sliders along one line cannot move
    along their tangents, and a given motion leaves nothing free. Some zeros are known from the tree, others only as
    numbers. An idle normal cannot push: its bound is :data:`NEVER`, and so there is no friction either. The mobility of
    other idle rows is :data:`SMALL` times that of their point, so that every block has an inverse.

    Args:
        A: the Delassus matrix; in problems of other origin it need not be symmetric.
        without: velocities along the rows without impulses.
        bounds: of unilateral rows, by row.
        disks: row of the normal, rows of the disk, and the coefficient.
        ranges: by row the bounds at the lower and the upper end; :data:`NEVER` where there is none.
        dry: by row the largest impulse.
        angles: which rows are angles per second.
        twisting: what it takes to follow the twists of bodies on many points, where that is quicker.
        sizes: what the diagonal of A would be if no equality held anything; the diagonal itself by default.
    """

    def __init__(
        self,
        A: list[list[Scalar]],
        without: list[Scalar],
        bounds: Mapping[int, Scalar],
        disks: Sequence[tuple[int, tuple[int, ...], Scalar]] = (),
        ranges: Mapping[int, tuple[Scalar, Scalar]] | None = None,
        dry: Mapping[int, Scalar] | None = None,
        angles: set[int] | frozenset[int] = frozenset(),
        twisting: Twisting | None = None,
        sizes: Sequence[Scalar] | None = None,
    ):
        self.without, self.angles, self.twisting = without, angles, twisting
        self.A = A = [list(row) for row in A]
        self.empty = [scalar.is_zero(A[k][k]) for k in range(len(A))]
        part = SMALL if sizes is None else HELD_SMALL
        sizes = [A[k][k] for k in range(len(A))] if sizes is None else sizes
        parts = {k: [k] for k in range(len(A))}  # what the mobility of a row is compared with
        for normal, rows, _ in disks:
            parts[normal] += rows if rows[0] not in angles else ()
        for normal, rows, _ in disks:
            parts |= dict.fromkeys(rows, list(rows) if rows[0] in angles else parts[normal])
        least = [0 if nothing else _least([sizes[j] for j in parts[k]], part) for k, nothing in enumerate(self.empty)]

        def bounded(k: int, end: Scalar) -> Scalar:
            """The bound of a row that can push."""
            return scalar.select(above(A[k][k], least[k]), end, NEVER) if _reached(end) else end

        self.bounds = {k: bounded(k, b) for k, b in bounds.items() if not self.empty[k]}
        self.coefficients: dict[int, Scalar] = {}  # by first row of a disk
        self.disks: list[tuple[int, tuple[int, ...]]] = []  # row of the normal, rows of the disk
        self.ranges = {
            k: (bounded(k, lower), bounded(k, upper))
            for k, (lower, upper) in (ranges or {}).items()
            if not self.empty[k]
        }
        self.dry = {k: most for k, most in (dry or {}).items() if not self.empty[k]}
        for k, nothing in enumerate(self.empty):
            if not nothing:
                A[k][k] = scalar.maximum(A[k][k], least[k])
        self.steps = [0 if nothing else 1 / A[k][k] for k, nothing in enumerate(self.empty)]
        self.discs: dict[int, tuple[Scalar, ...]] = {}  # entries of the inverse, and the step of gradients
        for normal, rows, coefficient in disks:
            own = tuple(row for row in rows if not self.empty[row])
            if own and not self.empty[normal]:
                self.disks.append((normal, own))
                self.coefficients[own[0]] = coefficient
                self.discs[own[0]] = _local(A, own)

    HELD = ("A", "without", "steps", "bounds", "coefficients", "discs", "ranges", "dry", "twisting")
    """What a sweep reads."""

    def solved(self, start: Array | Sequence[Scalar], sweeps: int, solver: str = "gauss-seidel") -> list[Scalar]:
        """The impulses after so many sweeps.

        Args:
            start: where they begin.
            solver: one of :data:`SOLVERS`.
        """
        begin = [0 if nothing else x for nothing, x in zip(self.empty, start)]
        if solver == "gauss-seidel":
            return after_sweeps(self, begin, sweeps, "swept")
        return self.brought_back(after_sweeps(self, [*begin, PROXIMAL[0]], sweeps, "newton_swept")[:-1])

    def without_gain(self, p: list[Scalar], gained: list[Scalar]) -> tuple[list[Scalar], list[Scalar]]:
        """Impulses that bring in no more energy than the bounds allow, and A p of these; see :func:`without_gain`.

        Args:
            p: impulses after the last sweep.
            gained: A p.
        """
        worth: list[Scalar] = []
        for k, x in enumerate(p):
            end: Scalar = self.bounds.get(k, 0)
            if k in self.ranges:
                lower, upper = self.ranges[k]
                end = scalar.select(above(x, 0), lower, -upper)
            worth.append(x * (end - self.without[k]))
        return without_gain(p, gained, worth, [x * y for x, y in zip(p, gained)], self._islands())

    def _islands(self) -> list[list[int]]:
        there = [[k] for k, nothing in enumerate(self.empty) if not nothing]
        return islands(self.A, [*there, *([k, *disk] for k, disk in self.disks)])

    def swept(self, now: list[Scalar]) -> list[Scalar]:
        """The impulses after one sweep."""
        at = self._follow(now)
        for k, bound in self.bounds.items():
            at.change((k,), [scalar.maximum(-at.others((k,), bound)[0] * self.steps[k], 0)])
            for normal, disk in self.disks:
                if normal == k:
                    at.change(disk, self._disk(normal, disk, now, at.others(disk)))
        for k, (lower, upper) in self.ranges.items():
            at.change((k,), [self._range(k, 0, at.others((k,))[0], lower, upper)])
        for k, most in self.dry.items():
            at.change((k,), [_clamped(-at.others((k,))[0] * self.steps[k], most)])
        return now

    def _follow(self, p: list[Scalar]) -> ByRows:
        """The velocities along the rows while impulses change."""
        if self.twisting is None:
            return ByRows(self.A, self.without, p)
        return ByTwists(self.twisting, self.A, self.without, p)

    def _velocity(self, k: int, p: list[Scalar]) -> Scalar:
        return self.without[k] + dot(self.A[k], p)

    def _normal(self, k: int, p: Scalar, u: Scalar) -> Scalar:
        return scalar.maximum(p - (u - self.bounds[k]) * self.steps[k], 0)

    def _range(self, k: int, p: Scalar, u: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
        raised = scalar.maximum(p - (u - lower) * self.steps[k], 0) if _reached(lower) else 0
        lowered = scalar.minimum(p - (u + upper) * self.steps[k], 0) if _reached(upper) else 0
        return raised + lowered

    def _disk(self, normal: int, disk: tuple[int, ...], p: list[Scalar], u: list[Scalar]) -> list[Scalar]:
        """Of the rows of a disk: those that stop it, if they lie inside; else a step downhill, cut at the edge.

        Args:
            u: velocities if the impulses of the disk were zero.
        """
        radius = self.coefficients[disk[0]] * p[normal]
        if len(disk) == 1:
            return [_clamped(-u[0] * self.steps[disk[0]], radius)]
        xx, xy, yy, step = self.discs[disk[0]]
        stop = -(xx * u[0] + xy * u[1]), -(xy * u[0] + yy * u[1])
        inside = above(radius * radius, stop[0] * stop[0] + stop[1] * stop[1])
        moved = [sum((int(i == j) - step * self.A[i][j]) * p[j] for j in disk) - step * x for i, x in zip(disk, u)]
        return [scalar.select(inside, x, y) for x, y in zip(stop, _cut(moved, radius))]

    def _downhill(self, disk: tuple[int, ...], p: list[Scalar], u: list[Scalar], radius: Scalar) -> list[Scalar]:
        """p - step u, brought back to the disk; the same step along both, so that friction opposes the slip exactly."""
        if len(disk) == 1:
            return [_clamped(p[0] - u[0] * self.steps[disk[0]], radius)]
        step = self.discs[disk[0]][3]
        return _cut([x - y * step for x, y in zip(p, u)], radius)

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
        for normal, disk in self.disks:
            radius = self.coefficients[disk[0]] * p[normal]
            own = [p[k] for k in disk]
            back = self._downhill(disk, own, [u[k] for k in disk], radius)
            size = self.coefficients[disk[0]] if disk[0] in self.angles else 1
            step = self.discs[disk[0]][3] if len(disk) == 2 else self.steps[disk[0]]
            square: Scalar = sum((x - y) * (x - y) for x, y in zip(own, back))
            note(_root(square), step, size)
        for k, (lower, upper) in self.ranges.items():
            note(scalar.absolute(p[k] - self._range(k, p[k], u[k], lower, upper)), self.steps[k])
        for k, most in self.dry.items():
            note(scalar.absolute(p[k] - _clamped(p[k] - u[k] * self.steps[k], most)), self.steps[k])
        return fast, strong

    # ------------------------------------------------------------------------------------------------- Newton's method

    def newton_swept(self, now: list[Scalar]) -> list[Scalar]:
        """The impulses after one sweep and a step of Newton's method, or two, where these are better.

        The first step may lead out of the cones, and upwards, from where the second finds the solution; both are judged
        where they end.

        Args:
            now: impulses, and last what is added to the diagonal.
        """
        *begin, proximal = now
        swept = self.swept(list(begin))
        n = len(swept)
        found = after_sweeps(self, [*swept, *swept, 0, 0, proximal], 2, "newton_step")
        second, first, (by_first, by_sweep, _) = found[:n], found[n : 2 * n], found[2 * n :]
        by_second = self._violation(second, self.velocities(second))
        last = above(by_first, by_second)
        tried = [x if x is y else scalar.select(last, y, x) for x, y in zip(first, second)]
        better = above(by_sweep, scalar.minimum(by_first, by_second))
        better = better & above(REACH * self._speed(), self._largest(tried))
        chosen = [x if x is y else scalar.select(better, y, x) for x, y in zip(swept, tried)]
        _, most, less, jump, least = PROXIMAL
        good = scalar.maximum(proximal * less, least)
        bad = scalar.select(above(proximal, jump), proximal * jump, most)  # small and large ones by turns
        return [*chosen, scalar.select(better, good, bad)]

    def newton_step(self, now: list[Scalar]) -> list[Scalar]:
        """A step of Newton's method.

        Args:
            now: impulses, and those before the last step; by how much the latter violate the law, and those before
                them; what is added to the diagonal.
        """
        n = (len(now) - 3) // 2
        p, (by_last, _, proximal) = now[:n], now[2 * n :]
        u = self.velocities(p)
        return [*self._newton(p, u, proximal), *p, self._violation(p, u), by_last, proximal]

    def _speed(self) -> Scalar:
        """The largest velocity that the problem speaks of."""
        ends = [*self.bounds.values(), *(end for both in self.ranges.values() for end in both)]
        largest: Scalar = 0
        for x in [*map(scalar.absolute, self.without), *ends]:
            largest = scalar.maximum(largest, x)
        return largest

    def _largest(self, p: Sequence[Scalar]) -> Scalar:
        """The largest velocity that an impulse gives its own row."""
        largest: Scalar = 0
        for k, x in enumerate(p):
            largest = scalar.maximum(largest, scalar.absolute(x * self.A[k][k]))
        return largest

    def velocities(self, p: Sequence[Scalar]) -> list[Scalar]:
        """Along all rows, u = w + A p."""
        return [self._velocity(k, list(p)) for k in range(len(self.A))]

    def _violation(self, p: list[Scalar], u: list[Scalar]) -> Scalar:
        """Squares of the natural map in units of velocity, added: what Newton's steps must reduce."""
        total: Scalar = 0
        for k in self.bounds:
            total = total + _square((p[k] - self._normal(k, p[k], u[k])) / self.steps[k])
        for normal, disk in self.disks:
            back = self._downhill(disk, [p[k] for k in disk], [u[k] for k in disk],
                                  self.coefficients[disk[0]] * p[normal])  # fmt: skip
            step = self.discs[disk[0]][3] if len(disk) == 2 else self.steps[disk[0]]
            total = total + sum(_square((p[k] - x) / step) for k, x in zip(disk, back))
        for k, (lower, upper) in self.ranges.items():
            total = total + _square((p[k] - self._range(k, p[k], u[k], lower, upper)) / self.steps[k])
        for k, most in self.dry.items():
            total = total + _square((p[k] - _clamped(p[k] - u[k] * self.steps[k], most)) / self.steps[k])
        return total

    def brought_back(self, p: list[Scalar]) -> list[Scalar]:
        """Impulses inside their cones, the nearest along normals and along tangents.

        Args:
            p: impulses that Newton's method may have left a little outside.
        """
        p = list(p)
        for k in self.bounds:
            p[k] = scalar.maximum(p[k], 0)
        for normal, disk in self.disks:
            radius = self.coefficients[disk[0]] * p[normal]
            for k, x in zip(disk, _cut([p[k] for k in disk], radius)):
                p[k] = x
        for k, (lower, upper) in self.ranges.items():
            p[k] = (scalar.maximum(p[k], 0) if _reached(lower) else 0) + (
                scalar.minimum(p[k], 0) if _reached(upper) else 0
            )
        for k, most in self.dry.items():
            p[k] = _clamped(p[k], most)
        return p

    def _newton(self, p: list[Scalar], u: list[Scalar], proximal: Scalar) -> list[Scalar]:
        """The impulses that solve the equations of the modes, linearised at p."""
        count = len(p)
        K: list[list[Scalar]] = [[int(i == j) for j in range(count)] for i in range(count)]
        right: list[Scalar] = [0] * count

        def equation(k: int, holds: Scalar, wanted: Scalar, otherwise: Scalar) -> None:
            """(A dp + u)_k = wanted where it holds, p_k + dp_k = otherwise elsewhere."""
            for j in range(count):
                entry = self.A[k][j] * (1 + proximal) if j == k else self.A[k][j]
                K[k][j] = scalar.select(holds, entry, int(j == k))
            right[k] = scalar.select(holds, wanted - u[k], otherwise - p[k])

        for k, bound in self.bounds.items():
            equation(k, above(p[k] - (u[k] - bound) * self.steps[k], 0), bound, 0)
        for k, (lower, upper) in self.ranges.items():
            raised = above(p[k] - (u[k] - lower) * self.steps[k], 0)  # never, where the end is never reached
            lowered = above(0, p[k] - (u[k] + upper) * self.steps[k])
            equation(k, raised | lowered, scalar.select(raised, lower, -upper), 0)
        for k, most in self.dry.items():
            moved = p[k] - u[k] * self.steps[k]
            equation(k, above(most, scalar.absolute(moved)), 0, scalar.select(above(moved, 0), most, -most))
        for normal, disk in self.disks:
            self._newton_disk(normal, disk, p, u, K, right, proximal)
        change = _eliminated(K, right)
        return [x + y for x, y in zip(p, change)]

    def _newton_disk(
        self, normal: int, disk: tuple[int, ...], p: list[Scalar], u: list[Scalar],
        K: list[list[Scalar]], right: list[Scalar], proximal: Scalar,
    ) -> None:  # fmt: skip
        mu, count = self.coefficients[disk[0]], len(p)
        radius = mu * p[normal]
        step = self.discs[disk[0]][3] if len(disk) == 2 else self.steps[disk[0]]
        y = [p[k] - step * u[k] for k in disk]
        square: Scalar = sum(x * x for x in y)
        inside = above(radius * radius, square)
        moves = above(square, 0)
        length = scalar.sqrt(scalar.select(moves, square, 1))
        w = [scalar.select(moves, x / length, 0) for x in y]
        pressed = above(p[normal] - (u[normal] - self.bounds[normal]) * self.steps[normal], 0)
        share = scalar.select(inside, 0, radius / length)
        for i, k in enumerate(disk):
            turns = [0 if len(disk) == 1 else (int(i == j) - w[i] * w[j]) * share for j in range(len(disk))]
            sliding = [t * step for t in turns]
            parts = [scalar.select(pressed, scalar.select(inside, int(m == k), x), 0) for m, x in zip(disk, sliding)]
            for j in range(count):
                if j not in disk and j != normal:
                    K[k][j] = dot(parts, [self.A[m][j] for m in disk])
                    continue
                slides = dot(sliding, [self.A[m][j] for m in disk])
                if j in disk:
                    slides = slides + (int(j == k) - turns[disk.index(j)])
                else:
                    slides = slides - mu * w[i]
                stick = self.A[k][j] * (1 + proximal) if j == k else self.A[k][j]
                K[k][j] = scalar.select(pressed, scalar.select(inside, stick, slides), int(j == k))
            slid = radius * w[i] - p[k]
            right[k] = scalar.select(pressed, scalar.select(inside, -u[k], slid), -p[k])


def without_gain(
    p: list[Scalar], gained: list[Scalar], worth: list[Scalar], moved: list[Scalar], islands: list[list[int]]
) -> tuple[list[Scalar], list[Scalar]]:
    """Impulses that bring in no more energy than the law allows, and A p of these.

    Impulses change the kinetic energy by p (w + u)/2 = p b + (p A p/2 - p (b - w)). Bounds allow p b, which rebounds
    and taking away depths bring in; the rest is never positive where the law holds, because normals end at their bounds
    or without an impulse, and friction opposes the slip. Sweeps that end too early may leave it positive, and bodies of
    very different masses then fly apart. In that case all impulses of the island, which stay in their cones, are scaled
    down to where the rest is least, p A p = p (b - w). The residual, which is that of the scaled impulses, reports it.
    Elsewhere nothing changes, to the bit.

    Args:
        p: impulses after the last sweep.
        gained: A p.
        worth: p (b - w), row by row.
        moved: p A p, row by row; of soft rows p (A + R) p.
        islands: rows that act on each other.
    """
    p, gained = list(p), list(gained)
    for island in islands:
        wanted = scalar.maximum(sum((worth[k] for k in island), 0), 0)
        taken: Scalar = sum((moved[k] for k in island), 0)
        gains = above(taken * (1 - GAIN), 2 * wanted)
        share = scalar.select(gains, wanted / scalar.select(gains, taken, 1), 1)
        for k in island:
            p[k], gained[k] = p[k] * share, gained[k] * share
    return p, gained


def islands(A: list[list[Scalar]], blocks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Rows that act on each other, as far as the tree says so.

    Args:
        A: the Delassus matrix.
        blocks: rows that belong together in any case.
    """
    found: list[list[int]] = []
    for block in blocks:
        near = [x for x in found if any(i == j or not scalar.is_zero(A[i][j]) for i in x for j in block)]
        found = [x for x in found if x not in near] + [sorted({k for x in (*near, block) for k in x})]
    return found


def _least(sizes: list[Scalar], part: float) -> Scalar:
    """A mobility below which a row is idle, of those of its point."""
    size: Scalar = sum(sizes)
    return part * scalar.select(above(size, 0), size, 1)


def _reached(end: Scalar) -> bool:
    return not (scalar.is_number(end) and end == NEVER)


def _square(x: Scalar) -> Scalar:
    return x * x


def _clamped(x: Scalar, most: Scalar) -> Scalar:
    return scalar.maximum(scalar.minimum(x, most), -most)


def _cut(p: list[Scalar], radius: Scalar) -> list[Scalar]:
    """The nearest point of a disk."""
    if len(p) == 1:
        return [_clamped(p[0], radius)]
    square: Scalar = sum(x * x for x in p)
    outside = above(square, radius * radius)
    share = scalar.select(outside, radius / scalar.sqrt(scalar.select(outside, square, 1)), 1)
    return [x * share for x in p]


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


def _eliminated(K: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    """K^-1 right by elimination in the order of the rows, which put every normal before its tangents."""
    n = len(K)
    if n <= UNROLLED or all(scalar.is_number(x) for row in K for x in row):
        return _written_out(K, right)
    rest = arrays.asarray([[*row, x] for row, x in zip(K, right)])
    upper: list[list[Scalar]] = []  # with ones on the diagonal, from there on, and the right-hand side last
    while len(rest):
        width = min(AT_ONCE, len(rest))
        pivots = _upper([list(row) for row in rest[:width]])
        upper += [row[k:] for k, row in enumerate(pivots)]
        below, rest = rest[width:], rest[width:]
        if len(below):
            (rest,) = for_each(_reduced, (below,), (arrays.asarray(pivots),))
    found: list[Scalar] = []  # from the last one backwards
    for row in reversed(upper):
        found.insert(0, row[-1] - dot(row[1:-1], found))
    return found


def _upper(rows: list[list[Scalar]]) -> list[list[Scalar]]:
    """A few rows, eliminated among themselves."""
    for k, row in enumerate(rows):
        pivot = 1 / row[k]
        rows[k] = [int(j == k) if j <= k else x * pivot for j, x in enumerate(row)]
        for i in range(k + 1, len(rows)):
            factor = rows[i][k]
            rows[i] = [0 if j <= k else x - factor * y for j, (x, y) in enumerate(zip(rows[i], rows[k]))]
    return rows


def _reduced(row: Array, pivots: Array) -> tuple[Array]:
    """What is left of a row without the columns of a few others."""
    now = list(row)
    for k, pivot in enumerate(pivots):
        now = [*now[: k + 1], *(x - now[k] * y for x, y in zip(now[k + 1 :], pivot[k + 1 :]))]
    return (arrays.asarray(now[len(pivots) :]),)


def _written_out(K: list[list[Scalar]], right: list[Scalar]) -> list[Scalar]:
    K, right = [list(row) for row in K], list(right)
    n = len(K)
    for k in range(n):
        pivot = 1 / K[k][k]
        for i in range(k + 1, n):
            if scalar.is_zero(K[i][k]):
                continue
            factor = K[i][k] * pivot
            for j in range(k + 1, n):
                if not scalar.is_zero(K[k][j]):
                    K[i][j] = K[i][j] - factor * K[k][j]
            right[i] = right[i] - factor * right[k]
        K[k][k] = pivot
    for k in reversed(range(n)):
        for j in range(k + 1, n):
            if not scalar.is_zero(K[k][j]):
                right[k] = right[k] - K[k][j] * right[j]
        right[k] = right[k] * K[k][k]
    return right

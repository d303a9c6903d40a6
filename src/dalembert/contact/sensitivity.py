"""How the impulses of a rigid step change with its data: the equations of the modes it ends in, differentiated.

With impulses held, a change of the data changes the velocities u along the rows by du, and the bounds by db. Within a
mode the impulses then change by dp such that

    open         dp = 0
    pressed      (A dp + du)_n = db
    sticks       (A dp + du)_t = 0
    slides       dp_t + mu w dp_n + dmu w p_n + mu p_n (1 - w w^T)/|u_t| (A dp + du)_t = 0,     w = u_t/|u_t|

which is one linear system, solved for all changes at once. It is exact at the solution; of sweeps that have not
converged it knows no more than what they found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.linalg import solve
from dalembert.algebra.scalar import Scalar
from dalembert.constraints.known_rank import dot
from dalembert.contact.carriers import Carriers
from dalembert.contact.pairs import above
from dalembert.contact.rigid import ContactProblem

INSIDE = 1 - 1e-9
"""Friction below this part of its square limit sticks."""

REDUNDANT = 1e-12
"""Added to the diagonal, relative to it: contacts whose single forces are not unique share a change somehow."""

Slope = Callable[[Scalar, list[Scalar]], list[Scalar]]
"""Partial derivatives of a scalar by others that are held independent of each other."""


def impulse_derivatives(
    problem: ContactProblem,
    carriers: Carriers,
    impulses: Array,
    u: Array,
    du: Array,
    gaps: dict[int, tuple[Array, ...]],
    before: Array,
    without: Array,
    slope: Slope,
    distances: dict[int, tuple[Scalar, ...]],
    numbers: Sequence[Scalar] = (),
) -> Array:
    """G^T dp along several directions: of the impulses along the carriers, (carriers, k).

    Args:
        problem: what was solved.
        carriers: of its rows, by which the change of all velocities goes.
        impulses: that were found.
        u: velocities along the rows after the step.
        du: their derivatives at held impulses, (rows, k).
        gaps: derivatives of the distances that bounds depend on, (k,) each, by row: one, or lower and upper.
        before: derivatives of the velocities along the rows before the step, (rows, k).
        without: of those after it without contacts, (rows, k).
        slope: gives partial derivatives.
        distances: those distances themselves.
        numbers: scalars that restitution, friction and dry friction may depend on by themselves; each changes along
            one of the last directions, with the rate 1.
    """
    count, width = du.shape
    A, p = problem.A, impulses
    K: list[list[Scalar]] = [[int(i == j) for j in range(count)] for i in range(count)]
    right: list[list[Scalar]] = [[0] * width for _ in range(count)]

    own = [[int(j == width - len(numbers) + i) for j in range(width)] for i in range(len(numbers))]

    def bound_change(bound: Scalar, k: int, which: int) -> list[Scalar]:
        changes = [gaps[k][which], before[k], without[k], *own]
        parts = slope(bound, [distances[k][which], problem.before[k], problem.without[k], *numbers])
        return [dot(parts, [change[j] for change in changes]) for j in range(width)]

    def number_change(number: Scalar) -> list[Scalar]:
        parts = slope(number, list(numbers))
        return [dot(parts, [change[j] for change in own]) for j in range(width)]

    def equation(k: int, holds: object, change: list[Scalar]) -> None:
        """(A dp + du)_k = change where it holds, dp_k = 0 elsewhere."""
        for j in range(count):
            entry = A[k][j] * (1 + REDUNDANT) if j == k else A[k][j]
            K[k][j] = scalar.select(holds, entry, int(j == k))
        right[k] = [scalar.select(holds, x - y, 0) for x, y in zip(change, du[k])]

    for k, bound in problem.bounds.items():
        equation(k, above(p[k], 0), bound_change(bound, k, 0))
    for k, (lower, upper) in problem.ranges.items():
        raised = above(p[k], 0)
        first, second = bound_change(lower, k, 0), bound_change(upper, k, 1)
        change = [scalar.select(raised, x, -y) for x, y in zip(first, second)]
        equation(k, above(scalar.absolute(p[k]), 0), change)
    for k, most in problem.dry.items():
        holds = above(most * most * INSIDE, p[k] * p[k])
        equation(k, holds, [0] * width)
        sign = scalar.select(above(0, p[k]), -1, 1)
        right[k] = [scalar.select(holds, x, sign * y) for x, y in zip(right[k], number_change(most))]
    for normal, disk in problem.disks:
        _disk(problem, normal, disk, p, u, du, number_change(problem.coefficients[disk[0]]), K, right)
    shares = arrays.asarray([[share.get(c, 0) for c in range(len(carriers.C))] for share in carriers.shares])
    shares = shares.reshape(count, len(carriers.C))
    matrix, wanted = arrays.asarray(K).reshape(count, count), arrays.asarray(right).reshape(count, width)
    if len(carriers.C) < count:  # K^-T G has fewer columns than there are directions
        return arrays.product(solve(matrix.T, shares, "dominant").T, wanted)
    return arrays.product(shares.T, solve(matrix, wanted, "dominant"))


def _disk(
    problem: ContactProblem, normal: int, disk: tuple[int, ...], p: Array, u: Array, du: Array, dmu: list[Scalar],
    K: list[list[Scalar]], right: list[list[Scalar]],
) -> None:  # fmt: skip
    A, mu, count = problem.A, problem.coefficients[disk[0]], len(K)
    radius = mu * p[normal]
    sticks = above(radius * radius * INSIDE, sum(p[k] * p[k] for k in disk))
    square = sum(u[k] * u[k] for k in disk)
    moves = above(square, 0)
    speed = scalar.sqrt(scalar.select(moves, square, 1))
    w = [scalar.select(moves, u[k] / speed, 0) for k in disk]
    for i, k in enumerate(disk):
        # Rows of radius/|u| (1 - w w^T); a disk of one row has none: its friction turns nowhere.
        across = [0 if len(disk) == 1 else ((1 if i == j else 0) - w[i] * w[j]) * (radius / speed)
                  for j in range(len(disk))]  # fmt: skip
        for j in range(count):
            slides = dot(across, [A[m][j] for m in disk])
            slides = slides + int(j == k)
            if j == normal:
                slides = slides + mu * w[i]
            stick = A[k][j] * (1 + REDUNDANT) if j == k else A[k][j]
            K[k][j] = scalar.select(sticks, stick, slides)
        right[k] = [
            scalar.select(sticks, -du[k][j], -dot(across, [du[m][j] for m in disk]) - w[i] * p[normal] * dmu[j])
            for j in range(du.shape[1])
        ]

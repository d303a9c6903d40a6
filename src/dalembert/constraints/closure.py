"""Closing loops: one damped Newton's method, for assembly, for states that have drifted, for samples and for pictures.

Every step is the least-squares solution of G dq = -phi on the tangent space, in the units of
:mod:`dalembert.constraints.scaling`; where that leads up, dq is damped (Levenberg 1944, Marquardt 1963) until it leads
down. The start decides which of several assembly modes is found. Where no way leads down from it, further starts are
tried, random but always the same, farther and farther around it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.scalar import Scalar
from dalembert.constraints.loops import HALF_TURNS
from dalembert.constraints.rank import UNDECIDED_DIRECTION, Decomposition, Known
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError, ModelWarning, SingularityError
from dalembert.kinematics.manifold import moved
from dalembert.model import Constraint, Mechanism
from dalembert.model.checks import expect_names, expect_real, expect_whole
from dalembert.model.names import named_positions
from dalembert.text.layout import counted

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

LONGEST_STEP = 1.0
"""Longest step of any coordinate, in its unit: farther away the linearization means nothing."""

DAMPINGS = (0.0, *(10.0**k for k in range(-4, 13, 2)))
"""Tried one after the other, relative to the largest squared gradient; the last makes steps of the last digit."""

RESTARTS = 12
"""How many other starts are tried where there is no way down from the given one."""

SAME_ASSEMBLY = 0.1
"""Assemblies closer than this, in units of their coordinates, may be one."""

MOBILITY_TRIAL = 0.02
"""How far joints are moved to see whether they can, in units of their coordinates."""


def newton(
    at: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    move: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    tolerance: float,
    iterations: int,
    longest: Callable[[np.ndarray], Any] = lambda phi: LONGEST_STEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Positions from which no way leads down any more, and what is left of the residuals there.

    Args:
        at: residuals and their gradients at positions, both without units.
        move: positions moved by a step.
        q: where to start.
        tolerance: below this largest residual one more step is made, for the last digits.
        iterations: largest number of steps.
        longest: how far any coordinate, or each of them, may go at once, given the residuals.
    """
    phi, G = at(q)
    closing = 0
    for _ in range(iterations):
        if not (np.isfinite(phi).all() and np.isfinite(G).all()):
            break
        if np.abs(phi).max(initial=0.0) <= tolerance:
            closing += 1
            if closing > 1:
                break
        for damping in DAMPINGS:
            step = _step(G, phi, damping)
            step /= max(1.0, float(np.abs(step / longest(phi)).max(initial=0.0)))
            trial = move(q, step)
            new_phi, new_G = at(trial)
            if np.linalg.norm(new_phi) < (1 - 1e-4) * np.linalg.norm(phi) and np.isfinite(new_G).all():
                q, phi, G = trial, new_phi, new_G
                break
        else:
            break  # no way down: a minimum that is not zero, or the last digit
    return q, phi


def descend(
    system: Constrained, q: np.ndarray, t: float, free: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """The same for the rows on positions of a mechanism, in their units.

    Args:
        q: where to start.
        free: which velocities may be moved along.
        tolerance: of :func:`newton`.
        iterations: of :func:`newton`.
    """
    on_positions, scaling = system.constraints.holonomic, system.scaling

    def at(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, G = system.evaluate("closing", position, t)
        return (phi / scaling.rows)[on_positions], scaling.dimensionless(G)[on_positions][:, free]

    def move(position: np.ndarray, step: np.ndarray) -> np.ndarray:
        along = np.zeros(len(free))
        along[free] = step
        return moved(system.mechanism.tree, position, along * scaling.velocities)

    return newton(at, move, q, tolerance, iterations)


def _step(G: np.ndarray, phi: np.ndarray, damping: float) -> np.ndarray:
    """Least |G dq + phi|^2 + damping |dq|^2, with the damping relative to G."""
    if not damping:
        return Decomposition.of(G, columns=np.ones(G.shape[1])).solve(-phi)
    n = G.shape[1]
    weight = np.sqrt(damping) * np.abs(G).max(initial=1e-300)
    return np.linalg.lstsq(np.vstack([G, weight * np.eye(n)]), np.concatenate([-phi, np.zeros(n)]), rcond=None)[0]


def assemble(
    system: Constrained,
    q: Any,
    t: float = 0.0,
    keep: Sequence[str] = (),
    *,
    tolerance: float = 1e-11,
    iterations: int = 200,
    restarts: int = RESTARTS,
    seed: int = 0,
) -> np.ndarray:
    """Positions that satisfy the constraints; SingularityError with the residual of every constraint if none are found.

    Other starts differ from the given one by normal deviates of 0.2, 0.4, ..., up to 2, m or rad; of a mechanism
    larger than a metre, its longest distance or rad.

    Args:
        q: where to start.
        keep: joints whose positions must not change.
        tolerance: largest residual, rad or lengths of the loop, and relative to the largest coordinate where that
            exceeds one.
        iterations: largest number of steps from each start.
        restarts: number of other starts, if the given one leads nowhere; 0 stays near the given one or fails.
    """
    mechanism = system.mechanism
    start, t = start_of(system, q), expect_real(t, "t")
    tolerance, iterations = expect_real(tolerance, "tolerance", 0), expect_whole(iterations, "iterations")
    free = free_velocities(mechanism, keep)
    tolerance *= max(1.0, float(np.abs(start).max(initial=0.0)))
    start = mechanism.normalise(start)
    on_positions = system.constraints.holonomic
    check_gradients(system, system.evaluate("positions", start, t)[1][on_positions], t, on_positions)
    restarts = expect_whole(restarts, "restarts")
    rng = np.random.default_rng(expect_whole(seed, "seed", high=2**64))
    scaling = system.scaling
    least, best = np.inf, np.full(int(on_positions.sum()), np.nan)
    for k in range(1 + restarts):
        step = np.where(free, rng.normal(size=mechanism.nv) * min(0.2 * k, 2.0), 0.0) * scaling.velocities
        found, residual = descend(system, moved(mechanism.tree, start, step), t, free, tolerance, iterations)
        left = float(np.nan_to_num(np.abs(residual), nan=np.inf).max(initial=0.0))
        if left <= tolerance and not mirrored(system, found, t):
            return found
        if tolerance < left < least:
            least, best = left, residual
    best = best * scaling.rows[on_positions]
    raise SingularityError(_cannot(system, best, expect_names(keep, "keep"), t, restarts))


def start_of(system: Constrained, q: Any) -> np.ndarray:
    mechanism = system.mechanism
    start = np.array(named_positions(mechanism, q, "q", system.reference, batch=False))
    if start.shape != (mechanism.nq,):
        raise ArgumentError(f"q has shape {start.shape}, but {mechanism.name!r} needs ({mechanism.nq},)")
    if not np.isfinite(start).all():
        raise ArgumentError(f"q = {start} is not finite")
    return start


def free_velocities(mechanism: Mechanism, keep: Sequence[str]) -> np.ndarray:
    free = np.ones(mechanism.nv, dtype=bool)
    for name in expect_names(keep, "keep"):
        free[mechanism.v_slice(name)] = False
    return free


def _cannot(system: Constrained, residual: np.ndarray, keep: Sequence[str], t: float, restarts: int) -> str:
    rows = [row for row in system.rows if row.holonomic]
    worst: dict[str, tuple[float, str]] = {}
    lengths = {item.name: float(item.value) for item in system.numbers.constraints if item.kind == "distance"}
    for row, x in zip(rows, np.nan_to_num(residual, nan=np.inf)):
        if length := lengths.get(row.constraint):  # given as a length, not as (d^2 - L^2) / 2L
            x = np.sqrt(max(length * (length + 2 * x), 0.0)) - length
        if abs(x) >= worst.get(row.constraint, (-1.0, ""))[0]:
            worst[row.constraint] = (abs(float(x)), row.meaning)
    lines = [f"  {name}: {size:.3g} ({meaning})" for name, (size, meaning) in worst.items()]
    held = f" with {', '.join(map(repr, keep))} held" if keep else ""
    return (
        f"{system.mechanism.name!r} cannot be assembled from this start{held} at t = {t:g} s"
        + (f", nor from {restarts} others around it" if restarts else "")
        + "; largest residual of each constraint, m or rad:\n"
        + "\n".join(lines)
        + "\nGive another start, hold fewer joints, or check the geometry"
    )


def mirrored(
    system: Constrained, q: np.ndarray, t: float = 0.0, what: tuple[str, ...] = ("axes", "frames")
) -> list[str]:
    """Names of closures whose axes point against each other, or whose frames are half a turn apart.

    Such positions satisfy the equations too, because sines vanish twice; those of assembly are not defined there.

    Args:
        what: which closures are looked at: those of axes, of frames.
    """
    state = State(system.numbers, q, None, t)
    closures = [item for item in system.numbers.constraints if HALF_TURNS.get(item.kind) in what]
    return [item.name for item in closures if facing(state, item) < 0]


def facing(state: State, item: Constraint) -> Scalar:
    """The cosine, or one that has its sign, that is negative where axes or frames of a closure are more than a quarter
    turn apart; one for constraints that have none.

    Args:
        state: of the mechanism, over any scalar.
    """
    turned = HALF_TURNS.get(item.kind)
    if turned is None:
        return 1.0
    R = state.pair(item).rotation
    return R[2, 2] if turned == "axes" else R[0, 0] + R[1, 1] + R[2, 2] - 1


# ------------------------------------------------------------------------------------------------------ assembly modes


def assembly_modes(
    system: Constrained,
    q: Any = None,
    t: float = 0.0,
    keep: Sequence[str] = (),
    *,
    starts: int = 60,
    spread: float = 2.0,
    seed: int = 0,
) -> list[np.ndarray]:
    """Different assemblies with some joints held, found from random starts; in the order in which they were found.

    Args:
        q: positions of the held joints, and the first start; the reference by default.
        keep: joints whose positions are held; enough of them that assemblies are isolated points. Those where others
            can move nevertheless are left out, with a warning.
        starts: how many are tried.
        spread: standard deviation of the random starts, m or rad; of a mechanism larger than a metre, its longest
            distance or rad.
        seed: of the random starts.
    """
    mechanism = system.mechanism
    rng = np.random.default_rng(expect_whole(seed, "seed", high=2**64))
    starts, spread = expect_whole(starts, "starts", 1), expect_real(spread, "spread", 0)
    base = start_of(system, system.reference if q is None else q)
    free = free_velocities(mechanism, keep)
    unit = system.scaling.velocities
    modes: list[np.ndarray] = []
    marks: list[np.ndarray] = []
    for k in range(starts):
        step = np.where(free, rng.normal(size=mechanism.nv) * spread * unit, 0.0) if k else np.zeros(mechanism.nv)
        try:
            found = assemble(system, moved(mechanism.tree, base, step), t, keep, restarts=0)
        except SingularityError:
            continue
        mark = _mark(mechanism, found, unit)
        apart = [float(np.abs(mark - other).max(initial=0.0)) for other in marks]
        if all(x > 1e-5 and not (x < SAME_ASSEMBLY and _same(system, found, mode, t)) for x, mode in zip(apart, modes)):
            modes.append(found)
            marks.append(mark)
    return _isolated(system, modes, t, keep, free)


def _same(system: Constrained, a: np.ndarray, b: np.ndarray, t: float) -> bool:
    """Whether loops are closed between two assemblies, too: one at a dead centre is found roughly only."""
    limit = 1e-10 * max(1.0, float(np.abs(a).max(initial=0.0)))  # ten times what assembly leaves
    for part in (0.5, 0.3):  # half way there may be a third
        q = a.copy()
        for link in system.mechanism.tree.links:
            if link.kind == "spherical":
                own = slice(link.q, link.q + 4)
                q[own] = (1 - part) * a[own] + part * b[own] * np.copysign(1.0, a[own] @ b[own])
            else:
                way = b[link.q] - a[link.q]
                q[link.q] += part * (np.remainder(way + np.pi, 2 * np.pi) - np.pi if link.rotates else way)
        q = system.mechanism.normalise(q)
        phi = (system.evaluate("closing", q, t)[0] / system.scaling.rows)[system.constraints.holonomic]
        if not np.abs(phi).max(initial=0.0) < limit:
            return False
    return True


def _isolated(
    system: Constrained, modes: list[np.ndarray], t: float, keep: Sequence[str], free: np.ndarray
) -> list[np.ndarray]:
    """The assemblies whose other joints cannot move; an error if there is none, a warning for those left out.

    Where rows lose rank they seem to be able to, and a step decides whether they can.
    """
    mechanism, unit = system.mechanism, system.scaling.velocities
    found: list[np.ndarray] = []
    moving = np.zeros(mechanism.nv)
    freedoms = 0
    for q in modes:
        G = system.scaling.dimensionless(system.evaluate("positions", q, t)[1])
        rows = Decomposition.of(G[system.constraints.holonomic][:, free])
        along = np.zeros((mechanism.nv, int(free.sum()) - rows.rank))
        along[free] = rows.null_space
        if not any(_leads_on(system, q, t, keep, unit * x / np.abs(x).max()) for x in along.T):
            found.append(q)
            continue
        moving, freedoms = np.maximum(moving, np.abs(along).max(axis=1)), max(freedoms, along.shape[1])
    joint = system.velocity_names()[int(moving.argmax())] if len(moving) else ""
    if modes and not found:
        raise ArgumentError(
            f"assemblies of {mechanism.name!r} with these joints held are no isolated points: "
            f"{counted(freedoms, 'freedom is', 'freedoms are')} left. Hold more joints in keep=, for example the one "
            f"of {joint!r}"
        )
    if len(found) < len(modes):
        warnings.warn(
            f"{mechanism.name!r}: of the assemblies that were found {len(modes) - len(found)} are left out, for joints "
            f"that are not held can move there, {joint!r} for example",
            ModelWarning,
            stacklevel=4,
        )
    return found


def _leads_on(system: Constrained, q: np.ndarray, t: float, keep: Sequence[str], step: np.ndarray) -> bool:
    """Whether there are assemblies a little along a way, and not just this one again."""
    for way in (MOBILITY_TRIAL, -MOBILITY_TRIAL):
        try:
            there = assemble(system, moved(system.mechanism.tree, q, way * step), t, keep, restarts=0)
        except SingularityError:
            continue
        unit = system.scaling.velocities
        if (
            np.abs(_mark(system.mechanism, there, unit) - _mark(system.mechanism, q, unit)).max(initial=0.0)
            > MOBILITY_TRIAL / 10
        ):
            return True
    return False


def _mark(mechanism: Mechanism, q: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Positions as numbers that do not care for whole turns or the sign of a quaternion, in their units."""
    entries: list[float] = []
    for link in mechanism.tree.links:
        own = np.asarray(link.position(q), dtype=float)
        if link.kind == "spherical":
            entries += np.outer(own, own).ravel().tolist()
        elif link.kind == "revolute":
            entries += [np.cos(own[0]), np.sin(own[0])]
        else:
            entries.append(float(own[0]) / float(unit[link.v]))
    return np.array(entries)


# ------------------------------------------------------------------------------------------- states that have drifted


ITERATIONS = 6
"""Steps of Newton's method that bring a state back that has drifted; they are quadratic, as it is close."""


def restored(system: Constrained, t: float, q: np.ndarray) -> np.ndarray:
    """Positions close to the constraints brought back to them by the least displacement.

    Args:
        q: positions, with unit quaternions.
    """
    scaling, on_positions = system.scaling, system.constraints.holonomic
    known, lost = Known(system.positional.rank), UNDECIDED_DIRECTION * system.usual_size
    before = np.inf
    for _ in range(ITERATIONS):
        phi, G = system.evaluate("positions", q, t)
        phi, G = (phi / scaling.rows)[on_positions], scaling.dimensionless(G)[on_positions]
        worst = float(np.abs(phi).max(initial=0.0))
        if worst < 1e-15 or not worst < before:  # as close as rounding allows
            break
        if not np.isfinite(G).all():  # of a motion that is about to end
            return np.full_like(q, np.nan)
        before = worst
        step = Decomposition.of(G, known, lost, np.ones(G.shape[1])).solve(-phi)
        q = moved(system.mechanism.tree, q, scaling.velocities * step)
    return q


# -------------------------------------------------------------------------------------------------------------- checks


def check_gradients(system: Constrained, G: np.ndarray, t: float, chosen: np.ndarray | None = None) -> None:
    """An error where a constraint has no direction, as a rolling disc that lies flat: nothing says how to move.

    Args:
        G: gradients, a row each.
        chosen: which rows of the constraints they are; all by default.
    """
    rows = [row for k, row in enumerate(system.rows) if chosen is None or chosen[k]]
    lost = [row.constraint for row, gradient in zip(rows, G) if not np.isfinite(gradient).all()]
    if lost:
        raise SingularityError(
            f"{system.mechanism.name!r}: at these positions and t = {t:g} s the gradient of constraint "
            f"{', '.join(map(repr, dict.fromkeys(lost)))} is not defined; start from positions where it is (a disc "
            "that lies flat has no lowest point, a user's function may be out of its domain)"
        )

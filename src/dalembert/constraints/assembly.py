"""Putting a mechanism together: positions and velocities that satisfy its constraints.

Gauss-Newton steps on the tangent space with a line search; the start decides which of several assemblies is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.quaternions import quaternion_exp, quaternion_star
from dalembert.constraints import numeric
from dalembert.constraints.loops import LOOP_ROWS
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Mechanism
from dalembert.model.checks import expect_names, expect_real, expect_whole, real_array

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

STEP = 1.0
"""Longest step of any coordinate, m or rad: farther away the linearization means nothing."""


def moved(mechanism: Mechanism, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Positions displaced along a tangent vector: what the velocity ``step`` would do in unit time.

    Args:
        mechanism: the mechanism.
        q: positions.
        step: displacement, nv.
    """
    q = q.copy()
    done: set[int] = set()
    for link in mechanism.tree.links:
        if link.q in done:  # a mimic joint moves with its leader
            continue
        done.add(link.q)
        if link.kind == "spherical":
            turn = quaternion_exp(step[link.v : link.v + 3])
            eta = quaternion_star(q[link.q : link.q + 4], turn)
            q[link.q : link.q + 4] = eta / np.linalg.norm(eta)
        else:
            q[link.q] += step[link.v]
    return q


def assemble(
    system: ConstrainedKernels,
    q: Any,
    t: float = 0.0,
    keep: Sequence[str] = (),
    *,
    tolerance: float = 1e-11,
    iterations: int = 200,
) -> np.ndarray:
    """Positions that satisfy the constraints; SingularityError with the residual of every constraint if none are found.

    Args:
        system: the constrained mechanism.
        q: where to start.
        t: time, s.
        keep: joints whose positions must not change.
        tolerance: largest residual, m or rad, relative to the largest coordinate where that exceeds one.
        iterations: largest number of steps.
    """
    mechanism = system.mechanism
    start, t = _start(mechanism, q), expect_real(t, "t")
    tolerance, iterations = expect_real(tolerance, "tolerance", 0), expect_whole(iterations, "iterations")
    free = _free(mechanism, keep)
    tolerance *= max(1.0, float(np.abs(start).max(initial=0.0)))
    found, residual = _descend(system, start, t, free, tolerance, iterations)
    if not np.abs(residual).max(initial=0.0) <= tolerance:
        raise SingularityError(_cannot(system, residual, expect_names(keep, "keep"), t))
    wrong = mirrored(system, found, t)
    if wrong:
        raise SingularityError(
            f"{mechanism.name!r}: from this start {', '.join(map(repr, wrong))} closes the wrong way round (frames "
            "turned by half a turn); start from positions nearer to the assembly that is meant"
        )
    return found


def _start(mechanism: Mechanism, q: Any) -> np.ndarray:
    start = np.array(real_array(q, "q"))
    if start.shape != (mechanism.nq,):
        raise ArgumentError(f"q has shape {start.shape}, but {mechanism.name!r} needs ({mechanism.nq},)")
    if not np.isfinite(start).all():
        raise ArgumentError(f"q = {start} is not finite")
    return start


def _free(mechanism: Mechanism, keep: Sequence[str]) -> np.ndarray:
    free = np.ones(mechanism.nv, dtype=bool)
    for name in expect_names(keep, "keep"):
        free[mechanism.v_slice(name)] = False
    return free


def _descend(
    system: ConstrainedKernels, q: np.ndarray, t: float, free: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Newton with step halving, then one more step to get the last digits."""
    on_positions = system.constraints.holonomic
    _normalise(system.mechanism, q)
    phi, G = system.evaluate("positions", q, t)
    phi, G = phi[on_positions], G[on_positions][:, free]
    check_gradients(system, G, t, on_positions)
    closing = 0
    for _ in range(iterations):
        if not np.isfinite(phi).all():
            break
        if np.abs(phi).max(initial=0.0) <= tolerance:
            closing += 1
            if closing > 1:
                break
        step = np.zeros(len(free))
        step[free] = np.linalg.lstsq(G, -phi, rcond=1e-9)[0]
        step *= min(1.0, STEP / max(np.abs(step).max(initial=0.0), 1e-300))
        for halvings in range(30):
            trial = moved(system.mechanism, q, step / 2**halvings)
            new_phi, new_G = system.evaluate("positions", trial, t)
            new_phi, new_G = new_phi[on_positions], new_G[on_positions][:, free]
            better = np.linalg.norm(new_phi) < (1 - 1e-4 / 2**halvings) * np.linalg.norm(phi)
            if better and np.isfinite(new_G).all():
                q, phi, G = trial, new_phi, new_G
                break
        else:
            break  # no way down: a minimum that is not zero, or the last digit
    return q, phi


def check_gradients(system: ConstrainedKernels, G: np.ndarray, t: float, chosen: np.ndarray | None = None) -> None:
    """An error where a constraint has no direction, as a rolling disc that lies flat: nothing says how to move.

    Args:
        system: the constrained mechanism.
        G: gradients, a row each.
        t: time, s.
        chosen: which rows of the constraints they are; all by default.
    """
    rows = [row for k, row in enumerate(system.rows) if chosen is None or chosen[k]]
    lost = [row.constraint for row, gradient in zip(rows, G) if not np.isfinite(gradient).all()]
    if lost:
        raise SingularityError(
            f"{system.mechanism.name!r}: at these positions and t = {t:g} s the gradient of constraint "
            f"{', '.join(map(repr, dict.fromkeys(lost)))} is not defined; start from positions where it is (a disc "
            "that lies flat has no lowest point)"
        )


def _normalise(mechanism: Mechanism, q: np.ndarray) -> None:
    for link in mechanism.tree.links:
        if link.kind == "spherical":
            length = np.linalg.norm(q[link.q : link.q + 4])
            if length == 0:
                raise ArgumentError(f"joint {link.joint!r}: the quaternion is zero; identity is (0, 0, 0, 1)")
            q[link.q : link.q + 4] /= length


def _cannot(system: ConstrainedKernels, residual: np.ndarray, keep: Sequence[str], t: float) -> str:
    rows = [row for row in system.rows if row.holonomic]
    worst: dict[str, tuple[float, str]] = {}
    for row, x in zip(rows, residual):
        if abs(x) >= worst.get(row.constraint, (-1.0, ""))[0]:
            worst[row.constraint] = (abs(float(x)), row.meaning)
    lines = [f"  {name}: {size:.3g} ({meaning})" for name, (size, meaning) in worst.items()]
    held = f" with {', '.join(map(repr, keep))} held" if keep else ""
    return (
        f"{system.mechanism.name!r} cannot be assembled from this start{held} at t = {t:g} s; largest residual of each "
        "constraint, m or rad:\n" + "\n".join(lines) + "\nGive another start, hold fewer joints, or check the geometry"
    )


def mirrored(system: ConstrainedKernels, q: np.ndarray, t: float = 0.0) -> list[str]:
    """Names of closures whose axes point against each other, or whose frames are half a turn apart.

    Such positions satisfy the equations too, because sines vanish twice.

    Args:
        system: the constrained mechanism.
        q: positions.
        t: time, s.
    """
    state = State(system.numbers, q, None, t)
    found = []
    for item in system.numbers.constraints:
        meanings = LOOP_ROWS.get(item.kind, ())
        if "tilt about x" not in meanings and "turn about x" not in meanings:
            continue
        R = state.pair(item).rotation
        measure = R[2, 2] if "tilt about x" in meanings else np.trace(np.asarray(R, dtype=float)) - 1
        if measure < 0:
            found.append(item.name)
    return found


def samples(system: ConstrainedKernels, count: int = 4, spread: float = 0.3) -> list[np.ndarray]:
    """Assembled positions around the reference, the reference itself (assembled) among them if that is possible.

    Args:
        system: the constrained mechanism.
        count: how many.
        spread: standard deviation of the random starts, m or rad.
    """
    if not system.constraints.count:
        return [np.asarray(system.reference, dtype=float)]
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    failure: Exception | None = None
    for k in range(6 * count):
        step = rng.normal(size=system.mechanism.nv) * spread if k else np.zeros(system.mechanism.nv)
        try:
            found.append(assemble(system, moved(system.mechanism, np.array(system.reference), step), 0.0))
        except SingularityError as error:
            failure = failure or error
        if len(found) == count:
            break
    if not found:
        raise SingularityError(f"give reference=, positions near an assembly: {failure}") from failure
    return found


def assembly_modes(
    system: ConstrainedKernels,
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
        system: the constrained mechanism.
        q: positions of the held joints, and the first start; the reference by default.
        t: time, s.
        keep: joints whose positions are held; enough of them that assemblies are isolated points.
        starts: number of starts.
        spread: standard deviation of the random starts, m or rad.
        seed: of the random starts.
    """
    mechanism = system.mechanism
    rng = np.random.default_rng(expect_whole(seed, "seed", high=2**64))
    starts, spread = expect_whole(starts, "starts", 1), expect_real(spread, "spread", 0)
    base = _start(mechanism, system.reference if q is None else q)
    free = _free(mechanism, keep)
    modes: list[np.ndarray] = []
    marks: list[np.ndarray] = []
    for k in range(starts):
        step = np.where(free, rng.normal(size=mechanism.nv) * spread, 0.0) if k else np.zeros(mechanism.nv)
        try:
            found = assemble(system, moved(mechanism, base, step), t, keep)
        except SingularityError:
            continue
        mark = _mark(mechanism, found)
        if all(np.abs(mark - other).max(initial=0.0) > 1e-5 for other in marks):
            modes.append(found)
            marks.append(mark)
    return modes


def _mark(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """Positions as numbers that do not care for whole turns or the sign of a quaternion."""
    entries: list[float] = []
    for link in mechanism.tree.links:
        own = np.asarray(link.position(q), dtype=float)
        if link.kind == "spherical":
            entries += np.outer(own, own).ravel().tolist()
        elif link.kind == "revolute":
            entries += [np.cos(own[0]), np.sin(own[0])]
        else:
            entries.append(float(own[0]))
    return np.array(entries)


def project_velocity(
    system: ConstrainedKernels, q: Any, v: Any, t: float = 0.0, keep: Sequence[str] = (), tolerance: float = 1e-9
) -> np.ndarray:
    """Velocities that satisfy the constraints: v + dv with dv of least kinetic energy.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints.
        v: velocities to start from.
        t: time, s.
        keep: joints whose velocities must not change.
        tolerance: largest violation, relative to the size of the velocities.
    """
    mechanism = system.mechanism
    q, v, t, keep = _start(mechanism, q), np.array(real_array(v, "v")), expect_real(t, "t"), expect_names(keep, "keep")
    if v.shape != (mechanism.nv,):
        raise ArgumentError(f"v has shape {v.shape}, but {mechanism.name!r} needs ({mechanism.nv},)")
    _, G, rate, _ = system.evaluate("constraints", q, v, t)
    check_gradients(system, G, t)
    M = system.evaluate("mass_matrix", q)
    free = _free(mechanism, keep)
    missing = rate - G @ v
    # A trace of the identity lets coordinates that move no mass take part.
    weight = M[np.ix_(free, free)] + 1e-9 * np.trace(M) / max(len(M), 1) * np.eye(int(free.sum()))
    solution = numeric.solve(weight, G[:, free], np.zeros(int(free.sum())), missing)
    scale = np.abs(rate).max(initial=0.0) + np.abs(G).max(initial=0.0) * np.abs(v).max(initial=0.0)
    if solution.violation > tolerance * max(scale, 1e-300):
        left = np.abs(G[:, free] @ solution.a - missing)
        lines = [f"  {row}: {x:.3g}" for row, x in zip(system.rows, left) if x > tolerance * scale]
        held = f" with {', '.join(map(repr, keep))} held" if keep else ""
        raise SingularityError(
            f"{mechanism.name!r} has no velocities that satisfy its constraints{held} at t = {t:g} s; left are\n"
            + "\n".join(lines)
        )
    v[free] += solution.a
    return v

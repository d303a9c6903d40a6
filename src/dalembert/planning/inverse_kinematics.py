"""Inverse kinematics: positions at which frames are where they are wanted (THESIS 2.3.3, 8.2).

    arm = da.load("puma560")
    found = da.inverse_kinematics(arm, da.Goal("tool", position=[0.4, 0.1, 0.3]))
    found.q, found.reached, found.position_error

The sum of the squared distances and angles that are left is made small by damped Gauss-Newton steps (Levenberg),

    d = J^T (J J^T + lambda 1)^-1 e ,

the damping lambda smaller after a step that helped and larger after one that did not, which is taken back. Joints stay
in their ranges: one that stands at an end of its range and is pushed outwards is left out of the step. One step of all
that is one compiled kernel, applied to all states at once that are not finished.

The rotation error is the rotation vector from the frame to the goal. Its derivative is not the Jacobian but -J_l^-1 w;
since J_l e = e, the gradient of its square is exact nevertheless.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.quaternions import (
    quaternion_conjugate,
    quaternion_from_rotation,
    quaternion_log,
    quaternion_star,
    rotation_from_quaternion,
)
from dalembert.algebra.scalar import maximum, minimum, select, sqrt
from dalembert.algorithms.analytic_jacobian import frame_quaternion
from dalembert.algorithms.triangular import factor
from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.kinematics import jacobian, pose
from dalembert.kinematics.manifold import displaced, normalised, quaternion_places
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_items, expect_real, real_array, shown
from dalembert.model.consumers import heed
from dalembert.model.names import as_names
from dalembert.model.record import fingerprint
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.planning.limits import drive_limits
from dalembert.simulation.state import as_position
from dalembert.tracing.program import Port

REACHED, NEAREST, UNFINISHED = "reached", "nearest", "unfinished"
"""Every goal is met; no small change of the position comes nearer; steps ran out."""

LEAST_DAMPING, MOST_DAMPING = 1e-14, 1e8
"""Of steps, relative to the mean squared entry of J J^T; beyond the most no step is left that helps."""

FLAT = 1e-9
"""The gradient counts as zero below this part of what it would be if every joint pulled straight at the goal."""

STATES_AT_ONCE = 1 << 16
"""How many states are worked on at once; more are taken in turn, so that memory stays small."""


@dataclass(frozen=True, eq=False)
class Goal:
    """Where a frame is wanted. Arrays may have leading batch dimensions; those of all goals are broadcast.

    Args:
        frame: name of a frame or body.
        position: of the point, world axes, m, (..., 3); None: anywhere.
        rotation: rotation matrices (..., 3, 3), frame to world components, or unit quaternions (..., 4), scalar last;
            None: any attitude.
        point: that is to be at the position, components in the frame.
        weights: of the position, 1/m, and of the rotation, 1/rad, where goals compete.
    """

    frame: str
    position: Any = None
    rotation: Any = None
    point: Sequence[float] = (0.0, 0.0, 0.0)
    weights: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Reach:
    """What inverse kinematics found for every state of a batch.

    Args:
        q: positions, (..., nq): of those that reach all goals the nearest to the start, else those that come nearest.
        reached: whether every goal is met, (...).
        status: ``"reached"``; ``"nearest"``: no small change of the position comes nearer, so the goal is beyond reach
            or needs another start; ``"unfinished"``: steps ran out.
        position_error: distance of every goal, m, (..., goals); zero if no position is wanted.
        rotation_error: angle of every goal, rad, (..., goals); zero if no attitude is wanted.
        iterations: steps taken from the start that was successful, (...).
        start: which start was successful, 0 for the given one, (...).
    """

    q: np.ndarray
    reached: np.ndarray
    status: np.ndarray
    position_error: np.ndarray
    rotation_error: np.ndarray
    iterations: np.ndarray
    start: np.ndarray


def inverse_kinematics(
    mechanism: Mechanism | Dynamics,
    goals: Goal | Sequence[Goal],
    q0: Any = None,
    *,
    keep: Sequence[str] = (),
    limits: bool = True,
    starts: int = 16,
    tolerance: float = 1e-9,
    iterations: int = 200,
    seed: int = 0,
) -> Reach:
    """Positions at which frames are where they are wanted, near given ones, within the ranges of the joints.

    Args:
        mechanism: a tree, or its dynamics.
        goals: where frames are wanted, one or several; any batch shape.
        q0: where to start, (..., nq) or by joint name; neutral by default. What is near to it is found first.
        keep: names of joints that must not move, such as the base of a robot that stands.
        limits: whether joints stay within their ranges.
        starts: from how many positions at most; the ones after the first are random, within the ranges of the joints.
        tolerance: largest error of a goal that is met, m and rad.
        iterations: steps from one start.
        seed: of the random starts: the same seed gives the same positions.
    """
    solver = _Solver(mechanism, goals, keep, limits)
    tolerance = expect_real(tolerance, "inverse_kinematics, tolerance", 0)
    for what, count in (("starts", starts), ("iterations", iterations)):
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
            raise ArgumentError(f"inverse_kinematics: {what} = {shown(count)}; it must be a whole number, 1 or more")
    model = solver.model
    given = as_position(model, q0, batch=True)
    shapes = [x.shape[:-1] for x in (given, *solver.wanted)]
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(
            f"inverse_kinematics: q0 and what goals want have the batch shapes {', '.join(map(str, shapes))}, which do "
            "not go together"
        ) from None
    first = np.broadcast_to(given, (*batch, model.nq)).reshape(-1, model.nq)
    wanted = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(-1, x.shape[-1]) for x in solver.wanted]
    rng = np.random.default_rng(seed)
    found = _nothing(len(first), model.nq, solver.count)
    for begin in range(0, len(first), STATES_AT_ONCE):
        part = slice(begin, begin + STATES_AT_ONCE)
        found.put(part, solver.solve(solver.within(first[part]), [x[part] for x in wanted], tolerance, iterations))
    failed, more = np.flatnonzero(~found.reached), starts - 1
    per_round = max(1, STATES_AT_ONCE // max(1, more))
    for begin in range(0, len(failed) if more else 0, per_round):
        where = failed[begin : begin + per_round]
        tries = solver.random_starts(rng, np.repeat(first[where], more, axis=0))
        trial = solver.solve(tries, [np.repeat(x[where], more, axis=0) for x in wanted], tolerance, iterations)
        trial.start[:] = np.tile(np.arange(1, starts), len(where))
        starts_of = np.repeat(first[where], more, axis=0)
        trial.q = solver.unwound(trial.q, starts_of)
        away = solver.distance(starts_of, trial.q).reshape(-1, more)
        cost = np.where(trial.reached.reshape(-1, more), -1 / (1 + away), trial.cost.reshape(-1, more))
        best = np.arange(len(where)) * more + np.argmin(cost, axis=1)
        better = trial.reached[best] | (trial.cost[best] < found.cost[where])
        found.put(where[better], trial.take(best[better]))
    found.q = solver.unwound(found.q, first)
    return found.shaped(batch)


@dataclass(eq=False)
class _Progress:
    """What is known of every state so far; arrays that are written to."""

    q: np.ndarray
    cost: np.ndarray
    errors: np.ndarray  # (states, goals, 2)
    status: np.ndarray
    iterations: np.ndarray
    start: np.ndarray

    @property
    def reached(self) -> np.ndarray:
        return self.status == REACHED

    def take(self, where: np.ndarray) -> _Progress:
        return _Progress(*(x[where] for x in vars(self).values()))

    def put(self, where: Any, other: _Progress) -> None:
        for name, x in vars(self).items():
            x[where] = getattr(other, name)

    def shaped(self, batch: tuple[int, ...]) -> Reach:
        q, errors = self.q.reshape(*batch, self.q.shape[1]), self.errors.reshape(*batch, *self.errors.shape[1:])
        status, iterations, start = (x.reshape(batch) for x in (self.status, self.iterations, self.start))
        return Reach(q, status == REACHED, status, errors[..., 0], errors[..., 1], iterations, start)


def _nothing(states: int, nq: int, goals: int) -> _Progress:
    counts = (np.zeros(states, dtype=int) for _ in range(2))
    status = np.full(states, UNFINISHED)
    return _Progress(np.zeros((states, nq)), np.full(states, np.inf), np.zeros((states, goals, 2)), status, *counts)


class _Solver:
    """The compiled step for one kind of goals, and the ranges it keeps to."""

    def __init__(self, mechanism: Mechanism | Dynamics, goals: Goal | Sequence[Goal], keep: Any, limits: bool):
        self.model = _tree_in_numbers(mechanism)
        chosen = [goals] if isinstance(goals, Goal) else list(expect_items(goals, Goal, "inverse_kinematics, goals"))
        if not chosen:
            raise ArgumentError("inverse_kinematics: there is no goal; say where a frame is wanted, Goal('tool', ...)")
        expect(limits, bool, "inverse_kinematics, limits")
        self.count = len(chosen)
        self.wanted: list[np.ndarray] = []
        self.aims: list[tuple[Any, ...]] = []  # frame, point, whether a position and a rotation is wanted, weights
        for goal in chosen:
            self._add(goal)
        self.moves = np.ones(self.model.nv, dtype=bool)
        for name in as_names("keep", keep):
            self.moves[self.model.v_slice(name)] = False
        self.lower, self.upper = drive_limits(self.model, ranges=limits)[:2]
        self.kernel = _step_kernel(self)

    def _add(self, goal: Goal) -> None:
        where = f"the goal of {shown(goal.frame)}"
        expect(goal.frame, str, "Goal, frame")
        self.model.frame(goal.frame)
        point = real_array(goal.point, f"{where}, point")
        weights = real_array(goal.weights, f"{where}, weights")
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ArgumentError(f"{where}: point = {shown(goal.point)}; give three numbers, finite ones")
        if weights.shape != (2,) or not (np.isfinite(weights) & (weights > 0)).all():
            raise ArgumentError(f"{where}: weights = {shown(goal.weights)}; give two positive numbers")
        if goal.position is None and goal.rotation is None:
            raise ArgumentError(f"{where} wants neither a position nor a rotation; give position=, rotation= or both")
        if goal.position is not None:
            position = real_array(goal.position, f"{where}, position")
            if position.shape[-1:] != (3,) or not np.isfinite(position).all():
                raise ArgumentError(f"{where}: position has shape {position.shape}; give finite numbers, (..., 3)")
            self.wanted.append(position.astype(float))
        if goal.rotation is not None:
            self.wanted.append(_attitude(goal.rotation, where))
        kinds = goal.position is not None, goal.rotation is not None
        self.aims.append((goal.frame, tuple(point.tolist()), *kinds, tuple(weights.tolist())))

    def within(self, q: np.ndarray) -> np.ndarray:
        """Positions brought into the ranges of the joints."""
        return np.clip(q, self.lower, self.upper)

    def random_starts(self, rng: np.random.Generator, q: np.ndarray) -> np.ndarray:
        """Positions in the ranges of the joints, of those that have none within a turn, or the reach, of the given."""
        model, found = self.model, q.copy()
        reach = _reach(model)
        for link in model.tree.links:
            own = link.q
            if not self.moves[link.v] or (link.kind != "spherical" and link.gain != 1):
                continue
            if link.kind == "spherical":
                found[:, own : own + 4] = rng.normal(size=(len(q), 4))
                continue
            spread = math.pi if link.rotates else reach
            low = np.where(np.isfinite(self.lower[own]), self.lower[own], q[:, own] - spread)
            high = np.where(np.isfinite(self.upper[own]), self.upper[own], q[:, own] + spread)
            found[:, own] = rng.uniform(low, high)
        return np.asarray(self.within(model.normalise(found)))

    def unwound(self, q: np.ndarray, start: np.ndarray) -> np.ndarray:
        """The same positions with angles that have no range within half a turn of those at the start."""
        links = self.model.tree.links
        owners = [link.q for link in links]
        for link in links:
            own = link.q
            alone = link.kind == "revolute" and link.gain == 1 and owners.count(own) == 1
            if alone and np.isinf(self.lower[own]) and np.isinf(self.upper[own]):
                q[:, own] -= 2 * np.pi * np.round((q[:, own] - start[:, own]) / (2 * np.pi))
        return q

    def distance(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """How far positions lie from others, by the length of the tangent vector between them."""
        singles = np.ones(self.model.nq, dtype=bool)
        squares = np.zeros(len(q))
        for k in quaternion_places(self.model.tree):
            singles[k : k + 4] = False
            alike = np.abs(np.einsum("bi,bi->b", q[:, k : k + 4], other[:, k : k + 4]))
            squares += (2 * np.arccos(np.minimum(alike, 1))) ** 2
        return np.sqrt(squares + np.square((other - q)[:, singles]).sum(-1))

    def solve(self, q: np.ndarray, wanted: list[np.ndarray], tolerance: float, iterations: int) -> _Progress:
        """Steps until every state has met its goals, or cannot come nearer, or steps run out."""
        states = len(q)
        found = _nothing(states, self.model.nq, self.count)
        alive, damping = np.arange(states), np.full(states, 1e-2)
        for number in range(iterations + 1):
            step = self.kernel(q, damping, *wanted, self.lower, self.upper)
            here, cost, errors, slope = step[2:]
            good = (errors <= tolerance).all(axis=(1, 2))
            flat = ~good & ((slope <= FLAT) | (damping > MOST_DAMPING))
            over = good | flat | ~np.isfinite(cost) if number < iterations else np.ones(len(alive), dtype=bool)
            if over.any():
                ended = np.where(good, REACHED, np.where(flat, NEAREST, UNFINISHED))[over]
                count, zero = np.full(over.sum(), number), np.zeros(over.sum(), dtype=int)
                found.put(alive[over], _Progress(here[over], cost[over], errors[over], ended, count, zero))
                alive = alive[~over]
                wanted = [x[~over] for x in wanted]
            if not len(alive):
                break
            q, damping = step[0][~over], step[1][~over]
        return found


def _step_kernel(solver: _Solver) -> Kernel:
    """q, damping, goals, ranges -> next q and damping; and of the given q itself, cost, errors and slope."""
    model, aims = solver.model, tuple(solver.aims)
    return _compiled_step(_Model(model), aims, tuple(solver.moves.tolist()))


@dataclass(frozen=True)
class _Model:
    """A mechanism that equals another one of the same content, so that kernels are remembered."""

    mechanism: Mechanism

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Model) and other.mechanism.digest == self.mechanism.digest

    def __hash__(self) -> int:
        return hash(self.mechanism.digest)


@lru_cache(maxsize=64)
def _compiled_step(model: _Model, aims: tuple[tuple[Any, ...], ...], moves: tuple[bool, ...]) -> Kernel:
    mechanism = model.mechanism
    nq, count = mechanism.nq, len(aims)
    goals = [
        Port(f"{what}{number}", (size,))
        for number, aim in enumerate(aims)
        for what, size, is_wanted in (("x", 3, aim[2]), ("eta", 4, aim[3]))
        if is_wanted
    ]
    inputs = [Port("q", (nq,)), Port("damping", ()), *goals, Port("lower", (nq,)), Port("upper", (nq,))]
    outputs = [
        Port("next", (nq,)), Port("next_damping", ()), Port("here", (nq,)), Port("cost", ()),
        Port("errors", (count, 2)), Port("slope", ()),
    ]  # fmt: skip

    def step(given: dict[str, Any]) -> tuple[Any, ...]:
        q, damping = given["q"], given["damping"]
        e, errors = _errors(mechanism, q, aims, given)
        J = _jacobians(mechanism, q, aims)
        cost = _dot(e, e)
        pull = product(J.T, e)  # minus half the gradient
        free = _free(mechanism, q, pull, given["lower"], given["upper"], moves)
        J = arrays.asarray([[x * f for x, f in zip(row, free)] for row in J])
        size = sum((_dot(row, row) for row in J), 0)
        d = _damped_step(J, e, damping * size / len(e) + 1e-300)
        there = normalised(mechanism.tree, displaced(mechanism.tree, q, d))
        there = minimum(maximum(there, given["lower"]), given["upper"])
        after, _ = _errors(mechanism, there, aims, given)
        better = _dot(after, after) < cost
        chosen = arrays.asarray([select(better, new, old) for new, old in zip(there, q)])
        less, more = maximum(damping * 0.1, LEAST_DAMPING), damping * 10
        slope = arrays.asarray([x * f for x, f in zip(pull, free)])
        steep = _dot(slope, slope) / (size * cost + 1e-300)
        return chosen, select(better, less, more), q, cost, errors, sqrt(steep)

    content = (mechanism.digest, "inverse kinematics step", aims, moves)
    key = hashlib.sha256(fingerprint(content).encode()).hexdigest()
    return traced_kernel("inverse_kinematics_step", inputs, outputs, step, key, None, "damped Gauss-Newton step")


def _errors(mechanism: Mechanism, q: Array, aims: Any, given: dict[str, Any]) -> tuple[Array, Array]:
    """Weighted errors of all goals, one under the other, and distance and angle of each."""
    rows: list[Any] = []
    lengths = []
    for number, (frame, point, position, rotation, weights) in enumerate(aims):
        placed = pose(mechanism, q, frame)
        distance = angle = 0
        if position:
            away = given[f"x{number}"] - placed.apply(arrays.asarray(point))
            distance = sqrt(_dot(away, away))
            rows += [weights[0] * x for x in away]
        if rotation:
            turn = quaternion_log(
                quaternion_star(quaternion_conjugate(frame_quaternion(mechanism, q, frame)), given[f"eta{number}"])
            )
            angle = sqrt(_dot(turn, turn))
            rows += [weights[1] * x for x in placed.rotate(turn)]
        lengths.append([distance, angle])
    return arrays.asarray(rows), arrays.asarray(lengths)


def _jacobians(mechanism: Mechanism, q: Array, aims: Any) -> Array:
    """Weighted Jacobians of all goals, one under the other."""
    rows: list[Any] = []
    for frame, point, position, rotation, weights in aims:
        angular, linear = jacobian(mechanism, q, frame, point=point)
        rows += [[weights[0] * x for x in row] for row in linear] if position else []
        rows += [[weights[1] * x for x in row] for row in angular] if rotation else []
    return arrays.asarray(rows)


def _free(mechanism: Mechanism, q: Array, pull: Array, lower: Array, upper: Array, moves: Sequence[bool]) -> list[Any]:
    """One for every velocity that may move, zero for one that is held or would leave its range."""
    free: list[Any] = [int(move) for move in moves]
    for link in mechanism.tree.links:
        if link.kind != "spherical" and moves[link.v]:
            x, way = q[link.q], pull[link.v]
            outwards = select(x <= lower[link.q], select(way < 0, 0, 1), 1)
            free[link.v] = outwards * select(x >= upper[link.q], select(way > 0, 0, 1), 1)
    return free


def _damped_step(J: Array, e: Array, damping: Any) -> Array:
    """J^T (J J^T + damping 1)^-1 e, or the same as (J^T J + damping 1)^-1 J^T e, whichever system is smaller."""
    m, n = J.shape
    rows = J if m < n else J.T
    size = len(rows)
    M = [[_dot(rows[r], rows[c]) if c <= r else 0 for c in range(size)] for r in range(size)]
    for k in range(size):
        M[k][k] = M[k][k] + damping
    factors = factor(arrays.asarray(M), range(-1, size - 1))
    return product(J.T, factors.solve(e)) if m < n else factors.solve(product(J.T, e))


def _dot(x: Any, y: Any) -> Any:
    total = 0
    for a, b in zip(x, y):
        total = total + a * b
    return total


def _tree_in_numbers(mechanism: Mechanism | Dynamics) -> Mechanism:
    if isinstance(mechanism, KernelTable):
        mechanism = mechanism.numbers
    heed("planning.inverse_kinematics", expect(mechanism, Mechanism, "inverse_kinematics, mechanism"))
    if mechanism.symbols:
        names = ", ".join(map(str, mechanism.symbols))
        raise ArgumentError(f"{mechanism.name!r} has the symbols {names}; substitute(mechanism, values) gives numbers")
    if not mechanism.nv:
        raise ArgumentError(f"{mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    return mechanism


def _reach(mechanism: Mechanism) -> float:
    """Sum of the distances from joint to joint, m; one metre if all are zero."""
    return sum(float(np.linalg.norm(link.placement.translation)) for link in mechanism.tree.links) or 1.0


def _attitude(given: Any, where: str) -> np.ndarray:
    """Unit quaternions, (..., 4), of matrices or quaternions."""
    found = real_array(given, f"{where}, rotation").astype(float)
    if found.shape[-2:] == (3, 3):
        flat = found.reshape(-1, 3, 3)
        eta = np.array([quaternion_from_rotation(R) for R in flat], dtype=float).reshape(-1, 4)
        back = np.array([rotation_from_quaternion(x) for x in eta], dtype=float).reshape(-1, 3, 3)
        if not np.abs(back - flat).max(initial=0) < 1e-6:
            raise ArgumentError(f"{where}: rotation is no rotation matrix; it turns and keeps right hands right")
        return eta.reshape(*found.shape[:-2], 4)
    if found.shape[-1:] != (4,):
        raise ArgumentError(
            f"{where}: rotation has shape {found.shape}; give matrices (..., 3, 3) or unit quaternions (..., 4)"
        )
    length = np.linalg.norm(found, axis=-1, keepdims=True)
    if not (np.abs(length - 1) < 1e-6).all():
        raise ArgumentError(f"{where}: rotation is a quaternion whose length is not 1; divide it by its length")
    return found / length

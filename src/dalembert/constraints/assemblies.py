"""Closing many loops at once: a batch of starts, of times and of designs, each with a status.

The method is that of :mod:`dalembert.constraints.closure`, with all states of a batch in every step: one call of a
kernel evaluates them, one call of LAPACK decomposes their gradients. Values of parameters are an input of the kernel,
so that a thousand lengths of a linkage cost one compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.closure import DAMPINGS, LONGEST_STEP, RESTARTS, assemble, free_velocities
from dalembert.constraints.loops import HALF_TURNS
from dalembert.constraints.rank import Decomposition
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.checks import expect_real, expect_whole, real_array
from dalembert.model.names import named_positions
from dalembert.text.progress import Progress

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

ASSEMBLED, APART, MIRRORED, UNFINISHED, UNDEFINED = "assembled", "apart", "mirrored", "unfinished", "undefined"
"""What can become of a state, as :class:`AssembledStates` explains."""

STATES_AT_ONCE = 1 << 14
"""How many states are worked on at once; more are taken in turn, so that memory stays small."""


@dataclass(frozen=True, eq=False)
class AssembledStates:
    """What became of every state of a batch that was to be assembled.

    No status says in which of several ways, elbow up or elbow down, a state is assembled.

    Args:
        q: positions, (..., nq): those that satisfy the constraints, else those that come nearest.
        assembled: whether the constraints are satisfied, (...).
        status: ``"assembled"``; ``"apart"``: no way leads nearer, from any start, so lengths do not fit or another
            start is needed; ``"mirrored"``: only with axes or frames half a turn apart; ``"unfinished"``: steps ran
            out; ``"undefined"``: the gradient of a constraint is not defined there, or a number is not finite.
        residual: the largest one, rad or lengths of the loop, (...).
    """

    q: np.ndarray
    assembled: np.ndarray
    status: np.ndarray
    residual: np.ndarray

    def __str__(self) -> str:
        kinds, counts = np.unique(self.status, return_counts=True)
        found = ", ".join(f"{count} {kind}" for kind, count in zip(kinds, counts))
        return f"{self.status.size} states: {found}"


def assemble_states(
    system: Constrained,
    q: Any = None,
    t: Any = 0.0,
    keep: Sequence[str] = (),
    *,
    parameters: Any = None,
    tolerance: float = 1e-11,
    iterations: int = 200,
    restarts: int = RESTARTS,
    seed: int = 0,
    progress: bool | None = None,
) -> AssembledStates:
    """Positions that satisfy the constraints for many starts, times and designs, with a status for every one of them.

    Each is found from its own start alone, so that neighbours may be assembled in different ways, elbow up and elbow
    down, all ``"assembled"``. To follow one of them over a turn, begin each angle at the positions found for the one
    before; :meth:`assembly_modes` lists them at one angle.

    Args:
        q: where to start, (..., nq), or by joint name; the reference by default, also for joints that are left out.
        t: time, s, (...).
        keep: joints whose positions must not change.
        parameters: values of the parameters, (..., p) or by name; those of the system by default.
        tolerance: largest residual, rad or lengths of the loop, and relative to the largest coordinate where that
            exceeds one.
        iterations: largest number of steps from each start.
        restarts: number of other starts, for those states only that the given one leads nowhere.
        seed: of the other starts.
        progress: show progress on standard error; by default on a terminal, if it takes long.
    """
    parameters, mechanism = system.design(parameters), system.mechanism
    if parameters is not None and not np.isfinite(system.parameter_values).all():
        # Units of rows need numbers: those of the first.
        first = parameters.reshape(-1, parameters.shape[-1])[0].tolist()
        system = system.replace(parameters=dict(zip(system.parameter_names, first)))
    q = system.reference if q is None else q
    tolerance, iterations = expect_real(tolerance, "tolerance", 0), expect_whole(iterations, "iterations")
    restarts, seed = expect_whole(restarts, "restarts"), expect_whole(seed, "seed", high=2**64)
    start, clock, values, batch = _states(system, q, t, parameters)
    free = free_velocities(mechanism, keep)
    found, residual = start.copy(), np.full(len(start), np.inf)
    status = np.full(len(start), UNDEFINED, dtype="<U10")
    with Progress(f"assembling {len(start)} states", progress) as line:
        for begin in range(0, len(start), STATES_AT_ONCE):
            part = slice(begin, begin + STATES_AT_ONCE)
            own = None if values is None else values[part]
            piece = _Piece(system, clock[part], own, free, tolerance, iterations)

            def update(done: int, begin: int = begin) -> None:
                line.update((begin + done) / len(start))

            found[part], residual[part], status[part] = piece.solve(start[part], restarts, seed, update)
    return AssembledStates(
        found.reshape(*batch, mechanism.nq), (status == ASSEMBLED).reshape(batch), status.reshape(batch),
        residual.reshape(batch),
    )  # fmt: skip


def assemble_mechanism(
    system: Constrained,
    q: Any = None,
    t: Any = 0.0,
    keep: Sequence[str] = (),
    *,
    parameters: Any = None,
    **options: Any,
) -> np.ndarray:
    """Positions that satisfy the constraints, downhill from the given ones, or else from others around them; any
    batch shape. SingularityError where there is a state from which none are found; :meth:`assemblies` gives every
    state a status instead.

    Args:
        q: where to start; the reference by default, also for joints that are left out where it is given by joint
            name. Which of several assemblies is found depends on it.
        t: time, s.
        keep: joints whose positions must not change.
        parameters: values of the parameters, (..., p) or by name: a batch of designs; those of the system by default.
        options: of :func:`dalembert.constraints.closure.assemble`: ``tolerance``, ``iterations``, ``restarts``
            (0: only downhill from the given ones) and ``seed``.
    """
    start = system.reference if q is None else q
    start = named_positions(system.mechanism, start, "q", system.reference)
    if parameters is None and np.ndim(start) < 2 and np.ndim(t) == 0:
        return assemble(system, start, t, keep, **options)
    found = assemble_states(system, start, t, keep, parameters=parameters, **options)
    if not found.assembled.all():
        where = tuple(np.argwhere(~found.assembled)[0].tolist())
        which = f"state {list(where)} of the batch" if where else "this design"
        many = f"{np.count_nonzero(~found.assembled)} of {found.assembled.size} states; " if where else ""
        raise SingularityError(
            f"{system.mechanism.name!r} cannot be assembled: {many}{which} is {found.status[where]!s}, residual "
            f"{found.residual[where]:.3g} rad or lengths of the loop",
            argument="parameters" if parameters is not None else "q",
            remedy="assemblies(...) gives positions of those that can be, and a status for every one",
        )
    return found.q


def residual(system: Constrained, q: Any, t: float = 0.0, *, parameters: Any = None) -> dict[str, np.ndarray]:
    """Residuals of the constraints on positions, by name of the constraint: m, and of angles x sin(x).

    Of a distance d that should be L, it is (d^2 - L^2) / 2L, which is d - L where that is small.

    Args:
        q: positions.
        t: time, s.
        parameters: values of the parameters, (..., p) or by name; those of the system by default.
    """
    phi = system.evaluate("positions", q, t, parameters=system.design(parameters))[0]
    return {name: phi[..., system.constraints.slice(name)] for name in system.constraints.info}


def _states(
    system: Constrained, q: Any, t: Any, parameters: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, ...]]:
    """Starts (N, nq), times (N,), parameters (N, p) if there are any, and the shape of the batch."""
    mechanism = system.mechanism
    start, clock = named_positions(mechanism, q, "q", system.reference), real_array(t, "t")
    if start.shape[-1:] != (mechanism.nq,):
        raise ArgumentError(f"q has shape {start.shape}, but {mechanism.name!r} needs (..., {mechanism.nq})")
    shapes, given = [start.shape[:-1], clock.shape], system.design(parameters)
    if given is not None:
        shapes.append(given.shape[:-1])
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        kinds = ", ".join(f"{name} {shape}" for name, shape in zip(("q", "t", "parameters"), shapes))
        raise ArgumentError(f"assemble: the batch dimensions do not fit together: {kinds}") from None
    start = np.broadcast_to(start, (*batch, mechanism.nq)).reshape(-1, mechanism.nq)
    known = np.isfinite(start).all(axis=1)
    start = start.copy()
    start[known] = mechanism.normalise(start[known])
    values = None if given is None else np.broadcast_to(given, (*batch, given.shape[-1])).reshape(len(start), -1)
    return start, np.broadcast_to(clock, batch).reshape(-1), values, batch


class _Piece:
    """States that are worked on at once."""

    def __init__(
        self,
        system: Constrained,
        t: np.ndarray,
        values: np.ndarray | None,
        free: np.ndarray,
        tolerance: float,
        iterations: int,
    ):
        self.system, self.t, self.values, self.free = system, t, values, free
        self.tolerance, self.iterations = tolerance, iterations
        self.on_positions = system.constraints.holonomic
        self.mirrors = any(item.kind in HALF_TURNS for item in system.mechanism.constraints)
        where = np.arange(len(t))
        units = self._evaluate("closure_scale", np.broadcast_to(system.reference, (len(t), system.mechanism.nq)), where)
        between = {item.name for item in system.mechanism.constraints if item.has_ends and not item.on_joints}
        loops = np.array([row.constraint in between and row.unit == "length" for row in system.rows], dtype=bool)
        self.units = np.where(loops, units[0], system.scaling.rows)  # of slides and users' rows those of the system

    def _evaluate(self, quantity: str, q: np.ndarray, where: np.ndarray) -> Any:
        clock = () if quantity == "closure_scale" else (self.t[where],)
        given = {} if self.values is None else {"parameters": self.values[where]}
        return self.system.evaluate(quantity, q, *clock, **given)

    def at(self, where: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals and gradients of some of the states, without units, at positions."""
        phi, G = self._evaluate("closing", q, where)
        units = self.units[where]
        G = G * self.system.scaling.velocities / units[..., None]
        return (phi / units)[:, self.on_positions], G[:, self.on_positions][:, :, self.free]

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        along = np.zeros((len(q), len(self.free)))
        along[:, self.free] = step
        return self.system.mechanism.integrate(q, along * self.system.scaling.velocities)

    def solve(
        self, start: np.ndarray, restarts: int, seed: int, update: Callable[[int], None]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, residuals and status of all states: of those that need it, from other starts, too."""
        rng, unit = np.random.default_rng(seed), self.system.scaling.velocities
        limit = self.tolerance * np.maximum(1.0, np.abs(start).max(axis=1, initial=0.0))
        found, residual = start.copy(), np.full(len(start), np.inf)
        status = np.full(len(start), UNDEFINED, dtype="<U10")
        for k in range(1 + restarts):
            step = np.where(self.free, rng.normal(size=len(unit)) * min(0.2 * k, 2.0), 0.0) * unit
            open_ = np.flatnonzero((status != ASSEMBLED) & np.isfinite(start).all(axis=1))
            if not len(open_):
                break
            begin = self.system.mechanism.integrate(start[open_], step)
            try:
                q, left, ended = newton(
                    lambda which, x, open_=open_: self.at(open_[which], x),  # type: ignore[misc]
                    self.moved,
                    begin,
                    limit[open_],
                    self.iterations,
                )
            except np.linalg.LinAlgError:
                raise SingularityError("the gradients of the constraints could not be decomposed") from None
            news = np.where(np.isfinite(left), np.where(ended, APART, UNFINISHED), UNDEFINED)
            closed = left <= limit[open_]
            news[closed] = ASSEMBLED
            if self.mirrors and closed.any():
                turned = (self._evaluate("closure_scale", q[closed], open_[closed])[1] < 0).any(axis=-1)
                news[np.flatnonzero(closed)[turned]] = MIRRORED
            better = (news == ASSEMBLED) | (left < residual[open_]) | (k == 0)
            found[open_[better]], residual[open_[better]] = q[better], left[better]
            status[open_[better]] = news[better]
            update(int(np.count_nonzero(status == ASSEMBLED)))
        return found, residual, status


def newton(
    at: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    move: Callable[[np.ndarray, np.ndarray], np.ndarray],
    q: np.ndarray,
    tolerance: np.ndarray,
    iterations: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`dalembert.constraints.closure.newton` for many starts: positions from which no way leads down any more,
    the largest residuals there, and whether that was so before steps ran out.

    One decomposition G = U S V^T serves all dampings: the damped step is -V S/(S^2 + w^2) U^T phi.

    Args:
        at: residuals (k, m) and gradients (k, m, n) of the states of these numbers at positions, both without units.
        move: positions moved by steps.
        q: where to start, (N, nq).
        tolerance: below this largest residual one more step is made, (N,).
        iterations: largest number of steps.
    """
    q = q.copy()
    phi, G = at(np.arange(len(q)), q)
    closing = np.zeros(len(q), dtype=int)
    active = np.ones(len(q), dtype=bool)
    for _ in range(iterations):
        active &= np.isfinite(phi).all(axis=1) & np.isfinite(G).all(axis=(1, 2))
        closing += np.abs(phi).max(axis=1, initial=0.0) <= tolerance
        active &= closing <= 1
        todo = np.flatnonzero(active)
        if not len(todo):
            break
        rows = Decomposition.of(G[todo], columns=np.ones((len(todo), G.shape[-1])))
        k = rows.size.shape[-1]
        along = -np.einsum("...ji,...j->...i", rows.U[..., :k], phi[todo])
        size, V = rows.size, rows.Vt[..., :k, :]
        weight = np.abs(G[todo]).max(axis=(1, 2), initial=1e-300)[:, None]
        length = np.linalg.norm(phi[todo], axis=1)
        left = np.arange(len(todo))  # those for which no step down has been found yet
        for damping in DAMPINGS:
            gain = size / (size**2 + damping * weight**2) if damping else rows.reciprocal
            step = np.einsum("...ij,...i->...j", V[left], (gain * along)[left])
            step /= np.maximum(1.0, np.abs(step).max(axis=1, initial=0.0) / LONGEST_STEP)[:, None]
            trial = move(q[todo[left]], step)
            new_phi, new_G = at(todo[left], trial)
            better = np.linalg.norm(new_phi, axis=1) < (1 - 1e-4) * length[left]
            better &= np.isfinite(new_G).all(axis=(1, 2))
            where = todo[left[better]]
            q[where], phi[where], G[where] = trial[better], new_phi[better], new_G[better]
            left = left[~better]
            if not len(left):
                break
        active[todo[left]] = False  # no way down: a minimum that is not zero, or the last digit
    return q, np.abs(phi).max(axis=1, initial=0.0), ~active

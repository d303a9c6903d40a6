"""Rollouts with their gradient: the adjoint of the compiled loop, from checkpoints.

One step is a program x' = s(x, u, p). Backwards along a motion the weights of a state, of the controls and of the
parameters follow

    g_k = (ds/dx)^T g_{k+1} + w_k ,     du_k = (ds/du)^T g_{k+1} ,     dp = sum_k (ds/dp)^T g_{k+1},

with w_k what the loss demands of record k. That step is a program as well, the reverse derivative of s, compiled with
the loop around it, for as many motions at once as the processor has lanes. States that are needed on the way are
computed again from checkpoints, of which there are about the square root of the number of steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.labels import unlabelled
from dalembert.model.checks import shown
from dalembert.model.consumers import heed
from dalembert.native.recurrence import Recurrence
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.state import as_positive
from dalembert.simulation.stepping import recurrence
from dalembert.tracing.derivatives import reverse
from dalembert.tracing.evaluate import inline
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Port, Program
from dalembert.tracing.trace import trace

GIVEN = ("q0", "v0", "control", "wrenches", "parameters")
"""What a rollout is a function of."""


class DifferentiableRollout:
    """Motions of fixed step from initial states under controls, with the gradient of any function of their records.

    It runs on the processor, in float64, for any batch: arrays with leading dimensions are broadcast together.

    Args:
        dynamics: of the mechanism; constraints, force elements, parameters and wrenches are those it was made with.
        step: length of a step, s.
        method: of fixed step, see :func:`~dalembert.simulation.rollout`.
        every: steps from record to record; the first record is the start.
    """

    def __init__(self, dynamics: Dynamics, steps: int, step: float = 1e-3, method: str = "rk4", every: int = 1):
        for name, value in (("steps", steps), ("every", every)):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise ArgumentError(f"{name} = {shown(value)}; it must be a positive integer")
        if not isinstance(dynamics, KernelTable):
            raise ArgumentError(f"a rollout takes a Dynamics, got a {type(dynamics).__name__}")
        heed("autodiff.rollout.DifferentiableRollout", dynamics)
        if dynamics.device != "cpu":
            raise UnsupportedError("gradients of rollouts are computed on the processor: Dynamics(..., device='cpu')")
        self.dynamics, self.steps, self.every = dynamics, int(steps), int(every)
        self.step = as_positive("step", step, "s")
        self.system = stabilised(dynamics)
        n = len(dynamics.input_names)
        self._ahead = recurrence(self.system, method, range(n), None, 0, False, {})
        if self._ahead.dtype != np.float64:
            raise UnsupportedError("gradients of rollouts are computed in float64; leave out dtype of the Dynamics")
        place = ("adjoint", method)
        if place not in self.system.made:
            self.system.made[place] = _adjoint(self._ahead)
        self._back: Recurrence = self.system.made[place]

    @property
    def records(self) -> int:
        """How many states are recorded, with the first one."""
        return self.steps // self.every + 1

    def __call__(
        self, q0: Any, v0: Any, control: Any = None, wrenches: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at the records, (..., records, nq) and (..., records, nv).

        Args:
            q0: initial positions, (..., nq).
            v0: initial velocities, (..., nv).
            control: generalised forces, (..., steps, nv), or (..., 1, nv) for constant ones; zero by default.
            wrenches: constant wrenches, (..., frames, 6), if the dynamics have any; zero by default.
            parameters: (..., k); by default the values that the dynamics were made with.
        """
        run = _Run(self, {"q0": q0, "v0": v0, "control": control, "wrenches": wrenches, "parameters": parameters})
        return run.records()

    def gradient(self, q: Any, v: Any, q0: Any, v0: Any, control: Any = None, wrenches: Any = None,
                 parameters: Any = None) -> dict[str, np.ndarray]:  # fmt: skip
        """Gradients of a function of the records, by name of the argument, with the shapes of what was given.

        Args:
            q: its derivatives by the recorded positions, (..., records, nq).
            v: its derivatives by the recorded velocities, (..., records, nv).
            q0: as for the rollout; so all others.
            v0: initial velocities.
            control: generalised forces.
        """
        given = {"q0": q0, "v0": v0, "control": control, "wrenches": wrenches, "parameters": parameters}
        return _Run(self, given).gradient(np.asarray(q, float), np.asarray(v, float))

    @staticmethod
    def array(x: Any) -> np.ndarray:
        """An array as rollouts take it."""
        return np.asarray(x, float)

    def batch(self, given: Mapping[str, Any]) -> tuple[int, ...]:
        """The batch dimensions of arguments together.

        Args:
            given: arrays by name.
        """
        m = self.dynamics.mechanism
        n, frames, k = len(self.dynamics.input_names), len(self.dynamics.wrenches), len(self.dynamics.parameter_names)
        cores = {"q0": (m.nq,), "v0": (m.nv,), "control": (-1, n), "wrenches": (frames, 6), "parameters": (k,)}
        batches = []
        for name, x in given.items():
            shape, core = tuple(x.shape), cores[name]
            rank = len(shape) - len(core)
            fits = rank >= 0 and all(a == b or (b == -1 and a in (1, self.steps)) for a, b in zip(shape[rank:], core))
            if not fits:
                wanted = ", ".join(f"1 or {self.steps}" if n == -1 else str(n) for n in core)
                raise ArgumentError(f"{{argument}} has shape {shape}; expected (..., {wanted})", argument=name)
            batches.append(shape[:rank])
        try:
            return np.broadcast_shapes(*batches)
        except ValueError as error:
            raise ArgumentError(f"batch shapes do not fit together: {', '.join(map(str, batches))}") from error


class _Run:
    """One batch of motions.

    Args:
        motion: how they are computed.
        given: arrays by name, or None.
    """

    def __init__(self, motion: DifferentiableRollout, given: Mapping[str, Any]):
        self.motion, dynamics = motion, motion.dynamics
        self.given = {name: np.asarray(unlabelled(x, name), float) for name, x in given.items() if x is not None}
        self.shape = motion.batch(self.given)
        self.count = math.prod(self.shape)
        ahead = motion._ahead
        m, n = dynamics.mechanism, len(dynamics.input_names)
        self.q0, self.v0 = self._wide("q0", (m.nq,)), self._wide("v0", (m.nv,))
        control = self.given.get("control", np.zeros((1, n)))
        self.varies = control.shape[-2] == motion.steps  # one row is held for all steps, were there one or many
        self.control = self._flat(control, 2)
        self.held: list[np.ndarray] = []
        for port in ahead.held:
            if port.name == "h":
                self.held.append(np.array([motion.step]))
            elif port.name == "parameters":
                values = self.given.get("parameters", dynamics.parameter_values)
                if not np.isfinite(values).all():
                    names = ", ".join(dynamics.parameter_names)
                    raise ArgumentError(f"the parameters {names} need values", argument="parameters")
                self.held.append(self._flat(values, 1))
            else:
                zero = np.zeros((len(dynamics.wrenches), 6))
                self.held.append(self._flat(self.given.get("wrenches", zero), 2))

    def _flat(self, x: np.ndarray, core: int) -> np.ndarray:
        """(N, ...) or (1, ...), contiguous."""
        rank = x.ndim - core
        if math.prod(x.shape[:rank]) == 1:
            return np.ascontiguousarray(x.reshape(1, *x.shape[rank:]))
        wide = np.broadcast_to(x, (*self.shape, *x.shape[rank:]))
        return np.ascontiguousarray(wide.reshape(self.count, *x.shape[rank:]))

    def _wide(self, name: str, core: tuple[int, ...]) -> np.ndarray:
        return np.broadcast_to(self.given[name], (*self.shape, *core)).reshape(self.count, *core).copy()

    def _state(self) -> list[np.ndarray]:
        found = [self.q0.copy(), self.v0.copy()]
        for port in self.motion._ahead.state[2:]:  # the number of steps done, and no summaries
            found.append(np.zeros((self.count, *port.shape)))
        return found

    def _rows(self, first: int) -> tuple[list[np.ndarray], int]:
        """The driven input from a step on, and for how many steps a row is used."""
        return [self.control[:, first:] if self.varies else self.control], 1 if self.varies else self.motion.steps

    def records(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions and velocities at the records."""
        motion, state = self.motion, self._state()
        kept = [np.empty((self.count, motion.records, x.shape[1])) for x in state[:2]]
        for record, x in zip(kept, state):
            record[:, 0] = x
        rows, hold = self._rows(0)
        written = [record[:, 1:] for record in kept] + [None] * (len(state) - 2)
        motion._ahead.run(state, self.held, rows, state, written, motion.steps, motion.every, hold)
        q, v = (record.reshape(*self.shape, *record.shape[1:]) for record in kept)
        return q, v

    def _pieces(self) -> Iterator[tuple[int, int]]:
        """First step and number of steps between checkpoints; every record begins a piece."""
        motion = self.motion
        most = max(1, math.isqrt(motion.steps))
        for begin in range(0, motion.steps, motion.every):
            end = min(begin + motion.every, motion.steps)
            for first in range(begin, end, most):
                yield first, min(most, end - first)

    def gradient(self, by_q: np.ndarray, by_v: np.ndarray) -> dict[str, np.ndarray]:
        """Gradients by name, from the derivatives by the records."""
        motion = self.motion
        above = []
        for x, port in zip((by_q, by_v), motion._ahead.state):
            wide = np.broadcast_to(x, (*self.shape, motion.records, *port.shape))
            above.append(np.ascontiguousarray(wide.reshape(self.count, motion.records, *port.shape)))
        pieces, state = list(self._pieces()), self._state()
        checkpoints = []
        for first, count in pieces:
            checkpoints.append([x.copy() for x in state])
            rows, hold = self._rows(first)
            motion._ahead.run(state, self.held, rows, state, [None] * len(state), count, 1, hold)
        weights = [np.zeros((self.count, *port.shape)) for port in motion._back.state]
        if motion.steps % motion.every == 0:
            weights[0] += above[0][:, -1]
            weights[1] += above[1][:, -1]
        n = self.control.shape[-1]
        by_control = np.zeros((self.count, motion.steps, n))
        for (first, count), start in zip(pieces[::-1], checkpoints[::-1]):
            self._piece(first, count, start, above, weights, by_control)
        named = dict(zip((port.name for port in motion._back.state), weights))
        found = {"q0": named["q_w"], "v0": named["v_w"]}
        found["control"] = by_control if self.varies else by_control.sum(axis=1, keepdims=True)
        for name in ("wrenches", "parameters"):
            if f"{name}_w" in named:
                found[name] = named[f"{name}_w"]
        return {name: self._as_given(found[name], x) for name, x in self.given.items()}

    def _piece(
        self,
        first: int,
        count: int,
        start: list[np.ndarray],
        above: list[np.ndarray],
        weights: list[np.ndarray],
        by_control: np.ndarray,
    ) -> None:
        """Backwards over the steps between two checkpoints; weights are changed."""
        motion = self.motion
        rows, hold = self._rows(first)
        states = [np.empty((self.count, count, *port.shape)) for port in motion._ahead.state]
        for kept, x in zip(states, start):
            kept[:, 0] = x
        if count > 1:
            motion._ahead.run(start, self.held, rows, start, [x[:, 1:] for x in states], count - 1, 1, hold)
        demanded = [np.zeros((self.count, count, *port.shape)) for port in motion._ahead.state[:2]]
        if first % motion.every == 0:
            for wanted, x in zip(demanded, above):
                wanted[:, 0] = x[:, first // motion.every]
        control = self.control[:, first : first + count] if self.varies else np.repeat(self.control, count, axis=1)
        driven = [np.ascontiguousarray(x[:, ::-1]) for x in (*states, control, *demanded)]
        record = np.empty((self.count, count, by_control.shape[-1]))
        written = [record if port.name == "u_w" else None for port in motion._back.state]
        motion._back.run(weights, self.held, driven, weights, written, count)
        by_control[:, first : first + count] = record[:, ::-1]

    def _as_given(self, gradient: np.ndarray, given: np.ndarray) -> np.ndarray:
        """Summed over the dimensions that were broadcast."""
        core = gradient.shape[1:]
        wide = gradient.reshape(*self.shape, *core)
        own = given.shape[: given.ndim - len(core)]
        extra = wide.ndim - given.ndim
        axes = (*range(extra), *(extra + k for k, size in enumerate(own) if size == 1 and self.shape[extra + k] != 1))
        return wide.sum(axis=axes, keepdims=True).reshape(given.shape) if axes else wide.reshape(given.shape)


def _adjoint(ahead: Recurrence) -> Recurrence:
    """The loop of weights: its state are those of q, v, the controls and whatever of wrenches and parameters there is;
    driven, last step first, are the states before the steps, the controls and what the loss demands of these states.
    """
    q, v = ahead.state[:2]
    (u,) = ahead.driven
    others = [port for port in ahead.held if port.name != "h"]
    state = [Port(f"{port.name}_w", port.shape) for port in (q, v, u, *others)]
    driven = [*ahead.state, u, Port("q_a", q.shape), Port("v_a", v.shape)]
    ports = [*state, *ahead.held, *driven]

    def step(*values: Any) -> dict[str, Any]:
        given = dict(zip((port.name for port in ports), values))
        after = inline(ahead.program, [given[port.name] for port in ahead.program.inputs])
        ends = [*np.ravel(after["q"]), *np.ravel(after["v"])]
        above = np.array([*np.ravel(given["q_w"]), *np.ravel(given["v_w"])], dtype=object)
        by = (q, v, u, *others)
        variables = np.array([x for port in by for x in np.ravel(given[port.name])], dtype=object)
        slopes = reverse(ends, variables, above)
        found, at = {}, 0
        for port in by:
            part = np.asarray(slopes[at : at + port.size], dtype=object).reshape(port.shape)
            at += port.size
            if port in (q, v):
                part = part + given[f"{port.name}_a"]
            elif port is not u:
                part = part + given[f"{port.name}_w"]
            found[f"{port.name}_w"] = part
        return found

    def program() -> Program:
        return optimise(trace(step, {port.name: port.shape for port in ports}, "adjoint"))

    key = None if ahead.key is None else f"{ahead.key} adjoint"
    return Recurrence(f"adjoint of {ahead.name}", state, ahead.held, driven, program, key, ahead.dtype)

"""Keeps what a simulation computes, at the times that were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dalembert.simulation.account import WorkAccount
from dalembert.simulation.events import Event, Occurrence
from dalembert.simulation.inputs import Inputs
from dalembert.simulation.integrators import IntegrationStep
from dalembert.simulation.interpolation import Hermite, Pieces
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.trajectory import Sample, Trajectory

AT_ONCE = 1e-12
"""Times that differ by less, s (of large ones this part), are the same but for rounding."""


class Recorder:
    """Samples of one simulation.

    Args:
        inputs: control and wrenches.
        parameters: their values, or None.
        times: the first and last time, or all that the user wants.
        chosen: whether the user chose them; else every step is kept.
        dense: keep interpolants.
        extra: what else to keep of every sample, asked when it is kept.
    """

    def __init__(
        self,
        system: Stabiliser,
        inputs: Inputs,
        parameters: np.ndarray | None,
        times: np.ndarray,
        chosen: bool,
        dense: bool,
        extra: Callable[[float, np.ndarray], Any] | None = None,
    ):
        self.system, self.inputs, self.parameters = system, inputs, parameters
        self.times, self.chosen, self.dense = times, chosen, dense
        self.t: list[float] = []
        self.x: list[np.ndarray] = []
        self.tau: list[np.ndarray] = []
        self.wrenches: list[np.ndarray] = []
        self.pieces: list[tuple[float, float, Any]] = []
        self.events: list[Occurrence] = []
        self.discontinuities: list[Sample] = []
        self.work: list[np.ndarray] = []
        self.extra, self.extras = extra, list[Any]()
        self.account = WorkAccount(system, inputs, parameters)
        self._next = 0
        self._happened: Counter[Event] = Counter()

    @property
    def count(self) -> int:
        """Number of samples so far."""
        return len(self.t)

    @property
    def reached(self) -> float:
        """Time of the last sample."""
        return self.t[-1] if self.t else float(self.times[0])

    @property
    def next_time(self) -> float:
        """The next time that the user wants."""
        return float(self.times[min(self._next, len(self.times) - 1)])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of a state."""
        nq = self.system.mechanism.nq
        return x[:nq], x[nq:]

    def start(self, t: float, x: np.ndarray) -> None:
        """Keep the initial state."""
        self._keep(t, x)
        self._next = 1

    def add(self, made: IntegrationStep, t: float, x: np.ndarray) -> None:
        """Keep what is wanted of a step, up to time t.

        Args:
            t: how far it counts.
            x: the state there.
        """
        self.account.add(made, t)
        if self.dense and made.dense is not None:
            self.pieces.append((made.t0, t, made.dense))
        if not self.chosen:
            self._keep(t, x)
            self._next += t >= self.times[-1]
            return
        while self._next < len(self.times) and self.times[self._next] <= t:
            when = float(self.times[self._next])
            self._keep(when, x if when == t else self.system.projected(when, made.state(when)))
            self._next += 1

    def extend(self, times: np.ndarray, states: np.ndarray) -> None:
        """Keep many samples under constant inputs at once.

        Args:
            times: (k,).
            states: (k, nq + nv).
        """
        self.t += times.tolist()
        self.x += list(states)
        self.tau += [self.tau[0]] * len(times)
        self.wrenches += [self.wrenches[0]] * len(times)
        self.work += list(self.account.along(self.x[0], states))

    def note(self, event: Event, t: float, x: np.ndarray) -> bool:
        """Remember an event; whether it ends the motion."""
        q, v = self.split(x)
        self.events.append(Occurrence(event.name, t, q.copy(), v.copy()))
        self._happened[event] += 1
        ends = bool(event.stop) and self._happened[event] >= event.stop
        if ends and self.t[-1] != t:
            self._keep(t, x)
        return ends

    def jump(self, t: float, x: np.ndarray) -> None:
        """Keep the state after an impact, or a change of modes, beside that before it."""
        if not self.chosen:
            self._keep(t, x)

    def reset(self, t: float, x: np.ndarray) -> None:
        """Keep the state after a reset."""
        if self.pieces:  # a motion may end here
            self.pieces.append((t, t, partial(_still, x)))
        self.discontinuities.append(Sample(t, *(part.copy() for part in self.split(x))))
        if not self.chosen:
            self._keep(t, x)
        elif self.t and self.t[-1] == t:
            self._replace(t, x)

    def renew(self, t: float) -> None:
        """A control under a zero-order hold changes: the sample just kept gets the new one."""
        if self.t and t - self.t[-1] <= AT_ONCE * max(1.0, abs(t)):
            self.tau[-1] = self.inputs.control(self.t[-1], *self.split(self.x[-1]))

    def _keep(self, t: float, x: np.ndarray) -> None:
        q, v = self.split(x)
        tau, wrenches = self.inputs.control(t, q, v), self.inputs.wrenches(t, q, v)
        self.t.append(t)
        self.x.append(x)
        self.tau.append(tau)
        self.wrenches.append(wrenches)
        self.work.append(self.account.at(t))
        if self.extra is not None:
            self.extras.append(self.extra(t, x))

    def _replace(self, t: float, x: np.ndarray) -> None:
        for kept in (self.t, self.x, self.tau, self.wrenches, self.work):
            kept.pop()
        del self.extras[len(self.t) :]
        self._keep(t, x)

    def trajectory(
        self, status: str, method: str, evaluations: int, seconds: float, singular: tuple[float, ...]
    ) -> Trajectory:
        """Everything so far.

        Args:
            status: how it ended.
            evaluations: of the equations of motion by an adaptive integrator.
            singular: times at which constraints lost rank.
        """
        m = self.system.mechanism
        kept: tuple[list[Any], ...] = (self.t, self.x, self.tau, self.wrenches, self.work)
        whole = min(len(part) for part in kept)  # an interruption may come while a sample is written down
        for part in kept:
            del part[whole:]
        x = np.array(self.x).reshape(whole, m.nq + m.nv)
        made = Trajectory(
            system=self.system,
            t=np.array(self.t),
            q=np.ascontiguousarray(x[:, : m.nq]),
            v=np.ascontiguousarray(x[:, m.nq :]),
            tau=np.array(self.tau).reshape(len(self.t), len(self.system.dynamics.input_names)),
            wrenches=np.array(self.wrenches).reshape(len(self.t), len(self.system.dynamics.wrenches), 6),
            parameters=self.parameters,
            events=tuple(self.events),
            status=status,
            info={"method": method, "evaluations": evaluations, "seconds": seconds, "singular": singular},
            discontinuities=tuple(self.discontinuities),
            worked=np.array(self.work) if np.isfinite(self.work).all() else None,
        )
        if self.dense and len(self.t):
            made.interpolant = Pieces(self.pieces, x[0]) if self.pieces else Hermite(made)
        return made


def _still(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """A state at all times, (nq + nv, k)."""
    return np.repeat(x[:, None], len(t), axis=1)

"""What acts on a mechanism while it moves: control and external wrenches, as the user gives them, checked at each call.

A user's function gets copies, so that it cannot change the state behind the integrator's back. Whatever goes wrong in
it - an exception, a wrong shape, NaN - becomes a :class:`Fault` that knows when and where.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.cuda.arrays import to_host
from dalembert.dynamics import Dynamics
from dalembert.dynamics.naming import WRENCH
from dalembert.errors import ArgumentError
from dalembert.labels import NamedAxis, arranged, unlabelled
from dalembert.model.checks import real_array
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.tracing.program import Port


class Fault(Exception):
    """Something went wrong at a time and state; the simulation turns it into an error that keeps what was computed.

    Args:
        guess: likely causes, unless the constraints turn out to be one.
        advice: what to do, unless there is no motion that goes on.
    """

    def __init__(self, message: str, time: float, q: np.ndarray, v: np.ndarray, guess: str = "", advice: str = ""):
        super().__init__(message + guess + advice)
        self.message, self.guess, self.advice = message, guess, advice
        self.time, self.q, self.v = float(time), np.array(q), np.array(v)


def asked(function: Callable[..., Any], what: str, t: float, q: np.ndarray, v: np.ndarray) -> Any:
    """Call a user's function of time and state.

    Args:
        function: the user's.
        what: its name in messages.
    """
    try:
        return function(t, q.copy(), v.copy())
    except Exception as error:
        raise Fault(f"{what} raised {type(error).__name__}: {error}", t, q, v) from error


def checked(
    value: Any, what: str, shape: tuple[int, ...], t: float, q: np.ndarray, v: np.ndarray, axis: NamedAxis | None = None
) -> np.ndarray:
    """What a user's function returned, as finite floats of the right shape.

    Args:
        what: its name in messages.
        axis: what the entries are called, if they have names.
    """
    try:
        array = np.array(unlabelled(value, what) if axis is None else arranged(value, [axis], what), dtype=float)
    except ArgumentError as error:
        raise Fault(f"{what} returned a table: {error}", t, q, v) from error
    except (ValueError, TypeError, OverflowError) as error:
        raise Fault(f"{what} returned {value!r}, which is no array of numbers", t, q, v) from error
    if array.shape != shape:
        raise Fault(f"{what} returned shape {array.shape}, expected {shape}", t, q, v)
    if not np.isfinite(array).all():
        raise Fault(f"{what} returned {array}, which is not finite", t, q, v)
    return array


def input_axis(names: Sequence[str]) -> NamedAxis:
    """What generalised forces are called in tables."""
    return NamedAxis(tuple(names), ("input", "velocity", "joint"), "tau")


class Inputs:
    """Control and wrenches of one simulation.

    Args:
        control: generalised forces, nv, or the inputs of equations: a constant array, a function
            ``control(t, q, v)``, or None.
        wrenches: by frame name a wrench ``[force; moment]`` in the frame's axes at its origin: a constant, or a
            function of (t, q, v).
    """

    def __init__(self, dynamics: Dynamics, control: Any = None, wrenches: Mapping[str, Any] | None = None):
        self.dynamics = dynamics
        self._inputs = input_axis(dynamics.input_names)
        none = control is None or callable(control)
        self._control = control if callable(control) else None
        self._tau = np.zeros(len(dynamics.input_names)) if none else _constant(control, "control", self._inputs)
        self._functions: dict[int, Callable[..., Any]] = {}
        self._wrenches = np.zeros((len(dynamics.wrenches), 6))
        for name, wrench in (wrenches or {}).items():
            k = dynamics.wrenches.index(name)
            if callable(wrench):
                self._functions[k] = wrench
            else:
                self._wrenches[k] = _constant(wrench, f"the wrench on {name!r}", WRENCH)
        self._held: np.ndarray | None = None
        self.limits = -math.inf, math.inf
        """Times between which functions are asked, s: at the ends of a leg for what acts within it."""

    @property
    def constant(self) -> bool:
        """Whether nothing depends on time or state."""
        return self._control is None and not self._functions

    @property
    def rests(self) -> bool:
        """Whether there is no control."""
        return self._control is None and not self._tau.any()

    def hold(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Ask the controller now, and keep its answer until asked again."""
        self._held = None
        self._held = self.control(t, q, v)

    def control(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised forces."""
        if self._held is not None:
            return self._held
        if self._control is None:
            return self._tau
        t = min(max(t, self.limits[0]), self.limits[1])
        return checked(
            asked(self._control, "control(t, q, v)", t, q, v),
            "control(t, q, v)",
            self._tau.shape,
            t,
            q,
            v,
            self._inputs,
        )

    def wrenches(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Wrenches on all frames, (number of frames, 6)."""
        if not self._functions:
            return self._wrenches
        t = min(max(t, self.limits[0]), self.limits[1])
        found = self._wrenches.copy()
        for k, function in self._functions.items():
            what = f"wrenches[{self.dynamics.wrenches[k]!r}](t, q, v)"
            found[k] = checked(asked(function, what, t, q, v), what, (6,), t, q, v, WRENCH)
        return found


def _constant(value: Any, what: str, axis: NamedAxis) -> np.ndarray:
    shape, value = (len(axis.names),), arranged(value, [axis], what)
    try:
        array = real_array(value, what)
    except ArgumentError as error:
        raise ArgumentError(f"{what} is {value!r}; give {shape[0]} numbers or a function of (t, q, v)") from error
    if array.shape != shape or not np.isfinite(array).all():
        raise ArgumentError(f"{what} has shape {array.shape} and must be {shape[0]} finite numbers: {array}")
    return array


@dataclass(frozen=True, eq=False)
class RolloutInputs:
    """Control and wrenches of many motions, as they were given; nothing is copied.

    Args:
        step: s.
        policy: the control, if it is a function.
        gains: of the policy, (..., k).
        places: which velocities the numbers of a row act on.
        rows: the control, if it is an array, (..., rows, n).
        hold: steps for which a row, or what the policy said, acts (zero-order hold); None for a policy that is asked at
            every stage.
        wrench: on every frame, (..., frames, 6).
        size: of a vector of generalised forces.
    """

    step: float
    policy: Callable[..., Any] | None
    gains: Any
    places: Sequence[int] | None
    rows: Any
    hold: int | None
    wrench: Any
    size: int

    def forces(
        self, index: tuple[int, ...], batch: tuple[int, ...], t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Generalised forces of one motion at its records, (K, nv): of the step that begins there, if there is one.

        Args:
            t: times of the records.
            q: positions there, (K, nq).
            v: velocities there, (K, nv).
        """
        tau = np.zeros((len(v), self.size))
        if self.policy is not None:
            last = () if self.gains is None else (_one(self.gains, index, batch, 1),)
            tau[:] = self._kernel(q.shape[1], v.shape[1], *(len(gains) for gains in last))(t, q, v, *last)
        elif self.rows is not None:
            rows = _one(self.rows, index, batch, 2)
            now = np.minimum(np.round(t / self.step).astype(int) // (self.hold or 1), len(rows) - 1)
            tau[:, list(self.places or ())] = rows[now]
        return tau

    def _kernel(self, nq: int, nv: int, *gains: int) -> Kernel:
        """The policy, which may be written for traced scalars only."""
        sizes = dict(zip(("t", "q", "v", "gains"), [(), (nq,), (nv,), *((n,) for n in gains)]))
        ports = [Port(name, shape) for name, shape in sizes.items()]
        policy = self.policy
        assert policy is not None
        return traced_kernel("control", ports, [Port("tau", (self.size,))], lambda given: list(policy(*given.values())))

    def wrenches(self, index: tuple[int, ...], batch: tuple[int, ...], frames: int) -> np.ndarray:
        """Wrenches on the frames, (frames, 6); constant.

        Args:
            frames: how many.
        """
        return np.zeros((frames, 6)) if self.wrench is None else _one(self.wrench, index, batch, 2)


def _one(array: Any, index: tuple[int, ...], batch: tuple[int, ...], core: int) -> np.ndarray:
    """That of one motion, from an array with some of the batch dimensions."""
    lead = array.shape[: array.ndim - core]
    own = index[len(batch) - len(lead) :]
    return np.asarray(to_host(array[tuple(k if n > 1 else 0 for k, n in zip(own, lead))]), dtype=float)

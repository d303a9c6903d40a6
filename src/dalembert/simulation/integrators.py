"""One step at a time: SciPy's adaptive integrators and our steppers of fixed step behind one protocol."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from dalembert.errors import ArgumentError, SimulationWarning, SingularityError
from dalembert.model.checks import shown
from dalembert.simulation.equations import KernelEquations
from dalembert.simulation.inputs import Fault
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.state import as_positive
from dalembert.simulation.steppers import STEPPERS, Stepper

DIFFERENCE_STEP, DIFFERENCE_FLOOR = 1e-5, 1e-3
"""Steps: relative to a component of the state, or to the second number where that is smaller."""


def differences(flow: Callable[[float, np.ndarray], np.ndarray], t: float, x: np.ndarray) -> np.ndarray:
    """d flow / d x, (n, n).

    Args:
        flow: of time and state.
        x: state, (n,).
    """
    found = np.empty((len(x), len(x)))
    for k, h in enumerate(DIFFERENCE_STEP * np.maximum(np.abs(x), DIFFERENCE_FLOOR)):
        ahead, behind = x.copy(), x.copy()
        ahead[k] += h
        behind[k] -= h
        found[:, k] = (flow(t, ahead) - flow(t, behind)) / (ahead[k] - behind[k])
    return found


PACE_STEPS, ENDLESS = 2000, 1e8
"""If after so many steps so many more would be needed at this pace, the integrator is stuck."""


class Pace:
    """Looks every so many steps at how far they came."""

    def __init__(self) -> None:
        self._bound, self._count, self._mark = math.inf, 0, 0.0

    def begin(self, t: float, bound: float) -> None:
        """The integrator begins, or goes on towards the same bound after a correction.

        Args:
            bound: where it wants to get.
        """
        if bound != self._bound:
            self._bound, self._count, self._mark = bound, 0, t

    def stuck(self, t: float) -> str:
        """After a step: how far the last ones came, if the bound is out of sight; else nothing."""
        self._count += 1
        if self._count % PACE_STEPS:
            return ""
        covered, self._mark = t - self._mark, t
        slow = (self._bound - t) * PACE_STEPS > ENDLESS * covered
        return f"its last {PACE_STEPS} steps covered {covered:.3g} s" if slow else ""


def discontinuous_friction(system: Stabiliser) -> str:
    """What to say of friction without a transition, if there is any; else nothing."""
    acting = system.dynamics.elements.names
    items = [x for x in system.dynamics.numbers.forces if x.name in acting] if acting else []
    for item in items:
        if item.kind == "joint-friction" and item.value and not item.smoothing:
            return f"the friction {item.name!r} is discontinuous where its joint comes to rest; give it a smoothing"
    if "friction" not in system.dynamics.include:
        return ""
    return (
        "the friction of joints, f sign(v), is discontinuous where one comes to rest; leave it out, or put force "
        "elements 'joint-friction' with smoothing in its place"
    )


ADAPTIVE = {
    "DOP853": "explicit Runge-Kutta of order 8; the default",
    "RK45": "explicit Runge-Kutta of order 5",
    "RK23": "explicit Runge-Kutta of order 3",
    "Radau": "implicit Runge-Kutta of order 5, for stiff problems",
    "BDF": "implicit multistep method of order up to 5, for stiff problems",
    "LSODA": "multistep method that changes between stiff and non-stiff by itself",
}
"""SciPy's integrators by name."""

STIFF = ("Radau", "BDF", "LSODA")
"""Those that are made for stiff problems."""

MULTISTEP = ("BDF", "LSODA")
"""Those that remember more than the last state, which therefore must not be changed under their hands."""

DEFAULT_TOLERANCE, SINGLE_TOLERANCE, DEFAULT_STEP = 1e-9, 1e-5, 1e-3
"""Relative and absolute tolerance of adaptive methods, and step of the others, s, where nothing is said."""

RESTART_DISTANCE = 300.0
"""How many tolerances a state may be from its projection before a multistep method is started anew."""


HUGE = 1e100
"""States and derivatives beyond this have left physics: squares overflow, and SciPy looks for a step for ever."""


class IntegrationStep(NamedTuple):
    """From t0 to t1; ``state(t)`` gives x = [q; v] in between; ``dense`` is what to keep for later, if anything;
    ``guess(t)``, if ``state`` is expensive, gives about (q, v) at less expense, or None. ``work`` is what the control
    does in the step, and what resistance in joints takes, where the method says it.
    """

    t0: float
    t1: float
    x: np.ndarray
    state: Callable[[float], np.ndarray]
    dense: Any
    guess: Callable[[float], tuple[np.ndarray, np.ndarray] | None] | None = None
    work: np.ndarray | None = None


class Integrator(Protocol):
    """Advances one motion step by step, from leg to leg; a leg ends where the motion must stop exactly."""

    equations: KernelEquations

    @property
    def step_length(self) -> float | None:
        """The fixed step, s; None if tolerances choose the steps."""

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state with which the motion begins, after what happens at once."""

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state; stop at the bound."""

    def step(self) -> IntegrationStep:
        """Go on by one step."""

    def forget(self) -> None:
        """Expect nothing of the next leg: what acts is other than before."""

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""

    def correct(self, x: np.ndarray) -> None:
        """Go on from a state close to the last one, such as its projection on the constraints."""

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state after a step as it should be: on the constraints, quaternions of unit length."""


class Adaptive:
    """An integrator of SciPy.

    Args:
        method: a name of :data:`ADAPTIVE`.
        rtol: relative tolerance of a step.
        atol: absolute tolerance of a step.
        max_step: longest step, s.
        jacobian: of the flow, for implicit methods; by differences if None.
    """

    def __init__(
        self,
        equations: KernelEquations,
        method: str,
        rtol: float,
        atol: float,
        max_step: float,
        jacobian: Callable[[float, np.ndarray], np.ndarray] | None = None,
    ):
        self.equations, self.method, self.step_length = equations, method, None
        self.options: dict[str, Any] = {"rtol": rtol, "atol": atol, "max_step": max_step}
        if method in STIFF and (jacobian is not None or method != "LSODA"):  # which takes its own differences
            self.options["jac"] = jacobian or partial(differences, self.flow)
        self._solver: Any = None
        self._length: float | None = None
        self._fault: BaseException | None = None
        self._pace = Pace()

    def flow(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of the state, with a fault where it does not exist."""
        try:
            found = self.equations.flow(t, x)
            if not math.isfinite(found.sum()) and np.isfinite(x).all() and np.abs(x).max() < HUGE:
                nq = len(x) - self.equations.system.mechanism.nv
                raise Fault(NOT_FINITE, t, x[:nq], x[nq:], guess=NO_MASS)
            return found
        except BaseException as error:
            self._fault = error  # LSODA swallows exceptions
            raise

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state; stop at the bound."""
        import scipy.integrate

        self._look(t, x)
        first = None if self._length is None else min(self._length, bound - t)
        with np.errstate(over="ignore", invalid="ignore"):
            solver = getattr(scipy.integrate, self.method)(self.flow, t, x, bound, first_step=first, **self.options)
        slope = solver.f if hasattr(solver, "f") else self.flow(t, x)
        if not max(float(np.abs(x).max()), float(np.abs(slope).max())) < HUGE:
            nq = self.equations.system.mechanism.nq
            message = f"{NOT_FINITE} (the largest velocity is {np.abs(x[nq:]).max():.3g})"
            raise Fault(message, t, x[:nq], x[nq:], guess=NO_MASS)
        self._solver = solver
        self._pace.begin(t, bound)

    def step(self) -> IntegrationStep:
        """Go on by one step."""
        solver = self._solver
        x_before = solver.y
        with np.errstate(invalid="ignore", over="ignore"):  # SciPy's BDF subtracts memory it has not written yet
            message = solver.step()
        if self._fault is not None:
            raise self._fault
        nq = len(x_before) - self.equations.system.mechanism.nv
        if solver.status == "failed":
            reasons = str(message).rstrip("."), discontinuous_friction(self.equations.system)
            why = "".join(f": {reason}" for reason in reasons if reason)
            advice = ". Loosen rtol and atol" + ("" if self.method in STIFF else ", or try the method 'Radau'")
            message = f"{self.method} cannot go on{why}"
            raise Fault(message, solver.t, x_before[:nq], x_before[nq:], advice=advice)
        stuck = self._pace.stuck(solver.t)
        if stuck:
            why = discontinuous_friction(self.equations.system)
            why = why or "a control that switches or a very stiff spring, for example"
            message = f"{self.method} is stuck: {stuck}. Something is discontinuous, runs away or is very stiff: {why}"
            advice = ". Fixed steps (method='rk4') go on"
            raise Fault(message, solver.t, solver.y[:nq], solver.y[nq:], advice=advice)
        if solver.status == "running" or self._length is None:
            self._length = solver.step_size
        dense = solver.dense_output()
        return IntegrationStep(solver.t_old, solver.t, solver.y, dense, dense)

    def _look(self, t: float, x: np.ndarray) -> None:
        """See whether a singular configuration is near; only states on the constraints can go on over it."""
        system = self.equations.system
        q, v = x[: system.mechanism.nq], x[system.mechanism.nq :]
        near = system.is_near_singular(t, q)
        if near and not system.projects:
            raise Fault("the constraints are about to lose rank, which only drift = 'projection' can pass", t, q, v)
        self.equations.near_singular = near

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state with which the motion begins: as it is."""
        return x

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state on the constraints, quaternions of unit length."""
        return self.equations.system.projected(t, x)

    def forget(self) -> None:
        """Expect nothing of the next leg."""
        self._length = None

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self._solver.status != "running"

    def correct(self, x: np.ndarray) -> None:
        """Go on from a state close to the last one."""
        solver = self._solver
        if x is solver.y or self.finished:
            return
        nq = self.equations.system.mechanism.nq
        if self.equations.near_singular and np.abs((x - solver.y)[nq:]).max() > VELOCITY_CHANGE * np.abs(x[nq:]).max():
            message = "the velocity belongs to none of the motions that are possible behind a singular configuration"
            raise Fault(message, solver.t, solver.y[:nq], solver.y[nq:])
        self._look(solver.t, x)
        if self.method not in MULTISTEP:
            solver.y, solver.f = x, self.flow(solver.t, x)
            return
        allowed = RESTART_DISTANCE * (self.options["atol"] + self.options["rtol"] * np.abs(x))
        if (np.abs(x - solver.y) > allowed).any():
            self._length = None  # a multistep method begins with low order and short steps
            self.start(solver.t, x, solver.t_bound)


VELOCITY_CHANGE = 1e-3
"""If bringing the state back to the constraints behind a singular configuration changes the velocity by more than this
part, the motion does not go straight on."""

NOT_FINITE = "the accelerations are not finite"

NO_MASS = (
    ": the mass matrix is singular (a body without mass or inertia can move by itself or, if drift is treated by ggl, "
    "at all), a force or field is infinite there, or numbers overflow"
)
"""Why, if the constraints are not."""


class Fixed:
    """A stepper of fixed step.

    Args:
        length: of a step, s; shortened a little where a whole number of steps does not fit.
    """

    def __init__(self, equations: KernelEquations, stepper: Stepper, length: float):
        self.equations, self.stepper = equations, stepper
        self.step_length = length

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state; a whole number of equal steps reaches the bound."""
        self._begin, self._x, self._bound = t, x, bound
        self._count = max(1, math.ceil((bound - t) / self.step_length - 1e-9))
        self._done = 0

    def _time(self, k: int) -> float:
        return self._bound if k == self._count else self._begin + (self._bound - self._begin) * k / self._count

    def _advanced(self, t: float, x: np.ndarray, h: float) -> np.ndarray:
        nq = self.equations.system.mechanism.nq
        q, v = x[:nq], x[nq:]
        try:
            new = np.concatenate(self.stepper.step(self.equations, t, q, v, h))
        except SingularityError as error:
            raise Fault(str(error), t, q, v) from error
        if not np.isfinite(new).all():
            raise Fault(NOT_FINITE, t, q, v, guess=f"{NO_MASS}, or the step is too long")
        return new

    def step(self) -> IntegrationStep:
        """Go on by one step."""
        t0, t1, x0 = self._time(self._done), self._time(self._done + 1), self._x
        x1 = self._advanced(t0, x0, t1 - t0)

        def state(t: float) -> np.ndarray:
            return x1 if t == t1 else x0 if t == t0 else self._advanced(t0, x0, t - t0)

        @cache
        def powers() -> tuple[np.ndarray, ...] | None:
            """Coefficients of (t - t0) / h in the cubic polynomial with the slopes of the motion at both ends."""
            start, end = ((t1 - t0) * self.equations.flow(t, x) for t, x in ((t0, x0), (t1, x1)))
            known = start, 3 * (x1 - x0) - 2 * start - end, 2 * (x0 - x1) + start + end
            return known if np.isfinite(known).all() else None

        def guess(t: float) -> tuple[np.ndarray, np.ndarray] | None:
            known, s = powers(), (t - t0) / (t1 - t0)
            if known is None:
                return None
            x, nq = x0 + s * (known[0] + s * (known[1] + s * known[2])), self.equations.system.mechanism.nq
            return x[:nq], x[nq:]

        self._done += 1
        self._x = x1
        return IntegrationStep(t0, t1, x1, state, None, guess)

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state with which the motion begins: as it is."""
        return x

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state on the constraints, quaternions of unit length."""
        return self.equations.system.projected(t, x)

    def forget(self) -> None:
        """Expect nothing of the next leg; there is nothing to forget."""

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self._done == self._count

    def correct(self, x: np.ndarray) -> None:
        """Go on from a state close to the last one."""
        self._x = x


def integrator(
    equations: KernelEquations,
    method: str,
    rtol: float | None,
    atol: float | None,
    max_step: float | None,
    step: float | None,
    jacobian: Callable[[float, np.ndarray], np.ndarray] | None,
    single: bool = False,
) -> Integrator:
    """The integrator of that name. Warns of what was given and belongs to the other kind of method.

    Args:
        method: a name of :data:`ADAPTIVE` or :data:`~dalembert.simulation.steppers.STEPPERS`.
        rtol: relative tolerance, for adaptive methods; 1e-9 if None, 1e-5 in single precision.
        atol: absolute tolerance, for adaptive methods; as of rtol if None.
        max_step: longest step of adaptive methods, s; unbounded if None.
        step: length of a step of the others, s; 1e-3 if None.
        jacobian: of the flow, if known.
        single: whether accelerations are computed in float32. Their rounding, some 1e-6, is what a step of a tighter
            tolerance would chase, ever shorter.
    """
    name = method if isinstance(method, str) else ""
    if name not in ADAPTIVE and name not in STEPPERS:
        raise ArgumentError(
            f"there is no method {shown(method)}; choose one of {', '.join(ADAPTIVE)} (adaptive) or "
            f"{', '.join(STEPPERS)} (fixed step)"
        )
    usual = SINGLE_TOLERANCE if single else DEFAULT_TOLERANCE
    relative = as_positive("rtol", usual if rtol is None else rtol)
    absolute = as_positive("atol", usual if atol is None else atol)
    longest = as_positive("max_step", math.inf if max_step is None else max_step, "s", infinite=True)
    length = as_positive("step", DEFAULT_STEP if step is None else step, "s")
    if name in ADAPTIVE:
        _warn_unused(name, {"step": step}, STEPPERS, "chooses its steps by rtol and atol; max_step bounds them")
        return Adaptive(equations, name, relative, absolute, longest, jacobian)
    _warn_unused(name, {"rtol": rtol, "atol": atol, "max_step": max_step}, ADAPTIVE, "takes steps of the length step")
    return Fixed(equations, STEPPERS[name], length)


def _warn_unused(method: str, given: Mapping[str, Any], others: Iterable[str], instead: str) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        belong = "belongs" if len(names) == 1 else "belong"
        more = " and ".join(["{argument}", *names[1:]])
        warning = SimulationWarning(
            f"{more} {belong} to the methods {', '.join(others)}", argument=names[0], remedy=f"{method} {instead}"
        )
        warnings.warn(warning, stacklevel=4)

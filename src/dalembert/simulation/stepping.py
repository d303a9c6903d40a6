"""One step of a method as a program, the compiled loop that repeats it, and the summaries kept along the way: extremes,
the last value, the integral of a quantity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.errors import ArgumentError, DalembertError
from dalembert.model.checks import shown
from dalembert.native.recurrence import Recurrence
from dalembert.simulation.contact_history import MEASURES
from dalembert.simulation.equations import Control, TracedEquations, input_ports
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.steppers import STEPPERS
from dalembert.simulation.steppers.rigid_contact import RigidContact
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True, eq=False)
class SummaryStep:
    """A quantity along one step.

    Args:
        quantity: ``quantity(t, q, v)`` over traced scalars.
        equations: of motion, under the forces of this step.
        begin: time and state before it.
        end: time and state after it.
    """

    quantity: Callable[[Any, Any, Any], Any]
    equations: TracedEquations
    order: int
    h: Any
    begin: tuple[Any, Array, Array]
    end: tuple[Any, Array, Array]

    def after(self) -> Any:
        """Its value after the step."""
        return self.quantity(*self.end)

    def integral(self) -> Any:
        """Its integral over the step, to the order of the method: by trapezia, or by Simpson's rule."""
        outer = self.quantity(*self.begin) + self.quantity(*self.end)
        if self.order <= 2:
            return self.h * outer / 2
        return self.h * (outer + 4 * self.quantity(*self._middle())) / 6

    def _middle(self) -> tuple[Any, Array, Array]:
        """The state half-way, by the cubic polynomial through both ends with their derivatives: exact to h^4."""
        (t0, q0, v0), (t1, q1, v1), own, h = self.begin, self.end, self.equations, self.h
        q = (q0 + q1) / 2 + h / 8 * (own.rate(t0, q0, v0) - own.rate(t1, q1, v1))
        v = (v0 + v1) / 2 + h / 8 * (own.acceleration(t0, q0, v0) - own.acceleration(t1, q1, v1))
        return (t0 + t1) / 2, own.normalised(q), v


def _larger(a: Any, b: Any) -> Any:
    return scalar.select(a < b, b, a)


SUMMARIES: dict[str, tuple[float, Callable[[Any, SummaryStep], Any]]] = {
    "max": (-np.inf, lambda old, step: _larger(old, step.after())),
    "min": (np.inf, lambda old, step: -_larger(-old, -step.after())),
    "integral": (0.0, lambda old, step: old + step.integral()),
    "last": (np.nan, lambda old, step: step.after()),
}
"""What can be kept of a quantity along a motion: its value before the first step, and its update by a step."""


def recurrence(
    system: Stabiliser,
    method: str,
    actuated: Sequence[int] | None,
    policy: Callable[..., Array] | None,
    gains: int,
    sampled: bool,
    summaries: Mapping[str, tuple[str, Callable[..., Any]]],
    contact: RigidContact | None = None,
) -> Recurrence:
    """The loop for one way of driving a mechanism; remembered as long as the system lives.

    Its state is q, v, with contacts their impulses and measures, and, where time matters, the number of steps done and
    the summaries; constant are the step and
    whatever of gains, wrenches and parameters there is; driven is the control, unless there is a policy or none.

    Args:
        method: name of a stepper.
        actuated: which velocities the driven control acts on; None if there is no driven control.
        policy: ``policy(t, q, v)`` or ``policy(t, q, v, gains)`` over traced scalars, or None.
        gains: how many gains the policy takes.
        sampled: ask the policy once per step instead of at every stage of the method.
        summaries: by name the kind and the function of (t, q, v), over traced scalars.
        contact: how contacts are solved; None where there are none.
    """
    if not isinstance(method, str) or method not in STEPPERS:
        raise ArgumentError(f"there is no method {shown(method)} of fixed step; choose one of {', '.join(STEPPERS)}")
    for name, asked in summaries.items():
        if not (isinstance(asked, (tuple, list)) and len(asked) == 2 and callable(asked[1])):
            raise ArgumentError(f"summary {name!r} is {asked!r}; give ('max', function(t, q, v)) or alike")
        kind = asked[0]
        if kind not in SUMMARIES:
            raise ArgumentError(f"summary {name!r}: there is no kind {kind!r}; choose one of {', '.join(SUMMARIES)}")
    choice = (
        method,
        None if actuated is None else tuple(actuated),
        policy,
        gains,
        sampled,
        tuple(summaries.items()),
        contact,
    )
    if choice in system.made:
        return system.made[choice]
    m = system.mechanism
    state = [Port("q", (m.nq,)), Port("v", (m.nv,))]
    if contact is not None:
        points, rows = len(system.dynamics.contacts.points), system.dynamics.contacts.count
        kept = len(MEASURES) + (3 * points if contact.records else 0)
        state += [Port("impulses", (rows,)), Port("measures", (kept,))]
    if policy is not None or summaries or system.dynamics.takes_time:
        state += [Port("count", ()), Port("summary", (len(summaries),))]
    held = [Port("h", ())] + ([Port("gains", (gains,))] if gains else [])
    held += input_ports(system, ("wrenches", "parameters"))
    driven = [] if actuated is None else [Port("u", (len(actuated),))]

    def program() -> Program:
        return _program(system, state, held, driven, choice, dict(summaries))

    # Functions have no name for what they compute; the program itself is the key then.
    key = system.digest("step", method, actuated) if policy is None and not summaries else None
    if key is not None and contact is not None:
        key = system.digest("step", method, actuated, contact.key)
    dtype = system.dynamics.dtype or np.float64
    system.made[choice] = Recurrence(f"{method} of {m.name}", state, held, driven, program, key, dtype)
    return system.made[choice]


def _program(
    system: Stabiliser,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    choice: tuple[Any, ...],
    summaries: Mapping[str, tuple[str, Callable[..., Any]]],
) -> Program:
    from dalembert.tracing.passes import rebuild
    from dalembert.tracing.trace import trace

    method, actuated, policy, gains, sampled, _, contact = choice
    ports = [*state, *held, *driven]
    inputs = len(system.dynamics.input_names)

    def step(*values: Any) -> dict[str, Any]:
        given = dict(zip((port.name for port in ports), values))
        q, v, h = given["q"], given["v"], given["h"]
        t = given["count"] * h if "count" in given else 0
        if policy is not None:
            last = (given["gains"],) if gains else ()
            control: Control = lambda t, q, v: _traced(policy, "control", (inputs,), t, q, v, *last)  # noqa: E731
            if sampled:
                tau = control(t, q, v)
                control = lambda t, q, v: tau  # noqa: E731
        else:
            tau = arrays.zeros(inputs).tolist()
            for k, place in enumerate(actuated or ()):
                tau[place] = given["u"][k]
            held_tau = arrays.asarray(tau)
            control = lambda t, q, v: held_tau  # noqa: E731
        equations = TracedEquations(system, control, given.get("wrenches"), given.get("parameters"))
        stepper = STEPPERS[method]
        after: dict[str, Any] = {}
        if contact is None:
            new = stepper.step(equations, t, q, v, h)
        else:
            *new, after["impulses"], after["measures"] = contact.step(
                equations, t, q, v, h, given["impulses"], given["measures"], given.get("parameters")
            )
        new_q, new_v = equations.projected(t + h, *new, stepper.order)
        after = {"q": new_q, "v": new_v, **after}
        if "count" in given:
            after["count"] = given["count"] + 1
            ends = (t, q, v), (after["count"] * h, new_q, new_v)
            after["summary"] = [
                SUMMARIES[kind][1](kept, SummaryStep(_quantity(name, function), equations, stepper.order, h, *ends))
                for kept, (name, (kind, function)) in zip(given["summary"], summaries.items())
            ]
        return after

    m = system.mechanism
    if policy is not None:
        _check_repeats(policy, "control", (inputs,), m.nq, m.nv, gains)
    for name, (_, function) in summaries.items():
        _check_repeats(function, f"summary {name!r}", (), m.nq, m.nv, 0)
    return rebuild(trace(step, {port.name: port.shape for port in ports}, "step"))


def _check_repeats(
    function: Callable[..., Any], what: str, shape: tuple[int, ...], nq: int, nv: int, gains: int
) -> None:
    """Raise if a function draws random numbers or keeps a state."""
    from dalembert.tracing.trace import repeatable

    repeatable(
        lambda: _answer(function, what, shape, nq, nv, gains),
        what,
        "t, q, v and gains",
        "draw random numbers beforehand and pass them as rows of control= or as gains; simulate(..., control=) takes "
        "any function",
    )


def _answer(function: Callable[..., Any], what: str, shape: tuple[int, ...], nq: int, nv: int, gains: int) -> Program:
    from dalembert.tracing.trace import trace

    ports = {"t": (), "q": (nq,), "v": (nv,), **({"gains": (gains,)} if gains else {})}
    return trace(lambda *given: {"answer": _traced(function, what, shape, *given)}, ports, "answer")


def function_digest(
    system: Stabiliser, function: Callable[..., Any], shape: tuple[int, ...] = (), gains: int = 0
) -> str:
    """A name for what a function of (t, q, v) or (t, q, v, gains) computes: that of the program it is traced to.

    Args:
        function: over traced scalars.
        shape: of its answer.
        gains: how many it takes.
    """
    m = system.mechanism
    return _answer(function, "the function", shape, m.nq, m.nv, gains).digest


def _quantity(name: str, function: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda t, q, v: _traced(function, f"summary {name!r}", (), t, q, v)


def _traced(function: Callable[..., Any], what: str, shape: tuple[int, ...], *given: Any) -> Any:
    """What a user's function gives for traced scalars; what goes wrong in it is reported as its fault."""
    try:
        answer = function(*given)
        found = arrays.asarray(list(answer) if shape else [answer])
    except DalembertError:
        raise
    except Exception as error:
        raise ArgumentError(
            f"{what} cannot be compiled: called with traced scalars it raised {type(error).__name__}: {error}. It must "
            "be made of arithmetic and the functions of dalembert.algebra.scalar"
        ) from error
    if found.shape != (shape or (1,)):
        expected = f"{shape[0]} numbers" if shape else "one number"
        raise ArgumentError(f"{what} returned shape {found.shape if shape else found.shape[1:]}, expected {expected}")
    return found if shape else found[0]

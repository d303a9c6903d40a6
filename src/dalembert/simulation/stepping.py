"""One step of a method as a program, and the compiled loop that repeats it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.errors import ArgumentError, DalembertError
from dalembert.model.checks import shown
from dalembert.native.recurrence import Recurrence
from dalembert.simulation.equations import Control, TracedEquations
from dalembert.simulation.kernel_equations import input_ports
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.steppers import STEPPERS
from dalembert.simulation.summaries import SUMMARIES, SummaryStep
from dalembert.tracing.program import Port, Program


def recurrence(
    system: Stabiliser,
    method: str,
    actuated: Sequence[int] | None,
    policy: Callable[..., Array] | None,
    gains: int,
    sampled: bool,
    summaries: Mapping[str, tuple[str, Callable[..., Any]]],
) -> Recurrence:
    """The loop for one way of driving a mechanism; remembered as long as the system lives.

    Its state is q, v and, where time matters, the number of steps done and the summaries; held are the step and
    whatever of gains, wrenches and parameters there is; driven is the control, unless there is a policy or none.

    Args:
        system: what moves.
        method: name of a stepper.
        actuated: which velocities the driven control acts on; None if there is no driven control.
        policy: ``policy(t, q, v)`` or ``policy(t, q, v, gains)`` over traced scalars, or None.
        gains: how many gains the policy takes.
        sampled: ask the policy once per step instead of at every stage of the method.
        summaries: by name the kind and the function of (t, q, v), over traced scalars.
    """
    if not isinstance(method, str) or method not in STEPPERS:
        raise ArgumentError(f"there is no method {shown(method)} of fixed step; choose one of {', '.join(STEPPERS)}")
    for name, asked in summaries.items():
        if not (isinstance(asked, (tuple, list)) and len(asked) == 2 and callable(asked[1])):
            raise ArgumentError(f"summary {name!r} is {asked!r}; give ('max', function(t, q, v)) or alike")
        kind = asked[0]
        if kind not in SUMMARIES:
            raise ArgumentError(f"summary {name!r}: there is no kind {kind!r}; choose one of {', '.join(SUMMARIES)}")
    told = (method, None if actuated is None else tuple(actuated), policy, gains, sampled, tuple(summaries.items()))
    if told in system.made:
        return system.made[told]
    m = system.mechanism
    state = [Port("q", (m.nq,)), Port("v", (m.nv,))]
    if policy is not None or summaries or not system.dynamics.is_tree:
        state += [Port("count", ()), Port("summary", (len(summaries),))]
    held = [Port("h", ())] + ([Port("gains", (gains,))] if gains else [])
    held += input_ports(system, ("wrenches", "parameters"))
    driven = [] if actuated is None else [Port("u", (len(actuated),))]

    def program() -> Program:
        return _program(system, state, held, driven, told, dict(summaries))

    # Functions have no name that tells what they compute; the program itself is the key then.
    key = system.digest("step", method, actuated) if policy is None and not summaries else None
    dtype = system.dynamics.dtype or np.float64
    system.made[told] = Recurrence(f"{method} of {m.name}", state, held, driven, program, key, dtype)
    return system.made[told]


def _program(
    system: Stabiliser,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    told: tuple[Any, ...],
    summaries: Mapping[str, tuple[str, Callable[..., Any]]],
) -> Program:
    from dalembert.tracing.passes import rebuild
    from dalembert.tracing.trace import trace

    method, actuated, policy, gains, sampled, _ = told
    ports = [*state, *held, *driven]
    nv = system.mechanism.nv

    def step(*values: Any) -> dict[str, Any]:
        given = dict(zip((port.name for port in ports), values))
        q, v, h = given["q"], given["v"], given["h"]
        t = given["count"] * h if "count" in given else 0
        if policy is not None:
            last = (given["gains"],) if gains else ()
            control: Control = lambda t, q, v: _traced(policy, "control", (nv,), t, q, v, *last)  # noqa: E731
            if sampled:
                tau = control(t, q, v)
                control = lambda t, q, v: tau  # noqa: E731
        else:
            tau = arrays.zeros(nv).tolist()
            for k, place in enumerate(actuated or ()):
                tau[place] = given["u"][k]
            held_tau = arrays.asarray(tau)
            control = lambda t, q, v: held_tau  # noqa: E731
        equations = TracedEquations(system, control, given.get("wrenches"), given.get("parameters"))
        stepper = STEPPERS[method]
        new_q, new_v = equations.projected(t + h, *stepper.step(equations, t, q, v, h), stepper.order)
        after: dict[str, Any] = {"q": new_q, "v": new_v}
        if "count" in given:
            after["count"] = given["count"] + 1
            ends = (t, q, v), (after["count"] * h, new_q, new_v)
            after["summary"] = [
                SUMMARIES[kind][1](kept, SummaryStep(_quantity(name, function), equations, stepper.order, h, *ends))
                for kept, (name, (kind, function)) in zip(given["summary"], summaries.items())
            ]
        return after

    return rebuild(trace(step, {port.name: port.shape for port in ports}, "step"))


def _quantity(name: str, function: Callable[..., Any]) -> Callable[[Any, Any, Any], Any]:
    return lambda t, q, v: _traced(function, f"summary {name!r}", (), t, q, v)


def _traced(function: Callable[..., Any], what: str, shape: tuple[int, ...], *given: Any) -> Any:
    """What a user's function gives for traced scalars; what goes wrong in it is told as its fault."""
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
        told = f"{shape[0]} numbers" if shape else "one number"
        raise ArgumentError(f"{what} returned shape {found.shape if shape else found.shape[1:]}, expected {told}")
    return found if shape else found[0]

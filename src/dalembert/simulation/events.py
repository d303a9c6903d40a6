"""Events: what to look for while a mechanism moves, and what to do when it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dalembert.constraints.solve import solve
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_real, shown
from dalembert.simulation.inputs import Fault, asked, checked


@dataclass(frozen=True, eq=False)
class Event:
    """A zero of a function of the state.

    Args:
        function: ``function(t, q, v)``, a number that passes zero, or comes close to it.
        direction: 1 for those reached from below, -1 from above, 0 for both.
        stop: end the simulation here; a number ends it when the event has happened so often.
        reset: ``reset(t, q, v)`` gives the state ``(q, v)`` with which to go on.
        name: by which it is reported; the function's own by default.
        touch: in the units of the function; the event happens also where the function turns round no farther than this
            from zero, and then not again before it has been farther away. By default only what passes zero is seen.
    """

    function: Callable[..., Any]
    direction: int = 0
    stop: bool | int = False
    reset: Callable[..., Any] | None = None
    name: str = ""
    touch: float = 0.0

    hard: ClassVar[bool] = False
    """Whether there is no motion beyond the zero, in the direction of the event."""

    def __post_init__(self) -> None:
        if not callable(self.function) or (self.reset is not None and not callable(self.reset)):
            raise ArgumentError("an event needs a function of (t, q, v), and its reset is one too")
        if not isinstance(self.direction, (int, np.integer)) or self.direction not in (-1, 0, 1):
            raise ArgumentError(f"direction = {shown(self.direction)}; choose -1, 0 or 1")
        if not isinstance(self.stop, (bool, np.bool_, int, np.integer)) or self.stop < 0:
            raise ArgumentError(f"stop = {shown(self.stop)}; choose True, False or how often it may happen until then")
        if not expect(self.name, str, "Event, name"):
            object.__setattr__(self, "name", getattr(self.function, "__name__", "event"))
        object.__setattr__(self, "touch", expect_real(self.touch, "Event, touch", 0))

    def value(self, t: float, q: np.ndarray, v: np.ndarray) -> float:
        """The function, checked.

        Args:
            t: time.
            q: positions.
            v: velocities.
        """
        what = f"event {self.name!r}"
        found = asked(self.function, what, t, q, v)
        if isinstance(found, (bool, np.bool_)):  # a condition never passes zero
            raise Fault(f"{what} returned {found}; give a number that passes zero, q - limit for q > limit", t, q, v)
        return float(checked(found, what, (), t, q, v))

    def after(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after the event: the same, unless there is a reset.

        Args:
            t: time.
            q: positions.
            v: velocities.
        """
        if self.reset is None:
            return q, v
        what = f"reset of event {self.name!r}"
        answer = asked(self.reset, what, t, q, v)
        try:
            new_q, new_v = answer
        except (TypeError, ValueError) as error:
            raise Fault(f"{what} returned {answer!r}; it must return (q, v)", t, q, v) from error
        return checked(new_q, f"{what}, q", q.shape, t, q, v), checked(new_v, f"{what}, v", v.shape, t, q, v)


class Stop(Event):
    """An event that cannot be passed: what is at its zero is still before it."""

    hard = True


class Occurrence(NamedTuple):
    """An event that happened, with the state just before any reset."""

    name: str
    t: float
    q: np.ndarray
    v: np.ndarray


def as_events(given: Any) -> tuple[Event, ...]:
    """Events from what a user gives: nothing, one or several functions or events; SciPy's attributes are understood.

    Args:
        given: an Event, a function, or a sequence of them.
    """
    if given is None:
        return ()
    items: Iterable[Any] = given if isinstance(given, Sequence) else (given,)
    events = []
    for item in items:
        if isinstance(item, Event):
            events.append(item)
        elif callable(item):
            direction = int(np.sign(getattr(item, "direction", 0)))
            events.append(Event(item, direction, getattr(item, "terminal", False) or False))
        else:
            raise ArgumentError(f"events contain {item!r}; give functions of (t, q, v) or Event objects")
    return tuple(events)


def joint_stop(
    mechanism: Any, joint: str, *, lower: float | None = None, upper: float | None = None, restitution: float = 0.5
) -> tuple[Event, ...]:
    """Hard stops of a joint of one degree: at a limit the velocity along it is reversed by an impulse.

    Args:
        mechanism: the mechanism, or its dynamics; numeric, constraints are kept by the impact.
        joint: name of the joint.
        lower: position of the lower stop; that of the joint's limits by default.
        upper: position of the upper stop; that of the joint's limits by default.
        restitution: speed after the impact over speed before, above 0 and up to 1. A motion may start at a stop, but
            not beyond it. Resting on the stop is not modelled: when impacts accumulate, the simulation ends with an
            error that says so.
    """
    model = expect(getattr(mechanism, "mechanism", mechanism), Mechanism, "joint_stop, mechanism")
    system = Dynamics(model, elements=(), include=getattr(mechanism, "include", ()))
    at, along = model.q_slice(joint), model.v_slice(joint)
    if at.stop - at.start != 1:
        raise ArgumentError(f"joint {joint!r} has more than one degree of freedom; a stop needs a joint with one")
    restitution = expect_real(restitution, "joint_stop, restitution")
    if not 0 < restitution <= 1:
        raise ArgumentError(f"restitution = {restitution}; it must be above 0 and at most 1")
    limits, follows = model.joint(joint).limits, model.joint(joint).mimic
    gain, offset = (1.0, 0.0) if follows is None else (float(follows.multiplier), float(follows.offset))
    lower = float(limits.lower) if lower is None else expect_real(lower, "joint_stop, lower")
    upper = float(limits.upper) if upper is None else expect_real(upper, "joint_stop, upper")
    if not lower <= upper or (np.isinf(lower) and np.isinf(upper)):
        raise ArgumentError(
            f"joint {joint!r}: the stops {lower} and {upper} are no interval; give lower=, upper= or both"
        )

    def impact(t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M dv = impulse along the joint + G^T impulses of the constraints, G dv = 0."""
        unit, G = np.eye(len(v))[along.start], system.evaluate("positions", q, t)[1]
        column = solve(system.evaluate("mass_matrix", q), G, unit, np.zeros(len(G))).a
        return q, v - (1 + restitution) * column * v[along.start] / column[along.start]

    return tuple(
        Stop(
            lambda t, q, v, stop=stop: gain * q[at.start] + offset - stop,
            direction,
            reset=impact,
            name=f"{joint} {name} stop",
        )
        for name, stop, direction in (("lower", lower, -1), ("upper", upper, 1))
        if np.isfinite(stop)
    )

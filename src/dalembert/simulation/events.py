"""Events: what to look for while a mechanism moves, and what to do when it happens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.numeric import solve
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_real, shown
from dalembert.simulation.inputs import Fault, asked, checked

POINTS = 8
"""At how many points of a step events are looked for, so that a quick double crossing is seen."""


@dataclass(frozen=True, eq=False)
class Event:
    """A zero crossing of a function of the state.

    Args:
        function: ``function(t, q, v)``, a number that passes zero.
        direction: 1 for crossings from below, -1 from above, 0 for both.
        stop: end the simulation here.
        reset: ``reset(t, q, v)`` gives the state ``(q, v)`` with which to go on.
        name: by which it is reported; the function's own by default.
    """

    function: Callable[..., Any]
    direction: int = 0
    stop: bool = False
    reset: Callable[..., Any] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function) or (self.reset is not None and not callable(self.reset)):
            raise ArgumentError("an event needs a function of (t, q, v), and its reset is one too")
        if not isinstance(self.direction, (int, np.integer)) or self.direction not in (-1, 0, 1):
            raise ArgumentError(f"direction = {shown(self.direction)}; choose -1, 0 or 1")
        if not expect(self.name, str, "Event, name"):
            object.__setattr__(self, "name", getattr(self.function, "__name__", "event"))

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
            events.append(Event(item, direction, bool(getattr(item, "terminal", False))))
        else:
            raise ArgumentError(f"events contain {item!r}; give functions of (t, q, v) or Event objects")
    return tuple(events)


class Watch:
    """Looks for events along a motion; remembers on which side of zero each of them is.

    Args:
        events: what to look for.
    """

    def __init__(self, events: Sequence[Event]):
        self.events = tuple(events)
        self._side = np.zeros(len(self.events))
        self._known = np.zeros(len(self.events))  # the time at which an event was last seen on that side
        self._began = False

    def start(
        self, t: float, q: np.ndarray, v: np.ndarray, later: Callable[[], tuple], fired: Sequence[Event] = ()
    ) -> None:
        """Begin, or go on, at a state. At the very start and after a reset an event that is zero is on the side to
        which it moves; else it stays on its side, so that its crossing is still to come.

        Args:
            t: time.
            q: positions.
            v: velocities.
            later: gives time, positions and velocities a moment later.
            fired: the events that led here; they count as zero.
        """
        afresh = not self._began or any(event.reset is not None for event in fired)
        self._began = True
        for k, event in enumerate(self.events):
            value, self._known[k] = event.value(t, q, v), t
            if event in fired or (afresh and value == 0):
                moment = later()
                value, self._known[k] = event.value(*moment) - value, moment[0]
            elif not afresh:
                continue
            self._side[k] = np.sign(value)

    def first(
        self, t0: float, t1: float, state: Callable[[float], tuple[np.ndarray, np.ndarray]]
    ) -> tuple[tuple[Event, ...], float] | None:
        """The first events in a step, several if they come at once, with their time; None if nothing happens.

        Args:
            t0: begin of the step.
            t1: its end.
            state: gives (q, v) at times between.
        """
        if not self.events:
            return None
        points = np.linspace(t0, t1, POINTS + 1)
        for b in points[1:]:
            q, v = state(b)
            found: list[tuple[float, int, float]] = []
            for k, event in enumerate(self.events):
                side = np.sign(event.value(b, q, v))
                if side and self._side[k] and side != self._side[k] and event.direction in (0, side):
                    found.append((self._root(event, k, b, state), k, side))
                elif side:
                    self._side[k], self._known[k] = side, b
            if found:
                when = min(root for root, _, _ in found)
                now = [(k, side) for root, k, side in found if root == when or self._passed(k, when, state)]
                for k, side in now:
                    self._side[k], self._known[k] = side, b
                return tuple(self.events[k] for k, _ in now), when
        return None

    def last(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[Event, ...]:
        """Events that become zero exactly at the end, where they cannot be seen to pass it.

        Args:
            t: the end.
            q: positions.
            v: velocities.
        """
        return tuple(
            event
            for k, event in enumerate(self.events)
            if self._side[k] and event.direction in (0, -self._side[k]) and event.value(t, q, v) == 0
        )

    def _passed(self, k: int, when: float, state: Callable[[float], tuple]) -> bool:
        """Whether an event is not on its side any more: going on from there it would not be seen."""
        return bool(np.sign(self.events[k].value(when, *state(when))) != self._side[k])

    def _root(self, event: Event, k: int, b: float, state: Callable[[float], tuple]) -> float:
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return event.value(t, *state(t))

        a = self._known[k]
        if np.sign(value(a)) != self._side[k]:  # it was so little beyond zero that interpolation cannot tell
            return float(a)
        return float(brentq(value, a, b, xtol=4 * np.finfo(float).eps * max(1.0, abs(b)), rtol=1e-14))


def joint_stop(
    mechanism: Any, joint: str, *, lower: float | None = None, upper: float | None = None, restitution: float = 0.5
) -> tuple[Event, ...]:
    """Hard stops of a joint of one degree: at a limit the velocity along it is reversed by an impulse.

    Args:
        mechanism: the mechanism, or its dynamics; numeric, constraints are kept by the impact.
        joint: name of the joint.
        lower: position of the lower stop; that of the joint's limits by default.
        upper: position of the upper stop; that of the joint's limits by default.
        restitution: speed after the impact over speed before, above 0 and up to 1. Resting on the stop is not
            modelled: when impacts accumulate, the simulation ends with an error that says so.
    """
    model = expect(getattr(mechanism, "mechanism", mechanism), Mechanism, "joint_stop, mechanism")
    system = ConstrainedDynamics(model, forces=(), include=getattr(mechanism, "include", ()))
    at, along = model.q_slice(joint), model.v_slice(joint)
    if at.stop - at.start != 1:
        raise ArgumentError(f"joint {joint!r} has more than one degree of freedom; a stop needs a joint with one")
    restitution = expect_real(restitution, "joint_stop, restitution")
    if not 0 < restitution <= 1:
        raise ArgumentError(f"restitution = {restitution}; it must be above 0 and at most 1")
    limits = model.joint(joint).limits
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
        Event(lambda t, q, v, stop=stop: q[at.start] - stop, direction, reset=impact, name=f"{joint} {name} stop")
        for name, stop, direction in (("lower", lower, -1), ("upper", upper, 1))
        if np.isfinite(stop)
    )

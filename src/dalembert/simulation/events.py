"""Events: what to look for while a mechanism moves, what to do when it happens, and the search along a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
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
        """The function, checked."""
        what = f"event {self.name!r}"
        found = asked(self.function, what, t, q, v)
        if isinstance(found, (bool, np.bool_)):  # a condition never passes zero
            raise Fault(f"{what} returned {found}; give a number that passes zero, q - limit for q > limit", t, q, v)
        return float(checked(found, what, (), t, q, v))

    def after(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after the event: the same, unless there is a reset."""
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


SEARCH_POINTS = 8
"""At how many points of a step events are looked for, so that a quick double crossing is seen."""

CHECKPOINTS, MISFIT, TRIFLE = (0.381966, 0.7071068, 0.1415927), 0.03, 1e-6
"""Between two points where it is looked at, a function is known if the cubic polynomial of its values and slopes there
predicts it at these parts of the way, no multiples of a period, but for this part of the values, or of the largest so
far. That a function which turns many times does so by chance has a probability of some 1e-4.
"""

FINEST, LOOKS = 2.0**-20, 20_000
"""Where it is not, it is looked at more closely: down to this part of the usual distance, where it has a kink or jumps,
and so often in a motion."""

APPROACH_SHARE = 1e-3
"""Over what part of the way between these points it is seen whether a function comes nearer to zero."""

TOGETHER = 1e-6
"""Functions that touch zero within so small a part of a step do it at once: extremes are known no better."""


class _Found(NamedTuple):
    """An event in a step: when, which, on what side of zero it is then, and whether it only touches."""

    when: float
    which: int
    side: float
    touches: bool


BEYOND = 1e-9
"""By how much a motion may start beyond an event that cannot be passed, because of rounding, m or rad; of large
coordinates this part."""


StateAt = Callable[[float], tuple[np.ndarray, np.ndarray]]
"""Gives (q, v) at times of a step."""


class Watch:
    """Looks for events along a motion; remembers on which side of zero each of them is."""

    def __init__(self, events: Sequence[Event]):
        self.events = tuple(events)
        self._side = np.zeros(len(self.events))
        self._known = np.zeros(len(self.events))  # the time at which an event was last surely on that side
        self._nearing: list[bool | None] = [None] * len(self.events)  # whether it came nearer when last seen
        self._quiet = np.zeros(len(self.events), dtype=bool)  # whether it happened and was not far from zero since
        self._touched: set[int] = set()
        self._began = False
        self._end, self._usual, self._stride = -np.inf, 0.0, 0.0
        self._largest = np.zeros(len(self.events))
        self._looks = 0
        self.unresolved: set[str] = set()
        """Names of events that changed faster than they were looked at."""

    def start(
        self, t: float, q: np.ndarray, v: np.ndarray, later: Callable[[], tuple], fired: Sequence[Event] = ()
    ) -> None:
        """Begin, or go on, at a state. At the very start and after a reset an event that is zero is on the side to
        which it moves; else it stays on its side, so that its crossing is still to come.

        Args:
            later: gives time, positions and velocities a moment later.
            fired: the events that led here; they count as zero.
        """
        afresh = not self._began or any(event.reset is not None for event in fired)
        self._began = True
        if afresh or fired:
            self._nearing = [None] * len(self.events)
        for k, event in enumerate(self.events):
            value, self._known[k] = event.value(t, q, v), t
            self._quiet[k] = event.touch > 0 and (event in fired or (self._quiet[k] and not afresh))
            turned_back = k in self._touched and not afresh
            if event.hard and (afresh or event in fired):
                self._stay_before(k, value, t, q, v, later)
                continue
            if (event in fired and not turned_back) or (afresh and value == 0):
                moment = later()
                value, self._known[k] = event.value(*moment) - value, moment[0]
            elif not afresh:
                continue
            self._side[k] = np.sign(value)
        self._touched = set()

    def _stay_before(
        self, k: int, value: float, t: float, q: np.ndarray, v: np.ndarray, later: Callable[[], tuple]
    ) -> None:
        """An event that cannot be passed has every motion on its nearer side; pushed beyond, it happens at once."""
        event, little = self.events[k], BEYOND * max(1.0, float(np.abs(q).max()))
        if value * event.direction > little:
            message = f"the motion would begin beyond {event.name!r}, by {abs(value):.3g}; let it begin before or there"
            raise Fault(message, t, q, v)
        self._side[k] = -event.direction
        if abs(value) <= little:
            moment = later()
            if event.value(*moment) * event.direction < 0:
                self._known[k] = moment[0]

    def calm(self, t0: float, t1: float, state: StateAt, guess: Callable[[float], tuple | None]) -> bool:
        """Whether all events stay so far from zero in a step that nothing can happen; then they are done with it.

        Args:
            state: gives (q, v) at times between.
            guess: gives about the same at less expense, right at both ends and worst in the middle; or None.
        """
        try:
            calm = self.events and all(self._far(k, t0, t1, state, guess) for k in range(len(self.events)))
        except Fault:  # it may be defined where the motion goes, and not beside it
            return False
        for k in range(len(self.events) if calm else 0):
            self._known[k], self._nearing[k], self._quiet[k] = t1, None, False
        return bool(calm)

    def _far(self, k: int, t0: float, t1: float, state: StateAt, guess: Callable[[float], tuple | None]) -> bool:
        """Whether an event stays far from zero in a step."""
        event, side, values = self.events[k], float(self._side[k]), []
        times = np.linspace(t0, t1, SEARCH_POINTS + 1).tolist()
        for t in times:
            if (at := guess(t)) is None:
                return False
            values.append(side * event.value(t, *at))
        middle = times[SEARCH_POINTS // 2]
        wrong = abs(values[SEARCH_POINTS // 2] - side * event.value(middle, *state(middle)))
        # Between points it goes no farther beyond them than from one to the next.
        return min(values) > event.touch + 2 * wrong + max(abs(b - a) for a, b in pairwise(values))

    def _stretches(self, t0: float, t1: float, rough: StateAt, long: bool) -> Iterator[tuple[float, float]]:
        """Parts of a step, one after the other, so short that the functions of all events are smooth in each."""
        if t1 != self._end:  # another step, and not the rest of one
            self._end, self._usual = t1, (t1 - t0) / (SEARCH_POINTS // 2 if long else SEARCH_POINTS)
            self._stride = self._usual
        a = t0
        while a < t1:
            b = a + min(self._stride, self._usual)
            while long and b - a > FINEST * self._usual and (names := self._unknown(a, min(b, t1), rough)):
                if self._looks >= LOOKS:
                    self.unresolved.update(names)
                    break
                self._looks += 1
                b = a + (min(b, t1) - a) / 2
            self._stride = 2 * (b - a)
            if b <= a or t1 - b < APPROACH_SHARE * (b - a):  # next to nothing is left, or a few last digits
                b = t1
            yield a, b
            a = b

    def _unknown(self, a: float, b: float, rough: StateAt) -> list[str]:
        """The events whose functions between a and b are other than their values and slopes there let expect."""
        h, little, names = b - a, APPROACH_SHARE * (b - a), []
        for k, event in enumerate(self.events):
            f, beside, before, g = (event.value(t, *rough(t)) for t in (a, a + little, b - little, b))
            slope, end_slope = h * (beside - f) / little, h * (g - before) / little
            for s in CHECKPOINTS:
                there, r = event.value(a + s * h, *rough(a + s * h)), 1 - s
                guess = r * r * ((1 + 2 * s) * f + s * slope) + s * s * ((1 + 2 * r) * g - r * end_slope)
                size = max(abs(f), abs(there), abs(g))
                self._largest[k] = max(self._largest[k], size)
                if abs(there - guess) > MISFIT * size + TRIFLE * self._largest[k]:
                    names.append(event.name)
                    break
        return names

    def first(
        self, t0: float, t1: float, state: StateAt, rough: StateAt, long: bool = True
    ) -> tuple[tuple[Event, ...], float] | None:
        """The first events in a step, several if they come at once, with their time; None if nothing happens.

        Args:
            state: gives (q, v) at times between.
            rough: gives them but for what the end of a step corrects, at less expense: there events are looked for.
            long: whether the step may be long for the functions of events, because tolerances chose it.
        """
        if not self.events:
            return None
        for a, b in self._stretches(t0, t1, rough, long):
            found: list[_Found] = []
            sides, far = {}, []
            for k, event in enumerate(self.events):
                value = event.value(b, *rough(b))
                sure = b == t1 or np.sign(value) != self._side[k]
                value = event.value(b, *state(b)) if sure else value
                side = np.sign(value)
                passes = side and self._side[k] and side != self._side[k] and event.direction in (0, side)
                if passes and (root := self._heard(k, a, b, state)) is not None:
                    found.append(_Found(root, k, side, False))
                elif (turn := self._turn(k, a, b, value, state, rough)) is not None:
                    found.append(turn)
                elif side and sure:
                    sides[k] = side
                if abs(value) > event.touch:
                    far.append(k)
            if found:
                when = min(item.when for item in found)
                now = [item for item in found if self._at_once(item, when, t1 - t0, state)]
                for k in sides:  # what others do later will be seen again
                    self._side[k] = np.sign(self.events[k].value(when, *state(when))) or self._side[k]
                for item in now:
                    self._side[item.which] = item.side
                self._touched = {item.which for item in now if item.touches}
                return tuple(self.events[item.which] for item in now), when
            self._quiet[far] = False
            for k, side in sides.items():
                self._side[k], self._known[k] = side, b
        return None

    def jumped(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[Event, ...]:
        """Events that velocities carry to the other side in a jump."""
        happened = []
        for k, event in enumerate(self.events):
            side = np.sign(event.value(t, q, v))
            if side and self._side[k] and side != self._side[k]:
                if event.direction in (0, side):
                    happened.append(event)
                self._side[k], self._known[k] = side, t
        return tuple(happened)

    def last(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[Event, ...]:
        """Events that become zero exactly at the end, where they cannot be seen to pass it."""
        return tuple(
            event
            for k, event in enumerate(self.events)
            if self._side[k] and event.direction in (0, -self._side[k]) and event.value(t, q, v) == 0
        )

    def _at_once(self, item: _Found, when: float, step: float, state: StateAt) -> bool:
        """Whether an event happens with the first one, or is not on its side any more: going on from there it would
        not be seen.
        """
        if item.touches and item.when - when <= TOGETHER * step:
            return True
        side = np.sign(self.events[item.which].value(when, *state(when)))
        return bool(item.when == when or side != self._side[item.which])

    def _root(self, k: int, a: float, b: float, state: StateAt) -> float:
        """When an event passes zero, given that it is beyond at b, and was not at a, but for errors."""
        event, known = self.events[k], float(self._known[k])
        for begin in (max(a, known), known):
            if np.sign(event.value(begin, *state(begin))) == self._side[k]:
                return _zero(event, begin, b, state)
        return known  # so little beyond that interpolation cannot decide

    def _heard(self, k: int, a: float, b: float, state: StateAt) -> float | None:
        """When an event passes zero that is beyond at b; None if it happened before and was never far since."""
        root = self._root(k, a, b, state)
        if self._quiet[k] and (root <= a or -self._extreme(k, a, root, -1, state)[1] <= self.events[k].touch):
            return None
        return root

    def _turn(self, k: int, a: float, b: float, value: float, state: StateAt, rough: StateAt) -> _Found | None:
        """Where an event turns round between a and b, if it touches zero there, or passes it for a moment."""
        event, side, little = self.events[k], self._side[k], APPROACH_SHARE * (b - a)

        def distance(t: float) -> float:
            return float(side * event.value(t, *rough(t)))

        came = distance(a + little) < distance(a) if self._nearing[k] is None else self._nearing[k]
        self._nearing[k] = goes = distance(b) < distance(b - little)
        if side == 0 or side * value < 0 or not came or goes:
            return None
        when, least = self._extreme(k, a, b, 1, state)
        there = event.direction in (0, -side)
        if least < -event.touch:  # where only the way back counts, that is reported
            found = self._root(k, a, when, state) if there else _zero(event, when, b, state)
            return _Found(found, k, -side if there else side, False)
        return _Found(when, k, side, True) if there and 0 < event.touch >= least and not self._quiet[k] else None

    def _extreme(self, k: int, a: float, b: float, sign: int, state: StateAt) -> tuple[float, float]:
        """Where between a and b an event is nearest to zero (1) or farthest (-1), and sign times the distance there,
        negative distances being beyond.
        """
        from scipy.optimize import minimize_scalar

        event, factor = self.events[k], sign * self._side[k]
        found = minimize_scalar(
            lambda t: factor * event.value(t, *state(t)), bounds=(a, b), method="bounded",
            options={"xatol": 1e-9 * (b - a)},
        )  # fmt: skip
        return float(found.x), float(found.fun)


def _zero(event: Event, a: float, b: float, state: StateAt) -> float:
    """Where between a and b, on different sides of it, an event is zero."""
    from scipy.optimize import brentq

    tiny = 4 * np.finfo(float).eps * max(1.0, abs(b))
    return float(brentq(lambda t: event.value(t, *state(t)), a, b, xtol=tiny, rtol=1e-14))

"""Motions with few contacts, from event to event: smooth in between, impacts and changes of mode at their very moment.

Between events closed contacts are equations: no acceleration apart, none along a tangent that sticks, and friction
mu p_n against the slip where it slides. An adaptive integrator of high order follows them; nothing is of first order in
a step, which is why this is the oracle of the stepping law. A leg ends where a gap closes, a contact force vanishes,
friction reaches its limit, or slip comes to rest. There

- approaching points collide: the law of :mod:`dalembert.contact.rigid` for h -> 0, u+ = -e u- and Coulomb for impulses;
  contacts that rebound (e > 0) act one after the other, the fastest first, as if there were tiny gaps between them, and
  all points of one contact together with everything that does not rebound;
- the modes of the next leg are those that solve the same law for accelerations.

Impacts that would follow each other ever faster, and end, by what accelerations say, within :data:`ZENO` seconds, are
taken at once: the series goes to rest (B. Brogliato, Nonsmooth Mechanics, 2016, section 7.1). Where no forces satisfy
the law of accelerations, or more than one set does (Painleve's paradox: friction presses a sliding point into the
ground faster than the force can lift it), that is reported, and an impulse brings the slip to rest, as the stepping
law does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.contact.cones import HELD_SMALL, PROXIMAL, ConeProblem
from dalembert.errors import SimulationWarning
from dalembert.kinematics.manifold import displaced, normalise_in_place
from dalembert.simulation.contact_history import ContactHistory, ContactMeasures
from dalembert.simulation.events import Occurrence
from dalembert.simulation.inputs import Fault, Inputs
from dalembert.simulation.integrators import IntegrationStep
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.trajectory import Sample, Trajectory

METHOD = "event-driven"
"""Its name among the methods of simulate."""

RTOL, ATOL = 1e-10, 1e-12
"""Tolerances of the integrator where nothing is said."""

ZENO = 1e-7
"""Series of impacts that end within so many seconds end now."""

TOUCH = 1e-9
"""A gap, m or rad, of what touches: it is closed by the projection at the next event."""

REST = 1e-9
"""A velocity, m/s or rad/s, of what rests."""

JAM = 10 * REST
"""The velocity, m/s, that a jammed point must reach along the normal: the least push shows where friction drives it."""

LOOKS = 8
"""Places within a step at which it is asked whether its modes still hold."""

SWEEPS, EXACT = 400, 1e-14
"""Of the solver, of which most problems need five; and where it ends, relative to the velocities of the problem."""

CROWD = 60
"""So many events at one moment, and no motion goes on."""

FORCE = 1e-9
"""Of the largest force: below it a force is none."""


@dataclass(frozen=True)
class Unilateral:
    """A normal, or one end of a range.

    Args:
        row: of the contact set.
        sign: -1 for an upper end.
        contact: the pair that it belongs to; points of one pair collide together.
        name: of the point or joint.
        point: number of the point, or None.
    """

    row: int
    sign: int
    contact: str
    name: str
    point: int | None


@dataclass(frozen=True)
class Friction:
    """Rows whose impulse lies in a disk.

    Args:
        rows: of the contact set.
        owner: number of the unilateral row whose force bounds it, or None for dry friction of a joint.
        name: of the point or joint.
    """

    rows: tuple[int, ...]
    owner: int | None
    name: str


@dataclass
class Modes:
    """What holds during a leg.

    Args:
        closed: unilateral rows, by number.
        sticks: frictions, by number.
        slides: directions of slip of the others that act, by number.
    """

    closed: tuple[int, ...] = ()
    sticks: tuple[int, ...] = ()
    slides: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.closed, self.sticks, tuple(sorted(self.slides))


class Instant:
    """The mechanism at one state: rows, and what forces along them do."""

    def __init__(self, found: tuple[np.ndarray, ...], v: np.ndarray):
        self.free, M, G, self.J, self.bias, self.rate, self.distances, self.numbers = found
        self.v, self.u = v, self.J @ v
        inverse = np.linalg.inv(M)
        self.sizes = np.einsum("ri,ij,rj->r", self.J, inverse, self.J)
        if len(G):
            held = G @ inverse
            inverse = inverse - held.T @ np.linalg.pinv(held @ G.T, rcond=1e-10, hermitian=True) @ held
        self.inverse = inverse
        self.mobility = np.einsum("ri,ij,rj->r", self.J, inverse, self.J)

    def push(self, forces: np.ndarray) -> np.ndarray:
        """Change of velocities by impulses along all rows, or of accelerations by forces."""
        return self.inverse @ (self.J.T @ forces)


class Paradox(Exception):
    """No forces, or several, satisfy the law of accelerations."""

    def __init__(self, names: list[str]):
        super().__init__(", ".join(map(repr, names)))
        self.names = names


class ContactEvents:
    """Modes, forces and impacts of a mechanism in numbers.

    Args:
        inputs: control and wrenches.
        values: of the parameters, or None.
    """

    def __init__(self, system: Stabiliser, inputs: Inputs, values: np.ndarray | None):
        self.system, self.inputs = system, inputs
        self.dynamics = system.dynamics
        self.kernel = self.dynamics.kernel("contact_terms")
        self._last = () if values is None else (values,)
        self._loads = bool(self.dynamics.wrenches)
        layout = self.dynamics.contacts
        self.layout = layout
        self.unilateral: list[Unilateral] = []
        self.frictions: list[Friction] = []
        for k, point in enumerate(layout.points):
            owner = len(self.unilateral)
            self.unilateral.append(Unilateral(point.normal, 1, point.contact, point.name, k))
            self.frictions += [Friction(rows, owner, point.name) for rows, _ in point.disks]
        for row, joint in zip(layout.limit_rows, layout.limited):
            self.unilateral += [Unilateral(row, sign, f"{joint} {sign}", joint, None) for sign in (1, -1)]
        self.frictions += [Friction((row,), None, str(layout.rows[row])) for row in layout.dry_rows]
        self.evaluations = 0

    def at(self, t: float, q: np.ndarray, v: np.ndarray) -> Instant:
        """Everything at one state."""
        self.evaluations += 1
        tau = self.inputs.control(t, q, v)
        loads = (self.inputs.wrenches(t, q, v),) if self._loads else ()
        return Instant(self.kernel(q, v, tau, *loads, t, *self._last), v)

    def gap(self, now: Instant, i: int) -> float:
        """Of a unilateral row, m or rad."""
        one = self.unilateral[i]
        return float(now.distances[one.row, 0 if one.sign > 0 else 1])

    def speed(self, now: Instant, i: int) -> float:
        """At which a unilateral row opens."""
        one = self.unilateral[i]
        return float(one.sign * now.u[one.row])

    def radius(self, now: Instant, d: int) -> float:
        """The coefficient of a friction, or the largest force of a dry one."""
        return float(now.numbers[self.frictions[d].rows[0]])

    def touching(self, now: Instant) -> list[int]:
        """Unilateral rows without a gap that can push."""
        return [i for i in range(len(self.unilateral)) if self.gap(now, i) <= TOUCH and self.pushes(now, i)]

    def pushes(self, now: Instant, i: int) -> bool:
        """Whether anything moves along a unilateral row; see :class:`~dalembert.contact.cones.ConeProblem`."""
        one = self.unilateral[i]
        size = sum(now.sizes[list(x.rows)].sum() for x in self.frictions if x.owner == i and len(x.rows) == 2)
        return bool(now.mobility[one.row] > HELD_SMALL * (now.sizes[one.row] + size))

    # ------------------------------------------------------------------------------------------------ forces in a mode

    def _system(self, now: Instant, modes: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows that are held, columns of forces along all rows (which slide along), and constant forces."""
        count = self.layout.count
        rows, columns = [], []
        for i in modes.closed:
            one = self.unilateral[i]
            column = np.zeros(count)
            column[one.row] = one.sign
            rows.append(column.copy())
            for d, direction in modes.slides.items():
                if self.frictions[d].owner == i:
                    column[list(self.frictions[d].rows)] = -self.radius(now, d) * self._along(now, d, direction)
            columns.append(column)
        for d in modes.sticks:
            for row in self.frictions[d].rows:
                unit = np.zeros(count)
                unit[row] = 1
                rows.append(unit)
                columns.append(unit)
        constant = np.zeros(count)
        for d, direction in modes.slides.items():
            if self.frictions[d].owner is None:
                constant[list(self.frictions[d].rows)] = -self.radius(now, d) * direction
        shape = len(rows), count
        return np.array(rows).reshape(shape), np.array(columns).reshape(shape).T, constant

    def _along(self, now: Instant, d: int, direction: np.ndarray) -> np.ndarray:
        """The direction of slip: of the velocity, continued smoothly through zero."""
        if len(direction) == 1:
            return direction
        u = now.u[list(self.frictions[d].rows)]
        size = float(np.linalg.norm(u))
        if size < REST:
            return direction
        return u / size if u @ direction > 0 else -u / size

    def forces(self, now: Instant, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations, and forces along all rows, in a mode."""
        R, C, constant = self._system(now, modes)
        a = now.free + now.push(constant)
        if not len(R):
            return a, constant
        K = R @ now.J @ now.inverse @ now.J.T @ C
        wanted = -R @ (now.J @ a + now.bias)
        x = _solved(K, wanted)
        forces = C @ x
        return a + now.push(forces), forces + constant

    def holds(self, now: Instant, modes: Modes) -> bool:
        """Whether modes may go on at a state: no gap closes, no force pulls, no friction is beyond its cone."""
        for i in range(len(self.unilateral)):
            if i not in modes.closed and self.gap(now, i) < 0 and self.speed(now, i) < 0 and self.pushes(now, i):
                return False
        for d, direction in modes.slides.items():
            if now.u[list(self.frictions[d].rows)] @ direction < -1e-3 * REST:
                return False
        a, forces = self.forces(now, modes)
        if self._allowed(now, modes, forces):
            return True
        if np.linalg.matrix_rank(now.J[self._held(modes)]) == len(self._held(modes)):
            return False
        try:  # single forces that are not unique may be shared out otherwise
            return bool(np.abs(self.decided(now)[1] - a).max() < 1e-8 * (1 + np.abs(a).max()))
        except Paradox:
            return False

    def _held(self, modes: Modes) -> list[int]:
        return [self.unilateral[i].row for i in modes.closed] + [
            row for d in modes.sticks for row in self.frictions[d].rows
        ]

    def _allowed(self, now: Instant, modes: Modes, forces: np.ndarray) -> bool:
        scale = FORCE * float(np.abs(forces).max(initial=0))
        normal = {i: self.unilateral[i].sign * forces[self.unilateral[i].row] for i in modes.closed}
        if any(x < -scale for x in normal.values()):
            return False
        for d in modes.sticks:
            owner = self.frictions[d].owner
            most = self.radius(now, d) * (1 if owner is None else normal.get(owner, 0.0))
            if np.linalg.norm(forces[list(self.frictions[d].rows)]) > most + scale:
                return False
        return True

    # --------------------------------------------------------------------------------------------------- modes anew

    def decided(self, now: Instant) -> tuple[Modes, np.ndarray]:
        """The modes that the law of accelerations allows, and these accelerations."""
        resting = [i for i in self.touching(now) if abs(self.speed(now, i)) <= REST]
        slides, held = {}, []
        for d, one in enumerate(self.frictions):
            if one.owner is not None and one.owner not in resting:
                continue
            u = now.u[list(one.rows)]
            size = float(np.linalg.norm(u))
            if size > REST:
                slides[d] = u / size
            else:
                held.append(d)
        candidate = Modes(tuple(resting), tuple(held), slides)
        R, C, constant = self._system(now, candidate)
        start = now.free + now.push(constant)
        K = R @ now.J @ now.inverse @ now.J.T @ C
        w = R @ (now.J @ start + now.bias)
        self._refuse_paradox(now, candidate, K)
        disks, dry, place = [], {}, len(resting)
        places: dict[int, tuple[int, ...]] = {}
        for d in held:
            one = self.frictions[d]
            rows = tuple(range(place, place + len(one.rows)))
            places[d], place = rows, place + len(rows)
            if one.owner is None:
                dry[rows[0]] = self.radius(now, d)
            else:
                disks.append((resting.index(one.owner), rows, self.radius(now, d)))
        bounds = dict.fromkeys(range(len(resting)), 0.0)
        x, residual = exact(ConeProblem(K.tolist(), w.tolist(), bounds, disks, None, dry), w)
        if residual > 1e-6 * (1 + np.abs(w).max(initial=0)):
            raise Paradox([self.unilateral[i].name for i in resting])
        forces = C @ x
        a = start + now.push(forces)
        rising = K @ x + w
        small = 1e-11 * (np.abs(w).max(initial=0) + 1)
        weak = FORCE * np.abs(x).max(initial=0)
        closed = tuple(i for k, i in enumerate(resting) if rising[k] <= small or x[k] > weak)
        sticks = []
        for d in held:
            owner = self.frictions[d].owner
            if owner is not None and owner not in closed:
                continue
            part = rising[list(places[d])]
            size = float(np.linalg.norm(part))
            if size > 1e-9 * (np.abs(w).max() + 1e-300) and size > 1e-12:
                slides[d] = part / size
            else:
                sticks.append(d)
        kept = {d: x for d, x in slides.items() if (o := self.frictions[d].owner) is None or o in closed}
        return Modes(closed, tuple(sticks), kept), a

    def _refuse_paradox(self, now: Instant, modes: Modes, K: np.ndarray) -> None:
        sliding = {self.frictions[d].owner for d in modes.slides}
        bad = [
            self.unilateral[i].name for k, i in enumerate(modes.closed)
            if i in sliding and K[k, k] <= 1e-9 * now.mobility[self.unilateral[i].row]
        ]  # fmt: skip
        if bad:
            raise Paradox(bad)

    # -------------------------------------------------------------------------------------------------------- impacts

    def collided(self, now: Instant, jam: bool = False) -> tuple[np.ndarray, np.ndarray, float]:
        """Velocities after the impacts of one moment, their impulses along all rows, and the residual, m/s.

        Args:
            now: the state before.
            jam: nothing approaches, but slip must come to rest (Painleve's paradox).
        """
        v, total, worst = now.v.copy(), np.zeros(self.layout.count), 0.0
        touching = self.touching(now)
        for turn in range(SWEEPS):
            u = now.J @ v
            speeds = {i: self.unilateral[i].sign * u[self.unilateral[i].row] for i in touching}
            closing = [i for i in touching if speeds[i] < -REST]
            if not closing and not (jam and not turn):
                break
            rebound = {i: self._restitution(now, i) for i in closing}
            bouncing = [i for i in closing if rebound[i] > 0]
            allowed = touching
            if bouncing and turn < SWEEPS // 2:  # one pair after the other; those that never end all at once
                first = self.unilateral[min(bouncing, key=lambda i: speeds[i])].contact
                allowed = [
                    i for i in touching if self.unilateral[i].contact == first or not self._restitution(now, i)
                ]  # fmt: skip
            least = JAM if jam and not turn else 0.0
            bounds = {i: -rebound.get(i, 0.0) * speeds[i] if i in closing else least for i in allowed}
            p, residual = self._impulses(now, u, bounds, jam and not turn)
            worst, total = max(worst, residual), total + p
            v = v + now.push(p)
        return v, total, worst

    def _restitution(self, now: Instant, i: int) -> float:
        one = self.unilateral[i]
        return float(now.numbers[one.row]) if one.point is not None else 0.0

    def _impulses(self, now: Instant, u: np.ndarray, bounds: dict[int, float], jam: bool) -> tuple[np.ndarray, float]:
        chosen = list(bounds)
        rows = [self.unilateral[i].row for i in chosen]
        signs = np.array([float(self.unilateral[i].sign) for i in chosen])
        disks = []
        for d, one in enumerate(self.frictions):
            if one.owner in bounds:
                own = tuple(range(len(rows), len(rows) + len(one.rows)))
                rows += one.rows
                disks.append((chosen.index(one.owner), own, self.radius(now, d)))
        signs = np.concatenate([signs, np.ones(len(rows) - len(signs))])
        J = signs[:, None] * now.J[rows]
        A, w = J @ now.inverse @ J.T, signs * u[rows]
        limits = {k: bounds[i] for k, i in enumerate(chosen)}
        wanted = np.array([*limits.values(), *[0.0] * (len(rows) - len(limits))])
        start = _solved(A, wanted - w) if jam else None  # the one of all solutions in which everything sticks
        p, residual = exact(ConeProblem(A.tolist(), w.tolist(), limits, disks), w, start)
        found = np.zeros(self.layout.count)
        np.add.at(found, rows, signs * p)
        return found, residual

    def settled(self, now: Instant, before: np.ndarray) -> list[int]:
        """Points that just collided and whose further impacts would end within :data:`ZENO` seconds.

        Args:
            now: the state after an impact.
            before: velocities along the rows before it.
        """
        leaving = [i for i in self.touching(now) if self.speed(now, i) > REST]
        if not leaving:
            return []
        try:
            _, a = self.decided(now)
        except Paradox:
            return []
        rates = now.J @ a + now.bias
        found = []
        for i in leaving:
            one = self.unilateral[i]
            falls = -one.sign * rates[one.row]
            left = 1 - self._restitution(now, i)
            if falls > 0 and left > 0 and 2 * self.speed(now, i) < ZENO * falls * left:
                found.append(i)
        return found

    def at_rest(self, now: Instant, rows: list[int]) -> np.ndarray:
        """Velocities nearest to those of a state at which some rows rest, by kinetic energy."""
        J = now.J[rows]
        if not len(J):
            return now.v
        return now.v - now.inverse @ J.T @ _solved(J @ now.inverse @ J.T, J @ now.v)


def _solved(K: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The shortest x with K x = b; K need not be symmetric nor regular."""
    return np.linalg.lstsq(K, b, rcond=1e-11)[0] if len(b) else np.zeros(0)


def exact(problem: ConeProblem, w: np.ndarray, start: np.ndarray | None = None) -> tuple[np.ndarray, float]:
    """The impulses that solve a problem to rounding, and the residual, m/s.

    Args:
        w: its velocities without impulses.
        start: impulses to begin with; none by default.
    """
    if not len(w):
        return np.zeros(0), 0.0
    p = [*(np.zeros(len(w)) if start is None else start).tolist(), PROXIMAL[0]]
    small = EXACT * (float(np.abs(w).max()) + 1e-300)
    residual = np.inf
    for _ in range(SWEEPS):
        p = problem.newton_swept(p)
        residual = float(problem.residuals(p[:-1], problem.velocities(p[:-1]))[0])
        if residual <= small:
            break
    return np.array(problem.brought_back(p[:-1]), dtype=float), residual


class EventMotion:
    """One motion."""

    def __init__(self, events: ContactEvents, tolerances: tuple[float, float], max_step: float):
        self.events, self.tolerances, self.max_step = events, tolerances, max_step
        self.system = events.system
        self.nq = self.system.mechanism.nq
        self.impacts: list[dict[str, Any]] = []
        self.noted: list[Occurrence] = []
        self.jumps: list[Sample] = []
        self.paradoxes: list[tuple[float, str]] = []
        self.sums = np.zeros(3)  # residual of the worst impact, friction loss and impact loss of impacts
        self.modes = Modes()

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions, of unit quaternions, and velocities."""
        q = normalise_in_place(self.system.tree, y[: self.nq].copy())
        return q, y[self.nq : -1]

    def instant(self, t: float, y: np.ndarray) -> Instant:
        return self.events.at(t, *self.split(y))

    def slope(self, t: float, y: np.ndarray) -> np.ndarray:
        """Of positions, velocities, and what friction took away."""
        now = self.instant(t, y)
        a, forces = self.events.forces(now, self.modes)
        lost = -sum(forces[row] * now.u[row] for d in self.modes.slides for row in self.events.frictions[d].rows)
        return np.concatenate([now.rate, a, [lost]])

    def settle(self, t: float, y: np.ndarray) -> np.ndarray:
        """Impacts, then modes: the state with which the next leg begins."""
        events = self.events
        for _ in range(CROWD):
            q, v = self.split(y)
            q, v = self._closed(t, q, v)
            now = events.at(t, q, v)
            closing = any(events.speed(now, i) < -REST for i in events.touching(now))
            try:
                if not closing:
                    modes, _ = events.decided(now)
                    self._note(t, q, v, modes)
                    self.modes = modes
                    return np.concatenate([q, v, y[-1:]])
                jam = False
            except Paradox as paradox:
                jam = True
                self.paradoxes.append((t, paradox.names[0]))
            after, p, residual = events.collided(now, jam)
            if jam and not np.abs(after - v).max() > REST:
                name = self.paradoxes[-1][1]
                raise Fault(
                    f"no forces satisfy the law of contact at {name!r}, and no impulse either (Painleve's paradox)",
                    t,
                    q,
                    v,
                )
            later = events.at(t, q, after)
            resting = [i for i in events.touching(later) if abs(events.speed(later, i)) <= REST]
            still = events.settled(later, now.u)
            if still:
                rows = [events.unilateral[i].row for i in [*resting, *still]]
                after = events.at_rest(later, rows)
            self._collision(t, q, v, after, p, residual, now)
            y = np.concatenate([q, after, y[-1:]])
        raise Fault("events crowd at one moment, and the motion does not go on", t, q, v)

    def _closed(self, t: float, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is closed without a gap, what rests without a velocity; and loops as they should be."""
        events = self.events
        now = events.at(t, q, v)
        touching = [i for i in events.touching(now) if abs(events.gap(now, i)) < 1e3 * TOUCH]
        rows = [events.unilateral[i].row for i in touching]
        if rows:
            gaps = np.array([events.unilateral[i].sign * events.gap(now, i) for i in touching])
            J = now.J[rows]
            shift = -now.inverse @ J.T @ _solved(J @ now.inverse @ J.T, gaps)
            q = np.asarray(displaced(self.system.tree, q, shift), dtype=float)
        x = self.system.projected(t, np.concatenate([q, v]))
        q, v = x[: self.nq], x[self.nq :]
        now = events.at(t, q, v)
        resting = [i for i in events.touching(now) if abs(events.speed(now, i)) <= 100 * REST]
        still = [events.unilateral[i].row for i in resting]
        for one in events.frictions:
            if (one.owner is None or one.owner in resting) and np.linalg.norm(now.u[list(one.rows)]) <= 100 * REST:
                still += one.rows
        return q, events.at_rest(now, still)

    def _collision(
        self, t: float, q: np.ndarray, v: np.ndarray, after: np.ndarray, p: np.ndarray, residual: float, now: Instant
    ) -> None:
        mean = now.J @ (v + after) / 2
        normals = [one.row for one in self.events.unilateral]
        pressing = np.isin(np.arange(len(p)), normals)
        self.sums[0] = max(self.sums[0], residual)
        self.sums[1] -= p[~pressing] @ mean[~pressing]
        self.sums[2] -= p[pressing] @ mean[pressing]
        hit = sorted({one.name for one in self.events.unilateral if abs(p[one.row]) > 0})
        self.impacts.append({"t": t, "points": tuple(hit), "impulses": p, "residual": residual})
        self.noted.append(Occurrence(f"impact of {', '.join(hit)}", t, q, v))
        self.jumps.append(Sample(t, q, after))

    def _note(self, t: float, q: np.ndarray, v: np.ndarray, modes: Modes) -> None:
        old, events = self.modes, self.events
        for i, one in enumerate(events.unilateral):
            if (i in modes.closed) != (i in old.closed):
                word = "rests" if i in modes.closed else "lifts"
                self.noted.append(Occurrence(f"{one.name} {word}", t, q, v))
        for d, friction in enumerate(events.frictions):
            if d in modes.sticks and d in old.slides:
                self.noted.append(Occurrence(f"{friction.name} sticks", t, q, v))
            if d in modes.slides and d in old.sticks:
                self.noted.append(Occurrence(f"{friction.name} slides", t, q, v))

    def legs(self, t: float, y: np.ndarray, end: float) -> Iterator[tuple[float, float, Callable, np.ndarray, bool]]:
        """Steps: begin, end, interpolant, state at the end, and whether the next leg has begun there."""
        from scipy.integrate import DOP853

        crowd = 0
        while t < end:
            solver = DOP853(
                self.slope, t, y, end, rtol=self.tolerances[0], atol=self.tolerances[1], max_step=self.max_step,
                first_step=None,
            )  # fmt: skip
            leg = t
            while solver.status == "running":
                message = solver.step()
                if solver.status == "failed" or not np.isfinite(solver.y).all():
                    raise Fault(
                        f"the integrator cannot go on: {message or 'the state is not finite'}", t, *self.split(y)
                    )
                dense, begin, until = solver.dense_output(), solver.t_old, solver.t
                found = self._first_end(dense, begin, until)
                if found is None:
                    for d, direction in self.modes.slides.items():
                        self._turn(d, direction, self.instant(until, solver.y))
                    t, y = until, solver.y
                    yield begin, until, dense, y, False
                    continue
                t, y = found, dense(found)
                yield begin, t, dense, y, False
                y = self.settle(t, y)
                crowd = crowd + 1 if t - leg < 1e-12 * max(1.0, abs(t)) else 0
                if crowd > CROWD:
                    raise Fault("modes of contact change again and again at one moment", t, *self.split(y))
                yield t, t, dense, y, True
                break

    def _turn(self, d: int, direction: np.ndarray, now: Instant) -> None:
        u = now.u[list(self.events.frictions[d].rows)]
        size = float(np.linalg.norm(u))
        if size > REST:
            self.modes.slides[d] = u / size

    def _first_end(self, dense: Callable, begin: float, end: float) -> float | None:
        """The first time in a step at which the modes no longer hold, or None."""
        last = begin
        for k in range(1, LOOKS + 1):
            now = begin + (end - begin) * k / LOOKS
            if not self.events.holds(self.instant(now, dense(now)), self.modes):
                return self._bisected(dense, last, now)
            last = now
        return None

    def _bisected(self, dense: Callable, good: float, bad: float) -> float:
        while bad - good > 4e-16 * max(abs(good), abs(bad), 1e-3):
            middle = (good + bad) / 2
            if middle in (good, bad):
                break
            if self.events.holds(self.instant(middle, dense(middle)), self.modes):
                good = middle
            else:
                bad = middle
        return bad


class EventSteps:
    """Advances one motion from event to event, for the driver that all motions have.

    Args:
        inputs: control and wrenches.
        values: of the parameters, or None.
        tolerances: relative and absolute, of the integrator.
        max_step: longest step, s.
    """

    step_length = None

    def __init__(
        self, system: Stabiliser, inputs: Inputs, values: np.ndarray | None, tolerances: tuple[float, float],
        max_step: float,
    ):  # fmt: skip
        self.run, self.values = EventMotion(ContactEvents(system, inputs, values), tolerances, max_step), values
        self.equations = self  # slopes between events are asked of it, too
        self._y = np.zeros(system.mechanism.nq + system.mechanism.nv + 1)
        self._step: tuple[float, float, Callable] | None = None
        self._settled = False

    @property
    def evaluations(self) -> int:
        """How often the mechanism was looked at."""
        return self.run.events.evaluations

    def flow(self, t: float, x: np.ndarray) -> np.ndarray:
        """The slope of the state in the modes of now."""
        return self.run.slope(t, np.append(x, 0.0))[:-1]

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state after the impacts of this moment; the modes of the next leg are those that it needs."""
        self._y = self.run.settle(t, np.append(x, self._rubbed(t)))
        self._step, self._settled = None, True
        return self._y[:-1]

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state; stop at the bound."""
        if not (self._settled and np.array_equal(x, self._y[:-1])):
            self.settled(t, x)
        self._legs, self._at, self._bound = self.run.legs(t, self._y, bound), t, bound

    def step(self) -> IntegrationStep:
        """Go on by one step; one without length is a jump of velocities or a change of modes."""
        begin, self._at, dense, self._y, anew = next(self._legs)
        self._settled = False
        if anew:
            x = self._y[:-1]
            return IntegrationStep(self._at, self._at, x, lambda _: x, None)
        self._step = begin, self._at, dense

        def state(s: Any) -> Any:
            return dense(s)[:-1]

        return IntegrationStep(begin, self._at, self._y[:-1], state, state)

    def forget(self) -> None:
        """Expect nothing of the next leg: every leg begins anew."""

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self._at >= self._bound

    def correct(self, x: np.ndarray) -> None:
        """Nothing: states are brought back at events."""

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state with quaternions of unit length."""
        return np.concatenate(self.run.split(np.append(x, 0.0)))

    def _rubbed(self, t: float) -> float:
        """What friction took away until a time of the last step, J."""
        if self._step is not None and self._step[0] <= t <= self._step[1]:
            return float(self._step[2](t)[-1])
        return float(self._y[-1])

    def kept(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Forces, and measures; forces act as impulses of steps of a second."""
        y = np.append(x, self._rubbed(t))
        now = self.run.instant(t, y)
        _, forces = self.run.events.forces(now, self.run.modes)
        return forces, _measures(self.run, now, y), 1.0

    def complete(self, made: Trajectory, recorder: Recorder) -> None:
        """Add to a trajectory what contacts did."""
        run, dynamics = self.run, self.run.system.dynamics
        pushes, report, _ = (np.array(column) for column in zip(*recorder.extras[: len(made.t)]))
        made.contacts = ContactHistory(
            dynamics, made.t, made.q, pushes, report, 1.0, (pushes[-1], report[-1]), self.values
        )
        made.events = tuple(sorted((*made.events, *run.noted), key=lambda one: one.t))
        made.discontinuities = tuple(sorted((*made.discontinuities, *run.jumps), key=lambda one: one.t))
        made.info = {
            **made.info, "method": METHOD, "law": "rigid", "impacts": tuple(run.impacts),
            "paradoxes": tuple(run.paradoxes),
        }  # fmt: skip

    def warn(self, made: Trajectory) -> None:
        """Warn of paradoxes."""
        if self.run.paradoxes:
            when, name = self.run.paradoxes[0]
            warnings.warn(
                f"Painleve's paradox at {name!r}, first at t = {when:.6g} s, {len(self.run.paradoxes)} times: no "
                "forces satisfy rigid contact and Coulomb friction there, or more than one set does; an impulse "
                "brought the slip to rest. A compliant contact (law='compliant') decides what happens; "
                "Trajectory.info['paradoxes'] has them all",
                SimulationWarning,
                stacklevel=3,
            )


def _measures(run: EventMotion, now: Instant, y: np.ndarray) -> np.ndarray:
    """:class:`ContactMeasures`, then slip and mode of every point."""
    events, modes = run.events, run.modes
    worst, rubbed, lost = run.sums
    slip, mode = np.zeros((len(events.layout.points), 2)), np.zeros(len(events.layout.points))
    for i, one in enumerate(events.unilateral):
        if one.point is None:
            continue
        tangents = [d for d, x in enumerate(events.frictions) if x.owner == i and len(x.rows) == 2]
        if tangents:
            slip[one.point] = now.u[list(events.frictions[tangents[0]].rows)]
        if i in modes.closed:
            mode[one.point] = 1 if tangents and tangents[0] in modes.sticks else 2
    known = ContactMeasures(worst, worst, friction_loss=y[-1] + rubbed, impact_loss=lost)
    return np.concatenate([known, slip.ravel(), mode])


__all__ = ["METHOD", "ContactEvents", "EventSteps"]

"""What simulate and rollout do about contacts: which law, from which start; and one motion in steps."""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.contacting import SOLVER, SWEEPS, solver_of, sweeps_of
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.model import WORLD, Ground
from dalembert.model.singularity import idle_motions
from dalembert.simulation.contact_history import STRIDE, UNCONVERGED, ContactHistory, ContactMeasures
from dalembert.simulation.event_driven import METHOD as EVENT_DRIVEN
from dalembert.simulation.failure import SimulationError, interrupted
from dalembert.simulation.inputs import Fault, Inputs
from dalembert.simulation.integrators import NOT_FINITE
from dalembert.simulation.interpolation import Slopes
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.steppers.rigid_contact import RigidContact
from dalembert.simulation.trajectory import Trajectory
from dalembert.text.progress import Progress

METHOD = "semi-implicit-euler"
"""The method of fixed step in which rigid contacts are solved."""

DEEP = 1e-3
"""A depth at the start, m, beyond which somebody must decide; less is what steps leave, and take away again."""

MOST_SWEEPS = 10_000
"""How far simulate goes on with a step whose contacts have not converged, where nobody chose the number of sweeps."""

MOST_POLISHED = 64
"""Rows up to which such a step is left to Newton's method in the end; with more, that takes long to compile."""

LIFTS = 20
"""How often a lift is corrected: normals of curved grounds change with the position."""


def acts(dynamics: Dynamics) -> bool:
    """Whether something can touch that steps must solve: a contact, or a joint the end of its range."""
    if getattr(dynamics, "law", "rigid") == "compliant":  # equations of motion have no law
        return False
    return bool(dynamics.contacts.points or dynamics.contacts.limit_rows)


def contact_law(
    dynamics: Dynamics, law: str | None, method: str | None, sweeps: int | None, records: bool = True,
    solver: str | None = None,
) -> RigidContact | None:  # fmt: skip
    """How contacts are solved; None where there are none, and where the compliant law makes forces of them.

    Args:
        law: one of :data:`~dalembert.dynamics.contacting.LAWS`, or None: that of the dynamics, if something can touch.
        method: as the user gave it; others than :data:`METHOD` know nothing of contacts.
        sweeps: of Gauss-Seidel, or None.
        records: keep slip and mode.
        solver: of the rigid law, or None.
    """
    name = dynamics.mechanism.name
    if acts(dynamics) and not dynamics.has("contact_step"):
        raise UnsupportedError(
            f"equations of motion know nothing of contacts, and {name!r} has some",
            remedy="move the mechanism itself, or equations of mechanism.replace(contacts=())",
        )
    if law == "compliant" and not dynamics.contacts.points:
        warnings.warn(f"law = {law!r}: nothing in {name!r} can touch", SimulationWarning, stacklevel=4)
    if law in (None, "compliant") and not acts(dynamics):
        if sweeps is not None:
            raise ArgumentError(
                f"sweeps = {sweeps!r} are those of rigid contacts, and {name!r} has none that act", argument="sweeps"
            )
        if solver is not None:
            raise ArgumentError(
                f"solver = {solver!r} is that of rigid contacts, and {name!r} has none that act", argument="solver"
            )
        return None
    if method == EVENT_DRIVEN:
        unused = [f"{n} = {x!r}" for n, x in (("sweeps", sweeps), ("solver", solver)) if x is not None]
        if dynamics.law != "rigid" or unused:
            raise ArgumentError(
                f"method = {method!r} is of the rigid law and solves it to rounding; leave out "
                f"{' and '.join(unused) or f'law = {dynamics.law!r}'}",
                argument="method",
            )
    elif method is not None and method != METHOD:
        raise ArgumentError(
            f"{name!r} has contacts or stops of joints, and the method {method!r} knows nothing of them",
            argument="method",
            value=method,
            remedy=f"leave {{argument}} out, or give method={METHOD!r} or {EVENT_DRIVEN!r}; to ignore what could "
            "touch, make Dynamics(mechanism, contacts=())",
        )
    if not dynamics.contacts.count:
        warnings.warn(
            f"law = {law!r}: nothing in {name!r} can touch, no joint has a stop or dry friction that is included",
            SimulationWarning,
            stacklevel=4,
        )
    idle = idle_motions(dynamics.mechanism)
    if idle:
        raise UnsupportedError(
            f"{name!r}: an impulse of contact needs mass to act on, but {idle[0].what}",
            remedy="give that body a mass and an inertia; a foot of 10 g changes little",
        )
    return RigidContact(
        SWEEPS if sweeps is None else sweeps_of(sweeps), records, dynamics.law,
        SOLVER if solver is None else solver_of(solver),
    )  # fmt: skip


def checked_start(dynamics: Dynamics, q: Any, values: Any, lift: bool, kernel: Any = None) -> Any:
    """The positions at the start, lifted out of the ground if that is wanted; an error says how deep they are.

    Args:
        dynamics: of the mechanism; what is convex carries by overlapping, so that any start will do.
        q: in the memory of the processor, or on a device.
        values: of its parameters, (..., k), or None.
        lift: move bases upwards.
        kernel: of ``contact_points`` where the positions are; by default on the processor.
    """
    if not dynamics.contacts.points or not q.size or (dynamics.law == "convex" and not lift):
        return q
    kernel = dynamics.replace(device="cpu").kernel("contact_points") if kernel is None else kernel
    last = () if values is None else (values,)
    gaps = kernel(q, *last)[0]
    if lost := without_distance(dynamics, gaps):
        raise ArgumentError(f"{{argument}}: {lost}", argument="q0", remedy="begin elsewhere, or give another ground")
    if not bool((gaps < -DEEP).any()):
        return q
    if lift:
        return _lifted(dynamics, q, last, kernel)
    deepest = np.unravel_index(int(gaps.argmin()), gaps.shape)
    depth, point = -float(gaps[deepest]), dynamics.contacts.points[int(deepest[-1])].name
    where = f" of motion {tuple(map(int, deepest[:-1]))}" if len(deepest) > 1 else ""
    raise ArgumentError(
        f"q0{where}: the contact {point!r} begins {_length(depth)} deep inside what it touches",
        argument="lift",
        value=True,
        remedy="give another q0, or {setting}, which moves the base upwards until nothing overlaps",
    )


def without_distance(dynamics: Dynamics, gaps: Any) -> str:
    """What to say of a contact whose distance is not a finite number; nothing if all are."""
    lost = (~(abs(gaps) < np.inf)).reshape(-1, gaps.shape[-1]).any(axis=0)
    if not bool(lost.any()):
        return ""
    point = dynamics.contacts.points[int(lost.argmax())]
    item = dynamics.mechanism.contact(point.contact)
    ground = next((x for x in (item.shape_a, item.shape_b) if isinstance(x, Ground)), None)
    why = "" if ground is None else f": the ground, {ground}, has a pole or no value under it"
    return f"the contact {point.name!r} has no finite distance from what it may touch{why}"


def _lifted(dynamics: Dynamics, q: Any, last: tuple[Any, ...], kernel: Any) -> Any:
    model = dynamics.mechanism
    q = q.copy()
    places = {}
    for point in dynamics.contacts.points:
        item = model.contact(point.contact)
        body = model.frame(item.a).body
        while (joint := next(j for j in model.joints if j.child == body)).parent != WORLD:
            body = joint.parent
        if joint.kind != "free" or item.b != WORLD:
            raise UnsupportedError(
                f"lift: {point.name!r} belongs to no free base above a ground; give positions q0 at which nothing "
                "overlaps"
            )
        places[point.name] = model.q_slice(joint.name).start + 2
    for _ in range(LIFTS):
        gaps, _, axes = kernel(q, *last)
        if bool((gaps >= 0).all()):
            break
        for name in set(places.values()):
            own = [k for k, point in enumerate(dynamics.contacts.points) if places[point.name] == name]
            rise = np.maximum(-gaps[..., own], 0) / np.maximum(axes[..., 0, 2][..., own], 0.1)
            q[..., name] += rise.max(axis=-1) * (1 + 1e-12)
    return q


def _length(x: float) -> str:
    return f"{x * 1e3:.3g} mm" if x < 1 else f"{x:.3g} m"


def warn_doubtful(history: ContactHistory) -> None:
    """Warn of motions whose contact forces violate the law noticeably, and of steps too long for the speeds."""
    longest, speed = (np.asarray(history.final[1][..., k]) for k in STRIDE)
    if longest.size and np.nanmax(longest, initial=0.0) > 1:
        k = np.unravel_index(int(np.nanargmax(longest)), longest.shape)
        where = f" in motion {tuple(map(int, k))}" if k else ""
        h = float(np.max(history.h))
        warnings.warn(
            f"a step of {h:.3g} s is too long for a speed of {speed[k]:.3g} m/s{where}: what comes near moves in it by "
            f"{longest[k]:.3g} times the thickness of bodies, or the size of bumps, that it could miss; "
            f"step={h / longest[k]:.2g} would see it",
            SimulationWarning,
            stacklevel=4,
        )
    worst = np.asarray(history.worst)
    bad = worst > UNCONVERGED
    if bad.any():
        count = f"{int(bad.sum())} of {bad.size} motions have" if worst.ndim else "the motion has"
        warnings.warn(
            f"{count} steps whose contact forces violate the law by up to {np.nanmax(worst):.2g} m/s after the last "
            "sweep; give more sweeps=, a shorter step, or look at contacts.residual and contacts.converged",
            SimulationWarning,
            stacklevel=4,
        )


def march(
    system: Stabiliser,
    law: RigidContact,
    inputs: Inputs,
    values: np.ndarray | None,
    times: np.ndarray,
    chosen: bool,
    step: float,
    x: np.ndarray,
    hold: float | None,
    progress: bool | None,
    patient: bool,
) -> Trajectory:
    """One motion in steps with contacts.

    Args:
        law: how contacts are solved.
        inputs: control and wrenches.
        values: of the parameters, or None.
        times: the first and last time, or all that the user wants.
        chosen: whether the user chose them; else every step is kept.
        step: the longest step, s.
        x: state at the start.
        hold: period of a digital controller, s, or None.
        patient: go on with the sweeps of a step until it has converged, up to :data:`MOST_SWEEPS`, and then by
            Newton's method.
    """
    dynamics, model = system.dynamics, system.mechanism
    kernel = dynamics.kernel("contact_step", sweeps=law.sweeps, solver=law.solver)
    nq = model.nq
    q, v = x[:nq], x[nq:]
    points, rows = len(dynamics.contacts.points), dynamics.contacts.count
    impulses, known, of_points = np.zeros(rows), ContactMeasures(), np.zeros(3 * points)
    last = () if values is None else (values,)
    began, status, failed = time.perf_counter(), "finished", None
    kept: list[tuple[Any, ...]] = []
    done = 0.0  # work of the control
    t0, used, periods, made, most, polished = float(times[0]), 0.0, 0, 0, law.sweeps, 0
    bounds = times if chosen else times[[0, -1]]

    def keep(t: float, h: float) -> None:
        tau, loads = inputs.control(t, q, v), inputs.wrenches(t, q, v)
        kept.append((t, q, v, tau, loads, impulses, [*known, *of_points], h, done))

    try:
        with Progress(f"simulating {model.name}", progress) as line:
            for begin, end in pairwise(bounds):
                count = max(1, int(np.ceil((end - begin) / step - 1e-9)))
                h = float(end - begin) / count
                for k in range(count):
                    t = float(begin) + k * h
                    if hold is not None and t >= t0 + periods * hold - 1e-9 * max(hold, abs(t)):
                        inputs.hold(t, q, v)
                        periods = int(np.floor((t - t0) / hold + 1e-6)) + 1
                    if not kept:
                        keep(t, h)
                    tau = inputs.control(t, q, v)
                    loads = (inputs.wrenches(t, q, v),) if dynamics.wrenches else ()
                    start = impulses * (h / used) if used and used != h else impulses
                    rest = (*loads, np.float64(h), np.float64(t), *last)
                    found, swept = kernel(q, v, tau, start, *rest), law.sweeps
                    while patient and swept < MOST_SWEEPS and found[3] > UNCONVERGED:
                        found = kernel(q, v, tau, found[2], *rest)  # sweeps remember nothing but the impulses
                        swept += law.sweeps
                    if patient and found[3] > UNCONVERGED and law.law == "rigid" and rows <= MOST_POLISHED:
                        newton = dynamics.kernel("contact_step", sweeps=law.sweeps, solver="newton")
                        found = min(found, newton(q, v, tau, found[2], *rest), key=lambda x: float(x[3]))
                        polished += 1
                    most = max(most, swept)
                    after = np.concatenate(found[:2])
                    if not np.isfinite(after).all():
                        here = dynamics.kernel("contact_points")(q, *last)[0]
                        guess = (
                            without_distance(dynamics, here) or "the step is too long, or the mass matrix is singular"
                        )
                        guess = f": {guess}"
                        raise Fault(NOT_FINITE, t, q, v, guess=guess)
                    if system.projects:
                        after = system.projected(t + h, after)
                    done += float(tau @ (v + after[nq:])) * h / 2  # as losses are those of mean velocities
                    q, v, impulses = after[:nq], after[nq:], found[2]
                    residual, forceful, slip, mode, losses, stride = (found[i] for i in (3, 4, 6, 7, 8, 9))
                    known = known.after(float(residual), float(forceful), losses.tolist(), stride.tolist())
                    of_points = np.concatenate([slip.ravel(), mode])
                    used, made = h, made + 1
                    now = float(end) if k == count - 1 else t + h
                    if not chosen or k == count - 1:
                        keep(now, h)
                    if made % 256 == 0:
                        line.update((now - t0) / (float(times[-1]) - t0), f"t = {now:.3g} s")
    except Fault as fault:
        failed, status = fault, "failed"
    except KeyboardInterrupt:
        status = "interrupted"
    columns = [np.array([row[k] for row in kept]) for k in range(9)]
    ts, qs, vs, taus, wrenches, pushes, report, steps, worked = columns
    info = {
        "method": METHOD, "law": law.law, "sweeps": law.sweeps, "most_sweeps": most, "polished": polished,
        "solver": law.solver, "evaluations": made, "seconds": time.perf_counter() - began, "singular": (),
    }  # fmt: skip
    if hold is not None:
        info |= {"hold": hold, "held_from": t0}
    contacts = ContactHistory(dynamics, ts, qs, pushes, report, steps, (pushes[-1], report[-1]), values)
    trajectory = Trajectory(
        system, ts, qs, vs, taus.reshape(len(ts), model.nv), wrenches.reshape(len(ts), len(dynamics.wrenches), 6),
        parameters=values, status=status, info=info, contacts=contacts, worked=worked,
    )  # fmt: skip
    trajectory.interpolant = Slopes(trajectory)
    if failed is not None:
        raise SimulationError(failed.message + failed.guess, failed.time, failed.q, failed.v, trajectory) from failed
    warn_doubtful(contacts)
    if status == "interrupted":
        raise interrupted(f"simulation interrupted at t = {ts[-1]:.6g} s", trajectory)
    return trajectory

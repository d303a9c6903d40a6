"""What simulate and rollout do about contacts: which law, from which start, and what to doubt in the end."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.contacting import SOLVER, SWEEPS, solver_of, sweeps_of
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.model import WORLD, Ground
from dalembert.model.singularity import idle_motions
from dalembert.simulation.contact_history import STRIDE, UNCONVERGED, ContactHistory, acts
from dalembert.simulation.event_driven import METHOD as EVENT_DRIVEN
from dalembert.simulation.steppers.rigid_contact import RigidContact

METHOD = "semi-implicit-euler"
"""The method of fixed step in which rigid contacts are solved."""

DEEP = 1e-3
"""A depth at the start, m, beyond which somebody must decide; less is what steps leave, and take away again."""

LIFTS = 20
"""How often a lift is corrected: normals of curved grounds change with the position."""


def event_driven(method: object) -> bool:
    """Whether a user asks for a motion from event to event, whatever was given."""
    return isinstance(method, str) and method == EVENT_DRIVEN


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
        if event_driven(method):
            raise ArgumentError(
                f"method = {method!r} goes from contact to contact, and {name!r} has no rigid ones that act",
                argument="method",
            )
        if sweeps is not None:
            raise ArgumentError(
                f"sweeps = {sweeps!r} are those of rigid contacts, and {name!r} has none that act", argument="sweeps"
            )
        if solver is not None:
            raise ArgumentError(
                f"solver = {solver!r} is that of rigid contacts, and {name!r} has none that act", argument="solver"
            )
        return None
    if event_driven(method):
        unused = [f"{n} = {x!r}" for n, x in (("sweeps", sweeps), ("solver", solver)) if x is not None]
        if dynamics.law != "rigid" or unused:
            raise ArgumentError(
                f"method = {method!r} is of the rigid law and solves it to rounding; leave out "
                f"{' and '.join(unused) or f'law = {dynamics.law!r}'}",
                argument="method",
            )
    elif method is not None and not (isinstance(method, str) and method == METHOD):
        raise ArgumentError(
            f"{name!r} has contacts or stops of joints, and the method {method!r} knows nothing of them",
            argument="method",
            value=method,
            remedy=f"leave {{argument}} out, or give method={METHOD!r}, or, to simulate, {EVENT_DRIVEN!r}; to ignore "
            "what could touch, make Dynamics(mechanism, contacts=())",
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


def warn_doubtful(history: ContactHistory, stacklevel: int = 3) -> None:
    """Warn of motions whose contact forces violate the law noticeably, and of steps too long for the speeds.

    Args:
        stacklevel: of the warnings; 3 is the caller of who calls this.
    """
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
            stacklevel=stacklevel,
        )
    worst = np.asarray(history.worst)
    bad = worst > UNCONVERGED
    if bad.any():
        count = f"{int(bad.sum())} of {bad.size} motions have" if worst.ndim else "the motion has"
        warnings.warn(
            f"{count} steps whose contact forces violate the law by up to {np.nanmax(worst):.2g} m/s after the last "
            "sweep; give more sweeps=, a shorter step, or look at contacts.residual and contacts.converged",
            SimulationWarning,
            stacklevel=stacklevel,
        )

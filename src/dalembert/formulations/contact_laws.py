"""Laws of contact, checked at states: rows against poses, momentum, Signorini, the cone, dissipation, springs.

Nothing here shares code with the solvers: rows come from poses by the complex step, momentum from a dense inertia
matrix, and the laws are read off the impulses and velocities that the compiled step returns.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.constraints.rank import Decomposition
from dalembert.constraints.state import State
from dalembert.contact.compliant import CompliantSet
from dalembert.contact.geometry import contact_points
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations.agreement import AgreementRow
from dalembert.kinematics import pose
from dalembert.kinematics.manifold import tangent_map
from dalembert.model import WORLD, Contact, Mechanism
from dalembert.model.singularity import singular_motions

STEP = 1e-3
"""Of the step that is checked, s."""

SWEEPS, ROUNDS = 50, 400
"""Sweeps of one call, and how often it is called with its own impulses: as many as the law needs to hold."""

NEAR = 1e-8
"""Gaps that touch, m: not below zero, where bounds are those of taking depths away."""

PRESSED = 1e-4
"""Depth at which compliant contacts are looked at, m."""

LONGEST = 0.2
"""Of such a step, m or rad."""

ROUNDS_TO_TOUCH = 100
"""Newton steps towards a touch; normals and nearest points change on the way."""

COMPLEX_STEP = 1e-30
"""There is no subtraction, so it may be as small as it likes."""

SETTLED = 1e-9
"""Residual relative to the speeds of the rows at which the impulses are those of the law; laws are held to ten times
this, because a residual is measured row by row and errors of several add up."""


def contact_rows(mechanism: Mechanism, q: Array, v: Array, tolerance: float, skipped: list[str]) -> list[AgreementRow]:
    """The laws of contact at states near touching.

    Args:
        mechanism: with contacts, and numbers for all symbols.
        q: positions, over states; from there the mechanism is moved until the nearest point just touches.
        v: velocities, over states; turned round where it would not approach.
        tolerance: allowed relative error.
        skipped: receives what is left out.
    """
    if idle := singular_motions(mechanism):
        skipped.append(f"contacts: impulses need mass to act on, but {idle[0]}")
        return []
    dyn = Dynamics(mechanism, law="rigid")
    try:
        states = [_approaching(dyn, x, y) for x, y in zip(q, v)]
    except SingularityError as error:
        skipped.append(f"contacts: {error}, and give a start that leads to an assembly as q")
        return []
    rows = _geometry(dyn, states, tolerance, skipped)
    try:
        rows += _steps(dyn, states, tolerance, skipped)
    except UnsupportedError as error:
        skipped.append(f"the rigid law: {error}")
    rows += _springs(mechanism, states, tolerance, skipped)
    return rows


def _approaching(dyn: Dynamics, q: Array, v: Array) -> tuple[Array, Array]:
    """A state at which the nearest point just touches, and approaches."""
    side = -1 if _bounces(dyn.mechanism) else 1  # a rebound begins with the first position that is not apart
    q, v = touching(dyn, np.array(q, dtype=float), side * NEAR / 2, NEAR / 2), np.array(v, dtype=float)
    if dyn.constraints.count:
        v = dyn.project_velocity(q, v)
    normals = [point.normal for point in dyn.contacts.points]
    nearest = normals[int(np.argmin(dyn.contact_points(q)[0]))]
    return q, -v if dyn.contact_velocities(q, v)[nearest] > 0 else v


def _bounces(mechanism: Mechanism) -> bool:
    return any(float(item.restitution) > 0 for item in mechanism.contacts)


def touching(dyn: Dynamics, q: Array, wanted: float, within: float) -> Array:
    """A position near q at which the smallest gap is what is wanted, by Newton's method in the metric of the inertia;
    as near as it comes, where nothing leads there.

    Args:
        dyn: of a mechanism with contacts.
        wanted: the smallest gap, m.
        within: of what is wanted, m.
    """
    model = dyn.mechanism
    if dyn.constraints.count:
        q = dyn.assemble(q)
    for _ in range(ROUNDS_TO_TOUCH):
        gaps = dyn.contact_points(q)[0]
        k = int(np.argmin(gaps))
        if abs(gaps[k] - wanted) <= within:
            break
        item = model.contact(dyn.contacts.points[k].contact)
        base = _base(model, item.a) if item.b == WORLD and not dyn.constraints.count else None
        if base is not None:  # raised as a whole: no other point comes nearer than this one
            q = q.copy()
            q[base : base + 3] += dyn.contact_points(q)[2][k, 0] * (wanted - gaps[k])
            continue
        row = dyn.contact_rows(q)[dyn.contacts.points[k].normal]
        lazy = np.linalg.solve(np.asarray(mass_matrix(model, q), dtype=float), row)
        if dyn.constraints.count:
            lazy = dyn.project_velocity(q, lazy)
        if not row @ lazy > 0:
            break
        move = lazy * ((wanted - gaps[k]) / (row @ lazy))
        move *= min(1.0, LONGEST / float(np.abs(move).max()))
        q = np.asarray(model.integrate(q, move), dtype=float)
        if dyn.constraints.count:
            q = dyn.assemble(q)
    return q


def _base(model: Mechanism, name: str) -> int | None:
    """Where the position of the floating base that carries a body begins in q; None if it hangs otherwise."""
    body = model.frame(name).body
    while (joint := next(j for j in model.joints if j.child == body)).parent != WORLD:
        body = joint.parent
    plain = joint.kind == "free" and np.array_equal(joint.placement.rotation, np.eye(3))
    return model.q_slice(joint.name).start if plain else None


# ------------------------------------------------------------------------------------------------------------- geometry


def _geometry(
    dyn: Dynamics, states: list[tuple[Array, Array]], tolerance: float, skipped: list[str]
) -> list[AgreementRow]:
    """J v against the rates of gaps, and against the velocities of the bodies at the point, by the complex step."""
    model, layout = dyn.mechanism, dyn.contacts
    gap_error, slip_error = 0.0, 0.0
    bumpy = [item.name for item in model.contacts if getattr(item.shape_b, "kind", "") == "height-field"]
    if bumpy:
        skipped.append(
            f"rates of gaps: {', '.join(bumpy)}: above a height field the tangent plane below a point counts"
        )
    for q, v in states:
        u = dyn.contact_velocities(q, v)
        _, places, axes = dyn.contact_points(q)
        moved = q + 1j * COMPLEX_STEP * (tangent_map(model.tree, q).astype(float) @ v)
        size = max(float(np.abs(u).max(initial=0)), float(np.abs(v).max(initial=0)), 1e-300)
        k = 0
        for item in model.contacts:
            now = contact_points(item, pose(model, moved, item.a), pose(model, moved, item.b))
            for point in now:
                rows = layout.points[k]
                if item.name not in bumpy:
                    rate = complex(point.gap).imag / COMPLEX_STEP
                    gap_error = _worse(gap_error, abs(u[rows.normal] - rate) / size)
                seen = axes[k] @ _material(model, q, moved, item, places[k])
                disk = next((chosen for chosen, kind in rows.disks if kind == "friction"), None)
                entries = [rows.normal, *disk] if disk else [rows.normal]
                slip_error = _worse(slip_error, float(np.abs(u[entries] - seen[: len(entries)]).max()) / size)
                k += 1
    found = [AgreementRow("contact J v", "rows", "velocities of the bodies", slip_error, tolerance)]
    if len(bumpy) < len(model.contacts):
        # closest points of edges and curved grounds are found to about the root of the rounding
        found.append(AgreementRow("contact J v", "rows", "rates of the gaps", gap_error, 1e3 * tolerance))
    return found


def _worse(known: float, error: float) -> float:
    return float(np.maximum(known, error))  # also NaN


def _material(model: Mechanism, q: Array, moved: Array, item: Contact, place: Array) -> Array:
    """Velocity of the material point of a at a place relative to that of b, world axes."""
    velocities = []
    for name in (item.a, item.b):
        at, going = pose(model, q, name), pose(model, moved, name)
        inside = np.asarray(at.rotation, dtype=float).T @ (place - np.asarray(at.translation, dtype=float))
        velocities.append(np.asarray(going.apply(inside), dtype=complex).imag / COMPLEX_STEP)
    return np.asarray(velocities[0] - velocities[1])


# ------------------------------------------------------------------------------------------------------- the rigid law


def _steps(
    dyn: Dynamics, states: list[tuple[Array, Array]], tolerance: float, skipped: list[str]
) -> list[AgreementRow]:
    """One step at every state: momentum, Signorini, the cone, the direction of friction, dissipation."""
    model = dyn.mechanism
    names = ("momentum", "closed or no force", "normal impulse", "cone", "friction", "dissipation", "settled")
    worst = dict.fromkeys(names, 0.0)
    still = np.zeros(model.nv)
    free_kernel = Dynamics(model, contacts=())
    bouncy = _bounces(model)
    deep, closed = False, 0
    for q, v in states:
        a = free_kernel.forward_dynamics(q, v, still)
        after, p, residual, speed = settled(dyn, q, v, still)
        free = v + STEP * a
        M = np.asarray(mass_matrix(model, q), dtype=float)
        J = dyn.contact_rows(q)
        change = M @ (after - free) - J.T @ p
        size = max(float(np.abs(J.T @ p).max(initial=0)), float(np.abs(M @ free).max(initial=0)), 1e-300)
        if dyn.constraints.count:
            G = np.asarray(dyn.constraints.at(State(model, q)).G, dtype=float)
            change = change - G.T @ Decomposition.of(G.T).solve(change)
            worst["momentum"] = _worse(worst["momentum"], float(np.abs(G @ (after - free)).max(initial=0)) / speed)
        worst["momentum"] = _worse(worst["momentum"], float(np.abs(change).max(initial=0)) / size)
        closed += bool(p.any())
        worst["settled"] = _worse(worst["settled"], residual / speed)
        deep = _read_off(dyn, q, J @ after, p, speed, worst) or deep
        if not (bouncy or deep):
            kinetic = (after @ M @ after - free @ M @ free) / 2
            worst["dissipation"] = _worse(worst["dissipation"], max(0.0, kinetic) / (free @ M @ free / 2 + 1e-300))
    if not closed:
        skipped.append("forces of contact: nothing can be made to touch near these states")
    loose = 10 * SETTLED + 1e3 * tolerance
    rows = [
        AgreementRow("momentum", "contact step", "M (v+ - v*) = J^T p", worst["momentum"], 1e3 * tolerance),
        AgreementRow("contact law", "contact step", "natural map, m/s", worst["settled"], loose),
        AgreementRow("Signorini", "contact step", "p >= 0", worst["normal impulse"], tolerance),
        AgreementRow("Signorini", "contact step", "p (u - b) = 0", worst["closed or no force"], loose),
        AgreementRow("Coulomb", "contact step", "|p_t| <= mu p_n", worst["cone"], 1e3 * tolerance),
        AgreementRow("Coulomb", "contact step", "friction against slip", worst["friction"], loose),
    ]
    if bouncy or deep:
        why = "restitution moves bounds" if bouncy else "something begins inside what it touches, and is pushed out"
        skipped.append(f"contacts take energy away: {why}")
    else:
        rows.append(AgreementRow("dissipation", "contact step", "kinetic energy", worst["dissipation"], loose))
    return rows


def settled(
    dyn: Dynamics, q: Array, v: Array, tau: Array, h: float = STEP, sweeps: int = SWEEPS
) -> tuple[Array, Array, float, float]:
    """Velocities and impulses after as many sweeps as the law needs, what is left, m/s, and the size of speeds.

    Args:
        dyn: of a mechanism with contacts.
        sweeps: of one call; the next begins with its impulses.
    """
    kernel = dyn.kernel("contact_step", sweeps=sweeps)
    p = np.zeros(dyn.contacts.count)
    speed = max(float(np.abs(dyn.contact_velocities(q, v)).max(initial=0)), h * 9.81)
    for _ in range(ROUNDS):
        found = kernel(q, v, tau, p, np.float64(h), np.float64(0))
        p = found[2]
        if not float(found[3]) > SETTLED * speed / 10:
            break
    return found[1], p, float(found[3]), speed


def _read_off(dyn: Dynamics, q: Array, u: Array, p: Array, speed: float, worst: dict[str, float]) -> bool:
    """Signorini and Coulomb, point by point; True if something overlaps, where bounds are not those of rest."""
    model, gaps = dyn.mechanism, dyn.contact_points(q)[0]
    pushes = max(float(np.abs(p).max(initial=0)), 1e-300)
    deep = False
    for k, point in enumerate(dyn.contacts.points):
        item = model.contact(point.contact)
        n = point.normal
        worst["normal impulse"] = _worse(worst["normal impulse"], max(0.0, -p[n]) / pushes)
        overlaps = gaps[k] < -NEAR
        deep = deep or bool(overlaps)
        if not overlaps and not float(item.restitution) > 0:
            bound = -max(gaps[k], 0.0) / STEP
            miss = min(max(u[n] - bound, 0.0) / speed, p[n] / pushes)
            miss = max(miss, (bound - u[n]) / speed)
            worst["closed or no force"] = _worse(worst["closed or no force"], miss)
        for rows, kind in point.disks:
            chosen = list(rows)
            most, slip = float(getattr(item, kind)) * p[n], u[chosen]
            size, rate = float(np.linalg.norm(p[chosen])), float(np.linalg.norm(slip))
            worst["cone"] = _worse(worst["cone"], max(0.0, size - most) / pushes)
            # the power that friction takes is the largest that the cone allows: p . u = -mu p_n |u|
            power = p[chosen] @ slip + most * rate
            worst["friction"] = _worse(worst["friction"], abs(power) / (pushes * speed))
    return deep


# ------------------------------------------------------------------------------------------------------ compliant ones


def _springs(
    mechanism: Mechanism, states: list[tuple[Array, Array]], tolerance: float, skipped: list[str]
) -> list[AgreementRow]:
    """Compliant contacts at a small depth: at rest they come from their energy, in motion they take energy away."""
    soft = [item.name for item in mechanism.contacts if item.stiffness is not None]
    stiff = [item.name for item in mechanism.contacts if item.stiffness is None]
    if stiff:
        few = ", ".join(stiff[:6]) + (f" and {len(stiff) - 6} more" if len(stiff) > 6 else "")
        skipped.append(f"the compliant law of {few}: no stiffness is given")
    if not soft:
        return []
    forces = CompliantSet(mechanism, (), soft)
    dyn = Dynamics(mechanism, contacts=soft)
    gradient, power = 0.0, 0.0
    for q, v in states:
        q = touching(dyn, q, -PRESSED, PRESSED / 10)
        still = np.zeros(mechanism.nv)
        resting = _total(forces, State(mechanism, q, still))
        Gamma = tangent_map(mechanism.tree, q).astype(float)
        slopes = np.array(
            [
                complex(forces.energy(State(mechanism, q + 1j * COMPLEX_STEP * column, still))).imag / COMPLEX_STEP
                for column in Gamma.T
            ]
        )
        gradient = _worse(gradient, float(np.abs(resting + slopes).max()) / max(float(np.abs(slopes).max()), 1e-300))
        moving = _total(forces, State(mechanism, q, v))
        taken = float(moving @ v - resting @ v)  # springs give back, damping and friction do not
        power = _worse(power, max(0.0, taken) / max(float(np.abs(moving * v).sum()), 1e-300))
    return [
        AgreementRow("compliant force", "contacts", "slope of the energy", gradient, tolerance),
        AgreementRow("compliant force", "contacts", "takes energy away", power, tolerance),
    ]


def _total(forces: CompliantSet, state: State) -> Array:
    return np.asarray(sum(np.asarray(f, dtype=float) for f, _ in forces.each(state).values()), dtype=float)

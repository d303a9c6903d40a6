"""Quantities of contacts: a step of the rigid law, and where, how near and how fast the points of contact are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import factor
from dalembert.constraints.pivots import Pivots
from dalembert.contact.convex import Weights, convex_step, inverse_weights
from dalembert.contact.rigid import Equalities, RigidStep, rigid_step
from dalembert.dynamics import constrained, tree
from dalembert.dynamics.quantity import Quantity, Setting
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics import manifold

SWEEPS = 10
"""Of Gauss-Seidel in a step, unless others are asked for."""

LAWS = {
    "rigid": "Signorini, the exact Coulomb cone and Newton's restitution at the level of velocities, in fixed steps",
    "convex": "MuJoCo's soft contacts with solref and solimp, the minimum of a convex function, in fixed steps",
    "compliant": "springs, dampers and smooth friction: force elements, for every method",
}
"""Laws of contact, by name."""


def sweeps_of(given: Any) -> int:
    """The number of sweeps, checked."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not 1 <= given <= 10_000:
        raise ArgumentError(
            f"sweeps = {given!r}; it is the number of sweeps of Gauss-Seidel in a step, 1 to 10000", argument="sweeps"
        )
    return int(given)


def equalities(s: Setting, G: Array) -> Equalities | None:
    """The constraints of a mechanism as rows that hold exactly in a step.

    Args:
        s: the setting.
        G: all its rows, (m, nv).
    """
    if not len(G):
        return None
    if s.solver.method == "projection":
        raise UnsupportedError(
            f"{s.mechanism.name!r}: contacts need multipliers, Dynamics(..., method='multipliers'), and so an inertia "
            "matrix of the open tree that is regular; give every body of the loops some mass"
        )
    assert s.solver.pivots is not None
    pivots: Pivots = s.solver.pivots()
    sizes = pivots.of_together(pivots.mobilities)
    return Equalities(G[list(pivots.together)], pivots.rank, sizes, tuple(pivots.kept_together))


def stepped(
    s: Setting, q: Array, v: Array, a: Array, M: Array, G: Array, impulses: Array, h: Scalar, t: Scalar, sweeps: int
) -> RigidStep:
    """Velocities after a step with contacts.

    Args:
        s: the setting.
        q: positions before the step, quaternions of unit length.
        v: velocities before it.
        a: accelerations without contacts.
        M: inertia matrix.
        G: rows of the constraints, (0, nv) without any.
        impulses: of the last step.
        h: length of the step, s.
        t: time.
        sweeps: of Gauss-Seidel.
    """
    layout = s.contacts
    rows = layout.at(s.state(q, None, t), halfway=s.law == "convex")
    factors = factor(M, s.tree.velocity_parents)
    if s.law == "convex":
        return convex_step(layout, rows, factors, v, v + h * a, impulses, h, sweeps, weights(s), equalities(s, G))
    return rigid_step(layout, rows, factors, v, v + h * a, impulses, h, sweeps, equalities(s, G))


def weights(s: Setting) -> Weights:
    """Inverse inertias at the neutral position, by which the convex law scales softness."""
    neutral = arrays.asarray(s.mechanism.neutral)
    factors = factor(constrained.mass_matrix(s, neutral), s.tree.velocity_parents)
    return inverse_weights(s.contacts, s.state(neutral), factors)


def contact_step(s: Setting, q: Array, v: Array, tau: Array, impulses: Array, h: Scalar, t: Scalar) -> tuple[Any, ...]:
    """One step of semi-implicit Euler with the rigid law; dry friction of joints is a row here."""
    smooth = replace(s, include=tuple(name for name in s.include if name != "friction"))
    if s.constraints.count or s.forces.names:
        a = constrained.forward_dynamics(smooth, q, v, tau, t)
    else:
        a = tree.forward_dynamics(smooth, q, v, tau)
    G = s.constraints.at(s.state(q, None, t)).G if s.constraints.count else np.zeros((0, s.nv))
    M = constrained.mass_matrix(s, q)
    found = stepped(s, q, v, a, M, G, impulses, h, t, sweeps_of(s.options["sweeps"]))
    layout = s.mechanism.tree
    after = manifold.normalised(layout, manifold.displaced(layout, q, h * found.v))
    losses = arrays.asarray([found.friction_loss, found.impact_loss, -found.push_work])
    return (
        after, found.v, found.impulses, found.residual, found.impulse_residual, found.normal_velocity, found.slip,
        found.mode, losses,
    )  # fmt: skip


def contact_points(s: Setting, q: Array) -> tuple[Array, Array, Array]:
    """Gap, place and axes of every point."""
    points = s.contacts.at(s.state(q), placed=True).points
    count = len(points)
    return (
        arrays.asarray([p.gap for p in points]).reshape(count),
        arrays.asarray([list(p.position) for p in points if p.position is not None]).reshape(count, 3),
        arrays.asarray([[list(x) for x in p.axes] for p in points if p.axes is not None]).reshape(count, 3, 3),
    )


def contact_rows(s: Setting, q: Array) -> Array:
    """J, one line per row."""
    rows = s.contacts.at(s.state(q))
    return arrays.asarray(rows.J).reshape(s.contacts.count, s.nv)


def contact_velocities(s: Setting, q: Array, v: Array) -> Array:
    """J v."""
    return product(contact_rows(s, q), v)


CONTACT: dict[str, Quantity] = {
    "contact_step": Quantity(
        ("q", "v", "tau", "impulses", "h", "t"),
        {
            "q_next": ("nq",), "v_next": ("n",), "impulses_next": ("contact rows",), "residual": (),
            "impulse_residual": (), "normal_velocity": ("points",), "slip": ("points", 2), "mode": ("points",),
            "losses": (3,),
        },
        contact_step,
        "A step h of semi-implicit Euler with contacts, rigid or convex: q, v and impulses after it; residuals, "
        "m/s and N s; the normal velocity of every point, its slip, m/s, its mode (0 open, 1 sticks, 2 slides); energy "
        "lost by friction, by impacts, and (negative: brought in) by taking away depths, J.",
        loads=True, options={"sweeps": SWEEPS}, solves=True),
    "contact_points": Quantity(
        ("q",), {"gap": ("points",), "position": ("points", 3), "axes": ("points", 3, 3)}, contact_points,
        "Gap of every point of contact, m, its place in the world, m, and normal, tangent 1 and tangent 2 as rows."),
    "contact_rows": Quantity(
        ("q",), {"J": ("contact rows", "n")}, contact_rows,
        "Rows on velocities of contacts, joint limits and dry friction."),
    "contact_velocities": Quantity(
        ("q", "v"), {"u": ("contact rows",)}, contact_velocities,
        "Velocities along the rows of contacts, joint limits and dry friction, m/s or rad/s."),
}  # fmt: skip
"""Quantities of contacts, by name; a mechanism without any has them too, with no points."""

"""Gravity that varies in space, on extended bodies: expanded about each centre of mass to second order.

With mass m, inertia I (about the centre of mass) and second moment J = tr(I)/2 1 - I, a field g(p) with gradient
Gam_ij = dg_i/dp_j exerts on a body

    f_i = m g_i + 1/2 (d Gam_ij / dp_k) J_jk ,      n = 2 vect(Gam J),

the latter the gravity-gradient moment (PARSA, remark after (27)). For the field -mu r/r^3 of a point, n_r = r/|r|,

    n = 3 mu/r^3  n_r x I n_r ,     f = -mu m/r^2 n_r - 3 mu/(2 r^4) [ (tr I - 5 n_r.I n_r) n_r + 2 I n_r ],

which follow from the potential -mu m/r - mu/(2 r^3) (tr I - 3 n_r.I n_r): energy and angular momentum about the
attracting point are conserved exactly, which the moment alone would not do.
"""

from __future__ import annotations

from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dot, trace, vect
from dalembert.constraints.action import GROUND, Action
from dalembert.constraints.state import State
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.kinematics.relative import Pair
from dalembert.model.body import Body
from dalembert.model.force import Force
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Program

Effect = tuple[Array, list[Action]]
"""Generalised forces, nv, and what acts on which body."""


def attraction(item: Force, state: State) -> Effect:
    """A point of the ground attracts every body.

    Args:
        item: the force.
        state: the mechanism at a state.
    """

    def on_body(body: Body, pair: Pair) -> tuple[Array, Array]:
        r, n, In, spread = _radius(item, state, body, pair)
        strength = item.value / (r * r)
        second = 3 * item.value / (2 * r * r * r * r)
        inner = trace(body.inertia.tensor) - 5 * spread
        force = -(strength * body.inertia.mass) * n - second * (inner * n + 2 * In)
        return force, (2 * second * r) * cross(n, In)

    return _on_all(state, on_body)


def attraction_energy(item: Force, state: State) -> Scalar:
    """Potential energy of an attraction, J; zero far away.

    Args:
        item: the force.
        state: the mechanism at a state.
    """
    total: Scalar = 0
    for body, pair in _bodies(state):
        r, _, _, spread = _radius(item, state, body, pair)
        inner = trace(body.inertia.tensor) - 3 * spread
        total = total - item.value * body.inertia.mass / r - item.value * inner / (2 * r * r * r)
    return total


def _radius(item: Force, state: State, body: Body, pair: Pair) -> tuple[Scalar, Array, Array, Scalar]:
    """Distance and direction from the attracting point, and I n and n.I n in world axes."""
    carrier, at = state.place(item.a, item.placement_a)
    if carrier >= 0:
        raise UnsupportedError(f"force {item.name!r}: the attracting point {item.a!r} must be fixed to the ground")
    away = pair.offset - at.translation
    r = scalar.sqrt(dot(away, away))
    if scalar.is_zero(r):
        raise SingularityError(
            f"force {item.name!r}: the centre of mass of {body.name!r} is at the attracting point, where the field is"
            " infinite. If it never leaves that point, leave the body out or give it neither mass nor inertia"
        )
    n = away / r
    own = product(pair.rotation.T, n)
    moment = product(body.inertia.tensor, own)
    return r, n, product(pair.rotation, moment), dot(own, moment)


def gravity_field(item: Force, state: State, program: Program) -> Effect:
    """A user's field acts on every body.

    Args:
        item: the force.
        state: the mechanism at a state.
        program: of the field, its gradient and the gradient's gradient.
    """

    def on_body(body: Body, pair: Pair) -> tuple[Array, Array]:
        found = inline(program, state.arguments(program, p=pair.offset))
        g, gradient, second = found["value"], found["gradient"], found["second"]
        tensor = body.inertia.tensor
        half = trace(tensor) / 2
        J = arrays.asarray([[(half if i == j else 0) - tensor[i, j] for j in range(3)] for i in range(3)])
        J = product(product(pair.rotation, J), pair.rotation.T)
        extra = arrays.asarray([_contracted(second[i], J) / 2 for i in range(3)])
        return body.inertia.mass * g + extra, 2 * vect(product(gradient, J))

    return _on_all(state, on_body)


def _contracted(a: Array, b: Array) -> Scalar:
    total: Scalar = 0
    for x, y in zip(a.flat, b.flat):
        total = total + x * y
    return total


def _bodies(state: State) -> list[tuple[Body, Pair]]:
    """Bodies with mass or inertia, each with its centre of mass as seen from the ground.

    A wheel whose mass is counted elsewhere is turned by the field all the same.
    """
    found = []
    for body in state.mechanism.bodies:
        if not all(map(scalar.is_zero, (body.inertia.mass, *body.inertia.tensor.flat))):
            at = Transform.from_translation(body.inertia.center)
            found.append((body, state.from_world(body.name, at)))
    return found


def _on_all(state: State, on_body: Any) -> Effect:
    total, actions = arrays.zeros(state.mechanism.nv), []
    for body, pair in _bodies(state):
        force, moment = on_body(body, pair)
        total = total + pair.generalised(force, moment)
        on = (body.name, Transform.from_translation(body.inertia.center))
        actions.append(Action(on, GROUND, force, moment, mutual=False))
    return total, actions

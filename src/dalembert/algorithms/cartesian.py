"""Dynamics and linearisation in the coordinates x of a frame (THESIS (7.4.1)-(7.4.18)).

    f = Dx xdd + Cx + Gx :  Dx = J^-T D J^-1 , Cx = J^-T (C - D J^-1 Jdot v) , Gx = J^-T G , f = J^-T tau     (7.4.4)
    tau = (D J^-1) xdd + (C - D J^-1 Jdot v) + G                                                             (7.4.5)
    d tau = Dxh d xdd + Vxh d xd + Pxh d x                                                                   (7.4.18)

with J the analytic Jacobian of :mod:`dalembert.algorithms.analytic_jacobian`; with coordinates ``"twist"`` dx means the
infinitesimal twist J dq and its time derivatives, since then d xd = Jdot dq + J dv is no variation of a velocity.

Redundant and singular arms: see :mod:`dalembert.algorithms.consistent_inverse`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, Unpack

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algorithms.analytic_jacobian import JacobianRates, analytic_jacobian_rates
from dalembert.algorithms.consistent_inverse import consistent_inverse
from dalembert.algorithms.economy.cheapest import CANDIDATES, cheapest, cheapest_name
from dalembert.algorithms.forward_dynamics.factor_and_solve import with_armature
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.errors import ArgumentError
from dalembert.kinematics import checked
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import expect_choice


@dataclass(frozen=True, eq=False)
class CartesianDynamics:
    """f = inertia xdd + coriolis + gravity at one state.

    Args:
        inertia: Dx, m x m.
        coriolis: Cx, m: everything quadratic in the velocities.
        gravity: Gx, m.
        jacobian: J, m x n.
        jacobian_rate: Jdot, m x n.
        inverse: J# (J^-1 for a square Jacobian), n x m; its transpose turns generalised forces into forces on x.
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    jacobian: Array
    jacobian_rate: Array
    inverse: Array

    def force(self, tau: Array) -> Array:
        """f = J#^T tau: what the generalised forces do along x (7.4.4).

        Args:
            tau: generalised forces, n.
        """
        return product(self.inverse.T, tau)


class CartesianLinearization(NamedTuple):
    """d tau = D d xdd + V d xd + P d x (7.4.18), each n x m.

    Args:
        D: with respect to Cartesian accelerations (7.4.15).
        V: with respect to Cartesian velocities (7.4.16).
        P: with respect to Cartesian positions (7.4.17).
    """

    D: Array
    V: Array
    P: Array


class Along(TypedDict, total=False):
    """How the motion of a frame is described; every entry may be left out.

    Args:
        coordinates: what x is, ``"ZYX"`` by default; see :data:`~dalembert.algorithms.analytic_jacobian.COORDINATES`.
        point: the point whose position is meant, components in the frame; its origin by default.
        damping: mu of the regularisation; 0, the default, for none.
        tree: a tree of the same mechanism with cheaper dynamics; the mechanism's own by default.
        armature: rotor inertia of every velocity, nv; none by default.
    """

    coordinates: str
    point: Any
    damping: Any
    tree: Tree
    armature: Array | None


class _TaskMotion(NamedTuple):
    """The Jacobian with its rates, D, the inverse J# and Lambda at one state."""

    rates: JacobianRates
    D: Array
    inverse: Array
    Lambda: Array


def _motion(
    mechanism: Mechanism, q: Array, v: Array, a: Array, frame: str, along: Along, D: Array | None = None
) -> _TaskMotion:
    for name in along:
        expect_choice(name, Along.__annotations__, "a Cartesian quantity has no argument")
    place = {name: along[name] for name in ("coordinates", "point") if name in along}  # type: ignore[literal-required]
    rates = analytic_jacobian_rates(mechanism, q, v, a, frame, **place)
    tree = along.get("tree", mechanism.tree)
    D = with_armature(two_sided(tree, q) if D is None else D, along.get("armature"))
    return _TaskMotion(rates, D, *consistent_inverse(mechanism, rates.J, D, tree, along.get("damping", 0)))


def cartesian_dynamics(mechanism: Mechanism, q: Any, v: Any, frame: str, **along: Unpack[Along]) -> CartesianDynamics:
    """The terms of (7.4.4). External wrenches, damping and friction of the joints are not among them.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        frame: name of a frame or body.
        along: entries of :class:`Along`.
    """
    q, v = checked(mechanism, q=q, v=v)
    still = arrays.zeros(mechanism.nv)
    rates, _, inverse, Lambda = _motion(mechanism, q, v, still, frame, along)
    tree = along.get("tree", mechanism.tree)
    forces = CANDIDATES[cheapest_name(tree)]  # one for both, so that they share terms and cancel where they should
    gravity = forces(tree, q, still, still)
    coriolis = forces(tree, q, v, still) - gravity
    drift = product(rates.Jd, v)
    return CartesianDynamics(
        inertia=Lambda,
        coriolis=product(inverse.T, coriolis) - product(Lambda, drift),
        gravity=product(inverse.T, gravity),
        jacobian=rates.J,
        jacobian_rate=rates.Jd,
        inverse=inverse,
    )


def resolved_acceleration(mechanism: Mechanism, q: Any, v: Any, xdd: Any, frame: str, **along: Unpack[Along]) -> Array:
    """Accelerations a = J# (xdd - Jdot v) with which a frame accelerates as asked for, nv.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        xdd: second time derivative of the coordinates, m.
        frame: name of a frame or body.
        along: entries of :class:`Along`.
    """
    q, v = checked(mechanism, q=q, v=v)
    found = _motion(mechanism, q, v, arrays.zeros(mechanism.nv), frame, along)
    wanted, rows = arrays.asarray(xdd), len(found.rates.J)
    if wanted.shape != (rows,):
        raise ArgumentError(
            f"xdd has shape {wanted.shape}; coordinates {along.get('coordinates', 'ZYX')!r} need ({rows},)"
        )
    return product(found.inverse, wanted - product(found.rates.Jd, v))


def cartesian_inverse_dynamics(
    mechanism: Mechanism, q: Any, v: Any, xdd: Any, frame: str, **along: Unpack[Along]
) -> Array:
    """Generalised forces that produce Cartesian accelerations, (7.4.5); armature only weighs redundant motions.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        xdd: second time derivative of the coordinates, m.
        frame: name of a frame or body.
        along: entries of :class:`Along`.
    """
    a = resolved_acceleration(mechanism, q, v, xdd, frame, **along)
    q, v = checked(mechanism, q=q, v=v)
    return cheapest(along.get("tree", mechanism.tree), q, v, a)


def cartesian_linearization(
    mechanism: Mechanism, q: Any, v: Any, a: Any, frame: str, viscous: Array | None = None, **along: Unpack[Along]
) -> CartesianLinearization:
    """Variation of the generalised forces with the Cartesian motion, (7.4.15)-(7.4.17).

    For a redundant arm the variations of q are those that J# gives: of many motions of the joints with the same x, one.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        frame: name of a frame or body.
        viscous: coefficient of viscous damping of every velocity, nv, or None.
        along: entries of :class:`Along`.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    if viscous is not None:
        (viscous,) = checked(mechanism, viscous=viscous)
    found = sensitivity(along.get("tree", mechanism.tree), q, v, a)
    rates, inertia, inverse, _ = _motion(mechanism, q, v, a, frame, along, found.D)
    D = product(inertia, inverse)  # (7.4.15)
    V = product(with_armature(found.V, viscous) - 2 * product(D, rates.Jd), inverse)  # (7.4.16)
    P = product(found.P - product(V, rates.Jd) - product(D, rates.Jdd), inverse)  # (7.4.17)
    return CartesianLinearization(D, V, P)

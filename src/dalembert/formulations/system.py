"""What Lagrange, Kane and the Kronecker form need to know of a system: its bodies and how they move.

For body i: mass, inertia about its centre of mass in body axes, rotation R_i (body to inertial components), position
c_i of the centre of mass, and the Jacobians (PARSA (13)-(16))

    w_i = Jw_i v   in body axes,        cdot_i = Jv_i v   in inertial axes,

where v are velocities with ``qdot = Gamma(q) v``; for joints of one degree of freedom v is qdot itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import Scalar, is_zero
from dalembert.algebra.vectors import dot
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.scope import Scope
from dalembert.formulations.sums import dot_of, gram, projected
from dalembert.tracing.derivatives import forward
from dalembert.tracing.graph import Expr


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A rigid body in motion.

    Args:
        name: of the body.
        mass: its mass.
        inertia: 3 x 3 inertia about the centre of mass, body axes; None for a particle.
        rotation: R, body to inertial components.
        center: position of the centre of mass, inertial axes.
        Jw: 3 x n, angular velocity in body axes per velocity.
        Jv: 3 x n, velocity of the centre of mass in inertial axes per velocity.
    """

    name: str
    mass: Scalar
    inertia: Array | None
    rotation: Array
    center: Array
    Jw: Array
    Jv: Array


@dataclass(frozen=True, eq=False)
class Place:
    """Pose and Jacobians of a frame.

    Args:
        rotation: frame to inertial components.
        position: of the frame's origin.
        Jw: 3 x n, angular velocity of the body that carries it, *inertial* axes.
        Jv: 3 x n, velocity of the origin, inertial axes.
    """

    rotation: Array
    position: Array
    Jw: Array
    Jv: Array


@dataclass(frozen=True, eq=False)
class Constraints:
    """What must hold: ``phi(q, t) = 0`` for positions, ``A v = rate`` for velocities, ``A a = gamma``.

    Args:
        phi: residuals of positions; zero for rows that constrain velocities only.
        A: rows x n.
        rate: right side of A v = rate.
        gamma: right side of A a = gamma.
        names: what each row says.
        closing: residuals that vanish only where loops are closed the right way round: those of ``phi`` that are sines
            vanish after half a turn too, where their derivatives lose rank.
    """

    phi: np.ndarray
    A: np.ndarray
    rate: np.ndarray
    gamma: np.ndarray
    names: tuple[str, ...]
    closing: np.ndarray


@dataclass(eq=False)
class System:
    """Bodies, coordinates and loads of one derivation.

    Args:
        name: for display.
        scope: the symbols.
        q: position coordinates.
        v: velocities, the input ``v`` of the scope.
        qdot: rates of the coordinates as a function of q and v.
        bodies: the bodies that have mass.
        gravity: acceleration of free fall, inertial axes; or a field that depends on position.
        place: pose and Jacobians of a named frame.
        velocity_names: of each velocity its own name and that of its joint, for actuation by name.
        time: the input for time, if something depends on it explicitly.
        passive: for each passive force its name and generalised forces.
        rotors: for each rotor its inertia and its speed per velocity, a row.
        quaternions: index in q and v of the first entry of each quaternion with its angular velocity.
        constraints: closed loops, rolling and the like, if there are any.
        lengths: which entries of q are lengths, as far as that is known.
    """

    name: str
    scope: Scope
    q: np.ndarray
    v: np.ndarray
    qdot: np.ndarray
    bodies: list[MovingBody]
    gravity: Array | InverseSquare
    place: Callable[[str], Place]
    velocity_names: Sequence[tuple[str, str]]
    time: Expr | None = None
    passive: list[tuple[str, Array]] = field(default_factory=list)
    rotors: list[tuple[Scalar, Array]] = field(default_factory=list)
    quaternions: list[tuple[int, int]] = field(default_factory=list)
    constraints: Constraints | None = None
    lengths: Sequence[int] = ()

    @property
    def n(self) -> int:
        """Number of velocities."""
        return len(self.v)

    def rate(self, values: Any, qdot: Any = None) -> np.ndarray:
        """Time derivative of functions of q (and t), velocities held constant.

        Args:
            values: array of expressions.
            qdot: rates of the coordinates; by default those of the system.
        """
        rates = list(self.qdot if qdot is None else qdot)
        variables = list(self.q)
        if self.time is not None:
            variables, rates = [*variables, self.time], [*rates, 1]
        return forward(values, variables, rates)


def mass_matrix(system: System) -> np.ndarray:
    """M = sum of m Jv^T Jv + Jw^T I Jw (PARSA (35), KHATIB, NGUYEN (95)).

    Args:
        system: the system.
    """
    n = system.n
    M = gram([(body.mass, body.Jv) for body in system.bodies], n)
    for body in system.bodies:
        if body.inertia is None:
            continue
        momentum = product(body.inertia, body.Jw)
        for j in range(n):
            for i in range(j + 1):
                term = dot_of(body.Jw[:, i], momentum[:, j])
                if not is_zero(term):
                    M[i, j] = M[i, j] + term
                    M[j, i] = M[i, j]
    return with_rotors(system, M)


def with_rotors(system: System, M: np.ndarray) -> np.ndarray:
    """The mass matrix with the inertia of the rotors added.

    Args:
        system: the system.
        M: mass matrix of the bodies.
    """
    return M + rotor_matrix(system) if system.rotors else M


def rotor_matrix(system: System) -> np.ndarray:
    """What the rotors add to the mass matrix.

    Args:
        system: the system.
    """
    return gram([(inertia, row[None]) for inertia, row in system.rotors], system.n)


def gravity_forces(system: System) -> np.ndarray:
    """G = - sum of Jv^T m g (KHATIB; minus f_c of PARSA (27)); in a field, force and moment on every body.

    Args:
        system: the system.
    """
    field = system.gravity
    if not isinstance(field, InverseSquare):
        return projected([(body.Jv, -(body.mass * field)) for body in system.bodies], system.n)
    forces, moments = [], []
    for body in system.bodies:
        force, moment = field_load(system, body, field)
        forces.append((body.Jv, -product(body.rotation, force)))
        moments.append((body.Jw, -moment))
    return projected(forces, system.n) + projected(moments, system.n)


def field_load(system: System, body: MovingBody, field: InverseSquare) -> tuple[Array, Array]:
    """Force and moment of a field on a body, body axes, about its centre of mass.

    Args:
        system: the system.
        body: one of its bodies.
        field: the field.
    """
    mu, attractor = system.scope.read(field.mu)[()], system.scope.read(field.attractor)
    away = product(body.rotation.T, body.center - attractor)
    return field.load(mu, body.mass, body.inertia, away)


def potential_energy(system: System) -> Scalar:
    """U = - sum of m c.g (PARSA (26)); in a field, the energy of every body in it.

    Args:
        system: the system.
    """
    total: Scalar = 0
    field = system.gravity
    if not isinstance(field, InverseSquare):
        for body in system.bodies:
            total = total - body.mass * dot(asarray(field), body.center)
        return total
    mu, attractor = system.scope.read(field.mu)[()], system.scope.read(field.attractor)
    for body in system.bodies:
        away = product(body.rotation.T, body.center - attractor)
        total = total + field.energy(mu, body.mass, body.inertia, away)
    return total

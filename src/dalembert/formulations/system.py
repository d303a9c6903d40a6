"""What Lagrange, Kane and the Kronecker form need to know of a system: its bodies and how they move.

For body i: mass, inertia about its centre of mass in body axes, rotation R_i (body to inertial components), position
c_i of the centre of mass, and the Jacobians (PARSA (13)-(16))

    w_i = Jw_i v   in body axes,        cdot_i = Jv_i v   in inertial axes,

where v are velocities with ``qdot = Gamma(q) v``; for joints of one degree of freedom v is qdot itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import Scalar, is_zero
from dalembert.algebra.vectors import dot
from dalembert.constraints.gravity_fields import GravityField
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope
from dalembert.tracing.derivatives import forward
from dalembert.tracing.graph import Expr


@dataclass(frozen=True, eq=False)
class MovingBody:
    """A rigid body in motion.

    Args:
        name: of the body.
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
class MultibodySystem:
    """Bodies, coordinates and loads of one derivation.

    Args:
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
    gravity: Array | GravityField
    place: Callable[[str], Place]
    velocity_names: Sequence[tuple[str, str]]
    time: Expr | None = None
    passive: list[tuple[str, Array]] = field(default_factory=list)
    rotors: list[tuple[Scalar, Array]] = field(default_factory=list)
    quaternions: list[tuple[int, int]] = field(default_factory=list)
    constraints: Constraints | None = None
    lengths: Sequence[int] = ()

    @property
    def field(self) -> GravityField | None:
        """Gravity that depends on position, its symbols read; None where it is uniform."""
        return self.gravity if isinstance(self.gravity, GravityField) else None

    def reads(self, field: GravityField) -> GravityField:
        """A field with traced scalars in the place of its symbols."""
        return field.mapped(lambda x: self.scope.read(x)[()])

    @property
    def n(self) -> int:
        """Number of velocities."""
        return len(self.v)

    def rate(self, values: Any, qdot: Any = None) -> np.ndarray:
        """Time derivative of functions of q (and t), velocities held constant.

        Args:
            qdot: rates of the coordinates; by default those of the system.
        """
        rates = list(self.qdot if qdot is None else qdot)
        variables = list(self.q)
        if self.time is not None:
            variables, rates = [*variables, self.time], [*rates, 1]
        return forward(values, variables, rates)


def quantity(system: MultibodySystem, name: str, symbol: str, values: Any) -> DerivedQuantity:
    """A quantity of this system.

    Args:
        symbol: in LaTeX.
        values: array of traced scalars and numbers.
    """
    return DerivedQuantity(system.scope, name, symbol, values)


def velocity_map(system: MultibodySystem) -> np.ndarray:
    """Gamma, nq x n: the rates of the coordinates per velocity.

    Args:
        system: the system; its velocities must be inputs.
    """
    return forward(system.qdot, system.v)


def system_mass_matrix(system: MultibodySystem) -> np.ndarray:
    """M = sum of m Jv^T Jv + Jw^T I Jw (PARSA (35), KHATIB, NGUYEN (95))."""
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


def with_rotors(system: MultibodySystem, M: np.ndarray) -> np.ndarray:
    """The mass matrix with the inertia of the rotors added.

    Args:
        M: mass matrix of the bodies.
    """
    return M + rotor_matrix(system) if system.rotors else M


def rotor_matrix(system: MultibodySystem) -> np.ndarray:
    """What the rotors add to the mass matrix."""
    return gram([(inertia, row[None]) for inertia, row in system.rotors], system.n)


def gravity_forces(system: MultibodySystem) -> np.ndarray:
    """G = - sum of Jv^T m g (KHATIB; minus f_c of PARSA (27)); in a field, force and moment on every body."""
    field = system.field
    if field is None:
        return projected([(body.Jv, -(body.mass * system.gravity)) for body in system.bodies], system.n)
    forces, moments = [], []
    for body in system.bodies:
        force, moment = field.load_in_body(body.mass, body.inertia, body.rotation, body.center)
        forces.append((body.Jv, -product(body.rotation, force)))
        moments.append((body.Jw, -moment))
    return projected(forces, system.n) + projected(moments, system.n)


def potential_energy(system: MultibodySystem) -> Scalar:
    """U = - sum of m c.g (PARSA (26)); in a field, the energy of every body in it."""
    total: Scalar = 0
    for body in system.bodies:
        if system.field is None:
            total = total - body.mass * dot(asarray(system.gravity), body.center)
        else:
            total = total + system.field.energy_of(body.mass, body.inertia, body.rotation, body.center)
    return total


# ---------------------------------------------------------------------------------------------------- sums over bodies


def gram(terms: Sequence[tuple[Scalar, Array]], n: int) -> np.ndarray:
    """Sum over k of ``m_k J_k^T J_k`` as an n x n symmetric array.

    Columns that several bodies share - a cart carries all its pendulums - are recognised (equal expressions are the
    same object) and their masses added first, so that chains cost n^2 operations instead of n^3.

    Args:
        terms: mass and Jacobian (rows x n) of each body.
        n: number of columns.
    """
    matrix = np.zeros((n, n), dtype=object)
    columns = [[tuple(J[:, j].tolist()) for j in range(n)] for _, J in terms]
    empty = [[all(is_zero(x) for x in column) for column in row] for row in columns]
    for j in range(n):
        for i in range(j + 1):
            groups: dict[tuple, Scalar] = {}
            for k in reversed(range(len(terms))):
                if not (empty[k][i] or empty[k][j]):
                    key = (columns[k][i], columns[k][j])
                    mass = terms[k][0]
                    groups[key] = mass if key not in groups else groups[key] + mass
            total: Scalar = 0
            for (left, right), mass in groups.items():
                total = total + _weighted(mass, left, right)
            matrix[i, j] = matrix[j, i] = total
    return matrix


def projected(terms: Sequence[tuple[Array, Array]], n: int) -> np.ndarray:
    """Sum over k of ``J_k^T f_k``; what is projected on a shared column is added first.

    Args:
        terms: Jacobian (rows x n) and vector of each body.
        n: number of columns.
    """
    result = np.zeros(n, dtype=object)
    for i in range(n):
        groups: dict[tuple, Array] = {}
        for J, f in reversed(terms):
            key = tuple(J[:, i].tolist())
            if not all(is_zero(x) for x in key):
                groups[key] = f if key not in groups else groups[key] + f
        total: Scalar = 0
        for column, force in groups.items():
            total = total + dot_of(column, force)
        result[i] = total
    return result


def dot_of(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """a . b without the products that vanish."""
    total: Scalar = 0
    for x, y in zip(a, b):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def _weighted(mass: Scalar, left: tuple, right: tuple) -> Scalar:
    """mass * left . right; of a rod that turns in a plane, (l cos q)^2 + (l sin q)^2 is known to be l^2."""
    if all(x is y for x, y in zip(left, right)) and (arm := _length_of_rod(left)) is not None:
        return mass * arm * arm
    return dot_of(left, [mass * x for x in right])


def _length_of_rod(column: tuple) -> Scalar | None:
    """l, if the column is (l cos q, l sin q) in any order, with any signs, and zeros."""
    parts = [x.args[0] if x.op == "neg" else x for x in column if isinstance(x, Expr) and not x.is_zero]
    if len(parts) != 2 or sum(not is_zero(x) for x in column) != 2:
        return None
    for (one, turning), (other, also) in itertools.product(*(_factors(x) for x in parts)):
        if one is other and {turning.op, also.op} == {"sin", "cos"} and turning.args[0] is also.args[0]:
            return one
    return None


def _factors(x: Expr) -> list[tuple[Expr, Expr]]:
    """Pairs (rest, sine or cosine) whose product is x."""
    if x.op in ("sin", "cos"):
        return [(x.graph.constant(1), x)]
    if x.op != "mul":
        return []
    a, b = x.args
    return [(rest, turning) for rest, turning in ((a, b), (b, a)) if turning.op in ("sin", "cos")]

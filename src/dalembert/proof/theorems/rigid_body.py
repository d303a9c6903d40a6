"""THESIS chapter IV: Theorems 4.1 to 4.5 on rotation, inertia, momentum and torque of a rigid body."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import (
    angular_momentum,
    euler_torque,
    momentum_tensor,
    parallel_axes,
    parallel_axes_pseudo,
    torque_from_tensor,
    torque_tensor,
)
from dalembert.algebra.quaternions import quaternion_rate, rotation_from_quaternion
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dual, dyad, trace, vect
from dalembert.proof.field import along, slopes
from dalembert.proof.theorems.drawn import history, values, vector
from dalembert.proof.theorems.theorem import Sides, Theorems

RIGID_BODY = Theorems()


@dataclass(frozen=True, eq=False)
class _Turning:
    """A rotation tensor that depends on time in the most general way, with its angular velocity and acceleration."""

    Q: Array
    """Dual numbers of dual numbers of time."""
    w: Array
    wd: Array

    @classmethod
    def of(cls, field: Any) -> _Turning:
        eta, w, wd = field.unit(4), vector(field), vector(field)  # w in body axes
        rate = quaternion_rate(eta, w)
        second = slopes(quaternion_rate(along(eta, rate), along(w, wd)))
        R = rotation_from_quaternion(eta)
        return cls(rotation_from_quaternion(history(eta, rate, second)), product(R, w), product(R, wd))


@RIGID_BODY.states(
    "THESIS Theorem 4.1",
    "(4.2.1), (4.2.5)",
    "The rate of an orthogonal tensor is a skew tensor times it: for a rotation, the dual of the angular velocity.",
    "Qdot Q^T = -(Qdot Q^T)^T; Rdot = w~ R",
)
def _rate_of_rotation(field: Any, sign: int) -> Iterator[Sides]:
    turning = _Turning.of(field)
    Q, Qd = values(values(turning.Q)), values(slopes(turning.Q))
    tensor = product(Qd, Q.T)
    yield tensor, -sign * tensor.T
    yield Qd, sign * product(dual(turning.w), Q)


@RIGID_BODY.states(
    "THESIS Theorem 4.2",
    "(4.2.7), (4.2.8), (4.2.12)-(4.2.14)",
    "The second derivative of an orthogonal tensor is Psi times it; for a rotation Psi is the angular acceleration "
    "tensor Om, whose vector is the angular acceleration.",
    "Qddot = (Phidot + Phi Phi) Q; Om = wdot~ + w~ w~; Rddot = Om R; vect(Om) = wdot",
)
def _second_rate_of_rotation(field: Any, sign: int) -> Iterator[Sides]:
    turning = _Turning.of(field)
    Q, Qd = values(turning.Q), slopes(turning.Q)  # with their rates
    Phi, Qdd = product(Qd, Q.T), slopes(Qd)
    yield Qdd, product(slopes(Phi) + sign * product(values(Phi), values(Phi)), values(Q))
    w, wd = turning.w, turning.wd
    Om = dual(wd) + sign * product(dual(w), dual(w))
    yield angular_acceleration_tensor(w, wd), Om
    yield Qdd, product(Om, values(Q))
    yield vect(angular_acceleration_tensor(w, wd)), sign * wd


@dataclass(frozen=True, eq=False)
class _Particles:
    """A rigid body as what it is: particles. Four of them have the moments of any body."""

    masses: list[Any]
    points: list[Array]

    @classmethod
    def of(cls, field: Any) -> _Particles:
        return cls([field.element() for _ in range(4)], [vector(field) for _ in range(4)])

    @property
    def mass(self) -> Any:
        return sum(self.masses[1:], start=self.masses[0])

    def total(self, of: Callable[[Array], Array]) -> Array:
        """The integral of a function of the position over the mass."""
        return sum((of(r) * m for m, r in zip(self.masses, self.points)), start=arrays.zeros(1)[0])

    @property
    def centre(self) -> Array:
        return self.total(lambda r: r) / self.mass

    @property
    def inertia(self) -> Array:
        return self.total(lambda r: -product(dual(r), dual(r)))

    @property
    def pseudo(self) -> Array:
        return self.total(lambda r: dyad(r, r))

    def moved(self, by: Array) -> _Particles:
        return _Particles(self.masses, [r + by for r in self.points])


@RIGID_BODY.states(
    "THESIS Theorem 4.3",
    "(4.3.9), (4.3.10)",
    "Parallel axes: moments about any point from those about the centre of mass c at r.",
    "J_o = J_c + m r r^T; I_o = I_c - m r~ r~",
)
def _parallel_axes(field: Any, sign: int) -> Iterator[Sides]:
    body = _Particles.of(field)
    r = body.centre
    central = body.moved(-r)
    yield body.pseudo, parallel_axes_pseudo(central.pseudo, sign * body.mass, r)
    yield body.inertia, parallel_axes(central.inertia, sign * body.mass, r)


@RIGID_BODY.states(
    "THESIS Theorem 4.4",
    "(4.3.28), (4.3.30)",
    "The angular momentum tensor of a rotating body by its inertia tensor, and by its pseudo-inertia.",
    "L~ = (w~ I)^T - w~ I + tr(I) w~; L~ = J w~ - (J w~)^T; L = I w",
)
def _momentum(field: Any, sign: int) -> Iterator[Sides]:
    body, w = _Particles.of(field), vector(field)
    I, J = body.inertia, body.pseudo
    L = body.total(lambda r: cross(r, cross(w, r)))
    half = product(dual(w), I)
    yield dual(L), half.T - sign * half + dual(w) * trace(I)
    yield dual(L), sign * momentum_tensor(J, w)
    yield L, sign * angular_momentum(I, w)


@RIGID_BODY.states(
    "THESIS Theorem 4.5",
    "(4.3.35), (4.3.41), (4.3.42)",
    "The torque tensor, which is the rate of the angular momentum tensor, by the angular acceleration tensor Om.",
    "M~ = dL~/dt = (Om I)^T - Om I + tr(I) wdot~; M~ = Om J - (Om J)^T; M = I wdot + w~ I w",
)
def _torque(field: Any, sign: int) -> Iterator[Sides]:
    body, w, wd = _Particles.of(field), vector(field), vector(field)
    I, J, Om = body.inertia, body.pseudo, angular_acceleration_tensor(w, wd)
    moving = along(w, wd)

    def momentum(r: Array) -> Array:
        now = along(r, cross(w, r))
        return cross(now, cross(moving, now))

    M = slopes(body.total(momentum))
    half = product(Om, I)
    yield dual(M), half.T - sign * half + dual(wd) * trace(I)
    yield dual(M), sign * torque_tensor(Om, J)
    yield M, product(I, wd) + sign * cross(w, product(I, w))
    yield euler_torque(I, w, wd), sign * torque_from_tensor(Om, J)

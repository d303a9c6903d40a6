"""Gravity that depends on position: a point attractor and the moment it exerts on a body (PARSA, after (27)).

    R from the attractor to the centre of mass, body axes:
    energy  U = - mu m / |R| - mu / (2 |R|^3) ( tr I - 3 R.I R / |R|^2 )
    moment  n = 3 mu / |R|^5  R x I R            about the centre of mass

The force is minus the gradient of U, so that energy is conserved; what is left out is of third order in size/distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import Scalar, is_zero, sqrt
from dalembert.algebra.vectors import cross, dot, trace
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.record import check_scalar, is_finite


@dataclass(frozen=True, eq=False)
class InverseSquare:
    """The field of a point attractor.

    Args:
        mu: gravitational parameter G M of the attractor, m^3/s^2; a number or symbol.
        attractor: its position, inertial axes.
        gradient: extended bodies feel the variation of the field; otherwise they are attracted like points.
    """

    mu: Any
    attractor: Any = (0, 0, 0)
    gradient: bool = True

    def __post_init__(self) -> None:
        check_scalar(self.mu, "InverseSquare, mu")
        if np.shape(np.array(self.attractor, dtype=object)) != (3,):
            raise ArgumentError(f"InverseSquare: the attractor is a point, three numbers; got {self.attractor!r}")
        for x in self.attractor:
            check_scalar(x, "InverseSquare, attractor")
        if not all(map(is_finite, (self.mu, *self.attractor))):
            raise ArgumentError(f"InverseSquare: expected finite numbers or symbols, got {self.mu}, {self.attractor}")

    def energy(self, mu: Scalar, mass: Scalar, inertia: Array | None, R: Array) -> Scalar:
        """Potential energy of a body.

        Args:
            mu: the gravitational parameter as a scalar of the derivation.
            mass: of the body.
            inertia: about the centre of mass, body axes; None for a particle.
            R: from the attractor to the centre of mass, body axes.
        """
        squared = _squared(R)
        distance = sqrt(squared)
        energy = -mu * mass / distance
        if inertia is not None and self.gradient:
            spread = trace(inertia) - 3 * dot(R, product(inertia, R)) / squared
            energy = energy - mu * spread / (2 * squared * distance)
        return energy

    def load(self, mu: Scalar, mass: Scalar, inertia: Array | None, R: Array) -> tuple[Array, Array]:
        """Force and moment about the centre of mass on a body, body axes.

        Args:
            mu: the gravitational parameter as a scalar of the derivation.
            mass: of the body.
            inertia: about the centre of mass, body axes; None for a particle.
            R: from the attractor to the centre of mass, body axes.
        """
        squared = _squared(R)
        distance = sqrt(squared)
        cubed = squared * distance
        force = (-mu * mass / cubed) * asarray(R)
        if inertia is None or not self.gradient:
            return force, np.zeros(3, dtype=object)
        IR = product(inertia, asarray(R))
        fifth = cubed * squared
        radial = trace(inertia) - 5 * dot(R, IR) / squared
        force = force - (3 * mu / (2 * fifth)) * (radial * asarray(R) + 2 * IR)
        return force, (3 * mu / fifth) * cross(R, IR)


def _squared(R: Array) -> Scalar:
    squared = dot(R, R)
    if is_zero(squared):
        raise SingularityError(
            "InverseSquare: the centre of mass of a body never leaves the attractor, where the field is infinite. Leave"
            " that body out, or move the attractor"
        )
    return squared

"""What is asked of a library, so that its model can be compared with a mechanism: everything in our coordinates.

Frames of bodies are a matter of taste, and no force depends on them; nothing but the comparison of frames refers to
them: places and axes are in world axes, inertia tensors are about centres of mass, and a joint is seen through the
velocities it gives to the body behind it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.conventions import Convention
from dalembert.model import Mechanism


@dataclass(frozen=True, eq=False)
class View:
    """The body behind a joint, with all that is welded to it, at one position.

    Args:
        mass: kg.
        center: centre of mass in the world, m; the origin if there is no mass.
        tensor: inertia tensor about the centre of mass, world axes, kg m^2.
        jacobian: 6 x nv; from our velocities to [angular velocity; velocity of the point of the body that is at the
            origin of the world], world axes.
    """

    mass: float
    center: Array
    tensor: Array
    jacobian: Array


@dataclass(frozen=True, eq=False)
class Drive:
    """What acts in a joint besides its force; the mean over its degrees of freedom where they differ.

    Args:
        armature: inertia of the rotor at the joint, kg m^2 or kg.
        damping: viscous coefficient.
        friction: Coulomb friction.
    """

    armature: float = 0
    damping: float = 0
    friction: float = 0


class Peer(ABC):
    """A model in some library, seen in the coordinates of a mechanism.

    Args:
        mechanism: the mechanism here.
        convention: the maps between both.
    """

    name: str
    """What the library is called."""
    includes: tuple[str, ...] = ()
    """Terms of the joints that always enter its forces: of ``armature``, ``damping``, ``friction``."""

    mass_hint: str = ""
    """What the library is known to do with masses that a file does not give."""

    def __init__(self, mechanism: Mechanism, convention: Convention):
        self.mechanism, self.convention = mechanism, convention

    keeps: tuple[str, ...] = ("armature", "damping", "friction")
    """Terms of the joints that its models have a place for, whether or not they enter its forces."""

    is_mechanism: bool = False
    """Whether it is a description like ours, so that data which enter no forces can be compared too."""

    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Lowest and highest position of joints that have limits, by our name; empty where they are not compared."""
        return {}

    @property
    def is_coupled(self) -> bool:
        """Whether mimic joints move on their own there, so that accelerations cannot be compared."""
        return self.convention.nv > self.mechanism.nv

    @property
    @abstractmethod
    def gravity(self) -> Array:
        """Acceleration of free fall, world axes, m/s^2."""

    @abstractmethod
    def drives(self) -> Mapping[str, Drive]:
        """Rotors and friction by our name of the joint."""

    @abstractmethod
    def views(self, q: Array) -> Mapping[str, View]:
        """The bodies behind the joints at our positions q, by our name of the joint."""

    @abstractmethod
    def frames(self, q: Array) -> Mapping[str, Transform]:
        """Poses in the world of what the library calls bodies and frames at our positions q, by its names."""

    @abstractmethod
    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Generalised forces, with everything that the library adds to them, at our q, v and a."""

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """Inertia matrix at our q."""

    def remarks(self) -> list[str]:
        """What else is in the model and takes no part in the comparison."""
        return []

    def extras(self) -> list[tuple[str, str]]:
        """Forces in the model that have no counterpart here, as (where, what)."""
        return []


def gathered(parts: list[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """Mass, centre of mass and tensor about it of bodies that are welded together.

    Args:
        parts: of each body the same three, in common axes.
    """
    mass = sum(part[0] for part in parts)
    center = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass if mass else np.zeros(3)
    tensor = np.zeros((3, 3))
    for m, c, about in parts:
        r = c - center
        tensor += about + m * (r @ r * np.eye(3) - np.outer(r, r))  # parallel axes (4.3.9)
    return mass, center, tensor


def at_origin(angular: Array, linear: Array, point: Array) -> Array:
    """A Jacobian of a point as that of the point of the same body that is at the origin of the world.

    Args:
        angular: 3 x nv, world axes.
        linear: 3 x nv, of the point, world axes.
        point: in the world, m.
    """
    return np.vstack([angular, linear + np.cross(point, angular, axisb=0).T])


def mean(values: Any) -> float:
    """Mean of some numbers, zero of none."""
    numbers = np.asarray(values, dtype=float)
    return float(numbers.mean()) if numbers.size else 0.0

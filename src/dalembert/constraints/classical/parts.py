"""What the classical mechanisms share."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.model import Inertia

at = Transform.from_translation
X, Y, Z = np.eye(3)
DOWN = np.array([0.0, -9.81, 0.0])
"""Weight in the plane of the planar mechanisms."""


def planar_bar(mass: float, length: float) -> Inertia:
    """A slender bar along x from its origin.

    Args:
        mass: kg.
        length: m.
    """
    moment = mass * length**2 / 12
    return Inertia(mass, np.array([length / 2, 0, 0]), np.diag([1e-6 * moment, moment, moment]))


def lamina(mass: float, center: Any, moment: float) -> Inertia:
    """A body in the xy plane; the other two moments are halves of its own, as for a lamina.

    Args:
        mass: kg.
        center: x and y of the centre of mass, m.
        moment: about z through the centre of mass, kg m^2.
    """
    return Inertia(mass, np.array([*center, 0]), np.diag([moment / 2, moment / 2, moment]))

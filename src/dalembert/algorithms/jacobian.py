"""Geometric Jacobians as one matrix, [linear; angular], in the order of every 6-vector of this library."""

from __future__ import annotations

from typing import Any

from dalembert import kinematics
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.model import Mechanism


def jacobian(mechanism: Mechanism, q: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world") -> Array:
    """6 x nv: velocity of the point and angular velocity of the frame, per velocity.

    Args:
        mechanism: the mechanism.
        q: positions.
        frame: name of a frame or body.
        point: the point whose velocity is meant, components in the frame.
        axes: ``"world"`` or ``"body"``: in which axes both are expressed.
    """
    angular, linear = kinematics.jacobian(mechanism, q, frame, point=point, axes=axes)
    return arrays.stack([*linear, *angular])


def jacobian_rate(
    mechanism: Mechanism, q: Any, v: Any, frame: str, *, point: Any = (0, 0, 0), axes: str = "world"
) -> Array:
    """The time derivative of :func:`jacobian`.

    Args:
        mechanism: the mechanism.
        q: positions.
        v: velocities.
        frame: name of a frame or body.
        point: as in :func:`jacobian`.
        axes: as in :func:`jacobian`.
    """
    angular, linear = kinematics.jacobian_rate(mechanism, q, v, frame, point=point, axes=axes)
    return arrays.stack([*linear, *angular])

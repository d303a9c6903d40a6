"""Energies of a mechanism at one state, over any scalar; ``energy.py`` has the sums over the links."""

from __future__ import annotations

from typing import Any

from dalembert.algebra.scalar import Scalar
from dalembert.algorithms import energy
from dalembert.algorithms.kinematics import checked
from dalembert.model import Mechanism


def kinetic_energy(mechanism: Mechanism, q: Any, v: Any) -> Scalar:
    """Kinetic energy of all bodies, J; rotors (armature) are not counted.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
    """
    q, v = checked(mechanism, q=q, v=v)
    return energy.kinetic_energy(mechanism.tree, q, v)


def potential_energy(mechanism: Mechanism, q: Any) -> Scalar:
    """Potential energy of the weight of all moving bodies, J: zero when all mass is at the world's origin.

    Bodies fixed to the ground do not count: their energy never changes.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
    """
    (q,) = checked(mechanism, q=q)
    return energy.potential_energy(mechanism.tree, q)

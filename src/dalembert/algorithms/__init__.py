"""Recursive algorithms, one per file, each written once over any scalar: floats, complex, SymPy, traced scalars.

Functions of a mechanism and one state; :class:`~dalembert.dynamics.Dynamics` compiles them for many. Quaternions
are taken as they are; ``mechanism.normalise(q)`` gives them length one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross
from dalembert.algorithms import energy, sensitivity
from dalembert.algorithms.analytic_jacobian import analytic_jacobian, analytic_jacobian_rates, frame_coordinates
from dalembert.algorithms.base_parameters import base_parameters, grouping_rules
from dalembert.algorithms.cartesian import (
    cartesian_dynamics,
    cartesian_inverse_dynamics,
    cartesian_linearization,
    resolved_acceleration,
)
from dalembert.algorithms.centroidal import centroidal, centroidal_matrix_rate, generalised_momentum
from dalembert.algorithms.forward_dynamics import forward_dynamics
from dalembert.algorithms.forward_dynamics.conjugate_gradients import ConjugateGradients, conjugate_gradients
from dalembert.algorithms.hessians import hessian, relative_motion
from dalembert.algorithms.inertia_matrix import mass_matrix, mass_matrix_inverse
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.jacobian import jacobian, jacobian_rate
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.algorithms.link_moments import (
    FirstMomentRates,
    LinkMoments,
    first_moment_rates,
    link_moments,
    link_quantities,
)
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.regressor import (
    kinetic_energy_regressor,
    parameter_names,
    parameter_vector,
    potential_energy_regressor,
    reference_regressor,
    regressor,
)
from dalembert.algorithms.selection import select_algorithm
from dalembert.algorithms.variation import (
    LinkQuantities,
    forward_dynamics_variation,
    inverse_dynamics_variation,
)
from dalembert.kinematics import (
    acceleration_derivatives,
    center_of_mass,
    checked,
    checked_point,
    motion,
    pose,
    poses,
    velocity_derivatives,
)
from dalembert.model import Mechanism

__all__ = [
    "ConjugateGradients", "FirstMomentRates", "LinkMoments", "LinkQuantities", "acceleration_derivatives",
    "analytic_jacobian", "analytic_jacobian_rates", "base_parameters", "cartesian_dynamics",
    "cartesian_inverse_dynamics", "cartesian_linearization", "center_of_mass", "centroidal", "centroidal_matrix_rate",
    "conjugate_gradients", "coriolis_matrix", "first_moment_rates", "forward_dynamics", "forward_dynamics_variation",
    "frame_coordinates", "generalised_momentum", "grouping_rules", "hessian", "inverse_dynamics",
    "inverse_dynamics_variation", "jacobian", "jacobian_rate", "joint_forces", "kinetic_energy",
    "kinetic_energy_gradient", "kinetic_energy_regressor", "link_moments", "link_quantities", "mass_matrix",
    "mass_matrix_inverse", "momentum", "motion", "parameter_names", "parameter_vector", "parsa_coriolis", "pose",
    "poses", "potential_energy", "potential_energy_regressor", "reference_regressor", "regressor", "relative_motion",
    "resolved_acceleration", "select_algorithm", "sensitivities", "velocity_derivatives",
]  # fmt: skip


def kinetic_energy(mechanism: Mechanism, q: Any, v: Any) -> Scalar:
    """Kinetic energy of all bodies, J; rotors (armature) are not counted."""
    q, v = checked(mechanism, q=q, v=v)
    return energy.kinetic_energy(mechanism.tree, q, v)


def potential_energy(mechanism: Mechanism, q: Any) -> Scalar:
    """Potential energy of the weight of all moving bodies, J: zero when all mass is at the world's origin.

    Bodies fixed to the ground do not count: their energy never changes.
    """
    (q,) = checked(mechanism, q=q)
    return energy.potential_energy(mechanism.tree, q)


def kinetic_energy_gradient(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """dT/dq along tangent vectors, velocities held fixed, nv (PARSA (23)-(25))."""
    q, v = checked(mechanism, q=q, v=v)
    return energy.kinetic_energy_gradient(mechanism.tree, q, v)


def momentum(mechanism: Mechanism, q: Any, v: Any, *, point: Any = (0, 0, 0)) -> Array:
    """[linear momentum; angular momentum about a point] of all moving bodies, world axes (THESIS (4.3.20), (4.3.21)).

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        point: about which the angular momentum is taken, a fixed point in world axes, m.
    """
    q, v = checked(mechanism, q=q, v=v)
    linear, angular = energy.momentum(mechanism.tree, q, v)
    return arrays.asarray([*linear, *(angular - cross(checked_point(point), linear))])


def sensitivities(
    mechanism: Mechanism, q: Any, v: Any, a: Any, *, wrenches: Mapping[str, Any] | None = None
) -> sensitivity.Sensitivity:
    """tau, D, V and P of d tau = D da + V dv + P dq (THESIS (7.2.1)); dq along tangent vectors, of a quaternion three.

    Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, constant in frame axes, about the frame's origin.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    return sensitivity.sensitivity(mechanism.tree, q, v, a, loads_on_links(mechanism, wrenches))


def coriolis_matrix(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """C(q, v) with C v = bias - gravity and Mdot - 2C skew, nv x nv: half of V, the Christoffel matrix (THESIS
    (5.2.10)).
    """
    q, v = checked(mechanism, q=q, v=v)
    return sensitivity.coriolis_matrix(mechanism.tree, q, v)

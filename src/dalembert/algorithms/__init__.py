"""Recursive algorithms, one per file, each written once over any scalar: floats, complex, SymPy, traced scalars.

Functions of a mechanism and one state; :class:`~dalembert.dynamics.Dynamics` compiles them for many. Quaternions
are taken as they are; ``mechanism.normalise(q)`` gives them length one.
"""

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
from dalembert.algorithms.hessians import hessian, relative_motion
from dalembert.algorithms.inertia_matrix import mass_matrix, mass_matrix_inverse
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.algorithms.kinematics import center_of_mass, jacobian, jacobian_rate, motion, pose, poses
from dalembert.algorithms.mechanism_energy import kinetic_energy, potential_energy
from dalembert.algorithms.mechanism_sensitivity import coriolis_matrix, sensitivities
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.regressor import (
    kinetic_energy_regressor,
    parameter_names,
    parameter_vector,
    potential_energy_regressor,
    regressor,
)
from dalembert.algorithms.selection import select_algorithm

__all__ = [
    "analytic_jacobian", "analytic_jacobian_rates", "base_parameters", "cartesian_dynamics",
    "cartesian_inverse_dynamics", "cartesian_linearization", "center_of_mass", "centroidal", "centroidal_matrix_rate",
    "coriolis_matrix", "forward_dynamics", "frame_coordinates", "generalised_momentum", "grouping_rules", "hessian",
    "inverse_dynamics", "jacobian", "jacobian_rate", "joint_forces", "kinetic_energy", "kinetic_energy_regressor",
    "mass_matrix", "mass_matrix_inverse", "motion", "parameter_names", "parameter_vector", "parsa_coriolis", "pose",
    "poses", "potential_energy", "potential_energy_regressor", "regressor", "relative_motion", "resolved_acceleration",
    "select_algorithm", "sensitivities",
]  # fmt: skip

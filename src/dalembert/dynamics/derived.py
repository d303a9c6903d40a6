"""Beyond plain dynamics: Hessians, regressors, momenta, second derivatives, dynamics along the motion of a frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from dalembert import algorithms, kinematics
from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.euler import EULER_SEQUENCES
from dalembert.algebra.rotations import LOCK
from dalembert.algorithms.economy.cheapest import cheapest
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.algorithms.triangular import factor
from dalembert.algorithms.variation import accelerations_of, solver_of, varied
from dalembert.dynamics.quantity import Quantity, Setting, direct
from dalembert.dynamics.tree import FORCE_RIVALS, INERTIA_RIVALS, force_algorithm, mass_matrix
from dalembert.errors import UnsupportedError
from dalembert.kinematics.manifold import tangent_map
from dalembert.tracing.graph import Expr


def mass_matrix_inverse(s: Setting, q: Array) -> Array:
    return factor(mass_matrix(s, q), s.tree.velocity_parents).inverse()


def generalised_momentum(s: Setting, q: Array, v: Array) -> Array:
    p = force_algorithm(s)(replace(s.tree, gravity=arrays.zeros(3)), q, arrays.zeros(s.nv), v)
    return p if s.joints.armature is None else p + s.joints.armature * v


def centroidal(s: Setting, q: Array, v: Array) -> tuple[Array, ...]:
    found = algorithms.centroidal(s.mechanism, q, v)
    return found.matrix, found.bias, found.center, found.inertia


def inverse_dynamics_hessian(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    if s.derivative is None:
        raise UnsupportedError("second derivatives are made of traced scalars; use Dynamics(...)")
    found = sensitivity(s.tree, q, v, a, s.loads)
    P, V, D = s.derivative(arrays.stack([found.P, found.V, found.D]), q, tangent_map(s.tree, q))  # in one sweep
    return P, V, s.derivative(found.V, v, arrays.identity(s.nv)), D


def inverse_dynamics_variation(
    s: Setting, q: Array, v: Array, a: Array, dq: Array, dv: Array, da: Array
) -> tuple[Array, Array]:
    value, change = varied(s.tree, q, v, a, dq, dv, da, s.loads)
    added = 0 * da if s.joints.armature is None else s.joints.armature * da
    added = added if s.joints.damping is None else added + s.joints.damping * dv
    return value.tau + s.joints.of(v, a), change.tau + added


def forward_dynamics_variation(
    s: Setting, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array
) -> tuple[Array, Array]:
    a = solver_of(s.tree)(s.tree, q, v, tau - s.joints.resistance(v), s.loads, s.joints.armature)
    _, change = varied(s.tree, q, v, a, dq, dv, arrays.zeros(s.nv), s.loads)
    left = dtau - change.tau
    left = left if s.joints.damping is None else left - s.joints.damping * dv
    return a, accelerations_of(s.tree, q, left, s.joints.armature)


def velocity_derivatives(s: Setting, q: Array, v: Array) -> tuple[Array, Array]:
    found = kinematics.velocity_derivatives(s.mechanism, q, v, **s.options)
    return found.by_q, found.by_v


def acceleration_derivatives(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    return tuple(kinematics.acceleration_derivatives(s.mechanism, q, v, a, **s.options))


def kinetic_energy_gradient(s: Setting, q: Array, v: Array) -> Array:
    return algorithms.energy.kinetic_energy_gradient(s.tree, q, v)


def generalized_links(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    rates, E = algorithms.first_moment_rates(s.mechanism, q, v, a), algorithms.link_moments(s.mechanism, q).E
    mu = algorithms.link_quantities(s.mechanism, q, v, a).mu
    count = len(E)
    parts = (rates.U, rates.Ud, rates.Udd, mu, E)
    return tuple(arrays.stack(part).reshape(count, *((3, 3) if part is E else (3,))) for part in parts)


def hessian(s: Setting, q: Array) -> Array:
    angular, linear = algorithms.hessian(s.mechanism, q, **s.options)
    return arrays.stack([*linear, *angular])


def relative_motion(s: Setting, q: Array) -> tuple[Array, Array]:
    found = algorithms.relative_motion(s.mechanism, q, **s.options)
    return arrays.stack([*found.J_T, *found.J_R]), arrays.stack([*found.H_T, *found.H_R])


def nowhere_at_gimbal_lock(compute: Callable[..., Any]) -> Callable[..., Any]:
    """A quantity in Euler angles whose kernels give NaN where these lock; in plain Python the algorithm raises there.

    Rounding leaves a lever of 1e-16 between the first and the last axis, on which every result would stand.
    """

    @wraps(compute)
    def guarded(s: Setting, q: Array, *others: Array) -> Any:
        found = compute(s, q, *others)
        sequence = s.options["coordinates"].translate(str.maketrans("123", "XYZ"))
        if sequence not in EULER_SEQUENCES:
            return found
        seen = kinematics.pose(s.mechanism, q, s.options["frame"]).rotation["XYZ".index(sequence[0])]
        lever = sum(x * x for x, name in zip(seen, "XYZ") if name != sequence[2])
        if not isinstance(lever, Expr):  # numbers, and the fields of proofs
            return found
        nothing = scalar.select(lever < LOCK**2, math.nan, 0.0)
        return tuple(x + nothing for x in found) if isinstance(found, tuple) else found + nothing

    return guarded


@nowhere_at_gimbal_lock
def analytic_jacobian(s: Setting, q: Array) -> Array:
    return algorithms.analytic_jacobian(s.mechanism, q, **s.options)


@nowhere_at_gimbal_lock
def analytic_jacobian_rate(s: Setting, q: Array, v: Array) -> Array:
    return algorithms.analytic_jacobian_rates(s.mechanism, q, v, arrays.zeros(s.nv), **s.options).Jd


@nowhere_at_gimbal_lock
def analytic_jacobian_second_rate(s: Setting, q: Array, v: Array, a: Array) -> Array:
    return algorithms.analytic_jacobian_rates(s.mechanism, q, v, a, **s.options).Jdd


@nowhere_at_gimbal_lock
def cartesian_dynamics(s: Setting, q: Array, v: Array) -> tuple[Array, ...]:
    found = algorithms.cartesian_dynamics(s.mechanism, q, v, **s.options, tree=s.tree, armature=s.joints.armature)
    return found.inertia, found.coriolis, found.gravity, found.inverse


@nowhere_at_gimbal_lock
def cartesian_inverse_dynamics(s: Setting, q: Array, v: Array, xdd: Array) -> Array:
    a = algorithms.resolved_acceleration(s.mechanism, q, v, xdd, **s.options, tree=s.tree, armature=s.joints.armature)
    return cheapest(s.tree, q, v, a, s.loads) + s.joints.of(v, a)


@nowhere_at_gimbal_lock
def cartesian_linearization(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    return algorithms.cartesian_linearization(
        s.mechanism, q, v, a, **s.options, tree=s.tree, armature=s.joints.armature, viscous=s.joints.damping
    )


_POINT: dict[str, Any] = {"frame": ..., "point": (0, 0, 0)}
_COORDINATES: dict[str, Any] = {**_POINT, "coordinates": "ZYX"}
_TASK: dict[str, Any] = {**_COORDINATES, "damping": 0.0}

DERIVED: dict[str, Quantity] = {
    "mass_matrix_inverse": Quantity(
        ("q",), {"inverse": ("n", "n")}, mass_matrix_inverse, "Inverse of the joint-space inertia matrix.",
        rivals=INERTIA_RIVALS),
    "parsa_coriolis": Quantity(
        ("q", "v"), {"C": ("n", "n")}, direct(algorithms.parsa_coriolis),
        "Parsa's Coriolis matrix: like coriolis_matrix C v = bias - gravity without wrenches and joint forces and "
        "Mdot - 2C skew, but not of Christoffel symbols."),
    "generalised_momentum": Quantity(
        ("q", "v"), {"p": ("n",)}, generalised_momentum, "M(q) v, without forming M.", rivals=FORCE_RIVALS),
    "centroidal": Quantity(
        ("q", "v"), {"A": (6, "n"), "bias": (6,), "center": (3,), "inertia": (3, 3)}, centroidal,
        "Centroidal momentum matrix A ([linear; angular], world axes), Adot v, centre of mass, locked inertia."),
    "centroidal_matrix_rate": Quantity(
        ("q", "v"), {"Adot": (6, "n")}, direct(algorithms.centroidal_matrix_rate),
        "Time derivative of the centroidal momentum matrix."),
    "inverse_dynamics_hessian": Quantity(
        ("q", "v", "a"),
        {"d2tau_dqdq": ("n",) * 3, "d2tau_dvdq": ("n",) * 3, "d2tau_dvdv": ("n",) * 3, "d2tau_dadq": ("n",) * 3},
        inverse_dynamics_hessian,
        "Second derivatives of inverse dynamics [force, first variable, second variable], by differentiating P, V and "
        "D; about 20 thousand operations for seven joints.", loads=True),
    "regressor": Quantity(
        ("q", "v", "a"), {"Y": ("n", "p")}, direct(algorithms.regressor),
        "Y with inverse dynamics = Y pi, pi the ten inertial parameters of every body; armature, damping, friction and "
        "wrenches are no part of it, even if included: add them to Y pi."),
    "kinetic_energy_regressor": Quantity(
        ("q", "v"), {"y": ("p",)}, direct(algorithms.kinetic_energy_regressor),
        "y with kinetic energy = y . pi, that of rotors apart."),
    "potential_energy_regressor": Quantity(
        ("q",), {"y": ("p",)}, direct(algorithms.potential_energy_regressor), "y with potential energy = y . pi."),
    "reference_regressor": Quantity(
        ("q", "v", "v_ref", "a_ref"), {"Y": ("n", "p")}, direct(algorithms.reference_regressor),
        "Y with M a_ref + C(q, v) v_ref + g = Y pi, Mdot - 2C skew: for adaptive control (Slotine, Li)."),
    "momentum": Quantity(
        ("q", "v"), {"h": (6,)}, direct(algorithms.momentum),
        "[linear momentum; angular momentum about a point of the world], world axes.", options={"point": (0, 0, 0)}),
    "kinetic_energy_gradient": Quantity(
        ("q", "v"), {"dT_dq": ("n",)}, kinetic_energy_gradient,
        "dT/dq along tangent vectors, velocities held fixed; O(n)."),
    "inverse_dynamics_variation": Quantity(
        ("q", "v", "a", "dq", "dv", "da"), {"tau": ("n",), "dtau": ("n",)}, inverse_dynamics_variation,
        "Inverse dynamics, and its change D da + V dv + P dq along one change of the state: O(n), without matrices.",
        loads=True),
    "forward_dynamics_variation": Quantity(
        ("q", "v", "tau", "dq", "dv", "dtau"), {"a": ("n",), "da": ("n",)}, forward_dynamics_variation,
        "Forward dynamics, and its change along one change of positions, velocities and forces: O(n), no matrices.",
        loads=True),
    "generalized_links": Quantity(
        ("q", "v", "a"),
        {"U": ("links", 3), "Ud": ("links", 3), "Udd": ("links", 3), "mu": ("links", 3), "E": ("links", 3, 3)},
        generalized_links,
        "First moments U of the generalized links with two derivatives by time, moments mu of the augmented links, "
        "inertia tensors E of the generalized links; about their origins, in the axes of the links of mechanism.tree."),
    "velocity_derivatives": Quantity(
        ("q", "v"), {"dv_dq": (6, "n"), "dv_dv": (6, "n")}, velocity_derivatives,
        "Derivatives of a frame's velocity, [linear; angular]; dq along tangent vectors.",
        options={**_POINT, "axes": "world"}),
    "acceleration_derivatives": Quantity(
        ("q", "v", "a"), {"da_dq": (6, "n"), "da_dv": (6, "n"), "da_da": (6, "n")}, acceleration_derivatives,
        "Derivatives of a frame's acceleration, [linear; angular], without gravity; dq along tangent vectors.",
        options={**_POINT, "axes": "world"}),
    "hessian": Quantity(
        ("q",), {"H": (6, "nn")}, hessian,
        "Hessian of a frame's point and rotation: [linear; angular] acceleration = J a + H (v x v) (Kronecker). "
        "starred=False with body axes: the derivative of the Jacobian in these turning axes instead.",
        options={**_POINT, "axes": "world", "starred": True}),
    "relative_motion": Quantity(
        ("q",), {"J": (6, "n"), "H": (6, "nn")}, relative_motion,
        "Jacobian and Hessian of a frame as seen from a moving reference frame, in the axes of that one.",
        options={**_POINT, "reference": "world"}),
}  # fmt: skip
"""Quantities that any mechanism has."""

TASK: dict[str, Quantity] = {
    "frame_coordinates": Quantity(
        ("q",), {"x": ("m",)}, direct(algorithms.frame_coordinates),
        "Position of a frame's point and attitude of the frame.", options=_COORDINATES),
    "analytic_jacobian": Quantity(
        ("q",), {"J": ("m", "n")}, analytic_jacobian,
        "Rates of a frame's coordinates = J v.", options=_COORDINATES),
    "analytic_jacobian_rate": Quantity(
        ("q", "v"), {"Jdot": ("m", "n")}, analytic_jacobian_rate,
        "Time derivative of the analytic Jacobian.", options=_COORDINATES),
    "analytic_jacobian_second_rate": Quantity(
        ("q", "v", "a"), {"Jddot": ("m", "n")}, analytic_jacobian_second_rate,
        "Second time derivative of the analytic Jacobian.", options=_COORDINATES),
    "cartesian_dynamics": Quantity(
        ("q", "v"), {"inertia": ("m", "m"), "coriolis": ("m",), "gravity": ("m",), "inverse": ("n", "m")},
        cartesian_dynamics,
        "f = inertia xdd + coriolis + gravity along a frame's coordinates, f = inverse^T tau; without wrenches, joint "
        "damping and friction. Without `damping` a singular pose gives numbers beyond all bounds, gimbal lock NaN.",
        options=_TASK),
    "cartesian_inverse_dynamics": Quantity(
        ("q", "v", "xdd"), {"tau": ("n",)}, cartesian_inverse_dynamics,
        "Generalised forces that accelerate a frame's coordinates by xdd, by the joint accelerations "
        "inverse (xdd - Jdot v).",
        loads=True, options=_TASK),
    "cartesian_linearization": Quantity(
        ("q", "v", "a"), {"D": ("n", "m"), "V": ("n", "m"), "P": ("n", "m")}, cartesian_linearization,
        "d tau = D d xdd + V d xd + P d x along a frame's coordinates, without wrenches.", options=_TASK),
}  # fmt: skip
"""Quantities in the coordinates of a frame."""

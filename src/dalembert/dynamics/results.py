"""Results of quantities that give several arrays, by name.

Written by ``.ci/quantity_types.py`` from the catalogue of quantities; changes will be lost.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
"""Numbers of any batch shape."""


class InverseDynamicsDerivativesResult(NamedTuple):
    """P and V of d tau = D da + V dv + P dq; dq along tangent vectors."""

    dtau_dq: Array
    dtau_dv: Array


class InverseDynamicsDerivativesNonzerosResult(NamedTuple):
    """Structural non-zeros of the derivatives of inverse dynamics, in the order of derivatives_pattern."""

    dtau_dq: Array
    dtau_dv: Array


class SensitivitiesResult(NamedTuple):
    """Inverse dynamics with all its first derivatives: tau, D, V, P."""

    tau: Array
    D: Array
    V: Array
    P: Array


class ForwardDynamicsDerivativesResult(NamedTuple):
    """First derivatives of forward dynamics; dq along tangent vectors."""

    da_dq: Array
    da_dv: Array
    da_dtau: Array


class LinearizeResult(NamedTuple):
    """State-space matrices of x = (dq, dv): xdot = A x + B dtau."""

    A: Array
    B: Array


class PoseResult(NamedTuple):
    """Rotation (frame to world components) of a frame in the world, and position of its point."""

    rotation: Array
    position: Array


class CentroidalResult(NamedTuple):
    """Centroidal momentum matrix A ([linear; angular], world axes), Adot v, centre of mass, locked inertia."""

    A: Array
    bias: Array
    center: Array
    inertia: Array


class InverseDynamicsHessianResult(NamedTuple):
    """Second derivatives of inverse dynamics [force, first variable, second variable], by differentiating P, V and
    D; about 20 thousand operations for seven joints.
    """

    d2tau_dqdq: Array
    d2tau_dvdq: Array
    d2tau_dvdv: Array
    d2tau_dadq: Array


class InverseDynamicsVariationResult(NamedTuple):
    """Inverse dynamics, and its change D da + V dv + P dq along one change of the state: O(n), without matrices."""

    tau: Array
    dtau: Array


class ForwardDynamicsVariationResult(NamedTuple):
    """Forward dynamics, and its change along one change of positions, velocities and forces: O(n), no matrices."""

    a: Array
    da: Array


class GeneralizedLinksResult(NamedTuple):
    """First moments U of the generalized links with two derivatives by time, moments mu of the augmented links,
    inertia tensors E of the generalized links; about their origins, in the axes of the links of
    mechanism.tree.
    """

    U: Array
    Ud: Array
    Udd: Array
    mu: Array
    E: Array


class VelocityDerivativesResult(NamedTuple):
    """Derivatives of a frame's velocity, [linear; angular]; dq along tangent vectors."""

    dv_dq: Array
    dv_dv: Array


class AccelerationDerivativesResult(NamedTuple):
    """Derivatives of a frame's acceleration, [linear; angular], without gravity; dq along tangent vectors."""

    da_dq: Array
    da_dv: Array
    da_da: Array


class RelativeMotionResult(NamedTuple):
    """Jacobian and Hessian of a frame as seen from a moving reference frame, in the axes of that one."""

    J: Array
    H: Array


class CartesianDynamicsResult(NamedTuple):
    """f = inertia xdd + coriolis + gravity along a frame's coordinates, f = inverse^T tau; without wrenches, joint
    damping and friction. Without `damping` a singular pose gives numbers beyond all bounds, gimbal lock NaN.
    """

    inertia: Array
    coriolis: Array
    gravity: Array
    inverse: Array


class CartesianLinearizationResult(NamedTuple):
    """d tau = D d xdd + V d xd + P d x along a frame's coordinates, without wrenches."""

    D: Array
    V: Array
    P: Array


class PositionsResult(NamedTuple):
    """Residuals of positions (zero for rows on velocities only) and the Jacobian of all rows."""

    phi: Array
    G: Array


class ClosingResult(NamedTuple):
    """Residuals of positions for assembly, 2 sin(x/2) in the place of sin(x), and their Jacobian."""

    phi: Array
    G: Array


class ClosureScaleResult(NamedTuple):
    """Sizes of rows of loops, one for others; cosines that are negative where closures are half a turn apart."""

    units: Array
    facing: Array


class TermsResult(NamedTuple):
    """M a = f + G^T multipliers, G a = gamma."""

    M: Array
    f: Array
    G: Array
    gamma: Array


class MultipliersResult(NamedTuple):
    """Accelerations under the constraints, and the multipliers of every row."""

    a: Array
    multipliers: Array


class PlacesResult(NamedTuple):
    """Where reactions act; see dalembert.dynamics.reactions.places."""

    joint_axes: Array
    joint_points: Array
    loop_axes: Array
    loop_points: Array


class LinearizationResult(NamedTuple):
    """Derivatives of the equations; see dalembert.dynamics.linearization.derivatives."""

    e_q: Array
    e_v: Array
    g_q: Array
    g_v: Array
    r_q: Array
    G: Array
    M: Array


class ContactStepResult(NamedTuple):
    """A step h of semi-implicit Euler with contacts, rigid or convex: q, v and impulses after it; residuals, m/s and
    N s; the normal velocity of every point, its slip, m/s, its mode (0 open, 1 sticks, 2 slides); energy lost
    by friction, by impacts, and (negative: brought in) by taking away depths, J; the longest way in this step
    over the thickness of what could be missed, and its speed, m/s.
    """

    q_next: Array
    v_next: Array
    impulses_next: Array
    residual: Array
    impulse_residual: Array
    normal_velocity: Array
    slip: Array
    mode: Array
    losses: Array
    stride: Array


class ContactStepDerivativesResult(NamedTuple):
    """State-space matrices of a step with rigid contacts, x = (dq, v), dq along tangent vectors: dx' = A dx + B
    dtau. They are those of the modes the step ends in; at a change of mode they jump.
    """

    A: Array
    B: Array


class ContactTermsResult(NamedTuple):
    """Accelerations without contacts, inertia matrix, rows of constraints and of contacts, rates of these times v,
    rates of positions; of normals the gap, of limits the distance to either end; of normals the restitution,
    of disks the coefficient, of dry friction the largest force.
    """

    a: Array
    M: Array
    G: Array
    J: Array
    bias: Array
    rate: Array
    distances: Array
    numbers: Array


class ContactPointsResult(NamedTuple):
    """Gap of every point of contact, m, its place in the world, m, and normal, tangent 1 and tangent 2 as rows."""

    gap: Array
    position: Array
    axes: Array


RESULTS: dict[str, Any] = {
    "inverse_dynamics_derivatives": InverseDynamicsDerivativesResult,
    "inverse_dynamics_derivatives_nonzeros": InverseDynamicsDerivativesNonzerosResult,
    "sensitivities": SensitivitiesResult,
    "forward_dynamics_derivatives": ForwardDynamicsDerivativesResult,
    "linearize": LinearizeResult,
    "pose": PoseResult,
    "centroidal": CentroidalResult,
    "inverse_dynamics_hessian": InverseDynamicsHessianResult,
    "inverse_dynamics_variation": InverseDynamicsVariationResult,
    "forward_dynamics_variation": ForwardDynamicsVariationResult,
    "generalized_links": GeneralizedLinksResult,
    "velocity_derivatives": VelocityDerivativesResult,
    "acceleration_derivatives": AccelerationDerivativesResult,
    "relative_motion": RelativeMotionResult,
    "cartesian_dynamics": CartesianDynamicsResult,
    "cartesian_linearization": CartesianLinearizationResult,
    "positions": PositionsResult,
    "closing": ClosingResult,
    "closure_scale": ClosureScaleResult,
    "terms": TermsResult,
    "multipliers": MultipliersResult,
    "places": PlacesResult,
    "linearization": LinearizationResult,
    "contact_step": ContactStepResult,
    "contact_step_derivatives": ContactStepDerivativesResult,
    "contact_terms": ContactTermsResult,
    "contact_points": ContactPointsResult,
}
"""By quantity."""

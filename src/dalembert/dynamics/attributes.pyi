"""Quantities as attributes of ``Dynamics``, for editors and type checkers.

Written by ``.ci/quantity_types.py`` from the catalogue of quantities; changes will be lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import numpy as np

from dalembert.dynamics.frame_quantity import FrameQuantity
from dalembert.dynamics.results import (
    AccelerationDerivativesResult,
    Array,
    CartesianDynamicsResult,
    CartesianLinearizationResult,
    CentroidalResult,
    ClosingResult,
    ClosureScaleResult,
    ContactPointsResult,
    ContactStepDerivativesResult,
    ContactStepResult,
    ContactTermsResult,
    ForwardDynamicsDerivativesResult,
    ForwardDynamicsVariationResult,
    GeneralizedLinksResult,
    InverseDynamicsDerivativesNonzerosResult,
    InverseDynamicsDerivativesResult,
    InverseDynamicsHessianResult,
    InverseDynamicsVariationResult,
    LinearizationResult,
    LinearizeResult,
    MultipliersResult,
    PlacesResult,
    PoseResult,
    PositionsResult,
    RelativeMotionResult,
    SensitivitiesResult,
    TermsResult,
    VelocityDerivativesResult,
)
from dalembert.native.kernel import Kernel

class HasArray(Protocol):
    """An array of another library, such as PyTorch, JAX, CuPy, pandas, xarray."""

    @property
    def shape(self) -> Any: ...

Numbers = (
    float
    | HasArray
    | Sequence[float]
    | Sequence[HasArray]
    | Sequence[Sequence[float]]
    | Sequence[Sequence[Sequence[float]]]
)
"""What kernels take for an array."""

State = Numbers | Mapping[str, Numbers]
"""The same for vectors of a state: also by name of a joint."""

class InverseDynamics(Kernel):
    """Generalised forces that produce the accelerations a: tau = M a + bias."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Bias(Kernel):
    """Generalised forces at zero acceleration: Coriolis, centrifugal, gravity, external wrenches."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Gravity(Kernel):
    """Generalised forces that hold the mechanism still against its weight; wrenches do not enter."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class MassMatrix(Kernel):
    """Joint-space inertia matrix, both halves filled."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class MassMatrixPacked(Kernel):
    """Lower half of the inertia matrix, row by row: nv (nv + 1) / 2 numbers."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class MassMatrixNonzeros(Kernel):
    """Structural non-zeros of the lower half of the inertia matrix, in the order of mass_matrix_pattern."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class CoriolisMatrix(Kernel):
    """C(q, v) with Mdot - 2C skew-symmetric; C v is bias - gravity without wrenches and joint forces."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class ForwardDynamics(Kernel):
    """Accelerations that the generalised forces tau produce."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class InverseDynamicsDerivatives(Kernel):
    """P and V of d tau = D da + V dv + P dq; dq along tangent vectors."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> InverseDynamicsDerivativesResult: ...

class InverseDynamicsDerivativesNonzeros(Kernel):
    """Structural non-zeros of the derivatives of inverse dynamics, in the order of derivatives_pattern."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> InverseDynamicsDerivativesNonzerosResult: ...

class Sensitivities(Kernel):
    """Inverse dynamics with all its first derivatives: tau, D, V, P."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> SensitivitiesResult: ...

class ForwardDynamicsDerivatives(Kernel):
    """First derivatives of forward dynamics; dq along tangent vectors."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ForwardDynamicsDerivativesResult: ...

class Linearize(Kernel):
    """State-space matrices of x = (dq, dv): xdot = A x + B dtau."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> LinearizeResult: ...

class KineticEnergy(Kernel):
    """Kinetic energy, J; that of the rotors too if armature is included."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class PotentialEnergy(Kernel):
    """Potential energy of weight, J; zero with all mass at the origin. What is fixed to the ground does not count."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class CenterOfMass(Kernel):
    """Centre of the moving mass, world axes, m."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Pose(FrameQuantity):
    """Rotation (frame to world components) of a frame in the world, and position of its point."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> PoseResult: ...

class Jacobian(FrameQuantity):
    """Geometric Jacobian: [linear; angular] velocity of a frame's point = J v."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class JacobianRate(FrameQuantity):
    """Time derivative of the geometric Jacobian."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Velocity(FrameQuantity):
    """[linear; angular] velocity of a frame's point."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Acceleration(FrameQuantity):
    """[linear; angular] acceleration of a frame's point, without gravity."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class MassMatrixInverse(Kernel):
    """Inverse of the joint-space inertia matrix."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class ParsaCoriolis(Kernel):
    """Parsa's Coriolis matrix: like coriolis_matrix C v = bias - gravity without wrenches and joint forces and Mdot
    - 2C skew, but not of Christoffel symbols.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class GeneralisedMomentum(Kernel):
    """M(q) v, without forming M."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Centroidal(Kernel):
    """Centroidal momentum matrix A ([linear; angular], world axes), Adot v, centre of mass, locked inertia."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> CentroidalResult: ...

class CentroidalMatrixRate(Kernel):
    """Time derivative of the centroidal momentum matrix."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class InverseDynamicsHessian(Kernel):
    """Second derivatives of inverse dynamics [force, first variable, second variable], by differentiating P, V and
    D; about 20 thousand operations for seven joints.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> InverseDynamicsHessianResult: ...

class Regressor(Kernel):
    """Y with inverse dynamics = Y pi, pi the ten inertial parameters of every body; armature, damping, friction and
    wrenches are no part of it, even if included: add them to Y pi.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class KineticEnergyRegressor(Kernel):
    """y with kinetic energy = y . pi, that of rotors apart."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class PotentialEnergyRegressor(Kernel):
    """y with potential energy = y . pi."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class ReferenceRegressor(Kernel):
    """Y with M a_ref + C(q, v) v_ref + g = Y pi, Mdot - 2C skew: for adaptive control (Slotine, Li)."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        v_ref: Numbers,
        a_ref: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Momentum(FrameQuantity):
    """[linear momentum; angular momentum about a point of the world], world axes."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class KineticEnergyGradient(Kernel):
    """dT/dq along tangent vectors, velocities held fixed; O(n)."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class InverseDynamicsVariation(Kernel):
    """Inverse dynamics, and its change D da + V dv + P dq along one change of the state: O(n), without matrices."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        dq: Numbers,
        dv: Numbers,
        da: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> InverseDynamicsVariationResult: ...

class ForwardDynamicsVariation(Kernel):
    """Forward dynamics, and its change along one change of positions, velocities and forces: O(n), no matrices."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        dq: Numbers,
        dv: Numbers,
        dtau: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ForwardDynamicsVariationResult: ...

class GeneralizedLinks(Kernel):
    """First moments U of the generalized links with two derivatives by time, moments mu of the augmented links,
    inertia tensors E of the generalized links; about their origins, in the axes of the links of
    mechanism.tree.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> GeneralizedLinksResult: ...

class VelocityDerivatives(FrameQuantity):
    """Derivatives of a frame's velocity, [linear; angular]; dq along tangent vectors."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> VelocityDerivativesResult: ...

class AccelerationDerivatives(FrameQuantity):
    """Derivatives of a frame's acceleration, [linear; angular], without gravity; dq along tangent vectors."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> AccelerationDerivativesResult: ...

class Hessian(FrameQuantity):
    """Hessian of a frame's point and rotation: [linear; angular] acceleration = J a + H (v x v) (Kronecker).
    starred=False with body axes: the derivative of the Jacobian in these turning axes instead.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        axes: Literal["world", "body"] = "world",
        starred: bool = True,
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class RelativeMotion(FrameQuantity):
    """Jacobian and Hessian of a frame as seen from a moving reference frame, in the axes of that one."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        reference: str = "world",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> RelativeMotionResult: ...

class FrameCoordinates(FrameQuantity):
    """Position of a frame's point and attitude of the frame."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class AnalyticJacobian(FrameQuantity):
    """Rates of a frame's coordinates = J v."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class AnalyticJacobianRate(FrameQuantity):
    """Time derivative of the analytic Jacobian."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class AnalyticJacobianSecondRate(FrameQuantity):
    """Second time derivative of the analytic Jacobian."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class CartesianDynamics(FrameQuantity):
    """f = inertia xdd + coriolis + gravity along a frame's coordinates, f = inverse^T tau; without wrenches, joint
    damping and friction. Without `damping` a singular pose gives numbers beyond all bounds, gimbal lock NaN.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        damping: float = 0.0,
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> CartesianDynamicsResult: ...

class CartesianInverseDynamics(FrameQuantity):
    """Generalised forces that accelerate a frame's coordinates by xdd, by the joint accelerations inverse (xdd -
    Jdot v).
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        xdd: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        damping: float = 0.0,
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class CartesianLinearization(FrameQuantity):
    """d tau = D d xdd + V d xd + P d x along a frame's coordinates, without wrenches."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        *more: Numbers | Mapping[str, Numbers],
        frame: str,
        point: Sequence[float] | np.ndarray = (0, 0, 0),
        coordinates: str = "ZYX",
        damping: float = 0.0,
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> CartesianLinearizationResult: ...

class Positions(Kernel):
    """Residuals of positions (zero for rows on velocities only) and the Jacobian of all rows."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> PositionsResult: ...

class Closing(Kernel):
    """Residuals of positions for assembly, 2 sin(x/2) in the place of sin(x), and their Jacobian."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ClosingResult: ...

class ClosureScale(Kernel):
    """Sizes of rows of loops, one for others; cosines that are negative where closures are half a turn apart."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ClosureScaleResult: ...

class ElementForces(Kernel):
    """Generalised forces of the force elements, one row each, with the sign of tau."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Terms(Kernel):
    """M a = f + G^T multipliers, G a = gamma."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> TermsResult: ...

class Multipliers(Kernel):
    """Accelerations under the constraints, and the multipliers of every row."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> MultipliersResult: ...

class Energy(Kernel):
    """Kinetic energy (of included rotors too), weight, springs and attractions, J."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class Places(Kernel):
    """Where reactions act; see dalembert.dynamics.reactions.places."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> PlacesResult: ...

class Linearization(Kernel):
    """Derivatives of the equations; see dalembert.dynamics.linearization.derivatives."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        a: State,
        multipliers: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> LinearizationResult: ...

class ContactStep(FrameQuantity):
    """A step h of semi-implicit Euler with contacts, rigid or convex: q, v and impulses after it; residuals, m/s and
    N s; the normal velocity of every point, its slip, m/s, its mode (0 open, 1 sticks, 2 slides); energy lost
    by friction, by impacts, and (negative: brought in) by taking away depths, J; the longest way in this step
    over the thickness of what could be missed, and its speed, m/s.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        impulses: Numbers,
        h: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        sweeps: int = 10,
        solver: str = "gauss-seidel",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ContactStepResult: ...

class ContactStepDerivatives(FrameQuantity):
    """State-space matrices of a step with rigid contacts, x = (dq, v), dq along tangent vectors: dx' = A dx + B
    dtau. They are those of the modes the step ends in; at a change of mode they jump.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        impulses: Numbers,
        h: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        sweeps: int = 10,
        solver: str = "gauss-seidel",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ContactStepDerivativesResult: ...

class ContactStepSensitivity(FrameQuantity):
    """Derivatives of a step with rigid contacts by the parameters, in the order of their names: dx' = P dp, x = (dq,
    v), dq along tangent vectors. They are those of the modes the step ends in.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        impulses: Numbers,
        h: Numbers,
        *more: Numbers | Mapping[str, Numbers],
        sweeps: int = 10,
        solver: str = "gauss-seidel",
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class ContactTerms(Kernel):
    """Accelerations without contacts, inertia matrix, rows of constraints and of contacts, rates of these times v,
    rates of positions; of normals the gap, of limits the distance to either end; of normals the restitution,
    of disks the coefficient, of dry friction the largest force.
    """

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        tau: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ContactTermsResult: ...

class ContactPoints(Kernel):
    """Gap of every point of contact, m, its place in the world, m, and normal, tangent 1 and tangent 2 as rows."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> ContactPointsResult: ...

class ContactRows(Kernel):
    """Rows on velocities of contacts, joint limits and dry friction."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class ContactVelocities(Kernel):
    """Velocities along the rows of contacts, joint limits and dry friction, m/s or rad/s."""

    def __call__(  # type: ignore[override]
        self,
        q: State,
        v: State,
        *more: Numbers | Mapping[str, Numbers],
        wrenches: Numbers | Mapping[str, Numbers] = ...,
        parameters: Numbers | Mapping[str, Numbers] = ...,
        t: Numbers = ...,
        out: Any = None,
        threads: int | None = None,
    ) -> Array: ...

class QuantityAttributes:
    """The quantities of a Dynamics, by name."""

    inverse_dynamics: InverseDynamics
    bias: Bias
    gravity: Gravity
    mass_matrix: MassMatrix
    mass_matrix_packed: MassMatrixPacked
    mass_matrix_nonzeros: MassMatrixNonzeros
    coriolis_matrix: CoriolisMatrix
    forward_dynamics: ForwardDynamics
    inverse_dynamics_derivatives: InverseDynamicsDerivatives
    inverse_dynamics_derivatives_nonzeros: InverseDynamicsDerivativesNonzeros
    sensitivities: Sensitivities
    forward_dynamics_derivatives: ForwardDynamicsDerivatives
    linearize: Linearize
    kinetic_energy: KineticEnergy
    potential_energy: PotentialEnergy
    center_of_mass: CenterOfMass
    pose: Pose
    jacobian: Jacobian
    jacobian_rate: JacobianRate
    velocity: Velocity
    acceleration: Acceleration
    mass_matrix_inverse: MassMatrixInverse
    parsa_coriolis: ParsaCoriolis
    generalised_momentum: GeneralisedMomentum
    centroidal: Centroidal
    centroidal_matrix_rate: CentroidalMatrixRate
    inverse_dynamics_hessian: InverseDynamicsHessian
    regressor: Regressor
    kinetic_energy_regressor: KineticEnergyRegressor
    potential_energy_regressor: PotentialEnergyRegressor
    reference_regressor: ReferenceRegressor
    momentum: Momentum
    kinetic_energy_gradient: KineticEnergyGradient
    inverse_dynamics_variation: InverseDynamicsVariation
    forward_dynamics_variation: ForwardDynamicsVariation
    generalized_links: GeneralizedLinks
    velocity_derivatives: VelocityDerivatives
    acceleration_derivatives: AccelerationDerivatives
    hessian: Hessian
    relative_motion: RelativeMotion
    frame_coordinates: FrameCoordinates
    analytic_jacobian: AnalyticJacobian
    analytic_jacobian_rate: AnalyticJacobianRate
    analytic_jacobian_second_rate: AnalyticJacobianSecondRate
    cartesian_dynamics: CartesianDynamics
    cartesian_inverse_dynamics: CartesianInverseDynamics
    cartesian_linearization: CartesianLinearization
    positions: Positions
    closing: Closing
    closure_scale: ClosureScale
    element_forces: ElementForces
    terms: Terms
    multipliers: Multipliers
    energy: Energy
    places: Places
    linearization: Linearization
    contact_step: ContactStep
    contact_step_derivatives: ContactStepDerivatives
    contact_step_sensitivity: ContactStepSensitivity
    contact_terms: ContactTerms
    contact_points: ContactPoints
    contact_rows: ContactRows
    contact_velocities: ContactVelocities

"""Lagrange's equations in Kronecker form (NGUYEN): Jacobian and Hessian matrices, velocity-free Coriolis matrix.

    velocity      J_T qd ,                 angular velocity      J_R qd
    acceleration  J_T qdd + H_T (qd x qd), angular acceleration  J_R qdd + H_R (qd x qd) ,   H = dJ/dq (Khang)
    M   = sum( m J_TG^T J_TG + J_R^T I_G J_R )                                                               (95)
    C   = dM/dq (E x qd) - 1/2 [ dM/dq (qd x E) ]^T                                                           (97)
    C*  = dM/dq - 1/2 ( d vec(M)/dq )^T ,      M qdd + C*(q) (qd x qd) = f                                    (101)

(97) gives the right C qd, but Mdot - 2 C is not skew.

Quaternions have rates qd = Gamma(q) v. Derivatives are then taken along the velocities, by rule (9)

    C*  becomes  dM/dq (E x Gamma) - 1/2 ( d vec(M)/dq Gamma )^T + W ,   M vdot + C*(q) (v x v) = f

where W (v x v) is w x (M v)_w in the rows of an angular velocity w in body axes: Boltzmann's and Hamel's equations, and
what Lagrange's equations for the quaternion leave when Gamma^T removes the multiplier of its unit length (FORBES).
Hessians become dJ/dq (E x Gamma), so that a = J vdot + H (v x v).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.kronecker import kron
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.completion import completed
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.lagrange import rate_steps
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.steps import DETAILED_FREEDOMS, FEW_FREEDOMS, gravity_formula, gravity_text, rotor_steps
from dalembert.formulations.system import MultibodySystem, gravity_forces, quantity, system_mass_matrix, velocity_map
from dalembert.model import Mechanism
from dalembert.model.checks import expect
from dalembert.tracing.derivatives import forward
from dalembert.tracing.trace import label
from dalembert.typesetting.names import identifier

HESSIANS = r"a = J_T \ddot{q} + H_T (\dot{q}\otimes\dot{q}), \quad H_T = \frac{\partial J_T}{\partial q}"
STAR = (
    r"C^* = \frac{\partial M}{\partial q} - \tfrac12 \left(\frac{\partial\,\mathrm{vec} M}{\partial q}\right)^T, \quad "
    r"c = C^* (\dot{q}\otimes\dot{q})"
)
"""(101) and what it needs, LaTeX, where velocities are the rates of the coordinates."""

HESSIANS_ALONG = r"a = J_T \dot{v} + H_T (v\otimes v), \quad H_T = \frac{\partial J_T}{\partial q} (E\otimes\Gamma)"
STAR_ALONG = (
    r"C^* = \frac{\partial M}{\partial q} (E\otimes\Gamma) "
    r"- \tfrac12 \left(\frac{\partial\,\mathrm{vec} M}{\partial q} \Gamma\right)^T + W, \quad "
    r"W (v\otimes v) = \omega \times (M v)_\omega, \quad c = C^* (v\otimes v)"
)
"""The same where there are quaternions: derivatives along the velocities, and gyroscopic moments."""


def kronecker(
    system: MultibodySystem, *, wrenches: Sequence[str] = (), actuated: Sequence[str] | None = None
) -> Equations:
    """Equations of motion in Kronecker form.

    Args:
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
    """
    M = label(system_mass_matrix(system), "M", first=1)
    dM = khang(system, M)
    star = coriolis_star(dM) + _gyroscopic(system, M) if system.quaternions else coriolis_star(dM)
    c = product(star, kron(system.v, system.v)) if system.n else np.zeros(0, dtype=object)
    g = gravity_forces(system)
    makers = {
        "coriolis_star": lambda: quantity(system, "coriolis_star", "C^*", star),
        "mass_matrix_derivative": lambda: quantity(
            system,
            "mass_matrix_derivative",
            r"\frac{\partial M}{\partial q}" + r" (E\otimes\Gamma)" * bool(system.quaternions),
            dM,
        ),
    }
    if not system.quaternions:
        makers["coriolis_matrix_nguyen"] = lambda: quantity(
            system, "coriolis_matrix_nguyen", "C", coriolis_nguyen(dM, system.v)
        )
    steps = [*_motion_steps(system), *_dynamics_steps(system, M, star, c, g)]
    sources = ["NGUYEN", *(["FORBES"] if system.quaternions else [])]
    return completed(system, "kronecker", M, c, g, steps, sources, wrenches=wrenches, actuated=actuated, extras=makers)


def _gyroscopic(system: MultibodySystem, M: np.ndarray) -> np.ndarray:
    """W, n x n^2: w x (M v)_w of all pairs of velocities, in the rows of the angular velocity w of every quaternion."""
    n = system.n
    W = np.zeros((n, n, n), dtype=object)
    for _, first in system.quaternions:
        for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
            W[first + i, first + j] = W[first + i, first + j] + M[first + k]
            W[first + i, first + k] = W[first + i, first + k] - M[first + j]
    return W.reshape(n, n * n)


def khang(system: MultibodySystem, values: np.ndarray) -> np.ndarray:
    """Khang's derivative by the coordinates: r x s becomes r x (s n), the index of q runs fastest.

    Where rates are not velocities it is the derivative along each velocity, dA/dq (E x Gamma).

    Args:
        values: vector or matrix of expressions.
    """
    matrix = np.array(values, dtype=object)
    matrix = matrix[:, None] if matrix.ndim == 1 else matrix
    slopes = forward(matrix, system.q)
    if system.quaternions:
        slopes = product(slopes.reshape(-1, len(system.q)), velocity_map(system))
    return slopes.reshape(matrix.shape[0], matrix.shape[1] * slopes.shape[-1])


def coriolis_star(dM: np.ndarray) -> np.ndarray:
    """C* = dM/dq - 1/2 (d vec(M)/dq)^T, n x n^2 (101).

    Args:
        dM: Khang derivative of the mass matrix.
    """
    n = len(dM)
    slopes = dM.reshape(n, n, n)  # row, column, coordinate
    d_vec = np.array([[slopes[j % n, j // n, k] for k in range(n)] for j in range(n * n)], dtype=object)
    return dM - d_vec.reshape(n * n, n).T / 2


def coriolis_nguyen(dM: np.ndarray, v: np.ndarray) -> np.ndarray:
    """C = dM/dq (E x qd) - 1/2 [ dM/dq (qd x E) ]^T (97); Mdot - 2 C is not skew.

    Args:
        dM: Khang derivative of the mass matrix.
    """
    E = np.eye(len(dM), dtype=int)
    return product(dM, kron(E, v)) - product(dM, kron(v, E)).T / 2


class KroneckerFrame:
    """Jacobians and Hessians of one frame, in inertial axes (a) and in its own axes (b).

    They are arrays of traced scalars, for further computation; :meth:`quantities` are to be read, evaluated, compiled.

    Args:
        system: a mechanism, bodies given by formulas, or the system made of them.
        name: of the frame or body.
    """

    def __init__(self, system: MultibodySystem | Mechanism | MovingBodies, name: str):
        self.system = _system(system)
        self.name = expect(name, str, "KroneckerFrame, name")
        place = self.system.place(name)
        self.rotation, self.position = place.rotation, place.position
        self.J_T, self.J_R = place.Jv, place.Jw
        """(29) and (37), inertial axes."""

    @classmethod
    def of(cls, mechanism: Mechanism, name: str, coordinates: Sequence[str] | None = None) -> KroneckerFrame:
        """The matrices of a frame of a mechanism.

        Args:
            mechanism: the mechanism.
            name: of the frame or body.
            coordinates: names of the coordinates.
        """
        return cls(system_of(mechanism, coordinates), name)

    @property
    def H_T(self) -> np.ndarray:
        """Translational Hessian dJ_T/dq, inertial axes."""
        return khang(self.system, self.J_T)

    @property
    def H_R(self) -> np.ndarray:
        """Rotational Hessian dJ_R/dq, inertial axes."""
        return khang(self.system, self.J_R)

    @property
    def J_T_own(self) -> np.ndarray:
        """J_T in the axes of the frame (31)."""
        return product(self.rotation.T, self.J_T)

    @property
    def J_R_own(self) -> np.ndarray:
        """J_R in the axes of the frame (40)."""
        return product(self.rotation.T, self.J_R)

    @property
    def H_T_star(self) -> np.ndarray:
        """A H_T: what gives accelerations in the axes of the frame (58); not the derivative of J_T there."""
        return product(self.rotation.T, self.H_T)

    @property
    def H_R_own(self) -> np.ndarray:
        """dJ_R/dq in the axes of the frame; with (qd x qd) the same as A H_R (65)."""
        return khang(self.system, self.J_R_own)

    def at_point(self, p: Any) -> tuple[np.ndarray, np.ndarray]:
        """J_TG and H_TG of a point G fixed in the frame (45).

        Args:
            p: the point, axes of the frame.
        """
        arm = product(self.rotation, np.array(self.system.scope.read(p), dtype=object))
        J = self.J_T - product(dual(arm), self.J_R)
        return J, khang(self.system, J)

    def quantities(self) -> tuple[DerivedQuantity, ...]:
        """The matrices in inertial axes, for display."""
        made = []
        for letter, J, H in (("T", self.J_T, self.H_T), ("R", self.J_R, self.H_R)):
            name = f"{letter}_{identifier(self.name)}"
            made.append(quantity(self.system, f"J_{name}", f"J_{{{letter}}}", J))
            made.append(quantity(self.system, f"H_{name}", f"H_{{{letter}}}", H))
        return tuple(made)


def _system(subject: MultibodySystem | Mechanism | MovingBodies) -> MultibodySystem:
    if isinstance(subject, MultibodySystem):
        return subject
    if isinstance(subject, Mechanism):
        return system_of(subject)
    if isinstance(subject, MovingBodies):
        return subject.system()
    raise ArgumentError(f"KroneckerFrame takes a Mechanism or MovingBodies, got {type(subject).__name__}")


def _motion_steps(system: MultibodySystem) -> list[DerivationStep]:
    shown: list[DerivedQuantity] = []
    if system.n <= DETAILED_FREEDOMS and len(system.bodies) <= DETAILED_FREEDOMS:
        for i, body in enumerate(system.bodies, 1):
            shown.append(quantity(system, f"J_TG_{i}", f"J_{{TG{i}}}", body.Jv))
            shown.append(quantity(system, f"J_R_{i}", f"J_{{R{i}}}", body.Jw))
            shown.append(quantity(system, f"H_TG_{i}", f"H_{{TG{i}}}", khang(system, body.Jv)))
            shown.append(quantity(system, f"H_R_{i}", f"H_{{R{i}}}", khang(system, body.Jw)))
    along = " along the velocities, E the unit matrix" * bool(system.quaternions)
    return [
        *rate_steps(system),
        DerivationStep(
            "Jacobian and Hessian matrices",
            "Of the centre of mass G, inertial axes, and of the rotation, body axes; Hessians are Khang derivatives"
            f"{along}. NGUYEN (29)-(65).",
            tuple(shown),
            HESSIANS_ALONG if system.quaternions else HESSIANS,
        ),
    ]


def _derivative_steps(system: MultibodySystem, M: Any) -> list[DerivationStep]:
    """dM/dq, vec M and its derivative, of small systems whose velocities are the rates of the coordinates."""
    if system.quaternions or not 0 < system.n <= FEW_FREEDOMS:
        return []
    stacked = np.array(M, dtype=object).T.reshape(-1)  # column under column
    return [
        DerivationStep(
            "Derivatives of the mass matrix",
            "Khang's derivative of a matrix puts the derivatives of each entry, by all coordinates, side by side; vec "
            "puts "
            "the columns of a matrix under each other (NGUYEN (1)-(9), (96)).",
            (
                quantity(system, "mass_matrix_derivative", r"\frac{\partial M}{\partial q}", khang(system, M)),
                quantity(system, "stacked_mass_matrix", r"\mathrm{vec} M", stacked),
                quantity(
                    system,
                    "stacked_derivative",
                    r"\frac{\partial\,\mathrm{vec} M}{\partial q}",
                    forward(stacked, system.q),
                ),
            ),
        )
    ]


def _dynamics_steps(system: MultibodySystem, M: Any, star: Any, c: Any, g: Any) -> list[DerivationStep]:
    along = (
        " with derivatives along the velocities and, in the rows of the angular velocities omega of quaternions, the "
        "gyroscopic moments W, which are left when the multipliers of their unit length are projected away (FORBES)"
    ) * bool(system.quaternions)
    return [
        *rotor_steps(system),
        DerivationStep(
            "Mass matrix",
            "NGUYEN (95).",
            (quantity(system, "mass_matrix", "M", M),),
            r"M = \sum_i m_i J_{TGi}^T J_{TGi} + J_{Ri}^T I_{Gi} J_{Ri}" + " + M_r" * bool(system.rotors),
        ),
        *_derivative_steps(system, M),
        DerivationStep(
            "Velocity-free Coriolis matrix",
            f"NGUYEN (101){along}; its product with all pairs of velocities is the vector of Coriolis forces.",
            (quantity(system, "coriolis_star", "C^*", star), quantity(system, "coriolis", "c", c)),
            STAR_ALONG if system.quaternions else STAR,
        ),
        DerivationStep(
            "Gravity",
            "The forces f on the right-hand side contain gravity; here it is moved to the left." + gravity_text(system),
            (quantity(system, "gravity", "G", g),),
            gravity_formula(system, "J_{TGi}"),
        ),
    ]

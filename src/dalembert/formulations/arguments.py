"""How one formulation leads to another: PARSA from Lagrange to Kane, the THESIS from both to Algorithm 5.5.

The steps of an argument, in general letters, with what they say of the bodies at hand.
"""

from __future__ import annotations

from dalembert.algebra.arrays import product
from dalembert.formulations.equations import DerivationStep
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.steps import FEW_FREEDOMS
from dalembert.formulations.system import MultibodySystem, quantity
from dalembert.tracing.derivatives import forward


def lagrange_to_kane(system: MultibodySystem) -> list[DerivationStep]:
    """(12)-(33) of PARSA: what is left of Lagrange's equations are inertia forces on partial velocities.

    Args:
        system: the system. Where velocities are not the rates of its coordinates, the argument is that of Theorem 2,
            and only its result is shown.
    """
    if system.quaternions:
        return [
            DerivationStep(
                "From Lagrange to Kane",
                "With K the kinetic energy, Lagrange's equations for redundant coordinates hold along admissible "
                "changes "
                "of these; along them Theorem 2 gives the derivatives of angular velocities (PARSA (39)-(43)), and "
                "what is "
                "left is the projection of the inertia forces of every body on its partial velocities.",
                (),
                KANE,
            )
        ]
    return [
        DerivationStep(
            "Lagrange's equations, body by body",
            "The kinetic energy K is not expanded in the coordinates; f are the generalised forces (PARSA (12), "
            "(13)). Its "
            "derivative by the velocities is differentiated in time (PARSA (19)-(22)).",
            (),
            r"\frac{d}{dt} \frac{\partial K}{\partial v} - \frac{\partial K}{\partial q} = f, \quad "
            r"K = \tfrac12 \sum_i (J_i v)^T M_i (J_i v), \quad "
            r"M_i = \begin{bmatrix} I_i & 0 \\ 0 & m_i \mathbf{1} \end{bmatrix}, \quad "
            r"\frac{d}{dt} \frac{\partial K}{\partial v} = \sum_i J_i^T M_i \frac{d}{dt}(J_i v) + \dot{J}_i^T M_i J_i "
            r"v",
        ),
        DerivationStep(
            "Theorem 1",
            "The derivative of an angular velocity, body axes, by the coordinates is the rate of its Jacobian and a "
            "turn; "
            "that of the velocity of a centre of mass, inertial axes, is the rate of its Jacobian alone (PARSA (17), "
            "(18)). "
            "They give the derivative of K by the coordinates (PARSA (23), (24)).",
            _turning(system),
            r"\frac{\partial \omega_i}{\partial q} = \dot{J}_{\omega i} + \tilde{\omega}_i J_{\omega i}, \quad "
            r"\frac{\partial \dot{p}_{Ci}}{\partial q} = \dot{J}_{vi}, \quad "
            r"\frac{\partial K}{\partial q} = \sum_i (\dot{J}_i^T M_i J_i - J_i^T W_i M_i J_i)\, v, \quad "
            r"W_i = \begin{bmatrix} \tilde{\omega}_i & 0 \\ 0 & 0 \end{bmatrix}",
        ),
        DerivationStep(
            "From Lagrange to Kane",
            "In the difference of the two derivatives the rates of the Jacobians cancel. What is left is the "
            "projection of "
            "the inertia forces of every body on its partial velocities, the columns of the Jacobians: Kane's "
            "equations "
            "(PARSA (29)-(33)). The wrench of body i has the moment n about its centre of mass, body axes, and the "
            "force f, "
            "inertial axes.",
            (),
            KANE,
        ),
    ]


KANE = (
    r"\sum_i J_i^T \left( M_i \frac{d}{dt}(J_i v) + W_i M_i J_i v \right) = \sum_i J_i^T w_i, \quad "
    r"M_i \frac{d}{dt}(J_i v) + W_i M_i J_i v = \begin{bmatrix} I_i \dot{\omega}_i + \tilde{\omega}_i I_i \omega_i \\ "
    r"m_i \ddot{p}_{Ci} \end{bmatrix}, \quad w_i = \begin{bmatrix} n_i \\ f_i \end{bmatrix}"
)
"""(32) and (33) of PARSA, LaTeX."""


def _turning(system: MultibodySystem) -> tuple[DerivedQuantity, ...]:
    """d omega / dq of every body of a small system."""
    if system.n > FEW_FREEDOMS or len(system.bodies) > FEW_FREEDOMS:
        return ()
    return tuple(
        quantity(
            system,
            f"omega_slope_{i}",
            rf"\frac{{\partial \omega_{{{i}}}}}{{\partial q}}",
            forward(product(body.Jw, system.v), system.q),
        )
        for i, body in enumerate(system.bodies, 1)
    )


TO_AUGMENTED_LINKS = (
    DerivationStep(
        "The same from Lagrange's equations",
        "Lagrange's equations by traces are, with identities of dual tensors, a projection on the axis of joint i of "
        "the "
        "moments, about its origin, that all links j from i to the tip need; s_i,j is the vector from that origin to "
        "the one "
        "of link j, and gravity is the acceleration of the base (THESIS (5.4.1)-(5.4.11)). Written for joints that "
        "turn.",
        (),
        r"\tau_i = z_i^T \upsilon_i, \quad \upsilon_i = \sum_{j \ge i} \left( m_j \tilde{s}_{i,j} \ddot{r}_j + m_j "
        r"\tilde{r}_j "
        r"\ddot{s}_j + M_{Oj} \right), \quad \tilde{M}_{Oj} = \Omega_j J_j - (\Omega_j J_j)^T",
    ),
    DerivationStep(
        "and from Kane's",
        "Kane's equations, in the form of Ma and of Silver, are a projection on the same axis of the moments about "
        "centres "
        "of mass and those of the inertia forces (THESIS (5.4.18), (5.4.19)); r_i,j is the vector from the origin of "
        "link i "
        "to the centre of mass of link j. Both sums are the same.",
        (),
        r"\tau_i = z_i^T h_i, \quad h_i = \sum_{j \ge i} \left( M_{Cj} + m_j \tilde{r}_{i,j} \ddot{r}_j \right) = "
        r"\upsilon_i",
    ),
    DerivationStep(
        "to augmented links",
        "The sum is split into the share of link i and that of the links beyond, whose masses are put at the joint; "
        "the first "
        "moments make u, the moments of inertia make K. What is left is the recursion (THESIS (5.4.12)-(5.4.17)): the "
        "three "
        "formulations lead to one algorithm, and its cost does not depend on where one begins.",
        (),
        r"\upsilon_i = \mu_i + \tilde{u}_i \ddot{s}_i + \tilde{s}_{i+1} \ddot{U}_{i+1} + \upsilon_{i+1} = \eta_i",
    ),
)
"""Section 5.4 of the THESIS: Lagrange and Kane lead to Algorithm 5.5."""

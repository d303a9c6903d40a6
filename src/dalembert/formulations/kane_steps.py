"""The steps of Kane's method, for reading."""

from __future__ import annotations

from typing import Any

from dalembert.algebra.scalar import is_zero
from dalembert.formulations.assembly import SHOWN, gravity_formula, gravity_text, quantity
from dalembert.formulations.equations import Step
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.system import System


def motion_steps(
    system: System,
    title: str = "Velocities of the bodies",
    text: str = "Angular velocity in body axes and velocity of the centre of mass in inertial axes, PARSA (13)-(16).",
    letter: str = "J",
    formula: str = r"\omega_i = J_{\omega i} v, \quad \dot{p}_{Ci} = J_{vi} v, \quad "
    r"J_i = \begin{bmatrix} J_{\omega i} \\ J_{vi} \end{bmatrix}",
) -> list[Step]:
    """Jacobians, or partial velocities, of every body of a small system.

    Args:
        system: the system.
        title: headline.
        text: explanation.
        letter: J or T.
        formula: the general equation, LaTeX.
    """
    if len(system.bodies) > SHOWN or len(system.v) > SHOWN:
        return [Step(title, text, (), formula)]
    shown: list[Any] = []
    for i, body in enumerate(system.bodies, 1):
        shown.append(quantity(system, f"{letter}w_{i}", rf"{letter}_{{\omega {i}}}", body.Jw))
        shown.append(quantity(system, f"{letter}v_{i}", f"{letter}_{{v {i}}}", body.Jv))
    return [Step(title, text, tuple(shown), formula)]


def acceleration_step(system: System, velocities: tuple[list[Any], list[Any], list[Any]], reduced: bool) -> Step:
    """Accelerations of the bodies without the derivatives of the speeds.

    Args:
        system: the system.
        velocities: angular and linear velocity of every body, and speeds of rotors, which are not shown.
        reduced: whether the speeds u are others than the velocities v.
    """
    first = r"T_i \dot{u}" if reduced else r"J_i \dot{v}"
    shown: list[Any] = []
    if len(system.bodies) <= SHOWN and system.n <= SHOWN:
        for i, (w, v) in enumerate(zip(*velocities[:2]), 1):
            shown.append(quantity(system, f"alpha_{i}", rf"\alpha_{{{i}}}", system.rate(w)))
            shown.append(quantity(system, f"a_{i}", f"a_{{{i}}}", system.rate(v)))
    return Step(
        "Accelerations",
        "Of the bodies while the speeds are constant: angular in body axes, centre of mass in inertial axes.",
        tuple(shown),
        rf"\frac{{d}}{{dt}}(J_i v) = {first} + \begin{{bmatrix}} \alpha_i \\ a_i \end{{bmatrix}}",
    )


def final_step(system: System, M: Any, c: Any, g: Any, reduced: bool) -> Step:
    """Inertia and active forces projected on the partial velocities.

    Args:
        system: the system.
        M: mass matrix.
        c: centrifugal and Coriolis forces.
        g: gravity forces.
        reduced: whether the speeds u are others than the velocities v.
    """
    T = "T_i" if reduced else "J_i"
    turning, rotors, falling = "", "", ""
    if isinstance(system.gravity, InverseSquare):
        falling = r", \quad " + gravity_formula(system, "", reduced)
    elif not all(map(is_zero, system.gravity)):
        falling = rf", \quad g = -\sum_i m_i {T[0]}_{{vi}}^T \mathbf{{g}}"
    if system.rotors:
        turning = (
            f" So is what the rotors need, which turn at the rates nu, s per {'speed' if reduced else 'velocity'}."
        )
        rotors = r" + \sum_r J_r s_r^T \dot{\nu}_r"
    return Step(
        "Projection on the partial velocities",
        "Kane's equations: inertia forces and active forces of every body, the moments n about its centre of mass and "
        "the forces f, are projected on the partial velocities "
        f"(KANE; PARSA {'(33), (46)' if reduced else '(32), (33)'}).{turning}{gravity_text(system)}",
        (
            quantity(system, "mass_matrix", "M", M),
            quantity(system, "coriolis", "c", c),
            quantity(system, "gravity", "g", g),
        ),
        rf"\sum_i {T}^T \left( M_i \frac{{d}}{{dt}}(J_i v) + W_i M_i J_i v \right){rotors} = \sum_i {T}^T w_i, \quad "
        r"M_i = \begin{bmatrix} I_i & 0 \\ 0 & m_i 1 \end{bmatrix}, \quad "
        r"W_i = \begin{bmatrix} \tilde{\omega}_i & 0 \\ 0 & 0 \end{bmatrix}, \quad "
        r"w_i = \begin{bmatrix} n_i \\ f_i \end{bmatrix}" + falling,
    )

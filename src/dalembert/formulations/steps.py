"""Steps of a derivation that several routes share, as text and formulas: rotors, gravity, loads, constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dalembert.formulations.equations import DerivationStep
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.system import MultibodySystem, quantity, rotor_matrix

DETAILED_FREEDOMS = 6
"""Steps show single bodies and rotors for systems of up to this many degrees of freedom."""

FEW_FREEDOMS = 4
"""The same for derivatives of matrices, which have three indices."""


def rotor_steps(system: MultibodySystem) -> list[DerivationStep]:
    """Where the rotors of the joints enter, if they are included."""
    if not system.rotors:
        return []
    rate = "speed" if system.v is system.scope.arrays.get("u") else "velocity"
    text = (
        f"The rotor of a joint turns at the rate s of the joint per {rate}; its inertia, reflected to the joint, is "
        "added to that of the bodies."
    )
    shown = (quantity(system, "rotor_matrix", "M_r", rotor_matrix(system)),) if system.n <= DETAILED_FREEDOMS else ()
    return [DerivationStep("Rotors", text, shown, r"M_r = \sum_r J_r s_r^T s_r")]


def gravity_formula(system: MultibodySystem, jacobian: str, reduced: bool = False) -> str:
    """How gravity forces follow from the potential energy, LaTeX.

    Args:
        jacobian: what the Jacobian of a centre of mass is called, LaTeX; a field needs none.
        reduced: whether forces in a field are those of speeds u, which are others than the velocities v.
    """
    if system.field is not None:
        return (
            rf"{system.field.energy_formula('i')}, \quad {system.field.letters('i')}, \quad "
            rf"G = {'B^T ' * reduced}\Gamma^T \frac{{\partial U}}{{\partial q}}, \quad \dot{{q}} = \Gamma v"
        )
    fall = r"\mathbf{g}"
    return rf"U = -\sum_i m_i\, p_{{Ci}}^T {fall}, \quad G = -\sum_i m_i {jacobian}^T {fall}"


def gravity_text(system: MultibodySystem) -> str:
    """What the letters of the formula of a field mean; nothing where gravity is uniform."""
    return "" if system.field is None else f" {system.field.words()}"


def closing_steps(
    system: MultibodySystem, parts: Mapping[str, DerivedQuantity | None], reduced: bool = False
) -> Iterator[DerivationStep]:
    """What acts besides inertia and gravity, and constraints that hold by multipliers.

    Args:
        parts: of the equations, by name.
        reduced: whether forces are those of speeds u, which are others than the velocities v.
    """
    passive, external = parts.get("passive"), parts.get("external")
    if passive is not None:
        speeds = " Those of the speeds are B^T times those of the velocities." if reduced else ""
        acting = ", ".join(name for name, _ in system.passive)
        yield DerivationStep("Passive forces", f"The generalised forces of {acting}.{speeds}", (passive,))
    if external is not None:
        text = (
            "External wrenches, forces f and moments n about the origins of their frames, in the axes of these, are "
            "projected on the velocities by the Jacobians of the frames, PARSA (28)."
        )
        yield DerivationStep("External wrenches", text, (external,), rf"e = {'B^T ' * reduced}\sum_i J_i^T w_i")
    A, gamma = parts.get("constraint_matrix"), parts.get("constraint_bias")
    if A is not None and gamma is not None:
        yield DerivationStep(
            "Constraints",
            "Positions differentiated twice, velocities once; they hold by multipliers lambda.",
            (A, gamma),
            r"A \dot{v} + \gamma = 0",
        )

"""What all formulations have in common once mass matrix and bias are known: loads, inputs, constraints, the result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.system import System, rotor_matrix
from dalembert.tracing.derivatives import forward
from dalembert.typesetting.names import distinct, identifier

SHOWN = 6
"""Steps show single bodies, rotors and three-index tables for systems of up to this many degrees of freedom."""


class Lazy(Mapping[str, Quantity]):
    """Quantities that are computed when they are asked for, and then kept.

    Args:
        makers: name -> function that makes the quantity.
    """

    def __init__(self, makers: Mapping[str, Callable[[], Quantity]]):
        self._makers = dict(makers)
        self._made: dict[str, Quantity] = {}

    def __getitem__(self, name: str) -> Quantity:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers


def velocity_map(system: System) -> np.ndarray:
    """Gamma, nq x n: the rates of the coordinates per velocity.

    Args:
        system: the system; its velocities must be inputs.
    """
    return forward(system.qdot, system.v)


def external_forces(system: System, frames: Sequence[str]) -> np.ndarray | None:
    """Generalised forces of wrenches on frames (PARSA (28)); each wrench becomes an input of six numbers.

    Args:
        system: the system.
        frames: the frames on which wrenches ``[force; moment]`` act, frame axes, about the frame's origin.
    """
    if not frames:
        return None
    if twice := sorted({frame for frame in frames if list(frames).count(frame) > 1}):
        raise ArgumentError(f"wrenches: {', '.join(twice)} is named twice; one wrench on a frame is enough")
    total = np.zeros(system.n, dtype=object)
    for frame, short in zip(frames, distinct(map(identifier, frames), ())):
        place = system.place(frame)
        wrench = system.scope.input(
            f"wrench_{short}", [f"{kind}_{axis}_{short}" for kind in ("f", "n") for axis in ("x", "y", "z")]
        )
        force, moment = product(place.rotation, wrench[:3]), product(place.rotation, wrench[3:])
        total = total + product(place.Jv.T, force) + product(place.Jw.T, moment)
    return total


def velocities_called(system: System, name: str) -> list[int]:
    """Where the velocities of a joint, or else a single one, lie in v; nowhere, if none is called so.

    Args:
        system: the system.
        name: of a joint or of a velocity.
    """
    of_joint = [k for k, (_, joint) in enumerate(system.velocity_names) if joint == name]
    return of_joint or [k for k, (velocity, _) in enumerate(system.velocity_names) if velocity == name]


def driven_velocities(system: System, actuated: Sequence[str] | None) -> list[int]:
    """For every input the place in v of the velocity that it drives; all of them by default.

    Args:
        system: the system.
        actuated: names of joints, in the order of the inputs; a joint of several degrees takes several inputs.
    """
    if actuated is None:
        return list(range(system.n))
    places: list[int] = []
    for name in actuated:
        found = velocities_called(system, name)
        if not found:
            known = ", ".join(dict.fromkeys(x for velocity, joint in system.velocity_names for x in (joint, velocity)))
            raise ArgumentError(f"cannot actuate {name!r}: {system.name!r} has the joints and velocities {known}")
        if again := [system.velocity_names[k][0] for k in found if k in places]:
            raise ArgumentError(f"actuated: {again[0]} is driven twice")
        places += found
    return places


def input_map(system: System, driven: Sequence[int]) -> np.ndarray:
    """D, n x inputs: ones where an input drives a velocity.

    Args:
        system: the system.
        driven: what :func:`driven_velocities` gives.
    """
    return np.eye(system.n, dtype=int).astype(object)[:, list(driven)]


def total_passive(system: System) -> np.ndarray | None:
    """All passive forces together.

    Args:
        system: the system.
    """
    if not system.passive:
        return None
    total = np.zeros(system.n, dtype=object)
    for _, force in system.passive:
        total = total + force
    return total


def quantity(system: System, name: str, symbol: str, values: Any) -> Quantity:
    """A quantity of this system.

    Args:
        system: the system.
        name: an identifier.
        symbol: in LaTeX.
        values: array of traced scalars and numbers.
    """
    return Quantity(system.scope, name, symbol, values)


def assembled(
    system: System,
    method: str,
    M: np.ndarray,
    c: np.ndarray,
    g: np.ndarray,
    steps: Sequence[Step],
    sources: Sequence[str],
    *,
    bias: np.ndarray | None = None,
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
    extras: Mapping[str, Callable[[], Quantity]] | None = None,
) -> Equations:
    """Equations of motion in the velocities of the system, constraints by multipliers.

    Args:
        system: the system.
        method: name of the method.
        M: mass matrix.
        c: centrifugal and Coriolis forces.
        g: gravity forces.
        steps: the derivation so far.
        sources: keys of the documents used.
        bias: c + g, if there is a cheaper way to both.
        wrenches: frames on which external wrenches act.
        actuated: names of the driven joints.
        extras: what else the method offers, made on demand.
    """

    def make(name: str, symbol: str, values: Any) -> Quantity | None:
        return None if values is None else quantity(system, name, symbol, values)

    held, driven = system.constraints, driven_velocities(system, actuated)
    A, gamma = (held.A, -held.gamma) if held else (None, None)
    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", M),
        "coriolis": make("coriolis", "c", c),
        "gravity": make("gravity", "g", g),
        "bias": make("bias", "h", c + g if bias is None else bias),
        "kinematics": make("kinematics", r"\dot{q}", system.qdot),
        "input_map": make("input_map", "D", input_map(system, driven)),
        "passive": make("passive", "p", total_passive(system)),
        "external": make("external", "e", external_forces(system, wrenches)),
        "constraint_matrix": make("constraint_matrix", "A", A),
        "constraint_bias": make("constraint_bias", r"\gamma", gamma),
    }
    return Equations(
        system.name, method, system.scope, **parts, extras=Lazy(extras or {}),
        derivation=(*steps, *closing_steps(system, parts)), sources=tuple(dict.fromkeys(sources)), driven=tuple(driven),
    )  # fmt: skip


def rotor_steps(system: System) -> list[Step]:
    """Where the rotors of the joints enter, if they are included.

    Args:
        system: the system.
    """
    if not system.rotors:
        return []
    rate = "speed" if system.v is system.scope.arrays.get("u") else "velocity"
    text = (
        f"The rotor of a joint turns at the rate s of the joint per {rate}; its inertia, reflected to the joint, is "
        "added to that of the bodies."
    )
    shown = (quantity(system, "rotor_matrix", "M_r", rotor_matrix(system)),) if system.n <= SHOWN else ()
    return [Step("Rotors", text, shown, r"M_r = \sum_r J_r s_r^T s_r")]


def gravity_formula(system: System, jacobian: str, reduced: bool = False) -> str:
    """How gravity forces follow from the potential energy, LaTeX.

    Args:
        system: the system.
        jacobian: what the Jacobian of a centre of mass is called, LaTeX; a field needs none.
        reduced: whether forces in a field are those of speeds u, which are others than the velocities v.
    """
    if isinstance(system.gravity, InverseSquare):
        spread = (
            r" + \frac{\mu}{2 |\rho_i|^3} \left( \mathrm{tr}\, I_i - 3 \frac{\rho_i^T I_i \rho_i}{|\rho_i|^2} \right)"
        )
        return (
            rf"U = -\sum_i \left[ \frac{{\mu m_i}}{{|\rho_i|}}{spread * system.gravity.gradient} \right], \quad "
            r"\rho_i = R_i^T (p_{Ci} - p_A), \quad "
            rf"g = {'B^T ' * reduced}\Gamma^T \frac{{\partial U}}{{\partial q}}, \quad \dot{{q}} = \Gamma v"
        )
    fall = r"\mathbf{g}"
    return rf"U = -\sum_i m_i\, p_{{Ci}}^T {fall}, \quad g = -\sum_i m_i {jacobian}^T {fall}"


def gravity_text(system: System) -> str:
    """What the letters of the formula of a field mean; nothing where gravity is uniform.

    Args:
        system: the system.
    """
    if not isinstance(system.gravity, InverseSquare):
        return ""
    return " The way rho from the attractor, at p_A, to the centre of mass is told in body axes."


def closing_steps(system: System, parts: Mapping[str, Quantity | None], reduced: bool = False) -> Iterator[Step]:
    """What acts besides inertia and gravity, and constraints that hold by multipliers.

    Args:
        system: the system.
        parts: of the equations, by name.
        reduced: whether forces are those of speeds u, which are others than the velocities v.
    """
    passive, external = parts.get("passive"), parts.get("external")
    if passive is not None:
        speeds = " Those of the speeds are B^T times those of the velocities." if reduced else ""
        acting = ", ".join(name for name, _ in system.passive)
        yield Step("Passive forces", f"The generalised forces of {acting}.{speeds}", (passive,))
    if external is not None:
        text = (
            "External wrenches, forces f and moments n about the origins of their frames, in the axes of these, are "
            "projected on the velocities by the Jacobians of the frames, PARSA (28)."
        )
        yield Step("External wrenches", text, (external,), rf"e = {'B^T ' * reduced}\sum_i J_i^T w_i")
    A, gamma = parts.get("constraint_matrix"), parts.get("constraint_bias")
    if A is not None and gamma is not None:
        yield Step(
            "Constraints",
            "Positions differentiated twice, velocities once; they hold by multipliers lambda.",
            (A, gamma),
            r"A \dot{v} + \gamma = 0",
        )

"""Force elements and terms of the joints under verification: by every formulation, one by one, by power, by energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import vect
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.joint_forces import TERMS, joint_forces
from dalembert.constraints.action import Action
from dalembert.constraints.forces import CONSERVATIVE, ForceSet
from dalembert.constraints.state import State
from dalembert.dynamics import Dynamics
from dalembert.formulations.agreement import AgreementRow
from dalembert.formulations.equations import Equations
from dalembert.formulations.laws import COMPLEX_STEP
from dalembert.kinematics import pose
from dalembert.kinematics.manifold import tangent_map
from dalembert.model import Mechanism

TIME = 0.7
"""When forces that depend on time are compared, s."""


def force_rows(
    mechanism: Mechanism,
    derived: Mapping[str, Equations],
    values: Mapping[Any, float],
    states: tuple[Any, Any],
    tolerance: float,
) -> list[AgreementRow]:
    """What every force element does to the velocities, by all the routes there are.

    The sum of all enters the derived equations. One by one they are compared with the compiled kernel, with the power
    of their wrenches on the bodies along each velocity (poses differentiated by the complex step, no Jacobian), and, if
    they store energy, with its derivative.

    Args:
        mechanism: the mechanism with numbers for all symbols.
        derived: equations by method, with all forces included.
        values: values by symbol.
        states: q and v, each over states.
        tolerance: allowed relative error.
    """
    q, v = states
    found = ForceSet(mechanism, "all")
    effects = [found.each(State(mechanism, *state, TIME)) for state in zip(q, v)]
    direct = {name: np.array([effect[name][0] for effect in effects], dtype=float) for name in found.names}
    whole = sum(direct.values())
    scale = max(float(np.abs(x).max(initial=0.0)) for x in direct.values()) or 1.0

    def row(name: str, who: str, against: str, mine: Any, theirs: Any) -> AgreementRow:
        error = float(np.abs(np.asarray(mine) - theirs).max(initial=0.0)) / scale
        return AgreementRow(name, who, against, error, tolerance)

    rows = []
    for method, equations in derived.items():
        if equations.passive is not None:
            clock = {"t": TIME} if "t" in equations.scope.names else {}
            passive = equations.passive.evaluate({"q": q, "v": v, **clock, **values})
            rows.append(row("force elements", f"derived: {method}", "one by one", passive, whole))
    kernel = Dynamics(mechanism, constraints=()).evaluate("element_forces", q, v, TIME)
    for k, item in enumerate(mechanism.forces):
        name, mine = f"force {item.name}", direct[item.name]
        rows.append(row(name, "kernel", "force element", kernel[:, k], mine))
        if any(effect[item.name][1] for effect in effects):
            power = [virtual_power(mechanism, x, effect[item.name][1]) for x, effect in zip(q, effects)]
            rows.append(row(name, "virtual power", "force element", power, mine))
        if item.kind in CONSERVATIVE and item.damping == 0:
            slope = [_energy_slope(mechanism, item.name, x) for x in q]
            rows.append(row(name, "slope of its energy", "force element", -np.array(slope), mine))
    return rows


def virtual_power(mechanism: Mechanism, q: np.ndarray, actions: Sequence[Action]) -> np.ndarray:
    """Power of forces and moments on bodies per velocity, nv: poses are moved along each velocity, by complex steps.

    Args:
        actions: what acts on which body.
    """
    result = np.zeros(mechanism.nv)
    directions = tangent_map(mechanism.tree, q).astype(float).T
    for action in actions:
        body, at = _placed(mechanism, q, action.on)
        other, axes = _placed(mechanism, q, action.axes)
        force, moment = (np.asarray(axes.rotate(x), dtype=float) for x in (action.force, action.moment))
        for name, sign in ((body, 1), (other, -1)) if action.mutual else ((body, 1),):
            here = pose(mechanism, q, name)
            point = here.inverse().apply(at.translation)
            for k, direction in enumerate(directions):
                moved = pose(mechanism, q + 1j * COMPLEX_STEP * direction, name)
                velocity = np.imag(moved.apply(point)) / COMPLEX_STEP
                turning = vect(np.imag(moved.rotation) @ here.rotation.T) / COMPLEX_STEP
                result[k] += sign * float(force @ velocity + moment @ turning)
    return result


def _placed(mechanism: Mechanism, q: np.ndarray, end: tuple[str, Transform]) -> tuple[str, Transform]:
    """The body that carries a frame, and the frame's pose in the world."""
    frame = mechanism.frame(end[0])
    return frame.body, pose(mechanism, q, frame.body) @ frame.placement @ end[1]


def _energy_slope(mechanism: Mechanism, name: str, q: np.ndarray) -> list[float]:
    chosen = ForceSet(mechanism, [name])
    still = np.zeros(mechanism.nv)
    return [
        complex(chosen.energy(State(mechanism, q + 1j * COMPLEX_STEP * direction, still, TIME))).imag / COMPLEX_STEP
        for direction in tangent_map(mechanism.tree, q).astype(float).T
    ]


# -------------------------------------------------------------------------- rotors, damping and friction of the joints


def terms_of(mechanism: Mechanism) -> tuple[str, ...]:
    """Those of armature, damping and friction that some joint has."""
    found = joint_forces(mechanism, TERMS)
    return tuple(term for term in TERMS if getattr(found, term) is not None)


def joint_rows(
    mechanism: Mechanism,
    derived: Mapping[str, Equations],
    values: Mapping[Any, float],
    states: tuple[Any, Any, Any],
    tolerance: float,
) -> list[AgreementRow]:
    """Mass matrix and inverse dynamics with the terms of the joints.

    Algorithms know nothing of them. To what they give is added what every joint does by its own rate: the energy of its
    rotor and the power it takes, a follower's rate being that of its leader times the ratio.

    Args:
        mechanism: the mechanism with numbers for all symbols.
        derived: equations by method, with all terms of the joints included, and nothing else.
        values: values by symbol.
        states: q, v, a, each over states.
        tolerance: allowed relative error.
    """
    q, v, a = states
    rotors, resistance = np.zeros((mechanism.nv, mechanism.nv)), np.zeros_like(v)
    for joint in mechanism.joints:
        rates = np.eye(mechanism.nv)[mechanism.v_slice(joint.name)]
        if joint.mimic:
            rates = float(joint.mimic.multiplier) * rates
        rotors += float(joint.armature) * rates.T @ rates
        own = v @ rates.T
        resistance += (float(joint.damping) * own + float(joint.friction) * np.sign(own)) @ rates
    M = np.array([mass_matrix(mechanism, x) for x in q], dtype=float) + rotors
    tau = np.array([inverse_dynamics(mechanism, *state) for state in zip(q, v, a)], dtype=float)
    tau += a @ rotors + resistance
    mass_rows, force_rows = [], []
    for method, equations in derived.items():
        parts = ("mass_matrix", "bias", *(("passive",) if equations.passive is not None else ()))
        numbers = equations.numbers(parts, {"q": q, "v": v, **values})
        mine = np.broadcast_to(numbers["mass_matrix"], M.shape)
        forces = np.einsum("sij,sj->si", mine, a) + numbers["bias"] - numbers.get("passive", 0)
        who, against = f"derived: {method}", "joint by joint"
        mass_rows.append(AgreementRow("mass matrix", who, against, _error(mine, M), tolerance))
        force_rows.append(AgreementRow("inverse dynamics", who, against, _error(forces, tau), tolerance))
    return mass_rows + force_rows


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))

"""Rotors, damping and friction of the joints under verification: in every derivation, and joint by joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.joint_forces import TERMS, joint_forces
from dalembert.formulations.agreement import Row
from dalembert.formulations.equations import Equations
from dalembert.model import Mechanism


def terms_of(mechanism: Mechanism) -> tuple[str, ...]:
    """Those of armature, damping and friction that some joint has.

    Args:
        mechanism: the mechanism.
    """
    found = joint_forces(mechanism, TERMS)
    return tuple(term for term in TERMS if getattr(found, term) is not None)


def joint_rows(
    mechanism: Mechanism,
    derived: Mapping[str, Equations],
    values: Mapping[Any, float],
    states: tuple[Any, Any, Any],
    tolerance: float,
) -> list[Row]:
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
        mass_rows.append(Row("mass matrix", who, against, _error(mine, M), tolerance))
        force_rows.append(Row("inverse dynamics", who, against, _error(forces, tau), tolerance))
    return mass_rows + force_rows


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / (np.abs(expected).max() or 1.0))

"""What acts on a mechanism besides gravity and drives, when asked for by name: force elements, damping, rotors."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.joint_forces import TERMS, JointForces, joint_forces
from dalembert.constraints.forces import ForceSet
from dalembert.errors import ArgumentError
from dalembert.formulations.system import System
from dalembert.formulations.tracing import TracedMechanism
from dalembert.model import Mechanism

MOST_NAMES = 6
"""Joints that are named one by one."""


def passive_forces(trace: TracedMechanism, system: System, include: Sequence[str]) -> list[tuple[str, Array]]:
    """For every force that is asked for its name and what it does to the velocities.

    Args:
        trace: the mechanism as traced scalars.
        system: the same as a system of moving bodies.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    mechanism = trace.mechanism
    names = [item.name for item in mechanism.forces]
    unknown = [name for name in include if name not in (*TERMS, "forces", *names)]
    if unknown:
        raise ArgumentError(
            f"{{setting}}: choose among {', '.join((*TERMS, 'forces', *names))}", argument="include", value=unknown
        )
    wanted = [name for name in names if "forces" in include or name in include]
    forces: list[tuple[str, Array]] = []
    if wanted:
        effects = ForceSet(mechanism, wanted).each(trace.state(0 if system.time is None else system.time))
        forces = [(name, arrays.asarray(effect[0])) for name, effect in effects.items()]
    losses = [name for name in ("damping", "friction") if name in include]
    terms = joint_forces(mechanism, losses)
    own = JointForces(None, *(None if x is None else system.scope.read(x) for x in (terms.damping, terms.friction)))
    if own.damping is not None or own.friction is not None:
        forces.append((f"{' and '.join(losses)} of the joints", -own.resistance(system.v)))
    return forces


def left_out(mechanism: Mechanism, include: Sequence[str]) -> tuple[str, ...]:
    """What the mechanism has besides inertia, gravity and constraints, and was not asked for; in words.

    Args:
        mechanism: the mechanism.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    found = [
        f"force element {item.name!r} ({item.kind})"
        for item in mechanism.forces
        if "forces" not in include and item.name not in include
    ]
    for term in TERMS:
        joints = [joint.name for joint in mechanism.joints if not scalar.is_zero(getattr(joint, term))]
        if joints and term not in include:
            found.append(f"{term} of {', '.join(joints) if len(joints) <= MOST_NAMES else f'{len(joints)} joints'}")
    return tuple(found)


def rotors(trace: TracedMechanism, system: System, include: Sequence[str]) -> list[tuple[Scalar, Array]]:
    """For every rotor that is asked for its inertia and the row of its speed per velocity.

    Args:
        trace: the mechanism as traced scalars.
        system: the same as a system of moving bodies.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    armature = joint_forces(trace.mechanism, ["armature"]).armature if "armature" in include else None
    if armature is None:
        return []
    rows = arrays.identity(system.n)
    return [(x, rows[k]) for k, x in enumerate(system.scope.read(armature)) if not scalar.is_zero(x)]

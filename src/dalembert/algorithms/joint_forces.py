"""What joints themselves add to the generalised forces: rotor inertia, viscous damping, Coulomb friction.

These are data of the mechanism and enter a result only when asked for by name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_items

TERMS = ("armature", "damping", "friction")
"""The terms that can be included, by name."""


@dataclass(frozen=True, eq=False)
class JointForces:
    """Coefficients per velocity, nv each; None where a term is not included or all zero.

    Args:
        armature: rotor inertia, kg m^2 or kg.
        damping: viscous coefficient.
    """

    armature: Array | None
    damping: Array | None
    friction: Array | None

    def of(self, v: Array, a: Array) -> Array:
        """armature * a + damping * v + friction * sign(v): what the drives must give on top of inverse dynamics."""
        return self.resistance(v) + (arrays.zeros(len(v)) if self.armature is None else self.armature * a)

    def resistance(self, v: Array) -> Array:
        """damping * v + friction * sign(v)."""
        total = arrays.zeros(len(v)) if self.damping is None else self.damping * v
        if self.friction is not None:
            total = total + arrays.asarray([f * _sign(x) for f, x in zip(self.friction, v)])
        return total


def _sign(x):
    return scalar.select(x > 0, 1, scalar.select(x < 0, -1, 0))


def joint_forces(mechanism: Mechanism, include: Collection[str]) -> JointForces:
    """The coefficients of the named terms, mimic joints counted at their leader.

    Args:
        mechanism: the mechanism.
        include: any of :data:`TERMS`.
    """
    expect(mechanism, Mechanism, "mechanism")
    include = expect_items(include, str, "include")
    unknown = [name for name in include if name not in TERMS]
    if unknown:
        raise ArgumentError(f"{{setting}}: choose among {', '.join(TERMS)}", argument="include", value=unknown)
    return JointForces(**{name: _gathered(mechanism, name) if name in include else None for name in TERMS})


def _gathered(mechanism: Mechanism, name: str) -> Array | None:
    total = [0] * mechanism.nv
    for joint in mechanism.joints:
        value = getattr(joint, name)
        if scalar.is_zero(value):
            continue
        own = mechanism.v_slice(joint.name)
        gain = joint.mimic.multiplier if joint.mimic else 1
        # Friction at the leader is gain * sign(gain * v): it resists whichever way the follower turns.
        weight = value * (scalar.absolute(gain) if name == "friction" else gain * gain)
        for k in range(own.start, own.stop):
            total[k] = total[k] + weight
    return None if all(scalar.is_zero(x) for x in total) else arrays.asarray(total)

"""Semi-implicit Euler with rigid or soft contacts: the free velocity after a step, impulses on it, then the position.

First order. Where nothing touches, this is semi-implicit Euler, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.dynamics.contacting import stepped
from dalembert.simulation.contact_history import MEASURES, ContactMeasures

if TYPE_CHECKING:
    from dalembert.simulation.equations import TracedEquations


@dataclass(frozen=True)
class RigidContact:
    """How contacts are solved in a step.

    Args:
        sweeps: of Gauss-Seidel.
        records: keep slip and mode of every point, too.
        law: one of :data:`dalembert.dynamics.contacting.LAWS`.
        solver: one of :data:`dalembert.contact.cones.SOLVERS`.
    """

    sweeps: int
    records: bool = True
    law: str = "rigid"
    solver: str = "gauss-seidel"

    @property
    def key(self) -> tuple[Any, ...]:
        """What programs depend on."""
        return self.law, self.sweeps, self.records, self.solver

    def step(
        self, system: TracedEquations, t: Scalar, q: Array, v: Array, h: Scalar, impulses: Array, measures: Array,
        parameters: Any,
    ) -> tuple[Array, Array, Array, Array]:  # fmt: skip
        """One step: positions, velocities, impulses, measures.

        Args:
            system: the equations of motion, under everything but contacts and the dry friction of joints.
            impulses: of the last step.
            measures: :class:`~dalembert.simulation.contact_history.ContactMeasures` after the last step.
            parameters: values of the parameters, if there are any.
        """
        dynamics = system.system.dynamics
        setting = dynamics.setting(parameters)
        place = system.normalised(q)
        smooth = tuple(name for name in dynamics.include if name != "friction")  # which is a row here
        M = system.mass_matrix(place)
        a = system.including(smooth).acceleration_by(M, t, q, v)
        G = system.rows(t, place, v) if dynamics.constraints.count else np.zeros((0, len(v)))
        found = stepped(setting, place, v, a, M, G, impulses, h, t, self.sweeps, self.solver)
        losses = found.friction_loss, found.impact_loss, -found.push_work
        known = ContactMeasures(*measures[: len(MEASURES)])
        new = [*known.after(found.residual, found.impulse_residual, losses, found.stride)]
        new += [*found.slip.ravel(), *found.mode] if self.records else []
        moved = system.displaced(q, h * system.tangent(t, q, found.v))
        return system.normalised(moved), found.v, found.impulses, arrays.asarray(new)

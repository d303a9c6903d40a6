"""Work of the control and losses of joints, integrated along a motion at the integrator's own steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import legendre

from dalembert.kinematics.manifold import quaternion_places
from dalembert.simulation.balance import resistance
from dalembert.simulation.inputs import Inputs
from dalembert.simulation.integrators import IntegrationStep
from dalembert.simulation.stabiliser import Stabiliser

GAUSS = legendre.leggauss(6)[0]
"""Places in a step that has an interpolant of high order, from -1 to 1."""

SIMPSON = np.array([-1.0, 0.0, 1.0])
"""Places in a step of fixed length."""


class WorkAccount:
    """Work of the control since the start, and what damping and friction of the joints took, J.

    Args:
        inputs: the control, which is asked at a few more places of every step.
        values: of the parameters, or None.
    """

    def __init__(self, system: Stabiliser, inputs: Inputs, values: np.ndarray | None):
        self.system, self.inputs, self.values = system, inputs, values
        self.derived = system.dynamics.equations is not None
        self.resistance = resistance(system.dynamics, values)
        self.idle = inputs.rests and self.resistance is None
        self.total = np.zeros(2)
        self._piece: tuple[float, float, np.ndarray, np.ndarray] | None = None  # begin, half, total there, its shape

    @property
    def closed(self) -> bool:
        """Whether positions alone say what constant forces have done."""
        if self.idle or self.resistance is not None:
            return self.idle
        places = quaternion_places(self.system.tree)
        return self.inputs.constant and not (self.derived or self.system.has_speeds or places)

    def along(self, x: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Work and losses under constant forces from a state to others, (k, 2); NaN where they depend on the way.

        Args:
            x: the state at the start.
            states: (k, nq + nv).
        """
        if self.idle or not self.closed:
            return np.full((len(states), 2), 0.0 if self.idle else np.nan)
        links = [link for link in self.system.tree.links if link.nv]
        forces = self.inputs.control(0.0, x, x)
        done = sum((forces[link.v] * (states[:, link.q] - x[link.q]) for link in links), np.zeros(len(states)))
        return np.stack([done, np.zeros(len(states))], axis=1)

    def power(self, t: float, x: np.ndarray) -> tuple[float, float]:
        """Of the control, and of what resists in the joints, at a state, W."""
        nq = self.system.mechanism.nq
        q, v = x[:nq], x[nq:]
        tau = self.inputs.control(t, q, v)
        if self.derived:
            kernel = self.system.dynamics.kernel("input_forces")
            given = {"q": q, "v": v, "tau": tau, "t": t, "parameters": self.values}
            tau = kernel(*(given[port.name] for port in kernel.inputs))
        return float(tau @ v), 0.0 if self.resistance is None else float(self.resistance(v))

    def add(self, made: IntegrationStep, t: float) -> None:
        """Go on through a step of the integrator.

        Args:
            made: the step.
            t: how far it counts.
        """
        if made.work is not None:
            if not self.idle:
                self.total = self.total + made.work * (t - made.t0) / (made.t1 - made.t0)
            return None
        if made.dense is not None:
            return self.through(made.t0, t, made.state)

        def state(s: float) -> np.ndarray:
            inner = made.guess(s) if made.guess is not None and made.t0 < s < made.t1 else None
            return made.state(s) if inner is None else np.concatenate(inner)

        return self.through(made.t0, t, state, SIMPSON)

    def through(
        self, begin: float, end: float, state: Callable[[float], np.ndarray], places: np.ndarray = GAUSS
    ) -> None:
        """Go on through a smooth part of the motion.

        Args:
            state: gives x = [q; v].
            places: where power is asked, from -1 to 1.
        """
        if self.idle or end <= begin:
            return
        half = (end - begin) / 2
        powers = [self.power(t, state(t)) for t in (begin + half * (1 + places)).tolist()]
        shape = np.linalg.solve(legendre.legvander(places, len(places) - 1), powers)
        self._piece = begin, half, self.total, legendre.legint(shape, lbnd=-1)
        self.total = self.at(end)

    def at(self, t: float) -> np.ndarray:
        """The work done, and the losses, until a time within the last part, or at its end."""
        if self._piece is None:
            return self.total.copy()
        begin, half, before, shape = self._piece
        return before + half * legendre.legval(min(max((t - begin) / half - 1, -1.0), 1.0), shape)

"""Steps with contacts as an integrator of fixed step: the motion stops where the driver asks it to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.kinematics.manifold import displaced, normalised
from dalembert.simulation.balance import resistance
from dalembert.simulation.contact_history import UNCONVERGED, ContactHistory, ContactMeasures
from dalembert.simulation.contacting import METHOD, warn_doubtful, without_distance
from dalembert.simulation.equations import KernelEquations
from dalembert.simulation.inputs import Fault, Inputs
from dalembert.simulation.integrators import NOT_FINITE, IntegrationStep
from dalembert.simulation.interpolation import Slopes
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.steppers.rigid_contact import RigidContact
from dalembert.simulation.trajectory import Trajectory

MOST_SWEEPS = 10_000
"""How far a step goes on whose contacts have not converged, where nobody chose the number of sweeps."""

MOST_POLISHED = 64
"""Rows up to which such a step is left to Newton's method in the end; with more, that takes long to compile."""


class ContactSteps:
    """Advances one motion by steps with contacts.

    Args:
        equations: of motion between contacts; asked where events are looked for.
        law: how contacts are solved.
        inputs: control and wrenches.
        values: of the parameters, or None.
        step_length: the longest step, s.
        patient: go on with the sweeps of a step until it has converged, up to :data:`MOST_SWEEPS`, and then by
            Newton's method.
    """

    def __init__(
        self, equations: KernelEquations, law: RigidContact, inputs: Inputs, values: np.ndarray | None,
        step_length: float, patient: bool,
    ):  # fmt: skip
        self.equations, self.law, self.inputs, self.patient = equations, law, inputs, patient
        self.step_length, self.system = step_length, equations.system
        self.dynamics = self.system.dynamics
        self._kernel = self.dynamics.kernel("contact_step", sweeps=law.sweeps, solver=law.solver)
        self._last = () if values is None else (values,)
        self.values = values
        self._resistance = resistance(self.dynamics, values)
        self.impulses = np.zeros(self.dynamics.contacts.count)
        self.measures, self._of_points = ContactMeasures(), np.zeros(3 * len(self.dynamics.contacts.points))
        self.most, self.polished = law.sweeps, 0
        self._h, self._used = step_length, 0.0

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state; a whole number of equal steps reaches the bound."""
        self._begin, self._x, self._bound, self._done = t, x, bound, 0
        self._count = max(1, math.ceil((bound - t) / self.step_length - 1e-9))
        self._h = float(bound - t) / self._count

    def forget(self) -> None:
        """Expect nothing of the next leg; impulses stay a good guess."""

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self._done == self._count

    def correct(self, x: np.ndarray) -> None:
        """Go on from a state close to the last one."""
        self._x = x

    def projected(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state on the constraints; quaternions have unit length as it is."""
        return self.system.projected(t, x) if self.system.projects else x

    def settled(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state with which the motion begins: as it is."""
        return x

    def kept(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Impulses, measures, and the step in which they acted."""
        return self.impulses, np.array([*self.measures, *self._of_points]), self._h

    def step(self) -> IntegrationStep:
        """Go on by one step."""
        h, x0, nq = self._h, self._x, self.system.mechanism.nq
        t = self._begin + self._done * h
        q, v = x0[:nq], x0[nq:]
        tau = self.inputs.control(t, q, v)
        found = self._solved(t, q, v, tau)
        x1 = np.concatenate(found[:2])
        if not np.isfinite(x1).all():
            gaps = self.dynamics.kernel("contact_points")(q, *self._last)[0]
            why = without_distance(self.dynamics, gaps) or "the step is too long, or the mass matrix is singular"
            raise Fault(NOT_FINITE, t, q, v, guess=f": {why}")
        residual, forceful, slip, mode, losses, stride = (found[i] for i in (3, 4, 6, 7, 8, 9))
        self.measures = self.measures.after(float(residual), float(forceful), losses.tolist(), stride.tolist())
        self._of_points, self.impulses = np.concatenate([slip.ravel(), mode]), found[2]
        self._used, self._x, self._done = h, x1, self._done + 1
        self.equations.evaluations += 1
        mean = (v + x1[nq:]) / 2  # whose are the losses of contacts, too
        work = h * np.array([tau @ mean, 0.0 if self._resistance is None else self._resistance(mean)])
        end = self._bound if self._done == self._count else t + h
        tree = self.system.tree

        def state(s: float) -> np.ndarray:
            """Positions move with the velocities after the step; these change linearly."""
            if s in (t, end):
                return x0 if s == t else x1
            part = (s - t) / h
            place = normalised(tree, displaced(tree, q, part * h * x1[nq:]))
            return np.concatenate([np.asarray(place, dtype=float), v + part * (x1[nq:] - v)])

        return IntegrationStep(t, end, x1, state, None, None, work)

    def _solved(self, t: float, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> Any:
        h, law = self._h, self.law
        loads = (self.inputs.wrenches(t, q, v),) if self.dynamics.wrenches else ()
        start = self.impulses * (h / self._used) if self._used and self._used != h else self.impulses
        rest = (*loads, np.float64(h), np.float64(t), *self._last)
        found, swept = self._kernel(q, v, tau, start, *rest), law.sweeps
        while self.patient and swept < MOST_SWEEPS and found[3] > UNCONVERGED:
            found = self._kernel(q, v, tau, found[2], *rest)  # sweeps remember nothing but the impulses
            swept += law.sweeps
        self.most = max(self.most, swept)
        if self.patient and found[3] > UNCONVERGED and law.law == "rigid" and len(self.impulses) <= MOST_POLISHED:
            newton = self.dynamics.kernel("contact_step", sweeps=law.sweeps, solver="newton")
            found = min(found, newton(q, v, tau, found[2], *rest), key=lambda x: float(x[3]))
            self.polished += 1
        return found

    def warn(self, made: Trajectory) -> None:
        """Warn of contact forces that violate the law, and of steps that are too long."""
        assert made.contacts is not None
        warn_doubtful(made.contacts, stacklevel=4)

    def complete(self, made: Trajectory, recorder: Recorder) -> None:
        """Add to a trajectory what contacts did.

        Args:
            made: the trajectory.
            recorder: kept what :meth:`kept` said.
        """
        pushes, report, steps = (np.array(column) for column in zip(*recorder.extras[: len(made.t)]))
        history = ContactHistory(
            self.dynamics, made.t, made.q, pushes, report, steps, (pushes[-1], report[-1]), self.values
        )
        made.contacts, made.interpolant = history, Slopes(made)
        made.info = {
            **made.info, "method": METHOD, "law": self.law.law, "sweeps": self.law.sweeps, "most_sweeps": self.most,
            "polished": self.polished, "solver": self.law.solver,
        }  # fmt: skip

"""Numbers for expressions at typical states: to choose pivots, independent velocities, and to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import unit_in_place
from dalembert.constraints.closure import newton
from dalembert.formulations.bounds import reached
from dalembert.formulations.system import MultibodySystem
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import program_of

Inputs = dict[str, np.ndarray]
"""Numbers for every input of a graph, by name."""

MOST_LOST_STATES = 20
"""How many states may be lost because a value does not exist there."""


def sampled(system: MultibodySystem, values: np.ndarray, states: int = 5) -> np.ndarray:
    """Values of expressions in q, t and parameters at some typical states, (states, *shape); loops are closed.

    States at which a value does not exist give way to others, if such are found.
    """
    program = program_of(system.scope.graph, {"values": values}, "values")
    close = None if system.constraints is None else LoopCloser(system)
    rng = np.random.default_rng(1)
    results: list[np.ndarray] = []
    lost: list[np.ndarray] = []
    while len(results) < states and len(lost) < MOST_LOST_STATES:
        inputs = typical_inputs(system, rng)
        if close is not None:
            close(inputs, rng)
        found = evaluate(program, {port.name: inputs[port.name] for port in program.inputs})["values"]
        (results if np.isfinite(np.asarray(found, dtype=float)).all() else lost).append(found)
    return np.array(results or lost[:states])


def typical_inputs(system: MultibodySystem, rng: np.random.Generator, known: Mapping[str, Any] | None = None) -> Inputs:
    """Random numbers for all inputs; parameters are positive and of the order of one.

    Args:
        rng: source of randomness.
        known: inputs that are given.
    """
    inputs = {}
    for port in system.scope.graph.inputs:
        positive = port.name in system.scope.parameters
        inputs[port.name] = rng.uniform(0.7, 1.3, port.shape) if positive else rng.normal(size=port.shape)
    inputs |= {name: np.array(value, dtype=float) for name, value in (known or {}).items()}
    _normalise(system, inputs["q"])
    return inputs


STARTS = 12
"""From how many positions a loop is closed, at most."""

ITERATIONS = 60
"""Steps from each of them; a loop that closes does so within twenty."""

EXACT, CLOSED = 1e-13, 1e-10
"""Residuals, in units of their rows, that closing ends with; and those of a loop that counts as closed. Where assembly
modes meet, positions are found to the square root of the residual only, so that it has to be as small as it can be.
"""


class LoopCloser:
    """Moves positions onto the loop closures by :func:`dalembert.constraints.closure.newton`."""

    def __init__(self, system: MultibodySystem):
        assert system.constraints is not None
        phi = system.constraints.closing
        slope = forward(phi, system.q)
        self.system = system
        self.program = program_of(system.scope.graph, {"phi": phi, "slope": slope}, "closure")
        units = {first + k for first, _ in system.quaternions for k in range(4)}
        self.lengths = np.isin(np.arange(len(system.q)), system.lengths)
        self.bent = [k for k, x in enumerate(system.q) if k in units or x.index in reached(slope[:, k])]

    def __call__(self, inputs: Inputs, rng: np.random.Generator | None = None) -> bool:
        """Change ``q`` among the inputs; false if no start arrives.

        Args:
            rng: source of further starting points, anywhere; none by default.
        """
        q = inputs["q"].copy()
        for _ in range(1 if rng is None else STARTS):
            _normalise(self.system, q)
            inputs["q"], left = self._closed(inputs, q)
            if left < CLOSED:
                return True
            if rng is not None:
                q = rng.normal(size=q.shape)
        return False

    def _closed(self, inputs: Inputs, q: np.ndarray) -> tuple[np.ndarray, float]:
        """Positions from which no way leads down, and the largest residual there in units of the rows."""
        given = {port.name: inputs[port.name] for port in self.program.inputs}
        gradients = evaluate(self.program, given | {"q": q})["slope"]
        if not np.isfinite(gradients).all():
            return q, np.inf
        size = _sizes(gradients)
        unit = _units(_tangent(self.system, gradients, q) / size[:, None], self.bent, self.lengths)

        def at(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            result = evaluate(self.program, given | {"q": q})
            return result["phi"] / size, _tangent(self.system, result["slope"], q) / size[:, None] * unit

        def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
            q = q + unit * step
            _normalise(self.system, q)
            return q

        def longest(miss: np.ndarray) -> np.ndarray:
            """Along coordinates in which closures are straight, Newton's method needs no caution; elsewhere angles go
            half a radian at once, and lengths half as far as the loops are open.
            """
            far = np.full(len(q), np.inf)
            open_by = max(1.0, float(np.abs(miss * size).max(initial=0.0)))
            far[self.bent] = np.where(self.lengths, open_by, 1.0)[self.bent] / 2
            return far / unit

        q, left = newton(at, move, q, EXACT, ITERATIONS, longest)
        return q, float(np.nan_to_num(np.abs(left), nan=np.inf).max(initial=0.0))


def neutral(system: MultibodySystem) -> np.ndarray:
    """The position with all joints at zero and all quaternions at identity."""
    q = np.zeros(len(system.q))
    for first, _ in system.quaternions:
        q[first + 3] = 1
    return q


def _sizes(slope: np.ndarray) -> np.ndarray:
    """What a unit of motion changes in each row, if more than rounding: micrometres are not closed where angles are."""
    sizes = np.abs(slope).max(axis=1, initial=0.0)
    return np.where(sizes > 1e-12 * sizes.max(initial=0.0), sizes, sizes.max(initial=0.0) or 1)


def _units(slope: np.ndarray, bent: list[int], lengths: np.ndarray) -> np.ndarray:
    """How far coordinates go for the same change: angles one, lengths in mechanisms of millimetres hundreds, and those
    along which closures are not straight all alike: they may be components of one way.
    """
    sizes = np.abs(slope).max(axis=0, initial=0.0)
    far = sizes[[k for k in bent if lengths[k]]].max(initial=0.0)
    sizes[bent] = np.where(lengths[bent], far, 1.0)
    return 1 / np.where(sizes > 0, sizes, 1)


def _tangent(system: MultibodySystem, slope: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Derivatives along unit quaternions only: what a step adds to their length, normalising would take away again."""
    slope = slope.copy()
    for first, _ in system.quaternions:
        unit = q[first : first + 4]
        slope[:, first : first + 4] -= np.outer(slope[:, first : first + 4] @ unit, unit)
    return slope


def _normalise(system: MultibodySystem, q: np.ndarray) -> None:
    unit_in_place(q, (first for first, _ in system.quaternions))

"""Numbers for expressions at typical states: to choose pivots, independent velocities, and to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.constraints.closure import newton
from dalembert.constraints.rank import ROUNDING
from dalembert.formulations.system import MultibodySystem
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import program_of

Inputs = dict[str, np.ndarray]
"""Numbers for every input of a graph, by name."""

CLOSED, STEPS = 1e-11, 60
"""Largest residual of loops, in units of their rows, and steps to get there."""

ATTEMPTS = 20
"""How many states may be lost because a value does not exist there."""


def sampled(system: MultibodySystem, values: np.ndarray, states: int = 5) -> np.ndarray:
    """Values of expressions in q, t and parameters at some typical states, (states, *shape); loops are closed.

    States at which a value does not exist give way to others, if such are found.

    Args:
        system: the system.
        values: array of expressions.
        states: how many.
    """
    program = program_of(system.scope.graph, {"values": values}, "values")
    close = None if system.constraints is None else LoopCloser(system)
    rng = np.random.default_rng(1)
    results: list[np.ndarray] = []
    lost: list[np.ndarray] = []
    while len(results) < states and len(lost) < ATTEMPTS:
        inputs = typical_inputs(system, rng)
        if close is not None:
            close(inputs, rng)
        found = evaluate(program, {port.name: inputs[port.name] for port in program.inputs})["values"]
        (results if np.isfinite(np.asarray(found, dtype=float)).all() else lost).append(found)
    return np.array(results or lost[:states])


def typical_inputs(system: MultibodySystem, rng: np.random.Generator, known: Mapping[str, Any] | None = None) -> Inputs:
    """Random numbers for all inputs; parameters are positive and of the order of one.

    Args:
        system: the system.
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


class LoopCloser:
    """Moves positions onto the loop closures by the Newton's method of :mod:`dalembert.constraints.closure`.

    Args:
        system: the system, which has constraints.
    """

    def __init__(self, system: MultibodySystem):
        assert system.constraints is not None
        phi = system.constraints.closing
        self.system = system
        self.program = program_of(system.scope.graph, {"phi": phi, "slope": forward(phi, system.q)}, "closure")
        self.lengths = np.isin(np.arange(len(system.q)), system.lengths)

    def __call__(self, inputs: Inputs, rng: np.random.Generator | None = None) -> bool:
        """Change ``q`` among the inputs; false if no start arrives.

        Args:
            inputs: all inputs.
            rng: source of further starting points, anywhere; none by default.
        """
        system, start = self.system, inputs["q"].copy()

        def numbers(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            given = {**inputs, "q": q}
            found = evaluate(self.program, {port.name: given[port.name] for port in self.program.inputs})
            return np.asarray(found["phi"], dtype=float), _tangent(system, np.asarray(found["slope"], dtype=float), q)

        def at(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            phi, slope = numbers(q)
            return phi / size, slope * unit / size[:, None]

        def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
            q = q + unit * step
            _normalise(system, q)
            return q

        for _ in range(1 if rng is None else 12):
            _normalise(system, start)
            size, unit = _units(numbers(start)[1], self.lengths)
            inputs["q"], left = newton(at, move, start, CLOSED, STEPS)
            if np.isfinite(left).all() and np.abs(left).max(initial=0.0) < CLOSED:
                return True
            if rng is not None:
                start = rng.normal(size=start.shape)
        return False


def neutral(system: MultibodySystem) -> np.ndarray:
    """The position with all joints at zero and all quaternions at identity.

    Args:
        system: the system.
    """
    q = np.zeros(len(system.q))
    for first, _ in system.quaternions:
        q[first + 3] = 1
    return q


def _units(slope: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is one of every row and of every coordinate, by gradients at a start, as symbols may be of any length: a
    radian, or as far as slides go for the same change.
    """
    slope = np.nan_to_num(slope)
    rows = np.abs(np.where(lengths, 0.0, slope)).max(axis=1, initial=0.0)  # lengths per radian: the size of a loop
    rows = np.where(rows > 0, rows, np.abs(slope).max(axis=1, initial=0.0))
    rows = np.where(rows > ROUNDING * rows.max(initial=0.0), rows, rows.max(initial=0.0) or 1.0)
    far = np.abs(slope[:, lengths] / rows[:, None]).max(initial=0.0)
    return rows, np.where(lengths, 1 / far if far > 0 else 1.0, 1.0)


def _tangent(system: MultibodySystem, slope: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Derivatives along unit quaternions only: what a step adds to their length, normalising would take away again."""
    slope = slope.copy()
    for first, _ in system.quaternions:
        unit = q[first : first + 4]
        slope[:, first : first + 4] -= np.outer(slope[:, first : first + 4] @ unit, unit)
    return slope


def _normalise(system: MultibodySystem, q: np.ndarray) -> None:
    for first, _ in system.quaternions:
        q[first : first + 4] /= np.linalg.norm(q[first : first + 4])

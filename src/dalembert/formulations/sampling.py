"""Numbers for expressions at typical states: to choose pivots, independent velocities, and to compare."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import unit_in_place
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
    """Moves positions onto the loop closures by Newton's method.

    Args:
        system: the system, which has constraints.
    """

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
            inputs: all inputs.
            rng: source of further starting points, anywhere; none by default.
        """
        _normalise(self.system, inputs["q"])
        start = inputs["q"].copy()
        for _ in range(1 if rng is None else 12):
            inputs["q"], size = start.copy(), np.zeros(0)
            for _ in range(60):
                result = evaluate(self.program, {port.name: inputs[port.name] for port in self.program.inputs})
                if not (np.isfinite(result["phi"]).all() and np.isfinite(result["slope"]).all()):
                    break  # just half a turn away
                size = size if len(size) else _sizes(result["slope"])
                miss = result["phi"] / size
                if np.abs(miss).max() < 1e-13:
                    return True
                slope = _tangent(self.system, result["slope"], inputs["q"]) / size[:, None]
                unit = _units(slope, self.bent, self.lengths)
                step = unit * np.linalg.lstsq(slope * unit, miss, rcond=1e-8)[0]
                # Along coordinates in which closures are straight, Newton's method needs no caution; elsewhere angles
                # go half a radian at once, and lengths half as far as the loops are open.
                reach = np.where(self.lengths, max(1.0, float(np.abs(result["phi"]).max())), 1.0)
                turn = float(np.abs(step / reach)[self.bent].max(initial=0.0))
                inputs["q"] = inputs["q"] - step * min(1.0, 0.5 / max(turn, 1e-300))
                _normalise(self.system, inputs["q"])
            if len(size) and np.abs(result["phi"] / size).max() < 1e-10:
                return True
            if rng is not None:
                start = rng.normal(size=start.shape)
                _normalise(self.system, start)
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

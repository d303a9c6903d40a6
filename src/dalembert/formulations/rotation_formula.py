"""Whether nine formulas are a rotation, as w~ = R^T Rdot takes for granted.

Of independent coordinates they are one at every state. Of redundant ones - four Euler parameters, nine direction
cosines - they are where these satisfy what they have to; that is known to the user only, but leaves every coordinate
some freedom. A wrong sign leaves a rotation, if any, where an angle stands still.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arrays import identity, product
from dalembert.algebra.rotations import is_rotation
from dalembert.errors import ArgumentError
from dalembert.formulations.scope import Scope, without_unused_inputs
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of

STARTS, STEPS = 6, 60
"""Random states, and steps of Newton's method from each; at double roots every step halves the distance."""

NEARBY, STILL = 0.1, 1e-3
"""Distance of a second start, and change below which a coordinate has come back to where it was."""


def expect_rotation(scope: Scope, R: np.ndarray, what: str) -> None:
    """Refuse formulas that are no rotation.

    Args:
        scope: the symbols of the derivation.
        R: 3 x 3 traced scalars and numbers.
        what: whose rotation, for the error message.
    """
    rows, columns = np.triu_indices(3)
    misses = (product(R.T, R) - identity(3))[rows, columns]
    program = without_unused_inputs(program_of(scope.graph, {"misses": misses, "R": R}, "rotation"))
    inputs = _Inputs(scope, program)
    slopes = program_of(scope.graph, {"misses": misses, "slope": forward(misses, inputs.symbols)}, "rotation")
    slopes = without_unused_inputs(slopes, [port.name for port in program.inputs])
    rng = np.random.default_rng(1)
    starts = [inputs.typical(rng) for _ in range(STARTS)]
    found = [inputs.evaluate(program, x) for x in starts]
    finite = [k for k, values in enumerate(found) if np.isfinite(values["R"]).all()]
    if all(is_rotation(found[k]["R"]) for k in finite):
        return
    miss = max(float(np.abs(found[k]["misses"]).max()) for k in finite)
    if miss <= 1e-9:
        raise ArgumentError(f"{what} is a reflection: its determinant is -1, an axis points the wrong way")
    still, proper = set(inputs.coordinates), False
    for k in finite if inputs.names else []:
        first = inputs.onto(slopes, starts[k])
        aside = NEARBY * rng.uniform(0.5, 1, len(starts[k])) * rng.choice([-1, 1], len(starts[k]))
        second = None if first is None else inputs.onto(slopes, first + aside)
        if first is not None and second is not None:
            proper |= is_rotation(inputs.evaluate(program, first)["R"])  # nine free entries make reflections, too
            still = {j for j in still if abs(second[j] - first[j]) < STILL}
    if proper and not still:
        return
    names = ", ".join(str(inputs.names[j]) for j in sorted(still))
    raise ArgumentError(
        f"{what} is no rotation: R^T R differs from the identity by {miss:.2g} at random states, and R is "
        + (f"one only where {names} does not move" if proper else "nowhere one")
    )


class _Inputs:
    """The symbols that formulas have, in one vector.

    Args:
        scope: the symbols of the derivation.
        program: of the formulas.
    """

    def __init__(self, scope: Scope, program: Program):
        self.ports = program.inputs
        arrays = [scope.arrays[port.name] for port in self.ports]
        self.symbols = np.concatenate(arrays) if arrays else np.zeros(0, dtype=object)
        self.names = [name for port in self.ports for name in scope.names[port.name]]
        self.positive = [port.name in scope.parameters for port in self.ports for _ in scope.names[port.name]]
        self.coordinates = [k for k, positive in enumerate(self.positive) if not positive]

    def typical(self, rng: np.random.Generator) -> np.ndarray:
        """Random values; parameters are of the order of one."""
        n = len(self.names)
        return np.where(self.positive, rng.uniform(0.7, 1.3, n), rng.normal(size=n))

    def evaluate(self, program: Program, x: np.ndarray) -> dict[str, np.ndarray]:
        """Numbers at one point."""
        given, first = {}, 0
        for port in self.ports:
            size = int(np.prod(port.shape))
            given[port.name] = x[first : first + size].reshape(port.shape)
            first += size
        return evaluate(program, given)

    def onto(self, slopes: Program, x: np.ndarray) -> np.ndarray | None:
        """The nearest point, or so, at which nothing is missed; None if Newton's method does not arrive."""
        for _ in range(STEPS):
            values = self.evaluate(slopes, x)
            if not (np.isfinite(values["misses"]).all() and np.isfinite(values["slope"]).all()):
                return None
            if np.abs(values["misses"]).max() < 1e-12:
                return x
            step = np.linalg.lstsq(values["slope"], values["misses"], rcond=1e-8)[0]
            x = x - step * min(1.0, 0.5 / max(float(np.abs(step).max()), 1e-300))
        return None

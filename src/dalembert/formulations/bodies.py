"""Bodies whose motion is given by formulas, for systems and coordinates that are no tree of joints.

l, m, g, x, theta = sympy.symbols("l m g x theta")
pendulum = MovingBodies("pendulum", [theta], [MovingBodyFormula("bob", m, [l*sin(theta), 0, -l*cos(theta)])],
                        gravity=[0, 0, -g])
derive(pendulum, "kane")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import identity, product
from dalembert.algebra.rotations import is_rotation
from dalembert.algebra.vectors import vect
from dalembert.constraints.closure import newton
from dalembert.errors import ArgumentError
from dalembert.formulations.scope import Scope, without_unused_inputs
from dalembert.formulations.system import MovingBody, MultibodySystem, Place
from dalembert.model.names import rate_name
from dalembert.model.record import is_finite
from dalembert.tracing.derivatives import forward, reverse
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of


@dataclass(frozen=True, eq=False)
class MovingBodyFormula:
    """A body, or particle, at a position given by formulas.

    Args:
        name: of the body.
        mass: its mass.
        position: of its centre of mass, three SymPy expressions in the coordinates, inertial axes.
        rotation: 3 x 3, body to inertial components; None for a particle or a body that does not turn. Redundant
            coordinates, such as Euler parameters, are taken to be what makes it a rotation.
        inertia: 3 x 3 inertia about the centre of mass, body axes, with a rotation; None for a particle.
    """

    name: str
    mass: Any
    position: Sequence[Any]
    rotation: Any = None
    inertia: Any = None


@dataclass(frozen=True, eq=False)
class MovingBodies:
    """A system of bodies and the coordinates that describe it.

    Args:
        name: for display.
        coordinates: symbols, names or functions of time of the coordinates; all other symbols are parameters.
        bodies: the bodies.
        gravity: acceleration of free fall, inertial axes.
        potential: potential energy of springs and the like, a SymPy expression in the coordinates.
    """

    name: str
    coordinates: Sequence[Any]
    bodies: Sequence[MovingBodyFormula]
    gravity: Sequence[Any] = (0, 0, 0)
    potential: Any = 0

    def system(self) -> MultibodySystem:
        """The system of moving bodies, its Jacobians made by differentiation."""
        names = [str(x) for x in self.coordinates]
        if not names:
            raise ArgumentError(f"{self.name!r}: there must be a coordinate")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ArgumentError(f"{self.name!r}: the coordinate {', '.join(twice)} is given twice")
        own = [body.name for body in self.bodies]
        if twice := sorted({name for name in own if own.count(name) > 1}):
            raise ArgumentError(f"{self.name!r}: two bodies are called {', '.join(twice)}")
        self._check_symbols(names)
        scope = Scope()
        q = scope.input("q", self.coordinates)
        v = scope.input("v", [_rate(x) for x in self.coordinates])
        bodies = [self._body(scope, q, body) for body in self.bodies]
        by_name = {body.name: body for body in bodies}

        def place(name: str) -> Place:
            if name not in by_name:
                raise ArgumentError(f"{self.name!r} has no body {name!r}; it has {', '.join(by_name)}")
            body = by_name[name]
            return Place(body.rotation, body.center, product(body.rotation, body.Jw), body.Jv)

        gravity = scope.read(list(self.gravity))
        passive = []
        if not scalar.is_zero(self.potential):
            energy = scope.read(self.potential)[()]
            if not all(scalar.is_zero(x) for x in reverse(energy, v)):
                raise ArgumentError(f"{self.name!r}: its potential depends on velocities; begin with from_lagrangian")
            passive.append(("the further potential energy", -reverse(energy, q)))
        named = [(name, name) for name in names]
        return MultibodySystem(self.name, scope, q, v, v.copy(), bodies, gravity, place, named, passive=passive)

    def _check_symbols(self, names: Sequence[str]) -> None:
        """All is finite, and nothing depends on time: what time moves has velocities that no Jacobian gives."""
        given = [self.potential, *self.gravity]
        for body in self.bodies:
            parts = (body.mass, body.position, body.rotation, body.inertia)
            entries = [x for part in parts if part is not None for x in np.array(part, dtype=object).flat]
            if wrong := [x for x in entries if not is_finite(x)]:
                raise ArgumentError(f"body {body.name!r}: expected finite numbers and expressions, got {wrong[0]}")
            given += entries
        if wrong := [x for x in given if not is_finite(x)]:
            raise ArgumentError(f"{self.name!r}: its gravity or potential is not finite, {wrong[0]}")
        functions = {x: x.func(0) for x in self.coordinates if scalar.is_sympy(x) and x.is_Function}
        found = {s.name for x in given if scalar.is_sympy(x) for s in x.xreplace(functions).free_symbols}
        if "t" in found.difference(names):
            raise ArgumentError(
                f"{self.name!r}: is the symbol t time? Then begin with from_lagrangian(..., t=t), or constrain a "
                "coordinate by pfaffian=[...]; if not, give it another name"
            )

    @staticmethod
    def _body(scope: Scope, q: np.ndarray, body: MovingBodyFormula) -> MovingBody:
        center = scope.read(list(body.position))
        if center.shape != (3,):
            raise ArgumentError(f"body {body.name!r}: its position has shape {center.shape}, must be three expressions")
        if body.inertia is not None and body.rotation is None:
            raise ArgumentError(
                f"body {body.name!r} has an inertia and no rotation: give its rotation=..., the identity if it "
                "does not turn"
            )
        mass = scope.read(body.mass)[()]
        R: Any = arrays.identity(3)
        Jw = np.zeros((3, len(q)), dtype=object)
        inertia = None
        if body.rotation is not None:
            R = scope.read(body.rotation)
            if R.shape != (3, 3):
                raise ArgumentError(f"body {body.name!r}: its rotation has shape {R.shape}, must be 3 x 3")
            expect_rotation(scope, R, f"body {body.name!r}: its rotation")
            slopes = forward(R, q)
            for k in range(len(q)):  # w~ = R^T Rdot
                Jw[:, k] = vect(product(R.T, slopes[:, :, k]))
            inertia = None if body.inertia is None else scope.read(body.inertia)
            if inertia is not None and inertia.shape != (3, 3):
                raise ArgumentError(f"body {body.name!r}: its inertia has shape {inertia.shape}, must be 3 x 3")
        return MovingBody(body.name, mass, inertia, R, center, Jw, forward(center, q))


def _rate(coordinate: Any) -> Any:
    if scalar.is_sympy(coordinate) and coordinate.is_Function:
        return coordinate.diff(coordinate.args[0])
    return rate_name(str(coordinate))


RANDOM_STARTS, NEWTON_STEPS = 6, 60
"""Random states, and steps of Newton's method from each; at double roots every step halves the distance."""

ORTHOGONAL, REFLECTED = 1e-12, 1e-9
"""Entries of R^T R - 1 of a rotation that Newton's method has found, and of formulas that are orthogonal everywhere."""

NEARBY, STILL = 0.1, 1e-3
"""Distance of a second start, and change below which a coordinate has come back to where it was."""


def expect_rotation(scope: Scope, R: np.ndarray, what: str) -> None:
    """Refuse formulas that are no rotation, as w~ = R^T Rdot takes for granted.

    In independent coordinates they are one at every state. In redundant ones - four Euler parameters, nine direction
    cosines - they are where these satisfy their constraints, which only the user knows, but which leave every
    coordinate some freedom. A wrong sign leaves a rotation, if any, where an angle stands still.

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
    starts = [inputs.typical(rng) for _ in range(RANDOM_STARTS)]
    found = [inputs.evaluate(program, x) for x in starts]
    finite = [k for k, values in enumerate(found) if np.isfinite(values["R"]).all()]
    if all(is_rotation(found[k]["R"]) for k in finite):
        return
    miss = max(float(np.abs(found[k]["misses"]).max()) for k in finite)
    if miss <= REFLECTED:
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
        f"{what} is not a rotation: R^T R differs from the identity by {miss:.2g} at random states, and R is "
        + (f"one only where {names} does not move" if proper else "one nowhere")
    )


class _Inputs:
    """The symbols that formulas have, in one vector.

    Args:
        scope: the symbols of the derivation.
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

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            values = self.evaluate(slopes, x)
            return values["misses"], values["slope"]

        x, left = newton(at, lambda x, step: x + step, x, ORTHOGONAL, NEWTON_STEPS)
        return x if np.abs(left).max() <= ORTHOGONAL else None

"""The equations of motion as steppers ask for them: once over traced scalars, once as compiled kernels.

A stepper is written once against :class:`Equations`. Given :class:`TracedEquations` it becomes part of a program, given
:class:`KernelEquations` it advances one state by calls of kernels, with control and forces that may be
any Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, Scalar, product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.triangular import factor
from dalembert.compiler.evaluate import inline
from dalembert.compiler.kernel import Kernel
from dalembert.dynamics import Dynamics
from dalembert.simulation import manifold
from dalembert.simulation.kernels import state_kernel

Control = Callable[[Scalar, Array, Array], Array]
"""tau = control(t, q, v)."""


class Equations(Protocol):
    """What a stepper may ask about a mechanism. Everything is a function of one state."""

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        """Accelerations under control, wrenches, gravity and whatever the dynamics includes; any quaternions."""

    def rate(self, q: Array, v: Array) -> Array:
        """qdot = Gamma(q) v."""

    def displaced(self, q: Array, d: Array) -> Array:
        """The position reached from q along the tangent vector d."""

    def normalised(self, q: Array) -> Array:
        """q with quaternions of unit length."""

    def momentum(self, q: Array, v: Array) -> Array:
        """p = M(q) v."""

    def velocity(self, q: Array, p: Array) -> Array:
        """v = M(q)^-1 p."""

    def slope(self, t: Scalar, q: Array, v: Array) -> Array:
        """Derivative of the Lagrangian along tangent vectors of q, plus all forces that have no potential."""

    def on_rotations(self, function: Callable[[Array, Array], Array], d: Array, p: Array) -> Array:
        """p, with ``function(part of d, part of p)`` in the place of the parts that belong to quaternions."""


class TracedEquations:
    """The equations over traced scalars.

    Args:
        dynamics: the mechanism.
        control: generalised forces as a function of time, positions and velocities, all traced.
        wrenches: external wrenches, (number of frames, 6), if the dynamics has any.
        parameters: values of the parameters, if the dynamics has any.
    """

    def __init__(
        self, dynamics: Dynamics, control: Control, wrenches: Array | None = None, parameters: Array | None = None
    ):
        self.dynamics, self.control = dynamics, control
        self._given = {"wrenches": wrenches, "parameters": parameters}
        self._tree = dynamics.mechanism.tree

    def _quantity(self, name: str, **state: Array) -> Array:
        program = self.dynamics.program(name)
        given = {**state, **self._given}
        (answer,) = inline(program, {port.name: given[port.name] for port in program.inputs}).values()
        return answer

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        q = self.normalised(q)
        return self._quantity("forward_dynamics", q=q, v=v, tau=self.control(t, q, v))

    def rate(self, q: Array, v: Array) -> Array:
        return manifold.rate(self._tree, q, v)

    def displaced(self, q: Array, d: Array) -> Array:
        return manifold.displaced(self._tree, q, d)

    def normalised(self, q: Array) -> Array:
        return manifold.normalised(self._tree, q)

    def momentum(self, q: Array, v: Array) -> Array:
        return product(self._quantity("mass_matrix", q=q), v)

    def velocity(self, q: Array, p: Array) -> Array:
        M = self._quantity("mass_matrix", q=q)
        return factor(M, self._tree.velocity_parents).solve(p)

    def slope(self, t: Scalar, q: Array, v: Array) -> Array:
        """From tau = d/dt (M v) + w x (M v) - slope, where w x concerns quaternions only, d/dt M = C + C^T, and
        M a + bias = tau.
        """
        C = self._quantity("coriolis_matrix", q=q, v=v)
        nothing = scalar.zeros(len(v))
        gyration = manifold.on_rotations(self._tree, cross, v, self.momentum(q, v), nothing)
        bias = self._quantity("bias", q=q, v=v)
        return product(C, v) + product(C.T, v) + gyration - bias + self.control(t, q, v)

    def on_rotations(self, function: Callable[[Array, Array], Array], d: Array, p: Array) -> Array:
        return manifold.on_rotations(self._tree, function, d, p, p)


class KernelEquations:
    """The equations as kernels, called on one state at a time.

    Args:
        dynamics: the mechanism.
        control: generalised forces as a function of time, positions and velocities.
        wrenches: external wrenches, (number of frames, 6), as such a function; asked only if the dynamics has any.
        parameters: values of the parameters, if the dynamics has any.

    Attributes:
        evaluations: how often forces were evaluated.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        control: Control,
        wrenches: Control | None = None,
        parameters: np.ndarray | None = None,
    ):
        self.dynamics, self.control, self.wrenches = dynamics, control, wrenches
        self._last = () if parameters is None else (parameters,)
        self._tree = dynamics.mechanism.tree
        self._kernels: dict[str, Any] = {}
        self.evaluations = 0

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = part_kernel(self.dynamics, name)
        return self._kernels[name]

    def _call(self, name: str, t: Scalar, q: Array, v: Array) -> Any:
        self.evaluations += 1
        tau = self.control(t, q, v)
        loads = () if self.wrenches is None else (self.wrenches(t, q, v),)
        return self._kernel(name)(q, v, tau, *loads, *self._last)

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        return self._call("acceleration", t, q, v)

    def flow(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of the state x = [q; v]; quaternions are normalised before use.

        Args:
            t: time.
            x: state.
        """
        nq = self._tree.nq
        return self._call("flow", t, x[:nq], x[nq:])

    def rate(self, q: Array, v: Array) -> Array:
        return self._kernel("rate")(q, v)

    def displaced(self, q: Array, d: Array) -> Array:
        return self._kernel("displaced")(q, d)

    def normalised(self, q: Array) -> Array:
        return manifold.normalise_in_place(self._tree, q.copy())

    def momentum(self, q: Array, v: Array) -> Array:
        return self._kernel("momentum")(q, v, *self._last)

    def velocity(self, q: Array, p: Array) -> Array:
        return self._kernel("velocity")(q, p, *self._last)

    def slope(self, t: Scalar, q: Array, v: Array) -> Array:
        return self._call("slope", t, q, v)

    def on_rotations(self, function: Callable[[Array, Array], Array], d: Array, p: Array) -> Array:
        return manifold.on_rotations(self._tree, function, d, p, p)


def part_kernel(dynamics: Dynamics, name: str) -> Kernel:
    """One of the equations as a kernel.

    Args:
        dynamics: the mechanism.
        name: ``acceleration``, ``flow``, ``slope``, ``rate``, ``displaced``, ``momentum`` or ``velocity``.
    """
    inputs, function, space = _PARTS[name]
    m = dynamics.mechanism
    size = {"q": m.nq, "v": m.nv, "x": m.nq + m.nv}[space]
    return state_kernel(dynamics, name, inputs, size, function)


def _traced(dynamics: Dynamics, given: dict[str, Array]) -> TracedEquations:
    return TracedEquations(dynamics, lambda t, q, v: given["tau"], given.get("wrenches"), given.get("parameters"))


def _flow(dynamics: Dynamics, given: dict[str, Array]) -> Array:
    equations, q, v = _traced(dynamics, given), given["q"], given["v"]
    return scalar.asarray([*equations.rate(q, v), *equations.acceleration(0, q, v)])


_MOTION = ("q", "v", "tau", "wrenches", "parameters")
_PARTS: dict[str, tuple[tuple[str, ...], Callable[[Dynamics, dict[str, Array]], Array], str]] = {
    "acceleration": (_MOTION, lambda d, g: _traced(d, g).acceleration(0, g["q"], g["v"]), "v"),
    "flow": (_MOTION, _flow, "x"),
    "slope": (_MOTION, lambda d, g: _traced(d, g).slope(0, g["q"], g["v"]), "v"),
    "rate": (("q", "v"), lambda d, g: _traced(d, g).rate(g["q"], g["v"]), "q"),
    "displaced": (("q", "v"), lambda d, g: _traced(d, g).displaced(g["q"], g["v"]), "q"),
    "momentum": (("q", "v", "parameters"), lambda d, g: _traced(d, g).momentum(g["q"], g["v"]), "v"),
    "velocity": (("q", "v", "parameters"), lambda d, g: _traced(d, g).velocity(g["q"], g["v"]), "v"),
}
"""What is compiled, by name: inputs, the function that is traced, and whether its result is like q, v or both."""

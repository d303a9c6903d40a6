"""The equations of motion as compiled kernels, called on one state at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.kinematics import manifold
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.simulation.equations import Control, TracedEquations
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.tracing.program import Port

Traceable = Callable[[Stabiliser, dict[str, Array]], Array]
"""A function of a mechanism and its traced inputs by name."""


class KernelEquations:
    """The equations as kernels, called on one state at a time.

    Args:
        system: what moves.
        control: generalised forces as a function of time, positions and velocities.
        wrenches: external wrenches, (number of frames, 6), as such a function; asked only if the system has any.
        parameters: values of the parameters, if the system has any.

    Attributes:
        evaluations: how often forces were evaluated.
        near_singular: whether accelerations are found as near a singular configuration; set from step to step.
    """

    def __init__(
        self,
        system: Stabiliser,
        control: Control,
        wrenches: Control | None = None,
        parameters: np.ndarray | None = None,
    ):
        self.system, self.control, self.wrenches = system, control, wrenches
        self._last = () if parameters is None else (parameters,)
        self._tree = system.tree
        self._kernels: dict[str, Any] = {}
        self.evaluations, self.near_singular = 0, False

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = part_kernel(self.system, name)
        return self._kernels[name]

    def _call(self, name: str, t: Scalar, q: Array, v: Array) -> Any:
        self.evaluations += 1
        tau = self.control(t, q, v)
        given: tuple[Any, ...] = () if self.wrenches is None else (self.wrenches(t, q, v),)
        if self.system.dynamics.is_tree:
            return self._kernel(name)(q, v, tau, *given, *self._last)
        found = self._kernel(name)(q, v, tau, *given, np.float64(t), *self._last)
        if name == "slope" or (not self.near_singular and np.isfinite(found).all()):
            return found
        nv = self._tree.nv
        found[-nv:] = self.system.acceleration_anywhere(t, self.normalised(q), v, tau, *given)
        return found

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

    def _of_state(self, name: str, t: Scalar, q: Array, v: Array) -> Array:
        time: tuple[Any, ...] = () if self.system.dynamics.is_tree else (np.float64(t),)
        return self._kernel(name)(q, v, *time, *self._last)

    def tangent(self, t: Scalar, q: Array, v: Array) -> Array:
        return self._of_state("tangent", t, q, v) if self.system.relaxation else v

    def rate(self, t: Scalar, q: Array, v: Array) -> Array:
        return self._of_state("rate", t, q, v)

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


def part_kernel(system: Stabiliser, name: str) -> Kernel:
    """One of the equations as a kernel.

    Args:
        system: what moves.
        name: ``acceleration``, ``flow``, ``slope``, ``tangent``, ``rate``, ``displaced``, ``momentum`` or ``velocity``.
    """
    if name not in system.made:  # made once, its code kept on disk as that of all kernels
        inputs, function, space = _PARTS[name]
        m = system.mechanism
        ports, output = input_ports(system, inputs), Port(name, ({"q": m.nq, "v": m.nv, "x": m.nq + m.nv}[space],))
        key = system.digest("part", name)
        system.made[name] = traced_kernel(
            name, ports, [output], lambda given: function(system, given), key, system.dynamics.dtype
        )
    return system.made[name]


def input_ports(system: Stabiliser, names: Sequence[str]) -> tuple[Port, ...]:
    """The named inputs that this system has: q, everything of nv entries; wrenches, time and parameters if it has any.

    Args:
        system: what moves.
        names: in calling order.
    """
    m, dynamics = system.mechanism, system.dynamics
    shapes = {
        "q": (m.nq,),
        "wrenches": (len(dynamics.wrenches), 6) if dynamics.wrenches else None,
        "t": None if dynamics.is_tree else (),
        "parameters": (len(dynamics.parameter_names),) if dynamics.parameter_names else None,
    }
    found = [(name, shapes.get(name, (m.nv,))) for name in names]
    return tuple(Port(name, shape) for name, shape in found if shape is not None)


def _traced(system: Stabiliser, given: dict[str, Array]) -> TracedEquations:
    return TracedEquations(system, lambda t, q, v: given["tau"], given.get("wrenches"), given.get("parameters"))


def _flow(system: Stabiliser, given: dict[str, Array]) -> Array:
    equations, t, q, v = _traced(system, given), given.get("t", 0), given["q"], given["v"]
    return arrays.asarray([*equations.rate(t, q, v), *equations.acceleration(t, q, v)])


_STATE = ("q", "v", "t", "parameters")
_MOTION = ("q", "v", "tau", "wrenches", "t", "parameters")
_PARTS: dict[str, tuple[tuple[str, ...], Traceable, str]] = {
    "acceleration": (_MOTION, lambda s, g: _traced(s, g).acceleration(g.get("t", 0), g["q"], g["v"]), "v"),
    "flow": (_MOTION, _flow, "x"),
    "slope": (_MOTION, lambda s, g: _traced(s, g).slope(g.get("t", 0), g["q"], g["v"]), "v"),
    "tangent": (_STATE, lambda s, g: _traced(s, g).tangent(g.get("t", 0), g["q"], g["v"]), "v"),
    "rate": (_STATE, lambda s, g: _traced(s, g).rate(g.get("t", 0), g["q"], g["v"]), "q"),
    "displaced": (("q", "v"), lambda s, g: _traced(s, g).displaced(g["q"], g["v"]), "q"),
    "momentum": (("q", "v", "parameters"), lambda s, g: _traced(s, g).momentum(g["q"], g["v"]), "v"),
    "velocity": (("q", "v", "parameters"), lambda s, g: _traced(s, g).velocity(g["q"], g["v"]), "v"),
}
"""What is compiled, by name: inputs, the function that is traced, and whether its result is like q, v or both."""

"""The equations of motion as steppers ask for them: over traced scalars, and as compiled kernels.

A stepper is written once against :class:`StepperEquations`. Given :class:`TracedEquations` it becomes part of a
program; given :class:`KernelEquations` it advances one state by calls of kernels, with control and forces that may be
any Python function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar, absolute, is_zero, same, select
from dalembert.algebra.vectors import cross
from dalembert.algorithms.triangular import factor
from dalembert.constraints.known_rank import solve_of_rank
from dalembert.constraints.pivots import Pivots
from dalembert.errors import UnsupportedError
from dalembert.kinematics import manifold, position_rate
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Port

Control = Callable[[Scalar, Array, Array], Array]
"""tau = control(t, q, v)."""


class StepperEquations(Protocol):
    """What a stepper may ask about a mechanism. Everything is a function of one state."""

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        """Accelerations under control, wrenches, gravity and whatever the system includes; any quaternions."""

    def tangent(self, t: Scalar, q: Array, v: Array) -> Array:
        """The tangent vector along which the position moves: v, unless positions go back to constraints by it."""

    def rate(self, t: Scalar, q: Array, v: Array) -> Array:
        """qdot = Gamma(q) tangent."""

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
        control: generalised forces as a function of time, positions and velocities, all traced.
        wrenches: external wrenches, (number of frames, 6), if the system has any.
        parameters: values of the parameters, if the system has any.
    """

    def __init__(
        self, system: Stabiliser, control: Control, wrenches: Array | None = None, parameters: Array | None = None
    ):
        self.system, self.control = system, control
        self._given = {"wrenches": wrenches, "parameters": parameters}
        self._tree = system.tree

    def including(self, include: tuple[str, ...]) -> TracedEquations:
        """The same with other terms of the joints.

        Args:
            include: which of ``armature``, ``damping`` and ``friction`` enter.
        """
        own = self.system.dynamics
        if include == own.include:
            return self
        system = Stabiliser(own.replace(include=tuple(include)), self.system.relaxation)
        return TracedEquations(system, self.control, **self._given)

    def _quantity(self, name: str, **state: Any) -> Array:
        return self._quantities(name, **state)[0]

    def _quantities(self, name: str, **state: Any) -> list[Array]:
        program, given = self.system.dynamics.program(name), {**self._given, **state}
        return list(inline(program, {port.name: given[port.name] for port in program.inputs}).values())

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        q = self.normalised(q)
        tau = self.control(t, q, v)
        a = self._quantity("forward_dynamics", q=q, v=v, tau=tau, t=t)
        if not (self.system.relaxation and self.system.has_loops):
            return a
        pivots = self.system.dynamics.pivots
        rows = list(pivots.together)
        _, G, rate, _ = self._quantities("constraints", q=q, v=v, t=t)
        return a + self.system.relaxation * self._pushed(q, G[rows], rate[rows] - product(G[rows], v), pivots)

    def acceleration_by(self, M: Array, t: Scalar, q: Array, v: Array) -> Array:
        """The same where the inertia matrix is factored in any case: of trees by its factors.

        Args:
            M: inertia matrix.
        """
        if not self.system.dynamics.is_tree:
            return self.acceleration(t, q, v)
        q = self.normalised(q)
        bias = self._quantity("bias", q=q, v=v, t=t)
        return factor(M, self._tree.velocity_parents).solve(self.control(t, q, v) - bias)

    def tangent(self, t: Scalar, q: Array, v: Array) -> Array:
        """v + M^-1 G^T mu, with multipliers mu such that violations phi of positions decay, d phi/dt = -w phi (C. W.
        Gear, B. Leimkuhler, G. K. Gupta, J. Comput. Appl. Math. 12-13, 1985; there phi = 0, w being infinite).
        """
        dynamics = self.system.dynamics
        if not (self.system.relaxation and self.system.has_loops and dynamics.positional.rank):
            return v
        q, rows = self.normalised(q), list(dynamics.positional.together)
        phi, G, rate, _ = self._quantities("constraints", q=q, v=v, t=t)
        back = rate[rows] - product(G[rows], v) - self.system.relaxation * phi[rows]
        return v + self._pushed(q, G[rows], back, dynamics.positional)

    def _pushed(self, q: Array, G: Array, b: Array, pivots: Pivots) -> Array:
        """u = M^-1 G^T mu with G u = b: of all such vectors the one of least kinetic energy."""
        factors = factor(self._quantity("mass_matrix", q=q), self._tree.velocity_parents)
        MG = arrays.stack([factors.solve(row) for row in G])  # rows of G M^-1
        sizes = pivots.of_together(pivots.mobilities)
        mu = solve_of_rank(product(MG, G.T).tolist(), list(b), pivots.rank, sizes, pivots.kept_together)
        return product(MG.T, arrays.asarray(mu))

    def rate(self, t: Scalar, q: Array, v: Array) -> Array:
        if self.system.has_speeds:
            return self._quantity("position_rate", q=self.normalised(q), v=v, t=t)
        return position_rate(self._tree, q, self.tangent(t, q, v))

    def displaced(self, q: Array, d: Array) -> Array:
        if self.system.has_speeds:
            raise UnsupportedError(
                f"the velocities of {self.system.mechanism.name!r} are speeds of their own, not along its coordinates: "
                "of the methods of fixed step choose 'rk4', or an adaptive one"
            )
        return manifold.displaced(self._tree, q, d)

    def normalised(self, q: Array) -> Array:
        return manifold.normalised(self._tree, q)

    def mass_matrix(self, q: Array) -> Array:
        """M(q)."""
        return self._quantity("mass_matrix", q=q)

    def rows(self, t: Scalar, q: Array, v: Array) -> Array:
        """G of all constraints, (m, nv)."""
        return self._quantities("constraints", q=q, v=v, t=t)[1]

    def momentum(self, q: Array, v: Array) -> Array:
        return product(self._quantity("mass_matrix", q=q), v)

    def velocity(self, q: Array, p: Array) -> Array:
        M = self._quantity("mass_matrix", q=q)
        return factor(M, self._tree.velocity_parents).solve(p)

    def slope(self, t: Scalar, q: Array, v: Array) -> Array:
        """From tau = d/dt (M v) + w x (M v) - slope, where w x concerns quaternions only, d/dt M = C + C^T, and
        M a + bias = tau.
        """
        tau = self.control(t, q, v)
        if self.system.has_loops:
            raise UnsupportedError("the variational stepper does not know constraints; use 'rk4' or an adaptive method")
        C = self._quantity("coriolis_matrix", q=q, v=v)
        nothing = arrays.zeros(len(v))
        gyration = manifold.on_rotations(self._tree, cross, v, self.momentum(q, v), nothing)
        bias = self._quantity("bias", q=q, v=v, t=t)
        return product(C, v) + product(C.T, v) + gyration - bias + tau

    def on_rotations(self, function: Callable[[Array, Array], Array], d: Array, p: Array) -> Array:
        return manifold.on_rotations(self._tree, function, d, p, p)

    def projected(self, t: Scalar, q: Array, v: Array, order: int) -> tuple[Array, Array]:
        """The state brought back to the constraints by Newton's method of least displacement, unless drift is treated
        otherwise; NaN where loops are open then.

        A step of the order p that turns bodies by an angle e leaves violations of e^(p + 1), and each of Newton's
        doubles the exponent. So many are taken that a tenth of a radian ends at rounding: e^16.

        Args:
            order: of the method that made the step.
        """
        dynamics = self.system.dynamics
        if not self.system.has_loops:
            return q, v
        if self.system.projects:
            pivots, positional = dynamics.pivots, dynamics.positional
            rows, on_positions = list(pivots.together), list(positional.together)
            for _ in range(math.ceil(math.log2(16 / (order + 1))) if on_positions else 0):
                phi, G = self._quantities("positions", q=q, t=t)
                q = self.displaced(q, _least(G[on_positions], -phi[on_positions], positional))
            phi, G, rate, _ = self._quantities("constraints", q=q, v=v, t=t)
            v = v + _least(G[rows], rate[rows] - product(G[rows], v), pivots)
        else:
            phi = self._quantities("positions", q=q, t=t)[0]
        here = self._closed(phi)
        return q + here, v + here

    def _closed(self, phi: Array) -> Scalar:
        """Zero where loops are closed as far as they are in motions, NaN elsewhere."""
        dynamics, closed = self.system.dynamics, True
        allowed = self.system.openings(dynamics.setting(self._given["parameters"]).mechanism)
        for k, (off, most) in enumerate(zip(phi, allowed)):
            if dynamics.constraints.holonomic[k] and not is_zero(off) and not same(most, math.inf):
                closed = (absolute(off) <= most) & closed
        return 0 if closed is True else select(closed, 0, math.nan)


def _least(G: Array, b: Array, pivots: Pivots) -> Array:
    """The shortest x with G x = b, for rows of the rank that the pivots have."""
    square, sizes = product(G, arrays.asarray(G.T)), pivots.of_together(pivots.sizes)
    mu = solve_of_rank(square.tolist(), list(b), pivots.rank, sizes, pivots.kept_together)
    return product(G.T, arrays.asarray(mu))


Traceable = Callable[[Stabiliser, dict[str, Array]], Array]
"""A function of a mechanism and its traced inputs by name."""


class KernelEquations:
    """The equations as kernels, called on one state at a time.

    Args:
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
            time: tuple[Any, ...] = (np.float64(t),) if self.system.dynamics.takes_time else ()
            return self._kernel(name)(q, v, tau, *given, *time, *self._last)
        found = self._kernel(name)(q, v, tau, *given, np.float64(t), *self._last)
        if name == "slope" or (not self.near_singular and np.isfinite(found).all()):
            return found
        nv = self._tree.nv
        found[-nv:] = self.system.acceleration_anywhere(t, self.normalised(q), v, tau, *given)
        return found

    def acceleration(self, t: Scalar, q: Array, v: Array) -> Array:
        return self._call("acceleration", t, q, v)

    def flow(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of the state x = [q; v]; quaternions are normalised before use."""
        nq = self._tree.nq
        return self._call("flow", t, x[:nq], x[nq:])

    def _of_state(self, name: str, t: Scalar, q: Array, v: Array) -> Array:
        time: tuple[Any, ...] = (np.float64(t),) if self.system.dynamics.takes_time else ()
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
    """The named inputs that this system has: q, everything of nv entries, tau; wrenches, time, parameters if any.

    Args:
        names: in calling order.
    """
    m, dynamics = system.mechanism, system.dynamics
    shapes = {
        "q": (m.nq,),
        "wrenches": (len(dynamics.wrenches), 6) if dynamics.wrenches else None,
        "tau": (len(dynamics.input_names),),
        "t": () if dynamics.takes_time else None,
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

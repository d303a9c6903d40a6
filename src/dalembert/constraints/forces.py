"""Force elements: what each does to the velocities of a mechanism, and to its bodies, over any scalar.

Those of a mechanism act by default; ``elements=`` names the ones that do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot, norm
from dalembert.constraints.action import Action
from dalembert.constraints.gravity_fields import Effect, gravitation, gravitation_energy
from dalembert.constraints.joint_rows import function_of_time
from dalembert.constraints.scaling import longest
from dalembert.constraints.state import State
from dalembert.constraints.user import time_program, vector_program
from dalembert.errors import ArgumentError, ModelError
from dalembert.kinematics.manifold import moved
from dalembert.kinematics.relative import Pair
from dalembert.model import Mechanism
from dalembert.model.checks import expect_names
from dalembert.model.force import Force
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Program

CONSERVATIVE = ("spring", "torsional-spring", "joint-spring", "joint-stop", "attraction", "oblate-planet")
"""Kinds that store energy; their dampers take it, and all other kinds do work from outside."""


class ForceSet:
    """Chosen force elements of a mechanism, ready for evaluation over any scalar.

    Args:
        mechanism: the mechanism; users' functions in it are traced here, once.
        names: names of those that act, or ``"all"``.
    """

    def __init__(self, mechanism: Mechanism, names: Sequence[str] | str = "all"):
        self.mechanism = mechanism
        self.names = self.chosen = chosen_elements(mechanism, names)
        self.programs: dict[str, Program] = {}
        for item in self._items(mechanism):
            if item.function is not None:
                self.programs[item.name] = _program(mechanism, item)
            if item.kind in ("spring", "torsional-spring"):
                _refuse_idle(mechanism, item)

    def _items(self, mechanism: Mechanism) -> list[Force]:
        return [item for item in mechanism.forces if item.name in self.chosen]

    def each(self, state: State) -> dict[str, Effect]:
        """Generalised forces and actions on bodies of every chosen force, by name.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        return {item.name: self._effect(item, state) for item in self._items(state.mechanism)}

    def generalised(self, state: State) -> Array:
        """Sum of the generalised forces, nv, with the sign of tau.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        total = arrays.zeros(state.mechanism.nv)
        for part, _ in self.each(state).values():
            total = total + part
        return total

    def energy(self, state: State) -> Scalar:
        """Energy stored in springs, stops and attractions, J; other kinds store none, see :data:`CONSERVATIVE`.

        Args:
            state: of this mechanism, or of one with the same layout and other numbers.
        """
        total: Scalar = 0
        for item in self._items(state.mechanism):
            if item.kind in CONSERVATIVE:
                total = total + _energy(item, state)
        return total

    def _effect(self, item: Force, state: State) -> Effect:
        program = self.programs.get(item.name)
        match item.kind:
            case "spring" | "torsional-spring":
                return _between(item, state)
            case "wrench" | "user-wrench":
                return _wrench(item, state, program)
            case "user":
                assert program is not None
                return inline(program, state.arguments(program))["value"], []
            case "attraction" | "oblate-planet" | "gravity-field":
                return gravitation(item, state, program)
        x, k, gain = state.coordinate(item.a)
        push = _joint_push(item, state, x, gain * state.velocities[k], program)
        return arrays.asarray([gain * push if j == k else 0 for j in range(state.mechanism.nv)]), []


def _refuse_idle(mechanism: Mechanism, item: Force) -> None:
    """An error for springs whose ends cannot move against each other, or never part: they have no direction."""
    if len({mechanism.frame(end).body for end in (item.a, item.b)}) == 1:
        raise ModelError(
            f"force {item.name!r} joins {item.a!r} with {item.b!r}, which are on the same body: it moves nothing. Name "
            "two bodies that can move"
        )
    if item.kind != "spring" or mechanism.symbols:
        return
    rng = np.random.default_rng(0)
    starts = [moved(mechanism.tree, mechanism.neutral, rng.normal(size=mechanism.nv)) for _ in range(3)]
    apart = [State(mechanism, q).pair(item).offset for q in starts]
    if np.abs(np.array(apart, dtype=float)).max() <= 1e-13 * longest(mechanism):
        raise ModelError(
            f"force {item.name!r}: its ends on {item.a!r} and {item.b!r} coincide at every position, so that it has no "
            "direction. Say where it is fastened by placement_a and placement_b"
        )


def chosen_elements(mechanism: Mechanism, names: Sequence[str] | str) -> tuple[str, ...]:
    """Names of force elements; an error for one that there is not.

    Args:
        names: those that act, or ``"all"``.
    """
    known = tuple(item.name for item in mechanism.forces)
    if isinstance(names, str) and names == "all":
        return known
    names = expect_names((names,) if isinstance(names, str) else names, "elements")
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ArgumentError(
            f"{mechanism.name!r} has no force element {unknown[0]!r}; it has {', '.join(known) or 'none'}",
            remedy="none of them act with elements=()" if "none" in unknown else "",
        )
    return tuple(names)


def _program(mechanism: Mechanism, item: Force) -> Program:
    match item.kind:
        case "joint-force":
            return time_program(mechanism, item.name, item.function)
        case "user":
            return vector_program(mechanism, item.name, item.function, mechanism.nv)
        case "user-wrench":
            return vector_program(mechanism, item.name, item.function, 6)
    return vector_program(mechanism, item.name, item.function, 3, ("p", "t"))


# ------------------------------------------------------------------------------------------------------ between frames


def _between(item: Force, state: State) -> Effect:
    """A spring and damper on the distance, or on the angle about z of frame a."""
    pair = state.pair(item)
    stretch, slope = (_stretch if item.kind == "spring" else _twist)(pair, item.rest)
    zero = arrays.zeros(3)
    motion = pair.velocity if item.kind == "spring" else pair.turning
    if item.kind == "spring" and scalar.is_zero(item.rest):
        load = -item.stiffness * pair.offset  # has a direction where it matters, also where the ends coincide
        if not scalar.is_zero(item.damping):
            load = load - item.damping * dot(slope, motion) * slope
    else:
        pull = item.stiffness * stretch
        if not scalar.is_zero(item.damping):
            pull = pull + item.damping * dot(slope, motion)
        load = -pull * slope
    force, moment = (load, zero) if item.kind == "spring" else (zero, load)
    on, axes = (item.b, item.placement_b), (item.a, item.placement_a)
    return pair.generalised(force, moment), [Action(on, axes, force, moment, mutual=True)]


def _stretch(pair: Pair, rest: Scalar) -> tuple[Scalar, Array]:
    """|d| - rest and its derivative per d'; where its ends coincide a spring of some length has no direction."""
    length = norm(pair.offset)
    return length - rest, pair.offset / length


def _twist(pair: Pair, rest: Scalar) -> tuple[Scalar, Array]:
    """Twist of b about z of a, from its rest, and its derivative per w, also where other rotations are added to it.

    With R_ij' = w . (b_j x e_i), the angle of (R_00 + R_11, R_10 - R_01) is twice that of the quaternion's (w, z). It
    is turned back by the rest before it is measured, so that it jumps half a turn from there, wherever the rest is.
    """
    R, e = pair.rotation, arrays.identity(3)
    x, y = R[0, 0] + R[1, 1], R[1, 0] - R[0, 1]
    dx = cross(R[:, 0], e[0]) + cross(R[:, 1], e[1])
    dy = cross(R[:, 0], e[1]) - cross(R[:, 1], e[0])
    slope = (x * dy - y * dx) / (x * x + y * y)
    if scalar.is_zero(rest):
        return scalar.atan2(y, x), slope
    c, s = scalar.cos(rest), scalar.sin(rest)
    return scalar.atan2(c * y - s * x, c * x + s * y), slope


def _wrench(item: Force, state: State, program: Program | None) -> Effect:
    """A force and moment at the origin of frame a, in its axes or in those of frame b."""
    if program is None:
        components = arrays.asarray(item.components)
    else:
        components = inline(program, state.arguments(program))["value"]
    on = item.a, item.placement_a
    axes = (item.b, item.placement_b) if item.b else on
    pair = state.from_world(*on)
    turned = product(pair.rotation, arrays.identity(3)) if on == axes else state.from_world(*axes).rotation
    force, moment = components[:3], components[3:]
    total = pair.generalised(product(turned, force), product(turned, moment))
    return total, [Action(on, axes, force, moment, mutual=False)]


# ----------------------------------------------------------------------------------------------------------- on joints


def _joint_push(item: Force, state: State, x: Scalar, speed: Scalar, program: Program | None) -> Scalar:
    match item.kind:
        case "joint-spring":
            push = -item.stiffness * (x - item.rest)
            return push if scalar.is_zero(item.damping) else push - item.damping * speed
        case "joint-friction":
            return -item.value * _sign(speed, item.smoothing)
        case "joint-force":
            return item.value if program is None else function_of_time((), program, state)[0]
    return sum(side * _stop(item, depth, side * -speed) for side, depth in _depths(item, x))


def _depths(item: Force, x: Scalar) -> list[tuple[int, Scalar]]:
    """How far a joint is beyond the bounds of a stop, each with the direction in which that one pushes."""
    beyond = [(1, item.lower, item.lower - x), (-1, item.upper, x - item.upper)]
    return [(side, depth) for side, bound, depth in beyond if not _is_infinite(bound)]


def _is_infinite(x: Scalar) -> bool:
    return scalar.is_number(x) and math.isinf(x)


def _sign(x: Scalar, smoothing: Scalar) -> Scalar:
    """-1, 0 or 1; with a smoothing s the smooth x / sqrt(x^2 + s^2)."""
    if scalar.is_zero(smoothing):
        return scalar.select(x > 0, 1, scalar.select(x < 0, -1, 0))
    return x / scalar.sqrt(x * x + smoothing * smoothing)


def _stop(item: Force, depth: Scalar, closing: Scalar) -> Scalar:
    """Push of a spring and damper on the penetration; it never pulls, however fast the joint leaves."""
    inside, slope = _penetration(depth, item.smoothing)
    push = item.stiffness * inside
    if not scalar.is_zero(item.damping):
        push = push + item.damping * slope * closing
        push = scalar.select(push > 0, push, 0)
    return slope * push


def _penetration(depth: Scalar, smoothing: Scalar) -> tuple[Scalar, Scalar]:
    """The positive part of a depth and its slope; with a smoothing s the smooth (d + sqrt(d^2 + s^2)) / 2."""
    if scalar.is_zero(smoothing):
        return scalar.select(depth > 0, depth, 0), scalar.select(depth > 0, 1, 0)
    root = scalar.sqrt(depth * depth + smoothing * smoothing)
    return (depth + root) / 2, (1 + depth / root) / 2


def _energy(item: Force, state: State) -> Scalar:
    if item.is_field:
        return gravitation_energy(item, state)
    if item.kind == "joint-stop":
        depths = _depths(item, state.coordinate(item.a)[0])
        return sum(item.stiffness * _penetration(depth, item.smoothing)[0] ** 2 / 2 for _, depth in depths)
    if item.kind == "joint-spring":
        stretch = state.coordinate(item.a)[0] - item.rest
    elif item.kind == "spring" and scalar.is_zero(item.rest):
        offset = state.pair(item).offset
        return item.stiffness * dot(offset, offset) / 2
    else:
        stretch = (_stretch if item.kind == "spring" else _twist)(state.pair(item), item.rest)[0]
    return item.stiffness * stretch * stretch / 2


def generalised_forces(
    mechanism: Mechanism, q: Any, v: Any, t: Scalar = 0, elements: Sequence[str] | str = "all"
) -> dict[str, Array]:
    """Generalised forces of chosen force elements, by name, over any scalar; with the sign of tau.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        t: time, s.
        elements: names of those that act, or ``"all"``.
    """
    found = ForceSet(mechanism, elements)
    return {name: effect[0] for name, effect in found.each(State(mechanism, q, v, t)).items()}

"""Constraints on joints: gears and couplers, and joints that follow a given motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.constraints.state import State
from dalembert.model.constraint import Constraint
from dalembert.tracing.evaluate import inline
from dalembert.tracing.program import Program

JointRow = tuple[Scalar, Array, Scalar, Scalar | None]
"""phi, the row of G, the right side of G v = rate, and that of G a = gamma."""


def coupling_row(item: Constraint, state: State) -> JointRow:
    """q_b = p(q_a), or q_a = constant without a joint b.

    Args:
        state: the mechanism at a state.
    """
    x, i, gain_a = state.coordinate(item.a)
    row: list[Any] = [0] * state.mechanism.nv
    if item.ends == ("a",):
        row[i] = gain_a
        constant = item.coefficients[0] if item.coefficients else 0
        return x - constant, arrays.asarray(row), 0, 0
    y, j, gain_b = state.coordinate(item.b)
    value, slope, curvature = _polynomial(item.coefficients, x)
    row[j] = gain_b
    row[i] = row[i] - slope * gain_a
    gamma = None
    if state.is_moving:
        speed = gain_a * state.velocities[i]
        gamma = curvature * speed * speed
    return y - value, arrays.asarray(row), 0, gamma


def motion_row(item: Constraint, state: State, program: Program | None) -> JointRow:
    """q_a = f(t).

    Args:
        state: the mechanism at a state.
        program: of f, f' and f'', if f is a user's function.
    """
    x, i, gain = state.coordinate(item.a)
    row: list[Any] = [0] * state.mechanism.nv
    row[i] = gain
    value, rate, acceleration = function_of_time(item.coefficients, program, state)
    return x - value, arrays.asarray(row), rate, acceleration


def function_of_time(coefficients: Sequence[Scalar], program: Program | None, state: State) -> tuple[Scalar, ...]:
    """f, f', f'' of a polynomial of time or a user's function.

    Args:
        coefficients: of the polynomial, constant first.
        program: of a user's function, or None.
        state: the mechanism at a state: time, and values of its symbols.
    """
    if program is None:
        return _polynomial(coefficients, state.t)
    found = inline(program, state.arguments(program))
    return tuple(found[name][()] for name in ("f", "rate", "acceleration"))


def _polynomial(coefficients: Sequence[Scalar], x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Value, first and second derivative, by Horner's rule carried along."""
    value: Scalar = 0
    slope: Scalar = 0
    half_curvature: Scalar = 0
    for c in reversed(coefficients):
        half_curvature = half_curvature * x + slope
        slope = slope * x + value
        value = value * x + c
    return value, slope, 2 * half_curvature

"""Constraints on velocities, ``A(q, t) v = b(q, t)``: rolling, knife edges, closed loops, or anything a user writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arrays import asarray, product
from dalembert.algebra.scalar import is_sympy, is_zero
from dalembert.algebra.vectors import cross
from dalembert.constraints.user import nonlinear_term
from dalembert.errors import ArgumentError
from dalembert.formulations.sampling import sampled
from dalembert.formulations.scope import with_inputs
from dalembert.formulations.system import MultibodySystem
from dalembert.tracing.derivatives import forward
from dalembert.typesetting.names import undotted

Pfaffian = Callable[[MultibodySystem], Any]
"""Makes expressions that are linear in the velocities and must vanish."""


@dataclass(frozen=True, eq=False)
class NoSlip:
    """The point of a body that is at the origin of a frame has no velocity in some directions.

    With a frame of the same body and one direction it is a knife edge or skate; with all directions, and a frame that
    follows the point of contact, it is rolling.

    Args:
        body: the body (or frame on it) that does not slip.
        at: the frame whose origin is the place of contact; by default that of the body itself.
        directions: directions, components in the axes of ``axes``.
        axes: frame in whose axes the directions are given; by default ``at``.
    """

    body: str
    at: str = ""
    directions: Sequence[Sequence[Any]] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    axes: str = ""

    def __call__(self, system: MultibodySystem) -> list[Any]:
        place, contact = system.place(self.body), system.place(self.at or self.body)
        axes = system.place(self.axes or self.at or self.body)
        velocity = product(place.Jv, system.v)
        if self.at:
            turning = product(place.Jw, system.v)
            velocity = velocity + cross(turning, contact.position - place.position)
        local = product(axes.rotation.T, velocity)
        return [product(asarray(system.scope.read(d))[None], local)[0] for d in self.directions]

    def __str__(self) -> str:
        where = f" at {self.at}" if self.at else ""
        return f"{self.body} does not slip{where} along {', '.join(str(tuple(d)) for d in self.directions)}"


def velocity_constraints(system: MultibodySystem, items: Sequence[Any]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """A, b and a name for each row: those of the mechanism, then what the user demands.

    Args:
        items: each a SymPy expression, linear in the velocities, that vanishes, or an equation of that kind; or a
            callable that makes such expressions from the system. The symbol ``t`` is time.
    """
    own = system.constraints
    if own is None:
        rows, right, names = [np.zeros((0, system.n), dtype=object)], [np.zeros(0, dtype=object)], []
    else:
        rows, right, names = [own.A], [own.rate], list(own.names)
    for item in items:
        if isinstance(item, str):
            raise ArgumentError(f"constraint {item!r} is text; give a SymPy expression that vanishes")
        made = item(system) if callable(item) else _vanishing(item)
        expressions = list(made) if isinstance(made, (list, tuple, np.ndarray)) else [made]
        A, rest = linear_in_velocities(system, expressions, f"constraint {item}")
        rows.append(A)
        right.append(-rest)
        names += [str(item)] * len(rest)
    return np.concatenate(rows), np.concatenate(right), names


def linear_in_velocities(
    system: MultibodySystem, expressions: Sequence[Any], what: str
) -> tuple[np.ndarray, np.ndarray]:
    """Y and y of expressions Y(q, t) v + y(q, t); an error names the term that is not of this form.

    Args:
        system: the system; its velocities must be inputs.
        expressions: SymPy expressions or traced scalars.
        what: they are, for messages.
    """
    for x in expressions:
        if is_sympy(x) and (x.is_Relational or x.is_Boolean):
            raise ArgumentError(f"{what}: expected an expression, got the statement {x}")
    _start_clock(system, expressions)
    _refuse_rates_by_other_names(system, expressions, what)
    values = np.array([system.scope.read(x)[()] for x in expressions], dtype=object)
    if values.ndim != 1:
        raise ArgumentError(f"{what}: each must be one expression, not a sequence of them")
    Y = forward(values, system.v)
    names = [str(name) for name in system.scope.names["v"]]
    for row, expression in zip(Y, expressions):
        if all(is_zero(x) for x in row):
            raise ArgumentError(f"{what}: no velocity occurs in {expression}; the velocities are {', '.join(names)}")
    second = np.abs(np.nan_to_num(sampled(system, forward(Y, system.v)))).max(axis=0, initial=0.0)
    reversed_velocities = with_inputs(system.scope, Y, {"v": [-x for x in system.v]})  # they see |v| and max(v, 0)
    change = np.abs(np.nan_to_num(sampled(system, Y - reversed_velocities))).max(axis=0, initial=0.0)
    if second.max(initial=0.0) <= 1e-9:
        second = change[:, :, None] * np.eye(system.n)
    if second.max(initial=0.0) > 1e-9:
        k, i, j = (int(x) for x in np.unravel_index(second.argmax(), second.shape))
        term = expressions[k]
        culprit = nonlinear_term(term, (names[i], names[j])) if is_sympy(term) else f"{names[i]} * {names[j]}"
        raise ArgumentError(f"{what}: the term {culprit} is not linear in the velocities {', '.join(names)}")
    return Y, with_inputs(system.scope, values, {"v": [0] * system.n})


def _vanishing(item: Any) -> Any:
    """An equation as the expression that vanishes."""
    if is_sympy(item) and item.is_Equality:
        return item.lhs - item.rhs
    return item


def _start_clock(system: MultibodySystem, expressions: Sequence[Any]) -> None:
    """A symbol t that the system does not know is time."""
    if system.time is not None or "t" in {str(x) for x in system.scope.known()}:
        return
    if any(is_sympy(x) and "t" in {symbol.name for symbol in x.free_symbols} for x in expressions):
        system.time = system.scope.clock()


def _refuse_rates_by_other_names(system: MultibodySystem, expressions: Sequence[Any], what: str) -> None:
    known = [*map(str, system.scope.known()), *system.scope.aliases]
    slip = rate_by_another_name(expressions, map(str, system.scope.names["q"]), known)
    if slip:
        raise ArgumentError(
            f"{what}: is {slip[0]} the rate of {slip[1]}? The velocities are called "
            f"{', '.join(map(str, system.scope.names['v']))} here"
        )


def rate_by_another_name(
    expressions: Sequence[Any], coordinates: Iterable[str], known: Iterable[str]
) -> tuple[str, str] | None:
    """A symbol that looks like a rate and is none, and its coordinate: ``q1dot`` where the rate of q1 is ``qdot1`` is
    a slip, not one more parameter.

    Args:
        expressions: of SymPy, or others, which have no symbols.
        coordinates: their names.
        known: names of all symbols whose meaning is clear.
    """
    rates = {undotted(f"{x}dot"): x for x in coordinates}
    used = {symbol.name for x in expressions if is_sympy(x) for symbol in x.free_symbols}
    for name in sorted(used.difference(known)):
        if "dot" in name and undotted(name) in rates:
            return name, rates[undotted(name)]
    return None

"""What is proved of constraints: their rows are derivatives of what they demand, and every way to enforce them agrees.

The generic mechanism keeps the closures, couplings and rolling contacts of the given one, with generic placements. Rows
that depend on others there - a planar loop whose axes are generic is no planar loop any more - are left out of the
dynamics: what is proved of independent rows holds for any.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dalembert.algebra.arrays import product
from dalembert.algebra.linalg import solve
from dalembert.algebra.transform import Transform
from dalembert.constraints import ConstraintSet, State
from dalembert.constraints.pivots import Pivots
from dalembert.constraints.straight_line import by_multipliers, by_projection
from dalembert.kinematics import position_rate
from dalembert.model import Mechanism
from dalembert.proof.claims import Claim, Omission, bias, inertia
from dalembert.proof.field import EXPONENTS, Field, along, slopes
from dalembert.proof.generic import FUNCTIONS, ROOTS, Subject, generic_mechanism, random_rotation, random_vector


def constrained_subject(mechanism: Mechanism, field: Any) -> tuple[Subject, list[Omission]]:
    """The generic mechanism with generic constraints, at a generic state; and the constraints that were left out."""
    made, kept, omitted = generic_mechanism(mechanism, field), [], []
    for item in mechanism.constraints:
        if item.kind in FUNCTIONS:
            omitted.append(Omission(f"constraint {item.name!r}", "a user's function is not a rational one"))
        elif item.kind in ROOTS:
            omitted.append(Omission(f"constraint {item.name!r}", f"rows of a {item.kind} have a square root"))
        else:
            changes: dict[str, Any] = {}
            if not item.on_joints:
                changes = {
                    name: Transform(random_rotation(field), random_vector(field, 3))
                    for name in ("placement_a", "placement_b")
                }
            if item.value:
                changes["value"] = field.element()
            if item.coefficients:
                changes["coefficients"] = tuple(field.element() for _ in item.coefficients)
            kept.append(item.replace(**changes))
    return Subject(made.replace(constraints=tuple(kept)), field), omitted


def constraints(mechanism: Mechanism, field: Any) -> Iterator[Claim | Omission]:
    """Rows of every constraint, and accelerations under all of them.

    Args:
        mechanism: as the user gave it.
        field: where random scalars come from.
    """
    s, omitted = constrained_subject(mechanism, field)
    yield from omitted
    if not s.mechanism.constraints:
        return
    rows, moving = _rows(s), _moving_rows(s)
    yield from _derivatives(s, rows, moving)
    kept, columns = _independent(mechanism)
    n = s.mechanism.nv
    if not kept or len(kept) == n:
        yield Omission("constrained motion", "generic constraints leave no freedom, or there are none")
        return
    G, gamma, M = rows.G[list(kept)], rows.gamma[list(kept)], inertia(s)
    f = s.tau - bias(s)
    parents = s.mechanism.tree.velocity_parents
    a, multipliers = by_multipliers(M, parents, G, f, gamma)
    yield Claim("constrained motion", "multipliers: G a", "gamma", product(G, a), gamma)
    yield Claim(
        "constrained motion", "multipliers: M a", "f + G^T lambda", product(M, a), f + product(G.T, multipliers)
    )
    independent = tuple(k for k in range(n) if k not in columns)
    pivots = Pivots(tuple(enumerate(columns)), (), independent, False, ())
    projected, reactions = by_projection(M, G, f, gamma, pivots)
    yield Claim("constrained motion", "projection (PARSA 46)", "multipliers", projected, a)
    yield Claim("constraint forces", "projection (PARSA 46)", "multipliers", reactions, multipliers)
    # Generic pivots do not vanish.
    free = solve(M, f, "dominant")
    answers = solve(M, G.T, "dominant")  # M^-1 G^T
    missing = gamma - product(G, free)
    udwadia = free + product(answers, solve(product(G, answers), missing, "dominant"))
    yield Claim("constrained motion", "Udwadia and Kalaba", "multipliers", udwadia, a)


def _rows(s: Subject) -> Any:
    return ConstraintSet(s.mechanism).at(State(s.mechanism, s.q, s.v))


def _moving_rows(s: Subject) -> Any:
    rate = position_rate(s.mechanism.tree, s.q, s.v)
    return ConstraintSet(s.mechanism).at(State(s.mechanism, along(s.q, rate), s.v))


def _derivatives(s: Subject, rows: Any, moving: Any) -> Iterator[Claim]:
    held = ConstraintSet(s.mechanism)
    demanded, found = product(rows.G, s.v), slopes(moving.phi)
    curved = -product(slopes(moving.G), s.v)
    for number, item in enumerate(s.mechanism.constraints, 1):
        own, name = held.slice(item.name), f"constraint {number}"
        on_positions = [k for k in range(own.start, own.stop) if held.holonomic[k]]
        if on_positions:
            yield Claim("constraint rows", f"{name}: G v", "rate of phi", demanded[on_positions], found[on_positions])
        yield Claim("constraint rows", f"{name}: gamma", "- Gdot v", rows.gamma[own], curved[own])


@lru_cache(maxsize=16)
def _independent(mechanism: Mechanism) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows that are independent at a generic state, and a velocity that each of them determines."""
    s, _ = constrained_subject(mechanism, Field((1 << EXPONENTS[0]) - 1, seed=1))
    table = [[x.value if hasattr(x, "value") else int(x) for x in row] for row in _rows(s).G.tolist()]
    prime = s.field.prime
    kept: list[int] = []
    columns: list[int] = []
    reduced: list[list[int]] = []
    for k, row in enumerate(table):
        for column, other in zip(columns, reduced):
            factor = row[column]
            row = [(x - factor * y) % prime for x, y in zip(row, other)]
        leading = [c for c, x in enumerate(row) if x]
        if leading and len(kept) < s.mechanism.nv - 1:
            column = leading[0]
            scale = pow(row[column], -1, prime)
            kept.append(k)
            columns.append(column)
            reduced.append([x * scale % prime for x in row])
    return tuple(kept), tuple(columns)

"""The choice of quasi-velocities u and the map ``v = B u + d`` that respects all constraints (PARSA (5)-(11))."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arrays import identity, product, zeros
from dalembert.constraints.rank import Decomposition
from dalembert.errors import ArgumentError, ModelWarning, SingularityError
from dalembert.formulations.bounds import bound
from dalembert.formulations.closings import Assemblies, assemblies
from dalembert.formulations.completion import velocities_called
from dalembert.formulations.equations import DerivationStep
from dalembert.formulations.linear import inverse, is_constant
from dalembert.formulations.pfaffian import NoSlip, linear_in_velocities
from dalembert.formulations.pfaffian import velocity_constraints as constraint_rows
from dalembert.formulations.sample_ranks import (
    SAME_ROW,
    dependent_columns,
    follows_always,
    independent_rows,
    row_weights,
)
from dalembert.formulations.system import MultibodySystem, quantity
from dalembert.model.checks import expect_names


@dataclass(frozen=True, eq=False)
class Speeds:
    """Quasi-velocities and constraints.

    Args:
        u: the speeds, inputs.
        A: constraint matrix, without rows that follow from others at every state.
        b: right-hand side, A v = b.
        B: n x m, A B = 0.
        d: A d = b.
        N: n x r, A N A = A; picks the multipliers.
        why: the choice, in words.
        definitions: the speeds in terms of the velocities.
        rows: whose rows those of A are, in words; the multipliers are in the same order.
    """

    u: np.ndarray
    A: np.ndarray
    b: np.ndarray
    B: np.ndarray
    d: np.ndarray
    N: np.ndarray
    why: str
    definitions: np.ndarray
    rows: str

    @property
    def velocities(self) -> np.ndarray:
        """v = B u + d."""
        return product(self.B, self.u) + self.d

    def steps(self, system: MultibodySystem) -> list[DerivationStep]:
        """The constraints and the choice, for reading."""
        steps = []
        if len(self.A):
            steps.append(
                DerivationStep(
                    "Constraints",
                    f"On velocities; position constraints have been differentiated; PARSA (5).{self.rows}",
                    (
                        quantity(system, "constraint_matrix", "A", self.A),
                        quantity(system, "constraint_rate", "b", self.b),
                    ),
                    "A v = b",
                )
            )
        steps.append(
            DerivationStep(
                "Speeds",
                self.why,
                (
                    quantity(system, "speeds", "u", self.definitions),
                    quantity(system, "speed_map", "B", self.B),
                    quantity(system, "speed_drift", "d", self.d),
                ),
                "v = B u + d" + r", \quad A B = 0, \quad A d = b" * bool(len(self.A)),
            )
        )
        return steps


def choose_speeds(
    system: MultibodySystem,
    speeds: Sequence[Any] | None,
    pfaffian: Sequence[Any],
    independent: Sequence[str] | None,
    reference: np.ndarray | None = None,
) -> Speeds:
    """Speeds as the user wants them, or an independent part of the velocities.

    Args:
        speeds: see :func:`dalembert.formulations.kane.kane`.
        pfaffian: see there.
        independent: see there.
        reference: see there.
    """
    A, b, names = constraint_rows(system, pfaffian)
    states = assemblies(system, A, reference)
    if not states.closed and not system.scope.parameters:  # some values of symbols may allow it
        doubt = ModelWarning(
            f"{system.name!r}: no positions were found that satisfy its constraints, so equations that eliminate them "
            "may describe no motion",
            argument="reference",
            remedy="check the geometry, or give {setting}, positions near an assembly",
        )
        warnings.warn(doubt, stacklevel=4)
    n, rank, why, rows_of = system.n, 0, [], ""
    if len(A):
        samples = states.at(A)
        if not np.isfinite(samples).all():
            lost = [name for k, name in enumerate(names) if not np.isfinite(samples[:, k]).all()]
            raise SingularityError(
                f"{system.name!r}: the constraint {', '.join(map(repr, dict.fromkeys(lost)))} does not exist "
                + ("where coordinates are of the order of one" if reference is None else "around the reference")
                + ", so its independent rows cannot be chosen",
                argument="reference",
                remedy="give {setting}, positions where it does",
            )
        basis = independent_rows(samples)
        _refuse_contradiction(states, A, b, names, basis)
        kept = [k for k in range(len(A)) if k in basis or not follows_always(samples, k, basis)]
        left_out = [names[k] for k in range(len(A)) if k not in kept]
        if left_out:
            why.append(
                f"{len(left_out)} of {len(A)} constraints follow from the others and are left out "
                f"({', '.join(dict.fromkeys(left_out))})."
            )
        rows_of = _rows_of([names[k] for k in kept], pfaffian)
        A, b, rank = A[kept], b[kept], len(basis)
        if states.elsewhere:
            why.append(
                f"The loops also close in ways that leave {states.elsewhere}. These equations are for positions that "
                f"leave {n - rank}, {states.choice}; for others give reference=, positions near such an assembly."
            )
    count = n - rank
    if speeds and independent is not None:
        raise ArgumentError("give either speeds or independent: both choose the quasi-velocities")
    names = [str(name) for name in system.scope.names["v"]]
    if independent is None:
        dependent, reason = _dependent(states, A, rank)
        places = [k for k in range(n) if k not in dependent]
    else:
        places, reason = _places(states, names, independent, count), "the independent ones are chosen by the user"
        dependent = [k for k in range(n) if k not in places]
    if speeds:
        labels, Y, y = _wanted(states, speeds, count)
        why.append("The speeds are chosen by the user.")
    else:
        labels, Y, y = [f"u{k}" for k in range(1, count + 1)], identity(n)[places], zeros(count)
        if dependent:
            why.append(
                f"The constraints are solved for {', '.join(names[k] for k in dependent)}: {reason}. "
                f"Independent: {', '.join(names[k] for k in places) or 'none'}."
            )
    weights = row_weights(states.at(A)) if rank < len(A) else np.ones(rank, dtype=int)
    weighed = A[:, dependent].T * weights
    rows = A if rank == len(A) else product(weighed, A)
    K = np.concatenate([Y, rows])
    samples = states.at(K)
    inverted = inverse(K, samples, "the matrix of speeds and constraints")
    bound(system.scope, inverted, samples, None if rank == len(A) else rows)
    B, N = inverted[:, :count], inverted[:, count:]
    if rank < len(A):
        N = product(N, weighed)
        why.append(
            f"Of {len(A)} constraints {rank} are independent, at different states different ones: all are kept and "
            "solved by least squares, that is exactly, and have the smallest multipliers"
            + (", each counted by the length of its row." if (weights != 1).any() else ".")
        )
    d = product(N, b) - product(B, y) if len(A) else -product(B, y)
    u = system.scope.input("u", labels)
    definitions = product(Y, system.v) + y
    return Speeds(u, A, b, B, d, N, " ".join(why), definitions, rows_of)


def _rows_of(names: Sequence[str], pfaffian: Sequence[Any]) -> str:
    """Which constraint each row belongs to; formulas of the user are seen in A itself."""
    formulas = {str(item) for item in pfaffian if not isinstance(item, NoSlip)}
    listed, first = [], 1
    for name, rows in itertools.groupby("as given" if name in formulas else name for name in names):
        last = first + len(list(rows)) - 1
        listed.append(f"{first if first == last else f'{first}-{last}'} {name}")
        first = last + 1
    return f" Rows of A, and multipliers: {'; '.join(listed)}." if set(names) - formulas else ""


def _wanted(states: Assemblies, speeds: Sequence[Any], count: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    system = states.system
    if len(speeds) != count:
        raise ArgumentError(
            f"{system.name!r} has {system.n} velocities and {system.n - count} independent constraints, so it needs "
            f"{count} speeds; got {len(speeds)}",
            argument="reference",
            remedy=_elsewhere(states),
        )
    pairs = [x if isinstance(x, tuple) else (f"u{k}", x) for k, x in enumerate(speeds, 1)]
    for name, x in pairs:
        if isinstance(x, str):
            raise ArgumentError(
                f"speed {name}: {x!r} is text; give a SymPy expression, or name velocities by independent="
            )
    labels = [str(name) for name, _ in pairs]
    if twice := sorted({name for name in labels if labels.count(name) > 1}):
        raise ArgumentError(f"two speeds are called {', '.join(twice)}")
    Y, y = linear_in_velocities(system, [x for _, x in pairs], "speeds")
    return labels, Y, y


def _refuse_contradiction(states: Assemblies, A: np.ndarray, b: np.ndarray, names: list[str], kept: list[int]) -> None:
    """Rows that follow from others must demand what the others demand; decided at sample states, by the median."""
    both = states.at(np.concatenate([A, np.asarray(b)[:, None]], axis=1))
    matrices, sides = both[..., :-1], both[..., -1]
    for row in sorted(set(range(len(A))).difference(kept)):
        gaps = []
        for matrix, side in zip(matrices, sides):
            share = Decomposition.of(matrix[kept]).solve_transposed(matrix[row])
            size = abs(side[row]) + float(np.abs(share * side[kept]).sum())
            gaps.append(abs(side[row] - float(share @ side[kept])) / max(size, SAME_ROW))
        if np.median(gaps) > SAME_ROW:
            raise ArgumentError(
                f"constraint {names[row]} contradicts the others: they fix the same motion, at another speed"
            )


def _dependent(states: Assemblies, A: np.ndarray, rank: int) -> tuple[list[int], str]:
    """The velocities that constraints are solved for, and why these."""
    if not rank:
        return [], ""
    samples, n = states.at(A), A.shape[1]
    samples = samples[:, independent_rows(samples)]
    numbers = [k for k in range(n) if all(is_constant(x) for x in A[:, k])]
    everywhere = len(independent_rows(samples[:1, :, numbers])) == rank
    dependent, condition = dependent_columns(samples, numbers if everywhere else list(range(n)))
    if everywhere:
        return dependent, "this part of A is constant, so it is regular at every state"
    return dependent, (
        f"the last ones whose part of A is well conditioned at typical states (condition about {condition:.2g}), "
        "so that the first are kept where that can be. The equations do not hold where this part is singular; "
        "independent= keeps other velocities"
    )


def _places(states: Assemblies, names: list[str], independent: Sequence[str], count: int) -> list[int]:
    """The velocities that the user keeps."""
    system = states.system
    given = expect_names(independent, "independent")
    places = list(dict.fromkeys(k for name in given for k in _indices(system, names, name)))
    if len(places) != count:
        raise ArgumentError(
            f"{system.name!r} has {count} independent velocities under its constraints; got {list(given)}",
            argument="reference",
            remedy=_elsewhere(states),
        )
    return places


def _elsewhere(states: Assemblies) -> str:
    """What to do if another number was expected."""
    if not states.elsewhere:
        return ""
    return f"its loops also close with {states.elsewhere}: give {{setting}}, positions near such an assembly"


def _indices(system: MultibodySystem, names: list[str], name: str) -> list[int]:
    """Where velocities lie that are called so in the equations, or by their joint, or by name of their own."""
    if name in names:
        return [names.index(name)]
    if found := velocities_called(system, name):
        return found
    known = ", ".join(dict.fromkeys([*names, *(velocity for velocity, _ in system.velocity_names)]))
    raise ArgumentError(f"{system.name!r} has no velocity {name!r}; it has {known}")

"""Our operation counts for the generic arm next to the tables of the THESIS.

Counting rule: straight-line code; sines and cosines of the joint angles are given; changes of sign are free; whatever
does not depend on the state is off-line and free; multiplications by 0, 1 and -1 and additions of 0 do not occur; equal
terms are computed once. Divisions count as multiplications.

The generic arm has revolute joints with Denavit-Hartenberg parameters and inertias without any special value; numbers
serve where the THESIS has symbols, because everything computed from them alone is off-line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

from dalembert.algorithms.economy import economical
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.costs.arm import TWISTS, Count, generic_arm
from dalembert.costs.lines import inertia_matrix_lines, inverse_dynamics_lines, sensitivity_lines
from dalembert.costs.published import PUBLISHED, PUMA_560, CostTable, Polynomial
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.formats import load
from dalembert.model import Tree
from dalembert.model.checks import shown
from dalembert.text.layout import aligned
from dalembert.tracing.cost import cost
from dalembert.tracing.program import Program
from dalembert.tracing.trace import trace


def count(program: Program) -> Count:
    """Multiplications (with divisions) and additions of a program."""
    found = cost(program)
    return Count(found.multiplications + found.divisions, found.additions)


def count_algorithm(algorithm: Callable[..., Any], tree: Tree, inputs: str) -> Count:
    """Operations of an algorithm on a tree, as traced, without further passes.

    Args:
        algorithm: a function of the tree and the inputs.
        tree: the links.
        inputs: letters among ``q``, ``v``, ``a`` (also for generalised forces).
    """
    shapes = {name: (tree.nq if name == "q" else tree.nv,) for name in inputs}
    return count(trace(lambda *state: algorithm(tree, *state), shapes))


def _tau_D_V_P(tree: Tree, *state: Any) -> tuple[Any, ...]:
    found = sensitivity(tree, *state)
    return found.tau, found.D, found.V, found.P


def arm_counts(n: int, twist: str = "general") -> dict[str, Count]:
    """Every algorithm on the generic arm: as printed, on the economical tree, and as a kernel after all passes.

    Args:
        n: number of joints.
        twist: one of :data:`TWISTS`.
    """
    _check_joints(n, 1)
    return dict(_counted(n, twist))


@cache
def _counted(n: int, twist: str) -> dict[str, Count]:
    arm = generic_arm(n, twist)
    own, cheap = arm.tree, economical(arm.tree)
    found: dict[str, Count] = {}
    for name, algorithm in INVERSE_DYNAMICS.items():
        if name != "uicker-kahn":  # its n^4 terms take minutes to trace
            found[name] = count_algorithm(algorithm, own, "qva")
    for name, matrix in INERTIA_MATRIX.items():
        found[name] = count_algorithm(matrix, own, "q")
    for name, solver in FORWARD_DYNAMICS.items():
        found[name] = count_algorithm(solver, own, "qva")
    found["economical inverse dynamics"] = count_algorithm(INVERSE_DYNAMICS["augmented-links"], cheap, "qva")
    found["economical inertia matrix"] = count_algorithm(INERTIA_MATRIX["two-sided"], cheap, "q")
    found["economical forward dynamics"] = count_algorithm(FORWARD_DYNAMICS["factor-and-solve"], cheap, "qva")
    found["economical articulated bodies"] = count_algorithm(FORWARD_DYNAMICS["articulated-body"], cheap, "qva")
    whole, inverse = count_algorithm(_tau_D_V_P, cheap, "qva"), found["economical inverse dynamics"]
    found["economical D, V, P"] = whole.beyond(inverse)
    dynamics = Dynamics(arm)
    kernels = {q: count(dynamics.program(q)) for q in ("inverse_dynamics", "mass_matrix", "forward_dynamics")}
    found["kernel inverse dynamics"] = kernels["inverse_dynamics"]
    found["kernel inertia matrix"] = kernels["mass_matrix"]
    found["kernel forward dynamics"] = kernels["forward_dynamics"]
    found["kernel D, V, P"] = count(dynamics.program("sensitivities")).beyond(kernels["inverse_dynamics"])
    return found


_LINES: dict[str, Callable[[int, str], dict[str, Count]]] = {
    "5.1": inverse_dynamics_lines,
    "6.1": inertia_matrix_lines,
    "7.1": sensitivity_lines,
    "7.2": sensitivity_lines,
}
"""Table -> the same equations, counted by a program."""

_OURS = {
    "5.2": {
        "Algorithm 5.5 as printed, terms shared": "augmented-links",
        "in economical frames, masses regrouped": "economical inverse dynamics",
        "kernel, after all passes": "kernel inverse dynamics",
    },
    "5.3": {
        "Hollerbach 4x4": "hollerbach-4x4",
        "Hollerbach 3x3": "hollerbach-3x3",
        "Waters (5.2.3)": "waters",
        "Kane, Silver (5.2.13)": "kane-silver",
        "Newton-Euler (5.3)": "newton-euler",
        "Algorithm 5.4": "tensor",
        "Algorithm 5.5": "augmented-links",
        "Algorithm 5.5, economical": "economical inverse dynamics",
        "kernel": "kernel inverse dynamics",
    },
    "6.1": {
        "Algorithm 6.2, corrected, terms shared": "generalized-links",
        "two-sided": "two-sided",
        "two-sided, economical": "economical inertia matrix",
        "kernel": "kernel inertia matrix",
    },
    "6.2": {
        "column method": "column-method",
        "Walker, Orin": "walker-orin",
        "orthogonal complement (Angeles, Ma)": "orthogonal-complement",
        "operator factors": "operator-factors",
        "Algorithm 6.2, corrected": "generalized-links",
        "two-sided, economical": "economical inertia matrix",
        "kernel": "kernel inertia matrix",
    },
    "6.3": {
        "articulated bodies": "articulated-body",
        "articulated bodies, economical": "economical articulated bodies",
        "factor and solve": "factor-and-solve",
        "factor and solve, economical": "economical forward dynamics",
        "kernel": "kernel forward dynamics",
    },
    "7.2": {
        "D, V, P beyond inverse dynamics, propagated": "economical D, V, P",
        "kernel": "kernel D, V, P",
    },
}
"""Table -> our rows below it -> name in :func:`arm_counts`."""


def cost_tables(n: int = 6) -> str:
    """The tables as text, each followed by our counts for the same arm: multiplications / additions; then the PUMA 560.

    Figures under "from the document" are copied, those under "counted here" were counted by a program just now.

    Args:
        n: number of joints, at least 2, for which the polynomials are evaluated and our algorithms counted.
    """
    _check_joints(n, 2)
    counts = {twist: arm_counts(n, twist) for twist in TWISTS}
    return "\n\n".join(["\n".join(_lines(table, n, counts)) for table in PUBLISHED] + ["\n".join(_puma_lines())])


def table_counts(n: int = 6) -> dict[str, dict[str, Any]]:
    """The numbers of the tables, for programs: number of the table -> title, columns of the published rows, our rows.

    Args:
        n: number of joints, as for :func:`cost_tables`.
    """
    _check_joints(n, 2)
    counts = {twist: arm_counts(n, twist) for twist in TWISTS}
    found: dict[str, dict[str, Any]] = {}
    for table in PUBLISHED:
        rows = dict(table.rows) | ({"total": table.total} if table.total else {})
        printed = {column: _number(entry(n)) for column, entry in table.printed.items()}
        found[table.number] = {
            "title": table.title,
            "published": {
                name: {column: _number(entry(n)) for column, entry in zip(table.columns, row)}
                for name, row in rows.items()
            }
            | ({"total as printed": printed} if printed else {}),
            "counted": {
                twist: {name: row._asdict() for name, row in rows.items()}
                for twist, rows in line_counts(table, n).items()
            },
            "dalembert": {
                ours: {twist: counts[twist][name]._asdict() for twist in TWISTS}
                for ours, name in _OURS.get(table.number, {}).items()
            },
        }
    found["PUMA 560"] = {
        "title": _PUMA,
        "published": {who: Count(*published)._asdict() for who, published in PUMA_560.items()},
        "dalembert": {"kernel": _puma_count()._asdict()},
    }
    return found


def line_counts(table: CostTable, n: int) -> dict[str, dict[str, Count]]:
    """The rows of a table counted by a program, and their sum: twist -> row -> count; empty for other tables.

    Args:
        table: one of :data:`~dalembert.costs.published.PUBLISHED`.
        n: number of joints.
    """
    if table.number not in _LINES:
        return {}
    found = {}
    for twist in TWISTS:
        rows = {name: _LINES[table.number](n, twist)[name] for name in table.rows}
        found[twist] = {**rows, "total": Count(*(sum(part) for part in zip(*rows.values())))}
    return found


def _number(value: int | Fraction) -> int | float:
    return value if isinstance(value, int) else float(value)


def _check_joints(n: int, least: int) -> None:
    if type(n) is not int or n < least:
        raise ArgumentError(f"n = {shown(n)}: the tables hold for whole numbers of joints, {least} or more")


def _lines(table: CostTable, n: int, counts: dict[str, dict[str, Count]]) -> Iterator[str]:
    yield f"Table {table.number}  {table.title}"
    body = [(name, *(_cell(entry, n) for entry in row)) for name, row in table.rows.items()]
    if table.total:
        body.append(("total", *(_cell(entry, n) for entry in table.total)))
    if table.printed:
        body.append(("total as printed", *(_cell(table.printed.get(c), n) for c in table.columns)))
    yield from aligned([("from the document", *table.columns), *body], indent="  ")
    lines = line_counts(table, n)
    rows = [(name, *(str(lines[t][name]) for t in TWISTS)) for name in (*table.rows, "total")] if lines else []
    rows += [(ours, *(str(counts[t][name]) for t in TWISTS)) for ours, name in _OURS.get(table.number, {}).items()]
    if rows:
        yield from aligned([(f"counted here, n = {n}", *TWISTS), *rows], indent="  ")
    for note in table.notes:
        yield f"  note: {note}"


_PUMA = "Inverse dynamics with published parameters"


def _puma_count() -> Count:
    return count(Dynamics(load("puma560")).program("inverse_dynamics"))


def _puma_lines() -> Iterator[str]:
    yield f"PUMA 560  {_PUMA}"
    rows = [(who, str(Count(*found))) for who, found in PUMA_560.items()]
    yield from aligned([*rows, ("dalembert", str(_puma_count()))], indent="  ")


def _cell(entry: Polynomial | None, n: int) -> str:
    if entry is None:
        return ""
    return str(entry(n)) if len(entry.coefficients) == 1 else f"{entry} ({entry(n)})"

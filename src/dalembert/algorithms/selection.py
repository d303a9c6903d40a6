"""Which algorithm computes a quantity of a mechanism, and why: the one with the fewest operations.

:func:`select_algorithm` decides from the mechanism alone, by running algorithms on numbers that count
(:mod:`dalembert.algorithms.tally`). :func:`contest` decides by written programs.

No estimate decides this for small mechanisms: whether a term is shared, vanishes or can be factored out is seen only in
the finished program. Writing a program down is quick beside improving and compiling it, so every candidate that is not
hopeless is written, and those that come close to the shortest are improved and counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from dalembert.algorithms.economy import FORMS, economical
from dalembert.algorithms.economy.cheapest import cheapest_name
from dalembert.algorithms.economy.frames import is_numeric
from dalembert.algorithms.forward_dynamics.articulated_body import articulated_body
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve
from dalembert.algorithms.tally import OperationCounter, in_numbers, positions, vector
from dalembert.errors import UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect
from dalembert.model.tree import Tree


class Choice(NamedTuple):
    """Which algorithm computes a quantity, and why."""

    quantity: str
    algorithm: str
    reason: str

    def __str__(self) -> str:
        return f"{self.quantity}: {self.algorithm} - {self.reason}"


def select_algorithm(mechanism: Mechanism) -> dict[str, Choice]:
    """The algorithm behind each quantity of a mechanism, by the number of operations, with the reason.

    Decided from the mechanism alone, before anything is compiled. Up to 48 velocities
    :class:`~dalembert.dynamics.Dynamics` writes candidates down and takes the shortest program, which may be another
    one; its method ``algorithms`` says what it took.
    """
    tree = expect(mechanism, Mechanism, "select_algorithm").tree
    lean = economical(tree)
    n, depth = tree.nv, max(map(len, tree.ancestors), default=0)
    numeric = "economical frames and regrouped masses" if is_numeric(tree) else "regrouped masses (symbolic geometry)"
    choices = [
        Choice(
            "inverse_dynamics", cheapest_name(lean),
            f"linear in the {n} velocities; the candidate with the fewest operations, counted before passes, "
            f"with {numeric}",
        ),
        Choice(
            "mass_matrix", "two-sided",
            f"{_pairs(tree)} pairs of joints on paths of at most {depth}; carrying twists outwards near the base "
            "and wrenches inwards near the tips needs fewer steps than either alone",
        ),
        Choice("forward_dynamics", *select_forward_dynamics(lean)),
        Choice(
            "mass_matrix_inverse", "factor-and-solve",
            "dense where the tree is a chain; the factors keep the zeros of branches",
        ),
        Choice(
            "inverse_dynamics_derivatives", "propagation",
            "(7.3.2)-(7.3.4) with wrenches carried inwards instead of the vectors of Algorithm 7.1 for every pair",
        ),
        Choice(
            "coriolis_matrix", "half of V",
            "the velocity sensitivity of inverse dynamics, without differentiating M"
            + (", axes of spherical joints kept in the child" if _spherical(tree) else ""),
        ),
    ]  # fmt: skip
    return {choice.quantity: choice for choice in choices}


def select_forward_dynamics(tree: Tree) -> tuple[str, str]:
    """The forward dynamics algorithm with fewer operations for this tree, and why.

    Both are run on numbers that count (:mod:`dalembert.algorithms.tally`).
    """
    if tree.coupled:
        return "factor-and-solve", "mimic joints couple the velocities, which articulated bodies cannot express"
    factoring, articulated = _counted(tree)
    if factoring <= articulated:
        return "factor-and-solve", f"about {factoring:.0f} operations against {articulated:.0f} for articulated bodies"
    return "articulated-body", f"about {articulated:.0f} operations against {factoring:.0f} for factoring"


@lru_cache(maxsize=32)
def _counted(tree: Tree) -> tuple[float, float]:
    counts = [OperationCounter(), OperationCounter()]
    for count, algorithm in zip(counts, (factor_and_solve, articulated_body)):
        algorithm(in_numbers(tree), positions(tree, count), vector(tree.nv, count, 100), vector(tree.nv, count, 200))
    return counts[0].operations, counts[1].operations


def _spherical(tree: Tree) -> bool:
    return any(link.kind == "spherical" for link in tree.links)


def _pairs(tree: Tree) -> int:
    return sum(len(chain) - 1 for chain in tree.ancestors)


# -------------------------------------------------------------------------------------------------- by written programs

CONTEST_VELOCITIES = 16
"""Velocities of a mechanism beyond which writing all candidates down takes longer than one would want to wait; there
the promising ones are written, in economical frames only."""

MANY_VELOCITIES = 48
"""Velocities beyond which none is: the choice is made beforehand, by :func:`select_algorithm`."""

CLOSE_OPERATIONS = 40
"""Candidates with at most so many operations more than the shortest are improved: passes save up to that many more of
one than of another, most where rotation matrices come from quaternions. Improving takes no longer than writing."""

SHARE = 50
"""Of long programs passes save more: those within this part of the shortest are improved, too."""

HOPELESS = 1.1
"""An algorithm with so many times the operations of another on the same form is not tried on other forms, and a form
that makes an algorithm take so many times those of another form is not tried with other algorithms."""


class Combination(str):
    """Name of an algorithm that uses others: ``factor-and-solve with tensor and two-sided``.

    Args:
        family: the algorithm without the ones it uses.
        parts: the algorithms it uses.
    """

    family: str
    parts: tuple[str, ...]

    def __new__(cls, family: str, *parts: str) -> Combination:
        made = super().__new__(cls, f"{family} with {' and '.join(parts)}")
        made.family, made.parts = family, parts
        return made


class Plan(NamedTuple):
    """One way of computing a quantity.

    Args:
        algorithm: its name; a :class:`Combination` if it uses others.
        form: name of the description of the mechanism it works on, one of :data:`FORMS`.
    """

    algorithm: str
    form: str

    @property
    def family(self) -> str:
        """The algorithm without the ones it uses."""
        return self.algorithm.family if isinstance(self.algorithm, Combination) else self.algorithm

    @property
    def parts(self) -> tuple[str, ...]:
        """The algorithms it uses."""
        return self.algorithm.parts if isinstance(self.algorithm, Combination) else ()


class Outcome(NamedTuple):
    """The winner, and how it was found.

    Args:
        operations: how many it has.
        others: the least operations of each other algorithm, in words: before passes if those were not worth trying.
    """

    plan: Plan
    program: Any
    operations: int
    others: Mapping[str, str]

    @property
    def reason(self) -> str:
        """One sentence."""
        others = ", ".join(f"{name} {cost}" for name, cost in self.others.items())
        beside = f"; no candidate has fewer ({others})" if others else ""
        return f"{self.operations} operations on the mechanism {FORMS[self.plan.form].words}{beside}"


def plans(rivals: Mapping[str, int], nv: int) -> list[Plan]:
    """The candidates for a mechanism, in economical frames only if it has many velocities, none if it has too many.

    Args:
        rivals: algorithm -> most velocities for which it is worth writing down.
        nv: number of velocities.
    """
    forms = FORMS if nv <= CONTEST_VELOCITIES else ["economical"]
    return [Plan(name, form) for form in forms for name, most in rivals.items() if nv <= most]


def contest(
    candidates: list[Plan],
    write: Callable[[Plan, Callable[[Tree], Tree]], Any],
    improve: Callable[[Any], Any],
    count: Callable[[Any], int],
) -> Outcome:
    """The candidate with the fewest operations; of equals the first.

    Args:
        candidates: plans; at least one must suit the mechanism.
        write: the program of a plan, given what brings the tree into the plan's form.
        improve: passes over a program.
        count: operations of a program.
    """
    written, counts = _written(candidates, write, count)
    improved = {plan: improve(program) for plan, program in written.items()}
    operations = {plan: count(program) for plan, program in improved.items()}
    best = min(operations, key=lambda plan: operations[plan])
    fewest: dict[str, tuple[int, str]] = {}
    for plan, before in counts.items():
        if plan in improved:
            cost = operations[plan], str(operations[plan])
        elif _is_close(before, counts):
            continue  # the same program as another one
        else:
            cost = before, f"{before} before passes"
        fewest[plan.family] = min(cost, fewest.get(plan.family, cost))
    others = {name: cost for name, (_, cost) in fewest.items() if name != best.family}
    return Outcome(best, improved[best], operations[best], others)


def _written(
    candidates: list[Plan], write: Callable[[Plan, Callable[[Tree], Tree]], Any], count: Callable[[Any], int]
) -> tuple[dict[Plan, Any], dict[Plan, int]]:
    """The programs of the candidates close to the shortest, each once, and the operations of all that were tried
    or are known beforehand.

    If none suits the mechanism, what the first of them says is raised.
    """
    forms = {name: lru_cache(maxsize=2)(form.make) for name, form in FORMS.items()}  # forgotten after the contest
    written: dict[Plan, Any] = {}
    counts: dict[Plan, int] = {}
    refusals: list[UnsupportedError] = []
    for plan in candidates:
        if _is_hopeless(plan, counts):
            continue
        expected = _expected(plan, counts)
        if expected is not None and not _is_close(expected, counts):
            counts[plan] = expected
            continue
        try:
            program = write(plan, forms[plan.form])
        except UnsupportedError as refusal:  # by its nature this algorithm is not for this mechanism
            refusals.append(refusal)
            continue
        counts[plan] = count(program)
        if all(program.nodes != other.nodes for other in written.values()):
            written[plan] = program
            written = {p: x for p, x in written.items() if _is_close(counts[p], counts)}
    if not counts:
        raise refusals[0]
    return written, counts


def _is_close(operations: int, counts: Mapping[Plan, int]) -> bool:
    """Whether passes may make this the shortest."""
    fewest = min(counts.values())
    return operations <= fewest + max(CLOSE_OPERATIONS, fewest // SHARE)


def _expected(plan: Plan, counts: Mapping[Plan, int]) -> int | None:
    """Operations of an algorithm that uses two others, from plans in which each of them was used beside another one.

    What a bias shares with an inertia matrix it shares with all of them, so the sum is exact.
    """
    alike = {p.parts: n for p, n in counts.items() if (p.family, p.form) == (plan.family, plan.form)}
    for parts, operations in alike.items():
        if len(parts) == len(plan.parts) == 2:
            one, other = (plan.parts[0], parts[1]), (parts[0], plan.parts[1])
            if one in alike and other in alike:
                return alike[one] + alike[other] - operations
    return None


def _is_hopeless(plan: Plan, counts: Mapping[Plan, int]) -> bool:
    """Whether the algorithm or the form has done badly already."""
    for one, many in counts.items():
        rivals = [
            few
            for other, few in counts.items()
            if (one.algorithm == plan.algorithm and other.form == one.form)
            or (one.form == plan.form and other.algorithm == one.algorithm)
        ]
        if rivals and many > HOPELESS * min(rivals) + CLOSE_OPERATIONS:
            return True
    return False

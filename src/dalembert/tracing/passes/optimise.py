"""All passes in order, as long as they pay."""

from __future__ import annotations

from collections.abc import Callable

from dalembert.errors import ArgumentError
from dalembert.tracing.cost import weight
from dalembert.tracing.passes.factor import factor
from dalembert.tracing.passes.rebuild import rebuild
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.passes.share import share
from dalembert.tracing.passes.signs import absorb_signs
from dalembert.tracing.passes.strength import reduce_strength
from dalembert.tracing.program import Program, require_program

_ROUNDS = {1: 1, 2: 12}
"""Merging values makes others used only once, which lets them be merged: derivatives settle after about seven
rounds."""


LARGE = 40_000
"""Nodes beyond which regrouping takes longer than it saves."""


def optimise(program: Program, level: int = 1, keep_labels: bool = False) -> Program:
    """A program that computes the same with less work.

    The result is deterministic. It never has more operations, nor a higher price, than the program it was made
    of.

    Args:
        program: what to optimise.
        level: 0 removes dead and repeated operations and changes no value; 1 also regroups sums, products and
            quotients, absorbs signs, and orders operations for few live values; 2 repeats this until nothing is
            gained.
        keep_labels: keep every value that has a label, for printing, even where it could be merged into its
            user.

    Programs of more than ``LARGE`` nodes are only cleaned and ordered: the rest takes longer than it saves.
    """
    if level not in (0, 1, 2):
        raise ArgumentError(f"level is {level!r}; must be 0, 1 or 2")
    best = rebuild(require_program(program, "optimise"))
    if level == 0:
        return best
    if len(best.nodes) > LARGE:
        return schedule(absorb_signs(best))
    passes: tuple[Callable[[Program], Program], ...] = (
        reduce_strength,
        lambda p: factor(p, keep_labels),
        lambda p: share(p, keep_labels),
    )
    price = _price(best)
    for _ in range(_ROUNDS[level]):
        before = best
        for rewrite in passes:
            new = rewrite(best)
            if new is not best and _pays(new_price := _price(new), price):
                best, price = new, new_price
        if best is before:
            break
    return schedule(absorb_signs(best))


def _price(program: Program) -> tuple[int, int]:
    return weight(program), weight(program, fused=False)


def _pays(new: tuple[int, int], old: tuple[int, int]) -> bool:
    """Less of one and not more of the other."""
    return new != old and new[0] <= old[0] and new[1] <= old[1]

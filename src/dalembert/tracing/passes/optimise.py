"""All passes in order, as long as they pay; and the two that look at neighbouring operations only.

*Fewer divisions*: one costs about ten multiplications.

    (a / b) / c           a / (b c)                       where a / b is used nowhere else
    a / (b / c)           (a c) / b                       where b / c is used nowhere else
    x / d, y / d          x r, y r with r = 1 / d         two or more divisions by the same d
    x (1 / d)             x / d                           where 1 / d is used nowhere else

*Fewer changes of sign*, absorbed into the operation before them. The last pass: it leaves the normal form of ``rules``.

    -(a - b)  =  b - a        -(x + c)  =  (-c) - x        -(c x)  =  (-c) x        -(c / x)  =  (-c) / x

each where the operation is used nowhere else and c is a number. No result changes by a single bit, except that zeros
may change their sign.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dalembert.errors import ArgumentError
from dalembert.tracing.cost import count_uses, weight
from dalembert.tracing.graph import Graph
from dalembert.tracing.passes.rebuild import pruned, rebuild, rewrite
from dalembert.tracing.passes.regroup import factor, share
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.program import Node, Program, require_program

_ROUNDS = {1: 1, 2: 12}
"""Merging values makes others used only once, which lets them be merged: derivatives settle after about seven
rounds."""


REGROUPED_NODES = 40_000
"""Nodes beyond which regrouping takes longer than it saves."""


VAST_NODES = 150_000
"""Nodes beyond which only signs are absorbed. Rebuilding and ordering took two thirds of the time of tracing; what is
traced has no repeated operations, and second derivatives, which wait for memory, run as fast in the order in which they
were written."""


def optimise(program: Program, level: int = 1, keep_labels: bool = False) -> Program:
    """A program that computes the same with less work.

    The result is deterministic. It never has more operations, nor a higher price, than the program it was made
    of.

    Args:
        level: 0 removes dead and repeated operations and changes no value; 1 also regroups sums, products and
            quotients, absorbs signs, and orders operations for few live values; 2 repeats this until nothing is
            gained.
        keep_labels: keep every value that has a label, for printing, even where it could be merged into its
            user.

    Programs of more than ``REGROUPED_NODES`` nodes are only cleaned and ordered, those of more than ``VAST_NODES`` only
    rid of dead operations and changes of sign: the rest takes longer than it saves.
    """
    if level not in (0, 1, 2):
        raise ArgumentError(f"level is {level!r}; must be 0, 1 or 2")
    whole = _with_optimised_steps(require_program(program, "optimise"), level)
    if len(whole.nodes) > VAST_NODES and level:
        return absorb_signs(whole)
    best = rebuild(whole)
    if level == 0:
        return best
    if len(best.nodes) > REGROUPED_NODES:
        return schedule(absorb_signs(best))
    passes: tuple[Callable[[Program], Program], ...] = (
        reduce_strength,
        lambda p: factor(p, keep_labels),
        lambda p: share(p, keep_labels),
    )
    price = _price(best)
    for _ in range(_ROUNDS[level]):
        before = best
        for improve in passes:
            new = improve(best)
            if new is not best and _pays(new_price := _price(new), price):
                best, price = new, new_price
        if best is before:
            break
    return schedule(absorb_signs(best))


def _with_optimised_steps(program: Program, level: int) -> Program:
    """The program with what its loops repeat optimised."""
    if not program.loops:
        return program
    return replace(program, loops=tuple(replace(loop, step=optimise(loop.step, level)) for loop in program.loops))


def _price(program: Program) -> tuple[int, int]:
    return weight(program), weight(program, fused=False)


def _pays(new: tuple[int, int], old: tuple[int, int]) -> bool:
    """Less of one and not more of the other."""
    return new != old and new[0] <= old[0] and new[1] <= old[1]


# ------------------------------------------------------------------------------------------------------ fewer divisions


def reduce_strength(program: Program) -> Program:
    """A program with fewer divisions; results change by a few roundings."""
    if not any(node.op == "div" for node in program.nodes):
        return program
    return _share_reciprocals(_merge_quotients(program))


def _merge_quotients(program: Program) -> Program:
    nodes, uses = program.nodes, count_uses(program)

    def is_quotient(k: int) -> bool:
        return nodes[k].op == "div" and uses[k] == 1

    def special(graph: Graph, k: int, values: list[Any]) -> Any:
        op, args, _ = nodes[k]
        if op == "div" and is_quotient(args[0]):
            a, b = nodes[args[0]].args
            return values[a] / (values[b] * values[args[1]])
        if op == "div" and is_quotient(args[1]):
            b, c = nodes[args[1]].args
            return (values[args[0]] * values[c]) / values[b]
        return None

    return rewrite(program, special)


def _share_reciprocals(program: Program) -> Program:
    nodes, uses = program.nodes, count_uses(program)
    times = Counter(args[1] for op, args, _ in nodes if op == "div" and nodes[args[1]].op != "const")

    def is_lone_reciprocal(k: int) -> bool:
        op, args, _ = nodes[k]
        return op == "div" and uses[k] == 1 and times[args[1]] == 1 and nodes[args[0]] == ("const", (), 1.0)

    def special(graph: Graph, k: int, values: list[Any]) -> Any:
        op, args, _ = nodes[k]
        if op == "div" and times[args[1]] > 1:
            return values[args[0]] * (1 / values[args[1]])
        if op == "mul" and is_lone_reciprocal(args[1]):
            return values[args[0]] / values[nodes[args[1]].args[1]]
        if op == "mul" and is_lone_reciprocal(args[0]):
            return values[args[1]] / values[nodes[args[0]].args[1]]
        return None

    return rewrite(program, special)


# ------------------------------------------------------------------------------------------------ fewer changes of sign


def absorb_signs(program: Program) -> Program:
    """A program with fewer changes of sign."""
    old, uses = program.nodes, count_uses(program)
    nodes = list(old)  # new constants come at the end for now
    added: dict[int, int] = {}  # the new constant that comes before an operation
    constants: dict[float, int] = {}

    def negative(k: int, user: int) -> int:
        value = -old[k].value
        if value not in constants:
            constants[value] = added[user] = len(nodes)
            nodes.append(Node("const", (), value))
        return constants[value]

    for k, (op, args, value) in enumerate(old):
        if op == "const":
            constants.setdefault(value, k)
        elif op == "neg" and uses[args[0]] == 1:
            inner, below, _ = old[args[0]]
            if inner == "sub":
                nodes[k] = Node("sub", (below[1], below[0]))
            elif inner == "add" and old[below[1]].op == "const":
                nodes[k] = Node("sub", (negative(below[1], k), below[0]))
            elif inner in ("mul", "div") and old[below[0]].op == "const":
                nodes[k] = Node(inner, (negative(below[0], k), below[1]))
    order: list[int] = []
    done = 0
    for user, constant in added.items():
        order += range(done, user)
        order.append(constant)
        done = user
    order += range(done, len(old))
    return pruned(replace(program, nodes=tuple(nodes)), order)

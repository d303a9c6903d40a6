"""Sums regrouped so that each part of a system adds up what is its own before it hands it on.

A sum over all branches of a robot, of products of which each is computed by the worker of a branch, would make the
workers exchange every product. The operations stay as many.
"""

from __future__ import annotations

from dalembert.tracing.program import Node, Program

Term = tuple[int, bool]
"""A node and whether it is subtracted."""


def gathered(program: Program, needs: list[int]) -> Program:
    """The program with regrouped sums; elements of outputs that are not wanted keep node index -1.

    Args:
        program: what to regroup.
        needs: for each node, the parts it depends on, a bit each.
    """
    nodes = program.nodes
    inside = _inside_sums(program)
    groups: dict[int, list[list[Term]]] = {}  # of the sums that are regrouped
    dropped: set[int] = set()  # what was added up on the way
    for k, node in enumerate(nodes):
        if node.op in ("add", "sub") and k not in inside:
            terms, between = _terms(nodes, inside, k)
            by_part: dict[int, list[Term]] = {}
            for term in terms:
                by_part.setdefault(needs[term[0]], []).append(term)
            if len(by_part) > 1 and any(len(own) > 1 and single(part) for part, own in by_part.items()):
                groups[k] = list(by_part.values())
                dropped |= between
    made: list[Node] = []
    place: dict[int, int] = {}

    def total(terms: list[Term]) -> Term:
        """The sum of nodes of the new program, to be subtracted if all of them are."""
        terms = sorted(terms, key=lambda term: term[1])  # stable: what is added comes first
        found, negative = terms[0]
        for k, minus in terms[1:]:
            made.append(Node("add" if minus == negative else "sub", (found, k), 0.0))
            found = len(made) - 1
        return found, negative

    for k, (op, args, value) in enumerate(nodes):
        if k in groups:  # the first term is added, so the sum is
            place[k], _ = total([total([(place[term], minus) for term, minus in own]) for own in groups[k]])
        elif k not in dropped:
            made.append(Node(op, args if op == "input" else tuple(place[a] for a in args), value))
            place[k] = len(made) - 1
    rows = tuple(tuple(place[k] if k >= 0 else -1 for k in row) for row in program.results)
    return Program(program.name, program.inputs, program.outputs, tuple(made), rows, {})


def single(parts: int) -> bool:
    """Whether it is one part and no more.

    Args:
        parts: a bit for each.
    """
    return parts != 0 and parts & (parts - 1) == 0


def _inside_sums(program: Program) -> set[int]:
    """Sums that are nothing but an operand of one other sum."""
    users: dict[int, list[int]] = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if op != "input":
            for a in args:
                users.setdefault(a, []).append(k)
    wanted = {k for row in program.results for k in row}
    sums = {k for k, node in enumerate(program.nodes) if node.op in ("add", "sub")}
    return {k for k in sums if k not in wanted and len(users.get(k, ())) == 1 and users[k][0] in sums}


def _terms(nodes: tuple[Node, ...], inside: set[int], k: int) -> tuple[list[Term], set[int]]:
    """The terms of a sum in the order in which they are written, and the sums between them and it."""
    found: list[Term] = []
    between: set[int] = set()
    left: list[Term] = [(k, False)]
    while left:
        node, minus = left.pop()
        if node != k and node not in inside:
            found.append((node, minus))
            continue
        between.add(node)
        op, (a, b), _ = nodes[node]
        left += [(b, minus != (op == "sub")), (a, minus)]
    return found, between - {k}

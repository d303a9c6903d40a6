"""What a program costs: exact operation counts and the number of values it holds at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields

from .program import Node, Program

WEIGHTS = {
    "neg": 0, "abs": 0, "add": 1, "sub": 1, "mul": 1, "div": 10, "sqrt": 12,
    "sin": 20, "cos": 20, "tan": 40, "exp": 25, "log": 25, "atan2": 50,
    "min": 1, "max": 1, "lt": 1, "le": 1, "eq": 1, "and": 1, "or": 1, "not": 1, "select": 1,
}  # fmt: skip
"""Rough price of each operation in additions, for vector code; what passes compare rewritings by."""


@dataclass(frozen=True)
class Cost:
    """Operations of a program. Changes of sign and absolute values are free.

    Args:
        multiplications: products.
        additions: sums and differences.
        divisions: quotients.
        square_roots: square roots.
        sines: sines.
        cosines: cosines.
        sincos_pairs: arguments of which both sine and cosine are needed; both are counted above as well.
        other_functions: tan, exp, log, atan2.
        comparisons: comparisons, minima, maxima, selections and logic.
        live: most values held at once between their computation and their last use; inputs and constants can
            be read again at any time and results are written at once, so these do not count.
    """

    multiplications: int = 0
    additions: int = 0
    divisions: int = 0
    square_roots: int = 0
    sines: int = 0
    cosines: int = 0
    sincos_pairs: int = 0
    other_functions: int = 0
    comparisons: int = 0
    live: int = 0

    @property
    def operations(self) -> int:
        """All operations together, a sine and a cosine of one argument counted as two."""
        return sum(getattr(self, f.name) for f in fields(self) if f.name not in ("sincos_pairs", "live"))

    def __add__(self, other: Cost) -> Cost:
        """The cost of one after the other: counts add, the larger live set stays."""
        if not isinstance(other, Cost):
            return NotImplemented
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "live"}
        return Cost(**sums, live=max(self.live, other.live))

    def __str__(self) -> str:
        parts = [f"{self.multiplications} multiplications", f"{self.additions} additions"]
        parts += [
            f"{getattr(self, f.name)} {f.name.replace('_', ' ')}"
            for f in fields(self)[2:-1]
            if getattr(self, f.name) and f.name != "sincos_pairs"
        ]
        if self.sincos_pairs:
            parts.append(f"{self.sincos_pairs} pairs of sine and cosine")
        return ", ".join(parts) + f"; {self.live} values live"


def cost(program: Program) -> Cost:
    """Count the operations of a program."""
    count = Counter(node.op for node in program.nodes)
    sines = {node.args for node in program.nodes if node.op == "sin"}
    cosines = {node.args for node in program.nodes if node.op == "cos"}
    return Cost(
        multiplications=count["mul"],
        additions=count["add"] + count["sub"],
        divisions=count["div"],
        square_roots=count["sqrt"],
        sines=count["sin"],
        cosines=count["cos"],
        sincos_pairs=len(sines & cosines),
        other_functions=count["tan"] + count["exp"] + count["log"] + count["atan2"],
        comparisons=sum(count[op] for op in ("lt", "le", "eq", "and", "or", "not", "min", "max", "select")),
        live=max_live(program.nodes),
    )


def weight(program: Program) -> int:
    """The price of a program in additions, by ``WEIGHTS``."""
    return sum(WEIGHTS[node.op] for _, node in program.operations())


def max_live(nodes: tuple[Node, ...]) -> int:
    """Most values that are held at once when the nodes are executed in order; see ``Cost.live``."""
    last = last_uses(nodes)
    ends: list[int] = [0] * (len(nodes) + 1)
    live = most = 0
    for k, node in enumerate(nodes):
        live -= ends[k]
        if node.op not in ("const", "input") and last[k] > k:
            live += 1
            ends[last[k]] += 1
        most = max(most, live)
    return most


def last_uses(nodes: tuple[Node, ...]) -> list[int]:
    """For each node the index of the last node that uses it, or its own if none does."""
    last = list(range(len(nodes)))
    for k, node in enumerate(nodes):
        if node.op not in ("const", "input"):
            for a in node.args:
                last[a] = k
    return last

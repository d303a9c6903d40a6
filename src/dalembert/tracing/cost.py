"""What a program costs: exact operation counts and the number of values it holds at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass, fields

from dalembert.tracing.program import NOT_HELD, STRUCTURE, UNCOUNTED, Node, Program, Scan, require_program

WEIGHTS = {
    "neg": 0, "abs": 0, "add": 1, "sub": 1, "mul": 1, "div": 10, "sqrt": 12,
    "sin": 20, "cos": 20, "tan": 40, "exp": 25, "log": 25, "atan2": 50,
    "min": 1, "max": 1, "lt": 1, "le": 1, "eq": 1, "and": 1, "or": 1, "not": 1, "select": 1,
    "read": 4, "write": 4, "draw": 250, **dict.fromkeys(STRUCTURE, 0),  # what a loop repeats is counted apart
    "call": 0,  # what is called is not known yet
}  # fmt: skip
"""Rough price of each operation in additions, for vector code; what passes compare rewritings by."""

_FREE = frozenset({"neg", "abs", "read", "write"})
"""Operations that do not count: signs, and moving numbers."""


@dataclass(frozen=True)
class Cost:
    """Operations of a program. Changes of sign and absolute values are free; doubling is an addition. What a loop
    repeats counts as often as it is repeated.

    Args:
        additions: sums and differences.
        sincos_pairs: arguments of which both sine and cosine are needed; both are counted above as well.
        other_functions: tan, exp, log, atan2, and blocks of random numbers.
        comparisons: comparisons, minima, maxima, selections and logic.
        fused: additions that can absorb a product used nowhere else, in one fused multiply-add; product and
            addition are counted above as well.
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
    fused: int = 0
    live: int = 0

    @property
    def operations(self) -> int:
        """All operations together; a sine and a cosine of one argument are two, a fused multiply-add is two."""
        return sum(getattr(self, f.name) for f in fields(self) if f.name not in ("sincos_pairs", "fused", "live"))

    def __add__(self, other: Cost) -> Cost:
        """The cost of one after the other: counts add, the larger live set stays."""
        if not isinstance(other, Cost):
            return NotImplemented
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "live"}
        return Cost(**sums, live=max(self.live, other.live))

    def repeated(self, count: int) -> Cost:
        """The cost of doing it several times."""
        counts = {f.name: getattr(self, f.name) * count for f in fields(self) if f.name != "live"}
        return Cost(**counts, live=self.live)

    def __str__(self) -> str:
        parts = [f"{self.multiplications} multiplications", f"{self.additions} additions"]
        if self.fused:
            parts[1] += f" ({self.fused} fused)"
        for f in fields(self)[2:]:
            number = getattr(self, f.name)
            if number and f.name not in ("sincos_pairs", "fused", "live"):
                parts.append(f"{number} {f.name.replace('_', ' ')}")
            elif number and f.name == "sincos_pairs":
                parts[-1] += f" ({number} pairs)"
        return ", ".join(parts) + f"; {self.live} values live"


def cost(program: Program) -> Cost:
    """Count the operations of a program."""
    require_program(program, "cost")
    count = Counter(node.op for node in program.nodes)
    two = {k for k, node in enumerate(program.nodes) if node.op == "const" and node.value == 2}
    doublings = sum(1 for node in program.nodes if node.op == "mul" and not two.isdisjoint(node.args))
    sines = {node.args for node in program.nodes if node.op == "sin"}
    cosines = {node.args for node in program.nodes if node.op == "cos"}
    own = Cost(
        multiplications=count["mul"] - doublings,
        additions=count["add"] + count["sub"] + doublings,
        divisions=count["div"],
        square_roots=count["sqrt"],
        sines=count["sin"],
        cosines=count["cos"],
        sincos_pairs=len(sines & cosines),
        other_functions=sum(count[op] for op in ("tan", "exp", "log", "atan2", "draw")),
        comparisons=sum(count[op] for op in ("lt", "le", "eq", "and", "or", "not", "min", "max", "select")),
        fused=len(fused_products(program)),
        live=max_live(program.nodes, program.loops),
    )
    return sum((cost(loop.step).repeated(loop.count) for loop in program.loops), own)


def operation_count(program: Program) -> int:
    """All operations together, ``cost(program).operations``, without looking at anything else."""
    own = sum(1 for node in program.nodes if node.op not in UNCOUNTED and node.op not in _FREE)
    return own + sum(loop.count * operation_count(loop.step) for loop in program.loops)


def weight(program: Program, fused: bool = True) -> int:
    """The price of a program in additions, by ``WEIGHTS``.

    Args:
        fused: count a fused multiply-add as one operation.
    """
    price = sum([WEIGHTS[op] for op, _, _ in program.nodes if op != "const" and op != "input"])
    price += sum(loop.count * weight(loop.step, fused) for loop in program.loops)
    return price - len(fused_products(program)) if fused else price


def count_uses(program: Program) -> list[int]:
    """For each node how often it is an operand or a result."""
    uses = [0] * len(program.nodes)
    for op, args, _ in program.nodes:
        if op != "input":
            for a in args:
                uses[a] += 1
    for row in program.results:
        for k in row:
            uses[k] += 1
    return uses


def written_in_place(program: Program, ports: Set[int] = frozenset()) -> set[int]:
    """Which of its writes may change the array itself: all other uses of that come before them.

    Args:
        ports: inputs that may be changed.
    """
    nodes = program.nodes
    found: set[int] = set()
    writes = [k for k, node in enumerate(nodes) if node.op == "write"]
    if not writes:
        return found
    scalar = {node.args[0] for node in nodes if node.op == "input"}
    results = {k for row in program.results for k in row}
    users: dict[int, list[int]] = {nodes[k].args[0]: [] for k in writes}
    for k, (op, args, _) in enumerate(nodes):
        if op != "input":
            for a in args:
                if a in users:
                    users[a].append(k)
    for k in writes:
        before = nodes[k].args[0]
        op, _, value = nodes[before]
        own = op in ("pack", "write", "rows") or (op == "table" and value in ports and value not in scalar)
        if not own or before in results:
            continue
        others, reached, stack = set(users[before]) - {k}, {k}, [k]
        if any(nodes[x].op == "read" and nodes[nodes[x].args[1]].op == "const" for x in others):
            continue  # an element that is read without an instruction of its own, at any time
        while stack:
            for a in nodes[stack.pop()].args:
                if a > before and a not in reached and nodes[a].op != "input":
                    reached.add(a)
                    stack.append(a)
        if others <= reached:
            found.add(k)
    return found


def array_numbers(program: Program) -> int:
    """How many numbers its arrays, and those of the steps of its loops, hold together: neither inputs nor tables."""
    own = sum(size for k, size in program.array_sizes.items() if program.nodes[k].op not in ("table", "data"))
    return own + sum(array_numbers(loop.step) for loop in program.loops)


def fused_products(program: Program) -> dict[int, int]:
    """Sums that can absorb a product that nothing else uses: {sum: product}, as node indices."""
    uses = count_uses(program)
    pairs = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if op == "add" or op == "sub":
            products = [a for a in args if uses[a] == 1 and program.nodes[a].op == "mul"]
            if products:
                pairs[k] = max(products)
    return pairs


def max_live(nodes: tuple[Node, ...], loops: tuple[Scan, ...] = ()) -> int:
    """Most values that are held at once when the nodes are executed in order; see ``Cost.live``.

    Args:
        loops: what its loops repeat; left out, what they hold inside does not count.
    """
    most = 0
    for node, live in zip(nodes, live_values(nodes)):
        inside = 0
        if node.op == "loop" and loops:
            loop = loops[int(node.value)]
            inside = loop.carried + max_live(loop.step.nodes, loop.step.loops)
        most = max(most, live + inside)
    return most


def mean_excess(nodes: tuple[Node, ...], room: int) -> float:
    """How many live values are too many for so much room, on average over the nodes executed in order.

    Args:
        room: how many values fit, in registers for instance.
    """
    return sum(max(0, live - room) for live in live_values(nodes)) / max(1, len(nodes))


def live_values(nodes: tuple[Node, ...]) -> Iterator[int]:
    """After each node, executed in order, how many values are held because a later one needs them."""
    last = last_uses(nodes)
    ends = [0] * (len(nodes) + 1)
    live = 0
    for k, node in enumerate(nodes):
        live -= ends[k]
        if node.op not in NOT_HELD and last[k] > k:
            live += 1
            ends[last[k]] += 1
        yield live


def last_uses(nodes: tuple[Node, ...]) -> list[int]:
    """For each node the index of the last node that uses it, or its own if none does."""
    last = list(range(len(nodes)))
    for k, node in enumerate(nodes):
        if node.op not in ("const", "input"):
            for a in node.args:
                last[a] = k
    return last

"""A straight-line program: what tracing produces, what passes rewrite, what every back end prints.

A program is a list of nodes in an order in which they can be executed; a node's operands are indices of earlier
nodes. It has named, shaped inputs and outputs and no branches.

The value of a node is a number, a truth value, or an *array* of numbers in memory: an input as a whole, a table of
constants, numbers packed together, the rows that a loop has emitted. Arrays are read by computed index.

A node may be a *loop* (:class:`Scan`): a step, itself a program, taken several times. It is written once, however often
it is taken: rows of arrays are read, and rows emitted, by the number of the step.

A node may also be a *call* of another program, which stays closed until its code is needed: see
:func:`dalembert.tracing.calls.expanded`. Its results are its elements.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from dalembert.cached import cached_property
from dalembert.errors import ArgumentError

ARITY = {
    "const": 0,  # Node.value holds the number
    "input": 0,  # Node.args is (port, element): which input array, which flat (C order) element of it
    "neg": 1, "add": 2, "sub": 2, "mul": 2, "div": 2,
    "sqrt": 1, "sin": 1, "cos": 1, "tan": 1, "exp": 1, "log": 1, "atan2": 2, "abs": 1, "min": 2, "max": 2,
    "lt": 2, "le": 2, "eq": 2, "and": 2, "or": 2, "not": 1,  # truth values, only for and/or/not/select
    "select": 3,  # (condition, if true, if false)
    "element": 1,  # (loop or call); Node.value says which of the numbers that it ends with
    "rows": 1,  # (loop); Node.value says which of the arrays that it ends with
    "table": 0,  # Node.value says which input, as an array
    "data": 0,  # Node.value says which of ``Program.tables``
    "read": 2,  # (array, index): the nearest element there is; the first one if the index is NaN
    "write": 3,  # (array, index, number): the array with another element there
    "draw": 9,  # (key, counter: four words each, limit): four random whole numbers below the limit
}  # fmt: skip
"""Every operation a program may contain, with its number of operands; loops and calls have as many as they need, and so
has a ``pack``, the array of its operands."""

ARRAYS = frozenset({"table", "data", "pack", "rows", "write", "draw"})
"""Operations whose result is an array."""

STRUCTURE = frozenset({"loop", "element", "rows", "table", "data", "pack"})
"""Operations that compute nothing of their own: loops, what they end with, and arrays."""

UNCOUNTED = STRUCTURE | {"const", "input"}
"""Operations that take no time of their own."""

NOT_HELD = ARRAYS | {"const", "input", "loop"}
"""Operations whose result needs no register until its last use."""

PREDICATES = frozenset({"lt", "le", "eq", "and", "or", "not"})
"""Operations whose result is a truth value instead of a number."""


class Node(NamedTuple):
    """One operation: its name, the indices of its operands, and its value if it is a constant.

    The value of a loop is its place in ``Program.loops``, of a call its place in ``Program.calls``, of an element its
    place among what these end with; see :data:`ARITY` for arrays.
    """

    op: str
    args: tuple[int, ...] = ()
    value: float = 0.0


node_of: Callable[[tuple[str, tuple[int, ...], float]], Node] = partial(tuple.__new__, Node)
"""The node of operation, operands and value: what ``Node`` makes, in half the time."""


@dataclass(frozen=True)
class Port:
    """A named input or output array.

    Args:
        name: an identifier.
        shape: core shape; ``()`` is a scalar.
    """

    name: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Scan:
    """A step that is taken several times.

    The operands of its node are the numbers *carried* at the start; the numbers *held*, which every step reads; an
    array for each input that is *given* row by row; the *tables*, which every step reads; and the *stores*, arrays that
    are carried. Its elements are the numbers carried in the end. Its rows are the arrays of what each step *made*, row
    after row, and the stores in the end.

    Args:
        step: a program with the inputs ``carried``, ``held``, those given, the tables and the stores, all of one
            dimension, and the outputs ``carried``, those made and the stores.
        count: how often at most, at least once.
        given: for each input that is given where its first row begins in the array, and how far apart rows are.
        stores: how many arrays are carried.
        every: what a step made becomes a row after so many steps.
        hold: each row that is given serves so many steps.
        reverse: whether rows are given, and emitted, from the last to the first.
        stops: whether to stop where the last number carried is not positive. The step then changes nothing, and rows
            that are not reached are zero.
    """

    step: Program
    count: int
    given: tuple[tuple[int, int], ...] = ()
    stores: int = 0
    every: int = 1
    hold: int = 1
    reverse: bool = False
    stops: bool = False

    @property
    def carried(self) -> int:
        """How many numbers are carried from step to step."""
        return self.step.inputs[0].size

    @property
    def held(self) -> int:
        """How many numbers every step reads."""
        return self.step.inputs[1].size

    @property
    def widths(self) -> list[int]:
        """How many numbers of each array are given to a step."""
        return [port.size for port in self.step.inputs[2 : 2 + len(self.given)]]

    @property
    def made(self) -> list[int]:
        """How many numbers each step makes for each of the arrays that are emitted."""
        return [port.size for port in self.step.outputs[1 : len(self.step.outputs) - self.stores]]

    @property
    def read_rows(self) -> int:
        """How many rows are given."""
        return -(-self.count // self.hold)

    @property
    def emitted(self) -> int:
        """How many rows are emitted."""
        return self.count // self.every

    @property
    def sizes(self) -> list[int]:
        """How many numbers there are in each of its rows."""
        stores = self.step.inputs[len(self.step.inputs) - self.stores :]
        return [self.emitted * width for width in self.made] + [port.size for port in stores]

    def split(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any], list[Any], list[Any]]:
        """Operands as carried, held, given, tables and stores."""
        ends = list(accumulate((0, self.carried, self.held, len(self.given))))
        parts = [list(operands[a:b]) for a, b in pairwise(ends)]
        last = len(operands) - self.stores
        return parts[0], parts[1], parts[2], list(operands[ends[-1] : last]), list(operands[last:])

    @property
    def digest(self) -> str:
        """Of everything that determines what it computes."""
        rest = (self.count, self.given, self.stores, self.every, self.hold, self.reverse, self.stops)
        return f"{self.step.digest} {rest}"


@dataclass(frozen=True)
class CalledProgram:
    """A program that is called inside another, known by a key until its code is needed.

    The operands of its node are the elements of all inputs, one after the other; its elements are those of all outputs.

    Args:
        key: changes whenever the program would.
        inputs: the input arrays, in calling order.
        outputs: the output arrays, in order.
        program: gives the program, which contains no calls.
    """

    key: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    program: Callable[[], Program] = field(compare=False, repr=False)

    @property
    def elements(self) -> int:
        """How many values it gives."""
        return sum(port.size for port in self.outputs)


@dataclass(frozen=True)
class Program:
    """A straight-line program.

    Args:
        name: an identifier, used for the generated function.
        inputs: the input arrays, in calling order.
        outputs: the output arrays, in order.
        nodes: operations, every operand before its use, dead ones removed.
        results: for each output, the node index of each of its elements in C order; or that of an array alone.
        labels: optional human names of nodes, for printing (``{node index: "omega_3_x"}``).
        loops: what its loops repeat.
        calls: what it calls; programs that are compiled, printed or differentiated contain none.
        tables: the numbers of its tables of constants, as bytes of doubles.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    results: tuple[tuple[int, ...], ...]
    labels: dict[int, str]
    loops: tuple[Scan, ...] = ()
    tables: tuple[bytes, ...] = ()
    calls: tuple[CalledProgram, ...] = ()

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the computed values; labels do not count."""
        h = hashlib.sha256()
        h.update(repr((self.name, self.inputs, self.outputs, self.results)).encode())
        for op, args, value in self.nodes:
            h.update(op.encode())
            h.update(struct.pack(f"<{len(args)}qd", *args, value))
        for loop in self.loops:
            h.update(loop.digest.encode())
        for table in self.tables:
            h.update(b"%d" % len(table) + table)
        for call in self.calls:
            h.update(repr(call).encode())
        return h.hexdigest()

    @cached_property
    def has_calls(self) -> bool:
        """Whether it calls other programs, be it in the steps of loops."""
        return bool(self.calls) or any(loop.step.has_calls for loop in self.loops)

    def operations(self) -> Iterator[tuple[int, Node]]:
        """Index and node of everything that is computed: neither constants nor inputs."""
        return ((k, n) for k, n in enumerate(self.nodes) if n.op not in ("const", "input"))

    @property
    def vocabulary(self) -> frozenset[str]:
        """The operations that occur, those of steps included."""
        return frozenset(node.op for node in self.nodes).union(*(loop.step.vocabulary for loop in self.loops))

    @property
    def executed(self) -> int:
        """How many operations are executed, those of a loop as often as it takes its step."""
        own = sum([op not in UNCOUNTED for op, _, _ in self.nodes])
        return own + sum(loop.count * loop.step.executed for loop in self.loops)

    @property
    def elements_read(self) -> frozenset[tuple[int, int]]:
        """Which elements of which inputs it reads: number and place; of an array that it reads as a whole, all."""
        own = {(node.args[0], node.args[1]) for node in self.nodes if node.op == "input"}
        whole = (int(node.value) for node in self.nodes if node.op == "table")
        return frozenset(own).union(*([(k, e) for e in range(self.inputs[k].size)] for k in whole))

    def with_inputs(self, inputs: Sequence[Port], place: Mapping[int, int]) -> Program:
        """The same program with other inputs.

        Args:
            inputs: all of them.
            place: of those that are read, by their number now.
        """

        def moved(node: Node) -> Node:
            if node.op == "input":
                return Node("input", (place[node.args[0]], node.args[1]))
            return Node("table", (), float(place[int(node.value)])) if node.op == "table" else node

        return replace(self, inputs=tuple(inputs), nodes=tuple(map(moved, self.nodes)))

    def is_array(self, output: int) -> bool:
        """Whether an output is an array as a whole, and not one number after the other."""
        row = self.results[output]
        return len(row) == 1 and row[0] >= 0 and self.nodes[row[0]].op in ARRAYS

    @cached_property
    def array_sizes(self) -> dict[int, int]:
        """How many numbers there are in each of its arrays, by node."""
        found: dict[int, int] = {}
        for k, (op, args, value) in enumerate(self.nodes):
            if op == "table":
                found[k] = self.inputs[int(value)].size
            elif op == "data":
                found[k] = len(self.tables[int(value)]) // 8
            elif op == "pack":
                found[k] = len(args)
            elif op == "draw":
                found[k] = 4
            elif op == "write":
                found[k] = found[args[0]]
            elif op == "rows":
                found[k] = self.loops[int(self.nodes[args[0]].value)].sizes[int(value)]
        return found

    def __repr__(self) -> str:
        ports = ", ".join(f"{p.name}{list(p.shape)}" for p in self.inputs)
        result = ", ".join(f"{p.name}{list(p.shape)}" for p in self.outputs)
        return f"Program {self.name}({ports}) -> {result}: {self.executed} operations"


def derivative_ports(program: Program, wrt: Sequence[str]) -> tuple[Port, ...]:
    """What the derivatives of all outputs by some inputs are called: all inputs of the first output come first.

    Args:
        wrt: names of the inputs to differentiate by.
    """
    shapes = {port.name: port.shape for port in program.inputs}
    if unknown := [name for name in wrt if name not in shapes]:
        raise ArgumentError(
            f"{program.name} has the inputs {', '.join(shapes)}; cannot differentiate by {unknown[0]!r}"
        )
    return tuple(Port(f"d{y.name}_d{x}", y.shape + shapes[x]) for y in program.outputs for x in wrt)


def require_program(given: Any, caller: str) -> Program:
    """``given`` if it is a program.

    Args:
        given: what a user passed.
        caller: the name of the function it was passed to, for the message.
    """
    if isinstance(given, Program):
        return given
    hint = "pass its .program" if isinstance(getattr(given, "program", None), Program) else "trace() makes one"
    raise ArgumentError(f"{caller} takes a Program, got {type(given).__name__}; {hint}")

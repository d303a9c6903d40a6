"""A straight-line program: what tracing produces, what passes rewrite, what every back end prints.

A program is a list of nodes in an order in which they can be executed; a node's operands are indices of earlier
nodes. It has named, shaped inputs and outputs and nothing else: no branches, no memory.

A node may be a *loop*: a step, itself a program, applied a fixed number of times to values that it carries along. The
step is written once, however often it is taken; what the loop ends with are its *elements*.

A node may also be a *call* of another program, which stays closed until its code is needed: see
:func:`dalembert.tracing.calls.expanded`. Its results are its elements.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
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
    "element": 1,  # (loop or call); Node.value says which of the values that it ends with
}  # fmt: skip
"""Every operation a program may contain, with its number of operands; loops and calls have as many as they need."""

LOOPS = frozenset({"loop", "element"})
"""Operations that stand for a repeated step: they compute nothing of their own."""

_EXECUTE_NOTHING = LOOPS | {"const", "input"}

PREDICATES = frozenset({"lt", "le", "eq", "and", "or", "not"})
"""Operations whose result is a truth value instead of a number."""


class Node(NamedTuple):
    """One operation: its name, the indices of its operands, and its value if it is a constant.

    The value of a loop is its place in ``Program.loops``, of a call its place in ``Program.calls``, of an element its
    place among what these end with.
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
class Repetition:
    """A step that is taken a fixed number of times.

    It changes what is *carried* along, reads what is *held* and, each time anew, what is *given*; what it has *made* is
    kept of every time. The operands of its node are the values carried at the start, those held, and those given to the
    first step, the second, ...; its elements are those carried in the end and those that each step made.

    Args:
        step: a program with the inputs ``carried``, ``held``, ``given`` and the outputs ``carried``, ``made``, all of
            one dimension.
        count: how often, at least once.
    """

    step: Program
    count: int

    @property
    def carried(self) -> int:
        """How many values are carried from step to step."""
        return self.step.inputs[0].size

    @property
    def held(self) -> int:
        """How many values every step reads."""
        return self.step.inputs[1].size

    @property
    def given(self) -> int:
        """How many values are given to each step."""
        return self.step.inputs[2].size

    @property
    def made(self) -> int:
        """How many values each step makes."""
        return self.step.outputs[1].size

    @property
    def elements(self) -> int:
        """How many values there are in the end."""
        return self.carried + self.count * self.made


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
        results: for each output, the node index of each of its elements in C order.
        labels: optional human names of nodes, for printing (``{node index: "omega_3_x"}``).
        loops: what its loops repeat.
        calls: what it calls; programs that are compiled, printed or differentiated contain none.
    """

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    results: tuple[tuple[int, ...], ...]
    labels: dict[int, str]
    loops: tuple[Repetition, ...] = ()
    calls: tuple[CalledProgram, ...] = ()

    def __identity__(self) -> dict[str, Any]:
        """What it is by value, for whoever recognises it in another process."""
        return {"digest": self.digest}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that determines the computed values; labels do not count."""
        h = hashlib.sha256()
        h.update(repr((self.name, self.inputs, self.outputs, self.results)).encode())
        for op, args, value in self.nodes:
            h.update(op.encode())
            h.update(struct.pack(f"<{len(args)}qd", *args, value))
        for loop in self.loops:
            h.update(f"{loop.count} times {loop.step.digest}".encode())
        for call in self.calls:
            h.update(f"call {call.key}".encode())
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
        own = sum([op not in _EXECUTE_NOTHING for op, _, _ in self.nodes])
        return own + sum(loop.count * loop.step.executed for loop in self.loops)

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

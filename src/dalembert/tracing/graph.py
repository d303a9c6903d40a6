"""Traced scalars, objects that record what is done to them, and the graph they live in.

    graph = Graph()
    q = graph.input("q", (2,))            # object array of two Expr
    y = np.sin(q[0]) * q[1] + 2

An ``Expr`` stands for a number that is not known yet. It works inside plain NumPy object arrays (``A @ B``,
``np.sin(A)``), and everything done to it adds a node to its graph, by the rules of ``rules``. Nodes are hash-consed:
the same operation on the same operands is the same object, so common subexpressions never arise twice.

Control flow cannot depend on an ``Expr``; comparisons give a ``Predicate``, and ``(x < y).select(a, b)`` chooses.
``x.equals(y)`` is the traced comparison; ``==`` answers where the answer is known - of constants, and of an expression
with itself - and else refuses to guess.
"""

from __future__ import annotations

import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from dalembert.errors import ArgumentError, TracingError, UnsupportedError
from dalembert.tracing import rules
from dalembert.tracing.program import CalledProgram, Node, Port, Program, Scan


class Traced:
    """What expressions and predicates have in common: a place in a graph.

    Args:
        graph: the graph it belongs to.
        index: its number; operands have smaller ones.
        op: an operation of ``program.ARITY``.
        args: the operands; for an input the pair (port number, flat element).
        value: the number, if it is a constant.
    """

    __slots__ = ("args", "graph", "index", "op", "value")

    _op_priority = 1000.0  # SymPy numbers step back and let the methods below handle ``number * expr``

    def __init__(self, graph: Graph, index: int, op: str, args: tuple, value: float = 0.0):
        self.graph, self.index, self.op, self.args, self.value = graph, index, op, args, value

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError("a traced scalar cannot be pickled; make a Program of it with trace() and pickle that")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.index}: {_text(self, 3)}>"

    @property
    def is_constant(self) -> bool:
        """True if the value is known."""
        return self.op == "const"

    def __bool__(self) -> bool:
        if self.op == "const":
            return self.value != 0
        raise TracingError(
            f"the truth of the traced value {self!r} is not known while tracing: if, while, and, or, min(), "
            "max() and comparisons of whole arrays cannot depend on it. Write da.select(da.less(x, y), yes, no), "
            "combine conditions with da.logical_and, da.logical_or, da.logical_not, and use da.minimum and da.maximum; "
            "all of them take arrays, too"
        )


class Expr(Traced):
    """A traced real number. Behaves like a float in arithmetic, and inside NumPy object arrays."""

    __slots__ = ()

    def __add__(self, other):
        if type(other) is not Expr and (other := lift(self.graph, other)) is None:
            return NotImplemented
        return rules.add(self, other)

    def __radd__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.add(other, self)

    def __sub__(self, other):
        if type(other) is not Expr and (other := lift(self.graph, other)) is None:
            return NotImplemented
        return rules.sub(self, other)

    def __rsub__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.sub(other, self)

    def __mul__(self, other):
        if type(other) is not Expr and (other := lift(self.graph, other)) is None:
            return NotImplemented
        return rules.mul(self, other)

    def __rmul__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.mul(other, self)

    def __truediv__(self, other):
        if type(other) is not Expr and (other := lift(self.graph, other)) is None:
            return NotImplemented
        return rules.div(self, other)

    def __rtruediv__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.div(other, self)

    def __pow__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.power(self, other)

    def __rpow__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.power(other, self)

    def __neg__(self):
        return rules.neg(self)

    def __pos__(self):
        return self

    def __abs__(self):
        return rules.absolute(self)

    def __lt__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.lt(self, other)

    def __le__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.le(self, other)

    def __gt__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.lt(other, self)

    def __ge__(self, other):
        return NotImplemented if (other := lift(self.graph, other)) is None else rules.le(other, self)

    def __eq__(self, other):
        if not (type(other) is Predicate and other.is_constant) and (other := lift(self.graph, other)) is None:
            return NotImplemented
        if self.op == other.op == "const":
            return self.value == other.value
        if self is other:
            return True
        raise TracingError(
            f"whether {self!r} == {other!r} is not known while tracing. Write x.equals(y).select(yes, no) for a choice "
            "at run time; dalembert.algebra.scalar.is_zero(x) asks whether an expression is literally zero"
        )

    __hash__ = Traced.__hash__  # by identity, since equal expressions of a graph are one

    def equals(self, other: Any) -> Predicate:
        """The traced comparison ``self == other``, decided at run time."""
        return rules.eq(self, _operand(self, other))

    def conjugate(self) -> Expr:
        """Itself: it is real. ``np.std`` and ``A.conj().T`` ask for it."""
        return self

    def label(self, name: str) -> Expr:
        """Give this node a name for printing, unless it has one or is a constant or an input; returns
        itself."""
        if self.op not in ("const", "input"):
            self.graph.labels.setdefault(self.index, name)
        return self

    def __float__(self) -> float:
        if self.op == "const":
            return self.value
        raise TracingError(
            f"the value of {self!r} is not known while tracing, so it cannot become a float. Keep it in arrays "
            "of dtype=object and avoid math.*, int(), round() and np.linalg on it"
        )

    def __int__(self) -> int:
        return int(float(self))

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __trunc__(self) -> int:
        return int(float(self))

    @property
    def is_zero(self) -> bool:
        """True only if this is literally the constant 0."""
        return self.op == "const" and self.value == 0

    @property
    def is_one(self) -> bool:
        """True only if this is literally the constant 1."""
        return self.op == "const" and self.value == 1

    def scanned(self, *arguments: Any, **options: Any) -> tuple[tuple, tuple]:
        """A step taken several times.

        Args:
            arguments: after the graph, of :func:`dalembert.tracing.loops.scanned`; so are the options.
            options: see there.
        """
        from dalembert.tracing.loops import scanned

        return scanned(self.graph, *arguments, **options)

    def read_from(self, array: Any) -> Expr:
        """The element of an array at this index, a whole number; the nearest there is, or the first one for a NaN.

        Args:
            array: numbers and expressions.
        """
        from dalembert.tracing.loops import read_at

        return read_at(self.graph, array, self)

    def written_to(self, array: Any, index: Any, number: Any) -> np.ndarray:
        """An array of numbers and expressions of this graph with another element at an index.

        Args:
            array: of one dimension.
            index: the nearest there is counts.
            number: the new element.
        """
        from dalembert.tracing.loops import written_at

        return written_at(self.graph, array, index, number)

    def random(self, words: Sequence[Any], limit: Any) -> list[Any]:
        """Random whole numbers below a limit, see :func:`dalembert.threefry.draw`.

        Args:
            words: eight of them, expressions or numbers.
            limit: from 1 to 2**24.
        """
        operands = rules.together(*[x if isinstance(x, Expr) else self.graph.lift(x) for x in (*words, limit)])
        array, graph = rules.draw(*operands), operands[0].graph
        return [rules.read(array, graph.constant(k)) for k in range(4)]

    # Functions, by the names that NumPy asks its objects for: ``np.sin(A)`` calls ``A[k].sin()``.

    def sin(self) -> Expr:
        """Sine; the argument is in radians."""
        return rules.sin(self)

    def cos(self) -> Expr:
        """Cosine; the argument is in radians."""
        return rules.cos(self)

    def tan(self) -> Expr:
        """Tangent; the argument is in radians."""
        return rules.tan(self)

    def sqrt(self) -> Expr:
        """Square root; NaN for negative numbers."""
        return rules.sqrt(self)

    def exp(self) -> Expr:
        """Exponential function."""
        return rules.exp(self)

    def log(self) -> Expr:
        """Natural logarithm; NaN for negative numbers."""
        return rules.log(self)

    def atan2(self, x: Any) -> Expr:
        """Angle of the point (x, self), in radians. The sign of a zero is not kept: on the negative half of the
        x axis, and at the origin, the answer may be that of either side."""
        return rules.atan2(self, _operand(self, x))

    arctan2 = atan2  # the name np.arctan2 looks for

    def arctan(self) -> Expr:
        """Angle between -pi/2 and pi/2 with this tangent, in radians."""
        return self.atan2(1)

    def arcsin(self) -> Expr:
        """Angle between -pi/2 and pi/2 with this sine, in radians; NaN beyond one."""
        return rules.asin(self)

    def arccos(self) -> Expr:
        """Angle between 0 and pi with this cosine, in radians; NaN beyond one."""
        return rules.acos(self)

    def sinh(self) -> Expr:
        """Hyperbolic sine; near zero to a rounding of one, since it is made of exponentials."""
        return rules.sinh(self)

    def cosh(self) -> Expr:
        """Hyperbolic cosine."""
        return rules.cosh(self)

    def tanh(self) -> Expr:
        """Hyperbolic tangent; near zero to a rounding of one, since it is made of exponentials."""
        return rules.tanh(self)

    def arcsinh(self) -> Expr:
        """Inverse of the hyperbolic sine; near zero to a rounding of one, infinite where a square overflows."""
        return rules.asinh(self)

    def arccosh(self) -> Expr:
        """Inverse of the hyperbolic cosine; NaN below one."""
        return rules.acosh(self)

    def arctanh(self) -> Expr:
        """Inverse of the hyperbolic tangent; NaN beyond one, near zero to a rounding of one."""
        return rules.atanh(self)

    def hypot(self, other: Any) -> Expr:
        """Length of the vector (self, other)."""
        return rules.sqrt(self * self + other * other)

    def deg2rad(self) -> Expr:
        """Radians of this many degrees."""
        return self * (math.pi / 180)

    def rad2deg(self) -> Expr:
        """Degrees of this many radians."""
        return self * (180 / math.pi)

    radians, degrees = deg2rad, rad2deg  # NumPy has both names

    def ratan2(self, y: Any) -> Expr:
        """Angle of the point (self, y), in radians: ``atan2`` with the operands reflected."""
        return rules.atan2(_operand(self, y), self)

    def minimum(self, other: Any) -> Expr:
        """The smaller of two numbers."""
        return rules.minimum(self, _operand(self, other))

    def maximum(self, other: Any) -> Expr:
        """The larger of two numbers."""
        return rules.maximum(self, _operand(self, other))


class Constant(Expr):
    """A traced number whose value is known. A kind of its own, so that hashing all others costs no Python."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self.value)  # that of the number it equals


class Predicate(Traced):
    """A traced truth value: combine with ``& | ~``, use with ``select``. It is not a number."""

    __slots__ = ()

    def __and__(self, other):
        return NotImplemented if (other := _truth(self, other)) is None else rules.both(self, other)

    def __or__(self, other):
        return NotImplemented if (other := _truth(self, other)) is None else rules.either(self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __eq__(self, other):
        if self is other:
            return True
        if type(other) is not Predicate and not isinstance(other, (int, float, np.number, np.bool_)):
            return NotImplemented
        if self.op == "const" and getattr(other, "op", "const") == "const":
            return bool(self) == (bool(other) if type(other) is Predicate else other)
        raise TracingError(
            f"whether {self!r} == {other!r} is not known while tracing. A condition needs no comparison: choose with "
            "condition.select(yes, no), combine conditions with & | ~"
        )

    def __hash__(self) -> int:
        return hash(self.value) if self.op == "const" else Traced.__hash__(self)

    def __invert__(self):
        return rules.opposite(self)

    def select(self, yes: Any, no: Any) -> Expr:
        """``yes`` where this holds, else ``no``. Both are evaluated."""
        return rules.select(self, _operand(self, yes), _operand(self, no))


class Memory(Traced):
    """A traced array of numbers in memory; programs read it by computed index."""

    __slots__ = ("size",)

    def __init__(self, graph: Graph, index: int, op: str, args: tuple, value: float, size: int):
        super().__init__(graph, index, op, args, value)
        self.size = size


def lift(graph: Graph, value: Any) -> Expr | None:
    """``value`` as an expression of ``graph``; None if it is not a real scalar."""
    kind = type(value)
    if kind is int or kind is float:
        found = graph._constants.get(value)
        return _constant(graph, value) if found is None else found
    if kind is Expr or kind is Constant:
        return value
    if kind is Predicate:
        raise TracingError(f"the truth value {value!r} is not a number; turn it into one with condition.select(1, 0)")
    if isinstance(value, (np.ndarray, complex, np.complexfloating)) or not hasattr(kind, "__float__"):
        return None  # an array then takes its turn element by element; the rest is a TypeError
    try:
        return _constant(graph, value)
    except TypeError:  # a SymPy expression with free symbols
        return None


def _constant(graph: Graph, value: Any) -> Expr:
    try:
        return graph.constant(value)
    except OverflowError as error:
        raise ArgumentError(f"a number cannot be traced: {error}") from None


def _operand(self: Traced, other: Any) -> Expr:
    """An operand beside another: numbers become expressions of its graph, what is traced stays where it is."""
    return other if type(other) is Expr else self.graph.lift(other)


def _truth(self: Predicate, other: Any) -> Predicate | None:
    if type(other) is Predicate:
        return other
    return self.graph.truth(bool(other)) if isinstance(other, (bool, np.bool_)) else None


def _text(x: Traced, depth: int) -> str:
    if x.op == "const":
        return f"{x.value:.6g}"
    if x.op == "input":
        port = x.graph.inputs[x.args[0]]
        place = ", ".join(str(int(k)) for k in np.unravel_index(x.args[1], port.shape)) if port.shape else ""
        return f"{port.name}[{place}]" if place else port.name
    if depth == 0:
        return f"#{x.index}"
    return f"{x.op}({', '.join(_text(a, depth - 1) for a in x.args)})"


# ------------------------------------------------------------------------------------------------------------ the graph


class Graph:
    """A set of hash-consed nodes, in order of creation, with named inputs.

    Attributes:
        nodes: every node; a node's operands come before it.
        loops: what its loops repeat.
        calls: what it calls.
        tables: the numbers of its tables of constants, as bytes.
        inputs: the input ports, in order of declaration.
        scattered: inputs whose elements do not lie side by side in memory, by number.
        labels: names given to nodes, by index.
        captured: expressions of the outer graph that became inputs here, with these.

    Args:
        outer: the graph in whose trace the step of a loop is being traced: its expressions become inputs of the step.
        port: the number of the input that such expressions are appended to.
    """

    def __init__(self, outer: Graph | None = None, port: int = 0) -> None:
        self.outer, self.captured, self._port = outer, dict[Expr, Expr](), port
        self.nodes: list[Traced] = []
        self.loops: list[Scan] = []
        self.calls: list[CalledProgram] = []
        self.tables: list[bytes] = []
        self.scattered: set[int] = set()
        self.inputs: list[Port] = []
        self.labels: dict[int, str] = {}
        self._tables: defaultdict[str, dict[tuple, Traced]] = defaultdict(dict)  # of each operation, by operands
        self._constants: dict[float, Constant] = {}
        self._truths: dict[bool, Predicate] = {}

    def input(self, name: str, shape: tuple[int, ...] = (), scattered: bool = False) -> Any:
        """Declare an input.

        Args:
            name: an identifier, not used before in this graph.
            shape: shape of the array.
            scattered: whether it is no array in memory, but only its elements can be read.

        Returns:
            An object array of ``Expr``, or one ``Expr`` if the shape is ``()``.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"an input is called {name!r}; its name must be a text")
        if any(port.name == name for port in self.inputs):
            raise ArgumentError(f"the graph already has an input called {name!r}; names of inputs must differ")
        port, number = Port(name, _shape(name, shape)), len(self.inputs)
        self.inputs.append(port)
        if scattered:
            self.scattered.add(number)
        array = np.empty(port.shape, dtype=object)
        for element in range(port.size):
            array.flat[element] = self.node("input", (number, element))
        return array[()] if port.shape == () else array

    def constant(self, value: Any) -> Expr:
        """The node of a number. Numbers are distinguished by value; 0.0 and -0.0 are the same, and so are all
        NaN."""
        value = float(value)
        found = self._constants.get(value)
        if found is not None:
            return found
        if value == 0:
            value = 0.0
        elif value != value:
            value = math.nan  # this one object: a dict finds a NaN by identity only
            if value in self._constants:
                return self._constants[value]
        expr = self._constants[value] = Constant(self, len(self.nodes), "const", (), value)
        self.nodes.append(expr)
        return expr

    def truth(self, value: bool) -> Predicate:
        """The predicate that always, or never, holds. The rules fold it away wherever it is used."""
        value = bool(value)
        found = self._truths.get(value)
        if found is None:
            found = self._truths[value] = Predicate(self, len(self.nodes), "const", (), float(value))
            self.nodes.append(found)
        return found

    def node(self, op: str, args: tuple) -> Expr:
        """The node of an operation that yields a number, taken as it stands: no rule is applied."""
        table = self._tables[op]
        found = table.get(args)
        if found is None:
            nodes = self.nodes
            found = table[args] = Expr(self, len(nodes), op, args)
            nodes.append(found)
        return found  # type: ignore[return-value]  # an op determines the kind

    def predicate(self, op: str, args: tuple) -> Predicate:
        """The node of an operation that yields a truth value, taken as it stands."""
        table = self._tables[op]
        found = table.get(args)
        if found is None:
            found = table[args] = Predicate(self, len(self.nodes), op, args)
            self.nodes.append(found)
        return found  # type: ignore[return-value]

    def loop(self, scan: Scan, operands: Sequence[Any]) -> Traced:
        """The node of a loop.

        Args:
            scan: what it repeats.
            operands: expressions and arrays, as :class:`dalembert.tracing.program.Scan` says.
        """
        args = tuple(operands)
        table, key = self._tables["loop"], (args, scan.digest)
        found = table.get(key)
        if found is None:
            found = table[key] = Traced(self, len(self.nodes), "loop", args, float(len(self.loops)))
            self.loops.append(scan)
            self.nodes.append(found)
        return found

    def call(self, call: CalledProgram, operands: Sequence[Any]) -> list[Expr]:
        """What a called program gives.

        Args:
            call: the program.
            operands: expressions, as :class:`dalembert.tracing.program.CalledProgram` says.
        """
        args = tuple(operands)
        table, key = self._tables["call"], (args, call)
        found = table.get(key)
        if found is None:
            found = table[key] = Traced(self, len(self.nodes), "call", args, float(len(self.calls)))
            self.calls.append(call)
            self.nodes.append(found)
        return [self.element(found, k) for k in range(call.elements)]

    def element(self, loop: Traced, k: int) -> Expr:
        """Number k that a loop ends with, or a call gives."""
        table = self._tables["element"]
        found = table.get((loop, k))
        if found is None:
            found = table[loop, k] = Expr(self, len(self.nodes), "element", (loop,), float(k))
            self.nodes.append(found)
        return found  # type: ignore[return-value]  # an op determines the kind

    def rows(self, loop: Traced, k: int) -> Memory:
        """Array k that a loop ends with."""
        return self._array("rows", (loop,), (loop, k), k, self.loops[int(loop.value)].sizes[k])

    def table(self, port: int) -> Memory:
        """An input as an array in memory."""
        return self._array("table", (), port, port, self.inputs[port].size)

    def data(self, numbers: Any) -> Memory:
        """A table of constants."""
        table = np.ascontiguousarray(numbers, dtype="<f8").reshape(-1).tobytes()
        found = self._tables["data"].get(table)  # type: ignore[call-overload]
        if found is None:
            found = self._array("data", (), table, len(self.tables), len(table) // 8)
            self.tables.append(table)
        return found

    def pack(self, elements: Sequence[Expr]) -> Memory:
        """Numbers put together in memory."""
        args = tuple(elements)
        if all(x.op == "const" for x in args):
            return self.data([x.value for x in args])
        return self._array("pack", args, args, 0, len(args))

    def written(self, array: Memory, index: Expr, number: Expr) -> Memory:
        """An array with another number at an index."""
        args = (array, index, number)
        return self._array("write", args, args, 0, array.size)

    def drawn(self, operands: Sequence[Expr]) -> Memory:
        """Four random numbers."""
        args = tuple(operands)
        return self._array("draw", args, args, 0, 4)

    def _array(self, op: str, args: tuple, key: Any, value: int, size: int) -> Any:
        table = self._tables[op]
        found = table.get(key)
        if found is None:
            found = table[key] = Memory(self, len(self.nodes), op, args, float(value), size)
            self.nodes.append(found)
        return found

    def item(self, array: Memory, place: int) -> Expr:
        """The node that reads the element of an array at a known place."""
        table = self._tables["item"]
        found = table.get((array, place))
        if found is None:
            index = self._constants.get(place)
            args = (array, self.constant(place) if index is None else index)
            found = table[array, place] = Expr(self, len(self.nodes), "read", args)
            self.nodes.append(found)
        return found  # type: ignore[return-value]  # an op determines the kind

    def items(self, array: Memory) -> list[Expr]:
        """All elements of an array."""
        if array.op == "rows":
            return [self.item(array, k) for k in range(array.size)]
        return [rules.read(array, self.constant(k)) for k in range(array.size)]

    def located(self, elements: Sequence[Expr]) -> tuple[Memory, list[int]] | None:
        """The array that has all these elements, and where; None if there is none."""
        home: Any = None
        places = []
        for x in elements:
            if x.op == "input":
                own: Any = x.args[0]
                place = x.args[1]
            elif x.op == "read" and x.args[1].op == "const":
                own, place = x.args[0], int(x.args[1].value)
            else:
                return None
            if home is None:
                home = own
            elif own != home:
                return None
            places.append(place)
        if home is None or home in self.scattered or (isinstance(home, int) and self.inputs[home].size == 1):
            return None
        return (self.table(home) if isinstance(home, int) else home), places

    def memory(self, elements: Sequence[Expr]) -> Memory:
        """Elements as an array: the one that they are from, if they are all of it, or a new one."""
        found = self.located(elements)
        if found and found[1] == list(range(found[0].size)):
            return found[0]
        return self.pack(elements)

    def structure(
        self, program: Program | Graph, node: Node, operands: list[Any], inputs: Sequence[Sequence[Any]]
    ) -> Any:
        """What a node of a program that computes nothing, see ``program.STRUCTURE``, becomes in this graph.

        Args:
            program: that the node is of.
            node: one of its nodes.
            operands: what its operands have become.
            inputs: of the program: the elements of each.
        """
        op, _, value = node
        if op == "loop":
            return self.loop(program.loops[int(value)], operands)
        if op == "element":
            home = operands[0]
            return home[0][int(value)] if isinstance(home, tuple) else self.element(home, int(value))
        if op == "rows":
            return self.rows(operands[0], int(value))
        if op == "table":
            return self.memory([self.lift(x) for x in inputs[int(value)]])
        if op == "data":
            return self.data(np.frombuffer(program.tables[int(value)], "<f8"))
        return self.pack(operands)

    def find(self, op: str, args: tuple) -> Expr | None:
        """The node of an operation if it exists already."""
        return self._tables[op].get(args)  # type: ignore[return-value]

    def lift(self, value: Any) -> Expr:
        """``value``, a number or an expression of this graph, as an expression."""
        expr = value if type(value) is Expr else lift(self, value)
        if expr is None:
            raise ArgumentError(f"cannot use {value!r} of type {type(value).__name__} as a real number while tracing")
        return expr if expr.graph is self else self.capture(expr)

    def is_inside(self, other: Graph) -> bool:
        """Whether this is the graph of a step that is being traced inside the trace of another graph."""
        graph = self.outer
        while graph is not None and graph is not other:
            graph = graph.outer
        return graph is other

    def capture(self, x: Any) -> Any:
        """An expression, or a truth value, of a graph around this one, as an input of this one."""
        if x.graph is self:
            return x
        if type(x) is Predicate:
            return self.truth(bool(x.value)) if x.is_constant else ~self.capture(x.select(1, 0)).equals(0)
        if x.is_constant:
            return self.constant(x.value)
        if not self.is_inside(x.graph):
            rules.different_graphs(x, self)
        assert self.outer is not None
        x = self.outer.capture(x)  # from graph to graph, where loops are nested
        if x not in self.captured:
            port = self.inputs[self._port]
            self.inputs[self._port] = Port(port.name, (port.size + 1,))
            self.captured[x] = self.node("input", (self._port, port.size))
        return self.captured[x]

    def dissolve(self) -> None:
        """Forget all nodes, once a program is made of them.

        They know their graph, and it knows them: only a search for garbage would free their memory, and that rests
        while long programs are made.
        """
        self.nodes.clear()
        self.loops.clear()
        self.calls.clear()
        self.captured.clear()
        self.tables.clear()
        self.labels.clear()
        self._tables.clear()
        self._constants.clear()
        self._truths.clear()

    def __repr__(self) -> str:
        inputs = ", ".join(f"{port.name}{list(port.shape)}" for port in self.inputs)
        return f"<Graph of {len(self.nodes)} nodes over {inputs or 'no inputs'}>"


_DIMENSIONS = 32
"""NumPy's iterators know no more."""


def _shape(name: str, shape: Iterable[int]) -> tuple[int, ...]:
    try:
        found = tuple(map(operator.index, shape))
    except TypeError:
        found = (-1,)
    if any(n < 0 for n in found) or len(found) > _DIMENSIONS:
        raise ArgumentError(
            f"the shape of input {name!r} is {shape!r}; it must be at most {_DIMENSIONS} whole numbers, such as (3,), "
            "or () for a scalar"
        )
    return found

"""Traced scalars: objects that record what is done to them.

An ``Expr`` stands for a number that is not known yet. It lives in a ``Graph``, works inside plain NumPy
object arrays (``A @ B``, ``np.sin(A)``) and everything done to it adds a node, by the rules of ``rules``.

Control flow cannot depend on an ``Expr``; comparisons give a ``Predicate``, and ``(x < y).select(a, b)``
chooses. ``x.equals(y)`` is the traced comparison; ``==`` answers where the answer is known - of constants, and of an
expression with itself - and else refuses to guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dalembert.errors import ArgumentError, TracingError, UnsupportedError
from dalembert.tracing import rules
from dalembert.tracing.elementary import Elementary

if TYPE_CHECKING:
    from dalembert.tracing.graph import Graph


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
        self.graph = graph
        self.index = index
        self.op = op
        self.args = args
        self.value = value

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
            "max() and comparisons of whole arrays cannot depend on it. Write condition.select(yes, no) element "
            "by element (np.less(a, b, dtype=object) compares arrays), combine conditions with & | ~, and use "
            "x.minimum(y), x.maximum(y)"
        )


class Expr(Elementary, Traced):
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

"""A graph of traced scalars.

Nodes are hash-consed: the same operation on the same operands is the same object, so common subexpressions never arise
twice.

    graph = Graph()
    q = graph.input("q", (2,))            # object array of two Expr
    y = np.sin(q[0]) * q[1] + 2
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.tracing import rules
from dalembert.tracing.program import Port
from dalembert.tracing.traced import Constant, Expr, Predicate, lift

__all__ = ["Expr", "Graph", "Predicate"]


class Graph:
    """A set of hash-consed nodes, in order of creation, with named inputs.

    Attributes:
        nodes: every node; a node's operands come before it.
        inputs: the input ports, in order of declaration.
        labels: names given to nodes, by index.
    """

    def __init__(self) -> None:
        self.nodes: list[Expr | Predicate] = []
        self.inputs: list[Port] = []
        self.labels: dict[int, str] = {}
        self._table: dict[tuple[str, tuple], Expr | Predicate] = {}
        self._constants: dict[float, Constant] = {}
        self._truths: dict[bool, Predicate] = {}

    def input(self, name: str, shape: tuple[int, ...] = ()) -> Any:
        """Declare an input.

        Args:
            name: an identifier, not used before in this graph.
            shape: shape of the array.

        Returns:
            An object array of ``Expr``, or one ``Expr`` if the shape is ``()``.
        """
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"an input is called {name!r}; its name must be a text")
        if any(port.name == name for port in self.inputs):
            raise ArgumentError(f"the graph already has an input called {name!r}; names of inputs must differ")
        port, number = Port(name, _shape(name, shape)), len(self.inputs)
        self.inputs.append(port)
        array = np.empty(port.shape, dtype=object)
        for element in range(port.size):
            array.flat[element] = self.node("input", (number, element))
        return array[()] if port.shape == () else array

    def constant(self, value: Any) -> Expr:
        """The node of a number. Numbers are told apart by value; 0.0 and -0.0 are the same, and so are all
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
        key = (op, args)
        found = self._table.get(key)
        if found is None:
            nodes = self.nodes
            found = self._table[key] = Expr(self, len(nodes), op, args)
            nodes.append(found)
        return found  # type: ignore[return-value]  # an op determines the kind

    def predicate(self, op: str, args: tuple) -> Predicate:
        """The node of an operation that yields a truth value, taken as it stands."""
        key = (op, args)
        found = self._table.get(key)
        if found is None:
            found = self._table[key] = Predicate(self, len(self.nodes), op, args)
            self.nodes.append(found)
        return found  # type: ignore[return-value]

    def find(self, op: str, args: tuple) -> Expr | None:
        """The node of an operation if it exists already."""
        return self._table.get((op, args))  # type: ignore[return-value]

    def lift(self, value: Any) -> Expr:
        """``value``, a number or an expression of this graph, as an expression."""
        expr = value if type(value) is Expr else lift(self, value)
        if expr is None:
            raise ArgumentError(f"cannot use {value!r} of type {type(value).__name__} as a real number while tracing")
        if expr.graph is not self:
            rules.different_graphs(expr, self)
        return expr

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

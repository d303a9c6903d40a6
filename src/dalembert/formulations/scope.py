"""The symbols of one derivation: inputs of an expression graph, and what they are called in mathematics.

Everything is derived on the compiler's graph of hash-consed scalars. Positions ``q``, velocities ``v``, the symbols
of the mechanism (masses, lengths, ...) and whatever else a derivation needs are inputs of that graph; a ``Scope``
remembers the SymPy symbol of each, so that results can be shown as mathematics and users' expressions can be read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError
from dalembert.model.names import rate_name
from dalembert.tracing.evaluate import inline
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of
from dalembert.typesetting.names import called_after, distinct, identifier, unlike
from dalembert.typesetting.notation import Print

LATER = ("u", "udot", "tau")
"""Inputs that equations may declare after the parameters: quasi-velocities, their rates, and forces of the drives."""

OPTIONS = ("self", "out", "threads")
"""Arguments of kernels, whose inputs go by name beside these."""


class Scope:
    """A graph and the names of its inputs.

    Attributes:
        graph: where all expressions of the derivation live.
        names: for each input its symbols, flat, as strings or SymPy symbols.
        arrays: for each input its traced scalars.
        parameters: names of the inputs that are symbols of the mechanism.
        quaternions: index in ``q`` of the first entry of each quaternion; closed forms use their unit length.
        bounds: traced scalars, what they are multiplied by, and how large that may be for anything that is computed
            from them to be believed; see :mod:`dalembert.formulations.bounds`.
        defined: inputs that stand for quantities which steps of the derivation define; no equation needs them.
        fixed: coordinates, velocities and time in whose place values were put; equations hold at these states only.
        aliases: other names of coordinates and velocities, and the symbols they stand for in expressions that are read.
    """

    def __init__(self) -> None:
        self.graph = Graph()
        self.names: dict[str, tuple[Any, ...]] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.parameters: list[str] = []
        self.quaternions: list[int] = []
        self.bounds: list[tuple[Expr, Any, float]] = []
        self.defined: list[str] = []
        self.fixed: list[str] = []
        self.aliases: dict[str, str] = {}
        self._known: dict[Any, Expr] = {}
        self._print, self._printed = Print(), 0

    def __deepcopy__(self, memo: dict[int, Any]) -> Scope:
        """Itself: expressions belong to one graph, and copies of equations share it."""
        return self

    def input(self, port: str, names: Iterable[Any], taken: Iterable[str] = ()) -> np.ndarray:
        """Declare a vector of inputs and return its traced scalars.

        Args:
            port: name of the input array.
            names: a name or SymPy symbol for each element; names already in use get a bar, ``x`` becomes ``xbar``.
            taken: names that are in use besides those of the inputs so far.
        """
        wanted = list(names)
        fresh = iter(unlike([x for x in wanted if isinstance(x, str)], self._taken().union(taken)))
        symbols = tuple(next(fresh) if isinstance(x, str) else x for x in wanted)
        self.names[port] = symbols
        self.arrays[port] = np.asarray(self.graph.input(port, (len(symbols),)), dtype=object)
        self._known.clear()
        return self.arrays[port]

    def once(self, port: str, names: Iterable[Any]) -> np.ndarray:
        """The traced scalars of a vector of inputs, which is declared unless it has been.

        Args:
            port: name of the input array.
            names: see :meth:`input`.
        """
        return self.arrays[port] if port in self.arrays else self.input(port, names)

    def clock(self, symbol: Any = "t") -> Expr:
        """Declare time, the scalar input ``t``, and return its traced scalar.

        Args:
            symbol: what it is called, a name or a SymPy symbol.
        """
        if "t" in self.names:
            raise ArgumentError("a symbol of the mechanism is called 't', which here means time; give it another name")
        self.names["t"] = (symbol,)
        self.arrays["t"] = np.array([self.graph.input("t")], dtype=object)
        self._known.clear()
        return self.arrays["t"][0]

    def parameter(self, symbol: Any) -> Expr:
        """Declare a SymPy symbol as a scalar input and return its traced scalar.

        Args:
            symbol: the symbol; asked for twice, it is the same input.
        """
        for port in self.parameters:
            if self.names[port][0] == symbol:
                return self.arrays[port][0]
        clock = () if str(symbol) == "t" else ("t",)  # t_ is no clock, and does not stand in its way
        reserved = (*LATER, *OPTIONS, *clock)
        (port,) = distinct([identifier(str(symbol))], {*self.names, *reserved})
        self.names[port] = (symbol,)
        self.arrays[port] = np.array([self.graph.input(port)], dtype=object)
        self.parameters.append(port)
        self._known.clear()
        return self.arrays[port][0]

    def _taken(self) -> set[str]:
        return {str(symbol) for symbols in self.names.values() for symbol in symbols}

    @property
    def symbols(self) -> dict[str, list[Any]]:
        """SymPy symbols of every input, flat."""
        import sympy

        return {
            port: [sympy.Symbol(x) if isinstance(x, str) else x for x in symbols]
            for port, symbols in self.names.items()
        }

    @property
    def accelerations(self) -> list[Any]:
        """SymPy symbols of the rates of the velocities, or of the quasi-velocities where there are some."""
        import sympy

        if "udot" in self.names:
            return self.symbols["udot"]
        velocities, after = self._velocities, self._called_after
        names = [x.name for x in velocities if x.is_Symbol]
        wanted = [rate_name(after[name], 2) if name in after else rate_name(name) for name in names]
        fresh = iter(unlike(wanted, self._taken()))
        return [sympy.Symbol(next(fresh)) if x.is_Symbol else x.diff(*x.free_symbols) for x in velocities]

    @property
    def rates(self) -> dict[str, str]:
        """What is the rate of what, by name: velocities that are called after coordinates, and all accelerations."""
        pairs = zip(self.accelerations, self._velocities)
        return self._called_after | {a.name: x.name for a, x in pairs if x.is_Symbol}

    @property
    def _velocities(self) -> list[Any]:
        symbols = self.symbols
        return symbols.get("u", symbols.get("v", []))

    @property
    def _called_after(self) -> dict[str, str]:
        symbols = self.symbols
        coordinates = [x.name if x.is_Symbol else x.func.__name__ for x in symbols.get("q", ())]
        return called_after([x.name for x in symbols.get("v", ()) if x.is_Symbol], coordinates)

    @property
    def unit_vectors(self) -> list[list[Any]]:
        """SymPy symbols of every quaternion."""
        return [self.symbols["q"][k : k + 4] for k in self.quaternions]

    def latex(self, expression: Any) -> str:
        """LaTeX of an expression or a matrix, in which no two symbols of the derivation look alike."""
        if self._printed != len(self.names):  # symbols of the derivation come before accelerations and the like
            self._printed = len(self.names)
            self._print.rates |= self.rates
            for symbol in itertools.chain(*self.symbols.values()):
                if symbol.is_Symbol:
                    self._print.symbol(symbol)
        return self._print.expression(expression)

    def known(self) -> dict[Any, Expr]:
        """The traced scalar of every symbol."""
        if not self._known:
            for port, symbols in self.symbols.items():
                self._known.update(zip(symbols, self.arrays[port].flat))
        return self._known

    def read(self, value: Any, *, new_parameters: bool = True) -> np.ndarray:
        """Numbers, SymPy expressions and traced scalars as an array of numbers and traced scalars.

        Symbols are known by their names or aliases; what SymPy assumes of them (real, positive) makes no difference.

        Args:
            value: a scalar or (nested) array of them.
            new_parameters: symbols that are not known yet become parameters; otherwise they are refused.
        """
        array = np.array(value.tolist() if hasattr(value, "tolist") else value, dtype=object)
        if not any(scalar.is_sympy(x) for x in array.flat):
            return array
        return self._from_sympy(array, new_parameters)

    def _from_sympy(self, array: np.ndarray, new_parameters: bool) -> np.ndarray:
        import sympy

        from dalembert.tracing.sympy import from_sympy

        known = self.known()
        functions = {x: sympy.Dummy() for x in known if not x.is_Symbol}  # q(t) and the like are known as a whole
        spelled = {x.name: x for x in known if x.is_Symbol}
        spelled = {other: spelled[own] for other, own in self.aliases.items() if own in spelled} | spelled
        unknown: set[Any] = set()
        for x in array.flat:
            if scalar.is_sympy(x):
                free = x.xreplace(functions).free_symbols if functions else x.free_symbols
                unknown |= free.difference(known, functions.values())
        # Who writes theta means theta, whatever SymPy assumes about it.
        meant = {x: x.name if x.name in spelled else self.aliases.get(x.name) for x in unknown}
        same = {x: spelled[name] for x, name in meant.items() if name in spelled}
        unknown.difference_update(same)
        if unknown and not new_parameters:
            names = ", ".join(sorted(map(str, unknown)))
            raise ArgumentError(f"unknown symbols {names}; known are {', '.join(map(str, known))}")
        for symbol in sorted(unknown, key=str):
            self.parameter(symbol)
        known = self.known()
        result = np.empty(array.shape, dtype=object)
        for place, x in np.ndenumerate(array):
            if not scalar.is_sympy(x):
                result[place] = x
            elif not x.free_symbols and x.is_number:
                result[place] = float(x)
            else:
                result[place] = from_sympy(x.xreplace(same), known)
        return result

    def program(self, outputs: Mapping[str, Any], name: str) -> Program:
        """The program of some results, with exactly the inputs they need.

        Args:
            outputs: name -> array of traced scalars and numbers.
        """
        return without_unused_inputs(program_of(self.graph, outputs, name))


def without_unused_inputs(program: Program, keep: Sequence[str] = ()) -> Program:
    """The same program without the inputs of which it uses no element.

    Args:
        keep: names of inputs that stay in any case.
    """
    needed = {port for port, _ in program.elements_read}
    used = [k for k, port in enumerate(program.inputs) if k in needed or port.name in keep]
    return program.with_inputs([program.inputs[port] for port in used], {port: k for k, port in enumerate(used)})


def with_inputs(scope: Scope, values: np.ndarray, replacements: Mapping[str, Any]) -> np.ndarray:
    """Expressions with others in the place of whole inputs.

    Args:
        replacements: by input, what takes its place.
    """
    graph = scope.graph
    program = program_of(graph, {"values": values}, "values")
    arguments = {}
    for number, port in enumerate(graph.inputs):
        array = np.empty(port.shape, dtype=object)
        for k in range(port.size):
            array.flat[k] = graph.node("input", (number, k))
        arguments[port.name] = array
    arguments |= {name: np.array(list(value), dtype=object) for name, value in replacements.items()}
    return inline(program, arguments)["values"]

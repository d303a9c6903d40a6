"""A scalar, vector or matrix of a derivation: one set of expressions, as mathematics, as numbers, as machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formulations.bounds import believed
from dalembert.formulations.scope import Scope, without_unused_inputs
from dalembert.model.checks import expect, expect_choice, real_array
from dalembert.services import ask
from dalembert.tracing.cost import Cost, cost
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Node, Port, Program
from dalembert.tracing.trace import program_of

if TYPE_CHECKING:
    from dalembert.native.kernel import Kernel

FORMS = ("auto", "closed", "intermediates")
"""Shapes in which LaTeX is written."""

LARGEST_WRITTEN_OUT, LARGEST_SIMPLIFIED = 20_000, 1_000_000
"""Operations, nothing shared, of what is still written out as it stands, and of what is still simplified."""

LONGEST_CLOSED, MOST_TIMES = 1000, 8
"""Operations of a closed form that is shown in any case, and how many times those of the intermediates it may have."""


@dataclass(frozen=True, eq=False)
class DerivedQuantity:
    """Expressions of one derivation, as closed form, as named intermediates, as LaTeX, as numbers.

    Args:
        scope: the symbols of the derivation.
        name: what it is, an identifier such as ``mass_matrix``.
        symbol: what it is called in LaTeX, such as ``M``.
        values: array of traced scalars and numbers; a 0-dimensional array is a scalar.
    """

    scope: Scope
    name: str
    symbol: str
    values: np.ndarray

    def __post_init__(self) -> None:
        array = np.array(self.values, dtype=object)
        array.setflags(write=False)
        object.__setattr__(self, "values", array)

    # ------------------------------------------------------------------------------------------------- as an array

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array; ``()`` for a scalar."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: Any) -> DerivedQuantity:
        index = ", ".join(str(k) for k in (place if isinstance(place, tuple) else (place,)))
        return DerivedQuantity(self.scope, self.name, f"{self.symbol}[{index}]", self.values[place])

    def __iter__(self) -> Iterator[DerivedQuantity]:
        return (self[k] for k in range(len(self)))

    @cached_property
    def program(self) -> Program:
        """The program that computes it, with exactly the inputs it needs."""
        return self.scope.program({self.name: self.values}, self.name)

    @cached_property
    def cost(self) -> Cost:
        """Operations of what :meth:`Equations.compile` makes of it."""
        return cost(_optimised(self.scope.program({self.name: self.compact}, self.name)))

    @cached_property
    def compact(self) -> np.ndarray:
        """The values as they are compiled and counted: their closed form where that takes fewer operations."""
        if written_out_size(self.program) > LARGEST_WRITTEN_OUT or self._rows is None:
            return self.values
        if believed(self.scope, self.values) is not self.values:  # a closed form would not know where to stop
            return self.values
        try:
            closed = self.scope.read(np.array(self._rows, dtype=object).reshape(self.shape), new_parameters=False)
        except UnsupportedError:
            return self.values
        shorter = self.scope.program({self.name: closed}, self.name)
        both = [cost(_optimised(program)).operations for program in (shorter, self.program)]
        return closed if both[0] < both[1] else self.values

    # ---------------------------------------------------------------------------------------------- as mathematics

    def sympy(self, simplify: bool = True) -> Any:
        """A SymPy expression, column matrix, matrix, or (with more dimensions) array.

        What would swell beyond all bounds raises :class:`~dalembert.errors.UnsupportedError`; large results are read
        with :meth:`intermediates`. It is exact if all numbers are: short decimals, small fractions, their roots,
        multiples of pi. Otherwise it is as exact as floats are; simplified, what rounding leaves of zero is left out.

        Args:
            simplify: bring it to textbook shape; work is bounded, and what is too large for it is left as it stands.
        """
        return self._closed if simplify else self._written_out

    @property
    def is_simplified(self) -> bool:
        """True if :meth:`sympy` succeeds in bringing it to textbook shape."""
        return self._rows is not None

    @cached_property
    def is_short(self) -> bool:
        """True if it has a simplified form that is not many times longer than the named intermediates."""
        import sympy

        if self._rows is None:
            return False
        size = sum(sympy.count_ops(x) for x in self._rows)
        return size <= max(LONGEST_CLOSED, MOST_TIMES * cost(self.program).operations)

    @cached_property
    def _rows(self) -> list[Any] | None:
        from dalembert.typesetting.closed_form import closed_forms
        from dalembert.typesetting.polynomials import Swell

        if written_out_size(self.program) > LARGEST_SIMPLIFIED:
            return None
        try:
            symbols = self.scope.symbols
            rates = [*symbols.get("v", ()), *symbols.get("u", ())]
            return closed_forms(self.program, symbols, rates, self.scope.unit_vectors)[0]
        except Swell:
            return None

    @cached_property
    def _closed(self) -> Any:
        return self._written_out if self._rows is None else _shaped(self._rows, self.shape)

    @cached_property
    def _written_out(self) -> Any:
        from dalembert.tracing.sympy import to_sympy
        from dalembert.typesetting.exact_numbers import number_writer

        if (size := written_out_size(self.program)) > LARGEST_WRITTEN_OUT:
            raise UnsupportedError(
                f"{self.name} written out would have {float(size):.3g} operations, computed it has "
                f"{self.cost.operations}; read it with .intermediates(), or substitute() numbers for symbols"
            )
        return to_sympy(self.program, self.scope.symbols, number_writer(self.program))[self.name]

    def intermediates(self) -> tuple[list[tuple[Any, Any]], Any]:
        """A list of definitions (symbol, expression in inputs and earlier symbols), and the result in terms of them.

        Works at any size: this is the program, read as mathematics. Entries of the mass matrix are called ``M_1_2``,
        counted from one as on paper, other values ``x0``, ``x1``, ...
        """
        definitions, outputs = named_values(self.scope, self.program)
        return definitions, outputs[self.name]

    def latex(self, form: str = "auto") -> str:
        """LaTeX of the value, without the symbol.

        Args:
            form: ``"closed"``, ``"intermediates"`` (an ``aligned`` list of definitions, the result last), or
                ``"auto"``: closed if it can be brought to textbook shape and is not much longer then.
        """
        expect_choice(form, FORMS, "form")
        if form == "closed" or (form == "auto" and self.is_short):
            return self.scope.latex(self.sympy())
        lines = [f"{left} &{right}" for left, right in self._definitions()]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def _definitions(self) -> list[tuple[str, str]]:
        """LaTeX of the intermediates, the quantity last: what is left and right of the alignment."""
        definitions, result = self.intermediates()
        lines = [(self.scope.latex(symbol), f"= {self.scope.latex(value)}") for symbol, value in definitions]
        return [*lines, (self.symbol, f"= {self.scope.latex(result)}")]

    def equation_latex(self, form: str = "auto") -> str:
        """LaTeX of the symbol and its value; a list of definitions ends with that."""
        value = self.latex(form)
        return value if value.startswith(r"\begin{aligned}") else f"{self.symbol} = {value}"

    def _repr_html_(self) -> str | None:
        rows = [(self.symbol, f"= {self.latex()}")] if self.is_short else self._definitions()
        shown: str | None = ask("document of formulas", rows)
        return shown

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.equation_latex()}$"

    def __str__(self) -> str:
        return self.text(lambda entry: entry)

    def text(self, written_as: Callable[[Any], Any]) -> str:
        """The entries line by line, zeros left out; the number of operations where they are long.

        Args:
            written_as: what is written for an entry, a function of SymPy expressions.
        """
        if not self.is_short:
            return f"{self.name} {list(self.shape)}: {self.cost.operations} operations"
        from sympy import sstr

        written = [sstr(written_as(entry), full_prec=False) for entry in self._rows or ()]  # 0.5, not 0.50000000000000
        if self.shape == ():
            return f"{self.name} = {written[0]}"
        entries = zip(np.ndindex(self.shape), written)
        lines = [f"  [{', '.join(str(k + 1) for k in place)}]  {entry}" for place, entry in entries if entry != "0"]
        return "\n".join([f"{self.name} {list(self.shape)}", *(lines or ["  zero"])])

    def __repr__(self) -> str:
        return f"<DerivedQuantity {self.name} {list(self.shape)}, {self.cost.operations} operations>"

    # -------------------------------------------------------------------------------------------------- as numbers

    def evaluate(self, inputs: Mapping[Any, Any] | None = None, /, **by_name: Any) -> np.ndarray:
        """Numbers for given inputs, any batch shape.

        Args:
            inputs: arrays by input (``q``, ``v``, ...), parameters by symbol or name; what is not needed is ignored.
            by_name: inputs, as keywords: ``evaluate(q=..., v=...)``.
        """
        if inputs is not None and not isinstance(inputs, Mapping):
            raise ArgumentError(f"{self.name} takes its inputs by name: evaluate(q=..., v=...)")
        named = named_inputs(self.scope, {**(inputs or {}), **by_name})
        program = self._believed
        missing = [port.name for port in program.inputs if port.name not in named]
        if missing:
            raise ArgumentError(f"{self.name} needs {', '.join(missing)}; given are {', '.join(named) or 'none'}")
        return evaluate(program, {port.name: named[port.name] for port in program.inputs})[self.name]

    @cached_property
    def _believed(self) -> Program:
        """The program, with NaN where speeds lose their digits."""
        values = believed(self.scope, self.values)
        return self.program if values is self.values else self.scope.program({self.name: values}, self.name)


def named_inputs(scope: Scope, inputs: Mapping[Any, Any]) -> dict[str, Any]:
    """Inputs by the names of their ports, parameters addressed by SymPy symbol or by its name.

    Args:
        scope: the symbols of the derivation.
        inputs: by port name, symbol, or name of a symbol; the symbol q, of a charge, is not the positions ``q``.
    """
    parameters = {str(scope.names[port][0]): port for port in scope.parameters}
    ports = parameters | {name: name for name in scope.names}
    named = {}
    for key, value in expect(inputs, Mapping, "inputs").items():
        if str(key) not in ports:
            raise ArgumentError(f"there is no input {str(key)!r}; there are {', '.join(ports)}")
        stepped = isinstance(value, (complex, np.ndarray)) and np.iscomplexobj(value)  # the complex step
        port = parameters.get(str(key), str(key)) if is_sympy(key) else ports[str(key)]
        named[port] = value if stepped else real_array(value, str(key))
    return named


def written_out_size(program: Program) -> int:
    """Operations of all results when nothing is shared."""
    sizes: list[int] = []
    for op, args, _ in program.nodes:
        sizes.append(0 if op in ("const", "input") else 1 + sum(sizes[a] for a in args))
    return sum(sizes[k] for row in program.results for k in row)


def _shaped(rows: list[Any], shape: tuple[int, ...]) -> Any:
    import sympy

    if shape == ():
        return rows[0]
    if len(shape) <= 2:
        return sympy.Matrix(*(*shape, 1)[:2], rows)
    return sympy.ImmutableDenseNDimArray(rows, shape)


def named_values(scope: Scope, program: Program) -> tuple[list[tuple[Any, Any]], dict[str, Any]]:
    """A program as mathematics: definitions, each in terms of inputs and those before, and the outputs by name.

    Args:
        scope: the symbols of its inputs.
        program: of one part or of several together, which then share the definitions.
    """
    from dalembert.tracing.sympy import to_sympy_steps
    from dalembert.typesetting.exact_numbers import number_writer

    return to_sympy_steps(program, scope.symbols, number_writer(program))


# -------------------------------------------------------------------------------------------------------- machine code


MOST_NAMED = 16
"""Parameters of a kernel that are inputs of their own; NumPy allows 64 operands in all."""

THOROUGH = 20_000
"""Operations beyond which a program is not regrouped, because that would take longer than compiling it."""


def kernel_of(quantity: DerivedQuantity, level: int | None = None) -> Kernel:
    """A kernel that computes a quantity for any batch of states.

    Its inputs are the positions ``q`` and, of velocities, parameters and other inputs, those that matter.

    Args:
        level: of optimisation, see :func:`dalembert.tracing.passes.optimise`; by default 1, for very large programs 0.
    """
    from dalembert.native.kernel import Kernel

    plain = kernel_program(quantity)
    program = _optimised(plain) if level is None else optimise(plain, level)
    return Kernel(program.name, program.inputs, program.outputs, program)


def _optimised(program: Program) -> Program:
    return optimise(program, 1 if len(program.nodes) <= THOROUGH else 0)


def cost_together(quantities: Sequence[DerivedQuantity]) -> Cost:
    """Operations of several quantities computed at once, in whichever of their two forms that takes fewer."""
    scope = quantities[0].scope
    forms = [{x.name: x.compact for x in quantities}, {x.name: x.values for x in quantities}]
    return min((cost(_optimised(scope.program(form, "together"))) for form in forms), key=lambda x: x.operations)


def kernel_program(quantity: DerivedQuantity) -> Program:
    """The program of a quantity, with at least the input ``q``; vectors come first, then parameters.

    Up to :data:`MOST_NAMED` parameters are inputs of their own; more of them are one input ``parameters``, all symbols
    in the order of :attr:`~dalembert.formulations.equations.Equations.parameters`.
    """
    scope = quantity.scope
    values = believed(scope, quantity.compact)
    whole = program_of(scope.graph, {quantity.name: values}, quantity.name)
    asked = [port.name for port in quantity.program.inputs]  # also those that a closed form has lost
    needed = without_unused_inputs(whole, keep=("q", *asked))
    named = [port.name for port in needed.inputs if port.name in scope.parameters]
    return packed(needed, scope.parameters if len(named) > MOST_NAMED else (), named)


def packed(program: Program, together: Sequence[str], last: Sequence[str]) -> Program:
    """The same program with some scalar inputs joined to one vector ``parameters``, and others moved to the end.

    Args:
        together: names of the scalar inputs that become entries of ``parameters``, whether they occur or not.
        last: names of the inputs that go last if they stay on their own.
    """
    order = sorted(
        (k for k, port in enumerate(program.inputs) if port.name not in together),
        key=lambda k: program.inputs[k].name in last,
    )
    place = {old: new for new, old in enumerate(order)}
    inputs = [program.inputs[k] for k in order]
    if together:
        inputs.append(Port("parameters", (len(together),)))
    where = {name: k for k, name in enumerate(together)}

    def moved(node: Node) -> Node:
        if node.op == "table":
            return Node("table", (), float(place[int(node.value)]))
        if node.op != "input":
            return node
        name = program.inputs[node.args[0]].name
        if name in where:
            return Node("input", (len(inputs) - 1, where[name]))
        return Node("input", (place[node.args[0]], node.args[1]))

    nodes = tuple(map(moved, program.nodes))
    return replace(program, inputs=tuple(inputs), nodes=nodes)

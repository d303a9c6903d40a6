"""The result of every derivation: equations of motion with the steps that lead to them.

    M(q) a + c(q, v) + g(q) = D tau + p(q, v) + e(q, ...) + A^T lambda ,    qdot = Gamma(q) v ,    A a + gamma = 0

M mass matrix, c centrifugal and Coriolis forces, g gravity, D the map of the drives tau, p passive forces (springs,
dampers), e external wrenches, A and gamma constraints with multipliers lambda. Parts that do not occur are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.errors import ArgumentError
from dalembert.formulations.bounds import believed
from dalembert.formulations.citations import citation
from dalembert.formulations.quantity import Quantity, named_inputs
from dalembert.formulations.scope import Scope
from dalembert.model.checks import expect
from dalembert.model.layout import counted
from dalembert.tracing.evaluate import evaluate
from dalembert.typesetting.names import unlike

if TYPE_CHECKING:
    from dalembert.formulations.gravitation import InverseSquare

METHODS = {
    "lagrange": "Euler-Lagrange, explicit form",
    "kane": "Kane",
    "kronecker": "Lagrange in Kronecker form",
    "newton-euler": "Newton-Euler, recursive",
    "rigid-body": "Newton-Euler, one free body",
    "lagrangian": "Euler-Lagrange, from a given Lagrangian",
    "sympy": "finished SymPy model",
}
"""Methods of derivation, in words."""

BODILESS = ("lagrangian", "sympy")
"""Methods that begin with expressions in the coordinates, and know of no bodies."""


@dataclass(frozen=True, eq=False)
class Step:
    """One step of a derivation.

    Args:
        title: a headline.
        text: what is done and why, with the equation numbers of the source.
        quantities: what the step arrives at, in order.
        formula: the general formula of the step in LaTeX, or empty.
    """

    title: str
    text: str
    quantities: tuple[Quantity, ...] = ()
    formula: str = ""

    def __str__(self) -> str:
        return "\n".join([self.title, f"  {self.text}", *(_indented(str(q)) for q in self.quantities)])


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations of motion of one system.

    Args:
        name: of the system.
        method: one of :data:`METHODS`.
        scope: the symbols of the derivation.
        mass_matrix: M, n x n.
        coriolis: c, n; quadratic in the velocities unless there are quasi-velocities with drift.
        gravity: g, n; everything that does not depend on velocities.
        bias: c + g, n, by the cheapest way to have both.
        kinematics: qdot as a function of q and v.
        input_map: D, n x inputs: which velocities are driven.
        passive: p, generalised forces of springs and dampers, if there are any.
        external: e, generalised forces of external wrenches, if they were asked for.
        constraint_matrix: A, constraints x n, if there are constraints that multipliers enforce.
        constraint_bias: gamma, so that A a + gamma = 0.
        extras: everything else a method offers, by name.
        derivation: the steps.
        sources: keys of the documents that were used.
        omitted: what the mechanism has and these equations leave out, because it was not asked for: force elements,
            and rotor inertia, damping and friction of joints.
        gravity_field: gravity that depends on position, if it took the place of the mechanism's uniform gravity.
        reference: positions around which loops were closed, if somebody gave them.
        driven: for each column of the input map the place in v of the velocity that it drives; none if inputs are no
            drives of single velocities.
    """

    name: str
    method: str
    scope: Scope
    mass_matrix: Quantity
    coriolis: Quantity
    gravity: Quantity
    bias: Quantity
    kinematics: Quantity
    input_map: Quantity
    passive: Quantity | None = None
    external: Quantity | None = None
    constraint_matrix: Quantity | None = None
    constraint_bias: Quantity | None = None
    extras: Mapping[str, Quantity] = field(default_factory=dict)
    derivation: tuple[Step, ...] = ()
    sources: tuple[str, ...] = ()
    omitted: tuple[str, ...] = ()
    gravity_field: InverseSquare | None = None
    reference: np.ndarray | None = None
    driven: tuple[int, ...] = ()

    # ------------------------------------------------------------------------------------------------------- access

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the position coordinates."""
        return tuple(map(str, self.scope.names["q"]))

    @property
    def velocities(self) -> tuple[str, ...]:
        """Names of the velocities (or quasi-velocities)."""
        return tuple(map(str, self.scope.names[self.velocity_port]))

    @property
    def velocity_port(self) -> str:
        """Name of the input that holds the velocities: ``u`` for quasi-velocities, ``v`` otherwise."""
        return "u" if "u" in self.scope.names else "v"

    @property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols of the system: masses, lengths, ..."""
        symbols = self.scope.symbols
        return tuple(symbols[port][0] for port in self.scope.parameters)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The symbols of the drives' forces tau, one for each column of the input map."""
        import sympy

        if named := self.scope.symbols.get("tau"):
            return tuple(named)
        wanted = [f"tau{k}" for k in range(1, self.input_map.shape[1] + 1)]
        return tuple(map(sympy.Symbol, unlike(wanted, (str(x) for row in self.scope.names.values() for x in row))))

    def steps(self) -> tuple[Step, ...]:
        """The derivation, step by step."""
        return self.derivation

    def quantities(self) -> dict[str, Quantity]:
        """The parts of the equations that occur, by name, without the extras."""
        return {q.name: q for q in self._parts() if q is not None}

    def _parts(self) -> Iterator[Quantity | None]:
        yield from (self.mass_matrix, self.coriolis, self.gravity, self.bias, self.kinematics, self.input_map)
        yield from (self.passive, self.external, self.constraint_matrix, self.constraint_bias)

    def __getitem__(self, name: str) -> Quantity:
        """A part or an extra by name."""
        parts = self.quantities()
        if expect(name, str, "the name of a part") in parts:
            return parts[name]
        if name not in self.extras:
            known = ", ".join([*parts, *self.extras])
            raise ArgumentError(f"{self.method} of {self.name!r} has no {name!r}; it has {known}")
        return self.extras[name]

    def __contains__(self, name: object) -> bool:
        return name in self.quantities() or name in self.extras

    def __iter__(self) -> Iterator[str]:
        """The names of parts and extras."""
        return iter([*self.quantities(), *self.extras])

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickling: expressions of one graph are told as a program."""
        from dalembert.formulations.stored import restored, stored

        return restored, (stored(self),)

    def __copy__(self) -> Equations:
        return self  # nothing in them changes

    def __deepcopy__(self, memo: dict[int, Any]) -> Equations:
        return self

    # --------------------------------------------------------------------------------------------------- mathematics

    def sympy(self, name: str | None = None, simplify: bool = True) -> Any:
        """Closed form: of one part by name, or of all parts as a dict.

        Args:
            name: part or extra, or None for all parts.
            simplify: bring it to textbook shape.
        """
        if name is not None:
            return self[name].sympy(simplify)
        return {key: quantity.sympy(simplify) for key, quantity in self.quantities().items()}

    def symbol(self, name: str) -> Any:
        """The SymPy symbol of a coordinate, velocity or parameter, by name."""
        name = expect(str(name) if is_sympy(name) else name, str, "the name of a symbol")
        for symbols in self.scope.symbols.values():
            for symbol in symbols:
                if str(symbol) == name:
                    return symbol
        known = ", ".join(str(s) for symbols in self.scope.names.values() for s in symbols)
        raise ArgumentError(f"{self.name!r} has no symbol {name!r}; it has {known}")

    def substitute(self, values: Mapping[Any, Any]) -> Equations:
        """The same equations with numbers, or other expressions, in the place of symbols.

        A coordinate or velocity with a value shows the finished equations in that state; it still has its row and its
        acceleration. To hold a joint, ``lock`` the mechanism and derive again.

        Args:
            values: by symbol, or name of a symbol, a finite number or SymPy expression.
        """
        from dalembert.formulations.substitution import substituted

        return substituted(self, values)

    def latex(self, name: str | None = None, form: str = "auto") -> str:
        """LaTeX: of one part by name, or of the equations of motion, part by part.

        Args:
            name: part or extra, or None for the equations.
            form: see :meth:`~dalembert.formulations.quantity.Quantity.latex`.
        """
        from dalembert.formulations.display import equations_latex

        return equations_latex(self, form) if name is None else self[name].latex(form)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def __str__(self) -> str:
        from dalembert.formulations.display import equations_text

        return equations_text(self)

    def __repr__(self) -> str:
        freedom = counted(len(self.mass_matrix), "degree of freedom", "degrees of freedom")
        return f"<Equations of {self.name!r} by {self.method}: {freedom}>"

    def cite(self) -> str:
        """References of the documents behind exactly what was used."""
        return citation(self.sources)

    # ------------------------------------------------------------------------------------------------------- numbers

    def evaluate(self, q: Any = None, v: Any = None, /, **inputs: Any) -> dict[str, np.ndarray]:
        """All parts at given states, any batch shape.

        Args:
            q: positions, (..., nq); q=... will do, too.
            v: velocities, (..., n), or v=..., for Kane's speeds also u=...; parts that need them are left out without.
            inputs: values of parameters by name, and of other inputs by port (``t``, wrenches, ...).
        """
        port = self.velocity_port
        q, v = _given_once(q, inputs, "q"), _given_once(v, inputs, "v", port)
        if q is None:
            raise ArgumentError(f"the equations of {self.name!r} need the positions q")
        given = {"q": q, **({} if v is None else {port: v}), **inputs}
        parts = self.quantities()
        if v is None:
            parts = {k: x for k, x in parts.items() if port not in (p.name for p in x.program.inputs)}
        return self.numbers(tuple(parts), given)

    def numbers(self, names: Sequence[str], inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Some parts or extras at given states, computed together.

        Args:
            names: parts or extras.
            inputs: arrays by input (``q``, ``v``, ...), parameters by symbol or name.
        """
        values = {name: believed(self.scope, self[name].values) for name in names}
        program = self.scope.program(values, "numbers")
        named = named_inputs(self.scope, inputs)
        missing = [port.name for port in program.inputs if port.name not in named]
        if missing:
            raise ArgumentError(f"the equations of {self.name!r} need {', '.join(missing)} too; pass {missing[0]}=...")
        return evaluate(program, {port.name: named[port.name] for port in program.inputs})

    def compile(self, name: str | None = None) -> Any:
        """Machine code: kernels of all parts by name, or of one part or extra.

        Inputs of a kernel are ``q``, the velocities if they matter, and the parameters that matter by name; more than
        sixteen parameters are one input ``parameters``, all in the order of :attr:`parameters`.

        Args:
            name: part or extra, ``"accelerations"``, or None for a dict of all parts.
        """
        from dalembert.formulations.kernels import kernel_of

        if isinstance(name, str) and name == "accelerations":
            return kernel_of(self.accelerations())
        if name is not None:
            return kernel_of(self[name])
        return {key: kernel_of(quantity) for key, quantity in self.quantities().items()}

    def accelerations(self) -> Quantity:
        """M^-1 (D tau + p + e - h): accelerations as a function of state and inputs ``tau``, without forming M^-1.

        Multipliers of a finished SymPy model are solved for with them. For a mechanism's equations with multipliers
        there is no such function; eliminate the constraints with Kane's method.
        """
        from dalembert.formulations.accelerations import solved_accelerations

        return solved_accelerations(self)


def _given_once(value: Any, inputs: dict[str, Any], *names: str) -> Any:
    """What is given in its place or, among the inputs, by one of its names."""
    by_name = {name: inputs.pop(name) for name in names if name in inputs}
    found = [*([] if value is None else [value]), *by_name.values()]
    if len(found) > 1:
        name = list(by_name)[-1]
        raise ArgumentError(f"evaluate: {name} is given twice; a parameter called {name} is given by {name}_=...")
    return found[0] if found else None


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())

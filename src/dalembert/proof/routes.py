"""Whole-system derivations on exact scalars: derived once with symbols for every number, then run node by node.

A formulation gives a straight-line program whose inputs are the state and the symbols. Its operations are those of any
field, so it runs on elements and on degrees as algorithms do.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.errors import UnsupportedError
from dalembert.formulations.derive import derive
from dalembert.model import Mechanism
from dalembert.proof.claims import Claim, Omission, bias, coriolis_forces, inertia
from dalembert.proof.field import OPERATIONS
from dalembert.proof.generic import Subject, generic_mechanism
from dalembert.tracing.evaluate import interpret, output_values
from dalembert.tracing.program import Program

METHODS = ("newton-euler", "lagrange", "kane", "kronecker")

CUBIC = 16
"""Degrees of freedom beyond which routes that cost n^3 expressions are left out."""


class _SymbolField:
    """A field of SymPy symbols, in the order in which they are drawn."""

    def __init__(self) -> None:
        self.made: list[Any] = []

    def element(self) -> Any:
        import sympy

        self.made.append(sympy.Symbol(f"x{len(self.made)}", real=True))
        return self.made[-1]

    def unit(self, size: int) -> np.ndarray:
        return np.array([self.element() for _ in range(size)], dtype=object)


class _Recorded:
    """A field that remembers what was drawn from it, so that symbols can be given these values."""

    def __init__(self, field: Any):
        self.field, self.drawn = field, []  # type: ignore[var-annotated]

    def element(self) -> Any:
        self.drawn.append(self.field.element())
        return self.drawn[-1]

    def unit(self, size: int) -> np.ndarray:
        found = self.field.unit(size)
        self.drawn.extend(found.tolist())
        return found


def recorded(mechanism: Mechanism, field: Any) -> tuple[Mechanism, dict[str, Any]]:
    """The generic mechanism over a field, and the values of the symbols of the same one over symbols."""
    record = _Recorded(field)
    made = generic_mechanism(mechanism, record)
    return made, {f"x{k}": x for k, x in enumerate(record.drawn)}


@cache
def _program(mechanism: Mechanism, method: str) -> Program:
    equations = derive(generic_mechanism(mechanism, _SymbolField()), method)
    values = {name: equations[name].values for name in ("mass_matrix", "coriolis", "gravity")}
    return equations.scope.program(values, method.replace("-", "_"))


def routes(mechanism: Mechanism, s: Subject, values: dict[str, Any]) -> Iterator[Claim | Omission]:
    """M, Coriolis forces and gravity by every formulation, against Newton and Euler's recursion.

    Args:
        mechanism: as the user gave it.
        s: the generic mechanism of its topology at a state.
    """
    for method in METHODS:
        if method == "kronecker" and mechanism.nv > CUBIC:
            yield Omission(method, f"{mechanism.nv}^3 derivatives of M")
            continue
        try:
            program = _program(mechanism, method)
        except UnsupportedError as error:
            yield Omission(method, str(error))
            continue
        given: dict[str, Any] = {"q": s.q, "v": s.v, **{name: [x] for name, x in values.items()}}
        found = interpret(program, [list(given[port.name]) for port in program.inputs], OPERATIONS, _constant)
        parts = {
            port.name: np.array(row, dtype=object).reshape(port.shape)
            for port, row in zip(program.outputs, output_values(program, found))
        }
        who = f"derived: {method}"
        yield Claim("inertia matrix", who, "column-method", parts["mass_matrix"], inertia(s))
        yield Claim("Coriolis forces", who, "newton-euler", parts["coriolis"], coriolis_forces(s))
        yield Claim("bias", who, "newton-euler", parts["coriolis"] + parts["gravity"], bias(s))
        total = product(parts["mass_matrix"], s.a) + parts["coriolis"] + parts["gravity"]
        yield Claim("inverse dynamics", who, "newton-euler", total, product(inertia(s), s.a) + bias(s))


def _constant(x: float) -> Any:
    """A whole number stays one, so that zeros and ones fold away as they do elsewhere."""
    return int(x) if float(x).is_integer() else arrays.asarray([x])[0]

"""Numbers of a mechanism that stay inputs of its kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import real_array
from dalembert.model.parameters import map_scalars, parameters, substitute, symbolise


class Parameters:
    """The symbols of a mechanism, then the numbers named by address. Symbols that occur in these alone are no inputs.

    Args:
        given: addresses such as ``"link7.mass"``, see :func:`dalembert.model.parameters.parameters`; or values by
            address or name of a symbol.
    """

    def __init__(self, mechanism: Mechanism, given: Sequence[str] | Mapping[str, Any]):
        symbols = {symbol.name for symbol in mechanism.symbols}
        self.given: dict[str, float] = {}
        if valued := isinstance(given, Mapping):
            self.given = {str(name): _number(name, value) for name, value in given.items()}
        self.mechanism = mechanism
        self.addresses = tuple(str(name) for name in given if not (valued and str(name) in symbols))
        known = parameters(mechanism) if self.addresses else {}
        for address in self.addresses:
            if address not in known:
                if address in symbols:
                    raise ArgumentError(
                        f"{address!r} is a symbol of {mechanism.name!r}, and symbols are inputs already; leave it out, "
                        "or give its value"
                    )
                if valued and not any(part in address for part in ".:"):
                    own = ", ".join(sorted(symbols)) or "none"
                    raise ArgumentError(f"{mechanism.name!r} has no symbol {address!r}; it has {own}")
                symbolise(mechanism, {address: 0.0})  # raises, and says which ones are near

    @property
    def names(self) -> tuple[str, ...]:
        """Of the elements of the input ``parameters``."""
        return (*(s.name for s in self.symbols), *self.addresses)

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """Those that are left where numbers are named by address."""
        if not (self.addresses and self.mechanism.symbols):
            return tuple(self.mechanism.symbols)
        left = set(self._symbolic[0].symbols)
        return tuple(symbol for symbol in self.mechanism.symbols if symbol in left)

    @cached_property
    def values(self) -> np.ndarray:
        """The given values, or the mechanism's own; NaN for symbols and what depends on them."""
        known: dict[str, Any] = {**parameters(self.mechanism), **self.given} if self.addresses else {**self.given}
        numbers = [known.get(name, np.nan) for name in self.names]
        return np.array([np.nan if is_sympy(x) and x.free_symbols else float(x) for x in numbers])

    @property
    def complete(self) -> bool:
        """Whether every parameter has a value."""
        return bool(np.isfinite(self.values).all())

    @cached_property
    def numeric(self) -> Mechanism:
        """The mechanism with the values in the place of its symbols and of the named numbers."""
        if not self.names:
            return self.mechanism
        loose = self.mechanism.replace(strict=False)  # kernels take any values, also those that no body has
        values = dict(zip(self.names, self.values.tolist()))
        changed = {name: values.pop(name) for name in self.addresses}
        if changed:
            loose = symbolise(loose, changed)
        return substitute(loose, {s: values[s.name] for s in self.symbols}) if self.symbols else loose

    @cached_property
    def _symbolic(self) -> tuple[Mechanism, list[Any]]:
        """The mechanism with symbols instead of the named numbers, and these symbols, called like no others."""
        import sympy

        name = "parameter"
        while any(symbol.name.startswith(name) for symbol in self.mechanism.symbols):
            name += "_"
        own = [sympy.Symbol(f"{name}{k}") for k in range(len(self.addresses))]
        return symbolise(self.mechanism, dict(zip(self.addresses, own))), own

    def traced(self, values: Any) -> tuple[Mechanism, Any]:
        """The mechanism with traced scalars instead of its symbols and of the named numbers, and the scalars for all
        of its symbols: users' formulas contain these by name.

        Args:
            values: the traced scalars, or None if there are no parameters.
        """
        if values is None:
            return self.mechanism, None
        from dalembert.tracing.sympy import from_sympy

        symbolic, own = self._symbolic if self.addresses else (self.mechanism, [])
        table = dict(zip([*self.symbols, *own], values, strict=True))
        mechanism = map_scalars(symbolic, lambda x: from_sympy(x, table) if is_sympy(x) else x)
        # A symbol that is no input occurs nowhere any more, in formulas neither: any number will do.
        return mechanism, [table.get(symbol, 0.0) for symbol in self.mechanism.symbols]

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("mechanism", "addresses", "given")}


def _number(name: Any, value: Any) -> float:
    number = real_array(value, f"Dynamics, parameters, {name}")
    if number.shape != () or not np.isfinite(number):
        raise ArgumentError(f"Dynamics, parameters: the value of {name} is {value!r}; it must be a finite number")
    return float(number)

"""Numbers of a mechanism that stay inputs of its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_sympy
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.parameters import map_scalars, parameters, symbolise


class Parameters:
    """The symbols of a mechanism, then the numbers named by address. Symbols that occur in these alone are no inputs.

    Args:
        mechanism: the mechanism.
        addresses: such as ``"link7.mass"``; see :func:`dalembert.model.parameters.parameters`.
    """

    def __init__(self, mechanism: Mechanism, addresses: Sequence[str]):
        self.mechanism, self.addresses = mechanism, tuple(addresses)
        known = parameters(mechanism) if self.addresses else {}
        for address in self.addresses:
            if address not in known:
                if any(symbol.name == address for symbol in mechanism.symbols):
                    raise ArgumentError(
                        f"{address!r} is a symbol of {mechanism.name!r}, and symbols are inputs already; leave it out"
                    )
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

    @property
    def values(self) -> np.ndarray:
        """Present values of the named numbers; NaN for symbols and what depends on them."""
        known = parameters(self.mechanism) if self.addresses else {}
        numbers = [known[address] for address in self.addresses]
        own = [np.nan if is_sympy(x) and x.free_symbols else float(x) for x in numbers]
        return np.array([*(np.nan for _ in self.symbols), *own])

    @cached_property
    def _symbolic(self) -> tuple[Mechanism, list[Any]]:
        """The mechanism with symbols instead of the named numbers, and these symbols, called like no others."""
        import sympy

        name = "parameter"
        while any(symbol.name.startswith(name) for symbol in self.mechanism.symbols):
            name += "_"
        own = [sympy.Symbol(f"{name}{k}") for k in range(len(self.addresses))]
        return symbolise(self.mechanism, dict(zip(self.addresses, own))), own

    def traced(self, values: Any) -> Mechanism:
        """The mechanism with traced scalars instead of its symbols and of the named numbers.

        Args:
            values: the traced scalars, or None if there are no parameters.
        """
        if values is None:
            return self.mechanism
        from dalembert.tracing.sympy import from_sympy

        symbolic, own = self._symbolic if self.addresses else (self.mechanism, [])
        table = dict(zip([*self.symbols, *own], values, strict=True))
        return map_scalars(symbolic, lambda x: from_sympy(x, table) if is_sympy(x) else x)

    def __getstate__(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "addresses": self.addresses}

"""Quantities with options, such as those of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.dynamics.catalogue import ALL_QUANTITIES, CONTACT_QUANTITIES

if TYPE_CHECKING:
    from dalembert.dynamics.facade import Dynamics


class FrameQuantity:
    """A quantity with options as a function of the state, with the options, such as a frame, as keywords.

    Args:
        dynamics: gives the kernels.
        name: of the quantity.
    """

    def __init__(self, dynamics: Dynamics, name: str):
        self.dynamics, self.name = dynamics, name
        spec = ALL_QUANTITIES.get(name) or CONTACT_QUANTITIES[name]
        self.__doc__ = f"{spec.doc} Options: {', '.join(spec.options)}."
        self._inputs = frozenset((*spec.inputs, "wrenches", "parameters"))
        self._known: dict[tuple[tuple[str, Any], ...], Any] = {}  # by options that are words

    def __call__(self, *state: Any, out: Any = None, threads: int | None = None, **options: Any) -> Any:
        """Evaluate.

        Args:
            state: the inputs of the quantity, any batch shape.
            out: arrays to write to; made if None.
            threads: how many threads to use at most; CPU only.
            options: of the quantity, such as ``frame``; inputs may be given by name too.
        """
        kernel, named = self._kernel(options)
        limits = {} if threads is None else {"threads": threads}
        return kernel(*state, out=out, **named, **limits)

    def bind(self, *state: Any, out: Any = None, **options: Any) -> Any:
        """A function without arguments that evaluates on these very arrays whenever it is called.

        Args:
            state: the inputs of the quantity, arrays of the kernel's precision.
            out: the array to write, or a tuple of them; made if None.
            options: of the quantity, such as ``frame``; inputs may be given by name too.
        """
        kernel, named = self._kernel(options)
        return kernel.bind(*state, out=out, **named)

    def _kernel(self, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The kernel that options ask for, and the inputs among them."""
        named = {k: options.pop(k) for k in self._inputs.intersection(options)}
        if not all(isinstance(value, str) for value in options.values()):
            return self.dynamics.kernel(self.name, **options), named
        key = tuple(options.items())
        if key not in self._known:
            self._known[key] = self.dynamics.kernel(self.name, **options)
        return self._known[key], named

    def __reduce__(self) -> tuple[Any, ...]:
        return FrameQuantity, (self.dynamics, self.name)

    def __repr__(self) -> str:
        spec = ALL_QUANTITIES.get(self.name) or CONTACT_QUANTITIES[self.name]
        return f"<{self.name}({', '.join((*spec.inputs, *(f'{k}=' for k in spec.options)))})>"

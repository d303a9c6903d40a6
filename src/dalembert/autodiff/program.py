"""Programs with derivatives of every order, each again a program that is compiled when it is first needed.

Of a program y = f(x) there are the directional derivative T(x, dx) = f'(x) dx and its transpose R(x, w) = w f'(x),
each about three times as long. Both are programs, so they have derivatives in turn; each is linear in its last
arguments, and there the transpose of the other. That is all a framework asks for, be it derivatives forward, backward
or of second order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.cached import cached_property
from dalembert.native.kernel import Kernel
from dalembert.tracing.derivatives import forward, reverse
from dalembert.tracing.evaluate import inline
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Port, Program
from dalembert.tracing.trace import trace


class DifferentiableProgram:
    """A program, and its derivatives as programs.

    Args:
        inputs: the input arrays, in order.
        outputs: the output arrays, in order.
        program: what is computed, or a function that gives it.
        key: a name that changes whenever the program would; None if it has to be made to know.
        dtype: float64 or float32 to compute in one precision always; None for that of the arguments.
        device: ``"cpu"`` or ``"cuda"``.
        linear: so many of the last inputs enter linearly, all together.
        transposed: gives, for a linear program, the program with the outputs' weights in the place of these inputs.
        kernel: the kernel of the program, where there is one already.
        level: how often derivatives were taken.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        program: Callable[[], Program],
        key: str | None,
        dtype: np.dtype | None,
        device: str,
        linear: int = 0,
        transposed: Callable[[], DifferentiableProgram] | None = None,
        kernel: Any = None,
        level: int = 0,
    ):
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.dtype, self.device, self.key, self.linear, self.level = dtype, device, key, linear, level
        self._make, self._transposed, self._given = program, transposed, kernel
        self._partial: dict[tuple[str, tuple[int, ...]], DifferentiableProgram] = {}
        self.rules: dict[str, Any] = {}  # what frameworks made of it, by their names

    @cached_property
    def program(self) -> Program:
        """What is computed."""
        return self._make()

    @cached_property
    def kernel(self) -> Any:
        """Compiled for the device."""
        if self._given is not None:
            return self._given
        if self.device == "cuda":
            from dalembert.cuda.kernel import CudaKernel

            return CudaKernel(self.name, self.inputs, self.outputs, lambda: self.program, self.dtype)
        return Kernel(self.name, self.inputs, self.outputs, lambda: self.program, self.key, self.dtype)

    @property
    def identity(self) -> str:
        """A name that distinguishes programs by what they compute, and where."""
        known = self.key if self.key is not None else self.program.digest
        text = repr((known, self.inputs, self.outputs, str(self.dtype), self.device))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def transposed(self) -> DifferentiableProgram:
        """Of a program that is linear in its last inputs: what takes weights of the outputs instead and gives weights
        of these inputs.
        """
        assert self._transposed is not None, self.name
        return self._transposed()

    def tangent(self, wrt: Sequence[int] | None = None) -> DifferentiableProgram:
        """T(x, dx): the inputs, then a change of each of some inputs, linear in these; gives changes of the outputs.

        Args:
            wrt: places of these inputs; all by default.
        """
        return self._derived("tangent", wrt)

    def gradient(self, wrt: Sequence[int] | None = None) -> DifferentiableProgram:
        """R(x, w): the inputs, then weights of all outputs, linear in these; gives weights of some inputs.

        Args:
            wrt: places of these inputs; all by default.
        """
        return self._derived("gradient", wrt)

    def _derived(self, way: str, wrt: Sequence[int] | None) -> DifferentiableProgram:
        chosen = tuple(range(len(self.inputs)) if wrt is None else wrt)
        if (way, chosen) not in self._partial:
            self._partial[way, chosen] = self._derive(way, chosen)
        return self._partial[way, chosen]

    def _derive(self, way: str, chosen: tuple[int, ...]) -> DifferentiableProgram:
        level = self.level + 1
        moved = [Port(f"{self.inputs[k].name}_d{level}", self.inputs[k].shape) for k in chosen]
        weighed = [Port(f"{port.name}_w{level}", port.shape) for port in self.outputs]
        ahead = way == "tangent"
        given = (*self.inputs, *(moved if ahead else weighed))
        found = tuple(Port(f"{port.name}_out", port.shape) for port in (weighed if ahead else moved))

        def compute(*arrays: Any) -> dict[str, Any]:
            x = [_array(array, port) for array, port in zip(arrays, given)]
            values, linear = x[: len(self.inputs)], x[len(self.inputs) :]
            results = inline(self.program, values)
            y = _flat([results[port.name] for port in self.outputs])
            variables, along = _flat([values[k] for k in chosen]), _flat(linear)
            slopes = forward(y, variables, along) if ahead else reverse(y, variables, along)
            parts, at = {}, 0
            for port in found:
                parts[port.name] = np.asarray(slopes[at : at + port.size], dtype=object).reshape(port.shape)
                at += port.size
            return parts

        name = f"{self.name}_{way}"
        return DifferentiableProgram(
            name,
            given,
            found,
            lambda: optimise(trace(compute, {port.name: port.shape for port in given}, name)),
            None if self.key is None else f"{self.key} {way} {chosen}",
            self.dtype,
            self.device,
            linear=len(given) - len(self.inputs),
            transposed=lambda: self._derived("gradient" if ahead else "tangent", chosen),
            level=level,
        )


def _array(given: Any, port: Port) -> np.ndarray:
    array = np.empty(port.shape, dtype=object)
    array[...] = given
    return array


def _flat(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([x for array in arrays for x in np.ravel(array)], dtype=object)

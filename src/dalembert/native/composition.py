"""Kernels called on traced scalars: they become part of the program that is being traced."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ArgumentError
from dalembert.tracing.calls import as_numbers, call, holds_traced
from dalembert.tracing.program import CalledProgram

__all__ = ["composed", "holds_traced"]


def composed(kernel: Any, inputs: tuple[Any, ...], refused: dict[str, Any]) -> Any:
    """The results of a kernel for traced scalars, as those for numbers: an array, or several by name.

    The precision is that of the kernel that is being made, whatever this one computes in.

    Args:
        kernel: of a processor or a device.
        inputs: all inputs in order; arrays, lists and scalars that hold traced scalars or numbers.
        refused: other arguments of the call, which a program cannot follow.
    """
    if given := [name for name, value in refused.items() if value is not None]:
        raise ArgumentError(f"{kernel.name} is called on traced scalars, where {given[0]}= means nothing; leave it out")
    arguments = kernel.arguments
    arrays = [as_numbers(x) for x in arguments.spelt_out(inputs)]
    arguments.batch(arrays, traced=True)
    called = CalledProgram(kernel.key or kernel.program.digest, kernel.inputs, kernel.outputs, lambda: kernel.program)
    found = call(called, arrays)
    return found if len(found) > 1 else found[0]

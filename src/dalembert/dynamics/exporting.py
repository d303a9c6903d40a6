"""Source code of quantities, no longer than a small processor can hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.dynamics.tree import IN_LOOPS
from dalembert.errors import ArgumentError
from dalembert.model.checks import expect, expect_path
from dalembert.native.arguments import precision

if TYPE_CHECKING:
    from dalembert.dynamics.kernel_table import KernelTable


def export_quantity(
    dynamics: KernelTable, quantity: str, language: str, path: str | Path | None, name: str | None,
    max_code: int | None, dtype: Any, options: Mapping[str, Any],
) -> str:  # fmt: skip
    """The source of a quantity; see :meth:`~dalembert.dynamics.Dynamics.export`."""
    from dalembert.export import export

    expect(language, str, "export, language")
    if path is not None:
        expect_path(path, "export, path")  # goes on as it is: a slash at its end says that it is a folder
    own = dynamics.dtype if dtype is None else precision("export", dtype)
    kernel = dynamics.made_kernel(quantity, options, dynamics.device, own)
    if max_code is not None:
        kernel = _small(dynamics, kernel, quantity, language, max_code, options)
    if language != "cuda":
        return export(kernel, language, path, name, entries={"parameters": dynamics.parameter_names}, dtype=dtype)
    parts = dynamics.parts(kernel.inputs, kernel.outputs)
    return export(kernel, language, path, name, parts, dynamics.stages(quantity), dtype=dtype)


def _small(
    dynamics: KernelTable, kernel: Any, quantity: str, language: str, most: int, options: Mapping[str, Any]
) -> Any:
    """The kernel, or one of the same quantity in loops, whose C takes no more than so many bytes."""
    from dalembert.printing.code_size import code_size, shown_size

    if language != "c":
        raise ArgumentError(f"export, max_code: sizes are known for language 'c' only, not for {language!r}")
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most <= 0:
        raise ArgumentError(f"export, max_code: {most!r} is no number of bytes; give a positive one, such as 16_000")
    real = "float" if kernel.dtype == "float32" else "double"
    size = code_size(kernel.program, real)
    if size <= most:
        return kernel
    found = f"{shown_size(size)} written out"
    if IN_LOOPS.get(quantity) in dynamics.quantity(quantity).algorithms and "algorithm" not in options:
        looped = {"algorithm": IN_LOOPS[quantity], **options}
        rolled = dynamics.made_kernel(quantity, looped, dynamics.device, kernel.dtype)
        rolled_size = code_size(rolled.program, real)
        if rolled_size <= most:
            return rolled
        if rolled_size < size:
            found += f", {shown_size(rolled_size)} in loops"
    single = "" if real == "float" else "; with dtype='float32' it is about half as long"
    raise ArgumentError(
        f"export, max_code: {quantity} of {dynamics.mechanism.name!r} takes {found}, and {shown_size(most)} are allowed"
        f"{single}"
    )

"""Kernels on Dask arrays: one call per block of states, when the result is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.native.kernel import Kernel


def is_dask(x: Any) -> bool:
    """Whether something is a Dask array; Dask is not imported for that."""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "dask") and hasattr(x, "chunks")


def on_blocks(kernel: Kernel, inputs: Sequence[Any], dtype: np.dtype, options: dict[str, Any]) -> Any:
    """The results of a kernel as Dask arrays.

    Args:
        kernel: what to compute.
        inputs: the inputs, at least one of them a Dask array; core dimensions that are cut are put together.
        dtype: of the results.
        options: of the call; only ``threads`` can be passed on.
    """
    import dask.array

    if unknown := sorted(options.keys() - {"threads"}):
        raise ArgumentError(
            f"{kernel.name}: {', '.join(unknown)} cannot be given with Dask arrays; for full control call "
            f"dask.array.apply_gufunc(kernel, {signature(kernel)[0]!r}, ..., output_dtypes={dtype.name!r})"
        )
    text, sizes = signature(kernel)
    many = len(kernel.outputs) > 1
    return dask.array.apply_gufunc(
        kernel,
        text,
        *inputs,
        output_sizes=sizes,
        output_dtypes=[dtype] * len(kernel.outputs) if many else dtype,
        allow_rechunk=True,
        **options,
    )


def signature(kernel: Kernel) -> tuple[str, dict[str, int]]:
    """The core signature with a name for every dimension, as Dask wants it, and the sizes of those of the outputs."""
    sizes: dict[str, int] = {}
    sides = []
    for letter, ports in (("i", kernel.inputs), ("o", kernel.outputs)):
        arrays = []
        for k, port in enumerate(ports):
            names = [f"{letter}{k}_{d}" for d in range(len(port.shape))]
            arrays.append(f"({','.join(names)})")
            if letter == "o":
                sizes.update(zip(names, port.shape))
        sides.append(",".join(arrays))
    return "->".join(sides), sizes

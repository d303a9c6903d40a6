"""A kernel on a CUDA device bound to its arrays, for small batches, where the call costs more than the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class BoundCudaKernel:
    """A kernel bound to its arrays: call it to evaluate on the current stream.

    Args:
        graph: the captured launch.
        inputs: kept alive as long as this is.
        outputs: where results appear.
        scratch: what the launch writes besides, kept alive too.
    """

    def __init__(self, graph: Any, inputs: tuple[Any, ...], outputs: tuple[Any, ...], scratch: Sequence[Any] = ()):
        self._graph, self.inputs, self.outputs, self._scratch = graph, inputs, outputs, scratch

    def __call__(self) -> None:
        """Read the inputs as they are now and write the outputs."""
        self._graph.launch()

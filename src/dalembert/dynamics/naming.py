"""Vectors given by name: positions and velocities by joint, parameters by symbol or address, wrenches by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import scalar_array
from dalembert.model.names import by_joint, velocity_names
from dalembert.text.suggest import hint

VELOCITIES = ("v", "a", "tau")
"""Inputs with an entry for every velocity."""


@dataclass(frozen=True, eq=False)
class ByName:
    """Makes the array that an input needs of values by name; what is not named is neutral, zero, or has its value.

    Args:
        mechanism: knows the joints.
        values: of the parameters; NaN where there is none.
        frames: on which wrenches act.
    """

    mechanism: Mechanism
    parameters: tuple[str, ...] = ()
    values: np.ndarray | None = None
    frames: tuple[str, ...] = ()

    def __call__(self, what: str, port: str, given: Mapping[str, Any]) -> np.ndarray:
        """The array; names that there are not are refused.

        Args:
            what: the call, for errors.
            port: name of the input.
            given: values by name, any batch shapes.
        """
        m, argument = self.mechanism, f"{what}: {port}"
        if port in ("q", "q_ref"):
            return by_joint(m, given, argument, m.neutral, m.q_slice, batch=True, convert=scalar_array)
        if port in VELOCITIES:
            singles = velocity_names(m)
            zero = np.zeros(m.nv)
            return by_joint(m, given, argument, zero, m.v_slice, batch=True, entries=singles, convert=scalar_array)
        if port == "parameters":
            return self._columns(argument, self.parameters, given, ())
        if port == "wrenches":
            return self._columns(argument, self.frames, given, (6,))
        raise ArgumentError(f"{argument} is a {type(given).__name__}; it has no entries by name, give an array")

    def _columns(
        self, argument: str, names: tuple[str, ...], given: Mapping[str, Any], shape: tuple[int, ...]
    ) -> np.ndarray:
        given = {str(name): value for name, value in given.items()}
        for name in given:
            if name not in names:
                raise ArgumentError(f"{argument}: there is no {name!r}{hint(name, names, 'there are')}")
        found = []
        for k, name in enumerate(names):
            default = np.zeros(shape) if shape else np.nan if self.values is None else self.values[k]
            column = scalar_array(given.get(name, default), f"{argument}[{name!r}]")
            if not shape and name not in given and not np.isfinite(column):
                raise ArgumentError(f"{argument} has no value for {name}; give it, or values to the Dynamics")
            if column.shape[column.ndim - len(shape) :] != shape:
                raise ArgumentError(f"{argument}[{name!r}] has shape {column.shape}, expected (..., 6)")
            found.append(column)
        return np.stack(np.broadcast_arrays(*found), axis=-1 - len(shape)) if found else np.zeros((0, *shape))

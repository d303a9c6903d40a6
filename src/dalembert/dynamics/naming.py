"""Arrays given by name: positions and velocities by joint, parameters by symbol or address, wrenches by frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.labels import NamedAxis, arranged, unlabelled
from dalembert.model import Mechanism
from dalembert.model.checks import scalar_array
from dalembert.model.names import named_positions, named_velocities, position_axis, velocity_axis
from dalembert.text.suggest import hint

POSITIONS, VELOCITIES = ("q", "q_ref"), ("v", "a", "tau")
"""Inputs with an entry for every position, and for every velocity."""

SCALARS = ("t", "h")
"""Inputs that are one number for every state."""

COMPONENTS = ("force x", "force y", "force z", "moment x", "moment y", "moment z")
"""Of a wrench, in the axes of its frame."""

WRENCH = NamedAxis(COMPONENTS, ("component",))


@dataclass(frozen=True, eq=False)
class ByName:
    """Makes the array that an input needs of values by name. What a mapping does not name is neutral, zero, or has its
    value; a table names everything.

    Args:
        mechanism: knows the joints.
        values: of the parameters; NaN where there is none.
        frames: on which wrenches act.
    """

    mechanism: Mechanism
    parameters: tuple[str, ...] = ()
    values: np.ndarray | None = None
    frames: tuple[str, ...] = ()

    def __call__(self, what: str, port: str, given: Any) -> np.ndarray:
        """The array; raises an error for unknown names.

        Args:
            what: the call, for errors.
            port: name of the input.
            given: a mapping, values with any batch shapes; or a table with labels.
        """
        m, argument = self.mechanism, f"{what}: {port}"
        if not isinstance(given, Mapping):
            axes = self._axes(port)
            return unlabelled(given, argument) if axes is None else arranged(given, axes, argument)
        if port in POSITIONS:
            return named_positions(m, given, argument, convert=scalar_array)
        if port in VELOCITIES:
            return named_velocities(m, given, argument, convert=scalar_array)
        if port == "parameters":
            return self._columns(argument, self.parameters, given, ())
        if port == "wrenches":
            return self._columns(argument, self.frames, given, (6,))
        raise ArgumentError(f"{argument} is a {type(given).__name__}; it has no entries by name, give an array")

    def _axes(self, port: str) -> list[NamedAxis] | None:
        """What the entries of an input are called; none for a scalar, whose labels are those of states."""
        if port in POSITIONS:
            return [position_axis(self.mechanism)]
        if port in VELOCITIES:
            return [velocity_axis(self.mechanism, port)]
        if port == "parameters":
            return [NamedAxis(self.parameters, ("parameter",))]
        if port == "wrenches":
            return [NamedAxis(self.frames, ("frame",)), WRENCH]
        return [] if port in SCALARS else None

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

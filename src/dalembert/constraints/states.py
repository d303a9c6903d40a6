"""One state or a batch of them, taken one after the other: for what is chosen by singular values at each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Mechanism
from dalembert.model.checks import real_array


class States:
    """Arrays over states, broadcast against each other.

    Args:
        mechanism: the mechanism.
        q: positions, (..., nq).
        vectors: name -> array (..., nv).
        t: time, s, (...).
    """

    def __init__(self, mechanism: Mechanism, q: Any, vectors: dict[str, Any], t: Any = 0.0):
        given = {k: real_array(x, k) for k, x in {"q": q, **vectors}.items()}
        for name, array in given.items():
            size = mechanism.nq if name == "q" else mechanism.nv
            if array.ndim == 0 or array.shape[-1] != size:
                raise ArgumentError(f"{name} has shape {array.shape}, but {mechanism.name!r} needs (..., {size})")
        clock = real_array(t, "t")
        try:
            self.batch = np.broadcast_shapes(clock.shape, *(x.shape[:-1] for x in given.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {x.shape}" for name, x in given.items())
            raise ArgumentError(f"the states do not fit each other: {shapes}, t {clock.shape}") from None
        self._arrays = [np.broadcast_to(x, (*self.batch, x.shape[-1])) for x in given.values()]
        self._clock = np.broadcast_to(clock, self.batch)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for place in np.ndindex(self.batch):
            yield (*(array[place] for array in self._arrays), float(self._clock[place]))

    def each(self, compute: Callable[..., Any]) -> list[Any]:
        """What a function of one state gives at every one of them; errors of a batch say at which.

        Args:
            compute: takes the parts of a state and its time.
        """
        found = []
        for place, one in zip(np.ndindex(self.batch), self):
            try:
                found.append(compute(*one))
            except (ArgumentError, SingularityError) as error:
                if not self.batch:
                    raise
                at = ", ".join(map(str, place))
                raise type(error)(f"state [{at}] of the batch: {error}") from error
        return found

    def gathered(self, results: Sequence[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
        """What was found at each state, as one array with the shape of the batch in front.

        Args:
            results: one array per state, in the order of iteration.
            shape: of each.
        """
        return np.array(results, dtype=float).reshape(*self.batch, *shape)

"""A mechanism at one state, over any scalar: what constraints and force elements are functions of.

And states in numbers, one or a batch of them, taken one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics import frame_on_link
from dalembert.kinematics.relative import Pair
from dalembert.kinematics.step import Step, steps
from dalembert.model import WORLD, Mechanism, Tree
from dalembert.model.checks import real_array
from dalembert.model.names import named_positions, named_velocities
from dalembert.tracing.program import Program


class State:
    """A mechanism at one state.

    Args:
        mechanism: the mechanism.
        q: positions, nq scalars.
        v: velocities, nv scalars; may be left out where only positions matter.
        t: time, s.
        tree: the mechanism's tree in other link frames, if those are cheaper.
        parameters: the scalars that stand for the symbols of the mechanism; the symbols themselves by default.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        q: Any,
        v: Any = None,
        t: Scalar = 0,
        tree: Tree | None = None,
        parameters: Any = None,
    ):
        self.mechanism, self.tree = mechanism, tree or mechanism.tree
        self.q, self.t = arrays.asarray(q), t
        self._v = None if v is None else arrays.asarray(v)
        self.parameters = mechanism.symbols if parameters is None else parameters
        for name, given, size in (("q", self.q, mechanism.nq), ("v", self._v, mechanism.nv)):
            if given is not None and given.shape != (size,):
                raise ArgumentError(f"{name} has shape {given.shape}, but {mechanism.name!r} needs ({size},)")

    @property
    def velocities(self) -> Array:
        """The velocities; an error if there are none."""
        if self._v is None:
            raise ArgumentError(f"a state of {self.mechanism.name!r} without velocities was asked for velocities")
        return self._v

    @property
    def is_moving(self) -> bool:
        """True if velocities are known."""
        return self._v is not None

    def arguments(self, program: Program, **more: Any) -> dict[str, Any]:
        """The inputs of a user's program; velocities are zero where they are not known.

        Args:
            program: with inputs among q, v, t and parameters.
            more: its other inputs by name.
        """
        v = self._v if self._v is not None else arrays.zeros(self.mechanism.nv)
        known = {"q": self.q, "v": v, "t": self.t, "parameters": list(self.parameters), **more}
        return {port.name: known[port.name] for port in program.inputs}

    @cached_property
    def steps(self) -> list[Step]:
        """The step across every joint."""
        return steps(self.tree, self.q)

    def place(self, frame: str, placement: Transform | None = None) -> tuple[int, Transform]:
        """The link that carries a frame, and a placement on that frame in the link."""
        carrier, at = frame_on_link(self.mechanism, frame, self.tree)
        return (carrier, at) if placement is None else (carrier, at @ placement)

    def pair(self, item: Any, swapped: bool = False) -> Pair:
        """The second end of a constraint or force as seen from the first.

        Args:
            item: has ``a``, ``b``, ``placement_a`` and ``placement_b``.
            swapped: the first as seen from the second.
        """
        a, b = self.place(item.a, item.placement_a), self.place(item.b, item.placement_b)
        return Pair(self, b, a) if swapped else Pair(self, a, b)

    def from_world(self, frame: str, placement: Transform | None = None) -> Pair:
        """A frame as seen from the ground."""
        return Pair(self, self.place(WORLD), self.place(frame, placement))

    def coordinate(self, joint: str) -> tuple[Scalar, int, Scalar]:
        """Position of a one-degree joint, index of its velocity, and its gain on that velocity (mimic joints)."""
        found = self.mechanism.joint(joint)
        at, k = self.mechanism.q_slice(joint), self.mechanism.v_slice(joint).start
        if found.mimic is None:
            return self.q[at.start], k, 1
        gain = found.mimic.multiplier
        return gain * self.q[at.start] + found.mimic.offset, k, gain


class States:
    """Arrays over states, broadcast against each other.

    Args:
        q: positions, (..., nq); or by joint name, others neutral.
        vectors: name -> array (..., nv); or by name of a joint or a single velocity, others zero.
        parameters: values of the parameters, (..., p); the first of what a state consists of, where they are given.
    """

    def __init__(
        self, mechanism: Mechanism, q: Any, vectors: dict[str, Any], t: Any = 0.0, parameters: np.ndarray | None = None
    ):
        given = {"q": named_positions(mechanism, q, "q")}
        given |= {name: named_velocities(mechanism, x, name) for name, x in vectors.items()}
        for name, array in given.items():
            size = array.shape[-1] if name == "parameters" else mechanism.nq if name == "q" else mechanism.nv
            if array.ndim == 0 or array.shape[-1] != size:
                raise ArgumentError(f"{name} has shape {array.shape}, but {mechanism.name!r} needs (..., {size})")
        clock = real_array(t, "t")
        if parameters is not None:
            given = {"parameters": parameters, **given}
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
        """
        return np.array(results, dtype=float).reshape(*self.batch, *shape)

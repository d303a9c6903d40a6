"""Where the arrays of many motions live: in the memory of the processor, or on a CUDA device.

A space takes what a user gives - arrays of any library, dictionaries, None - checks it and brings it to one form, and
makes the batch that computes there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from dalembert.algebra.quaternions import unit_in_place
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.kinematics.manifold import quaternion_places
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, real_array
from dalembert.native.recurrence import Recurrence
from dalembert.simulation.batch import Batch
from dalembert.simulation.moving import Moving
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.state import UNIT, as_parameters, as_position, as_velocity, parameter_array


class Space(Protocol):
    """What a rollout asks of the place where its arrays live."""

    def working(self) -> AbstractContextManager[None]:
        """To be entered while arrays are made and computed here."""

    def moving(self, moving: Moving | Stabiliser) -> Moving | Stabiliser:
        """What is simulated, in a form that can be traced here."""

    def array(self, given: Any, name: str) -> Any:
        """Numbers as a user gives them."""

    def stack(self, arrays: Sequence[Any]) -> Any:
        """Arrays (..., n), broadcast together, as one (..., len(arrays), n)."""

    def finite(self, array: Any) -> bool:
        """Whether all numbers are."""

    def position(self, mechanism: Mechanism, given: Any) -> Any:
        """Positions (..., nq), quaternions of unit length."""

    def velocity(self, mechanism: Mechanism, given: Any) -> Any:
        """Velocities (..., nv)."""

    def parameters(self, dynamics: Dynamics, given: Any) -> Any:
        """Values of the parameters (..., k), or None if there are none."""

    def host(self, array: Any) -> Any:
        """An array in the memory of the processor; anything else as it is."""

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Any:
        """The batch that computes; the arguments are those of :class:`~dalembert.simulation.batch.Batch`."""


class Host:
    """The memory of the processor; NumPy arrays."""

    def working(self) -> AbstractContextManager[None]:
        return nullcontext()

    def moving(self, moving: Moving | Stabiliser) -> Moving | Stabiliser:
        return moving

    def array(self, given: Any, name: str) -> np.ndarray:
        if isinstance(given, np.ndarray) and given.dtype == np.float64:  # which may be large; it is not changed
            return given
        return real_array(given, name)

    def stack(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*arrays), axis=-2)

    def finite(self, array: np.ndarray) -> bool:
        return bool(np.isfinite(array).all())

    def position(self, mechanism: Mechanism, given: Any) -> np.ndarray:
        return as_position(mechanism, given, batch=True)

    def velocity(self, mechanism: Mechanism, given: Any) -> np.ndarray:
        return as_velocity(mechanism, given, batch=True)

    def parameters(self, dynamics: Dynamics, given: Any) -> np.ndarray | None:
        return as_parameters(dynamics, given, batch=True)

    def host(self, array: Any) -> Any:
        return array

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Batch:
        return Batch(made, *rest)


class Device:
    """A CUDA device: arrays of any library that are there are used there, all others are copied to it.

    Args:
        given: everything numeric that the user gave; decides in which kind of array and which precision results are.
    """

    def __init__(self, given: Sequence[Any]):
        from dalembert.cuda import arrays

        self._arrays, self._cupy = arrays, arrays.cupy()
        with arrays.device_errors("rollout"):
            self._cupy.cuda.runtime.getDeviceCount()  # says if there is none
        known = [x for x in _leaves(given) if hasattr(x, "dtype")]
        self.kind = arrays.library(tuple(known))
        self.given = tuple(known)
        single = bool(known) and all(str(x.dtype).rpartition(".")[2] == "float32" for x in known)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @contextmanager
    def working(self) -> Iterator[None]:
        """On the device of the caller's arrays and the stream of the caller's library."""
        with self._arrays.device_errors("rollout"), self._arrays.stream(self.kind, self.given):
            yield

    def _foreign(self, given: Any) -> bool:
        """Whether it is an array of a library other than NumPy."""
        return hasattr(given, "dtype") and not isinstance(given, (np.ndarray, np.generic))

    def moving(self, moving: Moving | Stabiliser) -> Moving | Stabiliser:
        if isinstance(moving, Dynamics) and moving.device == "cuda":
            if moving not in _twins:
                _twins[moving] = moving.on("cpu")
            return _twins[moving]
        return moving

    def array(self, given: Any, name: str) -> Any:
        found = self._arrays.take(given, name)
        return found if found.dtype.kind == "f" else found.astype(np.float64)

    def stack(self, arrays: Sequence[Any]) -> Any:
        return self._cupy.stack(self._cupy.broadcast_arrays(*arrays), axis=-2)

    def finite(self, array: Any) -> bool:
        return bool(_all_finite()(array))

    def _vector(self, mechanism: Mechanism, given: Any, name: str, size: int) -> Any:
        found = self.array(given, name)
        if found.shape[-1:] != (size,):
            raise ArgumentError(f"{name} has shape {found.shape}, but {mechanism.name!r} needs (..., {size})")
        if not self.finite(found):
            raise ArgumentError(f"{name} contains numbers that are not finite")
        return found

    def position(self, mechanism: Mechanism, given: Any) -> Any:
        if not self._foreign(given):
            return self._cupy.asarray(as_position(mechanism, given, batch=True))
        q = self._vector(mechanism, given, "q0", mechanism.nq)
        turning = quaternion_places(mechanism.tree)
        q = q.copy() if turning else q
        for k in turning:
            length = self._cupy.sqrt((q[..., k : k + 4] ** 2).sum(axis=-1, keepdims=True))
            worst = float(abs(length - 1).max()) if length.size else 0.0
            if worst > UNIT:
                raise ArgumentError(
                    f"q0[{k}:{k + 4}] must be a unit quaternion [x, y, z, w], scalar last; its length is off by "
                    f"{worst:.3g}"
                )
        return unit_in_place(q, turning)

    def velocity(self, mechanism: Mechanism, given: Any) -> Any:
        if not self._foreign(given):
            return self._cupy.asarray(as_velocity(mechanism, given, batch=True))
        return self._vector(mechanism, given, "v0", mechanism.nv)

    def parameters(self, dynamics: Dynamics, given: Any) -> Any:
        names = dynamics.parameter_names
        if not names or not any(self._foreign(x) for x in _leaves([given])):
            found = as_parameters(dynamics, given, batch=True)
            return None if found is None else self._cupy.asarray(found)
        if isinstance(given, Mapping):
            by_name = {str(name): value for name, value in given.items()}
            own = {name: value for name, value in by_name.items() if not self._foreign(value)}
            rest = {name: 0.0 for name in by_name if name not in own}
            plain = parameter_array(dynamics, {**own, **rest}, batch=True)  # refuses names that do not exist
            assert plain is not None
            columns = [
                self.array(by_name[name], name) if name in rest else self._cupy.asarray(plain[..., k])
                for k, name in enumerate(names)
            ]
            given = self._cupy.stack(self._cupy.broadcast_arrays(*columns), axis=-1)
        found = self.array(given, "parameters")
        if found.shape[-1:] != (len(names),) or not self.finite(found):
            raise ArgumentError(f"parameters have shape {found.shape}; expected finite numbers: {', '.join(names)}")
        return found

    def host(self, array: Any) -> Any:
        if isinstance(array, self._cupy.ndarray) or self._foreign(array):
            return self._cupy.asnumpy(self._arrays.take(array, "array"))
        return array

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Any:
        from dalembert.simulation.device_batch import DeviceBatch

        dtype = self.dtype if system.dynamics.dtype is None else np.dtype(system.dynamics.dtype)
        return DeviceBatch(system, made, self.kind, dtype, *rest)


@cache
def _all_finite() -> Any:
    """One pass over an array, without another of its size in between."""
    from dalembert.cuda.arrays import cupy

    return cupy().ReductionKernel("T x", "bool y", "isfinite(x)", "a && b", "y = a", "true", "all_finite")


_twins: WeakKeyDictionary[Dynamics, Dynamics] = WeakKeyDictionary()
"""For dynamics made for a device the same ones for the processor, whose programs are traced into a step."""


def _leaves(given: Sequence[Any]) -> Iterator[Any]:
    for x in given:
        yield from _leaves(list(x.values())) if isinstance(x, Mapping) else [x]


def space_of(device: str | None, moving: Moving | Stabiliser, given: Sequence[Any]) -> Space:
    """The space that a user asks for.

    Args:
        device: ``"cpu"`` or ``"cuda"``; None for that of the dynamics, or the processor.
        moving: what is simulated.
        given: everything numeric that the user gave.
    """
    if device is not None:
        expect_choice(device, ("cpu", "cuda"), "rollout, device")
    own = moving.device if isinstance(moving, Dynamics) else None
    return Host() if (device or own or "cpu") == "cpu" else Device(given)

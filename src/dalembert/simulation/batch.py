"""Many motions as arrays: where the arrays live, and the batch that is computed there.

A space - the memory of the processor, or a CUDA device - takes what a user gives (arrays of any library, dictionaries,
None), checks it, brings it to one form, and makes the batch: cut into pieces for threads, or one launch on the device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, Protocol

import numpy as np

from dalembert.algebra.quaternions import unit_in_place
from dalembert.cuda import arrays
from dalembert.cuda.recurrence import CudaRecurrence
from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.kinematics.manifold import quaternion_places
from dalembert.labels import has_names
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, real_array
from dalembert.native.recurrence import Recurrence
from dalembert.native.threads import default_threads, run_all
from dalembert.simulation.stabiliser import Moving, Stabiliser, movable
from dalembert.simulation.state import UNIT_LENGTH_SLACK, as_parameters, as_position, as_velocity, parameter_array
from dalembert.simulation.stepping import SUMMARIES
from dalembert.text.progress import Progress

THREAD_PIECE_TIME = 3e7
"""Nanoseconds, by estimate, after which a thread looks up: for Ctrl-C, and to share the work."""


def check_count(made: Any, dtype: Any, steps: int) -> None:
    """Refuse more steps than a precision can count, where they count the time."""
    most = 2 ** (np.finfo(dtype).nmant + 1)
    if any(port.name == "count" for port in made.state) and steps > most:
        raise ArgumentError(
            f"steps = {steps}: {np.dtype(dtype)} counts to {most} only, then time stands still; use float64"
        )


def batch_shape(made: Recurrence, start: Sequence[Any], held: Mapping[str, Any], rows: Any) -> tuple[int, ...]:
    """The batch dimensions of all arrays, broadcast together.

    Args:
        made: the compiled loop.
        start: initial positions (..., nq) and velocities (..., nv).
        held: the held inputs by name, in order.
        rows: the driven input, (..., rows, n), or None.
    """
    cores = [len(port.shape) for port in made.held]
    others = [array.shape[: array.ndim - core] for array, core in zip(held.values(), cores)]
    try:
        return np.broadcast_shapes(
            *(array.shape[:-1] for array in start), *others, *([] if rows is None else [rows.shape[:-2]])
        )
    except ValueError as error:
        given = {"q0": start[0], "v0": start[1], **held, **({} if rows is None else {"control": rows})}
        shapes = ", ".join(f"{name} {tuple(array.shape)}" for name, array in given.items() if name != "h")
        raise ArgumentError(f"the batch dimensions do not fit together: {shapes}") from error


RECORDED = ("q", "v", "impulses", "measures")
"""Parts of a state of which records are kept."""


def first_rows(made: Recurrence, summaries: Sequence[tuple[str, Any]]) -> list[np.ndarray]:
    """What the parts of a state after q and v are before the first step, for one motion.

    Args:
        made: the compiled loop.
        summaries: kind and function of each summary.
    """
    begin = np.array([SUMMARIES[kind][0] for kind, _ in summaries])
    return [begin if port.name == "summary" else np.zeros(port.shape) for port in made.state[2:]]


class Batch:
    """One batch of motions.

    Args:
        made: the compiled loop.
        start: initial positions (..., nq) and velocities (..., nv).
        held: the held inputs by name, in order, with any batch dimensions.
        rows: the driven input, (..., rows, n), or None.
        every: steps from record to record.
        hold: steps for which a row of controls acts.
        summaries: kind and function of each summary.

    Attributes:
        shape: of the batch.
        done: which motions are complete, flat.
    """

    def __init__(
        self,
        made: Recurrence,
        start: Sequence[np.ndarray],
        held: Mapping[str, np.ndarray],
        rows: np.ndarray | None,
        steps: int,
        every: int,
        hold: int,
        record: bool,
        summaries: Sequence[tuple[str, Any]],
    ):
        self.made, self.steps, self.every, self.hold = made, steps, every, hold
        self.shape = batch_shape(made, start, held, rows)
        self.count = math.prod(self.shape)
        cores = [len(port.shape) for port in made.held]
        dtype = made.dtype
        check_count(made, dtype, steps)
        self.state = [np.ascontiguousarray(self._flat(x, 1), dtype) for x in start]
        for begin in first_rows(made, summaries):
            self.state.append(np.tile(begin.astype(dtype), (self.count, *[1] * begin.ndim)))
        self.state = [x if x.flags.writeable else x.copy() for x in self.state]
        self.held = [self._small(array, core) for array, core in zip(held.values(), cores)]
        self.driven = [] if rows is None else [self._small(rows, 2)]
        self.kept = [k for k, port in enumerate(made.state) if port.name in RECORDED]
        self.records: list[np.ndarray | None] = [None] * len(made.state)
        if record:
            for k in self.kept:
                kept = np.empty((self.count, 1 + steps // every, *made.state[k].shape), dtype)
                kept[:, 0] = self.state[k]
                self.records[k] = kept
        self.done = np.zeros(self.count, dtype=bool)

    def _flat(self, array: np.ndarray, core: int) -> np.ndarray:
        shape = array.shape[array.ndim - core :]
        return np.broadcast_to(array, (*self.shape, *shape)).reshape(self.count, *shape)

    def _small(self, array: np.ndarray, core: int) -> np.ndarray:
        """One row per motion, or a single one if all share it."""
        shape = array.shape[array.ndim - core :]
        shared = math.prod(array.shape[: array.ndim - core]) == 1
        found = array.reshape(1, *shape) if shared else self._flat(array, core)
        return np.ascontiguousarray(found, self.made.dtype)

    def run(self, threads: int | None, progress: bool | None) -> None:
        """Compute all motions; after Ctrl-C those that are not complete are NaN.

        Args:
            threads: how many to use at most; all cores if None and the batch is large.
            progress: show it; None for on a terminal only.
        """
        cost, width = self.made.cost, self.made.width
        workers = (threads or default_threads()) if self.count * self.steps * cost > 1e6 else 1
        block = max(1, min(-(-self.count // workers), int(THREAD_PIECE_TIME / (cost * self.steps)) + 1))
        block = -(-block // width) * width
        rounds = max(1, int(THREAD_PIECE_TIME / (cost * max(block, width) * self.every))) * self.every
        if self.hold < self.steps:  # rows and records begin anew with every call
            rounds = rounds * self.hold // math.gcd(rounds, self.hold)
        with Progress(self.made.name, progress) as line:
            jobs = [self._piece(a, min(a + block, self.count), rounds, line) for a in range(0, self.count, block)]
            try:
                run_all(jobs, workers)
            except KeyboardInterrupt:
                for array in (*self.state, *self.records):
                    if array is not None:
                        array[~self.done] = np.nan

    def _piece(self, a: int, b: int, rounds: int, line: Progress) -> Callable[[], object]:
        def work() -> None:
            state = [x[a:b] for x in self.state]
            held = [x[a:b] if len(x) > 1 else x for x in self.held]
            for begin in range(0, self.steps, rounds):
                count = min(rounds, self.steps - begin)
                driven = [(x[a:b] if len(x) > 1 else x)[:, begin // self.hold :] for x in self.driven]
                first = 1 + begin // self.every
                records = [None if x is None else x[a:b, first : first + count // self.every] for x in self.records]
                self.made.run(state, held, driven, state, records, count, self.every, self.hold)
            self.done[a:b] = True
            line.update(float(self.done.mean()))

        return work

    def results(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Records of q, v and what contacts did, then the final ones, in the shape of the batch."""
        own = [(self.records[k], self.state[k]) for k in self.kept]
        records = [np.empty((self.count, 0, x.shape[-1])) if r is None else r for r, x in own]
        shaped = [
            [x.reshape(*self.shape, *x.shape[1:]) for x in part] for part in (records, [state for _, state in own])
        ]
        return shaped[0], shaped[1]

    def summary(self) -> list[np.ndarray]:
        """The summaries, in the shape of the batch."""
        if self.made.state[-1].name != "summary":
            return []
        return [column.reshape(self.shape).copy() for column in self.state[-1].T]


class DeviceBatch:
    """One batch of motions, computed on the current device and stream.

    Args:
        system: what moves; remembers the compiled loop.
        made: the same loop for the processor; gives the program.
        kind: library in whose arrays results come.
        start: initial positions (..., nq) and velocities (..., nv).
        held: the held inputs by name, in order, with any batch dimensions.
        rows: the driven input, (..., rows, n), or None.
        every: steps from record to record.
        hold: steps for which a row of controls acts.
        summaries: kind and function of each summary.

    Attributes:
        shape: of the batch.
        done: which motions are complete, flat.
    """

    def __init__(
        self,
        system: Stabiliser,
        made: Recurrence,
        kind: str,
        dtype: np.dtype,
        start: Sequence[Any],
        held: Mapping[str, Any],
        rows: Any,
        steps: int,
        every: int,
        hold: int,
        record: bool,
        summaries: Sequence[tuple[str, Any]],
    ):
        check_count(made, dtype, steps)
        self.kind, self.steps, self.every, self.hold = kind, steps, every, hold
        key = ("cuda", made)
        if key not in system.made:
            system.made[key] = CudaRecurrence(made.name, made.state, made.held, made.driven, lambda: made.program)
        self.made: CudaRecurrence = system.made[key]
        self.shape = batch_shape(made, start, held, rows)
        self.count = math.prod(self.shape)
        cp = self._cupy = arrays.cupy()
        with arrays.device_errors(made.name):
            self.state = [self._flat(x, 1, dtype) for x in start]
            for begin in first_rows(made, summaries):
                self.state.append(cp.tile(cp.asarray(begin, dtype), (self.count, *[1] * begin.ndim)))
            cores = [len(port.shape) for port in made.held]
            self.held = [self._small(array, core, dtype) for array, core in zip(held.values(), cores)]
            self.driven = [] if rows is None else [self._small(rows, 2, dtype)]
            self.kept = [k for k, port in enumerate(made.state) if port.name in RECORDED]
            self.records: list[Any] = [None] * len(made.state)
            if record:
                for k in self.kept:
                    self.records[k] = cp.empty((1 + steps // every, made.state[k].size, self.count), dtype)
        self.done = np.zeros(self.count, dtype=bool)

    def _flat(self, array: Any, core: int, dtype: np.dtype) -> Any:
        """One row per motion, in memory that is ours to change."""
        cp = self._cupy
        shape = array.shape[array.ndim - core :]
        wide = cp.broadcast_to(cp.asarray(array), (*self.shape, *shape)).reshape(self.count, *shape)
        return cp.array(wide, dtype, order="C")  # else it keeps the order of what is given, or is broadcast

    def _small(self, array: Any, core: int, dtype: np.dtype) -> Any:
        """One row per motion, or a single one if all share it."""
        cp = self._cupy
        array = cp.asarray(array)
        own, shape = array.shape[: array.ndim - core], array.shape[array.ndim - core :]
        if math.prod(own) == 1:
            return cp.ascontiguousarray(array.reshape(1, *shape), dtype)
        if own == self.shape:
            return cp.ascontiguousarray(array.reshape(self.count, *shape), dtype)
        return self._flat(array, core, dtype)

    def run(self, threads: int | None, progress: bool | None) -> None:
        """Compute all motions.

        Args:
            threads: must be None: the device decides.
            progress: not shown; a device is asked for all at once.
        """
        if threads is not None:
            raise ArgumentError(f"threads = {threads} is for the processor; a CUDA device uses all it has")
        with arrays.device_errors(self.made.name):
            self.made.run(
                self.state, self.held, self.driven, self.state, self.records, self.steps, self.every, self.hold
            )
        self.done[:] = True

    def _given_back(self, array: Any) -> Any:
        with arrays.device_errors(self.made.name):
            return arrays.give(array, self.kind)

    def results(self) -> tuple[list[Any], list[Any]]:
        """Records of q, v and what contacts did, then the final ones, in the shape of the batch and the kind of the
        caller's arrays.

        Records lie in memory with the motions side by side, as they were written; the array is a view of that.
        """
        records = []
        for k in self.kept:
            kept, x = self.records[k], self.state[k]
            if kept is None:
                records.append(self._cupy.empty((*self.shape, 0, x.shape[-1]), x.dtype))
            else:
                records.append(self._cupy.moveaxis(kept, -1, 0).reshape(*self.shape, *kept.shape[:2]))
        final = [self.state[k].reshape(*self.shape, self.state[k].shape[-1]) for k in self.kept]
        return [self._given_back(x) for x in records], [self._given_back(x) for x in final]

    def summary(self) -> list[Any]:
        """The summaries, in the shape of the batch."""
        if self.made.state[-1].name != "summary":
            return []
        kept = self.state[-1]
        return [self._given_back(kept[:, k].reshape(self.shape).copy()) for k in range(kept.shape[1])]


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

    def kernel(self, system: Stabiliser, quantity: str) -> Any:
        """The kernel of a quantity of what moves, for arrays that are here."""

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Any:
        """The batch that computes; the arguments are those of :class:`Batch`."""


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

    def kernel(self, system: Stabiliser, quantity: str) -> Any:
        return system.dynamics.kernel(quantity)

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Batch:
        return Batch(made, *rest)


class Device:
    """A CUDA device: arrays of any library that are there are used there, all others are copied to it.

    Args:
        given: everything numeric that the user gave; decides in which kind of array and which precision results are.
    """

    def __init__(self, given: Sequence[Any]):
        self._cupy = arrays.cupy()
        with arrays.device_errors("rollout"):
            self._cupy.cuda.runtime.getDeviceCount()  # says if there is none
        known = [x for x in _leaves(given) if hasattr(x, "dtype") and not has_names(x)]
        self.kind = arrays.library(tuple(known))
        self.given = tuple(known)
        single = bool(known) and all(str(x.dtype).rpartition(".")[2] == "float32" for x in known)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @contextmanager
    def working(self) -> Iterator[None]:
        """On the device of the caller's arrays and the stream of the caller's library."""
        with arrays.device_errors("rollout"), arrays.stream(self.kind, self.given):
            yield

    def _foreign(self, given: Any) -> bool:
        """Whether it is an array of a library other than NumPy."""
        return hasattr(given, "dtype") and not isinstance(given, (np.ndarray, np.generic)) and not has_names(given)

    def moving(self, moving: Moving | Stabiliser) -> Moving | Stabiliser:
        moving = movable(moving)
        if isinstance(moving, KernelTable) and moving.device == "cuda":
            return moving.remembered(_on_processor)
        return moving

    def array(self, given: Any, name: str) -> Any:
        found = arrays.take(given, name)
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
            if worst > UNIT_LENGTH_SLACK:
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
            return self._cupy.asnumpy(arrays.take(array, "array"))
        return array

    def kernel(self, system: Stabiliser, quantity: str) -> Any:
        key = ("cuda", quantity)
        if key not in system.made:
            system.made[key] = system.dynamics.replace(device="cuda").kernel(quantity)
        return system.made[key]

    def batch(self, system: Stabiliser, made: Recurrence, *rest: Any) -> Any:
        dtype = self.dtype if system.dynamics.dtype is None else np.dtype(system.dynamics.dtype)
        return DeviceBatch(system, made, self.kind, dtype, *rest)


@cache
def _all_finite() -> Any:
    """One pass over an array, without another of its size in between."""
    return arrays.cupy().ReductionKernel("T x", "bool y", "isfinite(x)", "a && b", "y = a", "true", "all_finite")


def _on_processor(moving: KernelTable) -> KernelTable:
    """The same dynamics, whose programs are traced into a step."""
    return moving.replace(device="cpu")


def _leaves(given: Sequence[Any]) -> Iterator[Any]:
    for x in given:
        yield from _leaves(list(x.values())) if isinstance(x, Mapping) else [x]


def space_of(device: str | None, moving: Moving | Stabiliser, given: Sequence[Any]) -> Space:
    """The space that a user asks for.

    Args:
        device: ``"cpu"`` or ``"cuda"``; None for that of the dynamics, or the processor.
        given: everything numeric that the user gave.
    """
    if device is not None:
        expect_choice(device, ("cpu", "cuda"), "rollout, device")
    own = moving.device if isinstance(moving, KernelTable) else None
    return Host() if (device or own or "cpu") == "cpu" else Device(given)

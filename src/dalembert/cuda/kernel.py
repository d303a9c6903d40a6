"""A program on a CUDA device, called with arrays of any library."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dalembert.cuda import arrays, tensors
from dalembert.cuda.arrays import Lent
from dalembert.cuda.launch import REALS, Launch, shared_memory
from dalembert.cuda.source import CudaSource, to_cuda
from dalembert.cuda.stages import Stage, StagedLaunch
from dalembert.cuda.tuning import REGISTER_VALUES
from dalembert.cuda.warps import Parts
from dalembert.errors import ArgumentError
from dalembert.installation import code_digest, is_as_imported
from dalembert.native.arguments import Arguments
from dalembert.native.cache import default_cache, digest
from dalembert.native.composition import composed, holds_traced
from dalembert.native.deferred import Deferred
from dalembert.printing.c_family import Real
from dalembert.tracing.program import Port, Program

BINDS = (
    "bind takes C-contiguous CuPy arrays of one precision on the current device. The first has one batch dimension, "
    "whose length is not 0; each of the others has the same one or none. out shares no memory with the others"
)


class CudaKernel:
    """A compiled function of arrays on the device, one thread per state.

    Inputs may have any batch dimensions before those of the port; they are broadcast against each other. The result
    comes back in the kind of the inputs - CuPy, PyTorch, JAX, NumPy - on the caller's current stream. Inputs that are
    all float32 are computed in float32, all others in float64.

    Args:
        inputs: the input arrays, in calling order.
        outputs: the output arrays, in order.
        program: what to compute, or a function that gives it, called only when it is needed.
        dtype: float64 or float32 to compute in one precision always.
        parts: which parts of the system the elements of inputs and outputs belong to, if it has parts.
        stages: a function that gives programs which compute the same one after the other, if there are such; they are
            taken if there are more results than a thread has registers.
        key: a name that changes whenever the program would, as for :class:`~dalembert.native.kernel.Kernel`.
    """

    def __init__(
        self,
        name: str,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        program: Program | Callable[[], Program],
        dtype: Any = None,
        doc: str = "",
        parts: Parts | None = None,
        stages: Callable[[], Sequence[Stage]] | None = None,
        key: str | None = None,
    ):
        self.name, self.inputs, self.outputs, self.doc = name, tuple(inputs), tuple(outputs), doc
        self.key = key
        self.arguments = Arguments(name, self.inputs, self.outputs)
        self.dtype = None if dtype is None else np.dtype(dtype)
        if self.dtype is not None and self.dtype not in REALS:
            raise ArgumentError(f"kernel {name}: dtype is {self.dtype}; it must be float64 or float32")
        self._program = Deferred(f"kernel {name}", program)
        self._parts, self.stages = parts, stages
        self._compiled: dict[tuple[int, np.dtype], Launch | StagedLaunch] = {}
        self._lock = threading.RLock()
        self._cores = [port.shape for port in self.inputs]
        self._cupy: Any = None  # set when the first code is compiled
        self._lent: dict[tuple[int, np.dtype], dict[str, Lent]] = {}
        self.warned = False  # that calls take longer than they need
        self.result: Callable[..., Any] | None = None
        """Makes one object of several results, by position: a class of named tuples."""

    def set_defaults(self, values: Mapping[str, Any]) -> None:
        """Values that inputs have where a call leaves them out.

        Args:
            values: by input; names of other inputs are passed over.
        """
        self.arguments.set_defaults(values)
        self._lent.clear()

    @property
    def program(self) -> Program:
        """What the kernel computes."""
        return self._program.get()

    def source(self, dtype: Any = np.float64) -> CudaSource:
        """The CUDA source for one precision, as one kernel."""
        return to_cuda(self.program, REALS[np.dtype(dtype)], parts=self._parts)

    def _get(self, device: int, dtype: np.dtype) -> Launch | StagedLaunch:
        """What is launched on a device, which must be the current one."""
        with self._lock:
            if (device, dtype) not in self._compiled:
                self._compiled[device, dtype] = self._compile(device, REALS[dtype])
                self._cupy = arrays.cupy()
                self.lent(device, dtype)
            return self._compiled[device, dtype]

    def lent(self, device: int, dtype: np.dtype) -> dict[str, Lent]:
        """Values of inputs that may be left out, by name, on a device, which must be the current one.

        They are brought there once, when code is compiled: a call that is captured in a graph cannot do it.
        """
        found = self._lent.get((device, dtype))
        if found is None:
            cp, given = arrays.cupy(), self.arguments.defaults
            found = {name: Lent(cp.asarray(value, dtype=dtype)) for name, value in given.items()}
            if found:
                cp.cuda.get_current_stream().synchronize()  # calls may be on other streams
            self._lent[device, dtype] = found
        return found

    def _compile(self, device: int, real: Real) -> Launch | StagedLaunch:
        if self.stages is not None and sum(port.size for port in self.outputs) > REGISTER_VALUES[real]:
            return StagedLaunch(self.name, self.inputs, self.outputs, self.stages(), real, device)
        return Launch(self.name, self._kept_source(real, shared_memory(device)), device)

    def _kept_source(self, real: Real, room: int) -> CudaSource:
        """The source for a device; with a key it is kept on disk, and found there without making the program.

        Args:
            room: bytes of shared memory that a block can have.
        """
        if self.key is None:
            return to_cuda(self.program, real, parts=self._parts, room=room)
        store, entry = default_cache(), digest("CUDA source", self.key, real, room, self._parts, code_digest())
        found = store.get(entry)
        if found is not None:
            return CudaSource(**json.loads(found))
        source = to_cuda(self.program, real, parts=self._parts, room=room)
        if is_as_imported():  # else the code that made it is not the one that names it
            store.put(entry, json.dumps(dataclasses.asdict(source)).encode())
        return source

    def __call__(self, *inputs: Any, out: Any = None, **named: Any) -> Any:
        """Evaluate.

        Args:
            inputs: the input arrays; any of them may be given by name instead.
            out: the array to write to, or a tuple of them; C-contiguous arrays on the device, which may share memory
                with inputs. Made if None.
            named: inputs by name.
        """
        try:
            found = None if named else self._quick(inputs, out)
            if found is None:
                found = tensors.quick(self, inputs, out, named)
            return self._named(self._slow(inputs, out, named) if found is None else found)
        except Exception as error:
            found = arrays.device_error(self.name, error)
            if found is None:
                raise
            raise found from error

    def _named(self, found: Any) -> Any:
        return self.result(*found) if self.result is not None and isinstance(found, tuple) else found

    def launch(
        self,
        dtype: Any,
        pointers: Sequence[int],
        shared: int,
        count: int,
        lend: Callable[[tuple[int, ...]], Any] | None = None,
    ) -> None:
        """Launch on memory of the current device, on CuPy's current stream; nothing is checked.

        Args:
            pointers: addresses of the inputs, then of the outputs.
            shared: bit k says that input k has one value for all states.
            count: number of states.
            lend: makes a tensor of a shape, for what kernels pass to each other; CuPy makes arrays if None. A
                library that records a CUDA graph must know of all memory that the graph uses.
        """
        if count:
            device, dtype = arrays.cupy().cuda.runtime.getDevice(), np.dtype(dtype)
            ready = self._get(device, dtype)
            if lend is None:
                ready(pointers, shared, count, _scratch(ready, count, dtype))
            else:
                lent = [lend((count, *shape)) for shape in ready.between]
                ready(pointers, shared, count, [x.data_ptr() for x in lent])

    def _slow(self, inputs: tuple[Any, ...], out: Any, named: dict[str, Any]) -> Any:
        """The general case: everything is checked, and converted where needed."""
        given, _ = self.arguments.positional(inputs, named)
        if any(map(holds_traced, given)):
            return composed(self, given, {"out": out})
        given = self.arguments.spelt_out(given)
        self.arguments.refuse_masked(given)
        kind = arrays.library(given)
        if kind == "torch":
            arrays.warn_once(self, "computed by CuPy, with memory of its own: it cannot be captured in a CUDA graph")
        batches = (isinstance(x, np.ndarray) and x.ndim > len(port.shape) for x, port in zip(given, self.inputs))
        if kind == "numpy" or any(batches):
            arrays.warn_copy(self.name)
        cp = arrays.cupy()
        with arrays.stream(kind, given):
            taken = [arrays.take(x, port.name) for x, port in zip(given, self.inputs)]
            for x, port in zip(taken, self.inputs):
                _same_device(self.name, port.name, x, self.inputs[0].name, taken[0])
            with taken[0].device:
                results = self._run(cp, taken, out, [type(x) in (int, float) for x in given])
                if out is not None:
                    return out
                given_back = tuple(arrays.give(y, kind) for y in results)
        return given_back[0] if len(given_back) == 1 else given_back

    def bind(self, *inputs: Any, out: Any = None, **named: Any) -> BoundCudaKernel:
        """A function without arguments that evaluates on these very arrays, launched as a CUDA graph.

        For small batches, where the call costs more than the work.

        Args:
            inputs: CuPy arrays, C-contiguous, of one precision, with one batch dimension or none.
            out: the array to write, or a tuple of them; made if None. It shares no memory with inputs.
            named: inputs by name.
        """
        cp = arrays.cupy()
        given = next((x for x in (*inputs, *named.values()) if type(x) is cp.ndarray), None)
        lent = {} if given is None else self.lent(given.data.device_id, given.dtype)
        inputs, _ = self.arguments.positional(inputs, named, defaults={name: x.array for name, x in lent.items()})
        if any(type(x) is not cp.ndarray for x in inputs):
            raise ArgumentError(f"{self.name}: {BINDS}")
        if out is None:
            made = self(*inputs)
            out = made if len(self.outputs) > 1 else (made,)
        wanted = out if isinstance(out, tuple) else (out,)
        self(*inputs, out=wanted)  # compiles, and says what does not fit
        if self._quick(inputs, wanted) is None:
            raise ArgumentError(f"{self.name}: {BINDS}")
        first = inputs[0]
        scratch = _scratch(self._get(first.device.id, first.dtype), len(first), first.dtype)
        stream = cp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            self._quick(inputs, wanted, scratch)
            graph = stream.end_capture()
        return BoundCudaKernel(graph, inputs, wanted, scratch)

    def _quick(self, inputs: tuple[Any, ...], out: Any, scratch: Any = None) -> Any:
        """The common case with the least overhead: CuPy arrays, contiguous, of one precision, one batch dimension.

        None if this is not such a case; everything is then checked and converted first.

        Args:
            out: the arrays to write to, or None.
            scratch: arrays that the launch needs besides; made if None.
        """
        cp = self._cupy
        lacking = len(self.inputs) - len(inputs)
        if cp is None or not 0 <= lacking < len(self.inputs):
            return None
        first = inputs[0]
        if type(first) is not cp.ndarray:
            return None
        array, dtype, batch = cp.ndarray, first.dtype, first.shape[0] if first.ndim else 0
        device = first.data.device_id
        ready = self._compiled.get((device, dtype))
        if ready is None or batch == 0 or device != cp.cuda.runtime.getDevice():
            return None
        if lacking:
            known = self.lent(device, dtype)
            names = [port.name for port in self.inputs[-lacking:]]
            if not all(name in known for name in names):
                return None
            inputs = (*inputs, *(known[name].array for name in names))
        shared = 0
        for k, (x, shape) in enumerate(zip(inputs, self._cores)):
            if type(x) is not array or x.dtype != dtype or not x._c_contiguous:
                return None
            if x.shape == shape:
                shared |= 1 << k  # the same for all states: passed once
            elif x.shape != (batch, *shape):
                return None
            if x.data.device_id != device:
                return None
        if shared & 1:  # then the batch is that of another input, or there is none
            return None
        if out is None:
            results = [cp.empty((batch, *port.shape), dtype=dtype) for port in self.outputs]
        else:
            results = list(out) if isinstance(out, tuple) else [out]
            if len(results) != len(self.outputs):
                return None
            for y, port in zip(results, self.outputs):
                if type(y) is not array or y.dtype != dtype or y.shape != (batch, *port.shape) or not y._c_contiguous:
                    return None
                if y.data.device_id != device:
                    return None
            if arrays.overlap(inputs, results):
                return None
        if scratch is None:
            scratch = _scratch(ready, batch, dtype) if ready.between else ()
        ready([*inputs, *results], shared, batch, scratch)
        if out is not None:
            return out
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, cp: Any, taken: list[Any], out: Any, plain: Sequence[bool]) -> list[Any]:
        """Compute.

        Args:
            plain: which of the inputs were Python's own numbers, which do not decide about the precision.
        """
        short = all(x.dtype == np.float32 for x, number in zip(taken, plain) if not number) and not all(plain)
        dtype = self.dtype or np.dtype(np.float32 if short else np.float64)
        if any(x.dtype != dtype and not number for x, number in zip(taken, plain)):
            arrays.warn_once(self, f"computed with inputs that every call converts to {dtype}")
        batches, batch = _batch_shapes(self.name, self.inputs, taken)
        flags, ready = 0, []
        for k, (x, own) in enumerate(zip(taken, batches)):
            if own != batch and all(d == 1 for d in own):
                flags |= 1 << k  # the same for all states: passed once
            elif own != batch:
                x = cp.broadcast_to(x, (*batch, *self.inputs[k].shape))
            ready.append(cp.ascontiguousarray(x, dtype=dtype))
        if out is None:
            results = [cp.empty((*batch, *port.shape), dtype=dtype) for port in self.outputs]
        else:
            results = _to_write(self.name, self.outputs, out, batch, dtype)
            for k, y in enumerate(results):
                _same_device(self.name, f"out[{k}]", y, self.inputs[0].name, taken[0])
        wanted = results
        if out is not None and arrays.overlap(ready, results):
            results = [cp.empty_like(y) for y in results]
        count = int(np.prod(batch, dtype=np.int64))
        if count:
            launch = self._get(ready[0].device.id, dtype)
            launch([*ready, *results], flags, count, _scratch(launch, count, dtype))
        if results is not wanted:
            for y, z in zip(wanted, results):
                cp.copyto(y, z)
        return wanted

    def __reduce__(self) -> tuple[Any, ...]:
        stages = None if self.stages is None else partial(tuple, self.stages())
        made = self.name, self.inputs, self.outputs, self.program, self.dtype, self.doc, self._parts, stages, self.key
        return CudaKernel, made, (self.arguments.hints, self.arguments.defaults, self.arguments.by_name, self.result)

    def __setstate__(self, state: tuple[dict[str, str], dict[str, Any], Any, Any]) -> None:
        self.arguments.hints.update(state[0])
        self.set_defaults(state[1])
        self.arguments.by_name, self.result = state[2:]

    def __repr__(self) -> str:
        ports = ", ".join(f"{p.name}{list(p.shape)}" for p in self.inputs)
        result = ", ".join(f"{p.name}{list(p.shape)}" for p in self.outputs)
        return f"<CudaKernel {self.name}({ports}) -> {result}>"


def _scratch(launch: Launch | StagedLaunch, count: int, dtype: np.dtype) -> list[Any]:
    """Memory for what kernels pass to each other, on the current device and stream."""
    return [arrays.cupy().empty((count, *shape), dtype=dtype) for shape in launch.between]


# ---------------------------------------------------------------------------------------------------------------- bound


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


# --------------------------------------------------------------------------------------------------------------- checks


def _batch_shapes(
    kernel: str, ports: tuple[Port, ...], given: Sequence[Any]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The batch dimensions of each array, and of all of them together; an error if these do not fit."""
    batches = []
    for x, port in zip(given, ports):
        core = len(port.shape)
        if x.ndim < core or x.shape[x.ndim - core :] != port.shape:
            raise ArgumentError(
                f"{kernel}: {port.name} has shape {x.shape}; expected (..., {', '.join(map(str, port.shape))})"
            )
        batches.append(x.shape[: x.ndim - core])
    try:
        return batches, np.broadcast_shapes(*batches)
    except ValueError as error:
        shapes = ", ".join(f"{p.name} {b}" for p, b in zip(ports, batches))
        raise ArgumentError(f"{kernel}: batch shapes do not fit together: {shapes}") from error


def _to_write(kernel: str, ports: tuple[Port, ...], out: Any, batch: tuple[int, ...], dtype: np.dtype) -> list[Any]:
    """The arrays as CuPy's, in the memory of the caller; an error if they cannot take the results.

    Args:
        out: an array, or a tuple of them.
    """
    wanted = out if isinstance(out, tuple) else (out,)
    if len(wanted) != len(ports):
        raise ArgumentError(f"{kernel}: out has {len(wanted)} arrays; it needs {len(ports)}")
    for k, x in enumerate(wanted):
        if arrays.library((x,)) in ("numpy", "jax"):
            raise ArgumentError(
                f"{kernel}: out[{k}] is a {type(x).__name__}; it must be an array on the device that can be changed: "
                "CuPy's or PyTorch's"
            )
    results = [arrays.take(x, f"out[{k}]") for k, x in enumerate(wanted)]
    for k, (y, port) in enumerate(zip(results, ports)):
        shape = (*batch, *port.shape)
        if y.shape != shape or y.dtype != dtype or not y.flags.c_contiguous:
            raise ArgumentError(
                f"{kernel}: out[{k}] must be a C-contiguous {dtype} array of shape {shape}, got {y.dtype} {y.shape}"
                f"{'' if y.flags.c_contiguous else ', which is not contiguous'}"
            )
        if arrays.overlap(results[:k], [y]):
            raise ArgumentError(f"{kernel}: out[{k}] shares memory with another array of out")
    return results


def _same_device(kernel: str, name: str, x: Any, first: str, other: Any) -> None:
    """An error if two arrays are on different devices.

    Args:
        first: name of the array that it is compared with.
        other: the array that it is compared with.
    """
    if x.device.id != other.device.id:
        raise ArgumentError(f"{kernel}: {name} is on CUDA device {x.device.id}, {first} on device {other.device.id}")

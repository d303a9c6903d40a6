"""A kernel: a program compiled on first use, called like a NumPy ufunc.

On Dask arrays a kernel makes one call per block of states, when the result is asked for.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy import ndarray

from dalembert.errors import ArgumentError
from dalembert.native.arguments import DOUBLE, SINGLE, Arguments, overlap, precision
from dalembert.native.calls import BoundKernel, bind, quick_call
from dalembert.native.composition import composed, holds_traced
from dalembert.native.deferred import Deferred, compiling
from dalembert.native.llvm.engine import Loaded, assembly
from dalembert.native.llvm.module import module_text
from dalembert.native.llvm.target import Target
from dalembert.native.load import load_program
from dalembert.native.threads import default_threads, spread
from dalembert.native.ufunc import STREAMED, THROUGH, Loop, make_ufunc, signature
from dalembert.tracing.program import Port, Program

STREAMED_BYTES = 16 << 20
"""Bytes of an output array from which on it is written past the caches, if it takes most of the time to write it."""

WIDE_STATE_BYTES = 128
"""Bytes of one state's output from which on writing takes most of the time."""

UFUNC_OPTIONS = frozenset({"axes", "axis", "casting", "dtype", "keepdims", "order", "signature", "subok"})
"""What NumPy's ufuncs with a core signature take besides ``out``."""

_PLAIN = frozenset((int, float, np.float64))
"""Types of numbers that are made arrays of in no time."""


class Kernel:
    """A compiled function of arrays, for one state or any number of them at once.

    It behaves like a NumPy ufunc with a core signature: inputs may have any batch dimensions before those of the port,
    which are broadcast against each other; numbers are cast to float64 or float32; ``out`` gives the arrays to write
    to. Compilation happens on the first call and is remembered on disk. NaN in a state reaches every
    result that depends on it, and leaves all other states alone. Kernels can be pickled and shared between threads.

    Args:
        name: an identifier.
        inputs: the input arrays, in calling order.
        outputs: the output arrays, in order.
        program: what to compute, or a function that gives it, called only when it is needed.
        key: a name that changes whenever the program would, as long as dalembert's source stays the same. With it,
            code is found in the disk cache without making the program.
        dtype: float64 or float32 to compute in one precision always; by default float32 inputs are computed in
            float32 and all others in float64.
        doc: documentation.
        target: the processor to compile for; this one by default.
    """

    def __init__(
        self,
        name: str,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        program: Program | Callable[[], Program],
        key: str | None = None,
        dtype: Any = None,
        doc: str = "",
        target: Target | None = None,
    ):
        self.name, self.inputs, self.outputs, self.key = name, tuple(inputs), tuple(outputs), key
        self.dtype = precision(f"kernel {name}", dtype)
        self.doc = doc
        if doc:
            self.__doc__ = doc
        self.__name__ = name  # as ufuncs and functions have; Dask asks for it
        self.arguments = Arguments(name, self.inputs, self.outputs)
        self._check()
        self._target, self._program = target, Deferred(f"kernel {name}", program, self._check_program)
        self._compiled: Compiled | None = None
        self._quick: Callable[..., Any] = self._first
        self._tail: tuple[Any, ...] = ()
        self.result: Callable[..., Any] | None = None
        """Makes one object of several results, by position: a class of named tuples."""

    def set_defaults(self, values: Mapping[str, Any]) -> None:
        """Values that inputs have where a call leaves them out; those at the end cost nothing.

        Args:
            values: by input, arrays of float64; names of other inputs are passed over.
        """
        self.arguments.set_defaults(values)
        self._tail = self.arguments.tail

    def _check(self) -> None:
        if not self.inputs or not self.outputs:
            raise ArgumentError(f"kernel {self.name} needs at least one input and one output")
        names = [port.name for port in self.inputs]
        if len(set(names)) < len(names):
            raise ArgumentError(f"kernel {self.name} has two inputs of the same name among {', '.join(names)}")

    def _check_program(self, program: Program) -> None:
        if (program.inputs, program.outputs) != (self.inputs, self.outputs):
            raise ArgumentError(f"kernel {self.name} and its program {program.name} differ in inputs or outputs")

    @property
    def program(self) -> Program:
        """What the kernel computes."""
        return self._program.get()

    @property
    def signature(self) -> str:
        """NumPy's core signature, such as ``(7),(7),(7)->(7)``."""
        return signature(self.inputs, self.outputs)

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a plain ``numpy.ufunc``, which runs in the calling thread; compiled for all its precisions."""
        return self.compiled.ufunc(None)

    @property
    def target(self) -> Target:
        """The processor the kernel is compiled for."""
        return self._target or Target.host()

    @property
    def ir(self) -> str:
        """The kernel in LLVM's language, to look at: in float64, unless it computes in float32 always."""
        return module_text(self.program, self.dtype or DOUBLE, self.target)

    @property
    def assembly(self) -> str:
        """The kernel in the processor's language, to look at: in float64, unless it computes in float32 always."""
        return assembly(self.ir, self.target)

    @property
    def compiled(self) -> Compiled:
        """The machine code; compiles on first use."""
        if self._compiled is None:
            with compiling():
                if self._compiled is None:
                    dtypes = (SINGLE, DOUBLE) if self.dtype is None else (self.dtype,)
                    self._compiled = Compiled(
                        self.name,
                        self.doc or repr(self),
                        self.inputs,
                        self.outputs,
                        self._program.get,
                        self.key,
                        dtypes,
                        self.target,
                    )
        return self._compiled

    def _without_numbers(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Python's own numbers as arrays, so that they can take the quick call."""
        dtype = self.dtype or DOUBLE
        try:
            return tuple(np.array(x, dtype) if type(x) in _PLAIN else x for x in inputs)
        except OverflowError:  # an integer beyond all floating-point numbers
            return inputs

    def _result_type(self, inputs: Sequence[Any]) -> np.dtype:
        """Precision of the results, from arrays that are not looked into."""
        return self.dtype or _precision(inputs, [x if hasattr(x, "dtype") else np.asarray(x) for x in inputs])

    def _first(self, *inputs: Any) -> Any:
        """Stands for the quick call until the kernel is compiled."""
        if any(map(holds_traced, inputs)):  # for which nothing is compiled
            return NotImplemented
        self._quick = self.compiled.quick or (lambda *inputs: NotImplemented)
        return self._quick(*inputs)

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None, **options: Any) -> Any:
        """Evaluate.

        Args:
            inputs: the input arrays; any of them may be given by name instead.
            out: the array to write to, or a tuple with an array or None for each output; made if None.
            threads: how many threads to use at most; by default all cores for large batches.
            options: inputs by name, and options of NumPy's ufuncs (``dtype``, ``casting``, ``order``, ``axes``, ...).

        Returns:
            An array of the batch shape followed by the shape of the output; a tuple of them if there are several, whose
            entries have names where those who made the kernel gave it some.
        """
        if out is None and threads is None and not options:
            # One state of plain arrays takes 0.6 us with this frame, so it comes first.
            lacking = len(self.inputs) - len(inputs)
            if 0 < lacking <= len(self._tail):
                result = self._quick(*inputs, *self._tail[-lacking:])
            else:
                result = self._quick(*inputs)
            if result is NotImplemented and not _PLAIN.isdisjoint(map(type, inputs)):
                result = self._quick(*self._without_numbers(inputs))
            if result is not NotImplemented:
                return result if self.result is None else self.result(*result)
        found = self._general(inputs, out, threads, options)
        return self.result(*found) if self.result is not None and isinstance(found, tuple) else found

    def _general(self, inputs: tuple[Any, ...], out: Any, threads: int | None, options: dict[str, Any]) -> Any:
        """Any call: plain arrays go to the ufunc, Dask's to blocks, those of other libraries wherever these say."""
        if options or len(inputs) != len(self.inputs):
            inputs, options = self.arguments.positional(inputs, options, UFUNC_OPTIONS)
        if any(map(holds_traced, inputs)):
            return composed(self, inputs, {"out": out, "threads": threads, **options})
        inputs = self.arguments.spelt_out(inputs)
        if threads is not None and (not isinstance(threads, Integral) or isinstance(threads, bool) or threads < 1):
            raise ArgumentError(f"{self.name}: threads = {threads!r}; it must be a whole number of at least 1")
        if isinstance(out, tuple) and len(out) > 1:
            self.arguments.refuse_shared_outputs(out)
        if not options and self._needs_no_checks(inputs, out, threads) and (out is None or self._is_apart(inputs, out)):
            ufunc = (self._compiled or self.compiled).ufunc(DOUBLE)
            try:
                return ufunc(*inputs) if out is None else ufunc(*inputs, out=out)
            except (TypeError, ValueError):  # find out what is wrong
                return self._checked(inputs, self.arguments.outputs_given(out), threads, options)
        self.arguments.refuse_masked(inputs)
        if any(map(_is_dask, inputs)):
            given = {**options, "out": out, "threads": threads}
            return _on_blocks(
                self, inputs, self._result_type(inputs), {k: v for k, v in given.items() if v is not None}
            )
        foreign = any(_is_foreign(x) for x in inputs)
        if foreign or not options.keys() <= {"casting", "dtype"}:
            if out is not None:
                options["out"] = out
            try:
                return self.compiled.ufunc(None)(*inputs, **options)
            except (TypeError, ValueError) as error:
                if foreign:  # its own error
                    raise
                raise ArgumentError(f"{self.name}: {error}") from error
        return self._checked(inputs, self.arguments.outputs_given(out), threads, options)

    def _needs_no_checks(self, inputs: tuple[Any, ...], out: Any, threads: int | None) -> bool:
        """Whether all inputs are plain arrays of doubles, so few that one thread suffices: NumPy can do the rest."""
        if self.dtype is SINGLE or self.arguments.has_empty:
            return False
        few = sys.maxsize if threads == 1 and not self._streams(out) else (self._compiled or self.compiled).few
        for x in inputs:  # noqa: SIM110 - a generator would cost as much as all the rest
            if type(x) is not ndarray or x.dtype is not DOUBLE or x.size > few:
                return False
        return True

    def _is_apart(self, inputs: tuple[Any, ...], out: Any) -> bool:
        """Whether no output shares memory with an input of another core rank, which NumPy takes for the same states."""
        return not any(
            len(port.shape) != len(written.shape) and isinstance(y, ndarray) and np.may_share_memory(x, y)
            for written, y in zip(self.outputs, out if isinstance(out, tuple) else (out,))
            for port, x in zip(self.inputs, inputs)
        )

    def _spoils(self, port: Port, x: np.ndarray, written: Port, y: np.ndarray) -> bool:
        return overlap(x, y, len(port.shape) == len(written.shape) and not self.compiled.direct)

    def bind(self, *inputs: Any, out: Any = None, **named: Any) -> BoundKernel:
        """A function without arguments that evaluates on these very arrays whenever it is called.

        Args:
            inputs: the arrays to read, of the kernel's precision.
            out: the array to write, or a tuple with an array or None for each output; made if None.
            named: inputs by name.
        """
        inputs, _ = self.arguments.positional(inputs, named)
        return bind(self, inputs, self.arguments.outputs_given(out))

    def _checked(
        self, inputs: tuple[Any, ...], out: tuple[Any, ...], threads: int | None, options: dict[str, Any]
    ) -> Any:
        """Check shapes; choose precision, number of threads and the way of writing; call."""
        arrays = self.arguments.arrays(inputs)
        batch = self.arguments.batch(arrays, out)
        if self.dtype is not None:
            options = {"dtype": self.dtype, "casting": "same_kind", **options}
        if "dtype" in options:
            dtype = precision(self.name, options["dtype"]) or DOUBLE
        else:
            dtype = _precision(inputs, arrays)
            self.arguments.refuse_longer_numbers(arrays)
        arrays = [x.astype(dtype) if type(given) in (int, float) else x for given, x in zip(inputs, arrays)]
        results = tuple(
            np.empty((*batch, *port.shape), dtype) if given is None else given for port, given in zip(self.outputs, out)
        )
        ufunc = self.compiled.ufunc(dtype if dtype in self.compiled.dtypes else None, self._streams(out))
        workers = (threads or default_threads()) if math.prod(batch) > self.compiled.few else 1
        arrays = [
            x.copy() if any(map(partial(self._spoils, port, x), self.outputs, results)) else x
            for port, x in zip(self.inputs, arrays)
        ]
        try:
            if workers == 1:
                ufunc(*arrays, out=results, **options)
            else:
                whole = [np.broadcast_to(x, (*batch, *port.shape)) for x, port in zip(arrays, self.inputs)]
                spread(partial(ufunc, **options), whole, results, batch, workers, self.compiled.few + 1)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{self.name}: {error}") from error
        answers = tuple(y[()] if y.ndim == 0 and given is None else y for y, given in zip(results, out))
        return answers[0] if len(answers) == 1 else answers

    def _streams(self, out: Any) -> bool:
        """Whether outputs are to be written past the caches: large and wide ones, if they are given.

        Fresh memory is better written through the caches, because the system has just cleared it there.
        """
        return out is not None and any(
            isinstance(given, ndarray)
            and given.nbytes >= STREAMED_BYTES
            and port.size * given.itemsize >= WIDE_STATE_BYTES
            for port, given in zip(self.outputs, out if isinstance(out, tuple) else (out,))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        made = self.name, self.inputs, self.outputs, self.program, self.key, self.dtype, self.doc, self._target
        return Kernel, made, (self.arguments.hints, self.arguments.defaults, self.arguments.by_name, self.result)

    @property
    def digest(self) -> str:
        """What it computes: a name that is the same in every process."""
        return f"{self.key or self.program.digest} {self.dtype} {self.arguments.defaults}"

    def __setstate__(self, state: tuple[dict[str, str], dict[str, Any], Any, Any]) -> None:
        self.arguments.hints.update(state[0])
        self.set_defaults(state[1])
        self.arguments.by_name, self.result = state[2:]

    def __copy__(self) -> Kernel:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "dalembert kernel", self.key or self.program.digest, self.dtype, self._target

    def __repr__(self) -> str:
        sides = [
            ", ".join(f"{p.name}{list(p.shape) if p.shape else ''}" for p in s) for s in (self.inputs, self.outputs)
        ]
        return f"<kernel {self.name}({sides[0]}) -> {sides[1]}>"


def traced_kernel(
    name: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    compute: Callable[[dict[str, Any]], Any],
    key: str | None = None,
    dtype: Any = None,
    doc: str = "",
) -> Kernel:
    """The kernel of a function of traced inputs, traced when it is first needed.

    Args:
        inputs: the input arrays, in calling order.
        outputs: the output arrays, in order.
        compute: a function of traced inputs by name that gives the output, or a tuple of them; made of programs that
            are optimised already.
        key: as for :class:`Kernel`.
        dtype: as for :class:`Kernel`.
    """

    def program() -> Program:
        from dalembert.tracing.passes import rebuild
        from dalembert.tracing.trace import trace

        def traced(*arrays: Any) -> dict[str, Any]:
            found = compute(dict(zip((port.name for port in inputs), arrays)))
            return dict(zip((port.name for port in outputs), found if isinstance(found, tuple) else (found,)))

        return rebuild(trace(traced, {port.name: port.shape for port in inputs}, name))

    return Kernel(name, tuple(inputs), tuple(outputs), program, key, dtype, doc)


def _is_foreign(x: Any) -> bool:
    """Whether an argument brings its own idea of what a ufunc does to it: Dask, units, ...

    Arrays on a device have one too, but none for kernels of the processor: the error is that of any other argument.
    """
    if type(x) is np.ndarray or isinstance(x, (np.generic, Number)):
        return False
    return hasattr(x, "__array_ufunc__") and not hasattr(x, "__cuda_array_interface__")


def _precision(inputs: Sequence[Any], arrays: Sequence[np.ndarray]) -> np.dtype:
    """Single if an input is of single precision and none needs more, else double; plain Python numbers do not count."""
    kinds = [array.dtype for x, array in zip(inputs, arrays) if type(x) not in (int, float)]
    return SINGLE if SINGLE in kinds and all(np.can_cast(kind, SINGLE) for kind in kinds) else DOUBLE


# --------------------------------------------------------------------------------------------------------- machine code


THREADED_NANOSECONDS = 200_000.0
"""Nanoseconds of work, by estimate, from which on a batch is divided among threads."""

LOCKED_NANOSECONDS = 20_000.0
"""Nanoseconds of work, by estimate, from which on a bound call releases the interpreter lock."""


class Compiled:
    """A program in machine code.

    Code for the last of the precisions is made at once, for another one when it is asked for.

    Args:
        program: gives the program; not called if the cache has the code.
        key: the program's name in the cache, if not its digest.
        dtypes: precisions to compute in, in the order in which NumPy tries them.

    Attributes:
        quick: the quickest call on a single state, or None.
        few: the largest number of states that is not worth being divided among threads.
        short: the largest number of states during which the interpreter lock may be held.
        direct: whether rows of some arrays are read, or written, where they are, so that no output may be an input.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        program: Callable[[], Program],
        key: str | None,
        dtypes: Sequence[np.dtype],
        target: Target,
    ):
        self.name, self.doc, self.inputs, self.outputs = name, doc, inputs, outputs
        self.dtypes, self.target = tuple(dtypes), target
        self._program, self._key = program, key
        self._codes: dict[np.dtype, Loaded] = {}
        self._ufuncs: dict[tuple[np.dtype | None, bool], np.ufunc] = {}
        main = self.dtypes[-1]
        self.quick = quick_call(self.code(main).address("loop"), main, inputs, outputs, self._codes)

        self.direct = self.code(main).integer("direct") > 0
        moved = sum(port.size for port in (*inputs, *outputs))
        cost = (0.3 * self.code(main).integer("operations") + 2.0 * moved) / target.lanes(main).width  # ns per state
        self.few, self.short = int(THREADED_NANOSECONDS / (cost + 1e-3)), int(LOCKED_NANOSECONDS / (cost + 1e-3))

    def code(self, dtype: np.dtype) -> Loaded:
        """The machine code for one precision; makes it if need be."""
        with compiling():
            if dtype not in self._codes:
                self._codes[dtype] = load_program(
                    self._program, dtype, self.target, self._key, (*self.inputs, *self.outputs), f"kernel {self.name}"
                )
            return self._codes[dtype]

    def ufunc(self, dtype: np.dtype | None, streamed: bool = False) -> np.ufunc:
        """The loop for one precision as a ufunc, or the loops for all of them; compiles what is missing.

        Args:
            dtype: one of the precisions, or None for all.
            streamed: whether it writes its outputs past the caches.
        """
        found = self._ufuncs.get((dtype, streamed))
        if found is None:
            with compiling():
                loops = [Loop(d, self.code(d).address("loop")) for d in (self.dtypes if dtype is None else (dtype,))]
                keep = [self.code(loop.dtype) for loop in loops]
                data = STREAMED if streamed else THROUGH
                found = make_ufunc(self.name, self.doc, self.inputs, self.outputs, loops, keep, data)
                self._ufuncs[dtype, streamed] = found
        return found


# ----------------------------------------------------------------------------------------------------------------- Dask


def _is_dask(x: Any) -> bool:
    """Whether something is a Dask array; Dask is not imported for that."""
    return type(x).__module__.partition(".")[0] == "dask" and hasattr(x, "dask") and hasattr(x, "chunks")


def _on_blocks(kernel: Kernel, inputs: Sequence[Any], dtype: np.dtype, options: dict[str, Any]) -> Any:
    """The results of a kernel as Dask arrays.

    Args:
        inputs: the inputs, at least one of them a Dask array; core dimensions that are cut are put together.
        options: of the call; only ``threads`` can be passed on.
    """
    import dask.array

    if unknown := sorted(options.keys() - {"threads"}):
        raise ArgumentError(
            f"{kernel.name}: {', '.join(unknown)} cannot be given with Dask arrays; for full control call "
            f"dask.array.apply_gufunc(kernel, {_dask_signature(kernel)[0]!r}, ..., output_dtypes={dtype.name!r})"
        )
    text, sizes = _dask_signature(kernel)
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


def _dask_signature(kernel: Kernel) -> tuple[str, dict[str, int]]:
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

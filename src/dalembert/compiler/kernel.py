"""A kernel: a program compiled on first use, called like a NumPy ufunc."""

from __future__ import annotations

import contextlib
import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .arguments import Arguments
from .bound import BoundKernel, bind
from .calls import quick_call
from .llvm.engine import Loaded, assembly
from .llvm.module import module_text
from .llvm.target import Target
from .native import load_program
from .program import Port, Program
from .threads import default_threads, run_all
from .ufunc import LOOP, STREAMED, THROUGH, Loop, make_ufunc, replace_loop, signature

LARGE = 200_000.0
"""Nanoseconds of work, by estimate, from which on a batch is divided among threads."""

STREAM = 16 << 20
"""Bytes of an output array from which on it is written past the caches."""


class Kernel:
    """A compiled function of arrays, for one state or any number of them at once.

    It behaves like a NumPy ufunc with a core signature: inputs may have any batch dimensions before those of the port,
    which are broadcast against each other; numbers are cast to float64 or float32; ``out`` gives the arrays to write
    to. Compilation happens on the first call and is remembered on disk. A state whose inputs contain NaN gives NaN and
    leaves the others alone. Kernels can be pickled and shared between threads.

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
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.doc = doc
        self._target = target
        self._made = program
        self._check()
        self.arguments = Arguments(name, self.inputs, self.outputs)
        self._codes: dict[np.dtype, Loaded] = {}
        self._ufuncs: tuple[np.ufunc, np.ufunc] | None = None
        self._limit: int | None = None
        self._lock = threading.RLock()
        self._quick: Callable[..., Any] = self._first

    def _check(self) -> None:
        if not self.inputs or not self.outputs:
            raise ArgumentError(f"kernel {self.name} needs at least one input and one output")
        names = [port.name for port in self.inputs]
        if len(set(names)) < len(names):
            raise ArgumentError(f"kernel {self.name} has two inputs of the same name among {', '.join(names)}")
        if self.dtype not in (None, np.float64, np.float32):
            raise ArgumentError(f"kernel {self.name}: dtype is {self.dtype}; it must be float64 or float32")
        if isinstance(self._made, Program) and (self._made.inputs, self._made.outputs) != (self.inputs, self.outputs):
            raise ArgumentError(f"kernel {self.name} and its program {self._made.name} differ in inputs or outputs")

    @property
    def program(self) -> Program:
        """What the kernel computes."""
        with self._lock:
            if not isinstance(self._made, Program):
                self._made = self._made()
                self._check()
            return self._made

    @property
    def target(self) -> Target:
        """The processor the kernel is compiled for."""
        return self._target or Target.host()

    @property
    def signature(self) -> str:
        """NumPy's core signature, such as ``(7),(7),(7)->(7)``."""
        return signature(self.inputs, self.outputs)

    @property
    def ir(self) -> str:
        """The LLVM code of the kernel in its first precision, to look at."""
        return module_text(self.program, self._dtypes[-1], self.target)

    @property
    def assembly(self) -> str:
        """The machine code of the kernel in its first precision as assembly, to look at."""
        return assembly(self.ir, self.target)

    @property
    def ufunc(self) -> np.ufunc:
        """The kernel as a plain ``numpy.ufunc``, which runs in the calling thread."""
        return self._get_ufuncs()[0]

    @property
    def _dtypes(self) -> tuple[np.dtype, ...]:
        """What the kernel computes in, in the order in which NumPy is to try."""
        return (np.dtype(np.float32), np.dtype(np.float64)) if self.dtype is None else (self.dtype,)

    def code(self, dtype: np.dtype) -> Loaded:
        """The machine code for one precision; compiles if need be.

        Args:
            dtype: float64 or float32.
        """
        with self._lock:
            if dtype not in self._codes:
                self._codes[dtype] = load_program(lambda: self.program, dtype, self.target, self.key)
                if self._ufuncs is not None:
                    for ufunc in self._ufuncs:
                        replace_loop(ufunc, self._dtypes.index(dtype), self._codes[dtype].address("loop"))
            return self._codes[dtype]

    def _get_ufuncs(self) -> tuple[np.ufunc, np.ufunc]:
        """The ufunc that writes through the caches, and the one that writes past them."""
        with self._lock:
            if self._ufuncs is None:
                main = self._dtypes[-1]
                loops = [Loop(main, self.code(main).address("loop"))]
                keep: tuple[Any, ...] = (self._codes,)
                if len(self._dtypes) > 1:
                    stub = LOOP(self._compile_single)
                    loops.insert(0, Loop(self._dtypes[0], ctypes.cast(stub, ctypes.c_void_p).value or 0))
                    keep = (self._codes, stub)
                doc = self.doc or f"{self!r}"
                self._ufuncs = (
                    make_ufunc(self.name, doc, self.inputs, self.outputs, loops, keep, THROUGH),
                    make_ufunc(self.name, doc, self.inputs, self.outputs, loops, keep, STREAMED),
                )
            return self._ufuncs

    def _compile_single(self, args: Any, dimensions: Any, steps: Any, data: int) -> None:
        """The float32 loop before it exists: compile it, take its place in the ufunc, and do what was asked."""
        address = self.code(np.dtype(np.float32)).address("loop")
        LOOP(address)(args, dimensions, steps, data)

    def _first(self, *inputs: Any) -> Any:
        """Stands for the quick call until the kernel is compiled."""
        with self._lock:
            main = self._dtypes[-1]
            code = self.code(main)
            quick = quick_call(code.address("loop"), main, self.inputs, self.outputs, code)
            self._quick = quick or (lambda *inputs: NotImplemented)
        return self._quick(*inputs)

    def __call__(self, *inputs: Any, out: Any = None, threads: int | None = None, **options: Any) -> Any:
        """Evaluate.

        Args:
            inputs: the input arrays; any of them may be given by name instead.
            out: the array to write to, or a tuple with an array or None for each output; made if None.
            threads: how many threads to use at most; by default all cores for large batches.
            options: inputs by name, and options of NumPy's ufuncs (``dtype``, ``casting``, ``order``, ``axes``, ...).

        Returns:
            An array of the batch shape followed by the shape of the output; a tuple of them if there are several.
        """
        if out is None and threads is None and not options:
            result = self._quick(*inputs)
            if result is not NotImplemented:
                return result
        return self._general(inputs, out, threads, options)

    def bind(self, *inputs: Any, out: Any = None, **named: Any) -> BoundKernel:
        """A function without arguments that evaluates on these very arrays whenever it is called.

        Args:
            inputs: the arrays to read, of the kernel's precision.
            out: the array to write, or a tuple with an array or None for each output; made if None.
            named: inputs by name.
        """
        inputs, unknown = self.arguments.positional(inputs, named)
        if unknown:
            raise ArgumentError(f"{self.name}.bind has no input {', '.join(unknown)}")
        return bind(self, inputs, self.arguments.outputs_given(out))

    def _general(self, inputs: tuple[Any, ...], out: Any, threads: int | None, options: dict[str, Any]) -> Any:
        """A call that is not of the simplest kind."""
        if options or len(inputs) != len(self.inputs):
            inputs, options = self.arguments.positional(inputs, options)
        ufunc, few = self.ufunc, self._few
        if not (options or self.arguments.has_empty or self.dtype == np.float32) and all(
            type(x) is np.ndarray and x.size <= few for x in inputs
        ):
            with contextlib.suppress(TypeError, ValueError):  # what follows finds out what is wrong
                return ufunc(*inputs, out=out)
        foreign = any(not isinstance(x, np.ndarray) and hasattr(x, "__array_ufunc__") for x in inputs)
        if foreign or not options.keys() <= {"casting", "dtype"}:
            return ufunc(*inputs, out=out, **options)
        return self._checked(inputs, self.arguments.outputs_given(out), threads, options)

    def _checked(
        self, inputs: tuple[Any, ...], out: tuple[Any, ...], threads: int | None, options: dict[str, Any]
    ) -> Any:
        """Check shapes; choose precision, number of threads and the way of writing; call."""
        arrays = [np.asarray(x) for x in inputs]
        batch = self.arguments.batch(arrays, out)
        count = math.prod(batch)
        if self.dtype is not None:
            options = {"dtype": self.dtype, "casting": "same_kind", **options}
        dtype = np.dtype(options["dtype"]) if "dtype" in options else self._precision(inputs, arrays)
        if dtype in self._dtypes:
            self.code(dtype)  # so that its errors are raised here
        results = tuple(
            np.empty((*batch, *port.shape), dtype) if array is None else array for port, array in zip(self.outputs, out)
        )
        # Fresh memory is better written through the caches: the system has just cleared it there.
        stream = any(array is not None and array.nbytes >= STREAM for array in out)
        ufunc = self._get_ufuncs()[stream]
        workers = (threads or default_threads()) if count > self._few else 1
        try:
            if workers == 1:
                ufunc(*arrays, out=results, **options)
            else:
                self._spread(ufunc, arrays, results, batch, workers, options)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"{self.name}: {error}") from error
        answers = tuple(y[()] if y.ndim == 0 and given is None else y for y, given in zip(results, out))
        return answers[0] if len(answers) == 1 else answers

    def _spread(
        self,
        ufunc: np.ufunc,
        arrays: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        batch: tuple[int, ...],
        workers: int,
        options: dict[str, Any],
    ) -> None:
        """Divide a batch among threads, along its longest dimension, in a few pieces for each."""
        axis = batch.index(max(batch))
        pieces = max(1, min(4 * workers, batch[axis], 2 * math.prod(batch) // (self._few + 1)))
        cuts = [batch[axis] * k // pieces for k in range(pieces + 1)]
        whole = [np.broadcast_to(x, (*batch, *port.shape)) for x, port in zip(arrays, self.inputs)]

        def job(start: int, stop: int) -> Callable[[], object]:
            part = (*(slice(None),) * axis, slice(start, stop))
            return lambda: ufunc(*(x[part] for x in whole), out=tuple(y[part] for y in results), **options)

        run_all([job(start, stop) for start, stop in pairwise(cuts)], workers)

    def _precision(self, inputs: Sequence[Any], arrays: Sequence[np.ndarray]) -> np.dtype:
        """What NumPy would choose: the first precision that holds all inputs; plain Python numbers do not count."""
        strong = [array.dtype for x, array in zip(inputs, arrays) if type(x) not in (int, float, bool)]
        fitting = [d for d in self._dtypes if strong and all(np.can_cast(x, d) for x in strong)]
        return fitting[0] if fitting else self._dtypes[-1]

    @property
    def _few(self) -> int:
        """Number of states that are not worth being divided among threads."""
        if self._limit is None:
            main = self._dtypes[-1]
            moved = sum(port.size for port in (*self.inputs, *self.outputs))
            cost = 0.3 * self.code(main).integer("operations") + 2.0 * moved
            self._limit = int(LARGE * self.target.lanes(main).width / cost) + 1
        return self._limit

    @property
    def release_from(self) -> int:
        """Number of states from which on a bound call releases the interpreter lock."""
        return self._few // 10 + 1

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.name, self.inputs, self.outputs, self.program, self.key, self.dtype, self.doc, self._target
        return Kernel, state

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

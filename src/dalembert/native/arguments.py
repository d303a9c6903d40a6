"""What a kernel is given: names to positions, shapes checked, errors that say what is wrong."""

from __future__ import annotations

import copyreg
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.labels import has_names, unlabelled
from dalembert.tracing.program import Port

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def precision(what: str, dtype: Any) -> np.dtype | None:
    """float32 or float64, however it is written, or None."""
    if dtype is None:
        return None
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError):
        found = np.dtype(object)  # None would be float64
    if found not in (SINGLE, DOUBLE):
        raise ArgumentError(f"{what}: dtype = {dtype!r}; choose numpy.float64, numpy.float32 or None")
    return found


def overlap(a: np.ndarray, b: np.ndarray, same_core: bool = True) -> bool:
    """Whether two arrays share memory so that writing one may spoil reading the other.

    Args:
        b: an output. It may be the very same array, state by state.
        same_core: whether one state of both has the same number of axes. If not, equal arrays are not equal states:
            one of them is broadcast, and read again after it has been written.
    """
    if same_core and (a.ctypes.data, a.shape, a.strides) == (b.ctypes.data, b.shape, b.strides):
        return False
    return share(a, b)


def share(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share memory, or may do so where it takes too long to find out."""
    try:
        return np.shares_memory(a, b, max_work=100_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def no_array(what: str, x: Any, error: Exception, hints: Mapping[str, str] | None = None) -> ArgumentError:
    """An error that says why something is no array of NumPy.

    Args:
        x: what the caller gave.
        error: why NumPy refused it.
        hints: what to add for an array of a library, by its name, and for ``"cuda"``; see :class:`Arguments`.
    """
    on_device = not isinstance(error, RuntimeError) and hasattr(x, "__cuda_array_interface__")
    hint = (hints or {}).get("cuda" if on_device else type(x).__module__.partition(".")[0])
    if on_device:
        hint = "it is on a CUDA device" + (f", {hint}" if hint else "")
    return ArgumentError(f"{what} is no array of numbers: {str(error).rstrip('.')}" + (f"; {hint}" if hint else ""))


def _as_precise(default: Any, given: Iterable[Any]) -> Any:
    """A value in single precision beside arrays of single precision: it does not decide about that."""
    kinds = [getattr(x, "dtype", None) for x in given]
    short = any(str(kind).endswith("float32") for kind in kinds) and not any(str(k).endswith("float64") for k in kinds)
    numbers = isinstance(default, np.ndarray) and default.dtype != object  # not traced scalars
    return default.astype(SINGLE) if short and numbers else default


class Results(type):
    """The kind of the classes that :func:`named_tuple` makes, by which they are pickled."""


@cache
def named_tuple(name: str, fields: tuple[str, ...]) -> Any:
    """A class for the results of a kernel by name. It, and what is made of it, can be pickled.

    Args:
        name: of the kernel.
        fields: names of the outputs; one that no attribute can have is found by position only.
    """
    values: Any = namedtuple(name if name.isidentifier() else "results", fields, rename=True)  # type: ignore[misc]
    return Results(values.__name__, (values,), {"__slots__": (), "_made": (name, fields)})


copyreg.pickle(Results, lambda made: (named_tuple, made._made))  # type: ignore[attr-defined]


class Arguments:
    """The arguments of one kernel.

    Attributes:
        hints: what those who made the kernel want errors to add: by name of an input, when it is left out; under
            ``"torch"``, ``"jax"`` and ``"cuda"``, when an array of that kind is given; under ``"mapping"``, when a
            mapping is given that nobody makes an array of; by name of something else that is given by name.
        by_name: a function of the call, the name of an input and what was given for it that makes an array of a
            mapping, or of a table with labels.
    """

    def __init__(self, name: str, inputs: Sequence[Port], outputs: Sequence[Port]):
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.has_empty = any(port.size == 0 for port in (*inputs, *outputs))
        self.hints: dict[str, str] = {}  # by input, what to add to the message where it is left out
        self.defaults: dict[str, Any] = {}  # by input, its value where it is left out
        self.by_name: Callable[[str, str, Any], np.ndarray] | None = None
        self._positions = {port.name: k for k, port in enumerate(inputs)}

    def positional(
        self,
        given: tuple[Any, ...],
        options: Mapping[str, Any],
        allowed: frozenset[str] = frozenset(),
        defaults: Mapping[str, Any] | None = None,
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All inputs in order, those given by name taken out of the options.

        Args:
            given: inputs given by position.
            options: everything given by name.
            allowed: names of options that may remain.
            defaults: what stands for inputs that are left out, by name; their values as arrays of NumPy by default.
        """
        if len(given) > len(self.inputs):
            raise ArgumentError(f"{self._call} takes {len(self.inputs)} inputs, got {len(given)}")
        values: dict[int, Any] = dict(enumerate(given))
        rest = {}
        for name, value in options.items():
            k = self._positions.get(name)
            if k is None:
                rest[name] = value
            elif k in values:
                raise ArgumentError(f"{self._call}: {name} is given twice, by position and by name")
            else:
                values[k] = value
        if len(values) < len(self.inputs):
            for name, value in (self.defaults if defaults is None else defaults).items():
                k = self._positions[name]
                if k not in values:
                    values[k] = _as_precise(value, values.values())
        missing = [port.name for k, port in enumerate(self.inputs) if k not in values]
        unknown = sorted(rest.keys() - allowed)
        strange = f"has no input {', '.join(unknown)}" if unknown else ""
        if missing:
            hints = "".join(f"; {self.hints[name]}" for name in missing if name in self.hints)
            also = f", and {strange}" if unknown else ""
            raise ArgumentError(f"{self._call} is missing {', '.join(missing)}{also}{hints}")
        if unknown:
            hints = "".join(f"; {self.hints[name]}" for name in unknown if name in self.hints)
            raise ArgumentError(f"{self._call} {strange}{hints}")
        return tuple(values[k] for k in range(len(self.inputs))), rest

    def spelt_out(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs, those given by name made arrays.

        Args:
            given: inputs in order.
        """
        if not any(map(has_names, given)):
            return given
        pairs = list(zip(self.inputs, given))
        known = [x if isinstance(x, Mapping) or not has_names(x) else self._table(port, x) for port, x in pairs]
        if self.by_name is not None:
            for k, (port, x) in enumerate(pairs):
                if isinstance(x, Mapping):
                    leaves = [leaf for leaf in x.values() if getattr(leaf, "ndim", 0)]
                    made = self.by_name(self._call, port.name, x)
                    known[k] = _as_precise(made, [*leaves, *(y for y in known if not isinstance(y, Mapping))])
        return tuple(known)

    def _table(self, port: Port, x: Any) -> Any:
        if self.by_name is not None:
            return self.by_name(self._call, port.name, x)
        return unlabelled(x, f"{self._call}: {port.name}") if port.shape else np.asarray(x)

    def arrays(self, given: Sequence[Any]) -> list[np.ndarray]:
        """The inputs as NumPy arrays; raises for nested lists of different lengths."""
        found = []
        for port, x in zip(self.inputs, given):
            try:
                found.append(np.asarray(x))
            except (TypeError, ValueError, RuntimeError) as error:  # the last: tensors that record derivatives
                raise no_array(f"{self._call}: {port.name}", x, error, self.hints) from error
        return found

    def refuse_longer_numbers(self, arrays: Sequence[np.ndarray]) -> None:
        """Raise if numbers would lose digits without anybody having said so."""
        for port, array in zip(self.inputs, arrays):
            if array.dtype.kind == "f" and not np.can_cast(array.dtype, DOUBLE):
                raise ArgumentError(
                    f"{self._call}: {port.name} has dtype {array.dtype}, longer than float64; convert it with "
                    "astype(float), or pass dtype=float"
                )

    def refuse_masked(self, given: Sequence[Any]) -> None:
        """Raise if entries are masked: results depend on all entries, so that no mask of theirs would be right."""
        for port, x in zip(self.inputs, given):
            if np.ma.is_masked(x):
                raise ArgumentError(
                    f"{self._call}: {port.name} has masked entries; pass {port.name}.filled(numpy.nan), which gives "
                    "NaN for the states they belong to"
                )

    def batch(self, arrays: Sequence[np.ndarray], out: Sequence[Any] = (), traced: bool = False) -> tuple[int, ...]:
        """The common batch shape; raises if an argument has the wrong shape or kind, or if they do not fit together.

        Args:
            out: an array to write to, or None, for each output.
            traced: whether arrays hold traced scalars.
        """
        shapes = {}
        for port, array in zip(self.inputs, arrays):
            shapes[port.name] = self._outer(port, port.name, array)
            if array.dtype.kind not in "fiub" and not traced:
                raise ArgumentError(
                    f"{self._call}: {port.name} has dtype {array.dtype}, expected real numbers"
                    + ("; if they are numbers, convert them with astype(float)" if array.dtype == object else "")
                )
        written = []
        for port, array in zip(self.outputs, out):
            if array is None:
                continue
            if not isinstance(array, np.ndarray):
                raise ArgumentError(f"{self._call}: out for {port.name} is a {type(array).__name__}, expected an array")
            written.append(f"out for {port.name}")
            shapes[written[-1]] = self._outer(port, written[-1], array)
        batch, *others = set(shapes.values())
        try:
            batch = np.broadcast_shapes(batch, *others) if others else batch
        except ValueError:
            found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise ArgumentError(f"{self._call}: the batch shapes cannot be broadcast together: {found}") from None
        for name in written:
            if shapes[name] != batch:
                raise ArgumentError(f"{self._call}: {name} has batch shape {shapes[name]}, expected {batch}")
        return batch

    def _outer(self, port: Port, name: str, array: np.ndarray) -> tuple[int, ...]:
        rank = len(port.shape)
        if array.ndim < rank or array.shape[array.ndim - rank :] != port.shape:
            wanted = f"(..., {', '.join(map(str, port.shape))})" if port.shape else "(...)"
            if array.dtype == object and not array.ndim and isinstance(array.item(), Mapping):
                hint = f"; {self.hints['mapping']}" if "mapping" in self.hints else ""
                raise ArgumentError(
                    f"{self._call}: {name} is a {type(array.item()).__name__}, expected an array {wanted}{hint}"
                )
            raise ArgumentError(f"{self._call}: {name} has shape {array.shape}, expected {wanted}")
        return array.shape[: array.ndim - rank]

    def refuse_shared_outputs(self, out: tuple[Any, ...]) -> None:
        """Raise if two arrays to write to share memory: one result would overwrite the other.

        Args:
            out: an array or None for each output.
        """
        arrays = [(k, y) for k, y in enumerate(out) if isinstance(y, np.ndarray)]
        for n, (k, x) in enumerate(arrays):
            for j, y in arrays[n + 1 :]:
                if share(x, y):
                    raise ArgumentError(
                        f"{self.name}: out[{k}] and out[{j}] share memory; give each result its own array"
                    )

    def outputs_given(self, out: Any) -> tuple[Any, ...]:
        """The argument ``out``, None or an array or one of them per output, as a tuple."""
        count = len(self.outputs)
        given = out if isinstance(out, tuple) else (out,) if count == 1 else (None,) * count if out is None else (out,)
        if len(given) != count:
            names = ", ".join(port.name for port in self.outputs)
            got = len(out) if isinstance(out, tuple) else f"a {type(out).__name__}"
            raise ArgumentError(f"{self._call}: out must be a tuple of {count} arrays ({names}), got {got}")
        return given

    def set_defaults(self, values: Mapping[str, Any]) -> None:
        """Values of inputs where they are left out.

        Args:
            values: by input; names of other inputs are passed over.
        """
        self.defaults.update((name, value) for name, value in values.items() if name in self._positions)

    @property
    def tail(self) -> tuple[Any, ...]:
        """The defaults of the last inputs."""
        found: list[Any] = []
        for port in reversed(self.inputs):
            if port.name not in self.defaults:
                break
            found.insert(0, self.defaults[port.name])
        return tuple(found)

    @property
    def _call(self) -> str:
        return f"{self.name}({', '.join(port.name for port in self.inputs)})"

"""Many computations over grids or samples: on threads or a Dask cluster, on disk as they come, restartable.

A piece of a sweep is recognised in another process by a fingerprint of what its task computes. A function counts by its
compiled code, its defaults, and what it refers to outside: numbers, strings, arrays, tuples of these, functions,
mechanisms and their dynamics. Whatever else it refers to counts by its type only, and a variable that it assigns itself
not at all: a sweep whose results depend on those needs a key.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SimulationWarning
from dalembert.files import write_whole
from dalembert.formulations.equations import CompiledEquations, Equations
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_path, shown
from dalembert.model.record import code_of, outside
from dalembert.native.threads import default_threads
from dalembert.simulation.failure import SweepError
from dalembert.simulation.progress import Progress
from dalembert.simulation.stabiliser import movable
from dalembert.simulation.state import as_flag
from dalembert.simulation.stores import STORES, Arrays, Store


class Points:
    """Named quantities at many points.

    Args:
        values: by name, those along an axis of a grid, or one for each sample, (N, ...).
        combined: whether all combinations are meant.
    """

    def __init__(self, values: Mapping[str, Any], combined: bool):
        self.values = {str(name): _values(str(name), value) for name, value in values.items()}
        self.combined = combined
        if not self.values:
            raise ArgumentError("there are no points: name at least one quantity")
        for name, value in self.values.items():
            if value.ndim == 0 or len(value) == 0:
                raise ArgumentError(f"{name!r} has shape {value.shape}; give values along its first dimension")
        lengths = {name: len(value) for name, value in self.values.items()}
        if not combined and len(set(lengths.values())) > 1:
            raise ArgumentError(f"samples differ in number: {lengths}")
        self.shape = tuple(lengths.values()) if combined else (next(iter(lengths.values())),)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def piece(self, begin: int, end: int) -> dict[str, np.ndarray]:
        """The points from ``begin`` to ``end`` by name, the last axis of a grid running fastest.

        Args:
            begin: number of the first point.
            end: number after the last one.
        """
        if not self.combined:
            return {name: value[begin:end] for name, value in self.values.items()}
        where = np.unravel_index(np.arange(begin, end), self.shape)
        return {name: value[k] for (name, value), k in zip(self.values.items(), where)}

    @property
    def digest(self) -> str:
        """A name for exactly these points."""
        h = hashlib.sha256(repr((self.combined, [(n, v.shape, str(v.dtype)) for n, v in self.values.items()])).encode())
        for value in self.values.values():
            h.update(np.ascontiguousarray(value).tobytes())
        return h.hexdigest()

    def __repr__(self) -> str:
        kind = "grid" if self.combined else "samples"
        return f"<{kind} of {len(self)} points: {', '.join(f'{n} {v.shape}' for n, v in self.values.items())}>"


def _named(given: Any, what: str) -> Mapping[str, Any]:
    return {} if given is None else expect(given, Mapping, what)


def _values(name: str, given: Any) -> np.ndarray:
    try:
        found = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise ArgumentError(f"{name!r} = {shown(given)}: {error}") from error
    if found.dtype.hasobject:  # which another process could not recognise
        raise ArgumentError(f"{name!r} = {shown(given)}; give numbers or texts")
    return found


def grid(axes: Mapping[str, Any] | None = None, **more: Any) -> Points:
    """All combinations of values along axes.

    Args:
        axes: by name, the values (or arrays, such as whole initial states) along an axis, (N, ...).
        more: the same by keyword.
    """
    return Points({**_named(axes, "axes"), **more}, True)


def samples(values: Mapping[str, Any] | None = None, **more: Any) -> Points:
    """Points one by one.

    Args:
        values: by name, one value (or array) for each sample, (N, ...).
        more: the same by keyword.
    """
    return Points({**_named(values, "values"), **more}, False)


SIMPLE = (type(None), bool, int, float, complex, str, bytes, np.generic)


def fingerprint(*values: Any) -> str:
    """A digest of options and functions, the same in every process.

    Args:
        values: numbers, strings, arrays, mechanisms, functions; lists, tuples and dicts of these.
    """
    return hashlib.sha256(repr([_content(value, True, ()) for value in values]).encode()).hexdigest()


def _content(value: Any, inside: bool, above: tuple[int, ...]) -> Any:
    """A description with a faithful ``repr``.

    Args:
        value: of what.
        inside: look into lists and dicts.
        above: functions that are being described, by id; they may refer to themselves.
    """
    if isinstance(value, SIMPLE):
        return type(value).__name__, repr(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    if isinstance(value, tuple) or (inside and isinstance(value, list)):
        return type(value).__name__, [_content(item, inside, above) for item in value]
    if inside and isinstance(value, dict):
        return "dict", sorted((repr(name), _content(item, inside, above)) for name, item in value.items())
    if isinstance(value, Mechanism):
        return "mechanism", value.digest
    if isinstance(value, (Equations, CompiledEquations)):
        value = movable(value)
    if isinstance(value, Dynamics):
        return "dynamics", value.kernel("forward_dynamics").key
    if isinstance(value, functools.partial):
        return "partial", _content((value.func, value.args), True, above), _content(dict(value.keywords), True, above)
    if isinstance(value, MethodType):
        return "method", _content(value.__func__, inside, above), _content(value.__self__, inside, above)
    if isinstance(value, FunctionType):
        return _function(value, above)
    if isinstance(value, (ModuleType, BuiltinFunctionType, type, np.ufunc)):
        return getattr(value, "__module__", ""), value.__name__
    return f"{type(value).__module__}.{type(value).__qualname__}", str(getattr(value, "key", ""))


def _function(function: FunctionType, above: tuple[int, ...]) -> Any:
    if id(function) in above:
        return "itself"
    above = (*above, id(function))
    return (
        function.__qualname__,
        code_of(function.__code__),
        _content((function.__defaults__, sorted((function.__kwdefaults__ or {}).items())), True, above),
        [(name, _content(value, False, above)) for name, value in outside(function).items()],
    )


Task = Callable[[dict[str, np.ndarray]], dict[str, Any]]
"""Takes points by name, (n, ...) each; returns results by name, (n, ...) each."""

PIECE_ATTEMPTS = 4
"""How often a piece is tried on a cluster whose workers die."""


class Sweep:
    """The results of a sweep, on disk; ``sweep["name"]`` reads one of them in the shape of the grid.

    Args:
        points: what was computed.
        store: where the results are.
        pieces: number of pieces.
    """

    def __init__(self, points: Points, store: Store, pieces: int):
        self.points, self.store, self.pieces = points, store, pieces

    @property
    def done(self) -> np.ndarray:
        """Which pieces are there."""
        return np.array([self.store.has(k) for k in range(self.pieces)], dtype=bool)

    @property
    def complete(self) -> bool:
        """Whether all pieces are there."""
        return bool(self.done.all())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the results."""
        found = np.flatnonzero(self.done)
        return tuple(self.store.read(int(found[0]))) if len(found) else ()

    def __iter__(self) -> Iterator[tuple[dict[str, np.ndarray], Arrays]]:
        """Points and results, piece by piece."""
        for k in np.flatnonzero(self.done):
            begin = int(k) * self.store.piece
            yield self.points.piece(begin, min(begin + self.store.piece, len(self.points))), self.store.read(int(k))

    def __getitem__(self, name: str) -> np.ndarray:
        """One result, (*shape of the grid, ...); points that are not computed yet are NaN."""
        done = self.done
        if name not in self.names:
            raise ArgumentError(f"there is no result {name!r}; there are {', '.join(self.names) or 'none yet'}")
        whole: np.ndarray | None = None
        for k in np.flatnonzero(done).tolist():
            part = self.store.read(k)[name]
            if whole is None:
                dtype = part.dtype if done.all() else np.result_type(part.dtype, np.float64)
                whole = np.full((len(self.points), *part.shape[1:]), 0 if done.all() else np.nan, dtype)
            whole = whole.astype(np.result_type(whole.dtype, part.dtype), copy=False)  # fractions and longer texts
            whole[k * self.store.piece : k * self.store.piece + len(part)] = part
        assert whole is not None
        return whole.reshape(*self.points.shape, *whole.shape[1:])

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.points)} points in {self.store.folder}: {self.done.sum()} of {self.pieces} pieces>"


def sweep(
    task: Task,
    points: Points,
    folder: str | Path,
    *,
    piece: int = 1000,
    format: str = "npz",
    client: Any = None,
    threads: int | None = None,
    key: str | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Compute a task at many points, in pieces, and keep the results on disk as they come.

    Called again with the same arguments after an interruption, a crash or an error, it computes what is missing; if
    there is no result yet, the folder is free for another task. With a Dask client the same pieces go to its workers;
    those of a worker that dies go to another one. The results come back to this process, which writes them.

    Args:
        task: takes a dict of points, (n, ...) each, and returns a dict of results, (n, ...) each; for motions of a
            mechanism see :class:`~dalembert.simulation.RolloutTask`.
        points: made by :func:`~dalembert.simulation.grid` or :func:`~dalembert.simulation.samples`.
        folder: where the results go; created if need be.
        piece: points of a piece, the unit of work.
        format: ``"npz"``, ``"parquet"`` or ``"zarr"``.
        client: a ``dask.distributed.Client``; threads of this process by default.
        threads: how many of them; all cores by default.
        key: a name for what the task computes; by default its attribute ``key``, or for a function a digest of its code
            and the numbers, arrays, functions and mechanisms it refers to. A folder with results of another task or
            other points is refused.
        progress: show progress on standard error; by default on a terminal, if it takes long.
    """
    if not isinstance(points, Points):
        raise ArgumentError(f"points are {type(points).__name__}; make them with grid(...) or samples(...)")
    if not isinstance(format, str) or format not in STORES:
        raise ArgumentError(f"there is no format {shown(format)}; choose one of {', '.join(STORES)}")
    if isinstance(piece, bool) or not isinstance(piece, (int, np.integer)) or piece < 1:
        raise ArgumentError(f"piece = {piece!r}; it must be a positive integer")
    if not callable(task):
        raise ArgumentError(f"the task is {task!r}; give a function of points, or a RolloutTask")
    if not isinstance(key, str | None):
        raise ArgumentError(f"key = {shown(key)}; give a text")
    progress = None if progress is None else as_flag("progress", progress)
    place, piece = expect_path(folder, "sweep, folder"), int(piece)
    manifest = {"points": points.digest, "task": key or _key(task), "piece": piece, "format": format}
    store = STORES[format](place, len(points), piece)
    if client is not None and not (hasattr(client, "submit") and hasattr(client, "nthreads")):
        raise ArgumentError(f"client is {client!r}; give a dask.distributed.Client")
    if threads is not None and not (isinstance(threads, int) and threads > 0):
        raise ArgumentError(f"threads = {threads!r}; it must be a positive integer")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise ArgumentError(f"{place} cannot be made a folder for results: {refused}") from refused
    claimed = _claim(place, manifest)
    pieces = -(-len(points) // piece)
    missing = [k for k in range(pieces) if not store.has(k)]
    made = Sweep(points, store, pieces)
    layout: dict[str, tuple[int, ...]] = {}
    if len(missing) < pieces:
        layout.update(_layout(store.read(next(k for k in range(pieces) if k not in set(missing)))))

    def keep(number: int, results: Any) -> None:
        given, whole = _piece(points, piece, number)
        arrays = _checked(results, len(whole))
        if layout and _layout(arrays) != layout:
            raise ArgumentError(f"the results are {_layout(arrays)}, by name and shape, but {layout} in other pieces")
        store.write(number, arrays, given)
        layout.update(_layout(arrays))

    with Progress(f"sweep of {len(points)} points", progress) as line:
        try:
            failures = _run(task, points, piece, missing, keep, client, threads, line, pieces)
        except KeyboardInterrupt:
            warnings.warn(
                f"sweep interrupted: {made.done.sum()} of {pieces} pieces are in {place}; call it again to go on",
                SimulationWarning,
                stacklevel=2,
            )
            return made
        finally:
            if claimed is not None and not made.done.any():  # there is nothing that another sweep could disturb
                claimed.unlink(missing_ok=True)
                store.release()
    if failures:
        number, error = failures[0]
        begin, kept = number * piece, f"; the others are kept in {place}" if made.done.any() else ""
        raise SweepError(
            f"{len(failures)} of {pieces} pieces failed{kept}. The first, points {begin} to "
            f"{min(begin + piece, len(points)) - 1}: {type(error).__name__}: {error}",
            made,
            [number for number, _ in failures],
        ) from error
    return made


def _piece(points: Points, piece: int, number: int) -> tuple[dict[str, np.ndarray], range]:
    whole = range(number * piece, min((number + 1) * piece, len(points)))
    return points.piece(whole.start, whole.stop), whole


def _run(
    task: Task,
    points: Points,
    piece: int,
    missing: list[int],
    keep: Callable[[int, Any], None],
    client: Any,
    threads: int | None,
    line: Progress,
    pieces: int,
) -> list[tuple[int, BaseException]]:
    """Hand out pieces, a few more at a time than there are hands; keep results as they come. Returns what failed."""
    failures: list[tuple[int, BaseException]] = []
    queue = [(k, 1) for k in reversed(missing)]
    pending: dict[Any, tuple[int, int]] = {}
    pool = ThreadPoolExecutor(threads or default_threads()) if client is None else None
    hands = threads or default_threads()
    try:
        while queue or pending:
            if client is not None:  # clusters grow and shrink
                hands = max(1, sum(client.nthreads().values()))
            while queue and len(pending) < 2 * hands:
                number, attempt = queue.pop()
                given = _piece(points, piece, number)[0]
                future = pool.submit(task, given) if pool else client.submit(task, given, pure=False)
                pending[future] = number, attempt
            for future in _finished(list(pending), pool is None):
                number, attempt = pending.pop(future)
                error = future.exception()
                if error is None:
                    try:
                        keep(number, future.result())
                    except Exception as wrong:  # results that the format cannot keep, a disk that is full
                        failures.append((number, wrong))
                elif (
                    pool is None
                    and type(error).__name__ in ("KilledWorker", "CancelledError")
                    and attempt < PIECE_ATTEMPTS
                ):
                    queue.append((number, attempt + 1))
                else:
                    failures.append((number, error))
                line.update((pieces - len(queue) - len(pending)) / pieces)
    finally:
        for future in pending:
            future.cancel()
        if pool:
            pool.shutdown(wait=True, cancel_futures=True)
    return sorted(failures, key=lambda item: item[0])


def _finished(futures: list[Any], on_cluster: bool) -> list[Any]:
    """The futures that are done, at least one; wakes up now and then, so that Ctrl-C is heard."""
    if on_cluster:
        from distributed import TimeoutError as Late
        from distributed import wait as wait_on_cluster

        while True:
            try:
                return list(wait_on_cluster(futures, timeout=1.0, return_when="FIRST_COMPLETED").done)
            except (Late, TimeoutError):
                continue
    done: set[Future] = set()
    while not done:
        done = wait(futures, timeout=0.2, return_when=FIRST_COMPLETED).done
    return list(done)


def _checked(results: Any, count: int) -> Arrays:
    if not isinstance(results, dict) or not results:
        raise ArgumentError(f"the task returned {type(results).__name__}; it must return a dict of arrays")
    arrays = {str(name): np.asarray(value) for name, value in results.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise ArgumentError(f"the result {name!r} is an array of Python objects; return numbers or texts")
        if array.shape[:1] != (count,):
            raise ArgumentError(f"the result {name!r} has shape {array.shape}; its first dimension must be {count}")
    return arrays


def _layout(arrays: Arrays) -> dict[str, tuple[int, ...]]:
    """The shape of each result at one point."""
    return {name: array.shape[1:] for name, array in sorted(arrays.items())}


def _claim(folder: Path, content: dict[str, Any]) -> Path | None:
    """Write the manifest, and say where; or compare it with the one that is there."""
    manifest = folder / "_sweep.json"  # readers of a folder of tables leave out names that begin like this
    if (earlier := folder / "sweep.json").exists():
        manifest = earlier
    if not manifest.exists():
        write_whole(manifest, lambda name: Path(name).write_text(json.dumps(content, indent=1)))
        return manifest
    try:
        known = json.loads(manifest.read_text())
    except ValueError as error:
        raise ArgumentError(f"{manifest} is not readable as the manifest of a sweep: {error}") from error
    different = [name for name, value in content.items() if known.get(name) != value]
    if different:
        raise ArgumentError(
            f"{folder} holds another sweep: {', '.join(different)} differ{'s' if len(different) == 1 else ''}. Choose "
            "another folder, or remove this one"
        )
    return None


def _key(task: Any) -> str:
    own = getattr(task, "key", None)
    if own:
        return str(own)
    if isinstance(task, (FunctionType, MethodType, functools.partial)):
        return fingerprint(task)
    raise ArgumentError(
        f"what {task!r} computes cannot be recognised again; give the sweep a key=, a name that changes with it"
    )

"""Many computations over grids or samples: on threads or a Dask cluster, on disk as they come, restartable."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future
from concurrent.futures import wait as wait_for
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, SimulationWarning
from dalembert.installation import code_digest
from dalembert.model.checks import expect_path, shown
from dalembert.model.record import fingerprint
from dalembert.native.threads import default_threads
from dalembert.simulation.failure import SweepError, interrupted
from dalembert.simulation.ownership import DECISIVE, UNRECOGNISED, owned
from dalembert.simulation.points import Points
from dalembert.simulation.rollout_task import RolloutTask
from dalembert.simulation.state import as_flag
from dalembert.simulation.stores import STORES, Arrays, DamagedPiece, Store
from dalembert.text.progress import Progress

Task = Callable[[dict[str, np.ndarray]], dict[str, Any]]
"""Takes points by name, (n, ...) each; returns results by name, (n, ...) each."""

SHOWN = 200
"""Characters of a text that explains what a task depends on."""

PATIENCE = 5.0
"""Seconds after which a cluster that does not answer is given up, and one without workers gives a warning."""


class Sweep:
    """The results of a sweep, on disk; ``sweep["name"]`` reads one of them in the shape of the grid.

    A piece that was damaged is found when it is read, and computed anew.

    Args:
        points: what was computed.
        store: where the results are.
        task: what computes them; None where that is not known.
    """

    def __init__(self, points: Points, store: Store, task: Task | None = None):
        self.points, self.store, self.task = points, store, task
        self.pieces = -(-len(points) // store.piece)
        self._layout: dict[str, tuple[int, ...]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "task": None}  # which may not be picklable

    @property
    def done(self) -> np.ndarray:
        """Which pieces are there."""
        found = np.zeros(self.pieces, dtype=bool)
        found[list(self.store.paths())] = True
        return found

    @property
    def complete(self) -> bool:
        """Whether all pieces are there."""
        return bool(self.done.all())

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the results."""
        paths = self.store.paths()
        return tuple(self.read(*min(paths.items()))) if paths else ()

    def __iter__(self) -> Iterator[tuple[dict[str, np.ndarray], Arrays]]:
        """Points and results, piece by piece."""
        for number, path in sorted(self.store.paths().items()):
            yield self.given(number), self.read(number, path)

    def __getitem__(self, name: str) -> np.ndarray:
        """One result, (*shape of the grid, ...); points that are not computed yet are NaN."""
        if name not in (names := self.names):
            raise ArgumentError(f"there is no result {name!r}; there are {', '.join(names) or 'none yet'}")
        paths = self.store.paths()
        complete = len(paths) == self.pieces
        whole: np.ndarray | None = None
        for k, path in sorted(paths.items()):
            part = self.read(k, path)[name]
            if whole is None:
                dtype = part.dtype if complete else np.result_type(part.dtype, np.float64)
                whole = np.full((len(self.points), *part.shape[1:]), 0 if complete else np.nan, dtype)
            whole = whole.astype(np.result_type(whole.dtype, part.dtype), copy=False)  # fractions and longer texts
            whole[k * self.store.piece : k * self.store.piece + len(part)] = part
        assert whole is not None
        return whole.reshape(*self.points.shape, *whole.shape[1:])

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.points)} points in {self.store.folder}: {self.done.sum()} of {self.pieces} pieces>"

    def given(self, number: int) -> dict[str, np.ndarray]:
        """Copies of the points of a piece.

        Args:
            number: of the piece.
        """
        begin = number * self.store.piece
        return self.points.piece(begin, min(begin + self.store.piece, len(self.points)))

    def read(self, number: int, path: Path) -> Arrays:
        """The results of a piece, computed anew if it was damaged.

        Args:
            number: of the piece.
            path: its own, one of ``store.paths()``.
        """
        try:
            return self.store.read(number, path)
        except DamagedPiece as damage:
            if self.task is None:
                raise SweepError(f"{damage}, in {self.store.folder}; call the sweep again", self, [number]) from damage
            warnings.warn(f"{damage}; it is computed anew", SimulationWarning, stacklevel=3)
            path.unlink(missing_ok=True)
        self.keep(number, self.task(self.given(number)))
        return self.store.read(number, self.store.paths()[number])

    def keep(self, number: int, results: Any) -> None:
        """Check the results of a piece and write them.

        Args:
            number: of the piece.
            results: what the task returned.
        """
        points = self.given(number)
        arrays = _checked(results, len(next(iter(points.values()))))
        layout = {name: array.shape[1:] for name, array in sorted(arrays.items())}
        if self._layout and layout != self._layout:
            raise ArgumentError(f"the results are {layout}, by name and shape, but {self._layout} in other pieces")
        self.store.write(number, arrays, points)
        self._layout = layout

    def learn_layout(self) -> None:
        """Take names and shapes from a piece that is there, for others to agree with."""
        if paths := self.store.paths():
            found = self.read(*min(paths.items()))
            self._layout = {name: array.shape[1:] for name, array in sorted(found.items())}


def sweep(
    task: Task,
    points: Points,
    folder: str | Path,
    *,
    piece: int = 1000,
    format: str = "npz",
    client: Any = None,
    threads: int | None = None,
    version: str | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Compute a task at many points, in pieces, and keep the results on disk as they come.

    Called again with the same arguments after an interruption, a crash or an error, it computes what is missing; if
    there is no result yet and nobody is at work, the folder is free for another task. Several processes that make the
    same call at the same time share the work. With a Dask client the pieces go to its workers; those of a worker that
    dies go to another one. The results come back to this process, which writes them.

    Args:
        task: takes a dict of points, (n, ...) each, and returns a dict of results, (n, ...) each; for motions of a
            mechanism see :class:`~dalembert.simulation.RolloutTask`.
        points: made by :func:`~dalembert.simulation.grid` or :func:`~dalembert.simulation.samples`.
        folder: where the results go; created if need be.
        piece: points of a piece, the unit of work.
        format: ``"npz"``, ``"parquet"`` or ``"zarr"``.
        client: a ``dask.distributed.Client``; threads of this process by default.
        threads: how many of them; all cores by default.
        version: a name for what the task computes, which the caller changes with it. Tasks of the library - a
            :class:`~dalembert.simulation.RolloutTask`, a kernel - are recognised without one, by their settings; a
            function of yours is not: a sweep of it cannot be resumed, and needs a folder without results. A folder
            with results of another task or of other points is refused.
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
    if not isinstance(version, str | None):
        raise ArgumentError(f"version = {shown(version)}; give a text")
    progress = None if progress is None else as_flag("progress", progress)
    place, piece = expect_path(folder, "sweep, folder"), int(piece)
    manifest = _manifest(task, points, piece, format, version)
    store = STORES[format](place, len(points), piece, "".join(str(manifest[name]) for name in DECISIVE))
    if client is not None and not (hasattr(client, "get_executor") and hasattr(client, "nthreads")):
        raise ArgumentError(f"client is {client!r}; give a dask.distributed.Client")
    if threads is not None and not (isinstance(threads, int) and threads > 0):
        raise ArgumentError(f"threads = {threads!r}; it must be a positive integer")
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise ArgumentError(f"{place} cannot be made a folder for results: {refused}") from refused
    made = Sweep(points, store, task)
    with owned(place, manifest, lambda: bool(store.paths())) as alone, Progress(str(points)[1:-1], progress) as line:
        if alone and not store.paths():
            store.clear()
        made.learn_layout()
        missing = np.flatnonzero(~made.done).tolist()
        hands = _Cluster(client) if client is not None else _Threads(min(threads or default_threads(), made.pieces))
        try:  # who joins begins at the other end
            failures = _run(made, missing if alone else missing[::-1], hands, line)
        except KeyboardInterrupt:
            raise interrupted(
                f"sweep interrupted: {made.done.sum()} of {made.pieces} pieces are in {place}; call it again to go on",
                made,
            ) from None
        finally:
            hands.stop()
    if failures:
        number, error = failures[0]
        begin, kept = number * piece, f"; the others are kept in {place}" if made.done.any() else ""
        raise SweepError(
            f"{len(failures)} of {made.pieces} pieces failed{kept}. The first, points {begin} to "
            f"{min(begin + piece, len(points)) - 1}: {type(error).__name__}: {error}",
            made,
            [number for number, _ in failures],
        ) from error
    return made


def _manifest(task: Any, points: Points, piece: int, format: str, version: str | None) -> dict[str, Any]:
    """What results depend on, and texts that explain it."""
    about = {"points": str(points), "dtype": ", ".join(str(value.dtype) for value in points.values.values())}
    if version is None:
        version, own = _recognised(task, points)
        about |= own
    about |= {"dalembert": code_digest()[:12]}
    return {"points": points.digest, "task": version, "piece": piece, "format": format, "about": about}


def _recognised(task: Any, points: Points) -> tuple[str, dict[str, str]]:
    """A name for what a task of the library computes, and texts that explain it; of any other a name that nothing else
    has.
    """
    if isinstance(task, RolloutTask):
        parts = task.identity({name: value.shape[1:] for name, value in points.values.items()})
        whole = fingerprint([*sorted(parts.items()), code_digest()])
        return hashlib.sha256(whole.encode()).hexdigest(), {name: text[:SHOWN] for name, text in parts.items()}
    digest = getattr(task, "digest", None)
    if isinstance(digest, str):
        return hashlib.sha256(f"{digest} {code_digest()}".encode()).hexdigest(), {}
    return f"{UNRECOGNISED} {uuid.uuid4().hex}", {}


def _run(
    made: Sweep, missing: list[int], hands: _Threads | _Cluster, line: Progress
) -> list[tuple[int, BaseException]]:
    """Hand out pieces, a few more at a time than there are hands; keep results as they come. Returns what failed."""
    failures: list[tuple[int, BaseException]] = []
    queue, pending = missing[::-1], dict[Future, int]()
    looked = time.monotonic()
    while queue or pending:
        if time.monotonic() > looked + 1:  # another process may be at the same work
            there = made.store.paths()
            queue, looked = [number for number in queue if number not in there], time.monotonic()
        while queue and len(pending) < 2 * hands.count():
            try:
                pending[hands.submit(made.task, made.given(queue[-1]))] = queue[-1]
            except hands.gone:  # of a client that has lost its scheduler; see below
                break
            queue.pop()
        done = wait_for(pending, timeout=0.2, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=pending.__getitem__):
            number = pending.pop(future)
            try:
                made.keep(number, future.result())
            except CancelledError:  # the scheduler was lost or started again
                queue.append(number)
            except KeyboardInterrupt:
                raise
            except BaseException as wrong:  # of the task, of a format that cannot keep it, of a full disk
                failures.append((number, wrong))
            line.update(1 - (len(queue) + len(pending)) / made.pieces)
        if lost := hands.lost():
            kept = f"{made.done.sum()} of {made.pieces} pieces are in {made.store.folder}"
            raise SweepError(
                f"{lost}; {kept}. Connect again and call the sweep again",
                made,
                sorted([*pending.values(), *queue, *dict(failures)]),
            )
    return sorted(failures, key=lambda item: item[0])


class _Threads:
    """Threads that nobody has to wait for: not Ctrl-C, and not the end of the program."""

    gone: tuple[type[Exception], ...] = ()
    """Errors of a connection that is no more."""

    def __init__(self, count: int):
        self._count = count
        self._work: SimpleQueue[tuple[Future, Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        for _ in range(count):
            threading.Thread(target=self._serve, daemon=True).start()

    def count(self) -> int:
        return self._count

    def lost(self) -> str:
        return ""

    def submit(self, task: Any, *given: Any) -> Future:
        future: Future = Future()
        self._work.put((future, task, given))
        return future

    def _serve(self) -> None:
        while (item := self._work.get()) is not None:
            future, task, given = item
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task(*given))
                except BaseException as error:
                    future.set_exception(error)

    def stop(self) -> None:
        while not self._work.empty():
            self._work.get()
        for _ in range(self._count):
            self._work.put(None)


class _Cluster:
    """The workers of a Dask cluster, which grow and shrink, and may all be lost."""

    def __init__(self, client: Any):
        from distributed.client import ClosedClientError

        self.gone: tuple[type[Exception], ...] = (ClosedClientError, OSError)
        self._client, self._executor = client, client.get_executor(pure=False)
        self._asking, self._count = _Threads(1), 1
        self._alive = self._busy = self._asked = time.monotonic()
        self._answer: Future = self._asking.submit(client.nthreads)
        self._warned = False

    def submit(self, task: Any, given: Any) -> Future:
        return self._executor.submit(task, given)

    def count(self) -> int:
        return max(1, self._count)

    def lost(self) -> str:
        """Why no answer is to be expected any more; asks the scheduler every second how many workers there are."""
        now = time.monotonic()
        if self._answer.done():
            try:
                self._count = sum(self._answer.result().values())
                self._alive = now
            except Exception:  # the client knows that it has lost its scheduler
                pass
            if now > self._asked + 1:
                self._asked, self._answer = now, self._asking.submit(self._client.nthreads)
        if self._count:
            self._busy, self._warned = now, False
        elif now > self._busy + PATIENCE and not self._warned:
            self._warned = True
            warnings.warn(
                f"the cluster has had no workers for {PATIENCE:.0f} s; the sweep waits for some, Ctrl-C ends it",
                SimulationWarning,
                stacklevel=4,
            )
        return (
            f"the scheduler of the cluster has not answered for {PATIENCE:.0f} s"
            if now > self._alive + PATIENCE
            else ""
        )

    def stop(self) -> None:
        cancelled = self._asking.submit(self._executor.shutdown, False)
        self._asking.stop()
        wait_for([cancelled], timeout=1.0)  # a scheduler that is lost has nothing to cancel


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

"""Results on disk, piece by piece: each is written whole or not at all, so that an interrupted sweep can go on.

The name of a piece has a digest of its content and of the sweep it belongs to, which is compared whenever the piece is
read: what a disk, a crash or somebody has changed is found, and so is a piece of another sweep, should the manifest get
lost.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.files import write_whole

Arrays = dict[str, np.ndarray]

DIGITS = 16
"""Hexadecimal digits of a digest in a name: damage goes unseen once in 2^64 times."""


class DamagedPiece(Exception):
    """What is on disk is not what was written."""


class Store(ABC):
    """Pieces in a folder, by number.

    Args:
        folder: where; exists.
        count: number of all points.
        sweep: a name for what is computed; pieces of another sweep do not count as whole.
    """

    suffix = ""
    needs = ""
    """A package that must be there."""

    def __init__(self, folder: Path, count: int, piece: int, sweep: str):
        self.folder, self.count, self.piece, self.sweep = folder, count, piece, sweep
        if self.needs and find_spec(self.needs) is None:
            raise MissingExtraError(self.needs, "tables", f"keeping results with {self.needs}")

    def paths(self) -> dict[int, Path]:
        """The pieces that are there, by number."""
        found = sorted(self.folder.glob(f"piece-*-*{self.suffix}"), reverse=True)  # of two of one number the first
        numbered = {path.name.split("-")[1]: path for path in found}
        pieces = -(-self.count // self.piece)
        return {int(n): path for n, path in numbered.items() if n.isdecimal() and int(n) < pieces}

    def clear(self) -> None:  # noqa: B027 - files are whole or not there
        """Remove what was begun, where no piece is whole."""

    @abstractmethod
    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        """Keep the results of a piece, (n, ...) each; the points, (n, ...) too, stand beside them in a table."""

    @abstractmethod
    def read(self, number: int, path: Path) -> Arrays:
        """The results of a piece; DamagedPiece if they are not those that were written.

        Args:
            path: one of :meth:`paths`.
        """

    def _path(self, number: int, content: bytes | memoryview) -> Path:
        found = hashlib.sha256(f"{self.sweep} {number} ".encode())
        found.update(content)
        return self.folder / f"piece-{number:07d}-{found.hexdigest()[:DIGITS]}{self.suffix}"

    def _compare(self, path: Path, number: int, content: bytes) -> None:
        if path != self._path(number, content):
            raise DamagedPiece(f"{path.name} has another content than when it was written")


class FileStore(Store):
    """Pieces that are a file each."""

    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        file = io.BytesIO()
        self.encode(file, arrays, points)
        content = file.getbuffer()
        write_whole(self._path(number, content), lambda name: Path(name).write_bytes(content))

    def read(self, number: int, path: Path) -> Arrays:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise DamagedPiece(f"{path.name} cannot be read: {error}") from error
        self._compare(path, number, content)
        return self.decode(io.BytesIO(content))

    @abstractmethod
    def encode(self, file: io.BytesIO, arrays: Arrays, points: Arrays) -> None:
        """Write a piece."""

    @abstractmethod
    def decode(self, file: io.BytesIO) -> Arrays:
        """Read a piece."""


class NpzStore(FileStore):
    """NumPy archives."""

    suffix = ".npz"

    def encode(self, file: io.BytesIO, arrays: Arrays, points: Arrays) -> None:
        np.savez(file, **arrays)  # type: ignore[arg-type]

    def decode(self, file: io.BytesIO) -> Arrays:
        with np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}


class ParquetStore(FileStore):
    """Parquet tables, one row per point: the point, then its results; arrays are columns ``name[i,j]``. Needs pyarrow.

    Where a point and a result have the same name, the column of the point is called ``point name``.
    """

    suffix, needs = ".parquet", "pyarrow"

    def encode(self, file: io.BytesIO, arrays: Arrays, points: Arrays) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        results = _columns(arrays)
        columns = {f"point {label}" if label in results else label: x for label, x in _columns(points).items()}
        about = {f"shape of {name}": ",".join(map(str, array.shape[1:])) for name, array in arrays.items()}
        about |= {f"type of {name}": array.dtype.str for name, array in arrays.items()}
        table = pyarrow.table(columns | results).replace_schema_metadata(about)
        parquet.write_table(table, file, write_page_checksum=True)  # for other readers

    def decode(self, file: io.BytesIO) -> Arrays:
        import pyarrow.parquet as parquet

        table = parquet.read_table(file)
        about = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
        found = {}
        for key, text in about.items():
            name = key.removeprefix("shape of ")
            if name == key:
                continue
            shape = tuple(int(x) for x in text.split(",") if x)
            columns = [table[_label(name, place)].to_numpy() for place in np.ndindex(*shape)]
            whole = np.stack(columns, axis=-1) if columns else np.empty((len(table), 0))
            found[name] = whole.reshape(len(table), *shape).astype(about.get(f"type of {name}", whole.dtype))
        return found


def _label(name: str, place: tuple[int, ...]) -> str:
    return f"{name}[{','.join(map(str, place))}]" if place else name


def _columns(arrays: Arrays) -> dict[str, Any]:
    """Columns of a table by label, for Arrow."""
    import pyarrow

    columns = {}
    for name, array in arrays.items():
        for place in np.ndindex(*array.shape[1:]):
            try:
                columns[_label(name, place)] = pyarrow.array(np.ascontiguousarray(array[(slice(None), *place)]))
            except pyarrow.ArrowException as error:
                raise ArgumentError(
                    f"{name!r} is {array.dtype}, for which Parquet has no type; give real numbers - the real and the "
                    "imaginary part, for instance - or choose format='npz'"
                ) from error
    return columns


class ZarrStore(Store):
    """One Zarr array per result, in ``results.zarr``, a piece being a chunk; markers show which are whole.

    Needs zarr.
    """

    suffix, needs = ".done", "zarr"

    @property
    def _place(self) -> Path:
        return self.folder / "results.zarr"

    def clear(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)

    def _group(self) -> Any:
        import zarr

        try:
            return zarr.open_group(str(self._place), mode="a")
        except Exception:  # its description is damaged; the arrays have their own
            (self._place / "zarr.json").unlink(missing_ok=True)
            return zarr.open_group(str(self._place), mode="a")

    def _array(self, name: str, like: np.ndarray) -> Any:
        """The array of a result, made if need be; chunks that are there stay."""
        group = self._group()
        whole, part = (self.count, *like.shape[1:]), (self.piece, *like.shape[1:])
        try:
            found = group[name]
            if found.shape == whole and found.chunks == tuple(max(n, 1) for n in part):
                return found
        except Exception:  # there is none, or its description is damaged
            pass
        (self._place / name / "zarr.json").unlink(missing_ok=True)
        try:
            return group.create_array(name, shape=whole, chunks=part, dtype=like.dtype)
        except ValueError as error:
            raise ArgumentError(f"Zarr cannot keep {name!r}, {like.dtype} of shape {whole}: {error}") from error

    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        begin = number * self.piece
        for name, values in arrays.items():
            array = self._array(name, values)
            if not np.can_cast(values.dtype, array.dtype):
                raise ArgumentError(
                    f"the result {name!r} is {values.dtype} in this piece, which the array on disk, {array.dtype} "
                    "after the first piece, cannot hold; return the same type everywhere, such as float"
                )
            array[begin : begin + len(values)] = values
        self._path(number, _digest(self._read(number))).touch()

    def _read(self, number: int) -> Arrays:
        group = self._group()
        begin = number * self.piece
        end = min(begin + self.piece, self.count)
        return {name: np.asarray(group[name][begin:end]) for name in sorted(group.array_keys())}

    def read(self, number: int, path: Path) -> Arrays:
        try:
            found = self._read(number)
        except Exception as error:  # of any decoder that Zarr calls
            raise DamagedPiece(f"piece {number} of {self._place.name} cannot be read: {error}") from error
        self._compare(path, number, _digest(found))
        return found


def _digest(arrays: Arrays) -> bytes:
    about = [(name, array.dtype.str, array.shape) for name, array in sorted(arrays.items())]
    found = hashlib.sha256(repr(about).encode())
    for _, array in sorted(arrays.items()):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


STORES: dict[str, type[Store]] = {"npz": NpzStore, "parquet": ParquetStore, "zarr": ZarrStore}
"""Every format by name."""

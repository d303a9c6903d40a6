"""Results on disk, piece by piece: each is written whole or not at all, so that an interrupted sweep can go on."""

from __future__ import annotations

import shutil
import zipfile
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.files import write_whole

Arrays = dict[str, np.ndarray]


class Store(ABC):
    """Pieces in a folder, by number.

    Args:
        folder: where; exists.
        count: number of all points.
        piece: points of a piece.
    """

    suffix = ""
    needs = ""
    """A package that must be there."""

    def __init__(self, folder: Path, count: int, piece: int):
        self.folder, self.count, self.piece = folder, count, piece
        self.begun: tuple[Path, ...] = ()
        if self.needs and find_spec(self.needs) is None:
            raise MissingExtraError(self.needs, "tables", f"keeping results with {self.needs}")

    def path(self, number: int) -> Path:
        """The file of a piece."""
        return self.folder / f"piece-{number:07d}{self.suffix}"

    def has(self, number: int) -> bool:
        """Whether a piece is there, whole."""
        return self.path(number).exists()

    @abstractmethod
    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        """Keep the results of a piece, (n, ...) each; the points, (n, ...) too, stand beside them in a table."""

    @abstractmethod
    def read(self, number: int) -> Arrays:
        """The results of a piece."""

    def release(self) -> None:
        """Remove what was begun, while no piece is whole."""
        for path in self.begun:
            shutil.rmtree(path, ignore_errors=True)


class NpzStore(Store):
    """NumPy archives."""

    suffix = ".npz"

    def has(self, number: int) -> bool:
        return zipfile.is_zipfile(self.path(number))  # its end is there

    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        def save(name: str) -> None:
            with open(name, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

        write_whole(self.path(number), save)

    def read(self, number: int) -> Arrays:
        with np.load(self.path(number), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


class ParquetStore(Store):
    """Parquet tables, one row per point: the point, then its results; arrays are columns ``name[i,j]``. Needs pyarrow.

    Where a point and a result have the same name, the column of the point is called ``point name``.
    """

    suffix, needs = ".parquet", "pyarrow"

    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        results = _columns(arrays)
        columns = {f"point {label}" if label in results else label: x for label, x in _columns(points).items()}
        about = {f"shape of {name}": ",".join(map(str, array.shape[1:])) for name, array in arrays.items()}
        about |= {f"type of {name}": array.dtype.str for name, array in arrays.items()}
        table = pyarrow.table(columns | results).replace_schema_metadata(about)
        write_whole(self.path(number), lambda path: parquet.write_table(table, path))

    def read(self, number: int) -> Arrays:
        import pyarrow.parquet as parquet

        table = parquet.read_table(self.path(number))
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

    def __init__(self, folder: Path, count: int, piece: int):
        super().__init__(folder, count, piece)
        self._place = folder / "results.zarr"
        self.begun = () if self._place.exists() else (self._place,)

    def _group(self) -> Any:
        import zarr

        return zarr.open_group(str(self._place), mode="a")

    def write(self, number: int, arrays: Arrays, points: Arrays) -> None:
        group = self._group()
        begin = number * self.piece
        for name, array in arrays.items():
            if name not in group:
                whole, part = (self.count, *array.shape[1:]), (self.piece, *array.shape[1:])
                try:
                    group.create_array(name, shape=whole, chunks=part, dtype=array.dtype)
                except ValueError as error:
                    raise ArgumentError(
                        f"Zarr cannot keep {name!r}, {array.dtype} of shape {whole}: {error}"
                    ) from error
            if not np.can_cast(array.dtype, group[name].dtype):
                raise ArgumentError(
                    f"the result {name!r} is {array.dtype} in this piece, which the array on disk, {group[name].dtype} "
                    "after the first piece, cannot hold; return the same type everywhere, such as float"
                )
            group[name][begin : begin + len(array)] = array
        self.path(number).touch()

    def read(self, number: int) -> Arrays:
        group = self._group()
        begin = number * self.piece
        end = min(begin + self.piece, self.count)
        return {name: np.asarray(group[name][begin:end]) for name in group.array_keys()}


STORES: dict[str, type[Store]] = {"npz": NpzStore, "parquet": ParquetStore, "zarr": ZarrStore}
"""Every format by name."""

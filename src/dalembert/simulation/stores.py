"""Results on disk, piece by piece: each is written whole or not at all, so that an interrupted sweep can go on."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import MissingExtraError

Arrays = dict[str, np.ndarray]


class Store(ABC):
    """Pieces in a folder, by number.

    Args:
        folder: where; exists.
        count: number of all points.
        piece: points of a piece.
    """

    suffix = ""

    def __init__(self, folder: Path, count: int, piece: int):
        self.folder, self.count, self.piece = folder, count, piece

    def path(self, number: int) -> Path:
        """The file of a piece."""
        return self.folder / f"piece-{number:07d}{self.suffix}"

    def has(self, number: int) -> bool:
        """Whether a piece is there, whole."""
        return self.path(number).exists()

    @abstractmethod
    def write(self, number: int, arrays: Arrays) -> None:
        """Keep the results of a piece, (n, ...) each."""

    @abstractmethod
    def read(self, number: int) -> Arrays:
        """The results of a piece."""

    def _replace(self, number: int, write: Any) -> None:
        """Write to a temporary file beside it, then rename: readers see all or nothing."""
        handle, name = tempfile.mkstemp(dir=self.folder, prefix="new-", suffix=self.suffix)
        os.close(handle)
        try:
            write(name)
            os.replace(name, self.path(number))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


class NpzStore(Store):
    """NumPy archives."""

    suffix = ".npz"

    def has(self, number: int) -> bool:
        path = self.path(number)
        if not path.exists():
            return False
        try:
            with zipfile.ZipFile(path) as archive:
                return archive.testzip() is None
        except (OSError, zipfile.BadZipFile):  # a disk that was full, or a crash
            return False

    def write(self, number: int, arrays: Arrays) -> None:
        def save(name: str) -> None:
            with open(name, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

        self._replace(number, save)

    def read(self, number: int) -> Arrays:
        with np.load(self.path(number), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


class ParquetStore(Store):
    """Parquet tables, one row per point; arrays are columns ``name[i,j]``. Needs pyarrow."""

    suffix = ".parquet"

    def write(self, number: int, arrays: Arrays) -> None:
        pyarrow = _needed("pyarrow")
        import pyarrow.parquet as parquet

        columns = {}
        for name, array in arrays.items():
            for place in np.ndindex(*array.shape[1:]):
                label = f"{name}[{','.join(map(str, place))}]" if place else name
                columns[label] = np.ascontiguousarray(array[(slice(None), *place)])
        shapes = {name: ",".join(map(str, array.shape[1:])) for name, array in arrays.items()}
        table = pyarrow.table(columns).replace_schema_metadata({f"shape of {n}": s for n, s in shapes.items()})
        self._replace(number, lambda path: parquet.write_table(table, path))

    def read(self, number: int) -> Arrays:
        _needed("pyarrow")
        import pyarrow.parquet as parquet

        table = parquet.read_table(self.path(number))
        found = {}
        for key, text in (table.schema.metadata or {}).items():
            name = key.decode().removeprefix("shape of ")
            shape = tuple(int(x) for x in text.decode().split(",") if x)
            labels = [f"{name}[{','.join(map(str, place))}]" if shape else name for place in np.ndindex(*shape)]
            columns = [table[label].to_numpy() for label in labels]
            found[name] = np.stack(columns, axis=-1).reshape(len(table), *shape)
        return found


class ZarrStore(Store):
    """One Zarr array per result, in ``results.zarr``, a piece being a chunk; markers tell which are whole.

    Needs zarr.
    """

    suffix = ".done"

    def _group(self) -> Any:
        return _needed("zarr").open_group(str(self.folder / "results.zarr"), mode="a")

    def write(self, number: int, arrays: Arrays) -> None:
        group = self._group()
        begin = number * self.piece
        for name, array in arrays.items():
            if name not in group:
                group.create_array(
                    name, shape=(self.count, *array.shape[1:]), chunks=(self.piece, *array.shape[1:]), dtype=array.dtype
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


def _needed(package: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, "tables", f"writing results with {package}") from error

"""Results on disk, piece by piece: each is written whole or not at all, so that an interrupted sweep can go on."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError

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
        if self.needs and find_spec(self.needs) is None:
            raise MissingExtraError(self.needs, "tables", f"keeping results with {self.needs}")

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


def write_whole(path: Path, write: Callable[[str], object]) -> None:
    """Write to a temporary file beside it, then rename: readers see all or nothing, also after a crash.

    Args:
        path: where the file shall be.
        write: writes a file of the name it is given.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix="_new-", suffix=path.suffix)
    try:
        write(name)
        os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    finally:
        os.close(handle)


class NpzStore(Store):
    """NumPy archives."""

    suffix = ".npz"

    def has(self, number: int) -> bool:
        return zipfile.is_zipfile(self.path(number))  # its end is there

    def write(self, number: int, arrays: Arrays) -> None:
        def save(name: str) -> None:
            with open(name, "wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]

        write_whole(self.path(number), save)

    def read(self, number: int) -> Arrays:
        with np.load(self.path(number), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


class ParquetStore(Store):
    """Parquet tables, one row per point; arrays are columns ``name[i,j]``. Needs pyarrow."""

    suffix, needs = ".parquet", "pyarrow"

    def write(self, number: int, arrays: Arrays) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        columns = {}
        for name, array in arrays.items():
            for place in np.ndindex(*array.shape[1:]):
                label = f"{name}[{','.join(map(str, place))}]" if place else name
                columns[label] = np.ascontiguousarray(array[(slice(None), *place)])
        shapes = {name: ",".join(map(str, array.shape[1:])) for name, array in arrays.items()}
        table = pyarrow.table(columns).replace_schema_metadata({f"shape of {n}": s for n, s in shapes.items()})
        write_whole(self.path(number), lambda path: parquet.write_table(table, path))

    def read(self, number: int) -> Arrays:
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

    suffix, needs = ".done", "zarr"

    def _group(self) -> Any:
        import zarr

        return zarr.open_group(str(self.folder / "results.zarr"), mode="a")

    def write(self, number: int, arrays: Arrays) -> None:
        group = self._group()
        begin = number * self.piece
        for name, array in arrays.items():
            if name not in group:
                group.create_array(
                    name, shape=(self.count, *array.shape[1:]), chunks=(self.piece, *array.shape[1:]), dtype=array.dtype
                )
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

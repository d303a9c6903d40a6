"""Mesh files for the page: found where a URDF says they are, read, and made small enough to be mailed.

What cannot be found or read gets a warning that names it, and the page draws a placeholder.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from dalembert.errors import FormatError, ModelWarning
from dalembert.text.layout import printable
from dalembert.viewer.mesh_files import Part, read_collada, read_obj, read_stl

READERS = {".stl": read_stl, ".obj": read_obj, ".dae": read_collada}
"""Suffix -> what reads the file."""

MOST_TRIANGLES = 250_000
"""Triangles of all meshes of a page together; finer ones are made coarser."""


FARTHEST = 1e9
"""Largest coordinate of a vertex; nothing that is drawn is that large, in any unit."""


def search_path(folder: Path | None) -> tuple[Path, ...]:
    """Folders in which the packages of ``package://`` addresses are looked for.

    The folder of the model and those around it, the folders that ROS names in its environment, the example robots.

    Args:
        folder: of the model, if it came from a file.
    """
    from dalembert.formats.catalogue import example_robot_data

    found: list[Path] = []
    if folder is not None:
        found += [folder.resolve(), *folder.resolve().parents]
    found += ros_folders()
    if known := example_robot_data():
        found += next(iter(known.values())).parents
    return tuple(dict.fromkeys(found))


def is_of_model(file: Path, address: str, folder: Path | None) -> bool:
    """Whether a mesh belongs to its model, so that whoever has the one may have the other.

    It does if it lies below the folder of the model, in the same package, or in the package that its address names.
    A package has a ``package.xml``, or lies where ROS or the example robots have theirs.

    Args:
        file: what :func:`locate` found.
        address: for which.
        folder: of the model, if it came from a file.
    """
    from dalembert.formats.catalogue import example_robot_data

    owners: list[Path] = []
    if folder is not None:
        owners.append(folder.resolve())
        owners += [place for place in owners[0].parents if (place / "package.xml").is_file()][:1]
    owners += [place for known in example_robot_data().values() for place in known.parents if place.name in OWN_NAMES]
    if address.startswith(("package://", "model://")):
        name = address.partition("://")[2].lstrip("/").partition("/")[0]
        for place in file.absolute().parents:
            if place.name == name != ".." and ((place / "package.xml").is_file() or place.parent in ros_folders()):
                owners.append(place)
    real = file.resolve()
    return any(real.is_relative_to(owner.resolve()) for owner in owners)


OWN_NAMES = ("example-robot-data", "example_robot_data")
"""Folders of the example robots."""


def ros_folders() -> list[Path]:
    """The folders of packages that ROS names in its environment."""
    found: list[Path] = []
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        found += [Path(entry) / inside for entry in os.environ.get(variable, "").split(os.pathsep) if entry]
    return found


def locate(address: str, folder: Path | None, path: Sequence[Path]) -> Path:
    """The file behind the address of a mesh; FormatError if there is none on this machine.

    Args:
        address: ``package://name/...``, ``file://...`` or a path, relative to the folder.
        folder: of the model, if it came from a file.
        path: of :func:`search_path`.
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        candidates = [Path(address)] if folder is None else [folder / address]
    elif scheme == "file":
        candidates = [Path(unquote(rest))]
    elif scheme in ("package", "model"):
        rest = rest.lstrip("/")  # some files have one stroke too many
        name, _, inside = rest.partition("/")
        candidates = [place / rest for place in path] + [place / inside for place in path if place.name == name]
    else:
        raise FormatError(f"only files on this machine are read, not {scheme}:// addresses")
    for candidate in candidates:
        try:
            if candidate.is_file():
                return candidate
        except (OSError, ValueError):  # a name no file can have
            continue
    remedy = "say where the model lies by {setting}" if folder is None else ""
    raise FormatError("there is no such file", argument="folder", remedy=remedy)


@dataclass
class Meshes:
    """The meshes of a page, each read once.

    Args:
        folder: of the model, for relative addresses.
        consent: whether meshes may also come from elsewhere than the model: an address can name any file of this disk,
            and the page is mailed.
        parts: of every mesh, None where it could not be read.
        notes: what could not be read, one line each.
    """

    folder: Path | None = None
    consent: bool = False
    parts: list[list[Part] | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)
    _path: tuple[Path, ...] | None = None

    def add(self, address: str, body: str) -> int:
        """The number of a mesh; it is read when it is asked for the first time."""
        if address not in self._known:
            self._known[address] = len(self.parts)
            try:
                self.parts.append(self._read(address))
            except FormatError as error:
                self.parts.append(None)
                note = ModelWarning(
                    f"body {printable(body)!r}: mesh {printable(address)!r} is not drawn: {error.message}",
                    argument=error.argument,
                    value=error.value,
                    remedy=error.advice,
                )
                self.notes.append(str(note))
                warnings.warn(note, stacklevel=2)
        return self._known[address]

    def _read(self, address: str) -> list[Part]:
        if self._path is None:
            self._path = search_path(self.folder)
        file = locate(address, self.folder, self._path)
        if not self.consent and not is_of_model(file, address, self.folder):
            raise FormatError(
                "it lies outside the folder of the model and its package, and the page would take it along",
                argument="consent",
                value=True,
                remedy="give {setting} if everybody who gets the page may have it",
            )
        reader = READERS.get(file.suffix.lower())
        if reader is None:
            raise FormatError(f"files {file.suffix!r} cannot be read; convert it to {', '.join(READERS)}")
        parts = [part for part in reader(file) if len(part.triangles)]
        if not parts:
            raise FormatError("there is no triangle in it")
        for part in parts:
            if not np.isfinite(part.vertices).all():
                raise FormatError("a coordinate in it is not finite")
            if np.abs(part.vertices).max() > FARTHEST:
                raise FormatError(f"a coordinate in it is larger than {FARTHEST:g}")
            if part.colour is not None and not np.isfinite(part.colour).all():
                raise FormatError("a colour in it is not finite")
        return parts

    def packed(self) -> tuple[list[Any], bytes]:
        """The meshes as data and one block of bytes, in which vertices are 16-bit parts of a bounding box."""
        total = sum(len(part.triangles) for part in self._all())
        share = min(1.0, MOST_TRIANGLES / max(total, 1))
        table: list[Any] = []
        block = bytearray()
        for parts in self.parts:
            if parts is None:
                table.append(None)
                continue
            rows = []
            for part in parts:
                vertices, triangles = coarsened(part.vertices, part.triangles, int(share * len(part.triangles)) + 4)
                if not len(triangles):  # all its vertices lie in one point
                    continue
                low = vertices.min(axis=0)
                span = np.maximum(vertices.max(axis=0) - low, 1e-12)
                grid = np.round((vertices - low) / span * 65535).astype("<u2")
                rows.append(
                    {
                        "low": [float(x) for x in low],
                        "span": [float(x) for x in span],
                        "vertices": [len(block), len(vertices)],
                        "triangles": [len(block) + 6 * len(vertices) + 2 * (len(vertices) % 2), len(triangles)],
                        "colour": None
                        if part.colour is None
                        else [round(min(max(float(c), 0.0), 1.0), 4) for c in part.colour],
                    }
                )
                # indices are 32-bit numbers and must lie at a multiple of four
                block += grid.tobytes() + bytes(2 * (len(vertices) % 2)) + triangles.astype("<u4").tobytes()
            table.append(rows)
        return table, bytes(block)

    def _all(self) -> Iterable[Part]:
        return (part for parts in self.parts if parts is not None for part in parts)


def coarsened(vertices: np.ndarray, triangles: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """A mesh with equal vertices merged and, if it has too many triangles, those in one cell of a grid too.

    Args:
        vertices: (n, 3).
        triangles: (m, 3) indices.
        most: triangles that are allowed.
    """
    low = vertices.min(axis=0)
    size = float((vertices.max(axis=0) - low).max()) or 1.0
    cells = 2**20
    while True:
        keys = np.round((vertices - low) / size * cells).astype(np.int64)
        flat = (keys[:, 0] << 42) | (keys[:, 1] << 21) | keys[:, 2]
        _, first, place = np.unique(flat, return_index=True, return_inverse=True)
        merged = place[triangles]
        real = (merged[:, 0] != merged[:, 1]) & (merged[:, 1] != merged[:, 2]) & (merged[:, 2] != merged[:, 0])
        kept = merged[real]
        if len(kept) <= most or cells <= 8:
            break
        kept = np.unique(np.sort(kept, axis=1), axis=0) if cells < 64 else kept
        cells = cells // 2 if cells > 1024 else int(cells * 0.8)
    used, renumbered = np.unique(kept, return_inverse=True)
    return vertices[first][used], renumbered.reshape(kept.shape)

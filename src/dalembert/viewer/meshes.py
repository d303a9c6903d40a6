"""Mesh files for the page: found where a URDF says they are, read, and made small enough to be mailed.

What cannot be found or read gets a warning that names it, and the page draws a placeholder.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import FormatError, ModelWarning
from dalembert.formats.mesh_files import Part, read_mesh
from dalembert.formats.mesh_search import is_of_model, locate, search_path
from dalembert.text.layout import printable

MOST_TRIANGLES = 250_000
"""Triangles of all meshes of a page together; finer ones are made coarser."""


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
        return read_mesh(file)

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

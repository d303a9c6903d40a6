"""STL and OBJ files as triangles."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import FormatError
from dalembert.formats.xml import read_bytes

Colour = tuple[float, float, float, float]

_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)", re.IGNORECASE)


@dataclass
class Part:
    """Triangles of one colour.

    Args:
        vertices: (n, 3), in the frame and the unit of the file; those of Collada are in metres.
        triangles: (m, 3) indices of vertices, counter-clockwise seen from outside.
        colour: red, green, blue, opacity in 0..1, if the file says one.
    """

    vertices: np.ndarray
    triangles: np.ndarray
    colour: Colour | None = None


def read_stl(file: Path) -> list[Part]:
    """A binary or textual STL file.

    Args:
        file: to read.
    """
    data = read_bytes(file)
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if count >= 0 and len(data) >= 84 + 50 * count and not (count == 0 and data.lstrip()[:5].lower() == b"solid"):
        records = np.frombuffer(
            data, dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")], count=count, offset=84
        )
        corners = records["v"].reshape(-1, 3).astype(float)
    elif data.lstrip()[:5].lower() == b"solid":
        corners = _floats([word for match in _VERTEX.findall(data) for word in match]).reshape(-1, 3)
        if len(corners) % 3:
            raise FormatError(f"this STL file has {len(corners)} vertices, which is no multiple of three", file)
    else:
        raise FormatError("this is no STL file, or it is cut off", file)
    return [Part(corners, np.arange(len(corners)).reshape(-1, 3))]


def read_obj(file: Path) -> list[Part]:
    """The polygons of a Wavefront OBJ file, with the diffuse colours of its materials.

    Args:
        file: to read.
    """
    points: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {"": []}
    colours: dict[str, Colour] = {}
    material = ""
    for number, line in enumerate(read_bytes(file).decode("utf-8", "replace").splitlines(), 1):
        word, *rest = line.split("#", 1)[0].split() or [""]
        try:
            if word == "v":
                points.append([float(x) for x in rest[:3]])
            elif word == "f":
                corners = [int(corner.split("/", 1)[0]) for corner in rest]
                corners = [k - 1 if k > 0 else len(points) + k for k in corners]
                if min(corners) < 0 or max(corners) >= len(points):
                    raise ValueError("a face uses a vertex that is not there")
                own = faces.setdefault(material, [])
                own += [(corners[0], corners[k], corners[k + 1]) for k in range(1, len(corners) - 1)]
            elif word == "usemtl":
                material = " ".join(rest)
            elif word == "mtllib":
                colours |= _materials(file.parent / " ".join(rest))
        except ValueError as error:
            raise FormatError(f"cannot be understood: {error}", file, number) from error
        if word == "v" and len(points[-1]) != 3:
            raise FormatError("a vertex needs three coordinates", file, number)
    vertices = np.array(points, dtype=float).reshape(-1, 3)
    return [Part(vertices, np.array(own, dtype=np.int64), colours.get(name)) for name, own in faces.items() if own]


def _materials(file: Path) -> dict[str, Colour]:
    """Diffuse colours by material; none if the library is not there, as is common."""
    found: dict[str, Colour] = {}
    try:
        text = read_bytes(file).decode("utf-8", "replace")
    except FormatError:
        return found
    name = ""
    for line in text.splitlines():
        word, *rest = line.split() or [""]
        if word == "newmtl":
            name = " ".join(rest)
        elif word == "Kd" and len(rest) >= 3:
            r, g, b = _floats([x.encode() for x in rest[:3]]).tolist()
            found[name] = (r, g, b, 1.0)
    return found


def _floats(words: list[bytes]) -> np.ndarray:
    try:
        return np.array(words, dtype="S32").astype(float) if words else np.zeros(0)
    except ValueError as error:
        raise FormatError(f"a coordinate cannot be understood: {error}") from error

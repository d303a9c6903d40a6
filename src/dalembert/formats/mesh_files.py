"""STL, OBJ and Collada files as triangles."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import FormatError
from dalembert.formats.xml import Element, read_bytes, read_xml

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
    """A binary or textual STL file."""
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
    """The polygons of a Wavefront OBJ file, with the diffuse colours of its materials."""
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


# -------------------------------------------------------------------------------------------------------------- Collada


MOST_NODES = 100_000
"""Nodes that are visited: nodes may refer to each other, and a file may do so without end."""


def read_collada(file: Path) -> list[Part]:
    """The scene of a Collada file, in metres."""
    return _Scene(read_xml(file), file).parts()


class _Scene:
    def __init__(self, root: Element, file: Path):
        if root.tag.rpartition(":")[2] != "COLLADA":
            raise FormatError("this is no Collada file", file)
        self.root, self.file, self.visited = root, file, 0
        self.named = {e.attributes["id"]: e for e in _descendants(root) if "id" in e.attributes}

    def parts(self) -> list[Part]:
        try:
            asset = _child(self.root, "asset")
            unit = _child(asset, "unit")
            base = np.diag([*[float(unit.attributes.get("meter", "1")) if unit else 1.0] * 3, 1.0])
            found: list[Part] = []
            for scene in self._scenes():
                for node in scene.all("node"):
                    found += self._node(node, base, 0)
            return found
        except (
            ValueError,
            ArithmeticError,
            LookupError,
            TypeError,
            RuntimeError,
        ) as error:  # the last: a StopIteration
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"this Collada file cannot be understood: {error!r}", self.file) from error

    def _scenes(self) -> list[Element]:
        scene = _child(self.root, "scene")
        used = _child(scene, "instance_visual_scene") if scene else None
        if used is not None:
            return [self._target(used, "url")]
        return [e for library in self.root.all("library_visual_scenes") for e in library.all("visual_scene")]

    def _target(self, element: Element, attribute: str) -> Element:
        name = element.attributes.get(attribute, "").lstrip("#")
        if name not in self.named:
            raise FormatError(f"<{element.tag}> refers to {name!r}, which is not there", self.file, element.line)
        return self.named[name]

    def _node(self, node: Element, outer: np.ndarray, depth: int) -> Iterator[Part]:
        self.visited += 1
        if self.visited > MOST_NODES or depth > 200:
            raise FormatError("nodes refer to each other without end", self.file, node.line)
        place = outer
        for child in node.children:
            place = place @ _motion(child)
        for child in node.children:
            if child.tag == "node":
                yield from self._node(child, place, depth + 1)
            elif child.tag == "instance_node":
                yield from self._node(self._target(child, "url"), place, depth + 1)
            elif child.tag == "instance_geometry":
                colours = self._colours(child)
                for part, symbol in self._geometry(self._target(child, "url")):
                    vertices = part.vertices @ place[:3, :3].T + place[:3, 3]
                    flipped = np.linalg.det(place[:3, :3]) < 0
                    triangles = part.triangles[:, ::-1] if flipped else part.triangles
                    yield Part(vertices, triangles, colours.get(symbol) or self._diffuse(symbol))

    # ------------------------------------------------------------------------------------------------------- geometry

    def _geometry(self, geometry: Element) -> Iterator[tuple[Part, str]]:
        mesh = _child(geometry, "mesh")
        for primitive in mesh.children if mesh else ():
            if primitive.tag not in ("triangles", "polylist", "polygons"):
                continue
            inputs = list(primitive.all("input"))
            stride = 1 + max((int(i.attributes.get("offset", "0")) for i in inputs), default=0)
            source = next(i for i in inputs if i.attributes.get("semantic") == "VERTEX")
            offset = int(source.attributes.get("offset", "0"))
            vertices = self._vertices(source)
            triangles = _triangles(primitive, stride, offset)
            if len(triangles) and (triangles.min() < 0 or triangles.max() >= len(vertices)):
                raise FormatError("a polygon uses a vertex that is not there", self.file, primitive.line)
            yield Part(vertices, triangles), primitive.attributes.get("material", "")

    def _vertices(self, source: Element) -> np.ndarray:
        group = self._target(source, "source")
        position = next(i for i in group.all("input") if i.attributes.get("semantic") == "POSITION")
        array = next(self._target(position, "source").all("float_array"))
        return np.array(array.text.split(), dtype=float).reshape(-1, 3)

    # -------------------------------------------------------------------------------------------------------- colours

    def _colours(self, instance: Element) -> dict[str, Colour]:
        """Colours by the symbols that the polygons of an instance use."""
        found: dict[str, Colour] = {}
        for binding in (e for e in _descendants(instance) if e.tag == "instance_material"):
            colour = self._diffuse(binding.attributes.get("target", "").lstrip("#"))
            if colour is not None:
                found[binding.attributes.get("symbol", "")] = colour
        return found

    def _diffuse(self, material: str) -> Colour | None:
        element = self.named.get(material)
        instance = _child(element, "instance_effect") if element else None
        effect = self.named.get(instance.attributes.get("url", "").lstrip("#")) if instance else None
        for diffuse in (e for e in _descendants(effect) if e.tag == "diffuse") if effect else ():
            colour = _child(diffuse, "color")
            if colour is not None:
                r, g, b, a = ([float(x) for x in colour.text.split()] + [1.0])[:4]
                return r, g, b, a
        return None


def _triangles(primitive: Element, stride: int, offset: int) -> np.ndarray:
    """Polygons as fans of triangles; every corner has ``stride`` indices, of which one is that of the vertex."""
    polygons = [np.array(p.text.split(), dtype=np.int64).reshape(-1, stride)[:, offset] for p in primitive.all("p")]
    if primitive.tag == "triangles":
        return np.concatenate(polygons).reshape(-1, 3) if polygons else np.zeros((0, 3), dtype=np.int64)
    if primitive.tag == "polylist":
        counts = np.array(primitive.need("vcount").text.split(), dtype=np.int64)
        flat = np.concatenate(polygons) if polygons else np.zeros(0, dtype=np.int64)
        polygons = np.split(flat, np.cumsum(counts)[:-1]) if len(counts) else []
    fans = [(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)]
    return np.array(fans, dtype=np.int64).reshape(-1, 3)


def _motion(element: Element) -> np.ndarray:
    """What one element of a node does to everything below it."""
    place = np.eye(4)
    if element.tag not in ("matrix", "translate", "rotate", "scale"):
        return place
    numbers = np.array(element.text.split(), dtype=float)
    if element.tag == "matrix":
        return numbers.reshape(4, 4)
    if element.tag == "translate":
        place[:3, 3] = numbers[:3]
    elif element.tag == "scale":
        place[:3, :3] = np.diag(numbers[:3])
    else:
        x, y, z = numbers[:3] / (np.linalg.norm(numbers[:3]) or 1.0)
        c, s = math.cos(math.radians(numbers[3])), math.sin(math.radians(numbers[3]))
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        place[:3, :3] = np.eye(3) + s * cross + (1 - c) * (cross @ cross)
    return place


def _child(element: Element | None, tag: str) -> Element | None:
    return None if element is None else next(element.all(tag), None)


def _descendants(element: Element) -> Iterator[Element]:
    stack = [element]
    while stack:
        found = stack.pop()
        yield found
        stack += reversed(found.children)


# -------------------------------------------------------------------------------------------------------- every format


MESH_READERS = {".stl": read_stl, ".obj": read_obj, ".dae": read_collada}
"""Suffix -> what reads the file."""

FARTHEST = 1e9
"""Largest coordinate of a vertex; no part of a mechanism is that large, in any unit."""


def read_mesh(file: Path) -> list[Part]:
    """The triangles of a mesh file; a FormatError if there are none, or if they are not finite.

    Args:
        file: whose suffix is one of :data:`MESH_READERS`.
    """
    reader = MESH_READERS.get(file.suffix.lower())
    if reader is None:
        raise FormatError(f"files {file.suffix!r} cannot be read; convert it to {', '.join(MESH_READERS)}")
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

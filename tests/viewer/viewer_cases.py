"""What the tests of the viewer share: the browser, a hostile mechanism, small meshes, a reader of pages."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import struct
import sys
import zlib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dalembert.model import WORLD, Body, Frame, Inertia, Joint, Mechanism, Shape

DOCS = Path(__file__).parents[2] / "docs"

NASTY = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=1">',
    "<!--<script>",
    "${document.title='owned'}",
    "`]]>&lt;b&gt; {{equations}} \\u003c",
    "__proto__",
)
"""Names that mean something in HTML or JavaScript."""


def chromium() -> ModuleType:
    """The driver of the browser, which lies beside the script that makes the pictures of the manual."""
    if "dalembert_chromium" not in sys.modules:
        spec = importlib.util.spec_from_file_location("dalembert_chromium", DOCS / "pictures" / "chromium.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["dalembert_chromium"] = module
        spec.loader.exec_module(module)
    return sys.modules["dalembert_chromium"]


def hostile() -> Mechanism:
    """A double pendulum in which everything has a name that wants to be something else."""
    ball = Inertia.sphere(1.0, 0.1, center=[0.5, 0, 0])
    along = np.array([0.0, 1.0, 0.0])
    return Mechanism(
        NASTY[0],
        (Body(NASTY[1], ball), Body(NASTY[2], ball, shapes=(Shape("mesh", (1.0, 1, 1), mesh=NASTY[3]),))),
        (Joint(NASTY[4], "revolute", WORLD, NASTY[1], axis=along), Joint(NASTY[5], "revolute", NASTY[1], NASTY[2])),
        (Frame("<svg onload=alert(1)>", NASTY[2]),),
    )


def data_of(page: str) -> dict[str, Any]:
    """The data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def block_of(page: str) -> bytes:
    """The bytes that a page carries."""
    found = re.search(r'<script type="text/plain" id="block">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return zlib.decompress(base64.b64decode(found[1]))


TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def binary_stl(vertices: np.ndarray = TETRAHEDRON) -> bytes:
    records = [struct.pack("<12fH", 0, 0, 0, *vertices[list(face)].ravel(), 0) for face in FACES]
    return b"x" * 80 + struct.pack("<I", len(records)) + b"".join(records)


def text_stl(vertices: np.ndarray = TETRAHEDRON) -> bytes:
    lines = ["solid tetrahedron"]
    for face in FACES:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += [f"vertex {x!r} {y!r} {z!r}" for x, y, z in vertices[list(face)].tolist()]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid"]).encode()


def obj(vertices: np.ndarray = TETRAHEDRON) -> bytes:
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in vertices.tolist()]
    lines += ["f " + " ".join(f"{k + 1}//{k + 1}" for k in face) for face in FACES[:2]]
    lines += ["f " + " ".join(str(k - len(vertices)) for k in face) for face in FACES[2:]]  # counted from the end
    return "\n".join(lines).encode()


def collada(vertices: np.ndarray = TETRAHEDRON, unit: float = 1.0, up: str = "Z_UP") -> bytes:
    """Two faces as triangles, two as polygons, under a node that shifts and turns and is turned back."""
    numbers = " ".join(map(repr, vertices.ravel().tolist()))
    first = " ".join(f"{k} 0" for face in FACES[:2] for k in face)
    second = " ".join(f"{k} 0" for face in FACES[2:] for k in face)
    inputs = '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>'
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="{unit}"/><up_axis>{up}</up_axis></asset>
<library_effects><effect id="paint-effect"><profile_COMMON><technique sid="c"><phong>
<diffuse><color>0.1 0.2 0.3 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="paint"><instance_effect url="#paint-effect"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">{numbers}</float_array></source>
<source id="n"><float_array id="na" count="3">0 0 1</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="2" material="m">{inputs}<p>{first}</p></triangles>
<polylist count="2" material="m">{inputs}<vcount>3 3</vcount><p>{second}</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>1 2 3</translate><rotate>0 0 1 90</rotate>
<node><rotate>0 0 1 -90</rotate><translate>-1 -2 -3</translate><instance_geometry url="#g"><bind_material>
<technique_common><instance_material symbol="m" target="#paint"/></technique_common></bind_material>
</instance_geometry></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>""".encode()

"""Mesh files: every format gives the same triangles, and no file, however broken, does more than warn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import viewer_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import FormatError, ModelWarning
from dalembert.formats.mesh_files import MESH_READERS
from dalembert.viewer.meshes import Meshes, coarsened

WRITERS = {
    "binary.stl": cases.binary_stl,
    "text.STL": cases.text_stl,
    "mesh.obj": cases.obj,
    "mesh.dae": cases.collada,
}


def soup(parts) -> np.ndarray:
    """Corners of all triangles, in an order that does not depend on how a file numbers them."""
    corners = np.concatenate([part.vertices[part.triangles].reshape(-1, 9) for part in parts])
    turned = np.stack([np.roll(corners.reshape(-1, 3, 3), k, axis=1).reshape(-1, 9) for k in range(3)])
    first = [min(range(3), key=lambda k: tuple(turned[k, i].round(6))) for i in range(len(corners))]
    rows = np.array([turned[k, i] for i, k in enumerate(first)])
    return rows[np.lexsort(rows.T.round(6))]


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_triangles_the_same_way_round(name, tmp_path):
    vertices = cases.TETRAHEDRON * [1.5, 2.5, 0.5] + [0.25, -0.5, 4.0]  # exact in single precision
    file = tmp_path / name
    file.write_bytes(WRITERS[name](vertices))
    found = soup(MESH_READERS[file.suffix.lower()](file))
    wanted = soup([type("", (), {"vertices": vertices, "triangles": np.array(cases.FACES)})])
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_collada_knows_units_and_colours_and_ignores_what_is_up(tmp_path):
    file = tmp_path / "mesh.dae"
    file.write_bytes(cases.collada(unit=0.001, up="Y_UP"))
    parts = MESH_READERS[".dae"](file)
    assert {part.colour for part in parts} == {(0.1, 0.2, 0.3, 1.0)}
    points = np.unique(np.concatenate([p.vertices[p.triangles].reshape(-1, 3) for p in parts]).round(9), axis=0)
    np.testing.assert_allclose(points, [[0, 0, 0], [0, 0, 0.001], [0, 0.001, 0], [0.001, 0, 0]], atol=1e-12)


def test_materials_of_obj_files_give_colours(tmp_path):
    (tmp_path / "c.mtl").write_text("newmtl red\nKd 1 0 0\n")
    (tmp_path / "m.obj").write_bytes(b"mtllib c.mtl\nusemtl red\n" + cases.obj())
    assert [part.colour for part in MESH_READERS[".obj"](tmp_path / "m.obj")] == [(1.0, 0.0, 0.0, 1.0)]


def drawn(address, folder=None) -> tuple[Meshes, list[str]]:
    meshes = Meshes(folder, consent=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        meshes.add(address, "arm")
    assert all(issubclass(w.category, ModelWarning) for w in caught)
    return meshes, [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("http://example.org/a.stl", "only files on this machine"),
        ("package://no_such_package/a.stl", "no such file"),
        ("nowhere.stl", "no such file"),
        ("\x00.stl", "no such file"),
        ("x" * 5000 + ".stl", "no such file"),
        (".", "no such file"),
    ],
)
def test_what_is_not_there_is_named_and_left_out(address, why, tmp_path):
    meshes, told = drawn(address, tmp_path)
    assert meshes.parts == [None] and len(told) == 1
    assert "body 'arm'" in told[0] and why in told[0]
    assert meshes.packed() == ([None], b"")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.stl", b"", "empty"),
        ("a.stl", b"\0", "no STL"),
        ("a.stl", cases.binary_stl()[:-7], "cut off"),
        ("a.stl", b"solid x\nfacet\nvertex 1 2 q\nvertex 1 2 3\nvertex 0 0 0\n", "cannot be understood"),
        ("a.stl", b"solid x\nfacet\nvertex 1 2 3\n", "multiple of three"),
        ("a.stl", b"solid nothing\nendsolid\n" + b" " * 100, "no triangle"),
        ("a.stl", cases.binary_stl(np.full((4, 3), np.nan)), "not finite"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "not there"),
        ("a.obj", b"v 0 zero 0\n", "cannot be understood"),
        ("a.obj", b"v 0 0\n", "three coordinates"),
        ("a.dae", b"<robot/>", "no Collada"),
        ("a.dae", b"<COLLADA", "malformed"),
        ("a.dae", b'<!DOCTYPE x [<!ENTITY a "b">]><COLLADA/>', "document type"),
        ("a.dae", cases.collada().replace(b'url="#g"', b'url="#h"'), "not there"),
        ("a.dae", cases.collada().replace(b"<p>0 0", b"<p>9 0"), "not there"),
        ("a.glb", b"glTF", "cannot be read"),
    ],
)
def test_what_is_broken_is_named_and_left_out(name, content, why, tmp_path):
    (tmp_path / name).write_bytes(content)
    meshes, told = drawn(name, tmp_path)
    assert meshes.parts == [None] and why in told[0]


def test_nodes_that_refer_to_each_other_end(tmp_path):
    loop = '<node id="a"><instance_node url="#a"/><instance_node url="#a"/></node>'
    text = f"<COLLADA><library_visual_scenes><visual_scene>{loop}</visual_scene></library_visual_scenes></COLLADA>"
    (tmp_path / "a.dae").write_text(text)
    assert "without end" in drawn("a.dae", tmp_path)[1][0]


@settings(max_examples=120)
@given(
    st.sampled_from([".stl", ".obj", ".dae"]),
    st.sampled_from([cases.binary_stl(), cases.text_stl(), cases.obj(), cases.collada(), b""]),
    st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=4)), max_size=6),
)
def test_no_damage_does_more_than_a_format_error(tmp_path_factory, suffix, content, damage):
    changed = bytearray(content)
    for at, replacement in damage:
        changed[at : at + len(replacement)] = replacement
    file = tmp_path_factory.getbasetemp() / f"damaged{suffix}"
    file.write_bytes(changed)
    try:
        parts = MESH_READERS[suffix](file)
    except FormatError:
        return
    for part in parts:
        assert part.triangles.size == 0 or 0 <= part.triangles.min() <= part.triangles.max() < len(part.vertices)


def test_packages_are_found_around_the_model_and_by_the_environment(tmp_path, monkeypatch):
    mesh = tmp_path / "ws" / "my_robot" / "meshes" / "a.stl"
    mesh.parent.mkdir(parents=True)
    mesh.write_bytes(cases.binary_stl())
    urdf = tmp_path / "ws" / "my_robot" / "urdf"
    urdf.mkdir()
    for address, folder in [
        ("package://my_robot/meshes/a.stl", urdf),
        ("../meshes/a.stl", urdf),
        (str(mesh), urdf),
        (mesh.as_uri(), None),
    ]:
        assert drawn(address, folder)[1] == []
    assert drawn("package://my_robot/meshes/a.stl")[1] != []
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ws"))
    assert drawn("package://my_robot/meshes/a.stl")[1] == []


def test_a_mesh_is_read_once(tmp_path):
    (tmp_path / "a.stl").write_bytes(cases.binary_stl())
    meshes = Meshes(tmp_path)
    assert [meshes.add("a.stl", "x"), meshes.add("a.stl", "y")] == [0, 0] and len(meshes.parts) == 1


def test_packing_keeps_vertices_to_a_part_in_65535(tmp_path):
    rng = np.random.default_rng(0)
    vertices = cases.TETRAHEDRON * [2.0, 0.5, 1.0] + rng.normal(size=3)
    (tmp_path / "a.stl").write_bytes(cases.binary_stl(vertices))
    meshes = Meshes(tmp_path)
    meshes.add("a.stl", "x")
    (((row,),), block) = meshes.packed()
    at, count = row["vertices"]
    grid = np.frombuffer(block, "<u2", 3 * count, at).reshape(-1, 3)
    place, triangles = row["triangles"]
    index = np.frombuffer(block, "<u4", 3 * triangles, place).reshape(-1, 3)
    back = np.array(row["low"]) + np.array(row["span"]) * grid / 65535
    part = type("", (), {"vertices": back, "triangles": index})
    wanted = type("", (), {"vertices": vertices, "triangles": np.array(cases.FACES)})
    np.testing.assert_allclose(soup([part]), soup([wanted]), atol=2.0 / 65535)


def test_coarse_meshes_have_few_triangles_and_nearly_the_same_size():
    side = np.linspace(0, 1, 60)
    x, y = (g.ravel() for g in np.meshgrid(side, side))
    vertices = np.stack([x, y, 0.1 * np.sin(6 * x)], axis=1)
    k = (np.arange(59)[:, None] * 60 + np.arange(59)).ravel()
    triangles = np.concatenate([np.stack([k, k + 1, k + 60], axis=1), np.stack([k + 1, k + 61, k + 60], axis=1)])
    coarse, kept = coarsened(vertices, triangles, 800)
    assert 100 < len(kept) <= 800 and kept.max() == len(coarse) - 1
    np.testing.assert_allclose(np.ptp(coarse, axis=0), np.ptp(vertices, axis=0), atol=0.06)
    same, all_kept = coarsened(vertices, triangles, 10**6)
    assert len(all_kept) == len(triangles) and len(same) == len(vertices)

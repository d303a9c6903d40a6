"""Contacts on the page: collision shapes, grounds, forces of a motion; as data, and in a browser if there is one."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
import viewer_cases as cases

import dalembert as da
from dalembert.model import Body, Ground, Inertia, Joint, Mechanism, Shape
from dalembert.viewer import view
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.motion import motion
from dalembert.viewer.scene import scene

browsers = cases.chromium()
WEDGE = ((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1))


def ball(ground="plane") -> Mechanism:
    shapes = (Shape.sphere(0.1), Shape("mesh", mesh="w.stl", vertices=WEDGE), Shape.points([(0, 0, -0.1)]))
    body = Body("ball", Inertia.sphere(1, 0.1), collisions=shapes)
    bare = Mechanism("ball", (body,), (Joint("base", "free", "world", "ball"),))
    return da.contacts(bare, 0.3, ground=ground).mechanism


def shown(mechanism: Mechanism) -> dict:
    return scene(mechanism, mechanism.neutral, Meshes())


@pytest.fixture(scope="module")
def drop():
    return da.simulate(ball(), [0, 0, 0.15, 0, 0, 0, 1], [0.5, 0, 0, 0, 0, 0], t=0.3)


def test_shapes_that_touch_are_data_of_the_page_once_each():
    found = shown(ball())["collisions"]
    assert [shape["kind"] for shape in found] == ["sphere", "mesh", "points"]
    assert len(found[1]["triangles"]) == 12 and len(found[1]["vertices"]) == 12
    corners = np.array(found[1]["vertices"]).reshape(-1, 3)[np.array(found[1]["triangles"]).reshape(-1, 3)]
    outward = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.einsum("ij,ij->i", outward, corners.mean(axis=1) - np.mean(WEDGE, axis=0)) > 0).all()


def test_the_floor_is_a_level_plane_and_other_grounds_are_surfaces():
    assert shown(ball())["floor"] == 0 and shown(ball())["grounds"] == []
    tilted = shown(ball(Ground.half_spaces([((0, 0, -1), (0, 0, 1)), ((0, 0, 0), (1, 0, 1))])))
    assert tilted["floor"] == -1
    (slope,) = tilted["grounds"]
    corners = np.array(slope["vertices"]).reshape(-1, 3)
    np.testing.assert_allclose(corners @ [1, 0, 1], 0, atol=1e-6)
    hills = Ground.formula(lambda x, y: x * x / 10 + y / 5)
    (surface,) = shown(ball(hills))["grounds"]
    x, y, z = np.array(surface["vertices"]).reshape(-1, 3).T
    np.testing.assert_allclose(z, x * x / 10 + y / 5, atol=1e-7)
    field = Ground.height_field([[0, 1], [2, 3], [4, 5]], 0.5)
    (surface,) = shown(ball(field))["grounds"]
    assert sorted(surface["vertices"][2::3]) == [0, 1, 2, 3, 4, 5] and len(surface["triangles"]) == 12
    assert shown(da.load("double_pendulum", parameters="default"))["floor"] is None


def test_forces_of_a_motion_are_curves(drop):
    table, block = motion(drop)
    at, size = table["places"]["push"]
    push = np.frombuffer(block[at : at + 4 * size], dtype="<f4").reshape(table["count"], -1, 3)
    assert push.shape[1] == len(drop.contacts.names)
    np.testing.assert_allclose(push[-1].sum(axis=0), drop.contacts.world_forces[-1].sum(axis=0), rtol=1e-5, atol=1e-5)
    at, size = table["places"]["touch"]
    touch = np.frombuffer(block[at : at + 4 * size], dtype="<f4").reshape(table["count"], -1, 3)
    np.testing.assert_allclose(touch[0], drop.contacts.positions[0], atol=1e-6)


def test_the_page_stays_offline_and_its_policy_names_all_scripts(drop, tmp_path):
    page = view(drop, to=tmp_path / "drop.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    outside = set(re.findall(r"https?://[^\s\"'<>)]+", cases.data_of(page).__repr__()))
    assert not outside
    packed = re.search(r'id="block">([^<]*)<', page)
    assert packed is not None and zlib.decompress(base64.b64decode(packed[1]))


@pytest.mark.skipif(browsers.find_chromium() is None, reason="needs Chromium")
def test_arrows_stand_where_the_forces_are(drop, tmp_path):
    with browsers.Chromium(1000, 640) as browser:
        browser.open(view(drop, to=tmp_path / "drop.html"), "!!window.dalembert")
        browser.run("dalembert.pause(); dalembert.at(0.29)")
        names = [chip.strip() for chip in browser.run("document.querySelector('.chips').innerText").splitlines()]
        assert {"Collision shapes", "Contact forces"} <= set(names)
        arrows = browser.run("dalembert.stage.arrows.filter((a) => a.visible).map((a) => a.position.toArray())")
        assert arrows and all(abs(place[2]) < 0.01 for place in arrows)
        browser.click('[data-layer="contacts"]')
        assert browser.run("dalembert.stage.arrows.filter((a) => a.visible).length") == 0
        assert browser.run("dalembert.stage.level") == 0
        assert browser.messages == []

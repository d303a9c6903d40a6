"""Pictures and films: what is drawn lies where geometry says, in front what is nearer; files are what they claim."""

from __future__ import annotations

import importlib.util
import io
import math
import struct
import warnings
import zlib

import numpy as np
import pytest

import dalembert as da
from dalembert.cli.application import main
from dalembert.errors import ArgumentError, MissingExtraError, ModelError
from dalembert.viewer import film, picture
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.picture import FINER, OPENING, Studio
from dalembert.viewer.raster import corner_normals, png, rasterise, unit
from dalembert.viewer.scene import scene
from dalembert.viewer.solids import figure, rod, solid

FILMS = importlib.util.find_spec("imageio") is not None
FFMPEG = importlib.util.find_spec("imageio_ffmpeg") is not None


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """By Gauss' theorem; positive if all triangles are counter-clockwise seen from outside."""
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("kind", "size", "exact"),
    [
        ("box", [0.2, 0.7, 1.5], 0.2 * 0.7 * 1.5),
        ("sphere", [0.6], 4 / 3 * math.pi * 0.6**3),
        ("ellipsoid", [0.3, 0.5, 0.9], 4 / 3 * math.pi * 0.3 * 0.5 * 0.9),
        ("cylinder", [0.3, 2.0], math.pi * 0.3**2 * 2.0),
        ("capsule", [0.3, 1.1], math.pi * 0.3**2 * 1.1 + 4 / 3 * math.pi * 0.3**3),
    ],
)
def test_solids_are_closed_and_have_their_volume(kind, size, exact):
    """With 28 facets a circle loses 2 pi^2 / (3 * 28^2) = 0.8 % of its area, a sphere about twice that."""
    vertices, triangles = solid(kind, size)
    assert exact * (1 - 0.03) < volume(vertices, triangles) <= exact * (1 + 1e-12)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    places = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)[1].reshape(-1)[edges]
    ways = {tuple(edge) for edge in places.tolist() if edge[0] != edge[1]}
    assert all((b, a) in ways for a, b in ways)  # every edge belongs to two triangles, once in each direction


@pytest.mark.parametrize("kind", ["points", "cone", "Box"])
def test_a_shape_without_a_picture_is_refused_and_not_drawn_as_another(kind):
    body = da.Body("b", da.Inertia.sphere(1, 0.1), shapes=(da.Shape(kind, (0.1, 0.2, 0.3)),))
    mechanism = da.Mechanism("m", [body], [da.Joint("j", "revolute", "world", "b")])
    with pytest.raises(ModelError, match="body 'b': there is no picture of a shape of kind"):
        scene(mechanism, mechanism.neutral, Meshes(mechanism))
    with pytest.raises(ArgumentError, match="no solid"):
        solid(kind, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("at", [[0, 0, 0], [1.0, 2.0, 3.0]])
def test_shapes_are_where_bodies_and_placements_put_them(at):
    """Bodies that are fixed to a carrier have the carrier's link, and a place in it."""
    box = da.Shape("box", (0.2, 0.4, 0.6), da.Transform.from_rpy_xyz([0, 0, math.pi / 2], at))
    bodies = [da.Body("a", da.Inertia.sphere(1, 0.1)), da.Body("b", da.Inertia.box(2, [0.6, 0.8, 1.0]), shapes=(box,))]
    aside = da.Transform.from_rpy_xyz([math.pi / 2, 0, 0], [0, 0, 5])
    joints = [da.Joint("j", "revolute", "world", "a"), da.Joint("k", "fixed", "a", "b", aside)]
    mechanism = da.Mechanism("m", bodies, joints)
    found = scene(mechanism, mechanism.neutral, Meshes(mechanism))["bodies"][1]
    (drawn,) = found["shapes"]
    placed = aside @ box.placement
    np.testing.assert_allclose(drawn["at"], [*placed.rotation.flat, *placed.translation], atol=1e-9)
    # A homogeneous ellipsoid of the inertia of a box has its edges, times sqrt(5/12).
    np.testing.assert_allclose(sorted(found["ellipsoid"]["axes"]), np.array([0.6, 0.8, 1.0]) * math.sqrt(5 / 12))


def test_pixels_are_those_whose_middle_a_triangle_covers():
    rng = np.random.default_rng(4)
    points, near = rng.uniform(-5, 45, (30, 2)), rng.uniform(0.5, 2.0, 30)
    triangles = rng.integers(0, 30, (40, 3))
    hits = rasterise(points, near, triangles, 40, 32)
    seen = dict(zip(hits.pixels.tolist(), hits.triangles.tolist()))
    for pixel in range(40 * 32):
        x, y = pixel % 40 + 0.5, pixel // 40 + 0.5
        best = (0.0, -1)
        for k, (a, b, c) in enumerate(triangles):
            corners = np.array([[*points[i], 1.0] for i in (a, b, c)]).T
            if abs(np.linalg.det(corners)) < 1e-9:
                continue
            shares = np.linalg.solve(corners, [x, y, 1.0])
            if shares.min() >= 0:
                best = max(best, (float(shares @ near[[a, b, c]]), k))
        assert seen.get(pixel, -1) == best[1]
    inside = hits.weights
    assert inside.min() >= 0
    assert np.allclose(inside.sum(axis=1), 1)


def test_triangles_behind_the_eye_and_of_no_area_are_left_out():
    points = np.array([[0.0, 0], [20, 0], [0, 20], [10, 10]])
    assert len(rasterise(points, np.array([1.0, 1, -1, 1]), np.array([[0, 1, 2], [1, 3, 3]]), 20, 20).pixels) == 0
    assert len(rasterise(points, np.ones(4), np.zeros((0, 3), dtype=int), 20, 20).pixels) == 0


def test_normals_are_smooth_on_a_cylinder_and_sharp_at_its_rim():
    vertices, triangles = solid("cylinder", [0.5, 1.0])
    normals = corner_normals(vertices, triangles)
    caps = np.abs(unit(np.cross(*(vertices[triangles[:, k]] - vertices[triangles[:, 0]] for k in (1, 2))))[:, 2]) > 0.9
    assert np.allclose(np.abs(normals[caps][..., 2]), 1)
    radial = vertices[triangles[~caps]] * [1, 1, 0]
    assert np.abs(normals[~caps] - unit(radial)).max() < 0.15  # facets of 13 degrees, smoothed


def test_a_picture_shows_a_ball_where_it_is():
    """The silhouette of a sphere is a circle about the projection of its centre, to a pixel."""
    ball = da.Body("ball", da.Inertia.sphere(1.0, 0.1), shapes=(da.Shape("sphere", (0.1,), colour=(1, 0, 0, 1)),))
    mast = da.Body("mast", da.Inertia(), shapes=(da.Shape("box", (0.05, 0.05, 0.8)),))
    joints = (da.Joint("foot", "fixed", "world", "mast"), da.Joint("x", "prismatic", "mast", "ball", axis=[1, 0, 0]))
    machine = da.Mechanism("ball", (mast, ball), joints)
    studio = Studio(machine, None, {"x": 0.5}, (320, 240), (-90.0, 0.0), None)
    pixels = studio.at(studio.start).pixels.astype(int)
    red = (pixels[..., 0] > 90) & (pixels[..., 1] < 60)
    where = np.argwhere(red)
    middle = studio._fixed.project(np.array([[0.5, 0.0, 0.0]]), 320, 240)[0][0]
    assert np.abs(where.mean(axis=0)[::-1] + 0.5 - middle).max() < 1.0
    away = studio._fixed.distance + (studio._fixed.target - [0.5, 0, 0]) @ studio._fixed.axes[2]
    radius = 0.5 * 240 / math.tan(OPENING / 2) * 0.1 / math.sqrt(away**2 - 0.1**2)
    assert abs(math.sqrt(len(where) / math.pi) - radius) < 1.0
    assert FINER >= 2


def test_what_is_nearer_hides_what_is_behind():
    near = da.Body("near", shapes=(da.Shape("box", (0.4, 0.1, 0.4), colour=(0, 0, 1, 1)),))
    far = da.Body("far", shapes=(da.Shape("box", (0.2, 0.1, 0.2), colour=(1, 0, 0, 1)),))
    ahead = da.Transform(np.eye(3), np.array([0.0, -1.0, 0.0]))
    joints = (da.Joint("a", "fixed", "world", "far"), da.Joint("b", "fixed", "world", "near", placement=ahead))
    machine = da.Mechanism("two", (far, near), joints)
    front = picture(machine, size=(120, 90), look=(-90.0, 0.0)).pixels.astype(int)
    back = picture(machine, size=(120, 90), look=(90.0, 0.0)).pixels.astype(int)
    assert not ((front[..., 0] > 150) & (front[..., 2] < 80)).any()
    assert ((back[..., 0] > 110) & (back[..., 2] < 80)).any()


def test_everything_is_in_the_picture():
    """The edge of every picture is background: nothing is cut off."""
    for name in ("double_pendulum", "four_bar", "demo_arm", "cart_pole"):
        machine = da.load(name)
        studio = Studio(machine, None, None, (160, 120), None, None)
        for points, _, _ in studio.figure.triangles(studio.start):
            screen, near = studio._fixed.project(points, 160, 120)
            assert (near > 0).all()
            assert screen.min() > 0
            assert (screen < [160, 120]).all()
        pixels = studio.at(studio.start).pixels
        assert float(pixels.std()) > 5, name


def test_a_png_is_read_back_as_it_was(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    data = png(pixels)
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, body, size = 8, b"", (0, 0)
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        content = data[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + content) == struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0]
        if kind == b"IHDR":
            size = struct.unpack(">II", content[:8])
        body += content if kind == b"IDAT" else b""
        at += 12 + length
    assert size == (5, 7)
    lines = np.frombuffer(zlib.decompress(body), dtype=np.uint8).reshape(7, 16)
    assert (lines[:, 0] == 1).all()
    assert (np.cumsum(lines[:, 1:].reshape(7, 5, 3), axis=1, dtype=np.uint8) == pixels).all()


@pytest.fixture(scope="module")
def swing():
    machine = da.load("double_pendulum", parameters="default")
    return da.simulate(machine, [1.0, 0.5], t=0.5, rtol=1e-6)


def test_a_motion_is_drawn_at_several_moments_or_at_one(swing, tmp_path):
    machine = swing.mechanism
    several, one = picture(machine, swing, size=(200, 150)), picture(machine, swing, t=0.5, size=(200, 150))
    drawn = [(abs(p.pixels.astype(int) - p.pixels[0, 0]).sum(axis=-1) > 60).sum() for p in (several, one)]
    assert drawn[0] > 1.5 * drawn[1]
    path = da.view(swing, to=tmp_path / "swing.png", size=(200, 150))
    assert path.read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ArgumentError, match=r"known from 0 s to 0\.5 s"):
        picture(machine, swing, t=0.7)


def test_symbols_grounds_and_contact_forces_are_drawn():
    machine = da.load("demo_arm")
    assert picture(da.load("cart_pole"), size=(64, 48)).pixels.shape == (48, 64, 3)
    ball = da.Shape.sphere(0.1)
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(ball,))
    contact = da.Contact("touch", "ball", "world", friction=0.5, shape_a=ball, shape_b=da.Ground.plane())
    scene = da.Mechanism("ball", (body,), (da.Joint("base", "free", "world", "ball"),), contacts=(contact,))
    motion = da.simulate(scene, [0, 0, 0.1, 0, 0, 0, 1], t=0.05)
    studio = Studio(scene, motion, None, (64, 48), None, None)
    assert studio.level == 0.0
    assert len(studio._arrows.at(0.05)) == 1
    assert len(figure(machine, machine.neutral, Meshes()).solids) > 3


@pytest.mark.skipif(not FILMS, reason="needs imageio (extra video)")
def test_a_film_has_its_pictures_and_its_speed(swing, tmp_path):
    import imageio.v2 as imageio

    path = film(swing.mechanism, swing, tmp_path / "swing.gif", size=(64, 48), fps=10, speed=0.5)
    with imageio.get_reader(path) as found:
        assert len(found) == 11  # 0.5 s, half as fast, ten times a second, both ends
        assert abs(found.get_meta_data()["duration"] - 100) <= 1
    shown = da.view(swing, to=tmp_path / "again.gif", size=(64, 48), fps=4)
    assert shown._repr_html_().startswith('<img src="data:image/gif;base64,')


@pytest.mark.skipif(not FFMPEG, reason="needs imageio-ffmpeg (extra video)")
def test_a_film_for_players(swing, tmp_path):
    path = da.view(swing, to=tmp_path / "swing.mp4", size=(64, 48), fps=10)
    assert path.read_bytes()[4:8] == b"ftyp"
    assert "<video" in path._repr_html_()


def test_films_without_their_packages_say_how_to_get_them(swing, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "imageio.v2", None)
    with pytest.raises(MissingExtraError, match=r"dalembert\[video\]"):
        film(swing.mechanism, swing, tmp_path / "a.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"size": (5, 5)}, "16 to 4096"),
        ({"size": 12}, "width and height"),
        ({"look": "left"}, "azimuth and elevation"),
        ({"fps": 10}, "png files take"),
    ],
)
def test_nonsense_is_refused(options, why, swing, tmp_path):
    with pytest.raises(ArgumentError, match=why):
        da.view(swing, to=tmp_path / "a.png", **options)


def test_pages_take_no_options_of_pictures(swing, tmp_path):
    with pytest.raises(ArgumentError, match="pictures, films and live views"):
        da.view(swing, to=tmp_path / "a.html", size=(64, 48))
    with pytest.raises(ArgumentError, match="a film shows a motion"):
        da.view(swing.mechanism, to=tmp_path / "a.gif")
    if FILMS:
        with pytest.raises(ArgumentError, match="more than 3000"):
            da.view(swing, to=tmp_path / "a.gif", speed=1e-6)


def test_the_command_draws(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["view", "demo_arm", "--to", "arm.png", "--size", "96,64", "--look", "30,10"]) == 0
    assert (tmp_path / "arm.png").read_bytes()[:4] == b"\x89PNG"
    assert main(["view", "demo_arm", "--size", "96,64"]) == 2
    assert "--to FILE.png" in capsys.readouterr().err
    assert main(["view", "demo_arm", "--to", "a.png", "--live"]) == 2


def test_a_view_is_a_path_and_what_is_made_from_it_is_a_plain_one(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = da.view("demo_arm", to=tmp_path / "a.png", size=(32, 24))
    assert shown == tmp_path / "a.png"
    assert shown.parent == tmp_path
    assert io.BytesIO(shown.read_bytes()).read(4) == b"\x89PNG"
    assert rod(np.zeros(3), np.zeros(3), 1.0)[1].shape == (0, 3)

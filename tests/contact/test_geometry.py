"""Points of contact against MuJoCo's distances, against sampled surfaces, and under rigid motions; over any scalar.

Tolerances: poses and sizes are of order one, so rounding stays below 1e-13.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.algebra.transform import Transform
from dalembert.contact.geometry import contact_points, is_supported, point_names
from dalembert.contact.pairs import PAIRS
from dalembert.errors import UnsupportedError
from dalembert.model import Contact, Ground, Shape
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

SHAPES = {
    "sphere": Shape("sphere", (0.2,)),
    "capsule": Shape("capsule", (0.1, 0.8)),
    "box": Shape("box", (0.4, 0.6, 0.8)),
    "cylinder": Shape("cylinder", (0.2, 0.5)),
    "ellipsoid": Shape("ellipsoid", (0.3, 0.2, 0.1)),
    "points": Shape("points", vertices=((0.1, 0, 0), (0, 0.2, 0), (0, 0, -0.3))),
    "mesh": Shape("mesh", mesh="wedge.stl", vertices=((0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3))),
}
GROUNDS = {
    "plane": Ground.plane((0.1, -0.2, 0.3), (0.2, -0.1, 1)),
    "half-spaces": Ground.half_spaces([((0, 0, 0), (0, 0, 1)), ((-1, 0, 0), (1, 0, 0))]),
    "formula": Ground.formula(lambda x, y: x * x / 20 - y / 10 + x * y / 30),
    "height-field": Ground.height_field(np.add.outer(np.linspace(0, 0.3, 5), np.linspace(0, -0.5, 4)), 0.5),
}
ROUND = ("ellipsoid", "cylinder")
"""On curved ground, their lowest points are found in one or two steps."""
COUNTS = {"sphere": 1, "capsule": 2, "box": 8, "cylinder": 6, "ellipsoid": 1, "points": 3, "mesh": 4}


def random_pose(rng, spread=0.5) -> Transform:
    return Transform(rotation_from_rpy(*rng.uniform(-3, 3, 3)), spread * rng.normal(size=3))


def pair(a: str, b: str) -> Contact:
    return Contact("pair", "a", "b", SHAPES[a], SHAPES[b], friction=0)


def on(shape: str, ground: Ground) -> Contact:
    return Contact("touch", "a", shape_a=SHAPES[shape], shape_b=ground, friction=0)


def vector(points) -> np.ndarray:
    return np.array([[p.gap, *p.normal, *p.point_a, *p.point_b] for p in points], dtype=float)


def surface(shape: Shape, pose: Transform, count: int = 60) -> np.ndarray:
    """Many points of the surface of a round shape, or the corners of an edged one, in the world, (n, 3)."""
    angle, height = np.meshgrid(np.linspace(0, 2 * np.pi, 4 * count), np.linspace(-1, 1, 4 * count))
    ring = np.sqrt(1 - height**2)
    ball = np.stack([ring * np.cos(angle), ring * np.sin(angle), height], -1).reshape(-1, 3)
    if shape.kind == "sphere":
        found = shape.size[0] * ball
    elif shape.kind == "ellipsoid":
        found = np.array(shape.size) * ball
    elif shape.kind == "capsule":
        ends = [shape.size[0] * ball + [0, 0, s * shape.size[1] / 2] for s in (-1, 1)]
        found = np.concatenate(ends)
    elif shape.kind == "cylinder":
        circle = np.stack([np.cos(angle[0]), np.sin(angle[0]), 0 * angle[0]], -1) * shape.size[0]
        found = np.concatenate([circle + [0, 0, s * shape.size[1] / 2] for s in (-1, 1)])
    elif shape.kind == "box":
        found = np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * shape.size
    else:
        found = np.array(shape.vertices)
    return found @ pose.rotation.T + pose.translation


@pytest.mark.parametrize(("a", "b"), [kinds for kinds in PAIRS if kinds != ("box", "box")])
def test_pairs_have_the_distance_that_mujoco_finds(a, b):
    """MuJoCo 3 and later, mj_geomDistance, for shapes that are apart; inside each other it finds what it may."""
    mujoco = pytest.importorskip("mujoco")
    sizes = {"sphere": "0.2", "capsule": "0.1 0.4", "box": "0.2 0.3 0.4"}
    bodies = "".join(f'<body><freejoint/><geom type="{k}" size="{sizes[k]}"/></body>' for k in (a, b))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    data, rng, apart = mujoco.MjData(model), np.random.default_rng(7), 0
    for _ in range(200):
        poses = [random_pose(rng), random_pose(rng)]
        for k, pose in enumerate(poses):
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, pose.rotation.ravel())
            data.qpos[7 * k : 7 * k + 7] = [*pose.translation, *quaternion]
        mujoco.mj_kinematics(model, data)
        theirs = mujoco.mj_geomDistance(model, data, 0, 1, 10, np.zeros(6))
        if theirs > 0:
            apart += 1
            assert abs(min(p.gap for p in contact_points(pair(a, b), *poses)) - theirs) < 1e-7
    assert apart > 100


@pytest.mark.parametrize("shape", SHAPES)
def test_no_point_of_a_shape_lies_below_its_points_of_contact_with_a_plane(shape):
    rng = np.random.default_rng(3)
    ground = GROUNDS["plane"]
    normal, point = ground.normals[0], ground.points[0]
    for _ in range(20):
        pose = random_pose(rng)
        found = contact_points(on(shape, ground), pose, Transform.identity())
        assert len(found) == COUNTS[shape] == len(point_names(on(shape, ground)))
        lowest = ((surface(SHAPES[shape], pose) - point) @ normal).min()
        assert -1e-12 < lowest - min(p.gap for p in found) < 2e-4  # of 240 samples around


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_points_and_gaps_agree_and_move_with_the_scene(shape, ground):
    rng = np.random.default_rng(5)
    contact = on(shape, GROUNDS[ground])
    pose = Transform(random_pose(rng).rotation, np.array([0.1, 0.2, 0.4]))
    found = contact_points(contact, pose, Transform.identity())
    for p in found:
        assert abs(np.linalg.norm(p.normal) - 1) < 1e-12
        assert abs(p.normal @ (p.point_a - p.point_b) - p.gap) < 1e-12
    moved = random_pose(rng)
    for p, seen in zip(found, contact_points(contact, moved @ pose, moved)):
        np.testing.assert_allclose(seen.gap, p.gap, atol=1e-12)
        np.testing.assert_allclose(seen.normal, moved.rotate(p.normal), atol=1e-12)
        np.testing.assert_allclose(seen.point_a, moved.apply(p.point_a), atol=1e-12)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_exchanging_the_ends_of_a_pair_turns_the_normal(a, b):
    rng = np.random.default_rng(11)
    for _ in range(10):
        one, two = random_pose(rng, 0.3), random_pose(rng, 0.3)
        here, there = contact_points(pair(a, b), one, two), contact_points(pair(b, a), two, one)
        if a != b:  # of equal kinds the roles may be exchanged inside
            for p, q in zip(here, there):
                np.testing.assert_allclose(q.normal, -p.normal, atol=1e-12)
                np.testing.assert_allclose(q.point_a, p.point_b, atol=1e-12)
        np.testing.assert_allclose(min(p.gap for p in here), min(p.gap for p in there), atol=1e-12)
        for p in here:
            assert abs(p.normal @ (p.point_a - p.point_b) - p.gap) < 1e-12


@pytest.mark.parametrize(
    "contact",
    [*(pair(*kinds) for kinds in PAIRS), *(on(s, g) for s in SHAPES for g in GROUNDS.values())],
    ids=lambda c: f"{c.shape_a.kind}-{c.shape_b.kind}",
)
def test_traced_points_are_those_of_numbers(contact):
    """The same code, as a program; on numbers that take either side of its choices."""

    def points(R, p, S, r):
        found = contact_points(contact, Transform(R, p), Transform(S, r))
        return np.array([[x.gap, *x.normal, *x.point_a, *x.point_b] for x in found], dtype=object)

    program = trace(points, {"R": (3, 3), "p": (3,), "S": (3, 3), "r": (3,)}, "points", ["points"])
    rng = np.random.default_rng(2)
    for _ in range(5):
        a, b = random_pose(rng, 0.3), random_pose(rng, 0.1)
        values = {"R": a.rotation, "p": a.translation, "S": b.rotation, "r": b.translation}
        np.testing.assert_allclose(
            evaluate(program, values)["points"], vector(contact_points(contact, a, b)), atol=1e-11
        )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ground", ["plane", "formula"])
def test_the_normal_is_the_gradient_of_the_gap(shape, ground):
    """Moving a body by d changes its gap by normal . d: complex step in a random direction."""
    rng = np.random.default_rng(13)
    contact = on(shape, GROUNDS[ground])
    pose, way, h = random_pose(rng, 0.2), rng.normal(size=3), 1e-30
    moved = Transform(pose.rotation.astype(complex), pose.translation + 1j * h * way)
    still = contact_points(contact, pose, Transform.identity())
    step = 3 if shape == "cylinder" else 1  # only the lowest point of a rim; the two beside it turn around with it
    for p, q in list(zip(still, contact_points(contact, moved, Transform.identity())))[::step]:
        slack = 1e-4 if ground == "formula" and shape in ROUND else 1e-9
        assert abs(q.gap.imag / h - p.normal @ way) < slack * np.linalg.norm(way)


def test_the_foot_on_a_curved_ground_is_the_nearest_point():
    """A sphere above z = sin(2 x) cos(y) / 4, against a fine grid of that surface."""
    import sympy

    x, y = sympy.symbols("x y")
    contact = Contact("c", "a", shape_a=Shape("sphere", (0.1,)), friction=0,
                      shape_b=Ground.formula(sympy.sin(2 * x) * sympy.cos(y) / 4))  # fmt: skip
    rng = np.random.default_rng(17)
    for _ in range(10):
        u, v = rng.uniform(-1, 1, 2)
        centre = np.array([u, v, np.sin(2 * u) * np.cos(v) / 4 + rng.uniform(0.05, 0.3)])
        (point,) = contact_points(contact, Transform.from_translation(centre), Transform.identity())
        a, b = np.meshgrid(u + np.linspace(-0.4, 0.4, 401), v + np.linspace(-0.4, 0.4, 401))
        nearest = np.sqrt((a - u) ** 2 + (b - v) ** 2 + (np.sin(2 * a) * np.cos(b) / 4 - centre[2]) ** 2).min()
        assert abs(point.gap + 0.1 - nearest) < 5e-5  # the grid's width squared over the distance
        foot = point.point_b
        assert abs(foot[2] - np.sin(2 * foot[0]) * np.cos(foot[1]) / 4) < 1e-9


def test_a_level_height_field_is_a_plane_and_ends_level():
    field, plane = Ground.height_field(np.full((3, 4), 0.2), 0.5), Ground.plane((0, 0, 0.2))
    rng = np.random.default_rng(19)
    for shape in SHAPES:
        pose = random_pose(rng, 3)
        a, b = (contact_points(on(shape, g), pose, Transform.identity()) for g in (field, plane))
        np.testing.assert_allclose([p.gap for p in a[: len(b)]], [p.gap for p in b], atol=1e-12)
    slope = Ground.height_field([[0, 0], [1, 1]], 1.0, corner=(0, 0))
    (p,) = contact_points(on("sphere", slope), Transform.from_translation([0.25, 0.5, 1]), Transform.identity())
    np.testing.assert_allclose(p.normal, [-(0.5**0.5), 0, 0.5**0.5], atol=1e-12)
    np.testing.assert_allclose(p.gap, 0.75 * 0.5**0.5 - 0.2, atol=1e-12)
    (p,) = contact_points(on("sphere", slope), Transform.from_translation([7, 0.5, 1.5]), Transform.identity())
    np.testing.assert_allclose([*p.normal, p.gap], [0, 0, 1, 0.3], atol=1e-12)


def test_gaps_are_formulas_of_symbols():
    import sympy

    x, z, r, alpha = sympy.symbols("x z r alpha", real=True)
    incline = Ground.plane(normal=(-sympy.sin(alpha), 0, sympy.cos(alpha)))
    contact = Contact("c", "a", shape_a=Shape("sphere", (r,)), shape_b=incline, friction=0)
    (point,) = contact_points(contact, Transform.from_translation([x, 0, z]), Transform.identity())
    assert sympy.simplify(point.gap - (z * sympy.cos(alpha) - x * sympy.sin(alpha) - r)) == 0


def test_pairs_without_a_law_say_what_would_serve():
    assert not is_supported(SHAPES["mesh"], SHAPES["mesh"]) and is_supported(SHAPES["mesh"], Ground.plane())
    with pytest.raises(UnsupportedError) as caught:
        contact_points(pair("mesh", "mesh"), Transform.identity(), Transform.identity())
    assert "'pair'" in str(caught.value) and "capsules or boxes along it for the mesh" in str(caught.value)
    with pytest.raises(UnsupportedError, match="a capsule of the same radius for the cylinder"):
        contact_points(pair("cylinder", "box"), Transform.identity(), Transform.identity())

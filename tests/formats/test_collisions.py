"""Collision shapes, contacts and grounds of files: read, written, and never mixed up with shapes for pictures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp

from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, ModelWarning, UnsupportedError
from dalembert.formats import read_mjcf, read_toml, read_urdf, write_toml, write_urdf
from dalembert.model import Body, Contact, Ground, Inertia, Joint, Mechanism, Shape, Surface

BALL = Shape("sphere", (0.1,))
AT = Transform.from_rpy_xyz([0.1, 0.2, 0.3], [1, 2, 3])
MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def one(*collisions: Shape, contacts=(), **fields) -> Mechanism:
    body = Body("b", Inertia.sphere(1, 0.1), (Shape("box", (1.0, 1.0, 1.0)),), collisions)
    return Mechanism("one", (body,), (Joint("j", "free", "world", "b"),), contacts=contacts, **fields)


# ----------------------------------------------------------------------------------------------------------------- URDF


def urdf(inside: str, name: str = "b") -> str:
    return f'<robot name="r">\n<link name="{name}">{MASS}\n{inside}</link></robot>'


def test_urdf_collisions_are_read_apart_from_visuals():
    text = urdf(
        '<visual><geometry><box size="1 1 1"/></geometry></visual>\n'
        '<collision name="sole"><origin xyz="0 0 -1"/><geometry><sphere radius="0.1"/></geometry></collision>\n'
        '<collision><geometry><mesh filename="package://a/foot.stl" scale="1 1 2"/></geometry></collision>'
    )
    body = read_urdf(text).body("b")
    assert [shape.kind for shape in body.shapes] == ["box"]
    sole = Shape("sphere", (0.1,), Transform.from_translation([0, 0, -1]), name="sole")
    assert body.collisions == (sole, Shape("mesh", (1.0, 1.0, 2.0), mesh="package://a/foot.stl"))


def test_urdf_shapes_without_size_are_left_out_with_a_warning():
    text = urdf('<collision><geometry><sphere radius="0"/></geometry></collision>')
    with pytest.warns(ModelWarning, match="line 3: the collision <sphere> of link 'b' has a size of 0"):
        assert read_urdf(text).body("b").collisions == ()
    with pytest.raises(FormatError, match="must not be negative"):
        read_urdf(urdf('<collision><geometry><sphere radius="-1"/></geometry></collision>'))


def test_shapes_of_the_ground_itself_are_noted():
    inside = '<collision><geometry><sphere radius="1"/></geometry></collision>'
    text = f'<robot name="r"><link name="world">{inside}</link></robot>'
    with pytest.warns(ModelWarning, match="no <inertial>"):
        assert "link 'world' is the ground, without its collision" in read_urdf(text).notes


def test_urdf_collisions_survive_writing():
    shapes = (
        Shape("box", (1.0, 2.0, 3.0), Transform.from_translation([1, 2, 3]), name="crate"), BALL,
        Shape("cylinder", (0.1, 2.0)), Shape("capsule", (0.1, 2.0)), Shape("mesh", (1.0, 1.0, 2.0), mesh="a/b.stl"),
    )  # fmt: skip
    assert read_urdf(write_urdf(one(*shapes))).body("b").collisions == shapes
    with pytest.warns(ModelWarning, match=r"a collision shape \(points\) of body 'b', friction and other numbers"):
        write_urdf(one(Shape("points", vertices=((0, 0, 0),)), BALL.replace(surface=Surface(friction=1))))
    with pytest.raises(UnsupportedError, match=r"contacts \('touch'\)"):
        write_urdf(one(BALL, contacts=(Contact("touch", "b", shape_a=BALL, friction=1),)))


# ----------------------------------------------------------------------------------------------------------------- TOML


SHAPES = (
    BALL.replace(name="tip", placement=AT),
    Shape("capsule", (0.1, 0.5), surface=Surface(friction=0.7, torsional=0.01, rolling=0.001)),
    Shape("points", vertices=((0.0, 0.5, 1.0), (1.0, 2.0, 3.0))),
    Shape("mesh", (1.0, 1.0, 2.0), mesh="a/b.stl"),
    Shape("mesh", mesh="a/b.stl", size=(1.0, 1.0, 1.0), vertices=((0.0, 0.0, 1.0),) * 4),
    Shape("box", (1.0, 2.0, 3.0), surface=Surface(contype=2, conaffinity=3, priority=1, dimensions=6, mixing=0.5)),
    Shape("sphere", (0.2,), surface=Surface(solref=(0.01, 1.0), solimp=(0.8, 0.9, 0.002, 0.5, 2.0))),
    Shape("sphere", (0.3,), surface=Surface()),
)
GROUNDS = (
    Ground.plane(), Ground.plane((0, 0, 1), (0, 0.6, 0.8)).replace(placement=AT),
    Ground.half_spaces([((0, 0, 0), (0, 0, 1)), ((-1, 0, 0), (1, 0, 0))]),
    Ground.height_field([[0, 0.1, 0.2], [0.5, 0.25, 0]], (0.5, 1.0)),
    Ground.formula(lambda x, y: x**2 / 10 + sp.sin(y)),
)  # fmt: skip


def test_toml_gives_every_shape_ground_and_contact_back():
    numbers = {"friction": 0.5, "restitution": 0.25, "stiffness": 1e4, "damping": 2.0, "torsional": 0.01}
    contacts = tuple(Contact(f"c{k}", "b", "world", BALL, g, **numbers) for k, g in enumerate(GROUNDS))
    soft = {"solref": (0.01, 1.5), "solimp": (0.8, 0.9, 0.002, 0.25, 1.0)}
    contacts += (Contact("pair", "b", "world", SHAPES[1], SHAPES[5], friction=0, **soft),)
    wrote = one(*SHAPES, contacts=contacts)
    read = read_toml(write_toml(wrote))
    for before, after in zip(wrote.contacts, read.contacts, strict=True):
        assert before == after
    assert read == wrote and read.digest == wrote.digest


def test_toml_holds_symbols_of_contacts():
    r, mu, A, k = sp.symbols("r mu A k", real=True)
    x, y = sp.symbols("x y", real=True)
    ball = Shape("sphere", (r,))
    hills = Ground.formula(A * sp.sin(x) * y)
    contacts = (
        Contact("touch", "b", shape_a=ball, shape_b=hills, friction=mu, stiffness=2 * k),
        Contact("slope", "b", shape_a=ball, shape_b=hills.replace(coefficients=(0.25,)), friction=mu / 2),
        Contact("roof", "b", shape_a=ball, shape_b=Ground.plane((0, 0, r)), friction=0),
    )
    wrote = one(ball, contacts=contacts)
    assert read_toml(write_toml(wrote)) == wrote
    values = {"r": 0.1, "mu": 0.5, "A": 0.25, "k": 100.0}
    read = read_toml(write_toml(wrote, parameters=values), parameters="default")
    assert read.contact("touch").friction == 0.5 and read.contact("touch").shape_b.coefficients == (0.25,)
    assert not read.symbols and read.body("b").collisions[0].size == (0.1,)


def contact(text: str) -> str:
    joint = '[[joint]]\nname = "j"\nkind = "free"\nparent = "world"\nchild = "b"'
    return f'[[body]]\nname = "b"\nmass = 1\ninertia = [1, 1, 1]\n{joint}\n{text}'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[[contact]]\nname = "c"\na = "b"\nfriction = 1', "<text>:10: contact 'c': 'shape_a' is missing"),
        ('[[contact]]\nname = "c"\na = "b"\nshape_a = { kind = "sphere", size = [1] }', "give its coefficient"),
        ('[[contact]]\nname = "c"\na = "b"\nshape_a = { kind = "spere", size = [1] }', "did you mean 'sphere'"),
        (
            '[[contact]]\nname = "c"\na = "b"\nfriction = 1\nshape_a = { kind = "sphere", size = [0] }',
            "the radius of a sphere is a positive length (m), got 0",
        ),
        (
            '[[contact]]\nname = "c"\na = "b"\nfriction = -1\nshape_a = { kind = "sphere", size = [1] }',
            "friction is a number not below 0, got -1",
        ),
        (
            '[[contact]]\nname = "c"\na = "b"\nfriction = 1\nshape_a = { kind = "sphere", size = [1] }\n'
            'ground = { kind = "height-field", heights = [[0, 1]] }',
            "at least 2 x 2 points",
        ),
        (
            '[[contact]]\nname = "c"\na = "b"\nfriction = 1\nshape_a = { kind = "sphere", size = [1] }\n'
            'ground = { planes = [{ point = [0, 0] }] }',
            "'point' must be an array of 3 numbers",
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_in_toml_has_its_place(text, message):
    with pytest.raises(FormatError) as caught:
        read_toml(contact(text))
    assert message in str(caught.value)


def test_the_plain_ground_needs_no_words():
    text = '[[contact]]\nname = "c"\na = "b"\nfriction = 1\nshape_a = { kind = "sphere", size = [0.5] }'
    (read,) = read_toml(contact(text)).contacts
    assert read.shape_b == Ground.plane() and read.b == "world" and np.all(read.shape_b.normals == [[0, 0, 1]])


# ----------------------------------------------------------------------------------------------------------------- MJCF


SCENE = """<mujoco model="scene">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction="0.6 0.01 0.001" priority="{floor}"/>
    <geom name="wall" type="box" size="0.1 1 1" pos="2 0 1" contype="2" conaffinity="2"/>
    <body name="trunk" pos="0 0 1"><freejoint/>
      <geom name="hull" type="box" size="0.2 0.1 0.05" friction="0.9 0.02 0.002" condim="4" solref="0.01 1"/>
      <geom name="paint" type="sphere" size="0.3" contype="0" conaffinity="0" mass="0"/>
      <body name="leg" pos="0 0 -0.2"><joint name="hip" axis="0 1 0"/>
        <geom name="shin" type="capsule" size="0.02 0.1" friction="0.3 0.005 0.0001"/>
        <body name="foot" pos="0 0 -0.2"><joint name="ankle" axis="0 1 0"/>
          <geom name="sole" type="sphere" size="0.03" contype="3" conaffinity="3" margin="0.01"/>
        </body>
      </body>
      <body name="tail" pos="-0.3 0 0"><joint name="root" axis="0 1 0"/>
        <geom name="tip" type="ellipsoid" size="0.03 0.02 0.01" contype="0" conaffinity="1"/>
      </body>
    </body>
  </worldbody>
  <contact>
    <exclude body1="trunk" body2="foot"/>
    <pair name="own" geom1="shin" geom2="hull" friction="0.11 0.11 0.3 0.4 0.4" condim="3"/>
  </contact>
</mujoco>"""


def test_mjcf_contacts_are_those_of_mujoco():
    """The pairs that MuJoCo finds where everything overlaps, with its friction, solref and solimp."""
    mujoco = pytest.importorskip("mujoco")
    for floor in (0, 1):
        text = SCENE.format(floor=floor)
        mechanism = read_mjcf(text, contacts=True)
        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        for joint in range(1, model.njnt):
            model.jnt_pos[joint] = 0
        model.body_pos[:] = 0  # everything in one place, at the floor and inside the wall
        model.body_pos[2], model.body_pos[3] = [0, 0, 0.1], [0, 0, -0.1]
        data.qpos[:3] = [1.95, 0, 0.0]
        mujoco.mj_forward(model, data)
        names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_GEOM, k) for k in range(model.ngeom)]
        theirs = {}
        for contact in data.contact:
            pair = frozenset(names[k] for k in contact.geom)
            if "tip" not in pair or "floor" in pair:  # an ellipsoid has no law with a box
                theirs[pair] = contact
        ours = {frozenset((c.shape_a.name, getattr(c.shape_b, "name", "floor"))): c for c in mechanism.contacts}
        assert set(ours) == set(theirs) and len(ours) >= 6
        for pair, contact in ours.items():
            twin = theirs[pair]
            torsional, rolling = (twin.friction[k] if twin.dim > d else 0 for k, d in ((2, 3), (3, 4)))
            assert [contact.friction, contact.torsional, contact.rolling] == [twin.friction[0], torsional, rolling]
            np.testing.assert_allclose(contact.solref, twin.solref, rtol=1e-15)
            np.testing.assert_allclose(contact.solimp, twin.solimp, rtol=1e-15)
        assert mechanism.contact("own").friction == 0.11
        assert any("contacts without a law here, left out: 'shin' of 'leg' with 'tip'" in x for x in mechanism.notes)
        assert any("margin and gap of 2 contacts not taken over" in note for note in mechanism.notes)


def test_mjcf_collisions_are_shapes_with_surfaces():
    pytest.importorskip("mujoco")
    mechanism = read_mjcf(SCENE.format(floor=0))
    assert mechanism.contacts == ()
    assert any("geoms that can touch, for which contacts=True asks" in note for note in mechanism.notes)
    (hull,) = mechanism.body("trunk").collisions
    assert len(mechanism.body("trunk").shapes) == 2  # the paint is only seen
    assert (hull.name, hull.size) == ("hull", (0.4, 0.2, 0.1))
    assert (hull.surface.friction, hull.surface.torsional, hull.surface.dimensions) == (0.9, 0.02, 4)
    assert read_toml(write_toml(mechanism)) == mechanism
    assert read_toml(write_toml(read_mjcf(SCENE.format(floor=0), contacts=True))).contacts


def test_height_fields_and_meshes_of_mjcf():
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><asset>
      <hfield name="hills" nrow="2" ncol="3" size="2 1 0.5 0.1" elevation="0 1 0  1 2 1"/>
      <mesh name="wedge" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
    <worldbody><geom type="hfield" hfield="hills" pos="0 0 1"/>
      <body name="b"><freejoint/><geom type="mesh" mesh="wedge"/></body></worldbody></mujoco>"""
    mechanism = read_mjcf(text, contacts=True)
    (contact,) = mechanism.contacts
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for i, j in itertools.product(range(3), range(2)):  # MuJoCo's own heights, just inside of the border
        above, down = np.array([1.99 * (i - 1), 0.99 * (2 * j - 1), 5]), np.array([0.0, 0, -1])
        seen = 4 - mujoco.mj_ray(model, data, above, down, None, 1, 1, np.zeros(1, dtype=np.int32))
        assert abs(seen - contact.shape_b.heights[i, j]) < 0.01
    assert contact.shape_b.spacing == (2.0, 2.0) and contact.shape_b.corner == (-2.0, -1.0)
    (shape,) = mechanism.body("b").collisions
    corners = np.array([shape.placement.apply(np.array(v)) for v in shape.vertices])
    expected = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    np.testing.assert_allclose(sorted(np.round(corners, 6).tolist()), expected, atol=1e-6)

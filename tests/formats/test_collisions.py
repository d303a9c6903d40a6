"""Collision shapes, contacts and grounds of files: read, written, and never mixed up with shapes for pictures."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, ModelWarning, UnsupportedError
from dalembert.formats import read_toml, read_urdf, write_toml, write_urdf
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

"""A mechanism is frozen data: it cannot be changed, equals what was built alike, and survives hashing and pickling."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.formats import read_toml, write_toml
from dalembert.kinematics import jacobian, poses
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Limits, Mechanism, Mimic, Shape
from dalembert.model.record import content
from random_mechanisms import mechanisms, random_mechanism

PARTS = [
    Inertia.sphere(1, 2),
    Body("b", Inertia.point(1), (Shape("box", (1, 2, 3)),)),
    Shape("mesh", mesh="a.stl"),
    Frame("f", "b"),
    Limits(-1, 1),
    Mimic("j", 2, 3),
    Joint("j", "helical", WORLD, "b", pitch=0.1),
    Constraint("c", "distance", "b", value=2),
    Force("s", "spring", "b", stiffness=3),
    random_mechanism(0, 3),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_parts_are_frozen_equal_hashable_and_picklable(part):
    twin = pickle.loads(pickle.dumps(part))
    assert twin == part and hash(twin) == hash(part) and twin is not part
    assert copy.deepcopy(part) == part == part.replace()
    assert part != "something else"
    for field in dataclasses.fields(part):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, field.name, None)


@given(mechanisms(1, 4, drives=True, mimic=0.3))
def test_no_array_of_a_mechanism_can_be_written_to(mechanism):
    arrays = [mechanism.gravity]
    for body in mechanism.bodies:
        arrays += [body.inertia.center, body.inertia.tensor]
    for joint in mechanism.joints:
        arrays += [joint.axis, joint.axis2, joint.placement.rotation, joint.placement.translation]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    again = pickle.loads(pickle.dumps(mechanism))
    assert again == mechanism and again.digest == mechanism.digest
    with pytest.raises(ValueError, match="read-only"):
        again.gravity[0] = 1


def test_arrays_are_copied_so_that_the_caller_keeps_his():
    mine = np.array([0.0, 0.0, 1.0])
    joint = Joint("j", "revolute", WORLD, "b", axis=mine)
    mine[0] = 5
    assert joint.axis[0] == 0


@given(mechanisms(1, 5, drives=True), st.data())
def test_any_changed_number_changes_equality_and_digest(mechanism, data):
    body = data.draw(st.sampled_from(mechanism.bodies))
    heavier = body.replace(inertia=body.inertia + Inertia.point(1e-9, (0, 0, 0.1)))
    changed = mechanism.replace(bodies=[heavier if b is body else b for b in mechanism.bodies])
    assert changed != mechanism and changed.digest != mechanism.digest
    assert len({mechanism, changed, mechanism.replace()}) == 2


def test_notes_and_strictness_do_not_make_another_mechanism():
    mechanism = random_mechanism(0, 2)
    assert mechanism == mechanism.replace(notes=("seen",), strict=False)
    assert mechanism.digest == mechanism.replace(notes=("seen",)).digest


def test_symbolic_mechanisms_compare_hash_and_pickle():
    def build(name):
        m = sympy.Symbol(name)
        return Mechanism("m", (Body("b", Inertia.sphere(m, 1)),), (Joint("j", "revolute", WORLD, "b"),))

    assert build("m") == build("m") and hash(build("m")) == hash(build("m"))
    assert build("m") != build("k")
    assert pickle.loads(pickle.dumps(build("m"))) == build("m")
    assert [s.name for s in build("m").symbols] == ["m"]


def test_sympy_numbers_become_plain_ones():
    tensor = sympy.Matrix([[1, 0, 0], [0, sympy.Float(2.5), 0], [0, 0, 3]]).tolist()
    inertia = Inertia(sympy.Integer(2), [sympy.Float(0.5), 0, 0], tensor)
    assert inertia.mass == 2 and type(inertia.mass) is int
    assert inertia.center.dtype == inertia.tensor.dtype == np.float64
    exact = Inertia(sympy.Rational(1, 3), [sympy.pi, 0, 0])
    assert exact.mass == sympy.Rational(1, 3) and exact.center[0] is sympy.pi


@pytest.mark.parametrize(
    "name", ["über", "关节", "a b", "it's", 'say "so"', "a\\b", "{x}", "%s", "🤖", "x/y.z", "0", "b1/1"]
)
def test_names_may_be_anything_printable(name):
    inertia = Inertia.sphere(1, 0.1)
    joints = (Joint(name, "planar", WORLD, name), Joint("k", "revolute", name, "other", mimic=None))
    mechanism = Mechanism(
        name, (Body(name, inertia), Body("other", inertia)), joints, frames=(Frame(name + "'", name),)
    )
    assert mechanism.body(name).name == mechanism.joint(name).name == name
    assert poses(mechanism, [1, 2, 0, 0])[name + "'"].translation.tolist() == [1, 2, 0]
    assert name in str(mechanism) and repr(name) in repr(mechanism)
    assert content(mechanism) == content(pickle.loads(pickle.dumps(mechanism)))


PROGRAM = """
import sys
from dalembert.model import Body, Force, Inertia, Joint, Mechanism

def made(k):
    def push(q, v, t):
        return [k * t if k in {1, 2, "x", "y"} else helper(t)]
    return push

def helper(t):
    return t * t

kept = [object() for _ in range(int(sys.argv[1]))]  # moves everything else in memory
body, joint = Body("b", Inertia.box(1, (1, 1, 1))), Joint("j", "revolute", "world", "b")
for k in (1, 2, 3):
    print(Mechanism("m", (body,), (joint,), forces=(Force("f", "user", function=made(k)),)).digest)
"""


def test_the_digest_knows_functions_by_what_they_do_in_every_process():
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, n], capture_output=True, text=True, check=True, timeout=60
        ).stdout
        for n in ("0", "1000")
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].split())) == 3


def test_equal_mechanisms_have_equal_digests_whatever_the_sign_of_zero():
    def one(zero: float) -> Mechanism:
        at = Transform(np.array([[1, zero, 0], [0, 1, 0], [0, 0, 1]]), np.array([zero, 1, 2]))
        body = Body("b", Inertia(1.0, [zero, 0, 0], np.eye(3)))
        return Mechanism("m", (body,), (Joint("j", "revolute", "world", "b", at, damping=zero),))

    assert one(0.0) == one(-0.0) == one(0) and one(0.0).digest == one(-0.0).digest == one(0).digest


def test_records_of_traced_scalars_are_compared_as_written():
    from dalembert.tracing import trace

    def pendulum(mass, length) -> Mechanism:
        at = Transform(np.eye(3), [length, 0, 0])
        bodies = (Body("rod", Inertia(mass, [0, 0, 0], np.eye(3))), Body("bob", Inertia(1.0, [0, 0, 0], np.eye(3))))
        return Mechanism(
            "m",
            bodies,
            (Joint("j", "revolute", WORLD, "rod"), Joint("f", "fixed", "rod", "bob", at)),
            gravity=[0, 0, mass],
        )

    def compared(x):
        one, alike = pendulum(x[0], x[1]), pendulum(x[0], x[1])
        assert one == alike and hash(one) == hash(alike)
        assert one != pendulum(x[1], x[1]) and one != pendulum(x[0], 2 * x[1]) and one != pendulum(1.0, x[1])
        assert len({one, alike, pendulum(x[0], 0)}) == 2
        return x

    trace(compared, {"x": (2,)})


@pytest.mark.parametrize("kind", [int, np.int64, np.float64, np.float32])
def test_equal_mechanisms_have_equal_digests_whatever_the_type_of_their_numbers(kind):
    def one(number):
        bob = Body("b", Inertia(number(2), [number(1), 0, 0], np.eye(3)), (Shape("sphere", (number(3),)),))
        hinge = Joint("j", "revolute", WORLD, "b", limits=Limits(-number(1), number(1)), damping=number(2))
        push = Force("f", "wrench", "b", components=[number(4)] * 6)
        return Mechanism("one", (bob,), (hinge,), forces=(push,))

    plain, other = one(float), one(kind)
    assert plain == other and plain.digest == other.digest == read_toml(write_toml(other)).digest
    assert plain.digest != one(lambda x: float(x) + 1e-15).digest


def test_equal_mechanisms_have_equal_digests_when_names_come_from_arrays():
    def one(text):
        joint = Joint(text("j"), text("revolute"), text(WORLD), text("b"))
        return Mechanism(text("one"), (Body(text("b"), Inertia(1.0, [0, 0, 0], np.eye(3))),), (joint,))

    plain, other = one(str), one(np.str_)
    assert plain == other and plain.digest == other.digest == read_toml(write_toml(other)).digest


@pytest.mark.parametrize("form", [sympy.Matrix, sympy.ImmutableMatrix, lambda entries: sympy.Matrix([entries])])
def test_vectors_may_be_written_as_sympy_writes_them(form):
    """A matrix of one column or row is a vector, as in the functions of the algebra."""
    l = sympy.Symbol("l")

    def pendulum(vector):
        bodies = [Body("bob", Inertia(1, vector([0, l, -l / 2]), np.eye(3)))]
        joints = [Joint("pivot", "universal", WORLD, "bob", axis=vector([0, 1, 0]), axis2=vector([1, 0, 0]))]
        return Mechanism("pendulum", bodies, joints, gravity=vector([0, 0, -9.81]))

    assert pendulum(form) == pendulum(list)
    points = [jacobian(pendulum(list), [0.1, 0.2], "bob", point=vector([0, l, 1])) for vector in (form, list)]
    np.testing.assert_array_equal(*points)

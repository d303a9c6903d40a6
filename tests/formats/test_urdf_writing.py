"""Writing URDF and reading it back."""

import math

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ModelWarning, UnsupportedError
from dalembert.formats import load, read_urdf, write_urdf
from dalembert.kinematics import poses
from dalembert.model import Body, Constraint, Force, Inertia, Joint, Limits, Mechanism, Shape
from random_mechanisms import random_mechanism

URDF_KINDS = ("fixed", "revolute", "continuous", "prismatic", "planar", "free")


def arm(joint=None, **more):
    joint = joint or Joint("j", "revolute", "world", "b", limits=Limits(-1, 1, 2, 3))
    return Mechanism("arm", (Body("b", Inertia.box(2, (0.1, 0.2, 0.3))),), (joint,), **more)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_a_random_mechanism_comes_back_with_the_same_joints_motion_and_inertia(seed, n, floating):
    rng = np.random.default_rng(seed)
    wrote = random_mechanism(rng, n, kinds=URDF_KINDS, floating=floating, mimic=0.3, drives=True)
    read = read_urdf(write_urdf(wrote))
    assert [j.name for j in wrote.joints] == [j.name for j in read.joints if j.name != "tool_joint"]
    for joint in wrote.joints:
        twin = read.joint(joint.name)
        assert (joint.kind, joint.parent, joint.child, joint.damping, joint.friction, joint.mimic) == (
            twin.kind, twin.parent, twin.child, twin.damping, twin.friction, twin.mimic
        )  # fmt: skip
        if joint.kind in ("revolute", "prismatic"):
            assert joint.limits == twin.limits
    q, _, _ = wrote.random_state(rng)
    # roll, pitch and yaw give a rotation back to a few units in the last place; n of them are chained
    before, after = poses(wrote, q), poses(read, q)
    for name in before:
        assert np.allclose(before[name].homogeneous(), after[name].homogeneous(), rtol=0, atol=1e-13)
    M = mass_matrix(wrote, q)
    assert np.allclose(M, mass_matrix(read, q), rtol=0, atol=1e-12 * max(1, np.abs(M).max(initial=0)))


def test_writing_is_stable(tmp_path):
    arm = load("demo_arm")
    first = write_urdf(arm, tmp_path / "demo.urdf")
    assert (tmp_path / "demo.urdf").read_text() == first
    again = read_urdf(tmp_path / "demo.urdf")
    assert again == arm
    assert write_urdf(again) == first


def test_infinite_limits_and_odd_names_survive():
    joint = Joint('a<b&"c"', "revolute", "world", "b", limits=Limits(-math.inf, 1.0))
    assert read_urdf(write_urdf(arm(joint))).joints == (joint,)


def test_any_title_that_xml_can_hold_survives_and_others_are_refused():
    title = 'a\tb\n"c" \r & <d> \u00e9 \U0001f9be'
    assert read_urdf(write_urdf(arm().replace(name=title))).name == title
    for character in "\x00\x1b\ud800\ufffe":
        with pytest.raises(UnsupportedError, match="XML has no place"):
            write_urdf(arm().replace(name=f"a{character}b"))


def test_numbers_that_the_reader_refuses_are_not_written():
    heavy = arm().replace(bodies=(Body("b", Inertia(1e61, (0, 0, 1), np.eye(3))),))
    with pytest.raises(UnsupportedError, match="up to 1e\\+60"):
        write_urdf(heavy)


def test_shapes_survive():
    at = Transform.from_translation([1, 2, 3])
    shapes = (
        Shape("box", (1.0, 2.0, 3.0), at, colour=(0.1, 0.2, 0.3, 0.4)), Shape("sphere", (0.5,)),
        Shape("cylinder", (0.1, 2.0)), Shape("capsule", (0.1, 2.0)), Shape("mesh", (1.0, 1.0, 2.0), mesh="package://a/b.stl"),
    )  # fmt: skip
    wrote = arm().replace(bodies=(Body("b", Inertia.sphere(1, 0.1), shapes),))
    assert read_urdf(write_urdf(wrote)).body("b").shapes == shapes


@pytest.mark.parametrize("kind", ["helical", "cylindrical", "universal", "spherical"])
def test_joints_that_urdf_lacks_are_named(kind):
    with pytest.raises(UnsupportedError, match=f"joint 'j' is {kind}"):
        write_urdf(arm(Joint("j", kind, "world", "b")))


def test_symbols_constraints_and_forces_are_named():
    symbolic = arm(Joint("j", "revolute", "world", "b", damping=sp.Symbol("c")))
    with pytest.raises(UnsupportedError, match="symbols c"):
        write_urdf(symbolic)
    with pytest.raises(UnsupportedError, match=r"constraints \('loop'\)"):
        write_urdf(arm(constraints=(Constraint("loop", "spherical", "b"),)))
    with pytest.raises(UnsupportedError, match=r"forces \('s'\)"):
        write_urdf(arm(forces=(Force("s", "spring", "b"),)))


def test_what_urdf_cannot_hold_is_a_warning():
    with pytest.warns(ModelWarning, match="gravity"):
        write_urdf(arm(gravity=np.zeros(3)))
    with pytest.warns(ModelWarning, match="armature of joint 'j'"):
        write_urdf(arm(Joint("j", "revolute", "world", "b", armature=0.1)))


def test_what_was_written_is_read_without_a_warning(recwarn):
    for base in ("fixed", "free"):
        read = read_urdf(write_urdf(load("demo_arm")), base=base)
        assert "without an inertial" not in str(read) and "no <inertial>" not in str(read)
    assert not recwarn.list

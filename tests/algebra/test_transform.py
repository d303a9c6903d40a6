"""Rigid displacements form a group, agree with 4x4 matrices and both Denavit-Hartenberg conventions, and are frozen."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle

import numpy as np
import pytest
import sympy
from algebra_cases import angles, arrays, close, numbers, rotations
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.rotations import rotation_x, rotation_y, rotation_z
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError

transforms = st.builds(Transform, rotations, arrays(3))
SCALE = 40.0  # three displacements of at most 10 per axis


def equal(a, b):
    return close(a.homogeneous(), b.homogeneous(), SCALE)


@given(transforms, transforms, transforms)
def test_composition_is_a_group(a, b, c):
    one = Transform.identity()
    assert a @ one == a == one @ a
    assert equal((a @ b) @ c, a @ (b @ c))
    assert equal(a @ a.inverse(), one)
    assert equal(a.inverse() @ a, one)
    assert equal((a @ b).inverse(), b.inverse() @ a.inverse())


@given(transforms, transforms)
def test_homogeneous_matrices_represent_the_group(a, b):
    assert close((a @ b).homogeneous(), a.homogeneous() @ b.homogeneous(), SCALE)
    assert Transform.from_homogeneous(a.homogeneous()) == a


@given(transforms, transforms, arrays(3), arrays(3))
def test_action_on_points_and_vectors(a, b, p, q):
    assert close(a.apply(p), (a.homogeneous() @ [*p, 1])[:3], SCALE)
    assert close(a.rotate(p), (a.homogeneous() @ [*p, 0])[:3], SCALE)
    assert close((a @ b).apply(p), a.apply(b.apply(p)), SCALE)
    assert close(a.apply(p) - a.apply(q), a.rotate(p - q), SCALE)
    assert close(a.inverse().apply(a.apply(p)), p, SCALE)


def turn(rotation):
    return Transform.from_rotation(rotation)


def shift(x, y, z):
    return Transform.from_translation([x, y, z])


@given(angles, numbers, angles, numbers)
def test_denavit_hartenberg_is_a_product_of_elementary_displacements(alpha, a, theta, d):
    modified = turn(rotation_x(alpha)) @ shift(a, 0, 0) @ turn(rotation_z(theta)) @ shift(0, 0, d)
    standard = turn(rotation_z(theta)) @ shift(0, 0, d) @ shift(a, 0, 0) @ turn(rotation_x(alpha))
    assert equal(Transform.modified_dh(alpha, a, theta, d), modified)  # (2.3.1)
    assert equal(Transform.standard_dh(theta, d, a, alpha), standard)


@given(angles, angles, angles, arrays(3))
def test_urdf_origin(roll, pitch, yaw, xyz):
    t = Transform.from_rpy_xyz([roll, pitch, yaw], xyz)
    assert close(t.rotation, rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll))
    assert np.array_equal(t.translation, xyz)


def test_published_position_of_a_three_joint_chain():
    """Check value of the guide, section 9 (RRR): the origin of frame 3 in the base."""
    table = [(0, 0.1, 0.3, 0.2), (0.5, 0.3, -0.7, -0.15), (-1.2, 0.25, 1.1, 0.35)]
    t = Transform.identity()
    for row in table:
        t = t @ Transform.modified_dh(*row)
    assert np.max(np.abs(t.translation - [0.7438161358, 0.2920345906, 0.2220662324])) < 1e-10


def test_right_angles_of_a_table_stay_exact_in_the_company_of_symbols():
    q, d = sympy.symbols("q d")
    t = Transform.modified_dh(-math.pi / 2, 0, q, d)
    assert t.rotation.tolist() == [[sympy.cos(q), -sympy.sin(q), 0], [0, 0, 1], [-sympy.sin(q), -sympy.cos(q), 0]]
    assert t.translation.tolist() == [0, d, 0]
    through_numbers = Transform.from_rpy_xyz([0.0, 0.0, math.pi / 2], [0.0, 0.0, 1.0]) @ t
    assert through_numbers.translation.tolist() == [-d, 0, 1]
    assert not through_numbers.rotation[2, 0].has(sympy.Float)


def test_a_transform_cannot_be_changed_nor_changes_with_what_it_was_made_of():
    rotation, translation = np.eye(3), np.zeros(3)
    t = Transform(rotation, translation)
    rotation[0, 0], translation[0] = 5, 5
    assert t == Transform.identity()
    with pytest.raises(ValueError, match="read-only"):
        t.rotation[0, 0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        t.translation = translation
    for other in (pickle.loads(pickle.dumps(t)), copy.deepcopy(t)):
        assert other == t
        assert hash(other) == hash(t)
        assert not other.rotation.flags.writeable


def test_equality_is_exact_and_knows_its_kind():
    x = sympy.Symbol("x")
    a = Transform.modified_dh(0, x, 0.5, 2)
    assert a == Transform.modified_dh(0.0, x, 0.5, 2.0)
    assert a != Transform.modified_dh(0, x + 1, 0.5, 2)
    assert Transform.identity() != "identity"
    assert Transform.identity() != shift(1e-16, 0, 0)
    assert len({a, Transform.modified_dh(0, x, 0.5, 2), Transform.identity()}) == 2


def test_repr_is_readable():
    t = Transform.modified_dh(math.pi / 2, 0.1, 0, -0.25)
    assert repr(t) == "Transform(rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]], translation=[0.1, 0.25, 0])"
    assert "cos(q)" in repr(Transform.from_rotation(rotation_z(sympy.Symbol("q"))))


def test_wrong_shapes_are_refused():
    with pytest.raises(ArgumentError, match=r"rotation.*\(3, 3\).*\(2, 2\)"):
        Transform(np.eye(2), np.zeros(3))
    with pytest.raises(ArgumentError, match=r"translation.*\(3,\).*\(4,\)"):
        Transform(np.eye(3), np.zeros(4))
    with pytest.raises(ArgumentError, match="last row"):
        Transform.from_homogeneous(np.ones((4, 4)))
    with pytest.raises(TypeError):
        Transform.identity() @ np.eye(3)

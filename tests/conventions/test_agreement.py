"""A convention between two mechanisms that are not the same is refused, whatever the difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peer_models import to_drake, to_mujoco, to_pinocchio

from dalembert import conventions
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError
from random_mechanisms import random_mechanism, random_rotation

LIBRARIES = {
    "Pinocchio": (to_pinocchio, "pinocchio"),
    "MuJoCo": (to_mujoco, "mujoco"),
    "Drake": (to_drake, "pydrake.multibody.plant"),
}


def library(name):
    make, module = LIBRARIES[name]
    pytest.importorskip(module)
    return make, getattr(conventions, name)


def changed(joint, rng, what):
    if what == "axis":
        return joint.replace(axis=random_rotation(rng) @ [0.6, 0.8, 0])
    if what == "sign":
        return joint.replace(axis=-joint.axis)
    shift = Transform.from_translation(rng.normal(size=3))
    return joint.replace(placement=joint.placement @ shift)


@pytest.mark.parametrize("what", ["axis", "sign", "placement"])
@pytest.mark.parametrize("name", LIBRARIES)
@given(seed=st.integers(0, 2**32 - 1))
def test_another_axis_or_place_is_refused(name, what, seed):
    make, convention = library(name)
    rng = np.random.default_rng(seed)
    ours = random_mechanism(rng, 3, kinds=["revolute"], massless=0, branching=0)
    which = int(rng.integers(3))
    joints = [changed(j, rng, what) if k == which else j for k, j in enumerate(ours.joints)]
    model = make(ours.replace(joints=joints))
    with pytest.raises(ArgumentError, match=rf"'j[{which + 1}-3]' moves another way in the {name} model.*check=False"):
        convention(ours, model)
    assert convention(ours, model, check=False).nq == 3


@pytest.mark.parametrize("name", LIBRARIES)
def test_rounding_as_in_files_is_forgiven(name):
    make, convention = library(name)
    ours = random_mechanism(5, 4, kinds=["revolute", "prismatic"], massless=0)

    def rounded(x):
        return Transform(x.rotation, np.round(x.translation, 6))

    joints = [j.replace(placement=rounded(j.placement)) for j in ours.joints]
    convention(ours, make(ours.replace(joints=joints)))


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_is_no_model_of_that_library_is_named(name):
    make, convention = library(name)
    ours = random_mechanism(0, 2, kinds=["revolute"], massless=0)
    others = [library(other)[0](ours) for other in LIBRARIES if other != name]
    for wrong in [None, "panda.urdf", ours, *others]:
        with pytest.raises(ArgumentError, match=r"of the same mechanism is needed, got"):
            convention(ours, wrong)
    with pytest.raises(ArgumentError, match="the first argument is the Mechanism"):
        convention(make(ours), ours)


def test_a_plant_that_is_not_finalised_is_named():
    plant = pytest.importorskip("pydrake.multibody.plant")
    with pytest.raises(ArgumentError, match="Finalize"):
        conventions.Drake(random_mechanism(0, 1), plant.MultibodyPlant(0.0))


@pytest.mark.parametrize(
    "wrong", [[1j, 2], np.array([1 + 0j, 2]), ["a", "b"], [None, 1], [[1], [1, 2]], None, "q", {}, np.array(["1", "2"])]
)
def test_positions_that_are_not_real_numbers_are_refused(wrong):
    make, convention = library("Pinocchio")
    ours = random_mechanism(0, 2, kinds=["revolute"], massless=0)
    there = convention(ours, make(ours))
    for call in (there.q, there.from_q, lambda x: there.v([1, 2], x), lambda x: there.from_tau([1, 2], x)):
        with pytest.raises(ArgumentError, match=r"must be an array of real numbers|has shape"):
            call(wrong)


def test_any_real_numbers_pass():
    make, convention = library("Pinocchio")
    ours = random_mechanism(0, 2, kinds=["revolute"], massless=0)
    there = convention(ours, make(ours))
    for q in ([1, 2], (1.0, 2.0), np.array([1, 2], dtype=object), np.float32([1, 2]), np.longdouble([1, 2])):
        np.testing.assert_array_equal(there.q(q), [1.0, 2.0])

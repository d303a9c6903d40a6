"""Settings are one value: each field has its say in digest, keys, pickles and texts, and no list of them is by hand."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.dynamics import ALL_QUANTITIES, Settings, dynamics_of
from dalembert.dynamics.facade import ACTING, SOLVING, TOUCHING, TREE, settings_of
from dalembert.errors import ArgumentError
from dalembert.model.joint import Limits


@pytest.fixture(scope="module")
def plain():
    return da.Dynamics(da.load("four_bar", parameters="default"))


CHANGES = {
    "mechanism": None,  # another gravity
    "constraints": (),
    "elements": (),
    "contacts": (),
    "limits": "all",
    "law": "convex",
    "wrenches": ("tip",),
    "include": ("damping",),
    "parameters": ("a.mass",),
    "method": "projection",
    "independent": ("first",),
    "reference": None,  # another position
    "regularisation": 1e-3,
    "stabilisation": 5.0,
    "dtype": np.float32,
    "device": "cuda",
    "optimise": 2,
}
"""Another value for every field."""


def _robot():
    a, b = (da.Body(name, da.Inertia.box(1.0, (0.1, 0.1, 1.0))) for name in "ab")
    turning = da.Joint(
        "first",
        "revolute",
        "world",
        "a",
        da.Transform.from_translation((0, 0, 1.0)),
        axis=(0, 1, 0),
        damping=0.1,
        limits=Limits(-2.0, 2.0),
    )
    return da.Mechanism(
        "robot",
        (a, b),
        (turning, da.Joint("second", "revolute", "a", "b", axis=(0, 1, 0))),
        frames=(da.Frame("tip", "b", da.Transform.from_translation((0, 0, 1.0))),),
        constraints=(da.Constraint("gear", "coupling", a="first", b="second", coefficients=(0.0, 0.5)),),
        forces=(da.Force("spring", "joint-spring", a="first", stiffness=3.0),),
        contacts=(da.Contact("foot", "b", shape_a=da.Shape.sphere(0.1), friction=0.4),),
    )


def _changed(name):
    robot = _robot()
    if name == "mechanism":
        return Settings(da.with_gravity(robot, (0, 0, -1.6)))
    if name == "reference":
        return Settings(robot, reference=[0.3, 0.1])
    extra = {"method": "projection"} if name == "independent" else {}
    return Settings(robot, **{name: CHANGES[name]}, **extra)


def test_there_is_another_value_for_every_field():
    assert set(CHANGES) == {entry.name for entry in dataclasses.fields(Settings)}
    assert list(inspect.signature(da.Dynamics).parameters) == list(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_every_field_changes_the_digest_and_survives_pickling(name):
    own, other = Settings(_robot()), _changed(name)
    if name == "independent":
        own = own.replace(method="projection")
    assert own.digest != other.digest and own != other
    assert pickle.loads(pickle.dumps(other)).digest == other.digest
    again = da.Dynamics(other)
    assert again.settings == other and pickle.loads(pickle.dumps(again)).settings == other
    assert name == "mechanism" or name in repr(other)


KEYED = {"mass_matrix": TREE, "forward_dynamics": ACTING | SOLVING, "contact_step": TOUCHING | SOLVING}


@pytest.mark.parametrize("name", sorted(set(CHANGES) - {"device", "dtype"}))
def test_every_field_changes_the_key_of_the_kernels_that_depend_on_it_and_no_other(name):
    """Device and precision are no part of a program: the cache of machine code has them besides."""
    own, other = da.Dynamics(_robot()), da.Dynamics(_changed(name))
    if name == "independent":
        own = own.replace(method="projection", independent=("second",))
    for quantity, fields in KEYED.items():
        assert settings_of(quantity, own.quantity(quantity), True) == fields
        same = own.key(quantity) == other.key(quantity)
        if name == "reference":  # matters by the rows and speeds that are chosen by it
            assert same == (own.pivots == other.pivots or not fields & SOLVING)
        elif name == "mechanism" or name in fields:
            assert not same, (quantity, name)
        else:
            assert same, (quantity, name)


@pytest.mark.parametrize("name", sorted(set(CHANGES) - TREE))
def test_programs_of_trees_do_not_depend_on_the_settings_that_their_keys_leave_out(name):
    own, other = da.Dynamics(_robot()), da.Dynamics(_changed(name))
    for quantity in ("inverse_dynamics", "mass_matrix", "kinetic_energy"):
        if own.quantity(quantity) is ALL_QUANTITIES[quantity] and other.quantity(quantity) is ALL_QUANTITIES[quantity]:
            assert own.program(quantity).digest == other.replace(device="cpu").program(quantity).digest


def test_functions_in_a_mechanism_count_by_what_they_compute():
    def pushed(function):
        return da.Dynamics(_robot().replace(forces=(da.Force("push", "user", function=function),)))

    one, same, other = (
        pushed(f) for f in (lambda q, v, t: [q[0], 1], lambda x, y, z: [x[0], 1.0], lambda q, v, t: [0, 1])
    )
    assert one.digest == same.digest != other.digest
    assert one.key("forward_dynamics") == same.key("forward_dynamics") != other.key("forward_dynamics")
    table = [1.0, 2.0]
    untraceable = lambda q, v, t: [table[int(q[0])], 0]  # noqa: E731
    first, second = (_robot().replace(forces=(da.Force("push", "user", function=untraceable),)) for _ in range(2))
    assert first.digest != second.digest  # so that nothing made of one is taken for the other's


def test_replaced_settings_keep_the_others(plain):
    changed = plain.replace(stabilisation=3.0)
    assert changed.stabilisation == 3.0 and changed.replace(stabilisation=0.0).settings == plain.settings
    assert plain.replace(device="cpu") is plain and plain.replace(constraints="all") is plain
    with pytest.raises(ArgumentError):
        plain.replace(parameters={"a.mass": np.array([1.0, 2.0])})
    with pytest.raises(ArgumentError, match=r"no setting .stabilization.*stabilisation"):
        da.Dynamics(plain.mechanism, stabilization=3.0)


def test_a_mechanism_keeps_the_dynamics_that_rollouts_make_of_it():
    """Four-step calls in a learning loop cost no second making of everything; other settings are another Dynamics."""
    robot = _robot()
    made = [da.rollout(robot, robot.neutral, None, 4, **options).system for options in ({}, {}, {"law": "convex"})]
    assert made[0] is made[1] and made[2] is not made[0] and made[2].dynamics.law == "convex"
    for step in range(20):
        da.rollout(robot, robot.neutral, None, 1, limits=("first",), include=("damping",) * (step % 2))
    assert len(robot.__dict__["_made_dynamics"]) <= 8
    assert "_made_dynamics" not in pickle.loads(pickle.dumps(robot)).__dict__


def test_another_mechanism_takes_over_the_settings_that_are_not_the_defaults_of_the_first(plain):
    moon = da.with_gravity(plain.mechanism, (0, 0, -1.62))
    changed = plain.replace(stabilisation=3.0)
    assert changed.replace(mechanism=moon).settings == da.Dynamics(moon, stabilisation=3.0).settings
    pendulum = da.load("double_pendulum")  # without the rows, elements and reference of the first
    assert plain.replace(mechanism=pendulum).settings == Settings(pendulum)
    with pytest.raises(ArgumentError, match="no setting 'divice'; did you mean 'device'"):
        plain.settings.replace(divice="cuda")
    with pytest.raises(ArgumentError, match="takes a Mechanism"):
        plain.replace(mechanism="double_pendulum")


class Forgetful(dict):
    """Loses what it gets at once, as if another thread had made room in between."""

    def __setitem__(self, key, value):
        pass


def test_dynamics_that_another_thread_makes_room_of_are_given_all_the_same():
    robot = _robot()
    robot.__dict__["_made_dynamics"] = Forgetful()
    assert dynamics_of(robot, stabilisation=3.0).stabilisation == 3.0

"""Every problem is found, named and reported together with all the others; sound mechanisms pass."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError, ValidationError
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Limits, Mechanism, Mimic
from random_mechanisms import mechanisms, random_inertia, random_rotation

BALL = Inertia.sphere(1, 0.1)
NAN, INF = math.nan, math.inf
NO_ROTATION = Transform(np.diag([1.0, 1.0, -1.0]), np.zeros(3))
NOWHERE = Transform(np.eye(3), np.array([NAN, 0, 0]))


def problems(bodies=None, joints=None, **more) -> tuple[str, ...]:
    """What is wrong with a two-link arm in which bodies, joints or anything else is replaced."""
    arm = {
        "name": "arm",
        "bodies": (Body("a", BALL), Body("b", BALL)) if bodies is None else bodies,
        "joints": (Joint("ja", "revolute", WORLD, "a"), Joint("jb", "revolute", "a", "b"))
        if joints is None
        else joints,
    }
    with pytest.raises(ValidationError) as caught:
        Mechanism(**(arm | more))
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems
    return caught.value.problems


def with_joint(**changes) -> tuple[Joint, ...]:
    return (Joint("ja", "revolute", WORLD, "a"), Joint("jb", "revolute", "a", "b").replace(**changes))


def with_inertia(inertia: Inertia) -> tuple[Body, ...]:
    return (Body("a", BALL), Body("b", inertia))


BROKEN = {
    # names
    "body or frame name 'a' is used 2 times": {"bodies": (Body("a", BALL), Body("a", BALL))},
    "body or frame name 'b' is used 2 times": {"frames": (Frame("b", "a"),)},
    "joint name 'ja' is used 2 times": {"joints": with_joint(name="ja")},
    "constraint name 'c' is used 2 times": {"constraints": (Constraint("c", "weld", "a", "b"),) * 2},
    "force name 'f' is used 2 times": {"forces": (Force("f", "spring", "a", "b"),) * 2},
    "force name 'friction' is also that of the friction of joints ('jb')": {
        "forces": (Force("friction", "joint-friction", "jb", value=1.0),),
        "joints": with_joint(friction=0.2),
    },
    "'world' is the name of the ground": {"frames": (Frame("world", "a"),)},
    "joint '': a name must be a printable": {"joints": with_joint(name="")},
    r"joint 'j\nb': a name must be a printable": {"joints": with_joint(name="j\nb")},
    "joint 7: a name must be a printable": {"joints": with_joint(name=7)},
    "frame ['x']: a name must be a printable": {"frames": (Frame(["x"], "a"),)},  # type: ignore[arg-type]
    # tree
    "joint 'jb': parent body 'c' does not exist": {"joints": with_joint(parent="c")},
    "joint 'jb': child body 'c' does not exist": {"joints": with_joint(child="c")},
    "joint 'jb' connects body 'b' to itself": {"joints": with_joint(parent="b")},
    "body 'b' is not attached: give it a joint": {"joints": with_joint()[:1]},
    "body 'b' is the child of 2 joints ('jb', 'jc'); keep one": {
        "joints": (*with_joint(), Joint("jc", "revolute", WORLD, "b"))
    },
    "bodies 'a', 'b' form a loop that never reaches the ground": {
        "joints": (Joint("ja", "revolute", "b", "a"), Joint("jb", "revolute", "a", "b"))
    },
    # references
    "frame 'f': body 'c' does not exist": {"frames": (Frame("f", "c"),)},
    "constraint 'c': body or frame 'x' does not exist": {"constraints": (Constraint("c", "weld", "a", "x"),)},
    "force 'f': body or frame 'x' does not exist": {"forces": (Force("f", "spring", "x"),)},
    "constraint 'c': joint 'x' does not exist": {
        "constraints": (Constraint("c", "coupling", "ja", "x", coefficients=(0, 1)),)
    },
    "force 'f': joint 'world' does not exist": {"forces": (Force("f", "joint-spring", WORLD),)},
    "force 'f': joint 'jb' must have one degree": {
        "joints": with_joint(kind="planar"),
        "forces": (Force("f", "joint-spring", "jb"),),
    },
    "constraint 'c': joint 'jb' must have one degree of freedom; a Constraint of kind 'position'": {
        "joints": with_joint(kind="planar"),
        "constraints": (Constraint("c", "motion", "jb", function=lambda t: t),),
    },
    "joint 'jb' mimics 'x', which does not exist": {"joints": with_joint(mimic=Mimic("x"))},
    "joint 'jb' mimics itself; name the joint that leads": {"joints": with_joint(mimic=Mimic("jb"))},
    "joint 'jb' (spherical) cannot mimic 'ja' (revolute): both must have one degree": {
        "joints": with_joint(mimic=Mimic("ja"), kind="spherical")
    },
    # numbers
    "gravity contains nan": {"gravity": [0, 0, NAN]},
    "body 'b': mass contains inf": {"bodies": with_inertia(Inertia(INF))},
    "body 'b': mass -1 kg is negative": {"bodies": with_inertia(Inertia(-1))},
    "body 'b': centre of mass contains nan": {"bodies": with_inertia(Inertia(1, [NAN, 0, 0]))},
    "body 'b': inertia tensor contains inf": {"bodies": with_inertia(Inertia(1, [0, 0, 0], np.diag([INF, INF, INF])))},
    "joint 'jb': placement contains nan": {"joints": with_joint(placement=NOWHERE)},
    "joint 'jb': axis contains nan": {"joints": with_joint(axis=[NAN, 0, 0])},
    "joint 'jb': axis2 contains nan": {"joints": with_joint(kind="universal", axis2=[1, NAN, 0])},
    "body 'b': mass contains oo": {"bodies": with_inertia(Inertia(sympy.oo))},
    "body 'b': mass contains nan": {"bodies": with_inertia(Inertia(sympy.nan))},
    "body 'b': mass contains m + zoo": {"bodies": with_inertia(Inertia(sympy.Symbol("m") + sympy.zoo))},
    "body 'b': mass -1/3 kg is negative": {"bodies": with_inertia(Inertia(sympy.Rational(-1, 3)))},
    "body 'b': mass m kg is negative": {"bodies": with_inertia(Inertia(sympy.Symbol("m", negative=True)))},
    "joint 'jb': the largest velocity is -1": {"joints": with_joint(limits=Limits(velocity=-1))},
    "joint 'jb': the largest effort is nan": {"joints": with_joint(limits=Limits(effort=NAN))},
    "joint 'jb': pitch contains inf": {"joints": with_joint(pitch=INF)},
    "joint 'jb': damping -1 is negative": {"joints": with_joint(damping=-1)},
    "joint 'jb': friction -1 is negative": {"joints": with_joint(friction=-1)},
    "joint 'jb': armature -1 is negative": {"joints": with_joint(armature=-1)},
    "joint 'jb': limits 1 .. 0 are not an interval": {"joints": with_joint(limits=Limits(1, 0))},
    "joint 'jb': limits nan .. 0 are not an interval": {"joints": with_joint(limits=Limits(NAN, 0))},
    "joint 'jb': limits are for joints of one degree, and this one is planar": {
        "joints": with_joint(kind="planar", limits=Limits(-1, 1))
    },
    "joint 'jb': limits are for joints of one degree, and this one is fixed; leave them out": {
        "joints": with_joint(kind="fixed", limits=Limits(effort=1))
    },
    "joint 'jb': a continuous joint has no range, but -inf .. 1 is given; make it revolute": {
        "joints": with_joint(kind="continuous", limits=Limits(upper=1, velocity=2))
    },
    "joint 'jb': mimic contains nan": {"joints": with_joint(mimic=Mimic("ja", NAN))},
    "frame 'f': placement contains nan": {"frames": (Frame("f", "a", NOWHERE),)},
    "constraint 'c': placement contains nan": {"constraints": (Constraint("c", "weld", "a", placement_b=NOWHERE),)},
    "constraint 'c': value or coefficients contains inf": {
        "constraints": (Constraint("c", "coupling", "ja", "jb", coefficients=(INF, 1)),)
    },
    "force 'f': placement contains nan": {"forces": (Force("f", "spring", "a", placement_a=NOWHERE),)},
    "force 'f': rest contains nan": {"forces": (Force("f", "spring", "a", rest=NAN),)},
    # axes and rotations
    "joint 'jb': axis [0.0, 0.0, 2.0] has length 2, not 1; divide it": {"joints": with_joint(axis=[0, 0, 2])},
    "joint 'jb': axis [0.0, 0.0, 0.0] has length 0, not 1; it gives no direction": {
        "joints": with_joint(axis=[0, 0, 0])
    },
    "joint 'jb': axis2 [0.0, 0.0, 0.5] has length 0.5": {"joints": with_joint(kind="universal", axis2=[0, 0, 0.5])},
    "joint 'jb': the two axes of the universal joint are parallel": {
        "joints": with_joint(kind="universal", axis2=[0, 0, 1])
    },
    "joint 'jb': the rotation of its placement is not a rotation": {"joints": with_joint(placement=NO_ROTATION)},
    "joint 'jb': the rotation of its placement is not a rotation matrix": {
        "joints": with_joint(placement=Transform(sympy.diag(2, 1, 1).as_immutable(), [0, 0, 0]))
    },
    "force 'f': the rotation of its placement is not a rotation": {
        "forces": (Force("f", "spring", "a", placement_a=NO_ROTATION),)
    },
    "frame 'f': the rotation of its placement is not a rotation": {"frames": (Frame("f", "a", NO_ROTATION),)},
    "constraint 'c': the rotation of its placement is not": {
        "constraints": (Constraint("c", "weld", "a", placement_a=NO_ROTATION),)
    },
    # inertias
    "body 'b': the inertia tensor is not symmetric": {
        "bodies": with_inertia(Inertia(1, [0, 0, 0], [[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]))
    },
    "body 'b': the inertia tensor is not positive: principal moments -0.1, 1, 1": {
        "bodies": with_inertia(Inertia(1, [0, 0, 0], np.diag([1, -0.1, 1])))
    },
    "body 'b': principal moments 1, 2, 3.5 kg m^2 break the triangle inequality (1 + 2 < 3.5)": {
        "bodies": with_inertia(Inertia(1, [0, 0, 0], np.diag([2, 1, 3.5])))
    },
    "body 'b': has rotational inertia but no mass": {"bodies": with_inertia(Inertia(0, [0, 0, 0], np.eye(3)))},
    "joint 'jb' moves nothing that has mass": {"bodies": with_inertia(Inertia())},
    "joint 'jb': a revolute joint has no pitch, but 0.1 is given; make it helical": {"joints": with_joint(pitch=0.1)},
}


def test_no_problem_hides_another():
    found = problems(
        bodies=(*(Body(name, BALL) for name in "aaced"), Body("b", Inertia(1, [0, 0, NAN], np.diag([1, 1, 5])))),
        joints=(
            Joint("ja", "revolute", WORLD, "a", axis=[0, 0, 0]),
            Joint("jb", "revolute", "nobody", "b"),
            Joint("jc", "revolute", "d", "c"),
            Joint("jd", "revolute", "c", "d"),
            Joint("je", "revolute", "e", "e", mimic=Mimic("nothing")),
        ),
        frames=(Frame("f", "nobody"),),
    )
    for part in (
        "name 'a' is used 2 times", "parent body 'nobody' does", "'c', 'd' form a loop", "'e' to itself",
        "frame 'f': body 'nobody'", "mimics 'nothing'", "centre of mass contains nan", "has length 0",
        "principal moments 1, 1, 5",
    ):  # fmt: skip
        assert sum(part in problem for problem in found) == 1, (part, found)
    assert len(found) == 9


@pytest.mark.parametrize("wrong", [{"axis": [0, 0, 2]}, {"damping": -1}, {"axis": [0, 0, 0]}, {"limits": Limits(2, 1)}])
def test_wrong_numbers_do_not_hide_a_joint_that_moves_no_mass(wrong):
    found = problems(bodies=with_inertia(Inertia()), joints=with_joint(**wrong))
    assert len(found) == 2 and "joint 'jb' moves nothing that has mass" in found[1]


def test_the_length_of_an_axis_does_not_hide_a_motion_about_a_line_of_mass():
    """A rod without inertia about its own axis: the tree alone cannot tell, the inertia matrix can."""
    rod = Inertia(1, [0, 0, 1], np.diag([1.0, 1.0, 0.0]))
    bodies = (Body("a", BALL), Body("b", rod))
    about = [x for x in problems(bodies=bodies, joints=with_joint()) if "alone moves no mass" in x]
    assert len(about) == 1 and "'jb'" in about[0]
    assert about[0] in problems(bodies=bodies, joints=with_joint(axis=[0, 0, 3]))


@pytest.mark.parametrize(
    "wrong", [sympy.I, sympy.Symbol("m") * sympy.I, sympy.true, sympy.Symbol("A", commutative=False)]
)
def test_expressions_are_real(wrong):
    with pytest.raises(ModelError, match="expected a real number or a symbol"):
        Inertia(wrong)


@pytest.mark.parametrize("quarter", [Fraction(1, 4), Decimal("0.25")])
def test_exact_fractions_become_floats(quarter):
    assert Inertia(quarter).mass == 0.25 and type(Inertia(quarter).mass) is float


@pytest.mark.parametrize("message", BROKEN)
def test_each_problem_is_named(message):
    found = problems(**BROKEN[message])
    assert any(message in problem for problem in found), found


def test_all_problems_are_reported_at_once():
    found = problems(
        bodies=(Body("a", Inertia(-1)), Body("b", Inertia(NAN))),
        joints=(Joint("ja", "revolute", WORLD, "a", damping=-1), Joint("jb", "revolute", "a", "b", axis=[NAN, 0, 0])),
        gravity=[NAN, 0, 0],
    )
    assert len(found) == 5
    found = problems(
        joints=(Joint("ja", "revolute", WORLD, "a", axis=[0, 0, 3]), Joint("jb", "revolute", "x", "y")),
        frames=(Frame("f", "z"),),
    )
    assert len(found) == 5  # parent, child, b not attached, frame, axis
    message = str(ValidationError("it", found))
    assert message.startswith("it: 5 problems\n  - ") and all(problem in message for problem in found)


def test_several_impossible_inertias_are_reported_at_once():
    odd = Inertia(1, [0, 0, 0], np.diag([1, 1, 3]))
    assert len(problems(bodies=(Body("a", odd), Body("b", odd)))) == 2


def test_a_mechanism_that_is_not_strict_keeps_its_doubts():
    odd = Inertia(1, [0, 0, 0], np.diag([1, 1, 3]))
    kept = Mechanism("m", (Body("a", odd),), (Joint("j", "revolute", WORLD, "a"),), strict=False)
    (doubt,) = kept.problems()
    assert "triangle" in doubt


def test_rounding_of_files_is_forgiven_and_more_is_not():
    flat = Inertia(1, [0, 0, 0], np.diag([1, 1, 2.0000005]))
    Mechanism("m", (Body("a", flat),), (Joint("j", "revolute", WORLD, "a"),))
    problems(bodies=with_inertia(Inertia(1, [0, 0, 0], np.diag([1, 1, 2.00001]))))


def test_massless_ends_are_allowed_where_the_inertia_matrix_stays_regular():
    flange = (Joint("ja", "revolute", WORLD, "a"), Joint("jb", "fixed", "a", "b"))
    Mechanism("m", (Body("a", BALL), Body("b")), flange)
    geared = with_joint(armature=0.1)
    Mechanism("m", (Body("a", BALL), Body("b")), geared)
    Mechanism("kinematics only", (Body("a"), Body("b")), with_joint())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Inertia("1"), "mass: expected a number or a symbol, got '1'"),
        (lambda: Inertia(True), "mass: expected a number"),
        (lambda: Inertia(None), "mass: expected a number"),
        (lambda: Inertia(1j), "mass: expected a real number"),
        (lambda: Inertia(1, [1, 2]), "centre of mass: expected three numbers, got an array of shape (2,)"),
        (lambda: Inertia(1, [1, 2, 3j]), "centre of mass: expected real numbers"),
        (lambda: Inertia(1, ["a", "b", "c"]), "centre of mass: expected a number or a symbol, got 'a'"),
        (lambda: Inertia(1, [0, 0, 0], [1, 2, 3, 4]), "inertia tensor: expected a 3 x 3 matrix"),
        (lambda: Inertia(1, [0, 0, 0], [[1, 2], [3]]), "inertia tensor: expected a 3 x 3 matrix"),
        (lambda: Joint("j", "hinge", WORLD, "a"), "joint 'j': unknown kind 'hinge'; choose one of fixed, revolute"),
        (lambda: Joint("j", "revolute", WORLD, "a", axis=[[1, 0, 0]]), "joint 'j', axis: expected three numbers"),
        (lambda: Joint("j", "revolute", WORLD, "a", damping="x"), "joint 'j', damping: expected a number"),
        (lambda: Constraint("c", "glue", "a"), "constraint 'c': unknown kind 'glue'; choose one of weld"),
        (lambda: Constraint("c", "distance", "a", value="x"), "constraint 'c', value"),
        (lambda: Constraint("c", "coupling", "a", coefficients=("x",)), "constraint 'c', value or coefficient"),
        (lambda: Force("f", "magnet", "a"), "force 'f': unknown kind 'magnet'; choose one of spring"),
        (lambda: Force("f", "spring", "a", rest=[1]), "force 'f', rest: expected a number"),
        (lambda: Mechanism("m", (), (), gravity=[1, 2]), "gravity: expected three numbers"),
        (lambda: Mechanism("m", (), (), gravity=9.81), "gravity: expected three numbers, got 9.81"),
    ],
)
def test_parts_refuse_what_is_not_a_number_or_kind(build, message):
    with pytest.raises(ModelError) as caught:
        build()
    assert message in str(caught.value)


@given(mechanisms(1, 8, mimic=0.3, drives=True), st.booleans())
def test_sound_mechanisms_have_no_problems(mechanism, strict):
    assert mechanism.replace(strict=strict).problems() == ()


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 3))
def test_the_triangle_inequality_is_judged_by_principal_moments(seed, excess):
    """Turning the axes hides nothing: a tensor passes or fails in every frame alike."""
    rng = np.random.default_rng(seed)
    R = random_rotation(rng)
    joint = (Joint("j", "revolute", WORLD, "a"),)
    possible = random_inertia(rng).moved(R, rng.normal(size=3))
    Mechanism("m", (Body("a", possible),), joint)
    impossible = Inertia(1, [0, 0, 0], np.diag([1, 1, 2 + excess])).moved(R, np.zeros(3))
    with pytest.raises(ValidationError, match="triangle"):
        Mechanism("m", (Body("a", impossible),), joint)


@pytest.mark.parametrize("entry", [NAN, INF, sympy.nan])
def test_a_tensor_that_is_not_finite_is_not_called_lopsided(entry):
    tensor = np.array([[1, entry, 0], [entry, 1, 0], [0, 0, 1]], dtype=object)
    with pytest.raises(ValidationError) as caught:
        Mechanism("m", with_inertia(Inertia(1, [0, 0, 0], tensor)), with_joint())
    assert [problem for problem in caught.value.problems if "inertia" in problem] == [
        f"body 'b': inertia tensor contains {entry}"
    ]


def test_two_symbols_of_one_name_are_refused():
    plain, real = sympy.Symbol("m"), sympy.Symbol("m", real=True)
    bodies = (Body("a", Inertia.box(plain, (1, 1, 1))), Body("b", Inertia.box(real, (1, 1, 1))))
    joints = (Joint("ja", "revolute", WORLD, "a"), Joint("jb", "revolute", "a", "b"))
    with pytest.raises(ValidationError, match="2 different symbols are called 'm'"):
        Mechanism("m", bodies, joints)


m, moment = sympy.symbols("m I", positive=True)


@pytest.mark.parametrize(
    "tensor, message",
    [
        (np.diag([1, 1, 5]), "triangle inequality"),
        (np.diag([-1, 1, 1]), "not positive"),
        ([[1, 0.5, 0], [0, 1, 0], [0, 0, 1]], "not symmetric"),
        ([[moment, 0, 0], [0, -1, 0], [0, 0, moment]], "yy is -1"),
        ([[moment, 0, 0], [0, moment, 0], [0, 0, -moment]], "zz is -I"),
    ],
)
def test_a_symbolic_mass_hides_no_impossible_inertia_tensor(tensor, message):
    with pytest.raises(ValidationError, match=message):
        Mechanism("one", [Body("b", Inertia(m, [0, 0, 0], tensor))], [Joint("j", "revolute", WORLD, "b")])

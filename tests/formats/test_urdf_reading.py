"""Reading URDF: every element, every assumption, every error with its file and line."""

import math
import warnings

import numpy as np
import pytest

from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.errors import ArgumentError, FormatError, ModelWarning, ValidationError
from dalembert.formats import read_urdf

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def link(name, inside=INERTIAL):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, inside="", kind="revolute"):
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>' if kind in ("revolute", "prismatic") else ""
    if "<limit" in inside:
        limit = ""
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{limit}{inside}</joint>'


def robot(*lines, name="r"):
    """A robot with one element per line; the first is on line 2."""
    return "\n".join([f'<robot name="{name}">', *lines, "</robot>"])


def chain(inside="", kind="revolute", body=INERTIAL):
    return robot(link("a"), link("b", body), joint("j", "a", "b", inside, kind))


ABC = [link(name) for name in "abc"]


# ------------------------------------------------------------------------------------------------------------- meaning


@pytest.mark.parametrize(
    ("written", "kind", "nq", "nv"),
    [
        ("revolute", "revolute", 1, 1), ("continuous", "continuous", 1, 1), ("prismatic", "prismatic", 1, 1),
        ("fixed", "fixed", 0, 0), ("floating", "free", 7, 6), ("planar", "planar", 3, 3),
    ],
)  # fmt: skip
def test_all_joint_types(written, kind, nq, nv):
    mechanism = read_urdf(chain(kind=written))
    assert mechanism.joint("j").kind == kind
    assert (mechanism.nq, mechanism.nv) == (nq, nv)


def test_all_numbers_of_a_joint():
    inside = (
        '<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="0 1 0"/><dynamics damping="0.5" friction="0.25"/>'
        '<limit lower="-2" upper="3" effort="10" velocity="4"/>'
    )
    read = read_urdf(chain(inside)).joint("j")
    assert np.array_equal(read.placement.translation, [1, 2, 3])
    assert np.array_equal(read.placement.rotation, rotation_from_rpy(0.1, 0.2, 0.3))
    assert np.array_equal(read.axis, [0, 1, 0])
    assert (read.damping, read.friction) == (0.5, 0.25)
    assert (read.limits.lower, read.limits.upper, read.limits.effort, read.limits.velocity) == (-2, 3, 10, 4)


def test_the_default_axis_is_x_and_planar_takes_it_as_normal():
    assert np.array_equal(read_urdf(chain()).joint("j").axis, [1, 0, 0])
    assert np.array_equal(read_urdf(chain('<axis xyz="0 0 1"/>', "planar")).joint("j").axis, [0, 0, 1])


def test_a_turned_inertial_frame_turns_the_tensor():
    body = (
        '<inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/><mass value="2"/>'
        '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>'
    )
    inertia = read_urdf(chain(body=body)).body("b").inertia
    R, tensor = rotation_from_rpy(0.4, 0.5, 0.6), np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert inertia.mass == 2
    assert np.array_equal(inertia.center, [0.1, 0.2, 0.3])
    assert np.allclose(inertia.tensor, R @ tensor @ R.T, rtol=0, atol=1e-15)
    assert np.array_equal(inertia.tensor, inertia.tensor.T)


@pytest.mark.parametrize("angle", ["1.57079632679", "-1.5707963268", "3.14159265359", "4.71238898038", "1e-12"])
def test_angles_written_with_eleven_decimals_are_right_angles(angle):
    mechanism = read_urdf(chain(f'<origin rpy="{angle} 0 {angle}"/>'))
    assert set(np.unique(np.abs(mechanism.joint("j").placement.rotation))) <= {0.0, 1.0}
    assert any("2 angles" in note for note in mechanism.notes)


@pytest.mark.parametrize("angle", ["1.5708", "1.570796327", "3.1416", "1e-10", "0.3"])
def test_other_angles_are_taken_as_written(angle):
    mechanism = read_urdf(chain(f'<origin rpy="{angle} 0 0"/>'))
    assert mechanism.joint("j").placement.rotation[1, 1] == pytest.approx(math.cos(float(angle)), abs=1e-16)
    assert not any("angles" in note for note in mechanism.notes)


def test_an_axis_that_is_not_a_unit_vector_is_scaled_with_a_note():
    mechanism = read_urdf(chain('<axis xyz="0 3 4"/>'))
    assert np.allclose(mechanism.joint("j").axis, [0, 0.6, 0.8], rtol=0, atol=1e-16)
    assert any("'j' (length 5)" in note for note in mechanism.notes)


def test_limits_beyond_1e30_mean_no_limit():
    read = read_urdf(chain('<limit lower="-1e30" upper="inf" effort="1e99" velocity="5"/>')).joint("j").limits
    assert (read.lower, read.upper, read.effort, read.velocity) == (-math.inf, math.inf, math.inf, 5)


def test_a_missing_limit_is_noted():
    text = robot(link("a"), link("b"), '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint>')
    assert any("'j' (line 4) has no <limit>" in note for note in read_urdf(text).notes)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_limit_without_lower_or_upper_has_zero_there_and_a_note_says_so(kind):
    named = {"lower": -0.5, "upper": 0.7}
    for given in ({}, {"lower"}, {"upper"}, {"lower", "upper"}):
        inside = " ".join(f'{key}="{named[key]}"' for key in sorted(given))
        mechanism = read_urdf(chain(f'<limit effort="1" velocity="1" {inside}/>', kind))
        told = " ".join(note for note in mechanism.notes if "does not name it" in note)
        for key in named:
            assert getattr(mechanism.joint("j").limits, key) == (named[key] if key in given else 0)
            assert (key in told) == (key not in given)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "continuous"])
def test_a_limit_without_effort_or_velocity_limits_neither_and_a_note_says_so(kind):
    named = {"effort": 3.0, "velocity": 5.0}
    for given in ({}, {"effort"}, {"velocity"}, {"effort", "velocity"}):
        inside = " ".join(f'{key}="{named[key]}"' for key in sorted(given))
        mechanism = read_urdf(chain(f"<limit {inside}/>", kind))
        told = " ".join(note for note in mechanism.notes if "does not name it" in note)
        for key in named:
            assert getattr(mechanism.joint("j").limits, key) == (named[key] if key in given else math.inf)
            assert (key in told) == (key not in given)


def test_visual_shapes_are_kept_and_meshes_need_not_exist():
    body = INERTIAL + (
        '<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>'
        '<visual><geometry><sphere radius="0.5"/></geometry></visual>'
        '<visual><geometry><cylinder radius="0.1" length="2"/></geometry>'
        '<material name="x"><color rgba="0 1 0 0.5"/></material></visual>'
        '<visual><geometry><mesh filename="package://nowhere/a.stl" scale="1 1 -1"/></geometry></visual>'
        "<visual><geometry><torus/></geometry></visual>"
    )
    text = robot('<material name="red"><color rgba="1 0 0 1"/></material>', link("a", body))
    mechanism = read_urdf(text)
    box, sphere, cylinder, mesh = mechanism.body("a").shapes
    assert (box.kind, box.size, box.colour) == ("box", (1, 2, 3), (1, 0, 0, 1))
    assert np.array_equal(box.placement.translation, [0, 0, 1])
    assert (sphere.kind, sphere.size) == ("sphere", (0.5,))
    assert (cylinder.size, cylinder.colour) == ((0.1, 2), (0, 1, 0, 0.5))
    assert (mesh.mesh, mesh.size) == ("package://nowhere/a.stl", (1, 1, -1))
    assert any("visual torus (1)" in note for note in mechanism.notes)


def test_what_is_not_read_is_listed_in_a_note():
    text = robot("<gazebo><x/></gazebo>", "<transmission/>", "<transmission/>", link("a", INERTIAL + "<collision/>"))
    (note,) = read_urdf(text).notes
    assert note == "elements that were not read: collision (1), gazebo (1), transmission (2)"


def test_joint_order_is_the_order_of_appearance_depth_first():
    joints = [joint("j3", "c", "d"), joint("j2", "a", "c"), joint("j1", "a", "b"), joint("j4", "b", "e")]
    text = robot(*(link(n) for n in "abcde"), *joints)
    assert [j.name for j in read_urdf(text).joints] == ["root_joint", "j2", "j3", "j1", "j4"]


# ---------------------------------------------------------------------------------------------------------------- root


def test_the_root_hangs_on_the_ground_by_a_fixed_or_free_joint():
    fixed, free = read_urdf(chain()), read_urdf(chain(), base="free")
    assert (fixed.joints[0].name, fixed.joints[0].kind, fixed.nv) == ("root_joint", "fixed", 1)
    assert (free.joints[0].name, free.joints[0].kind, free.nv) == ("root_joint", "free", 7)
    with pytest.raises(ArgumentError, match="'fixed' or 'free'"):
        read_urdf(chain(), base="floating")


def test_a_joint_called_root_joint_is_left_alone():
    mechanism = read_urdf(robot(link("a"), link("b"), joint("root_joint", "a", "b")))
    assert [j.name for j in mechanism.joints] == ["root_joint_", "root_joint"]


def test_a_root_called_world_is_the_ground_unless_the_base_is_free():
    text = robot(link("world"), link("b"), joint("j", "world", "b"))
    fixed = read_urdf(text)
    assert [b.name for b in fixed.bodies] == ["b"]
    assert any("'world' is the ground, without its inertial" in note for note in fixed.notes)
    free = read_urdf(text, base="free")
    assert [b.name for b in free.bodies] == ["world_link", "b"]
    assert any("renamed to 'world_link'" in note for note in free.notes)


def test_a_link_called_world_inside_the_tree_is_renamed():
    mechanism = read_urdf(robot(link("a"), link("world"), joint("j", "a", "world")))
    assert [b.name for b in mechanism.bodies] == ["a", "world_link"]


# --------------------------------------------------------------------------------------------------------------- mimic


def hand(*mimics, kind="revolute"):
    links = [link(f"l{k}") for k in range(len(mimics) + 1)]
    joints = [joint(f"j{k + 1}", f"l{k}", f"l{k + 1}", mimic, kind) for k, mimic in enumerate(mimics)]
    return robot(*links, *joints)


def test_mimic_joints_have_no_coordinate_of_their_own():
    mechanism = read_urdf(hand("", '<mimic joint="j1" multiplier="-2" offset="0.5"/>'))
    assert mechanism.nv == 1
    mimic = mechanism.joint("j2").mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j1", -2, 0.5)


def test_chains_of_mimics_are_composed():
    text = hand('<mimic joint="j2" multiplier="2" offset="1"/>', '<mimic joint="j3" multiplier="-3" offset="0.5"/>', "")
    mechanism = read_urdf(text)  # q1 = 2 (-3 q3 + 0.5) + 1
    mimic = mechanism.joint("j1").mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("j3", -6, 2)
    assert any("'j1' follows 'j3' through 'j2'" in note for note in mechanism.notes)


def test_a_mimic_cycle_is_an_error():
    with pytest.raises(FormatError, match="<text>:6: the mimic joints 'j1' -> 'j2' -> 'j1' lead in a circle"):
        read_urdf(hand('<mimic joint="j2"/>', '<mimic joint="j1"/>'))
    with pytest.raises(FormatError, match="circle"):
        read_urdf(hand('<mimic joint="j1"/>'))


def test_a_mimic_of_nobody_warns_or_is_refused():
    text = hand("", '<mimic joint="j1x"/>')
    with pytest.warns(ModelWarning, match="line 6: joint 'j2' mimics 'j1x', which does not exist; did you mean 'j1'"):
        assert read_urdf(text).nv == 2
    with pytest.raises(FormatError, match=r"<text>:6: joint 'j2' mimics 'j1x'"):
        read_urdf(text, strict=True)


def test_mimics_need_one_degree_of_freedom():
    with pytest.raises(FormatError, match="'j1' is fixed: both must have one degree of freedom"):
        read_urdf(
            robot(
                *ABC,
                joint("j1", "a", "b", kind="fixed"),
                joint("j2", "b", "c", '<mimic joint="j1"/>'),
            )
        )


# ---------------------------------------------------------------------------------------------------------- doubtful


def test_a_missing_inertial_is_zero_with_a_warning_that_names_link_and_line():
    text = robot(link("a"), link("b"), link("c", ""), joint("j", "a", "b"), joint("k", "b", "c", kind="fixed"))
    with pytest.warns(ModelWarning, match=r"no <inertial>.*'c' \(line 4\)"):
        mechanism = read_urdf(text)
    assert mechanism.body("c").inertia.is_zero
    assert any("'c' (line 4)" in note for note in mechanism.notes)


def test_impossible_inertias_are_kept_with_a_warning_or_refused():
    body = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial>'
    with pytest.warns(ModelWarning, match="triangle inequality"):
        mechanism = read_urdf(chain(body=body))
    assert "triangle inequality" in mechanism.problems()[0]
    assert any("triangle inequality" in note for note in mechanism.notes)
    with pytest.raises(ValidationError, match="triangle inequality"):
        read_urdf(chain(body=body), strict=True)


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ('<origin rpy="0 0 90"/>', "line 4: rpy='0 0 90' is more than a turn; angles are in radians"),
        ('<limit lower="-180" upper="180" effort="1" velocity="1"/>', "'j' has the limits -180 .. 180 rad.*degrees"),
        ('<limit lower="0" upper="90" effort="1" velocity="1"/>', "'j' has the limits 0 .. 90 rad"),
    ],
)
def test_angles_that_look_like_degrees_are_kept_with_a_warning(inside, message):
    with pytest.warns(ModelWarning, match=message):
        mechanism = read_urdf(chain(inside))
    assert any("in radians" in note for note in mechanism.notes)


@pytest.mark.parametrize(
    "inside",
    [
        '<origin rpy="6.283185307179586 -3.15 0"/>', '<limit lower="-100" upper="100" effort="1" velocity="1"/>',
        '<limit lower="0" upper="0" effort="1" velocity="1"/>',
        '<limit lower="-12.5" upper="15" effort="1" velocity="1"/>',
    ],
)  # fmt: skip
def test_many_turns_that_are_no_round_degrees_are_not_doubted(inside):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_urdf(chain(inside))


def test_a_clean_file_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_urdf(chain()).notes == ()


# -------------------------------------------------------------------------------------------------------------- errors


def inertial(**changes):
    values = {"mass": "1", "ixx": "1", "iyy": "1", "izz": "1", "ixy": "0", "ixz": "0", "iyz": "0"} | changes
    mass = values.pop("mass")
    moments = " ".join(f'{key}="{value}"' for key, value in values.items())
    return f'<inertial><mass value="{mass}"/><inertia {moments}/></inertial>'


ERRORS = [
    # text, line, message
    ("<sdf/>", 1, "this file is SDF"),
    ("<mujoco/>", 1, "this file is MJCF"),
    (robot(), 1, "no <link>"),
    (robot("<xacro:macro/>", link("a")), 2, "xacro"),
    (chain(body="<xacro:inertia m='1'/>"), 3, "xacro template"),
    (robot(link("a"), link("${p}b")), 3, "xacro template"),
    (robot(link("a"), "<link/>"), 3, "attribute 'name' is missing"),
    (robot(link("a"), '<link name=" "/>'), 3, "attribute 'name' is empty"),
    (robot(link("a"), link("b"), link("a")), 4, "link name 'a' is used already on line 2"),
    (robot(*ABC, joint("j", "a", "b"), joint("j", "b", "c")), 6, "'j' is used already on line 5"),
    (robot(link("a"), link("b")), 3, r"'a' \(line 2\), 'b' \(line 3\) have no parent"),
    (robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), 5, "'a', 'b' form a loop"),
    (robot(link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), 6, "'a', 'b' form a loop"),
    (robot(link("a"), link("b"), joint("j", "a", "a")), 4, "connects link 'a' to itself"),
    (robot(*ABC, joint("j", "a", "c"), joint("k", "b", "c")), 6, r"child of two joints, 'j' \(line 5\)"),
    (robot(link("base"), link("b"), joint("j", "bas", "b")), 4, "link 'bas' does not exist; did you mean 'base'"),
    (robot(link("a"), link("b"), joint("j", "a", "zzz")), 4, "child link 'zzz' does not exist"),
    (robot(link("a"), link("b"), '<joint name="j" type="fixed"><parent link="a"/></joint>'), 4, "needs a <child>"),
    (chain(kind="hinge"), 4, "unknown type 'hinge'; URDF has revolute"),
    (robot(*ABC[:2], '<joint name="j"><parent link="a"/><child link="b"/></joint>'), 4, "'type' is missing"),
    (chain('<axis xyz="0 0 0"/>'), 4, "length zero"),
    (chain('<axis xyz="0 0"/>'), 4, "holds 2 values, not 3"),
    (chain('<axis xyz="0 0 one"/>'), 4, "'one' is not a finite number"),
    (chain('<origin xyz="0 0 nan"/>'), 4, "'nan' is not a finite number"),
    (chain('<origin rpy="0 0 inf"/>'), 4, "'inf' is not a finite number"),
    (chain('<origin xyz="0 0 1,5"/>'), 4, "'1,5' is not a finite number"),
    (chain('<origin xyz="0 0 1_5"/>'), 4, "'1_5' is not a finite number"),
    (chain('<origin xyz="0 0 ${x}"/>'), 4, "xacro"),
    (chain('<origin xyz="0 0 1e300"/>'), 4, "absurdly large"),
    (chain('<origin/><origin/>'), 4, "second <origin>"),
    (chain('<limit lower="2" upper="1" effort="1" velocity="1"/>'), 4, "lower limit 2 is above the upper limit 1"),
    (chain('<limit lower="nan" upper="1" effort="1" velocity="1"/>'), 4, "lower='nan' is not a finite number"),
    (chain('<limit lower="0" upper="1" effort="-1" velocity="1"/>'), 4, "effort='-1': it must not be negative"),
    (chain('<dynamics damping="-1"/>'), 4, "damping='-1': it must not be negative"),
    (chain('<mimic/>'), 4, "'joint' is missing"),
    (chain(body=inertial(mass="-1")), 3, "value='-1': it must not be negative"),
    (chain(body=inertial(mass="2 kg")), 3, "value='2 kg' is not a finite number"),
    (chain(body=inertial(mass="")), 3, "'value' is empty"),
    (chain(body=inertial(ixx="x")), 3, "ixx='x' is not a finite number"),
    (chain(body="<inertial/>"), 3, "<inertial> needs a <mass>"),
    (chain(body='<inertial><mass value="1"/></inertial>'), 3, "needs a <inertia>"),
    (chain(body=INERTIAL + INERTIAL), 3, "second <inertial>"),
    (chain(body='<visual><geometry><sphere radius="-1"/></geometry></visual>'), 3, "must not be negative"),
    (chain(body='<visual><geometry><box size="1 1 -1"/></geometry></visual>'), 3, "must not be negative"),
    (chain(body="<visual/>"), 3, "needs a <geometry>"),
    ("<robot>\n<link name='a'>\n</robot>", 3, "malformed XML: mismatched tag"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "message"), ERRORS, ids=[message for _, _, message in ERRORS])
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_errors_name_file_line_and_reason(text, line, message, tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_no_problem_of_a_file_hides_another():
    """An unknown kind, bad limits, bad numbers of bodies and a second name: all are told, in the order of the lines."""
    text = robot(
        link("a", inertial(mass="-1")),
        link("b", inertial(izz="3")),
        link("c", inertial(ixx="?")),
        link("c"),
        joint("j", "a", "b", '<limit lower="2" upper="1" effort="1" velocity="1"/><axis xyz="0 0 0"/>'),
        joint("k", "b", "c", '<origin xyz="nan 0 0"/><dynamics damping="-1"/><mimic joint="k"/>', kind="hinge"),
        joint("l", "b", "nobody"),
    )
    with pytest.raises(FormatError) as caught:
        read_urdf(text, strict=True)
    expected = [
        (2, "value='-1'"), (3, "triangle inequality"), (4, "ixx='?'"), (5, "'c' is used already"),
        (6, "length zero"), (6, "lower limit 2 is above"),
        (7, "unknown type 'hinge'"), (7, "damping='-1'"), (7, "xyz='nan'"), (8, "'nobody' does not exist"),
    ]  # fmt: skip
    lines = str(caught.value).splitlines()
    assert caught.value.line == 2
    assert [int(line.split(":")[1]) for line in lines] == sorted(line for line, _ in expected)
    for number, words in expected:
        assert sum(line.startswith(f"<text>:{number}: ") and words in line for line in lines) == 1, (words, lines)


def test_every_wrong_number_of_an_element_is_told():
    """Several words in one attribute, several attributes of one element, several elements of one inertial."""
    body = (
        '<inertial><origin xyz="a 0 b" rpy="c 0 0"/><mass value="d"/>'
        '<inertia ixx="e" iyy="f" izz="1" ixy="0" ixz="0"/></inertial>'
    )
    inside = (
        '<limit lower="g" upper="h" effort="-1" velocity="i"/><dynamics damping="-2" friction="j"/>'
        '<axis xyz="k l 0"/><mimic joint="m" multiplier="n" offset="o"/>'
    )
    text = robot(link("a"), link("b", body), link("c"), joint("m", "a", "c"), joint("j", "a", "b", inside))
    with pytest.raises(FormatError) as caught:
        read_urdf(text)
    told = str(caught.value)
    assert [word for word in (*"abcdefghijklno", "-1", "-2") if f"='{word}'" not in told] == []
    assert "'iyz' is missing" in told
    with pytest.raises(FormatError, match=r"(?s)needs a <mass>.*needs a <inertia>"):
        read_urdf(chain(body="<inertial/>"))


@pytest.mark.parametrize("kind", ["planar", "floating", "fixed", "continuous"])
def test_limits_of_joints_that_have_none_are_told(kind):
    inside = '<limit lower="-1" upper="1" effort="2" velocity="3"/>'
    text = robot(link("a"), link("b"), joint("j", "a", "b", inside, kind=kind))
    assert any(f"<limit> of 'j' ({kind}" in note for note in read_urdf(text).notes)
    assert not any("<limit>" in note for note in read_urdf(text.replace(inside, "")).notes)


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_mimic_of_several_degrees_says_what_to_do(kind):
    leader, follower = joint("j1", "a", "b"), joint("j2", "b", "c", '<mimic joint="j1"/>', kind=kind)
    with pytest.raises(FormatError, match=r"'j2' is (planar|free): both must have one degree.*kind 'position'"):
        read_urdf(robot(*ABC, leader, follower))
    leader, follower = joint("j1", "a", "b", kind=kind), joint("j2", "b", "c", '<mimic joint="j1"/>')
    with pytest.raises(FormatError, match=r"'j1' is (planar|free): both must have one degree.*kind 'position'"):
        read_urdf(robot(*ABC, leader, follower))


def test_a_file_that_is_not_there():
    with pytest.raises(FormatError, match=r"nowhere\.urdf: no such file"):
        read_urdf("nowhere.urdf")

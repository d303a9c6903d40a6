"""Reading TOML: meaning of every key, symbols and their values, every error with its place."""

import math
import warnings

import numpy as np
import pytest
import sympy as sp

from dalembert.errors import ArgumentError, FormatError, ModelWarning, ValidationError
from dalembert.formats import default_parameters, read_toml, write_toml
from dalembert.model.parameters import substitute

HEAD = 'name = "t"\n'
BODY = '[[body]]\nname = "b"\nmass = 1\ninertia = [1, 1, 1]\n'
JOINT = '[[joint]]\nname = "j"\nkind = "revolute"\nparent = "world"\nchild = "b"\n'


def toml(*, head="", body="", joint="", tail=""):
    return HEAD + head + BODY + body + JOINT + joint + tail


@pytest.mark.parametrize(
    ("positive", "message"),
    [('["k"]', "no expression has a symbol 'k'"), ('"m"', "array of names"), ("[1]", "array of names"),
     ('["g", "m"]', "'m' has the default value -2")],
)  # fmt: skip
def test_positive_names_symbols_whose_default_values_do_not_deny_it(positive, message):
    text = f"positive = {positive}\ngravity = [0, 0, 'm*g']\nbody = []\n[parameters]\nm = -2\ng = 9.81\n"
    with pytest.raises(FormatError, match=message):
        read_toml(text)
    assert [s.is_positive for s in read_toml(text.replace(positive, '["g"]')).symbols] == [True, None]


def test_the_example_in_the_documentation_reads():
    from dalembert.formats import toml as module

    text = module.__doc__.split("\n\n", 1)[1]
    example = text[: text.index("A serial chain")]
    lines = [line[4:] for line in example.splitlines() if "[[frame]]" not in line and "[[constraint]]" not in line]
    lines = [line for line in lines if not line.startswith(("[[force]]", "[[contact]]", " ")) and "mimic" not in line]
    mechanism = read_toml("\n".join(lines))
    assert mechanism.name == "pendulum"
    assert {symbol.name for symbol in mechanism.symbols} == {"g", "l", "m"}
    assert mechanism.joint("hinge").limits.upper == math.pi / 2
    assert np.array_equal(mechanism.joint("hinge").placement.rotation, [[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    assert np.array_equal(mechanism.joint("hinge").axis, [0, 1, 0])
    numeric = read_toml("\n".join(lines), parameters={"m": 5})
    assert numeric.body("bob").inertia.mass == 5
    assert numeric.body("bob").inertia.center.tolist() == [0, 0, -0.5]


def test_every_part_is_read():
    tail = """
[[body]]
name = "c"
mass = 2
center = [1, 2, 3]
inertia = [[1, 0.1, 0.2], [0.1, 1, 0.3], [0.2, 0.3, 1]]
[[joint]]
name = "k"
kind = "universal"
parent = "b"
child = "c"
rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
axis = [3, 0, 4]
axis2 = "-y"
damping = 0.1
friction = 0.2
armature = 0.3
[[frame]]
name = "tool"
body = "c"
xyz = [0, 0, 1]
[[constraint]]
name = "loop"
kind = "distance"
a = "c"
value = "sqrt(2)"
placement_a = { xyz = [1, 0, 0], rpy = [0, "pi", 0] }
[[constraint]]
name = "gear"
kind = "coupling"
a = "j"
coefficients = [0, "1/2"]
[[force]]
name = "spring"
kind = "spring"
a = "b"
b = "c"
stiffness = 100
damping = 2
rest = 0.5
"""
    mechanism = read_toml(toml(tail=tail))
    k, (loop, gear), (spring,) = mechanism.joint("k"), mechanism.constraints, mechanism.forces
    assert mechanism.body("c").inertia.tensor[1, 2] == 0.3
    assert np.allclose(k.axis, [0.6, 0, 0.8], rtol=0, atol=1e-16) and np.array_equal(k.axis2, [0, -1, 0])
    assert any("axis of joint 'k' divided by its length 5" in note for note in mechanism.notes)
    assert (k.damping, k.friction, k.armature) == (0.1, 0.2, 0.3)
    assert np.array_equal(k.placement.rotation, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert mechanism.frame("tool").placement.translation.tolist() == [0, 0, 1]
    assert (loop.b, loop.value) == ("world", math.sqrt(2))
    assert np.array_equal(loop.placement_a.rotation, np.diag([-1, 1, -1]))
    assert (gear.b, gear.coefficients) == ("", (0, 0.5))
    assert (spring.stiffness, spring.damping, spring.rest) == (100, 2, 0.5)


def test_symbols_make_the_whole_file_exact_and_numbers_make_it_floats():
    exact = read_toml(toml(head='gravity = [0, 0, "-g"]\n', joint='rpy = ["pi/2", "pi/3", 0]\n'))
    assert exact.joint("j").placement.rotation[0, 0] == sp.Rational(1, 2)
    assert exact.symbols == (sp.Symbol("g", real=True),)
    numeric = read_toml(toml(joint='rpy = ["pi/2", "pi/3", 0]\n'))
    assert numeric.joint("j").placement.rotation.dtype == float
    assert numeric.symbols == ()


PARAMETER = "[parameters]\nx = 0.5\n"


@pytest.mark.parametrize(
    "direction",
    ["axis = ['sin(x)', 0, 'cos(x)']", "axis = ['1/2', '-1/2', 0]", "axis = [3, 0, 4]",
     "rotation = [['sin(x)', 'cos(x)', 0], ['-cos(x)', 'sin(x)', 0], [0, 0, 1]]"],
)  # fmt: skip
def test_directions_are_the_same_whether_symbols_get_their_values_early_or_late(direction):
    text = toml(head=PARAMETER, body='center = [0, 0, "x"]\n', joint=f"{direction}\n")
    early, late = (m.joint("j") for m in (read_toml(text, "default"), substitute(read_toml(text), {"x": 0.5})))
    assert np.allclose(early.axis, late.axis, rtol=0, atol=1e-15)
    assert np.allclose(early.placement.rotation, late.placement.rotation, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("direction", "message"),
    [("axis = ['x', 0, 0]", "axis has length 0.5 at the default values"),
     ("kind = 'universal'\naxis2 = [1, 'x', 0]", "axis2 has length 1.118034 at the default values"),
     ("rotation = [['x', '-x', 0], ['x', 'x', 0], [0, 0, 1]]", "not a rotation matrix")],
)  # fmt: skip
def test_symbols_whose_default_values_make_no_direction_are_refused(direction, message):
    text = toml(head=PARAMETER, joint=f"{direction}\n")
    text = text.replace('kind = "revolute"\n', "") if "kind" in direction else text
    with pytest.raises(FormatError, match=message) as caught:
        read_toml(text)
    assert caught.value.line == 8
    assert read_toml(text.replace(PARAMETER, "")).symbols  # who gives no values is taken at his word


def test_parameters_give_symbols_their_values():
    text = toml(head='gravity = [0, 0, "-g"]\n[parameters]\ng = 9.81\nk = "pi/2"\n', joint='damping = "k"\n')
    assert default_parameters(text) == {"g": 9.81, "k": math.pi / 2}
    assert len(read_toml(text).symbols) == 2
    assert any("g = 9.81" in note for note in read_toml(text).notes)
    for parameters, g in [("default", 9.81), ({}, 9.81), ({"g": 1.62}, 1.62)]:
        mechanism = read_toml(text, parameters=parameters)
        assert mechanism.symbols == ()
        assert mechanism.gravity[2] == -g
        assert mechanism.joint("j").damping == math.pi / 2
    with pytest.raises(ArgumentError, match="no parameter 'gg'; did you mean 'g'"):
        read_toml(text, parameters={"gg": 1})
    with pytest.raises(ArgumentError, match="'default'"):
        read_toml(text, parameters="defaults")
    with pytest.raises(ArgumentError, match="names to numbers"):
        read_toml(text, parameters={"g": "moon"})


def test_without_a_parameters_table_values_must_be_given_for_all():
    text = toml(joint='damping = "k*c"\n')
    assert read_toml(text, parameters={"k": 2, "c": 3}).joint("j").damping == 6
    with pytest.raises(FormatError, match="'c', which has no value"):
        read_toml(text, parameters={"k": 2})
    with pytest.raises(ArgumentError, match="has no parameter 'cc'; did you mean 'c'"):
        read_toml(text, parameters={"k": 2, "c": 3, "cc": 4})
    with pytest.raises(ArgumentError, match="has no parameter 'k'"):
        read_toml(toml(), parameters={"k": 2})
    limited = toml(joint='limits = { lower = "-k", upper = "k" }\n')
    assert read_toml(limited, parameters={"k": 2}).joint("j").limits.upper == 2


def test_strictness_is_the_files_unless_asked_for():
    bad = toml().replace("inertia = [1, 1, 1]", "inertia = [1, 1, 3]")
    with pytest.raises(ValidationError, match="triangle"):
        read_toml(bad)
    assert read_toml("strict = false\n" + bad).problems()
    assert read_toml(bad, strict=False).problems()
    with pytest.raises(ValidationError, match="triangle"):
        read_toml("strict = false\n" + bad, strict=True)


DH = 'name = "t"\n[dh]\n'

ERRORS = [
    # text, line, message
    ("name = \n", 1, "malformed TOML"),
    ("name = 'a'\nname = 'b'\n", 2, "malformed TOML"),
    ("x = " + "[" * 5000 + "\n", None, "nested too deeply|malformed"),
    (HEAD + "\n", None, r"there is no \[\[body\]\]"),
    ("nmae = 't'\n" + BODY, None, "unknown key 'nmae'; did you mean 'name'"),
    (toml(body="mas = 1\n"), 2, "body 'b': unknown key 'mas'; did you mean 'mass'"),
    (toml(joint="axes = 'z'\n"), 6, "joint 'j': unknown key 'axes'; did you mean 'axis'"),
    (toml(joint="translation = [1, 0, 0]\n"), 6, r"key 'translation'; did you mean 'rotation'\? Known are .*xyz"),
    (toml(tail="[[joints]]\n"), None, "unknown key 'joints'; did you mean 'joint'"),
    (toml(tail="[[body]]\nmass = 1\n"), 11, "body number 2: 'name' is missing"),
    (toml(tail="[body.x]\n"), 2, "body 'b': unknown key 'x'"),
    ("name = 't'\n[body]\nname = 'b'\n", None, r"'body' is an array of tables; write \[\[body\]\]"),
    ("name = 't'\nbody = [1]\n", None, "body number 1: expected a table, got 1"),
    (toml(head="gravity = [0, 0]\n"), None, "'gravity' must be an array of 3 numbers"),
    (toml(head="gravity = 9.81\n"), None, "'gravity' must be an array of 3 numbers"),
    (toml(head="gravity = [0, 0, nan]\n"), None, "nan is not a finite number"),
    (toml(head="gravity = [0, 0, 1979-05-27]\n"), None, "expected a number or an expression"),
    (toml(head="gravity = [0, 0, true]\n"), None, "expected a number or an expression"),
    (toml(head="gravity = [0, 0, '1/0']\n"), None, "divides by zero"),
    (toml(head=f"gravity = [0, 0, 0x{'f' * 4000}]\n"), None, "huge number is not a finite number"),
    (toml(head="notes = 'x'\n"), None, "'notes' must be an array of texts"),
    (toml(head="strict = 1\n"), None, "'strict' must be true or false"),
    (toml(head="[parameters]\nmass = 1\n", joint="damping = 'mas'\n"), 8, "'mas' is not among .*; did you mean 'mass'"),
    (toml(head="[parameters]\n'a b' = 1\n"), None, "'a b' cannot be the name of a symbol"),
    (toml(head="[parameters]\npi = 3\n"), None, "'pi' has a meaning of its own in expressions"),
    (toml(head="[parameters]\na = 'b'\n"), None, "a = 'b' depends on b; the value of a parameter is a number"),
    (toml(joint="axis = 'w'\n"), 6, "'x', 'y', 'z', '-x'"),
    (toml(joint="limits = { lower = 'k' }\n"), 6, "'k', which has no value"),
    (toml(joint="limits = { low = 1 }\n"), 6, "limits: unknown key 'low'; did you mean 'lower'"),
    (toml(joint="limits = 3\n"), 6, "expected a table, got 3"),
    (toml(joint="damping = '2^3'\n"), 6, "powers are written"),
    (toml(joint="rpy = [0, 0, 0]\nrotation = [[1,0,0],[0,1,0],[0,0,1]]\n"), 6, "keep one of them"),
    (toml(joint="rotation = [[1,0,0],[0,1,0],[0,0,2]]\n"), 6, "not a rotation matrix"),
    (toml(joint="rotation = [[1,0,0],[0,1,0]]\n"), 6, "3 x 3 matrix"),
    (toml().replace("revolute", "hinge"), 6, "unknown kind 'hinge'"),
    (toml(body="shapes = [{ kind = 'cone', size = [1] }]\n"), 2, "unknown kind 'cone'"),
    (toml(body="shapes = [{ kind = 'box', size = [1] }]\n"), 2, "size of a box is 3 lengths"),
    (toml(body="shapes = [{ kind = 'box', size = [1, 1, 1], colour = [1, 2, 3, 4] }]\n"), 2, "within 0..1"),
    (toml(body="shapes = [{ kind = 'mesh' }]\n"), 2, "'mesh' is missing"),
    (toml().replace("inertia = [1, 1, 1]", "inertia = [1, 1]"), 2, "inertia: an inertia is a 3 x 3 matrix"),
    (toml(tail="[[constraint]]\nname = 'c'\nkind = 'glue'\na = 'b'\n"), 11, "unknown kind 'glue'"),
    (toml(tail="[[force]]\nname = 'f'\nkind = 'spring'\n"), 11, "'a' is missing"),
    (DH + "convention = 'craig'\n", 2, "'modified' or 'standard'"),
    (DH + "[[dh.link]]\nalpah = 1\n", 3, "unknown key 'alpah'; did you mean 'alpha'"),
    (DH + "[[dh.link]]\n[[dh.link]]\njoint = 'X'\n", 2, "row 2 of the DH table: the joint is 'R'"),
    ("[dh]\nlink = []\n", None, r"the \[dh\] table has no \[\[dh.link\]\]"),
    ('[parameters]\nm = 1\nk = "2*m*l"\n' + BODY, None, r"k = '2\*m\*l' depends on l, m; the value of a"),
    (DH + "tool = { xzy = [0, 0, 0] }\n", 2, "dh, tool: unknown key 'xzy'; did you mean 'xyz'"),
]  # fmt: skip


def test_a_stand_in_for_something_wrong_is_no_problem_of_its_own():
    with pytest.raises(FormatError) as caught:
        read_toml(toml().replace("mass = 1", 'mass = "1 +"'))
    assert "ends too early" in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_no_problem_of_a_file_hides_another():
    text = """name = 7
gravity = [0, 0]
[[body]]
name = "a"
mass = "m +"
center = [0, 0, nan]
colour = "red"
[[body]]
name = "b"
mass = 1
inertia = [1, 1, 3]
[[joint]]
name = "j"
kind = "hinge"
parent = "world"
child = "a"
[[joint]]
name = "k"
kind = "revolute"
parent = "a"
axis = "up"
limits = { lower = "low" }
[[frame]]
body = "b"
rotation = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]
"""
    with pytest.raises(FormatError) as caught:
        read_toml(text)
    lines = str(caught.value).splitlines()
    expected = [
        "'name' must be a text", "'gravity' must be an array of 3", "ends too early", "nan is not a finite number",
        "unknown key 'colour'", "triangle inequality", "unknown kind 'hinge'", "'child' is missing", "'up'",
        "'low', which has no value", "frame number 1: 'name' is missing", "not a rotation matrix",
    ]  # fmt: skip
    for words in expected:
        assert sum(words in line for line in lines) == 1, (words, lines)
    assert len(lines) == len(expected)


@pytest.mark.parametrize(("text", "line", "message"), ERRORS, ids=[m[:50] for _, _, m in ERRORS])
def test_errors_name_file_table_and_reason(text, line, message, tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_toml(path)
    assert str(path) in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (toml().replace('child = "b"', 'child = "c"'), "child body 'c' does not exist"),
        (toml().replace("mass = 1", "mass = -1"), "mass -1 kg is negative"),
        (toml(joint="axis = [0, 0, 0]\n"), "gives no direction"),
        (toml(joint="axis = ['a', 0, 0]\ndamping = -1\n"), "damping -1 is negative"),
        (toml(joint="limits = { lower = 1, upper = -1 }\n"), "not an interval"),
        (toml(joint="mimic = { joint = 'k' }\n"), "mimics 'k', which does not exist"),
        (toml(tail=BODY), "used 2 times"),
    ],
)
def test_what_makes_no_sense_as_a_whole_is_reported_by_the_model(text, message):
    with pytest.raises(ValidationError, match=message):
        read_toml(text)


def test_files_that_are_not_text(tmp_path):
    path = tmp_path / "x.toml"
    path.write_bytes(b"name = '\xff'\n")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_toml(path)
    path.write_bytes(b"\xef\xbb\xbf" + toml().encode())
    assert read_toml(path).name == "t"
    with pytest.raises(FormatError, match="no such file"):
        read_toml(tmp_path / "y.toml")


def test_an_unknown_kind_is_named_once_with_what_was_probably_meant():
    with pytest.raises(FormatError, match=r": joint 'j': unknown kind 'Revolute'; did you mean 'revolute'\?"):
        read_toml(toml().replace('"revolute"', '"Revolute"'))


@pytest.mark.parametrize("parameters", [None, "default", {"m": 2.0, "k": 3.0}])
def test_a_parameter_that_no_expression_uses_is_told(parameters):
    """Whether symbols stay or become numbers; limits and shapes count as uses."""
    declared = "[parameters]\nm = 1.0\nhigh = 0.5\nk = 2.0\n"
    text = declared + toml(joint='limits = { lower = 0, upper = "high" }\n').replace("mass = 1", 'mass = "m"')
    text = text.replace(HEAD, "")
    with pytest.warns(ModelWarning, match="parameters that no expression uses: k$"):
        assert "parameters that no expression uses: k" in read_toml(text, parameters).notes
    read_toml(text.replace("k = 2.0\n", ""), parameters if isinstance(parameters, str) else None)


def test_every_wrong_entry_of_an_array_is_told():
    with pytest.raises(FormatError, match=r"(?s)'1 \+' ends too early.*divides by zero"):
        read_toml(toml(body='center = ["1 +", 0, "1/0"]\n'))


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rpy = [90, 0, 0]", "joint 'j': rpy = [90, 0, 0] is more than a turn"),
        ("rpy = [0, 'pi/2', '45 + 45']", "rpy = [0, 'pi/2', '45 + 45'] is more than a turn"),
        ("limits = { lower = -90, upper = 90 }", "joint 'j' has the limits -90 .. 90 rad, which look like degrees"),
    ],
)
def test_angles_that_look_like_degrees_are_told_once(line, told):
    """A warning when a file is read and a note that stays; a file written from it has the note and warns no more."""
    with pytest.warns(ModelWarning, match="was it meant in degrees"):
        mechanism = read_toml(toml(joint=line))
    (note,) = mechanism.notes
    assert told in note
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_toml(write_toml(mechanism)).notes == (note,)


@pytest.mark.parametrize(
    "line", ["rpy = ['2*pi', 0, 0]", "rpy = ['x', 0, 0]", "limits = { lower = -10, upper = 10 }", "limits = {}"]
)
def test_angles_that_may_be_radians_are_not_doubted(line):
    assert read_toml(toml(joint=line)).notes == ()

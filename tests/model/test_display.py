"""What print(mechanism) shows: everything that matters, aligned, within the page, whatever the names look like."""

from __future__ import annotations

import numpy as np
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.display import as_html, table, tree_lines
from dalembert.text.layout import WIDTH, shortened
from random_mechanisms import mechanisms

BALL = Inertia.sphere(2.0, 0.5, (0.1, 0, 0))


def crane(**changes) -> Mechanism:
    fields = {
        "name": "crane",
        "bodies": (Body("base", BALL), Body("boom", BALL), Body("hook", BALL), Body("eye")),
        "joints": (
            Joint("root", "free", WORLD, "base"),
            Joint("luff", "revolute", "base", "boom", axis=[0, -1, 0], limits=Limits(-0.5, 1.25), damping=0.125),
            Joint("hoist", "prismatic", "boom", "hook", axis=[0.6, 0, 0.8], mimic=Mimic("luff", -2, 0.25)),
            Joint("weld", "fixed", "hook", "eye"),
        ),
        "frames": (Frame("tip", "boom", Transform.from_rpy_xyz([0.5, 0, 0], [1, 2, 3])),),
        "constraints": (Constraint("rope", "distance", "hook", "base", value=7.5),),
        "forces": (Force("buffer", "joint-spring", "luff", stiffness=1234.5),),
        "notes": ("the hook was assumed to be round",),
    }
    return Mechanism(**(fields | changes))


def line_with(text: str, *words: str) -> str:
    lines = [line for line in text.splitlines() if all(word in line for word in words)]
    assert lines, f"no line with {words} in\n{text}"
    return lines[0]


def test_one_body_is_not_told_in_the_plural():
    one = Mechanism("one", [Body("b", BALL)], [Joint("j", "revolute", WORLD, "b")])
    assert repr(one) == "<Mechanism 'one': 1 body, 1 joint, nq=1, nv=1>"
    assert str(one).startswith("one: 1 body, nq = 1,")
    assert repr(Mechanism("none", [], [])) == "<Mechanism 'none': 0 bodies, 0 joints, nq=0, nv=0>"


def test_everything_is_there():
    text = str(crane())
    assert text.splitlines()[0] == "crane: 4 bodies, nq = 8, nv = 7, mass 6 kg, gravity (0, 0, -9.81) m/s^2"
    assert line_with(text, "root", "free").split() == ["base", "root", "free", "0..6", "0..5"]
    luff = ["boom", "luff", "revolute", "-y", "7", "6", "-0.5", "..", "1.25"]
    assert line_with(text, "luff", "revolute").split() == luff
    assert line_with(text, "hoist", "prismatic").split() == [
        "hook",
        "hoist",
        "prismatic",
        "(0.6,",
        "0,",
        "0.8)",
        "mimic",
    ]
    assert "= -2 luff + 0.25" in line_with(text, "hoist", "=")
    assert line_with(text, "luff", "0.125").split() == ["luff", "0.125"]
    assert line_with(text, "boom", "0.1, 0, 0").split() == ["boom", "2", "0.1,", "0,", "0"] + ["0.2,", "0.2,", "0.2"]
    assert "without mass: eye" in text
    assert line_with(text, "tip", "1, 2, 3").endswith("0.5, 0, 0")
    assert "distance 7.5" in line_with(text, "rope")
    assert "1234" in line_with(text, "buffer") or "1235" in line_with(text, "buffer")
    assert "quaternion x y z w" in text and "SI units" in text
    assert "the hook was assumed to be round" in text


def test_doubts_are_shown_once():
    impossible = Inertia(1, [0, 0, 0], np.diag([1, 1, 5]))
    kept = crane(bodies=(Body("base", impossible), *crane().bodies[1:]), strict=False)
    assert table(kept).count("triangle inequality") == 1
    (doubt,) = kept.problems()
    assert table(kept.replace(notes=(f"kept: {doubt}",))).count("triangle inequality") == 1


def test_symbols_are_shown_as_text():
    m, l = sympy.symbols("m l")
    tensor = np.array([[m * l**2, 0, 0], [0, m, m / 7], [0, m / 7, m]], dtype=object)
    model = Mechanism(
        "pendulum",
        (Body("bob", Inertia(m, [0, 0, -l], tensor)),),
        (Joint("hinge", "universal", WORLD, "bob"),),
        frames=(Frame("f", "bob", Transform([[1, 0, 0], [0, 1, 0], [0, 0, m / m]], [l, 0, 0])),),
    )
    text = str(model)
    assert "symbols: l, m" in text and "mass m kg" in text
    assert "0, 0, -l" in text and "l**2*m" in text and "xy, xz, yz: 0, 0, m/7" in text
    assert "z then x" in text


def test_coordinates_and_symbolic_axes_are_explained():
    a, b = sympy.symbols("a b")
    kinds = ("helical", "cylindrical", "universal", "planar")
    bodies = tuple(Body(kind, BALL) for kind in kinds)
    joints = tuple(Joint(f"j_{kind}", kind, WORLD, kind) for kind in kinds)
    shown = " ".join(table(Mechanism("m", bodies, joints)).split())
    assert "length one" not in shown
    for meaning in ("radian; q = angle.", "q = [angle, distance].", "q = [angle, angle].", "q = [x, y, angle]. The"):
        assert meaning in shown
    turned = (joints[0], joints[1].replace(axis=[a, b, 0]), *joints[2:])
    shown = " ".join(table(Mechanism("m", bodies, turned)).split())
    assert "Axes with symbols are taken to have length one: 'j_cylindrical'." in shown


def test_the_empty_mechanism_has_a_table():
    assert "0 bodies" in str(Mechanism("void", (), ()))


@given(mechanisms(1, 8, mimic=0.3, drives=True))
def test_tables_of_random_mechanisms_fit_the_page_and_name_everything(mechanism):
    text = table(mechanism)
    assert all(len(line) <= WIDTH and line == line.rstrip() for line in text.splitlines())
    for item in (*mechanism.bodies, *mechanism.joints, *mechanism.frames):
        assert item.name in text
    depth = {WORLD: 0}
    for joint, line in zip(mechanism.joints, tree_lines(mechanism)[1:]):
        depth[joint.child] = depth[joint.parent] + 1
        assert line == "  " * depth[joint.child] + joint.child


def chain(n: int, name: str = "b") -> Mechanism:
    bodies = [Body(f"{name}{k}", BALL) for k in range(n)]
    joints = [Joint(f"j{k}", "revolute", f"{name}{k - 1}" if k else WORLD, f"{name}{k}") for k in range(n)]
    return Mechanism("chain", bodies, joints)


def test_deep_trees_and_long_names_still_fit():
    for n in (5, 15, 40):
        for name in ("b", "a_name_that_is_much_longer_than_anybody_would_like_it_to_be_" * 2):
            text = table(chain(n, name))
            assert all(len(line) <= WIDTH for line in text.splitlines()), text
    assert tree_lines(chain(40))[40] == " 40 b39"


printable_names = st.text(min_size=1, max_size=60).filter(lambda s: s.isprintable() and s != WORLD)


@given(st.lists(printable_names, min_size=2, max_size=4, unique=True), st.text(max_size=20))
def test_any_printable_name_and_any_title_keeps_one_line_per_body(names, title):
    first, *others = names
    bodies = [Body(name, BALL) for name in names]
    joints = [Joint("root", "free", WORLD, first), *(Joint(name, "revolute", first, name) for name in others)]
    text = str(Mechanism(title, bodies, joints, notes=(title,)))
    block = text.split("\n\n")[1].split("\n")
    assert len(block) == 3 + len(names)
    assert all(line.isprintable() for line in text.split("\n"))


def test_html_escapes_names():
    hostile = "<script>alert('1')</script> & \"co\""
    shown = as_html(Mechanism(hostile, (), ()))
    assert "<table>" in shown and "<script>" not in shown and "&lt;script&gt;" in shown


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=50), st.integers(6, 60))
def test_shortened_fits_and_keeps_both_ends(text, width):
    short = shortened(text, width)
    assert len(short) <= width
    if len(text) <= width:
        assert short == text
    elif text.strip():
        assert "…" in short and short.strip()[0] == text.strip(" ")[0] and text.endswith(short[-1])


@given(st.integers(1, 60), st.integers(1, 6))
def test_a_long_coupling_is_wrapped_and_nothing_of_it_is_lost(length, degree):
    """The polynomial stands there in full, whatever the names and expressions do to the width of the page."""
    x, y = sympy.symbols("quite_a_long_symbol another_one", real=True)
    coefficients = (-0.5, *(k * sympy.sin(x + k * y) + sympy.exp(-x) for k in range(1, degree + 1)))
    names = ("first_joint" * (length // 12 + 1), "second_joint" * (length // 12 + 1))
    bodies = (Body("a", BALL), Body("b", BALL))
    joints = (Joint(names[0], "revolute", WORLD, "a"), Joint(names[1], "revolute", "a", "b"))
    coupling = Constraint("gear", "coupling", *names, coefficients=coefficients)
    shown = table(Mechanism("m", bodies, joints, constraints=(coupling,)))
    assert all(len(line) <= WIDTH for line in shown.splitlines())
    (block,) = (block for block in shown.split("\n\n") if block.startswith("constraint"))
    head, _, *lines = block.splitlines()
    column = head.index("meaning")
    meaning = " ".join(line[column:] for line in lines)
    assert "…" not in meaning
    assert meaning.startswith("b = -0.5 + (") and meaning.endswith("(positions of the joints)")
    for k, coefficient in enumerate(coefficients[1:], 1):
        assert f"({coefficient}) a{'' if k == 1 else f'^{k}'}" in meaning


def test_couplings_and_motions_are_shown_as_equations():
    bodies, joints = (Body("a", BALL), Body("b", BALL)), [Joint("ja", "revolute", WORLD, "a")]
    joints.append(Joint("jb", "revolute", "a", "b"))
    constraints = (
        Constraint("gear", "coupling", "ja", "jb", coefficients=(0, 1, -2)),
        Constraint("stop", "coupling", "ja", "", coefficients=(0,)),
        Constraint("drive", "motion", "ja", "", coefficients=(1, 2.5)),
    )
    shown = table(Mechanism("m", bodies, joints, constraints=constraints))
    for equation in ("b = a - 2 a^2 (pos", "a = 0 (pos", "a = 1 + 2.5 t (pos"):
        assert equation in shown


def test_laws_are_shown_as_they_were_written():
    """With formulas, and without ends that a law of one's own does not have."""
    ball, slide = Body("a", BALL), Joint("x", "prismatic", WORLD, "a")
    x, x_dot, t = sympy.symbols("x x_dot t", real=True)
    constraints = (
        Constraint("path", "position", function=[x**2 - t, 2 * x]),
        Constraint("drive", "motion", "x", function=sympy.sin(3 * t)),
    )
    force = Force("drag", "user", function=[-2 * x_dot**3])
    shown = table(Mechanism("m", [ball], [slide], constraints=constraints, forces=[force]))
    for law in ("function -t + x**2, 2*x", "a = sin(3*t) (pos", "function -2*x_dot**3"):
        assert law in shown
    ends = [line.split()[2] for line in shown.splitlines() if line.startswith(("path ", "drive "))]
    assert ends == ["the", "x"]
    constant = Constraint("held", "motion", "x", function=sympy.Integer(1))
    assert "a = 1 (pos" in table(Mechanism("m", [ball], [slide], constraints=[constant]))


def test_attachments_of_constraints_and_forces_are_shown():
    l, phi = sympy.symbols("l phi")
    tip, turned = Transform.from_translation([l, 0, 0.5]), Transform.from_rpy_xyz([0.5, 0, 0], [0, 0, 0])
    askew = Transform.from_rpy_xyz([phi, 0, 0], [0, 0, 0])
    text = str(
        crane(
            constraints=(
                Constraint("ball", "spherical", "hook", placement_a=tip),
                Constraint("slot", "prismatic", "hook", "base", placement_b=turned),
                Constraint("askew", "weld", "hook", "base", placement_a=askew),
                Constraint("plain", "weld", "hook", "base"),
            ),
            forces=(
                Force("coil", "spring", "boom", "base", placement_a=tip, placement_b=tip, stiffness=5),
                Force("buffer", "joint-spring", "luff", stiffness=1234.5),
            ),
        )
    )
    assert line_with(text, "ball").endswith("both origins coincide; at (l, 0, 0.5) of a")
    assert "at (0, 0, 0) of b, turned by roll pitch yaw (0.5, 0, 0)" in " ".join(text.split())
    assert line_with(text, "askew").endswith("at (0, 0, 0) of a, turned")
    assert line_with(text, "plain").endswith("both frames coincide")
    assert "at (l, 0, 0.5) of a; at (l, 0, 0.5) of b" in " ".join(text.split())
    assert line_with(text, "buffer").split()[2:5] == ["luff", "spring", "and"]  # it has no b

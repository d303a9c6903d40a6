"""No two symbols of a derivation look alike in print, whatever joints and parameters are called."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dalembert.formulations import derive, from_lagrangian
from dalembert.formulations.mechanism_system import traced
from dalembert.model import Body, Force, Inertia, Joint, Mechanism
from dalembert.model.names import rate_name
from dalembert.report import document
from dalembert.report.markdown import to_markdown
from dalembert.typesetting.mathml import inline
from dalembert.typesetting.names import barred
from dalembert.typesetting.notation import Notation, Print, dotted, letter_and_index, look, symbol_latex

NAMES = (
    "x", "y", "z", "psi", "eta", "epsilon1", "omega_x", "xdot", "t", "d", "h", "b", "bd", "th", "q1", "q_1", "x1",
    "x_1", "x_", "xbar", "qbar1", "lambda", "lamda", "m1", "m_1", "rod", r"\theta", "theta",
    "\N{GREEK SMALL LETTER THETA}", r"\bar{x}", r"\dot{x}", "x y", "1",
)  # fmt: skip
KINDS = ("free", "planar", "spherical", "revolute", "prismatic")


@st.composite
def mechanisms(draw):
    """A chain of joints of any kinds, with names and parameters that mean to be mistaken for each other."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    joints = draw(st.permutations(NAMES))[: len(kinds)]
    symbols = [sympy.Symbol(name) for name in draw(st.permutations(NAMES))[: 2 * len(kinds)]]
    bodies = [
        Body(f"body {k}", Inertia(m, [length, 0, 0], np.eye(3)))
        for k, (m, length) in enumerate(zip(symbols[::2], symbols[1::2]))
    ]
    before = ["world", *(body.name for body in bodies)]
    made = [Joint(name, kind, before[k], bodies[k].name) for k, (name, kind) in enumerate(zip(joints, kinds))]
    return Mechanism("alike", bodies, made)


@given(mechanisms())
@settings(max_examples=60, deadline=None)
def test_no_two_symbols_look_alike(mechanism):
    scope = traced(mechanism).scope
    notation = Notation(rates=scope.rates)
    symbols = [symbol for row in (*scope.symbols.values(), scope.accelerations) for symbol in row]
    assert len({symbol.name for symbol in symbols}) == len(symbols)
    for write in (scope.latex, notation.latex):
        shown = [look(write(symbol)) for symbol in symbols]
        assert len(set(shown)) == len(shown), shown
        assert shown == [look(write(symbol)) for symbol in symbols]
        together = look(write(sympy.Matrix(symbols)))
        assert all(text in together for text in shown)
    assert len({inline(notation.latex(symbol)) for symbol in symbols}) == len(symbols)


@given(mechanisms())
@settings(max_examples=8, deadline=None)
def test_symbols_are_read_back_by_the_names_that_are_told(mechanism):
    names = [str(name) for name in traced(mechanism).scope.names["v"]]
    equations = derive(mechanism, "kane", independent=names)
    assert list(map(str, equations.scope.names["v"])) == names
    told = (*equations.coordinates, *map(str, equations.parameters))
    assert [equations.symbol(name).name for name in told] == list(told)
    fixed = equations.substitute(dict.fromkeys(told, 1))
    assert fixed.parameters == () and tuple(fixed.scope.fixed) == equations.coordinates


@given(st.permutations(KINDS))
@settings(max_examples=10, deadline=None)
def test_rates_are_called_after_the_coordinates_that_are_given(kinds):
    """Velocities of joints with quaternions, which are no rates, keep their names."""
    bodies = [Body(f"body {k}", Inertia(1, tensor=np.eye(3))) for k in range(len(kinds))]
    before = ["world", *(body.name for body in bodies)]
    joints = [Joint(f"joint {k}", kind, before[k], bodies[k].name) for k, kind in enumerate(kinds)]
    mechanism = Mechanism("named", bodies, joints)
    given_names = [f"alpha{k}" for k in range(mechanism.nq)]
    usual, scope = traced(mechanism).scope.names, traced(mechanism, given_names).scope.names
    assert scope["q"] == tuple(given_names)
    for joint in joints:
        q, v = mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)
        rates = tuple(map(rate_name, given_names[q]))
        assert scope["v"][v] == (rates if joint.nq == joint.nv else usual["v"][v])


def test_coordinates_are_numbered_where_several_joints_have_them():
    bodies = [Body(name, Inertia(1, tensor=np.eye(3))) for name in "abc"]

    def names(*kinds):
        joints = [Joint(f"j{k}", kind, "world", body.name) for k, (kind, body) in enumerate(zip(kinds, bodies))]
        return derive(Mechanism("m", bodies[: len(kinds)], joints)).coordinates

    assert names("planar", "spherical") == ("x", "y", "psi", "epsilon1", "epsilon2", "epsilon3", "eta")
    assert names("planar", "planar") == ("x_1", "y_1", "psi_1", "x_2", "y_2", "psi_2")
    assert names("spherical", "free", "planar")[-3:] == ("x_3", "y_3", "psi_3")
    slider = Joint("x", "prismatic", "a", "b")
    base = Mechanism("m", bodies[:2], [Joint("base", "planar", "world", "a"), slider])
    assert derive(base).coordinates == ("x_1", "y_1", "psi_1", "x")


def test_a_joint_called_like_a_length_gets_a_bar():
    d = sympy.Symbol("d", positive=True)
    sliding = Mechanism("m", [Body("a", Inertia(2, [0, d, 0], np.eye(3)))], [Joint("d", "revolute", "world", "a")])
    equations = derive(sliding)
    assert equations.coordinates == ("dbar",) and equations.velocities == ("dbardot",)
    assert r"\ddot{\bar{d}}" in equations.latex() and "d^{2}" in equations.latex("mass_matrix")
    assert equations.substitute({"dbar": 0, "d": 2}).sympy("mass_matrix")[0] == 9


@pytest.mark.parametrize("method", ["lagrange", "kane"])
def test_a_mass_called_like_a_drive_is_none(method):
    mass, drive = sympy.symbols("tau1 taubar1")
    block = Mechanism("block", [Body("b", Inertia(mass))], [Joint("s", "prismatic", "world", "b")], gravity=[0, 0, 0])
    equations = derive(block, method)
    assert equations.inputs == (drive,) and equations.accelerations().sympy()[0] == drive / mass
    assert r"\bar{\tau}_{1}" in equations.latex() and equations.inputs == (drive,)


def test_a_joint_called_t_is_not_time():
    push, spring = Force("push", "joint-force", "t", function=sympy.sin(sympy.Symbol("t"))), Force(
        "spring", "joint-spring", "t", stiffness=3
    )  # fmt: skip
    block = Mechanism("block", [Body("b", Inertia(1))], [Joint("t", "prismatic", "world", "b")], forces=[push, spring])
    t, tbar = sympy.symbols("t tbar")
    assert derive(block).sympy("passive")[0] == sympy.sin(t) - 3 * tbar
    assert derive(block.replace(forces=[spring])).coordinates == ("t",)


@given(st.from_regex(r"[A-Za-z]{1,4}(_?[a-z0-9]{1,2})?", fullmatch=True))
def test_rates_and_bars_of_different_names_differ(name):
    written = [name, rate_name(name), rate_name(name, 2), barred(name), rate_name(barred(name))]
    if not name.endswith("dot"):
        assert len({look(symbol_latex(sympy.Symbol(x))) for x in written}) == len(written)
    shorter = name.removesuffix("d")
    if shorter not in ("", name):
        assert rate_name(name) != rate_name(shorter, 2)


@pytest.mark.parametrize("name", ["bd", "rod", "d"])
def test_the_rate_of_what_ends_in_d_has_one_dot(name):
    assert symbol_latex(sympy.Symbol(rate_name(name))).startswith(r"\dot{")
    assert symbol_latex(sympy.Symbol(rate_name(name, 2))).startswith(r"\ddot{")


@given(st.from_regex(r"[A-Za-z]{1,4}([0-9]{1,2}[a-z]?)?(_[a-z0-9]{1,2})?", fullmatch=True), st.integers(1, 3))
@example("th1", 1)
@example("x1_c", 2)
@example("bd_1", 1)
def test_a_rate_prints_as_its_coordinate_with_dots_on_its_letter(name, rates):
    """The dots taken away, and the index apart, what is left is the coordinate: one thing has one spelling."""
    coordinate, rate = (symbol_latex(sympy.Symbol(x)) for x in (name, rate_name(name, rates)))
    letter = re.split("[_^]", coordinate, maxsplit=1)[0]
    assert rate == rf"\{'d' * (rates - 1)}dot{{{letter}}}" + coordinate.removeprefix(letter)


@pytest.mark.parametrize("name", ["th", "th1", "xc", "x1c", "qa"])
def test_an_equation_spells_a_coordinate_one_way(name):
    x, rate, m, g = sympy.symbols((name, rate_name(name), "m", "g"))
    text = from_lagrangian(m * rate**2 / 2 + m * g * sympy.cos(x), [x], [rate]).latex()
    letter, index = symbol_latex(x).split("_")
    assert rf"\ddot{{{letter}}}_{index}" in text and rf"{{\left({letter}_{index} \right)}}" in text, text
    assert "mathrm" not in text


OF = {"thdot": "th", "tdot_h": "t_h", "thddot": "thdot", "tddot_h": "tdot_h"}


@pytest.mark.parametrize("write", [Print(OF).symbol, Notation(rates=OF).latex])
def test_rates_go_with_the_coordinate_that_is_written_letter_by_letter(write):
    written = {name: write(sympy.Symbol(name)) for name in ("th", "t_h", "tddot_h", "thddot")}
    assert written["th"] != written["t_h"]
    assert written["thddot"] == r"\ddot{t}_{h}" and written["tddot_h"] == rf"\ddot{{{written['t_h']}}}"


def swinging(coordinate, rate):
    """A pendulum whose rate is called as its user likes."""
    m, g = sympy.symbols("m g")
    return from_lagrangian(m * rate**2 * (2 + sympy.cos(coordinate)) + g * coordinate, [coordinate], [rate])


def shown(equations):
    """The LaTeX of the equations, and what a report says."""
    return equations.latex(), to_markdown(document(equations, agreement=False))


@pytest.mark.parametrize(
    ("coordinate", "rates"),
    [
        ("theta", ("thetadot", "theta_dot")),
        ("theta_1", ("thetadot_1", "theta_1dot", "theta_1_dot", "theta_dot_1")),
        ("x1_c", ("x1_cdot", "x1dot_c", "x1_c_dot")),
        ("rod", ("rod_dot", "roddot")),
        ("dotted", ("dotteddot", "dotted_dot")),
        (r"\theta_1", (r"\theta_1dot", r"\dot{\theta}_{1}", r"\dot{\theta}_1", r"\dot\theta_1")),
        ("theta1", (r"\dot{\theta}_1", r"\dot{\theta_1}")),
        (r"\phi_{1}", (r"\phi_{1}dot", r"\phi_{1}_dot")),
    ],
)
def test_a_rate_has_its_dots_on_the_letter_wherever_its_name_has_the_dot(coordinate, rates):
    for rate in rates:
        equations = swinging(sympy.Symbol(coordinate), sympy.Symbol(rate))
        letter, index = letter_and_index(symbol_latex(sympy.Symbol(coordinate)))
        for text in shown(equations):
            accents = set(re.findall(r"\\d*dot\{(?:[^{}]|\{[^{}]*\})*\}(?:_\{[^}]*\})?", text))
            own = accents.difference({r"\dot{q}", r"\dot{v}"})  # of general formulas
            assert own == {rf"\dot{{{letter}}}{index}", rf"\ddot{{{letter}}}{index}"}, text


@pytest.mark.parametrize("rate", ["omega", "v1", "u", "dth", "phi_t"])
def test_rates_of_other_names_keep_their_letter(rate):
    equations = swinging(sympy.Symbol("theta"), sympy.Symbol(rate))
    letter = symbol_latex(sympy.Symbol(rate))
    for text in shown(equations):
        assert letter in text and dotted(letter) in text and r"\theta" in text and r"\dot{\theta}" not in text


@given(st.from_regex(r"\\?[a-zA-Z]{1,5}(bar|d{0,2}dot)?(_?[a-z0-9]{1,2}|_\{1\})?", fullmatch=True))
def test_a_rate_has_one_dot_more_than_what_it_is_the_rate_of(name):
    latex = symbol_latex(sympy.Symbol(name))
    rate = dotted(latex)
    dots = [sum(len(d) + 1 for d in re.findall(r"\\(d*)dot\{", text)) for text in (latex, rate)]
    assert dots[1] == dots[0] + 1
    assert letter_and_index(rate)[1] == letter_and_index(latex)[1] and rate.count("{") == rate.count("}")


@pytest.mark.parametrize("names", [("v", "psi_dot"), ("s", "psidot"), ("xdot", "w"), ("u_1dot", "u_2dot"), ("d", "bd")])
def test_the_rate_of_a_speed_is_spelt_one_way(names):
    """In the equations of motion, in the multipliers, in a report; asked for before or after the multipliers."""
    m, a, psi, xdot, ydot, psidot = sympy.symbols("m a psi xdot ydot psidot")
    blade = Body("blade", Inertia(m, [a, 0, 0], np.eye(3)))
    sleigh = Mechanism("sleigh", [blade], [Joint("ice", "planar", "world", "blade")])
    along, across = xdot * sympy.cos(psi) + ydot * sympy.sin(psi), ydot * sympy.cos(psi) - xdot * sympy.sin(psi)
    equations = derive(sleigh, "kane", pfaffian=[across], speeds=[(names[0], along), (names[1], psidot)])
    scope = equations.scope
    early, before = scope.accelerations, [scope.latex(x) for x in scope.accelerations]
    page = to_markdown(document(equations, mechanism=sleigh, agreement=False))
    assert early[1] in equations.sympy("multipliers").free_symbols and scope.accelerations == early
    speeds = [scope.latex(x) for x in scope.symbols["u"]]
    assert before == [scope.latex(x) for x in early] == [dotted(x) for x in speeds]
    equation, multipliers = page[page.index("## 5") :].split("their forces on the velocities")
    assert before[0] in equation and before[1] in equation and before[1] in multipliers
    assert all(text in equations.latex() for text in (*before, *speeds)) and before[1] in equations.latex("multipliers")


@pytest.mark.parametrize("words", [("x", "tool", "tip"), ("left", "arm"), ("y", "hand", "10"), ("10", "1")])
def test_words_of_an_index_do_not_run_together(words):
    """White space is none in mathematics; single letters and digits are side by side, as those of M_11 are."""
    latex = symbol_latex(sympy.Symbol("_".join(["f", *words])))
    assert latex == "f_{" + r"\,".join(words) + "}" and look(latex) == "f_{" + "".join(words) + "}"
    assert r"\," not in symbol_latex(sympy.Symbol("M_1_2"))


@pytest.mark.parametrize("write", [Print().expression, Notation().latex])
@given(st.lists(st.sampled_from(["mass", "ropeLength", "Izz2", "m", "theta", "x_trolley"]), min_size=2, unique=True))
@settings(max_examples=20, deadline=None)
def test_words_side_by_side_do_not_read_as_one(write, names):
    """Between a word and its neighbours, and a function, there is space; letters need none."""
    symbols = [sympy.Symbol(name) for name in names]
    text = write(sympy.Mul(*symbols) * sympy.cos(symbols[0]))
    words = r"\mathrm" in text
    assert text.count(r" \, ") == (len(names) if words else 0), text
    assert len(re.findall("<mspace", inline(text))) >= (len(names) if words else 0)

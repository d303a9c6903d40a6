"""A report in every format: complete, well-formed, self-contained, reproducible; LaTeX compiles."""

from __future__ import annotations

import dataclasses
import pickle
import re
import sys

import numpy as np
import pytest
import report_cases as cases
import sympy
import sympy.physics.mechanics as mechanics

import dalembert as da
from dalembert.algebra.attitude import DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.cli import main
from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.formulations import (
    InverseSquare,
    MovingBodies,
    MovingBodyFormula,
    NoSlip,
    derive,
    equation_laws,
    from_lagrangian,
    rigid_body,
)
from dalembert.formulations.equation_laws import checked_by_laws, checked_by_routes
from dalembert.formulations.equations import METHODS as WORDS
from dalembert.model import WORLD, Body, Inertia, Joint
from dalembert.report import document, report
from dalembert.report.document import Display, Heading, Sequence, Table
from dalembert.report.evidence_section import agreement_of
from dalembert.report.html import to_html
from dalembert.report.latex import to_latex
from dalembert.report.markdown import to_markdown

METHODS = ("lagrange", "kane", "kronecker", "newton-euler")
SECTIONS = (
    "The mechanism", "Coordinates, frames and conventions", "Frames and velocities", "Equations of motion", "Agreement",
    "Operation counts", "References",
)  # fmt: skip


def bob() -> MovingBodies:
    m, l, g, theta = sympy.symbols("m l g theta")
    place = [l * sympy.sin(theta), 0, -l * sympy.cos(theta)]
    return MovingBodies("bob", [theta], [MovingBodyFormula("ball", m, place)], gravity=[0, 0, -g])


def lagrangian():
    m, k, x, xdot = sympy.symbols("m k x xdot")
    return from_lagrangian(m * xdot**2 / 2 - k * x**2 / 2, [x])


def free_body():
    return rigid_body(da.Inertia(2.0, [0, 0, 0.1], np.diag([0.1, 0.2, 0.25])))


def damped() -> da.Mechanism:
    pendulum = da.load("double_pendulum")
    return pendulum.replace(joints=tuple(dataclasses.replace(j, damping=sympy.Symbol("d")) for j in pendulum.joints))


SUBJECTS = {
    **{f"double pendulum by {method}": (lambda method=method: document(da.load("double_pendulum"), method))
       for method in METHODS},
    "closed loop": lambda: document(cases.four_bar_by_constraint(), "kane"),
    "multipliers": lambda: document(da.load("four_bar"), "lagrange"),
    "quaternions": lambda: document(da.load("free_body"), "newton-euler", agreement=False),
    "damping": lambda: document(da.load("cart_pole"), "lagrange", include=["damping"]),
    "formulas": lambda: document(bob(), "kane"),
    "lagrangian": lambda: document(lagrangian()),
    "rigid body": lambda: document(free_body()),
    "knife edge": lambda: document(da.load("cart_pole"), "kane", pfaffian=[sympy.Symbol("qdot1") - 1]),
}  # fmt: skip


@pytest.fixture(scope="module", params=SUBJECTS)
def any_document(request):
    return SUBJECTS[request.param]()


# ------------------------------------------------------------------------------------------------------------- content


@pytest.mark.parametrize("method", METHODS)
def test_every_section_and_every_step_is_there(method):
    stacker = da.load("stacker")
    made = document(stacker, method)
    headings = [block.text for block in made.blocks if isinstance(block, Heading)]
    recursive = method == "newton-euler"  # a recursion shows the motion of every link itself
    assert set(SECTIONS) - ({"Frames and velocities"} if recursive else set()) < set(headings)
    said = " ".join(cases.text_of(to_html(made)).split())
    for step in derive(stacker, method).steps():
        assert step.title in said
        assert " ".join(step.text.split()) in said
    for key in derive(stacker, method).sources:
        assert f"[{key}]" in said
    for name in ("portal", "column", "boom", "prismatic", "multiplications", "agree"):
        assert name in said


def test_a_screw_is_told_with_its_pitch():
    p = sympy.Symbol("p", positive=True)
    screw = Joint("s", "helical", WORLD, "b", pitch=p, armature=2)
    mechanism = da.Mechanism("screw", [Body("b", Inertia(1, tensor=np.eye(3)))], [screw])
    text = to_markdown(document(mechanism, "kane", agreement=False, include=["armature"]))
    assert "$z$, pitch $p$ m/rad" in text and "A helical joint: screw along the axis" in text
    assert "per velocity" in text and "per speed" not in text
    own = [2 * sympy.Symbol("sdot")]
    assert "per speed" in to_markdown(document(mechanism, "kane", agreement=False, include=["armature"], speeds=own))


@pytest.mark.parametrize("method", ["lagrange", "kronecker"])
def test_the_energy_in_a_field_is_told(method):
    field = da.InverseSquare(sympy.Symbol("mu"))
    text = to_markdown(document(da.load("free_body"), method, agreement=False, field=field))
    assert r"U = -\sum_i" in text and r"\rho_i = R_i^T (p_{Ci} - p_A)" in text and "free fall" not in text


def test_what_depends_on_time_says_so():
    t, x, w, m, k = sympy.symbols("t x xdot m k")
    equations = from_lagrangian(m * w**2 / 2 - k * (x - sympy.sin(t)) ** 2 / 2, [x], t=t, dissipation=t * w**2)
    text = to_markdown(document(equations, agreement=False))
    assert r"M(q)\, \dot{v} + c(q, v) + G(q, t) = \tau + p(q, v, t)" in text
    assert "+ G(q, t) = D tau" in str(equations)


def test_kane_has_a_table_of_partial_velocities():
    made = document(da.load("double_pendulum"), "kane", agreement=False)
    assert "Partial velocities" in [block.text for block in made.blocks if isinstance(block, Heading)]


def test_equations_know_their_method_and_take_no_options():
    pendulum = da.load("double_pendulum")
    equations = derive(pendulum, "kane")
    made = document(equations, agreement=False)
    assert "Kane" in made.subtitle
    assert made == document(equations, mechanism=pendulum, agreement=False)  # they remember what they are those of
    with pytest.raises(ArgumentError, match="derived already"):
        document(equations, include=["damping"])
    with pytest.raises(ArgumentError, match="goes with equations"):
        document(pendulum, mechanism=pendulum)


def test_a_disagreement_is_told(monkeypatch):
    from dataclasses import replace

    from dalembert.formulations.verify import verify
    from dalembert.report import evidence_section

    def spoiled(mechanism, **options):
        found = verify(mechanism, **options)
        return replace(found, rows=(replace(found.rows[0], error=1e-3), *found.rows[1:]))

    monkeypatch.setattr(evidence_section, "verify", spoiled)
    page = to_html(document(da.load("double_pendulum")))
    assert "do not hold" in page and "exceeds" in page


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("part", ["mass_matrix", "coriolis", "gravity"])
def test_the_equations_of_the_document_are_compared_themselves(method, part):
    """One entry wrong by a millionth, or a mechanism that is not theirs, and the table says so."""
    arm = chain(3)
    equations = derive(arm, method)
    values = equations[part].values.copy()
    values[2] = values[2] * (1 + 1e-6)
    spoiled = dataclasses.replace(equations, **{part: dataclasses.replace(equations[part], values=values)})
    assert agreement_of(arm, equations).ok
    wrong = [row.quantity for row in agreement_of(arm, spoiled).rows if not row.ok]
    assert wrong == [equation_laws.PARTS[part]]


def test_a_mechanism_of_other_equations_is_told():
    arm, other = chain(2), chain(2).replace(gravity=[0, 0, -1.62])
    found = agreement_of(other, derive(arm))
    assert [row.quantity for row in found.rows if not row.ok] == ["gravity forces"]
    with pytest.raises(ArgumentError, match="3 coordinates"):
        document(derive(arm), mechanism=chain(3))
    with pytest.raises(ArgumentError, match="Mechanism"):
        document(derive(arm), mechanism="chain")  # type: ignore[arg-type]
    put_in = derive(da.load("cart_pole")).substitute({"g": 9.81})
    found = agreement_of(da.load("cart_pole"), put_in)
    assert found.ok and any("parameters are not those" in reason for reason in found.skipped)


# -------------------------------------------------------------------------------------------------------- well-formed


def test_html_is_well_formed_and_self_contained(any_document):
    page = to_html(any_document)
    tree = cases.parsed(page)
    names = {cases.local(element.tag) for element in tree.iter()}
    assert "math" in names
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "base", "video", "audio"}
    anchors = {element.get("id") for element in tree.iter()} - {None}
    for element in tree.iter():
        for attribute, value in element.attrib.items():
            assert not cases.local(attribute).startswith("on"), attribute
            assert cases.local(attribute) not in ("src", "srcset", "data", "action", "formaction", "background")
            if cases.local(attribute) == "href":
                assert value.startswith("#") and value[1:] in anchors, value
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "").replace("https://doi", "")
    assert not re.search(r"url\(|@import", page)


def test_mathematics_is_understood(any_document):
    """No LaTeX is left over in the MathML."""
    for element in cases.parsed(to_html(any_document)).iter():
        if cases.local(element.tag) in ("mi", "mo", "mn", "mtext"):
            assert element.text and "\\" not in element.text and "&" not in element.text, element.text


def test_latex_is_balanced(any_document):
    source = to_latex(any_document)
    plain = cases.without_escapes(source)
    assert plain.count("{") == plain.count("}")
    opened, closed = (re.findall(rf"\\{word}\{{([a-z*]+)\}}", source) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed)
    assert set(re.findall(r"\\usepackage.*?\{(\w+)\}", source)) == {"amsmath", "graphicx"}  # every LaTeX has both
    assert len(re.findall(r"\\left(?![a-z])", source)) == len(re.findall(r"\\right(?![a-z])", source))


def test_every_line_of_mathematics_is_balanced(any_document):
    for block in any_document.blocks:
        if isinstance(block, (Display, Sequence)):
            for row in block.rows:
                for part in row:
                    plain = cases.without_escapes(part)
                    assert plain.count("{") == plain.count("}"), part
                    assert len(re.findall(r"\\left(?![a-z])", part)) == len(re.findall(r"\\right(?![a-z])", part)), part


def test_markdown_is_balanced(any_document):
    source = to_markdown(any_document)
    assert source.count("$$") % 2 == 0
    columns = 0
    for line in source.splitlines():
        bars = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert bars == columns or columns == 0 or bars == 0, line
        columns = bars
    assert re.search(r"^# Equations of motion: ", source)


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
@pytest.mark.parametrize("subject", ["double pendulum by kane", "closed loop", "quaternions", "formulas", "lagrangian"])
def test_latex_compiles(subject, tmp_path):
    path = tmp_path / "report.tex"
    path.write_text(to_latex(SUBJECTS[subject]()), encoding="utf-8")
    assert "Output written" in cases.compiled(path)


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
@pytest.mark.parametrize("method", ["kane", "newton-euler"])
def test_tables_of_latex_fit_the_page(method, tmp_path):
    """Tensors of askew bodies in digits, partial velocities in letters, names of people who like long ones."""
    tensor = np.array([[2.87086e-5, 9.14551e-6, -9.74487e-6], [9.14551e-6, 4.96887e-5, 2.17809e-6],
                       [-9.74487e-6, 2.17809e-6, 3.01993e-5]])  # fmt: skip
    a, b = sympy.symbols("a_1 b_2")
    offset = da.Transform(np.eye(3), np.array([a, b, 0]))
    arm = da.Mechanism(
        "long_names",
        tuple(Body(f"wrist_and_finger_{k}", Inertia(0.5, [a, b, 0.02], tensor)) for k in range(3)),
        tuple(Joint(f"shoulder_pan_joint_{k}", "revolute", f"wrist_and_finger_{k - 1}" if k else WORLD,
                    f"wrist_and_finger_{k}", axis=np.eye(3)[2 - k], placement=offset) for k in range(3)),
    )  # fmt: skip
    path = tmp_path / "report.tex"
    path.write_text(to_latex(document(arm, method, agreement=False)), encoding="utf-8")
    assert "Overfull \\hbox" not in cases.compiled(path)


# --------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("suffix", [".html", ".tex", ".md"])
def test_the_same_mechanism_gives_the_same_file(tmp_path, suffix):
    pendulum = da.load("double_pendulum")
    first = report(pendulum, tmp_path / "new" / f"a{suffix}", "kane")
    second = report(pendulum, str(tmp_path / f"b{suffix.upper()}"), "kane")
    assert first.read_bytes() == second.read_bytes()


def test_wrong_suffix_is_refused_before_any_work(tmp_path):
    with pytest.raises(ArgumentError, match=r"\.html, \.tex, \.md"):
        report("no mechanism at all", tmp_path / "report.pdf")


def test_html_without_the_library_says_what_to_install(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.startswith("latex2mathml")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    with pytest.raises(MissingExtraError, match=r"dalembert\[report\]"):
        report(da.load("double_pendulum"), tmp_path / "report.html")
    report(da.load("double_pendulum"), tmp_path / "report.md", agreement=False)
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker"])
@pytest.mark.parametrize("moments", [(1, 1, 2), (1, 2, 3)], ids=["symmetric", "any"])
def test_tops_in_euler_angles_are_written_out_however_long_the_way(method, moments):
    """What is short in the end is short on paper: hundreds of operations cancel."""
    phi, theta, psi, M, h, g, *I = sympy.symbols("phi theta psi M h g I_1:4")
    about = {axis: getattr(sympy, f"rot_ccw_axis{axis}") for axis in (1, 3)}
    R = about[3](phi) * about[1](theta) * about[3](psi)
    tensor = sympy.diag(*(I[k - 1] for k in moments))
    top = MovingBodyFormula("top", M, list(R * sympy.Matrix([0, 0, h])), R, tensor)
    made = document(MovingBodies("top", [phi, theta, psi], [top], [0, 0, -g]), method, agreement=False)
    assert not any(isinstance(block, Sequence) for block in made.blocks)


@pytest.mark.parametrize("form", ["mixed", "body"])
@pytest.mark.parametrize(
    "attitude, words",
    [
        (Quaternion(), "quaternion"),
        (DirectionCosines(), "direction cosines"),
        (EulerAngles("313"), "sequence 313"),
        (ModifiedRodrigues(), "Rodrigues"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_body_is_told_with_its_attitude_and_all_its_rates(attitude, words, form):
    """Equations of motion without the meaning and the rates of the coordinates are half of them."""
    body = Inertia(sympy.Symbol("m"), tensor=sympy.diag(*sympy.symbols("A B C")))
    text = to_markdown(document(rigid_body(body, attitude, form=form), agreement=False))
    assert words in text and "Too long" not in text


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -sympy.Symbol("g")), InverseSquare(sympy.Symbol("mu"))], ids=str)
@pytest.mark.parametrize("form", ["mixed", "body"])
def test_a_body_is_told_with_its_gravity_and_all_that_is_cited(gravity, form):
    """Its place and inertia, the field with its formula; references are those that the text names, and no others."""
    m, c = sympy.symbols("m c")
    equations = rigid_body(Inertia(m, [c, 0, 0], sympy.eye(3) * m), form=form, gravity=gravity)
    text = to_markdown(document(equations, agreement=False))
    steps, references = text.split("References")
    assert set(re.findall(r"\[([A-Z]+)\]", steps)) == set(re.findall(r"\*\*([A-Z]+)\*\*", references))
    twofold = [line for line in text.splitlines() if "two meanings" in line]
    assert "R_i" not in text and not any("$m$" in line for line in twofold)
    assert r"r & = \begin{bmatrix} c \\ 0" in text
    titles = [step.title for step in equations.steps()]
    assert ("Gravity" in titles) == (gravity != (0, 0, 0))


@pytest.mark.parametrize("field", [None, InverseSquare(4.0)], ids=["uniform", "field"])
@pytest.mark.parametrize("speeds", [None, ["psidot"]])
def test_kane_tells_how_gravity_acts(field, speeds):
    """Bold g is introduced before it is used, for bodies given by formulas too; speeds have their own projection."""
    psi, psidot = sympy.symbols("psi psidot")
    bob = MovingBodies("bob", [psi], [MovingBodyFormula("bob", 1, [3 + sympy.cos(psi), 0, 0])], gravity=[-9, 0, 0])
    options = {"speeds": [("w", 2 * psidot)]} if speeds else {}
    text = to_markdown(document(bob, "kane", field=field, agreement=False, **options))
    told = (r"G = B^T \Gamma^T" if speeds else r"G = \Gamma^T") if field else rf"m_i {'T' if speeds else 'J'}_{{vi}}^T"
    assert told in text and text.count("free fall") == (field is None)
    assert (r"\mathbf{g}" in text) == (field is None)


@pytest.mark.parametrize("gradient", [False, True])
def test_newton_and_euler_tell_the_axes_of_gravity_and_the_load_of_a_field(gradient):
    pendulum = da.load("double_pendulum")
    uniform = to_markdown(document(pendulum, "newton-euler", agreement=False))
    assert r"\ddot{s}_0 = -\mathbf{g}" in uniform and "falls upwards" in uniform
    field = InverseSquare(4.0, (3, 4, 5), extended=gradient)
    options = {"field": field, "algorithm": "newton-euler", "agreement": False}
    text = to_markdown(document(pendulum, "newton-euler", **options))
    assert "f_{gi} = " in text and r"\rho_i = R_i^T" in text and (r"\mathrm{tr}" in text) == gradient


@pytest.mark.parametrize("constrained", [False, True])
def test_speeds_speak_of_constraints_only_where_there_are_some(constrained):
    q1, q2 = sympy.symbols("qdot1 qdot2")
    rules = {"pfaffian": [q1 - q2], "speeds": [q1]} if constrained else {"speeds": [q1, q1 + q2]}
    (step,) = [x for x in derive(da.load("double_pendulum"), "kane", **rules).steps() if x.title == "Speeds"]
    assert ("A B" in step.formula) == constrained


def test_passive_forces_are_named():
    x, k, m = sympy.symbols("x k m")
    bead = MovingBodies("bead", [x], [MovingBodyFormula("bead", m, [x, 0, 0])], potential=k * x**2 / 2)
    cart = da.Mechanism(
        "cart",
        [da.Body("cart", da.Inertia(m))],
        [da.Joint("x", "prismatic", "world", "cart", axis=[1, 0, 0], damping=2)],
        forces=[da.Force("buffer", "joint-spring", "x", stiffness=k)],
    )
    for route in ("lagrange", "kane"):
        told = [
            next(step.text for step in found.steps() if step.title == "Passive forces")
            for found in (derive(bead, route), derive(cart, route, elements=["buffer"], include=["damping"]))
        ]
        assert "potential energy" in told[0] and "buffer, damping of the joints" in told[1]


def test_six_joints_stay_small(tmp_path):
    """Numeric arm of six joints: named intermediates, under 2 MB."""
    path = report(da.load("puma560"), tmp_path / "puma.html", "kane")
    assert path.stat().st_size < 2_000_000
    assert 'class="sequence"' in path.read_text(encoding="utf-8")


def chain(links):
    joints, bodies = [], []
    for k in range(links):
        bodies.append(da.Body(f"b{k}", da.Inertia(1.0, [0.1, 0.02, 0.03], np.diag([0.01, 0.02, 0.025]))))
        at = da.Transform(np.eye(3), np.array([0.3, 0.0, 0.1]))
        parent = f"b{k - 1}" if k else "world"
        joints.append(da.Joint(f"j{k}", "revolute", parent, f"b{k}", placement=at, axis=np.eye(3)[k % 3]))
    return da.Mechanism("chain", tuple(bodies), tuple(joints))


@pytest.mark.parametrize("links", [2, 11])
@pytest.mark.parametrize("method", METHODS)
def test_the_route_of_the_document_is_among_those_compared_and_the_others_are_told(method, links):
    """However large: a table of other routes would say nothing of the equations above it."""
    found = agreement_of(chain(links), derive(chain(links), method))
    compared = {row.who.removeprefix("derived: ") for row in found.rows if row.quantity == "Coriolis forces"}
    told = " ".join(found.skipped)
    assert method in compared and all(route in compared or route in told for route in METHODS)


def test_twelve_joints_are_told_in_short(tmp_path):
    """A chain whose equations fill no page: counted, compared, not printed."""
    path = report(chain(12), tmp_path / "chain.html", "lagrange")
    assert path.stat().st_size < 200_000
    assert "dalembert export" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("suffix", ["html", "tex", "md"])
def test_command_line_writes_a_report(tmp_path, capsys, suffix):
    target = tmp_path / f"report.{suffix}"
    assert main(["derive", "cart_pole", "--method", "kane", "--to", str(target)]) == 0
    assert str(target) in capsys.readouterr().out
    assert "Kane" in target.read_text(encoding="utf-8")


def test_command_line_refuses_other_formats(tmp_path, capsys):
    assert main(["derive", "cart_pole", "--to", str(tmp_path / "report.docx")]) == 2
    assert ".html" in capsys.readouterr().err


def test_constraints_on_velocities_are_eliminated_in_the_report():
    """Chaplygin's sleigh: speeds, constraint and the laws in the speeds."""
    m, a, I = sympy.symbols("m a I")
    turning = np.array([[0, 0, 0], [0, 0, 0], [0, 0, I]], dtype=object)
    links = (
        da.Joint("x", "prismatic", "world", "slide_x", axis=np.eye(3)[0]),
        da.Joint("y", "prismatic", "slide_x", "slide_y", axis=np.eye(3)[1]),
        da.Joint("theta", "revolute", "slide_y", "sleigh"),
    )
    bodies = (da.Body("slide_x"), da.Body("slide_y"), da.Body("sleigh", da.Inertia(m, [a, 0, 0], turning)))
    sleigh = da.Mechanism("sleigh", bodies, links, gravity=np.zeros(3), strict=False)
    said = cases.text_of(to_html(document(sleigh, "kane", pfaffian=[NoSlip("sleigh", directions=[(0, 1, 0)])])))
    assert "in the speeds u" in said and "The rates of the coordinates are" in said


def test_a_report_defines_velocities_and_speeds_and_gives_the_force_of_a_constraint():
    """Chaplygin's sleigh: the blade is pushed sideways by m (a dw/dt + s w), and every letter is introduced."""
    m, a, moment, psi, xdot, ydot, psidot = sympy.symbols("m a I psi xdot ydot psidot")
    blade = da.Body("blade", da.Inertia(m, center=[a, 0, 0], tensor=sympy.diag(moment, moment, moment).tolist()))
    sleigh = da.Mechanism("sleigh", [blade], [da.Joint("ice", "planar", "world", "blade")])
    along = xdot * sympy.cos(psi) + ydot * sympy.sin(psi)
    knife = NoSlip("blade", directions=[(0, 1, 0)])
    equations = derive(sleigh, "kane", pfaffian=[knife], speeds=[("s", along), ("w", psidot)])
    text = to_markdown(document(equations, mechanism=sleigh, agreement=False))
    assert r"v = (\dot{x},\, \dot{y},\, \dot{\psi})" in text and r"u = (s,\, w)" in text
    assert r"m \left(a \dot{w} + s w\right)" in text


def turning_about_a_point(quasi):
    """SymPy's model of a plane body that turns about a point, in the rate of its angle or in half of it."""
    angle, speed = mechanics.dynamicsymbols("theta u")
    m, l, g = sympy.symbols("m l g")
    frame = mechanics.ReferenceFrame("N")
    if not quasi:
        energy = m * l**2 * angle.diff() ** 2 / 2 + m * g * l * sympy.cos(angle)
        method = mechanics.LagrangesMethod(energy, [angle], frame=frame)
        method.form_lagranges_equations()
        return da.from_sympy(method)
    fixed = mechanics.Point("O")
    fixed.set_vel(frame, 0)
    arm = frame.orientnew("A", "Axis", [angle, frame.z])
    arm.set_ang_vel(frame, 2 * speed * frame.z)
    bob = fixed.locatenew("P", l * arm.x)
    bob.v2pt_theory(fixed, frame, arm)
    method = mechanics.KanesMethod(frame, [angle], [speed], kd_eqs=[angle.diff() - 2 * speed])
    method.kanes_equations([mechanics.Particle("P", bob, m)], [(bob, m * g * frame.x - speed * frame.y)])
    return da.from_sympy(method)


def lagrangian_of_a_pendulum(rate):
    theta, omega, m, l, g = sympy.symbols(f"theta {rate} m l g")
    return from_lagrangian(m * l**2 * omega**2 / 2 + m * g * l * sympy.cos(theta), [theta], [omega])


@pytest.mark.parametrize(
    "made, told",
    [
        (lambda: turning_about_a_point(quasi=True), r"2 u{\left(t \right)}"),
        (lambda: turning_about_a_point(quasi=False), ""),
        (lambda: lagrangian_of_a_pendulum("omega"), r"\omega"),
        (lambda: lagrangian_of_a_pendulum("thetadot"), ""),
        (lambda: rigid_body(Inertia(2.0), EulerAngles("321")), r"\cos \theta"),
        (lambda: derive(da.load("cart_pole"), coordinates=["s", "beta"]), ""),
    ],
)
def test_velocities_that_are_no_rates_or_not_called_so_are_explained(made, told):
    """Who reads M dv/dt = ... must learn what v is, whoever chose it."""
    text = to_markdown(document(made(), agreement=False))
    _, found, rest = text.partition("The rates of the coordinates are")
    assert bool(found) == bool(told) and told in rest[:500]


def test_what_a_given_model_has_in_c_is_not_called_coriolis_forces():
    text = to_markdown(document(turning_about_a_point(quasi=True), agreement=False))
    assert "forces due to velocities" in text and "Coriolis forces" not in text


@pytest.mark.parametrize("method", METHODS)
def test_entries_that_are_not_listed_are_said_to_be_zero(method):
    text = to_markdown(document(da.load("double_pendulum"), method, agreement=False))
    assert "what is not listed is zero" in text


def test_constraints_that_depend_on_time_are_reported():
    """A cart that is moved by a given law: its acceleration pushes the pole, and the drive feels both."""
    cart_pole = da.load("cart_pole")
    xdot, l, t = sympy.symbols("qdot1 l t")
    equations = derive(cart_pole, "kane", pfaffian=[xdot - l * sympy.cos(3 * t)])
    text = to_markdown(document(equations))
    assert r"\sin 3 t" in text.replace("{", " ").replace(r"\left(", "").replace("  ", " ")
    assert "comparisons at 4 random states agree" in text
    all_given = derive(cart_pole, "kane", pfaffian=[xdot - l * t, sympy.Symbol("qdot2") - t])
    assert "leave no motion free" in to_markdown(document(all_given))


@pytest.mark.parametrize("method", METHODS)
def test_every_route_calls_things_the_same_and_puts_them_together_at_the_end(method):
    """M, c, G and passive forces p come from steps; the law that contains them all follows after the last step."""
    equations = derive(damped(), method, include=["damping"])
    symbols = {q.name: q.symbol for step in equations.steps() for q in step.quantities}
    assert symbols.items() >= {"mass_matrix": "M", "coriolis": "c", "gravity": "G", "passive": "p"}.items()
    text = to_markdown(document(equations))
    law = r"M(q)\, \dot{v} + c(q, v) + G(q) = \tau + p(q, v)"
    assert text.count(law) == 1 and text.index(law) > text.index(f"Step {len(equations.steps())}.")
    told = " ".join(step.text for step in equations.steps())
    assert all(source in told for source in equations.sources)


def test_tables_fit_the_page_of_latex():
    """Columns that break their lines share the room that the titles and cells of the others leave."""
    for table in (x for x in document(da.load("four_bar"), "kane").blocks if isinstance(x, Table)):
        text = to_latex(dataclasses.replace(document(da.load("rp_arm"), agreement=False), blocks=(table,)))
        columns = re.findall(
            r"p\{[\d.]+|[rl]", re.search(r"begin\{tabular\}\{(.*)\}", text)[1].replace("linewidth", "")
        )
        shares = sum(float(column[2:]) for column in columns if column[0] == "p")
        titles = sum(len(x) for c, line in zip(columns, table.head) for x in line if c[0] != "p" and isinstance(x, str))
        assert shares + titles / 92 < 1


def test_lines_too_wide_for_the_page_become_a_sequence(tmp_path):
    """A four-bar in numbers by Kane: fractions of many terms, which no page can hold, are named step by step."""
    linkage = da.load("four_bar", parameters="default")
    text = report(linkage, tmp_path / "four_bar.md", "kane", agreement=False).read_text(encoding="utf-8")
    final = text.split("Equations of motion", 2)[-1]
    assert "As a sequence of" in final and "map of the drives" in final
    assert "M_{00}" not in final and "M_{11}" in final


@pytest.mark.parametrize("wrong", [{"path": None}, {"path": 3}, {"title": 3}])
def test_wrong_arguments_of_a_report_are_answered_in_a_sentence(tmp_path, wrong):
    with pytest.raises(ArgumentError, match=r"expected a (path|text)"):
        report(da.load("cart_pole"), **{"path": tmp_path / "report.md", "agreement": False, **wrong})


def test_markdown_has_no_caption_of_a_figure_it_lacks(tmp_path):
    text = report(da.load("cart_pole"), tmp_path / "report.md", agreement=False).read_text(encoding="utf-8")
    assert "    world" in text and "typical position" not in text


def test_what_is_fixed_is_explained_where_there_is_something_fixed():
    fixed = cases.four_bar_by_constraint().replace(constraints=())
    fixed = fixed.replace(
        bodies=(*fixed.bodies, Body("stand", Inertia(2.0, [0, 1, 0]))),
        joints=(*fixed.joints, Joint("bolts", "fixed", WORLD, "stand")),
    )
    with_stand, without = (
        to_markdown(document(derive(x), mechanism=x, agreement=False)) for x in (fixed, da.load("cart_pole"))
    )
    assert "What fixed joints hold together is one body" in with_stand
    assert "fixed joints hold together" not in without


def test_a_lagrangian_with_gyroscopic_terms_is_held_against_its_energy():
    x, y, xdot, ydot, m, w = sympy.symbols("x y xdot ydot m omega")
    turning = from_lagrangian(m * ((xdot - w * y) ** 2 + (ydot + w * x) ** 2) / 2 - m * x**2 * y, [x, y])
    text = to_markdown(document(turning))
    assert "All 2 comparisons" in text and "lagrangian / rate of the energy" in text
    wrong = dataclasses.replace(turning, bias=turning.gravity)
    assert "All 2 comparisons" in to_markdown(document(wrong))  # gyroscopic forces do no work
    wrong = dataclasses.replace(turning, bias=turning.coriolis)
    assert "1 of 2 comparisons at 4 random states do not hold" in to_markdown(document(wrong))


def test_where_nothing_can_be_compared_there_is_no_table_of_it():
    cart = da.load("cart_pole")
    free = derive(cart, "kane")
    given = derive(cart, "kane", pfaffian=[free.symbol(name) for name in free.velocities])
    text = to_markdown(document(dataclasses.replace(given, mechanism=None)))
    assert "There is nothing to compare." in text and "Independent routes" not in text


@pytest.mark.parametrize(("angle", "told"), [(-sympy.pi / 6, r"-\tfrac{\pi}{6} \text{ about } z"), (-0.4, "-0.4")])
def test_turns_without_symbols_are_told_in_numbers_however_exact(angle, told, tmp_path):
    placement = da.Transform(da.algebra.rotations.rotation_z(angle), [0, 0, 0])
    joint = Joint("slide", "prismatic", WORLD, "block", placement, axis=[1, 0, 0])
    wedge = da.Mechanism("wedge", [Body("block", Inertia.point(1.0))], [joint])
    text = report(wedge, tmp_path / "wedge.md", agreement=False).read_text(encoding="utf-8")
    assert told in text and "symbolic rotation" not in text


def test_constraints_and_forces_are_told_with_their_numbers():
    """A reader could build them: lengths, stiffnesses, formulas, and where on their bodies they act."""
    crank, piston = da.Body("crank", da.Inertia.point(1, [0.1, 0, 0])), da.Body("piston", da.Inertia.point(2))
    joints = [
        da.Joint("x", "revolute", "world", "crank", axis=[0, 1, 0]),
        da.Joint("z", "prismatic", "world", "piston", axis=[1, 0, 0]),
    ]
    r, l, k, x, z = sympy.symbols("r l k x z")
    at = da.Transform.from_translation([r, 0, 0])
    laws = [
        da.Constraint("rod", "distance", "crank", "piston", at, value=l),
        da.Constraint("gear", "coupling", "x", "z", coefficients=(0, sympy.Symbol("n"))),
        da.Constraint("cam", "position", function=z - 7 * x**3),
    ]
    springs = [da.Force("coil", "joint-spring", "z", stiffness=k, rest=0.25)]
    press = da.Mechanism("press", [crank, piston], joints, constraints=laws, forces=springs)
    equations = da.derive(press.replace(constraints=()))
    rows = to_markdown(document(equations, mechanism=press, agreement=False)).splitlines()
    expected = {
        "rod": ("| crank – piston |", "$l$", "$(r,"),
        "gear": ("| x – z |", "n)$"),
        "cam": ("| position |  |", "7 x^{3}"),
        "coil": ("| z |", "$k$", "$0.25$"),
    }
    for name, parts in expected.items():
        (row,) = (row for row in rows if row.startswith(f"| {name} |"))
        assert all(part in row for part in parts), row


@pytest.mark.parametrize("include", [(), ("armature",), ("armature", "damping")])
@pytest.mark.parametrize("method", METHODS)
def test_all_routes_count_what_was_asked_for(method, include):
    """The route of the report is among those it is compared with, at the very cost of its own equations."""
    pendulum = da.load("double_pendulum")
    geared = pendulum.replace(joints=tuple(j.replace(armature=sympy.Symbol(f"J_{j.name}")) for j in pendulum.joints))
    own, others = [x for x in document(geared, method, include=include, agreement=False).blocks if is_count(x)]
    counted = {row[0][0]: row[1:] for row in others.rows}
    assert counted[WORDS[method]] == own.rows[-1][1:] and len(counted) == len(METHODS)


def is_count(block) -> bool:
    return isinstance(block, Table) and ("multiplications",) in block.head


@pytest.mark.parametrize(("robot", "told"), [("four_bar", "D_{13} & = "), ("rrr", "In terms of these")])
def test_the_map_of_the_drives_is_told_where_equations_are_a_sequence(robot, told):
    text = to_markdown(document(da.load(robot), "kane", agreement=False))
    assert "not listed being zero" in text and told in text and (r"D\, \tau" in text) == (robot == "four_bar")


def test_counts_of_other_routes_are_said_to_be_those_of_the_tree():
    tree = "of the tree without constraints"
    assert tree in to_markdown(document(da.load("four_bar"), "kane", agreement=False))
    assert tree not in to_markdown(document(da.load("double_pendulum"), "kane", agreement=False))


def test_inertias_of_bodies_by_formulas_and_what_their_routes_compare_are_told():
    m, r, x, psi = sympy.symbols("m r x psi")
    turn = sympy.rot_axis2(-psi)
    inertia = sympy.diag(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    wheel = MovingBodies("wheel", [x, psi], [MovingBodyFormula("wheel", m, [x, 0, r], turn, inertia)])
    rolling = sympy.Symbol("xdot") - r * sympy.Symbol("psidot")
    text = to_markdown(document(wheel, "kane", pfaffian=[rolling]))
    assert r"\frac{m r^{2}}{4},\; \frac{m r^{2}}{2},\; \frac{m r^{2}}{4}" in text
    assert "mass matrix, without constraints" in text


def test_no_state_near_a_singular_position_hides_the_others(monkeypatch):
    """Four-bars are near one at one of the random states; a wrong Coriolis force is told at the others."""
    equations = derive(da.load("four_bar"), "kane")
    assert checked_by_laws(equations).ok
    plain = equation_laws._values

    def wrong(quantity, inputs):
        values = plain(quantity, inputs)
        largest = np.abs(values).reshape(len(values), -1).max(axis=1)
        small = largest < largest.max()
        return values * np.where(small, 1.01, 1.0)[:, None] if quantity.name == "coriolis" else values

    monkeypatch.setattr(equation_laws, "_values", wrong)
    assert not checked_by_laws(equations).ok


@pytest.mark.parametrize("kind", ["root", "logarithm", "fast", "nowhere"])
def test_laws_are_checked_where_formulas_exist(kind):
    """A bead told by its x on a circle, a gas spring, a particle near the speed of light; a root of less than zero."""
    m, k, x, y, xdot, ydot = sympy.symbols("m k x y xdot ydot")
    energies = {
        "root": m * (xdot**2 + (x * xdot) ** 2 / (k**2 - x**2)) / 2 + m * sympy.sqrt(k**2 - x**2) - y**2 + ydot**2,
        "logarithm": m * (xdot**2 + ydot**2) / 2 - k * sympy.log(x) - sympy.sqrt(y),
        "fast": -m * k**2 * sympy.sqrt(1 - (xdot**2 + ydot**2) / k**2) - x * y,
        "nowhere": m * (xdot**2 + ydot**2) / 2 - k * sympy.sqrt(-1 - x**2),
    }
    equations = from_lagrangian(energies[kind], [x, y])
    found = checked_by_laws(equations)
    assert found.ok and bool(found.rows) == (kind != "nowhere")
    assert any("no value" in reason for reason in found.skipped)
    assert ("M(q, v)" in str(equations)) == ("M(q, v)" in to_markdown(document(equations))) == (kind == "fast")


def test_bodies_are_compared_where_their_formulas_exist():
    m, g, r, x, y = sympy.symbols("m g r x y")
    ball = MovingBodyFormula("ball", m, [x, y, -sympy.sqrt(r**2 - x**2 - y**2)])
    bowl = MovingBodies("bowl", [x, y], [ball], gravity=[0, 0, -g])
    found = checked_by_routes(bowl, derive(bowl, "kane"))
    assert found.ok and len(found.skipped) == 1


def test_forces_that_vanish_but_for_rounding_are_no_disagreement():
    """A slab on ice has no Coriolis forces, in whichever axes its velocity is written."""
    m, J, x, y, psi, xdot, ydot, psidot = sympy.symbols("m J x y psi xdot ydot psidot")
    turn = sympy.rot_axis3(-psi)
    slab = MovingBodies("slab", [x, y, psi], [MovingBodyFormula("slab", m, [x, y, 0], turn, sympy.diag(0, 0, J))])
    assert checked_by_routes(slab, derive(slab)).ok
    along, across = (turn.T * sympy.Matrix([xdot, ydot, 0]))[:2]
    free = from_lagrangian(m * (along**2 + across**2) / 2 + J * psidot**2 / 2, [x, y, psi])
    assert checked_by_laws(free).ok


def test_laws_of_a_pendulum_in_places_of_its_bob():
    """Its velocity forces cancel up to rounding, and SymPy's functions of time are not time itself."""
    m, l, g, theta, rate = sympy.symbols("m l g theta thetadot")
    t = sympy.Symbol("t")
    angle = sympy.Function("theta")(t)
    plain = [sympy.sin(theta) * l, -sympy.cos(theta) * l]
    moving = [sympy.sin(angle) * l, -sympy.cos(angle) * l]
    speeds = [x.diff(theta) * rate for x in plain]
    for lagrangian, coordinate in (
        (m * sum(x**2 for x in speeds) / 2 - m * g * plain[1], theta),
        (m * sum(x.diff(t) ** 2 for x in moving) / 2 - m * g * moving[1], angle),
    ):
        found = checked_by_laws(from_lagrangian(lagrangian, [coordinate]))
        assert found.ok
        assert not found.skipped
        assert any(row.against == "rate of the energy" for row in found.rows)


@pytest.mark.parametrize("name", ["q2", "qdot2"])
def test_equations_in_a_given_state_are_not_held_against_other_states(name):
    equations = derive(da.load("double_pendulum"))
    held = pickle.loads(pickle.dumps(equations.substitute({name: 0.3}).substitute({"g": 10})))
    found = checked_by_laws(held)
    assert found.ok and any(f"{name} given" in reason for reason in found.skipped)
    assert not checked_by_laws(equations.substitute({"g": 10})).skipped


def test_a_field_takes_the_place_of_uniform_gravity_in_reports_too():
    m, mu, d, x, y = sympy.symbols("m mu d x y")
    field = da.InverseSquare(mu, (0, d, 0))
    planet = MovingBodies("planet", [x, y], [MovingBodyFormula("planet", m, [x, y, 0])], gravity=[0, 0, -9.81])
    words = r"ravity of an attractor with the parameter ${}$ m³/s² at $(0,\; d,\; 0)$ m"
    text = to_markdown(document(planet, "kane", field=field))
    assert words.format(r"\mu") in text and "9.81" not in text
    satellite = da.load("double_pendulum")
    found = pickle.loads(pickle.dumps(derive(satellite, "kane", field=field).substitute({"mu": 2})))
    text = to_markdown(document(found, mechanism=satellite))
    assert words.format(2) in text and "routes are compared in uniform gravity" in text


def test_a_lagrangian_has_no_bodies_frames_or_wrenches():
    m, k, x, xdot, f = sympy.symbols("m k x xdot f")
    text = to_markdown(document(from_lagrangian(m * xdot**2 / 2 - k * x**2 / 2, [x], forces=[f])))
    assert "R_i" not in text and "wrench" not in text and "inertial" not in text
    assert r"= \tau + Q" in text and "$Q$ given forces" in text and "$G$ forces at rest" in text
    assert "R_i" in to_markdown(document(bob(), "kane", agreement=False))

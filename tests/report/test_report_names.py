"""Names from anywhere mean nothing but themselves, in every format."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
import report_cases as cases
import sympy
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.formulations import from_lagrangian
from dalembert.model import Body, Constraint, Force, Inertia, Joint, Mechanism
from dalembert.model.names import GREEK, rate_name
from dalembert.report import document, report
from dalembert.report.html import to_html
from dalembert.report.latex import to_latex
from dalembert.report.markdown import to_markdown
from dalembert.text.layout import printable
from dalembert.typesetting.escape import html_text, latex_text, markdown_text
from dalembert.typesetting.mathml import inline
from dalembert.typesetting.notation import LETTERS, SPELLINGS, Notation, expression_latex, symbol_latex

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@pytest.fixture(scope="module")
def made():
    return document(cases.hostile(), "kane", title=cases.NASTY[0])


def test_html_shows_hostile_names_and_obeys_none(made):
    page = to_html(made)
    tree = cases.parsed(page)
    names = {cases.local(element.tag) for element in tree.iter()}
    assert not names & {"script", "img", "b>I"}
    assert all(not cases.local(a).startswith("on") for element in tree.iter() for a in element.attrib)
    said = "".join(tree.itertext())
    for name in cases.NASTY:
        assert printable(name) in said, name


def test_latex_has_no_commands_from_names(made):
    source = to_latex(made)
    assert not re.search(r"\\(input|write18|include|openin)\b", source)
    assert source.count(r"\end{document}") == 1
    assert source.rstrip().endswith(r"\end{document}")


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
def test_latex_with_hostile_names_compiles(made, tmp_path):
    path = tmp_path / "hostile.tex"
    path.write_text(to_latex(made), encoding="utf-8")
    assert "Output written" in cases.compiled(path)


def test_markdown_has_no_markup_from_names(made):
    source = to_markdown(made)
    outside = re.sub(r"^ {4}.*$", "", source, flags=re.MULTILINE)  # the tree is a block of code
    assert "<script>" not in outside and "<img" not in outside
    assert "](javascript" not in outside.replace(r"\]", "")


@given(ANY_TEXT)
def test_html_text_is_read_back(text):
    assert html.unescape(html_text(text)) == printable(text)
    assert not set(html_text(text)) & set("<>\"'")


@given(ANY_TEXT)
def test_markdown_text_is_read_back(text):
    escaped = markdown_text(text)
    assert re.sub(r"\\([\\`*_{}\[\]#|~$])", r"\1", html.unescape(escaped)) == html.unescape(
        re.sub(r"\\([\\`*_{}\[\]#|~$])", r"\1", escaped)
    )
    plain = re.sub(r"\\[\\`*_{}\[\]#|~$]", "", escaped)
    assert not set(plain) & set("<>`*_{}[]#|~$\\")


@given(ANY_TEXT)
def test_latex_text_is_ascii_and_harmless(text):
    escaped = latex_text(text)
    assert escaped.isascii()
    commands = set(re.findall(r"\\([A-Za-z]+)", escaped))
    assert commands <= {"textbackslash", "ensuremath", "texttt", "ldots", "times", "cdot", "u", "r", "H", "v", "c"}
    rest = re.sub(r"\\[{}$&#%_]", "", escaped)
    assert rest.count("{") == rest.count("}")
    assert not set(re.sub(r"\\ensuremath\{\^2\}|\\\^", "", rest)) & set("$&#%_^")


@given(st.lists(ANY_TEXT.filter(bool), min_size=1, max_size=4, unique=True))
def test_any_name_of_a_symbol_is_safe_and_distinct(names):
    notation = Notation()
    symbols = [sympy.Symbol(name) for name in names]
    shown = [notation.latex(symbol) for symbol in symbols]
    assert [notation.latex(symbol) for symbol in symbols] == shown
    for text in shown:
        assert re.fullmatch(r"[A-Za-z0-9_{}\\^, ']+", text), text
        commands = set(re.findall(r"\\([A-Za-z]+)", text))
        assert not commands & {"input", "write", "include", "def", "end", "begin", "csname"}
    unreadable = [text for name, text in zip(names, shown) if not name.isidentifier()]
    assert len(set(unreadable)) == len(unreadable)


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_letters_of_two_meanings_are_told(method):
    """A mass M, a length h, a coordinate c beside the matrix M, h = c + G, the forces c; m is, beside m_ijk or m_i."""
    M, m, h = sympy.symbols("M m h", positive=True)
    bodies = [Body("cart", Inertia(M)), Body("arm", Inertia(m, [0, 0, h]))]
    joints = [
        Joint("x", "prismatic", "world", "cart", axis=[1, 0, 0]),
        Joint("c", "revolute", "cart", "arm", axis=[0, 1, 0]),
    ]
    text = to_markdown(document(Mechanism("cart", bodies, joints), method, agreement=False))
    also = ", $m$" * (method in ("lagrange", "newton-euler"))
    assert f"the one listed above: $c$, $M$, $h${also}." in text
    assert "two meanings" not in to_markdown(document(cases.four_bar_by_constraint(), method, agreement=False))


def on_ice(**options):
    body = Body("blade", Inertia(2, [1, 0, 0], np.eye(3)))
    return Mechanism("sleigh", [body], [Joint("ice", "planar", "world", "blade")], **options)


def test_speeds_that_are_called_like_the_velocities_are_told():
    psi, xdot, ydot, psidot = sympy.symbols("psi xdot ydot psidot")
    along, across = xdot * sympy.cos(psi) + ydot * sympy.sin(psi), ydot * sympy.cos(psi) - xdot * sympy.sin(psi)
    for name, told in (("v", "above: $v$."), ("s", "")):
        speeds = [(name, along), ("w", psidot)]
        text = to_markdown(document(on_ice(), "kane", pfaffian=[across], speeds=speeds, agreement=False))
        assert told in text if told else "two meanings" not in text


@pytest.mark.parametrize("method", ["lagrange", "kane"])
def test_formulas_of_users_are_written_in_the_symbols_of_the_document(method):
    """A joint's name is no symbol of the document, nor is what formulas call its positions and velocities."""
    (_, _, angle), (along, across, turning), t = da.coordinate_symbols(on_ice())
    skate = Constraint("skate", "velocity", function=across * sympy.cos(angle) - along * sympy.sin(angle))
    push = Force("push", "user", function=[sympy.sin(t), 0, -turning])
    field = Force("field", "gravity-field", function=[-sympy.Symbol("x"), 0, 0])
    sleigh = on_ice(constraints=[skate], forces=[push, field])
    text = to_markdown(document(sleigh, method, coordinates=["x1", "x2", "beta"], agreement=False))
    assert r"function $- \dot{x}_{1} \sin \beta + \dot{x}_{2} \cos \beta$" in text
    assert r"function $\sin t,\; 0,\; - \dot{\beta}$" in text and r"function $- p_{x},\; 0" in text
    assert r"\mathrm{ice}" not in text


def test_a_path_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises((OSError, DalembertError)):
        report(cases.hostile(), tmp_path / "file" / "report.md", agreement=False)


@given(st.from_regex(r"[A-Za-z]{1,5}(_?[a-z0-9]{1,3})?", fullmatch=True))
def test_no_symbol_reads_as_a_product(name):
    text = symbol_latex(sympy.Symbol(name))
    stem = re.split("[_^]", text, maxsplit=1)[0]
    while accent := re.fullmatch(r"\\(?!mathrm)[a-z]+\{(.*)\}", stem):
        stem = accent[1]
    assert re.fullmatch(r"[A-Za-z]|\\[A-Za-z]+( |$)?|\\mathrm\{[A-Za-z0-9]+\}|\\left\|.*", stem), text


def test_formulas_tell_a_word_from_a_product():
    m, r, mr = sympy.symbols("m r mr")
    assert expression_latex(mr * r**2) != expression_latex(m * r**3)
    assert "m_{r}" in expression_latex(mr * r**2) and "_" not in expression_latex(m * r**3)
    assert r"\mathrm{mass}_{rod}^{2}" in expression_latex(sympy.Symbol("mass_rod") ** 2)
    assert Notation().latex(mr * r**2) == expression_latex(mr * r**2)


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
def test_letters_that_are_given_as_commands_are_commands_of_tex(tmp_path):
    """All that are taken as such are known to TeX and to MathML; others, \\Alpha, are written letter by letter."""
    q = [sympy.Symbol(rf"\{letter}_{{1}}") for letter in LETTERS]
    notation = Notation()
    shown = [notation.latex(x) for x in q]
    assert shown == [x.name for x in q] and not any("\\" in inline(text) for text in shown)
    assert notation.latex(sympy.Symbol(r"\Alpha_{1}")) == r"\mathrm{Alpha\_1}"
    rates = [sympy.Symbol(f"v{k}") for k in range(len(q))]
    path = tmp_path / "letters.tex"
    report(from_lagrangian(sum(x**2 + y**2 for x, y in zip(q, rates)), q, rates), path, agreement=False)
    assert "Output written" in cases.compiled(path)


NAMES_IN_TEX = (
    r"k_{\theta}", r"m_{\mathrm{cart}}", r"L_\mathrm{rod}", r"l_{\text{max}}", r"\hat{x}", r"\dot{m}",
    r"\bar{\theta}_1", r"\omega_{\phi}", r"q_{\alpha\beta}", r"\tilde{\omega}_{1}",
)  # fmt: skip
PRIMED = {"x'": r"x^{\prime}", "theta1''": r"\theta^{\prime\prime}_{1}", "rod'": r"\mathrm{rod}^{\prime}"}


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
def test_names_as_people_write_them_in_tex_are_set_as_such(tmp_path):
    """Greek indices, words, accents and primes, squared and under dots; all are known to TeX and to MathML."""
    notation = Notation()
    q = [sympy.Symbol(name) for name in (*NAMES_IN_TEX, *PRIMED)]
    shown = [notation.latex(x) for x in q]
    assert not any(r"\_" in text for text in shown)
    assert [text for text in shown if "prime" in text] == list(PRIMED.values())
    assert len({inline(text) for text in shown}) == len(q) and not any("\\" in inline(text) for text in shown)
    rates = [sympy.Symbol(rate_name(x.name)) for x in q]
    path = tmp_path / "tex.tex"
    report(from_lagrangian(sum(x**2 + x * y**2 for x, y in zip(q, rates)), q, rates), path, agreement=False)
    assert "Output written" in cases.compiled(path)


@given(st.sampled_from("abcdxyzRM"))
def test_an_upright_letter_is_another_one(letter):
    assert inline(letter) != inline(rf"\mathrm{{{letter}}}") == inline(rf"\mathrm{{ {letter} }}")


@pytest.mark.parametrize("letter", GREEK)
def test_greek_letters_stay_greek(letter):
    for name in (letter, f"{letter}1", f"{letter}_2", letter.capitalize()):
        assert symbol_latex(sympy.Symbol(name)) == sympy.latex(sympy.Symbol(name))


@pytest.mark.parametrize(("letter", "word"), SPELLINGS.items())
def test_letters_typed_as_such_are_written_as_their_names(letter, word):
    stem, name = ("q", f"q{word}") if word.isdigit() else ("", word)
    typed, spelt = sympy.Symbol(f"{stem}{letter}"), sympy.Symbol(name)
    assert symbol_latex(typed) == symbol_latex(spelt) == Notation().latex(typed)
    rates = [sympy.Symbol(rate_name(x.name)) for x in (typed, spelt)]
    assert symbol_latex(rates[0]) == symbol_latex(rates[1]) == Notation().latex(rates[0])
    both = Notation()
    assert both.latex(spelt) != both.latex(typed)
    t = sympy.Symbol("t")
    motion, same = (sympy.Function(x.name)(t).diff(t) for x in (typed, spelt))
    assert Notation().latex(motion) == Notation().latex(same)

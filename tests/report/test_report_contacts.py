"""Contacts in a report: a table, gaps and rows as formulas, the law; and what has no closed form is said."""

from __future__ import annotations

import sympy

import dalembert as da
from dalembert.model import WORLD, Body, Contact, Ground, Inertia, Joint, Mechanism, Shape
from dalembert.report import document
from dalembert.report.html import to_html
from dalembert.report.latex import to_latex
from dalembert.report.markdown import to_markdown


def wheel(ground=None, **numbers) -> Mechanism:
    """A disc of radius r in a vertical plane; v = [height, way, angle]."""
    mu, r = sympy.symbols("mu r", positive=True)
    hub = Body("hub", Inertia(1, (0, 0, 0), [[0.1, 0, 0], [0, 0.2, 0], [0, 0, 0.1]]))
    plane = Joint("plane", "planar", WORLD, "hub", axis=(0, 1, 0))
    rim = Contact("rim", "hub", WORLD, Shape.sphere(r), ground, **{"friction": mu} | numbers)
    return Mechanism("wheel", (hub,), (plane,), contacts=(rim,))


def section(mechanism) -> str:
    text = to_markdown(document(mechanism, agreement=False))
    return text[text.index("Contacts") :].partition("Operation counts")[0]


def test_rows_of_a_rolling_wheel_are_those_on_paper():
    found = section(wheel(restitution=0.3, stiffness=1e4))
    assert r"g = - r + x" in found
    assert r"J = \begin{bmatrix} 1 & 0 & 0 \\ 0 & 1 & - r \\ 0 & 0 & 0 \end{bmatrix}" in found  # slip = v - r w
    assert r"\perp" in found and r"\lvert p_t \rvert & \le \mu\, p_n" in found
    assert "Newton: in an impact" in found and r"f_n & = k\, d" in found
    assert "| rim | hub – world | sphere r | plane | 1 |" in found


def test_what_does_not_matter_is_left_out_and_what_has_no_closed_form_is_said():
    found = section(wheel(Ground.formula(lambda x, y: x * x / 3), friction=0))
    assert "rows are not written out: rim" in found and "Coulomb" not in found and "Newton" not in found
    assert r"z = \frac{x^{2}}{3}" in found
    assert "Contacts" not in to_markdown(document(da.load("cart_pole"), agreement=False))


def test_every_format_has_the_section_and_equations_name_what_they_leave_out():
    made = document(wheel(), agreement=False)
    for write in (to_html, to_latex, to_markdown):
        assert "Contacts" in write(made)
    assert "contact 'rim'" in str(da.derive(wheel()))

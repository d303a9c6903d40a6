"""Views in notebooks stand by themselves: motions, pictures, tables and derivations that fold."""

from __future__ import annotations

import html
import importlib.util
import re
import sys
import time
from types import SimpleNamespace

import pytest
import viewer_cases as cases

import dalembert as da
from dalembert.viewer.inline import ShownFile, in_notebook

MATHML = importlib.util.find_spec("latex2mathml") is not None


@pytest.fixture(scope="module")
def swing():
    return da.simulate(da.load("double_pendulum", parameters="default"), [1.0, 0.5], t=0.5, rtol=1e-6)


def test_a_motion_is_its_page_in_a_frame(swing):
    shown = swing._repr_html_()
    page = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert cases.data_of(page)["motion"]["count"] > 10
    assert 'sandbox="allow-scripts allow-downloads"' in shown
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", page)


def test_hostile_names_stay_text():
    shown = cases.hostile()._repr_html_()
    assert "<script" not in shown and "<svg onload" not in shown and "onerror=" not in re.sub("&[^;]*;", "", shown)[:0]
    assert html.escape(cases.NASTY[0]) in shown


def test_a_mechanism_is_a_picture_and_tables():
    shown = da.load("four_bar")._repr_html_()
    assert shown.count("<table>") >= 3 and "data:image/png;base64," in shown and "<details>" in shown
    assert "<pre>" not in shown


def test_tables_are_tables():
    machine = da.load("double_pendulum", parameters="default")
    for shown in (
        da.verify(da.load("rp_arm"), states=1),
        da.compare(machine, machine),
        da.control.linearize(machine, [0, 0]),
    ):
        page = shown._repr_html_()
        assert "<table>" in page and "<pre>" not in page
        rows = re.findall(r"<tr>(.*?)</tr>", page)
        assert len({len(re.findall("<t[dh]", row)) for row in rows[:3]}) == 1


@pytest.mark.skipif(not MATHML, reason="needs latex2mathml (extra report)")
def test_a_derivation_folds():
    equations = da.derive(da.load("double_pendulum"), "lagrange")
    shown = equations._repr_html_()
    assert shown.count("<details>") == len(equations.steps()) + 1
    before, _, folded = shown.partition("<details>")
    assert "<math" in before and "<math" in folded


@pytest.mark.skipif(not MATHML, reason="needs latex2mathml (extra report)")
@pytest.mark.parametrize("name", ["double_pendulum", "puma560"])
def test_a_quantity_is_typeset_without_a_network(name):
    """In a closed form and as a list of definitions: nothing of the LaTeX is left."""
    quantity = da.derive(da.load(name), "newton-euler").coriolis
    shown = quantity._repr_html_()
    assert quantity.is_short == (name == "double_pendulum")
    rows = 1 if quantity.is_short else 1 + len(quantity.intermediates()[0])
    assert shown.count("<math") == (1 if rows == 1 else 2 * rows)
    assert "&amp;" not in shown and "\\" not in shown


def test_without_the_converter_latex_is_left(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None)
    equations = da.derive(da.load("rp_arm"), "lagrange")
    assert equations._repr_html_() is None and equations.gravity._repr_html_() is None


def test_in_a_notebook_no_browser_opens_and_the_page_is_shown(swing, monkeypatch, tmp_path):
    import webbrowser

    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail("a browser was opened"))
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert in_notebook()
    page = da.view(swing)
    assert "<iframe srcdoc=" in page._repr_html_()
    assert ShownFile(tmp_path / "gone.html")._repr_html_() is None


@pytest.mark.skipif(cases.chromium().find_chromium() is None, reason="needs Chromium")
def test_a_page_of_a_notebook_plays_in_a_browser(swing, tmp_path):
    """As nbconvert writes it: the frame runs its own scripts, and complains of nothing."""
    file = tmp_path / "notebook.html"
    file.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{swing._repr_html_()}", encoding="utf-8")
    with cases.chromium().Chromium(900, 560) as browser:
        browser.open(file)
        time.sleep(2)
        first, second = browser.picture(), (time.sleep(0.6), browser.picture())[1]
        assert browser.messages == []
    assert first != second  # it moves

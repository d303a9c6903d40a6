"""Mechanisms and readers that the tests of reports share."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import sympy

from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Mechanism

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PDFLATEX = shutil.which("pdflatex")

NASTY = (
    "<script>alert(1)</script>",
    r"\input{/etc/passwd}",
    r"\end{document}",
    "$x$ & 50% #1 ~ ^ _ {",
    '"><img src=x onerror=alert(1)>',
    "[Ωλ] 中文 é",
    "| a | `b` | **c**",
    "*[x](javascript:alert(1)) \u202eturned\x00",
)
"""Names that mean something in HTML, LaTeX or Markdown."""


def hostile() -> Mechanism:
    """A pendulum on a cart in which everything has a name that wants to be something else."""
    m, l, evil = sympy.Symbol("m"), sympy.Symbol(r"\write18{rm}"), sympy.Symbol("<b>I</b>")
    bar = Inertia(m, [l, 0, 0], np.array([[0, 0, 0], [0, evil, 0], [0, 0, evil]], dtype=object))
    return Mechanism(
        NASTY[0],
        (Body(NASTY[1], Inertia(2.0)), Body(NASTY[2], bar)),
        (Joint(NASTY[3], "prismatic", WORLD, NASTY[1], axis=np.array([1.0, 0, 0])),
         Joint(NASTY[4], "revolute", NASTY[1], NASTY[2])),
        frames=(Frame(NASTY[5], NASTY[2], Transform(np.eye(3), np.array([0.0, 3.0, 0.0]))),),
        forces=(Force(NASTY[6], "spring", NASTY[1], WORLD, stiffness=3.0),),
        constraints=(),
        gravity=np.array([0, -sympy.Symbol("g"), 0], dtype=object),
        notes=(NASTY[7],),
        strict=False,
    )  # fmt: skip


def four_bar_by_constraint() -> Mechanism:
    """A four-bar with a closing joint."""
    bar = [Inertia(1.0, [l / 2, 0, 0], np.diag([0.001, l**2 / 12, l**2 / 12])) for l in (0.4, 0.9, 0.7)]

    def along(x: float) -> Transform:
        return Transform(np.eye(3), np.array([x, 0.0, 0.0]))

    return Mechanism(
        "four-bar",
        tuple(Body(name, inertia) for name, inertia in zip(("crank", "coupler", "rocker"), bar)),
        (Joint("q1", "revolute", WORLD, "crank"),
         Joint("q2", "revolute", "crank", "coupler", placement=along(0.4)),
         Joint("q3", "revolute", WORLD, "rocker", placement=along(1.0))),
        constraints=(Constraint("pin", "revolute", "coupler", "rocker", along(0.9), along(0.7)),),
        gravity=np.array([0.0, -9.81, 0.0]),
    )  # fmt: skip


def parsed(page: str) -> ElementTree.Element:
    """The page as a tree; an error if it is not well-formed."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>"))


def local(tag: str) -> str:
    """Name of an element without its namespace."""
    return tag.rpartition("}")[2]


def text_of(page: str) -> str:
    """All text of a page."""
    return "".join(parsed(page).itertext())


def without_escapes(latex: str) -> str:
    """LaTeX without escaped characters and line breaks, so that what is left counts."""
    return re.sub(r"\\[\\{}$&#%_]", "", latex)


def compiled(source: Path) -> str:
    """Run pdflatex and return what it says; an error if it fails."""
    command = [str(PDFLATEX), "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", source.name]
    outcome = subprocess.run(command, cwd=source.parent, capture_output=True, timeout=120)
    said = outcome.stdout.decode("latin-1")
    assert outcome.returncode == 0, said[-2000:]
    return said

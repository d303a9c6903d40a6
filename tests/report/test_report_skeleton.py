"""The figure: everything on the page, true lengths in planar views, loops closed, labels apart."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import report_cases as cases
from hypothesis import given, settings

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.model import Constraint
from dalembert.report.document import Figure
from dalembert.report.drawing import STYLES, Circle, Drawing, Label, Note, Path, to_picture, to_svg
from dalembert.report.pose import typical_posture
from dalembert.report.report import document
from dalembert.report.skeleton import skeleton, view_of
from dalembert.typesetting.names import coordinate_names
from random_mechanisms import mechanisms

ROBOTS = ("double_pendulum", "stacker", "cart_pole", "four_bar", "rp_arm", "puma560", "free_body", "demo_arm")


def drawn(mechanism: da.Mechanism) -> Drawing:
    return skeleton(mechanism, coordinate_names(mechanism)[0])


def points(drawing: Drawing):
    for shape in drawing.shapes:
        yield from shape.points if isinstance(shape, Path) else [shape.center]


@pytest.mark.parametrize("name", ROBOTS)
def test_everything_lies_on_the_page(name):
    drawing = drawn(da.load(name))
    for px, py in points(drawing):
        assert -1 <= px <= drawing.width + 1 and -1 <= py <= drawing.height + 1


@given(mechanisms())
@settings(max_examples=15)
def test_random_trees_can_be_drawn(mechanism):
    drawing = drawn(mechanism)
    assert all(math.isfinite(c) for point in points(drawing) for c in point)
    cases.ElementTree.fromstring(to_svg(drawing, mechanism.name))


@pytest.mark.parametrize("name", ROBOTS)
def test_labels_keep_apart(name):
    """No two labels share more than a sliver, and every label has a place of its own."""
    notes = [shape for shape in drawn(da.load(name)).shapes if isinstance(shape, Note)]
    for a, b in itertools.combinations(notes, 2):
        across = (a.label.width + b.label.width) / 2 - abs(a.center[0] - b.center[0])
        down = Label.HEIGHT - abs(a.center[1] - b.center[1])
        assert across < 4 or down < 6, (a.label.text, b.label.text)


@pytest.mark.parametrize("name", ["double_pendulum", "cart_pole", "four_bar"])
def test_planar_mechanisms_are_seen_from_the_side(name):
    """Looking along the axes of the joints, all distances between joints are true."""
    posture = typical_posture(da.load(name))
    view = view_of(posture)
    np.testing.assert_allclose(view @ view.T, np.eye(3), atol=1e-12)
    spots = [posture.joint_frame(joint).translation for joint in posture.mechanism.joints]
    for a, b in itertools.combinations(spots, 2):
        assert np.linalg.norm(view[:2] @ (a - b)) == pytest.approx(np.linalg.norm(a - b))


def test_views_are_right_handed():
    for name in ROBOTS:
        assert np.linalg.det(view_of(typical_posture(da.load(name)))) == pytest.approx(1)


def test_loops_are_closed_in_the_figure():
    for mechanism in (da.load("four_bar"), cases.four_bar_by_constraint()):
        ((_, a), (_, b)), *_ = typical_posture(mechanism).closures()
        np.testing.assert_allclose(a[:2], b[:2], atol=1e-9)


def test_loops_are_drawn_as_they_close_around_the_reference():
    """The mirror image of an assembly is one, too: where it is the reference, it is what the figure shows."""
    four_bar = da.load("four_bar")
    q = typical_posture(four_bar).q
    np.testing.assert_allclose(typical_posture(four_bar, -q).q, -q, atol=1e-9)
    pictures = set()
    for reference in (None, q, -q):
        blocks = document(four_bar, "kane", reference=reference, agreement=False).blocks
        (figure,) = [block for block in blocks if isinstance(block, Figure)]
        pictures.add(to_svg(figure.drawing, "four bars"))
        assert ("position of reference" in str(figure.caption)) == (reference is not None)
    assert len(pictures) == 2


def test_a_rod_that_keeps_a_distance_is_drawn_in_its_true_length():
    """A crank, a slider and a rod of 2 between them, seen from the side: a line as long as the crank twice."""
    bodies = (da.Body("crank", da.Inertia.point(1.0, [1, 0, 0])), da.Body("slider", da.Inertia.point(1.0)))
    joints = (
        da.Joint("turn", "revolute", "world", "crank", axis=[0, -1, 0]),
        da.Joint("slide", "prismatic", "world", "slider", axis=[1, 0, 0]),
    )
    pin = Transform.from_translation([1.0, 0, 0])
    rod = Constraint("rod", "distance", "crank", "slider", pin, value=2.0)
    press = da.Mechanism("press", bodies, joints, constraints=(rod,))
    ((a, b),) = typical_posture(press).rods()
    assert np.linalg.norm(a - b) == pytest.approx(2.0)

    def lengths(mechanism):
        lines = [shape.points for shape in drawn(mechanism).shapes if isinstance(shape, Path) and shape.style == "link"]
        return sorted(math.dist(*ends) for ends in lines if len(ends) == 2)

    with_rod = lengths(press)
    assert with_rod[-1] == pytest.approx(2 * with_rod[-2], rel=1e-6)


def test_both_drawings_hold_the_same_labels():
    drawing = drawn(da.load("double_pendulum"))
    svg, picture = to_svg(drawing, "title"), to_picture(drawing)
    for word in ("upper", "lower", "tip"):
        assert word in svg and word in picture
    assert picture.count(r"\put") >= len([s for s in drawing.shapes if isinstance(s, Note)])
    assert svg.count("<circle") == len([s for s in drawing.shapes if isinstance(s, Circle)])


@pytest.mark.skipif(cases.PDFLATEX is None, reason="needs pdflatex")
def test_latex_draws_lines_of_any_length(tmp_path):
    shapes: list[Path | Circle | Note] = []
    for style, length in itertools.product(STYLES, (0, 1e-3, 0.04, 0.1, 0.2, 0.5, 1, 2, 5, 100)):
        shapes.append(Path(((10, 10), (10 + length, 10 - length / 2)), style))
        shapes.append(Circle((50, 50), length, style))
    source = tmp_path / "lines.tex"
    picture = to_picture(Drawing(200, 200, tuple(shapes)))
    body = rf"\setlength{{\unitlength}}{{0.62pt}}{picture}"
    source.write_text(rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}")
    assert "Output written" in cases.compiled(source)

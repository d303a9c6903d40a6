"""A drawing of lines, circles and labels: places for labels clear of everything else; SVG and LaTeX pictures."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]

STYLES = {"link": 3.2, "outline": 1.6, "thin": 1.0, "dashed": 1.0, "hatch": 0.8}
"""Widths of lines."""

DASH, GAP = 5.0, 4.0


@dataclass(frozen=True)
class Label:
    """A word, or a symbol with an index.

    Args:
        index: what stands below the line, or nothing.
        latex: the same for a LaTeX document, escaped.
        italic: true for symbols.
    """

    text: str
    index: str = ""
    latex: str = ""
    italic: bool = False

    @property
    def width(self) -> float:
        """Roughly, in units of the drawing."""
        return 7.2 * len(self.text) + 5.2 * len(self.index) + 2

    HEIGHT = 15.0


@dataclass(frozen=True)
class Path:
    """A broken line.

    Args:
        style: one of :data:`STYLES`.
        closed: true to join the last corner with the first.
        filled: true to hide what lies below.
        arrow: true for an arrow at the end.
    """

    points: tuple[Point, ...]
    style: str = "outline"
    closed: bool = False
    filled: bool = False
    arrow: bool = False


@dataclass(frozen=True)
class Circle:
    """A circle.

    Args:
        style: one of :data:`STYLES`.
        fill: ``paper`` to hide what lies below, ``ink`` for a dot, or ``none``.
    """

    center: Point
    radius: float
    style: str = "outline"
    fill: str = "paper"


@dataclass(frozen=True)
class Note:
    """A label at a place.

    Args:
        center: middle of the label.
    """

    center: Point
    label: Label


@dataclass(frozen=True)
class Drawing:
    """Shapes, later ones on top; x to the right, y down."""

    width: float
    height: float
    shapes: tuple[Path | Circle | Note, ...]


# ----------------------------------------------------------------------------------------------------------------- SVG


def to_svg(drawing: Drawing, title: str) -> str:
    """An ``svg`` element that takes its colours from the page around it.

    Args:
        title: for readers who cannot see it.
    """
    size = f'viewBox="0 0 {drawing.width:g} {drawing.height:g}" style="max-width:{drawing.width:g}px"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" role="img" {size}>']
    parts.append(f"<title>{html.escape(title)}</title>")
    parts += [_svg(shape) for shape in drawing.shapes]
    return "\n".join([*parts, "</svg>"])


def _svg(shape: Path | Circle | Note) -> str:
    match shape:
        case Path(points, style, closed, filled, arrow):
            kind = f"{style} paper" if filled else style
            body = f'<path class="{kind}" d="{_outline(points, closed)}"/>'
            return body + f'<path class="ink" d="{_outline(arrow_head(points), True)}"/>' if arrow else body
        case Circle((x, y), radius, style, fill):
            return f'<circle class="{style} {fill}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        case Note((x, y), label):
            index = f'<tspan class="index" dy="4">{html.escape(label.index)}</tspan>' if label.index else ""
            kind = ' class="symbol"' if label.italic else ""
            return f'<text{kind} x="{x:.1f}" y="{y + 4.5:.1f}">{html.escape(label.text)}{index}</text>'


def _outline(points: Sequence[Point], closed: bool) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) + ("Z" if closed else "")


def arrow_head(points: Sequence[Point], size: float = 8.0) -> list[Point]:
    """The triangle at the end of a line.

    Args:
        size: length of the triangle.
    """
    (x0, y0), (x1, y1) = points[-2], points[-1]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    back = (x1 - size * ux, y1 - size * uy)
    wing = 0.38 * size
    return [(x1, y1), (back[0] - wing * uy, back[1] + wing * ux), (back[0] + wing * uy, back[1] - wing * ux)]


# --------------------------------------------------------------------------------------------------------------- LaTeX


def to_picture(drawing: Drawing) -> str:
    """A ``picture`` environment of plain LaTeX: all lines are straight Bezier curves, so any slope will do."""
    lines = [rf"\begin{{picture}}({drawing.width:.0f},{drawing.height:.0f})"]
    for shape in drawing.shapes:
        lines += _picture(shape, drawing.height)
    return "\n".join([*lines, r"\end{picture}"])


def _picture(shape: Path | Circle | Note, height: float) -> Iterable[str]:
    if isinstance(shape, Note):
        x, y = shape.center
        yield rf"\put({x:.1f},{height - y:.1f}){{\makebox(0,0){{\small {shape.label.latex or shape.label.text}}}}}"
        return
    pen = 0.45 * STYLES[shape.style]
    yield rf"\linethickness{{{pen:.2f}pt}}"
    if isinstance(shape, Circle):
        (x, y), r = shape.center, shape.radius
        corners = [(x + r * math.cos(a), y + r * math.sin(a)) for a in (math.tau * k / 24 for k in range(25))]
        if shape.fill == "ink":
            yield rf"\put({x:.1f},{height - y:.1f}){{\circle*{{{2 * r:.1f}}}}}"
            return
        pieces = [corners]
    else:
        points = [*shape.points, shape.points[0]] if shape.closed else list(shape.points)
        pieces = list(dashes(points)) if shape.style == "dashed" else [points]
        if shape.arrow:
            tip, left, right = arrow_head(shape.points)
            pieces += [[left, tip, right]]
    for piece in pieces:
        for (x0, y0), (x1, y1) in pairwise(piece):
            middle = (x0 + x1) / 2, height - (y0 + y1) / 2
            # Left alone, \qbezier divides by its number of dots, which is zero for lines hardly longer than wide.
            dots = "[2]" if max(abs(x1 - x0), abs(y1 - y0)) < 2 * pen else ""
            ends = f"({x0:.1f},{height - y0:.1f})({middle[0]:.1f},{middle[1]:.1f})({x1:.1f},{height - y1:.1f})"
            yield rf"\qbezier{dots}{ends}"


def dashes(points: Sequence[Point]) -> Iterable[list[Point]]:
    """The dashes of a broken line."""
    for (x0, y0), (x1, y1) in pairwise(points):
        length = math.hypot(x1 - x0, y1 - y0)
        at = 0.0
        while at < length:
            a, b = at / length, min(at + DASH, length) / length
            yield [(x0 + a * (x1 - x0), y0 + a * (y1 - y0)), (x0 + b * (x1 - x0), y0 + b * (y1 - y0))]
            at += DASH + GAP


# --------------------------------------------------------------------------------------------------- places for labels


DIRECTIONS = 16
"""How many directions around a point are tried."""

CROWDED, CROSSED, OUTSIDE = 1.0, 0.35, 5.0
"""What it costs to lie on another label or joint, on a line, or beyond the edge, per unit of overlap."""


class Placer:
    """Remembers what is drawn, and finds room for labels."""

    def __init__(self, width: float, height: float):
        self.width, self.height = width, height
        self._boxes: list[tuple[float, float, float, float]] = []
        self._dots: list[Point] = []

    def block(self, center: Point, radius: float) -> None:
        """Keep a disc free."""
        x, y = center
        self._boxes.append((x - radius, y - radius, x + radius, y + radius))

    def line(self, start: Point, end: Point) -> None:
        """Keep a line free."""
        steps = max(1, int(math.dist(start, end) / 4))
        for k in range(steps + 1):
            a = k / steps
            self._dots.append((start[0] + a * (end[0] - start[0]), start[1] + a * (end[1] - start[1])))

    def put(self, anchor: Point, label: Label, distance: float) -> Note:
        """Place a label at the best of many spots around a point.

        Args:
            distance: from the anchor to the edge of the label, at least.
        """
        best, lowest = anchor, math.inf
        for ring in (0.0, 10.0, 22.0):
            for k in range(DIRECTIONS):
                angle = math.tau * (k + 0.5) / DIRECTIONS
                ux, uy = math.cos(angle), math.sin(angle)
                away = distance + ring
                center = (anchor[0] + ux * (away + 0.45 * label.width - 4), anchor[1] + uy * away)
                price = self._price(center, label) + 0.08 * ring
                if price < lowest:
                    best, lowest = center, price
        self._boxes.append(_box(best, label))
        return Note(best, label)

    def _price(self, center: Point, label: Label) -> float:
        left, top, right, bottom = _box(center, label)
        price = 0.0
        for x0, y0, x1, y1 in self._boxes:
            across, down = min(right, x1) - max(left, x0), min(bottom, y1) - max(top, y0)
            if across > 0 and down > 0:
                price += CROWDED * math.sqrt(across * down)
        price += CROSSED * 4 * sum(left < x < right and top < y < bottom for x, y in self._dots)
        beyond = max(0.0, 4 - left, right - self.width + 4, 4 - top, bottom - self.height + 4)
        return price + OUTSIDE * beyond


def _box(center: Point, label: Label) -> tuple[float, float, float, float]:
    (x, y), half, tall = center, label.width / 2, Label.HEIGHT / 2
    return x - half, y - tall, x + half, y + tall

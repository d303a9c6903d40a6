"""Places for labels in a drawing: near what they belong to, clear of lines, joints and each other."""

from __future__ import annotations

import math

from dalembert.report.drawing import Label, Note, Point

DIRECTIONS = 16
"""How many directions around a point are tried."""

CROWDED, CROSSED, OUTSIDE = 1.0, 0.35, 5.0
"""What it costs to lie on another label or joint, on a line, or beyond the edge, per unit of overlap."""


class Placer:
    """Remembers what is drawn, and finds room for labels.

    Args:
        width: of the page.
        height: of the page.
    """

    def __init__(self, width: float, height: float):
        self.width, self.height = width, height
        self._boxes: list[tuple[float, float, float, float]] = []
        self._dots: list[Point] = []

    def block(self, center: Point, radius: float) -> None:
        """Keep a disc free.

        Args:
            center: its centre.
            radius: its radius.
        """
        x, y = center
        self._boxes.append((x - radius, y - radius, x + radius, y + radius))

    def line(self, start: Point, end: Point) -> None:
        """Keep a line free.

        Args:
            start: one end.
            end: the other.
        """
        steps = max(1, int(math.dist(start, end) / 4))
        for k in range(steps + 1):
            a = k / steps
            self._dots.append((start[0] + a * (end[0] - start[0]), start[1] + a * (end[1] - start[1])))

    def put(self, anchor: Point, label: Label, distance: float) -> Note:
        """Place a label at the best of many spots around a point.

        Args:
            anchor: what it belongs to.
            label: what it says.
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

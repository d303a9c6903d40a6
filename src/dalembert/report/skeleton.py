"""The skeleton of a mechanism as a drawing: links as lines, joints by their symbols, centres of mass, ground, axes."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from dalembert.model import WORLD, Frame, Joint, Mechanism
from dalembert.model.names import GREEK
from dalembert.report.drawing import Circle, Drawing, Label, Note, Path, Placer, Point
from dalembert.report.pose import Posture, typical_posture
from dalembert.text.layout import printable, shortened
from dalembert.typesetting.escape import latex_text

WIDTH, HEIGHT, MARGIN = 640.0, 380.0, 64.0
MOST_NAMES = 16
"""Joints up to which bodies are named in the figure."""

MOST_FRAMES = 6
"""Further frames that are shown."""

JOINT = 7.0
"""Size of the symbol of a joint."""


def skeleton(mechanism: Mechanism, coordinates: Sequence[str], reference: np.ndarray | None = None) -> Drawing:
    """The mechanism in a typical position; seen along the axes if it is planar, from an oblique direction otherwise.

    Args:
        coordinates: names of the position coordinates.
        reference: see :func:`~dalembert.report.pose.typical_posture`.
    """
    return _Artist(typical_posture(mechanism, reference), coordinates).drawing()


def view_of(posture: Posture) -> np.ndarray:
    """Rows: to the right, up, and towards the viewer, in world axes."""
    points, turning, sliding = _geometry(posture)
    size = float(np.ptp(points, axis=0).max()) or 1.0
    for normal, across, up in (((0, -1, 0), (1, 0, 0), (0, 0, 1)), ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
                              ((1, 0, 0), (0, 1, 0), (0, 0, 1))):  # fmt: skip
        n = np.array(normal, dtype=float)
        flat = np.ptp(points @ n) < 1e-6 * size
        if flat and all(abs(a @ n) > 1 - 1e-9 for a in turning) and all(abs(a @ n) < 1e-9 for a in sliding):
            return np.array([across, up, normal], dtype=float)
    azimuth, elevation = math.radians(-62), math.radians(22)
    ahead = np.array([math.cos(azimuth), math.sin(azimuth), 0])
    right = np.array([-math.sin(azimuth), math.cos(azimuth), 0.0])
    towards = math.cos(elevation) * ahead + np.array([0, 0, math.sin(elevation)])
    return np.array([right, np.cross(towards, right), towards])


def _geometry(posture: Posture) -> tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]:
    """All points, and the axes of turning and of sliding joints, in the world."""
    points = [np.zeros(3)]
    turning: list[np.ndarray] = []
    sliding: list[np.ndarray] = []
    for joint in posture.mechanism.joints:
        frame = posture.joint_frame(joint)
        points += [frame.translation, posture.frames[joint.child].translation]
        center = posture.center(joint.child)
        points += [] if center is None else [center]
        for part in joint.elementary():
            axis = frame.rotation @ np.asarray(part.axis, dtype=float)
            (sliding if part.kind == "prismatic" else turning).append(axis)
            if part.kind == "spherical":
                turning += [frame.rotation[:, k] for k in range(3)]
    if len(posture.mechanism.frames) <= MOST_FRAMES:
        points += [posture.frames[frame.name].translation for frame in posture.mechanism.frames]
    points += [point for ends in posture.closures() for _, point in ends]
    return np.array(points, dtype=float), turning, sliding


class _Artist:
    def __init__(self, posture: Posture, coordinates: Sequence[str]):
        self.posture, self.mechanism, self.coordinates = posture, posture.mechanism, coordinates
        self.view = view_of(posture)
        points = _geometry(posture)[0] @ self.view[:2].T
        low, high = points.min(axis=0), points.max(axis=0)
        self.zoom = min(
            (WIDTH - 2 * MARGIN) / max(high[0] - low[0], 1e-9), (HEIGHT - 2 * MARGIN) / max(high[1] - low[1], 1e-9)
        )
        self.zoom = min(self.zoom, 260 / (float(np.ptp(points, axis=0).max()) or 1.0))
        self.height = max(200.0, self.zoom * (high[1] - low[1]) + 2 * MARGIN)
        self.middle = (low + high) / 2
        self.below: list[Path | Circle | Note] = []
        self.above: list[Path | Circle | Note] = []
        self.placer = Placer(WIDTH, self.height)

    def at(self, point: np.ndarray) -> Point:
        x, y = self.zoom * (self.view[:2] @ point - self.middle)
        return WIDTH / 2 + float(x), self.height / 2 - float(y)

    def drawing(self) -> Drawing:
        self._axes()
        self._gravity()
        for joint in self.mechanism.joints:
            self._link(joint)
        for joint in self.mechanism.joints:
            self._joint(joint)
        self._closures()
        self._frames()
        labels = self._labels()
        return Drawing(WIDTH, self.height, (*self.below, *self.above, *labels))

    # ---------------------------------------------------------------------------------------------------------- parts

    def _link(self, joint: Joint) -> None:
        """Lines from the origin of the child to the joints it carries and to its centre of mass."""
        body, start = joint.child, self.at(self.posture.frames[joint.child].translation)
        ends = [self.at(self.posture.joint_frame(j).translation) for j in self.mechanism.joints if j.parent == body]
        center = self.posture.center(body)
        style = "link" if not any(math.dist(start, end) > 2 for end in ends) else "thin"
        for end in ends:
            self._line(start, end, "link")
        if center is not None:
            spot = self.at(center)
            self._line(start, spot, style)
            self.above.append(Circle(spot, 4.2, "outline", "paper"))
            self.above.append(Circle(spot, 1.8, "thin", "ink"))
            self.placer.block(spot, 5)
        if joint.parent == WORLD:
            self._ground(self.at(self.posture.joint_frame(joint).translation))

    def _line(self, start: Point, end: Point, style: str, arrow: bool = False) -> None:
        if math.dist(start, end) > 1:
            self.below.append(Path((start, end), style, arrow=arrow))
            self.placer.line(start, end)

    def _ground(self, spot: Point) -> None:
        x, y = spot[0], spot[1] + 13
        self.below.append(Path(((x - 18, y), (x + 18, y)), "outline"))
        self.below.append(Path(((x, spot[1]), (x, y)), "outline"))
        for k in range(6):
            self.below.append(Path(((x - 17 + 7 * k, y), (x - 22 + 7 * k, y + 7)), "hatch"))
        self.placer.block((x, y + 2), 16)

    def _joint(self, joint: Joint) -> None:
        frame = self.posture.joint_frame(joint)
        before, spot = self.at(frame.translation), self.at(self.posture.frames[joint.child].translation)
        self.placer.block(spot, JOINT + 2)
        if joint.kind == "fixed":
            self._line(before, spot, "link")
            return
        if joint.kind in ("spherical", "free"):
            self._line(before, spot, "dashed")
            self.above += [Circle(spot, JOINT + 2), Circle(spot, JOINT - 2.5, "outline", "none")]
            return
        along = self.view @ (frame.rotation @ np.asarray(joint.axis, dtype=float))
        flat = float(np.hypot(along[0], along[1]))
        direction = (along[0] / flat, -along[1] / flat) if flat > 1e-9 else (1.0, 0.0)
        if joint.kind in ("prismatic", "cylindrical", "planar"):
            self._line(before, spot, "dashed")
            self.above.append(_box(spot, direction, 1.6 * JOINT, JOINT))
            if flat > 0.2 and joint.kind != "planar":
                self._arrow(spot, direction)
        elif flat < 0.35:  # seen along its axis
            self.above += [Circle(spot, JOINT), Circle(spot, 1.8, "thin", "ink")]
            self._turn(spot, 1 if along[2] > 0 else -1)
        else:
            tip = 2.6 * JOINT
            ends = tuple((spot[0] + s * tip * direction[0], spot[1] + s * tip * direction[1]) for s in (-1, 1))
            self.below.append(Path(ends, "dashed"))
            self.above.append(_box(spot, direction, 1.4 * JOINT, 0.75 * JOINT))
        if joint.kind in ("helical", "universal"):
            self.above.append(Circle(spot, 2.5, "thin", "none"))

    def _arrow(self, spot: Point, direction: Point) -> None:
        (ux, uy), off = direction, 1.9 * JOINT
        start = (spot[0] - uy * off - 4 * ux, spot[1] + ux * off - 4 * uy)
        end = (start[0] + 26 * ux, start[1] + 26 * uy)
        self.above.append(Path((start, end), "thin", arrow=True))
        self.placer.line(start, end)

    def _turn(self, spot: Point, sense: int) -> None:
        angles = [sense * math.radians(-15 + 10 * k) for k in range(12)]
        arc = tuple((spot[0] + 2.1 * JOINT * math.cos(a), spot[1] - 2.1 * JOINT * math.sin(a)) for a in angles)
        self.above.append(Path(arc, "thin", arrow=True))
        for point in arc[::3]:
            self.placer.block(point, 3)

    def _closures(self) -> None:
        """Where loops are closed: lines from both bodies, and a pin; rods between pins."""
        for a, b in self.posture.rods():
            self._line(self.at(a), self.at(b), "link")
        for ends in self.posture.closures():
            for body, point in ends:
                spot = self.at(point)
                self._line(self.at(self.posture.frames[body].translation), spot, "link" if body != WORLD else "dashed")
                self.above += [Circle(spot, JOINT - 1), Circle(spot, JOINT - 4, "thin", "none")]
                self.placer.block(spot, JOINT)

    def _shown_frames(self) -> list[Frame]:
        """A few frames, and only those that are apart from joints and centres of mass."""
        taken = [self._spot(body.name) for body in self.mechanism.bodies]
        taken += [self.at(self.posture.frames[body.name].translation) for body in self.mechanism.bodies]
        frames = self.mechanism.frames if len(self.mechanism.frames) <= MOST_FRAMES else ()
        spots = {frame.name: self.at(self.posture.frames[frame.name].translation) for frame in frames}
        return [f for f in frames if all(math.dist(spots[f.name], other) > 12 for other in taken)]

    def _frames(self) -> None:
        for frame in self._shown_frames():
            x, y = self.at(self.posture.frames[frame.name].translation)
            if frame.body != WORLD:
                self._line(self.at(self.posture.frames[frame.body].translation), (x, y), "dashed")
            self.above += [Path(((x - 4, y - 4), (x + 4, y + 4))), Path(((x - 4, y + 4), (x + 4, y - 4)))]

    def _axes(self) -> None:
        """The world's axes in the lower left corner."""
        origin = (34.0, self.height - 34.0)
        for k, name in enumerate("xyz"):
            x, y = self.view[0, k], -self.view[1, k]
            if math.hypot(x, y) > 0.15:
                end = (origin[0] + 28 * x, origin[1] + 28 * y)
                self.below.append(Path((origin, end), "thin", arrow=True))
                spot = (origin[0] + 38 * x, origin[1] + 38 * y)
                self.below.append(Note(spot, _symbol(name)))
                self.placer.block(spot, 7)
        self.placer.block(origin, 26)

    def _gravity(self) -> None:
        pull = self.view @ np.asarray(self.mechanism.gravity, dtype=float)
        size = float(np.hypot(pull[0], pull[1]))
        if size > 1e-9:
            start = (WIDTH - 34.0, 26.0 if pull[1] < 0 else 60.0)
            end = (start[0] + 34 * pull[0] / size, start[1] - 34 * pull[1] / size)
            self.below.append(Path((start, end), "outline", arrow=True))
            aside = (-13 * pull[1] / size, -13 * pull[0] / size)
            middle = ((start[0] + end[0]) / 2 + aside[0], (start[1] + end[1]) / 2 + aside[1])
            self.below.append(Note(middle, _symbol("g")))

    # --------------------------------------------------------------------------------------------------------- labels

    def _labels(self) -> list[Note]:
        notes = []
        joints = self.mechanism.joints
        for joint in joints:
            label = self._coordinate(joint)
            if label is not None:
                notes.append(self.placer.put(self.at(self.posture.frames[joint.child].translation), label, 24))
        if len(joints) <= MOST_NAMES:
            for body in self.mechanism.bodies:
                if not body.inertia.is_zero:
                    notes.append(self.placer.put(self._spot(body.name), _word(body.name), 17))
            for frame in self._shown_frames():
                notes.append(
                    self.placer.put(self.at(self.posture.frames[frame.name].translation), _word(frame.name), 15)
                )
        return notes

    def _spot(self, body: str) -> Point:
        """Where the name of a body belongs: near its centre of mass, away from its joint."""
        center = self.posture.center(body)
        return self.at(self.posture.frames[body].translation if center is None else center)

    def _coordinate(self, joint: Joint) -> Label | None:
        part = self.mechanism.q_slice(joint.name)
        if joint.kind == "fixed" or joint.mimic or len(self.mechanism.joints) > 2 * MOST_NAMES:
            return None
        if part.stop - part.start != 1:
            return _word(joint.name)
        return _symbol(self.coordinates[part.start])


def _box(center: Point, direction: Point, long: float, short: float) -> Path:
    (x, y), (ux, uy) = center, direction
    corners = [(long, short), (-long, short), (-long, -short), (long, -short)]
    return Path(tuple((x + a * ux - b * uy, y + a * uy + b * ux) for a, b in corners), closed=True, filled=True)


def _word(name: str) -> Label:
    text = shortened(printable(name), 18)
    return Label(text, latex=latex_text(text))


def _symbol(name: str) -> Label:
    """A coordinate: ``theta1`` as a Greek letter with an index."""
    parts = re.fullmatch(r"([A-Za-z]+?)_?(\d+|_\w+)?", name)
    stem, index = (parts[1], (parts[2] or "").lstrip("_")) if parts else (name, "")
    letter = rf"\{stem}" if stem in GREEK else rf"\mathit{{{stem}}}" if stem.isalpha() else latex_text(stem)
    below = rf"_{{{index}}}" if index.isalnum() else ""
    latex = f"${letter}{below}$" if stem.isalpha() else letter
    return Label(greek(stem) if stem in GREEK else printable(stem), index, latex, italic=True)


def greek(name: str) -> str:
    """The Greek letter of that name."""
    return unicodedata.lookup(f"GREEK SMALL LETTER {'LAMDA' if name == 'lambda' else name.upper()}")

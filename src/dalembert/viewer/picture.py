"""Pictures and films of a mechanism, drawn by this program itself: no window, browser or graphics card is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.files import write_whole
from dalembert.model import Mechanism
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.raster import Hits, corner_normals, png, rasterise, unit
from dalembert.viewer.solids import Colour, MovingFigure, figure, joined, rod, solid

FINER = 2
"""Pixels are computed finer by this in both directions and averaged, so that edges are smooth."""

OPENING = math.radians(30)
"""Of the camera, from the top to the bottom of the picture."""

ABOVE, BELOW = np.array([0.957, 0.969, 0.980]), np.array([0.867, 0.894, 0.922])
"""The background at its top and at its bottom."""

LINE, SHADE = np.array([0.62, 0.68, 0.73]), 0.80
"""Colour of the lines of the ground, and what is left of its brightness in a shadow."""

FORCE: Colour = (0.85, 0.33, 0.12, 1.0)
GHOSTS, PALEST = 5, 0.22
"""Moments of a motion in one picture, and how strong the colours of the first are."""


class Picture:
    """A picture that notebooks show and ``save`` writes.

    Args:
        pixels: (height, width, 3), eight bits each: red, green, blue.
    """

    def __init__(self, pixels: np.ndarray):
        self.pixels = pixels

    def save(self, path: str | Path) -> Path:
        """Write the picture as PNG; returns the file.

        Args:
            path: the file, ``.png``.
        """
        return _written(Path(path), self._repr_png_())

    def _repr_png_(self) -> bytes:
        return png(self.pixels)

    def __repr__(self) -> str:
        height, width, _ = self.pixels.shape
        return f"<Picture of {width} x {height} pixels>"


@dataclass(frozen=True, eq=False)
class Camera:
    """An eye and what it looks at.

    Args:
        axes: (3, 3), rows: to the right, up, towards the eye; unit vectors in world axes.
        target: the point in the middle of the picture, m.
        distance: of the eye from it, m.
    """

    axes: np.ndarray
    target: np.ndarray
    distance: float

    def project(self, points: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Places on a screen, pixels, and 1 / distance along the view."""
        local = (points - self.target) @ self.axes.T
        away = self.distance - local[:, 2]
        near = np.where(away > 1e-9 * self.distance, 1 / np.where(away == 0, 1.0, away), -1.0)
        zoom = 0.5 * height / math.tan(OPENING / 2)
        screen = np.stack([width / 2 + zoom * local[:, 0] * near, height / 2 - zoom * local[:, 1] * near], axis=1)
        return screen, near


def picture(
    mechanism: Mechanism,
    trajectory: Any = None,
    *,
    q: Any = None,
    t: float | Sequence[float] | None = None,
    size: tuple[int, int] = (960, 720),
    look: tuple[float, float] | None = None,
    folder: Path | None = None,
    to: str | Path | None = None,
) -> Picture:
    """A picture of a mechanism; of a motion, several moments in one, the earlier the paler.

    Args:
        mechanism: what to draw; symbols without values get numbers of the order of one.
        trajectory: its motion: a Trajectory, a file of one, or a pair (times, positions).
        q: positions without a motion, an array or by joint name; a typical position by default.
        t: moment or moments of the motion, s.
        size: width and height in pixels.
        look: azimuth and elevation of the eye, degrees, azimuth from x towards y; (-55, 20) by default, across the
            plane of a planar mechanism.
        folder: where relative addresses of meshes start.
        to: the file to write, ``.png``, if any.
    """
    shot = Studio(mechanism, trajectory, q, size, look, folder)
    made = shot.several(shot.moments(t)) if shot.motion is not None else shot.at(shot.start)
    if to is not None:
        made.save(to)
    return made


def film(
    mechanism: Mechanism,
    trajectory: Any,
    to: str | Path,
    *,
    size: tuple[int, int] = (640, 480),
    look: tuple[float, float] | None = None,
    fps: float = 25.0,
    speed: float = 1.0,
    folder: Path | None = None,
) -> Path:
    """Write a motion as a film, ``.gif``, ``.mp4`` or ``.webm``; returns the file.

    Args:
        mechanism: what moves.
        trajectory: its motion: a Trajectory, a file of one, or a pair (times, positions).
        to: the file to write; its suffix says which kind. GIF needs the extra ``video``; so do the others, which
            bring ``imageio`` and ``ffmpeg``.
        size: width and height in pixels, even numbers for MP4.
        look: see :func:`picture`.
        fps: pictures per second.
        speed: of the film; 0.1 is ten times slower than the motion.
        folder: where relative addresses of meshes start.
    """
    target = Path(to)
    if target.suffix.lower() not in FILMS:
        raise ArgumentError(f"cannot write {str(to)!r}: films are {', '.join(FILMS)}", argument="to")
    for name, value in (("fps", fps), ("speed", speed)):
        if not (isinstance(value, (int, float)) and 0 < value < 1000):
            raise ArgumentError(f"{name} is {value!r}; it must be a positive number", argument=name)
    if trajectory is None:
        raise ArgumentError("a film shows a motion; give a trajectory, or write a .png", argument="trajectory")
    shot = Studio(mechanism, trajectory, None, size, look, folder)
    times = shot.times(fps, speed)
    # Nothing is drawn before it is known that the film can be written.
    write = _writer(target, fps, len(times))
    write_target = target.resolve()
    write_target.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_whole(write_target, lambda name: write(name, (shot.moment(x).pixels for x in times)))
    except OSError as error:
        raise ArgumentError(f"{target} cannot be written: {error.strerror or error}") from error
    return target


FILMS = (".gif", ".mp4", ".webm")
"""Suffixes of films."""


def _writer(target: Path, fps: float, count: int) -> Any:
    """A function of a file name and frames that writes the film."""
    gif = target.suffix.lower() == ".gif"
    try:
        import imageio.v2 as imageio

        if not gif:
            import imageio_ffmpeg  # noqa: F401 - brings ffmpeg, or finds that of the system
    except ImportError as error:
        raise MissingExtraError(
            "imageio" if gif else "imageio_ffmpeg", "video", f"a film as {target.suffix}"
        ) from error
    if gif:
        options: dict[str, Any] = {"duration": 1000 / fps, "loop": 0}
    elif target.suffix.lower() == ".mp4":
        options = {"fps": fps, "codec": "libx264", "quality": 8, "macro_block_size": 2}
    else:  # VP9 knows constant quality only by these
        options = {"fps": fps, "codec": "libvpx-vp9", "quality": None, "macro_block_size": 2,
                   "output_params": ["-crf", "24", "-b:v", "0"]}  # fmt: skip

    def write(name: str, frames: Iterator[np.ndarray]) -> None:
        with imageio.get_writer(name, **options) as out:
            for frame in frames:
                out.append_data(frame)  # type: ignore[attr-defined]

    return write


# --------------------------------------------------------------------------------------------------------------- studio


class Studio:
    """A figure before a camera that has it all in view.

    Args:
        trajectory: its motion, if there is one.
        q: positions without a motion.
        size: width and height of pictures, pixels.
        look: azimuth and elevation of the eye, degrees.
        folder: where relative addresses of meshes start.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        trajectory: Any,
        q: Any,
        size: tuple[int, int],
        look: tuple[float, float] | None,
        folder: Path | None,
    ):
        from dalembert.viewer.motion import as_trajectory
        from dalembert.viewer.page import beginning, numeric

        self.size = _size(size)
        self.motion = None if trajectory is None else as_trajectory(trajectory, mechanism)
        shown, self.notes = numeric(mechanism, self.motion)
        self.start, facing = beginning(shown, self.motion, q)
        self.figure: MovingFigure = figure(shown, self.start, Meshes(folder, True))
        self._prepared = [corner_normals(s.vertices, s.triangles) for s in self.figure.solids]
        self.axes, self.has_floor = _view(self.figure.up, facing, look)
        self._bare: tuple[Camera, np.ndarray, np.ndarray] | None = None
        self._frame_everything()
        self._arrows = _Arrows(self.figure, self.motion)

    def moments(self, t: Any) -> np.ndarray:
        """Times that the user asks for; some of the motion by default."""
        assert self.motion is not None
        if t is None:
            first, last = float(self.motion.t[0]), float(self.motion.t[-1])
            return np.linspace(first, last, GHOSTS) if last > first else np.array([first])
        times = np.atleast_1d(np.asarray(t, dtype=float))
        if not np.isfinite(times).all() or times.min() < self.motion.t[0] or times.max() > self.motion.t[-1]:
            span = f"{self.motion.t[0]:g} s to {self.motion.t[-1]:g} s"
            raise ArgumentError(f"t is {t}; the motion is known from {span}", argument="t", value=t)
        return times

    def times(self, fps: float, speed: float) -> np.ndarray:
        """Of the pictures of a film."""
        assert self.motion is not None
        first, last = float(self.motion.t[0]), float(self.motion.t[-1])
        count = max(1, math.ceil((last - first) / speed * fps - 1e-9) + 1)
        if count > MOST_FRAMES:
            raise ArgumentError(
                f"the film would have {count} pictures, more than {MOST_FRAMES}; raise speed or lower fps",
                argument="speed",
                value=speed,
            )
        return np.minimum(first + np.arange(count) * speed / fps, last)

    def at(self, q: np.ndarray) -> Picture:
        """The figure in one position."""
        return Picture(self._drawn(self._triangles(q), self._camera(q)))

    def moment(self, t: float) -> Picture:
        """A moment of the motion, with the forces of contacts."""
        q = self._q(t)
        return Picture(self._drawn([*self._triangles(q), *self._arrows.at(t)], self._camera(q)))

    def several(self, times: np.ndarray) -> Picture:
        """Several moments in one picture; the last one has its full colours."""
        if len(times) == 1:
            return self.moment(float(times[0]))
        found: list[Any] = []
        for k, t in enumerate(times):
            strong = PALEST + (1 - PALEST) * k / (len(times) - 1)
            still = [index for index, item in enumerate(self.figure.solids) if item.link < 0]
            for index, item in enumerate(self._triangles(self._q(float(t)))):
                if index in still and k < len(times) - 1:
                    continue  # what is fixed to the ground is drawn once
                red, green, blue = (strong * x + (1 - strong) * y for x, y in zip(item[2][:3], ABOVE))
                found.append((item[0], item[1], (float(red), float(green), float(blue), item[2][3]), item[3]))
        return Picture(self._drawn([*found, *self._arrows.at(float(times[-1]))], self._fixed))

    # --------------------------------------------------------------------------------------------------------- drawing

    def _q(self, t: float) -> np.ndarray:
        """Positions at a time of the motion."""
        motion = self.motion
        assert motion is not None
        if motion.interpolant is not None and motion.t[-1] > motion.t[0]:
            return np.asarray(motion(np.array([t]))[1][0], dtype=float)
        after = int(np.clip(np.searchsorted(motion.t, t), 0, len(motion.t) - 1))
        before = max(after - 1, 0)
        gap = float(motion.t[after] - motion.t[before])
        share = 1.0 if gap <= 0 else float(np.clip((t - motion.t[before]) / gap, 0, 1))
        return np.asarray(self.figure.mechanism.interpolate(motion.q[before], motion.q[after], share), dtype=float)

    def _triangles(self, q: np.ndarray) -> list[Any]:
        """Vertices, triangles, colour and normals of everything in one position."""
        poses = self.figure.poses(q)
        found = []
        for item, normals in zip(self.figure.solids, self._prepared):
            vertices = item.vertices
            if item.link >= 0:
                turn = np.asarray(poses[item.link].rotation, dtype=float)
                vertices = vertices @ turn.T + np.asarray(poses[item.link].translation, dtype=float)
                normals = normals @ turn.T
            found.append((vertices, item.triangles, item.colour, normals))
        for way in self.figure.ways:
            vertices, triangles = way.placed(poses)
            if len(triangles):
                found.append((vertices, triangles, (0.36, 0.45, 0.55, 1.0), corner_normals(vertices, triangles)))
        return found

    def _frame_everything(self) -> None:
        """The camera that sees the whole motion, or one position and goes along where the motion leads far away."""
        positions = [self.start]
        if self.motion is not None:
            some = np.unique(np.linspace(0, len(self.motion.t) - 1, 24).round().astype(int))
            positions = [np.asarray(self.motion.q[k], dtype=float) for k in some]
        clouds = [self._cloud(q) for q in positions]
        middles = np.array([(cloud.min(axis=0) + cloud.max(axis=0)) / 2 for cloud in clouds])
        self.far = bool(np.ptp(middles, axis=0).max() > 4 * self.figure.size)
        whole = np.concatenate(clouds)
        if self.far:
            whole = np.concatenate([cloud - middle for cloud, middle in zip(clouds, middles)])
        lowest = float((np.concatenate(clouds) @ self.figure.up).min())
        self.level = self.figure.floor if self.figure.floor is not None else lowest - 0.02 * self.figure.size
        self._fixed = _fitting(self.axes, whole, self.size)

    def _camera(self, q: np.ndarray) -> Camera:
        if not self.far:
            return self._fixed
        cloud = self._cloud(q)
        middle = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
        return Camera(self.axes, self._fixed.target + middle, self._fixed.distance)

    def _cloud(self, q: np.ndarray) -> np.ndarray:
        """Points of everything that moves; the corners of boxes around solids."""
        poses = self.figure.poses(q)
        points = []
        for item in self.figure.solids:
            if item.link < 0 and any(other.link >= 0 for other in self.figure.solids) and _is_wide(item, self.figure):
                continue  # the ground is cut by the edge of the picture
            low, high = item.vertices.min(axis=0), item.vertices.max(axis=0)
            corners = np.array(
                [[a, b, c] for a in (low[0], high[0]) for b in (low[1], high[1]) for c in (low[2], high[2])]
            )
            if item.link >= 0:
                turn = np.asarray(poses[item.link].rotation, dtype=float)
                corners = corners @ turn.T + np.asarray(poses[item.link].translation, dtype=float)
            points.append(corners)
        points += [way.placed(poses)[0] for way in self.figure.ways]
        found = [part for part in points if len(part)]
        return np.concatenate(found) if found else np.zeros((1, 3))

    def _drawn(self, parts: Sequence[Any], camera: Camera) -> np.ndarray:
        """The pixels of a picture."""
        width, height = FINER * self.size[0], FINER * self.size[1]
        colours = self._ground(parts, camera, width, height)
        opaque = [part for part in parts if part[2][3] >= 0.98]
        clear = [part for part in parts if 0.02 < part[2][3] < 0.98]
        depth = np.zeros(width * height)
        for layer in (opaque, clear):
            hits, shades, opacity = self._layer(layer, camera, width, height)
            front = hits.depth >= depth[hits.pixels]
            pixels, alpha = hits.pixels[front], opacity[front, None]
            colours[pixels] = alpha * shades[front] + (1 - alpha) * colours[pixels]
            depth[pixels] = np.maximum(depth[pixels], hits.depth[front])
        fine = colours.reshape(height, width, 3)
        whole = sum(fine[i::FINER, j::FINER] for i in range(FINER) for j in range(FINER)) / FINER**2
        return np.clip(np.round(255 * whole), 0, 255).astype(np.uint8)

    def _layer(
        self, parts: Sequence[Any], camera: Camera, width: int, height: int
    ) -> tuple[Hits, np.ndarray, np.ndarray]:
        """What is seen of some parts, its colours in the light, and its opacity."""
        vertices, triangles = joined([(part[0], part[1]) for part in parts])
        screen, near = camera.project(vertices, width, height)
        hits = rasterise(screen, near, triangles, width, height)
        if not len(hits.pixels):
            return hits, np.zeros((0, 3)), np.zeros(0)
        normals = np.concatenate([part[3] for part in parts])[hits.triangles]
        normal = unit((hits.weights[..., None] * normals).sum(axis=1))
        counts = [len(part[1]) for part in parts]
        paint = np.repeat(np.array([part[2] for part in parts], dtype=float), counts, axis=0)[hits.triangles]
        eye = camera.target + camera.distance * camera.axes[2]
        corners = vertices[triangles[hits.triangles]]
        towards = unit(eye - corners.mean(axis=1))
        normal = np.where(((normal * towards).sum(axis=1) < 0)[:, None], -normal, normal)  # both sides are seen
        return hits, _lit(paint[:, :3], normal, towards, self.figure.up, self._light()), paint[:, 3]

    def _light(self) -> np.ndarray:
        """Unit vector towards the lamp: above, and behind the left shoulder of the eye."""
        return unit(1.1 * self.figure.up + 0.55 * self.axes[2] - 0.5 * self.axes[0])

    def _ground(self, parts: Sequence[Any], camera: Camera, width: int, height: int) -> np.ndarray:
        """Background, ground with lines, and shadows on it."""
        if self._bare is None or self._bare[0] is not camera:
            self._bare = (camera, *self._bare_ground(camera, width, height))
        colours, is_ground = self._bare[1].copy(), self._bare[2]
        if self.has_floor:
            dark = self._shadow(parts, camera, width, height)
            colours[dark[is_ground[dark]]] *= SHADE
        return colours

    def _bare_ground(self, camera: Camera, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
        """Background and ground with lines; and which pixels show ground."""
        share = np.linspace(0, 1, height)[:, None, None]
        colours = np.broadcast_to((1 - share) * ABOVE + share * BELOW, (height, width, 3)).reshape(-1, 3).copy()
        is_ground = np.zeros(width * height, dtype=bool)
        up, eye = self.figure.up, camera.target + camera.distance * camera.axes[2]
        zoom = 0.5 * height / math.tan(OPENING / 2)
        x, y = np.meshgrid((np.arange(width) + 0.5 - width / 2) / zoom, (height / 2 - np.arange(height) - 0.5) / zoom)
        rays = (x[..., None] * camera.axes[0] + y[..., None] * camera.axes[1] - camera.axes[2]).reshape(-1, 3)
        drop, above = rays @ up, float(eye @ up) - self.level
        on = np.flatnonzero((drop < -1e-9) & (above > 0))
        if not len(on) or not self.has_floor:
            return colours, is_ground
        is_ground[on] = True
        points = eye + rays[on] * (-above / drop[on])[:, None]
        right = unit(np.cross(up, np.eye(3)[np.abs(up).argmin()]))
        plane = np.stack([points @ right, points @ np.cross(up, right)], axis=1)
        middle = np.array([camera.target @ right, camera.target @ np.cross(up, right)])
        radius = camera.distance * math.tan(OPENING / 2)
        cell = _round_length(radius / 2.5)
        # A line is as wide as 0.8 pixels there, and fades where cells become as small as that.
        pixel = np.abs(above / drop[on]) / zoom / np.clip(np.abs(drop[on]), 0.05, 1)
        away = np.abs(plane / cell - np.round(plane / cell)).min(axis=1) * cell
        fade = np.exp(-((np.linalg.norm(plane - middle, axis=1) / (2.2 * radius)) ** 2))
        lines = np.clip(1.3 - away / (0.8 * FINER * pixel), 0, 1) * np.clip(0.35 * cell / pixel - 1, 0, 1) * fade
        colours[on] = (1 - 0.7 * lines[:, None]) * colours[on] + 0.7 * lines[:, None] * LINE
        return colours, is_ground

    def _shadow(self, parts: Sequence[Any], camera: Camera, width: int, height: int) -> np.ndarray:
        """Pixels of the ground that the lamp does not reach."""
        light, up = self._light(), self.figure.up
        # Patches of ground throw no shadow on the level plane that they cross.
        casting = [part for part in parts if part[2][3] >= 0.5 and not _is_flat(part[0], up)]
        vertices, triangles = joined([(part[0], part[1]) for part in casting])
        if not len(triangles):
            return np.zeros(0, dtype=int)
        high = vertices @ up - self.level
        flat = vertices - (high / (light @ up))[:, None] * light
        screen, near = camera.project(flat, width, height)
        whole = triangles[(high[triangles] > -1e-9).all(axis=1)]
        return rasterise(screen, near, whole, width, height).pixels


MOST_FRAMES = 3000
"""Pictures of a film; two minutes at 25 per second."""


def _size(size: Any) -> tuple[int, int]:
    try:
        width, height = (int(x) for x in size)
    except (TypeError, ValueError):
        raise ArgumentError(f"size is {size!r}; give width and height in pixels, (960, 720)", argument="size") from None
    if not (16 <= width <= 4096 and 16 <= height <= 4096):
        raise ArgumentError(f"size is {width} x {height} pixels; 16 to 4096 are possible", argument="size")
    return width, height


def _view(up: np.ndarray, facing: Sequence[float] | None, look: tuple[float, float] | None) -> tuple[np.ndarray, bool]:
    """Axes of the camera, and whether the ground is seen from above."""
    right = np.array([1.0, 0, 0]) if abs(up[0]) < 0.9 else np.array([0.0, 1, 0])
    x = unit(right - (right @ up) * up)
    y = np.cross(up, x)
    if look is None and facing is not None:
        towards = np.asarray(facing, dtype=float)
    else:
        try:
            azimuth, elevation = (math.radians(float(angle)) for angle in (look or (-55.0, 20.0)))
        except (TypeError, ValueError):
            raise ArgumentError(f"look is {look!r}; give azimuth and elevation, degrees", argument="look") from None
        flat = math.cos(azimuth) * x + math.sin(azimuth) * y
        towards = math.cos(elevation) * flat + math.sin(elevation) * up
    towards = unit(towards)
    upwards = up if abs(towards @ up) < 0.999 else y
    across = unit(np.cross(upwards, towards))
    return np.stack([across, np.cross(towards, across), towards]), bool(0.03 < towards @ up < 0.999)


def _fitting(axes: np.ndarray, points: np.ndarray, size: tuple[int, int]) -> Camera:
    """The nearest camera that sees all points with a margin."""
    local = points @ axes.T
    middle = (local.min(axis=0) + local.max(axis=0)) / 2
    for _ in range(4):  # perspective shifts the middle a little
        away = local - middle
        tall = math.tan(OPENING / 2) * 0.86
        wide = tall * size[0] / size[1]
        distance = float((away[:, 2] + np.maximum(np.abs(away[:, 0]) / wide, np.abs(away[:, 1]) / tall)).max())
        distance = max(distance, 1e-9)
        shown = away[:, :2] / np.maximum(distance - away[:, 2:], 1e-12)
        middle[:2] += distance * (shown.min(axis=0) + shown.max(axis=0)) / 2
    return Camera(axes, axes.T @ middle, 1.02 * distance)


def _lit(paint: np.ndarray, normal: np.ndarray, towards: np.ndarray, up: np.ndarray, light: np.ndarray) -> np.ndarray:
    """Colours under a lamp and a bright sky, in the linear light of Lambert and Blinn."""
    linear = paint**2.2
    lamp = np.clip(normal @ light, 0, None)
    sky = 0.5 + 0.5 * (normal @ up)
    shine = np.clip((normal * unit(towards + light)).sum(axis=1), 0, None) ** 40
    bright = linear * (0.30 + 0.28 * sky + 0.62 * lamp)[:, None] + 0.10 * shine[:, None]
    return np.clip(bright, 0, 1) ** (1 / 2.2)


def _round_length(value: float) -> float:
    """1, 2 or 5 times a power of ten, near a length."""
    power = 10.0 ** math.floor(math.log10(max(value, 1e-300)))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= value * 0.999)


def _is_wide(item: Any, whole: MovingFigure) -> bool:
    return float(np.ptp(item.vertices, axis=0).max()) > 3 * whole.size


def _is_flat(vertices: np.ndarray, up: np.ndarray) -> bool:
    return bool(np.ptp(vertices @ up) < 1e-9 * max(float(np.ptp(vertices, axis=0).max()), 1e-300))


class _Arrows:
    """The forces of contacts along a motion: half the figure for the whole weight."""

    def __init__(self, drawn: MovingFigure, motion: Any):
        from dalembert.viewer.touching import contact_curves

        self.curves: dict[str, np.ndarray] = {}
        if motion is not None:
            self.t = np.asarray(motion.t, dtype=float)
            self.curves = contact_curves(motion, self.t)
        weight = float(drawn.mechanism.mass) * float(np.linalg.norm(np.asarray(drawn.mechanism.gravity, dtype=float)))
        self.scale, self.size = 0.5 * drawn.size / (weight or 1.0), drawn.size

    def at(self, t: float) -> list[Any]:
        """Triangles of the arrows at a time."""
        if not self.curves:
            return []
        k = int(np.clip(np.searchsorted(self.t, t), 0, len(self.t) - 1))
        found = []
        for place, force in zip(self.curves["touch"][k].reshape(-1, 3), self.curves["push"][k].reshape(-1, 3)):
            length = min(float(np.linalg.norm(force)) * self.scale, 3 * self.size)
            if length > 0.004 * self.size:
                vertices, triangles = arrow(place, unit(force) * length, 0.006 * self.size)
                found.append((vertices, triangles, FORCE, corner_normals(vertices, triangles)))
        return found


def arrow(start: np.ndarray, along: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of an arrow.

    Args:
        start: its foot, m.
        along: from its foot to where its head begins, m.
        radius: of its shaft, m.
    """
    shaft = rod(start, start + along, radius)
    head, faces = solid("cylinder", [2.6 * radius, 6 * radius])
    narrow = head.copy()
    narrow[:, :2] *= np.clip(0.5 - head[:, 2:] / (6 * radius), 0, 1)  # a cone
    direction = unit(along)
    across = unit(np.cross(np.eye(3)[np.abs(direction).argmin()], direction))
    frame = np.stack([across, np.cross(direction, across), direction], axis=1)
    return joined([shaft, (narrow @ frame.T + start + along + 3 * radius * direction, faces)])


def _written(target: Path, data: bytes) -> Path:
    if target.suffix.lower() != ".png":
        raise ArgumentError(f"cannot write {str(target)!r}: the suffix must be .png", argument="to")

    def write(name: str) -> None:
        Path(name).write_bytes(data)

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, write)
    except OSError as error:
        raise ArgumentError(f"{target} cannot be written: {error.strerror or error}") from error
    return target

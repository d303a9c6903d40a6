"""A mechanism in the browser that moves while it is looked at: viser serves the page, this file says what it shows.

Motions go both ways: sliders and the camera move when this program moves them, and this program knows where the browser
moved them. A running simulation can be pulled with the mouse.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.errors import ArgumentError, DalembertError, MissingExtraError
from dalembert.model import Mechanism
from dalembert.viewer.guard import guarded_server
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.raster import corner_normals
from dalembert.viewer.running import Pull, Running, closed, is_finite, placed
from dalembert.viewer.scene import reach
from dalembert.viewer.solids import GROUND, figure

RATE = 60.0
"""Steps of a running simulation per second; each is shown."""

FASTEST = 3.0
"""Speed of a motion that is played, times that of the motion."""

FARTHEST = 1e6
"""Distance to which the mouse may pull, m."""

PULLING = (214, 93, 14)
"""Colour of the string between the mouse and the point that it pulls."""


class LiveView:
    """What ``da.view(mechanism, live=True)`` returns.

    ``show(q)`` shows a state, ``run()`` and ``pause()`` control the simulation, ``q`` is where everything is now,
    ``camera`` where the eye is. With a trajectory the page plays it. A simulation that fails stops; ``error`` is why,
    and standard error has it, too. ``close()``, or the end of a ``with`` block, ends the server.

    Args:
        mechanism: what is shown; symbols without values get numbers of the order of one.
        trajectory: a motion that is played, if any.
        q: positions to begin with.
        folder: where relative addresses of meshes start.
        control: of the simulation: None, ``"hold"`` for holding the posture of the sliders, or a function of (t, q, v).
        running: whether the simulation runs at once.
        port: of the server; the next free one if it is taken.
        host: who may connect; ``"0.0.0.0"`` is everybody in the network. They need ``address``: it has a random token.
        open: whether a browser is opened.
        options: of the simulation, see :func:`dalembert.simulate`.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        trajectory: Any = None,
        *,
        q: Any = None,
        folder: Path | None = None,
        control: Any = None,
        running: bool = False,
        port: int = 8080,
        host: str = "127.0.0.1",
        open: bool | None = None,
        **options: Any,
    ):
        try:
            import viser  # noqa: F401 - asked for before anything is made
        except ImportError as error:
            raise MissingExtraError("viser", "live", "a live view") from error
        from dalembert.viewer.motion import as_trajectory
        from dalembert.viewer.page import beginning, numeric

        self.trajectory = None if trajectory is None else as_trajectory(trajectory, mechanism)
        self.mechanism, self.notes = numeric(mechanism, self.trajectory)
        start, _ = beginning(self.mechanism, self.trajectory, q)
        meshes = Meshes(folder, True)
        self._figure = figure(self.mechanism, start, meshes)
        self._lock = threading.RLock()
        self._running = bool(running) and self.trajectory is None
        self._ended = threading.Event()
        self.error: Exception | None = None
        self._state = Running(self.mechanism, start, control, **options)
        self._start = start.copy()
        token = secrets.token_urlsafe(16)
        self.server = guarded_server(token, host, port, self.mechanism.name)
        name = "localhost" if host in ("127.0.0.1", "0.0.0.0") else host
        self.address = f"http://{name}:{self.server.get_port()}/{token}/"
        self._build()
        self._publish()
        self._thread = threading.Thread(target=self._loop, name="dalembert live view", daemon=True)
        self._thread.start()
        if open if open is not None else not _in_notebook():
            import webbrowser

            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(self.address)

    # ------------------------------------------------------------------------------------------------------- for users

    @property
    def q(self) -> np.ndarray:
        """Positions that are shown now."""
        with self._lock:
            return self._state.q.copy()

    @property
    def v(self) -> np.ndarray:
        """Velocities of the simulation now."""
        with self._lock:
            return self._state.v.copy()

    @property
    def t(self) -> float:
        """Time of the simulation or of the motion that is played, s."""
        with self._lock:
            return float(self._time.value) if self.trajectory is not None else self._state.t

    def show(self, q: Any, v: Any = None) -> None:
        """Show a state, such as one that arrives from a real robot.

        Args:
            q: positions, an array or by joint name; joints that are not named stay where they are.
            v: velocities from which a simulation goes on; zero by default.
        """
        self._refuse_if_closed()
        with self._lock:
            if self._running or v is not None:
                self._state.place(q, v)
            else:  # what was measured is shown as it is, also where loops do not close exactly
                self._state.q = placed(self.mechanism, self._state.q, q)
                self._state.v = np.zeros(self.mechanism.nv)
            self._publish()

    def follow(self, states: Iterable[Any]) -> None:
        """Show one state after the other, until there are no more.

        Args:
            states: positions, arrays or by joint name, such as the messages of a robot.
        """
        for state in states:
            if self._ended.is_set():
                return
            self.show(state)

    def run(self) -> None:
        """Let the simulation run."""
        if self.trajectory is not None:
            raise ArgumentError("this view plays a motion; open another one to simulate", argument="trajectory")
        self._refuse_if_closed()
        with self._lock:
            self.error = None
            self._running = True
            self._run.label = "Pause"

    def pause(self) -> None:
        """Stop the simulation where it is."""
        with self._lock:
            self._running = False
            self._run.label = "Run"

    def reset(self) -> None:
        """Go back to where it began, at rest."""
        with self._lock:
            self._state.t, self._state.pull = 0.0, None
            self._state.q, self._state.v = self._start.copy(), np.zeros(self.mechanism.nv)
            self._state.wanted = self._start.copy()
            self._publish()

    @property
    def control(self) -> Any:
        """What the drives do: None, ``"hold"`` or a function of (t, q, v)."""
        return self._state.control

    @control.setter
    def control(self, value: Any) -> None:
        if not (value is None or value == "hold" or callable(value)):
            raise ArgumentError(
                f"control is {value!r}; give None, 'hold' or a function of (t, q, v)", argument="control"
            )
        with self._lock:
            self._state.control, self._state.wanted = value, self._state.q.copy()

    @property
    def camera(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the eye of the first browser is and what it looks at, m; that of new browsers while there is none."""
        for client in self.server.get_clients().values():
            return np.array(client.camera.position), np.array(client.camera.look_at)
        first = self.server.initial_camera
        return np.array(first.position), np.array(first.look_at)

    @camera.setter
    def camera(self, place: tuple[Any, Any]) -> None:
        position, look_at = (np.asarray(x, dtype=float) for x in place)
        for camera in (self.server.initial_camera, *(c.camera for c in self.server.get_clients().values())):
            camera.position, camera.look_at = tuple(position), tuple(look_at)

    def wait(self) -> None:
        """Until the view is closed or Ctrl-C is pressed."""
        with contextlib.suppress(KeyboardInterrupt):
            while not self._ended.wait(0.2):
                pass
        self.close()

    def _refuse_if_closed(self) -> None:
        if self._ended.is_set():
            raise ArgumentError("this view is closed; open another one with da.view(mechanism, live=True)")

    def close(self) -> None:
        """End the simulation and the server."""
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(2.0)
        with contextlib.suppress(RuntimeError):
            self.server.stop()

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<LiveView of {self.mechanism.name!r} at {self.address}>"

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.address}" style="width:100%;height:480px;border:1px solid #8883"></iframe>'

    # ----------------------------------------------------------------------------------------------------------- scene

    def _build(self) -> None:
        scene, up = self.server.scene, self._figure.up
        scene.set_up_direction(tuple(up))
        self._links = [scene.add_frame(f"/links/{k}", show_axes=False) for k in range(len(self.mechanism.tree.links))]
        bodies = {carrier: name for name, (carrier, _) in reversed(list(self.mechanism.tree.carriers.items()))}
        for k, solid in enumerate(self._figure.solids):
            parent = "" if solid.link < 0 else f"/links/{solid.link}"
            vertices, triangles = creased(solid.vertices, solid.triangles)
            colour = tuple(round(255 * min(max(x, 0.0), 1.0)) for x in solid.colour[:3])
            opacity = None if solid.colour[3] > 0.98 else float(solid.colour[3])
            handle = scene.add_mesh_simple(
                f"{parent}/solid{k}", vertices, triangles, color=colour, opacity=opacity, side="double"
            )
            if solid.link in bodies and solid.colour != GROUND and self.trajectory is None:
                handle.on_drag("left")(self._dragging(solid.link, bodies[solid.link]))
        self._rods = [
            scene.add_line_segments(f"/rod{k}", np.zeros((1, 2, 3)), (92, 115, 140), thickness=2 * way.radius)
            for k, way in enumerate(self._figure.ways)
        ]
        self._string = scene.add_line_segments(
            "/pull", np.zeros((1, 2, 3)), PULLING, thickness=3, thickness_units="screen", visible=False
        )
        self._floor_and_camera()
        self._panel()

    def _floor_and_camera(self) -> None:
        parts = self._figure.triangles(self._start)
        points = np.concatenate([vertices for vertices, _, colour in parts if colour != GROUND] or [np.zeros((1, 3))])
        up = self._figure.up
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        size = float(np.ptp(points, axis=0).max()) or 1.0
        lowest = float((points @ up).min())
        fixed = [float((v @ up).min()) for (v, _, _), item in zip(parts, self._figure.solids) if item.link < 0]
        if fixed and lowest < min(fixed) - 0.1 * size:  # it hangs, and may hang lower
            lowest = min(lowest, min(fixed) - reach(self.mechanism))
        level = self._figure.floor if self._figure.floor is not None else lowest - 0.02 * size
        axis = int(np.abs(up).argmax())
        if abs(up[axis]) > 0.999:  # grids lie in planes of the axes
            cell = 10.0 ** math.floor(math.log10(size))
            self.server.scene.add_grid(
                "/ground", plane=("yz", "xz", "xy")[axis], infinite_grid=True, cell_size=cell, section_size=5 * cell,
                position=tuple(level * up), fade_distance=40 * size, cell_color=(205, 213, 221),
                section_color=(160, 173, 186),
            )  # fmt: skip
        side = np.cross(up, np.eye(3)[(axis + 1) % 3])
        side = side / np.linalg.norm(side)
        eye = middle + 2.2 * max(size, reach(self.mechanism)) * (0.75 * np.cross(side, up) + 0.55 * side + 0.35 * up)
        first = self.server.initial_camera
        first.fov = math.radians(40)
        first.position, first.look_at, first.up = tuple(eye), tuple(middle), tuple(up)

    def _dragging(self, link: int, body: str) -> Any:
        async def drag(event: Any) -> None:  # on the thread of the server, in the order of the mouse
            if event.phase == "end":
                self._state.pull, self._string.visible = None, False
                return
            _, at = self.mechanism.tree.carriers[body]
            ends = np.array([event.start_position, event.end_position], dtype=float)
            if ends.shape != (2, 3) or not (np.abs(ends) <= FARTHEST).all():
                return
            with self._lock:
                if event.phase == "start" or self._state.pull is None:
                    pose = self._figure.poses(self._state.q)[link] @ at
                    held = np.asarray(pose.inverse().apply(np.asarray(event.start_position)), dtype=float)
                else:
                    held = self._state.pull.point
                self._state.pull = Pull(body, held, np.asarray(event.end_position, dtype=float))
                self._publish()

        return drag

    # ----------------------------------------------------------------------------------------------------------- panel

    def _panel(self) -> None:
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        if self.trajectory is not None:
            first, last = float(self.trajectory.t[0]), float(self.trajectory.t[-1])
            span = max(last - first, 1e-9)
            self._span = (first, first + span)
            self._play = gui.add_checkbox("Play", True)
            self._time = gui.add_slider("Time (s)", first, first + span, span / 1000, first)
            self._speed = gui.add_slider("Speed", 0.1, FASTEST, 0.1, 1.0)
            self._time.on_update(self._time_moved)
        else:
            self._run = gui.add_button("Pause" if self._running else "Run")
            self._hold = gui.add_checkbox("Hold posture", self._state.control == "hold")
            self._back = gui.add_button("Reset")
            self._run.on_click(lambda _: self.pause() if self._running else self.run())
            self._back.on_click(lambda _: self.reset())
            self._hold.on_update(self._hold_changed)
        self._sliders: dict[int, Any] = {}
        with gui.add_folder("Joints"):
            for item in self._coordinates():
                low, high = item["low"], item["high"]
                value = float(np.clip(self._state.q[item["q"]], low, high))
                slider = gui.add_slider(f"{item['name']} ({item['unit']})", low, high, (high - low) / 1000, value)
                slider.disabled = self.trajectory is not None
                slider.on_update(self._slider_moved(item["q"], item["joint"], low, high))
                self._sliders[item["q"]] = slider
        if self.notes:
            gui.add_markdown("\n\n".join(self.notes))

    def _coordinates(self) -> list[dict[str, Any]]:
        """Of joints with one coordinate each; what floats is moved by the mouse."""
        size, found = reach(self.mechanism), []
        for joint in self.mechanism.joints:
            if joint.nq != 1 or joint.mimic is not None:
                continue
            turning = joint.kind != "prismatic"
            low, high = (-math.pi, math.pi) if turning else (-size, size)
            if joint.kind != "continuous":
                low = joint.limits.lower if math.isfinite(joint.limits.lower) else low
                high = joint.limits.upper if math.isfinite(joint.limits.upper) else high
            if high > low:
                place = self.mechanism.q_slice(joint.name).start
                unit = "rad" if turning else "m"
                found.append(
                    {"name": joint.name, "joint": joint.name, "q": place, "low": low, "high": high, "unit": unit}
                )
        return found

    def _slider_moved(self, place: int, joint: str, low: float, high: float) -> Any:
        def moved(event: Any) -> None:
            if event.client is None:
                return  # this program moved it
            with self._lock:
                value = _within(event.target, low, high)
                if value is None:
                    self._publish()
                    return
                if self._running and self._state.control == "hold":
                    self._state.wanted[place] = value
                    return
                state = self._state
                wanted = state.q.copy()
                wanted[place] = value
                state.q = closed(self.mechanism, state.dynamics, wanted, {joint: value})
                state.v, state.wanted = np.zeros(self.mechanism.nv), state.q.copy()
                self._publish(but=place)

        return moved

    def _hold_changed(self, event: Any) -> None:
        if event.client is not None:
            self.control = "hold" if event.target.value else None

    def _time_moved(self, event: Any) -> None:
        if event.client is not None:
            with self._lock:
                value = _within(event.target, *self._span)
                if value is None:
                    self._time.value = self._span[0]
                    return
                self._play.value = False
                self._show_time(value)

    # ---------------------------------------------------------------------------------------------------------- motion

    def _loop(self) -> None:
        last = time.perf_counter()
        while not self._ended.is_set():
            now = time.perf_counter()
            passed, last = min(now - last, 0.1), now  # after a pause of the machine the motion goes on, not after
            with self._lock:
                if self.trajectory is not None:
                    self._play_on(passed)
                elif self._running:
                    self._simulate_on(passed)
            time.sleep(max(0.0, 1 / RATE - (time.perf_counter() - now)))

    def _simulate_on(self, seconds: float) -> None:
        try:
            steps = max(1, math.ceil(seconds * RATE))
            for _ in range(steps):
                self._state.advance(seconds / steps)
            if not is_finite(self._state):
                raise ArgumentError("the motion is no longer finite")
        except Exception as error:  # also of a user's control; on this thread nobody else would hear of it
            self.pause()
            self.error = error
            self._state.q, self._state.v = self._start.copy(), np.zeros(self.mechanism.nv)
            reason = error.message if isinstance(error, DalembertError) else f"{type(error).__name__}: {error}"
            self.server.gui.add_markdown(f"Stopped: {reason}")
            print(f"live view of {self.mechanism.name!r} stopped: {reason}", file=sys.stderr)
            if not isinstance(error, DalembertError):
                traceback.print_exception(error)
        self._publish()

    def _play_on(self, seconds: float) -> None:
        assert self.trajectory is not None
        if self._play.value:
            first, last = float(self.trajectory.t[0]), float(self.trajectory.t[-1])
            speed = _within(self._speed, 0.0, FASTEST)
            t = float(self._time.value) + seconds * (1.0 if speed is None else speed)
            t = t if first <= t <= last else first
            self._time.value = t
            self._show_time(t)

    def _show_time(self, t: float) -> None:
        motion = self.trajectory
        assert motion is not None
        if motion.interpolant is not None:
            self._state.q = np.asarray(motion(np.array([np.clip(t, motion.t[0], motion.t[-1])]))[1][0], dtype=float)
        else:
            self._state.q = np.asarray(motion.q[int(np.argmin(np.abs(np.asarray(motion.t) - t)))], dtype=float)
        self._publish()

    def _publish(self, but: int | None = None) -> None:
        """Bring page and sliders to the present state; the slider that the browser moves stays as it is."""
        poses = self._figure.poses(self._state.q)
        with self.server.atomic():
            for handle, pose in zip(self._links, poses):
                x, y, z, w = (float(c) for c in quaternion_from_rotation(np.asarray(pose.rotation, dtype=float)))
                handle.wxyz, handle.position = (w, x, y, z), tuple(float(c) for c in pose.translation)
            for handle, way in zip(self._rods, self._figure.ways):
                ends = [np.asarray(p if k < 0 else poses[k].apply(p), dtype=float) for k, p in (way.a, way.b)]
                handle.points = np.array([ends], dtype=np.float32)
            pull = self._state.pull  # read once: the mouse may let go meanwhile
            self._string.visible = pull is not None
            if pull is not None:
                carrier, at = self.mechanism.tree.carriers[pull.body]
                self._string.points = np.array(
                    [[(poses[carrier] @ at).apply(pull.point), pull.target]], dtype=np.float32
                )
            held = self._running and self._state.control == "hold"
            for place, slider in self._sliders.items():
                if place != but and not held:
                    value = float(self._state.q[place])
                    if slider.disabled or slider.min <= value <= slider.max:
                        slider.value = min(max(value, slider.min), slider.max)


def _within(slider: Any, low: float, high: float) -> float | None:
    """The number a browser gave, or None if it is none between the ends of the slider."""
    value = float(slider.value)
    slack = 1e-9 * max(abs(low), abs(high))
    return min(max(value, low), high) if low - slack <= value <= high + slack else None


def creased(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that are apart where edges are sharp, so that a viewer that averages normals keeps the edges.

    Args:
        vertices: (n, 3).
        triangles: (m, 3).
    """
    normals = corner_normals(vertices, triangles).reshape(-1, 3)
    corners = triangles.reshape(-1)
    keys = np.concatenate([corners[:, None], np.round(4 * normals)], axis=1)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return vertices[corners[first]].astype(np.float32), place.reshape(-1, 3).astype(np.uint32)


def states_of(lines: Iterable[str], mechanism: Mechanism) -> Iterable[Any]:
    """Positions that arrive as lines of text: JSON by joint name, or numbers with commas or blanks between.

    Args:
        lines: such as standard input; empty lines are passed over.
    """
    import json

    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        try:
            found = (
                json.loads(text) if text.startswith(("{", "[")) else [float(x) for x in text.replace(",", " ").split()]
            )
        except ValueError as error:
            raise ArgumentError(
                f"line {number} is no state: {text[:60]!r}; give numbers, or JSON by joint name"
            ) from error
        if not isinstance(found, Mapping) and len(found) != mechanism.nq:
            raise ArgumentError(
                f"line {number} has {len(found)} numbers; {mechanism.name!r} has {mechanism.nq} positions"
            )
        yield found


def _in_notebook() -> bool:
    from dalembert.viewer.inline import in_notebook

    return in_notebook()

"""The live view: a simulation that can be pulled and placed, states that arrive, sliders that go both ways."""

from __future__ import annotations

import importlib.util
import re
import time
import urllib.request
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.viewer.live import creased, states_of
from dalembert.viewer.running import Pull, Running
from dalembert.viewer.solids import solid

needs_viser = pytest.mark.skipif(importlib.util.find_spec("viser") is None, reason="needs viser (extra live)")


@pytest.fixture(scope="module")
def pendulum():
    return da.load("double_pendulum", parameters="default")


def test_steps_are_those_of_a_simulation(pendulum):
    state = Running(pendulum, np.array([1.0, 0.5]))
    for _ in range(10):
        state.advance(0.02)
    whole = da.simulate(pendulum, [1.0, 0.5], t=0.2)
    assert np.abs(state.q - whole.q[-1]).max() < 1e-5  # ten steps with a relative tolerance of 1e-6
    assert state.t == pytest.approx(0.2)


def test_a_motion_that_leaves_the_ranges_of_its_joints_goes_on_without_a_word(pendulum, recwarn):
    joints = [joint.replace(limits=da.Limits(0.9, 1.1)) for joint in pendulum.joints]
    state = Running(pendulum.replace(joints=joints), np.array([1.0, 1.0]))
    for _ in range(3):
        state.advance(0.1)
    assert abs(state.q[0]) < 0.9 and not recwarn


@pytest.mark.parametrize(
    "options",
    [
        {"law": "convex"},
        {"law": "compliant"},
        {"limits": "all"},
        {"contacts": ()},
        {"wrenches": {"ball": [0, 0, 5.0, 0, 0, 0]}},
        {"include": ["damping"]},
    ],
)
def test_options_of_a_simulation_act_as_there(options):
    touch = da.Contact("touch", "ball", shape_a=da.Shape.sphere(0.1), friction=0.5, stiffness=1e4, damping=1.0)
    rail = da.Joint("rail", "prismatic", "world", "ball", axis=(0, 0, 1), damping=5.0, limits=da.Limits(0.15, 1.0))
    scene = da.Mechanism("scene", [da.Body("ball", da.Inertia.sphere(1, 0.1))], [rail], contacts=[touch])
    state = Running(scene, np.array([0.2]), **options)
    for _ in range(4):
        state.advance(0.05)
    given = scene.replace(contacts=()) if "contacts" in options else scene
    whole = da.simulate(given, [0.2], t=0.2, **{k: x for k, x in options.items() if k != "contacts"})
    assert np.abs(state.q - whole.q[-1]).max() < 1e-5


def test_a_pull_leads_a_point_to_where_the_mouse_is(pendulum):
    """Without weight the point arrives and stays, if it is within reach."""
    floating = da.with_gravity(pendulum, [0, 0, 0])
    held = np.array([0.1, 0.0, -0.2])

    def point(q):
        return np.asarray(da.algorithms.pose(floating, q, "lower", point=held).translation)

    target = point([0.9, -0.5])
    state = Running(floating, np.array([0.3, 0.4]))
    state.pull = Pull("lower", held, target)
    for _ in range(240):
        state.advance(1 / 60)
    assert np.linalg.norm(point(state.q) - target) < 0.02
    assert np.linalg.norm(state.v) < 0.05


def test_a_held_posture_stays_and_follows(pendulum):
    state = Running(pendulum, np.array([0.8, -0.4]), "hold")
    for _ in range(30):
        state.advance(1 / 60)
    assert np.abs(state.q - [0.8, -0.4]).max() < 1e-6
    state.wanted = np.array([0.2, 0.3])
    for _ in range(180):
        state.advance(1 / 60)
    assert np.abs(state.q - [0.2, 0.3]).max() < 0.02


def test_a_control_knows_the_time(pendulum):
    asked = []

    def control(t, q, v):
        asked.append(t)
        return np.zeros(2)

    state = Running(pendulum, np.zeros(2), control)
    state.advance(0.1)
    state.advance(0.1)
    assert 0.1 < max(asked) <= 0.2 + 1e-12
    with pytest.raises(ArgumentError, match="'hold'"):
        Running(pendulum, np.zeros(2), "push")


def test_placing_a_loop_closes_it():
    machine = da.load("four_bar", parameters="default")
    dynamics = da.Dynamics(machine)
    state = Running(machine, dynamics.assemble())
    state.place({"drive": 1.1})
    assert max(np.abs(x).max() for x in dynamics.residual(state.q).values()) < 1e-9
    assert state.q[machine.q_slice("drive")][0] == pytest.approx(1.1)


def test_something_that_touches_stays_on_the_ground():
    ball = da.Shape.sphere(0.1)
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(ball,))
    contact = da.Contact("touch", "ball", "world", friction=0.5, shape_a=ball, shape_b=da.Ground.plane())
    scene = da.Mechanism("ball", (body,), (da.Joint("base", "free", "world", "ball"),), contacts=(contact,))
    state = Running(scene, np.array([0, 0, 0.1, 0, 0, 0, 1.0]), "hold")
    for _ in range(20):
        state.advance(1 / 60)
    assert state.q[2] == pytest.approx(0.1, abs=1e-4)


def test_states_arrive_as_lines(pendulum):
    lines = ["0.1 0.2\n", "\n", "0.3,0.4", '{"elbow": 0.5}', "[0.6, 0.7]"]
    assert list(states_of(lines, pendulum)) == [[0.1, 0.2], [0.3, 0.4], {"elbow": 0.5}, [0.6, 0.7]]
    for line, why in (("0.1 x", "line 1 is no state"), ("1 2 3", "line 1 has 3 numbers")):
        with pytest.raises(ArgumentError, match=why):
            list(states_of([line], pendulum))


def test_edges_stay_sharp_for_viewers_that_average():
    vertices, triangles = solid("box", [1.0, 1.0, 1.0])
    apart, faces = creased(vertices, triangles)
    assert len(apart) > len(np.unique(vertices, axis=0))
    assert np.abs(apart[faces] - vertices[triangles]).max() < 1e-6


@needs_viser
def test_the_view_serves_runs_and_follows(pendulum):
    with da.view(pendulum, live=True, open=False, port=18480) as live:
        assert urllib.request.urlopen(live.address, timeout=20).status == 200
        assert live.address in repr(live) and live.address in live._repr_html_()
        live.show({"elbow": 0.9})
        assert live.q[1] == pytest.approx(0.9)
        assert live._sliders[1].value == pytest.approx(0.9)
        live.follow(states_of(["0.2 0.1"], pendulum))
        assert live.q.tolist() == pytest.approx([0.2, 0.1])
        live.run()
        end = time.monotonic() + 20
        while live.t == 0.0 and time.monotonic() < end:
            time.sleep(0.05)
        live.pause()
        assert live.t > 0 and np.abs(live.q - [0.2, 0.1]).max() > 0
        live.reset()
        assert live.t == 0 and np.abs(live.v).max() == 0
        live.camera = ([1.0, 2.0, 3.0], [0.0, 0.0, 0.5])
        assert live.camera[0].tolist() == [1.0, 2.0, 3.0]


@needs_viser
@pytest.mark.parametrize(
    ("control", "why"),
    [
        (lambda t, q, v: 1 / 0, "ZeroDivisionError"),
        (lambda t, q, v: [1.0, 2.0, 3.0], r"shape \(3,\).* needs \(2,\)"),
        (lambda t, q, v: 1.0, r"shape \(\).* needs \(2,\)"),
    ],
)
def test_a_control_that_fails_is_told_and_can_be_mended(pendulum, capsys, control, why):
    with da.view(pendulum, live=True, open=False, port=18580, control=control, running=True) as live:
        end = time.monotonic() + 20
        while live.error is None and time.monotonic() < end:
            time.sleep(0.05)
        with pytest.raises(Exception, match=why):
            raise live.error
        told = capsys.readouterr().err
        assert re.search(f"live view of 'double_pendulum' stopped: .*{why}", told), told
        assert live.t == 0.0
        live.control = None
        live.run()
        assert live.error is None
        while live.t == 0.0 and time.monotonic() < end:
            time.sleep(0.05)
        assert live.t > 0.0 and live.error is None


@needs_viser
def test_what_is_no_error_of_the_library_is_kept_as_well(pendulum, monkeypatch, capsys):
    with da.view(pendulum, live=True, open=False, port=18585) as live:
        monkeypatch.setattr(live._state, "advance", lambda seconds: {}["missing"])
        live.run()
        end = time.monotonic() + 20
        while live.error is None and time.monotonic() < end:
            time.sleep(0.05)
        assert isinstance(live.error, KeyError)
        live._thread.join(0.2)
        assert live._thread.is_alive()
        assert "stopped: KeyError: 'missing'" in capsys.readouterr().err


@needs_viser
def test_a_view_that_is_closed_says_so(pendulum):
    live = da.view(pendulum, live=True, open=False, port=18590)
    live.close()
    for action in (live.run, lambda: live.show([0.0, 0.0])):
        with pytest.raises(ArgumentError, match="this view is closed; open another one"):
            action()
    live.close()  # again is no error


@needs_viser
def test_sliders_of_the_browser_move_the_mechanism(pendulum):
    with da.view(pendulum, live=True, open=False, port=18490) as live:
        moved = live._slider_moved(1, "elbow", -np.pi, np.pi)
        moved(SimpleNamespace(client=None, target=SimpleNamespace(value=0.5)))  # set by this program: ignored
        before = live.q
        moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=-0.5)))
        assert live.q[1] == -0.5 and live.q[0] == before[0]
        live.control = "hold"
        live.run()
        moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=0.25)))
        assert live._state.wanted[1] == 0.25
        with pytest.raises(ArgumentError, match="hold"):
            live.control = "no"


@needs_viser
def test_the_mouse_pulls_a_body(pendulum):
    """What the server of the page reports of a drag becomes a spring, and is gone when the button is let go."""
    import asyncio

    with da.view(pendulum, live=True, open=False, port=18500) as live:
        drag = live._dragging(1, "lower")
        here = tuple(da.algorithms.pose(pendulum, live.q, "lower").translation.tolist())
        event = SimpleNamespace(phase="start", start_position=here, end_position=(1.0, 0.0, 0.0))
        asyncio.run(drag(event))
        assert np.abs(live._state.pull.point).max() < 1e-12
        event.phase, event.start_position, event.end_position = "update", (9.0, 9.0, 9.0), (0.0, 0.0, 1.0)
        asyncio.run(drag(event))
        assert np.abs(live._state.pull.point).max() < 1e-12 and live._state.pull.target[2] == 1.0
        assert live._string.visible  # a string is drawn from the point to the mouse
        np.testing.assert_allclose(live._string.points, [[here, (0.0, 0.0, 1.0)]], atol=1e-6)
        event.phase = "end"
        asyncio.run(drag(event))
        assert live._state.pull is None and not live._string.visible


@needs_viser
def test_a_motion_is_played(pendulum):
    motion = da.simulate(pendulum, [1.0, 0.5], t=0.5, rtol=1e-6)
    with da.view(motion, live=True, open=False, port=18510) as live:
        live._play.value = False
        live._time_moved(SimpleNamespace(client=object(), target=SimpleNamespace(value=0.25)))
        assert np.abs(live.q - motion(0.25)[1]).max() < 1e-9
        with pytest.raises(ArgumentError, match="plays a motion"):
            live.run()

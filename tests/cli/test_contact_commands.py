"""--ground and what belongs to it: the library's contacts, by either law, shown, simulated and written."""

from __future__ import annotations

import numpy as np
import pytest
from cli_helpers import run

BALL = """
name = "ball"
[[body]]
name = "ball"
mass = 1
inertia = [0.004, 0.004, 0.004]
collisions = [{ kind = "sphere", size = [0.1] }]
[[joint]]
name = "base"
kind = "free"
parent = "world"
child = "ball"
"""

SCENE = """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>
<body name="box" pos="0 0 1"><freejoint/><geom name="crate" type="box" size="0.1 0.1 0.1" friction="0.4"/></body>
</worldbody></mujoco>"""


@pytest.fixture
def ball(tmp_path):
    (tmp_path / "ball.toml").write_text(BALL)
    return str(tmp_path / "ball.toml")


def test_a_ball_slides_then_rolls(capsys, ball):
    """Like the closed form (5 v0 + 2 r w0) / 7."""
    words = ("simulate", ball, "--ground", "--friction", "0.3", "--v=1,0,0,0,-3,0", "--time", "0.5")
    told = run(capsys, *words, "--json").json
    assert told["method"] == "semi-implicit-euler" and abs(told["v"]["last"][0] - (5 - 2 * 0.3) / 7) < 1e-6
    assert told["remarks"] == ["lifted by 0.1 m, until nothing overlaps"]
    point = told["contacts"]["points"]["ball"]
    assert abs(point["last_force"][2] - 9.81) < 1e-6 and point["closed"] > 0.99 and told["contacts"]["residual"] < 1e-9
    plain = run(capsys, *words).out
    assert ("friction took" in plain and "ball     100%" in plain.replace("99%", "100%")) or "ball" in plain


def test_laws_and_slopes(capsys, ball):
    soft = ("--law", "compliant", "--contact-stiffness", "2e4", "--contact-damping", "20")
    told = run(capsys, "simulate", ball, "--ground", *soft, "--time", "0.5", "--json").json
    assert told["method"] == "DOP853" and abs(told["q"]["last"][2] - (0.1 - 9.81 / 2e4)) < 1e-6
    told = run(
        capsys, "simulate", ball, "--ground", "--slope", "20", "--q=0,0,0.107,0,0,0,1", "--time", "0.5", "--json"
    ).json
    along = told["v"]["last"][0] / np.cos(np.radians(20))
    assert abs(along - 5 / 7 * 9.81 * np.sin(np.radians(20)) * 0.5) < 0.02  # it rolls, but for a first small fall


ROCKER = """
name = "rocker"
[[body]]
name = "foot"
mass = 0.02
inertia = [1e-5, 1e-5, 1e-5]
collisions = [{ kind = "box", size = [0.3, 0.2, 0.02] }]
[[body]]
name = "trunk"
mass = 60
center = [0, 0, 0.8]
inertia = [5, 5, 1]
[[joint]]
name = "base"
kind = "free"
parent = "world"
child = "foot"
[[joint]]
name = "ankle"
kind = "revolute"
parent = "foot"
child = "trunk"
axis = "y"
"""


@pytest.mark.parametrize("stiffness", [(), ("--stiffness", "1e7")])
def test_springs_carry_the_weight_and_are_no_stiffer_than_steps_can_follow(capsys, tmp_path, stiffness):
    """A heavy trunk on a light foot: stands by default, and the motion stays finite whatever is asked for."""
    (tmp_path / "rocker.toml").write_text(ROCKER)
    words = ("simulate", str(tmp_path / "rocker.toml"), "--ground", "--control", "springs", *stiffness, "--time", "0.3")
    told = run(capsys, *words, "--json").json
    assert abs(told["q"]["last"][-1]) < 0.1 and told["status"] == "finished"
    spring = next(remark for remark in told["remarks"] if remark.startswith("springs: "))
    assert spring.startswith("springs: 1e+07" if stiffness else "springs: 9")
    assert "1 light joints softer, for steps of 0.001 s" in spring if stiffness else True


def test_contacts_are_shown_with_what_was_left_out(capsys, ball):
    told = run(capsys, "show", ball, "--ground", "--json").json
    assert told["contacts"][0]["shape_a"]["in_words"] == "sphere 0.1" and told["left_out"] == []
    assert told["bodies"][0]["collisions"][0]["size"] == [0.1]
    assert "ball: 1 contact with 1 point in all" in run(capsys, "show", ball, "--ground").out


def test_the_contacts_of_a_file(capsys, tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "scene.xml").write_text(SCENE)
    file = str(tmp_path / "scene.xml")
    told = run(capsys, "show", file, "--file-contacts", "--json").json
    assert told["contacts"][0]["name"] == "crate/floor" and told["contacts"][0]["friction"] == 1
    told = run(capsys, "simulate", file, "--file-contacts", "--q=0,0,0.1,0,0,0,1", "--time", "0.1", "--json").json
    assert abs(told["q"]["last"][2] - 0.1) < 1e-6 and len(told["contacts"]["points"]) == 8


def test_a_page_plays_the_motion(capsys, ball, tmp_path):
    page = tmp_path / "fall.html"
    assert run(capsys, "simulate", ball, "--ground", "--time", "0.1", "--page", str(page)).code == 0
    assert '"push"' in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--friction", "0.5"), "--friction is that of --ground; give that, too, or leave it out"),
        (("--law", "rigid"), "--law rigid: nothing can touch; give --ground"),
        (("--ground", "--touch", "foot"), "no collision shape and no body with one is called foot"),
        (("--ground", "--law", "compliant"), "give --contact-stiffness"),
        (("--ground", "--friction", "-1"), "is not a number from 0"),
        (("--file-contacts",), "has no option 'contacts'"),
        (("--stiffness", "3"), "belongs to --control hold or springs"),
    ],
)
def test_what_does_not_fit_is_said_in_the_words_of_the_command_line(capsys, ball, words, message):
    outcome = run(capsys, "simulate", ball, *words)
    assert outcome.code == 2 and message in outcome.err


def test_models_without_shapes_are_refused(capsys):
    outcome = run(capsys, "simulate", "free_body", "--ground")
    assert outcome.code == 2 and "no body of 'free_body' has collision shapes" in outcome.err


def test_a_robot_of_many_shapes_lies_on_its_trunk_and_stops_at_its_limits(capsys):
    pytest.importorskip("pinocchio")
    words = ("simulate", "go2", "--base", "free", "--ground", "--limits", "--sweeps", "30", "--time", "0.5", "--json")
    told = run(capsys, *words).json
    assert told["remarks"][1].startswith("only the ends of the tree and the trunk may touch")
    assert (
        told["q"]["last"][2] > 0.05
        and sum(x["largest_force"] for name, x in told["contacts"]["points"].items() if "base" in name) > 0
    )
    assert min(told["q"]["least"][9::3]) > -2.75  # knees bend to -2.72


def test_the_soft_law_carries_at_its_depth(capsys, ball):
    words = ("simulate", ball, "--ground", "--law", "convex", "--sweeps", "40", "--time", "0.5", "--json")
    told = run(capsys, *words).json
    assert 1e-5 < 0.1 - told["q"]["last"][2] < 1e-3

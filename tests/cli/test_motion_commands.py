"""`dalembert simulate` and `dalembert linearize` say what the library computes."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
import sympy
from cli_helpers import distant_wire, run

import dalembert as da
from dalembert.algebra.euler import rotation_from_euler
from dalembert.control import linearize
from dalembert.simulation import load_trajectory


def test_simulate_is_the_simulation_of_the_library(capsys):
    arm = da.load("demo_arm")
    data = run(capsys, "simulate", "demo_arm", "--q", "lift=0.4", "--v", "turn=1", "--time", "0.5", "--json").json
    motion = da.simulate(arm, {"lift": 0.4}, {"turn": 1.0}, 0.5)
    np.testing.assert_allclose(data["q"]["last"], motion.q[-1], atol=1e-10)
    np.testing.assert_allclose(data["v"]["last"], motion.v[-1], atol=1e-10)
    assert data["status"] == "finished" and abs(data["energy"]["change"]) < 1e-6
    assert data["positions"] == ["turn", "lift", "bend", "roll", "pitch", "spin"]


def test_simulate_says_whose_work_is_not_among_the_energies(capsys, tmp_path):
    wind = da.Force("wind", "gravity-field", function=[sympy.sin(sympy.Symbol("t")), 0, 0])
    coil = da.Force("coil", "joint-spring", da.load("cart_pole").joints[0].name, stiffness=3.0)
    file = tmp_path / "sail.toml"
    file.write_text(da.write_toml(da.load("cart_pole").replace(forces=[wind, coil])))
    words = "what wind gave or took is not in here"
    assert words in run(capsys, "simulate", str(file), "--elements", "all", "--time", "0.1").out
    assert words not in run(capsys, "simulate", str(file), "--elements", "coil", "--time", "0.1").out


@pytest.mark.parametrize("quarter", ["90deg", "90°", "pi/2", "2*atan(1)", f"{np.pi / 2!r}"])
def test_angles_may_be_given_in_degrees_or_with_pi(capsys, quarter):
    named = ("--q", f"shoulder={quarter}", "--q", f"elbow=-{quarter}", "--time", "0.01", "--json")
    row = (f"--q={quarter},-{quarter}", "--time", "0.01", "--json")
    for arguments in (named, row):
        first = run(capsys, "simulate", "double_pendulum", *arguments).json["q"]["first"]
        np.testing.assert_allclose(first, [np.pi / 2, -np.pi / 2], rtol=1e-15)


@pytest.mark.parametrize("text", ["shoulder=deg", "shoulder=pie", "shoulder=1/0", "shoulder=inf", "nan,0", "=1deg"])
def test_what_is_no_number_is_refused(capsys, text):
    outcome = run(capsys, "simulate", "double_pendulum", f"--q={text}")
    assert outcome.code == 2 and "neither JOINT=VALUE nor numbers" in outcome.err


def test_simulate_writes_and_draws(capsys, tmp_path):
    files = [str(tmp_path / name) for name in ("motion.csv", "motion.npz")]
    for path in files:
        outcome = run(capsys, "simulate", "cart_pole", "--q", "hinge=0.2", "--samples", "11", "--to", path)
        assert outcome.code == 0 and f"written: {path}" in outcome.out, outcome.err
    with open(files[0], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 11 and float(rows[0]["q.hinge"]) == 0.2 and float(rows[-1]["t"]) == 1
    import argparse

    from dalembert.cli.options import add_model, open_model

    parser = argparse.ArgumentParser()
    add_model(parser)
    back = load_trajectory(files[1], open_model(parser.parse_args(["cart_pole"]), numeric=True))
    np.testing.assert_allclose(back["hinge"].q, [float(row["q.hinge"]) for row in rows])


def test_simulate_draws(capsys, tmp_path):
    image = pytest.importorskip("matplotlib.image")
    path = str(tmp_path / "motion.png")
    assert run(capsys, "simulate", "double_pendulum", "--q", "shoulder=1", "--plot", path).code == 0
    assert np.ptp(image.imread(path)[..., :3]) > 0.3


@pytest.mark.parametrize("control", ["gravity", "hold"])
def test_controls_keep_a_mechanism_at_rest(capsys, control):
    data = run(capsys, "simulate", "demo_arm", "--q", "lift=0.4", "--control", control, "--json").json
    np.testing.assert_allclose(data["q"]["last"], data["q"]["first"], atol=1e-8)
    assert max(data["largest_force"]) > 1


def test_a_stiffness_without_a_law_that_has_one_is_not_ignored(capsys):
    for control in ((), ("--control", "gravity"), ("--force", "turn=1")):
        outcome = run(capsys, "simulate", "demo_arm", *control, "--stiffness", "3")
        assert outcome.code == 2 and "--control hold" in outcome.err


def test_a_constant_force_accelerates_a_cart(capsys):
    free = run(capsys, "simulate", "cart_pole", "--json").json
    pushed = run(capsys, "simulate", "cart_pole", "--force", "rail=2", "--json").json
    assert free["q"]["last"][0] == 0 and pushed["q"]["last"][0] > 0.1


def test_loops_are_closed_before_the_start(capsys):
    data = run(capsys, "simulate", "four_bar", "--q=1,-0.7,1.6", "--v", "drive=3", "--time", "0.2", "--json").json
    assert any("loops close" in remark for remark in data["remarks"]) and data["v"]["first"][0] == pytest.approx(3)
    assert abs(data["energy"]["change"]) < 1e-6


@pytest.mark.parametrize("given", [(), ("--q", "drive=-1.2")])
def test_loops_are_closed_from_neutral_positions_in_one_line(capsys, given):
    """The four links of four_bar lie in one line at zero, where the closure has no slope."""
    outcome = run(capsys, "simulate", "four_bar", "--time", "0.05", "--json", *given)
    assert outcome.code == 0, outcome.err
    start = np.array(outcome.json["q"]["first"])
    system = da.Dynamics(da.load("four_bar", parameters="default"), reference=start)
    assert np.abs(system.evaluate("positions", start, 0.0)[0]).max() < 1e-9
    if given:
        assert start[0] == pytest.approx(-1.2, abs=1e-12)
    assert "moved to where the loops close" in outcome.json["remarks"][0]


def test_a_start_that_closes_loops_is_enough(capsys, tmp_path):
    """Whether neutral positions lead to an assembly as well does not matter."""
    bead = distant_wire(tmp_path / "bead.toml")
    words = ("simulate", str(tmp_path / "bead.toml"), "--q", "x=8", "--elements", "all", "--time", "0.3", "--json")
    motion = da.simulate(da.Dynamics(bead, elements="all", reference=[8, 0]), [8, np.log(2)], t=0.3)
    np.testing.assert_allclose(run(capsys, *words).json["q"]["last"], motion.q[-1], atol=1e-8)


def test_linearize_is_the_linear_model_of_the_library(capsys):
    data = run(capsys, "linearize", "demo_arm", "--q", "lift=0.4", "--actuated", "lift", "--json").json
    model = linearize(da.load("demo_arm"), {"lift": 0.4}, actuated=["lift"])
    np.testing.assert_allclose(data["A"], model.A, atol=1e-9)
    np.testing.assert_allclose(data["B"], model.B, atol=1e-9)
    assert data["states"] == list(model.states) and data["inputs"] == ["lift"]
    assert len(data["eigenvalues"]) == 12 and data["uncontrollable"]


def test_linearize_tells_what_grows(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "poles.svg"
    outcome = run(capsys, "linearize", "cart_pole", "--actuated", "rail", "--plot", str(path))
    assert outcome.code == 0 and "grows" in outcome.out and "hinge rate" in outcome.out
    assert path.read_text(encoding="utf-8").lstrip().startswith("<?xml")
    hanging = run(capsys, "linearize", "cart_pole", "--trim", "--q", "hinge=3.1")
    assert "grows" not in hanging.out.replace("neither grows", "") and "3.1416" in hanging.out


def test_linearize_does_not_deny_inputs_that_move_one_of_several_equal_modes(capsys, tmp_path):
    """Two carts, each with two modes that stay; one of the carts has a motor."""
    path = tmp_path / "carts.toml"
    cart = '[[body]]\nname = "{0}"\nmass = 1\n[[joint]]\nname = "{0}_rail"\nkind = "prismatic"\nchild = "{0}"\n'
    joint = 'parent = "world"\naxis = "x"\n'
    path.write_text('name = "carts"\n' + "".join(cart.format(name) + joint for name in ("left", "right")))
    out = run(capsys, "linearize", str(path), "--actuated", "left_rail").out
    assert out.count("inputs do not move all of these") == 4 and "no input moves it" not in out


def test_linearize_closed_loops_at_an_equilibrium(capsys):
    data = run(capsys, "linearize", "four_bar", "--trim", "--q=-1.5,1,-1.5", "--json").json
    assert len(data["A"]) == 2 and data["eigenvalues"][0]["imaginary"] == pytest.approx(4.79, abs=0.01)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("simulate", "demo_arm", "--q", "lift"), "neither JOINT=VALUE nor numbers"),
        (("simulate", "demo_arm", "--q", "lift=1,waist=0.2"), "repeat the option for every joint"),
        (("simulate", "demo_arm", "--q", "1,2"), "needs (6,)"),
        (("simulate", "demo_arm", "--q", "1,2,3,4,5,6", "--q", "lift=1"), "either once"),
        (("simulate", "demo_arm", "--q", "nothing=1"), "nothing"),
        (("simulate", "demo_arm", "--to", "motion.xyz"), ".csv, .npz, .parquet"),
        (("simulate", "demo_arm", "--method", "magic"), "magic"),
        (("simulate", "demo_arm", "--force", "lift=1", "--control", "gravity"), "exclude each other"),
        (("simulate", "demo_arm", "--elements", "spring"), "no force element 'spring'"),
        (("simulate", "demo_arm", "--include", "spring"), "force elements: --elements"),
        (("linearize", "demo_arm", "--actuated", "nothing"), "nothing"),
        (("linearize", "demo_arm", "--keep", "lift"), "give --trim"),
        (("linearize", "demo_arm", "--plot", "poles.xyz"), ".png, .svg, .pdf"),
        (("simulate", "demo_arm", "--plot", "motion.xyz"), ".png, .svg, .pdf"),
        (("simulate", "demo_arm", "--plot", "missing/motion.png"), "no folder 'missing'"),
        (("simulate", "demo_arm", "--time", "0.01", "--to", "missing/motion.csv"), "there is no folder 'missing'"),
        (("show", "demo_arm", "--graph", "tree.xyz"), ".png, .svg, .pdf"),
        (("cost", "demo_arm", "--plot", "bars.xyz"), ".png, .svg, .pdf"),
        (("verify", "demo_arm", "--plot", "dots.xyz"), ".png, .svg, .pdf"),
    ],
)
def test_wrong_arguments_get_one_clean_message(capsys, arguments, words):
    outcome = run(capsys, *arguments)
    assert outcome.code == 2 and words in outcome.err and "Traceback" not in outcome.err


def test_an_interrupted_motion_is_told_and_written_and_says_so_in_the_exit_code(capsys, tmp_path, monkeypatch):
    from dalembert import simulation
    from dalembert.simulation import failure

    real = simulation.simulate

    def interrupted(*given, **options):
        raise failure.interrupted("so far", replace(real(*given, **options), status="interrupted"))

    monkeypatch.setattr(simulation, "simulate", interrupted)
    file = tmp_path / "motion.csv"
    outcome = run(capsys, "simulate", "double_pendulum", "--time", "0.1", "--to", str(file))
    assert outcome.code == 130 and file.exists() and "interrupted" in outcome.out


def test_linearize_says_where_forces_come_from(capsys):
    assert "forces are those without acceleration" in run(capsys, "linearize", "cart_pole").out
    assert "forces are zero, and it accelerates here" in run(capsys, "linearize", "four_bar", "--q", "drive=60deg").out
    trimmed = run(capsys, "linearize", "four_bar", "--q", "drive=60deg", "--trim").out
    assert "this is an equilibrium" in trimmed and "forces are zero" not in trimmed


def test_linearize_of_a_motion_says_what_eigenvalues_are_worth(capsys):
    assert "only where A stays the same" not in run(capsys, "linearize", "double_pendulum").out
    for model, speed in (("double_pendulum", "elbow=1"), ("four_bar", "drive=2")):
        assert "only where A stays the same" in run(capsys, "linearize", model, "--v", speed).out


def test_nobody_is_sent_to_look_for_equilibria_of_a_given_motion(capsys, tmp_path):
    arm = da.load("double_pendulum", parameters="default")
    given = [da.Constraint(f"m{k}", "motion", joint.name, coefficients=(1, 1)) for k, joint in enumerate(arm.joints)]
    da.write_toml(arm.replace(constraints=given), tmp_path / "given.toml")
    out = run(capsys, "linearize", str(tmp_path / "given.toml")).out
    assert "Nothing is left to move" in out and "--trim" not in out


@pytest.mark.parametrize("command", ["simulate", "linearize", "verify"])
def test_what_cannot_move_is_refused(capsys, tmp_path, command):
    block = da.Mechanism("block", [da.Body("b", da.Inertia.sphere(1.0, 0.1))], [da.Joint("w", "fixed", "world", "b")])
    da.write_toml(block, tmp_path / "block.toml")
    outcome = run(capsys, command, str(tmp_path / "block.toml"))
    assert outcome.code == 2 and outcome.out == "" and "'block' has no degree of freedom" in outcome.err


def test_a_base_of_several_roots_is_told_in_the_words_of_the_command_line(capsys, tmp_path):
    ball = da.Inertia.sphere(1.0, 0.1)
    pair = da.Mechanism("pair", [da.Body(n, ball) for n in "ab"], [da.Joint(f"{n}j", "free", "world", n) for n in "ab"])
    da.write_toml(pair, tmp_path / "pair.toml")
    outcome = run(capsys, "show", str(tmp_path / "pair.toml"), "--base", "fixed")
    assert outcome.code == 2 and "--base is for a mechanism with one root body" in outcome.err
    assert "'a', 'b'" in outcome.err


def test_a_joint_may_have_the_sign_of_assignment_in_its_name(capsys, tmp_path):
    hinge = da.Joint("a=b", "revolute", "world", "rod")
    rod = da.Mechanism("rod", [da.Body("rod", da.Inertia.sphere(1.0, 0.1))], [hinge])
    da.write_toml(rod, tmp_path / "rod.toml")
    told = run(capsys, "simulate", str(tmp_path / "rod.toml"), "--q", "a=b=0.5", "--time", "0.1", "--json").json
    assert told["q"]["first"] == [0.5]
    page = tmp_path / "rod.html"
    assert run(capsys, "view", str(tmp_path / "rod.toml"), "--at", "a=b=0.5", "--to", str(page)).code == 0


def test_linearize_says_that_nothing_is_left_to_move(capsys, tmp_path):
    path = tmp_path / "driven.toml"
    path.write_text(
        'name = "driven"\n[[body]]\nname = "arm"\nmass = 1\ncenter = [0.5, 0, 0]\n'
        '[[joint]]\nname = "drive"\nkind = "revolute"\nparent = "world"\nchild = "arm"\naxis = "y"\n'
        '[[constraint]]\nname = "motor"\nkind = "motion"\na = "drive"\nfunction = "sin(t)"\n'
    )
    out = run(capsys, "linearize", str(path)).out
    assert "the constraints determine the whole motion" in out and "eigenvalues:" not in out


TURNTABLE = """
name = "turntable"
[[body]]
name = "table"
mass = 10.0
inertia = [1, 1, 2]
[[body]]
name = "ball"
mass = 0.4
inertia = [4e-4, 4e-4, 4e-4]
[[joint]]
name = "axle"
kind = "revolute"
parent = "world"
child = "table"
axis = "z"
[[joint]]
name = "free"
kind = "free"
parent = "world"
child = "ball"
[[constraint]]
name = "roll"
kind = "rolling-sphere"
a = "ball"
b = "table"
value = 0.05
"""


@pytest.mark.parametrize("command", ["simulate", "linearize"])
def test_single_velocities_are_held_and_the_others_follow(capsys, tmp_path, command):
    (tmp_path / "turn.toml").write_text(TURNTABLE)
    start = (command, str(tmp_path / "turn.toml"), "--q", "free=0.3,0,0.05,0,0,0,1", "--v", "axle=0", "--json")
    data = run(capsys, *start, "--v", "free.vx=0.1").json
    v = data["v"]["first"] if command == "simulate" else data["v"]
    assert v[1] == 0.1
    np.testing.assert_allclose(v[5], 0.1 / 0.05, rtol=1e-9)  # it rolls: omega_y r = v_x
    # All of them at once leave nothing to the constraints, which want a spin.
    refused = run(capsys, *start, "--v", "free=0.1,0,0,0,0,0")
    assert refused.code == 2 and "--v free.vx=... gives a single velocity" in refused.err
    assert "given twice" in run(capsys, *start, "--v", "free.vx=0.1", "--v", "free=0,0,0,0,0,0").err
    assert "the velocities of 'free' are called free.vx, free.vy" in run(capsys, *start, "--v", "free.x=0.1").err
    single = run(capsys, command, str(tmp_path / "turn.toml"), "--q", "free.x=0.3")
    assert single.code == 2 and "--q['free.x']: positions of a joint are given together" in single.err


def test_reach_is_the_inverse_kinematics_of_the_library(capsys):
    words = (
        "reach",
        "puma560",
        "--position=0.4,0.2,0.3",
        "--euler=0.1,90deg,0",
        "--sequence",
        "XYZ",
        "--q",
        "joint1=0.2",
    )
    data = run(capsys, *words, "--json").json
    rotation = rotation_from_euler("XYZ", [0.1, np.pi / 2, 0])
    goal = da.Goal("link6", [0.4, 0.2, 0.3], rotation)
    found = da.inverse_kinematics(da.load("puma560"), goal, {"joint1": [0.2]}, starts=64)
    assert data["status"] == "reached" and list(data["q"].values()) == found.q.tolist()
    outcome = run(capsys, *words)
    assert "reaches the goal" in outcome.out and outcome.code == 0


def test_reach_says_that_a_goal_is_out_of_reach(capsys):
    outcome = run(capsys, "reach", "puma560", "--position=4,0,0", "--starts", "3")
    assert outcome.code == 1 and "does not reach the goal; this is the nearest" in outcome.out
    assert "nothing is wanted" in run(capsys, "reach", "puma560").err
    assert "keep one of them" in run(capsys, "reach", "puma560", "--euler=0,0,0", "--quaternion=0,0,0,1").err


def test_identify_finds_masses_and_friction_in_a_log(capsys, tmp_path):
    """The rods of a double pendulum with dry joints, from a log in degrees and milliseconds; tested on another."""
    arm = da.load("double_pendulum", parameters="default")
    real = arm.replace(joints=tuple(joint.replace(friction=0.3) for joint in arm.joints))
    plant = da.Dynamics(real, include=["friction"])
    t, paths = np.arange(0, 6, 0.002), []
    for k, (a, b) in enumerate(((2.0, 3.0), (2.5, 3.5))):
        angles = np.stack([np.sin(a * t) + 0.4 * np.sin(5 * t), np.cos(b * t)], axis=1)
        rates = np.stack([a * np.cos(a * t) + 2 * np.cos(5 * t), -b * np.sin(b * t)], axis=1)
        more = np.stack([-(a**2) * np.sin(a * t) - 10 * np.sin(5 * t), -(b**2) * np.cos(b * t)], axis=1)
        tau = plant.inverse_dynamics(angles, rates, more)
        paths.append(str(tmp_path / f"run{k}.csv"))
        table = np.column_stack([1000 * t, np.degrees(angles), tau])
        np.savetxt(paths[-1], table, delimiter=",", header="time [ms],enc1 [deg],enc2 [deg],tau1,tau2", comments="")
    words = ("identify", "double_pendulum", paths[0], "--column", "q=enc{number}", "--cutoff", "40")
    to = str(tmp_path / "found.toml")
    data = run(capsys, *words, "--predict", paths[1], "--to", to, "--json").json
    assert data["friction"] == "Coulomb" and data["prediction"]["share"] < 1e-3  # reversals too
    found = da.load(to)
    assert [joint.friction for joint in found.joints] == pytest.approx([0.3, 0.3], abs=1e-3)
    plain = run(capsys, *words, "--friction", "coulomb")
    assert plain.code == 0 and "q    enc1, enc2" in plain.out and "sampled at 500 Hz" in plain.out
    wrong = run(capsys, "identify", "double_pendulum", paths[0])
    assert wrong.code == 2 and "no columns of positions" in wrong.err and "'enc1'" in wrong.err
    np.savetxt(paths[0], table, delimiter=",", header="t [ms],q1 [deg],q2 [deg],j1_eff,j2_eff", comments="")
    bare = run(capsys, "identify", "double_pendulum", paths[0])
    said = " ".join(bare.err.split())
    assert bare.code == 2 and "--column tau=effort_{joint}" in said and "the file has 'j1_eff', 'j2_eff', too" in said
    assert run(capsys, "identify", "double_pendulum", paths[0], "--column", "tau=j{number}_eff").code == 0
    np.savetxt(paths[0], table, delimiter=",", header="t,q1 [deg],q2 [deg],tau1,tau2", comments="")
    unsaid = run(capsys, "identify", "double_pendulum", paths[0])
    assert unsaid.code == 2 and "--time-unit ms makes that 500, 's' keeps it" in " ".join(unsaid.err.split())
    assert run(capsys, "identify", "double_pendulum", paths[0], "--time-unit", "ms").code == 0


def test_a_pattern_gives_positions_of_several_joints(capsys):
    outcome = run(capsys, "simulate", "demo_arm", "--q", "*i*=0.2", "--q", "lift=0.3", "--time", "0.01", "--json")
    first = dict(zip(outcome.json["positions"], outcome.json["q"]["first"]))
    assert first == {"turn": 0, "lift": 0.3, "bend": 0, "roll": 0, "pitch": 0.2, "spin": 0.2}
    outcome = run(capsys, "simulate", "demo_arm", "--q", "*knee*=0.2")
    assert outcome.code == 2 and "--q *knee*: no joint has such a name; they are turn, lift" in outcome.err


def test_a_start_outside_the_ranges_is_told_in_words_of_the_command_line(capsys):
    outcome = run(capsys, "simulate", "demo_arm", "--q", "turn=4", "--time", "0.01")
    assert outcome.code == 0 and "--q is outside the range of a joint: turn at 229.2 degrees" in outcome.err
    assert outcome.err.count("outside the range") == 1

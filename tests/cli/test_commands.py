"""Every command says what is true, to people and to machines."""

from __future__ import annotations

import json
import shutil
import subprocess
from fractions import Fraction

import numpy as np
import pytest
import sympy
from cli_helpers import distant_wire, process, run

import dalembert as da
from dalembert.cli import agreement, bench, cost
from dalembert.cli.agreement import compare, find_peer
from dalembert.cli.export import _bytes
from dalembert.cli.show import described
from dalembert.constraints.classical import flyball_governor
from dalembert.costs.published import PUBLISHED
from dalembert.costs.tables import generic_arm
from dalembert.dynamics import ALL_QUANTITIES, TASK_QUANTITIES
from dalembert.errors import ArgumentError
from dalembert.export import LANGUAGES
from random_mechanisms import random_mechanism

ROBOTS = ("demo_arm", "puma560", "stacker", "free_body", "four_bar", "cart_pole")

# ----------------------------------------------------------------------------------------------------------------- show


@pytest.mark.parametrize("name", ROBOTS)
def test_show_prints_the_mechanism(capsys, name):
    outcome = run(capsys, "show", name)
    assert outcome.code == 0
    assert outcome.out.rstrip() == str(da.load(name))


@pytest.mark.parametrize("name", ROBOTS)
def test_show_as_json_is_complete(capsys, name):
    data, mechanism = run(capsys, "show", name, "--json", "--frames").json, da.load(name)
    assert (data["nq"], data["nv"]) == (mechanism.nq, mechanism.nv)
    assert [body["name"] for body in data["bodies"]] == [body.name for body in mechanism.bodies]
    assert sum(len(joint["v"]) for joint in data["joints"] if not joint["mimic"]) == mechanism.nv
    assert data["assumed"] == list(mechanism.notes)
    assert set(data["neutral_poses"]) >= {body.name for body in mechanism.bodies}


def test_show_lets_a_robot_float(capsys):
    assert run(capsys, "show", "demo_arm", "--base", "free", "--json").json["nv"] == 12
    assert run(capsys, "show", "free_body", "--base", "fixed", "--json").json["nv"] == 0


def test_show_puts_values_in_the_place_of_symbols(capsys):
    data = run(capsys, "show", "double_pendulum", "--set", "m1=3", "--set", "m2=4", "--json").json
    assert data["mass"] == 7
    assert set(data["symbols"]) == {"g", "l1", "l2"}


def test_show_tells_the_data_of_constraints_and_forces(capsys):
    (pin,) = run(capsys, "show", "four_bar", "--json").json["constraints"]
    assert (pin["a"], pin["b"], pin["placement_a"]["position"]) == ("coupler", "rocker", ["l2", 0, 0])
    assert "at (l2, 0, 0) of a; at (l3, 0, 0) of b" in run(capsys, "show", "four_bar").out
    arm = da.load("demo_arm")
    first, second = [joint.name for joint in arm.joints if joint.kind == "revolute"][:2]
    data = described(
        arm.replace(
            constraints=(
                da.Constraint("gear", "coupling", first, second, coefficients=(0, 2)),
                da.Constraint("drive", "motion", first, function=sympy.sin(sympy.Symbol("t"))),
            ),
            forces=(
                da.Force("stop", "joint-stop", first, stiffness=5, upper=1),
                da.Force("own", "joint-force", first, function=lambda t: t),
            ),
        )
    )
    (gear, drive), (stop, own) = data["constraints"], data["forces"]
    assert gear["coefficients"] == (0, 2) and gear["b"] == second and "value" not in gear and "placement_a" not in gear
    assert drive["function"] == ["sin(t)"] and drive["b"] is None
    assert {name: stop[name] for name in ("stiffness", "damping", "upper")} == {
        "stiffness": 5,
        "damping": 0,
        "upper": 1,
    }
    assert own["function"] == "a function" and "stiffness" not in own


def test_frames_are_where_the_kinematics_puts_them(capsys):
    poses = run(capsys, "show", "demo_arm", "--json", "--frames").json["neutral_poses"]
    arm = da.load("demo_arm")
    rotation, position = da.Dynamics(arm).pose(arm.neutral, frame="flange")
    np.testing.assert_allclose(poses["flange"]["position"], position, atol=1e-12)
    np.testing.assert_allclose(da.algebra.rotation_from_rpy(*poses["flange"]["rpy"]), rotation, atol=1e-12)


# --------------------------------------------------------------------------------------------------------------- derive


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_derived_equations_are_those_of_the_kernels(capsys, method):
    data = run(capsys, "derive", "cart_pole", "--method", method, "--json").json
    names = [*data["coordinates"], *data["velocities"], *data["parameters"]]
    symbols = sympy.symbols(names)
    values = np.random.default_rng(0).uniform(0.5, 1.5, len(names))
    M = [[float(sympy.sympify(x, dict(zip(names, symbols))).subs(dict(zip(symbols, values)))) for x in row]
         for row in data["parts"]["mass_matrix"]]  # fmt: skip
    expected = da.Dynamics(da.load("cart_pole")).mass_matrix(values[:2], values[4:])
    np.testing.assert_allclose(M, expected, rtol=1e-12)


def test_what_is_too_long_to_be_written_out_is_told_as_definitions(capsys):
    data = run(capsys, "derive", "demo_arm", "--json").json
    arm = da.load("demo_arm")
    q, v, _ = arm.random_state(np.random.default_rng(0))
    known = dict(zip(data["coordinates"], map(float, q))) | dict(zip(data["velocities"], map(float, v)))
    part = data["parts"]["bias"]
    for name, text in part["definitions"]:
        known[name] = float(sympy.sympify(text, known))
    bias = [float(sympy.sympify(row[0], known)) for row in part["result"]]
    np.testing.assert_allclose(bias, da.Dynamics(arm).bias(q, v), rtol=1e-9, atol=1e-9)


def test_a_parameter_that_only_formulas_have_is_the_number_of_the_file_or_that_which_is_set(capsys, tmp_path):
    path = tmp_path / "wire.toml"
    path.write_text(
        """
parameters = { m = 2.0, p = 3.0, idle = 1.0 }
body = [{ name = "cart" }, { name = "bead", mass = "m" }]
joint = [
    { name = "x", kind = "prismatic", parent = "world", child = "cart", axis = "x" },
    { name = "z", kind = "prismatic", parent = "cart", child = "bead", axis = "z" },
]
constraint = [{ name = "wire", kind = "position", function = "z - p*x**2" }]
"""
    )
    assert "36*x**2" in run(capsys, "derive", str(path), "--method", "kane", "--set", "m=1").out
    for given in (["p=4"], ["p=4", "m=1"], ["p=8/2"]):
        options = [part for value in given for part in ("--set", value)]
        text = run(capsys, "derive", str(path), "--method", "kane", *options).out
        assert "64*x**2" in text and "36" not in text and ("parameters m" in text) == (len(given) == 1)
    outcome = run(capsys, "derive", str(path), "--set", "idle=4")
    assert outcome.code and "no expression of the description uses the parameter 'idle'" in outcome.err
    assert run(capsys, "verify", str(path), "--set", "p=4", "--states", "1").code == 0


def test_derive_tells_what_was_left_out_in_every_form(capsys):
    shown = [run(capsys, "derive", "demo_arm", *options) for options in ((), ("--json",), ("--latex",))]
    assert "damping of turn" in shown[0].out
    assert any(what.startswith("damping of turn") for what in shown[1].json["left_out"])
    assert "damping of turn" in shown[2].err and "damping" not in shown[2].out
    assert run(capsys, "derive", "cart_pole", "--json").json["left_out"] == []
    assert run(capsys, "derive", "cart_pole", "--latex").err == ""


def test_derive_prints_mathematics(capsys):
    assert "l*m*cos(q2)" in run(capsys, "derive", "cart_pole", "--steps").out
    assert "\\cos" in run(capsys, "derive", "cart_pole", "--latex").out


def test_derive_takes_speeds_and_drives(capsys):
    words = ("derive", "double_pendulum", "--method", "kane", "--speed", "w1=qdot1", "--speed", "w2 = qdot1+qdot2")
    x, y = sympy.symbols("qdot1 qdot2")
    told = da.derive(da.load("double_pendulum"), "kane", speeds=[("w1", x), ("w2", x + y)])
    found = run(capsys, *words, "--json").json
    assert found["velocities"] == ["w1", "w2"]
    assert found["parts"]["mass_matrix"] == [list(map(str, row)) for row in told.mass_matrix.sympy().tolist()]
    driven = run(capsys, "derive", "cart_pole", "--actuated", "rail", "--json").json["parts"]["input_map"]
    assert driven == [["1"], ["0"]]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--speed", "u1=qdot1"], "--method kane"),
        (["--method", "kane", "--speed", "qdot1"], "NAME=EXPRESSION"),
        (["--method", "kane", "--speed", "u1=qdot1**2", "--speed", "u2=qdot2"], "linear"),
        (["--actuated", "elbow"], "elbow"),
        (["--title", "A cart"], "--to"),
        (["--exact"], "--to"),
    ],
)
def test_derive_refuses_settings_that_mean_nothing(capsys, options, told):
    outcome = run(capsys, "derive", "cart_pole", *options)
    assert outcome.code == 2 and told in outcome.err


# ----------------------------------------------------------------------------------------------------------------- cost


def test_costs_are_those_of_the_library(capsys):
    data = run(capsys, "cost", "demo_arm", "--json", "--algorithms", "--tables").json
    dynamics = da.Dynamics(da.load("demo_arm"))
    for name, found in data["compiled"].items():
        assert found["operations"] == dynamics.cost(name).operations
        assert found["multiplications"] == dynamics.cost(name).multiplications
    for name, counts in data["algorithms"].items():
        for algorithm, found in counts.items():
            assert found["operations"] == dynamics.cost(name, algorithm=algorithm).operations
    assert set(data["algorithms"]) == set(cost.FAMILIES)
    assert data["published"]["inverse_dynamics"]["Luh, Walker, Paul"] == {"multiplications": 852, "additions": 738}
    assert data["published"]["mass_matrix"]["Algorithm 6.2"] == {"multiplications": 420, "additions": 339}
    assert data["published"]["forward_dynamics"]["THESIS"] == {"multiplications": 956, "additions": 790}


def test_cost_and_bench_work_under_the_constraints_of_the_model(capsys):
    """A four-bar without its pin is another machine: its forward dynamics must be counted and timed with it."""
    closed = da.Dynamics(da.load("four_bar", parameters="default")).cost("forward_dynamics").operations
    arguments = ("four_bar", "--quantity", "forward_dynamics", "--json")
    assert run(capsys, "cost", *arguments).json["compiled"]["forward_dynamics"]["operations"] == closed
    opened = run(capsys, "cost", *arguments, "--constraints", "none").json["compiled"]["forward_dynamics"]["operations"]
    assert opened < closed / 2
    outcome = run(capsys, "cost", "four_bar", "--keep-symbols")
    assert outcome.code == 2
    assert "--constraints none" in outcome.err
    timed = run(capsys, "bench", *arguments, "--batch", "16", "--seconds", "0.01").json["seconds_per_state"]
    assert timed[0]["single"] > 0 and timed[0]["difference"] < 1e-12


def test_cost_prints_every_algorithm_with_its_ratio(capsys):
    outcome = run(capsys, "cost", "demo_arm", "--algorithms")
    for name in cost.FAMILIES:
        assert all(algorithm in outcome.out for algorithm in ALL_QUANTITIES[name].algorithms)
    assert outcome.out.count("compiled by dalembert") == 3


def test_cost_prints_the_tables_beside_ours(capsys):
    out = run(capsys, "cost", "rrr", "--tables").out
    for table in PUBLISHED:
        assert f"Table {table.number}  {table.title}" in out
    assert out.count("counted here, n = 3") == 8 and "SymPyBotics" in out
    assert out.count("from the document") == 8
    assert "forward_dynamics, as published" not in out  # for six joints only


def test_a_certificate_is_checked_without_a_model_and_for_another_robot(capsys, tmp_path):
    path = str(tmp_path / "arm.json")
    assert run(capsys, "verify", "demo_arm", "--exact", "--to", path).code == 0
    assert "all identical" in run(capsys, "verify", "--certificate", path).out
    assert "puma560: " in run(capsys, "verify", "puma560", "--certificate", path).out
    assert "another topology" in run(capsys, "verify", "rp_arm", "--certificate", path).err
    assert run(capsys, "verify").err.startswith("error: name a MODEL")


def test_a_small_mechanism_is_proved_in_symbols(capsys):
    assert "all identical as formulas" in run(capsys, "verify", "rp_arm", "--symbolic").out
    assert run(capsys, "verify", "rp_arm", "--symbolic", "--json").json["holds"] is True
    assert run(capsys, "verify", "rp_arm", "--symbolic", "--exact").code != 0


def test_the_tables_need_no_model(capsys):
    out = run(capsys, "cost", "--tables").out
    assert out.count("counted here, n = 6") == 8
    refused = run(capsys, "cost", "--quantity", "gravity")
    assert refused.code != 0 and refused.err.startswith("error: name a MODEL")


def test_the_tables_are_told_to_machines_too(capsys):
    """Every number of the text, which shows counts as multiplications / additions and values in brackets."""
    out = run(capsys, "cost", "rrr", "--tables").out
    tables = run(capsys, "cost", "rrr", "--tables", "--json").json["tables"]
    assert tables.pop("joints") == 3
    assert set(tables) == {table.number for table in PUBLISHED} | {"PUMA 560"}
    for number, table in tables.items():
        assert table["title"] in out
        for row in table["published"].values():
            for value in row.values():
                shown = Fraction(value).limit_denominator(100)
                assert f"({shown})" in out or f" {shown}" in out, (number, row)
        for row in table["dalembert"].values():
            for counts in row.values() if number != "PUMA 560" else [row]:
                assert f"{counts['multiplications']} / {counts['additions']}" in out


def test_cost_says_why_an_algorithm_is_missing(capsys):
    outcome = run(capsys, "cost", "free_body", "--algorithms")
    assert outcome.code == 0
    assert "uicker-kahn (5.2.2) needs coordinates whose rates are the velocities" in outcome.out


def test_long_counts_are_left_out_and_say_so(monkeypatch, capsys):
    monkeypatch.setattr(cost, "TOO_LONG", 1)
    assert "--all" in run(capsys, "cost", "rrr", "--algorithms").out
    assert "--all" not in run(capsys, "cost", "rrr", "--algorithms", "--all").out


def test_cost_knows_every_quantity(capsys):
    """Three of them along coordinates need six velocities; they are named, and why."""
    data = run(capsys, "cost", "cart_pole", "--quantity", "all", "--json").json
    assert {*data["compiled"], *data["not_counted"]} == set(ALL_QUANTITIES)
    assert set(data["not_counted"]) == {name for name in TASK_QUANTITIES if name.startswith("cartesian")}
    assert all("too few for 6 independent coordinates" in reason for reason in data["not_counted"].values())
    moved = run(capsys, "cost", "demo_arm", "--quantity", "all", "--coordinates", "position", "--json").json
    assert set(moved["compiled"]) == set(ALL_QUANTITIES)
    assert "cartesian_linearization: 'cart_pole' has 2" in run(capsys, "cost", "cart_pole", "--quantity", "all").out
    assert run(capsys, "cost", "cart_pole", "--quantity", "cartesian_dynamics").code != 0


def test_published_counts_are_not_set_beside_other_mechanisms(capsys, monkeypatch):
    monkeypatch.setattr("dalembert.costs.tables.cost_tables", lambda n: f"the tables for {n} joints")
    for name in ("free_body", "stacker", "rpr"):
        outcome = run(capsys, "cost", name, "--tables")
        assert "this robot" not in outcome.out and f"which {name} is not" in outcome.out
        assert "the tables for 6 joints" in outcome.out
        assert run(capsys, "cost", name, "--tables", "--json").json["published"] == {}
    assert "this robot with its right angles" in run(capsys, "cost", "puma560", "--tables").out


def test_plain_arms_are_told_from_others():
    arm, branched = generic_arm(3), random_mechanism(2, 4, kinds=["revolute"], branching=1.0)
    assert cost.is_plain_arm(arm) and cost.is_plain_arm(da.load("puma560"))
    assert not cost.is_plain_arm(branched) and not cost.is_plain_arm(da.load("four_bar"))


def test_symbols_may_stay_inputs(capsys):
    kept = run(capsys, "cost", "double_pendulum", "--keep-symbols", "--json").json["compiled"]
    folded = run(capsys, "cost", "double_pendulum", "--json").json["compiled"]
    assert all(kept[name]["operations"] >= folded[name]["operations"] for name in kept)


# --------------------------------------------------------------------------------------------------------------- verify


@pytest.mark.parametrize("name", ROBOTS)
def test_verify_finds_agreement(capsys, name):
    outcome = run(capsys, "verify", name, "--states", "2", "--json")
    assert outcome.code == 0
    data = outcome.json
    assert data["agrees"]
    routes = {(row["quantity"], row["who"]) for row in data["comparisons"]}
    assert {("inverse dynamics", who) for who in ("derived: kane", "tensor", agreement.KERNEL)} <= routes
    assert ("mass matrix", agreement.KERNEL) in routes
    assert ("forward dynamics", agreement.KERNEL) in routes


def test_derive_takes_the_way_of_closing_that_q_says(capsys, tmp_path):
    """Folded, the arms of a governor turn alone."""
    path = tmp_path / "governor.toml"
    da.write_toml(flyball_governor(), path)
    words = ("derive", str(path), "--method", "kane", "--json")
    folded = [word for given in ("left=0.5", "lower_left=pi", "right=0.3", "lower_right=pi") for word in ("--q", given)]
    assert len(run(capsys, *words).json["velocities"]) == 1
    assert len(run(capsys, *words, *folded).json["velocities"]) == 2
    document = tmp_path / "governor.md"
    assert run(capsys, *words[:-1], *folded, "--to", str(document)).code == 0
    text = document.read_text(encoding="utf-8")
    assert "as those around the reference do" in text and "do not hold; see" not in text
    assert "--method kane" in run(capsys, "derive", str(path), "--q", "left=0.5").err
    assert "--q: got shape (1,)" in run(capsys, *words, "--q", "0.5").err


@pytest.mark.parametrize("kept", ["drive", "knee", "pivot", "qdot2"])
def test_derive_keeps_the_velocity_that_is_named(capsys, tmp_path, kept):
    words = ("derive", "four_bar", "--method", "kane", "--independent", kept)
    told = da.derive(da.load("four_bar"), "kane", independent=[kept])
    assert run(capsys, *words, "--json").json["parts"]["kinematics"] == [[str(x)] for x in told.kinematics.sympy()]
    document = tmp_path / "four_bar.md"
    assert run(capsys, *words, "--to", str(document)).code == 0
    assert "chosen by the user" in document.read_text(encoding="utf-8")


def test_derive_says_which_velocities_can_be_kept(capsys):
    assert "--method kane" in run(capsys, "derive", "four_bar", "--independent", "pivot").err
    for names in (["--independent", "nobody"], ["--independent", "pivot", "--independent", "knee"]):
        outcome = run(capsys, "derive", "four_bar", "--method", "kane", *names)
        assert outcome.code == 2 and "velocit" in outcome.err


def test_verify_fails_where_constraints_cannot_be_assembled(capsys, tmp_path):
    text = da.write_toml(da.load("four_bar", parameters="default"))
    (tmp_path / "bad.toml").write_text(text.replace("0.9", "9.0"))
    outcome = run(capsys, "verify", str(tmp_path / "bad.toml"), "--states", "1")
    assert outcome.code == 1 and "cannot be assembled" in outcome.out and "1 of " in outcome.out
    started = run(capsys, "verify", str(tmp_path / "bad.toml"), "--states", "1", "--q=1,-0.5,1.7")
    assert started.code == 1 and "1 of " in started.out
    kane = run(capsys, "derive", str(tmp_path / "bad.toml"), "--method", "kane")
    assert "no positions were found" in kane.err and "give --q, positions near an assembly" in kane.err


def test_verify_asks_pinocchio_if_it_is_there(capsys):
    pytest.importorskip("pinocchio")
    for arguments in (["demo_arm"], ["demo_arm", "--base", "free"], ["puma560"], ["stacker"], ["free_body"]):
        data = run(capsys, "verify", *arguments, "--states", "2", "--quick", "--json").json
        assert data["left_out"] == []
        assert sum(row["who"] == "Pinocchio" for row in data["comparisons"]) == 3


def test_verify_compares_kernels_with_terms_of_the_joints(capsys, monkeypatch):
    """demo_arm has damping and friction; cart_pole has none. Kernels that forget them are found."""
    wanted = {(f"{name.replace('_', ' ')}, joint terms", agreement.KERNEL) for name in agreement.REFERENCES}
    for robot, expected in (("demo_arm", wanted), ("cart_pole", set())):
        data = run(capsys, "verify", robot, "--states", "2", "--quick", "--json").json
        assert data["agrees"]
        routes = {(row["quantity"], row["who"]) for row in data["comparisons"]}
        assert {route for route in routes if "joint terms" in route[0]} == expected
    full = da.Dynamics(da.load("demo_arm"), include=["armature", "damping", "friction"])
    monkeypatch.setattr(full, "kernel", da.Dynamics(da.load("demo_arm")).kernel)
    assert [found.worst < 1e-10 for found in compare(full, None)] == [False, True, False]  # it has no armature


def test_verify_tells_where_more_than_the_tolerance_is_allowed(capsys):
    """Constrained motion may differ by a thousand times more; what does so holds, but not without a word."""
    outcome = run(capsys, "verify", "four_bar", "--states", "1", "--tolerance", "1e-16")
    allowed = [line for line in outcome.out.splitlines() if "constrained motion" in line and "< 1e-13" in line]
    assert allowed
    assert "a thousand times" in " ".join(process("verify", "--help").stdout.split())


def test_verify_fails_when_an_algorithm_is_wrong(capsys, monkeypatch):
    from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS

    right = INVERSE_DYNAMICS["tensor"]
    monkeypatch.setitem(INVERSE_DYNAMICS, "tensor", lambda *state: right(*state) * (1 + 1e-6))
    outcome = run(capsys, "verify", "rrr", "--states", "2")
    assert outcome.code == 1
    assert "comparisons fail" in outcome.out
    assert run(capsys, "verify", "rrr", "--states", "2", "--tolerance", "1e-5").code == 0


@pytest.mark.parametrize("quantity", agreement.REFERENCES)
@pytest.mark.parametrize("factor", [1 + 1e-6, np.nan])
def test_wrong_kernels_are_found(monkeypatch, quantity, factor):
    dynamics = da.Dynamics(da.load("demo_arm"))
    (good,) = compare(dynamics, None, quantities=[quantity])
    assert good.worst < 1e-14
    right = dynamics.kernel(quantity)
    monkeypatch.setattr(dynamics, "kernel", lambda name: lambda *state: right(*state) * factor)
    (bad,) = compare(dynamics, None, quantities=[quantity])
    assert not bad.worst < 1e-8


def test_a_singular_inertia_matrix_is_no_disagreement(capsys, tmp_path):
    path = tmp_path / "massless.toml"
    path.write_text(
        'strict = false\n[[body]]\nname = "a"\nmass = 1\ninertia = [1, 1, 1]\n[[body]]\nname = "b"\n'
        '[[joint]]\nname = "i"\nkind = "revolute"\nparent = "world"\nchild = "a"\n'
        '[[joint]]\nname = "j"\nkind = "revolute"\nparent = "a"\nchild = "b"\naxis = "x"\n'
    )
    outcome = run(capsys, "verify", str(path), "--quick", "--json")
    assert outcome.code == 0
    assert any("singular" in reason for reason in outcome.json["left_out"])


def test_a_missing_pinocchio_is_a_remark(capsys, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pinocchio", None)
    outcome = run(capsys, "verify", "rrr", "--states", "1", "--quick")
    assert outcome.code == 0
    assert "pip install" in outcome.out
    arm = da.load("rrr")
    assert find_peer(arm, None, None)[0] is None


def test_symbols_without_values_are_asked_for(capsys, tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(
        '[[body]]\nname = "bob"\nmass = "m"\ncenter = [0, 0, -1]\ninertia = [1, 1, 1]\n'
        '[[joint]]\nname = "hinge"\nkind = "revolute"\nparent = "world"\nchild = "bob"\naxis = "y"\n'
    )
    outcome = run(capsys, "verify", str(path))
    assert outcome.code == 2
    assert "--set m=1" in outcome.err
    assert run(capsys, "verify", str(path), "--set", "m=2", "--states", "1").code == 0


# --------------------------------------------------------------------------------------------------------------- export


def test_export_prints_or_writes(capsys, tmp_path):
    printed = run(capsys, "export", "demo_arm", "gravity")
    assert printed.code == 0
    assert "void gravity(" in printed.out
    written = run(capsys, "export", "demo_arm", "gravity", "--to", str(tmp_path), "--name", "arm_gravity")
    assert written.code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"arm_gravity.c", "arm_gravity.h"}


def test_export_of_a_frame_and_of_parameters(capsys):
    assert "jacobian" in run(capsys, "export", "demo_arm", "jacobian", "--frame", "flange", "--language", "python").out
    outcome = run(capsys, "export", "double_pendulum", "mass_matrix", "--language", "latex")
    assert "\\begin{align*}" in outcome.out and "m_{2}" in outcome.out and not outcome.err
    assert "g, l1, l2, m1, m2" in run(capsys, "export", "double_pendulum", "mass_matrix").err
    numeric = run(capsys, "export", "double_pendulum", "mass_matrix", "--numeric", "--single")
    assert "parameters" not in numeric.out
    assert "float" in numeric.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("gravity --parameter flange.inertia.yy", "flange.inertia.yy does not matter for gravity"),
        ("bias --parameter lift.damping", "without --include damping it enters nothing"),
        ("bias --parameter lift.damping --include damping --parameter flange.mass", ""),
    ],
)
def test_an_input_that_changes_nothing_is_told(capsys, words, told):
    outcome = run(capsys, "export", "demo_arm", *words.split())
    assert outcome.code == 0 and told in outcome.err and ("does not matter" in outcome.err) == bool(told)


@pytest.mark.parametrize("language", LANGUAGES)
def test_export_of_what_stays_an_input_is_that_of_the_library(capsys, language):
    named = ["--parameter", "flange.mass", "--parameter", "forearm.com.x", "--wrench", "flange", "--include", "damping"]
    outcome = run(capsys, "export", "demo_arm", "bias", "--language", language, *named, "--name", "mine")
    dynamics = da.Dynamics(
        da.load("demo_arm"), parameters=["flange.mass", "forearm.com.x"], wrenches=["flange"], include=["damping"]
    )
    assert outcome.out.rstrip() == dynamics.export("bias", language, name="mine").rstrip()
    assert ("flange.mass, forearm.com.x, in this order" in outcome.err) == (language != "latex")


def test_export_as_a_functional_mock_up_unit(capsys, tmp_path):
    path = tmp_path / "bar.fmu"
    words = ["export", "four_bar", "--fmu", "3", "--q", "1,-0.7,1.6", "--output", "energy", "--no-binary"]
    outcome = run(capsys, *words, "--to", str(path))
    assert outcome.code == 0
    assert "FMI 3 written" in outcome.out
    assert path.stat().st_size < 200_000
    assert run(capsys, *words, "--to", f"{tmp_path}/").code == 0
    assert (tmp_path / "four_bar.fmu").read_bytes() == path.read_bytes()
    assert "--fmu" in run(capsys, "export", "four_bar", "mass_matrix", "--output", "energy").err
    assert "QUANTITY" in run(capsys, *words[:2], "energy", *words[2:]).err
    assert "--fmu" in run(capsys, "export", "four_bar").err


def test_export_under_constraints_is_that_of_the_library(capsys):
    outcome = run(capsys, "export", "four_bar", "forward_dynamics", "--language", "python")
    system = da.Dynamics(da.load("four_bar", parameters="default"), elements="all")
    assert outcome.code == 0 and not outcome.err
    assert _code(outcome.out) == _code(system.export("forward_dynamics", "python"))
    single = run(capsys, "export", "four_bar", "multipliers", "--single")
    assert "float" in single.out and "double" not in single.out


def test_export_under_constraints_that_do_not_close_from_neutral(capsys, tmp_path):
    path = tmp_path / "bead.toml"
    bead = distant_wire(path)
    words = ["export", str(path), "forward_dynamics", "--language", "python"]
    assert "--q" in run(capsys, *words).err
    for elements, chosen in ((["--elements", "none"], ()), ([], "all")):
        system = da.Dynamics(bead, elements=chosen, reference=[8, 0])
        assert _code(run(capsys, *words, "--q", "x=8", *elements).out) == _code(
            system.export("forward_dynamics", "python")
        )


def _code(text: str) -> str:
    """Without the comment on the first lines, which tells of what the code is."""
    return text[text.index("import") :].rstrip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["demo_arm", "bias", "--constraints", "all"], "leave out --constraints"),
        (["four_bar", "positions", "--wrench", "coupler"], "--wrench does not matter for positions"),
        (["demo_arm", "bias", "--q", "lift=1"], "--q says where loops close"),
        (["four_bar", "bias", "--elements", "all"], "leave out --elements"),
        (["demo_arm", "mass_matrix", "--wrench", "flange"], "--wrench does not matter for mass_matrix"),
        (["demo_arm", "bias", "--parameter", "flange.mas"], "did you mean 'flange.mass'"),
    ],
)
def test_export_refuses_options_that_do_not_matter(capsys, words, said):
    outcome = run(capsys, "export", *words)
    assert outcome.code == 2
    assert said in outcome.err


@pytest.mark.parametrize("language", LANGUAGES)
def test_single_precision_changes_the_source_or_is_refused(capsys, language):
    double, single = (
        run(capsys, "export", "demo_arm", "gravity", "--language", language, *x) for x in ([], ["--single"])
    )
    assert double.code == 0
    assert single.out != double.out if single.code == 0 else "--single" in single.err


def test_export_does_not_overwrite_the_users_model(capsys, tmp_path):
    model = tmp_path / "arm.urdf"
    model.write_text(da.write_urdf(da.load("demo_arm")))
    before = model.read_text()
    outcome = run(capsys, "export", str(model), "gravity", "--language", "c", "--to", str(model))
    assert outcome.code == 2
    assert "was not generated by dalembert" in outcome.err
    assert model.read_text() == before


# ---------------------------------------------------------------------------------------------------------------- bench


def test_bench_times_what_it_has_checked(capsys):
    outcome = run(capsys, "bench", "demo_arm", "--seconds", "0.01", "--batch", "500", "--json")
    assert outcome.code == 0
    for row in outcome.json["seconds_per_state"]:
        assert 0 < row["batch"] < row["single"] < 1
        assert row["difference"] < 1e-12


def test_bench_of_a_single_joint_survives_its_peer(tmp_path):
    joint = da.Joint("pivot", "revolute", "world", "bob", axis=[0, 1, 0])
    bob = da.Body("bob", da.Inertia.sphere(1.0, 0.1))
    da.write_urdf(da.Mechanism("one", (bob,), (joint,)), tmp_path / "one.urdf")
    outcome = process("bench", str(tmp_path / "one.urdf"), "--seconds", "0.01", "--batch", "1000", "--json")
    assert outcome.returncode == 0, outcome.stderr  # memory that a peer overwrote ends the process
    assert len(json.loads(outcome.stdout)["seconds_per_state"]) == 3


def test_bench_of_any_quantity(capsys):
    arguments = ["--quantity", "linearize", "--quantity", "pose", "--quantity", "kinetic_energy", "--threads", "1"]
    outcome = run(capsys, "bench", "rrr", "--seconds", "0.01", "--batch", "100", *arguments)
    assert outcome.code == 0
    assert all(name in outcome.out for name in ("linearize", "pose", "kinetic_energy"))
    assert "threads" not in outcome.out


def test_bench_keeps_no_time_of_wrong_answers(capsys, monkeypatch):
    monkeypatch.setattr(bench, "check", lambda *arguments: 1e-3)
    outcome = run(capsys, "bench", "rrr", "--seconds", "0.01", "--quantity", "gravity")
    assert outcome.code == 1
    assert "no time is kept" in outcome.out


# ------------------------------------------------------------------------------------------------ robots, doctor, demo


def test_robots_are_those_that_load(capsys):
    data = run(capsys, "robots", "--json").json
    assert sorted(name for names in data.values() for name in names) == sorted(da.robots())
    assert "demo_arm" in data["dalembert"]
    names = run(capsys, "robots", "--names", "PENDULUM").out.split()
    assert "double_pendulum" in names
    assert all("pendulum" in name for name in names)
    assert "no robot" in run(capsys, "robots", "zzzz").out


def test_doctor_finds_this_installation_sound(capsys):
    outcome = run(capsys, "doctor", "--json")
    assert outcome.code == 0
    data = outcome.json
    assert data["sound"]
    assert data["compiler"]["works"]
    assert data["versions"]["numpy"] == np.__version__
    assert "All is well" in run(capsys, "doctor").out


def test_doctor_tells_that_kernels_cannot_be_kept(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "file" / "cache"))
    outcome = process("doctor")
    assert outcome.returncode == 0
    assert "All is well" not in outcome.stdout and "cannot be kept" in outcome.stdout


def test_doctor_says_how_to_get_what_is_missing(capsys, monkeypatch):
    from dalembert.cli import doctor

    monkeypatch.setattr(doctor, "_version", lambda name: None if name in ("mujoco", "scipy") else "1.0")
    outcome = run(capsys, "doctor")
    assert outcome.code == 1  # scipy is required
    assert "pip install 'dalembert[mjcf]'" in outcome.out


def test_doctor_tells_that_nothing_can_be_kept(tmp_path):
    (tmp_path / "file").write_text("")
    outcome = process("doctor", environment={"DALEMBERT_CACHE": str(tmp_path / "file" / "cache")})
    assert outcome.returncode == 0, outcome.stderr  # all works, only slower
    assert "compiled anew in every process" in outcome.stdout


def test_doctor_without_a_cache(tmp_path):
    for setting, words in ((str(tmp_path / "here"), "here"), ("off", "compiled anew")):
        outcome = process("doctor", "--json", environment={"DALEMBERT_CACHE": setting})
        assert outcome.returncode == 0
        assert words in json.loads(outcome.stdout)["cache"]["folder"]


def test_demo_does_the_main_job(capsys, tmp_path):
    page = tmp_path / "folder" / "demo.html"
    outcome = run(capsys, "demo", "--to", str(page))
    text = page.read_text(encoding="utf-8")
    assert "<canvas" in text and "<math" in text and str(page) in outcome.out.replace("\n", "")
    assert outcome.code == 0
    for words in ("demo_arm: 7 bodies", "tau (Nm)", "newton-euler", "compiled kernel", "mult", "dalembert export"):
        assert words in outcome.out


def test_a_page_that_cannot_be_written_is_told_before_the_demo(capsys, tmp_path):
    (tmp_path / "file").touch()
    for wrong in ("arm.pdf", str(tmp_path / "file" / "arm.html"), str(tmp_path / "file" / "b" / "arm.html")):
        outcome = run(capsys, "demo", "--to", wrong)
        assert outcome.code == 2 and outcome.out == "" and "--to" in outcome.err


# ---------------------------------------------------------------------------------------------------- files of exports


def test_the_suffix_of_a_file_says_which_language_is_meant(capsys, tmp_path):
    for suffix, words in ((".py", "def bias"), (".c", "void bias"), (".tex", "align"), (".mjs", "export function")):
        assert run(capsys, "export", "rp_arm", "bias", "--numeric", "--to", str(tmp_path / f"bias{suffix}")).code == 0
        assert words in (tmp_path / f"bias{suffix}").read_text()
    outcome = run(capsys, "export", "rp_arm", "bias", "--language", "c", "--to", str(tmp_path / "other.py"))
    assert outcome.code == 2 and "end it in .c" in outcome.err
    assert not (tmp_path / "other.py").exists()


def test_a_suffix_of_no_language_needs_one_by_name(capsys, tmp_path):
    for name in ("bias.xyz", "bias"):
        outcome = run(capsys, "export", "rp_arm", "bias", "--to", str(tmp_path / name))
        assert outcome.code == 2 and "names no language; end it in .c, .cu" in outcome.err
    assert not list(tmp_path.iterdir())
    for chosen in (["--language", "c", "--to", str(tmp_path / "bias.inc")], ["--to", f"{tmp_path}/made/"]):
        assert run(capsys, "export", "rp_arm", "bias", *chosen).code == 0
    assert {path.name for path in tmp_path.rglob("*.*")} == {"bias.inc", "bias.h", "bias.c"}


@pytest.mark.parametrize(
    ("name", "language"),
    [("for", "c"), ("lambda", "python"), ("function", "javascript"), ("sin", "cuda"), ("été", "c")],
)
def test_names_that_a_language_cannot_have_are_refused(capsys, name, language):
    outcome = run(capsys, "export", "rp_arm", "bias", "--language", language, "--name", name)
    assert outcome.code == 2 and f"--name {name}" in outcome.err


@pytest.mark.parametrize("name", ["bias_", "_bias", "b" * 61])
def test_names_that_would_be_cut_are_refused_by_a_rule_that_they_break(capsys, name):
    outcome = run(capsys, "export", "rp_arm", "bias", "--name", name)
    assert outcome.code == 2 and "digits and between them _, at most 60" in outcome.err


def test_a_misspelt_language_is_answered_with_the_one_that_may_be_meant(capsys):
    assert "did you mean 'python'?" in run(capsys, "export", "rp_arm", "bias", "--language", "pyton").err


# ------------------------------------------------------------------------------------------------------- completion


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dalembert ver", "verify"),
        ("dalembert hel", "help"),
        ("dalembert cost x --algo", "--algorithms"),
        ("dalembert cost x --quantity mass", "mass_matrix"),
        ("dalembert bench x --quantity jac", "jacobian"),
        ("dalembert export x forward", "forward_dynamics"),
        ("dalembert export x bias --language py", "python"),
        ("dalembert derive x --method ka", "kane"),
        ("dalembert derive x --include da", "damping"),
        ("dalembert simulate x --method vari", "variational"),
        ("dalembert simulate x --control gra", "gravity"),
        ("dalembert compare x --with pin", "pinocchio"),
        ("dalembert completion z", "zsh"),
        ("dalembert help sim", "simulate"),
    ],
)
def test_completion_completes(capsys, line, expected):
    script = run(capsys, "completion", "bash").out
    words = line.split()
    driver = f'{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _dalembert; echo "${{COMPREPLY[@]}}"'
    outcome = subprocess.run(["bash", "-c", driver], text=True, capture_output=True, timeout=60)
    assert outcome.stderr == ""
    assert expected in outcome.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(("line", "expected"), [
    ("dalembert sho", ["show"]), ("dalembert view sho", ["show me.urdf"]),
    ("dalembert cost x --plot sho", ["show me.urdf"]),
    ("dalembert export x bias --language sho", [""]), ("dalembert help sho", ["show"]),
])  # fmt: skip
def test_files_complete_whole_and_only_where_they_may_stand(capsys, tmp_path, line, expected):
    (tmp_path / "show me.urdf").touch()
    script = run(capsys, "completion", "bash").out
    driver = f'COMP_WORDS=({line}); COMP_CWORD={len(line.split()) - 1}; _dalembert; printf "%s\\n" "${{COMPREPLY[@]}}"'
    command = ["bash", "-c", f"dalembert() {{ :; }}\n{script}\n{driver}"]
    outcome = subprocess.run(command, text=True, capture_output=True, timeout=60, cwd=tmp_path)
    assert outcome.stderr == "" and outcome.stdout.splitlines() == expected


@pytest.mark.parametrize(
    "line",
    [
        "derive cart_pole --steps --latex", "derive cart_pole --latex --to x.tex", "cost cart_pole --all",
        "show cart_pole --tree --frames", "show cart_pole --set m=1 --set m=2", "view demo_arm --at lift=1 --at lift=2",
        "simulate cart_pole --q hinge=1 --q hinge=2", "linearize cart_pole --v hinge=1 --v hinge=2",
    ],
)  # fmt: skip
def test_no_option_is_ignored(capsys, line):
    outcome = run(capsys, *line.split())
    assert outcome.code == 2 and outcome.out == "" and "--" in outcome.err


def test_steps_are_in_the_json_too(capsys):
    steps = run(capsys, "derive", "cart_pole", "--method", "kane", "--steps", "--json").json["steps"]
    assert [text.partition("\n")[0] for text in steps] == [
        str(step).partition("\n")[0] for step in da.derive(da.load("cart_pole"), method="kane").steps()
    ]


def test_what_pinocchio_cannot_be_given_is_told_without_advice_on_writing():
    pytest.importorskip("pinocchio")
    ball = da.Mechanism(
        "m", (da.Body("bob", da.Inertia.sphere(1.0, 0.1)),), (da.Joint("ball", "spherical", "world", "bob"),)
    )
    for mechanism in (ball, da.load("four_bar", parameters="default")):
        peer, why = find_peer(mechanism, None, None)
        assert peer is None and "URDF" in why and "write" not in why


@pytest.mark.parametrize(("text", "size"), [("16000", 16000), ("16k", 16000), ("2.5k", 2500), ("0.5kB", 500)])
def test_sizes_of_code_are_read_as_they_are_typed(text, size):
    assert _bytes(text) == size


@pytest.mark.parametrize("text", ["2.5", "k", "-1k", "1e3", "2.0005k", "1.2.3k"])
def test_what_is_no_number_of_bytes_is_refused(text):
    with pytest.raises(ArgumentError, match=r"such as 16000, 16k or 2\.5k"):
        _bytes(text)

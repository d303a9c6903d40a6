"""The page as text: it needs nothing, obeys no name, carries the right numbers; bad input gives clear errors."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import warnings
import webbrowser
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
import viewer_cases as cases

import dalembert as da
from dalembert.cli import main
from dalembert.errors import (
    ArgumentError,
    DalembertError,
    FormatError,
    MissingExtraError,
    ModelError,
    ModelWarning,
    UnsupportedError,
)
from dalembert.kinematics.manifold import quaternion_places
from dalembert.viewer import view
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.motion import as_trajectory, motion
from dalembert.viewer.page import as_json
from dalembert.viewer.scene import bones, scene

START: dict[str, tuple] = {
    "double_pendulum": ([1.0, 0.5], None),
    "free_body": (None, [0.5, 1.0, 6.0, 0.1, 0.2, 3.0]),
    "four_bar": ([1.0, 0.5, 0.5], None),
}
"""Positions, loops open, and velocities to begin with."""


@pytest.fixture(scope="module")
def pendulum():
    return da.load("double_pendulum", parameters="default")


@pytest.fixture(scope="module")
def swing(pendulum):
    return da.simulate(pendulum, [1.0, 0.5], t=2.0, control=lambda t, q, v: -0.3 * v)


@pytest.fixture(scope="module")
def written(pendulum, swing, tmp_path_factory):
    return view(pendulum, swing, to=tmp_path_factory.mktemp("pages") / "swing.html")


class Reader(HTMLParser):
    """Tags with their attributes, and the texts of scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts[-1] += data


def test_the_page_refers_to_nothing_and_runs_only_what_it_names(written):
    read = Reader(written.read_text(encoding="utf-8"))
    for _, attributes in read.tags:
        assert not {"src", "href", "data", "action", "srcdoc"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    (policy,) = [a["content"] for tag, a in read.tags if a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe-eval" not in policy
    plain = [tag for tag, a in read.tags if tag == "script" and "type" not in a]
    scripts = [s for (tag, a), s in zip([t for t in read.tags if t[0] == "script"], read.scripts) if "type" not in a]
    assert len(plain) == len(scripts) == 2
    for text in scripts:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy
    assert "The MIT License" in scripts[0]


def test_hostile_names_are_data_and_nothing_else(tmp_path):
    with pytest.warns(ModelWarning, match="is not drawn"):
        text = view(cases.hostile(), to=tmp_path / "x.html").read_text(encoding="utf-8")
    read = Reader(text)
    assert sum(tag == "script" for tag, _ in read.tags) == 4
    assert {tag for tag, _ in read.tags} & {"img", "svg"} <= {"svg"}
    assert all("onload" not in attributes and "onerror" not in attributes for _, attributes in read.tags)
    assert "owned" not in "".join(s for (t, a), s in zip([t for t in read.tags if t[0] == "script"], read.scripts)
                                  if "type" not in a)  # fmt: skip
    shown = cases.data_of(text)["scene"]
    assert shown["name"] == cases.NASTY[0] and shown["bodies"][0]["name"] == cases.NASTY[1]
    assert shown["coordinates"][0]["name"] == cases.NASTY[4]


def test_json_cannot_end_its_element():
    text = as_json({"</script>": "<!-- & -->\u2028"})
    assert not set("<>&\u2028") & set(text)


def test_samples_in_the_page_are_those_of_the_trajectory(written, swing):
    text = written.read_text(encoding="utf-8")
    table, block = cases.data_of(text)["motion"], cases.block_of(text)

    def column(name):
        at, size = table["places"][name]
        return np.frombuffer(block, "<f4", size, table["base"] + at).astype(float)

    t = column("t")
    assert len(t) == table["count"] == max(121, 4 * len(swing.t))  # sixty pictures a second, or four a step
    exact = swing(np.clip(t, 0, 2))
    np.testing.assert_allclose(column("q").reshape(-1, 2), exact.q, atol=1e-5)  # single precision
    energy = column("kinetic") + column("potential")
    np.testing.assert_allclose(energy[[0, -1]], swing.energy[[0, -1]], rtol=1e-5)
    assert (np.diff(energy) < 1e-5).all()  # the brake takes energy away
    np.testing.assert_allclose(column("tau").reshape(-1, 2)[-1], swing.tau[-1], atol=1e-5)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet"])
def test_a_motion_from_a_file_is_the_same_motion(suffix, pendulum, swing, tmp_path):
    if suffix == "parquet":
        pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    file = tmp_path / f"m.{suffix}"
    getattr(swing, f"to_{suffix}")(file)
    back = as_trajectory(file, pendulum)
    np.testing.assert_allclose(back.q, swing.q, atol=1e-12)
    np.testing.assert_allclose(back.tau, swing.tau, atol=1e-12)
    np.testing.assert_allclose(back(1.234).q, swing(1.234).q, atol=1e-4)  # cubics between steps
    data = cases.data_of(view(pendulum, file, to=tmp_path / "x.html").read_text(encoding="utf-8"))
    assert {"t", "q", "tau", "kinetic", "potential"} <= set(data["motion"]["places"])


@pytest.mark.parametrize(
    ("name", "flips"), [("double_pendulum", False), ("free_body", False), ("free_body", True), ("four_bar", False)]
)
def test_a_table_is_interpolated_as_an_archive_is(name, flips, tmp_path):
    """Few samples: the table gives the archive's positions and, as slopes, velocities of third order. The signs of its
    quaternions mean nothing."""
    mechanism = da.load(name, parameters="default")
    q, v = START[name]
    q = da.Dynamics(mechanism).assemble(q) if mechanism.constraints else q
    full = da.simulate(mechanism, q, v, t=1.0)
    errors = []
    for count in (21, 41):
        few = da.simulate(mechanism, q, v, t=np.linspace(0, 1, count))
        few.to_npz(tmp_path / "m.npz")
        if flips:
            for k in quaternion_places(mechanism.tree):
                few.q[count // 3 :: 2, k : k + 4] *= -1
        few.to_csv(tmp_path / "m.csv")
        table, archive = (as_trajectory(tmp_path / f"m.{suffix}", mechanism) for suffix in ("csv", "npz"))
        t = np.linspace(0, 1, 101)
        np.testing.assert_allclose(table(t).q, archive(t).q, atol=1e-12)
        errors.append(np.abs(table(t).v - full(t).v).max())
    assert errors[1] < max(errors[0] / 5, 1e-9)  # an eighth, if the samples were fine enough


def test_a_fall_is_a_parabola_between_few_samples_of_a_table_and_straight_without_velocities(tmp_path):
    body = da.Body("b", da.Inertia(2.0, [0, 0, 0], np.zeros((3, 3))))
    stone = da.Mechanism("stone", (body,), (da.Joint("up", "prismatic", "world", "b", axis=[0, 0, 1]),))
    t = np.array([0, 0.1, 0.5])
    rows = np.stack([t, -9.81 * t**2 / 2, -9.81 * t], axis=1)

    def shown(columns):
        titles = ["t", "q.up", "v.up"][:columns]
        lines = [",".join(titles), *(",".join(map(repr, row[:columns].tolist())) for row in rows)]
        (tmp_path / "m.csv").write_text("\n".join(lines))
        text = view(stone, tmp_path / "m.csv", to=tmp_path / "x.html").read_text(encoding="utf-8")
        data, block = cases.data_of(text), cases.block_of(text)
        places, base = data["motion"]["places"], data["motion"]["base"]
        return data["notes"], {k: np.frombuffer(block, "<f4", size, base + at) for k, (at, size) in places.items()}

    notes, found = shown(3)
    assert notes == [] and len(found["t"]) == 31
    np.testing.assert_allclose(found["q"], -9.81 * found["t"] ** 2 / 2, atol=1e-6)  # single precision
    np.testing.assert_allclose(found["kinetic"], (9.81 * found["t"]) ** 2, atol=1e-5)
    notes, found = shown(2)
    assert "straight lines" in notes[0] and len(found["t"]) == 3 and "kinetic" not in found


def test_a_table_of_a_mechanism_on_springs_plays_and_the_page_shows_their_forces(tmp_path):
    body = da.Body("b", da.Inertia(2.0, [0, 0, 0], np.zeros((3, 3))))
    joint = da.Joint("up", "prismatic", "world", "b", axis=[0, 0, 1])
    spring = da.Force("spring", "joint-spring", "up", stiffness=50)
    hung = da.Mechanism("hung", (body,), (joint,), forces=(spring,))
    found = da.simulate(hung, [0.1], [0.0], 1.0, elements="all")
    found.to_csv(tmp_path / "m.csv")
    np.testing.assert_allclose(as_trajectory(tmp_path / "m.csv", hung).potential_energy, found.potential_energy)
    page = view(hung, tmp_path / "m.csv", to=tmp_path / "page.html").read_text(encoding="utf-8")
    assert "passive forces" in page and "Left out of these equations" not in page


def test_plain_positions_can_be_played_but_have_no_energy(pendulum, tmp_path):
    t = np.linspace(0, 1, 11)
    data = cases.data_of(view(pendulum, (t, np.zeros((11, 2))), to=tmp_path / "x.html").read_text(encoding="utf-8"))
    assert set(data["motion"]["places"]) == {"t", "q"}


def test_a_table_tells_which_velocities_and_forces_it_lacks(pendulum, tmp_path):
    table, page = tmp_path / "m.csv", tmp_path / "x.html"
    table.write_text("t,q.shoulder,q.elbow,v.elbow,tau.shoulder\n0,0,0,1,2\n1,0,1,1,2\n")
    data = cases.data_of(view(pendulum, table, to=page).read_text(encoding="utf-8"))
    velocities, forces = data["notes"]
    assert "velocities (shoulder missing)" in velocities and "straight lines" in velocities
    assert "forces (elbow missing)" in forces
    assert set(data["motion"]["places"]) == {"t", "q"}  # nothing is computed or plotted from half of them


def test_a_trajectory_brings_its_mechanism(swing, tmp_path):
    data = cases.data_of(view(swing, to=tmp_path / "x.html").read_text(encoding="utf-8"))
    assert data["scene"]["name"] == "double_pendulum" and "motion" in data


def test_symbols_get_the_values_of_the_motion(tmp_path):
    symbolic = da.load("double_pendulum")
    values = {"m1": 1, "m2": 1, "l1": 0.25, "l2": 0.125, "g": 9.81}
    moved = da.simulate(symbolic, [0.3, 0.1], t=0.5, parameters=values)
    data = cases.data_of(view(symbolic, moved, to=tmp_path / "x.html").read_text(encoding="utf-8"))
    assert abs(data["scene"]["size"] - 0.375) < 1e-6 and data["notes"] == []
    data = cases.data_of(view(symbolic, to=tmp_path / "x.html").read_text(encoding="utf-8"))
    assert "no values were given" in data["notes"][0]
    text = view("double_pendulum", to=tmp_path / "x.html").read_text(encoding="utf-8")
    assert abs(cases.data_of(text)["scene"]["size"] - 1.8) < 1e-6 and "<msub>" in text  # the file gives values


def test_equations_under_constraints_are_complete(tmp_path):
    """Also what moves joints: the drive of a pendulum's pivot acts through the bias of the constraints alone."""
    pendulum = da.load("double_pendulum")
    drive = da.model.Constraint("drive", "motion", pendulum.joints[0].name, coefficients=(0, 0, 357))
    driven = pendulum.replace(constraints=(drive,))
    page, free = (view(m, to=tmp_path / "page.html").read_text(encoding="utf-8") for m in (driven, pendulum))
    assert "<mn>714</mn>" in page and "bias of the constraints" in page
    assert "<mn>714</mn>" not in free and "bias of the constraints" not in free


def test_equations_are_mathematics_for_small_mechanisms_and_counts_for_large_ones(tmp_path):
    small = view("cart_pole", to=tmp_path / "a.html").read_text(encoding="utf-8")
    assert small.count("<math") >= 4
    large = view("demo_arm", to=tmp_path / "b.html").read_text(encoding="utf-8")
    count = da.Dynamics(da.load("demo_arm")).cost("inverse_dynamics").multiplications
    assert f"<td>{count}</td>" in large
    bare = [replace(joint, damping=0, friction=0, armature=0) for joint in da.load("demo_arm").joints]
    told = []
    for damping, forces in ((0, ()), (0.5, (da.Force("spring", "joint-spring", bare[-1].name, stiffness=50),))):
        joints = (*bare[:-1], replace(bare[-1], damping=damping))
        arm = da.load("demo_arm").replace(joints=joints, forces=forces)
        told += re.findall("Left out of these equations.*", view(arm, to=tmp_path / "b.html").read_text("utf-8"))
    assert len(told) == 1 and "spring" not in told[0] and f"damping of {bare[-1].name}" in told[0]
    assert view("cart_pole", to=tmp_path / "c.html", equations=False).read_text(encoding="utf-8").count("<math") == 0
    symbolic = da.derive(da.load("cart_pole"), method="kane")
    numeric = da.load("cart_pole", parameters="default")
    assert "<math" in view(numeric, to=tmp_path / "d.html", equations=symbolic).read_text(encoding="utf-8")


def test_without_the_converter_the_panel_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "latex2mathml", None)
    monkeypatch.setitem(sys.modules, "latex2mathml.converter", None)
    odd = da.load("cart_pole", parameters={"M": 1.25, "m": 0.375, "l": 0.625, "I": 0.03125, "g": 9.81})
    text = view(odd, to=tmp_path / "x.html").read_text(encoding="utf-8")
    assert "pip install &#x27;dalembert[viewer]&#x27;" in text


def test_ellipsoids_have_the_inertia_of_their_bodies():
    rng = np.random.default_rng(1)
    box = da.Inertia.box(3.0, [0.4, 0.2, 0.6], center=rng.normal(size=3))
    m = da.Mechanism("m", (da.Body("b", box),), (da.Joint("j", "free", "world", "b"),))
    shown = scene(m, m.neutral, Meshes())["bodies"][0]
    a = np.array(shown["ellipsoid"]["axes"])
    R = np.array(shown["ellipsoid"]["at"][:9]).reshape(3, 3)
    tensor = R @ np.diag(3.0 / 5 * (np.sum(a**2) - a**2)) @ R.T  # of a homogeneous ellipsoid
    np.testing.assert_allclose(tensor, box.tensor, atol=1e-7)
    np.testing.assert_allclose(shown["ellipsoid"]["at"][9:], box.center, atol=1e-7)


def test_sliders_keep_to_limits_and_leave_mimic_joints_out():
    arm = da.load("demo_arm")
    shown = scene(arm, arm.neutral, Meshes())["coordinates"]
    assert [(c["low"], c["high"]) for c in shown] == [(j.limits.lower, j.limits.upper) for j in arm.joints if j.nq]
    bodies = (da.Body("a", da.Inertia.sphere(1, 0.1)), da.Body("b", da.Inertia.sphere(1, 0.1)))
    joints = (
        da.Joint("lead", "revolute", "world", "a"),
        da.Joint("follow", "prismatic", "a", "b", mimic=da.Mimic("lead", 0.5)),
    )
    geared = da.Mechanism("geared", bodies, joints)
    shown = scene(geared, geared.neutral, Meshes())
    assert [c["name"] for c in shown["coordinates"]] == ["lead"] and len(shown["steps"]) == 1 and shown["links"] == 2


def test_the_start_is_closed_and_inside_the_limits(tmp_path):
    mechanism = da.load("four_bar", parameters="default")
    q = cases.data_of(view(mechanism, to=tmp_path / "x.html").read_text(encoding="utf-8"))["scene"]["q"]
    system = da.Dynamics(mechanism)
    assert np.abs(system.evaluate("positions", q, 0.0)[0]).max() < 1e-6
    given = view(mechanism, q={"drive": 1.0}, to=tmp_path / "y.html").read_text(encoding="utf-8")
    q = cases.data_of(given)["scene"]["q"]
    assert abs(q[0] - 1.0) < 1e-9 and np.abs(system.evaluate("positions", q, 0.0)[0]).max() < 1e-6


def test_forces_do_not_keep_loops_open(tmp_path):
    spring = da.Force("spring", "joint-spring", "drive", stiffness=2.0)
    mechanism = da.load("four_bar", parameters="default").replace(forces=[spring])
    q = cases.data_of(view(mechanism, to=tmp_path / "x.html").read_text(encoding="utf-8"))["scene"]["q"]
    assert np.abs(da.Dynamics(mechanism, elements=()).evaluate("positions", q, 0.0)[0]).max() < 1e-6


def test_a_floating_base_starts_at_home(tmp_path):
    page = view("free_body", to=tmp_path / "body.html", equations=False).read_text(encoding="utf-8")
    np.testing.assert_allclose(cases.data_of(page)["scene"]["q"], [0, 0, 0, 0, 0, 0, 1], atol=1e-12)


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("trajectory", "why"),
    [
        ((np.zeros(3), np.zeros((3, 3))), r"\(T, 2\)"),
        ((np.zeros(0), np.zeros((0, 2))), "empty"),
        ((np.arange(3.0), np.full((3, 2), np.nan)), r"q\[0, 0\] is nan"),
        ((np.array([0.0, np.inf]), np.zeros((2, 2))), r"t\[1\] is inf"),
        ((np.array([1.0, 0.5]), np.zeros((2, 2))), "must not decrease"),
        (("zero", "one"), "array of numbers"),
        (3, "give a Trajectory"),
    ],
)
def test_a_motion_that_cannot_be_played_says_why(trajectory, why, pendulum, tmp_path):
    with pytest.raises(ArgumentError, match=why):
        view(pendulum, trajectory, to=tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()


def test_a_motion_of_another_mechanism_is_refused(swing, tmp_path):
    with pytest.raises(ArgumentError, match="double_pendulum"):
        view(da.load("cart_pole", parameters="default"), swing, to=tmp_path / "x.html")
    with pytest.raises(ArgumentError, match="trajectory already"):
        view(swing, swing)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "empty"),
        ("t,q.shoulder\n0,0\n", "q.elbow"),
        ("t;q.shoulder;q.elbow\n0;0;0\n", "commas between entries, not semicolons"),
        ("t,q.shoulder,q.elbow\n0,0\n", "entries"),
        ("t,q.shoulder,q.elbow\n0,0,zero\n", "numbers only"),
        ("t,q.shoulder,q.elbow,q.elbow\n0,0,1,2\n", "the title 'q.elbow'"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(content, why, pendulum, tmp_path):
    (tmp_path / "m.csv").write_text(content)
    with pytest.raises(FormatError, match=why):
        view(pendulum, tmp_path / "m.csv", to=tmp_path / "x.html")


def test_a_parquet_file_that_cannot_be_read_says_why(pendulum, swing, tmp_path, monkeypatch):
    file, page = tmp_path / "m.parquet", tmp_path / "x.html"
    file.write_bytes(b"PAR1")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'dalembert\[tables\]'"):
            view(pendulum, file, to=page)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    with pytest.raises(FormatError, match="no table in Parquet"):
        view(pendulum, file, to=page)
    for columns, why in (
        ({"t": [0.0]}, "q.shoulder"),
        ({"t": [0.0], "q.shoulder": ["x"], "q.elbow": [0.0]}, "numbers only"),
    ):
        parquet.write_table(pyarrow.table(columns), file)
        with pytest.raises(FormatError, match=why):
            view(pendulum, file, to=page)


def test_other_bad_input(pendulum, swing, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "m.npz").write_bytes(b"PK")
    for call, error, why in [
        (lambda: view(pendulum, to=tmp_path / "x.pdf"), ArgumentError, ".html"),
        (lambda: view(pendulum, to=tmp_path / "file" / "x.html"), ArgumentError, "cannot be written"),
        (lambda: view(pendulum, tmp_path / "m.npz", to=tmp_path / "x.html"), FormatError, "no trajectory"),
        (lambda: view(pendulum, tmp_path / "m.bag", to=tmp_path / "x.html"), FormatError, ".csv"),
        (lambda: view(pendulum, tmp_path / "none.csv", to=tmp_path / "x.html"), FormatError, "no such file"),
        (lambda: view(pendulum, q=[1.0], to=tmp_path / "x.html"), ArgumentError, "q has shape"),
        (lambda: view(pendulum, swing, q=[1.0, 1.0], to=tmp_path / "x.html"), ArgumentError, "does not move"),
        (lambda: view(3.0), ArgumentError, "Mechanism"),
        (lambda: view("no_such_robot"), DalembertError, "no_such_robot"),
        (
            lambda: view(da.load("double_pendulum"), (np.arange(2.0), np.zeros((2, 2))), to=tmp_path / "x.html"),
            ArgumentError,
            "which values",
        ),
    ]:
        with pytest.raises(error, match=re.escape(why)):
            call()
    endless = da.Shape("sphere", (np.inf,))
    odd = da.Mechanism("odd", (da.Body("a", shapes=(endless,)),), (da.Joint("j", "revolute", "world", "a"),))
    with pytest.raises(ModelError, match="finite"):
        view(odd, to=tmp_path / "x.html")


def test_without_a_browser_the_page_is_kept_and_named(pendulum, monkeypatch, tmp_path):
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    with pytest.raises(UnsupportedError, match=r"no browser was found; the page is .*double_pendulum\.html"):
        view(pendulum)
    asked = []
    monkeypatch.setattr(webbrowser, "open", lambda address: asked.append(address) or True)
    page = view(pendulum)
    assert asked == [page.as_uri()] and page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_page_is_replaced(pendulum, tmp_path):
    target = tmp_path / "new" / "x.html"
    view(pendulum, to=target)
    target.write_text("old")
    assert view(pendulum, to=target) == target and target.read_text(encoding="utf-8") != "old"


# -------------------------------------------------------------------------------------------------------- command line


def test_the_command_writes_a_page(tmp_path, capsys, swing):
    swing.to_npz(tmp_path / "m.npz")
    target = tmp_path / "x.html"
    assert main(["view", "double_pendulum", str(tmp_path / "m.npz"), "--to", str(target), "--json"]) == 0
    assert f'"bytes": {target.stat().st_size}' in capsys.readouterr().out
    text = target.read_text(encoding="utf-8")
    assert "motion" in cases.data_of(text) and "<msub>" in text  # equations with the symbols of the file
    assert main(["view", "demo_arm", "--at", "lift=0.5", "--to", str(target), "--no-equations"]) == 0
    assert 0.5 in cases.data_of(target.read_text(encoding="utf-8"))["scene"]["q"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["view"],
        ["view", "no_such_robot"],
        ["view", "demo_arm", "nothing.npz", "--to", "x.html"],
        ["view", "demo_arm", "--to", "x.pdf"],
        ["view", "demo_arm", "--at", "lift", "--to", "x.html"],
        ["view", "demo_arm", "--at", "lifts=1", "--to", "x.html"],
    ],
)
def test_the_command_refuses_nonsense(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert "Traceback" not in told and told.strip()
    assert list(tmp_path.iterdir()) == []


def test_no_warning_for_ordinary_robots(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("demo_arm", "free_body", "four_bar", "stacker"):
            view(name, to=tmp_path / "x.html")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.npz", b""), ("junk.npz", b"PK\x03\x04junk"), ("text.npz", b"t, q.a\n0, 1\n"),
        ("array.npz", b"\x93NUMPY\x01\x00"), ("binary.csv", b"\x00\x01\r\r\n\x7fELF" * 50),
    ],
)  # fmt: skip
def test_files_that_hold_no_motion_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=r"no trajectory written by to_npz|columns .* are not there") as refused:
        da.view(da.load("four_bar"), str(tmp_path / name), to=tmp_path / "page.html")
    assert "pickle" not in str(refused.value)


@pytest.mark.parametrize("about", ["", "[1]", "{}", '{"positions": ["shoulder", "elbow"]}'])
def test_archives_of_something_else_are_refused(tmp_path, pendulum, swing, about):
    arrays = {name: getattr(swing, name) for name in ("t", "q", "v", "tau", "wrenches")}
    np.savez(tmp_path / "m.npz", **arrays, about=np.array(about))
    with pytest.raises(FormatError, match="no trajectory written by to_npz"):
        view(pendulum, tmp_path / "m.npz", to=tmp_path / "x.html")


def test_joints_beyond_their_limits_are_shown_and_told(tmp_path):
    with pytest.warns(ModelWarning, match=r"turn at 515\.7 degrees, range -170\.2 to 170\.2"):
        view("demo_arm", to=tmp_path / "arm.html", q={"turn": 9.0}, equations=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        view("demo_arm", to=tmp_path / "arm.html", q={"turn": 2.9}, equations=False)


@pytest.mark.parametrize("name", ["rp_arm", "cart_pole", "double_pendulum", "four_bar", "stacker"])
def test_a_skeleton_reaches_the_mass_of_every_body_or_the_joints_beyond(name):
    mechanism = da.load(name, parameters="default")
    rods = [rod for rod in bones(mechanism)["rods"] if rod["kind"] == "link"]
    for body in mechanism.bodies:
        own = [rod for rod in rods if rod["a"]["link"] == mechanism.tree.carriers[body.name][0]]
        long = [rod for rod in own if not np.allclose(rod["a"]["at"], rod["b"]["at"])]
        assert long or np.allclose(body.inertia.center, 0)


def test_the_masses_of_a_long_chain_leave_its_rods_to_be_seen():
    size, links = 0.1, 60
    ball = da.Inertia.sphere(0.1, 0.01, center=[size / 2, 0, 0])
    bodies = tuple(da.Body(f"b{k}", ball) for k in range(links))
    at = [da.Transform.from_translation([size if k else 0.0, 0, 0]) for k in range(links)]
    joints = tuple(
        da.Joint(f"j{k}", "revolute", f"b{k - 1}" if k else "world", f"b{k}", at[k], axis=[0, 1, 0])
        for k in range(links)
    )
    found = bones(da.Mechanism("snake", bodies, joints))
    assert abs(found["length"] - size) < 1e-12  # of one link; the page draws masses with 0.7 of this diameter
    assert bones(da.Mechanism("nothing", (), ()))["length"] is None


def test_fast_vibrations_are_not_mistaken_for_slow_ones():
    """Ninety swings in a second, more than the sixty pictures of it: straight lines between samples stay near them."""
    rate = 2 * np.pi * 90
    body = da.Body("b", da.Inertia(1.0, [0, 0, -9.81 / rate**2], np.zeros((3, 3))))
    pendulum = da.Mechanism("fast", (body,), (da.Joint("hinge", "revolute", "world", "b", axis=[0, 1, 0]),))
    swing = da.simulate(pendulum, [0.1], t=1.0)
    table, block = motion(swing)
    samples = {name: np.frombuffer(block, "<f4", size, start) for name, (start, size) in table["places"].items()}
    t = np.linspace(0, 1, 5001)
    assert np.abs(np.interp(t, samples["t"], samples["q"]) - swing(t).q[:, 0]).max() < 0.02


def test_equations_bring_the_bodies_they_were_derived_from(tmp_path):
    pendulum = da.load("double_pendulum", parameters="default")
    by_kane = da.view(da.derive(pendulum, method="kane"), to=tmp_path / "kane.html", equations=False)
    assert by_kane.read_text() == da.view(pendulum, to=tmp_path / "plain.html", equations=False).read_text()
    import sympy

    q, v = sympy.symbols("q v")
    lonely = da.from_lagrangian(sympy.Rational(1, 2) * v**2 - q**2, [q], [v])
    with pytest.raises(UnsupportedError, match="know of no bodies"):
        da.view(lonely, to=tmp_path / "none.html")

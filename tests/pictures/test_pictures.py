"""Pictures show something, say what they show, and touch nothing global."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest

import dalembert as da
from dalembert import pictures
from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.pictures import layout

DRAWN = ("demo_arm", "stacker", "four_bar", "free_body")


def pixels(figure) -> np.ndarray:
    agg = pytest.importorskip("matplotlib.backends.backend_agg")
    canvas = agg.FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def is_drawn(figure) -> bool:
    """More than one colour, and ink on more than a few pixels."""
    found = pixels(figure)
    return float((np.ptp(found.astype(int), axis=2) > 30).mean()) > 1e-4


def texts(figure) -> str:
    words = [t.get_text() for axis in figure.axes for t in axis.findobj(match=lambda o: hasattr(o, "get_text"))]
    return " ".join(words)


@pytest.fixture
def pyplot_free():
    pytest.importorskip("matplotlib")
    return


@pytest.fixture(scope="module")
def swing():
    pendulum = da.substitute(da.load("double_pendulum"), {"g": 9.81, "l1": 1, "l2": 1, "m1": 1, "m2": 1})
    return da.simulate(pendulum, {"shoulder": 1.0}, None, 1.0)


def test_motions_and_energies(pyplot_free, swing):
    assert is_drawn(swing.plot()) and is_drawn(swing.plot("elbow"))
    figure = pictures.draw_energies(swing)
    assert is_drawn(figure) and "kinetic" in texts(figure)
    balance = figure.axes[1].lines[0].get_ydata()
    assert np.abs(balance).max() < 1e-6  # nothing is lost


def test_what_brakes_take_is_part_of_the_balance_of_energy(pyplot_free):
    motion = da.simulate(da.Dynamics(da.load("demo_arm"), include=["damping"]), {"lift": 0.5}, None, 2.0)
    assert np.ptp(motion.energy) > 10
    balance = pictures.draw_energies(motion).axes[1].lines[0].get_ydata()
    assert np.abs(balance).max() < 1e-5 * np.ptp(motion.energy)  # splines through samples of the power


def test_energies_of_a_motion_are_drawn_between_few_samples_too(pyplot_free, swing):
    few = da.simulate(swing.mechanism, {"shoulder": 1.0}, None, [0, 0.5, 1.0])
    for ours, full in zip(few.plot().axes[3].lines, swing.plot().axes[3].lines):
        at = np.linspace(0, 1, 50)
        drawn = [np.interp(at, *line.get_data()) for line in (ours, full)]
        np.testing.assert_allclose(*drawn, atol=1e-3)  # straight between 600 points


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("double_pendulum", ["q (rad)", "v (rad/s)", "tau (N m)"]),
        ("cart_pole", ["q (m, rad)", "v (m/s, rad/s)", "tau (N, N m)"]),
        ("free_body", ["q (m, quaternion)", "v (m/s, rad/s)", "tau (N, N m)"]),
    ],
)
def test_axes_of_motions_have_units(pyplot_free, name, labels):
    motion = da.simulate(da.load(name, parameters="default"), None, None, 0.1)
    assert [axis.get_ylabel() for axis in motion.plot().axes] == [*labels, "energy (J)"]


def test_legends_of_motions_stand_beside_the_curves(pyplot_free, swing):
    figure = swing.plot()
    figure.draw_without_rendering()
    for axis in figure.axes:
        legend = axis.get_legend().get_window_extent()
        assert legend.x0 >= axis.get_window_extent().x1 and legend.x1 <= figure.bbox.x1


def test_eigenvalues(pyplot_free):
    figure = pictures.draw_poles([-1 + 2j, -1 - 2j, 0.5])
    assert is_drawn(figure) and "grows" in texts(figure)
    assert "grows" not in texts(pictures.draw_poles([-1.0, -2.0]))


@pytest.mark.parametrize(
    "poles", [[4e-16 + 3j, 4e-16 - 3j], [1e-20, -1e-21], [-2.0, -1.0], [5.0, 1e-9, -1e-17j], [0.0]]
)
def test_the_picture_of_eigenvalues_shows_all_of_them_and_does_not_magnify_rounding(pyplot_free, poles):
    axis, size = pictures.draw_poles(poles).axes[0], max(map(abs, poles))
    for (low, high), part in ((axis.get_xlim(), np.real(poles)), (axis.get_ylim(), np.imag(poles))):
        assert low < min(0, *part, 0) and high > max(0, *part, 0)
        assert min(-low, high) > 0.1 * size


def test_a_locus_follows_modes_and_shades_where_it_is_stable(pyplot_free):
    """x'' + c x' + x = 0: stable for c > 0, real from c = 2 on; the order of eigenvalues given is shuffled."""
    rng = np.random.default_rng(0)
    values = np.linspace(-1, 3, 81)
    figure = pictures.draw_locus(values, lambda c: rng.permutation(np.linalg.eigvals([[0, 1], [-1, -c]])), "c")
    assert is_drawn(figure) and "stable" in texts(figure)
    for line in figure.axes[0].lines[:1]:
        steps = np.abs(np.diff(line.get_ydata()))
        assert steps.max() < 0.35  # continuous but for the branching at c = 2
    with pytest.raises(ArgumentError, match="expected"):
        pictures.draw_locus([1, 2], [[1.0, 2.0]])


def test_what_swings_for_ever_is_stable_at_no_value_of_a_locus_whatever_rounding_says(pyplot_free):
    rng, values = np.random.default_rng(0), np.linspace(1e-6, 1e6, 50)
    slow_and_fast = values[:, None] * (np.array([1j, -1j]) + rng.uniform(-1e-14, 1e-14, (50, 2)))
    assert "stable" not in texts(pictures.draw_locus(values, slow_and_fast))
    assert "stable" in texts(pictures.draw_locus(values, slow_and_fast - 1e-6 * values[:, None]))


def test_the_bicycle_over_its_speed(pyplot_free):
    from dalembert.constraints.classical import BICYCLE_UPRIGHT, whipple_bicycle
    from dalembert.dynamics import Dynamics

    bicycle = Dynamics(whipple_bicycle(), reference=BICYCLE_UPRIGHT)
    positions, speeds = ["x", "y", "yaw", "rear", "front", "lean", "steer"], ["rear", "lean", "steer"]

    def eigenvalues(speed):
        v = np.zeros(9)
        v[[0, 6, 8]] = speed, speed / 0.3, speed / 0.35
        linear = bicycle.linear_model(BICYCLE_UPRIGHT, v, np.zeros(9), positions=positions, speeds=speeds)
        keep = [linear.states.index(name) for name in ("lean", "steer", "lean rate", "steer rate")]
        return np.linalg.eigvals(linear.A[np.ix_(keep, keep)])

    figure = pictures.draw_locus(np.linspace(1, 8, 15), eigenvalues, "speed (m/s)")
    assert is_drawn(figure) and "stable" in texts(figure)


def test_agreement(pyplot_free):
    from dalembert.formulations.agreement import Agreement, AgreementRow

    good = AgreementRow("mass matrix", "kane", "lagrange", 1e-16, 1e-10)
    bad = AgreementRow("bias", "kane", "lagrange", 1e-3, 1e-10)
    fine = pictures.draw_agreement(Agreement("arm", 4, (good,)))
    wrong = pictures.draw_agreement(Agreement("arm", 4, (good, bad, AgreementRow("x", "a", "b", float("nan"), 1e-10))))
    assert is_drawn(fine) and "all agree" in texts(fine) and "some disagree" in texts(wrong)
    assert len(wrong.axes[0].get_yticklabels()) == 3


def test_counts(pyplot_free):
    dynamics = da.Dynamics(da.load("demo_arm"))
    counts = {name: dynamics.cost(name) for name in ("gravity", "mass_matrix")}
    figure = pictures.draw_counts(counts, "demo_arm")
    assert is_drawn(figure) and "multiplications" in texts(figure)
    for name, cost in counts.items():
        parts = cost.multiplications + cost.additions + cost.divisions + cost.square_roots + cost.sines + cost.cosines
        assert f" {parts}" in texts(figure), name


@pytest.mark.parametrize("name", DRAWN)
def test_trees(pyplot_free, name, tmp_path):
    mechanism = da.load(name)
    assert is_drawn(pictures.draw_tree(mechanism))
    path = pictures.write_tree(mechanism, tmp_path / "tree.svg")
    root = ElementTree.parse(path).getroot()
    assert root.tag.endswith("svg")
    told = " ".join("".join(node.itertext()) for node in root)
    assert all(body.name in told for body in mechanism.bodies)
    assert ("stroke-dasharray" in path.read_text(encoding="utf-8")) == bool(mechanism.constraints)


@pytest.mark.parametrize("count", [1, 2, 40])
def test_rows_of_the_inertia_matrix_are_whole(pyplot_free, count):
    names = ["world", *(f"b{k}" for k in range(count))]
    bodies = [da.Body(name, da.Inertia.sphere(1.0, 0.1)) for name in names[1:]]
    joints = [da.Joint(f"j{b}", "revolute", a, b) for a, b in pairwise(names)]
    figure = pictures.draw_tree(da.Mechanism("chain", bodies, joints))
    figure.draw_without_rendering()
    _, matrix = figure.axes
    assert all(tick == int(tick) for tick in (*matrix.get_xticks(), *matrix.get_yticks()))
    assert matrix.title.get_window_extent().x1 <= figure.bbox.x1 + 1  # inside the picture


def test_a_tree_has_every_body_once_and_children_behind_parents():
    for name in DRAWN:
        mechanism = da.load(name)
        place = layout(mechanism)
        assert set(place) == {"world", *(body.name for body in mechanism.bodies)}
        assert len(set(place.values())) == len(place)
        assert all(place[j.child][0] == place[j.parent][0] + 1 for j in mechanism.joints)


def test_without_matplotlib_there_is_a_hint(monkeypatch):
    monkeypatch.delitem(sys.modules, "dalembert.simulation.notebook_figure", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dalembert\[plot\]'"):
        pictures.draw_poles([1.0])


def test_a_notebook_gets_the_picture_that_is_saved_from_any_figure(pyplot_free, swing, tmp_path):
    """Objects are asked for ``_repr_png_``; nobody has to choose a backend, and pickled figures keep it."""
    for draw in (
        lambda: swing.plot("elbow"),
        lambda: pictures.draw_energies(swing),
        lambda: pictures.draw_poles([-1.0, 1j]),
        lambda: pictures.draw_tree(swing.mechanism),
    ):
        draw().savefig(tmp_path / "a.png")
        shown = draw()  # anew, because the layout of a figure settles when it is drawn
        assert shown._repr_png_() == (tmp_path / "a.png").read_bytes()
        assert pickle.loads(pickle.dumps(shown))._repr_png_().startswith(b"\x89PNG")


def test_a_notebook_shows_a_figure_once_whether_or_not_it_knows_matplotlib(pyplot_free, swing):
    formatters = pytest.importorskip("IPython.core.formatters")
    figure = swing.plot("elbow")
    fresh = formatters.DisplayFormatter()
    assert set(fresh.format(figure)[0]) == {"image/png", "text/plain"}
    taught = formatters.DisplayFormatter()
    taught.formatters["image/png"].for_type(type(figure).__bases__[0], lambda figure: b"their way")
    assert taught.format(figure)[0]["image/png"] == b"their way"


def test_pyplot_is_never_loaded(tmp_path):
    pytest.importorskip("matplotlib")
    code = (
        "import sys, dalembert as da; from dalembert.pictures import draw_tree\n"
        f"draw_tree(da.load('demo_arm')).savefig({str(tmp_path / 'a.png')!r})\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("wrong", [None, 3, "x", [1, 2], {"a": 1}, float("nan"), ["x"], [[1], [1, 2]]])
@pytest.mark.parametrize("draw", ["draw_agreement", "draw_counts", "draw_energies", "draw_poles", "draw_tree"])
def test_pictures_of_something_else_are_refused_in_a_sentence(pyplot_free, draw, wrong):
    if draw == "draw_poles" and wrong in (3, [1, 2]):
        return  # numbers are eigenvalues
    with pytest.raises(ArgumentError, match=draw):
        getattr(pictures, draw)(wrong)


@pytest.mark.parametrize(
    ("values", "poles"),
    [
        (None, None), ("x", [[1]]), ([], []), ([2, 1], [[1], [2]]), ([1, 2], [[1], [2, 3]]), ([1], [[None]]),
        ([1, 2], lambda x: None), ([1, 2], [[1], [np.inf]]),
    ],
)  # fmt: skip
def test_a_locus_of_something_else_is_refused_in_a_sentence(pyplot_free, values, poles):
    with pytest.raises(ArgumentError):
        pictures.draw_locus(values, poles)


def test_a_tree_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    arm = da.load("demo_arm")
    for mechanism, path in ((None, tmp_path / "x.svg"), (arm, None), (arm, tmp_path / "missing" / "x.svg")):
        with pytest.raises(ArgumentError, match="write_tree"):
            pictures.write_tree(mechanism, path)
    with pytest.raises(ArgumentError, match=r"does not end in \.svg"):
        pictures.write_tree(arm, tmp_path / "x.png")
    assert not list(tmp_path.iterdir())


def test_no_eigenvalues_are_an_empty_picture(pyplot_free):
    assert pictures.draw_poles([]).axes


def test_a_tree_in_which_nothing_moves_is_drawn_without_a_warning(pyplot_free):
    block = da.Mechanism("block", [da.Body("b", da.Inertia.sphere(1.0, 0.1))], [da.Joint("w", "fixed", "world", "b")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_drawn(pictures.draw_tree(block)) and "nothing moves" in texts(pictures.draw_tree(block))


def test_bars_of_counts_are_as_long_as_all_operations(pyplot_free):
    dynamics = da.Dynamics(da.load("demo_arm"))
    at = {"frame": "flange", "coordinates": "ZYX"}
    counts = {name: dynamics.cost(name, **at) for name in ("frame_coordinates", "analytic_jacobian")}
    assert all(cost.other_functions for cost in counts.values())  # inverse tangents of the angles
    written = [text.get_text().strip() for text in pictures.draw_counts(counts).axes[0].texts]
    assert sorted(written) == sorted(str(cost.operations) for cost in counts.values())

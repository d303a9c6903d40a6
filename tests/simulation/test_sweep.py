"""Sweeps: grids and samples, threads and clusters, interruption and restart; nothing is lost, nothing mixed up."""

import _thread
import os
import threading
import time
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError, SimulationWarning
from dalembert.formats import load
from dalembert.simulation import RolloutTask, SweepError, grid, rollout, samples, sweep


class Calls(list):
    """A record of calls, which by its own account holds nothing that a result depends on."""

    def __reduce__(self):
        return Calls, ()


calls = Calls()


def polynomial(points):
    calls.append(len(points["x"]))
    return {"value": points["x"] ** 2 + points["y"], "pair": np.stack([points["x"], points["y"]], axis=1)}


@settings(max_examples=15)
@given(nx=st.integers(1, 7), ny=st.integers(1, 7), piece=st.integers(1, 20))
def test_grid_has_every_combination_once(tmp_path_factory, nx, ny, piece):
    x, y = np.arange(nx) + 0.5, np.arange(ny) * 10.0
    found = sweep(polynomial, grid(x=x, y=y), tmp_path_factory.mktemp("grid"), piece=piece, threads=2)
    assert found.complete
    assert np.array_equal(found["value"], x[:, None] ** 2 + y)
    assert found["pair"].shape == (nx, ny, 2)
    assert sum(len(points["x"]) for points, _ in found) == nx * ny


def test_samples_keep_their_order(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 57))
    found = sweep(polynomial, samples(x=x, y=y), tmp_path, piece=10)
    assert np.array_equal(found["value"], x**2 + y)
    assert found.names == ("value", "pair")


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
def test_every_format_gives_back_what_was_computed(tmp_path, kind):
    package = {"parquet": "pyarrow", "zarr": "zarr"}.get(kind)
    points = grid(x=np.linspace(0, 1, 7), y=np.arange(5.0))
    try:
        if package:
            __import__(package)
    except ImportError:
        with pytest.raises(MissingExtraError, match=r"dalembert\[tables\]"):
            sweep(polynomial, points, tmp_path / "new", piece=8, format=kind)
        assert not (tmp_path / "new").exists()
        return
    found = sweep(polynomial, points, tmp_path, piece=8, format=kind, version="polynomial")
    assert np.array_equal(found["value"], np.linspace(0, 1, 7)[:, None] ** 2 + np.arange(5.0))
    assert np.array_equal(found["pair"][2, 3], [np.linspace(0, 1, 7)[2], 3.0])
    calls.clear()
    sweep(polynomial, points, tmp_path, piece=8, format=kind, version="polynomial")
    assert not calls
    if kind == "parquet":  # the folder is one table
        import pyarrow.dataset

        table = pyarrow.dataset.dataset(tmp_path).to_table()
        assert table.column_names == ["x", "y", "value", "pair[0]", "pair[1]"]
        assert np.array_equal(table["value"].to_numpy(), found["value"].ravel())
        assert np.array_equal(table["value"].to_numpy(), table["x"].to_numpy() ** 2 + table["y"].to_numpy())


def test_a_point_and_a_result_may_have_the_same_name(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet

    found = sweep(lambda points: {"x": 2 * points["x"]}, samples(x=np.arange(3.0)), tmp_path, format="parquet")
    table = pyarrow.parquet.read_table(found.store.paths()[0])
    assert table["point x"].to_pylist() == [0, 1, 2] and found["x"].tolist() == [0, 2, 4]


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "?", "U7", "S3", "M8[s]", "c16", "longdouble"])
@pytest.mark.parametrize("shape", [(), (2, 3), (0,)])
@pytest.mark.filterwarnings("ignore:The data type")  # of zarr, about texts
def test_types_and_shapes_come_back_or_are_refused_by_name(tmp_path, kind, dtype, shape):
    package = {"parquet": "pyarrow", "zarr": "zarr"}.get(kind)
    if package:
        pytest.importorskip(package)
    whole = np.arange(5 * int(np.prod(shape))).reshape(5, *shape).astype(dtype)
    points = samples(k=np.arange(5))
    unknown = {"parquet": ("c16", "longdouble"), "zarr": ("longdouble",)}.get(kind, ())
    try:
        found = sweep(lambda p: {"value": whole[p["k"]]}, points, tmp_path, piece=2, format=kind, version="whole")[
            "value"
        ]
    except SweepError as error:
        assert dtype in unknown and isinstance(error.__cause__, ArgumentError) and "'value'" in str(error)
        return
    assert found.dtype == whole.dtype and np.array_equal(found, whole) and (dtype not in unknown or shape == (0,))


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
def test_a_folder_without_results_is_free_and_one_with_results_is_not(tmp_path, kind):
    """A mistake in a task costs no folder; once there is a result, nothing else may be put beside it."""
    package = {"parquet": "pyarrow", "zarr": "zarr"}.get(kind)
    if package:
        pytest.importorskip(package)
    points = samples(x=np.arange(4.0))
    for wrong in (lambda p: {"value": p["z"]}, lambda p: {"value": np.ones((len(p["x"]), 3)), "more": np.ones(9)}):
        with pytest.raises(SweepError, match=r"2 of 2 pieces failed\. The first"):
            sweep(wrong, points, tmp_path, piece=2, format=kind)
    right, options = partial(_half, number=2), {"piece": 2, "format": kind}
    assert sweep(right, points, tmp_path, version="half", **options)["value"].tolist() == [0, 0.5, 1, 1.5]
    with pytest.raises(ArgumentError, match="task differs"):
        sweep(partial(_half, number=3), points, tmp_path, version="third", **options)
    with pytest.raises(SweepError, match="1 of 2 pieces failed; the others are kept"):
        sweep(_first_only, points, tmp_path / "other", **options)
    with pytest.raises(ArgumentError, match=r"of a function.*not known.*version="):
        sweep(right, points, tmp_path / "other", **options)


def _half(points, number):
    return {"value": points["x"] / number}


def _first_only(points):
    if points["x"][0]:
        raise ValueError("no")
    return _half(points, 2)


def test_a_folder_has_pieces_and_what_readers_leave_out(tmp_path):
    points = grid(x=np.arange(7.0), y=[0.0])
    sweep(polynomial, points, tmp_path, piece=2)
    others = [path for path in tmp_path.iterdir() if not path.name.startswith("piece-")]
    assert len(others) == 1 and others[0].name.startswith("_")
    assert others[0].name == "_sweep.json"


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
def test_pieces_of_different_types_lose_nothing(tmp_path, kind):
    """Integers in one piece and fractions in another, short texts and long ones: kept, or refused by name."""
    package = {"parquet": "pyarrow", "zarr": "zarr"}.get(kind)
    if package:
        pytest.importorskip(package)

    def late(points):
        x = points["x"]
        return {"value": x / 2 if x[0] > 3 else np.zeros(len(x), dtype=int)}

    def texts(points):
        return {"status": np.array(["finished" if x > 3 else "no" for x in points["x"]])}

    points = samples(x=np.arange(8.0))
    if kind == "zarr":
        with pytest.raises(SweepError, match=r"the result 'value' is float64 in this piece"):
            sweep(late, points, tmp_path / "numbers", piece=4, format=kind, threads=1)
        return
    found = sweep(late, points, tmp_path / "numbers", piece=4, format=kind, threads=1)
    assert found["value"].tolist() == [0, 0, 0, 0, 2, 2.5, 3, 3.5]
    if kind == "npz":
        found = sweep(texts, points, tmp_path / "texts", piece=4, threads=1)
        assert found["status"].tolist() == 4 * ["no"] + 4 * ["finished"]


def test_pieces_with_other_names_or_shapes_are_refused(tmp_path):
    def task(points, other):
        return {"value": points["x"]} if points["x"][0] < 4 else other(points["x"])

    points = samples(x=np.arange(8.0))
    for k, other in enumerate((lambda x: {"result": x}, lambda x: {"value": np.ones((len(x), 2))})):
        with pytest.raises(SweepError, match=r"points 4 to 7: .* in other pieces") as told:
            sweep(partial(task, other=other), points, tmp_path / str(k), piece=4, threads=1, version="task")
        assert told.value.partial["value"][:4].tolist() == [0, 1, 2, 3]
        with pytest.raises(SweepError, match="in other pieces"):  # also after a restart
            sweep(partial(task, other=other), points, tmp_path / str(k), piece=4, threads=1, version="task")


def test_restart_computes_only_what_is_missing(tmp_path):
    points = grid(x=np.arange(10.0), y=np.arange(10.0))
    first = sweep(polynomial, points, tmp_path, piece=10, version="polynomial")
    whole = first["value"]
    paths = first.store.paths()
    paths[3].unlink()
    paths[7].write_bytes(b"half a file")  # a crash in the middle of writing, on a bad day
    calls.clear()
    again = sweep(polynomial, points, tmp_path, piece=10, version="polynomial")
    assert calls == [10]
    with pytest.warns(SimulationWarning, match=r"piece-0000007.* another content.*computed anew"):
        assert np.array_equal(again["value"], whole)
    assert calls == [10, 10] and np.array_equal(again["value"], whole) and calls == [10, 10]


def test_folder_of_another_sweep_is_refused(tmp_path):
    points, known = grid(x=np.arange(3.0), y=[0.0]), {"version": "polynomial"}
    sweep(polynomial, points, tmp_path, **known)
    with pytest.raises(ArgumentError, match="holds another sweep: points differs"):
        sweep(polynomial, grid(x=np.arange(4.0), y=[0.0]), tmp_path, **known)
    with pytest.raises(ArgumentError, match="task differs"):
        sweep(lambda points: {"value": points["x"]}, points, tmp_path, version="x")
    with pytest.raises(ArgumentError, match="piece differs"):
        sweep(polynomial, points, tmp_path, piece=2, **known)


def test_a_function_without_version_cannot_be_resumed_and_says_so(tmp_path):
    points = grid(x=np.arange(3.0), y=[0.0])
    sweep(polynomial, points, tmp_path)
    with pytest.raises(ArgumentError, match=r"holds results of a function.*not known.*version="):
        sweep(polynomial, points, tmp_path)


BALL = da.contacts(
    da.Mechanism(
        "ball",
        [da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=[da.Shape.sphere(0.1)])],
        [da.Joint("base", "free", "world", "ball")],
    ),
    friction=0.5,
    stiffness=1e4,
    damping=10.0,
).mechanism


@pytest.mark.parametrize(
    "other",
    [
        {"law": "convex"}, {"law": "compliant"}, {"contacts": ()}, {"include": ["damping"]}, {"optimise": 2},
        {"wrenches": ["ball"]}, {"dtype": np.float32},
    ],
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_motions_of_other_settings_are_another_sweep(tmp_path, other):
    """A folder of one law of contact once gave its results as those of another."""
    points = grid(**{"q.base.z": [0.3, 0.4]})
    first = sweep(da.RolloutTask(da.Dynamics(BALL), steps=50), points, tmp_path)
    again = sweep(da.RolloutTask(da.Dynamics(BALL), steps=50), points, tmp_path)
    assert np.array_equal(first["q"], again["q"])
    with pytest.raises(ArgumentError, match=r"(?s)task differs.*dynamics"):
        sweep(da.RolloutTask(da.Dynamics(BALL, **other), steps=50), points, tmp_path)
    with pytest.raises(ArgumentError, match=r"(?s)task differs.*steps"):
        sweep(da.RolloutTask(da.Dynamics(BALL), steps=51), points, tmp_path)


def test_options_of_a_task_act_and_are_recognised(tmp_path):
    """Laws and functions given to the task itself; functions count by what they compute."""
    points = grid(**{"q.base.z": [0.1]}, **{"v.base.vx": [1.0]})

    def task(**options):
        return da.RolloutTask(BALL, steps=50, **options)

    rigid, convex = (sweep(task(law=law), points, tmp_path / law)["v"] for law in ("rigid", "convex"))
    assert not np.allclose(rigid, convex, atol=1e-6)
    free = da.Dynamics(BALL, contacts=())
    one, same, other = (
        da.RolloutTask(free, 5, control=f).identity({})
        for f in (
            lambda t, q, v: [t, 0, 0, 0, 0, 0],
            lambda a, b, c: [a, 0, 0, 0, 0, 0],
            lambda t, q, v: [1, 0, 0, 0, 0, 0],
        )
    )
    assert one == same != other


def sometimes(points):
    if (points["x"] == 23).any():
        raise ValueError("no result at 23")
    return {"value": points["x"]}


def test_failed_pieces_are_told_and_the_others_kept(tmp_path):
    points = samples(x=np.arange(50.0))
    with pytest.raises(
        SweepError, match=r"1 of 10 pieces failed.*points 20 to 24: ValueError: no result at 23"
    ) as caught:
        sweep(sometimes, points, tmp_path, piece=5)
    assert caught.value.failed == (4,)
    kept = caught.value.partial
    assert kept.done.sum() == 9
    assert np.isnan(kept["value"][20:25]).all()
    assert np.array_equal(np.delete(kept["value"], range(20, 25)), np.delete(np.arange(50.0), range(20, 25)))


def test_interrupted_sweep_goes_on_where_it_stopped(tmp_path, heard):
    def slow(points):
        time.sleep(0.05)
        return {"value": 2 * points["x"]}

    points = samples(x=np.arange(60.0))
    timer = threading.Timer(0.6, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt, match="sweep interrupted") as stopped:
        sweep(slow, points, tmp_path, piece=1, threads=2, version="slow")
    timer.join()
    part = stopped.value.partial
    assert 0 < part.done.sum() < 60
    before = part.done.sum()
    whole = sweep(slow, points, tmp_path, piece=1, threads=2, version="slow")
    assert whole.complete
    assert before < 60
    assert np.array_equal(whole["value"], 2 * np.arange(60.0))


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda f: sweep(polynomial, {"x": [1]}, f), "make them with grid"),
        (lambda f: sweep(polynomial, grid(x=[1.0], y=[1.0]), f, format="csv"), "no format"),
        (lambda f: sweep(polynomial, grid(x=[1.0], y=[1.0]), f, piece=0), "piece"),
        (lambda f: grid(), "no points"),
        (lambda f: grid(x=np.zeros((0, 2))), "values along its first dimension"),
        (lambda f: samples(x=np.zeros(3), y=np.zeros(4)), "differ in number"),
        (lambda f: sweep(3, grid(x=[1.0]), f), "give a function of points"),
        (lambda f: sweep(polynomial, grid(x=[1.0], y=[1.0]), f, threads=0), "threads = 0"),
        (lambda f: sweep(polynomial, grid(x=[1.0], y=[1.0]), f, client="cluster"), "give a dask"),
        (lambda f: sweep(polynomial, grid(x=[1.0], y=[1.0]), __file__), "cannot be made a folder"),
        (lambda f: RolloutTask(load("cart_pole"), 10, speed=3), "rollout has no option 'speed'"),
    ],
)
def test_bad_input_is_refused_by_name(tmp_path, run, message):
    with pytest.raises(ArgumentError, match=message):
        run(tmp_path)


def test_wrong_results_are_refused_by_name(tmp_path):
    with pytest.raises(SweepError, match="must return a dict"):
        sweep(lambda points: points["x"], grid(x=[1.0, 2.0]), tmp_path / "a")
    with pytest.raises(SweepError, match="first dimension must be 2"):
        sweep(lambda points: {"y": np.zeros(3)}, grid(x=[1.0, 2.0]), tmp_path / "b")


# ------------------------------------------------------------------------------------------------- motions, on clusters


def height(t, q, v):
    return q[1]


def cart_task():
    values = {"g": 9.81, "M": 1.0, "l": 0.5, "I": 0.02}
    return RolloutTask(load("cart_pole"), 100, 1e-2, parameters=values, summaries={"highest": ("max", height)})


def test_records_come_with_the_steps_between_them(tmp_path):
    """Whoever says how often wants records; those of a sweep are those of its rollouts."""
    cart = load("cart_pole", parameters="default")
    found = sweep(RolloutTask(cart, 100, 1e-2, every=25), grid({"q.hinge": [0.1, 0.2, 0.3]}), tmp_path, piece=2)
    assert found.names == ("q", "v", "t", "records_q", "records_v")
    alone = rollout(cart, {"hinge": [0.1, 0.2, 0.3]}, None, 100, 1e-2, every=25)
    assert np.array_equal(found["records_q"], alone.q) and np.array_equal(found["t"][1], alone.t)
    assert RolloutTask(cart, 100, 1e-2).options["record"] is False


CART = {"q.hinge": np.linspace(-0.5, 0.5, 8), "v.rail": np.linspace(-1, 1, 5), "m": np.array([0.1, 0.2, 0.5])}


def test_sweep_of_motions_is_one_large_rollout(tmp_path):
    found = sweep(cart_task(), grid(CART), tmp_path, piece=17)
    hinge, rail, mass = np.meshgrid(*CART.values(), indexing="ij")
    q, v = np.zeros((8, 5, 3, 2)), np.zeros((8, 5, 3, 2))
    q[..., 1], v[..., 0] = hinge, rail
    values = {"g": 9.81, "M": 1.0, "l": 0.5, "I": 0.02, "m": mass}
    whole = rollout(load("cart_pole"), q, v, 100, 1e-2, parameters=values, summaries={"highest": ("max", height)})
    assert np.array_equal(found["q"], whole.final_q)
    assert np.array_equal(found["highest"], whole.summaries["highest"])
    with pytest.raises(SweepError, match=r"no coordinate .q\.wheel."):
        sweep(cart_task(), grid({"q.wheel": [1.0], "m": [0.1]}), tmp_path / "wrong")


def lean(t, q, v, k):
    return [k[0] * q[1], 0]


def test_axes_of_a_grid_may_be_whole_states_and_controls(tmp_path):
    """Parameters x initial states x controls: each point is a motion by itself."""
    cart = Dynamics(load("cart_pole", parameters="default"), parameters=["pole.mass"])
    q0, mass = np.array([[0.1, 0.2], [-0.3, 0.4], [0, 3.0]]), [0.1, 0.5]
    rows = np.random.default_rng(0).normal(size=(4, 5, 1))
    driven = {"actuated": ["rail"], "hold": 20}
    task = RolloutTask(cart, 100, 1e-2, **driven)
    found = sweep(task, grid({"pole.mass": mass, "q0": q0, "control": rows}), tmp_path / "rows", piece=5)
    assert found["q"].shape == (2, 3, 4, 2)
    alone = rollout(cart, q0[1], None, 100, 1e-2, control=rows[2], parameters={"pole.mass": 0.5}, **driven)
    assert np.abs(found["q"][1, 1, 2] - alone.final_q).max() < 1e-13
    task = RolloutTask(cart, 100, 1e-2, actuated=["rail"], parameters={"pole.mass": 0.1})
    for control in ([1.0, -2.0], [[1.0], [-2.0]]):
        pushed = sweep(task, grid({"control": control}), tmp_path / f"{np.ndim(control)}")["q"][1]
        alone = rollout(cart, None, None, 100, 1e-2, control=[-2.0], actuated=["rail"], parameters=[0.1])
        assert np.abs(pushed - alone.final_q).max() < 1e-13
    task = RolloutTask(cart, 100, 1e-2, control=lean, parameters={"pole.mass": 0.1})
    leaning = sweep(task, grid({"q.hinge": [0.1, 0.2], "gains": [5.0, 50.0, 70.0]}), tmp_path / "gains")["q"]
    alone = rollout(cart, [0, 0.2], None, 100, 1e-2, control=lean, gains=[50.0], parameters=[0.1])
    assert np.abs(leaning[1, 1] - alone.final_q).max() < 1e-13


def slow_square(points):
    """Slow enough that a worker can be killed in the middle of it; tells which process did the work."""
    time.sleep(0.15)
    return {"square": points["x"] ** 2, "process": np.full(len(points["x"]), os.getpid())}


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
        distributed.Client(made) as client,
    ):
        yield client


def test_cluster_gives_the_same_motions(cluster, tmp_path):
    here = sweep(cart_task(), grid(CART), tmp_path / "here", piece=30)
    there = sweep(cart_task(), grid(CART), tmp_path / "there", piece=30, client=cluster)
    assert np.array_equal(here["q"], there["q"])
    assert np.array_equal(here["highest"], there["highest"])


def test_nothing_is_lost_when_a_worker_is_killed(cluster, tmp_path):
    points = samples(x=np.arange(40.0))
    before = cluster.run(os.getpid)
    victim = next(iter(before.values()))

    def kill():
        time.sleep(1.0)
        os.kill(victim, 9)

    killer = threading.Thread(target=kill)
    killer.start()
    found = sweep(slow_square, points, tmp_path, piece=1, client=cluster)
    killer.join()
    assert found.complete
    assert np.array_equal(found["square"], np.arange(40.0) ** 2)
    assert victim in found["process"]  # it had done some of the work, which was kept
    assert len(set(found["process"].tolist())) >= 2

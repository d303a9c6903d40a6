"""Labels win over positions: the same numbers under the same names mean the same, in whatever order they stand."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import dalembert as da
from dalembert.autodiff.rollout import DifferentiableRollout
from dalembert.errors import ArgumentError, DalembertError
from dalembert.identification import differentiate, identify
from dalembert.planning import limit_use, minimum_time

ARM = da.load("demo_arm")
NAMES = [joint.name for joint in ARM.joints if joint.nv]
DYN = da.Dynamics(ARM)
Q, V, A = ARM.random_state(np.random.default_rng(0), 4)
PENDULUM = da.Dynamics(da.load("double_pendulum"))
VALUES = {name: 1.0 + k for k, name in enumerate(PENDULUM.parameter_names)}


class Series:
    """What is asked of a labelled row of any library."""

    def __init__(self, values, index):
        self._values, self._index = np.asarray(values), index

    index = property(lambda self: self._index)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype)


class Frame(Series):
    """What is asked of a table of any library."""

    columns = property(lambda self: self._index)
    index = property(lambda self: range(len(self._values)))


class Labelled(Series):
    """What is asked of a labelled array of any library."""

    def __init__(self, values, dims, coords):
        super().__init__(values, None)
        self._dims, self.coords = dims, {name: Holder(x) for name, x in coords.items()}

    dims = property(lambda self: self._dims)
    index = None


class Holder:
    def __init__(self, values):
        self.values = np.asarray(values)


def structured(values, names):
    """A structured array: one field a name."""
    values = np.asarray(values)
    made = np.empty(values.shape[:-1], [(name, values.dtype) for name in names])
    for k, name in enumerate(names):
        made[name] = values[..., k]
    return made


def pandas_frame(values, names):
    return pytest.importorskip("pandas").DataFrame(values, columns=names)


def polars_frame(values, names):
    return pytest.importorskip("polars").DataFrame(dict(zip(names, np.asarray(values).T)))


def arrow_table(values, names):
    return pytest.importorskip("pyarrow").table(dict(zip(names, np.asarray(values).T)))


def xarray_array(values, names):
    return pytest.importorskip("xarray").DataArray(values, dims=("time", "joint"), coords={"joint": names})


def xarray_turned(values, names):
    return xarray_array(values, names).transpose("joint", "time")


def turned(values, names):
    return Labelled(np.asarray(values).T, ("joint", "time"), {"joint": names})


TABLES = (structured, Frame, turned, pandas_frame, polars_frame, arrow_table, xarray_array, xarray_turned)
ORDER = [3, 0, 5, 1, 4, 2]
MIXED = [NAMES[k] for k in ORDER]


def every(test):
    return pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)(test)


@every
def test_columns_are_used_by_name_whatever_their_order(make):
    for names, order in ((NAMES, range(6)), (NAMES[::-1], range(5, -1, -1)), (MIXED, ORDER)):
        q, v, a = (make(x[:, list(order)], names) for x in (Q, V, A))
        np.testing.assert_array_equal(DYN.gravity(q), DYN.gravity(Q))
        np.testing.assert_array_equal(DYN.inverse_dynamics(q, v, a=a), DYN.inverse_dynamics(Q, V, A))
        np.testing.assert_array_equal(DYN.evaluate("bias", q, v), DYN.bias(Q, V))


@every
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([*NAMES[:-1], NAMES[-1] + "_"], f"did you mean.*{NAMES[-1]}"),
        ([*NAMES[:-1], "nonsense"], "'nonsense' is not one of its names"),
        (NAMES[:-1], f"none is '{NAMES[-1]}'"),
        ([*NAMES, "time"], "'time' is not one of its names"),
    ],
)
def test_unknown_and_missing_labels_are_errors(make, names, said):
    values = np.concatenate([Q, Q], axis=1)[:, : len(names)]
    with pytest.raises(ArgumentError, match=said):
        DYN.gravity(make(values, names))
    with pytest.raises(ArgumentError, match=said):
        da.simulate(ARM, make(values[:1], names), t=0.01)


def test_rows_with_labels():
    rows = [Series(Q[0, ORDER], MIXED), structured(Q[0, ORDER], MIXED)]
    if importlib.util.find_spec("pandas"):
        import pandas

        rows += [pandas.Series(Q[0, ORDER], MIXED), pandas.DataFrame(Q, columns=NAMES).iloc[0][MIXED]]
    for row in rows:
        np.testing.assert_array_equal(DYN.gravity(row), DYN.gravity(Q[0]))


def test_numbers_that_count_upwards_name_nothing_and_others_are_an_error():
    np.testing.assert_array_equal(DYN.gravity(Frame(Q, range(6))), DYN.gravity(Q))
    np.testing.assert_array_equal(DYN.gravity(Frame(Q, [3, 4, 5, 6, 7, 8])), DYN.gravity(Q))
    for labels in (range(5, -1, -1), ORDER, [0, 1, 2, 3, 4, 6]):
        with pytest.raises(ArgumentError, match=r"the label \d is not one of its names.*to_numpy"):
            DYN.gravity(Frame(Q, labels))
    with pytest.raises(ArgumentError, match="is there twice"):
        DYN.gravity(Frame(Q, [*NAMES[:-1], NAMES[0]]))
    with pytest.raises(ArgumentError, match="two axes"):
        DYN.gravity(Labelled(np.zeros((6, 6)), ("a", "b"), {"a": NAMES, "b": NAMES}))


def test_a_dimension_may_be_found_by_its_own_name_and_rows_of_a_table_by_their_labels():
    np.testing.assert_array_equal(DYN.gravity(Labelled(Q.T, ("joint", "time"), {})), DYN.gravity(Q))
    pandas = pytest.importorskip("pandas")
    np.testing.assert_array_equal(DYN.gravity(pandas.DataFrame(Q[:, ORDER].T, index=MIXED)), DYN.gravity(Q))
    runs = pandas.DataFrame(Q, index=["a", "b", "c", "d"], columns=NAMES)  # labels of states are theirs
    np.testing.assert_array_equal(DYN.gravity(runs), DYN.gravity(Q))
    np.testing.assert_array_equal(DYN.gravity(dict(runs)), DYN.gravity(Q))


@every
def test_parameters_by_label(make):
    want = PENDULUM.gravity([0.3, 0.4], parameters=[list(VALUES.values())] * 2)
    mixed = list(VALUES)[::-1]
    table = make([[VALUES[name] for name in mixed]] * 2, mixed)
    np.testing.assert_array_equal(PENDULUM.gravity([0.3, 0.4], parameters=table), want)
    np.testing.assert_array_equal(PENDULUM.evaluate("gravity", np.array([0.3, 0.4]), parameters=table), want)
    short = make([[1.0] * (len(mixed) - 1)] * 2, mixed[1:])
    for call in (PENDULUM.gravity, lambda q, parameters: PENDULUM.evaluate("gravity", q, parameters=parameters)):
        with pytest.raises(ArgumentError, match=f"none is '{mixed[0]}'"):
            call(np.array([0.3, 0.4]), parameters=short)


def test_parameters_of_dynamics_and_motions_by_label():
    row = Series([*VALUES.values()][::-1], [*VALUES][::-1])
    numeric = da.Dynamics(PENDULUM.mechanism, parameters=row)
    np.testing.assert_array_equal(numeric.parameter_values, list(VALUES.values()))
    want = da.simulate(PENDULUM.mechanism, [0.3, 0.4], t=0.05, parameters=VALUES)
    found = da.simulate(PENDULUM.mechanism, [0.3, 0.4], t=0.05, parameters=row)
    np.testing.assert_array_equal(found.q, want.q)
    table = structured([[*VALUES.values()][::-1]] * 2, [*VALUES][::-1])
    runs = da.rollout(PENDULUM.mechanism, [0.3, 0.4], [0.0, 0.0], 5, 0.01, parameters=table)
    one = da.rollout(PENDULUM.mechanism, [0.3, 0.4], [0.0, 0.0], 5, 0.01, parameters=VALUES)
    np.testing.assert_array_equal(runs.q[0], one.q)
    assert da.substitute(PENDULUM.mechanism, row).digest == da.substitute(PENDULUM.mechanism, VALUES).digest


@pytest.mark.parametrize("call", ["quantity", "kernel", "evaluate"])
def test_parameters_by_name_leave_single_precision_single(call):
    q = np.array([0.3, 0.4], np.float32)
    by_call = {
        "quantity": PENDULUM.gravity,
        "kernel": PENDULUM.kernel("gravity"),
        "evaluate": lambda q, parameters: PENDULUM.evaluate("gravity", q, parameters=parameters),
    }[call]
    for values in (VALUES, {name: np.float64(x) for name, x in VALUES.items()}):
        assert by_call(q, parameters=values).dtype == np.float32
    assert by_call(q.astype(float), parameters=VALUES).dtype == np.float64


def test_states_by_name_keep_the_precision_of_their_arrays():
    q = {name: Q[:, k].astype(np.float32) for k, name in enumerate(NAMES)}
    assert DYN.gravity(q).dtype == np.float32
    assert DYN.gravity({**q, NAMES[0]: Q[:, 0]}).dtype == np.float64
    assert DYN.gravity(structured(Q.astype(np.float32), NAMES)).dtype == np.float32


@every
def test_wrenches_by_frame_and_component(make):
    dyn = da.Dynamics(ARM, wrenches=["flange", ARM.bodies[2].name])
    wrench = np.random.default_rng(1).normal(size=(2, 6))
    want = dyn.inverse_dynamics(Q[0], V[0], A[0], wrench)
    frames, components = list(dyn.wrenches), [f"{a} {b}" for a in ("force", "moment") for b in "xyz"]
    made = Labelled(
        wrench[::-1, ::-1].T, ("component", "frame"), {"frame": frames[::-1], "component": components[::-1]}
    )
    np.testing.assert_array_equal(dyn.inverse_dynamics(Q[0], V[0], A[0], made), want)
    np.testing.assert_array_equal(dyn.inverse_dynamics(Q[0], V[0], A[0], make(wrench[:, ::-1], components[::-1])), want)


@every
def test_starts_and_states_of_other_calls(make):
    q, v, a = (make(x[:, ORDER], MIXED) for x in (Q, V, A))
    calls = {
        "rollout": lambda q, v, a: da.rollout(ARM, q, v, 2).q,
        "controlled": lambda q, v, a: da.rollout(ARM, Q, V, 4, control=a).q,
        "integrate": lambda q, v, a: ARM.integrate(q, v),
        "difference": lambda q, v, a: ARM.difference(Q, q),
        "limits": lambda q, v, a: limit_use(ARM, q, v, a).effort,
        "waypoints": lambda q, v, a: minimum_time(ARM, q, efforts=np.full(6, 300.0), points=31).q,
    }
    for name, call in calls.items():
        np.testing.assert_array_equal(call(q, v, a), call(Q, V, A), err_msg=name)


def test_one_state_by_label():
    q, v = (Series(x[0, ORDER], MIXED) for x in (Q, V))
    np.testing.assert_array_equal(da.simulate(ARM, q, v, t=0.02).q, da.simulate(ARM, Q[0], V[0], t=0.02).q)
    np.testing.assert_array_equal(da.Dynamics(ARM, reference=q).reference, Q[0])
    found = da.simulate(ARM, Q[0], t=0.02, control=lambda t, q, v: Series(np.arange(6.0)[ORDER], MIXED))
    np.testing.assert_array_equal(found.q, da.simulate(ARM, Q[0], t=0.02, control=np.arange(6.0)).q)
    four_bar = da.load("four_bar", parameters="default")
    dyn = da.Dynamics(four_bar)
    names = [joint.name for joint in four_bar.joints if joint.nq and joint.mimic is None]
    start = dyn.assemble(dyn.reference + 0.05)
    np.testing.assert_array_equal(dyn.assemble(Series(start[::-1], names[::-1])), dyn.assemble(start))


def test_trajectories_go_back_in_by_name():
    pytest.importorskip("pandas")
    motion = da.simulate(ARM, Q[0], V[0], t=np.linspace(0, 0.1, 4))
    table = motion.to_pandas()
    q, v = (table[[name for name in table if name.startswith(f"{kind}.")]].iloc[:, ::-1] for kind in "qv")
    np.testing.assert_array_equal(DYN.bias(q, v), DYN.bias(motion.q, motion.v))
    with pytest.raises(ArgumentError, match="not one of its names"):
        DYN.bias(v, q)
    pytest.importorskip("xarray")
    data = motion.to_xarray()
    turned = data["q"][:, ::-1].transpose(), data["v"][:, ::-1].transpose()
    np.testing.assert_array_equal(DYN.bias(*turned), DYN.bias(motion.q, motion.v))


@every
def test_measurements_by_label(make):
    rng = np.random.default_rng(3)
    q, v, a = (rng.normal(size=(60, 6)) for _ in range(3))
    tau = DYN.inverse_dynamics(q, v, a) + rng.normal(scale=0.01, size=(60, 6))
    last = [ARM.bodies[-1].name]
    want = identify(ARM, q, v, a, tau, unknown=last)
    found = identify(ARM, *(make(x[:, ORDER], MIXED) for x in (q, v, a, tau)), unknown=last)
    assert str(found) == str(want)
    with pytest.raises(ArgumentError, match=f"tau has no measurements of {NAMES[-1]}"):
        identify(ARM, q, v, a, {name: tau[:, k] for k, name in enumerate(NAMES[:-1])}, unknown=last)


@every
def test_where_entries_have_no_names_labels_are_refused(make):
    table = make(np.random.default_rng(0).normal(size=(200, 6)), MIXED)
    with pytest.raises(ArgumentError, match=r"\.to_numpy\(\)|expected real numbers"):
        differentiate(np.arange(200) * 1e-3, table, 50)
    with pytest.raises(DalembertError):
        DifferentiableRollout(DYN, 2)(make(Q, MIXED), np.zeros((4, 6)))

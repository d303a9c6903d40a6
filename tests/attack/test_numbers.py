"""Silent wrong numbers that were found once, each by its reproducer."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.dynamics import QUANTITIES
from dalembert.errors import ArgumentError, SingularityError


@pytest.fixture(scope="module")
def arm():
    m = da.load("demo_arm")
    return m, da.Dynamics(m)


@pytest.mark.parametrize("rows", [1, 3, 6, 7])
def test_a_table_of_pandas_is_not_transposed(rows, arm):
    pandas = pytest.importorskip("pandas")
    m, dyn = arm
    q, v, a = m.random_state(np.random.default_rng(1), rows)
    np.testing.assert_array_equal(dyn.gravity(pandas.DataFrame(q)), dyn.gravity(q))
    np.testing.assert_array_equal(
        dyn.inverse_dynamics(*map(pandas.DataFrame, (q, v, a))), dyn.inverse_dynamics(q, v, a)
    )


def test_an_array_of_xarray_is_an_array(arm):
    xarray = pytest.importorskip("xarray")
    m, dyn = arm
    q = m.random_state(np.random.default_rng(1), 6)[0]
    np.testing.assert_array_equal(dyn.gravity(xarray.DataArray(q)), dyn.gravity(q))


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_an_output_that_is_a_broadcast_input(threads):
    kernel = da.Dynamics(da.load("double_pendulum", parameters="default")).kinetic_energy
    rng = np.random.default_rng(0)
    for _ in range(20):
        q, v = rng.normal(size=(2, 2)), rng.normal(size=(2, 2, 2))
        want = kernel(q, v)
        for given in (q.copy(), q.copy()[:]):
            np.testing.assert_array_equal(kernel(given, v, out=given, threads=threads), want)
    with pytest.raises(ArgumentError, match="overlap"):
        kernel.bind(q, v, out=q)


def test_an_output_that_is_its_input(arm):
    m, dyn = arm
    q = m.random_state(np.random.default_rng(1), 50)[0]
    want = dyn.gravity(q)
    np.testing.assert_array_equal(dyn.gravity(q, out=q), want)


@pytest.mark.parametrize("kind", ["bool", "int8", "uint8", "int16", "uint16", "float16", "int64"])
def test_short_numbers_are_computed_in_doubles(kind, arm):
    dyn = arm[1]
    q = (np.arange(36) % 7).reshape(6, 6).astype(kind)
    found = dyn.gravity(q)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, dyn.gravity(q.astype(float)))
    assert dyn.gravity(q.astype("f4")).dtype == np.float32


STATE = {"n": 0}


def drawn(t, q, v):
    return [np.random.default_rng().normal(), 0]


def counted(t, q, v):
    STATE["n"] += 1
    return [float(STATE["n"]), 0]


@pytest.mark.parametrize("policy", [drawn, counted])
def test_random_and_stateful_policies_are_refused(policy):
    m = da.load("cart_pole", parameters="default")
    with pytest.raises(ArgumentError, match="gives another answer when it is called again"):
        da.rollout(m, [0.1, 0.2], [0, 0], 5, 0.01, control=policy)
    with pytest.raises(ArgumentError, match="summary 'x' gives another answer"):
        da.rollout(m, [0.1, 0.2], [0, 0], 5, 0.01, summaries={"x": ("max", lambda t, q, v: policy(t, q, v)[0] + q[0])})
    fixed = da.rollout(m, [0.1, 0.2], [0, 0], 5, 0.01, control=lambda t, q, v: [-q[0], 0])
    assert np.isfinite(fixed.final_q).all()


@pytest.mark.parametrize("law", [drawn, counted])
def test_random_and_stateful_functions_are_refused_wherever_one_is_compiled(law):
    with pytest.raises(ArgumentError, match=f"kernel: {law.__name__} gives another answer when it is called again"):
        da.kernel(law, {"t": (), "q": (2,), "v": (2,)})
    m = da.load("cart_pole", parameters="default")
    for part in (
        {"forces": [da.Force("wind", "user", function=lambda q, v, t: law(t, q, v))]},
        {"forces": [da.Force("wind", "user-wrench", "pole", function=lambda q, v, t: law(t, q, v) * 3)]},
        {"forces": [da.Force("wind", "gravity-field", function=lambda p, t: [0, 0, law(t, p, p)[0]])]},
        {"forces": [da.Force("wind", "joint-force", m.joints[0].name, function=lambda t: law(t, 0, 0)[0])]},
        {"constraints": [da.Constraint("law", "position", function=lambda q, t: q[0] - law(t, q, q)[0])]},
        {"constraints": [da.Constraint("law", "velocity", function=lambda q, v, t: v[0] - law(t, q, v)[0])]},
        {"constraints": [da.Constraint("law", "motion", m.joints[0].name, function=lambda t: law(t, 0, 0)[0])]},
    ):
        with pytest.raises(ArgumentError, match=r"the function of '(wind|law)' gives another answer"):
            da.Dynamics(m.replace(**part)).kernel("forward_dynamics").program  # noqa: B018
    steady = da.kernel(lambda q: {"x": q * 2}, {"q": (2,)})
    assert steady([1.0, 2.0]).tolist() == [2, 4]


def test_limits_of_zero_and_minus_zero():
    joint = da.Joint("j", "revolute", "world", "b", axis=[0, 1, 0], limits=da.Limits(0.0, -0.0))
    m = da.Mechanism("p", [da.Body("b", da.Inertia(1.0, (0, 0, -1), np.eye(3)))], [joint])
    assert m.random_state(np.random.default_rng(0), 3)[0].tolist() == [[0.0]] * 3


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e9])
def test_a_heavy_hub_where_axes_cross_costs_no_digits(ratio):
    rng = np.random.default_rng(0)
    bodies, joints = [], []
    for i in range(5):
        axis, A = rng.normal(size=3), rng.normal(size=(3, 3)) * 0.2
        turn = da.Transform.from_rpy_xyz(rng.uniform(-3, 3, 3), np.zeros(3) if i < 2 else rng.normal(size=3))
        tensor = np.trace(A @ A.T) * np.eye(3) - A @ A.T
        inertia = da.Inertia(ratio, (0, 0, 0), np.zeros((3, 3))) if i < 2 else da.Inertia(1.0, (0.3, 0.1, -0.2), tensor)
        bodies.append(da.Body(f"b{i}", inertia))
        parent = f"b{i - 1}" if i else "world"
        joints.append(da.Joint(f"j{i}", "revolute", parent, f"b{i}", turn, axis=axis / np.linalg.norm(axis)))
    dyn = da.Dynamics(da.Mechanism("hub", bodies, joints, strict=False))
    q, v, a = rng.uniform(-3, 3, (3, 5))
    found = dyn.inverse_dynamics(q, v, a)
    wanted = dyn.kernel("inverse_dynamics", algorithm="newton-euler")(q, v, a)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(wanted).max())


# ------------------------------------------------------------------------------------- quaternions of any length (A15)


@pytest.fixture(scope="module")
def satellite():
    """A free and a spherical joint."""
    bodies = [da.Body(name, da.Inertia.box(1.0 + k, (0.3, 0.2, 0.1), (0.1, 0, 0.2))) for k, name in enumerate("ab")]
    ball = da.Transform.from_translation((0.1, 0.2, 0))
    return da.Mechanism(
        "s", bodies, [da.Joint("base", "free", "world", "a"), da.Joint("j", "spherical", "a", "b", ball)]
    )


def stretched(q, *lengths):
    found = q.copy()
    for begin, length in zip((3, 7), lengths):
        found[..., begin : begin + 4] *= length
    return found


@pytest.mark.parametrize("name", QUANTITIES)
def test_the_length_of_a_quaternion_does_not_matter(name, satellite):
    q, v, a = satellite.random_state(np.random.default_rng(0), 20)
    frame = {"frame": "b"} if "frame" in QUANTITIES[name].options else {}
    kernel = da.Dynamics(satellite).kernel(name, **frame)
    rest = {"v": v, "a": a, "tau": a}
    others = [rest.get(port.name, np.broadcast_to(a, (20, *port.shape))) for port in kernel.inputs if port.name != "q"]

    def asked(at):
        found = kernel(at, *others)
        return np.concatenate([np.reshape(y, (20, -1)) for y in (found if isinstance(found, tuple) else (found,))], -1)

    wanted = asked(q)
    for lengths in ((2, 1), (1, 0.3), (1 + 1e-5, 1 - 1e-5), (-1, 1e3)):
        assert np.abs(asked(stretched(q, *lengths)) - wanted).max() < 2e-13 * np.abs(wanted).max()


def test_a_zero_quaternion_is_no_rotation(satellite):
    dyn = da.Dynamics(satellite)
    q, v, a = satellite.random_state(np.random.default_rng(0), 20)
    zero = q.copy()
    zero[5, 3:7] = 0
    found, wanted = dyn.inverse_dynamics(zero, v, a), dyn.inverse_dynamics(q, v, a)
    assert np.isnan(found[5]).any() and np.array_equal(np.delete(found, 5, 0), np.delete(wanted, 5, 0))
    with pytest.raises(SingularityError, match="quaternion"):
        da.algorithms.inverse_dynamics(satellite, zero[5], v[5], a[5])


def test_interpreted_algorithms_and_kernels_take_quaternions_alike(satellite):
    q, v, a = satellite.random_state(np.random.default_rng(0))
    found = np.array(da.algorithms.inverse_dynamics(satellite, stretched(q, 2, 0.5), v, a), dtype=float)
    np.testing.assert_allclose(found, da.Dynamics(satellite).inverse_dynamics(q, v, a), rtol=0, atol=1e-12)

"""Rollouts on a CUDA device against those of the processor; run with ``pytest -m gpu`` on such a machine."""

import numpy as np
import pytest

import dalembert as da
from contact import scenes as contact_scenes
from dalembert.algebra import scalar
from dalembert.constraints.classical import four_bar
from dalembert.errors import ArgumentError
from dalembert.simulation import STEPPERS, rollout
from dalembert.simulation.stabiliser import stabilised
from dalembert.simulation.stepping import recurrence
from dalembert.tracing.evaluate import evaluate
from random_mechanisms import random_mechanism

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

CLOSE = {np.float64: 1e-10, np.float32: 2e-3}
"""Rounding, amplified by a few dozen steps of mechanisms that are not chaotic on that scale."""


@pytest.fixture(scope="module")
def cart():
    return da.Dynamics(da.load("cart_pole", parameters="default"))


def start(dynamics, count, seed=0, dtype=np.float64):
    q, v, _ = dynamics.mechanism.random_state(np.random.default_rng(seed), (count,))
    return q.astype(dtype), v.astype(dtype)


def reference(dynamics, method, q, v, steps, h, u=None):
    """Steps by the float64 interpreter: nothing of it is compiled."""
    nv = dynamics.mechanism.nv
    program = recurrence(stabilised(dynamics), method, list(range(nv)), None, 0, False, {}).program
    states = [(q.astype(float), v.astype(float))]
    for k in range(steps):
        given = {"q": states[-1][0], "v": states[-1][1], "h": np.full(len(q), h)}
        given["u"] = np.zeros((len(q), nv)) if u is None else u[:, k].astype(float)
        found = evaluate(program, given)
        states.append((found["q"], found["v"]))
    return np.stack([s[0] for s in states], 1), np.stack([s[1] for s in states], 1)


@pytest.mark.parametrize("method", STEPPERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_agrees_with_the_interpreter(method, dtype):
    dynamics = da.Dynamics(random_mechanism(2, 3, kinds=("revolute", "spherical", "prismatic"), floating=True))
    q, v = start(dynamics, 70, dtype=dtype)
    found = rollout(dynamics, cupy.asarray(q), cupy.asarray(v), 30, 5e-3, method=method, device="cuda")
    exact_q, exact_v = reference(dynamics, method, q, v, 30, 5e-3)
    assert found.q.dtype == dtype
    for ours, exact in ((found.q, exact_q), (found.v, exact_v)):
        assert ours.shape == exact.shape
        assert np.abs(cupy.asnumpy(ours) - exact).max() < CLOSE[dtype] * np.abs(exact).max()
    assert cupy.array_equal(found.final_q, found.q[:, -1])
    assert bool(found.finite.all())


@pytest.mark.parametrize("every", [1, 3, 7])
@pytest.mark.parametrize("count", [1, 33, 1000])
def test_no_size_matters(cart, count, every):
    """A motion does not depend on how many others there are and how it is recorded."""
    q, v = start(cart, count)
    many = rollout(cart, cupy.asarray(q), cupy.asarray(v), 20, 1e-2, every=every, device="cuda")
    alone = rollout(cart, cupy.asarray(q[-1]), cupy.asarray(v[-1]), 20, 1e-2, device="cuda")
    assert alone.q.shape == (21, 2)
    assert cupy.array_equal(many.q[-1], alone.q[::every][: len(many.t)])
    assert cupy.array_equal(many.final_v[-1], alone.final_v)
    few = rollout(cart, cupy.asarray(q), cupy.asarray(v), 20, 1e-2, record=False, device="cuda")
    assert few.q.shape == (count, 0, 2)
    assert cupy.array_equal(few.final_q, many.final_q)


def test_launches_in_pieces_change_nothing(cart, monkeypatch):
    q, v = (cupy.asarray(x) for x in start(cart, 40))
    u = cupy.asarray(np.random.default_rng(1).normal(size=(40, 10, 2)))
    options = {"control": u, "hold": 5, "every": 3, "device": "cuda"}
    whole = rollout(cart, q, v, 50, 1e-2, **options)
    monkeypatch.setattr("dalembert.cuda.recurrence.LAUNCH_NODES", 40 * 150 * 7)
    pieces = rollout(cart, q, v, 50, 1e-2, **options)
    assert cupy.array_equal(whole.q, pieces.q)
    assert cupy.array_equal(whole.final_v, pieces.final_v)


def test_controls_per_trajectory_and_step(cart):
    q, v = start(cart, 50)
    u = np.random.default_rng(3).normal(size=(50, 20, 2))
    found = rollout(cart, *(cupy.asarray(x) for x in (q, v)), 20, 5e-3, control=cupy.asarray(u), device="cuda")
    exact, _ = reference(cart, "rk4", q, v, 20, 5e-3, u)
    assert np.abs(cupy.asnumpy(found.q) - exact).max() < 1e-11
    held = rollout(
        cart, cupy.asarray(q), cupy.asarray(v), 20, 5e-3, control=cupy.asarray(u[:, ::4]), hold=4, device="cuda"
    )
    exact, _ = reference(cart, "rk4", q, v, 20, 5e-3, np.repeat(u[:, ::4], 4, axis=1))
    assert np.abs(cupy.asnumpy(held.q) - exact).max() < 1e-11
    one = rollout(cart, cupy.asarray(q), cupy.asarray(v), 20, 5e-3, control=[0.5, 0.0], device="cuda")
    exact, _ = reference(cart, "rk4", q, v, 20, 5e-3, np.broadcast_to([0.5, 0.0], (50, 20, 2)))
    assert np.abs(cupy.asnumpy(one.q) - exact).max() < 1e-11


def test_agrees_with_the_processor():
    """Policy, gains, summaries, wrenches and parameters, against the compiled loop of the processor."""
    pytest.importorskip("llvmlite")
    model = da.load("cart_pole")
    dynamics = da.Dynamics(model, wrenches=[model.bodies[-1].name])
    q, v = start(da.Dynamics(da.load("cart_pole", parameters="default")), 30)
    gains = np.random.default_rng(0).normal(size=(30, 2))
    values = np.random.default_rng(1).uniform(0.5, 1.5, (30, len(dynamics.parameter_names)))
    options = {
        "control": lambda t, q, v, k: [k[0] * q[0] + k[1] * v[0] + scalar.sin(3 * t), 0],
        "summaries": {"high": ("max", lambda t, q, v: q[1]), "area": ("integral", lambda t, q, v: t * v[0])},
        "wrenches": {model.bodies[-1].name: [0.1, 0.0, -0.2, 0.0, 0.05, 0.0]},
    }
    here = rollout(dynamics, q, v, 40, 1e-3, gains=gains, parameters=values, **options)
    there = rollout(
        dynamics, cupy.asarray(q), cupy.asarray(v), 40, 1e-3, gains=cupy.asarray(gains),
        parameters=cupy.asarray(values), device="cuda", **options,
    )  # fmt: skip
    for a, b in (
        (here.q, there.q),
        (here.final_v, there.final_v),
        *((here.summaries[k], there.summaries[k]) for k in here.summaries),
    ):
        assert np.abs(a - cupy.asnumpy(b)).max() < 1e-10 * max(1, np.abs(a).max())
    names = dict(zip(dynamics.parameter_names, cupy.asarray(values).T))
    named = rollout(
        dynamics, cupy.asarray(q), cupy.asarray(v), 40, 1e-3, gains=cupy.asarray(gains), parameters=names,
        device="cuda", **options,
    )  # fmt: skip
    assert cupy.array_equal(named.q, there.q)


def test_every_library_gets_its_own_kind(cart):
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    q, v = start(cart, 65)
    plain = rollout(cart, q, v, 10, 1e-2, device="cuda")
    assert isinstance(plain.q, np.ndarray)
    with torch.cuda.stream(torch.cuda.Stream()):
        tensors = rollout(cart, torch.from_numpy(q).cuda(), torch.from_numpy(v).cuda(), 10, 1e-2, device="cuda")
        assert isinstance(tensors.q, torch.Tensor)
        assert np.array_equal(tensors.q.cpu().numpy(), plain.q)
        assert bool(tensors.finite.all())
        assert np.array_equal(tensors.trajectory(3).q, plain.q[3])
    arrays = rollout(cart, jax.device_put(q), jax.device_put(v), 10, 1e-2, device="cuda")
    assert isinstance(arrays.final_q, jax.Array)
    assert np.array_equal(np.asarray(arrays.q), plain.q)


def test_dynamics_of_the_device_and_batch_dimensions(cart):
    dynamics = da.Dynamics(cart.mechanism, device="cuda", dtype="float32")
    q, v = (cupy.asarray(x) for x in start(cart, 12))
    grid = rollout(dynamics, q.reshape(3, 4, 2), v[:4], 10, 1e-2)
    assert grid.q.shape == (3, 4, 11, 2)
    assert grid.q.dtype == np.float32
    assert cupy.array_equal(grid.q[2, 1], rollout(dynamics, q[9], v[1], 10, 1e-2).q)
    assert rollout(dynamics, q[:0], v[:0], 10, 1e-2).q.shape == (0, 11, 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_initial_states_lie_in_memory_as_they_like(cart, dtype):
    """Transposed, and one for many controls, as in predictive control by sampling."""
    q, v = start(cart, 40, dtype=dtype)
    columns = [cupy.asarray(np.ascontiguousarray(x.T)).T for x in (q, v)]
    rows = [cupy.asarray(x) for x in (q, v)]
    plain = rollout(cart, *rows, 10, 1e-2, device="cuda")
    assert cupy.array_equal(rollout(cart, *columns, 10, 1e-2, device="cuda").q, plain.q)
    u = np.random.default_rng(1).normal(size=(40, 10, 2)).astype(dtype)
    one = rollout(cart, rows[0][0], rows[1][0], 10, 1e-2, control=cupy.asarray(u), device="cuda")
    exact = rollout(cart, q[0].astype(float), v[0].astype(float), 10, 1e-2, control=u.astype(float))
    assert one.final_q.shape == (40, 2)
    assert np.abs(cupy.asnumpy(one.q) - exact.q).max() < CLOSE[dtype]


def test_what_does_not_fit_is_refused(cart):
    q, v = (cupy.asarray(x) for x in start(cart, 12))
    with pytest.raises(ArgumentError, match="q0 has shape"):
        rollout(cart, q[:, :1], v, 10, device="cuda")
    with pytest.raises(ArgumentError, match="not finite"):
        rollout(cart, q * cupy.nan, v, 10, device="cuda")
    with pytest.raises(ArgumentError, match="batch dimensions"):
        rollout(cart, q, v[:5], 10, device="cuda")
    with pytest.raises(ArgumentError, match="control has shape"):
        rollout(cart, q, v, 10, control=cupy.zeros((12, 9, 2)), device="cuda")
    with pytest.raises(ArgumentError, match="threads"):
        rollout(cart, q, v, 10, threads=2, device="cuda")
    with pytest.raises(ArgumentError, match="device"):
        rollout(cart, q, v, 10, device="tpu")


@pytest.mark.parametrize("redundant", [False, True])
def test_loops_stay_closed_on_the_card(redundant):
    """A planar loop, also by a hinge whose rows across the plane say nothing: twenty steps against the processor's."""
    mechanism = four_bar(kind="revolute") if redundant else four_bar()
    system = da.Dynamics(mechanism, reference=[1.0, -0.5, 1.7])
    q = np.stack([system.assemble([x, -0.5, 1.7], keep=["crank"]) for x in np.linspace(0.9, 1.1, 40)])
    v = np.stack([system.project_velocity(x, [2.0, 0, 0], keep=["crank"]) for x in q])
    ours = rollout(mechanism, cupy.asarray(q), cupy.asarray(v), 20, 5e-3, device="cuda")
    theirs = rollout(mechanism, q, v, 20, 5e-3)
    assert np.abs(cupy.asnumpy(ours.q) - theirs.q).max() < CLOSE[np.float64]
    assert np.abs(system.residual(cupy.asnumpy(ours.final_q))["pin"]).max() < 1e-12


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("law", ["rigid", "convex"])
def test_contacts_are_those_of_the_processor(law, dtype):
    """Balls that start inside the ground or above it, thrown and spinning: lifted, landed, sliding and rolling."""
    ball = da.Dynamics(contact_scenes.ball(), law=law)
    rng = np.random.default_rng(4)
    q, v = np.tile([0, 0, 0.1, 0, 0, 0, 1.0], (50, 1)), rng.normal(size=(50, 6))
    q[:, 2] += rng.uniform(-0.05, 0.1, 50)
    q, v = q.astype(dtype), v.astype(dtype)
    ours = rollout(ball, cupy.asarray(q), cupy.asarray(v), 200, 2e-3, lift=True, device="cuda")
    theirs = rollout(ball, q.astype(float), v.astype(float), 200, 2e-3, lift=True)
    assert np.abs(cupy.asnumpy(ours.final_q) - theirs.final_q).max() < CLOSE[dtype]
    assert np.abs(cupy.asnumpy(ours.final_v) - theirs.final_v).max() < 20 * CLOSE[dtype]
    again = rollout(ball, cupy.asarray(q), cupy.asarray(v), 200, 2e-3, lift=True, device="cuda")
    assert cupy.array_equal(ours.final_q, again.final_q)
    if law == "rigid":
        with pytest.raises(ArgumentError, match="mm deep inside"):
            rollout(ball, cupy.asarray(q), cupy.asarray(v), 200, 2e-3, device="cuda")

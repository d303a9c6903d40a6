"""Kernels in which cooperating warps share the states of a large robot, and every quantity on the device."""

import numpy as np
import pytest

import dalembert as da
from dalembert.cuda.stages import StagedLaunch
from dalembert.dynamics import ALL_QUANTITIES
from dalembert.tracing.trace import evaluate
from random_mechanisms import random_mechanism, walker

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

DIVIDED = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "bias", "inverse_dynamics_derivatives")


@pytest.fixture(scope="module")
def dynamics():
    return da.Dynamics(walker(), device="cuda", wrenches=("leg0_5", "base"))


def state(mechanism, batch, dtype):
    rng = np.random.default_rng(0)
    q, v, a = mechanism.random_state(rng, batch)
    given = {"q": q, "v": v, "a": a, "tau": a, "wrenches": rng.normal(size=(*batch, 2, 6))}
    return {k: x.astype(dtype) for k, x in given.items()}


def check(kernel, given, tolerance):
    """Against the interpreter in double precision, relative to the largest element."""
    found = kernel(*(cupy.asarray(given[p.name]) for p in kernel.inputs))
    exact = evaluate(kernel.program, {p.name: given[p.name].astype(float) for p in kernel.inputs}).values()
    for ours, right in zip(found if isinstance(found, tuple) else (found,), exact):
        assert ours.shape == right.shape
        scale = np.abs(right).max(initial=1e-300)
        assert np.abs(cupy.asnumpy(ours) - right).max(initial=0) <= tolerance * scale


@pytest.mark.parametrize("quantity", DIVIDED)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-3)])
def test_cooperating_warps_agree_with_the_interpreter(dynamics, quantity, dtype, tolerance):
    """For batches that end within a tile and for many tiles per block; rounding as for other kernels."""
    kernel = dynamics.kernel(quantity)
    assert "_worker" in kernel.source(dtype).source
    for batch in ((), (1,), (33,), (64,), (97,), (40_000,)):
        check(kernel, state(dynamics.mechanism, batch, dtype), tolerance)


@pytest.mark.parametrize("quantity", ["mass_matrix", "inverse_dynamics_derivatives", "regressor"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-3)])
def test_cooperating_warps_share_the_results_of_a_chain(quantity, dtype, tolerance):
    """Of matrices that do not fit the shared memory as they are, or are computed of more values than registers."""
    chain = random_mechanism(0, 20 if quantity == "mass_matrix" else 10, branching=0.0, kinds=("revolute",))
    kernel = da.Dynamics(chain, device="cuda").kernel(quantity)
    assert "_worker" in kernel.source(dtype).source
    for batch in ((), (1,), (33,), (97,), (40_000,)):
        check(kernel, state(chain, batch, dtype), tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-3)])
def test_a_long_chain_is_computed_in_pieces(dtype, tolerance):
    chain = random_mechanism(0, 40, branching=0.0, kinds=("revolute",))
    kernel = da.Dynamics(chain, device="cuda").kernel("inverse_dynamics")
    assert "_part1(" in kernel.source(dtype).source
    for batch in ((), (1,), (33,), (97,), (40_000,)):
        check(kernel, state(chain, batch, dtype), tolerance)


def test_cooperating_warps_take_inputs_that_are_the_same_for_all(dynamics):
    given = state(dynamics.mechanism, (100,), np.float64)
    q, v, a, w = (cupy.asarray(given[k]) for k in ("q", "v", "a", "wrenches"))
    once = dynamics.inverse_dynamics(q, v[0], a[0], w[0])
    every = dynamics.inverse_dynamics(q, v[:1].repeat(100, 0), a[:1].repeat(100, 0), w[:1].repeat(100, 0))
    assert cupy.array_equal(once, every)


def test_nan_stays_in_its_state(dynamics):
    given = state(dynamics.mechanism, (100,), np.float64)
    args = [cupy.asarray(given[k]) for k in ("q", "v", "a", "wrenches")]
    clean = dynamics.inverse_dynamics(*args)
    args[0][5, 12] = cupy.nan
    found = dynamics.inverse_dynamics(*args)
    assert cupy.isnan(found[5]).any()
    rest = [k for k in range(100) if k != 5]
    assert cupy.array_equal(found[rest], clean[rest])


@pytest.mark.parametrize("quantity", sorted(ALL_QUANTITIES))
def test_every_quantity_of_an_arm(quantity):
    """Tolerance as above; tasks are well conditioned at this state."""
    arm = da.load("demo_arm")
    spec = ALL_QUANTITIES[quantity]
    kernel = da.Dynamics(arm, device="cuda").kernel(
        quantity, **({"frame": "flange"} if "frame" in spec.options else {})
    )
    given = state(arm, (50,), np.float64)
    extra = {p.name: np.random.default_rng(1).normal(size=(50, *p.shape)) for p in kernel.inputs if p.name not in given}
    check(kernel, {**given, **extra}, 1e-9)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-2)])
def test_a_vast_program_is_computed_in_pieces(monkeypatch, dtype, tolerance):
    """Forward derivatives divide by pivots of the inertia matrix; their condition costs a few digits."""
    monkeypatch.setattr("dalembert.cuda.source.WHOLE_NODES", 1000)
    kernel = da.Dynamics(walker(), device="cuda").kernel("forward_dynamics_derivatives")
    kernel.stages = None
    assert "_part1(" in kernel.source(dtype).source
    for batch in ((1,), (97,), (20_000,)):
        check(kernel, state(da.Dynamics(walker()).mechanism, batch, dtype), tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 2e-2)])
def test_many_results_are_computed_in_stages(dynamics, dtype, tolerance):
    """Tolerance as above."""
    kernel = dynamics.kernel("forward_dynamics_derivatives")
    for batch in ((), (1,), (2,), (97,), (3, 5), (20_000,)):
        check(kernel, state(dynamics.mechanism, batch, dtype), tolerance)
    assert isinstance(kernel._get(0, np.dtype(dtype)), StagedLaunch)


def test_stages_take_inputs_that_are_the_same_for_all(dynamics):
    given = state(dynamics.mechanism, (100,), np.float64)
    q, v, tau, w = (cupy.asarray(given[k]) for k in ("q", "v", "tau", "wrenches"))
    once = dynamics.forward_dynamics_derivatives(q, v[0], tau, w[0])
    every = dynamics.forward_dynamics_derivatives(q, v[:1].repeat(100, 0), tau, w[:1].repeat(100, 0))
    assert all(map(cupy.array_equal, once, every))


def test_bound_stages_read_their_arrays_anew(dynamics):
    """Also when other arrays were made in between: what the stages hand on stays their own."""
    given = state(dynamics.mechanism, (64,), np.float64)
    args = [cupy.asarray(given[k]) for k in ("q", "v", "tau", "wrenches")]
    bound = dynamics.forward_dynamics_derivatives.bind(*args)
    args[1] *= -2
    others = [cupy.full((64, 100), cupy.nan) for _ in range(50)]
    bound()
    cupy.cuda.Device().synchronize()
    right = dynamics.forward_dynamics_derivatives(*args)
    assert all(cupy.isnan(x).all() for x in others)
    assert all(map(cupy.array_equal, bound.outputs, right))

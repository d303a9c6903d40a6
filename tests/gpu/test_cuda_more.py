"""Streams, devices, types and transformations that are easily taken wrongly; run with ``pytest -m gpu``."""

import threading

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from random_mechanisms import random_mechanism

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

ARM = da.load("demo_arm")
DYNAMICS = da.Dynamics(ARM, device="cuda")
BUSY = cupy.RawKernel(
    'extern "C" __global__ void busy(long long cycles) { long long t = clock64(); while (clock64() - t < cycles); }',
    "busy",
)


def state(count, dtype=np.float64):
    return [cupy.asarray(x, dtype) for x in ARM.random_state(np.random.default_rng(0), (count,))]


def busy():
    """Keep the current stream busy for a fraction of a second: work on another one would be done long before."""
    BUSY((1,), (1,), (np.int64(400_000_000),))


@pytest.mark.parametrize("quick", [True, False])
def test_cupy_waits_for_the_stream_it_is_called_on(quick):
    """Inputs that are written late on the caller's stream; on any other stream they would be read before."""
    q, v, a = state(1000)
    plain = DYNAMICS.inverse_dynamics(q, v, a)
    late = cupy.full_like(a, cupy.nan)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        busy()
        late[...] = a
        found = DYNAMICS.inverse_dynamics(q, v, late) if quick else DYNAMICS.inverse_dynamics(q=q, v=v, a=late)
        assert not stream.done  # the call did not wait for the device
    stream.synchronize()
    assert cupy.array_equal(found, plain)


@pytest.mark.parametrize("way", ["quick", "slow", "gradient"])
def test_pytorch_waits_for_the_stream_it_is_called_on(way):
    torch = pytest.importorskip("torch")
    from dalembert.autodiff.torch import TorchDynamics

    q, v, a = (torch.from_numpy(cupy.asnumpy(x)).cuda() for x in state(1000))
    functions = TorchDynamics(DYNAMICS)
    call = functions.inverse_dynamics if way == "gradient" else DYNAMICS.inverse_dynamics

    def given(x):
        return x.T.contiguous().T if way == "slow" else x

    plain = call(q, v, given(a))  # by the same way, so that nothing is left to compile while the clock runs
    late = torch.full_like(a, float("nan"))
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream), cupy.cuda.ExternalStream(stream.cuda_stream):
        busy()
    with torch.cuda.stream(stream):  # the current stream of CuPy is another one
        late.copy_(a)
        found = call(q, v, given(late))
        assert not stream.query()
    stream.synchronize()
    assert torch.equal(found, plain)


def test_devices_must_be_one():
    if cupy.cuda.runtime.getDeviceCount() < 2:
        pytest.skip("needs two CUDA devices")
    q, v, a = state(100)
    with cupy.cuda.Device(1):
        other = cupy.array(cupy.asnumpy(v))
        moved = [cupy.array(cupy.asnumpy(x)) for x in (q, v, a)]
    with pytest.raises(ArgumentError, match="on CUDA device 1"):
        DYNAMICS.inverse_dynamics(q, other, a)
    with pytest.raises(ArgumentError, match="on CUDA device 1"):
        DYNAMICS.inverse_dynamics(q, v, a, out=other)
    found = DYNAMICS.inverse_dynamics(*moved)  # called while device 0 is the current one
    assert found.device.id == 1
    assert np.array_equal(cupy.asnumpy(found), cupy.asnumpy(DYNAMICS.inverse_dynamics(q, v, a)))
    motions = da.rollout(ARM, *moved[:2], 10, device="cuda")
    assert motions.q.device.id == 1
    assert np.array_equal(cupy.asnumpy(motions.q), cupy.asnumpy(da.rollout(ARM, q, v, 10, device="cuda").q))


def test_summaries_of_rollouts_wait_for_the_stream_they_are_called_on():
    torch = pytest.importorskip("torch")
    q, v = (torch.from_numpy(cupy.asnumpy(x)).cuda() for x in state(1000)[:2])
    options = {"summaries": {"last": ("last", lambda t, q, v: q[0])}, "record": False, "device": "cuda"}
    da.rollout(ARM, q, v, 1000, **options)  # compiles
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        found = da.rollout(ARM, q, v, 1000, **options)
        assert torch.equal(found.summaries["last"], found.final_q[:, 0])


def test_threads_of_the_host_compile_and_launch_at_once():
    q, v, a = state(1000)
    wanted = DYNAMICS.forward_dynamics(q, v, a)
    cupy.cuda.Device().synchronize()
    fresh, found = da.Dynamics(ARM, device="cuda"), [None] * 8

    def work(k):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            found[k] = fresh.forward_dynamics(q, v, a)
            stream.synchronize()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(cupy.array_equal(x, wanted) for x in found)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_both_modes_of_pytorch_agree(name):
    """Forward and backward mode with quaternions, on tensors that are not contiguous."""
    torch = pytest.importorskip("torch")
    from dalembert.autodiff.torch import TorchDynamics

    mechanism = random_mechanism(np.random.default_rng(1), 3, kinds=("revolute", "spherical", "prismatic"))
    here = getattr(TorchDynamics(da.Dynamics(mechanism)), name)
    there = getattr(TorchDynamics(da.Dynamics(mechanism, device="cuda")), name)
    state = [torch.tensor(x) for x in mechanism.random_state(np.random.default_rng(0), (5,))]
    turned = [x.T.contiguous().cuda().T for x in state]
    for k in range(3):
        wanted = torch.func.vmap(torch.func.jacrev(here, argnums=k))(*state)
        for transform in (torch.func.jacrev, torch.func.jacfwd):
            found = torch.func.vmap(transform(there, argnums=k))(*turned).cpu()
            assert torch.allclose(found, wanted, rtol=1e-9, atol=1e-9 * float(wanted.abs().max()))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int64"])
def test_types_that_cupy_does_not_know(dtype):
    torch = pytest.importorskip("torch")
    from dalembert.autodiff.torch import TorchDynamics

    function = TorchDynamics(DYNAMICS).inverse_dynamics
    given = [(2 * torch.from_numpy(cupy.asnumpy(x))).to(getattr(torch, dtype)).cuda() for x in state(20)]
    wide = torch.float64 if dtype == "int64" else torch.float32  # as the wrappers promise: short floats become float32
    assert torch.equal(function(*given), function(*(x.to(wide) for x in given)))


def test_jax_takes_integers_and_arguments_of_every_rank():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no CUDA device")
    from dalembert.autodiff.jax import JaxDynamics

    function = JaxDynamics(DYNAMICS).inverse_dynamics
    whole = [np.arange(ARM.nv) % (k + 2) for k in range(3)]
    exact = da.Dynamics(ARM).inverse_dynamics(*(x.astype(float) for x in whole))
    assert np.allclose(function(*whole), exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    q, v, a = (jax.device_put(cupy.asnumpy(x)) for x in state(4))
    grid = jax.jit(jax.vmap(function, in_axes=(0, None, None)))(q, v, a[0])
    assert np.array_equal(grid, function(q[:, None], v, a[0]))

"""CUDA kernels with whatever users give: clear errors or right results; run with ``pytest -m gpu``."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, DeviceError

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

ARM = da.load("demo_arm")
DYNAMICS = da.Dynamics(ARM, device="cuda")


def state(count, dtype=np.float64):
    return [cupy.asarray(x, dtype) for x in ARM.random_state(np.random.default_rng(0), (count,))]


def test_out_may_be_an_input():
    """Whole tiles are read ahead of those that are written: without care results would depend on the order."""
    q, v, a = state(100_000)
    plain = DYNAMICS.inverse_dynamics(q, v, a)
    assert DYNAMICS.inverse_dynamics(q, v, a.copy(), out=v) is v
    assert cupy.array_equal(v, plain)
    _, v, _ = state(100_000)
    buffer = cupy.empty((100_001, ARM.nv))
    buffer[:-1] = q
    DYNAMICS.inverse_dynamics(buffer[:-1], v, a, out=buffer[1:])
    assert cupy.array_equal(buffer[1:], plain)
    bias = DYNAMICS.kernel("inverse_dynamics_derivatives")
    same = cupy.empty((5, ARM.nv, ARM.nv))
    with pytest.raises(ArgumentError, match="shares memory"):
        bias(q[:5], v[:5], a[:5], out=(same, same, cupy.empty_like(same))[: len(bias.outputs)])


def test_out_must_be_writable_memory_of_the_device():
    q, v, a = state(4)
    with pytest.raises(ArgumentError, match="on the device"):
        DYNAMICS.inverse_dynamics(q, v, a, out=np.zeros((4, ARM.nv)))
    with pytest.raises(ArgumentError, match="C-contiguous"):
        DYNAMICS.inverse_dynamics(q, v, a, out=cupy.zeros((ARM.nv, 4)).T)
    with pytest.raises(ArgumentError, match="float64 array"):
        DYNAMICS.inverse_dynamics(q, v, a, out=cupy.zeros((4, ARM.nv), np.float32))


@pytest.mark.parametrize("dtype", [np.int32, np.float16, np.uint8])
def test_other_real_types_are_computed_in_double(dtype):
    q, v, a = (cupy.asarray(cupy.clip(x, 0, 3), dtype) for x in state(40))
    found = DYNAMICS.inverse_dynamics(q, v, a)
    assert found.dtype == np.float64
    assert cupy.array_equal(found, DYNAMICS.inverse_dynamics(*(x.astype(float) for x in (q, v, a))))


def test_what_is_no_real_array_is_refused():
    q, v, a = state(4)
    for bad in (q.astype(complex), q > 0, [["x"] * ARM.nq] * 4, np.array([[None] * ARM.nq] * 4)):
        with pytest.raises(ArgumentError, match="real numbers"):
            DYNAMICS.inverse_dynamics(bad, v, a)


def test_lists_numbers_and_arrays_of_the_host_mix():
    q, v, a = state(4)
    found = DYNAMICS.inverse_dynamics(q, cupy.asnumpy(v), a[0].tolist())
    assert isinstance(found, cupy.ndarray)
    assert cupy.array_equal(found, DYNAMICS.inverse_dynamics(q, v, a[0]))


def test_read_only_arrays_are_read():
    q, v, a = state(4)
    host = [cupy.asnumpy(x) for x in (q, v, a)]
    for x in host:
        x.flags.writeable = False
    with pytest.warns(UserWarning, match="copied"):
        found = DYNAMICS.inverse_dynamics(*host)
    assert np.array_equal(found, cupy.asnumpy(DYNAMICS.inverse_dynamics(q, v, a)))


def test_empty_batches_and_mechanisms_without_joints():
    q, v, a = state(4)
    assert DYNAMICS.inverse_dynamics(q[:0], v[:0], a[:0]).shape == (0, ARM.nv)
    assert DYNAMICS.inverse_dynamics(q[:0, None], v, a).shape == (0, 4, ARM.nv)
    fixed = da.Mechanism("rock", [da.Body("b", da.Inertia.box(1, (1, 1, 1)))], [da.Joint("j", "fixed", "world", "b")])
    rock = da.Dynamics(fixed, device="cuda")
    none = cupy.zeros((5, 0))
    assert rock.inverse_dynamics(none, none, none).shape == (5, 0)
    assert rock.mass_matrix(none).shape == (5, 0, 0)
    assert rock.kinetic_energy(none, none).shape == (5,)


def test_more_elements_than_32_bits_can_count():
    count = 2**31 // ARM.nq + 12_345
    q = cupy.zeros((count, ARM.nq), np.float32)
    few = state(1000, np.float32)[0]
    q[-1000:] = few
    found = DYNAMICS.gravity(q)
    assert cupy.array_equal(found[-1000:], DYNAMICS.gravity(few))
    assert cupy.array_equal(found[:10], DYNAMICS.gravity(q[:10]))
    del q, found
    cupy.get_default_memory_pool().free_all_blocks()


def test_full_memory_says_so():
    q, v, a = state(2)
    wide = cupy.broadcast_to(q[:1], (2**22, ARM.nq))
    with pytest.raises(DeviceError, match="memory of the CUDA device is full"):
        DYNAMICS.mass_matrix(cupy.broadcast_to(wide[:, None], (2**22, 2**10, ARM.nq)))
    assert DYNAMICS.inverse_dynamics(q, v, a).shape == (2, ARM.nv)  # works again
    cart = da.load("cart_pole", parameters="default")
    with pytest.raises(DeviceError, match="full"):
        da.rollout(cart, cupy.zeros((10**6, 2)), cupy.zeros((10**6, 2)), 10**6, device="cuda")


def test_streams():
    """Work is queued behind what the caller's stream has to do first."""
    q, v, a = state(200_000)
    plain = DYNAMICS.inverse_dynamics(q, v, a)
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        x = a
        for _ in range(50):
            x = x + 1
        for _ in range(50):
            x = x - 1
        found = DYNAMICS.inverse_dynamics(q, v, x)
    stream.synchronize()
    assert cupy.allclose(found, plain, rtol=1e-8, atol=1e-8)


def test_tensors_of_pytorch():
    torch = pytest.importorskip("torch")
    q, v, a = (torch.from_numpy(cupy.asnumpy(x)).cuda() for x in state(50))
    plain = DYNAMICS.inverse_dynamics(q, v, a)
    recording = q.clone().requires_grad_()
    with pytest.raises(ArgumentError, match="TorchDynamics"):  # raw kernels are outside autograd
        DYNAMICS.inverse_dynamics(recording, v, a)
    with torch.no_grad():
        assert torch.equal(DYNAMICS.inverse_dynamics(recording, v, a), plain)
    turned = q.T.contiguous().T
    assert not turned.is_contiguous()
    assert torch.equal(DYNAMICS.inverse_dynamics(turned, v, a), plain)
    assert torch.equal(DYNAMICS.inverse_dynamics(q.expand(3, 50, -1), v, a)[2], plain)
    out = torch.empty_like(plain)
    assert DYNAMICS.inverse_dynamics(q, v, a, out=out) is out
    assert torch.equal(out, plain)
    with pytest.raises(ArgumentError, match=r"\.cuda\(\)"):
        DYNAMICS.inverse_dynamics(q.cpu(), v, a)
    assert DYNAMICS.inverse_dynamics(q.float(), v.float(), a.float()).dtype == torch.float32
    assert DYNAMICS.inverse_dynamics(q.float(), v, a).dtype == torch.float64


def test_arrays_of_jax_cannot_be_written():
    jax = pytest.importorskip("jax")
    q, v, a = state(4)
    with pytest.raises(ArgumentError, match="changed"):
        DYNAMICS.inverse_dynamics(q, v, a, out=jax.numpy.zeros((4, ARM.nv)))

"""Kernels on a CUDA device against the float64 interpreter; run with ``pytest -m gpu`` on such a machine."""

import numpy as np
import pytest

import dalembert as da
from dalembert.cuda.arrays import DeviceCopyWarning
from dalembert.errors import ArgumentError
from dalembert.tracing.trace import evaluate

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

ARM = da.load("demo_arm")
QUANTITIES = (
    "inverse_dynamics", "bias", "gravity", "mass_matrix", "coriolis_matrix", "forward_dynamics",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "kinetic_energy", "center_of_mass",
)  # fmt: skip


def floating():
    """A free base with a branch and a slider."""
    place = da.Transform.from_translation((0.1, 0.2, 0.3))
    bodies = [da.Body(n, da.Inertia.box(1.5, (0.2, 0.3, 0.4), (0.01, 0.02, 0.03))) for n in "abc"]
    joints = [
        da.Joint("base", "free", "world", "a"),
        da.Joint("turn", "revolute", "a", "b", place, axis=(0, 1, 0)),
        da.Joint("slide", "prismatic", "a", "c", place, axis=(1, 0, 0)),
    ]
    return da.Mechanism("floating", bodies, joints)


@pytest.fixture(scope="module", params=["arm", "floating"])
def dynamics(request):
    return da.Dynamics(ARM if request.param == "arm" else floating(), device="cuda")


def state(mechanism, batch, dtype=np.float64):
    q, v, a = mechanism.random_state(np.random.default_rng(0), batch)
    given = {"q": q, "v": v, "a": a, "tau": a}
    return {k: x.astype(dtype) for k, x in given.items()}


def run(dynamics, quantity, given, kind=cupy.asarray):
    kernel = dynamics.kernel(quantity)
    result = kernel(*(kind(given[p.name]) for p in kernel.inputs))
    return result if isinstance(result, tuple) else (result,)


def reference(dynamics, quantity, given):
    program = dynamics.program(quantity)
    found = evaluate(program, {p.name: given[p.name].astype(np.float64) for p in program.inputs})
    return [found[p.name] for p in program.outputs]


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-11), (np.float32, 2e-3)])
@pytest.mark.parametrize("batch", [(), (1,), (31,), (32,), (1000,), (3, 7)])
def test_agrees_with_the_interpreter(dynamics, quantity, dtype, tolerance, batch):
    """Rounding, amplified by the condition of the inertia matrix (below 1e4 here) where it is inverted."""
    given = state(dynamics.mechanism, batch, dtype)
    for ours, exact in zip(run(dynamics, quantity, given), reference(dynamics, quantity, given)):
        assert ours.dtype == dtype
        assert ours.shape == np.shape(exact)
        scale = np.abs(exact).max(initial=1e-300)
        assert np.abs(cupy.asnumpy(ours) - exact).max(initial=0) <= tolerance * scale


def test_empty_batch(dynamics):
    given = state(dynamics.mechanism, (0,))
    assert run(dynamics, "inverse_dynamics", given)[0].shape == (0, dynamics.mechanism.nv)


def test_broadcasting_and_non_contiguous_arrays(dynamics):
    m = dynamics.mechanism
    given = state(m, (40,))
    plain = run(dynamics, "inverse_dynamics", given)[0]
    kernel = dynamics.inverse_dynamics
    q, v, a = (cupy.asarray(given[k]) for k in "qva")
    assert cupy.array_equal(kernel(cupy.asfortranarray(q), v[::-1][::-1], a), plain)
    once = kernel(q, v[0], a[:1])
    rows = cupy.stack([kernel(q[k], v[0], a[0]) for k in range(len(q))])
    assert cupy.allclose(once, rows, rtol=1e-13, atol=1e-13)
    grid = kernel(q[:, None], v[None, :5], a[0])
    assert grid.shape == (40, 5, m.nv)
    assert cupy.allclose(grid[3, 2], kernel(q[3], v[2], a[0]), rtol=1e-13, atol=1e-13)


def test_unaligned_views_are_read_correctly(dynamics):
    given = state(dynamics.mechanism, (65,), np.float32)
    kernel = dynamics.inverse_dynamics
    whole = kernel(*(cupy.asarray(given[k]) for k in "qva"))
    shifted = []
    for k in "qva":
        buffer = cupy.zeros(given[k].size + 1, dtype=np.float32)
        buffer[1:] = cupy.asarray(given[k]).ravel()
        shifted.append(buffer[1:].reshape(given[k].shape))
    assert cupy.array_equal(kernel(*shifted), whole)


def test_out_is_written_and_checked(dynamics):
    given = state(dynamics.mechanism, (9,))
    args = [cupy.asarray(given[k]) for k in "qva"]
    out = cupy.full((9, dynamics.mechanism.nv), cupy.nan)
    assert dynamics.inverse_dynamics(*args, out=out) is out
    assert cupy.array_equal(out, dynamics.inverse_dynamics(*args))
    with pytest.raises(ArgumentError, match="out"):
        dynamics.inverse_dynamics(*args, out=cupy.zeros((8, dynamics.mechanism.nv)))


def test_bound_kernel_reads_its_arrays_again(dynamics):
    given = state(dynamics.mechanism, (100,))
    args = [cupy.asarray(given[k]) for k in "qva"]
    bound = dynamics.inverse_dynamics.bind(*args)
    assert cupy.array_equal(bound.outputs[0], dynamics.inverse_dynamics(*args))
    args[2][:] = 2 * args[2]
    bound()
    assert cupy.array_equal(bound.outputs[0], dynamics.inverse_dynamics(*args))
    shared = dynamics.inverse_dynamics.bind(args[0], a=args[2], v=args[1][0].copy())
    assert cupy.array_equal(shared.outputs[0], dynamics.inverse_dynamics(args[0], args[1][0], args[2]))
    for wrong in (args[1].T.copy().T, given["v"], args[1][:50]):
        with pytest.raises(ArgumentError, match=r"bind takes|do not fit together"):
            dynamics.inverse_dynamics.bind(args[0], wrong, args[2])


def test_nan_stays_in_its_state_and_huge_angles_give_nan():
    dynamics = da.Dynamics(ARM, device="cuda")
    given = state(ARM, (64,))
    args = [cupy.asarray(given[k]) for k in "qva"]
    clean = dynamics.inverse_dynamics(*args)
    args[0][5, 1], args[0][7, 2] = cupy.nan, 1e12
    found = dynamics.inverse_dynamics(*args)
    assert cupy.isnan(found[[5, 7]]).any(axis=1).all()
    rest = [k for k in range(64) if k not in (5, 7)]
    assert cupy.array_equal(found[rest], clean[rest])


@pytest.mark.parametrize("size", [10.0, 1e3, 1e5, 9e8])
def test_sines_of_large_angles(size):
    pendulum = da.load("double_pendulum", parameters="default")
    dynamics = da.Dynamics(pendulum, device="cuda")
    q = np.random.default_rng(0).uniform(-size, size, (2000, pendulum.nq))
    exact = reference(dynamics, "gravity", {"q": q})[0]
    ours = cupy.asnumpy(dynamics.gravity(cupy.asarray(q)))
    assert np.abs(ours - exact).max() <= 1e-14 * np.abs(exact).max()


def test_mixed_precision_is_computed_in_double(dynamics):
    given = state(dynamics.mechanism, (4,))
    q, v, a = (cupy.asarray(given[k]) for k in "qva")
    assert dynamics.inverse_dynamics(q, v.astype(np.float32), a).dtype == np.float64


def test_numpy_arrays_are_copied_with_a_warning(dynamics):
    given = state(dynamics.mechanism, (4,))
    with pytest.warns(DeviceCopyWarning, match="copied"):
        found = dynamics.inverse_dynamics(*(given[k] for k in "qva"))
    assert isinstance(found, np.ndarray)


def test_wrong_shapes_say_which(dynamics):
    given = state(dynamics.mechanism, (4,))
    q, v, a = (cupy.asarray(given[k]) for k in "qva")
    with pytest.raises(ArgumentError, match="v has shape"):
        dynamics.inverse_dynamics(q, v[:, :-1], a)
    with pytest.raises(ArgumentError, match="batch shapes"):
        dynamics.inverse_dynamics(q, v[:3], a)
    with pytest.raises(ArgumentError, match=r"inverse_dynamics\(q, v, a\) is missing a"):
        dynamics.inverse_dynamics(q, v)


def test_torch_tensors_come_back_as_tensors_on_the_callers_stream(dynamics):
    torch = pytest.importorskip("torch")
    given = state(dynamics.mechanism, (100,))
    plain = cupy.asnumpy(run(dynamics, "inverse_dynamics", given)[0])
    with torch.cuda.stream(torch.cuda.Stream()):
        args = [torch.from_numpy(given[k]).cuda() for k in "qva"]
        found = dynamics.inverse_dynamics(*args)
        assert isinstance(found, torch.Tensor)
        assert found.is_cuda
        assert np.array_equal(found.cpu().numpy(), plain)
    with pytest.raises(ArgumentError, match=r"\.cuda\(\)"):
        dynamics.inverse_dynamics(*(torch.from_numpy(given[k]) for k in "qva"))


def test_jax_arrays_come_back_as_jax_arrays(dynamics):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    given = state(dynamics.mechanism, (100,))
    plain = cupy.asnumpy(run(dynamics, "inverse_dynamics", given)[0])
    found = dynamics.inverse_dynamics(*(jax.device_put(given[k]) for k in "qva"))
    assert isinstance(found, jax.Array)
    assert np.array_equal(np.asarray(found), plain)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_random_numbers_have_the_bits_of_numbers(dtype):
    def numbers(seed, world):
        return {"even": da.random.uniform((seed, world), 3), "whole": da.random.integers((seed, world), 1000, 5)}

    found = da.kernel(numbers, {"seed": (), "world": ()}, device="cuda")(dtype(7), cupy.arange(5000, dtype=dtype))
    wanted = numbers(7, np.arange(5000))
    np.testing.assert_array_equal(cupy.asnumpy(found.whole), wanted["whole"])
    np.testing.assert_array_equal(cupy.asnumpy(found.even), wanted["even"].astype(dtype))

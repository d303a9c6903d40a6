"""Gradients on a CUDA device, in PyTorch and JAX; run with ``pytest -m gpu`` on such a machine."""

import numpy as np
import pytest

import dalembert as da
from contact.scenes import block
from dalembert.errors import ArgumentError
from dalembert.tracing.evaluate import evaluate
from random_mechanisms import random_mechanism, walker

pytestmark = pytest.mark.gpu
cupy = pytest.importorskip("cupy", reason="needs CuPy")
if not cupy.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

NAMES = ("inverse_dynamics", "forward_dynamics")
MECHANISM = random_mechanism(np.random.default_rng(1), 3, kinds=("revolute", "prismatic", "cylindrical"))


def exact(name, state):
    program = da.Dynamics(MECHANISM).program(name)
    (found,) = evaluate(program, dict(zip((p.name for p in program.inputs), state))).values()
    return found


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def jax():
    module = pytest.importorskip("jax")
    module.config.update("jax_enable_x64", True)
    if module.default_backend() != "gpu":
        pytest.skip("JAX has no CUDA device")
    return module


def tensors(torch, batch):
    state = MECHANISM.random_state(np.random.default_rng(0), batch)
    return [torch.tensor(x, device="cuda", requires_grad=True) for x in state]


@pytest.mark.parametrize("name", NAMES)
def test_gradcheck_on_the_device(torch, name):
    from dalembert.autodiff.torch import TorchDynamics

    function = getattr(TorchDynamics(da.Dynamics(MECHANISM, device="cuda")), name)
    with torch.cuda.stream(torch.cuda.Stream()):
        given = tensors(torch, (2,))
        assert torch.autograd.gradcheck(function, given, rtol=1e-4, atol=1e-4)
        found = function(*given).detach().cpu().numpy()
    wanted = exact(name, [x.detach().cpu().numpy() for x in given])
    assert np.abs(found - wanted).max() < 1e-10 * np.abs(wanted).max()
    with pytest.raises(ArgumentError, match="device='cpu'"):
        function(*(x.detach().cpu() for x in given))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_by_pytorch(torch, backend):
    from dalembert.autodiff.torch import TorchDynamics

    function = TorchDynamics(da.Dynamics(MECHANISM, device="cuda")).forward_dynamics

    def loss(q, v, tau):
        return function(torch.sin(q), v, 2 * tau).square().sum()

    plain, other = tensors(torch, (50,)), tensors(torch, (50,))
    loss(*plain).backward()
    torch.compile(loss, fullgraph=True, backend=backend)(*other).backward()
    for x, y in zip(plain, other):
        assert torch.allclose(x.grad, y.grad, rtol=1e-9, atol=1e-9)


def test_captured_in_a_graph(torch):
    from dalembert.autodiff.torch import TorchDynamics

    function = TorchDynamics(da.Dynamics(MECHANISM, device="cuda")).inverse_dynamics
    given = [x.detach() for x in tensors(torch, (50,))]
    function(*given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = function(*given)
    given[2].mul_(3)
    graph.replay()
    assert torch.equal(found, function(*given))


def test_stages_and_copies_are_captured_in_a_graph(torch):
    """Gradients of a large robot, with inputs that are shared or not contiguous: all memory is the graph's own."""
    mechanism = walker()
    kernel = da.Dynamics(mechanism, device="cuda").forward_dynamics_derivatives
    q, v, tau = (torch.tensor(x, device="cuda") for x in mechanism.random_state(np.random.default_rng(0), (64,)))
    given = q, v[0].clone(), tau.T.contiguous().T
    kernel(*given)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = kernel(*given)
    others = [cupy.full((64, mechanism.nv, mechanism.nv), cupy.nan) for _ in range(20)]
    given[1].mul_(-2)
    graph.replay()
    torch.cuda.synchronize()
    assert all(cupy.isnan(x).all() for x in others)
    assert all(map(torch.equal, found, kernel(*given)))


@pytest.mark.filterwarnings("error::dalembert.cuda.arrays.DeviceCopyWarning")
def test_steps_of_contacts_are_captured_without_their_time(torch):
    """Inputs that are left out, given by name or numbers keep a call quick; so does a kernel that calls a kernel."""
    dynamics = da.Dynamics(block(), device="cuda")
    step = dynamics.kernel("contact_step", sweeps=4)
    composed = da.kernel(
        lambda q, v, s: step(q, v, np.zeros(6), s, 1e-3)[:3],
        {"q": (7,), "v": (6,), "s": (12,)}, device="cuda", outputs=["q", "v", "impulses"],
    )  # fmt: skip
    q = torch.tensor([0, 0, 0.049, 0, 0, 0, 1.0], device="cuda", dtype=torch.float64).repeat(100, 1)
    v, s = torch.randn((100, 6), device="cuda", dtype=torch.float64), torch.zeros((100, 12), device="cuda").double()
    tau = torch.zeros_like(v)
    plain = step(q, v, tau, s, 1e-3)
    composed(q, v, s)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step(q, v, tau, impulses=s, h=1e-3)
        whole = composed(q, v, s=s)
    assert found._fields[:2] == ("q_next", "v_next") and whole._fields == ("q", "v", "impulses")
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found.q_next, plain.q_next)
    assert torch.allclose(whole.v, plain.v_next, rtol=1e-9, atol=1e-9)
    v.mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(found.v_next, step(q, v, tau, s, 1e-3).v_next)


@pytest.mark.parametrize("name", NAMES)
def test_jax_inside_and_outside_jit(jax, name):
    from jax.test_util import check_grads

    from dalembert.autodiff.jax import JaxDynamics

    function = getattr(JaxDynamics(da.Dynamics(MECHANISM, device="cuda")), name)
    state = MECHANISM.random_state(np.random.default_rng(0), (64,))
    arrays = [jax.device_put(x) for x in state]
    wanted = exact(name, state)
    for way in (function, jax.jit(function), jax.vmap(function), jax.jit(jax.vmap(function))):
        found = way(*arrays)
        assert next(iter(found.devices())).platform == "gpu"
        assert np.abs(np.asarray(found) - wanted).max() < 1e-10 * np.abs(wanted).max()
    shared = jax.jit(jax.vmap(function, in_axes=(0, None, 0)))(arrays[0], arrays[1][0], arrays[2])
    assert np.allclose(shared, exact(name, (state[0], np.broadcast_to(state[1][0], state[1].shape), state[2])))
    check_grads(function, [x[:2] for x in arrays], order=1, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)
    single = jax.jit(function)(*(x.astype("float32") for x in arrays))
    assert single.dtype == np.float32
    assert function(*(x[:0] for x in arrays)).shape == (0, MECHANISM.nv)


def test_jacobians_of_jax_have_all_digits_of_single_precision(jax):
    from dalembert.autodiff.jax import JaxDynamics

    function = JaxDynamics(da.Dynamics(MECHANISM, device="cuda")).forward_dynamics
    state = MECHANISM.random_state(np.random.default_rng(0), (64,))
    exact_slope = da.Dynamics(MECHANISM).forward_dynamics_derivatives(*state)[2]
    for way in (jax.jacfwd, jax.jacrev):
        found = jax.jit(jax.vmap(way(function, 2)))(*(jax.device_put(x.astype("float32")) for x in state))
        error = np.abs(np.asarray(found) - exact_slope).max(axis=(1, 2)) / np.abs(exact_slope).max(axis=(1, 2))
        assert np.median(error) < 1e-5


def test_jax_between_other_operations(jax):
    """Operations before and after ours on the same stream: order is kept without waiting."""
    from dalembert.autodiff.jax import JaxDynamics

    function = JaxDynamics(da.Dynamics(MECHANISM, device="cuda")).forward_dynamics
    q, v, tau = (jax.device_put(x) for x in MECHANISM.random_state(np.random.default_rng(0), (20000,)))

    @jax.jit
    def moved(q, v):
        def step(_, state):
            q, v = state
            v = v + 1e-3 * function(q, v, tau)
            return q + 1e-3 * v, v

        return jax.lax.fori_loop(0, 20, step, (q, v))

    found = moved(q, v)
    a, b = np.asarray(q), np.asarray(v)
    for _ in range(20):
        b = b + 1e-3 * exact("forward_dynamics", (a, b, np.asarray(tau)))
        a = a + 1e-3 * b
    assert np.abs(np.asarray(found[1]) - b).max() < 1e-8 * np.abs(b).max()

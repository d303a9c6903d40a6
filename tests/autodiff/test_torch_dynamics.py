"""PyTorch's gradcheck on our functions: analytic derivatives against finite differences of the values."""

import copy
import pickle
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, UnsupportedError
from random_mechanisms import random_mechanism

torch = pytest.importorskip("torch", reason="needs PyTorch")

from dalembert.autodiff.torch import TorchDynamics, _call, _operation  # noqa: E402

ONE_DEGREE = ("revolute", "prismatic", "helical", "universal", "cylindrical", "planar")


def tensors(mechanism, batch=(), seed=0):
    return [torch.tensor(x, requires_grad=True) for x in mechanism.random_state(np.random.default_rng(seed), batch)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("batch", [(), (2,)])
def test_gradcheck(seed, batch):
    mechanism = random_mechanism(np.random.default_rng(seed), 3, kinds=ONE_DEGREE)
    functions = TorchDynamics(da.Dynamics(mechanism))
    q, v, a = tensors(mechanism, batch)
    assert torch.autograd.gradcheck(functions.inverse_dynamics, (q, v, a), rtol=1e-4, atol=1e-6)
    assert torch.autograd.gradcheck(functions.forward_dynamics, (q, v, a), rtol=1e-4, atol=1e-4)


def test_quaternions_by_directional_derivatives():
    """Whatever its length: across the sphere nothing changes, and the gradient has no part."""
    body = da.Mechanism("top", [da.Body("b", da.Inertia.box(2.0, (0.1, 0.2, 0.3), (0.1, 0, 0.05)))],
                        [da.Joint("j", "spherical", "world", "b")])  # fmt: skip
    functions = TorchDynamics(da.Dynamics(body))
    q, v, a = tensors(body)
    q = (1.5 * q.detach()).requires_grad_()
    weights = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)

    def value(eta):
        return float(weights @ functions.inverse_dynamics(eta, v.detach(), a.detach()))

    (weights @ functions.inverse_dynamics(q, v, a)).backward()
    h = 1e-6
    for direction in torch.eye(4, dtype=torch.float64):
        slope = (value(q.detach() + h * direction) - value(q.detach() - h * direction)) / (2 * h)
        assert abs(float(q.grad @ direction) - slope) < 1e-6 * max(1, abs(slope))


def test_broadcast_arguments_get_summed_gradients():
    arm = da.load("demo_arm")
    functions = TorchDynamics(da.Dynamics(arm))
    q, v, a = tensors(arm, (5,))
    one = v.detach()[:1].clone().requires_grad_()
    functions.inverse_dynamics(q, one, a).sum().backward()
    many = one.detach().expand(5, -1).clone().requires_grad_()
    functions.inverse_dynamics(q.detach(), many, a.detach()).sum().backward()
    assert torch.allclose(one.grad, many.grad.sum(0, keepdim=True))


def test_second_derivatives_are_refused():
    arm = da.load("demo_arm")
    q, v, a = tensors(arm)
    loss = TorchDynamics(da.Dynamics(arm)).inverse_dynamics(q, v, a).square().sum()
    (grad,) = torch.autograd.grad(loss, q, create_graph=True)
    with pytest.raises(UnsupportedError, match="inverse_dynamics_hessian"):
        grad.sum().backward()
    forward = TorchDynamics(da.Dynamics(arm)).forward_dynamics
    for twice in (torch.func.hessian, lambda f: torch.func.jacfwd(torch.func.jacfwd(f))):
        with pytest.raises(UnsupportedError, match="forward_dynamics_derivatives"):
            twice(lambda x: forward(q.detach(), x, a.detach()).sum())(v.detach())


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_compiled_without_a_break(name):
    """The graph that torch.compile captures is whole, and gives the same value and gradients."""
    arm = da.load("demo_arm")
    function = getattr(TorchDynamics(da.Dynamics(arm)), name)

    def loss(q, v, a):
        return function(torch.sin(q), v, 2 * a).square().sum()

    plain, other = tensors(arm, (3,)), tensors(arm, (3,))
    loss(*plain).backward()
    torch.compile(loss, fullgraph=True, backend="aot_eager")(*other).backward()
    for x, y in zip(plain, other):
        assert torch.allclose(x.grad, y.grad, rtol=1e-12, atol=1e-12)


def test_forward_mode_within_compiled_functions():
    """PyTorch would take the derivatives of an operation it captured for zero; with one whole graph it must refuse."""
    arm = da.load("demo_arm")
    function = TorchDynamics(da.Dynamics(arm)).forward_dynamics
    q, v, a = (x.detach() for x in tensors(arm))

    def jacobian(x):
        return torch.func.jacfwd(lambda y: function(y, v, a))(x)

    assert torch.equal(torch.compile(jacobian, backend="eager")(q), jacobian(q))
    torch.compiler.reset()  # PyTorch remembers that it left this function as it is
    with pytest.raises(torch._dynamo.exc.Unsupported, match="forward mode"):
        torch.compile(jacobian, backend="eager", fullgraph=True)(q)


def test_operations_keep_pytorch_s_rules():
    arm = da.load("demo_arm")
    function = TorchDynamics(da.Dynamics(arm)).inverse_dynamics
    torch.library.opcheck(_operation(torch, da.Dynamics(arm), "inverse_dynamics"), tuple(tensors(arm, (2,))))
    q, v, a = (x.detach() for x in tensors(arm, (4,)))
    one = torch.func.vmap(function, in_dims=(0, None, 0))(q, v[0], a)
    assert torch.equal(one, function(q, v[0], a))
    grid = torch.func.vmap(function, in_dims=(None, 1, None))(q, v.T.contiguous(), a)
    assert torch.equal(grid, function(q, v[:, None], a))


def test_single_precision_stays_single():
    arm = da.load("demo_arm")
    q, v, a = (x.detach().float().requires_grad_() for x in tensors(arm, (4,)))
    tau = TorchDynamics(da.Dynamics(arm)).inverse_dynamics(q, v, a)
    tau.sum().backward()
    assert tau.dtype == q.grad.dtype == torch.float32


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_both_modes_and_their_batches_agree(name):
    """Forward and backward mode, eager and in torch.func, with quaternions and broadcast arguments."""
    mechanism = random_mechanism(np.random.default_rng(1), 3, kinds=("revolute", "spherical", "prismatic"))
    function = getattr(TorchDynamics(da.Dynamics(mechanism)), name)
    q, v, a = tensors(mechanism, (3,))
    shared = v.detach()[0].clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda v, a: function(q.detach(), v, a), (shared, a), check_forward_ad=True, check_batched_grad=True
    )
    state = [x.detach() for x in (q, v, a)]
    for k in range(3):
        back = torch.func.vmap(torch.func.jacrev(function, argnums=k))(*state)
        ahead = torch.func.vmap(torch.func.jacfwd(function, argnums=k))(*state)
        assert back.abs().max() > 0
        assert torch.allclose(back, ahead, rtol=1e-10, atol=1e-10)
        loss = torch.func.grad(lambda *x: function(*x).sum(), argnums=k)(*state)
        assert torch.allclose(loss, back.sum(1), rtol=1e-10, atol=1e-10)


def test_copies_and_pickles_compute_the_same():
    arm = da.load("demo_arm")
    functions = TorchDynamics(da.Dynamics(arm))
    state = tensors(arm, (2,))
    for other in (copy.deepcopy(functions), pickle.loads(pickle.dumps(functions))):
        assert torch.equal(other.forward_dynamics(*state), functions.forward_dynamics(*state))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_one_rule_of_precision(dtype):
    """The longest number with a point decides, float32 at least; whole numbers decide nothing. As in JAX."""
    arm = da.load("demo_arm")
    function = TorchDynamics(da.Dynamics(arm)).inverse_dynamics
    state = [(2 * x.detach()).to(dtype) for x in tensors(arm, (2,))]
    short = dtype.is_floating_point
    for others, wanted in (
        (dtype, torch.float32 if short else torch.float64),
        (torch.float32, torch.float32),
        (torch.int32, torch.float32 if short else torch.float64),
        (torch.float64, torch.float64),
    ):
        given = [state[0], state[1].to(others), state[2].to(others)]
        found = function(*given)
        assert found.dtype == wanted
        assert torch.equal(found, function(*(x.to(wanted) for x in given)))
    if short:
        found = torch.func.grad(lambda v: function(state[0], v, state[2]).sum())(state[1])
        assert found.dtype == dtype


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_autocast_shortens_no_derivatives(name):
    """Networks around may be computed with three digits; what is ours stays as it is, forward and backward."""
    arm = da.load("demo_arm")
    function = getattr(TorchDynamics(da.Dynamics(arm)), name)
    q, v, a = (x.detach().float() for x in tensors(arm, (4,)))
    ways = (
        lambda: torch.func.jvp(function, (q, v, a), (v, a, q))[1],
        lambda: torch.func.grad(lambda x: function(x, v, a).sum())(q),
        lambda: torch.autograd.functional.jacobian(lambda x: function(x, v, a).sum(0), q),
        lambda: torch.func.jacfwd(lambda x: function(x, v[0], a[0]))(q[0]),
    )
    for way in ways:
        plain = way()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(way(), plain)


def test_what_is_no_fitting_tensor_is_refused():
    arm = da.load("demo_arm")
    function = TorchDynamics(da.Dynamics(arm)).inverse_dynamics
    q, v, a = (x.detach() for x in tensors(arm, (3,)))
    with pytest.raises(ArgumentError, match=r"torch\.as_tensor\(v\)"):
        function(q, v.numpy(), a)
    with pytest.raises(ArgumentError, match="real numbers"):
        function(q, v, a + 0j)
    with pytest.raises(ArgumentError, match=r"q \(2,\), v \(3,\)"):
        function(q[:2], v, a)
    with pytest.raises(ArgumentError, match="v has shape"):
        function(q, v[:, 1:], a)
    with pytest.raises(ArgumentError, match=r"Dynamics\(mechanism\)"):
        TorchDynamics(arm)


def test_parameters_as_inputs_are_refused():
    """The message names them and says what makes numbers of them; that then works."""
    cart, arm = da.load("cart_pole"), da.load("demo_arm")
    with pytest.raises(ArgumentError, match=r"parameter l.*substitute\(mechanism, values\)"):
        TorchDynamics(da.Dynamics(cart))
    with pytest.raises(ArgumentError, match="wrench on flange"):
        TorchDynamics(da.Dynamics(arm, wrenches=("flange",)))
    TorchDynamics(da.Dynamics(da.substitute(cart, dict.fromkeys(cart.symbols, 1.0))))


class _Elsewhere:
    """A tensor on a device that this machine does not have, as far as it is looked at before the kernel is called."""

    def __init__(self, kind):
        self.device, self.is_cuda = torch.device(kind), kind == "cuda"


@pytest.mark.parametrize(
    ("places", "made_for", "told"),
    [
        (("cuda", "cpu", "cuda"), "cuda", r"v is on cpu, the kernels are for cuda: move it with \.to\('cuda'\)$"),
        (("cpu", "cpu", "cpu"), "cuda", r"q is on cpu.*\.to\('cuda'\), or make them with Dynamics\(.*'cpu'\)"),
        (("cuda", "cuda", "cuda"), "cpu", r"q is on cuda.*\.to\('cpu'\), or make them with Dynamics\(.*'cuda'\)"),
        (("mps", "mps", "mps"), "cpu", r"q is on mps, the kernels are for cpu: move it with \.to\('cpu'\)$"),
    ],
)
def test_advice_on_devices_leads_somewhere(places, made_for, told):
    kernel = da.Dynamics(da.load("demo_arm")).kernel("inverse_dynamics")
    with pytest.raises(ArgumentError, match=told):
        _call(torch, SimpleNamespace(device=made_for), kernel, *map(_Elsewhere, places))


def test_tensors_without_numbers_do_not_mix_with_others():
    """PyTorch asks for shapes alone as soon as one tensor is on ``meta``; numbers of others would be lost."""
    functions = TorchDynamics(da.Dynamics(da.load("demo_arm")))
    zero = torch.zeros(6, dtype=torch.float64)
    with pytest.raises(ArgumentError, match="a is on meta, q on cpu"):
        functions.inverse_dynamics(zero, zero, zero.to("meta"))

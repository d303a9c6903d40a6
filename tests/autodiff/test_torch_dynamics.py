"""PyTorch's gradcheck on our functions: analytic derivatives against finite differences of the values."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from random_mechanisms import random_mechanism

torch = pytest.importorskip("torch", reason="needs PyTorch")

from dalembert.autodiff.torch import TorchDynamics  # noqa: E402

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
    """Along the unit sphere the gradient must give the derivative; across it, nothing."""
    body = da.Mechanism("top", [da.Body("b", da.Inertia.box(2.0, (0.1, 0.2, 0.3), (0.1, 0, 0.05)))],
                        [da.Joint("j", "spherical", "world", "b")])  # fmt: skip
    functions = TorchDynamics(da.Dynamics(body))
    q, v, a = tensors(body)
    weights = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)

    def value(eta):
        return float(weights @ functions.inverse_dynamics(eta / eta.norm(), v.detach(), a.detach()))

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
    with pytest.raises(RuntimeError, match="autograd formula"):
        grad.sum().backward()


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


def test_operations_keep_pytorch_s_rules():
    arm = da.load("demo_arm")
    function = TorchDynamics(da.Dynamics(arm)).inverse_dynamics
    operation = TorchDynamics(da.Dynamics(arm))._inverse
    torch.library.opcheck(operation, tuple(tensors(arm, (2,))))
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


def test_parameters_as_inputs_are_refused():
    with pytest.raises(ArgumentError, match="parameters"):
        TorchDynamics(da.Dynamics(da.load("cart_pole")))

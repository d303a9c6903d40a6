"""PyTorch on our functions: gradients against the complex step, gradgradcheck, kernels of second derivatives."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.autodiff.rollout import DifferentiableRollout
from dalembert.autodiff.wrapper import differentiable
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.tracing.evaluate import evaluate
from random_mechanisms import random_mechanism

torch = pytest.importorskip("torch", reason="needs PyTorch")

from dalembert.autodiff.torch import TorchDynamics, _check_devices, _operation, _registered  # noqa: E402

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


@pytest.fixture(scope="module")
def pendulum():
    """A double pendulum with a mass, a length, damping and gravity as inputs, and a wrench on its end."""
    mechanism = da.load("double_pendulum", parameters="default")
    last = mechanism.bodies[-1].name
    addresses = [f"{last}.mass", f"{mechanism.joints[-1].name}.placement.x", "gravity.z", "gravity.y"]
    addresses.append(f"{mechanism.joints[0].name}.damping")
    return da.Dynamics(mechanism, parameters=addresses, wrenches=[last], include=["damping"])


def whole(functions, name):
    """A quantity as a function of all its arguments by position."""
    function = getattr(functions, name)
    return lambda q, v, third, wrenches, numbers: function(q, v, third, wrenches=wrenches, parameters=numbers)


def arguments(dynamics, batch=(), seed=3):
    rng = np.random.default_rng(seed)
    state = dynamics.mechanism.random_state(rng, batch)
    return [*state, rng.normal(size=(*batch, 1, 6)), dynamics.parameter_values + 0.1]


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_gradients_by_everything_are_those_of_the_complex_step(pendulum, name):
    """Exact to rounding: the program itself on complex numbers."""
    function, program = whole(TorchDynamics(pendulum), name), pendulum.kernel(name).program
    state = arguments(pendulum)
    given = [torch.tensor(x, requires_grad=True) for x in state]
    weights = np.array([0.7, -1.3])
    result = function(*given)
    assert np.array_equal(result.detach(), getattr(pendulum, name)(*state))
    result.backward(torch.tensor(weights))
    for k, x in enumerate(state):
        for place in np.ndindex(x.shape):
            moved = [y.astype(complex) for y in state]
            moved[k][place] += 1e-30j
            slope = weights @ next(iter(evaluate(program, moved).values())).imag / 1e-30
            assert abs(float(given[k].grad[place]) - slope) < 1e-12 * (1 + abs(slope))


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_differentiable_twice_by_everything(pendulum, name):
    function = whole(TorchDynamics(pendulum), name)
    given = [torch.tensor(x, requires_grad=True) for x in arguments(pendulum, (2,))]
    assert torch.autograd.gradcheck(function, given, check_forward_ad=True, check_batched_grad=True, atol=1e-4)
    # Differences of first derivatives have half the digits of what they are taken of.
    assert torch.autograd.gradgradcheck(function, given, atol=1e-3, rtol=1e-3)


def test_hessians_are_those_of_the_kernel(pendulum):
    dynamics = da.Dynamics(pendulum.mechanism)
    function = TorchDynamics(dynamics).inverse_dynamics
    state = dynamics.mechanism.random_state(np.random.default_rng(5))
    qq, vq, vv, aq = (torch.as_tensor(x) for x in dynamics.inverse_dynamics_hessian(*state))
    q, v, a = map(torch.as_tensor, state)
    ahead, back = torch.func.jacfwd, torch.func.jacrev
    for one, two in ((ahead, ahead), (ahead, back), (back, ahead), (back, back)):
        for found, wanted in (
            (one(two(lambda x: function(x, v, a)))(q), qq),
            (one(two(lambda x: function(q, x, a)))(v), vv),
            (one(two(lambda x, y: function(x, y, a), 1), 0)(q, v), vq),
            (one(two(lambda x, y: function(x, v, y), 1), 0)(q, a), aq),
        ):
            assert torch.allclose(found, wanted, rtol=1e-10, atol=1e-10)
    each = torch.func.vmap(torch.func.hessian(lambda x: function(x, v, a)))(torch.stack([q, q + 0.1]))
    assert torch.allclose(each[0], qq, rtol=1e-10, atol=1e-10)


def test_second_derivatives_along_the_sphere_of_a_quaternion():
    """Curves on it have no derivative along the radius; JAX, which takes the same programs another way, agrees too."""
    top = da.Mechanism("top", [da.Body("b", da.Inertia.box(2.0, (0.1, 0.2, 0.3), (0.1, 0, 0.05)))],
                       [da.Joint("j", "spherical", "world", "b")])  # fmt: skip
    function = TorchDynamics(da.Dynamics(top)).forward_dynamics
    q, v, tau = (x.detach() for x in tensors(top))
    direction = torch.tensor([0.3, -0.2, 0.5, 0.1], dtype=torch.float64)

    def along(s):
        return function(q + s * direction, v, tau)

    zero = torch.tensor(0.0, dtype=torch.float64)
    second = torch.func.jacfwd(torch.func.jacfwd(along))(zero)
    h = 1e-4
    difference = (along(h) - 2 * along(0.0) + along(-h)) / h**2
    assert (second - difference).abs().max() < 1e-5 * second.abs().max()
    assert torch.allclose(torch.func.jacfwd(torch.func.jacrev(along))(zero), second, rtol=1e-9)


def test_constrained_dynamics_have_second_derivatives():
    mechanism = da.load("four_bar", parameters="default")
    dynamics = da.Dynamics(mechanism, reference=[1.0, -0.7, 1.6], parameters=["crank.mass"])
    q = dynamics.assemble()
    v = dynamics.project_velocity(q, [1.0, 0, 0])
    function = TorchDynamics(dynamics).forward_dynamics
    q = torch.as_tensor(q)
    given = [torch.tensor(x, requires_grad=True) for x in (v, np.array([1.0, 0.2, -0.3]), dynamics.parameter_values)]
    assert torch.autograd.gradgradcheck(
        lambda v, tau, p: function(q, v, tau, parameters=p), given, atol=1e-3, rtol=1e-3
    )


def test_every_quantity_is_a_differentiable_function(pendulum):
    functions = TorchDynamics(pendulum)
    frame = pendulum.mechanism.bodies[-1].name
    state = pendulum.mechanism.random_state(np.random.default_rng(2))
    q, v, _ = map(torch.as_tensor, state)
    J = pendulum.jacobian(state[0], parameters=pendulum.parameter_values, frame=frame)
    slope = torch.func.jacfwd(lambda q: functions.quantity("pose", frame=frame)(q)[1])(q)
    assert np.allclose(slope, J[:3], atol=1e-12)
    momentum = torch.func.grad(lambda v: functions.quantity("kinetic_energy")(q, v))(v)
    assert np.allclose(momentum, pendulum.generalised_momentum(*state[:2]), rtol=1e-12)


def test_inputs_by_name_are_checked(pendulum):
    functions = TorchDynamics(pendulum)
    q, v, a = map(torch.as_tensor, pendulum.mechanism.random_state(np.random.default_rng(2)))
    with pytest.raises(ArgumentError, match="needs wrenches"):
        functions.inverse_dynamics(q, v, a)
    with pytest.raises(ArgumentError, match=r"wrenches has shape \(6,\)"):
        functions.inverse_dynamics(q, v, a, wrenches=torch.zeros(6))
    with pytest.raises(ArgumentError, match="no input 'masses'"):
        functions.inverse_dynamics(q, v, a, wrenches=torch.zeros(1, 6), masses=1.0)
    with pytest.raises(ArgumentError, match=r"torch\.as_tensor\(v0\)"):
        functions.rollout(q, v.numpy(), steps=3)
    with pytest.raises(ArgumentError, match="needs parameters"):
        TorchDynamics(da.Dynamics(da.load("cart_pole"))).inverse_dynamics(q, v, a)


def test_rollouts_have_gradients(pendulum):
    """Those of the adjoint, by every tensor, broadcast and under vmap; a second derivative is refused."""
    dynamics = da.Dynamics(pendulum.mechanism, parameters=pendulum.parameter_names, include=["damping"])
    functions = TorchDynamics(dynamics)
    q0, v0, _ = dynamics.mechanism.random_state(np.random.default_rng(2))
    control = np.random.default_rng(3).normal(size=(12, 2))
    given = {"q0": q0, "v0": v0, "control": control, "parameters": dynamics.parameter_values}
    motion = DifferentiableRollout(dynamics, 12, 0.02, every=3)
    q, v = motion(**given)
    wanted = motion.gradient(2 * q, 2 * v, **given)
    named = {name: torch.tensor(x, requires_grad=True) for name, x in given.items()}

    def loss(q0, v0, control, parameters):
        q, v = functions.rollout(q0, v0, control, steps=12, step=0.02, every=3, parameters=parameters)
        return q.square().sum() + v.square().sum()

    loss(**named).backward()
    for name, x in named.items():
        np.testing.assert_allclose(x.grad, wanted[name], rtol=1e-12, atol=1e-12)
    plain = [x.detach() for x in named.values()]
    slope = torch.func.grad(loss, argnums=3)
    starts, masses = torch.stack([plain[0], plain[0] + 0.1]), torch.stack([plain[3]] * 2)
    many = torch.func.vmap(slope, in_dims=(0, None, None, 0))(starts, *plain[1:3], masses)
    for k in range(2):
        assert torch.allclose(many[k], slope(starts[k], *plain[1:]), rtol=1e-10)
    torch.compile(loss, backend="aot_eager")(*(x.requires_grad_() for x in plain)).backward()
    assert torch.allclose(plain[3].grad, named["parameters"].grad, rtol=1e-12)
    with pytest.raises(UnsupportedError, match="once"):
        (grad,) = torch.autograd.grad(loss(**named), named["v0"], create_graph=True)
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
    program = differentiable(da.Dynamics(arm), "inverse_dynamics", {})
    _operation(torch, program)
    torch.library.opcheck(_registered[f"dalembert::inverse_dynamics_{program.identity}"], tuple(tensors(arm, (2,))))
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
        _check_devices(made_for, kernel.inputs, [*map(_Elsewhere, places)])


def test_tensors_without_numbers_do_not_mix_with_others():
    """PyTorch asks for shapes alone as soon as one tensor is on ``meta``; numbers of others would be lost."""
    functions = TorchDynamics(da.Dynamics(da.load("demo_arm")))
    zero = torch.zeros(6, dtype=torch.float64)
    with pytest.raises(ArgumentError, match="a is on meta, the kernels are for cpu"):
        functions.inverse_dynamics(zero, zero, zero.to("meta"))

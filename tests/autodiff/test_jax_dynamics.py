"""JAX: jit, vmap, jvp and grad of our functions against directional differences."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from random_mechanisms import random_mechanism

jax = pytest.importorskip("jax", reason="needs JAX")
jax.config.update("jax_enable_x64", True)

from dalembert.autodiff.jax import JaxDynamics  # noqa: E402

ONE_DEGREE = ("revolute", "prismatic", "helical", "universal", "cylindrical", "planar")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_grad_and_jvp_agree_with_differences(seed, name):
    from jax.test_util import check_grads

    mechanism = random_mechanism(np.random.default_rng(seed), 3, kinds=ONE_DEGREE)
    function = getattr(JaxDynamics(da.Dynamics(mechanism)), name)
    state = mechanism.random_state(np.random.default_rng(seed))
    check_grads(function, state, order=1, modes=["fwd", "rev"], rtol=1e-4, atol=1e-4)


def test_jit_and_vmap_give_the_kernel_s_numbers():
    arm = da.load("demo_arm")
    dynamics = da.Dynamics(arm)
    functions = JaxDynamics(dynamics)
    q, v, a = arm.random_state(np.random.default_rng(0), (7,))
    plain = dynamics.inverse_dynamics(q, v, a)
    assert np.array_equal(np.asarray(jax.jit(functions.inverse_dynamics)(q, v, a)), plain)
    assert np.array_equal(np.asarray(jax.vmap(functions.inverse_dynamics)(q, v, a)), plain)
    once = jax.jit(jax.vmap(functions.inverse_dynamics, in_axes=(0, None, 0)))(q, v[0], a)
    assert np.array_equal(np.asarray(once), dynamics.inverse_dynamics(q, v[0], a))


def test_derivatives_are_multiplied_with_all_digits():
    """On a card JAX shortens single precision to three digits unless told otherwise, as its programs show anywhere."""
    arm = da.load("demo_arm")
    function = JaxDynamics(da.Dynamics(arm)).forward_dynamics
    state = [jax.numpy.asarray(x, dtype="float32") for x in arm.random_state(np.random.default_rng(0))]
    for way in (jax.jacfwd, jax.jacrev, lambda f: jax.vmap(jax.jacrev(f))):
        given = [x[None] for x in state] if way not in (jax.jacfwd, jax.jacrev) else state
        text = str(jax.make_jaxpr(way(function))(*given))
        assert text.count("dot_general") == text.count("Precision.HIGHEST, Precision.HIGHEST") > 0


def test_quaternions_change_nothing_across_the_sphere():
    body = da.Mechanism("top", [da.Body("b", da.Inertia.box(2.0, (0.1, 0.2, 0.3), (0.1, 0, 0.05)))],
                        [da.Joint("j", "spherical", "world", "b")])  # fmt: skip
    function = JaxDynamics(da.Dynamics(body)).inverse_dynamics
    q, v, a = body.random_state(np.random.default_rng(0))
    _, across = jax.jvp(lambda x: function(x, v, a), (q,), (q,))
    assert np.abs(across).max() < 1e-12
    direction = np.array([0.3, -0.2, 0.5, 0.1])
    _, along = jax.jvp(lambda x: function(x, v, a), (q,), (direction,))
    h = 1e-6
    value = [function((q + s * direction) / np.linalg.norm(q + s * direction), v, a) for s in (h, -h)]
    assert np.abs(along - (value[0] - value[1]) / (2 * h)).max() < 1e-6 * max(1, np.abs(along).max())


def test_wrong_shapes_and_devices_are_refused():
    arm = da.load("demo_arm")
    q, v, a = arm.random_state(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="v has shape"):
        JaxDynamics(da.Dynamics(arm)).inverse_dynamics(q, v[:-1], a)
    with pytest.raises(ArgumentError, match="device='cpu'"):
        JaxDynamics(da.Dynamics(arm, device="cuda"))
    with pytest.raises(ArgumentError, match=r"Dynamics\(mechanism\)"):
        JaxDynamics(arm)
    with pytest.raises(ArgumentError, match=r"q \(2,\), v \(3,\)"):
        JaxDynamics(da.Dynamics(arm)).inverse_dynamics(np.zeros((2, arm.nq)), np.zeros((3, arm.nv)), a)
    with pytest.raises(ArgumentError, match="a has dtype complex128"):
        jax.jit(JaxDynamics(da.Dynamics(arm)).inverse_dynamics)(q, v, a + 0j)


def test_numbers_keep_their_precision_but_never_become_integers():
    arm = da.load("demo_arm")
    function = JaxDynamics(da.Dynamics(arm)).inverse_dynamics
    whole = [np.arange(arm.nv) % (k + 2) for k in range(3)]
    exact = da.Dynamics(arm).inverse_dynamics(*(x.astype(float) for x in whole))
    assert np.array_equal(function(*(x.tolist() for x in whole)), exact)
    by_v = jax.grad(lambda v: function(whole[0], v, whole[2]).sum())(whole[1].astype(float))
    assert by_v.shape == (arm.nv,)
    for given, wanted in (("float16", "float32"), ("bfloat16", "float32"), ("float32", "float32"), (bool, "float64")):
        found = function(*(jax.numpy.asarray(x).astype(given) for x in whole))
        assert found.dtype == wanted
    for given, wanted in (("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int8", "float64")):
        assert function(whole[0], whole[1].astype(given), whole[2]).dtype == wanted  # whole numbers decide nothing
    single = JaxDynamics(da.Dynamics(arm, dtype="float32")).inverse_dynamics(*(x.astype(float) for x in whole))
    assert single.dtype == np.float32


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_vmap_of_arguments_of_every_rank(name):
    """A new dimension comes before those that an argument has already, also where another has none."""
    arm = da.load("demo_arm")
    function = getattr(JaxDynamics(da.Dynamics(arm)), name)
    q, v, a = arm.random_state(np.random.default_rng(0), (4,))
    once = jax.vmap(function, in_axes=(0, None, None))
    assert np.array_equal(once(q, v, a[0]), function(q[:, None], v, a[0]))
    slope = jax.vmap(jax.grad(lambda q, v, a: function(q, v, a).sum()), in_axes=(0, None, None))(q, v, a[0])
    each = [jax.grad(lambda x: function(x, v, a[0]).sum())(row) for row in q]
    assert np.allclose(slope, each, rtol=1e-12, atol=1e-12)


TOP = da.Mechanism(
    "top",
    [da.Body("hull", da.Inertia(3.0, [0.01, 0, 0.02], np.diag([0.2, 0.3, 0.4])))],
    [da.Joint("base", "spherical", "world", "hull")],
)


@pytest.fixture(scope="module")
def pendulum():
    """A double pendulum with a mass, a length, damping and gravity as inputs, and a wrench on its end."""
    mechanism = da.load("double_pendulum", parameters="default")
    last = mechanism.bodies[-1].name
    addresses = [f"{last}.mass", f"{mechanism.joints[-1].name}.placement.x", "gravity.z", "gravity.y"]
    addresses.append(f"{mechanism.joints[0].name}.damping")
    return da.Dynamics(mechanism, parameters=addresses, wrenches=[last], include=["damping"])


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_wrenches_and_parameters_are_differentiable_twice(pendulum, name):
    from jax.test_util import check_grads

    function = getattr(JaxDynamics(pendulum), name)
    q, v, a = pendulum.mechanism.random_state(np.random.default_rng(3))
    wrenches = np.random.default_rng(4).normal(size=(1, 6))
    numbers = pendulum.parameter_values + 0.1

    def whole(q, v, a, wrenches, numbers):
        return function(q, v, a, wrenches=wrenches, parameters=numbers)

    kernel = getattr(pendulum, name)
    assert np.array_equal(whole(q, v, a, wrenches, numbers), kernel(q, v, a, wrenches, numbers))
    state = (q, v, a, wrenches, numbers)
    # Differences of first derivatives have half the digits of what they are taken of.
    check_grads(whole, state, order=2, modes=["fwd", "rev"], rtol=1e-3, atol=1e-3)


def test_hessians_are_those_of_the_kernel(pendulum):
    dynamics = da.Dynamics(pendulum.mechanism)
    function = JaxDynamics(dynamics).inverse_dynamics
    q, v, a = dynamics.mechanism.random_state(np.random.default_rng(5))
    qq, vq, vv, aq = dynamics.inverse_dynamics_hessian(q, v, a)
    exact = {"rtol": 1e-10, "atol": 1e-10}
    assert np.allclose(jax.hessian(lambda x: function(x, v, a))(q), qq, **exact)
    assert np.allclose(jax.hessian(lambda x: function(q, x, a))(v), vv, **exact)
    assert np.allclose(jax.jacfwd(jax.jacrev(lambda x, y: function(x, y, a), 1), 0)(q, v), vq, **exact)
    assert np.allclose(jax.jacrev(jax.jacrev(lambda x, y: function(x, v, y), 1), 0)(q, a), aq, **exact)
    each = jax.jit(jax.vmap(jax.hessian(lambda x: function(x, v, a))))(np.stack([q, q + 0.1, q - 0.2]))
    assert np.allclose(each[0], qq, **exact)


def test_second_derivatives_along_the_sphere_of_a_quaternion():
    """Curves on it have no derivative along the radius; second differences along a curve say what it is."""
    function = JaxDynamics(da.Dynamics(TOP)).forward_dynamics
    q, v, tau = TOP.random_state(np.random.default_rng(1))
    direction = np.array([0.3, -0.2, 0.5, 0.1])

    def along(s):
        return function(q + s * direction, v, tau)

    second = jax.jacfwd(jax.jacfwd(along))(0.0)
    h = 1e-4
    difference = (along(h) - 2 * along(0.0) + along(-h)) / h**2
    assert np.abs(second - difference).max() < 1e-5 * np.abs(second).max()
    assert np.allclose(jax.jacfwd(jax.jacrev(along))(0.0), second, rtol=1e-9)


def test_constrained_dynamics_have_second_derivatives():
    from jax.test_util import check_grads

    mechanism = da.load("four_bar", parameters="default")
    dynamics = da.Dynamics(mechanism, reference=[1.0, -0.7, 1.6], parameters=["crank.mass"])
    q = dynamics.assemble()
    v = dynamics.project_velocity(q, [1.0, 0, 0])
    function = JaxDynamics(dynamics).forward_dynamics
    state = (v, np.array([1.0, 0.2, -0.3]), dynamics.parameter_values)
    check_grads(lambda v, tau, p: function(q, v, tau, parameters=p), state, order=2, rtol=1e-3, atol=1e-3)


def test_every_quantity_is_a_differentiable_function(pendulum):
    functions = JaxDynamics(pendulum)
    frame = pendulum.mechanism.bodies[-1].name
    q, v, _ = pendulum.mechanism.random_state(np.random.default_rng(2))
    J = pendulum.jacobian(q, parameters=pendulum.parameter_values, frame=frame)
    _, position = functions.quantity("pose", frame=frame)(q)
    slope = jax.jacfwd(lambda q: functions.quantity("pose", frame=frame)(q)[1])(q)
    assert position.shape == (3,)
    assert np.allclose(slope, J[:3], atol=1e-12)
    momentum = jax.grad(lambda v: functions.quantity("kinetic_energy")(q, v))(v)
    assert np.allclose(momentum, pendulum.generalised_momentum(q, v), rtol=1e-12)


def test_inputs_by_name_are_checked(pendulum):
    functions = JaxDynamics(pendulum)
    q, v, a = pendulum.mechanism.random_state(np.random.default_rng(2))
    with pytest.raises(ArgumentError, match="needs wrenches"):
        functions.inverse_dynamics(q, v, a)
    with pytest.raises(ArgumentError, match=r"wrenches has shape \(6,\)"):
        functions.inverse_dynamics(q, v, a, wrenches=np.zeros(6))
    with pytest.raises(ArgumentError, match="no input 'masses'"):
        functions.inverse_dynamics(q, v, a, wrenches=np.zeros((1, 6)), masses=1.0)


def test_rollouts_have_gradients_under_jit_and_vmap(pendulum):
    functions = JaxDynamics(da.Dynamics(pendulum.mechanism, parameters=pendulum.parameter_names))
    q0, v0, _ = pendulum.mechanism.random_state(np.random.default_rng(2))
    control = np.random.default_rng(3).normal(size=(12, 2))
    numbers = functions.dynamics.parameter_values

    def loss(q0, v0, control, numbers):
        q, v = functions.rollout(q0, v0, control, steps=12, step=0.02, every=3, parameters=numbers)
        return (q**2).sum() + (v**2).sum()

    from jax.test_util import check_grads

    check_grads(loss, (q0, v0, control, numbers), order=1, modes=["rev"], rtol=1e-4, atol=1e-4)
    slope = jax.grad(loss, 3)
    plain = slope(q0, v0, control, numbers)
    assert np.allclose(jax.jit(slope)(q0, v0, control, numbers), plain, rtol=1e-12)
    many = jax.vmap(slope, in_axes=(0, None, None, 0))(np.stack([q0, q0 + 0.1]), v0, control, np.stack([numbers] * 2))
    assert np.allclose(many[0], plain, rtol=1e-10)
    wide = jax.vmap(lambda q: functions.rollout(q, v0, np.stack([control, -control]), steps=12, step=0.02)[0])
    assert wide(np.stack([q0, q0, q0])).shape == (3, 2, 13, 2)


def test_copies_and_pickles_compute_the_same():
    arm = da.load("demo_arm")
    functions = JaxDynamics(da.Dynamics(arm))
    state = arm.random_state(np.random.default_rng(0))
    for other in (copy.deepcopy(functions), pickle.loads(pickle.dumps(functions))):
        assert np.array_equal(other.forward_dynamics(*state), functions.forward_dynamics(*state))

"""JAX: jit, vmap, jvp and grad of our functions against directional differences."""

import copy
import pickle

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, UnsupportedError
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


def test_second_derivatives_say_where_they_are():
    arm = da.load("demo_arm")
    functions = JaxDynamics(da.Dynamics(arm))
    q, v, a = arm.random_state(np.random.default_rng(0))
    with pytest.raises(UnsupportedError, match="inverse_dynamics_hessian"):
        jax.hessian(lambda x: functions.inverse_dynamics(q, x, a).sum())(v)
    with pytest.raises(UnsupportedError, match="forward_dynamics_derivatives"):
        jax.jit(jax.jacfwd(jax.jacfwd(lambda x: functions.forward_dynamics(q, x, a))))(v)


def test_copies_and_pickles_compute_the_same():
    arm = da.load("demo_arm")
    functions = JaxDynamics(da.Dynamics(arm))
    state = arm.random_state(np.random.default_rng(0))
    for other in (copy.deepcopy(functions), pickle.loads(pickle.dumps(functions))):
        assert np.array_equal(other.forward_dynamics(*state), functions.forward_dynamics(*state))

"""JAX: jit, vmap, jvp and grad of our functions against directional differences."""

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

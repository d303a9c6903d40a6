"""Python functions as operations of XLA: they see its buffers, under every transformation, and may fail."""

import ctypes

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="needs JAX")
jax.config.update("jax_enable_x64", True)

from dalembert.autodiff.xla import register  # noqa: E402


def view(buffer):
    kind = ctypes.c_double if buffer.dtype == np.float64 else ctypes.c_float
    return np.ctypeslib.as_array(ctypes.cast(buffer.pointer, ctypes.POINTER(kind)), buffer.shape)


def run(arguments, results, stream):
    assert stream == 0
    x, y = (view(b) for b in arguments)
    if (x < 0).any():
        raise ValueError("x is negative")
    view(results[0])[...] = x + 2 * y
    view(results[1])[...] = (x * y).sum(axis=-1)


def operation(x, y):
    register(jax, "dalembert_test_operation", "cpu", run)
    shapes = (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(x.shape[:-1], x.dtype))
    return jax.ffi.ffi_call("dalembert_test_operation", shapes, vmap_method="broadcast_all")(x, y)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="JAX computes elsewhere")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_buffers_are_those_of_xla(dtype):
    x, y = np.arange(24).reshape(4, 6).astype(dtype), np.ones((4, 6), dtype)
    for way in (operation, jax.jit(operation), jax.vmap(operation), jax.jit(jax.vmap(operation, in_axes=(0, 0)))):
        total, dot = way(x, y)
        assert total.dtype == dtype
        assert np.array_equal(total, x + 2 * y)
        assert np.array_equal(dot, (x * y).sum(axis=1))
    empty = operation(x[:0], y[:0])
    assert empty[0].shape == (0, 6)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="JAX computes elsewhere")
def test_errors_reach_the_caller():
    with pytest.raises(Exception, match="x is negative"):
        jax.block_until_ready(operation(-np.ones((1, 6)), np.ones((1, 6))))
    with pytest.raises(Exception, match="float32 or float64"):
        jax.block_until_ready(operation(np.ones((1, 6), int), np.ones((1, 6), int)))

"""Dynamics inside automatic differentiation: PyTorch and JAX call our kernels and our analytic derivatives.

torch    differentiable inverse and forward dynamics of PyTorch tensors, on the CPU or on a CUDA device
jax      the same for JAX arrays, under ``jit``, ``vmap``, ``jvp`` and ``grad``
"""

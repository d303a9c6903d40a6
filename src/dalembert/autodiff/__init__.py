"""Dynamics inside automatic differentiation: PyTorch and JAX call our kernels and our analytic derivatives.

torch    every quantity for PyTorch tensors, under `backward`, `torch.func` and `torch.compile`, to any order
jax      every quantity for JAX arrays, under ``jit``, ``vmap``, ``jvp`` and ``grad``, to any order
rollout  motions of fixed step with the gradient of any function of them, by the adjoint of the compiled loop
"""

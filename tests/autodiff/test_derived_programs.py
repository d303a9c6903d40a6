"""The programs that frameworks call for derivatives, without any framework: against differences, and each other."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.autodiff.wrapper import differentiable
from dalembert.dynamics import Dynamics
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_tangents_are_differences_and_gradients_their_transpose(quantity):
    """w . (J dx) is the gradient for the weights w, times dx; and again one derivative higher."""
    rng = np.random.default_rng(0)
    mechanism = random_mechanism(1, 3, kinds=("revolute", "prismatic"), massless=0.0)
    program = differentiable(Dynamics(mechanism), quantity, {})
    x = [rng.normal(size=port.shape) for port in program.inputs]
    dx = [rng.normal(size=port.shape) for port in program.inputs]

    def along(h: float) -> np.ndarray:
        return program.kernel(*(a + h * b for a, b in zip(x, dx)))

    h = 1e-3
    change = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    tangent = program.tangent().kernel(*x, *dx)
    np.testing.assert_allclose(tangent, change, atol=1e-8 * np.abs(change).max())
    w = rng.normal(size=change.shape)
    back = program.gradient().kernel(*x, w)
    back = back if isinstance(back, tuple) else (back,)
    assert sum((g * d).sum() for g, d in zip(back, dx)) == pytest.approx((w * tangent).sum(), rel=1e-10)
    assert program.tangent().transposed is program.gradient() and program.gradient().transposed is program.tangent()
    (first, *_) = program.gradient(wrt=[0]).tangent(wrt=[0]).kernel(*x, w, dx[0])[None]
    forth, aside = (program.gradient(wrt=[0]).kernel(x[0] + s * dx[0], *x[1:], w) for s in (1e-5, -1e-5))
    np.testing.assert_allclose(first, (forth - aside) / 2e-5, atol=1e-7 * np.abs(first).max() + 1e-9)

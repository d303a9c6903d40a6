"""The Jacobian of a flow by central differences, for the implicit integrators.

Those that SciPy takes by itself are one-sided, with steps that shrink to the tolerance where the state is zero: of
stiff springs near rest they know no digit, Newton's method fails, and steps become as short as explicit ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

APART, NEAR = 1e-5, 1e-3
"""Steps: relative to a component of the state, or to the second number where that is smaller."""


def differences(flow: Callable[[float, np.ndarray], np.ndarray], t: float, x: np.ndarray) -> np.ndarray:
    """d flow / d x, (n, n).

    Args:
        flow: of time and state.
        t: time.
        x: state, (n,).
    """
    found = np.empty((len(x), len(x)))
    for k, h in enumerate(APART * np.maximum(np.abs(x), NEAR)):
        ahead, behind = x.copy(), x.copy()
        ahead[k] += h
        behind[k] -= h
        found[:, k] = (flow(t, ahead) - flow(t, behind)) / (ahead[k] - behind[k])
    return found

"""What the tests of the algorithms share: joint mixes, tangent directions, complex steps, relative errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dalembert.algebra.quaternions import quaternion_rate
from dalembert.model import Mechanism
from random_mechanisms import ALL_KINDS, ONE_DEGREE, random_mechanism

STEP = 1e-30
"""Of a complex step: its square is nothing, so derivatives are as exact as the function."""

MIXES: dict[str, dict[str, Any]] = {
    "revolute": {"kinds": ["revolute"]},
    "prismatic": {"kinds": ["prismatic"]},
    "revolute-prismatic": {"kinds": ["revolute", "prismatic"]},
    "helical": {"kinds": ["helical", "revolute", "cylindrical"]},
    "spherical": {"kinds": ["spherical", "revolute", "prismatic"]},
    "floating": {"kinds": ["revolute", "prismatic", "fixed"], "floating": True},
    "mimic": {"kinds": list(ONE_DEGREE), "mimic": 0.4},
    "all": {"kinds": list(ALL_KINDS)},
}
"""Name -> options of `random_mechanism`; every law is tried on at least fifty trees of each."""

COUPLED = [name for name, options in MIXES.items() if options.get("mimic")]
"""Mixes with mimic joints, which some algorithms refuse."""

seeds = st.integers(0, 2**32 - 1)


def drawn(mix: str, seed: int, bodies: int = 6) -> tuple[Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    """A random mechanism of a mix with one to `bodies` bodies, and a random state of it."""
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(rng, 1 + seed % bodies, **MIXES[mix])
    return mechanism, *mechanism.random_state(rng)


def difference(x: Any, y: Any, scale: float = 0.0) -> float:
    """Largest difference of two arrays relative to the larger of the largest entry of the second and `scale`."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape
    if not x.size:
        return 0.0
    return float(np.abs(x - y).max() / max(np.abs(y).max(), scale, 1e-300))


def position_rate(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """qdot = Gamma(q) v."""
    rate = np.zeros(mechanism.nq)
    for link in mechanism.tree.links:
        own = v[link.v : link.v + link.nv]
        if link.kind == "spherical":
            rate[link.q : link.q + 4] = quaternion_rate(q[link.q : link.q + 4], own)
        else:
            rate[link.q] = own[0]
    return rate


def along(function: Callable[..., Any], x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Directional derivative of an analytic function at a real point, by complex step."""
    return np.imag(function(x + 1j * STEP * direction)) / STEP


def by_position(mechanism: Mechanism, function: Callable[..., Any], q: np.ndarray) -> np.ndarray:
    """Derivative along every tangent direction of q; the direction is the last dimension."""
    directions = [position_rate(mechanism, q, unit) for unit in np.eye(mechanism.nv)]
    return np.stack([along(function, q, d) for d in directions], axis=-1)


def by_velocity(function: Callable[..., Any], v: np.ndarray) -> np.ndarray:
    """Derivative by every entry of a vector of velocities or accelerations; the entry is the last dimension."""
    return np.stack([along(function, v, unit) for unit in np.eye(len(v))], axis=-1)

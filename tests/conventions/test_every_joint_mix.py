"""All algorithms agree with Pinocchio and MuJoCo on fifty random trees of every joint mix, fixed and floating.

Tolerance: 1e-9 of the largest force or entry of the inertia matrix. Accelerations lose the condition number of that
matrix: 1e-14 times it where that is more. MuJoCo turns every inertia into principal axes first, which it does to 1e-10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peer_models import to_mujoco, to_pinocchio

from dalembert import conventions
from dalembert.algorithms.economy import economical
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.model import Mechanism
from random_mechanisms import ALL_KINDS, random_mechanism

MIXES: dict[str, dict[str, Any]] = {
    "revolute": {"kinds": ["revolute"]},
    "prismatic": {"kinds": ["prismatic"]},
    "revolute-prismatic": {"kinds": ["revolute", "prismatic"]},
    "helical": {"kinds": ["helical", "revolute"]},
    "several degrees": {"kinds": ["spherical", "universal", "cylindrical", "planar", "revolute"]},
    "floating": {"kinds": ["revolute", "prismatic", "fixed"], "floating": True},
    "mimic": {"kinds": ["revolute", "prismatic"], "mimic": 0.4},
    "all": {"kinds": list(ALL_KINDS)},
}
BEHIND_KERNELS = ("augmented-links", "two-sided", "factor-and-solve", "articulated-body")
seeds = st.integers(0, 2**32 - 1)


def drawn(mix: str, seed: int, massless: float) -> tuple[Mechanism, np.ndarray, np.ndarray, np.ndarray]:
    """A tree of up to five bodies and a state; planar and continuous joints about axes that Pinocchio has for them."""
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(rng, 1 + seed % 5, massless=massless, gravity=(1.0, -2.0, -9.0), **MIXES[mix])
    axes = {"planar": [0, 0, 1], "continuous": np.eye(3)[seed % 3]}
    mechanism = mechanism.replace(joints=[j.replace(axis=axes.get(j.kind, j.axis)) for j in mechanism.joints])
    return mechanism, *mechanism.random_state(rng)


def agree(mechanism: Mechanism, q, v, a, tau: np.ndarray, M: np.ndarray, close: float) -> None:
    """Every algorithm on the tree as it is described, and those behind the kernels on the economical one."""
    size = max(np.abs(tau).max(), 1.0)
    acceleration = max(np.abs(a).max(), size / np.abs(M).max())
    for tree, names in ((mechanism.tree, None), (economical(mechanism.tree), BEHIND_KERNELS)):
        refused = ["uicker-kahn"] if any(link.kind == "spherical" for link in tree.links) else []
        refused += ["operator-factors", "articulated-body"] if tree.coupled else []
        for table, state, expected, scale in (
            (INVERSE_DYNAMICS, (q, v, a), tau, close * size),
            (INERTIA_MATRIX, (q,), M, close * np.abs(M).max()),
            (FORWARD_DYNAMICS, (q, v, tau), a, max(close, 1e-14 * np.linalg.cond(M)) * acceleration),
        ):
            for name, algorithm in table.items():
                if name not in refused and (names is None or name in names):
                    assert np.abs(algorithm(tree, *state) - expected).max() < scale, name


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_pinocchio(mix, seed):
    pin = pytest.importorskip("pinocchio")
    mechanism, q, v, a = drawn(mix, seed, massless=0.2)
    if not mechanism.nv:
        return
    model = to_pinocchio(mechanism)
    convention, data = conventions.Pinocchio(mechanism, model), model.createData()
    q2 = convention.q(q)
    tau = convention.from_tau(q2, pin.rnea(model, data, q2, convention.v(q, v), convention.a(q, v, a)))
    M2 = np.reshape(pin.crba(model, data, q2), (model.nv, model.nv))
    agree(mechanism, q, v, a, tau, convention.from_mass_matrix(q2, np.triu(M2) + np.triu(M2, 1).T), 1e-9)


@pytest.mark.parametrize("mix", [mix for mix, options in MIXES.items() if "helical" not in options["kinds"]])
@given(seed=seeds)
def test_mujoco(mix, seed):
    mujoco = pytest.importorskip("mujoco")
    mechanism, q, v, a = drawn(mix, seed, massless=0.0)
    if not mechanism.nv:
        return
    model = to_mujoco(mechanism)
    convention, data = conventions.MuJoCo(mechanism, model), mujoco.MjData(model)
    q2 = convention.q(q)
    data.qpos, data.qvel, data.qacc = q2, convention.v(q, v), convention.a(q, v, a)
    mujoco.mj_inverse(model, data)
    M2 = np.zeros((model.nv, model.nv))
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M2[k], unit)
    tau = convention.from_tau(q2, data.qfrc_inverse)
    agree(mechanism, q, v, a, tau, convention.from_mass_matrix(q2, M2), 1e-9)

"""Pinocchio agrees on every robot it reads, fixed and floating: forces, matrices, accelerations and their derivatives.

A free-flyer of Pinocchio has velocities in body axes, ours has linear velocity in world axes: v' = P(q) v with
P = diag(R^T, 1). So derivatives gain terms from the derivatives of P, worked out in `Frames`.

Tolerance: 1e-9 of the largest entry. The reader takes angles such as 1.57079632679 for a quarter turn, which moves
poses by 1e-11; accelerations amplify such a change of the forces by the inverse of the inertia matrix.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithm_cases import difference

from dalembert import conventions
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.vectors import dual
from dalembert.algorithms.centroidal import centroidal
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.dynamics.quantity import Setting
from dalembert.dynamics.tree import forward_dynamics_derivatives
from dalembert.errors import DalembertError
from dalembert.formats.catalogue import example_robot_data
from dalembert.formats.urdf import read_urdf
from quick import QUICK, some

pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
ROBOTS = sorted(set(example_robot_data().values()))
BASES = ["fixed", "free"]


class Frames:
    """P and its derivatives at a state, for a mechanism whose only joint of several degrees is a free base.

    Args:
        convention: the maps between the two.
        q: our positions.
        free: whether the first joint is free.
    """

    def __init__(self, convention: conventions.Pinocchio, q: np.ndarray, free: bool):
        self.convention, self.q, self.free = convention, q, free
        self.q2 = convention.q(q)
        self.R = rotation_from_quaternion(q[3:7]) if free else np.eye(3)

    def both(self, X: np.ndarray) -> np.ndarray:
        """P^T X P."""
        return self.convention.from_mass_matrix(self.q2, X)

    def rows(self, X: np.ndarray) -> np.ndarray:
        """P^T X."""
        return self.convention.from_jacobian(self.q2, X.T).T

    def turned(self, u: np.ndarray) -> np.ndarray:
        """d(P u)/dq for a vector u of ours: [[0, (R^T u_linear)~], [0, 0]] in the base."""
        return self._base([[None, dual(self.R.T @ u[:3])], [None, None]] if self.free else [])

    def turned_back(self, x: np.ndarray) -> np.ndarray:
        """d(P^T x)/dq for a vector x of theirs, in our coordinates: [[0, -R x_linear~], [0, 0]] in the base."""
        n = self.convention.mechanism.nv
        out = np.zeros((n, n))
        if self.free:
            out[:3, 3:6] = -self.R @ dual(x[:3])
        return out

    def bias(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """db/dq and db/dv of b = Pdot v = [-w x R^T v_linear; 0]."""
        if not self.free:
            return self._base([]), self._base([])
        u, w = self.R.T @ v[:3], dual(v[3:6])
        return self._base([[None, -w @ dual(u)], [None, None]]), self._base([[-w @ self.R.T, dual(u)], [None, None]])

    def _base(self, blocks: list[list[Any]]) -> np.ndarray:
        out = np.zeros((self.convention.nv, self.convention.mechanism.nv))
        for r, row in enumerate(blocks):
            for c, block in enumerate(row):
                if block is not None:
                    out[3 * r : 3 * r + 3, 3 * c : 3 * c + 3] = block
        return out


@cache
def case(path: Path, base: str) -> tuple[Any, ...] | None:
    """Name, mechanism, Pinocchio's model, convention, and a state; None for files that either side does not read."""
    try:
        model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "free" else []))
        mechanism = read_urdf(path, base=base)
    except (RuntimeError, ValueError, DalembertError):
        return None
    state = mechanism.random_state(np.random.default_rng(0))
    return f"{path.parent.parent.name}/{path.stem}", mechanism, model, conventions.Pinocchio(mechanism, model), state


def cases(base: str) -> list[tuple[Any, ...]]:
    found = [c for path in some(ROBOTS, 12) if (c := case(path, base)) is not None and c[1].nv]
    assert len(found) > (8 if QUICK else 50)
    return found


def report(errors: dict[str, float], tolerance: float = 1e-9) -> None:
    assert {name: error for name, error in errors.items() if not error < tolerance} == {}


@pytest.mark.parametrize("base", BASES)
def test_inverse_dynamics_its_derivatives_and_the_inertia_matrix(base):
    errors = {}
    for robot, mechanism, model, convention, (q, v, a) in cases(base):
        data, frames = model.createData(), Frames(convention, q, base == "free")
        q2, v2, a2 = convention.q(q), convention.v(q, v), convention.a(q, v, a)
        P2, V2, D2 = (np.array(X) for X in pin.computeRNEADerivatives(model, data, q2, v2, a2))
        D2 = np.triu(D2) + np.triu(D2, 1).T
        tau2 = pin.rnea(model, data, q2, v2, a2)
        db_dq, db_dv = frames.bias(v)
        through_v = convention.from_jacobian(q2, V2)
        P = convention.from_jacobian(q2, P2) + V2 @ frames.turned(v) + D2 @ (frames.turned(a) + db_dq)
        expected = {
            "tau": convention.from_tau(q2, tau2),
            "D": frames.both(D2),
            "V": frames.rows(through_v + D2 @ db_dv),
            "P": frames.rows(P) + frames.turned_back(tau2),
        }
        found = sensitivity(mechanism.tree, q, v, a)
        for name, value in expected.items():
            errors[f"{robot}: {name}"] = difference(getattr(found, name), value, np.abs(found.D).max())
        M2 = np.reshape(pin.crba(model, data, q2), (model.nv, model.nv))
        M2 = np.triu(M2) + np.triu(M2, 1).T
        errors[f"{robot}: M"] = difference(two_sided(mechanism.tree, q), frames.both(M2))
    report(errors)


@pytest.mark.parametrize("base", BASES)
def test_coriolis_forces(base):
    """C v; with one-degree joints only, C itself, which is unique if it is built of Christoffel symbols."""
    errors = {}
    for robot, mechanism, model, convention, (q, v, _) in cases(base):
        data, q2, v2 = model.createData(), convention.q(q), convention.v(q, v)
        C2 = np.reshape(pin.computeCoriolisMatrix(model, data, q2, v2), (model.nv, model.nv))
        M2 = np.reshape(pin.crba(model, data, q2), (model.nv, model.nv))
        M2 = np.triu(M2) + np.triu(M2, 1).T
        bias = convention.a(q, v, np.zeros(mechanism.nv))  # our a = 0 is an acceleration there
        expected = convention.from_tau(q2, C2 @ v2 + M2 @ bias)
        errors[robot] = difference(coriolis_matrix(mechanism.tree, q, v) @ v, expected, np.abs(M2).max())
    report(errors)


@pytest.mark.parametrize("base", BASES)
def test_forward_dynamics_and_its_derivatives(base):
    errors, compared = {}, 0
    for robot, mechanism, model, convention, (q, v, a) in cases(base):
        M = two_sided(mechanism.tree, q)
        condition = float(np.linalg.cond(M))
        if convention.nv != mechanism.nv or condition > 1e12:
            continue  # mimic joints move on their own there; or the inertia matrix is singular to working precision
        compared += 1
        data, frames = model.createData(), Frames(convention, q, base == "free")
        q2, v2 = convention.q(q), convention.v(q, v)
        tau = sensitivity(mechanism.tree, q, v, a).tau
        tau2 = convention.tau(q, tau)
        a2 = pin.aba(model, data, q2, v2, tau2)
        expected = convention.from_a(q2, v2, a2)
        size = np.abs(tau).max() * np.linalg.norm(np.linalg.inv(M), 2)  # of accelerations, if forces did not cancel
        for name, algorithm in FORWARD_DYNAMICS.items():
            if not mechanism.tree.coupled:
                found = algorithm(mechanism.tree, q, v, tau)
                errors[f"{robot}: {name}"] = difference(found, expected, size)
        da_dq2, da_dv2, da_dtau2 = (np.array(X) for X in pin.computeABADerivatives(model, data, q2, v2, tau2))
        da_dtau2 = np.triu(da_dtau2) + np.triu(da_dtau2, 1).T
        db_dq, db_dv = frames.bias(v)
        b = convention.a(q, v, np.zeros(mechanism.nv))
        by_q = convention.from_jacobian(q2, da_dq2) + da_dv2 @ frames.turned(v) + da_dtau2 @ frames.turned(tau) - db_dq
        derivatives = {
            "da/dq": frames.rows(by_q) + frames.turned_back(a2 - b),
            "da/dv": frames.rows(convention.from_jacobian(q2, da_dv2) - db_dv),
            "da/dtau": frames.both(da_dtau2),
        }
        ours = forward_dynamics_derivatives(Setting(mechanism), q, v, tau)
        for (name, value), found in zip(derivatives.items(), ours):
            errors[f"{robot}: {name}"] = difference(found, value, size)
    assert compared > (6 if QUICK else 40)
    report(errors)


@pytest.mark.parametrize("base", BASES)
def test_centroidal_momentum_matrix(base):
    errors = {}
    for robot, mechanism, model, convention, (q, v, _) in cases(base):
        found, data, q2 = centroidal(mechanism, q, v), model.createData(), convention.q(q)
        expected = np.reshape(pin.ccrba(model, data, q2, convention.v(q, v)), (6, model.nv))
        errors[robot] = difference(found.matrix, convention.from_jacobian(q2, expected), found.mass)
        errors[f"{robot}: inertia"] = difference(found.inertia, data.Ig.inertia, found.mass)
    report(errors)

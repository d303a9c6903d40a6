"""Linear-quadratic regulators around a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.linear import LinearModel, forces_of, indices_of, inputs_of, motors_of, state_names
from dalembert.dynamics import KernelTable
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics import manifold
from dalembert.model import Mechanism
from dalembert.model.checks import real_array
from dalembert.model.names import velocity_names
from dalembert.simulation.stabiliser import Moving, movable
from dalembert.simulation.state import as_position, as_velocity

STAYS = 1e-7
"""Rate below which a mode of a closed loop does not decay, 1/s, of fast mechanisms relative to their fastest mode: as
far as rounding moves a double eigenvalue."""


@dataclass(frozen=True, eq=False)
class Regulator:
    """u = -K x, the feedback that minimises the integral of x^T Q x + u^T R u.

    Args:
        K: gains, (m, n).
        S: cost to go, x^T S x.
        poles: of the closed loop, 1/s (or of the discrete system, if it was made with a period).
    """

    K: np.ndarray
    S: np.ndarray
    poles: np.ndarray


def lqr(model: LinearModel, Q: Any, R: Any, *, period: float | None = None) -> Regulator:
    """The regulator of a linear model, from the algebraic Riccati equation (by SciPy).

    Args:
        model: the linear model.
        Q: weight of the state, (n, n), or n numbers for its diagonal; not negative.
        R: weight of the input, (m, m), or m numbers for its diagonal; positive.
        period: of a digital controller, s; the regulator is then that of the sampled system.
    """
    from scipy.linalg import solve_continuous_are, solve_discrete_are

    if not isinstance(model, LinearModel):
        raise ArgumentError(f"got {type(model).__name__}; give a LinearModel, made by linearize")
    n, m = model.B.shape
    if not (n and m):
        raise ArgumentError(f"the model has {n} states and {m} inputs; a regulator needs some of both")
    Q, R = weight_matrix(Q, n, "Q"), weight_matrix(R, m, "R")
    A, B = (model.A, model.B) if period is None else model.discrete(period)
    stuck = [complex(s) for s in model.uncontrollable() if s.real >= 0]
    if stuck:
        modes = ", ".join(_counted([_shown(s) for s in stuck]))
        raise SingularityError(
            f"there is no stabilising regulator: no input moves the modes with eigenvalues {modes}. Actuate more "
            "joints; of something that rolls, leave out states of eigenvalue 0 that no force can move"
        )
    try:
        S = (solve_continuous_are if period is None else solve_discrete_are)(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise SingularityError(
            f"there is no stabilising regulator: {str(error).rstrip('.')}. Give every mode that does not decay a weight"
        ) from error
    K = np.linalg.solve(R, B.T @ S) if period is None else np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
    poles = np.linalg.eigvals(A - B @ K)
    growth = poles.real if period is None else np.log(np.maximum(np.abs(poles), 1e-300)) / period
    slowest = float(growth.max())
    if not slowest < -STAYS * max(1.0, float(np.abs(model.poles).max())):
        raise SingularityError(
            f"there is no stabilising regulator: a mode with the rate {slowest:.3g} 1/s costs nothing and stays. Give "
            "every mode that does not decay a weight"
        )
    return Regulator(K, S, poles)


def _shown(s: complex) -> str:
    """An eigenvalue without parts that rounding left: real ones are written as such."""
    small = STAYS * max(1.0, abs(s))
    real, imaginary = (0.0 if abs(x) < small else x for x in (s.real, s.imag))
    return f"{complex(real, imaginary):.6g}" if imaginary else f"{real:.6g}"


def _counted(words: list[str]) -> list[str]:
    """Every word once, with how often it was there."""
    return [f"{word} ({words.count(word)} times)" if words.count(word) > 1 else word for word in dict.fromkeys(words)]


def weight_matrix(given: Any, n: int, name: str) -> np.ndarray:
    """A weight, checked: symmetric, and positive definite if it is R, else semidefinite.

    Args:
        given: a matrix, its diagonal, or one number for all of that.
        n: number of rows.
        name: of the argument, for errors.
    """
    weight = real_array(given, name)
    weight = np.diag(weight) if weight.ndim == 1 else weight * np.eye(n) if weight.ndim == 0 else weight
    if weight.shape != (n, n) or not np.isfinite(weight).all() or not np.allclose(weight, weight.T):
        raise ArgumentError(
            f"{name} has shape {np.shape(given)}; give a finite, symmetric ({n}, {n}), or {n} diagonal entries"
        )
    least = float(np.linalg.eigvalsh(weight).min())
    if (name == "R" and not least > 0) or not least >= -1e-9 * max(1.0, float(np.abs(weight).max())):
        raise ArgumentError(
            f"{name} must be positive {'' if name == 'R' else 'semi'}definite; its least eigenvalue is {least:.3g}"
        )
    return weight


def state_feedback(
    mechanism: Moving,
    K: Any,
    q: Any,
    v: Any = None,
    tau: Any = None,
    actuated: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """A controller for ``simulate``: tau - K x, with x the deviation from a state along tangent vectors.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        K: gains, (m, n).
        q: positions to keep, nq numbers or by joint name.
        v: velocities to keep; zero by default.
        tau: generalised forces there, nv; zero by default.
        actuated: names of the velocities that the m inputs act on, in order, or of joints; all by default.
        states: names of the n entries of x, as in :class:`LinearModel`; by default all 2 nv of a tree.
    """
    mechanism = movable(mechanism)
    if not isinstance(mechanism, (Mechanism, KernelTable)):
        raise ArgumentError(f"got {type(mechanism).__name__}; give a Mechanism, Equations or the Dynamics of either")
    dynamics = mechanism if isinstance(mechanism, KernelTable) else None
    model = mechanism if isinstance(mechanism, Mechanism) else mechanism.mechanism
    names = velocity_names(model)
    nv = model.nv if dynamics is None else len(dynamics.input_names)
    home, speed = as_position(model, q, name="q"), as_velocity(model, v, name="v")
    base = np.zeros(nv) if tau is None else forces_of(tau, nv)
    places = motors_of(model, actuated) if dynamics is None else inputs_of(dynamics, actuated)
    every = (*names, *(f"{name} rate" for name in names)) if dynamics is None else state_names(dynamics)
    speeds = bool(getattr(model, "speeds", ()))
    seen = indices_of(every, states, "state")
    gains = real_array(K, "K")
    if gains.shape != (len(places), len(seen)) or not np.isfinite(gains).all():
        raise ArgumentError(
            f"K has shape {gains.shape}, expected ({len(places)}, {len(seen)}), finite: actuated by states; name "
            "those of the linear model if it has fewer than the mechanism"
        )

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        away = q - home if speeds else manifold.difference(model.tree, home, q)
        x = np.concatenate([away, v - speed])
        total = base.copy()
        total[places] -= gains @ x[seen]
        return total

    return control

"""Linear-quadratic regulators: around a state, and along a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.control.linear import LinearModel, forces_of, indices_of
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_whole, real_array
from dalembert.simulation import manifold
from dalembert.simulation.names import velocity_names
from dalembert.simulation.state import as_position, as_velocity
from dalembert.simulation.trajectory import Trajectory


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
    Q, R = _weight(Q, n, "Q"), _weight(R, m, "R")
    A, B = (model.A, model.B) if period is None else model.discrete(period)
    stuck = [complex(s) for s in model.uncontrollable() if s.real >= 0]
    if stuck:
        told = ", ".join(f"{s:.6g}" for s in stuck)
        raise SingularityError(
            f"there is no stabilising regulator: no input moves the modes with eigenvalues {told}. Actuate more joints"
        )
    try:
        S = (solve_continuous_are if period is None else solve_discrete_are)(A, B, Q, R)
    except np.linalg.LinAlgError as error:
        raise SingularityError(
            f"there is no stabilising regulator: {str(error).rstrip('.')}. Give every mode that does not decay a weight"
        ) from error
    K = np.linalg.solve(R, B.T @ S) if period is None else np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
    return Regulator(K, S, np.linalg.eigvals(A - B @ K))


def _weight(given: Any, n: int, name: str) -> np.ndarray:
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
    mechanism: Mechanism | Dynamics | ConstrainedDynamics,
    K: Any,
    q: Any,
    v: Any = None,
    tau: Any = None,
    actuators: Sequence[str] | None = None,
    states: Sequence[str] | None = None,
) -> Callable[[float, np.ndarray, np.ndarray], np.ndarray]:
    """A controller for ``simulate``: tau - K x, with x the deviation from a state along tangent vectors.

    Args:
        mechanism: the mechanism, or its dynamics.
        K: gains, (m, n).
        q: positions to keep, nq numbers or by joint name.
        v: velocities to keep; zero by default.
        tau: generalised forces there, nv; zero by default.
        actuators: names of the velocities that the m inputs act on, in order; all by default.
        states: names of the n entries of x, as in :class:`LinearModel`; by default all 2 nv of a tree.
    """
    if not isinstance(mechanism, (Mechanism, Dynamics, ConstrainedDynamics)):
        raise ArgumentError(f"got {type(mechanism).__name__}; give a Mechanism, Dynamics or ConstrainedDynamics")
    model = mechanism if isinstance(mechanism, Mechanism) else mechanism.mechanism
    nv, names = model.nv, velocity_names(model)
    home, speed = as_position(model, q), as_velocity(model, v)
    base = np.zeros(nv) if tau is None else forces_of(tau, nv)
    places = indices_of(names, actuators, "actuator")
    own = mechanism.velocity_names() if isinstance(mechanism, ConstrainedDynamics) else names
    every = (*own, *(f"{name} rate" for name in own))
    seen = indices_of(every, states, "state")
    gains = real_array(K, "K")
    if gains.shape != (len(places), len(seen)) or not np.isfinite(gains).all():
        raise ArgumentError(
            f"K has shape {gains.shape}, expected ({len(places)}, {len(seen)}), finite: actuators by states; name "
            "the actuators and states of the linear model if it has fewer than the mechanism"
        )

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = np.concatenate([manifold.difference(model.tree, home, q), v - speed])
        total = base.copy()
        total[places] -= gains @ x[seen]
        return total

    return control


@dataclass(frozen=True, eq=False)
class TrackingRegulator:
    """Time-varying feedback along a motion: tau = tau(t) - K(t) x, x the deviation along tangent vectors.

    Args:
        trajectory: the motion.
        t: times of the gains.
        K: gains, (T, m, 2 nv); between times they are interpolated linearly.
        S: cost to go, (T, 2 nv, 2 nv).
        places: which velocities the m inputs act on.
    """

    trajectory: Trajectory
    t: np.ndarray
    K: np.ndarray
    S: np.ndarray
    places: tuple[int, ...]

    def gain(self, t: float) -> np.ndarray:
        """K at a time; the last one after the end."""
        k = int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2))
        s = float(np.clip((t - self.t[k]) / (self.t[k + 1] - self.t[k]), 0, 1))
        return (1 - s) * self.K[k] + s * self.K[k + 1]

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The controller, for ``simulate``."""
        plan = self.trajectory
        state = plan(float(np.clip(t, plan.t[0], plan.t[-1])))
        x = np.concatenate([manifold.difference(plan.mechanism.tree, state.q, q), v - state.v])
        tau = np.array([np.interp(t, plan.t, column) for column in plan.tau.T])
        tau[list(self.places)] -= self.gain(t) @ x
        return tau


def tracking_lqr(
    trajectory: Trajectory,
    Q: Any,
    R: Any,
    final: Any = None,
    *,
    actuators: Sequence[str] | None = None,
    points: int = 201,
) -> TrackingRegulator:
    """The finite-horizon regulator along a motion of a tree, from Riccati's differential equation, backwards.

    -dS/dt = A^T S + S A - S B R^-1 B^T S + Q,   K = R^-1 B^T S,  with A(t), B(t) of the linear model along the motion.

    Args:
        trajectory: the motion, with its control.
        Q: weight of the state (2 nv), matrix or diagonal.
        R: weight of the forces (m), matrix or diagonal.
        final: weight of the state at the end; Q by default.
        actuators: names of the velocities that the m inputs act on, in order; all by default.
        points: number of times at which gains are kept.
    """
    from scipy.integrate import solve_ivp

    expect(trajectory, Trajectory, "tracking_lqr, trajectory")
    points = expect_whole(points, "tracking_lqr, points", 2)
    n, model = trajectory.mechanism.nv, trajectory.mechanism
    if trajectory.system.constrained is not None:
        raise UnsupportedError(
            f"{model.name!r} has constraints or force elements; tracking_lqr knows trees only. Around a single state "
            "use linearize of its ConstrainedDynamics, lqr, and state_feedback with states="
        )
    if len(trajectory) < 2:
        raise ArgumentError(f"the trajectory has {len(trajectory)} samples; at least two are needed")
    names = velocity_names(model)
    places = indices_of(names, actuators, "actuator")
    if not places:
        raise ArgumentError("actuators = (); a regulator needs at least one")
    Q, R = _weight(Q, 2 * n, "Q"), _weight(R, len(places), "R")
    end = Q if final is None else _weight(final, 2 * n, "final")
    t = np.linspace(trajectory.t[0], trajectory.t[-1], points)
    state = trajectory(t)
    tau = np.stack([np.interp(t, trajectory.t, column) for column in trajectory.tau.T], axis=1)
    last = () if trajectory.parameters is None else (trajectory.parameters,)
    if trajectory.dynamics.wrenches:
        raise UnsupportedError("external wrenches act along this motion; tracking_lqr does not know them")
    A, B = trajectory.dynamics.linearize(state.q, state.v, tau, *last)
    B = B[:, :, places]
    pull = np.einsum("tij,jk,tlk->til", B, np.linalg.inv(R), B)

    def between(values: np.ndarray, s: float) -> np.ndarray:
        position = (s - t[0]) / (t[-1] - t[0]) * (points - 1)
        k = int(np.clip(position, 0, points - 2))
        return values[k] + (position - k) * (values[k + 1] - values[k])

    def riccati(s: float, flat: np.ndarray) -> np.ndarray:
        S = flat.reshape(2 * n, 2 * n)
        As = between(A, s).T @ S
        return -(As + As.T - S @ between(pull, s) @ S + Q).ravel()

    found = solve_ivp(
        riccati, (t[-1], t[0]), end.ravel(), "RK45", t[::-1], rtol=1e-7, atol=1e-9 * max(1.0, np.abs(end).max())
    )
    if not found.success:
        raise SingularityError(f"Riccati's equation cannot be integrated along the motion: {found.message}")
    S = found.y.T[::-1].reshape(points, 2 * n, 2 * n)
    S = (S + np.swapaxes(S, 1, 2)) / 2
    return TrackingRegulator(trajectory, t, np.linalg.solve(R, np.swapaxes(B, 1, 2) @ S), S, tuple(places))

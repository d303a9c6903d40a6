"""Linear-quadratic regulators along a motion."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.control.linear import motors_of
from dalembert.control.regulator import weight_matrix
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.kinematics import manifold
from dalembert.model.checks import expect, expect_whole
from dalembert.simulation.trajectory import Trajectory

ACCURACY = 1e-9
"""Relative tolerance of Riccati's differential equation, and of the linear model along a motion."""

FEWEST, MOST_TIMES = 129, 4000
"""Times at which the linear model along a motion is computed, at first and at last."""

DIFFERENCE_TIME = 1e-6
"""Seconds over which accelerations along a motion are differences of velocities; of short motions this part."""


@dataclass(frozen=True, eq=False)
class TrackingRegulator:
    """Time-varying feedback along a motion: tau = tau(t) - K(t) x, x the deviation along tangent vectors.

    Args:
        trajectory: the motion.
        t: times at which gains were kept to look at.
        K: gains there, (T, m, 2 nv).
        S: cost to go there, (T, 2 nv, 2 nv).
        places: which velocities the m inputs act on.
        forces: gives the nv forces that the motion needs at a time between the first and the last.
        gains: gives the gains at such a time.
    """

    trajectory: Trajectory
    t: np.ndarray
    K: np.ndarray
    S: np.ndarray
    places: tuple[int, ...]
    forces: Callable[[float], np.ndarray]
    gains: Callable[[float], np.ndarray]

    def gain(self, t: float) -> np.ndarray:
        """K at a time, to nine digits whatever times were kept; the first and the last one outside the motion."""
        return self.gains(float(np.clip(t, self.t[0], self.t[-1])))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The controller, for ``simulate``."""
        plan = self.trajectory
        now = float(np.clip(t, plan.t[0], plan.t[-1]))
        state = plan(now)
        x = np.concatenate([manifold.difference(plan.mechanism.tree, state.q, q), v - state.v])
        tau = self.forces(now)
        tau[list(self.places)] -= self.gain(now) @ x
        return tau


def tracking_lqr(
    trajectory: Trajectory,
    Q: Any,
    R: Any,
    final: Any = None,
    *,
    actuated: Sequence[str] | None = None,
    points: int = 201,
) -> TrackingRegulator:
    """The finite-horizon regulator along a motion of a tree, from Riccati's differential equation, backwards.

    -dS/dt = A^T S + S A - S B R^-1 B^T S + Q,   K = R^-1 B^T S,  with A(t), B(t) of the linear model along the motion,
    computed at as many times as nine digits need. Along a motion under a zero-order hold the forces step: simulate
    the regulator with the same ``hold=``, or adaptive methods search for every step.

    Args:
        trajectory: the motion, with its control.
        Q: weight of the state (2 nv), matrix or diagonal.
        R: weight of the forces (m), matrix or diagonal.
        final: weight of the state at the end; Q by default.
        actuated: names of the velocities that the m inputs act on, in order, or of joints; all by default.
        points: number of times at which gains are kept to look at; the regulator itself knows them at all times.
    """
    from scipy.integrate import solve_ivp

    expect(trajectory, Trajectory, "tracking_lqr, trajectory")
    points = expect_whole(points, "tracking_lqr, points", 2)
    n, model = trajectory.mechanism.nv, trajectory.mechanism
    own = trajectory.dynamics
    if own.input_names != own.velocity_names() or trajectory.system.has_speeds or (own.is_tree and own.takes_time):
        raise UnsupportedError(
            f"{model.name!r}: tracking_lqr knows equations without explicit time whose inputs act on the rates of the "
            "coordinates, one on each"
        )
    if not trajectory.dynamics.is_tree:
        raise UnsupportedError(
            f"{model.name!r} has constraints or force elements; tracking_lqr knows trees only. Around a single state "
            "use linearize, lqr, and state_feedback with states="
        )
    if len(trajectory) < 2:
        raise ArgumentError(f"the trajectory has {len(trajectory)} samples; at least two are needed")
    resets = trajectory.t[1:][np.diff(trajectory.t) == 0].tolist()
    resets += [x.t for x in trajectory.discontinuities if x.t > trajectory.t[0]]
    if resets:
        raise UnsupportedError(
            f"an event changed the state at t = {min(resets):.9g} s; the linear model along a motion does "
            "not know discontinuities. Give a part of the trajectory without"
        )
    places = motors_of(model, actuated)
    if not places:
        raise ArgumentError("actuated = (); a regulator needs at least one")
    Q, R = weight_matrix(Q, 2 * n, "Q"), weight_matrix(R, len(places), "R")
    end = Q if final is None else weight_matrix(final, 2 * n, "final")
    if trajectory.dynamics.wrenches:
        raise UnsupportedError("external wrenches act along this motion; tracking_lqr does not know them")
    t = np.linspace(trajectory.t[0], trajectory.t[-1], points)
    forces = _Forces(trajectory)
    models = _along(forces, places)
    inverse = np.linalg.inv(R)

    def riccati(s: float, flat: np.ndarray) -> np.ndarray:
        S, both = flat.reshape(2 * n, 2 * n), models(s)
        AS, BS = both[:, : 2 * n].T @ S, both[:, 2 * n :].T @ S
        return -(AS + AS.T - BS.T @ inverse @ BS + Q).ravel()

    with np.errstate(over="ignore", invalid="ignore"):
        found = solve_ivp(
            riccati, (t[-1], t[0]), end.ravel(), "DOP853", dense_output=True,
            rtol=ACCURACY, atol=ACCURACY * max(1e-3, float(np.abs(end).max())),
        )  # fmt: skip
    if not found.success or found.sol is None:
        raise SingularityError(f"Riccati's equation cannot be integrated along the motion: {found.message}")
    gains = _Gains(models, found.sol, inverse)
    return TrackingRegulator(trajectory, t, gains(t), gains.cost(t), tuple(places), forces, gains)


@dataclass(frozen=True, eq=False)
class _Gains:
    """K = R^-1 B^T S at times, from the linear model and the integrator's own interpolant of S."""

    models: Callable[..., np.ndarray]
    flat: Callable[..., np.ndarray]
    inverse: np.ndarray

    def cost(self, t: Any) -> np.ndarray:
        found = np.moveaxis(self.flat(t), 0, -1)
        n = math.isqrt(found.shape[-1])
        S = found.reshape(*found.shape[:-1], n, n)
        return (S + np.swapaxes(S, -1, -2)) / 2

    def __call__(self, t: Any) -> np.ndarray:
        S = self.cost(t)
        B = self.models(t)[..., S.shape[-1] :]
        return self.inverse @ np.swapaxes(B, -1, -2) @ S


@dataclass(frozen=True, eq=False)
class _Forces:
    """Forces that a motion needs at times, (..., nv).

    Samples of the control say little about what it was between them; the motion itself shows it, by inverse dynamics.
    Where no control ever acted it would show rounding.
    """

    trajectory: Trajectory

    def __call__(self, t: Any) -> np.ndarray:
        motion, t = self.trajectory, np.asarray(t, dtype=float)
        first, last = motion.t[[0, -1]]
        moment = max(DIFFERENCE_TIME * min(1.0, last - first), 8 * np.spacing(max(abs(first), abs(last))))
        begin = np.minimum(t, last - 2 * moment)  # on from t, as a control may change there; but not beyond the end
        times = np.clip([begin, begin + moment, begin + 2 * moment], first, last)
        slopes = np.diff(motion(times).v, axis=0) / np.diff(times, axis=0)[..., None]
        beside = (2 * t - times[0] - times[1]) / (times[2] - times[0])
        a = slopes[0] + (slopes[1] - slopes[0]) * beside[..., None]  # of the parabola through the three
        tau = motion.dynamics.inverse_dynamics(*motion(t)[1:], a, *_parameters(motion))
        return np.where(motion.tau.any(axis=0), tau, 0)


def _along(forces: _Forces, places: list[int]) -> Callable[..., np.ndarray]:
    """[A, B] of the linear model by time: splines through so many points that those between agree."""
    from scipy.interpolate import CubicSpline

    t = np.linspace(forces.trajectory.t[0], forces.trajectory.t[-1], FEWEST)
    known = _models(forces, places, t)
    while True:
        spline, between = CubicSpline(t, known), (t[1:] + t[:-1]) / 2
        more = _models(forces, places, between)
        wrong = float(np.abs(spline(between) - more).max())
        if wrong <= ACCURACY * float(np.abs(known).max()) or len(t) > MOST_TIMES:  # steps never converge
            return spline
        after = np.arange(1, len(t))
        t, known = np.insert(t, after, between), np.insert(known, after, more, axis=0)


def _models(forces: _Forces, places: list[int], t: np.ndarray) -> np.ndarray:
    """[A, B] at times of a motion, (T, 2 nv, 2 nv + m)."""
    motion = forces.trajectory
    A, B = motion.dynamics.linearize(*motion(t)[1:], forces(t), *_parameters(motion))
    return np.concatenate([A, B[:, :, places]], axis=2)


def _parameters(motion: Trajectory) -> tuple[np.ndarray, ...]:
    return () if motion.parameters is None else (motion.parameters,)

"""Equilibria: positions at which a mechanism stays, with the forces that keep it there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.rank import Decomposition
from dalembert.constraints.vicinity import decomposed
from dalembert.constraints.violation import INCONSISTENT
from dalembert.control.linear import dynamics_of, motors_of
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning, SingularityError, UnsupportedError
from dalembert.kinematics import manifold
from dalembert.model import Mechanism
from dalembert.model.checks import expect_real
from dalembert.model.consumers import heed
from dalembert.model.names import as_names
from dalembert.simulation.stabiliser import Moving
from dalembert.simulation.state import as_parameters, as_position, as_velocity

STEADY_ROUNDING = 1e-14
"""What is left of inertia times velocities squared where these cancel in a steady motion, relative."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A state without acceleration.

    Args:
        q: positions.
        v: velocities.
        tau: generalised forces of the motors; zero where there is none.
        residual: largest generalised force that is not balanced.
        stable: true if no mode of the linear model grows exponentially (it may drift away); None for mechanisms with
            constraints or moving ones.
    """

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    residual: float
    stable: bool | None


def equilibrium(
    mechanism: Moving,
    q0: Any = None,
    v: Any = None,
    *,
    actuated: Sequence[str] = (),
    keep: Sequence[str] = (),
    parameters: Any = None,
    tolerance: float = 1e-10,
) -> Equilibrium:
    """The equilibrium (trim) nearest to a guess: accelerations vanish with forces on actuated joints only.

    Beside a singular position of loops, forces in them grow without bound, and equilibria are found to a part of their
    digits only; a warning says so. What changes with time counts as it is at t = 0.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        q0: guess of the positions, nq numbers or by joint name; neutral by default.
        v: velocities of a steady motion that are kept, such as the rate of a turntable; zero by default.
        actuated: names of the joints, or of single velocities, with a motor, whose forces are found too; of surplus
            ones in loops, the forces with the least sum of squares.
        keep: names of joints whose positions are kept.
        parameters: values of the mechanism's symbols, by name.
        tolerance: largest force that may be left, relative to the largest force there is.
    """
    dynamics = dynamics_of(mechanism, parameters=parameters)
    heed("control.equilibrium", dynamics)
    values = as_parameters(dynamics, parameters)
    if values is not None:
        dynamics = dynamics.with_parameters(values)
    model = dynamics.mechanism
    if getattr(model, "speeds", ()):
        raise UnsupportedError(
            f"the velocities of {model.name!r} are speeds of their own; equilibria are found of mechanisms, and of "
            "equations in the rates of their coordinates"
        )
    q, speed = as_position(model, q0), as_velocity(model, v)
    if model.nv == 0:
        raise ArgumentError(f"{model.name!r} has no degree of freedom: every joint is fixed or locked")
    tolerance = expect_real(tolerance, "equilibrium, tolerance", 0)
    moving = np.ones(model.nv, dtype=bool)
    for name in as_names("keep", keep):
        moving[model.v_slice(name)] = False
    motors = motors_of(model, as_names("actuated", actuated))
    problem = _Tree(dynamics, speed, values) if dynamics.is_tree else _Loops(dynamics, speed)
    q, forces, residual, scale = _newton(problem, model, q, moving, motors)
    cancels = float(np.abs(problem.inertia(q)).max() * np.square(speed).max())  # as of a body that spins about an axis
    if not residual <= tolerance * scale + STEADY_ROUNDING * cancels:
        raise SingularityError(
            f"{model.name!r}: no equilibrium found from this guess; a force of {residual:.3g} is left, the largest"
            f" of all being {scale:.3g}. Give another guess, keep fewer joints, or actuate more"
        )
    broken = problem.broken(q)
    if broken:
        raise SingularityError(f"{model.name!r}: no equilibrium found from this guess: {broken}")
    if dynamics.rows and not decomposed(dynamics, q, 0.0, positional=True).is_clear:
        warnings.warn(
            f"{model.name!r}: the equilibrium lies at or beside a singular position, or seems to, and is found to a "
            "part of its digits only; a linear model there means little. analyse(q) says more",
            ModelWarning,
            stacklevel=2,
        )
    tau = np.zeros(model.nv)
    tau[motors] = forces
    if dynamics.equations is not None:
        tau = _inputs(dynamics, q, speed, tau, problem.last if isinstance(problem, _Tree) else ())
    stable = None
    if dynamics.is_tree and not speed.any():
        A = dynamics.evaluate("linearize", q, speed, tau, parameters=values)[0]
        poles = np.linalg.eigvals(A)
        stable = bool(poles.real.max() < 1e-6 * max(1.0, float(np.abs(poles).max())))
    return Equilibrium(q, speed, tau, residual, stable)


def _inputs(dynamics: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray, last: tuple[Any, ...]) -> Any:
    """The inputs of equations that give generalised forces."""
    count = len(dynamics.input_names)
    D = np.array([dynamics.input_forces(q, v, unit, *last) for unit in np.eye(count)]).reshape(count, len(v)).T
    found = np.linalg.lstsq(D, tau, rcond=None)[0]
    if np.abs(D @ found - tau).max(initial=0.0) > 1e-9 * max(1.0, float(np.abs(tau).max(initial=0.0))):
        raise ArgumentError(
            f"{dynamics.mechanism.name!r}: its inputs, {', '.join(dynamics.input_names) or 'none'}, do not act on the "
            "actuated velocities alone; name those that they drive"
        )
    return found


class _Tree:
    """Forces that a tree needs to stay, and their derivatives along tangent vectors."""

    loops = 0

    def __init__(self, dynamics: Dynamics, v: np.ndarray, values: np.ndarray | None):
        self.dynamics, self.v = dynamics, v
        time = (np.float64(0),) if dynamics.takes_time else ()
        self.last = time if values is None else (*time, values)

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Needed forces, constraint residuals, constraint rows."""
        nothing = np.zeros(len(self.v))
        needed = self.dynamics.inverse_dynamics(q, self.v, nothing, *self.last)
        return needed, np.zeros(0), np.zeros((0, len(self.v)))

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """The mass matrix."""
        return self.dynamics.mass_matrix(q, *self.last)

    def slope(self, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Derivative of the needed forces; a tree has no multipliers."""
        return self.dynamics.inverse_dynamics_derivatives(q, self.v, np.zeros(len(self.v)), *self.last)[0]

    def broken(self, q: np.ndarray) -> str:
        """Which constraint the state breaks: there is none."""
        return ""


class _Loops:
    """The same with constraints and force elements; derivatives by differences."""

    def __init__(self, system: Dynamics, v: np.ndarray):
        self.system, self.v = system, v
        self.loops = system.constraints.count

    def at(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Needed forces, constraint residuals, constraint rows; redundant ones bear nothing where they are open."""
        _, applied, G, _ = self.system.evaluate("terms", q, self.v, np.zeros(len(self.v)), 0.0)
        if np.isfinite(G).all():
            G = Decomposition.of(G, self.system.known(q, 0.0)).truncated
        return -applied, self.system.evaluate("positions", q, 0.0)[0], G

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """The mass matrix."""
        return self.system.evaluate("mass_matrix", q)

    def slope(self, q: np.ndarray, multipliers: np.ndarray) -> np.ndarray:
        """Derivative of the needed forces that constraints leave; what they bear turns with their directions."""
        tree, n, h = self.system.mechanism.tree, len(self.v), 1e-6

        def unborne(position: np.ndarray) -> np.ndarray:
            _, applied, G, _ = self.system.evaluate("terms", position, self.v, np.zeros(n), 0.0)
            return -applied - G.T @ multipliers

        slope = np.empty((n, n))
        for k, unit in enumerate(np.eye(n)):
            ahead, behind = (manifold.displaced(tree, q, s * h * unit) for s in (1, -1))
            slope[:, k] = (unborne(ahead) - unborne(behind)) / (2 * h)
        return slope

    def broken(self, q: np.ndarray) -> str:
        """Which constraint the state breaks, and what helps; a steady motion has to keep its velocity, too."""
        if not self.loops:
            return ""
        phi, G, rate, gamma = self.system.evaluate("constraints", q, self.v, 0.0)
        phi = np.where(self.system.constraints.holonomic, phi, 0)
        fast = max(1.0, float(np.abs(self.v).max()))
        guess = "Give another guess, or keep fewer joints"
        steady = "Give velocities that it allows there; where a given motion changes with time, nothing stays"
        wrongs = (
            ("positions", phi, 1.0, guess),
            ("velocities", G @ self.v - rate, fast, steady),
            ("steady motion", gamma, fast**2, steady),
        )
        for what, wrong, size, advice in wrongs:
            worst = int(np.argmax(np.abs(wrong)))
            if not abs(wrong[worst]) <= INCONSISTENT * size:
                name = self.system.rows[worst].constraint
                return f"the constraint {name!r} does not allow the {what}, by {abs(wrong[worst]):.3g}. {advice}"
        return ""


def _newton(
    problem: _Tree | _Loops, model: Mechanism, q: np.ndarray, moving: np.ndarray, motors: list[int]
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Damped Gauss-Newton for needed(q) = S tau + G^T lambda and phi(q) = 0; of many solutions the nearest."""
    n = len(moving)
    S = np.eye(n)[:, motors]
    turns = np.zeros(n, dtype=bool)
    for link in model.tree.links:
        turns[link.v] = link.rotates
    needed, phi, G = problem.at(q)
    if not all(np.isfinite(x).all() for x in (needed, phi, G)):
        raise SingularityError(
            f"{model.name!r}: no equilibrium found from this guess: there forces or constraints have no finite value,"
            " as an attraction has none at the attracting point. Give another guess"
        )
    scale = max(float(np.abs(needed).max()), float(np.abs(problem.slope(q, np.zeros(len(phi)))).max()), 1e-300)
    weight = 1.0

    def left(needed: np.ndarray, phi: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        columns = np.hstack([S, G.T])
        found = Decomposition.of(columns).solve(needed)
        return found, np.concatenate([(needed - columns @ found) / scale, phi * weight])

    unknowns, residual = left(needed, phi, G)
    if len(phi):  # gaps count as much as forces that change over the same way, whatever the unit of length
        steep = float(np.abs(problem.slope(q, unknowns[len(motors) :])).max()) / scale
        weight = float(np.clip(steep / max(float(np.abs(G).max()), 1e-300), 1e-6, 1.0))
        unknowns, residual = left(needed, phi, G)
    for _ in range(100):
        size = float(np.linalg.norm(residual))
        if size < 1e-14:
            break
        # forces of motors and constraints are eliminated: only what is across their range counts
        columns = np.hstack([S, G.T])
        across = np.eye(n) - columns @ Decomposition.of(columns).pseudo_inverse()
        slope = problem.slope(q, unknowns[len(motors) :])
        matrix = np.vstack([across @ slope / scale, G * weight])[:, moving]
        step = np.zeros(n)
        step[moving] = Decomposition.of(matrix).solve(-residual)
        # farther than half a radian the slope means nothing; of lengths nobody knows what is far
        step *= min(1.0, 0.5 / max(float(np.abs(step[turns]).max(initial=0.0)), 1e-300))
        for halvings in range(25):
            trial = manifold.displaced(model.tree, q, step / 2**halvings)
            manifold.normalise_in_place(model.tree, trial)
            data = problem.at(trial)
            new_unknowns, new_residual = left(*data)
            if np.linalg.norm(new_residual) < (1 - 1e-3 / 2**halvings) * size:
                q, unknowns, residual = trial, new_unknowns, new_residual
                needed, phi, G = data
                break
        else:
            break
    across = np.eye(n) - G.T @ Decomposition.of(G.T).pseudo_inverse()
    tau = Decomposition.of(across @ S, columns=np.ones(len(motors))).solve(across @ needed)  # of many, the least
    return q, tau, float(np.abs(residual[:n]).max() * scale), scale

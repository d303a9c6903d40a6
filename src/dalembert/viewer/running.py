"""A simulation that goes on step by step, and can be pulled, moved and held meanwhile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.dynamics.settings import names
from dalembert.errors import ArgumentError, DalembertError
from dalembert.kinematics.frames import jacobian, link_poses
from dalembert.model import Mechanism
from dalembert.model.checks import real_array
from dalembert.simulation.contact_history import acts
from dalembert.simulation.simulate import simulate
from dalembert.simulation.state import RANGES, as_position, as_velocity

Control = Callable[[float, np.ndarray, np.ndarray], Any]

STIFF = 8.0
"""Natural frequency of a held posture and of the spring between mouse and body, rad/s: followed within half a second,
and slow beside the steps of a sixtieth of a second."""


@dataclass(frozen=True, eq=False)
class Pull:
    """A spring between a point of a body and a point of the world.

    Args:
        point: where it is held, in the frame of the body, m.
        target: where it is pulled to, in the world, m.
    """

    body: str
    point: np.ndarray
    target: np.ndarray


class Running:
    """A mechanism that moves on by ``advance``.

    Args:
        q: where it begins, loops closed.
        control: what its drives do: None for nothing, ``"hold"`` for holding a posture by springs and the weight they
            carry, or a function of (t, q, v).
        options: further ones of :func:`dalembert.simulate`: ``include``, ``law``, ``limits``, ``step``, ...
    """

    def __init__(self, mechanism: Mechanism, q: np.ndarray, control: Control | str | None = None, **options: Any):
        if isinstance(control, str) and control != "hold":
            raise ArgumentError(
                f"control is {control!r}; give None, 'hold' or a function of (t, q, v)", argument="control"
            )
        of_call = ("method", "wrenches")  # mean the integrator, and the wrenches themselves
        settings = {name: options.pop(name) for name in names() if name in options and name not in of_call}
        settings = {"reference": q, "wrenches": tuple(options.get("wrenches", ())), **settings}
        self.mechanism, self.control, self.options = mechanism, control, options
        self.dynamics = Dynamics(mechanism, **settings)
        self.dynamics.heeded.add(RANGES)  # who follows the motion sees where it leads
        self.t, self.q, self.v = 0.0, np.array(q, dtype=float), np.zeros(mechanism.nv)
        self.wanted = self.q.copy()
        self.pull: Pull | None = None

    def advance(self, seconds: float) -> None:
        """Move on.

        Args:
            seconds: by how much; forces of the mouse and of a held posture stay what they are meanwhile.
        """
        force = np.zeros(self.mechanism.nv)
        if self.pull is not None:
            force += self._pulled(self.pull)
        if self.control == "hold":
            force += self._holding()
        function = self.control if callable(self.control) else None
        start, held = self.t, force

        def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            assert function is not None
            given = real_array(function(start + t, q, v), "control")
            if given.shape != held.shape and not (given.size == held.size == 1):  # one number is not for all joints
                raise ArgumentError(
                    f"{{argument}} gave shape {given.shape}; {self.mechanism.name!r} needs {held.shape}",
                    argument="control",
                )
            return held + given

        motion = simulate(
            self.dynamics,
            self.q,
            self.v,
            seconds,
            control=held if function is None else control,
            dense=False,
            progress=False,
            **{"rtol": 1e-6, "atol": 1e-8, **self.options} if self._adaptive else self.options,
        )
        self.q, self.v, self.t = np.array(motion.q[-1]), np.array(motion.v[-1]), self.t + seconds

    @property
    def _adaptive(self) -> bool:
        return not acts(self.dynamics) and "method" not in self.options

    def place(self, q: Any, v: Any = None) -> None:
        """Put the mechanism somewhere, at rest unless velocities are given; loops are closed near by.

        Args:
            q: positions, an array or by joint name; joints that are not named stay where they are.
        """
        self.q = closed(self.mechanism, self.dynamics, placed(self.mechanism, self.q, q), q)
        self.v = np.zeros(self.mechanism.nv) if v is None else as_velocity(self.mechanism, v)
        self.wanted = self.q.copy()

    def _pulled(self, pull: Pull) -> np.ndarray:
        """Generalised forces of a critically damped spring, by the inertia that is felt at the point."""
        pose = link_poses(self.mechanism.tree, self.q)
        carrier, at = self.mechanism.tree.carriers[pull.body]
        place = at if carrier < 0 else pose[carrier] @ at
        here = np.asarray(place.apply(pull.point), dtype=float)
        _, J = jacobian(self.mechanism, self.q, pull.body, point=pull.point)
        J = np.asarray(J, dtype=float)
        mobility = J @ np.linalg.pinv(np.asarray(self.dynamics.mass_matrix(self.q)), hermitian=True) @ J.T
        # Directions in which the point can hardly move take no part: no force there leads anywhere.
        mass = np.linalg.pinv(mobility, rcond=1e-3, hermitian=True)
        return J.T @ (mass @ (STIFF**2 * (pull.target - here) - 2 * STIFF * (J @ self.v)))

    def _holding(self) -> np.ndarray:
        """Forces of the drives that keep the posture that is wanted; bases that float have no drives."""
        away = self.mechanism.difference(self.q, self.wanted)
        mass = np.diagonal(np.asarray(self.dynamics.mass_matrix(self.q)))
        force = np.asarray(self.dynamics.gravity(self.q)) + mass * (STIFF**2 * away - 2 * STIFF * self.v)
        for joint in self.mechanism.joints:
            if joint.kind == "free":
                force[self.mechanism.v_slice(joint.name)] = 0.0
        return force


def placed(mechanism: Mechanism, q: np.ndarray, given: Any) -> np.ndarray:
    """Positions that are given, by name some of them only.

    Args:
        given: an array, or numbers by joint name.
    """
    if not isinstance(given, dict):
        return as_position(mechanism, given, name="q")
    whole = as_position(mechanism, given, name="q")
    found = np.array(q, dtype=float)
    for name in given:
        part = mechanism.q_slice(name)
        found[part] = whole[part]
    return found


def closed(mechanism: Mechanism, dynamics: Dynamics, q: np.ndarray, given: Any) -> np.ndarray:
    """Positions whose loops are closed, those given by name kept if that is possible; as they are if it is not.

    Args:
        given: what was asked for.
    """
    if not mechanism.constraints:
        return q
    names: Sequence[str] = list(given) if isinstance(given, dict) else ()
    for keep in (names, ()):
        try:
            return np.asarray(dynamics.assemble(q, keep=list(keep)))
        except DalembertError:
            continue
    return q


def is_finite(state: Running) -> bool:
    """Whether a simulation still has numbers."""
    return bool(np.isfinite(state.q).all() and np.isfinite(state.v).all() and math.isfinite(state.t))

"""Free and spherical joints in attitude parameters of one's choice (FORBES): angles, direction cosines, Rodrigues, ...

A mechanism has unit quaternions for these joints. In other parameters p of a joint, with its rotation C(p)^T,

    w = S(p) pdot ,     pdot = Gamma(p) w ,     Xi(p) pdot = 0 where they are redundant,

velocities and forces are what they were: kernels of :class:`~dalembert.dynamics.Dynamics` serve as they are, between
``q = coordinates.positions(x)`` and ``xdot = coordinates.rate(x, v)``. Lagrange's equations in x itself, with
multipliers, are those of :meth:`AttitudeCoordinates.redundant_equations`; multiplied by Gamma^T the multipliers vanish.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.attitude import Attitude
from dalembert.algebra.attitude import Quaternion as QuaternionParameters
from dalembert.algebra.quaternions import quaternion_from_rotation, rotation_from_quaternion
from dalembert.dynamics.facade import Dynamics
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, real_array, shown
from dalembert.model.consumers import heed

STEP = 1e-30
"""Of complex steps: its square is nothing."""


class RedundantEquations(NamedTuple):
    """M xdd = f + Xi^T multipliers, Xi xdd = gamma.

    Args:
        M: S^T M S, singular along directions in which the parameters are redundant.
        f: generalised forces along x, inertial forces of velocity included.
        Xi: Jacobian of the constraints of the parameters, then of those of the mechanism.
        gamma: - d Xi/dt xdot, and what is given in the rows of the mechanism.
    """

    M: np.ndarray
    f: np.ndarray
    Xi: np.ndarray
    gamma: np.ndarray


class AttitudeCoordinates:
    """Coordinates x of a mechanism in which some free and spherical joints have other attitude parameters.

    The order is that of q, with the parameters in the place of the quaternion. All methods but
    :meth:`redundant_equations` run over any scalar, one state at a time.

    Args:
        mechanism: the mechanism.
        attitudes: name of a free or spherical joint -> one of :mod:`dalembert.algebra.attitude`, such as
            ``EulerAngles("ZXZ")``, ``DirectionCosines()``, ``ModifiedRodrigues()``; others keep their quaternion.
    """

    def __init__(self, mechanism: Mechanism, attitudes: Mapping[str, Attitude]):
        expect(mechanism, Mechanism, "AttitudeCoordinates, mechanism")
        expect(attitudes, Mapping, "AttitudeCoordinates, attitudes")
        turning = {link.joint: link for link in mechanism.tree.links if link.kind == "spherical"}
        for name, attitude in attitudes.items():
            if name not in turning:
                known = ", ".join(turning) or "none"
                raise ArgumentError(
                    f"{shown(name)} is no free or spherical joint of {mechanism.name!r}; it has {known}"
                )
            expect(attitude, Attitude, f"AttitudeCoordinates, parameters of {name!r}")
        self.mechanism = mechanism
        self._singles: list[tuple[int, int, int]] = []  # index in x, in q, in v
        self._turning: list[tuple[int, int, int, Attitude]] = []  # where each begins in x, q, v
        position, owners = 0, {link.q: link for link in mechanism.tree.links}
        for own in sorted(owners):
            link = owners[own]
            if link.kind == "spherical":
                attitude = attitudes.get(link.joint, QuaternionParameters())
                self._turning.append((position, own, link.v, attitude))
                position += attitude.nq
            else:
                self._singles.append((position, own, link.v))
                position += 1
        self.size = position
        """How many coordinates there are."""

    def positions(self, x: Any) -> Array:
        """q, as everything else in the package takes it, of coordinates x.

        Args:
            x: coordinates; parameters must be admissible.
        """
        x, q = self._checked(x, "x"), [0] * self.mechanism.nq
        for i, k, _ in self._singles:
            q[k] = x[i]
        for i, k, _, attitude in self._turning:
            own = x[i : i + attitude.nq]
            quaternion = isinstance(attitude, QuaternionParameters)
            q[k : k + 4] = (own if quaternion else quaternion_from_rotation(attitude.rotation(own))).tolist()
        return arrays.asarray(q)

    def coordinates(self, q: Any) -> Array:
        """x of positions q."""
        q, x = arrays.asarray(q), [0] * self.size
        if q.shape != (self.mechanism.nq,):
            raise ArgumentError(f"q has shape {q.shape}, but {self.mechanism.name!r} needs ({self.mechanism.nq},)")
        for i, k, _ in self._singles:
            x[i] = q[k]
        for i, k, _, attitude in self._turning:
            eta = q[k : k + 4]
            quaternion = isinstance(attitude, QuaternionParameters)
            own = eta if quaternion else attitude.from_rotation(rotation_from_quaternion(eta))
            x[i : i + attitude.nq] = own.tolist()
        return arrays.asarray(x)

    def Gamma(self, x: Any) -> Array:
        """xdot = Gamma v, size x nv."""
        x = self._checked(x, "x")
        found = np.zeros((self.size, self.mechanism.nv), dtype=int).astype(object)
        for i, _, k in self._singles:
            found[i, k] = 1
        for i, _, k, attitude in self._turning:
            found[i : i + attitude.nq, k : k + 3] = attitude.Gamma(x[i : i + attitude.nq])
        return arrays.asarray(found.tolist())

    def S(self, x: Any) -> Array:
        """v = S xdot, nv x size."""
        x = self._checked(x, "x")
        found = np.zeros((self.mechanism.nv, self.size), dtype=int).astype(object)
        for i, _, k in self._singles:
            found[k, i] = 1
        for i, _, k, attitude in self._turning:
            found[k : k + 3, i : i + attitude.nq] = attitude.S(x[i : i + attitude.nq])
        return arrays.asarray(found.tolist())

    def rate(self, x: Any, v: Any) -> Array:
        """xdot = Gamma(x) v."""
        return product(self.Gamma(x), arrays.asarray(v))

    def velocity(self, x: Any, xdot: Any) -> Array:
        """v = S(x) xdot.

        Args:
            x: coordinates.
            xdot: their rates.
        """
        return product(self.S(x), self._checked(xdot, "xdot"))

    def constraints(self, x: Any) -> Array:
        """Phi(x): zero for admissible parameters; empty if none are redundant."""
        x = self._checked(x, "x")
        parts = [attitude.constraints(x[i : i + attitude.nq]) for i, _, _, attitude in self._turning]
        return arrays.asarray([entry for part in parts for entry in part])

    def Xi(self, x: Any) -> Array:
        """Jacobian of the constraints: Xi xdot = 0."""
        x, rows = self._checked(x, "x"), []
        for i, _, _, attitude in self._turning:
            own = attitude.Xi(x[i : i + attitude.nq])
            for row in () if own is None else own:
                rows.append([0] * i + list(row) + [0] * (self.size - i - attitude.nq))
        return arrays.asarray(rows).reshape(len(rows), self.size)

    def redundant_equations(
        self, dynamics: Dynamics, x: Any, xdot: Any, tau: Any, t: float = 0.0
    ) -> RedundantEquations:
        """Lagrange's equations in x with multipliers, in numbers (FORBES, step 4).

        Args:
            dynamics: of the same mechanism; the rows of its constraints follow those of the parameters.
            x: coordinates.
            xdot: their rates, with Xi xdot = 0.
            tau: generalised forces along the velocities, nv.
            t: time, s.
        """
        heed("dynamics.AttitudeCoordinates.redundant_equations", dynamics)
        x, xdot, tau = (real_array(y, name).astype(float) for name, y in (("x", x), ("xdot", xdot), ("tau", tau)))
        S, moved = np.asarray(self.S(x), float), x + 1j * STEP * xdot
        Sdot = np.asarray(self.S(moved), complex).imag / STEP
        Xi = np.asarray(self.Xi(x), float).reshape(-1, self.size)
        Xidot = np.asarray(self.Xi(moved), complex).imag.reshape(-1, self.size) / STEP
        q, v = np.asarray(self.positions(x), float), S @ xdot
        M, f, G, gamma = dynamics.evaluate("terms", q, v, tau, t)
        turning = Sdot @ xdot  # v' = S xdd + turning
        return RedundantEquations(
            S.T @ M @ S,
            S.T @ (f - M @ turning),
            np.concatenate([Xi, G @ S]),
            np.concatenate([-Xidot @ xdot, gamma - G @ turning]),
        )

    def _checked(self, given: Any, name: str) -> Array:
        found = arrays.asarray(given)
        if found.shape != (self.size,):
            raise ArgumentError(f"{name} has shape {found.shape}, but these coordinates are {self.size} numbers")
        return found

"""What torques show: the linear model tau = W x of unknown inertial and drive parameters, and what of x is seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algorithms.joint_forces import TERMS, joint_forces
from dalembert.algorithms.regressor import PARAMETERS
from dalembert.cached import cached_property
from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import real_array
from dalembert.model.consumers import heed
from dalembert.model.names import as_names, named_positions, named_velocities, position_names, velocity_names
from dalembert.simulation.state import as_positive

DRIVES = {
    "damping": "viscous coefficient: multiplies v",
    "friction": "Coulomb friction: multiplies the sign of v",
    "armature": "rotor inertia: multiplies a",
    "offset": "constant error of the torque sensor",
}
"""Parameters of drives that can be identified: offsets one per velocity, the others one per joint, as it has them."""

INDEPENDENT = 1e-8
"""Part of a column of W beyond which it counts as independent of others."""


def measured(mechanism: Mechanism, q: Any, v: Any, a: Any, tau: Any) -> list[np.ndarray]:
    """Measured positions, velocities, accelerations and generalised forces as arrays; none may be left out."""
    found = [named_positions(mechanism, q, "q", np.full(mechanism.nq, np.nan))]
    found += [named_velocities(mechanism, x, name, np.nan) for x, name in ((v, "v"), (a, "a"), (tau, "tau"))]
    rows = len(found[3]) if found[3].ndim == 2 else "samples"
    names = [position_names(mechanism), *[velocity_names(mechanism)] * 3]
    for what, given, array, known in zip(
        ("tau", "q", "v", "a"), (tau, q, v, a), (found[3], *found), (names[3], *names)
    ):
        if array.shape != (rows, len(known)):
            raise ArgumentError(
                f"{what} has shape {array.shape}, expected ({rows}, {len(known)}): q, v, a and tau have the same rows"
            )
        lost = [name for k, name in enumerate(known) if rows and np.isnan(array[:, k]).all()]
        if lost and isinstance(given, Mapping):
            raise ArgumentError(f"{what} has no measurements of {', '.join(lost)}")
        if not np.isfinite(array).all():
            raise ArgumentError(f"{what} contains numbers that are not finite")
    return found


class LinearTorques:
    """tau = known + W x, x the ten parameters of every unknown body, then those of the drives.

    Args:
        mechanism: the mechanism; the inertias of known bodies are used, those of unknown ones are not. Of a Dynamics
            with included joint terms, those that are not among the drives count as known.
        unknown: names of bodies whose parameters are unknown; all that move by default.
        drives: names of :data:`DRIVES`.
    """

    def __init__(
        self, mechanism: Mechanism | Dynamics, unknown: Sequence[str] | None = None, drives: Sequence[str] = ()
    ):
        model = mechanism.mechanism if isinstance(mechanism, KernelTable) else mechanism
        if not isinstance(model, Mechanism):
            raise ArgumentError(f"got {type(model).__name__}; give a Mechanism or its Dynamics")
        self.dynamics = mechanism if isinstance(mechanism, KernelTable) else Dynamics(mechanism)
        self.mechanism = model
        heed("identification.LinearTorques", self.dynamics, stacklevel=4)
        if self.dynamics.device != "cpu":
            raise ArgumentError("identification needs a Dynamics for the processor")
        names = [body.name for body in model.bodies]
        moving = [name for name in names if model.tree.carriers[name][0] >= 0]
        self.unknown = tuple(moving) if unknown is None else as_names("unknown", unknown)
        for name in self.unknown:
            if model.body(name).name not in moving:
                raise ArgumentError(f"body {name!r} does not move; torques show nothing of it")
        if len(set(self.unknown)) < len(self.unknown):
            raise ArgumentError(f"a body is named twice: {', '.join(self.unknown)}")
        self.drives = as_names("drives", drives)
        for name in self.drives:
            if name not in DRIVES:
                raise ArgumentError(f"there is no drive parameter {name!r}; choose among {', '.join(DRIVES)}")
        if not (self.unknown or self.drives):
            raise ArgumentError("nothing is unknown; name bodies by unknown=, or parameters of the drives by drives=")
        self._joints = joint_forces(model, [name for name in self.dynamics.include if name not in self.drives])
        columns = [10 * names.index(name) + k for name in self.unknown for k in range(10)]
        self._columns = np.array(columns, dtype=int)
        self._others = np.setdiff1d(np.arange(10 * len(names)), self._columns)
        self._known = np.array([x for body in model.bodies for x in body.inertia.parameters], dtype=float)[self._others]

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every entry of x."""
        inertial = [f"{body}.{parameter}" for body in self.unknown for parameter in PARAMETERS]
        return (*inertial, *(f"{owner}.{drive}" for drive, owner in self.drive_parameters))

    @property
    def drive_parameters(self) -> tuple[tuple[str, str], ...]:
        """Kind and owner - a velocity for offsets, else a joint - of the entries of x behind the inertial ones."""
        owners = {drive: velocity_names(self.mechanism) if drive == "offset" else self._movers for drive in self.drives}
        return tuple((drive, owner) for drive in self.drives for owner in owners[drive])

    @cached_property
    def _movers(self) -> tuple[str, ...]:
        """Joints with velocities of their own; those that follow others are counted at their leaders."""
        return tuple(joint.name for joint in self.mechanism.joints if joint.nv and joint.mimic is None)

    def matrix(self, q: Any, v: Any, a: Any, signs: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """W, (T, nv, p), and the known part of tau, (T, nv).

        Args:
            q: positions, (T, nq).
            v: velocities, (T, nv).
            a: accelerations, (T, nv).
            signs: what multiplies Coulomb friction, (T, nv); the signs of v by default. A filter that torques have
                passed has rounded their jumps, so signs must have passed it, too.
        """
        m = self.mechanism
        v, a = named_velocities(m, v, "v"), named_velocities(m, a, "a")
        Y = self.dynamics.regressor(named_positions(m, q, "q"), v, a)
        parts = [Y[..., self._columns]]
        signs = np.sign(v) if signs is None else named_velocities(m, signs, "signs")
        if signs.shape != v.shape:
            raise ArgumentError(f"signs has shape {signs.shape}, expected {v.shape}; times are given by t=")
        if not np.isfinite(signs).all():
            raise ArgumentError("signs contains numbers that are not finite")
        diagonals = {"damping": v, "friction": signs, "armature": a, "offset": np.ones_like(v)}
        owned = np.zeros((self.mechanism.nv, len(self._movers)))
        for k, joint in enumerate(self._movers):
            owned[self.mechanism.v_slice(joint), k] = 1
        shares = {name: np.eye(len(owned)) if name == "offset" else owned for name in self.drives}
        parts += [diagonals[name][..., None] * shares[name] for name in self.drives]
        known = Y[..., self._others] @ self._known
        for name in TERMS:
            coefficients = getattr(self._joints, name)
            if coefficients is not None:
                known = known + np.asarray(coefficients, dtype=float) * diagonals[name]
        return np.concatenate(parts, axis=-1), known

    @cached_property
    def lengths(self) -> np.ndarray:
        """Root mean square of the columns of W over random states: what a typical motion shows of each parameter."""
        found = self.matrix(*self.mechanism.random_state(np.random.default_rng(0), (200,)))[0]
        return np.sqrt((found**2).mean(axis=(0, 1)))

    @cached_property
    def visible(self) -> Visible:
        """The combinations of x that torques can show at all, from the rank of W at random states.

        Columns are taken in order; one that depends on those before it is grouped with them.
        """
        m = self.mechanism
        count = 20 + 4 * len(self.names) // max(1, m.nv)
        W = self.matrix(*m.random_state(np.random.default_rng(0), (count,)))[0].reshape(-1, len(self.names))
        kept: list[int] = []
        basis = np.zeros((len(W), 0))
        lengths = np.linalg.norm(W, axis=0)
        for k, column in enumerate(W.T):
            left = column
            for _ in range(2):  # twice: rounding errors of the first pass
                left = left - basis @ (basis.T @ left)
            length = float(np.linalg.norm(left))
            if length > INDEPENDENT * lengths[k] and lengths[k] > 1e-12 * lengths.max():
                kept.append(k)
                basis = np.hstack([basis, left[:, None] / length])
        G = np.linalg.lstsq(W[:, kept], W, rcond=None)[0]
        G[np.abs(G) < 1e-9] = 0
        G[:, kept] = np.eye(len(kept))
        return Visible(self.names, tuple(kept), G)


@dataclass(frozen=True, eq=False)
class Visible:
    """Identifiable combinations beta = G x of unknown parameters (base parameters).

    Args:
        names: of the entries of x.
        kept: which of them stand for a combination, one each.
        matrix: G, (b, p).
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    matrix: np.ndarray

    @property
    def combinations(self) -> tuple[str, ...]:
        """Each combination as text, such as ``link2.Izz + 0.16 link3.mass``."""
        texts = []
        for k, row in zip(self.kept, self.matrix):
            others = [(x, name) for j, (x, name) in enumerate(zip(row, self.names)) if x and j != k]
            texts.append(self.names[k] + "".join(f" {'-' if x < 0 else '+'} {abs(x):.4g} {name}" for x, name in others))
        return tuple(texts)


# -------------------------------------------------------------------------------------------------------------- signals


def differentiate(t: Any, q: Any, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smoothed positions, velocities and accelerations of evenly sampled positions.

    A Butterworth filter of fourth order runs forwards and backwards, so that nothing is delayed; derivatives are those
    of a spline of fifth degree. Leave out some samples at both ends, where the filter has seen one side only: three
    periods of the cut-off frequency are enough. Quaternions cannot be differentiated so. Cut off far above the motion:
    dynamics is not linear, so that what the filter takes from it bends parameters beyond their intervals.

    Args:
        t: times, evenly spaced, s, (T,).
        q: positions, (T, n).
        cutoff: frequency above which everything counts as noise, Hz.
    """
    from scipy.interpolate import make_interp_spline

    smooth = low_pass(t, q, cutoff)
    spline = make_interp_spline(t, smooth, k=5)
    return smooth, spline(t, 1), spline(t, 2)


def low_pass(t: Any, signal: Any, cutoff: float) -> np.ndarray:
    """The same filter for torques, so that they belong to the filtered motion.

    Args:
        t: times, evenly spaced, s, (T,).
        signal: (T, n).
        cutoff: Hz; that of the positions.
    """
    from scipy.signal import butter, sosfiltfilt

    t, signal = real_array(t, "t"), real_array(signal, "the signal")
    if t.ndim != 1 or signal.shape[:1] != t.shape or len(t) < 30:
        raise ArgumentError(
            f"t has shape {t.shape} and the signal {signal.shape}; at least 30 samples are needed, one row each"
        )
    if not (np.isfinite(t).all() and np.isfinite(signal).all()):
        raise ArgumentError("the times or the signal contain numbers that are not finite; interpolate first")
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmax(steps <= 0))
        raise ArgumentError(f"times must increase, but t[{k}] = {t[k]:.9g} is followed by t[{k + 1}] = {t[k + 1]:.9g}")
    if np.ptp(steps) > 0.01 * steps.mean():
        raise ArgumentError(
            f"the times are not evenly spaced: steps are {steps.min():.6g} to {steps.max():.6g} s; interpolate first"
        )
    rate = 1 / steps.mean()
    if not as_positive("cutoff", cutoff, "Hz") < rate / 2:
        raise ArgumentError(
            f"cutoff = {cutoff} Hz; it must lie between 0 and half the sampling rate, {rate / 2:.6g} Hz"
        )
    return sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), signal, axis=0)

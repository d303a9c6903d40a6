"""How informative a motion is about the parameters, and informative motions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.identification.regression import LinearTorques
from dalembert.kinematics.manifold import quaternion_places
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_whole, real_array
from dalembert.model.names import named_positions
from dalembert.simulation.state import as_positive


@dataclass(frozen=True)
class Excitation:
    """A score of a motion.

    Args:
        condition: condition number of the regressor of visible parameters, each column divided by its root mean square
            over random states, which takes units out; below about 100 is good.
        weakest: which combination is seen worst.
        information: mean of the logarithms of the singular values of the scaled regressor, per sample (D-optimality):
            the larger the better.
    """

    condition: float
    weakest: str
    information: float


def excitation(
    mechanism: Any, q: Any, v: Any, a: Any, *, unknown: Sequence[str] | None = None, drives: Sequence[str] = ()
) -> Excitation:
    """The score of a motion for identifying parameters.

    Args:
        mechanism: the mechanism, its dynamics, or a LinearTorques made before.
        q: positions, (T, nq).
        v: velocities, (T, nv).
        a: accelerations, (T, nv).
        unknown: names of the bodies whose parameters are wanted; all by default.
        drives: names of the drive parameters that are wanted.
    """
    torques = mechanism if isinstance(mechanism, LinearTorques) else LinearTorques(mechanism, unknown, drives)
    visible = torques.visible
    rows = torques.matrix(q, v, a)[0]
    if not (rows.size and np.isfinite(rows).all()):
        raise ArgumentError("the motion has no samples, or numbers that are not finite")
    W = rows.reshape(-1, len(visible.names))[:, list(visible.kept)]
    scaled = W / torques.lengths[list(visible.kept)]  # units are taken out, the motion is left in
    size, vectors = np.linalg.svd(np.linalg.qr(scaled / np.sqrt(len(W)), mode="r"))[1:]
    combination = visible.combinations[int(np.argmax(np.abs(vectors[-1])))]
    with np.errstate(divide="ignore"):
        return Excitation(float(size[0] / size[-1]) if size[-1] else np.inf, combination, float(np.log(size).mean()))


def fourier_motion(
    mechanism: Mechanism, t: Any, amplitudes: Any, frequency: float, center: Any = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A periodic motion q = center + sum of a_k sin(k w t) + b_k cos(k w t), with its derivatives.

    Args:
        mechanism: the mechanism, without quaternions.
        t: times, (T,).
        amplitudes: (harmonics, 2, nq): a_k and b_k.
        frequency: of the first harmonic, Hz.
        center: the mean position; neutral by default.
    """
    frequency = as_positive("frequency", frequency, "Hz")
    expect(mechanism, Mechanism, "fourier_motion, mechanism")
    if quaternion_places(mechanism.tree):
        raise ArgumentError(f"{mechanism.name!r} has quaternions, for which a Fourier series is no motion")
    amplitudes, t = real_array(amplitudes, "amplitudes"), real_array(t, "t")
    if t.ndim != 1 or len(t) < 2 or not np.isfinite(t).all():
        raise ArgumentError(f"t has shape {t.shape}; give at least two times, finite ones")
    if amplitudes.ndim != 3 or amplitudes.shape[1:] != (2, mechanism.nq):
        raise ArgumentError(f"amplitudes have shape {amplitudes.shape}, expected (harmonics, 2, {mechanism.nq})")
    w = 2 * np.pi * frequency * np.arange(1, len(amplitudes) + 1)
    sine, cosine = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
    a, b = amplitudes[:, 0], amplitudes[:, 1]
    home = mechanism.neutral if center is None else named_positions(mechanism, center, "center")
    if home.shape != (mechanism.nq,) or not np.isfinite(home).all():
        raise ArgumentError(f"center has shape {home.shape}, expected ({mechanism.nq},), finite numbers")
    if not np.isfinite(amplitudes).all():
        raise ArgumentError("amplitudes contain numbers that are not finite")
    q = home + sine @ a + cosine @ b
    return q, (cosine * w) @ a - (sine * w) @ b, -(sine * w * w) @ a - (cosine * w * w) @ b


def exciting_motion(
    mechanism: Mechanism,
    t: Any,
    frequency: float,
    *,
    harmonics: int = 5,
    amplitude: float = 0.5,
    speed: float = 2.0,
    trials: int = 100,
    seed: int = 0,
    unknown: Sequence[str] | None = None,
    drives: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best of many random Fourier motions by condition number, inside the joint limits of position and speed: q, v,
    a at the times.

    Args:
        mechanism: the mechanism, without quaternions.
        t: times, (T,).
        frequency: of the first harmonic, Hz.
        harmonics: number of harmonics.
        amplitude: largest displacement from the middle, rad or m.
        speed: largest speed, rad/s or m/s.
        trials: number of random motions.
        seed: of the random motions.
        unknown: names of the bodies whose parameters are wanted; all by default.
        drives: names of the drive parameters that are wanted.
    """
    expect(mechanism, Mechanism, "exciting_motion, mechanism")
    amplitude, speed = as_positive("amplitude", amplitude), as_positive("speed", speed)
    harmonics, trials = expect_whole(harmonics, "harmonics", 1), expect_whole(trials, "trials", 1)
    rng = np.random.default_rng(expect_whole(seed, "seed"))
    torques = LinearTorques(mechanism, unknown, drives)
    lower, fastest = np.full(mechanism.nq, -np.inf), np.full(mechanism.nq, float(speed))
    upper = -lower
    for joint in mechanism.joints:
        part, follows = mechanism.q_slice(joint.name), joint.mimic
        gain, offset = (1.0, 0.0) if follows is None else (float(follows.multiplier), float(follows.offset))
        if part.stop - part.start == 1 and gain:
            ends = sorted([(joint.limits.lower - offset) / gain, (joint.limits.upper - offset) / gain])
            lower[part], upper[part] = max(lower[part][0], ends[0]), min(upper[part][0], ends[1])
            fastest[part] = min(fastest[part][0], joint.limits.velocity / abs(gain))
    away = np.maximum(np.minimum(mechanism.neutral, upper - amplitude), lower + amplitude)  # from a limit on one side
    bounded = np.isfinite(lower) & np.isfinite(upper)
    center = np.where(bounded, (np.where(bounded, lower, 0) + np.where(bounded, upper, 0)) / 2, away)
    room = np.minimum(amplitude, np.minimum(upper - center, center - lower))
    best, least = None, np.inf
    for _ in range(trials):
        shape = rng.normal(size=(harmonics, 2, mechanism.nq)) / np.arange(1, harmonics + 1)[:, None, None]
        q, v, a = fourier_motion(mechanism, t, shape, frequency, center)
        scale = np.minimum(room / np.abs(q - center).max(axis=0), fastest / np.abs(v).max(axis=0))
        motion = center + (q - center) * scale, v * scale, a * scale
        condition = excitation(torques, *motion).condition
        if best is None or condition < least:
            best, least = motion, condition
    assert best is not None
    return best

"""When measurements and mechanism do not belong together: a wrong sign, unit or order of joints, forces left out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.errors import IdentificationWarning
from dalembert.identification.regression import Visible

LEFT = 0.5
"""Part of the torques that may be left over; noise may, if it is known to be so large."""

SCALE = 100.0
"""How many times larger or smaller torques may be than those of the initial bodies."""

CHANCE = 1e-6
"""Probability with which noise alone may make real bodies look impossible."""


@dataclass(frozen=True, eq=False)
class Record:
    """What was measured, and what least squares made of it.

    Args:
        tau: torques, (T, nv).
        rest: what the unknown parameters have to explain of them, (T, nv).
        left: what least squares leave, (T, nv).
        values: the combinations by least squares, (b,).
        covariance: of the values.
        freedom: number of measurements beyond that of values; infinite if the noise is known.
        noise: of each torque, if it is known, (nv,).
    """

    tau: np.ndarray
    rest: np.ndarray
    left: np.ndarray
    values: np.ndarray
    covariance: np.ndarray
    freedom: float
    noise: np.ndarray | None


def doubts(record: Record, visible: Visible, found: np.ndarray, guess: np.ndarray | None) -> Iterator[str]:
    """What should make one look at the measurements again, in words.

    Args:
        record: the measurements.
        visible: the combinations of parameters that torques show.
        found: the parameters of real bodies and drives.
        guess: torques that the initial bodies would need, (T, nv), if there are such bodies.
    """
    off = visible.matrix @ found - record.values
    if not _within(off, record):
        k = int(np.argmax(np.abs(off) / np.sqrt(np.diag(record.covariance))))
        value = record.values[k]
        yield (
            f"no real bodies give these torques: least squares find {visible.combinations[k]} = {value:.4g}, the most "
            f"plausible real bodies have {value + off[k]:.4g}. Look at the signs and units of the torques and at the "
            "order of the joints; or forces act that the mechanism does not know (drives=...)"
        )
    share = _size(record.left) / max(_size(record.tau), _size(record.rest))
    if share > LEFT and (record.noise is None or _size(record.left / record.noise) > 2):
        yield (
            f"no parameters explain the torques: {share:.0%} of them are left over (root mean square). Look at the "
            "units of positions, velocities and accelerations, at the times of the samples and at the order of the "
            "joints"
        )
    ratio = 1.0 if guess is None else _size(record.rest) / max(_size(guess), 1e-300)
    if not 1 / SCALE < ratio < SCALE:
        yield (
            f"the torques of the unknown bodies are {ratio:.3g} times those of the initial ones. Look at their unit, "
            "N m, and at the gear ratio; or begin with a better guess of the masses"
        )


def _within(off: np.ndarray, record: Record) -> bool:
    """Whether noise explains that the combinations of real bodies are off the measured ones.

    In sigmas, least squares leave as many squares as there are measurements; the deviation adds its own. It may add
    as many (models are never right to the last sigma), or what chance allows where measurements are few.
    """
    from scipy.stats import f

    size = np.sqrt(np.diag(record.covariance))
    root = np.linalg.cholesky(record.covariance / np.outer(size, size) + 1e-13 * np.eye(len(size)))
    added = float((np.linalg.solve(root, off / size) ** 2).sum())
    chance = len(off) * float(f.isf(CHANCE, len(off), min(record.freedom, 1e9)))
    return added <= max(record.left.size, chance)


def tell(found: Sequence[str]) -> None:
    """Warn whoever called ``identify``.

    Args:
        found: all doubts.
    """
    for text in found:
        warnings.warn(text, IdentificationWarning, stacklevel=3)


def _size(x: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt((x**2).mean()))

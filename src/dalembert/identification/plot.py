"""Pictures of an identification: torques measured and explained, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array
from dalembert.model.names import velocity_names, velocity_parts
from dalembert.simulation.plot import BESIDE, UNITS, new_figure

if TYPE_CHECKING:
    from dalembert.identification.identify import Identification, LeastSquaresFit

LAGS = 40
"""Samples over which the correlation of residuals is drawn."""


def plot_torques(found: Identification, t: Any, other: tuple[np.ndarray, np.ndarray] | None = None) -> Any:
    """Measured torques, those of the model and their difference, one row for each velocity.

    Args:
        t: times of the samples; None for their numbers.
        other: torques measured along another motion, and those predicted; by default those of the record.
    """
    record, names, units = _of(found)
    measured, model = (record.tau, record.tau - record.left) if other is None else other
    if measured.shape != model.shape:
        raise ArgumentError(f"tau has shape {measured.shape}, expected {model.shape}")
    over = np.arange(len(measured)) if t is None else real_array(t, "t")
    if over.shape != (len(measured),):
        raise ArgumentError(f"t has shape {over.shape}; there are {len(measured)} samples")
    figure = new_figure("Identification.plot", 8, 1.2 + 1.5 * len(names))
    axes = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    for k, (axis, name, unit) in enumerate(zip(axes, names, units)):
        axis.plot(over, measured[:, k], ".", color="0.6", markersize=2, label="measured")
        axis.plot(over, model[:, k], linewidth=1, label="model")
        axis.plot(over, measured[:, k] - model[:, k], linewidth=0.7, label="left")
        axis.set_ylabel(f"{name} ({unit})")
    axes[0].legend(**BESIDE)
    off = measured - model
    share = float(np.sqrt((off**2).mean()) / max(float(np.sqrt((measured**2).mean())), 1e-300))
    axes[0].set_title(f"{'identification' if other is None else 'prediction'}: {share:.2%} of the torques are left")
    axes[-1].set_xlabel("sample" if t is None else "t (s)")
    figure.align_ylabels(axes)
    return figure


def plot_residuals(found: Identification) -> Any:
    """What the model lacks, in sigmas: over its own torque, as a histogram beside the normal distribution, and the
    correlation from sample to sample with the band that noise keeps to in 95 of 100 cases.
    """
    record, names, _ = _of(found)
    figure = new_figure("Identification.plot_residuals", 9, 1.0 + 1.7 * len(names))
    axes = figure.subplots(len(names), 3, squeeze=False)
    bell = np.linspace(-4, 4, 200)
    for k, (row, name) in enumerate(zip(axes, names)):
        off = record.left[:, k] / max(float(record.left[:, k].std()), 1e-300)
        row[0].plot(record.tau[:, k] - record.left[:, k], off, ".", markersize=2)
        row[0].set_ylabel(name)
        row[1].hist(off, bins=40, range=(-4, 4), density=True)
        row[1].plot(bell, np.exp(-(bell**2) / 2) / np.sqrt(2 * np.pi), linewidth=1)
        lags = np.arange(1, min(LAGS, len(off) // 2) + 1)
        centred = off - off.mean()
        size = max(float(centred @ centred), 1e-300)
        row[2].stem(lags, [float(centred[:-lag] @ centred[lag:]) / size for lag in lags], basefmt=" ", markerfmt=".")
        for side in (-1, 1):
            row[2].axhline(side * 1.96 / np.sqrt(len(off)), color="0.6", linewidth=0.7, linestyle="--")
    for axis, title in zip(axes[0], ("residual (sigmas) over torque", "distribution", "correlation over samples")):
        axis.set_title(title, fontsize="medium")
    return figure


def _of(found: Identification) -> tuple[LeastSquaresFit, list[str], list[str]]:
    if found.record is None:
        raise ArgumentError("this identification does not know its record; make it by identify(...)")
    m = found.mechanism
    parts = dict(part for joint in m.joints if joint.mimic is None for part in velocity_parts(joint))
    names = list(velocity_names(m))
    return found.record, names, [UNITS["tau"][parts[name]] for name in names]

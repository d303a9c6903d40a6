"""From recorded positions to velocities and accelerations, without delay."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array
from dalembert.simulation.state import as_positive


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

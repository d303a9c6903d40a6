"""From recorded positions to velocities and accelerations, without delay."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError


def differentiate(t: Any, q: Any, cutoff: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smoothed positions, velocities and accelerations of evenly sampled positions.

    A Butterworth filter of fourth order runs forwards and backwards, so that nothing is delayed; derivatives are those
    of a spline of fifth degree. Leave out some samples at both ends, where the filter has seen one side only: three
    periods of the cut-off frequency are enough. Quaternions cannot be differentiated so.

    Args:
        t: times, evenly spaced, s, (T,).
        q: positions, (T, n).
        cutoff: frequency above which everything counts as noise, Hz.
    """
    from scipy.interpolate import make_interp_spline
    from scipy.signal import butter, sosfiltfilt

    t, q = np.asarray(t, dtype=float), np.asarray(q, dtype=float)
    if t.ndim != 1 or q.shape[:1] != t.shape or len(t) < 30:
        raise ArgumentError(f"t has shape {t.shape} and q {q.shape}; at least 30 samples are needed, one row of q each")
    steps = np.diff(t)
    rate = 1 / steps.mean()
    if np.ptp(steps) > 1e-6 * steps.mean() * len(t):
        raise ArgumentError("the times are not evenly spaced; interpolate first")
    if not 0 < cutoff < rate / 2:
        raise ArgumentError(
            f"cutoff = {cutoff} Hz; it must lie between 0 and half the sampling rate, {rate / 2:.6g} Hz"
        )
    smooth = sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), q, axis=0)
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

    t = np.asarray(t, dtype=float)
    rate = (len(t) - 1) / (t[-1] - t[0])
    return sosfiltfilt(butter(4, cutoff, fs=rate, output="sos"), np.asarray(signal, dtype=float), axis=0)

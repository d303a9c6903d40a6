"""Eigenvalues of linear models: in the plane, and over a parameter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array, shown
from dalembert.simulation.figure import new_figure

ROUNDING = 1e-8
"""Parts of eigenvalues that are smaller, measured by the largest of them, are rounding."""


def draw_poles(poles: Any, title: str = "") -> Any:
    """Eigenvalues in the complex plane; those that grow are red.

    Args:
        poles: complex numbers, 1/s, such as ``da.control.linearize(...).poles``.
        title: of the picture.
    """
    values = _complex(poles, "draw_poles, poles").ravel()
    figure = new_figure("a picture of eigenvalues", 6, 5)
    axis = figure.subplots()
    size = float(np.abs(values).max(initial=1e-12))
    grows = values.real > ROUNDING * size
    for chosen, colour, label in ((~grows, "tab:blue", "decays or stays"), (grows, "tab:red", "grows")):
        if chosen.any():
            axis.plot(values[chosen].real, values[chosen].imag, "x", color=colour, label=label)
    axis.axvline(0, color="black", linewidth=0.6)
    axis.axhline(0, color="black", linewidth=0.3)
    axis.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)", title=title)
    for part, limit in ((values.real, axis.set_xlim), (values.imag, axis.set_ylim)):
        low, high = part.min(initial=-0.1 * size), part.max(initial=0.1 * size)  # rounding is not magnified
        limit(low - 0.15 * (high - low), high + 0.15 * (high - low))
    if values.size:
        axis.legend(fontsize="small")
    return figure


def draw_locus(values: Sequence[float], poles: Callable[[float], Any] | Any, name: str = "parameter") -> Any:
    """Eigenvalues over a parameter: real and imaginary parts; shaded where all real parts are negative.

    A real part below 1e-8 of the largest eigenvalue there is rounding: what swings for ever is not shaded.
    Neighbours are joined by the assignment with the shortest way, so that lines follow modes.

    Args:
        values: of the parameter, increasing.
        poles: a function of the parameter that gives the eigenvalues, or an array (len(values), n) of them.
        name: of the parameter, with its unit.
    """
    parameter = real_array(values, "draw_locus, values")
    if parameter.ndim != 1 or not parameter.size:
        raise ArgumentError(f"draw_locus, values: a row of numbers is needed, got the shape {parameter.shape}")
    if (np.diff(parameter) <= 0).any():
        raise ArgumentError("draw_locus, values: each must be larger than the one before; sort them")
    given = [poles(x) for x in parameter] if callable(poles) else poles
    found = np.array(_complex(given, "draw_locus, poles"))
    if found.ndim != 2 or len(found) != len(parameter):
        raise ArgumentError(f"eigenvalues have shape {found.shape}; expected ({len(parameter)}, n)")
    for k, (before, after) in enumerate(pairwise(found)):
        found[k + 1] = after[_nearest(before, after)]
    rounding = ROUNDING * np.abs(found).max(axis=1, initial=0.0)
    figure = new_figure("a picture of eigenvalues over a parameter", 8, 5)
    axis = figure.subplots()
    for k in range(found.shape[1]):
        axis.plot(parameter, found[:, k].real, color="tab:blue", label="real part" if k == 0 else None)
        moving = np.where(found[:, k].imag > rounding, found[:, k].imag, np.nan)
        axis.plot(parameter, moving, "--", color="0.6", label="imaginary part" if k == 0 else None)
    stable = found.real.max(axis=1, initial=-np.inf) < -rounding
    axis.fill_between(
        parameter, 0, 1, where=stable, transform=axis.get_xaxis_transform(), alpha=0.15, color="tab:green",
        label="stable" if stable.any() else None,
    )  # fmt: skip
    axis.axhline(0, color="black", linewidth=0.6)
    axis.set(xlabel=name, ylabel="eigenvalues (1/s)")
    axis.legend(fontsize="small")
    return figure


def _complex(poles: Any, what: str) -> np.ndarray:
    """Eigenvalues as an array of complex numbers, all finite."""
    try:
        found = np.asarray(poles, dtype=complex)
    except (TypeError, ValueError):
        raise ArgumentError(f"{what}: complex numbers are needed, as many of each; got {shown(poles)}") from None
    if not np.isfinite(found).all():
        raise ArgumentError(f"{what}: some are not finite, or no numbers at all: {shown(poles)}")
    return found


def _nearest(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    from scipy.optimize import linear_sum_assignment

    return linear_sum_assignment(np.abs(before[:, None] - after[None, :]))[1]

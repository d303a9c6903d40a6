"""Trajectories as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError, UnsupportedError
from dalembert.model.checks import expect_whole, shown
from dalembert.model.names import position_parts, velocity_parts
from dalembert.simulation.interpolation import control_at

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


def new_figure(purpose: str, width: float = 8, height: float = 4.5) -> Any:
    """A figure that belongs to no window, and that a notebook shows as a picture.

    Args:
        purpose: what it is for, for the message if matplotlib is missing.
    """
    try:
        from dalembert.simulation.notebook_figure import NotebookFigure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", purpose) from error
    return NotebookFigure(figsize=(width, height), layout="constrained")


BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "fontsize": "small"}
"""Where legends stand: beside the curves, not on them."""

UNITS = {"q": {}, "v": {"rad": "rad/s", "m": "m/s"}, "tau": {"rad": "N m", "m": "N"}}
"""What is drawn -> the unit of a coordinate -> its own."""


def plot_trajectory(trajectory: Trajectory, joints: Sequence[str], points: int) -> Any:
    """A figure with positions, velocities, control and energies over time.

    Args:
        joints: names of those to draw; all if empty.
        points: how many, if the trajectory can be asked between its samples.
    """
    m, points = trajectory.mechanism, expect_whole(points, "Trajectory.plot, points", 1)
    if not len(trajectory):
        raise ArgumentError("the trajectory is empty; there is nothing to draw")
    for name in joints:
        if not isinstance(name, str):
            raise ArgumentError(
                f"Trajectory.plot, joints: {shown(name)} is no name; name them one by one: 'hip', 'knee'"
            )
    chosen = joints or [joint.name for joint in m.joints if joint.nq]
    fine = trajectory
    if trajectory.interpolant is not None and len(trajectory) < points:
        t = np.unique(np.concatenate([trajectory.t, np.linspace(trajectory.t[0], trajectory.t[-1], points)]))
        fine = replace(trajectory, **trajectory(t)._asdict(), tau=control_at(trajectory, t))
    figure = new_figure("Trajectory.plot", 8, 9)
    axes = figure.subplots(4, 1, sharex=True)
    for axis, symbol, parts in zip(axes, ("q", "v", "tau"), (position_parts, velocity_parts, velocity_parts)):
        units: dict[str, None] = {}
        for name in chosen:
            history = fine[name]
            curves = getattr(history, symbol).reshape(len(history.t), -1).T
            for (label, unit), curve in zip(parts(m.joint(name)), curves):
                axis.plot(history.t, curve, label=label)
                units[UNITS[symbol].get(unit, unit)] = None
        axis.set_ylabel(f"{symbol} ({', '.join(units)})" if units else symbol)
        if len(axis.lines) <= 12:
            axis.legend(**BESIDE)
    for name in ("kinetic_energy", "potential_energy", "energy"):
        try:
            curve = getattr(fine, name)
        except UnsupportedError:  # equations that know accelerations only
            continue
        axes[-1].plot(fine.t, curve, label=name.replace("_", " "))
    axes[-1].set_ylabel("energy (J)")
    if axes[-1].lines:
        axes[-1].legend(**BESIDE)
    axes[-1].set_xlabel("t (s)")
    for event in trajectory.events:
        for axis in axes:
            axis.axvline(event.t, color="0.7", linewidth=0.5)
    axes[0].set_title(m.name)
    figure.align_ylabels(axes)
    return figure

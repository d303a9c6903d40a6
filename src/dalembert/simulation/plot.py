"""Trajectories as pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.model.checks import expect_whole
from dalembert.simulation.names import position_names, velocity_names

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory

BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0, "fontsize": "small"}
"""Where legends stand: beside the curves, not on them."""


def plot_trajectory(trajectory: Trajectory, joints: Sequence[str], points: int) -> Any:
    """A figure with positions, velocities, control and energies over time.

    Args:
        trajectory: the motion.
        joints: names of those to draw; all if empty.
        points: how many, if the trajectory can be asked between its samples.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot", "Trajectory.plot") from error
    m, points = trajectory.mechanism, expect_whole(points, "Trajectory.plot, points", 1)
    if not len(trajectory):
        raise ArgumentError("the trajectory is empty; there is nothing to draw")
    chosen = joints or [joint.name for joint in m.joints if joint.nq]
    in_q = [k for name in chosen for k in range(m.nq)[m.q_slice(name)]]
    in_v = [k for name in chosen for k in range(m.nv)[m.v_slice(name)]]
    t, q, v = trajectory.t, trajectory.q, trajectory.v
    if trajectory.interpolant is not None and len(t) < points:
        t = np.unique(np.concatenate([t, np.linspace(t[0], t[-1], points)]))
        _, q, v = trajectory(t)
    figure = Figure(figsize=(8, 9), layout="constrained")
    axes = figure.subplots(4, 1, sharex=True)
    for axis, title, names, chosen_columns, times, values in (
        (axes[0], "q", position_names(m), in_q, t, q),
        (axes[1], "v", velocity_names(m), in_v, t, v),
        (axes[2], "tau", velocity_names(m), in_v, trajectory.t, trajectory.tau),
    ):
        for k in chosen_columns:
            axis.plot(times, values[:, k], label=names[k])
        axis.set_ylabel(title)
        if len(chosen_columns) <= 12:
            axis.legend(**BESIDE)
    for name in ("kinetic_energy", "potential_energy", "energy"):
        axes[3].plot(trajectory.t, getattr(trajectory, name), label=name.replace("_", " "))
    axes[3].set_ylabel("J")
    axes[3].legend(**BESIDE)
    axes[3].set_xlabel("t (s)")
    for event in trajectory.events:
        for axis in axes:
            axis.axvline(event.t, color="0.7", linewidth=0.5)
    axes[0].set_title(m.name)
    return figure

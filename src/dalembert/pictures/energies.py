"""Energies of a motion, and whether they balance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.model.checks import expect
from dalembert.simulation.figure import new_figure

if TYPE_CHECKING:
    from dalembert.simulation import Trajectory


def draw_energies(trajectory: Trajectory) -> Any:
    """Kinetic, potential and whole energy over time; below, what the balance of energy leaves unexplained.

    The balance is energy(t) - energy(0) - work of the motors + what damping and friction of the joints took: zero but
    for errors of integration, and for what else does work: external wrenches, dampers, drives that prescribe a motion.

    Args:
        trajectory: the motion.
    """
    from dalembert.simulation import Trajectory
    from dalembert.simulation.balance import integral

    expect(trajectory, Trajectory, "draw_energies")
    figure = new_figure("a picture of energies", 8, 6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    t, energy = trajectory.t, trajectory.energy
    upper.plot(t, trajectory.kinetic_energy, label="kinetic")
    upper.plot(t, trajectory.potential_energy, label="potential")
    upper.plot(t, energy, label="together", color="black")
    upper.set(ylabel="energy (J)", title=trajectory.mechanism.name)
    upper.legend(fontsize="small")
    lost = integral(t, trajectory.dissipation)
    lower.plot(t, energy - energy[0] - trajectory.work + lost, color="tab:red")
    lower.set(xlabel="t (s)", ylabel="balance (J)")
    return figure

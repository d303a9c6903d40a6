"""From equations of motion to motions: one at a time, in batches, in sweeps.

simulate        one motion, with control, forces and events; adaptive or fixed steps
trajectory      what comes out of it
rollout         many motions of fixed step in one call; the loop over steps is compiled
sweep           many simulations over grids or samples, restartable, on threads or a Dask cluster
steppers        methods of fixed step, each written once
"""

from dalembert.simulation.events import Event, Occurrence, joint_stop
from dalembert.simulation.export import load_trajectory
from dalembert.simulation.failure import SimulationError, SweepError
from dalembert.simulation.integrators import ADAPTIVE
from dalembert.simulation.points import Points, grid, samples
from dalembert.simulation.rollout import Rollout, rollout
from dalembert.simulation.rollout_task import RolloutTask
from dalembert.simulation.simulate import simulate
from dalembert.simulation.steppers import STEPPERS
from dalembert.simulation.sweep import Sweep, sweep
from dalembert.simulation.trajectory import Sample, Trajectory

__all__ = [
    "ADAPTIVE",
    "STEPPERS",
    "Event",
    "Occurrence",
    "Points",
    "Rollout",
    "RolloutTask",
    "Sample",
    "SimulationError",
    "Sweep",
    "SweepError",
    "Trajectory",
    "grid",
    "joint_stop",
    "load_trajectory",
    "rollout",
    "samples",
    "simulate",
    "sweep",
]  # fmt: skip

"""Mechanism + constraints + algorithms + compiler -> kernels.

settings         everything that decides what a Dynamics computes, as one value
kernel_table     quantities as kernels: what the dynamics of mechanisms and of equations share
facade           Dynamics: every quantity of a mechanism as a kernel, and what is computed with them in NumPy
quantity         what a quantity is, and the setting it is computed in
catalogue        all quantities by name
tree, derived    quantities of trees
constrained      quantities of constraints and force elements, and where these enter those of trees
contest          which algorithm takes the fewest operations
stages           long quantities in several programs, for devices
parameters       numbers that stay inputs
frame_quantity   quantities of a frame, as functions that take its name
attitude_coordinates   free and spherical joints in attitude parameters of one's choice
reactions, drives, linearization   forces of joints and constraints, forces of drives, linear models
"""

from dalembert.dynamics.attitude_coordinates import AttitudeCoordinates
from dalembert.dynamics.catalogue import ALL_QUANTITIES, CONSTRAINT_QUANTITIES, QUANTITIES, TASK_QUANTITIES
from dalembert.dynamics.facade import Dynamics, dynamics_of
from dalembert.dynamics.frame_quantity import FrameQuantity
from dalembert.dynamics.kernel_table import KernelTable
from dalembert.dynamics.quantity import Quantity, Setting
from dalembert.dynamics.settings import Settings

__all__ = [
    "ALL_QUANTITIES", "CONSTRAINT_QUANTITIES", "QUANTITIES", "TASK_QUANTITIES", "AttitudeCoordinates", "Dynamics",
    "FrameQuantity", "KernelTable", "Quantity", "Setting", "Settings", "dynamics_of",
]  # fmt: skip

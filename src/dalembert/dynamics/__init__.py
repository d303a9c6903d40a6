"""Mechanism + algorithms + compiler -> kernels.

facade           Dynamics: every quantity of a mechanism as a kernel
frame_quantity   quantities of a frame, as functions that take its name
parameters       numbers that stay inputs
arrays           shapes of what goes in and comes out
building         from a quantity to its program
"""

from dalembert.dynamics.facade import Dynamics
from dalembert.dynamics.frame_quantity import FrameQuantity

__all__ = ["Dynamics", "FrameQuantity"]

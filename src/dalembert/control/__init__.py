"""From equations of motion to controllers.

linear        linear models for scipy.signal and python-control
equilibrium   positions at which a mechanism stays
regulator     linear-quadratic regulators around a state and along a motion
laws          gravity compensation, computed torque, operational space: compiled control laws
"""

from dalembert.control.equilibrium import Equilibrium, equilibrium
from dalembert.control.laws import computed_torque, gravity_compensation, operational_space, pd_with_gravity
from dalembert.control.linear import LinearModel, linearize
from dalembert.control.regulator import Regulator, TrackingRegulator, lqr, state_feedback, tracking_lqr

__all__ = [
    "Equilibrium", "LinearModel", "Regulator", "TrackingRegulator", "computed_torque", "equilibrium",
    "gravity_compensation", "linearize", "lqr", "operational_space", "pd_with_gravity", "state_feedback",
    "tracking_lqr",
]  # fmt: skip

"""From equations of motion to controllers.

linear        linear models for scipy.signal and python-control
equilibrium   positions at which a mechanism stays
regulator     linear-quadratic regulators around a state
tracking      linear-quadratic regulators along a motion
adaptive      following a motion with unknown masses
laws          gravity compensation, computed torque, operational space: compiled control laws
"""

from dalembert.control.adaptive import adaptive_control
from dalembert.control.equilibrium import Equilibrium, equilibrium
from dalembert.control.laws import computed_torque, gravity_compensation, operational_space, pd_with_gravity
from dalembert.control.linear import linearize
from dalembert.control.regulator import Regulator, lqr, state_feedback
from dalembert.control.tracking import TrackingRegulator, tracking_lqr
from dalembert.dynamics.linearization import LinearModel

__all__ = [
    "Equilibrium", "LinearModel", "Regulator", "TrackingRegulator", "adaptive_control", "computed_torque",
    "equilibrium", "gravity_compensation", "linearize", "lqr", "operational_space", "pd_with_gravity", "state_feedback",
    "tracking_lqr",
]  # fmt: skip

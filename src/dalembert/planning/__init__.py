"""From what is wanted of a mechanism to positions and motions that do it.

inverse_kinematics   positions at which frames are where they are wanted, within the ranges of the joints
manipulability       how easily a frame moves, and how easily it is accelerated
limits               whether a motion stays within ranges, speeds and efforts of the joints
time_scaling         how much faster or slower a motion may be played (Hollerbach)
minimum_time         the quickest motion along a path that the drives can do
"""

from dalembert.planning.inverse_kinematics import Goal, Reach, inverse_kinematics
from dalembert.planning.limits import DriveLimits, LimitUse, drive_limits, limit_use
from dalembert.planning.manipulability import Manipulability, manipulability
from dalembert.planning.minimum_time import TimedPath, minimum_time
from dalembert.planning.time_scaling import TimeScaling, time_scaling

__all__ = [
    "DriveLimits", "Goal", "LimitUse", "Manipulability", "Reach", "TimeScaling", "TimedPath", "drive_limits",
    "inverse_kinematics", "limit_use", "manipulability", "minimum_time", "time_scaling",
]  # fmt: skip

"""Where everything is and how it moves, written once over any scalar; below algorithms, constraints and formulations.

- :mod:`~dalembert.kinematics.step`: carrying vectors across one joint with the fewest operations.
- :mod:`~dalembert.kinematics.chain`: the links out to one frame, on which frames and relative motion stand.
- :mod:`~dalembert.kinematics.frames`: pose, Jacobian and motion of a frame, centre of mass.
- :mod:`~dalembert.kinematics.frame_derivatives`: derivatives of the velocity and the acceleration of a frame.
- :mod:`~dalembert.kinematics.links`: poses and Jacobians of all links together.
- :mod:`~dalembert.kinematics.relative`: motion of one frame as seen from another.
- :mod:`~dalembert.kinematics.manifold`: positions and tangent vectors, qdot = Gamma(q) v, unit quaternions.
- :mod:`~dalembert.kinematics.gradients`: between tangent vectors and entries of q, for automatic differentiation.
- :mod:`~dalembert.kinematics.joint_axes`: axes of joints with their rates.
"""

from dalembert.kinematics.frame_derivatives import (
    AccelerationDerivatives,
    VelocityDerivatives,
    acceleration_derivatives,
    velocity_derivatives,
)
from dalembert.kinematics.frames import (
    Motion,
    center_of_mass,
    check_axes,
    checked,
    checked_point,
    frame_on_link,
    jacobian,
    jacobian_rate,
    link_poses,
    motion,
    pose,
    poses,
)
from dalembert.kinematics.manifold import position_rate

__all__ = [
    "AccelerationDerivatives", "Motion", "VelocityDerivatives", "acceleration_derivatives", "center_of_mass",
    "check_axes", "checked", "checked_point", "frame_on_link", "jacobian", "jacobian_rate", "link_poses", "motion",
    "pose", "poses", "position_rate", "velocity_derivatives",
]  # fmt: skip

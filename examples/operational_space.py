"""Operational-space control: the hand is pulled to a moving point as if it were a free mass on a spring.

The inertia that the hand presents, Lambda = (J M^-1 J^T)^-1, and the rates of the Jacobian come from kernels. The
joint motions that the hand does not see are drawn back to the first posture in the null space.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

arm = da.load("demo_arm")
dynamics = da.Dynamics(arm)
frame = "flange"
start = np.array([0.0, 0.7, 0.9, 0.0, 0.5, 0.0])
home = dynamics.pose(start, frame=frame)[1]


def wanted(t):
    """A circle in the plane x = const, 10 cm in radius, once every two seconds: position, velocity, acceleration."""
    w, r = np.pi, 0.1
    c, s = np.cos(w * t), np.sin(w * t)
    return (
        home + r * np.array([0, s, 1 - c]),
        r * w * np.array([0, c, s]),
        r * w * w * np.array([0, -s, c]),
    )


def control(t, q, v):
    goal, goal_v, goal_a = wanted(t)
    position = dynamics.pose(q, frame=frame)[1]
    J = dynamics.jacobian(q, frame=frame)[:3]
    drift = dynamics.jacobian_rate(q, v, frame=frame)[:3] @ v
    M, h = dynamics.mass_matrix(q), dynamics.bias(q, v)
    inverse = np.linalg.inv(M)
    Lambda = np.linalg.inv(J @ inverse @ J.T)
    a = goal_a + 40 * (goal_v - J @ v) + 400 * (goal - position)
    force = Lambda @ (a - drift)
    unseen = np.eye(arm.nv) - J.T @ Lambda @ J @ inverse  # torques that do not move the hand
    return J.T @ force + h + unseen @ (M @ (50 * (start - q) - 15 * v))


end = 0.4 if SHORT else 4.0
times = np.linspace(0, end, int(100 * end) + 1)
v0 = np.linalg.pinv(dynamics.jacobian(start, frame=frame)[:3]) @ wanted(0.0)[1]
motion = simulate(dynamics, start, v0, times, control=control, hold=2e-3)
path = motion.quantity("pose", frame=frame)[1]
goal = np.array([wanted(t)[0] for t in times])
error = np.linalg.norm(path - goal, axis=1)
print(f"largest distance from the circle: {error.max() * 1e3:.3f} mm")
assert error.max() < 1e-3


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(goal[:, 1], goal[:, 2], linewidth=4, color="0.85", label="wanted")
    left.plot(path[:, 1], path[:, 2], linewidth=1, label="hand")
    left.set(aspect="equal", xlabel="y (m)", ylabel="z (m)")
    left.legend()
    right.plot(times, motion.q, label=[joint.name for joint in arm.joints if joint.nq])
    right.set(xlabel="t (s)", ylabel="joints (rad)")
    right.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


save("operational_space", draw)

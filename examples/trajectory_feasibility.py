"""Which durations of a move can the motors follow? All of them in one call.

A smooth move between two postures is tried with many durations. Positions, velocities and accelerations of all of them
form one batch of shape (durations, samples, joints); one kernel call gives every torque, friction included, and the
limits of the robot's file say which durations are feasible.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save

arm = da.load("demo_arm")
dynamics = da.Dynamics(arm, include=["damping", "friction"])
joints = [joint for joint in arm.joints if joint.nv]
effort = np.array([joint.limits.effort for joint in joints])
speed = np.array([joint.limits.velocity for joint in joints])

start, goal = np.array([-1.2, 0.9, 0.6, 0.3, 0.4, 0.0]), np.array([1.1, -0.4, 1.4, -0.8, 0.9, 2.0])
durations = np.geomspace(0.4, 4.0, 20 if SHORT else 400)[:, None, None]
s = np.linspace(0, 1, 50 if SHORT else 500)[:, None]

# A quintic with zero velocity and acceleration at both ends.
path = 10 * s**3 - 15 * s**4 + 6 * s**5
path_v = 30 * s**2 - 60 * s**3 + 30 * s**4
path_a = 60 * s - 180 * s**2 + 120 * s**3
q = np.broadcast_to(start + (goal - start) * path, (*durations.shape[:1], *path.shape[:1], arm.nv))
v = (goal - start) * path_v / durations
a = (goal - start) * path_a / durations**2

tau = dynamics.inverse_dynamics(q, v, a)
use = np.abs(tau / effort).max(axis=1), np.abs(v / speed).max(axis=1)  # share of the limits, by duration and joint
feasible = (use[0].max(axis=1) <= 1) & (use[1].max(axis=1) <= 1)
shortest = durations[feasible].min()
which = int(np.argmax(use[0][feasible][0])), int(np.argmax(use[1][feasible][0]))
print(f"{tau.shape[0]} durations x {tau.shape[1]} samples: {tau.size} torques")
print(f"shortest feasible move: {shortest:.3f} s")
print(f"busiest there: torque of {joints[which[0]].name!r}, speed of {joints[which[1]].name!r}")
assert feasible[-1] and not feasible[0]


def draw(figure):
    axis = figure.subplots()
    for k, joint in enumerate(joints):
        axis.loglog(durations[:, 0, 0], use[0][:, k], label=joint.name)
    axis.loglog(durations[:, 0, 0], use[1].max(axis=1), color="0.4", linestyle="--", label="speed, any joint")
    axis.axhline(1, color="black", linewidth=0.8)
    axis.axvline(shortest, color="black", linewidth=0.8, linestyle=":")
    axis.set(xlabel="duration (s)", ylabel="share of the limit (forces; dashed: speed)")
    axis.set_xticks([0.5, 1, 2, 4], ["0.5", "1", "2", "4"])
    axis.set_xticks([], minor=True)
    figure.legend(loc="outside right upper")


save("trajectory_feasibility", draw)

"""A free-floating base: an arm in orbit turns its own base when it moves.

The demo arm is let go from the ground and weightless. Its joints follow a closed path; momentum and angular momentum
about the centre of mass stay zero, yet the base does not come back to its old attitude: so does a falling cat turn.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

arm = da.with_gravity(da.with_base(da.load("demo_arm"), "free"), (0, 0, 0))
dynamics = da.Dynamics(arm)
print(repr(arm))
base, joints = arm.v_slice("root_joint"), slice(6, 12)

laps = 1 if SHORT else 3
period = 4.0


def wanted(t):
    """Joint angles, speeds and accelerations: two joints go round a closed curve, the others rest."""
    w = 2 * np.pi / period
    angles, speeds, rates = np.zeros((3, 6))
    angles[[1, 2]] = 0.8 * (1 - np.cos(w * t)), 0.8 * np.sin(w * t)
    speeds[[1, 2]] = 0.8 * w * np.sin(w * t), 0.8 * w * np.cos(w * t)
    rates[[1, 2]] = 0.8 * w**2 * np.cos(w * t), -0.8 * w**2 * np.sin(w * t)
    return angles, speeds, rates


def control(t, q, v):
    """The motors act on the joints only. Given joint accelerations fix those of the base: it has no motor."""
    angles, speeds, rates = wanted(t)
    joint_a = rates + 20 * (speeds - v[joints]) + 100 * (angles - q[7:])
    M, h = dynamics.mass_matrix(q), dynamics.bias(q, v)
    base_a = np.linalg.solve(M[base, base], -(M[base, joints] @ joint_a + h[base]))
    return np.concatenate([np.zeros(6), (M @ np.concatenate([base_a, joint_a]) + h)[joints]])


angles, speeds, _ = wanted(0.0)
q0 = np.concatenate([[0, 0, 0, 0, 0, 0, 1.0], angles])
M = dynamics.mass_matrix(q0)
base_v = np.linalg.solve(M[base, base], -M[base, joints] @ speeds)  # no momentum to begin with
times = np.linspace(0, laps * period, 200 * laps)
motion = simulate(dynamics, q0, np.concatenate([base_v, speeds]), times, control=control, rtol=1e-8, atol=1e-8)

# The generalised momenta of the base are linear momentum and, in body axes, angular momentum about its origin.
momentum = np.einsum("tij,tj->ti", motion.quantity("mass_matrix"), motion.v)[:, base]
centre = motion.quantity("center_of_mass")
rotation, _ = motion.quantity("pose", frame="base")
turned = np.degrees(np.arctan2(rotation[:, 0, 2], rotation[:, 2, 2]))
print(f"largest momentum {np.abs(momentum).max():.1e}; centre of mass moved {np.abs(centre - centre[0]).max():.1e} m")
print(f"after {laps} laps the base has turned by {turned[-1]:.2f} degrees about y")
assert np.abs(momentum).max() < 1e-5 and abs(turned[-1]) > 0.1


def draw(figure):
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(times, motion.q[:, 8:10], label=["lift", "bend"])
    upper.set(ylabel="joints (rad)")
    upper.legend()
    lower.plot(times, turned)
    lower.set(xlabel="t (s)", ylabel="base about y (degrees)")


save("floating_base", draw)

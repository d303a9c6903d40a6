"""Four-bar linkage: a closed loop, put together, driven at constant speed, and let go.

The loop is a constraint beyond the tree of joints. First the torque that keeps the crank turning at constant speed is
found for a whole revolution; then the linkage swings freely, and the energy and the gap in the loop are watched.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.dynamics import Dynamics
from dalembert.simulation import simulate

linkage = da.load("four_bar", parameters="default")
system = Dynamics(linkage, reference=[1.0, -0.7, 1.6])
q = system.assemble([1.0, -0.7, 1.6], keep=["drive"])
print("assembled:", q.round(4), " gap", f"{np.abs(system.residual(q)['pin']).max():.0e}")

# ---- driven: the crank at 2 rad/s, everything else follows from the loop
speed = 2.0
angles = np.linspace(1.0, 1.0 + 2 * np.pi, 25 if SHORT else 181)
torque = []
for angle in angles:
    q = system.assemble([angle, *q[1:]], keep=["drive"])
    v = system.project_velocity(q, [speed, 0, 0], keep=["drive"])
    a = system.project_acceleration(q, v, np.zeros(3), keep=["drive"])  # the crank's is zero, the loop stays closed
    torque.append(system.drive_forces(q, v, a, actuated=["drive"]).tau[0])
torque = np.array(torque)
work = np.trapezoid(torque, angles)
print(f"torque of the drive between {torque.min():.2f} and {torque.max():.2f} N m; work per revolution {work:.1e} J")
assert abs(work) < (0.2 if SHORT else 1e-3)  # gravity and inertia give back what they take

# ---- free: from rest, under its weight
start = system.assemble([1.0, -0.7, 1.6], keep=["drive"])
motion = simulate(system, start, t=np.linspace(0, 0.5 if SHORT else 4.0, 400))
gap = np.abs(system.residual(motion.q)["pin"]).max()
print(f"free swing: energy drift {np.ptp(motion.energy):.1e} J, largest gap {gap:.1e} m")
assert np.ptp(motion.energy) < 1e-5 and gap < 1e-7


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(np.degrees(angles), torque)
    left.set(xlabel="crank (degrees)", ylabel="torque (N m)", title="driven at 2 rad/s")
    right.plot(motion.t, motion.q, label=["drive", "knee", "pivot"])
    right.set(xlabel="t (s)", ylabel="joints (rad)", title="free")
    right.legend()


save("four_bar", draw)

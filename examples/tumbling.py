"""Dzhanibekov's nut: a free body that spins about its middle principal axis turns over, again and again.

No gravity, no torque. The equations are those of a free joint with a unit quaternion, integrated on the group of
rotations; kinetic energy and angular momentum in world axes must not change, and are checked.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

handle = da.Body("handle", da.Inertia(0.3, tensor=np.diag([1.0e-4, 2.0e-4, 2.8e-4])))
nut = da.Mechanism("nut", [handle], [da.Joint("free", "free", "world", "handle")], gravity=[0, 0, 0])
dynamics = da.Dynamics(nut)

spin = np.array([0.02, 6.0, 0.0])  # rad/s: about the middle axis, with a small disturbance
end = 4.0 if SHORT else 20.0
motion = simulate(dynamics, v0=[0, 0, 0, *spin], t=np.linspace(0, end, 800), method="lie-rk4", step=2e-3)

rotation, _ = motion.quantity("pose", frame="handle")
omega = motion.v[:, 3:]  # body axes
momentum = np.einsum("tij,j,tj->ti", rotation, np.diag(handle.inertia.tensor), omega)  # world axes
drift = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
energy_drift = np.ptp(motion.kinetic_energy) / motion.kinetic_energy[0]
flips = int((np.diff(np.sign(omega[:, 1])) != 0).sum())
print(f"{flips} flips in {end:g} s; angular momentum changed by {drift:.1e}, kinetic energy by {energy_drift:.1e}")
assert drift < 1e-8 and energy_drift < 1e-8
assert SHORT or flips >= 2


def draw(figure):
    upper, lower = figure.subplots(2, 1, sharex=True)
    for k, axis in enumerate("xyz"):
        upper.plot(motion.t, omega[:, k], label=f"body {axis}")
        lower.plot(motion.t, momentum[:, k] * 1e3, label=f"world {axis}")
    upper.set(ylabel="angular velocity (rad/s)")
    lower.set(xlabel="t (s)", ylabel="angular momentum (g m²/s)")
    for part in (upper, lower):
        part.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


save("tumbling", draw, size=(8, 6))

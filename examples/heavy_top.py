"""A spinning top on a ball joint: steady precession as the textbook predicts it, and nutation when it is let go.

Steady precession at the angle theta from the vertical needs the rate Omega that solves
I Omega^2 cos(theta) - I_s s Omega + m g l = 0, with I about the pivot across the axis, I_s about it, and s the spin.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

mass, length, across, along, g = 0.5, 0.06, 4.0e-4, 3.0e-4, 9.81
body = da.Body("top", da.Inertia(mass, [0, 0, length], np.diag([across, across, along])))
top = da.Mechanism("heavy_top", [body], [da.Joint("ball", "spherical", "world", "top")], gravity=[0, 0, -g])
dynamics = da.Dynamics(top)

theta, spin = 0.4, 250.0
about_pivot = across + mass * length**2
a, b, c = about_pivot * np.cos(theta), -along * spin, mass * g * length
slow = (-b - np.sqrt(b * b - 4 * a * c)) / (2 * a)  # the slower of the two rates

q0 = [np.sin(theta / 2), 0, 0, np.cos(theta / 2)]  # tilted about x; then body y and z lie in the plane of the tilt
steady = [0, slow * np.sin(theta), spin]  # angular velocity in body axes
released = [0, 0, spin]
times = np.linspace(0, 0.4 if SHORT else 2.0, 600)
motions = {name: simulate(dynamics, q0, v0, times) for name, v0 in (("steady", steady), ("released", released))}


def axis_of(motion):
    rotation, _ = motion.quantity("pose", frame="top")
    return rotation[:, :, 2]


paths = {name: axis_of(motion) for name, motion in motions.items()}
tilt = np.arccos(paths["steady"][:, 2])
turned = np.unwrap(np.arctan2(paths["steady"][:, 1], paths["steady"][:, 0]))
rate = np.polyfit(times, turned, 1)[0]
print(f"precession {rate:.6f} rad/s, predicted {slow:.6f}; tilt stays within {np.ptp(tilt):.1e} rad")
assert abs(rate - slow) < 1e-6 * slow and np.ptp(tilt) < 1e-6
print(f"released from rest it nods by {np.ptp(np.arccos(paths['released'][:, 2])):.3f} rad")


def draw(figure):
    axis = figure.subplots()
    for name, path in paths.items():
        axis.plot(path[:, 0], path[:, 1], label=name)
    axis.set(aspect="equal", title="path of the axis, seen from above")
    axis.legend()


save("heavy_top", draw, size=(5.5, 5))

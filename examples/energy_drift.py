"""A million steps: which integrator keeps the energy of a double pendulum, and which loses it?

The loop over steps is compiled, so a million of them take a fraction of a second. The Runge-Kutta method is the most
accurate at first but drifts without end; the variational integrator only oscillates; semi-implicit Euler damps.
"""

import time

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import STEPPERS, rollout

dynamics = da.Dynamics(da.load("double_pendulum", parameters="default"))
steps, h = (100_000 if SHORT else 1_000_000), 5e-3

drift, curves = {}, {}
for method in STEPPERS:
    begin = time.perf_counter()
    motion = rollout(dynamics, [0.6, -0.4], None, steps, h, method=method, every=steps // 500).trajectory()
    seconds = time.perf_counter() - begin
    error = (motion.energy - motion.energy[0]) / np.ptp(motion.kinetic_energy)
    drift[method] = abs(np.polyfit(motion.t, error, 1)[0]) * h
    curves[method] = motion.t, np.abs(error)
    print(f"{method:<20} drift {drift[method]:.1e} of the energy per step, {1e9 * seconds / steps:6.0f} ns per step")

assert drift["variational"] < 1e-11  # none but rounding
assert drift["variational"] < drift["rk4"] < drift["semi-implicit-euler"]


def draw(figure):
    axis = figure.subplots()
    for method, (t, error) in curves.items():
        axis.semilogy(t[1:], error[1:] + 1e-17, "--" if method == "lie-rk4" else "-", label=method)  # as good as rk4
    axis.set(xlabel="t (s)", ylabel="error of the energy, relative")
    figure.legend(loc="outside upper center", ncols=4)


save("energy_drift", draw)

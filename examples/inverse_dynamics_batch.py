"""Inverse dynamics of an industrial arm for a whole batch of states, in one call.

Every result of one kernel is checked against an independent algorithm on a few states. Give a file or the name of a
robot; without one it is the Franka Panda where example-robot-data is installed, else the demo arm.
"""

import sys
import warnings

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.algorithms.inverse_dynamics import inverse_dynamics

name = sys.argv[1] if len(sys.argv) > 1 else "panda" if "panda" in da.robots() else "demo_arm"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", da.errors.ModelWarning)  # print(arm) says the same
    arm = da.load(name)
    arm = da.load(name, parameters="default") if arm.symbols else arm
fingers = {j.name: 0.0 for j in arm.joints if "finger" in j.name and j.nv}
if fingers:
    arm = da.lock(arm, fingers)
print(repr(arm))

dynamics = da.Dynamics(arm)
q, v, a = arm.random_state(np.random.default_rng(0), (1_000 if SHORT else 200_000,))
tau = dynamics.inverse_dynamics(q, v, a)
print(dynamics.cost("inverse_dynamics"))

for k in range(5):
    reference = inverse_dynamics(arm, q[k], v[k], a[k], algorithm="newton-euler")
    assert np.allclose(tau[k], np.asarray(reference, dtype=float), rtol=1e-9, atol=1e-9)

velocities = [f"{joint.name} {k}" if joint.nv > 1 else joint.name for joint in arm.joints for k in range(joint.nv)]
print(f"{'joint':<18}{'median |tau|':>14}{'99 %':>10}   (N m, or N)")
for name, size in zip(velocities, np.abs(tau).T):
    print(f"{name:<18}{np.median(size):>14.2f}{np.quantile(size, 0.99):>10.2f}")


def draw(figure):
    axis = figure.subplots()
    axis.boxplot(np.abs(tau[:20_000]), showfliers=False, tick_labels=velocities)
    axis.tick_params(axis="x", labelrotation=20)
    axis.set(ylabel="|tau| (N m, or N)", title=f"{arm.name}: {len(tau)} random states")


save("inverse_dynamics_batch", draw)

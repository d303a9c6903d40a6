"""Gravity compensation: the arm floats under its own weight, and a hand can push it about.

The motors apply exactly the torques that hold the arm still, at every position. After a short push at the flange the
arm coasts, slowed by the damping of its joints and nothing else. Without compensation it falls.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

arm = da.load("demo_arm")
plant = da.Dynamics(arm, wrenches=["flange"], include=["damping"])  # damping is there only because we ask for it
hold = da.Dynamics(arm).gravity
start = np.array([0.0, 0.6, 0.7, 0.0, 0.4, 0.0])
end = 1.0 if SHORT else 4.0
times = np.linspace(0, end, 400)


def push(t, q, v):
    """Six newtons along the flange's y axis for a quarter of a second."""
    return [0, 6.0 if 0.1 <= t < 0.35 else 0.0, 0, 0, 0, 0]


runs = {
    "compensated": simulate(plant, start, t=times, control=lambda t, q, v: hold(q), wrenches={"flange": push}),
    "untouched": simulate(plant, start, t=times, control=lambda t, q, v: hold(q), wrenches={"flange": np.zeros(6)}),
    "motors off": simulate(plant, start, t=times, wrenches={"flange": np.zeros(6)}),
}
for name, run in runs.items():
    print(f"{name:<12} largest joint motion {np.abs(run.q - start).max():.2e} rad")
assert np.abs(runs["untouched"].q - start).max() < 1e-6
height = {name: run.quantity("pose", frame="flange")[1] for name, run in runs.items()}


def draw(figure):
    left, right = figure.subplots(1, 2)
    for name, path in height.items():
        left.plot(times, path[:, 2], label=name)
        right.plot(path[:, 0], path[:, 1], label=name)
    left.set(xlabel="t (s)", ylabel="flange height (m)")
    right.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="flange from above")
    left.legend()


save("gravity_compensation", draw)

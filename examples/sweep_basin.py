"""Where does a regulator still catch the pole? A sweep over a grid of starts, restartable, results on disk.

A linear-quadratic regulator is made for the upright pole and compiled into the rollout. The sweep runs thousands of
starts in pieces, on threads here, on a Dask cluster with one more argument; called again, it computes only what is
missing.
"""

import tempfile

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.control import linearize, lqr
from dalembert.simulation import RolloutTask, grid, sweep

cart = da.load("cart_pole", parameters="default")
gains = lqr(linearize(cart, actuated=["rail"]), [1, 10, 1, 1], [0.1]).K[0]


def policy(t, q, v):
    return [-(gains[0] * q[0] + gains[1] * q[1] + gains[2] * v[0] + gains[3] * v[1]), 0]


n = 40 if SHORT else 200
points = grid({"q.hinge": np.linspace(-1.6, 1.6, n), "v.hinge": np.linspace(-8, 8, n)})
task = RolloutTask(
    cart, 800, 0.01, control=policy, summaries={"farthest": ("max", lambda t, q, v: abs(q[1]))}
)  # ten seconds
with tempfile.TemporaryDirectory() as folder:
    found = sweep(task, points, folder, piece=2000)
    end = np.abs(found["q"][..., 1]) + np.abs(found["v"][..., 1])
    farthest = found["farthest"]
    again = sweep(task, points, folder, piece=2000)  # everything is there: takes no time
    assert again.complete
caught = np.nan_to_num(end, nan=np.inf) < 0.1
print(f"{caught.mean():.0%} of {len(points)} starts are caught; the pole may lean up to")
print(f"{np.abs(points.values['q.hinge'])[caught[:, n // 2]].max():.2f} rad at rest")
assert caught[n // 2, n // 2] and not caught.all()
assert (farthest[caught] < np.pi).mean() > 0.9


def draw(figure):
    axis = figure.subplots()
    axes = points.values
    axis.pcolormesh(axes["q.hinge"], axes["v.hinge"], caught.T.astype(float), cmap="Blues", vmin=-0.3, vmax=1.2)
    axis.set(
        xlabel="angle of the pole at the start (rad)", ylabel="its rate (rad/s)", title="dark: starts that are caught"
    )


save("sweep_basin", draw)

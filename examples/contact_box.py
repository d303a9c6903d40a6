"""A box on an incline rests, slides or tips: three regions, found by one rollout, with their borders in closed form.

It slides where the incline is steeper than friction holds, tan a > mu, and tips where its weight passes beyond the
lower edge, tan a > b/h; of the two whichever has the smaller bound. Gravity is tilted instead of the ground, so that
angle and friction are parameters of one program.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

WIDE, HIGH = 0.1, 0.2  # b/h = 0.5
box = Body("box", Inertia.box(1.0, (WIDE, WIDE, HIGH)), collisions=[Shape.box(WIDE, WIDE, HIGH)])
found = da.contacts(Mechanism("box", [box], [Joint("free", "free", "world", "box")]), friction=0.5)
print(found)
dynamics = da.Dynamics(found.mechanism, parameters=["gravity.x", "gravity.z", "box.friction"])

count = 9 if SHORT else 33
mu, slope = np.meshgrid(np.linspace(0.1, 0.98, count), np.linspace(0.06, 0.96, count))  # friction, tangent of the angle
angle = np.arctan(slope)
known = {"gravity.x": 9.81 * np.sin(angle), "gravity.z": -9.81 * np.cos(angle), "box.friction": mu}
many = da.rollout(dynamics, [0, 0, HIGH / 2, 0, 0, 0, 1], None, 300, parameters=known, sweeps=60, record=False)
turned = 2 * np.abs(np.arctan2(many.final_q[..., 4], many.final_q[..., 6]))
moved = np.linalg.norm(many.final_q[..., :2], axis=-1)
outcome = np.where(turned > 0.03, 2, np.where(moved > 1e-4, 1, 0))

ratio = WIDE / HIGH
expected = np.where((slope > ratio) & (mu > ratio), 2, np.where(slope > mu, 1, 0))
near = np.minimum(np.abs(slope - np.minimum(mu, ratio)), np.where(slope > ratio, np.abs(mu - ratio), 1)) < 0.03
for k, name in enumerate(("rest", "slide", "tip")):
    print(
        f"{int((outcome == k).sum())} of {outcome.size} boxes {name}, {int((expected == k).sum())} by the closed form"
    )
print(
    f"{int((outcome != expected).sum())} differ, {int(((outcome != expected) & ~near).sum())} of them off the borders"
)
assert (outcome == expected)[~near].all()


def draw(figure):
    axes = figure.subplots()
    for k, (name, colour) in enumerate((("rests", "0.6"), ("slides", "tab:blue"), ("tips", "tab:red"))):
        axes.plot(mu[outcome == k], slope[outcome == k], "o", ms=4, color=colour, label=name)
    axes.plot([0.1, ratio, 1], [0.1, ratio, ratio], "k-", lw=0.8)
    axes.plot([ratio, ratio], [ratio, 1], "k-", lw=0.8)
    axes.set(xlabel="friction", ylabel="tangent of the incline", title=f"A box with b/h = {ratio}: lines by formula")
    axes.legend()


save("contact_box", draw)

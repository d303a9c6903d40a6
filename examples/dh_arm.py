"""One arm, two Denavit-Hartenberg tables: standard (distal) and modified (proximal) give the same motion.

Both tables describe a planar two-link arm with a prismatic third joint. Poses, inertia matrices and torques of the two
mechanisms agree, because the tool is at the same place and the masses are at the same places.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save

l1, l2 = 0.4, 0.3
link = {"mass": 2.0, "inertia": [0.001, 0.02, 0.02]}
slider = {"mass": 0.8, "inertia": [0.002, 0.002, 0.0005]}
# (alpha, a, theta, d): of the joint's own link in the standard table, of the link before it in the modified one.
standard = da.from_dh(
    [
        {"a": l1, **link, "center": [-l1 / 2, 0, 0]},
        {"a": l2, **link, "center": [-l2 / 2, 0, 0]},
        {"joint": "P", **slider, "center": [0, 0, -0.1]},
    ],
    "standard",
    name="scara_standard",
    tool=da.Transform.identity(),
)
modified = da.from_dh(
    [
        {**link, "center": [l1 / 2, 0, 0]},
        {"a": l1, **link, "center": [l2 / 2, 0, 0]},
        {"a": l2, "joint": "P", **slider, "center": [0, 0, -0.1]},
    ],
    "modified",
    name="scara_modified",
    tool=da.Transform.identity(),
)
print(modified)

q, v, a = standard.random_state(np.random.default_rng(0), (10 if SHORT else 1000,))
one, other = da.Dynamics(standard), da.Dynamics(modified)
differences = {
    "tool": np.abs(one.pose(q, frame="tool")[1] - other.pose(q, frame="tool")[1]).max(),
    "inertia matrix": np.abs(one.mass_matrix(q) - other.mass_matrix(q)).max(),
    "torques": np.abs(one.inverse_dynamics(q, v, a) - other.inverse_dynamics(q, v, a)).max(),
}
for name, difference in differences.items():
    print(f"{name}: {difference:.1e}")
assert max(differences.values()) < 1e-12


def draw(figure):
    axis = figure.subplots()
    for k, (first, second) in enumerate([(0.3, 1.2), (0.9, 0.7), (1.6, -0.6)]):
        place = np.array([first, second, 0.0])
        points = [np.zeros(3), *(other.pose(place, frame=f)[1] for f in ("link2", "tool"))]
        axis.plot([p[0] for p in points], [p[1] for p in points], marker="o", label=f"posture {k + 1}")
    axis.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="seen from above")
    axis.legend(loc="center left", bbox_to_anchor=(1, 0.5))


save("dh_arm", draw)

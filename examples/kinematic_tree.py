"""The kinematic tree of a robot as a picture: bodies as dots as large as their mass, joints as lines.

Give a file or the name of a robot; without one it is the quadruped of example-robot-data where that is installed, else
the demo arm. Branches tell which entries of the inertia matrix can be different from zero; the pattern is beside.
"""

import sys
import warnings

import numpy as np

import dalembert as da
from _pictures import save

name = sys.argv[1] if len(sys.argv) > 1 else "go2" if "go2" in da.robots() else "demo_arm"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", da.errors.ModelWarning)  # print(robot) says the same
    robot = da.load(name, base="free") if name == "go2" else da.load(name)
print(repr(robot))

children = {}
for joint in robot.joints:
    children.setdefault(joint.parent, []).append(joint)

place = {}


def put(body, depth, row):
    """Leaves one below the other, parents in the middle of their children; returns the next free row."""
    first = row
    for joint in children.get(body, ()):
        row = put(joint.child, depth + 1, row)
    rows = [place[joint.child][1] for joint in children.get(body, ())]
    place[body] = (depth, np.mean(rows) if rows else first)
    return row if rows else first + 1


leaves = put("world", 0, 0)
rows, columns = da.Dynamics(robot).mass_matrix_pattern
pattern = np.zeros((robot.nv, robot.nv))
pattern[rows, columns] = pattern[columns, rows] = 1
print(f"{leaves} leaves; {int(pattern.sum())} of {robot.nv**2} entries of the inertia matrix can be non-zero")
q, _, _ = robot.random_state(np.random.default_rng(0))
assert not np.any(da.Dynamics(robot).mass_matrix(q)[pattern == 0])


def draw(figure):
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for joint in robot.joints:
        (x0, y0), (x1, y1) = place[joint.parent], place[joint.child]
        left.plot([x0, x1], [y0, y1], color="0.8" if joint.kind == "fixed" else "tab:blue", zorder=1)
    sizes = {body.name: 15 + 60 * float(body.inertia.mass) ** (2 / 3) for body in robot.bodies}
    for body, (x, y) in place.items():
        left.scatter(x, y, sizes.get(body, 30), color="tab:orange" if body != "world" else "black", zorder=2)
        left.annotate(body, (x, y), xytext=(4, 3), textcoords="offset points", fontsize=6)
    left.set_axis_off()
    left.set_title(f"{robot.name}: grey joints are fixed")
    right.imshow(pattern, cmap="Blues")
    right.set_title("inertia matrix")


save("kinematic_tree", draw, size=(12, 6))

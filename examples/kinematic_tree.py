"""The kinematic tree of a robot as a picture: bodies as dots as large as their mass, joints as lines.

Give a file or the name of a robot; without one it is the quadruped of example-robot-data where that is installed, else
the demo arm. Branches tell which entries of the inertia matrix can be different from zero; the pattern is beside.
"""

import sys
import warnings

import numpy as np

import dalembert as da
from _pictures import save
from dalembert.pictures import draw_tree

name = sys.argv[1] if len(sys.argv) > 1 else "go2" if "go2" in da.robots() else "demo_arm"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", da.errors.ModelWarning)  # print(robot) says the same
    robot = da.load(name, base="free") if name == "go2" else da.load(name)
    robot = da.load(name, parameters="default") if robot.symbols else robot
print(repr(robot))

rows, columns = da.Dynamics(robot).mass_matrix_pattern
pattern = np.zeros((robot.nv, robot.nv))
pattern[rows, columns] = pattern[columns, rows] = 1
print(f"{int(pattern.sum())} of {robot.nv**2} entries of the inertia matrix can be non-zero")
q, _, _ = robot.random_state(np.random.default_rng(0))
assert not np.any(da.Dynamics(robot).mass_matrix(q)[pattern == 0])

save("kinematic_tree", lambda _: draw_tree(robot))

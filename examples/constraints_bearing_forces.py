"""Bearing forces of a four-bar linkage, and which of them no rigid model can know.

The loop is closed by a hinge in space: five equations where the plane needs two. The analysis says which rows repeat
what the tree already does; the reactions say which of their components are therefore not unique. What remains in the
plane does not depend on how the loop was closed, which is checked.
"""

import numpy as np

from _pictures import SHORT, save
from dalembert.constraints.classical import four_bar
from dalembert.dynamics import Dynamics

reference = [1.0, -0.5, 1.7]
hinge, point = (Dynamics(four_bar(kind=kind), reference=reference) for kind in ("revolute", "point-on-line"))
q = hinge.assemble(keep=["crank"])
print(hinge.analyse(q))
assert [str(d.row) for d in hinge.analyse(q).dependences] == [
    "pin (offset z)", "pin (tilt about y)", "pin (tilt about x)"
]  # fmt: skip

angles = np.linspace(1.0, 1.0 + 2 * np.pi, 13 if SHORT else 121)
forces = []
for angle in angles:
    q = hinge.assemble([angle, *q[1:]], keep=["crank"])
    v = hinge.project_velocity(q, [3.0, 0, 0], keep=["crank"])
    tau = np.array([2.0, 0, 0])
    found, other = (system.reactions(q, v, tau, axes="world")["coupler"] for system in (hinge, point))
    assert np.allclose(found.force[:2], other.force[:2])
    forces.append(found.force[:2])
print(found)
assert found.unique.tolist() == [True, True, False, False, False, True] and other.unique.all()
forces = np.array(forces)


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(np.degrees(angles), np.linalg.norm(forces, axis=1))
    left.set(xlabel="crank (degrees)", ylabel="force (N)", title="on the crank pin, 3 rad/s")
    right.plot(*forces.T)
    right.set(aspect="equal", xlabel="horizontal (N)", ylabel="vertical (N)", title="polar diagram")


save("constraints_bearing_forces", draw)

"""Constraints of one's own: a sleigh on a knife edge, a bead on a moving wire, and a rule that cannot be one."""

import numpy as np

import dalembert as da
from dalembert.algebra import scalar
from dalembert.constraints import ConstrainedDynamics, coordinate_symbols

point = da.Inertia(1.0, [0.4, 0, 0], 0.1 * np.eye(3))
plane = da.Joint("plane", "planar", "world", "sleigh")
sleigh = da.Mechanism(
    "sleigh", [da.Body("sleigh", point)], [plane], constraints=[da.Constraint("edge", "skate", "sleigh")]
)
system = ConstrainedDynamics(sleigh)
print(system.analyse(np.zeros(3)))
print("turning on the edge:", system.forward_dynamics(np.zeros(3), [1.0, 0, 2.0], np.zeros(3)))

# The same edge as a rule of the user, once as a function and once with SymPy.
(x, y, angle), (xd, yd, _), t = coordinate_symbols(sleigh)
import sympy  # noqa: E402

for rule in (
    lambda q, v, t: v[1] * scalar.cos(q[2]) - v[0] * scalar.sin(q[2]),
    yd * sympy.cos(angle) - xd * sympy.sin(angle),
):
    own = sleigh.replace(constraints=[da.Constraint("edge", "velocity", function=rule)])
    print("by a rule:", ConstrainedDynamics(own).forward_dynamics(np.zeros(3), [1.0, 0, 2.0], np.zeros(3)))

# A bead on a wire that moves: y = sin(x - 2 t).
wire = sleigh.replace(constraints=[da.Constraint("wire", "position", function=y - sympy.sin(x - 2 * t))])
bead = ConstrainedDynamics(wire)
q = bead.assemble([0.3, 0, 0], t=0.1, keep=[])
print("on the wire at", q[:2], "with velocity", bead.project_velocity(q, np.zeros(3), t=0.1)[:2])

try:
    ConstrainedDynamics(sleigh.replace(constraints=[da.Constraint("speed", "velocity", function=xd**2 + yd**2 - 1)]))
except da.errors.ModelError as error:
    print("refused:", error)

"""Constraints of one's own: a knife edge written three ways, a bead on a moving wire, and a rule that cannot be one.

A constraint may be a kind the library knows, a Python function over scalars of any sort, or SymPy expressions; all
three give the same motion here. Rules on velocities must be linear in them: others are refused, with the term named.
"""

import numpy as np
import sympy

import dalembert as da
from _pictures import SHORT, save
from dalembert.algebra import scalar
from dalembert.constraints import coordinate_symbols
from dalembert.dynamics import Dynamics

body = da.Body("sleigh", da.Inertia(1.0, [0.4, 0, 0], 0.1 * np.eye(3)))  # its mass ahead of the edge
sleigh = da.Mechanism("sleigh", [body], [da.Joint("plane", "planar", "world", "sleigh")])
(x, y, angle), (xd, yd, _), t = coordinate_symbols(sleigh)


def sideways(q, v, t):
    return v[1] * scalar.cos(q[2]) - v[0] * scalar.sin(q[2])


edges = {
    "known kind": da.Constraint("edge", "skate", "sleigh"),
    "function": da.Constraint("edge", "velocity", function=sideways),
    "SymPy": da.Constraint("edge", "velocity", function=yd * sympy.cos(angle) - xd * sympy.sin(angle)),
}
found = {}
for name, edge in edges.items():
    system = Dynamics(sleigh.replace(constraints=[edge]))
    found[name] = system.forward_dynamics([0, 0, 0.3], [np.cos(0.3), np.sin(0.3), 2.0], np.zeros(3))
    print(f"{name:12}", found[name])
    assert np.allclose(found[name], found["known kind"])
print(system.analyse([0, 0, 0.3]))

wire = da.Constraint("wire", "position", function=y - sympy.sin(x - 2 * t))  # a wave that runs along x
bead = Dynamics(sleigh.replace(constraints=[wire]))
q = bead.assemble([0.3, 0, 0], t=0.1)
v = bead.project_velocity(q, np.zeros(3), t=0.1)
print("on the wire at", q[:2], "with velocity", v[:2])
assert np.isclose(q[1], np.sin(q[0] - 0.2)) and np.isclose(v[1], np.cos(q[0] - 0.2) * (v[0] - 2))

try:
    Dynamics(sleigh.replace(constraints=[da.Constraint("speed", "velocity", function=xd**2 + yd**2 - 1)]))
    raise AssertionError("a rule of second degree was accepted")
except da.errors.ModelError as error:
    print("refused:", error)

state, path, dt = np.array([0, 0, 0, -1.0, 0, 0.2]), [], 0.01
for _ in range(50 if SHORT else 800):  # backwards, it turns round to carry its mass in front
    path.append(state)
    middle = state + dt / 2 * np.concatenate([state[3:], system.forward_dynamics(state[:3], state[3:], np.zeros(3))])
    state = state + dt * np.concatenate([middle[3:], system.forward_dynamics(middle[:3], middle[3:], np.zeros(3))])
path = np.array(path)


def draw(figure):
    axis = figure.subplots()
    axis.plot(path[:, 0], path[:, 1])
    axis.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="a sleigh pushed backwards")


save("constraints_own_rules", draw)

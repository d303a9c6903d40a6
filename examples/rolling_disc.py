"""A coin that rolls without slipping: a constraint on velocities that cannot be integrated.

Position, yaw, lean and roll of the disc are five joints and a height in a row, their bodies without mass. Rolling is a
constraint of the mechanism. The energy must stay, the contact must not slip, and the path must bend towards the lean.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.dynamics import Dynamics
from dalembert.simulation import simulate

radius, mass = 0.3, 2.0
steps = [("x", "prismatic", [1, 0, 0]), ("y", "prismatic", [0, 1, 0]), ("z", "prismatic", [0, 0, 1]),
         ("yaw", "revolute", [0, 0, 1]), ("lean", "revolute", [1, 0, 0]), ("roll", "revolute", [0, 1, 0])]  # fmt: skip
upright = da.Frame("face", "disc", da.Transform.from_rotation([[1, 0, 0], [0, 0, -1], [0, 1, 0]]))  # its z is the axle
joints, bodies, parent = [], [], "world"
for name, kind, axis in steps:
    child = "disc" if name == "roll" else f"{name}_stage"
    inertia = (
        da.Inertia(mass, tensor=mass * radius**2 * np.diag([0.25, 0.5, 0.25])) if child == "disc" else da.Inertia()
    )
    bodies.append(da.Body(child, inertia))
    joints.append(da.Joint(name, kind, parent, child, axis=axis))
    parent = child
rolling = da.Constraint("ground", "rolling-disc", "face", "world", value=radius)
coin = da.Mechanism("coin", bodies, joints, [upright], [rolling])

lean = 0.25
q0 = np.array([0, 0, radius * np.cos(lean), 0, lean, 0])
system = Dynamics(coin, reference=q0)
v0 = system.project_velocity(q0, [0, 0, 0, 0, 0, 8.0], keep=["yaw", "lean", "roll"])
print("start:", {name: float(x.round(3)) for (name, _, _), x in zip(steps, v0)})
assert np.isclose(v0[0], 8.0 * radius)  # it rolls along x

times = np.linspace(0, 0.5 if SHORT else 6.0, 600)
motion = simulate(system, q0, v0, times)
q, v, energy = motion.q, motion.v, motion.energy
_, G, _, _ = system.evaluate("constraints", q, v, 0.0)
slip = np.abs(np.einsum("tij,tj->ti", G, v)).max()
print(f"energy drift {np.ptp(energy):.1e} J, slip {slip:.1e} m/s; the coin turned by {q[-1, 3]:.2f} rad")
assert np.ptp(energy) < 1e-6 and slip < 1e-6


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(q[:, 0], q[:, 1])
    left.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="path of the centre")
    right.plot(times, np.degrees(q[:, 4]))
    right.set(xlabel="t (s)", ylabel="lean (degrees)")


save("rolling_disc", draw)

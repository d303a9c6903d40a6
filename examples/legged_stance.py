"""A quadruped that stands: from contact forces at the feet to joint torques, for a whole sweep of loads at once.

The robot is written down in Python: a trunk on a free joint and four legs with three joints each. Forces at the feet
share the weight; with them as external wrenches, inverse dynamics at rest must leave nothing for the trunk to do.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Frame, Inertia, Joint, Mechanism, Transform

LEGS = {"LF": (0.25, 0.12), "RF": (0.25, -0.12), "LH": (-0.25, 0.12), "RH": (-0.25, -0.12)}


def quadruped():
    bodies, joints, frames = [Body("trunk", Inertia.box(9.0, (0.5, 0.2, 0.12)))], [], []
    joints.append(Joint("floating", "free", "world", "trunk"))
    at = Transform.from_translation
    for leg, (x, y) in LEGS.items():
        names = [f"{leg}_{part}" for part in ("hip", "thigh", "shank")]
        bodies += [Body(names[0], Inertia.sphere(0.7, 0.05))]
        bodies += [Body(name, Inertia.cylinder(m, 0.02, 0.2, (0, 0, -0.1))) for name, m in zip(names[1:], (0.6, 0.25))]
        joints.append(Joint(f"{leg}_roll", "revolute", "trunk", names[0], placement=at([x, y, 0]), axis=[1, 0, 0]))
        side = at([0, 0.05 * np.sign(y), 0])
        joints.append(Joint(f"{leg}_swing", "revolute", names[0], names[1], placement=side, axis=[0, 1, 0]))
        joints.append(Joint(f"{leg}_knee", "revolute", names[1], names[2], placement=at([0, 0, -0.2]), axis=[0, 1, 0]))
        frames.append(Frame(f"{leg}_foot", names[2], at([0, 0, -0.2])))
    return Mechanism("quadruped", bodies, joints, frames)


robot = quadruped()
feet = [f"{leg}_foot" for leg in LEGS]
dynamics = da.Dynamics(robot, wrenches=feet)
print(repr(robot), f"{robot.mass:.2f} kg")

# The trunk leans from left to right, in one batch; legs are bent, feet below.
lean = np.linspace(-0.04, 0.04, 9 if SHORT else 81)
q = np.tile(robot.neutral, (len(lean), 1))
for leg in LEGS:
    q[:, robot.q_slice(f"{leg}_swing")], q[:, robot.q_slice(f"{leg}_knee")] = 0.6, -1.2
    q[:, robot.q_slice(f"{leg}_roll")] = lean[:, None] / 0.33

position = np.stack([dynamics.pose(q, frame=foot)[1] for foot in feet], axis=1)  # (batch, 4, 3)
rotation = np.stack([dynamics.pose(q, frame=foot)[0] for foot in feet], axis=1)
centre = dynamics.center_of_mass(q)

# Vertical forces f with sum f = m g and no moment about the centre of mass; of all solutions the one of least norm.
arms = position - centre[:, None, :]
balance = np.stack([np.ones_like(arms[..., 0]), arms[..., 0], arms[..., 1]], axis=1)
weight = np.array([robot.mass * 9.81, 0, 0])
forces = np.linalg.pinv(balance) @ weight

wrenches = np.zeros((len(lean), 4, 6))
wrenches[..., :3] = np.einsum("bfij,bfi->bfj", rotation, forces[..., None] * [0, 0, 1])  # in the axes of each foot
still = np.zeros((len(lean), robot.nv))
tau = dynamics.inverse_dynamics(q, still, still, wrenches)
print(f"force and moment left to the trunk: {np.abs(tau[:, :6]).max():.1e}")
assert np.abs(tau[:, :6]).max() < 1e-9
print(f"largest joint torque: {np.abs(tau[:, 6:]).max():.2f} N m")


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(lean * 100, forces, label=feet)
    left.set(xlabel="lean (cm)", ylabel="force (N)")
    left.legend()
    right.plot(lean * 100, tau[:, [robot.v_slice(f"{leg}_knee").start for leg in LEGS]], label=list(LEGS))
    right.set(xlabel="lean (cm)", ylabel="knee torque (N m)")
    right.legend()


save("legged_stance", draw)

"""A four-bar linkage: assemble it, ask what moves, drive it, and read the bearing forces."""

import numpy as np

import dalembert as da
from dalembert.constraints import ConstrainedDynamics


def bar(length: float) -> da.Inertia:
    return da.Inertia(length, [length / 2, 0, 0], np.diag([1e-6, length**3 / 12, length**3 / 12]))  # 1 kg/m


shift = da.Transform.from_translation
linkage = da.Mechanism(
    "four-bar",
    bodies=[da.Body("crank_bar", bar(1.0)), da.Body("coupler_bar", bar(2.5)), da.Body("rocker_bar", bar(2.0))],
    joints=[
        da.Joint("crank", "revolute", "world", "crank_bar"),
        da.Joint("coupler", "revolute", "crank_bar", "coupler_bar", shift([1.0, 0, 0])),
        da.Joint("rocker", "revolute", "world", "rocker_bar", shift([3.0, 0, 0])),
    ],
    constraints=[da.Constraint("pin", "revolute", "coupler_bar", "rocker_bar", shift([2.5, 0, 0]), shift([2.0, 0, 0]))],
    gravity=[0, -9.81, 0],
)

system = ConstrainedDynamics(linkage, reference=[1.0, -0.5, 1.7])
q = system.assemble([1.0, -0.5, 1.7], keep=["crank"])
v = system.project_velocity(q, [2.0, 0, 0], keep=["crank"])
print("assembled at", q, "moving at", v)
print(system.analyse(q))

tau = np.array([5.0, 0, 0])
print("accelerations", system.forward_dynamics(q, v, tau))
for reaction in system.reactions(q, v, tau, axes="world").values():
    print(reaction)

wanted = system.solve(q, v, np.zeros(3)).a
wanted = wanted + v / v[0] * (1.0 - wanted[0])  # the same motion, but the crank shall accelerate at 1 rad/s^2
print("torque for it:", system.inverse_dynamics(q, v, wanted, actuated=["crank"]).tau[0], "N m")

crowd = np.repeat(q[None], 100_000, axis=0)
print("a batch of", len(crowd), "states:", system.forward_dynamics(crowd, v, tau).shape)

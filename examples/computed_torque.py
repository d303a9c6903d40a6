"""Computed torque at 1 kHz: a kernel bound to its arrays inside a control loop.

``bind`` fixes the memory once; after that a call without arguments reads the inputs and writes the torques in place,
with nothing allocated. The controller believes in the bare arm; the plant carries a tool it knows, or does not know.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

arm = da.load("demo_arm")
known = da.Dynamics(arm)
centre = np.array([0.2, 0.3, 0.8, 0.1, 0.5, 0.0])
size = np.array([0.6, 0.3, 0.4, 0.5, 0.4, 0.8])
rate = np.array([2.0, 1.5, 1.8, 2.2, 2.5, 3.0])


def wanted(t):
    """Positions, velocities and accelerations of the reference motion."""
    return (
        centre + size * np.sin(rate * t),
        size * rate * np.cos(rate * t),
        -size * rate**2 * np.sin(rate * t),
    )


q, v, a, torque = (np.zeros(arm.nv) for _ in range(4))
inverse_dynamics = known.inverse_dynamics.bind(q, v, a, out=torque)
stiffness, damping = 400.0, 40.0


def control(t, measured_q, measured_v):
    goal, goal_v, goal_a = wanted(t)
    q[:], v[:] = measured_q, measured_v
    a[:] = goal_a + damping * (goal_v - v) + stiffness * (goal - q)
    inverse_dynamics()
    return torque.copy()  # the simulation keeps it


end = 0.5 if SHORT else 3.0
times = np.linspace(0, end, int(200 * end) + 1)
goal = np.array([wanted(t)[0] for t in times])
tool = da.Inertia.sphere(0.5, 0.03, center=(0.06, 0, 0))
errors = {}
for name, plant in (("the model is right", arm), ("0.5 kg it does not know of", da.add_payload(arm, "flange", tool))):
    start = wanted(0.0)
    motion = simulate(plant, start[0], start[1], times, control=control, hold=1e-3)
    errors[name] = np.abs(motion.q - goal)
    print(f"{name}: largest error {errors[name].max() * 1e3:.3f} mrad")
exact, wrong = (errors[name].max() for name in errors)
assert exact < 5e-3 < wrong


def draw(figure):
    axis = figure.subplots()
    for name, error in errors.items():
        axis.semilogy(times, error.max(axis=1) + 1e-12, label=name)
    axis.set(xlabel="t (s)", ylabel="largest joint error (rad)", title="computed torque, 1 kHz", ylim=(1e-6, None))
    axis.legend(loc="center right")


save("computed_torque", draw)

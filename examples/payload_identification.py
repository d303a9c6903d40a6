"""What is in the gripper? Mass, centre of mass and inertia of an unknown payload from joint torques.

Torques are linear in the ten inertial parameters of a body. The regressor, a kernel like any other, gives their
coefficients for every sample at once; least squares gives the parameters.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Inertia

arm = da.load("demo_arm")
truth = Inertia(0.9, [0.03, -0.02, 0.06], [[0.004, 0.0003, 0], [0.0003, 0.005, -0.0002], [0, -0.0002, 0.003]])
loaded = da.Dynamics(da.add_payload(arm, "flange", truth))

# Measurements: a rich motion, torques with noise.
rng = np.random.default_rng(0)
samples = 200 if SHORT else 3000
q, v, a = arm.random_state(rng, (samples,))
noise = 0.05  # N m
measured = loaded.inverse_dynamics(q, v, a) + noise * rng.normal(size=(samples, arm.nv))

# What the bare arm needs is known; the rest is due to the payload.
rest = measured - da.Dynamics(arm).inverse_dynamics(q, v, a)
number = [body.name for body in loaded.mechanism.bodies].index("payload")
Y = loaded.regressor(q, v, a)[..., 10 * number : 10 * number + 10]  # (samples, joints, 10)
parameters, *_ = np.linalg.lstsq(Y.reshape(-1, 10), rest.ravel(), rcond=None)
found = Inertia.from_parameters(parameters)

print(f"{'':<18}{'found':>10}{'truth':>10}")
rows = [("mass (kg)", found.mass, truth.mass)]
rows += [(f"centre {x} (m)", found.center[k], truth.center[k]) for k, x in enumerate("xyz")]
entries = [("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2)]
rows += [(f"I{name} (kg m²)", found.tensor[i, j], truth.tensor[i, j]) for name, i, j in entries]
for name, mine, real in rows:
    print(f"{name:<18}{mine:>10.4f}{real:>10.4f}")
assert abs(found.mass - truth.mass) < 0.05 and np.abs(found.center - truth.center).max() < 0.01


def draw(figure):
    axis = figure.subplots()
    bins = np.linspace(-5, 5, 101)
    axis.hist(rest.ravel(), bins, alpha=0.6, label="without payload in the model")
    axis.hist((rest - Y @ parameters).ravel(), bins, alpha=0.6, label="with the payload found")
    axis.set(xlabel="error of the model (N m)", ylabel="samples", yscale="log")
    axis.legend()


save("payload_identification", draw)

"""Where is the hand agile? Two hundred thousand postures in one call, drawn as a map of manipulability.

Manipulability is sqrt(det(J J^T)) of the translational Jacobian: zero where the hand cannot move in some direction.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save

arm = da.load("demo_arm")
dynamics = da.Dynamics(arm)
rng = np.random.default_rng(0)
q, _, _ = arm.random_state(rng, (2_000 if SHORT else 200_000,))
q[:, 0] = 0.0  # the first joint only turns the picture
_, position = dynamics.pose(q, frame="flange")
J = dynamics.jacobian(q, frame="flange")[:, :3, :]
measure = np.sqrt(np.clip(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0, None))
reach = np.linalg.norm(position, axis=1)
print(f"reach {reach.max():.3f} m; manipulability from {measure.min():.1e} to {measure.max():.3f}")
worst = q[np.argmin(measure)]
print("least agile posture:", worst.round(2))
singular = np.linalg.svd(dynamics.jacobian(worst, frame="flange")[:3], compute_uv=False)
assert np.isclose(singular.prod(), measure.min(), rtol=1e-3, atol=1e-6)


def draw(figure):
    axis = figure.subplots()
    shown = axis.hexbin(position[:, 0], position[:, 2], C=measure, gridsize=60, reduce_C_function=np.max)
    figure.colorbar(shown, label="largest manipulability")
    axis.set(aspect="equal", xlabel="x (m)", ylabel="z (m)", title="demo arm, first joint at zero")


save("workspace", draw, size=(7, 6))

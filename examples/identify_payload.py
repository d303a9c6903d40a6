"""A payload from encoders and noisy torques, with error bars, and never an impossible body.

An arm that does not know its load follows a motion chosen to be informative. Positions are read by encoders and
differentiated, torques are noisy. Weighted least squares gives the ten parameters with their uncertainty; those that no
real body could have are replaced by the most plausible ones that a body can.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Inertia
from dalembert.control import computed_torque
from dalembert.identification import differentiate, excitation, exciting_motion, identify, is_consistent, low_pass
from dalembert.simulation import simulate

arm = da.load("demo_arm")
payload = Inertia(1.2, [0.02, -0.03, 0.08], np.diag([0.006, 0.007, 0.004]))
plant = da.Dynamics(da.add_payload(arm, "flange", payload))
model = da.add_payload(arm, "flange", Inertia.sphere(0.3, 0.04))  # a guess

# A motion that tells much: the best of some random Fourier series.
h = 2e-3
t = np.arange(0, 6 if SHORT else 20, h)
plan = exciting_motion(model, t, 0.25, trials=5 if SHORT else 40, unknown=["payload"], amplitude=1.0, speed=3.0)
print(f"condition number of the motion: {excitation(model, *plan, unknown=['payload']).condition:.0f}")

# The arm follows it by computed torque, without knowing the payload.
law = computed_torque(model)
stiff, brake = np.full(arm.nv, 400.0), np.full(arm.nv, 40.0)


def control(now, q, v):
    k = min(round(now / h), len(t) - 1)
    return law(q, v, *(row[k] for row in plan), stiff, brake)


motion = simulate(plant, plan[0][0], plan[1][0], t, method="rk4", step=h, control=control, hold=h)

# What the instruments say.
rng = np.random.default_rng(0)
encoder = np.round(motion.q / 1e-5) * 1e-5
before = np.concatenate([motion.tau[:1], motion.tau[:-1]])  # each torque acts for one period: take the mean of two
sensor = (before + motion.tau) / 2 + 0.1 * rng.normal(size=motion.tau.shape)

# The filter must leave the motion alone: at 8 Hz it would bend the answer by more than the noise does. Filtered samples
# depend on their neighbours; those half a period of the cut-off apart do not.
cutoff = 30.0
middle = slice(200, -200, round(1 / (2 * cutoff * h)))
q, v, a = (x[middle] for x in differentiate(t, encoder, cutoff))
found = identify(model, q, v, a, low_pass(t, sensor, cutoff)[middle], unknown=["payload"])
print(found)
inertia = found.mechanism.body("payload").inertia
print(f"mass {inertia.mass:.3f} kg (truth {payload.mass}), centre {np.round(inertia.center, 4)} m")
assert abs(inertia.mass - payload.mass) < 0.05
assert is_consistent(inertia.parameters)
truth = found.visible.matrix @ payload.parameters
missed = int((abs(found.values - truth) > 1.96 * found.deviations).sum())
print(f"of {len(truth)} intervals of 95 %, {missed} miss the truth")
assert missed <= 2


def draw(figure):
    axis = figure.subplots()
    names = [found.visible.names[k].split(".")[1] for k in found.visible.kept]
    axis.errorbar(names, found.values - truth, 1.96 * found.deviations, fmt="o", capsize=4)
    axis.axhline(0, color="0.6")
    axis.set(ylabel="found minus true (SI units)", title="parameters of the payload, with 95 % intervals")
    axis.set_yscale("symlog", linthresh=1e-4)
    axis.margins(y=0.15)


save("identify_payload", draw)

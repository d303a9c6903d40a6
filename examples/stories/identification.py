"""Identification: from the log of a robot to masses, friction, and a motion that they predict.

Somebody hands over two CSV files: times in milliseconds, angles in degrees, joints counted from one. The columns are
mapped and reported, cross-validation chooses how much friction the data support, the unknown payload is found with its
uncertainty, and the second file - never used before - is the test.
"""

import os
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.identification import choose_friction, exciting_motion, identify, is_consistent, read_log
from dalembert.simulation import load_trajectory

SHORT = os.environ.get("DALEMBERT_SHORT", "0") not in ("", "0")

# ---- the robot as it is, known only to this paragraph: a payload, and friction in every joint
arm = da.load("demo_arm")
truth = da.Inertia(0.9, [0.03, -0.02, 0.06], np.diag([0.004, 0.005, 0.003]))
joints = [joint.replace(damping=0.3, friction=0.5) if joint.nv else joint for joint in arm.joints]
robot = da.Dynamics(da.add_payload(arm.replace(joints=joints), "flange", truth), include=["damping", "friction"])
rng, folder = np.random.default_rng(0), Path(mkdtemp())


def record(name, seed):
    """A motion of the robot as its controller logs it: 500 Hz, encoders with steps of 0.001 degrees, noisy torques."""
    t = np.arange(0, 6 if SHORT else 20, 2e-3)
    q, v, a = exciting_motion(arm, t, 0.25, trials=5, seed=seed, amplitude=0.8)
    tau = robot.inverse_dynamics(q, v, a) + 0.1 * rng.normal(size=v.shape)
    titles = ["time [ms]", *(f"enc{k} [deg]" for k in range(1, 7)), *(f"tau{k} [N m]" for k in range(1, 7))]
    table = np.column_stack([1000 * t, np.round(np.degrees(q), 3), tau])
    np.savetxt(folder / name, table, delimiter=";", header=";".join(titles), comments="", fmt="%.6g")
    return folder / name


first, second = record("monday.csv", 1), record("tuesday.csv", 2)

# ---- who reads it says what was read; a file that is read as something else says who can
try:
    load_trajectory(first, arm)
except DalembertError as error:
    print("load_trajectory:", str(error).splitlines()[0], "\n")
log = read_log(first, arm, columns={"q": "enc{number}"})
print(log, "\n")
samples = log.samples(cutoff=20)

# ---- how much friction do the data support? Then everything at once: the payload, and friction of six drives
model = da.add_payload(arm, "flange", da.Inertia.sphere(0.3, 0.04))
choice = choose_friction(model, *samples, unknown=["payload"])
print(choice, "\n")
found = choice.identification
payload = found.mechanism.body("payload").inertia
print(f"payload {payload.mass:.3f} kg (truth {truth.mass}), centre {payload.center.round(3)} m (truth {truth.center})")
assert "viscous" in choice.chosen and "Coulomb" in choice.chosen
assert abs(payload.mass - truth.mass) < 0.03 and np.abs(payload.center - truth.center).max() < 0.01
assert is_consistent(payload.parameters)  # a body with these numbers can exist
drag, true = found.values[-12:], np.repeat([0.3, 0.5], 6)  # damping, then friction, of six joints
print(f"damping {drag[:6].round(3)} N m s (truth 0.3), friction {drag[6:].round(3)} N m (truth 0.5)")
assert (abs(drag - true) < 4 * found.deviations[-12:]).all()

# ---- the test that counts: a motion that was not used
other = read_log(second, arm, columns={"q": "enc{number}"}).samples(cutoff=20)
left = other.tau - found.predict(other.q, other.v, other.a, other.signs)
print("tuesday, root mean square of what is left:", np.sqrt((left**2).mean(axis=0)).round(3), "N m")
assert np.sqrt((left[50:-50] ** 2).mean()) < 0.2
without = other.tau - identify(model, *samples, unknown=["payload"]).predict(*other[:3])
print("the same without friction:                  ", np.sqrt((without**2).mean(axis=0)).round(3), "N m")

Path("out").mkdir(exist_ok=True)
found.plot_prediction(*other).savefig("out/identification.png", dpi=100)
print("picture: out/identification.png")

"""A humanoid keeps its balance, or falls: pushes of every strength in one rollout, and the bound by the capture point.

Joints are held by springs and dampers about a posture with bent knees; eight points of two feet carry, trunk and knees
touch the ground in a fall. A push forward is a turn about the ankles. To first order a humanoid on stiff legs is an
inverted pendulum: what moves with v at height h comes to rest above the point v sqrt(h/g) ahead of it, and falls if
that point is beyond its toes.
"""

import warnings

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

HIP, THIGH, SHANK, SOLE, TOE, HEEL = 0.09, 0.42, 0.40, 0.08, 0.17, -0.09
at = da.Transform.from_translation
x, y, z = np.eye(3)


def humanoid():
    bodies = [
        Body(
            "trunk",
            Inertia.box(38.0, (0.2, 0.32, 0.55), (0, 0, 0.3)),
            collisions=[Shape.capsule(0.1, 0.4, (0, 0, 0.3))],
        )
    ]
    joints = [Joint("base", "free", "world", "trunk")]
    corners = [(a, b, -SOLE) for a in (HEEL, TOE) for b in (-0.045, 0.045)]
    for side, sign in (("left", 1), ("right", -1)):
        chain = [
            ("yaw", "trunk", z, (0, sign * HIP, 0), Inertia.sphere(0.8, 0.05), 0.05),
            ("roll", f"{side}_yaw", x, (0, 0, 0), Inertia.sphere(0.8, 0.05), 0.05),
            ("hip", f"{side}_roll", y, (0, 0, 0), Inertia.cylinder(6.5, 0.07, THIGH, (0, 0, -THIGH / 2)), 0.1),
            ("knee", f"{side}_hip", y, (0, 0, -THIGH), Inertia.cylinder(3.2, 0.05, SHANK, (0, 0, -SHANK / 2)), 0.1),
            ("ankle", f"{side}_knee", y, (0, 0, -SHANK), Inertia.sphere(0.4, 0.04), 0.05),
            ("foot", f"{side}_ankle", x, (0, 0, 0), Inertia.box(1.0, (0.25, 0.1, 0.05), (0.04, 0, -SOLE / 2)), 0.05),
        ]
        for name, parent, axis, place, matter, rotor in chain:
            touching = {"foot": [Shape.points(corners)], "knee": [Shape.sphere(0.06)]}
            bodies.append(Body(f"{side}_{name}", matter, collisions=touching.get(name, [])))
            joints.append(
                Joint(f"{side}_{name}", "revolute", parent, f"{side}_{name}", placement=at(place), axis=axis,
                      armature=rotor)
            )  # fmt: skip
    return Mechanism("humanoid", bodies, joints)


found = da.contacts(humanoid(), friction=0.8)
print(found)
robot = found.mechanism
dynamics = da.Dynamics(robot, include=("armature",))

BEND = 0.3
posture = np.zeros(12)
for k in (0, 6):
    posture[k + 2], posture[k + 3], posture[k + 4] = -BEND, 2 * BEND, -BEND
kp = np.tile([600.0, 900, 900, 900, 700, 500], 2)
kd = np.tile([20.0, 30, 30, 30, 30, 20], 2)
high = SOLE + (THIGH + SHANK) * np.cos(BEND)
stand = np.concatenate([[0, 0, high, 0, 0, 0, 1], posture])
weight = robot.mass * 9.81


def control(t, q, v):
    return [0] * 6 + [kp[i] * (posture[i] - q[7 + i]) - kd[i] * v[6 + i] for i in range(12)]


settled = da.rollout(dynamics, stand, None, 1500, 1e-3, control=control, sweeps=40, record=False, lift=True)
q0 = settled.final_q
centre = np.asarray(dynamics.center_of_mass(q0))
carried = settled.contacts.final[0][[point.normal for point in settled.contacts.layout.points]].sum() / 1e-3
print(f"{robot.mass:.1f} kg, standing: eight points carry {carried:.2f} N of {weight:.2f} N")
print(f"centre of mass {centre[2]:.3f} m high, {centre[0]:+.3f} m ahead of the ankles")
assert abs(carried / weight - 1) < 1e-3

# Pushes: the whole body turns about the ankles, while the feet stand still.
speeds = np.linspace(-0.6, 0.8, 8 if SHORT else 29)
omega = speeds / (centre[2] - SOLE)
v0 = np.zeros((len(speeds), robot.nv))
v0[:, 0], v0[:, 4] = omega * (q0[2] - SOLE), omega
for name in ("left_ankle", "right_ankle"):
    v0[:, robot.v_slice(name).start] = -omega
warnings.simplefilter("ignore", da.errors.SimulationWarning)  # of those that lie on the ground with trunk and knees
many = da.rollout(dynamics, q0, v0, 2500, 1e-3, control=control, sweeps=40, every=50)
stays = many.final_q[:, 2] > 0.8 * high
capture = centre[0] + speeds * np.sqrt((centre[2] - SOLE) / 9.81)
for s, point, good in zip(speeds, capture, stays):
    print(f"push of {s:+.2f} m/s, capture point {point:+.3f} m: {'stands' if good else 'falls'}")
inside = (capture > HEEL) & (capture < TOE)
print(f"heels at {HEEL:+.3f} m, toes at {TOE:+.3f} m")
print(f"of those that stand the law of contact is violated by at most {many.contacts.worst[stays].max():.1e} m/s")
assert many.contacts.worst[stays].max() < 1e-3
well = (capture > 0.6 * HEEL) & (capture < 0.6 * TOE)
far = (capture < 1.3 * HEEL) | (capture > 1.3 * TOE)
assert well.any() and far.any() and stays[well].all() and not stays[far].any()


def draw(figure):
    left, right = figure.subplots(1, 2)
    for k in range(len(speeds)):
        left.plot(many.t, many.q[k, :, 2], color="tab:blue" if stays[k] else "tab:red", lw=0.8)
    left.set(xlabel="t (s)", ylabel="height of the hips (m)", title="Pushed humanoids")
    right.plot(speeds, capture, "k-", lw=0.8)
    right.plot(speeds[stays], capture[stays], "o", color="tab:blue", label="stands")
    right.plot(speeds[~stays], capture[~stays], "o", color="tab:red", label="falls")
    right.axhspan(HEEL, TOE, color="0.9", label="from heel to toe")
    right.set(xlabel="speed of the push (m/s)", ylabel="capture point (m)")
    right.legend()


save("contact_humanoid", draw)

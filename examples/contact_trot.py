"""A quadruped lands, stands and trots: PD control of twelve joints, four feet that stick or slip as they must.

The feet are spheres of the model; ``da.contacts`` puts them on the ground. Nothing is prescribed but the angles that
the joints should have: diagonal legs step together, with a foot path of lines and a sine.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape, Transform

LEGS = {"LF": (0.2, 0.1), "RF": (0.2, -0.1), "LH": (-0.2, 0.1), "RH": (-0.2, -0.1)}
LENGTH = 0.2  # of thigh and shank, m


def quadruped():
    bodies, joints = [Body("trunk", Inertia.box(8.0, (0.45, 0.18, 0.1)))], [Joint("base", "free", "world", "trunk")]
    at = Transform.from_translation
    for leg, (x, y) in LEGS.items():
        foot = Shape.sphere(0.02, (0, 0, -LENGTH))
        bodies.append(Body(f"{leg}_hip", Inertia.sphere(0.5, 0.04)))
        bodies.append(Body(f"{leg}_thigh", Inertia.cylinder(0.6, 0.02, LENGTH, (0, 0, -LENGTH / 2))))
        bodies.append(Body(f"{leg}_foot", Inertia.cylinder(0.2, 0.015, LENGTH, (0, 0, -LENGTH / 2)), collisions=[foot]))
        ends = (("roll", "trunk", "hip", [x, y, 0]), ("swing", f"{leg}_hip", "thigh", [0, 0, 0]))
        ends += (("knee", f"{leg}_thigh", "foot", [0, 0, -LENGTH]),)
        for name, parent, child, place in ends:
            axis = [1, 0, 0] if name == "roll" else [0, 1, 0]
            joints.append(Joint(f"{leg}_{name}", "revolute", parent, f"{leg}_{child}", placement=at(place), axis=axis))
    return Mechanism("quadruped", bodies, joints)


found = da.contacts(quadruped(), friction=0.8)
print(found)
robot = found.mechanism

PERIOD, STRIDE, LIFT, HEIGHT = 0.4, 0.1, 0.05, 0.33


def legs(x, z):
    """Angles of hip and knee that put a foot at x, z below the hip."""
    reach = np.hypot(x, z)
    knee = -2 * np.arccos(reach / (2 * LENGTH))
    return np.arctan2(-x, -z) - knee / 2, knee


def wanted(t):
    """Angles of all joints: diagonal legs in turn on the ground, moving backwards, and in the air."""
    angles = np.zeros(12)
    for k, leg in enumerate(LEGS):
        phase = (max(t - 0.4, 0) / PERIOD + (0 if leg in ("LF", "RH") else 0.5)) % 1
        trots = t > 0.4
        stance = phase < 0.5
        along = STRIDE * (0.5 - 2 * phase) if stance else STRIDE * (2 * phase - 1.5)
        up = 0 if stance else LIFT * np.sin(2 * np.pi * (phase - 0.5))
        angles[3 * k + 1 : 3 * k + 3] = legs(along * trots, -HEIGHT + 0.02 + up * trots)
    return angles


def control(t, q, v):
    return np.concatenate([np.zeros(6), 150 * (wanted(t) - q[7:]) - 3 * v[6:]])


start = np.concatenate([[0, 0, HEIGHT + 0.05, 0, 0, 0, 1], wanted(0)])
motion = da.simulate(robot, start, t=0.8 if SHORT else 3.0, control=control, sweeps=40)
contacts = motion.contacts
weight = robot.mass * 9.81
standing = (motion.t > 0.3) & (motion.t < 0.4)
print(f"standing, the feet carry {contacts.forces[standing, :, 0].sum(axis=1).mean():.2f} N of {weight:.2f} N")
print(f"in {motion.t[-1]:g} s it went {motion.q[-1, 0]:.3f} m, {motion.q[-1, 2]:.3f} m high")
print(f"friction took {contacts.friction_loss[-1]:.3f} J, impacts {contacts.impact_loss[-1]:.3f} J")
print(f"the law of contact is violated by at most {contacts.worst:.1e} m/s")

assert abs(contacts.forces[standing, :, 0].sum(axis=1).mean() / weight - 1) < 0.02
assert motion.q[-1, 2] > 0.8 * HEIGHT and contacts.worst < 1e-3
assert (contacts.mode[motion.t > 0.45] == 0).any(axis=0).all()  # every foot leaves the ground


def draw(figure):
    upper, lower = figure.subplots(2, 1, sharex=True)
    for k, name in enumerate(contacts.names):
        upper.fill_between(motion.t, k, k + 0.8, where=contacts.mode[:, k] > 0, step="pre", label=name)
    upper.set_yticks(np.arange(4) + 0.4, contacts.names)
    upper.set_title("feet on the ground")
    lower.plot(motion.t, contacts.forces[..., 0].sum(axis=1), lw=0.6, label="sum of normal forces")
    lower.axhline(weight, color="k", lw=0.8, ls="--", label="weight")
    lower.set(xlabel="t (s)", ylabel="N", ylim=(0, 4 * weight))
    lower.legend()


save("contact_trot", draw)

"""A gripper holds a capsule by friction: two fingers with friction mu must press with more than m g / (2 mu) each.

A batch of grips, from too weak to strong, in one rollout; what is held does not creep.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

MASS, MU, RADIUS, FINGER = 0.2, 0.5, 0.03, 0.02

bodies = [Body("capsule", Inertia.cylinder(MASS, RADIUS, 0.1), collisions=[Shape.capsule(RADIUS, 0.08)])]
joints = [Joint("free", "free", "world", "capsule")]
for side, sign in (("left", 1), ("right", -1)):
    pad = Shape.box(FINGER, 0.03, 0.06)
    bodies.append(Body(f"{side}_finger", Inertia.box(0.1, (FINGER, 0.03, 0.06)), collisions=[pad]))
    place = da.Transform.from_translation([-sign * (RADIUS + FINGER / 2), 0, 0])
    joints.append(Joint(f"{side}_slide", "prismatic", "world", f"{side}_finger", placement=place, axis=[sign, 0, 0]))
hand = Mechanism("gripper", bodies, joints)
pairs = [("capsule", "left_finger"), ("capsule", "right_finger")]
found = da.contacts(hand, friction=MU, ground=None, pairs=pairs)
print(found)

needed = MASS * 9.81 / (2 * MU)
share = np.linspace(0.5, 2.0, 6 if SHORT else 16)
grip = np.zeros((len(share), 8))
grip[:, 6:] = (share * needed)[:, None]
q0 = [0, 0, 0, 0, 0, 0, 1, 0, 0]
many = da.rollout(found.mechanism, q0, np.zeros(8), steps=60, step=1e-3, control=grip[:, None, :], hold=60, sweeps=60)
fallen = -many.final_q[:, 2]
for s, depth, speed in zip(share, fallen, many.final_v[:, 2]):
    print(f"{s:4.2f} of the force that is needed: {1e3 * depth:8.4f} mm lower after 0.06 s, {speed:+.1e} m/s")

# Too weak a grip lets it fall with g - 2 mu F / m; more than enough holds it to rounding.
expected = np.maximum(9.81 * (1 - share), 0) * 0.06
np.testing.assert_allclose(-many.final_v[:, 2], expected, atol=1e-3)
assert np.abs(many.final_v[share > 1.5, 2]).max() < 1e-9


def draw(figure):
    axes = figure.subplots()
    axes.plot(share, -many.final_v[:, 2], "o", label="computed")
    axes.plot(share, expected, "k--", lw=1, label="Coulomb")
    axes.set(xlabel="grip over the grip that is needed", ylabel="falling after 0.06 s (m/s)", title="A gripper")
    axes.legend()


save("contact_gripper", draw)

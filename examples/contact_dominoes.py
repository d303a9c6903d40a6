"""Dominoes: boxes on the ground that knock each other over, and one that is too far away to be reached.

Bodies of one mechanism, each with a free joint of its own; every box touches the ground with its corners, and its
neighbours with faces, corners or edges.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

COUNT = 3 if SHORT else 4
THICK, WIDE, HIGH, APART = 0.01, 0.03, 0.06, 0.03
SIZE = (THICK, WIDE, HIGH)

bodies = [Body(f"stone{k}", Inertia.box(0.02, SIZE), collisions=[Shape.box(*SIZE)]) for k in range(COUNT)]
joints = [Joint(f"free{k}", "free", "world", f"stone{k}") for k in range(COUNT)]
pairs = [(f"stone{k}", f"stone{k + 1}") for k in range(COUNT - 2 if SHORT else COUNT - 1)]
found = da.contacts(Mechanism("dominoes", bodies, joints), friction=0.4, pairs=pairs)
print(found)
row = found.mechanism

places = [APART * k for k in range(COUNT)]
places[-1] += 2 * HIGH  # nobody reaches it
q0 = np.concatenate([[x, 0, HIGH / 2, 0, 0, 0, 1] for x in places])
v0 = np.zeros(row.nv)
v0[0], v0[4] = 0.25, 5.0  # a push at the top of the first

motion = da.simulate(row, q0, v0, t=0.3, sweeps=40)
tilt = np.stack([2 * np.arctan2(motion.q[:, 7 * k + 4], motion.q[:, 7 * k + 6]) for k in range(COUNT)], axis=1)
print("in the end they lean by", ", ".join(f"{np.degrees(x):.1f}" for x in tilt[-1]), "degrees")
lost = [1e3 * x[-1] for x in (motion.contacts.friction_loss, motion.contacts.impact_loss)]
print(f"friction took {lost[0]:.3f} mJ, impacts {lost[1]:.3f} mJ")
assert (np.degrees(tilt[-1, :-1]) > 30).all() and abs(tilt[-1, -1]) < 1e-3
assert motion.q[:, 2::7].min() > 0  # nobody falls through the floor


def draw(figure):
    axes = figure.subplots()
    for k in range(COUNT):
        axes.plot(motion.t, np.degrees(tilt[:, k]), label=f"stone {k}")
    axes.set(xlabel="t (s)", ylabel="angle (degrees)", title="Dominoes")
    axes.legend()


save("contact_dominoes", draw)

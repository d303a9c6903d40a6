"""Billiards: three balls on a cloth, the cue ball hit with follow; what it keeps, what it gives, and where it rolls.

Between the balls e = 1 and no friction, with the cloth friction 0.2. In a full hit the cue ball stops, then its spin
makes it follow: it ends with 2/7 of the speed that it had while it rolled, and its partner with 5/7.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

R, MASS = 0.0286, 0.17
NAMES = ("cue", "red", "yellow")
balls = [Body(name, Inertia.sphere(MASS, R), collisions=[Shape.sphere(R)]) for name in NAMES]
joints = [Joint(f"{name}_free", "free", "world", name) for name in NAMES]
table = Mechanism("billiard", balls, joints)
found = da.contacts(table, {"*-*": 0.0, "*": 0.2}, pairs="all", restitution={"*-*": 1.0, "*": 0.0})
print(found)
table = found.mechanism


def state(places):
    return np.concatenate([[x, y, R, 0, 0, 0, 1] for x, y in places])


speed = 1.0
v0 = np.zeros(18)
v0[:6] = [speed, 0, 0, 0, speed / R, 0]  # rolling
seconds = 0.6 if SHORT else 1.2
full = da.simulate(table, state([(0, 0), (0.2, 0), (0.2, 1.0)]), v0, t=seconds, sweeps=30)
cut = da.simulate(table, state([(0, 0), (0.2, R), (0.2, -R)]), v0, t=seconds, sweeps=30)

hit = int(np.argmax(full.v[:, 6] > 0.1))
print(f"just after a full hit: cue {full.v[hit + 1, 0]:.4f}, red {full.v[hit + 1, 6]:.4f} m/s")
print(f"in the end: cue {full.v[-1, 0]:.4f}, red {full.v[-1, 6]:.4f} m/s; 2/7 = {2 / 7:.4f}, 5/7 = {5 / 7:.4f}")
for k, name in enumerate(NAMES):
    print(f"after a cut between two, {name}: {np.round(cut.v[-1, 6 * k : 6 * k + 2], 3)} m/s")

assert abs(full.v[hit + 1, 6] - speed) < 0.02 and abs(full.v[hit + 1, 0]) < 0.02
assert abs(full.v[-1, 0] - 2 / 7) < 0.01 and abs(full.v[-1, 6] - 5 / 7) < 0.01
np.testing.assert_allclose(cut.v[-1, [6, 7]], cut.v[-1, [12, 13]] * [1, -1], atol=0.02)  # one to either side


def draw(figure):
    axes = figure.subplots()
    for k, (name, colour) in enumerate(zip(NAMES, ("0.6", "tab:red", "gold"))):
        axes.plot(cut.q[:, 7 * k], cut.q[:, 7 * k + 1], color=colour, label=name)
        axes.plot(full.q[:, 7 * k], full.q[:, 7 * k + 1] - 0.3, color=colour, ls="--")
    axes.set(xlabel="x (m)", ylabel="y (m)", title="A cut between two balls; dashed: a full hit", aspect="equal")
    axes.legend()


save("contact_billiard", draw)

"""A rimless wheel walks down a slope: impacts against their closed form, and the speed to which it settles.

Tad McGeer's simplest walker (1990): spokes without feet. While a spoke stands the wheel is an inverted pendulum; when
the next one lands, angular momentum about the new point stays, so that the speed drops to (I + m l^2 cos 2a)/(I + m
l^2) of what it was, with half the angle a between spokes. Friction holds each spoke where it stands.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Ground, Inertia, Joint, Mechanism, Shape

MASS, LENGTH, SPOKES, SLOPE = 1.0, 0.5, 8, 0.08
INERTIA = 0.05
angles = 2 * np.pi * np.arange(SPOKES) / SPOKES
tips = np.stack([LENGTH * np.sin(angles), 0 * angles, LENGTH * np.cos(angles)], axis=1)

body = Body("wheel", Inertia(MASS, np.zeros(3), np.diag([INERTIA] * 3)), collisions=[Shape.points(tips.tolist())])
joint = Joint("plane", "planar", "world", "wheel", axis=[0, 1, 0])  # moves in x and z, turns about y
wheel = Mechanism("rimless wheel", [body], [joint])
ground = Ground.plane(normal=(np.sin(SLOPE), 0, np.cos(SLOPE)))
wheel = da.contacts(wheel, friction=2.0, ground=ground).mechanism

# The start: two spokes on the ground, rolling down. The planar joint counts z first, then x, then the angle about y.
half = np.pi / SPOKES
height = LENGTH * np.cos(half)
q0 = [height * np.cos(SLOPE), height * np.sin(SLOPE), SLOPE + half]
about_tip = INERTIA + MASS * LENGTH**2
omega = 2.0
front = LENGTH * np.array([np.cos(SLOPE - half), np.sin(SLOPE - half)])  # from the front tip to the centre: z, x
v0 = [-omega * front[1], omega * front[0], omega]

motion = da.simulate(wheel, q0, v0, t=2.5 if SHORT else 6.0, step=2.5e-4, sweeps=20)
speed = motion.v[:, 2]

ratio = (INERTIA + MASS * LENGTH**2 * np.cos(2 * half)) / about_tip
gain = 4 * MASS * 9.81 * LENGTH * np.sin(half) * np.sin(SLOPE) / about_tip  # of the square of the speed, in each step
fixed = np.sqrt(gain / (1 - ratio**2))

drops = np.flatnonzero(np.diff(speed) < -0.05 * fixed)  # a spoke lands within two steps: one to reach, one to stop
falls = drops[np.diff(drops, prepend=-10) > 5]
falls = falls[falls + 4 < len(speed)]
before, after = speed[falls - 2], speed[falls + 4]
print(f"{len(falls)} impacts; the speed drops to {after[-1] / before[-1]:.5f} of itself, by the formula {ratio:.5f}")
print(f"the last one at {before[-1]:.4f} rad/s; the fixed point is {fixed:.4f} rad/s")
print(f"impacts took {motion.contacts.impact_loss[-1]:.3f} J, slip {motion.contacts.friction_loss[-1]:.1e} J")

# Semi-implicit Euler is of first order: what is allowed is the error of its step.
assert abs(after[-1] / before[-1] - ratio) < 1e-2
assert abs(before[-1] / fixed - 1) < (0.05 if SHORT else 0.01)


def draw(figure):
    axes = figure.subplots()
    axes.plot(motion.t, speed, lw=0.8)
    axes.axhline(fixed, color="k", ls="--", lw=0.8, label="fixed point, before impact")
    axes.axhline(ratio * fixed, color="k", ls=":", lw=0.8, label="after it")
    axes.set(xlabel="t (s)", ylabel="angular velocity (rad/s)", title="A rimless wheel finds its speed")
    axes.legend()


save("contact_rimless_wheel", draw)

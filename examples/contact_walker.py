"""The simplest walking model: two legs and a hip walk down a slope for ever, without a motor.

M. Garcia, A. Chatterjee, A. Ruina and M. Coleman, The simplest walking model, J. Biomech. Eng. 120 (1998): a point mass
at the hip, feet so light that they do not count, legs of length 1, gravity 1. On a slope of 0.009 the gait repeats
itself with theta = 0.2003 at each heel strike. While one foot stands the other swings, through the ground in the middle
of a step, as in the paper; at the strike both feet touch, and the impact leaves the hind one without force.
"""

import numpy as np
from scipy.optimize import brentq

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

SLOPE, THETA, RATE = 0.009, 0.200310900544287, -0.199832473004977
STEPS = 3 if SHORT else 8
x, y, z = np.eye(3)

foot = Inertia(1e-7, (0, 0, -1), np.zeros((3, 3)))
bodies = [Body("slide"), Body("hip", Inertia(1, (0, 0, 0), np.zeros((3, 3))))]
joints = [Joint("x", "prismatic", "world", "slide", axis=x), Joint("z", "prismatic", "slide", "hip", axis=z)]
for leg in ("left", "right"):
    bodies.append(Body(leg, foot, collisions=[Shape.points([(0, 0, -1)])]))
    joints.append(Joint(f"{leg}_hip", "revolute", "hip", leg, axis=-y))
bare = Mechanism("walker", bodies, joints, gravity=(np.sin(SLOPE), 0, -np.cos(SLOPE)))
found = da.contacts(bare, friction=10)
print(found)
walker = found.mechanism

legs = ("left", "right")
stands = {leg: da.Dynamics(walker, contacts=[leg]) for leg in legs}
gap = {leg: stands[leg].kernel("contact_points") for leg in legs}
both = da.Dynamics(walker)

# The left leg stands, the hip above and behind its foot; angles of legs grow as their feet swing forward.
q = np.array([-np.sin(THETA), np.cos(THETA), THETA, -THETA])
swing = RATE * (1 - np.cos(2 * THETA))
v = np.array([-np.cos(THETA) * RATE, -np.sin(THETA) * RATE, RATE, RATE - swing])
times, hips, angles, strikes, now = [], [], [], [], 0.0
for k in range(STEPS):
    leg, other = legs[k % 2], legs[(k + 1) % 2]
    motion = da.simulate(stands[leg], q, v, t=4.5, method="event-driven")
    strike = brentq(lambda t: float(gap[other](motion(t).q)[0][0]), 3.0, 4.4, xtol=1e-12)  # noqa: B023
    part = motion.t < strike
    times.append(now + motion.t[part])
    hips.append(motion.q[part, :2])
    angles.append(motion.q[part, 2:])
    state = motion(strike)
    after = da.simulate(both, state.q, state.v, t=1e-9, method="event-driven")
    q, v = after.q[-1], after.v[-1]
    now += strike
    place = 2 + (k + 1) % 2
    strikes.append((q[place], v[place]))
    print(f"step {k + 1}: strike after {strike:.6f}, theta = {q[place]:.6f}, rate = {v[place]:.6f}")

gone = q[0] - hips[0][0, 0]
print(f"published: theta = {THETA:.6f}, rate = {RATE:.6f}; it went {gone:.4f} leg lengths in {now:.3f} units of time")
assert np.abs(np.array(strikes) - [THETA, RATE]).max() < 1e-4
assert abs(gone - STEPS * 2 * np.sin(THETA)) < 1e-3


def draw(figure):
    left, right = figure.subplots(1, 2)
    for path in hips:
        left.plot(*path.T, color="tab:blue")
    left.set(xlabel="along the slope (leg lengths)", ylabel="height of the hip", title="The simplest walker")
    for t, pair in zip(times, angles):
        right.plot(t, pair[:, 0], color="tab:red")
        right.plot(t, pair[:, 1], color="tab:green")
    right.set(xlabel="time (units of sqrt(l/g))", ylabel="angles of the legs (rad)")


save("contact_walker", draw)

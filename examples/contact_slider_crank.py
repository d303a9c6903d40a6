"""A slider-crank strikes a stop: a closed loop and an impact, solved together.

The piston hits a wall with a coefficient of restitution; the impact turns the crank back through the rod. Before and
after it, the speed of the piston must have the ratio -e, and the pin of the loop must hold.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Constraint, Ground, Inertia, Joint, Mechanism, Shape, Transform

CRANK, ROD, E = 0.1, 0.3, 0.6
at = Transform.from_translation

bodies = [
    Body("crank", Inertia.box(0.5, (CRANK, 0.02, 0.02), (CRANK / 2, 0, 0))),
    Body("rod", Inertia.box(0.3, (ROD, 0.02, 0.02), (ROD / 2, 0, 0))),
    Body("piston", Inertia.box(0.4, (0.04, 0.04, 0.04)), collisions=[Shape.points([(0.02, 0, 0)])]),
]
joints = [
    Joint("shaft", "revolute", "world", "crank", axis=[0, 1, 0]),
    Joint("crank_pin", "revolute", "crank", "rod", placement=at([CRANK, 0, 0]), axis=[0, 1, 0]),
    Joint("guide", "prismatic", "world", "piston", axis=[1, 0, 0]),
]
pin = Constraint("piston_pin", "spherical", "rod", "piston", at([ROD, 0, 0]))
bare = Mechanism("slider-crank", bodies, joints, constraints=[pin], gravity=[0, 0, 0])
wall = Ground.plane((0.36, 0, 0), (-1, 0, 0))
found = da.contacts(bare, friction=0.0, ground=wall, restitution=E, pairs=[("piston", "world")])
print(found)

dynamics = da.Dynamics(found.mechanism)
q0 = dynamics.assemble([1.2, 1.0, 0.3], keep=["shaft"])
v0 = dynamics.project_velocity(q0, [-6.0, 0, 0], keep=["shaft"])
motion = da.simulate(dynamics, q0, v0, t=0.1 if SHORT else 0.3, step=1e-4)

piston = motion.v[:, 2]
hits = np.flatnonzero(np.diff(piston) < -0.3)
first = hits[0]
before, after = piston[first], piston[first + 2]
print(f"the piston strikes the wall at {motion.t[first]:.4f} s with {before:.4f} m/s and leaves with {after:.4f} m/s")
print(f"ratio {-after / before:.4f}, e = {E}")
print(f"the crank turned with {motion.v[first, 0]:.3f}, then with {motion.v[first + 2, 0]:.3f} rad/s")
lost = motion.kinetic_energy[first] - motion.kinetic_energy[first + 2]
print(f"energy: {motion.kinetic_energy[first]:.5f} J before; lost {lost:.5f} J = (1 - e^2) of it")
open_pin = np.abs(dynamics.evaluate("positions", motion.q, 0.0)[0]).max()
print(f"the pin opens by at most {open_pin:.1e} m")

# With one degree of freedom all energy is in the motion that is stopped: (1 - e^2) of it goes.
assert abs(-after / before - E) < 0.01
assert abs(lost / motion.kinetic_energy[first] - (1 - E**2)) < 0.02
assert open_pin < 1e-9


def draw(figure):
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(motion.t, motion.q[:, 2] + 0.02)
    upper.axhline(0.36, color="k", lw=0.8)
    upper.set(ylabel="piston (m)", title="A slider-crank strikes a stop")
    lower.plot(motion.t, motion.v[:, 0])
    lower.set(xlabel="t (s)", ylabel="crank (rad/s)")


save("contact_slider_crank", draw)

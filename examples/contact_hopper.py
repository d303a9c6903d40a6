"""A leg on a rail hops: a spring in the leg, a foot that strikes the ground, and a push at the lowest point.

Without the push every landing costs what the foot's mass brings into the ground, by the closed form of a plastic
impact; with it the leg settles to a height of its own. Two laws of contact give the same picture: rigid, in steps, and
compliant, with an adaptive integrator.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Force, Inertia, Joint, Mechanism, Shape

TRUNK, FOOT, REST, STIFFNESS = 2.0, 0.1, 0.3, 1500.0

bodies = [
    Body("trunk", Inertia.sphere(TRUNK, 0.1)),
    Body("foot", Inertia.sphere(FOOT, 0.03), collisions=[Shape.sphere(0.03)]),
]
joints = [
    Joint("rail", "prismatic", "world", "trunk", axis=[0, 0, 1]),
    Joint("leg", "prismatic", "trunk", "foot", axis=[0, 0, -1]),
]
spring = Force("spring", "joint-spring", "leg", stiffness=STIFFNESS, damping=4.0, rest=REST)
stop = Force("stop", "joint-stop", "leg", stiffness=2e5, damping=100.0, upper=REST)
bare = Mechanism("hopper", bodies, joints, forces=[spring, stop])
found = da.contacts(bare, friction=1.0, stiffness=3e5, damping=5.0, pairs=[("foot", "world")])
hopper = found.mechanism
print(found)


def push(t, q, v):
    """The leg pushes while it extends under load."""
    return np.array([0.0, 12.0 if q[1] < REST - 0.01 and v[1] > 0 else 0.0])


start, seconds = [0.6, REST], 1.5 if SHORT else 4.0
rigid = da.simulate(hopper, start, t=seconds, control=push, step=2.5e-4)
idle = da.simulate(hopper, start, t=seconds, step=2.5e-4)
soft = da.simulate(hopper, start, t=0.5, law="compliant", rtol=1e-8)

print(f"after {seconds:g} s: {rigid.q[-1, 0]:.3f} m high with the push, {idle.q[-1, 0]:.3f} m without")
print(f"impacts took {rigid.contacts.impact_loss[-1]:.3f} J")
print(f"the compliant law, at 0.5 s: {soft.q[-1, 0]:.4f} m; the rigid one {idle(0.5).q[0]:.4f} m")

landing = int(np.argmax(idle.contacts.mode[:, 0] > 0))
speed = np.sqrt(2 * 9.81 * (0.6 - REST - 0.03))
print(f"it lands with {-idle.v[landing - 1, 0]:.4f} m/s, from that height {speed:.4f} m/s")
lost = idle.contacts.impact_loss[landing + 4]  # it lands within two steps: one to reach the ground, one to stop
print(f"the first landing takes {lost:.4f} J; the foot brought {FOOT * speed**2 / 2:.4f} J")
assert abs(idle.v[landing - 1, 0] + speed) < 5e-3
assert abs(lost / (FOOT * speed**2 / 2) - 1) < 0.03
late = rigid.t > seconds / 2
assert rigid.q[late, 0].max() > idle.q[late, 0].max() + 0.02
assert abs(soft.q[-1, 0] - idle(0.5).q[0]) < 0.01


def draw(figure):
    axes = figure.subplots()
    axes.plot(rigid.t, rigid.q[:, 0], label="with a push")
    axes.plot(idle.t, idle.q[:, 0], label="without")
    axes.plot(soft.t, soft.q[:, 0], "k--", lw=1, label="without, compliant contact")
    axes.set(xlabel="t (s)", ylabel="height of the trunk (m)", title="A hopper")
    axes.legend()


save("contact_hopper", draw)

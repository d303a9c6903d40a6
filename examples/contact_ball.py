"""A ball that is thrown with spin: it bounces, slides, rolls; in steps, and from event to event as their oracle.

The series of bounces ends at sqrt(2 h/g) (1 + e)/(1 - e), after infinitely many of them; then the ball slides until it
rolls with (5 v0 + 2 r w0)/7. Steps of fixed length pass all of this in their stride, with an error that is proportional
to the step; the event-driven method finds every instant.
"""

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert import Body, Inertia, Joint, Mechanism, Shape

R, E, MU, DROP = 0.1, 0.6, 0.1, 0.4
body = Body("ball", Inertia.sphere(1.0, R), collisions=[Shape.sphere(R)])
found = da.contacts(Mechanism("ball", [body], [Joint("free", "free", "world", "ball")]), friction=MU, restitution=E)
print(found)
ball = found.mechanism

q0, v0 = [0, 0, R + DROP, 0, 0, 0, 1], np.array([1.5, 0, 0, 0, -4.0, 0])  # backspin
rolls = (5 * v0[0] + 2 * R * v0[4]) / 7
seconds = 2.0
exact = da.simulate(ball, q0, v0, t=seconds, method="event-driven")
rest = next(event.t for event in exact.events if "rests" in event.name)
formula = np.sqrt(2 * DROP / 9.81) * (1 + E) / (1 - E)
print(f"from event to event: {len(exact.info['impacts'])} impacts, at rest on the ground at {rest:.7f} s")
print(f"by the formula {formula:.7f} s; it rolls with {exact.v[-1, 0]:.7f} m/s, by the formula {rolls:.7f} m/s")
assert abs(rest - formula) < 1e-6 and abs(exact.v[-1, 0] - rolls) < 1e-7

steps = [2e-3, 1e-3, 5e-4] if SHORT else [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4]
motions = [da.simulate(ball, q0, v0, t=seconds, step=h) for h in steps]
errors = [abs(motion.q[-1, 0] - exact.q[-1, 0]) for motion in motions]
for h, motion, error in zip(steps, motions, errors):
    lost = motion.contacts.friction_loss[-1] + motion.contacts.impact_loss[-1]
    print(f"steps of {1e3 * h:5.3f} ms: {1e3 * error:.3f} mm away after {seconds:g} s, it rolls with "
          f"{motion.v[-1, 0]:.7f} m/s; friction and impacts took {lost:.4f} J")  # fmt: skip
    assert abs(motion.v[-1, 0] - rolls) < 1e-9  # the moment of momentum about the ground does not know of steps
assert errors[-1] < 5e-3


def draw(figure):
    left, right = figure.subplots(1, 2)
    left.plot(exact.q[:, 0], exact.q[:, 2] - R, label="from event to event")
    left.plot(motions[0].q[:, 0], motions[0].q[:, 2] - R, "k:", lw=1, label=f"steps of {1e3 * steps[0]:g} ms")
    left.set(xlabel="x (m)", ylabel="height (m)", title="A ball with backspin")
    left.legend()
    right.loglog(steps, errors, "o-")
    right.loglog(steps, [errors[0] * h / steps[0] for h in steps], "k--", lw=0.8, label="first order")
    right.set(xlabel="step (s)", ylabel="error of the place (m)")
    right.legend()


save("contact_ball", draw)

"""Andrews' squeezing mechanism, a standard test of solvers: seven bodies, three loops, thirty milliseconds.

Published are the state after 0.03 s (Test Set for Initial Value Problem Solvers) and the accelerations at the start.
The kernel eliminates six of the seven velocities by a fixed order of pivots; an explicit Runge-Kutta method then needs
no stabilisation for these three turns of the motor.
"""

import numpy as np
from scipy.integrate import solve_ivp

from _pictures import SHORT, save
from dalembert.constraints.classical import ANDREWS_START, andrews
from dalembert.dynamics import Dynamics
from dalembert.tracing.cost import cost

mechanism = andrews()
system = Dynamics(mechanism, reference=ANDREWS_START, method="projection", independent=["beta"])
q, still = np.array(ANDREWS_START), np.zeros(7)
a = system.forward_dynamics(q, still, still)
print("accelerations at the start:", a[:2])
assert np.allclose(a[:2], [14222.4439199541, -10666.8329399656], rtol=1e-12)
kernel = system.kernel("forward_dynamics")
print("a kernel of", cost(kernel.program))

end = 0.003 if SHORT else 0.03
found = solve_ivp(
    lambda t, x: np.concatenate([x[7:], kernel(x[:7], x[7:], still, np.array(t))]),
    (0, end), np.concatenate([q, still]), "DOP853", rtol=1e-12, atol=1e-12, dense_output=True,
)  # fmt: skip
gap = max(np.abs(x).max() for x in system.residual(found.y[:7, -1].copy()).values())
print(f"beta = {found.y[0, -1]:.12f} rad after {end} s, loops closed to {gap:.0e} m")
assert gap < 1e-11
if not SHORT:
    assert abs(found.y[0, -1] - 15.81077119629904) < 1e-8

times = np.linspace(0, end, 400)
angles = found.sol(times)[:7]


def draw(figure):
    left, right = figure.subplots(1, 2)
    for k in (0, 1):
        left.plot(1000 * times, angles[k], label=mechanism.joints[k].name)
    for k in range(2, 7):
        right.plot(1000 * times, angles[k], label=mechanism.joints[k].name)
    for axis in (left, right):
        axis.set(xlabel="t (ms)", ylabel="angle (rad)")
    left.legend()
    right.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


save("constraints_andrews", draw)

"""Swing-up of a cart-pole by CasADi and IPOPT, on our forward dynamics with our derivatives.

The optimal control problem is written in CasADi's Opti. The forces it finds are then applied in one of our simulations,
which knows nothing of CasADi.
"""

import casadi
import numpy as np

import dalembert as da
from _pictures import SHORT, save

pole = da.load("cart_pole", parameters="default")
dynamics = da.Dynamics(pole)
forward = dynamics.casadi("forward_dynamics", derivatives=True)

# ---- collocation by trapezoids: from hanging to standing, both at rest
nodes, duration = (40, 2.0) if SHORT else (100, 2.0)
h = duration / nodes
problem = casadi.Opti()
q, v, u = problem.variable(2, nodes + 1), problem.variable(2, nodes + 1), problem.variable(1, nodes + 1)
a = [forward(q[:, k], v[:, k], casadi.vertcat(u[k], 0)) for k in range(nodes + 1)]
for k in range(nodes):
    problem.subject_to(q[:, k + 1] == q[:, k] + h / 2 * (v[:, k] + v[:, k + 1]))
    problem.subject_to(v[:, k + 1] == v[:, k] + h / 2 * (a[k] + a[k + 1]))
problem.subject_to(q[:, 0] == casadi.DM([0, np.pi]))
problem.subject_to(q[:, nodes] == 0)
problem.subject_to(v[:, 0] == 0)
problem.subject_to(v[:, nodes] == 0)
problem.subject_to(problem.bounded(-20, u, 20))
problem.minimize(h * casadi.sumsqr(u))
problem.set_initial(q[1, :], np.linspace(np.pi, 0, nodes + 1))
problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
found = problem.solve()
force = found.value(u)
print(f"{found.stats()['iter_count']} iterations; largest force {np.abs(force).max():.1f} N")

# ---- the same forces in a simulation
times = np.linspace(0, duration, nodes + 1)
start = [0.0, np.pi]
motion = da.simulate(dynamics, start, t=times, control=lambda t, q, v: np.array([np.interp(t, times, force), 0.0]))
missed = np.degrees(abs(motion.q[-1, 1]))
print(f"simulated: the pole arrives {missed:.1f} degrees from upright")
assert missed < 5


def draw(figure):
    angle, effort = figure.subplots(2, 1, sharex=True)
    angle.plot(times, np.degrees(found.value(q)[1]), "o", markersize=3, label="optimised")
    angle.plot(motion.t, np.degrees(motion.q[:, 1]), label="simulated")
    angle.set_ylabel("pole from upright, degrees")
    angle.legend()
    effort.plot(times, force)
    effort.set(xlabel="time, s", ylabel="force, N")


save("casadi_swing_up", draw)

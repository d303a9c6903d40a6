"""Cart-pole: linearise the compiled dynamics at the upright position, design an LQR, and close the loop.

The motor pushes the cart only. The state-space matrices come from one kernel; the closed loop is simulated with the
full nonlinear equations and a controller that is asked a hundred times a second.
"""

import numpy as np
from scipy.linalg import solve_continuous_are

import dalembert as da
from _pictures import SHORT, save
from dalembert.simulation import simulate

dynamics = da.Dynamics(da.load("cart_pole", parameters="default"))
upright, rest = np.zeros(2), np.zeros(2)
A, B = dynamics.linearize(upright, rest, rest)
B = B[:, :1]  # force on the cart; nothing turns the hinge
print("open loop:  ", np.sort_complex(np.linalg.eigvals(A)).round(3))

Q, R = np.diag([10.0, 10.0, 1.0, 1.0]), np.array([[0.1]])
gain = np.linalg.solve(R, B.T @ solve_continuous_are(A, B, Q, R))
poles = np.linalg.eigvals(A - B @ gain)
print("closed loop:", np.sort_complex(poles).round(3))
assert poles.real.max() < 0


def control(t, q, v):
    return np.array([-(gain @ np.concatenate([q, v])).item(), 0.0])


motion = simulate(dynamics, [0.0, 0.35], t=np.linspace(0, 6, 300 if SHORT else 1200), control=control, hold=0.01)
last = np.abs(np.concatenate([motion.q[-1], motion.v[-1]])).max()
print(f"from 20 degrees: largest force {np.abs(motion.tau).max():.1f} N, state after 6 s below {last:.1e}")
assert last < 1e-2


def draw(figure):
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(motion.t, motion["rail"].q, label="cart (m)")
    upper.plot(motion.t, motion["hinge"].q, label="pole (rad)")
    upper.legend()
    lower.step(motion.t, motion["rail"].tau, where="post")
    lower.set(xlabel="t (s)", ylabel="force (N)")


save("cart_pole", draw)

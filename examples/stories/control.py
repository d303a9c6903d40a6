"""Control: from equations on paper to a controller in C, without leaving the equations.

Kane's equations of a pole on a cart are derived with symbols. They are linearised about the upright position, a
regulator is designed, the nonlinear equations are simulated with it at the rate of a digital controller, thousands of
starts show how far the pole may lean, and the equations are written as C for a test bench.
"""

import os
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from matplotlib.figure import Figure

import dalembert as da
from dalembert import control
from dalembert.algebra.scalar import select

SHORT = os.environ.get("DALEMBERT_SHORT", "0") not in ("", "0")

# ---- equations with letters, one motor; they go into everything that takes a mechanism
equations = da.derive(da.load("cart_pole"), "kane", actuated=["rail"])
values = {"M": 1.0, "m": 0.25, "l": 0.5, "I": 0.02, "g": 9.81}
upright = control.linearize(equations, [0, 0], parameters=values)
print(upright)
assert np.isclose(upright.poles.real.max(), np.sqrt(0.25 * 0.5 * 9.81 * 1.25 / (0.0825 * 1.25 - 0.125**2)))  # by hand

# ---- a regulator for a controller that is asked every 20 ms
regulator = control.lqr(upright, Q=[10, 10, 1, 1], R=[0.1], period=0.02)
K = regulator.K[0]
print("gains:", K.round(2))


def law(t, q, v):
    return [-(K[:2] @ q + K[2:] @ v)]


motion = da.simulate(equations, [0, 0.5], None, np.linspace(0, 6, 601), control=law, hold=0.02, parameters=values)
left, force = np.abs(motion.q[-1]).max(), np.abs(motion.tau).max()
print(f"from 29 degrees: {left:.1e} m or rad are left after 6 s, with at most {force:.1f} N")
assert left < 1e-2


# ---- how far may it lean, and how fast, with a motor of 40 N? All starts at once, the law compiled with the equations
def limited(force):
    return select(force > 40, 40, select(force < -40, -40, force))


count = 25 if SHORT else 80
angle, rate = np.meshgrid(np.linspace(-1.5, 1.5, count), np.linspace(-6, 6, count), indexing="ij")
q0, v0 = np.stack([0 * angle, angle], axis=-1), np.stack([0 * rate, rate], axis=-1)
run = da.rollout(
    equations, q0, v0, 400, 0.02, hold=1, parameters=values, record=False,
    control=lambda t, q, v: [limited(-(K[0] * q[0] + K[1] * q[1] + K[2] * v[0] + K[3] * v[1]))],
)  # fmt: skip
caught = np.abs(np.concatenate([run.final_q, run.final_v], axis=-1)).max(axis=-1) < 0.05
print(f"{caught.sum()} of {caught.size} starts are caught")
assert caught[count // 2, count // 2] and not caught[-1, -1]

# ---- the plant as C, for a bench that runs in real time; the library's own state feedback agrees with the law
folder = Path(mkdtemp())
cart = da.load("cart_pole", parameters=values)
balance = control.state_feedback(cart, regulator.K, [0, 0], actuated=["rail"])
assert np.allclose(balance(0.0, [0.1, 0.2], [0.3, 0.4])[:1], law(0, np.array([0.1, 0.2]), np.array([0.3, 0.4])))
source = da.Dynamics(cart).export("forward_dynamics", "c", folder / "cart.c")
print(f"{folder.name}/cart.c: {len(source.splitlines())} lines of C99")

figure = Figure(figsize=(9, 3.6), layout="constrained")
left, right = figure.subplots(1, 2)
left.plot(motion.t, np.degrees(motion["hinge"].q), label="pole (degrees)")
left.plot(motion.t, 100 * motion["rail"].q, label="cart (cm)")
left.set(xlabel="t (s)")
left.legend()
right.pcolormesh(np.degrees(angle), rate, caught, cmap="Greens", vmax=1.5)
right.set(xlabel="angle (degrees)", ylabel="rate (rad/s)", title="starts that the regulator catches")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/control.png", dpi=120)
print("picture: out/control.png")

"""Monday's lecture on Kane's method: partial velocities, generalised forces, and a motion before the hour is over.

The Chaplygin sleigh - a sledge on one blade - is what Kane's method is for: its blade forbids a velocity that no
coordinate knows of. Two speeds are chosen, the steps are shown, and two lines of equations come out that the textbook
has, too. The same equations then move, are compiled for a thousand sleighs, and keep what they must.
"""

from pathlib import Path

import numpy as np
import sympy
from sympy import cos, sin

import dalembert as da

# ---- the sleigh: two slides and a turn, its mass a distance `a` before the blade. All letters stay letters.
m, a, I = sympy.symbols("m a I", positive=True)
stages = [("x", "prismatic", [1, 0, 0]), ("y", "prismatic", [0, 1, 0]), ("theta", "revolute", [0, 0, 1])]
bodies = [da.Body(f"{name}_body", da.Inertia(m, [a, 0, 0], [0, 0, I]) if name == "theta" else da.Inertia())
          for name, _, _ in stages]  # fmt: skip
parents = ["world", "x_body", "y_body"]
joints = [
    da.Joint(name, kind, parent, f"{name}_body", axis=axis) for (name, kind, axis), parent in zip(stages, parents)
]
sleigh = da.Mechanism("sleigh", bodies, joints, gravity=[0, 0, 0])

# ---- the blade does not slip sideways; the speeds are the sledge's own: along the blade, and its turning
(x, y, theta), (xdot, ydot, thetadot), _ = da.coordinate_symbols(sleigh)
blade = da.NoSlip("theta_body", directions=[(0, 1, 0)])
speeds = [("v", xdot * cos(theta) + ydot * sin(theta)), ("omega", thetadot)]
kane = da.derive(sleigh, "kane", pfaffian=[blade], speeds=speeds, actuated=[])

print("on the board:")
for number, step in enumerate(kane.steps(), 1):
    print(f"{number:3d}. {step.title}")
print()
print(kane)

# ---- the two equations of the book (Bloch, Nonholonomic Mechanics and Control): v' = a omega^2, ...
found = kane.sympy("accelerations")
v, omega = kane.symbol("v"), kane.symbol("omega")
book = sympy.Matrix([a * omega**2, -m * a * v * omega / (I + m * a**2)])
print("\naccelerations:", list(found))
assert (found - book).applyfunc(sympy.simplify) == sympy.zeros(2, 1)
print("in LaTeX:", kane.latex("accelerations")[:60], "...")

# ---- and they move: the sleigh turns until its mass is in front. No forces, so the energy stays
values = {"m": 1.0, "a": 0.2, "I": 0.05}
t = np.linspace(0, 6, 601)
motion = da.simulate(kane, [0, 0, 0], [-1.0, 0.5], t, parameters=values)
v, omega = motion.v.T
energy = (v**2 + (0.05 + 0.04) * omega**2) / 2
print(f"\nenergy {energy[0]:.4f} J, drift {np.ptp(energy):.1e} J; speed {v[0]:.2f} -> {v[-1]:.2f} m/s: it turned round")
assert np.ptp(energy) < 1e-8 and v[-1] > 0.99

# ---- homework: a thousand starts at once, compiled. All of them end forwards - a system without friction that forgets
rng = np.random.default_rng(0)
starts = rng.uniform([-1.5, -2], [1.5, 2], (1000, 2))
many = da.rollout(kane, np.zeros(3), starts, 4000, 5e-3, parameters=values, every=4000)
spinning = np.abs(starts[:, 1]) > 0.05  # one that does not turn at all stays as it is
forwards = many.final_v[spinning, 0] > 0
print(f"{forwards.mean():.1%} of {spinning.sum()} sleighs end with their mass in front")
assert forwards.all()

# ---- the same mechanism with the blade as a constraint, by multipliers: another route to the same path
with_blade = sleigh.replace(
    constraints=[da.Constraint("blade", "velocity", function=[ydot * cos(theta) - xdot * sin(theta)])]
)
other = da.simulate(with_blade, [0, 0, 0], [-1.0, 0.0, 0.5], t, parameters=values)
print(f"against multipliers: paths differ by {np.abs(other.q - motion.q).max():.1e} m or rad")
assert np.abs(other.q - motion.q).max() < 1e-6

Path("out").mkdir(exist_ok=True)
figure = motion.plot()
figure.savefig("out/kane_lecture.png", dpi=100)
print("picture: out/kane_lecture.png")

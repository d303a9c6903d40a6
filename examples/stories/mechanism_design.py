"""Designing a mechanism: which lengths make a four-bar linkage draw a straight line?

The lengths stay symbols. Thousands of random linkages are assembled at many crank angles in one call - no design is
compiled anew - and every one gets a status: lengths that cannot be closed are part of the answer. The best are refined
by least squares, with all designs of a difference quotient in one batch, and the winner is driven at constant speed.
"""

import os
import time
from pathlib import Path

import numpy as np
import sympy
from matplotlib.figure import Figure
from scipy.optimize import least_squares

import dalembert as da

SHORT = os.environ.get("DALEMBERT_SHORT", "0") not in ("", "0")

# A linkage with a pen on its coupler. Its lengths l0 ... l3 and the place of the pen are symbols.
px, py = sympy.symbols("px py", real=True)
linkage = da.load("four_bar")
pen = da.Frame("pen", "coupler", da.Transform(np.eye(3), [px, py, 0]))
linkage = linkage.replace(frames=[*linkage.frames, pen])
start = {"l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.7, "px": 0.5, "py": 0.5, "g": 9.81, "m1": 0.4, "m2": 0.9, "m3": 0.7}
dyn = da.Dynamics(linkage, parameters=start, reference=[1.0, -0.7, 1.6])

# While the crank turns through a third of a revolution the pen shall go 0.6 m straight on, at constant speed. Where the
# linkage stands, and how it is turned, is free.
crank = np.linspace(0.6, 0.6 + 2 * np.pi / 3, 8 if SHORT else 24)
wish = np.linspace(0, 0.6, len(crank))  # complex numbers are points of the plane: along the real axis
NAMES = ("l0", "l1", "l2", "l3", "px", "py")


def drawn(designs):
    """Where the pens of designs (n, 6) are at all crank angles, (n, angles), moved and turned as near to the wish as
    can be, and what became of the linkages there.
    """
    values = {name: x[:, None] for name, x in zip(NAMES, np.transpose(designs))}
    found = dyn.assemblies({"drive": crank}, keep=["drive"], parameters=values, restarts=0)
    place = dyn.pose(found.q, frame="pen", parameters=values).position[..., :2]
    place = place[..., 0] + 1j * place[..., 1]
    place = place - place.mean(axis=-1, keepdims=True)
    turn = place.conj() @ (wish - wish.mean())
    return place * (turn / np.abs(turn))[..., None] + wish.mean(), found


def error(designs):
    """Root mean square distance from the wish, m; infinite where a linkage does not close all the way."""
    place, found = drawn(designs)
    off = np.sqrt((np.abs(place - wish) ** 2).mean(axis=-1))
    return np.where(found.assembled.all(axis=-1), off, np.inf)


# ---- every length at random
began = time.perf_counter()
rng = np.random.default_rng(2)
low, high = np.array([0.2, 0.1, 0.2, 0.2, 0.0, -0.5]), np.array([1.2, 0.6, 1.2, 1.2, 1.5, 0.5])
designs = rng.uniform(low, high, (200 if SHORT else 2000, 6))
errors = error(designs)
closed = np.isfinite(errors)
print(f"{len(designs)} designs at {len(crank)} angles: {closed.sum()} close all the way; the best is off by", end=" ")
print(f"{1000 * errors.min():.0f} mm")


# ---- the best ones refined: the designs of a difference quotient are one batch
def residuals(x):
    return (drawn(x[None])[0][0] - wish).view(float)


def slope(x, h=1e-6):
    place = drawn(x + h * np.vstack([np.eye(6), -np.eye(6)]))[0].view(float)
    return ((place[:6] - place[6:]) / (2 * h)).T


least, most, best = np.array([*[0.05] * 4, -1.5, -1.5]), np.full(6, 1.6), []
for k in np.argsort(errors)[: 2 if SHORT else 5]:
    x = least_squares(residuals, designs[k], slope, bounds=(least, most)).x
    best.append((error(x[None])[0], x))
miss, x = min(best, key=lambda pair: pair[0])
taken = time.perf_counter() - began
design = {name: round(float(value), 4) for name, value in zip(NAMES, x)}
print(f"optimum {design}: off by {1000 * miss:.2f} mm, in {taken:.1f} s with all that was compiled")
assert miss < 0.6 * errors.min() and (SHORT or miss < 1e-3)

# ---- what a drive would have to do, along the line: the same kernels, with the lengths of the winner
place, found = drawn(x[None])
q, speed = found.q[0], 2.0
v = dyn.project_velocity(q, {"drive": speed}, keep=["drive"], parameters=design)
a = dyn.project_acceleration(q, v, {}, keep=["drive"], parameters=design)
torque = dyn.drive_forces(q, v, a, actuated=["drive"], parameters=design).tau[:, 0]
print(f"at {speed:g} rad/s the drive needs {torque.min():.2f} to {torque.max():.2f} N m")
power = np.trapezoid(torque * speed, crank / speed)
energy = dyn.evaluate("energy", q, v, 0.0, parameters=dyn.design(design))
assert np.isclose(power, energy[-1] - energy[0], atol=0.02 * np.ptp(energy) + 1e-6)  # what goes in is there

figure = Figure(figsize=(9, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
left.hist(1000 * errors[closed], bins=60)
left.set(xlabel="error of random designs (mm)", ylabel="designs")
pin = x[1] * np.stack([np.cos(crank), np.sin(crank)], axis=1)
pivot = np.array([x[0], 0.0])
end = pivot + x[3] * np.stack([np.cos(q[:, 2]), np.sin(q[:, 2])], axis=1)
path = dyn.pose(q, frame="pen", parameters=design).position[:, :2]
for k in range(0, len(crank), 4):
    right.plot(*np.array([[0, 0], pin[k], end[k], pivot]).T, color="0.7", linewidth=0.8, marker=".")
    right.plot(*np.array([pin[k], path[k], end[k]]).T, color="0.7", linewidth=0.8)
right.plot(*path.T, linewidth=2)
right.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title=f"off by {1000 * miss:.2f} mm")
Path("out").mkdir(exist_ok=True)
figure.savefig("out/mechanism_design.png", dpi=120)
print("picture: out/mechanism_design.png")

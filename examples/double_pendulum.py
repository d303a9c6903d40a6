"""Double pendulum: equations of motion by two routes, and two motions that start a millionth of a radian apart.

The derivation keeps all lengths and masses as symbols. The simulation uses the default values of the description; the
total energy shows how good it is, and the distance between the two motions shows why nobody predicts this pendulum.
"""

import numpy as np
import sympy

import dalembert as da
from _pictures import SHORT, save
from dalembert.formulations import derive
from dalembert.simulation import simulate

symbolic = da.load("double_pendulum")
lagrange, kane = derive(symbolic, "lagrange"), derive(symbolic, "kane")
print(lagrange)
for part in ("mass_matrix", "coriolis", "gravity"):
    difference = sympy.simplify(lagrange.sympy(part) - kane.sympy(part))
    assert difference.is_zero_matrix, part
print("\nLagrange and Kane agree, symbol by symbol.")

pendulum = da.Dynamics(da.load("double_pendulum", parameters="default"))
end = 2.0 if SHORT else 15.0
times = np.linspace(0, end, 600)
first, second = (simulate(pendulum, [2.5, 2.0 + nudge], t=times, rtol=1e-11, atol=1e-11) for nudge in (0.0, 1e-6))
drift = np.ptp(first.energy) / np.ptp(first.potential_energy)
apart = np.linalg.norm(first.q - second.q, axis=1)
print(f"energy drift {drift:.1e} of its exchange; after {end:g} s the motions are {apart[-1]:.2g} rad apart")
assert drift < 1e-7


def draw(figure):
    left, right = figure.subplots(1, 2)
    _, tip = first.quantity("pose", frame="tip")
    _, elbow = first.quantity("pose", frame="lower")
    left.plot(elbow[:, 0], elbow[:, 2], linewidth=0.8, label="elbow")
    left.plot(tip[:, 0], tip[:, 2], linewidth=0.8, label="tip")
    left.set(aspect="equal", xlabel="x (m)", ylabel="z (m)", title="path")
    left.legend()
    right.semilogy(times, apart)
    right.set(xlabel="t (s)", ylabel="distance (rad)", title="two motions, 1e-6 rad apart at the start")


save("double_pendulum", draw)

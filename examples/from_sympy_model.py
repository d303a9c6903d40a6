"""A model derived with SymPy's own mechanics, compiled by dalembert.

The spring pendulum is derived by ``sympy.physics.mechanics.LagrangesMethod``; ``from_sympy`` reads the finished model,
and the same equations are simulated by the hundred, as machine code, and linearised.
"""

import numpy as np
import sympy
from sympy.physics.mechanics import LagrangesMethod, ReferenceFrame, dynamicsymbols

import dalembert as da
from _pictures import SHORT, save
from dalembert import control
from dalembert.formulations import from_sympy

r, theta = dynamicsymbols("r theta")
rd, thetad = dynamicsymbols("r theta", 1)
m, k, l, g = sympy.symbols("m k l g")
kinetic = m * (rd**2 + r**2 * thetad**2) / 2
potential = k * (r - l) ** 2 / 2 - m * g * r * sympy.cos(theta)
method = LagrangesMethod(kinetic - potential, [r, theta], frame=ReferenceFrame("N"))
method.form_lagranges_equations()

equations = from_sympy(method, "spring pendulum")
print(equations)

# Five hundred pendulums at once: whatever has equations of motion can be simulated, swept, linearised, compiled.
values = {"m": 1.0, "k": 40.0, "l": 1.0, "g": 9.81}
n, h, steps = (20, 0.01, 50) if SHORT else (500, 0.005, 2000)
q0 = np.stack([np.full(n, 1.2), np.linspace(0.2, 1.2, n)], axis=1)
motions = da.rollout(equations, q0, None, steps, h, parameters=values)


def energy(q, v):
    return (v[:, 0] ** 2 + (q[:, 0] * v[:, 1]) ** 2) / 2 + 20 * (q[:, 0] - 1) ** 2 - 9.81 * q[:, 0] * np.cos(q[:, 1])


drift = np.abs(energy(motions.final_q, motions.final_v) - energy(q0, 0 * q0)).max()
print(f"{n} pendulums, {steps} steps: largest energy drift {drift:.1e} J")
assert drift < 1e-3
path = motions.q[n // 2]

# The same equations by an integrator that chooses its steps, and their linear model about the position of rest.
one = da.simulate(equations, q0[n // 2], t=steps * h, parameters=values)
assert np.allclose(one.q[-1], path[-1], atol=1e-3)
rest = [1.0 + 9.81 / 40.0, 0.0]
modes = np.sort(np.abs(control.linearize(equations, rest, parameters=values).poles.imag))[::2]
print(f"small oscillations: {modes[0]:.4f} and {modes[1]:.4f} rad/s")
assert np.allclose(modes, [np.sqrt(9.81 / rest[0]), np.sqrt(40.0)])


def draw(figure):
    axis = figure.subplots()
    axis.plot(path[:, 0] * np.sin(path[:, 1]), -path[:, 0] * np.cos(path[:, 1]), linewidth=0.7)
    axis.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="one of the pendulums")


save("from_sympy_model", draw)

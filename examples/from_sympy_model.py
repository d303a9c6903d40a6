"""A model derived with SymPy's own mechanics, compiled by dalembert.

The spring pendulum is derived by ``sympy.physics.mechanics.LagrangesMethod``; ``from_sympy`` reads the finished model,
and the same equations run as machine code on a batch of states.
"""

import numpy as np
import sympy
from sympy.physics.mechanics import LagrangesMethod, ReferenceFrame, dynamicsymbols

from _pictures import SHORT, save
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
kernels = equations.compile()
print({name: kernel.signature for name, kernel in kernels.items() if name in ("mass_matrix", "bias")})

values = {"m": 1.0, "k": 40.0, "l": 1.0, "g": 9.81}
bias, mass_matrix = kernels["bias"], kernels["mass_matrix"]


def inputs(kernel, q, v):
    given = {"q": q, "v": v, **values}
    return [given[port.name] for port in kernel.inputs]


def acceleration(q, v):
    M = mass_matrix(*inputs(mass_matrix, q, v))
    return np.linalg.solve(M, -bias(*inputs(bias, q, v))[..., None])[..., 0]


# Five hundred pendulums at once, by the classical Runge-Kutta method.
n, h, steps = (20, 0.01, 50) if SHORT else (500, 0.005, 2000)
q = np.stack([np.full(n, 1.2), np.linspace(0.2, 1.2, n)], axis=1)
v = np.zeros_like(q)


def energy(q, v):
    return (v[:, 0] ** 2 + (q[:, 0] * v[:, 1]) ** 2) / 2 + 20 * (q[:, 0] - 1) ** 2 - 9.81 * q[:, 0] * np.cos(q[:, 1])


before, path = energy(q, v), []
for _ in range(steps):
    k1, l1 = v, acceleration(q, v)
    k2, l2 = v + h / 2 * l1, acceleration(q + h / 2 * k1, v + h / 2 * l1)
    k3, l3 = v + h / 2 * l2, acceleration(q + h / 2 * k2, v + h / 2 * l2)
    k4, l4 = v + h * l3, acceleration(q + h * k3, v + h * l3)
    q, v = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    path.append(q[n // 2])
drift = np.abs(energy(q, v) - before).max()
print(f"{n} pendulums, {steps} steps: largest energy drift {drift:.1e} J")
assert drift < 1e-3
path = np.array(path)


def draw(figure):
    axis = figure.subplots()
    axis.plot(path[:, 0] * np.sin(path[:, 1]), -path[:, 0] * np.cos(path[:, 1]), linewidth=0.7)
    axis.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="one of the pendulums")


save("from_sympy_model", draw)

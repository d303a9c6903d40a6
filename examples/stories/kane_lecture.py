"""Monday's lecture on Kane's method: partial velocities, generalised forces, and a motion before the hour is over.

A pendulum on a cart by Kane's method, as textbooks go: speeds are chosen, partial velocities read off, F_r and F_r*
added to zero. The same equations then move, are linearised, and agree with Lagrange's - without leaving Python.
"""

import sympy

import dalembert as da

cart = da.load("cart_pole")
print(cart, "\n")

# ---- the board: every step of the derivation, as text, LaTeX or a document
kane = da.derive(cart, "kane")
for step in kane.steps[:4]:
    print("-", step.title)
print()
print(kane, "\n")

# ---- the speeds may be others than the rates of the coordinates: the bob's own speed across, say
x, theta = (sympy.Symbol(name, real=True) for name in kane.q_names) if hasattr(kane, "q_names") else (None, None)

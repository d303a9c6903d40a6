"""How well do independent derivations and algorithms agree? A picture of every comparison for one mechanism.

Four derivations, eight algorithms for inverse dynamics, six for the inertia matrix, two for forward dynamics, and the
laws of mechanics: symmetry, balance of power, skew symmetry, derivatives by the complex step.
"""

import sys

import numpy as np

import dalembert as da
from _pictures import SHORT, save
from dalembert.formulations import verify

mechanism = da.load(sys.argv[1] if len(sys.argv) > 1 else "stacker")
agreement = verify(mechanism, states=1 if SHORT else 8)
print(agreement)
assert agreement
by_quantity = {}
for row in agreement.rows:
    by_quantity.setdefault(row.quantity, []).append(row.error)


def draw(figure):
    axis = figure.subplots()
    for k, (quantity, errors) in enumerate(reversed(by_quantity.items())):
        axis.plot(np.maximum(errors, 1e-18), [k] * len(errors), "o", alpha=0.6)
        axis.text(2e-19, k, quantity, ha="right", va="center")
    axis.axvline(np.finfo(float).eps, color="0.6", linewidth=0.8, linestyle=":")
    axis.set(xscale="log", xlim=(3e-19, 1e-9), yticks=[], xlabel="relative difference; dotted: rounding of one number")
    axis.set_title(f"{mechanism.name}: {len(agreement.rows)} comparisons")


save("agreement", draw, size=(9, 5))

"""How well do independent derivations and algorithms agree? A picture of every comparison for one mechanism.

Four derivations, eight algorithms for inverse dynamics, six for the inertia matrix, two for forward dynamics, and the
laws of mechanics: symmetry, balance of power, skew symmetry, derivatives by the complex step.
"""

import sys

import dalembert as da
from _pictures import SHORT, save
from dalembert.formulations import verify
from dalembert.pictures import draw_agreement

mechanism = da.load(sys.argv[1] if len(sys.argv) > 1 else "stacker")
agreement = verify(mechanism, states=1 if SHORT else 8)
print(agreement)
assert agreement

save("agreement", lambda _: draw_agreement(agreement))

"""Why a bicycle balances itself: eigenvalues of the benchmark bicycle over speed, from the full nonlinear model."""

import numpy as np

from dalembert.constraints import ConstrainedDynamics
from dalembert.constraints.classical import BICYCLE_UPRIGHT, whipple_bicycle

bicycle = ConstrainedDynamics(whipple_bicycle(), reference=BICYCLE_UPRIGHT)
print(bicycle.analyse(BICYCLE_UPRIGHT))
print("\nspeed, m/s   largest real part of the lean and steer modes")
for speed in (1, 2, 3, 4, 4.29, 4.3, 5, 6, 6.02, 6.03, 7, 8):
    v = np.zeros(9)
    v[0], v[6], v[8] = speed, speed / 0.3, speed / 0.35  # the wheels roll
    values = bicycle.linearize(BICYCLE_UPRIGHT, v, np.zeros(9)).eigenvalues()
    modes = values[np.abs(values) > 1e-7]  # position, heading and wheel angles are neutral
    growth = modes.real.max()
    print(f"{speed:8.3f}   {growth:+9.5f}  {'falls over' if growth > 0 else 'balances itself'}")

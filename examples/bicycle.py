"""A bicycle stays upright by itself, at the right speed: eigenvalues of the Whipple model over its speed.

Nine velocities, six rows of rolling constraints, linearised from the full nonlinear equations at every speed. The weave
becomes stable at 4.292 m/s and the capsize unstable at 6.024 m/s, as Meijaard, Papadopoulos, Ruina and Schwab (2007)
published for the same 27 parameters.
"""

import numpy as np
from scipy.optimize import brentq

from _pictures import SHORT, save
from dalembert.constraints.classical import BICYCLE_UPRIGHT, whipple_bicycle
from dalembert.dynamics import Dynamics
from dalembert.pictures import draw_locus

bicycle = Dynamics(whipple_bicycle(), reference=BICYCLE_UPRIGHT)
positions, speeds = ["x", "y", "yaw", "rear", "front", "lean", "steer"], ["rear", "lean", "steer"]


def eigenvalues(speed):
    """Of lean and steer: the four that matter."""
    v = np.zeros(9)
    v[[0, 6, 8]] = speed, speed / 0.3, speed / 0.35  # forward, rear wheel, front wheel
    linear = bicycle.linear_model(BICYCLE_UPRIGHT, v, np.zeros(9), positions=positions, speeds=speeds)
    keep = [linear.states.index(name) for name in ("lean", "steer", "lean rate", "steer rate")]
    return np.linalg.eigvals(linear.A[np.ix_(keep, keep)])


def weave(speed):
    """Largest real part of the oscillating pair."""
    found = eigenvalues(speed)
    return found[np.abs(found.imag) > 1e-9].real.max()


def capsize(speed):
    """Largest real part of the real ones."""
    found = eigenvalues(speed)
    return found[np.abs(found.imag) <= 1e-9].real.max()


from_speed, to_speed = brentq(weave, 3.5, 5.5, xtol=1e-9), brentq(capsize, 5.0, 7.0, xtol=1e-9)
print(f"stable by itself from {from_speed:.6f} to {to_speed:.6f} m/s")
assert abs(from_speed - 4.29238253634111) < 1e-6 and abs(to_speed - 6.02426201538837) < 1e-6

sweep = np.linspace(0.05, 10, 20 if SHORT else 200)


def draw(_):
    figure = draw_locus(sweep, eigenvalues, "speed (m/s)")
    (axis,) = figure.axes
    axis.set(ylim=(-10, 10), title="Whipple bicycle: it stays upright by itself at the green speeds")
    return figure


save("bicycle", draw)

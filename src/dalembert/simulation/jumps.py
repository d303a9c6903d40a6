"""Jumps of the state that samples leave out, because their times were chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.simulation.held import control_at

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


def with_jumps(motion: Trajectory) -> Trajectory:
    """The motion with two samples, before and after, also where its state jumped between those that it has.

    Args:
        motion: the motion.
    """
    before, after = ({x.t: (x.q, x.v) for x in states} for states in (motion.events, motion.jumps))
    times = [t for t in after if np.count_nonzero(motion.t == t) < 2]
    if not times:
        return motion
    t = np.repeat(times, 2)
    q, v = (np.array([side[s][k] for s in times for side in (before, after)]) for k in range(2))
    columns = motion.wrenches.reshape(len(motion), -1).T
    wrenches = np.array([np.interp(t, motion.t, x) for x in columns]).T.reshape(len(t), *motion.wrenches.shape[1:])
    new = {"t": t, "q": q, "v": v, "tau": control_at(motion, t), "wrenches": wrenches}
    places = np.searchsorted(motion.t, t)
    return replace(motion, **{name: np.insert(getattr(motion, name), places, x, axis=0) for name, x in new.items()})

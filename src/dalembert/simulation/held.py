"""Controls that were held: which of them acted when, told from samples that need not lie where it changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.simulation.interpolation import Slopes

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


def control_at(motion: Trajectory, t: np.ndarray) -> np.ndarray:
    """Generalised forces of the control at times, (..., nv): steps, if it was held, else linear between samples.

    Args:
        motion: the motion.
        t: times between its first and its last sample, (...).
    """
    if not _known(motion):
        return np.stack([np.interp(t, motion.t, column) for column in motion.tau.T], axis=-1)
    k = np.maximum(np.searchsorted(motion.t, t, side="right") - 1, 0)
    changed = np.floor(_periods(motion, t)) > np.floor(_periods(motion, motion.t))[k]
    return motion.tau[np.minimum(k + changed, len(motion) - 1)]


def control_before(motion: Trajectory) -> np.ndarray:
    """The control that acted until each sample, (T, nv); where a held one changes, a sample tells the new one.

    Args:
        motion: the motion.
    """
    found = motion.tau.copy()
    if _known(motion):
        changes = np.flatnonzero(_on_time(motion)[1:])
        found[changes + 1] = motion.tau[changes]
    return found


def constant_parts(motion: Trajectory) -> Trajectory | None:
    """The motion with samples also where a held control changed between them, so that forces are constant from each to
    the next; None unless it was held and every period has a sample.

    Args:
        motion: the motion.
    """
    if not _known(motion):
        return None
    number = np.floor(_periods(motion, motion.t))
    after = np.flatnonzero((np.diff(number) > 0) & ~_on_time(motion)[1:]) + 1
    if not len(after):
        return motion
    t = motion.info.get("held_from", 0.0) + motion.info["hold"] * number[after]
    if motion.interpolant is None:
        q, v = np.split(Slopes(motion)(t), [motion.mechanism.nq], axis=1)
    else:
        q, v = motion(t)[1:]
    new = {"t": t, "q": q, "v": v, "tau": motion.tau[after], "wrenches": motion.wrenches[after]}
    return replace(
        motion,
        interpolant=None,
        **{name: np.insert(getattr(motion, name), after, x, axis=0) for name, x in new.items()},
    )


def _known(motion: Trajectory) -> bool:
    hold, gaps = motion.info.get("hold"), np.diff(motion.t)
    return hold is not None and gaps.min(initial=0) >= 0 and gaps.max(initial=0) <= hold * (1 + 1e-9)


def _periods(motion: Trajectory, t: np.ndarray) -> np.ndarray:
    """Periods since the control was first asked; those that are whole but for rounding are a little more."""
    return (t - motion.info.get("held_from", 0.0)) / motion.info["hold"] * (1 + 1e-12) + 1e-9


def _on_time(motion: Trajectory) -> np.ndarray:
    """Which samples lie where the control changes."""
    number = _periods(motion, motion.t)
    return number % 1 < 2e-9 + 2e-12 * number

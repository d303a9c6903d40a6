"""Where power and forces of a motion go: what resists, what constraints and joints transmit, and integrals of rates."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.reactions import between_frames, reaction_name
from dalembert.errors import UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.parameters import substitute, symbolise

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


def numeric(motion: Trajectory) -> Mechanism:
    """The mechanism with the values that its parameters had along a motion.

    Args:
        motion: the motion.
    """
    model = motion.mechanism
    if motion.parameters is None:
        return model
    values = dict(zip(motion.dynamics.parameter_names, motion.parameters.tolist()))
    symbols = {symbol.name: values.pop(symbol.name) for symbol in model.symbols}
    return substitute(symbolise(model, values), symbols)


def dissipated(motion: Trajectory) -> np.ndarray:
    """Power that joint damping and friction take away, W, (T,).

    Args:
        motion: the motion.
    """
    from dalembert.algorithms.joint_forces import joint_forces

    terms = [name for name in motion.dynamics.include if name != "armature"]
    resistance = joint_forces(numeric(motion), terms)
    damping = 0 if resistance.damping is None else np.asarray(resistance.damping, dtype=float) * motion.v
    friction = 0 if resistance.friction is None else np.asarray(resistance.friction, float) * np.sign(motion.v)
    return ((damping + friction) * motion.v).sum(axis=1) if terms else np.zeros(len(motion))


def reactions(motion: Trajectory) -> dict[str, np.ndarray]:
    """What joints and constraints transmit; see :meth:`~dalembert.simulation.Trajectory.reactions`.

    Args:
        motion: the motion.
    """
    if motion.dynamics.wrenches:
        raise UnsupportedError("external wrenches act along this motion; reactions do not know them")
    system, model = motion.system.constrained, motion.mechanism
    if system is None:
        system = ConstrainedDynamics(numeric(motion), forces=(), include=motion.dynamics.include)
    a, multipliers = system.evaluate("multipliers", motion.q, motion.v, motion.tau, motion.t)
    joints, loops = system.evaluate("reactions", motion.q, motion.v, a, multipliers, motion.t)
    found = {reaction_name(model, joint): joints[:, k] for k, joint in enumerate(model.joints)}
    closed = {reaction_name(model, x): loops[:, k] for k, x in enumerate(model.constraints) if between_frames(x)}
    return found | closed


def integral(t: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The integral from the first sample on, by cubic splines between jumps.

    Args:
        t: times; two equal ones mark a jump.
        rate: what to integrate, (T,).
    """
    from scipy.interpolate import CubicSpline

    total = np.zeros(len(t))
    cuts = [0, *(np.flatnonzero(np.diff(t) == 0) + 1).tolist(), len(t)]
    for begin, end in pairwise(cuts):
        start = total[begin - 1] if begin else 0.0
        total[begin:end] = start
        if end - begin > 1:
            whole = CubicSpline(t[begin:end], rate[begin:end]).antiderivative()
            total[begin:end] += whole(t[begin:end]) - whole(t[begin])
    return total

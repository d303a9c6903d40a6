"""Where given motions and belts jump, or change within a small part of a step, so that what they move gets no impulse.

Projection sets the velocities that constraints demand, and leaves all others. That is right while a step has seen what
accelerates them; a jump of velocity, which moves them too, is seen by no step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.kinematics.manifold import difference, displaced
from dalembert.simulation.system import System

PIECES, MOST = 16, 0.9
"""Through how many pieces of a step it is looked, and which part of a change is most of it."""

UNSEEN = (4, 0.1), (8, 0.25)
"""A step has not seen what mostly happens within so many pieces of it: if velocities change by this part of the largest
around, or more, that matters.
"""

FAST = 4.0
"""A position that changes so many times farther than its rates say jumps."""

FELT = 1e-3
"""Part of a jump by which other velocities jump, if they do."""


class Shock(NamedTuple):
    """The step in which it happens, and the constraint."""

    begin: float
    end: float
    constraint: str

    def __str__(self) -> str:
        return (
            f"between t = {self.begin:.9g} s and {self.end:.9g} s what the constraint {self.constraint!r} demands "
            "jumps, or changes within a small part of a step. The impulse that this gives to everything else is left "
            "out. Let it change gradually, and bound the length of steps by about half of the time that it takes"
        )


def first_shock(system: System, t: np.ndarray, x: np.ndarray) -> Shock | None:
    """The first step of a motion in which a constraint acts too suddenly on what is free to move.

    Args:
        system: what moves.
        t: times of steps, (k,).
        x: their states [q; v], (k, nq + nv).
    """
    own, tree, nq = system.constrained, system.tree, system.mechanism.nq
    if own is None or not (system.projects and own.constraints.rheonomic and own.pivots.rank < system.mechanism.nv):
        return None
    q, after = x[:-1, :nq], x[1:, :nq]
    phi, rate = _demands(system, q, t[:-1])
    phi_then, rate_then = _demands(system, q, t[1:])[0], _demands(system, after, t[1:])[1]
    size = np.maximum(np.abs(rate), np.abs(rate_then))
    part = np.abs(rate_then - rate) / np.maximum(size.max(axis=0), np.finfo(float).tiny)
    jerk = part > min(least for _, least in UNSEEN)
    leap = np.abs(phi_then - phi) > FAST * size * np.diff(t)[:, None] + np.array(system.openings(q[0]), dtype=float)
    for k in np.flatnonzero((jerk | leap).any(axis=1)).tolist():
        times = np.linspace(t[k], t[k + 1], PIECES + 1)
        way = difference(tree, q[k], after[k]) * np.linspace(0, 1, PIECES + 1)[:, None]
        between = np.array([displaced(tree, q[k], d) for d in way], dtype=float)
        phi = np.abs(np.diff(_demands(system, q[k : k + 1].repeat(len(times), 0), times)[0], axis=0))
        rate = np.abs(np.diff(_demands(system, between, times)[1], axis=0))
        for row in np.flatnonzero(jerk[k] | leap[k]).tolist():
            sudden = leap[k, row] and _sudden(phi[:, row], 1.0)
            sudden = sudden or (
                jerk[k, row] and _sudden(rate[:, row], part[k, row]) and _felt(system, times[-1], q[k], row)
            )
            if sudden:
                return Shock(float(t[k]), float(t[k + 1]), own.rows[row].constraint)
    return None


def _demands(system: System, q: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities that constraints demand at times, of those on velocities the latter only: (k, m)."""
    assert system.constrained is not None
    still = np.zeros((len(q), system.mechanism.nv))
    phi, _, rate, _ = system.constrained.evaluate("constraints", q, still, t)
    return np.where(system.constrained.constraints.holonomic, phi, 0.0), rate


def _sudden(changes: np.ndarray, part: float) -> bool:
    """Whether what changes in the pieces of a step by a part of its size does so in few of them."""
    most = MOST * changes.sum()
    return any(part > least and np.convolve(changes, np.ones(few), "valid").max() > most for few, least in UNSEEN)


def _felt(system: System, t: float, q: np.ndarray, row: int) -> bool:
    """Whether a jump of the velocity that a row demands makes others jump than those that projection sets."""
    assert system.constrained is not None
    G, M = system.constrained.evaluate("positions", q, t)[1], system.constrained.evaluate("mass_matrix", q)
    demand = np.eye(len(G))[row]
    set_by_it = np.linalg.lstsq(G, demand, rcond=None)[0]
    both = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    by_impulse = np.linalg.lstsq(both, np.concatenate([np.zeros(len(M)), demand]), rcond=None)[0][: len(M)]
    return bool(np.abs(by_impulse - set_by_it).max() > FELT * np.abs(set_by_it).max())

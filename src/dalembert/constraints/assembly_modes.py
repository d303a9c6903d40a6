"""The several ways in which a mechanism can be put together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.assembly import assemble, free_velocities, start_of
from dalembert.constraints.descent import row_units, units
from dalembert.constraints.pivots import column_scale
from dalembert.errors import ArgumentError, ModelWarning, SingularityError
from dalembert.kinematics.manifold import moved
from dalembert.model import Mechanism
from dalembert.model.checks import expect_real, expect_whole
from dalembert.text.layout import counted

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

CLOSED = 1e-10
"""Ten times what assembly leaves of rows, rad or lengths of the mechanism."""

NEAR = 0.1
"""Assemblies closer than this, rad or lengths of the mechanism, may be one."""

FAR = 0.02
"""How far joints are moved to see whether they can, rad or lengths of the mechanism."""


def assembly_modes(
    system: ConstrainedKernels,
    q: Any = None,
    t: float = 0.0,
    keep: Sequence[str] = (),
    *,
    starts: int = 60,
    spread: float = 2.0,
    seed: int = 0,
) -> list[np.ndarray]:
    """Different assemblies with some joints held, found from random starts; in the order in which they were found.

    Args:
        system: the constrained mechanism.
        q: positions of the held joints, and the first start; the reference by default.
        t: time, s.
        keep: joints whose positions are held; enough of them that assemblies are isolated points. Those where others
            can move nevertheless are left out, with a warning.
        starts: number of starts.
        spread: standard deviation of the random starts, m or rad; of a mechanism larger than a metre, its longest
            distance or rad.
        seed: of the random starts.
    """
    mechanism = system.mechanism
    rng = np.random.default_rng(expect_whole(seed, "seed", high=2**64))
    starts, spread = expect_whole(starts, "starts", 1), expect_real(spread, "spread", 0)
    base = start_of(system, system.reference if q is None else q)
    free = free_velocities(mechanism, keep)
    unit = units(system)
    modes: list[np.ndarray] = []
    marks: list[np.ndarray] = []
    for k in range(starts):
        step = np.where(free, rng.normal(size=mechanism.nv) * spread * unit, 0.0) if k else np.zeros(mechanism.nv)
        try:
            found = assemble(system, moved(mechanism.tree, base, step), t, keep, restarts=0)
        except SingularityError:
            continue
        mark = _mark(mechanism, found, unit)
        apart = [float(np.abs(mark - other).max(initial=0.0)) for other in marks]
        if all(x > 1e-5 and not (x < NEAR and _same(system, found, mode, t)) for x, mode in zip(apart, modes)):
            modes.append(found)
            marks.append(mark)
    return _isolated(system, modes, t, keep, free)


def _same(system: ConstrainedKernels, a: np.ndarray, b: np.ndarray, t: float) -> bool:
    """Whether loops are closed between two assemblies, too: one at a dead centre is found roughly only."""
    limit = CLOSED * max(1.0, float(np.abs(a).max(initial=0.0)))  # as assembly has it
    for part in (0.5, 0.3):  # half way there may be a third
        q = a.copy()
        for link in system.mechanism.tree.links:
            if link.kind == "spherical":
                own = slice(link.q, link.q + 4)
                q[own] = (1 - part) * a[own] + part * b[own] * np.copysign(1.0, a[own] @ b[own])
            else:
                way = b[link.q] - a[link.q]
                q[link.q] += part * (np.remainder(way + np.pi, 2 * np.pi) - np.pi if link.rotates else way)
        q = system.mechanism.normalise(q)
        phi = system.evaluate("closing", q, t)[0][system.constraints.holonomic] / row_units(system)
        if not np.abs(phi).max(initial=0.0) < limit:
            return False
    return True


def _isolated(
    system: ConstrainedKernels, modes: list[np.ndarray], t: float, keep: Sequence[str], free: np.ndarray
) -> list[np.ndarray]:
    """The assemblies whose other joints cannot move; an error if there is none, a warning for those left out.

    Where rows lose rank they seem to be able to, and a step tells whether they can.
    """
    mechanism, unit = system.mechanism, units(system)
    found: list[np.ndarray] = []
    moving = np.zeros(mechanism.nv)
    freedoms = 0
    for q in modes:
        G = (system.evaluate("positions", q, t)[1] * unit)[system.constraints.holonomic][:, free]
        scale = column_scale(G)
        size, Vt = np.linalg.svd(G * scale)[1:]
        rank = int((size > 1e-8 * size.max(initial=0.0)).sum())
        along = np.zeros((mechanism.nv, int(free.sum()) - rank))
        along[free] = scale[:, None] * Vt[rank:].T
        if not any(_leads_on(system, q, t, keep, unit * x / np.abs(x).max()) for x in along.T):
            found.append(q)
            continue
        moving, freedoms = np.maximum(moving, np.abs(along).max(axis=1)), max(freedoms, along.shape[1])
    joint = system.velocity_names()[int(moving.argmax())] if len(moving) else ""
    if modes and not found:
        raise ArgumentError(
            f"assemblies of {mechanism.name!r} with these joints held are no isolated points: "
            f"{counted(freedoms, 'freedom is', 'freedoms are')} left. Hold more joints in keep=, for example the one "
            f"of {joint!r}"
        )
    if len(found) < len(modes):
        warnings.warn(
            f"{mechanism.name!r}: of the assemblies that were found {len(modes) - len(found)} are left out, for joints "
            f"that are not held can move there, {joint!r} for example",
            ModelWarning,
            stacklevel=4,
        )
    return found


def _leads_on(system: ConstrainedKernels, q: np.ndarray, t: float, keep: Sequence[str], step: np.ndarray) -> bool:
    """Whether there are assemblies a little along a way, and not just this one again."""
    for way in (FAR, -FAR):
        try:
            there = assemble(system, moved(system.mechanism.tree, q, way * step), t, keep, restarts=0)
        except SingularityError:
            continue
        unit = units(system)
        if np.abs(_mark(system.mechanism, there, unit) - _mark(system.mechanism, q, unit)).max(initial=0.0) > FAR / 10:
            return True
    return False


def _mark(mechanism: Mechanism, q: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Positions as numbers that do not care for whole turns or the sign of a quaternion, in their units."""
    entries: list[float] = []
    for link in mechanism.tree.links:
        own = np.asarray(link.position(q), dtype=float)
        if link.kind == "spherical":
            entries += np.outer(own, own).ravel().tolist()
        elif link.kind == "revolute":
            entries += [np.cos(own[0]), np.sin(own[0])]
        else:
            entries.append(float(own[0]) / float(unit[link.v]))
    return np.array(entries)

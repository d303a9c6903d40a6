"""The several ways in which a mechanism can be put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.assembly import assemble, free_velocities, start_of
from dalembert.constraints.descent import moved, units
from dalembert.constraints.pivots import column_scale
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Mechanism
from dalembert.model.checks import expect_real, expect_whole

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels


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
        keep: joints whose positions are held; enough of them that assemblies are isolated points.
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
            found = assemble(system, moved(mechanism, base, step), t, keep, restarts=0)
        except SingularityError:
            continue
        mark = _mark(mechanism, found, unit)
        if all(np.abs(mark - other).max(initial=0.0) > 1e-5 for other in marks):
            modes.append(found)
            marks.append(mark)
    _refuse_continuum(system, modes, t, free)
    return modes


def _refuse_continuum(system: ConstrainedKernels, modes: list[np.ndarray], t: float, free: np.ndarray) -> None:
    """Assemblies are isolated points if the joints that are not held cannot move; at a singular one they seem to."""
    ranks = []
    for q in modes:
        G = system.evaluate("positions", q, t)[1][system.constraints.holonomic][:, free]
        size, Vt = np.linalg.svd(G * column_scale(G))[1:]
        ranks.append(int((size > 1e-8 * size.max(initial=0.0)).sum()))
    if not modes or max(ranks) == int(free.sum()):
        return
    moving = np.abs(Vt[ranks[-1] :]).max(axis=0)
    names = [name for name, is_free in zip(system.velocity_names(), free) if is_free]
    raise ArgumentError(
        f"assemblies of {system.mechanism.name!r} with these joints held are no isolated points: "
        f"{int(free.sum()) - max(ranks)} freedoms are left. Hold more joints in keep=, for example the one of "
        f"{names[int(moving.argmax())]!r}"
    )


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

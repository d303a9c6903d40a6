"""Whether states satisfy the constraints they are computed under, and whether they could."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.arguments import single
from dalembert.constraints.rank import Decomposition, Known
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

INCONSISTENT = 1e-6
"""States that violate constraints by more, in units of their rows, are refused; velocities by this times the largest
speed."""

DRIFT_LIMIT = 1e-3
"""The same where results are off by no more than states are: motions drift that far, positions that nobody has
assembled are farther away."""

UNKNOWN_DIGITS = 4
"""Of so many last digits of states nobody knows better."""


def violation(
    system: Constrained,
    q: np.ndarray,
    v: np.ndarray | None,
    t: Any,
    names: tuple[str, str],
    allowed: float = INCONSISTENT,
    **options: Any,
) -> str:
    """Which constraint states violate, by how much and what to do; empty if there is none.

    Args:
        v: velocities, (..., nv); None if only positions matter.
        names: what positions and velocities are called.
        allowed: how much is none, like :data:`INCONSISTENT`.
        options: ``parameters``, values of the symbols, (..., k), in the place of those of the system.
    """
    if not system.constraints.count:
        return ""
    moving = np.zeros(system.mechanism.nv) if v is None else v
    phi, G, rate, _ = system.evaluate("constraints", q, moving, t, **options)
    rows, timed = system.rows, system.constraints.rheonomic
    when, then = f" at t = {t:g} s" if timed and not np.ndim(t) else "", ", t" if timed else ""
    phi = np.where(system.constraints.holonomic, phi, 0)
    off = np.abs(phi).reshape(-1, len(rows)).max(axis=0, initial=0)
    limit = allowed * system.scaling.rows
    at, by = _rounding(system, G, q, moving)
    if not (off <= limit + at).all():
        k = int(np.argmax(off / (limit + at)))
        return (
            f"{names[0]} violates the constraint {rows[k].constraint!r} by {off[k]:.3g} m or rad{when}; find a "
            f"consistent position with Dynamics(mechanism).assemble({names[0]}{then})"
        )
    if v is None:
        return ""
    missing = np.abs(np.einsum("...ij,...j->...i", G, v) - rate).reshape(-1, len(rows)).max(axis=0, initial=0)
    fast = limit * max(1.0, float(np.abs(v / system.scaling.velocities).max(initial=0))) + by
    if not (missing <= fast).all():
        k = int(np.argmax(missing / fast))
        row = rows[k]
        return (
            f"{names[1]} violates the constraint {row.constraint!r} ({row.meaning}) by {missing[k]:.3g}{when}; find "
            f"consistent velocities with Dynamics(mechanism).project_velocity({names[0]}, {names[1]}{then})"
        )
    return ""


def refuse_far(system: Constrained, q: np.ndarray, v: np.ndarray, t: Any, what: str) -> None:
    """An error for states farther from the constraints than motions drift; what is not a number is left out.

    Args:
        what: was asked for there.
    """
    G = system.evaluate("positions", q, t)[1]
    batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(v)[:-1], np.shape(t))
    sums = (np.sum(q, axis=-1), np.sum(v, axis=-1), t, np.sum(G, axis=(-2, -1)))
    known = np.logical_and.reduce([np.broadcast_to(np.isfinite(x), batch) for x in sums])
    q, v = (np.broadcast_to(x, (*batch, np.shape(x)[-1]))[known] for x in (q, v))
    if wrong := violation(system, q, v, np.broadcast_to(t, batch)[known] if batch else t, ("q", "v"), DRIFT_LIMIT):
        raise ArgumentError(f"{what}: {wrong}")


def relative_violation(system: Constrained, q: np.ndarray, t: Any) -> np.ndarray:
    """The largest violation of positions, in units of the rows, (...)."""
    if not system.constraints.count:
        return np.zeros(np.broadcast_shapes(np.shape(q)[:-1], np.shape(t)))
    phi = system.evaluate("positions", q, t)[0]
    off = np.where(system.constraints.holonomic, np.abs(phi), 0.0) / system.scaling.rows
    return np.asarray(np.nan_to_num(off, nan=np.inf).max(axis=-1, initial=0.0))


def contradiction(system: Constrained, q: np.ndarray, v: np.ndarray, t: np.ndarray) -> str:
    """Whether redundant rows came to contradict each other along a motion, and when; empty if not.

    They may depend on time, or be independent far from where rows were chosen. States may violate the constraints: only
    what no displacement and no change of velocity can mend counts.

    Args:
        q: positions, (k, nq).
        v: velocities, (k, nv).
    """
    pivots, positional = system.pivots, system.positional
    if not (pivots.redundant and len(t)):
        return ""
    phi, G, rate, _ = system.evaluate("constraints", q, v, t)
    on_positions = system.constraints.holonomic
    limit = INCONSISTENT * system.scaling.rows
    missing = np.einsum("...ij,...j->...i", G, v) - rate
    # Beside the constraints rows that repeat each other differ by the distance, and rates by that times the speed.
    away = 1 + (np.abs(phi) / limit)[:, on_positions].max(axis=-1, initial=0.0)
    speed = np.abs(v / system.scaling.velocities).max(axis=-1, initial=0.0)
    fast = limit * (away * np.maximum(1.0, speed))[:, None]
    off = (np.abs(phi) > limit)[:, on_positions].any(axis=-1) | (np.abs(missing) > fast).any(axis=-1)
    where = np.flatnonzero(off)
    if not len(where):
        return ""
    units = system.scaling.rows
    G, missing, phi = system.scaling.dimensionless(G[where]), missing[where] / units, phi[where] / units
    excess = np.abs(_unreachable(G, missing, pivots.rank)) * units / fast[where]
    on_them = np.abs(_unreachable(G[:, on_positions], phi[:, on_positions], positional.rank))
    excess[:, on_positions] = np.maximum(excess[:, on_positions], on_them / INCONSISTENT)
    wrong = excess.max(axis=-1) > 1
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    names = dict.fromkeys(system.rows[k].constraint for k in np.flatnonzero(excess[first] > excess[first].max() / 10))
    return (
        f"from t = {t[where[first]]:.6g} s on the constraints {', '.join(map(repr, names))} contradict each other, and "
        "the motion is a compromise or leaves one out; Dynamics(mechanism).analyse(q, t) says more. Or they "
        "were redundant only near the start; start where they are not"
    )


def _unreachable(G: np.ndarray, b: np.ndarray, rank: int) -> np.ndarray:
    """What is left of b, (k, m), if G x comes as close to it as it can, G having that rank."""
    null = Decomposition.of(G, Known(rank), 0.0).left_null
    return np.asarray(np.einsum("...ij,...kj,...k->...i", null, null, b))


def _rounding(system: Constrained, G: np.ndarray, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What some last digits of positions and velocities change in each row and its rate: of single precision, if states
    are given in it. Both (m,); a position has the digits of a radian or a metre at least.
    """
    digits = UNKNOWN_DIGITS * float(np.finfo(np.float32 if single((q, v)) else np.float64).eps)
    far = np.ones((*np.shape(q)[:-1], system.mechanism.nv))
    for link in system.mechanism.tree.links:
        if link.kind != "spherical":
            far[..., link.v] = np.maximum(1.0, np.abs(np.asarray(q)[..., link.q]))
    turned = digits * (np.abs(G) * far[..., None, :])
    sums = turned.sum(axis=-1), turned.sum(axis=-1) * np.abs(v).max(axis=-1, initial=0.0, keepdims=True)
    first, second = (x.reshape(-1, len(system.rows)).max(axis=0, initial=0.0) for x in sums)
    return first, second

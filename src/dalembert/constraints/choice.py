"""Which rows a kernel keeps and which velocities it eliminates: chosen once, at sampled positions and times."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.assembly import RESTARTS, assemble
from dalembert.constraints.descent import units
from dalembert.constraints.pivots import Pivots, column_scale, find_pivots
from dalembert.constraints.vicinity import is_clear, neighbours, rank
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import moved

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

TIMES = (0.0, 0.37, 1.0, 3.1)
"""When constraints that depend on time are sampled and compared, s. Kernels check the rows they leave out themselves,
at all times."""

Sample = tuple[np.ndarray, float]
"""Assembled positions, and when."""


def choose_pivots(system: ConstrainedKernels) -> Pivots:
    """The pivots around the reference of a system; an error if its independent speeds cannot be the wanted ones.

    Args:
        system: the constrained mechanism.
    """
    keep = set(velocities_named(system.mechanism, system.independent or (), "independent"))
    G = _gradients(system)
    pivots, common = _common(G, keep)
    if system.independent is not None and not (pivots.complete and sorted(keep) == list(pivots.independent)):
        free = _common(G)[0].independent
        names = ", ".join(system.velocity_names()[k] for k in free)
        raise ArgumentError(
            f"{', '.join(map(repr, system.independent)) or 'no joint'} cannot be the independent speeds of "
            f"{system.mechanism.name!r}: {len(free)} velocities are needed, for example {names}"
        )
    _refuse_contradiction(system, pivots, system.samples[0][0])
    return _measured(system, pivots, common, G)


def choose_positional(system: ConstrainedKernels) -> Pivots:
    """The pivots of the rows on positions alone, which may depend on others than those kept among all rows.

    Args:
        system: the constrained mechanism.
    """
    G = _gradients(system)
    G[:, ~system.constraints.holonomic] = 0.0
    return _measured(system, *_common(G), G)


def _common(G: np.ndarray, keep: Collection[int] = ()) -> tuple[Pivots, list[int]]:
    """The pivots of the first sample and of as many others as have any in common with it, and which samples these are.

    Near a crossing of branches some samples lie on another branch than the first. Where what vanishes on the one does
    not on the other, elimination that is to do for both ends early, and a row that matters would seem redundant.
    """
    pattern = np.abs(G).max(axis=0) > 0
    whole = find_pivots(G, pattern, keep)
    if whole.complete:
        return whole, list(range(len(G)))
    chosen, pivots = [0], find_pivots(G[:1], pattern, keep)
    for k in range(1, len(G)):
        wider = find_pivots(G[[*chosen, k]], pattern, keep)
        if wider.complete:
            chosen, pivots = [*chosen, k], wider
    return pivots, chosen


def _measured(system: ConstrainedKernels, pivots: Pivots, common: list[int], G: np.ndarray) -> Pivots:
    """The pivots with the sizes of rows that have to be compared with each other while a kernel runs."""
    if not pivots.varying:
        return pivots
    G = G[common]
    M = np.stack([system.evaluate("mass_matrix", system.samples[k][0]) for k in common])
    weight = np.einsum("kii->ki", M)
    unit = 1 / np.sqrt(np.where(weight > 0, weight, np.inf))  # kilometres beside millimetres: pinv compares
    rows = G * unit[:, None, :]
    mobility = np.einsum("kij,kjl,kil->ki", rows, np.linalg.pinv(M * unit[:, None, :] * unit[:, :, None]), rows)
    return replace(pivots, sizes=_rounded((G**2).sum(axis=-1)), mobilities=_rounded(mobility))


def _rounded(sizes: np.ndarray) -> tuple[float, ...]:
    """The largest of each row over the samples, the largest of all being one, as powers of four.

    So they are exact as factors, the same on every machine, and mostly the same for other values of symbols: programs
    contain them.
    """
    largest = sizes.max(axis=0)
    largest = np.where(largest > 0, largest, largest.max(initial=0.0) or 1.0)
    return tuple((4.0 ** np.round(np.log2(largest / largest.max()) / 2)).tolist())


def _gradients(system: ConstrainedKernels) -> np.ndarray:
    """G at the samples, (count, m, nv)."""
    return np.stack([system.evaluate("positions", q, t)[1] for q, t in system.samples])


def row_scale(system: ConstrainedKernels) -> np.ndarray:
    """One over the size of every row around the reference, (m,): loops of millimetres have rows of metres and radians.

    Args:
        system: the constrained mechanism.
    """
    sizes = system.constraints.together(np.linalg.norm(_gradients(system), axis=-1).max(axis=0))
    return np.asarray(1 / np.where(sizes > 1e-12 * sizes.max(initial=0.0), sizes, sizes.max(initial=0.0) or 1.0))


def samples(system: ConstrainedKernels, count: int = 4, spread: float = 0.3) -> list[Sample]:
    """Assembled positions around the reference, the reference itself (assembled) first if that is possible.

    Singular ones are left out: rows that vanish or depend on each other there are not redundant elsewhere. So are those
    whose rank is not clear.

    Args:
        system: the constrained mechanism.
        count: how many.
        spread: standard deviation of the random starts, rad or lengths of the mechanism, at least metres.
    """
    if not system.constraints.count:
        return [(np.asarray(system.reference, dtype=float), 0.0)]
    rng = np.random.default_rng(0)
    times = TIMES if system.constraints.rheonomic else TIMES[:1]
    found: list[Sample] = []
    failure: Exception | None = None
    for k in range(6 * count):
        step = rng.normal(size=system.mechanism.nv) * spread * units(system) if k else np.zeros(system.mechanism.nv)
        t = times[k % len(times)]
        try:
            start = moved(system.mechanism.tree, np.array(system.reference), step)
            q = assemble(system, start, t, restarts=0 if k else RESTARTS)
            if is_clear(system, q, t) or not found:
                found.append((q, t))
        except SingularityError as error:
            failure = failure or error
        if len(found) == count:
            break
    if not found:
        raise SingularityError(f"give reference=, positions near an assembly: {failure}") from failure
    return _regular(system, found, times)[:count]


def _regular(system: ConstrainedKernels, found: list[Sample], times: Sequence[float]) -> list[Sample]:
    """The samples of the rank that rows usually have around the first, the reference, and others like these."""
    ranks, clear = [rank(system, q, t) for q, t in found], is_clear(system, *found[0])
    if clear and len(found) > 1 and ranks[0] == max(ranks):
        return [sample for sample, here in zip(found, ranks) if here == ranks[0]]
    # Is the reference singular, or are the others of another kind?
    near = [(q, t, there) for t in times for q, there in neighbours(system, found[0][0], t)]
    known = [(q, t, there) for q, t, there in near if is_clear(system, q, t)]
    if not known and max((there for *_, there in near), default=0) > ranks[0] and clear:
        if ranks[0] == max(ranks):
            raise SingularityError(
                f"the reference of {system.mechanism.name!r} seems to be a singular position, and around it none was "
                "found where it is clear which rows are independent: give reference=, positions away from it"
            )
        known = [(q, t, here) for (q, t), here in zip(found, ranks) if here == max(ranks)]
    if not clear and (known or len(found) > 1):  # what seems independent at the reference need not be
        found, ranks = found[1:], ranks[1:]
        usual = max((there for *_, there in known), default=max(ranks, default=0))
    else:
        known = known if clear else near  # nothing is clear where some lengths are far smaller than others
        usual = max([ranks[0], *(there for *_, there in known)])
    kept = [sample for sample, here in zip(found, ranks) if here >= usual]
    return [*kept, *((q, t) for q, t, there in known if there == usual)]


def _refuse_contradiction(system: ConstrainedKernels, pivots: Pivots, q: np.ndarray) -> None:
    """Rows that are left out must demand what the others demand, also later."""
    if not (system.constraints.rheonomic and pivots.redundant) or pivots.varying:
        return
    kept = list(pivots.rows)
    for t in TIMES:
        with suppress(SingularityError):  # out of reach, or because of a contradiction: the rates tell which
            q = assemble(system, q, t, restarts=0)
        _, G, rate, _ = system.evaluate("constraints", q, np.zeros(system.mechanism.nv), t)
        G = G * column_scale(G)
        for k in pivots.redundant:
            demanded = np.linalg.lstsq(G[kept].T, G[k], rcond=1e-9)[0] @ rate[kept] if kept else 0.0
            if abs(rate[k] - demanded) > 1e-8 * (1 + np.abs(rate).max()):
                raise SingularityError(
                    f"{system.mechanism.name!r}: constraints contradict each other at t = {t:g} s: {system.rows[k]} "
                    f"demands the rate {rate[k]:.6g}, others {demanded - rate[k]:.3g} more; analyse says more"
                )

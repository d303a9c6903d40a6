"""Constrained motion as the compiled kernels have it, held against a derivation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.solve import METHODS
from dalembert.constraints.vicinity import ranks_nearby
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations.agreement import AgreementRow
from dalembert.formulations.sample_ranks import clear_ranks
from dalembert.formulations.sampling import Inputs, sampled, typical_inputs
from dalembert.formulations.system import MultibodySystem
from dalembert.kinematics.manifold import moved
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import program_of

ASSEMBLIES_TRIED, TYPICAL = 40, 20
"""Assemblies looked at for one of the mobility that equations are for, and for the size of rows."""

REGULAR = 3e-2
"""Singular value, of rows and columns of length one, that all nonzero ones exceed where digits are not to be lost."""

SOON = 1e-3
"""Times, s, at which loops with given motions are closed if they ever are."""

HOME_SPREAD = 0.1
"""Standard deviation of states around home, rad or lengths of the mechanism."""


@dataclass(frozen=True)
class SampledMotion:
    """A state on the constraints and its acceleration without drives.

    Args:
        a: accelerations, as derived.
        scale: what errors are measured by.
    """

    q: np.ndarray
    v: np.ndarray
    t: float
    a: np.ndarray
    scale: float

    def error(self, a: Any) -> float:
        """Relative difference of other accelerations."""
        return float(np.abs(a - self.a).max(initial=0.0) / self.scale)


class Search:
    """Random states on the constraints that leave as many freedoms as equations have speeds.

    Loops may close in ways of different mobility, and the equations are for one of these. Freedoms are counted with all
    rows, whatever the equations have left out, so that equations with too many or too few speeds find no state.

    Args:
        system: the mechanism as it was traced.
        closed: the mechanism with its constraints.
        speeds: how many freedoms states leave.
        described: whether the speeds describe these at given inputs; loops may close in ways that hold the speeds.
        home: where to close loops; None if nobody said.
        known: values of the symbols.
        skipped: receives remarks.
    """

    def __init__(
        self,
        system: MultibodySystem,
        closed: Dynamics,
        speeds: int,
        described: Callable[[Mapping[str, Any]], bool],
        home: np.ndarray | None,
        known: Mapping[str, Any],
        skipped: list[str],
    ):
        assert system.constraints is not None
        self.system, self.closed, self.speeds, self.home = system, closed, speeds, home
        self.described, self.known, self.skipped = described, known, skipped
        self.rng = np.random.default_rng(2)
        self.typical = np.array(sampled(system, system.constraints.A, TYPICAL), dtype=float)
        self.rows = program_of(system.scope.graph, {"A": system.constraints.A}, "rows")
        self.seen: list[int] = []
        self.near_singular, self.span = False, 1.0

    def state(self) -> Inputs | None:
        """All inputs at such a state, far from singular ones if that is possible; None if there is none to be found."""
        spare = None
        for attempt in range(ASSEMBLIES_TRIED):
            inputs = typical_inputs(self.system, self.rng, self.known)
            home = self.closed.reference if self.home is None and attempt >= ASSEMBLIES_TRIED // 2 else self.home
            t = 0.0
            if self.system.time is not None:
                t = self.span * float(inputs["t"])
                inputs["t"] = np.array(t)
            try:
                inputs["q"] = closed_near(self.closed, inputs["q"], home, t, self.rng, self.skipped)
            except SingularityError:
                if self.system.time is None or self.span < SOON:
                    raise
                self.span /= 4  # motions that are given may be in reach for a short time
                continue
            A = evaluate(self.rows, {port.name: inputs[port.name] for port in self.rows.inputs})["A"]
            A = np.array(A, dtype=float)[None]
            if (freedoms := self.system.n - int(clear_ranks(A, self.typical)[0])) > self.system.n:
                continue  # it decides nothing
            self.seen.append(freedoms)
            if freedoms == self.speeds and self.described(inputs):
                spare = inputs
                if self.near_singular or clear_ranks(A, self.typical, REGULAR)[0] >= 0:
                    break
        else:
            self.near_singular = spare is not None  # everywhere
        return spare

    def rows_of_freedoms(self) -> list[AgreementRow]:
        """Whether there are states of as many freedoms as there are speeds; None if no state decides.

        Around home that is asked of kernels, at states so close that they are closed in the same way.
        """
        found = self.seen
        if self.home is not None and found:
            nearby = ranks_nearby(self.closed, self.closed.assemble(self.home), 0.0)
            found = [self.system.n - rank for rank in nearby] or found
        lack = min((abs(self.speeds - freedoms) for freedoms in found), default=None)
        return [] if lack is None else [AgreementRow("freedoms", "kane", "rank of the rows", float(lack), 0.0)]


def closed_near(
    system: Dynamics,
    q: np.ndarray,
    home: np.ndarray | None,
    t: float,
    rng: np.random.Generator,
    said: list[str],
) -> np.ndarray:
    """Positions that satisfy the constraints: near home, or else near random ones or, failing that, the neutral one.

    Args:
        system: the mechanism with its constraints.
        q: random positions.
        home: where to close loops instead; None if nobody said.
        rng: source of deviations from home.
        said: receives a remark where random positions lead to no assembly.
    """
    if home is None:
        try:
            return system.assemble(q, t)
        except SingularityError:
            remark = "constraints at random positions: they lead to no assembly; tried around the neutral one instead"
            if remark not in said:
                said.append(remark)
    deviation = HOME_SPREAD * rng.normal(size=system.mechanism.nv) * system.scaling.velocities
    return system.assemble(moved(system.mechanism.tree, system.reference, deviation), t)


def compiled_errors(system: Dynamics, motions: list[SampledMotion], skipped: list[str]) -> dict[str, float]:
    """Largest errors, by route: every method on the compiled terms, and both kinds of kernel around the first motion.

    Args:
        system: the mechanism with its constraints.
        motions: at least one.
        skipped: receives what is left out.
    """
    mechanism = system.mechanism
    rest, first = np.zeros(mechanism.nv), motions[0]
    errors: dict[str, float] = {}
    for method in METHODS:
        try:
            theirs = [system.solve(x.q, x.v, rest, x.t, method=method).a for x in motions]
            errors[f"compiled terms, {method}"] = float(np.max([x.error(a) for x, a in zip(motions, theirs)]))
        except (UnsupportedError, SingularityError) as error:
            skipped.append(f"constraints, compiled terms by {method}: {error}")
    for method in ("multipliers", "projection"):
        try:
            kernel = Dynamics(
                mechanism, elements=system.elements.names, include=system.include, method=method, reference=first.q,
                parameters=dict(zip(system.parameter_names, system.parameter_values.tolist())),
            )  # fmt: skip
            found = kernel.forward_dynamics(first.q, first.v, rest, first.t)
        except (UnsupportedError, SingularityError) as error:
            skipped.append(f"constraints, compiled kernel of {method}: {error}")
            continue
        if np.isfinite(found).all():
            errors[f"compiled kernel, {method}"] = first.error(found)
        else:  # its way to say so
            skipped.append(f"constraints, compiled kernel of {method}: rows lose rank at the state compared")
    return errors

"""One door to verification: comparison of numbers at random states, or proof for all of them."""

from __future__ import annotations

from typing import Any

from dalembert.errors import ArgumentError
from dalembert.formulations import verify as sampled
from dalembert.formulations.agreement import Agreement
from dalembert.formulations.equation_laws import checked
from dalembert.formulations.equations import Equations
from dalembert.model import Mechanism
from dalembert.proof.prove import ERROR, Proof, prove


def verify(
    mechanism: Mechanism | Equations,
    states: int = 4,
    tolerance: float = 1e-10,
    *,
    exact: bool = False,
    error: float = ERROR,
    seed: int = 0,
    **options: Any,
) -> Agreement | Proof:
    """Compare all formulations and algorithms with each other, and check the laws of mechanics.

    By default in floating point, at random states of this mechanism, with its constraints and force elements. With
    ``exact=True`` over a prime field: what agrees there is identical for every mechanism with the same tree and the
    same kinds of joints, and for every state, but for a stated probability; see :func:`dalembert.proof.prove`.

    Args:
        mechanism: the mechanism; or equations of motion, which are held against the laws they must obey, their own
            accelerations and, where it is known, what they were derived from, by another route.
        states: number of random states to compare at.
        tolerance: allowed relative error of that comparison; every row of the result has its own.
        exact: prove instead of comparing.
        error: of a proof, the largest probability of an error for each row.
        seed: of the random numbers.
        options: further ones of :func:`dalembert.formulations.verify`: ``methods``, ``q``.
    """
    if isinstance(mechanism, Equations):
        if exact or options:
            raise ArgumentError(
                "verify: equations are compared at random states; exact=True and further options are for mechanisms"
            )
        return checked(mechanism, tolerance)
    if not exact:
        return sampled(mechanism, states, tolerance, seed=seed, **options)
    if options:
        raise ArgumentError(f"verify: {', '.join(options)} belongs to the comparison of numbers; leave out exact=True")
    return prove(mechanism, error=error, seed=seed)

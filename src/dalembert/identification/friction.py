"""Which model of friction a record supports: cross-validation over stretches of the motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError, SingularityError
from dalembert.identification.identify import Identification, identify, solved, triangle
from dalembert.identification.regression import LinearTorques, measured
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_whole
from dalembert.model.names import as_names, named_velocities
from dalembert.text.layout import columns, page_width

FRICTION_MODELS: dict[str, tuple[str, ...]] = {
    "none": (),
    "viscous": ("damping",),
    "Coulomb": ("friction",),
    "viscous and Coulomb": ("damping", "friction"),
    "viscous, Coulomb and offset": ("damping", "friction", "offset"),
}
"""Names of models of friction, the simplest first, and the parameters of the drives each has."""


@dataclass(frozen=True, eq=False)
class FrictionChoice:
    """How well each model of friction predicts torques that it has not seen.

    Args:
        models: their names, the simplest first.
        errors: of every model in every fold, the root mean square of what its prediction lacks, in standard deviations
            of the noise of each torque, (models, folds); infinite where the motion does not show all its parameters.
        parameters: how many each model has, bodies included.
        chosen: the simplest whose mean error is within one standard error of the least.
        identification: with the chosen model, from the whole record; None if nothing is unknown then.
    """

    models: tuple[str, ...]
    errors: np.ndarray
    parameters: tuple[int, ...]
    chosen: str
    identification: Identification | None

    def __str__(self) -> str:
        folds = self.errors.shape[1]
        mean, spread = self.errors.mean(axis=1), _standard_error(self.errors)
        rows = [
            (name, str(count), f"{error:.4g}", f"{s:.2g}", "chosen" if name == self.chosen else "")
            for name, count, error, s in zip(self.models, self.parameters, mean, spread)
        ]
        lines = columns(("friction", "parameters", "error", "+-", ""), rows, page_width())
        said = f"error of prediction, in sigmas of the noise, of {folds} stretches left out in turn"
        return "\n".join([*lines, said])


def choose_friction(
    mechanism: Mechanism | Dynamics,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    signs: Any = None,
    *,
    unknown: Sequence[str] | None = None,
    models: Mapping[str, Sequence[str]] = FRICTION_MODELS,
    folds: int = 5,
    prior: float = 1e-3,
) -> FrictionChoice:
    """The simplest model of friction that predicts unseen torques as well as any.

    The record is cut into stretches; each is predicted by parameters from the others. Neighbouring samples tell almost
    the same, so stretches, not single samples, are left out. Of models whose mean errors differ by no more than the
    standard error of the best one, the simplest is taken (Breiman et al. 1984).

    Args:
        mechanism: as for :func:`~dalembert.identification.identify`.
        q: positions, (T, nq), in the order of time.
        v: velocities, (T, nv).
        a: accelerations, (T, nv).
        tau: measured generalised forces, (T, nv).
        signs: of the velocities, if tau is filtered: filtered alike.
        unknown: bodies whose parameters are found as well; all that move by default, none if empty.
        models: by name the parameters of the drives, see :data:`~dalembert.identification.DRIVES`; the simplest first.
        folds: into how many stretches the record is cut.
        prior: of the final identification.
    """
    folds = expect_whole(folds, "folds", 2)
    dynamics = mechanism if isinstance(mechanism, KernelTable) else Dynamics(mechanism)
    q, v, a, tau = measured(dynamics.mechanism, q, v, a, tau)
    signs = None if signs is None else named_velocities(dynamics.mechanism, signs, "signs")
    if len(tau) < 10 * folds:
        raise ArgumentError(f"{len(tau)} samples are too few for {folds} stretches of ten at least", argument="folds")
    unknown = None if unknown is None else as_names("unknown", unknown)
    if not expect(models, Mapping, "choose_friction, models"):
        raise ArgumentError("models is empty; there is nothing to choose from")
    stretch = np.arange(len(tau)) * folds // len(tau)
    errors, counts = [], []
    sigma: np.ndarray | None = None
    for drives in reversed(list(models.values())):  # the richest one shows the noise
        W, rest = _regression(dynamics, unknown, drives, (q, v, a, signs), tau)
        if sigma is None:
            left = rest - W @ _values([triangle(W, rest, np.ones(tau.shape[1]))])
            sigma = np.maximum(np.sqrt((left**2).mean(axis=0)), 1e-12 * np.abs(tau).max() + 1e-300)
        counts.append(W.shape[-1])
        parts = [triangle(W[stretch == k], rest[stretch == k], sigma) for k in range(folds)]
        sizes = [tau[stretch == k].size for k in range(folds)]
        errors.append([_unseen(parts, k) / np.sqrt(sizes[k]) for k in range(folds)])
    table = np.array(errors[::-1])
    if not np.isfinite(table).any(axis=1).any():
        raise SingularityError("the motion does not show the parameters of any model; use one with better excitation")
    mean, spread = table.mean(axis=1), _standard_error(table)
    best = int(np.argmin(mean))
    k = int(np.argmax(mean <= mean[best] + spread[best]))
    name = list(models)[k]
    nothing = unknown is not None and not len(unknown) and not models[name]
    found = None if nothing else identify(
        dynamics, q, v, a, tau, signs, unknown=unknown, drives=tuple(models[name]), prior=prior
    )  # fmt: skip
    return FrictionChoice(tuple(models), table, tuple(counts[::-1]), name, found)


def _regression(
    dynamics: Dynamics,
    unknown: Sequence[str] | None,
    drives: Sequence[str],
    motion: tuple[np.ndarray, np.ndarray, np.ndarray, Any],
    tau: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The visible columns of a model, (T, nv, b), and what they have to explain, (T, nv)."""
    nothing = unknown is not None and not len(unknown) and not len(drives)
    torques = LinearTorques(dynamics, unknown, ("offset",) if nothing else drives)  # beside which all is known
    W, known = torques.matrix(*motion)
    return W[..., [] if nothing else list(torques.visible.kept)], tau - known


def _values(parts: Sequence[np.ndarray]) -> np.ndarray:
    count = parts[0].shape[-1] - 1
    return solved(np.vstack(parts), [f"value {k}" for k in range(count)])[0] if count else np.zeros(0)


def _unseen(parts: Sequence[np.ndarray], k: int) -> float:
    """What a prediction of one stretch by the others lacks, root of the sum of squares in sigmas."""
    try:
        values = _values([*parts[:k], *parts[k + 1 :]])
    except SingularityError:
        return np.inf
    return float(np.linalg.norm(parts[k] @ np.append(values, -1.0)))


def _standard_error(errors: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.asarray(errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1]))

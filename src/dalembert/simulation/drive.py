"""What acted on the motions of a rollout, to be told again for one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.cuda.arrays import to_host
from dalembert.native.kernel import Kernel, traced_kernel
from dalembert.tracing.program import Port


@dataclass(frozen=True, eq=False)
class RolloutInputs:
    """Control and wrenches of many motions, as they were given; nothing is copied.

    Args:
        step: s.
        policy: the control, if it is a function.
        gains: of the policy, (..., k).
        places: which velocities the numbers of a row act on.
        rows: the control, if it is an array, (..., rows, n).
        hold: steps for which a row, or what the policy said, is held; None for a policy that is asked at every stage.
        wrench: on every frame, (..., frames, 6).
    """

    step: float
    policy: Callable[..., Any] | None
    gains: Any
    places: Sequence[int] | None
    rows: Any
    hold: int | None
    wrench: Any

    def forces(
        self, index: tuple[int, ...], batch: tuple[int, ...], t: np.ndarray, q: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Generalised forces of one motion at its records, (K, nv): of the step that begins there, if there is one.

        Args:
            index: which motion.
            batch: shape of all.
            t: times of the records.
            q: positions there, (K, nq).
            v: velocities there, (K, nv).
        """
        tau = np.zeros(v.shape)
        if self.policy is not None:
            last = () if self.gains is None else (_one(self.gains, index, batch, 1),)
            tau[:] = self._kernel(q.shape[1], v.shape[1], *(len(gains) for gains in last))(t, q, v, *last)
        elif self.rows is not None:
            rows = _one(self.rows, index, batch, 2)
            now = np.minimum(np.round(t / self.step).astype(int) // (self.hold or 1), len(rows) - 1)
            tau[:, list(self.places or ())] = rows[now]
        return tau

    def _kernel(self, nq: int, nv: int, *gains: int) -> Kernel:
        """The policy, which may be written for traced scalars only."""
        sizes = dict(zip(("t", "q", "v", "gains"), [(), (nq,), (nv,), *((n,) for n in gains)]))
        ports = [Port(name, shape) for name, shape in sizes.items()]
        policy = self.policy
        assert policy is not None
        return traced_kernel("control", ports, [Port("tau", (nv,))], lambda given: list(policy(*given.values())))

    def wrenches(self, index: tuple[int, ...], batch: tuple[int, ...], frames: int) -> np.ndarray:
        """Wrenches on the frames, (frames, 6); constant.

        Args:
            index: which motion.
            batch: shape of all.
            frames: how many.
        """
        return np.zeros((frames, 6)) if self.wrench is None else _one(self.wrench, index, batch, 2)


def _one(array: Any, index: tuple[int, ...], batch: tuple[int, ...], core: int) -> np.ndarray:
    """That of one motion, from an array with some of the batch dimensions."""
    lead = array.shape[: array.ndim - core]
    own = index[len(batch) - len(lead) :]
    return np.asarray(to_host(array[tuple(k if n > 1 else 0 for k, n in zip(own, lead))]), dtype=float)

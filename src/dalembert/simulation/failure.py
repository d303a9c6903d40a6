"""What goes wrong while motions are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import DalembertError, Wording

if TYPE_CHECKING:
    from dalembert.simulation.rollout import Rollout
    from dalembert.simulation.sweep import Sweep
    from dalembert.simulation.trajectory import Trajectory


class SimulationError(DalembertError, RuntimeError):
    """A motion cannot be continued: a user's function failed, or the state is no longer finite.

    Args:
        message: what is wrong and how to mend it.
        time: when, s.
        q: the position there.
        v: the velocity there.
        partial: the trajectory up to the last good step, if there is one.
    """

    def __init__(
        self,
        message: str,
        time: float,
        q: Any,
        v: Any,
        partial: Trajectory | None = None,
    ):
        self.time = float(time)
        self.q, self.v = np.array(q, dtype=float), np.array(v, dtype=float)
        self.partial = partial
        super().__init__(message, argument="partial")

    def said(self, wording: Wording) -> str:
        """The text, in the words of a front end: with the time and state, and what was kept if that can be had."""
        lines = [super().said(wording), f"at t = {self.time:.9g} s", f"q = {_shown(self.q)}", f"v = {_shown(self.v)}"]
        if (partial := self.partial) is not None:
            till = f" up to t = {partial.t[-1]:.9g}" if len(partial) else ""
            kept = f"kept: {len(partial)} sample{'' if len(partial) == 1 else 's'}{till} in .partial"
            lines += filter(None, [wording.remedy("partial", kept)])
        return "\n  ".join(lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.time, self.q, self.v, self.partial)


def interrupted(message: str, partial: Trajectory | Rollout | Sweep) -> KeyboardInterrupt:
    """What Ctrl-C raises: it keeps in its attribute ``partial`` what was computed.

    No class of its own: only of a KeyboardInterrupt itself a script dies as of Ctrl-C, and a shell stops its loop.

    Args:
        message: how far it came.
    """
    stopped = KeyboardInterrupt(f"{message}; what was computed is in .partial of this KeyboardInterrupt")
    stopped.partial = partial  # type: ignore[attr-defined]
    return stopped


class SweepError(DalembertError, RuntimeError):
    """Some pieces of a sweep failed; the others are on disk.

    Args:
        message: what happened.
        partial: the sweep with what was computed.
        failed: numbers of the pieces that failed.
    """

    def __init__(self, message: str, partial: Sweep, failed: Sequence[int]):
        self.partial, self.failed = partial, tuple(failed)
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.partial, self.failed)


def _shown(x: np.ndarray) -> str:
    return np.array2string(x, precision=6, threshold=20, max_line_width=10**6)

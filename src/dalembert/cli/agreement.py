"""One mechanism, several independent routes to the same numbers: how far apart are they?

Inverse dynamics and the inertia matrix are compared with a reference route, relative to its largest entry. Forward
dynamics is judged by the forces that its accelerations need, M a + bias, against the forces it was given, relative to
the largest sum of terms |M| |a| + |bias|: that measures the algorithm rather than how well conditioned M is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.errors import UnsupportedError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.cli.peers import Pinocchio
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism

    State = tuple[np.ndarray, np.ndarray, np.ndarray]

REFERENCES = {"inverse_dynamics": "newton-euler", "mass_matrix": "column-method"}
"""The textbook route the others are compared with."""

COMPARED = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
"""Quantities with several routes."""

LAW = "M a + bias = tau"
"""What forward dynamics must satisfy."""

KERNEL = "compiled kernel"
"""The route by machine code."""

PATIENCE = 2.0
"""Seconds after which a slow route is not asked about further states."""


@dataclass(frozen=True)
class Agreement:
    """How one route compares.

    Args:
        quantity: what is computed.
        route: how.
        reference: what it is compared with.
        states: number of states compared.
        worst: largest relative difference; None if the route does not apply.
        reason: why it does not apply.
    """

    quantity: str
    route: str
    reference: str
    states: int = 0
    worst: float | None = None
    reason: str = ""

    def holds(self, tolerance: float) -> bool:
        """Whether the difference is within the tolerance; a route that does not apply contradicts nobody."""
        return self.worst is None or self.worst <= tolerance  # false for NaN


def compare(
    mechanism: Mechanism,
    dynamics: Dynamics,
    peer: Pinocchio | None,
    states: list[State],
    quantities: Sequence[str] = COMPARED,
    every: bool = True,
) -> Iterator[Agreement]:
    """Every algorithm, the compiled kernel and Pinocchio.

    Args:
        mechanism: the mechanism; its symbols must have values.
        dynamics: its kernels.
        peer: the same in Pinocchio.
        states: where to compare.
        quantities: which of the main quantities.
        every: false to leave out the algorithms other than the reference.
    """
    from dalembert.cli.counting import algorithms_of

    tree = mechanism.tree
    for quantity in quantities:
        reference = REFERENCES.get(quantity, LAW)
        algorithms = algorithms_of(quantity)
        routes: dict[str, Callable[..., Any]] = {}
        for name in sorted(algorithms, key=lambda name: name != reference):
            if every or name == reference:
                routes[name] = lambda *state, algorithm=algorithms[name]: algorithm(tree, *state)
        routes[KERNEL] = dynamics.kernel(quantity)
        if peer is not None:
            routes[peer.name] = getattr(peer, quantity)
        answers: dict[int, Any] = {}
        for name, route in routes.items():
            yield _compared(mechanism, quantity, name, route, reference, answers, states)


def _compared(
    mechanism: Mechanism,
    quantity: str,
    name: str,
    route: Callable[..., Any],
    reference: str,
    answers: dict[int, Any],
    states: list[State],
) -> Agreement:
    import numpy as np

    worst, count = 0.0, 0
    end = time.perf_counter() + PATIENCE
    for k, (q, v, a) in enumerate(states):
        state = (q,) if quantity == "mass_matrix" else (q, v, a)
        try:
            value = np.asarray(route(*state), dtype=float)
        except UnsupportedError as error:
            return Agreement(quantity, name, reference, reason=str(error))
        if quantity == "forward_dynamics":
            difference = _force_error(mechanism, q, v, a, value)
        elif name == reference:
            answers[k], difference = value, 0.0
        else:
            difference = relative(value - answers[k], answers[k])
        worst = max(worst, difference) if difference == difference else difference
        count += 1
        if worst != worst or (time.perf_counter() > end and name != reference):
            break
    return Agreement(quantity, name, reference, count, worst)


def _force_error(mechanism: Mechanism, q: Any, v: Any, tau: Any, a: Any) -> float:
    """Of forward dynamics: what M a + bias misses tau by, relative to the terms of that sum."""
    import numpy as np

    from dalembert.algorithms.inertia_matrix.two_sided import two_sided
    from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler

    tree = mechanism.tree
    needed = newton_euler(tree, q, v, a)
    bias = newton_euler(tree, q, v, np.zeros_like(a))
    return relative(needed - tau, np.abs(two_sided(tree, q)) @ np.abs(a) + np.abs(bias))


def relative(difference: np.ndarray, scale: np.ndarray) -> float:
    """Largest entry of a difference over the largest entry of what it is measured against; zero if nothing differs."""
    import numpy as np

    most = float(np.abs(difference).max(initial=0.0))
    return most / max(float(np.abs(scale).max(initial=0.0)), 1e-300) if most else most

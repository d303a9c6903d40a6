"""Compiled kernels, and Pinocchio where it is installed, against the algorithms as they are written.

Inverse dynamics and the inertia matrix are compared with a textbook algorithm run on plain numbers, relative to its
largest entry. Forward dynamics is judged by the forces that its accelerations need, M a + bias, against the forces it
was given, relative to the largest sum of terms |M| |a| + |bias|: that measures the code rather than how well M is
conditioned. Terms of the joints that the kernels include are added to what the algorithms give.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.errors import DalembertError, ModelWarning, UnsupportedError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.algorithms.joint_forces import JointForces
    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism


REFERENCES = {
    "inverse_dynamics": "newton-euler",
    "mass_matrix": "walker-orin",
    "forward_dynamics": "M a + bias = tau",
}
"""What the kernels of these quantities are compared with."""

KERNEL = "compiled kernel"


class RouteComparison(NamedTuple):
    """How one route compares: the worst relative difference, or None and why there is none."""

    quantity: str
    route: str
    worst: float | None
    reason: str = ""


def compare(
    dynamics: Dynamics, peer: PinocchioPeer | None, seed: int = 0, states: int = 5, quantities: Sequence[str] = ()
) -> list[RouteComparison]:
    """Compiled kernels and Pinocchio at random states.

    Args:
        dynamics: the kernels of a mechanism whose symbols have values.
        peer: the same mechanism in Pinocchio; for kernels without terms of the joints.
        quantities: which of :data:`REFERENCES`; all by default.
    """
    import numpy as np

    from dalembert.algorithms.joint_forces import joint_forces

    terms = joint_forces(dynamics.mechanism, dynamics.include)
    rng = np.random.default_rng(seed)
    chosen = [dynamics.mechanism.random_state(rng) for _ in range(states)]
    found = []
    for quantity in quantities or REFERENCES:
        routes: dict[str, Callable[..., Any]] = {KERNEL: dynamics.kernel(quantity)}
        if peer is not None:
            routes[peer.name] = getattr(peer, quantity)
        for name, route in routes.items():
            found.append(_compared(dynamics.mechanism, terms, quantity, name, route, chosen))
    return found


def _compared(
    mechanism: Mechanism,
    terms: JointForces,
    quantity: str,
    name: str,
    route: Callable[..., Any],
    states: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> RouteComparison:
    import numpy as np

    from dalembert.algorithms.inertia_matrix.walker_orin import walker_orin
    from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler

    worst, tree = 0.0, mechanism.tree
    for q, v, a in states:
        try:
            with np.errstate(all="ignore"):
                value = np.asarray(route(*((q,) if quantity == "mass_matrix" else (q, v, a))), dtype=float)
        except UnsupportedError as error:
            return RouteComparison(quantity, name, None, str(error))
        M = walker_orin(tree, q)
        if terms.armature is not None:
            M = M + np.diag(terms.armature)
        if not np.isfinite(value).all() and _is_singular(M):
            return RouteComparison(quantity, name, None, "the inertia matrix is singular, so there is no answer")
        if quantity == "inverse_dynamics":
            expected = newton_euler(tree, q, v, a) + terms.of(v, a)
            difference = relative(value - expected, expected)
        elif quantity == "mass_matrix":
            difference = relative(value - M, M)
        else:
            bias = newton_euler(tree, q, v, np.zeros_like(v)) + terms.resistance(v)
            needed = newton_euler(tree, q, v, value) + terms.of(v, value)
            difference = relative(needed - a, np.abs(M) @ np.abs(value) + np.abs(bias))
        if difference != difference:
            return RouteComparison(quantity, name, difference)
        worst = max(worst, difference)
    return RouteComparison(quantity, name, worst)


def _is_singular(M: np.ndarray) -> bool:
    import numpy as np

    size = np.sqrt(np.maximum(M.diagonal(), 1e-300))
    return bool(np.linalg.matrix_rank(M / np.outer(size, size)) < len(M))


def relative(difference: np.ndarray, scale: np.ndarray) -> float:
    """Largest entry of a difference over the largest entry of what it is measured against; zero if nothing differs.

    Args:
        difference: of two arrays.
        scale: an array of the size that counts as one.
    """
    import numpy as np

    most = float(np.abs(difference).max(initial=0.0))
    return most / max(float(np.abs(scale).max(initial=0.0)), 1e-300) if most else most


# ------------------------------------------------------------------------------------------ the same robot in Pinocchio


def find_peer(mechanism: Mechanism, source: Path | None, base: str | None) -> tuple[PinocchioPeer | None, str]:
    """The mechanism in Pinocchio, or None and why not.

    A URDF file is read by Pinocchio itself, so that both readers are compared too; other models are handed over as the
    URDF we write.

    Args:
        mechanism: the mechanism; its symbols must have values.
        source: the file it was read from, if any.
        base: ``"free"`` if it was made to float.
    """
    try:
        import pinocchio
    except ImportError:
        return None, "Pinocchio is not installed: pip install 'dalembert[peers]'"
    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.formats.registry import format_of

    try:
        root = [pinocchio.JointModelFreeFlyer()] if base == "free" else []
        if source is not None and (format := format_of(source)) and format.name == "URDF":
            model = pinocchio.buildModelFromUrdf(str(source), *root)
        else:
            from dalembert.formats import write_urdf

            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # gravity has no place in URDF, but one below
                model = pinocchio.buildModelFromXML(write_urdf(mechanism))
        model.gravity.linear = mechanism.gravity
        return PinocchioPeer(mechanism, model), ""
    except DalembertError as error:
        return None, f"no comparison with Pinocchio: {error.message}"
    except (RuntimeError, ValueError) as error:  # what Pinocchio raises
        return None, f"Pinocchio cannot read this model: {error}"

"""Everything about constrained mechanisms that there is a kernel for, also what depends on the method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.constraints.linearization import derivatives
from dalembert.constraints.quantities import QUANTITIES, Quantity, Setting, dynamics
from dalembert.constraints.reactions import places, reactions

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained


def catalogue(system: Constrained) -> dict[str, Quantity]:
    """Every quantity by name.

    Args:
        system: the constrained mechanism; its rows are chosen when a kernel that needs them is traced.
    """
    state: tuple[str, ...] = ("q", "v", "tau", "t")

    def both(s: Setting, q: Any, v: Any, tau: Any, t: Any) -> Any:
        return dynamics(s, q, v, tau, t, system.method, system.pivots, system.regularisation, True)

    def accelerations(s: Setting, q: Any, v: Any, tau: Any, t: Any) -> Any:
        return dynamics(s, q, v, tau, t, system.method, system.pivots, system.regularisation, False)[0]

    square, oblong = ("n", "n"), ("m", "n")
    known: tuple[str, ...] = ("q", "v", "a", "multipliers", "t")
    return {
        "forward_dynamics": Quantity(state, {"a": ("n",)}, accelerations, "Accelerations under the constraints."),
        "multipliers": Quantity(
            state, {"a": ("n",), "multipliers": ("m",)}, both, "Accelerations, and the multipliers of every row."
        ),
        "reactions": Quantity(
            known, {"joints": ("joints", 6), "loops": ("constraints", 6)}, reactions,
            "Wrenches of joints and constraints; see dalembert.constraints.reactions.reactions.",
        ),
        "places": Quantity(
            ("q",),
            {
                "joint_axes": ("joints", 3, 3), "joint_points": ("joints", 3),
                "loop_axes": ("constraints", 3, 3), "loop_points": ("constraints", 3),
            },
            places, "Where reactions act; see dalembert.constraints.reactions.places.",
        ),
        "linearization": Quantity(
            known,
            {"e_q": square, "e_v": square, "g_q": oblong, "g_v": oblong, "r_q": oblong, "G": oblong, "M": square},
            derivatives, "Derivatives of the equations; see dalembert.constraints.linearization.derivatives.",
        ),
        **QUANTITIES,
    }  # fmt: skip

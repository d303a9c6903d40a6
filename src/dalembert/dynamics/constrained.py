"""What constraints and force elements do: quantities that only they have, and those of the tree in which they enter.

Everything that is in the mechanism acts. Accelerations satisfy the constraints; generalised forces of inverse dynamics
are those of drives and constraints together, so force elements are subtracted from what the tree alone would need.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms import energy
from dalembert.algorithms.forward_dynamics.factor_and_solve import with_armature
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.constraints.closure import facing
from dalembert.constraints.pivots import Pivots
from dalembert.constraints.rows import Rows
from dalembert.constraints.scaling import row_units
from dalembert.constraints.state import State
from dalembert.constraints.straight_line import by_multipliers, by_projection, satisfied
from dalembert.dynamics import derived, tree
from dalembert.dynamics.linearization import derivatives
from dalembert.dynamics.quantity import Quantity, Setting
from dalembert.dynamics.reactions import places, reactions
from dalembert.errors import UnsupportedError
from dalembert.kinematics.manifold import tangent_map


def positions(s: Setting, q: Array, t: Scalar) -> tuple[Array, Array]:
    """phi and G."""
    rows = s.constraints.at(s.state(q, None, t))
    return rows.phi, rows.G


def closing(s: Setting, q: Array, t: Scalar) -> tuple[Array, Array]:
    """phi and G for assembly, whose residuals do not vanish after half a turn."""
    return s.constraints.closing(s.state(q, None, t))


def closure_scale(s: Setting, q: Array) -> tuple[Array, Array]:
    """Sizes of the rows of loops, one for others; and cosines that are negative after half a turn."""
    state, m = s.state(q), s.mechanism
    units = row_units(m, s.constraints, [1.0] * s.constraints.count)
    return arrays.asarray(units), arrays.asarray([facing(state, item) for item in m.constraints])


def constraints(s: Setting, q: Array, v: Array, t: Scalar) -> tuple[Array, Array, Array, Array]:
    """phi, G, rate and gamma."""
    rows = s.constraints.at(s.state(q, v, t))
    return rows.phi, rows.G, rows.rate, _stabilised(s, rows, v)


def element_forces(s: Setting, q: Array, v: Array, t: Scalar) -> Array:
    """Generalised forces of the force elements, one row each."""
    found = s.forces.each(s.state(q, v, t))
    return arrays.stack([found[name][0] for name in s.forces.names]).reshape(len(s.forces.names), s.mechanism.nv)


def applied(s: Setting, q: Array, v: Array, tau: Array, state: State) -> Array:
    """f: generalised forces, force elements and joint resistance minus Coriolis, centrifugal and gravity terms."""
    bias = augmented_links(s.tree, q, v, arrays.zeros(s.nv), s.loads)
    return tau + s.forces.generalised(state) - bias - s.joints.resistance(v)


def mass_matrix(s: Setting, q: Array) -> Array:
    """M with rotor inertias, if they are included."""
    return with_armature(two_sided(s.tree, q), s.joints.armature)


def terms(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> tuple[Array, Array, Array, Array]:
    """M, f, G and gamma."""
    state = s.state(q, v, t)
    rows = s.constraints.at(state)
    return mass_matrix(s, q), applied(s, q, v, tau, state), rows.G, _stabilised(s, rows, v)


def dynamics(
    s: Setting,
    q: Array,
    v: Array,
    tau: Array,
    t: Scalar,
    method: str,
    pivots: Pivots,
    regularisation: Scalar,
    multipliers: bool,
) -> tuple[Array, Array]:
    """Accelerations, and the multipliers of all rows: zero for rows that are left out as redundant.

    With multipliers, redundant rows are left out if they follow from the others everywhere in the same way; otherwise
    they all are kept, solved with the rank they had. Projection leaves them out in any case. Where accelerations
    violate one that depends on time, or that projection leaves out though it follows in changing ways, all results are
    NaN.

    Args:
        tau: generalised forces of the drives.
        method: ``"multipliers"`` or ``"projection"``.
        pivots: independent rows and velocities.
        regularisation: for multipliers; see :mod:`dalembert.constraints.straight_line`.
        multipliers: whether they are wanted.
    """
    M, f, G, gamma = terms(s, q, v, tau, t)
    if method == "projection":
        kept = list(pivots.rows)
        a, lam = by_projection(M, G, f, gamma, pivots, multipliers)
    else:
        kept = list(pivots.together)
        parents = s.tree.velocity_parents
        sizes = pivots.of_together(pivots.mobilities)
        a, lam = by_multipliers(
            M, parents, G[kept], f, gamma[kept], regularisation, pivots.rank, sizes, pivots.kept_together
        )
    # Rows that were redundant where they were chosen begin to matter where the kept ones lose their rank, or later.
    lost = pivots.varying and method == "projection"
    doubtful = [k for k in pivots.redundant if k not in pivots.empty and (lost or s.constraints.timed[k])]
    if doubtful:
        doubt = satisfied(G[doubtful], a, gamma[doubtful], in_time=not lost)
        a, lam = (arrays.asarray([x + doubt for x in part]) for part in (a, lam))
    every: list[Any] = [0] * len(G)
    for row, x in zip(kept, lam):
        every[row] = x
    return a, arrays.asarray(every)


def total_energy(s: Setting, q: Array, v: Array, t: Scalar) -> Scalar:
    """Kinetic energy, that of the rotors too if they count, weight in uniform gravity, springs and attractions."""
    T, V = energy.kinetic_energy(s.tree, q, v), energy.potential_energy(s.mechanism.tree, q)
    if s.joints.armature is not None:
        T = T + sum(rotor * rate * rate for rotor, rate in zip(s.joints.armature, v)) / 2
    return T + V + s.forces.energy(s.state(q, v, t))


def _stabilised(s: Setting, rows: Rows, v: Array) -> Array:
    """gamma - 2 w (G v - rate) - w^2 phi (Baumgarte 1972, critically damped)."""
    assert rows.gamma is not None
    w = s.solver.stabilisation
    if scalar.is_zero(w):
        return rows.gamma
    return rows.gamma - 2 * w * (product(rows.G, v) - rows.rate) - w * w * rows.phi


def _solved(s: Setting, q: Array, v: Array, tau: Array, t: Scalar, multipliers: bool) -> tuple[Array, Array]:
    assert s.solver.pivots is not None
    return dynamics(s, q, v, tau, t, s.solver.method, s.solver.pivots(), s.solver.regularisation, multipliers)


def multipliers(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> tuple[Array, Array]:
    """Accelerations and multipliers."""
    return _solved(s, q, v, tau, t, True)


def forward_dynamics(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> Array:
    """Accelerations under the constraints."""
    return _solved(s, q, v, tau, t, False)[0]


def forward_dynamics_derivatives(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> tuple[Array, ...]:
    """By differentiating the program of the accelerations."""
    a = forward_dynamics(s, q, v, tau, t)
    unit = arrays.identity(s.nv)
    return _slope(s, a, q, tangent_map(s.tree, q)), _slope(s, a, v, unit), _slope(s, a, tau, unit)


def forward_dynamics_variation(
    s: Setting, q: Array, v: Array, tau: Array, dq: Array, dv: Array, dtau: Array, t: Scalar
) -> tuple[Array, Array]:
    """By differentiating the program of the accelerations along one direction."""
    a = forward_dynamics(s, q, v, tau, t)
    direction = np.concatenate([product(tangent_map(s.tree, q), dq), dv, dtau])
    return a, _slope(s, a, np.concatenate([q, v, tau]), direction)


def inverse_dynamics_variation(
    s: Setting, q: Array, v: Array, a: Array, dq: Array, dv: Array, da: Array, t: Scalar
) -> tuple[Array, Array]:
    tau, dtau = derived.inverse_dynamics_variation(s, q, v, a, dq, dv, da)
    push = _pushed(s, q, v, t)
    direction = np.concatenate([product(tangent_map(s.tree, q), dq), dv])
    return tau - push, dtau - _slope(s, push, np.concatenate([q, v]), direction)


def linearize(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> tuple[Array, Array]:
    if s.constraints.count:
        raise UnsupportedError(
            f"{s.mechanism.name!r} has constraints, and its state matrices are those of independent coordinates: "
            "linear_model(q, v, tau) has them"
        )
    return tree.state_matrices(s, v, forward_dynamics_derivatives(s, q, v, tau, t))


def _slope(s: Setting, values: Array, variables: Array, directions: Array) -> Array:
    if s.derivative is None:
        raise UnsupportedError("derivatives of force elements and constraints are made of traced scalars; use Dynamics")
    return s.derivative(values, variables, directions)


def _pushed(s: Setting, q: Array, v: Array, t: Scalar) -> Array:
    return s.forces.generalised(s.state(q, v, t))


def _element_slopes(s: Setting, q: Array, v: Array, t: Scalar) -> tuple[Array, Array]:
    push = _pushed(s, q, v, t)
    return _slope(s, push, q, tangent_map(s.tree, q)), _slope(s, push, v, arrays.identity(s.nv))


def inverse_dynamics(s: Setting, q: Array, v: Array, a: Array, t: Scalar) -> Array:
    return tree.inverse_dynamics(s, q, v, a) - _pushed(s, q, v, t)


def bias(s: Setting, q: Array, v: Array, t: Scalar) -> Array:
    return tree.bias(s, q, v) - _pushed(s, q, v, t)


def inverse_dynamics_derivatives(s: Setting, q: Array, v: Array, a: Array, t: Scalar) -> tuple[Array, Array]:
    P, V = tree.inverse_dynamics_derivatives(s, q, v, a)
    by_q, by_v = _element_slopes(s, q, v, t)
    return P - by_q, V - by_v


def sensitivities(s: Setting, q: Array, v: Array, a: Array, t: Scalar) -> tuple[Array, ...]:
    tau, D, V, P = tree.sensitivities(s, q, v, a)
    by_q, by_v = _element_slopes(s, q, v, t)
    return tau - _pushed(s, q, v, t), D, V - by_v, P - by_q


def inverse_dynamics_hessian(s: Setting, q: Array, v: Array, a: Array, t: Scalar) -> tuple[Array, ...]:
    by_qq, by_vq, by_vv, by_aq = derived.inverse_dynamics_hessian(s, q, v, a)
    by_q, by_v = _element_slopes(s, q, v, t)
    along, unit = tangent_map(s.tree, q), arrays.identity(s.nv)
    return by_qq - _slope(s, by_q, q, along), by_vq - _slope(s, by_v, q, along), by_vv - _slope(s, by_v, v, unit), by_aq


def cartesian_inverse_dynamics(s: Setting, q: Array, v: Array, xdd: Array, t: Scalar) -> Array:
    return derived.cartesian_inverse_dynamics(s, q, v, xdd) - _pushed(s, q, v, t)


def _not_sparse(s: Setting, *state: Any) -> Any:
    raise UnsupportedError(
        f"force elements of {s.mechanism.name!r} couple joints that the tree does not: there are no structural zeros. "
        "inverse_dynamics_derivatives has all entries"
    )


_SQUARE, _OBLONG = ("n", "n"), ("rows", "n")
_STATE = ("q", "v", "tau", "t")
_KNOWN = ("q", "v", "a", "multipliers", "t")

CONSTRAINED: dict[str, Quantity] = {
    "positions": Quantity(("q", "t"), {"phi": ("rows",), "G": _OBLONG}, positions,
        "Residuals of positions (zero for rows on velocities only) and the Jacobian of all rows."),
    "closing": Quantity(("q", "t"), {"phi": ("rows",), "G": _OBLONG}, closing,
        "Residuals of positions for assembly, 2 sin(x/2) in the place of sin(x), and their Jacobian."),
    "closure_scale": Quantity(("q",), {"units": ("rows",), "facing": ("constraints",)}, closure_scale,
        "Sizes of rows of loops, one for others; cosines that are negative where closures are half a turn apart."),
    "constraints": Quantity(
        ("q", "v", "t"), {"phi": ("rows",), "G": _OBLONG, "rate": ("rows",), "gamma": ("rows",)}, constraints,
        "phi = 0, G v = rate, G a = gamma."),
    "element_forces": Quantity(("q", "v", "t"), {"forces": ("elements", "n")}, element_forces,
        "Generalised forces of the force elements, one row each, with the sign of tau."),
    "terms": Quantity(
        _STATE, {"M": _SQUARE, "f": ("n",), "G": _OBLONG, "gamma": ("rows",)}, terms,
        "M a = f + G^T multipliers, G a = gamma.", loads=True),
    "multipliers": Quantity(
        _STATE, {"a": ("n",), "multipliers": ("rows",)}, multipliers,
        "Accelerations under the constraints, and the multipliers of every row.", loads=True, solves=True),
    "energy": Quantity(("q", "v", "t"), {"E": ()}, total_energy,
        "Kinetic energy (of included rotors too), weight, springs and attractions, J."),
    "reactions": Quantity(
        _KNOWN, {"joints": ("joints", 6), "loops": ("constraints", 6)}, reactions,
        "Wrenches of joints and constraints; see dalembert.dynamics.reactions.reactions.", loads=True),
    "places": Quantity(
        ("q",),
        {"joint_axes": ("joints", 3, 3), "joint_points": ("joints", 3),
         "loop_axes": ("constraints", 3, 3), "loop_points": ("constraints", 3)},
        places, "Where reactions act; see dalembert.dynamics.reactions.places."),
    "linearization": Quantity(
        _KNOWN,
        {"e_q": _SQUARE, "e_v": _SQUARE, "g_q": _OBLONG, "g_v": _OBLONG, "r_q": _OBLONG, "G": _OBLONG, "M": _SQUARE},
        derivatives, "Derivatives of the equations; see dalembert.dynamics.linearization.derivatives.", loads=True),
}  # fmt: skip
"""Quantities of constraints and force elements, by name."""


def _with_elements(quantity: Quantity, compute: Any) -> Quantity:
    doc = f"{quantity.doc} Force elements act: forces are those of drives and constraints together."
    return replace(quantity, inputs=(*quantity.inputs, "t"), compute=compute, doc=doc)


ELEMENTS_ENTER: dict[str, Quantity] = {
    name: _with_elements({**tree.BASIC, **derived.DERIVED, **derived.TASK}[name], compute)
    for name, compute in {
        "inverse_dynamics": inverse_dynamics,
        "bias": bias,
        "inverse_dynamics_derivatives": inverse_dynamics_derivatives,
        "inverse_dynamics_derivatives_nonzeros": _not_sparse,
        "inverse_dynamics_variation": inverse_dynamics_variation,
        "sensitivities": sensitivities,
        "inverse_dynamics_hessian": inverse_dynamics_hessian,
        "cartesian_inverse_dynamics": cartesian_inverse_dynamics,
    }.items()
}
"""In the place of those of the tree, where force elements act."""

ROWS_ENTER: dict[str, Quantity] = {
    "forward_dynamics": Quantity(
        _STATE, {"a": ("n",)}, forward_dynamics,
        "Accelerations under constraints and force elements.", loads=True, solves=True),
    "forward_dynamics_derivatives": Quantity(
        _STATE, tree.BASIC["forward_dynamics_derivatives"].outputs, forward_dynamics_derivatives,
        "First derivatives of forward dynamics under constraints and force elements; dq along tangent vectors.",
        loads=True, solves=True),
    "forward_dynamics_variation": Quantity(
        (*_STATE[:3], "dq", "dv", "dtau", "t"), {"a": ("n",), "da": ("n",)}, forward_dynamics_variation,
        "Forward dynamics under constraints and force elements, and its change along one change of q, v and tau.",
        loads=True, solves=True),
    "linearize": Quantity(
        _STATE, tree.BASIC["linearize"].outputs, linearize,
        "State-space matrices of x = (dq, dv): xdot = A x + B dtau; without constraints only.", loads=True,
        solves=True),
}  # fmt: skip
"""In the place of those of the tree, where constraints hold or force elements act."""

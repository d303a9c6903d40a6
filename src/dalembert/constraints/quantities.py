"""What can be computed of a constrained mechanism, as functions over any scalar; each is traced once per mechanism."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms import energy
from dalembert.algorithms.economy import economical
from dalembert.algorithms.forward_dynamics.factor_and_solve import with_armature
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.joint_forces import JointForces, joint_forces
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.pivots import Pivots
from dalembert.constraints.rows import ConstraintSet, Rows
from dalembert.constraints.state import State
from dalembert.constraints.straight_line import by_multipliers, by_projection, satisfied
from dalembert.model import Mechanism, Tree


@dataclass(frozen=True, eq=False)
class Setting:
    """A constrained mechanism ready for evaluation over one kind of scalar.

    Args:
        mechanism: the mechanism; its symbols replaced by scalars of that kind.
        constraints: its constraints.
        forces: the force elements that act.
        include: which of armature, damping and friction of the joints enter.
        stabilisation: frequency with which violations of the constraints are made to decay, rad/s; 0 for none.
        parameters: the scalars that have replaced the symbols; None if nothing was replaced.
    """

    mechanism: Mechanism
    constraints: ConstraintSet
    forces: ForceSet
    include: tuple[str, ...] = ()
    stabilisation: Scalar = 0
    parameters: Any = None

    @cached_property
    def tree(self) -> Tree:
        """The tree in economical frames with regrouped masses."""
        return economical(self.mechanism.tree)

    @cached_property
    def joints(self) -> JointForces:
        """Rotor inertia, damping and friction of the joints."""
        return joint_forces(self.mechanism, self.include)

    def state(self, q: Array, v: Array | None = None, t: Scalar = 0) -> State:
        """The mechanism at a state."""
        return State(self.mechanism, q, v, t, self.tree, self.parameters)


def positions(s: Setting, q: Array, t: Scalar) -> tuple[Array, Array]:
    """phi and G."""
    rows = s.constraints.at(s.state(q, None, t))
    return rows.phi, rows.G


def closing(s: Setting, q: Array, t: Scalar) -> tuple[Array, Array]:
    """phi and G for assembly, whose residuals do not vanish after half a turn."""
    return s.constraints.closing(s.state(q, None, t))


def constraints(s: Setting, q: Array, v: Array, t: Scalar) -> tuple[Array, Array, Array, Array]:
    """phi, G, rate and gamma."""
    rows = s.constraints.at(s.state(q, v, t))
    return rows.phi, rows.G, rows.rate, _stabilised(s, rows, v)


def forces(s: Setting, q: Array, v: Array, t: Scalar) -> Array:
    """Generalised forces of the chosen force elements, one row each."""
    found = s.forces.each(s.state(q, v, t))
    return arrays.stack([found[name][0] for name in s.forces.names]).reshape(len(s.forces.names), s.mechanism.nv)


def applied(s: Setting, q: Array, v: Array, tau: Array, state: State) -> Array:
    """f: generalised forces, force elements and joint resistance minus Coriolis, centrifugal and gravity terms."""
    bias = augmented_links(s.tree, q, v, arrays.zeros(s.mechanism.nv))
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
        s: the setting.
        q: positions.
        v: velocities.
        tau: generalised forces of the drives.
        t: time.
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
    if scalar.is_zero(s.stabilisation):
        return rows.gamma
    w = s.stabilisation
    return rows.gamma - 2 * w * (product(rows.G, v) - rows.rate) - w * w * rows.phi


@dataclass(frozen=True)
class Quantity:
    """How to compute one quantity.

    Args:
        inputs: names among q, v, tau, t.
        outputs: name -> shape, with ``"n"`` for nv, ``"m"`` for the number of rows, ``"k"`` for that of forces.
        compute: function of a setting and the inputs.
        doc: one sentence.
    """

    inputs: tuple[str, ...]
    outputs: dict[str, tuple[Any, ...]]
    compute: Callable[..., Any]
    doc: str


QUANTITIES: dict[str, Quantity] = {
    "positions": Quantity(("q", "t"), {"phi": ("m",), "G": ("m", "n")}, positions,
        "Residuals of positions (zero for rows on velocities only) and the Jacobian of all rows."),
    "closing": Quantity(("q", "t"), {"phi": ("m",), "G": ("m", "n")}, closing,
        "Residuals of positions for assembly, 2 sin(x/2) in the place of sin(x), and their Jacobian."),
    "constraints": Quantity(
        ("q", "v", "t"), {"phi": ("m",), "G": ("m", "n"), "rate": ("m",), "gamma": ("m",)}, constraints,
        "phi = 0, G v = rate, G a = gamma."),
    "forces": Quantity(("q", "v", "t"), {"forces": ("k", "n")}, forces,
        "Generalised forces of the chosen force elements, one row each."),
    "terms": Quantity(
        ("q", "v", "tau", "t"), {"M": ("n", "n"), "f": ("n",), "G": ("m", "n"), "gamma": ("m",)}, terms,
        "M a = f + G^T multipliers, G a = gamma."),
    "mass_matrix": Quantity(("q",), {"M": ("n", "n")}, mass_matrix, "Inertia matrix of the tree."),
    "energy": Quantity(("q", "v", "t"), {"E": ()}, total_energy,
        "Kinetic energy (of included rotors too), weight, springs and attractions, J."),
}  # fmt: skip
"""Every quantity that needs no choice of method, by name."""

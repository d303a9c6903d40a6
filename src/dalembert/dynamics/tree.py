"""Plain dynamics and kinematics: forces, accelerations, matrices, energies, poses and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dalembert import algorithms, kinematics
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algorithms import energy
from dalembert.algorithms.economy.cheapest import CANDIDATES, cheapest
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve, with_armature
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_links
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.selection import CONTEST_VELOCITIES, MANY_VELOCITIES, Combination, select_forward_dynamics
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.algorithms.triangular import factor
from dalembert.algorithms.weight import weight
from dalembert.dynamics.quantity import Quantity, Setting, direct, nonzeros
from dalembert.kinematics.manifold import tangent_rate


def inverse_dynamics(s: Setting, q: Array, v: Array, a: Array) -> Array:
    return force_algorithm(s)(s.tree, q, v, a, s.loads) + s.joints.of(v, a)


def force_algorithm(s: Setting) -> Callable[..., Array]:
    """The algorithm of inverse dynamics that was asked for, or the one that promises to be the shortest."""
    return INVERSE_DYNAMICS[s.options["algorithm"]] if "algorithm" in s.options else cheapest


def bias(s: Setting, q: Array, v: Array) -> Array:
    return force_algorithm(s)(s.tree, q, v, arrays.zeros(s.nv), s.loads) + s.joints.resistance(v)


def gravity(s: Setting, q: Array) -> Array:
    if s.options.get("algorithm", "first-moments") == "first-moments":
        return weight(s.tree, q)
    still = arrays.zeros(s.nv)
    return force_algorithm(s)(s.tree, q, still, still)


def mass_matrix(s: Setting, q: Array) -> Array:
    algorithm = INERTIA_MATRIX[s.options.get("algorithm", "two-sided")]
    return with_armature(algorithm(s.tree, q), s.joints.armature)


def mass_matrix_packed(s: Setting, q: Array) -> Array:
    D = mass_matrix(s, q)
    return arrays.asarray([D[r, c] for r in range(s.nv) for c in range(r + 1)])


def mass_matrix_nonzeros(s: Setting, q: Array) -> Array:
    D = mass_matrix(s, q)
    return arrays.asarray([D[r, c] for r, c in nonzeros(s.mechanism)])


def coriolis(s: Setting, q: Array, v: Array) -> Array:
    return coriolis_matrix(s.tree, q, v)


def forward_dynamics(s: Setting, q: Array, v: Array, tau: Array) -> Array:
    algorithm = _SOLVERS[s.options.get("algorithm") or select_forward_dynamics(s.tree)[0]]
    return algorithm(s.tree, q, v, tau - s.joints.resistance(v), s.loads, s.joints.armature)


def inverse_dynamics_derivatives(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    found = sensitivity(s.tree, q, v, a, s.loads)
    return found.P, with_armature(found.V, s.joints.damping)


def inverse_dynamics_derivatives_nonzeros(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, ...]:
    pairs = nonzeros(s.mechanism, both_halves=True)
    matrices = inverse_dynamics_derivatives(s, q, v, a)
    return tuple(arrays.asarray([X[r, c] for r, c in pairs]) for X in matrices)


def sensitivities(s: Setting, q: Array, v: Array, a: Array) -> tuple[Array, Array, Array, Array]:
    found = sensitivity(s.tree, q, v, a, s.loads)
    D, V = with_armature(found.D, s.joints.armature), with_armature(found.V, s.joints.damping)
    return found.tau + s.joints.of(v, a), D, V, found.P


def forward_dynamics_derivatives(
    s: Setting, q: Array, v: Array, tau: Array, stiffness: Array | None = None
) -> tuple[Array, Array, Array]:
    """d a = -D^-1 P dq - D^-1 V dv + D^-1 dtau (7.2.2).

    Args:
        stiffness: how tau changes with q by itself, (n, n).
    """
    D = with_armature(generalized_links(s.tree, q), s.joints.armature)
    factors = factor(D, s.tree.velocity_parents)
    a = factors.solve(tau - bias(s, q, v))
    found = sensitivity(s.tree, q, v, a, s.loads)  # computes D in the same way
    V = with_armature(found.V, s.joints.damping)
    return factors.slopes(-found.P if stiffness is None else stiffness - found.P, -V)


def linearize(s: Setting, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
    """x = (dq, dv): A = [[dqdot/dq, 1], [-D^-1 P, -D^-1 V]], B = [0; D^-1] (7.2.2)."""
    return state_matrices(s, v, forward_dynamics_derivatives(s, q, v, tau))


def state_matrices(s: Setting, v: Array, slopes: tuple[Array, ...]) -> tuple[Array, Array]:
    """A and B from the derivatives of the accelerations by q, v and tau."""
    dq, dv, dtau = slopes
    n = s.nv
    turning = tangent_rate(s.tree, v)
    A = [[*turning[r], *arrays.identity(n)[r]] for r in range(n)] + [[*dq[r], *dv[r]] for r in range(n)]
    return arrays.asarray(A), arrays.asarray([[0] * n] * n + [[*row] for row in dtau])


def kinetic_energy(s: Setting, q: Array, v: Array) -> Array:
    rotors = s.joints.armature
    spinning = 0 if rotors is None else sum(rotor * rate * rate for rotor, rate in zip(rotors, v)) / 2
    return arrays.asarray(energy.kinetic_energy(s.tree, q, v) + spinning)


def potential_energy(s: Setting, q: Array) -> Array:
    return arrays.asarray(energy.potential_energy(s.mechanism.tree, q))


def pose(s: Setting, q: Array) -> tuple[Array, Array]:
    found = kinematics.pose(s.mechanism, q, **s.options)
    return found.rotation, found.translation


def jacobian(s: Setting, q: Array) -> Array:
    return algorithms.jacobian(s.mechanism, q, **s.options)


def jacobian_rate(s: Setting, q: Array, v: Array) -> Array:
    return algorithms.jacobian_rate(s.mechanism, q, v, **s.options)


def velocity(s: Setting, q: Array, v: Array) -> Array:
    found = kinematics.motion(s.mechanism, q, v, arrays.zeros(s.nv), **s.options)
    return arrays.asarray([*found.linear_velocity, *found.angular_velocity])


def acceleration(s: Setting, q: Array, v: Array, a: Array) -> Array:
    found = kinematics.motion(s.mechanism, q, v, a, **s.options)
    return arrays.asarray([*found.linear_acceleration, *found.angular_acceleration])


_AT = {"frame": ..., "point": (0, 0, 0), "axes": "world"}
_SIX = "[linear; angular]"

FORCE_RIVALS = {
    **dict.fromkeys(CANDIDATES, MANY_VELOCITIES),
    "newton-euler": 4,
    "kane-silver": 4,
    "waters": 2,
    "hollerbach-4x4": 2,
}
INERTIA_RIVALS = dict.fromkeys(("two-sided", "generalized-links", "column-method"), CONTEST_VELOCITIES)
_FACTORING: dict[Combination, Callable[..., Array]] = {
    Combination("factor-and-solve", forces, inertia): partial(
        factor_and_solve, forces=INVERSE_DYNAMICS[forces], inertia=INERTIA_MATRIX[inertia]
    )
    for forces in CANDIDATES
    for inertia in INERTIA_RIVALS
}
_SOLVERS: dict[str, Callable[..., Array]] = {**FORWARD_DYNAMICS, **{str(k): f for k, f in _FACTORING.items()}}
_FORWARD: dict[str, int] = {
    name: MANY_VELOCITIES if "two-sided" in name.parts else CONTEST_VELOCITIES for name in _FACTORING
} | {"articulated-body": MANY_VELOCITIES}

IN_LOOPS = dict.fromkeys(("inverse_dynamics", "bias", "gravity"), "newton-euler-loops")
"""Quantities -> their algorithm with the shortest program, which takes the same step for all joints."""

BASIC: dict[str, Quantity] = {
    "inverse_dynamics": Quantity(
        ("q", "v", "a"), {"tau": ("n",)}, inverse_dynamics,
        "Generalised forces that produce the accelerations a: tau = M a + bias.", loads=True,
        algorithms=INVERSE_DYNAMICS, rivals=FORCE_RIVALS),
    "bias": Quantity(
        ("q", "v"), {"bias": ("n",)}, bias,
        "Generalised forces at zero acceleration: Coriolis, centrifugal, gravity, external wrenches.", loads=True,
        algorithms=INVERSE_DYNAMICS, rivals=FORCE_RIVALS),
    "gravity": Quantity(
        ("q",), {"gravity": ("n",)}, gravity,
        "Generalised forces that hold the mechanism still against its weight; wrenches do not enter.",
        algorithms={"first-moments": weight, **INVERSE_DYNAMICS},
        rivals={"first-moments": MANY_VELOCITIES} | FORCE_RIVALS),
    "mass_matrix": Quantity(
        ("q",), {"M": ("n", "n")}, mass_matrix, "Joint-space inertia matrix, both halves filled.",
        algorithms=INERTIA_MATRIX, rivals=INERTIA_RIVALS),
    "mass_matrix_packed": Quantity(
        ("q",), {"M": ("packed",)}, mass_matrix_packed,
        "Lower half of the inertia matrix, row by row: nv (nv + 1) / 2 numbers.",
        rivals=INERTIA_RIVALS),
    "mass_matrix_nonzeros": Quantity(
        ("q",), {"M": ("nonzeros",)}, mass_matrix_nonzeros,
        "Structural non-zeros of the lower half of the inertia matrix, in the order of mass_matrix_pattern.",
        rivals=INERTIA_RIVALS),
    "coriolis_matrix": Quantity(
        ("q", "v"), {"C": ("n", "n")}, coriolis,
        "C(q, v) with Mdot - 2C skew-symmetric; C v is bias - gravity without wrenches and joint forces."),
    "forward_dynamics": Quantity(
        ("q", "v", "tau"), {"a": ("n",)}, forward_dynamics,
        "Accelerations that the generalised forces tau produce.", loads=True, algorithms=FORWARD_DYNAMICS,
        rivals=_FORWARD),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "v", "a"), {"dtau_dq": ("n", "n"), "dtau_dv": ("n", "n")}, inverse_dynamics_derivatives,
        "P and V of d tau = D da + V dv + P dq; dq along tangent vectors.", loads=True),
    "inverse_dynamics_derivatives_nonzeros": Quantity(
        ("q", "v", "a"), {"dtau_dq": ("all nonzeros",), "dtau_dv": ("all nonzeros",)},
        inverse_dynamics_derivatives_nonzeros,
        "Structural non-zeros of the derivatives of inverse dynamics, in the order of derivatives_pattern.",
        loads=True),
    "sensitivities": Quantity(
        ("q", "v", "a"), {"tau": ("n",), "D": ("n", "n"), "V": ("n", "n"), "P": ("n", "n")}, sensitivities,
        "Inverse dynamics with all its first derivatives: tau, D, V, P.", loads=True),
    "forward_dynamics_derivatives": Quantity(
        ("q", "v", "tau"), {"da_dq": ("n", "n"), "da_dv": ("n", "n"), "da_dtau": ("n", "n")},
        forward_dynamics_derivatives, "First derivatives of forward dynamics; dq along tangent vectors.", loads=True),
    "linearize": Quantity(
        ("q", "v", "tau"), {"A": ("2n", "2n"), "B": ("2n", "n")}, linearize,
        "State-space matrices of x = (dq, dv): xdot = A x + B dtau.", loads=True),
    "kinetic_energy": Quantity(
        ("q", "v"), {"T": ()}, kinetic_energy, "Kinetic energy, J; that of the rotors too if armature is included."),
    "potential_energy": Quantity(
        ("q",), {"V": ()}, potential_energy,
        "Potential energy of weight, J; zero with all mass at the origin. What is fixed to the ground does not count."),
    "center_of_mass": Quantity(
        ("q",), {"c": (3,)}, direct(kinematics.center_of_mass), "Centre of the moving mass, world axes, m."),
    "pose": Quantity(
        ("q",), {"rotation": (3, 3), "position": (3,)}, pose,
        "Rotation (frame to world components) of a frame in the world, and position of its point.",
        options={"frame": ..., "point": (0, 0, 0)}),
    "jacobian": Quantity(
        ("q",), {"J": (6, "n")}, jacobian,
        f"Geometric Jacobian: {_SIX} velocity of a frame's point = J v.", options=_AT),
    "jacobian_rate": Quantity(
        ("q", "v"), {"Jdot": (6, "n")}, jacobian_rate, "Time derivative of the geometric Jacobian.", options=_AT),
    "velocity": Quantity(("q", "v"), {"velocity": (6,)}, velocity, f"{_SIX} velocity of a frame's point.", options=_AT),
    "acceleration": Quantity(
        ("q", "v", "a"), {"acceleration": (6,)}, acceleration,
        f"{_SIX} acceleration of a frame's point, without gravity.", options=_AT),
}  # fmt: skip
"""Quantities of plain dynamics and kinematics."""

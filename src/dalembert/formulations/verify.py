"""Every formulation and algorithm against every other: nothing is believed until two independent routes agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra.arrays import asarray
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS, forward_dynamics
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX, mass_matrix
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS, inverse_dynamics
from dalembert.algorithms.joint_forces import TERMS
from dalembert.constraints.forces import ForceSet
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.formulations.agreement import Agreement, AgreementRow
from dalembert.formulations.contact_laws import contact_rows
from dalembert.formulations.derive import derive, positions_of
from dalembert.formulations.equations import Equations
from dalembert.formulations.laws import constraint_rows, inertia_rows, motion_rows, sensitivity_rows
from dalembert.formulations.load_laws import force_rows, joint_rows, terms_of
from dalembert.model import Mechanism
from dalembert.model.checks import expect_names, expect_real, expect_whole
from dalembert.model.parameters import substitute

METHODS = ("newton-euler", "lagrange", "kane", "kronecker")
CUBIC, QUARTIC = 16, 10
"""Degrees of freedom beyond which routes that cost n^3 expressions, or n^4 operations, are left out."""

JOINT_TERMS = ", joint terms"
"""What the names of quantities end in where armature, damping and friction of the joints are included."""


def verify(
    mechanism: Mechanism,
    states: int = 4,
    tolerance: float = 1e-10,
    *,
    seed: int = 0,
    methods: Sequence[str] | None = None,
    elements: Sequence[str] | str = "all",
    include: Sequence[str] | None = None,
    q: Any = None,
) -> Agreement:
    """Compare all formulations and algorithms at random states, and check the laws of mechanics.

    Rows: mass matrix, Coriolis forces, gravity, inverse and forward dynamics by every route; symmetry and definiteness
    of M; power balance; skew symmetry of Mdot - 2C; the sensitivities D, V, P against the complex step; if there are
    force elements, each of them by its kernel, by virtual power, from its energy, and in every formulation; if there
    are constraints, the freedoms they leave, and their elimination against multipliers, Udwadia and Kalaba's way and
    compiled kernels, with all force elements acting; if there are contacts, their rows against the motions of the
    bodies, and momentum, Signorini's and Coulomb's laws and the loss of energy in a step, compliant ones against their
    energy; and, if joints have armature, damping or friction, all
    formulations once more with these included, and joint by joint (algorithms of inverse dynamics and the inertia
    matrix do not contain them). Symbols get random positive values. Constraints that cannot be assembled are no
    agreement; where symbols are left, which other values may allow, they are left out.

    Args:
        mechanism: the mechanism.
        states: number of random states.
        tolerance: allowed relative error; of constrained motion a thousand times it, because closing loops and solving
            for multipliers cost digits, and of forward dynamics times the condition of the inertia matrix. Every row of
            the result has its own.
        seed: of the random numbers.
        methods: formulations to compare; by default all that the mechanism admits and its size permits.
        elements: names of the force elements that act, or ``"all"``.
        include: which of ``armature``, ``damping`` and ``friction`` are compared; by default all that the joints have.
        q: positions, nq numbers or by joint name, around which constrained motion is compared, and Kane's reference
            where assembly modes differ in mobility; by default around random ones of the mobility that Kane's equations
            are for, or around the neutral position where none of these leads to such an assembly.
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(
            f"verify compares what can be computed of a Mechanism, got {type(mechanism).__name__}; bodies given by "
            "formulas can be derived by several methods and evaluated"
        )
    acting = ForceSet(mechanism, elements).names
    if len(acting) < len(mechanism.forces):
        mechanism = mechanism.replace(forces=[item for item in mechanism.forces if item.name in acting])
    states, tolerance = expect_whole(states, "verify, states", 1), expect_real(tolerance, "verify, tolerance", 0)
    if mechanism.nv == 0:
        raise ArgumentError(f"{mechanism.name!r} has no degree of freedom; there is nothing to compare")
    home = _home(mechanism, q)
    rng = np.random.default_rng(expect_whole(seed, "verify, seed", high=2**64))
    drawn = {symbol.name: float(rng.uniform(0.5, 1.5)) for symbol in mechanism.symbols}
    values = {symbol: drawn[symbol.name] for symbol in mechanism.symbols}  # names may be those of inputs: a charge q
    numeric = substitute(mechanism.replace(strict=False) if values else mechanism, values)  # exact constants go, too
    free = mechanism.replace(constraints=())
    in_tree = {symbol: values[symbol] for symbol in free.symbols}  # constraints may have symbols of their own
    q, v, a = numeric.random_state(rng, (states,))
    skipped: list[str] = []
    derived = _derived(mechanism, free, methods, skipped)
    found = _Results(numeric, q, v, a, skipped)
    for name, equations in derived.items():
        found.add_equations(f"derived: {name}", equations, in_tree)
    found.add_algorithms()
    rows = [*found.rows(tolerance)]
    rows += inertia_rows(numeric, q, tolerance, skipped)
    rows += motion_rows(numeric, derived, in_tree, (q, v, a), tolerance, skipped, CUBIC)
    rows += sensitivity_rows(numeric, (q[0], v[0], a[0]), tolerance)
    if mechanism.forces:
        rows += force_rows(numeric, derived, in_tree, (q, v), tolerance)
    if mechanism.constraints:
        rows += constraint_rows(mechanism, derived, values, states, tolerance, skipped, "all", home=home)
    if terms := _terms(mechanism, include):
        omitted: list[str] = []
        derived = _derived(mechanism, free, methods, omitted, (), terms)
        more = joint_rows(numeric, derived, in_tree, (q, v, a), tolerance)
        if "armature" in terms:
            more += motion_rows(numeric, derived, in_tree, (q, v, a), tolerance, omitted, CUBIC)
        if mechanism.constraints:
            more += constraint_rows(mechanism, derived, values, states, tolerance, omitted, (), terms, home)
        rows += [replace(row, quantity=row.quantity + JOINT_TERMS) for row in more]
        skipped += [reason for reason in omitted if reason not in skipped]
    if mechanism.contacts:
        rows += contact_rows(numeric, q, v, tolerance, skipped)
    return Agreement(mechanism.name, states, tuple(rows), tuple(skipped))


def _home(mechanism: Mechanism, q: Any) -> np.ndarray | None:
    if q is None:
        return None
    if not mechanism.constraints:
        raise ArgumentError(f"verify, q: {mechanism.name!r} has no constraints that positions would have to satisfy")
    return positions_of(mechanism, q, "verify, q")


def _terms(mechanism: Mechanism, include: Sequence[str] | None) -> tuple[str, ...]:
    """Terms of the joints that are compared: those that some joint has, and that are asked for."""
    if include is None:
        return terms_of(mechanism)
    if unknown := [name for name in expect_names(include, "include") if name not in TERMS]:
        raise ArgumentError(f"{{setting}}: choose among {', '.join(TERMS)}", argument="include", value=unknown)
    return tuple(term for term in terms_of(mechanism) if term in include)


def _derived(
    mechanism: Mechanism,
    free: Mechanism,
    methods: Sequence[str] | None,
    skipped: list[str],
    elements: Sequence[str] | str = "all",
    include: Sequence[str] = (),
) -> dict[str, Equations]:
    chosen = METHODS if methods is None else expect_names(methods, "verify, methods")
    derived = {}
    for method in chosen:
        if methods is None and method == "kronecker" and mechanism.nv > CUBIC:
            skipped.append(f"kronecker: {mechanism.nv}^3 derivatives of M; ask for it by methods=[...]")
            continue
        try:
            subject = mechanism if method in ("lagrange", "newton-euler") else free
            derived[method] = derive(subject, method, elements=elements, include=include)
        except UnsupportedError as error:
            skipped.append(f"{method}: {error}")
    return derived


class _Results:
    """The same quantities by many routes: name -> route -> array over states."""

    def __init__(self, mechanism: Mechanism, q: Any, v: Any, a: Any, skipped: list[str]):
        self.mechanism, self.q, self.v, self.a, self.skipped = mechanism, q, v, a, skipped
        self.table: dict[str, dict[str, np.ndarray]] = {}

    def add(self, quantity: str, who: str, values: Any) -> None:
        self.table.setdefault(quantity, {})[who] = np.asarray(values, dtype=float)

    def add_equations(self, name: str, equations: Equations, values: Mapping[Any, float]) -> None:
        parts = {"mass_matrix": "mass matrix", "coriolis": "Coriolis forces", "gravity": "gravity forces"}
        numbers = equations.numbers((*parts, "bias"), {"q": self.q, "v": self.v, **values})
        numbers = {part: np.broadcast_to(x, (len(self.q), *equations[part].shape)) for part, x in numbers.items()}
        for part, words in parts.items():
            self.add(words, name, numbers[part])
        tau = np.einsum("sij,sj->si", numbers["mass_matrix"], self.a) + numbers["bias"]
        self.add("inverse dynamics", name, tau)

    def add_algorithms(self) -> None:
        states = list(zip(self.q, self.v, self.a))
        rest = np.zeros_like(self.v[0])
        weightless = self.mechanism.replace(gravity=np.zeros(3))
        for name in INVERSE_DYNAMICS:
            if name == "uicker-kahn" and self.mechanism.nv > QUARTIC:
                self.skipped.append(f"uicker-kahn: {self.mechanism.nv}^4 operations")
                continue
            try:
                tau = [inverse_dynamics(self.mechanism, *state, algorithm=name) for state in states]
            except UnsupportedError as error:
                self.skipped.append(f"{name}: {error}")
                continue
            self.add("inverse dynamics", name, tau)
        self.add("Coriolis forces", "augmented-links", [inverse_dynamics(weightless, q, v, rest) for q, v, _ in states])
        self.add(
            "gravity forces", "augmented-links", [inverse_dynamics(self.mechanism, q, rest, rest) for q, _, _ in states]
        )
        singular = self._is_singular()
        if singular:
            self.skipped.append(
                "forward dynamics and operator-factors: the mass matrix is singular, something has no mass"
            )
        for name in INERTIA_MATRIX:
            if singular and name == "operator-factors":
                continue
            try:
                self.add("mass matrix", name, [mass_matrix(self.mechanism, q, algorithm=name) for q in self.q])
            except (UnsupportedError, SingularityError) as error:
                self.skipped.append(f"{name}: {error}")
        if singular:
            return
        torques = self.table["inverse dynamics"]["augmented-links"]
        sizes = _sizes(self._mass_matrices())  # digits lost by solving with M so measured do not depend on units
        self.add("forward dynamics", "the acceleration given", sizes * self.a)
        for name in FORWARD_DYNAMICS:
            try:
                a = [forward_dynamics(self.mechanism, q, v, t, algorithm=name) for (q, v, _), t in zip(states, torques)]
            except (UnsupportedError, SingularityError, ZeroDivisionError) as error:
                self.skipped.append(f"forward dynamics by {name}: {error}")
                continue
            self.add("forward dynamics", name, sizes * np.asarray(a, dtype=float))

    def _is_singular(self) -> bool:
        M = np.array([mass_matrix(self.mechanism, q) for q in self.q], dtype=float)
        if not _sizes(M).all():
            return True
        return bool(np.abs(np.linalg.eigvalsh(_without_units(M))).min() <= 1e-13)

    def rows(self, tolerance: float) -> list[AgreementRow]:
        rows = []
        total = max(float(np.abs(x).max(initial=0)) for x in self.table["inverse dynamics"].values())
        floors = {"Coriolis forces": 1e-3 * total, "gravity forces": 1e-3 * total}
        if "forward dynamics" in self.table:
            floors["forward dynamics"] = 1e-3 * self._free_acceleration()
        for quantity, results in self.table.items():
            allowed = tolerance * self._conditioning() if quantity == "forward dynamics" else tolerance
            for who, mine in results.items():
                errors = {
                    other: relative_error(mine, theirs, floors.get(quantity, 0))
                    for other, theirs in results.items()
                    if other != who
                }
                if errors:
                    against = max(errors, key=lambda other: (errors[other] != errors[other], errors[other]))
                    rows.append(AgreementRow(quantity, who, against, errors[against], allowed))
        return rows

    def _conditioning(self) -> float:
        """Solving with M loses as many digits as its condition number has."""
        return max(1.0, float(np.linalg.cond(_without_units(self._mass_matrices())).max()) * 1e-4)

    def _free_acceleration(self) -> float:
        """The largest without drives. Small mechanisms fall fast; what torques leave of that is known less exactly."""
        M, torques = self._mass_matrices(), self.table["inverse dynamics"]["augmented-links"]
        return float(np.abs(_sizes(M) * (self.a - np.linalg.solve(M, torques[..., None])[..., 0])).max())

    def _mass_matrices(self) -> np.ndarray:
        return self.table["mass matrix"].get("generalized-links", next(iter(self.table["mass matrix"].values())))


def _sizes(M: np.ndarray) -> np.ndarray:
    """Roots of the diagonal: accelerations times these are comparable, be they of metres, millimetres or radians."""
    return np.asarray(np.sqrt(np.abs(np.einsum("sii->si", M))))


def _without_units(M: np.ndarray) -> np.ndarray:
    sizes = _sizes(M)
    return np.asarray(M / (sizes[:, :, None] * sizes[:, None, :]))


def relative_error(x: np.ndarray, y: np.ndarray, floor: float | np.ndarray = 0.0) -> float:
    """Largest difference over all states, relative to the largest entry of either at that state.

    Args:
        x: array over states.
        y: the same by another route.
        floor: sizes below this, or below this of each state, count as this: cancelling forces cannot be more exact
            than what they consist of.
    """
    x, y = asarray(x).reshape(len(x), -1), asarray(y).reshape(len(y), -1)
    size = np.maximum(np.abs(x).max(axis=1, initial=0), np.abs(y).max(axis=1, initial=0))
    size = np.maximum(size, floor)
    difference = np.abs(x - y).max(axis=1, initial=0)
    return float(np.max(np.where(difference == 0, 0.0, difference / np.where(size > 0, size, 1))))

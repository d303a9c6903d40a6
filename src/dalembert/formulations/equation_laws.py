"""Laws that finished equations must obey, whatever their origin, and routes compared for bodies given by formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations.agreement import Agreement, AgreementRow
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.derive import derive
from dalembert.formulations.equations import Equations
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.verify import relative_error
from dalembert.model import Mechanism
from dalembert.model.parameters import substitute
from dalembert.text.layout import counted
from dalembert.tracing.derivatives import forward

AGREEMENT_TOLERANCE = 1e-10
STATES, CANDIDATES = 4, 256
ROUTES = ("lagrange", "kane", "kronecker")
PARTS = {"mass_matrix": "mass matrix", "coriolis": "Coriolis forces", "gravity": "gravity forces"}
DOCUMENT = "M, c and g of this document"


def checked_by_laws(equations: Equations) -> Agreement:
    """Symmetry of M, Coriolis forces quadratic in the velocities, and the balance of power, at random states.

    Args:
        equations: any; symbols get random positive values.
    """
    skipped: list[str] = []
    rows = tuple(_laws(equations, skipped))
    return Agreement(equations.name, STATES, rows, tuple(skipped))


def checked_by_routes(system: MovingBodies, equations: Equations) -> Agreement:
    """Mass matrix, Coriolis and gravity forces by every route that bodies given by formulas admit, and the laws."""
    skipped: list[str] = []
    rows = list(_laws(equations, skipped))
    derived = {route: derive(system, route, field=equations.gravity_field) for route in ROUTES}
    inputs = _inputs(next(iter(derived.values())), skipped)
    if inputs is None:
        return Agreement(equations.name, STATES, tuple(rows), tuple(dict.fromkeys(skipped)))
    of_what = ", without constraints" if equations.velocity_port == "u" else ""
    # Forces that cancel are no more exact than those of inertia, here at accelerations as large as the velocities.
    inertia = np.abs(_values(derived["kane"].mass_matrix, inputs) * inputs["v"][:, None]).max(axis=(1, 2), initial=0)
    for name, words in PARTS.items():
        found = {route: _values(other[name], inputs) for route, other in derived.items()}
        for who, mine in found.items():
            floor = 0.0 if name == "mass_matrix" else 1e-3 * inertia
            errors = {other: relative_error(mine, theirs, floor) for other, theirs in found.items() if other != who}
            against = max(errors, key=errors.__getitem__)
            rows.append(
                AgreementRow(
                    words + of_what, f"derived: {who}", f"derived: {against}", errors[against], AGREEMENT_TOLERANCE
                )
            )
    return Agreement(equations.name, STATES, tuple(rows), tuple(dict.fromkeys(skipped)))


def checked(equations: Equations, tolerance: float = AGREEMENT_TOLERANCE) -> Agreement:
    """Finished equations of any origin: the laws they must obey, accelerations put back into them, and, where it is
    known what they were derived from, that by another route.

    Args:
        tolerance: allowed relative error of every row.
    """
    found = [checked_by_laws(equations)]
    origin = equations.mechanism
    if origin is not None and equations.velocity_port == "v" and equations.method in (*ROUTES, "newton-euler"):
        found.append(held_against(origin, equations))
    rows = [row for each in found for row in each.rows]
    skipped = [reason for each in found for reason in each.skipped]
    try:
        rows.append(_solved_row(equations))
    except (UnsupportedError, SingularityError) as error:
        skipped.append(f"accelerations: {error}")
    rows = [replace(row, tolerance=tolerance) for row in rows]
    return Agreement(equations.name, STATES, tuple(rows), tuple(dict.fromkeys(skipped)))


def _solved_row(equations: Equations) -> AgreementRow:
    """M a + h - p - e = D tau, and A a + gamma = 0, with the accelerations that are simulated."""
    scope, parts = equations.scope, equations.quantities()
    solved = equations.accelerations()
    programs = [quantity.program for quantity in (*parts.values(), solved)]
    rng = np.random.default_rng(2)
    inputs = {p.name: rng.uniform(0.5, 1.5, (STATES, *p.shape)) for program in programs for p in program.inputs}
    for k in scope.quaternions:
        inputs["q"][:, k : k + 4] /= np.linalg.norm(inputs["q"][:, k : k + 4], axis=1, keepdims=True)
    values = {name: _values(quantity, inputs) for name, quantity in parts.items()}
    a = _values(solved, inputs)
    tau = inputs.get("tau", np.zeros((STATES, values["input_map"].shape[-1])))
    left = np.einsum("...ij,...j->...i", values["mass_matrix"], a) + values["bias"]
    right = np.einsum("...ij,...j->...i", values["input_map"], tau)
    for name in ("passive", "external"):
        right = right + values.get(name, 0.0)
    size = np.abs(np.broadcast_to(values["mass_matrix"], (STATES, *values["mass_matrix"].shape[-2:]))).max(axis=-1)
    size = (size * np.abs(a).max(axis=1, keepdims=True)).max(axis=1)
    if "constraint_matrix" in values:  # what is left is A^T lambda
        A = np.broadcast_to(values["constraint_matrix"], (STATES, *values["constraint_matrix"].shape[-2:]))
        rest = left - right
        multipliers = np.stack([np.linalg.lstsq(x.T, y, rcond=None)[0] for x, y in zip(A, rest)])
        right = right + np.einsum("sji,sj->si", A, multipliers)
    return AgreementRow("accelerations", "solved", "put back", relative_error(left, right, size), AGREEMENT_TOLERANCE)


def held_against(mechanism: Mechanism, equations: Equations) -> Agreement:
    """Mass matrix, Coriolis and gravity forces of these very equations and of the mechanism by another route.

    Args:
        mechanism: what they were derived from.
        equations: in the velocities of the mechanism.
    """
    if equations.scope.fixed:
        return Agreement(equations.name, STATES, (), (f"{DOCUMENT}: {', '.join(equations.scope.fixed)} given",))
    route = "kane" if equations.method == "newton-euler" else "newton-euler"
    include = () if equations.without_rotors else ("armature",)
    free = mechanism.replace(constraints=(), forces=())
    other = derive(free, route, include=include, field=equations.gravity_field)
    both = (equations, other)
    needed = set().union(*(_ports(each[part]) for each in both for part in PARTS))
    if not all(needed <= each.scope.names.keys() for each in both):
        reason = f"{DOCUMENT}: its parameters are not those of the mechanism"
        return Agreement(equations.name, STATES, (), (reason,))
    rng = np.random.default_rng(0)
    values = {symbol: float(rng.uniform(0.5, 1.5)) for symbol in mechanism.symbols}
    q, v, _ = substitute(mechanism.replace(strict=False), values).random_state(rng, (STATES,))
    inputs = {port: rng.uniform(0.5, 1.5) for port in sorted(needed)} | {"q": q, "v": v}
    mine, theirs = ({part: _values(each[part], inputs) for part in PARTS} for each in both)
    inertia = np.abs(mine["mass_matrix"] * v[:, None]).max(axis=(1, 2), initial=0)
    rows = []
    for part, words in PARTS.items():
        error = relative_error(mine[part], theirs[part], 0.0 if part == "mass_matrix" else 1e-3 * inertia)
        rows.append(AgreementRow(words, "this document", f"derived: {route}", error, AGREEMENT_TOLERANCE))
    return Agreement(equations.name, STATES, tuple(rows))


def _laws(equations: Equations, skipped: list[str]) -> Iterator[AgreementRow]:
    if not equations.velocities:
        skipped.append("symmetry and power balance: the constraints leave no motion free")
        return
    inputs, port, method = _inputs(equations, skipped), equations.velocity_port, equations.method
    if inputs is None:
        return
    M = _values(equations.mass_matrix, inputs)
    asymmetry = relative_error(M, M.swapaxes(1, 2))
    if method == "sympy" and asymmetry > AGREEMENT_TOLERANCE:
        skipped.append("symmetry and power balance: SymPy's mass matrix holds the rows of the constraints")
        return
    yield AgreementRow("M symmetric", method, "its transpose", asymmetry, AGREEMENT_TOLERANCE)
    if equations.scope.fixed:
        skipped.append(f"power balance: {', '.join(equations.scope.fixed)} given, and nothing is known of other states")
        return
    v = inputs[port]
    c = _values(equations.coriolis, inputs)
    doubled = _values(equations.coriolis, {**inputs, port: 2 * v})
    # Forces that cancel are no more exact than those of inertia, here at accelerations as large as the velocities.
    inertia = np.abs(M * v[:, None]).max(axis=(1, 2), initial=0)
    quadratic = relative_error(4 * c, doubled, 1e-3 * inertia)
    if "energy" in equations.extras and _timeless(equations):
        yield _energy_balance(equations, M, inputs)
    if quadratic > AGREEMENT_TOLERANCE:
        skipped.append("1/2 v.Mdot v: the velocity forces are not quadratic in the velocities")
        return
    yield AgreementRow("c quadratic in the velocities", method, "c at twice the speed", quadratic, AGREEMENT_TOLERANCE)
    if len(equations.coordinates) != len(v[0]) and port == "v":
        skipped.append("power balance: the coordinates are redundant")
        return
    power = np.einsum("si,sij,sj->s", v, _mass_rate(equations, inputs), v) / 2
    given = np.einsum("si,si->s", v, c)
    error = _imbalance(given - power, M, v, v * c)
    yield AgreementRow("power balance", method, "1/2 v.Mdot v", error, AGREEMENT_TOLERANCE)


def _imbalance(difference: np.ndarray, M: np.ndarray, v: np.ndarray, terms: np.ndarray) -> float:
    """Power that is missing, relative to the largest term of it or of the energy, which may cancel.

    State by state, or a single one near a singular position would measure all others.
    """
    scale = np.maximum(np.abs(v[:, :, None] * M * v[:, None]).max(axis=(1, 2)), np.abs(terms).max(axis=1))
    return float((np.abs(difference) / np.where(scale > 0, scale, 1.0)).max())


def _timeless(equations: Equations) -> bool:
    """Whether no formula contains time other than through the coordinates: SymPy's are functions of it."""
    clock = equations.scope.arrays.get("t")
    if clock is None:
        return True
    formulas = np.concatenate([equations["energy"].values.ravel(), equations.bias.values.ravel()])
    return all(scalar.is_zero(slope) for slope in forward(formulas, clock).ravel())


def _energy_balance(equations: Equations, M: np.ndarray, inputs: dict[str, Any]) -> AgreementRow:
    """Without accelerations, the power of c + g is the rate of E = p.v - L; gyroscopic forces have none."""
    slopes = forward(equations["energy"].values, equations.scope.arrays["q"], equations.kinematics.values)
    rate = _values(DerivedQuantity(equations.scope, "energy_rate", r"\dot{E}", slopes), inputs)
    terms = inputs["v"] * _values(equations.bias, inputs)
    error = _imbalance(terms.sum(axis=1) - rate, M, inputs["v"], terms)
    return AgreementRow("power balance", equations.method, "rate of the energy", error, AGREEMENT_TOLERANCE)


def _mass_rate(equations: Equations, inputs: dict[str, Any]) -> np.ndarray:
    """Mdot along the motion."""
    slopes = forward(equations.mass_matrix.values, equations.scope.arrays["q"], equations.kinematics.values)
    return _values(DerivedQuantity(equations.scope, "mass_rate", r"\dot{M}", slopes), inputs)


def _inputs(equations: Equations, skipped: list[str]) -> dict[str, Any] | None:
    """Random numbers for every input, over states; the same for equations with the same symbols.

    Roots, logarithms and quotients do not exist everywhere: states are those drawn first at which the formulas have
    values, also at twice the velocities; None if there are no such states.
    """
    rng = np.random.default_rng(0)
    drawn: dict[str, Any] = {}
    for port, symbols in equations.scope.names.items():
        if port in equations.scope.parameters:
            drawn[port] = float(rng.uniform(0.7, 1.3))
        else:
            drawn[port] = rng.normal(size=CANDIDATES if port == "t" else (CANDIDATES, len(symbols)))
    exists = np.full(CANDIDATES, True)
    for factor in (1, 2):
        at = {**drawn, equations.velocity_port: factor * drawn[equations.velocity_port]}
        for quantity in (equations.mass_matrix, equations.bias):
            exists &= np.isfinite(_values(quantity, at).reshape(CANDIDATES, -1)).all(axis=1)
    chosen = np.flatnonzero(exists)[:STATES]
    if without := int(CANDIDATES if not len(chosen) else chosen[-1] + 1 - len(chosen)):
        skipped.append(f"{counted(without, 'random state')} at which the formulas have no value")
    if not len(chosen):
        return None
    chosen = np.resize(chosen, STATES)
    return {port: values[chosen] if np.ndim(values) else values for port, values in drawn.items()}


def _ports(quantity: DerivedQuantity) -> set[str]:
    return {port.name for port in quantity.program.inputs}


def _values(quantity: DerivedQuantity, inputs: dict[str, Any]) -> np.ndarray:
    needed = {port: inputs[port] for port in _ports(quantity)}
    return np.broadcast_to(quantity.evaluate(needed), (len(inputs["q"]), *quantity.shape))

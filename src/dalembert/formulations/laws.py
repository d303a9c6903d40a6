"""Laws that hold for every mechanism, checked at states: symmetry, power, skew symmetry, derivatives, constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.constraints.rank import Decomposition
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations.agreement import AgreementRow
from dalembert.formulations.constrained_laws import SampledMotion, Search, compiled_errors
from dalembert.formulations.derive import derive
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.quantity import named_inputs
from dalembert.formulations.sample_ranks import rounded_rows
from dalembert.kinematics.manifold import tangent_map
from dalembert.model import Inertia, Mechanism

QUIET = 1e-6
"""Accelerations below this part of squared velocities, and their forces, are none: what differs is rounding."""

COMPLEX_STEP = 1e-30
"""Of the complex step: there is no subtraction, so it may be as small as it likes."""


def inertia_rows(mechanism: Mechanism, q: np.ndarray, tolerance: float, skipped: list[str]) -> list[AgreementRow]:
    """Symmetry and definiteness of M.

    Args:
        mechanism: the mechanism with numbers for all symbols.
        q: positions, over states.
        tolerance: allowed relative error.
        skipped: receives what is left out.
    """
    M = np.array([mass_matrix(mechanism, x) for x in q], dtype=float)
    skew = np.abs(M - M.swapaxes(1, 2)).max() / _scale(np.abs(M).max())
    rows = [AgreementRow("M symmetric", "generalized-links", "its transpose", float(skew), tolerance)]
    lowest = min(float(np.linalg.eigvalsh(x).min() / _scale(np.abs(x).max())) for x in M)
    if negative := [body.name for body in mechanism.bodies if _may_be_negative(body.inertia)]:
        skipped.append(f"M positive: the kinetic energy of {', '.join(negative)} may be negative at these values")
    else:
        rows.append(AgreementRow("M positive", "generalized-links", "lowest eigenvalue", max(0.0, -lowest), tolerance))
    return rows


def _may_be_negative(inertia: Inertia) -> bool:
    """Whether kinetic energy is negative in some motion: of a mass, or of turns about the centre of mass."""
    moments = np.linalg.eigvalsh(np.array(inertia.tensor, dtype=float))
    return bool(inertia.mass < 0 or moments[0] < -1e-12 * np.abs(moments).max())


def motion_rows(
    mechanism: Mechanism,
    derived: Mapping[str, Equations],
    values: Mapping[Any, float],
    states: tuple[Any, Any, Any],
    tolerance: float,
    skipped: list[str],
    cubic: int,
) -> list[AgreementRow]:
    """Power balance, skew symmetry of Mdot - 2C. Rotors do not change Mdot.

    Args:
        mechanism: the mechanism with numbers for all symbols.
        derived: equations by method.
        values: values by symbol.
        states: q, v, a, each over states.
        tolerance: allowed relative error.
        skipped: receives what is left out.
        cubic: degrees of freedom beyond which n^3 Christoffel symbols are left out.
    """
    q, v, _ = states
    rows = []
    M = np.array([mass_matrix(mechanism, x) for x in q], dtype=float)
    Mdot = np.array([_mass_rate(mechanism, x, y) for x, y in zip(q, v)])
    size = np.abs(M).max()
    # Forces that cancel, or vanish altogether, are measured against what their ingredients could amount to.
    speed = float(np.abs(v).max())
    floor = 1e-3 * size * speed
    power = np.einsum("si,sij,sj->s", v, Mdot, v) / 2
    for name, equations in derived.items():
        c = np.broadcast_to(equations.coriolis.evaluate({"q": q, "v": v, **values}), v.shape)
        size = _scale(max(np.abs(v * c).sum(axis=1).max(), floor * speed**2))
        error = np.abs(np.einsum("si,si->s", v, c) - power).max() / size
        rows.append(AgreementRow("power balance", name, "1/2 v.Mdot v", float(error), tolerance))
    for method, extra in (
        ("lagrange", "coriolis_matrix"),
        ("newton-euler", "coriolis_matrix"),
        ("kane", "coriolis_matrix_parsa"),
    ):
        if method not in derived or extra not in derived[method].extras:
            continue
        if method == "lagrange" and mechanism.nv > cubic:
            skipped.append(f"Christoffel symbols: {mechanism.nv}^3 of them")
            continue
        try:
            matrix = derived[method][extra].evaluate({"q": q, "v": v, **values})
        except UnsupportedError as error:
            skipped.append(f"Mdot - 2C by {method}: {error}")
            continue
        C = np.broadcast_to(matrix, M.shape)
        c = np.broadcast_to(derived[method].coriolis.evaluate({"q": q, "v": v, **values}), v.shape)
        N, product = Mdot - 2 * C, np.einsum("sij,sj->si", C, v)
        skew = np.abs(N + N.swapaxes(1, 2)).max() / _scale(max(np.abs(Mdot).max(), np.abs(C).max(), floor))
        law = {"lagrange": "Christoffel", "newton-euler": "half of V", "kane": "Parsa (36)"}[method]
        rows.append(AgreementRow("Mdot - 2C skew", law, "its transpose", float(skew), tolerance))
        difference = np.abs(product - c).max() / _scale(max(np.abs(c).max(), floor * speed))
        rows.append(AgreementRow("C v = c", law, method, float(difference), tolerance))
    return rows


def _scale(x: float) -> float:
    """What differences are measured against; without masses all is zero, and so must differences be."""
    return float(x) if x > 0 else 1.0


def _mass_rate(mechanism: Mechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    moved = q + 1j * COMPLEX_STEP * (tangent_map(mechanism.tree, q).astype(float) @ v)
    return np.asarray(mass_matrix(mechanism, moved), dtype=complex).imag / COMPLEX_STEP


def sensitivity_rows(mechanism: Mechanism, state: tuple[Any, Any, Any], tolerance: float) -> list[AgreementRow]:
    """D, V and P of the sensitivity algorithm against derivatives of inverse dynamics by the complex step.

    Args:
        mechanism: the mechanism with numbers for all symbols.
        state: q, v, a.
        tolerance: allowed relative error.
    """
    q, v, a = state
    slopes = sensitivity(mechanism.tree, q, v, a)
    n = mechanism.nv
    G = tangent_map(mechanism.tree, q).astype(float)

    def column(dq: Any, dv: Any, da: Any) -> np.ndarray:
        tau = inverse_dynamics(
            mechanism, q + 1j * COMPLEX_STEP * dq, v + 1j * COMPLEX_STEP * dv, a + 1j * COMPLEX_STEP * da
        )
        return np.asarray(tau, dtype=complex).imag / COMPLEX_STEP

    still_q, still = np.zeros(mechanism.nq), np.zeros(n)
    units = np.eye(n)
    exact = {
        "D": np.array([column(still_q, still, e) for e in units]).T,
        "V": np.array([column(still_q, e, still) for e in units]).T,
        "P": np.array([column(G @ e, still, still) for e in units]).T,
    }
    rows = []
    for name, reference in exact.items():
        mine = np.asarray(getattr(slopes, name), dtype=float)
        error = np.abs(mine - reference).max() / _scale(max(np.abs(x).max() for x in exact.values()))
        rows.append(AgreementRow(f"sensitivity {name}", "(7.3.2)-(7.3.4)", "complex step", float(error), tolerance))
    return rows


def constraint_rows(
    mechanism: Mechanism,
    derived: Mapping[str, Equations],
    values: Mapping[Any, float],
    states: int,
    tolerance: float,
    skipped: list[str],
    elements: Sequence[str] | str = (),
    include: tuple[str, ...] = (),
    home: np.ndarray | None = None,
) -> list[AgreementRow]:
    """Accelerations under constraints: eliminated by Kane, enforced by multipliers in Lagrange and Newton-Euler.

    Kernels are compared as well. Loops are closed as users close them, so that no axis points the wrong way round.
    Where they close in ways of different mobility, states are compared that leave as many freedoms as Kane has speeds.

    Args:
        mechanism: the mechanism with its constraints.
        derived: equations by method.
        values: values by symbol.
        states: number of states, at which all loops are closed.
        tolerance: allowed relative error.
        skipped: receives what is left out.
        elements: force elements that act.
        include: terms of the joints that enter.
        home: positions around which loops are closed; by default random ones, or else the neutral one.
    """
    system = system_of(mechanism, None, include, elements)
    known = named_inputs(system.scope, values)
    try:
        kane = derive(mechanism, "kane", elements=elements, include=include, reference=home)
    except (UnsupportedError, SingularityError) as error:
        skipped.append(f"constraints by Kane: {error}")
        return [] if mechanism.symbols else _assembled(mechanism, home, tolerance)
    numbers = {symbol.name: values[symbol] for symbol in mechanism.symbols}
    closed = Dynamics(mechanism, elements=elements, contacts=(), include=include, parameters=numbers, reference=home)
    errors: dict[str, float] = {}
    forces: dict[str, float] = {}
    motions: list[SampledMotion] = []

    def motion(inputs: Mapping[str, Any], u: np.ndarray) -> tuple[dict[Any, Any], list[np.ndarray]]:
        named = {"q": inputs["q"], "u": u, **({"t": inputs["t"]} if system.time is not None else {}), **values}
        return named, [kane[name].evaluate(named) for name in ("speed_map", "acceleration_drift", "velocities")]

    def described(inputs: Mapping[str, Any]) -> bool:
        return all(np.isfinite(x).all() for x in motion(inputs, np.ones(len(kane.mass_matrix)))[1])

    search = Search(system, closed, len(kane.mass_matrix), described, home, known, skipped)
    for _ in range(states):
        try:
            inputs = search.state()
        except SingularityError as error:
            skipped.append(f"constraints: {error}, and give a start that leads to an assembly as q")
            if not (motions or search.seen or mechanism.symbols):  # of symbols some values may allow it
                return [_open(tolerance)]
            break
        if inputs is None:
            skipped.append(
                f"constraints: no assembly is found that leaves as many freedoms as Kane, {search.speeds}, and these "
                "to the speeds of Kane; give one as q"
            )
            break
        clock = {"t": inputs["t"]} if system.time is not None else {}
        u = search.rng.normal(size=search.speeds)
        named, (B, drift, v) = motion(inputs, u)
        try:
            udot = np.linalg.solve(kane.mass_matrix.evaluate(named), -_resisting(kane, named))
        except np.linalg.LinAlgError:
            skipped.append("constraints: the mass matrix of Kane's speeds is singular, something moves without mass")
            break
        mine = B @ udot + drift
        pull = kane["constraint_matrix"].evaluate(named).T @ kane["multipliers"].evaluate(
            named | {"udot": udot, "tau": np.zeros(kane.input_map.shape[1])}
        )
        for name, equations in derived.items():
            A, gamma = equations.constraint_matrix, equations.constraint_bias
            if A is None or gamma is None:
                continue
            named = {"q": inputs["q"], "v": v, **clock, **values}
            M, A_, gamma_ = (x.evaluate(named) for x in (equations.mass_matrix, A, gamma))
            h = _resisting(equations, named)
            theirs, multipliers = _saddle_point(M, A_, h, gamma_)
            # Where constraints leave no acceleration, rounding is measured against what there would be without them.
            free, _ = _saddle_point(M, A_[:0], h, gamma_[:0])
            least = QUIET * np.square(v).max()
            size = max(np.abs(theirs).max(), 1e-3 * np.abs(free).max(), 1e-3 * np.abs(gamma_).max(initial=0.0), least)
            difference = float(np.abs(mine - theirs).max() / _scale(size))
            key = f"multipliers, {name}"
            errors[key] = float(np.maximum(errors.get(key, 0.0), difference))  # also NaN
            # Of dependent rows many multipliers do; the force is one.
            most = max(np.abs(pull).max(), np.abs(h).max(), np.abs(M @ theirs).max(), np.abs(M).max() * least)
            difference = float(np.abs(pull - A_.T @ multipliers).max() / _scale(most))
            forces[key] = float(np.maximum(forces.get(key, 0.0), difference))
        if errors:
            motions.append(SampledMotion(inputs["q"], v, float(clock.get("t", 0.0)), mine, _scale(size)))
    errors |= compiled_errors(closed, motions, skipped) if motions else {}
    # Closing a loop to 1e-13 and solving the saddle both cost some digits.
    return search.rows_of_freedoms() + [
        AgreementRow(quantity, "kane", name, error, 1e3 * tolerance)
        for quantity, found in (("constrained motion", errors), ("constraint forces", forces))
        for name, error in found.items()
    ]


def _assembled(mechanism: Mechanism, home: np.ndarray | None, tolerance: float) -> list[AgreementRow]:
    """A row that fails if loops cannot be closed around a position; none if they can."""
    try:
        Dynamics(mechanism, elements=(), reference=home).assemble()
    except SingularityError:
        return [_open(tolerance)]
    return []


def _open(tolerance: float) -> AgreementRow:
    return AgreementRow("constraints", "assembly", "closed loops", float("inf"), tolerance)


def _saddle_point(M: np.ndarray, A: np.ndarray, h: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Accelerations and multipliers of M a + h = A^T lambda, A a + gamma = 0, also where rows depend on each other.

    Velocities are in units of their own energy, rows in units of their own length, so that what counts as zero is the
    same for mechanisms of any size.
    """
    A = np.where(rounded_rows(A)[:, None], 0.0, A)
    weight = np.diag(M)
    own = np.where(weight > 0, 1 / np.sqrt(np.where(weight > 0, weight, 1.0)), 0.0)
    unit = np.where(own > 0, own, own.max() or 1.0)
    length = np.linalg.norm(A * unit, axis=1)
    row = 1 / np.where(length > 0, length, 1.0)
    G = row[:, None] * A * unit
    saddle = np.block([[unit[:, None] * M * unit, -G.T], [G, np.zeros((len(G), len(G)))]])
    found = Decomposition.of(saddle).solve(-np.concatenate([unit * h, row * gamma]))
    return unit * found[: len(h)], row * found[len(h) :]


def _resisting(equations: Equations, named: Mapping[str, Any]) -> np.ndarray:
    """Coriolis forces and gravity, and what joints and force elements take."""
    bias = equations.bias.evaluate(named)
    return bias - equations.passive.evaluate(named) if equations.passive is not None else bias

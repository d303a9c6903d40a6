"""What is proved of every mechanism: algorithms that must agree, and laws of mechanics that each of them must obey.

A law is a function of a subject - a generic mechanism at a generic state, over any field - that yields claims: two
arrays that must be equal. The same function runs on elements of a field, which decides, and on degrees, which bounds
the probability that the decision is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from math import pi
from typing import Any

from dalembert import algorithms, kinematics
from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.kronecker import kron
from dalembert.algebra.rotations import rotation_x, rotation_y, rotation_z
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dual, dyad
from dalembert.algorithms import energy
from dalembert.algorithms.economy import economical
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inertia_matrix.operator_factors import operator_factors
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.algorithms.triangular import factor
from dalembert.algorithms.weight import weight
from dalembert.kinematics.frames import link_poses
from dalembert.kinematics.manifold import position_rate
from dalembert.kinematics.step import Matrix, PlaneTurn, Step
from dalembert.model import WORLD
from dalembert.proof.cartesian_laws import CARTESIAN_LAWS
from dalembert.proof.claims import (
    Claim,
    Law,
    Omission,
    at_rest,
    bias,
    coriolis_forces,
    direction_of,
    ends,
    inertia,
    inertia_rate,
    inner,
    moving_positions,
    named_ends,
    torque,
    tried,
)
from dalembert.proof.derivative_laws import DERIVATIVE_LAWS
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject
from dalembert.proof.link_laws import LINK_LAWS

QUARTIC = 10
"""Degrees of freedom beyond which routes that cost n^4 operations are left out."""


# --------------------------------------------------------------------------------------------------- algorithms agree


def inverse_dynamics(s: Subject) -> Iterator[Claim | Omission]:
    tree = s.mechanism.tree
    for name, algorithm in INVERSE_DYNAMICS.items():
        if name == "newton-euler":
            continue
        if name == "uicker-kahn" and s.mechanism.nv > QUARTIC:
            yield Omission(name, f"{s.mechanism.nv}^4 operations")
            continue
        found = tried(partial(algorithm, tree, s.q, s.v, s.a, None), name)
        yield (
            found if isinstance(found, Omission) else Claim("inverse dynamics", name, "newton-euler", found, torque(s))
        )
    grouped = economical(tree)
    found = INVERSE_DYNAMICS["augmented-links"](grouped, s.q, s.v, s.a, None)
    yield Claim("inverse dynamics", "regrouped masses", "newton-euler", found, torque(s))


def inertia_matrix(s: Subject) -> Iterator[Claim | Omission]:
    tree, reference = s.mechanism.tree, inertia(s)
    for name, algorithm in INERTIA_MATRIX.items():
        if name == "column-method":
            continue
        found = tried(partial(algorithm, tree, s.q), name)
        yield found if isinstance(found, Omission) else Claim("inertia matrix", name, "column-method", found, reference)
    yield Claim("inertia matrix", "M", "its transpose", reference, reference.T)
    yield Claim("M a + bias", "column-method", "newton-euler", product(reference, s.a) + bias(s), torque(s))


def forward_dynamics(s: Subject) -> Iterator[Claim | Omission]:
    tree = s.mechanism.tree
    for name, algorithm in FORWARD_DYNAMICS.items():
        found = tried(partial(algorithm, tree, s.q, s.v, torque(s), None), name)
        where = "the acceleration given"
        yield found if isinstance(found, Omission) else Claim("forward dynamics", name, where, found, s.a)
    inverse = factor(inertia(s), tree.velocity_parents).inverse()
    identity = arrays.identity(s.mechanism.nv)
    yield Claim("M^-1 M", "tree factors", "1", product(inverse, inertia(s)), identity)
    factors = tried(lambda: operator_factors(tree, s.q).inverse(), "inverse by operator factors")
    if not isinstance(factors, Omission):
        yield Claim("M^-1 M", "operator factors (6.2.19)", "1", product(factors, inertia(s)), identity)


def external_loads(s: Subject) -> Iterator[Claim | Omission]:
    """Wrenches on bodies do the work of J^T w in every algorithm, and the accelerations come back."""
    m, tree = s.mechanism, s.mechanism.tree
    wrenches, work = {}, at_rest(s)
    welded = [body for joint in m.joints if joint.kind == "fixed" for body in (joint.parent, joint.child)]
    for body in dict.fromkeys([*ends(s), *(name for name in welded if name != WORLD)]):
        wrench = arrays.asarray([s.field.element() for _ in range(6)])
        wrenches[body] = wrench
        Jw, Jv = kinematics.jacobian(m, s.q, body, axes="body")
        work = work + product(Jv.T, wrench[:3]) + product(Jw.T, wrench[3:])
    loads, needed = loads_on_links(m, wrenches), torque(s) - work
    for name, algorithm in INVERSE_DYNAMICS.items():
        if name == "uicker-kahn" and s.mechanism.nv > QUARTIC:
            continue  # said by the law of inverse dynamics
        found = tried(partial(algorithm, tree, s.q, s.v, s.a, loads), name)
        if not isinstance(found, Omission):
            yield Claim("loads", name, "tau - J^T w", found, needed)
    for name, solver in FORWARD_DYNAMICS.items():
        found = tried(partial(solver, tree, s.q, s.v, needed, loads), name)
        if not isinstance(found, Omission):
            yield Claim("loads", name, "the acceleration given", found, s.a)
    derivatives = sensitivity(tree, s.q, s.v, s.a, loads)
    direction = direction_of(s)
    moved = along(s.q, position_rate(tree, s.q, direction))
    by_q = slopes(INVERSE_DYNAMICS["newton-euler"](tree, moved, s.v, s.a, loads))
    yield Claim("loads", "P", "dual numbers", product(derivatives.P, direction), by_q)


def weight_of_all(s: Subject) -> Iterator[Claim | Omission]:
    tree, still = s.mechanism.tree, at_rest(s)
    held = INVERSE_DYNAMICS["newton-euler"](tree, s.q, still, still, None)
    yield Claim("gravity forces", "first moments", "newton-euler", weight(tree, s.q), held)
    yield Claim("bias", "gravity + Coriolis forces", "newton-euler", held + coriolis_forces(s), bias(s))
    direction = direction_of(s)
    moved = along(s.q, position_rate(tree, s.q, direction))
    slope = slopes(energy.potential_energy(tree, moved))
    yield Claim("gravity forces", "potential energy", "newton-euler", slope, inner(held, direction))


# ---------------------------------------------------------------------------------------------------- laws of mechanics


def power(s: Subject) -> Iterator[Claim | Omission]:
    tree, M = s.mechanism.tree, inertia(s)
    T = energy.kinetic_energy(tree, s.q, s.v)
    yield Claim("kinetic energy", "sum over links", "v.M v / 2", T, inner(s.v, product(M, s.v)) / 2)
    mine = inner(s.v, coriolis_forces(s))
    yield Claim("power balance", "v.c", "v.Mdot v / 2", mine, inner(s.v, product(inertia_rate(s), s.v)) / 2)
    total = slopes(
        energy.kinetic_energy(tree, moving_positions(s), along(s.v, s.a))
        + energy.potential_energy(tree, moving_positions(s))
    )
    yield Claim("power balance", "rate of T + V", "tau.v", total, inner(torque(s), s.v))


def coriolis(s: Subject) -> Iterator[Claim | Omission]:
    forms = {"Christoffel (half of V)": lambda: coriolis_matrix(s.mechanism.tree, s.q, s.v)}
    if all(body.inertia is not None for body in s.mechanism.bodies):
        forms["Parsa (36)"] = lambda: algorithms.parsa_coriolis(s.mechanism, s.q, s.v)
    for name, make in forms.items():
        C = tried(make, name)
        if isinstance(C, Omission):
            yield C
            continue
        skew = inertia_rate(s) - (C + C)
        yield Claim("Mdot - 2C skew", name, "minus its transpose", skew, -skew.T)
        yield Claim("C v", name, "Coriolis forces", product(C, s.v), coriolis_forces(s))


def sensitivities(s: Subject) -> Iterator[Claim | Omission]:
    """D, V and P against derivatives of Newton and Euler's recursion by dual numbers."""
    tree = s.mechanism.tree
    found = sensitivity(tree, s.q, s.v, s.a)
    run = INVERSE_DYNAMICS["newton-euler"]
    direction = direction_of(s)
    moved = along(s.q, position_rate(tree, s.q, direction))
    by_v = slopes(run(tree, s.q, along(s.v, direction), s.a, None))
    by_q = slopes(run(tree, moved, s.v, s.a, None))
    yield Claim("sensitivities", "tau", "newton-euler", found.tau, torque(s))
    yield Claim("sensitivities", "D", "column-method", found.D, inertia(s))
    yield Claim("sensitivities", "V", "dual numbers", product(found.V, direction), by_v)
    yield Claim("sensitivities", "P", "dual numbers", product(found.P, direction), by_q)
    solved = factor(inertia(s), tree.velocity_parents).solve_columns(found.P, found.V)
    for name, X, B in zip("PV", solved, (found.P, found.V)):
        yield Claim("sensitivities", f"M (M^-1 {name})", name, product(inertia(s), X), B)
    for name, reached in (("axes carried outwards", True), ("wrenches carried inwards", False)):
        other = sensitivity(tree, s.q, s.v, s.a, reached=(reached,) * len(tree.links))
        yield Claim("sensitivities", f"V, {name}", "V", other.V, found.V)
        yield Claim("sensitivities", f"P, {name}", "P", other.P, found.P)


def regressor(s: Subject) -> Iterator[Claim | Omission]:
    m = s.mechanism
    theta = algorithms.parameter_vector(m)
    Y = tried(lambda: algorithms.regressor(m, s.q, s.v, s.a), "regressor")
    if isinstance(Y, Omission):
        yield Y
        return
    yield Claim("regressor", "Y theta", "newton-euler", product(Y, theta), torque(s))
    T = inner(algorithms.kinetic_energy_regressor(m, s.q, s.v), theta)
    V = inner(algorithms.potential_energy_regressor(m, s.q), theta)
    yield Claim("regressor", "of potential energy", "sum over links", V, energy.potential_energy(m.tree, s.q))
    yield Claim("regressor", "of kinetic energy", "sum over links", T, energy.kinetic_energy(m.tree, s.q, s.v))


# -------------------------------------------------------------------------------------------------------- kinematics


def jacobians(s: Subject) -> Iterator[Claim | Omission]:
    m, moving = s.mechanism, moving_positions(s)
    for frame, link in named_ends(s):
        point = arrays.asarray([s.field.element() for _ in range(3)])
        Jw, Jv = kinematics.jacobian(m, s.q, frame, point=point)
        place = algorithms.pose(m, moving, frame)
        R = algorithms.pose(m, s.q, frame).rotation
        speed = slopes(place.translation + product(place.rotation, point))
        turning = product(slopes(place.rotation), R.T)
        yield Claim("Jacobian", f"{link}: J v", "rate of the position", product(Jv, s.v), speed)
        yield Claim("Jacobian", f"{link}: dual(Jw v)", "Rdot R^T", dual(product(Jw, s.v)), turning)
        rates = kinematics.jacobian_rate(m, s.q, s.v, frame, point=point)
        for name, mine, theirs in zip(("angular", "linear"), rates, kinematics.jacobian(m, moving, frame, point=point)):
            yield Claim("Jacobian rate", f"{link}: {name}", "dual numbers", mine, slopes(theirs))
        own: Any = {"point": point, "axes": "body"}
        in_body = kinematics.jacobian_rate(m, s.q, s.v, frame, **own)
        for name, mine, theirs in zip(("angular", "linear"), in_body, kinematics.jacobian(m, moving, frame, **own)):
            yield Claim("Jacobian rate", f"{link}: {name}, body axes", "dual numbers", mine, slopes(theirs))
        moved = algorithms.motion(m, s.q, s.v, s.a, frame, point=point)
        yield Claim("velocity", f"{link}: of a point", "J v", moved.linear_velocity, product(Jv, s.v))
        yield Claim("velocity", f"{link}: angular", "J v", moved.angular_velocity, product(Jw, s.v))
        along_a = product(Jv, s.a) + product(rates[1], s.v)
        yield Claim("acceleration", f"{link}: of a point", "J a + Jdot v", moved.linear_acceleration, along_a)
        along_a = product(Jw, s.a) + product(rates[0], s.v)
        yield Claim("acceleration", f"{link}: angular", "J a + Jdot v", moved.angular_acceleration, along_a)


def twists(s: Subject) -> Iterator[Claim | Omission]:
    """The Jacobian of a twist with both its rates, from which Cartesian dynamics and linearisation are made."""
    m, moving = s.mechanism, moving_positions(s)
    for frame, link in named_ends(s):
        point = arrays.asarray([s.field.element() for _ in range(3)])
        options: Any = {"coordinates": "twist", "point": point}
        found = algorithms.analytic_jacobian_rates(m, s.q, s.v, s.a, frame, **options)
        later = algorithms.analytic_jacobian_rates(m, moving, along(s.v, s.a), s.a, frame, **options)
        Jw, Jv = kinematics.jacobian(m, s.q, frame, point=point)
        yield Claim("twist", f"{link}: J", "Jacobians", found.J, arrays.stack([*Jv, *Jw]))
        yield Claim("twist", f"{link}: Jdot", "dual numbers", found.Jd, slopes(later.J))
        yield Claim("twist", f"{link}: Jddot", "dual numbers", found.Jdd, slopes(later.Jd))


def momentum(s: Subject) -> Iterator[Claim | Omission]:
    m, tree = s.mechanism, s.mechanism.tree
    found = algorithms.centroidal(m, s.q, s.v)
    linear, angular = energy.momentum(tree, s.q, s.v)
    about = angular - cross(found.center, linear)
    yield Claim("centroidal momentum", "A v", "sum over links", product(found.matrix, s.v), _six(linear, about))
    rate = algorithms.centroidal_matrix_rate(m, s.q, s.v)
    theirs = slopes(algorithms.centroidal(m, moving_positions(s), s.v).matrix)
    yield Claim("centroidal momentum", "rate of A", "dual numbers", rate, theirs)
    yield Claim("centroidal momentum", "bias", "rate of A times v", found.bias, product(rate, s.v))
    about_center = arrays.zeros(3, 3)
    for link, place in zip(tree.links, link_poses(tree, s.q)):
        d, moments = place.translation - found.center, link.moments
        half = dyad(place.rotate(moments.first), d)
        own = product(product(place.rotation, moments.second), place.rotation.T)
        about_center = about_center + own + half + half.T + dyad(d, d) * moments.mass
    locked = inertia_from_pseudo(about_center)
    yield Claim("centroidal momentum", "locked inertia", "second moments", found.inertia, locked)
    p = algorithms.generalised_momentum(m, s.q, s.v)
    yield Claim("generalised momentum", "inverse dynamics", "M v", p, product(inertia(s), s.v))
    yield Claim("centre of mass", "kinematics", "centroidal", kinematics.center_of_mass(m, s.q), found.center)


def _six(linear: Array, angular: Array) -> Array:
    return arrays.asarray([*linear, *angular])


def poses(s: Subject) -> Iterator[Claim | Omission]:
    """Every rotation that is computed is one."""
    for k, place in enumerate(link_poses(s.mechanism.tree, s.q)[-1:]):
        R = place.rotation
        yield Claim("pose", f"R^T R of link {k}", "1", product(R.T, R), arrays.identity(3))


def _now(x: Array) -> Array:
    """The values of dual numbers."""
    return arrays.asarray([[getattr(entry, "a", entry) for entry in row] for row in x])


def plane_turns(s: Subject) -> Iterator[Claim | Omission]:
    """Rotations about coordinate axes, which robots have and the generic mechanism has not, against matrices."""
    u, other = (arrays.asarray([s.field.element() for _ in range(3)]) for _ in range(2))
    T = dyad(u, other) + dual(u)
    E = T + T.T
    found: dict[str, list[tuple[Array, Array]]] = {}
    for k, rotation in enumerate((rotation_x, rotation_y, rotation_z)):
        angle = s.field.angle()
        turn, matrix = PlaneTurn(k, scalar.cos(angle), scalar.sin(angle)), Matrix(rotation(angle))
        found.setdefault("R u", []).append((turn.apply(u), matrix.apply(u)))
        found.setdefault("R^T u", []).append((turn.apply_transposed(u), matrix.apply_transposed(u)))
        found.setdefault("R E R^T", []).append((turn.similar(E), matrix.similar_tensor(E)))
        found.setdefault("R T R^T", []).append((turn.similar_tensor(T), matrix.similar_tensor(T)))
        found.setdefault("R E R^T by a matrix", []).append((matrix.similar(E), matrix.similar_tensor(E)))
    yield from _gathered("plane turn", found)


def aligned_joints(s: Subject) -> Iterator[Claim | Omission]:
    """Steps across joints with axes along coordinates, placed by turns: the shorter paths that most robots take."""
    link = next((link for link in s.mechanism.tree.links if link.rotates and link.kind != "spherical"), None)
    if link is None:
        return
    u, other = (arrays.asarray([s.field.element() for _ in range(3)]) for _ in range(2))
    E = dyad(u, other) + dyad(other, u)
    angle, twist = s.field.angle(), s.field.angle()
    placements = [turn(angle) for turn in (rotation_x, rotation_y, rotation_z)]
    placements.append(product(rotation_z(angle), rotation_x(twist)))  # Denavit and Hartenberg's
    found: dict[str, list[tuple[Array, Array]]] = {}
    for k in range(3):
        for quarters, placement in enumerate(placements):  # an offset of quarter turns costs nothing
            axis = [0, 0, 0]
            axis[k] = -1 if quarters == 2 else 1
            at, offset = Transform(placement, link.placement.translation), quarters * pi / 2
            changed = replace(link, axis=arrays.asarray(axis), placement=at, offset=offset, gain=1)
            step, A = Step(changed, s.q), changed.rotation(s.q)
            found.setdefault("A u", []).append((step.inward(u), product(A, u)))
            found.setdefault("A^T u", []).append((step.outward(u), product(A.T, u)))
            found.setdefault("A E A^T", []).append((step.inward_symmetric(E), product(product(A, E), A.T)))
    yield from _gathered("aligned joint", found)


def _gathered(quantity: str, found: dict[str, list[tuple[Array, Array]]]) -> Iterator[Claim]:
    """One claim for all cases of an operation."""
    for who, cases in found.items():
        left, right = (arrays.asarray([list(side.flat) for side in sides]) for sides in zip(*cases))
        yield Claim(quantity, who, "matrix", left, right)


def hessians(s: Subject) -> Iterator[Claim | Omission]:
    """H_R and H_T, of the world and of another body, against derivatives of Jacobians by dual numbers."""
    m, twice = s.mechanism, kron(s.v, s.v)
    frames = ends(s)
    for frame, link in named_ends(s):
        point = arrays.asarray([s.field.element() for _ in range(3)])
        for axes in ("world", "body"):
            found = algorithms.hessian(m, s.q, frame, point=point, axes=axes, starred=False)
            rates = kinematics.jacobian(m, moving_positions(s), frame, point=point, axes=axes)
            for name, H, rate in zip(("H_R", "H_T"), found, rates):
                yield Claim(
                    "Hessian",
                    f"{link}: {name} in {axes} axes",
                    "dual numbers",
                    product(H, twice),
                    product(slopes(rate), s.v),
                )
    if len(frames) == 2:
        seen = algorithms.relative_motion(m, s.q, frames[0], frames[1])
        moving = algorithms.relative_motion(m, moving_positions(s), frames[0], frames[1])
        place = algorithms.pose(m, moving_positions(s), frames[1]).inverse() @ algorithms.pose(
            m, moving_positions(s), frames[0]
        )
        yield Claim("relative motion", "J_T v", "dual numbers", product(seen.J_T, s.v), slopes(place.translation))
        turning = product(slopes(place.rotation), _now(place.rotation).T)
        yield Claim("relative motion", "dual(J_R v)", "dual numbers", dual(product(seen.J_R, s.v)), turning)
        for name, H, J in (("H_R", seen.H_R, moving.J_R), ("H_T", seen.H_T, moving.J_T)):
            yield Claim("relative motion", name, "dual numbers", product(H, twice), product(slopes(J), s.v))


LAWS: dict[str, Law] = {
    "inverse dynamics": inverse_dynamics,
    "inertia matrix": inertia_matrix,
    "forward dynamics": forward_dynamics,
    "external loads": external_loads,
    "gravity": weight_of_all,
    "power": power,
    "Coriolis matrices": coriolis,
    "sensitivities": sensitivities,
    "regressor": regressor,
    "Jacobians": jacobians,
    "twists": twists,
    "momentum": momentum,
    "poses": poses,
    "plane turns": plane_turns,
    "aligned joints": aligned_joints,
    "Hessians": hessians,
    **LINK_LAWS,
    **DERIVATIVE_LAWS,
    **CARTESIAN_LAWS,
}
"""Every law by name."""

"""Random mechanisms and random calls of the public surface of ``Dynamics``, each compared with the oracle.

``case`` draws a mechanism with everything that may be in one, and a ``Dynamics`` of it with settings of chance;
``check`` calls one quantity in a layout of chance and compares it with what ``EXPECTED`` says it means.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dalembert as da
from dalembert.dynamics import ALL_QUANTITIES, CONSTRAINT_QUANTITIES
from dalembert.dynamics.catalogue import quantity_of
from dalembert.errors import UnsupportedError
from dalembert.model import Constraint, Force, Mechanism
from dalembert.model.parameters import parameters, symbolise
from oracle import Oracle, angle_of, relative, skew
from random_mechanisms import ONE_DEGREE, random_mechanism, random_transform

Array = np.ndarray

LOOPS = (
    "weld", "spherical", "revolute", "prismatic", "cylindrical", "universal", "distance", "point-on-line",
    "point-on-plane", "coupling",
)  # fmt: skip
ELEMENTS = (
    "spring", "torsional-spring", "joint-spring", "joint-friction", "joint-stop", "joint-force", "wrench", "user",
    "user-wrench", "attraction", "oblate-planet", "gravity-field",
)  # fmt: skip


@dataclass
class Case:
    """A ``Dynamics``, and the oracle of what it should compute at a state.

    Args:
        dynamics: with settings of chance.
        oracle: of the same, for one time, wrenches and values of parameters.
        inputs: by name of a kernel's input.
        frame: in which quantities of frames are asked.
        point: of that frame.
        axes: of the results.
        reference: the frame from which motion is seen.
        words: what it is, for messages.
    """

    dynamics: da.Dynamics
    oracle: Oracle
    inputs: dict[str, Array]
    frame: str
    point: tuple[float, ...]
    axes: str
    reference: str
    words: str

    def __getitem__(self, names: str) -> Any:
        found = [self.inputs[name] for name in names.split()]
        return found if len(found) > 1 else found[0]


def force(rng: np.random.Generator, kind: str, mechanism: Mechanism, name: str) -> Force | None:
    """An element of a kind, or None if nothing is there for it."""
    bodies = [body.name for body in mechanism.bodies]
    single = [joint.name for joint in mechanism.joints if joint.kind in ONE_DEGREE]
    places = {"placement_a": random_transform(rng), "placement_b": random_transform(rng)}
    number = lambda: float(rng.uniform(0.5, 3))  # noqa: E731
    n, mix = mechanism.nv, rng.normal(size=6)
    match kind:
        case "spring" | "torsional-spring":
            ends = rng.choice(["world", *bodies], 2, replace=False)
            rest = 0.0 if rng.random() < 0.3 else number()
            return Force(name, kind, *map(str, ends), **places, stiffness=number(), damping=number(), rest=rest)
        case "wrench" | "user-wrench":
            axes = str(rng.choice(["", "", "world", *bodies]))
            if not axes:  # its own
                del places["placement_b"]
            act = lambda q, v, t: [m * (1 + t) + v[0] * q[0] for m in mix]  # noqa: E731
            law: dict[str, Any] = {"components": mix} if kind == "wrench" else {"function": act}
            return Force(name, kind, str(rng.choice(bodies)), axes, **places, **law)
        case "user":
            return Force(name, kind, function=lambda q, v, t: [t - mix[k % 6] * v[k] * q[k] for k in range(n)])
        case "attraction" | "oblate-planet":
            at = da.Transform.from_translation(rng.choice([-1, 1], 3) * rng.uniform(2000, 3000, 3))
            at = da.Transform(random_transform(rng).rotation, at.translation)
            more = {"oblateness": 0.1, "radius": 600.0} if kind == "oblate-planet" else {}
            return Force(name, kind, "world", placement_a=at, value=float(rng.uniform(1e7, 1e8)), **more)
        case "gravity-field":
            return Force(
                name, kind, function=lambda p, t: [p[1] * p[2] * mix[0] + t, p[0] * mix[1], mix[2] * p[2] ** 2]
            )
    if not single:
        return None
    joint = str(rng.choice(single))
    smooth = 0.0 if rng.random() < 0.3 else 0.2
    match kind:
        case "joint-spring":
            return Force(name, kind, joint, "", stiffness=number(), damping=number(), rest=number())
        case "joint-friction":
            return Force(name, kind, joint, "", value=number(), smoothing=smooth)
        case "joint-stop":
            return Force(
                name, kind, joint, "", stiffness=number(), damping=number(), lower=-0.1, upper=0.1, smoothing=smooth
            )
    if kind != "joint-force":
        raise NotImplementedError(kind)
    value = {"value": number()} if rng.random() < 0.5 else {"function": lambda t: 2 * t - mix[0]}
    return Force(name, kind, joint, "", **value)


def loop(rng: np.random.Generator, kind: str, mechanism: Mechanism, q: Array, name: str) -> Constraint | None:
    """A constraint that holds at q, between random bodies."""
    oracle = Oracle(mechanism)
    single = [joint.name for joint in mechanism.joints if joint.kind in ONE_DEGREE and joint.mimic is None]
    if kind == "coupling":
        if len(single) < 2:
            return None
        a, b = map(str, rng.choice(single, 2, replace=False))
        x, y = (oracle.coordinate(joint, q, np.zeros(oracle.nv))[0] for joint in (a, b))
        slope, bend = rng.normal(size=2)
        return Constraint(name, kind, a, b, coefficients=(y - slope * x - bend * x * x, slope, bend))
    ends = [str(x) for x in rng.choice(["world", *(body.name for body in mechanism.bodies)], 2, replace=False)]
    at = random_transform(rng)
    a, b = oracle.placed(ends[0], [at], q), oracle.placed(ends[1], [], q)
    other = da.Transform(b.R.T @ a.R, b.R.T @ (a.p - b.p))  # both frames coincide
    if kind == "distance":
        other = random_transform(rng)
        c = oracle.placed(ends[1], [other], q)
        return Constraint(name, kind, *ends, at, other, value=float(np.linalg.norm(c.p - a.p)))
    return Constraint(name, kind, *ends, at, other)


def case(rng: np.random.Generator, loops: float = 0.3, size: int = 5) -> Case:
    """A mechanism and settings of chance.

    Args:
        rng: source of randomness.
        loops: how often there are constraints.
        size: the most bodies.
    """
    mechanism = random_mechanism(
        rng, int(rng.integers(1, size + 1)), floating=bool(rng.random() < 0.3), mimic=0.3, drives=True,
        gravity=rng.normal(size=3) * 5 if rng.random() < 0.5 else (0, 0, -9.81),
    )  # fmt: skip
    if mechanism.nv == 0:
        return case(rng, loops, size)
    q, v, a = mechanism.random_state(rng)
    if rng.random() < 0.6:
        kinds = rng.choice(ELEMENTS, int(rng.integers(1, 4)), replace=False)
        made = [force(rng, str(kind), mechanism, f"f{k}") for k, kind in enumerate(kinds)]
        mechanism = mechanism.replace(forces=tuple(f for f in made if f is not None))
    if rng.random() < loops:
        kinds = rng.choice(LOOPS, int(rng.integers(1, 3)))
        closed = [loop(rng, str(kind), mechanism, q, f"c{k}") for k, kind in enumerate(kinds)]
        closed = [c for c in closed if c is not None]
        trial = Oracle(mechanism.replace(constraints=tuple(closed)))
        if closed and np.linalg.matrix_rank(trial.rows(q), 1e-9) < trial.nv and well_posed(trial, q):
            mechanism = mechanism.replace(constraints=tuple(closed))
            v = free_part(trial.rows(q), v)
    if np.abs(v).min() < 0.02:  # what rests has no direction of sharp friction
        forces = [f.replace(smoothing=0.2) if f.kind == "joint-friction" else f for f in mechanism.forces]
        joints = [joint.replace(friction=0) for joint in mechanism.joints]
        mechanism = mechanism.replace(joints=tuple(joints), forces=tuple(forces))
    settings: dict[str, Any] = {"optimise": int(rng.integers(3))}
    settings["include"] = [x for x in ("armature", "damping", "friction") if rng.random() < 0.4]
    frames = ["tool", *(body.name for body in mechanism.bodies)]
    settings["wrenches"] = [f for f in frames if rng.random() < 0.2]
    if mechanism.constraints:
        settings["reference"] = q
    meant = mechanism
    numbers = {k: x for k, x in parameters(mechanism).items() if k.endswith((".mass", ".damping", ".stiffness"))}
    numbers = {k: x for k, x in numbers.items() if isinstance(x, (int, float)) and x}
    values: list[float] = []
    if numbers and rng.random() < 0.3:
        chosen = list(rng.choice(list(numbers), min(2, len(numbers)), replace=False))
        values = [float(numbers[x]) * rng.uniform(0.5, 2) for x in chosen]
        settings["parameters"] = chosen
        meant = symbolise(mechanism, dict(zip(chosen, values)))
    if mechanism.constraints and rng.random() < 0.4:
        settings["method"] = str(rng.choice(["multipliers", "projection"]))
    t = float(rng.uniform(-1, 1))
    pushes = rng.normal(size=(len(settings["wrenches"]), 6))
    oracle = Oracle(meant, settings["include"], dict(zip(settings["wrenches"], pushes)), t)
    n = mechanism.nv
    inputs = {"q": q, "v": v, "a": a, "tau": rng.normal(size=n) * 3, "wrenches": pushes, "t": np.array(t)}
    inputs |= {name: rng.normal(size=n) for name in ("dq", "dv", "da", "dtau", "a_ref")}
    inputs |= {"v_ref": v, "multipliers": np.zeros(0)}
    inputs |= {"xdd": rng.normal(size=6), "parameters": np.array(values)}
    kinds = ", ".join(x.kind for x in (*mechanism.joints, *mechanism.forces, *mechanism.constraints))
    words = f"{kinds}; { {k: x for k, x in settings.items() if k != 'reference'} }"
    dynamics = da.Dynamics(mechanism, **settings)
    axes, frame = str(rng.choice(["world", "body"])), str(rng.choice(frames))
    return Case(dynamics, oracle, inputs, frame, tuple(rng.normal(size=3)), axes, str(rng.choice(frames)), words)


def free_part(G: Array, v: Array) -> Array:
    """The part of velocities that satisfies the constraints."""
    return v - np.linalg.lstsq(G, G @ v, rcond=1e-9)[0]


def well_posed(oracle: Oracle, q: Array) -> bool:
    """Whether rank and inertia are far from singular at q, so that nobody's choice of a tolerance matters."""
    G = oracle.rows(q)
    sizes = np.linalg.svd(G / np.maximum(np.linalg.norm(G, axis=1, keepdims=True), 1e-12), compute_uv=False)
    kept = sizes[sizes > 1e-9]
    return kept.size > 0 and kept.min() > 0.05 and np.linalg.cond(oracle.mass_matrix(q)) < 1e6


# ------------------------------------------------------------------------------------------------- what quantities mean


def in_axes(c: Case, q: Array, x: Array) -> Array:
    """Six components in the axes that were asked for."""
    if c.axes == "world":
        return x
    R = c.oracle.frame(c.frame, q).R
    return np.concatenate([R.T @ x[:3], R.T @ x[3:]])


def jacobian(c: Case, q: Array) -> Array:
    return in_axes(c, q, c.oracle.jacobian(q, c.frame, c.point))


def velocity(c: Case, q: Array, v: Array) -> Array:
    return in_axes(c, q, c.oracle.twist(q, v, c.frame, c.point))


def acceleration(c: Case, q: Array, v: Array, a: Array) -> Array:
    found = c.oracle.frame(c.frame, q, v, a, c.point)
    return in_axes(c, q, np.concatenate([found.dv, found.dw]))


def along(c: Case, f: Callable[[Array], Array]) -> Array:
    """df/dt while q moves with v; by a complex step."""
    q, v = c["q v"]
    return np.imag(f(c.oracle.moved(q, 1e-30j * v))) / 1e-30


def slopes(c: Case, f: Callable[..., Array], *names: str) -> tuple[Array, ...]:
    """Derivatives of f(q, ...) by q along tangent vectors, and by others; by differences."""
    given = c[" ".join(names)]
    given = given if len(names) > 1 else [given]
    found = [c.oracle.by_q(lambda x: f(x, *given[1:]), given[0])]
    for k in range(1, len(names)):
        found.append(c.oracle.by(lambda x, k=k: f(*given[:k], x, *given[k + 1 :]), given[k]))
    return tuple(found)


def forward(c: Case, q: Array, v: Array, tau: Array) -> Array:
    if c.oracle.m.constraints:
        return c.oracle.constrained(q, v, tau)[0]
    return np.linalg.solve(c.oracle.mass_matrix(q), tau - c.oracle.inverse_dynamics(q, v, np.zeros_like(v)))


def linearize(c: Case) -> tuple[Array, ...]:
    v, n = c["v"], c.oracle.nv
    dq, dv, dtau = slopes(c, lambda *x: forward(c, *x), "q", "v", "tau")
    turning = np.zeros((n, n))
    for joint in c.oracle.m.joints:
        if joint.kind in ("spherical", "free"):
            last = slice(c.oracle.layout[joint.name][1].stop - 3, c.oracle.layout[joint.name][1].stop)
            turning[last, last] = -skew(v[last])
    return np.block([[turning, np.eye(n)], [dq, dv]]), np.concatenate([np.zeros((n, n)), dtau])


def parameters_of_bodies(c: Case) -> Array:
    """Mass, first moments, inertia about the origin xx, xy, xz, yy, yz, zz."""
    found = []
    for body in c.oracle.m.bodies:
        m, r, I = body.inertia.mass, np.asarray(body.inertia.center), np.asarray(body.inertia.tensor)
        I = I + m * (r @ r * np.eye(3) - np.outer(r, r))
        found += [m, *(m * r), I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]]
    return np.array(found)


def euler(c: Case, q: Array) -> Array:
    """Place, and angles about z, y and x."""
    R, p = c.oracle.frame(c.frame, q, point=c.point)[:2]
    return np.array([*p, angle_of(R[1, 0], R[0, 0]), np.arctan(-R[2, 0] / np.sqrt(R[2, 1] ** 2 + R[2, 2] ** 2)),
                     angle_of(R[2, 1], R[2, 2])])  # fmt: skip


def centroidal(c: Case, q: Array) -> Array:
    """Momentum about the centre of mass, as a matrix."""
    about = c.oracle.centre(q)
    return np.transpose([c.oracle.momentum(q, e, about) for e in np.eye(c.oracle.nv)])


def relative_jacobian(c: Case) -> Array:
    """Velocity of the frame's point and of its axes, as the reference sees them."""
    q = c["q"]

    def place(x: Array) -> tuple[Array, Array]:
        a, b = c.oracle.frame(c.reference, x), c.oracle.frame(c.frame, x, point=c.point)
        return a.R.T @ (b.p - a.p), a.R.T @ b.R

    turning = np.einsum("ijn,kj->ikn", c.oracle.slopes(lambda x: place(x)[1], q), place(q)[1])
    return np.stack([*c.oracle.slopes(lambda x: place(x)[0], q), turning[2, 1], turning[0, 2], turning[1, 0]])


def powers(c: Case, wrenches: Array) -> Array:
    """What the wrenches of joints do along every velocity: all that drives do."""
    m, n, q = c.oracle.m, c.oracle.nv, c["q"]
    found = np.zeros(n)
    for joint, wrench in zip(m.joints, wrenches):
        for k, e in enumerate(np.eye(n)):
            own = relative(joint, *c.oracle.joint_state(joint, q, e, 0 * e))
            found[k] += wrench[:3] @ own.R.T @ own.v + wrench[3:] @ own.R.T @ own.w
    return found


def unit_jacobian_rate(c: Case) -> Array:
    """Of place and angles, times the velocities."""
    q, v = c["q v"]
    return c.oracle.by_q(lambda x: c.oracle.slopes(lambda y: euler(c, y), x), q) @ v


def accelerated(c: Case, tau: Array) -> Array:
    """Second derivatives of place and angles under forces."""
    q, v = c["q v"]
    a = np.linalg.solve(c.oracle.mass_matrix(q), tau - c.oracle.inverse_dynamics(q, v, 0 * v))
    return EXPECTED["analytic_jacobian"](c) @ a + unit_jacobian_rate(c) @ v


def locked(c: Case, q: Array) -> Array:
    about = c.oracle.centre(q)
    arms = [(m, I, x.p - about) for m, I, x in c.oracle.of_bodies(q)]
    return sum(I + m * (r @ r * np.eye(3) - np.outer(r, r)) for m, I, r in arms)


def packed(c: Case) -> Array:
    M = c.oracle.mass_matrix(c["q"])
    return M[np.tril_indices(len(M))]


EXPECTED: dict[str, Callable[[Case], Any]] = {
    "inverse_dynamics": lambda c: c.oracle.inverse_dynamics(*c["q v a"]),
    "bias": lambda c: c.oracle.inverse_dynamics(*c["q v"], 0 * c["v"]),
    "gravity": lambda c: c.oracle.weight(c["q"]),
    "mass_matrix": lambda c: c.oracle.mass_matrix(c["q"]),
    "mass_matrix_packed": packed,
    "mass_matrix_nonzeros": lambda c: c.oracle.mass_matrix(c["q"])[c.dynamics.mass_matrix_pattern],
    "mass_matrix_inverse": lambda c: np.linalg.inv(c.oracle.mass_matrix(c["q"])),
    "forward_dynamics": lambda c: forward(c, *c["q v tau"]),
    "forward_dynamics_derivatives": lambda c: slopes(c, lambda *x: forward(c, *x), "q", "v", "tau"),
    "linearize": linearize,
    "inverse_dynamics_derivatives": lambda c: slopes(c, c.oracle.inverse_dynamics, "q", "v", "a")[:2],
    "sensitivities": lambda c: (
        c.oracle.inverse_dynamics(*c["q v a"]),
        *slopes(c, c.oracle.inverse_dynamics, "q", "v", "a")[::-1],
    ),
    "kinetic_energy": lambda c: c.oracle.kinetic_energy(*c["q v"]),
    "potential_energy": lambda c: c.oracle.potential_energy(c["q"]),
    "center_of_mass": lambda c: c.oracle.centre(c["q"]),
    "pose": lambda c: c.oracle.frame(c.frame, c["q"], point=c.point)[:2],
    "jacobian": lambda c: jacobian(c, c["q"]),
    "jacobian_rate": lambda c: along(c, lambda q: jacobian(c, q)),
    "velocity": lambda c: velocity(c, *c["q v"]),
    "acceleration": lambda c: acceleration(c, *c["q v a"]),
    "velocity_derivatives": lambda c: slopes(c, lambda *x: velocity(c, *x), "q", "v"),
    "acceleration_derivatives": lambda c: slopes(c, lambda *x: acceleration(c, *x), "q", "v", "a"),
    "generalised_momentum": lambda c: c.oracle.mass_matrix(c["q"]) @ c["v"],
    "momentum": lambda c: c.oracle.momentum(*c["q v"], np.array(c.point)),
    "kinetic_energy_gradient": lambda c: c.oracle.slopes(lambda q: c.oracle.kinetic_energy(q, c["v"]), c["q"]),
    "centroidal": lambda c: (
        centroidal(c, c["q"]), along(c, lambda q: centroidal(c, q)) @ c["v"], c.oracle.centre(c["q"]), locked(c, c["q"])
    ),
    "centroidal_matrix_rate": lambda c: along(c, lambda q: centroidal(c, q)),
    "frame_coordinates": lambda c: euler(c, c["q"]),
    "analytic_jacobian": lambda c: c.oracle.slopes(lambda q: euler(c, q), c["q"]),
    "element_forces": lambda c: np.reshape([*c.oracle.elements(*c["q v"]).values()], (-1, c.oracle.nv)),
    "energy": lambda c: c.oracle.kinetic_energy(*c["q v"]) + c.oracle.potential_energy(c["q"])
    + c.oracle.stored(c["q"]),
    "inverse_dynamics_variation": lambda c: (c.oracle.inverse_dynamics(*c["q v a"]), varied(c, "a")),
    "forward_dynamics_variation": lambda c: (forward(c, *c["q v tau"]), varied(c, "tau")),
}  # fmt: skip
"""Quantity -> what it is."""


def varied(c: Case, last: str) -> Array:
    f = c.oracle.inverse_dynamics if last == "a" else lambda *x: forward(c, *x)
    by = slopes(c, f, "q", "v", last)
    return sum(D @ d for D, d in zip(by, c[f"dq dv d{last}"]))


def mass_and_coriolis(c: Case, C: Array) -> list[tuple[str, Array, Array]]:
    """C v is the bias without weight, and Mdot - 2C is skew."""
    q, v = c["q v"]
    rate = along(c, lambda x: c.oracle.mass_matrix(x, rotors=False))
    return [("C v", C @ v, c.oracle.inertial(q, v, 0 * v)), ("Mdot", C + C.T, rate)]


LAWS: dict[str, Callable[[Case, Any], list[tuple[str, Array, Array]]]] = {
    "coriolis_matrix": mass_and_coriolis,
    "parsa_coriolis": mass_and_coriolis,
    "regressor": lambda c, Y: [
        ("Y pi", Y @ parameters_of_bodies(c), c.oracle.inertial(*c["q v a"]) + c.oracle.weight(c["q"]))
    ],
    "kinetic_energy_regressor": lambda c, y: [
        ("y pi", y @ parameters_of_bodies(c), Oracle(c.oracle.m).kinetic_energy(*c["q v"]))
    ],
    "potential_energy_regressor": lambda c, y: [
        ("y pi", y @ parameters_of_bodies(c), c.oracle.potential_energy(c["q"]))
    ],
    "hessian": lambda c, H: [("H (v x v)", H @ np.kron(c["v"], c["v"]), acceleration(c, *c["q v"], 0 * c["v"]))],
    "multipliers": lambda c, found: [
        ("a", found[0], forward(c, *c["q v tau"])),
        ("G^T multipliers", rows_of(c).T @ found[1], c.oracle.constrained(*c["q v tau"])[1]),
    ],
    "terms": lambda c, found: [
        ("M", found[0], c.oracle.mass_matrix(c["q"])),
        ("f", found[1], c["tau"] - c.oracle.inverse_dynamics(*c["q v"], 0 * c["v"])),
        ("G a", found[2] @ forward(c, *c["q v tau"]), found[3]),
    ],
    "positions": lambda c, found: [
        ("phi", found[0], 0 * found[0]),
        ("rows", project(c.oracle.rows(c["q"])), project(found[1])),
    ],
    "constraints": lambda c, found: [
        ("rows", project(c.oracle.rows(c["q"])), project(found[1])),
        ("G v", found[1] @ c["v"], found[2]),
        ("G a", found[1] @ forward(c, *c["q v tau"]), found[3]),
    ],
    "reactions": lambda c, found: [
        (
            "powers",
            powers(c, found[0]),
            Oracle(c.oracle.m, (), c.oracle.wrenches, c.oracle.t).inverse_dynamics(*c["q v a"]),
        )
    ],
    "reference_regressor": lambda c, Y: [
        ("Y pi", Y @ parameters_of_bodies(c), c.oracle.inertial(*c["q v a_ref"]) + c.oracle.weight(c["q"]))
    ],
    "relative_motion": lambda c, found: [("J", found[0], relative_jacobian(c))],
    "cartesian_inverse_dynamics": lambda c, tau: [("xdd", accelerated(c, tau), c["xdd"])],
    "inverse_dynamics_derivatives_nonzeros": lambda c, found: [
        (f"output {k}", x, y[c.dynamics.derivatives_pattern])
        for k, (x, y) in enumerate(zip(found, EXPECTED["inverse_dynamics_derivatives"](c)))
    ],
    "analytic_jacobian_rate": lambda c, Jd: [("Jd", Jd, unit_jacobian_rate(c))],
}
"""Quantity -> what must hold of it: words, what it gives, what it should give."""


def rows_of(c: Case) -> Array:
    return call(c, "positions", np.float64)[1]


def project(G: Array) -> Array:
    """The projector on the rows of a matrix: which rows they are does not matter."""
    _, s, V = np.linalg.svd(G)
    rank = int((s > 1e-9 * max(s.max(initial=0), 1e-300)).sum())
    return V[:rank].T @ V[:rank]


CHECKED = tuple(name for name in {**ALL_QUANTITIES, **CONSTRAINT_QUANTITIES} if name in EXPECTED or name in LAWS)
"""Quantities that have a meaning here."""

ROUGH = ("derivatives", "linearize", "sensitivities", "variation", "analytic_jacobian_rate", "cartesian")


def applies(c: Case, name: str) -> bool:
    m = c.oracle.m
    if name == "reactions":  # what acts on velocities alone counts as drives, and a follower has none
        acting = {"spring", "torsional-spring", "wrench", "user-wrench", "attraction", "oblate-planet", "gravity-field"}
        plain = {f.kind for f in m.forces} <= acting and not any(joint.mimic for joint in m.joints)
        return plain and not m.constraints and not c.dynamics.wrenches
    if name == "inverse_dynamics_derivatives_nonzeros":
        return not m.forces
    if name in ("multipliers", "terms", "positions", "constraints"):
        return bool(m.constraints)
    if name == "linearize":
        return not m.constraints
    if m.constraints and name in ("forward_dynamics_derivatives", "forward_dynamics_variation"):
        return False  # off the constraints, what is differentiated depends on how rows are written
    if name == "centroidal" or name == "center_of_mass" or name == "centroidal_matrix_rate":
        return any(body.inertia.mass for body in c.oracle.bodies)
    if name in ("frame_coordinates", "analytic_jacobian", "analytic_jacobian_rate", "cartesian_inverse_dynamics"):
        return coordinates_apply(c)
    return True


def coordinates_apply(c: Case) -> bool:
    return np.linalg.matrix_rank(c.oracle.jacobian(c["q"], c.frame), 1e-3) == 6 and (
        abs(c.oracle.frame(c.frame, c["q"]).R[2, 0]) < 0.95
    )


def call(c: Case, name: str, dtype: Any, rng: np.random.Generator | None = None, **options: Any) -> Any:
    """A quantity at the state of a case, in a layout of chance."""
    quantity = {**ALL_QUANTITIES, **CONSTRAINT_QUANTITIES}[name]
    own = {"frame": c.frame, "point": c.point, "axes": c.axes, "reference": c.reference}
    options |= {key: own[key] for key in quantity.options if key in own}
    kernel = c.dynamics.kernel(name, **options)
    inputs = [np.asarray(c.inputs[port.name], dtype) for port in kernel.inputs]
    if rng is None:
        return kernel(*inputs)
    match rng.integers(6):
        case 0:
            return kernel(*(x.tolist() for x in inputs)) if dtype == np.float64 else kernel(*inputs)
        case 1:  # a column of a larger array, backwards
            return kernel(*(np.stack([0 * x, x, 0 * x], -1)[..., ::-1][..., 1] for x in inputs))
        case 2:
            count, many = 5, kernel(*(np.stack([x] * 5) for x in inputs))
            return tuple(y[count // 2] for y in many) if isinstance(many, tuple) else many[count // 2]
        case 3:  # the first input alone has a batch
            many = kernel(np.stack([inputs[0]] * 3), *inputs[1:], threads=1)
            return tuple(y[-1] for y in many) if isinstance(many, tuple) else many[-1]
        case 4:
            swapped = [np.asfortranarray(np.broadcast_to(x, (2, 4, *x.shape))) for x in inputs]
            many = kernel(*swapped)
            return tuple(y[1, 3] for y in many) if isinstance(many, tuple) else many[1, 3]
    return kernel(*inputs)


def including(c: Case, terms: tuple[str, ...]) -> Case:
    """The same case with other terms of the joints, which all have some."""
    oracle = Oracle(c.oracle.m, terms, c.oracle.wrenches, c.oracle.t)
    return replace(c, dynamics=c.dynamics.replace(include=terms), oracle=oracle)


def check(c: Case, name: str, rng: np.random.Generator) -> str:
    """What is wrong with a quantity, or nothing."""
    dtype = np.float32 if rng.random() < 0.2 else np.float64
    own = quantity_of(name, bool(c.dynamics.constraints.count), bool(c.dynamics.elements.names))
    algorithm = rng.choice([None, *own.algorithms])
    try:
        found = call(c, name, dtype, rng, **({"algorithm": algorithm} if algorithm else {}))
    except UnsupportedError:
        if algorithm is None:
            raise
        algorithm, found = None, call(c, name, dtype, rng)  # that one does not know all joints
    return compared(c, name, found, f"{algorithm}, {np.dtype(dtype)}", 1e5 if dtype == np.float32 else 1.0)


def compared(c: Case, name: str, found: Any, how: str = "", more: float = 1.0) -> str:
    """What is wrong with what a quantity gave, or nothing.

    Args:
        how: it was computed, for the message.
        more: factor of what is allowed.
    """
    if name in LAWS:
        parts = LAWS[name](c, found)
    else:
        parts = [
            (f"output {k}", x, y)
            for k, (x, y) in enumerate(zip(as_tuple(found), as_tuple(EXPECTED[name](c)), strict=True))
        ]
    allowed = more * (1e-6 if any(word in name for word in ROUGH) else 1e-8)
    if c.oracle.m.constraints or "forward" in name or name in ("mass_matrix_inverse", "linearize"):
        allowed *= max(1.0, np.linalg.cond(c.oracle.mass_matrix(c["q"])) / 1e3)
    for words, x, y in parts:
        x, y = np.asarray(x, float), np.asarray(y, float)
        if x.shape != y.shape:
            return f"{name}, {words}: shape {x.shape}, expected {y.shape}; {c.words}"
        wrong = np.abs(x - y).max(initial=0) / scale(c, y)
        if not wrong <= allowed:
            return f"{name} ({how}), {words}: {wrong:.3g} off, allowed {allowed:.3g}; {c.words}"
    return ""


def scale(c: Case, y: Array) -> float:
    return max(1.0, float(np.abs(y).max(initial=0)))


def as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)

"""Laws of derivatives: of the motion of frames, of dynamics along one variation, of energy, and of positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert import algorithms
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algorithms import energy
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.algorithms.sensitivity_as_printed import sensitivity_as_printed
from dalembert.kinematics.gradients import tangent
from dalembert.kinematics.manifold import position_rate, tangent_map, tangent_rate, tangent_rates
from dalembert.proof.claims import (
    Claim,
    Law,
    Omission,
    bias,
    coriolis_forces,
    direction_of,
    ends,
    inertia,
    inner,
    named_ends,
    torque,
    tried,
)
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject, random_vector


def _displaced(s: Subject, direction: Array) -> Array:
    """Positions that move along a tangent vector."""
    return along(s.q, position_rate(s.mechanism.tree, s.q, direction))


def frames(s: Subject) -> Iterator[Claim | Omission]:
    """Velocity and acceleration of a frame by q, v and a (Lemmas C-5, C-7, C-11; PARSA's Theorem 1, Corollary 1)."""
    m, d = s.mechanism, direction_of(s)
    for frame, link in named_ends(s):
        point = arrays.asarray([s.field.element() for _ in range(3)])
        for axes in ("world", "body"):
            options: Any = {"point": point, "axes": axes}

            def motion(q: Array, v: Array, a: Array, frame: str = frame, options: Any = options) -> tuple[Array, Array]:
                x = algorithms.motion(m, q, v, a, frame, **options)
                return (
                    arrays.asarray([*x.linear_velocity, *x.angular_velocity]),
                    arrays.asarray([*x.linear_acceleration, *x.angular_acceleration]),
                )

            velocity = algorithms.velocity_derivatives(m, s.q, s.v, frame, **options)
            acceleration = algorithms.acceleration_derivatives(m, s.q, s.v, s.a, frame, **options)
            by_q = motion(_displaced(s, d), s.v, s.a)
            by_v = motion(s.q, along(s.v, d), s.a)
            by_a = motion(s.q, s.v, along(s.a, d))
            cases = (
                ("velocity by q", velocity.by_q, by_q[0]),
                ("velocity by v", velocity.by_v, by_v[0]),
                ("acceleration by q", acceleration.by_q, by_q[1]),
                ("acceleration by v", acceleration.by_v, by_v[1]),
                ("acceleration by a", acceleration.by_a, by_a[1]),
            )
            for name, mine, theirs in cases:
                who = f"{link}: {name}, {axes} axes"
                yield Claim("derivatives of frames", who, "dual numbers", product(mine, d), slopes(theirs))


def _loads(s: Subject) -> dict[str, Array]:
    """Generic wrenches on the ends of branches."""
    return s.once("loads", lambda: {body: random_vector(s.field, 6) for body in ends(s)})


def variations(s: Subject) -> Iterator[Claim | Omission]:
    """One variation of inverse and forward dynamics, link by link (Lemmas C-6 to C-12), against dual numbers."""
    m, d = s.mechanism, direction_of(s)
    loads = _loads(s)
    dv, da = random_vector(s.field, m.nv), random_vector(s.field, m.nv)
    moving = (_displaced(s, d), along(s.v, dv), along(s.a, da))
    run = INVERSE_DYNAMICS["newton-euler"]
    x, dx = algorithms.inverse_dynamics_variation(m, s.q, s.v, s.a, d, dv, da, wrenches=loads)
    later = algorithms.link_quantities(m, *moving, wrenches=loads)
    on_links = loads_on_links(m, loads)
    needed = slopes(run(m.tree, *moving, on_links))
    yield Claim("variations", "tau", "newton-euler", x.tau, run(m.tree, s.q, s.v, s.a, on_links))
    yield Claim("variations", "d tau", "dual numbers", dx.tau, needed)
    for name in ("w", "wd", "Om", "sdd", "mu", "Udd", "f", "eta"):
        mine, theirs = (
            arrays.asarray([list(link.flat) for link in getattr(quantities, name)]) for quantities in (dx, later)
        )
        yield Claim("variations", f"d {name}", "dual numbers", mine, slopes(theirs))
    found = tried(lambda: algorithms.forward_dynamics_variation(m, s.q, s.v, s.a, d, dv, needed, wrenches=loads), "d a")
    yield found if isinstance(found, Omission) else Claim("variations", "d a", "the change given", found, da)


def energies(s: Subject) -> Iterator[Claim | Omission]:
    tree, d = s.mechanism.tree, direction_of(s)
    found = inner(energy.kinetic_energy_gradient(tree, s.q, s.v), d)
    theirs = slopes(energy.kinetic_energy(tree, _displaced(s, d), s.v))
    yield Claim("kinetic energy", "gradient", "dual numbers", found, theirs)
    point = arrays.asarray([s.field.element() for _ in range(3)])
    about, there = (algorithms.momentum(s.mechanism, s.q, s.v, point=p) for p in ((0, 0, 0), point))
    center, mass = algorithms.center_of_mass(s.mechanism, s.q), sum(link.moments.mass for link in tree.links)
    back = algorithms.momentum(s.mechanism, s.q, s.v, point=center)
    yield Claim("momentum", "of all mass", "rate of the centre of mass", there[:3], _center_rate(s) * mass)
    spin = algorithms.centroidal(s.mechanism, s.q, s.v).matrix
    yield Claim("momentum", "about the centre of mass", "centroidal", back, product(spin, s.v))
    shift = arrays.asarray([about[3 + k] - there[3 + k] for k in range(3)])
    arm = arrays.asarray([
        point[1] * about[2] - point[2] * about[1],
        point[2] * about[0] - point[0] * about[2],
        point[0] * about[1] - point[1] * about[0],
    ])  # fmt: skip
    yield Claim("momentum", "about another point", "p x L", shift, arm)


def _center_rate(s: Subject) -> Array:
    return slopes(algorithms.center_of_mass(s.mechanism, _displaced(s, s.v)))


def as_printed(s: Subject) -> Iterator[Claim | Omission]:
    """Algorithms 7.1 and 7.2 with (7.3.2)-(7.3.4), pair by pair."""
    tree = s.mechanism.tree
    loads = loads_on_links(s.mechanism, _loads(s))
    found = tried(lambda: sensitivity_as_printed(tree, s.q, s.v, s.a, loads), "Algorithms 7.1 and 7.2")
    if isinstance(found, Omission):
        yield found
        return
    theirs = sensitivity(tree, s.q, s.v, s.a, loads)
    for name in "DVP":
        yield Claim("sensitivities", f"{name}, (7.3.2)-(7.3.4)", name, getattr(found, name), getattr(theirs, name))


def reference(s: Subject) -> Iterator[Claim | Omission]:
    """Slotine and Li's regressor."""
    m = s.mechanism
    theta, v_ref = algorithms.parameter_vector(m), random_vector(s.field, m.nv)
    same = tried(lambda: algorithms.reference_regressor(m, s.q, s.v, s.v, s.a), "reference regressor")
    if isinstance(same, Omission):
        yield same
        return
    yield Claim("reference regressor", "v_ref = v", "newton-euler", product(same, theta), torque(s))
    if any(link.kind == "spherical" for link in m.tree.links):
        return  # there C is another matrix with the same products
    found = product(algorithms.reference_regressor(m, s.q, s.v, v_ref, s.a), theta)
    turned = product(coriolis_matrix(m.tree, s.q, s.v), v_ref)
    weight = bias(s) - coriolis_forces(s)
    yield Claim(
        "reference regressor", "Y theta", "M a + C v_ref + g", found, product(inertia(s), s.a) + turned + weight
    )


def manifold(s: Subject) -> Iterator[Claim | Omission]:
    """Rates of positions and tangent vectors belong together."""
    tree, d = s.mechanism.tree, direction_of(s)
    Gamma = arrays.asarray(tangent_map(tree, s.q).tolist())
    rate = position_rate(tree, s.q, s.v)
    yield Claim("tangent map", "Gamma v", "rates of positions", product(Gamma, s.v), rate)
    yield Claim("tangent map", "back and forth", "1", tangent_rates(tree, s.q, Gamma), arrays.identity(tree.nv))
    yield Claim("tangent map", "from changes of q", "v", tangent(tree, s.q, rate, arrays.asarray), s.v)
    # Rates along a motion of the rate along another one, whichever comes first.
    drift = product(tangent_rate(tree, s.v), d)
    one = slopes(position_rate(tree, _displaced(s, s.v), along(d, s.a + drift)))
    other = slopes(position_rate(tree, _displaced(s, d), along(s.v, s.a)))
    yield Claim("tangent map", "rate of a tangent vector", "the other order", one, other)


DERIVATIVE_LAWS: dict[str, Law] = {
    "derivatives of frames": frames,
    "variations": variations,
    "energy and momentum": energies,
    "Algorithms 7.1 and 7.2": as_printed,
    "reference regressor": reference,
    "tangent vectors": manifold,
}

"""Laws of links: moments of augmented and generalized links from sums over bodies, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterator

from dalembert import algorithms, kinematics
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.vectors import dyad
from dalembert.algorithms.forward_dynamics.conjugate_gradients import inertia_diagonal
from dalembert.algorithms.inertia_matrix.closed_form import closed_form
from dalembert.algorithms.inverse_dynamics.closed_forms import waters_3x3
from dalembert.kinematics.frames import link_poses
from dalembert.kinematics.links import LinkMotion
from dalembert.proof.claims import Claim, Law, Omission, inertia, moving_positions, named_ends, torque, tried
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject


def closed_forms(s: Subject) -> Iterator[Claim | Omission]:
    tree = s.mechanism.tree
    yield Claim("inertia matrix", "closed form (6.3.42)", "column-method", closed_form(tree, s.q), inertia(s))
    found = tried(lambda: waters_3x3(tree, s.q, s.v, s.a), "(5.2.6)")
    if isinstance(found, Omission):
        yield found
    else:
        yield Claim("inverse dynamics", "3x3 sum (5.2.6)", "newton-euler", found, torque(s))


def diagonal(s: Subject) -> Iterator[Claim | Omission]:
    """What scales the directions of conjugate gradients."""
    tree = s.mechanism.tree
    if len({link.v for link in tree.links}) == len(tree.links):
        M = inertia(s)
        own = arrays.asarray([M[k, k] for k in range(tree.nv)])
        yield Claim("inertia matrix", "its diagonal", "column-method", inertia_diagonal(tree, s.q), own)


def _carried(s: Subject, q: Array) -> list[tuple[Array, Array]]:
    """First and second moment, about each link's origin and in world axes, of the link and all beyond it: by sums."""
    tree, places, found = s.mechanism.tree, link_poses(s.mechanism.tree, q), []
    for i in range(len(tree.links)):
        first, second = arrays.zeros(3), arrays.zeros(3, 3)
        for k, body in enumerate(tree.links):
            if i in tree.ancestors[k]:
                R, d = places[k].rotation, places[k].translation - places[i].translation
                h, m = product(R, body.moments.first), body.moments.mass
                half = dyad(h, d)
                first = first + h + d * m
                second = second + product(product(R, body.moments.second), R.T) + half + half.T + dyad(d, d) * m
        found.append((first, second))
    return found


def moments(s: Subject) -> Iterator[Claim | Omission]:
    """U, E of generalized links (Lemmas 5.1, 6.1) and the rates of U (Lemma 5.2), link by link."""
    tree = s.mechanism.tree
    found = algorithms.link_moments(s.mechanism, s.q)
    rates = algorithms.first_moment_rates(s.mechanism, s.q, s.v, s.a)
    sums, moving = _carried(s, s.q), moving_positions(s)
    places, later = link_poses(tree, s.q), link_poses(tree, moving)
    Ud = algorithms.first_moment_rates(s.mechanism, moving, along(s.v, s.a), s.a).Ud
    sides: dict[str, list[tuple[Array, Array]]] = {name: [] for name in ("U", "E", "Udot", "Uddot", "U again")}
    for i in range(len(tree.links)):
        R = places[i].rotation
        sides["U"].append((product(R, found.U[i]), sums[i][0]))
        sides["E"].append((product(product(R, found.E[i]), R.T), inertia_from_pseudo(sums[i][1])))
        sides["U again"].append((rates.U[i], found.U[i]))
    for i, (first, _) in enumerate(_carried(s, moving)):
        sides["Udot"].append((product(places[i].rotation, rates.Ud[i]), slopes(first)))
        turned = product(later[i].rotation, Ud[i])
        sides["Uddot"].append((product(places[i].rotation, rates.Udd[i]), slopes(turned)))
    against = {"U": "sum over links", "E": "sum over links", "U again": "U"}
    for name, pairs in sides.items():
        left, right = (arrays.asarray([list(side.flat) for side in one]) for one in zip(*pairs))
        yield Claim("generalized links", name, against.get(name, "dual numbers"), left, right)


def link_motion(s: Subject) -> Iterator[Claim | Omission]:
    """Jacobians of all links together, of which derivations make their sums."""
    m, together = s.mechanism, LinkMotion(s.mechanism.tree, s.q)
    for frame, link in named_ends(s):
        point = arrays.asarray([s.field.element() for _ in range(3)])
        carrier, at = m.tree.carriers[frame]
        Jw, Jv = kinematics.jacobian(m, s.q, frame, point=point)
        yield Claim("link motion", f"{link}: J_v", "Jacobian", together.linear(carrier, at.apply(point)), Jv)
        angular = product(together.rotation[carrier], together.angular[carrier])
        yield Claim("link motion", f"{link}: J_w", "Jacobian", angular, Jw)
        place = algorithms.pose(m, s.q, frame, point=point)
        yield Claim(
            "link motion", f"{link}: position", "pose", together.point(carrier, at.apply(point)), place.translation
        )


LINK_LAWS: dict[str, Law] = {
    "closed forms": closed_forms,
    "diagonal": diagonal,
    "moments of links": moments,
    "link motion": link_motion,
}

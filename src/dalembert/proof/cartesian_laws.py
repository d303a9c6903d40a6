"""Laws of Cartesian dynamics, in the coordinates that are rational everywhere: the twist of a frame (THESIS 7.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert import algorithms
from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.kinematics.manifold import position_rate
from dalembert.proof.claims import Claim, Law, Omission, inertia, named_ends, torque
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject, random_vector


def _moves_freely(s: Subject, body: str) -> bool:
    """Whether the joints of a branch generically give its end all six velocities."""
    tree = s.mechanism.tree
    turns, slides = set[int](), set[int]()
    for i in tree.ancestors[tree.carriers[body][0]]:
        link = tree.links[i]
        (turns if link.rotates else slides).update(range(link.v, link.v + link.nv))
    return len(turns) >= 3 and len(turns) + min(3, len(slides - turns)) >= 6


def cartesian(s: Subject) -> Iterator[Claim | Omission]:
    m, tree = s.mechanism, s.mechanism.tree
    for frame, link in named_ends(s):
        if not _moves_freely(s, frame):
            continue
        options: Any = {"coordinates": "twist", "point": random_vector(s.field, 3)}
        found = algorithms.cartesian_dynamics(m, s.q, s.v, frame, **options)
        J, back = found.jacobian, found.inverse
        xdd = product(J, s.a) + product(found.jacobian_rate, s.v)
        yield Claim("Cartesian dynamics", f"{link}: J J#", "1", product(J, back), arrays.identity(6))
        one = product(found.inertia, J)
        yield Claim("Cartesian dynamics", f"{link}: Lambda J", "J#^T M", one, product(back.T, inertia(s)))
        force = product(found.inertia, xdd) + found.coriolis + found.gravity
        yield Claim("Cartesian dynamics", f"{link}: (7.4.4)", "J#^T tau", force, found.force(torque(s)))
        wanted = random_vector(s.field, 6)
        a = algorithms.resolved_acceleration(m, s.q, s.v, wanted, frame, **options)
        reached = product(J, a) + product(found.jacobian_rate, s.v)
        yield Claim("Cartesian dynamics", f"{link}: resolved", "the acceleration wanted", reached, wanted)
        needed = algorithms.cartesian_inverse_dynamics(m, s.q, s.v, wanted, frame, **options)
        theirs = INVERSE_DYNAMICS["newton-euler"](tree, s.q, s.v, a, None)
        yield Claim("Cartesian dynamics", f"{link}: (7.4.5)", "newton-euler", needed, theirs)
        yield _linearization(s, frame, link, back, options)
        return  # one end will do


def _linearization(s: Subject, frame: str, link: str, back: Any, options: Any) -> Claim:
    """(7.4.18) along a generic variation of the twist, of the configuration it turns through, and of its rate."""
    m = s.mechanism
    found = algorithms.cartesian_linearization(m, s.q, s.v, s.a, frame, **options)
    rates = algorithms.analytic_jacobian_rates(m, s.q, s.v, s.a, frame, **options)
    x, xd, xdd = (random_vector(s.field, 6) for _ in range(3))
    dq = product(back, x)
    dv = product(back, xd - product(rates.Jd, dq))
    da = product(back, xdd - 2 * product(rates.Jd, dv) - product(rates.Jdd, dq))
    moved = along(s.q, position_rate(m.tree, s.q, dq))
    theirs = slopes(INVERSE_DYNAMICS["newton-euler"](m.tree, moved, along(s.v, dv), along(s.a, da), None))
    mine = product(found.D, xdd) + product(found.V, xd) + product(found.P, x)
    return Claim("Cartesian linearisation", f"{link}: (7.4.18)", "dual numbers", mine, theirs)


CARTESIAN_LAWS: dict[str, Law] = {"Cartesian dynamics": cartesian}

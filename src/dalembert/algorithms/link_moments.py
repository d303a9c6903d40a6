"""Augmented and generalized links: their moments, and the rates of the first moment (THESIS 5.3, 6.3).

The *augmented* link i is link i with the mass of everything beyond it as points at its outer joints: mass mbar_i, first
moment u_i and inertia tensor K_i about its origin, constant in the link's axes unless an outer joint slides. The
*generalized* link i is link i with everything beyond it as it stands: first moment U_i, inertia tensor E_i. They are
related by U_i = u_i + sum of A U_j over the outer links j (Lemma 5.1), and the force at joint i is mbar_i sdd_i + Udd_i
(Lemma 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross
from dalembert.algorithms.energy import link_velocities
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.variation import LinkQuantities, varied
from dalembert.kinematics import checked
from dalembert.kinematics.step import steps
from dalembert.model import Mechanism, Tree


@dataclass(frozen=True, eq=False)
class LinkMoments:
    """Moments of the augmented and the generalized links, about their origins and in their own axes.

    Args:
        names: of the links: bodies, with ``/1``, ``/2``, ... for parts of joints of several degrees.
        mass: mbar_i, of each link with all beyond it, kg.
        u: first moments of the augmented links (5.3.44b), kg m.
        K: inertia tensors of the augmented links (5.3.44c), kg m^2.
        U: first moments of the generalized links (6.3.29a), kg m.
        E: inertia tensors of the generalized links (6.3.29c), kg m^2.
    """

    names: tuple[str, ...]
    mass: list[Scalar]
    u: list[Array]
    K: list[Array]
    U: list[Array]
    E: list[Array]


@dataclass(frozen=True, eq=False)
class FirstMomentRates:
    """First moments of the generalized links with two derivatives by time, in the links' axes.

    Args:
        U: first moments about the links' origins.
        Ud: their first derivatives (7.3.14b).
        Udd: their second derivatives (5.3.46a).
    """

    U: list[Array]
    Ud: list[Array]
    Udd: list[Array]


def link_moments(mechanism: Mechanism, q: Any) -> LinkMoments:
    """Moments of the augmented and the generalized links at one position."""
    (q,) = checked(mechanism, q=q)
    tree = mechanism.tree
    step = steps(tree, q)
    mass, u, Kh = augmented_moments(tree, step)
    K = [inertia_from_pseudo(k) for k in Kh]
    U, E = list(u), list(K)
    for i in reversed(range(len(tree.links))):
        p = tree.links[i].parent
        if p >= 0:
            moved = step[i].inward(U[i])
            U[p] = U[p] + moved
            E[p] = E[p] + step[i].inward_symmetric(E[i]) - cross_moments(step[i].s, moved)
    return LinkMoments(tuple(link.name for link in tree.links), mass, u, K, U, E)


def first_moment_rates(mechanism: Mechanism, q: Any, v: Any, a: Any) -> FirstMomentRates:
    """U, Udot and Uddot of all generalized links at one state."""
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    tree, none = mechanism.tree, arrays.zeros(mechanism.nv)
    found, _ = varied(tree, q, v, a, none, none, none)
    return FirstMomentRates(*_moments_and_rates(tree, q, v), found.Udd)


def _moments_and_rates(tree: Tree, q: Array, v: Array) -> tuple[list[Array], list[Array]]:
    step = steps(tree, q)
    mass, u, _ = augmented_moments(tree, step)
    U, Ud = list(u), [cross(w, own) for (w, _), own in zip(link_velocities(tree, q, v), u)]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if link.parent >= 0:
            slide = step[i].from_joint(product(link.axes_v, tree.speed(link, v)))
            U[link.parent] = U[link.parent] + step[i].inward(U[i])
            Ud[link.parent] = Ud[link.parent] + step[i].inward(Ud[i]) + mass[i] * slide
    return U, Ud


def link_quantities(
    mechanism: Mechanism, q: Any, v: Any, a: Any, *, wrenches: Mapping[str, Any] | None = None
) -> LinkQuantities:
    """What Algorithm 5.5 computes of every link on the way to the generalised forces: w, Om, sdd, mu, Uddot, f, eta.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, frame axes, about the frame's origin.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    none = arrays.zeros(mechanism.nv)
    return varied(mechanism.tree, q, v, a, none, none, none, loads_on_links(mechanism, wrenches))[0]

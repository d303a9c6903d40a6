"""Forward dynamics by conjugate gradients, without the inertia matrix (Walker and Orin's fourth method, THESIS 6.2).

D a = tau - bias is solved iteratively; every product D p is one inverse dynamics with acceleration p, at rest and
without weight, O(n). In exact arithmetic n steps end at the solution, so all of it is O(n^2) and pays from about twelve
joints on, where factoring costs O(n^3). Directions are scaled by the diagonal of D, which costs O(n).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.loads import loads_on_links
from dalembert.errors import ArgumentError
from dalembert.kinematics import checked
from dalembert.kinematics.step import steps
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import expect_real


class ConjugateGradients(NamedTuple):
    """What conjugate gradients found.

    Args:
        a: accelerations.
        steps: how many steps were taken.
        residual: forces that are left, relative to those that had to be balanced, both scaled by the diagonal of D.
    """

    a: Array
    steps: int
    residual: float


def conjugate_gradients(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    tau: Any,
    *,
    wrenches: Mapping[str, Any] | None = None,
    tolerance: float = 1e-13,
    most: int | None = None,
) -> ConjugateGradients:
    """Accelerations for one state in numbers. Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism; every joint must move something that has mass, and mimic joints are left to others.
        q: positions, nq.
        v: velocities, nv.
        tau: generalised forces, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, frame axes, about the frame's origin.
        tolerance: relative residual at which the iteration ends.
        most: steps at most; ten times nv by default, as rounding may ask for more than nv.
    """
    q, v, tau = checked(mechanism, q=q, v=v, tau=tau)
    if any(x.dtype == object for x in (q, v, tau)):
        raise ArgumentError("conjugate gradients end where a residual is small: they need numbers")
    tolerance = expect_real(tolerance, "conjugate_gradients, tolerance", 0)
    tree, n = mechanism.tree, mechanism.nv
    weightless, still = replace(tree, gravity=arrays.zeros(3)), np.zeros(n)
    scale = 1 / np.asarray(inertia_diagonal(tree, q), dtype=float)
    r = np.asarray(tau - augmented_links(tree, q, v, still, loads_on_links(mechanism, wrenches)), dtype=float)
    a, y = np.zeros(n), scale * r
    p, size = y, float(r @ y)
    first, count = size, 0
    while size > tolerance * tolerance * first and count < (10 * n if most is None else most):
        Dp = np.asarray(augmented_links(weightless, q, still, p), dtype=float)
        way = size / float(p @ Dp)
        a, r, count = a + way * p, r - way * Dp, count + 1
        y = scale * r
        before, size = size, float(r @ y)
        p = y + size / before * p
    return ConjugateGradients(a, count, float(np.sqrt(size / first)) if first else 0.0)


def inertia_diagonal(tree: Tree, q: Array) -> Array:
    """The diagonal of the inertia matrix from the moments of the generalized links, in O(n).

    Args:
        tree: the links; without mimic joints.
    """
    mass, U, E = generalized_moments(tree, steps(tree, q))
    found: list[Scalar] = [0] * tree.nv
    for i, link in enumerate(tree.links):
        for k in range(link.nv):
            zw, zv = link.axes_w[:, k], link.axes_v[:, k]
            moment, force = product(E[i], zw) + cross(U[i], zv), cross(zw, U[i]) + mass[i] * zv
            if not scalar.is_zero(found[link.v + k]):
                raise ArgumentError(
                    f"joint {link.joint!r} follows another one: conjugate gradients need independent joints"
                )
            found[link.v + k] = dot(zw, moment) + dot(zv, force)
    return arrays.asarray(found)

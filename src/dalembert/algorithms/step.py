"""One step along the tree: carrying vectors and tensors across a joint with the fewest operations.

A joint's rotation is ``A = pre . turn(q) . post`` with constant ``pre`` and ``post``. Applying the factors one after
the other costs 8 multiplications and 4 additions for a Denavit-Hartenberg joint (4 and 2 when the twist is 0 or 90
degrees), where multiplying by the assembled matrix would cost 9 and 6 and building it 4 more (THESIS 5.3.2).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.scalar import Array, Scalar, product
from dalembert.model.joint import rotation_about
from dalembert.model.tree import Link, Tree


class Step:
    """The step from a link to its parent at one configuration.

    Args:
        link: the outer link.
        q: positions of the whole mechanism.
    """

    def __init__(self, link: Link, q: Sequence[Scalar]):
        self.link = link
        self.s = link.translation(q)
        """From the parent's origin to the link's origin, in the parent's axes."""
        factors: list[PlaneTurn | Matrix] = [*_constant(link.placement.rotation)]
        if link.kind == "spherical":
            factors.append(Matrix(rotation_from_quaternion(link.position(q))))
        elif link.rotates:
            angle = link.position(q)[0]
            factors.append(_about_coordinate_axis(link.axis, angle) or Matrix(rotation_about(link.axis, angle)))
        if link.post is not None:
            factors += _constant(link.post)
        self._factors = factors

    def inward(self, u: Array) -> Array:
        """A u: from the link's axes to the parent's."""
        for factor in reversed(self._factors):
            u = factor.apply(u)
        return u

    def outward(self, u: Array) -> Array:
        """A^T u: from the parent's axes to the link's."""
        for factor in self._factors:
            u = factor.apply_transposed(u)
        return u

    def inward_symmetric(self, E: Array) -> Array:
        """A E A^T for a symmetric tensor; only the upper triangle of E is read."""
        for factor in reversed(self._factors):
            E = factor.similar(E)
        return E

    def inward_tensor(self, T: Array) -> Array:
        """A T A^T for any tensor."""
        half = scalar.stack([self.inward(row) for row in T])  # rows: (A T^T...)^T, i.e. T A^T
        return scalar.stack([self.inward(column) for column in half.T]).T


def steps(tree: Tree, q: Sequence[Scalar]) -> list[Step]:
    """The step of every link."""
    return [Step(link, q) for link in tree.links]


class PlaneTurn:
    """Rotation by an angle of given cosine and sine about coordinate axis ``k``."""

    def __init__(self, k: int, c: Scalar, s: Scalar):
        self.k, self.i, self.j = k, (k + 1) % 3, (k + 2) % 3
        self.c, self.s = c, s

    def apply(self, u: Array) -> Array:
        out = list(u)
        x, y = u[self.i], u[self.j]
        out[self.i], out[self.j] = self.c * x - self.s * y, self.s * x + self.c * y
        return scalar.asarray(out)

    def apply_transposed(self, u: Array) -> Array:
        out = list(u)
        x, y = u[self.i], u[self.j]
        out[self.i], out[self.j] = self.c * x + self.s * y, self.c * y - self.s * x
        return scalar.asarray(out)

    def similar(self, E: Array) -> Array:
        """R E R^T with 8 multiplications and 7 additions, besides 2 and 3 for the products of sine and cosine."""
        i, j, k, c, s = self.i, self.j, self.k, self.c, self.s
        Eii, Ejj, Eij = E[i, i], E[j, j], _upper(E, i, j)
        Eik, Ejk = _upper(E, i, k), _upper(E, j, k)
        ss, sc = s * s, s * c
        D = Eii - Ejj
        x = ss * D + (sc + sc) * Eij
        out = np.empty((3, 3), dtype=object)
        out[i, i], out[j, j], out[k, k] = Eii - x, Ejj + x, E[k, k]
        out[i, j] = out[j, i] = sc * D + (1 - (ss + ss)) * Eij
        out[i, k] = out[k, i] = c * Eik - s * Ejk
        out[j, k] = out[k, j] = s * Eik + c * Ejk
        return scalar.asarray(out.tolist())


class Matrix:
    """Rotation by any matrix."""

    def __init__(self, R: Array):
        self.R = R

    def apply(self, u: Array) -> Array:
        return product(self.R, u)

    def apply_transposed(self, u: Array) -> Array:
        return product(self.R.T, u)

    def similar(self, E: Array) -> Array:
        R = self.R
        full = scalar.asarray([[_upper(E, i, j) for j in range(3)] for i in range(3)])
        half = product(R, full)
        upper = {(i, j): product(half[i : i + 1], R[j])[0] for i in range(3) for j in range(i, 3)}
        return scalar.asarray([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])


def _upper(E: Array, i: int, j: int) -> Scalar:
    return E[min(i, j), max(i, j)]


def _constant(R: Array) -> list[PlaneTurn | Matrix]:
    """The cheapest factors of a constant rotation: none, a permutation, one plane turn, or a matrix."""
    if R.dtype != object and np.array_equal(R, np.eye(3)):
        return []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if all(scalar.is_zero(x) for x in (R[k, i], R[k, j], R[i, k], R[j, k])) and R[k, k] == 1:
            return [] if R[i, i] == 1 else [PlaneTurn(k, R[i, i], R[j, i])]
    return [Matrix(R)]


def _about_coordinate_axis(axis: Array, angle: Scalar) -> PlaneTurn | None:
    for k in range(3):
        if all(scalar.is_zero(axis[m]) for m in range(3) if m != k) and scalar.is_number(axis[k]):
            sine = scalar.sin(angle)
            return PlaneTurn(k, scalar.cos(angle), sine if axis[k] > 0 else -sine)
    return None

"""One step along the tree: carrying vectors and tensors across a joint with the fewest operations.

A joint's rotation is ``A = pre . turn(q) . post`` with constant ``pre`` and ``post``. Applying the factors one after
the other costs 8 multiplications and 4 additions for a Denavit-Hartenberg joint (4 and 2 when the twist is 0 or 90
degrees), where multiplying by the assembled matrix would cost 9 and 6 and building it 4 more (THESIS 5.3.2).
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, Coordinates, product
from dalembert.algebra.scalar import Scalar
from dalembert.model.joint import rotation_about
from dalembert.model.tree import Link, Tree


class Step:
    """The step from a link to its parent at one configuration."""

    def __init__(self, link: Link, q: Coordinates):
        self.link = link
        self.s = link.translation(q)
        """From the parent's origin to the link's origin, in the parent's axes."""
        self._pre = _constant(link.placement.rotation)
        if link.kind == "spherical":
            self._pre.append(Matrix(link.attitude(q)))
        elif link.rotates:
            self._pre.append(_turn(link, q))
        self._post = _constant(link.post) if link.post is not None else []

    @property
    def turns(self) -> int:
        """How many plane turns a vector takes across the joint; a matrix counts as two, quarter turns as none."""
        return sum(factor.turns for factor in (*self._pre, *self._post))

    # The joint frame lies between the two: moved by the joint, but not yet turned by `post` into the link's axes.

    def to_joint(self, u: Array) -> Array:
        """From the parent's axes to the moved joint frame."""
        for factor in self._pre:
            u = factor.apply_transposed(u)
        return u

    def to_link(self, u: Array) -> Array:
        """From the moved joint frame to the link's axes."""
        for factor in self._post:
            u = factor.apply_transposed(u)
        return u

    def from_link(self, u: Array) -> Array:
        """From the link's axes to the moved joint frame."""
        for factor in reversed(self._post):
            u = factor.apply(u)
        return u

    def from_joint(self, u: Array) -> Array:
        """From the moved joint frame to the parent's axes."""
        for factor in reversed(self._pre):
            u = factor.apply(u)
        return u

    def from_link_symmetric(self, E: Array) -> Array:
        """A symmetric tensor from the link's axes to the moved joint frame; only the upper triangle is read."""
        for factor in reversed(self._post):
            E = factor.similar(E)
        return E

    def from_joint_symmetric(self, E: Array) -> Array:
        """A symmetric tensor from the moved joint frame to the parent's axes; only the upper triangle is read."""
        for factor in reversed(self._pre):
            E = factor.similar(E)
        return E

    def from_link_tensor(self, T: Array) -> Array:
        """Any tensor from the link's axes to the moved joint frame."""
        for factor in reversed(self._post):
            T = factor.similar_tensor(T)
        return T

    def from_joint_tensor(self, T: Array) -> Array:
        """Any tensor from the moved joint frame to the parent's axes."""
        for factor in reversed(self._pre):
            T = factor.similar_tensor(T)
        return T

    def inward(self, u: Array) -> Array:
        """A u: from the link's axes to the parent's."""
        return self.from_joint(self.from_link(u))

    def outward(self, u: Array) -> Array:
        """A^T u: from the parent's axes to the link's."""
        return self.to_link(self.to_joint(u))

    def inward_symmetric(self, E: Array) -> Array:
        """A E A^T for a symmetric tensor; only the upper triangle of E is read."""
        return self.from_joint_symmetric(self.from_link_symmetric(E))


class WholeStep:
    """The same by whole matrices, in which numbers beside symbols stay exact: 1 * q is q."""

    def __init__(self, link: Link, q: Coordinates):
        self.s, self._A = link.translation(q), link.rotation(q)

    def outward(self, u: Array) -> Array:
        """A^T u: from the parent's axes to the link's."""
        return product(self._A.T, u)


def steps(tree: Tree, q: Coordinates) -> list[Step]:
    """The step of every link."""
    return [Step(link, q) for link in tree.links]


class PlaneTurn:
    """Rotation about a coordinate axis.

    Args:
        k: number of the axis.
        c: cosine of the angle.
        s: sine of the angle.
    """

    @property
    def turns(self) -> int:
        return 0 if scalar.is_zero(self.c) or scalar.is_zero(self.s) else 1

    def __init__(self, k: int, c: Scalar, s: Scalar):
        self.k, self.i, self.j = k, (k + 1) % 3, (k + 2) % 3
        self.c, self.s = c, s

    def apply(self, u: Array) -> Array:
        out = list(u)
        x, y = u[self.i], u[self.j]
        out[self.i], out[self.j] = self.c * x - self.s * y, self.s * x + self.c * y
        return arrays.asarray(out)

    def apply_transposed(self, u: Array) -> Array:
        out = list(u)
        x, y = u[self.i], u[self.j]
        out[self.i], out[self.j] = self.c * x + self.s * y, self.c * y - self.s * x
        return arrays.asarray(out)

    def similar(self, E: Array) -> Array:
        """R E R^T with 8 multiplications and 7 additions, besides one addition for twice the cosine.

        With y = s (Eii - Ejj) + 2c Eij the plane part is Eii - s y, Ejj + s y and c y - Eij.
        """
        i, j, k, c, s = self.i, self.j, self.k, self.c, self.s
        Eii, Ejj, Eij = E[i, i], E[j, j], _upper(E, i, j)
        Eik, Ejk = _upper(E, i, k), _upper(E, j, k)
        y = s * (Eii - Ejj) + (c + c) * Eij
        x = s * y
        out = np.empty((3, 3), dtype=object)
        out[i, i], out[j, j], out[k, k] = Eii - x, Ejj + x, E[k, k]
        out[i, j] = out[j, i] = c * y - Eij
        out[i, k] = out[k, i] = c * Eik - s * Ejk
        out[j, k] = out[k, j] = s * Eik + c * Ejk
        return arrays.asarray(out.tolist())

    def similar_tensor(self, T: Array) -> Array:
        """R T R^T for any tensor, 12 multiplications and 11 additions; its trace and skew part in the plane stay.

        With y = s (Tii - Tjj) + c (Tij + Tji) the plane part is Tii - s y, Tjj + s y, c y - Tji and c y - Tij.
        """
        i, j, k, c, s = self.i, self.j, self.k, self.c, self.s
        y = s * (T[i, i] - T[j, j]) + c * (T[i, j] + T[j, i])
        x, z = s * y, c * y
        out = np.empty((3, 3), dtype=object)
        out[i, i], out[j, j], out[k, k] = T[i, i] - x, T[j, j] + x, T[k, k]
        out[i, j], out[j, i] = z - T[j, i], z - T[i, j]
        out[i, k], out[j, k] = c * T[i, k] - s * T[j, k], s * T[i, k] + c * T[j, k]
        out[k, i], out[k, j] = c * T[k, i] - s * T[k, j], s * T[k, i] + c * T[k, j]
        return arrays.asarray(out.tolist())


class Matrix:
    """Rotation by any matrix."""

    turns = 2

    def __init__(self, R: Array):
        self.R = R

    def apply(self, u: Array) -> Array:
        return product(self.R, u)

    def apply_transposed(self, u: Array) -> Array:
        return product(self.R.T, u)

    def similar(self, E: Array) -> Array:
        R = self.R
        full = arrays.asarray([[_upper(E, i, j) for j in range(3)] for i in range(3)])
        half = product(R, full)
        upper = {(i, j): product(half[i : i + 1], R[j])[0] for i in range(3) for j in range(i, 3)}
        return arrays.asarray([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])

    def similar_tensor(self, T: Array) -> Array:
        return product(product(self.R, T), self.R.T)


def _upper(E: Array, i: int, j: int) -> Scalar:
    return E[min(i, j), max(i, j)]


def _constant(R: Array) -> list[PlaneTurn | Matrix]:
    """The cheapest factors of a constant rotation: none, one or two plane turns, or a matrix."""
    if R.dtype != object and np.array_equal(R, np.eye(3)):
        return []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        if all(scalar.is_zero(x) for x in (R[k, i], R[k, j], R[i, k], R[j, k])) and scalar.is_one(R[k, k]):
            return [] if scalar.is_one(R[i, i]) and scalar.is_zero(R[j, i]) else [PlaneTurn(k, R[i, i], R[j, i])]
    if scalar.is_zero(R[2, 0]) and not any(scalar.is_zero(R[i, j]) for i, j in ((0, 0), (1, 0), (2, 1), (2, 2))):
        return [PlaneTurn(2, R[0, 0], R[1, 0]), PlaneTurn(0, R[2, 2], R[2, 1])]  # Rz(gamma) Rx(alpha)
    return [Matrix(R)]


def _turn(link: Link, q: Coordinates) -> PlaneTurn | Matrix:
    """The joint's own rotation."""
    for k in range(3):
        if all(scalar.is_zero(link.axis[m]) for m in range(3) if m != k) and scalar.is_number(link.axis[k]):
            cosine, sine = _cosine_sine(link, q)
            return PlaneTurn(k, cosine, sine if link.axis[k] > 0 else -sine)
    return Matrix(rotation_about(link.axis, link.position(q)[0]))


def _cosine_sine(link: Link, q: Coordinates) -> tuple[Scalar, Scalar]:
    """Of the joint angle; an offset of a quarter turn costs nothing."""
    quarters = link.offset / (np.pi / 2) if isinstance(link.offset, float) else 0.5
    if quarters != round(quarters):
        angle = link.position(q)[0]
        return scalar.cos(angle), scalar.sin(angle)
    angle = q[link.q] if scalar.is_one(link.gain) else link.gain * q[link.q]
    c, s = scalar.cos(angle), scalar.sin(angle)
    return ((c, s), (-s, c), (-c, -s), (s, -c))[round(quarters) % 4]

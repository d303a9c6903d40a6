"""Composition of relative motion in Kronecker form (NGUYEN (77)-(91)).

A frame c moves relative to b, b relative to a. From the matrices of b in a and of c in b follow those of c in a. The
Hessians so composed differ from dJ/dq as matrices, but agree in every product with (qd x qd), which is all that
accelerations need.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra.arrays import Array, product
from dalembert.algebra.kronecker import block_skew, kron
from dalembert.algebra.vectors import dual


@dataclass(frozen=True, eq=False)
class FrameMatrices:
    """Jacobians and Hessians of a frame relative to another one, in one set of axes.

    Args:
        J_T: translational Jacobian, 3 x n.
        J_R: rotational Jacobian, 3 x n.
        H_T: translational Hessian (starred, if the axes are those of the moving frame), 3 x n^2.
        H_R: rotational Hessian, 3 x n^2.
    """

    J_T: Array
    J_R: Array
    H_T: Array
    H_R: Array

    def rotated(self, A: Array) -> FrameMatrices:
        """The same in other axes, not moving relative to the first ones as far as Hessians go.

        Args:
            A: old to new components.
        """
        return FrameMatrices(*(product(A, x) for x in (self.J_T, self.J_R, self.H_T, self.H_R)))


def composed(outer: FrameMatrices, inner: FrameMatrices, d: Array) -> FrameMatrices:
    """The matrices of c in a, all in the same axes: (77), (78), (86), (87); in axes c (89)-(91).

    Args:
        outer: of b relative to a.
        inner: of c relative to b, turned into the same axes.
        d: from the origin of b to that of c, in these axes.
    """
    n = outer.J_T.shape[1]
    E, EE = np.eye(n, dtype=int), np.eye(n * n, dtype=int)
    skew = block_skew(outer.J_R)
    J_T = outer.J_T - product(dual(d), outer.J_R) + inner.J_T
    J_R = outer.J_R + inner.J_R
    twice = product(skew, kron(skew, E))
    H_T = (
        outer.H_T - product(dual(d), outer.H_R)
        + 2 * product(skew, kron(inner.J_T, E))
        + product(twice, kron(d, EE))
        + inner.H_T
    )  # fmt: skip
    H_R = outer.H_R + inner.H_R + product(skew, kron(inner.J_R, E))
    return FrameMatrices(J_T, J_R, H_T, H_R)


def at_point(frame: FrameMatrices, p: Array) -> tuple[Array, Array]:
    """J_TG and H_TG of a point fixed in the frame: (79), (88).

    Args:
        p: from the frame's origin to the point, in the same axes.
    """
    n = frame.J_T.shape[1]
    E, EE = np.eye(n, dtype=int), np.eye(n * n, dtype=int)
    skew = block_skew(frame.J_R)
    J = frame.J_T - product(dual(p), frame.J_R)
    H = frame.H_T - product(dual(p), frame.H_R) + product(product(skew, kron(skew, E)), kron(p, EE))
    return J, H

"""Spectral decomposition of a symmetric tensor: its principal values and axes. THESIS section 3.3.

Eigenvalues are branches of one function: which of them is smallest, and whether two are equal, is a question about
values. So this works on numbers, in exact constants, and for the complex step, but not on symbols.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.arguments import Matrix, exact_tensor, numeric
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.scalar import Scalar, constant, is_symbolic, sqrt
from dalembert.algebra.tensors import axial_projection, scalar_invariants
from dalembert.algebra.vectors import cross, dot, double_dot, norm, unit
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError

SYMMETRIC = 1e-9
"""Largest difference of mirrored entries, relative to the largest entry, that is taken for rounding."""

RESOLVED = 64 * sys.float_info.epsilon
"""Relative distance of two computed eigenvalues below which rounding may have made the difference."""

IMAGINARY_STEP = 1e-8
"""Largest imaginary part, relative to the distance of eigenvalues: its square is lost in rounding."""


class SpectralDecomposition(NamedTuple):
    """A symmetric tensor as ``sum lambda_k P_k`` over projections on its principal axes. (3.3.17)

    Args:
        eigenvalues: in ascending order.
        eigenvectors: unit vectors, one per column, in the order of the eigenvalues; a right-handed basis.
    """

    eigenvalues: Array
    eigenvectors: Array

    @property
    def projections(self) -> tuple[Array, Array, Array]:
        """The three axial projections ``P_k``: idempotent, mutually orthogonal, summing to the identity."""
        x1, x2, x3 = self.eigenvectors.T
        return axial_projection(x1), axial_projection(x2), axial_projection(x3)


def spectral_decomposition(t: Matrix) -> SpectralDecomposition:
    """Principal values and axes of a symmetric tensor. (3.3.17)

    Exact constants give exact values and axes. Complex numbers are a step off the real axis: the imaginary parts of the
    result are the derivative in the direction of those of ``t``, and where two principal values are equal, so that
    there is none, ``SingularityError`` is raised. Symbols and traced scalars raise ``UnsupportedError``.

    Args:
        t: a 3x3 matrix of numbers or exact constants, symmetric up to rounding; complex ones symmetric too, not
            Hermitian.
    """
    entries = exact_tensor(t, "t")
    values = numeric(entries)
    if values is None:
        raise UnsupportedError(
            "spectral_decomposition needs numbers or exact constants: the order of the principal values of a symbolic "
            "tensor, and its axes where two values are equal, depend on values, so no single formula holds; put "
            "numbers in first, or work with scalar_invariants, which any scalars have"
        )
    if not np.all(np.isfinite(values)):
        raise ArgumentError("t must be a tensor of finite numbers to have a spectral decomposition")
    largest, asymmetry = np.max(np.abs(values)), np.max(np.abs(values - values.T))
    if not asymmetry <= SYMMETRIC * largest:
        raise ArgumentError(
            f"t must be a symmetric tensor, but entries differ from their mirror images by up to {asymmetry:.3g}; "
            "decompose symmetric_part(t) if that is what is meant"
        )
    if is_symbolic(entries) and not any(_is_rounded(x) for x in entries.flat):
        return _exact(entries, values)
    eigenvalues, axes = np.linalg.eigh(values.real.astype(float))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    if np.iscomplexobj(values):
        return _continued(eigenvalues, axes, values.imag)
    return SpectralDecomposition(eigenvalues, axes)


def _continued(eigenvalues: Array, axes: Array, step: Array) -> SpectralDecomposition:
    """First-order perturbation: ``dlambda_k = x_k.dT x_k``, ``dx_k = sum_j x_j (x_j.dT x_k)/(lambda_k - lambda_j)``."""
    change = axes.T @ step @ axes
    gaps = eigenvalues[None, :] - eigenvalues[:, None]
    apart = min(eigenvalues[1] - eigenvalues[0], eigenvalues[2] - eigenvalues[1])
    if np.any(step):
        if apart <= RESOLVED * np.max(np.abs(eigenvalues)):
            raise SingularityError(
                f"the principal values {eigenvalues.tolist()} are not distinct: their axes, free to turn in a plane, "
                "have no derivative there; scalar_invariants are smooth everywhere"
            )
        if not np.max(np.abs(step)) <= IMAGINARY_STEP * apart:
            raise ArgumentError(
                f"imaginary parts of up to {np.max(np.abs(step)):.3g} are no complex step: they may be "
                f"{IMAGINARY_STEP:g} of the distance {apart:.3g} of the principal values; take 1e-30, nothing is "
                "subtracted"
            )
    turn = np.divide(change, gaps, out=np.zeros((3, 3)), where=~np.eye(3, dtype=bool) & (gaps != 0))
    return SpectralDecomposition(eigenvalues + 1j * np.diag(change), axes + 1j * (axes @ turn))


def _exact(t: Array, values: Array) -> SpectralDecomposition:
    if np.iscomplexobj(values):
        raise UnsupportedError("spectral_decomposition of exact constants needs real ones; evaluate complex ones first")
    low, middle, high = eigenvalues = sorted(_eigenvalues(t), key=_value)
    lower, upper = _equal(low, middle), _equal(middle, high)
    one = asarray(sys.modules["sympy"].eye(3))
    if lower and upper:
        axes = one
    elif lower or upper:  # a plane of axes: any two of it, and the third normal to it
        double, single = (low, high) if lower else (high, low)
        normal = _longest_column(t - double * one)
        across = unit(cross(normal, one[int(np.argmin(np.abs(numeric(normal))))]))  # type: ignore[arg-type]
        pair = [across, cross(normal, across)]
        axes = asarray([*pair, normal] if lower else [normal, *pair]).T
        eigenvalues = [double, double, single] if lower else [single, double, double]
    else:
        axes = _distinct_axes(t, eigenvalues)
    return SpectralDecomposition(asarray(eigenvalues), axes)


def _eigenvalues(t: Array) -> list[Scalar]:
    """Roots of ``x^3 - i1 x^2 + i2 x - i3``, which are real, without complex numbers on the way."""
    sympy = sys.modules["sympy"]
    i1, i2, i3 = scalar_invariants(t)
    if all(x.is_Rational for x in (i1, i2, i3)):
        x = sympy.Dummy("x")
        found = sympy.roots(sympy.Poly([1, -i1, i2, -i3], x), trig=True)  # rational and quadratic ones come out plain
        return [root for root, multiplicity in found.items() for _ in range(multiplicity)]
    mean = i1 / 3
    deviation = t - mean * asarray(sympy.eye(3))
    squared = double_dot(deviation, deviation) / 6
    if constant(squared) == 0:
        return [mean] * 3
    radius = sqrt(squared)
    cosine = scalar_invariants(deviation)[2] / (2 * radius**3)
    if _value(1 - cosine**2) <= 0:  # +-1 in disguise: two values are equal
        cosine = sympy.Integer(1 if _value(cosine) > 0 else -1)
    third = sympy.acos(cosine) / 3
    return [mean + 2 * radius * sympy.cos(third + 2 * sympy.pi * k / 3) for k in range(3)]


def _value(x: Scalar) -> Any:
    return constant(x)


def _equal(a: Scalar, b: Scalar) -> bool:
    return constant(a - b) == 0


def _distinct_axes(t: Array, eigenvalues: list[Scalar]) -> Array:
    """Each axis is normal to all rows of ``T - lambda 1``: along the product of the two that differ most.

    Which two, and whether the axes are right-handed, is decided in 50 digits: to evaluate long exact expressions takes
    SymPy seconds each, and here only the eigenvalues need it.
    """
    sympy = sys.modules["sympy"]
    one = asarray(sympy.eye(3))
    decimal = asarray(sympy.Matrix(t).evalf(50))
    axes, rough = [], []
    for value in eigenvalues:
        near = decimal - value.evalf(50) * one
        i, j = max(((0, 1), (1, 2), (2, 0)), key=lambda rows: norm(cross(near[rows[0]], near[rows[1]])))
        rows = t - value * one
        along = cross(rows[i], rows[j])
        axes.append(along / norm(along))
        rough.append(cross(near[i], near[j]))
    if dot(cross(rough[0], rough[1]), rough[2]) < 0:
        axes[0] = -axes[0]
    return asarray(axes).T


def _longest_column(t: Array) -> Array:
    lengths = np.linalg.norm(numeric(t), axis=0)  # type: ignore[arg-type]
    return unit(t[:, int(np.argmax(lengths))])


def _is_rounded(x: Any) -> bool:
    return isinstance(x, (float, complex, np.inexact)) or getattr(x, "has", bool)(sys.modules["sympy"].Float)

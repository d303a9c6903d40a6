"""Grounds as surfaces: the foot of a point and the normal there, over any scalar and without branches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import dot
from dalembert.contact.choices import above
from dalembert.errors import ModelError
from dalembert.model import Ground
from dalembert.model.formula import Formula
from dalembert.tracing.evaluate import inline
from dalembert.tracing.graph import Graph
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of

NEWTON_STEPS = 4
"""Of the foot on a formula: from a point closer than half the radius of curvature the error is below 1e-9 of it."""


class Surfaces:
    """The surfaces of a ground, somewhere in the world.

    Args:
        at: pose of its frame in the world.
    """

    def __init__(self, ground: Ground, at: Transform):
        self.ground, self.at = ground, at
        self.count = ground.surfaces
        self.curved = ground.kind != "half-spaces"

    def foot(self, k: int, point: Array) -> tuple[Array, Array]:
        """A point of surface k and the unit normal there, such that normal . (point - foot) is the distance.

        Args:
            point: in the world, m.
        """
        if not self.curved:
            return self.at.apply(self.ground.points[k]), self.at.rotate(self.ground.normals[k])
        x, y, z = arrays.product(self.at.rotation.T, point - self.at.translation)
        if self.ground.kind == "formula":
            foot, slopes = _nearest(self.ground, x, y, z)
        else:
            height, *slopes = _field(self.ground, x, y)
            foot = arrays.asarray([x, y, height])
        normal = arrays.asarray([-slopes[0], -slopes[1], 1])
        return self.at.apply(foot), self.at.rotate(normal / scalar.sqrt(dot(normal, normal)))

    def height(self, x: Scalar, y: Scalar) -> Scalar:
        """z of a curved ground above a point of its own x, y plane."""
        if self.ground.kind == "height-field":
            return _field(self.ground, x, y)[0]
        program = _derivatives(self.ground.function, self.ground.names)
        return inline(program, {"x": x, "y": y, "c": list(self.ground.coefficients)})["f"][0]

    def normal(self, k: int, point: Array) -> Array:
        """The unit normal of surface k near a point of the world."""
        return self.foot(k, point)[1]


# ------------------------------------------------------------------------------------------------------------- formulas


def _nearest(ground: Ground, x: Scalar, y: Scalar, z: Scalar) -> tuple[Array, list[Scalar]]:
    """The nearest point of z = f(x, y) and the slopes there; Newton's method on the squared distance.

    With u, v the foot and d = f - z, half the gradient is (u - x + d f_u, v - y + d f_v). Where the point is so far
    above a hollow that the second derivatives of d are of no use, they are left out.
    """
    program = _derivatives(ground.function, ground.names)

    def at(u: Scalar, v: Scalar) -> list[Scalar]:
        return list(inline(program, {"x": u, "y": v, "c": list(ground.coefficients)})["f"])

    u, v = x, y
    for _ in range(NEWTON_STEPS):
        f, fu, fv, fuu, fuv, fvv = at(u, v)
        d = f - z
        gu, gv = u - x + d * fu, v - y + d * fv
        auu, auv, avv = 1 + fu * fu, fu * fv, 1 + fv * fv
        buu, buv, bvv = auu + d * fuu, auv + d * fuv, avv + d * fvv
        whole, plain = buu * bvv - buv * buv, auu * avv - auv * auv
        convex = above(4 * whole, plain) & above(buu, 0)
        huu, huv, hvv, det = (
            scalar.select(convex, b, a) for b, a in ((buu, auu), (buv, auv), (bvv, avv), (whole, plain))
        )
        u, v = u - (hvv * gu - huv * gv) / det, v - (huu * gv - huv * gu) / det
    f, fu, fv, *_ = at(u, v)
    return arrays.asarray([u, v, f]), [fu, fv]


@lru_cache(maxsize=64)
def _derivatives(function: Formula, names: tuple[str, ...]) -> Program:
    """The height with its first and second derivatives by x and y, as a program of x, y and the parameters c."""
    import sympy

    from dalembert.tracing.sympy import from_sympy

    height = sympy.sympify(function.expressions[0], strict=True)
    symbols = {s.name: s for s in height.free_symbols}
    x, y = (symbols.get(name, sympy.Symbol(name, real=True)) for name in ("x", "y"))
    unknown = sorted(set(symbols) - {"x", "y", *names})
    if unknown:
        raise ModelError(f"ground: z = {height} has the unknown symbols {', '.join(unknown)}")
    entries = [height, *(height.diff(s) for s in (x, y)), *(height.diff(*two) for two in ((x, x), (x, y), (y, y)))]
    graph = Graph()
    inputs: dict[str, Any] = {"x": graph.input("x", ()), "y": graph.input("y", ())}
    inputs["c"] = graph.input("c", (len(names),))
    known = {x: inputs["x"], y: inputs["y"]} | {symbols[n]: inputs["c"][k] for k, n in enumerate(names) if n in symbols}
    traced = np.array(from_sympy([e.doit() for e in entries], known), dtype=object)
    return program_of(graph, {"f": traced}, "height")


# -------------------------------------------------------------------------------------------------------- height fields


def _field(ground: Ground, x: Scalar, y: Scalar) -> list[Scalar]:
    """Height and slopes of a height field: z = sum_ij h_ij a_i(x) b_j(y) with hats a_i, b_j of the grid's width."""
    (a, da), (b, db) = (
        _hats(s, corner, spacing, size)
        for s, corner, spacing, size in zip((x, y), ground.corner, ground.spacing, ground.heights.shape)
    )
    rows, slopes = arrays.product(ground.heights, b), arrays.product(ground.heights, db)
    return [_dot(a, rows), _dot(da, rows), _dot(a, slopes)]


def _hats(s: Scalar, corner: float, spacing: float, size: int) -> tuple[Array, Array]:
    """Weights of the grid points along one axis, and their slopes; level beyond the border."""
    last = size - 1
    inside = (s - corner) / spacing
    held = scalar.minimum(scalar.maximum(inside, 0), last)
    weights, slopes = [], []
    for k in range(size):
        away = held - k
        weights.append(scalar.maximum(1 - scalar.absolute(away), 0))
        left = scalar.select(above(away, -1), scalar.select(above(0, away), 1 / spacing, 0), 0)
        right = scalar.select(above(1, away), scalar.select(above(away, 0), -1 / spacing, 0), 0)
        slopes.append(left + right)
    level = [scalar.select(above(inside, 0), scalar.select(above(last, inside), d, 0), 0) for d in slopes]
    return arrays.asarray(weights), arrays.asarray(level)


def _dot(a: Array, b: Array) -> Scalar:
    return arrays.product(b[None, :], a)[0]

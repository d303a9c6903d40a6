"""Dependences between effects of moments, exactly: with SymPy, for mechanisms whose geometry has symbols.

That an effect is a combination of others is found with numbers. Its coefficients then follow from as many equations as
there are others, written at states whose sines and cosines are fractions, so that nothing but the symbols of the
geometry is left in them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algorithms.inverse_dynamics.tensor_form import tensor_form
from dalembert.model.tree import Link, Moments, Tree

PYTHAGOREAN = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (12, 35, 37), (9, 40, 41))
QUATERNIONS = ((1, 2, 2, 4), (2, 4, 1, 2), (4, -2, 2, 1), (2, 1, -4, 2))
"""Of length five."""


def effect(tree: Tree, link: int, moments: Moments, state: tuple[Array, Array, Array]) -> Array:
    """Generalised forces of some matter on one link, all others empty.

    Args:
        tree: the links; their own masses do not matter.
        link: which one carries the matter.
        moments: the matter.
        state: positions, velocities, accelerations.
    """
    empty = Moments(0, arrays.zeros(3), arrays.zeros(3, 3))
    links = tuple(replace(one, moments=moments if k == link else empty) for k, one in enumerate(tree.links))
    return tensor_form(replace(tree, links=links), *state)


def exact_states(tree: Tree, count: int) -> list[tuple[Array, Array, Array]]:
    """States in general position, of fractions and angles whose sines and cosines are fractions.

    Args:
        tree: the links.
        count: how many states.
    """
    import sympy

    states = []
    for k in range(count):
        q: list[Any] = [sympy.Integer(0)] * tree.nq
        for i, link in enumerate(tree.links):
            if link.kind == "spherical":
                eta = QUATERNIONS[(i + k) % len(QUATERNIONS)]
                q[link.q : link.q + 4] = [sympy.Rational(x, 5) for x in eta]
            else:
                q[link.q] = _position(link, i + 3 * k)
        rates = [sympy.Rational(2 * ((5 * i + 7 * k) % 11) - 9, 4 + i) for i in range(2 * tree.nv)]
        states.append((arrays.asarray(q), arrays.asarray(rates[: tree.nv]), arrays.asarray(rates[tree.nv :])))
    return states


def _position(link: Link, k: int) -> Any:
    import sympy

    near, far, long = PYTHAGOREAN[k % len(PYTHAGOREAN)]
    turn = sympy.acos(sympy.Rational(near, long)) * (-1) ** (k % 3)
    target = turn if link.rotates and link.kind != "helical" else sympy.Rational(near - far // 3, far)
    return (target - in_fractions(link.offset)) / in_fractions(link.gain)


def solve_exactly(columns: list[list[Any]], right: list[Any], numbers: dict[Any, float]) -> list[Any] | None:
    """c with sum of c_j columns_j = right, or None if no equations determine it.

    Args:
        columns: a list of expressions for each unknown.
        right: as many expressions.
        numbers: values of all symbols, by which equations are chosen.
    """
    import sympy

    size = len(columns)
    values = np.array([[float(sympy.sympify(x).subs(numbers)) for x in column] for column in columns]).T
    rows: list[int] = []
    left = values.copy()
    for _ in range(size):  # the equation that is farthest from depending on those taken already
        lengths = np.linalg.norm(left, axis=1)
        row = int(np.argmax(lengths))
        if lengths[row] < 1e-9 * np.abs(values).max():
            return None
        rows.append(row)
        unit = left[row] / lengths[row]
        left = left - np.outer(left @ unit, unit)
    A = sympy.Matrix(size, size, lambda r, c: shortest(columns[c][rows[r]]))
    b = sympy.Matrix(size, 1, lambda r, _: shortest(right[rows[r]]))
    return [sympy.simplify(x) for x in A.LUsolve(b)]


def in_fractions(x: Any) -> Any:
    """The expression with every float that is a short fraction, as 0.5, replaced by it; others stay."""
    import sympy

    expression = sympy.sympify(x)
    table = {}
    for f in expression.atoms(sympy.Float):
        near = sympy.Rational(float(f)).limit_denominator(10**6)
        if abs(float(near) - float(f)) <= 1e-14 * max(1.0, abs(float(f))):
            table[f] = near
    return expression.xreplace(table)


def shortest(x: Any) -> Any:
    """A polynomial of sines and cosines with sin^2 + cos^2 = 1 used so that it is short; 0 if it is zero."""
    import sympy

    expression = sympy.expand(in_fractions(x))
    if not expression.has(sympy.sin, sympy.cos):
        return expression
    forms = [expression]
    for one, other in ((sympy.sin, sympy.cos), (sympy.cos, sympy.sin)):
        forms.append(
            sympy.expand(expression.replace(lambda e, f=one: _is_power(e, f), lambda e, g=other: _turned(e, g)))
        )
    return min(forms, key=lambda e: (e.count_ops(), str(e)))


def _is_power(e: Any, function: Any) -> bool:
    return bool(e.is_Pow and isinstance(e.base, function) and e.exp.is_Integer and e.exp >= 2)


def _turned(e: Any, other: Any) -> Any:
    """f^n with f^2 = 1 - g^2."""
    return (1 - other(e.base.args[0]) ** 2) ** (e.exp // 2) * e.base ** (e.exp % 2)


def exact_tree(tree: Tree) -> Tree:
    """The tree with fractions for floats in its geometry.

    Args:
        tree: the links.
    """

    def of(array: Any) -> Any:
        flat = [in_fractions(x) for x in np.asarray(array, dtype=object).flat]
        return arrays.asarray(flat).reshape(np.shape(array))

    links = tuple(
        replace(
            link,
            axis=of(link.axis),
            placement=replace(
                link.placement, rotation=of(link.placement.rotation), translation=of(link.placement.translation)
            ),
            pitch=in_fractions(link.pitch),
            gain=in_fractions(link.gain),
            offset=in_fractions(link.offset),
            post=None if link.post is None else of(link.post),
        )
        for link in tree.links
    )
    return replace(tree, links=links, gravity=of(tree.gravity))

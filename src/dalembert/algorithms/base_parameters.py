"""Base parameters: the combinations of inertial parameters that generalised forces can show (Gautier and Khalil 1990).

tau = Y(q, v, a) pi, but the columns of Y depend on each other: only b combinations beta = G pi have an effect, and

    Y pi = Y_kept G pi ,     G = [1, ...] on the kept columns.

Two independent routes lead there. :func:`base_parameters` finds the dependences in the numbers of Y at random states.
:func:`grouping_rules` moves masses inwards by the rules of :mod:`dalembert.algorithms.economy.regroup`, exactly and
with symbols where the mechanism has them; for chains of revolute joints in general position the two agree in number.

Where the geometry has symbols, dependences are found with numbers and their coefficients exactly, with SymPy: they
follow from as many equations as there are other effects, written at states whose sines and cosines are fractions, so
that nothing but the symbols of the geometry is left in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import pseudo_inertia, symmetric_matrix
from dalembert.algebra.vectors import dyad
from dalembert.algorithms.economy.regroup import regroup
from dalembert.algorithms.inverse_dynamics.tensor_form import tensor_form
from dalembert.algorithms.regressor import ENTRIES, parameter_names, regressor
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_real, expect_whole
from dalembert.model.parameters import substitute
from dalembert.model.tree import Link, Moments, Tree

PYTHAGOREAN = ((3, 4, 5), (5, 12, 13), (8, 15, 17), (7, 24, 25), (20, 21, 29), (12, 35, 37), (9, 40, 41))
QUATERNIONS = ((1, 2, 2, 4), (2, 4, 1, 2), (4, -2, 2, 1), (2, 1, -4, 2))
"""Of length five."""


def effect(tree: Tree, link: int, moments: Moments, state: tuple[Array, Array, Array]) -> Array:
    """Generalised forces of some matter on one link, all others empty.

    Args:
        tree: the links; their own masses do not matter.
        link: which one carries the matter.
        state: positions, velocities, accelerations.
    """
    empty = Moments(0, arrays.zeros(3), arrays.zeros(3, 3))
    links = tuple(replace(one, moments=moments if k == link else empty) for k, one in enumerate(tree.links))
    return tensor_form(replace(tree, links=links), *state)


def exact_states(tree: Tree, count: int) -> list[tuple[Array, Array, Array]]:
    """States in general position, of fractions and angles whose sines and cosines are fractions.

    Args:
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
    values = np.array([[float(sympy.sympify(x, strict=True).subs(numbers)) for x in column] for column in columns]).T
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

    expression = sympy.sympify(x, strict=True)
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
    """The tree with fractions for floats in its geometry."""

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


MOMENTS = ("mass", "mx", "my", "mz", "Jxx", "Jxy", "Jxz", "Jyy", "Jyz", "Jzz")
"""Mass, first moment and second moment (pseudo-inertia) of a link, the last in the order of :data:`ENTRIES`."""


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The identifiable combinations of a mechanism's inertial parameters.

    Args:
        names: of all standard parameters, ten for every body.
        kept: which of them stand for a base parameter, one each.
        matrix: G, b x p: base parameters = G pi.
    """

    names: tuple[str, ...]
    kept: tuple[int, ...]
    matrix: Array

    @property
    def count(self) -> int:
        """b, the number of base parameters."""
        return len(self.kept)

    @property
    def unidentifiable(self) -> tuple[str, ...]:
        """Names of the parameters that have no effect at all."""
        return tuple(name for name, column in zip(self.names, self.matrix.T) if not np.any(column))

    def combinations(self) -> tuple[str, ...]:
        """Each base parameter as text, such as ``"link1.Izz + link2.Iyy + 0.16 link3.mass"``."""
        return tuple(_text(dict(zip(self.names, row)), first=self.names[k]) for k, row in zip(self.kept, self.matrix))

    def values(self, pi: Any) -> Array:
        """The base parameters that belong to standard parameters.

        Args:
            pi: all standard parameters, p.
        """
        given = arrays.asarray(pi)
        if given.shape != (len(self.names),):
            raise ArgumentError(f"pi has shape {given.shape}; all standard parameters are needed, ({len(self.names)},)")
        return product(self.matrix, given)


def base_parameters(mechanism: Mechanism, *, seed: int = 0, tolerance: float = 1e-8) -> BaseParameters:
    """Base parameters from the rank of Y at random states.

    Columns are taken from the base outwards; one that depends on those before it is grouped with them, so the outer
    link's parameters join the inner link's, as is customary.

    Args:
        mechanism: numeric; its masses do not matter.
        seed: of the random states.
        tolerance: part of a column beyond which it counts as independent of others.
    """
    expect(mechanism, Mechanism, "mechanism")
    expect_whole(seed, "seed")
    if mechanism.symbols:
        raise UnsupportedError(
            f"{mechanism.name!r} has symbols; use grouping_rules(mechanism), or substitute numbers for them first"
        )
    if not 0 < expect_real(tolerance, "tolerance") < 1:
        raise ArgumentError(f"tolerance = {tolerance}; it must lie between 0 and 1")
    W = _stacked(mechanism, seed)
    names = parameter_names(mechanism)
    kept, basis = [], np.zeros((len(W), 0))
    lengths = np.linalg.norm(W, axis=0)
    largest = lengths.max(initial=0)
    for k, column in enumerate(W.T):
        if lengths[k] <= 1e-12 * largest:
            continue
        left = column - basis @ (basis.T @ column)
        left = left - basis @ (basis.T @ left)  # once more: rounding errors of the first pass
        length = np.linalg.norm(left)
        if length > tolerance * lengths[k]:
            kept.append(k)
            basis = np.hstack([basis, left[:, None] / length])
    # Columns of unit length: beside long links the smallest singular values would be taken for none.
    own = lengths[kept, None]
    G = np.linalg.lstsq(W[:, kept] / own.T, W, rcond=None)[0] / own if kept else np.zeros((0, len(names)))
    # Coefficients have units of lengths, so their effects decide what is negligible.
    negligible = np.abs(G) * own < 1e-9 * lengths
    G[negligible | (lengths <= 1e-12 * largest)] = 0
    G[:, kept] = np.eye(len(kept))
    return BaseParameters(names, tuple(kept), G)


@dataclass(frozen=True, eq=False)
class GroupingRules:
    """What is left of the parameters after moving masses inwards.

    Args:
        names: of the moments that remain, such as ``"link2.mx"`` and ``"link2.Jxx"`` (second moment), link axes.
        expressions: each as an expression of the standard parameters, whose symbols are called like
            :func:`~dalembert.algorithms.regressor.parameter_names`.
        complete: whether these are independent, hence as many as :func:`base_parameters` finds; false only if a
            dependence was seen in numbers and no exact one was found.
    """

    names: tuple[str, ...]
    expressions: tuple[Any, ...]
    complete: bool

    @property
    def count(self) -> int:
        """Number of combinations with an effect."""
        return len(self.names)


def grouping_rules(mechanism: Mechanism, *, seed: int = 0) -> GroupingRules:
    """Base parameters by rules, exact, with SymPy; coefficients are symbolic where the geometry is.

    Combinations without any effect are left out.

    Args:
        mechanism: the mechanism; its own masses do not matter.
        seed: of the random numbers with which independence is judged.
    """
    import sympy

    expect_whole(seed, "seed")
    symbols = [sympy.Symbol(name) for name in parameter_names(mechanism)]
    tree = _with_symbolic_moments(mechanism, symbols)
    tree = regroup(exact_tree(tree) if mechanism.symbols else tree)
    tidied = _exact if mechanism.symbols else _rounded
    places, expressions = [], []
    for index, link in enumerate(tree.links):
        m, h, J = link.moments.mass, link.moments.first, link.moments.second
        for entry, value in enumerate([m, *h, *(J[i, j] for i, j in ENTRIES)]):
            tidy = tidied(sympy.expand(value), symbols)
            if tidy != 0:
                places.append((index, entry))
                expressions.append(tidy)
    kept, merged, complete = _independent(mechanism, tree, places, expressions, symbols, seed)
    for k, terms in merged.items():
        for other, c in terms:
            expressions[k] = tidied(sympy.expand(expressions[k] + c * expressions[other]), symbols)
    names = tuple(f"{tree.links[places[k][0]].name}.{MOMENTS[places[k][1]]}" for k in kept)
    return GroupingRules(names, tuple(expressions[k] for k in kept), complete)


def _with_symbolic_moments(mechanism: Mechanism, symbols: list[Any]) -> Tree:
    """The tree with unknown mass distributions: welded bodies added up, in the axes of the links."""
    tree = mechanism.tree
    moments = [Moments(0, arrays.zeros(3), arrays.zeros(3, 3))] * len(tree.links)
    for index, body in enumerate(mechanism.bodies):
        carrier, at = tree.carriers[body.name]
        if carrier < 0:
            continue
        m, hx, hy, hz, xx, xy, xz, yy, yz, zz = symbols[10 * index : 10 * index + 10]
        R, p = at.rotation, at.translation
        h = product(R, arrays.asarray([hx, hy, hz]))
        J = product(product(R, pseudo_inertia(symmetric_matrix(xx, yy, zz, xy, xz, yz))), R.T)
        before = moments[carrier]
        moments[carrier] = Moments(
            before.mass + m,
            before.first + h + m * p,
            before.second + J + dyad(h, p) + dyad(p, h) + m * dyad(p, p),
        )
    return replace(tree, links=tuple(replace(link, moments=x) for link, x in zip(tree.links, moments)))


def _exact(expression: Any, symbols: list[Any]) -> Any:
    """With every coefficient as short as it can be made; none that is zero."""
    import sympy

    used = sorted(expression.free_symbols & set(symbols), key=symbols.index)
    return sympy.Add(*(shortest(expression.coeff(symbol)) * symbol for symbol in used))


def _rounded(expression: Any, symbols: list[Any]) -> Any:
    """Without terms whose numeric coefficient is zero but for rounding; coefficients that are whole become integers."""
    import sympy

    total = sympy.Integer(0)
    for symbol in sorted(expression.free_symbols & set(symbols), key=symbols.index):
        coefficient = expression.coeff(symbol)
        if coefficient.is_number:
            near = round(float(coefficient))
            if abs(float(coefficient) - near) < 1e-12:
                coefficient = sympy.Integer(near)
        total = total + coefficient * symbol
    return total


def _independent(
    mechanism: Mechanism,
    tree: Tree,
    places: list[tuple[int, int]],
    expressions: list[Any],
    symbols: list[Any],
    seed: int,
) -> tuple[list[int], dict[int, list[tuple[int, Any]]], bool]:
    """Which combinations to keep, which others to add to them with which factors, and whether those kept are all.

    Judged with random numbers for the symbols of the geometry. Effects that are whole multiples of each other, such as
    those of Jxx and Jyy of a link that only turns about z, are merged: that is exact whatever the numbers were. Other
    multiples are numbers if there are no symbols, and found from equations if there are.
    """
    rng = np.random.default_rng(seed)
    numbers = {s: float(rng.uniform(0.3, 1.1)) for s in mechanism.symbols}
    numeric = substitute(mechanism.replace(strict=False), numbers) if numbers else mechanism
    B = np.array([[float(e.coeff(s).subs(numbers)) for s in symbols] for e in expressions]).reshape(-1, len(symbols))
    if not len(B):
        return [], {}, True
    # Moments are measured in lengths of the mechanism's own size, or those of long links drown all others.
    size = max((float(np.linalg.norm(link.placement.translation)) for link in numeric.tree.links), default=0) or 1.0
    units = size ** np.array([2, 1, 1, 1, *[0] * 6])
    given, left = np.tile(units, len(mechanism.bodies)), units[[entry for _, entry in places]]
    B = left[:, None] * B / given
    W = (_stacked(numeric, seed) / given) @ np.linalg.pinv(B)  # Y = (Y B+) B: moving masses inwards changed no force
    lengths = np.linalg.norm(W, axis=0)
    kept: list[int] = []
    merged: dict[int, list[tuple[int, Any]]] = {}
    complete = True
    for k in np.flatnonzero(lengths > 1e-9 * lengths.max()).tolist():
        c = np.linalg.lstsq(W[:, kept], W[:, k], rcond=None)[0]
        if np.linalg.norm(W[:, k] - W[:, kept] @ c) > 1e-8 * lengths[k]:
            kept.append(k)
            continue
        c = c * left[k] / left[kept]
        effects = (
            lengths[kept] * left[kept] / (lengths[k] * left[k])
        )  # of a coefficient of one, beside what it is part of
        factors: list[Any] | None = np.where(np.abs(c) * effects < 1e-9, 0.0, c).tolist()
        if bool(np.all(np.abs(c - np.round(c)) * effects < 1e-7)):
            factors = np.round(c).astype(int).tolist()
        elif numbers:
            factors = _factors(tree, [places[j] for j in kept], places[k], c, numbers)
        if factors is None:
            complete = False
            kept.append(k)
            continue
        for target, factor in zip(kept, factors):
            if factor != 0:
                merged.setdefault(target, []).append((k, factor))
    return kept, merged, complete


def _factors(
    tree: Tree, kept: list[tuple[int, int]], place: tuple[int, int], c: Array, numbers: dict[Any, float]
) -> list[Any] | None:
    """Factors as expressions of the symbols, which have the values ``c`` for these numbers; None if not found."""
    used = [j for j, x in enumerate(c) if abs(x) > 1e-7]
    states = exact_states(tree, 1 + len(used))
    columns = [[x for state in states for x in _effect(tree, kept[j], state)] for j in used]
    found = solve_exactly(columns, [x for state in states for x in _effect(tree, place, state)], numbers)
    if found is None or any(abs(float(x.subs(numbers)) - c[j]) > 1e-6 * max(1, abs(c[j])) for j, x in zip(used, found)):
        return None
    factors: list[Any] = [0] * len(kept)
    for j, x in zip(used, found):
        factors[j] = x
    return factors


def _effect(tree: Tree, place: tuple[int, int], state: tuple[Array, Array, Array]) -> Array:
    """Generalised forces of one moment of one link."""
    index, entry = place
    unit = [int(k == entry) for k in range(10)]
    xx, xy, xz, yy, yz, zz = unit[4:]
    moments = Moments(unit[0], arrays.asarray(unit[1:4]), symmetric_matrix(xx, yy, zz, xy, xz, yz))
    return effect(tree, index, moments, state)


def _stacked(mechanism: Mechanism, seed: int) -> Array:
    """Y at enough random states for its rank, one above the other."""
    rng = np.random.default_rng(seed)
    count = 2 + 12 * len(mechanism.bodies) // max(mechanism.nv, 1)
    rows = [regressor(mechanism, *mechanism.random_state(rng)) for _ in range(count)]
    return np.concatenate(rows).astype(float)


def _text(terms: dict[str, float], first: str) -> str:
    parts = [first]
    for name, c in terms.items():
        if name != first and c:
            size = "" if abs(abs(c) - 1) < 1e-9 else f"{abs(c):.6g} "
            parts.append(f"{'-' if c < 0 else '+'} {size}{name}")
    return " ".join(parts)

"""A mechanism with all its symbols turned into inputs of an expression graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints.rows import ConstraintSet
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError
from dalembert.formulations.scope import Scope
from dalembert.model import Inertia, Mechanism
from dalembert.model.checks import expect_items, expect_names
from dalembert.model.parameters import map_scalars
from dalembert.model.tree import Link, Moments, Tree
from dalembert.typesetting.names import coordinate_names, rate_name, unlike


@dataclass(frozen=True, eq=False)
class TracedMechanism:
    """A mechanism as traced scalars.

    Args:
        mechanism: the original.
        scope: symbols: inputs ``q``, ``v`` and one for every symbol of the mechanism.
        tree: its links with traced scalars for symbols.
        matter: for every link the mass distribution of all bodies it carries, in link axes.
        names: for every link the name of the body that has its axes, and of the massive ones welded to it.
    """

    mechanism: Mechanism
    scope: Scope
    tree: Tree
    matter: list[Inertia]
    names: list[str]

    @cached_property
    def model(self) -> Mechanism:
        """The whole mechanism with traced scalars for symbols: what constraints and force elements are read from."""

        def read(x: Any) -> Any:
            return self.scope.read(x)[()] if scalar.is_sympy(x) else x

        return map_scalars(self.mechanism.replace(strict=False), read)

    @property
    def q(self) -> np.ndarray:
        """Traced positions."""
        return self.scope.arrays["q"]

    @property
    def v(self) -> np.ndarray:
        """Traced velocities."""
        return self.scope.arrays["v"]

    def transform(self, pose: Transform) -> Transform:
        """A pose of the mechanism as traced scalars."""
        return Transform(_plain(self.scope.read(pose.rotation)), _plain(self.scope.read(pose.translation)))

    def state(self, time: Any = 0) -> State:
        """The traced mechanism at the traced state.

        Args:
            time: a traced scalar, if something depends on it.
        """
        symbols = [self.scope.parameter(symbol) for symbol in self.mechanism.symbols]
        return State(self.model, self.q, self.v, time, tree=self.tree, parameters=symbols)


def traced(mechanism: Mechanism, coordinates: Sequence[str] | None = None) -> TracedMechanism:
    """Turn every symbol of a mechanism into an input of a new graph.

    Args:
        mechanism: the mechanism; numbers stay numbers.
        coordinates: names of the position coordinates, one for each; by default names of joints or q1, q2, ...
    """
    q_names, v_names = coordinate_names(mechanism)
    if coordinates is not None:
        given = expect_items(coordinates, object, "coordinates")
        coordinates = expect_names([str(x) if scalar.is_sympy(x) else x for x in given], "coordinates")
        if len(coordinates) != mechanism.nq:
            raise ArgumentError(
                f"{mechanism.name!r} has {mechanism.nq} coordinates, got {len(coordinates)} names: {list(coordinates)}"
            )
        if blank := [name for name in coordinates if not name.strip() or not name.isprintable()]:
            raise ArgumentError(f"coordinates: {blank[0]!r} is no name; a name must be a printable, non-empty string")
        if twice := sorted({name for name in coordinates if coordinates.count(name) > 1}):
            raise ArgumentError(
                f"coordinates: the name {', '.join(twice)} is given twice; every coordinate needs its own"
            )
        q_names = list(coordinates)
        for joint in mechanism.joints:
            if joint.nq == joint.nv:  # angular velocities are no rates of coordinates
                rates_of = q_names[mechanism.q_slice(joint.name)]
                v_names[mechanism.v_slice(joint.name)] = [rate_name(name) for name in rates_of]
    scope = Scope()
    taken = {str(symbol) for symbol in mechanism.symbols} | ({"t"} if depends_on_time(mechanism) else set())
    own = unlike(q_names, taken)
    following = {rate_name(old): rate_name(new) for old, new in zip(q_names, own) if old in taken}
    scope.input("q", own)
    scope.input("v", [following.get(name, name) for name in v_names], taken)
    for symbol in mechanism.symbols:
        scope.parameter(symbol)

    def read(value: Any) -> Any:
        array = scope.read(value)
        return array[()] if array.shape == () else _plain(array)

    def link(old: Link) -> Link:
        m = old.moments
        return dataclasses.replace(
            old,
            axis=read(old.axis),
            pitch=read(old.pitch),
            placement=Transform(read(old.placement.rotation), read(old.placement.translation)),
            gain=read(old.gain),
            offset=read(old.offset),
            moments=Moments(read(m.mass), read(m.first), read(m.second)),
        )

    old = mechanism.tree
    carriers = {name: (k, Transform(read(at.rotation), read(at.translation))) for name, (k, at) in old.carriers.items()}
    tree = Tree(tuple(link(x) for x in old.links), read(old.gravity), old.nq, old.nv, carriers)
    matter, names = _matter(mechanism)
    traced_matter = [_TracedInertia(read(x.mass), read(x.center), read(x.tensor)) for x in matter]
    return TracedMechanism(mechanism, scope, tree, traced_matter, names)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _TracedInertia:
    """Mass, centre of mass and central inertia tensor as traced scalars."""

    mass: Any
    center: np.ndarray
    tensor: np.ndarray

    @property
    def is_zero(self) -> bool:
        """True if there is certainly nothing."""
        return all(scalar.is_zero(x) for x in (self.mass, *self.tensor.flat))


def _matter(mechanism: Mechanism) -> tuple[list[Inertia], list[str]]:
    """For every link all that it carries; a single body keeps its own numbers and symbols."""
    total: list[Inertia] = [Inertia() for _ in mechanism.tree.links]
    names: list[list[str]] = [[] for _ in mechanism.tree.links]
    identity = Transform.identity()
    for body in mechanism.bodies:
        carrier, at = mechanism.tree.carriers[body.name]
        if carrier < 0 or body.inertia.is_zero:
            continue
        moved = body.inertia if at == identity else body.inertia.moved(at.rotation, at.translation)
        total[carrier] = total[carrier] + moved
        names[carrier].append(body.name)
    # The body in whose axes all is told comes first, be it without mass.
    return total, [" + ".join(dict.fromkeys((link.name, *x))) for link, x in zip(mechanism.tree.links, names)]


def depends_on_time(mechanism: Mechanism) -> bool:
    """True if constraints or forces of the mechanism may depend on time explicitly.

    Args:
        mechanism: the mechanism.
    """
    return ConstraintSet(mechanism).rheonomic or any(item.function is not None for item in mechanism.forces)


def _plain(array: np.ndarray) -> np.ndarray:
    """A float array if all entries are numbers."""
    if array.dtype == object and all(scalar.is_number(x) for x in array.flat):
        return array.astype(float)
    return array

"""A recursive algorithm on paper: every quantity of every link gets a name, and those after it are written in it.

An algorithm that runs on symbols gives one long expression; a reader wants omega_2 in terms of omega_1. So what a
recursion defines is shown, and its components become symbols in all that follows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import is_number
from dalembert.cached import cached_property
from dalembert.formulations.equations import DerivationStep
from dalembert.formulations.joint_letters import joint_words
from dalembert.formulations.mechanism_system import TracedMechanism
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.system import MultibodySystem
from dalembert.model import Inertia
from dalembert.model.tree import Link, Tree
from dalembert.tracing.graph import Expr
from dalembert.typesetting.names import distinct, identifier


class Paper:
    """The steps of a recursion over the links of a mechanism, with everything that it defines.

    Args:
        trace: the mechanism as traced scalars.
        system: the same as a system; its gravity may be a field.
    """

    def __init__(self, trace: TracedMechanism, system: MultibodySystem):
        self.trace, self.system, self.tree = trace, system, trace.tree
        self.scope = system.scope
        self.steps: list[DerivationStep] = []
        self._shown: list[DerivedQuantity] = []
        self.A: list[Array] = []
        """Of every link the rotation of its axes into those of the link that carries it."""
        self.s: list[Array] = []
        """Of every link the way from the origin of the link that carries it, in the axes of that one."""
        self.augmented: tuple[list[Any], list[Array], list[Array]] | None = None
        """Mass, first moment and inertia of augmented links, once they have been defined."""

    @property
    def links(self) -> Sequence[Link]:
        """The links, from the base to the tips."""
        return self.tree.links

    @property
    def matter(self) -> Sequence[Inertia]:
        """What each link carries, about its centre of mass."""
        return self.trace.matter

    @cached_property
    def accelerations(self) -> np.ndarray:
        """The accelerations of the joints, inputs."""
        return self.scope.once("udot", map(str, self.scope.accelerations))

    def rate(self, i: int) -> Array:
        """The velocities of the joint that carries link i."""
        return self.tree.speed(self.links[i], self.trace.v)

    def acceleration(self, i: int) -> Array:
        """The accelerations of the joint that carries link i."""
        return self.tree.speed(self.links[i], self.accelerations)

    def turn(self, i: int, velocity: Array) -> Array:
        """How fast the joint turns link i, link axes."""
        return product(self.links[i].Zw, velocity)

    def slide(self, i: int, velocity: Array) -> Array:
        """How fast the joint moves the origin of link i, link axes."""
        return product(self.links[i].Zv, velocity)

    # --------------------------------------------------------------------------------------------------------- writing

    def step(self, title: str, text: str, formula: str = "") -> None:
        """End a step with all that was shown and defined since the last one.

        Args:
            title: see :class:`~dalembert.formulations.equations.DerivationStep`.
        """
        self.steps.append(DerivationStep(title, text, tuple(self._shown), formula))
        self._shown = []

    def show(self, letter: str, name: str, index: str, values: Any) -> Array:
        """Show a quantity that is short enough to be written out wherever it occurs.

        Args:
            letter: what it is called, LaTeX.
            name: the same as an identifier.
            index: of the link; empty for what belongs to all.
            values: array of expressions and numbers.
        """
        values = np.array(values, dtype=object)
        (port,) = distinct([identifier(f"{name}_{index}" if index else name)], self.scope.names)
        self._shown.append(DerivedQuantity(self.scope, port, f"{letter}_{{{index}}}" if index else letter, values))
        return values

    def define(self, letter: str, name: str, index: str, values: Any) -> Array:
        """Show a quantity, and return it as it is written from now on: by symbols, one for each component.

        Components that are numbers, or single symbols already, remain what they are.

        Args:
            letter: what it is called, LaTeX.
            name: the same as an identifier.
            values: array of expressions and numbers.
        """
        values = self.show(letter, name, index, values)
        if all(map(_is_plain, values.flat)):
            return arrays.asarray(values.tolist()) if values.shape else values[()]
        import sympy

        places = list(np.ndindex(values.shape))
        symbols = [sympy.Symbol(f"{letter}_{{{_component(index, p, values.shape)}}}", real=True) for p in places]
        port = self._shown[-1].name
        fresh = self.scope.input(port, symbols).reshape(values.shape)
        self.scope.defined.append(port)
        written = np.empty(values.shape, dtype=object)
        for place in places:
            mirror = place[::-1]
            known = values[place]
            if _is_plain(known):
                written[place] = known
            elif len(place) == 2 and mirror < place and _same(known, values[mirror]):
                written[place] = written[mirror]
            else:
                written[place] = fresh[place]
        return arrays.asarray(written.tolist()) if values.shape else written[()]

    # ----------------------------------------------------------------------------------------------------------- links

    def show_links(self, what: str, given: Iterable[tuple[str, str]]) -> None:
        """The step that says where links are and what they are made of.

        Args:
            what: meaning of the letters of `given`, in words.
            given: letters of what a link is made of, LaTeX, with the names of :meth:`moment`.
        """
        for i, link in enumerate(self.links):
            number = str(i + 1)
            A, s = link.rotation(self.trace.q), link.translation(self.trace.q)
            self.A.append(self.show("A", "A", number, A))
            self.s.append(self.show("s", "s", number, s))
            for letter, name in given:
                self.show(letter, name, number, self.moment(name, i))
        names = ", ".join(
            f"{k} {link.name} (joint {link.joint}{self._carrier(link)})" for k, link in enumerate(self.links, 1)
        )
        self.step(
            "Links",
            f"Links and the joints that carry them: {names}. A maps components in the axes of a link to those of the "
            "link that carries it, s is the vector from the origin of that link to its own, in the axes of that link. "
            f"{what} {joint_words(self.tree)}",
        )

    def _carrier(self, link: Link) -> str:
        """Where that is not the link before it."""
        place = self.links.index(link)
        if link.parent == place - 1:
            return ""
        return " on " + (f"link {link.parent + 1}" if link.parent >= 0 else "the base")

    def moment(self, name: str, i: int) -> Any:
        """A moment of the mass of link i in its own axes, by name: m, r, I about r; n, J about the origin.

        Args:
            name: ``m``, ``r``, ``I``, ``n`` (first moment) or ``J`` (second moments, the integral of r r^T dm).
        """
        matter, moments = self.matter[i], self.links[i].moments
        found = {"m": matter.mass, "r": matter.center, "I": matter.tensor, "n": moments.first, "J": moments.second}
        return found[name]

    def children(self, i: int) -> Sequence[int]:
        """The links that link i carries."""
        return self.tree.children[i]

    def inward(self, i: int, values: Array) -> Array:
        """From the axes of link i to those of the link that carries it."""
        return product(self.A[i], values)

    def outward(self, i: int, values: Array) -> Array:
        """From the axes of the link that carries link i to its own."""
        return product(self.A[i].T, values)

    def link_step(self, phase: str, i: int) -> None:
        """End a step about one link."""
        link = self.links[i]
        self.step(f"{phase}: link {i + 1}, {link.name}", f"Carried by the {link.kind} joint {link.joint}.")


def _is_plain(x: Any) -> bool:
    """A number, or a symbol with or without a minus."""
    if is_number(x):
        return True
    if isinstance(x, Expr) and x.op == "neg":
        (x,) = x.args
    return isinstance(x, Expr) and x.op in ("const", "input")


def _same(x: Any, y: Any) -> bool:
    return x is y or (is_number(x) and is_number(y) and x == y)


def _component(index: str, place: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Index of a component: omega_{2x}, Omega_{2,11}."""
    if len(place) == 1 and shape == (3,):
        return index + "xyz"[place[0]]
    digits = "".join(str(k + 1) for k in place)
    return f"{index},{digits}" if digits else index


def pairs(tree: Tree) -> list[tuple[int, int]]:
    """Every link with itself and all that carry it, as (inner, outer)."""
    return list(itertools.chain.from_iterable(((j, i) for j in tree.ancestors[i]) for i in range(len(tree.links))))

"""What a quantity is, and the mechanism it is computed of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dalembert.algebra.arrays import Array
from dalembert.algorithms.economy import economical
from dalembert.algorithms.joint_forces import JointForces, joint_forces
from dalembert.algorithms.loads import Loads, loads_on_links
from dalembert.model import Mechanism, Tree


@dataclass(frozen=True, eq=False)
class Setting:
    """A mechanism ready for tracing.

    Args:
        mechanism: the mechanism; its symbols already replaced by traced scalars.
        include: names of the joint forces to include.
        options: further options of the quantity: ``frame``, ``axes``, ``point``, ``coordinates``, ``damping``; and
            ``algorithm`` if one was asked for by name.
        wrenches: frame name -> six traced scalars.
        derivative: directional derivatives of traced scalars, a function of (expressions, variables, directions).
        form: brings the tree into the form that algorithms work on; by default into economical frames with regrouped
            masses, or, if an algorithm was asked for by name, none: it works on the tree as described.
    """

    mechanism: Mechanism
    include: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    wrenches: Mapping[str, Array] = field(default_factory=dict)
    derivative: Callable[..., Array] | None = None
    form: Callable[[Tree], Tree] | None = None

    @property
    def nv(self) -> int:
        return self.mechanism.nv

    @cached_property
    def tree(self) -> Tree:
        """The tree that algorithms work on."""
        described = self.mechanism.tree
        if self.form is not None:
            return self.form(described)
        return described if "algorithm" in self.options else economical(described)

    @cached_property
    def loads(self) -> Loads:
        return loads_on_links(self.mechanism, self.wrenches, self.tree)

    @cached_property
    def joints(self) -> JointForces:
        return joint_forces(self.mechanism, self.include)


@dataclass(frozen=True)
class Quantity:
    """How to compute one quantity.

    Args:
        inputs: names among q, v, a, tau, xdd.
        outputs: output name -> shape, in which letters stand for sizes: ``"n"`` for nv, ``"2n"`` for twice that,
            ``"nn"`` for its square, ``"p"`` for the number of inertial parameters, ``"m"`` for that of coordinates.
        compute: function of a setting and the inputs.
        doc: one sentence, shown by ``help``.
        loads: whether external wrenches enter.
        options: option names with their defaults; ``...`` marks a required one.
        algorithms: what may be asked for by name instead of the algorithm that needs the fewest operations.
        rivals: which algorithms may need the fewest, each with the most velocities of a mechanism for which it does.
    """

    inputs: tuple[str, ...]
    outputs: Mapping[str, tuple[Any, ...]]
    compute: Callable[..., Any]
    doc: str
    loads: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    algorithms: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rivals: Mapping[str, int] = field(default_factory=dict)

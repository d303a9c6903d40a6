"""Positions and velocities of equations of motion, laid out like those of a mechanism."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.cached import cached_property
from dalembert.errors import ArgumentError
from dalembert.model.body import WORLD, Body
from dalembert.model.joint import Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.tree import Tree
from dalembert.text.suggest import hint


@dataclass(frozen=True, eq=False)
class StateSpace(Mechanism):
    """A mechanism whose velocities are not those of its joints: the speeds of Kane's method, for example.

    It says how states are laid out and what their entries are called, and, if it has bodies, where they are; how it
    moves, equations of motion say.

    Args:
        speeds: names of the velocities; empty where they are those of the joints.
        rates: other names of the velocities where they are those of the joints.
    """

    speeds: tuple[str, ...] = ()
    rates: tuple[str, ...] = ()

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return len(self.speeds) or super().nv

    @cached_property
    def tree(self) -> Tree:
        """The bodies as a tree of links, in the velocities of the joints."""
        return self._bodies.tree

    @cached_property
    def _bodies(self) -> Mechanism:
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(Mechanism)}
        return Mechanism(**fields)

    def v_slice(self, joint: str) -> slice:
        """Where a speed lies in ``v``, by its name."""
        if not self.speeds:
            if self.rates and all(joint != own.name for own in self.joints):
                raise ArgumentError(f"{self.name!r} has no velocity {joint!r}{hint(str(joint), self.rates, 'it has')}")
            return super().v_slice(joint)
        if joint not in self.speeds:
            raise ArgumentError(f"{self.name!r} has no speed {joint!r}{hint(str(joint), self.speeds, 'it has')}")
        place = self.speeds.index(joint)
        return slice(place, place + 1)


def space_of_coordinates(name: str, coordinates: Sequence[str], speeds: Sequence[str], are_rates: bool) -> StateSpace:
    """A space of states without bodies, whose coordinates are plain numbers.

    Args:
        coordinates: names of the positions.
        speeds: names of the velocities.
        are_rates: whether these are the rates of the positions.
    """
    along = np.array([1.0, 0.0, 0.0])
    bodies = [Body(x) for x in coordinates]
    joints = [Joint(x, "prismatic", WORLD, x, axis=along) for x in coordinates]
    own, rates = ((), tuple(speeds)) if are_rates else (tuple(speeds), ())
    return StateSpace(name, tuple(bodies), tuple(joints), strict=False, speeds=own, rates=rates)

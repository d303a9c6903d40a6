"""What is one of every coordinate and of every constraint row: the units that make mechanisms of all sizes alike.

Angles are measured in radians. Slides are measured by the longest distance of the mechanism, rows that are lengths by
the size of their own loop or wheel, and rows of users' laws by their gradients. What is left has no unit: gradients of
the order of one, and violations that can be compared with 1e-6 whether a mechanism is a watch or a crane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Scalar
from dalembert.cached import cached_property
from dalembert.constraints.rows import ConstraintSet
from dalembert.kinematics import frame_on_link
from dalembert.kinematics.manifold import moved
from dalembert.model import Mechanism
from dalembert.model.constraint import Constraint
from dalembert.tracing.evaluate import cancelled, evaluate
from dalembert.tracing.program import Program

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

NO_LENGTH = 1e-9
"""A loop shorter than this, m, consists of slides only: it has no size of its own."""

NO_GRADIENT = 1e-12
"""Gradients below this part of the terms they are the sum of are zero: this is rounding."""

VICINITY = 1e-3, 0.3
"""How far from the reference, rad or lengths of the mechanism or s, it is seen whether a row is flat only there; and
how steep it then usually is, as far as samples are taken."""

FLAT, PLACES = 0.1, 9
"""A row is flat at the reference if its gradient is less than this part of that close by, at the median of so many
places."""


class Scaling:
    """The units of a constrained mechanism, found once.

    Attributes:
        length: unit of lengths, m.
        velocities: what is one of every velocity, (nv,): a radian or that length.
        positions: the same of every position, (nq,).
    """

    def __init__(self, system: Constrained):
        self._system = system
        mechanism = system.numbers
        self.length = longest(mechanism)
        self.velocities, self.positions = np.ones(mechanism.nv), np.ones(mechanism.nq)
        for link in reversed(mechanism.tree.links):  # a leader comes before its mimic joints
            if link.kind != "spherical":
                self.velocities[link.v] = self.positions[link.q] = 1.0 if link.rotates else self.length

    @cached_property
    def own(self) -> np.ndarray:
        """Units of rows whose unit nobody declares, users' laws: their gradients at the reference, or around it where
        they vanish there, (m,), as powers of ten, so that mechanisms of about the same size share programs; one
        elsewhere.
        """
        system, mechanism = self._system, self._system.numbers
        laws = system.constraints if mechanism is system.mechanism else ConstraintSet(mechanism)
        steep = np.zeros(laws.count)
        for item in mechanism.constraints:
            if not (item.has_ends or item.on_joints):
                steep[laws.slice(item.name)] = self._steepness(laws.programs[item.name])
        return np.asarray(np.where(steep > 0, 10.0 ** np.round(np.log10(np.where(steep > 0, steep, 1.0))), 1.0))

    def _steepness(self, law: Program) -> np.ndarray:
        """The gradients of a user's rows in units of the velocities, (rows,): at the reference, or what is usual around
        it if they vanish there. What is left then is rounding, or how inexactly the reference is known: no unit.
        """
        here, close, around = (self._usual_gradient(law, distance) for distance in (0.0, *VICINITY))
        return np.where(here < FLAT * close, around, here)

    def _usual_gradient(self, law: Program, distance: float) -> np.ndarray:
        """The median of the largest entries of gradients at places so far from the reference, (rows,)."""
        mechanism, reference = self._system.numbers, np.asarray(self._system.reference, dtype=float)
        steps = distance * np.random.default_rng(0).normal(size=(PLACES, mechanism.nv + 1))
        known = {
            "q": np.array([moved(mechanism.tree, reference, step * self.velocities) for step in steps[:, :-1]]),
            "v": np.zeros(mechanism.nv),
            "t": np.abs(steps[:, -1]),
        }
        state = {port.name: known[port.name] for port in law.inputs}
        slopes = np.abs(evaluate(law, state)["G"])
        slopes = np.where(slopes > NO_GRADIENT * cancelled(law, state, "G"), slopes, 0.0) * self.velocities
        steep = np.broadcast_to(slopes.max(axis=-1, initial=0.0), (PLACES, slopes.shape[-2]))
        return np.asarray(np.median(np.where(np.isfinite(steep), steep, 0.0), axis=0))

    @cached_property
    def rows(self) -> np.ndarray:
        """What is one of every row, (m,)."""
        system = self._system
        return np.array(row_units(system.numbers, system.constraints, self.own.tolist(), self.length), dtype=float)

    def dimensionless(self, G: np.ndarray) -> np.ndarray:
        """Gradients without units."""
        return np.asarray(G * self.velocities / self.rows[:, None])

    def comparable(self, G: np.ndarray) -> np.ndarray:
        """The same at one position with rows that count alike: where a column is large because of some rows, and made
        smaller, others that contain it count as before: a slide that is fixed, beside a small loop; a skate under a
        vehicle with small wheels.
        """
        together = self._system.constraints.together
        G = self.dimensionless(G)
        before = together(np.abs(G).max(axis=1, initial=0.0))
        G = G * column_scale(G)
        after = together(np.abs(G).max(axis=1, initial=0.0))
        again = np.where(after > 0, np.minimum(before, 1.0) / np.where(after > 0, after, 1.0), 1.0)
        return np.asarray(G * again[:, None])


def longest(mechanism: Mechanism) -> float:
    """The longest distance within the bodies and closures of a mechanism, m; one, if it is shorter.

    Slides of small mechanisms are measured in metres: nothing limits how far they are out.

    Args:
        mechanism: with numbers only.
    """
    closures = [item for item in mechanism.constraints if item.has_ends and not item.on_joints]
    places = [joint.placement for joint in mechanism.joints]
    places += [place for item in closures for place in (item.placement_a, item.placement_b)]
    lengths = [float(x) for place in places for x in place.translation]
    lengths += [float(x) for item in closures for x in (item.value, *item.coefficients)]
    return max(1.0, *map(abs, lengths)) if lengths else 1.0


def row_units(mechanism: Mechanism, constraints: ConstraintSet, own: list[float], length: float = 1.0) -> list[Scalar]:
    """What is one of every row, over any scalar.

    Args:
        mechanism: with numbers, or traced scalars, in the place of its symbols.
        constraints: what its rows are.
        own: units of the rows whose unit nobody declares, one per row.
        length: unit of slides, m.
    """
    found: list[Scalar] = []
    for item in mechanism.constraints:
        size: Scalar = length if item.on_joints or not item.has_ends else loop_length(mechanism, item)
        for row in constraints.info[item.name]:
            found.append({"length": size, "angle": 1.0, "own": own[len(found)]}[row.unit])
    return found


def loop_length(mechanism: Mechanism, item: Constraint) -> Scalar:
    """The size of a constraint between frames, m: of what rolls its radius, of a loop the lengths of the bodies between
    its ends, from the last link that carries both, and the length it has itself; a metre if there are none.

    Args:
        mechanism: with numbers, or traced scalars, in the place of its symbols.
    """
    radius: Scalar = sum(scalar.absolute(x) for x in (item.value, *item.coefficients))
    if item.kind.startswith("rolling"):
        return radius
    ends = [frame_on_link(mechanism, end) for end in (item.a, item.b)]
    chains = [mechanism.tree.ancestors[carrier] if carrier >= 0 else () for carrier, _ in ends]
    ways = []
    for (_, at), chain, other, placement in zip(ends, chains, chains[::-1], (item.placement_a, item.placement_b)):
        links = [mechanism.tree.links[i] for i in reversed(chain) if i not in other]
        ways.append([*(link.placement.translation for link in links), (at @ placement).translation])
    (first, *inner), (second, *outer) = ways  # the first of either lie in the link that carries both
    length = radius + sum(scalar.absolute(x) for way in (first - second, *inner, *outer) for x in way)
    return 1.0 if scalar.is_number(length) and length < NO_LENGTH else length


def column_scale(G: np.ndarray) -> np.ndarray:
    """For every velocity one over its largest coefficient, if that is more than one, (..., nv).

    The angle of an orbit moves a satellite by millions of metres per radian. In metres, it is a velocity like the
    others, and rows of lengths and angles can be compared. Small columns stay small: they may be rounding.
    """
    return np.asarray(1 / np.abs(G).max(axis=-2, initial=1.0))

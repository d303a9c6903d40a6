"""What a law says: claims that two arrays are equal, and the quantities of a subject that several laws need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import UnsupportedError
from dalembert.kinematics.manifold import position_rate
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject, moving_joints


@dataclass(frozen=True)
class Claim:
    """Two arrays that must be equal.

    Args:
        quantity: what is compared, or the law that holds.
        who: the algorithm or formula on the left side.
        against: the one on the right side.
        left: what the first gives.
        right: what the second gives.
    """

    quantity: str
    who: str
    against: str
    left: Any
    right: Any


@dataclass(frozen=True)
class Omission:
    """What a law cannot say of this mechanism, and why."""

    what: str
    why: str


Law = Callable[[Subject], Iterator[Claim | Omission]]


def inner(x: Array, y: Array) -> Any:
    return product(x[None], y)[0]


def at_rest(s: Subject) -> Array:
    return arrays.zeros(s.mechanism.nv)


def direction_of(s: Subject) -> Array:
    """A generic direction: matrices whose products with it agree are the same."""
    return s.once("direction", lambda: arrays.asarray([s.field.element() for _ in range(s.mechanism.nv)]))


def torque(s: Subject) -> Array:
    """By Newton and Euler's recursion, the reference of all others."""
    tree = s.mechanism.tree
    return s.once("torque", lambda: INVERSE_DYNAMICS["newton-euler"](tree, s.q, s.v, s.a, None))


def bias(s: Subject) -> Array:
    tree = s.mechanism.tree
    return s.once("bias", lambda: INVERSE_DYNAMICS["newton-euler"](tree, s.q, s.v, at_rest(s), None))


def coriolis_forces(s: Subject) -> Array:
    tree = weightless(s)
    return s.once("coriolis", lambda: INVERSE_DYNAMICS["newton-euler"](tree, s.q, s.v, at_rest(s), None))


def weightless(s: Subject) -> Any:
    return replace(s.mechanism.tree, gravity=arrays.zeros(3))


def inertia(s: Subject) -> Array:
    return s.once("inertia", lambda: INERTIA_MATRIX["column-method"](s.mechanism.tree, s.q))


def rate(s: Subject) -> Array:
    """qdot = Gamma(q) v."""
    return s.once("rate", lambda: position_rate(s.mechanism.tree, s.q, s.v))


def moving_positions(s: Subject) -> Array:
    """Positions as dual numbers, with their rates: derivatives of anything in time."""
    return s.once("moving", lambda: along(s.q, rate(s)))


def inertia_rate(s: Subject) -> Array:
    return s.once("inertia rate", lambda: slopes(INERTIA_MATRIX["walker-orin"](s.mechanism.tree, moving_positions(s))))


def tried(compute: Callable[[], Any], what: str) -> Any:
    """What an algorithm gives, or why it cannot."""
    try:
        return compute()
    except UnsupportedError as error:
        return Omission(what, str(error))


def ends(s: Subject) -> list[str]:
    """The bodies at the ends of two branches: their frames depend on everything inward."""
    tree = s.mechanism.tree
    ends = [link for link, children in enumerate(tree.children) if not children]
    names = {link: body for body, (link, _) in tree.carriers.items()}
    return [names[link] for link in ends if link in names][:2]


def named_ends(s: Subject) -> list[tuple[str, str]]:
    """These bodies and what rows call them, which is the same for all mechanisms of a topology."""
    numbers = moving_joints(s.mechanism)
    return [(body, f"link {numbers[body]}") for body in ends(s)]

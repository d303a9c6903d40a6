"""Do both sides describe the same joints? Every velocity must move the same way in space, here and there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.errors import ArgumentError
from dalembert.model import Joint, Mechanism

if TYPE_CHECKING:
    from dalembert.conventions.convention import Convention

ROUNDING = 1e-5
"""Relative slack: files carry six or seven digits, and every reader rounds angles in its own way."""


def twists(mechanism: Mechanism, q: Array) -> Array:
    """6 x nv: what each velocity does, all others at rest: [linear, of the point at the world's origin; angular].

    Args:
        mechanism: a mechanism of numbers.
        q: one position.
    """
    tree = mechanism.tree
    columns = np.zeros((6, mechanism.nv))
    places: list[tuple[Array, Array]] = []
    for link in tree.links:
        R, p = places[link.parent] if link.parent >= 0 else (np.eye(3), np.zeros(3))
        p, R = p + R @ link.translation(q).astype(float), R @ link.rotation(q).astype(float)
        places.append((R, p))
        angular, linear = R @ link.Zw.astype(float), R @ link.Zv.astype(float)
        own = float(link.gain) * np.vstack([linear + np.cross(p, angular, axis=0), angular])
        columns[:, link.v : link.v + link.nv] += own
    return columns


def require_same_motion(convention: Convention, theirs: Any, hint: Callable[[Joint], str] = lambda joint: "") -> None:
    """ArgumentError naming the joints whose axis or place differs; a mechanism with symbols is not looked at.

    Args:
        convention: the maps.
        theirs: function of their positions, giving :func:`twists` of their velocities.
        hint: a sentence, or nothing, about what the other library makes of a joint.
    """
    mechanism = convention.mechanism
    if mechanism.symbols:
        return
    moved, _, _ = mechanism.random_state(np.random.default_rng(3))
    for q, where in ((mechanism.neutral, "at the neutral position"), (np.where(abs(moved) < 10, moved, 1.0), "")):
        there = convention.q(q)
        ours, other = twists(mechanism, q), convention.from_jacobian(there, theirs(there))
        size = 1 + np.abs(ours).max(axis=0, initial=0)
        off = np.abs(ours - other).max(axis=0, initial=0) > ROUNDING * size
        for joint in mechanism.joints:
            part = mechanism.v_slice(joint.name)
            if joint.nv and off[part].any():
                k = part.start + int(np.argmax(off[part]))
                raise ArgumentError(
                    f"joint {joint.name!r} moves another way in the {convention.library} model than in "
                    f"{mechanism.name!r}: the velocity {k - part.start} of this joint gives {_shown(ours[:, k])} here "
                    f"and {_shown(other[:, k])} there{' ' if where else ''}{where} ([linear, at the origin of the "
                    f"world; angular]). {hint(joint)}Axis, placement or order differ, so both are not the same "
                    "mechanism; load both from one file, or pass check=False to map the numbers all the same"
                )


def _shown(twist: Array) -> str:
    return f"[{', '.join(f'{x:.4g}' for x in np.round(twist, 9) + 0.0)}]"


def require_both(mechanism: Any, model: Any, kind: str, needs: tuple[str, ...]) -> None:
    """ArgumentError unless there is a mechanism and a model of the other library.

    Args:
        mechanism: what the user gave as the mechanism here.
        model: what the user gave as the model there.
        kind: the full name of the class that is wanted.
        needs: attributes that only such a model has.
    """
    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"the first argument is the Mechanism, then comes the {kind}; got {_named(mechanism)}")
    if not all(hasattr(model, name) for name in needs):
        raise ArgumentError(f"a {kind} of the same mechanism is needed, got {_named(model)}")


def _named(thing: Any) -> str:
    module, name = type(thing).__module__, type(thing).__qualname__
    return name if module == "builtins" else f"{module}.{name}"

"""Both sides at random states: centres of mass, axes, gravity forces, inertia matrix, bias, inverse dynamics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.comparison.difference import Measured
from dalembert.comparison.peer import Peer, View
from dalembert.model import Mechanism


def measure(
    mechanism: Mechanism, here: Peer, there: Peer, states: int, seed: int, tolerance: float
) -> tuple[Measured, ...]:
    """Worst relative difference of every quantity.

    Args:
        mechanism: the mechanism.
        here: it, as it is computed here.
        there: the other model.
        states: how many random states.
        seed: of the random states.
        tolerance: allowed relative difference.
    """
    rng = np.random.default_rng(seed)
    worst: dict[str, tuple[float, str]] = {}
    joints = [joint for joint in mechanism.joints if joint.nv]
    names = [joint.name for joint in joints for _ in range(joint.nv)]

    def note(quantity: str, where: Callable[[int], str], ours: Array, theirs: Array, floor: float = 0.0) -> None:
        size = max(float(np.abs(ours).max(initial=0)), float(np.abs(theirs).max(initial=0)), floor)
        off = np.abs(ours - theirs)
        error = float(off.max(initial=0)) / size if size else 0.0
        known = worst.get(quantity, (0.0, ""))
        if quantity not in worst or not error <= known[0]:
            worst[quantity] = (error, where(int(np.argmax(off.reshape(len(off), -1).max(axis=1)))) if off.size else "")

    def joint(k: int) -> str:
        return f"joint {names[k]!r}"

    for _ in range(states):
        q, v, a = mechanism.random_state(rng)
        ours, theirs = here.views(q), there.views(q)
        common = [name for name in ours if name in theirs and ours[name].mass and theirs[name].mass]
        bodies = [mechanism.joint(name).child for name in common]
        if common:
            mine, other = (np.stack([side[name].center for name in common]) for side in (ours, theirs))
            note("centres of mass", lambda k: f"body {bodies[k]!r}", mine, other)  # noqa: B023 - called at once
        still = np.zeros_like(v)
        # Forces that cancel cannot be more exact than what they consist of: weights times lengths, and inertial forces.
        floor = 1e-3 * max(_moment(ours, here.gravity), float(np.abs(here.inverse_dynamics(q, v, a)).max(initial=0)))
        for quantity, w, b in (("gravity forces", still, still), ("bias", v, still), ("inverse dynamics", v, a)):
            note(quantity, joint, here.inverse_dynamics(q, w, b), there.inverse_dynamics(q, w, b), floor)
        note("inertia matrix", joint, here.mass_matrix(q), there.mass_matrix(q))
    order = ("centres of mass", "gravity forces", "inertia matrix", "bias", "inverse dynamics")
    return tuple(Measured(name, *worst[name], tolerance) for name in order if name in worst)


def _moment(views: Mapping[str, View], gravity: Array) -> float:
    """The largest generalised force that the weights could have, were nothing balanced; lengths from the origin."""
    found = 0.0
    weight = float(np.linalg.norm(gravity))
    for view in views.values():
        angular, linear = (np.linalg.norm(half, axis=0) for half in np.split(view.jacobian, 2))
        arms = angular * np.linalg.norm(view.center) + linear
        found += weight * view.mass * float(arms.max(initial=0))
    return found

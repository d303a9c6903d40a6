"""Bodies and frames that both sides know by name: whether they stand in the same place, on the same body."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.comparison.difference import Difference
from dalembert.comparison.peer import Peer
from dalembert.kinematics import frame_on_link
from dalembert.model import WORLD, Mechanism


def frame_differences(
    here: Peer, there: Peer, displaced: Collection[str], tolerance: float, length: float
) -> Iterator[Difference]:
    """Every frame that stands elsewhere, or moves with another body.

    A displaced joint carries its frames along; they are compared in the frame of the body behind it.

    Args:
        here: the mechanism here.
        there: the other model.
        displaced: joints here behind which nothing stands in its place.
        tolerance: allowed relative difference.
        length: what counts as one, m.
    """
    mechanism = here.mechanism
    positions = [np.asarray(mechanism.neutral, dtype=float), mechanism.random_state(np.random.default_rng(0))[0]]
    ground = {WORLD: Transform.identity()}  # which is called otherwise in some libraries
    ours, theirs = ([{**side.frames(q), **ground} for q in positions] for side in (here, there))
    for name in ours[0]:
        if name == WORLD or name not in theirs[0]:
            continue
        joint = _carrier(mechanism, name)
        base = mechanism.joint(joint).child if joint in displaced else WORLD
        if base == name or any(base not in side[0] for side in (ours, theirs)):
            continue
        gaps = [gap(a[base].inverse() @ a[name], b[base].inverse() @ b[name]) for a, b in zip(ours, theirs)]
        far, turned = gaps[0][0] > tolerance * length, gaps[0][1] > math.sqrt(3) * tolerance
        if far or turned:
            how = [f"stands {gaps[0][0]:.3g} m away"] if far else []
            how += [f"is turned by {math.degrees(gaps[0][1]):.3g} degrees"] if turned else []
            told = " and ".join(how)
        elif gaps[1][0] > tolerance * length or gaps[1][1] > math.sqrt(3) * tolerance:
            told = "stands in the same place at the neutral position, but moves with another body"
        else:
            continue
        what = "the frame of body" if any(body.name == name for body in mechanism.bodies) else "the frame"
        carrier = f"what joint {joint!r} moves" if joint else "the ground"
        text = f"{what} {name!r}, fixed to {carrier}, {told} in {there.name}; no force depends on it"
        yield Difference("frames", name, text)


def frame_remarks(here: Peer, there: Peer) -> list[str]:
    """Which bodies and frames here have no counterpart of their name; readers often join bodies that are welded.

    Args:
        here: the mechanism here.
        there: the other model.
    """
    q = np.asarray(here.mechanism.neutral, dtype=float)
    known = there.frames(q)
    missing = [repr(name) for name in here.frames(q) if name != WORLD and name not in known]
    if not missing:
        return []
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return [f"no body or frame there is called {', '.join(missing[:5])}{more}; where these stand was not compared"]


def _carrier(mechanism: Mechanism, frame: str) -> str:
    """The joint that moves a frame; empty for the ground."""
    link, _ = frame_on_link(mechanism, frame)
    return mechanism.tree.links[link].joint if link >= 0 else ""


def gap(a: Transform, b: Transform) -> tuple[float, float]:
    """Distance, m, and angle, rad, between two poses.

    Args:
        a: one of them.
        b: the other.
    """
    R: Array = np.asarray(a.rotation, dtype=float).T @ np.asarray(b.rotation, dtype=float)
    twice_sine = np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    angle = math.atan2(float(twice_sine), float(np.trace(R)) - 1)
    return float(np.linalg.norm(np.asarray(a.translation - b.translation, dtype=float))), angle

"""What acts in the joints besides their forces, and how far they go: armature, damping, friction, ranges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from dalembert.comparison.difference import Difference
from dalembert.comparison.peer import Drive, Peer
from dalembert.model import Joint

UNITS = {"armature": ("kg m^2", "kg"), "damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N")}
"""Of what acts in a joint that turns, and in one that slides."""


def drive_differences(
    joints: Sequence[Joint], here: Peer, there: Peer, include: Collection[str], tolerance: float
) -> Iterator[Difference]:
    """Terms that enter the forces on one side only, or with another size; also mere data, where both sides keep them.

    Args:
        joints: those that both sides have.
        here: the mechanism here.
        there: the other model.
        include: terms of the joints that enter our forces.
        tolerance: allowed relative difference.
    """
    for name in UNITS:
        for joint in joints:
            a, b = _drive(here.drives(), joint, name), _drive(there.drives(), joint, name)
            ours = a if name in include else 0.0
            theirs = b if name in there.includes else 0.0
            alike = abs(a - b) <= tolerance * max(a, b)
            unit = UNITS[name][joint.kind == "prismatic"]
            text = f"the {name} of joint {joint.name!r} is {a:g} here and {b:g} {unit} in {there.name}"
            if abs(ours - theirs) <= tolerance * max(ours, theirs):
                if name in there.keeps and not alike:
                    asked = there.is_mechanism or name in there.includes
                    when = "forces only if asked for" if asked else "no force that is compared"
                    yield Difference(name, joint.name, f"{text}; it enters {when}")
            elif not ours and name not in include and alike:
                text = f"{there.name} adds the {name} of joint {joint.name!r}, {b:g} {unit}; here it enters only if "
                yield Difference(
                    name, joint.name, f"{text}asked for", f"Ask with include=[{name!r}], here and in da.Dynamics"
                )
            elif not theirs and name not in there.includes:
                text = f"the {name} of joint {joint.name!r}, {a:g} {unit}, enters here, but never in {there.name}"
                yield Difference(name, joint.name, text, f"Leave {name!r} out of include")
            elif name not in include:
                yield Difference(name, joint.name, f"{text}, where it always enters; here it enters only if asked for")
            else:
                yield Difference(name, joint.name, text)


def range_differences(joints: Sequence[Joint], here: Peer, there: Peer) -> Iterator[Difference]:
    """Ranges of joints, where the other side is a description too; no force depends on them.

    Args:
        joints: those that both sides have.
        here: the mechanism here.
        there: the other model.
    """
    ours, theirs = here.ranges(), there.ranges()
    for joint in joints:
        a, b = ours.get(joint.name), theirs.get(joint.name)
        if a is not None and b is not None and not np.allclose(a, b, rtol=1e-9, atol=1e-12):
            text = f"joint {joint.name!r} ranges from {a[0]:g} to {a[1]:g} here and from {b[0]:g} to {b[1]:g} in "
            yield Difference("limits", joint.name, f"{text}{there.name}; no force depends on it")


def _drive(drives: Mapping[str, Drive], joint: Joint, name: str) -> float:
    return float(getattr(drives.get(joint.name, Drive()), name))

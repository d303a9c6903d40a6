"""Which joint here is which joint there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.constants import floats

Entry = TypeVar("Entry")


def pair(
    mechanism: Mechanism, library: str, theirs: Mapping[str, Entry], names: Mapping[str, str] | None
) -> list[tuple[Joint, Entry]]:
    """Moving joints of the mechanism with their counterparts, recognised by name.

    Joints that mimic another one may be missing on the other side.

    Args:
        mechanism: the mechanism here.
        library: the name of the other side, for messages.
        theirs: the joints there, by name.
        names: our name -> their name, where they differ.
    """
    names = dict(names or {})
    for name in names:
        mechanism.joint(name)
    moving = [joint for joint in mechanism.joints if joint.kind != "fixed"]
    pairs, missing, left = [], [], dict(theirs)
    for joint in moving:
        entry = left.pop(names.get(joint.name, joint.name), None)
        if entry is not None:
            pairs.append((joint, entry))
        elif joint.mimic is None:
            missing.append(joint)
    if len(missing) == 1 and len(left) == 1 and missing[0].kind == "free":  # the name of a base is nobody's choice
        pairs.append((missing.pop(), left.popitem()[1]))
    if missing or left:
        sought = [names[joint.name] for joint in missing if names.get(joint.name) not in (None, *theirs)]
        nobody = f"No joint there is called {' or '.join(map(repr, sought))}. " if sought else ""
        raise ArgumentError(
            f"{mechanism.name!r} and the {library} model have different moving joints: only here: "
            f"{', '.join(joint.name for joint in missing) or 'none'}; only there: {', '.join(left) or 'none'}. "
            f"{nobody}{_of_bases(mechanism, missing, left)}"
            "Pass joints={name here: name there} if they are called differently"
        )
    return pairs


def _of_bases(mechanism: Mechanism, missing: Sequence[Joint], theirs: Mapping[str, Any]) -> str:
    """What to do where one side floats and the other is bolted to the ground."""
    if [joint.kind for joint in missing] == ["free"] and not theirs:
        return "The base floats only here: da.with_base(mechanism, 'fixed') bolts it to the ground. "
    bolted = any(joint.parent == WORLD and joint.kind == "fixed" for joint in mechanism.joints)
    if bolted and not missing and len(theirs) == 1:
        return f"If {next(iter(theirs))} is a base that floats, da.with_base(mechanism, 'free') lets ours float, too. "
    return ""


def place(mechanism: Mechanism, joint: Joint, q: int, nq: int, v: int, nv: int) -> dict[str, Any]:
    """The arguments of a :class:`Block` for a joint that begins at q and v on the other side."""
    fields: dict[str, Any] = {
        "joint": joint.name,
        "own_q": mechanism.q_slice(joint.name),
        "own_v": mechanism.v_slice(joint.name),
        "their_q": slice(q, q + nq),
        "their_v": slice(v, v + nv),
    }
    if joint.mimic:
        gain, offset = numbers([joint.mimic.multiplier, joint.mimic.offset], f"the ratio of mimic joint {joint.name!r}")
        fields |= {"gain": float(gain), "offset": float(offset), "follower": True}
    return fields


def base_of(mechanism: Mechanism, joint: Joint) -> Transform | None:
    """The frame of a free joint at zero in the world, if the joint hangs on the ground, else None."""
    carrier, at = mechanism.tree.carriers[joint.parent]
    if carrier >= 0 or joint.kind != "free":
        return None
    base = numbers((at @ joint.placement).homogeneous(), f"the placement of free joint {joint.name!r}")
    return Transform.from_homogeneous(base)


def numbers(entries: Any, what: str) -> Array:
    """Floats; symbols on which the maps between two libraries depend are refused.

    Args:
        entries: of a vector or matrix.
        what: named in the message.
    """
    found = floats(arrays.asarray(entries))
    if found is None:
        raise ArgumentError(f"{what} contains symbols, on which the coordinates depend; substitute(...) gives values")
    return found


def mismatch(joint: Joint, library: str, what: str) -> UnsupportedError:
    """The error for a pair of joints between which no map is known."""
    return UnsupportedError(f"joint {joint.name!r} is {joint.kind} here, but {what} in {library}; no map is known")

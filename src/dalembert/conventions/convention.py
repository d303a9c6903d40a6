"""Conversion of whole vectors and matrices, joint by joint: which joints correspond, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import is_number
from dalembert.algebra.transform import Transform
from dalembert.conventions.blocks import Block, add_turns, times
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.labels import unlabelled
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.record import floats


class Convention:
    """The same mechanism in two libraries, and the maps between their coordinates.

    Args:
        mechanism: the mechanism here.
        library: what the other side is called, for messages.
        nq: number of positions there.
        nv: number of velocities there.
        blocks: one for every joint that moves there.
    """

    def __init__(self, mechanism: Mechanism, library: str, nq: int, nv: int, blocks: Iterable[Block]):
        self.mechanism, self.library, self.nq, self.nv = mechanism, library, nq, nv
        self.blocks = tuple(blocks)

    def __repr__(self) -> str:
        m = self.mechanism
        return f"<{self.library} convention of {m.name!r}: nq {m.nq} -> {self.nq}, nv {m.nv} -> {self.nv}>"

    # ---------------------------------------------------------------------------------------------------------- there

    def q(self, q: Any) -> Array:
        """Their positions from ours.

        Args:
            q: our positions, (..., nq).
        """
        return self._their_q(self._own(q, "q", self.mechanism.nq))

    def v(self, q: Any, v: Any) -> Array:
        """Their velocities from ours.

        Args:
            q: our positions, (..., nq).
            v: our velocities, (..., nv).
        """
        return self._push(self._own(q, "q", self.mechanism.nq), self._own(v, "v", self.mechanism.nv))

    def a(self, q: Any, v: Any, a: Any) -> Array:
        """Their accelerations, the time derivative of their velocities, from ours.

        Args:
            q: our positions, (..., nq).
            v: our velocities, (..., nv).
            a: our accelerations, (..., nv).
        """
        m = self.mechanism
        q, v, a = self._own(q, "q", m.nq), self._own(v, "v", m.nv), self._own(a, "a", m.nv)
        return self._push(q, a) + self._bias(q, v)

    def tau(self, q: Any, tau: Any) -> Array:
        """Their generalised forces, dual to their velocities, from ours; mimic joints get none, their leader all.

        Args:
            q: our positions, (..., nq).
            tau: our generalised forces, (..., nv).
        """
        q, tau = self._own(q, "q", self.mechanism.nq), self._own(tau, "tau", self.mechanism.nv)
        return self._push(q, tau, followers=False)

    def jacobian(self, q: Any, jacobian: Any) -> Array:
        """The matrix that maps their velocities to what ``jacobian`` maps ours to.

        Args:
            q: our positions, (..., nq).
            jacobian: any matrix that multiplies our velocities, (..., rows, nv).
        """
        q, jacobian = self._own(q, "q", self.mechanism.nq), self._own(jacobian, "jacobian", self.mechanism.nv)
        self._refuse_followers("a Jacobian")
        return self._push(q[..., None, :], jacobian)

    def mass_matrix(self, q: Any, mass_matrix: Any) -> Array:
        """Their inertia matrix from ours.

        Args:
            q: our positions, (..., nq).
            mass_matrix: our inertia matrix, (..., nv, nv).
        """
        q, mass_matrix = self._own(q, "q", self.mechanism.nq), self._own(mass_matrix, "mass_matrix", self.mechanism.nv)
        self._refuse_followers("an inertia matrix")
        half = np.swapaxes(self._push(q[..., None, :], mass_matrix), -1, -2)
        return self._push(q[..., None, :], half)

    # ----------------------------------------------------------------------------------------------------------- back

    def from_q(self, q: Any) -> Array:
        """Our positions from theirs.

        Args:
            q: their positions, (..., nq of that library).
        """
        theirs = self._own(q, f"q of {self.library}", self.nq)
        ours = np.zeros((*theirs.shape[:-1], self.mechanism.nq))
        for block in self._leaders():
            ours[..., block.own_q] = block.from_q(theirs[..., block.their_q])
        add_turns(self.blocks, ours, theirs)
        self._check_followers("position", theirs, self._their_q(ours), [b.their_q for b in self.blocks])
        return ours

    def from_v(self, q: Any, v: Any) -> Array:
        """Our velocities from theirs.

        Args:
            q: their positions, (..., nq of that library).
            v: their velocities, (..., nv of that library).
        """
        return self._from_v(self.from_q(q), self._own(v, f"v of {self.library}", self.nv))

    def from_a(self, q: Any, v: Any, a: Any) -> Array:
        """Our accelerations from theirs.

        Args:
            q: their positions, (..., nq of that library).
            v: their velocities, (..., nv of that library).
            a: their accelerations, (..., nv of that library).
        """
        ours = self.from_q(q)
        own_v = self._from_v(ours, self._own(v, f"v of {self.library}", self.nv))
        return self._from_v(ours, self._own(a, f"a of {self.library}", self.nv) - self._bias(ours, own_v))

    def from_tau(self, q: Any, tau: Any) -> Array:
        """Our generalised forces from theirs; those of mimic joints are added to their leaders'.

        Args:
            q: their positions, (..., nq of that library).
            tau: their generalised forces, (..., nv of that library).
        """
        return self._pull(self.from_q(q), self._own(tau, f"tau of {self.library}", self.nv))

    def from_jacobian(self, q: Any, jacobian: Any) -> Array:
        """The matrix that maps our velocities to what ``jacobian`` maps theirs to.

        Args:
            q: their positions, (..., nq of that library).
            jacobian: any matrix that multiplies their velocities, (..., rows, nv of that library).
        """
        jacobian = self._own(jacobian, f"jacobian of {self.library}", self.nv)
        return self._pull(self.from_q(q)[..., None, :], jacobian)

    def from_mass_matrix(self, q: Any, mass_matrix: Any) -> Array:
        """Our inertia matrix from theirs.

        Args:
            q: their positions, (..., nq of that library).
            mass_matrix: their inertia matrix, (..., nv, nv of that library).
        """
        half = np.swapaxes(self.from_jacobian(q, mass_matrix), -1, -2)
        return self.from_jacobian(q, half)

    # ------------------------------------------------------------------------------------------------------- the maps

    def _their_q(self, q: Array) -> Array:
        theirs = np.zeros((*q.shape[:-1], self.nq))
        for block in self.blocks:
            theirs[..., block.their_q] = block.to_q(_own_position(block, q))
        return theirs

    def _push(self, q: Array, v: Array, followers: bool = True) -> Array:
        """P v, from our coordinates to theirs."""
        theirs = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.nv))
        for block in self.blocks if followers else self._leaders():
            P = block.matrix(q[..., block.own_q])
            part = block.gain * v[..., block.own_v]
            theirs[..., block.their_v] = part if P is None else times(P, part)
        return theirs

    def _pull(self, q: Array, x: Array) -> Array:
        """P^T x, from their coordinates to ours."""
        ours = np.zeros((*np.broadcast_shapes(q.shape[:-1], x.shape[:-1]), self.mechanism.nv))
        for block in self.blocks:
            P = block.matrix(q[..., block.own_q])
            part = block.gain * x[..., block.their_v]
            ours[..., block.own_v] += part if P is None else times(np.swapaxes(P, -1, -2), part)
        return ours

    def _from_v(self, q: Array, theirs: Array) -> Array:
        """The v with P v = theirs."""
        ours = np.zeros((*np.broadcast_shapes(q.shape[:-1], theirs.shape[:-1]), self.mechanism.nv))
        for block in self._leaders():
            P = block.matrix(q[..., block.own_q])
            part = theirs[..., block.their_v]
            ours[..., block.own_v] = part if P is None else times(np.swapaxes(P, -1, -2), part)
        self._check_followers("rate", theirs, self._push(q, ours), [b.their_v for b in self.blocks])
        return ours

    def _bias(self, q: Array, v: Array) -> Array:
        theirs = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), self.nv))
        for block in self.blocks:
            bias = block.bias(q[..., block.own_q], v[..., block.own_v])
            if bias is not None:
                theirs[..., block.their_v] = bias
        return theirs

    # --------------------------------------------------------------------------------------------------------- checks

    def _leaders(self) -> list[Block]:
        return [block for block in self.blocks if not block.follower]

    def _own(self, x: Any, name: str, size: int) -> Array:
        x = unlabelled(x, name)
        try:
            array = np.asarray(x)
            real = array.dtype.kind in "biuf" or (array.dtype == object and all(map(is_number, array.flat)))
            array = array.astype(float) if real else np.empty((), dtype=object)
        except (TypeError, ValueError):  # ragged, or complex among objects
            array = np.empty((), dtype=object)
        if array.dtype == object or np.ma.is_masked(x):
            raise ArgumentError(f"{name} must be an array of real numbers, got {_short(x)}")
        if array.ndim == 0 or array.shape[-1] != size:
            raise ArgumentError(f"{name} has shape {array.shape}; its last dimension must be {size} for {self!r}")
        return array

    def _check_followers(self, what: str, given: Array, implied: Array, places: list[slice]) -> None:
        for block, place in zip(self.blocks, places):
            off = np.abs(given[..., place] - implied[..., place])
            if block.follower and np.any(off > 1e-6 * (1 + np.abs(implied[..., place]))):
                raise ArgumentError(
                    f"joint {block.joint!r} mimics another joint here, but its {what} in {self.library} is "
                    f"{off.max():.3g} away from what its leader dictates"
                )

    def _refuse_followers(self, what: str) -> None:
        names = [block.joint for block in self.blocks if block.follower]
        if names:
            raise UnsupportedError(
                f"{self.library} moves the mimic joints {', '.join(map(repr, names))} on their own, so {what} of "
                f"{self.mechanism.name!r} does not determine one there; the opposite direction works"
            )


def _short(x: Any) -> str:
    dtype = getattr(x, "dtype", None)
    hidden = "with masked entries " if np.ma.is_masked(x) else ""
    return f"an array {hidden}of {dtype}" if dtype is not None else repr(x)[:60]


def _own_position(block: Block, q: Array) -> Array:
    own = q[..., block.own_q]
    return block.gain * own + block.offset if block.follower else own


# -------------------------------------------------------------------------------- which joint here is which joint there


Entry = TypeVar("Entry")


def pair(
    mechanism: Mechanism, library: str, theirs: Mapping[str, Entry], names: Mapping[str, str] | None
) -> list[tuple[Joint, Entry]]:
    """Moving joints of the mechanism with their counterparts, recognised by name.

    Joints that mimic another one may be missing on the other side.

    Args:
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
        nobody = f". No joint there is called {' or '.join(map(repr, sought))}" if sought else ""
        here, there = ", ".join(joint.name for joint in missing), ", ".join(left)
        raise ArgumentError(
            f"{mechanism.name!r} and the {library} model have different moving joints: only here: {here or 'none'}; "
            f"only there: {there or 'none'}{nobody}",
            **_remedy(mechanism, missing, left),
        )
    return pairs


def _remedy(mechanism: Mechanism, missing: Sequence[Joint], theirs: Mapping[str, Any]) -> dict[str, Any]:
    """What to do: perhaps one side floats and the other is bolted to the ground; else names may differ."""
    if [joint.kind for joint in missing] == ["free"] and not theirs:
        remedy = "the base floats only here: {setting} bolts it to the ground"
        return {"argument": "base", "value": "fixed", "remedy": remedy}
    bolted = any(joint.parent == WORLD and joint.kind == "fixed" for joint in mechanism.joints)
    if bolted and not missing and len(theirs) == 1:
        remedy = f"if {next(iter(theirs))} is a base that floats, {{setting}} lets ours float, too"
        return {"argument": "base", "value": "free", "remedy": remedy}
    names = {"name here": "name there"}
    return {"argument": "joints", "value": names, "remedy": "give {setting} if they are called differently"}


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
    """Floats; symbols on which the maps between two libraries depend are refused."""
    found = floats(arrays.asarray(entries))
    if found is None:
        raise ArgumentError(f"{what} contains symbols, on which the coordinates depend; substitute(...) gives values")
    return found


def mismatch(joint: Joint, library: str, what: str) -> UnsupportedError:
    """The error for a pair of joints between which no map is known."""
    return UnsupportedError(f"joint {joint.name!r} is {joint.kind} here, but {what} in {library}; no map is known")


# ------------------------------------------------------------------------------ do both sides describe the same joints?


FILE_SLACK = 1e-5
"""Relative slack: files carry six or seven digits, and every reader rounds angles in its own way."""


def twists(mechanism: Mechanism, q: Array) -> Array:
    """6 x nv: what each velocity does, all others at rest: [linear, of the point at the world's origin; angular]."""
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
        off = np.abs(ours - other).max(axis=0, initial=0) > FILE_SLACK * size
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

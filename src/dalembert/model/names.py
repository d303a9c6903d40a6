"""What coordinates and velocities are called.

position_names, velocity_names    labels for people and tables: ``elbow``, ``base.x``, ``base.wz``
formula_names                     identifiers in formulas and files: ``elbow``, ``elbow_dot``, ``base_0``
named_positions, named_velocities   arrays of them, also from mappings and tables with labels
coordinate_names                  letters in derived equations: ``theta1``, ``thetadot1``, ``q1``, ``epsilon1``

An expression may use the identifiers or the letters; both mean the same coordinate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.cached import kept
from dalembert.errors import ArgumentError
from dalembert.labels import NamedAxis, arranged, has_names, unlabelled
from dalembert.model.checks import real_array, shown
from dalembert.model.joint import JOINTS, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.state_space import StateSpace


def as_names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; a lone string, whose letters would be taken for names, is refused."""
    if isinstance(given, (str, Mapping)) or not _all_texts(given):
        wanted = [given] if isinstance(given, str) else "['name', ...]"
        raise ArgumentError(f"{{argument}} = {shown(given)}: a list of names is needed, {wanted}", argument=what)
    return tuple(given)


def _all_texts(given: Any) -> bool:
    try:
        return isinstance(given, Iterable) and all(isinstance(name, str) for name in given)
    except TypeError:  # an array without dimensions
        return False


@kept
def position_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of q: ``elbow``, ``base.x``, ``base.qw``."""
    return tuple(name for joint in mechanism.joints if joint.nq for name, _ in position_parts(joint))


@kept
def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of v and tau: ``elbow``, ``base.vx``, ``base.wz``."""
    if isinstance(mechanism, StateSpace) and mechanism.speeds:
        return mechanism.speeds
    return tuple(name for joint in mechanism.joints if joint.nv for name, _ in velocity_parts(joint))


def position_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every position of a joint, also of one that follows another, and ``rad``, ``m`` or ``quaternion``."""
    return _named(joint, JOINTS[joint.kind].positions)


def velocity_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every velocity of a joint, also of one that follows another, and ``rad`` or ``m``, of which it is a
    rate.
    """
    return _named(joint, JOINTS[joint.kind].velocities)


def _named(joint: Joint, parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{joint.name}.{part}" if part else joint.name, unit) for part, unit in parts]


# ------------------------------------------------------------------------------------------------------ vectors by name


def named_positions(
    mechanism: Mechanism,
    given: Any,
    name: str,
    default: np.ndarray | None = None,
    batch: bool = True,
    convert: Callable[[Any, str], np.ndarray] = real_array,
) -> np.ndarray:
    """Positions as an array; labels win over positions, see :mod:`dalembert.labels`. The shape is not checked.

    Args:
        given: an array (..., nq); a mapping by joint name; or a table with a label for every position.
        name: of the argument, for errors.
        default: what a mapping leaves out; neutral if None.
        batch: allow leading dimensions of the values of a mapping.
        convert: makes an array of a value.
    """
    if not has_names(given):
        return convert(given, name)
    if isinstance(given, Mapping):
        default = mechanism.neutral if default is None else np.asarray(default, float)
        return _by_joint(mechanism, given, name, default, mechanism.q_slice, batch, (), convert)
    return convert(arranged(given, [position_axis(mechanism)], name), name)


def named_velocities(
    mechanism: Mechanism,
    given: Any,
    name: str,
    default: float = 0.0,
    batch: bool = True,
    entries: Sequence[str] = (),
    convert: Callable[[Any, str], np.ndarray] = real_array,
) -> np.ndarray:
    """Velocities, or what else has an entry for every velocity, as an array; the shape is not checked.

    Args:
        given: an array (..., nv); a mapping by name of a joint or a single velocity; or a table with a label for
            every velocity.
        name: of the argument, for errors.
        default: what a mapping leaves out.
        batch: allow leading dimensions of the values of a mapping.
        entries: names of the velocities, if they are not the usual ones.
        convert: makes an array of a value.
    """
    if not has_names(given):
        return convert(given, name)
    entries = tuple(entries or velocity_names(mechanism))
    if isinstance(given, Mapping):
        return _by_joint(
            mechanism, given, name, np.full(mechanism.nv, default), mechanism.v_slice, batch, entries, convert
        )
    return convert(arranged(given, [velocity_axis(mechanism, name.removesuffix("0"), entries)], name), name)


def position_axis(mechanism: Mechanism) -> NamedAxis:
    """What the entries of q are called in tables."""
    return NamedAxis(position_names(mechanism), ("position", "joint"), "q", _followers(mechanism))


def velocity_axis(mechanism: Mechanism, prefix: str, entries: tuple[str, ...] = ()) -> NamedAxis:
    """What the entries of v, a and tau are called in tables.

    Args:
        prefix: that columns may have, ``tau`` of ``tau.elbow``.
        entries: names, if they are not the usual ones.
    """
    names = entries or velocity_names(mechanism)
    return NamedAxis(names, ("velocity", "joint", "input"), prefix, _followers(mechanism))


def _followers(mechanism: Mechanism) -> dict[str, str]:
    return {
        joint.name: f"follows {joint.mimic.joint!r} and has no entry of its own; leave it out"
        for joint in mechanism.joints
        if joint.mimic is not None
    }


def _by_joint(
    mechanism: Mechanism,
    given: Mapping[str, Any],
    name: str,
    default: np.ndarray,
    place: Callable[[str], slice],
    batch: bool = False,
    entries: Sequence[str] = (),
    convert: Callable[[Any, str], np.ndarray] = real_array,
) -> np.ndarray:
    """A vector from values by joint name.

    Args:
        given: by joint name a number, or as many as the joint has.
        name: of the argument, for errors.
        default: the entries of joints that are not named.
        place: where the entries of a joint lie, :meth:`~dalembert.model.Mechanism.q_slice` for instance.
        batch: allow leading dimensions of values.
        entries: names of all entries of the vector, if single ones may be given as well; a joint of that name goes
            before.
        convert: makes an array of a value.
    """
    parts: list[tuple[slice, np.ndarray]] = []
    joints = {joint.name for joint in mechanism.joints}
    for joint, value in given.items():
        single = entries.index(joint) if joint not in joints and joint in entries else None
        owner = joint.rpartition(".")[0]
        if single is None and joint not in joints and owner in joints and entries:
            own = ", ".join(entries[place(owner)])
            raise ArgumentError(f"{{argument}}[{joint!r}]: the velocities of {owner!r} are called {own}", argument=name)
        part = place(joint) if single is None else slice(single, single + 1)
        follows = mechanism.joint(joint).mimic if single is None else None
        if follows is not None:
            raise ArgumentError(
                f"{{argument}}[{joint!r}]: that joint follows {follows.joint!r}; give the value of this one",
                argument=name,
            )
        wanted = part.stop - part.start
        count = "one number" if wanted == 1 else f"{wanted} numbers"
        what = "joint" if single is None else "velocity"
        wrong = f"{{argument}}[{joint!r}] = {value!r}: {what} {joint!r} takes {count}"
        if any(part.start < other.stop and other.start < part.stop for other, _ in parts):
            raise ArgumentError(
                f"{{argument}}[{joint!r}]: that is given twice, by another name or with the others of its joint",
                argument=name,
            )
        # Labels of a single coordinate are those of states, not of entries.
        value = arranged(value, (), name) if wanted == 1 else unlabelled(value, name)
        try:
            array = convert(value, name)
        except ArgumentError as error:
            raise ArgumentError(wrong, argument=name) from error
        if wanted == 1 and (array.shape[-1:] != (1,) or array.ndim != 1):
            array = array[..., None]
        if array.shape[-1:] != (wanted,) or (array.ndim != 1 and not batch):
            raise ArgumentError(wrong, argument=name)
        parts.append((part, array))
    try:
        shape = np.broadcast_shapes(*(array.shape[:-1] for _, array in parts))
    except ValueError as error:
        shapes = ", ".join(f"{joint!r} {np.shape(value)}" for joint, value in given.items())
        raise ArgumentError(
            f"{{argument}}: the batch dimensions do not fit together: {shapes}", argument=name
        ) from error
    kind = np.result_type(default, *(array for _, array in parts))
    vector = np.broadcast_to(default, (*shape, len(default))).astype(kind)
    for part, array in parts:
        vector[..., part] = array
    return vector


# ---------------------------------------------------------------------------------------------------------- in formulas


def formula_names(joints: Iterable[Joint]) -> tuple[list[str], list[str]]:
    """What positions and velocities are called in formulas and files.

    A joint of one degree lends its name to its position, and ``name_dot`` to its velocity; entry k of a joint of
    several degrees is called ``name_k`` and ``name_dot_k``.

    Args:
        joints: of a mechanism, in its order.
    """
    q_names: list[str] = []
    v_names: list[str] = []
    for joint in joints:
        for names, stem, size in ((q_names, joint.name, joint.nq), (v_names, f"{joint.name}_dot", joint.nv)):
            names += [stem] if size == 1 else [f"{stem}_{k}" for k in range(size)]
    return q_names, v_names


# ---------------------------------------------------------------------------------------------- letters for mathematics

GREEK = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu", "xi",
    "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi", "omega",
)  # fmt: skip

READABLE = re.compile(rf"(?:[A-Za-z]|{'|'.join(GREEK)})(?:_?[0-9a-z]{{1,2}})?")
"""A letter, Latin or Greek, with at most two characters of index: ``q1``, ``theta_12``, ``x``, ``d2``."""

SEVERAL = {
    "planar": (("x", "y", "psi"), ("xdot", "ydot", "psidot")),
    "spherical": (("epsilon1", "epsilon2", "epsilon3", "eta"), ("omega_x", "omega_y", "omega_z")),
    "free": (
        ("x", "y", "z", "epsilon1", "epsilon2", "epsilon3", "eta"),
        ("v_x", "v_y", "v_z", "omega_x", "omega_y", "omega_z"),
    ),
}
"""Names for the coordinates and velocities of joints of several degrees of freedom."""


def rate_name(name: str, rates: int = 1) -> str:
    """The name of a time derivative: ``theta1`` becomes ``thetadot1``, which LaTeX shows as a dot over theta.

    Args:
        rates: how often it is differentiated.
    """
    stem, index = stem_and_index(name)
    dots = f"{'d' * (rates - 1)}dot"
    if stem.endswith("d") and len(stem) > 1:  # bddot would be the second rate of b
        return f"{stem[0]}{dots}_d{index}" if len(stem) == 2 and "_" not in index else f"{stem}_{dots}{index}"
    return f"{stem}{dots}{index}"


def stem_and_index(name: str) -> tuple[str, str]:
    """``theta`` and ``1`` of ``theta1``; ``omega`` and ``_x`` of ``omega_x``."""
    numbered, low = r"([^\W\d_]+?)(\d+|[\u2080-\u2089]+)", r"([^\W_]+)(_\w+)"
    parts = re.fullmatch(numbered, name) or re.fullmatch(low, name)
    return (parts[1], parts[2]) if parts else (name, "")


def coordinate_names(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """Letters of all coordinates and of all velocities, for equations that are read.

    Joints of one degree of freedom lend their own name if it reads as a mathematical symbol (``theta1``, ``d2``),
    otherwise coordinates are numbered ``q1``, ``q2``, ...; joints of several degrees have names of their own, with the
    number of the joint where another one has them too.
    """
    joints = [joint for joint in mechanism.joints if joint.nq]
    single = [joint.name for joint in joints if joint.nq == 1]
    readable = all(READABLE.fullmatch(name) for name in single)
    lent = {name for own in single for name in (own, rate_name(own))} if readable else set()
    kinds = Counter(joint.kind for joint in joints)
    # Free joints share names with planar and with spherical ones: beside one of them all are numbered together.
    series = {kind: "free" if kinds["free"] else kind for kind in SEVERAL}
    sizes = Counter(series[joint.kind] for joint in joints if joint.kind in SEVERAL)
    q_names: list[str] = []
    v_names: list[str] = []
    seen: Counter[str] = Counter()
    for joint in joints:
        if joint.kind in SEVERAL:
            own = series[joint.kind]
            seen[own] += 1
            in_q, in_v = SEVERAL[joint.kind]
            suffix = f"_{seen[own]}" if sizes[own] > 1 or lent.intersection((*in_q, *in_v)) else ""
            q_names += [name + suffix for name in in_q]
            v_names += [name + suffix for name in in_v]
        elif joint.nq == 1 and readable:
            q_names.append(joint.name)
            v_names.append(rate_name(joint.name))
        else:
            numbers = range(len(v_names) + 1, len(v_names) + joint.nq + 1)
            q_names += [f"q{k}" for k in numbers]
            v_names += [f"qdot{k}" for k in numbers]
    return q_names, v_names

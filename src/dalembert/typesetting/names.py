"""What coordinates and velocities are called when equations are written down."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from dalembert.model import Mechanism

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
        name: name of the coordinate.
        rates: how often it is differentiated.
    """
    stem, index = _stem_and_index(name)
    dots = f"{'d' * (rates - 1)}dot"
    if stem.endswith("d") and len(stem) > 1:  # bddot would be the second rate of b
        return f"{stem[0]}{dots}_d{index}" if len(stem) == 2 and "_" not in index else f"{stem}_{dots}{index}"
    return f"{stem}{dots}{index}"


def barred(name: str) -> str:
    """Another name, which LaTeX shows with a bar: ``theta1`` becomes ``thetabar1``.

    Args:
        name: of a symbol.
    """
    if "\\" in name or "{" in name:
        return rf"\bar{{{name}}}"
    stem, index = _stem_and_index(name)
    return f"{stem}bar{index}"


def called_after(velocities: Iterable[str], coordinates: Sequence[str]) -> dict[str, str]:
    """For each velocity that is called the rate of a coordinate, whatever the place of the dot, that coordinate.

    Args:
        velocities: their names.
        coordinates: their names.
    """
    first = list(reversed(coordinates))
    written = {_plain(x): x for x in first}
    written |= {name: x for x in first for name in (f"{x}_dot", f"{x}dot", rate_name(x))}
    keys = {name: name if name in written else undotted(name) for name in velocities if "dot" in name}
    return {name: written[key] for name, key in keys.items() if key in written}


def undotted(name: str) -> str:
    """What a rate is the rate of, letters only, whatever the place of the dot: ``q1`` of ``qdot_1``, ``\\dot{q}_1``.

    Args:
        name: of a rate.
    """
    return _plain("".join(name.rsplit("dot", 1)))


def _plain(name: str) -> str:
    """Letters and digits of a name, without what sets indices and commands apart."""
    return re.sub(r"[\\_{}\s]", "", name)


def _stem_and_index(name: str) -> tuple[str, str]:
    numbered, low = r"([^\W\d_]+?)(\d+|[\u2080-\u2089]+)", r"([^\W_]+)(_\w+)"
    parts = re.fullmatch(numbered, name) or re.fullmatch(low, name)
    return (parts[1], parts[2]) if parts else (name, "")


def coordinate_names(mechanism: Mechanism) -> tuple[list[str], list[str]]:
    """Names of all coordinates and of all velocities.

    Joints of one degree of freedom lend their own name if it reads as a mathematical symbol (``theta1``, ``d2``),
    otherwise coordinates are numbered ``q1``, ``q2``, ...; joints of several degrees have names of their own, with the
    number of the joint where another one has them too.

    Args:
        mechanism: the mechanism.
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


def distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Identifiers for programs, with underscores added where they are taken already.

    Args:
        names: what is wanted.
        taken: what is not available.
    """
    return _renamed(names, taken, "{}_".format)


def unlike(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of symbols, with bars where they are taken already, which print shows.

    Args:
        names: what is wanted.
        taken: what is not available.
    """
    return _renamed(names, taken, barred)


def _renamed(names: Iterable[str], taken: Iterable[str], other: Callable[[str], str]) -> list[str]:
    used = set(taken)
    result = []
    for name in names:
        while name in used:
            name = other(name)
        used.add(name)
        result.append(name)
    return result


def identifier(name: str) -> str:
    """A name that a program can use for a symbol of any spelling.

    Args:
        name: for example ``m_1``, ``\\theta`` or ``I_{zz}``.
    """
    plain = re.sub(r"\W+", "_", name).strip("_") or "parameter"
    return f"p_{plain}" if plain[0].isdigit() else plain

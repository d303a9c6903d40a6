"""Names of symbols: rates recognised, clashes avoided, identifiers for programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from dalembert.model.names import rate_name, stem_and_index


def barred(name: str) -> str:
    """Another name, which LaTeX shows with a bar: ``theta1`` becomes ``thetabar1``."""
    if "\\" in name or "{" in name:
        return rf"\bar{{{name}}}"
    stem, index = stem_and_index(name)
    return f"{stem}bar{index}"


def called_after(velocities: Iterable[str], coordinates: Sequence[str]) -> dict[str, str]:
    """For each velocity that is called the rate of a coordinate, whatever the place of the dot, that coordinate."""
    first = list(reversed(coordinates))
    written = {_plain(x): x for x in first}
    written |= {name: x for x in first for name in (f"{x}_dot", f"{x}dot", rate_name(x))}
    keys = {name: name if name in written else undotted(name) for name in velocities if "dot" in name}
    return {name: written[key] for name, key in keys.items() if key in written}


def undotted(name: str) -> str:
    """What a rate is the rate of, letters only, whatever the place of the dot: ``q1`` of ``qdot_1``, ``\\dot{q}_1``."""
    return _plain("".join(name.rsplit("dot", 1)))


def _plain(name: str) -> str:
    """Letters and digits of a name, without what sets indices and commands apart."""
    return re.sub(r"[\\_{}\s]", "", name)


def distinct(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Identifiers for programs, with underscores added where they are taken already."""
    return _renamed(names, taken, "{}_".format)


def unlike(names: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Names of symbols, with bars where they are taken already, which print shows."""
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

"""What a functional mock-up unit consists of, before it is written in the words of a version of FMI.

All values of an instance are one vector z = [time, states, inputs, parameters], all results one vector f = [rates of
the states, outputs]. The reference of a variable is its place in z followed by f.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import inline
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Program
from dalembert.tracing.trace import trace

UNITS: dict[str, dict[str, int]] = {
    "s": {"s": 1}, "m": {"m": 1}, "rad": {"rad": 1}, "kg": {"kg": 1},
    "N": {"kg": 1, "m": 1, "s": -2}, "J": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
"""What units are made of, by symbol."""


@dataclass(frozen=True)
class Variable:
    """A number of a unit that others see.

    Args:
        name: as in the mechanism; see :func:`legal_names`.
        unit: a product such as ``"N.m.s/rad"`` or ``"kg.m2"``; empty if there is none, or it is not known.
        start: value in the beginning; None for what is computed.
        meaning: a line for people.
    """

    name: str
    unit: str = ""
    start: float | None = None
    meaning: str = ""


@dataclass(frozen=True)
class FunctionalUnit:
    """A system of ordinary differential equations with names, ready to be written.

    Args:
        name: of the model, any text.
        identifier: of the model in C, and of its binary.
        meaning: a line for people.
        states: with start values.
        rates: one for each state.
        inputs: with start values.
        parameters: with start values.
        outputs: what is computed besides.
        compute: the program z -> f.
        correct: the program z -> states nearer to the constraints; None if there are none.
        quaternions: where among the states the four elements of unit quaternions begin.
    """

    name: str
    identifier: str
    meaning: str
    states: tuple[Variable, ...]
    rates: tuple[Variable, ...]
    inputs: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    compute: Program
    correct: Program | None
    quaternions: tuple[int, ...] = ()

    @property
    def known(self) -> tuple[Variable, ...]:
        """The variables of z."""
        return (Variable("time", "s", None, "time"), *self.states, *self.inputs, *self.parameters)

    @property
    def computed(self) -> tuple[Variable, ...]:
        """The variables of f."""
        return (*self.rates, *self.outputs)

    def direction(self) -> Program:
        """The program (z, dz) -> df of directional derivatives."""
        size = len(self.known)
        (result,) = self.compute.outputs

        def along(z: np.ndarray, dz: np.ndarray) -> np.ndarray:
            found = inline(self.compute, [z])[result.name]
            return forward(found, z, dz)

        return optimise(trace(along, {"z": (size,), "dz": (size,)}, f"{self.identifier}_direction", "df"))

    def dependencies(self) -> list[list[int]]:
        """For every variable of f, the places in z that it depends on."""
        reach: list[int] = []
        for op, args, _ in self.compute.nodes:
            if op == "input":
                reach.append(1 << args[1])
            elif op == "table":
                reach.append((1 << len(self.known)) - 1)
            else:
                union = 0
                for k in args if op != "const" else ():
                    union |= reach[k]
                reach.append(union)
        size = len(self.known)
        (nodes,) = self.compute.results
        if self.compute.is_array(0):
            nodes = nodes * self.compute.outputs[0].size
        return [[k for k in range(size) if reach[node] >> k & 1] for node in nodes]


# ---------------------------------------------------------------------------------------------------------------- names

_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INDICES = re.compile(r"(.*?)(\[\d+(?:,\d+)*\])?", re.DOTALL)


def legal_names(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names by FMI's structured convention: identifiers joined by dots, perhaps with indices at the end.

    Args:
        names: different names, of which any may break the rules: letters beyond ASCII, blanks, signs.

    Returns:
        The legal names, all different, and for each that was changed a text ``'old' -> 'new'``.
    """
    found: list[str] = []
    changed: list[str] = []
    taken = {name for name in names if _is_legal(name)}
    for name in names:
        legal = name
        if not _is_legal(name):
            number = 1
            while (legal := _mangled(name, number)) in taken:
                number += 1
            taken.add(legal)
            changed.append(f"{name!r} -> {legal!r}")
        found.append(legal)
    return found, changed


def _is_legal(name: str) -> bool:
    return all(_PART.fullmatch(part) for part in _parts(name)[0])


def _parts(name: str) -> tuple[list[str], str]:
    match = _INDICES.fullmatch(name)
    assert match is not None
    return match[1].split("."), match[2] or ""


def _mangled(name: str, number: int) -> str:
    parts, indices = _parts(name)
    legal = [re.sub(r"[^A-Za-z0-9_]", "_", part) or "_" for part in parts]
    legal = [part if _PART.fullmatch(part) else f"_{part}" for part in legal]
    return ".".join(legal) + (f"_{number}" if number > 1 else "") + indices


# ---------------------------------------------------------------------------------------------------------------- units


def exponents(unit: str) -> dict[str, int]:
    """Exponents of kg, m, s and rad in a product of units.

    Args:
        unit: factors of :data:`UNITS` with whole exponents, joined by dots, after a slash those that divide.
    """
    found: dict[str, int] = {}
    for sign, symbol, power in _factors(unit):
        for base, exponent in UNITS[symbol].items():
            found[base] = found.get(base, 0) + sign * exponent * power
    return {base: exponent for base, exponent in found.items() if exponent}


def _factors(unit: str) -> Iterator[tuple[int, str, int]]:
    for sign, side in zip((1, -1), unit.split("/")):
        for factor in side.split("."):
            symbol, power = re.fullmatch(r"([A-Za-z]+|1)(\d*)", factor).groups()  # type: ignore[union-attr]
            if symbol != "1":
                yield sign, symbol, int(power or 1)

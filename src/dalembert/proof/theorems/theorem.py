"""A theorem: a statement in words and symbols that proves itself, and the table of all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from dalembert.formulations.equations import CITATIONS
from dalembert.proof.degree import Degrees, error_of, exponent_for
from dalembert.proof.field import Field
from dalembert.proof.prove import ERROR, ProofRow

Sides = tuple[Any, Any]
Claim = Callable[[Any, int], Iterator[Sides]]


@dataclass(frozen=True)
class Theorem:
    """A statement of a source document.

    Args:
        name: the document's code and what it calls the statement, such as ``"THESIS Proposition 3.6"``.
        source: its equation numbers there.
        words: the statement in words.
        formula: the statement in symbols; a semicolon parts several.
        claim: yields both sides of every part, over a field; with the sign -1 one term of each part is changed.
    """

    name: str
    source: str
    words: str
    formula: str
    claim: Claim

    def prove(self, *, error: float = ERROR, seed: int = 0, sign: int = 1) -> ProofRow:
        """Decide whether both sides are the same rational functions.

        Args:
            error: the largest probability of an error; a larger prime is taken where it is needed.
            seed: of the random elements.
            sign: -1 to change one term, which must make the statement false.
        """
        world = Degrees()
        degrees = [_difference(sides) for sides in self.claim(world, sign)]
        degree = max([1.0, *(world.bound(entries) for entries in degrees)])
        exponent = exponent_for(degree, error)
        parts = list(self.claim(Field((1 << exponent) - 1, seed), sign))
        holds = all(x == 0 for sides in parts for x in _difference(sides).flat)
        shown = "" if holds else self._counterexample(seed, sign)
        return ProofRow(self.name, self.formula, self.source, holds, degree, error_of(degree, exponent), shown)

    def _counterexample(self, seed: int, sign: int) -> str:
        """Both sides of an entry that differs, at a point of small fractions."""
        for part, sides in enumerate(self.claim(Field(None, seed), sign), 1):
            for place, x in np.ndenumerate(_difference(sides)):
                if x != 0:
                    left, right = (np.asarray(side, dtype=object)[place] for side in sides)
                    return f"part {part}, entry {list(place)}: {left} against {right} at a rational point"
        return "the fractions drawn happen to agree"

    def __str__(self) -> str:
        code, _, own = self.name.partition(" ")
        head = f"{own} of {CITATIONS[code]}" if own == self.source else f"{own}, {self.source} of {CITATIONS[code]}"
        lines = [*wrap(head, 110), "", *wrap(self.words, 106, initial_indent="    ", subsequent_indent="    "), ""]
        return "\n".join([*lines, *(f"        {part}" for part in self.parts)])

    @property
    def parts(self) -> list[str]:
        """The formula, equation by equation."""
        return self.formula.split("; ")


class Theorems(Mapping[str, Theorem]):
    """Theorems by name; printed, a table of their formulas."""

    def __init__(self, theorems: Mapping[str, Theorem] | None = None) -> None:
        self._theorems: dict[str, Theorem] = dict(theorems or {})

    def __or__(self, other: Theorems) -> Theorems:
        return Theorems({**self, **other})

    def __getitem__(self, name: str) -> Theorem:
        try:
            return self._theorems[name]
        except KeyError:
            near = [known for known in self._theorems if str(name).lower() in known.lower()]
            raise KeyError(f"no theorem {name!r}; {'did you mean ' + near[0] if near else 'print(THEOREMS)'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._theorems)

    def __len__(self) -> int:
        return len(self._theorems)

    def states(self, name: str, source: str, words: str, formula: str) -> Callable[[Claim], Claim]:
        """Enter a claim as a theorem; see :class:`Theorem` for the arguments."""

        def enter(claim: Claim) -> Claim:
            self._theorems[name] = Theorem(name, source, words, formula, claim)
            return claim

        return enter

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        lines = [f"{'theorem'.ljust(width)}  formula", "-" * (width + 70)]
        for theorem in self.values():
            first, *rest = theorem.parts
            lines += [f"{theorem.name.ljust(width)}  {first}", *(f"{' ' * width}  {part}" for part in rest)]
        return "\n".join(lines)


def _difference(sides: Sides) -> np.ndarray:
    left, right = sides
    return np.asarray(left - right, dtype=object)

"""At which states the rows of constraints are compared: at those that leave equally many freedoms.

Loops of equal lengths close in several ways, working, folded or crossed, and the rows have another rank in each. So
one way has to be chosen: that of positions around a reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from dalembert.errors import SingularityError
from dalembert.formulations.sample_ranks import clear_ranks
from dalembert.formulations.sampling import MOST_LOST_STATES, Inputs, LoopCloser, neutral, typical_inputs
from dalembert.formulations.system import MultibodySystem
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import program_of

FEW_STATES, MANY_STATES = 5, 40
"""States at which rows are compared, and at which ways of closing are looked for where some rows are redundant."""

TRIES = 20
"""States close to a position at which different ways of closing may meet."""

REFERENCE_SPREAD, SPREAD = 0.05, 0.3
"""Standard deviations around a reference, rad and m: of what may be singular itself, and of typical states."""


class Assemblies:
    """States with closed loops, all of one mobility, drawn as they are needed.

    Args:
        states: all inputs of each, without end or few.
        others: freedoms that loops leave which close in another way.
        choice: by what the way was chosen, in words.
        closed: false if no position was found at which loops close, so that the states violate the constraints.
    """

    def __init__(
        self,
        system: MultibodySystem,
        states: Iterator[Inputs],
        others: tuple[int, ...] = (),
        choice: str = "",
        closed: bool = True,
    ):
        self.system, self.others, self.choice, self.closed = system, others, choice, closed
        self._coming, self._drawn = states, list[Inputs]()

    @property
    def elsewhere(self) -> str:
        """The freedoms of other ways of closing, in words; nothing if there are none."""
        numbers = " or ".join(map(str, self.others))
        return numbers and numbers + (" freedom" if self.others == (1,) else " freedoms")

    def at(self, values: np.ndarray) -> np.ndarray:
        """Numbers for expressions in q, t and parameters, (states, *shape), where they exist if they do anywhere."""
        results: list[np.ndarray] = []
        lost: list[np.ndarray] = []
        program = program_of(self.system.scope.graph, {"values": values}, "values")
        rng = np.random.default_rng(2)
        for inputs in self._each():
            if any(port.name not in inputs for port in program.inputs):  # speeds of the user may depend on time
                inputs = typical_inputs(self.system, rng, inputs)
            found = evaluate(program, {port.name: inputs[port.name] for port in program.inputs})["values"]
            (results if np.isfinite(np.asarray(found, dtype=float)).all() else lost).append(found)
            if len(results) == FEW_STATES or len(lost) == MOST_LOST_STATES:
                break
        return np.array(results or lost[:FEW_STATES])

    def _each(self) -> Iterator[Inputs]:
        yield from self._drawn
        for inputs in self._coming:
            self._drawn.append(inputs)
            yield inputs


def assemblies(system: MultibodySystem, A: np.ndarray, reference: np.ndarray | None = None) -> Assemblies:
    """States at which the rows have the rank that they have around a reference.

    By default random states decide, as long as they agree. Where they do not, or where rows are redundant, so that
    others may not, the neutral position does, as it does for ``Dynamics``, if that is not rigid; and most of
    the random ones that leave a freedom if it is.

    Args:
        reference: positions, which need not close loops.
    """
    if system.constraints is None:
        return Assemblies(system, _typical(system, reference))
    close, rng = LoopCloser(system), np.random.default_rng(1)
    rows = program_of(system.scope.graph, {"values": A}, "rows")

    def numbers(states: list[Inputs]) -> np.ndarray:
        found = [evaluate(rows, {port.name: x[port.name] for port in rows.inputs})["values"] for x in states]
        return np.array(found, dtype=float).reshape(-1, *A.shape)

    def closed() -> Iterator[Inputs]:
        arrived, missed = False, 0
        while missed < (MOST_LOST_STATES if arrived else FEW_STATES):  # few values of symbols may allow it
            inputs = typical_inputs(system, rng)
            if system.time is not None:
                inputs["t"] = inputs["t"] / 4**missed  # motions that are given may be in reach for a short time
            if close(inputs, rng):
                arrived = True
                yield inputs
            else:
                missed += 1

    stream = closed()
    drawn = list(islice(stream, FEW_STATES))
    closable = bool(drawn)
    if not closable:
        stream = _typical(system, None)
        drawn = list(islice(stream, FEW_STATES))
    few = numbers(drawn)
    plain = len(A) < system.n and (clear_ranks(few) == len(A)).all()
    if reference is None and (plain or not closable or not np.isfinite(few).all(axis=(1, 2)).any()):
        home = _Surroundings(system, close, neutral(system), numbers, few)
        return Assemblies(system, chain(drawn, stream), closed=closable or home.closes())
    drawn += islice(stream, MANY_STATES - FEW_STATES if closable else 0)
    typical = numbers(drawn)
    ranks = clear_ranks(typical)
    around = _Surroundings(system, close, neutral(system) if reference is None else reference, numbers, typical)
    several = len({*ranks.tolist(), -1}) > 2
    rank, choice = around.rank(TRIES if several else FEW_STATES), "as those around the neutral position do"
    if reference is not None:
        choice = "as those around the reference do"
        if rank < 0:
            raise SingularityError(
                f"{system.name!r}: around the reference no loops are closed, or it is undecided how many freedoms "
                "they leave",
                argument="reference",
                remedy="give {setting}, positions near an assembly in which it works"
                + (" while its symbols have values of about one" if system.scope.parameters else ""),
            )
    elif rank < 0 or rank == system.n:
        clear = ranks[ranks >= 0]
        if not len(clear):
            return Assemblies(system, chain(drawn, stream))
        mobile = clear[clear < system.n]
        rank, choice = _middle(mobile if len(mobile) else clear), "as most random ones do"
    others = tuple(sorted({system.n - int(x) for x in ranks if x not in (-1, rank)}))
    same = [x for x, own in zip(drawn, ranks) if own == rank]
    if reference is None and len(same) >= FEW_STATES:
        return Assemblies(system, iter(same), others, choice)
    return Assemblies(system, iter(around.states(rank) or same), others, choice)


def _typical(system: MultibodySystem, reference: np.ndarray | None) -> Iterator[Inputs]:
    """Without loops all positions will do."""
    rng = np.random.default_rng(1)
    while True:
        inputs = typical_inputs(system, rng)
        if reference is not None:
            inputs = typical_inputs(system, rng, inputs | {"q": reference + SPREAD * inputs["q"]})
        yield inputs


class _Surroundings:
    """Assemblies around a position.

    Args:
        numbers: evaluates the rows at states.
        typical: the rows at typical states, for their size.
    """

    def __init__(
        self,
        system: MultibodySystem,
        close: LoopCloser,
        q: np.ndarray,
        numbers: Callable[[list[Inputs]], np.ndarray],
        typical: np.ndarray,
    ):
        self.system, self.close, self.q = system, close, q
        self.numbers, self.typical = numbers, typical
        self.rng = np.random.default_rng(0)

    def rank(self, tries: int) -> int:
        """The greatest rank close by, of those that are clear, or -1.

        The position itself may be singular, as where two ways of closing meet: there most states may have less.

        Args:
            tries: how many states to look at first; many, where loops are known to close in several ways.
        """
        found = []
        for _ in range(3):
            ranks = self._ranks(self._draw([REFERENCE_SPREAD] * tries, at_start=True))
            if not ranks:
                break
            if -1 in ranks or len(set(ranks)) > 1:
                ranks += self._ranks(self._draw([REFERENCE_SPREAD] * TRIES, at_start=True))
            found.append(max(ranks))
        return _middle([x for x in found if x >= 0] or [-1])

    def closes(self) -> bool:
        """Whether loops can be closed around the position."""
        return bool(self._draw([REFERENCE_SPREAD], at_start=True))

    def states(self, rank: int) -> list[Inputs]:
        """Some of that rank, typical ones if there are any around the position."""
        found: list[Inputs] = []
        for spread in (SPREAD, REFERENCE_SPREAD):
            for _ in range(MANY_STATES // FEW_STATES):
                states = self._draw([spread] * FEW_STATES)
                found += [x for x, own in zip(states, self._ranks(states)) if own == rank]
                if len(found) >= FEW_STATES:
                    return found
        return found

    def _ranks(self, states: list[Inputs]) -> list[int]:
        return [int(x) for x in clear_ranks(self.numbers(states), self.typical)]

    def _draw(self, spreads: list[float], at_start: bool = False) -> list[Inputs]:
        """Assemblies at one set of values of the symbols, around the one that the position leads to."""
        fixed = {"t": 0.0} if at_start and self.system.time is not None else {}
        inputs = typical_inputs(self.system, self.rng, fixed)
        for k in range(MOST_LOST_STATES):  # farther and farther away, sooner and sooner
            if self.system.time is not None:
                inputs["t"] = inputs["t"] / 2**k
            inputs["q"] = self.q + 0.1 * k * self.rng.normal(size=self.q.shape)
            if self.close(inputs):
                break
        else:
            return []
        moved = [inputs | {"q": inputs["q"] + x * self.rng.normal(size=self.q.shape)} for x in spreads]
        return [state for state in moved if self.close(state)]


def _middle(numbers: Sequence[int] | np.ndarray) -> int:
    """The median, but one of the numbers."""
    return int(sorted(numbers)[(len(numbers) - 1) // 2])

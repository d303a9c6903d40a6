"""What all printers share: decide which values get a name, and put the others into expressions.

A value gets a name if it has a label, is used more than once, or would make an expression too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from dalembert.tracing.cost import count_uses
from dalembert.tracing.program import Program

SUM, PRODUCT, ATOM = 1, 2, 3
"""How tightly a text is bound; an operand that is bound less than required is put in brackets."""


class Text(NamedTuple):
    """A piece of source and how tightly it is bound."""

    source: str
    level: int = ATOM


class Statement(NamedTuple):
    """A definition: the name of a value, its source, and which node it is.

    If ``cosine`` is given, ``name`` is the sine and ``cosine`` the cosine of ``source``. If ``loop`` or ``calls`` is
    given, ``name`` is the array of what it carries.
    """

    name: str
    source: str
    node: int
    cosine: str = ""
    loop: LoopBody | None = None
    calls: StepCalls | None = None


class LoopBody(NamedTuple):
    """A step taken several times, on an array of what is carried.

    Args:
        given: name of the array of what is given to the steps, one after the other, and sources of its elements, with
            whether each is a constant; none if empty.
        made: name of the array of what the steps make, one after the other, and sources of the elements that one makes,
            none of which reads the array of what is carried; none if empty.
        start: sources of its elements before the first step, and whether each is a constant.
        times: how often the step is taken.
        counter: a name for the number of the step.
        body: the statements of a step.
        ends: sources of the elements after a step, and whether each is a constant; none reads the array.
    """

    given: tuple[str, list[tuple[str, bool]]]
    made: tuple[str, list[tuple[str, bool]]]
    start: list[tuple[str, bool]]
    times: int
    counter: str
    body: FunctionBody
    ends: list[tuple[str, bool]]


class StepFunction(NamedTuple):
    """A function of one step, which several loops call.

    Args:
        name: of the function.
        given: which of the values given to a step vary, in order.
        table: which of them are constants in every loop that takes the step, in order.
    """

    name: str
    given: tuple[int, ...]
    table: tuple[int, ...]


class StepCalls(NamedTuple):
    """A loop that calls a function for each of its steps.

    Args:
        function: that it calls.
        given: name of the array of what is given to the steps and varies, and sources of its elements.
        table: name of the array of constants that are given to the steps, and its elements.
        made: name of the array of what the steps make, and how many values one makes.
        start: as in :class:`LoopBody`; so are the others.
    """

    function: StepFunction
    given: tuple[str, list[tuple[str, bool]]]
    table: tuple[str, list[str]]
    made: tuple[str, int]
    start: list[tuple[str, bool]]
    times: int
    counter: str


class NameGiver(Protocol):
    """Makes names out of labels."""

    def scope(self) -> NameGiver:
        """Names for an inner block, different from those given out so far."""
        ...

    def new(self, wish: str) -> str:
        """A name like ``wish`` that was not given out before."""
        ...


class Dialect(Protocol):
    """How a language writes numbers and operations."""

    longest: int
    """Longest expression, in characters, before parts of it get names."""

    pairs: bool
    """Whether sine and cosine of one argument are computed by one statement."""

    def number(self, value: float) -> Text:
        """A constant; reading it back gives the same number."""
        ...

    def operation(self, op: str, args: list[Text]) -> Text:
        """An operation on operands."""
        ...

    def named(self, op: str) -> bool:
        """Whether the result of an operation always gets a name."""
        ...

    def wants_names(self, op: str) -> bool:
        """Whether the computed operands of an operation always get a name."""
        ...


class FunctionBody:
    """The statements of a program, or of a piece of one. For languages without arrays it must have no loops.

    Args:
        read: source of the element of an input, from port number and flat element.
        start: index of the first node of the piece.
        stop: index after its last node; None for all.
        known: sources of values computed before.
        keep: nodes that must have a name, because other code needs them.
        uses: of ``count_uses``, if the caller has it already.
        steps: functions of steps that are written elsewhere, by the digest of the step.
    """

    def __init__(
        self,
        program: Program,
        dialect: Dialect,
        names: NameGiver,
        read: Callable[[int, int], str],
        start: int = 0,
        stop: int | None = None,
        known: Mapping[int, str] | None = None,
        keep: frozenset[int] = frozenset(),
        uses: list[int] | None = None,
        steps: Mapping[str, StepFunction] | None = None,
    ):
        stop = len(program.nodes) if stop is None else stop
        self.program, self.dialect, self.names = program, dialect, names
        self.statements: list[Statement] = []
        self._texts: dict[int, Text] = {k: Text(source) for k, source in (known or {}).items()}
        self._named = set(self._texts)
        self._read = read
        self._steps = steps or {}
        self._uses = count_uses(program) if uses is None else uses
        self._numbered = 0
        self._loops: dict[int, list[str]] = {}  # sources of what they end with
        cosines = _partners(program, start, stop) if dialect.pairs else {}
        for k in range(start, stop):
            if program.nodes[k].op in ("const", "input") or k in self._named:
                continue
            if k in cosines:
                self._print_pair(k, cosines[k])
            elif program.nodes[k].op == "loop":
                self._print_loop(k)
            elif program.nodes[k].op == "element":
                self._texts[k] = Text(self._loops[program.nodes[k].args[0]][int(program.nodes[k].value)])
                self._named.add(k)
            else:
                self._print(k, keep)

    def text(self, k: int) -> Text:
        """The source of a value: its name, or an expression."""
        op, args, value = self.program.nodes[k]
        if op == "const":
            return self.dialect.number(value)
        if op == "input":
            return Text(self._read(*args))
        return self._texts[k]

    def _fresh(self, k: int) -> str:
        label = self.program.labels.get(k)
        if label is None:
            label = f"t{self._numbered}"
            self._numbered += 1
        self._named.add(k)
        return self.names.new(label)

    def _give_name(self, k: int) -> None:
        if k not in self._named and self.program.nodes[k].op not in ("const", "input"):
            name = self._fresh(k)
            self.statements.append(Statement(name, self._texts[k].source, k))
            self._texts[k] = Text(name)

    def _print(self, k: int, keep: frozenset[int]) -> None:
        op, args, _ = self.program.nodes[k]
        if self.dialect.wants_names(op):
            for a in args:
                self._give_name(a)
        made = self.dialect.operation(op, [self.text(a) for a in args])
        inside = [a for a in dict.fromkeys(args) if a in self._texts and a not in self._named]
        while len(made.source) > self.dialect.longest and inside:
            longest = max(inside, key=lambda a: len(self._texts[a].source))
            inside.remove(longest)
            self._give_name(longest)
            made = self.dialect.operation(op, [self.text(a) for a in args])
        self._texts[k] = made
        if self._uses[k] > 1 or k in self.program.labels or k in keep or self.dialect.named(op):
            self._give_name(k)

    def _print_loop(self, k: int) -> None:
        _, args, value = self.program.nodes[k]
        loop = self.program.loops[int(value)]
        for a in args:
            self._give_name(a)
        carried, given, made = (self.names.new(wish) for wish in ("carried", "given", "made"))
        self._loops[k] = [f"{carried}[{j}]" for j in range(loop.carried)]
        self._loops[k] += [f"{made}[{j}]" for j in range(loop.count * loop.made)]
        sources = [(self.text(a).source, self.program.nodes[a].op == "const") for a in args]
        start, held = sources[: loop.carried], [source for source, _ in sources[loop.carried :][: loop.held]]
        rows = sources[loop.carried + loop.held :]
        inner = self.names.scope()
        counter = inner.new("step")
        function = self._steps.get(loop.step.digest)
        if function is not None:
            varying = [rows[s * loop.given + k] for s in range(loop.count) for k in function.given]
            numbers = [rows[s * loop.given + k][0] for s in range(loop.count) for k in function.table]
            table = self.names.new("numbers"), numbers
            calls = StepCalls(function, (given, varying), table, (made, loop.made), start, loop.count, counter)
            self.statements.append(Statement(carried, "", k, calls=calls))
            return

        def read(port: int, element: int) -> str:
            if port == 1:
                return held[element]
            return f"{given}[{counter} * {loop.given} + {element}]" if port else f"{carried}[{element}]"

        body, ends, fresh = step_body(loop.step, self.dialect, inner, read)
        self.statements.append(
            Statement(
                carried, "", k, loop=LoopBody((given, rows), (made, fresh), start, loop.count, counter, body, ends)
            )
        )

    def _print_pair(self, first: int, second: int) -> None:
        sine, cosine = (first, second) if self.program.nodes[first].op == "sin" else (second, first)
        argument = self.text(self.program.nodes[first].args[0]).source
        names = self._fresh(sine), self._fresh(cosine)
        self.statements.append(Statement(names[0], argument, sine, names[1]))
        self._texts[sine], self._texts[cosine] = Text(names[0]), Text(names[1])


def step_body(
    step: Program, dialect: Dialect, names: NameGiver, read: Callable[[int, int], str]
) -> tuple[FunctionBody, list[tuple[str, bool]], list[tuple[str, bool]]]:
    """The statements of one step of a loop; the sources of what it carries on and of what it makes, and whether each is
    a constant. They may be assigned in any order: none reads the array of what is carried.

    Args:
        step: a step as in :class:`dalembert.tracing.program.Repetition`.
        dialect: of the language.
        names: for its values.
        read: as for :class:`FunctionBody`.
    """
    results = step.results
    body = FunctionBody(step, dialect, names, read, keep=frozenset((*results[0], *results[1])))
    found: dict[int, tuple[str, bool]] = {}
    for result in (*results[0], *results[1]):
        if result in found:
            continue
        op, at, _ = step.nodes[result]
        source = body.text(result).source
        if op == "input" and at[0] == 0:  # another statement overwrites it
            old = names.new("old")
            body.statements.append(Statement(old, source, result))
            source = old
        found[result] = source, op == "const"
    return body, [found[k] for k in results[0]], [found[k] for k in results[1]]


def _partners(program: Program, start: int, stop: int) -> dict[int, int]:
    """Sines and cosines of one argument within a piece: for each of the pair, the other."""
    found: dict[tuple[str, int], int] = {}
    pairs = {}
    for k in range(start, stop):
        op, args, _ = program.nodes[k]
        if op in ("sin", "cos"):
            found[op, args[0]] = k
            other = found.get(("cos" if op == "sin" else "sin", args[0]))
            if other is not None:
                pairs[k], pairs[other] = other, k
    return pairs


class Infix:
    """The notation that Python, C and CUDA share.

    Args:
        functions: templates, with {0}, {1}, ... for operands, of all operations but the four of arithmetic and
            neg.
        pairs: whether sine and cosine of one argument are computed by one statement.
    """

    longest = 100

    def __init__(self, number: Callable[[float], str], functions: Mapping[str, str], pairs: bool = False):
        self._number, self._functions, self.pairs = number, functions, pairs

    def number(self, value: float) -> Text:
        source = self._number(value)
        return Text(source, SUM if source.startswith("-") else ATOM)

    def named(self, op: str) -> bool:
        return False

    def wants_names(self, op: str) -> bool:
        return False

    def operation(self, op: str, args: list[Text]) -> Text:
        if op == "neg":
            return Text(f"-{bracket(args[0], PRODUCT)}", SUM)
        if op in ("add", "sub"):
            sign = "+" if op == "add" else "-"
            return Text(f"{bracket(args[0], SUM)} {sign} {bracket(args[1], PRODUCT)}", SUM)
        if op in ("mul", "div"):
            sign = "*" if op == "mul" else "/"
            return Text(f"{bracket(args[0], PRODUCT)} {sign} {bracket(args[1], ATOM)}", PRODUCT)
        return Text(self._functions[op].format(*[a.source for a in args]))


def bracket(text: Text, level: int) -> str:
    """The source, in brackets if it is bound less tightly than ``level``."""
    return text.source if text.level >= level else f"({text.source})"

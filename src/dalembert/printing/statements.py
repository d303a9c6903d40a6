"""What all printers share: decide which values get a name, and put the others into expressions.

A value gets a name if it has a label, is used more than once, or would make an expression too long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple, Protocol

import numpy as np

from dalembert.tracing.cost import count_uses, written_in_place
from dalembert.tracing.program import ARRAYS, NOT_HELD, Program, Scan

_WRITTEN_WHERE_USED = frozenset({"const", "input", "table", "data", "rows"})

SUM, PRODUCT, ATOM = 1, 2, 3
"""How tightly a text is bound; an operand that is bound less than required is put in brackets."""


class Text(NamedTuple):
    """A piece of source and how tightly it is bound."""

    source: str
    level: int = ATOM


class Statement(NamedTuple):
    """A definition: the name of a value, its source, and which node it is.

    If ``cosine`` is given, ``name`` is the sine and ``cosine`` the cosine of ``source``. If ``loop`` is given, ``name``
    is the array of what it carries; if ``array`` is, that of an array.
    """

    name: str
    source: str
    node: int
    cosine: str = ""
    loop: LoopBody | None = None
    array: ArrayBody | None = None


class ArrayBody(NamedTuple):
    """How an array is made.

    Args:
        size: how many elements it has.
        declared: whether it has a place already.
        numbers: sources of its elements, if they are constants.
        elements: sources of its elements, and whether each is a constant, if they are given one by one.
        copied: source of the array that it is a copy of, if it is one.
        changed: sources of an index and of the number that is put there.
        drawn: sources of the key, the counter and the limit of random numbers.
    """

    size: int
    declared: bool
    numbers: list[str] | None = None
    elements: list[tuple[str, bool]] | None = None
    copied: str = ""
    changed: tuple[str, str] | None = None
    drawn: list[str] | None = None


class Emitted(NamedTuple):
    """An array that a loop emits, row by row.

    Args:
        array: its source.
        size: how many elements it has; zero if it has a place already.
        width: how many elements a row has.
        row: sources of the elements of a row, and whether each is a constant; none reads what is carried. Or the source
            of an array.
    """

    array: str
    size: int
    width: int
    row: list[tuple[str, bool]] | str


class Stored(NamedTuple):
    """An array that a loop carries.

    Args:
        array: its source.
        size: how many elements it has.
        declared: whether it has a place already.
        before: source of the array that it begins as.
        after: source of the array that it is after a step.
    """

    array: str
    size: int
    declared: bool
    before: str
    after: str


class LoopBody(NamedTuple):
    """A step taken several times, on an array of what is carried.

    Args:
        scan: what is repeated.
        start: sources of what is carried before the first step, and whether each is a constant.
        counter: a name for the number of the step.
        row: a name for the number of the row that is given; that of the counter, if they are the same.
        kept: a name for the number of the row that is emitted; that of the counter, if they are the same.
        body: the statements of a step; None if a function takes it.
        ends: sources of the elements after a step, and whether each is a constant; none reads the array.
        emitted: the arrays that it emits.
        stored: the arrays that it carries.
        function: the function that takes a step, and the arrays it is given; what it emits comes last.
    """

    scan: Scan
    start: list[tuple[str, bool]]
    counter: str
    row: str
    kept: str
    body: FunctionBody | None
    ends: list[tuple[str, bool]]
    emitted: list[Emitted]
    stored: list[Stored]
    function: tuple[str, list[str]] = ("", [])


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

    in_place: bool
    """Whether writes may change arrays where they are."""

    def number(self, value: float) -> Text:
        """A constant; reading it back gives the same number."""
        ...

    def operation(self, op: str, args: list[Text]) -> Text:
        """An operation on operands."""
        ...

    def part(self, array: str, first: str, size: int) -> str:
        """Part of an array, from an element on."""
        ...

    def element(self, array: str, size: int, index: str) -> Text:
        """The element of an array at a computed index, the nearest there is."""
        ...

    def store(self, array: str, size: int, index: str, number: str) -> str:
        """The statement that changes the element of an array at a computed index."""
        ...

    def draw(self, array: str, operands: list[str]) -> str:
        """The statement that fills an array with random numbers, or the source of that array."""
        ...

    def named(self, op: str) -> bool:
        """Whether the result of an operation always gets a name."""
        ...

    def wants_names(self, op: str) -> bool:
        """Whether the computed operands of an operation always get a name."""
        ...


class NoArrays:
    """For dialects without arrays."""

    in_place = False

    def part(self, array: str, first: str, size: int) -> str:
        raise NotImplementedError

    def element(self, array: str, size: int, index: str) -> Text:
        raise NotImplementedError

    def store(self, array: str, size: int, index: str, number: str) -> str:
        raise NotImplementedError

    def draw(self, array: str, operands: list[str]) -> str:
        raise NotImplementedError


class FunctionBody:
    """The statements of a program, or of a piece of one. For languages without arrays it must have none, and no loops.

    Args:
        read: source of the element of an input, from port number and flat element.
        start: index of the first node of the piece.
        stop: index after its last node; None for all.
        known: sources of values computed before.
        keep: nodes that must have a name, because other code needs them.
        uses: of ``count_uses``, if the caller has it already.
        steps: names of functions of steps that are written elsewhere, by the digest of the step.
        arrays: sources of inputs as arrays, by number.
        memory: sources of arrays that have a place already, by node.
        changed: writes that change the array itself.
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
        steps: Mapping[str, str] | None = None,
        arrays: Callable[[int], str] | None = None,
        memory: Mapping[int, str] | None = None,
        changed: Set[int] = frozenset(),
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
        self._array_of_port = arrays
        self._memory = dict(memory or {})
        self._changed = changed
        self._arrays: dict[int, str] = {}
        self._rows_of: dict[int, dict[int, int]] = {}
        for k, (op, args, value) in enumerate(program.nodes):
            if op == "rows":
                self._rows_of.setdefault(args[0], {})[int(value)] = k
        self._carried: dict[int, str] = {}  # names of what loops end with
        cosines = _partners(program, start, stop) if dialect.pairs else {}
        for k in range(start, stop):
            op, args, value = program.nodes[k]
            if op in _WRITTEN_WHERE_USED or k in self._named:
                continue
            if k in cosines:
                self._print_pair(k, cosines[k])
            elif op == "loop":
                self._print_loop(k)
            elif op == "element":
                self._texts[k] = Text(f"{self._carried[args[0]]}[{int(value)}]")
                self._named.add(k)
            elif op in ARRAYS:
                self._print_array(k)
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

    def array(self, k: int) -> str:
        """The source of an array."""
        op, _, value = self.program.nodes[k]
        if k not in self._arrays:
            if op == "table":
                assert self._array_of_port is not None
                self._arrays[k] = self._array_of_port(int(value))
            elif op == "data":
                numbers = np.frombuffer(self.program.tables[int(value)], "<f8")
                self._arrays[k] = name = self.names.new("table")
                sources = [self.dialect.number(x).source for x in numbers.tolist()]
                self.statements.append(Statement(name, "", k, array=ArrayBody(len(numbers), False, sources)))
            else:
                self._arrays[k] = self._memory[k]
        return self._arrays[k]

    def _place(self, k: int, wish: str) -> tuple[str, bool]:
        """The source of an array that is made now, and whether it has a place already."""
        declared = k in self._memory
        self._arrays[k] = self._memory[k] if declared else self.names.new(wish)
        return self._arrays[k], declared

    def _print_array(self, k: int) -> None:
        op, args, _ = self.program.nodes[k]
        size = self.program.array_sizes[k]
        if op == "pack":
            for a in args:
                self._give_name(a)
            elements = [(self.text(a).source, self.program.nodes[a].op == "const") for a in args]
            name, declared = self._place(k, "packed")
            made = ArrayBody(size, declared, elements=elements)
        elif op == "draw":
            for a in args:
                self._give_name(a)
            name, declared = self._place(k, "drawn")
            made = ArrayBody(size, declared, drawn=[self.text(a).source for a in args])
        else:
            before, index, number = args
            self._give_name(index)
            self._give_name(number)
            source = self.array(before)
            if k in self._changed:
                name, declared, copied = source, True, ""
                self._arrays[k] = source
            else:
                (name, declared), copied = self._place(k, "written"), source
            made = ArrayBody(size, declared, copied=copied, changed=(self.text(index).source, self.text(number).source))
        self.statements.append(Statement(name, "", k, array=made))

    def copy_array(self, k: int, target: str) -> None:
        """Copy an array to a place of its own."""
        size = self.program.array_sizes[k]
        self.statements.append(Statement(target, "", k, array=ArrayBody(size, True, copied=self.array(k))))

    def _fresh(self, k: int) -> str:
        label = self.program.labels.get(k)
        if label is None:
            label = f"t{self._numbered}"
            self._numbered += 1
        self._named.add(k)
        return self.names.new(label)

    def _give_name(self, k: int) -> None:
        if k not in self._named and self.program.nodes[k].op not in NOT_HELD:
            name = self._fresh(k)
            self.statements.append(Statement(name, self._texts[k].source, k))
            self._texts[k] = Text(name)

    def _print(self, k: int, keep: frozenset[int]) -> None:
        op, args, _ = self.program.nodes[k]
        if self.dialect.wants_names(op):
            for a in args:
                self._give_name(a)
        if op == "read":
            home, index = args
            self._give_name(index)
            size = self.program.array_sizes[home]
            self._texts[k] = self.dialect.element(self.array(home), size, self.text(index).source)
            self._give_name(k)
            return
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
        scan = self.program.loops[int(value)]
        start, held, given, tables, stores = scan.split(args)
        for a in (*start, *held):
            self._give_name(a)
        rows = [self.array(a) for a in given]
        known = [self.array(a) for a in tables]
        before = [self.array(a) for a in stores]
        carried = self._carried[k] = self.names.new("carried")
        mine = self._rows_of.get(k, {})
        places: list[tuple[str, bool]] = []
        for j in range(len(scan.sizes)):
            wish = "rows" if j < len(scan.made) else "store"
            places.append(self._place(mine[j], wish) if j in mine else (self.names.new(wish), False))
        beginning = [(self.text(a).source, self.program.nodes[a].op == "const") for a in start]
        sources = [self.text(a).source for a in held]
        inner = self.names.scope()
        counter = inner.new("step")
        row = inner.new("row") if rows and (scan.hold > 1 or scan.reverse) else counter
        kept = inner.new("kept") if scan.made and (scan.every > 1 or scan.reverse) else counter
        first = 2 + len(rows)

        def at(port: int, element: int | str) -> str:
            begin, stride = scan.given[port - 2]
            return f"{begin + element if isinstance(element, int) else begin} + {stride} * {row}"

        def read(port: int, element: int) -> str:
            if port == 1:
                return sources[element]
            if port == 0:
                return f"{carried}[{element}]"
            if port < first:
                return f"{rows[port - 2]}[{at(port, element)}]"
            return f"{array(port)}[{element}]"

        def array(port: int) -> str:
            if port < first:
                return self.dialect.part(rows[port - 2], at(port, 0), scan.widths[port - 2])
            if port < first + len(known):
                return known[port - first]
            return places[len(scan.made) + port - first - len(known)][0]

        name = self._steps.get(scan.step.digest, "") if not scan.held and not stores and scan.every == 1 else ""
        width = scan.made
        body: FunctionBody | None = None
        ends: list[tuple[str, bool]] = []
        made: list[list[tuple[str, bool]] | str] = []
        after: list[str] = []
        taken: list[str] = []
        if name:
            taken = [array(port) for port in range(2, first + len(known))]
            taken += [self.dialect.part(own, f"{n} * {kept}", n) for n, (own, _) in zip(width, places)]
            made = [[] for _ in width]
        else:
            body, ends, made, after = step_body(scan, self.dialect, inner, read, array, self.dialect.in_place)
        emitted = [
            Emitted(own, 0 if declared else n * scan.emitted, n, new)
            for (own, declared), n, new in zip(places, width, made)
        ]
        stored = [
            Stored(own, n, declared, *both)
            for (own, declared), n, *both in zip(places[len(width) :], scan.sizes[len(width) :], before, after)
        ]
        loop = LoopBody(scan, beginning, counter, row, kept, body, ends, emitted, stored, (name, taken))
        self.statements.append(Statement(carried, "", k, loop=loop))

    def _print_pair(self, first: int, second: int) -> None:
        sine, cosine = (first, second) if self.program.nodes[first].op == "sin" else (second, first)
        argument = self.text(self.program.nodes[first].args[0]).source
        names = self._fresh(sine), self._fresh(cosine)
        self.statements.append(Statement(names[0], argument, sine, names[1]))
        self._texts[sine], self._texts[cosine] = Text(names[0]), Text(names[1])


def step_body(
    scan: Scan,
    dialect: Dialect,
    names: NameGiver,
    read: Callable[[int, int], str],
    arrays: Callable[[int], str],
    in_place: bool = False,
) -> tuple[FunctionBody, list[tuple[str, bool]], list[list[tuple[str, bool]] | str], list[str]]:
    """The statements of one step of a loop; the sources of what it carries on and of what it emits, and whether each is
    a constant, or of an array of them; and those of the arrays that it carries. They may be assigned in any order: none
    reads the array of what is carried.

    Args:
        scan: the loop.
        dialect: of the language.
        names: for its values.
        read: as for :class:`FunctionBody`; so are ``arrays``.
        in_place: whether the arrays that are carried may be changed where they are.
    """
    step, count = scan.step, 1 + len(scan.made)
    numbers = [() if step.is_array(k) else row for k, row in enumerate(step.results[:count])]
    keep = frozenset(k for row in numbers for k in row)
    stores = range(len(step.inputs) - scan.stores, len(step.inputs))
    changed = written_in_place(step, set(stores)) if in_place else frozenset()
    body = FunctionBody(step, dialect, names, read, keep=keep, arrays=arrays, changed=changed)
    found: dict[int, tuple[str, bool]] = {}
    for result in (k for row in numbers for k in row):
        if result in found:
            continue
        op, at, _ = step.nodes[result]
        source = body.text(result).source
        if op == "input" and (at[0] == 0 or at[0] >= len(step.inputs) - scan.stores):  # another statement overwrites it
            old = names.new("old")
            body.statements.append(Statement(old, source, result))
            source = old
        found[result] = source, op == "const"
    rows: list[list[tuple[str, bool]] | str] = [[found[k] for k in row] for row in numbers]
    for k, row in enumerate(step.results[:count]):
        if step.is_array(k):
            rows[k] = body.array(row[0])
    return body, [found[k] for k in numbers[0]], rows[1:], [body.array(row[0]) for row in step.results[count:]]


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
        in_place: whether writes may change arrays where they are.
    """

    longest = 100

    def __init__(
        self,
        number: Callable[[float], str],
        functions: Mapping[str, str],
        pairs: bool = False,
        in_place: bool = False,
    ):
        self._number, self._functions, self.pairs, self.in_place = number, functions, pairs, in_place

    def number(self, value: float) -> Text:
        source = self._number(value)
        return Text(source, SUM if source.startswith("-") else ATOM)

    def part(self, array: str, first: str, size: int) -> str:
        return f"({array} + {first})"

    def element(self, array: str, size: int, index: str) -> Text:
        return Text(f"{array}[{self._functions['read'].format(index, size)}]")

    def store(self, array: str, size: int, index: str, number: str) -> str:
        """The statement that changes the element of an array at a computed index."""
        return f"{self.element(array, size, index).source} = {number};"

    def draw(self, array: str, operands: list[str]) -> str:
        return self._functions["draw"].format(array, ", ".join(operands))

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

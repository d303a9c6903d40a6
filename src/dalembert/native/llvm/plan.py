"""How a straight-line program is cut up for execution on one block of states.

Between inputs and outputs a block of states lives in the *scratch*, an array of slots, each as large as a vector
register; it is small enough to stay in the nearest cache. Numbers reach it by the loads of `transfer` and leave it by
its stores. Between the two the steps of a plan are executed, each reading slots and writing others:

- a `Chunk` is a few hundred to a few thousand arithmetic operations without any branch. Long programs are cut into
  several, so that the compiler's time and memory grow linearly;
- `Calls` evaluates one elementary function (sine and cosine together, exp, ...) for a list of slots. All calls whose
  arguments are ready at the same time are made together in a loop: one copy of the function's code, no branch for rare
  arguments within the arithmetic;
- `Repeat` takes a step, which has a plan of its own, several times. It reads what it holds where it lies; what it
  carries has slots of its own, and its results are copied there after every step. Rows of arrays are copied to slots of
  the step, and what it makes to rows of others;
- `Gather`, `Scatter` and `Copy` read and write arrays, whose elements lie in neighbouring slots, by computed index.

A product that is used once, by a sum, joins it in one fused multiply-add. This is decided here and not left to the
compiler, so that results do not depend on the vector width.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from dalembert.errors import CompilerError
from dalembert.native.tuning import CHUNK_OPERATIONS, DIRECT_ELEMENTS, WINDOW_OPERATIONS, is_rolled
from dalembert.tracing.cost import count_uses, written_in_place
from dalembert.tracing.program import PREDICATES, UNCOUNTED, Program, Scan

FUNCTIONS = {"sin": "sincos", "cos": "sincos", "exp": "exp", "log": "log", "atan2": "atan2"}
"""Operations executed by `Calls`, and by which kind."""

_CALLS = FUNCTIONS.keys() | {"loop", "pack", "read", "write", "draw"}

_ALIASES = frozenset({"element", "rows", "table", "data"})
"""Operations that only say where something lies."""

ROLLED = {
    op: (number, operands)
    for number, (op, operands) in enumerate({
        "add": 2, "sub": 2, "mul": 2, "muladd": 3, "mulsub": 3, "submul": 3, "div": 2, "neg": 1, "sqrt": 1, "abs": 1,
        "min": 2, "max": 2, "lt": 2, "le": 2, "eq": 2, "and": 2, "or": 2, "not": 1, "select": 3,
    }.items())
}  # fmt: skip
"""Operations of `Rolled`, by the number that stands for each, with how many operands they have."""

Code = tuple[str, tuple[int, ...]]
"""An operation and its operands. Besides those of programs: muladd (a b + c), mulsub (a b - c), submul (c - a b)."""


@dataclass
class Chunk:
    """Arithmetic: values to compute, in order, and those of them to keep in slots of the scratch."""

    values: list[int]
    keep: dict[int, int] = field(default_factory=dict)


@dataclass
class Calls:
    """Calls of one elementary function: per call the slots of its arguments, then of its results."""

    kind: str
    slots: list[tuple[int, ...]]


@dataclass
class Rolled:
    """Arithmetic as a table: runs of one operation each that do not need each other's results.

    Args:
        table: run by run the number of the operation (see `ROLLED`), how many they are, and for each the slots of its
            result and of its operands.
        runs: how many there are.
        length: how many operations.
    """

    table: array[int]
    runs: int
    length: int


@dataclass(frozen=True)
class Home:
    """Where an array lies: in the scratch, from a slot on, among the constants of a plan, or where the caller has it.

    Args:
        slot: the first one; -1 for others.
        size: how many elements it has.
        data: its numbers, if it is a table of constants.
        argument: its number among the arrays of the caller; -1 for others.
    """

    slot: int
    size: int
    data: bytes = b""
    argument: int = -1


@dataclass
class Copy:
    """Numbers put side by side: slots, or an array, to neighbouring slots."""

    source: list[int] | Home
    target: int


@dataclass
class Gather:
    """Reads of arrays: the array, the slot of the index, and that of the result."""

    reads: list[tuple[Home, int, int]]


@dataclass
class Scatter:
    """A copy of an array with another element: the slots of index and number."""

    source: Home
    index: int
    number: int
    target: int


@dataclass
class Repeat:
    """A step taken several times.

    Args:
        scan: what is repeated.
        start: copies of slots before the first step, (from, to).
        carry: copies after each step; all are read before the first is written.
        take: arrays of which a row is copied before each step, where the first row begins, how far apart rows are, how
            long they are, and the slot that they are copied to.
        give: slots, or an array, that are copied after each step, before those of ``carry``, and the array they are a
            row of.
        zero: the slot of a zero.
        stores: arrays that are carried: where they lie before, in the loop, and after a step.
        flag: the slot of the number that stops the loop where it is not positive; -1 if there is none.
    """

    plan: BlockPlan
    scan: Scan
    start: list[tuple[int, int]]
    carry: list[tuple[int, int]]
    take: list[tuple[Home, int, int, int, int]]
    give: list[tuple[list[int] | Home, Home]]
    zero: int
    stores: list[tuple[Home, Home, Home]]
    flag: int


@dataclass
class BlockPlan:
    """A program ready to be printed.

    Args:
        code: what computes each value; values beyond the program's nodes were added by the lowering.
        constants: the values that are known numbers.
        slots: where a value that lives in the scratch is found.
        steps: what to execute, in order.
        results: for each output, the slots of its elements.
        arrays: where the outputs that are arrays lie, by number.
        numbers: index of each constant in the table of constants.
        table: the table of constants, each once.
        fill: numbers to put into slots once, before the first block; of a step, before it is first taken.
        size: number of slots.
        outside: arrays of the caller that are not moved to slots.
    """

    code: dict[int, Code]
    constants: dict[int, float]
    slots: dict[int, int]
    steps: list[PlanStep]
    results: list[Sequence[int]]
    arrays: dict[int, Home]
    numbers: dict[int, int]
    table: list[float]
    fill: dict[int, float]
    size: int
    outside: list[Home]

    @property
    def operations(self) -> int:
        """How many operations are executed."""
        repeats = (step for step in self.steps if isinstance(step, Repeat))
        own = sum(1 for op, _ in self.code.values() if op not in UNCOUNTED)
        return own + sum(repeat.scan.count * repeat.plan.operations for repeat in repeats)

    @property
    def length(self) -> int:
        """How many operations there is code for: those of a loop once, those in tables not at all."""
        rolled = sum(step.length for step in self.steps if isinstance(step, Rolled))
        return len(self.code) - rolled + sum(step.plan.length for step in self.steps if isinstance(step, Repeat))


PlanStep = Chunk | Calls | Rolled | Repeat | Copy | Gather | Scatter


def make_plan(
    program: Program,
    chunk: int = CHUNK_OPERATIONS,
    inputs: Sequence[Sequence[int]] | None = None,
    size: int = 0,
    tables: Mapping[int, Home] | None = None,
    moved: bool = False,
    stores: Sequence[Home] = (),
) -> BlockPlan:
    """Cut a program up.

    Args:
        chunk: the largest number of operations compiled as one function.
        inputs: for each input the slots of its elements; None lays them out one after the other.
        size: number of slots that are taken by others.
        tables: where the inputs lie that are arrays; those that are missing lie in their slots.
        moved: whether all arrays of the caller are moved to slots, as large as they may be.
        stores: those of the tables that may be changed.
    """
    direct: dict[int, int] = {}
    if inputs is None:
        tables, direct = ({}, {}) if moved else _where_they_are(program)
        inputs = []
        for k, port in enumerate(program.inputs):
            inputs.append(range(size, size + (0 if k in tables else port.size)))
            size += len(inputs[-1])
    code, constants = _lower(program)
    stages = _stages(code)
    steps: list[tuple[str, list[int]]] = []
    rolls = is_rolled(len(code), program.executed)
    for values, functions in stages:
        count = 0 if rolls else -(-len(values) // chunk)
        for k in range(count):
            steps.append(("arithmetic", values[k * len(values) // count : (k + 1) * len(values) // count]))
        if rolls:
            steps += [("rolled", run) for run in _runs(values, code)]
        for kind in ("pack", "write", "loop"):
            steps += [(kind, [i]) for i in functions if code[i][0] == kind]
        for kind in ("read", "draw"):
            if together := [i for i in functions if code[i][0] == kind]:
                steps.append((kind, together))
        functions = [i for i in functions if code[i][0] in FUNCTIONS]
        for kind in dict.fromkeys(FUNCTIONS[code[i][0]] for i in functions):
            steps.append((kind, [i for i in functions if FUNCTIONS[code[i][0]] == kind]))
    return _Allocation(program, code, constants, steps, inputs, size, chunk, tables or {}, direct, stores).plan()


def _where_they_are(program: Program) -> tuple[dict[int, Home], dict[int, int]]:
    """Large arrays of the caller that are not moved to the scratch: inputs, by number, and what loops emit, by node,
    with the number of the argument."""
    numbers = {node.args[0] for node in program.nodes if node.op == "input"}
    tables = {int(node.value) for node in program.nodes if node.op == "table"}
    found = {
        k: Home(-1, port.size, argument=k)
        for k, port in enumerate(program.inputs)
        if k in tables and k not in numbers and port.size > DIRECT_ELEMENTS
    }
    uses = count_uses(program)
    return found, {
        row[0]: len(program.inputs) + k
        for k, row in enumerate(program.results)
        if program.is_array(k)
        and program.nodes[row[0]].op == "rows"
        and uses[row[0]] == 1
        and program.outputs[k].size > DIRECT_ELEMENTS
        and not _is_store(program, row[0])
    }


def _is_store(program: Program, k: int) -> bool:
    """Whether rows are an array that their loop carries."""
    loop, place = program.nodes[program.nodes[k].args[0]], int(program.nodes[k].value)
    return place >= len(program.loops[int(loop.value)].made)


def _lower(program: Program) -> tuple[dict[int, Code], dict[int, float]]:
    """Fuse products into sums, write tangents as sine over cosine; drop what is no longer used."""
    nodes = program.nodes
    constants = {i: value for i, (op, _, value) in enumerate(nodes) if op == "const"}
    uses = [0] * len(nodes)
    for op, args, _ in nodes:
        if op != "input":
            for argument in args:
                uses[argument] += 1
    for elements in program.results:
        for i, times in Counter(elements).items():
            uses[i] += times
            if nodes[i].op in PREDICATES:
                raise CompilerError(f"output element {i} of {program.name} is a truth value; select a number by it")

    code: dict[int, Code] = {}
    fresh = len(nodes)
    seen: dict[Code, int] = {}
    for i, (op, args, _) in enumerate(nodes):
        if op in ("const", "input"):
            continue
        if op == "add" or op == "sub":
            a, b = args
            products = [k for k in args if uses[k] == 1 and k in code and code[k][0] == "mul"]
            if products:
                product = max(products)
                factors = code.pop(product)[1]
                if product == b:
                    code[i] = ("muladd" if op == "add" else "submul", (*factors, a))
                else:
                    code[i] = ("muladd" if op == "add" else "mulsub", (*factors, b))
                continue
        if op == "tan":
            for part in (("sin", args), ("cos", args)):
                if part not in seen:
                    seen[part] = fresh
                    code[fresh] = part
                    fresh += 1
            code[i] = ("div", (seen["sin", args], seen["cos", args]))
            continue
        if op == "read" and args[1] in constants:
            code[i] = ("element", args[:1])
            continue
        code[i] = (op, args)
        if op == "sin" or op == "cos":
            seen.setdefault((op, args), i)
    return code, constants


def _stages(code: dict[int, Code]) -> list[tuple[list[int], list[int]]]:
    """Values and function calls stage by stage: a stage's calls need its values, a later stage's values need the calls.

    An operation is put into the latest stage that still serves everybody who needs it. A loop counts as a call; what it
    ends with is there when it is.
    """
    size = 1 + max((max((i, *args)) for i, (_, args) in code.items()), default=0)
    level = [0] * size  # that of an operation, after it if it is a call
    last = 0
    for i, (op, args) in code.items():
        own = 0
        for a in args:
            if level[a] > own:
                own = level[a]
        level[i] = own + (op in _CALLS)
        if level[i] > last:
            last = level[i]
    stage = [last] * size
    if last:
        for i in reversed(code):
            op, args = code[i]
            needed = level[i] - 1 if op in _CALLS else stage[i]
            for a in args:
                if stage[a] > needed:
                    stage[a] = needed
    stages: list[tuple[list[int], list[int]]] = [([], []) for _ in range(last + 1)]
    for i, (op, _) in code.items():
        if op in _CALLS:
            stages[level[i] - 1][1].append(i)
        elif op not in _ALIASES:
            stages[stage[i]][0].append(i)
    return stages


def _runs(values: list[int], code: dict[int, Code]) -> Iterator[list[int]]:
    """The same operations in runs of one kind that do not need each other's results.

    Within a window, which keeps what belongs together near in time, they are ordered by how many others they wait for.
    """
    for start in range(0, len(values), WINDOW_OPERATIONS):
        level: dict[int, int] = {}
        groups: dict[tuple[int, str], list[int]] = {}
        for i in values[start : start + WINDOW_OPERATIONS]:
            op, args = code[i]
            own = 0
            for a in args:
                below = level.get(a, -1)
                if below >= own:
                    own = below + 1
            level[i] = own
            groups.setdefault((own, op), []).append(i)
        yield from (groups[key] for key in sorted(groups))


class _Allocation:
    """Gives a slot to every value that outlives the step it is computed in; reuses slots of values no longer needed.

    Args:
        program: what is planned.
        code: of its operations.
        constants: its known numbers.
        steps: kinds, and the operations of each.
        inputs: for each input the slots of its elements.
        size: number of slots that are taken already.
        chunk: the largest number of operations compiled as one function.
        tables: where inputs lie that are arrays.
        direct: arrays that are made where the caller has them, with the number of the argument.
        stores: those of the tables that may be changed.
    """

    def __init__(
        self,
        program: Program,
        code: dict[int, Code],
        constants: dict[int, float],
        steps: list[tuple[str, list[int]]],
        inputs: Sequence[Sequence[int]],
        size: int,
        chunk: int,
        tables: Mapping[int, Home],
        direct: Mapping[int, int],
        stores: Sequence[Home],
    ):
        self.program, self.code, self.constants, self.steps = program, code, constants, steps
        self.size, self.chunk, self.tables, self.direct = size, chunk, tables, direct
        nodes, self.sizes = program.nodes, program.array_sizes
        self.slots = {i: inputs[n.args[0]][n.args[1]] for i, n in enumerate(nodes) if n.op == "input"}
        self.elements: dict[int, dict[int, int]] = {}  # of each loop, by place
        self.rows: dict[int, dict[int, int]] = {}  # of each loop, by place
        self.parts: dict[int, list[tuple[int, int]]] = {}  # of each array: elements read at a known index, and which
        self.homes: dict[int, Home] = {}
        for i, (op, args, value) in enumerate(nodes):
            if op == "element":
                self.elements.setdefault(args[0], {})[int(value)] = i
            elif op == "rows":
                self.rows.setdefault(args[0], {})[int(value)] = i
            elif op == "read" and args[1] in constants:
                self.parts.setdefault(args[0], []).append((i, int(constants[args[1]])))
            elif op == "table":
                port = int(value)
                self.homes[i] = tables[port] if port in tables else Home(inputs[port][0], self.sizes[i])
            elif op == "data":
                self.homes[i] = Home(-1, self.sizes[i], program.tables[int(value)])
        self.dies = {a: k for k, (_, values) in enumerate(steps) for i in values for a in code[i][1]}
        self.whole = {k: row[0] for k, row in enumerate(program.results) if program.is_array(k)}
        self.result = set().union(*(row for k, row in enumerate(program.results) if k not in self.whole))
        self.fill: dict[int, float] = {}
        self._keep()
        self.waste = self.region(1)
        self.zero = self.region(1) if any(loop.stops for loop in program.loops) else -1
        if self.zero >= 0:
            self.fill[self.zero] = 0.0
        self.free: list[int] = []
        self.dying: list[list[int]] = [[] for _ in steps]
        self.planned: list[PlanStep] = []
        self.changed = written_in_place(program, {k for k, found in tables.items() if found in stores})

    def _keep(self) -> None:
        """Slots of constants and results, which stay; constants have one only where memory is asked for."""
        called: set[int] = set()
        for kind, values in self.steps:
            if kind != "arithmetic":
                called.update(*[self.code[i][1] for i in values])
        for i in sorted((called | self.result) & self.constants.keys()):
            self.slots[i] = self.region(1)
            self.fill[self.slots[i]] = self.constants[i]
        aliases = {i for own in self.parts.values() for i, _ in own}
        for i in sorted(self.result - self.slots.keys() - aliases):
            self.slots[i] = self.region(1)

    def slot(self, i: int, k: int) -> int:
        """The slot of a value that is computed in step k."""
        if i not in self.slots:
            self.slots[i] = self.free.pop() if self.free else self.region(1)
            self.dying[self.dies.get(i, k)].append(self.slots[i])
        return self.slots[i]

    def region(self, count: int) -> int:
        """The first of so many fresh slots."""
        self.size += count
        return self.size - count

    def home(self, i: int, given: Home | None = None) -> Home:
        """Where an array that is made now lies, and its elements with it."""
        found = self.homes[i] = given or Home(self.region(self.sizes[i]), self.sizes[i])
        for part, place in self.parts.get(i, ()):
            self.slots[part] = found.slot + place
        return found

    def plan(self) -> BlockPlan:
        """Everything in order."""
        for k, (kind, values) in enumerate(self.steps):
            if kind == "arithmetic":
                lasting = [i for i in values if i in self.result or self.dies.get(i, k) > k]
                self.planned.append(Chunk(values, {i: self.slot(i, k) for i in lasting}))
            elif kind == "rolled":
                self._roll(values, k)
            elif kind == "loop":
                self.planned += [self._repeat(i, k) for i in values]
            elif kind in ("pack", "write", "read"):
                self._move(kind, values, k)
            else:
                self._call(kind, values, k)
            self.free.extend(self.dying[k])
        return self._finished()

    def _roll(self, values: list[int], k: int) -> None:
        last = self.planned[-1] if self.planned else None
        rolled = last if isinstance(last, Rolled) else Rolled(array("i"), 0, 0)
        if rolled is not last:
            self.planned.append(rolled)
        row = [ROLLED[self.code[values[0]][0]][0], len(values)]
        for i in values:
            row.append(self.slot(i, k))
            row += [self.slots[a] for a in self.code[i][1]]
        rolled.table.fromlist(row)
        rolled.runs += 1
        rolled.length += len(values)

    def _move(self, kind: str, values: list[int], k: int) -> None:
        """Arrays that are put together, written and read."""
        code, slots, homes = self.code, self.slots, self.homes
        if kind == "pack":
            self.planned += [Copy([slots[a] for a in code[i][1]], self.home(i).slot) for i in values]
        elif kind == "write":
            for i in values:
                before, index, number = code[i][1]
                place = self.home(i, homes[before]) if i in self.changed else self.home(i)
                self.planned.append(Scatter(homes[before], slots[index], slots[number], place.slot))
        else:
            reads = [(homes[code[i][1][0]], slots[code[i][1][1]], self.slot(i, k)) for i in values]
            self.planned.append(Gather(reads))

    def _call(self, kind: str, values: list[int], k: int) -> None:
        """Calls of one function."""
        code, slots = self.code, self.slots
        rows: list[tuple[int, ...]] = []
        if kind == "draw":
            drawn = [(self.home(i).slot, code[i][1]) for i in values]
            rows = [(*(slots[a] for a in args), *range(at, at + 4)) for at, args in drawn]
        elif kind == "sincos":
            wanted: dict[int, tuple[list[int], list[int]]] = {}
            for i in values:
                op, (a,) = code[i]
                wanted.setdefault(a, ([], []))[op == "cos"].append(self.slot(i, k))
            for a, (sines, cosines) in wanted.items():
                for sine, cosine in zip_longest(sines, cosines):  # both are computed even if one is wanted
                    ends = (self.waste if x is None else x for x in (sine, cosine))
                    rows.append((slots[a], *ends))
        else:
            rows = [(*(slots[a] for a in code[i][1]), self.slot(i, k)) for i in values]
        self.planned.append(Calls(kind, rows))

    def _repeat(self, i: int, k: int) -> Repeat:
        scan, slots, homes = self.program.loops[int(self.program.nodes[i].value)], self.slots, self.homes
        own, rows = self.elements.get(i, {}), self.rows.get(i, {})  # nobody asks for some
        carried = [self.slot(own.get(j, -1 - j), k) for j in range(scan.carried)]
        for j in range(scan.carried):
            slots.pop(-1 - j, None)
        start, held, given, still, before = scan.split(self.code[i][1])
        ends: list[Home | None] = []
        for j, count in enumerate(scan.sizes):
            node = rows.get(j, -1)
            out = Home(-1, count, argument=self.direct[node]) if node in self.direct else None
            ends.append(self.home(node, out) if node >= 0 else None)
        taken = [range(self.region(width), self.size) for width in scan.widths]
        made = len(scan.made)
        stores = [x or Home(self.region(self.sizes[a]), self.sizes[a]) for x, a in zip(ends[made:], before)]
        known = [homes[a] for a in still] + stores
        first = 2 + len(given)
        numbers = {node.args[0] for node in scan.step.nodes if node.op == "input"}
        take = [(homes[a], at, stride, len(to), to[0]) for a, (at, stride), to in zip(given, scan.given, taken)]
        places = []
        for j, found in enumerate(known):
            at = found.slot
            if at < 0 and first + j in numbers:  # read by the step as numbers, too
                at = self.region(found.size)
                take.append((found, 0, 0, found.size, at))
            places.append(range(at, at + found.size))
        inputs = [carried, [slots[a] for a in held], *taken, *places]
        tables = {first + j: found for j, found in enumerate(known)}
        plan = make_plan(scan.step, self.chunk, inputs, self.size, tables, stores=stores)
        self.dying[k] += [*range(self.size, plan.size), *(x for to in taken for x in to)]
        self.size = plan.size
        after = [plan.arrays[1 + made + j] for j in range(scan.stores)]
        for j, found in enumerate(after):  # arrays that change places
            if found in stores and found != stores[j]:
                after[j] = Home(self.region(found.size), found.size)
                plan.steps.append(Copy(found, after[j].slot))
        return Repeat(
            plan,
            scan,
            [(slots[a], x) for a, x in zip(start, carried)],
            [(old, new) for old, new in zip(plan.results[0], carried) if old != new],
            take,
            [(plan.arrays.get(1 + j) or list(plan.results[1 + j]), end) for j, end in enumerate(ends[:made]) if end],
            self.zero,
            [(homes[a], x, new) for a, x, new in zip(before, stores, after)],
            carried[-1] if scan.stops else -1,
        )

    def _finished(self) -> BlockPlan:
        arrays: dict[int, Home] = {}
        results: list[Sequence[int]] = []
        for k, row in enumerate(self.program.results):
            if k not in self.whole:
                results.append([self.slots[i] for i in row])
                continue
            found = self.homes[row[0]]
            if found.slot < 0 and row[0] not in self.direct:
                found = Home(self.region(found.size), found.size)
                self.planned.append(Copy(self.homes[row[0]], found.slot))
            arrays[k] = found
            results.append(range(found.slot, found.slot + found.size) if found.slot >= 0 else range(0))
        outside = [home for home in self.tables.values() if home.argument >= 0]
        outside += [arrays[k] for k in self.whole if self.whole[k] in self.direct]
        bits = {i: struct.pack("<d", value) for i, value in self.constants.items()}  # distinguishes 0 from -0
        places = {b: k for k, b in enumerate(dict.fromkeys(bits.values()))}
        numbers = {i: places[b] for i, b in bits.items()}
        table = [struct.unpack("<d", b)[0] for b in places]
        return BlockPlan(
            self.code, self.constants, self.slots, self.planned, results, arrays, numbers, table, self.fill, self.size,
            outside,
        )  # fmt: skip

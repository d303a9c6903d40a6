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
    return _allocate(program, code, constants, steps, inputs, size, chunk, tables or {}, direct, stores)


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


def _allocate(
    program: Program,
    code: dict[int, Code],
    constants: dict[int, float],
    steps: list[tuple[str, list[int]]],
    inputs: Sequence[Sequence[int]],
    size: int,
    chunk: int,
    tables: Mapping[int, Home],
    direct: Mapping[int, int],
    carried_arrays: Sequence[Home],
) -> BlockPlan:
    """Give a slot to every value that outlives the step it is computed in; reuse slots of values no longer needed."""
    nodes, sizes = program.nodes, program.array_sizes
    slots = {i: inputs[n.args[0]][n.args[1]] for i, n in enumerate(nodes) if n.op == "input"}
    elements: dict[int, dict[int, int]] = {}  # of each loop, by place
    parts: dict[int, list[tuple[int, int]]] = {}  # of each array: elements that are read at a known index, and which
    for i, node in enumerate(nodes):
        if node.op == "element":
            elements.setdefault(node.args[0], {})[int(node.value)] = i
        elif node.op == "read" and node.args[1] in constants:
            parts.setdefault(node.args[0], []).append((i, int(constants[node.args[1]])))

    dies: dict[int, int] = {}
    for k, (_, values) in enumerate(steps):
        for i in values:
            for a in code[i][1]:
                dies[a] = k
    called: set[int] = set()
    for kind, values in steps:
        if kind != "arithmetic":
            called.update(*[code[i][1] for i in values])
    whole = {k: program.results[k][0] for k in range(len(program.outputs)) if program.is_array(k)}
    result = set().union(*(row for k, row in enumerate(program.results) if k not in whole))

    fill = {}
    for i in sorted((called | result) & constants.keys()):  # constants have a slot only where memory is asked for
        slots[i] = size
        fill[size] = constants[i]
        size += 1
    aliases = {i for own in parts.values() for i, _ in own}
    for i in sorted(result - slots.keys() - aliases):  # results stay until they are stored
        slots[i] = size
        size += 1

    waste, size = size, size + 1
    zero = size if any(loop.stops for loop in program.loops) else -1
    if zero >= 0:
        fill[zero] = 0.0
        size += 1
    free: list[int] = []
    dying: list[list[int]] = [[] for _ in steps]
    planned: list[PlanStep] = []
    homes: dict[int, Home] = {}
    for i, (op, _, value) in enumerate(nodes):
        if op == "table":
            port = int(value)
            homes[i] = tables[port] if port in tables else Home(inputs[port][0], sizes[i])
        elif op == "data":
            homes[i] = Home(-1, sizes[i], program.tables[int(value)])

    def slot(i: int, k: int) -> int:
        nonlocal size
        if i not in slots:
            slots[i] = free.pop() if free else size
            size = max(size, slots[i] + 1)
            dying[dies.get(i, k)].append(slots[i])
        return slots[i]

    def region(count: int) -> int:
        nonlocal size
        size += count
        return size - count

    def home(i: int, given: Home | None = None) -> Home:
        """Where an array that is made now lies, and its elements with it."""
        homes[i] = given or Home(region(sizes[i]), sizes[i])
        for part, place in parts.get(i, ()):
            slots[part] = homes[i].slot + place
        return homes[i]

    def repeat(i: int, k: int) -> Repeat:
        nonlocal size
        scan = program.loops[int(nodes[i].value)]
        own = elements.get(i, {})  # nobody asks for some
        carried = [slot(own.get(j, -1 - j), k) for j in range(scan.carried)]
        for j in range(scan.carried):
            slots.pop(-1 - j, None)
        start, held, given, still, before = scan.split(code[i][1])
        arrays = {int(nodes[j].value): j for j in rows_of.get(i, ())}
        ends = []
        for j, count in enumerate(scan.sizes):
            node = arrays.get(j, -1)
            out = Home(-1, count, argument=direct[node]) if node in direct else None
            ends.append(home(node, out) if node >= 0 else None)
        taken = [range(region(width), size) for width in scan.widths]
        stores = [found or Home(region(sizes[a]), sizes[a]) for found, a in zip(ends[len(scan.made) :], before)]
        known = [homes[a] for a in still] + stores
        first = 2 + len(given)
        tables = {first + j: found for j, found in enumerate(known)}
        numbers = {node.args[0] for node in scan.step.nodes if node.op == "input"}
        whole_rows = []  # arrays that are read by the step as numbers, too
        places = []
        for j, found in enumerate(known):
            at = found.slot
            if at < 0 and first + j in numbers:
                at = region(found.size)
                whole_rows.append((found, 0, 0, found.size, at))
            places.append(range(at, at + found.size))
        plan = make_plan(
            scan.step, chunk, [carried, [slots[a] for a in held], *taken, *places], size, tables, stores=stores
        )
        dying[k] += [*range(size, plan.size), *(x for own in taken for x in own)]
        size = plan.size
        after = [plan.arrays[1 + len(scan.made) + j] for j in range(scan.stores)]
        for j, found in enumerate(after):  # arrays that change places
            if found in stores and found != stores[j]:
                after[j] = Home(region(found.size), found.size)
                plan.steps.append(Copy(found, after[j].slot))
        give = []
        for j in range(len(scan.made)):
            target = ends[j]
            if target:
                give.append((plan.arrays.get(1 + j) or list(plan.results[1 + j]), target))
        return Repeat(
            plan,
            scan,
            [(slots[a], x) for a, x in zip(start, carried)],
            [(old, new) for old, new in zip(plan.results[0], carried) if old != new],
            [(homes[a], at, stride, len(to), to[0]) for a, (at, stride), to in zip(given, scan.given, taken)]
            + whole_rows,
            give,
            zero,
            [(homes[a], x, new) for a, x, new in zip(before, stores, after)],
            carried[-1] if scan.stops else -1,
        )

    rows_of: dict[int, list[int]] = {}
    for i, node in enumerate(nodes):
        if node.op == "rows":
            rows_of.setdefault(node.args[0], []).append(i)

    changed = written_in_place(program, {k for k, found in tables.items() if found in carried_arrays})
    for k, (kind, values) in enumerate(steps):
        if kind == "arithmetic":
            lasting = [i for i in values if i in result or dies.get(i, k) > k]
            planned.append(Chunk(values, {i: slot(i, k) for i in lasting}))
        elif kind == "rolled":
            last = planned[-1] if planned else None
            rolled = last if isinstance(last, Rolled) else Rolled(array("i"), 0, 0)
            if rolled is not last:
                planned.append(rolled)
            row = [ROLLED[code[values[0]][0]][0], len(values)]
            for i in values:
                row.append(slot(i, k))
                row += [slots[a] for a in code[i][1]]
            rolled.table.fromlist(row)
            rolled.runs += 1
            rolled.length += len(values)
        elif kind == "loop":
            planned += [repeat(i, k) for i in values]
        elif kind == "pack":
            planned += [Copy([slots[a] for a in code[i][1]], home(i).slot) for i in values]
        elif kind == "write":
            for i in values:
                before, index, number = code[i][1]
                place = home(i, homes[before]) if i in changed else home(i)
                planned.append(Scatter(homes[before], slots[index], slots[number], place.slot))
        elif kind == "read":
            planned.append(Gather([(homes[code[i][1][0]], slots[code[i][1][1]], slot(i, k)) for i in values]))
        elif kind == "draw":
            drawn = [(home(i).slot, code[i][1]) for i in values]
            planned.append(Calls(kind, [(*(slots[a] for a in args), *range(at, at + 4)) for at, args in drawn]))
        elif kind == "sincos":
            wanted: dict[int, tuple[list[int], list[int]]] = {}
            for i in values:
                op, (a,) = code[i]
                wanted.setdefault(a, ([], []))[op == "cos"].append(slot(i, k))
            rows: list[tuple[int, ...]] = []
            for a, (sines, cosines) in wanted.items():
                for sine, cosine in zip_longest(sines, cosines):  # both are computed even if one is wanted
                    rows.append((slots[a], waste if sine is None else sine, waste if cosine is None else cosine))
            planned.append(Calls(kind, rows))
        else:
            planned.append(Calls(kind, [(*(slots[a] for a in code[i][1]), slot(i, k)) for i in values]))
        free.extend(dying[k])
    arrays: dict[int, Home] = {}
    results: list[Sequence[int]] = []
    for k, nodes_of in enumerate(program.results):
        if k not in whole:
            results.append([slots[i] for i in nodes_of])
            continue
        found = homes[nodes_of[0]]
        if found.slot < 0 and nodes_of[0] not in direct:
            found = Home(region(found.size), found.size)
            planned.append(Copy(homes[nodes_of[0]], found.slot))
        arrays[k] = found
        results.append(range(found.slot, found.slot + found.size) if found.slot >= 0 else range(0))
    outside = [
        *(home for home in tables.values() if home.argument >= 0),
        *(arrays[k] for k in whole if whole[k] in direct),
    ]
    bits = {i: struct.pack("<d", value) for i, value in constants.items()}  # distinguishes 0 from -0
    places = {b: k for k, b in enumerate(dict.fromkeys(bits.values()))}
    numbers = {i: places[b] for i, b in bits.items()}
    table = [struct.unpack("<d", b)[0] for b in places]
    return BlockPlan(code, constants, slots, planned, results, arrays, numbers, table, fill, size, outside)

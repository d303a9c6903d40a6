"""What C, vector C and CUDA share: safe signatures, numbers, and functions over one state, cut up if long."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.printing.names import Names
from dalembert.printing.statements import ArrayBody, FunctionBody, Infix, LoopBody, Statement
from dalembert.threefry import PARITY, schedule
from dalembert.tracing.cost import array_numbers, count_uses, written_in_place
from dalembert.tracing.passes.chunk import Piece, chunk
from dalembert.tracing.program import PREDICATES, Program

Real = Literal["double", "float"]


@dataclass(frozen=True)
class Interface:
    """Names of a function and of its arguments.

    Args:
        function: name of the function of one state.
    """

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def parameters(self, kind: str, restrict: str = "") -> list[str]:
        """Declarations of the arguments as pointers to ``kind``, with a qualifier if one is given."""
        star = f"*{restrict} " if restrict else "*"
        return [f"const {kind} {star}{name}" for name in self.inputs] + [
            f"{kind} {star}{name}" for name in self.outputs
        ]


@dataclass(frozen=True)
class Near:
    """Fast memory for some of the numbers that functions pass on to each other.

    Args:
        count: how many there is room for.
        head: statements that a function which uses it begins with.
        place: source of one of them, from its index.
        aligned: stands before the workspace that has the others, and a statement by which functions that are given it
            as ``w`` know that.
    """

    count: int
    head: tuple[str, ...]
    place: Callable[[int], str]
    aligned: tuple[str, str]


@dataclass(frozen=True)
class Flavour:
    """How a function over one state is written.

    Args:
        kind: type of a number.
        truth: type of a truth value.
        restrict: the qualifier of pointers that do not overlap.
        head: stands before the function, ``void`` included.
        piece: stands before a piece of a long function, ``void`` included.
        dialect: how operations are written.
        whole: makes a value of ``kind`` of the source of a constant.
        number: type of a constant in a table.
        local_numbers: how many numbers a function may keep in arrays of its own.
        going: a condition, by the source of a number: whether it is positive, in any lane if there are several.
        sincos: name of the function for sine and cosine together; the library's if empty.
        rolled: lines before a loop, so that it is not written out by the compiler.
        near: fast memory beside the workspace of a long function, if there is some.
    """

    kind: str
    truth: str
    restrict: str
    head: str
    piece: str
    dialect: Infix
    whole: Callable[[str], str] = str
    number: str = ""
    local_numbers: int = 1 << 19
    going: str = "{0} > 0"
    sincos: str = ""
    rolled: tuple[str, ...] = ()
    near: Near | None = None


_WORDS = re.compile(r"\w+")


def check_real(real: str) -> None:
    """Refuse types that are neither double nor float."""
    if real not in ("double", "float"):
        raise ArgumentError(f"real is {real!r}; must be 'double' or 'float'")


def interface(program: Program, names: Names) -> Interface:
    """Safe names for a program and its arguments."""
    return Interface(
        names.new(program.name),
        tuple(names.new(port.name) for port in program.inputs),
        tuple(names.new(port.name, "_out") for port in program.outputs),
    )


def comment(program: Program, face: Interface) -> str:
    """What the arguments are."""
    ports = (*program.inputs, *program.outputs)
    rows = [
        f" *   {name}: {'x'.join(map(str, port.shape)) or 'scalar'}"
        for name, port in zip((*face.inputs, *face.outputs), ports)
    ]
    return "\n".join([f"/* {face.function}: generated source. Arrays are row-major; one state holds", *rows, " */"])


def c_number(real: str) -> Callable[[float], str]:
    """Writes a constant so that it reads back exactly; in single precision it is rounded first."""

    def number(value: float) -> str:
        if real == "float":
            with np.errstate(over="ignore", under="ignore"):
                value = float(np.float32(value))
        if not math.isfinite(value):
            return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"{np.float32(value)!s}f" if real == "float" else repr(value)

    return number


def c_templates(real: str, names: Names, program: Program) -> tuple[dict[str, str], list[str]]:
    """Templates of functions and comparisons; definitions of those that C does not have and the program
    needs."""
    suffix = "f" if real == "float" else ""
    library = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "log": "log", "abs": "fabs"}
    templates = {
        **{op: f"{name}{suffix}({{0}})" for op, name in library.items()},
        "atan2": f"atan2{suffix}({{0}}, {{1}})",
        "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
        "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})",
        "select": "({0} ? {1} : {2})",
    }  # fmt: skip
    helpers = []
    if not {"read", "write"}.isdisjoint(program.vocabulary):
        name = names.new("place")
        templates["read"] = f"{name}({{0}}, {{1}})"
        helpers.append(f"int {name}({real} x, int n) {{ return x > 0 ? (x < n - 1 ? (int)x : n - 1) : 0; }}\n")
    if "draw" in program.vocabulary:
        name = names.new("draw")
        templates["draw"] = f"{name}({{1}}, {{0}});"
        helpers.append(c_draw(real, name))
    for op, wish, sign in (("min", "smaller", "<"), ("max", "larger", ">")):  # these let a NaN through
        if op in program.vocabulary:
            name = names.new(wish)
            templates[op] = f"{name}({{0}}, {{1}})"
            helpers.append(f"{real} {name}({real} a, {real} b) {{ return (a {sign} b || a != a) ? a : b; }}\n")
    return templates, helpers


def c_draw(real: str, name: str) -> str:
    """Definition of :func:`dalembert.threefry.draw`, with the array of results as the last argument."""
    suffix = "f" if real == "float" else ""
    x = [f"x{j}" for j in range(4)]
    given = [f"k{j}" for j in range(4)] + x + ["limit"]
    arguments = [f"{real} {word}_given" for word in given]
    convert = [
        f"    const unsigned int {word} = {word}_given > 0 ? ({word}_given < 4294967296.0{suffix} ? "
        f"(unsigned int){word}_given : 0xffffffffu) : 0u;".replace("const ", "" if word in x else "const ", 1)
        for word in given
    ]
    lines = [f"    const unsigned int k4 = {PARITY}u ^ k0 ^ k1 ^ k2 ^ k3;", *(f"    x{j} += k{j};" for j in range(4))]
    for step in schedule():
        if len(step) == 1:
            lines += [f"    x{j} += k{(step[0] + j) % 5}{f' + {step[0]}u' if j == 3 else ''};" for j in range(4)]
            continue
        a, b, r = step
        lines.append(f"    x{a} += x{b}; x{b} = (x{b} << {r} | x{b} >> {32 - r}) ^ x{a};")
    lines += [f"    out[{j}] = ({real})(unsigned int)((unsigned long long)x{j} * limit >> 32);" for j in range(4)]
    check = "    (void)sizeof(char[sizeof(unsigned int) == 4 ? 1 : -1]);"
    return "\n".join([f"void {name}({', '.join(arguments)}, {real} *out)", "{", check, *convert, *lines, "}", ""])


def functions(
    program: Program,
    face: Interface,
    names: Names,
    flavour: Flavour,
    name: str,
    longest: int,
    steps: Mapping[str, str] | None = None,
) -> str:
    """The function of one state, and before it the pieces it calls if it is long."""
    near = flavour.near.count if flavour.near else 0
    changed = written_in_place(program)
    memory = {k: face.outputs[output] for k, output in direct_outputs(program).items() if k not in changed}
    local = array_numbers(program) - sum(program.array_sizes[k] for k in memory)
    if local > flavour.local_numbers:
        raise UnsupportedError(
            f"{program.name} keeps arrays of {local:,} numbers between its loops, and a function of this language has "
            f"room for {flavour.local_numbers:,}; take fewer steps, emit rows less often (every=), or make them outputs"
        )
    chunks, uses = chunk(program, longest, near), count_uses(program)
    pieces = chunks.pieces or (Piece(0, 0, {}, {}),)
    parameters = face.parameters(flavour.kind, flavour.restrict)
    head = f"{flavour.head} {name}({', '.join(parameters) or 'void'})"
    if len(pieces) == 1:
        lines = _piece(program, face, names.scope(), flavour, pieces[0], uses, False, steps, memory, changed)
        return "\n".join([head, "{", *lines, "}", ""])
    workspace = f"{flavour.kind} *{flavour.restrict} w" if flavour.restrict else f"{flavour.kind} *w"
    room = max(chunks.slots - near, 1)
    for k, size in program.array_sizes.items():
        if k in changed:
            memory[k] = memory[program.nodes[k].args[0]]
        elif k not in memory and program.nodes[k].op not in ("table", "data"):
            memory[k] = f"(w + {room})"
            room += size
    text, calls = [], []
    before = f"{flavour.near.aligned[0]} " if flavour.near else ""
    for number, piece in enumerate(pieces):
        part = names.new(f"{name}_part{number}")
        lines = _piece(program, face, names.scope(), flavour, piece, uses, True, steps, memory, changed)
        text += [f"{flavour.piece} {part}({', '.join([*parameters, workspace])})", "{", *lines, "}", ""]
        calls.append(f"    {part}({', '.join([*face.inputs, *face.outputs, 'w'])});")
    return "\n".join([*text, head, "{", f"    {before}{flavour.kind} w[{room}];", *calls, "}", ""])


def _piece(
    program: Program,
    face: Interface,
    names: Names,
    flavour: Flavour,
    piece: Piece,
    uses: list[int],
    workspace: bool,
    steps: Mapping[str, str] | None,
    memory: Mapping[int, str],
    changed: Set[int],
) -> list[str]:
    places = {slot: _place(flavour, slot) for slot in (*piece.loads.values(), *piece.stores.values())}
    used = {"w"} if any(place.startswith("w[") for place in places.values()) else set()

    def read(port: int, element: int) -> str:
        return f"{array(port)}[{element}]"

    def array(port: int) -> str:
        used.add(face.inputs[port])
        return face.inputs[port]

    loads = {k: places[slot] for k, slot in piece.loads.items()}
    body = FunctionBody(
        program, flavour.dialect, names, read, piece.start, piece.stop, loads, frozenset(piece.stores), uses, steps,
        array, memory, changed,
    )  # fmt: skip
    for number, name in enumerate(face.outputs):
        k = program.results[number][0] if program.is_array(number) else -1
        if piece.start <= k < piece.stop:
            used.add(name)
            if memory.get(k) != name:
                body.copy_array(k, name)
    lines = [statement_line(program, flavour, statement) for statement in body.statements]
    joined = "\n".join(lines)
    used |= {name for name in (*face.outputs, "w") if name in set(_WORDS.findall(joined))}
    for number, (name, row) in enumerate(zip(face.outputs, program.results)):
        for place, k in enumerate(row if not program.is_array(number) else ()):
            if piece.start <= k < piece.stop:
                used.add(name)
                source = body.text(k).source
                whole = flavour.whole(source) if program.nodes[k].op == "const" else source
                lines.append(f"    {name}[{place}] = {whole};")
    lines += [f"    {places[slot]} = {body.text(k).source};" for k, slot in piece.stores.items()]
    arguments = [*face.inputs, *face.outputs, *(["w"] if workspace else [])]
    head = [f"    (void){name};" for name in arguments if name not in used]
    if flavour.near and any(slot < flavour.near.count for slot in places):
        head += flavour.near.head
    if flavour.near and "w" in used:
        head.append(flavour.near.aligned[1])
    return head + lines


def _place(flavour: Flavour, slot: int) -> str:
    """Where a slot of the workspace lies."""
    near = flavour.near
    if near is None:
        return f"w[{slot}]"
    return near.place(slot) if slot < near.count else f"w[{slot - near.count}]"


def statement_line(program: Program, flavour: Flavour, statement: Statement) -> str:
    """A statement, indented as in a function; of a loop, several lines.

    Args:
        program: that the statement is of.
        flavour: how it is written.
    """
    name, source, node, cosine, loop, array = statement
    if array:
        return "\n".join(_array_lines(name, array, flavour))
    if loop:
        return "\n".join(_loop_lines(name, loop, flavour))
    if cosine:
        function = flavour.sincos or ("sincosf" if flavour.kind == "float" else "sincos")
        return f"    {flavour.kind} {name}, {cosine};\n    {function}({source}, &{name}, &{cosine});"
    if "@" in source:  # a statement of several steps on the new variable itself
        return f"    {flavour.kind} {name} = {source.replace('@', name)};"
    kind = flavour.truth if program.nodes[node].op in PREDICATES else flavour.kind
    return f"    const {kind} {name} = {source};"


def filled(flavour: Flavour, array: str, values: list[tuple[str, bool]], first: str = "") -> list[str]:
    """The lines that put values into an array, from an element on."""
    whole = [flavour.whole(source) if constant else source for source, constant in values]
    return [f"    {array}[{first}{k}] = {source};" for k, source in enumerate(whole)]


def emitted_row(
    flavour: Flavour, array: str, row: list[tuple[str, bool]] | str, width: int, first: str = ""
) -> list[str]:
    """The lines that put a row into an array."""
    if isinstance(row, str):
        return [f"    for (int k = 0; k < {width}; ++k) {array}[{first}k] = {row}[k];"]
    return filled(flavour, array, row, first)


def direct_outputs(program: Program) -> dict[int, int]:
    """Arrays that are made where an output lies: nodes, with the number of the output."""
    found: dict[int, int] = {}
    for output, row in enumerate(program.results):
        if program.is_array(output) and program.nodes[row[0]].op in ("rows", "pack", "write", "draw"):
            found.setdefault(row[0], output)
    return found


def _array_lines(name: str, array: ArrayBody, flavour: Flavour) -> list[str]:
    size = array.size
    declare = [] if array.declared else [f"    {flavour.kind} {name}[{size}];"]
    if array.numbers is not None:
        kind = flavour.number or flavour.kind
        table = f"{name}_numbers" if flavour.number else name
        lines = [f"    static const {kind} {table}[{size}] = {{", *_wrapped(array.numbers), "    };"]
        if flavour.number:
            zero = flavour.whole("0")
            lines += [*declare, f"    for (int k = 0; k < {size}; ++k) {name}[k] = {table}[k] - {zero};"]
        return lines
    if array.elements is not None:
        return [*declare, *filled(flavour, name, array.elements)]
    lines = declare
    if array.drawn is not None:
        lines.append(f"    {flavour.dialect.draw(name, array.drawn)}")
    if array.copied:
        lines.append(f"    for (int k = 0; k < {size}; ++k) {name}[k] = {array.copied}[k];")
    if array.changed:
        index, number = array.changed
        lines.append(f"    {flavour.dialect.store(name, size, index, number)}")
    return lines


def _wrapped(numbers: list[str]) -> list[str]:
    lines, line = [], "       "
    for number in numbers:
        if len(line) + len(number) > 110:
            lines.append(line)
            line = "       "
        line += f" {number},"
    return [*lines, line]


def _loop_lines(name: str, loop: LoopBody, flavour: Flavour) -> list[str]:
    scan, kind, step = loop.scan, flavour.kind, loop.counter
    lines = [f"    {kind} {name}[{len(loop.start)}];"] if loop.start else []
    lines += [f"    {kind} {own.array}[{own.size}];" for own in loop.emitted if own.size]
    lines += [f"    {kind} {own.array}[{own.size}];" for own in loop.stored if not own.declared]
    lines += filled(flavour, name, loop.start)
    for own in loop.stored:
        lines.append(f"    for (int k = 0; k < {own.size}; ++k) {own.array}[k] = {own.before}[k];")
    if scan.stops:
        for rows in loop.emitted:
            size = rows.width * scan.emitted
            lines.append(f"    for (int k = 0; k < {size}; ++k) {rows.array}[k] = {flavour.whole('0')};")
    inside: list[str] = []
    if scan.stops:
        inside.append(f"    if (!({flavour.going.format(f'{name}[{len(loop.start) - 1}]')})) break;")
    for index, count, each in ((loop.row, scan.read_rows, scan.hold), (loop.kept, scan.emitted, scan.every)):
        if index != step:
            number = f"{step} / {each}" if each > 1 else step
            inside.append(f"    const int {index} = {f'{count - 1} - {number}' if scan.reverse else number};")
    function, arguments = loop.function
    if loop.body is None:
        inside.append(f"    {function}({', '.join([name if loop.start else '0', *arguments])});")
    else:
        inside += [statement_line(loop.body.program, flavour, statement) for statement in loop.body.statements]
        new = [
            line
            for rows in loop.emitted
            for line in emitted_row(flavour, rows.array, rows.row, rows.width, f"{rows.width} * {loop.kept} + ")
        ]
        if scan.every > 1 and new:
            new = [f"    if (({step} + 1) % {scan.every} == 0) {{", *("    " + line for line in new), "    }"]
        inside += new + filled(flavour, name, loop.ends)
        for own in loop.stored:
            if own.after != own.array:
                inside.append(f"    for (int k = 0; k < {own.size}; ++k) {own.array}[k] = {own.after}[k];")
    return [
        *lines,
        *flavour.rolled,
        f"    for (int {step} = 0; {step} < {scan.count}; ++{step}) {{",
        *("    " + line for text in inside for line in text.split("\n")),
        "    }",
    ]

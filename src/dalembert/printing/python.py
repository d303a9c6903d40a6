"""Programs as readable Python source on NumPy arrays. The library never executes it."""

from __future__ import annotations

import math

import numpy as np

from dalembert.printing.names import PYTHON_RESERVED, Names
from dalembert.printing.statements import FunctionBody, Infix, Text
from dalembert.threefry import PARITY, ROTATIONS, ROUNDS
from dalembert.tracing.program import Port, Program

_FUNCTIONS = {
    "sqrt": "np.sqrt({0})", "sin": "np.sin({0})", "cos": "np.cos({0})", "tan": "np.tan({0})",
    "exp": "np.exp({0})", "log": "np.log({0})", "atan2": "np.arctan2({0}, {1})", "abs": "np.abs({0})",
    "min": "np.minimum({0}, {1})", "max": "np.maximum({0}, {1})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
    "and": "np.logical_and({0}, {1})", "or": "np.logical_or({0}, {1})", "not": "np.logical_not({0})",
    "select": "np.where({0}, {1}, {2})",
}  # fmt: skip


def to_python(program: Program) -> str:
    """Source of a module with one function.

    The function takes one array per input, of shape ``(..., *shape)`` with any leading batch dimensions, and
    returns the output, or a tuple of outputs, of the same kind. Numbers are printed so that they read back
    exactly.
    """
    names = Names(PYTHON_RESERVED)
    function, helper = names.new(program.name), names.new("assemble")
    inputs = [names.new(port.name) for port in program.inputs]
    outputs = [names.new(port.name, "_out") for port in program.outputs]
    batch = names.new("batch")

    def read(port: int, element: int) -> str:
        place = np.unravel_index(element, program.inputs[port].shape) if program.inputs[port].shape else ()
        return f"{inputs[port]}[{', '.join(['...', *(str(int(k)) for k in place)])}]"

    def array(port: int) -> str:
        return f"{flat}({inputs[port]}, {len(program.inputs[port].shape)})"

    flat, place, changed, draw = (names.new(wish) for wish in ("flat", "read", "write", "draw"))
    body = FunctionBody(program, _Python(place, changed, draw), names, read, arrays=array)
    sources = {k: body.array(row[0]) for k, row in enumerate(program.results) if program.is_array(k)}
    lines = _lines(body, "    ")
    for number, (name, port, row) in enumerate(zip(outputs, program.outputs, program.results)):
        if number in sources:
            lines.append(f"    {name} = {helper}(list({sources[number]}), {batch}, {port.shape})")
            continue
        elements = "".join(f"\n        {body.text(k).source}," for k in row)
        lines.append(
            f"    {name} = {helper}([{elements}{chr(10) + '    ' if elements else ''}], {batch}, {port.shape})"
        )
    leading = [
        f"{name}.shape[:-{len(p.shape)}]" if p.shape else f"{name}.shape" for name, p in zip(inputs, program.inputs)
    ]
    shapes = [f"        {name}: {_shape(port)}" for name, port in zip(inputs, program.inputs)]
    results = [f"        {name}: {_shape(port)}" for name, port in zip(outputs, program.outputs)]
    return "\n".join(
        [
            '"""Generated source; batch dimensions come first in every array."""',
            "",
            "import numpy as np",
            "",
            "",
            f"def {helper}(elements, batch, shape):",
            "    if not elements:",
            "        return np.zeros(batch + shape)",
            "    return np.stack([np.broadcast_to(x, batch) for x in elements], axis=-1).reshape(batch + shape)",
            "",
            "",
            *_helpers(flat, place, changed, draw, "\n".join(lines)),
            f"def {function}({', '.join(inputs)}):",
            '    """',
            "    Args:",
            *shapes,
            "",
            "    Returns:",
            *results,
            '    """',
            *(f"    {name} = np.asarray({name})" for name in inputs),
            f"    {batch} = np.broadcast_shapes({', '.join(leading)})",
            *lines,
            f"    return {', '.join(outputs) or None}",
            "",
        ]
    )


def _helpers(flat: str, read: str, write: str, draw: str, text: str) -> list[str]:
    """What programs with arrays and random numbers call. Of an array, the elements come first, then the batch
    dimensions."""
    place = "np.clip(np.where(index > 0, index, 0), 0, len(array) - 1).astype(int)"
    made = {
        flat: [
            f"def {flat}(array, dimensions):",
            "    batch = array.shape[: array.ndim - dimensions]",
            "    return np.moveaxis(array.reshape(batch + (-1,)), -1, 0)",
        ],
        read: [
            f"def {read}(array, index):",
            f"    *array, index = np.broadcast_arrays(*array, {place})",
            "    return np.take_along_axis(np.stack(array), index[None], 0)[0]",
        ],
        write: [
            f"def {write}(array, index, number):",
            f"    index = {place}",
            "    return [np.where(index == k, number, x) for k, x in enumerate(array)]",
        ],
        draw: [
            f"def {draw}(*given):",
            "    *w, n = (np.where(x > 0, np.minimum(x, 0xFFFFFFFF), 0).astype(np.int64) for x in given)",
            f"    k = [*w[:4], {PARITY} ^ w[0] ^ w[1] ^ w[2] ^ w[3]]",
            "    x = [(a + b) & 0xFFFFFFFF for a, b in zip(w[4:], k)]",
            f"    rotations = {ROTATIONS}",
            f"    for r in range({ROUNDS}):",
            "        for (a, b), bits in zip(((0, 3), (2, 1)) if r % 2 else ((0, 1), (2, 3)), rotations[r % 8]):",
            "            x[a] = (x[a] + x[b]) & 0xFFFFFFFF",
            "            x[b] = ((x[b] << bits | x[b] >> (32 - bits)) & 0xFFFFFFFF) ^ x[a]",
            "        if r % 4 == 3:",
            "            s = r // 4 + 1",
            "            x = [(y + k[(s + j) % 5] + s * (j == 3)) & 0xFFFFFFFF for j, y in enumerate(x)]",
            "    return [(((y >> 16) * n + ((y & 0xFFFF) * n >> 16)) >> 16).astype(float) for y in x]",
        ],
    }
    return [line for name, lines in made.items() if f"{name}(" in text for line in (*lines, "", "")]


def _lines(body: FunctionBody, indent: str) -> list[str]:
    lines = []
    for s in body.statements:
        if s.loop:
            loop, scan = s.loop, s.loop.scan
            step = loop.counter
            lines.append(f"{indent}{s.name} = [{', '.join(source for source, _ in loop.start)}]")
            lines += [f"{indent}{own.array} = [0.0] * {own.size}" for own in loop.emitted]
            lines += [f"{indent}{own.array} = {own.before}" for own in loop.stored]
            lines.append(f"{indent}for {step} in range({scan.count}):")
            if scan.stops:
                lines.append(f"{indent}    if not np.any({s.name}[-1] > 0):")
                lines.append(f"{indent}        break")
            for index, count, each in ((loop.row, scan.read_rows, scan.hold), (loop.kept, scan.emitted, scan.every)):
                if index != step:
                    number = f"{step} // {each}" if each > 1 else step
                    lines.append(f"{indent}    {index} = {f'{count - 1} - {number}' if scan.reverse else number}")
            assert loop.body is not None
            lines += _lines(loop.body, indent + "    ")
            due = f"if ({step} + 1) % {scan.every} == 0: " if scan.every > 1 else ""
            for own in loop.emitted:
                at = f"{own.width} * {loop.kept}"
                if isinstance(own.row, str):
                    lines.append(f"{indent}    {due}{own.array}[{at} : {at} + {own.width}] = list({own.row})")
                    continue
                lines += [
                    f"{indent}    {due}{own.array}[{at} + {k}] = {source}" for k, (source, _) in enumerate(own.row)
                ]
            if loop.ends:
                lines.append(f"{indent}    {s.name} = [{', '.join(source for source, _ in loop.ends)}]")
            if loop.stored:
                names, after = (", ".join(x) for x in zip(*((own.array, own.after) for own in loop.stored)))
                lines.append(f"{indent}    {names} = {after}")
        elif s.array:
            made = s.array
            if made.drawn is not None:
                lines.append(f"{indent}{s.name} = {body.dialect.draw(s.name, made.drawn)}")
            elif made.changed:
                assert isinstance(body.dialect, _Python)
                lines.append(f"{indent}{s.name} = {body.dialect.write}({made.copied}, {', '.join(made.changed)})")
            else:
                elements = made.numbers if made.numbers is not None else [x for x, _ in made.elements or ()]
                lines.append(f"{indent}{s.name} = [{', '.join(elements)}]")
        else:
            lines.append(f"{indent}{s.name} = {s.source}")
    return lines


class _Literal(Text):
    """A number that stands in the source."""


class _Python(Infix):
    """Python's notation. Operations on literals alone, left because they give no finite number, are left to NumPy:
    Python's own numbers refuse a division by zero."""

    def __init__(self, read: str, write: str, draw: str):
        super().__init__(_number, {**_FUNCTIONS, "draw": f"{draw}({{1}})"})
        self.read, self.write = read, write

    def part(self, array: str, first: str, size: int) -> str:
        return f"{array}[{first}:{first} + {size}]"

    def element(self, array: str, size: int, index: str) -> Text:
        return Text(f"{self.read}({array}, {index})")

    def number(self, value: float) -> Text:
        return _Literal(*super().number(value))

    def operation(self, op: str, args: list[Text]) -> Text:
        if op in ("add", "sub", "mul", "div") and all(isinstance(a, _Literal) for a in args):
            args = [Text(f"np.float64({args[0].source})"), *args[1:]]
        return super().operation(op, args)


def _shape(port: Port) -> str:
    return f"({', '.join(['...', *map(str, port.shape)])})"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "np.nan" if math.isnan(value) else "np.inf" if value > 0 else "-np.inf"

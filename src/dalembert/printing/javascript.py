"""Programs as JavaScript functions on plain arrays of numbers, for pages that compute by themselves."""

from __future__ import annotations

import math

from dalembert.printing.names import Names
from dalembert.printing.statements import FunctionBody, Infix
from dalembert.threefry import PARITY, schedule
from dalembert.tracing.program import Program

_WORDS = """
    arguments await break case catch class const continue debugger default delete do else enum eval export extends false
    finally for function if implements import in instanceof interface let new null package private protected public
    return static super switch this throw true try typeof undefined var void while with yield
    Math Infinity NaN globalThis window document
"""

JAVASCRIPT_RESERVED = frozenset(_WORDS.split())

_FUNCTIONS = {
    "sqrt": "Math.sqrt({0})", "sin": "Math.sin({0})", "cos": "Math.cos({0})", "tan": "Math.tan({0})",
    "exp": "Math.exp({0})", "log": "Math.log({0})", "atan2": "Math.atan2({0}, {1})", "abs": "Math.abs({0})",
    "min": "Math.min({0}, {1})", "max": "Math.max({0}, {1})",
    "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} === {1})",
    "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!({0}))", "select": "(({0}) ? ({1}) : ({2}))",
    "read": "Math.min(Math.max(Math.trunc({0}) || 0, 0), {1} - 1)",
}  # fmt: skip


def to_javascript(program: Program) -> str:
    """Source of one function, which takes an array per input and fills an array per output, all flat and row-major.

    Numbers are printed so that they read back exactly; names come from ports alone and are made safe.
    """
    names = Names(JAVASCRIPT_RESERVED)
    function = names.new(program.name)
    inputs = [names.new(port.name) for port in program.inputs]
    outputs = [names.new(port.name, "_out") for port in program.outputs]
    draw = names.new("draw")
    templates = {**_FUNCTIONS, "draw": f"{draw}({{1}})"}
    body = FunctionBody(
        program, _JavaScript(_number, templates), names, lambda port, element: f"{inputs[port]}[{element}]",
        arrays=lambda port: inputs[port],
    )  # fmt: skip
    sources = {k: body.array(row[0]) for k, row in enumerate(program.results) if program.is_array(k)}
    lines = _lines(body, "  ")
    lines = [*(_draw(draw) if "draw" in program.vocabulary else []), *lines]
    for number, (name, row) in enumerate(zip(outputs, program.results)):
        if program.is_array(number):
            source = sources[number]
            lines.append(f"  for (let k = 0; k < {program.outputs[number].size}; k += 1) {name}[k] = {source}[k];")
            continue
        lines += [f"  {name}[{place}] = {body.text(k).source};" for place, k in enumerate(row)]
    return "\n".join([f"function {function}({', '.join([*inputs, *outputs])}) {{", *lines, "}", ""])


def _draw(name: str) -> list[str]:
    """Definition of :func:`dalembert.threefry.draw`."""
    steps = []
    for step in schedule():
        if len(step) == 1:
            steps += [f"x[{j}] += k[{(step[0] + j) % 5}]{f' + {step[0]}' if j == 3 else ''};" for j in range(4)]
        else:
            a, b, r = step
            steps.append(f"x[{a}] += x[{b}]; x[{b}] = (x[{b}] << {r} | x[{b}] >>> {32 - r}) ^ x[{a}];")
    return [
        f"  const {name} = (...given) => {{",
        "    const w = Uint32Array.from(given, (x) => x > 0 ? Math.min(x, 4294967295) : 0), n = w[8];",
        f"    const k = [w[0], w[1], w[2], w[3], {PARITY} ^ w[0] ^ w[1] ^ w[2] ^ w[3]];",
        "    const x = w.slice(4, 8).map((word, j) => word + k[j]);",
        *(f"    {line}" for line in steps),
        "    return Array.from(x, (y) => Math.floor(((y >>> 16) * n + Math.floor((y & 65535) * n / 65536)) / 65536));",
        "  };",
    ]


class _JavaScript(Infix):
    def part(self, array: str, first: str, size: int) -> str:
        return f"{array}.slice({first}, {first} + {size})"


def _lines(body: FunctionBody, indent: str) -> list[str]:
    lines = []
    for s in body.statements:
        if s.loop:
            loop, scan = s.loop, s.loop.scan
            step = loop.counter
            lines.append(f"{indent}const {s.name} = [{', '.join(source for source, _ in loop.start)}];")
            for own in loop.emitted:
                lines.append(f"{indent}const {own.array} = new Array({own.size}).fill(0);")
            for kept in loop.stored:
                lines.append(f"{indent}let {kept.array} = {kept.before}.slice();")
            lines.append(f"{indent}for (let {step} = 0; {step} < {scan.count}; {step} += 1) {{")
            if scan.stops:
                lines.append(f"{indent}  if (!({s.name}[{len(loop.start) - 1}] > 0)) break;")
            for index, count, each in ((loop.row, scan.read_rows, scan.hold), (loop.kept, scan.emitted, scan.every)):
                if index != step:
                    number = f"Math.floor({step} / {each})" if each > 1 else step
                    number = f"{count - 1} - {number}" if scan.reverse else number
                    lines.append(f"{indent}  const {index} = {number};")
            assert loop.body is not None
            lines += _lines(loop.body, indent + "  ")
            due = f"if (({step} + 1) % {scan.every} === 0) " if scan.every > 1 else ""
            for own in loop.emitted:
                at = f"{own.array}[{own.width} * {loop.kept}"
                if isinstance(own.row, str):
                    each_k = f"let k = 0; k < {own.width}; k += 1"
                    lines.append(f"{indent}  {due}for ({each_k}) {at} + k] = {own.row}[k];")
                    continue
                lines += [f"{indent}  {due}{at} + {k}] = {source};" for k, (source, _) in enumerate(own.row)]
            lines += [f"{indent}  {s.name}[{k}] = {source};" for k, (source, _) in enumerate(loop.ends)]
            lines += [f"{indent}  {x.array} = {x.after}.slice();" for x in loop.stored if x.after != x.array]
            lines.append(f"{indent}}}")
        elif s.array:
            made = s.array
            if made.drawn is not None:
                lines.append(f"{indent}const {s.name} = {body.dialect.draw(s.name, made.drawn)};")
            elif made.copied:
                lines.append(f"{indent}const {s.name} = {made.copied}.slice();")
            else:
                elements = made.numbers if made.numbers is not None else [x for x, _ in made.elements or ()]
                lines.append(f"{indent}const {s.name} = [{', '.join(elements)}];")
            if made.changed:
                lines.append(f"{indent}{body.dialect.store(s.name, made.size, *made.changed)}")
        else:
            lines.append(f"{indent}const {s.name} = {s.source};")
    return lines


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

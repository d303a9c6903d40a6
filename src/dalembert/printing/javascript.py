"""Programs as JavaScript functions on plain arrays of numbers, for pages that compute by themselves."""

from __future__ import annotations

import math

from dalembert.printing.names import Names
from dalembert.printing.statements import FunctionBody, Infix
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
}  # fmt: skip


def to_javascript(program: Program) -> str:
    """Source of one function, which takes an array per input and fills an array per output, all flat and row-major.

    Numbers are printed so that they read back exactly; names come from ports alone and are made safe.
    """
    names = Names(JAVASCRIPT_RESERVED)
    function = names.new(program.name)
    inputs = [names.new(port.name) for port in program.inputs]
    outputs = [names.new(port.name, "_out") for port in program.outputs]
    body = FunctionBody(program, Infix(_number, _FUNCTIONS), names, lambda port, element: f"{inputs[port]}[{element}]")
    lines = _lines(body, "  ")
    for name, row in zip(outputs, program.results):
        lines += [f"  {name}[{place}] = {body.text(k).source};" for place, k in enumerate(row)]
    return "\n".join([f"function {function}({', '.join([*inputs, *outputs])}) {{", *lines, "}", ""])


def _lines(body: FunctionBody, indent: str) -> list[str]:
    lines = []
    for s in body.statements:
        if s.loop:
            count = f"let {s.loop.counter} = 0; {s.loop.counter} < {s.loop.times}; {s.loop.counter} += 1"
            (given, rows), (made, fresh) = s.loop.given, s.loop.made
            for array, values in ((s.name, s.loop.start), (given, rows), (made, [])):
                lines.append(f"{indent}const {array} = [{', '.join(source for source, _ in values)}];")
            lines.append(f"{indent}for ({count}) {{")
            lines += _lines(s.loop.body, indent + "  ")
            if fresh:
                lines.append(f"{indent}  {made}.push({', '.join(source for source, _ in fresh)});")
            lines += [f"{indent}  {s.name}[{k}] = {source};" for k, (source, _) in enumerate(s.loop.ends)]
            lines.append(f"{indent}}}")
        else:
            lines.append(f"{indent}const {s.name} = {s.source};")
    return lines


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"

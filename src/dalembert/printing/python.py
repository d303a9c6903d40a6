"""Programs as readable Python source on NumPy arrays. The library never executes it."""

from __future__ import annotations

import math

import numpy as np

from dalembert.printing.names import PYTHON_RESERVED, Names
from dalembert.printing.statements import FunctionBody, Infix, Text
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

    body = FunctionBody(program, _Python(_number, _FUNCTIONS), names, read)
    lines = _lines(body, "    ")
    for name, port, row in zip(outputs, program.outputs, program.results):
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


def _lines(body: FunctionBody, indent: str) -> list[str]:
    lines = []
    for s in body.statements:
        if s.loop:
            (given, rows), (made, fresh) = s.loop.given, s.loop.made
            for array, values in ((s.name, s.loop.start), (given, rows), (made, [])):
                lines.append(f"{indent}{array} = [{', '.join(source for source, _ in values)}]")
            lines.append(f"{indent}for {s.loop.counter} in range({s.loop.times}):")
            lines += _lines(s.loop.body, indent + "    ")
            if fresh:
                lines.append(f"{indent}    {made} += [{', '.join(source for source, _ in fresh)}]")
            lines.append(f"{indent}    {s.name} = [{', '.join(source for source, _ in s.loop.ends)}]")
        else:
            lines.append(f"{indent}{s.name} = {s.source}")
    return lines


class _Literal(Text):
    """A number that stands in the source."""


class _Python(Infix):
    """Python's notation. Operations on literals alone, left because they give no finite number, are left to NumPy:
    Python's own numbers refuse a division by zero."""

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

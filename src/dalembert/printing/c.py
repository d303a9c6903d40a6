"""Programs as C99: one self-contained source file and its header, no allocation, no state.

    void name(const double *q, const double *v, double *tau);
    void name_batch(const double *q, const double *v, double *tau, size_t n);

Every array is row-major, a scalar is an array of one. ``name`` computes one state, ``name_batch`` n of them
that follow each other in memory. Outputs must not overlap inputs. Long programs are cut into several static
functions; the step of a loop is a function, too, written once for all loops that take it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.errors import ArgumentError
from dalembert.printing.c_family import (
    Flavour,
    Interface,
    Real,
    c_number,
    c_templates,
    check_real,
    comment,
    functions,
    interface,
)
from dalembert.printing.c_steps import step_functions
from dalembert.printing.names import C_RESERVED, Names
from dalembert.printing.statements import Infix, Text
from dalembert.tracing.program import Program


@dataclass(frozen=True)
class CSource:
    """Generated C.

    Args:
        name: of the function, and of both files.
        header: text of ``<name>.h``.
        source: text of ``<name>.c``.
    """

    name: str
    header: str
    source: str


def to_c(program: Program, real: Real = "double", lanes: int = 0, longest: int = 2000) -> CSource:
    """A program as C99.

    Args:
        real: the type of all numbers.
        lanes: 0 for plain C99; 2, 4, 8 or 16 to let ``name_batch`` compute so many states at once, with the
            vector types of GCC and Clang.
        longest: most nodes in one function.
    """
    check_real(real)
    if lanes not in (0, 2, 4, 8, 16):
        raise ArgumentError(f"lanes is {lanes!r}; must be 0, 2, 4, 8 or 16")
    names = Names(C_RESERVED)
    face = interface(program, names)
    batch, state = names.new(f"{face.function}_batch"), names.new(f"{face.function}_state")
    templates, helpers = c_templates(real, names, program)
    flavour = Flavour(
        real, "int", "restrict", "static void", "static void", Infix(c_number(real), templates, in_place=True)
    )
    shared, steps = step_functions(program, names, flavour)
    one = shared + functions(program, face, names, flavour, state, longest, steps) + _public(face, real, state)
    if lanes:
        place, drawing = templates.get("read", ""), templates.get("draw", "")
        many = _vector_functions(program, face, names, real, lanes, batch, longest, place, drawing)
    else:
        many = _batch(program, face, real, batch, state)
    helpers = [f"static {helper}" for helper in helpers]
    include = [comment(program, face), f'#include "{face.function}.h"', "", "#include <math.h>", ""]
    return CSource(face.function, _header(program, face, real, batch), "\n".join([*include, *helpers, one, many]))


def _header(program: Program, face: Interface, real: str, batch: str) -> str:
    guard = f"{face.function.upper()}_H"
    parameters = face.parameters(real)
    return f"""{comment(program, face)}
#ifndef {guard}
#define {guard}

#include <stddef.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* One state. Outputs must not overlap inputs. */
void {face.function}({", ".join(parameters) or "void"});

/* n states, one after the other in every array. */
void {batch}({", ".join([*parameters, "size_t n"])});

#ifdef __cplusplus
}}
#endif

#endif
"""


def _public(face: Interface, real: str, state: str) -> str:
    """The function users call. Others here call ``state``, which no other library can replace at link time."""
    return f"""
void {face.function}({", ".join(face.parameters(real, "restrict")) or "void"})
{{
    {state}({", ".join([*face.inputs, *face.outputs])});
}}
"""


def _batch(program: Program, face: Interface, real: str, batch: str, state: str) -> str:
    ports = zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs))
    arguments = ", ".join(f"{name} + {port.size} * i" for name, port in ports)
    return f"""void {batch}({", ".join([*face.parameters(real, "restrict"), "size_t n"])})
{{
    for (size_t i = 0; i < n; ++i) {{
        {state}({arguments});
    }}
}}
"""


# ----------------------------------------------------------------------------------------------- several states at once


_ARITHMETIC = frozenset({"neg", "add", "sub", "mul", "div"})
_LANEWISE = {"sqrt": "sqrt", "sin": "sin", "cos": "cos", "tan": "tan", "exp": "exp", "log": "log", "atan2": "atan2"}


class _VectorInfix(Infix):
    """Arithmetic as in C; comparisons give masks, selections are made of masks, functions go lane by lane.

    Args:
        vector: type of a vector of numbers.
        mask: type of a vector of truth values.
    """

    def __init__(self, real: str, lanes: int, vector: str, mask: str):
        suffix = "f" if real == "float" else ""
        loop = f"for (int k = 0; k < {lanes}; ++k)"
        magnitude = "0x7fffffff" if real == "float" else "0x7fffffffffffffffLL"
        templates = {
            **{op: f"{{0}}; {loop} @[k] = {name}{suffix}(@[k])" for op, name in _LANEWISE.items()},
            "atan2": f"{{0}}; {loop} @[k] = atan2{suffix}(@[k], {{1}}[k])",
            "abs": f"({vector})(({mask})({{0}}) & {magnitude})",
            "lt": "({0} < {1})", "le": "({0} <= {1})", "eq": "({0} == {1})",
            "and": "({0} & {1})", "or": "({0} | {1})", "not": "(~{0})",
            "select": f"({vector})((({mask})({{1}}) & {{0}}) | (({mask})({{2}}) & ~{{0}}))",
        }  # fmt: skip
        for op, sign in (("min", "<"), ("max", ">")):
            first = f"(({{0}} {sign} {{1}}) | ({{0}} != {{0}}))"
            templates[op] = f"({vector})((({mask})({{0}}) & {first}) | (({mask})({{1}}) & ~{first}))"
        super().__init__(c_number(real), templates, in_place=True)
        self._lanes, self._vector = lanes, vector
        self._numbers: set[str] = set()
        self._kind = real
        self.place = self.drawing = ""

    def number(self, value: float) -> Text:
        text = super().number(value)
        self._numbers.add(text.source)
        return text

    def whole(self, source: str) -> str:
        """A number in every lane."""
        return f"({self._vector}){{{', '.join([source] * self._lanes)}}}"

    def element(self, array: str, size: int, index: str) -> Text:
        lanes = f"for (int k = 0; k < {self._lanes}; ++k)"
        if index in self._numbers:
            index = self.whole(index)
        return Text(f"{index}; {lanes} @[k] = {array}[{self.place.format('@[k]', size)}][k]")

    def store(self, array: str, size: int, index: str, number: str) -> str:
        lanes = f"for (int k = 0; k < {self._lanes}; ++k)"
        index, number = (f"({self.whole(x)})" if x in self._numbers else x for x in (index, number))
        return f"{lanes} {array}[{self.place.format(f'{index}[k]', size)}][k] = {number}[k];"

    def draw(self, array: str, operands: list[str]) -> str:
        each = ", ".join(x if x in self._numbers else f"{x}[k]" for x in operands)
        fill = f"for (int j = 0; j < 4; ++j) {array}[j][k] = row[j];"
        lane = f"{self._kind} row[4]; {self.drawing.format('row', each)} {fill}"
        return f"for (int k = 0; k < {self._lanes}; ++k) {{ {lane} }}"

    def named(self, op: str) -> bool:
        return op in _LANEWISE

    def wants_names(self, op: str) -> bool:
        return op in ("min", "max", "select", "atan2")

    def operation(self, op: str, args: list[Text]) -> Text:
        if op not in _ARITHMETIC or all(a.source in self._numbers for a in args):
            args = [Text(self.whole(a.source)) if a.source in self._numbers else a for a in args]
        return super().operation(op, args)


def _vector_functions(
    program: Program,
    face: Interface,
    names: Names,
    real: str,
    lanes: int,
    batch: str,
    longest: int,
    place: str,
    drawing: str,
) -> str:
    """The function of ``lanes`` states at once, and the batch function that feeds it.

    Args:
        lanes: how many states at once.
        batch: name of the batch function.
        place: template of the place in an array for an index.
        drawing: template of the statement that draws random numbers.
    """
    vector, mask = names.new(f"{face.function}_vector"), names.new(f"{face.function}_mask")
    block = names.new(f"{face.function}_block")
    dialect = _VectorInfix(real, lanes, vector, mask)
    dialect.place, dialect.drawing = place, drawing
    going = names.new(f"{face.function}_going")
    flavour = Flavour(
        vector, mask, "restrict", "static void", "static void", dialect, dialect.whole, number=real,
        going=f"{going}(&{{0}})", local_numbers=(1 << 19) // lanes,
    )  # fmt: skip
    body = functions(program, face, names, flavour, block, longest)
    inner = names.scope()
    arrays = {name: inner.new(f"{name}_lanes") for name in (*face.inputs, *face.outputs)}
    ports = dict(zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs)))
    sizes = {name: port.size for name, port in ports.items() if port.size}
    declare = [f"        {vector} {arrays[name]}[{max(port.size, 1)}];" for name, port in ports.items()]
    head = "            for (size_t k = 0; k < {0}; ++k) "
    load = [
        head.format(size) + f"{arrays[name]}[k][lane] = {name}[{size} * state + k];"
        for name, size in sizes.items()
        if name in face.inputs
    ]
    store = [
        head.format(size) + f"{name}[{size} * state + k] = {arrays[name]}[k][lane];"
        for name, size in sizes.items()
        if name in face.outputs
    ]
    unused = [f"    (void){name};" for name, port in ports.items() if not port.size]
    integer = "int" if real == "float" else "long long"
    size = lanes * (4 if real == "float" else 8)
    return "\n".join(
        [
            f"typedef {real} {vector} __attribute__((vector_size({size})));",
            f"typedef {integer} {mask} __attribute__((vector_size({size})));",
            "",
            *([_going(going, vector, lanes)] if f"{going}(" in body else []),
            body,
            f"void {batch}({', '.join([*face.parameters(real, 'restrict'), 'size_t n'])})",
            "{",
            *unused,
            f"    for (size_t i = 0; i < n; i += {lanes}) {{",
            *declare,
            *_lane_loop(lanes, "i + lane < n ? i + lane : n - 1", load),
            f"        {block}({', '.join(arrays.values())});",
            *_lane_loop(f"{lanes} && i + lane < n", "i + lane", store),
            "    }",
            "}",
            "",
        ]
    )


def _going(name: str, vector: str, lanes: int) -> str:
    """The function that says whether a number is positive in any lane."""
    return f"""static int {name}(const {vector} *x)
{{
    int any = 0;
    for (int k = 0; k < {lanes}; ++k) any |= (*x)[k] > 0;
    return any;
}}
"""


def _lane_loop(limit: int | str, state: str, lines: list[str]) -> list[str]:
    if not lines:
        return []
    head = f"        for (size_t lane = 0; lane < {limit}; ++lane) {{"
    return [head, f"            const size_t state = {state};", *lines, "        }"]

"""How operations are written in CUDA: C with a reciprocal, a sine and a cosine of our own, and nothing to include.

The functions are straight-line where the library's own would branch. Sine and cosine share the polynomials of the CPU
(:mod:`dalembert.native.llvm.functions`), with pi/2 in three parts and everything fused, so that the first difference is
exact; errors stay below two units in the last place for angles up to 1e9 rad in double and 1e5 rad in single precision.
A larger angle, whose sine a float no longer determines well, gives NaN, as infinities do.

A reciprocal is the hardware's estimate, in double precision improved by two Newton steps; errors stay below two units
in the last place. Of zero it is infinite in single and NaN in double precision.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.cuda.tuning import LOCAL_BYTES, NUMBER_BYTES
from dalembert.native.llvm.functions import COSINE, SINE, half_pi
from dalembert.printing.c_family import Flavour, Real, c_number, c_templates
from dalembert.printing.names import Names
from dalembert.printing.statements import PRODUCT, Infix, Text
from dalembert.tracing.program import Program


class CudaDialect(Infix):
    """C with a reciprocal of our own: the division of the language branches.

    Args:
        templates: of functions and comparisons.
        reciprocal: name of the function.
    """

    def __init__(self, number: Callable[[float], str], templates: dict[str, str], reciprocal: str):
        super().__init__(number, templates, pairs=True, in_place=True)
        self._reciprocal = reciprocal

    def operation(self, op: str, args: list[Text]) -> Text:
        if op != "div":
            return super().operation(op, args)
        inverse = Text(f"{self._reciprocal}({args[1].source})")
        if args[0].source in ("1.0", "1.0f"):
            return inverse
        return Text(f"{super().operation('mul', [args[0], inverse]).source}", PRODUCT)


def device_flavour(program: Program, real: Real, names: Names, function: str) -> tuple[Flavour, dict[str, str]]:
    """How device functions are written, and definitions, by name, of what they may call; see :func:`called`.

    Args:
        program: what they will compute.
        function: what names of the helpers begin with.
    """
    pair, reciprocal = (names.new(f"{function}_{part}") for part in ("sincos", "reciprocal"))
    templates, helpers = c_templates(real, names, program)
    flavour = Flavour(
        real, "bool", "__restrict__", "static __device__ __forceinline__ void",
        "static __device__ __noinline__ void", CudaDialect(_device_number(real), templates, reciprocal), sincos=pair,
        rolled=("    #pragma unroll 1",), local_numbers=LOCAL_BYTES // NUMBER_BYTES[real],
    )  # fmt: skip
    used = program.vocabulary
    definitions = {pair: _sincos_source(real, pair)} if {"sin", "cos"} <= used else {}
    if "div" in used:
        definitions[reciprocal] = _reciprocal_source(real, reciprocal)
    for helper in helpers:
        definitions[helper[: helper.index("(")].split()[-1]] = f"static __device__ __forceinline__ {helper}"
    return flavour, definitions


def called(definitions: dict[str, str], text: str) -> list[str]:
    """Those definitions that a text needs; compilers warn of others."""
    return [definition for name, definition in definitions.items() if f"{name}(" in text]


def _device_number(real: str) -> Callable[[float], str]:
    """Writes a constant as C does; infinity and NaN without a header."""
    plain = c_number(real)
    suffix = "f" if real == "float" else ""
    special = {
        "INFINITY": f"(1.0{suffix} / 0.0{suffix})",
        "-INFINITY": f"(-1.0{suffix} / 0.0{suffix})",
        "NAN": f"(0.0{suffix} / 0.0{suffix})",
    }
    return lambda value: special.get(plain(value), plain(value))


# ------------------------------------------------------------------------------------------------- functions of our own


SHIFT = {"double": 1.5 * 2.0**52, "float": 1.5 * 2.0**23}
"""Added to a number and taken off again, it leaves the nearest integer, which stands in the last bits of the sum: two
additions instead of a rounding and a conversion, which the hardware does at a quarter of the speed."""

LARGEST_ANGLE = {"double": 1e9, "float": 1e5}
"""Largest angle, rad."""


def _sincos_source(real: str, name: str) -> str:
    """Definition of ``void name(real x, real *sine, real *cosine)``."""
    f = "f" if real == "float" else ""
    parts = half_pi(53, 53, 53) if real == "double" else half_pi(24, 24, 24)
    digits = 17 if real == "double" else 9
    table: list[str] = []

    def plain(x: float) -> str:
        return f"{x:.{digits}e}{f}"

    def number(x: float) -> str:
        """A constant; in double precision from a table, for an instruction holds no more than half of one."""
        if f:
            return plain(x)
        table.append(plain(x))
        return f"{name}_numbers[{len(table) - 1}]"

    def polynomial(coefficients: tuple[float, ...]) -> str:
        text = number(coefficients[-1])
        for c in coefficients[-2::-1]:
            text = f"fma{f}({text}, z, {number(c)})"
        return text

    not_a_number = "__int_as_float(0x7fffffff)" if f else "__longlong_as_double(0x7fffffffffffffffLL)"
    reduction = "\n".join(f"    r = fma{f}(-k, {number(p)}, r);" for p in parts)
    text = f"""static __device__ __forceinline__ void {name}({real} x, {real} *sine, {real} *cosine)
{{
    const {real} shifted = fma{f}(x, {number(1 / half_pi(53)[0])}, {plain(SHIFT[real])});
    const int quadrant = {"__float_as_int" if f else "__double2loint"}(shifted);
    const {real} k = shifted - {plain(SHIFT[real])};
    {real} r = fabs{f}(x) <= {plain(LARGEST_ANGLE[real])} ? x : {not_a_number};
{reduction}
    const {real} z = r * r;
    const {real} s = fma{f}(-r * z, {polynomial(SINE[real])}, r);
    const {real} c = fma{f}(z * z, {polynomial(COSINE[real])}, fma{f}(-0.5{f}, z, 1.0{f}));
    const {real} a = (quadrant & 1) ? c : s;
    const {real} b = (quadrant & 1) ? s : c;
    *sine = {_flipped(real, "a", "quadrant")};
    *cosine = {_flipped(real, "b", "(quadrant + 1)")};
}}
"""
    numbers = f"static __constant__ double {name}_numbers[] = {{{', '.join(table)}}};\n" if table else ""
    return numbers + text


def _flipped(real: str, x: str, quadrant: str) -> str:
    """A number with its sign changed where bit 1 of the quadrant is set, without a branch or an addition."""
    sign = f"(({quadrant} & 2) << 30)"
    if real == "float":
        return f"__int_as_float(__float_as_int({x}) ^ {sign})"
    return f"__hiloint2double(__double2hiint({x}) ^ {sign}, __double2loint({x}))"


def _reciprocal_source(real: str, name: str) -> str:
    """Definition of ``real name(real x)``."""
    head = f"__device__ __forceinline__ {real} {name}({real} x)\n{{\n    {real} r;\n"
    if real == "float":
        return head + '    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));\n    return r;\n}\n'
    step = "    r = fma(r, fma(-x, r, 1.0), r);\n"
    return head + '    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));\n' + 2 * step + "    return r;\n}\n"

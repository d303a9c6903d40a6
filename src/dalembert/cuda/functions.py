"""Elementary functions as CUDA source, straight-line where the library's own would branch.

Sine and cosine share the polynomials of the CPU (:mod:`dalembert.native.llvm.trigonometry`), with pi/2 in three parts
and everything fused, so that the first difference is exact; errors stay below two units in the last place for angles up
to 1e9 rad in double and 1e5 rad in single precision. A larger angle, of which a float no longer knows the sine well,
gives NaN, as infinities do.

A reciprocal is the hardware's estimate, in double precision improved by two Newton steps; errors stay below two units
in the last place. Of zero it is infinite in single and NaN in double precision.
"""

from __future__ import annotations

from dalembert.native.llvm.trigonometry import COSINE, SINE, half_pi

SHIFT = {"double": 1.5 * 2.0**52, "float": 1.5 * 2.0**23}
"""Added to a number and taken off again, it leaves the nearest integer, which stands in the last bits of the sum: two
additions instead of a rounding and a conversion, which the hardware does at a quarter of the speed."""

LIMIT = {"double": 1e9, "float": 1e5}
"""Largest angle, rad."""


def sincos_source(real: str, name: str) -> str:
    """Definition of ``void name(real x, real *sine, real *cosine)``.

    Args:
        real: ``double`` or ``float``.
        name: of the function.
    """
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
    {real} r = fabs{f}(x) <= {plain(LIMIT[real])} ? x : {not_a_number};
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


def reciprocal_source(real: str, name: str) -> str:
    """Definition of ``real name(real x)``.

    Args:
        real: ``double`` or ``float``.
        name: of the function.
    """
    head = f"__device__ __forceinline__ {real} {name}({real} x)\n{{\n    {real} r;\n"
    if real == "float":
        return head + '    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));\n    return r;\n}\n'
    step = "    r = fma(r, fma(-x, r, 1.0), r);\n"
    return head + '    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));\n' + 2 * step + "    return r;\n}\n"

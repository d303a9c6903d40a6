"""Elementary functions as LLVM IR: sine and cosine of a register of angles; exp, log, atan2 by the C library.

The angle x is reduced to x = k pi/2 + r, |r| <= pi/4, by subtracting k times pi/2 in several parts (W. J. Cody and
W. Waite, *Software Manual for the Elementary Functions*, 1980). Every part but the last has so few digits that its
product with k is exact - the first may have all of them where products and sums are fused - and what each difference
rounds away is collected in a correction t, so that sin x = sin(r + t) keeps full relative accuracy even at the doubles
nearest to multiples of pi/2 (of which 29 pi/2 is the closest below 1e5: r = 6e-19). Then

    sin r = r - r z S(z),    cos r = 1 - z/2 + z z C(z),    z = r r,

with polynomials S and C fitted for the least largest relative error on |r| <= pi/4, coefficient after coefficient
rounded to the working precision: 2**-57.9 and 2**-63.7 in double, 2**-27.9 and 2**-32.7 in single precision. Errors
stay below one unit in the last place.

Lanes with |x| > 1e5, infinities and NaN are done again, one by one, by the C library, which is correct for all of them.
"""

from __future__ import annotations

from dalembert.native.llvm.target import Lanes
from dalembert.native.llvm.text import Instructions

LARGEST_ANGLE = 1e5
"""Largest angle, in rad, of the vector code."""

SINE = {
    "double": (
        0.16666666666666632, -0.008333333333322491, 0.00019841269829859668,
        -2.7557313707712597e-06, 2.5050760355444578e-08, -1.5896915809157116e-10,
    ),
    "float": (0.16666655242443085, -0.008332191966474056, 0.00019518790941219777),
}  # fmt: skip
COSINE = {
    "double": (
        0.0416666666666666, -0.0013888888888874476, 2.4801587289673593e-05,
        -2.755731440173499e-07, 2.0875729385205167e-09, -1.1359939852625353e-11,
    ),
    "float": (0.04166664555668831, -0.00138873013202101, 2.443066296109464e-05),
}  # fmt: skip

HALF_PI = 0x1921FB54442D18469898CC51701B839A252049C1114CF98E
"""pi/2, as an integer, with 188 binary digits after the point."""


def half_pi(*digits: int) -> list[float]:
    """pi/2 as a sum of numbers with the given counts of binary digits, largest first."""
    parts, rest, place = [], HALF_PI, 188
    for count in digits:
        shift = max(rest.bit_length() - count, 0)
        part = rest >> shift << shift
        parts.append(part / 2**place)
        rest -= part
    return parts


def _fused(block: Instructions, lanes: Lanes, a: str, b: str, c: str) -> str:
    v = lanes.vector
    return block(f"call {v} @llvm.fmuladd.{lanes.suffix}({v} {a}, {v} {b}, {v} {c})")


def _polynomial(block: Instructions, lanes: Lanes, z: str, coefficients: tuple[float, ...]) -> str:
    value = lanes.constant(coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = _fused(block, lanes, value, z, lanes.constant(coefficient))
    return value


def _quadrant(block: Instructions, lanes: Lanes, x: str) -> tuple[str, str, str]:
    """The integer k nearest to x / (pi/2): as an integer, as a number, and with its sign changed."""
    v = lanes.vector
    shift = lanes.constant(1.5 * 2**52)  # adding this rounds to an integer and leaves it in the lowest bits
    shifted = _fused(block, lanes, x, lanes.constant(1 / half_pi(53)[0]), shift)
    k = block(f"fsub {v} {shifted}, {shift}")
    return block(f"bitcast {v} {shifted} to {lanes.integers}"), k, block(f"fneg {v} {k}")


def _reduce_double(block: Instructions, lanes: Lanes, x: str, fused: bool) -> tuple[str, str, str]:
    """k, r and t with x = k pi/2 + r - t."""
    v = lanes.vector
    first, *middle, last = half_pi(53, 36, 53) if fused else half_pi(36, 36, 36, 53)
    bits, k, minus_k = _quadrant(block, lanes, x)
    r = _fused(block, lanes, minus_k, lanes.constant(first), x)  # exact
    t = ""
    for part in middle:
        after = _fused(block, lanes, minus_k, lanes.constant(part), r)
        change = block(f"fsub {v} {after}, {r}")  # exact, as is k times the part
        lost = _fused(block, lanes, k, lanes.constant(part), change)
        t = block(f"fadd {v} {t}, {lost}") if t else lost
        r = after
    return bits, r, _fused(block, lanes, k, lanes.constant(last), t)


def _reduce_float(block: Instructions, lanes: Lanes, x: str, fused: bool) -> tuple[str, str, str]:
    """k, r and t with x = k pi/2 + r - t, by way of double precision."""
    v, wide = lanes.vector, Lanes("double", lanes.width)
    long = block(f"fpext {v} {x} to {wide.vector}")
    bits, _, minus_k = _quadrant(block, wide, long)
    for part in half_pi(53, 53) if fused else half_pi(36, 53):
        long = _fused(block, wide, minus_k, wide.constant(part), long)
    r = block(f"fptrunc {wide.vector} {long} to {v}")
    back = block(f"fpext {v} {r} to {wide.vector}")
    lost = block(f"fsub {wide.vector} {back}, {long}")
    bits = block(f"trunc {wide.integers} {bits} to {lanes.integers}")
    return bits, r, block(f"fptrunc {wide.vector} {lost} to {v}")


def _evaluate(block: Instructions, lanes: Lanes, r: str, t: str) -> tuple[str, str]:
    """Sine and cosine of r - t."""
    v, one = lanes.vector, lanes.constant(1.0)
    z = block(f"fmul {v} {r}, {r}")
    half = block(f"fmul {v} {z}, {lanes.constant(0.5)}")
    near = block(f"fsub {v} {one}, {half}")
    # sin(r - t) = r - (r z S + t cos r), in an order that makes the sine of -0 be -0
    rz = block(f"fmul {v} {r}, {z}")
    tc = block(f"fmul {v} {t}, {near}")
    small = _fused(block, lanes, rz, _polynomial(block, lanes, z, SINE[lanes.scalar]), tc)
    sine = block(f"fsub {v} {r}, {small}")
    # cos(r - t) = 1 - z/2 + (z z C + r t + what rounding 1 - z/2 has lost)
    far = block(f"fsub {v} {one}, {near}")
    lost = block(f"fsub {v} {far}, {half}")
    zz = block(f"fmul {v} {z}, {z}")
    lost = _fused(block, lanes, r, t, lost)
    small = _fused(block, lanes, zz, _polynomial(block, lanes, z, COSINE[lanes.scalar]), lost)
    return sine, block(f"fadd {v} {near}, {small}")


def sincos_function(lanes: Lanes, fused: bool) -> str:
    """The function ``void sincos(ptr scratch, ptr table, i64 count)``.

    The table has three byte offsets into the scratch for each of ``count`` > 0 angles: of the angle, where to put its
    sine, where to put its cosine.

    Args:
        fused: whether the processor has a fused multiply-add.
    """
    v, ints, truths, scalar = lanes.vector, lanes.integers, lanes.truths, lanes.scalar
    b = Instructions()
    for k, name in enumerate(("angle", "sine", "cosine")):
        entry = b(f"getelementptr [3 x i64], ptr %table, i64 %k, i64 {k}")
        b.do(f"%{name}.p = getelementptr i8, ptr %scratch, i64 {b(f'load i64, ptr {entry}')}")
    x = b(f"load {v}, ptr %angle.p, align {lanes.bytes}")
    bits, r, t = (_reduce_double if scalar == "double" else _reduce_float)(b, lanes, x, fused)
    sine, cosine = _evaluate(b, lanes, r, t)

    # Odd quadrants exchange sine and cosine; the sine changes sign in quadrants 2 and 3, the cosine in 1 and 2.
    odd = b(f"icmp ne {ints} {b(f'and {ints} {bits}, {lanes.integer(1)}')}, {lanes.integer(0)}")
    top = 8 * lanes.itemsize - 2
    next_bits = b(f"add {ints} {bits}, {lanes.integer(1)}")
    for name, value, other, quadrant in (("sine", sine, cosine, bits), ("cosine", cosine, sine, next_bits)):
        chosen = b(f"bitcast {v} {b(f'select {truths} {odd}, {v} {other}, {v} {value}')} to {ints}")
        sign = b(f"shl {ints} {b(f'and {ints} {quadrant}, {lanes.integer(2)}')}, {lanes.integer(top)}")
        signed = b(f"bitcast {ints} {b(f'xor {ints} {chosen}, {sign}')} to {v}")
        b.do(f"store {v} {signed}, ptr %{name}.p, align {lanes.bytes}")
    size = b(f"call {v} @llvm.fabs.{lanes.suffix}({v} {x})")
    rare = b(f"fcmp ugt {v} {size}, {lanes.constant(LARGEST_ANGLE)}")
    any_rare = b(f"call i1 @llvm.vector.reduce.or.v{lanes.width}i1({truths} {rare})")

    return f"""
declare i1 @llvm.vector.reduce.or.v{lanes.width}i1({truths})
declare double @llvm.fabs.f64(double)

define void @rt.sincos(ptr noalias %scratch, ptr noalias %table, i64 %count) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
{b}
  br i1 {any_rare}, label %rare, label %next, !prof !0
rare:
  call void @sincos_rare(ptr %angle.p, ptr %sine.p, ptr %cosine.p)
  br label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
!0 = !{{!"branch_weights", i32 1, i32 100000}}

define internal void @sincos_rare(ptr %angle, ptr %sine, ptr %cosine) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
  %angle.p = getelementptr {scalar}, ptr %angle, i64 %k
  %x.stored = load {scalar}, ptr %angle.p
  %x = {_widen(lanes, "%x.stored")}
  %size = call double @llvm.fabs.f64(double %x)
  %rare = fcmp ugt double %size, {Lanes("double", 1).number(LARGEST_ANGLE)}
  br i1 %rare, label %call, label %next
call:
  %sine.x = call double @sin(double %x)
  %cosine.x = call double @cos(double %x)
  %sine.s = {_narrow(lanes, "%sine.x")}
  %cosine.s = {_narrow(lanes, "%cosine.x")}
  %sine.p = getelementptr {scalar}, ptr %sine, i64 %k
  %cosine.p = getelementptr {scalar}, ptr %cosine, i64 %k
  store {scalar} %sine.s, ptr %sine.p
  store {scalar} %cosine.s, ptr %cosine.p
  br label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, {lanes.width}
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


# ------------------------------------------------------------------------------------------------ left to the C library


ARGUMENTS = {"exp": 1, "log": 1, "atan2": 2}
"""Functions of the C library and the number of their arguments."""

SYMBOLS = ("sin", "cos", *ARGUMENTS)
"""Everything generated code may ask of the C library; always on doubles, so that float32 results are rounded well."""


def declarations() -> str:
    """The functions of the C library."""
    return "".join(f"declare double @{s}({', '.join(['double'] * ARGUMENTS.get(s, 1))})\n" for s in SYMBOLS)


def _widen(lanes: Lanes, value: str) -> str:
    """The instruction that gives a scalar of the register type as a double."""
    return f"fpext float {value} to double" if lanes.scalar == "float" else f"bitcast double {value} to double"


def _narrow(lanes: Lanes, value: str) -> str:
    """The instruction that rounds a double to a scalar of the register type."""
    return f"fptrunc double {value} to float" if lanes.scalar == "float" else f"bitcast double {value} to double"


def map_function(kind: str, lanes: Lanes) -> str:
    """The function ``void map_<kind>(ptr scratch, ptr table, i64 count)``.

    The table has for each of ``count`` > 0 calls the byte offsets into the scratch of its arguments and its result.

    Args:
        kind: name of the function of the C library.
    """
    count, scalar = ARGUMENTS[kind], lanes.scalar
    find, load = [], []
    for k in range(count + 1):
        find += [
            f"  %entry{k} = getelementptr [{count + 1} x i64], ptr %table, i64 %k, i64 {k}",
            f"  %offset{k} = load i64, ptr %entry{k}",
            f"  %vector{k} = getelementptr i8, ptr %scratch, i64 %offset{k}",
        ]
        load.append(f"  %place{k} = getelementptr {scalar}, ptr %vector{k}, i64 %lane")
    for k in range(count):
        load += [f"  %stored{k} = load {scalar}, ptr %place{k}", f"  %x{k} = {_widen(lanes, f'%stored{k}')}"]
    arguments = ", ".join(f"double %x{k}" for k in range(count))
    lines = "\n".join
    return f"""
define void @rt.map_{kind}(ptr noalias %scratch, ptr noalias %table, i64 %count) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
{lines(find)}
  br label %each
each:
  %lane = phi i64 [ 0, %body ], [ %lane.next, %each ]
{lines(load)}
  %y = call double @{kind}({arguments})
  %rounded = {_narrow(lanes, "%y")}
  store {scalar} %rounded, ptr %place{count}
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, {lanes.width}
  br i1 %lane.more, label %each, label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""

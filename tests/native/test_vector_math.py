"""Sine and cosine of our own against arbitrary precision: below one unit in the last place, everywhere."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from dalembert.native.kernel import Kernel
from dalembert.native.llvm.target import Target
from dalembert.native.llvm.trigonometry import LIMIT, half_pi
from llvm_programs import Builder

HOST = Target.host()
PLAIN = Target(HOST.triple, "x86-64", "", 128)  # without fused multiply-add
TARGETS = [HOST, HOST.scalar()] + [PLAIN] * HOST.triple.startswith("x86_64")


@pytest.fixture(autouse=True, scope="module")
def _no_disk(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DALEMBERT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def function_kernel(*ops, target=HOST):
    b = Builder()
    (x,) = b.inputs(())
    program = b.program(*(((), [b(op, *x)]) for op in ops))
    return Kernel("_".join(ops), program.inputs, program.outputs, program, target=target)


def units(found, exact, dtype):
    """Error in units in the last place of the exact value."""
    step = mpmath.mpf(float(np.spacing(dtype(abs(float(exact))) or np.finfo(dtype).tiny)))
    return float(abs(mpmath.mpf(float(found)) - exact) / step)


def worst_error(angles, dtype, target):
    sine, cosine = function_kernel("sin", "cos", target=target)(angles.astype(dtype))
    assert sine.dtype == dtype
    worst = 0.0
    with mpmath.workprec(240):
        for x, s, c in zip(angles.astype(dtype).tolist(), sine, cosine):
            x = mpmath.mpf(x)
            worst = max(worst, units(s, mpmath.sin(x), dtype), units(c, mpmath.cos(x), dtype))
    return worst


def sample(dtype):
    """Angles of all sizes up to the limit and beyond."""
    rng = np.random.default_rng(3)
    small = np.exp(rng.uniform(math.log(1e-30), 0, 150))
    large = np.exp(rng.uniform(0, math.log(LIMIT), 300))
    beyond = np.exp(rng.uniform(math.log(LIMIT), math.log(1e30), 100))
    edges = np.array([math.pi / 4, math.pi / 2, 0.785398, LIMIT, np.nextafter(dtype(LIMIT), dtype(np.inf))])
    angles = np.concatenate([rng.uniform(-10, 10, 300), small, large, beyond, edges])
    return angles * rng.choice([-1, 1], angles.size)


@pytest.mark.parametrize("target", TARGETS, ids=["host", "scalar", "no fma"][: len(TARGETS)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_below_one_unit_in_the_last_place(dtype, target):
    assert worst_error(sample(dtype), dtype, target) < 1.0


@pytest.mark.parametrize("target", TARGETS, ids=["host", "scalar", "no fma"][: len(TARGETS)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_next_to_multiples_of_a_right_angle(dtype, target):
    """The hardest arguments: floating-point numbers nearest to k pi/2, where all leading digits cancel."""
    with mpmath.workprec(200):
        multiples = np.array([dtype(float(k * mpmath.pi / 2)) for k in [*range(1, 60), *range(60, 63662, 101)]])
        closest = [29, 58, 116, 232, 464, 928, 1856]  # smallest remainders of all doubles below the limit
        multiples = np.append(multiples, [dtype(float(k * mpmath.pi / 2)) for k in closest])
    around = [multiples, np.nextafter(multiples, dtype(0)), np.nextafter(multiples, dtype(np.inf))]
    assert worst_error(np.concatenate(around), dtype, target) < 1.0


def test_the_parts_of_half_pi():
    with mpmath.workprec(300):
        for digits in [(53, 36, 53), (36, 36, 36, 53), (53, 53), (36, 53)]:
            parts = half_pi(*digits)
            assert all(a > b > 0 for a, b in pairwise(parts))
            for part, count in zip(parts, digits):
                mantissa = int(math.frexp(part)[0] * 2**53)
                assert mantissa % 2 ** (53 - count) == 0  # has so few digits
            rest = abs(sum(mpmath.mpf(p) for p in parts) - mpmath.pi / 2)
            assert rest < mpmath.mpf(2) ** (1 - sum(digits))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_angles(dtype):
    run = function_kernel("sin", "cos", "tan")
    with np.errstate(all="raise"):
        sine, cosine, tangent = run(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30], dtype))
    np.testing.assert_array_equal(sine, np.array([0, -0.0, np.nan, np.nan, np.nan, 1e-30, -1e-30], dtype))
    np.testing.assert_array_equal(np.signbit(sine[:2]), [False, True])
    np.testing.assert_array_equal(cosine, np.array([1, 1, np.nan, np.nan, np.nan, 1, 1], dtype))
    np.testing.assert_array_equal(np.signbit(tangent[:2]), [False, True])
    np.testing.assert_array_equal(tangent[-2:], np.array([1e-30, -1e-30], dtype))


def test_one_rare_angle_does_not_disturb_its_neighbours():
    run = function_kernel("sin", "cos")
    angles = np.linspace(-3, 3, 64)
    usual = run(angles)
    for rare in (1e22, np.inf, np.nan):
        for lane in range(0, 64, 5):
            mixed = angles.copy()
            mixed[lane] = rare
            for a, b in zip(usual, run(mixed)):
                np.testing.assert_array_equal(np.delete(a, lane), np.delete(b, lane))
    assert run(np.array([1e22]))[0][0] == pytest.approx(-0.8522008497671888, rel=1e-15)  # a classic: W. Kahan


def test_odd_and_even():
    angles = sample(np.float64)
    run = function_kernel("sin", "cos")
    (s, c), (ms, mc) = run(angles), run(-angles)
    np.testing.assert_array_equal(s, -ms)
    np.testing.assert_array_equal(c, mc)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("bits", [0, 128, 256, 512])
def test_functions_of_the_library(dtype, bits):
    if bits > max(HOST.bits, 128):
        pytest.skip("wider than this processor")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=40) * 5, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320, 800.0]]).astype(dtype)
    run = function_kernel("exp", "log", "tan", "sqrt", "abs", target=dataclasses.replace(HOST, bits=bits))
    tolerance = 4 * np.finfo(dtype).eps  # tan: a quotient of two functions
    with np.errstate(all="ignore"):
        expected = [f(x.astype(np.float64)).astype(dtype) for f in (np.exp, np.log, np.tan, np.sqrt, np.abs)]
        for found, value in zip(run(x), expected):
            np.testing.assert_allclose(found, value, rtol=tolerance)


def test_atan2_in_all_quadrants():
    b = Builder()
    ((y, x),) = b.inputs((2,))
    program = b.program(((), [b("atan2", y, x)]))
    run = Kernel("atan2", program.inputs, program.outputs, program)
    values = [-np.inf, -2.0, -1e-300, -0.0, 0.0, 1e-300, 3.0, np.inf, np.nan]
    pairs = np.array([(a, b) for a in values for b in values])
    found, expected = run(pairs), np.arctan2(pairs[:, 0], pairs[:, 1])
    np.testing.assert_allclose(found, expected, rtol=4e-16)  # one unit each for two libraries
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))

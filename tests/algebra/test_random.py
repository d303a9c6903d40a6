"""Laws of random numbers that are a function of a key, on numbers and in kernels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dalembert as da
import looped_programs
from dalembert.errors import ArgumentError, CompilerError, UnsupportedError
from dalembert.native.llvm.target import LEVELS, SCALAR, Target
from dalembert.proof.field import Field
from dalembert.proof.routes import OPERATIONS
from dalembert.threefry import draw, threefry
from dalembert.tracing.evaluate import evaluate, inline, interpret
from dalembert.tracing.trace import trace

ONES = [0xFFFFFFFF] * 4
PI = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0, 0x082EFA98, 0xEC4E6C89]


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 4, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
        (ONES, ONES, "2a881696 57012287 f6c7446e a16a6732"),
        (PI[:4], PI[4:], "59cd1dbb b8879579 86b5d00c ac8b6d84"),
    ],
)
def test_blocks_are_the_known_answers_of_random123(counter, key, words):
    assert [f"{word:08x}" for word in threefry(key, counter)] == words.split()
    upper = [float(int(word, 16) >> 8) for word in words.split()]
    assert draw([*key, *counter], 2**24) == upper
    known = trace(lambda x: {"y": np.array(x[0].random(list(x), 2**24))}, {"x": (8,)})
    np.testing.assert_array_equal(da.kernel(known)([*map(float, key), *map(float, counter)]), upper)


def numbers(seed, world, step):
    """Some of each kind."""
    return {
        "uniform": da.random.uniform((seed, world, step), (2, 3)),
        "whole": da.random.integers((seed, world, step), 1000, 5),
        "normal": da.random.normal((seed, world, step), 7),
    }


KEY = {"seed": (), "world": (), "step": ()}
WORLDS = np.arange(101)


@pytest.mark.parametrize("level", [SCALAR, *LEVELS])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_give_the_bits_of_numbers_whatever_the_width_of_registers(level, dtype, monkeypatch):
    monkeypatch.setenv("DALEMBERT_CPU", level)
    try:
        width = Target.host().lanes(dtype).width
    except CompilerError as error:
        pytest.skip(str(error))
    wanted = numbers(7, WORLDS, 3)
    kernel = da.kernel(numbers, KEY, dtype=dtype)
    found = kernel(7, WORLDS, 3)
    assert width == 1 or level != SCALAR
    np.testing.assert_array_equal(found.whole, wanted["whole"])
    np.testing.assert_array_equal(found.uniform, wanted["uniform"].astype(dtype))
    np.testing.assert_allclose(found.normal, wanted["normal"], rtol=0, atol=50 * np.finfo(dtype).eps)
    for k in (0, 50, 100):
        for one, all_ in zip(kernel(7, k, 3), found):
            np.testing.assert_array_equal(one, all_[k])
    for part, all_ in zip(kernel(7, WORLDS[13:29], 3), found):
        np.testing.assert_array_equal(part, all_[13:29])


def test_the_interpreter_gives_the_bits_of_numbers():
    found = evaluate(trace(numbers, KEY), [7, WORLDS, 3])
    for name, wanted in numbers(7, WORLDS, 3).items():
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=0 if name != "normal" else 1e-14)


def test_many_worlds_on_several_threads_have_the_numbers_of_few():
    worlds = np.arange(200_001)
    kernel = da.kernel(lambda seed, world: da.random.uniform((seed, world), 3), {"seed": (), "world": ()})
    np.testing.assert_array_equal(kernel(1, worlds), da.random.uniform((1, worlds), 3))


def test_loops_draw_what_their_plain_steps_draw():
    program, given = looped_programs.drawer(), looped_programs.drawings((7,))
    wanted = [looped_programs.drawn(int(seed), int(world)) for seed, world in zip(*given)]
    for run in (da.kernel(program), lambda *given: evaluate(program, given).values()):
        for found, *each in zip(run(*given), *wanted):
            np.testing.assert_allclose(found, each, rtol=1e-15)


def test_every_part_of_a_key_counts():
    seen = [da.random.uniform(key) for k in range(6) for key in ((0,) * (k + 1), (0,) * k + (1,), (0,) * k + (2**31,))]
    assert len(set(seen)) == len(seen)
    kinds = [da.random.uniform(0), da.random.normal(0), da.random.integers(0, 2**24) / 2**24]
    assert len({round(float(x), 6) for x in kinds}) == 3
    np.testing.assert_array_equal(da.random.uniform((3, 4), 9)[:5], da.random.uniform((3, 4), 5))
    batch = da.random.normal((np.arange(4)[:, None], np.arange(3)), (2, 2))
    np.testing.assert_array_equal(batch[3, 1], da.random.normal((3, 1), (2, 2)))
    assert da.random.uniform(1, (0,)).shape == da.random.normal((1, WORLDS[:0]), ()).shape == (0,)


def test_distributions():
    """Tests of Kolmogorov and Smirnov, and of chi-squared, on numbers that are the same every time."""
    worlds = np.arange(40_000)
    uniform = da.random.uniform((1, worlds), 3)
    normal = da.random.normal((1, worlds), 3)
    assert uniform.min() >= 0 and uniform.max() < 1
    for k in range(3):
        assert stats.kstest(uniform[:, k], "uniform").pvalue > 1e-3
        assert stats.kstest(normal[:, k], "norm").pvalue > 1e-3
    for x in (uniform, normal, np.diff(normal, axis=0)[::2]):
        assert np.abs(np.corrcoef(x.T) - np.eye(3)).max() < 4 / np.sqrt(len(x))
    assert abs(np.corrcoef(uniform[:-1, 0], uniform[1:, 0])[0, 1]) < 0.02
    for limit in (1, 2, 6, 1000):
        found = np.bincount(da.random.integers((2, worlds), limit), minlength=limit)
        assert len(found) == limit and (limit == 1 or stats.chisquare(found).pvalue > 1e-3)


def test_normal_numbers_reach_far_and_are_exact_at_the_ends():
    """The transform of Box and Muller, beside that of NumPy, where the logarithm is long and where it is short."""
    from dalembert.algebra.random import _minus_log, _on_circle

    x = np.concatenate([2.0 ** -np.arange(1, 50), 1 - 2.0 ** -np.arange(2, 50), np.linspace(1e-9, 1, 1001)[:-1]])
    np.testing.assert_allclose(_minus_log(x), -np.log(x), rtol=1e-15)
    x = np.linspace(0, 1, 4097)[:-1]
    c, s = _on_circle(x)
    half = np.where(x < 0.5, 1, -1) * np.exp(2j * np.pi * (x - np.where(x < 0.5, 0.25, 0.75)))
    np.testing.assert_allclose(c + 1j * s, half, rtol=0, atol=5e-16)


def test_a_number_that_single_precision_would_round_to_one_stays_below():
    from dalembert.algebra.random import _uniform

    most = np.array([2.0**24 - 1, 2.0**24 - 1])
    assert _uniform(most)[0] == 1 - 2.0**-48
    kernel = da.kernel(lambda x: _uniform(x), {"x": (2,)}, dtype=np.float32)
    assert kernel(most.astype(np.float32))[0] == np.float32(1 - 2.0**-24)


def test_random_numbers_have_no_slope_by_their_key_and_pass_those_of_others_on():
    def noisy(x, seed):
        return x * da.random.normal((seed, x - x + 2)) + da.random.uniform(seed)

    value, by_x, by_seed = da.kernel(noisy, {"x": (), "seed": ()}, wrt=("x", "seed"))(2.5, WORLDS)
    assert (by_seed == 0).all()
    np.testing.assert_allclose(by_x, da.random.normal((WORLDS, 2)), rtol=0, atol=1e-14)

    def walk(x, seed):
        return da.repeat(lambda x, k: (0.5 * x + da.random.uniform((seed, k)), k + 1), (x, 0), 30)[0]

    value, by_x, by_seed = da.kernel(walk, {"x": (), "seed": ()}, wrt=("x", "seed"))(1.0, WORLDS)
    assert (by_seed == 0).all()
    np.testing.assert_allclose(by_x, 0.5**30)
    x = 1.0
    for k in range(30):
        x = 0.5 * x + da.random.uniform((9, k))
    np.testing.assert_allclose(value[9], x, rtol=1e-15)


def test_exact_fields_know_no_random_numbers():
    program = trace(lambda seed: da.random.integers(seed, 10), {"seed": ()})
    with pytest.raises(UnsupportedError, match="drawing random numbers cannot be written over this kind of scalar"):
        interpret(program, [[Field(2**61 - 1).element()]], OPERATIONS, float)
    with pytest.raises(ArgumentError, match="uniform: the key contains"):
        da.random.uniform(Field(2**61 - 1).element())


@pytest.mark.parametrize(
    ("draw_", "message"),
    [
        (lambda: da.random.uniform(-1), "uniform: the key contains -1; needed are whole numbers from 0"),
        (lambda: da.random.normal((1, 2.5)), "normal: the key contains 2.5"),
        (lambda: da.random.normal((1, 2**32)), r"\(seed % 2\*\*32, seed // 2\*\*32\)"),
        (lambda: da.random.normal("seed"), "the key contains 'seed'"),
        (lambda: da.random.uniform(()), "the key has 0 numbers; needed are 1 to 6"),
        (lambda: da.random.uniform(range(7)), "the key has 7 numbers"),
        (lambda: da.random.uniform(1, (2, -1)), r"shape is \(2, -1\)"),
        (lambda: da.random.uniform(1, 2.5), "shape is 2.5"),
        (lambda: da.random.integers(1, 0), r"limit is 0; needed is a whole number from 1 to 2\*\*24"),
        (lambda: da.random.integers(1, 2**24 + 1), "limit is 16777217"),
        (lambda: trace(lambda x: da.random.uniform((x, np.arange(3))), {"x": ()}), "has no arrays; draw for each"),
    ],
)
def test_what_is_not_a_key_is_refused(draw_, message):
    with pytest.raises(ArgumentError, match=message):
        draw_()


def test_programs_with_random_numbers_compose():
    inner = da.kernel(lambda key: da.random.uniform(key, 2), {"key": (2,)})
    outer = da.kernel(lambda seed: 2 * inner([seed, 3]), {"seed": ()})
    np.testing.assert_array_equal(outer(WORLDS), 2 * da.random.uniform((WORLDS, 3), 2))
    np.testing.assert_array_equal(da.random.uniform(np.array([5, 3]), 2), inner([5, 3]))
    found = inline(trace(lambda seed: da.random.uniform(seed), {"seed": ()}), [5])["result"]
    assert found == da.random.uniform(5)

"""Every printed form computes what the program computes, and no name can smuggle code into it."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.cuda.source import to_cuda
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.printing.c import to_c
from dalembert.printing.latex import symbol, to_latex
from dalembert.printing.names import C_RESERVED, Names, identifier
from dalembert.printing.python import to_python
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.graph import Graph
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Port, Program
from dalembert.tracing.sympy import from_sympy, input_symbols, number, to_sympy, to_sympy_steps
from dalembert.tracing.trace import label, program_of, trace
from random_programs import exact, random_program

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-fPIC", "-shared"]


def everything(x, y, unused):
    """Every operation at least once, constants of all kinds, inputs and constants as results."""
    a, b, c = x
    speed = label(a * b - c / (1 + a * a), "speed")
    return {
        "numbers": [0, 1, -2.5, 0.1, 1e-300, 1e300, math.inf, -math.inf, math.nan, 5e-324, 1 / 3],
        "arithmetic": [a + b * c, (a + b) * (a - c), a - (b - c), a / (b / c), -(a * b) / c, -a, a * (b * c), speed],
        "functions": [
            np.sin(a), np.cos(a), np.sin(b + c), np.tan(c), np.exp(a), np.log(b), b.sqrt(), a.atan2(b), abs(a - b),
            a.atan2(2), b.graph.constant(1).atan2(c), 1 / speed, speed.exp() * speed.exp(), 2 / (b * b),
        ],
        "choices": [
            a.minimum(b), a.maximum(3), (a < b).select(c, -1), (a <= b).select(c, a), a.equals(b).select(1, 2),
            ((a < b) & ~(b < c) | (c < 0)).select(a * b, b * c), (a < b).select(b.minimum(c), (a < b).select(1, c)),
        ],
        "y": y,
        "nothing": np.zeros((0, 2)),
    }  # fmt: skip


@pytest.fixture(scope="module")
def small():
    def function(x):
        speed = label(x[0] * x[1] - x[2] / (1 + x[0] * x[0]), "speed")
        return {"y": [speed * np.sin(speed)], "x": x[0]}

    return trace(function, {"x": (3,)}, name="small")


@pytest.fixture(scope="module")
def full():
    return trace(everything, {"x": (3,), "y": (2, 2), "unused": ()}, name="everything")


def points(program, count, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.3, 2, size=(count, *port.shape)) for port in program.inputs]


def build_c(program, folder, *options, **arguments):
    """Compile, load, and return a function of arrays like ``evaluate``."""
    printed = to_c(program, **arguments)
    (folder / f"{printed.name}.h").write_text(printed.header)
    (folder / f"{printed.name}.c").write_text(printed.source)
    library = folder / f"{printed.name}.so"
    command = ["gcc", *FLAGS, *options, str(folder / f"{printed.name}.c"), "-o", str(library), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = ctypes.CDLL(str(library))
    real = np.float32 if arguments.get("real") == "float" else np.float64

    def pointer(array):
        return array.ctypes.data_as(ctypes.c_void_p)

    def call(arrays, single=False):
        arrays = [np.ascontiguousarray(a, dtype=real) for a in arrays]
        count = len(arrays[0])
        results = [np.full((count, *port.shape), -99, dtype=real) for port in program.outputs]
        if single:
            for k in range(count):
                getattr(loaded, printed.name)(*[pointer(a[k : k + 1]) for a in (*arrays, *results)])
        else:
            batch = getattr(loaded, f"{printed.name}_batch")
            batch(*[pointer(a) for a in (*arrays, *results)], ctypes.c_size_t(count))
        return {port.name: r for port, r in zip(program.outputs, results)}

    return call


def agree(result, expected, rtol):
    assert result.keys() == expected.keys()
    for name in expected:
        np.testing.assert_allclose(result[name], expected[name], rtol=rtol, atol=rtol, err_msg=name)


# --- Python ------------------------------------------------------------------------------------------------


def run_python(program, arrays):
    space: dict = {}
    source = to_python(program)
    exec(compile(source, "generated", "exec"), space)
    function = re.findall(r"^def (\w+)", source, re.MULTILINE)[-1]
    with np.errstate(all="ignore"):
        values = space[function](*arrays)
    values = values if isinstance(values, tuple) else (values,)
    return {port.name: np.asarray(v) for port, v in zip(program.outputs, values)}


def test_python(full):
    arrays = points(full, 5)
    expected = evaluate(full, arrays)
    result = run_python(full, arrays)
    for port in full.outputs:  # also those that are constant have the dimensions of the batch
        np.testing.assert_allclose(result[port.name], expected[port.name], rtol=1e-15, strict=True)


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_python_brackets_and_order(seed):
    # Bit for bit: the same operations in the same order.
    program = random_program(seed, functions=False)
    arrays = points(program, 3, seed % 100)
    expected = evaluate(program, arrays)
    result = run_python(program, arrays)
    for name in ("first", "second"):
        np.testing.assert_array_equal(np.broadcast_to(result[name], expected[name].shape), expected[name])


def test_constants_that_give_no_number_are_left_to_numpy():
    program = trace(
        lambda x: [x + 1 / (0 * x), (0 * x) / (0 * x + 0.0), (1e300 + 0 * x) * 1e300 / (0 * x), x / (0 * x)], {"x": ()}
    )
    arrays = [np.array([2.0, -3.0])]
    with np.errstate(all="ignore"):
        agree(run_python(program, arrays), evaluate(program, arrays), 1e-15)


def test_python_is_readable(small, full):
    source = to_python(small)
    assert "    speed = x[..., 0] * x[..., 1] - x[..., 2] / (x[..., 0] * x[..., 0] + 1.0)\n" in source
    assert max(map(len, to_python(full).splitlines())) <= 120


# --- C -----------------------------------------------------------------------------------------------------


@needs_gcc
@pytest.mark.parametrize("longest", [2000, 7])
@pytest.mark.parametrize("lanes", [0, 4, 16])
@pytest.mark.parametrize("real", ["double", "float"])
def test_c(full, tmp_path, real, lanes, longest):
    call = build_c(full, tmp_path, real=real, lanes=lanes, longest=longest)
    # One rounding per operation, and libm; single precision also rounds the inputs.
    tolerance = 1e-14 if real == "double" else 2e-5
    for count in (0, 1, 9):
        arrays = points(full, count)
        expected = evaluate(full, arrays)
        if real == "float":
            with np.errstate(over="ignore", under="ignore"):
                expected["numbers"] = expected["numbers"].astype(np.float32)
        agree(call(arrays), expected, tolerance)
        agree(call(arrays, single=True), expected, tolerance)
        if real == "double":
            np.testing.assert_array_equal(call(arrays)["numbers"], expected["numbers"])


@needs_gcc
def test_c_lets_nan_through_min_and_max(tmp_path):
    program = trace(lambda x, y: [x.minimum(y), x.maximum(y)], {"x": (), "y": ()}, name="extremes")
    arrays = [np.array([math.nan, 1, 2]), np.array([1, math.nan, 3])]
    for lanes in (0, 2):
        np.testing.assert_array_equal(build_c(program, tmp_path, lanes=lanes)(arrays)["result"],
                                      [[math.nan] * 2, [math.nan] * 2, [2, 3]])  # fmt: skip


@needs_gcc
@pytest.mark.parametrize(("seed", "longest"), [(0, 3), (1, 10), (2, 25), (3, 60)])
def test_c_in_pieces(tmp_path, seed, longest):
    program = optimise(random_program(seed, steps=120, functions=False))
    arrays = points(program, 5, seed)
    call = build_c(program, tmp_path, longest=longest)
    result, expected = call(arrays), evaluate(program, arrays)
    for name in expected:
        np.testing.assert_array_equal(result[name], expected[name])  # ISO C forbids fusing: the same bits


@needs_gcc
def test_c_of_programs_without_inputs_or_results(tmp_path):
    graph = Graph()
    call = build_c(program_of(graph, {"y": [1, 2]}, "constant"), tmp_path)
    assert call is not None
    build_c(program_of(graph, {}, "empty"), tmp_path)
    build_c(trace(lambda x: {}, {"x": (2,)}, name="sink"), tmp_path, lanes=4)


def test_c_arguments_are_checked(full):
    with pytest.raises(ArgumentError, match="real"):
        to_c(full, real="half")
    with pytest.raises(ArgumentError, match="lanes"):
        to_c(full, lanes=3)
    with pytest.raises(ArgumentError, match="real"):
        to_cuda(full, real="half")


# --- CUDA --------------------------------------------------------------------------------------------------


def test_cuda_fuses_sine_and_cosine(full):
    printed = to_cuda(full)
    assert f" {printed.kernel}(" in printed.source
    assert printed.source.count(f"{printed.function}_sincos(") == 2  # its definition and one call
    assert printed.source.count(" sin(") == 1  # that of b + c, whose cosine nobody needs


@needs_nvcc
@pytest.mark.parametrize("real", ["double", "float"])
def test_cuda_compiles(full, tmp_path, real):
    source = tmp_path / "everything.cu"
    source.write_text(to_cuda(full, real=real, longest=20).source)
    command = ["nvcc", "-c", "-Werror", "all-warnings", str(source), "-o", str(tmp_path / "everything.o")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- LaTeX -------------------------------------------------------------------------------------------------


def test_latex(small, full):
    assert to_latex(small).splitlines() == [
        r"\begin{align*}",
        r"\mathrm{speed} &= x_{0} \, x_{1} - \frac{x_{2}}{x_{0}^{2} + 1} \\",
        r"y_{0} &= \mathrm{speed} \, \sin(\mathrm{speed}) \\",
        r"x_{\mathrm{out}} &= x_{0}",
        r"\end{align*}",
    ]
    text = to_latex(full)
    assert text.count(r"\begin") == text.count(r"\end") and text.count("{") == text.count("}")
    assert text.count(r"\begin{cases}") == 6


def test_latex_symbols():
    assert symbol("omega_3_0") == r"\omega_{3,0}"
    assert symbol("q", 2) == "q_{2}"
    assert symbol("tau") == r"\tau"
    assert symbol("x12") == "x_{12}"
    assert symbol("link_mass") == r"\mathrm{link}_{\mathrm{mass}}"


def test_latex_numbers_keep_all_digits():
    program = trace(lambda x: [x * (1 / 3), x + 1e-7, x * -2.5e20], {"x": ()}, name="f")
    text = to_latex(program)
    assert "0.3333333333333333" in text and r"1 \cdot 10^{-7}" in text and r"2.5 \cdot 10^{20}" in text


def test_latex_never_gives_one_symbol_two_meanings():
    def function(x, q):
        return {"x": label(x.cos(), "x") + label(x * q[0], "q_0"), "q_0": x + label(x.sin(), "q[0]") * q[1]}

    text = to_latex(trace(function, {"x": (), "q": (2,)}, name="f"))
    defined = [line.partition(" &=")[0] for line in text.splitlines() if "&=" in line]
    assert len(set(defined)) == len(defined) and not {"x", "q_{0}", "q_{1}"} & set(defined)


# --- SymPy -------------------------------------------------------------------------------------------------


def smooth(x, y):
    energy = label(x @ y @ x, "energy")
    return {
        "e": energy / (1 + x[0] ** 2),
        "g": [np.sin(x[0]) * energy, x[1].atan2(x[2]), (x[0] < x[1]).select(x[0], 3)],
    }


def test_sympy_round_trip():
    program = trace(smooth, {"x": (3,), "y": (3, 3)}, name="smooth")
    symbols = input_symbols(program)
    formulas = to_sympy(program)
    assert formulas["g"].shape == (3, 1)
    graph = Graph()
    traced = {}
    for name, shape in (("x", (3,)), ("y", (3, 3))):
        traced.update(zip(symbols[name].flat, graph.input(name, shape).flat))
    again = program_of(graph, {"e": from_sympy(formulas["e"], traced), "g": from_sympy(formulas["g"], traced)[:, 0]})
    arrays = points(program, 4)
    agree(evaluate(again, arrays), evaluate(program, arrays), 1e-13)


def test_sympy_steps_substitute_back():
    program = trace(smooth, {"x": (3,), "y": (3, 3)}, name="smooth")
    steps, outputs = to_sympy_steps(program)
    assert "energy" in [str(name) for name, _ in steps]
    expected = to_sympy(program)
    result = outputs["e"]
    for name, formula in reversed(steps):
        result = result.subs(name, formula)
    assert sympy.expand(result - expected["e"]) == 0


@pytest.mark.parametrize("value", [0.1, 1 / 3, -2.5, 3.0, 1e-300, 1e22, 5e-324, math.inf])
def test_sympy_numbers_round_trip(value):
    assert float(number(value)) == value


@pytest.mark.parametrize(
    "formula",
    ["a**2/b", "sqrt(a)*b**Rational(-3, 2)", "exp(a - b)", "a**b", "pi*a + E", "atan(a/b)", "asin(a/4)", "acos(b/4)",
     "Abs(a - b)", "Min(a, b, 1)", "Max(a, b)", "log(a)/tan(b)", "Piecewise((a, a < b), (b, a >= 1), (1, True))",
     "Piecewise((a, And(a < b, Ne(a, 0))), (b, Not(Eq(a, b))), (1, True))", "1/(a*b) + 1/(a + b)",
     "sign(a - b)", "sec(a)*csc(b)", "cot(a + b)", "sinh(a) + cosh(b)", "tanh(a - b)", "sech(a)*csch(b)*coth(a)",
     "asinh(a - b)", "acosh(a + b)", "atanh(a/4)"],
)  # fmt: skip
def test_from_sympy(formula):
    a, b = sympy.symbols("a b", positive=True)
    e = sympy.sympify(formula, locals={"a": a, "b": b})
    graph = Graph()
    x, y = graph.input("a"), graph.input("b")
    program = program_of(graph, {"value": from_sympy(e, {a: x, b: y})})
    for point in ((0.7, 1.3), (1.9, 0.6)):
        value = evaluate(program, point)["value"]
        assert value == pytest.approx(float(e.subs({a: point[0], b: point[1]})), rel=1e-14)


@pytest.mark.parametrize("formula", ["Piecewise((a, a > 0))", "Piecewise((a, a > 0), (1 - a, a < 0))"])
def test_where_no_piece_is_meant_there_is_no_number(formula):
    a = sympy.Symbol("a", real=True)
    e = sympy.sympify(formula, locals={"a": a})
    graph = Graph()
    program = program_of(graph, {"value": from_sympy(e, {a: graph.input("a")})})
    points = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(evaluate(program, [points])["value"], [float(e.subs(a, x)) for x in points])


def test_the_sign_of_a_value_is_read_as_such():
    """What a kernel chooses by two comparisons is sign() in print, and the same kernel again."""
    x = sympy.Symbol("x")
    graph = Graph()
    value = graph.input("x")
    read = from_sympy(2 * sympy.sign(3 * x), {x: value})
    program = program_of(graph, {"y": read}, "sign")
    assert to_sympy(program, {"x": x})["y"] == 2 * sympy.sign(3 * x)
    choice = program_of(graph, {"y": (value > 0).select(1, (value < 1).select(-1, 0))}, "choice")
    assert to_sympy(choice, {"x": x})["y"].has(sympy.Piecewise)


def test_from_sympy_refuses_what_it_does_not_know():
    a, b = sympy.symbols("a b")
    graph = Graph()
    x = graph.input("a")
    with pytest.raises(ArgumentError, match="b"):
        from_sympy(a + b, {a: x})
    with pytest.raises(UnsupportedError, match=r"besselj.* Max, Min, .*sign, sin, sinh, tan"):
        from_sympy(sympy.besselj(0, a), {a: x})
    with pytest.raises(ArgumentError, match="at least one"):
        from_sympy(a, {})
    t = sympy.Symbol("t")
    q = sympy.Function("q")(t)
    assert from_sympy(q, {q: x}) is x


# --- names -------------------------------------------------------------------------------------------------

HOSTILE = [
    'x"); system("rm -rf /"); //', "*/ int evil; /*", "a\nimport os\n", "\\input{secret}", "q;}", "'''", '"""',
    "__import__('os')", "while", "main", "sin", "double", "", "123", "ω", "np", "lambda", "a b", "%s{0}",
    "printf", "w", "i",
]  # fmt: skip


def hostile_program():
    names = [name for name in HOSTILE if name]  # a graph refuses an input without a name
    count = len(names)
    graph = Graph()
    exprs = [graph.input(name, (2,)) for name in names]
    made = []
    for k, x in enumerate(exprs):
        value = np.sin(x[0]) * exprs[(k + 1) % count][1] + x[0].minimum(x[1])
        made.append(value.label(names[-1 - k]))
    total = sum(v * v for v in made)
    outputs = {f"{name} out": v * total for name, v in zip(names, made)}
    program = program_of(graph, outputs, HOSTILE[0])
    return Program(HOSTILE[1], program.inputs, program.outputs, program.nodes, program.results, program.labels)


def test_hostile_names_become_identifiers():
    names = Names(C_RESERVED)
    given = [names.new(name) for name in HOSTILE * 2]
    assert len(set(given)) == len(given)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) and name not in C_RESERVED for name in given)
    assert all(len(identifier(name * 50)) <= 61 for name in HOSTILE)


@given(st.text(max_size=30))
@settings(max_examples=200, deadline=None)
def test_any_text_becomes_an_identifier(text):
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", identifier(text))
    assert re.fullmatch(r"[A-Za-z0-9_{},\\]+", symbol(text))


def test_hostile_names_are_harmless_in_source():
    program = hostile_program()
    for source in (to_python(program), to_c(program).source, to_c(program, lanes=4).source,
    to_c(program).header,
                   to_cuda(program).source, to_latex(program)):  # fmt: skip
        for text in ("evil;", "system(", "import os", "rm -rf", "\\input", "__import__", "int evil"):
            assert text not in source
    arrays = points(program, 2)
    agree(run_python(program, arrays), evaluate(program, arrays), 1e-14)


@needs_gcc
def test_hostile_names_compile(tmp_path):
    program = hostile_program()
    arrays = points(program, 3)
    for lanes in (0, 4):
        agree(build_c(program, tmp_path, lanes=lanes)(arrays), evaluate(program, arrays), 1e-14)


def test_ports_with_the_names_of_others_stay_apart():
    program = trace(lambda q: {"q": 2 * q, "f": q}, {"q": ()}, name="f")
    assert program.outputs[0] == Port("q", ())
    assert evaluate(program, [3.0])["q"] == 6
    np.testing.assert_array_equal(run_python(program, [3.0])["q"], 6)


def test_printing_does_not_change_values_in_exact_arithmetic():
    # The printers work on the program as it is: a guard that the fixtures above are not trivial.
    program = random_program(1)
    assert exact(program) == exact(program)
    assert len(program.nodes) > 50

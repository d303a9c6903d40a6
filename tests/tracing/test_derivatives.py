"""Derivatives against the complex step, which is exact to rounding, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import ArgumentError
from dalembert.tracing.derivatives import differentiate, forward, hessian, jacobian, reverse
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.graph import Graph
from dalembert.tracing.trace import program_of, trace

STEP = 1e-30  # no subtraction happens, so the step may be so small that its square vanishes


def complex_step(program, point, output, input):
    """Jacobian of one output by one input, column by column."""
    columns = []
    size = np.size(point[input])
    for k in range(size):
        moved = {name: np.asarray(value, dtype=complex) for name, value in point.items()}
        moved[input] = moved[input].copy()
        moved[input].flat[k] += 1j * STEP
        columns.append(evaluate(program, moved)[output].imag / STEP)
    shape = np.shape(columns[0]) + np.shape(point[input])
    return np.stack(columns, axis=-1).reshape(shape)


FUNCTIONS = {
    "arithmetic": lambda x, y: [x[0] * y[0] + x[1] / y[1] - x[2], (x @ y) / (1 + x @ x), -x[0] / 3, 1 - x[1] * x[1]],
    "functions": lambda x, y: [
        np.sin(x[0] * y[1]), np.cos(x[1]) * np.tan(y[0] / 3), (x @ x).sqrt(), np.exp(x[0] - y[2]), np.log(y @ y),
        x[0].atan2(y[1] * x[2]), x[1] ** 3, (y[0] * y[0] + 1) ** 0.3, 2 ** x[0], (x[0] * x[0] + 1) ** -1.5,
    ],
    "kinks": lambda x, y: [
        abs(x[0] * y[0]), abs(-x[1] - y[1]), (x[0] * y[0]).minimum(x[1]), x[2].maximum(y[2] * y[2]),
        (x[0] < y[0]).select(x[0] * y[1], np.sin(y[0])), ((x[0] < 1) & (y[0] < 1)).select(x[1], 2), x[0].maximum(0.1),
    ],
    "quotients": lambda x, y: [x[0] / y[0] / x[1], 1 / (x[0] / y[2]), (x[0] + y[0]) / (x[0] * y[0]), x[2] / y[2] ** 2],
}  # fmt: skip


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
@pytest.mark.parametrize("name", FUNCTIONS)
@given(st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_jacobians_agree_with_the_complex_step(name, mode, seed):
    rng = np.random.default_rng(seed)
    point = {"x": rng.uniform(0.2, 2, 3), "y": rng.uniform(0.2, 2, 3)}
    program = trace(FUNCTIONS[name], {"x": (3,), "y": (3,)}, outputs="f")
    for variable in ("x", "y"):
        slope = differentiate(program, "f", variable, mode)
        expected = complex_step(program, point, "f", variable)
        result = evaluate(slope, point)[f"df_d{variable}"]
        # A dozen roundings each; entries may cancel, so measure against the largest.
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13 * abs(expected).max())


def test_seeds_and_weights_are_products_with_the_jacobian():
    graph = Graph()
    x = graph.input("x", (4,))
    direction, weight = graph.input("direction", (4,)), graph.input("weight", (2, 2))
    f = np.array([[np.sin(x[0]) * x[1], x @ x], [x[3] / x[2], x[0]]], dtype=object)
    jac = jacobian(f, x)
    rng = np.random.default_rng(0)
    many = rng.normal(size=(4, 3))
    program = program_of(
        graph,
        {
            "forward": forward(f, x, direction), "forward expected": jac @ direction,
            "many": forward(f, x, many), "many expected": jac @ many,
            "reverse": reverse(f, x, weight.reshape(4)),
            "reverse expected": np.tensordot(weight, jac, axes=2),
            "rows": reverse(f, x, many.T), "rows expected": many.T @ jac.reshape(4, 4),
        },
    )  # fmt: skip
    y = evaluate(program, [rng.uniform(0.5, 2, 4), rng.normal(size=4), rng.normal(size=(2, 2))])
    for name in ("forward", "many", "reverse", "rows"):
        np.testing.assert_allclose(y[name], y[f"{name} expected"], rtol=1e-12, atol=1e-13)


def test_hessian_is_symmetric_and_right():
    def energy(x):
        return np.sin(x[0] * x[1]) + x[2] ** 3 / x[0] + (x @ x).sqrt()

    program = trace(lambda x: {"h": hessian(energy(x), x), "g": reverse(energy(x), x)}, {"x": (3,)})
    point = {"x": np.array([0.7, 1.3, 0.4])}
    h = evaluate(program, point)["h"]
    np.testing.assert_array_equal(h, h.T)
    np.testing.assert_allclose(h, complex_step(program, point, "g", "x"), rtol=1e-13)
    symbols = sympy.symbols("a b c")
    a, b, c = symbols
    formula = sympy.hessian(sympy.sin(a * b) + c**3 / a + sympy.sqrt(a**2 + b**2 + c**2), symbols)
    exact = np.array(formula.subs(dict(zip(symbols, point["x"]))), dtype=float)
    np.testing.assert_allclose(h, exact, rtol=1e-13)
    graph = Graph()
    x = graph.input("x", (2,))
    assert hessian([[x[0] * x[1]], [x[0]]], x).shape == (2, 1, 2, 2)


def test_derivative_by_an_intermediate_value_holds_it_independent():
    graph = Graph()
    x = graph.input("x")
    s = x.sin()
    program = program_of(graph, {"slope": jacobian([s * s * x], [s])})
    assert evaluate(program, [0.7])["slope"][0, 0] == pytest.approx(2 * np.sin(0.7) * 0.7, rel=1e-15)


def test_structural_zeros_stay_zero():
    graph = Graph()
    x, y = graph.input("x", (3,)), graph.input("y")
    for mode in ("forward", "reverse"):
        jac = jacobian([x[0] * y, x[1], 5.0], x, mode)
        zero = [[e.is_zero for e in row] for row in jac]
        assert zero == [[False, True, True], [True, False, True], [True, True, True]]
    assert float(jacobian([x[1]], x)[0, 1]) == 1


def test_the_cheaper_mode_is_chosen():
    def one_result(x):  # every variable reaches the end
        y = x[0]
        for z in x:
            y = np.sin(y * z)
        return [y]

    def one_variable(x):  # every result starts at the beginning
        values = [x[0]]
        for _ in range(20):
            values.append(np.sin(values[-1]) * values[-1])
        return values

    def size(function, n, mode):
        program = trace(function, {"x": (n,)}, outputs="f")
        return sum(1 for _ in differentiate(program, "f", "x", mode).operations())

    assert size(one_result, 20, "auto") == size(one_result, 20, "reverse") < size(one_result, 20, "forward")
    assert size(one_variable, 1, "auto") == size(one_variable, 1, "forward") < size(one_variable, 1, "reverse")


def test_refusals():
    graph = Graph()
    x = graph.input("x", (2,))
    with pytest.raises(ArgumentError, match="constant"):
        jacobian([x[0]], [graph.constant(1)])
    with pytest.raises(ArgumentError, match="twice"):
        jacobian([x[0]], [x[0], x[0]])
    with pytest.raises(ArgumentError, match="mode"):
        jacobian([x[0]], x, "sideways")
    with pytest.raises(ArgumentError, match="seeds"):
        forward([x[0]], x, [1, 2, 3])
    with pytest.raises(ArgumentError, match="weights"):
        reverse([x[0]], x, [1, 2, 3])
    with pytest.raises(ArgumentError, match="truth"):
        jacobian([x[0] < x[1]], x)
    program = trace(lambda q: q, {"q": ()}, name="f")
    with pytest.raises(ArgumentError, match="'tau' by 'q'"):
        differentiate(program, "tau", "q")


GUARDED = {
    "root": (lambda x: (x[0] > 0).select(x[0].sqrt() * x[1], x[1]), [0, 2], [0, 1]),
    "quotient": (lambda x: (abs(x[0]) > 0).select(x[1] / x[0], x[1]), [0, 3], [0, 1]),
    "logarithm": (lambda x: (x[0] > 0).select(x[0] * x[0].log(), x[0] * x[1]), [0, 5], [5, 0]),
    "angle": (lambda x: ((x @ x) > 0).select(x[0].atan2(x[1]), x[0]), [0, 0], [1, 0]),
    "sinc": (lambda x: (abs(x[0]) < 1e-8).select(1 - x[0] * x[0] / 6, x[0].sin() / x[0]) * x[1], [0, 2], [0, 1]),
    "nested": (lambda x: (x[0] > 0).select((x[0] > 1).select(x[0].log(), x[0].sqrt()), x[1]), [0, 1], [0, 1]),
    "twice": (
        lambda x: (x[0] > 0).select(x[0].sqrt(), x[1]) + (x[0] > -1).select(x[1], x[0].sqrt() * x[1]), [0, 1], [0, 2]
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("name", GUARDED)
def test_a_branch_not_taken_spoils_no_derivative(name, mode):
    function, point, expected = GUARDED[name]
    graph = Graph()
    x = graph.input("x", (2,))
    f = function(x)
    result = evaluate(program_of(graph, {"slope": jacobian(f, x, mode), "second": hessian(f, x)}), [point])
    np.testing.assert_array_equal(result["slope"], expected)
    assert np.isfinite(result["second"]).all()  # whose own branches not taken have worse singularities


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("exponent", [1 / 3, 0.5, 1.2, 4 / 3, 1.5, 1.7, 2.5, 2.7, 3.5, 7.5, 8.25])
def test_powers_have_the_slope_of_a_power_also_where_the_base_is_zero(exponent, mode):
    """p x^(p - 1) for tiny bases too, where x^p is below the smallest number; and what holds parts of it fixed.

    Tolerance: the argument p log x of the exponential, up to 6000, is rounded once.
    """
    graph = Graph()
    x = graph.input("x")
    slope = program_of(graph, {"slope": jacobian(x**exponent, x, mode), "touch": jacobian(x.maximum(0) ** exponent, x)})
    points = np.array([0, 1e-300, 1e-9, 0.3, 1, 40])
    with np.errstate(divide="ignore"):
        found, expected = evaluate(slope, [points]), exponent * points ** (exponent - 1)
    np.testing.assert_allclose(found["slope"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["touch"], expected, rtol=1e-12)
    root = x.sqrt()
    both = program_of(graph, {"parts": jacobian(x * root, [x, root], mode)})
    np.testing.assert_allclose(evaluate(both, [9.0])["parts"], [3, 9])


def test_derivatives_of_nothing_and_by_nothing_are_empty():
    x = Graph().input("x", (3,))
    for mode in ("auto", "forward", "reverse"):
        assert jacobian([], x, mode).shape == (0, 3)
        assert jacobian(x, [], mode).shape == (3, 0)
        assert jacobian(np.zeros((2, 0)), np.zeros((0, 4)), mode).shape == (2, 0, 0, 4)
    assert hessian(x[0] * x[1], []).shape == (0, 0) and hessian([], x).shape == (0, 3, 3)

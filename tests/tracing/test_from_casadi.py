"""Functions of CasADi as kernels, and the front door for kernels of one's own."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.export import export
from dalembert.tracing.casadi import NUMERIC, from_casadi

# ----------------------------------------------------------------------------------------------------------- front door


def test_a_python_function_with_derivatives():
    kernel = da.kernel(lambda q, m: m * np.sin(q), {"q": (3,), "m": ()}, wrt="q", name="torque", outputs="tau")
    q = np.random.default_rng(0).normal(size=(5, 3))
    value, slope = kernel(q, 2.0)
    np.testing.assert_allclose(value, 2 * np.sin(q))
    np.testing.assert_allclose(slope, 2 * np.cos(q)[..., None] * np.eye(3), atol=1e-15)
    assert [port.name for port in kernel.outputs] == ["tau", "dtau_dq"]


def test_symbols_in_order_and_by_array():
    x, y = sympy.symbols("x y")
    np.testing.assert_allclose(da.kernel(sympy.sin(x) * y, [x, y])(0.3, [1.0, 2.0]), np.sin(0.3) * np.array([1.0, 2.0]))
    z, gradient = da.kernel({"z": sympy.Matrix([x * y, x + y])}, {"p": [x, y]}, wrt=["p"])([2.0, 3.0])
    np.testing.assert_allclose(z.ravel(), [6, 5])
    np.testing.assert_allclose(gradient.reshape(2, 2), [[3, 2], [1, 1]])


def test_a_program_and_a_matrix_of_symbols():
    A = sympy.Matrix(2, 2, sympy.symbols("a:4"))
    given = np.array([[1.0, 2.0], [3.0, 4.0]])
    kernel = da.kernel(A.det(), {"A": A})
    assert kernel(given) == pytest.approx(-2.0)
    assert da.kernel(kernel.program, wrt="A")(given)[1].shape == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((lambda x: x,), "needs inputs="),
        ((sympy.Symbol("x"),), "need inputs="),
        ((3,), "takes a Python function"),
    ],
)
def test_what_is_no_function_is_refused(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        da.kernel(*arguments)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentError, match="cannot differentiate by 'y'"):
        da.kernel(lambda x: x, {"x": ()}, wrt="y")
    with pytest.raises(ArgumentError, match="device"):
        da.kernel(lambda x: x, {"x": ()}, device="abacus")


# --------------------------------------------------------------------------------------------------------------- CasADi

casadi = pytest.importorskip("casadi")


def function_of(*results, **inputs):
    return casadi.Function(
        "f", list(inputs.values()), list(results), list(inputs), [f"y{k}" for k in range(len(results))]
    )


def test_batches_derivatives_and_source():
    x, u = casadi.SX.sym("x", 3), casadi.SX.sym("u")
    f = function_of(casadi.sin(x) * u, x.T @ x, x=x, u=u)
    kernel = da.from_casadi(f, wrt="x")
    at = np.random.default_rng(0).normal(size=(10, 3))
    first, second, slope, gradient = kernel(at, 0.5)
    np.testing.assert_allclose(first, 0.5 * np.sin(at))
    np.testing.assert_allclose(second, (at * at).sum(-1))
    np.testing.assert_allclose(gradient, 2 * at)
    assert slope.shape == (10, 3, 3)
    for language in ("c", "cuda", "javascript", "python"):
        assert "f" in export(da.from_casadi(f), language)


UNARY = {
    "exp", "log", "sqrt", "expm1", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "atanh", "fabs", "sign", "logic_not",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(UNARY))
def test_functions_of_one_number(name):
    x = casadi.SX.sym("x")
    f = function_of(getattr(casadi, name)(x), x=x)
    at = np.array([0.0, 0.2, 0.7, 0.99])[name == "log" :]
    np.testing.assert_allclose(da.from_casadi(f)(at), [float(f(a)) for a in at], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "name", ["fmin", "fmax", "atan2", "hypot", "copysign", "power", "logic_and", "logic_or", "lt", "le", "eq", "ne"]
)
def test_functions_of_two_numbers(name):
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    f = function_of(getattr(casadi, name)(x, y), x=x, y=y)
    for a, b in [(0.5, 1.5), (1.5, 0.5), (0.7, 0.7), (0.3, -1.2)]:
        assert da.from_casadi(f)(a, b) == pytest.approx(float(f(a, b)), rel=1e-13)


def test_truth_values_are_numbers():
    x = casadi.SX.sym("x")
    f = function_of((x < 1) + 2 * (x > 3), casadi.if_else(x, 5, 7), casadi.if_else(x < 0, -x, x**3), x=x)
    for at in (-1.0, 0.0, 2.0, 4.0):
        np.testing.assert_allclose(da.from_casadi(f)(at), [float(y) for y in f(at)])


def test_matrices_are_read_row_by_row_and_sparse_ones_too():
    A = casadi.SX.sym("A", casadi.Sparsity.lower(3))
    B = casadi.SX.sym("B", 3, 2)
    f = function_of(A @ B, A.T, A=A, B=B)
    a, b = np.arange(9.0).reshape(3, 3), np.arange(6.0).reshape(3, 2)
    product, transposed = da.from_casadi(f)(a, b)
    np.testing.assert_allclose(product, np.tril(a) @ b)
    np.testing.assert_allclose(transposed, np.tril(a).T)


def test_functions_of_mx_expand():
    x = casadi.MX.sym("x", 2)
    f = casadi.Function("f", [x], [casadi.mtimes(x, x.T)], ["x"], ["y"])
    np.testing.assert_allclose(da.from_casadi(f)([2.0, 3.0]), [[4, 6], [6, 9]])


def test_what_kernels_cannot_do_is_named():
    x = casadi.SX.sym("x")
    with pytest.raises(UnsupportedError, match=r"instruction \d+, @\d = erf\(@0\)"):
        from_casadi(function_of(casadi.erf(x), x=x))
    table = casadi.interpolant("table", "bspline", [[0, 1, 2, 3, 4]], [0, 1, 4, 9, 16])
    X = casadi.MX.sym("x")
    with pytest.raises(UnsupportedError, match="table"):
        from_casadi(casadi.Function("f", [X], [table(X)]))
    solver = casadi.rootfinder("finder", "newton", {"x": x, "p": (p := casadi.SX.sym("p")), "g": x * x - p})
    with pytest.raises(UnsupportedError, match="finder"):
        from_casadi(casadi.Function("f", [X], [solver(x0=1, p=X)["x"]]))


def test_bad_functions_are_refused():
    x, y = casadi.SX.sym("x"), casadi.SX.sym("y")
    with pytest.raises(ArgumentError, match="constant NaN at instruction"):
        from_casadi(function_of(x * float("nan"), x=x))
    with pytest.raises(ArgumentError, match="free variables y"):
        from_casadi(casadi.Function("f", [x], [x * y], {"allow_free": True}))
    twice = casadi.Function("f", [x], [x, 2 * x], ["x"], ["y", "y"], {"allow_duplicate_io_names": True})
    with pytest.raises(ArgumentError, match="two outputs called 'y'"):
        from_casadi(twice)
    with pytest.raises(ArgumentError, match=r"takes a casadi\.Function"):
        da.from_casadi(lambda x: x)
    with pytest.raises(ArgumentError, match="its own inputs"):
        da.kernel(function_of(x, x=x), {"x": ()})


def test_every_operation_named_is_one_of_casadi():
    assert all(hasattr(casadi, f"OP_{name}") for name in NUMERIC)

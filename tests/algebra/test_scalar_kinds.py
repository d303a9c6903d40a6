"""Every function of the algebra computes on floats, steps in the complex plane, derives in SymPy, and traces.

The table below names each public function with arguments for which it is defined. A public function that is in neither
list fails the first test, so none can escape.
"""

from __future__ import annotations

import inspect
import math
import re

import numpy as np
import pytest
import sympy

from dalembert import algebra
from dalembert.algebra import Attitude, Transform
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

RIGHT = math.pi / 2
RNG = np.random.default_rng(5)
u, v = RNG.uniform(0.2, 1, (2, 3))
t, s = RNG.uniform(0.2, 1, (2, 3, 3))
sym = t + t.T
unit = u / np.linalg.norm(u)
eta = np.array([0.1, 0.7, -0.5, 0.5])  # of length one
other = np.array([0.5, 0.1, 0.1, 0.7]) / math.sqrt(0.76)
rot = np.array(algebra.rotation_from_euler("ZYX", (0.4, 0.3, 0.7)))


def on_sequences(function, *arguments):
    """One case for each Euler sequence of a function whose first argument is its name."""
    return [(lambda *a, name=name: function(name, *a), *arguments) for name in ("ZYX", "XZY", "ZXZ", "YXY")]


def attitude_methods():
    for attitude, q in (
        (algebra.DirectionCosines(), rot.T.ravel()),
        (algebra.Quaternion(), eta),
        (algebra.ModifiedRodrigues(), u),
        (algebra.EulerAngles("ZYX"), u),
        (algebra.EulerAngles("XYX"), u),
    ):
        for name in ("dcm", "rotation", "S", "Gamma", "Xi", "constraints"):
            method = getattr(attitude, name)
            if method(q) is not None and np.size(method(q)):
                yield f"{attitude!r}.{name}", (method, q)
        yield f"{attitude!r}.from_rotation", (turned(attitude.from_rotation), v)


def turned(function):
    """A function of a rotation as one of three scalars: what is no rotation matrix, it refuses."""
    return lambda n, *more: function(algebra.rotation_from_cayley(n), *more)


def axis_and_angle(rotation):
    axis, angle = algebra.axis_angle_from_rotation(rotation)
    return np.array([*axis, angle])


def homogeneous(function):
    return lambda *arguments: function(*arguments).homogeneous()


GENERIC = {
    "angular_acceleration_tensor": [(algebra.angular_acceleration_tensor, u, v)],
    "angular_momentum": [(algebra.angular_momentum, sym, v)],
    "angular_velocity_from_quaternion_rate": [(algebra.angular_velocity_from_quaternion_rate, eta, other)],
    "axial_projection": [(algebra.axial_projection, unit)],
    "axis_angle_from_rotation": [(turned(axis_and_angle), v)],
    "block_skew": [(algebra.block_skew, t)],
    "cartesian_decomposition": [(lambda a: np.stack(algebra.cartesian_decomposition(a)), t)],
    "cayley_from_rotation": [(turned(algebra.cayley_from_rotation), v)],
    "cross": [(algebra.cross, u, v)],
    "cross_matrix": [(algebra.cross_matrix, eta)],
    "dot": [(algebra.dot, u, v)],
    "double_dot": [(algebra.double_dot, t, s)],
    "dual": [(algebra.dual, u)],
    "dyad": [(algebra.dyad, u, v)],
    "euler_from_rotation": [
        (turned(lambda r, name=name: algebra.euler_from_rotation(name, r)), v) for name in ("ZYX", "XZY", "ZXZ", "YXY")
    ],
    "euler_rate_inverse": on_sequences(algebra.euler_rate_inverse, u),
    "euler_rate_matrix": on_sequences(algebra.euler_rate_matrix, u),
    "euler_torque": [(algebra.euler_torque, sym, u, v)],
    "inertia_from_pseudo": [(algebra.inertia_from_pseudo, sym)],
    "inertia_rate": [(algebra.inertia_rate, u, sym)],
    "kron": [(algebra.kron, t, u)],
    "left_dual": [(algebra.left_dual, u)],
    "momentum_tensor": [(algebra.momentum_tensor, sym, u)],
    "norm": [(algebra.norm, u)],
    "norm_frobenius": [(algebra.norm_frobenius, t)],
    "parallel_axes": [(lambda i, r: algebra.parallel_axes(i, r[0], r), sym, u)],
    "parallel_axes_pseudo": [(lambda i, r: algebra.parallel_axes_pseudo(i, r[0], r), sym, u)],
    "planar_projection": [(algebra.planar_projection, unit)],
    "pseudo_inertia": [(algebra.pseudo_inertia, sym)],
    "quaternion_conjugate": [(algebra.quaternion_conjugate, eta)],
    "quaternion_cross": [(algebra.quaternion_cross, eta, other)],
    "quaternion_exp": [(algebra.quaternion_exp, u), (algebra.quaternion_exp, 1e-3 * u)],
    "quaternion_from_rotation": [(turned(algebra.quaternion_from_rotation), v)],
    "quaternion_log": [(algebra.quaternion_log, eta), (algebra.quaternion_log, -other)],
    "quaternion_normalise": [(algebra.quaternion_normalise, 3 * eta)],
    "quaternion_rate": [(algebra.quaternion_rate, eta, u)],
    "quaternion_star": [(algebra.quaternion_star, eta, other)],
    "rotation_angle": [(turned(algebra.rotation_angle), v, u)],
    "rotation_from_axis_angle": [
        (lambda a: algebra.rotation_from_axis_angle([0.0, -1.0, 0.0], a[0]), u),
        (lambda a: algebra.rotation_from_axis_angle(algebra.unit(a), a[0]), u),
    ],
    "rotation_from_cayley": [(algebra.rotation_from_cayley, u)],
    "rotation_from_euler": on_sequences(algebra.rotation_from_euler, u),
    "rotation_from_quaternion": [(algebra.rotation_from_quaternion, eta)],
    "rotation_from_rpy": [(lambda a: algebra.rotation_from_rpy(*a), u)],
    "rotation_x": [(lambda a: algebra.rotation_x(a[0]), u)],
    "rotation_y": [(lambda a: algebra.rotation_y(a[0]), u)],
    "rotation_z": [(lambda a: algebra.rotation_z(a[0]), u)],
    "rpy_from_rotation": [(turned(algebra.rpy_from_rotation), v)],
    "scalar_invariants": [(lambda a: np.array(algebra.scalar_invariants(a)), t)],
    "sine_cosine": [(lambda a: np.array(algebra.sine_cosine(a[0])), u)],
    "skew_part": [(algebra.skew_part, t)],
    "slerp": [(lambda a, b: algebra.slerp(a, b, a[0]), eta, other)],
    "star_matrix": [(algebra.star_matrix, eta)],
    "symmetric_matrix": [(lambda a, b: algebra.symmetric_matrix(*a, *b), u, v)],
    "symmetric_part": [(algebra.symmetric_part, t)],
    "change_of_basis": [(lambda a: algebra.change_of_basis(a, np.eye(3, dtype=int)[::-1]), t)],
    "contraction": [(lambda a: algebra.contraction(a, 0, 1), t)],
    "tensor_product": [(algebra.tensor_product, t, u)],
    "tensor_angle": [(algebra.tensor_angle, t, s)],
    "tensor_cosine": [(algebra.tensor_cosine, t, s)],
    "torque_from_tensor": [(algebra.torque_from_tensor, t, sym)],
    "torque_tensor": [(algebra.torque_tensor, t, sym)],
    "trace": [(algebra.trace, t)],
    "undual": [(algebra.undual, t)],
    "unit": [(algebra.unit, u)],
    "unvec": [(lambda a: algebra.unvec(a, 2), eta)],
    "vec": [(algebra.vec, t)],
    "vect": [(algebra.vect, t)],
    "Transform": [
        (homogeneous(lambda a: Transform.modified_dh(a[0], a[1], a[2], a[0])), u),
        (homogeneous(lambda a: Transform.standard_dh(a[0], a[1], a[2], a[0])), u),
        (
            homogeneous(lambda a, b: Transform.from_rpy_xyz(a, b) @ Transform.from_rpy_xyz([0, RIGHT, 0], [0, 0, 1])),
            u,
            v,
        ),
        (homogeneous(lambda a, b: Transform.from_rpy_xyz(a, b).inverse()), u, v),
        (lambda a, b: Transform.from_rpy_xyz(a, [0, 0, 1]).apply(b), u, v),
    ],
}

NUMERIC = {
    "is_rotation": "answers yes or no",
    "spectral_decomposition": "no symbols: an eigenvalue problem",
    "khang_derivative": "of SymPy expressions",
    "khang_derivative_complex_step": "steps in numbers",
    "levi_civita": "a constant",
    "quaternion_d_matrix": "a constant",
}

CASES = {
    **{f"{name}-{k}": case for name, cases in GENERIC.items() for k, case in enumerate(cases)},
    **dict(attitude_methods()),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())

# Condition numbers of all cases are moderate and their values below 100; 1e-12 leaves SymPy's and NumPy's different
# orders of evaluation four digits.
TOLERANCE = 1e-12


def near(a, b):
    return np.max(np.abs(np.asarray(a) - np.asarray(b))) < TOLERANCE


def test_every_public_function_is_either_generic_or_known_to_be_numeric():
    public = {
        name
        for name in algebra.__all__
        if inspect.isfunction(getattr(algebra, name)) or getattr(algebra, name) is Transform
    }
    assert public == set(GENERIC) | set(NUMERIC)
    attitudes = {n for n in algebra.__all__ if inspect.isclass(c := getattr(algebra, n)) and issubclass(c, Attitude)}
    assert attitudes == {"Attitude", "DirectionCosines", "Quaternion", "ModifiedRodrigues", "EulerAngles"}


@every_case
def test_complex_numbers_on_the_real_axis_change_nothing(case):
    function, *arguments = case
    assert near(function(*(a.astype(complex) for a in arguments)), function(*arguments))


@every_case
def test_complex_steps_give_the_directional_derivative(case):
    function, *arguments = case
    directions = [np.cos(1 + np.arange(a.size)).reshape(a.shape) for a in arguments]

    def along(h):
        return np.asarray(function(*(a + h * d for a, d in zip(arguments, directions))))

    complex_step = along(1e-30j).imag / 1e-30
    h = 1e-3  # five-point formula, truncation h^4/30 times the fifth derivative: below 1e-8 here
    central = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    assert np.max(np.abs(complex_step - central)) < 1e-8


def symbols_for(arguments):
    return [
        np.array(sympy.symbols(f"a{k}_:{a.size}", real=True), dtype=object).reshape(a.shape)
        for k, a in enumerate(arguments)
    ]


@every_case
def test_symbols_derive_what_numbers_compute(case):
    function, *arguments = case
    symbols = symbols_for(arguments)
    expressions = np.asarray(function(*symbols), dtype=object)
    flat = [x for array in symbols for x in array.flat]
    numeric = sympy.lambdify(flat, expressions.ravel().tolist(), "math")
    values = numeric(*(float(x) for a in arguments for x in a.flat))
    assert near(np.reshape(values, expressions.shape), function(*arguments))


@every_case
def test_symbols_meet_no_floating_point_numbers(case):
    function, *arguments = case
    expressions = np.asarray(function(*symbols_for(arguments)), dtype=object)
    assert not any(sympy.sympify(e).has(sympy.Float) for e in expressions.flat)


@every_case
def test_traced_scalars_compile_what_numbers_compute(case):
    function, *arguments = case
    program = trace(function, {f"a{k}": a.shape for k, a in enumerate(arguments)}, name="case")
    assert near(evaluate(program, arguments)["result"], function(*arguments))


@pytest.mark.parametrize("function", [algebra.quaternion_exp, lambda p: algebra.quaternion_log([*p, 1])])
def test_traced_exponential_and_logarithm_are_right_at_zero_too(function):
    program = trace(function, {"phi": (3,)}, name="at_zero")
    batch = np.array([[0.0, 0, 0], [1e-9, 0, 0], [0.3, -0.2, 0.1]])
    assert near(evaluate(program, [batch])["result"], [function(phi) for phi in batch])


def documented(name, function):
    """Every parameter is named in the docstring, in an ``Args:`` section or in the sentence that defines the result."""
    parameters = [p for p in inspect.signature(function).parameters if p not in ("self", "cls")]
    words = set(re.findall(r"\w+", inspect.getdoc(function) or ""))
    return [f"{name}({p})" for p in parameters if p not in words]


def test_every_argument_is_documented():
    missing = [m for name in algebra.__all__ if callable(f := getattr(algebra, name)) for m in documented(name, f)]
    for kind in (Transform, Attitude, algebra.ModifiedRodrigues):
        for name, method in inspect.getmembers(kind, callable):
            if not name.startswith("_"):
                missing += documented(f"{kind.__name__}.{name}", method)
    assert not missing

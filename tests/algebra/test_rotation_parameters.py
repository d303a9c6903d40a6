"""Parameters of rotation matrices over every scalar: what is no rotation is refused, every branch is analytic."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from algebra_cases import EPS, angles, arrays, axes, close, rodrigues, rotations
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert import algebra
from dalembert.algebra.arguments import ORTHOGONAL
from dalembert.algebra.arrays import product
from dalembert.algebra.euler import EULER_SEQUENCES, PROPER_SEQUENCES
from dalembert.algebra.scalar import atan2, vanishes
from dalembert.errors import ArgumentError, SingularityError
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

PARAMETERS = {
    "quaternion": algebra.quaternion_from_rotation,
    "axis and angle": algebra.axis_angle_from_rotation,
    "Cayley": algebra.cayley_from_rotation,
    "roll, pitch, yaw": algebra.rpy_from_rotation,
    "angle": lambda r: algebra.rotation_angle(r, [0, 0, 1]),
    "cosines": algebra.DirectionCosines().from_rotation,
    "Quaternion": algebra.Quaternion().from_rotation,
    "modified Rodrigues": algebra.ModifiedRodrigues().from_rotation,
    **{name: algebra.EulerAngles(name).from_rotation for name in EULER_SEQUENCES},
}
every_parameter = pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS.keys())

TURN = rodrigues([0.6, 0.0, 0.8], 0.7)
NO_ROTATIONS = {
    "mirror": np.diag([1.0, -1.0, 1.0]),
    "point mirror": -np.eye(3),
    "turned mirror": TURN @ np.diag([1.0, 1.0, -1.0]),
    "exchanged axes": TURN[[1, 0, 2]],
    "scaled": 1.001 * TURN,
    "sheared": TURN + 1e-4 * np.eye(3)[[1, 2, 0]],
    "nothing": np.zeros((3, 3)),
    "no number": np.full((3, 3), math.nan),
    "infinite": np.full((3, 3), math.inf),
    "one of them no number": np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, math.nan]]),
}
KINDS = {
    "floats": np.asarray,
    "lists": lambda r: r.tolist(),
    "complex": lambda r: r.astype(complex),
    "complex step": lambda r: r + 1e-30j,
    "SymPy": lambda r: sp.Matrix(r),
}


@every_parameter
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_rotation_has_no_parameters(parameters, kind):
    for wrong in NO_ROTATIONS.values():
        with pytest.raises(ArgumentError, match="no rotation matrix"):
            parameters(KINDS[kind](wrong))


def test_exact_mirrors_are_refused_too_but_symbols_are_trusted():
    half = sp.sqrt(2) / 2
    with pytest.raises(ArgumentError, match="mirror image"):
        algebra.quaternion_from_rotation([[half, half, 0], [half, -half, 0], [0, 0, 1]])
    assert algebra.quaternion_from_rotation(sp.MatrixSymbol("R", 3, 3).as_explicit()).shape == (4,)


@every_parameter
@given(rotations)
@settings(max_examples=10)
def test_rounded_rotations_pass(parameters, r):
    """Single precision, chains of it, and six decimals are within the tolerance; so are complex rotations."""
    chain = (r.astype(np.float32) @ TURN.astype(np.float32)) @ TURN.T.astype(np.float32)
    for rounded in (r.astype(np.float32), chain, np.round(r, 6), r + 1e-20j):
        try:
            parameters(rounded)
        except SingularityError:  # half turns, gimbal lock, the identity
            continue
    assert 1e-3 * ORTHOGONAL > 64 * EPS


@given(axes, st.floats(-2, 2), st.floats(-2, 2))
def test_complex_rotations_have_a_quaternion(u, angle, imaginary):
    r = algebra.rotation_from_axis_angle(u, complex(angle, imaginary))
    eta = algebra.quaternion_from_rotation(r)
    assert close(algebra.rotation_from_quaternion(eta), r, 10 * math.cosh(imaginary) ** 2)


def stepped(function, r, w):
    """The derivative of a function of rotations along ``r exp(t w~)``, by a complex step."""
    tangent = r @ algebra.dual(w)
    return np.asarray(function(r + 1e-30j * tangent)).imag / 1e-30


def differenced(function, r, w, h=1e-3):
    """The same by a five-point formula; truncation h^4/30 of the fifth derivative, rounding 1e-16/h: below 1e-9."""
    along = [np.asarray(function(r @ rotation_by(k * h * w))) for k in (-2, -1, 1, 2)]
    return (along[0] - 8 * along[1] + 8 * along[2] - along[3]) / (12 * h)


def rotation_by(phi):
    angle = float(np.linalg.norm(phi))
    return rodrigues(phi / angle, angle) if angle else np.eye(3)


def axis_and_angle(r):
    axis, angle = algebra.axis_angle_from_rotation(r)
    return np.array([*axis, angle])


SMOOTH = {
    "quaternion": (algebra.quaternion_from_rotation, 0, 3.0),
    "modified Rodrigues": (algebra.ModifiedRodrigues().from_rotation, 0, 3.0),
    "axis and angle": (axis_and_angle, 0.3, 3.0),
    "Cayley": (algebra.cayley_from_rotation, 0, 2.5),
}


@pytest.mark.parametrize("name", SMOOTH)
@given(axes, st.floats(0, 1), axes)
def test_complex_steps_give_the_derivative_of_finite_differences(name, u, fraction, w):
    """Over all turns short of a half turn, where signs change; all four branches of the quaternion are among them."""
    function, least, most = SMOOTH[name]
    r = rodrigues(u, least + fraction * (most - least))
    # The fifth derivative of tan(angle/2) near 2.5, and of an axis near 0.3, is some ten thousand.
    assert np.max(np.abs(stepped(function, r, w) - differenced(function, r, w))) < 1e-7


@given(axes, axes)
def test_at_half_turns_the_step_continues_the_branch_of_the_value(u, w):
    """Rates of the quaternion obey ``etadot = eta (*) w / 2`` whatever the sign."""
    r = rodrigues(u, math.pi)
    eta = algebra.quaternion_from_rotation(r)
    rate = stepped(algebra.quaternion_from_rotation, r, w)
    assert close(rate, algebra.quaternion_rate(eta, w))
    p = algebra.ModifiedRodrigues().from_rotation(r)
    assert close(stepped(algebra.ModifiedRodrigues().from_rotation, r, w), algebra.ModifiedRodrigues().Gamma(p) @ w)


@given(axes)
def test_the_axis_of_the_identity_has_no_derivative(w):
    with pytest.raises(SingularityError, match="identity"):
        algebra.axis_angle_from_rotation(np.eye(3) + 1e-30j * algebra.dual(w))
    axis, angle = algebra.axis_angle_from_rotation(np.eye(3, dtype=complex))
    assert angle == 0 and axis.tolist() == [1, 0, 0]


# At gimbal lock


def locked(sequence, outer):
    """A rotation exactly at the lock: quarter turns are exact."""
    middle = 0 if sequence in PROPER_SEQUENCES else math.pi / 2
    return algebra.rotation_from_euler(sequence, (outer, middle, 0))


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
@pytest.mark.parametrize("outer", [0, 0.3, math.pi / 2, math.pi])
def test_complex_rotations_at_the_lock_are_answered_as_floats_are(sequence, outer):
    """Half turns may have the other sign: the zeros of complex numbers have other ones."""
    r = locked(sequence, outer)
    found = algebra.euler_from_rotation(sequence, r.astype(complex))
    assert close(np.exp(1j * found), np.exp(1j * algebra.euler_from_rotation(sequence, r)))
    assert close(np.exp(1j * algebra.rpy_from_rotation(r.astype(complex))), np.exp(1j * algebra.rpy_from_rotation(r)))


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
@given(axes, angles)
@settings(max_examples=10)
def test_complex_steps_at_the_lock_are_named_or_exact(sequence, w, outer):
    """Either the error, or rates that do turn the body with w: at the lock some directions can still be had."""
    r = locked(sequence, outer)
    tangent = r @ algebra.dual(w)
    try:
        rates = algebra.euler_from_rotation(sequence, r + 1e-30j * tangent).imag / 1e-30
    except SingularityError as error:
        assert f"Euler angles {sequence}" in str(error)
        return
    q = algebra.euler_from_rotation(sequence, r)
    assert close(algebra.euler_rate_matrix(sequence, q) @ rates, w, 4)


def test_a_complex_step_at_the_lock_of_roll_pitch_yaw_is_named():
    r = algebra.rotation_from_rpy(0.2, math.pi / 2, 0.3)
    with pytest.raises(SingularityError, match="roll, pitch and yaw"):
        algebra.rpy_from_rotation(r + 1e-30j * r @ algebra.dual([0.1, 0.2, 0.3]))


def test_the_angle_at_the_origin_has_no_derivative():
    assert atan2(0j, 0j) == 0
    with pytest.raises(SingularityError, match="origin"):
        atan2(1e-30j, 0j)


# Exact constants and symbols

EXACT_ANGLES = (0, sp.pi / 3, sp.pi / 2, 2 * sp.pi / 3, sp.pi, -3 * sp.pi / 4)
EXACT_AXES = ([1, 0, 0], [0, -1, 0], [0, 0, 1], [sp.Rational(3, 5), 0, sp.Rational(-4, 5)], [1 / sp.sqrt(3)] * 3)


def same(a, b):
    """Equal in 40 digits, which no floating-point number on the way would leave."""
    return all(abs(sp.N(x - y, 40)) < 1e-35 for x, y in zip(np.ravel(a), np.ravel(b), strict=True))


@pytest.mark.parametrize("axis", EXACT_AXES, ids=str)
@pytest.mark.parametrize("angle", EXACT_ANGLES, ids=str)
def test_exact_rotations_have_exact_parameters(axis, angle):
    r = sp.Matrix(algebra.rotation_from_axis_angle([sp.sympify(x) for x in axis], sp.sympify(angle)))
    eta = algebra.quaternion_from_rotation(r)
    assert same(algebra.rotation_from_quaternion(eta), r)
    assert same([eta @ eta], [1]) and eta[3] >= 0
    found_axis, found_angle = algebra.axis_angle_from_rotation(r)
    assert same(algebra.rotation_from_axis_angle(found_axis, found_angle), r)
    assert 0 <= found_angle <= sp.pi
    mrp = algebra.ModifiedRodrigues()
    assert same(mrp.rotation(mrp.from_rotation(r)), r)
    for values in (eta, found_axis, [found_angle]):
        assert not any(sp.sympify(x).has(sp.Float) for x in values)


def test_a_third_of_a_turn_is_that():
    axis, angle = algebra.axis_angle_from_rotation(algebra.rotation_z(sp.pi / 3))
    assert axis.tolist() == [0, 0, 1] and angle == sp.pi / 3


@pytest.mark.parametrize("value", [-3.0, -1.0, 0.5, 2.0])
def test_symbols_hold_for_all_angles_but_the_branch_points(value):
    q = sp.Symbol("q", real=True)
    tilt = algebra.rotation_from_axis_angle([sp.Rational(3, 5), 0, sp.Rational(4, 5)], sp.pi / 4)
    for symbolic in (algebra.rotation_z(q), product(tilt, algebra.rotation_x(q)), sp.Matrix(algebra.rotation_y(q))):
        r = np.array(sp.Matrix(symbolic).subs(q, value), dtype=float)
        for function in (algebra.quaternion_from_rotation, axis_and_angle, algebra.ModifiedRodrigues().from_rotation):
            values = [float(sp.sympify(x).subs(q, value)) for x in function(symbolic)]
            assert np.allclose(values, function(r), rtol=0, atol=1e-12)


def test_symbols_that_always_make_a_half_turn_take_another_branch():
    q = sp.Symbol("q", real=True)
    squares = [[1, 0, 0], [0, -(sp.cos(q) ** 2) - sp.sin(q) ** 2, 0], [0, 0, -1]]
    for r in (product(algebra.rotation_z(q), algebra.rotation_x(sp.pi)), sp.Matrix(squares)):
        eta = algebra.quaternion_from_rotation(r).tolist()
        numbers = [float(sp.sympify(x).subs(q, 0.7)) for x in eta]
        expected = np.array(sp.Matrix(r).subs(q, 0.7), dtype=float)
        assert np.allclose(algebra.rotation_from_quaternion(numbers), expected, rtol=0, atol=1e-12)


def test_expressions_that_vanish():
    x, t = sp.symbols("x t")
    f = sp.Function("f")(t)
    assert vanishes(1 - sp.sin(x) ** 2 - sp.cos(x) ** 2) and vanishes(sp.cos(f) ** 2 + sp.sin(f) ** 2 - 1)
    assert vanishes(0) and vanishes(f.diff(t) - (f.diff(t) ** 2 - 1) / (f.diff(t) - 1) + 1)
    assert not vanishes(x) and not vanishes(f.diff(t)) and not vanishes(sp.sin(x) - x) and not vanishes(1e-300)


# Traced scalars

TRACED = {
    "quaternion": algebra.quaternion_from_rotation,
    "axis and angle": axis_and_angle,
    "modified Rodrigues": algebra.ModifiedRodrigues().from_rotation,
}
PROGRAMS = {name: trace(function, {"r": (3, 3)}, name="parameters") for name, function in TRACED.items()}


@pytest.mark.parametrize("name", TRACED)
@given(rotations)
def test_compiled_parameters_are_those_of_numbers(name, r):
    compiled = evaluate(PROGRAMS[name], [r])["result"]
    again = {
        "quaternion": algebra.rotation_from_quaternion,
        "axis and angle": lambda p: rodrigues(p[:3], p[3]),
        "modified Rodrigues": algebra.ModifiedRodrigues().rotation,
    }[name]
    assert np.all(np.isfinite(compiled))
    if name == "axis and angle":  # below the root of the smallest number the compiled angle is zero
        assert 0 <= compiled[3] <= math.pi + EPS
    assert close(again(compiled), r)


@given(arrays(3))
def test_denormal_lengths_are_normalised(u):
    tiny = 1e-200 * np.array([*u, 1.0])
    assert close(algebra.quaternion_normalise(tiny), np.array([*u, 1.0]) / math.sqrt(u @ u + 1))

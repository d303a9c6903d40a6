"""Exact constants at singular points: an exact answer, or the error that floats get; never nan or zoo."""

import math

import numpy as np
import pytest
import sympy as sp

from dalembert import algebra
from dalembert.algebra.attitude import EulerAngles, ModifiedRodrigues
from dalembert.algebra.euler import EULER_SEQUENCES, PROPER_SEQUENCES
from dalembert.algebra.scalar import atan2, constant
from dalembert.errors import ArgumentError, SingularityError

ZERO, ONE, QUARTER = sp.Integer(0), sp.Integer(1), sp.pi / 2
HIDDEN_ZERO = 1 - sp.sin(1) ** 2 - sp.cos(1) ** 2  # SymPy does not see it without being asked
IDENTITY = np.array(sp.eye(3).tolist(), dtype=object)
HALF_TURN = [[ONE, 0, 0], [0, -1, 0], [0, 0, -1]]


def same(a, b) -> bool:
    return all(sp.simplify(x - y) == 0 for x, y in zip(np.ravel(a), np.ravel(b), strict=True))


def test_value_of_constants():
    assert constant(2) == 2 and constant(sp.sqrt(2)) == math.sqrt(2) and constant(sp.I * 3) == 3j
    assert constant(HIDDEN_ZERO) == 0 and constant(sp.Symbol("x")) is None and constant(object()) is None
    assert constant(sp.Rational(1, 10**40)) == 1e-40
    assert math.isnan(constant(sp.nan)) and math.isnan(constant(sp.zoo)) and constant(-sp.oo) == -math.inf


def test_value_of_constants_whose_digits_cancel():
    assert constant(sp.exp(500) + 1 - sp.exp(500) * (sp.sin(1) ** 2 + sp.cos(1) ** 2)) == 1
    assert constant(sp.sqrt(3 + 2 * sp.sqrt(2)) - sp.sqrt(2) - 1) == 0


@pytest.mark.parametrize("x", [sp.Rational(1, 3), sp.pi, sp.Max(sp.sqrt(2), 1), sp.Integer(10) ** 400, sp.log(-2)])
def test_value_of_constants_of_every_kind(x):
    whole = sp.Piecewise((x + sp.sqrt(2), sp.sqrt(3) > 1), (0, True))
    assert constant(x) == complex(x.evalf(40)) and constant(whole) == complex((x + sp.sqrt(2)).evalf(40))


@pytest.mark.parametrize("sequence", ["ZYX", "ZXZ"])
def test_exact_rotations_near_the_lock_return_from_their_angles(sequence):
    """Where digits cancel in parts within parts, to look for them part by part would take minutes."""
    rotation = algebra.rotation_from_axis_angle((0, sp.Rational(3, 5), sp.Rational(4, 5)), sp.Rational(1, 1000))
    returned = algebra.rotation_from_euler(sequence, algebra.euler_from_rotation(sequence, rotation))
    assert algebra.is_rotation(returned, 1e-15)
    assert all(constant(x - y) == 0 for x, y in zip(returned.flat, rotation.flat))


def test_arctangent_at_the_origin_is_zero_as_for_floats():
    assert atan2(ZERO, ZERO) == atan2(0, ZERO) == atan2(HIDDEN_ZERO, ZERO) == 0
    x = sp.Symbol("x", real=True)
    assert atan2(x, ZERO) == sp.atan2(x, 0)


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
@pytest.mark.parametrize("outer", [ZERO, sp.pi / 3])
@pytest.mark.parametrize("middle", [ZERO, QUARTER, sp.pi, -QUARTER])
def test_euler_angles_of_exact_rotations(sequence, outer, middle):
    rotation = algebra.rotation_from_euler(sequence, (outer, middle, sp.pi / 6))
    angles = EulerAngles(sequence).from_rotation(rotation)
    assert all(getattr(x, "is_Float", isinstance(x, float)) is False for x in angles)
    assert same(algebra.rotation_from_euler(sequence, angles), rotation)


def test_euler_angles_of_the_exact_identity_are_zero():
    for sequence in EULER_SEQUENCES:
        assert algebra.euler_from_rotation(sequence, IDENTITY).tolist() == [0, 0, 0]


@pytest.mark.parametrize("pitch", [QUARTER, -QUARTER])
def test_roll_pitch_yaw_at_the_lock(pitch):
    rotation = algebra.rotation_from_rpy(sp.pi / 3, pitch, sp.pi / 4)
    angles = algebra.rpy_from_rotation(rotation)
    assert angles[1] == pitch and angles[2] == 0
    assert same(algebra.rotation_from_rpy(*angles), rotation)


@pytest.mark.parametrize("sequence", EULER_SEQUENCES)
def test_rates_at_the_lock_are_refused(sequence):
    lock = ZERO if sequence in PROPER_SEQUENCES else QUARTER
    with pytest.raises(SingularityError, match="gimbal lock"):
        EulerAngles(sequence).Gamma((ONE, lock, ONE))
    x = sp.Symbol("x", real=True)
    assert EulerAngles(sequence).Gamma((ONE, x, ONE)).shape == (3, 3)  # symbols keep the general formula


@pytest.mark.parametrize(
    "call",
    [
        lambda: algebra.cayley_from_rotation(HALF_TURN),
        lambda: algebra.unit([ZERO, HIDDEN_ZERO, 0]),
        lambda: algebra.unit([1, 1j, 0]),
        lambda: algebra.unit([ONE, sp.I, 0]),
        lambda: algebra.quaternion_normalise([ZERO] * 4),
        lambda: algebra.quaternion_log([ZERO] * 4),
        lambda: algebra.quaternion_log([0.0] * 4),
        lambda: algebra.tensor_angle(0 * IDENTITY, IDENTITY),
        lambda: ModifiedRodrigues.shadow([ZERO] * 3),
    ],
)
def test_singular_constants_are_refused(call):
    with pytest.raises(SingularityError):
        call()


def test_regular_constants_stay_exact():
    assert algebra.unit([3 * ONE, 4, 0]).tolist() == [sp.Rational(3, 5), sp.Rational(4, 5), 0]
    assert same(algebra.cayley_from_rotation(algebra.rotation_z(QUARTER)), [0, 0, 1])
    assert algebra.tensor_angle(IDENTITY, IDENTITY) == 0


def test_length_of_an_exact_axis_is_checked():
    with pytest.raises(ArgumentError, match=r"length 1\.41421356"):
        algebra.rotation_from_axis_angle([ONE, ONE, 0], sp.Symbol("q"))
    algebra.rotation_from_axis_angle([sp.sqrt(2) / 2, 0, sp.sqrt(2) / 2], sp.Symbol("q"))


def test_rotations_as_nested_lists():
    turn = algebra.rotation_from_rpy(0.1, 0.2, 0.3)
    nested = turn.tolist()
    assert np.array_equal(algebra.rpy_from_rotation(nested), algebra.rpy_from_rotation(turn))
    assert np.array_equal(algebra.cayley_from_rotation(nested), algebra.cayley_from_rotation(turn))
    assert np.array_equal(algebra.euler_from_rotation("ZXZ", nested), algebra.euler_from_rotation("ZXZ", turn))
    with pytest.raises(ArgumentError, match="3x3 matrix"):
        algebra.rpy_from_rotation([[1, 0], [0, 1]])

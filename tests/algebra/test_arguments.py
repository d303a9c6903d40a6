"""Arguments of the algebra: every container means the same, and what cannot be meant is refused by its name."""

from __future__ import annotations

import decimal
import inspect
import math
import re
import warnings
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from dalembert import algebra
from dalembert.algebra.arguments import is_scalar
from dalembert.errors import ArgumentError, DalembertError

R = np.array(algebra.rotation_from_rpy(0.3, 0.5, -0.7))
T = np.array([[1.0, 0.5, 0.25], [0.75, 2.0, -1.5], [0.125, 3.0, 4.0]])
SYM = np.array([[2.0, 0.25, 0.5], [0.25, 3.0, -0.125], [0.5, -0.125, 4.0]])
U, V = np.array([0.5, -0.25, 2.0]), np.array([1.5, 0.75, -1.0])
E, ETA = np.array([0.6, 0.0, 0.8]), np.array([0.1, 0.7, -0.5, 0.5])
X = sp.Symbol("x", real=True)

CALLS = {
    "angular_acceleration_tensor": {"w": U, "wd": V},
    "angular_momentum": {"inertia": SYM, "w": U},
    "angular_velocity_from_quaternion_rate": {"eta": ETA, "etadot": ETA},
    "axial_projection": {"e": E},
    "axis_angle_from_rotation": {"rotation": R},
    "block_skew": {"a": T},
    "cartesian_decomposition": {"t": T},
    "cayley_from_rotation": {"rotation": R},
    "cross": {"a": U, "b": V},
    "cross_matrix": {"eta": ETA},
    "dot": {"a": U, "b": V},
    "double_dot": {"t": T, "s": SYM},
    "dual": {"u": U},
    "dyad": {"u": U, "v": V},
    "euler_from_rotation": {"sequence": "ZXZ", "rotation": R},
    "euler_rate_inverse": {"sequence": "ZYX", "angles": U},
    "euler_rate_matrix": {"sequence": "321", "angles": U},
    "euler_torque": {"inertia": SYM, "w": U, "wd": V},
    "inertia_from_pseudo": {"pseudo": SYM},
    "inertia_rate": {"w": U, "inertia": SYM},
    "is_rotation": {"rotation": R, "tolerance": 1e-9},
    "khang_derivative": {"a": np.array([[X, X**2], [1, X]]), "x": [X]},
    "khang_derivative_complex_step": {"function": lambda x: x * x, "x": U, "step": 1e-30},
    "kron": {"a": T, "b": U},
    "left_dual": {"u": U},
    "momentum_tensor": {"pseudo": SYM, "w": U},
    "norm": {"u": U},
    "norm_frobenius": {"t": T},
    "parallel_axes": {"inertia": SYM, "mass": 2.0, "r": U},
    "parallel_axes_pseudo": {"pseudo": SYM, "mass": 2.0, "r": U},
    "planar_projection": {"e": E},
    "pseudo_inertia": {"inertia": SYM},
    "change_of_basis": {"t": T, "a": R},
    "contraction": {"t": T, "i": 0, "j": 1},
    "levi_civita": {},
    "tensor_product": {"a": T, "b": U},
    "quaternion_conjugate": {"eta": ETA},
    "quaternion_cross": {"a": ETA, "b": ETA},
    "quaternion_d_matrix": {},
    "quaternion_exp": {"phi": U},
    "quaternion_from_rotation": {"rotation": R},
    "quaternion_log": {"eta": ETA},
    "quaternion_normalise": {"eta": ETA},
    "quaternion_rate": {"eta": ETA, "w": U},
    "quaternion_star": {"a": ETA, "b": ETA},
    "rotation_angle": {"rotation": R, "axis": U},
    "rotation_from_axis_angle": {"axis": E, "angle": 0.5},
    "rotation_from_cayley": {"n": U},
    "rotation_from_euler": {"sequence": "ZYX", "angles": U},
    "rotation_from_quaternion": {"eta": ETA},
    "rotation_from_rpy": {"roll": 0.1, "pitch": 0.2, "yaw": 0.3},
    "rotation_x": {"angle": 0.5},
    "rotation_y": {"angle": 0.5},
    "rotation_z": {"angle": 0.5},
    "rpy_from_rotation": {"rotation": R},
    "scalar_invariants": {"t": T},
    "sine_cosine": {"angle": 0.5},
    "skew_part": {"t": T},
    "slerp": {"a": ETA, "b": ETA[::-1], "fraction": 0.25},
    "spectral_decomposition": {"t": SYM},
    "star_matrix": {"eta": ETA},
    "symmetric_matrix": {"xx": 1.0, "yy": 2.0, "zz": 3.0, "xy": 0.0, "xz": 0.5, "yz": 0.25},
    "symmetric_part": {"t": T},
    "tensor_angle": {"t": T, "s": SYM},
    "tensor_cosine": {"t": T, "s": SYM},
    "torque_from_tensor": {"om": T, "pseudo": SYM, "w": U},
    "torque_tensor": {"om": T, "pseudo": SYM},
    "trace": {"t": T},
    "undual": {"s": T},
    "unit": {"u": U},
    "unvec": {"v": ETA, "rows": 2},
    "vec": {"a": T},
    "vect": {"t": T},
    "Transform": {"rotation": R, "translation": U},
    "Transform.from_translation": {"translation": U},
    "Transform.from_rotation": {"rotation": R},
    "Transform.from_rpy_xyz": {"rpy": U, "xyz": V},
    "Transform.from_homogeneous": {"matrix": np.block([[R, U[:, None]], [0, 0, 0, 1]])},
    "Transform.modified_dh": {"alpha": 0.1, "a": 0.2, "theta": 0.3, "d": 0.4},
    "Transform.standard_dh": {"theta": 0.1, "d": 0.2, "a": 0.3, "alpha": 0.4},
    "EulerAngles": {"sequence": "ZYX"},
    "ModifiedRodrigues.shadow": {"p": U},
}
ATTITUDES = {
    "DirectionCosines": (algebra.DirectionCosines(), R.T.ravel()),
    "Quaternion": (algebra.Quaternion(), ETA),
    "ModifiedRodrigues": (algebra.ModifiedRodrigues(), U),
    "EulerAngles('YXY')": (algebra.EulerAngles("YXY"), U),
}


def found(name):
    owner = algebra
    for part in name.split("."):
        owner = getattr(owner, part)
    return owner


EVERY = {name: (found(name), good) for name, good in CALLS.items()}
EVERY |= {
    f"{label}.{method}": (getattr(attitude, method), {"q": q})
    for label, (attitude, q) in ATTITUDES.items()
    for method in ("dcm", "rotation", "S", "Gamma", "Xi", "constraints")
}
EVERY |= {
    f"{label}.from_rotation": (attitude.from_rotation, {"rotation": R}) for label, (attitude, _) in ATTITUDES.items()
}
EVERY |= {
    "Transform.rotate": (algebra.Transform(R, U).rotate, {"vector": V}),
    "Transform.apply": (algebra.Transform(R, U).apply, {"point": V}),
}
every = pytest.mark.parametrize("name", EVERY)


def test_every_public_function_is_in_the_table():
    public = {name for name in algebra.__all__ if inspect.isfunction(getattr(algebra, name))}
    assert public == {name for name in CALLS if name in algebra.__all__ and name not in ("Transform", "EulerAngles")}


def flat(result):
    """All numbers in a result, of whatever structure."""
    if isinstance(result, algebra.Transform):
        result = result.homogeneous()
    if result is None or isinstance(result, algebra.Attitude):
        return np.zeros(0)
    parts = result if isinstance(result, tuple) else (result,)
    return np.array([complex(x) for part in parts for x in np.ravel(np.asarray(part, dtype=object))])


CONTAINERS = {
    "nested lists": lambda a: a.tolist(),
    "nested tuples": lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()),
    "a list of arrays": list,
    "SymPy matrix": sp.Matrix,
    "immutable SymPy matrix": sp.ImmutableMatrix,
    "SymPy array": sp.Array,
    "array of objects": lambda a: a.astype(object),
    "complex": lambda a: a.astype(complex),
    "Fortran order": np.asfortranarray,
    "read-only": lambda a: np.broadcast_to(a, a.shape),
    "masked, but nothing": lambda a: np.ma.masked_array(a, mask=False),
    "np.matrix": lambda a: np.matrix(a) if a.ndim == 2 else a,
}


def differences(name, versions):
    """The largest difference of results where arrays are given in another version; errors must be the same."""
    function, good = EVERY[name]
    out = {}
    for label, (convert, base) in versions.items():
        plain = {k: base(v) if isinstance(v, np.ndarray) and v.dtype != object else v for k, v in good.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PendingDeprecationWarning)  # np.matrix
            given = {k: convert(v) if isinstance(v, np.ndarray) else v for k, v in plain.items()}
            try:
                expected = function(**plain)
            except DalembertError as error:
                with pytest.raises(type(error)):
                    function(**given)
                continue
            result = function(**given)
        if name == "khang_derivative":
            out[label] = 0 if np.array_equal(result, expected) else math.inf
        else:
            out[label] = np.max(np.abs(flat(result) - flat(expected)), initial=0)
    return out


@every
def test_every_container_means_the_same(name):
    versions = {label: (convert, np.array) for label, convert in CONTAINERS.items()}
    if name.startswith("khang_derivative"):  # of expressions, or by real numbers
        del versions["complex"]
    # SymPy rounds sums in another order than NumPy; values are below 100.
    assert max(differences(name, versions).values(), default=0) < 1e-12


def converter(dtype):
    return lambda a: a if a.dtype == object else a.astype(dtype)


@every
def test_narrow_and_wide_numbers_are_computed_in_double_precision(name):
    """Of exactly representable entries the result is that of float64; no wrap-around, no half precision."""
    integers = {np.dtype(d).name: (converter(d), lambda a: np.abs(np.round(a))) for d in (np.int8, np.uint8, np.int32)}
    kinds = [np.float16, np.float32, np.longdouble] + [np.complex64] * (not name.startswith("khang"))
    fractions = {np.dtype(d).name: (converter(d), lambda a: np.round(4 * a) / 4) for d in kinds}
    assert max(differences(name, integers | fractions).values(), default=0) < 1e-13


@every
def test_large_integers_of_numpy_do_not_wrap_around(name):
    """Their products do not fit into 64 bits; the results are those of Python's integers, or of floats."""
    function, good = EVERY[name]
    arrays = {k: np.round(2 * a) * 2.0**33 for k, a in good.items() if isinstance(a, np.ndarray) and a.dtype == float}
    given, integers = good | arrays, good | {k: a.astype(np.int64) for k, a in arrays.items()}
    if name == "khang_derivative":  # of expressions
        return
    try:
        expected = flat(function(**given))
    except DalembertError as error:
        with pytest.raises(type(error)):
            function(**integers)
        return
    assert np.max(np.abs(flat(function(**integers)) - expected), initial=0) <= 1e-12 * np.max(
        np.abs(expected), initial=1
    )


@every
def test_fractions_are_numbers(name):
    fraction = np.frompyfunc(Fraction, 1, 1)
    versions = {"fractions": (lambda a: a if a.dtype == object else fraction(a), np.array)}
    # Sums of fractions are exact and those of floats are not; values are below 100.
    assert max(differences(name, versions).values(), default=0) < 1e-12


WRONG = {
    "None": None,
    "text": "xyz",
    "bytes": b"xyz",
    "nothing": [],
    "ragged": [[1], [2, 3]],
    "mapping": {0: 1.0, 1: 2.0, 2: 3.0},
    "set": {1.0, 2.0, 3.0},
    "type": float,
    "function": lambda *anything: None,
    "texts": ["1", "2", "3"],
    "text in an array": np.full((3, 3), "1"),
    "Nones": [[None] * 3] * 3,
    "lists in an array": np.array([[1.0], [2.0, 3.0], []], dtype=object),
    "dates": np.zeros(3, "M8[s]"),
    "record": np.zeros(3, [("a", float)]),
    "truths": [True, False, True],
    "decimals": [decimal.Decimal(1)] * 3,
    "relation": [X < 1, 0, 0],
    "too many axes": np.zeros((3, 3, 3)),
    "two rows": np.zeros((2, 3)),
    "two by two": sp.eye(2),
    "five": np.ones(5),
    "masked": np.ma.masked_array(np.ones(3), mask=[True, False, False]),
    "masked matrix": np.ma.masked_array(np.eye(3), mask=np.eye(3)),
    "attitude": algebra.Quaternion(),
    "transform": algebra.Transform.identity(),
}
ANSWERED = {
    "scalar": 1.0,
    "integer": 3,
    "true": True,
    "symbol": X,
    "i": 1j,
    "nan": math.nan,
    "infinity": math.inf,
    "nans": np.full(3, math.nan),
    "infinite": np.full((3, 3), math.inf),
    "zeros": np.zeros(3),
    "zero matrix": np.zeros((3, 3)),
    "zeros of four": [0, 0, 0, 0],
    "null vector": [1, 1j, 0],
    "imaginary": [1j, 0, 0],
    "quaternion of length 0": [1j, 1, 0, 0],
    "imaginary matrix": 1j * np.eye(3),
    "complex constants": [sp.I, 1, 0],
    "four complex constants": [sp.I, 1, 0, sp.I],
    "zoo": [sp.zoo, sp.nan, sp.oo],
    "zoo matrix": sp.ones(3) * sp.oo,
    "symbols": [X, X, X],
    "four symbols": [X, X, X, X],
    "symbolic matrix": sp.diag(X, X, 1),
    "matrix symbol": sp.MatrixSymbol("M", 3, 3),
    "mirror": np.diag([1.0, -1.0, 1.0]),
    "tiny": [1e-200, 0, 0],
    "tiny of four": [1e-3, 0, 0, 0],
    "enormous": [1e200, 1e200, 0],
    "fractions": [sp.Rational(1, 3)] * 3,
    "column": np.zeros((3, 1)),
    "3x3": np.eye(3),
    "generator": (k for k in (1.0, 2.0, 3.0)),
    **WRONG,
}


def attack(function, good, argument, value):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(**{**good, argument: value})


@every
def test_whatever_is_given_the_outcome_is_a_result_or_an_error_of_ours(name):
    function, good = EVERY[name]
    raw = {}
    for argument in set(good) - {"function"}:  # what a function of the caller raises is his
        for label, value in ANSWERED.items():
            try:
                attack(function, good, argument, value)
            except DalembertError as error:
                assert str(error)
            except Exception as error:
                raw[f"{argument} = {label}"] = f"{type(error).__name__}: {error}"[:120]
    assert raw == {}


FREE = {
    ("kron", "a"), ("kron", "b"), ("vec", "a"), ("block_skew", "a"), ("trace", "t"), ("norm_frobenius", "t"),
    ("unvec", "v"), ("khang_derivative_complex_step", "x"), ("khang_derivative", "a"), ("is_rotation", "rotation"),
    ("Transform.rotate", "vector"), ("Transform.apply", "point"), ("change_of_basis", "t"), ("contraction", "t"),
    ("tensor_product", "a"), ("tensor_product", "b"),
}  # fmt: skip
"""Arguments that may have several shapes."""

IGNORED = {("torque_from_tensor", "w"), *((f"{a}.{m}", "q") for a in ATTITUDES for m in ("constraints", "Xi"))}
"""Arguments that may be None, or that are looked at by some attitudes only."""

ALSO_CALLED = {"point": "vector", "axis": "u"} | dict.fromkeys(("roll", "pitch", "yaw", "alpha", "theta"), "angle")
ALSO_CALLED |= dict.fromkeys(("xx", "yy", "zz", "xy", "xz", "yz"), "entries")


@every
def test_what_is_no_array_of_scalars_is_refused_by_its_name(name):
    function, good = EVERY[name]
    wrong = []
    for argument, right in good.items():
        if (name, argument) in IGNORED or not isinstance(right, (np.ndarray, float)):
            continue
        for label, value in WRONG.items():
            if (name, argument) in FREE and isinstance(value, (list, np.ndarray, sp.MatrixBase)):
                continue
            try:
                attack(function, good, argument, value)
                wrong.append(f"{argument} = {label} is taken")
            except ArgumentError as error:
                if not re.search(rf"\b({argument}|{ALSO_CALLED.get(argument, argument)})\b", str(error)):
                    wrong.append(f"{argument} = {label}: {error}")
    assert wrong == []


def test_a_refusal_says_name_shape_wanted_and_shape_given():
    with pytest.raises(ArgumentError, match=r"inertia must be a 3x3 matrix, shape \(3, 3\); got shape \(3,\)"):
        algebra.angular_momentum([1, 2, 3], [1, 2, 3])
    with pytest.raises(ArgumentError, match=r"wd must be a vector of 3 scalars, shape \(3,\); got shape \(2, 2\)"):
        algebra.euler_torque(SYM, U, np.eye(2))
    with pytest.raises(ArgumentError, match=r"sequence must be a text such as 'ZYX'.*first argument"):
        algebra.rotation_from_euler((0.1, 0.2, 0.3), "ZYX")
    with pytest.raises(ArgumentError, match="square"):
        algebra.trace(np.zeros((2, 3)))


def test_symbols_in_nested_lists_stay_exact():
    t = [[X, 1, 0], [0, 2, 3], [0, 0, 1]]
    half = sp.Rational(1, 2)
    assert algebra.symmetric_part(t).tolist() == [[X, half, 0], [half, 2, 3 * half], [0, 3 * half, 1]]
    assert algebra.vect(t).tolist() == [-3 * half, 0, -half]
    assert algebra.pseudo_inertia([[X, 0, 0], [0, 1, 0], [0, 0, 2]])[0, 0] == (3 - X) / 2
    assert not any(sp.sympify(x).has(sp.Float) for x in algebra.vect(algebra.rotation_x(X)))


@pytest.mark.parametrize(
    "scalar", [1, 1.0, 1j, np.float32(1), np.int8(1), X, sp.pi, sp.I, Fraction(1, 3), sp.Function("f")(X)]
)
def test_scalars(scalar):
    assert is_scalar(scalar)


NO_SCALARS = [None, "1", True, np.bool_(True), [1], {}, sp.true, X > 0, sp.eye(2), int]


@pytest.mark.parametrize("other", NO_SCALARS)
def test_no_scalars(other):
    assert not is_scalar(other)

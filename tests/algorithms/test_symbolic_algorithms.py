"""Every algorithm runs on SymPy symbols and says the same as on numbers: symbols in, numbers put in afterwards.

Tolerance: SymPy evaluates the expressions in double precision, 1e-10 of the largest entry.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy
from algorithm_cases import difference

import dalembert as da
from dalembert.algorithms.analytic_jacobian import analytic_jacobian
from dalembert.algorithms.cartesian import cartesian_dynamics
from dalembert.algorithms.centroidal import centroidal, generalised_momentum
from dalembert.algorithms.economy import economical
from dalembert.algorithms.energy import kinetic_energy, momentum, potential_energy
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.hessians import hessian, relative_motion
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX, mass_matrix_inverse
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.regressor import kinetic_energy_regressor, potential_energy_regressor, regressor
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity
from dalembert.kinematics import jacobian, jacobian_rate, motion

FRAME = "link2"


def parts(x):
    """All entries of a result, whatever it is made of."""
    if isinstance(x, (tuple, list)):
        return [e for y in x for e in parts(y)]
    return list(np.asarray(x, dtype=object).flat)


CASES = {
    **{name: lambda m, q, v, a, f=f: f(m.tree, q, v, a) for name, f in INVERSE_DYNAMICS.items()},
    **{name: lambda m, q, v, a, f=f: f(m.tree, q) for name, f in INERTIA_MATRIX.items()},
    **{name: lambda m, q, v, a, f=f: f(m.tree, q, v, a) for name, f in FORWARD_DYNAMICS.items()},
    "inverse of the inertia matrix": lambda m, q, v, a: mass_matrix_inverse(m, q),
    "economical": lambda m, q, v, a: INVERSE_DYNAMICS["augmented-links"](economical(m.tree), q, v, a),
    "sensitivity": lambda m, q, v, a: [getattr(sensitivity(m.tree, q, v, a), k) for k in ("D", "V", "P")],
    "coriolis matrix": lambda m, q, v, a: coriolis_matrix(m.tree, q, v),
    "parsa": lambda m, q, v, a: parsa_coriolis(m, q, v),
    "energies": lambda m, q, v, a: [kinetic_energy(m.tree, q, v), potential_energy(m.tree, q)],
    "momentum": lambda m, q, v, a: [momentum(m.tree, q, v), generalised_momentum(m, q, v)],
    "centroidal": lambda m, q, v, a: [getattr(centroidal(m, q, v), k) for k in ("matrix", "bias", "inertia")],
    "jacobians": lambda m, q, v, a: [jacobian(m, q, FRAME), jacobian_rate(m, q, v, FRAME, axes="body")],
    "motion": lambda m, q, v, a: motion(m, q, v, a, FRAME).linear_acceleration,
    "hessians": lambda m, q, v, a: [hessian(m, q, FRAME), relative_motion(m, q, FRAME, "link1")],
    "analytic": lambda m, q, v, a: analytic_jacobian(m, q, FRAME, coordinates="ZYX"),
    "cartesian": lambda m, q, v, a: cartesian_dynamics(m, q, v, FRAME, coordinates="position", damping=1).inertia,
    "regressors": lambda m, q, v, a: [
        regressor(m, q, v, a), kinetic_energy_regressor(m, q, v), potential_energy_regressor(m, q)],
}  # fmt: skip
"""Name -> function of a mechanism and a state."""


@cache
def arm():
    """Revolute and prismatic, with symbols for a length, a mass and a moment of inertia; and numbers for them."""
    length, mass, moment = sympy.symbols("l m J", positive=True)
    table = [
        {"alpha": 0.3, "a": length, "joint": "R", "mass": mass, "center": [0.1, 0, 0.2], "inertia": [1, 2, moment]},
        {"alpha": -0.7, "a": 0.4, "joint": "P", "mass": 2, "center": [0, 0.3, 0.1], "inertia": [1, 1, 1]},
    ]
    symbolic = da.from_dh(table, name="rp")
    values = {length: 0.7, mass: 1.3, moment: 1.5}
    return symbolic, da.substitute(symbolic, values), values


@pytest.mark.parametrize("name", CASES)
def test_symbols_and_numbers_agree(name):
    symbolic, numeric, values = arm()
    q, v, a = (np.array(sympy.symbols(f"{x}1 {x}2"), dtype=object) for x in "qva")
    state = np.random.default_rng(0).normal(size=(3, 2))
    numbers = dict(zip([*q, *v, *a], state.flat)) | values
    found = [complex(sympy.sympify(x).subs(numbers)).real for x in parts(CASES[name](symbolic, q, v, a))]
    expected = [float(x) for x in parts(CASES[name](numeric, *state))]
    assert difference(found, expected, 1.0) < 1e-10

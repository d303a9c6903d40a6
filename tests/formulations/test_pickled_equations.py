"""Equations survive pickling: the same mathematics, the same numbers, the same words."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import sympy
from classical_systems import cart_pole, closed_four_bar, planar_elbow, rolling_disc
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from dalembert.algebra.attitude import EulerAngles
from dalembert.errors import UnsupportedError
from dalembert.formulations import NoSlip, derive, from_lagrangian, from_sympy, rigid_body
from dalembert.model import Inertia
from random_mechanisms import random_mechanism

x, xdot, m, t = sympy.symbols("x xdot m t")

CASES = {
    **{f"elbow by {method}": (lambda method=method: derive(planar_elbow(), method))
       for method in ("lagrange", "kane", "kronecker", "newton-euler")},
    "multipliers": lambda: derive(closed_four_bar(), "lagrange"),
    "rolling": lambda: derive(rolling_disc(), "kane", pfaffian=[NoSlip("q3_body", at="contact", axes="world")]),
    "clock": lambda: derive(cart_pole(), "kane", pfaffian=[xdot - sympy.cos(t)], actuated=["x"]),
    "general tree": lambda: derive(random_mechanism(3, 3, kinds=("spherical", "helical")), "newton-euler"),
    "free body": lambda: rigid_body(Inertia(m, [0, 0, x], np.diag([1, 2, 2])), EulerAngles("321"), form="body"),
    "Lagrangian": lambda: from_lagrangian(m * xdot**2 / 2 - sympy.cos(x + t), [x], forces=[-xdot], t=t),
    "SymPy": lambda: from_sympy(n_link_pendulum_on_cart(1)),
    "substituted": lambda: derive(cart_pole()).substitute({"m": 2, "theta": sympy.pi / 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_everything_is_there_again(case):
    equations = CASES[case]()
    twin = pickle.loads(pickle.dumps(equations))
    assert repr(twin) == repr(equations) and [*twin] == [*equations] and twin.cite() == equations.cite()
    assert (twin.parameters, twin.inputs, twin.omitted) == (equations.parameters, equations.inputs, equations.omitted)
    assert twin.scope.names == equations.scope.names and twin.scope.quaternions == equations.scope.quaternions
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.5, 1.5, port.shape) for name, port in ports_of(equations).items()}
    for name in equations:
        try:
            expected = equations[name]
        except UnsupportedError as error:
            with pytest.raises(UnsupportedError) as told:
                twin[name]
            assert str(told.value) == str(error)
            continue
        assert twin[name].symbol == expected.symbol
        assert replace(twin[name].cost, live=0) == replace(expected.cost, live=0)  # the order of operations may differ
        np.testing.assert_array_equal(twin[name].evaluate(inputs), expected.evaluate(inputs))
    for one, other in zip(twin.steps(), equations.steps(), strict=True):
        assert (one.title, one.text, one.formula) == (other.title, other.text, other.formula)
        assert [q.name for q in one.quantities] == [q.name for q in other.quantities]


def ports_of(equations):
    """Inputs of everything that there is."""
    programs = [equations[name].program for name in equations.quantities()]
    for name in equations.extras:
        try:
            programs.append(equations[name].program)
        except UnsupportedError:
            continue
    return {port.name: port for program in programs for port in program.inputs}


def test_closed_forms_and_kernels_are_the_same():
    equations = derive(cart_pole(), "kane", include=["damping"])
    twin = pickle.loads(pickle.dumps(equations))
    assert twin.sympy() == equations.sympy() and twin.latex() == equations.latex() and str(twin) == str(equations)
    assert twin.compile("accelerations").signature == equations.compile("accelerations").signature
    assert twin.substitute({"m": 2}).sympy("gravity") == equations.substitute({"m": 2}).sympy("gravity")


def test_a_copy_is_the_same_object():
    equations = derive(cart_pole())
    assert copy.copy(equations) is equations and copy.deepcopy([equations])[0] is equations

"""What `print` says of results of constrained mechanisms."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.constraints.classical import four_bar
from dalembert.control import LinearModel, linearize
from dalembert.dynamics import Dynamics

SYSTEM = Dynamics(four_bar())
Q, REST = SYSTEM.assemble([1.0, -0.5, 1.7]), np.zeros(3)


def test_linear_models_print_matrices_with_names_and_eigenvalues():
    own = SYSTEM.linear_model(Q, REST, REST, positions=["crank"], speeds=["crank"])
    assert own.inputs == ("crank", "coupler", "rocker")
    largest = f"{own.poles[0]:.5g}"
    for printed in (str(own), str(linearize(SYSTEM, Q, REST))):
        assert "\nA " in printed and "\nB " in printed and " rate" in printed and "rocker" in printed
    assert str(own).splitlines()[0] == "LinearModel: 2 states, 3 inputs, 2 outputs" and largest in str(own)
    many = SYSTEM.linear_model(np.stack([Q, Q]), np.zeros((2, 3)), np.zeros((2, 3)))
    assert "at (2,) states" in str(many)


def test_large_linear_models_print_how_large_their_matrices_are():
    n = 30
    names = [f"x{k}" for k in range(n)]
    model = LinearModel(-np.eye(n), np.ones((n, 1)), np.eye(n), np.zeros((n, 1)), names, ["u"], names)
    assert "A: 30 rows, 30 columns" in str(model) and "x29" in str(model)


def test_accelerations_and_forces_print_with_what_is_known_of_them():
    assert "rank 2 of 2 rows" in str(SYSTEM.solve(Q, REST, REST))
    doubled = four_bar()
    closure = doubled.constraints[0]
    again = Dynamics(doubled.replace(constraints=(closure, closure.replace(name="again"))))
    assert "rank 2 of 4 rows\nnot unique are the multipliers 0, 1, 2, 3" in str(again.solve(Q, REST, REST))
    assert str(SYSTEM.drive_forces(Q, REST, REST, actuated=["crank"])).endswith("unique")
    both = SYSTEM.drive_forces(np.stack([Q, Q]), REST, REST, actuated=["crank", "rocker"])
    assert str(both) == "forces of drives at (2,) states, least sum of (tau / weight)^2"


@pytest.mark.parametrize("b", [{}, {"b": ""}, {"b": "world"}])
def test_a_coupling_without_b_is_called_by_the_joint_that_it_fixes(b):
    held = four_bar().replace(constraints=(da.Constraint("fix", "coupling", "crank", coefficients=(0.15,), **b),))
    assert [str(row) for row in Dynamics(held).rows] == ["fix (position of crank)"]
    assert "a = 0.15 (position of the joint)" in str(held) and " world  a = 0.15" not in str(held)
    geared = da.Constraint("gear", "coupling", "crank", "rocker", coefficients=(0, 2))
    assert str(Dynamics(held.replace(constraints=(geared,))).rows[0]) == "gear (position of rocker)"

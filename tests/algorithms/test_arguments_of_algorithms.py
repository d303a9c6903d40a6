"""What makes no sense is refused in a sentence, whichever function it is given to."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sympy

from dalembert import algorithms
from dalembert.algorithms import base_parameters, grouping_rules, hessian, inverse_dynamics, joint_forces
from dalembert.errors import ArgumentError
from dalembert.model.operations import lock
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("name", [x for x in algorithms.__all__ if inspect.isfunction(getattr(algorithms, x))])
def test_a_name_is_no_mechanism(name):
    function = getattr(algorithms, name)
    needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind != 4]
    assert needed[0] == "mechanism"
    with pytest.raises(ArgumentError, match="expected a Mechanism"):
        function("arm", *([0.0] for _ in needed[1:]))


def test_settings():
    arm = random_mechanism(3, 2, kinds=["revolute"])
    with pytest.raises(ArgumentError, match="starred: expected"):
        hessian(arm, [0.0, 0.0], "b1", axes="body", starred="no")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="tolerance"):
        base_parameters(arm, tolerance="small")  # type: ignore[arg-type]
    for function in (base_parameters, grouping_rules):
        with pytest.raises(ArgumentError, match="seed"):
            function(arm, seed=0.5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="include"):
        joint_forces(arm, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("point", [(0, 0), "abc", None, [1, 2, "x"], [[0, 0, 0]]])
def test_points(point):
    arm = random_mechanism(3, 2, kinds=["revolute"])
    still = [0.0, 0.0]
    calls = {
        "jacobian": [still, "tool"],
        "jacobian_rate": [still, still, "tool"],
        "motion": [still, still, still, "tool"],
        "hessian": [still, "tool"],
        "relative_motion": [still, "tool", "b1"],
        "frame_coordinates": [still, "tool"],
        "analytic_jacobian": [still, "tool"],
        "cartesian_dynamics": [still, still, "tool"],
    }
    for name, arguments in calls.items():
        with pytest.raises(ArgumentError, match="point: expected three numbers"):
            getattr(algorithms, name)(arm, *arguments, point=point)


@pytest.mark.parametrize("form", [sympy.Matrix, sympy.ImmutableMatrix, lambda entries: sympy.Matrix([entries])])
def test_states_and_wrenches_may_be_columns_of_sympy(form):
    arm = random_mechanism(3, 2, kinds=["revolute"])
    symbols = [list(sympy.symbols(f"{letter}1:{n + 1}", real=True)) for letter, n in (*zip("qva", (2, 2, 2)), ("f", 6))]
    plain, columns = (
        inverse_dynamics(arm, q, v, a, wrenches={"b1": f}) for q, v, a, f in (symbols, map(form, symbols))
    )
    np.testing.assert_array_equal(columns, plain)
    (q, *_), joint = symbols, arm.joints[0]
    assert lock(arm, {joint.name: form(q[:1])}) == lock(arm, {joint.name: q[0]})

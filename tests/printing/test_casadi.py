"""Programs as functions of CasADi: the same numbers, the same names, derivatives of either side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dalembert as da
from dalembert.dynamics.catalogue import ALL_QUANTITIES, CONSTRAINT_QUANTITIES, TASK_QUANTITIES
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.printing.casadi import to_casadi
from dalembert.tracing import Port, passes, trace
from dalembert.tracing.casadi import from_casadi
from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import evaluate
from random_mechanisms import random_mechanism
from random_programs import random_program

casadi = pytest.importorskip("casadi")


def called(function, program, arguments):
    """A CasADi function on arrays, with results of the program's shapes."""
    matrices = [
        np.reshape(x, (port.shape[0], -1) if port.shape else (1, 1)) for x, port in zip(arguments, program.inputs)
    ]
    found = function.call([casadi.DM(x) for x in matrices])
    return [np.array(y.full()).reshape(port.shape) for y, port in zip(found, program.outputs)]


def random_arguments(program, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.5, 1.5, port.shape) for port in program.inputs]


def check_agrees(function, program, arguments, tolerance=1e-10):
    for found, expected in zip(called(function, program, arguments), evaluate(program, arguments).values()):
        finite = np.isfinite(expected) & (np.abs(expected) < 1e8)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=tolerance, atol=tolerance)


@given(st.integers(0, 2**32 - 1))
def test_a_program_goes_to_casadi_and_comes_back(seed):
    program = random_program(seed)
    function = to_casadi(program)
    check_agrees(function, program, random_arguments(program, seed))
    back = from_casadi(function)
    assert (back.inputs, back.outputs) == (program.inputs, program.outputs)
    assert operation_count(back) == operation_count(program)
    for found, expected in zip(
        evaluate(back, random_arguments(program, seed)).values(),
        evaluate(program, random_arguments(program, seed)).values(),
    ):
        finite = np.isfinite(expected) & (np.abs(expected) < 1e8)
        np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("robot", ["demo_arm", "puma560", "double_pendulum"])
@pytest.mark.parametrize("quantity", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_the_operation_count_is_kept(robot, quantity):
    program = da.Dynamics(da.load(robot)).program(quantity)
    assert operation_count(from_casadi(to_casadi(program))) == operation_count(program)


TREES_ONLY = {*TASK_QUANTITIES, "linearize"}
"""What a linkage in the plane does not have."""


@pytest.mark.parametrize("quantity", [*ALL_QUANTITIES, *CONSTRAINT_QUANTITIES])
def test_every_quantity(quantity, recwarn):
    mechanism = da.load("puma560" if quantity in TREES_ONLY else "four_bar", parameters="default")
    dynamics = da.Dynamics(mechanism, reference=None if quantity in TREES_ONLY else [1.0, -0.7, 1.6])
    asked = (ALL_QUANTITIES.get(quantity) or CONSTRAINT_QUANTITIES[quantity]).options
    options = {"frame": mechanism.bodies[-1].name} if "frame" in asked else {}
    function = dynamics.casadi(quantity, **options)
    program = dynamics.program(quantity, **options)
    assert not [w for w in recwarn if issubclass(w.category, ModelWarning)]
    assert function.name_in() == [port.name for port in program.inputs]
    assert function.name_out() == [port.name for port in program.outputs]
    check_agrees(function, program, random_arguments(program), 1e-9)


def test_parameters_and_wrenches_stay_inputs():
    arm = da.load("demo_arm")
    tip = arm.bodies[-1].name
    dynamics = da.Dynamics(arm, wrenches=[tip], parameters=[f"{tip}.mass"])
    function = dynamics.casadi("forward_dynamics")
    assert function.name_in() == ["q", "v", "tau", "wrenches", "parameters"]
    assert function.size_in("wrenches") == (1, 6)
    program = dynamics.program("forward_dynamics")
    check_agrees(function, program, [np.abs(x) + 0.1 for x in random_arguments(program)])


@pytest.mark.parametrize("kind", ["SX", "MX"])
def test_it_is_called_on_both_kinds_of_expressions(kind):
    dynamics = da.Dynamics(da.load("demo_arm"))
    function = dynamics.casadi("mass_matrix")
    n = dynamics.mechanism.nv
    q = getattr(casadi, kind).sym("q", n)
    whole = casadi.Function("whole", [q], [2 * function(q)])
    at = np.linspace(0.1, 0.8, n)
    np.testing.assert_allclose(whole(at).full(), 2 * dynamics.mass_matrix(at), rtol=1e-12)


def test_zeros_of_a_matrix_are_structural():
    dynamics = da.Dynamics(random_mechanism(3, 6, kinds=["revolute"], branching=0.8))
    assert len(dynamics.derivatives_pattern[0]) < dynamics.mechanism.nv**2
    assert dynamics.casadi("mass_matrix").nnz_out(0) == len(dynamics.derivatives_pattern[0])


@pytest.mark.parametrize("quantity", ["forward_dynamics", "mass_matrix"])
def test_own_derivatives_are_those_of_casadi(quantity):
    dynamics = da.Dynamics(da.load("demo_arm"))
    ours, theirs = dynamics.casadi(quantity, derivatives=True), dynamics.casadi(quantity)
    program = dynamics.program(quantity)
    arguments = [casadi.DM(x) for x in random_arguments(program)]
    symbols = [casadi.MX.sym(port.name, *port.shape) for port in program.inputs]
    found, expected = (
        casadi.Function("J", symbols, [casadi.jacobian(f(*symbols), symbols[0])]).call(arguments)[0].full()
        for f in (ours, theirs)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert ours.jacobian().n_instructions() < theirs.jacobian().n_instructions()


def test_own_derivatives_of_matrices_by_matrices():
    program = trace(lambda A, x: (A @ A @ x.reshape(2, 1), A * x[0]), {"A": (2, 2), "x": (2,)}, "f", ["y", "B"])
    arguments = [casadi.DM(x) for x in random_arguments(program)] + [casadi.DM(2, 1), casadi.DM(2, 2)]
    found = to_casadi(program, derivatives=True).jacobian().call(arguments)
    expected = to_casadi(program).jacobian().call(arguments)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.full(), b.full(), atol=1e-13)


def test_names_that_casadi_refuses_are_changed_and_listed():
    program = trace(lambda a, b: a * b, {"τ": (), "a__b": ()}, "jac", "a__b")
    with pytest.warns(ModelWarning, match=r"'τ' -> 'x'.*'a__b' -> 'a_b'.*'a__b' -> 'a_b_out'"):
        function = to_casadi(program)
    assert float(function(2, 3)) == 6


def test_two_outputs_of_one_name_are_refused():
    from dataclasses import replace

    program = trace(lambda x: (x, 2 * x), {"x": ()}, "f", ["y", "z"])
    program = replace(program, outputs=(Port("y", ()), Port("y", ())))
    with pytest.raises(ArgumentError, match="two outputs called 'y'"):
        to_casadi(program)


def test_operations_of_every_kind_survive_optimisation():
    program = passes.optimise(random_program(7, steps=200))
    check_agrees(to_casadi(program), program, random_arguments(program, 7))

"""A matrix of expressions is inverted wherever it is regular, not only where its pivots happen to be large."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from dalembert.algebra.arrays import product
from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.formulations import derive
from dalembert.formulations.linear import inverse
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.graph import Graph
from dalembert.tracing.trace import program_of

SPECIAL = [0.0, np.pi / 2, np.pi, 1.0]
MATTER = Inertia(1.3, center=[0.1, 0.2, 0.3], tensor=np.diag([0.1, 0.2, 0.25]))


@pytest.mark.parametrize("units", [1.0, 1e5])
@pytest.mark.parametrize("size", [3, 4, 5, 6, 9])
def test_rows_in_turned_axes_are_inverted_at_every_angle(size, units):
    """But for units of columns condition numbers are below 1e4, and 1e-16 may grow as much."""
    graph, rng = Graph(), np.random.default_rng(size)
    angle, factor = graph.input("angle", ()), graph.input("factor", (size, size))
    rows = factor * (units ** rng.integers(-1, 2, size))
    for first in range(0, size - 2, 3):
        rows[first : first + 3] = product(rotation_from_rpy(angle, 0, angle), rows[first : first + 3])
    program = program_of(graph, {"K": rows}, "K")
    factors = rng.normal(size=(5, size, size)) + 3 * np.eye(size)
    samples = evaluate(program, {"angle": rng.uniform(0.7, 1.3, 5), "factor": factors})["K"]
    inverted = program_of(graph, {"K": rows, "N": inverse(rows, samples, "K")}, "inverse")
    states = np.concatenate([factors, np.eye(size)[None], np.eye(size)[None, ::-1]])  # entries vanish as well
    for value in SPECIAL:
        found = evaluate(inverted, {"angle": np.full(len(states), value), "factor": states})
        assert np.abs(found["K"] @ found["N"] - np.eye(size)).max() < 1e-12


def test_the_inverse_costs_no_more_digits_than_the_condition_number():
    """Rows that are orthogonal only as far as one pass of Gram and Schmidt makes them so cost its square, 1e-8."""
    size = 9
    graph, numbers = Graph(), 1 / (1 + np.add.outer(np.arange(size), np.arange(size))) + 1e-4 * np.eye(size)
    K = graph.input("K", (size, size))
    program = program_of(graph, {"N": inverse(K, np.broadcast_to(numbers, (5, size, size)), "K")}, "inverse")
    N = evaluate(program, {"K": numbers})["N"]
    error = np.abs(numbers @ N - np.eye(size)).max()
    assert error < 1e-14 * np.linalg.cond(numbers)


@pytest.mark.parametrize("closure", ["revolute", "universal", "cylindrical", "weld"])
def test_symbolic_angles_in_a_closure_may_take_any_value(closure):
    def loop(alpha):
        return Mechanism(
            "loop",
            (Body("a", MATTER), Body("b", MATTER)),
            (
                Joint("first", "spherical", WORLD, "a"),
                Joint("second", "spherical", "a", "b", Transform.from_rpy_xyz([0.2, 0.3, 0.1], [0.4, 0.1, 0.2])),
            ),
            constraints=(
                Constraint(
                    "close", closure, "b", WORLD,
                    Transform.from_rpy_xyz([0, 0, alpha], [0.5, 0.1, 0]),
                    Transform.from_rpy_xyz([0, 0, alpha], [0.3, 0.2, 0.4]),
                ),
            ),
        )  # fmt: skip

    equations = derive(loop(sympy.Symbol("alpha")), "kane")
    for angle in SPECIAL:
        exact = loop(angle)
        kernels, rest = Dynamics(exact), np.zeros(6)
        q, v, _ = exact.random_state(np.random.default_rng(1))
        q = kernels.assemble(q)
        v = kernels.project_velocity(q, v)
        state = {"q": q, "alpha": angle}
        B = equations["speed_map"].evaluate(state)
        state["u"] = np.linalg.lstsq(B, v, rcond=None)[0]
        udot = np.linalg.solve(equations.mass_matrix.evaluate(state), -equations.bias.evaluate(state))
        expected = kernels.solve(q, v, rest)
        a = B @ udot + equations["acceleration_drift"].evaluate(state)
        np.testing.assert_allclose(a, expected.a, atol=1e-9 * np.abs(expected.a).max())
        pull = equations["constraint_matrix"].evaluate(state).T @ equations["multipliers"].evaluate(
            state | {"udot": udot, "tau": rest}
        )
        M, f, _, _ = kernels.evaluate("terms", q, v, rest, 0.0)
        force = M @ expected.a - f
        np.testing.assert_allclose(pull, force, atol=1e-9 * np.abs(force).max())

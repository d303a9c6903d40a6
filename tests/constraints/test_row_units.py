"""Units of users' rows are sizes of their gradients, and never what rounding leaves of a gradient that vanishes."""

import numpy as np
import pytest

from dalembert.algebra import scalar
from dalembert.dynamics import Dynamics
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.tracing import trace
from dalembert.tracing.evaluate import cancelled


def units(function, reference):
    joints = [
        Joint("x", "prismatic", WORLD, "a", axis=[1, 0, 0]),
        Joint("angle", "revolute", "a", "b", axis=[0, 0, 1]),
    ]
    law = Constraint("law", "position", function=function)
    mechanism = Mechanism(
        "two", [Body("a", Inertia(1.0)), Body("b", Inertia(2.0, np.zeros(3), np.eye(3)))], joints, constraints=[law]
    )
    return Dynamics(mechanism, reference=reference).scaling.own


@pytest.mark.parametrize("factor", [1e-20, 1e-3, 1.0, 1e9])
def test_a_unit_is_the_gradient_at_the_reference(factor):
    np.testing.assert_allclose(units(lambda q, t: [factor * (q[0] - q[1] ** 2)], [0.25, 0.5]), [factor])


@pytest.mark.parametrize("beside", [0.0, 1e-300, 6e-17, -1.4e-17, 1e-12, 1e-7])
def test_where_a_gradient_vanishes_at_the_reference_the_unit_is_that_around_it(beside):
    """However close to the zero the reference happens to be."""

    def law(q, t):
        gap = q[0] - scalar.sin(q[1]) ** 2
        return [gap * scalar.cos(q[1]), gap * scalar.sin(q[1])]

    np.testing.assert_array_equal(units(law, [beside, beside]), units(law, [0.0, 0.0]))
    assert (units(law, [beside, beside]) > 1e-2).all()


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.7, 1.0, 1.3])
def test_a_gradient_that_is_nothing_but_rounding_is_no_unit(angle):
    def law(q, t):
        nothing = scalar.sin(q[1]) ** 2 + scalar.cos(q[1]) ** 2 - 1
        return [q[0] - q[1], 1e3 * q[0] * nothing]

    np.testing.assert_array_equal(units(law, [0.3, angle]), [1, 1])


def test_terms_that_cancel_are_seen_whatever_is_left():
    """Of (a + b) - a b counts, but it is known to a rounding of a: that is what the terms say."""
    program = trace(lambda a, b: (a + b) - a, {"a": (), "b": ()}, "left", outputs="y")
    given = {"a": np.array([0.0, 1.0, 1e8, 1e20]), "b": np.array(1.0)}
    terms = cancelled(program, given, "y")
    assert (terms >= 0.99 * np.maximum(given["a"], given["b"])).all()
    assert (terms <= 8 * np.maximum(given["a"], given["b"])).all()

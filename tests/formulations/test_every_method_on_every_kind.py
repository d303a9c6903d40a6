"""Everything that equations offer, by every method, on a system of every kind: arm, cart, free body, loop, tree."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
import sympy
from classical_systems import X, Z, cart_pole, chain, closed_four_bar, diagonal, planar_elbow, rp_arm

from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.formulations import derive
from dalembert.formulations.equations import CITATIONS
from dalembert.formulations.newton_euler import EQUATIONS
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism
from dalembert.report.report import WRITERS, document

METHODS = ("lagrange", "kane", "kronecker", "newton-euler")


def free_body() -> Mechanism:
    """One body, principal axes, in uniform gravity."""
    body = Body("brick", Inertia(sympy.Symbol("m"), [0, 0, 0], diagonal(*sympy.symbols("I_x I_y I_z"))))
    gravity = np.array([0, 0, -sympy.Symbol("g")], dtype=object)
    return Mechanism("free body", (body,), (Joint("free", "free", WORLD, "brick"),), gravity=gravity)


def branched_tree() -> Mechanism:
    """A turning body that carries a slider and a second arm."""
    m1, m2, m3, a, b, I, g = sympy.symbols("m1 m2 m3 a b I g")
    trunk = ("q1", "revolute", Z, Inertia(m1, [a, 0, 0], diagonal(0, 0, I)), None)
    base = chain("tree", [trunk, ("d2", "prismatic", X, Inertia(m2), None)], [0, -g, 0])
    branch, joint = Body("branch", Inertia(m3, [0, b, 0])), Joint("q3", "revolute", "q1_body", "branch", axis=Z)
    return base.replace(bodies=(*base.bodies, branch), joints=(*base.joints, joint))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", [planar_elbow, cart_pole, free_body, closed_four_bar, branched_tree])
class TestEveryMethod:
    def test_mathematics(self, make, method):
        equations = derive(make(), method)
        titles = [step.title for step in equations.steps()]
        assert len(titles) >= 3 and len(set(titles)) == len(titles)
        assert "mass_matrix" in {q.name for step in equations.steps() for q in step.quantities}
        rates = equations.velocity_port == "v" and len(equations.velocities) == len(equations.coordinates)
        beside = (equations.constraint_matrix is not None) + (not rates)  # rules; what velocities mean
        assert equations.latex().count("=") == 1 + beside and "[" in equations.cite()
        named = {word for step in equations.steps() for word in re.findall(r"[A-Z]{5,}", step.text)}
        assert named and named <= set(equations.sources) <= CITATIONS.keys()
        for part, value in equations.sympy().items():
            assert value.shape == (*equations[part].shape, 1)[:2]
            assert not value.has(sympy.nan, sympy.zoo, sympy.oo)

    def test_substituted_and_compiled_it_gives_the_same_numbers(self, make, method):
        mechanism = make()
        equations = derive(mechanism, method)
        rng = np.random.default_rng(3)
        values = {str(x): rng.uniform(0.5, 1.5) for x in equations.parameters}
        q = mechanism.random_state(rng)[0]
        v = rng.normal(size=len(equations.velocities))
        expected = equations.evaluate(q, v, **values)
        numeric = equations.substitute(values)
        assert numeric.parameters == ()
        for part, kernel in equations.compile().items():
            given = {"q": q, equations.velocity_port: v, **values}
            found = kernel(*(given[port.name] for port in kernel.inputs))
            scale = max(1.0, float(np.abs(expected[part]).max(initial=0)))
            np.testing.assert_allclose(found, expected[part], atol=1e-11 * scale)
            again = numeric[part].evaluate({"q": q, equations.velocity_port: v})
            np.testing.assert_allclose(again, expected[part], atol=1e-11 * scale)

    def test_reports_have_no_ugly_numbers_and_no_holes(self, make, method):
        mechanism = make()
        made = document(mechanism, method, agreement=False)
        for suffix, write in WRITERS.items():
            text = write(made)
            assert "NaN" not in text and "nan" not in re.findall(r"\b\w+\b", text)
            if suffix == ".md":
                body = text.split("## ", 1)[1]  # below the version of the program
                assert not re.search(r"\d\.0*[1-9]\d{6,}", body)  # more than six digits after the zeros
                assert not re.search(r"(?<![\d.])\d+\.0(?!\d|\.)", body) and "= \\\\" not in body


def test_equation_numbers_are_those_that_the_algorithms_themselves_name():
    """A step and the file of its algorithm cite the same equations; what is not in the THESIS cites none."""
    algorithms = INVERSE_DYNAMICS | INERTIA_MATRIX
    pages = {name: str(sys.modules[function.__module__].__doc__) for name, function in algorithms.items()}
    pages["operator-factors"] = str(sys.modules["dalembert.algorithms.inertia_matrix.operator_factors"].__doc__)
    assert EQUATIONS.keys() == algorithms.keys() - {"two-sided"}
    for name, numbers in EQUATIONS.items():
        assert all(number in pages[name] for number in re.findall(r"\([\d.]+\)", numbers)), name


OTHERS = [("algorithm", name) for name in INVERSE_DYNAMICS] + [("inertia", name) for name in INERTIA_MATRIX]


@pytest.mark.parametrize(("option", "name"), OTHERS)
def test_steps_name_the_algorithm_that_was_used_and_no_other(option, name):
    text = " ".join(step.text for step in derive(rp_arm(), "newton-euler", **{option: name}).steps())
    assert f"By the algorithm {name!r}" in text and EQUATIONS.get(name, "") in text
    default = {"algorithm": "augmented-links", "inertia": "generalized-links"}[option]
    assert name == default or EQUATIONS[default] not in text

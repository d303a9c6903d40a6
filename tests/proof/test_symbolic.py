"""Proof in SymPy: small mechanisms hold, a changed sign leaves a remainder, what cannot be expanded is refused."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import ArgumentError
from dalembert.proof import prove_symbolically
from dalembert.proof.symbolic import reduced


@pytest.mark.parametrize("name", ["rp_arm", "stacker", "double_pendulum"])
def test_all_algorithms_of_small_mechanisms_are_one_formula(name):
    """KHATIB's arm and NGUYEN's stacker, by all eight algorithms of inverse dynamics and six of the inertia matrix."""
    found = prove_symbolically(da.load(name))
    assert found.ok, str(found)
    assert {row.who for row in found.rows} >= set(INVERSE_DYNAMICS) - {"newton-euler"}
    assert "all identical as formulas" in str(found) and not found.omitted


def test_a_planted_error_leaves_a_remainder(monkeypatch):
    honest = INVERSE_DYNAMICS["waters"]

    def wrong(tree, q, v, a, loads=None):
        found = np.array(honest(tree, q, v, a, loads), dtype=object)
        found[0] = found[0] + v[0] ** 2
        return found

    monkeypatch.setitem(INVERSE_DYNAMICS, "waters", wrong)
    found = prove_symbolically(da.load("rp_arm"))
    assert not found and [row.who for row in found.rows if not row.holds] == ["waters"]
    assert "left: v1**2" in str(found)


def test_the_reduced_form_knows_sums_of_angles_and_squares():
    x, y, m = sympy.symbols("x y m", real=True)
    zero = m * (sympy.sin(x + y) - sympy.sin(x) * sympy.cos(y) - sympy.cos(x) * sympy.sin(y))
    assert reduced(zero + sympy.sin(x) ** 4 - (1 - sympy.cos(x) ** 2) ** 2, np.array([x, y])) == 0
    assert reduced(1 / m - 1 / (m * (sympy.sin(y) ** 2 + sympy.cos(y) ** 2)), np.array([x, y])) == 0
    assert reduced(sympy.sin(x) ** 3 - sympy.sin(x), np.array([x, y])) != 0


@pytest.mark.parametrize(("name", "words"), [("rpr", "rounded"), ("puma560", "6 velocities"), ("free_body", "prove()")])
def test_what_cannot_be_expanded_is_refused(name, words):
    with pytest.raises(ArgumentError, match=words.replace("(", r"\(").replace(")", r"\)")):
        prove_symbolically(da.load(name))

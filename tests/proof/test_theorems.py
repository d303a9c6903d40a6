"""Every theorem of the source documents holds, says what it says, and is false as soon as one sign is changed."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import CITATIONS
from dalembert.proof import THEOREMS
from dalembert.proof.field import Field
from dalembert.proof.theorems.links import CHAIN, GenericChain, serial_chain

FIELD = (1 << 61) - 1


@pytest.mark.parametrize("name", THEOREMS)
def test_a_theorem_holds(name):
    row = THEOREMS[name].prove()
    assert row.holds, row.counterexample
    assert row.error <= 1e-15
    assert row.degree >= 1


@pytest.mark.parametrize("name", THEOREMS)
def test_every_part_fails_with_one_sign_changed(name):
    """What cannot be falsified proves nothing: each part must notice, at the first random point."""
    for left, right in THEOREMS[name].claim(Field(FIELD, seed=3), -1):
        assert any(x != 0 for x in np.asarray(left - right, dtype=object).flat)


@pytest.mark.parametrize("name", ["THESIS Proposition 3.6", "THESIS Lemma C-1", "FORBES identity 1"])
def test_a_false_statement_shows_fractions(name):
    row = THEOREMS[name].prove(sign=-1)
    assert not row.holds
    assert "against" in row.counterexample and "rational point" in row.counterexample


def test_the_list_is_that_of_the_documents():
    wanted = [f"THESIS Proposition 3.{k}" for k in range(1, 15)] + [f"THESIS Theorem 4.{k}" for k in range(1, 6)]
    wanted += ["THESIS Lemma 5.1", "THESIS Lemma 5.2", "THESIS Lemma 6.1"]
    wanted += [f"THESIS Lemma C-{k}" for k in range(1, 13)]
    wanted += ["PARSA Theorem 1", "PARSA Theorem 2", "PARSA Corollary 1"]
    wanted += [f"FORBES identity {k}" for k in (1, 2, 3)]
    wanted += [f"NGUYEN Theorem {k}" for k in (1, 2, 3)] + [f"NGUYEN ({k})" for k in range(11, 19)]
    assert set(wanted) <= set(THEOREMS)


def test_a_theorem_states_itself():
    shown = str(THEOREMS["THESIS Proposition 3.6"])
    assert "(3.4.10)" in shown and CITATIONS["THESIS"].split(",")[0] in shown
    assert "u~ v~ = v u^T - (u.v) 1" in shown
    table = str(THEOREMS)
    assert all(name in table for name in THEOREMS)
    assert max(map(len, table.splitlines())) < 140


def test_an_unknown_name_is_answered_with_a_near_one():
    with pytest.raises(KeyError, match="THESIS Lemma C-12"):
        THEOREMS["lemma c-12"]


def test_no_prime_is_large_enough_for_an_error_of_nothing():
    with pytest.raises(ArgumentError, match="no prime"):
        THEOREMS["THESIS Proposition 3.2"].prove(error=0.0)


def test_the_definitions_behind_the_lemmas_give_the_forces_of_the_joints():
    """eta and the force of the generalized link, projected on the axes, are what Newton and Euler's recursion gives."""
    s = serial_chain(Field(FIELD, seed=5))
    chain = GenericChain(s.mechanism, s.q, s.v, s.a)
    tau = INVERSE_DYNAMICS["newton-euler"](s.mechanism.tree, s.q, s.v, s.a, None)
    mass = np.cumsum(np.array(chain.m, dtype=object)[::-1])[::-1]
    for i, kind in enumerate(CHAIN):
        needed = chain.eta(i) if kind == "revolute" else chain.sdd[i] * mass[i] + chain.Udd(i)
        assert sum(z * x for z, x in zip(chain.z[i], needed)) == tau[i]

"""What is computed, and what is read, against an oracle that shares nothing with the library; ``make attack`` has more.

A few random mechanisms with everything in them, and a few dozen models of every format written by grammar.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pytest

import grammar
import meaning
from oracle import STEP, Oracle, skew
from random_mechanisms import random_mechanism

KINDS = {"fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free"}
SEEDS = range(40)


@pytest.mark.parametrize("seed", range(6))
def test_velocities_and_accelerations_of_the_oracle_are_derivatives_of_its_poses(seed):
    """By complex steps; so that poses alone, which are definitions, are what the oracle rests on."""
    mechanism = random_mechanism(seed, 5, mimic=0.3, floating=seed % 2 == 0)
    oracle = Oracle(mechanism)
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    soon = oracle.moved(q, 1j * STEP * v)
    for name, body in oracle.all_bodies(q, v, a).items():
        poses = oracle.all_bodies(soon)[name]
        np.testing.assert_allclose(poses.R.imag / STEP, skew(body.w) @ body.R, atol=1e-13)
        np.testing.assert_allclose(poses.p.imag / STEP, body.v, atol=1e-13)
        rates = oracle.all_bodies(soon, v + 1j * STEP * a)[name]
        np.testing.assert_allclose(rates.w.imag / STEP, body.dw, atol=1e-12)
        np.testing.assert_allclose(rates.v.imag / STEP, body.dv, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_calls_mean_what_the_oracle_says(seed):
    """Four quantities of a random mechanism with random settings, layouts and precisions."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = meaning.case(rng, size=3)
        names = [name for name in meaning.CHECKED if meaning.applies(case, name)]
        wrong = [meaning.check(case, str(name), rng) for name in rng.permutation(names)[:4]]
    assert not any(wrong), wrong


@pytest.mark.parametrize("seed", range(4))
def test_loops_with_all_terms_of_joints_mean_what_the_oracle_says(seed):
    """Armature, damping and friction beside constraints, force elements and wrenches."""
    rng = np.random.default_rng([seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = iter(lambda: meaning.including(meaning.case(rng, 1.0, 4), ("armature", "damping", "friction")), None)
        case = next(c for c in drawn if c.oracle.m.constraints and np.abs(c.oracle.resistance(c["v"])).max() > 0.1)
        wrong = [meaning.compared(case, name, meaning.call(case, name, float)) for name in ("terms", "multipliers")]
    assert not any(wrong), wrong


def test_cases_of_chance_have_everything_in_them():
    """What never comes up is never compared."""
    found, settings = set(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(150):
            case = meaning.case(np.random.default_rng(seed), loops=0.7, size=4)
            m = case.oracle.m
            found |= {item.kind for item in (*m.joints, *m.forces, *m.constraints)}
            found |= {"mimic"} if any(joint.mimic for joint in m.joints) else set()
            settings |= {*case.dynamics.include, *(("wrenches",) if case.dynamics.wrenches else ())}
            settings |= {"parameters"} if case.dynamics.parameter_names else set()
    assert found >= KINDS | {"mimic", *meaning.ELEMENTS, *meaning.LOOPS}
    assert settings == {"armature", "damping", "friction", "wrenches", "parameters"}


@pytest.mark.parametrize("form", grammar.WRITERS)
def test_models_of_the_grammar_are_read_as_what_they_are(form):
    """Mass, mass matrix, inverse dynamics with joint terms and potential energy of forty models; most are accepted."""
    count: Counter[str] = Counter()
    for seed in SEEDS:
        word, said = grammar.outcome(form, np.random.default_rng(seed))
        assert word != "WRONG", f"seed {seed}: {said}"
        count[word] += 1
    assert count["accepted"] > 0.7 * len(SEEDS), count

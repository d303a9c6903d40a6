"""Dynamics and energies are linear in the inertial parameters; base parameters carry all of their effect.

Tolerance: the same sums in another order, 1e-11 of the largest entry.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from algorithm_cases import MIXES, difference, drawn, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algorithms.base_parameters import base_parameters, grouping_rules
from dalembert.algorithms.energy import kinetic_energy, potential_energy
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.regressor import (
    kinetic_energy_regressor,
    parameter_names,
    parameter_vector,
    potential_energy_regressor,
    regressor,
)
from dalembert.costs.tables import generic_arm
from dalembert.errors import UnsupportedError
from dalembert.model import Body, Inertia, Mechanism
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_forces_and_energies_are_linear_in_the_parameters(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    pi = parameter_vector(mechanism)
    Y = regressor(mechanism, q, v, a)
    assert Y.shape == (mechanism.nv, len(pi)) and len(parameter_names(mechanism)) == len(pi)
    scale = np.abs(Y).max(initial=1)
    assert difference(Y @ pi, inverse_dynamics(mechanism, q, v, a), scale) < 1e-11
    T, U = kinetic_energy(mechanism.tree, q, v), potential_energy(mechanism.tree, q)
    assert abs(kinetic_energy_regressor(mechanism, q, v) @ pi - T) <= 1e-11 * max(T, 1)
    assert abs(potential_energy_regressor(mechanism, q) @ pi - U) <= 1e-11 * max(abs(U), 100)


def with_parameters(mechanism: Mechanism, pi: np.ndarray) -> Mechanism:
    bodies = [
        Body(b.name, Inertia.from_parameters(pi[10 * k : 10 * k + 10]), b.shapes)
        for k, b in enumerate(mechanism.bodies)
    ]
    return mechanism.replace(bodies=bodies, strict=False)


@settings(max_examples=12)
@given(mix=st.sampled_from(["revolute", "revolute-prismatic", "helical", "spherical", "floating", "mimic"]), seed=seeds)
def test_base_parameters_carry_all_of_the_effect(mix, seed):
    """tau = Y_kept G pi, the kept columns are independent, and parameters with equal G pi are not to be told apart."""
    mechanism, q, v, a = drawn(mix, seed, bodies=3)
    base, pi = base_parameters(mechanism), parameter_vector(mechanism)
    Y = regressor(mechanism, q, v, a)
    scale = np.abs(Y).max(initial=1) * np.abs(pi).max(initial=1)
    assert difference(Y[:, base.kept] @ base.values(pi), Y @ pi, scale) < 1e-9
    if not base.count:
        return
    null = np.linalg.svd(base.matrix)[2][base.count :]
    other = pi + null.T @ np.random.default_rng(seed).normal(size=len(null))
    assert difference(Y @ other, Y @ pi, scale) < 1e-9
    states = [mechanism.random_state(np.random.default_rng(k)) for k in range(3 + 2 * base.count // mechanism.nv)]
    W = np.concatenate([regressor(mechanism, *state)[:, base.kept] for state in states])
    assert np.linalg.matrix_rank(W / np.linalg.norm(W, axis=0), tol=1e-9) == base.count


@pytest.mark.parametrize("size", [1.0, 1e-2, 1e-5])
def test_base_parameters_of_small_mechanisms_carry_all_of_the_effect(size):
    """Coefficients are lengths and squares of lengths: those of a mechanism of micrometres are tiny, not negligible."""
    arm = random_mechanism(3, 3, kinds=("revolute",), gravity=(0, 0, 0))
    placed = [
        replace(j, placement=replace(j.placement, translation=size * j.placement.translation)) for j in arm.joints
    ]
    arm = arm.replace(joints=placed)
    units = np.tile([1 / size**2, *[1 / size] * 3, *[1] * 6], len(arm.bodies))  # so that all moments matter alike
    pi = units * np.random.default_rng(0).normal(size=len(units))
    base = base_parameters(arm)
    Y = regressor(arm, *arm.random_state(np.random.default_rng(1)))
    assert difference(Y[:, base.kept] @ base.values(pi), Y @ pi, np.abs(Y @ pi).max()) < 1e-10


def test_counts_that_are_known():
    """7 n - 4 for revolute joints in general position on a base whose first axis is not vertical (Gautier, Khalil);
    a first axis along gravity shows one parameter of the first link, otherwise three; 36 for the Puma 560."""
    for n in (1, 2, 3, 4):
        arm = generic_arm(n)
        assert base_parameters(arm).count == 7 * n - 4
        rules = grouping_rules(arm)
        assert rules.count == 7 * n - 4 and rules.complete
    puma = da.load("puma560")
    assert base_parameters(puma).count == 36


def test_two_routes_agree_on_chains_with_slides():
    for seed in range(5):
        chain = random_mechanism(seed, 3, kinds=["revolute", "prismatic"], branching=0, massless=0)
        base, rules = base_parameters(chain), grouping_rules(chain)
        assert rules.complete and rules.count == base.count


def test_two_routes_agree_whatever_the_axes():
    """Chains and trees whose axes are no coordinate axes: as many rules as base parameters, and the same forces."""
    import sympy

    for seed in range(4):
        m = random_mechanism(seed, 3, kinds=["revolute"], branching=seed % 2, massless=0)
        base, rules = base_parameters(m), grouping_rules(m)
        assert rules.complete and rules.count == base.count
        # the same space: the rules' coefficients lie in that of the base parameters
        symbols = [sympy.Symbol(name) for name in base.names]
        rows = np.array([[float(e.coeff(s)) for s in symbols] for e in rules.expressions])
        assert np.linalg.matrix_rank(np.vstack([rows, base.matrix]), tol=1e-6) == base.count


@pytest.mark.parametrize("unit", [1e-3, 1e4])
@pytest.mark.parametrize("seed", [13, 15, 19, 27])
def test_rules_do_not_depend_on_the_length_of_links(unit, seed):
    """Links of kilometres: masses have effects of 1e8 beside those of second moments, and as many rules stay; none sees
    what no force shows. Spaces are compared in lengths of that unit, where coefficients are of order one."""
    import sympy

    m = random_mechanism(seed, 2 + seed % 4, kinds=["revolute", "prismatic", "spherical", "helical"], branching=0.3)
    places = [replace(joint.placement, translation=joint.placement.translation * unit) for joint in m.joints]
    scaled = m.replace(joints=[replace(j, placement=p, pitch=j.pitch * unit) for j, p in zip(m.joints, places)])
    base, rules = base_parameters(scaled), grouping_rules(scaled)
    assert rules.complete and rules.count == base.count == base_parameters(m).count
    units = np.tile(unit ** np.array([2, 1, 1, 1, *[0] * 6]), len(m.bodies))
    symbols = [sympy.Symbol(name) for name in base.names]
    rows = np.array([[float(e.coeff(s)) for s in symbols] for e in rules.expressions])
    both = np.vstack([rows, base.matrix]) / units
    assert np.linalg.matrix_rank(both / np.linalg.norm(both, axis=1, keepdims=True), tol=1e-6) == base.count


def test_rules_are_exact_with_symbols():
    """A planar double pendulum with symbolic lengths: I1zz + a^2 m2 is one parameter."""
    import sympy

    a = sympy.Symbol("a", positive=True)
    arm = da.from_dh([(0, 0, 0, 0), (0, a, 0, 0)], gravity=(0, -9.81, 0), name="planar", strict=False)
    rules = grouping_rules(arm)
    named = dict(zip(rules.names, rules.expressions))
    m2, mx1 = sympy.Symbol("link2.mass"), sympy.Symbol("link1.mx")
    assert sympy.expand(named["link1.mx"] - mx1 - a * m2) == 0
    assert sympy.expand(named["link1.Jxx"] - sympy.Symbol("link1.Izz") - a**2 * m2).coeff(m2) == 0
    assert rules.count == 6 and rules.complete
    with pytest.raises(UnsupportedError, match="grouping_rules"):
        base_parameters(arm)


def symbolic_mechanisms() -> dict[str, Mechanism]:
    import sympy

    a, b, d = sympy.symbols("a b d", positive=True)
    alpha = sympy.Symbol("alpha", real=True)
    slide = {"joint": "prismatic"}
    tables = {
        "scara": [{}, {"a": a}, {"a": b, "alpha": sympy.pi, **slide}, {"d": d}],
        "tilted slide": [{}, {"a": a, "alpha": alpha, **slide}],
        "two tilted slides": [slide, {"a": a, "alpha": alpha, **slide}, {"a": b, "alpha": alpha}],
        "arm": [{}, {"a": a, "alpha": alpha}, {"a": 0.5, "alpha": alpha}],
        "sliding wrist": [{}, {"alpha": sympy.pi / 2, **slide}, {"alpha": alpha, "d": d}],
    }
    arms = {name: da.from_dh(rows, name="arm", strict=False) for name, rows in tables.items()}
    return arms | {name: da.load(name) for name in ("stacker", "four_bar", "free_body", "rp_arm")}


SYMBOLIC = symbolic_mechanisms()


@pytest.mark.parametrize("name", SYMBOLIC)
def test_rules_of_symbolic_mechanisms_are_complete_and_exact(name):
    """With any numbers: as many as base parameters, and what they do not see changes no force; without floats."""
    import sympy

    mechanism = SYMBOLIC[name]
    rules = grouping_rules(mechanism)
    symbols = [sympy.Symbol(n) for n in parameter_names(mechanism)]
    coefficients = [[e.coeff(s) for s in symbols] for e in rules.expressions]
    assert rules.complete and not any(e.atoms(sympy.Float) for e in rules.expressions)
    for row, e in zip(coefficients, rules.expressions):
        assert sympy.expand(e - sum(c * s for c, s in zip(row, symbols))) == 0
        assert all(c == 0 or sympy.simplify(c) != 0 for c in row)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        numbers = {s: rng.uniform(0.2, 1.4) for s in mechanism.symbols}
        numeric = da.substitute(mechanism.replace(strict=False), numbers)
        G = np.array([[float(c.subs(numbers)) for c in row] for row in coefficients])
        assert np.linalg.matrix_rank(G, tol=1e-9) == rules.count == base_parameters(numeric).count
        unseen = np.linalg.svd(G)[2][rules.count :].T  # G unseen = 0
        Y = regressor(numeric, *numeric.random_state(rng))
        assert np.abs(Y @ unseen).max(initial=0) < 1e-11 * np.abs(Y).max()


def test_combinations_read_well():
    arm = da.from_dh([(0, 0, 0, 0), (0, 0.5, 0, 0)], gravity=(0, -9.81, 0), name="planar", strict=False)
    base = base_parameters(arm)
    assert base.count == 6
    texts = base.combinations()
    assert "link1.mx + 0.5 link2.mass" in texts
    assert "link1.Izz + 0.25 link2.mass" in texts
    assert "link2.mz" in base.unidentifiable and "link1.Ixx" in base.unidentifiable

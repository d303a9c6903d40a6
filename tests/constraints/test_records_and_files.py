"""Constraints and forces as data: files, tables, parameters, and operations on mechanisms that carry them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sympy
from constraint_cases import relative

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints import ConstrainedDynamics, constraint_rows, coordinate_symbols
from dalembert.constraints.classical import ANDREWS_START, andrews, four_bar, rolling_disc, whipple_bicycle
from dalembert.errors import UnsupportedError
from dalembert.formats import read_toml, write_toml
from dalembert.model import WORLD, Constraint, Force
from dalembert.model.assembly import attach, merge_fixed, subtree
from dalembert.model.operations import lock
from dalembert.model.parameters import parameters, symbolise


def quarter(q, t):
    return q[0] - t / 4


@pytest.mark.parametrize("make", [andrews, whipple_bicycle, four_bar, rolling_disc])
def test_mechanisms_come_back_from_their_files(make):
    mechanism = make()
    assert read_toml(write_toml(mechanism)) == mechanism


def test_motions_stops_and_wrenches_come_back_from_a_file():
    mechanism = four_bar().replace(
        constraints=(*four_bar().constraints, Constraint("drive", "motion", "crank", "", coefficients=(0.1, 2.0))),
        forces=(
            Force("stop", "joint-stop", "rocker", "", stiffness=1e4, damping=10, upper=2.0, smoothing=1e-3),
            Force("rub", "joint-friction", "crank", "", value=0.3),
            Force("push", "wrench", "coupler_bar", WORLD, components=(1, 2, 3, 4, 5, 6)),
        ),
    )
    assert read_toml(write_toml(mechanism)) == mechanism


def test_functions_cannot_be_written_to_a_file():
    mechanism = four_bar().replace(constraints=(Constraint("mine", "position", function=quarter),))
    with pytest.raises(UnsupportedError, match="'mine' is a function"):
        write_toml(mechanism)


def test_tables_show_what_constraints_and_forces_mean():
    shown = str(andrews())
    assert "stiffness 4530; rest 0.07785" in shown
    assert "rolling-disc" in str(whipple_bicycle()) and "radius 0.3" in str(whipple_bicycle())


def test_numbers_of_constraints_and_forces_are_parameters():
    addresses = parameters(andrews())
    assert addresses["spring.stiffness"] == 4530 and addresses["motor.value"] == 0.033
    r = sympy.Symbol("r")
    symbolic = symbolise(whipple_bicycle(), {"rear_contact.value": r})
    assert symbolic.symbols == (r,)


def test_pickles_and_equality_hold_for_functions_and_formulas():
    mechanism = four_bar()
    (crank, *_), _, t = coordinate_symbols(mechanism)
    written = mechanism.replace(constraints=(Constraint("mine", "position", function=crank - t / 4),))
    coded = mechanism.replace(constraints=(Constraint("mine", "position", function=quarter),))
    for one in (written, coded):
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert relative(constraint_rows(again, [1.0, 2, 3], [4, 5, 6], 7).G, [[1.0, 0, 0]]) == 0
    system = pickle.loads(pickle.dumps(ConstrainedDynamics(andrews(), forces="all", reference=ANDREWS_START)))
    assert system.forward_dynamics(ANDREWS_START, np.zeros(7), np.zeros(7))[0] == pytest.approx(14222.44391995411)


def test_kernels_of_different_functions_are_different():
    """The cache must tell functions by what they compute, not by their names or addresses."""
    found = []
    for rate in (1.0, 2.0):
        mechanism = four_bar().replace(
            constraints=(Constraint("drive", "motion", "crank", "", function=lambda t: scalar.sin(rate * t)),)  # noqa: B023
        )
        system = ConstrainedDynamics(mechanism)
        found.append(system.forward_dynamics(np.zeros(3), [rate, 0, 0], np.zeros(3), 0.3)[0])
        assert found[-1] == pytest.approx(-(rate**2) * np.sin(0.3 * rate))
    assert found[0] != found[1]


def test_operations_keep_refuse_or_drop_constraints():
    mechanism = four_bar()
    held = lock(
        mechanism.replace(constraints=(Constraint("m", "motion", "crank", "", coefficients=(0, 1)),)), {"crank": 1}
    )
    assert held.constraints == () and any("'m' is left out" in note for note in held.notes)
    mine = mechanism.replace(constraints=(Constraint("mine", "position", function=quarter),))
    with pytest.raises(UnsupportedError, match=r"'mine'.*layout"):
        lock(mine, {"crank": 0.0})
    with pytest.raises(UnsupportedError, match="attach"):
        attach(mechanism, mine, to=WORLD, prefix="b_")
    assert merge_fixed(mine).constraints == mine.constraints
    assert subtree(mine, "crank_bar").constraints == ()
    disc = rolling_disc()
    raised = attach(four_bar(), disc, to=WORLD, joint=None, prefix="d_")
    assert raised.constraints[-1].a == "d_disc"
    q = np.concatenate([[0.1, 0.2, 0.3], [0, 0, 0.5, -np.sqrt(0.5), 0, 0, np.sqrt(0.5)]])
    rows = constraint_rows(raised, q).phi[-3:]
    assert np.abs(rows).max() < 1e-12
    assert Transform.identity() == raised.constraints[-1].placement_b

"""Closed loops against Pinocchio's constraint dynamics: points and frames of random trees welded together.

Its proximal solver stops at 1e-12; accelerations lose the condition of the constrained inertia matrix: 1e-7.
"""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import relative
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dalembert.constraints import constraint_rows
from dalembert.constraints.solve import solve
from dalembert.dynamics.constrained import terms
from dalembert.dynamics.quantity import Setting
from dalembert.kinematics import pose
from dalembert.model import WORLD, Constraint
from random_mechanisms import random_mechanism, random_transform

pin = pytest.importorskip("pinocchio")


def placed(transform):
    return pin.SE3(np.array(transform.rotation, dtype=float), np.array(transform.translation, dtype=float))


def in_pinocchio(mechanism):
    """The tree and its closures; joints in the same order, so that q and v are the same vectors."""
    model = pin.Model()
    model.gravity.linear = np.array(mechanism.gravity, dtype=float)
    ids = {WORLD: 0}
    for joint in mechanism.joints:
        kind = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
        inertia = mechanism.body(joint.child).inertia
        ids[joint.child] = model.addJoint(
            ids[joint.parent], kind(np.array(joint.axis)), placed(joint.placement), joint.name
        )
        matter = pin.Inertia(inertia.mass, np.array(inertia.center), np.array(inertia.tensor))
        model.appendBodyToJoint(ids[joint.child], matter, pin.SE3.Identity())
    kinds = {"spherical": pin.ContactType.CONTACT_3D, "weld": pin.ContactType.CONTACT_6D}
    loops = pin.StdVec_RigidConstraintModel(
        [
            pin.RigidConstraintModel(
                kinds[c.kind], model, ids[c.a], placed(c.placement_a), ids[c.b], placed(c.placement_b), pin.LOCAL
            )
            for c in mechanism.constraints
        ]
    )
    return model, loops


@pytest.mark.parametrize("kind", ["spherical", "weld"])
@settings(max_examples=25)
@given(seed=st.integers(0, 10_000))
def test_accelerations_of_closed_loops(kind, seed):
    rng = np.random.default_rng(seed)
    tree = random_mechanism(rng, 9, kinds=["revolute", "prismatic"], massless=0.0, branching=0.2)
    q, v, _ = tree.random_state(rng)
    here = random_transform(rng, 0.3)
    other = "b2" if seed % 2 else WORLD
    there = pose(tree, q, other).inverse() @ pose(tree, q, "b9") @ here
    mechanism = tree.replace(constraints=(Constraint("loop", kind, other, "b9", there, here),))
    G = constraint_rows(mechanism, q).G
    size = np.linalg.svd(G)[1]
    assume(size[-1] > 0.05 * size[0])
    v -= np.linalg.pinv(G) @ (G @ v)
    tau = rng.normal(size=mechanism.nv)
    M, f, G, gamma = terms(Setting(mechanism), q, v, tau, 0)
    ours = solve(M, G, f, gamma)
    assert ours.rank == len(G)

    model, loops = in_pinocchio(mechanism)
    data = model.createData()
    datas = pin.StdVec_RigidConstraintData([loop.createData() for loop in loops])
    pin.initConstraintDynamics(model, data, loops, datas)
    theirs = pin.constraintDynamics(model, data, q, v, tau, loops, datas, pin.ProximalSettings(1e-12, 1e-10, 50))
    assert relative(ours.a, theirs) < 1e-7

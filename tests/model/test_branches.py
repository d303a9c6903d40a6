"""Trunk and branches of trees."""

import numpy as np

import dalembert as da
from dalembert.model.tree import branches, coordinate_branches
from random_mechanisms import random_mechanism

INERTIA = da.Inertia.box(1.0, (0.1, 0.2, 0.3), (0, 0, 0))


def tree(parents, mimic=None):
    """Revolute joints on the given parents, -1 for the world."""
    bodies = [da.Body(f"b{k}", INERTIA) for k in range(len(parents))]
    joints = []
    for k, p in enumerate(parents):
        follows = da.Mimic(f"j{mimic[k]}", 2.0, 0.0) if mimic and k in mimic else None
        joints.append(
            da.Joint(f"j{k}", "revolute", "world" if p < 0 else f"b{p}", f"b{k}", axis=(0, 0, 1), mimic=follows)
        )
    return da.Mechanism("tree", bodies, joints).tree


def test_a_chain_is_all_trunk_or_one_branch():
    assert len(set(branches(tree([-1, 0, 1, 2])))) == 1


def test_arms_on_a_torso():
    assert branches(tree([-1, 0, 1, 2, 3, 1, 5, 6])) == (0, 0, 1, 1, 1, 2, 2, 2)


def test_the_trunk_grows_into_a_large_branch_only():
    """Two legs of three and a torso that carries two arms of three: the torso belongs to the trunk."""
    found = branches(tree([-1, 0, 1, 2, 3, 4, 5, 3, 7, 8, 0, 10, 11]))
    assert [k for k, b in enumerate(found) if b == 0] == [0, 1, 2, 3]
    assert len(set(found)) == 4


def test_separate_roots_are_branches_without_a_trunk():
    assert branches(tree([-1, 0, -1, 2])) == (1, 1, 2, 2)


def test_a_coordinate_that_two_branches_follow_belongs_to_the_trunk():
    q, v = coordinate_branches(tree([-1, 0, 1, 0, 3], mimic={3: 1}))
    assert q == v == (0, 0, 1, 2)


def test_branches_meet_in_the_trunk_only():
    """The inertia matrix is zero between different branches, and what hangs on a branch belongs to it."""
    for seed in range(40):
        m = random_mechanism(np.random.default_rng(seed), 12)
        found = branches(m.tree)
        for k, link in enumerate(m.tree.links):
            if link.parent >= 0 and found[link.parent]:
                assert found[k] == found[link.parent]
        v = coordinate_branches(m.tree)[1]
        i, j = np.nonzero(m.tree.support)
        assert all(v[a] == v[b] or 0 in (v[a], v[b]) for a, b in zip(i, j))

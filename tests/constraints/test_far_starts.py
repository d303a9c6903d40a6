"""Closing loops from starts that are far from any assembly, and reaching all assemblies."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.algebra.transform import Transform
from dalembert.constraints.closure import mirrored
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError
from dalembert.kinematics import pose
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism

TURNED = {"universal": [np.pi / 2, 0, 0]}
"""How the frame that closes must be turned against the end of the chain, so that the chain can be closed."""


def chain(*placements: Transform, kinds: list[str] | None = None) -> Mechanism:
    """Joints about or along z in series."""
    joints, bodies, parent = [], [], WORLD
    for k, placement in enumerate(placements):
        joints.append(Joint(f"j{k}", kinds[k] if kinds else "revolute", parent, f"b{k}", placement))
        bodies.append(Body(f"b{k}", Inertia.box(1, [0.1, 0.2, 0.3])))
        parent = f"b{k}"
    return Mechanism("chain", tuple(bodies), tuple(joints))


def closed(open_chain: Mechanism, kind: str, q: np.ndarray) -> Mechanism:
    """The chain with its last body held where it is at q, by a closure of the given kind."""
    last = open_chain.bodies[-1].name
    there = pose(open_chain, q, last) @ Transform.from_rpy_xyz(TURNED.get(kind, [0, 0, 0]), [0, 0, 0])
    return open_chain.replace(constraints=(Constraint("closure", kind, WORLD, last, there),))


@pytest.mark.parametrize("kind", ["weld", "prismatic", "revolute", "cylindrical", "universal", "spherical"])
def test_loops_close_from_anywhere(kind):
    """A chain that was closed at q can be closed; starts are uniform over whole turns. With sines instead of half
    angles, and without other starts, two thirds of these fail."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        places = [Transform.from_rpy_xyz(rng.uniform(-3, 3, 3), rng.uniform(-1, 1, 3)) for _ in range(6)]
        kinds = ["prismatic" if x < 0.2 else "revolute" for x in rng.random(6)]
        system = Dynamics(closed(chain(*places, kinds=kinds), kind, rng.uniform(-2, 2, 6)))
        for _ in range(5):
            start = rng.uniform(-3, 3, 6)
            q = system.assemble(start)
            assert np.abs(system.residual(q)["closure"]).max() < 1e-10
            assert not mirrored(system, q)
            assert np.array_equal(q, system.assemble(start))  # the same every time


def test_a_spherical_wrist_has_eight_assemblies():
    """Pieper (1968): two shoulders, two elbows, two wrists."""
    turn = Transform.from_rpy_xyz
    arm = chain(
        turn([0, 0, 0], [0, 0, 0.5]), turn([-np.pi / 2, 0, 0], [0, 0.1, 0]), turn([0, 0, 0], [0.6, 0, 0]),
        turn([np.pi / 2, 0, 0], [0, 0, 0]), turn([-np.pi / 2, 0, 0], [0, 0, 0.7]) , turn([np.pi / 2, 0, 0], [0, 0, 0]),
    )  # fmt: skip
    system = Dynamics(closed(arm, "weld", np.array([0.3, -0.7, 0.9, 0.4, 0.8, -0.5])))
    modes = system.assembly_modes([0.3, -0.7, 0.9, 0.4, 0.8, -0.5], starts=120)
    assert len(modes) == 8
    for q in modes:
        assert np.abs(system.residual(q)["closure"]).max() < 1e-10


def test_without_other_starts_assembly_goes_downhill_or_fails():
    """A rod of no length has no direction; from other starts it has."""
    bar = chain(Transform.identity())
    reach = Constraint("reach", "distance", WORLD, "b0", Transform.from_translation([1, 0, 0]),
                       Transform.from_translation([1, 0, 0]), value=0.2)  # fmt: skip
    system = Dynamics(bar.replace(constraints=(reach,)))
    with pytest.raises(SingularityError, match=r"from this start at t = 0 s; largest.*\n  reach: "):
        system.assemble([0.0], restarts=0)
    with pytest.raises(SingularityError, match=r"nor from 2 others.*\n  reach: "):
        system.assemble([0.0], restarts=2, iterations=1)
    q = system.assemble([0.0])
    np.testing.assert_allclose(2 * abs(np.sin(q[0] / 2)), 0.2, rtol=1e-9)

"""What the tests of operations share: comparing poses, moving states between mechanisms by joint name, a small chain.

Tolerances: states and sizes are of order one and trees have at most eight bodies, so rounding stays below 1e-11.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Inertia, Joint, Limits, Mechanism, Mimic

TIGHT = {"rtol": 1e-10, "atol": 1e-10}


def same_pose(a: Transform, b: Transform) -> None:
    np.testing.assert_allclose(a.homogeneous(), b.homogeneous(), **TIGHT)


def by_name(old: Mechanism, new: Mechanism, q, *vectors):
    """The state of `old` in the layout of `new`: joints are recognised by name, joints fixed in one are left out."""
    moved_q, moved = new.neutral, [np.zeros(new.nv) for _ in vectors]
    for joint in new.joints:
        if joint.nq and any(joint.name == known.name and known.nq for known in old.joints):
            moved_q[new.q_slice(joint.name)] = q[old.q_slice(joint.name)]
            for target, source in zip(moved, vectors):
                target[new.v_slice(joint.name)] = source[old.v_slice(joint.name)]
    return moved_q, *moved


def chain(follow: Mimic | None = None) -> Mechanism:
    """Two bodies in a row; the second joint may follow the first."""
    ball = Inertia.sphere(1, 0.1, (0.2, 0, 0))
    out = Transform.from_translation([0.5, 0, 0])
    return Mechanism(
        "chain",
        (Body("b1", ball), Body("b2", ball)),
        (
            Joint("j1", "revolute", WORLD, "b1", limits=Limits(-1, 1)),
            Joint("j2", "revolute", "b1", "b2", placement=out, axis=[0, 1, 0], mimic=follow),
        ),
    )

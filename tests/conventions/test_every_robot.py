"""Every robot that Pinocchio reads, fixed and floating: the same poses, Jacobians and inverse dynamics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dalembert import conventions
from dalembert.algorithms import inverse_dynamics
from dalembert.formats.urdf import read_urdf
from dalembert.kinematics import jacobian, poses
from dalembert.model import WORLD
from quick import QUICK, some

pin = pytest.importorskip("pinocchio")


def compare(path: Path, base: str) -> float:
    """Worst relative difference of the generalised forces; poses and a Jacobian are asserted."""
    try:
        model = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if base == "free" else []))
    except (RuntimeError, ValueError):
        return -1  # not a file that Pinocchio reads
    mechanism = read_urdf(path, base=base)
    convention = conventions.Pinocchio(mechanism, model)
    q, v, a = mechanism.random_state(np.random.default_rng(0))
    q2, data = convention.q(q), model.createData()
    pin.framesForwardKinematics(model, data, q2)
    for name, pose in poses(mechanism, q).items():
        frame = model.getFrameId(name, pin.FrameType.BODY)
        if frame < model.nframes and name != WORLD:  # a link called world floats too
            np.testing.assert_allclose(pose.homogeneous(), data.oMf[frame].homogeneous, rtol=1e-10, atol=1e-10)
    tip = mechanism.bodies[-1].name
    theirs = pin.computeFrameJacobian(
        model, data, q2, model.getFrameId(tip, pin.FrameType.BODY), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    )
    ours = np.vstack(jacobian(mechanism, q, tip)[::-1])
    their_columns = convention.from_jacobian(q2, np.reshape(theirs, (6, model.nv)))
    np.testing.assert_allclose(their_columns, ours, rtol=1e-10, atol=1e-10)
    ours = inverse_dynamics(mechanism, q, v, a)
    theirs = convention.from_tau(q2, pin.rnea(model, data, q2, convention.v(q, v), convention.a(q, v, a)))
    return float(np.abs(ours - theirs).max(initial=0) / max(np.abs(ours).max(initial=0), 1e-300))


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_every_robot_agrees_with_pinocchio(base, robots_folder):
    worst = {path: compare(path, base) for path in some(sorted(robots_folder.rglob("*.urdf")), 20)}
    assert sum(error >= 0 for error in worst.values()) > (10 if QUICK else 50)
    assert {str(path): error for path, error in worst.items() if error > 1e-10} == {}

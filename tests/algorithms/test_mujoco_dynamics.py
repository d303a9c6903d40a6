"""MuJoCo agrees on three models: inverse dynamics, inertia matrix and forward dynamics, with armature and damping.

Tolerance: MuJoCo computes in double precision, and with inertias given along principal axes nothing is lost on the way
in: 1e-9 of the largest entry. Accelerations lose the condition number of the inertia matrix, below 1e4 here.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import difference

from dalembert import conventions
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.dynamics.quantity import Setting
from dalembert.dynamics.tree import forward_dynamics, inverse_dynamics, mass_matrix
from dalembert.formats.mjcf import read_mjcf

mujoco = pytest.importorskip("mujoco")

MATTER = '<inertial pos="0.05 -0.02 {z}" mass="{m}" diaginertia="0.02 0.03 0.025"/>'


def body(name: str, place: str, joints: str, inside: str = "", m: float = 1.0) -> str:
    return f'<body name="{name}" {place}>{joints}{MATTER.format(m=m, z=0.1 * m)}{inside}</body>'


def model(worldbody: str) -> str:
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0.3 -0.2 -9.81"/>'
        f"<worldbody>{worldbody}</worldbody></mujoco>"
    )


HINGE = '<joint type="hinge" axis="{axis}" damping="{damping}" armature="{armature}"/>'
ARM = model(
    body("a", 'pos="0 0 0.3"', HINGE.format(axis="0 0 1", damping=0.5, armature=0.1), m=3, inside=body(
        "b", 'pos="0.1 0 0.2" euler="0.3 0.4 0.5"', HINGE.format(axis="0 1 0", damping=0.2, armature=0.2), m=2,
        inside=body("c", 'pos="0.3 0.1 0"', '<joint type="slide" axis="0.6 0 0.8" damping="2"/>', body(
            "d", 'pos="0 0 0.1" quat="0.5 0.5 -0.5 0.5"', HINGE.format(axis="1 2 2", damping=0, armature=0)))))
)  # fmt: skip
FLOATING = model(
    body("base", 'pos="1 2 3"', "<freejoint/>", m=5, inside=
        body("left", 'pos="0 0.2 0"', '<joint type="ball"/>', body("foot", 'pos="0 0 -0.4"', HINGE.format(
            axis="0 1 0", damping=0.1, armature=0.05)))
        + body("right", 'pos="0 -0.2 0"', '<joint type="slide" axis="0 0 1"/>'))
)  # fmt: skip
HAND = model(
    body("palm", 'pos="0 0 1"', HINGE.format(axis="1 0 0", damping=0, armature=1), m=2, inside="".join(
        body(f"f{k}", f'pos="0.1 {0.05 * k} 0"', HINGE.format(axis="0 1 0", damping=0.1 * k, armature=0), body(
            f"t{k}", 'pos="0.1 0 0"', HINGE.format(axis="0 0.6 0.8", damping=0, armature=0.01), m=0.5))
        for k in range(3)))
)  # fmt: skip


@pytest.mark.parametrize("text", [ARM, FLOATING, HAND], ids=["arm", "floating", "hand"])
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_dynamics_of_a_model(text, tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(text)
    theirs, mechanism = mujoco.MjModel.from_xml_string(text), read_mjcf(path)
    convention = conventions.MuJoCo(mechanism, theirs)
    include = ("armature", "damping")
    setting, joints = Setting(mechanism, include), joint_forces(mechanism, include)
    rng = np.random.default_rng(0)
    for _ in range(10):
        q, v, a = mechanism.random_state(rng)
        data = mujoco.MjData(theirs)
        data.qpos, data.qvel, data.qacc = q2, v2, a2 = convention.q(q), convention.v(q, v), convention.a(q, v, a)
        mujoco.mj_inverse(theirs, data)
        tau = convention.from_tau(q2, data.qfrc_inverse)
        assert difference(inverse_dynamics(setting, q, v, a), tau) < 1e-9
        for name, algorithm in INVERSE_DYNAMICS.items():
            if name != "uicker-kahn":
                assert difference(algorithm(mechanism.tree, q, v, a) + joints.of(v, a), tau) < 1e-9
        M2 = np.zeros((theirs.nv, theirs.nv))
        for k, unit in enumerate(np.eye(theirs.nv)):
            mujoco.mj_mulM(theirs, data, M2[k], unit)
        assert difference(mass_matrix(setting, q), convention.from_mass_matrix(q2, M2)) < 1e-9
        data.qfrc_applied = convention.tau(q, tau)
        mujoco.mj_forward(theirs, data)
        assert difference(data.qacc, a2) < 1e-9
        found = forward_dynamics(setting, q, v, tau)
        assert difference(found, convention.from_a(q2, v2, data.qacc)) < 1e-9
        for solver in FORWARD_DYNAMICS.values():
            a_again = solver(mechanism.tree, q, v, tau - joints.resistance(v), None, joints.armature)
            assert difference(a_again, a) < 1e-9

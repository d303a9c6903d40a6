"""A robot of one's own: from a URDF that somebody exported to torques one can trust, in a quarter of an hour.

The file has the usual faults - a tensor no body has, a link without mass - and every one is named with its line. Then
the robot is looked at, compared with what a colleague has, verified by independent routes, moved and put on a page.
"""

import warnings
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dalembert as da
from dalembert.errors import ModelWarning, ValidationError

LINK = """
  <link name="{name}"><inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/>
    <inertia ixx="{ixx}" iyy="{iyy}" izz="{iyy}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
JOINT = """
  <joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{x} 0 0"/>
    <axis xyz="{axis}"/><limit lower="-2" upper="2" velocity="4" effort="60"/></joint>"""


def urdf(iyy_of_upper="0.02"):
    links = [LINK.format(name="upper", x=0.2, mass=2, ixx=0.002, iyy=iyy_of_upper),
             LINK.format(name="fore", x=0.15, mass=1.2, ixx=0.001, iyy="0.009")]  # fmt: skip
    joints = [JOINT.format(name="turn", parent="base", child="yaw", x=0, axis="0 0 1"),
              JOINT.format(name="shoulder", parent="yaw", child="upper", x=0, axis="0 1 0"),
              JOINT.format(name="elbow", parent="upper", child="fore", x=0.4, axis="0 1 0")]  # fmt: skip
    return f'<robot name="mine"><link name="base"/><link name="yaw"/>{"".join(links)}{"".join(joints)}\n</robot>'


folder = Path(mkdtemp())
file = folder / "mine.urdf"
warnings.simplefilter("ignore", ModelWarning)  # print(arm) says the same: which links have no mass

# ---- 1. what is wrong with the file is said at once, with the body, and why
file.write_text(urdf(iyy_of_upper="-0.02"))
try:
    da.load(file, strict=True)
except ValidationError as error:
    print(error, "\n")
    assert "upper" in str(error)

# ---- 2. mended, the robot shows itself: bodies, joints, what was assumed
file.write_text(urdf())
arm = da.load(file)
print(arm, "\n")

# ---- 3. numbers, by name: what the motors hold at rest, and where the hand is
dyn = da.Dynamics(arm)
pose = {"shoulder": -0.5, "elbow": 1.0}
torque = dyn.gravity(pose)
print("torques at rest:", dict(zip(dyn.velocity_names(), torque.round(3).tolist())), "N m")
print("elbow at", dyn.pose(pose, frame="fore").position.round(3), "m")
by_hand = -9.81 * (2 * 0.2 * np.cos(0.5) + 1.2 * (0.4 * np.cos(0.5) + 0.15 * np.cos(0.5)))
assert np.isclose(torque[1], by_hand)  # weights times levers, about the shoulder

# ---- 4. independent routes agree; and what a colleague changed in his copy is found
agreement = da.verify(arm)
print(str(agreement).splitlines()[0])
assert agreement.ok
file.with_name("copy.urdf").write_text(urdf(iyy_of_upper="0.03"))
difference = da.compare(arm, da.load(file.with_name("copy.urdf")))
print(f"the copy: {difference.first}\n")
assert not difference.agrees

# ---- 5. it falls, with the friction somebody measured, and hits nothing
damped = arm.replace(joints=[joint.replace(damping=0.4) if joint.nv else joint for joint in arm.joints])
motion = da.simulate(damped, {"shoulder": -0.8, "elbow": 0.4}, t=np.linspace(0, 3, 301), include=["damping"])
print(
    f"after 3 s: {motion['shoulder'].q[-1]:.3f} rad at the shoulder; {motion.energy[0] - motion.energy[-1]:.2f} J lost"
)
assert motion.energy[-1] < motion.energy[0]

Path("out").mkdir(exist_ok=True)
motion.plot().savefig("out/own_robot.png", dpi=100)
page = da.view(damped, motion, to=folder / "mine.html")  # geometry, sliders, forces, equations: one file to mail
print(f"picture: out/own_robot.png; page: {page.name}, {page.stat().st_size // 1000} kB")

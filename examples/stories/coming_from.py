"""Coming from SymPy, Pinocchio or MuJoCo: what you have goes on working, and the numbers are the same.

A model of SymPy's mechanics becomes machine code and moves. Floating robots are evaluated with Pinocchio and MuJoCo
in their own conventions, where these are installed, and converted back without a thought about quaternions. A
difference that somebody planted is found and named.
"""

import importlib.util
import time
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import sympy
from matplotlib.figure import Figure
from sympy.physics import mechanics as me

import dalembert as da

# ---- SymPy: KANE's method on two links, as its own tutorial writes it
q1, q2, u1, u2 = me.dynamicsymbols("q1 q2 u1 u2")
m, l, g = sympy.symbols("m l g", positive=True)
N = me.ReferenceFrame("N")
A, B = N.orientnew("A", "Axis", [q1, N.z]), N.orientnew("B", "Axis", [q2, N.z])
A.set_ang_vel(N, u1 * N.z)
B.set_ang_vel(N, u2 * N.z)
O = me.Point("O")
O.set_vel(N, 0)
P = O.locatenew("P", l * A.x)
P.v2pt_theory(O, N, A)
R = P.locatenew("R", l * B.x)
R.v2pt_theory(P, N, B)
masses = [me.Particle("p", P, m), me.Particle("r", R, m)]
kane = me.KanesMethod(N, q_ind=[q1, q2], u_ind=[u1, u2], kd_eqs=[q1.diff() - u1, q2.diff() - u2])
kane.kanes_equations(masses, [(P, m * g * N.x), (R, m * g * N.x)])

equations = da.from_sympy(kane, "double pendulum")
values = {"m": 1.0, "l": 0.5, "g": 9.81}
motion = da.simulate(equations, [2.0, 1.0], None, np.linspace(0, 5, 501), parameters=values, rtol=1e-10, atol=1e-10)
s, c = motion.q.T, motion.v.T
kinetic = 0.25 * (c[0] ** 2 + c[1] ** 2 / 2 + c[0] * c[1] * np.cos(s[0] - s[1]))
energy = kinetic - 4.905 * (2 * np.cos(s[0]) + np.cos(s[1]))
print(f"SymPy's equations moved for 5 s; the energy stayed within {np.ptp(energy):.1e} J")
assert np.ptp(energy) < 1e-6

started = time.perf_counter()
many = da.rollout(equations, np.random.default_rng(0).normal(size=(1000, 2)), None, 1000, 1e-3, parameters=values)
print(f"a thousand of them for a second each: {time.perf_counter() - started:.2f} s, compilation included")
assert many.finite.all()
matrix, forcing = kane.mass_matrix_full, kane.forcing_full  # the same numbers as SymPy's own, one state
at = {q1: 0.3, q2: -0.4, u1: 1.1, u2: 0.7, **{sympy.Symbol(n, positive=True): x for n, x in values.items()}}
theirs = np.array(matrix.subs(at).LUsolve(forcing.subs(at)), dtype=float)[2:, 0]
ours = equations.dynamics().forward_dynamics([0.3, -0.4], [1.1, 0.7], [], parameters=values)
print("accelerations:", ours, "SymPy:", theirs)
assert np.allclose(ours, theirs, rtol=1e-12)

# ---- Pinocchio and MuJoCo: a floating robot, where every convention differs
arm = da.load("demo_arm")
robot = da.with_base(arm, "free")
dyn = da.Dynamics(robot)
q, v, a = robot.random_state(np.random.default_rng(1))
tau = dyn.inverse_dynamics(q, v, a)
folder = Path(mkdtemp())
file = folder / "arm.urdf"
da.write_urdf(arm, file)
differences = {}
if importlib.util.find_spec("pinocchio"):
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(file), pin.JointModelFreeFlyer())
    there = da.conventions.Pinocchio(robot, model)
    theirs = pin.rnea(model, model.createData(), there.q(q), there.v(q, v), there.a(q, v, a))
    differences["Pinocchio"] = np.abs(there.tau(q, tau) - theirs).max()
if importlib.util.find_spec("mujoco"):
    import mujoco

    xml = """<mujoco><worldbody><body name="trunk" pos="0 0 1"><freejoint name="root"/>
      <inertial pos="0 0 0" mass="3" diaginertia="0.02 0.03 0.04"/>
      <body name="leg" pos="0.1 0 0"><joint name="hip" axis="0 1 0"/>
        <inertial pos="0 0 -0.2" mass="1" diaginertia="0.01 0.01 0.001"/></body></body></worldbody></mujoco>"""
    hopper, model = da.load(xml), mujoco.MjModel.from_xml_string(xml)
    there = da.conventions.MuJoCo(hopper, model)
    q, v, a = hopper.random_state(np.random.default_rng(1))
    tau = da.Dynamics(hopper).inverse_dynamics(q, v, a)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.qacc[:] = there.q(q), there.v(q, v), there.a(q, v, a)
    mujoco.mj_inverse(model, data)
    differences["MuJoCo"] = np.abs(there.tau(q, tau) - data.qfrc_inverse).max()
for name, difference in differences.items():
    print(f"{name}: the torques of a floating robot differ by {difference:.1e} N m")
    assert difference < 1e-9
if not differences:
    print("neither Pinocchio nor MuJoCo is installed: pip install 'dalembert[peers]'")

# ---- numbers that do differ have a reason, and it is named
grown = arm.bodies[2].replace(inertia=arm.bodies[2].inertia.replace(mass=1.1 * arm.bodies[2].inertia.mass))
heavier = arm.replace(bodies=[grown if body.name == grown.name else body for body in arm.bodies])
found = da.compare(arm, heavier)
print("the planted difference:", found.first)
assert not found.agrees and "mass" in str(found.first)

figure = Figure(figsize=(8, 3.6), layout="constrained")
axes = figure.subplots()
axes.plot(motion.t, motion.q)
axes.set(xlabel="t (s)", ylabel="angle (rad)", title="SymPy's double pendulum, compiled")
axes.legend(["q1", "q2"])
Path("out").mkdir(exist_ok=True)
figure.savefig("out/coming_from.png", dpi=120)
print("picture: out/coming_from.png")

"""Bridges, one section each: CasADi both ways, a swing-up by IPOPT, FMUs, gradients of rollouts, SDF.

    PYTHONPATH=benchmarks python benchmarks/bridges.py
    PYTHONPATH=benchmarks python benchmarks/bridges.py swing_up units     only these

Needs ``pip install 'dalembert[bench,fmi,jax,drake]'`` and ``mujoco-mjx``; cells of a library that is not there are
left out, and say so. Every answer is compared before anything is timed. One thread.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi
import numpy as np

import dalembert as da
from dalembert.tracing.cost import cost
from peers import Robot, robot

STATES = 10_000
GRAVITY = np.array([0.0, 0.0, -9.81, 0.0, 0.0, 0.0])


def adam_forward(r: Robot) -> Any:
    """Forward dynamics by adam, as a function of SX of q, v and tau of the joints; a free base at rest at the origin.

    adam has every base free; an arm on the ground is M^-1 (tau - bias) of its joints.
    """
    from adam.casadi import KinDynComputations

    n = r.mechanism.nv - 6 * r.floating
    joints = [joint.name for joint in r.mechanism.joints if joint.kind not in ("free", "fixed")]
    with tempfile.TemporaryDirectory() as folder:  # without fixed joints and locked ones, of which adam has no idea
        path = Path(folder) / "robot.urdf"
        merged = da.merge_fixed(r.mechanism)
        da.write_urdf(da.with_base(merged, "fixed") if r.floating else merged, path)
        computations = KinDynComputations(str(path), joints, gravity=GRAVITY)
    q, v, tau = (casadi.SX.sym(letter, n) for letter in ("q", "v", "tau"))
    here, still = casadi.SX.eye(4), casadi.SX.zeros(6)
    if r.floating:
        a = computations.aba(here, q, still, v, tau)
    else:
        M = computations.mass_matrix(here, q)[6:, 6:]
        bias = computations.bias_force(here, q, still, v)[6:]
        a = casadi.ldl_solve(tau - bias, *casadi.ldl(M))
    return casadi.Function("adam", [q, v, tau], [casadi.densify(a)], ["q", "v", "tau"], ["a"], {"cse": True})


def our_forward(r: Robot) -> Any:
    """The same by us: with a free base at rest at the origin."""
    whole = da.Dynamics(r.mechanism).casadi("forward_dynamics")
    if not r.floating:
        return whole
    n = r.mechanism.nv - 6
    q, v, tau = (casadi.SX.sym(letter, n) for letter in ("q", "v", "tau"))
    neutral, still = casadi.SX(r.mechanism.neutral[:7]), casadi.SX.zeros(6)
    a = whole(casadi.vertcat(neutral, q), casadi.vertcat(still, v), casadi.vertcat(still, tau))
    return casadi.Function("ours", [q, v, tau], [a], ["q", "v", "tau"], ["a"])


def best(call: Callable[[], Any]) -> float:
    """Shortest processor time of five calls, seconds."""
    call()
    times = []
    for _ in range(5):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def compare(name: str) -> None:
    r = robot(name)
    rng = np.random.default_rng(0)
    ours = our_forward(r)
    n = ours.size1_in(0)
    states = [rng.uniform(-1, 1, (STATES, n)) for _ in range(3)]
    given = [casadi.DM(x.T) for x in states]
    functions = {"ours": ours}
    try:
        functions["adam"] = adam_forward(r)
    except Exception as error:  # not installed, or at odds with the versions that are
        print(f"{r.name:12} adam does not run: {type(error).__name__}: {str(error)[:70]}")
    wanted = np.asarray(ours.map(STATES)(*given)).T
    print(
        f"{r.name:12} whole state: {da.Dynamics(r.mechanism).casadi('forward_dynamics').n_instructions()} instructions"
    )
    for label, function in functions.items():
        mapped = function.map(STATES, "serial")
        found = np.asarray(mapped(*given)).T
        off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        start = time.process_time()
        kernel = da.from_casadi(function)
        made = kernel(*states, threads=1)
        compiled = time.process_time() - start
        off = max(off, float(np.abs(made - found).max() / np.abs(found).max()))
        if not off < 1e-8:
            print(f"{r.name:12} {label:6} differs by {off:.0e}; nothing is timed")
            continue
        theirs, here = best(lambda mapped=mapped: mapped(*given)), best(lambda k=kernel: k(*states, threads=1))
        count = function.n_instructions()
        lost = "  SLOWER" if here > theirs else ""
        late = "  MORE THAN 5" if compiled / count * 1e4 > 5 else ""
        print(
            f"{r.name:12} {label:6}{count:7} instructions   map {theirs / STATES * 1e9:9.0f} ns   from_casadi "
            f"{here / STATES * 1e9:8.0f} ns   ratio {theirs / here:6.1f}{lost}   compiled in {compiled:.2f} s, "
            f"{compiled / count * 1e4:.1f} s per 10,000 instructions{late}; agrees to {off:.0e}",
            flush=True,
        )
    if "adam" in functions:
        both = [best(lambda f=functions[label]: f.map(STATES, "serial")(*given)) for label in ("adam", "ours")]
        lost = "" if both[0] > 2 * both[1] else "  LESS THAN 2"
        print(f"{r.name:12} by CasADi's own map ours takes 1/{both[0] / both[1]:.1f} of adam's time{lost}")
        if functions["adam"].n_instructions() < ours.n_instructions():
            print(f"{r.name:12} LOST: adam has fewer instructions")
    print(f"{r.name:12} {against_pinocchio(r)}")
    print(f"{r.name:12} {round_trip(r)}")


def against_pinocchio(r: Robot) -> str:
    """Instructions of Pinocchio's own forward dynamics, where its wheel has CasADi."""
    try:
        import pinocchio.casadi as cpin
    except ImportError:
        return "pinocchio.casadi is not in this wheel of Pinocchio"
    model = cpin.Model(r.model)
    data = model.createData()
    q, v, tau = casadi.SX.sym("q", model.nq), casadi.SX.sym("v", model.nv), casadi.SX.sym("tau", model.nv)
    whole = casadi.Function("aba", [q, v, tau], [cpin.aba(model, data, q, v, tau)], {"cse": True})
    ours = da.Dynamics(r.mechanism).casadi("forward_dynamics").n_instructions()
    lost = "  LOST" if whole.n_instructions() < ours else ""
    return f"Pinocchio's aba has {whole.n_instructions()} instructions, ours {ours}{lost}"


def round_trip(r: Robot) -> str:
    """Operations of a program, and of what comes back of it from CasADi."""
    dynamics = da.Dynamics(r.mechanism)
    there = dynamics.cost("inverse_dynamics").operations
    back = cost(da.from_casadi(dynamics.casadi("inverse_dynamics")).program).operations
    same = "the same" if there == back else "NOT THE SAME"
    return f"inverse dynamics to CasADi and back: {there} operations, then {back}, {same}"


# ----------------------------------------------------------------------------------------------------------- a swing-up


def optimised(forward: Any, hanging: np.ndarray, nodes: int = 100, duration: float = 2.0) -> Any:
    """Iterations, torques and the time in callbacks of the cheapest motion from hanging to standing, by trapezoids.

    Args:
        forward: accelerations of q, v, tau.
        hanging: positions in the beginning; zero ones are upright.
    """
    n, h, problem = len(hanging), duration / nodes, casadi.Opti()
    q, v, u = (problem.variable(n, nodes + 1) for _ in range(3))
    a = forward.map(nodes + 1, "serial")(q, v, u)
    problem.subject_to(q[:, 1:] == q[:, :-1] + h / 2 * (v[:, 1:] + v[:, :-1]))
    problem.subject_to(v[:, 1:] == v[:, :-1] + h / 2 * (a[:, 1:] + a[:, :-1]))
    for held, wanted in ((q[:, 0], hanging), (q[:, nodes], 0 * hanging), (v[:, 0], 0), (v[:, nodes], 0)):
        problem.subject_to(held == casadi.DM(wanted))
    problem.minimize(h * casadi.sumsqr(u) * 1e-4)
    problem.set_initial(q, np.linspace(hanging, 0 * hanging, nodes + 1).T)
    problem.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes", "max_iter": 500})
    found = problem.solve()
    stats = found.stats()
    callbacks = sum(seconds for name, seconds in stats.items() if name.startswith("t_proc_nlp_"))
    return stats["iter_count"], np.asarray(found.value(u)), callbacks


def swing_up() -> None:
    """The Panda arm swings up, by our functions and by adam's."""
    r = robot("panda")
    try:
        functions = [our_forward(r), adam_forward(r)]
    except ImportError:
        print("adam is not installed")
        return
    hanging = np.array([0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    results = [optimised(f, hanging) for f in functions]
    (count, torques, here), (twin, other, there) = results
    same = count == twin and np.allclose(torques, other, rtol=1e-5, atol=1e-4)
    lost = "" if there > 3 * here else "  MORE THAN A THIRD"
    print(
        f"Panda swings up, 100 nodes, {count} and {twin} iterations, {'the same' if same else 'OTHER'} iterates: "
        f"callbacks take {here:.2f} s with our functions, {there:.2f} s with adam's, ratio {there / here:.1f}{lost}"
    )


# ----------------------------------------------------------------------------------------------------------------- FMUs


def units() -> None:
    """Units of three mechanisms: valid, small, and moving as simulate does."""
    try:
        import fmpy
        from fmpy.validation import validate_fmu
    except ImportError:
        print("FMPy is not installed")
        return
    cases = {
        "double_pendulum": (da.load("double_pendulum", parameters="default"), [0.5, -0.3], [0.2, 0.4]),
        "four_bar": (da.load("four_bar", parameters="default"), None, None),
        "panda": (robot("panda").mechanism, 0.1 * np.arange(1, 8), np.zeros(7)),
    }
    for name, (mechanism, q, v) in cases.items():
        dynamics = da.Dynamics(mechanism, reference=[1.0, -0.7, 1.6]) if q is None else da.Dynamics(mechanism)
        if q is None:
            q = dynamics.assemble()
            v = dynamics.project_velocity(q, [0.5, 0, 0])
        for version in (2, 3):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / f"{name}.fmu"
                dynamics.fmu(path, version, q=q, v=v)
                wrong, size = validate_fmu(str(path)), path.stat().st_size
                found = fmpy.simulate_fmu(
                    str(path), fmi_type="CoSimulation", validate=False, relative_tolerance=1e-11, stop_time=0.5,
                    output_interval=0.05, step_size=0.05,
                )  # fmt: skip
            states = np.stack([found[x] for x in found.dtype.names if x.startswith(("q.", "v."))], axis=-1)
            motion = da.simulate(dynamics, q, v, found["time"], rtol=1e-12, atol=1e-12)
            off = float(np.abs(states - np.hstack([motion.q, motion.v])).max())
            lost = "" if not wrong and size < 200_000 and off < 1e-8 else "  FAILS"
            print(f"{name:16} FMI {version}: {len(wrong)} complaints of FMPy, {size / 1000:.0f} kB, "
                  f"{off:.0e} from simulate{lost}", flush=True)  # fmt: skip


# ------------------------------------------------------------------------------------------------ gradients of rollouts


def gradients(steps: int = 1000, step: float = 1e-3) -> None:
    """The end of a motion of the Panda arm by seven masses and gravity: against the complex step, and against MJX."""
    from dalembert.autodiff.rollout import DifferentiableRollout
    from dalembert.simulation.stabiliser import stabilised
    from dalembert.simulation.stepping import recurrence
    from dalembert.tracing.evaluate import evaluate

    arm = da.merge_fixed(robot("panda").mechanism)
    bodies = [joint.child for joint in arm.joints if joint.nv]
    names = [f"{body}.mass" for body in bodies] + [f"gravity.{axis}" for axis in "xyz"]
    dynamics = da.Dynamics(arm, parameters=names)
    q, v = 0.1 * np.arange(1, 8), np.zeros(7)
    values = np.array(dynamics.parameter_values)
    weights = np.random.default_rng(0).normal(size=7)
    method = "semi-implicit-euler"
    motion = DifferentiableRollout(dynamics, steps, step, method, steps)
    given = {"q0": q, "v0": v, "control": np.zeros((1, 7)), "parameters": values}
    by_q = np.zeros((2, 7))
    by_q[-1] = weights

    def ours() -> np.ndarray:
        return motion.gradient(by_q, np.zeros((2, 7)), **given)["parameters"]

    slope = ours()
    program = recurrence(stabilised(dynamics), method, range(7), None, 0, False, {}).program
    worst = 0.0
    for k in range(len(names)):
        state, changed = (q, v), values + 1j * 1e-30 * np.eye(len(names))[k]
        for count in range(steps):
            known = {"q": state[0], "v": state[1], "count": count, "summary": np.zeros(0), "h": step, "u": np.zeros(7),
                     "parameters": changed, "wrenches": np.zeros((0, 6))}  # fmt: skip
            found = evaluate(program, [known[port.name] for port in program.inputs])
            state = (found["q"], found["v"])
        exact = float((weights * np.asarray(state[0])).sum().imag) / 1e-30
        worst = max(worst, abs(slope[k] - exact) / max(1.0, abs(exact)))
    here = best(ours)
    print(f"Panda, {steps} steps, ten parameters: {worst:.0e} from the complex step, {here * 1e3:.2f} ms", flush=True)
    if worst > 1e-10:
        print("  NOT EXACT")
    try:
        there, theirs = by_mjx(arm, steps, step, q, weights, bodies)
    except ImportError as error:
        print(f"MJX is not installed: {error}")
        return
    off = float(np.abs(theirs - slope).max() / np.abs(slope).max())
    lost = "" if there > 50 * here else "  LESS THAN 50"
    print(f"the same through MJX: {there * 1e3:.0f} ms, {off:.0e} from ours, ratio {there / here:.0f}{lost}")


def by_mjx(
    arm: da.Mechanism, steps: int, step: float, q: np.ndarray, weights: np.ndarray, bodies: list[str]
) -> tuple[float, np.ndarray]:
    """Seconds and the gradient by MJX: reverse mode through a scan of its steps, once compiled."""
    import jax
    from mujoco import mjx

    from rollout import mujoco_model

    jax.config.update("jax_enable_x64", True)
    model = mujoco_model(arm, "Euler", step)
    put = mjx.put_model(model)
    places = 1 + np.array([k for k, joint in enumerate(arm.joints) if joint.child in bodies])

    def end(masses: Any, gravity: Any) -> Any:
        changed = put.replace(body_mass=put.body_mass.at[places].set(masses), opt=put.opt.replace(gravity=gravity))
        data = mjx.make_data(put).replace(qpos=jax.numpy.array(q))
        last = jax.lax.scan(lambda d, _: (mjx.step(changed, d), None), data, None, steps)[0]
        return (jax.numpy.array(weights) * last.qpos).sum()

    slope = jax.jit(jax.grad(end, (0, 1)))
    masses, gravity = put.body_mass[places], put.opt.gravity
    found = np.concatenate(jax.block_until_ready(slope(masses, gravity)))
    return best(lambda: jax.block_until_ready(slope(masses, gravity))), found


# ------------------------------------------------------------------------------------------------------------------ SDF


def sdf() -> None:
    """Every SDF file that comes with Drake and that it reads: masses, poses and inverse dynamics."""
    try:
        import pydrake
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces
    except ImportError:
        print("Drake is not installed")
        return
    for path in sorted(Path(pydrake.__file__).parent.rglob("*.sdf")):
        mechanism = da.read_sdf(path, base="fixed").replace(forces=(), constraints=())
        plant = MultibodyPlant(0.0)
        parser = Parser(plant)
        parser.package_map().PopulateFromFolder(str(path.parent.parent))
        parser.AddModels(str(path))
        joints = [joint for joint in mechanism.joints if joint.nv]
        for joint in mechanism.joints:  # what floats there is fixed here, where the file has it
            if joint.parent == "world" and joint.kind == "fixed":
                floats = plant.GetBodyByName(joint.child.rpartition("::")[2])
                try:
                    at = pydrake.math.RigidTransform(joint.placement.homogeneous())
                    plant.WeldFrames(plant.world_frame(), floats.body_frame(), at)
                except RuntimeError:
                    pass  # it is fixed there too
        plant.Finalize()
        context, dynamics = plant.CreateDefaultContext(), da.Dynamics(mechanism)
        rng = np.random.default_rng(0)
        q, v, a = rng.uniform(-0.5, 0.5, (3, mechanism.nv))
        places = [plant.GetJointByName(joint.name.rpartition("::")[2]).velocity_start() for joint in joints]
        theirs = np.zeros((3, plant.num_velocities()))
        for joint, place in zip(joints, places):
            theirs[:, place] = [x[mechanism.v_slice(joint.name)][0] for x in (q, v, a)]
        plant.SetPositions(context, theirs[0])
        plant.SetVelocities(context, theirs[1])
        tau = plant.CalcInverseDynamics(context, theirs[2], MultibodyForces(plant))
        tau = tau - plant.CalcGravityGeneralizedForces(context)
        off = [0.0, 0.0, 0.0]
        if joints:
            off[2] = float(np.abs(dynamics.inverse_dynamics(q, v, a) - tau[places]).max() / max(1, np.abs(tau).max()))
        for body in mechanism.bodies:
            name = body.name.rpartition("::")[2]
            if not plant.HasBodyNamed(name):
                continue
            twin = plant.GetBodyByName(name)
            off[0] = max(off[0], abs(float(body.inertia.mass) - twin.default_mass()))
            rotation, position = dynamics.pose(q, frame=body.name)
            pose = plant.EvalBodyPoseInWorld(context, twin)
            off[1] = max(off[1], float(np.abs(position - pose.translation()).max()))
            off[1] = max(off[1], float(np.abs(rotation - pose.rotation().matrix()).max()))
        lost = "" if max(off) < 1e-10 else "  DIFFERS"
        print(f"{path.name:45} nv {mechanism.nv:2}: masses {off[0]:.0e}, poses {off[1]:.0e}, "
              f"inverse dynamics {off[2]:.0e}{lost}")  # fmt: skip


def casadi_both_ways() -> None:
    print(f"forward dynamics, {STATES} states, one core; a free base at rest at the origin")
    for name in ("panda", "anymal"):
        compare(name)


SECTIONS = (casadi_both_ways, swing_up, units, gradients, sdf)


def main() -> None:
    warnings.simplefilter("ignore")
    wanted = sys.argv[1:] or [section.__name__ for section in SECTIONS]
    if unknown := set(wanted) - {section.__name__ for section in SECTIONS}:
        raise SystemExit(f"there is no section {', '.join(unknown)}")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        for section in SECTIONS:
            if section.__name__ in wanted:
                print(f"--- {section.__name__}")
                section()
    finally:
        os.sched_setaffinity(0, cores)


if __name__ == "__main__":
    main()

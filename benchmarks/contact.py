"""Robots on their feet: steps with rigid contacts beside MuJoCo's rollout on one core, and batches on a CUDA device.

    python benchmarks/contact.py                          Go2 on four feet that trots, Talos on eight points that stands
    python benchmarks/contact.py --sweeps 4 10 30         what fewer and more sweeps cost, and leave
    python benchmarks/contact.py --parts forces           or robots, bits, convergence, derivatives
    python benchmarks/contact.py --gpu                    on a CUDA device, with MuJoCo Warp and MJX if they are there
    python benchmarks/contact.py --robots go2 --json out.json

Both sides take steps of 2 ms from the same states with the same drives: position control with targets that depend on
time. Answers come first: the mean height of the base, the part of the weight that the feet carry, and by how much
contact is violated - ours by the residual of the law after the last sweep (m/s), of all steps the worst and of the last
step the median, and how far one step is from that of the interpreter, relative to the largest velocity; for both the
fastest slip of a foot that friction should hold (|f_t| < 0.95 mu f_n, m/s) and the deepest penetration (m) in the last
step. A cell is kept only if all is finite and heights agree to 2 cm (the feet of a trot carry more and less than the
weight). Times are processor time of one thread, the best of three runs after one to warm up. MuJoCo's law is soft, and
its answers differ; it is run with Newton's method, both cones, its default tolerance. Cells that we lose, or that
are below what was aimed at, are marked <. Compile times, processor time as well, are those of a fresh cache directory
and of the next process.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from dalembert.algebra import quaternion_from_rotation, scalar
from dalembert.model import WORLD, Contact, Mechanism, Shape
from dalembert.tracing.evaluate import evaluate

STEP, FRICTION = 2e-3, 0.8
SETTLE, STEPS = 500, 200

AIMS = {"go2": 30, "talos": 15, "talos16": 8}
"""How many times as fast as MuJoCo's rollout was aimed at."""


@dataclass(frozen=True)
class Scene:
    """A robot with its feet and drives.

    Args:
        mechanism: with contacts.
        pose: joint positions around which it moves.
        height: of the base at the start, m.
        swing: by how much the targets swing, rad; one number per joint.
        phase: of each joint, rad.
        gains: of the position control, N m/rad and N m s/rad, (2, joints).
    """

    mechanism: Mechanism
    pose: np.ndarray
    height: float
    swing: np.ndarray
    phase: np.ndarray
    gains: np.ndarray

    def targets(self, t: Any) -> list[Any]:
        """Joint positions that are wanted at a time."""
        turn = 2 * np.pi * 2.0 * t
        return [
            p + a * scalar.sin(turn + f) if a else p for p, a, f in zip(self.pose, self.swing, self.phase)
        ]  # fmt: skip

    def control(self, t: Any, q: Any, v: Any) -> list[Any]:
        """Forces of the drives."""
        kp, kd = self.gains
        return [0] * 6 + [kp[i] * (x - q[7 + i]) - kd[i] * v[6 + i] for i, x in enumerate(self.targets(t))]

    def start(self, count: int) -> np.ndarray:
        """Positions that differ a little."""
        q = np.tile(self.mechanism.neutral, (count, 1))
        q[:, 2] = self.height
        q[:, 7:] = self.pose + np.random.default_rng(0).normal(size=(count, len(self.pose))) * 0.02
        return q


def go2() -> Scene:
    m = da.load("go2", base="free")
    feet = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    contacts = tuple(Contact(f, f, WORLD, Shape("sphere", (0.022,)), friction=FRICTION) for f in feet)
    legs = [joint.name[:2] for joint in m.joints if joint.nv == 1]
    opposite = np.array([np.pi * (leg in ("FR", "RL")) for leg in legs])
    return Scene(
        m.replace(contacts=contacts),
        np.tile((0, 0.8, -1.5), 4),
        0.31,
        np.tile((0, 0.15, -0.25), 4),
        opposite,
        np.tile([[60.0], [2.0]], 12),
    )


def talos(points: int = 8) -> Scene:
    m = da.load("talos_reduced", base="free")
    along = np.linspace(-0.1, 0.1, points // 4)
    corner = Shape("points", vertices=tuple((float(x), y, -0.107) for x in along for y in (-0.06, 0.06)))
    contacts = tuple(Contact(s, f"leg_{s}_6_link", WORLD, corner, friction=FRICTION) for s in ("left", "right"))
    pose = np.zeros(m.nv - 6)
    for side in ("left", "right"):
        for joint, angle in ((3, -0.41), (4, 0.86), (5, -0.45)):
            pose[m.q_slice(f"leg_{side}_{joint}_joint").start - 7] = angle
    return standing(m.replace(contacts=contacts), pose, 1.02)


def standing(m: Mechanism, pose: np.ndarray, height: float) -> Scene:
    """A humanoid that holds a pose, as stiffly as steps of this length allow."""
    still, q = np.zeros(m.nv - 6), m.neutral
    q[7:] = pose
    M = interpreted(da.Dynamics(m, include=("armature",)), "mass_matrix", q=q)[0]
    light = 1 / np.diag(np.linalg.inv(M))[6:]
    gains = np.stack([np.minimum(3000, 0.25 * light / STEP**2), np.minimum(60, 0.5 * light / STEP)])
    return Scene(m, pose, height, still, still, gains)


def talos16() -> Scene:
    return talos(16)


def g1() -> Scene:
    """On the eight small spheres of its soles, knees bent; its file leaves out the rotors, of some 0.01 kg m^2."""
    m = da.load("g1_29dof_rev_1_0", base="free")
    m = m.replace(joints=tuple(joint.replace(armature=0.01 * (joint.nv == 1)) for joint in m.joints))
    contacts = tuple(
        Contact(f"{side}[{k}]", f"{side}_ankle_roll_link", WORLD, shape, friction=FRICTION)
        for side in ("left", "right")
        for k, shape in enumerate(m.body(f"{side}_ankle_roll_link").collisions)
        if shape.kind == "sphere"
    )
    pose = np.zeros(m.nv - 6)
    for side in ("left", "right"):
        for joint, angle in (("hip_pitch", -0.2), ("knee", 0.42), ("ankle_pitch", -0.22)):
            pose[m.q_slice(f"{side}_{joint}_joint").start - 7] = angle
    return standing(m.replace(contacts=contacts), pose, 0.78)


SCENES = {"go2": go2, "talos": talos, "talos16": talos16, "g1": g1}


# ---------------------------------------------------------------------------------------------------------------- ours


def interpreted(dynamics: da.Dynamics, quantity: str, options: dict[str, Any] | None = None, **given: Any) -> Any:
    """The outputs of a quantity by the interpreter: of another origin than compiled ones, and it needs no compiler."""
    return tuple(evaluate(dynamics.program(quantity, **(options or {})), given).values())


def ours(scene: Scene, sweeps: int, count: int) -> dict[str, Any]:
    """Answers and nanoseconds per step of one world, on one thread."""
    dynamics, control = da.Dynamics(scene.mechanism, include=("armature",)), scene.control

    def run(q: Any, v: Any, steps: int, lift: bool = False) -> Any:
        return da.rollout(
            dynamics, q, v, steps, STEP, control=control, sweeps=sweeps, record=False, lift=lift, threads=1
        )

    settled = run(scene.start(count), None, SETTLE, True)
    q, v = settled.final_q, settled.final_v
    found = run(q, v, STEPS)
    seconds = best(lambda: run(q, v, STEPS), time.process_time)
    few = q[:64], v[:64]
    error = error_of_a_step(scene, dynamics, sweeps, few, run(*few, 1))
    answers = read(scene, dynamics, found, np)
    return {"sweeps": sweeps, "worlds": count, "ns": seconds / count / STEPS * 1e9, "error": error, **answers}


def error_of_a_step(
    scene: Scene, dynamics: da.Dynamics, sweeps: int, state: Any, found: Any, host: Callable[[Any], Any] = np.asarray
) -> float:
    """The largest error of the velocities after one step without warm start, relative to the largest of them.

    Args:
        state: positions and velocities before it.
        found: the rollout of that step.
        host: brings arrays to the processor.
    """
    q, v = (host(x).astype(float) for x in state)
    tau = np.array([[float(x) for x in scene.control(0.0, *one)] for one in zip(q, v)])
    given = {"q": q, "v": v, "tau": tau, "impulses": np.zeros(dynamics.contacts.count), "h": STEP, "t": 0.0}
    exact = interpreted(dynamics, "contact_step", {"sweeps": sweeps}, **given)[1]
    return float(np.abs(host(found.final_v) - exact).max() / np.abs(exact).max())


def same_bits(run: Callable[[Any, Any], Any], q: Any, v: Any, fast: float) -> dict[str, bool]:
    """Whether final states depend on the run, on the batch, or on a world that is lost.

    Args:
        run: a rollout of positions and velocities.
        q: of a few hundred worlds.
        fast: a velocity with which a world is lost.
    """
    whole, again, few = run(q, v), run(q, v), run(q[:33], v[:33])
    lost = v.copy()
    lost[6, 3] = fast  # it turns: gyroscopic terms overflow
    beside = run(q, lost)

    def same(x: Any, y: Any) -> bool:
        return bool((x.final_q == y.final_q).all() and (x.final_v == y.final_v).all())

    others = [k for k in range(len(q)) if k != 6]
    stays = bool((beside.final_q[others] == whole.final_q[others]).all()) and not bool(beside.finite[6])
    parts = (whole.final_q[:33] == few.final_q).all() and (whole.final_v[:33] == few.final_v).all()
    return {"runs": same(whole, again), "batches": bool(parts), "lost": stays}


def told_of_bits(cell: dict[str, bool]) -> str:
    """One line."""
    meanings = {
        "runs": "from run to run", "batches": "for any batch size", "threads": "for any number of threads",
        "lost": "beside a world that is lost",
    }  # fmt: skip
    return "same bits " + ", ".join(
        f"{meanings[key]}: {'yes' if cell[key] else 'NO'}" for key in meanings if key in cell
    )


def missed(found: float, aim: float | None) -> str:
    """That a number is below what was aimed at."""
    return "" if aim is None or found >= aim else f"  < (aim {aim:g})"


def read(scene: Scene, dynamics: da.Dynamics, found: Any, xp: Any) -> dict[str, Any]:
    """What the worlds do in the end; on a device of the first thousand."""
    host = np.asarray if xp is np else xp.asnumpy
    few = slice(0, 1000)
    history = found.contacts
    impulses, measures = (host(x[few]).astype(float) for x in history.final)
    q = host(found.final_q[few]).astype(float)
    rows = [(point.normal, *point.disks[0][0]) for point in history.layout.points]
    forces = np.stack([impulses[:, list(entries)] for entries in rows], axis=1) / STEP
    (J,) = interpreted(dynamics, "contact_rows", q=q)
    speeds = np.einsum("wij,wj->wi", J, host(found.final_v[few]).astype(float))
    slip = np.stack([np.hypot(*speeds[:, list(entries[1:])].T) for entries in rows], axis=1)
    holds = np.hypot(forces[..., 1], forces[..., 2]) < 0.95 * FRICTION * forces[..., 0]
    gaps = interpreted(dynamics, "contact_points", q=q)[0]
    return {
        "height": float(q[:, 2].mean()),
        "carried": float(forces[..., 0].sum(1).mean() / (scene.mechanism.mass * 9.81)),
        "residual": float(np.median(measures[:, 0])),
        "worst": float(measures[:, 1].max()),
        "slip": float(slip[holds].max(initial=0)),
        "depth": float(max(0.0, -gaps.min())),
        "finite": bool(np.isfinite(q).all()),
    }


def best(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    times = []
    for _ in range(3):
        begin = clock()
        run()
        times.append(clock() - begin)
    return min(times)


def compile_times(name: str, sweeps: int) -> tuple[float, float]:
    """Seconds of the first step of a rollout in a fresh process: with an empty cache, and with what that left."""
    code = (
        "import sys, time, warnings; warnings.simplefilter('ignore'); import numpy as np, dalembert as da, contact\n"
        f"s = contact.SCENES[{name!r}](); d = da.Dynamics(s.mechanism, include=('armature',)); da.rollout\n"
        "b = time.process_time()\n"
        "tau = np.zeros(s.mechanism.nv)\n"
        f"da.rollout(d, s.start(1), None, 1, 2e-3, control=tau, sweeps={sweeps}, lift=True, record=False)\n"
        "print(time.process_time() - b)"
    )
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DALEMBERT_CACHE": folder}
        here = os.path.dirname(os.path.abspath(__file__))
        return tuple(  # type: ignore[return-value]
            float(
                subprocess.run(
                    [sys.executable, "-c", code], env=environment, cwd=here, capture_output=True, text=True, check=True
                ).stdout.split()[-1]
            )
            for _ in range(2)
        )


# -------------------------------------------------------------------------------------------------------------- MuJoCo


def words(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def mujoco_model(scene: Scene, cone: str) -> Any:
    """The same robot, points and drives in MuJoCo; a point becomes a sphere of a tenth of a millimetre."""
    import mujoco

    m, (kp, kd) = scene.mechanism, scene.gains

    def body(joint: da.Joint) -> str:
        matter, at = m.body(joint.child).inertia, joint.placement
        t = matter.tensor + np.diag([1e-9 * (x == 0) for x in np.diag(matter.tensor)])
        entries = words([t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]])
        moving = "<freejoint/>" if joint.kind == "free" else ""
        if joint.kind in ("revolute", "continuous", "prismatic"):
            kind = "slide" if joint.kind == "prismatic" else "hinge"
            rotor = f'armature="{float(joint.armature)!r}"'
            moving = f'<joint name="{joint.name}" type="{kind}" axis="{words(joint.axis)}" {rotor}/>'
        mass = f'<inertial mass="{float(matter.mass)!r}" pos="{words(matter.center)}" fullinertia="{entries}"/>'
        own = [c for c in m.contacts if m.frame(c.a).body == joint.child]
        touching = "".join(geom(c, m.frame(c.a).placement if c.a != joint.child else None) for c in own)
        inner = "".join(body(child) for child in m.joints if child.parent == joint.child)
        place = f'pos="{words(at.translation)}" quat="{words(np.roll(quaternion_from_rotation(at.rotation), 1))}"'
        return f"<body {place}>{moving}{mass if matter.mass else ''}{touching}{inner}</body>"

    def geom(contact: Contact, frame: Any) -> str:
        shape = contact.shape_a
        radius = shape.size[0] if shape.kind == "sphere" else 1e-4
        places = (
            [shape.placement.translation]
            if shape.kind == "sphere"
            else [np.add(x, (0, 0, radius)) for x in shape.vertices]
        )
        places = [x if frame is None else frame.apply(np.asarray(x, dtype=float)) for x in places]
        return "".join(
            f'<geom type="sphere" size="{radius!r}" pos="{words(x)}" mass="0" contype="1" conaffinity="0"/>'
            for x in places
        )

    driven = [joint.name for joint in m.joints if joint.nv == 1]
    drives = "".join(
        f'<position joint="{name}" kp="{p!r}" kv="{d!r}"/>' for name, p, d in zip(driven, kp.tolist(), kd.tolist())
    )
    roots = "".join(body(joint) for joint in m.joints if joint.parent == WORLD)
    friction = f'friction="{FRICTION} 0.005 0.0001"'
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" cone="{cone}" solver="Newton"/>'
        f'<default><geom condim="3" {friction}/></default><worldbody>'
        f'<geom type="plane" size="50 50 1" contype="0" conaffinity="1" {friction}/>{roots}</worldbody>'
        f"<actuator>{drives}</actuator></mujoco>"
    )


def theirs(scene: Scene, cone: str, count: int) -> dict[str, Any]:
    """The same numbers of MuJoCo's rollout."""
    import mujoco
    from mujoco import rollout

    model = mujoco_model(scene, cone)
    data = mujoco.MjData(model)
    dynamics = da.Dynamics(scene.mechanism)
    q = scene.start(count)
    q[:, 2] -= interpreted(dynamics, "contact_points", q=q)[0].min(axis=1)
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    state = np.zeros((count, mujoco.mj_stateSize(model, full)))
    state[:, 1 : 1 + model.nq] = q
    state[:, 4:8] = np.roll(q[:, 3:7], 1, axis=-1)
    times = np.arange(SETTLE + STEPS) * STEP
    targets = np.array([scene.targets(float(t)) for t in times])
    settle = np.broadcast_to(targets[:SETTLE], (count, SETTLE, model.nu))
    drive = np.ascontiguousarray(np.broadcast_to(targets[:STEPS], (count, STEPS, model.nu)))  # ours begins anew, too
    state = rollout.rollout(model, data, state, np.ascontiguousarray(settle))[0][:, -1]
    state[:, 0] = 0

    def run() -> np.ndarray:
        return rollout.rollout(model, data, state, drive)[0]

    end = run()[:, -1]
    seconds = best(run, time.process_time)
    force, slips, depth, carried = np.zeros(6), [0.0], 0.0, []
    for row in end:
        mujoco.mj_setState(model, data, row, full)
        mujoco.mj_forward(model, data)
        total = 0.0
        for k in range(data.ncon):
            mujoco.mj_contactForce(model, data, k, force)
            touching, velocity = data.contact[k], np.zeros(6)
            foot = model.geom_bodyid[max(touching.geom)]
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, foot, velocity, 0)
            moving = velocity[3:] + np.cross(velocity[:3], touching.pos - data.xpos[foot])
            total += force[0]
            depth = max(depth, -touching.dist)
            if np.hypot(*force[1:3]) < 0.95 * FRICTION * force[0]:
                slips.append(float(np.hypot(*moving[:2])))
        carried.append(total)
    return {
        "cone": cone, "worlds": count, "ns": seconds / count / STEPS * 1e9, "height": float(end[:, 3].mean()),
        "carried": float(np.mean(carried) / (scene.mechanism.mass * 9.81)), "slip": max(slips), "depth": depth,
        "finite": bool(np.isfinite(end).all()),
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- printing


def line(name: str, cell: dict[str, Any]) -> str:
    law = f"residual {cell['residual']:.0e} (worst {cell['worst']:.0e}) m/s, " if "residual" in cell else ""
    law += f"a step agrees to {cell['error']:.0e}, " if "error" in cell else ""
    return (
        f"  {name:24s} height {cell['height']:.3f} m, carries {cell['carried']:.3f} of the weight, {law}"
        f"slip {cell['slip']:.0e} m/s, depth {cell['depth']:.0e} m"
    )


def on_processor(name: str, sweeps: list[int], worlds: int, peer_worlds: int) -> list[dict[str, Any]]:
    scene = SCENES[name]()
    print(f"{name}: {scene.mechanism.nv} velocities", flush=True)
    peers = [theirs(scene, cone, peer_worlds) for cone in ("pyramidal", "elliptic")]
    for cell in peers:
        print(line(f"MuJoCo, {cell['cone']}", cell), flush=True)
    own = [ours(scene, count, worlds) for count in sweeps]
    for cell in own:
        print(line(f"dalembert, {cell['sweeps']} sweeps", cell), flush=True)
    quickest = min(peers, key=lambda cell: cell["ns"])
    for cell in [*peers, *own]:
        cell["kept"] = cell["finite"] and abs(cell["height"] - own[-1]["height"]) < 0.02
    for cell in peers:
        print(
            f"  MuJoCo, {cell['cone']:12s} {cell['ns'] / 1e3:8.2f} us a step" + ("" if cell["kept"] else "  not kept")
        )
    for cell in own:
        ratio = quickest["ns"] / cell["ns"]
        mark = "" if cell["kept"] else "  not kept"
        cell["ratio"] = ratio
        print(
            f"  dalembert, {cell['sweeps']:2d} sweeps {cell['ns'] / 1e3:8.2f} us a step, {ratio:.0f} times MuJoCo"
            f"{missed(ratio, AIMS.get(name, 1))}{mark}"
        )
    for count in sweeps[-1:]:
        cold, warm = compile_times(name, count)
        late = name == "go2" and (cold > 3 or warm > 0.1)
        print(
            f"  compiled in {cold:.1f} s, from the cache {warm:.2f} s ({count} sweeps)"
            f"{'  < (aim 3 and 0.1)' if late else ''}",
            flush=True,
        )
        own[-1] |= {"cold": cold, "warm": warm}
    return [{"robot": name, **cell} for cell in (*peers, *own)]


def bits(name: str) -> list[dict[str, Any]]:
    """Whether results depend on anything but the world they belong to."""
    scene = SCENES[name]()
    dynamics, control = da.Dynamics(scene.mechanism, include=("armature",)), scene.control
    q, v = scene.start(300), np.zeros((300, scene.mechanism.nv))

    def run(q: np.ndarray, v: np.ndarray, threads: int = 1) -> Any:
        return da.rollout(
            dynamics, q, v, 200, STEP, control=control, sweeps=10, record=False, lift=True, threads=threads
        )

    one, two = run(q, v), run(q, v, 2)
    cell: dict[str, Any] = same_bits(run, q, v, 1e200)
    cell["threads"] = bool((one.final_q == two.final_q).all() and (one.final_v == two.final_v).all())
    print(f"{name}: {told_of_bits(cell)}", flush=True)
    return [{"part": "bits", "robot": name, **cell}]


PARTS = ("robots", "bits", "forces", "convergence", "derivatives")


def machine() -> str:
    """What this runs on, and how busy that is."""
    import mujoco
    import pinocchio

    from cpu import processor

    return (
        f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; one thread on each side\n"
        f"dalembert {da.__version__}, MuJoCo {mujoco.__version__}, Pinocchio {pinocchio.__version__}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", default=list(SCENES), choices=list(SCENES))
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--sweeps", nargs="+", type=int, default=[4, 10])
    parser.add_argument("--worlds", type=int, default=512)
    parser.add_argument("--peer-worlds", type=int, default=32)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--batch", nargs="+", type=int, default=[4096, 16384, 65536, 262144], help="of --gpu")
    parser.add_argument("--limit", type=float, default=460, help="of --gpu, seconds; what does not fit is named")
    parser.add_argument("--json")
    given = parser.parse_args()
    warnings.simplefilter("ignore", da.errors.ModelWarning)
    warnings.simplefilter("ignore", da.errors.SimulationWarning)  # residuals are printed
    found: list[dict[str, Any]] = []
    if given.gpu:
        import contact_gpu

        found += contact_gpu.everything(given.batch, given.limit)
    else:
        import contact_problems

        print(machine())
        for part in given.parts:
            for name in given.robots:
                if part == "robots":
                    found += on_processor(name, given.sweeps, given.worlds, given.peer_worlds)
                elif part == "bits":
                    found += bits(name)
                else:
                    found += contact_problems.PARTS[part](name)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1, default=float)


if __name__ == "__main__":
    main()

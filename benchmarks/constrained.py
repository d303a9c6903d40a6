"""Speed of constrained dynamics kernels beside Pinocchio's constraintDynamics and MuJoCo's mj_forward.

    python benchmarks/constrained.py
    python benchmarks/constrained.py --batch 100000 --json out.json

One thread, one process, the same consistent states. A cell is timed only after its accelerations were checked against
ours by singular values (`solve`). Pinocchio's function takes one state at a time; it is called in a Python loop, and
the cost of such a call alone (`pin.neutral`-sized, measured as `pin.aba` on a one-joint model) is printed beside it so
that nobody mistakes the binding for the algorithm. Pinocchio closes loops with points in space: three rows where the
plane needs two; its proximal solver copes with the redundant one. MuJoCo's equality constraints are soft by design:
its accelerations agree only roughly (the difference is printed), and its time is that of the whole mj_forward.
Neither can express rolling, so the bicycle stands alone.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.constraints.classical import ANDREWS_START, BICYCLE_UPRIGHT, andrews, four_bar, whipple_bicycle
from dalembert.constraints.closure import assemble, moved
from dalembert.constraints.solve import project_velocity
from dalembert.dynamics import Dynamics
from dalembert.errors import SingularityError
from dalembert.model import Mechanism

CASES: dict[str, tuple[Mechanism, Any, list[str]]] = {
    "four-bar": (four_bar(), [1.0, -0.5, 1.7], ["crank"]),
    "Andrews": (andrews().replace(forces=()), ANDREWS_START, ["theta"]),
    "bicycle": (whipple_bicycle(), BICYCLE_UPRIGHT, ["lean", "steer", "rear"]),
}
"""Mechanism, reference positions, independent speeds for projection."""


def best(run: Callable[[], Any], seconds: float = 1.0) -> float:
    """Shortest of as many runs as fit into the given time, three at least, after one to warm up."""
    run()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def states(system: Dynamics, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Consistent random states around the reference; a few are assembled and repeated."""
    rng = np.random.default_rng(0)
    few = []
    while len(few) < 64:
        step = 0.2 * rng.normal(size=system.mechanism.nv)
        try:
            q = assemble(system, moved(system.mechanism.tree, np.array(system.reference), step))
        except SingularityError:  # too far from any assembly
            continue
        few.append((q, project_velocity(system, q, rng.normal(size=system.mechanism.nv))))
    q, v = (np.resize(np.array(x), (count, len(x[0]))) for x in zip(*few))
    return q, v, 0.01 * rng.normal(size=v.shape)


def pinocchio_model(mechanism: Mechanism) -> tuple[Any, Any, list[Any]]:
    """The same tree and closures; joints in the same order, so that q and v are the same vectors."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(mechanism.gravity, dtype=float)
    ids = {"world": 0}

    def placed(transform: Any) -> Any:
        return pin.SE3(np.array(transform.rotation, dtype=float), np.array(transform.translation, dtype=float))

    for joint in mechanism.joints:
        body = mechanism.body(joint.child)
        k = model.addJoint(ids[joint.parent], pin.JointModelRZ(), placed(joint.placement), joint.name)
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.center), np.array(body.inertia.tensor))
        model.appendBodyToJoint(k, inertia, pin.SE3.Identity())
        ids[joint.child] = k
    loops = [
        pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            model,
            ids[c.a],
            placed(c.placement_a),
            ids[c.b],
            placed(c.placement_b),
            pin.LOCAL,
        )
        for c in mechanism.constraints
    ]
    return pin, model, loops


def with_pinocchio(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, float]:
    pin, model, loops = pinocchio_model(mechanism)
    data = model.createData()
    datas = [loop.createData() for loop in loops]
    loops, datas = pin.StdVec_RigidConstraintModel(loops), pin.StdVec_RigidConstraintData(datas)
    pin.initConstraintDynamics(model, data, loops, datas)
    settings = pin.ProximalSettings(1e-12, 1e-10, 20)
    rows = list(zip(q[:500].copy(), v[:500].copy(), tau[:500].copy()))
    a = np.array([pin.constraintDynamics(model, data, *row, loops, datas, settings).copy() for row in rows])
    run = lambda: [pin.constraintDynamics(model, data, *row, loops, datas, settings) for row in rows]  # noqa: E731
    return a, best(run) / len(rows)


def binding_cost() -> float:
    """A Pinocchio call on a pendulum: what crossing from Python costs."""
    import pinocchio as pin

    model = pin.Model()
    k = model.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), "j")
    model.appendBodyToJoint(k, pin.Inertia.Random(), pin.SE3.Identity())
    data, x = model.createData(), np.zeros(1)
    return best(lambda: [pin.aba(model, data, x, x, x) for _ in range(500)]) / 500


def mujoco_text(mechanism: Mechanism) -> str:
    """MJCF with connect constraints, as stiff as MuJoCo lets them be."""

    def triple(x: Any) -> str:
        return " ".join(f"{float(c):.17g}" for c in x)

    def body(name: str) -> str:
        joint = next(j for j in mechanism.joints if j.child == name)
        inertia = mechanism.body(name).inertia
        inner = "".join(body(j.child) for j in mechanism.joints if j.parent == name)
        return (
            f'<body name="{name}" pos="{triple(joint.placement.translation)}"><joint name="{joint.name}" axis="0 0 1"/>'
            f'<inertial pos="{triple(inertia.center)}" mass="{inertia.mass}" '
            f'diaginertia="{triple(np.diag(inertia.tensor))}"/>{inner}</body>'
        )

    def connect(c: Any) -> str:
        return f'<connect body1="{c.a}" body2="{c.b}" anchor="{triple(c.placement_a.translation)}" {SOFT}/>'

    roots = "".join(body(j.child) for j in mechanism.joints if j.parent == "world")
    loops = "".join(connect(c) for c in mechanism.constraints)
    return (
        f'<mujoco><option gravity="{triple(mechanism.gravity)}" timestep="0.0001"><flag contact="disable"/></option>'
        f"<compiler angle='radian' boundmass='0' balanceinertia='true'/>"
        f"<worldbody>{roots}</worldbody><equality>{loops}</equality></mujoco>"
    )


SOFT = 'solref="0.0002 1" solimp="0.9999 0.9999 0.001"'


def with_mujoco(mechanism: Mechanism, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, float]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(mujoco_text(mechanism))
    data = mujoco.MjData(model)
    # A connect remembers the second point at the initial position; it is set to the one that is meant.
    for k, c in enumerate(mechanism.constraints):
        model.eq_data[k, :3] = c.placement_a.translation
        model.eq_data[k, 3:6] = c.placement_b.translation
    order = [model.joint(joint.name).qposadr[0] for joint in mechanism.joints]
    rows = list(zip(q[:500], v[:500], tau[:500]))
    found = []

    def one(row: Any) -> None:
        data.qpos[order], data.qvel[order], data.qfrc_applied[order] = row
        mujoco.mj_forward(model, data)

    for row in rows:
        one(row)
        found.append(data.qacc[order].copy())
    return np.array(found), best(lambda: [one(row) for row in rows]) / len(rows)


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=100_000)
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    print(f"{processor()}, one thread, float64; ns per state, batch of {options.batch} (peers: 500 single calls)")
    print(f"a call into Pinocchio alone costs {binding_cost() * 1e9:.0f} ns")
    print(f"{'system':12}{'who':36}{'ns':>10}{'ratio':>9}   checked to")
    table = []
    for name, (mechanism, reference, speeds) in CASES.items():
        base = Dynamics(mechanism, reference=reference)
        q, v, tau = states(base, options.batch)
        exact = base.solve(q[:500], v[:500], tau[:500]).a
        ours = []
        for method in ("multipliers", "projection"):
            chosen = {"independent": speeds} if method == "projection" else {}
            kernel = Dynamics(mechanism, reference=reference, method=method, **chosen).kernel("forward_dynamics")
            error = difference(kernel(q[:500], v[:500], tau[:500], 0.0), exact)
            if not error < 1e-7:
                raise SystemExit(f"{name}, {method}: differs by {error:.1e}; no time is kept")
            out = kernel(q, v, tau, 0.0, threads=1)
            ours.append(best(lambda: kernel(q, v, tau, 0.0, threads=1, out=out)) / len(q))  # noqa: B023
            table.append({"system": name, "who": f"dalembert, {method}", "seconds": ours[-1], "error": error})
            one = (q[0].copy(), v[0].copy(), tau[0].copy(), np.array(0.0))
            single = best(lambda: [kernel(*one) for _ in range(500)], 0.3) / 500  # noqa: B023
            table.append({"system": name, "who": f"  one state per call, {method}", "seconds": single, "error": error})
        for who, peer, tolerance in (("Pinocchio", with_pinocchio, 1e-5), ("MuJoCo (soft)", with_mujoco, 1e-1)):
            if name == "bicycle":
                continue
            a, seconds = peer(mechanism, q, v, tau)
            error = difference(a, exact)
            if not error < tolerance:
                print(f"{name:12}{who:36} differs by {error:.1e}: no time is kept")
                continue
            table.append({"system": name, "who": who, "seconds": seconds, "error": error})
        for row in table:
            if row["system"] == name:
                ratio = row["seconds"] / min(ours)
                print(
                    f"{name:12}{row['who']:36}{row['seconds'] * 1e9:10.1f}{ratio:9.1f}   {row['error']:.0e}", flush=True
                )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "rows": table}, file, indent=1)


def difference(a: np.ndarray, exact: np.ndarray) -> float:
    """Worst over the states of the largest difference relative to the largest acceleration."""
    return float((np.abs(a - exact).max(axis=1) / np.abs(exact).max(axis=1)).max())


if __name__ == "__main__":
    main()

"""Batches of trajectories beside MuJoCo's rollout and a Python loop around SciPy with Pinocchio inside.

    python benchmarks/rollout.py                     10,000 trajectories of 1,000 steps each, ours; 300 each, MuJoCo
    python benchmarks/rollout.py --peer 10000        the peers in full too (takes many minutes)
    python benchmarks/rollout.py --json out.json

Both sides run on one thread, with the same model, integrator, step, initial states and torques held over each step;
contacts, limits and all other constraints of MuJoCo are off. Both return every state of every trajectory in fresh
arrays; a further column gives our time if only final states are kept. A time is kept only if the final states of both
sides agree.

Times are processor time, the best of three runs after one to warm up: on a quiet machine that is the time that passes,
and on a shared one nobody waits for others. They are per step of one trajectory, so batches of different size can be
compared: a single thread of MuJoCo takes trajectories one after the other, and its time per step does not depend on
their number. SciPy is asked for 300 steps of its RK45 of the same length, with Pinocchio's forward dynamics inside.
Cells that we lose are marked <.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin
import scipy
from mujoco import rollout as mujoco_rollout
from scipy.integrate import solve_ivp

import dalembert as da
from cpu import processor
from dalembert.simulation import rollout
from peers import robot

METHODS = {"semi-implicit-euler": "Euler", "rk4": "RK4"}
OFF = "contact constraint equality limit frictionloss spring damper autoreset warmstart sensor eulerdamp"


def words(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def mujoco_model(mechanism: da.Mechanism, integrator: str, step: float) -> Any:
    """The same mechanism, of joints with one degree, in MuJoCo; moments that move nothing and are zero become 1e-9."""
    from dalembert.algebra import quaternion_from_rotation

    def body(joint: da.Joint) -> str:
        matter, at = mechanism.body(joint.child).inertia, joint.placement
        t = matter.tensor + np.diag([1e-9 * (x == 0) for x in np.diag(matter.tensor)])
        entries = words([t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]])
        kind = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide"}.get(joint.kind)
        moving = f'<joint type="{kind}" axis="{words(joint.axis)}"/>' if kind else ""
        mass = f'<inertial mass="{float(matter.mass)!r}" pos="{words(matter.center)}" fullinertia="{entries}"/>'
        inner = "".join(body(child) for child in mechanism.joints if child.parent == joint.child)
        place = f'pos="{words(at.translation)}" quat="{words(np.roll(quaternion_from_rotation(at.rotation), 1))}"'
        return f"<body {place}>{moving}{mass if matter.mass else ''}{inner}</body>"

    roots = "".join(body(joint) for joint in mechanism.joints if joint.parent == "world")
    flags = " ".join(f'{name}="disable"' for name in OFF.split())
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian"/><option gravity="{words(mechanism.gravity)}" '
        f'timestep="{step}" integrator="{integrator}"><flag {flags}/></option><worldbody>{roots}</worldbody></mujoco>'
    )


def with_mujoco(model: Any, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """All states, (N, steps, 1 + nq + nv)."""
    start = np.concatenate([np.zeros((len(q), 1)), q, v], axis=1)
    applied = mujoco.mjtState.mjSTATE_QFRC_APPLIED
    states, _ = mujoco_rollout.rollout(model, mujoco.MjData(model), start, tau, control_spec=int(applied))
    return states


def with_scipy(model: Any, q: np.ndarray, v: np.ndarray, steps: int, step: float) -> float:
    """Seconds per step of SciPy's RK45 at the same step, Pinocchio's forward dynamics inside."""
    data, n, still = model.createData(), len(v), np.zeros(len(v))

    def flow(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[n:], pin.aba(model, data, x[:n], x[n:], still)])

    x = np.concatenate([q, v])
    made: list[int] = []

    def run() -> None:
        found = solve_ivp(flow, (0, steps * step), x, "RK45", max_step=step, first_step=step, rtol=1e-1, atol=1e3)
        made.append(len(found.t) - 1)

    return best(run) / made[0]


def best(run: Callable[[], Any]) -> float:
    """Least processor time of three runs, s, after one to warm up."""
    run()
    times = []
    for _ in range(3):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=10_000, help="our trajectories")
    parser.add_argument("--peer", type=int, default=300, help="MuJoCo's trajectories")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--step", type=float, default=1e-3)
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; one thread on each side")
    named = {"MuJoCo": mujoco, "SciPy": scipy, "Pinocchio": pin}
    peers = ", ".join(f"{name} {module.__version__}" for name, module in named.items())
    print(f"dalembert {da.__version__}, {peers}")
    print(f"{options.batch} trajectories (peer: {options.peer}) of {options.steps} steps of {options.step} s, float64")
    print(
        f"{'mechanism':12}{'method':22}{'ours':>8}{'final':>8}{'MuJoCo':>9}{'ratio':>8}{'SciPy':>10}{'ratio':>8}"
        "   ns per step; agree"
    )
    rows = []
    panda = robot("panda")
    cart = da.load("cart_pole", parameters="default")
    for mechanism, peer in ((cart, pinocchio_cart(cart)), (panda.mechanism, panda.model)):
        dynamics = da.Dynamics(mechanism)
        rng = np.random.default_rng(0)
        q, v, _ = mechanism.random_state(rng, (options.batch,))
        tau = rng.normal(size=(options.batch, options.steps, mechanism.nv))
        few = slice(0, options.peer)
        other = with_scipy(peer, q[0], 0 * v[0], min(options.steps, 300), options.step)
        for method, integrator in METHODS.items():
            model = mujoco_model(mechanism, integrator, options.step)
            run: dict[str, Any] = {"method": method, "threads": 1}

            def ours(kept: bool, run: dict = run) -> Any:
                return rollout(dynamics, q, v, options.steps, options.step, control=tau, record=kept, **run)  # noqa: B023

            theirs = with_mujoco(model, q[few], v[few], tau[few])
            mine = rollout(dynamics, q[few], v[few], options.steps, options.step, control=tau[few], **run)
            error = float(np.median(np.abs(mine.final_q - theirs[:, -1, 1 : 1 + mechanism.nq]).max(axis=1)))
            if not error < 1e-9:  # rounding, amplified by falling arms; a few of them are chaotic, hence the median
                raise SystemExit(f"{mechanism.name}, {method}: differs from MuJoCo by {error:.1e}; no time is kept")
            work = options.batch * options.steps
            times = [best(lambda kept=kept: ours(kept)) / work for kept in (True, False)]
            peer_time = best(lambda: with_mujoco(model, q[few], v[few], tau[few])) / (options.peer * options.steps)  # noqa: B023
            print(
                f"{mechanism.name:12}{method:22}{times[0] * 1e9:8.1f}{times[1] * 1e9:8.1f}{peer_time * 1e9:9.0f}"
                f"{peer_time / times[0]:8.1f}{other * 1e9:10.0f}{other / times[0]:8.0f}"
                f"{' <' if min(peer_time, other) < times[0] else '  '} {error:.0e}",
                flush=True,
            )
            rows.append(
                {"mechanism": mechanism.name, "method": method, "ours": times[0], "ours_final_only": times[1],
                 "mujoco": peer_time, "scipy_pinocchio": other}
            )  # fmt: skip
    least = [min(row[peer] / row["ours"] for row in rows) for peer in ("mujoco", "scipy_pinocchio")]
    print(f"least ratio to MuJoCo {least[0]:.0f}, to SciPy with Pinocchio inside {least[1]:.0f}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "rows": rows}, file, indent=1)


def pinocchio_cart(mechanism: da.Mechanism) -> Any:
    """The cart-pole in Pinocchio."""
    model, parent = pin.Model(), 0
    for joint, kind in zip(mechanism.joints, (pin.JointModelPX, pin.JointModelRY)):
        parent = model.addJoint(parent, kind(), pin.SE3.Identity(), joint.name)
        matter = mechanism.body(joint.child).inertia
        inertia = pin.Inertia(float(matter.mass), np.array(matter.center, float), np.array(matter.tensor, float))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    return model


if __name__ == "__main__":
    main()

"""Control laws in a loop of 1 kHz, beside the same laws written in Python around Pinocchio.

    python benchmarks/control.py                 the Panda, four laws, two seconds of the loop each
    python benchmarks/control.py --seconds 10
    python benchmarks/control.py --robot ur5

A law is timed only after its torques agree with Pinocchio's at random states. In the loop every millisecond a new state
is copied into the arrays to which the law is bound, and the law is called; a latency is the time from the tick of the
clock until the torques are there; ``late`` counts ticks whose torques came after the next one. Both include waiting for
other programs on a shared machine, so ``own`` is the processor time of the call alone. ``alone`` is the median of calls
one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import dalembert as da
from cpu import processor
from dalembert.control import computed_torque, gravity_compensation, operational_space, pd_with_gravity
from peers import Robot, robot

PERIOD = 1e-3
KP, KD = 100.0, 20.0
AGREE = 1e-9
"""Largest difference to Pinocchio, relative to the largest torque; operational space inverts matrices twice."""

Law = Callable[[np.ndarray, np.ndarray], np.ndarray]


def peer_laws(r: Robot, frame: str, goal: tuple[np.ndarray, np.ndarray, np.ndarray]) -> dict[str, Law]:
    """The laws by Pinocchio and NumPy."""
    model, data, n = r.model, r.data, r.model.nv
    home, place, turned = goal
    still, number = np.zeros(n), model.getFrameId(frame)

    def gravity(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.computeGeneralizedGravity(model, data, q)

    def pd(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.computeGeneralizedGravity(model, data, q) + KP * (home - q) - KD * v

    def torque(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.rnea(model, data, q, v, KP * (home - q) - KD * v)

    def space(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pin.forwardKinematics(model, data, q, v, still)
        pin.updateFramePlacements(model, data)
        at = data.oMf[number]
        J = pin.computeFrameJacobian(model, data, q, number, world)
        drift = pin.getFrameClassicalAcceleration(model, data, number, world).vector
        M = pin.crba(model, data, q)
        M = np.triu(M) + np.triu(M, 1).T
        error = sum(np.cross(at.rotation[:, k], turned[:, k]) for k in range(3)) / 2
        wanted = KP * np.concatenate([place - at.translation, error]) - KD * (J @ v)
        posture = KP * (home - q) - KD * v
        MJ = np.linalg.solve(M, J.T)
        push = MJ @ np.linalg.solve(J @ MJ, wanted - drift - J @ posture)
        return pin.rnea(model, data, q, v, posture + push)

    return {
        "gravity compensation": gravity,
        "pd with gravity": pd,
        "computed torque": torque,
        "operational space": space,
    }


def our_laws(
    dynamics: da.Dynamics, frame: str, goal: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> dict[str, tuple[Any, list[np.ndarray]]]:
    """Kernels, and what they take after q and v."""
    n = dynamics.mechanism.nv
    home, place, turned = goal
    kp, kd, zero, six = np.full(n, KP), np.full(n, KD), np.zeros(n), np.zeros(6)
    return {
        "gravity compensation": (gravity_compensation(dynamics), []),
        "pd with gravity": (pd_with_gravity(dynamics), [home, kp, kd]),
        "computed torque": (computed_torque(dynamics), [home, zero, zero, kp, kd]),
        "operational space": (
            operational_space(dynamics, frame),
            [place, turned, six, six, np.full(6, KP), np.full(6, KD), home, kp, kd],
        ),
    }


def loop(call: Callable[[np.ndarray, np.ndarray], Any], q: np.ndarray, v: np.ndarray, seconds: float) -> np.ndarray:
    """Latencies, and processor time of the calls, of a loop with a fixed rhythm, s; it waits busily."""
    count = int(seconds / PERIOD)
    found, own = np.empty(count), np.empty(count)
    tick = time.perf_counter() + PERIOD
    for k in range(count):
        while time.perf_counter() < tick:
            pass
        begin = time.thread_time()
        call(q[k % len(q)], v[k % len(v)])
        own[k] = time.thread_time() - begin
        found[k] = time.perf_counter() - tick
        tick = max(tick + PERIOD, time.perf_counter())
    return np.stack([found, own])


def alone(call: Callable[[np.ndarray, np.ndarray], Any], q: np.ndarray, v: np.ndarray) -> float:
    """Median of single calls, s."""
    times = []
    for k in range(3000):
        begin = time.perf_counter()
        call(q[k % len(q)], v[k % len(v)])
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", default="panda")
    parser.add_argument("--frame", help="for operational space; by default the last body")
    parser.add_argument("--seconds", type=float, default=2.0, help="of every loop")
    parser.add_argument("--json", help="also write the table to this file")
    options = parser.parse_args()
    r = robot(options.robot)
    m = r.mechanism
    dynamics = da.Dynamics(m)
    frame = options.frame or m.bodies[-1].name
    q, v, _ = m.random_state(np.random.default_rng(0), (200,))
    rotation, position = dynamics.pose(q[0], frame=frame)
    goal = q[0], position + 0.02, rotation
    theirs = peer_laws(r, frame, goal)
    print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; dalembert {da.__version__}, ", end="")
    print(f"Pinocchio {pin.__version__}; {m.name}; microseconds")
    print(f"{'':23}{'ours':^42}{'Pinocchio':^42}")
    columns = f"{'alone':>8}{'latency':>9}{'own':>8}{'own 99.9%':>11}{'late':>6}"
    print(f"{'law':23}{columns}{columns}{'ratio':>8}   agree")
    rows = []
    for name, (law, rest) in our_laws(dynamics, frame, goal).items():
        given = [np.zeros(m.nq), *([np.zeros(m.nv)] if len(law.inputs) > 1 else []), *rest]
        bound = law.bind(*given)

        def mine(x: np.ndarray, y: np.ndarray, given: list = given, bound: Any = bound) -> np.ndarray:
            given[0][:] = x
            if len(given) > 1:
                given[1][:] = y
            bound()
            return bound.outputs[0]

        peer = theirs[name]
        wanted = np.array([peer(x, y) for x, y in zip(q, v)])
        error = float(np.abs(np.array([mine(x, y).copy() for x, y in zip(q, v)]) - wanted).max() / np.abs(wanted).max())
        if not error < AGREE:
            raise SystemExit(f"{name}: differs from Pinocchio by {error:.1e}; no time is kept")
        single, other = alone(mine, q, v), alone(peer, q, v)
        found, beside = loop(mine, q, v, options.seconds), loop(peer, q, v, options.seconds)
        cells = ""
        for median, (latency, own) in ((single, found), (other, beside)):
            cells += f"{median * 1e6:8.2f}{np.median(latency) * 1e6:9.2f}{np.median(own) * 1e6:8.2f}"
            cells += f"{np.quantile(own, 0.999) * 1e6:11.2f}{int((latency > PERIOD).sum()):6}"
        print(f"{name:23}{cells}{other / single:8.1f}{' <' if other < single else '  '} {error:.0e}", flush=True)
        rows.append({"law": name, "alone": single, "latency": float(np.median(found[0])),
                     "own": float(np.median(found[1])), "pinocchio": other})  # fmt: skip
    print(
        f"late: of {int(options.seconds / PERIOD)} ticks; where both sides are late, other programs had the processor"
    )
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"processor": processor(), "rows": rows}, file, indent=1)


if __name__ == "__main__":
    main()

"""MuJoCo Warp and MJX on the quadruped of contact.py: python benchmarks/contact_gpu_peers.py warp|mjx WORLDS [once]

With ``once`` it takes one step only, so that Warp and JAX keep what they compile for the next process. One line of JSON
is printed. The drives hold the pose instead of trotting: targets that change with time would have to be copied to the
device in every step. Float32, 2 ms, the models' own solver settings with pyramidal cones; of three runs after one to
warm up the best counts. Where a peer, or a part of its interface, is not there, it fails with its error.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import contact

STEPS = 100

ONCE = sys.argv[3:] == ["once"]

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", os.path.join(tempfile.gettempdir(), "contact_gpu_peers"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others prepare themselves on the same card


def start(count: int) -> tuple[Any, np.ndarray]:
    """The model, and positions on the ground."""
    import dalembert as da

    warnings.simplefilter("ignore")
    scene = contact.go2()
    model = contact.mujoco_model(scene, "pyramidal")
    q = scene.start(count)
    q[:, 2] -= contact.interpreted(da.Dynamics(scene.mechanism), "contact_points", q=q)[0].min(axis=1)
    q[:, 3:7] = np.roll(q[:, 3:7], 1, axis=-1)
    return model, q


def best(run: Callable[[], Any]) -> float:
    run()
    if ONCE:
        return float("nan")
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def warp(count: int) -> tuple[float, float]:
    import mujoco
    import mujoco_warp as mjw
    import warp as wp

    model, q = start(count)
    data = mujoco.MjData(model)
    data.qpos[:], data.ctrl[:] = q[0], contact.go2().pose
    mujoco.mj_forward(model, data)
    m, d = mjw.put_model(model), mjw.put_data(model, data, nworld=count, nconmax=16, njmax=64)
    wp.copy(d.qpos, wp.array(q.astype(np.float32), dtype=float))
    mjw.step(m, d)
    with wp.ScopedCapture() as capture:
        for _ in range(STEPS):
            mjw.step(m, d)

    def run() -> None:
        wp.capture_launch(capture.graph)
        wp.synchronize()

    seconds = best(run)
    return seconds, float(d.qpos.numpy()[:, 2].mean())


def mjx(count: int) -> tuple[float, float]:
    import jax
    import jax.numpy as jnp
    from mujoco import mjx

    model, q = start(count)
    m = mjx.put_model(model)
    one = mjx.make_data(model).replace(ctrl=jnp.asarray(contact.go2().pose))
    data = jax.vmap(lambda x: one.replace(qpos=x))(jnp.asarray(q))
    step = jax.vmap(mjx.step, in_axes=(None, 0))
    several = jax.jit(lambda d: jax.lax.scan(lambda x, _: (step(m, x), None), d, None, STEPS // 5)[0])
    state = [several(data)]

    def run() -> None:
        state[0] = jax.block_until_ready(several(state[0]))

    return best(run) * 5, float(np.asarray(state[0].qpos)[:, 2].mean())


if __name__ == "__main__":
    worlds = int(sys.argv[2])
    seconds, height = {"warp": warp, "mjx": mjx}[sys.argv[1]](worlds)
    print(json.dumps({"worlds": worlds, "ns": seconds / worlds / STEPS * 1e9, "height": height}))

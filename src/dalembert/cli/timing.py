"""How long the compiled kernels take per state, and Pinocchio for the same, after both were found to agree."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.dynamics import Dynamics

MAIN = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
"""Quantities that are timed unless others are asked for."""


@dataclass
class Timing:
    """Seconds per state of one quantity; None where it was not measured.

    Args:
        quantity: what is computed.
        compile: making program and machine code, in seconds; short if the disk cache had it.
        single: one state per call, from Python.
        batch: a batch, one thread.
        threads: a batch, all threads.
        peer_single: one state per call in Pinocchio, from Python.
        peer_batch: a batch in Pinocchio, one thread.
        peer_threads: a batch in Pinocchio, all threads.
        difference: worst relative difference to Pinocchio, or to Newton-Euler where it is not there.
    """

    quantity: str
    compile: float = 0.0
    single: float | None = None
    batch: float | None = None
    threads: float | None = None
    peer_single: float | None = None
    peer_batch: float | None = None
    peer_threads: float | None = None
    difference: float | None = None


def best(run: Callable[[], Any], seconds: float, repeat: int = 1) -> float:
    """Shortest time of a run, of as many as fit into the given time, three at least, after one to warm up.

    Args:
        run: what to time.
        seconds: how long to go on.
        repeat: runs between two looks at the clock.
    """
    run()
    shortest, count = float("inf"), 0
    end = time.perf_counter() + seconds
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(repeat):
            run()
        shortest, count = min(shortest, (time.perf_counter() - start) / repeat), count + 1
    return shortest


def time_quantity(
    dynamics: Dynamics,
    quantity: str,
    frame: dict[str, str],
    states: dict[str, np.ndarray],
    threads: int,
    seconds: float,
) -> Timing:
    """Time a compiled quantity.

    Args:
        dynamics: the kernels.
        quantity: which.
        frame: the options of a quantity of a frame.
        states: arrays q, v, a, tau of a batch.
        threads: how many threads are all.
        seconds: how long to measure each cell.
    """
    start = time.perf_counter()
    kernel = dynamics.kernel(quantity, **frame)
    kernel.compiled  # noqa: B018 - compiles
    result = Timing(quantity, time.perf_counter() - start)
    inputs = [states[port.name] for port in kernel.inputs]
    one = [x[0].copy() for x in inputs]
    result.single = best(lambda: kernel(*one), seconds, 100)
    out = kernel(*inputs, threads=1)
    count = len(inputs[0])
    result.batch = best(lambda: kernel(*inputs, out=out, threads=1), seconds) / count
    result.threads = best(lambda: kernel(*inputs, out=out, threads=threads), seconds) / count if threads > 1 else None
    return result


def time_peer(result: Timing, peer: PinocchioPeer, states: dict[str, np.ndarray], threads: int, seconds: float) -> None:
    """Add Pinocchio's times: the better of its functions for batches, where it has them, and its Python call in a loop.

    Args:
        result: the timing to add to.
        peer: the same robot there.
        states: arrays q, v, a, tau of a batch, in our coordinates.
        threads: how many threads are all.
        seconds: how long to measure each cell.
    """
    import numpy as np

    pin, model, data, c = peer.library, peer.model, peer.data, peer.convention
    q, v = c.q(states["q"]), c.v(states["q"], states["v"])
    third = c.a(states["q"], states["v"], states["a"]) if not peer.is_coupled else np.zeros_like(v)
    one = q[0].copy(), v[0].copy(), third[0].copy()
    calls: dict[str, Callable[..., Any]] = {
        "inverse_dynamics": lambda x, y, z: pin.rnea(model, data, x, y, z),
        "mass_matrix": lambda x, y, z: pin.crba(model, data, x),
        "forward_dynamics": lambda x, y, z: pin.aba(model, data, x, y, z),
    }
    call = calls[result.quantity]
    result.peer_single = best(lambda: call(*one), seconds, 100)
    batched = {"inverse_dynamics": "rneaInParallel", "forward_dynamics": "abaInParallel"}.get(result.quantity)
    if batched and hasattr(pin, batched) and v.shape[1] > 1:  # it takes a single row for a column, and writes outside
        columns = [np.asfortranarray(x.T) for x in (q, v, third)]
        out, run = np.asfortranarray(np.zeros_like(columns[1])), getattr(pin, batched)
        for field, workers in (("peer_batch", 1), ("peer_threads", threads)):
            if workers > 1 or field == "peer_batch":
                pool = pin.ModelPool(model, workers)
                took = best(lambda: run(workers, pool, *columns, out), seconds)  # noqa: B023 - called at once
                setattr(result, field, took / len(q))
    few = min(len(q), 1000)
    rows = list(zip(q[:few].copy(), v[:few].copy(), third[:few].copy()))
    looped = best(lambda: [call(*row) for row in rows], seconds) / few
    result.peer_batch = min(looped, result.peer_batch or looped)
    if result.peer_threads is not None:
        result.peer_threads = min(result.peer_threads, result.peer_batch)

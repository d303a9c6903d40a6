"""Measure how long the compiled quantities take per state: one call at a time, and in batches.

Answers are compared before anything is timed: with Pinocchio where it is installed, else with Newton-Euler. Pinocchio's
times stand beside ours, measured in the same run on the same states; ratios below one are ours to lose. All of it runs
on the processor: benchmarks/gpu.py of the repository times a GPU, with arrays that stay on it.

examples:
  dalembert bench panda.urdf
  dalembert bench panda.urdf --batch 1e6
  dalembert bench talos.urdf --base free --quantity inverse_dynamics
  dalembert bench panda.urdf --quantity linearize --quantity jacobian --frame panda_hand
  dalembert bench four_bar                              under the constraints of the model
  dalembert bench panda.urdf --json > times.json
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import (
    add_common,
    add_model,
    add_quantities,
    chosen_quantities,
    integer,
    open_model,
    real,
    source_of,
)
from dalembert.cli.state import add_acting, dynamics_of
from dalembert.cli.terminal import Cell, Terminal, duration
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from dalembert.comparison.pinocchio import PinocchioPeer
    from dalembert.dynamics import Dynamics
    from dalembert.native.kernel import Kernel


SUMMARY = "time the compiled quantities, beside Pinocchio"

MOST_MEMORY = 4 * 10**9
"""Bytes of arrays that are not exceeded."""

KEPT_DIFFERENCE = 1e-9
"""Largest relative difference at which a time is kept."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_quantities(parser, f"default: {' '.join(MAIN)}")
    parser.add_argument(
        "--batch", type=integer(1, 10_000_000), default=10_000, help="states in a batch (default 10000)"
    )
    parser.add_argument("--threads", type=integer(1, 1024), help="how many all threads are (default: all cores)")
    parser.add_argument(
        "--seconds", type=real(0.01, 60.0), default=0.3, help="how long to measure each cell (default 0.3)"
    )
    add_acting(parser.add_argument_group("what acts"))
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.cli.agreement import find_peer
    from dalembert.native.threads import default_threads

    mechanism = open_model(options, numeric=True)
    dynamics = dynamics_of(mechanism, options.include, options.constraints, options.elements)
    chosen = chosen_quantities(options, MAIN, mechanism)
    threads = options.threads or default_threads()
    if dynamics.is_tree and not options.include:
        peer, remark = find_peer(mechanism, source_of(options.model), options.base)
    else:
        peer, remark = None, "Pinocchio is not timed beside constraints, force elements and terms of the joints"
    if peer is not None and peer.is_coupled:
        remark = "Pinocchio moves mimic joints on their own and computes something else; it is not timed"
    found = []
    for quantity, frame in chosen.items():
        _check_memory(dynamics, quantity, frame, options.batch)
        terminal.progress(f"checking {quantity} ...")
        difference = check(dynamics, quantity, frame, peer)
        if difference <= KEPT_DIFFERENCE:
            terminal.progress(f"timing {quantity} ...")
            q, v, a = mechanism.random_state(np.random.default_rng(0), (options.batch,))
            states = inputs_of(dynamics.kernel(quantity, **frame), q, v, a)
            timing = time_quantity(dynamics, quantity, frame, states, threads, options.seconds)
            if peer is not None and quantity in MAIN and not peer.is_coupled:
                time_peer(timing, peer, states, threads, options.seconds)
        else:
            timing = Timing(quantity)
        timing.difference = difference
        found.append(timing)
    if options.json:
        terminal.json(
            {
                "model": mechanism.name,
                "batch": options.batch,
                "threads": threads,
                "remark": remark,
                "seconds_per_state": [vars(timing) for timing in found],
            }
        )
    else:
        terminal.say(f"{mechanism.name}: time per state", "bold")
        say_timings(terminal, found, options.batch, threads)
        if remark:
            terminal.say(f"\n{remark}", "dim")
    return 0 if all(timing.single is not None for timing in found) else 1


def _check_memory(dynamics: Dynamics, quantity: str, frame: dict[str, str], batch: int) -> None:
    kernel = dynamics.kernel(quantity, **frame)
    size = 2 * 8 * sum(port.size for port in (*kernel.inputs, *kernel.outputs))
    if size * batch > MOST_MEMORY:
        raise ArgumentError(
            f"{batch} states of {quantity} take {size * batch / 1e9:.0f} GB; give --batch {MOST_MEMORY // size} or less"
        )


def inputs_of(kernel: Kernel, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> dict[str, np.ndarray]:
    """Values for every input: the state, one along coordinates of a frame, and changes and references like velocities.

    Args:
        kernel: whose inputs are wanted.
    """
    import numpy as np

    given = {"q": q, "v": v, "a": a, "tau": a, "xdd": np.ones((*q.shape[:-1], 6)), "t": np.zeros(q.shape[:-1])}
    return {port.name: given.get(port.name, v) for port in kernel.inputs} | given


def check(dynamics: Dynamics, quantity: str, frame: dict[str, str], peer: PinocchioPeer | None) -> float:
    """Worst relative difference over a few states: to Newton-Euler and Pinocchio, or to the program run by NumPy.

    Args:
        frame: the options of a quantity of a frame.
        peer: the same robot in Pinocchio.
    """
    import numpy as np

    from dalembert.cli.agreement import compare, relative
    from dalembert.tracing.evaluate import evaluate

    if quantity in MAIN and dynamics.is_tree:
        found = compare(dynamics, peer, quantities=[quantity])
        differences = [comparison.worst for comparison in found if comparison.worst is not None]
    else:
        kernel, differences, rng = dynamics.kernel(quantity, **frame), [], np.random.default_rng(0)
        for q, v, a in (dynamics.mechanism.random_state(rng) for _ in range(5)):
            state = inputs_of(kernel, q, v, a)
            given = [state[port.name] for port in kernel.inputs]
            ours, plain = kernel(*given), evaluate(kernel.program, given).values()
            pairs = zip(ours if isinstance(ours, tuple) else (ours,), plain)
            differences += [relative(np.asarray(x) - y, y) for x, y in pairs]
    return max(differences, default=math.nan) if all(x == x for x in differences) else math.nan


def say_timings(terminal: Terminal, found: list[Timing], batch: int, threads: int) -> None:
    """Times side by side."""
    rows: list[tuple[str | Cell, ...]] = []
    for t in found:
        if t.single is None:
            why = (
                "there is nothing to compare it with"
                if math.isnan(t.difference or 0)
                else f"differs by {t.difference:.1e}"
            )
            terminal.say(f"  {t.quantity}: {why}, so no time is kept", "bad")
            continue
        for way, ours, theirs in (
            ("one state per call", t.single, t.peer_single),
            (f"{batch} states, 1 thread", t.batch, t.peer_batch),
            (f"{batch} states, up to {threads} threads", t.threads, t.peer_threads),
        ):
            if ours is not None:
                pair = (duration(theirs), _ratio(theirs / ours)) if theirs is not None else ("", "")
                rows.append((t.quantity, way, duration(ours), *pair))
    terminal.table(("quantity", "", "dalembert", "Pinocchio", "ratio"), rows, left=2)


def _ratio(value: float) -> Cell:
    return Cell(f"{value:.1f}", "good" if value >= 1 else "bad")


# --------------------------------------------------------------------------------------------------------------- timing


MAIN = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
"""Quantities that are timed unless others are asked for."""


@dataclass
class Timing:
    """Seconds per state of one quantity; None where it was not measured.

    Args:
        compile: making program and machine code, in seconds; short if the disk cache had it.
        single: one state per call, from Python.
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
    """Shortest time of a run, of as many as fit into the given time, three at least, after one to warm up."""
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

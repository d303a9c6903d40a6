"""See dalembert at work: a six-axis arm is loaded, described, computed in every way it knows, compiled and timed.

Its motion is written as one page for the browser, with sliders, plots and equations, that needs nothing else.

examples:
  dalembert demo
  dalembert demo --to arm.html
"""

from __future__ import annotations

import argparse
import textwrap
import time
from pathlib import Path
from typing import Any

from dalembert.cli.options import add_common, page
from dalembert.cli.terminal import Cell, Terminal, duration

SUMMARY = "see dalembert at work on a small arm"

ROBOT = "demo_arm"

SAME = ("mass matrix", "Coriolis forces", "gravity forces", "inverse dynamics", "forward dynamics")
"""What is computed by several routes; all else that is compared is a law."""

INDENTED: dict[str, Any] = {"initial_indent": " " * 6, "subsequent_indent": " " * 6}

NEXT = """\
  dalembert show YOUR_ROBOT.urdf               your own robot: what is in it, and what was assumed
  dalembert verify YOUR_ROBOT.urdf             all routes compared, row by row
  dalembert cost YOUR_ROBOT.urdf --algorithms  what each algorithm costs on it
  dalembert export YOUR_ROBOT.urdf inverse_dynamics --to .     C, CUDA, Python, LaTeX
  dalembert robots                             robots known by name
  dalembert view YOUR_ROBOT.urdf               the page above, of your robot
  dalembert compare YOUR_ROBOT.urdf --with mujoco    does MuJoCo see the same robot? what differs first?
  dalembert derive cart_pole --steps           a derivation, step by step
  python -c "import dalembert as da; print(da.load('demo_arm'))"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", metavar="FILE", type=page, default="dalembert_demo.html", help="the page (default dalembert_demo.html)"
    )
    add_common(parser, json=False)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.cli.agreement import find_peer
    from dalembert.cli.bench import KEPT_DIFFERENCE, MAIN, say_timings, time_peer, time_quantity
    from dalembert.cli.cost import count_algorithms
    from dalembert.cli.options import source_of
    from dalembert.cli.verify import verified
    from dalembert.dynamics import Dynamics
    from dalembert.formats import load
    from dalembert.formulations.derive import derive
    from dalembert.native.threads import default_threads

    Path(options.to).parent.mkdir(parents=True, exist_ok=True)  # fails now, and not after all that follows
    start = time.perf_counter()
    terminal.title(f"1. A robot: da.load({ROBOT!r}), printed")
    arm = load(ROBOT)
    terminal.say(f"\n{arm}")

    dynamics = Dynamics(arm)
    rng = np.random.default_rng(1)
    q, v, a = arm.random_state(rng)
    terminal.title("2. Inverse dynamics: the torques that produce given accelerations, as machine code")
    before = time.perf_counter()
    tau = dynamics.inverse_dynamics(q, v, a)
    first = duration(time.perf_counter() - before)
    names = [joint.name for joint in arm.joints if joint.nv]
    rows = [(name, *(f"{x:.3f}" for x in numbers)) for name, *numbers in zip(names, q, v, a, tau)]
    terminal.table(("joint", "q (rad)", "v (rad/s)", "a (rad/s^2)", "tau (Nm)"), rows)
    terminal.say(f"  The first call took {first}, compilation included; the disk cache spares the next process that.")

    terminal.title("3. Is it true? Independent routes to the same numbers, and laws of mechanics, at four states")
    peer, remark = find_peer(arm, source_of(ROBOT), None)
    terminal.progress("deriving and comparing ...")
    compared, _ = verified(arm, dynamics, peer, 4, KEPT_DIFFERENCE)
    wrong = [row for row in compared if not row.ok]
    groups: dict[str, list[tuple[str, float]]] = {}
    for row in compared:
        if row.quantity in SAME:
            groups.setdefault(row.quantity, []).append((row.who, row.error))
        else:
            groups.setdefault("laws", []).append((f"{row.quantity} ({row.who})", row.error))
    for quantity, members in groups.items():
        worst = max(error for _, error in members)
        count = f"{len(members)} checks" if quantity == "laws" else f"{len(members)} routes"
        terminal.say(f"  {quantity:16} {count:>9}, worst relative difference {worst:.0e}", "bad" if wrong else "good")
        terminal.say(textwrap.fill(", ".join(who for who, _ in members), 110, **INDENTED), "dim")
    if wrong:
        terminal.say(f"\n{len(wrong)} comparisons fail; please report this.", "bad")
        return 1

    terminal.title("4. What inverse dynamics costs on this arm, per state")
    compiled = dynamics.cost("inverse_dynamics")
    counts = [(c.algorithm, c.cost) for c in count_algorithms(dynamics, "inverse_dynamics") if c.cost]
    counts.sort(key=lambda pair: -pair[1].operations)
    lines: list[tuple[str | Cell, ...]] = [
        (name, str(cost.multiplications), str(cost.additions), f"{cost.operations / compiled.operations:.1f}")
        for name, cost in counts
    ]
    ours = ("compiled by dalembert", str(compiled.multiplications), str(compiled.additions), "1.0")
    terminal.table(("algorithm", "mult", "add", "ratio"), [*lines, tuple(Cell(cell, "good") for cell in ours)])

    terminal.title("5. How fast it is, time per state")
    batch, threads, timings = 10_000, default_threads(), []
    q, v, a = arm.random_state(rng, (batch,))
    states = {"q": q, "v": v, "a": a, "tau": a}
    for quantity in MAIN:
        terminal.progress(f"timing {quantity} ...")
        timings.append(time_quantity(dynamics, quantity, {}, states, threads, 0.15))
        if peer is not None:
            time_peer(timings[-1], peer, states, threads, 0.15)
    say_timings(terminal, timings, batch, threads)
    if remark:
        terminal.say(f"\n  {remark}", "dim")

    terminal.title("6. Equations to read: a double pendulum by Kane's method")
    terminal.say(f"\n{derive(load('double_pendulum'), 'kane')}")

    terminal.title("7. A page for the browser: the arm follows a closed path by computed torque")
    terminal.progress("simulating and writing a page ...")
    written = write_page(options.to)
    size = f"{written.stat().st_size / 1e6:.1f} MB"
    terminal.say(f"  {written} ({size}): open it, move the sliders, play the motion; it can be mailed", "good")

    terminal.title(f"What next? (This took {duration(time.perf_counter() - start)}.)")
    terminal.say(NEXT.rstrip())
    return 0


def write_page(path: str) -> Path:
    """The arm as it follows a closed path by computed torque, and the equations of a double pendulum, as one page.

    Args:
        path: the file to write, ``.html``.
    """
    import numpy as np

    from dalembert.control import computed_torque
    from dalembert.formats import load
    from dalembert.simulation import simulate
    from dalembert.viewer import view

    arm = load(ROBOT)
    middle, size = np.array([0.0, 0.5, 0.5, 0.0, 0.3, 0.0]), np.array([1.2, 0.4, 0.5, 0.8, 0.6, 2.0])
    rate = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 1.0])  # whole numbers, so that the path closes
    law, stiffness, damping = computed_torque(arm), np.full(6, 100.0), np.full(6, 20.0)

    def wanted(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        s, c = np.sin(rate * t), np.cos(rate * t)
        return middle + size * s, size * rate * c, -size * rate**2 * s

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return law(q, v, *wanted(t), stiffness, damping)

    q, v, _ = wanted(0.0)
    motion = simulate(arm, q, v, np.linspace(0, 2 * np.pi, 181), control=control, rtol=1e-6, progress=False)
    return view(motion, to=path, equations=load("double_pendulum"))

"""Simulate a motion of a mechanism, report how it went, write it to a file, draw it.

Positions and velocities are given by joint, or all at once; closed loops are closed before the start. Control is zero
(the mechanism falls), gravity (it floats), hold (computed torque keeps it where it starts) or constant forces.

examples:
  dalembert simulate double_pendulum --time 5 --q shoulder=1.5 --plot motion.png
  dalembert simulate panda.urdf --time 2 --control gravity --v panda_joint1=0.5 --to motion.npz
  dalembert simulate demo_arm --q=0.1,-0.5,0.8,0,0.3,0 --control hold --include damping
  dalembert simulate cart_pole --force rail=2 --time 3 --samples 301 --to motion.csv
  dalembert simulate four_bar --q=1,-0.7,1.6 --v drive=3 --time 2 --method rk4 --step 1e-3
  dalembert simulate free_body --v=0,0,0,0.1,5,0.1 --time 10 --json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import add_common, add_model, integer, open_model, output, plot, real, with_extra
from dalembert.cli.state import add_state, dynamics_of, numbers, start, tidy, vector
from dalembert.cli.terminal import Terminal, duration
from dalembert.errors import ArgumentError
from dalembert.files import write_whole

if TYPE_CHECKING:
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.simulation import Trajectory

SUMMARY = "simulate a motion, write it, draw it"

WRITERS = {".csv": "to_csv", ".npz": "to_npz", ".parquet": "to_parquet"}
"""Suffix of a file -> method of a trajectory."""

MOTION = with_extra(output(*WRITERS), "pyarrow", "tables", "a Parquet file", (".parquet",))
"""The name of a file for a motion."""

CONTROLS = {"zero": "no forces", "gravity": "compensates gravity", "hold": "computed torque towards the start"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_state(parser)
    group = parser.add_argument_group("the motion")
    group.add_argument("--time", type=real(1e-9, 1e9), default=1.0, metavar="S", help="duration in seconds (default 1)")
    group.add_argument("--control", choices=tuple(CONTROLS), default="zero", help="what the motors do (default zero)")
    group.add_argument(
        "--force", type=numbers, action="append", default=[], metavar="JOINT=VALUE",
        help="a constant generalised force; may be repeated",
    )  # fmt: skip
    group.add_argument("--stiffness", type=real(0, 1e9), help="of --control hold, 1/s^2 (default 100)")
    group.add_argument("--method", default="DOP853", help="DOP853, Radau, ..., rk4, variational, ... (default DOP853)")
    group.add_argument("--rtol", type=real(1e-14, 1.0), help="tolerance per step of adaptive methods (default 1e-9)")
    group.add_argument("--step", type=real(1e-9, 1e3), help="of methods of fixed step (default 1e-3)")
    group.add_argument("--samples", type=integer(2, 10**7), help="how many, evenly spaced; by default every step")
    files = parser.add_argument_group("files")
    files.add_argument("--to", metavar="FILE", type=MOTION, help="write the motion: .csv, .npz or .parquet")
    files.add_argument("--plot", metavar="FILE", type=plot, help="draw it: .png, .svg or .pdf")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.simulation import simulate

    if options.force and options.control != "zero":
        raise ArgumentError("--force and --control exclude each other")
    if options.stiffness is not None and options.control != "hold":
        raise ArgumentError("--stiffness belongs to --control hold; give that, too, or leave it out")
    mechanism = open_model(options, numeric=True)
    terminal.progress(f"preparing {mechanism.name} ...")
    acting = options.include, options.constraints, options.elements
    system = dynamics_of(mechanism, *acting)
    q, v, remarks = start(system, vector(options.q, "--q"), vector(options.v, "--v"))
    system = dynamics_of(mechanism, *acting, q)  # neutral positions may not close loops
    times = np.linspace(0, options.time, options.samples) if options.samples else options.time
    control = _control(options, system, q)
    terminal.progress()
    motion = simulate(system, q, v, times, control=control, method=options.method, rtol=options.rtol, step=options.step)
    code = 130 if motion.status == "interrupted" else 0  # what was computed is reported and written all the same
    written = []
    if options.to is not None:
        getattr(motion, WRITERS[Path(options.to).suffix.lower()])(options.to)
        written.append(options.to)
    if options.plot is not None:
        write_whole(options.plot, motion.plot().savefig)
        written.append(options.plot)
    if options.json:
        terminal.json(_described(motion) | {"remarks": remarks, "files": written})
        return code
    _say(terminal, motion)
    for remark in remarks:
        terminal.say(f"  {remark}", "dim")
    for path in written:
        terminal.say(f"  written: {path}", "good")
    return code


def _control(options: argparse.Namespace, system: Any, q0: np.ndarray) -> Any:
    """Constant forces, or a function of (t, q, v), or None."""
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_velocity

    model = system.mechanism
    if options.force:
        return as_velocity(model, vector(options.force, "--force"), name="--force")
    if options.control == "zero":
        return None
    tree = system if system.is_tree else Dynamics(model, constraints=(), elements=())
    if options.control == "gravity":
        return lambda t, q, v: tree.gravity(q)
    return _holding(tree, q0, np.full(model.nv, 100.0 if options.stiffness is None else options.stiffness))


def _holding(tree: Dynamics, q0: np.ndarray, stiffness: np.ndarray) -> Callable[..., Any]:
    import numpy as np

    from dalembert.control import computed_torque

    law, still = computed_torque(tree, driven_base=True), np.zeros(tree.mechanism.nv)
    damping = 2 * np.sqrt(stiffness)  # critical
    return lambda t, q, v: law(q, v, q0, still, still, stiffness, damping)


def _described(motion: Trajectory) -> dict[str, Any]:
    from dalembert.model.names import position_names, velocity_names

    m, energy = motion.mechanism, motion.energy
    return {
        "model": m.name,
        "status": motion.status,
        "method": motion.info["method"],
        "samples": len(motion.t),
        "time": float(motion.t[-1]),
        "evaluations": motion.info["evaluations"],
        "seconds": motion.info["seconds"],
        "positions": position_names(m),
        "velocities": velocity_names(m),
        "q": {"first": motion.q[0], "last": motion.q[-1], "least": motion.q.min(axis=0), "most": motion.q.max(axis=0)},
        "v": {"first": motion.v[0], "last": motion.v[-1], "least": motion.v.min(axis=0), "most": motion.v.max(axis=0)},
        "largest_force": abs(motion.tau).max(axis=0),
        "energy": {"first": energy[0], "last": energy[-1], "change": energy[-1] - energy[0]},
    }


def _say(terminal: Terminal, motion: Trajectory) -> None:
    from dalembert.constraints.forces import CONSERVATIVE
    from dalembert.model.names import position_names, velocity_names

    m, energy = motion.mechanism, motion.energy
    terminal.say(f"{m.name}: {motion.t[-1]:g} s by {motion.info['method']}, {motion.status}", "bold")
    effort = f"{motion.info['evaluations']} evaluations of the accelerations, {duration(motion.info['seconds'])}"
    terminal.say(f"  {len(motion.t)} samples, {effort}", "dim")
    for title, names, values in (
        ("position", position_names(m), motion.q),
        ("velocity", velocity_names(m), motion.v),
    ):
        columns = (values[0], values[-1], values.min(axis=0), values.max(axis=0))
        terminal.say()
        scaled = [tidy(column.tolist()) for column in columns]
        rows = [(name, *cells) for name, *cells in zip(names, *scaled)]
        terminal.table((title, "first", "last", "least", "most"), rows)
    terminal.say()
    kinetic, potential = motion.kinetic_energy, motion.potential_energy
    rows = [
        (name, f"{x[0]:.6g}", f"{x[-1]:.6g}", f"{x[-1] - x[0]:.2g}")
        for name, x in (("kinetic", kinetic), ("potential", potential), ("together", energy))
    ]
    terminal.table(("energy (J)", "first", "last", "change"), rows)
    acting = motion.dynamics.elements.names
    outside = [item.name for item in m.forces if item.name in acting and item.kind not in CONSERVATIVE]
    outside += [item.name for item in m.constraints if item.kind == "motion"]
    if outside:
        terminal.say(f"  what {', '.join(outside)} gave or took is not in here", "dim")

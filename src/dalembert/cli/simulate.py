"""Simulate a motion of a mechanism, report how it went, write it to a file, draw it.

Positions and velocities are given by joint, or all at once; closed loops are closed before the start. Control is zero
(the mechanism falls), gravity (it floats), hold (computed torque keeps it where it starts) or constant forces.

examples:
  dalembert simulate double_pendulum --time 5 --q shoulder=1.5 --plot motion.png
  dalembert simulate panda.urdf --q panda_joint4=-1.5 --v panda_joint1=0.5 --control gravity --to motion.npz
  dalembert simulate demo_arm --q=0.1,-0.5,0.8,0,0.3,0 --control hold --include damping
  dalembert simulate cart_pole --force rail=2 --time 3 --samples 301 --to motion.csv
  dalembert simulate four_bar --q=1,-0.7,1.6 --v drive=3 --time 2 --method rk4 --step 1e-3
  dalembert simulate free_body --v=0,0,0,0.1,5,0.1 --time 10 --json
  dalembert simulate go2 --base free --ground --q '*thigh*=0.8' --q '*calf*=-1.5' --control springs --page stand.html
  dalembert simulate go2 --base free --ground --q '*thigh*=0.8' --q '*calf*=-1.5' --limits --page collapse.html
  dalembert simulate ball.toml --ground --law compliant --contact-stiffness 2e4 --contact-damping 1
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.contacts import LAWS, add_contacts, opened
from dalembert.cli.options import add_common, add_model, integer, output, plot, real, shown_as, source_of, with_extra
from dalembert.cli.state import add_state, dynamics_of, numbers, start, tidy, vector
from dalembert.cli.terminal import Terminal, duration
from dalembert.errors import ArgumentError
from dalembert.files import write_whole

if TYPE_CHECKING:
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.simulation import Trajectory
    from dalembert.simulation.contact_history import ContactHistory

SUMMARY = "simulate a motion, write it, draw it"

WRITERS = {".csv": "to_csv", ".npz": "to_npz", ".parquet": "to_parquet"}
"""Suffix of a file -> method of a trajectory."""

MOTION = with_extra(output(*WRITERS), "pyarrow", "tables", "a Parquet file", (".parquet",))
"""The name of a file for a motion."""

CONTROLS = {
    "zero": "no forces", "gravity": "compensates gravity", "hold": "computed torque towards the start",
    "springs": "springs and dampers in all joints of one degree, towards the start",
}  # fmt: skip

DAMPING_TIME = 0.03
"""Of --control springs, s: damping over stiffness."""

STEP = 1e-3
"""Length of steps that is not given, s."""


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
    group.add_argument(
        "--stiffness", type=real(0, 1e9),
        help="of --control hold, 1/s^2 (default 100), or springs, N m/rad or N/m (default: what carries the weight)",
    )  # fmt: skip
    group.add_argument(
        "--method", help="DOP853, Radau, ..., rk4, variational, ... (default DOP853, or what the law of contact needs)"
    )
    group.add_argument("--rtol", type=real(1e-14, 1.0), help="tolerance per step of adaptive methods (default 1e-9)")
    group.add_argument("--step", type=real(1e-9, 1e3), help="of methods of fixed step (default 1e-3)")
    group.add_argument("--samples", type=integer(2, 10**7), help="how many, evenly spaced; by default every step")
    add_contacts(parser)
    group.add_argument("--law", choices=LAWS, help="of contact (default rigid, where something can touch)")
    group.add_argument("--sweeps", type=integer(1, 10_000), help="of contacts in a step (default: until they converge)")
    group.add_argument("--limits", action="store_true", help="joints stop at the ends of their ranges")
    files = parser.add_argument_group("files")
    files.add_argument("--to", metavar="FILE", type=MOTION, help="write the motion: .csv, .npz or .parquet")
    files.add_argument("--plot", metavar="FILE", type=plot, help="draw it: .png, .svg or .pdf")
    files.add_argument(
        "--page", metavar="FILE", type=shown_as, help="a page that plays it, .html; a film, .gif, .mp4, .webm"
    )
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    import numpy as np

    from dalembert.simulation import simulate

    if options.force and options.control != "zero":
        raise ArgumentError("--force and --control exclude each other")
    if options.stiffness is not None and options.control not in ("hold", "springs"):
        raise ArgumentError("--stiffness belongs to --control hold or springs; give one, too, or leave it out")
    mechanism, selection = opened(options, numeric=True)
    if options.law is not None and not mechanism.contacts:
        raise ArgumentError(f"--law {options.law}: nothing can touch; give --ground, or a model with contacts")
    terminal.progress(f"preparing {mechanism.name} ...")
    acting = options.include, options.constraints, options.elements
    law: dict[str, str] = {} if options.law is None else {"law": options.law}
    if options.limits:
        law["limits"] = "all"
    system = dynamics_of(mechanism, *acting, **law)
    q, v, remarks = start(system, vector(options.q, "--q", mechanism), vector(options.v, "--v", mechanism))
    system = dynamics_of(mechanism, *acting, q, **law)  # neutral positions may not close loops
    if system.contacts.points:
        q, lifted = _lifted(system, q, bool(options.ground))
        remarks += lifted
    remarks += selection.notes if selection is not None else ()
    times = np.linspace(0, options.time, options.samples) if options.samples else options.time
    control, held_back = _control(options, system, q)
    remarks += held_back
    terminal.progress()
    try:
        motion, code = simulate(
            system, q, v, times, control=control, method=options.method, rtol=options.rtol, step=options.step,
            sweeps=options.sweeps,
        ), 0  # fmt: skip
    except KeyboardInterrupt as stopped:  # what was computed is reported and written all the same
        if not hasattr(stopped, "partial"):
            raise
        motion, code = stopped.partial, 130
    written = []
    if options.to is not None:
        getattr(motion, WRITERS[Path(options.to).suffix.lower()])(options.to)
        written.append(options.to)
    if options.plot is not None:
        write_whole(options.plot, motion.plot().savefig)
        written.append(options.plot)
    if options.page is not None:
        from dalembert.viewer import view

        source = source_of(options.model)
        folder = source.parent if source is not None and source.is_file() else None
        view(motion, to=options.page, folder=folder)
        written.append(options.page)
    if options.json:
        terminal.json(_described(motion) | {"remarks": remarks, "files": written})
        return code
    _say(terminal, motion)
    for remark in remarks:
        terminal.say(f"  {remark}", "dim")
    for path in written:
        terminal.say(f"  written: {path}", "good")
    return code


def _lifted(system: Dynamics, q: np.ndarray, wanted: bool) -> tuple[np.ndarray, list[str]]:
    """Positions at which nothing overlaps, if that is wanted; and what was done."""
    from dalembert.simulation.contacting import checked_start

    if system.law == "compliant" and not wanted:
        return q, []
    free = checked_start(system, q, None, wanted)
    rise = float(abs(free - q).max())
    return free, [f"lifted by {rise:.4g} m, until nothing overlaps"] if rise else []


def _control(options: argparse.Namespace, system: Any, q0: np.ndarray) -> tuple[Any, list[str]]:
    """Constant forces, or a function of (t, q, v), or None; and what there is to say about it."""
    import numpy as np

    from dalembert.dynamics import Dynamics
    from dalembert.simulation.state import as_velocity

    model = system.mechanism
    if options.force:
        return as_velocity(model, vector(options.force, "--force", model), name="--force"), []
    if options.control == "zero":
        return None, []
    tree = (
        system if system.is_tree and not model.contacts else Dynamics(model, constraints=(), elements=(), contacts=())
    )
    if options.control == "gravity":
        return lambda t, q, v: tree.gravity(q), []
    if options.control == "springs":
        return _springs(tree, q0, options.stiffness, (options.step or STEP) if system.contacts.points else 0.0)
    return _holding(tree, q0, np.full(model.nv, 100.0 if options.stiffness is None else options.stiffness)), []


def _springs(
    tree: Dynamics, q0: np.ndarray, stiffness: float | None, step: float
) -> tuple[Callable[..., Any], list[str]]:
    """PD control of every joint of one degree, as walking robots have it: no force on a floating base. Springs and
    dampers are no stiffer than steps of this length can follow, by the inertia that a joint feels."""
    import numpy as np

    from dalembert.kinematics import center_of_mass, link_poses

    model = tree.mechanism
    joints = [joint for joint in model.joints if joint.nq == 1 and joint.mimic is None]
    places = [model.q_slice(joint.name).start for joint in joints]
    speeds = [model.v_slice(joint.name).start for joint in joints]
    if stiffness is None:
        g, mass = np.asarray(model.gravity, dtype=float), sum(float(body.inertia.mass) for body in model.bodies)
        up = -g / (np.linalg.norm(g) or 1.0)
        heights = [float(up @ pose.translation) for pose in link_poses(model.tree, q0)]
        tall = float(up @ np.asarray(center_of_mass(model, q0), dtype=float)) - min(heights)
        stiffness = 2 * mass * float(np.linalg.norm(g)) * tall or 100.0
    k, d = np.full(len(joints), stiffness), np.full(len(joints), DAMPING_TIME * stiffness)
    remarks = []
    if step:
        felt = 1 / np.diag(np.linalg.pinv(np.asarray(tree.evaluate("mass_matrix", q0), dtype=float)))[speeds]
        soft = k > felt / (4 * step**2)
        k, d = np.minimum(k, felt / (4 * step**2)), np.minimum(d, felt / (2 * step))
        remarks = [f"springs: {stiffness:.3g} N m/rad or N/m, times {DAMPING_TIME} s of damping"]
        if soft.any():
            remarks[0] += f"; {int(soft.sum())} light joints softer, for steps of {step:g} s"

    def control(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        tau = np.zeros(model.nv)
        tau[speeds] = -k * (q[places] - q0[places]) - d * v[speeds]
        return tau

    return control, remarks


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
    } | ({} if motion.contacts is None else {"contacts": _touched(motion.contacts)})


def _touched(contacts: ContactHistory) -> dict[str, Any]:
    """What the contacts of a motion did."""
    import numpy as np

    points = {
        name: {
            "largest_force": np.linalg.norm(contacts.forces[:, k], axis=-1).max(),
            "last_force": contacts.world_forces[-1, k],
            "closed": float((contacts.mode[:, k] > 0).mean()),
            "slides": float((contacts.mode[:, k] > 1).mean()),
        }
        for k, name in enumerate(contacts.names)
    }
    return {
        "points": points,
        "residual": float(np.max(contacts.worst)),
        "friction_loss": contacts.friction_loss[-1],
        "impact_loss": contacts.impact_loss[-1],
    }


def _say_contacts(terminal: Terminal, contacts: ContactHistory) -> None:
    found = _touched(contacts)
    rows = [
        (
            name,
            f"{x['closed']:.0%}",
            f"{x['slides']:.0%}",
            f"{x['largest_force']:.5g}",
            *(f"{f:.5g}" for f in x["last_force"]),
        )
        for name, x in found["points"].items()
        if x["closed"]
    ]
    terminal.say()
    if not rows:
        terminal.say("no contact closed", "dim")
        return
    terminal.table(("contact", "closed", "slides", "largest (N)", "last fx (N)", "fy", "fz"), rows)
    lost = f"friction took {found['friction_loss']:.4g} J, impacts {found['impact_loss']:.4g} J"
    terminal.say(f"  {lost}; the law is violated by at most {found['residual']:.2g} m/s", "dim")


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
    if motion.dynamics.law == "compliant":
        outside += [f"contact {name}" for name in motion.dynamics.contacts.names]
    if outside:
        terminal.say(f"  what {', '.join(outside)} gave or took is not in here", "dim")
    if motion.contacts is not None:
        _say_contacts(terminal, motion.contacts)

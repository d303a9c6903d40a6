"""Find positions of the joints at which a frame is where it is wanted: inverse kinematics.

Joints stay within their ranges. The search begins at --q, then at random positions; the answer is the one nearest to
--q that reaches the goal, or else the one that comes nearest to it (exit code 1).

examples:
  dalembert reach puma560 --position=0.4,0.2,0.3
  dalembert reach demo_arm --frame flange --position=0.3,0.2,0.4 --euler=0,90deg,0
  dalembert reach panda.urdf --frame panda_hand --position=0.4,0,0.5 --quaternion=1,0,0,0 --q panda_joint4=-2
  dalembert reach go2 --base free --frame FL_foot --position=0.2,0.15,-0.25 --keep root_joint --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dalembert.cli.options import add_common, add_model, integer, number, open_model, real
from dalembert.cli.state import numbers, vector
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    import numpy as np

SUMMARY = "joint positions at which a frame is where it is wanted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    group = parser.add_argument_group("the goal, in world axes")
    group.add_argument("--frame", metavar="NAME", help="frame or body (default: the last body)")
    group.add_argument(
        "--position", metavar="X,Y,Z", type=several(3), help="of the frame's point, m; anywhere if left out"
    )
    group.add_argument(
        "--euler", metavar="A,B,C", type=several(3), help="attitude by Euler angles, rad (90deg works, too)"
    )
    group.add_argument(
        "--sequence", metavar="AXES", default="ZYX", help="axes of --euler (default ZYX: yaw, pitch, roll)"
    )
    group.add_argument("--quaternion", metavar="X,Y,Z,W", type=several(4), help="attitude by a quaternion, scalar last")
    group.add_argument(
        "--point", metavar="X,Y,Z", type=several(3), default=(0.0, 0.0, 0.0), help="in the frame (default: its origin)"
    )
    search = parser.add_argument_group("the search")
    search.add_argument(
        "--q", type=numbers, action="append", default=[], metavar="...",
        help="where it begins, rad or m: JOINT=VALUE, or all numbers with commas; may be repeated (default: neutral)",
    )  # fmt: skip
    search.add_argument("--keep", metavar="JOINT", action="append", default=[], help="a joint that must not move")
    search.add_argument("--no-limits", action="store_true", help="take no notice of the ranges of the joints")
    search.add_argument("--starts", type=integer(1, 10**6), default=64, help="positions it begins at (default 64)")
    search.add_argument("--seed", type=integer(0, 2**32 - 1), default=0, help="of the random ones (default 0)")
    search.add_argument(
        "--tolerance", type=real(0, 1), default=1e-9, help="largest error of a goal that is met, m and rad (1e-9)"
    )
    add_common(parser)


def several(count: int):
    """A type of argument: so many numbers with commas."""

    def parse(text: str) -> tuple[float, ...]:
        try:
            found = tuple(number(value) for value in text.replace(",", " ").split())
        except ValueError:
            found = ()
        if len(found) != count:
            raise argparse.ArgumentTypeError(f"{text!r} is not {count} numbers with commas, such as 0.3,0,90deg")
        return found

    return parse


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.model.names import position_names
    from dalembert.planning import Goal, inverse_kinematics

    if options.euler is not None and options.quaternion is not None:
        raise ArgumentError("--euler and --quaternion both give the attitude; keep one of them")
    mechanism = open_model(options, numeric=True)
    if not mechanism.nv:
        raise ArgumentError(f"{mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    frame = options.frame or mechanism.bodies[-1].name
    goal = Goal(frame, options.position, _attitude(options), options.point)
    if goal.position is None and goal.rotation is None:
        raise ArgumentError(
            "nothing is wanted: give --position, --euler or --quaternion, or a position and an attitude"
        )
    terminal.progress(f"looking for positions of {mechanism.name} ...")
    found = inverse_kinematics(
        mechanism, goal, vector(options.q, "--q", mechanism), keep=options.keep, limits=not options.no_limits,
        starts=options.starts, tolerance=options.tolerance, seed=options.seed,
    )  # fmt: skip
    status = str(found.status)
    if options.json:
        terminal.json(
            {
                "model": mechanism.name,
                "frame": frame,
                "status": status,
                "q": dict(zip(position_names(mechanism), found.q.tolist())),
                "position_error": float(found.position_error[0]),
                "rotation_error": float(found.rotation_error[0]),
                "start": int(found.start),
                "iterations": int(found.iterations),
            }
        )
        return 0 if found.reached else 1
    met = {
        "reached": "reaches the goal",
        "nearest": "does not reach the goal; this is the nearest that was found",
        "unfinished": "does not reach the goal within the steps allowed; this is the nearest that was found",
    }[status]
    terminal.say(f"{mechanism.name}: {frame!r} {met}")
    terminal.say()
    terminal.table(("", "q"), [(name, f"{x:.9g}") for name, x in zip(position_names(mechanism), found.q.tolist())])
    terminal.say()
    errors = [("m", goal.position, found.position_error), ("rad", goal.rotation, found.rotation_error)]
    left = ", ".join(f"{float(error[0]):.3g} {unit}" for unit, wanted, error in errors if wanted is not None)
    start = "the given start" if not found.start else f"random start {int(found.start)}"
    terminal.say(f"  off by {left}; found from {start} in {int(found.iterations)} steps", "dim")
    return 0 if found.reached else 1


def _attitude(options: argparse.Namespace) -> np.ndarray | None:
    import numpy as np

    from dalembert.algebra.euler import rotation_from_euler

    if options.quaternion is not None:
        eta = np.array(options.quaternion)
        length = float(np.linalg.norm(eta))
        if not length:
            raise ArgumentError("--quaternion=0,0,0,0 stands for no rotation")
        return eta / length
    return None if options.euler is None else np.asarray(rotation_from_euler(options.sequence, options.euler), float)

"""Show a mechanism in the browser: geometry, sliders for the joints, its motion with forces and energies, equations.

The page is one file that works without a network and without this program. With --to it is written and can be mailed;
a suffix of .png, .gif, .mp4 or .webm writes a picture or a film instead, without a browser. With --live the browser
shows a running simulation, which can be pulled with the mouse, or joint positions that arrive on standard input.

examples:
  dalembert view demo_arm
  dalembert view panda.urdf --at panda_joint4=-1.5
  dalembert view double_pendulum swing.npz                   a motion, written by simulate or Trajectory.to_npz
  dalembert view my_robot.urdf motion.csv --to robot.html    a page to mail
  dalembert view double_pendulum swing.npz --to swing.gif    a film
  dalembert view panda --live --hold                         pull it with the mouse
  robot_log | dalembert view panda - --live                  follow a robot: a line per state, numbers or JSON
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.cli.options import (
    add_common,
    add_model,
    assignment,
    by_name,
    integer,
    open_model,
    pair,
    real,
    shown_as,
    source_of,
)
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError
from dalembert.formats.registry import format_of

if TYPE_CHECKING:
    from dalembert.model import Mechanism

SUMMARY = "show a mechanism and its motion in the browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "trajectory",
        metavar="TRAJECTORY",
        nargs="?",
        help="a motion: the .npz, .csv or .parquet file of a Trajectory; with --live, - is standard input",
    )
    parser.add_argument(
        "--at",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="position of a joint to begin with, rad or m (90deg, pi/2 work too); may be repeated",
    )
    parser.add_argument(
        "--to", metavar="FILE", type=shown_as,
        help="write the page, .html, a picture, .png, or a film, .gif, .mp4, .webm, instead of opening the page",
    )  # fmt: skip
    parser.add_argument(
        "--all-meshes", action="store_true", help="with --to: also meshes from outside the model's folder and package"
    )
    parser.add_argument("--no-equations", action="store_true", help="leave the panel of equations out")
    drawn = parser.add_argument_group("pictures and films")
    drawn.add_argument("--size", metavar="W,H", type=pair, help="pixels (default 960,720; films 640,480)")
    drawn.add_argument("--look", metavar="AZ,EL", type=pair, help="azimuth and elevation of the eye, degrees")
    drawn.add_argument("--moment", metavar="S", type=real(-1e9, 1e9), help="of a picture; several moments by default")
    drawn.add_argument("--fps", type=real(0.1, 240), help="pictures of a film per second (default 25)")
    drawn.add_argument("--speed", type=real(1e-6, 1e6), help="of a film; 0.1 is slow motion (default 1)")
    live = parser.add_argument_group("live view, which needs the extra 'live'")
    live.add_argument("--live", action="store_true", help="show a running simulation in the browser, until Ctrl-C")
    live.add_argument("--hold", action="store_true", help="the drives hold the posture of the sliders")
    live.add_argument("--port", type=integer(0, 65535), default=8080, help="of the server (default 8080)")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.viewer import view

    mechanism = _with_numbers(options)
    source = source_of(options.model)
    folder = source.parent if source is not None and source.is_file() else None
    _check(options)
    if options.live:
        return _live(options, terminal, mechanism, folder)
    chosen = {
        "size": options.size,
        "look": options.look,
        "t": options.moment,
        "fps": options.fps,
        "speed": options.speed,
    }
    terminal.progress("drawing ..." if _is_drawn(options.to) else "making the page ...")
    path = view(
        mechanism,
        options.trajectory,
        to=options.to,
        q=by_name(options.at, "--at") or None,
        equations=False if options.no_equations else open_model(options),
        folder=folder,
        consent=options.all_meshes,
        **{name: value for name, value in chosen.items() if value is not None},
    )
    size = path.stat().st_size
    if options.json:
        terminal.json({"model": mechanism.name, "file": str(path), "bytes": size, "opened": options.to is None})
    elif options.to is None:
        terminal.say(f"{mechanism.name}: shown in the browser; the page is {path}")
    else:
        terminal.say(f"{mechanism.name}: written to {path} ({size / 1024:.0f} KB)")
    return 0


def _is_drawn(target: str | None) -> bool:
    return target is not None and not target.lower().endswith((".html", ".htm"))


def _check(options: argparse.Namespace) -> None:
    """Options that go together."""
    if options.live and (options.to is not None or options.json):
        raise ArgumentError("--live shows a page while this program runs; leave out --to and --json")
    if options.trajectory == "-" and not options.live:
        raise ArgumentError("- reads states from standard input, which needs --live")
    if options.hold and not options.live:
        raise ArgumentError("--hold belongs to --live; give both, or neither")
    for name in ("size", "look", "moment", "fps", "speed"):
        if getattr(options, name) is not None and not _is_drawn(options.to):
            raise ArgumentError(f"--{name} is for pictures and films; give --to FILE.png, .gif or .mp4, too")


def _live(options: argparse.Namespace, terminal: Terminal, mechanism: Mechanism, folder: Path | None) -> int:
    """Serve the page until Ctrl-C, or until no more states arrive."""
    from dalembert.viewer import view
    from dalembert.viewer.live import states_of

    arriving = options.trajectory == "-"
    shown = view(
        mechanism,
        None if arriving else options.trajectory,
        q=by_name(options.at, "--at") or None,
        folder=folder,
        live=True,
        control="hold" if options.hold else None,
        running=not arriving and options.trajectory is None,
        port=options.port,
    )
    terminal.say(f"{mechanism.name}: live at {shown.address}; Ctrl-C ends it")
    try:
        if arriving:
            shown.follow(states_of(sys.stdin, mechanism))
        else:
            shown.wait()
    except KeyboardInterrupt:
        pass
    finally:
        shown.close()
    return 0


def _with_numbers(options: argparse.Namespace) -> Mechanism:
    """The model with the values its file gives to symbols, where it gives any; the page says which it chose if not."""
    source = source_of(options.model)
    format = format_of(source) if source is not None else None
    return open_model(options, numeric=bool(source and format and format.default_values(source)))

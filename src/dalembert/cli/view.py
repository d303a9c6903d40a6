"""Show a mechanism in the browser: geometry, sliders for the joints, its motion with forces and energies, equations.

The page is one file that works without a network and without this program. With --to it is written and can be mailed.

examples:
  dalembert view demo_arm
  dalembert view panda.urdf --at panda_joint4=-1.5
  dalembert view double_pendulum swing.npz                   a motion, written by simulate or Trajectory.to_npz
  dalembert view my_robot.urdf motion.csv --to robot.html    a page to mail
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from dalembert.cli.options import add_common, add_model, assignment, by_name, open_model, page, source_of
from dalembert.cli.terminal import Terminal
from dalembert.formats.registry import format_of

if TYPE_CHECKING:
    from dalembert.model import Mechanism

SUMMARY = "show a mechanism and its motion in the browser"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "trajectory", metavar="TRAJECTORY", nargs="?", help="a motion: the .npz, .csv or .parquet file of a Trajectory"
    )
    parser.add_argument(
        "--at",
        metavar="JOINT=VALUE",
        action="append",
        default=[],
        type=assignment,
        help="position of a joint to begin with, rad or m (90deg, pi/2 work too); may be repeated",
    )
    parser.add_argument("--to", metavar="FILE", type=page, help="write the page, .html, instead of opening it")
    parser.add_argument(
        "--all-meshes", action="store_true", help="with --to: also meshes from outside the model's folder and package"
    )
    parser.add_argument("--no-equations", action="store_true", help="leave the panel of equations out")
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.viewer import view

    mechanism = _with_numbers(options)
    source = source_of(options.model)
    folder = source.parent if source is not None and source.is_file() else None
    terminal.progress("making the page ...")
    path = view(
        mechanism,
        options.trajectory,
        to=options.to,
        q=by_name(options.at, "--at") or None,
        equations=False if options.no_equations else open_model(options),
        folder=folder,
        consent=options.all_meshes,
    )
    size = path.stat().st_size
    if options.json:
        terminal.json({"model": mechanism.name, "file": str(path), "bytes": size, "opened": options.to is None})
    elif options.to is None:
        terminal.say(f"{mechanism.name}: shown in the browser; the page is {path}")
    else:
        terminal.say(f"{mechanism.name}: written to {path} ({size / 1024:.0f} KB)")
    return 0


def _with_numbers(options: argparse.Namespace) -> Mechanism:
    """The model with the values its file gives to symbols, where it gives any; the page says which it chose if not."""
    source = source_of(options.model)
    format = format_of(source) if source is not None else None
    return open_model(options, numeric=bool(source and format and format.default_values(source)))

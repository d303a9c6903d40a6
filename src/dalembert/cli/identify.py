"""Find parameters of a real mechanism in a recorded motion: inertias of bodies, damping and friction of joints.

The log has a column of times, and of every joint its position and its torque. Columns and units are found by their
names if these are usual, and always reported; otherwise --column and --unit say what is what. Positions are filtered
and differentiated, torques filtered alike. Which model of friction the motion supports is decided by cross-validation.

examples:
  dalembert identify arm.urdf run1.csv
  dalembert identify arm.urdf run1.csv --column q=pos_{number} --column tau=current_{number} --unit q=deg --unit t=ms
  dalembert identify arm.urdf run1.parquet --unknown payload --cutoff 20 --predict run2.parquet --plot prediction.png
  dalembert identify arm.urdf robot.mcap --topic /joint_states --friction viscous-coulomb --to identified.urdf
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import add_common, add_model, open_model, output, plot, real
from dalembert.cli.terminal import Terminal
from dalembert.formats.registry import by_suffix, written

if TYPE_CHECKING:
    from dalembert.identification import Identification, Log

SUMMARY = "masses, inertias and friction from a recorded motion"

FRICTION = {
    "none": (),
    "viscous": ("damping",),
    "coulomb": ("friction",),
    "viscous-coulomb": ("damping", "friction"),
    "viscous-coulomb-offset": ("damping", "friction", "offset"),
}
"""Choices of --friction."""

SHARE = 10
"""The default cut-off is this part of the sampling rate."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("log", metavar="LOG", type=Path, help="a recorded motion: .csv, .parquet or .mcap")
    group = parser.add_argument_group("the log")
    group.add_argument(
        "--column", metavar="WHAT=NAME", action="append", default=[], type=pair,
        help="columns of t, q, v, a or tau: a name, or a pattern with {joint}, {number} (from 1) or {index} (from 0)",
    )  # fmt: skip
    group.add_argument(
        "--unit", metavar="WHAT=UNIT", action="append", default=[], type=pair,
        help="such as t=ms, q=deg, tau=Nmm; SI units where neither this nor the file says",
    )  # fmt: skip
    group.add_argument("--time-unit", metavar="UNIT", help="of the times: s, ms, us or ns; the same as --unit t=UNIT")
    group.add_argument("--topic", metavar="NAME", help="of an MCAP file with several")
    group.add_argument("--start", metavar="S", type=real(0, 1e9), help="use the log from here on")
    group.add_argument("--stop", metavar="S", type=real(0, 1e9), help="use the log up to here")
    group.add_argument(
        "--cutoff", metavar="HZ", type=real(0, 1e9), help=f"of the filter (default: 1/{SHARE} of the sampling rate)"
    )
    group = parser.add_argument_group("what is found")
    group.add_argument(
        "--unknown", metavar="BODY", action="append", default=[],
        help="a body whose inertia is found; may be repeated (default: all that move)",
    )  # fmt: skip
    group.add_argument(
        "--friction", choices=("auto", *FRICTION), default="auto", help="of the joints (default: by cross-validation)"
    )
    group = parser.add_argument_group("files")
    group.add_argument("--predict", metavar="LOG", type=Path, help="another motion, to test the parameters with")
    group.add_argument(
        "--to", metavar="FILE", type=output(*written()), help=f"write the mechanism found: {' or '.join(written())}"
    )
    group.add_argument("--plot", metavar="FILE", type=plot, help="torques measured and explained: .png, .svg or .pdf")
    group.add_argument("--residuals", metavar="FILE", type=plot, help="draw what is left unexplained")
    add_common(parser)


def pair(text: str) -> tuple[str, str]:
    """``WHAT=NAME``."""
    what, equals, name = text.partition("=")
    if not (what and equals and name):
        raise argparse.ArgumentTypeError(f"{text!r} is not WHAT=NAME, such as q=pos_{{joint}}")
    return what.strip(), name.strip()


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from functools import partial

    import numpy as np

    from dalembert.files import write_whole
    from dalembert.identification import choose_friction, identify

    mechanism = open_model(options, numeric=True)
    log = _read(options, mechanism, options.log)
    cutoff = options.cutoff or log.rate / SHARE
    if not options.json:
        terminal.say(str(log))
        terminal.say(f"  filtered at {cutoff:.4g} Hz" + ("" if options.cutoff else "; choose by --cutoff"))
        terminal.say()
    terminal.progress("looking for parameters ...")
    samples = log.samples(cutoff, start=options.start, stop=options.stop)
    unknown, choice = options.unknown or None, None
    if options.friction == "auto":
        choice = choose_friction(mechanism, *samples, unknown=unknown)
        found = choice.identification
        assert found is not None  # some bodies are always unknown here
    else:
        found = identify(mechanism, *samples, unknown=unknown, drives=FRICTION[options.friction])
    told: dict[str, Any] = {
        "model": mechanism.name, "samples": len(samples.tau), "cutoff": cutoff, "notes": list(log.notes),
        "friction": choice.chosen if choice else options.friction, "condition": found.condition,
        "residual": found.residual.tolist(), "parameters": found.parameters, "doubts": list(found.doubts),
        "visible": [
            {"combination": name, "value": float(x), "deviation": float(s)}
            for name, x, s in zip(found.visible.combinations, found.values, found.deviations)
        ],
    }  # fmt: skip
    if not options.json:
        if choice is not None:
            terminal.say(str(choice))
            terminal.say()
        terminal.say(str(found))
    draw: Callable[[], Any] = found.plot
    if options.predict is not None:
        other = _read(options, mechanism, options.predict)
        new = other.samples(cutoff)
        off = new.tau - found.predict(new.q, new.v, new.a, new.signs)
        told["prediction"] = {
            "residual": np.sqrt((off**2).mean(axis=0)).tolist(),
            "share": float(np.sqrt((off**2).mean() / (new.tau**2).mean())),
        }
        if not options.json:
            terminal.say()
            terminal.say(
                f"  {options.predict.name}: {told['prediction']['share']:.2%} of its torques are not predicted"
            )
        draw = partial(found.plot_prediction, *new)
    for path, picture in ((options.plot, draw), (options.residuals, found.plot_residuals)):
        if path is not None:
            write_whole(path, picture().savefig)
    if options.to is not None:
        _write(found, options.to)
    written = [str(path) for path in (options.plot, options.residuals, options.to) if path is not None]
    if options.json:
        terminal.json({**told, "written": written})
        return 0
    for path in written:
        terminal.say(f"  written: {path}", "dim")
    return 0


def _read(options: argparse.Namespace, mechanism: Any, path: Path) -> Log:
    from dalembert.identification import read_log

    columns, units, topic = dict(options.column), dict(options.unit), options.topic
    return read_log(path, mechanism, columns=columns, units=units, time_unit=options.time_unit, topic=topic)


def _write(found: Identification, path: str) -> None:
    by_suffix(Path(path)).write(found.mechanism, path)

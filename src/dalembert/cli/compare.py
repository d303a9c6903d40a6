"""Compare a mechanism with the same robot in another library, and explain the first difference in words.

Joints, axes, placements, masses, centres of mass, inertia tensors, gravity, armature, damping and frames come first,
then forces at random states, then forces of contact. Orders of joints and quaternions are mapped. The exit code is 1 if
results differ, or if forces of contact do for no reason that has a name.

examples:
  dalembert compare panda.urdf --with pinocchio            the same file, read by Pinocchio
  dalembert compare panda.urdf panda.xml --with mujoco     a URDF file and its MJCF translation
  dalembert compare old.urdf new.urdf                      two files, both read by dalembert
  dalembert compare talos.urdf --base free --with drake
  dalembert compare panda.urdf --with mujoco --include armature --include damping
  dalembert compare go2 --base free --ground --with mujoco    forces of contact, and what makes them different
  dalembert compare a.urdf b.urdf --joint elbow=joint2 --json
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.cli.contacts import add_contacts, opened
from dalembert.cli.options import OPTIONS, add_common, add_model, integer, open_model, real, source_of
from dalembert.cli.state import numbers, vector
from dalembert.cli.terminal import Cell, Terminal
from dalembert.errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    from dalembert.comparison import Comparison
    from dalembert.model import Mechanism

SUMMARY = "explain where another library or file sees another robot"

TERMS = ("armature", "damping", "friction")
LIBRARIES = ("dalembert", "pinocchio", "mujoco", "drake")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="the other file; by default the one of MODEL")
    parser.add_argument("--with", dest="library", choices=LIBRARIES, default="dalembert", help="who reads OTHER")
    parser.add_argument(
        "--include", choices=TERMS, action="append", default=[], help="a term of the joints that enters our forces"
    )
    parser.add_argument(
        "--joint",
        metavar="HERE=THERE",
        action="append",
        default=[],
        dest="joints",
        type=_pair,
        help="names of a joint that is called differently, divided at the first =; may be repeated",
    )
    parser.add_argument("--states", type=integer(1, 1000), default=5, help="how many random states (default 5)")
    parser.add_argument("--seed", type=integer(0, 2**32 - 1), default=0, help="of the random states (default 0)")
    parser.add_argument(
        "--tolerance", type=real(0.0, 1.0), default=1e-8, help="largest relative difference (default 1e-8)"
    )
    add_contacts(parser)
    for name, what in (("q", "positions near which contacts are compared"), ("v", "velocities there")):
        parser.add_argument(
            f"--{name}", type=numbers, action="append", default=[], metavar="...",
            help=f"{what}: JOINT=VALUE or all numbers with commas",
        )  # fmt: skip
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.comparison import compare

    mechanism, _ = opened(options, numeric=True)
    if (options.q or options.v) and not mechanism.contacts:
        raise ArgumentError("--q and --v say where contacts are compared; give --ground, or a model with contacts")
    path = source_of(options.other or options.model)
    if path is None or (options.other is None and options.library == "dalembert"):
        raise ArgumentError(
            "there is nothing to compare with; give a second file, or --with pinocchio, mujoco or drake"
        )
    terminal.progress(f"comparing with {options.library} ...")
    with _readable(mechanism, path, options) as other:
        found = compare(
            mechanism,
            other,
            library=options.library if isinstance(other, Path) else None,
            joints=dict(options.joints),
            include=options.include,
            states=options.states,
            seed=options.seed,
            tolerance=options.tolerance,
            q=vector(options.q, "--q", mechanism),
            v=vector(options.v, "--v", mechanism),
        )
    found = replace(found, differences=tuple(item.worded(OPTIONS) for item in found.differences))
    if options.json:
        terminal.json(found.to_dict())
        return 0 if _holds(found) else 1
    terminal.say(found.headline, "good" if found.agrees else "bad")
    for line in found.explanation():
        terminal.say(line, "title" if line and not line.startswith(" ") else "")
    if found.measured:
        terminal.title(f"Worst relative difference at {found.states} random states:")
        rows = [
            (row.quantity, Cell(f"{row.error:.1e}", "good" if row.ok else "bad"), "" if row.ok else f"at {row.where}")
            for row in found.measured
        ]
        terminal.table(("", "", ""), rows, left=1)
    if found.contacts is not None:
        title, *lines = found.contacts.lines()
        terminal.title(title)
        for line in lines:
            terminal.say(line)
    for line in found.notes():
        terminal.say(line, "dim")
    return 0 if _holds(found) else 1


def _holds(found: Comparison) -> bool:
    """Whether results agree, and forces of contact agree or differ for reasons that have names."""
    return found.agrees and (found.contacts is None or found.contacts.explained)


@contextmanager
def _readable(mechanism: Mechanism, path: Path, options: argparse.Namespace) -> Iterator[Path | Mechanism]:
    """What the other library reads. TOML it cannot: it gets a URDF of that mechanism, numbers in place of symbols."""
    from dalembert.comparison.compare import UNREAD
    from dalembert.formats.registry import format_of

    format = format_of(path)
    if format is None or format.name not in UNREAD:
        yield path
        return
    other = mechanism if options.other is None else _other(options)
    if options.library == "dalembert":
        yield other
        return
    from dalembert.formats import write_urdf

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{path.stem}.urdf"
        try:
            write_urdf(other, file)
        except UnsupportedError as error:
            raise UnsupportedError(
                f"another library gets a TOML model as URDF, and {error.message}",
                remedy="give its own description as a second file, or its model to da.compare in Python",
            ) from error
        yield file


def _other(options: argparse.Namespace) -> Mechanism:
    """OTHER with the default values of its own file; --set is for the symbols that it shares with MODEL."""
    from dalembert.formats import load

    symbols = {symbol.name for symbol in load(options.other).symbols}
    values = [(name, value) for name, value in options.values if name in symbols]
    return open_model(argparse.Namespace(model=options.other, base=options.base, values=values), numeric=True)


def _pair(text: str) -> tuple[str, str]:
    here, equals, there = text.partition("=")
    if not equals or not here or not there:
        raise argparse.ArgumentTypeError(f"{text!r} is not HERE=THERE, such as elbow=joint2")
    return here, there

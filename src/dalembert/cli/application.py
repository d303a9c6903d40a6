"""Finds the command and runs it; turns errors into one clean message and an exit code.

0    done
1    done, and the answer is no: results differ, or the installation is not sound
2    wrong arguments, an unreadable model, or something that cannot be computed
70   a bug in dalembert, with its traceback
130  interrupted with Ctrl-C
141  the reader of the output went away
"""

from __future__ import annotations

import argparse
import os
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, NoReturn

import dalembert
from dalembert.cli import (
    bench,
    compare,
    completion,
    cost,
    demo,
    derive,
    doctor,
    export,
    linearize,
    robots,
    show,
    simulate,
    verify,
    view,
)
from dalembert.cli.terminal import Terminal, printable
from dalembert.errors import DalembertError, ModelWarning

COMMANDS: tuple[ModuleType, ...] = (
    show, view, derive, verify, compare, simulate, linearize, cost, export, bench, robots, doctor, demo, completion,
)  # fmt: skip
"""Each has SUMMARY, its documentation with examples, ``add_arguments(parser)`` and ``run(options, terminal)``."""

MOST_WARNINGS = 5
"""Lines of warnings that are shown; of more there is only the number."""

OVERVIEW = """
first steps:
  dalembert demo                                  what dalembert does, on a small arm
  dalembert show my_robot.urdf                    bodies, joints, masses, what was assumed
  dalembert view my_robot.urdf                    the same to look at, in the browser
  dalembert derive double_pendulum                equations of motion, as mathematics
  dalembert verify my_robot.urdf                  every derivation and algorithm against every other
  dalembert compare my_robot.urdf --with mujoco   does MuJoCo see the same robot? if not, what differs first?
  dalembert simulate double_pendulum --q shoulder=2 --time 5 --plot motion.png
  dalembert cost my_robot.urdf                    multiplications and additions of each quantity
  dalembert export my_robot.urdf inverse_dynamics --language c --to .

`dalembert COMMAND --help` explains each command, with examples.
"""


class Parser(argparse.ArgumentParser):
    """Repeats what it does not understand without obeying control characters in it."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message))


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="dalembert",
        description="Equations of motion of rigid multibody systems: derived, proved equal, compiled.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dalembert {dalembert.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", title="commands")
    for module in COMMANDS:
        text = textwrap.dedent(module.__doc__ or "").strip()
        command = commands.add_parser(
            module.__name__.rpartition(".")[2],
            help=module.SUMMARY,
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: what comes after the name of the program; that of the process by default.
    """
    terminal = Terminal()
    try:
        try:
            return _run(arguments, terminal)
        finally:
            terminal.flush()
    except BrokenPipeError:
        _silence(terminal)
        return 141
    except KeyboardInterrupt:
        terminal.error("interrupted")
        return 130


def _run(arguments: Sequence[str] | None, terminal: Terminal) -> int:
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as done:  # argparse has written help, version or what is wrong
        return done.code if isinstance(done.code, int) else 2
    if options.command is None:
        parser.print_help(terminal.err)
        return 2
    try:
        with _warnings_on(terminal):
            return options.run(options, terminal)
    except BrokenPipeError:
        raise
    except (DalembertError, OSError) as error:
        terminal.error(traceback.format_exc().rstrip() if options.traceback else str(error))
        return 2
    except MemoryError:
        terminal.error("not enough memory; try smaller numbers")
        return 2
    except Exception:
        terminal.error(f"{traceback.format_exc().rstrip()}\nThis is a bug in dalembert; please report it.")
        return 70


@contextmanager
def _warnings_on(terminal: Terminal) -> Iterator[None]:
    """Show warnings without the place in the source, each line once, and not too many of them.

    NumPy's about its arithmetic name no joint and no file; what comes of them, infinities, is told by those who see it.
    """
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, RuntimeWarning):
            return
        for line in str(message).splitlines():
            if line not in seen and len(seen) < MOST_WARNINGS:
                terminal.warn(line)
            seen.add(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show  # restored by catch_warnings
        yield
    if len(seen) > MOST_WARNINGS:
        terminal.warn(f"and {len(seen) - MOST_WARNINGS} more; `dalembert show` lists all that was assumed")


def _silence(terminal: Terminal) -> None:
    """Give the interpreter somewhere to flush to at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, terminal.out.fileno())
        os.close(null)

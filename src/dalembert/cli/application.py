"""Finds the command and runs it; turns errors into one clean message and an exit code.

0    done
1    done, and the answer is no: results differ, or the installation is not sound
2    wrong arguments, an unreadable model, or something that cannot be computed
70   a bug in dalembert, with its traceback
130  interrupted with Ctrl-C
141  the reader of the output went away

With --json standard output is JSON in every case but the last: a command that fails writes {"error": ..., "exit_code":
...} there, beside the message on standard error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
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
    identify,
    linearize,
    reach,
    robots,
    show,
    simulate,
    verify,
    view,
)
from dalembert.cli.options import OPTIONS
from dalembert.cli.terminal import Terminal
from dalembert.errors import DalembertError, Message, ModelWarning
from dalembert.formats.registry import SUFFIXES
from dalembert.text.layout import printable
from dalembert.text.suggest import hint, near

COMMANDS: tuple[ModuleType, ...] = (
    show, view, derive, verify, compare, simulate, linearize, reach, identify, cost, export, bench, robots, doctor,
    demo, completion,
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
  dalembert identify my_robot.urdf run1.csv       masses and friction from a recorded motion
  dalembert cost my_robot.urdf                    multiplications and additions of each quantity
  dalembert export my_robot.urdf inverse_dynamics --language c --to .

`dalembert COMMAND --help`, or `dalembert help COMMAND`, explains each command, with examples.
"""


class Refused(SystemExit):
    """Arguments that make no sense; what is wrong has been said on standard error."""

    def __init__(self, message: str):
        super().__init__(2)
        self.message = message


class Parser(argparse.ArgumentParser):
    """Says in one line what it does not understand, without obeying control characters in it."""

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            message += "; one that begins with a minus needs the sign =, such as --q=-0.5"
        usage = self.format_usage() if "are required" in message else ""
        help_ = "" if "--help" in message or message.endswith("?") else f"; see `{self.prog} --help`"
        shown = printable(message, keep="\n")
        try:
            self.exit(2, f"{usage}{self.prog}: error: {shown}{help_}\n")
        except SystemExit:
            raise Refused(message) from None


class Command(Parser):
    """The parser of one command. Options may stand before, between and after its arguments."""

    _inside = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read the arguments of the command, in any order; an option that is not there is an error."""
        empty = next((word for word in args or () if word.startswith("--") and word.endswith("=--")), "")
        if empty:  # argparse takes such a value for the end of all options, and gives an empty list
            self.error(f"argument {empty.partition('=')[0]}: expected one argument")
        if self._inside or "--" in (args or ()):  # argparse reads words twice, and forgets what stood behind --
            return super().parse_known_args(args, namespace)
        self._inside = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._inside = False
        if unknown:
            self.error(_unknown(unknown[0], self))
        return found, unknown


def _unknown(word: str, parser: argparse.ArgumentParser) -> str:
    """What is wrong with a word that no argument or option took."""
    if not word.startswith("-"):
        return f"{word!r} is one argument too many"
    option = word.partition("=")[0].strip("-")
    helps = {flag.strip("-"): action.help or "" for action in parser._actions for flag in action.option_strings}
    meant = near(option, helps, 0.65)[:1]
    if not meant:  # the word may be the one that explains an option
        meant = [name for name, text in helps.items() if re.search(rf"\b{re.escape(option)}\b", text)]
    advice = f"did you mean --{meant[0]}?" if len(meant) == 1 else f"see `{parser.prog} --help`"
    return f"there is no option {word}; {advice}"


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
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", title="commands", parser_class=Command)
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
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        try:
            return _run(words, terminal)
        finally:
            terminal.flush()
    except BrokenPipeError:
        _silence(terminal)
        return 141
    except KeyboardInterrupt:
        return _failed(terminal, "interrupted", 130, words)


def _run(words: list[str], terminal: Terminal) -> int:
    parser = build_parser()
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    try:
        if words and not words[0].startswith("-"):
            _check_command(words, parser)
        options = parser.parse_args(words)
    except Refused as refused:
        if "--json" in words:
            terminal.json({"error": refused.message, "exit_code": 2})
        return 2
    except SystemExit as done:  # argparse has written help or version
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
        return _failed(terminal, traceback.format_exc().rstrip() if options.traceback else _said(error), 2, words)
    except MemoryError:
        return _failed(terminal, "not enough memory; try smaller numbers", 2, words)
    except Exception:
        said = f"{traceback.format_exc().rstrip()}\nThis is a bug in dalembert; please report it."
        return _failed(terminal, said, 70, words)


def _check_command(words: list[str], parser: argparse.ArgumentParser) -> None:
    """Refuse a first word that is no command, and say which one may be meant."""
    names = [module.__name__.rpartition(".")[2] for module in COMMANDS]
    word = words[0]
    if word in names:
        return
    if Path(word).suffix.lower() in SUFFIXES:
        parser.error(f"there is no command {word!r}; a command comes first: `dalembert show {word}`, for example")
    parser.error(f"there is no command {word!r}{hint(word, names, 'choose one of')}")


def _said(error: DalembertError | OSError) -> str:
    """The message of an error, in the words of the command line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    return error.said(OPTIONS) if isinstance(error, DalembertError) else str(error)


def _failed(terminal: Terminal, message: str, code: int, words: Sequence[str]) -> int:
    """Tell people what went wrong, and machines where they asked for JSON."""
    terminal.error(message)
    if "--json" in words:
        terminal.json({"error": message, "exit_code": code})
    return code


@contextmanager
def _warnings_on(terminal: Terminal) -> Iterator[None]:
    """Show warnings without the place in the source, each line once, and not too many of them.

    NumPy's about its arithmetic name no joint and no file; those who see the infinities report them.
    """
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, RuntimeWarning):
            return
        text = message.said(OPTIONS) if isinstance(message, Message) else str(message)
        for line in text.splitlines():
            if line not in seen and len(seen) < MOST_WARNINGS:
                terminal.warn(line)
            seen.add(line)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show  # restored by catch_warnings
        yield
    if len(seen) > MOST_WARNINGS:
        where = "`dalembert show` lists what was assumed, a page of `view` what is not drawn"
        terminal.warn(f"and {len(seen) - MOST_WARNINGS} more; {where}")


def _silence(terminal: Terminal) -> None:
    """Give the interpreter somewhere to flush to at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, terminal.out.fileno())
        os.close(null)

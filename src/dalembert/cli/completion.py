"""Print a script that lets the shell complete commands, options, their values, quantities and the names of robots.

examples:
  eval "$(dalembert completion bash)"          in ~/.bashrc
  eval "$(dalembert completion zsh)"           in ~/.zshrc
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dalembert.cli.terminal import Terminal

SUMMARY = "print a script for completion in bash or zsh"

SCRIPT = """\
_dalembert() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} words files=yes
    case "${{COMP_WORDS[1]}} $before" in
{values}
        *) if [ "$COMP_CWORD" -eq 1 ]; then
            words="{commands}"
        else
            case "${{COMP_WORDS[1]}}" in
{options}
            esac
            case "$word $COMP_CWORD ${{COMP_WORDS[1]}}" in
                -*) ;;
                {models}) words="$words $(dalembert robots --names 2>/dev/null)" ;;
                *" 3 export") words="$words {quantities}" ;;
            esac
        fi ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    local IFS=$'\\n'
    [ "$COMP_CWORD" -eq 1 ] || [ $files = no ] || COMPREPLY+=($(compgen -f -- "$word"))
}}
complete -o filenames -F _dalembert dalembert
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="which shell")
    parser.add_argument("--traceback", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.cli.application import build_parser
    from dalembert.dynamics import ALL_QUANTITIES

    commands = _subcommands(build_parser())
    values = [
        f'        "{name} {flag}") words="{" ".join(words)}" files=no ;;'
        for name, parser in commands.items()
        for flag, words in _values(name, parser)
    ]
    values.append(f'        "help help") words="{" ".join(commands)}" files=no ;;')
    flags = [f'                {name}) words="{" ".join(_flags(parser))}" ;;' for name, parser in commands.items()]
    models = [name for name, parser in commands.items() if any(action.dest == "model" for action in parser._actions)]
    if options.shell == "zsh":
        terminal.say("autoload -U +X bashcompinit && bashcompinit")
    script = SCRIPT.format(
        commands=" ".join([*commands, "help"]),
        values="\n".join(values),
        options="\n".join(flags),
        models="|".join(f'*" 2 {name}"' for name in models),
        quantities=" ".join(ALL_QUANTITIES),
    )
    terminal.say(script.rstrip())
    return 0


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (table,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(table.choices)


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings if action.help != argparse.SUPPRESS]


def _values(command: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, list[str]]]:
    """Words that may follow: an option with its choices or with names that only the library knows; a command."""
    from dalembert.algorithms.analytic_jacobian import COORDINATES
    from dalembert.cli.state import TERMS
    from dalembert.dynamics import ALL_QUANTITIES
    from dalembert.export import LANGUAGES
    from dalembert.simulation.integrators import ADAPTIVE
    from dalembert.simulation.steppers import STEPPERS

    known: dict[str, tuple[str, ...]] = {
        "--quantity": ("all", *ALL_QUANTITIES),
        "--language": tuple(LANGUAGES),
        "--coordinates": tuple(COORDINATES),
        "--include": TERMS,
        "--constraints": ("all", "none"),
        "--elements": ("all", "none"),
        "--method": (*ADAPTIVE, *STEPPERS),
    }
    for action in parser._actions:
        words = list(action.choices or ()) or next((list(known[f]) for f in action.option_strings if f in known), [])
        if words:
            for flag in action.option_strings or [command]:
                yield flag, words

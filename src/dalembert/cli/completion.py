"""Print a script that lets the shell complete commands, options and the names of robots.

examples:
  eval "$(dalembert completion bash)"          in ~/.bashrc
  eval "$(dalembert completion zsh)"           in ~/.zshrc
"""

from __future__ import annotations

import argparse

from dalembert.cli.terminal import Terminal

SUMMARY = "print a script for completion in bash or zsh"

SCRIPT = """\
_dalembert() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
        case "$word" in
            -*) ;;
            *) [ "$COMP_CWORD" -eq 2 ] && words="$words $(dalembert robots --names 2>/dev/null)" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word") $(compgen -f -- "$word"))
}}
complete -o filenames -F _dalembert dalembert
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="which shell")
    parser.add_argument("--traceback", action="store_true", help=argparse.SUPPRESS)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    from dalembert.cli.application import build_parser

    commands = _subcommands(build_parser())
    cases = "\n".join(f'            {name}) words="{" ".join(_flags(parser))}" ;;' for name, parser in commands.items())
    if options.shell == "zsh":
        terminal.say("autoload -U +X bashcompinit && bashcompinit")
    terminal.say(SCRIPT.format(commands=" ".join(commands), cases=cases).rstrip())
    return 0


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (table,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(table.choices)


def _flags(parser: argparse.ArgumentParser) -> list[str]:
    return [flag for action in parser._actions for flag in action.option_strings if action.help != argparse.SUPPRESS]
